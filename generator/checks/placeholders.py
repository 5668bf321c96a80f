"""What was to be filled in and was not: placeholders in frames, fields and cells, and the words of our example."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from senseprobe.generator import yaml_source
from senseprobe.generator.checks.base import (
    ConfigSubject,
    DatasetSubject,
    FrameSubject,
    Position,
    cell_finding,
    check,
    finding_at,
    mask_tags,
    resource_position,
    yaml_position,
)
from senseprobe.generator.dataset import ResolvedDataset
from senseprobe.generator.recipe import find_used_lists
from senseprobe.generator.schema import Dataset, Template
from senseprobe.generator.word_lists import DESCRIPTOR, Cells, WordList, WordLists
from senseprobe.generator.yaml_source import format_path
from senseprobe.records import Edit, Finding

EXAMPLE, EXAMPLE_SOURCE = "example", "senseprobe-example"
"""The dataset that `senseprobe init` writes, and the source of its words and frames, which no other may publish."""

_FIELD = re.compile(r"\b(?:TODO|FIXME|TBD|XXX+)\b")
_PLACEHOLDER = re.compile(
    r"""\$[A-Za-z][\w-]*\$ | \{[\w .|]*\} | <[A-Za-z][\w -]*> | \[[A-Z][A-Z_]*\] | _{3,}  # $GENDER$ {} <word> [MASK]
    | """
    + _FIELD.pattern,
    re.VERBOSE,
)
# %s and %(word)s, which a frame may have as text and a word may not.
_FORMAT = re.compile(r"(?<![\w%])%(?:\(\w+\))?[sdifr](?!\w)")
# Template syntax, which a frame may have and a word may not.
_SYNTAX = re.compile(r"\{[{%#](?:.*?[}%#]\})?|[}%#]\}")
# What other tools write in the place of {{ slot }}: with the name of a slot or binding, it was meant for one.
_OTHER_SYNTAX = re.compile(r"\{\s*(\w+)([\w\s.|]*)\}{1,2}|\$(\w+)\$?|<(\w+)>|\[(\w+)\]|%(\w+)%")
_REST = 2  # the group that holds filters
_HINT = "replace it: it would be printed unchanged"

Location = tuple[str | int, ...]


@check("E115")
def check_template_placeholders(subject: ConfigSubject) -> Iterator[Finding]:
    """A placeholder is left in a frame, a cell, or a field that describes a template, a dataset or a list.

    Text such as `$SENSE-ID$`, `$GENDER$`, `{}`, `<word>`, `[MASK]`, `___` or `TODO` was meant to be replaced. So
    was `%s`, or template syntax such as `{% raw %}` in a cell, which would be printed unchanged. A published pair
    of SSSB has a placeholder in the place of its sense, and was scored with it. Write slots with two braces, as
    `{{ slot }}`: `{slot}` and `$slot` are plain text.

    `senseprobe new` and `senseprobe words add` write `TODO` where only the author knows the answer. A wrong
    description misleads every user, so `senseprobe build` refuses such a dataset. The words and frames of the
    example, with the source `senseprobe-example`, must be replaced too, except in the dataset `example`. Name a
    list of your own, or replace the words and state their source.
    """
    for frame in subject.frames:
        yield from _placeholders(frame)
    template = subject.config.template
    yield from _template_fields(template, _PLACEHOLDER)
    yield from _example_parts(subject.dataset, template, subject.lists)


def find_single_braces(frame: FrameSubject) -> Iterator[tuple[re.Match[str], str]]:
    """Yield what a frame has in the place of an output, as `{slot}` and `$slot`, with the name."""
    for match in _OTHER_SYNTAX.finditer(mask_tags(frame.source, "\n")):
        name = next(group for number, group in enumerate(match.groups(), 1) if group and number != _REST)
        if name in frame.printable:
            yield match, name


def _placeholders(frame: FrameSubject) -> Iterator[Finding]:
    end = 0
    others = {match.start(): (match, "") for match in _PLACEHOLDER.finditer(mask_tags(frame.source, "\n"))}
    meant = {match.start(): (match, name) for match, name in find_single_braces(frame)}
    for start, (match, name) in sorted({**others, **meant}.items()):
        if start >= end:
            end = match.end()
            slot = f"{name}{(match[_REST] or '').rstrip()}" if name else ""
            hint = f"write {{{{ {slot} }}}}: this is printed unchanged" if name else _HINT
            column = frame.position[1] + start
            finding = frame.finding("E115", f"{match[0]!r} is a placeholder", hint, column)
            fix = Edit(line=frame.position[0], column=column, was=match[0], now=f"{{{{ {slot} }}}}") if name else None
            yield replace(finding, fix=fix)


@check("E115")
def check_list_placeholders(words: WordList) -> Iterator[Finding]:
    """A placeholder, or template syntax, is left in a cell or in the description of a list."""
    yield from _list_fields(words)
    cells = Cells(words)
    for word in words.words:
        for name, cell in word.columns.items():
            if match := isinstance(cell, str) and (
                _SYNTAX.search(cell) or _FORMAT.search(cell) or _PLACEHOLDER.search(cell)
            ):
                message = f"{name} contains a placeholder: {match[0]!r}"
                yield cell_finding(cells, word, name, "E115", message, "replace it")


# ---- Fields that describe ----


@check("E115")
def check_dataset_fields(subject: DatasetSubject) -> Iterator[Finding]:
    """A field of `dataset.yaml` is not filled in."""
    yield from _dataset_fields(subject.dataset)


def find_unfilled_fields(resolved: ResolvedDataset) -> Iterator[Finding]:
    """Yield E115 of each field that its author was to fill in, and of each part of our example, in what is built."""
    dataset, lists = resolved.dataset, resolved.lists
    yield from _dataset_fields(dataset)
    for config in resolved.configs:
        block = config.template.blocks[0]
        if block.front.expect is None:  # a draft need not say how many rows it makes, a release does
            form = get_args(type(block.front).model_fields["expect"].annotation)[0]
            hint = f"write `expect: {{{form.noun}: {config.size}}}`, the present number"
            yield finding_at(config.template.display_path, (block.line, 1), "E102", "expect: field required", hint)
    for template in dataset.templates:
        yield from _template_fields(template, _FIELD)
        yield from _example_parts(dataset, template, lists)
    for words in find_used_lists(dataset.templates, lists):
        yield from _list_fields(words)


def is_unfilled(text: str) -> bool:
    """Return whether a field is still to be filled in.

    >>> is_unfilled("TODO"), is_unfilled("Requests.")
    (True, False)
    """
    return bool(_FIELD.search(text))


def _dataset_fields(dataset: Dataset) -> Iterator[Finding]:
    path = dataset.folder / "dataset.yaml"
    for location, text in _texts(yaml_source.read_mapping(path)):
        yield from _unfilled(format_path(path), yaml_position(path, *location), location, text)
    if dataset.name != EXAMPLE and dataset.card.citation == EXAMPLE_SOURCE:
        yield _example_finding(format_path(path), yaml_position(path, "citation"), "the citation is")


def _template_fields(template: Template, pattern: re.Pattern[str]) -> Iterator[Finding]:
    for block in template.blocks:
        for location, text in _texts(block.sources[0]):
            yield from _unfilled(template.display_path, block.locate(*location), location, text, pattern)


def _list_fields(words: WordList) -> Iterator[Finding]:
    """Yield a finding for each unfilled field of a list's resource; an unfilled licence is E208."""
    path = words.path.with_name(DESCRIPTOR)
    for location, text in _texts(words.resource.model_dump(by_alias=True, exclude_unset=True, exclude={"licenses"})):
        if is_unfilled(text):
            yield from _unfilled(format_path(path), resource_position(words, *location), location, text)


