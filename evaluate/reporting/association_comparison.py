"""Two models on the same association tests as people read it: their effects side by side, and which of them differ."""

from collections.abc import Sequence

from senseprobe.charts import Forest, ForestRow
from senseprobe.document import Cell, Section, Table
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.association import ALPHA, key_of
from senseprobe.evaluate.estimands.comparison import Comparison
from senseprobe.evaluate.reporting import figure_charts, notation
from senseprobe.evaluate.reporting.association_tables import AXIS, TestedInput, label_inputs, name_tests
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.significance import ModelComparison
from senseprobe.messages import counted

TITLE = "Differences between the models"
HOW = (
    "A difference is that of two effects over the words that both models have vectors of, each in standard deviations "
    "of its own model. p is exact, or of drawn signs: word by word, it exchanges which model a value is of. It holds "
    "the attribute words fixed, is two-sided, and is corrected over all tests of the pair (Holm), not over pairs. "
    "There is no interval: a difference that is not shown may well be there."
)
MOST_PLOTTED = 40


def test_comparison_sections(pairs: Sequence[ModelComparison], tested: Sequence[TestedInput]) -> Sequence[Section]:
    """Return the section with which a page of models compared begins; none where nothing was compared."""
    pairs = [pair for pair in pairs if pair.comparisons]
    if not pairs:
        return ()
    names = name_models([part.source for part in tested])
    tables = tuple(_build_table(pair, names) for pair in pairs)
    texts = (*(summarize_tests(pair, names) for pair in pairs), HOW)
    return (Section(TITLE, texts, charts=(_build_forest(pairs, tested),), tables=tables),)


def name_models(inputs: Sequence[ReportInput]) -> Sequence[str]:
    """Return the names of models; where two are alike, those of the results, with how their vectors were made."""
    names = [str(source.result.model["name"]) for source in inputs]
    return names if len({*names}) == len(names) else label_inputs(inputs)


def rank_tests(pair: ModelComparison) -> list[Comparison]:
    """Return the tests of a pair by p, and by the size of their difference; those without one last."""
    return sorted(pair.comparisons, key=lambda row: (row.p_holm is None, row.p_holm, -abs(row.difference or 0.0)))


def summarize_tests(pair: ModelComparison, names: Sequence[str]) -> str:
    """Return how many tests of two models are shown to differ, and which."""
    compared = [row for row in pair.comparisons if row.difference is not None]
    differing = [row for row in rank_tests(pair) if is_shown(row)]
    text = (
        f"{names[pair.a - 1]} and {names[pair.b - 1]}: {len(differing) or 'none'} of {counted(len(compared), 'test')}"
    )
    verb = "is" if len(differing) == 1 or (not differing and len(compared) == 1) else "are"
    keys = ([key_of(row) for row in rows] for rows in (differing, pair.comparisons))
    which = f": {name_tests(*keys)}; of other attribute words that says nothing" if differing else ""
    return f"{text} {verb} shown to differ{which}."


def is_shown(row: Comparison) -> bool:
    """Return whether a difference has a small p after correction."""
    return row.p_holm is not None and row.p_holm < ALPHA


def tell_test(row: Comparison, first: str, second: str) -> str:
    """Return what a difference says: ``a has X nearer to A than b``, or that none is shown, or why there is none."""
    if row.difference is None:
        return row.note
    if not is_shown(row):
        return "no difference shown"
    higher, lower = (first, second) if row.difference > 0 else (second, first)
    return f"{higher} {lookup(row.estimand).presentation.tendency} than {lower}"


def format_numbers(row: Comparison) -> tuple[str, str, str]:
    """Return the difference, and the effects of the first and of the second model."""
    numbers = (row.difference, row.a, row.b)
    difference, a, b = ("none" if n is None else notation.format_points(n, row.estimand) for n in numbers)
    return difference, a, b


def describe_words(row: Comparison) -> str:
    """Return how many targets were compared: ``32``, or ``31 of 32`` where a model has no vector of some."""
    return f"{row.scored} of {row.rows}" if row.unscored else str(row.rows)


def _build_forest(pairs: Sequence[ModelComparison], tested: Sequence[TestedInput]) -> Forest:
    """Return the effects of all models side by side, tests with the smallest p first."""
    ranked = sorted(
        (row for pair in pairs for row in rank_tests(pair)), key=lambda row: (row.p_holm is None, row.p_holm)
    )
    keys = [*dict.fromkeys((row.config, row.group) for row in ranked)]
    figures = [{(figure.config, figure.group): figure for _, figure in part.tests} for part in tested]
    rows = []
    for key in keys[:MOST_PLOTTED]:
        marks = [
            figure_charts.build_mark(own[key], part.number)
            for part, own in zip(tested, figures, strict=True)
            if key in own
        ]
        rows.append(ForestRow(label=key[1] or "", note=key[0], marks=tuple(marks)))
    left, right = lookup(ranked[0].estimand).presentation.ends
    omission = f", {MOST_PLOTTED} of {len(keys)} tests" if len(keys) > MOST_PLOTTED else ""
    title = f"Effects with 95 % intervals, those that differ most clearly first{omission}"
    return Forest(title=title, rows=tuple(rows), low=AXIS.low, high=AXIS.high, left=left, right=right)


def _build_table(pair: ModelComparison, names: Sequence[str]) -> Table:
    """Return the table of all tests of a pair of models."""
    first, second = names[pair.a - 1], names[pair.b - 1]
    rows = []
    for row in rank_tests(pair):
        difference, a, b = format_numbers(row)
        rows.append(
            (
                Cell(row.group or "", row.config, "name"),
                Cell.number(difference, notation.describe_test(row)),
                Cell.number(a),
                Cell.number(b),
                Cell.quiet(describe_words(row)),
                Cell(tell_test(row, first, second)),
            )
        )
    headings = ("test", "difference", pair.a - 1, pair.b - 1, "targets", "in words")
    return Table(f"{first} less {second}", headings, tuple(rows))
