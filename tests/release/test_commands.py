"""Releases: built once, verified, and every way in which one can be damaged or forged."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.commands import typing

from senseprobe import api
from senseprobe.errors import DamagedRelease, ReleaseError, SenseprobeError
from senseprobe.recipes import card_sources
from senseprobe.records import Design, Finding
from senseprobe.release import card, citation, croissant
from senseprobe.release.card import read_memory
from senseprobe.release.documents import CardSources, DocumentInput, read_bibliography
from senseprobe.release.hashing import ContentHash, memory_bytes
from senseprobe.release.manifest import read_manifest
from senseprobe.release.schema import example_rows

# The paper's Table 1 (576 for language and 186 of its 192 for noun: cunning is there twice), and issue 2.
PAPER = {"nationality": 1728, "language": 576, "race": 108, "colour": 625, "noun": 186}

Facts = dict[str, Any]


@pytest.fixture
def copy(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release that may be damaged. Its paths are relative, and so the same in all tests: YAML is parsed once."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(small, tmp_path / "sssb" / "1.0.0"))


@pytest.fixture(scope="module")
def sources(small: Path) -> CardSources:
    """What the card takes from the recipe, before it is changed."""
    return card_sources(small, read_manifest(small))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digests(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): _sha256(path.read_bytes()) for path in _files(folder)}


def _findings(folder: Path, rebuild: bool = False) -> list[tuple[str, str]]:
    return [(finding.path, finding.code) for finding in api.verify(str(folder), rebuild)]


def _combined(digests: dict[str, str]) -> str:
    return _sha256(b"".join(f"{name}\0{digests[name]}\n".encode() for name in sorted(digests)))


class Reseal(Protocol):
    """Makes a changed release consistent again."""

    def __call__(self, change: Callable[[Facts], None] = ..., memory: Mapping[str, int] = ...) -> None:
        """Make it so, after a `change` of the manifest's facts; `memory` holds the bytes of rows that were changed."""


@pytest.fixture
def reseal(small: Path, copy: Path, sources: CardSources) -> Reseal:
    """What a forger does who knows docs/content-hash.md, and writes card, citation and Croissant anew as we do.

    Sizes, file hashes, recipe hash and digest are right again; what is left to find is in the rows and the recipe.
    """

    def reseal(change: Callable[[Facts], None] = lambda facts: None, memory: Mapping[str, int] | None = None) -> None:
        facts = json.loads((copy / "release.json").read_bytes())
        names = [path.relative_to(copy).as_posix() for path in _files(copy)]
        files = {name: _entry(copy, name) for name in names if name not in {*DOCUMENTS, "release.json"}}
        facts["recipe"] = _combined({name: each["sha256"] for name, each in files.items() if name[:7] == "recipe/"})
        change(facts)
        about = DocumentInput(
            facts=facts,
            files=files,
            memory=read_memory(copy, read_manifest(small)) | dict(memory or {}),
            lists=sources.lists,
            bibliography=read_bibliography(copy),
            changelog=card.FIRST,
        )
        for name, render in DOCUMENTS.items():
            (copy / name).write_text(render(replace(about, files=files)), encoding="utf-8")
            files[name] = _entry(copy, name)
        _seal(copy, {**facts, "files": files})

    return reseal


DOCUMENTS = {card.NAME: card.render, citation.NAME: citation.render_cff, croissant.NAME: croissant.render}
"""Croissant last, which has the hashes of the others."""


def _entry(folder: Path, name: str) -> Facts:
    data = (folder / name).read_bytes()
    return {"bytes": len(data), "sha256": _sha256(data)}


