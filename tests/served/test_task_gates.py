"""Gates: a planted model that does the task passes all, and one that is planted to fail a gate fails that alone."""

import json
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.served.planted_chat import PlantedChat, checked_run, planted

import senseprobe
from senseprobe.errors import ResultError
from senseprobe.evaluate import scoring
from senseprobe.evaluate.models import ModelSource
from senseprobe.evaluate.pipeline import rows_of
from senseprobe.evaluate.result import Result, read_result
from senseprobe.evaluate.score_tables import read_scores
from senseprobe.evaluate.scorers import SCORERS, Answers, Unit
from senseprobe.evaluate.scoring import RunOptions
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.served.chat_scorers import TASKS
from senseprobe.evaluate.served.task_records import balanced_accuracy, cronbach_alpha
from senseprobe.evaluate.task_gates import GateReading, TaskRecord
from senseprobe.importers.draft import draft_of
from senseprobe.release.release import Release

CONFIG = "noun-bare"
NOT_DONE = "this model does not do the task"
OF_SERVERS = dict.fromkeys(("size", "censored"), "the server does not show it") | {
    "unchanged": "this model changed during the run"
}
"""What is said where a gate fails that the model does not fail: of noise, of what is not told, of another model."""


@pytest.fixture(scope="module")
def sssb() -> Release:
    """The built-in release."""
    return senseprobe.load("sssb@1.0.1")


@pytest.fixture(scope="module")
def control() -> Release:
    """The control of inference."""
    return senseprobe.load("nli-control@1.0.1")


def score(release: Release, model: PlantedChat, scorer: str, config: str | None = CONFIG, **options: Any) -> Result:  # noqa: ANN401
    """The result of a planted model."""
    limit = options.pop("limit", None)
    job = ScoringJob(release, config, seed=0, version="0", limit=limit)
    return checked_run(job, model, scorer, **options)


def failed(result: Result, config: str = CONFIG) -> set[str]:
    """The gates that have not passed."""
    return {reading.gate for reading in result.tasks[config].failed}


# --- all pass, or one fails -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scorer", ["choice-likely", "choice-say", "answer-likely", "text-likely"])
def test_a_model_that_does_the_task_passes_all_gates(sssb: Release, scorer: str) -> None:
    """All figures have values then, and no note of a gate."""
    result = score(sssb, planted(sssb, [CONFIG]), scorer)

    assert [reading.gate for reading in result.tasks[CONFIG].gates] == list(TASKS[scorer].gates)
    assert result.tasks[CONFIG].does_task, result.tasks[CONFIG].failure
    assert all(figure.value is not None and NOT_DONE not in figure.note for figure in result.figures)


def disagreeing(model: PlantedChat) -> dict[str, Callable[[str, str], float]]:
    """What makes the four alphabets measure four things, of which the mean is the planted content."""
    draws = np.random.default_rng(5)
    moved = {pair: draws.normal(0, 9, 3) for pair in model.contents}
    for (first, second), own in list(moved.items()):
        moved[second, first] = -own
    wobble = {
        name: (lambda first, second, number=number: float(moved[first, second][number]))
        for number, name in enumerate(("AB", "BA", "12"))
    }
    return {**wobble, "21": lambda first, second: -float(moved[first, second].sum())}


CASES: Mapping[str, Callable[[PlantedChat], dict[str, Any]]] = {
    "control": lambda model: {"skill": -8.0},
    "consistent": lambda model: {"position": 6.0},
    "reliability": lambda model: {"wobble": disagreeing(model)},
    "size": lambda model: {"noise": 1.5},
    "mass": lambda model: {"mass": 0.4},
    "censored": lambda model: {"censored": lambda prompt: "1. " in prompt},
    "unchanged": lambda model: {"changed": "its build is another"},
}


@pytest.mark.parametrize("gate", CASES)
def test_a_model_planted_to_fail_a_gate_fails_that_alone(sssb: Release, gate: str) -> None:
    """The figures have no values; where they are asked for they have, with the same note."""
    model = planted(sssb, [CONFIG])
    for name, value in CASES[gate](model).items():
        setattr(model, name, value)
    result = score(sssb, model, "choice-likely")
    shown = score(sssb, model, "choice-likely", show_failing=True)

    assert failed(result) == {gate}
    # Where no answer lacks, the range of the figure is the figure.
    assert (result.tasks[CONFIG].low, shown.tasks[CONFIG].low) == (None, shown.tasks[CONFIG].high)
    assert shown.tasks[CONFIG].low == next(f.value for f in shown.figures if f.estimand == "preference-half")
    assert {figure.value for figure in result.figures} == {None}
    assert {figure.low for figure in result.figures} == {None}
    assert all(figure.value is not None for figure in shown.figures)
    for figure in (*result.figures, *shown.figures):
        assert figure.note.startswith(f"{OF_SERVERS.get(gate, NOT_DONE)}: it fails {gate}")


