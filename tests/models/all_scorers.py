"""The numbers of several scorers on one model, whose forward passes are made once where scorers share them."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit


def numbers_by_scorer(names: Iterable[str], model: object, units: Sequence[Unit]) -> dict[str, NDArray[np.float64]]:
    """What `Scorer.numbers` gives, the first column, by the name of the scorer; shared is what a store would share."""
    answered: dict[object, list[tuple[Unit, tuple[float, ...]]]] = {}
    found = {}
    for name in names:
        scorer = get(name)
        basis = (scorer.basis or scorer.id, scorer.parts)
        if basis not in answered:
            answered[basis] = [pair for answers in scorer.score(model, {*units}, ()) for pair in answers]
        values = dict(scorer.finish(answered[basis]))
        found[name] = np.array([values[unit][0] for unit in units])
    return found
