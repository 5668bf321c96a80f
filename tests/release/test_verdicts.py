"""Verdicts: rows that people rejected are left out of the next release, which says so; and nothing else changes."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.profiles import examples
from typer.testing import CliRunner

from senseprobe import api
from senseprobe.cli.application import app
from senseprobe.errors import DamagedRelease, DeclarationError, ReleaseError
from senseprobe.generator import expand
from senseprobe.generator.checks.base import ConfigSubject, DatasetSubject
from senseprobe.generator.checks.project_files import check_retired_verdicts, check_verdict_configs, check_verdict_rows
from senseprobe.generator.dataset import ResolvedDataset
from senseprobe.generator.exclusions import ExcludedRows, RowNumbers, drop_rows
from senseprobe.parquet_files import plain
from senseprobe.release import parquet
from senseprobe.release.hashing import combine, file_sha256
from senseprobe.release.manifest import SCHEMA, Manifest
from senseprobe.release.verdicts import Verdict, group_verdicts, has_reported, read_verdicts, write_verdicts

FORMS = Path(__file__).parents[1] / "fixtures" / "releases"
SIZES = {"island": 8, "guess": 6, "words": 4}  # 2 x 2 x 1 words in 2 frames; 3 x 2 in one; 4 members
HEADER = "id,verdict,rule,source,reason"


class Project:
    """A user's project with the dataset `tiny` of three kinds of configs: island (contrast), guess, words."""

    def __init__(self, root: Path) -> None:
        shutil.copytree(FORMS / "form-2" / "recipe", root)
        (root / "english.csv").unlink()
        (root / "senseprobe.toml").touch()
        (root / "releases").mkdir()
        self.root, self.templates = root, root / "templates" / "tiny"
        self.verdicts = self.templates / "verdicts.csv"

    def reject(self, *names: str, keep: Sequence[str] = (), rule: str = "majority", source: str = "tiny@1.0.0") -> None:
        """Verdicts on these rows and no others."""
        decisions = [*((name, "reject", "not natural") for name in names), *((name, "keep", "") for name in keep)]
        write_verdicts(
            self.verdicts,
            [
                Verdict(id=name, verdict=verdict, rule=rule, source=source, reason=why)
                for name, verdict, why in decisions
            ],
        )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project for tests that clean up after themselves."""
    return Project(tmp_path_factory.mktemp("shared") / "project")


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The project as the working directory, without releases."""
    project = Project(tmp_path / "project")
    monkeypatch.chdir(project.root)
    return project


def _rows(folder: Path, config: str) -> list[dict[str, Any]]:
    """The rows as Arrow reads the files, in their order."""
    return [row for path in sorted((folder / config).iterdir()) for row in pq.read_table(path).to_pylist()]


def _ids(folder: Path, *configs: str) -> list[str]:
    return [row["id"] for config in configs or SIZES for row in _rows(folder, config)]


ALL = {config: [row["id"] for row in pq.read_table(FORMS / "form-2" / config).to_pylist()] for config in SIZES}


# --- the file -------------------------------------------------------------------------------------------------------

_line = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)
_verdicts = st.lists(
    st.builds(
        Verdict,
        id=_line,
        verdict=st.sampled_from(["reject", "keep"]),
        rule=_line,
        source=st.sampled_from(["tiny@1.0.0", "a-b_C@10.20.30"]),
        reason=_line | st.just(""),
        reported=st.booleans(),
    ),
    unique_by=lambda each: each.id,
    max_size=5,
)


@given(_verdicts)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_again(tmp_path: Path, verdicts: list[Verdict]) -> None:
    """Any ids, rules and reasons, sorted by id; commas and quotes included."""
    write_verdicts(tmp_path / "verdicts.csv", verdicts)
    stored = read_verdicts(tmp_path / "verdicts.csv")
    assert [*stored.values()] == sorted(verdicts, key=lambda verdict: verdict.id)
    assert [*stored] == [verdict.id for verdict in stored.values()]


def test_a_reason_is_written_in_one_line(tmp_path: Path) -> None:
    """What people say may have line breaks and what steers a terminal; neither gets into the file."""
    verdict = Verdict(
        id="a", verdict="keep", rule="r", source="t@1.0.0", reason=" one\n\x1b[2Jtwo \u202e\t" + "x" * 2000
    )
    write_verdicts(tmp_path / "v.csv", [verdict])
    reason = read_verdicts(tmp_path / "v.csv")["a"].reason
    assert reason.startswith("one [2Jtwo x")
    assert (len(reason), reason[-1]) == (1000, "…")


def test_what_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    """Two verdicts on a row, a source that is no release: one line, and no file."""
    one = Verdict(id="a", verdict="keep", rule="r", source="t@1.0.0")
    for wrong, message in (
        ([one, Verdict(id="a", verdict="reject", rule="r", source="t@1.0.0")], "'a' has two verdicts"),
        ([one, one], "'a' already has the verdict keep"),
        ([Verdict(id="a", verdict="keep", rule="r", source="t")], "expected the release that people judged"),
        ([Verdict(id="a", verdict="maybe", rule="r", source="t@1.0.0")], "'maybe', expected reject or keep"),
    ):
        with pytest.raises(ReleaseError, match=re.escape(message)):
            write_verdicts(tmp_path / "v.csv", wrong)
    assert [*tmp_path.iterdir()] == []


def test_reports_are_a_column_only_where_there_are_some(tmp_path: Path) -> None:
    """`true` or nothing; a file without reports has the bytes that it had before there was the column."""
    rows = [Verdict(id=name, verdict="keep", rule="r", source="t@1.0.0") for name in ("a", "b")]
    write_verdicts(tmp_path / "none.csv", rows)
    assert (tmp_path / "none.csv").read_text() == f"{HEADER}\na,keep,r,t@1.0.0,\nb,keep,r,t@1.0.0,\n"
    write_verdicts(tmp_path / "some.csv", [rows[0], replace(rows[1], reported=True)])
    assert (tmp_path / "some.csv").read_text() == f"{HEADER},reported\na,keep,r,t@1.0.0,,\nb,keep,r,t@1.0.0,,true\n"
    assert [has_reported(tmp_path / name) for name in ("none.csv", "some.csv", "absent.csv")] == [False, True, False]