def test_what_changed_of_a_model_is_said(sssb: Release) -> None:
    result = score(sssb, planted(sssb, [CONFIG], changed="its build is another"), "text-likely")
    (reading,) = result.tasks[CONFIG].failed

    assert reading == GateReading(
        gate="unchanged", read=0.0, bound=None, threshold=1.0, passed=False, said="its build is another"
    )


@pytest.mark.parametrize("changed", ["", "its build is another"])
def test_likelihoods_of_a_server_that_changed_are_withheld(
    sssb: Release, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They ask no task, so that this is their only gate, and the reason does not speak of one."""

    def likelihoods(model: PlantedChat, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:
        yield [(unit, (-float(len(unit.text)),)) for unit in units]

    known = replace(SCORERS["ll"], id="known", score=likelihoods, why=None, combine=None, basis="", parts=())
    monkeypatch.setitem(SCORERS, "known", known)
    result = score(sssb, planted(sssb, [CONFIG], changed=changed, ability="causal"), "known")

    assert failed(result) == ({"unchanged"} if changed else set())
    assert all((figure.value is None) is bool(changed) for figure in result.figures)
    assert all(
        figure.note.startswith("this model changed during the run") is bool(changed) for figure in result.figures
    )
    assert "prompts" not in result.model


def test_a_letter_chooser_fails_as_smollm2_does(sssb: Release) -> None:
    """A place of two nats over contents of .05, as was measured on SmolLM2: no control item, no pair decided."""
    model = planted(sssb, [CONFIG], position=2.0, skill=0.5)
    model.contents = {pair: content / 40 for pair, content in model.contents.items()}
    record = score(sssb, model, "choice-likely").tasks[CONFIG]

    assert {reading.gate for reading in record.failed} == {"control", "consistent"}
    assert (record.gates[0].read, record.gates[0].bound, record.consistent) == (0.0, 0.0, 0.0)
    assert record.gates[0].said == "0 of 40 items"


def test_twenty_eight_of_forty_pass_and_twenty_seven_do_not(sssb: Release) -> None:
    """Clopper & Pearson's lower end of 28 of 40 is .5347, of 27 of 40 .5087, of 26 .4832 (scipy's binomtest)."""
    from scipy.stats import binomtest

    items = TASKS["text-likely"].control_items({CONFIG: sssb.table(CONFIG)}, 0)
    for right, passes in ((28, True), (27, True), (26, False)):
        failing = {q.prompt for q in TASKS["text-likely"].of_items(items[right:])}
        model = planted(sssb, [CONFIG], unanswered=failing.__contains__)
        reading = score(sssb, model, "text-likely").tasks[CONFIG].gates[0]
        low = binomtest(right, 40).proportion_ci(method="exact").low
        assert reading.read == pytest.approx(right / 40)
        assert reading.bound == pytest.approx(low, abs=1e-9)
        assert reading.passed is passes


# --- numbers of the record ------------------------------------------------------------------------------------------


def test_the_record_has_what_is_planted(sssb: Release) -> None:
    """Place, label, mass, noise and spread, the last by numpy on the planted contents."""
    model = planted(sssb, [CONFIG], position=-0.4, prior=0.25, mass=0.75, noise=0.01)
    record = score(sssb, model, "choice-likely").tasks[CONFIG]
    table = sssb.table(CONFIG)
    contents = [model.contents[pair] for pair in zip(table["stereo"], table["anti"], strict=True)]

    assert (record.position, record.prior) == pytest.approx((-0.4, 0.25), abs=1e-6)
    assert (record.mass, record.mass_least, record.censored) == pytest.approx((0.75, 0.75, 0.0), abs=1e-6)
    assert record.floor == pytest.approx(0.01)
    assert record.spread == pytest.approx(np.std(contents, ddof=1), abs=1e-6)
    assert record.consistent == pytest.approx(np.mean(np.abs(contents) > 0.4), abs=1e-6)
    assert record.reliability == pytest.approx(1.0)  # four alphabets alike


def test_cronbachs_alpha_by_hand() -> None:
    """Three rows, two items: (1, 2), (2, 2), (4, 5). Variances 7/3 and 3, that of the sums 3, 4, 9 is 31/3.

    alpha = 2 / 1 · (1 - (7/3 + 3) / (31/3)) = 2 · (1 - 16/31) = 30/31.
    """
    assert cronbach_alpha(np.array([[1.0, 2.0], [2.0, 2.0], [4.0, 5.0]])) == pytest.approx(30 / 31)
    assert cronbach_alpha(np.ones((1, 4))) is None
    assert cronbach_alpha(np.ones((5, 4))) is None


def test_alpha_is_that_of_the_covariance_matrix(sssb: Release) -> None:
    """By numpy's covariances: k / (k - 1) · (1 - trace / sum of all), of the contents as they stand in the rows."""
    model = planted(sssb, [CONFIG])
    model.wobble = disagreeing(model)
    result = score(sssb, model, "choice-likely", show_failing=True)
    assert result.rows is not None
    covariances = np.cov(result.rows[["AB", "BA", "12", "21"]].to_numpy(), rowvar=False)

    expected = 4 / 3 * (1 - np.trace(covariances) / covariances.sum())
    assert result.tasks[CONFIG].reliability == pytest.approx(expected, abs=1e-9)
    assert expected < 0.6


