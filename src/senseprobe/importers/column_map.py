"""Read anybody's own table, in CSV, JSON lines or Parquet, by a map from what rows of releases have to its columns.

The design is derived as that of a draft is (`table_kinds.complete_rows`), so the same rows have the same figures. Only
the columns that are mapped, or named as factors, become columns of the release.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import ReleaseError, SenseprobeError
from senseprobe.importers.contents import delimited_rows, find_header
from senseprobe.importers.formats import Format, find_format
from senseprobe.importers.integer_labels import Names, as_integer, check_labels, name_label, read_schema_names
from senseprobe.importers.notes import MAX_TEXT, LeftOut, Notes, check_count, check_sentence
from senseprobe.importers.sentence_pairs import keep_unlike_words
from senseprobe.importers.sources import (
    MAX_FILE,
    Row,
    Source,
    Table,
    excerpt,
    id_part,
    read_sources,
    sentences_id,
    slug,
)
from senseprobe.importers.table_kinds import (
    CONFIG,
    TableKind,
    all_roles,
    complete_rows,
    find_kind,
    name_needed,
    table_kinds,
)
from senseprobe.messages import listed, meant, offered, printable, unprintable
from senseprobe.parquet_files import MAX_MEMORY, bounded_parquet, read_batches
from senseprobe.records import Design, Factor
from senseprobe.release.citation import entry_keys, find_entry
from senseprobe.release.schema import PROVENANCE
from senseprobe.tables import UnreadableError, read_json_lines

_SURROGATE = re.compile("[\ud800-\udfff]")
_FLAGS = ("contested", "minimal")
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}
_SOURCE_COLUMNS = ("source_file", "source_line")
_RESERVED = {"stereo_span", "anti_span", "context", "item", *PROVENANCE}
"""Columns and values of rows that no role has: a factor of such a name is called `published_` and it."""
PAIR = "id"
"""A factor of this name, where no column is called so, has a level for each row: figures generalise over pairs."""

Cells = Mapping[str, str | bool | None]
"""A row of a table, by column; JSON's and Parquet's numbers are texts, and None is an empty cell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnMap:
    """Which columns of a table are what, and what the card says of it.

    `columns` maps roles (`TableKind.roles`) to columns; `factors` are columns whose levels stand for more of their
    kind; `citation` is a file of BibTeX with one entry, or None; `labels` are the names of integers, by role. Raises
    SenseprobeError where these do not fit together.
    """

    columns: Mapping[str, str]
    factors: Sequence[str] = ()
    title: str = ""
    citation: bytes | None = None
    labels: Mapping[str, Names] = field(default_factory=dict)

    def __post_init__(self) -> None:
        roles = all_roles()
        if unknown := [role for role in self.columns if role not in roles]:
            raise SenseprobeError(f"unknown role {excerpt(unknown[0])!r} in the map: {offered(unknown[0], roles)}")
        if find_kind({*self.columns}, mapped=True) is None:
            raise SenseprobeError(f"the map lacks {name_needed(self.columns, '=')}, which each row needs")
        if other := [role for role in self.columns if role not in self.table_kind.roles]:
            texts = " and ".join(self.table_kind.texts)
            raise SenseprobeError(f"rows of {texts} do not have {other[0]}: remove it from the map")
        if other := [name for name in (*self.columns.values(), *self.factors) if _SURROGATE.search(name)]:
            raise SenseprobeError(f"the name of the column {excerpt(other[0])} is not UTF-8: rename it")
        if self.title and (len(self.title) > MAX_TEXT or not self.title.isprintable()):
            raise SenseprobeError(f"the title must be one line of at most {MAX_TEXT} characters")
        if len(names := [factor.name for factor in self.named_factors()]) > len({*names}):
            raise SenseprobeError(f"two factors would share a column: {', '.join(sorted(names))}")
        check_labels(self.labels, (role for role in self.columns if role not in self.table_kind.texts))
        self.key()

    @property
    def kind(self) -> str:
        """The kind of rows."""
        return find_kind({*self.columns}, mapped=True) or ""

    @property
    def table_kind(self) -> TableKind:
        """How a table becomes rows of the kind."""
        return table_kinds()[self.kind]

    def key(self) -> str:
        """Return the key of the citation's only entry, empty without one.

        Raise SenseprobeError where it has more, or where that cannot be cited.
        """
        if self.citation is None:
            return ""
        text = Source("the citation", self.citation).text
        if len(keys := [*entry_keys(text)]) != 1:
            raise SenseprobeError(f"the citation has {len(keys)} readable BibTeX entries: expected one")
        entry = find_entry(text, keys[0])
        if not (entry and entry.fields.get("title") and entry.authors):
            raise SenseprobeError(f"the citation's entry {excerpt(keys[0])} lacks a title or an author: add them")
        if not "".join(text.split()).isprintable():
            raise SenseprobeError("the citation contains unprintable characters: remove them")
        return keys[0]

    def sources(self) -> dict[str, str]:
        """Return the columns of the table that are read, by the columns of the release."""
        mapped = {*self.columns.values()}
        factors = (name for name in self.factors if name not in mapped and not self._is_pair(name))
        return {**self.columns, **{_column_name(name): name for name in factors}}

    def _is_pair(self, factor: str) -> bool:
        """Return whether the levels of a factor are the rows themselves: no column of ids is mapped."""
        return factor == PAIR and PAIR not in self.columns

    def named_factors(self) -> tuple[Factor, ...]:
        """Return the factors, by the columns of the release."""
        roles = {column: role for role, column in self.columns.items()}
        names = [roles.get(name) or _column_name(name) for name in self.factors]
        taken = [name for name in names if name in self.table_kind.roles and name not in self.columns]
        if taken := [name for name in taken if not self._is_pair(name)]:
            raise SenseprobeError(f"the factor {taken[0]!r} is also a role: map it too ({taken[0]}=COLUMN)")
        return tuple(Factor(name="pair" if self._is_pair(name) else name, columns=(name,)) for name in names)

    def check(self, source: Source, names: Sequence[str]) -> None:
        """Raise ReleaseError where a table with columns of these names lacks one that is mapped or a factor."""
        if not names:
            reason = "does not have columns: expected a header or objects, in lines that end in a line feed"
            raise ReleaseError(f"{source.name}: {reason}")
        for role, column in self.sources().items():
            if column not in names:
                purpose = f"{role}=" if role in self.columns else "a factor"
                there = f"{meant(column, names)} there is {listed(map(excerpt, names))}".lstrip()
                raise ReleaseError(
                    f"{source.name}: lacks the column {excerpt(column)!r} for {purpose}: {printable(there)}"
                )


