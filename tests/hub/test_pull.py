"""`pull` and hf://: a release comes whole and verified, or not at all."""

import json
import re
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from huggingface_hub import constants
from tests.hub.client import REPO, assert_published, damage, refusal, repo_of
from tests.hub.server import Hub
from tests.hub.state import READER_TOKEN, Answer, Blob

from senseprobe import api
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.hub.client import parse_address
from senseprobe.hub.pull import cache_folder
from senseprobe.release.manifest import Manifest, read_manifest

# The Hub's client hands bytes to httpx2 in a way that httpx2 does not want any more.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


def test_a_release_is_pulled_whole(hub: Hub, project: Path, tmp_path: Path) -> None:
    """By its tag, byte for byte, into the project; a second time nothing changes."""
    api.publish("example@0.1.0", REPO)
    api.publish("example@0.2.0", REPO)
    shutil.rmtree(project / "releases" / "example" / "0.1.0")

    release, commit = api.pull(f"{REPO}@0.1.0")
    assert release.folder == project / "releases" / "example" / "0.1.0"
    assert commit == repo_of(hub).tags["v0.1.0"]
    assert_published(hub, project, commits=3)
    assert api.verify("example@0.1.0", rebuild=True) == []
    assert api.pull(f"{REPO}@0.1.0")[1] == commit
    assert api.pull(f"{REPO}@0.1.0", tmp_path / "out")[0].folder == tmp_path / "out" / "example" / "0.1.0"
    assert sorted(path.name for path in (tmp_path / "out" / "example").iterdir()) == ["0.1.0"]


def test_a_name_without_a_version_is_the_newest_on_the_hub(hub: Hub, project: Path, tmp_path: Path) -> None:
    """By number, of those that are tagged there; other tags, and the project's newer releases, are none of them."""
    api.publish("example@0.1.0", REPO)
    repo_of(hub).tags.update({"v0.10": repo_of(hub).tags["v0.1.0"], "final": repo_of(hub).tags["v0.1.0"]})
    assert api.pull(REPO, tmp_path / "out")[0].manifest.name == "example@0.1.0"
    assert api.load(f"hf://{REPO}").manifest.name == "example@0.1.0"
    api.publish("example@0.2.0", REPO)
    assert api.load(f"hf://{REPO}").manifest.name == "example@0.2.0"
    repo_of(hub).tags.clear()
    assert f"{REPO} does not have versions" in refusal(lambda: api.pull(REPO))


def test_pull_never_overwrites(hub: Hub, project: Path) -> None:
    """Another release of that version, one whose manifest alone differs, and a damaged one, stay as they are."""
    api.publish("example@0.1.0", REPO)
    shutil.rmtree(project / "releases")
    folder = api.build("example", "0.1.0").folder  # of today's lists, which have a word more
    built = (folder / "release.json").read_bytes()
    assert f"{folder} contains another release with this version" in refusal(lambda: api.pull(f"{REPO}@0.1.0"))
    assert (folder / "release.json").read_bytes() == built
    data = dict(read_manifest(folder).data)
    other = Manifest.of({**data, "senseprobe": "9.9.9"}).dump()
    (folder / "release.json").write_bytes(other)
    with pytest.raises(DamagedRelease, match=rf"^{folder}/README\.md:[0-9]+:1: E409 .*senseprobe 9\.9\.9"):
        api.pull(f"{REPO}@0.1.0")
    assert (folder / "release.json").read_bytes() == other
    (folder / "README.md").unlink()
    with pytest.raises(DamagedRelease, match=rf"^{folder}/README\.md: E402"):
        api.pull(f"{REPO}@0.1.0")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("README.md", b"other", r"README\.md: E4"),
        ("README.md", None, r"README\.md: E4"),
        ("evil.py", b"x", r"evil\.py: E403 is not part of the release"),
        ("hobbies/more.parquet", b"x", r"hobbies/more\.parquet: E403 is not part"),
        ("release.json", b"{}", r"release\.json: E401"),
        ("release.json", None, "is not a release of senseprobe"),
        ("release.json", b" " * (8 * 2**20 + 1), "is not a release of senseprobe"),
        ("recipe/english.csv", b" " * (65 * 2**20), r"recipe/english\.csv: E404 has 68157440 bytes"),
    ],
    ids=["changed", "missing", "extra", "extra rows", "forged", "no manifest", "huge manifest", "huge file"],
)
def test_what_is_not_as_it_was_frozen_is_not_pulled(
    hub: Hub, project: Path, tmp_path: Path, name: str, data: bytes | None, words: str
) -> None:
    """The message names the release and the file; nothing is left, neither folders in the project nor in the cache."""
    api.publish("example@0.1.0", REPO)
    damage(hub, name, data)
    for work in (lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out"), lambda: api.load(f"hf://{REPO}@0.1.0")):
        with pytest.raises(ReleaseError, match=words) as raised:
            work()
        assert re.match(rf"{REPO}@0\.1\.0/|v0\.1\.0 of {REPO} ", str(raised.value))
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "cache").exists()