def test_refusals_are_counted_by_group_with_the_range_of_the_figure(sssb: Release) -> None:
    """All four answers about two groups are refused, those of a third cannot be read; the rest is decided."""
    release, config = sssb, "language"
    table = release.table(config)
    groups = list(dict.fromkeys(table["nation"]))
    model = planted(release, [config])
    texts = {name: {*table[table["nation"] == name]["stereo"]} for name in groups}

    def about(*names: str) -> Callable[[str], bool]:
        return lambda prompt: "mentions" not in prompt and any(text in prompt for name in names for text in texts[name])

    model.refuses, model.garbled = about(*groups[:2]), about(groups[2])
    result = score(release, model, "text-likely", config, show_failing=True)
    record, sizes = result.tasks[config], table["nation"].value_counts()

    assert record.refused == {name: 4 * sizes[name] for name in groups[:2]}
    assert record.unparsed == {groups[2]: 4 * sizes[groups[2]]}
    labelled = table[(table["label_basis"] != "none") & table["label_basis"].notna() & ~table["contested"]]
    decided = labelled[~labelled["nation"].isin(groups[:3])]
    psi = [
        0.5 if abs(content := model.contents[pair]) <= 0.5 else float(content > 0)
        for pair in zip(decided["stereo"], decided["anti"], strict=True)
    ]
    lacking = len(labelled) - len(decided)
    low, high = (100 * (sum(psi) + ends) / len(labelled) - 50 for ends in (0, lacking))
    assert (record.low, record.high) == pytest.approx((low, high), abs=1e-6)
    half = next(f for f in result.figures if f.estimand == "preference-half" and f.group is None)
    assert half.value == pytest.approx(100 * sum(psi) / len(psi) - 50)
    assert half.unscored == lacking


def test_contradictions_are_counted_and_the_label_counts(sssb: Release) -> None:
    model = planted(sssb, [CONFIG], contradicts=lambda prompt: "nurse" in prompt and "mentions" not in prompt)
    with_quotes, without = (
        score(sssb, one, "text-likely", show_failing=True) for one in (model, planted(sssb, [CONFIG]))
    )

    assert sum(with_quotes.tasks[CONFIG].contradictions.values()) > 0
    assert without.tasks[CONFIG].contradictions == {}
    assert [f.value for f in with_quotes.figures] == [f.value for f in without.figures]


def test_pairs_without_answers_are_counted_by_group(sssb: Release) -> None:
    """A choice has no words to refuse with: pairs that got no answer count; the figure could be 1 / 60 either way."""
    model = planted(sssb, [CONFIG])
    first = next(iter(model.contents))
    model.unanswered = lambda prompt: all(text in prompt for text in first)
    result = score(sssb, model, "choice-likely")
    record = result.tasks[CONFIG]

    assert sum(record.refused.values()) == 1
    assert record.low is not None
    assert record.high is not None
    assert record.high - record.low == pytest.approx(100 / 60, abs=1e-6)


# --- gates that cannot be read --------------------------------------------------------------------------------------


def test_gates_fail_closed_where_nothing_was_scored(sssb: Release) -> None:
    """No answer at all: every gate but the model's identity fails, and the numbers are none."""
    result = score(sssb, planted(sssb, [CONFIG], unanswered=lambda prompt: True), "choice-likely")

    assert failed(result) == {"control", "consistent", "reliability", "size", "mass", "censored"}
    assert result.tasks[CONFIG].spread is None
    json.dumps(result.as_dict(), allow_nan=False)


