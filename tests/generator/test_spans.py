"""Spans: what a scorer hears of the target in a row is where it is in this sentence, to the code point.

Expected values come from counting by hand and from `conformance/naive_masked.py`, which shares no code with senseprobe.
"""

from pathlib import Path

import pandas as pd
import pytest
from tests.tiny_release import write_release

from senseprobe import api
from senseprobe.evaluate.units import Unit, units_of

SENTENCES = {
    # By hand: "He is the " has 10 characters, "She is the " has 11; a full stop follows the target at once.
    "He is the engineer.": (10, 18),
    "She is the engineer.": (11, 19),
    "He is the nurse.": (10, 15),
    "She is the nurse.": (11, 16),
}


def test_a_unit_has_the_span_of_its_own_sentence() -> None:
    """The two sentences of a row have their targets at different places, half-open; a row may have none."""
    table = pd.DataFrame(
        {
            "stereo": ["He is a nurse.", "He."],
            "anti": ["She is a nurse.", "She."],
            "stereo_span": [{"start": 8, "end": 13}, None],
            "anti_span": [{"start": 9, "end": 14}, None],
        }
    )
    # By hand.
    assert units_of(table, "stereo", "anti", ["text", "beside", "span"]) == [
        Unit("He is a nurse.", "She is a nurse.", 8, 13),
        Unit("He.", "She.", -1, -1),
    ]
    assert units_of(table, "anti", "stereo", ["text", "span"]) == [Unit("She is a nurse.", "", 9, 14), Unit("She.")]
    assert units_of(table, "anti", "stereo", ["text"]) == [Unit("She is a nurse."), Unit("She.")]


def test_log_odds_of_a_release_are_of_the_target_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the template to the table of scores: the target is masked, not the full stop after it, in both sentences."""
    import torch
    from tests.conformance import masked_models, naive_masked

    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    write_release(tmp_path)
    monkeypatch.setattr(masked_models, "MODELS", {"bert": masked_models.MODELS["bert"]})
    folder = masked_models.build(tmp_path)["bert"]
    (result,) = api.score(api.model(folder, dtype="float64"), "tiny@1.0.0", ["log-odds"])
    assert result.rows is not None
    rows = api.load("tiny@1.0.0").table("job").merge(result.rows, on="id").to_dict("records")
    assert {row[role] for row in rows for role in ("stereo", "anti")} == {*SENTENCES}
    naive = naive_masked.Naive("bert", folder)
    for row in rows:
        for role, beside in (("stereo", "anti"), ("anti", "stereo")):
            start, end = SENTENCES[row[role]]
            expected = naive.numbers(row[role], row[beside], start, end)["log-odds"]
            assert row[f"{role}_score"] == pytest.approx(expected, abs=1e-6)
            # The case can tell: with the full stop, or with the place in the other sentence, it is another number.
            assert abs(naive.numbers(row[role], row[beside], start, end + 1)["log-odds"] - expected) > 1e-3
