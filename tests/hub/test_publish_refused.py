"""What `publish` refuses, and that nothing is changed then."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.commands import fill_in
from tests.hub.client import REPO, WRITES, damage, refusal, repo_of
from tests.hub.server import Hub
from tests.hub.state import ONLY_READS, OWNER_TOKEN, Blob, Repo

from senseprobe import api
from senseprobe.errors import DamagedRelease
from senseprobe.hub.publish import why_not_shared, why_not_taken
from senseprobe.release.hashing import combine, file_sha256
from senseprobe.release.manifest import Manifest, read_manifest

# The Hub's client hands bytes to httpx2 in a way that httpx2 does not want any more.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


def test_others_repositories_are_refused(hub: Hub, project: Path) -> None:
    """A namespace that the token may not write to."""
    assert "write access" in refusal(lambda: api.publish("example@0.1.0", "john/example"))
    hub.repos["john/example"] = Repo("john/example")
    hub.repos["john/example"].commit("initial commit", {})
    assert "write access" in refusal(lambda: api.publish("example@0.1.0", "john/example"))
    assert len(hub.repos["john/example"].commits) == 1


def test_somebody_elses_commit_in_between_is_not_lost(hub: Hub, project: Path) -> None:
    """The Hub answers 412, for the parent is stale; their file stays, and the next run says that it is there."""
    hub.before["commit"] = lambda: repo_of(hub).commit("theirs", {"theirs.txt": Blob(b"x", lfs=False)})

    assert "somebody else has changed it" in refusal(lambda: api.publish("example@0.1.0", REPO))
    message = refusal(lambda: api.publish("example@0.1.0", REPO))
    assert f"{REPO} contains other files (theirs.txt)" in message
    assert list(repo_of(hub).at("main").tree) == ["theirs.txt"]  # type: ignore[union-attr]
    assert repo_of(hub).tags == {}


def test_a_tag_that_holds_something_else_is_never_moved(hub: Hub, project: Path) -> None:
    """Set before, or by somebody else at the last moment (409)."""
    api.publish("example@0.2.0", "jane/other")
    api.publish("example@0.1.0", REPO)
    first = repo_of(hub).commits[repo_of(hub).branches["main"]].parent or ""
    repo_of(hub).tags = {"v0.1.0": first}
    assert "a published version never changes" in refusal(lambda: api.publish("example@0.1.0", REPO))

    repo_of(hub).tags = {}
    hub.before["tag"] = lambda: repo_of(hub).tags.update({"v0.1.0": first})
    assert "a published version never changes" in refusal(lambda: api.publish("example@0.1.0", REPO))
    assert repo_of(hub).tags == {"v0.1.0": first}
    assert len(repo_of(hub).commits) == 2


def test_a_repository_is_for_one_dataset_and_goes_forward(hub: Hub, project: Path) -> None:
    """Files of others, another dataset, an older version: nothing is sent."""
    api.publish("example@0.2.0", REPO)
    assert f"{REPO} contains example@0.2.0" in refusal(lambda: api.publish("example@0.1.0", REPO))
    shutil.copytree(project / "templates" / "example", project / "templates" / "else")
    fill_in(project)
    api.build("else", "0.1.0")
    assert "a repository has one dataset" in refusal(lambda: api.publish("else@0.1.0", REPO))
    assert (hub.seen("commit"), list(repo_of(hub).tags)) == (1, ["v0.2.0"])


def test_what_the_hub_would_leave_out_is_not_tagged(hub: Hub, project: Path) -> None:
    """A .gitignore in the repository keeps a file out of the commit: the tag is not set."""
    hub.repos[REPO] = Repo(REPO)
    repo_of(hub).commit("initial commit", {".gitignore": Blob(b"README.md\n", lfs=False)})

    assert "lacks files that were sent" in refusal(lambda: api.publish("example@0.1.0", REPO))
    assert repo_of(hub).tags == {}


def test_a_copy_that_comes_back_damaged_is_not_noted(hub: Hub, project: Path) -> None:
    """A card that the Hub changes after the commit was checked."""
    hub.before["tag"] = lambda: damage(hub, "README.md", b"---\nother: card\n---\n")
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
        (None, "does not declare a licence"),
        ("", "does not declare a licence"),
        ("NOASSERTION", "does not declare a licence"),
        ("unknown", "does not declare a licence"),
        ("CC-BY-ND-4.0", "forbids modified versions"),
        ("CC-BY-NC-ND-4.0", "forbids modified versions"),
        ("CC-BY-ND-3.0-DE", "forbids modified versions"),  # every version and country of it
        ("CC-BY-NC-ND-2.5", "forbids modified versions"),
        ("MIT AND CC-BY-ND-4.0", "forbids modified versions"),
        ("LicenseRef-ask-the-authors", "is not an SPDX licence"),
        ("all rights reserved", "is not an SPDX licence"),
    ],
)
def test_what_may_not_be_shared_is_not_sent(hub: Hub, project: Path, licence: str | None, words: str) -> None:
    """No licence, one that forbids changed versions, and one that nobody knows."""
    folder = project / "releases" / "example" / "0.1.0"
    data = read_manifest(folder).data
    (folder / "release.json").write_bytes(Manifest.of({**data, "card": {**data["card"], "license": licence}}).dump())

    message = refusal(lambda: api.publish("example@0.1.0", REPO))
    assert words in message
    assert "example@0.1.0 cannot be published" in message
    assert hub.log == []


def test_open_licences_may_be_shared() -> None:
    """Those of the built-in data, and of the benchmarks that may be passed on."""
    for licence in (
        "MIT",
        "CC0-1.0",
        "CC-BY-4.0",
        "CC-BY-SA-4.0",
        "CC-BY-NC-SA-4.0",
        "Apache-2.0",
        "MIT OR CC-BY-ND-4.0",
    ):
        assert why_not_shared({"license": licence}) is None


def _other(data: bytes) -> bytes:
    """As many bytes, the last of them another."""
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("README.md", lambda data: data + b" ", r"README\.md has \d+ bytes, the manifest says \d+"),
        ("README.md", _other, r"README\.md differs"),
        ("README.md", lambda data: None, r"README\.md is missing"),
        ("hobbies/test-00000-of-00001.parquet", _other, r"hobbies/.*parquet differs from the frozen file \(sha256\)"),
        ("evil.py", lambda data: b"x", r"evil\.py is not part of the release"),
        ("release.json", lambda data: b"{}", r"a damaged release\.json"),
        ("release.json", lambda data: None, "not a release"),
    ],
    ids=["longer", "other", "missing", "other rows", "extra", "damaged manifest", "no manifest"],
)
def test_a_publish_that_is_bound_to_fail_changes_nothing(
    hub: Hub, project: Path, name: str, change: Callable[[bytes], bytes | None], words: str, dry_run: bool
) -> None:
    """The tag is on a commit that has not all the files: told before access is changed, by a dry run too."""
    api.publish("example@0.1.0", REPO, gated="no")
    tree = repo_of(hub).commits[repo_of(hub).tags["v0.1.0"]].tree
    damage(hub, name, change(tree[name].data if name in tree else b""))
    hub.log.clear()

    message = refusal(lambda: api.publish("example@0.1.0", REPO, private=True, gated="auto", dry_run=dry_run))
    assert re.search(rf"has other content \({words}\): a published version never changes", message), message
    assert {route for route, _ in hub.log} & WRITES == set()
    assert (repo_of(hub).gated, repo_of(hub).private) == (False, False)


def test_restored_rows_are_the_release_that_was_published(hub: Hub, project: Path) -> None:
    """Rows that were made again may have other bytes than those on the Hub, or those there: both are the release."""
    api.publish("example@0.1.0", REPO)
    folder = project / "releases" / "example" / "0.1.0"
    rows = next(folder.glob("hobbies/*.parquet"))
    table = pq.read_table(rows, partitioning=None)
    pq.write_table(table, rows, compression="none")  # as another version of pyarrow might
    entry = {"bytes": rows.stat().st_size, "sha256": file_sha256(rows)}
    noted = {"files": {rows.relative_to(folder).as_posix(): entry}}
    (folder / "restored.json").write_text(json.dumps(noted))
    assert api.verify("example@0.1.0") == []
    assert api.publish("example@0.1.0", REPO).sent == 0

    assert api.publish("example@0.1.0", "jane/second").sent > 0
    shutil.rmtree(folder)
    api.pull(f"{REPO}@0.1.0")
    assert api.publish("example@0.1.0", "jane/second").sent == 0
    assert (hub.seen("commit"), api.verify("hf://jane/second@0.1.0")) == (2, [])


@pytest.mark.parametrize(
    ("token", "repo", "words"),
    [
        (OWNER_TOKEN, "john/example", "the token belongs to jane, who can write to jane/…, acme/…"),
        (OWNER_TOKEN, "club/example", "the token belongs to jane, who can write to jane/…, acme/…"),
        (ONLY_READS, REPO, "the token of jane can only read"),
        (OWNER_TOKEN, "acme/example", None),
        (OWNER_TOKEN, REPO, None),
    ],
)
def test_a_dry_run_says_where_the_token_may_not_write(
    hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch, token: str, repo: str, words: str | None
) -> None:
    """Jane may write to her own repositories and to those of acme; in the club she may only read."""
    monkeypatch.setenv("HF_TOKEN", token)
    if words is None:
        api.publish("example@0.1.0", repo, dry_run=True)
        api.publish("example@0.1.0", repo)
        return
    assert words in refusal(lambda: api.publish("example@0.1.0", repo, dry_run=True))
    assert "write access" in refusal(lambda: api.publish("example@0.1.0", repo))
    assert hub.repos == {}


@pytest.mark.parametrize(("status", "words"), [(401, "rejects the token"), (404, None), (429, None)])
def test_a_hub_that_does_not_say_who_asks_is_no_reason_to_refuse(
    hub: Hub, project: Path, status: int, words: str | None
) -> None:
    """A mirror without users, or one that was asked too often; a token that is not accepted is told."""
    hub.fail("whoami", status)
    if words:
        assert words in refusal(lambda: api.publish("example@0.1.0", "john/example", dry_run=True))
    else:
        assert api.publish("example@0.1.0", "john/example", dry_run=True).created


def test_a_renamed_repository_is_told(hub: Hub, project: Path) -> None:
    """The Hub sends requests on to the new name: what is noted must be that one."""
    api.publish("example@0.1.0", "jane/new")
    hub.renamed[REPO] = "jane/new"

    assert f"{REPO} was renamed to jane/new" in refusal(lambda: api.publish("example@0.2.0", REPO))
    assert list(hub.repos["jane/new"].tags) == ["v0.1.0"]


@pytest.mark.parametrize(
    "name",
    [".gitattributes", "recipe/.gitignore", "recipe/sources/.DS_Store", "recipe/.cache/a.txt", ".git/x", "a:b.txt"],
)
def test_names_that_the_hub_keeps_for_itself_are_not_sent(hub: Hub, project: Path, name: str) -> None:
    """Told before the Hub is asked for anything: the client refuses them, or the commit would not hold them."""
    folder = project / "releases" / "example" / "0.1.0"
    data = read_manifest(folder).data
    extra = {"bytes": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
    files = {**data["files"], name: extra}
    recipe = combine({path: entry["sha256"] for path, entry in files.items() if path.startswith("recipe/")})
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"x")
    (folder / "release.json").write_bytes(Manifest.of({**data, "files": files, "recipe": recipe}).dump())

    message = refusal(lambda: api.publish("example@0.1.0", REPO))
    assert f"example@0.1.0 cannot be published: {name} has a " in message
    assert hub.log == []


def test_names_that_the_hub_takes() -> None:
    """What only looks like one of its own."""
    assert why_not_taken(["README.md", "recipe/sources/gitignore.txt", "recipe/x.cache", "recipe/a b.csv"]) is None
