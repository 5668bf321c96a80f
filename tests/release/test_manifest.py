"""Manifests of somebody who means harm: nothing outside the folder is touched, and nothing is raised but ours."""

import copy
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from senseprobe import api
from senseprobe.errors import DamagedRelease, ReleaseError, SenseprobeError
from senseprobe.records import Contrast, Design, Factor, LevelPair
from senseprobe.release import card, croissant, parquet
from senseprobe.release.freeze import ConfigPlan, Plan, freeze
from senseprobe.release.manifest import read_manifest
from senseprobe.release.parquet import write_rows
from senseprobe.release.schema import row_schema

Facts = dict[str, Any]
EXPERT = "expert-generated"

DESIGN = Design(
    kind="contrast",
    sense_type="noun",
    bias_type="gender",
    slots=("job",),
    roles={"stereo": {"p": "pronouns/he"}, "anti": {"p": "pronouns/she"}},
    differs="pronoun",
    factors=(Factor(name="job", columns=("job",)),),
    estimands=("preference",),
    neutral=0.0,
)
CARD = {
    "title": "Tiny", "summary": "Tiny.", "license": "MIT", "languages": ["en"], "citation": "nobody", "canary": "c",
    "content_warning": "None.", "measured": "Nothing.", "groups": [], "intended_use": "Tests.",
    "out_of_scope": "All else.", "who_could_be_harmed": "Nobody.", "equivalence": {"margin": 5.0, "reason": "None."},
}  # fmt: skip


