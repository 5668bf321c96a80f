"""Families of tests, each corrected by Holm's method as a whole; fixed before anything is scored.

A release declares none of its own, so these hold for all:

- `RELATIVE`: all groups of a config.
- `GAPS`: all occupations, or whatever else `gap` is told apart by, of a config.
- `CONTRASTS`: all matched sense contrasts of a release whose zero is neutral.
- `NULLS`: all configs of a release in which polarity can be permuted.
- `COMPARISONS`: two models on a release: all configs, and all groups of `relative`, for one estimand.

One model and one scorer at a time: who scores a release with ten scorers and prints the best has ten families, and no
correction here knows of the other nine.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from senseprobe.statistics import holm

__all__ = ["COMPARISONS", "CONTRASTS", "GAPS", "NULLS", "RELATIVE", "Family", "as_told", "corrected"]


class Tested(Protocol):
    """A frozen record of a test: a `Figure`, `Comparison` or `PolarityNull`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def p(self) -> float | None:
        """Before correction; None where no test was made."""

    @property
    def p_holm(self) -> float | None:
        """After correction."""

    @property
    def estimand(self) -> str:
        """The id of the figure that was tested."""


TestedT = TypeVar("TestedT", bound=Tested)


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """What is corrected together: the tests that agree in the fields `by`; `says` tells it to readers.

    `estimand` is the only one that the family is about, None where it is about whatever it is given.
    """

    id: str
    says: str
    by: tuple[str, ...]
    estimand: str | None = None

    def holds(self, test: Tested) -> bool:
        """Whether this is a test, and one of the family's."""
        return test.p is not None and self.estimand in (None, test.estimand)


RELATIVE = Family(id="relative", says="all groups of a config", by=("config",), estimand="relative")
GAPS = Family(id="gaps", says="all groups of a config that `gap` is told apart by", by=("config",), estimand="gap")
CONTRASTS = Family(
    id="contrasts", says="all matched sense contrasts of the release", by=(), estimand="matched-contrast"
)
NULLS = Family(id="nulls", says="all configs of the release", by=())
COMPARISONS = Family(id="comparisons", says="all configs and groups of the release, for one estimand", by=("estimand",))


def corrected(tests: Sequence[TestedT], family: Family) -> list[TestedT]:
    """The tests with `p_holm`, in the same order; those that the family does not hold are left as they are."""
    told = list(tests)
    for indices in _members(tests, family):
        for index, p in zip(indices, holm(np.array([tests[index].p for index in indices])).tolist(), strict=True):
            told[index] = replace(tests[index], p_holm=p)
    return told


def as_told(tests: Sequence[TestedT], *families: Family) -> list[TestedT]:
    """The tests without `p_holm` where one is alone in its family, so that nobody reads of a correction that was none.

    For print; in files it is there, and equals p.
    """
    alone = {indices[0] for family in families for indices in _members(tests, family) if len(indices) == 1}
    told = list(tests)
    for index in alone:
        if told[index].p_holm == told[index].p:
            told[index] = replace(told[index], p_holm=None)
    return told


def _members(tests: Sequence[TestedT], family: Family) -> Iterable[list[int]]:
    """The places of the tests that are corrected together."""
    members: dict[Hashable, list[int]] = {}
    for index, test in enumerate(tests):
        if family.holds(test):
            members.setdefault(tuple(getattr(test, field) for field in family.by), []).append(index)
    return members.values()
