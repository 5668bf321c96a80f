"""Commands of those who freeze and check releases.

The command of those who bring published data of their own.

Commands of those who compare releases.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import print_findings, print_json, print_line, print_note, print_table, progress
from senseprobe.errors import SenseprobeError
from senseprobe.importers.registry import FORMATS
from senseprobe.messages import counted, printable, shortened

if TYPE_CHECKING:
    from senseprobe.importers.plan import ImportedDataset
    from senseprobe.importers.sources import Notes
    from senseprobe.release.diff import ReleaseDiff
    from senseprobe.release.release import Release as Frozen

Force = Annotated[bool, typer.Option("--force", help="Write it though it is over 10^9 rows, or seems not to fit.")]
Release = Annotated[str, typer.Argument(metavar="RELEASE", help="[hf://USER/]NAME@VERSION, or the path of a release.")]


def build(
    dataset: Annotated[str, typer.Argument(metavar="DATASET")],
    version: Annotated[str, typer.Argument(metavar="VERSION", help="MAJOR.MINOR.PATCH")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of releases.", show_default="the project's releases/")
    ] = None,
    shards: Annotated[
        int | None, typer.Option(min=1, help="Make one of so many parts alone; `join` puts them together.")
    ] = None,
    shard: Annotated[int | None, typer.Option(min=0, help="Which part, from 0.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Freeze a dataset at a version: rows, card, recipe and manifest."""
    from senseprobe import api

    if (shards is None) != (shard is None):
        raise SenseprobeError("--shards N and --shard I go together")
    with progress(f"building {dataset} {version}", None) as step:
        if shards is not None and shard is not None:
            folder = api.build_shard(dataset, version, shard, shards, out, step, force=force, say=print_note)
            print_json({"shard": str(folder)}) if as_json else print_line(f"shard {shard} of {shards} in {folder}")
            return
        release = api.build(dataset, version, out, step, force=force, say=print_note)
    _print_release(release, as_json)


def join(
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="The folders that build --shard made.")],
    out: Annotated[Path | None, typer.Option(help="Folder of releases.", show_default="beside the shards")] = None,
    as_json: AsJson = False,
) -> None:
    """Put the shards of a release together: the same release that one machine would have made."""
    from senseprobe import api

    with progress("joining", None) as step:
        release = api.join(shards, out, step)
    _print_release(release, as_json)


