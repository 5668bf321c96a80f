"""Names of repositories and releases on a Hub, and the notes of where a version went."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.hub.client import REPO, refusal
from tests.hub.server import Hub

from senseprobe import api
from senseprobe.hub.client import parse_address
from senseprobe.hub.publish import note_published, read_published

# The Hub's client hands bytes to httpx2 in a way that httpx2 does not want any more.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.mark.parametrize(
    "repo", ["example", "jane/", "/x", "a/b/c", "jane/x.git", "jane/..", "jane/-x", "jane/a--b", "jane/a b", "a/é"]
)
def test_names_that_are_no_repository_are_refused(hub: Hub, project: Path, repo: str) -> None:
    """Before anything is asked of the Hub."""
    assert "expected USER/NAME" in refusal(lambda: api.publish("example@0.1.0", repo))
    assert hub.log == []


@pytest.mark.parametrize("spec", ["x@1.0.0", "x", "jane/x@", "jane/x@1.0", "jane/x@v1.0.0", "jane/x@1.0.01", "@1.0.0"])
def test_names_that_are_no_release_on_the_hub_are_refused(spec: str) -> None:
    """With and without hf:// before them."""
    for full in (spec, f"hf://{spec}"):
        refusal(lambda full=full: parse_address(full))  # type: ignore[misc]


def test_names_of_releases_on_the_hub_are_read() -> None:
    """User, name, version and config."""
    address = parse_address("hf://jane/my.set@1.20.3:race")
    assert (address.repo, address.version, address.tag, address.config) == ("jane/my.set", "1.20.3", "v1.20.3", "race")
    assert parse_address("jane/x@0.0.1").config is None


def test_a_note_is_written_once_and_only_into_its_own_table(tmp_path: Path) -> None:
    """Lines keep their order; many writers at once lose nothing; another table is left as it is."""
    path = tmp_path / "example" / "published.csv"
    lines = [(f"1.{number}.0", "jane/x", "c" * 40, "d" * 64) for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(lambda line: note_published(path, line), lines * 2)) == [False] * 20 + [True] * 20
    assert sorted(read_published(path)) == sorted(lines)
    path.write_text("name,age\njane,30\n")
    assert "is not a table of version, repo, commit, content" in refusal(lambda: note_published(path, lines[0]))
    assert path.read_text() == "name,age\njane,30\n"


def test_a_note_that_cannot_be_written_stops_before_anything_is_sent(hub: Hub, project: Path) -> None:
    """Published.csv is another table."""
    (project / "releases" / "example" / "published.csv").write_text("mine\n")
    assert "correct it" in refusal(lambda: api.publish("example@0.1.0", REPO))
    assert hub.log == []


def test_a_config_is_not_pulled_alone(hub: Hub, project: Path) -> None:
    """A release is fetched whole: a config is refused before the Hub is asked, whether there is such a one or not."""
    for config in ("hobbies", "nope"):
        message = refusal(lambda config=config: api.pull(f"{REPO}@0.1.0:{config}"))  # type: ignore[misc]
        assert f"remove ':{config}'" in message
    assert hub.log == []


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_version_has_one_commit_for_ever(hub: Hub, project: Path, dry_run: bool) -> None:
    """Where published.csv says another commit than the Hub has, or the Hub has none, nothing is changed."""
    done = api.publish("example@0.1.0", REPO)
    path = project / "releases" / "example" / "published.csv"
    path.write_text(path.read_text().replace(done.commit, "f" * 40))
    message = refusal(lambda: api.publish("example@0.1.0", REPO, dry_run=dry_run))
    assert f"published to {REPO} as commit {'f' * 40}, but is commit {done.commit[:12]} now" in message

    hub.repos.clear()
    assert "missing now" in refusal(lambda: api.publish("example@0.1.0", REPO, dry_run=dry_run))
    assert hub.repos == {}
    assert not api.publish("example@0.1.0", "jane/elsewhere", dry_run=True).commit


def test_a_second_commit_of_a_version_is_not_noted(tmp_path: Path) -> None:
    """In another repository it is, and another version."""
    path, content = tmp_path / "published.csv", "d" * 64
    note_published(path, ("1.0.0", "jane/x", "c" * 40, content))
    assert "as commit ccc" in refusal(lambda: note_published(path, ("1.0.0", "jane/x", "e" * 40, content)))
    assert note_published(path, ("1.0.0", "jane/y", "e" * 40, content))
    assert note_published(path, ("1.0.1", "jane/x", "e" * 40, content))
    assert len(read_published(path)) == 3


def test_a_link_is_not_replaced_by_notes(tmp_path: Path) -> None:
    """A link stays one; what leads nowhere, and a folder, is no table."""
    path, line = tmp_path / "published.csv", ("1.0.0", "jane/x", "c" * 40, "d" * 64)
    path.symlink_to(tmp_path / "elsewhere.csv")
    assert "is not a table" in refusal(lambda: note_published(path, line))
    assert not (tmp_path / "elsewhere.csv").exists()
    (tmp_path / "elsewhere.csv").write_text("version,repo,commit,content\n")
    assert note_published(path, line)
    assert path.is_symlink()
    assert read_published(tmp_path / "elsewhere.csv") == [line]
    (tmp_path / "folder.csv").mkdir()
    assert "is not a table" in refusal(lambda: note_published(tmp_path / "folder.csv", line))