def test_what_a_listing_does_not_show_leaves_no_folder_either(hub: Hub, project: Path, tmp_path: Path) -> None:
    """As many bytes as were frozen, but others: seen when they are there; folders made for the release go with it."""
    api.publish("example@0.1.0", REPO)
    card = (project / "releases" / "example" / "0.1.0" / "README.md").read_bytes()
    damage(hub, "README.md", card[:-1] + b" ")
    for work in (lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out"), lambda: api.load(f"hf://{REPO}@0.1.0")):
        with pytest.raises(DamagedRelease, match=rf"^{REPO}@0\.1\.0/README\.md: E404 differs"):
            work()
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "cache").exists()


def test_a_tag_with_another_version_is_refused(hub: Hub, project: Path) -> None:
    """Somebody set v9.9.9 on the commit of 0.1.0."""
    api.publish("example@0.1.0", REPO)
    repo_of(hub).tags["v9.9.9"] = repo_of(hub).tags["v0.1.0"]

    assert f"v9.9.9 of {REPO} contains example@0.1.0" in refusal(lambda: api.pull(f"{REPO}@9.9.9"))
    assert f"{REPO} does not have version 8.8.8; versions: 9.9.9, 0.1.0" in refusal(lambda: api.pull(f"{REPO}@8.8.8"))
    repo_of(hub).tags.clear()
    assert f"{REPO} does not have version 8.8.8; versions: none" in refusal(lambda: api.pull(f"{REPO}@8.8.8"))


