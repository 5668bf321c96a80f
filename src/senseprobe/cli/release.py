"""Commands that make, check and compare releases: build, join, restore, verify, import, diff."""

import csv
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senseprobe.api.releases import IMPORT_FORMATS
from senseprobe.cli.console import (
    MOST_ROWS,
    RELEASE_HELP,
    AsJson,
    Release,
    ReleasesFolder,
    complete_dataset,
    print_findings,
    print_json,
    print_line,
    print_note,
    print_table,
)
from senseprobe.errors import SenseprobeError
from senseprobe.messages import counted, listed, printable, shortened

if TYPE_CHECKING:
    from senseprobe.importers.sources import Notes
    from senseprobe.release.diff import ConfigChange, ReleaseDiff
    from senseprobe.release.release import Release as Frozen

Force = Annotated[
    bool, typer.Option("--force", help="Write it even if it has more than 10^9 rows or seems not to fit.")
]


def build(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)],
    version: Annotated[str, typer.Argument(metavar="VERSION", help="MAJOR.MINOR.PATCH")],
    out: ReleasesFolder = None,
    shards: Annotated[
        int | None, typer.Option(min=1, help="Build only one of this many parts; `join` puts them together.")
    ] = None,
    shard: Annotated[int | None, typer.Option(min=0, help="Which part, from 0.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Freeze a dataset at a version: write its rows, card, recipe and manifest."""
    from senseprobe import api

    if (shards is None) != (shard is None):
        raise SenseprobeError("--shards N and --shard I go together")
    if shards is not None and shard is not None:
        folder = api.build_shard(dataset, version, shard, shards, out, force=force, say=print_note)
        print_json({"shard": str(folder)}) if as_json else print_line(f"shard {shard} of {shards} in {folder}")
    else:
        _print_release(api.build(dataset, version, out, force=force, say=print_note), as_json)


def join(
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="The folders that build --shard made.")],
    out: Annotated[Path | None, typer.Option(help="Folder of releases.", show_default="beside the shards")] = None,
    as_json: AsJson = False,
) -> None:
    """Put the shards of a release together: the same release that one machine would have made."""
    from senseprobe import api

    _print_release(api.join(shards, out), as_json)