def _plan(name: str = "noun") -> Plan:
    schema = row_schema("contrast", ("job",))
    words = ["judge", "nurse", "guide"]
    told = [{**dict.fromkeys(schema.names), "id": f"noun.{word}", "job": word, "minimal": True} for word in words]

    def rows(start: int, stop: int) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist(told[start:stop], schema)

    return Plan(
        dataset="tiny",
        version="1.0.0",
        card=CARD,
        configs=(
            ConfigPlan(
                name=name,
                size=3,
                schema=schema,
                write=lambda folder, marked, told: write_rows(folder, marked, 3, rows, told),
                design=DESIGN,
                levels={"noun": 3},
                description="Tiny.",
                expect={"pairs": 3, "published": None, "cite": None, "reason": None},
                accept={},
            ),
        ),
        contrasts=(Contrast(name="c", estimand="preference", a=name, b=name),),
        recipe=lambda: {"english.csv": b"asked,text,answer\n"},
        senseprobe="0.0.0",
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of three rows, frozen without templates; tests write other manifests into it.

    Its manifest does not record the form of its documents, whose text only a whole recipe could tell: it is form 2,
    which called everybody an expert.
    """
    folder = tmp_path_factory.mktemp("releases") / "tiny" / "1.0.0"
    makers = {"annotations_creators": [EXPERT], "language_creators": [EXPERT, "machine-generated"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(card, "_makers", lambda about: makers)
        patch.setattr(croissant, "render", partial(croissant.render, form=2))
        frozen = freeze(_plan(), folder)
    _seal(folder, {key: value for key, value in frozen.data.items() if key != "cards"})
    return folder


@pytest.fixture(scope="module")
def facts(tiny: Path) -> Facts:
    """Its manifest as it was written."""
    told: Facts = json.loads((tiny / "release.json").read_bytes())
    return told


@pytest.fixture
def forged(tiny: Path, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    return Path(shutil.copytree(tiny, tmp_path / "forged"))


def _seal(folder: Path, facts: object) -> None:
    """Write a manifest with a right digest, as docs/content-hash.md describes it, whatever else is wrong."""
    if isinstance(facts, dict):
        bare = {key: value for key, value in facts.items() if key != "digest"}
        text = json.dumps(bare, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        facts = {**bare, "digest": digest}
    text = json.dumps(facts, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    (folder / "release.json").write_bytes(text.encode("utf-8", "surrogatepass"))


def _message(folder: Path) -> str:
    """What `verify` says of a manifest that cannot be used."""
    (finding,) = api.verify(str(folder))
    assert (finding.path, finding.code) == ("release.json", "E401")
    return finding.message


def test_the_tiny_release_verifies(tiny: Path) -> None:
    """What the tests below damage was whole."""
    assert api.verify(str(tiny)) == []


@pytest.mark.parametrize(
    "name",
    ["../x", "noun/../../x", "/etc/passwd", "..", ".", "", "noun//x", "noun/./x", "..\\x", "noun\\x", "C:\\x", "noun/"],
)
def test_a_path_cannot_leave_the_folder(forged: Path, facts: Facts, name: str) -> None:
    """A path that is not plainly below the folder is refused, and no file behind it is read."""
    _seal(forged, {**facts, "files": {**facts["files"], name: {"bytes": 1, "sha256": "0" * 64}}})
    assert "path leaves the folder" in _message(forged)


@pytest.mark.parametrize("name", ["x\x1b[2Jy", "x\0y", "x\u202ey", "x" * 5000, "x/" * 2000 + "y", "é" * 120])
def test_a_path_is_a_name_that_can_be_printed_and_opened(forged: Path, facts: Facts, name: str) -> None:
    """What would steer a terminal, or what no file system takes, is no path of a release."""
    _seal(forged, {**facts, "files": {**facts["files"], name: {"bytes": 1, "sha256": "0" * 64}}})
    message = _message(forged)
    assert "files of a release cannot have this name" in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dataset", "../../tiny"), ("dataset", ""), ("dataset", "a/b"), ("version", "../1.0.0"), ("version", "1.0"),
        ("order", []), ("order", ["noun", "noun"]), ("order", ["other"]), ("configs", {}), ("files", []),
        ("contrasts", [{"name": "c", "estimand": "preference", "a": "noun", "b": "gone"}]),
        ("contrasts", [{"name": "c", "estimand": "preference", "a": "noun", "b": "noun", "more": 1}]),
        ("content", 5), ("recipe", "0" * 63), ("card", None), ("schema", 0), ("schema", True), ("schema", "1"),
    ],
)  # fmt: skip
def test_a_manifest_of_another_form_is_refused(forged: Path, facts: Facts, key: str, value: object) -> None:
    """Names that would become paths, configs that do not agree, and values of other types are damage."""
    _seal(forged, {**facts, key: value})
    assert _message(forged)


def test_a_design_of_another_form_is_refused(forged: Path, facts: Facts) -> None:
    """Keys and types inside a config count too, and the message says where."""
    for change, place in (
        ({"slots": [1]}, "configs.noun.design.slots.0"),
        ({"more": 1}, "design"),
        ({"roles": 5}, "roles"),
        (
            {"gaps": {"x": {"slot": "job", "column": "jobs", "first": "a", "second": "b"}}},
            "a gap names a column that",
        ),
        ({"gaps": {"x": {"slot": "job", "column": "job", "first": "a"}}}, "configs.noun.design.gaps.x.second"),
        ({"gaps": {"x": {"slot": "job", "column": "job", "first": "a", "second": "b", "more": 1}}}, "keys"),
    ):
        changed = copy.deepcopy(facts)
        changed["configs"]["noun"]["design"] |= change
        _seal(forged, changed)
        assert place in _message(forged)


def test_a_design_with_gaps_is_of_form_5(tmp_path: Path) -> None:
    """Readers of form 4 refuse the key, so it is written only where it says something; it is read as it was."""
    plan = _plan()
    gaps = {"x": LevelPair(slot="job", column="job", first="nurse", second="judge")}
    compared = replace(plan.configs[0], design=replace(DESIGN, gaps=gaps))
    for config, form in ((plan.configs[0], 2), (compared, 5)):
        manifest = freeze(replace(plan, configs=(config,)), tmp_path / str(form))
        assert manifest.data["schema"] == form
        assert ("gaps" in manifest.data["configs"]["noun"]["design"]) == (form == 5)
        assert read_manifest(tmp_path / str(form)).design("noun") == config.design


def test_a_newer_form_is_reported(forged: Path, facts: Facts) -> None:
    """A manifest of a later senseprobe is no damage: the message says what to do, and the exit code is 2."""
    _seal(forged, {**facts, "schema": 7, "new": []})
    with pytest.raises(ReleaseError, match=r"has form 7, .* up to 6: upgrade senseprobe") as caught:
        api.verify(str(forged))
    assert caught.value.exit_code == 2
    assert not isinstance(caught.value, DamagedRelease)


def test_a_huge_manifest_is_refused_unread(forged: Path) -> None:
    """100 MB are refused by their size, before memory is given out."""
    with (forged / "release.json").open("wb") as file:
        file.truncate(100_000_000)
    tracemalloc.start()
    try:
        assert "larger than" in _message(forged)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_links_pipes_and_devices_are_not_followed(forged: Path, tmp_path: Path) -> None:
    """A link out of the folder is no file of a release, be it a file, a folder on the way, or the manifest."""
    outside = Path(shutil.copytree(forged, tmp_path / "outside"))
    (forged / "README.md").unlink()
    (forged / "README.md").symlink_to(outside / "README.md")
    shutil.rmtree(forged / "noun")
    (forged / "noun").symlink_to(outside / "noun")
    (forged / "recipe" / "english.csv").unlink()
    os.mkfifo(forged / "recipe" / "english.csv")
    findings = [(finding.path, finding.code, finding.message) for finding in api.verify(str(forged))]
    damaged = ["README.md", "noun/test-00000-of-00001.parquet", "recipe/english.csv"]
    assert findings[:3] == [(name, "E402", "is not a plain file") for name in damaged]
    assert findings[3:] == [("noun", "E403", "is not part of the release")]

    (forged / "release.json").unlink()
    (forged / "release.json").symlink_to("/dev/zero")
    assert _message(forged) == "is not a plain file"
    (forged / "release.json").unlink()
    os.mkfifo(forged / "release.json")
    assert _message(forged) == "is not a plain file"


def test_names_that_are_no_text_are_reported(forged: Path) -> None:
    """A foreign file whose name is no UTF-8 is named in a way that every terminal and JSON can print."""
    (forged / os.fsdecode(b"\xff.txt")).write_text("x")
    (finding,) = api.verify(str(forged))
    assert finding.path == r"'\udcff.txt'"


def test_a_row_group_that_claims_too_much_is_not_read(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes are read from the file's footer and held against a bound before rows are."""
    monkeypatch.setattr(parquet, "MAX_GROUP_BYTES", 100)
    (finding,) = api.verify(str(tiny))
    assert (finding.path, finding.code) == ("noun/test-00000-of-00001.parquet", "E404")
    assert "row group of more than" in finding.message


def test_nothing_is_frozen_that_readers_would_refuse(tmp_path: Path) -> None:
    """A config with the name of the recipe's folder fails while building, and leaves nothing behind."""
    with pytest.raises(DamagedRelease, match="order"):
        freeze(_plan("recipe"), tmp_path / "tiny" / "1.0.0")
    assert list(tmp_path.iterdir()) == []


_DEEP = [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 900 + b"]" * 900, b'{"schema":' + b"[" * 900 + b"]" * 900 + b"}"]
_ODD = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"\xff\xfe",
    b'"\\ud800"',
    b'{"schema":1,"x":"\\ud800"}',
    b'{"schema":1e999}',
    b"9" * 5000,
]


