"""Describe a CSV file of words in a project's `datapackage.yaml`: types from its cells, with TODO for the rest."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from senseprobe.errors import SenseprobeError
from senseprobe.generator import yaml_source
from senseprobe.generator.word_lists import DESCRIPTOR, WordLists, find_separator, infer_type
from senseprobe.lexicon.wordnet import LEXICONS, part_of_speech
from senseprobe.messages import listed
from senseprobe.project import Layer
from senseprobe.scaffold.template import read_template_file, read_yaml, with_item, write_all
from senseprobe.tables import UnreadableError, declared_delimiter, read_csv, split_lines

_FILE = re.compile(r"[a-z0-9][a-z0-9_-]*\.csv")
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z][a-z0-9_]*")


def add_list(layer: Layer, file: Path) -> list[Path]:
    """Add a CSV file to the lists of a project, and return the files that were written; all of them or none.

    Raise SenseprobeError where it cannot be a list or is one already, DeclarationError where it or the descriptor
    cannot be read, and OSError.
    """
    display_path = yaml_source.format_path(file)
    if not file.is_file():
        raise SenseprobeError(f"{display_path}: no such file")
    if not _FILE.fullmatch(file.name):
        expected = "rename it with lower-case letters, digits, - and _, and .csv"
        raise SenseprobeError(f"{display_path} cannot be the name of a list: {expected}")
    target, descriptor = layer.wordlists / file.name, layer.wordlists / DESCRIPTOR
    if file.stem in WordLists((layer.wordlists,)).names():
        raise SenseprobeError(f"{yaml_source.format_path(descriptor)} already describes {file.stem}")
    text = yaml_source.read_text(file, display_path)
    item = describe_columns(file.stem, _read_columns(text, display_path))
    files = {}
    if file.resolve() != target.resolve():
        if target.exists():
            raise SenseprobeError(f"{yaml_source.format_path(target)} already exists: rename {display_path}")
        files[target] = text
    described = read_yaml(descriptor) if descriptor.exists() else read_template_file("project/datapackage.yaml")
    files[descriptor] = with_item(descriptor, described, "resources", item)
    yaml_source.parse(files[descriptor], yaml_source.format_path(descriptor))
    write_all(files)
    return [*files]


def _read_columns(text: str, display_path: str) -> dict[str, list[str]]:
    """Return the cells of each column; raise SenseprobeError where they have no names, or none is `word`."""
    try:
        header, *rows = [row.cells for row in read_csv(split_lines(text), ",")] or [[]]
    except UnreadableError as error:
        raise SenseprobeError(error.at(display_path)) from None
    if declared_delimiter(text.split("\n", 1)[0]):
        raise SenseprobeError(
            f"{display_path}:1: this line is for spreadsheets: remove it, and separate columns with commas"
        )
    if "word" not in header:
        names = f"its columns are {listed(header) or '(none)'}"
        separator = find_separator(text.split("\n", 1)[0], "word")
        hint = f"columns are separated by {separator}, use commas" if separator else names
        raise SenseprobeError(f"{display_path} does not have a column `word`: {hint}")
    if len({*header}) < len(header) or not all(name.strip() and name.isprintable() for name in header):
        raise SenseprobeError(f"{display_path}: each column needs its own name, found {listed(map(repr, header))}")
    if ragged := next((number for number, row in enumerate(rows, 2) if len(row) != len(header)), None):
        raise SenseprobeError(f"{display_path}: row {ragged} does not have {len(header)} cells like the first row")
    return {name: [row[at] for row in rows] for at, name in enumerate(header)}


def describe_columns(name: str, columns: Mapping[str, Sequence[str]]) -> str:
    """Return the resource of a list in YAML: types and keys from its cells, the rest to be filled in."""
    fields = [_describe_field(column, cells, columns) for column, cells in columns.items()]
    key = ", ".join(map(_quoted, _primary_key(columns)))
    return "\n".join(
        [
            f"name: {_quoted(name)}",
            f"path: {name}.csv",
            'description: "TODO: what the words are, and who wrote them"',
            'sources: [{title: "TODO: a key of references.bib"}]',
            'licenses: [{name: "TODO"}]',
            "schema:",
            f"  primaryKey: [{key}]",
            "  fields:",
            *(f"    - {field}" for field in fields),
        ]
    )


def _describe_field(name: str, cells: Sequence[str], columns: Mapping[str, Sequence[str]]) -> str:
    is_text = name in ("word", "slug") or name.startswith(("sense_", "lemma_"))
    constraints = ["required: true"] if all(cells) else []
    constraints += ["unique: true"] if name == "word" and _primary_key(columns) == ["word"] else []
    facts = f", constraints: {{{', '.join(constraints)}}}" if constraints else ""
    if name.startswith("sense_"):
        poses = {part_of_speech(key) for key in cells if key}
        if len(poses) == 1 and all(poses):  # not of several, and no cell without a key
            facts = f", lexicon: {LEXICONS[0]}, pos: {poses.pop()}{facts}"
    return f"{{name: {_quoted(name)}, type: {'string' if is_text else infer_type(cells)}{facts}}}"


def _primary_key(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the fewest columns that tell rows apart, `word` first; only `word` where no columns do."""
    others = [name for name in columns if name != "word"]
    for key in (["word"], *(["word", name] for name in others), ["word", *others]):
        rows = [*zip(*(columns[name] for name in key), strict=True)]
        if len({*rows}) == len(rows):
            return key
    return ["word"]


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)
