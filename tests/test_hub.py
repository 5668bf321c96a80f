"""Publishing to a Hub and pulling from it: the real clients against the small Hub of tests/hub/server.py."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants
from tests.hub.server import OWNER_TOKEN, READER_TOKEN, Blob, Hub, Repo

from senseprobe import api, scaffold
from senseprobe.cli import main
from senseprobe.errors import DamagedRelease, ReleaseError, SenseprobeError
from senseprobe.hub.naming import parse
from senseprobe.hub.noting import note, noted
from senseprobe.hub.publishing import Gate, publish
from senseprobe.hub.sharing import why_not_shared
from senseprobe.release.manifest import Manifest, read_manifest

# The Hub's client hands bytes to httpx2 in a way that httpx2 does not want any more.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

REPO = "jane/example"
WRITES = {"create", "settings", "preupload", "batch", "object", "commit", "tag"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with releases 0.1.0 and 0.2.0 of a small dataset; the second has a word more, and so more rows."""
    folder = tmp_path_factory.mktemp("made") / "project"
    scaffold.start(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        api.build("example", "0.1.0")
        with (folder / "wordlists" / "hobbyists.csv").open("a", encoding="utf-8") as words:
            words.write("weaver\n")
        template = folder / "templates" / "example" / "hobbies.j2"
        text = template.read_text(encoding="utf-8").replace("pairs: 750", "pairs: 875")
        template.write_text(text, encoding="utf-8")
        api.build("example", "0.2.0")
    return folder


@pytest.fixture
def project(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, ours to change, and the working directory."""
    folder = Path(shutil.copytree(built, tmp_path / "project"))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """An empty Hub, that this process's clients ask as jane; they wait for nothing between attempts."""
    server = Hub()
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setattr("huggingface_hub.utils._http.time", SimpleNamespace(sleep=lambda seconds: None, time=time.time))
    monkeypatch.setenv("HF_TOKEN", OWNER_TOKEN)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield server
    server.stop()


def _environment(hub: Hub, home: Path, token: str = OWNER_TOKEN) -> dict[str, str]:
    quiet = ("HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS")
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "HF_HOME": str(home / "hf"), "HF_ENDPOINT": hub.url}
    return {**env, **dict.fromkeys(quiet, "1"), "HF_UPDATE_DOWNLOAD_COUNTS": "0", "HF_TOKEN": token}


def _command(hub: Hub, home: Path, *arguments: str, token: str = OWNER_TOKEN) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "senseprobe", *arguments]
    return subprocess.run(command, env=_environment(hub, home, token), capture_output=True, text=True, check=False)


def _repo(hub: Hub) -> Repo:
    return hub.repos[REPO]


def _assert_published(hub: Hub, folder: Path, version: str = "0.1.0", commits: int = 2) -> None:
    """The tag holds the release and nothing else, `commits` were made in all, and the project has noted it once."""
    repo, release = _repo(hub), folder / "releases" / "example" / version
    assert len(repo.commits) == commits
    held = repo.commits[repo.tags[f"v{version}"]].tree
    wanted = {path.relative_to(release).as_posix(): path.read_bytes() for path in release.rglob("*") if path.is_file()}
    assert {name: blob.data for name, blob in held.items() if name != ".gitattributes"} == wanted
    lines = (release.parent / "published.csv").read_text(encoding="utf-8").splitlines()
    content = json.loads((release / "release.json").read_bytes())["content"]
    assert lines[0] == "version,repo,commit,content"
    assert lines.count(f"{version},{REPO},{repo.tags[f'v{version}']},{content}") == 1
    assert len(lines) == len(set(lines))


def _refusal(work: Callable[[], object]) -> str:
    """What the user is told: one line, without the token."""
    with pytest.raises(ReleaseError) as raised:
        work()
    message = str(raised.value)
    assert "\n" not in message
    assert OWNER_TOKEN not in message
    return message