def _column_name(column: str) -> str:
    """Return the name that a column has in the release: letters, digits and underscores."""
    name = column if column.isascii() and column.isidentifier() else slug(column, "factor").replace("-", "_")
    return f"published_{name}" if name in _RESERVED else name


def map_columns(
    columns: Mapping[str, str] | None,
    factors: Sequence[str],
    title: str,
    citation: Path | None,
    labels: Mapping[str, Names] | None = None,
) -> ColumnMap | None:
    """Return the map of a table's columns, with the BibTeX of a file; None where no column is mapped.

    Raise SenseprobeError where the rest is given without `columns`, does not fit together, or cannot be read.
    """
    if columns is None:
        if factors or title or citation or labels:
            arguments = "factors, title, citation and labels"
            raise SenseprobeError(f"{arguments} apply to your own tables only: map the columns of yours (--map)")
        return None
    bibtex = read_sources([citation])[0].data if citation else None
    return ColumnMap(columns=columns, factors=factors, title=title, citation=bibtex, labels=labels or {})


def map_by_names(source: Source, names: Sequence[str]) -> dict[str, str]:
    """Return the map of a table whose columns are called as roles are, in any case of letters; of gold also ``label``.

    Raise SenseprobeError where it lacks what each row needs by these names.
    """
    by_name = {name.casefold(): name for name in reversed(names)}
    if kind := find_kind({*by_name}, mapped=True):
        rows = table_kinds()[kind]
        columns = {role: by_name[role] for role in rows.roles if role in by_name}
        aliases = {role: by_name[alias] for alias, role in rows.aliases.items() if alias in by_name}
        return {**aliases, **columns}
    there = listed(map(excerpt, names)) or "none"
    raise SenseprobeError(
        f"{source.name}: its columns are {printable(there)}; a row needs {name_needed(by_name)}: "
        "name yours, as in --map stereo=COLUMN,anti=COLUMN"
    )


def column_names(form: str, source: Source) -> list[str]:
    """Return the columns of a table in ``csv``, ``jsonl`` or ``parquet``. Raise ReleaseError if it cannot be read."""
    if form == "parquet":
        return [*_open_parquet(source).schema_arrow.names]
    if form == "jsonl":
        return json_objects(source)[0]
    return find_header(source, all_roles(), quoted_tabs=False)[1]


def mapped_format(name: str, column_map: ColumnMap) -> Format:
    """Return the format of a table, in CSV, JSON lines or Parquet, whose columns are mapped.

    Raise SenseprobeError for the name of another format.
    """
    if name not in _READERS:
        raise SenseprobeError(
            f"{find_format(name).id} does not take a map of columns: its files have fixed column names"
        )
    return Format(
        id=name,
        title="own table",
        files=f"a table in {name} with a row on each line",
        paper=column_map.key(),
        measured=column_map.table_kind.measured,
        read=partial(_read, column_map, _READERS[name]),
    )


