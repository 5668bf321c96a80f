"""Share releases on the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from senseprobe import project
from senseprobe.api.releases import locate_release, releases_folder
from senseprobe.options import RELEASE, RELEASES_FOLDER, Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.api.releases import ReleaseSpec
    from senseprobe.hub.publish import PublishResult
    from senseprobe.release.release import Release


def why_unpublishable(license_: str | None) -> str | None:
    """Return why a release under a licence may not be published; None where it may.

    >>> why_unpublishable("MIT"), why_unpublishable(None)
    (None, 'no licence was named (--license)')
    """
    from senseprobe.hub.publish import why_not_shared

    return why_not_shared({"license": license_}) if license_ else "no licence was named (--license)"


@with_progress("publishing {release}")
def publish(
    release: Annotated[ReleaseSpec, RELEASE],
    repo: Annotated[str, Argument(metavar="USER/NAME", help="The dataset repository on the Hub.")],
    *,
    private: Annotated[
        bool, Option("--private", help="Make the repository visible only to you and your organisation.")
    ] = False,
    gated: Annotated[
        Literal["auto", "manual", "no"] | None,
        Option(
            help="Let readers accept conditions (auto), wait for your approval (manual), or read freely (no).",
            shown_default="auto for a new repository; unchanged otherwise",
        ),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the plan, and change nothing.")] = False,
) -> PublishResult:
    """Publish a release on the Hugging Face Hub, and check the published copy.

    Makes one commit with the tag `vVERSION`, and notes it in the project's `releases/DATASET/published.csv`. If a
    run fails, the next run completes it. Raises DamagedRelease, and ReleaseError if the licence forbids sharing,
    the tag is taken, the noted commit no longer has the tag, or the Hub refuses.
    """
    from senseprobe.hub.publish import commits_of, note_published
    from senseprobe.hub.publish import publish as send
    from senseprobe.recipes import verify_with_card
    from senseprobe.release.manifest import read_manifest

    folder, _ = locate_release(release)
    layer = project.user_layer()
    facts = read_manifest(folder).data
    dataset, version = str(facts["dataset"]), str(facts["version"])
    path = layer.releases / dataset / "published.csv" if layer else None
    # A file that cannot be added to is told before anything is sent.
    cited = commits_of(path, version, repo) if path else ()
    done = send(folder, repo, private=private, gated=gated, dry_run=dry_run, cited=cited, verify=verify_with_card)
    if path is not None and not dry_run:
        note_published(path, (version, done.repo, done.commit, done.content))
    return done


@with_progress("fetching {release}")
def pull(
    release: Annotated[
        str,
        Argument(metavar="USER/NAME[@VERSION]", help="A release on the Hub; without @VERSION, the newest one."),
    ],
    out: Annotated[str | Path | None, RELEASES_FOLDER] = None,
    *,
    timeout: Annotated[
        float,
        Option(metavar="SECONDS", least=0.1, help="Stop after this long without an answer or with almost no data."),
    ] = 30.0,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Release, str]:
    """Download a release from the Hugging Face Hub by its tag, and check it.

    Returns the release and its commit on the Hub. `timeout` also counts seconds with less than 1,000 bytes;
    received data are kept, and the next call continues there. `progress` gets the number of bytes so far, and of
    all bytes. Raises ReleaseError if the Hub does not send the release, sends too many bytes, or another release is
    in its place, and DamagedRelease if the release differs from the frozen one.
    """
    from senseprobe.hub.pull import pull as fetch
    from senseprobe.recipes import verify_with_card

    return fetch(release, releases_folder(out), verify_with_card, timeout=timeout, progress=progress)
