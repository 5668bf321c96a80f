"""Results: what their files hold, that they replay, appear whole, and take nothing on trust when they are read."""

import json
import math
import resource
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

import senseprobe
from senseprobe.document import render_html, render_markdown
from senseprobe.errors import ResultError
from senseprobe.evaluate import models
from senseprobe.evaluate import result as result_module
from senseprobe.evaluate.fitness import FirstToken, Fitness
from senseprobe.evaluate.pipeline import result_of, rows_of
from senseprobe.evaluate.pipeline import run as run_job
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.report import build_report
from senseprobe.evaluate.result import Result, check_writable, folder_of, read_result
from senseprobe.evaluate.result_form import json_schema
from senseprobe.evaluate.score_tables import read_scores
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.units import KINDS, ScoredRows, Unit, UnitTable
from senseprobe.records import Figure
from senseprobe.release.release import Release

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}
FIGURE = Figure(
    config="noun",
    sense_type="noun",
    estimand="preference-half",
    value=12.5,
    low=-4.25,
    high=28.0,
    method="projection",
    neutral=0.0,
    rows=182,
    scored=181,
    unscored=1,
    ties=2,
    left_out={"contested": 4},
    levels={"occupation": 5, "quality": 31},
    fixed=("occupation (female)", "frame"),
    note="nurse alone is female-typed",
)
ROWS = pd.DataFrame(
    {"config": "noun", "id": ["noun.1", "noun.2"], "stereo_score": [-1.5, math.nan], "anti_score": [-2.0, -0.25]}
)
RESULT = Result(
    scorer="aul",
    model=MODEL,
    release={"name": "sssb@1.0.0", "content": "d" * 64, "config": None},
    senseprobe="0.1.0",
    libraries={"torch": "2.9.0"},
    seed=7,
    figures=(FIGURE, replace(FIGURE, estimand="relative", group="Japanese", p=0.02, p_holm=0.32, value=None)),
    scored=ScoredRows(ROWS),
)


def only_numbers(text: str) -> NoReturn:
    """What JSON has no word for."""
    raise AssertionError(f"{text} is not JSON")


# --- what a file holds ----------------------------------------------------------------------------------------------


def test_keys_are_stable(tmp_path: Path) -> None:
    """The keys of a result file, which programs of others read, are these and in this order."""
    data = json.loads(RESULT.write(tmp_path).read_bytes(), parse_constant=only_numbers)
    # Published keys, written down by hand: a change here is a change of form, and SCHEMA goes up with it.
    assert " ".join(data) == (
        "schema signature scorer scorer_version scale verdicts model release senseprobe libraries seed limit figures"
    )
    assert data["schema"] == 3
    assert list(data["model"]) == ["name", "weights", "config", "tokenizer", "dtype"]
    assert list(data["release"]) == ["name", "content", "config"]
    for figure in data["figures"]:
        assert " ".join(figure) == (
            "config sense_type estimand group value low high method neutral p p_holm "
            "rows scored unscored ties left_out levels fixed note readings definition"
        )


def test_table_beside_it(tmp_path: Path) -> None:
    """The table of scores lies beside the JSON, carries its signature, and has no number where there was no score."""
    path = RESULT.write(tmp_path)
    table = pq.read_table(path.with_suffix(".parquet"))
    assert table.schema.metadata == {b"signature": RESULT.signature.encode()}
    assert table.column_names == ["config", "id", "stereo_score", "anti_score"]
    assert table["stereo_score"].to_pylist() == [-1.5, None]
    assert table["anti_score"].to_pylist() == [-2.0, -0.25]


@pytest.mark.parametrize(("config", "stem"), [(None, "aul"), ("race", "aul.race")])
def test_file_names(config: str | None, stem: str, tmp_path: Path) -> None:
    """A result on one config does not take the place of the result on all."""
    release = {**RESULT.release, "config": config}
    replace(RESULT, release=release).write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{stem}.json", f"{stem}.parquet"]


NUMBERS = st.none() | st.floats(-1e9, 1e9)
P_VALUES = st.none() | st.floats(0, 1)
COUNTS = st.integers(0, 10**6)


@st.composite
def figure_counts(draw: st.DrawFn) -> dict[str, int]:
    """Rows, those of them with a number, those without, and ties among the first."""
    scored, unscored = draw(COUNTS), draw(COUNTS)
    return {"rows": scored + unscored, "scored": scored, "unscored": unscored, "ties": draw(st.integers(0, scored))}


