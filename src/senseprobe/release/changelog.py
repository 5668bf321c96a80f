"""The entry of a changelog in Markdown for what changed between two releases."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from senseprobe.messages import counted, listed, shortened
from senseprobe.release.diff import ConfigChange, ReleaseDiff
from senseprobe.release.markup import code_span, escape_markdown

_HEADINGS = ("### Added", "### Changed", "### Removed")
_SINCE = re.compile(r"Since [A-Za-z0-9_-]+@[0-9.]+: (?:nothing changed|(?:MAJOR|MINOR|PATCH) \([0-9.]+ or higher\))\.")


def render_entry(diff: ReleaseDiff) -> str:
    """Return the entry, in the form of Keep a Changelog, without a date; it ends with a line feed."""
    name, _, version = diff.new.partition("@")
    lines = [f"## {name} {version}", "", f"Since {diff.old}: {_summary(diff)}"]
    groups = {
        "Added": _additions_or_removals(diff, "added"),
        "Changed": _changed(diff),
        "Removed": _additions_or_removals(diff, "removed"),
    }
    for heading, texts in groups.items():
        if items := [f"- {text}" for text in texts]:
            lines += ["", f"### {heading}", "", *items]
    return "\n".join(lines) + "\n"


def is_entry(text: str, release: str) -> bool:
    """Return whether a text has the form of an entry for ``NAME@VERSION``; its facts are not compared with anything."""
    name, _, version = release.partition("@")
    heading, blank, since, *lines = [*text.split("\n"), "", ""][: max(3, text.count("\n") + 1)]
    is_list = all(line in ("", *_HEADINGS) or (line.startswith("- ") and line.isprintable()) for line in lines)
    return (heading, blank) == (f"## {name} {version}", "") and bool(_SINCE.fullmatch(since)) and is_list


def _summary(diff: ReleaseDiff) -> str:
    if not diff.reasons:
        return "nothing changed."
    return f"{diff.bump.upper()} ({diff.version} or higher)."


def _additions_or_removals(diff: ReleaseDiff, what: str) -> Iterator[str]:
    """Yield what was ``added``, or ``removed``: configs, rows with their words, columns, contrasts."""
    for change in diff.configs:
        name, elsewhere = code_span(change.config), change.before if what == "added" else change.after
        if elsewhere is None:
            yield f"config {name}: {getattr(change, what)} rows"
        elif getattr(change, what):
            words = _words(change, "appeared" if what == "added" else "vanished")
            yield f"{name}: {_rows(change, what)}{words}"
        if columns := change.schema.get(what):
            yield f"{name}: {_columns(columns)}"
        yield from _by_verdict(change, what)
    if names := diff.contrasts.get(what):
        yield f"contrasts {listed(map(code_span, names))}"


def _changed(diff: ReleaseDiff) -> Iterator[str]:
    for change in diff.configs:
        name = code_span(change.config)
        if change.edited:
            columns = listed(f"{code_span(column)} ({rows})" for column, rows in change.columns.items())
            yield f"{name}: {_rows(change, 'edited')} in {columns}"
        if change.turned:
            yield f"{name}: the label of {change.turned} rows is turned round: the stereotype is now its counterpart"
        for column, (was, now) in change.samples.items():
            if column not in change.labels:
                yield f"{name}: {code_span(column)}, for example {_label(was)} → {_label(now)}"
        for column, labels in change.labels.items():
            changes = listed(f"{_label(label.was)} → {_label(label.now)} ({label.rows})" for label in labels)
            yield f"{name}: {code_span(column)} {changes}"
        for column, (was, now) in change.schema.get("changed", {}).items():
            yield f"{name}: column {code_span(column)} is {now} and was {was}"
        for key, (was, now) in change.design.items():
            yield f"{name}: design, {code_span(key)}: {_label(shortened(was))} → {_label(shortened(now))}"
        if change.moved:
            yield f"{name}: rows or columns in another order"
        if change.about:
            yield f"{name}: {', '.join(change.about)}"
    if names := diff.contrasts.get("changed"):
        yield f"contrasts {listed(map(code_span, names))}"
    if diff.card:
        yield f"card: {', '.join(code_span(key) for key in diff.card)}"
    if diff.recipe and not diff.configs:
        yield f"recipe: {listed(map(code_span, diff.recipe))}"


def _rows(change: ConfigChange, what: str) -> str:
    count, ids = getattr(change, what), change.first[what]
    return f"{counted(count, 'row')} {what} ({listed(map(code_span, ids), count)})"


def _by_verdict(change: ConfigChange, what: str) -> Iterator[str]:
    """Yield the rows ``removed`` by verdicts, or ``added`` as a verdict no longer leaves them out, with the reasons."""
    groups = change.taken_back if what == "added" else change.rejected
    action = "taken back from earlier" if what == "added" else "left out by"
    for group in groups:
        rows = listed((_row_with_reason(*row) for row in group.first.items()), group.rows)
        count, verdicts = counted(group.rows, "row"), f"{code_span(group.rule)}, {code_span(group.source)}"
        yield f"{code_span(change.config)}: {count} {action} verdicts ({verdicts}): {rows}"


def _row_with_reason(name: str, reason: str) -> str:
    return f"{code_span(name)} ({escape_markdown(shortened(reason))})" if reason else code_span(name)


def _words(change: ConfigChange, what: str) -> str:
    parts = [
        f"{code_span(slot)} {listed(f'{code_span(word)} ({rows})' for word, rows in words.items())}"
        for slot, pair in change.words.items()
        if (words := getattr(pair, what))
    ]
    return f"; {what}: {'; '.join(parts)}" if parts else ""


def _columns(columns: Mapping[str, Any]) -> str:
    return f"columns {listed(f'{code_span(name)} ({kind})' for name, kind in columns.items())}"


def _label(value: object) -> str:
    return "none" if value is None else code_span(str(value))
