"""What the Bias Scores of any number of sentences amount to: rankings, distribution, a table; memory stays flat."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from senseprobe.evaluate.bias_score import Axis, SentenceScore
from senseprobe.messages import listed

_BINS = 400
_OF_AXIS = ("positive", "negative", "pairs", "missing", "shares", "is_doubtful", "baseline", "commonest")


@dataclass(slots=True)
class ScoreSummary:
    """What is kept of any number of sentences: counts, the distribution of their balance, and the most extreme ones."""

    axis: Axis
    measure: str
    signature: str
    top: int = 10
    sentences: int = 0
    unscored: int = 0
    words: int = 0
    missing: int = 0
    gendered: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_BINS, dtype=np.int64))
    _heaps: dict[str, list[tuple[float, int, SentenceScore]]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def add(self, scores: Iterable[SentenceScore]) -> None:
        """Add sentences; of equal ones with one text the first is ranked."""
        for score in scores:
            self.sentences += 1
            self.words, self.missing = self.words + score.words, self.missing + score.missing
            self.gendered += score.gendered
            if np.isnan(score.positive):
                self.unscored += 1
                continue
            self.counts[min(int((score.balance + 1) / 2 * _BINS), _BINS - 1)] += 1
            number = next(self._numbers)
            for name, value in (*self._ranked(score), ("centred", sum(score.centred)), ("balance", score.balance)):
                self.sums[name] = self.sums.get(name, 0.0) + value
            for name, value in self._ranked(score):
                self._push(name, abs(value), -number, score)

    def _ranked(self, score: SentenceScore) -> tuple[tuple[str, float], ...]:
        axis = self.axis
        return (axis.positive, score.positive), (axis.negative, score.negative), ("absolute", score.absolute)

    def _push(self, name: str, value: float, order: int, score: SentenceScore) -> None:
        heap = self._heaps.setdefault(name, [])
        if len(heap) >= self.top and (not heap or value <= heap[0][0]):
            return
        if any(score.text == other.text for _, _, other in heap):
            return
        heapq.heappush(heap, (value, order, score))
        if len(heap) > self.top:
            heapq.heappop(heap)

    def rankings(self) -> dict[str, list[tuple[float, SentenceScore]]]:
        """Return the most positive, most negative and most absolute sentences, the most extreme first (Table 3)."""
        return {
            name: [
                (dict(self._ranked(score))[name], score) for _, _, score in sorted(heap, key=lambda e: (-e[0], -e[1]))
            ]
            for name, heap in self._heaps.items()
        }

    def means(self) -> dict[str, float | None]:
        """Return the mean of each score over the sentences that have one; None without one."""
        scored = self.sentences - self.unscored
        return {name: total / scored if np.isfinite(total) else None for name, total in self.sums.items()}

    def sensitivity(self) -> tuple[float, float] | None:
        """Return the median and largest change of the ranked sentences' balance where one pair is left out."""
        ranked = {score.text: score for rows in self.rankings().values() for _, score in rows}.values()
        moves = [abs(other - score.balance) for score in ranked for other in score.left_out]
        return (float(np.median(moves)), max(moves)) if moves else None

    def histogram(self) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """Return edges and counts of the balance, over the range that sentences have; one bin without any."""
        used = np.flatnonzero(self.counts)
        first, last = (int(used[0]), int(used[-1]) + 1) if len(used) else (_BINS // 2, _BINS // 2 + 1)
        edges = np.linspace(-1, 1, _BINS + 1)[first : last + 1]
        return tuple(map(float, edges)), tuple(int(number) for number in self.counts[first:last])

    def as_dict(self) -> dict[str, Any]:
        """Return all of it with what JSON has."""
        own = {name: getattr(self, name) for name in ("signature", "measure", "sentences", "unscored", "words")}
        axis = {name: getattr(self.axis, name) for name in _OF_AXIS}
        return {
            **own,
            "missing": self.missing,
            "gendered": self.gendered,
            "axis": {**axis, "left_out": self.axis.agreement},
            "means": self.means(),
            "sensitivity": self.sensitivity(),
            "rankings": {
                name: [{"score": value, "text": score.text, "name": score.name} for value, score in rows]
                for name, rows in self.rankings().items()
            },
        }

    def describe(self) -> Iterator[str]:
        """Yield what a reader must know of the axis and the words, a sentence a line."""
        axis = self.axis
        yield (
            f"{self.measure}: {axis.positive} is positive, {axis.negative} negative (the gender direction of Zhou et "
            "al. 2022, equation 8, is male-positive)"
        )
        yield f"axis of {len(axis.pairs)} pairs; without a vector: {listed(axis.missing) or 'none'}"
        second = axis.shares[1] if len(axis.shares) > 1 else 0.0
        yield f"shares of variance: first {axis.shares[0]:.3f}, second {second:.3f}"
        if axis.is_doubtful:
            yield "WARNING: the second component explains over half of what the first does: the axis may be another"
        if axis.agreement:
            low, high = axis.agreement
            median, most = self.sensitivity() or (0.0, 0.0)
            yield (
                f"with one pair left out: the axis has a cosine of {low:.3f} to {high:.3f} with the whole one, and the "
                f"ranked scores move by {median:.3f} (median), {most:.3f} (largest)"
            )
        if axis.baseline is None:
            yield "no baseline: the words of the file are in no order of frequency, so nothing is centred"
        else:
            yield (
                f"baseline: {axis.baseline:+.3f} over the {axis.commonest:,} first words of the vectors, taken as the "
                f"commonest, of which {axis.baseline_positive or 0:.0%} lean to {axis.positive}: the score has no zero"
            )
        yield (
            f"{self.sentences:,} sentences, {self.unscored:,} without a score; {self.words:,} words: "
            f"{self.gendered:,} gendered, which count 0; {self.missing:,} without a vector, which count 0"
        )


def score_schema(measure: str, axis: Axis) -> pa.Schema:
    """Return the columns of a table of scores; those of another measure than the paper's have its name before them."""
    prefix = measure.removeprefix("bias-score").lstrip("-")
    names = (axis.positive, axis.negative, "absolute", "balance")
    numbers = [f"{prefix}_{name}".lstrip("_") + end for end in ("", "_centred") for name in names]
    return pa.schema(
        [("name", pa.string()), ("text", pa.string())]
        + [(name, pa.int32()) for name in ("words", "missing", "gendered")]
        + [(name, pa.float64()) for name in numbers]
    )


def tabulate_scores(scores: Sequence[SentenceScore], schema: pa.Schema) -> pa.RecordBatch:
    """Return scores as rows of a schema of `score_schema`; null where there is none."""
    sides = [((s.positive, s.negative), s.centred) for s in scores]
    numbers = [
        column
        for at in (0, 1)
        for column in zip(*((p, n, p - n, p + n) for p, n in (row[at] for row in sides)), strict=True)
    ]
    heads = [[getattr(score, name) for score in scores] for name in schema.names[:5]]
    arrays = [
        pa.array(column, kind, from_pandas=True) for column, kind in zip((*heads, *numbers), schema.types, strict=True)
    ]
    return pa.record_batch(arrays, schema=schema)
