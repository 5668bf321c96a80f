"""Scorers of plug-ins: what they must have, and answers that are looked at before they are taken."""

from collections.abc import Container, Iterable, Iterator, Set
from dataclasses import replace
from typing import Any

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.plugins import Unfit, clause
from senseprobe.evaluate.scorers.declaring import Answers, Score, Scorer
from senseprobe.evaluate.units import Unit

__all__ = ["admit"]

READABLE = {"text", "beside", "span"}
OF_INFERENCE = ("entailment", "neutral", "contradiction")


def admit(scorer: Scorer) -> Scorer:
    """The scorer of a plug-in, whose mistakes become messages. Raises Unfit where rows could not take its numbers."""
    columns = OF_INFERENCE if scorer.ability == "inference" else ("score",)
    if tuple(scorer.columns) != columns:
        raise Unfit(f"its columns are {_listed(scorer.columns)}, where figures need {_listed(columns)}")
    if not {*scorer.reads} <= READABLE:
        raise Unfit(f"it reads {_listed(scorer.reads)}, and there is text, beside, span")
    if not callable(scorer.score) or type(scorer.version) is not int:
        raise Unfit("its score is no function, or its version no whole number")
    if not (isinstance(scorer.range, tuple) and len(scorer.range) == 2 and scorer.range[0] < scorer.range[1]):
        raise Unfit("its range is not a lower and an upper end")
    return replace(scorer, score=_looked_at(scorer))


def _listed(names: object) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list | tuple) else str(names)


def _looked_at(scorer: Scorer) -> Score:
    """The plug-in's function; SenseprobeError, which names it, where it raises something else or answers amiss."""

    def score(model: Any, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:  # noqa: ANN401
        asked = units if isinstance(units, Set) else {*units}
        try:
            for answers in scorer.score(model, asked, done):
                yield [_answer(scorer, asked, unit, numbers) for unit, numbers in answers]
        except SenseprobeError:
            raise
        except Exception as error:
            raise SenseprobeError(f"the scorer {scorer.id}, a plug-in, fails with {clause(error)}") from error

    return score


def _answer(
    scorer: Scorer, asked: Container[Unit], unit: Unit, numbers: Iterable[float]
) -> tuple[Unit, tuple[float, ...]]:
    found = tuple(map(float, numbers))
    if unit not in asked or len(found) != len(scorer.columns):
        raise SenseprobeError(
            f"the scorer {scorer.id}, a plug-in, answers what it was not asked, or with {len(found)} numbers instead of"
            f" {len(scorer.columns)}"
        )
    return unit, found
