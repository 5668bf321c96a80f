"""Scorers of plug-ins: what they must have, and answers that are looked at before they are taken."""

import math
from collections.abc import Container, Iterable, Iterator, Set
from dataclasses import replace
from typing import Any

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.plugins import Unfit, iterate_blamed
from senseprobe.evaluate.scorers.base import Answers, Score, Scorer
from senseprobe.evaluate.units import Unit
from senseprobe.messages import counted
from senseprobe.statistics import SCALES

READABLE = ("text", "beside", "span", "order")
OF_INFERENCE = ("entailment", "neutral", "contradiction")
DUST = 1e-6
"""By which a number may lie outside its range, times the end where that is above 1: what computing adds to it."""


def admit(scorer: Scorer) -> Scorer:
    """The scorer of a plug-in, whose mistakes become messages. Raises Unfit where rows could not take its numbers."""
    columns = OF_INFERENCE if scorer.ability == "inference" else ("score",)
    if not _are_texts(scorer.columns) or tuple(scorer.columns) != columns:
        raise Unfit(f"its columns are {_listed(scorer.columns)}, where figures need {_listed(columns)}")
    if not _are_texts(scorer.reads) or not {*scorer.reads} <= {*READABLE}:
        raise Unfit(f"it reads {_listed(scorer.reads)}, and there is {_listed(READABLE)}")
    if not callable(scorer.score) or type(scorer.version) is not int:
        raise Unfit("its score is no function, or its version no whole number")
    if scorer.scale not in SCALES:
        raise Unfit(f"its scale is {scorer.scale!r}, and there is {' and '.join(SCALES)}")
    if not _is_range(scorer.range):
        raise Unfit("its range is not a lower and an upper end")
    if scorer.made is not None or scorer.basis or scorer.parts:
        raise Unfit("its numbers are made of others' (basis, parts, made), as only senseprobe's own may be")
    scorer = replace(scorer, range=(float(scorer.range[0]), float(scorer.range[1])))
    return replace(scorer, columns=columns, reads=tuple(scorer.reads), score=_looked_at(scorer), why=None)


def _are_texts(names: object) -> bool:
    return isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)


def _is_range(ends: object) -> bool:
    """Whether these are two numbers, infinite ones among them, the lower one first."""
    if not (isinstance(ends, tuple) and len(ends) == 2):
        return False
    return all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends) and ends[0] < ends[1]


def _listed(names: object) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list | tuple) else str(names)


def _looked_at(scorer: Scorer) -> Score:
    """The plug-in's function; SenseprobeError, which names it, where it raises something else or answers amiss."""

    def score(model: Any, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:  # noqa: ANN401
        asked = units if isinstance(units, Set) else {*units}

        def answer() -> Iterator[Answers]:
            for answers in scorer.score(model, asked, done):
                yield [_answer(scorer, asked, unit, numbers) for unit, numbers in answers]

        failed = f"the scorer {scorer.id}, a plug-in, fails with"
        yield from iterate_blamed(lambda told: SenseprobeError(f"{failed} {told}"), answer)

    return score


def _answer(
    scorer: Scorer, asked: Container[Unit], unit: Unit, numbers: Iterable[float]
) -> tuple[Unit, tuple[float, ...]]:
    found = tuple(map(float, numbers))
    if unit not in asked or len(found) != len(scorer.columns):
        raise SenseprobeError(
            f"the scorer {scorer.id}, a plug-in, answers what it was not asked, or with"
            f" {counted(len(found), 'number')} instead of {len(scorer.columns)}"
        )
    if outside := [number for number in found if _is_outside(number, scorer.range)]:
        raise SenseprobeError(
            f"the scorer {scorer.id}, a plug-in, answers {outside[0]:g}, outside its range"
            f" {scorer.range[0]:g} to {scorer.range[1]:g}"
        )
    return unit, tuple(math.nan if math.isinf(number) else number for number in found)


def _is_outside(number: float, ends: tuple[float, float]) -> bool:
    low, high = ends
    return number < low - DUST * max(1.0, abs(low)) or number > high + DUST * max(1.0, abs(high))