def restore(
    release: Release,
    out: Annotated[
        Path | None, typer.Option(help="Folder of releases.", show_default="where it is, or the project's")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make again the rows of a release that keeps only manifest and recipe, and check them."""
    from senseprobe import api

    with progress(f"restoring {release}", None) as step:
        restored = api.restore(release, out, step, force=force, say=print_note)
    _print_release(restored, as_json)


def _print_release(release: "Frozen", as_json: bool) -> None:
    manifest = release.manifest
    rows = {name: manifest.config(name)["rows"] for name in manifest.configs}
    if as_json:
        told = {"release": manifest.name, "folder": str(release.folder), "rows": rows, "content": manifest.content}
        print_json(told)
    else:
        size = f"{counted(sum(rows.values()), 'row')} in {counted(len(rows), 'config')}"
        print_line(f"{manifest.name}: {size}, content {manifest.content[:12]}")
        print_line(f"written to {release.folder}")


def verify(
    release: Release,
    rebuild: Annotated[bool, typer.Option(help="Also make the rows again from the recipe.")] = False,
    content: Annotated[str, typer.Option(help="The content hash that it shall have, as a paper cites it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Check a release: every file, its rows, its recipe."""
    from senseprobe import api

    with progress(f"verifying {release}", None) as step:
        findings = api.verify(release, rebuild, step, content=content)
    if as_json:
        print_json({"release": release, "rebuilt": rebuild, "findings": [finding.as_dict() for finding in findings]})
    else:
        print_findings(findings)
        state = counted(len(findings), "difference") if findings else "as it was frozen"
        print_line(f"{release}: {state}{', and its recipe makes the same rows' if rebuild and not findings else ''}")
    raise typer.Exit(1 if findings else 0)


SHOWN = 20

Format = Annotated[str, typer.Argument(metavar="FORMAT", help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")]


def import_files(
    format_: Format,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The published files.")],
    name: Annotated[str, typer.Option(help="What the release is called.")],
    version: Annotated[str, typer.Option(help="MAJOR.MINOR.PATCH")],
    license_: Annotated[
        str | None,
        typer.Option("--license", metavar="SPDX", help="The data's licence; without one nothing is published."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of releases.", show_default="the project's releases/")
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Read, count and list what is odd, but write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a release of your own copy of a published benchmark."""
    from senseprobe import api
    from senseprobe.importers.plan import check_name, parse_license, read_import

    with progress(f"importing {name} {version}", None) as step:
        if dry_run:
            check_name(name, version)
            imported = read_import(format_, files, parse_license(license_))
            told, notes = _read(imported, f"{name}@{version}"), imported.notes
        else:
            release, notes = api.import_release(format_, files, name, version, license_, out, step)
            told = _frozen(release)
    if as_json:
        listed = [{"file": n.file, "line": n.line, "kept": n.kept, "reason": n.reason} for n in notes.listed]
        print_json({**told, "facts": notes.facts, "notes": listed})
    else:
        _print_import(told, notes)


def _read(imported: "ImportedDataset", name: str) -> dict[str, object]:
    rows = {table.name: len(table.rows) for table in imported.tables}
    told: dict[str, object] = {"release": name, "folder": None, "rows": rows, "content": None}
    return {**told, "license": imported.license, "unpublishable": _unpublishable(imported.license)}


def _frozen(release: "Frozen") -> dict[str, object]:
    manifest = release.manifest
    rows = {config: manifest.config(config)["rows"] for config in manifest.configs}
    told = {"release": manifest.name, "folder": str(release.folder), "rows": rows, "content": manifest.content}
    license_ = manifest.data["card"]["license"]
    return {**told, "license": license_, "unpublishable": _unpublishable(license_)}


def _unpublishable(license_: str) -> str | None:
    from senseprobe.hub.publish import why_not_shared

    return why_not_shared({"license": license_}) if license_ else "no licence was named (--license)"


def _print_import(told: dict[str, object], notes: "Notes") -> None:
    for line in [*notes.facts, *map(str, notes.listed[:SHOWN])]:
        print_line(line)
    written = told["folder"] is not None
    where = "all are listed in recipe/import.csv" if written else "--json lists all"
    if len(notes.listed) > SHOWN:
        print_line(f"… and {len(notes.listed) - SHOWN} more")
    if notes.listed:
        left_out = sum(not note.kept for note in notes.listed)
        print_line(f"{left_out} left out, {len(notes.listed) - left_out} kept with a remark: {where}")
    rows = told["rows"] if isinstance(told["rows"], dict) else {}
    print_line(f"{told['release']}: {', '.join(f'{config} {count}' for config, count in rows.items())} rows")
    if reason := told["unpublishable"]:
        print_line(f"{reason}, so this release cannot be published")
    print_line(f"written to {told['folder']}" if written else "nothing was written")


_HELP = "[hf://USER/]NAME@VERSION, or the path of a release."


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help=f"The older release: {_HELP}")],
    b: Annotated[str, typer.Argument(metavar="B", help=f"The newer release: {_HELP}")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print an entry of a changelog.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what changed from one release to another, and which version that calls for."""
    from senseprobe import api
    from senseprobe.release.changelog import render_entry

    if markdown and as_json:
        raise SenseprobeError("--markdown and --json: only one of them")
    with progress(f"comparing {a} and {b}", None):
        found = api.diff(a, b)
    if as_json:
        print_json(found.as_dict())
    elif markdown:
        print_line(render_entry(found).rstrip("\n"))
    else:
        _print_diff(found)
    raise typer.Exit(1 if found.enough is False else 0)


def _print_diff(found: "ReleaseDiff") -> None:
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
    from senseprobe.messages import listed

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
