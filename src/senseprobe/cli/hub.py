"""Commands that share releases on the Hugging Face Hub: publish, pull."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from senseprobe.cli.console import AsJson, Release, ReleasesFolder, print_json, print_line, print_note
from senseprobe.errors import SenseprobeError

if TYPE_CHECKING:
    from senseprobe.hub.publish import PublishResult


def publish(
    release: Release,
    repo: Annotated[str, typer.Argument(metavar="USER/NAME", help="The dataset repository on the Hub.")],
    private: Annotated[
        bool, typer.Option("--private", help="Make it visible only to you and your organisation.")
    ] = False,
    gated: Annotated[
        Literal["auto", "manual", "no"] | None,
        typer.Option(
            help="Readers must accept conditions (auto), be approved by you (manual), or neither (no).",
            show_default="auto for a new repository; unchanged otherwise",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and change nothing.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask which release a NAME without a version is.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Publish a release on the Hugging Face Hub, and check the copy there."""
    from senseprobe import api

    if (named := api.full_name(release)) != release:
        print_note(f"{release} has no version: {named} is the newest on this machine")
        if not (yes or dry_run):
            _ask_for(named, repo)
    result = api.publish(named, repo, private=private, gated=gated, dry_run=dry_run)
    if as_json:
        print_json(result.as_dict())
    else:
        _print_plan(result) if dry_run else _print_published(result)


def _ask_for(release: str, repo: str) -> None:
    """Ask whether a release is meant; SenseprobeError where it is not, or nobody is there to be asked."""
    if not sys.stdin.isatty():
        raise SenseprobeError(f"nothing is published: name the version, as {release}, or add --yes")
    if not typer.confirm(f"Publish {release} as {repo}?", err=True):
        raise SenseprobeError("nothing is published")


def _print_published(result: "PublishResult") -> None:
    sent = f"{result.sent} files sent" if result.sent else "nothing to send, it was there"
    print_line(f"{result.release} is {result.repo} {result.tag} on the Hub, commit {result.commit}: {sent}")
    print_line("fetched again by its tag, it is as it was frozen")
    if result.access:
        print_line(f"access is now {', '.join(result.access)}")
    _print_notes(result)


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
            f"would send nothing: commit {result.commit} holds {result.release}, tagged {result.tag} if it is not yet"
        )
    _print_notes(result)


def _print_notes(result: "PublishResult") -> None:
    for note in result.notes:
        print_line(f"note: {note}")


def pull(
    release: Annotated[
        str,
        typer.Argument(
            metavar="USER/NAME[@VERSION]", help="A release on the Hub; without @VERSION it is the newest there."
        ),
    ],
    out: ReleasesFolder = None,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.1, help="Give up after this long without an answer, or with almost no data."
        ),
    ] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Fetch a release from the Hugging Face Hub by its tag, and check it; an interrupted download is resumed.

    verify, diff, restore and score also accept hf://USER/NAME@VERSION[:CONFIG] as the release, without pull.
    """
    from senseprobe import api

    pulled, commit = api.pull(release, out, timeout=timeout)
    name, content = pulled.manifest.name, pulled.manifest.content
    if as_json:
        print_json({"release": name, "folder": str(pulled.folder), "commit": commit, "content": content})
    else:
        print_line(f"{name}: commit {commit}, content {content[:12]}, as it was frozen")
        print_line(f"in {pulled.folder}")