FIGURES = st.builds(
    lambda counts, **fields: Figure(**counts, **fields),
    counts=figure_counts(),
    config=st.text(),
    sense_type=st.text(),
    estimand=st.text(),
    group=st.none() | st.text(),
    **dict.fromkeys(("value", "neutral"), NUMBERS),
    **dict.fromkeys(("p", "p_holm", "p_low", "p_least"), P_VALUES),
    low=st.none() | st.floats(-1e9, 0),
    high=st.none() | st.floats(0, 1e9),
    method=st.text(),
    left_out=st.dictionaries(st.text(), COUNTS, max_size=2),
    levels=st.dictionaries(st.text(), COUNTS, max_size=2),
    fixed=st.lists(st.text(), max_size=2).map(tuple),
    note=st.text(),
)


@settings(max_examples=examples(50))
@given(
    figures=st.lists(FIGURES, max_size=3, unique_by=lambda figure: (*figure.key[:2], figure.group or "")).map(tuple),
    seed=st.integers(0, 2**32),
    name=st.text().filter(lambda name: "|" not in name),
)
def test_round_trip(figures: tuple[Figure, ...], seed: int, name: str) -> None:
    """What is read is what was written, but for the rows."""
    result = replace(RESULT, figures=figures, seed=seed, model={**MODEL, "name": name}, scored=ScoredRows())
    with tempfile.TemporaryDirectory() as folder:
        assert read_result(result.write(Path(folder))) == result


# --- the signature replays it ---------------------------------------------------------------------------------------

OTHERS: dict[str, dict[str, Any]] = {
    "scorer": {"scorer": "pll"},
    "seed": {"seed": 8},
    "limit": {"limit": 100},
    "revision": {"model": {**MODEL, "revision": "e" * 40}},
    "senseprobe": {"senseprobe": "0.2.0"},
    **{key: {"model": {**MODEL, key: "other"}} for key in MODEL},
    **{f"release {key}": {"release": {**RESULT.release, key: "other"}} for key in RESULT.release},
}


@pytest.mark.parametrize("changed", OTHERS)
def test_signature_tells_apart(changed: str) -> None:
    """Whatever the numbers depend on, another of it has another signature."""
    assert replace(RESULT, **OTHERS[changed]).signature != RESULT.signature


def test_signature() -> None:
    """The signature is one line that names all parts."""
    # Written down by hand, from DESIGN section 7: scorer, release and content, model and weights, version, seed.
    assert RESULT.signature == (
        "scorer=aul|release=sssb@1.0.0|content=dddddddddddd|model=org/model|weights=aaaaaaaaaaaa|config=bbbbbbbbbbbb|"
        "tokenizer=cccccccccccc|dtype=float32|seed=7|senseprobe=0.1.0"
    )


@pytest.fixture(scope="session")
def replays(sssb: Release, tiny_models: dict[str, Path]) -> Callable[..., Result]:
    """Scores the tiny BERT on a config, with batches of so many tokens."""

    def run(config: str, batch_tokens: int | None, seed: int = 0) -> Result:
        model = models.load(str(tiny_models["bert"]), batch_tokens=batch_tokens)
        model.name = "bert"
        return run_job(ScoringJob(sssb, config, seed, "0"), model, "aul")

    return run


def answered(tables: Mapping[str, pd.DataFrame], scores: Mapping[str, float]) -> UnitTable:
    """What a scorer that reads sentences answered."""
    units = UnitTable(tables, KINDS["contrast"].roles, ("text",), ("score",))
    units.add_answers((Unit(text), (score,)) for text, score in scores.items())
    return units


def bytes_of(result: Result, folder: Path) -> tuple[bytes, bytes]:
    """What the two files of a result hold."""
    path = result.write(folder)
    return path.read_bytes(), path.with_suffix(".parquet").read_bytes()


@pytest.mark.parametrize("config", [pytest.param("language", marks=pytest.mark.slow), "verb"])
def test_same_inputs_same_bytes(config: str, replays: Callable[..., Result], tmp_path: Path) -> None:
    """Scoring twice writes the same bytes."""
    assert bytes_of(replays(config, 512), tmp_path) == bytes_of(replays(config, 512), tmp_path)


