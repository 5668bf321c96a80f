"""Rows without a number: why, how many, and which are the first."""

from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import Scorer
from senseprobe.evaluate.unit_table import Asked
from senseprobe.evaluate.units import Unit
from senseprobe.messages import counted, listed, printable

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model


NOT_SAID = "no reason given"
"""By a plug-in, which need not give any."""

FIRST = 3
"""Rows of which the ids are kept."""

# So many units are read at once: enough to be quick, few enough to be held in memory.
_WINDOW = 65_536


def unscored(asked: Asked, scorer: Scorer, model: "Model") -> dict[str, dict[str, Any]]:
    """By reason, the commonest first: how many ``rows`` have no number, and the ids of the ``first`` of them.

    A row counts once, with the reason of its first sentence without a number. It is asked of the model, not kept, so
    that numbers that were stored have it too.
    """
    gaps = list(asked.gaps())
    units = list(dict.fromkeys(unit for _, unit in gaps))
    reasons = dict(zip(units, _reasons(scorer, model, units), strict=True))
    found: dict[str, list[str]] = {}
    for row, unit in gaps:
        found.setdefault(reasons[unit], []).append(row)
    order = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return {reason: {"rows": len(rows), "first": rows[:FIRST]} for reason, rows in order}


def _reasons(scorer: Scorer, model: "Model", units: Sequence[Unit]) -> Iterator[str]:
    """The reason of each unit; our own scorers have them, of our own models."""
    why = None if "family" in model.identity else scorer.why
    if why is None:
        yield from repeat(NOT_SAID, len(units))
        return
    ordered = iter(units)
    while window := list(islice(ordered, _WINDOW)):
        yield from why(model, window)


def told(result: Result) -> str:
    """What was found, in a clause: ``2 rows have no number: 2 too long for the model (race.x, race.y)``; or empty."""
    if not result.unscored:
        return ""
    rows = sum(each["rows"] for each in result.unscored.values())
    parts = (
        f"{each['rows']:,} {printable(reason)} ({listed(map(printable, each['first']), each['rows'])})"
        for reason, each in result.unscored.items()
    )
    return f"{counted(rows, 'row')} {'has' if rows == 1 else 'have'} no number: {'; '.join(parts)}"
