"""Two models and more on the same rows of a release: each against each, by one scorer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.comparing import Comparison, compare_all
from senseprobe.evaluate.estimands.equivalence import Margin
from senseprobe.evaluate.estimands.kernels import OF_LABELS, drawn_too_few
from senseprobe.evaluate.reporting.evidence import Evidence
from senseprobe.wording import counted

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
    _same_definitions(evidence)
    for each in evidence:
        if not each.tables:
            raise ResultError(f"cannot compare {each.label}: {' '.join(each.missing) or 'it has no rows'}")
    asked = {(each.result.release["config"], each.result.limit) for each in evidence}
    if len(asked) > 1:
        raise ResultError("the results are not of the same rows: some are of one config, or of a sample (--limit)")


def _same_definitions(evidence: Sequence[Evidence]) -> None:
    """ResultError where one name stands for two definitions, of the scorer or of a figure."""
    if len({each.result.scale for each in evidence}) > 1:
        raise ResultError("the results have numbers on different scales (log, probability): score the models again")
    of: dict[str, dict[int, str]] = {}
    for each in evidence:
        of.setdefault(each.result.scorer, {}).setdefault(each.result.scorer_version, each.label)
        for figure in each.result.figures:
            of.setdefault(figure.estimand, {}).setdefault(figure.definition, each.label)
    for name, labels in of.items():
        if len(labels) > 1:
            told = ", ".join(f"{version} in {label}" for version, label in sorted(labels.items()))
            raise ResultError(f"the results have different definitions of {name} ({told}): score the models again")


def _difference(evidence: Sequence[Evidence], first: int, second: int) -> Difference:
    a, b = evidence[first], evidence[second]
    return Difference(a=first + 1, b=second + 1, comparisons=tuple(_compared(a, b)))


def _compared(a: Evidence, b: Evidence) -> Iterator[Comparison]:
    if a.release is None:  # `_same` has refused it
        return
    manifest = a.release.manifest
    designs = {config: a.release.design(config) for config in a.tables}
    margin = Margin.of(manifest.data["card"])
    seed, scale = a.result.seed, a.result.scale
    for found in compare_all(a.tables, b.tables, designs, manifest.contrasts, margin=margin, seed=seed, scale=scale):
        levels = a.drawn_from(found.config)
        yield found if levels is None else _of_sample(found, levels)


def _of_sample(found: Comparison, levels: Mapping[str, int]) -> Comparison:
    """Return a comparison over drawn rows without what follows from words of which too few were drawn."""
    found = replace(found, equivalent=None) if found.estimand in OF_LABELS else found
    if found.low is None or not (few := drawn_too_few(found.estimand, found.fixed, levels)):
        return found
    note = "; ".join(filter(None, (few, found.note)))
    return replace(found, low=None, high=None, p=None, p_holm=None, test="none", equivalent=None, note=note)
