"""Whether a release may be given to others, as its card's licence says, and whether the Hub takes its files.

`published.csv` of a dataset: which version went where on the Hub, as which commit.

Sends a release to the Hub, and then fetches a copy by its tag and verifies it.
"""

import csv
import io
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from senseprobe.atomic_files import write_whole
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.hub.client import Place, check_repo, client, explained, token, why_refused
from senseprobe.hub.pull import Verify, fetch
from senseprobe.hub.upload import GATES, Gate, Published, Task, look
from senseprobe.messages import printable
from senseprobe.release.licences import alternatives, declared_licence
from senseprobe.release.manifest import NAME, read_manifest
from senseprobe.release.release import Release
from senseprobe.release.restore import RESTORED
from senseprobe.release.verify import FOREIGN, verify_release

_KEPT = {*FOREIGN}
"""Names that git, the Hub and its clients keep for themselves, in every folder."""


def why_not_shared(card: Mapping[str, Any]) -> str | None:
    """Why a release with this card may not be published; None where it may.

    It may under an SPDX licence that allows changed versions, as a release is one of what it was made from.
    """
    licence = declared_licence(card.get("license"))
    if not licence:
        return "it declares no licence"
    try:
        alternatives(licence)
    except ReleaseError as error:
        return str(error)
    return None


def why_not_taken(names: Iterable[str]) -> str | None:
    """Why the Hub would not take a file of such a name, or its clients not give it back; None where they do."""
    for name in names:
        if _KEPT & {*name.split("/")}:
            return f"{printable(name)} has a name that git or the Hub keeps for itself: call the file otherwise"
        if ":" in name:  # on Windows it ends the name of a drive
            return f"{printable(name)} has a colon in its name, which the Hub's clients refuse: call the file otherwise"
    return None


COLUMNS = ("version", "repo", "commit", "content")


def commits_of(path: Path, version: str, repo: str) -> list[str]:
    """The commits that the file names for a version in a repository; ReleaseError where it is another table."""
    return [line[2] for line in noted(path) if line[:2] == (version, repo)]


def noted(path: Path) -> list[tuple[str, ...]]:
    """The lines of the file in their order, none where there is no file; ReleaseError where it is another table."""
    if not os.path.lexists(path):
        return []
    try:
        rows = [tuple(row) for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))) if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        rows = []
    if not rows or rows[0] != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise ReleaseError(f"{path} is not a table of {', '.join(COLUMNS)}: mend it, or move it away")
    return rows[1:]


def note(path: Path, line: tuple[str, str, str, str]) -> bool:
    """Add a line unless it is there; whether it was added. The file is written whole, one process after the other.

    Raises ReleaseError where the version is noted as another commit of that repository.
    """
    with _alone(path.parent):
        lines = noted(path)
        if line in lines:
            return False
        if commits := commits_of(path, *line[:2]):
            raise ReleaseError(f"{path} has {line[0]} of {line[1]} as commit {commits[0]}, not {line[2]}: mend it")
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *lines, line])
        write_whole(path.resolve(), text.getvalue().encode())  # a link stays one
    return True


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold other processes back from the folder's notes until the block ends; the system lets go if we die."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def publish(
    folder: Path,
    repo: str,
    *,
    private: bool = False,
    gated: Gate | None = None,
    dry_run: bool = False,
    cited: Collection[str] = (),
    verify: Verify = verify_release,
) -> Published:
    """Publish the release in `folder` as ``USER/NAME`` on the Hub.

    `gated`: None is ``auto`` for a repository without a version, and leaves others as they are. With `dry_run` the Hub
    is only looked at. `cited` are commits that this version is known as there; `verify` compares the release with its
    manifest. Raises DamagedRelease where the release,
    or what the Hub gives back, is not as it was frozen, and ReleaseError where it may not be shared, the tag holds
    something else, or the Hub refuses.
    """
    release = _checked(folder, verify)
    check_repo(repo)
    if gated is not None and gated not in GATES:
        raise ReleaseError(f"gated {gated!r}: expected {', '.join(GATES)}")
    if token() is None:
        raise ReleaseError("no token for the Hub: set HF_TOKEN, or run `hf auth login`, with a token that may write")
    api = client()
    task = Task(api, release, repo, _files(release))
    with explained(task.aim):
        if dry_run and (why := why_refused(api, repo)):
            raise ReleaseError(f"cannot {task.aim}: {why}")
        there = look(api, repo)
        plan = task.plan(there, private=private, gated=gated)
        if cited and plan.commit not in cited:
            raise task.moved(plan.commit, cited)
        if not dry_run:
            plan = task.carry_out(plan, there)
    return plan if dry_run else _fetched_again(plan, release)


def _checked(folder: Path, verify: Verify) -> Release:
    manifest = read_manifest(folder)
    if why := why_not_shared(manifest.data["card"]) or why_not_taken(manifest.files):
        raise ReleaseError(f"{manifest.name} may not be published: {why}; nothing was sent")
    if findings := verify(folder)[1]:
        raise DamagedRelease(findings)
    return Release(folder, manifest)


def _files(release: Release) -> dict[str, Path]:
    names = [*release.manifest.files, NAME, *([RESTORED] if (release.folder / RESTORED).is_file() else [])]
    return {name: release.folder / name for name in sorted(names)}


def _fetched_again(plan: Published, release: Release) -> Published:
    """The plan, once a copy fetched by the tag into an empty folder is the release; DamagedRelease where it is not."""
    place = Place(repo=plan.repo, version=plan.tag.removeprefix("v"))
    with TemporaryDirectory() as scratch:
        commit, manifest = fetch(place, Path(scratch))
    if (commit, manifest.dump()) != (plan.commit, release.manifest.dump()):
        raise ReleaseError(
            f"{plan.tag} of {plan.repo} gives commit {commit}, not {plan.commit}: is there such a branch?"
        )
    return plan
