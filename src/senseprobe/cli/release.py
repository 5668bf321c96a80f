"""What commands that make, check and compare releases print: build, verify, import and diff."""

import csv
import glob
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from senseprobe import api
from senseprobe.api.releases import releases_folder
from senseprobe.cli import author
from senseprobe.cli.console import MOST_ROWS, print_findings, print_line, print_note, print_sections
from senseprobe.errors import SenseprobeError
from senseprobe.messages import counted
from senseprobe.options import FORCE, Option

if TYPE_CHECKING:
    from senseprobe.engines.work import WorkerOptions
    from senseprobe.importers.notes import Notes
    from senseprobe.records import Finding
    from senseprobe.release.changelog import ReleaseDiff
    from senseprobe.release.release import Release as Frozen


def build(
    dataset: str,
    version: str,
    out: Path | None,
    shards: int | None,
    shard: int | None,
    force: bool,
    join: Annotated[
        Sequence[Path],
        Option(
            "--join",
            metavar="FOLDER",
            help="Join the parts in this folder, which was the --out of a part; may be repeated.",
        ),
    ] = (),
    **options: Any,  # noqa: ANN401 - of workers
) -> "Frozen | Path":
    """Return the release that was built or joined, or the folder of one shard of it."""
    workers = _take_workers(options, {"--join": bool(join), "--shards": shards is not None})
    if join:
        if shards is not None or shard is not None:
            raise SenseprobeError("--join joins parts, and --shard makes one: leave out one of them")
        return api.join(_parts(join, dataset, version), out or releases_folder(None))
    if (shards is None) != (shard is None):
        raise SenseprobeError("--shards N and --shard I go together")
    if shards is not None and shard is not None:
        return api.build_shard(dataset, version, shard, shards, out, force=force, say=print_note)
    return api.build(dataset, version, out, force=force, say=print_note, workers=workers)


def _take_workers(options: dict[str, Any], others: Mapping[str, bool]) -> "WorkerOptions":
    """Return the options of workers among those of a command. SenseprobeError beside what is for one process."""
    workers = api.take_workers(options)
    for flag, is_given in others.items():
        if is_given and not workers.is_one:
            raise SenseprobeError(f"{flag} is the work of one process: leave out --workers")
    return workers


def _parts(folders: Sequence[Path], dataset: str, version: str) -> list[Path]:
    """Return the shards of a release in folders of releases."""
    parts = []
    for folder in folders:
        shards = sorted(folder.glob(f"{glob.escape(dataset)}/{glob.escape(version)}.shard-*"))
        if not shards:
            raise SenseprobeError(f"no part of {dataset} {version} in {folder}: expected {dataset}/{version}.shard-…")
        parts += shards
    return parts


def show_built(built: "Frozen | Path", shard: int | None, shards: int | None) -> None:
    """Print what was built."""
    if isinstance(built, Path):
        print_line(f"shard {shard} of {shards} in {built}")
    else:
        show_release(built)


def describe_built(built: "Frozen | Path") -> dict[str, Any]:
    """Return what `build --json` prints."""
    return {"shard": str(built)} if isinstance(built, Path) else describe_release(built)


def show_release(release: "Frozen") -> None:
    """Print how many rows a release has, and where it is."""
    description = describe_release(release)
    rows = description["rows"]
    size = f"{counted(sum(rows.values()), 'row')} in {counted(len(rows), 'config')}"
    print_line(f"{release.manifest.name}: {size}, content {release.manifest.content[:12]}")
    print_line(f"written to {release.folder}")


def describe_release(release: "Frozen") -> dict[str, Any]:
    """Return what is printed of a release with `--json`."""
    manifest = release.manifest
    rows = {name: manifest.config(name)["rows"] for name in manifest.configs}
    return {"release": manifest.name, "folder": str(release.folder), "rows": rows, "content": manifest.content}


