"""What people read of what changed between two releases: the entry of a changelog in Markdown, and a section."""

import re
from collections.abc import Iterator

from senseprobe.document import Section, Table
from senseprobe.messages import counted, listed, printable, shortened
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


# --- a section ------------------------------------------------------------------------------------------------------


def changes_section(diff: ReleaseDiff, most: int) -> Section:
    """Return counts of rows, what they consist of, `most` lines of each round, and which version that calls for."""
    lines = [*_detail_lines(diff), *diff.describe_rounds(most)]
    lines += [f"{reason.bump.upper()}: {reason.text}" for reason in diff.reasons]
    lines.append(f"{diff.old} -> {diff.new}: {_conclusion(diff)}")
    if not any(change.added or change.removed or change.edited for change in diff.configs):
        return Section("", tuple(lines))
    names = ("before", "after", "added", "removed", "edited")
    rows = ([change.config, *(getattr(change, name) for name in names)] for change in diff.configs)
    kinds = {"config": "name", **dict.fromkeys(names, "number")}
    return Section("", tables=(Table.of_texts(kinds, rows, note="\n".join(lines)),))


def _detail_lines(changes: ReleaseDiff) -> Iterator[str]:
    """Yield what the counts consist of, by config: first ids, verdicts, columns, words, labels, schema and design."""
    for change in changes.configs:
        yield from (f"{change.config}: {line}" for line in (*_row_lines(change), *_column_lines(change)))


def _row_lines(change: ConfigChange) -> Iterator[str]:
    for what, ids in change.first.items():
        yield f"{what} {listed(ids, getattr(change, what))}"
    for what, groups in (("left out by verdicts", change.rejected), ("taken back", change.taken_back)):
        for group in groups:
            rows = listed((_row_with_reason(*row) for row in group.first.items()), group.rows)
            yield f"{what} ({printable(group.rule)}, {printable(group.source)}): {rows}"
    if change.columns:
        yield f"edited in {listed(f'{column} ({rows})' for column, rows in change.columns.items())}"
    if change.turned:
        yield f"{change.turned} with the stereotype for its counterpart, and the other way round"


def _column_lines(change: ConfigChange) -> Iterator[str]:
    for column, values in change.samples.items():
        if column not in change.labels:
            yield f"{column}, for example {_arrow(*values)}"
    for slot, words in change.words.items():
        for what, counts in (("appeared", words.appeared), ("vanished", words.vanished)):
            if counts:
                yield f"{slot}: {what} {listed(f'{word} ({rows})' for word, rows in counts.items())}"
    for column, labels in change.labels.items():
        yield f"{column}: {listed(f'{_arrow(label.was, label.now)} ({label.rows})' for label in labels)}"
    for column, (was, now) in change.schema.get("changed", {}).items():
        yield f"column {column}: {was} -> {now}"
    for key, values in change.design.items():
        yield f"design, {key}: {_arrow(*values)}"


def _row_with_reason(name: str, reason: str) -> str:
    return f"{printable(name)} ({printable(shortened(reason))})" if reason else printable(name)


def _arrow(*values: object) -> str:
    return " -> ".join("none" if value is None else printable(shortened(value)) for value in values)


def _conclusion(changes: ReleaseDiff) -> str:
    if not changes.reasons:
        return "nothing changed"
    required = f"{changes.bump.upper()}, so {changes.version} or higher"
    if changes.old.partition("@")[0] != changes.new.partition("@")[0]:
        return f"two datasets; if one followed the other, {required}"
    return f"{required}: its number is too low" if changes.enough is False else required
