"""What the Bias Scores of any number of sentences amount to: rankings, distribution, a page; memory stays flat."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from senseprobe.charts import Histogram
from senseprobe.document import Cell, Document, Level, Part, Section, Table, build_sections, name_cells, table_section
from senseprobe.evaluate.texts.bias_score import Axis, SentenceScore
from senseprobe.evaluate.texts.bias_score_comparison import Prediction
from senseprobe.evaluate.texts.measures import BIAS_SCORES
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
        facts = {name: getattr(self, name) for name in ("signature", "measure", "sentences", "unscored", "words")}
        axis = {name: getattr(self.axis, name) for name in _OF_AXIS}
        return {
            **facts,
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


@dataclass(frozen=True, slots=True)
class BiasScores:
    """The Bias Scores of sentences: a summary, what they predict of a model, and the files that were written."""

    summary: ScoreSummary
    predictions: tuple[Prediction, ...]
    files: tuple[Path, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return what ``senseprobe study bias-score --json`` prints."""
        rows = [{**asdict(prediction), "verdict": prediction.verdict} for prediction in self.predictions]
        return {**self.summary.as_dict(), "predictions": rows, "files": [str(path) for path in self.files]}

    def sections(self, level: Level = "full") -> tuple[Section, ...]:
        """Return the sections of the page, or what a terminal prints of them."""
        return build_sections(_PAGE, self, level)

    def page(self, sources: Sequence[str]) -> Document:
        """Return the page of the scores of `sources`."""
        return Document(
            title=f"{self.summary.measure} of {listed(sources)}",
            subtitle=f"{self.summary.sentences:,} sentences",
            warning="The sentences below were ranked by the stereotypes that their words carry.",
            parts=(Part(title=listed(sources), sections=self.sections()),),
            signatures=(self.summary.signature,),
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


# --- the page -------------------------------------------------------------------------------------------------------

_LIMITS = """\
The score is a weighted bag of words. It reads neither negation nor who does what: a sentence is as biased as its \
words, whatever it says.
It has no zero. Common words do not have a mean cosine of 0 with the axis, so the sign of one score means nothing. \
Compare sentences with one another, or with the baseline.
It measures the word vectors and the texts that they were trained on, not a language model.
Gendered words come from a list and count 0. The paper's own list of 6,562 words is not public. The default here is \
that of Zhao et al. (2018) with the words of the pairs. Names are not on it.
The paper does not define some details, so these are our choices. Words are looked up as the file of vectors needs, in \
lower case or not; gendered words are recognised in any case. Punctuation marks have importance if the encoder reads \
them, but no bias. A word without a vector counts 0 (InferSent does not read it; other encoders still give it \
importance). Each occurrence of a word counts. If hidden states are equal, the first one wins. What the marks around a \
sentence win belongs to no word, unless it is dropped.""".splitlines()
_DOUBTFUL = "The axis may not measure gender: a second direction explains more than half as much of the pairs."
_ZERO = "The line in the chart is at 0, which is not neutral. The baseline below shows where common words lie."


def prediction_section(scores: BiasScores, level: Level = "full") -> Section:
    """Return whether the score predicts a model's preference; empty where that was not asked."""
    how = (
        "For each pair of sentences, the difference in Bias Score is compared with the difference of the "
        "model's scores, stereotype minus anti-stereotype. Pairs share words, so the interval is over words: "
        "each word of a factor has the mean of its pairs. The factor with the widest interval decides."
    )
    headings = (
        "config",
        "of the scores",
        "pairs",
        "r over pairs",
        "r over words, widest interval",
        "same sign",
        "in words",
    )
    table = Table("Bias Score and preference", headings, tuple(map(_prediction_row, scores.predictions)))
    texts = (answer(scores.predictions), *[how] * (level == "full"))
    return table_section("Does the Bias Score predict the model's preference?", texts, [table])


def answer(predictions: Sequence[Prediction]) -> str:
    """Return in words whether the Bias Score predicts a model's preference, and where."""
    judged = [prediction for prediction in predictions if prediction.widest]
    clear = [f"{p.config} ({p.quantity}, r = {p.over_pairs:+.2f} over pairs)" for p in judged if p.excludes_zero]
    text = f"Does a sentence's Bias Score predict what the model prefers? {'Found' if clear else 'Not found'} in "
    text += f"{len(clear) or 'any'} of {len(judged)} comparisons that have an interval"
    return (
        f"{text}{': ' + ', '.join(clear) if clear else ''}. With twenty comparisons, about one is found by "
        "chance alone."
    )


def _prediction_row(prediction: Prediction) -> tuple[Cell, ...]:
    raw = "none" if prediction.over_pairs is None else f"{prediction.over_pairs:+.2f}"
    sign = "none" if prediction.same_sign is None else f"{prediction.same_sign:.0%} of {prediction.compared:,}"
    widest = prediction.widest
    words, over = "none", ""
    if widest:
        value, low, high, pairs = widest.correlation
        words, over = f"{value:+.2f} [{low:+.2f}, {high:+.2f}]", f"over {pairs} values of {widest.factor}"
    numbers = (Cell.number(f"{prediction.pairs:,}"), Cell.number(raw), Cell.number(words, over), Cell.number(sign))
    return (*name_cells(prediction.config, prediction.quantity), *numbers, Cell(prediction.verdict))


def limits_section(scores: BiasScores, level: Level = "full") -> Section:
    """Return what the score cannot say, at any length: a terminal has none of it."""
    texts = ((_DOUBTFUL,) * scores.summary.axis.is_doubtful + tuple(_LIMITS)) * (level == "full")
    return Section("What it cannot show", texts)


def distribution_section(scores: BiasScores, level: Level = "full") -> Section:
    """Return the means, and how the balance of sentences is spread."""
    summary, axis = scores.summary, scores.summary.axis
    edges, counts = summary.histogram()
    title = f"Balance of sentences: {axis.positive} + {axis.negative} score"
    means = [f"mean {name} {value:+.3f}" for name, value in summary.means().items() if value is not None]
    chart = Histogram(title=title, edges=edges, counts=counts, left=axis.negative, right=axis.positive)
    texts = (f"{', '.join(means)}.", *[_ZERO] * (level == "full")) if means else ()
    return Section("Distribution", texts, charts=(chart,) if sum(counts) else ())


def rankings_section(scores: BiasScores, level: Level = "full") -> Section:
    """Return Table 3: the most positive, negative and absolute sentences."""
    tables = []
    for name, rows in scores.summary.rankings().items():
        cells = ((Cell(score.text), Cell.quiet(score.name), Cell.number(f"{value:+.6f}")) for value, score in rows)
        tables.append(Table(f"Most {name}", ("sentence", "where", name), tuple(cells)))
    return Section("The most extreme sentences", tables=tuple(tables))


def computation_section(scores: BiasScores, level: Level = "full") -> Section:
    """Return what a reader must know of the axis and the words; in full also what the measure says, and cannot."""
    used = (scores.summary.measure, "bias-score-centred")
    declared = [f"{m.id}: {m.says} It cannot show: {m.cannot_say}" for m in BIAS_SCORES if m.id in used]
    return Section("How it was computed", (*_describe_axis(scores.summary), *declared * (level == "full")))


def _describe_axis(summary: ScoreSummary) -> Iterator[str]:
    axis = summary.axis
    yield (
        f"{summary.measure}: {axis.positive} is positive, {axis.negative} negative (the gender direction of Zhou et "
        "al. 2022, equation 8, is male-positive)"
    )
    yield f"axis of {len(axis.pairs)} pairs; without a vector: {listed(axis.missing) or 'none'}"
    second = axis.shares[1] if len(axis.shares) > 1 else 0.0
    yield f"shares of variance: first {axis.shares[0]:.3f}, second {second:.3f}"
    if axis.is_doubtful:
        yield (
            "WARNING: the second component explains more than half as much as the first, so the axis may not "
            "be the intended one"
        )
    if axis.agreement:
        low, high = axis.agreement
        median, most = summary.sensitivity() or (0.0, 0.0)
        yield (
            f"with one pair omitted, the axis has a cosine of {low:.3f} to {high:.3f} with the full axis, and "
            f"the ranked scores move by {median:.3f} (median), {most:.3f} (largest)"
        )
    if axis.baseline is None:
        yield "no baseline: the words of the file are not in order of frequency, so nothing is centred"
    else:
        yield (
            f"baseline: {axis.baseline:+.3f} over the {axis.commonest:,} first words of the vectors, assumed "
            f"to be the most common; {axis.baseline_positive or 0:.0%} of them lean to {axis.positive}: the "
            "score has no zero"
        )
    yield (
        f"{summary.sentences:,} sentences, {summary.unscored:,} without a score; {summary.words:,} words: "
        f"{summary.gendered:,} gendered, which count 0; {summary.missing:,} without a vector, which count 0"
    )


_PAGE = (prediction_section, limits_section, distribution_section, rankings_section, computation_section)
