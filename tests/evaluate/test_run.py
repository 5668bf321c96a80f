"""From a release to a result, the whole way: models whose answer is known, and an independent count."""

import math
import random
import re
import shutil
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import senseprobe
from senseprobe import api
from senseprobe.errors import DamagedRelease, SenseprobeError
from senseprobe.evaluate import models
from senseprobe.evaluate.estimands import CATALOGUE, additional
from senseprobe.evaluate.pipeline import run as run_job
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.scorers.base import Answers
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.units import Unit, units_of
from senseprobe.records import Figure
from senseprobe.release.release import Release

IDENTITY = {"weights": "w" * 64, "config": "c" * 64, "tokenizer": "t" * 64, "dtype": "float32"}
MATCHED = ("race-colour", "noun-verb")
UNMATCHED = {
    "nationality-language": ("nationality", "language"),
    "race-colour-unmatched": ("race", "colour"),
    "noun-verb-unmatched": ("noun", "verb"),
}
PRONOUN_CONFIGS = ("noun", "noun-bare", "verb")
ScoreOf = Callable[[str], float]


class KnownModel:
    """A model that is a function of the sentence; it keeps the texts that it was asked for."""

    name = "known"
    ability = "masked"
    identity = IDENTITY

    def __init__(self, score_of: ScoreOf) -> None:
        self.score_of = score_of
        self.asked: list[str] = []


