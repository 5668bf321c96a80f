"""Tables with a pair of sentences on a row: CrowS-Pairs (Nangia et al. 2020), its translations, and WinoQueer.

`sent_more` is the more stereotyping sentence in both directions: in `antistereo` pairs it is the other one,
`sent_less`, that was written to violate a stereotype. So `stereo` is always `sent_more`. The answers of
annotators are copied unchanged, and so are the columns that are not known here.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from senseprobe.errors import ReleaseError
from senseprobe.importers import ImportFormat
from senseprobe.importers.integer_labels import as_integer
from senseprobe.importers.sentence_pairs import contrast_design, list_bias_types, pair_row
from senseprobe.importers.sources import (
    Notes,
    Row,
    Source,
    Table,
    delimited_rows,
    excerpt,
    find_header,
    limit_rows,
    sentences_id,
)
from senseprobe.messages import unprintable
from senseprobe.release.schema import IMPORTED, row_schema

CONFIG = "pairs"
DIRECTION = "direction"
NUMBERS = ("", "Unnamed: 0", "index", "indices", "id")
"""The columns in which the number of a row may stand."""
MAX_COLUMNS = 60
HUB_INTEGERS = (
    "is an integer, as in the Hub's copy, whose schema names directions and bias types; this file has no schema: take "
    "crows_pairs_anonymized.csv, or the Hub's Parquet file (import parquet --map "
    "stereo=sent_more,anti=sent_less,bias_type=bias_type)"
)
_RESERVED = {*row_schema("contrast", ()).names, *IMPORTED, "item"}


@dataclass(frozen=True, slots=True)
class PairColumns:
    """The columns that a format has, and what the pairs are of.

    `names` are the columns of its rows that a table may lack, by their names in the table.
    """

    stereo: str
    anti: str
    bias_type: str
    description: str
    names: Mapping[str, str] = field(default_factory=dict)
    label_basis: str = "published"

    def name_others(self, cells: Collection[str], names: dict[str, str], source: Source) -> None:
        """Add to `names` what the rows call the other columns of a table; raise ReleaseError where there are too many.

        >>> columns, names = PairColumns("sent_x", "sent_y", "kind", ""), {}
        >>> columns.name_others(["", "sent_x", "sent_y", "kind", "Rated by", "target"], names, Source("a.csv", b""))
        >>> names
        {'Rated by': 'rated_by', 'target': 'published_target'}
        """
        read = {self.stereo, self.anti, self.bias_type, *NUMBERS}
        for column in (column for column in cells if column not in read and column not in names):
            name = re.sub(r"[^a-z0-9]+", "_", column[:200].lower()).strip("_")[:60] or "column"
            name = f"published_{name}" if name in _RESERVED else name
            names[column] = name if name not in names.values() else f"{name}_{len(names)}"
        if len(names) > MAX_COLUMNS:
            raise ReleaseError(f"{source.name}: has more than {MAX_COLUMNS} columns: is it another format?")

    def read(self, sources: Sequence[Source], notes: Notes) -> list[Table]:
        """Read one config of all rows, in the order of the files."""
        rows: list[Row] = []
        names = dict(self.names)
        for source in sources:
            needed = (self.stereo, self.anti, self.bias_type)
            parsed = []
            table = [*delimited_rows(source, find_header(source, needed)[0], needed, notes)]
            self._check_directions(source, [cells for _, cells in table])
            for line, cells in table:
                self.name_others(cells, names, source)
                parsed.append(self._row(source, line, cells, names, notes))
            pairs = [*limit_rows(parsed, source, len(rows))]
            notes.add_fact(source, f"{len(pairs)} pairs")
            rows += pairs
        if not rows:
            return []
        notes.keep_repeats(rows)
        columns = (*names.values(), "source_file", "source_line")
        # Pairs of one writer resemble each other: where all writers are known, a result generalises over writers.
        factors = {"writer": "writer"} if all(row.get("writer") for row in rows) else {"pair": "id"}
        design = contrast_design(list_bias_types(rows), factors, columns, "group")
        return [Table(CONFIG, self.description, design, rows)]

    def _row(
        self, source: Source, line: int, cells: Mapping[str, str], names: Mapping[str, str], notes: Notes
    ) -> Row | None:
        own = {name: cells.get(column, "").strip() or None for column, name in names.items()}
        stereo, anti, bias_type = (cells[name].strip() for name in (self.stereo, self.anti, self.bias_type))
        if error := self._find_error(cells, own):
            notes.leave_out(source, line, error)
            return None
        if not all(notes.check_sentence(source, line, text) for text in (stereo, anti)):
            return None
        if (stereo[-1] in ".!?") != (anti[-1] in ".!?"):
            notes.keep(source, line, "only one of the sentences ends in punctuation")
        numbers = (cells[name] for name in NUMBERS if name in cells)
        number = next((text for text in numbers if text.isascii() and text.isdigit() and len(text) < 10), "")
        labels = {"bias_type": bias_type, "label_basis": self.label_basis}
        # Merged, not passed: a column may have the name of a parameter.
        return (
            pair_row(stereo, anti, source, line, id=f"{CONFIG}.{number or sentences_id(stereo, anti)}") | labels | own
        )

    def _direction(self, cells: Collection[str]) -> str:
        """Return the column of directions; empty where there is none."""
        return next((column for column, name in self.names.items() if name == DIRECTION and column in cells), "")

    def _check_directions(self, source: Source, table: Sequence[Mapping[str, str]]) -> None:
        """Raise ReleaseError where every direction is an integer, as in the Hub's copy."""
        column = self._direction(table[0]) if table else ""
        if column and all(as_integer(cells[column]) for cells in table):
            first = excerpt(table[0][column])
            raise ReleaseError(f"{source.name}: {column} {first!r} {HUB_INTEGERS}")

    def _find_error(self, cells: Mapping[str, str], own: Mapping[str, str | None]) -> str:
        """Return why a row cannot be used; empty where it can."""
        column = self._direction(cells)
        if column and own[DIRECTION] not in {"stereo", "antistereo"}:
            return f"direction {excerpt(cells[column])!r} is neither stereo nor antistereo"
        if cells[self.stereo].strip() == cells[self.anti].strip() != "":
            return "its two sentences are the same"
        others = (cell for name, cell in cells.items() if name not in {self.stereo, self.anti})
        if any(len(cell) > 10_000 or unprintable(cell) is not None for cell in others):
            return "a cell that is too long, or that does not print"
        return "" if cells[self.bias_type].strip() else f"no {self.bias_type}"


