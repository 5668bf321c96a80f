"""The command of those who bring published data of their own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import print_json, print_line, progress

if TYPE_CHECKING:
    from senseprobe.importing.plan import Imported
    from senseprobe.importing.sources import Notes
    from senseprobe.release.reading import Release


SHOWN = 20

Format = Annotated[
    str, typer.Argument(metavar="FORMAT", help="sssb, crows-pairs, stereoset, seat, winobias or winogender.")
]


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
    from senseprobe.importing.plan import read_import
    from senseprobe.importing.told import check_name, known_license

    with progress(f"importing {name} {version}", None) as step:
        if dry_run:
            check_name(name, version)
            imported = read_import(format_, files, known_license(license_))
            told, notes = _read(imported, f"{name}@{version}"), imported.notes
        else:
            release, notes = api.import_release(format_, files, name, version, license_, out, step)
            told = _frozen(release)
    if as_json:
        listed = [{"file": n.file, "line": n.line, "kept": n.kept, "reason": n.reason} for n in notes.listed]
        print_json({**told, "facts": notes.facts, "notes": listed})
    else:
        _tell(told, notes)


def _read(imported: "Imported", name: str) -> dict[str, object]:
    rows = {table.name: len(table.rows) for table in imported.tables}
    told: dict[str, object] = {"release": name, "folder": None, "rows": rows, "content": None}
    return {**told, "license": imported.license, "unpublishable": _unpublishable(imported.license)}


def _frozen(release: "Release") -> dict[str, object]:
    manifest = release.manifest
    rows = {config: manifest.config(config)["rows"] for config in manifest.configs}
    told = {"release": manifest.name, "folder": str(release.folder), "rows": rows, "content": manifest.content}
    license_ = manifest.data["card"]["license"]
    return {**told, "license": license_, "unpublishable": _unpublishable(license_)}


def _unpublishable(license_: str) -> str | None:
    from senseprobe.hub.sharing import why_not_shared

    return why_not_shared({"license": license_}) if license_ else "no licence was named (--license)"


def _tell(told: dict[str, object], notes: "Notes") -> None:
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
