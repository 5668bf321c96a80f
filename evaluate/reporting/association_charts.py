"""Charts of association tests: race and gender against both, and the words that are nearest to each attribute."""

from collections.abc import Iterator, Sequence

import numpy as np

from senseprobe.charts import Forest, ForestRow, HeatMap
from senseprobe.document import Cell, Section, Table
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.association import Weat, key_of
from senseprobe.evaluate.estimands.comparison import Comparison
from senseprobe.evaluate.estimands.word_sets import TestWords
from senseprobe.evaluate.reporting import figure_charts, notation
from senseprobe.evaluate.reporting.association_tables import AXIS, TestedInput, tested_inputs
from senseprobe.evaluate.reporting.association_verdicts import listed_words
from senseprobe.evaluate.reporting.scope import ReportScope
from senseprobe.records import Figure
from senseprobe.statistics import FloatArray, IntArray

MEN, WOMEN = ("European American men", "African American men"), ("European American women", "African American women")
INTERSECTIONS = {
    "i1": (WOMEN[0], WOMEN[1], "race"),
    "i2": (MEN[1], WOMEN[1], "gender"),
    "i3": (MEN[0], MEN[1], "race"),
    "i4": (MEN[0], WOMEN[0], "gender"),
    "i5": (MEN[0], WOMEN[1], "both"),
}
"""The names X and Y of the intersectional tests of Tan and Celis (2019, section 4.3), and their difference."""

ANCHORS = {f"{MEN[0]} against others": ("i4", "i3", "i5"), f"Others against {WOMEN[1]}": ("i2", "i1", "i5")}
"""Their two series, each with one group in all tests: the most privileged one, and the one of both minorities."""

IDENTITY = "intersectional"
NO_TEST = (
    "Tan and Celis compare the effect of both (i5) with that of race (i3) and of gender (i4) alone. The three are of "
    "different names, and no test of their differences is known: read them with their intervals."
)
MOST_WORDS, MOST_ATTRIBUTES = 8, 6
"""The most rows and columns of a heat map on either side."""

MAPS_OF_FIRST = 2
MOST_PULLED = 3
MOST_PLOTTED = 40
CENTRED = (
    "A cell is the cosine of a word with an attribute, less what the word has on average with all attributes of the "
    "test, and the attribute with all words: what is left is what the test is about. The words are those with the "
    "largest and the smallest association, the attributes those that tell X from Y most."
)


def intersection_section(tested: Sequence[TestedInput]) -> Section:
    """Return the tests of race, of gender and of both side by side, for each result; empty without them."""
    effects = {
        (part.number, figure.group): figure
        for part in tested
        for _, figure in part.judged
        if figure.identity == IDENTITY and figure.group in INTERSECTIONS
    }
    charts = []
    for title, names in ANCHORS.items():
        rows = []
        for name in names:
            x, y, label = INTERSECTIONS[name]
            marks = tuple(
                figure_charts.build_mark(figure, number) for (number, test), figure in effects.items() if test == name
            )
            if marks:
                rows.append(ForestRow(label=f"{name}: {label}", note=f"X {x}, Y {y}", marks=marks))
        if len(rows) > 1:
            left, right = (f"{side} nearer to pleasant words" for side in ("Y", "X"))
            chart = Forest(
                title=f"{title}: effects with 95 % intervals",
                rows=tuple(rows),
                low=AXIS.low,
                high=AXIS.high,
                left=left,
                right=right,
            )
            charts.append(chart)
    texts = [text for part in tested if (text := _compare_intersections(part))]
    return Section("Race, gender, and both", (*texts, NO_TEST) if charts else (), charts=tuple(charts))


def _compare_intersections(part: TestedInput) -> str:
    """Return whether the effect of both is the largest of the three, as in most of the paper; empty without them."""
    effects = {f.group: f.value for _, f in part.judged if f.identity == IDENTITY and f.value is not None}
    if not {"i3", "i4", "i5"} <= effects.keys():
        return ""
    both, race, gender = (effects[name] for name in ("i5", "i3", "i4"))
    largest = "is" if both > max(race, gender) else "is not"
    sizes = f"both {both:+.2f}, race {race:+.2f}, gender {gender:+.2f}"
    return f"{part.label}: {sizes}: that of both {largest} the largest."


# --- Words ------------------------------------------------------------------------------------------------------------


def word_section(tested: Sequence[TestedInput]) -> Section:
    """Return heat maps of words by attributes for the largest effects, and a table of all tests."""
    charts = [
        chart for part in tested for chart in _plot_words(part, prefix=f"{part.label}, " if len(tested) > 1 else "")
    ]
    tables = [table for part in tested if (table := _build_pulled_table(part)).rows]
    return Section("Which words", (CENTRED,) if charts else (), charts=tuple(charts), tables=tuple(tables))