def _unfilled(
    path: str, position: Position, location: Location, text: str, pattern: re.Pattern[str] = _FIELD
) -> Iterator[Finding]:
    if match := pattern.search(text):
        name = ".".join(map(str, location))
        hint = text[match.end() :].lstrip(": ") if match.start() == 0 else ""  # TODO: what to write
        yield finding_at(path, position, "E115", f"{name} contains a placeholder: {match[0]!r}", hint or "replace it")


def _example_parts(dataset: Dataset, template: Template, lists: WordLists) -> Iterator[Finding]:
    """Yield a finding where a dataset other than the example has its frames, or the words of one of its lists."""
    names = set()
    for block in template.blocks if dataset.name != EXAMPLE else ():
        if block.sources[0].get("source") == EXAMPLE_SOURCE:
            yield _example_finding(template.display_path, block.locate("source"), "the frames are")
        for slot, spec in block.front.slots.items():
            words = None if spec.list in names else lists.get(spec.list)
            names.add(spec.list)
            if words and EXAMPLE_SOURCE in (source.title for source in words.resource.sources):
                position, what = block.locate("slots", slot, "list"), f"the words of {spec.list} are"
                yield _example_finding(template.display_path, position, what)


def _example_finding(path: str, position: Position, what: str) -> Finding:
    hint = "use your own, or replace them and state their source"
    return finding_at(path, position, "E115", f"{what} from senseprobe's example", hint)


def _texts(data: object, location: Location = ()) -> Iterator[tuple[Location, str]]:
    if isinstance(data, str):
        yield location, data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _texts(value, (*location, str(key)))
    elif isinstance(data, Sequence):
        for number, value in enumerate(data):
            yield from _texts(value, (*location, number))