@pytest.mark.parametrize("config", [pytest.param("language", marks=pytest.mark.slow), "verb"])
def test_batches_do_not_matter(config: str, replays: Callable[..., Result], tmp_path: Path) -> None:
    """Any batch size gives the same JSON, and scores within 1e-5 (issue 2)."""
    one, many = replays(config, 1), replays(config, 4096)
    assert bytes_of(one, tmp_path)[0] == bytes_of(many, tmp_path)[0]
    assert one.rows is not None
    assert many.rows is not None
    for role in ("stereo_score", "anti_score"):
        np.testing.assert_allclose(one.rows[role], many.rows[role], rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_row_order_does_not_matter(seed: int, sssb: Release, tmp_path: Path) -> None:
    """Rows in any order give the same JSON, to the last byte."""
    job = ScoringJob(sssb, None, 0, "0")
    tables, generator = rows_of(job, get("aul")), np.random.default_rng(seed)
    texts = sorted({text for table in tables.values() for role in ("stereo", "anti") for text in table[role]})
    scores = dict(zip(texts, generator.normal(size=len(texts)).tolist(), strict=True))
    shuffled = {name: table.sample(frac=1, random_state=seed) for name, table in tables.items()}
    results = [
        result_of(job, get("aul").tabulate(answered(rows, scores)), get("aul"), MODEL) for rows in (tables, shuffled)
    ]
    assert len({bytes_of(result, tmp_path)[0] for result in results}) == 1


def test_another_seed_or_config(replays: Callable[..., Result]) -> None:
    """Another seed draws other permutations, and another config is another result; the signatures say so."""
    # Of nationality, whose words divide in 293,930 ways: language's 924 are all tried, whatever the seed.
    results = [replays("nationality", None), replays("nationality", None, seed=1), replays("race", None)]
    assert len({result.signature for result in results}) == 3
    # Of every group: two draws can agree in one p by chance.
    p = [[figure.p for figure in result.figures] for result in results[:2]]
    assert p[0] != p[1]


def test_nothing_of_the_machine(sssb: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where the release lies, nor whose token is set, nor who was here gets into a result."""
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijklmnop")
    job = ScoringJob(sssb, "race", 0, "0")
    tables = rows_of(job, get("aul"))
    texts = {text: 0.5 for role in ("stereo", "anti") for text in tables["race"][role]}
    for content in bytes_of(result_of(job, get("aul").tabulate(answered(tables, texts)), get("aul"), MODEL), tmp_path):
        for told in ("hf_abcdefghijklmnop", str(sssb.folder), str(tmp_path), str(Path.cwd())):
            assert told.encode() not in content


# --- files appear whole ---------------------------------------------------------------------------------------------


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Writing further than `size` bytes into a file fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("rows", [ROWS, None], ids=["table fails", "JSON fails"])
def test_write_that_fails(rows: pd.DataFrame | None, tmp_path: Path) -> None:
    """Where a write fails in the middle, the earlier result stays as it was, and nothing lies beside it."""
    RESULT.write(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(before) == 2
    with files_up_to(200), pytest.raises(ResultError, match=r"cannot write .*aul\.[0-9a-f]{8}\.json: File too large"):
        replace(RESULT, scored=ScoredRows(rows), seed=99).write(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_another_result_is_kept(tmp_path: Path) -> None:
    """A result with another seed lies beside the earlier one; the same result again replaces itself."""
    first = RESULT.write(tmp_path)
    before = first.read_bytes()
    other = replace(RESULT, seed=99).write(tmp_path)
    assert other != first
    assert first.read_bytes() == before
    assert RESULT.write(tmp_path) == first
    assert replace(RESULT, seed=99).write(tmp_path) == other
    assert len(list(tmp_path.glob("*.json"))) == 2


@pytest.mark.parametrize("below", ["", "sssb@1.0.0", "sssb@1.0.0/model"])
def test_file_in_the_way(below: str, tmp_path: Path) -> None:
    """Where a file is in the way of a folder, this is told before and when writing, and the file stays."""
    way = tmp_path / "results"
    way.write_text("mine")
    with pytest.raises(ResultError, match=r"cannot write results to .*: .*results is not a folder"):
        check_writable(way / below)
    with pytest.raises(ResultError, match="cannot write"):
        RESULT.write(way / below)
    assert way.read_text() == "mine"


def test_space_is_asked_for_before(tmp_path: Path) -> None:
    """A table of 10,000 rows may take 640 kB besides the 262 kB of the rest; what fails leaves no folders."""
    with files_up_to(500_000):
        check_writable(tmp_path / "a" / "b", 1_000)
        with pytest.raises(ResultError, match=r"cannot write results to .*a/b: File too large \(.* 902 kB\)"):
            check_writable(tmp_path / "a" / "b", 10_000)
    with files_up_to(200), pytest.raises(ResultError, match="cannot write"):
        RESULT.write(tmp_path / "a" / "b")
    assert [*tmp_path.iterdir()] == []


def test_check_makes_nothing(tmp_path: Path) -> None:
    """Asking whether a folder can be written makes none."""
    check_writable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ResultError, match="cannot write results to"):
        check_writable(tmp_path / ("a" * 300) / "b")


# --- older forms, and the published schema ---------------------------------------------------------------------------

# Written by hand as the version before had it; the signature is the one that its own test had.
FORM_1 = {
    "schema": 1,
    "signature": "scorer=aul|release=sssb@1.0.0|content=dddddddddddd|model=org/model|weights=aaaaaaaaaaaa|"
    "config=bbbbbbbbbbbb|tokenizer=cccccccccccc|dtype=float32|seed=7|senseprobe=0.1.0",
    "scorer": "aul",
    "model": MODEL,
    "release": {"name": "sssb@1.0.0", "content": "d" * 64, "config": None},
    "senseprobe": "0.1.0",
    "seed": 7,
    "figures": [FIGURE.as_dict()],
}


def test_form_1_is_still_read(tmp_path: Path) -> None:
    """A result of the first form is read, without libraries and limit, and keeps its signature."""
    path = tmp_path / "aul.json"
    path.write_text(json.dumps(FORM_1))
    result = read_result(path)
    assert (result.limit, result.libraries) == (None, {})
    assert result.figures == (FIGURE,)
    assert result.signature == FORM_1["signature"]


SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "result.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_bytes()))


def test_published_schema_is_the_code_s() -> None:
    """docs/result.schema.json is what the code holds files against, and itself a schema."""
    VALIDATOR.check_schema(VALIDATOR.schema)
    again = (
        "write json_schema(), with an indent of 2, to docs/result.schema.json, and raise SCHEMA if old files fail it"
    )
    assert json.loads(SCHEMA_FILE.read_bytes()) == json_schema(), again


@settings(max_examples=examples(50))
@given(figures=st.lists(FIGURES, max_size=3).map(tuple), limit=st.none() | st.integers(1, 10**6))
def test_results_follow_the_schema(figures: tuple[Figure, ...], limit: int | None) -> None:
    """What is written is valid by another program's reading of the published schema (jsonschema)."""
    result = replace(RESULT, figures=figures, limit=limit, model={**MODEL, "revision": "e" * 40, "planted": "0.7"})
    VALIDATOR.validate(json.loads(json.dumps(result.as_dict())))


def test_no_results_break_the_schema() -> None:
    """What the code refuses, though it is JSON, is invalid by the schema too."""
    for case, raw in NO_RESULTS.items():
        # The schema cannot speak of what is not JSON; JSON has no infinity, and no bounds of floats.
        if case not in {
            "empty",
            "no JSON",
            "no UTF-8",
            "deep",
            "NaN",
            "infinity",
            "beyond floats",
            "infinite by digits",
        }:
            assert not VALIDATOR.is_valid(json.loads(raw)), case


# --- whether the model is fit to be asked ---------------------------------------------------------------------------


FITNESS = {
    "race": Fitness(
        rows=108,
        unknown=3,
        same_tokens=2,
        unequal_counts=40,
        ties=5,
        explained=2,
        first_token=FirstToken(rows=7, before="<|im_start|>", preference=-12.5),
    ),
    "noun": Fitness(rows=60, unknown=0, first_token=FirstToken(rows=0, before="")),
    "probes": Fitness(rows=2, unknown=2),
}


def test_fitness_is_written_and_read(tmp_path: Path) -> None:
    """By config, with keys that programs of others read; what was not counted has none."""
    result = replace(RESULT, fitness=FITNESS)
    path = result.write(tmp_path)
    assert read_result(path).fitness == FITNESS
    written = json.loads(path.read_bytes())
    VALIDATOR.validate(written)
    # Published keys, written down by hand.
    assert written["fitness"]["race"] == {
        "rows": 108,
        "unknown": 3,
        "same_tokens": 2,
        "unequal_counts": 40,
        "ties": 5,
        "explained": 2,
        "first_token": {"rows": 7, "before": "<|im_start|>", "preference": -12.5},
    }
    assert written["fitness"]["noun"]["first_token"] == {"rows": 0, "before": "", "preference": None}
    assert written["fitness"]["probes"] == {"rows": 2, "unknown": 2}
    assert result.signature == RESULT.signature, "it follows from what the signature says"


def test_a_result_without_fitness_has_no_key(tmp_path: Path) -> None:
    """Of a planted truth, of a plug-in's model, and of results that are older."""
    path = RESULT.write(tmp_path)
    assert "fitness" not in json.loads(path.read_bytes())
    assert read_result(path).fitness == {}


COUNTS_THAT_CANNOT_BE: dict[str, object] = {
    "no records": {"race": 3},
    "text": {"race": {"rows": "3", "unknown": 0}},
    "less than nothing": {"race": {"rows": 3, "unknown": -1}},
    "more than there are": {"race": {"rows": 3, "unknown": 4}},
    "more ties explained than there are": {"race": {"rows": 3, "unknown": 0, "ties": 1, "explained": 2}},
    "a preference beyond 50": {
        "race": {"rows": 3, "unknown": 0, "first_token": {"rows": 1, "before": "", "preference": 51.0}}
    },
    "a long name": {"r" * 5_000: {"rows": 3, "unknown": 0}},
    "a long start": {"race": {"rows": 3, "unknown": 0, "first_token": {"rows": 1, "before": "<" * 5_000}}},
}


@pytest.mark.parametrize("case", COUNTS_THAT_CANNOT_BE)
def test_fitness_that_cannot_be(case: str, tmp_path: Path) -> None:
    """Nothing is taken on trust: one message."""
    path = tmp_path / "aul.json"
    path.write_text(json.dumps({**RESULT.as_dict(), "fitness": COUNTS_THAT_CANNOT_BE[case]}))
    with pytest.raises(ResultError, match=r"aul\.json (is not a result of senseprobe|has 2 figures and a name of)"):
        read_result(path)


def test_table_of_another_result(tmp_path: Path) -> None:
    """The table beside a result is read with it, and refused where it is another's, damaged, or is simply not there."""
    path = RESULT.write(tmp_path)
    rows = read_scores(path, RESULT)
    assert rows is not None
    pd.testing.assert_frame_equal(rows, ROWS)
    foreign = replace(RESULT, seed=8).write(tmp_path / "other").with_suffix(".parquet")
    path.with_suffix(".parquet").write_bytes(foreign.read_bytes())
    with pytest.raises(ResultError, match=r"aul\.parquet does not belong to this result: its signature"):
        read_scores(path, RESULT)
    path.with_suffix(".parquet").write_bytes(b"PAR1")
    with pytest.raises(ResultError, match=r"aul\.parquet cannot be read: "):
        read_scores(path, RESULT)
    path.with_suffix(".parquet").unlink()
    assert read_scores(path, RESULT) is None


# --- nothing is taken on trust --------------------------------------------------------------------------------------


def changed(**changes: object) -> bytes:
    """A result's JSON with other values at its top."""
    return json.dumps({**RESULT.as_dict(), **changes}).encode()


def with_figure(**changes: object) -> bytes:
    """A result's JSON with other values in its first figure."""
    return changed(figures=[{**FIGURE.as_dict(), **changes}])


NO_RESULTS: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"schema": "\xff"}',
    "a list": b"[1]",
    "null": b"null",
    "other JSON": b'{"accuracy": 0.9}',
    "deep": b"[" * 200_000,
    "schema of text": changed(schema="1"),
    "schema of truth": changed(schema=True),
    "schema 0": changed(schema=0),
    "no model hash": changed(model={"name": "x"}),
    "model of numbers": changed(model={**MODEL, "name": 3}),
    "release of text": changed(release="sssb@1.0.0"),
    "seed of text": changed(seed="7"),
    "scorer of nothing": changed(scorer=None),
    "figures of numbers": changed(figures=[1, 2]),
    "value of text": with_figure(value="<b>12</b>"),
    "value of truth": with_figure(value=True),
    "NaN": with_figure(value=math.nan),
    "infinity": with_figure(low=-math.inf),
    "beyond floats": with_figure(value=10**400),
    "infinite by digits": with_figure(value=0.25).replace(b"0.25", b"1e999"),
    "levels of text": with_figure(levels="many"),
    "fixed of numbers": with_figure(fixed=[1]),
    "limit of nothing": changed(limit=0),
    "libraries of numbers": changed(libraries={"torch": 2}),
    "no libraries": json.dumps({key: value for key, value in RESULT.as_dict().items() if key != "libraries"}).encode(),
    "no counts": changed(figures=[{"config": "a", "sense_type": "b", "estimand": "c", "value": 0}]),
}


