"""Publish a release on the Hub: check that it may be shared, upload it, and verify a copy fetched by its tag.

The file `published.csv` of a dataset notes which version went to which repository, as which commit.
"""

import csv
import io
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from senseprobe.atomic_files import locked, write_whole
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.hub.client import ReleaseAddress, check_repo, explain_errors, open_client, read_token, why_refused
from senseprobe.hub.pull import Verify, fetch
from senseprobe.hub.upload import GATES, Gate, Publication, PublishResult, read_repo
from senseprobe.messages import printable
from senseprobe.release.licences import alternatives, declared_licence
from senseprobe.release.manifest import NAME, read_manifest
from senseprobe.release.release import Release
from senseprobe.release.restore import RESTORED
from senseprobe.release.verify import FOREIGN, verify_release

COLUMNS = ("version", "repo", "commit", "content")

_RESERVED_NAMES = {*FOREIGN}
"""Names that git, the Hub and its clients reserve, in every folder."""


def why_not_shared(card: Mapping[str, Any]) -> str | None:
    """Return why a release with this card may not be published; None where it may.

    It needs an SPDX licence that allows changed versions, since a release is a changed version of its sources.
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
    """Return why the Hub or its clients refuse a file of one of the names; None where they accept all."""
    for name in names:
        if _RESERVED_NAMES & {*name.split("/")}:
            return f"{printable(name)} has a name that git or the Hub keeps for itself: call the file otherwise"
        if ":" in name:  # on Windows it ends the name of a drive
            return f"{printable(name)} has a colon in its name, which the Hub's clients refuse: call the file otherwise"
    return None


def commits_of(path: Path, version: str, repo: str) -> list[str]:
    """Return the commits of a version in a repository; raise ReleaseError where the file is another table."""
    return [line[2] for line in read_published(path) if line[:2] == (version, repo)]


def read_published(path: Path) -> list[tuple[str, ...]]:
    """Return the rows of the file, none where there is no file; raise ReleaseError where it is another table."""
    if not os.path.lexists(path):
        return []
    try:
        rows = [tuple(row) for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))) if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        rows = []
    if not rows or rows[0] != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise ReleaseError(f"{path} is not a table of {', '.join(COLUMNS)}: mend it, or move it away")
    return rows[1:]


def note_published(path: Path, line: tuple[str, str, str, str]) -> bool:
    """Add a row unless it is there; return whether it was added. Processes write the file one after the other.

    Raise ReleaseError where the version is noted as another commit of that repository.
    """
    with locked(path.parent, wait=True):
        lines = read_published(path)
        if line in lines:
            return False
        if commits := commits_of(path, *line[:2]):
            raise ReleaseError(f"{path} has {line[0]} of {line[1]} as commit {commits[0]}, not {line[2]}: mend it")
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *lines, line])
        write_whole(path.resolve(), text.getvalue().encode())  # a link stays one
    return True


def publish(
    folder: Path,
    repo: str,
    *,
    private: bool = False,
    gated: Gate | None = None,
    dry_run: bool = False,
    cited: Collection[str] = (),
    verify: Verify = verify_release,
) -> PublishResult:
    """Publish the release in `folder` as ``USER/NAME`` on the Hub.

    `gated`: None is ``auto`` for a repository without a version, and leaves others as they are. With `dry_run` the Hub
    is only read. `cited`: commits by which this version is cited there; `verify` compares the release with its
    manifest. Raise DamagedRelease where the release, or what the Hub gives back, is not as it was frozen, and
    ReleaseError where it may not be shared, the tag has something else, or the Hub refuses.
    """
    release = _open_verified(folder, verify)
    check_repo(repo)
    if gated is not None and gated not in GATES:
        raise ReleaseError(f"gated {gated!r}: expected {', '.join(GATES)}")
    if read_token() is None:
        raise ReleaseError("no token for the Hub: set HF_TOKEN, or run `hf auth login`, with a token that may write")
    api = open_client()
    publication = Publication(api, release, repo, _files(release))
    with explain_errors(publication.aim):
        if dry_run and (why := why_refused(api, repo)):
            raise ReleaseError(f"cannot {publication.aim}: {why}")
        state = read_repo(api, repo)
        plan = publication.plan(state, private=private, gated=gated)
        if cited and plan.commit not in cited:
            raise publication.moved_error(plan.commit, cited)
        if not dry_run:
            plan = publication.carry_out(plan, state)
    return plan if dry_run else _verify_published(plan, release)


def _open_verified(folder: Path, verify: Verify) -> Release:
    manifest = read_manifest(folder)
    if why := why_not_shared(manifest.data["card"]) or why_not_taken(manifest.files):
        raise ReleaseError(f"{manifest.name} may not be published: {why}; nothing was sent")
    if findings := verify(folder)[1]:
        raise DamagedRelease(findings)
    return Release(folder, manifest)


def _files(release: Release) -> dict[str, Path]:
    names = [*release.manifest.files, NAME, *([RESTORED] if (release.folder / RESTORED).is_file() else [])]
    return {name: release.folder / name for name in sorted(names)}


def _verify_published(plan: PublishResult, release: Release) -> PublishResult:
    """Return the plan once a copy, fetched by the tag, is the release; raise DamagedRelease where it is not."""
    address = ReleaseAddress(repo=plan.repo, version=plan.tag.removeprefix("v"))
    with TemporaryDirectory() as scratch:
        commit, manifest = fetch(address, Path(scratch))
    if (commit, manifest.dump()) != (plan.commit, release.manifest.dump()):
        raise ReleaseError(
            f"{plan.tag} of {plan.repo} gives commit {commit}, not {plan.commit}: is there such a branch?"
        )
    return plan