def _read(column_map: ColumnMap, reader: "Reader", sources: Sequence[Source], notes: Notes) -> list[Table]:
    """Read one config of all rows, in the order of the files, with the design of a draft of them."""
    records: list[Row] = []
    kind = column_map.table_kind
    for source in sources:
        names, rows = reader(source, column_map, notes)
        column_map.check(source, names)
        if unread := len({*names} - {*column_map.sources().values()}):
            notes.add_fact(source, f"{unread} of its {len(names)} columns not imported, as nothing maps them")
        before = len(records)
        for line, cells in rows:
            with notes.leaving_out(source, line):
                records.append(_record(column_map, kind, source, line, cells))
                check_count(len(records), source.name)
        notes.add_fact(source, f"{len(records) - before} {kind.unit}")
    if not records:
        return []
    types = {True: pa.bool_(), False: pa.string()}
    columns = [*column_map.sources(), *_SOURCE_COLUMNS]
    schema = pa.schema([(column, types[column in _FLAGS]) for column in columns])
    design, complete, left_out = complete_rows(
        column_map.kind, records, schema, column_map.named_factors(), sources[0].language
    )
    notes.facts += _missing(column_map, design, left_out)
    if column_map.kind == "contrast":
        notes.keep_repeats(complete)
    if design.differs == "pronoun":
        keep_unlike_words(complete, notes)
    framed = [{"frame": None, **row} for row in complete]
    return [Table(CONFIG, kind.description, design, framed, kind.unit)]


def _missing(column_map: ColumnMap, design: Design, left_out: Mapping[str, str]) -> Iterator[str]:
    """Yield what the map does not give, and which figures that costs. The card quotes it: no name of a column."""
    kind = column_map.table_kind
    if missing := [role for role in kind.roles if role not in {*column_map.columns, *kind.derived}]:
        yield f"not given: {', '.join(missing)}"
    for role, labels in column_map.labels.items():
        yield f"integers of {role} are named: {listed(f'{number} {name}' for number, name in labels.items())}"
    for needs in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name, needed in left_out.items() if needed == needs)
        yield f"left out: {names}, which would need {needs.replace('`', '')}"
    if column_map.kind == "inference" and "gold" not in column_map.columns:
        yield "gold is not given: every pair is taken for one whose right answer is neutral"
    if not design.factors:
        yield "no factor is given (--factor), so figures have no interval"
    if not column_map.citation:
        yield "no citation is given (--citation), so the card cites nobody"


def _record(column_map: ColumnMap, kind: TableKind, source: Source, line: int, cells: Cells) -> Row:
    """Return the values of a row by the columns of the release; raise LeftOut where it makes none."""
    texts = {}
    for role, column in column_map.sources().items():
        value = cells.get(column)
        text = str(value).lower() if isinstance(value, bool) else (value or "").strip()
        texts[role] = name_label(text or None, column_map.labels.get(role, {}))
    row: Row = {role: text and source.with_plain_spaces(text, line).strip() for role, text in texts.items()}
    for name in [*kind.texts, *(["unrelated"] if row.get("unrelated") else [])]:
        check_sentence(row[name] or "", f"{name}: ")
    _check_values(kind, row)
    row = kind.read(row)
    _check_labels_and_factors(column_map, row)
    row |= {name: _TRUTH[(row[name] or "").lower()] for name in _FLAGS if name in row}
    number = id_part(row["id"]) if row.get("id") else sentences_id(*(row[name] for name in kind.texts))
    return {**row, "id": f"{CONFIG}.{number}", "source_file": source.name, "source_line": str(line)}


def _check_values(kind: TableKind, row: Row) -> None:
    """Raise LeftOut where a text besides those of the kind cannot be one of a release."""
    for role, text in row.items():
        if text is not None and role not in kind.texts and (len(text) > MAX_TEXT or unprintable(text) is not None):
            raise LeftOut(f"{role}: a text of more than {MAX_TEXT} characters, or with characters that do not print")


def _check_labels_and_factors(column_map: ColumnMap, row: Row) -> None:
    """Raise LeftOut where an integer has no name, a flag is none, or a factor has no value."""
    if unnamed := [role for role in column_map.labels if as_integer(row[role])]:
        raise LeftOut(f"{unnamed[0]}: {excerpt(row[unnamed[0]] or '')!r} is none of the integers that are named")
    if flags := [name for name in _FLAGS if (row.get(name) or "").lower() not in _TRUTH]:
        raise LeftOut(f"{flags[0]}: {excerpt(row[flags[0]])!r} is not true or false")
    if empty := [factor.name for factor in column_map.named_factors() if row.get(factor.columns[0], "") is None]:
        raise LeftOut(f"no value in the factor {empty[0]}")