@pytest.mark.parametrize("case", NO_RESULTS)
def test_other_json(case: str, tmp_path: Path) -> None:
    """A file that is no result is refused in one clause that names it."""
    path = tmp_path / "result.json"
    path.write_bytes(NO_RESULTS[case])
    with pytest.raises(ResultError) as refused:
        read_result(path)
    assert str(refused.value).startswith(f"{path} is not a result of senseprobe")
    assert "\n" not in str(refused.value)


def test_unreadable(tmp_path: Path) -> None:
    """A file that is not there, or a folder, is refused with the reason."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "aul.json").write_text("{}")
    for name, reason in (
        ("none.json", "{} cannot be read: No such file or directory"),
        ("*.json", "{} does not exist: `senseprobe score` writes results into results/RELEASE/MODEL/"),
        ("", "{} is a folder: give the RESULT.json files in it (1 there)"),
    ):
        path = tmp_path / name
        with pytest.raises(ResultError) as refused:
            read_result(path)
        assert str(refused.value) == reason.format(path)


def test_newer_form(tmp_path: Path) -> None:
    """A result of a newer form asks for a newer senseprobe."""
    path = tmp_path / "result.json"
    path.write_bytes(b'{"schema": 4, "quite": "different"}')
    with pytest.raises(ResultError, match="has format 4, and this senseprobe reads up to 3: upgrade it"):
        read_result(path)


KEYS = st.sampled_from([*RESULT.as_dict(), *FIGURE.as_dict(), *MODEL]) | st.text(max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=examples(60))
@given(st.dictionaries(KEYS, JSON, max_size=3), st.dictionaries(KEYS, JSON, max_size=3))
def test_hostile_values(top: dict[str, Any], figure: dict[str, Any]) -> None:
    """A result with anything in the place of anything is refused, or is good enough for a report."""
    data = {**RESULT.as_dict(), "figures": [{**FIGURE.as_dict(), **figure}], **top}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        try:
            result = read_result(path)
        except ResultError:
            return
    assert result.signature
    account = build_report([ReportInput(result=result)])
    assert "<html" in render_html(account)
    assert render_markdown(account).startswith("# ")


@settings(max_examples=examples(300))
@given(st.text())
@example("../../x")
@example("/abs")
@example("a\\b")
@example("")
@example("..")
@example("." * 300)
@example("a" * 119 + "/../../b")
@example("x" + "." * 60 + "y" * 119)
@example("CON/\x00\n|*?")
def test_folder_stays_below_out(model: str) -> None:
    """Whatever a model is called, its results lie in one folder right below the release's, with a plain name."""
    out = Path("results")
    folder = folder_of(out, "sssb@1.0.0", model)
    assert folder.parent == out / "sssb@1.0.0"
    assert (Path.cwd() / folder).resolve().is_relative_to(Path.cwd() / "results" / "sssb@1.0.0")
    assert folder.name not in {"", ".", ".."}
    assert not folder.name.startswith((".", "-")), "neither hidden nor an option"
    assert folder.name.isascii()
    assert 1 <= len(folder.name) <= 120
    assert not set(folder.name) & set('/\\:*?"<>|\x00\n ')