def test_reports_of_older_files_stand_in_the_reason(tmp_path: Path) -> None:
    """Before there was the column; where there is one, the reason is prose."""
    told = "reported as harmful by annotators of the targeted group; natural: no"
    (tmp_path / "old.csv").write_text(f"{HEADER}\na,reject,r,t@1.0.0,{told}\nb,reject,r,t@1.0.0,natural: no\n")
    (tmp_path / "new.csv").write_text(f"{HEADER},reported\na,reject,r,t@1.0.0,{told},\nb,reject,r,t@1.0.0,,true\n")
    assert {each.id: each.reported for each in read_verdicts(tmp_path / "old.csv").values()} == {"a": True, "b": False}
    assert {each.id: each.reported for each in read_verdicts(tmp_path / "new.csv").values()} == {"a": False, "b": True}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "columns are not id, verdict, rule, source and optionally reason and reported"),
        ("id,verdict,rule\na,keep,r\n", 1, "columns are not id"),
        ("id,verdict,rule,source,id\n", 1, "columns are not id"),
        ("id,verdict,rule,source,why\n", 1, "columns are not id"),
        (f"{HEADER}\na,keep,r,t@1.0.0\n", 2, "4 cells, expected 5"),
        (f"{HEADER}\n,keep,r,t@1.0.0,\n", 2, "the row has an empty id"),
        (f"{HEADER}\n a,keep,r,t@1.0.0,\n", 2, "id ' a' begins or ends with a space"),
        (f"{HEADER}\na,Reject,r,t@1.0.0,\n", 2, "verdict of 'a' is 'Reject', expected reject or keep"),
        (f"{HEADER}\na,keep,,t@1.0.0,\n", 2, "verdict of 'a' lacks a rule"),
        (f"{HEADER}\na,keep,r,,\n", 2, "source of 'a' is ''"),
        (f"{HEADER}\na,keep,r,../t@1.0.0,\n", 2, "source of 'a' is '../t@1.0.0'"),
        (f"{HEADER}\na,keep,r,t@1.0.0,x\x1b[2J\n", 2, "or contains a control character"),
        (f'{HEADER}\na,keep,r,t@1.0.0,"x\ny"\n', 3, "or contains a control character"),
        (f"{HEADER}\na,keep,r,t@1.0.0,{'x' * 1001}\n", 2, "reason of 'a' has 1001 characters, at most 1000"),
        (f"{HEADER}\na,keep,r,t@1.0.0,\na,reject,r,t@1.0.0,\n", 3, "two verdicts: keep in line 2, and reject"),
        (
            f"{HEADER}\na,keep,r,t@1.0.0,\na,keep,r,t@1.0.0,\n",
            3,
            "'a' already has the verdict keep in line 2",
        ),
        (f"{HEADER},reported\na,keep,r,t@1.0.0,\n", 2, "5 cells, expected 6"),
        (f"{HEADER},reported\na,keep,r,t@1.0.0,,yes\n", 2, "reported of 'a' is 'yes', expected true or an empty cell"),
        (
            f"{HEADER},reported\na,keep,r,t@1.0.0,,false\n",
            2,
            "reported of 'a' is 'false', expected true or an empty cell",
        ),
        (f'{HEADER}\n"a\n', 2, "malformed CSV"),
        (f"{HEADER}\n{'x' * 200_000},keep,r,t@1.0.0,\n", 2, "a row of more than 131,072 characters"),
    ],
)
def test_a_malformed_file_is_reported(tiny: Project, text: str, line: int, message: str) -> None:
    """By `build` as by any command that reads the dataset: file, line, and what is wrong."""
    tiny.verdicts.write_text(text)
    with pytest.raises(DeclarationError) as caught:
        api.build("tiny", "1.0.0")
    (finding,) = caught.value.findings
    assert (finding.path, finding.line, finding.code) == ("templates/tiny/verdicts.csv", line, "E202")
    assert message in finding.message
    assert finding.message.isprintable()
    assert not (tiny.root / "releases" / "tiny").exists()


def test_all_mistakes_of_a_file_are_reported_at_once(tiny: Project) -> None:
    """Each with its line."""
    tiny.verdicts.write_text(f"{HEADER}\na,no,r,t@1.0.0,\nb,keep,r,t@1.0.0,\nc,keep,r,t,\n")
    with pytest.raises(DeclarationError) as caught:
        api.build("tiny", "1.0.0")
    assert [finding.line for finding in caught.value.findings] == [2, 4]


def test_what_is_no_file_of_ours_is_not_read(tiny: Project, tmp_path: Path) -> None:
    """A link out of the folder, a folder, other bytes than UTF-8, more than any file may have."""
    (tmp_path / "elsewhere.csv").write_text(HEADER)
    tiny.verdicts.symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(DeclarationError, match=r"verdicts\.csv: E100 is not a plain file"):
        api.build("tiny", "1.0.0")
    tiny.verdicts.unlink()
    tiny.verdicts.write_bytes(HEADER.encode() + b"\n\xff")
    with pytest.raises(DeclarationError, match="E100 is not UTF-8"):
        api.build("tiny", "1.0.0")
    with tiny.verdicts.open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    with pytest.raises(DeclarationError, match="E100 larger than 16 MiB"):
        api.build("tiny", "1.0.0")
    tiny.verdicts.unlink()
    tiny.verdicts.mkdir()
    with pytest.raises(DeclarationError, match="E100 is not a plain file"):
        api.build("tiny", "1.0.0")