def test_gated_and_private_releases_say_so(hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another reader is told to ask for access, or that there is no such thing."""
    api.publish("example@0.1.0", REPO)
    monkeypatch.setenv("HF_TOKEN", READER_TOKEN)
    assert "access is gated" in refusal(lambda: api.pull(f"{REPO}@0.1.0"))
    repo_of(hub).private = True
    assert "the dataset repository or version does not exist" in refusal(lambda: api.pull(f"{REPO}@0.1.0"))


def test_releases_on_the_hub_are_named_like_those_here(hub: Hub, project: Path, tmp_path: Path) -> None:
    """hf:// works for load, verify, diff and what scores; the Hub is asked once."""
    api.publish("example@0.1.0", REPO)
    api.publish("example@0.2.0", REPO)
    here = api.load("example@0.1.0").table("hobbies")
    assert api.load(f"hf://{REPO}@0.1.0").table("hobbies").equals(here)
    requests = len(hub.log)
    assert api.verify(f"hf://{REPO}@0.1.0", rebuild=True) == []
    release, config = api.verified(f"hf://{REPO}@0.1.0:hobbies")
    assert (release.manifest.name, config) == ("example@0.1.0", "hobbies")
    assert len(hub.log) == requests
    assert not any(path.is_symlink() for path in (tmp_path / "cache").rglob("*"))
    with pytest.raises(ReleaseError, match="no config 'none'"):
        api.verified(f"hf://{REPO}@0.1.0:none")
    shutil.rmtree(project / "releases" / "example" / "0.2.0")
    assert api.diff("example@0.1.0", f"hf://{REPO}@0.2.0") is not None


def test_a_manifest_of_a_newer_form_is_told_of_the_release(hub: Hub, project: Path) -> None:
    """And not of the folder that it was looked at in, which is gone."""
    api.publish("example@0.1.0", REPO)
    newer = json.dumps({**read_manifest(project / "releases" / "example" / "0.1.0").data, "schema": 99}).encode()
    damage(hub, "release.json", newer)

    message = refusal(lambda: api.pull(f"{REPO}@0.1.0"))
    assert message.startswith(f"{REPO}@0.1.0/release.json has form 99")


def test_only_files_of_the_release_are_fetched(hub: Hub, project: Path, tmp_path: Path) -> None:
    """What other tools keep in a repository is not downloaded, however large; rows there would be read, so are told."""
    api.publish("example@0.1.0", REPO)
    tree = repo_of(hub).commits[repo_of(hub).tags["v0.1.0"]].tree
    for name in (".cache/big.bin", ".cache/a/b.bin", ".gitignore", ".DS_Store"):
        tree[name] = Blob(b"x", lfs=False)
    hub.log.clear()
    release, _ = api.pull(f"{REPO}@0.1.0", tmp_path / "out")

    requests = [line for route, line in hub.log if route == "resolve"]
    assert not [line for line in requests if re.search(r"\.(cache|git|DS)", line)]
    assert not [path for path in release.folder.iterdir() if path.name.startswith(".")]
    tree[".cache/more.parquet"] = Blob(b"x", lfs=True)
    with pytest.raises(DamagedRelease, match=r"\.cache/more\.parquet: E403"):
        api.pull(f"{REPO}@0.1.0", tmp_path / "other")


def _forge(hub: Hub, folder: Path, files: dict[str, bytes]) -> None:
    """Have the last commit hold these files, listed in a manifest in which every hash is right."""
    facts = dict(read_manifest(folder).data)
    entries = {name: {"bytes": len(data), "sha256": sha256(data).hexdigest()} for name, data in files.items()}
    manifest = Manifest.of({**facts, "files": {**facts["files"], **entries}}).dump()
    for name, data in {**files, "release.json": manifest}.items():
        damage(hub, name, data)


def test_a_forged_card_is_not_pulled(hub: Hub, project: Path, tmp_path: Path) -> None:
    """One that points at an added file of rows, with all hashes right; or whose text is another."""
    api.publish("example@0.1.0", REPO)
    folder = project / "releases" / "example" / "0.1.0"
    card = (folder / "README.md").read_text(encoding="utf-8")
    forged = {
        "README.md:\\d+:1: E409": {"README.md": card.replace("hobbies/test-*", "hobbies/*").encode()},
        "README.md:\\d+:1: E409 .*Unbiased": {"README.md": card.replace("## Limitations\n", "## Unbiased\n").encode()},
        "hobbies/more.parquet: E403": {"hobbies/more.parquet": b"PAR1"},
        "croissant.json: E409": {"croissant.json": b"{}"},
        "CITATION.cff:1:1: E409": {"CITATION.cff": b""},
    }
    for words, files in forged.items():
        _forge(hub, folder, files)
        for work in (lambda: api.pull(f"{REPO}@0.1.0", tmp_path / "out"), lambda: api.load(f"hf://{REPO}@0.1.0")):
            with pytest.raises(DamagedRelease, match=rf"{REPO}@0\.1\.0/{words}"):
                work()
        for name in files:
            damage(hub, name, (folder / name).read_bytes() if (folder / name).exists() else None)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("size", [-1, 10**13])
def test_sizes_that_cannot_be_are_told_before_files_are_fetched(hub: Hub, project: Path, size: int) -> None:
    """The listing says less than nothing, or ten terabytes."""
    api.publish("example@0.1.0", REPO)

    def listed(answer: Answer) -> Answer:
        entries = [{**entry, "size": size} if entry["path"] == "README.md" else entry for entry in answer.body]
        return replace(answer, body=entries)

    hub.instead["tree"] = listed
    hub.log.clear()
    with pytest.raises(DamagedRelease, match=rf"README\.md: E404 has {size} bytes, the manifest says \d+"):
        api.pull(f"{REPO}@0.1.0")
    assert not [line for route, line in hub.log if route == "resolve" and "release.json" not in line]


def _cached(folder: Path) -> Path:
    return next(path.parent for path in folder.rglob("release.json"))


@pytest.mark.parametrize("how", ["changed", "missing", "no manifest", "a file", "a link"])
def test_a_damaged_copy_is_fetched_again(hub: Hub, project: Path, tmp_path: Path, how: str) -> None:
    """What hf:// keeps is verified whenever it is named; what is not whole is replaced, by itself."""
    api.publish("example@0.1.0", REPO)
    api.load(f"hf://{REPO}@0.1.0")
    copy = _cached(tmp_path / "cache")
    if how == "changed":
        (copy / "README.md").write_text("x")
    elif how in ("missing", "no manifest"):
        (copy / ("release.json" if how == "no manifest" else "CITATION.cff")).unlink()
    else:
        copy.rename(tmp_path / "moved")
        copy.symlink_to(tmp_path / "none") if how == "a link" else copy.write_text("x")

    assert api.verify(f"hf://{REPO}@0.1.0") == []
    assert not copy.is_symlink()
    requests = len(hub.log)
    assert api.verify(f"hf://{REPO}@0.1.0") == []
    assert len(hub.log) == requests


def test_a_damaged_copy_without_a_hub_is_told(hub: Hub, project: Path, tmp_path: Path) -> None:
    """Where it was, and that it is gone."""
    api.publish("example@0.1.0", REPO)
    api.load(f"hf://{REPO}@0.1.0")
    copy = _cached(tmp_path / "cache")
    (copy / "README.md").write_text("x")
    hub.stop()

    message = refusal(lambda: api.load(f"hf://{REPO}@0.1.0"))
    assert "the Hub cannot be reached" in message
    assert message.endswith(f"(the copy in {copy} was damaged, so it was removed)")


def test_a_cache_that_cannot_be_written_is_told(hub: Hub, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where its folder should be."""
    api.publish("example@0.1.0", REPO)
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "senseprobe.toml"))
    assert f"cannot write {project / 'senseprobe.toml'}" in refusal(lambda: api.load(f"hf://{REPO}@0.1.0"))


def test_a_password_in_the_endpoint_is_in_no_path(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is named after the host alone."""
    monkeypatch.setattr(constants, "ENDPOINT", "http://user:secret@mirror.example:8080/hf")
    assert cache_folder(parse_address(f"{REPO}@0.1.0")).parts[-4:] == (
        "mirror.example-8080-hf",
        "jane",
        "example",
        "0.1.0",
    )


def test_a_renamed_repository_is_pulled_by_its_old_name(hub: Hub, project: Path, tmp_path: Path) -> None:
    """A paper cites the old one: the Hub sends requests on to the new one."""
    done = api.publish("example@0.1.0", "jane/new")
    hub.renamed[REPO] = "jane/new"

    assert api.pull(f"{REPO}@0.1.0", tmp_path / "out")[1] == done.commit