def restore(
    release: Release,
    out: Annotated[
        Path | None, typer.Option(help="Folder of releases.", show_default="where it is, or the project's")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Build again the rows of a release that keeps only manifest and recipe, and check them."""
    from senseprobe import api

    _print_release(api.restore(release, out, force=force, say=print_note), as_json)


def _print_release(release: "Frozen", as_json: bool) -> None:
    description = _describe(release)
    if as_json:
        print_json(description)
    else:
        rows = description["rows"]
        size = f"{counted(sum(rows.values()), 'row')} in {counted(len(rows), 'config')}"
        print_line(f"{release.manifest.name}: {size}, content {release.manifest.content[:12]}")
        print_line(f"written to {release.folder}")


def _describe(release: "Frozen") -> dict[str, Any]:
    manifest = release.manifest
    rows = {name: manifest.config(name)["rows"] for name in manifest.configs}
    return {"release": manifest.name, "folder": str(release.folder), "rows": rows, "content": manifest.content}


def verify(
    release: Release,
    rebuild: Annotated[bool, typer.Option(help="Also build the rows again from the recipe, and compare.")] = False,
    content: Annotated[str, typer.Option(help="The content hash that it should have, as a paper cites it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Check a release: every file, its rows, its recipe."""
    from senseprobe import api

    release = api.full_name(release)
    findings = api.verify(release, rebuild, content=content)
    if as_json:
        print_json({"release": release, "rebuilt": rebuild, "findings": [finding.as_dict() for finding in findings]})
    else:
        print_findings(findings)
        state = counted(len(findings), "difference") if findings else "as it was frozen"
        print_line(f"{release}: {state}{', and its recipe makes the same rows' if rebuild and not findings else ''}")
    raise typer.Exit(1 if findings else 0)


_FORMATS = f"{', '.join(IMPORT_FORMATS[:-1])} or {IMPORT_FORMATS[-1]}."
Format = Annotated[str, typer.Argument(metavar="FORMAT", help=_FORMATS)]


def import_files(
    format_: Format,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The files: published ones, or your own.")],
    name: Annotated[str, typer.Option(help="Name of the release.")],
    version: Annotated[str, typer.Option(help="MAJOR.MINOR.PATCH")],
    license_: Annotated[
        str | None,
        typer.Option("--license", metavar="SPDX", help="The data's licence; without one nothing is published."),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="TAG", help="Language of the sentences, as fr.", show_default="that of the format"),
    ] = None,
    column_map: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="ROLE=COLUMN,…", help="Of csv, jsonl and parquet: what its columns are."),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(metavar="[ROLE:]0=NAME,1=…", help="What integers of a column mean; without a role, of gold."),
    ] = None,
    factors: Annotated[
        list[str] | None,
        typer.Option("--factor", metavar="COLUMN", help="A column whose levels stand for more; may be repeated."),
    ] = None,
    title: Annotated[str, typer.Option(help="Of your own table: the title of its card.")] = "",
    citation: Annotated[
        Path | None, typer.Option(metavar="FILE.bib", help="Of your own table: its entry of BibTeX.")
    ] = None,
    out: ReleasesFolder = None,
    dry_run: Annotated[bool, typer.Option(help="Read, count and list what is unexpected, but write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a release from your own copy of a published benchmark, or from your own table."""
    from senseprobe import api

    own: dict[str, Any] = {"columns": _parse_map(column_map), "factors": factors or ()}
    own |= {"title": title, "citation": citation, "labels": _parse_labels(labels)}
    if dry_run:
        draft = api.read_import(format_, files, name, version, license_, language=language, **own)
        rows = {table.name: len(table.rows) for table in draft.tables}
        description = {"release": f"{name}@{version}", "folder": None, "rows": rows, "content": None}
        notes, license_ = draft.notes, draft.license
    else:
        release, notes = api.import_release(format_, files, name, version, license_, out, language=language, **own)
        description, license_ = _describe(release), release.manifest.data["card"]["license"]
    description |= {"license": license_, "unpublishable": api.why_unpublishable(license_)}
    if as_json:
        print_json({**description, "facts": notes.facts, "notes": [asdict(note) for note in notes.listed]})
    else:
        _print_import(description, notes)


def _parse_map(values: list[str] | None) -> dict[str, str] | None:
    """Return columns by role; each value is a line of CSV, so that a part with a comma can be in quotation marks."""
    columns: dict[str, str] = {}
    for part in (part for row in csv.reader(values or (), skipinitialspace=True) for part in row):
        role, _, column = part.partition("=")
        if not (role.strip() and column):
            hint = "put a part with a comma in quotation marks: --map '\"stereo=a, b\"'"
            raise SenseprobeError(f"--map {part!r}: expected ROLE=COLUMN; {hint}")
        if columns.setdefault(role.strip(), column) is not column:
            raise SenseprobeError(f"--map has {role.strip()!r} twice")
    return columns if values else None


def _parse_labels(values: list[str] | None) -> dict[str, dict[str, str]]:
    """Return the names of integers by role."""
    labels: dict[str, dict[str, str]] = {}
    for value in values or ():
        role, _, names = value.partition(":") if ":" in value.partition("=")[0] else ("gold", "", value)
        for part in next(csv.reader([names], skipinitialspace=True), []):
            number, _, name = part.partition("=")
            if not name.strip():
                raise SenseprobeError(f"--labels {part!r}: expected INTEGER=NAME, several with commas between them")
            if labels.setdefault(role.strip(), {}).setdefault(number.strip(), name.strip()) != name.strip():
                raise SenseprobeError(f"--labels names {number.strip()} of {role.strip()} twice")
    return labels


def _print_import(description: dict[str, Any], notes: "Notes") -> None:
    for note in sorted(notes.listed, key=lambda note: note.kept)[:MOST_ROWS]:
        print_line(str(note))
    written = description["folder"] is not None
    where = "all are listed in recipe/import.csv" if written else "--json lists all"
    if len(notes.listed) > MOST_ROWS:
        print_line(f"… and {len(notes.listed) - MOST_ROWS} more")
    if notes.listed:
        left_out = sum(not note.kept for note in notes.listed)
        print_line(f"{left_out} left out, {len(notes.listed) - left_out} kept with a remark: {where}")
    for fact in notes.facts:
        print_line(fact)
    rows = ", ".join(f"{config} {count}" for config, count in description["rows"].items())
    print_line(f"{description['release']}: {rows} rows")
    if reason := description["unpublishable"]:
        print_line(f"{reason}, so this release cannot be published")
    print_line(f"written to {description['folder']}" if written else "nothing was written")


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help=f"The older release: {RELEASE_HELP}")],
    b: Annotated[
        str | None,
        typer.Argument(metavar="[B]", help="The newer release. Default: of a NAME without a version, its two newest."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print an entry of a changelog.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what changed from one release to another, and which version number that requires."""
    from senseprobe import api

    if markdown and as_json:
        raise SenseprobeError("--markdown and --json: only one of them")
    changes = api.diff(a, b)
    if as_json:
        print_json(changes.as_dict())
    elif markdown:
        print_line(changes.to_markdown().rstrip("\n"))
    else:
        _print_diff(changes)
    raise typer.Exit(1 if changes.enough is False else 0)


def _print_diff(changes: "ReleaseDiff") -> None:
    if any(change.added or change.removed or change.edited for change in changes.configs):
        columns = {"config": "left", **dict.fromkeys(("before", "after", "added", "removed", "edited"), "right")}
        print_table(columns, [[getattr(change, name) for name in columns] for change in changes.configs])
    for line in (*_detail_lines(changes), *changes.describe_rounds(MOST_ROWS)):
        print_line(line)
    for reason in changes.reasons:
        print_line(f"{reason.bump.upper()}: {reason.text}")
    print_line(f"{changes.old} -> {changes.new}: {_conclusion(changes)}")


def _detail_lines(changes: "ReleaseDiff") -> Iterator[str]:
    """Yield what the counts consist of, by config: first ids, verdicts, columns, words, labels, schema and design."""
    for change in changes.configs:
        yield from (f"{change.config}: {line}" for line in (*_row_lines(change), *_column_lines(change)))


def _row_lines(change: "ConfigChange") -> Iterator[str]:
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


def _column_lines(change: "ConfigChange") -> Iterator[str]:
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


def _conclusion(changes: "ReleaseDiff") -> str:
    if not changes.reasons:
        return "nothing changed"
    required = f"{changes.bump.upper()}, so {changes.version} or higher"
    if changes.old.partition("@")[0] != changes.new.partition("@")[0]:
        return f"two datasets; if one followed the other, {required}"
    return f"{required}: its number is too low" if changes.enough is False else required
