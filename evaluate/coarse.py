"""What a number format coarser than float32 turns around: pairs of a sample that are scored once more in float32."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.comparison import SCORES
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.run import Job, Progress
from senseprobe.evaluate.score_tables import kind_of
from senseprobe.messages import counted
from senseprobe.statistics import Scale, psi_between

if TYPE_CHECKING:
    from senseprobe.evaluate.cache import Store
    from senseprobe.evaluate.models import Model


FORMATS = ("bfloat16", "float16")

ROWS = 200
"""That are drawn, as `--limit` draws them: a share of 5 % is then known to some three points."""


def is_coarse(result: Result) -> bool:
    """Whether a result is in a number format of which `turned` has something to say."""
    return result.model["dtype"] in FORMATS


def turned(
    job: Job, result: Result, fine: "Model", *, store: "Store | None" = None, progress: Progress | None = None
) -> dict[str, int]:
    """How many of a sample of the rows of a result read otherwise with the same model in float32.

    ResultError where the rows are not with the result, and as `Job.run` raises.
    """
    if result.rows is None:
        raise ResultError("a result without its rows")
    drawn = replace(job, limit=min(ROWS, job.limit or ROWS))
    tables = drawn.ask(fine, result.scorer, store=store, progress=progress).tables()
    again = pd.concat([table.assign(config=name) for name, table in tables.items()], ignore_index=True)
    return count(result.rows, again, SCORES[kind_of(result)], result.scale)


def count(coarse: pd.DataFrame, fine: pd.DataFrame, columns: Sequence[str], scale: Scale = "log") -> dict[str, int]:
    """How many ``rows`` are scored in both tables, and of how many, ``flipped``, sign or largest label is another."""
    both = coarse.merge(fine, on=["config", "id"], suffixes=("_coarse", "_fine"))
    sides = [both[[f"{name}_{side}" for name in columns]].to_numpy(dtype=np.float64) for side in ("coarse", "fine")]
    scored = np.logical_and(*(np.isfinite(side).all(axis=1) for side in sides))
    before, after = (_reading(side[scored], scale) for side in sides)
    return {"rows": int(scored.sum()), "flipped": int((before != after).sum())}


def _reading(numbers: NDArray[np.float64], scale: Scale) -> NDArray[Any]:
    """Of two scores the sign of their difference (1, ½ for a tie, 0), of more the place of the largest."""
    if numbers.shape[1] > 2:
        return np.asarray(numbers.argmax(axis=1))
    return psi_between(numbers[:, 0], numbers[:, 1], scale)


def told(result: Result) -> str:
    """What was counted, in a sentence; empty where nothing was."""
    if result.coarse is None:
        return ""
    of, what = ("row", "largest label") if kind_of(result) == "inference" else ("pair", "sign")
    flipped = result.coarse["flipped"]
    share = f"{flipped} of {counted(result.coarse['rows'], of)} drawn {'has' if flipped == 1 else 'have'}"
    return f"{share} another {what} in float32 than in {result.model['dtype']}"
