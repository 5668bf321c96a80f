"""The registry of scorers: each turns what a model can be asked into one number per sentence, or a few.

Ours come first, then those of plug-ins, whose declarations and answers are checked before they are used.
"""

import math
from collections.abc import Collection, Container, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import chain
from typing import Any

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.declaration import check_range
from senseprobe.evaluate.retirements import check_computed
from senseprobe.evaluate.scorers import association, causal, causal_nli, masked, nli
from senseprobe.evaluate.scorers.association import WEAT
from senseprobe.evaluate.scorers.base import Answers, Score, Scorer
from senseprobe.evaluate.units import KINDS, Unit
from senseprobe.messages import counted, offered
from senseprobe.plugins import Registry, Unfit, iterate_blamed
from senseprobe.statistics import SCALES

__all__ = ["SCORERS", "Answers", "Scorer", "Unit", "counterpart", "expand_levels", "get", "with_cyclic_orders"]

READABLE = ("text", "beside", "span", "order")
DUST = 1e-6
"""By which a number may lie outside its range, times the end where that is above 1: what computing adds to it."""


def admit(scorer: Scorer) -> Scorer:
    """Return the scorer of a plug-in with its answers checked. Raise Unfit where rows could not take its numbers."""
    if scorer.kind not in KINDS or KINDS[scorer.kind].tests or scorer.level:
        kinds = [name for name, kind in KINDS.items() if not kind.tests]
        raise Unfit(f"its rows are {scorer.kind}, but must be one of {_listed(kinds)}")
    columns = KINDS[scorer.kind].columns
    if not _are_texts(scorer.columns) or tuple(scorer.columns) != columns:
        raise Unfit(f"its columns are {_listed(scorer.columns)}, but figures need {_listed(columns)}")
    if not _are_texts(scorer.reads) or not {*scorer.reads} <= {*READABLE}:
        raise Unfit(f"it reads {_listed(scorer.reads)}, but can read only {_listed(READABLE)}")
    if not callable(scorer.score) or type(scorer.version) is not int:
        raise Unfit("its score is not a function, or its version is not a whole number")
    if scorer.scale not in SCALES:
        raise Unfit(f"its scale is {scorer.scale!r}, but must be {' or '.join(SCALES)}")
    check_range(scorer)
    if scorer.gates or scorer.task or scorer.of_pairs:
        raise Unfit("it declares gates, a task or of_pairs, which only senseprobe's own scorers may")
    if scorer.combine is not None or scorer.basis or scorer.parts:
        raise Unfit("it declares basis, parts or combine, which only senseprobe's own scorers may")
    scorer = replace(scorer, range=(float(scorer.range[0]), float(scorer.range[1])))
    return replace(scorer, columns=columns, reads=tuple(scorer.reads), score=_checked(scorer), why=None)


def _are_texts(names: object) -> bool:
    return isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)


def _listed(names: object) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list | tuple) else str(names)


def _checked(scorer: Scorer) -> Score:
    """Return the plug-in's function; it raises SenseprobeError, which names it, where it fails or answers amiss."""

    def score(model: Any, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:  # noqa: ANN401
        requested = units if isinstance(units, Set) else {*units}

        def answer() -> Iterator[Answers]:
            for answers in scorer.score(model, requested, done):
                yield [_checked_answer(scorer, requested, unit, numbers) for unit, numbers in answers]

        yield from iterate_blamed(answer(), f"the scorer {scorer.id}, a plug-in, failed with")

    return score


def _checked_answer(
    scorer: Scorer, requested: Container[Unit], unit: Unit, answer: Iterable[float]
) -> tuple[Unit, tuple[float, ...]]:
    numbers = tuple(map(float, answer))
    if unit not in requested or len(numbers) != len(scorer.columns):
        raise SenseprobeError(
            f"the scorer {scorer.id}, a plug-in, returned a unit that was not requested, or "
            f"{counted(len(numbers), 'number')} instead of {len(scorer.columns)}"
        )
    low, high = (end + sign * DUST * max(1.0, abs(end)) for sign, end in zip((-1, 1), scorer.range, strict=True))
    if outside := [number for number in numbers if number < low or number > high]:
        raise SenseprobeError(
            f"the scorer {scorer.id}, a plug-in, returned {outside[0]:g}, outside its range {scorer.range[0]:g} to "
            f"{scorer.range[1]:g}"
        )
    return unit, tuple(math.nan if math.isinf(number) else number for number in numbers)


_CORE = (
    *(*masked.SCORERS, *causal.SCORERS, *causal_nli.SCORERS),
    *(*nli.SCORERS, *association.SCORERS),
)
SCORERS = Registry("senseprobe.scorers", Scorer, "scorer", _CORE, admit)
"""All scorers by id: ours, those of rooms, then those of plug-ins."""


def get(name: str, kinds: Collection[str] = ()) -> Scorer:
    """Return the scorer with the id `name`, `Scorer.taking` rows of one of `kinds`, if any are given.

    Raises SenseprobeError where there is none, or it is retired.

    >>> get("pll").unit
    'nats'
    """
    check_computed(name)
    return SCORERS.find(name).taking(kinds)


def expand_levels(names: Sequence[str], levels: Sequence[str], kinds: Container[str]) -> list[str]:
    """Return the ids of scorers, where `WEAT` stands for those of the `levels`, of rows of one of the `kinds`.

    No levels: those of all. Levels without a name are those of `WEAT`. SenseprobeError where a level is none of them,
    or there are other names only.

    >>> expand_levels(["weat"], ["word", "sent"], ["association"])
    ['weat-word', 'weat-sent']
    """
    leveled = [scorer for scorer in SCORERS.ours.values() if scorer.level]
    fitting = [scorer for scorer in leveled if scorer.kind in kinds] or [s for s in leveled if not s.rows]
    available = dict.fromkeys(scorer.level for scorer in fitting)
    if unknown := [level for level in levels if level not in available]:
        raise SenseprobeError(f"unknown level {unknown[0]}: {offered(unknown[0], available)}")
    if levels and names and WEAT not in names:
        raise SenseprobeError(
            f"levels apply to {WEAT}, not to {' and '.join(names)}: leave --level out, or score {WEAT}"
        )
    requested = names or ([WEAT] if levels else [])
    of_levels = [scorer.id for level in levels or available for scorer in fitting if scorer.level == level]
    return list(dict.fromkeys(chain.from_iterable(of_levels if name == WEAT else [name] for name in requested)))


def with_cyclic_orders(names: Sequence[str]) -> list[str]:
    """Return the ids of the scorers that are the same with the three cyclic orders of answers alone.

    SenseprobeError where there are no names, or one of them has no such orders.

    >>> with_cyclic_orders(["question-choice"])
    ['question-choice-cyclic']
    """
    having = {scorer.id: scorer.cyclic for scorer in SCORERS.values() if scorer.cyclic}
    for name in names or [""]:
        if name not in having:
            which = f"{name} does not show answers in orders" if name else "cyclic orders need a scorer"
            raise SenseprobeError(f"{which}: score {' or '.join(having) or 'with all orders'}")
    return [having[name] for name in names]


def counterpart(name: str) -> str:
    """Return the id of the scorer that differs from `name` in the start token alone; empty where there is none.

    >>> counterpart("ll")
    'll-no-start'
    """
    scorer = SCORERS.get(name)
    if scorer is None or scorer.without_start:
        return scorer.without_start if scorer else ""
    return next((scorer.id for scorer in SCORERS.values() if scorer.without_start == name), "")