def _plot_words(part: TestedInput, prefix: str) -> Iterator[HeatMap]:
    """Yield heat maps of the tests with the largest effects; tests with an effect come first."""
    tests = [test for test in part.judged if test[1].value is not None]
    unshown = {key_of(figure): weat.judge(figure).code != "shown" for weat, figure in tests}
    tests.sort(key=lambda test: (unshown[key_of(test[1])], not test[1].identity, -abs(test[1].value or 0.0)))
    for weat, figure in tests[: MAPS_OF_FIRST if part.number == 0 else 1]:
        words = part.words.get(key_of(figure))
        if words is not None and all(words.has.values()):
            yield _build_map(words, weat, figure, prefix, closed=part.number > 0)


def _build_map(words: TestWords, weat: Weat, figure: Figure, prefix: str, *, closed: bool) -> HeatMap:
    cosines = words.cosines
    centred = cosines - cosines.mean(axis=1, keepdims=True) - cosines.mean(axis=0) + cosines.mean()
    n_x, n_a = len(words.has["X"]), len(words.has["A"])
    pull = centred[:n_x].mean(axis=0) - centred[n_x:].mean(axis=0)  # of each attribute, towards X
    rows = _find_ends(np.concatenate(words.associations(cosines)), MOST_WORDS)
    a_columns, b_columns = _find_ends(pull[:n_a], MOST_ATTRIBUTES), n_a + _find_ends(pull[n_a:], MOST_ATTRIBUTES)
    columns = [*a_columns[:MOST_ATTRIBUTES], *b_columns[-MOST_ATTRIBUTES:]]
    cells, raw = centred[np.ix_(rows, columns)], cosines[np.ix_(rows, columns)]
    limit = float(np.abs(cells).max()) or 1.0
    targets, attributes = ([f"{word} ({side})" for side in pair for word in words.has[side]] for pair in ("XY", "AB"))
    return HeatMap(
        title=f"{prefix}{figure.group}, effect {notation.format_interval(figure)}",
        row_heading="word",
        column_heading="attribute",
        rows=tuple(targets[row] for row in rows),
        columns=tuple(attributes[column] for column in columns),
        values=tuple(map(tuple, (np.round(50 * cells / limit, 1) + 0.0).tolist())),
        texts=tuple(
            tuple(
                f"{round(cell, 2) + 0.0:+.2f} {round(cosine, 2) + 0.0:.2f}" for cell, cosine in zip(*row, strict=True)
            )
            for row in zip(cells.tolist(), raw.tolist(), strict=True)
        ),
        left="farther",
        right="nearer than on average",
        low=f"{-limit:+.2f}",
        high=f"{limit:+.2f}",
        note="Small: the cosine itself.",
        closed=closed,
    )


def _find_ends(values: FloatArray, most: int) -> IntArray:
    """Return the indices of the largest and of the smallest values, from the largest on."""
    order = np.argsort(-np.round(values, 12), kind="stable")
    return order if len(order) <= 2 * most else np.concatenate([order[:most], order[-most:]])


def _build_pulled_table(part: TestedInput) -> Table:
    """Return the words of each test that are nearest to A, and nearest to B, with their associations."""
    rows = []
    for _, figure in part.judged:
        words = part.words.get(key_of(figure))
        if words is None or not all(words.has.values()):
            continue
        values = np.concatenate(words.associations(words.cosines))
        targets = [f"{word} ({side})" for side in "XY" for word in words.has[side]]
        named = [f"{target} {value:+.3f}" for target, value in zip(targets, values, strict=True)]
        order = _find_ends(values, len(values))
        sides = zip("AB", (order[:MOST_PULLED], order[::-1][:MOST_PULLED]), strict=True)
        cells = (Cell(", ".join(named[i] for i in ends), listed_words(words.has[side])) for side, ends in sides)
        rows.append((Cell(figure.group or "", figure.config, "name"), *cells))
    caption = f"{part.label}: the words pulled most to A and to B, with their associations"
    return Table(caption, ("test", "to A", "to B"), tuple(rows), closed=True)


# --- Models against each other --------------------------------------------------------------------------------------


def plot_effects(scope: ReportScope, ranked: Sequence[Comparison]) -> Forest:
    """Return the effects of all models side by side, in the order of their differences."""
    tested = tested_inputs(scope)
    keys = [*dict.fromkeys(map(key_of, ranked))]
    figures = [{key_of(figure): figure for _, figure in part.tests} for part in tested]
    rows = []
    for config, test in keys[:MOST_PLOTTED]:
        marks = [
            figure_charts.build_mark(effects[config, test], part.number)
            for part, effects in zip(tested, figures, strict=True)
            if (config, test) in effects
        ]
        rows.append(ForestRow(label=test, note=config, marks=tuple(marks)))
    left, right = lookup(ranked[0].estimand).axis_ends(None)
    omission = f", {MOST_PLOTTED} of {len(keys)} tests" if len(keys) > MOST_PLOTTED else ""
    title = f"Effects with 95 % intervals, those that differ most clearly first{omission}"
    return Forest(title=title, rows=tuple(rows), low=AXIS.low, high=AXIS.high, left=left, right=right)