def test_folder_of_hub_name() -> None:
    """A name on the Hub, and a path, are recognised in the name of their folder."""
    assert folder_of(Path("results"), "sssb@1.0.0", "google-bert/bert-base-uncased") == Path(
        "results/sssb@1.0.0/google-bert--bert-base-uncased"
    )
    assert folder_of(Path("results"), "sssb@1.0.0", "demo/model").name == "demo--model"  # as the Makefile has it


# --- what a coarse number format turns around ------------------------------------------------------------------------


def test_coarse_is_kept(tmp_path: Path) -> None:
    """The count is in the file, which follows the schema, and is read again; without one the key is not there."""
    result = replace(RESULT, coarse={"rows": 200, "flipped": 7}, scored=ScoredRows())
    path = result.write(tmp_path)
    data = json.loads(path.read_bytes())
    assert data["coarse"] == {"rows": 200, "flipped": 7}
    VALIDATOR.validate(data)
    assert read_result(path) == result
    assert result.signature == RESULT.signature
    assert "coarse" not in RESULT.as_dict()


@pytest.mark.parametrize(
    "told", [{"rows": 3, "flipped": 4}, {"rows": -1, "flipped": -1}, {"rows": 3}, 7, {"rows": 1.5}]
)
def test_coarse_that_cannot_be(told: object, tmp_path: Path) -> None:
    """More that are flipped than there are, or no counts, are no result."""
    path = tmp_path / "aul.json"
    path.write_text(json.dumps({**RESULT.as_dict(), "coarse": told}))
    with pytest.raises(ResultError, match="is not a result of senseprobe"):
        read_result(path)


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"low": -1e308, "high": 1e308}, "a number beyond"),
        ({"low": 2.0, "high": 1.0}, "an interval whose lower end is above"),
        ({"value": -1e10}, "a number beyond"),
        ({"readings": {"he": 1e308}}, "a number beyond"),
        ({"senses": {"X": 1e308}}, "a number beyond"),
        *(({part: p}, "a p-value outside 0 to 1") for part in ("p", "p_holm", "p_low", "p_least") for p in (-0.1, 1.5)),
        ({"scored": 183, "unscored": 0}, "183 rows with a number and 0 without, of 182"),
        ({"unscored": 1_000}, "181 rows with a number and 1,000 without, of 182"),
        ({"ties": 182}, "182 ties among 181"),
        *(({part: -1}, "a count below 0") for part in ("rows", "scored", "unscored", "ties")),
        ({"left_out": {"contested": -4}}, "a count below 0"),
        ({"levels": {"frame": -5}}, "a count below 0"),
    ],
)
def test_figures_that_cannot_be(parts: dict[str, object], fault: str, tmp_path: Path) -> None:
    """A width that is infinite, an interval that excludes everything, or a p of -0.1, would be a verdict."""
    path, data = tmp_path / "aul.json", RESULT.as_dict()
    path.write_text(json.dumps({**data, "figures": [{**data["figures"][0], **parts}]}))
    with pytest.raises(ResultError, match=f"is not a result of senseprobe: noun preference-half has {fault}"):
        read_result(path)


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ({"model": {**MODEL, "name": "org/model|seed=8"}}, "model's name"),
        ({"model": {**MODEL, "encoding": "level=word|seed=8"}}, "model's encoding"),
        ({"release": {**RESULT.release, "name": "a|b@1.0.0"}}, "release"),
        ({"scorer": "aul|pll"}, "scorer"),
    ],
)
def test_a_signature_is_not_divided_elsewhere(parts: dict[str, object], name: str, tmp_path: Path) -> None:
    """The line between the parts of a signature is in none of them: two results could have one signature."""
    path = tmp_path / "aul.json"
    path.write_bytes(changed(**parts))
    with pytest.raises(ResultError, match=f"its {name} contains \\|"):
        read_result(path)


