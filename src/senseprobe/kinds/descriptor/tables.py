"""Scores of the sentences of an axis by descriptor, template and noun, and what figures of axes have in common."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.base import Estimand
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.estimands.kernel import Tally, codes_of, labels, select
from senseprobe.records import Design, Figure
from senseprobe.statistics import BoolArray, FloatArray

DESCRIPTOR, AXIS, FRAME = "descriptor", "axis", "frame"

FEWEST_LEVELS = 5
"""Of fewer templates, or nouns, nothing can be generalised: they are fixed, as the interval rule has it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AxisScores:
    """The scores of an axis.

    - `scores`: shape (D, T, N), of descriptors, templates and nouns; NaN where there is no sentence or no number.
    - `descriptors`, `templates`, `nouns`: what they are called, in their order.
    - `drawn`: whether templates, and nouns, are levels that the figures generalise over.
    - `names`: what the design calls templates and nouns.
    """

    axis: str
    scores: FloatArray
    descriptors: tuple[str, ...]
    templates: tuple[str, ...]
    nouns: tuple[str, ...]
    drawn: tuple[bool, bool]
    names: tuple[str, str]
    tally: Tally

    @property
    def sampled(self) -> tuple[bool, bool]:
        """Whether templates, and nouns, are drawn, and are enough to generalise over."""
        enough = (count >= FEWEST_LEVELS for count in self.scores.shape[1:])
        return tuple(a and b for a, b in zip(self.drawn, enough, strict=True))  # type: ignore[return-value]

    @property
    def levels(self) -> dict[str, int]:
        """How many levels there are of what is generalised over, by its name."""
        counts = zip(self.names, self.scores.shape[1:], self.sampled, strict=True)
        return {name: count for name, count, is_sampled in counts if is_sampled}

    @property
    def fixed(self) -> tuple[str, ...]:
        """The names of what is not generalised over."""
        return tuple(name for name, is_sampled in zip(self.names, self.sampled, strict=True) if not is_sampled)

    def complete(self) -> "AxisScores":
        """Return the descriptors that have the same templates and nouns, those of most descriptors; without a gap.

        Where no descriptor has all nouns in all templates, none is left. The rows of those that leave are counted.
        """
        scored = np.isfinite(self.scores)
        patterns, counts = np.unique(scored.reshape(len(scored), -1), axis=0, return_counts=True)
        commonest = max(range(len(patterns)), key=lambda at: (counts[at], patterns[at].sum()))
        pattern = patterns[commonest].reshape(scored.shape[1:])
        templates, nouns = (np.asarray(pattern.any(axis=axis), dtype=np.bool_) for axis in (1, 0))
        is_grid = bool(pattern[np.ix_(templates, nouns)].all()) and bool(templates.any())
        stays = np.asarray(scored[:, templates][:, :, nouns].all(axis=(1, 2)) & is_grid, dtype=np.bool_)
        scores = self.scores[stays][:, templates][:, :, nouns]
        left = int(scored.sum()) - scores.size
        return replace(
            self,
            scores=scores,
            descriptors=_at(self.descriptors, stays),
            templates=_at(self.templates, templates),
            nouns=_at(self.nouns, nouns),
            tally=self.tally.without(INCOMPLETE, left),
        )


INCOMPLETE = "without all templates and nouns"
"""Of the rows of descriptors that others of their axis have more sentences than."""


def _at(names: tuple[str, ...], stays: BoolArray) -> tuple[str, ...]:
    return tuple(name for name, stay in zip(names, stays, strict=True) if stay)


def axes_of(rows: pd.DataFrame, design: Design) -> Iterator[AxisScores]:
    """Yield the scores of each axis of a config, in order of their names; `rows` have `score`.

    A noun is what stands in all slots but that of the descriptor. Where a descriptor has two rows with one template and
    noun, as in two groups of an axis, they are one sentence, and the last one counts.
    """
    others = [slot for slot in design.slots if slot != DESCRIPTOR]
    columns = {column for factor in design.factors for column in factor.columns}
    drawn = (FRAME in columns, bool(columns & {*others}))
    names = (FRAME, others[0] if len(others) == 1 else " and ".join(others) or "noun")
    rows = rows.drop(columns=["id", "sentence", "sentence_span", "group"], errors="ignore")  # which would be copied
    axes = labels(rows, AXIS)
    for axis in sorted({str(name) for name in axes}):
        part = rows[axes == axis]
        _, tally = select(part, {}, ("score",))
        descriptor, words = pd.factorize(labels(part, DESCRIPTOR), sort=True)
        frame, frames = pd.factorize(labels(part, FRAME), sort=True)
        noun = codes_of([labels(part, slot) for slot in others], len(part))
        columns_of_nouns = [part[slot].astype(str).tolist() for slot in others]
        nouns = dict(
            zip(noun.tolist(), zip(*columns_of_nouns, strict=True) if others else [()] * len(part), strict=True)
        )
        # By name, so that the order of rows moves no last bit of a sum.
        order = sorted(nouns, key=lambda code: nouns[code])
        noun = np.argsort(np.array(order, dtype=np.intp))[noun]
        scores = np.full((len(words), len(frames), len(order)), np.nan)
        score = part["score"].to_numpy(dtype=np.float64)
        scores[descriptor, frame, noun] = np.where(np.isfinite(score), score, np.nan)
        yield AxisScores(
            axis=axis,
            scores=scores,
            descriptors=tuple(map(str, words)),
            templates=tuple(map(str, frames)),
            nouns=tuple(" ".join(nouns[code]) for code in order),
            drawn=drawn,
            names=names,
            tally=tally,
        )


M = TypeVar("M")


class AxisEstimand(Estimand, Generic[M]):
    """A figure of the axes of a config together, and of each where there are several.

    A subclass says what is computed of an axis, once, and what the fields of a figure of some axes are by that.
    """

    __slots__ = ()

    def measure(self, table: AxisScores, scope: Scope) -> tuple[AxisScores, M]:
        """Return what is computed of an axis, and the scores that are used for it."""
        raise NotImplementedError

    def pool(self, measured: Sequence[tuple[AxisScores, M]], scope: Scope) -> Mapping[str, Any]:
        """Return the fields of the figure of some axes, but for what every figure has."""
        raise NotImplementedError

    def compute(self, rows: pd.DataFrame, scope: Scope) -> Iterator[Figure]:
        """Yield the figure of a config, then those of its axes, where there are several."""
        measured = [self.measure(table, scope) for table in axes_of(rows, scope.design)]
        yield self._figure(measured, scope)
        if len(measured) > 1:
            for table, of_axis in measured:
                yield self._figure([(table, of_axis)], scope, table.axis)

    def _figure(self, measured: Sequence[tuple[AxisScores, M]], scope: Scope, axis: str | None = None) -> Figure:
        tally = reduce(add, (table.tally for table, _ in measured), Tally(rows=0, scored=0, unscored=0))
        return Figure(
            config=scope.config,
            sense_type=scope.design.sense_type,
            estimand=self.id,
            group=axis,
            definition=self.version,
            **self.pool(measured, scope),
            **asdict(tally),
        )

    def slice_figures(self, part: pd.DataFrame, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return nothing: descriptors are compared in whole axes."""
        return ()

    @property
    def missing_slice(self) -> str:
        """Why a slice is without it."""
        return "it compares all descriptors of an axis at once"
