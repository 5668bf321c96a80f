"""Families of tests, each corrected by Holm's method as a whole; fixed before anything is scored.

A release declares none of its own, so these hold for all:

- `relative.RELATIVE_GROUPS`: all groups of a config; `relative` and `relative-mean` apart.
- `gap.GAPS`: all occupations, or whatever else divides the rows of `gap`, of a config.
- `gap.DECLARED_GAPS`: all gaps over the whole of a config, where its template declares several.
- `sense_contrast.CONTRASTS`: all matched sense contrasts of a release whose zero is neutral.
- `NULLS`: all configs of a release in which polarity can be permuted.
- `COMPARISONS`: two models on a release: all configs, and all groups of `relative`, for one estimand.

They are of one model and one scorer: ten scorers on a release make ten families, and no correction here is over all of
them.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

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
    """The tests that are corrected together: those that agree in the fields `by`, as `says` has it in words.

    `estimands` are the ids of those that the family is about, empty where it is about whatever it is given.
    """

    id: str
    says: str
    by: tuple[str, ...]
    estimands: tuple[str, ...] = ()

    def has(self, test: Tested) -> bool:
        """Return whether a test was made, and belongs to the family."""
        return test.p is not None and (not self.estimands or test.estimand.partition(":")[0] in self.estimands)


NULLS = Family(id="nulls", says="all configs of the release", by=())
COMPARISONS = Family(id="comparisons", says="all configs and groups of the release, for one estimand", by=("estimand",))


def corrected(tests: Sequence[TestedT], family: Family, rows: Sequence[Hashable] = ()) -> list[TestedT]:
    """Return the tests with `p_holm`, in the same order; those that are not of the family are left as they are.

    `rows` names the set of rows that each test is over. Tests of a family over one set of rows are counted once, with
    the largest of their p, since a second look at the same rows is no other test; without `rows` each has its own.

    >>> from senseprobe.records import Figure
    >>> counts = {"rows": 9, "scored": 9, "unscored": 0, "ties": 0}
    >>> counts |= {"config": "jobs", "sense_type": "", "estimand": "gap"}
    >>> tests = [Figure(value=9.0, p=p, **counts) for p in (0.01, 0.04)]
    >>> [test.p_holm for test in corrected(tests, Family(id="gaps", says="all gaps", by=("estimand",)))]
    [0.02, 0.04]
    """
    results, keys = list(tests), rows or range(len(tests))
    for indices in _members(tests, family):
        largest: dict[Hashable, float] = {}
        for index in indices:
            largest[keys[index]] = max(largest.get(keys[index], 0.0), float(tests[index].p or 0.0))
        by_rows = dict(zip(largest, holm(np.array([*largest.values()])).tolist(), strict=True))
        for index in indices:
            results[index] = replace(tests[index], p_holm=by_rows[keys[index]])
    return results


def without_single(tests: Sequence[TestedT], *families: Family) -> list[TestedT]:
    """Return the tests, without `p_holm` where one is alone in its family and nothing was corrected.

    For print; in files it is there, and equals p.
    """
    alone = {indices[0] for family in families for indices in _members(tests, family) if len(indices) == 1}
    return [
        replace(test, p_holm=None) if index in alone and test.p_holm == test.p else test
        for index, test in enumerate(tests)
    ]


def _members(tests: Sequence[TestedT], family: Family) -> Iterable[list[int]]:
    """Yield the indices of the tests that are corrected together."""
    members: dict[Hashable, list[int]] = {}
    for index, test in enumerate(tests):
        if family.has(test):
            members.setdefault(tuple(getattr(test, field) for field in family.by), []).append(index)
    return members.values()
