"""Figures of questions of which a column is missing, odd, or named as a scorer's."""

import pandas as pd
import pytest

from senseprobe.evaluate.estimands import figures, lookup
from senseprobe.kinds.question.choices import answer_codes, first_codes
from senseprobe.kinds.question.mapped import question_design
from senseprobe.records import Figure

ROW: dict[str, object] = {"condition": "ambiguous", "polarity": "negative", "template": "till", "frame": "till"}
ROW |= {"stereo": "Ann.", "anti": "Bo.", "unknown": "Unclear."}
ROW |= {"order": "anti stereo unknown", "gold": "unknown", "target_groups": "old"}


def _figures(**columns: object) -> dict[str, Figure]:
    design = question_design("age")
    scores: dict[str, object] = {"stereo_score": -1.0, "anti_score": -2.0, "unknown_score": -3.0}
    rows = pd.DataFrame([{"id": str(number), **ROW, **scores, **columns} for number in range(4)])
    return {figure.estimand: figure for figure in figures(rows, design, "age")}


@pytest.mark.parametrize("column", ["label_type", "label_basis", "label_group", "place_of_birth"])
def test_a_column_of_the_rows_is_no_share_of_places_or_labels(column: str) -> None:
    """BBQ's rows have the columns label_type and label_basis, which are texts."""
    assert {"place-share", "label-share"}.isdisjoint(_figures(**{column: "old"}))


@pytest.mark.parametrize("order", [None, "", "nobody"])
def test_without_an_order_the_first_answer_is_any(order: str | None) -> None:
    """A model that takes the first answer is then right in a third of the questions, as by chance."""
    table = pd.DataFrame({"order": [order, order], "gold": [order, "anti"]})

    assert (first_codes(table).tolist(), answer_codes(table, "gold").tolist()) == ([-1, -1], [-1, 1])
    assert _figures(order=order)["accuracy-ambiguous"].readings["first"] == pytest.approx(100 / 3)


@pytest.mark.parametrize("estimand", ["s-amb", "s-dis", "accuracy-alignment"])
def test_points_of_questions_are_not_those_of_pairs(estimand: str) -> None:
    """A difference of 20 points is 20 of 100 questions: 70 of 100 pairs is what a preference of +20 means."""
    assert "+20 means" in lookup(estimand).scale_note
    assert "pairs" not in lookup(estimand).scale_note