def test_a_release_is_one_commit_with_a_tag(hub: Hub, project: Path) -> None:
    """The repository is made and gated before anything is sent; one commit; the tag on it; fetched again; noted."""
    done = api.publish("example@0.1.0", REPO)

    _assert_published(hub, project)
    assert (done.commit, done.tag, done.created, done.gated) == (_repo(hub).tags["v0.1.0"], "v0.1.0", True, "auto")
    assert _repo(hub).gated == "auto"
    assert not _repo(hub).private
    order = [route for route, _ in hub.log]
    assert order.index("create") < order.index("settings") < order.index("commit") < order.index("tag")
    assert order.index("tag") < order.index("resolve")
    assert hub.seen("commit") == 1


@pytest.mark.parametrize(("gated", "state"), [("manual", "manual"), ("no", False)])
def test_access_is_as_asked_for(hub: Hub, project: Path, gated: Gate, state: object) -> None:
    """`--gated manual` and `--gated no`, and `--private`."""
    api.publish("example@0.1.0", REPO, private=True, gated=gated)

    assert (_repo(hub).gated, _repo(hub).private) == (state, True)


def test_a_gate_is_never_opened_by_default(hub: Hub, project: Path) -> None:
    """A repository that is gated more strictly, and private, stays so at the next version."""
    api.publish("example@0.1.0", REPO, private=True, gated="manual")
    api.publish("example@0.2.0", REPO)

    assert (_repo(hub).gated, _repo(hub).private) == ("manual", True)


def test_a_dry_run_changes_nothing(hub: Hub, project: Path) -> None:
    """It says what would be sent, and only asks."""
    plan = api.publish("example@0.1.0", REPO, dry_run=True)

    files = [path for path in (project / "releases" / "example" / "0.1.0").rglob("*") if path.is_file()]
    assert (plan.sent, plan.bytes) == (len(files), sum(path.stat().st_size for path in files))
    assert (plan.commit, plan.created, plan.dry_run) == ("", True, True)
    assert {route for route, _ in hub.log} & WRITES == set()
    assert hub.repos == {}
    assert not (project / "releases" / "example" / "published.csv").exists()


def test_publishing_again_changes_nothing(hub: Hub, project: Path) -> None:
    """No commit, no tag, no second line."""
    api.publish("example@0.1.0", REPO)
    again = api.publish("example@0.1.0", REPO)

    assert again.sent == 0
    assert (hub.seen("commit"), hub.seen("tag")) == (1, 1)
    _assert_published(hub, project)


LOAD = """
import datasets, json, sys
for revision in sys.argv[2:]:
    rows = datasets.load_dataset(sys.argv[1], "hobbies", revision=revision, split="test")
    print(json.dumps(rows.to_list()))
"""


def test_the_datasets_library_loads_each_version(hub: Hub, project: Path, tmp_path: Path) -> None:
    """From a fresh cache, `load_dataset(repo, config, revision=tag)` gives the rows of that version."""
    api.publish("example@0.1.0", REPO)
    api.publish("example@0.2.0", REPO)
    _assert_published(hub, project, "0.1.0", commits=3)
    _assert_published(hub, project, "0.2.0", commits=3)

    command = [sys.executable, "-c", LOAD, REPO, "v0.1.0", "v0.2.0"]
    env = _environment(hub, tmp_path / "home")
    ran = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    loaded = [json.loads(line) for line in ran.stdout.splitlines()]
    releases = [project / "releases" / "example" / version for version in ("0.1.0", "0.2.0")]
    assert loaded == [pq.read_table(folder / "hobbies", partitioning=None).to_pylist() for folder in releases]
    assert [len(rows) for rows in loaded] == [750, 875]


