"""The command of those who bring published data of their own."""

from pathlib import Path
from typing import Annotated

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import print_json, print_line, progress

__all__ = ["import_files"]

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
    as_json: AsJson = False,
) -> None:
    """Make a release of your own copy of a published benchmark."""
    from senseprobe import api

    with progress(f"importing {name} {version}", None) as step:
        release, notes = api.import_release(format_, files, name, version, license_, out, step)
    manifest = release.manifest
    rows = {config: manifest.config(config)["rows"] for config in manifest.configs}
    if as_json:
        listed = [{"file": n.file, "line": n.line, "kept": n.kept, "reason": n.reason} for n in notes.listed]
        told = {"release": manifest.name, "folder": str(release.folder), "rows": rows, "content": manifest.content}
        print_json({**told, "license": manifest.data["card"]["license"], "facts": notes.facts, "notes": listed})
        return
    for line in [*notes.facts, *map(str, notes.listed[:SHOWN])]:
        print_line(line)
    if more := len(notes.listed) - SHOWN if len(notes.listed) > SHOWN else 0:
        print_line(f"… and {more} more")
    left_out = sum(not note.kept for note in notes.listed)
    if notes.listed:
        kept = len(notes.listed) - left_out
        print_line(f"{left_out} left out, {kept} kept with a remark: all are listed in recipe/import.csv")
    print_line(f"{manifest.name}: {', '.join(f'{config} {count}' for config, count in rows.items())} rows")
    if not manifest.data["card"]["license"]:
        print_line("no licence was named (--license), so this release cannot be published")
    print_line(f"written to {release.folder}")
