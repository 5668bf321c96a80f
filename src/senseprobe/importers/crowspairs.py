"""Tables with a pair of sentences on a row: CrowS-Pairs (Nangia et al. 2020), its translations, and WinoQueer.

`sent_more` is the more stereotyping sentence in both directions: in `antistereo` pairs it is the other one,
`sent_less`, that was written to violate a stereotype. So `stereo` is always `sent_more`. The answers of
annotators are copied unchanged, and so are the columns that are not known here.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from senseprobe.errors import ReleaseError
from senseprobe.importers.contents import delimited_rows, find_header
from senseprobe.importers.formats import PairColumns
from senseprobe.importers.integer_labels import as_integer
from senseprobe.importers.notes import LeftOut, Notes, check_count, check_sentence
from senseprobe.importers.sentence_pairs import contrast_design, list_bias_types, pair_row
from senseprobe.importers.sources import Row, Source, Table, excerpt, sentences_id
from senseprobe.messages import unprintable
from senseprobe.release.schema import IMPORTED, row_schema

CONFIG = "pairs"
NUMBERS = ("", "Unnamed: 0", "index", "indices", "id")
"""The columns in which the number of a row may stand."""
MAX_COLUMNS = 60
HUB_INTEGERS = (
    "is an integer, as in the Hub's copy, but this file lacks the schema that names directions and bias types: use "
    "crows_pairs_anonymized.csv, or the Hub's Parquet file (import parquet --map "
    "stereo=sent_more,anti=sent_less,bias_type=bias_type)"
)
_RESERVED = {*row_schema("contrast", ()).names, *IMPORTED, "item"}


def read(sources: Sequence[Source], notes: Notes, columns: PairColumns) -> list[Table]:
    """Read one config of all rows, in the order of the files."""
    rows: list[Row] = []
    names = dict(columns.names)
    for source in sources:
        table = [*delimited_rows(source, find_header(source, columns.needed)[0], columns.needed, notes)]
        directions = [columns.find_direction(cells) for _, cells in table]
        if directions and all(map(as_integer, directions)):
            raise ReleaseError(f"{source.name}: {columns.direction} {excerpt(directions[0] or '')!r} {HUB_INTEGERS}")
        name_others(table[0][1] if table else (), columns, names, source)
        before = len(rows)
        for line, cells in table:
            with notes.leaving_out(source, line):
                rows.append(_row(source, line, cells, columns, names, notes))
                check_count(len(rows), source.name)
        notes.add_fact(source, f"{len(rows) - before} pairs")
    if not rows:
        return []
    notes.keep_repeats(rows)
    # Pairs of one writer resemble each other: where all writers are known, a result generalises over writers.
    factors = {"writer": "writer"} if all(row.get("writer") for row in rows) else {"pair": "id"}
    added = (*names.values(), "source_file", "source_line")
    design = contrast_design(list_bias_types(rows), factors, added, "group")
    return [Table(CONFIG, columns.description, design, rows)]


def name_others(cells: Collection[str], columns: PairColumns, names: dict[str, str], source: Source) -> None:
    """Add to `names` what rows call the other columns of a table; raise ReleaseError where there are too many.

    >>> columns, names = PairColumns(stereo="sent_x", anti="sent_y", bias_type="kind", description=""), {}
    >>> name_others(["", "sent_x", "sent_y", "kind", "Rated by", "target"], columns, names, Source("a.csv", b""))
    >>> names
    {'Rated by': 'rated_by', 'target': 'published_target'}
    """
    for column in (column for column in cells if column not in {*columns.needed, *NUMBERS, *names}):
        name = re.sub(r"[^a-z0-9]+", "_", column[:200].lower()).strip("_")[:60] or "column"
        name = f"published_{name}" if name in _RESERVED else name
        names[column] = name if name not in names.values() else f"{name}_{len(names)}"
    if len(names) > MAX_COLUMNS:
        raise ReleaseError(f"{source.name}: has more than {MAX_COLUMNS} columns: is it another format?")


def _row(
    source: Source, line: int, cells: Mapping[str, str], columns: PairColumns, names: Mapping[str, str], notes: Notes
) -> Row:
    """Make a row of a line; raise LeftOut where it makes none."""
    published = {name: cells.get(column, "").strip() or None for column, name in names.items()}
    stereo, anti, bias_type = (cells[name].strip() for name in columns.needed)
    direction = columns.find_direction(cells)
    if direction is not None and direction.strip() not in {"stereo", "antistereo"}:
        raise LeftOut(f"direction {excerpt(direction)!r} is neither stereo nor antistereo")
    if stereo == anti != "":
        raise LeftOut("its two sentences are the same")
    others = (cell for name, cell in cells.items() if name not in {columns.stereo, columns.anti})
    if any(len(cell) > 10_000 or unprintable(cell) is not None for cell in others):
        raise LeftOut("a cell that is too long, or that does not print")
    if not bias_type:
        raise LeftOut(f"no {columns.bias_type}")
    check_sentence(stereo)
    check_sentence(anti)
    if (stereo[-1] in ".!?") != (anti[-1] in ".!?"):
        notes.keep(source, line, "only one of the sentences ends in punctuation")
    numbers = (cells[name] for name in NUMBERS if name in cells)
    number = next((text for text in numbers if text.isascii() and text.isdigit() and len(text) < 10), "")
    return (
        pair_row(
            stereo,
            anti,
            source,
            line,
            id=f"{CONFIG}.{number or sentences_id(stereo, anti)}",
            bias_type=bias_type,
            label_basis=columns.label_basis,
        )
        | published
    )