def test_files_of_an_earlier_version_go(hub: Hub, project: Path) -> None:
    """What the next version has not is removed in its one commit."""
    folder = project / "releases" / "example" / "0.1.0"
    data = read_manifest(folder).data
    extra = {"bytes": 0, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
    (folder / "empty.md").write_bytes(b"")
    (folder / "release.json").write_bytes(Manifest.of({**data, "files": {**data["files"], "empty.md": extra}}).dump())
    api.publish("example@0.1.0", REPO)
    assert "empty.md" in _repo(hub).commits[_repo(hub).tags["v0.1.0"]].tree

    assert api.publish("example@0.2.0", REPO).removed == 1
    _assert_published(hub, project, "0.2.0", commits=3)


# Route, what happens there, and words of the message; None where the client tries again by itself and succeeds.
FAULTS: list[tuple[str, int | str, int, str | None]] = [
    ("info", 401, 1, "does not accept the token"),
    ("info", 429, 1, "wait some minutes"),
    ("info", "cut", 1, "connection was cut"),
    ("create", 401, 1, "does not accept the token"),
    ("create", 403, 1, "write access"),
    ("create", 500, 1, "has a fault of its own"),
    ("create", 503, 1, "wait a little"),
    ("create", "cut-after", 1, "run the same command again"),
    ("settings", 403, 1, "write access"),
    ("preupload", 403, 1, "write access"),
    ("preupload", 503, 99, "wait a little"),
    ("object", "cut", 1, None),
    ("object", "cut", 99, "connection was cut"),
    ("commit", 412, 1, "somebody else changed it meanwhile"),
    ("commit", 413, 1, "files of this size"),
    ("commit", 429, 1, "wait some minutes"),
    ("commit", 503, 1, "wait a little"),
    ("commit", "cut", 1, "connection was cut"),
    ("commit", "cut-after", 1, "connection was cut"),
    ("tag", 429, 1, "wait some minutes"),
    ("tag", 500, 1, "has a fault of its own"),
    ("tag", "cut-after", 1, "connection was cut"),
    ("resolve", "cut", 99, "connection was cut"),
]


@pytest.mark.parametrize(("route", "what", "times", "words"), FAULTS)
def test_a_failure_is_told_and_the_next_run_completes(
    hub: Hub, project: Path, route: str, what: int | str, times: int, words: str | None
) -> None:
    """One line that says what to do; then the same command publishes, with one commit in all."""
    hub.fail(route, what, times)
    if words is None:
        api.publish("example@0.1.0", REPO)
    else:
        message = _refusal(lambda: api.publish("example@0.1.0", REPO))
        assert re.search(words, message), message
        assert not (project / "releases" / "example" / "published.csv").exists()
        hub.faults.clear()
        api.publish("example@0.1.0", REPO)

    _assert_published(hub, project)


def test_a_hub_that_is_away_is_told(hub: Hub, project: Path) -> None:
    """For publish and pull; nothing is left behind by either."""
    hub.stop()

    assert "the Hub cannot be reached" in _refusal(lambda: api.publish("example@0.1.0", REPO))
    assert "the Hub cannot be reached" in _refusal(lambda: api.pull(f"{REPO}@0.3.0"))
    assert "the Hub cannot be reached" in _refusal(lambda: api.load(f"hf://{REPO}@0.3.0"))
    assert sorted(path.name for path in (project / "releases" / "example").iterdir()) == ["0.1.0", "0.2.0"]


def test_the_clients_offline_switch_is_named(hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has set HF_HUB_OFFLINE is told so, and not that the Hub is away."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    from huggingface_hub import close_session

    close_session()
    assert "HF_HUB_OFFLINE is set" in _refusal(lambda: api.pull(f"{REPO}@0.1.0"))
    close_session()


def test_a_token_that_is_missing_wrong_or_broken_is_told(
    hub: Hub, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in its own words, and none shows it."""
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(tmp_path / "none"))
    monkeypatch.delenv("HF_TOKEN")
    assert "hf auth login" in _refusal(lambda: api.publish("example@0.1.0", REPO))
    assert hub.log == []
    for wrong, words in (("hf_wrongSecret", "does not accept the token"), ("hf_ö secret", "holds blanks or letters")):
        monkeypatch.setenv("HF_TOKEN", wrong)
        message = _refusal(lambda: api.publish("example@0.1.0", REPO))
        assert words in message
        assert wrong not in message
    assert hub.repos == {}


def test_the_token_is_in_no_message_even_if_the_hub_says_it(hub: Hub, project: Path, tmp_path: Path) -> None:
    """What a server says is shown without the token, without control characters, and cut."""
    hub.fail("create", 403, 1, f"{OWNER_TOKEN} may not; nor hf_another " + "x" * 1000)
    message = _refusal(lambda: api.publish("example@0.1.0", REPO))
    assert "*** may not; nor *** xxx" in message
    assert len(message) < 600

    for route, what in (("commit", 503), ("none", 200)):
        hub.fail(route, what)
        ran = _command(hub, tmp_path, "publish", "example@0.1.0", REPO)
        assert OWNER_TOKEN not in ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr
        assert ran.returncode == (0 if route == "none" else 2)
        assert len(ran.stderr.splitlines()) == (0 if route == "none" else 1), ran.stderr
    _assert_published(hub, project)


def test_others_repositories_are_refused(hub: Hub, project: Path) -> None:
    """A namespace that the token may not write to."""
    assert "write access" in _refusal(lambda: api.publish("example@0.1.0", "john/example"))
    hub.repos["john/example"] = Repo("john/example")
    hub.repos["john/example"].commit("initial commit", {})
    assert "write access" in _refusal(lambda: api.publish("example@0.1.0", "john/example"))
    assert len(hub.repos["john/example"].commits) == 1


def test_somebody_elses_commit_in_between_is_not_lost(hub: Hub, project: Path) -> None:
    """The Hub answers 412, for the parent is stale; their file stays, and the next run says that it is there."""
    hub.before["commit"] = lambda: _repo(hub).commit("theirs", {"theirs.txt": Blob(b"x", lfs=False)})

    assert "somebody else changed it meanwhile" in _refusal(lambda: api.publish("example@0.1.0", REPO))
    message = _refusal(lambda: api.publish("example@0.1.0", REPO))
    assert f"{REPO} holds files of others (theirs.txt)" in message
    assert list(_repo(hub).at("main").tree) == ["theirs.txt"]  # type: ignore[union-attr]
    assert _repo(hub).tags == {}


def test_a_tag_that_holds_something_else_is_never_moved(hub: Hub, project: Path) -> None:
    """Set before, or by somebody else at the last moment (409)."""
    api.publish("example@0.2.0", "jane/other")
    api.publish("example@0.1.0", REPO)
    first = _repo(hub).commits[_repo(hub).branches["main"]].parent or ""
    _repo(hub).tags = {"v0.1.0": first}
    assert "a published version never changes" in _refusal(lambda: api.publish("example@0.1.0", REPO))

    _repo(hub).tags = {}
    hub.before["tag"] = lambda: _repo(hub).tags.update({"v0.1.0": first})
    assert "a published version never changes" in _refusal(lambda: api.publish("example@0.1.0", REPO))
    assert _repo(hub).tags == {"v0.1.0": first}
    assert len(_repo(hub).commits) == 2


def test_a_tag_that_somebody_set_rightly_is_taken(hub: Hub, project: Path) -> None:
    """The tag appears on our commit between look and set (409): all is well."""
    hub.before["tag"] = lambda: _repo(hub).tags.update({"v0.1.0": _repo(hub).branches["main"]})
    api.publish("example@0.1.0", REPO)

    _assert_published(hub, project)


def test_a_commit_below_later_ones_is_found_again(hub: Hub, project: Path) -> None:
    """Sent but not tagged, and then others went on: it is tagged where it is."""
    hub.fail("tag", 500)
    _refusal(lambda: api.publish("example@0.1.0", REPO))
    ours = _repo(hub).branches["main"]
    _repo(hub).commit("theirs", {"theirs.txt": Blob(b"x", lfs=False)})
    api.publish("example@0.1.0", REPO)

    assert _repo(hub).tags == {"v0.1.0": ours}
    _assert_published(hub, project, commits=3)


def test_an_unfinished_version_may_still_change(hub: Hub, project: Path) -> None:
    """Sent but not tagged, it is not published: other bytes of this version take its place."""
    hub.fail("tag", 500)
    _refusal(lambda: api.publish("example@0.1.0", REPO))
    folder = project / "releases" / "example" / "0.1.0"
    data = dict(read_manifest(folder).data)
    (folder / "release.json").write_bytes(Manifest.of({**data, "senseprobe": "0.1.1"}).dump())
    api.publish("example@0.1.0", REPO)

    _assert_published(hub, project, commits=3)


def test_a_repository_is_for_one_dataset_and_goes_forward(hub: Hub, project: Path) -> None:
    """Files of others, another dataset, an older version: nothing is sent."""
    api.publish("example@0.2.0", REPO)
    assert f"{REPO} holds example@0.2.0" in _refusal(lambda: api.publish("example@0.1.0", REPO))
    folder = project / "releases" / "example" / "0.1.0"
    (folder / "release.json").write_bytes(Manifest.of({**read_manifest(folder).data, "dataset": "else"}).dump())
    assert "a repository is for one dataset" in _refusal(lambda: api.publish(str(folder), REPO))
    assert (hub.seen("commit"), list(_repo(hub).tags)) == (1, ["v0.2.0"])


def test_what_the_hub_would_leave_out_is_not_tagged(hub: Hub, project: Path) -> None:
    """A .gitignore in the repository keeps a file out of the commit: the tag is not set."""
    hub.repos[REPO] = Repo(REPO)
    _repo(hub).commit("initial commit", {".gitignore": Blob(b"README.md\n", lfs=False)})

    assert "does not hold what was sent" in _refusal(lambda: api.publish("example@0.1.0", REPO))
    assert _repo(hub).tags == {}


def _damage(hub: Hub, name: str, data: bytes | None) -> None:
    """Have the last commit hold other bytes in a file, or not that file."""
    tree = _repo(hub).commits[_repo(hub).branches["main"]].tree
    tree.pop(name, None)
    if data is not None:
        tree[name] = Blob(data, lfs=name.endswith(".parquet"))


def test_a_copy_that_comes_back_damaged_is_not_noted(hub: Hub, project: Path) -> None:
    """A card that the Hub changes after the commit was checked."""
    hub.before["tag"] = lambda: _damage(hub, "README.md", b"---\nother: card\n---\n")
    with pytest.raises(DamagedRelease, match=r"README\.md: E4"):
        api.publish("example@0.1.0", REPO)

    assert not (project / "releases" / "example" / "published.csv").exists()


def test_a_damaged_release_is_not_sent(hub: Hub, project: Path) -> None:
    """Verification comes first."""
    (project / "releases" / "example" / "0.1.0" / "README.md").write_text("other")
    with pytest.raises(DamagedRelease):
        api.publish("example@0.1.0", REPO)
    assert hub.log == []


@pytest.mark.parametrize(
    ("licence", "words"),
    [
        (None, "declares no licence"),
        ("", "declares no licence"),
        ("NOASSERTION", "declares no licence"),
        ("unknown", "declares no licence"),
        ("CC-BY-ND-4.0", "forbids changed versions"),
        ("CC-BY-NC-ND-4.0", "forbids changed versions"),
        ("LicenseRef-ask-the-authors", "no SPDX licence"),
        ("all rights reserved", "no SPDX licence"),
    ],
)
def test_what_may_not_be_shared_is_not_sent(hub: Hub, project: Path, licence: str | None, words: str) -> None:
    """No licence, one that forbids changed versions, and one that nobody knows."""
    folder = project / "releases" / "example" / "0.1.0"
    data = read_manifest(folder).data
    (folder / "release.json").write_bytes(Manifest.of({**data, "card": {**data["card"], "license": licence}}).dump())

    message = _refusal(lambda: api.publish("example@0.1.0", REPO))
    assert words in message
    assert "example@0.1.0 may not be published" in message
    assert hub.log == []


def test_open_licences_may_be_shared() -> None:
    """Those of the built-in data, and of the benchmarks that may be passed on."""
    for licence in ("MIT", "CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-SA-4.0", "Apache-2.0"):
        assert why_not_shared({"license": licence}) is None


@pytest.mark.parametrize(
    "repo", ["example", "jane/", "/x", "a/b/c", "jane/..", "jane/-x", "jane/a--b", "jane/a b", "a/é"]
)
def test_names_that_are_no_repository_are_refused(hub: Hub, project: Path, repo: str) -> None:
    """Before anything is asked of the Hub."""
    assert "expected USER/NAME" in _refusal(lambda: api.publish("example@0.1.0", repo))
    assert hub.log == []


@pytest.mark.parametrize(
    "spec", ["x@1.0.0", "jane/x", "jane/x@", "jane/x@1.0", "jane/x@v1.0.0", "jane/x@1.0.01", "@1.0.0"]
)
def test_names_that_are_no_release_on_the_hub_are_refused(spec: str) -> None:
    """With and without hf:// before them."""
    for full in (spec, f"hf://{spec}"):
        _refusal(lambda full=full: parse(full))  # type: ignore[misc]


def test_names_of_releases_on_the_hub_are_read() -> None:
    """User, name, version and config."""
    place = parse("hf://jane/my.set@1.20.3:race")
    assert (place.repo, place.version, place.tag, place.config) == ("jane/my.set", "1.20.3", "v1.20.3", "race")
    assert parse("jane/x@0.0.1").config is None


def test_a_release_is_pulled_whole(hub: Hub, project: Path, tmp_path: Path) -> None:
    """By its tag, byte for byte, into the project; a second time nothing changes."""
    api.publish("example@0.1.0", REPO)
    api.publish("example@0.2.0", REPO)
    shutil.rmtree(project / "releases" / "example" / "0.1.0")

    release, commit = api.pull(f"{REPO}@0.1.0")
    assert release.folder == project / "releases" / "example" / "0.1.0"
    assert commit == _repo(hub).tags["v0.1.0"]
    _assert_published(hub, project, commits=3)
    assert api.verify("example@0.1.0", rebuild=True) == []
    assert api.pull(f"{REPO}@0.1.0")[1] == commit
    assert api.pull(f"{REPO}@0.1.0", tmp_path / "out")[0].folder == tmp_path / "out" / "example" / "0.1.0"
    assert sorted(path.name for path in (tmp_path / "out" / "example").iterdir()) == ["0.1.0"]


def test_pull_never_overwrites(hub: Hub, project: Path) -> None:
    """Another release of that version, and a damaged one, stay as they are."""
    api.publish("example@0.1.0", REPO)
    folder = project / "releases" / "example" / "0.1.0"
    data = dict(read_manifest(folder).data)
    other = Manifest.of({**data, "senseprobe": "9.9.9"}).dump()
    (folder / "release.json").write_bytes(other)
    assert "holds another release of this version" in _refusal(lambda: api.pull(f"{REPO}@0.1.0"))
    assert (folder / "release.json").read_bytes() == other
    (folder / "README.md").unlink()
    with pytest.raises(DamagedRelease):
        api.pull(f"{REPO}@0.1.0")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("README.md", b"other", r"README\.md: E4"),
        ("README.md", None, r"README\.md: E4"),
        ("evil.py", b"x", r"evil\.py: E403 is not part of the release"),
        ("hobbies/more.parquet", b"x", r"hobbies/more\.parquet: E403 is not part"),
        ("release.json", b"{}", r"release\.json: E401"),
        ("release.json", None, "is no release of senseprobe"),
        ("release.json", b" " * (8 * 2**20 + 1), "is no release of senseprobe"),
        ("recipe/english.csv", b" " * (65 * 2**20), "far larger than its manifest says"),
    ],
    ids=["changed", "missing", "extra", "extra rows", "forged", "no manifest", "huge manifest", "huge file"],
)
def test_what_is_not_as_it_was_frozen_is_not_pulled(
    hub: Hub, project: Path, tmp_path: Path, name: str, data: bytes | None, words: str
) -> None:
    """The message names the file; nothing is left, neither in the project nor in the cache."""
    api.publish("example@0.1.0", REPO)
    _damage(hub, name, data)
    for work in (lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out"), lambda: api.load(f"hf://{REPO}@0.1.0")):
        with pytest.raises(ReleaseError, match=words):
            work()
    left = [path for folder in ("out", "cache") for path in (tmp_path / folder).rglob("*") if path.is_file()]
    assert left == []


def test_a_tag_with_another_version_is_refused(hub: Hub, project: Path) -> None:
    """Somebody set v9.9.9 on the commit of 0.1.0."""
    api.publish("example@0.1.0", REPO)
    _repo(hub).tags["v9.9.9"] = _repo(hub).tags["v0.1.0"]

    assert f"v9.9.9 of {REPO} holds example@0.1.0" in _refusal(lambda: api.pull(f"{REPO}@9.9.9"))
    assert "there is no such dataset repository or version" in _refusal(lambda: api.pull(f"{REPO}@8.8.8"))


def test_gated_and_private_releases_say_so(hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another reader is told to ask for access, or that there is no such thing."""
    api.publish("example@0.1.0", REPO)
    monkeypatch.setenv("HF_TOKEN", READER_TOKEN)
    assert "access is gated" in _refusal(lambda: api.pull(f"{REPO}@0.1.0"))
    _repo(hub).private = True
    assert "there is no such dataset repository" in _refusal(lambda: api.pull(f"{REPO}@0.1.0"))


def test_releases_on_the_hub_are_named_like_those_here(hub: Hub, project: Path, tmp_path: Path) -> None:
    """hf:// works for load, verify, diff and what scores; the Hub is asked once."""
    api.publish("example@0.1.0", REPO)
    api.publish("example@0.2.0", REPO)
    here = api.load("example@0.1.0").table("hobbies")
    assert api.load(f"hf://{REPO}@0.1.0").table("hobbies").equals(here)
    asked = len(hub.log)
    assert api.verify(f"hf://{REPO}@0.1.0", rebuild=True) == []
    release, config = api.verified(f"hf://{REPO}@0.1.0:hobbies")
    assert (release.manifest.name, config) == ("example@0.1.0", "hobbies")
    assert len(hub.log) == asked
    assert not any(path.is_symlink() for path in (tmp_path / "cache").rglob("*"))
    with pytest.raises(ReleaseError, match="no config 'none'"):
        api.verified(f"hf://{REPO}@0.1.0:none")
    shutil.rmtree(project / "releases" / "example" / "0.2.0")
    assert api.diff("example@0.1.0", f"hf://{REPO}@0.2.0") is not None


def test_a_note_is_written_once_and_only_into_its_own_table(tmp_path: Path) -> None:
    """Lines keep their order; many writers at once lose nothing; another table is left as it is."""
    path = tmp_path / "example" / "published.csv"
    lines = [(f"1.{number}.0", "jane/x", "c" * 40, "d" * 64) for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(lambda line: note(path, line), lines * 2)) == [False] * 20 + [True] * 20
    assert sorted(noted(path)) == sorted(lines)
    path.write_text("name,age\njane,30\n")
    assert "is not a table of version, repo, commit, content" in _refusal(lambda: note(path, lines[0]))
    assert path.read_text() == "name,age\njane,30\n"


def test_a_note_that_cannot_be_written_stops_before_anything_is_sent(hub: Hub, project: Path) -> None:
    """Published.csv is another table."""
    (project / "releases" / "example" / "published.csv").write_text("mine\n")
    assert "mend it" in _refusal(lambda: api.publish("example@0.1.0", REPO))
    assert hub.log == []


def test_of_two_at_once_one_commit_remains(hub: Hub, project: Path) -> None:
    """Two publish the same release: each succeeds or says that somebody else was faster; one commit, one tag."""
    folder = project / "releases" / "example" / "0.1.0"

    def told() -> str:
        try:
            publish(folder, REPO)
        except SenseprobeError as error:
            return str(error)
        return ""

    hub.delay = 0.01
    with ThreadPoolExecutor(2) as pool:
        messages = [one.result() for one in [pool.submit(told), pool.submit(told)]]
    assert "" in messages
    assert all("somebody else" in message or not message for message in messages)
    api.publish("example@0.1.0", REPO)
    _assert_published(hub, project)


def test_the_command_line_publishes_and_pulls(
    hub: Hub, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What each prints, and its exit code."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["senseprobe", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        return int(left.value.code or 0), *capsys.readouterr()

    code, told, _ = run("publish", "example@0.1.0", REPO, "--dry-run")
    assert (code, told.splitlines()[0]) == (0, f"would make the dataset {REPO}, public, gated: auto")
    facts = json.loads(run("publish", "example@0.1.0", REPO, "--json")[1])
    assert (facts["repo"], facts["tag"], facts["commit"]) == (REPO, "v0.1.0", _repo(hub).tags["v0.1.0"])
    assert f"commit {facts['commit']}: nothing to send, it was there" in run("publish", "example@0.1.0", REPO)[1]
    told = run("pull", f"{REPO}@0.1.0", "--out", str(tmp_path / "out"))[1]
    assert told.splitlines()[1] == f"in {tmp_path / 'out' / 'example' / '0.1.0'}"
    code, told, complaint = run("pull", f"{REPO}@7.0.0")
    assert (code, told, len(complaint.splitlines())) == (2, "", 1)
    assert run("verify", f"hf://{REPO}@0.1.0")[:2] == (0, f"hf://{REPO}@0.1.0: as it was frozen\n")


def _started(hub: Hub, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the Hub is asked; False where the process has ended before we looked."""
    while process.poll() is None:
        if hub.log:
            return True
        time.sleep(0.001)
    return False


def _start(hub: Hub, home: Path, *arguments: str) -> subprocess.Popen[bytes]:
    hub.log.clear()
    command = [sys.executable, "-m", "senseprobe", *arguments]
    env = _environment(hub, home)
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _seconds(work: Callable[[], object]) -> float:
    """About how long a new process takes from its first question to its end: it has more to load than this one."""
    start = time.monotonic()
    work()
    return 2 * (time.monotonic() - start)


def _kill_publish(hub: Hub, project: Path, home: Path, moments: int, seed: int) -> None:
    seconds = _seconds(lambda: api.publish("example@0.1.0", REPO))
    noted_in = project / "releases" / "example" / "published.csv"
    for moment in np.random.default_rng(seed).uniform(0, seconds, moments):
        hub.repos.clear()
        hub.objects.clear()
        noted_in.unlink(missing_ok=True)
        process = _start(hub, home, "publish", "example@0.1.0", REPO)
        if _started(hub, process):
            time.sleep(moment)
        process.kill()
        process.wait()
        repo = hub.repos.get(REPO)
        assert repo is None or len(repo.commits) <= 2
        assert repo is None or all("release.json" in repo.commits[oid].tree for oid in repo.tags.values())
        assert not noted_in.exists() or len(noted(noted_in)) == 1
        api.publish("example@0.1.0", REPO)
        _assert_published(hub, project)
        assert api.verify("example@0.1.0") == []


def test_a_killed_publish_is_completed_by_the_next(hub: Hub, project: Path, tmp_path: Path) -> None:
    """Kill -9 at three moments: at most one commit, never a tag without it, and the rerun completes."""
    _kill_publish(hub, project, tmp_path, 3, 20220526)


@pytest.mark.soak
def test_a_killed_publish_is_always_completed_by_the_next(hub: Hub, project: Path, tmp_path: Path) -> None:
    """Kill -9 at a hundred moments."""
    _kill_publish(hub, project, tmp_path, 100, 20220527)


def _kill_pull(hub: Hub, project: Path, home: Path, moments: int, seed: int) -> None:
    api.publish("example@0.1.0", REPO)
    out = home / "out"
    arguments = ("pull", f"{REPO}@0.1.0", "--out", str(out))
    seconds = _seconds(lambda: api.pull(f"{REPO}@0.1.0", out))
    for moment in np.random.default_rng(seed).uniform(0, seconds, moments):
        shutil.rmtree(out, ignore_errors=True)
        process = _start(hub, home, *arguments)
        if _started(hub, process):
            time.sleep(moment)
        process.kill()
        process.wait()
        there = out / "example" / "0.1.0"
        assert not there.exists() or api.verify(str(there)) == []
        api.pull(f"{REPO}@0.1.0", out)
        assert [path.name for path in (out / "example").iterdir()] == ["0.1.0"]


def test_a_killed_pull_leaves_no_half_release(hub: Hub, project: Path, tmp_path: Path) -> None:
    """Kill -9 at two moments: whole or absent, and the rerun removes what was left."""
    _kill_pull(hub, project, tmp_path, 2, 20220528)


@pytest.mark.soak
def test_a_killed_pull_never_leaves_a_half_release(hub: Hub, project: Path, tmp_path: Path) -> None:
    """Kill -9 at a hundred moments."""
    _kill_pull(hub, project, tmp_path, 100, 20220529)
