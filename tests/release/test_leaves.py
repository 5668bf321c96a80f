"""Releases whose configs have several files, and so a content hash of leaves, beside those of older forms."""

import hashlib
import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.commands import typing

from senseprobe import api
from senseprobe.release import parquet
from senseprobe.release.changelog import Bump
from senseprobe.release.manifest import Manifest, read_manifest
from senseprobe.release.release import Release

FORM_5 = Path(__file__).parents[1] / "fixtures" / "releases" / "form-5"
"""Of form 5, in files of three rows, which were hashed in one go."""

FILES = {"island": 3, "guess": 2, "words": 2}  # by hand: 8, 6 and 4 rows, three in a file
Facts = dict[str, Any]


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of form 5. Not to be changed."""
    root = tmp_path_factory.mktemp("leaves") / "project"
    shutil.copytree(FORM_5 / "recipe", root)
    (root / "english.csv").unlink()
    (root / "senseprobe.toml").touch()
    return root


@pytest.fixture(scope="module")
def built(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its rows as they are frozen now, in files of three rows. Not to be changed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.setattr(parquet, "ROWS_PER_FILE", 3)
        return api.build("tiny", "5.0.0", tmp_path_factory.mktemp("built")).folder


@pytest.fixture
def several(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that may be changed, where files have three rows."""
    monkeypatch.setattr(parquet, "ROWS_PER_FILE", 3)
    return Path(shutil.copytree(built, tmp_path / "several" / "tiny" / "5.0.0"))


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the release of form 5 that may be changed, where files have three rows."""
    monkeypatch.setattr(parquet, "ROWS_PER_FILE", 3)
    return Path(shutil.copytree(FORM_5, tmp_path / "older" / "tiny" / "5.0.0"))


def _seal(folder: Path, facts: Facts) -> None:
    """Write a manifest with the digest of its facts, whatever they say."""
    facts.pop("digest", None)
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    facts["digest"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "release.json").write_text(json.dumps(facts, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def test_a_config_of_several_files_has_leaves(built: Path) -> None:
    """A leaf for each file, whose rows are as many as its own; form 6."""
    manifest = read_manifest(built)
    assert manifest.data["schema"] == 6
    for config, files in FILES.items():
        names = sorted((built / config).iterdir())
        assert [leaf.rows for leaf in manifest.leaves(config)] == [pq.read_metadata(name).num_rows for name in names]
        assert len(names) == files
    assert read_manifest(FORM_5).leaves("island") == []


@pytest.mark.parametrize("form", ["several", "older"])
def test_releases_of_several_files_are_verified_made_again_and_restored(
    form: str, request: pytest.FixtureRequest
) -> None:
    """Of either form: unchanged, with its recipe's rows, also where the rows are away; restored, the same bytes."""
    folder = request.getfixturevalue(form)
    before = _bytes(folder)
    assert api.verify(str(folder), rebuild=True) == []
    for config in FILES:
        shutil.rmtree(folder / config)
    assert {finding.code for finding in api.verify(str(folder), rebuild=True)} == {"E402"}
    api.restore(str(folder))
    assert _bytes(folder) == before


