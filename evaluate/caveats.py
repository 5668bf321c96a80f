"""What a result is read with: rows without a number, by reason, and what a coarse number format turns around."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.evaluate.scorers import Scorer
from senseprobe.evaluate.units import UnitTable
from senseprobe.messages import counted, listed, printable
from senseprobe.statistics import Scale, psi_between

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model
    from senseprobe.evaluate.result import Result

FIRST = 3
"""Unscored rows of each reason whose ids a result has."""

COARSE_FORMATS = ("bfloat16", "float16")

ROWS = 200
"""Rows that are scored in float32, too, drawn like those of `--limit`: a share of 5 % is exact to some three points."""


def unscored_rows(units: UnitTable, scorer: Scorer, model: "Model") -> dict[str, dict[str, Any]]:
    """Return by reason, the commonest first, how many ``rows`` have no number, and the ids of the ``first`` of them.

    A row counts once, with the reason of its first sentence without a number. Reasons come from the model and are not
    stored, so that rows whose numbers were stored have them too.
    """
    gaps = list(units.unscored())
    distinct = list(dict.fromkeys(unit for _, unit in gaps))
    reasons = dict(zip(distinct, scorer.reasons(model, distinct), strict=True))
    ids: dict[str, list[str]] = {}
    for row, unit in gaps:
        ids.setdefault(reasons[unit], []).append(row)
    order = sorted(ids.items(), key=lambda item: (-len(item[1]), item[0]))
    return {reason: {"rows": len(rows), "first": rows[:FIRST]} for reason, rows in order}


def unscored_text(result: "Result") -> str:
    """Return how many rows have no number, in a clause, or an empty text where all have one.

    ``2 rows have no number: 2 too long for the model (race.x, race.y)``
    """
    if not result.unscored:
        return ""
    rows = sum(facts["rows"] for facts in result.unscored.values())
    parts = (
        f"{facts['rows']:,} {printable(reason)} ({listed(map(printable, facts['first']), facts['rows'])})"
        for reason, facts in result.unscored.items()
    )
    return f"{counted(rows, 'row')} {'has' if rows == 1 else 'have'} no number: {'; '.join(parts)}"


def is_coarse(result: "Result") -> bool:
    """Return whether a result is in a number format that is coarser than float32."""
    return result.model["dtype"] in COARSE_FORMATS


def count_flipped(
    coarse: pd.DataFrame, fine: pd.DataFrame, columns: Sequence[str], scale: Scale = "log"
) -> dict[str, int]:
    """Return how many ``rows`` have numbers in both tables, and how many are ``flipped``.

    Of those the sign, or where there are more than two numbers the largest label, is another.
    """
    both = coarse.merge(fine, on=["config", "id"], suffixes=("_coarse", "_fine"))
    sides = [both[[f"{name}_{side}" for name in columns]].to_numpy(dtype=np.float64) for side in ("coarse", "fine")]
    scored = np.logical_and(*(np.isfinite(side).all(axis=1) for side in sides))
    before, after = (_reading(side[scored], scale) for side in sides)
    return {"rows": int(scored.sum()), "flipped": int((before != after).sum())}


def _reading(numbers: NDArray[np.float64], scale: Scale) -> NDArray[Any]:
    """Return of two scores the sign of their difference (1, ½ for a tie, 0), of more the position of the largest."""
    if numbers.shape[1] > 2:
        return np.asarray(numbers.argmax(axis=1))
    return psi_between(numbers[:, 0], numbers[:, 1], scale)


def flipped_text(result: "Result") -> str:
    """Return how many rows of a sample a coarse number format turns around, in a sentence; empty where not counted."""
    if result.coarse is None:
        return ""
    of, what = ("row", "largest label") if result.kind == "inference" else ("pair", "sign")
    flipped = result.coarse["flipped"]
    share = f"{flipped} of {counted(result.coarse['rows'], of)} drawn {'has' if flipped == 1 else 'have'}"
    return f"{share} another {what} in float32 than in {result.model['dtype']}"
