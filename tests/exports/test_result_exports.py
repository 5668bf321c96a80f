"""Results for Every Eval Ever and the Hub: what is exported, what is not, and that both formats take it.

Expected values: distances by hand; Every Eval Ever's own JSON Schema, from its wheel; huggingface_hub's parser and
PyYAML, which share no code with what writes; a record written out by hand.
"""

import json
import os
import uuid
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]
from huggingface_hub import parse_eval_result_entries
from tests.commands import Typed, typing

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import CATALOGUE
from senseprobe.evaluate.exports.api import export_every_eval_ever, export_hub_results
from senseprobe.evaluate.exports.distances import ExportSource, find_distances, parse_time
from senseprobe.evaluate.fitness import Fitness
from senseprobe.evaluate.result import Result
from senseprobe.records import Figure

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}
ACCURACY = next(name for name, estimand in CATALOGUE.items() if estimand.needs_gold)
PROBE = next(name for name, estimand in CATALOGUE.items() if estimand.needs_control)
CONTROL = "nli-control@1.0.1/org--model/nli.json"


def figure(estimand: str, value: float, low: float | None, high: float | None, **fields: object) -> Figure:
    """A figure of the config `verb` over 100 rows, of the newest definition."""
    about = {"config": "verb", "sense_type": "verb", "neutral": 0.0, "definition": CATALOGUE[estimand].version}
    counts = {"rows": 100, "scored": 98, "unscored": 2, "ties": 1, "method": "none" if low is None else "projection"}
    return Figure(**{**about, **counts, "estimand": estimand, "value": value, "low": low, "high": high, **fields})  # type: ignore[arg-type]


def result(*figures: Figure, scorer: str = "aul", release: str = "sssb@1.0.2", **fields: object) -> Result:
    """A result of a model of the Hub."""
    model = {**MODEL, "revision": "0" * 40}
    named = {"name": release, "content": "d" * 64, "config": None}
    about: dict[str, Any] = {"model": model, "release": named, "senseprobe": "0.2.0", "seed": 7, "date": "2026-01-30"}
    return Result(scorer=scorer, figures=figures, **{**about, **fields})