@pytest.mark.parametrize("form", ["several", "older"])
def test_other_rows_are_found_whatever_the_form(form: str, request: pytest.FixtureRequest) -> None:
    """Of a file in the middle: by the file's hash, and where that is forged, by the content hash."""
    folder = request.getfixturevalue(form)
    name = "island/test-00001-of-00003.parquet"
    table = pq.read_table(folder / name)
    column = table.schema.names.index("stereo")
    pq.write_table(table.set_column(column, table.schema.field(column), table["anti"]), folder / name)
    assert [(f.path, f.code) for f in api.verify(str(folder))] == [(name, "E404")]
    data = (folder / name).read_bytes()
    facts = json.loads((folder / "release.json").read_text())
    facts["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    _seal(folder, facts)
    assert ("island", "E405") in [(f.path, f.code) for f in api.verify(str(folder))]


def test_a_part_of_the_files_is_verified(
    several: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each file is in one part, found there and nowhere else; files of other parts need not be there."""
    typed = typing(monkeypatch, capfd)
    name = "guess/test-00001-of-00002.parquet"  # by hand: the fifth of seven files, so in part 1 of 3
    other = several.parents[2] / "other"
    shutil.copytree(several, other)
    (several / name).write_bytes((several / name).read_bytes() + b"x")
    assert [[f.path for f in api.verify_shard(str(several), shard, 3)] for shard in range(3)] == [[], [name], []]
    done = typed("verify", str(several), "--shards", "3", "--shard", "1")
    assert (done.code, done.out.splitlines()[-1]) == (1, f"part 1 of 3 of {several}: 1 difference")
    assert json.loads(typed("verify", str(several), "--shards", "3", "--shard", "0", "--json").out) == {
        "release": str(several),
        "rebuilt": False,
        "shard": 0,
        "shards": 3,
        "findings": [],
    }
    for path in sorted(other.glob("*/*.parquet")):
        if path.relative_to(other).as_posix() != name:
            path.unlink()
    assert {f.code for f in api.verify_shard(str(other), 0, 3)} == {"E402"}
    assert api.verify_shard(str(other), 4, 7) == []


@pytest.mark.parametrize(("form", "finds"), [("several", True), ("older", False)])
def test_rows_of_a_part_are_compared_with_their_leaf(form: str, finds: bool, request: pytest.FixtureRequest) -> None:
    """Where the hash of the file is forged: found in the part that has it; a form without leaves needs all parts."""
    folder = request.getfixturevalue(form)
    name = "island/test-00001-of-00003.parquet"
    table = pq.read_table(folder / name)
    column = table.schema.names.index("stereo")
    for rows in (table.set_column(column, table.schema.field(column), table["anti"]), table.slice(1)):
        pq.write_table(rows, folder / name)
        facts = json.loads((folder / "release.json").read_text())
        data = (folder / name).read_bytes()
        facts["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        _seal(folder, facts)
        found = [[(f.path, f.code) for f in api.verify_shard(str(folder), shard, 2)] for shard in range(2)]
        assert [(name, "E405") in part for part in found] == [False, finds]
        assert ("island", "E405") in [(f.path, f.code) for f in api.verify(str(folder))]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--shards", "2"), "--shards N and --shard I go together"),
        (("--shards", "2", "--shard", "2"), "there is no part 2 of 2: parts are numbered 0 to 1"),
        (("--shards", "2", "--shard", "0", "--rebuild"), "leave out --rebuild and --content"),
        (("--shards", "2", "--shard", "0", "--restore"), "--restore makes all rows: leave out --shard"),
    ],
)
def test_parts_that_cannot_be_verified(
    words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One message that says what to leave out."""
    done = typing(monkeypatch, capfd)("verify", "sssb@1.0.0", *words)
    assert (done.code, message in done.message) == (2, True)


def test_two_forms_of_the_same_rows_are_compared_by_rows(built: Path, project: Path, tmp_path: Path) -> None:
    """A tree, one range of several files, and one file: three hashes of the same rows, and nothing has changed."""
    whole = tmp_path / "whole"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        one_file = api.build("tiny", "5.0.0", whole).folder
    contents = [read_manifest(folder).config("island")["content"] for folder in (FORM_5, built, one_file)]
    assert contents[0] == contents[2] != contents[1]
    diff = api.diff(str(built), str(one_file))
    assert (diff.reasons, diff.bump) == ((), Bump.NONE)
    for old, new in ((FORM_5, built), (built, FORM_5)):
        diff = api.diff(str(old), str(new))
        assert diff.configs == ()
        assert {reason.text for reason in diff.reasons} <= {"the recipe changed: wordlists/references.bib"}


def test_the_next_release_of_another_form_may_be_a_patch(
    several: Path, older: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows need no higher number, whichever form is the newer one, and are said to be the same."""
    monkeypatch.chdir(project)
    assert api.build("tiny", "5.0.1", older.parents[1]).manifest.leaves("island")
    monkeypatch.setattr(parquet, "ROWS_PER_FILE", 100)
    told: list[str] = []
    assert not api.build("tiny", "5.0.1", several.parents[1], say=told.append).manifest.leaves("island")
    assert told[-1] == "tiny@5.0.1 has the same rows, card and recipe as tiny@5.0.0"


@pytest.mark.parametrize("rows_per_group", [1, 2, 100])
@pytest.mark.parametrize("cuts", [(0, 8), (0, 1, 8), (0, 2, 4, 6, 8), (0, 3, 3, 8)])
def test_the_layout_of_files_is_no_part_of_the_hash(
    built: Path, tmp_path: Path, cuts: tuple[int, ...], rows_per_group: int
) -> None:
    """Written again in other files and row groups, without dictionaries, rows are cut again where the leaves end."""
    manifest, rows = read_manifest(built), pq.read_table(built / "island")
    content = manifest.content_hash("island")
    for number, (start, stop) in enumerate(pairwise(cuts)):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(rows.slice(start, stop - start), path, row_group_size=rows_per_group, use_dictionary=False)
        for batch in pq.ParquetFile(path).iter_batches(3):
            content.update(batch)
    assert content.hexdigest() == manifest.config("island")["content"]
    assert pa.Table.from_batches(Release(built, manifest).batches("island")).num_rows == 8


def test_a_manifest_of_a_thousand_files_is_small(built: Path) -> None:
    """Below 1 MB, with the entries of the longest numbers: size, hash, rows and hash of each file."""
    facts = json.loads((built / "release.json").read_text())
    names = [f"island/test-{number:05d}-of-01000.parquet" for number in range(1000)]
    leaves = [[2**18, hashlib.sha256(name.encode()).hexdigest()] for name in names]
    facts["files"] |= {name: {"bytes": 10**8, "sha256": "0" * 64} for name in names}
    facts["configs"]["island"] |= {"rows": 1000 * 2**18, "leaves": leaves}
    assert len(Manifest.of(facts).dump()) < 1_000_000


def _forge_rows(counts: list[int]) -> Callable[[Facts], None]:
    def forge(config: Facts) -> None:
        config["leaves"] = [[count, config["leaves"][0][1]] for count in counts]
        tree = {"leaves": config["leaves"], "rows": sum(counts)}
        config["content"] = hashlib.sha256(json.dumps(tree, separators=(",", ":")).encode()).hexdigest()

    return forge


def _set_leaves(leaves: object) -> Callable[[Facts], None]:
    return lambda config: config.update(leaves=leaves)


FORGED: dict[str, Callable[[Facts], None]] = {
    "negative": _forge_rows([10, -2]),
    "more than a leaf has": _forge_rows([2**40, 8 - 2**40]),
    "fewer rows": _forge_rows([3, 4]),
    "more rows": _forge_rows([3, 6]),
    "one": _forge_rows([8]),
    "more than rows": _forge_rows([1] * 8 + [0]),
    "without rows": _forge_rows([8, 0]),
    "none": _set_leaves([]),
    "null": _set_leaves(None),
    "no lists": _set_leaves({"3": "0" * 64}),
    "no hash": _set_leaves([[4, "x"], [4, "y"]]),
    "other hashes": _set_leaves([[4, "0" * 64], [4, "1" * 64]]),
    "other types": _set_leaves([["4", "0" * 64], [4.0, "1" * 64]]),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_leaves_are_one_finding(name: str, several: Path) -> None:
    """The manifest is refused before any row is read."""
    facts = json.loads((several / "release.json").read_text())
    FORGED[name](facts["configs"]["island"])
    _seal(several, facts)
    (finding,) = api.verify(str(several))
    assert (finding.path, finding.code) == ("release.json", "E401")
    assert "leaves" in finding.message


def test_older_forms_have_no_leaves(several: Path) -> None:
    """An older senseprobe would not read them, and take another hash for the release's."""
    facts = json.loads((several / "release.json").read_text())
    _seal(several, {**facts, "schema": 5})
    (finding,) = api.verify(str(several))
    assert (finding.code, finding.message) == ("E401", "Value error, manifests of form 5 do not have `leaves`")