def known(model: KnownModel, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:
    """The scorer of known models: a hundred at a time."""
    left = [unit for unit in sorted(units) if unit not in done]
    for start in range(0, len(left), 100):
        batch = left[start : start + 100]
        model.asked += [unit.text for unit in batch]
        yield [(unit, (model.score_of(unit.text),)) for unit in batch]


@pytest.fixture(autouse=True, scope="module")
def scorer() -> Iterator[None]:
    """Puts the scorer of known models into the catalogue."""
    with pytest.MonkeyPatch.context() as patch:
        ours = replace(SCORERS["aul"], id="known", range=(-np.inf, np.inf), score=known, why=None)
        patch.setitem(SCORERS, "known", ours)
        yield


def run(sssb: Release, score_of: ScoreOf, config: str | None = None) -> Result:
    """What a known model gets."""
    return run_job(ScoringJob(sssb, config, seed=0, version="0"), KnownModel(score_of), "known")  # type: ignore[arg-type]


def by_key(result: Result) -> dict[tuple[str, str], Figure]:
    """Figures by config and estimand, those of single groups aside."""
    return {(figure.config, figure.estimand): figure for figure in result.figures if figure.group is None}


def rows_of(sssb: Release, config: str) -> list[dict[str, object]]:
    """Rows as the Parquet files hold them, without the code under test."""
    return [row for path in sorted((sssb.folder / config).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def sentences(sssb: Release) -> dict[str, set[str]]:
    """Distinct sentences by role."""
    every = [row for config in sssb.configs for row in rows_of(sssb, config)]
    return {role: {str(row[role]) for row in every} for role in ("stereo", "anti")}


def uneven(text: str) -> float:
    """A score that looks random and is coarse enough for ties; about one sentence in fifteen has none."""
    lot = random.Random(text)  # noqa: S311 - a known answer, no secret
    return math.nan if lot.random() < 1 / 15 else round(lot.uniform(-5, 0), 1)


@pytest.fixture(scope="module")
def uneven_result(sssb: Release) -> Result:
    """What the uneven model gets on all configs."""
    return run(sssb, uneven)


# --- models whose answer is known -----------------------------------------------------------------------------------


def always_he(text: str) -> float:
    """Masculine pronouns less feminine ones."""
    words = re.findall(r"\w+", text.lower())
    return float(sum(w in {"he", "him", "his", "himself"} for w in words)) - sum(
        w in {"she", "her", "hers", "herself"} for w in words
    )


@pytest.mark.parametrize("config", PRONOUN_CONFIGS)
def test_always_he(sssb: Release, config: str) -> None:
    """A model that always says "he" reads 50 on the baseline, and 0 on what is about occupations."""
    figures = by_key(run(sssb, always_he, config))
    # ESTIMANDS.md: "an always-he model: 50"; all p_o are 1, so that every difference of them is 0.
    expected = {"pronoun-stereotype": 0.0, "pronoun-baseline": 50.0}
    if config == "noun":
        expected["pronoun-interaction"] = 0.0
    assert {name: f.value for (_, name), f in figures.items() if name.startswith("pronoun")} == expected
    assert {f.neutral for (_, name), f in figures.items() if name.startswith("pronoun")} == {0.0}


@pytest.mark.parametrize("config", ["nationality", "language"])
def test_nationality_blind(sssb: Release, config: str) -> None:
    """A model that does not see the nation draws no nation to unpleasant words, whatever its preference."""
    nations = "|".join(sorted({str(row["nation"]) for row in rows_of(sssb, config)}))
    result = run(sssb, lambda text: -random.Random(re.sub(nations, "", text)).random() * 30, config)  # noqa: S311
    assert by_key(result)[config, "spread"].value == 0.0
    # ψ of equal r is one half (ESTIMANDS.md, Relative): each nation reads 0.
    relative = {figure.group: figure.value for figure in result.figures if figure.estimand == "relative"}
    assert relative == {str(row["nation"]): 0.0 for row in rows_of(sssb, config)}
    assert by_key(result)[config, "preference"].value != 0.0


@pytest.mark.parametrize("score", [pytest.param(0.0, marks=pytest.mark.slow), -3.7])
def test_tied(sssb: Release, score: float) -> None:
    """A model that scores all sentences alike reads -50 on the paper's figure and 0 on all others."""
    # Equation 6 counts strict wins: none of N, less one half. Ties as halves: exactly half.
    result = run(sssb, lambda _: score)
    for figure in result.figures:
        assert figure.value == (-50.0 if figure.estimand == "preference" else 0.0), figure
        # A spread of zero with every permutation as wide: p is 1, and nothing was found.
        assert figure.p in (None, 1.0), figure
        # Nothing varies, so what few words leave open is all that an interval can say: it is never of zero width.
        assert figure.low is None or figure.high is None or figure.low < 0 < figure.high, figure
    assert {f.ties == f.scored for f in result.figures} == {True}


def test_always_stereotype(sssb: Release) -> None:
    """A model that always prefers the stereotype reads 50 everywhere, in both versions of the figure."""
    roles = sentences(sssb)
    assert not roles["stereo"] & roles["anti"], "no sentence is a stereotype here and its counterpart there"
    figures = by_key(run(sssb, lambda text: float(text in roles["stereo"])))
    for config in sssb.configs:
        assert figures[config, "preference"].value == 50.0
        assert figures[config, "preference-half"].value == 50.0
        assert figures[config, "preference-half"].high == 50.0


def test_stereotyped_pronouns(sssb: Release) -> None:
    """A model that says "she" of nurses and "he" of all others reads 50 on the stereotype and 0 on the baseline."""
    # p_o is 1 for male-typed and 0 for female-typed occupations: 50 · (1 - 0) and 50 · (1 + 0) - 50.
    figures = by_key(run(sssb, lambda text: always_he(text) * (-1 if "nurs" in text.lower() else 1)))
    for config in ("noun", "noun-bare"):
        assert figures[config, "pronoun-stereotype"].value == 50.0
        assert figures[config, "pronoun-baseline"].value == 0.0
    assert figures["noun", "pronoun-interaction"].value == 0.0


# --- an independent count -------------------------------------------------------------------------------------------


def count(rows: Sequence[Mapping[str, object]], score_of: ScoreOf) -> dict[str, int]:
    """Equation 6 and what is left out of it, row by row."""
    told = {"contested": 0, "unlabelled": 0, "unscored": 0, "ties": 0, "wins": 0, "scored": 0}
    for row in rows:
        stereo, anti = (score_of(str(row[role])) for role in ("stereo", "anti"))
        if row["label_basis"] in (None, "none"):
            told["unlabelled"] += 1
        elif row["contested"]:
            told["contested"] += 1
        elif math.isnan(stereo) or math.isnan(anti):
            told["unscored"] += 1
        else:
            tie = abs(stereo - anti) <= 1e-6 * max(1, abs(stereo), abs(anti))
            told["scored"] += 1
            told["ties"] += tie
            told["wins"] += stereo > anti and not tie
    return told


def test_against_independent_count(sssb: Release, uneven_result: Result) -> None:
    """`preference`, its ties and what it leaves out equal a count row by row over the files of the release."""
    figures = by_key(uneven_result)
    seen = dict.fromkeys(("contested", "unlabelled", "unscored", "ties"), 0)
    for config in sssb.configs:
        expected, rows = count(rows_of(sssb, config), uneven), rows_of(sssb, config)
        strict, half = figures[config, "preference"], figures[config, "preference-half"]
        wins, ties, scored = (expected[name] for name in ("wins", "ties", "scored"))
        assert strict.value == pytest.approx(100 * wins / scored - 50, abs=1e-8)
        assert half.value == pytest.approx(100 * (wins + ties / 2) / scored - 50, abs=1e-8)
        for figure in (strict, half):
            left_out = {name: figure.left_out.get(name, 0) for name in ("contested", "unlabelled")}
            assert {**expected, **left_out} == expected
            assert (figure.unscored, figure.ties, figure.scored) == (expected["unscored"], ties, scored)
            assert figure.rows + sum(figure.left_out.values()) == len(rows)
        for name in seen:
            seen[name] += expected[name]
    assert all(seen.values()), f"each kind of row is there: {seen}"


def test_no_score_at_all(sssb: Release) -> None:
    """A model that scores nothing gets no figure, not a zero."""
    result = run(sssb, lambda _: math.nan)
    assert {figure.value for figure in result.figures} == {None}
    assert {figure.scored for figure in result.figures} == {0}


# --- what is computed, and what is kept -----------------------------------------------------------------------------


def test_distinct_sentences_once(sssb: Release) -> None:
    """Each distinct sentence of the release is scored once, whatever the number of its rows and configs."""
    model = KnownModel(uneven)
    told: list[tuple[int, int]] = []
    job = ScoringJob(sssb, None, 0, "0")
    run_job(job, model, "known", progress=lambda *step: told.append(step))  # type: ignore[arg-type]
    roles = sentences(sssb)
    assert sorted(model.asked) == sorted(roles["stereo"] | roles["anti"])
    assert told[0] == (0, len(model.asked))
    assert told[-1] == (len(model.asked), len(model.asked))
    assert told == sorted(told)


def test_matched_contrasts(sssb: Release, uneven_result: Result) -> None:
    """Both matched sense contrasts are there when all configs are scored, and neither when one is."""
    # issue 2 and ESTIMANDS.md: race - colour and noun - verb, and no other.
    matched = {f.config: f.sense_type for f in uneven_result.figures if f.estimand == "matched-contrast"}
    assert matched == {"race-colour": "race - colour", "noun-verb": "noun - verb"}
    for config in ("race-matched", "colour", "noun-bare", "verb"):
        alone = run(sssb, uneven, config).figures
        assert {figure.config for figure in alone} == {config}


def test_every_config_and_estimand(sssb: Release, uneven_result: Result) -> None:
    """Each config has its figures, in published order, each with its neutral value or none known."""
    configs = list(dict.fromkeys(figure.config for figure in uneven_result.figures))
    assert configs == [*sssb.configs, *MATCHED, *UNMATCHED]
    figures = by_key(uneven_result)
    for config in sssb.configs:
        # The two sentences differ in the pronoun in these configs, in an evaluative word in all others.
        # Of noun 85 labels are of *he* and 97 of *she*, of noun-bare 50 and 10, of verb 117 and 23: none is balanced.
        assert figures[config, "preference"].neutral is None
        assert figures[config, "preference-half"].neutral is None
        assert bool(figures[config, "preference-half"].readings) == (config in PRONOUN_CONFIGS)


def test_unmatched_differences(uneven_result: Result) -> None:
    """The paper's differences between senses are shown as they are: no interval, no p-value, no neutral value."""
    figures = by_key(uneven_result)
    for name, (a, b) in UNMATCHED.items():
        told = figures[name, "unmatched-difference"]
        first, second = figures[a, "preference"].value, figures[b, "preference"].value
        assert told.value is not None
        assert first is not None
        assert second is not None
        assert told.value == pytest.approx(first - second, abs=1e-8)  # figures are rounded at 1e-9
        assert (told.low, told.high, told.p, told.neutral) == (None, None, None, None)


def test_a_contrast_of_praise_has_no_neutral_value(uneven_result: Result) -> None:
    """Zero is neutral for noun against verb, where the pronoun differs, and not for race against colour."""
    figures = by_key(uneven_result)
    assert figures["race-colour", "matched-contrast"].neutral is None
    assert figures["noun-verb", "matched-contrast"].neutral == 0


def test_table_per_row(sssb: Release, uneven_result: Result) -> None:
    """The table of scores has a row for each pair, in the release's order, with NaN where a sentence has no score."""
    table = uneven_result.rows
    assert table is not None
    every = [(config, row) for config in sssb.configs for row in rows_of(sssb, config)]
    assert list(zip(table["config"], table["id"], strict=True)) == [(config, row["id"]) for config, row in every]
    for role in ("stereo", "anti"):
        expected = np.array([uneven(str(row[role])) for _, row in every])
        np.testing.assert_array_equal(table[f"{role}_score"].to_numpy(), expected)
        assert np.isnan(expected).any()


# --- the release is verified first ----------------------------------------------------------------------------------


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the models that were loaded; all are known models."""
    names: list[str] = []

    def load(name: str, **_: object) -> KnownModel:
        names.append(name)
        return KnownModel(uneven)

    monkeypatch.setattr("senseprobe.evaluate.models.source.load", load)
    monkeypatch.setattr("senseprobe.evaluate.models.source.abilities_of_source", lambda _: ("masked",))
    return names


def test_score_writes(sssb: Release, loaded: list[str], tmp_path: Path) -> None:
    """`score` writes a result and its table for each scorer, once if it was asked for twice."""
    (result,) = senseprobe.score("known", f"{sssb.folder}:race", ["known", "known"], out=tmp_path)
    assert loaded == ["known"]
    assert {figure.config for figure in result.figures} == {"race"}
    written = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*") if path.is_file())
    assert written == ["sssb@1.0.0/known/known.race.json", "sssb@1.0.0/known/known.race.parquet"]


# Takes long: all configs of sssb, and their permutations, twice.
def test_relative_mean_is_asked_for(sssb: Release, loaded: list[str]) -> None:
    """Besides the release's own figures, of the configs that have `relative`; of others it is told, and not scored."""
    (result,) = senseprobe.score("known", str(sssb.folder), ["known"], estimands=["relative-mean"])
    groups = {
        name: {(figure.config, figure.group) for figure in result.figures if figure.estimand == name}
        for name in ("relative", "relative-mean")
    }
    assert groups["relative-mean"] == groups["relative"] != set()
    assert additional(figure.estimand for figure in result.figures) == ["relative-mean"]  # what a replay asks for
    (plain,) = senseprobe.score("known", str(sssb.folder), ["known"])
    assert [figure for figure in result.figures if figure.estimand != "relative-mean"] == list(plain.figures)
    with pytest.raises(SenseprobeError, match="relative-mean is a variant of relative, which none of these configs"):
        senseprobe.score("known", f"{sssb.folder}:race", ["known"], estimands=["relative-mean"])
    assert loaded == ["known", "known"]


def test_damaged_release(sssb: Release, loaded: list[str], tmp_path: Path) -> None:
    """A release with a flipped byte is refused before a model is loaded, and nothing is written."""
    copy = tmp_path / "copy"
    shutil.copytree(sssb.folder, copy)
    victim = next((copy / "verb").glob("*.parquet"))
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    # Asked for another config: a release is verified whole.
    with pytest.raises(DamagedRelease, match=r"verb/test-00000-of-00001\.parquet") as refused:
        senseprobe.score("known", f"{copy}:race", ["known"], out=tmp_path / "results")
    assert refused.value.exit_code == 1
    assert loaded == []
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_unknown_scorer_before_the_model(sssb: Release, loaded: list[str]) -> None:
    """An unknown scorer is told before a model is loaded, with the names that there are."""
    with pytest.raises(SenseprobeError, match="unknown scorer bleu: there is aul, "):
        senseprobe.score("known", str(sssb.folder), ["aul", "bleu"])
    assert loaded == []


def test_plant_keeps_what_is_there(sssb: Release, tmp_path: Path) -> None:
    """Planting a model into a folder that holds something is refused, and the folder stays as it is."""
    (tmp_path / "config.json").write_text("mine")
    with pytest.raises(SenseprobeError, match="is not empty: name a new folder"):
        api.plant(str(sssb.folder), tmp_path)
    assert (tmp_path / "config.json").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


# --- which sentence of a pair comes first -------------------------------------------------------------------------


PAIRS = {
    "stereo": ["men are strong", "women are weak", "old people drive badly"],
    "anti": ["women are strong", "men are weak", "young people drive badly"],
    "unrelated": ["cheese", "stone", "rain"],
}


def test_sentence_1_is_the_one_that_the_released_code_of_crows_pairs_reads_first() -> None:
    """By hand from its metric.py: sent1 is sent_more (our `stereo`) in `stereo` pairs, else sent_less (`anti`)."""
    rows = pd.DataFrame({**PAIRS, "direction": ["stereo", "antistereo", "stereo"]})
    reads = ("text", "beside", "order")
    assert [unit.second for unit in units_of(rows, "stereo", "anti", reads)] == [False, True, False]
    assert [unit.second for unit in units_of(rows, "anti", "stereo", reads)] == [True, False, True]


def test_where_no_direction_is_known_the_stereotype_comes_first() -> None:
    """An unrelated sentence is beside the stereotype, and comes after it."""
    rows = pd.DataFrame(PAIRS)
    reads = ("text", "beside", "order")
    assert units_of(rows, "stereo", "anti", reads)[0] == Unit("men are strong", "women are strong")
    assert units_of(rows, "anti", "stereo", reads)[0] == Unit("women are strong", "men are strong", second=True)
    assert units_of(rows, "unrelated", "stereo", reads)[0] == Unit("cheese", "men are strong", second=True)


@pytest.mark.parametrize("reads", [("text",), ("text", "beside")])
def test_the_order_is_no_part_of_a_unit_for_scorers_that_do_not_read_it(reads: tuple[str, ...]) -> None:
    """A sentence that stands first in one row and second in another is asked for once."""
    rows = pd.DataFrame({**PAIRS, "direction": ["antistereo"] * 3})
    assert not any(unit.second for role in ("stereo", "anti") for unit in units_of(rows, role, "anti", reads))


def test_a_masked_run_enters_no_file_of_chat(sssb: Release) -> None:
    """Gates are brought by what has to pass them: no function of theirs runs, nor one of questions or of servers."""
    # Their length imports what rooms declare, once.
    assert all(len(registry) for registry in (SCORERS, CATALOGUE, models.FAMILIES))
    entered: set[str] = set()
    sys.setprofile(lambda frame, event, _: entered.add(frame.f_code.co_filename))
    try:
        run(sssb, lambda text: float(len(text)), "race")
    finally:
        sys.setprofile(None)
    names = {Path(path).name for path in entered if "senseprobe" in path}
    assert names >= {"pipeline.py", "units.py", "figures.py"}
    assert names & {"task_records.py", "task_gates.py", "conversation.py", "chat_scorers.py"} == set()
    assert not any("/served/" in path for path in entered)