def test_verdicts_are_grouped() -> None:
    """By rule and source; the first ten of each are named."""
    verdicts = [Verdict(id=f"a{n}", verdict="reject", rule="r", source="t@1.0.0", reason=str(n)) for n in range(12)]
    other = Verdict(id="b", verdict="reject", rule="q", source="t@1.0.0")
    one, two = group_verdicts([*verdicts, other])
    assert (one.rule, one.rows, one.first) == ("q", 1, {"b": ""})
    assert (two.rule, two.rows, two.first) == ("r", 12, {f"a{n}": str(n) for n in range(10)})


# --- rows -----------------------------------------------------------------------------------------------------------


def _catalogue(project: Project) -> ResolvedDataset:
    with chdir(project.root):
        return api.open_catalogue("tiny")


@pytest.fixture(scope="module")
def everything(shared: Project) -> ResolvedDataset:
    """The dataset without verdicts."""
    return _catalogue(shared)


def test_every_id_says_which_row_it_is(everything: ResolvedDataset) -> None:
    """All rows of all configs of the built-in sssb and of the three kinds; and nothing else has a number."""
    for catalogue in (everything, api.open_catalogue("sssb")):
        for config in catalogue.configs:
            numbers = RowNumbers(config)
            names = [name for batch in catalogue.rows(config) for name in batch["id"].to_pylist()]
            assert [numbers.find(name) for name in names] == [*range(config.size)]
            for wrong in ("", config.name, f"{names[0]}.x", names[0][:-1], f"x{names[0]}", names[0].upper()):
                assert numbers.find(wrong) is None


_subset = st.sets(st.sampled_from([name for config in SIZES for name in ALL[config]]), max_size=14)


