"""Reads `wordlists/`: CSV tables, described in a Frictionless `datapackage.yaml`, become words with typed columns."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field

from senseprobe.errors import DeclarationError
from senseprobe.generator import yaml_source
from senseprobe.messages import listed, printable, unprintable
from senseprobe.records import Edit, Finding
from senseprobe.tables import UnreadableError, header_cells, read_csv, split_lines

if TYPE_CHECKING:
    from senseprobe.document import Section

DESCRIPTOR = "datapackage.yaml"
MAX_WORDS = 100_000  # rows of a list; a longer one is a mistake or an attack
MAX_FINDINGS = 1_000  # mistakes of a list that are reported: more are probably one mistake, made in every row

Value = str | bool | int | float | None


class Word(str):
    """A word as it prints, with the columns of its row.

    `columns` maps every column of the list to its typed value (None where the cell is empty); `line` is the row's line;
    `slug` is the word in a row's id: the list's own `slug` column, else made from the word.
    """

    __slots__ = ("columns", "line", "slug", "source")
    columns: Mapping[str, Value]
    line: int
    slug: str
    source: str

    @classmethod
    def of(cls, columns: Mapping[str, Value], source: str = "", line: int = 0) -> "Word":
        """Return the word of a row; `source` is the name of its list."""
        word = cls(columns["word"])
        word.columns, word.line, word.source = columns, line, source
        word.slug = str(columns.get("slug") or slug(word))
        return word

    def has(self, column: str, value: object) -> bool:
        """Return whether the word's cell in a column is the value, or one of a list of values."""
        return self.columns[column] in (value if isinstance(value, list) else [value])


def slug(text: str) -> str:
    """Return lower-case letters and digits, and other runs as one hyphen.

    >>> slug("good looking")
    'good-looking'
    """
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


class _Open(yaml_source.Model):
    """Part of a descriptor, which may hold more than is read here."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Constraints(_Open):
    """The constraints of a field that are checked on every cell."""

    required: bool = False
    unique: bool = False
    enum: tuple[Any, ...] | None = None


class FieldSpec(_Open):
    """A column: its type, and for `sense_*` the lexicon and part of speech of its keys."""

    name: str
    type: Literal["string", "boolean", "integer", "number"] = "string"
    constraints: Constraints = Constraints()
    lexicon: str | None = None
    pos: Literal["noun", "verb", "adjective", "adverb"] | None = None


class Schema(_Open):
    """The columns of a list in order, and those that identify a row."""

    fields: tuple[FieldSpec, ...]
    primary_key: tuple[str, ...] = Field(default=("word",), alias="primaryKey")


class Licence(_Open):
    """A licence by its SPDX identifier."""

    name: str


class Source(_Open):
    """A key of `references.bib`."""

    title: str


class Resource(_Open):
    """A list as the descriptor describes it."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    path: str = Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*\.csv$")  # in the descriptor's own folder
    description: str = ""
    sources: tuple[Source, ...]
    licenses: tuple[Licence, ...]
    accept: dict[str, str] = Field(default_factory=dict)
    table: Schema = Field(alias="schema")


class Package(_Open):
    """The descriptor of all lists."""

    resources: tuple[Resource, ...]


@dataclass(frozen=True, slots=True)
class WordList:
    """A list: its description and its words in file order; rows with `mistakes` are left out."""

    resource: Resource
    path: Path
    display_path: str
    words: tuple[Word, ...]
    mistakes: tuple[Finding, ...] = ()

    @property
    def columns(self) -> dict[str, FieldSpec]:
        """The list's columns by name, in order."""
        return {spec.name: spec for spec in self.resource.table.fields}

    def section(self) -> "Section":
        """Return the words with their columns, and what the list is."""
        from senseprobe.document import Section, Table

        rows = ([word.columns[column] for column in self.columns] for word in self.words)
        note = f"{self.resource.description} ({self.display_path})"
        return Section("", tables=(Table.of_texts(dict.fromkeys(self.columns, "words"), rows, note=note),))


