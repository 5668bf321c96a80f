"""What commands print that share releases: publish and pull."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senseprobe import api
from senseprobe.cli.console import print_line, print_note
from senseprobe.errors import SenseprobeError
from senseprobe.options import Option

if TYPE_CHECKING:
    from senseprobe.hub.publish import PublishResult
    from senseprobe.release.release import Release


def publish(
    release: str,
    repo: str,
    dry_run: bool,
    yes: Annotated[bool, Option("--yes -y", help="Publish the newest version of a NAME without asking.")] = False,
    **options: Any,  # noqa: ANN401 - of the repository
) -> "PublishResult":
    """Publish a release, once somebody has said which, where its name has no version."""
    if (named := api.full_name(release)) != release:
        print_note(f"{release} has no version: {named} is the newest on this machine")
        if not (yes or dry_run):
            if not sys.stdin.isatty():
                raise SenseprobeError(f"nothing is published: name the version, as {named}, or add --yes")
            if not typer.confirm(f"Publish {named} as {repo}?", err=True):
                raise SenseprobeError("nothing is published")
    return api.publish(named, repo, dry_run=dry_run, **options)


def show_published(result: "PublishResult", dry_run: bool) -> None:
    """Print what was done, or would be."""
    if dry_run:
        _print_plan(result)
    else:
        sent = f"{result.sent} files sent" if result.sent else "nothing to send, the files were there"
        print_line(f"{result.release} is {result.repo} {result.tag} on the Hub, commit {result.commit}: {sent}")
        print_line("downloaded again by its tag, and unchanged")
        if result.access:
            print_line(f"access is now {', '.join(result.access)}")
    for note in result.notes:
        print_line(f"note: {note}")


def _print_plan(result: "PublishResult") -> None:
    verb = "make" if result.created else "use"
    access = f" (new is {', '.join(result.access)})" if result.access and not result.created else ""
    seen = "private" if result.private else "public"
    print_line(f"would {verb} the dataset {result.repo}, {seen}, gated: {result.gated}{access}")
    if result.sent:
        removed = f", remove {result.removed} of an earlier version" if result.removed else ""
        print_line(
            f"would send {result.sent} files of {result.bytes} bytes in one commit{removed}, and tag it {result.tag}"
        )
    else:
        print_line(
            f"would send nothing: commit {result.commit} has {result.release}, tagged {result.tag} if it is not yet"
        )


def show_pulled(pulled: "tuple[Release, str]") -> None:
    """Print what was fetched."""
    release, commit = pulled
    print_line(f"{release.manifest.name}: commit {commit}, content {release.manifest.content[:12]}, unchanged")
    print_line(f"in {release.folder}")


def describe_pulled(pulled: "tuple[Release, str]") -> dict[str, str]:
    """Return what `pull --json` prints."""
    release, commit = pulled
    manifest = release.manifest
    return {"release": manifest.name, "folder": str(release.folder), "commit": commit, "content": manifest.content}
