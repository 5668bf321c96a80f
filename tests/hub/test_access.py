"""Who may read what is published."""

import re
from pathlib import Path

import pytest
from tests.commands import typing
from tests.hub.client import REPO, refusal, repo_of
from tests.hub.server import Hub
from tests.hub.state import Repo

from senseprobe import api
from senseprobe.hub.publish import Gate

# The Hub's client hands bytes to httpx2 in a way that httpx2 does not want any more.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.mark.parametrize(("gated", "state"), [("manual", "manual"), ("no", False)])
def test_access_is_as_asked_for(hub: Hub, project: Path, gated: Gate, state: object) -> None:
    """`--gated manual` and `--gated no`, and `--private`."""
    api.publish("example@0.1.0", REPO, private=True, gated=gated)

    assert (repo_of(hub).gated, repo_of(hub).private) == (state, True)


def test_a_gate_is_never_opened_by_default(hub: Hub, project: Path) -> None:
    """A repository that is gated more strictly, and private, stays so at the next version."""
    api.publish("example@0.1.0", REPO, private=True, gated="manual")
    api.publish("example@0.2.0", REPO)

    assert (repo_of(hub).gated, repo_of(hub).private) == ("manual", True)


def test_what_the_owner_opened_stays_open(hub: Hub, project: Path) -> None:
    """The next version, and a rerun, leave a repository with a version as it is; what is asked for is done and told."""
    assert api.publish("example@0.1.0", REPO).access == ("public", "gated: auto")
    repo_of(hub).gated = False
    for version in ("0.1.0", "0.2.0"):
        done = api.publish(f"example@{version}", REPO)
        assert (done.gated, done.access) == ("no", ())
    assert repo_of(hub).gated is False
    assert hub.seen("settings") == 1

    planned = api.publish("example@0.2.0", REPO, private=True, gated="manual", dry_run=True)
    assert (planned.access, repo_of(hub).private) == (("private", "gated: manual"), False)
    assert api.publish("example@0.2.0", REPO, private=True, gated="manual").access == planned.access
    assert (repo_of(hub).gated, repo_of(hub).private) == ("manual", True)


def test_a_repository_without_a_version_is_gated(hub: Hub, project: Path) -> None:
    """One that was made by a run that came no further, or by hand, holds nothing yet that its owner may have opened."""
    hub.fail("settings", 500)
    refusal(lambda: api.publish("example@0.1.0", REPO))
    assert repo_of(hub).gated is False

    assert api.publish("example@0.1.0", REPO).access == ("gated: auto",)
    assert repo_of(hub).gated == "auto"


def test_access_that_was_set_before_a_failure_is_told(hub: Hub, project: Path) -> None:
    """The commit is refused, but who may read the repository has changed."""
    hub.fail("commit", 503)
    message = refusal(lambda: api.publish("example@0.1.0", REPO, private=True))

    assert f"to {REPO} (access is now private, gated: auto): the Hub failed" in message
    assert (repo_of(hub).gated, repo_of(hub).private) == ("auto", True)


def test_the_command_line_tells_access(
    hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """When it is new, and what it would be."""
    hub.repos[REPO] = Repo(REPO)
    repo_of(hub).commit("initial commit", {})
    typed = typing(monkeypatch, capfd)
    ran = typed("publish", "example@0.1.0", REPO, "--private", "--dry-run")
    assert f"would use the dataset {REPO}, private, gated: auto (new is private, gated: auto)\n" in ran.out
    ran = typed("publish", "example@0.1.0", REPO)
    assert "access is now gated: auto\n" in ran.out
    assert "note: the card has the summary of the example" in ran.out
    (unsaid,) = re.findall(r"note: croissant.json lacks (.*): state what you know under", ran.out)
    assert "dataReleaseMaintenancePlan" in unsaid
    assert "dataUseCases" not in unsaid  # the intended use of dataset.yaml
