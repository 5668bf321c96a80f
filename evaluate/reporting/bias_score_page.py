"""The page of Bias Scores: the most extreme sentences, the distribution, how it was computed, and its limits."""

from collections.abc import Iterable, Sequence

from senseprobe.charts import Histogram
from senseprobe.document import Cell, Document, Part, Section, Table, name_cells
from senseprobe.evaluate.bias_score import MEASURES
from senseprobe.evaluate.bias_score_comparison import Prediction
from senseprobe.evaluate.bias_score_summary import ScoreSummary
from senseprobe.messages import listed

_LIMITS = """\
The score is a weighed bag of words: it reads neither negation nor who does what, and a sentence is as biased as its \
words, whatever it says.
It has no zero. Common words do not have a mean cosine of 0 with the axis, so the sign of one score says nothing: \
compare sentences with one another, or with the baseline.
It measures the word vectors and the texts that they were trained on, and not a language model.
Gendered words count 0 by a list. The paper's own list of 6,562 words is not public; here it is Zhao et al.'s (2018), \
with the words of the pairs, unless another was named. Names are not on it.
The paper does not define these: words are looked up as the file of vectors needs, in lower case or not; a gendered \
word is one in any case; punctuation marks have importance where the encoder reads them, and no bias; a word without \
a vector counts 0 (InferSent does not read it, others give it importance all the same); each occurrence of a word \
counts; of hidden states that are equal the first wins; what the marks around a sentence win belongs to no word, \
unless it is dropped.""".splitlines()
_DOUBTFUL = "It may not measure gender: a second direction explains over half as much of the pairs as the axis does."
_ZERO = "The line in the chart is at 0, which is not neutral: where common words lie is the baseline, below."


def build_page(summary: ScoreSummary, sources: Sequence[str], predictions: Sequence[Prediction] = ()) -> Document:
    """Return the page of scores of sentences, and of what they predict of a model where that was asked."""
    sections = (
        *_prediction_sections(predictions),
        Section("What it cannot say", (_DOUBTFUL,) * summary.axis.is_doubtful + tuple(_LIMITS)),
        _distribution(summary),
        Section("The most extreme sentences", tables=tuple(_rankings(summary))),
        Section("How it was computed", (*summary.describe(), *_declared(summary))),
    )
    return Document(
        title=f"{summary.measure} of {listed(sources)}",
        subtitle=f"{summary.sentences:,} sentences",
        warning="The sentences below were ranked for the stereotypes that their words carry.",
        parts=(Part(title=listed(sources), sections=tuple(filter(None, sections))),),
        signatures=(summary.signature,),
    )


def answer(predictions: Sequence[Prediction]) -> str:
    """Return in words whether the Bias Score predicts a model's preference, and where."""
    judged = [each for each in predictions if each.widest]
    shown = [
        f"{each.config} ({each.quantity}, r = {each.over_pairs:+.2f} over pairs)" for each in judged if each.is_shown
    ]
    text = f"Does a sentence's Bias Score predict what the model prefers? {'Shown' if shown else 'Not shown'} in "
    text += f"{len(shown) or 'any'} of {len(judged)} comparisons that have an interval"
    return f"{text}{': ' + ', '.join(shown) if shown else ''}. Of twenty, about one would be by chance alone."


def _prediction_sections(predictions: Sequence[Prediction]) -> Iterable[Section]:
    if not predictions:
        return
    how = (
        "For each pair of sentences, the difference in Bias Score is held against the difference of the model's scores "
        "stereotype less anti-stereotype. Pairs share words, so the interval is over words: each word of a factor with "
        "the mean of its pairs. The factor with the widest interval decides."
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
    table = Table("Bias Score and preference", headings, tuple(map(_prediction_row, predictions)))
    yield Section("Does the Bias Score predict the model's preference?", (answer(predictions), how), tables=(table,))


def _prediction_row(each: Prediction) -> tuple[Cell, ...]:
    raw = "none" if each.over_pairs is None else f"{each.over_pairs:+.2f}"
    sign = "none" if each.same_sign is None else f"{each.same_sign:.0%} of {each.compared:,}"
    widest = each.widest
    words, over = "none", ""
    if widest:
        value, low, high, pairs = widest.correlation
        words, over = f"{value:+.2f} [{low:+.2f}, {high:+.2f}]", f"over {pairs} values of {widest.factor}"
    numbers = (Cell.number(f"{each.pairs:,}"), Cell.number(raw), Cell.number(words, over), Cell.number(sign))
    return (*name_cells(each.config, each.quantity), *numbers, Cell(each.verdict))


def _distribution(summary: ScoreSummary) -> Section:
    axis, means = summary.axis, summary.means()
    edges, counts = summary.histogram()
    title = f"Balance of sentences: {axis.positive} + {axis.negative} score"
    texts = [f"mean {name} {value:+.3f}" for name, value in means.items() if value is not None]
    chart = Histogram(title=title, edges=edges, counts=counts, left=axis.negative, right=axis.positive)
    return Section(
        "Distribution", (f"{', '.join(texts)}.", _ZERO) if texts else (), charts=(chart,) if sum(counts) else ()
    )


def _rankings(summary: ScoreSummary) -> Iterable[Table]:
    for name, rows in summary.rankings().items():
        cells = ((Cell(score.text), Cell.quiet(score.name), Cell.number(f"{value:+.6f}")) for value, score in rows)
        yield Table(f"Most {name}", ("sentence", "where", name), tuple(cells))


def _declared(summary: ScoreSummary) -> Iterable[str]:
    """Return what the measure, and the centred one, say and cannot say, as docs/metrics.md has it."""
    for measure in MEASURES:
        if measure.id in (summary.measure, "bias-score-centred"):
            yield f"{measure.id}: {measure.says} It cannot say: {measure.cannot_say}"
