"""Commands of those who compare releases."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import print_json, print_line, print_table, progress
from senseprobe.errors import SenseprobeError
from senseprobe.wording import printable, shortened

if TYPE_CHECKING:
    from senseprobe.release.diff import ReleaseDiff


_HELP = "[hf://USER/]NAME@VERSION, or the path of a release."


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help=f"The older release: {_HELP}")],
    b: Annotated[str, typer.Argument(metavar="B", help=f"The newer release: {_HELP}")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print an entry of a changelog.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what changed from one release to another, and which version that calls for."""
    from senseprobe import api
    from senseprobe.release.changelog import entry

    if markdown and as_json:
        raise SenseprobeError("--markdown and --json: only one of them")
    with progress(f"comparing {a} and {b}", None):
        found = api.diff(a, b)
    if as_json:
        print_json(found.as_dict())
    elif markdown:
        print_line(entry(found).rstrip("\n"))
    else:
        _tell(found)
    raise typer.Exit(1 if found.enough is False else 0)


def _tell(found: "ReleaseDiff") -> None:
    if any(change.added or change.removed or change.edited for change in found.configs):
        columns = dict.fromkeys(("config", "before", "after", "added", "removed", "edited"), "right") | {
            "config": "left"
        }
        print_table(columns, [[getattr(change, name) for name in columns] for change in found.configs])
    for line in _details(found):
        print_line(line)
    for reason in found.reasons:
        print_line(f"{reason.bump.upper()}: {reason.text}")
    print_line(f"{found.old} -> {found.new}: {_verdict(found)}")


def _details(found: "ReleaseDiff") -> Iterator[str]:
    """What stands behind the counts: first ids, columns, words, labels, designs."""
    from senseprobe.wording import listed

    for change in found.configs:
        name = change.config
        for what, ids in change.first.items():
            yield f"{name}: {what} {listed(ids, getattr(change, what))}"
        for what, groups in (("left out by verdicts", change.rejected), ("taken back", change.taken_back)):
            for each in groups:
                rows = listed((_row(*told) for told in each.first.items()), each.rows)
                yield f"{name}: {what} ({printable(each.rule)}, {printable(each.source)}): {rows}"
        if change.columns:
            yield f"{name}: edited in {listed(f'{column} ({rows})' for column, rows in change.columns.items())}"
        if change.turned:
            yield f"{name}: {change.turned} with the stereotype for its counterpart, and the other way round"
        for column, (was, now) in change.samples.items():
            if column not in change.labels:
                yield f"{name}: {column}, for example {_shown(was)} -> {_shown(now)}"
        for slot, words in change.words.items():
            for what, told in (("appeared", words.appeared), ("vanished", words.vanished)):
                if told:
                    yield f"{name}: {slot}: {what} {listed(f'{word} ({rows})' for word, rows in told.items())}"
        for column, labels in change.labels.items():
            became = listed(f"{_shown(each.was)} -> {_shown(each.now)} ({each.rows})" for each in labels)
            yield f"{name}: {column}: {became}"
        for column, (was, now) in change.schema.get("changed", {}).items():
            yield f"{name}: column {column}: {was} -> {now}"
        for key, (was, now) in change.design.items():
            yield f"{name}: design, {key}: {_shown(was)} -> {_shown(now)}"


def _row(name: str, reason: str) -> str:
    """A row that has a verdict, with the reason."""
    return f"{printable(name)} ({printable(shortened(reason))})" if reason else printable(name)


def _shown(value: object) -> str:
    return "none" if value is None else printable(shortened(value))


def _verdict(found: "ReleaseDiff") -> str:
    if not found.reasons:
        return "nothing changed"
    called = f"{found.bump.upper()}, so {found.version} or higher"
    if found.old.partition("@")[0] != found.new.partition("@")[0]:
        return f"two datasets; if one followed the other, {called}"
    return {True: called, False: f"{called}: its number is too low", None: called}[found.enough]
