"""Commands of those who freeze and check releases."""

from pathlib import Path
from typing import Annotated

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import print_findings, print_json, print_line, progress

__all__ = ["build", "verify"]

Release = Annotated[str, typer.Argument(metavar="RELEASE", help="NAME@VERSION, or the path of a release.")]


def build(
    dataset: Annotated[str, typer.Argument(metavar="DATASET")],
    version: Annotated[str, typer.Argument(metavar="VERSION", help="MAJOR.MINOR.PATCH")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of releases.", show_default="the project's releases/")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Freeze a dataset at a version: rows, card, recipe and manifest."""
    from senseprobe import api

    with progress(f"building {dataset} {version}", None) as step:
        release = api.build(dataset, version, out, step)
    manifest = release.manifest
    rows = {name: manifest.config(name)["rows"] for name in manifest.configs}
    if as_json:
        told = {"release": manifest.name, "folder": str(release.folder), "rows": rows, "content": manifest.content}
        print_json(told)
    else:
        print_line(
            f"{manifest.name}: {sum(rows.values())} rows in {len(rows)} configs, content {manifest.content[:12]}"
        )
        print_line(f"written to {release.folder}")


def verify(
    release: Release,
    rebuild: Annotated[bool, typer.Option(help="Also make the rows again from the recipe.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check a release: every file, its rows, its recipe."""
    from senseprobe import api

    with progress(f"verifying {release}", None) as step:
        findings = api.verify(release, rebuild, step)
    if as_json:
        print_json({"release": release, "rebuilt": rebuild, "findings": [finding.as_dict() for finding in findings]})
    else:
        print_findings(findings)
        state = f"{len(findings)} differences" if findings else "as it was frozen"
        print_line(f"{release}: {state}{', and its recipe makes the same rows' if rebuild and not findings else ''}")
    raise typer.Exit(1 if findings else 0)