def verify(
    release: str,
    rebuild: bool,
    content: str,
    shards: int | None,
    shard: int | None,
    restore: Annotated[
        bool, Option("--restore", help="Build the rows of a release that has only manifest and recipe, and check them.")
    ] = False,
    out: Annotated[
        Path | None,
        Option(help="With --restore: write to this folder of releases.", shown_default="where it is, or the project's"),
    ] = None,
    force: Annotated[bool, FORCE] = False,
    **options: Any,  # noqa: ANN401 - of workers
) -> "Frozen | Sequence[Finding]":
    """Return what has changed in a release, or the release whose rows were restored and checked."""
    workers = _take_workers(options, {"--shards": shards is not None})
    if not restore:
        if out or force:
            raise SenseprobeError(f"{'--out' if out else '--force'} goes with --restore")
        if (shards is None) != (shard is None):
            raise SenseprobeError("--shards N and --shard I go together")
        if shards is None or shard is None:
            return api.verify(release, rebuild, content=content, workers=workers, say=print_note)
        if rebuild or content:
            raise SenseprobeError("--shard checks a part of the rows: leave out --rebuild and --content")
        return api.verify_shard(release, shard, shards)
    if shards is not None or shard is not None:
        raise SenseprobeError("--restore makes all rows: leave out --shard")
    if rebuild or content:
        raise SenseprobeError("--restore checks the rows that it builds: leave out --rebuild and --content")
    return api.restore(release, out, force=force, say=print_note, workers=workers)


def show_verified(
    verified: "Frozen | Sequence[Finding]", release: str, rebuild: bool, shard: int | None, shards: int | None
) -> None:
    """Print the changes in a release, or the restored rows."""
    if not isinstance(verified, Sequence):
        show_release(verified)
        return
    print_findings(verified)
    state = counted(len(verified), "difference") if verified else "unchanged"
    rebuilt = ", and its recipe makes the same rows" if rebuild and not verified else ""
    part = "" if shard is None else f"part {shard} of {shards} of "
    print_line(f"{part}{api.full_name(release)}: {state}{rebuilt}")


def describe_verified(
    verified: "Frozen | Sequence[Finding]", release: str, rebuild: bool, shard: int | None, shards: int | None
) -> dict[str, Any]:
    """Return what `verify --json` prints."""
    if not isinstance(verified, Sequence):
        return describe_release(verified)
    listed_findings = [finding.as_dict() for finding in verified]
    part = {} if shard is None else {"shard": shard, "shards": shards}
    return {"release": api.full_name(release), "rebuilt": rebuild, **part, "findings": listed_findings}


def exit_code_of_verify(verified: "Frozen | Sequence[Finding]") -> int:
    """Return 1 if a release has changed."""
    return int(isinstance(verified, Sequence) and bool(verified))


def import_files(
    format_: str,
    files: Sequence[Path],
    name: str | None,
    version: str | None,
    license_: str | None,
    out: Path | None,
    columns: Sequence[str] | None,
    labels: Sequence[str] | None,
    dry_run: Annotated[
        bool, Option(help="Read and count the rows, list what is unexpected, and write nothing.")
    ] = False,
    **about: Any,  # noqa: ANN401 - of the table that is read
) -> "tuple[dict[str, Any], Notes] | api.ImportedProject":
    """Return what is told of the release that was made, or would be; of published templates the project."""
    if api.makes_project(format_):
        given = [name, version, license_, out, columns, labels, dry_run, *about.values()]
        if len(files) > 2 or any(given):
            raise SenseprobeError(f"{format_} makes a project: senseprobe import {format_} FOLDER [NEW FOLDER]")
        return api.import_project(format_, *files)
    if name is None or version is None:
        raise SenseprobeError("name the release: --name NAME --version MAJOR.MINOR.PATCH")
    about |= {"columns": parse_map(columns), "labels": parse_labels(labels)}
    if dry_run:
        draft = api.read_import(format_, files, name, version, license_, **about)
        rows = {table.name: len(table.rows) for table in draft.tables}
        description = {"release": f"{name}@{version}", "folder": None, "rows": rows, "content": None}
        notes, license_ = draft.notes, draft.license
    else:
        release, notes = api.import_release(format_, files, name, version, license_, out, **about)
        description, license_ = describe_release(release), release.manifest.data["card"]["license"]
    return {**description, "license": license_, "unpublishable": api.why_unpublishable(license_)}, notes