def _seal(folder: Path, facts: Facts) -> None:
    bare = {key: value for key, value in facts.items() if key != "digest"}
    text = json.dumps(bare, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    sealed = {**bare, "digest": _sha256(text.encode())}
    (folder / "release.json").write_text(
        json.dumps(sealed, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )


def test_sssb_has_the_pairs_of_the_paper(sssb: Path) -> None:
    """The paper's counts, and at least the 132 verb frames that were asked for, in Parquet and in the manifest."""
    manifest = read_manifest(sssb)
    counts = {name: manifest.config(name)["rows"] for name in manifest.configs}
    assert {name: counts[name] for name in PAPER} == PAPER
    assert counts["verb"] >= 132
    for name, rows in counts.items():
        assert sum(pq.read_metadata(path).num_rows for path in sssb.glob(f"{name}/*.parquet")) == rows


def test_a_release_verifies(sssb: Path) -> None:
    """What was just built is as it was frozen, and its recipe makes the same rows."""
    assert api.verify(str(sssb), rebuild=True) == []


def test_what_a_release_holds(sssb: Path) -> None:
    """The files of DESIGN section 5, canary in every Parquet file, and recipe and content hash as documented."""
    manifest = json.loads((sssb / "release.json").read_bytes())
    names = {path.relative_to(sssb).as_posix() for path in _files(sssb)}
    assert {"README.md", "release.json", "recipe/english.csv", "recipe/templates/sssb/dataset.yaml"} <= names
    assert set(manifest["files"]) == names - {"release.json"}
    for path in sssb.glob("*/*.parquet"):
        assert pq.read_schema(path).metadata[b"canary"].decode() == manifest["card"]["canary"]
    recipe = {name: sha for name, sha in _digests(sssb).items() if name.startswith("recipe/")}
    assert manifest["recipe"] == _combined(recipe)
    assert manifest["content"] == _combined({name: facts["content"] for name, facts in manifest["configs"].items()})


# Takes long: two releases are made again from their recipes.
def test_the_committed_release_is_what_the_templates_make(sssb: Path) -> None:
    """Releases verify and their recipes make their rows; today's templates and lists make those of the newest."""
    assert api.verify("sssb@1.0.0", rebuild=True) == []
    assert api.verify("sssb@1.1.0", rebuild=True) == []
    # Bytes of Parquet are not compared: they depend on the version of pyarrow.
    assert api.load("sssb@1.1.2").manifest.content == read_manifest(sssb).content


def _flips(folder: Path, count: int, seed: int) -> list[tuple[Path, int, int]]:
    """Random places in all files, each byte as likely as another, and what to change the byte by."""
    chance = np.random.default_rng(seed)
    files = _files(folder)
    sizes = [path.stat().st_size for path in files]
    ends, places = np.cumsum(sizes), chance.integers(sum(sizes), size=count)
    changes = chance.integers(1, 256, size=count)
    which = np.searchsorted(ends, places, side="right")
    return [
        (files[n], int(at - ends[n] + sizes[n]), int(change))
        for n, at, change in zip(which, places, changes, strict=True)
    ]


def _assert_flips_are_found(folder: Path, count: int) -> None:
    for path, at, change in _flips(folder, count, seed=20220526):
        data = path.read_bytes()
        path.write_bytes(data[:at] + bytes([data[at] ^ change]) + data[at + 1 :])
        try:
            paths = [finding.path for finding in api.verify(str(folder))]
        except ReleaseError:  # release.json says now that it is of a newer form
            paths = ["release.json"]
        assert path.relative_to(folder).as_posix() in paths, (path, at, change)
        path.write_bytes(data)
    assert _findings(folder) == []


def test_a_flipped_byte_is_reported(copy: Path) -> None:
    """25 random bytes over all files, one at a time."""
    _assert_flips_are_found(copy, 25)


@pytest.mark.soak
def test_a_flipped_byte_is_reported_anywhere(copy: Path) -> None:
    """500 random bytes over all files, one at a time."""
    _assert_flips_are_found(copy, 500)


def test_a_blank_in_the_manifest_is_reported(copy: Path) -> None:
    """A byte of release.json that changes no value, as a tab for a blank, is a change too."""
    path = copy / "release.json"
    data = path.read_bytes()
    blanks = [at for at, byte in enumerate(data) if byte == ord(" ")]
    for at in np.random.default_rng(1).choice(blanks, 50, replace=False):
        path.write_bytes(data[:at] + b"\t" + data[at + 1 :])
        with pytest.raises(DamagedRelease):
            read_manifest(copy)


def test_missing_and_foreign_files_are_named(copy: Path) -> None:
    """Each has its own finding; what other tools leave in a folder is not told."""
    (copy / "noun" / "test-00000-of-00001.parquet").unlink()
    (copy / "recipe" / "english.csv").unlink()
    (copy / "race" / "test-00001-of-00002.parquet").write_bytes(b"PAR1")
    (copy / "\x1b[2Jnotes").write_text("x")
    hidden = (".gitattributes", ".gitignore", ".DS_Store", "language/.DS_Store", ".cache/huggingface/x.lock")
    for ignored in (*hidden, "eval.yaml"):
        (copy / ignored).parent.mkdir(parents=True, exist_ok=True)
        (copy / ignored).write_text("x")
    assert _findings(copy) == [
        ("noun", "E402"),
        ("recipe/english.csv", "E402"),
        ("'\\x1b[2Jnotes'", "E403"),  # what would steer the terminal is spelled out
        ("race/test-00001-of-00002.parquet", "E403"),
    ]


def test_a_file_that_cannot_be_read_is_named(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails while reading is a finding, not a traceback."""

    def fail(path: Path) -> str:
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr("senseprobe.release.hashing.file_sha256", fail)
    findings = api.verify(str(copy))
    assert {finding.message for finding in findings} == {"cannot be read (Input/output error)"}
    assert len(findings) == len(_files(copy)) - 1


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _no_parquet(path: Path) -> None:
    path.write_bytes(b"PAR1" + bytes(1000) + b"PAR1")


def _other_value(path: Path) -> None:
    table = pq.read_table(path)
    texts = table["anti"].to_pylist()
    column = pa.array([texts[0] + " ", *texts[1:]])
    pq.write_table(table.set_column(table.schema.get_field_index("anti"), "anti", column), path)


def _other_order(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.take([1, 0, *range(2, table.num_rows)]), path)


def _row_less(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(1), path)


def _row_more(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), path)


def _column_less(path: Path) -> None:
    pq.write_table(pq.read_table(path).drop_columns(["minimal"]), path)


def _column_renamed(path: Path) -> None:
    table = pq.read_table(path)
    swapped = {"stereo": "anti", "anti": "stereo"}
    pq.write_table(table.rename_columns([swapped.get(name, name) for name in table.column_names]), path)


def _no_utf8(path: Path) -> None:
    table = pq.read_table(path)
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(bytes(4) + b"\1\0\0\0"), pa.py_buffer(b"\xff")])
    column = pa.chunked_array([broken, table["anti"].slice(1).combine_chunks()])
    pq.write_table(table.set_column(table.schema.get_field_index("anti"), "anti", column), path)


@pytest.mark.parametrize(
    ("forge", "code", "place"),
    [
        (_cut, "E404", "language/test-00000-of-00001.parquet"),
        (_no_parquet, "E404", "language/test-00000-of-00001.parquet"),
        (_no_utf8, "E404", "language/test-00000-of-00001.parquet"),
        (_other_value, "E405", "language"),
        (_other_order, "E405", "language"),
        (_row_less, "E405", "language"),
        (_row_more, "E405", "language/test-00000-of-00001.parquet"),
        (_column_less, "E407", "language/test-00000-of-00001.parquet"),
        (_column_renamed, "E407", "language/test-00000-of-00001.parquet"),
    ],
)
def test_forged_rows_are_reported(
    copy: Path, reseal: Reseal, forge: Callable[[Path], None], code: str, place: str
) -> None:
    """Found by the file's own hash; and, where that was made right again, by content hash, columns or count."""
    path = copy / "language" / "test-00000-of-00001.parquet"
    forge(path)
    assert _findings(copy) == [("language/test-00000-of-00001.parquet", "E404")]
    reseal()
    assert _findings(copy) == [(place, code)]


def test_the_same_rows_in_another_file_are_the_same(copy: Path, reseal: Reseal) -> None:
    """Written again with other settings, the file is another one and the rows are not."""
    path = copy / "noun" / "test-00000-of-00001.parquet"
    pq.write_table(pq.read_table(path), path, compression="snappy", row_group_size=10, use_dictionary=False)
    assert _findings(copy) == [("noun/test-00000-of-00001.parquet", "E404")]
    reseal()
    assert _findings(copy) == []


def _rebuilt(folder: Path) -> Finding:
    assert api.verify(str(folder)) == []
    (finding,) = api.verify(str(folder), rebuild=True)
    return finding


def test_an_edited_recipe_is_reported_by_rebuilding(copy: Path, reseal: Reseal) -> None:
    """English of the recipe is used as it stands, and the first row and column that it changes are named."""
    english = copy / "recipe" / "english.csv"
    english.write_text(english.read_text().replace("a,clumsy,a\n", "a,clumsy,an\n"))
    reseal()
    # Only the noun configs say "a clumsy engineer", and `noun` comes first; both sentences have the article.
    rows = pq.read_table(copy / "noun").to_pylist()
    first = next(row for row in rows if "a clumsy" in row["stereo"])
    other = first["stereo"].replace("a clumsy", "an clumsy")
    message = f"different rows: row {first['id']}, column stereo: {other!r} instead of {first['stereo']!r}"
    findings = api.verify(str(copy), rebuild=True)
    assert [finding.path for finding in findings][:1] == ["noun"]
    assert {finding.code for finding in findings} == {"E408"}
    assert message in findings[0].message


@pytest.mark.parametrize("cut", ["fewer", "more"])
def test_a_recipe_that_makes_other_numbers_of_rows_is_reported(copy: Path, reseal: Reseal, cut: str) -> None:
    """The first row that is only on one side is named; rows past the end are not made."""
    path = copy / "race" / "test-00000-of-00001.parquet"
    table = pq.read_table(path)
    longer = pa.concat_tables([table, table.slice(0, 1)])
    pq.write_table(table.slice(0, 107) if cut == "more" else longer, path)
    content = ContentHash(table.schema)
    for batch in pq.read_table(path).to_batches():
        content.update(batch)

    def change(facts: Facts) -> None:
        (rows,) = pq.read_table(path).combine_chunks().to_batches()
        examples = example_rows(rows, 0, Design.from_dict(facts["configs"]["race"]["design"]), rows.num_rows)
        facts["configs"]["race"] |= {"rows": rows.num_rows, "content": content.hexdigest(), "examples": examples}
        facts["content"] = _combined({name: each["content"] for name, each in facts["configs"].items()})

    memory = sum(map(memory_bytes, pq.read_table(path).to_batches()))
    reseal(change, {"race": memory})
    row = table["id"][107 if cut == "more" else 0]
    assert f"the recipe makes {cut} rows" in _rebuilt(copy).message
    assert str(row) in _rebuilt(copy).message


@pytest.mark.parametrize(
    ("name", "old", "new", "code"),
    [
        ("templates/sssb/race.j2", "{{ race }} people", "{{ rice }} people", "E105"),
        ("templates/sssb/race.j2", "pairs: 108", "pairs: 109", "E109"),
        ("templates/sssb/dataset.yaml", "title:", "titel:", "E102"),
        ("wordlists/races.csv", "word,", "wort,", "E202"),
    ],
)
def test_a_broken_recipe_is_a_finding(
    small: Path,
    copy: Path,
    reseal: Reseal,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    old: str,
    new: str,
    code: str,
) -> None:
    """A recipe that cannot be expanded is explained like any declaration, with its file."""
    path = copy / "recipe" / name
    path.write_text(path.read_text().replace(old, new, 1))
    reseal()
    monkeypatch.chdir(small)  # files elsewhere are named by their place in the release
    findings = api.verify(str(copy), rebuild=True)
    assert {(finding.path, finding.code) for finding in findings} == {(f"recipe/{name}", code)}


def test_damage_elsewhere_does_not_hide_a_broken_recipe(tmp_path: Path) -> None:
    """The card of the first release says nothing of the recipe: what is wrong there is found by the rebuild alone."""
    folder = Path(shutil.copytree(api.load("sssb@1.0.0").folder, tmp_path / "1.0.0"))
    path = folder / "recipe" / "templates" / "sssb" / "race.j2"
    path.write_text(path.read_text().replace("{{ race }} people", "{{ rice }} people", 1))
    facts = json.loads((folder / "release.json").read_bytes())
    facts["files"] |= {"recipe/templates/sssb/race.j2": _entry(folder, "recipe/templates/sssb/race.j2")}
    recipe = {name: each["sha256"] for name, each in facts["files"].items() if name.startswith("recipe/")}
    _seal(folder, {**facts, "recipe": _combined(recipe)})
    (folder / "README.md").write_text("changed")
    readme, broken = api.verify(str(folder), rebuild=True)
    assert (readme.path, readme.code) == ("README.md", "E404")
    assert (broken.path, broken.code) == (str(path), "E105")


def test_a_recipe_without_a_config_is_reported(copy: Path, reseal: Reseal) -> None:
    """A recipe whose dataset no longer has a config of the release cannot make its rows again."""
    (copy / "recipe" / "templates" / "sssb" / "language.j2").unlink()
    path = copy / "recipe" / "templates" / "sssb" / "dataset.yaml"
    path.write_text(path.read_text().replace("race, language, noun", "race, noun"))
    reseal()
    findings = api.verify(str(copy), rebuild=True)
    assert "language" in str(findings[0])


def test_another_hash_of_the_recipe_is_reported(copy: Path, reseal: Reseal) -> None:
    """The manifest's hash of the recipe, which papers may cite, is held against the recipe's files."""
    reseal(lambda facts: facts.update(recipe="0" * 64))
    assert ("release.json", "E406") in _findings(copy)


def test_an_unreadable_english_is_reported(copy: Path, reseal: Reseal) -> None:
    """Without its table of articles and plurals a recipe is none; `verify` says so with and without a rebuild."""
    (copy / "recipe" / "english.csv").write_text("asked,text\n")
    reseal()
    (finding,) = api.verify(str(copy))
    assert (finding.path, finding.code) == ("recipe", "E408")
    assert finding.message.endswith(": recipe/english.csv:1: columns are not asked, text, answer")
    assert api.verify(str(copy), rebuild=True) == [finding]


def test_a_release_is_never_overwritten(copy: Path) -> None:
    """A second build of a version is refused, and the first is untouched, damaged or not."""
    (copy / "README.md").write_text("changed")
    before = _digests(copy)
    with pytest.raises(ReleaseError, match=r"sssb 1\.0\.0 exists in .* never overwritten, raise the version"):
        api.build("sssb", "1.0.0", copy.parent.parent)
    assert _digests(copy) == before
    assert [path.name for path in copy.parent.iterdir()] == ["1.0.0"]


def test_exit_codes_and_bytes_of_the_commands(
    small: Path, small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """0 where all is well, 1 for findings, 2 for failure; and another process writes the same bytes."""
    out, release = tmp_path / "releases", tmp_path / "releases" / "sssb" / "1.0.0"
    command = [sys.executable, "-m", "senseprobe", "build", "sssb", "1.0.0", "--out", str(out), "--json"]
    built = subprocess.run(command, cwd=small_project, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["folder"] == str(release)
    assert _digests(release) == _digests(small)
    monkeypatch.chdir(small_project)
    typed = typing(monkeypatch, capfd)
    assert typed("verify", str(release), "--rebuild").code == 0

    second = typed("build", "sssb", "1.0.0", "--out", str(out))
    assert second.code == 2
    assert second.message == f"sssb 1.0.0 exists in {release}: a release is never overwritten, raise the version"

    (release / "README.md").write_text("changed")
    damaged = typed("verify", str(release), "--json")
    assert damaged.code == 1
    (finding,) = damaged.told["findings"]
    assert (finding["path"], finding["code"]) == ("README.md", "E404")

    missing = typed("verify", "sssb@9.9.9")
    assert missing.code == 2
    assert missing.err.strip().startswith("unknown release 'sssb@9.9.9'")


@pytest.mark.parametrize(
    "version", ["1.0", "v1.0.0", "01.0.0", "1.0.0-rc1", "../1.0.0", "1.0.0\n", "\N{ARABIC-INDIC DIGIT ONE}.0.0"]
)
def test_a_version_is_three_numbers(version: str, tmp_path: Path) -> None:
    """Versions are folders and tags: anything but MAJOR.MINOR.PATCH is refused before a file is touched."""
    with pytest.raises(SenseprobeError, match=r"expected MAJOR\.MINOR\.PATCH"):
        api.build("sssb", version, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_name_without_a_release_is_told_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a dataset without releases how to make one, of anything else the form of a name."""
    (tmp_path / "senseprobe.toml").touch()
    (tmp_path / "templates" / "mine").mkdir(parents=True)
    (tmp_path / "templates" / "mine" / "dataset.yaml").touch()
    monkeypatch.chdir(tmp_path)
    for spec, message in (
        ("mine", "the dataset mine does not have a release yet: `senseprobe build mine 0.1.0` makes one"),
        ("nothing", "'nothing' is not a release folder"),
    ):
        with pytest.raises(ReleaseError, match=message):
            api.verify(spec)