@given(_subset, st.integers(1, 9), st.data())
@settings(max_examples=examples(60))
def test_a_range_of_rows_is_that_range_without_the_rows_left_out(
    everything: ResolvedDataset, names: set[str], at_once: int, data: st.DataObject
) -> None:
    """Any rows, any range, any batches: numbers count before verdicts, and columns keep their types."""
    for config in everything.configs:
        start = data.draw(st.integers(0, config.size))
        stop = data.draw(st.integers(start, config.size))
        numbers = RowNumbers(config)
        left_out = sorted(n for name in names if (n := numbers.find(name)) is not None)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(expand, "BATCH_ROWS", at_once)
            batches = [*everything.rows(config, start, stop)]
            left = [*drop_rows(batches, start, ExcludedRows(tuple(left_out)))]
        rows = [row for batch in batches for row in plain(batch).to_pylist()]
        assert [row for batch in left for row in plain(batch).to_pylist()] == [r for r in rows if r["id"] not in names]
        assert [batch.schema for batch in left] == [batch.schema for batch in batches]


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _built(shared: Project, folder: Path, names: set[str], per_file: int, shards: int) -> None:
    """Hold what is built with these rows rejected against what is built without verdicts."""
    remaining = {config: [name for name in ids if name not in names] for config, ids in ALL.items()}
    with pytest.MonkeyPatch.context() as patch, chdir(shared.root):
        patch.setattr(parquet, "ROWS_PER_FILE", per_file)
        shared.reject(*names)
        if not all(remaining.values()):
            with pytest.raises(DeclarationError, match="E125 rejects every row of"):
                api.build("tiny", "1.0.0", folder)
            return
        release = api.build("tiny", "1.0.0", folder)
        parts = [api.build_shard("tiny", "1.0.0", n, shards, folder / "parts") for n in reversed(range(shards))]
        joined = api.join(parts, folder / "joined")
        for config, ids in remaining.items():
            before = {row["id"]: row for row in pq.read_table(FORMS / "form-2" / config).to_pylist()}
            assert _rows(release.folder, config) == [before[name] for name in ids]
            assert len(release.files(config)) == -(-SIZES[config] // per_file)  # counted before verdicts
            assert release.manifest.config(config).get("expanded", len(ids)) == SIZES[config]
        assert _bytes(joined.folder) == _bytes(release.folder)
        assert api.verify(str(release.folder), rebuild=True) == []
        for config in SIZES:
            shutil.rmtree(release.folder / config)
        assert {finding.code for finding in api.verify(str(release.folder), rebuild=True)} == {"E402"}
        api.restore(str(release.folder))
        assert _bytes(joined.folder) == _bytes(release.folder)
    shutil.rmtree(folder)


@given(_subset, st.integers(1, 9), st.integers(1, 5))
@example(set(ALL["island"][:7]), 3, 2)  # files of which no row is left
@settings(max_examples=3)
# Takes long: each example builds a release whole and in shards.
def test_building_with_verdicts_is_building_without_and_dropping_the_rows(
    shared: Project, tmp_path_factory: pytest.TempPathFactory, names: set[str], per_file: int, shards: int
) -> None:
    """Any rows that leave some of each config, any size of files, any split into shards; and it can be made again."""
    _built(shared, tmp_path_factory.mktemp("built"), names, per_file, shards)


@pytest.mark.soak
@given(_subset, st.integers(1, 9), st.integers(1, 5))
@settings(max_examples=100)
def test_building_with_any_verdicts(
    shared: Project, tmp_path_factory: pytest.TempPathFactory, names: set[str], per_file: int, shards: int
) -> None:
    """The same, at length."""
    _built(shared, tmp_path_factory.mktemp("built"), names, per_file, shards)


@pytest.fixture
def rejected(tiny: Project) -> Path:
    """A release of which island lacks three of its eight rows, and words one of four."""
    tiny.reject(*ALL["island"][1:4], ALL["words"][0], keep=ALL["guess"][:2])
    return api.build("tiny", "1.0.0").folder


def test_a_release_says_how_many_rows_there_were(rejected: Path) -> None:
    """In a manifest of form 3, only of the configs that lack rows; `expect` counts before verdicts."""
    manifest = api.load(str(rejected)).manifest
    told = {name: (manifest.config(name)["rows"], manifest.config(name).get("expanded")) for name in SIZES}
    assert told == {"island": (5, 8), "guess": (6, None), "words": (3, 4)}
    assert manifest.config("island")["expect"]["pairs"] == 8
    assert manifest.data["schema"] == 3


def test_a_release_of_form_3_stays_readable() -> None:
    """Frozen when there were no other forms of releases that lack rows; a copy is made again from its recipe alone."""
    folder = FORMS / "form-3"
    manifest = api.load(str(folder)).manifest
    assert (manifest.data["schema"], manifest.expanded("island"), manifest.config("island")["rows"]) == (3, 8, 5)
    assert api.verify(str(folder), rebuild=True) == []
    assert _ids(folder, "island") == [ALL["island"][0], *ALL["island"][4:]]
    assert _ids(folder, "words") == ALL["words"][1:]


def test_a_release_of_form_4_stays_readable() -> None:
    """Its verdicts say in a column which row was reported; a copy is made again from its recipe alone."""
    folder = FORMS / "form-4"
    assert api.load(str(folder)).manifest.data["schema"] == 4 < SCHEMA
    assert api.verify(str(folder), rebuild=True) == []
    verdicts = read_verdicts(folder / "recipe" / "templates" / "tiny" / "verdicts.csv")
    assert [name for name, verdict in verdicts.items() if verdict.reported] == ["island.a3ce88.laputan.useful.haughty"]


def test_reports_make_a_release_of_form_4(tiny: Project) -> None:
    """Also where no row is left out; a reason that says so in words, without the column, does not."""
    kept = Verdict(id=ALL["island"][0], verdict="keep", rule="majority", source="tiny@1.0.0")
    forms = []
    for version, verdict in enumerate((replace(kept, reason="reported as harmful"), replace(kept, reported=True)), 1):
        write_verdicts(tiny.verdicts, [verdict])
        built = api.build("tiny", f"{version}.0.0")
        forms.append(built.manifest.data["schema"])
        assert api.verify(str(built.folder), rebuild=True) == []
    assert forms == [2, 4]


def test_a_release_without_rows_left_out_is_of_the_form_before(tiny: Project) -> None:
    """Older senseprobes read it, as its recipe makes its rows with them, too; verdicts to keep change no row."""
    before = api.build("tiny", "1.0.0")
    tiny.reject(keep=ALL["island"])
    after = api.build("tiny", "1.0.1")
    assert (before.manifest.data["schema"], after.manifest.data["schema"]) == (2, 2)
    assert before.manifest.content == after.manifest.content
    assert api.diff("tiny@1.0.0", "tiny@1.0.1").reasons[0].text == "the recipe changed: templates/tiny/verdicts.csv"


def test_the_recipe_holds_verdicts_and_annotation(tiny: Project) -> None:
    """And the recipe hash covers both: another line in one of them is another recipe of the same rows."""
    tiny.reject(ALL["island"][0])
    hashes = set()
    for number, items in enumerate((None, 8, 9)):
        if items:
            _annotate(tiny, items=items)
        release = api.build("tiny", f"1.0.{number}")
        hashes.add(release.manifest.data["recipe"])
        for name in ("verdicts.csv", "annotation.json"):
            path = release.folder / "recipe" / "templates" / "tiny" / name
            assert path.exists() == (tiny.templates / name).exists()
            assert not path.exists() or path.read_bytes() == (tiny.templates / name).read_bytes()
    assert len(hashes) == 3


def test_no_row_left_is_a_mistake(tiny: Project) -> None:
    """Of each config of which that is so; a config without rows could be loaded by nobody."""
    tiny.reject(*ALL["island"], *ALL["words"], ALL["guess"][0])
    with pytest.raises(DeclarationError) as caught:
        api.build("tiny", "1.0.0")
    assert [(f.code, f.message) for f in caught.value.findings] == [
        ("E125", "rejects every row of island"),
        ("E125", "rejects every row of words"),
    ]


def test_a_level_of_which_no_row_is_left_does_not_count(tiny: Project) -> None:
    """By hand: island has 2 islands x 2 words of praise x 1 of blame in 2 frames, so 4 rows hold the first island."""
    levels = api.build("tiny", "1.0.0").manifest.config("island")["levels"]
    first = [name for name in ALL["island"] if name.split(".")[2] == ALL["island"][0].split(".")[2]]
    assert (levels["island"], len(first)) == (2, 4)
    tiny.reject(*first)
    release = api.build("tiny", "2.0.0")
    assert release.manifest.config("island")["levels"] == {**levels, "island": 1}
    assert api.verify("tiny@2.0.0", rebuild=True) == []
    tiny.reject(*first[:3])
    assert api.build("tiny", "3.0.0").manifest.config("island")["levels"] == levels


def test_a_reference_of_which_no_row_is_left_is_none() -> None:
    """Then `relative` holds each group against the others, and says so; "People are …" of sssb's race-groups is one."""
    catalogue = api.open_catalogue("sssb/race-groups")
    (config,) = catalogue.configs
    names = [name for batch in catalogue.rows(config) for name in batch["id"].to_pylist()]
    group, reference = catalogue.design(config).group, catalogue.design(config).reference
    assert reference
    rows = [row for batch in catalogue.rows(config) for row in plain(batch).to_pylist()]
    bare = [number for number, row in enumerate(rows) if row[group] == reference]
    for numbers, expected in ((bare, None), (bare[1:], reference)):
        out = {config.name: ExcludedRows(tuple(numbers), tuple(names[number] for number in numbers))}
        assert replace(catalogue, exclusions=out).design(config).reference == expected


def test_a_config_with_files_without_rows_is_loaded(
    tiny: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the datasets library, as by ours: a file of which all rows are left out holds none."""
    monkeypatch.setattr(parquet, "ROWS_PER_FILE", 2)
    tiny.reject(*ALL["island"][:4])
    folder = api.build("tiny", "1.0.0").folder
    files = sorted(map(str, (folder / "island").iterdir()))
    assert [pq.read_metadata(file).num_rows for file in files] == [0, 0, 2, 2]
    import datasets

    loaded = datasets.load_dataset(str(folder), "island", split="test", cache_dir=str(tmp_path / "cache"))
    assert loaded["id"][:] == ALL["island"][4:]
    assert [*api.load("tiny@1.0.0").table("island")["id"]] == ALL["island"][4:]


# --- what was changed by others -------------------------------------------------------------------------------------


def _resealed(folder: Path, **facts: object) -> None:
    """A manifest as a forger would have it: digests are right again, facts of `island` changed."""
    data = json.loads((folder / "release.json").read_text())
    for name in [name for name in data["files"] if name.startswith("recipe/")]:
        data["files"][name] = {"bytes": (folder / name).stat().st_size, "sha256": file_sha256(folder / name)}
    data["recipe"] = combine({n: e["sha256"] for n, e in data["files"].items() if n.startswith("recipe/")})
    data["configs"]["island"] = {**data["configs"]["island"], **facts}
    data.pop("digest")
    (folder / "release.json").write_bytes(Manifest.of(data).dump())


def test_changed_verdicts_are_reported(rejected: Path) -> None:
    """By their hash; and where that is forged, by the rows that the recipe makes."""
    path = rejected / "recipe" / "templates" / "tiny" / "verdicts.csv"
    text = path.read_text()
    path.write_text(text.replace(f"{ALL['island'][2]},reject", f"{ALL['island'][2]},keep"))
    assert [(f.path, f.code) for f in api.verify(str(rejected), rebuild=True)] == [
        ("recipe/templates/tiny/verdicts.csv", "E404")
    ]
    _resealed(rejected)
    messages = [f.message for f in api.verify(str(rejected), rebuild=True)]
    other = f"the recipe makes different rows: row {ALL['island'][4]}, column id: '{ALL['island'][2]}'"
    assert any(other in message for message in messages)
    path.unlink()
    facts = json.loads((rejected / "release.json").read_text())
    facts["files"].pop("recipe/templates/tiny/verdicts.csv")
    (rejected / "release.json").write_text(json.dumps(facts))
    _resealed(rejected)
    findings = api.verify(str(rejected), rebuild=True)
    assert {f.path for f in findings} == {"island", "words", "release.json", "README.md", "croissant.json"}


@pytest.mark.parametrize("rows", [7, 9, 10**15])
def test_a_forged_number_of_rows_before_verdicts_is_reported(rejected: Path, rows: int) -> None:
    """With `--rebuild`; and nothing is made, or listed, for rows that are not there."""
    _resealed(rejected, expanded=rows)
    messages = [finding.message for finding in api.verify(str(rejected), rebuild=True)]
    assert any("island, expanded" in message for message in messages)
    shutil.rmtree(rejected / "island")
    if rows > 8:
        with pytest.raises(DamagedRelease, match=f"makes fewer than the {rows} rows"):
            api.restore(str(rejected), force=True)  # 10^15 rows are refused for their number alone


@pytest.mark.parametrize("rows", [5, 0, -1, None, "8", True])
def test_a_number_of_rows_before_verdicts_that_cannot_be_is_reported(rejected: Path, rows: object) -> None:
    """It is more than the rows that are left, and a number."""
    _resealed(rejected, expanded=rows)
    assert [(f.path, f.code) for f in api.verify(str(rejected))] == [("release.json", "E401")]


def test_a_diff_does_not_rest_on_changed_verdicts(tiny: Project) -> None:
    """What it says of verdicts is read from the newer release, whose file is held against its hash first."""
    api.build("tiny", "1.0.0")
    tiny.reject(ALL["island"][0])
    folder = api.build("tiny", "2.0.0").folder
    with (folder / "recipe" / "templates" / "tiny" / "verdicts.csv").open("a") as file:
        file.write("x,keep,r,t@1.0.0,\n")
    with pytest.raises(DamagedRelease, match=r"verdicts\.csv: E404"):
        api.diff("tiny@1.0.0", "tiny@2.0.0")


# --- one release after another --------------------------------------------------------------------------------------


def test_a_rejected_row_may_come_back(tiny: Project) -> None:
    """Rejecting is MAJOR, as rows are gone; taking back, by `keep` or without a line, is MINOR; retired ids stay."""
    name = ALL["words"][0]
    api.build("tiny", "1.0.0")
    tiny.reject(name)
    with pytest.raises(ReleaseError, match="1 row of words removed, 1 of them by verdicts"):
        api.build("tiny", "1.1.0")
    api.build("tiny", "2.0.0")
    tiny.reject(keep=[name])
    assert name in _ids(api.build("tiny", "2.1.0").folder)
    tiny.reject(name)
    api.build("tiny", "3.0.0")
    tiny.verdicts.unlink()
    assert name in _ids(api.build("tiny", "3.1.0").folder)
    (tiny.templates / "retired.csv").write_text(f"id\n{name}\n")
    with pytest.raises(ReleaseError, match="a retired id never comes back"):
        api.build("tiny", "4.0.0")
    tiny.reject(name)
    assert name not in _ids(api.build("tiny", "4.0.0").folder)


CHANGELOG = """## tiny 2.0.0

Since tiny@1.0.0: MAJOR (2.0.0 or higher).

### Removed

- `island`: 4 rows removed (A, B, C, D); vanished: `frame` `FRAME` (4)
- `island`: 1 row omitted by verdicts (`dispute`, `tiny@1.0.0`): D
- `island`: 3 rows omitted by verdicts (`majority`, `tiny@1.0.0`): A (not natural), B (not natural), C (not natural)
"""


def test_diff_and_changelog_name_the_rows(tiny: Project) -> None:
    """Which rows verdicts removed, by which rule, on which release's rows, and why, written by hand; as on the card."""
    api.build("tiny", "1.0.0")
    names = ALL["island"][:4]
    tiny.reject(*names[:3])
    with tiny.verdicts.open("a") as file:
        file.write(f"{names[3]},reject,dispute,tiny@1.0.0,\n")
    card = (api.build("tiny", "2.0.0").folder / "README.md").read_text()
    expected = CHANGELOG.replace("FRAME", names[0].split(".")[1])
    for letter, name in zip("ABCD", names, strict=True):
        expected = re.sub(rf"\b{letter}\b", f"`{name}`", expected)
    command = ["diff", "tiny@1.0.0", "tiny@2.0.0"]
    assert CliRunner().invoke(app, [*command, "--markdown"]).output == expected
    assert "#" + expected.strip().replace("\n#", "\n##") in card
    (change,) = json.loads(CliRunner().invoke(app, [*command, "--json"]).output)["configs"]
    assert [(group["rule"], group["rows"], group["first"]) for group in change["rejected"]] == [
        ("dispute", 1, {names[3]: ""}),
        ("majority", 3, dict.fromkeys(names[:3], "not natural")),
    ]
    text = CliRunner().invoke(app, command).output
    assert f"island: 1 row omitted by verdicts (dispute, tiny@1.0.0): {names[3]}\n" in text
    assert "MAJOR: 4 rows of island removed, 4 of them by verdicts\n" in text
    tiny.verdicts.unlink()
    api.build("tiny", "2.1.0")
    text = CliRunner().invoke(app, ["diff", "tiny@2.0.0", "tiny@2.1.0"]).output
    assert f"island: 1 row restored after earlier verdicts (dispute, tiny@1.0.0): {names[3]}\n" in text
    assert f"restored after earlier verdicts (majority, tiny@1.0.0): {names[0]} (not natural)" in text


def test_rows_that_a_template_lost_are_not_put_down_to_verdicts(tiny: Project) -> None:
    """Of the removed rows only those that the newer release's verdicts reject."""
    api.build("tiny", "1.0.0")
    island = tiny.templates / "island.j2"
    text = island.read_text()
    frames = [line for line in text.splitlines() if "{{" in line and ":" not in line]
    island.write_text(text.replace(frames[0] + "\n", "").replace("pairs: 8", "pairs: 4"))
    tiny.reject(ALL["island"][0], ALL["island"][4])
    api.build("tiny", "2.0.0")
    (change,) = (group for group in api.diff("tiny@1.0.0", "tiny@2.0.0").configs if group.config == "island")
    assert change.removed == 5
    assert [(group.rule, group.rows) for group in change.rejected] == [("majority", 2)]


# --- looking before building ----------------------------------------------------------------------------------------


def _command(*arguments: str) -> str:
    ran = CliRunner().invoke(app, [*arguments])
    assert ran.exit_code == 0, ran.output
    return ran.output


def test_count_prints_both(tiny: Project) -> None:
    """Rows before verdicts, how many are left out, and how many are left; without verdicts as before."""
    lines = _command("count", "tiny").splitlines()
    assert lines[0].split()[:3] == ["config", "rows", "published"]
    assert lines[-1] == "18 rows"
    tiny.reject(*ALL["island"][1:4], ALL["words"][0], keep=ALL["guess"][:2])
    lines = _command("count", "tiny").splitlines()
    assert lines[0].split()[:7] == ["config", "rows", "left", "out", "rows", "left", "published"]
    rows = {line.split()[0]: line.split()[1:4] for line in lines if line.split()[0] in SIZES}
    assert rows == {"island": ["8", "3", "5"], "guess": ["6", "0", "6"], "words": ["4", "1", "3"]}
    assert lines[-1] == "18 rows; verdicts omit 4, and 14 remain"
    counts = json.loads(_command("count", "tiny", "--json"))
    assert (counts["rows"], counts["left_out"]) == (18, 4)
    assert [(config["rows"], config["left_out"]) for config in counts["configs"]] == [(8, 3), (6, 0), (4, 1)]
    assert _command("count", "tiny/words").splitlines()[-1] == "4 rows; verdicts omit 1, and 3 remain"
    assert json.loads(_command("count", "--json"))["left_out"] == 4


def test_preview_says_which_rows_are_left_out(tiny: Project) -> None:
    """They are shown all the same, each with a note."""
    tiny.reject(ALL["words"][2])
    text = _command("preview", "tiny/words")
    assert f"{ALL['words'][2]}, omitted by a verdict\n" in text
    assert text.count("omitted by a verdict") == 1
    sample = json.loads(_command("preview", "tiny/words", "--json"))["sample"]
    assert [row["left_out"] for row in sample] == [False, False, True, False]


# --- card and Croissant ---------------------------------------------------------------------------------------------

ROUND: dict[str, Any] = {
    "platform": "Label Studio",
    "project": "tiny, first look",
    "release": "tiny@1.0.0",
    "protocol": {
        "questions": [
            {"id": "natural", "text": "Is this natural English?", "choices": ["yes", "no"]},
            {"id": "comment", "text": "Anything else?"},
        ],
        "items": 8,
        "overlap": 3,
        "seed": 7,
        "strata": ["config", "target"],
        "rule": "a majority of those who answered",
        "thresholds": {"share": 0.5},
    },
    "answered": 8,
    "annotations": 23,
    "least": 2,
    "most": 3,
    "skipped": 1,
    "annotators": {"count": 12, "groups": {"women": 7}},
    "agreement": [
        {"question": "natural", "alpha": 0.612, "low": 0.4, "high": 0.755, "same": 0.81, "items": 8, "answers": 23}
    ],
    "verdicts": {"reject": 3, "keep": 4, "undecided": 1},
}


def _annotate(tiny: Project, **protocol: object) -> None:
    facts = {**ROUND, "protocol": {**ROUND["protocol"], **protocol}}
    (tiny.templates / "annotation.json").write_text(json.dumps({"form": 1, "rounds": [facts]}))


def _section(card: str, name: str) -> str:
    return card.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_the_card_says_how_people_looked_at_rows(tiny: Project) -> None:
    """Platform, protocol, who, how many answers, agreement with interval, what was decided, which rows are left out."""
    _annotate(tiny)
    names = ALL["island"][:3]
    tiny.reject(*names)
    card = (api.build("tiny", "1.0.0").folder / "README.md").read_text()
    text = _section(card, "Annotation")
    for line in (
        "### tiny, first look",
        "- **Platform:** Label Studio",
        "- **Rows:** 8 rows of tiny\\@1.0.0, stratified by config, target, drawn with seed 7, for 3 annotators each;",
        "- **Annotators:** 12 annotators, under pseudonyms; self-reported groups of at least 5 people:",
        " women (7)\n",
        "- **Answers:** 23 answers to 8 rows, 2 to 3 per row, 1 skipped",
        "- **Rule:** a majority of those who answered (share 0.5)",
        "- **Decisions:** keep 4, reject 3, undecided 1",
        "| natural | Is this natural English? | yes, no |",
        "| comment | Anything else? | free text |",
        "| natural | Krippendorff's alpha 0.61 (95 % interval 0.40 to 0.76), 81% of answer pairs agree",
        "They omit 3 rows of the templates:",
        *(f"| `{name}` | majority | tiny\\@1.0.0 | not natural |" for name in names),
    ):
        assert line in text
    assert "annotators have not judged" not in card
    assert "(see *Annotation*)" in card


def test_a_card_without_annotation_has_no_section(tiny: Project) -> None:
    """And says as before that nobody has judged the rows."""
    card = (api.build("tiny", "1.0.0").folder / "README.md").read_text()
    assert "## Annotation" not in card
    assert "annotators have not judged the rows.\n" in card


def test_verdicts_alone_have_a_section(tiny: Project) -> None:
    """A reader's dispute has no round; of many rows a hundred are named."""
    tiny.reject(ALL["words"][0], rule="dispute")
    card = (api.build("tiny", "1.0.0").folder / "README.md").read_text()
    assert "They omit 1 row of the templates:" in _section(card, "Annotation")
    assert f"| `{ALL['words'][0]}` | dispute | tiny\\@1.0.0 | not natural |" in card


def test_published_counts_are_compared_with_rows_before_verdicts(tiny: Project) -> None:
    """Where rows are left out, the table says of how many."""
    island = tiny.templates / "island.j2"
    island.write_text(island.read_text().replace("pairs: 8", "pairs: 8, published: 8, cite: Table 1"))
    tiny.reject(ALL["island"][0])
    card = (api.build("tiny", "1.0.0").folder / "README.md").read_text()
    assert "| `island` | 7 of 8 before verdicts | 8 |" in _section(card, "Published row counts")


HOSTILE = "<img src=x onerror=alert(1)> [a](https://evil.example) | ![](www.evil.example) `x` *y* $z$ @me \\"


def test_texts_of_others_are_escaped(tiny: Project) -> None:
    """Nothing that a stranger wrote becomes a tag, a link, a picture or a cell of a table."""
    tiny.verdicts.write_text(f'{HEADER}\n{ALL["island"][0]},reject,"{HOSTILE}",tiny@1.0.0,"{HOSTILE}"\n')
    facts = {**ROUND, "project": HOSTILE, "platform": HOSTILE}
    facts["protocol"] = {**facts["protocol"], "questions": [{"id": HOSTILE, "text": HOSTILE, "choices": [HOSTILE]}]}
    facts["annotators"] = {"count": 5, "groups": {HOSTILE: 5}}
    (tiny.templates / "annotation.json").write_text(json.dumps({"form": 1, "rounds": [facts]}))
    folder = api.build("tiny", "1.0.0").folder
    card = (folder / "README.md").read_text()
    assert "<img" in json.dumps(json.loads((folder / "croissant.json").read_text()))
    for sign in ("<img", "]", "[", "@me", "$z"):
        assert not re.search(rf"(?<!\\){re.escape(sign)}", _section(card, "Annotation"))
    assert "https:" not in _section(card, "Annotation")
    assert "www.evil" not in _section(card, "Annotation")
    rows = [line for line in _section(card, "Annotation").splitlines() if line.startswith("| `")]
    assert [len(re.findall(r"(?<!\\)\|", row.replace("\\\\", ""))) for row in rows] == [5]


def test_a_hostile_reason_cannot_write_the_changelog(tiny: Project) -> None:
    """Nor the terminal."""
    api.build("tiny", "1.0.0")
    tiny.verdicts.write_text(f'{HEADER}\n{ALL["island"][0]},reject,majority,tiny@1.0.0,"{HOSTILE}"\n')
    api.build("tiny", "2.0.0")
    text = _command("diff", "tiny@1.0.0", "tiny@2.0.0", "--markdown")
    assert "\\<img src=x onerror=alert(1)\\>" in text
    assert "<img" not in text.replace("\\<img", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("not JSON", "Invalid JSON"),
        ({"form": 2}, "form: Input should be 1"),
        ({"rounds": "x"}, "rounds: Input should be a valid array"),
        ({"by": "me"}, "by: Extra inputs are not permitted"),
        ({"rounds": [ROUND, ROUND]}, "two rounds of one project"),
        ({"rounds": [{**ROUND, "project": "a\u202eb"}]}, "rounds.0.project: Value error, begins or ends with a space"),
        ({"rounds": [{**ROUND, "project": "x" * 201}]}, "at most 200 characters"),
        ({"rounds": [{**ROUND, "answered": -1}]}, "rounds.0.answered: Input should be greater than or equal to 0"),
        ({"rounds": [{**ROUND, "answered": 10**400}]}, "rounds.0.answered"),
        ({"rounds": [{**ROUND, "least": 4}]}, "`least` is more than `most`"),
        ({"rounds": [{**ROUND, "annotators": {"count": 9, "groups": {"few": 4}}}]}, "greater than or equal to 5"),
        ({"rounds": [{**ROUND, "agreement": [{**ROUND["agreement"][0], "alpha": 2}]}]}, "less than or equal to 1"),
    ],
)
def test_a_malformed_annotation_file_is_reported(tiny: Project, change: Any, message: str) -> None:  # noqa: ANN401 - any JSON
    """One line with file and place; groups of fewer than five people are not told of, whoever wrote them there."""
    text = change if isinstance(change, str) else json.dumps({"form": 1, "rounds": [ROUND], **change})
    (tiny.templates / "annotation.json").write_text(text)
    with pytest.raises(DeclarationError) as caught:
        api.build("tiny", "1.0.0")
    finding = caught.value.findings[0]
    assert (finding.path, finding.code) == ("templates/tiny/annotation.json", "E202")
    assert message in finding.message
    assert finding.message.isprintable()


@pytest.fixture
def annotated(tiny: Project) -> Path:
    """A release with a round of annotation and rows left out."""
    _annotate(tiny, prefill=True)
    tiny.reject(*ALL["island"][:3])
    return api.build("tiny", "1.0.0").folder


def test_croissant_says_how_people_looked_at_rows(annotated: Path, tmp_path: Path) -> None:
    """In the fields of the RAI vocabulary, as MLCommons' own library reads them, which finds no error."""
    told = json.loads((annotated / "croissant.json").read_text())
    assert told["rai:dataAnnotationPlatform"] == ["Label Studio"]
    assert told["rai:annotationsPerItem"] == "2 to 3"
    ask = (
        "import json, sys, mlcroissant\n"
        "m = mlcroissant.Dataset(jsonld=sys.argv[1]).metadata\n"
        "names = 'platform protocol analysis'.split()\n"
        "told = [getattr(m, f'data_annotation_{name}') for name in names]\n"
        "print(json.dumps([*told, m.annotations_per_item, m.annotator_demographics, m.machine_annotation_tools]))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", ask, annotated / "croissant.json"], capture_output=True, text=True, check=True
    )
    platform, protocol, analysis, per_item, people, tools = json.loads(ran.stdout.splitlines()[-1])
    assert (platform, per_item) == (["Label Studio"], "2 to 3")
    assert protocol[0].startswith(
        "tiny, first look: 8 rows of tiny@1.0.0, stratified by config, target, drawn with seed 7"
    )
    assert "natural: Is this natural English? (yes, no); comment: Anything else?" in protocol[0]
    decided = "decisions: keep 4, reject 3, undecided 1"
    alpha = "Krippendorff's alpha 0.61 (95 % interval 0.40 to 0.76), 81% of answer pairs agree"
    assert {*analysis} == {
        f"tiny, first look: 23 answers to 8 rows, 2 to 3 per row, 1 skipped; {decided}",
        f"tiny, first look, natural: {alpha}; 23 answers to 8 rows",
    }
    assert "women (7)" in people[0]
    (said,) = [line for line in ran.stderr.splitlines() if line.startswith("  -  ")]
    assert "datePublished" in said  # as of every release of ours
    assert tools == ["tiny, first look: the release's labels, shown as pre-filled answers"]