STEREOTYPE = figure("pronoun-stereotype", -20.0, -30.0, -5.0, p=0.25, levels={"verb": 9}, fixed=("frame",), note="n.")
UNKNOWN = figure("preference-half", 12.0, None, None, neutral=None)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line."""
    return typing(monkeypatch, capfd)


@pytest.mark.parametrize(
    ("figures", "distance"),
    [
        ((1.5, -10.0, 13.0), (1.5, 0.0, 13.0)),
        ((-20.0, -30.0, -5.0), (20.0, 5.0, 30.0)),
        ((4.0, 0.0, 9.0), (4.0, 0.0, 9.0)),
        ((-3.0, -14.0, 6.0), (3.0, 0.0, 14.0)),
        ((8.0, None, None), (8.0, None, None)),
    ],
)
def test_distances_and_intervals(figures: Sequence[Any], distance: tuple[float, ...]) -> None:
    """By hand: the interval of |x| is the image of that of x."""
    ((found,), left_out) = find_distances(ExportSource(result(figure("pronoun-stereotype", *figures))))
    assert (found.value, found.low, found.high) == distance
    assert (found.most, left_out) == (50.0, [])


def test_a_neutral_value_that_is_not_zero() -> None:
    """Of a figure in [-50, 50] that is neutral at 10: 12 less 10 is 2, and the largest distance is 60, from -50."""
    ((found,), _) = find_distances(ExportSource(result(figure("preference-half", 12.0, 11.0, 30.0, neutral=10.0))))
    assert (found.value, found.low, found.high, found.most) == (2.0, 1.0, 20.0, 60.0)


@pytest.mark.parametrize(
    ("scored", "reason"),
    [
        (result(UNKNOWN), "aul: no value is known to mean no bias: verb (preference-half)"),
        (result(figure("spread", 4.0, None, None)), "only with its p: verb (spread)"),
        (result(replace(STEREOTYPE, definition=1)), "a different definition"),
        (result(replace(STEREOTYPE, estimand="of-a-plug-in")), "a plug-in that is not installed"),
        (result(replace(STEREOTYPE, value=None, note="no rows were scored")), "no rows were scored: verb"),
        (result(STEREOTYPE, scorer="planted"), "org/model: a planted truth is not a score of the model"),
        (result(replace(STEREOTYPE, group="nurse")), "of single groups, and only figures of whole configs are"),
        (result(STEREOTYPE, fitness={"verb": Fitness(rows=100, unknown=60)}), "60 % of its rows hold words"),
    ],
)
def test_nothing_is_exported_without_a_reason_to(scored: Result, reason: str, tmp_path: Path) -> None:
    """It is named, with the reason; where nothing is left nothing is written."""
    assert find_distances(ExportSource(scored))[0] == []
    with pytest.raises(ResultError, match="nothing can be exported") as refused:
        export_every_eval_ever(scored, tmp_path / "out")
    assert reason in str(refused.value)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("right", "exported"), [(None, 0), ((50.0, 49.0, 51.0), 0), ((90.0, 88.0, 92.0), 1), ((100.0, None, None), 0)]
)
def test_a_model_of_inference_needs_its_control(right: Any, exported: int, tmp_path: Path) -> None:  # noqa: ANN401
    """One that always says neutral has no gap between words: distance 0, the best there is. Its control tells."""
    gap = replace(figure("gap", 0.0, -1.0, 1.0), estimand="gap:he-she")
    probe = result(gap, figure(PROBE, 100.0, 99.0, 100.0, neutral=None), scorer="nli", release="nli-occupation@1.1.0")
    path = probe.write(tmp_path / "nli-occupation@1.1.0" / "org--model")
    if right:
        on_control = result(figure(ACCURACY, *right, neutral=None), scorer="nli", release="nli-control@1.0.1")
        on_control.write(tmp_path / "nli-control@1.0.1" / "org--model")
    if exported:
        files = export_every_eval_ever(path, tmp_path / "out").files
        assert [entry["score_details"]["score"] for entry in record(files)["evaluation_results"]] == [0.0]
        assert b"value: 0.000000" in [*export_hub_results(path, tmp_path / "hub", dataset="jane/nli").files.values()][1]
        two = replace(probe, figures=(*probe.figures, replace(gap, estimand="gap:he-they")))
        with pytest.raises(ResultError, match="no config's main figure"):  # of two, neither is the main one
            export_hub_results([two, tmp_path / CONTROL], tmp_path / "two", dataset="jane/nli")
    else:
        with pytest.raises(ResultError, match="nli-control"):
            export_every_eval_ever(path, tmp_path / "out")


def record(files: Any) -> Any:  # noqa: ANN401 - JSON
    """The one record of an export."""
    (data,) = files.values()
    return json.loads(data)


def test_a_record_is_what_one_would_write_by_hand(tmp_path: Path) -> None:
    """All of it, of one figure with an interval; the file lies where Every Eval Ever's data store has it."""
    scored = result(STEREOTYPE, UNKNOWN)
    estimand = CATALOGUE["pronoun-stereotype"]
    files = export_every_eval_ever(scored, tmp_path / "out", dataset="jane/sssb@v1.0.2", retrieved="2026-01-31").files
    (path,) = files
    assert path.startswith("data/sssb_1.0.2/org/model/")
    assert uuid.UUID(Path(path).stem).version == 4, "as their validator asks"
    assert (tmp_path / "out" / path).read_bytes() == files[path]
    assert record(files) == {
        "schema_version": "0.3.0",
        "evaluation_id": "sssb@1.0.2:aul/org/model/1769817600",
        "evaluation_timestamp": "2026-01-30",
        "retrieved_timestamp": "1769817600",
        "source_metadata": {
            "source_name": "senseprobe",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": {"signature": scored.signature},
        },
        "eval_library": {"name": "senseprobe", "version": "0.2.0", "additional_details": {}},
        "model_info": {
            "name": "org/model",
            "id": "org/model",
            "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": "open_weights",
                **{key: text for key, text in scored.model.items() if key != "name"},
            },
        },
        "evaluation_results": [
            {
                "evaluation_result_id": "aul/verb/pronoun-stereotype",
                "evaluation_name": "sssb@1.0.2:verb",
                "source_data": {
                    "dataset_name": "sssb@1.0.2",
                    "source_type": "hf_dataset",
                    "hf_repo": "jane/sssb",
                    "hf_split": "test",
                    "samples_number": 100,
                    "additional_details": {"release": "sssb@1.0.2", "content": "d" * 64, "revision": "v1.0.2"},
                },
                "metric_config": {
                    "evaluation_description": f"{estimand.says} The exported value is its distance from the "
                    f"neutral value, 0. {estimand.cannot_say}",
                    "metric_id": "senseprobe.pronoun-stereotype.distance",
                    "metric_name": f"{estimand.title}: distance from the neutral value",
                    "metric_kind": "distance_from_neutral",
                    "metric_unit": "points",
                    "metric_parameters": {
                        "scorer": "aul", "scorer_version": 1, "definition": 3, "neutral": 0.0, "seed": 7,
                    },
                    "lower_is_better": True,
                    "score_type": "continuous",
                    "min_score": 0,
                    "max_score": 50,
                },
                "score_details": {
                    "score": 20.0,
                    "uncertainty": {
                        "confidence_interval": {
                            "lower": 5.0,
                            "upper": 30.0,
                            "confidence_level": 0.95,
                            "method": "projection, of the signed figure; its image under the distance",
                        },
                        "num_samples": 98,
                    },
                    "details": {
                        "signed_value": "-20", "signed_low": "-30", "signed_high": "-5", "neutral": "0", "p": "0.25",
                        "rows": "100", "scored": "98", "ties": "1", "direction": estimand.direction,
                        "generalises_over": "verb (9)", "does_not_generalise_over": "frame", "note": "n.",
                    },
                },
            }
        ],
    }  # fmt: skip


