"""Reads `wordlists/`: one CSV table per list, all described in a Frictionless `datapackage.yaml`.

A list becomes words; a word prints as itself and carries its row's columns, typed as the descriptor says.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from senseprobe.errors import DeclarationError
from senseprobe.generator import yaml_source
from senseprobe.messages import unprintable
from senseprobe.records import Finding

DESCRIPTOR = "datapackage.yaml"

MAX_WORDS = 100_000
"""Rows of a list; a longer one is a mistake or an attack."""

MAX_FINDINGS = 1_000
"""Mistakes of a list that are reported: more are probably one mistake, made in every row."""

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
    """A list: its description and its words in file order."""

    resource: Resource
    path: Path
    display_path: str
    words: tuple[Word, ...]

    @property
    def columns(self) -> dict[str, FieldSpec]:
        """The list's columns by name, in order."""
        return {spec.name: spec for spec in self.resource.table.fields}


@dataclass(frozen=True, slots=True)
class WordLists:
    """The lists that a dataset sees: those of its own layer first, then the built-in ones; each read once."""

    folders: tuple[Path, ...]
    _packages: dict[Path, Package] = field(default_factory=dict)
    _lists: dict[str, WordList] = field(default_factory=dict)
    _broken: dict[str, DeclarationError] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return the name of every list, sorted."""
        return sorted({resource.name for folder in self.folders for resource in self._package(folder).resources})

    def get(self, name: str) -> WordList | None:
        """Return the list called `name`, or None; raise DeclarationError with every mistake of its file."""
        if name in self._broken:
            raise self._broken[name]
        if name not in self._lists:
            for folder in self.folders:
                matches = (resource for resource in self._package(folder).resources if resource.name == name)
                if resource := next(matches, None):
                    self._read(folder, resource)
                    break
        return self._lists.get(name)

    def _read(self, folder: Path, resource: Resource) -> None:
        try:
            self._lists[resource.name] = _read_list(folder, resource)
        except DeclarationError as error:
            self._broken[resource.name] = error
            raise

    def _package(self, folder: Path) -> Package:
        if folder not in self._packages:
            self._packages[folder] = _read_package(folder)
        return self._packages[folder]


def _read_package(folder: Path) -> Package:
    path = folder / DESCRIPTOR
    if not path.exists():
        return Package(resources=())
    data = yaml_source.read_mapping(path)
    return yaml_source.validate(Package, data, [data], yaml_source.format_path(path), "E201")


def _read_list(folder: Path, resource: Resource) -> WordList:
    path = folder / resource.path
    display_path = yaml_source.format_path(path)
    text = yaml_source.read_text(path, display_path)
    findings: list[Finding] = []
    words = tuple(_words(resource, text, display_path, findings))
    findings.extend(islice(_repeats(resource, words, display_path), MAX_FINDINGS + 1))
    if len(findings) > MAX_FINDINGS:
        last = findings[MAX_FINDINGS]
        message = f"more than {MAX_FINDINGS} mistakes: those that follow are not reported"
        findings[MAX_FINDINGS:] = [_finding(display_path, last.line, 1, "E202", message)]
    if findings:
        raise DeclarationError(findings)
    return WordList(resource, path, display_path, words)


def _words(resource: Resource, text: str, display_path: str, findings: list[Finding]) -> Iterator[Word]:
    specs, lines = resource.table.fields, text.split("\n")
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = next(reader, [])
        if header != [spec.name for spec in specs]:
            expected = ",".join(spec.name for spec in specs)
            findings.append(_finding(display_path, 1, 1, "E202", f"columns are not those of {DESCRIPTOR}", expected))
            return
        for number, cells in enumerate(reader, 1):
            line = reader.line_num
            if len(findings) > MAX_FINDINGS:
                return
            if number > MAX_WORDS:
                findings.append(_finding(display_path, line, 1, "E202", f"more than {MAX_WORDS} rows"))
                return
            if len(cells) != len(specs):
                findings.append(_finding(display_path, line, 1, "E202", f"{len(cells)} cells, expected {len(specs)}"))
                continue
            values, mistakes = _values(specs, cells)
            for number, message in mistakes.items():
                findings.append(_finding(display_path, line, cell_column(lines[line - 1], number), "E203", message))
            if not mistakes:
                yield Word.of(values, resource.name, line)
    except csv.Error as error:
        findings.append(_finding(display_path, reader.line_num, 1, "E202", f"malformed CSV: {error}"))


def cell_column(line: str, number: int) -> int:
    """Return the column, from 1, at which cell `number`, from 0, of a line begins; 1 where there are fewer cells.

    Cells begin behind commas outside quotation marks; a doubled mark closes and opens again.
    """
    quoted, starts = False, [1]
    for position, character in enumerate(line, 1):
        quoted ^= character == '"'
        if character == "," and not quoted:
            starts.append(position + 1)
    return starts[number] if number < len(starts) else 1


def _values(specs: tuple[FieldSpec, ...], cells: list[str]) -> tuple[dict[str, Value], dict[int, str]]:
    """Return the values of a row, and what is wrong with its cells by their number."""
    values: dict[str, Value] = {}
    mistakes: dict[int, str] = {}
    for number, (spec, cell) in enumerate(zip(specs, cells, strict=True)):
        try:
            values[spec.name] = _value(spec, cell)
        except ValueError as error:
            mistakes[number] = f"{spec.name} {error}"
    return values, mistakes


_TYPES: dict[str, tuple[Callable[[str], Value], str]] = {
    "string": (str, ""),
    "boolean": (lambda cell: {"true": True, "false": False}[cell], "true or false"),
    "integer": (lambda cell: int(_number(cell, r"[+-]?\d{1,18}")), "a whole number"),
    "number": (lambda cell: float(_number(cell, r"[+-]?\d{1,18}(\.\d{1,18})?([eE][+-]?\d{1,2})?")), "a number"),
}


def _number(cell: str, pattern: str) -> str:
    """Return the cell if it is a number as tables have it; Python accepts more, as 1_000."""
    if not re.fullmatch(pattern, cell, re.ASCII):
        raise ValueError("not a number")
    return cell


def _value(spec: FieldSpec, cell: str) -> Value:
    """Return the typed value of a cell, None where it is empty; raise ValueError that says what is wrong with it."""
    if not cell:
        if spec.constraints.required or spec.name == "word":
            raise ValueError("is empty")
        return None
    if (odd := unprintable(cell)) is not None:
        sign = cell[odd]
        name = unicodedata.name(sign, "a control character").lower()
        advice = ": write an ordinary blank" if sign.isspace() else ""
        raise ValueError(f"holds U+{ord(sign):04X}, {name}{advice}")
    if cell != " ".join(cell.split()):
        raise ValueError("has blanks around it, or two in a row")
    convert, expected = _TYPES[spec.type]
    try:
        value = convert(cell)
    except (ValueError, KeyError):
        raise ValueError(f"is {cell[:40]!r}, expected {expected}") from None
    if spec.name == "slug" and slug(cell) != cell:
        # A dot stands between the words of an id.
        raise ValueError(f"is {cell[:40]!r}, expected lower-case letters, digits and hyphens")
    allowed = spec.constraints.enum
    if allowed is not None and value not in allowed:
        raise ValueError(f"is {cell[:40]!r}, expected one of {', '.join(map(str, allowed))}")
    return value


def _repeats(resource: Resource, words: tuple[Word, ...], display_path: str) -> Iterator[Finding]:
    unique = [(spec.name,) for spec in resource.table.fields if spec.constraints.unique]
    for key in dict.fromkeys([*unique, resource.table.primary_key]):
        first: dict[tuple[Value, ...], int] = {}
        for word in words:
            value = tuple(word.columns.get(column) for column in key)
            if value in first:
                message = f"{', '.join(map(str, value))} is there twice, first on line {first[value]}"
                yield _finding(display_path, word.line, 1, "E204", message, "remove one of the rows")
            first.setdefault(value, word.line)


def _finding(path: str, line: int, column: int, code: str, message: str, hint: str = "") -> Finding:
    return Finding(path=path, line=line, column=column, code=code, message=message, hint=hint)


@dataclass(slots=True)
class Cells:
    """The positions of a list's cells in its file, which is read when the first one is needed."""

    words: WordList
    _lines: list[str] = field(default_factory=list)

    def column(self, word: Word, name: str) -> int:
        """Return the column, from 1, at which the cell `name` of a word's row begins."""
        self._lines = self._lines or yaml_source.read_text(self.words.path, self.words.display_path).split("\n")
        return cell_column(self._lines[word.line - 1], list(self.words.columns).index(name))
