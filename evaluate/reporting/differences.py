"""Two models and more on the same rows of a release: each against each, by one scorer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.comparing import Comparison, compare_all
from senseprobe.evaluate.estimands.equivalence import Margin
from senseprobe.evaluate.reporting.evidence import Evidence
from senseprobe.wording import counted

__all__ = ["MAX_MODELS", "Difference", "differences"]

MAX_MODELS = 8
"""Of which there are 28 pairs; p-values are corrected within each pair, and not for their number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Everything in which model `a` was compared with `b`: the numbers (from 1) of two results, and the figures."""

    a: int
    b: int
    comparisons: tuple[Comparison, ...]

    def as_dict(self) -> dict[str, Any]:
        """The record with stable keys, as JSON has it."""
        return {"a": self.a, "b": self.b, "comparisons": [found.as_dict() for found in self.comparisons]}


def differences(evidence: Sequence[Evidence]) -> list[Difference]:
    """Every pair of results, compared on their rows by `compare_all`, with the margin that the release states.

    Raises ResultError where there are too few or too many, where they are not of one scorer on the same rows, and where
    the release or a table of scores is not at hand: figures alone do not say what words have in common.
    """
    if not 2 <= len(evidence) <= MAX_MODELS:
        raise ResultError(f"{counted(len(evidence), 'result')} on the release: a comparison is of 2 to {MAX_MODELS}")
    _same(evidence)
    return [_difference(evidence, *pair) for pair in combinations(range(len(evidence)), 2)]


def _same(evidence: Sequence[Evidence]) -> None:
    if len(scorers := {each.result.scorer for each in evidence}) > 1:
        raise ResultError(
            f"models are compared by one scorer, and these results are of {' and '.join(sorted(scorers))}: numbers of "
            "two scorers are not on one scale"
        )
    for each in evidence:
        if not each.tables:
            raise ResultError(f"cannot compare {each.label}: {' '.join(each.missing) or 'it has no rows'}")
    asked = {(each.result.release["config"], each.result.limit) for each in evidence}
    if len(asked) > 1:
        raise ResultError("the results are not of the same rows: some are of one config, or of a sample (--limit)")


def _difference(evidence: Sequence[Evidence], first: int, second: int) -> Difference:
    a, b = evidence[first], evidence[second]
    return Difference(a=first + 1, b=second + 1, comparisons=tuple(_compared(a, b)))


def _compared(a: Evidence, b: Evidence) -> Iterator[Comparison]:
    if a.release is None:  # `_same` has refused it
        return
    manifest = a.release.manifest
    designs = {config: a.release.design(config) for config in a.tables}
    margin = Margin.of(manifest.data["card"])
    yield from compare_all(a.tables, b.tables, designs, manifest.contrasts, margin=margin, seed=a.result.seed)
