"""Commands of those who freeze and check releases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import print_findings, print_json, print_line, print_note, progress
from senseprobe.errors import SenseprobeError
from senseprobe.wording import counted

if TYPE_CHECKING:
    from senseprobe.release.reading import Release as Frozen


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
    _tell(release, as_json)


def join(
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="The folders that build --shard made.")],
    out: Annotated[Path | None, typer.Option(help="Folder of releases.", show_default="beside the shards")] = None,
    as_json: AsJson = False,
) -> None:
    """Put the shards of a release together: the same release that one machine would have made."""
    from senseprobe import api

    with progress("joining", None) as step:
        release = api.join(shards, out, step)
    _tell(release, as_json)


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
    _tell(restored, as_json)


def _tell(release: "Frozen", as_json: bool) -> None:
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
