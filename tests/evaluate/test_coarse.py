"""What a coarse number format turns around: counted by hand."""

import math

import pandas as pd

from senseprobe.evaluate.caveats import count_flipped

NAN, LOW = math.nan, -math.inf


def table(**columns: list[float]) -> pd.DataFrame:
    """Rows of one config, in the order of their numbers."""
    rows = len(next(iter(columns.values())))
    return pd.DataFrame({"config": "noun", "id": [f"noun.{number}" for number in range(rows)], **columns})


def test_signs() -> None:
    """A sign that is another, and a tie that is none, count; a pair that is unscored in either is left out."""
    #                     same, turned, tie to sign, sign to tie, tie, unscored there, unscored here, not finite
    coarse = table(
        stereo=[-1.0, -2.0, -3.0, -1.0, -5.0, NAN, -1.0, LOW], anti=[-2.0, -1.0, -3.0, -2.0, -5.0, -1, -2, -1]
    )
    fine = table(stereo=[-1.1, -1.0, -2.9, -2.0, -5.0, -1.0, NAN, -1], anti=[-2.0, -2.0, -3.0, -2.0, -5.0, -2, -2, -2])
    assert count_flipped(coarse, fine, ("stereo", "anti")) == {"rows": 5, "flipped": 3}


def test_rows_are_found_by_name() -> None:
    """A sample has fewer rows, in any order, and other configs may have the same ids."""
    coarse = table(stereo=[-1.0, -2.0, -1.0], anti=[-2.0, -1.0, -2.0])
    both = pd.concat([coarse, coarse.assign(config="verb")])
    fine = table(stereo=[-2.0, -2.0, -1.0], anti=[-1.0, -1.0, -2.0]).iloc[[2, 0]].assign(config="verb")
    assert count_flipped(both, fine, ("stereo", "anti")) == {"rows": 2, "flipped": 1}


def test_labels() -> None:
    """Of three probabilities the largest counts."""
    coarse = table(e=[0.5, 0.2, 0.1], n=[0.3, 0.5, 0.2], c=[0.2, 0.3, 0.7])
    fine = table(e=[0.4, 0.2, NAN], n=[0.35, 0.3, NAN], c=[0.25, 0.5, NAN])
    assert count_flipped(coarse, fine, ("e", "n", "c")) == {"rows": 2, "flipped": 1}
