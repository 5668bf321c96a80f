"""The entry of a changelog in Markdown for what changed between two releases."""

import re
from collections.abc import Iterator

from senseprobe.messages import counted, listed, shortened
from senseprobe.release.diff import ConfigChange, ReleaseDiff
from senseprobe.release.markup import code_span, escape_markdown

_HEADINGS = ("### Added", "### Changed", "### Removed")
_SINCE = re.compile(r"Since [A-Za-z0-9_-]+@[0-9.]+: (?:nothing changed|(?:MAJOR|MINOR|PATCH) \([0-9.]+ or higher\))\.")


def render_entry(diff: ReleaseDiff) -> str:
    """Return the entry, in the form of Keep a Changelog, without a date; it ends with a line feed."""
    name, _, version = diff.new.partition("@")
    summary = f"{diff.bump.upper()} ({diff.version} or higher)." if diff.reasons else "nothing changed."
    lines = [f"## {name} {version}", "", f"Since {diff.old}: {summary}"]
    groups = (_additions_or_removals(diff, "added"), _changed(diff), _additions_or_removals(diff, "removed"))
    for heading, texts in zip(_HEADINGS, groups, strict=True):
        if items := [f"- {text}" for text in texts]:
            lines += ["", heading, "", *items]
    return "\n".join(lines) + "\n"


def is_entry(text: str, release: str) -> bool:
    """Return whether a text has the form of an entry for ``NAME@VERSION``; its facts are not compared with anything."""
    name, _, version = release.partition("@")
    heading, blank, since, *lines = [*text.split("\n"), "", ""][: max(3, text.count("\n") + 1)]
    is_list = all(line in ("", *_HEADINGS) or (line.startswith("- ") and line.isprintable()) for line in lines)
    return (heading, blank) == (f"## {name} {version}", "") and bool(_SINCE.fullmatch(since)) and is_list


def _additions_or_removals(diff: ReleaseDiff, what: str) -> Iterator[str]:
    """Yield what was ``added``, or ``removed``: configs, rows with their words, columns, contrasts."""
    for change in diff.configs:
        name, elsewhere = code_span(change.config), change.before if what == "added" else change.after
        if elsewhere is None:
            yield f"config {name}: {getattr(change, what)} rows"
        elif getattr(change, what):
            yield f"{name}: {_rows(change, what)}{_words(change, 'appeared' if what == 'added' else 'vanished')}"
        if columns := change.schema.get(what):
            yield f"{name}: columns {listed(f'{code_span(column)} ({kind})' for column, kind in columns.items())}"
        action = "taken back from earlier" if what == "added" else "left out by"
        for group in change.taken_back if what == "added" else change.rejected:
            reasons = [f" ({escape_markdown(shortened(text))})" if text else "" for text in group.first.values()]
            ids = (f"{code_span(id_)}{reason}" for id_, reason in zip(group.first, reasons, strict=True))
            rows, verdicts = counted(group.rows, "row"), f"{code_span(group.rule)}, {code_span(group.source)}"
            yield f"{name}: {rows} {action} verdicts ({verdicts}): {listed(ids, group.rows)}"
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


def _words(change: ConfigChange, what: str) -> str:
    parts = [
        f"{code_span(slot)} {listed(f'{code_span(word)} ({rows})' for word, rows in words.items())}"
        for slot, pair in change.words.items()
        if (words := getattr(pair, what))
    ]
    return f"; {what}: {'; '.join(parts)}" if parts else ""


def _label(value: object) -> str:
    return "none" if value is None else code_span(str(value))