def describe_import(imported: "tuple[dict[str, Any], Notes] | api.ImportedProject") -> dict[str, Any]:
    """Return what `import --json` prints."""
    if isinstance(imported, api.ImportedProject):
        made = {"project": str(imported.folder), "remarks": [*imported.remarks]}
        return {**made, **imported.report.as_dict()}
    description, notes = imported
    return {**description, "facts": notes.facts, "notes": [asdict(note) for note in notes.listed]}


def parse_map(values: Sequence[str] | None) -> dict[str, str] | None:
    """Return columns by role; each value is a line of CSV, so that a part with a comma can be in quotation marks.

    >>> parse_map(["stereo=sent_more,anti=sent_less"])
    {'stereo': 'sent_more', 'anti': 'sent_less'}
    """
    columns: dict[str, str] = {}
    for part in (part for row in csv.reader(values or (), skipinitialspace=True) for part in row):
        role, _, column = part.partition("=")
        if not (role.strip() and column):
            hint = "put a part with a comma in quotation marks: --map '\"stereo=a, b\"'"
            raise SenseprobeError(f"--map {part!r}: expected ROLE=COLUMN; {hint}")
        if columns.setdefault(role.strip(), column) is not column:
            raise SenseprobeError(f"--map has {role.strip()!r} twice")
    return columns if values else None


def parse_labels(values: Sequence[str] | None) -> dict[str, dict[str, str]]:
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


def exit_code_of_import(imported: "tuple[dict[str, Any], Notes] | api.ImportedProject") -> int:
    """Return 1 if a project that was made has mistakes."""
    findings = imported.report.findings if isinstance(imported, api.ImportedProject) else ()
    return int(any(finding.code.startswith("E") for finding in findings))


def show_import(imported: "tuple[dict[str, Any], Notes] | api.ImportedProject") -> None:
    """Print what was unexpected, and what was written."""
    if isinstance(imported, api.ImportedProject):
        for remark in imported.remarks:
            print_line(remark)
        author.show_findings((imported.report, ()), [imported.folder])
        print_line(f"project in {imported.folder}")
        return
    description, notes = imported
    for note in sorted(notes.listed, key=lambda note: note.kept)[:MOST_ROWS]:
        print_line(str(note))
    written = description["folder"] is not None
    where = "all are listed in recipe/import.csv" if written else "--json lists all"
    if len(notes.listed) > MOST_ROWS:
        print_line(f"… and {len(notes.listed) - MOST_ROWS} more")
    if notes.listed:
        left_out = sum(not note.kept for note in notes.listed)
        print_line(f"{left_out} omitted, {len(notes.listed) - left_out} kept with a remark: {where}")
    for fact in notes.facts:
        print_line(fact)
    rows = ", ".join(f"{config} {count}" for config, count in description["rows"].items())
    print_line(f"{description['release']}: {rows} rows")
    if reason := description["unpublishable"]:
        print_line(f"{reason}, so this release cannot be published")
    print_line(f"written to {description['folder']}" if written else "nothing was written")


def diff(a: str, b: str | None, as_json: bool, markdown: bool) -> "ReleaseDiff":
    """Return what changed."""
    if markdown and as_json:
        raise SenseprobeError("--markdown and --json: only one of them")
    return api.diff(a, b)


def show_diff(
    changes: "ReleaseDiff",
    markdown: Annotated[bool, Option("--markdown", help="Print an entry for a changelog.")] = False,
) -> None:
    """Print what changed, and which version that calls for."""
    if markdown:
        print_line(changes.to_markdown().rstrip("\n"))
        return
    print_sections(changes.sections(MOST_ROWS))