# ---- Tables of three forms -----------------------------------------------------------------------------------------

Numbered = Iterator[tuple[int, Cells]]
Reader = Callable[[Source, ColumnMap, Notes], tuple[list[str], Numbered]]
"""Returns the columns of a file, and its rows with the line of each (in Parquet, its number) from 1."""


def _csv_rows(source: Source, column_map: ColumnMap, notes: Notes) -> tuple[list[str], Numbered]:
    """Read CSV, whose delimiter (a comma, semicolon or TAB) is that under which the header has most mapped columns."""
    delimiter, names = find_header(source, column_map.sources().values(), quoted_tabs=False)
    return names, delimited_rows(source, delimiter, (), notes, quoted=delimiter != "\t")


def _json_rows(source: Source, column_map: ColumnMap, notes: Notes) -> tuple[list[str], Numbered]:
    """Read JSON lines: an object on each, whose mapped values are texts, numbers, true, false or null."""
    names, rows = json_objects(source)
    return names, _flat_rows(source, column_map, rows, notes)


def json_objects(source: Source) -> tuple[list[str], list[tuple[int, Any]]]:
    """Return the names in the objects of JSON lines, and the objects with their lines."""
    as_text = {"parse_int": str, "parse_float": str, "parse_constant": str}
    try:
        rows = [*read_json_lines(source.lines, object_pairs_hook=_unique, **as_text)]
    except UnreadableError as error:
        raise ReleaseError(f"{source.name}:{error.line}: {error}") from None
    return [*dict.fromkeys(name for _, row in rows for name in row)], rows


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise UnreadableError("an object has a key twice: remove one of them")
    return dict(pairs)


def _flat_rows(source: Source, column_map: ColumnMap, rows: list[tuple[int, Any]], notes: Notes) -> Numbered:
    """Yield the rows whose mapped values are not nested; the others are left out."""
    for line, row in rows:
        nested = [name for name in column_map.sources().values() if isinstance(row.get(name), (list, dict))]
        if nested:
            notes.leave_out(source, line, f"{excerpt(nested[0])} holds a list or an object, not a text")
        else:
            yield line, row


def _parquet_rows(source: Source, column_map: ColumnMap, notes: Notes) -> tuple[list[str], Numbered]:
    """Read Parquet, of which columns of texts, numbers and booleans can be mapped; memory has a cap."""
    file = _open_parquet(source)
    names = file.schema_arrow.names
    roles = {role: column for role, column in column_map.sources().items() if role not in column_map.labels}
    by_column = read_schema_names(file.schema_arrow.metadata)
    if named := [role for role, column in roles.items() if column in by_column and role in column_map.columns]:
        notes.add_fact(source, f"the integers of {', '.join(named)} have the names that its schema gives them")
    labels = {column: by_column.get(column, {}) for column in roles.values()}
    return names, _parquet_cells(source, file, [*dict.fromkeys(column_map.sources().values())], labels)


def _open_parquet(source: Source) -> Any:  # noqa: ANN401 - pyarrow has no types
    try:
        file = bounded_parquet(source.data, MAX_MEMORY)
        names = file.schema_arrow.names
    except (OSError, ValueError, MemoryError, pa.ArrowException) as error:
        raise _unreadable(source, error) from None
    if len({*names}) < len(names):
        raise ReleaseError(f"{source.name}: has two columns with the same name: rename or remove one of them")
    return file


def _parquet_cells(
    source: Source,
    file: Any,  # noqa: ANN401 - pyarrow has no types
    columns: list[str],
    labels: Mapping[str, Names],
) -> Numbered:
    for name in columns:
        kind = file.schema_arrow.field(name).type
        if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType) or pa.types.is_binary(kind):
            raise ReleaseError(f"{source.name}: its column {excerpt(name)!r} contains {excerpt(str(kind))}, not text")
    number = 0
    try:
        for batch in read_batches(file, columns, 1_024, 4 * MAX_FILE):
            texts = [pc.cast(batch[name], pa.string()).to_pylist() for name in columns]
            for cells in zip(*texts, strict=True):
                number += 1
                row = dict(zip(columns, cells, strict=True))
                yield number, {name: name_label(cell, labels.get(name, {})) for name, cell in row.items()}
    except (OSError, ValueError, MemoryError, pa.ArrowException) as error:
        raise _unreadable(source, error) from None


def _unreadable(source: Source, error: Exception) -> ReleaseError:
    reason = printable(str(error).partition("\n")[0]) or f"it takes more than {MAX_MEMORY >> 20} MiB of memory"
    return ReleaseError(f"{source.name}: cannot be read as Parquet: {reason}")


_READERS: Mapping[str, Reader] = {"csv": _csv_rows, "jsonl": _json_rows, "parquet": _parquet_rows}