def test_a_model_is_not_called_so(tmp_path: Path) -> None:
    """Nothing is computed for a folder, a file of vectors, vectors in memory or a planted model of such a name."""
    (tmp_path / "a|b").mkdir()
    (tmp_path / "a|b" / "config.json").write_text('{"model_type": "bert", "architectures": ["BertForMaskedLM"]}')
    (tmp_path / "a|b.txt").write_text("rose 1 2\n")
    folder, file = str(tmp_path / "a|b"), f"vectors:{tmp_path / 'a|b.txt'}"
    for score in (
        lambda: senseprobe.score(folder, "sssb@1.1.0", "aul", out=tmp_path / "results"),
        lambda: senseprobe.score(file, "association@1.1.0", "weat", out=tmp_path / "results"),
        lambda: senseprobe.score(senseprobe.vectors({"rose": [1.0, 2.0]}, name="a|b"), "association@1.1.0", "weat"),
        lambda: senseprobe.plant("sssb@1.1.0", tmp_path / "a|c"),
    ):
        with pytest.raises(ResultError, match=r"has a \| in its name"):
            score()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a|b", "a|b.txt"]


@pytest.mark.parametrize("group", [None, "Japanese"])
def test_a_figure_twice(group: str | None, tmp_path: Path) -> None:
    """Of two figures of one name, a reader would not know which one counts."""
    path, figure = tmp_path / "aul.json", {**FIGURE.as_dict(), "group": group}
    path.write_text(changed(figures=[figure, RESULT.figures[1].as_dict(), {**figure, "value": 3.0}]).decode())
    name = "noun preference-half" + (f" {group}" if group else "")
    with pytest.raises(ResultError, match=f"{name} has two figures"):
        read_result(path)


