"""Commands of those who publish releases, and fetch those of others."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import print_json, print_line, progress

if TYPE_CHECKING:
    from senseprobe.hub.upload import PublishResult


def publish(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="NAME@VERSION, a path, or hf://USER/NAME@VERSION.")],
    repo: Annotated[str, typer.Argument(metavar="USER/NAME", help="The dataset repository on the Hub.")],
    private: Annotated[bool, typer.Option("--private", help="Only you and your organisation see it.")] = False,
    gated: Annotated[
        Literal["auto", "manual", "no"] | None,
        typer.Option(
            help="Readers agree first (auto), are let in by you (manual), or neither.",
            show_default="auto for a new repository, others stay as they are",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Publish a release on the Hugging Face Hub, and check the copy there."""
    from senseprobe import api

    with progress(f"publishing {release}", None):
        done = api.publish(release, repo, private=private, gated=gated, dry_run=dry_run)
    if as_json:
        print_json(done.as_dict())
    else:
        _tell_dry(done) if dry_run else _tell(done)


def _tell(done: "PublishResult") -> None:
    sent = f"{done.sent} files sent" if done.sent else "nothing to send, it was there"
    print_line(f"{done.release} is {done.repo} {done.tag} on the Hub, commit {done.commit}: {sent}")
    print_line("fetched again by its tag, it is as it was frozen")
    if done.access:
        print_line(f"access is now {', '.join(done.access)}")
    _tell_more(done)


def _tell_dry(done: "PublishResult") -> None:
    verb = "make" if done.created else "use"
    access = f" (new is {', '.join(done.access)})" if done.access and not done.created else ""
    seen = "private" if done.private else "public"
    print_line(f"would {verb} the dataset {done.repo}, {seen}, gated: {done.gated}{access}")
    if done.sent:
        removed = f", remove {done.removed} of an earlier version" if done.removed else ""
        print_line(f"would send {done.sent} files of {done.bytes} bytes in one commit{removed}, and tag it {done.tag}")
    else:
        print_line(f"would send nothing: commit {done.commit} holds {done.release}, tagged {done.tag} if it is not yet")
    _tell_more(done)


def _tell_more(done: "PublishResult") -> None:
    for note in done.notes:
        print_line(f"note: {note}")


def pull(
    release: Annotated[str, typer.Argument(metavar="USER/NAME@VERSION", help="A release on the Hub.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of releases.", show_default="the project's releases/")
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.1, help="Give up after so long without an answer, or with next to nothing."
        ),
    ] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Fetch a release from the Hugging Face Hub by its tag, and check it. After a cut, it goes on where it was.

    To use one without it, write hf://USER/NAME@VERSION[:CONFIG] for the release in verify, diff, restore or score.
    """
    from senseprobe import api

    with progress(f"fetching {release}", None) as step:
        pulled, commit = api.pull(release, out, timeout=timeout, progress=step.at)
    name, content = pulled.manifest.name, pulled.manifest.content
    if as_json:
        print_json({"release": name, "folder": str(pulled.folder), "commit": commit, "content": content})
    else:
        print_line(f"{name}: commit {commit}, content {content[:12]}, as it was frozen")
        print_line(f"in {pulled.folder}")
