"""The changes between two releases as text: the entry of a changelog in Markdown, and a section."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from senseprobe.document import Section, Table, table_section
from senseprobe.messages import counted, listed, printable, shortened
from senseprobe.release.diff import ConfigChange, ReleaseDiff
from senseprobe.release.markup import code_span, escape_markdown

_HEADINGS = ("Added", "Changed", "Removed")
_OF_WORDS = {"added": "appeared", "removed": "vanished"}
_SINCE = re.compile(r"Since [A-Za-z0-9_-]+@[0-9.]+: (?:nothing changed|(?:MAJOR|MINOR|PATCH) \([0-9.]+ or higher\))\.")


class _Form(NamedTuple):
    """How names and values of others stand in a line, and how reasons do.

    `is_whole`: whether ids of new configs are listed, and words of edited rows, which a changelog leaves out.
    """

    code: Callable[[str], str]
    text: Callable[[str], str]
    is_whole: bool

    def label(self, value: object) -> str:
        """Return a value, or that there is none."""
        return "none" if value is None else self.code(str(value))


_MARKDOWN, _PLAIN = _Form(code_span, escape_markdown, False), _Form(printable, printable, True)


def render_entry(diff: ReleaseDiff) -> str:
    """Return the entry, in the form of Keep a Changelog, without a date; it ends with a line feed."""
    name, _, version = diff.new.partition("@")
    summary = f"{diff.bump.upper()} ({diff.version} or higher)." if diff.reasons else "nothing changed."
    lines = [f"## {name} {version}", "", f"Since {diff.old}: {summary}"]
    for heading, texts in _list_changes(diff, _MARKDOWN).items():
        lines += ["", f"### {heading}", "", *(f"- {text}" for text in texts)]
    return "\n".join(lines) + "\n"


def is_entry(text: str, release: str) -> bool:
    """Return whether a text has the form of an entry for ``NAME@VERSION``; its facts are not compared with anything."""
    name, _, version = release.partition("@")
    heading, blank, since, *lines = [*text.split("\n"), "", ""][: max(3, text.count("\n") + 1)]
    headings = [f"### {name}" for name in _HEADINGS]
    is_list = all(line in ("", *headings) or (line.startswith("- ") and line.isprintable()) for line in lines)
    return (heading, blank) == (f"## {name} {version}", "") and bool(_SINCE.fullmatch(since)) and is_list


def changes_sections(diff: ReleaseDiff, most: int) -> tuple[Section, ...]:
    """Return counts of rows, what they consist of, `most` lines of each round, and which version that calls for."""
    names = ("before", "after", "added", "removed", "edited")
    has_rows = any(change.added or change.removed or change.edited for change in diff.configs)
    rows = [[change.config, *(getattr(change, name) for name in names)] for change in diff.configs] if has_rows else []
    counts = Table.of_texts({"config": "name", **dict.fromkeys(names, "number")}, rows)
    changes = (Section(heading, tuple(texts)) for heading, texts in _list_changes(diff, _PLAIN).items())
    reasons = [f"{reason.bump.upper()}: {reason.text}" for reason in diff.reasons]
    end = f"{diff.old} -> {diff.new}: {_conclusion(diff)}"
    version = Section("Version" if reasons else "", (*diff.describe_rounds(most), *reasons, end))
    return (*filter(None, (table_section("", (), [counts]), *changes, version)),)


def _conclusion(diff: ReleaseDiff) -> str:
    if not diff.reasons:
        return "nothing changed"
    required = f"{diff.bump.upper()}, so {diff.version} or higher"
    if diff.old.partition("@")[0] != diff.new.partition("@")[0]:
        return f"different datasets; as versions of one dataset, {required}"
    return f"{required}: the version number is too low" if diff.enough is False else required


def _list_changes(diff: ReleaseDiff, form: _Form) -> dict[str, list[str]]:
    """Return what was added, changed and removed, by these headings."""
    parts = (_additions_or_removals(diff, "added", form), _changed(diff, form))
    groups = zip(_HEADINGS, map(list, (*parts, _additions_or_removals(diff, "removed", form))), strict=True)
    return {heading: texts for heading, texts in groups if texts}


def _additions_or_removals(diff: ReleaseDiff, what: str, form: _Form) -> Iterator[str]:
    """Yield what was ``added``, or ``removed``: configs, rows with their words, columns, contrasts."""
    for change in diff.configs:
        name, elsewhere = form.code(change.config), change.before if what == "added" else change.after
        if elsewhere is None:
            listed_ids = f" ({_list_ids(change, what, form)})" if form.is_whole else ""
            yield f"config {name}: {getattr(change, what)} rows{listed_ids}"
        elif getattr(change, what):
            words = _words(change, _OF_WORDS[what], form)
            yield f"{name}: {_rows(change, what, form)}{words and f'; {words}'}"
        if columns := change.schema.get(what):
            yield f"{name}: columns {listed(f'{form.code(column)} ({kind})' for column, kind in columns.items())}"
        action = "restored after earlier" if what == "added" else "omitted by"
        for group in change.taken_back if what == "added" else change.rejected:
            reasons = [f" ({form.text(shortened(text))})" if text else "" for text in group.first.values()]
            ids = (f"{form.code(id_)}{reason}" for id_, reason in zip(group.first, reasons, strict=True))
            rows, verdicts = counted(group.rows, "row"), f"{form.code(group.rule)}, {form.code(group.source)}"
            yield f"{name}: {rows} {action} verdicts ({verdicts}): {listed(ids, group.rows)}"
    if names := diff.contrasts.get(what):
        yield f"contrasts {listed(map(form.code, names))}"


def _changed(diff: ReleaseDiff, form: _Form) -> Iterator[str]:
    for change in diff.configs:
        name = form.code(change.config)
        if change.edited:
            columns = listed(f"{form.code(column)} ({rows})" for column, rows in change.columns.items())
            yield f"{name}: {_rows(change, 'edited', form)} in {columns}"
        for rows, what in _OF_WORDS.items() if form.is_whole else ():
            if not getattr(change, rows) and (words := _words(change, what, form)):
                yield f"{name}: {words}"
        if change.turned:
            yield f"{name}: the label of {change.turned} rows is reversed (stereotype and counterpart swapped)"
        for column, (was, now) in change.samples.items():
            if column not in change.labels:
                yield f"{name}: {form.code(column)}, for example {form.label(was)} → {form.label(now)}"
        for column, labels in change.labels.items():
            changes = listed(f"{form.label(label.was)} → {form.label(label.now)} ({label.rows})" for label in labels)
            yield f"{name}: {form.code(column)} {changes}"
        for column, (was, now) in change.schema.get("changed", {}).items():
            yield f"{name}: column {form.code(column)} is {now}; it was {was}"
        for key, (was, now) in change.design.items():
            yield f"{name}: design, {form.code(key)}: {form.label(shortened(was))} → {form.label(shortened(now))}"
        if change.moved:
            yield f"{name}: rows or columns reordered"
        if change.about:
            yield f"{name}: {', '.join(change.about)}"
    if names := diff.contrasts.get("changed"):
        yield f"contrasts {listed(map(form.code, names))}"
    if diff.card:
        yield f"card: {', '.join(form.code(key) for key in diff.card)}"
    if diff.recipe and not diff.configs:
        yield f"recipe: {listed(map(form.code, diff.recipe))}"


def _rows(change: ConfigChange, what: str, form: _Form) -> str:
    return f"{counted(getattr(change, what), 'row')} {what} ({_list_ids(change, what, form)})"


def _list_ids(change: ConfigChange, what: str, form: _Form) -> str:
    return listed(map(form.code, change.first[what]), getattr(change, what))


def _words(change: ConfigChange, what: str, form: _Form) -> str:
    parts = [
        f"{form.code(slot)} {listed(f'{form.code(word)} ({rows})' for word, rows in words.items())}"
        for slot, pair in change.words.items()
        if (words := getattr(pair, what))
    ]
    return f"{what}: {'; '.join(parts)}" if parts else ""