def test_reasons_are_kept(tmp_path: Path) -> None:
    """Why rows have no number is in the file, which follows the schema, and is read; else the key is not there."""
    told = {"too long for the model": {"rows": 7, "first": ["race.a", "race.b", "noun.c"]}}
    result = replace(RESULT, unscored=told, scored=ScoredRows())
    path = result.write(tmp_path)
    data = json.loads(path.read_bytes())
    assert data["unscored"] == told
    VALIDATOR.validate(data)
    assert read_result(path) == result
    assert result.signature == RESULT.signature
    assert "unscored" not in RESULT.as_dict()


@pytest.mark.parametrize(
    "told",
    [
        {"a": {"rows": 0, "first": []}},
        {"a": {"rows": 1}},
        {"a": {"rows": 9, "first": ["b"] * 6}},
        {"a": {"rows": 1, "first": [1]}},
        {f"{n}": {"rows": 1, "first": []} for n in range(1_001)},
        7,
    ],
)
def test_reasons_that_cannot_be(told: object, tmp_path: Path) -> None:
    """No rows, no ids, or too many of them or of reasons are no result."""
    path = tmp_path / "aul.json"
    path.write_text(json.dumps({**RESULT.as_dict(), "unscored": told}))
    with pytest.raises(ResultError, match="is not a result of senseprobe"):
        read_result(path)


