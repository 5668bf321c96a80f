"""Families of tests, each corrected by Holm's method as a whole; fixed before anything is scored.

A release declares none of its own, so these hold for all:

- `RELATIVE`: all groups of a config; `relative` and `relative-mean` apart.
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
import pandas as pd

from senseprobe.evaluate.estimands.preference import unlabelled
from senseprobe.statistics import holm


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

    `estimands` are those that the family is about, empty where it is about whatever it is given.
    """

    id: str
    says: str
    by: tuple[str, ...]
    estimands: tuple[str, ...] = ()

    def holds(self, test: Tested) -> bool:
        """Whether this is a test, and one of the family's."""
        return test.p is not None and (not self.estimands or test.estimand in self.estimands)


RELATIVE = Family(
    id="relative",
    says="all groups of a config",
    by=("config", "estimand"),
    estimands=("relative", "relative-mean"),
)
GAPS = Family(id="gaps", says="all groups of a config that `gap` is told apart by", by=("config",), estimands=("gap",))
CONTRASTS = Family(
    id="contrasts", says="all matched sense contrasts of the release", by=(), estimands=("matched-contrast",)
)
NULLS = Family(id="nulls", says="all configs of the release", by=())
COMPARISONS = Family(id="comparisons", says="all configs and groups of the release, for one estimand", by=("estimand",))


def corrected(tests: Sequence[TestedT], family: Family, rows: Sequence[Hashable] = ()) -> list[TestedT]:
    """Return the tests with `p_holm`, in the same order; those that the family does not hold are left as they are.

    `rows` names the set of rows that each test is over. Tests of a family over one set of rows are counted once, with
    the largest of their p, since a second look at the same rows is no other test; without `rows` each has its own.
    """
    told, keys = list(tests), rows or range(len(tests))
    for indices in _members(tests, family):
        largest: dict[Hashable, float] = {}
        for index in indices:
            largest[keys[index]] = max(largest.get(keys[index], 0.0), float(tests[index].p or 0.0))
        by_rows = dict(zip(largest, holm(np.array([*largest.values()])).tolist(), strict=True))
        for index in indices:
            told[index] = replace(tests[index], p_holm=by_rows[keys[index]])
    return told


def labelled_pairs(rows: pd.DataFrame) -> Hashable:
    """Return the set of pairs that have a label and are not contested, by which `corrected` knows them again.

    `rows` are those of a contrast config; None where they have no sentences.
    """
    if not {"stereo", "anti", "label_basis", "contested"} <= {*rows.columns}:
        return None
    usable = ~unlabelled(rows) & ~rows["contested"].to_numpy(dtype=np.bool_)
    return frozenset(zip(rows["stereo"][usable], rows["anti"][usable], strict=True))


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