@pytest.mark.system
def test_every_eval_evers_schema_takes_it(tmp_path: Path) -> None:
    """The schema of the package that .ci/run has downloaded, for results with all that a record can have."""
    (wheel,) = Path(os.environ["SENSEPROBE_TEST_PACKAGES"]).glob("every_eval_ever-*.whl")
    schema = json.loads(zipfile.ZipFile(wheel).read("every_eval_ever/schemas/eval.schema.json"))
    validator = jsonschema.Draft7Validator(schema)
    bare = replace(result(figure("gap", 3.0, None, None)), limit=400, libraries={"torch": "2"}, model=MODEL)
    for number, (scored, dataset) in enumerate([(result(STEREOTYPE), ""), (bare, "jane/sssb"), (hostile(), "")]):
        told = record(export_every_eval_ever(scored, tmp_path / str(number), dataset=dataset).files)
        assert [error.message for error in validator.iter_errors(told)] == []
        del told["evaluation_results"][0]["metric_config"]["lower_is_better"]
        assert [error.message for error in validator.iter_errors(told)] == ["'lower_is_better' is a required property"]


def hostile() -> Result:
    """A result whose names are somebody's attempt at YAML, paths and terminals."""
    name = '../../x: "y"\n- !!python/name:os.system \x1b[2J'
    figures = (replace(figure, config=name, note=name) for figure in (STEREOTYPE, UNKNOWN))
    scored = result(*figures, release=f"{name}@1.0.0")
    return replace(scored, model={**MODEL, "name": name, "revision": "0" * 40})


def test_the_same_results_make_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the time is stated, by option or by SOURCE_DATE_EPOCH; another time is another file."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1769817600")
    first = export_every_eval_ever([result(STEREOTYPE)], tmp_path / "a").files
    assert first == export_every_eval_ever([result(STEREOTYPE)], tmp_path / "b", retrieved="2026-01-31").files
    assert first.keys() != export_every_eval_ever([result(STEREOTYPE)], tmp_path / "c", retrieved="0").files.keys()
    with pytest.raises(ResultError, match="'soon' is not a time"):
        parse_time("soon")