@pytest.mark.parametrize("told", [{"x" * 5000: {"rows": 1, "first": []}}, {"a": {"rows": 1, "first": ["x" * 5000]}}])
def test_reasons_that_are_too_long(told: object, tmp_path: Path) -> None:
    """A page would repeat them, as it does names."""
    path = tmp_path / "aul.json"
    path.write_text(json.dumps({**RESULT.as_dict(), "unscored": told}))
    with pytest.raises(ResultError, match="a name of 5,000 characters: too many"):
        read_result(path)


def test_no_table_without_its_result(tmp_path: Path) -> None:
    """Where there is room for the table and not for the figures, neither is left, nor a folder."""
    table = len(bytes_of(replace(RESULT, figures=()), tmp_path)[1])
    many = replace(RESULT, figures=tuple(replace(FIGURE, group=f"{n}") for n in range(100)), seed=99)
    with files_up_to(2 * table), pytest.raises(ResultError, match="cannot write"):
        many.write(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_links_in_a_circle_are_no_result(tmp_path: Path) -> None:
    """They are told as a file that cannot be read."""
    (tmp_path / "aul.json").symlink_to("aul.json")
    with pytest.raises(ResultError, match="cannot be read: is not a plain file"):
        read_result(tmp_path / "aul.json")


@pytest.mark.parametrize(("rows", "size"), [(25, 10), (30, 7), (9, 100), (10, 1)])
def test_rows_in_parts_are_written_as_those_of_a_table(rows: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame({"config": "jobs", "id": [f"jobs.{n}" for n in range(rows)], "score": np.arange(rows) / 3})
    monkeypatch.setattr(result_module, "GROUP_ROWS", 10)
    sinks = [pa.BufferOutputStream() for _ in range(3)]
    pq.write_table(
        pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata({"signature": "a|b"}),
        sinks[0],
        compression="zstd",
        row_group_size=10,
    )
    parts = [table.iloc[start : start + size] for start in range(0, rows, size)]
    result_module.write_groups(sinks[1], result_module.group_rows(parts), "a|b")
    result_module.write_groups(sinks[2], [pa.Table.from_pandas(table, preserve_index=False)], "a|b")
    assert len({bytes(sink.getvalue()) for sink in sinks}) == 1