@dataclass(frozen=True)
class WordLists:
    """The lists that a dataset sees: those of its own layer first, then the built-in ones; each read once.

    Where they are `lenient`, mistakes of their files are told elsewhere, and what could be read is used.
    """

    folders: tuple[Path, ...]
    lenient: bool = False
    _lists: dict[str, WordList] = field(default_factory=dict)

    @property
    def _resources(self) -> dict[str, tuple[Path, Resource]]:
        """By the name of a list: the first folder that has it, and its description there."""
        if isinstance(self._descriptors, DeclarationError):
            raise self._descriptors
        return self._descriptors

    @cached_property
    def _descriptors(self) -> dict[str, tuple[Path, Resource]] | DeclarationError:
        """The resources, or what is wrong with them, so that a descriptor is read once also where it is broken."""
        resources: dict[str, tuple[Path, Resource]] = {}
        try:
            for path in (folder / DESCRIPTOR for folder in self.folders):
                if path.exists():
                    data = yaml_source.read_mapping(path)
                    package = yaml_source.validate(Package, data, [data], yaml_source.format_path(path), "E201")
                    for resource in package.resources:
                        resources.setdefault(resource.name, (path.parent, resource))
        except DeclarationError as error:
            return error
        return resources

    def names(self) -> list[str]:
        """Return the name of every list, sorted."""
        return sorted(self._resources)

    def undescribed(self, name: str) -> Path | None:
        """Return the file that a list called `name` would have, where no descriptor describes it; None without one."""
        files = (folder / f"{name}.csv" for folder in self.folders if Path(name).name == name)
        return next((file for file in files if name not in self._resources and file.is_file()), None)

    def read(self, name: str) -> WordList | None:
        """Return what can be read of the list called `name`, with its mistakes; None where there is none."""
        if name not in self._lists and name in self._resources:
            self._lists[name] = _read_list(*self._resources[name])
        return self._lists.get(name)

    def get(self, name: str) -> WordList | None:
        """Return the list called `name`, or None; raise DeclarationError with every mistake of its file."""
        words = self.read(name)
        if words and words.mistakes and not self.lenient:
            raise DeclarationError(words.mistakes)
        return words

    def leniently(self) -> "WordLists":
        """Return the same lists, whose mistakes are told elsewhere."""
        return WordLists(self.folders, lenient=True, _lists=self._lists)


def how_to_describe(path: Path) -> str:
    """Return what to do with a CSV file of words that no descriptor describes."""
    return f"`senseprobe words add {yaml_source.format_path(path)}` describes it in {DESCRIPTOR}"


def _read_list(folder: Path, resource: Resource) -> WordList:
    path = folder / resource.path
    display_path = yaml_source.format_path(path)
    words: list[Word] = []
    findings: list[Finding] = []
    try:
        text = yaml_source.read_text(path, display_path)
    except DeclarationError as error:
        return WordList(resource, path, display_path, (), error.findings)
    for row in _rows(resource, text, display_path):
        if isinstance(row, Word):
            words.append(row)
        else:
            findings.append(row)
        if len(findings) > MAX_FINDINGS:
            break
    findings.extend(repeats := [*islice(_repeats(resource, words, display_path), MAX_FINDINGS + 1)])
    if len(findings) > MAX_FINDINGS:
        words = []
        message = f"more than {MAX_FINDINGS} errors: the rest are not reported"
        findings[MAX_FINDINGS:] = [replace(findings[MAX_FINDINGS], column=1, code="E202", message=message, hint="")]
    lines = {finding.line for finding in repeats}
    return WordList(resource, path, display_path, tuple(w for w in words if w.line not in lines), tuple(findings))


def _rows(resource: Resource, text: str, display_path: str) -> Iterator[Word | Finding]:
    finding = partial(_finding, display_path)
    specs, lines = {spec.name: spec for spec in resource.table.fields}, text.split("\n")
    separator = _separator(lines[0], specs)
    try:
        rows = read_csv(split_lines(text), separator)
        header = next((row.cells for row in rows), [])
        for message in _header_mistakes(header, separator, specs):
            yield finding(1, message, f"write {','.join(specs)}")
        if sorted(header) != sorted(specs):
            return
        for number, (_, line, cells) in enumerate(rows, 1):
            if number > MAX_WORDS:
                yield finding(line, f"more than {MAX_WORDS} rows")
                return
            if len(cells) != len(specs):
                yield finding(line, f"the row has {len(cells)} cells, expected {len(specs)}")
                continue
            values: dict[str, Value] = {}
            is_valid = True
            for at, (name, cell) in enumerate(zip(header, cells, strict=True)):
                try:
                    values[name] = _value(specs[name], cell)
                except ValueError as error:
                    is_valid, column = False, cell_column(lines[line - 1], at)
                    if header == [*specs]:  # else the cells may follow the descriptor
                        fix = _mended_cell(cell, lines[line - 1], line, column)
                        yield finding(line, f"{name} {error}", code="E203", column=column, fix=fix)
            if is_valid:
                yield Word.of(values, resource.name, line)
    except UnreadableError as error:
        yield finding(error.line, str(error))


def _mended_cell(cell: str, text: str, line: int, column: int) -> Edit | None:
    """Return the edit of a cell that has odd blanks and is right without them; None of any other."""
    mended = " ".join(cell.split())
    if mended == cell or not mended or not mended.isprintable() or not text.startswith(cell, column - 1):
        return None
    return Edit(line=line, column=column, was=cell, now=mended)


_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def find_separator(line: str, name: str) -> str | None:
    """Return what separates the columns of a header instead of commas, in words; None where `name` is none of them.

    >>> find_separator("word;gender", "word"), find_separator("word,gender", "word")
    ('semicolons', None)
    """
    signs = (sign for sign in _SEPARATORS if sign in line and name in header_cells(line, sign))
    return next((_SEPARATORS[sign] for sign in signs), None)


def _separator(line: str, names: Collection[str]) -> str:
    """Return what stands between the columns of a header: a comma, unless another sign makes just these columns."""
    signs = _SEPARATORS if len(names) > 1 else ()
    return next((sign for sign in signs if sorted(header_cells(line, sign)) == sorted(names)), ",")


