"""Intervals of figures of questions hold the truth of planted answerers, on the design of the dataset `questions`."""

import numpy as np
import pytest
from simulation.coverage import Cell
from simulation.questions import (
    LEANING,
    LEANS,
    MIXES,
    Answers,
    Mix,
    ambiguous_answers,
    build_rows,
    disambiguated_answers,
    simulate_ambiguous,
    simulate_contrast,
    simulate_disambiguated,
)

from senseprobe.kinds.question.columns import AMBIGUOUS, DISAMBIGUATED
from senseprobe.kinds.question.estimands import ACCURACY_ALIGNMENT, ACCURACY_DISAMBIGUATED, S_DIS
from senseprobe.statistics import FloatArray

DRAWS, MANY = 300, 4_000


def too_low(cell: Cell) -> bool:
    """Whether coverage is below 93 % by more than three Monte-Carlo standard errors."""
    return not cell.holds


def test_the_design_is_that_of_the_dataset() -> None:
    """6 templates, 6 people of either group, 6 wordings, in 192 ambiguous rows; half of the right answers agree."""
    rows, said = build_rows(AMBIGUOUS), build_rows(DISAMBIGUATED)

    counts = (rows["template"].nunique(), len({*rows["stereo"], *rows["anti"]}), rows["unknown"].nunique())
    assert (len(rows), *counts) == (192, 6, 12, 6)
    assert said.groupby("template")["gold"].value_counts().unique().tolist() == [16]


def test_leanings_cover_the_truth() -> None:
    cells = [*simulate_ambiguous(DRAWS, 1, LEANS), *simulate_contrast(DRAWS, 1)]

    assert {cell.required for cell in cells} == {True}
    assert [cell for cell in cells if too_low(cell)] == []


@pytest.mark.parametrize(
    ("estimand", "plan"),
    [(S_DIS, LEANING[:2]), (ACCURACY_ALIGNMENT, LEANING[1:2]), (ACCURACY_DISAMBIGUATED, ((0.9, 0.9, 0.0),))],
    ids=lambda value: getattr(value, "id", ""),
)
def test_figures_of_disambiguated_rows_cover_the_truth(estimand: object, plan: object) -> None:
    cells = [*simulate_disambiguated(DRAWS // 5, 1, estimand, plan)]  # type: ignore[arg-type]

    assert [cell for cell in cells if too_low(cell)] == []


def spread_of(figures: FloatArray) -> float:
    return float(4 * figures.std() / np.sqrt(MANY))


@pytest.mark.parametrize("mix", MIXES, ids=lambda mix: mix.name)
def test_the_truth_is_that_of_many_answerers(mix: Mix) -> None:
    """Means of figures over many answerers, within four standard errors; a ratio's is that of its two sums."""
    rng = np.random.default_rng(0)
    rows, said = build_rows(AMBIGUOUS), build_rows(DISAMBIGUATED)
    kernel = ambiguous_answers(Answers(rows, mix, MANY, rng), 0.6, 0.1).mean(axis=1)
    gold = (said["gold"] == "stereo").to_numpy()
    shares = disambiguated_answers(Answers(said, mix, MANY, rng), gold, 0.7, 0.2)
    stereo, answered = shares[..., 0].sum(axis=1), 1 - shares[..., 2].mean(axis=1)
    right = np.where(gold, shares[..., 0], shares[..., 1])

    assert kernel.mean() == pytest.approx(0.6, abs=spread_of(kernel))
    assert answered.mean() == pytest.approx(0.9, abs=spread_of(answered))
    assert stereo.sum() / answered.sum() / len(said) == pytest.approx(0.6, abs=spread_of(stereo / answered / len(said)))
    assert right.mean() == pytest.approx(0.9 * 0.7, abs=spread_of(right.mean(axis=1)))