def test_a_pair_whose_mass_is_no_number_has_no_score(sssb: Release) -> None:
    """The gate reads the masses of the others, and fails where there are none."""
    result = score(sssb, planted(sssb, [CONFIG], mass=math.nan), "choice-likely")
    mass = next(reading for reading in result.tasks[CONFIG].gates if reading.gate == "mass")
    assert (mass.read, mass.passed) == (None, False)
    rows = len(sssb.table(CONFIG, spans=False))
    assert sum(gap["rows"] for gap in result.unscored.values()) == rows

    class Half(PlantedChat):
        @property
        def mass(self) -> float:
            return math.nan if len(self.asked) % 200 < 100 else 0.9

        @mass.setter
        def mass(self, value: float) -> None:
            pass

    whole = planted(sssb, [CONFIG])
    half = score(sssb, Half(contents=whole.contents, position=0.3), "choice-likely")
    assert 0 < sum(gap["rows"] for gap in half.unscored.values()) < rows


def test_a_model_without_noise_and_without_contents_has_no_size(sssb: Release) -> None:
    """0 is not three times 0."""
    model = planted(sssb, [CONFIG])
    model.contents = dict.fromkeys(model.contents, 0.0)
    assert failed(score(sssb, model, "choice-likely")) == {"consistent", "reliability", "size"}


def test_a_contrast_fails_with_either_of_its_configs(sssb: Release) -> None:
    """Place outweighs the contents of `verb` alone: `noun` keeps its figures, and their contrast has none."""
    model = planted(sssb, sssb.configs)
    table = sssb.table("verb")
    for pair in zip(table["stereo"], table["anti"], strict=True):
        for one in (pair, pair[::-1]):
            model.contents[one] /= 50  # type: ignore[index]
    result = score(sssb, model, "choice-likely", None)
    values = {figure.config: figure.value for figure in result.figures}

    assert failed(result, "verb") == {"consistent"}
    assert values["verb"] is None
    assert values["noun-verb"] is None
    assert values["noun"] is not None
    assert values["race-colour"] is not None


# --- inference ------------------------------------------------------------------------------------------------------


Gold = dict[tuple[str, str], str]


@pytest.fixture(scope="module")
def gold(control: Release) -> Gold:
    """The right options of the rows of the control that are drawn below."""
    jobs = (ScoringJob(control, name, 0, "0", limit=limit) for name, limit in ((control.configs[0], 40), (None, 200)))
    tables = [table for job in jobs for table in rows_of(job, SCORERS["nli-chat"]).values()]
    return {(str(row.premise), str(row.hypothesis)): str(row.gold) for table in tables for row in table.itertuples()}


def inferring(gold: Gold, **facts: Any) -> PlantedChat:  # noqa: ANN401
    """A model that knows these options."""
    return PlantedChat(**{"gold": gold, "portion": 64, **facts})


def test_balanced_accuracy_by_hand() -> None:
    """Entailment 1 of 2, contradiction 1 and a tie of two of 2: (.5 + .75) / 2. One gold label has none."""
    rows = pd.DataFrame(
        {
            "gold": ["entailment", "entailment", "contradiction", "contradiction", "neutral"],
            "entailment": [0.8, 0.2, 0.1, 0.4, math.nan],
            "neutral": [0.1, 0.7, 0.1, 0.2, math.nan],
            "contradiction": [0.1, 0.1, 0.8, 0.4, math.nan],
        }
    )
    assert balanced_accuracy([rows]) == pytest.approx(0.625)
    assert balanced_accuracy([rows[:2]]) is None
    assert balanced_accuracy([rows.drop(columns="gold")]) is None
    assert balanced_accuracy([]) is None


def test_a_model_that_always_entails_or_follows_the_place_fails(control: Release, gold: Gold) -> None:
    """Entailment is right in half of the gold labels; a place of 9 nats beats an option of 8 in all orders."""
    config = control.configs[0]
    always = inferring(gold)
    always.gold = dict.fromkeys(always.gold, "entailment")
    result = score(control, always, "nli-chat", config, limit=40)
    assert failed(result, config) == {"accuracy"}
    assert result.tasks[config].gates[0].read == 0.5

    placed = score(control, inferring(gold, place_bias=(9.0, 0.0, 0.0)), "nli-chat", config, limit=40)
    reading = next(reading for reading in placed.tasks[config].gates if reading.gate == "places")
    assert failed(placed, config) == {"places"}
    assert (reading.read, reading.bound) == (0.0, 1.0)
    accuracy = next(figure for figure in placed.figures if figure.group is None)
    assert accuracy.value == 100  # a share of right answers is no figure of bias