def _header_mistakes(header: Sequence[str], separator: str, names: Collection[str]) -> Iterator[str]:
    """Yield what differs between the header of a list and the fields of its descriptor."""
    if separator != ",":
        yield f"columns are separated by {_SEPARATORS[separator]}, not commas"
    missing, unknown = [name for name in names if name not in header], [name for name in header if name not in names]
    if missing or unknown or len({*header}) < len(header):
        mistakes = [
            f"{what} {listed(columns)}" for what, columns in (("without", missing), ("with", unknown)) if columns
        ]
        yield f"columns differ from those in {DESCRIPTOR}: {', '.join(map(printable, mistakes)) or 'one occurs twice'}"
    elif [*header] != [*names]:
        yield f"columns are not in the order of {DESCRIPTOR}: {','.join(header)}"


def cell_column(line: str, number: int) -> int:
    """Return the column, from 1, at which cell `number`, from 0, of a line begins; 1 where there are fewer cells.

    >>> cell_column("nurse,female", 1)
    7
    """
    quoted, starts = False, [1]  # a doubled quotation mark closes and opens again
    for position, character in enumerate(line, 1):
        quoted ^= character == '"'
        if character == "," and not quoted:
            starts.append(position + 1)
    return starts[number] if number < len(starts) else 1


# What a cell of a type must match (Python accepts more, as 1_000), what it becomes, and what it is called in messages.
_TYPES: dict[str, tuple[str, Callable[[str], Value], str]] = {
    "string": (r".*", str, ""),
    "boolean": (r"true|false", lambda cell: cell == "true", "true or false"),
    "integer": (r"[+-]?\d{1,18}", int, "a whole number"),
    "number": (r"[+-]?\d{1,18}(\.\d{1,18})?([eE][+-]?\d{1,2})?", float, "a number"),
}


def infer_type(cells: Iterable[str]) -> str:
    """Return the type that all cells fit that are not empty; numbers with zeros in front are codes, and so texts.

    >>> infer_type(["1", "2"]), infer_type(["true", ""]), infer_type(["1", "a"])
    ('integer', 'boolean', 'string')
    """
    filled = [cell for cell in cells if cell]
    codes = any(re.match(r"[+-]?0\d", cell) for cell in filled)
    types = [] if codes or not filled else ["boolean", "integer", "number"]
    return next((t for t in types if all(re.fullmatch(_TYPES[t][0], cell, re.ASCII) for cell in filled)), "string")


def _value(spec: FieldSpec, cell: str) -> Value:
    """Return the typed value of a cell, None where it is empty; raise ValueError that says what is wrong with it."""
    if not cell:
        if spec.constraints.required or spec.name == "word":
            raise ValueError("is empty")
        return None
    if (odd := unprintable(cell)) is not None:
        name = unicodedata.name(cell[odd], "a control character").lower()
        advice = ": write an ordinary space" if cell[odd].isspace() else ""
        raise ValueError(f"contains U+{ord(cell[odd]):04X}, {name}{advice}")
    if cell != " ".join(cell.split()):
        raise ValueError("begins or ends with a space, or has two in a row")
    pattern, convert, expected = _TYPES[spec.type]
    if not re.fullmatch(pattern, cell, re.ASCII):
        raise ValueError(f"is {cell[:40]!r}, expected {expected}")
    if spec.name == "slug" and slug(cell) != cell:
        # A dot stands between the words of an id.
        raise ValueError(f"is {cell[:40]!r}, expected lower-case letters, digits and hyphens")
    value, allowed = convert(cell), spec.constraints.enum
    if allowed is not None and value not in allowed:
        raise ValueError(f"is {cell[:40]!r}, expected one of {', '.join(map(str, allowed))}")
    return value


def _repeats(resource: Resource, words: Sequence[Word], display_path: str) -> Iterator[Finding]:
    unique = [(spec.name,) for spec in resource.table.fields if spec.constraints.unique]
    for key in dict.fromkeys([*unique, resource.table.primary_key]):
        first: dict[tuple[Value, ...], int] = {}
        for word in words:
            value = tuple(word.columns.get(column) for column in key)
            if first.setdefault(value, word.line) != word.line:
                message = f"{', '.join(map(str, value))} occurs twice, first on line {first[value]}"
                yield _finding(display_path, word.line, message, "remove one of the rows", code="E204")


def _finding(
    path: str, line: int, message: str, hint: str = "", code: str = "E202", column: int = 1, fix: Edit | None = None
) -> Finding:
    return Finding(path=path, line=line, column=column, code=code, message=message, hint=hint, fix=fix)


@dataclass(slots=True)
class Cells:
    """The positions of a list's cells in its file, which is read when the first one is needed."""

    words: WordList
    _lines: list[str] = field(default_factory=list)

    def column(self, word: Word, name: str) -> int:
        """Return the column, from 1, at which the cell `name` of a word's row begins."""
        self._lines = self._lines or yaml_source.read_text(self.words.path, self.words.display_path).split("\n")
        header = header_cells(self._lines[0], ",")
        return cell_column(self._lines[word.line - 1], header.index(name) if name in header else 0)