def test_hub_results_are_what_the_hubs_client_reads(tmp_path: Path) -> None:
    """A task is a config; its value, that of the config's main figure; the dataset's file names every task."""
    baseline = figure("pronoun-baseline", 1.0, None, None)
    noun = replace(STEREOTYPE, config="noun", value=1e-7)
    scored = result(*(replace(UNKNOWN, config=name) for name in ("race", "verb", "noun")), STEREOTYPE, baseline, noun)
    exported = export_hub_results(scored, tmp_path / "hub", dataset="jane/sssb@v1.0.2")
    assert [*exported.files] == ["dataset/eval.yaml", "models/org/model/.eval_results/sssb-aul.yaml"]
    tasks = yaml.safe_load((tmp_path / "hub/dataset/eval.yaml").read_text("utf-8"))
    assert tasks["tasks"] == [{"id": name, "config": name, "split": "test"} for name in ("verb", "noun")]
    assert tasks.keys() == {"name", "description", "evaluation_framework", "tasks"}

    data = yaml.safe_load((tmp_path / "hub/models/org/model/.eval_results/sssb-aul.yaml").read_text("utf-8"))
    verb, noun_entry = parse_eval_result_entries(data)
    assert (verb.dataset_id, verb.task_id, verb.dataset_revision) == ("jane/sssb", "verb", "v1.0.2")
    assert verb.date == "2026-01-30"
    assert (verb.value, noun_entry.value) == (20.0, 0.0), "a number, also where it is next to nothing"
    assert "pronoun-stereotype -20.0 [-30.0, -5.0], neutral at 0" in str(verb.notes)
    assert scored.signature in str(verb.notes)


def test_names_of_others_stay_texts(tmp_path: Path) -> None:
    """No path leads out of the folder, and YAML's own readers give the names back."""
    scored = hostile()
    every = export_every_eval_ever(scored, tmp_path / "eee", retrieved="0")
    hub = export_hub_results(scored, tmp_path / "hub", dataset="jane/sssb")
    for name in (*every.files, *hub.files):
        assert not {"..", ""} & {*name.split("/")}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["eee", "hub"]
    (entry,) = yaml.safe_load([*hub.files.values()][1])
    assert entry["dataset"]["task_id"] == scored.figures[0].config
    left = find_distances(ExportSource(replace(scored, figures=(replace(UNKNOWN, config="a\x1b[2J"),))))[1]
    assert all(line.isprintable() for line in left)


def test_the_commands(run: Typed, tmp_path: Path) -> None:
    """What was written is named, and what was not, with the reason; misuse is one message and writes nothing."""
    path = str(result(STEREOTYPE, UNKNOWN).write(tmp_path))
    other = str(result(STEREOTYPE, UNKNOWN, scorer="pll").write(tmp_path))
    file, out = str(tmp_path / "one.json"), str(tmp_path / "hub")
    done = run("export", "eee", path, "-o", file, "--retrieved", "0", "--organization", "Us", "--model", "our/model")
    assert (done.code, done.out) == (0, f"{file}\n")
    assert "not exported: aul: no value is known to mean no bias: verb (preference-half)" in done.err
    assert json.loads(Path(file).read_bytes())["model_info"]["id"] == "our/model"
    done = run("export", "hub-eval", path, other, "-o", out, "--dataset", "jane/sssb")
    assert (done.code, len(done.out.splitlines())) == (0, 3)

    hub = ("export", "hub-eval", path)
    (tmp_path / "empty").mkdir()
    for words, message in [
        ((*hub, "-o", out, "--dataset", "jane/sssb"), "exists and is not overwritten: choose a new folder"),
        ((*hub, "-o", f"{out}2", "--dataset", "../sssb"), "expected USER/NAME"),
        ((*hub, path, "-o", f"{out}2", "--dataset", "jane/sssb", "--model", "nobody"), "expected USER/NAME"),
        (("export", "eee", path, other, "-o", file), "2 files need a folder"),
        (("export", "eee", path, "-o", f"{out}2", "--relationship", "friends"), "expected first_party, third_party"),
        (("export", "eee", path, "-o", f"{out}2", "--retrieved", "soon"), "'soon' is not a time"),
        (("export", "eee", str(tmp_path / "empty"), "-o", f"{out}2"), "no results in"),
    ]:
        refused = run(*words)
        assert (refused.code, message in refused.message) == (2, True), refused.err
    assert not Path(f"{out}2").exists()