def test_a_release_without_rounds_says_nothing_of_annotation(tiny: Project) -> None:
    """But that there was none: labels were made by rule."""
    data = json.loads((api.build("tiny", "1.0.0").folder / "croissant.json").read_text())
    assert [key for key in data if "nnotat" in key] == ["rai:dataAnnotationProtocol"]
    assert "annotators have not judged the rows" in data["rai:dataAnnotationProtocol"]


def test_shards_that_differ_in_their_verdicts_are_of_two_recipes(tiny: Project) -> None:
    """A line was added between two machines."""
    parts = []
    for shard in range(2):
        tiny.reject(*ALL["island"][: shard + 1])
        parts.append(api.build_shard("tiny", "1.0.0", shard, 2))
    with pytest.raises(ReleaseError, match="differ in release, senseprobe version or recipe"):
        api.join(parts)


# --- lint -----------------------------------------------------------------------------------------------------------


def _unknown(tiny: Project) -> list[tuple[str, int, str]]:
    catalogue = _catalogue(tiny)
    subjects = [ConfigSubject(catalogue.dataset, config, catalogue.lists) for config in catalogue.configs]
    findings = [
        *check_verdict_configs(DatasetSubject(catalogue.dataset, catalogue.lists)),
        *(finding for subject in subjects for finding in check_verdict_rows(subject)),
    ]
    return [(finding.code, finding.line, finding.message.partition(" ")[0]) for finding in findings]


def test_a_verdict_without_a_row_is_a_warning(tiny: Project) -> None:
    """Once, unless its id is retired; the build passes it over."""
    tiny.reject("island.gone.x", ALL["island"][0], keep=["isle.x", "words.x"])
    assert _unknown(tiny) == [("W516", 4, "'isle.x'"), ("W516", 3, "'island.gone.x'"), ("W516", 5, "'words.x'")]
    (tiny.templates / "retired.csv").write_text("id\nisland.gone.x\nisle.x\n")
    assert _unknown(tiny) == [("W516", 5, "'words.x'")]
    catalogue = _catalogue(tiny)
    published = DatasetSubject(catalogue.dataset, catalogue.lists)
    assert [finding.message for finding in check_retired_verdicts(published)] == [
        "'isle.x' has the verdict keep, but is retired (templates/tiny/retired.csv:3)"
    ]
    assert len(_ids(api.build("tiny", "1.0.0").folder)) == 17