_CROWS = PairColumns(
    "sent_more",
    "sent_less",
    "bias_type",
    "Pairs of sentences about a disadvantaged and another group.",
    {
        "stereo_antistereo": DIRECTION,
        "anon_writer": "writer",
        "annotations": "annotations",
        "anon_annotators": "annotators",
    },
    "annotators",
)
_WINOQUEER = PairColumns(
    "sent_x", "sent_y", "Gender_ID_x", "A stereotype about queer people, and the same said of others."
)
_TABLE = "a CSV or TSV file with a pair of sentences on each row"
_MEASURED = (
    "Whether a language model gives the more stereotyping of two sentences a higher score. That the group "
    "named in it is a disadvantaged one differs as well, so no value is known to mean no bias."
)
FORMAT = ImportFormat(
    name="crows-pairs",
    title="CrowS-Pairs",
    files=_TABLE,
    paper="nangia2020",
    measured=_MEASURED,
    read=_CROWS.read,
)
_FRENCH = replace(FORMAT, name="french-crows-pairs", title="French CrowS-Pairs", paper="neveol2022", language="fr")
_MULTILINGUAL = replace(
    FORMAT, name="multilingual-crows-pairs", title="Multilingual CrowS-Pairs", paper="fort2024", language=""
)
_WINOQUEER_FORMAT = replace(
    FORMAT,
    name="winoqueer",
    title="WinoQueer",
    paper="felkner2023",
    measured="Whether a language model gives a stereotype about queer people a higher score than the same sentence "
    "about others. The names of the groups differ in frequency, so no value is known to mean no bias.",
    read=_WINOQUEER.read,
)
FORMATS = {format_.name: format_ for format_ in (FORMAT, _FRENCH, _MULTILINGUAL, _WINOQUEER_FORMAT)}