def test_probes_are_gated_by_the_control_which_is_asked_first(
    control: Release, gold: Gold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the control, or where the model is not right on it, figures of a probe are withheld."""
    rows = pd.DataFrame({"premise": [f"A man {n} is here." for n in range(9)], "hypothesis": "A rude man is here."})
    probe = draft_of(rows.assign(gold="neutral"))
    model = inferring(gold)
    model.gold = {**model.gold, **dict.fromkeys(zip(rows["premise"], rows["hypothesis"], strict=True), "neutral")}
    monkeypatch.setattr(ModelSource, "open", lambda source, ability: model)
    monkeypatch.setattr(scoring, "_check_abilities", lambda job, source: None)
    monkeypatch.setattr(scoring, "fitting_scorers", lambda source, scorers: scorers)
    job = ScoringJob(probe, None, seed=0, version="0")
    options = RunOptions(None, stored=False, warn=lambda text: None, progress=None)
    alone = scoring.score(job, ModelSource("planted"), ["nli-chat"], options)
    both = scoring.score(job, ModelSource("planted"), ["nli-chat"], options, lambda: ScoringJob(control, None, 0, "0"))

    assert failed(alone[0], probe.configs[0]) == {"accuracy"}
    assert [result.release["name"] for result in both] == [probe.manifest.name, "nli-control@1.0.1"]
    assert both[0].tasks[probe.configs[0]].does_task
    assert both[1].limit == 200


# --- in files -------------------------------------------------------------------------------------------------------


def test_records_go_into_files_and_come_back(sssb: Release, tmp_path: Path) -> None:
    """With the rows and all their columns; the signature names the version of the prompts."""
    result = score(sssb, planted(sssb, [CONFIG], position=6.0), "choice-likely")
    path = result.write(tmp_path)
    read = read_result(path)
    rows = read_scores(path, read)

    assert read.tasks == result.tasks
    assert read.signature == result.signature
    assert "|prompts=1|" in read.signature
    assert rows is not None
    assert result.rows is not None
    pd.testing.assert_frame_equal(rows, result.rows)


@pytest.mark.parametrize(
    "change",
    [
        {"position": 1e12},
        {"consistent": 2.0},
        {"refused": {"x" * 5000: 1}},
        {"refused": {"he": -1}},
        {"mass": "much"},
        {"low": -160.0},
        {"gates": [{"gate": "control"}]},
        {"gates": "none"},
        {"gates": [{"gate": "g", "read": 1e300, "bound": None, "threshold": 0.5, "passed": True}]},
        {"gates": [{"gate": "g", "read": 0.5, "bound": None, "threshold": 0.5, "passed": True, "said": "x" * 5000}]},
        {"gates": [{"gate": "g", "read": 0.5, "bound": None, "threshold": 0.5, "passed": True}] * 101},
    ],
)
def test_records_that_cannot_be_are_refused(sssb: Release, tmp_path: Path, change: dict[str, Any]) -> None:
    result = score(sssb, planted(sssb, [CONFIG]), "text-likely")
    path = result.write(tmp_path)
    data = json.loads(path.read_text())
    data["tasks"][CONFIG] |= change
    path.write_text(json.dumps(data))
    with pytest.raises(ResultError):
        read_result(path)


def test_nan_in_a_record_is_refused(sssb: Release, tmp_path: Path) -> None:
    path = score(sssb, planted(sssb, [CONFIG]), "text-likely").write(tmp_path)
    path.write_text(path.read_text().replace('"position": null', '"position": NaN'))
    with pytest.raises(ResultError):
        read_result(path)


# --- what is said ---------------------------------------------------------------------------------------------------


def test_no_gate_is_not_all() -> None:
    assert not TaskRecord().does_task
    assert TaskRecord().failure == f"{NOT_DONE}: the result has no gates"
    passed = GateReading(gate="mass", read=1.0, bound=None, threshold=0.5, passed=True)
    assert TaskRecord(gates=(passed,)).failure == ""
    assert not TaskRecord(gates=(passed, replace(passed, passed=False))).does_task


def test_models_that_keep_answers_have_no_store_of_scores(sssb: Release) -> None:
    options = RunOptions(None, stored=True, warn=lambda text: None, progress=None)
    model: Any = planted(sssb, [CONFIG])
    model.keeps_answers = True
    with options.store(model, SCORERS["choice-likely"]) as store:
        assert store is None
