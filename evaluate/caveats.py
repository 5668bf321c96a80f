"""What a result is read with: rows without a number, gates that fail, and what a coarse number format makes of rows."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from senseprobe.evaluate.erased_rows import describe_erased_input
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.models.alteration import REMOVED
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.result_form import MOST_REASONS
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.task_gates import TaskRecord
from senseprobe.evaluate.units import KINDS, UnitTable
from senseprobe.messages import counted, listed, printable
from senseprobe.statistics import Scale, psi_between

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model

# --- rows without a number ------------------------------------------------------------------------------------------

FIRST = 3  # unscored rows of each reason whose ids a result has
_OTHERS = "other reasons, such as: {}"


def unscored_rows(units: UnitTable, scorer: Scorer, model: "Model") -> dict[str, dict[str, Any]]:
    """Return by reason, the commonest first, how many ``rows`` have no number, and the ids of the ``first`` of them.

    A row counts once, with the reason of its first sentence without a number. Reasons come from the model and are not
    stored, so that rows whose numbers were stored have them too.
    """
    gaps = list(units.unscored())
    distinct = list(dict.fromkeys(unit for _, unit in gaps))
    reasons = dict(zip(distinct, scorer.reasons(model, distinct), strict=True))
    found: dict[str, tuple[int, list[str]]] = {}
    for row, unit in gaps:
        count, first = found.get(reasons[unit], (0, []))
        found[reasons[unit]] = count + 1, [*first, row] if len(first) < FIRST else first
    return order_reasons(found)


def order_reasons(found: Mapping[str, tuple[int, Sequence[str]]]) -> dict[str, dict[str, Any]]:
    """Return reasons as results have them; `found` has how many rows each has, and the ids of the first of them.

    >>> order_reasons({"no token to score": (1, ["b"]), "too long for the model": (2, ["a", "c"])})
    {'too long for the model': {'rows': 2, 'first': ['a', 'c']}, 'no token to score': {'rows': 1, 'first': ['b']}}
    """
    order = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    if len(order) > MOST_REASONS:  # a word each, of vectors of words
        rest = order[MOST_REASONS - 1 :]
        together = sum(count for _, (count, _) in rest), [row for _, (_, first) in rest for row in first]
        order[MOST_REASONS - 1 :] = [(_OTHERS.format(rest[0][0]), together)]
    return {reason: {"rows": count, "first": [*first[:FIRST]]} for reason, (count, first) in order}


def unscored_text(result: Result) -> str:
    """Return ``2 rows have no number: 2 too long for the model (race.x, race.y)``; empty where all have one."""
    if not result.unscored:
        return ""
    rows = sum(facts["rows"] for facts in result.unscored.values())
    parts = [
        f"{facts['rows']:,} {printable(reason)} ({listed(map(printable, facts['first']), facts['rows'])})"
        for reason, facts in result.unscored.items()
    ]
    return f"{counted(rows, 'row')} {'has' if rows == 1 else 'have'} no number: {'; '.join(parts)}"


def removed_text(result: Result) -> str:
    """Return what was removed from the model's vectors before it was scored; empty where nothing was.

    Where that makes the input of a config's rows one, it says whose difference is left.
    """
    if not (removed := result.model.get(REMOVED)):
        return ""
    texts = {figure.config: text for figure in result.figures[::-1] if (text := describe_erased_input(figure))}
    heads = (f"in {printable(config)} {texts[config]}" for config in reversed(texts))
    return "; ".join([f"removed from the model's vectors: {printable(removed)}", *heads])


def refused_text(result: Result) -> str:
    """Return ``left out: weat3 (john is a toilet)``, the tests that a model cannot have; empty where there are none."""
    tests = (f"{printable(listed(names))} ({printable(reason)})" for reason, names in result.refused.items())
    return f"left out: {'; '.join(tests)}" if result.refused else ""


# --- whether a chat model does the task -----------------------------------------------------------------------------


def asks_chat_model(result: Result) -> bool:
    """Return whether a result is of a scorer that asks a chat model something."""
    scorer = SCORERS.get(result.scorer)
    return scorer is not None and bool(scorer.gates)


def has_gates(result: Result) -> bool:
    """Return whether figures of a result depend on gates: of chat models, and of all served ones, which may change."""
    return asks_chat_model(result) or bool(result.tasks)


def failed_tasks(result: Result) -> dict[str, str]:
    """Return the configs of which a gate fails, each with a verdict, a colon and the gates; none of other results.

    A config of which no gate is on record has passed none.
    """
    if not has_gates(result):
        return {}
    compared = (figure.config for figure in result.figures if not lookup(figure.estimand).is_contrast)
    records = {config: result.tasks.get(config, TaskRecord()) for config in dict.fromkeys([*result.tasks, *compared])}
    return {config: record.failure for config, record in records.items() if not record.does_task}


def withheld_configs(result: Result) -> list[str]:
    """Return the configs of which a gate fails and no figure has a value, as without ``--show-failing``.

    Shares of right answers always have theirs: they are no figures of bias, and a config of these alone withholds none.
    """
    gated = [figure for figure in result.figures if not lookup(figure.estimand).needs_gold]
    ungated = {figure.config for figure in result.figures} - {figure.config for figure in gated}
    with_value = {figure.config for figure in gated if figure.value is not None}
    return [config for config in failed_tasks(result) if config not in with_value | ungated]


# --- what a coarse number format turns around -----------------------------------------------------------------------

COARSE_FORMATS = ("bfloat16", "float16")

ROWS = 200
"""Rows that are scored in float32, too, drawn like those of `--limit`: a share of 5 % is exact to some three points."""


def is_coarse(result: Result) -> bool:
    """Return whether a result is in a number format that is coarser than float32."""
    return result.model["dtype"] in COARSE_FORMATS


def count_flipped(
    coarse: pd.DataFrame, fine: pd.DataFrame, columns: Sequence[str], scale: Scale = "log"
) -> dict[str, int]:
    """Return how many ``rows`` have numbers in both tables, and of how many another sign, or label, is ``flipped``.

    >>> numbers = {"stereo_score": [-1.0, -2.0], "anti_score": [-1.5, -2.5]}
    >>> fine = pd.DataFrame({"config": "jobs", "id": ["a", "b"], **numbers})
    >>> coarse = fine.assign(stereo_score=[-1.0, -3.0])
    >>> count_flipped(coarse, fine, ["stereo_score", "anti_score"])
    {'rows': 2, 'flipped': 1}
    """
    both = coarse.merge(fine, on=["config", "id"], suffixes=("_coarse", "_fine"))
    sides = [both[[f"{name}_{side}" for name in columns]].to_numpy(dtype=np.float64) for side in ("coarse", "fine")]
    scored = np.logical_and(*(np.isfinite(side).all(axis=1) for side in sides))
    before, after = (
        # The position of the largest label, or the sign of a difference: 1, ½ for a tie, 0.
        numbers.argmax(axis=1)
        if len(columns) > 2
        # Of a single number, which is a difference already, against 0.
        else psi_between(numbers[:, 0], numbers[:, 1] if len(columns) > 1 else np.zeros(len(numbers)), scale)
        for numbers in (side[scored] for side in sides)
    )
    return {"rows": int(scored.sum()), "flipped": int((before != after).sum())}


def flipped_text(result: Result) -> str:
    """Return how many rows of a sample a coarse number format turns around, in a sentence; empty where not counted."""
    if result.coarse is None:
        return ""
    kind, flipped = KINDS[result.kind], result.coarse["flipped"]
    share = f"{flipped} of {counted(result.coarse['rows'], kind.noun)} drawn {'has' if flipped == 1 else 'have'}"
    return f"{share} another {kind.reading} in float32 than in {result.model['dtype']}"