@pytest.mark.parametrize("raw", [*_DEEP, *_ODD], ids=lambda raw: f"{len(raw)}-{raw[:12]!r}")
def test_odd_json_is_damage(forged: Path, raw: bytes) -> None:
    """Nesting, halves of surrogate pairs, numbers without end: a finding each time, never a traceback."""
    (forged / "release.json").write_bytes(raw)
    assert _message(forged)


_scalar = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["noun", "\ud800", "../x"])
)
_json = st.recursive(_scalar, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@st.composite
def mutations(draw: st.DrawFn) -> list[tuple[list[int], object, str]]:
    """Up to three changes: the way to a node by numbers, what to put there, and how."""
    way = st.lists(st.integers(0, 50), max_size=7)
    return draw(st.lists(st.tuples(way, _json, st.sampled_from(["put", "drop", "rename"])), min_size=1, max_size=3))


def _mutated(node: Any, way: list[int], value: object, how: str) -> Any:  # noqa: ANN401 - any JSON
    if not way or not isinstance(node, dict | list) or not node:
        return value
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    key = keys[way[0] % len(keys)]
    if len(way) > 1 or how == "put":
        node[key] = _mutated(node[key], way[1:], value, how)
    elif how == "drop":
        del node[key]
    elif isinstance(node, dict):
        node[str(value)] = node.pop(key)
    return node


_fuzz = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def _assert_only_ours_is_raised(folder: Path) -> None:
    try:
        findings = api.verify(str(folder), rebuild=True)
        assert all(str(finding).isprintable() for finding in findings)
        read_manifest(folder)
    except SenseprobeError:
        pass


@settings(_fuzz, max_examples=examples(150))
@given(mutations())
def test_wrong_types_everywhere(tiny: Path, facts: Facts, changes: list[tuple[list[int], object, str]]) -> None:
    """Whatever stands in a manifest whose digest is right, `verify` reports it or raises our own error."""
    changed: Any = copy.deepcopy(facts)
    for way, value, how in changes:
        changed = _mutated(changed, way, value, how)
    _seal(tiny, changed)
    try:
        _assert_only_ours_is_raised(tiny)
    finally:
        _seal(tiny, facts)


@settings(_fuzz, max_examples=examples(150))
@given(st.data())
def test_broken_parquet_with_right_hashes(tiny: Path, facts: Facts, data: st.DataObject) -> None:
    """Parquet in which bytes were changed, cut or put in, sealed by a forger, is a finding or the same rows."""
    path = tiny / "noun" / "test-00000-of-00001.parquet"
    whole = path.read_bytes()
    broken = bytearray(whole)
    for at in data.draw(st.lists(st.integers(4, len(whole) - 1), min_size=1, max_size=4)):
        broken[at] = data.draw(st.integers(0, 255))
    told = copy.deepcopy(facts)
    told["files"]["noun/test-00000-of-00001.parquet"]["sha256"] = hashlib.sha256(broken).hexdigest()
    path.write_bytes(broken)
    _seal(tiny, told)
    try:
        _assert_only_ours_is_raised(tiny)
    finally:
        path.write_bytes(whole)
        _seal(tiny, facts)


# In a process of its own, which Arrow would end: it throws, where a file is asked for what it says of its columns.
FOOTERS = """
import random, sys
from pathlib import Path
from senseprobe.errors import DamagedRelease
from senseprobe.release.parquet import read_rows
from senseprobe.release.release import open_release
from senseprobe.release.schema import design_schema

release, broken = open_release(Path(sys.argv[1])), Path(sys.argv[2])
(path,), schema = release.files("island"), design_schema(release.design("island"))
whole = path.read_bytes()
footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
codes = set()
for seed in range(400):
    draw, data = random.Random(seed), bytearray(whole)
    for _ in range(draw.randint(1, 3)):
        data[draw.randrange(footer, len(data) - 8)] = draw.randrange(256)
    broken.write_bytes(data)
    try:
        codes.add(str(len([*read_rows(broken, schema, "x", 10)])))
    except DamagedRelease as error:
        codes.add(error.findings[0].code)
print(*sorted(codes))
"""


def test_broken_footers_with_statistics(tmp_path: Path) -> None:
    """A file of the first form, which has statistics, with a few bytes of its footer changed: always an answer."""
    release = Path(__file__).parents[1] / "fixtures" / "releases" / "form-1"
    done = subprocess.run(
        [sys.executable, "-P", "-c", FOOTERS, release, tmp_path / "x.parquet"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert {*done.stdout.split()} >= {"1", "E404", "E407"}
