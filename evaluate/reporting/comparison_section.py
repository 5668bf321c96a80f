"""Differences between models: in words, largest first, as a forest plot and as tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from operator import attrgetter

from senseprobe.charts import Forest, ForestRow, Mark
from senseprobe.document import Cell, Section, Table, name_cells
from senseprobe.evaluate.control import is_probe
from senseprobe.evaluate.erased_rows import find_erased_flaw
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.association import key_of
from senseprobe.evaluate.estimands.comparison import Comparison
from senseprobe.evaluate.estimands.equivalence import INCONCLUSIVE
from senseprobe.evaluate.estimands.multiple_testing import COMPARISONS, without_single
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.association_charts import plot_effects
from senseprobe.evaluate.reporting.association_verdicts import name_tests
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.scope import ModelComparison, ReportScope, label_inputs
from senseprobe.evaluate.reporting.significance import read_margin
from senseprobe.evaluate.reporting.verdict_table import describe_right, find_failed_control
from senseprobe.messages import counted, listed
from senseprobe.records import VERDICT_WORDS
from senseprobe.statistics import LEVEL

MOST_SENTENCES = 5
"""The most differences of a pair of models that have a sentence; the table has all."""
MOST_PLOTTED = 60
MOST_OPEN = 24
"""The most rows of groups that are not collapsed."""

BY_DIFFERENCE = (
    "Compare the models by their difference. If the interval of one model excludes the neutral value and that of the "
    "other does not, the two may still not differ."
)
DISAGREEMENT = (
    "An interval is a nominal 95 % interval of one figure. p after Holm is corrected over all configs and groups of a "
    "figure, so it can be above 0.05 although the interval excludes 0. If rows are independent, p comes from another "
    "test, which is named. p is not corrected for the number of pairs of models."
)
HOW = (
    "A difference compares two effects over the words that both models know, each in standard deviations of its own "
    "model. For p, the two models exchange their values of a word, for all sets of words or for random ones. The "
    "attribute words stay fixed. p is two-sided and corrected over all tests of the pair (Holm), but not over pairs. "
    "Differences do not have intervals here, so one that was not found may still exist."
)
MORE = (
    "A difference is the first model's figure minus the second's, over the rows that both scored. Effects of a word on "
    "both models cancel. A model that does more of something is not always more biased: the other may lie as far from "
    "the neutral value, on the other side. So read both figures. The p of a factor assumes that only its levels were "
    "sampled."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A figure of two models with everything that its reading depends on.

    - `first`, `second`: the models' names; `a`, `b`: the numbers of their results, from 0.
    - `comparison`: the difference, first minus second, with p as it is printed.
    - `tendency`: what a model with a higher figure does more, and for which group: ``prefers the stereotype``.
    - `has_neutral`: whether a value of the figure is known to mean that there is no bias.
    - `unreadable`: why it says nothing, for example unknown words or a failed control; or empty.
    """

    first: str
    second: str
    a: int
    b: int
    comparison: Comparison
    tendency: str
    has_neutral: bool
    unreadable: str = ""

    @property
    def ends(self) -> tuple[float, float] | None:
        """The 95 % interval, in points; None if it cannot be estimated."""
        low, high = self.comparison.low, self.comparison.high
        return None if low is None or high is None else (low, high)

    @property
    def outer_end(self) -> float:
        """The largest possible difference, in points with its sign: the end of the interval farther from 0."""
        return max(self.ends or (0.0,), key=abs)

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval excludes 0 and the config is readable; for effects of tests, whether p is small."""
        if self.unreadable or self.comparison.difference is None:
            return False
        if not self.has_interval:
            return self.comparison.p_holm is not None and self.comparison.p_holm < LEVEL
        return self.ends is not None and not self.ends[0] <= 0 <= self.ends[1]

    @property
    def has_interval(self) -> bool:
        """Whether differences of its estimand have intervals, as all have except effects of tests."""
        return lookup(self.comparison.estimand).compared_with_interval

    @property
    def is_group(self) -> bool:
        """Whether it is the difference of one of many groups of a config."""
        return self.comparison.group is not None and self.has_interval

    @property
    def order(self) -> tuple[bool, bool, bool, bool, float, float]:
        """The key that sorts differences: those that exclude 0, then by size; without interval or unreadable last.

        Differences of tests are sorted by p, because they do not have an interval.
        """
        p = 0.0 if self.has_interval else 2.0 if self.comparison.p_holm is None else self.comparison.p_holm
        size = abs(self.comparison.difference or 0.0)
        return bool(self.unreadable), not self.excludes_zero, self.ends is None, not self.in_points, p, -size

    @property
    def in_points(self) -> bool:
        """Whether it is in points, so that its size can be compared with others; a mean content is in nats."""
        return lookup(self.comparison.estimand).unit == "points"


def rank_differences(
    pair: ModelComparison, inputs: Sequence[ReportInput], *, grouped: bool = False
) -> list[Difference]:
    """Return the differences of a pair of models over whole configs, or of groups, in their `order`."""
    names, sources = name_models(inputs), (inputs[pair.a - 1], inputs[pair.b - 1])
    neutral = {(f.config, f.estimand, f.group): f.neutral for f in sources[0].result.figures}
    reasons = {config: why for source in sources for config, why in source.unreadable.items()}
    controls = ((source, find_failed_control(source)) for source in sources if is_probe(source.result))
    failures = (
        f"{source.result.model['name']} fails its control, {describe_right(control)}"
        for source, control in controls
        if control is not None
    )
    figures = (figure for source in sources for figure in source.result.figures)
    erased = {figure.key: flaw for figure in figures if (flaw := find_erased_flaw([figure]))}
    failed, designs = next(failures, ""), sources[0].release.designs if sources[0].release else {}
    differences = []
    for row in without_single(pair.comparisons, COMPARISONS):
        estimand = lookup(row.estimand)
        name = f" on {row.estimand}" if estimand.origin else ""  # a plug-in says no more of its direction
        difference = Difference(
            first=names[pair.a - 1],
            second=names[pair.b - 1],
            a=pair.a - 1,
            b=pair.b - 1,
            comparison=row,
            tendency=f"{estimand.tendency(designs.get(row.config))}{name}{f' for {row.group}' if row.group else ''}",
            has_neutral=neutral.get((row.config, row.estimand, row.group)) is not None,
            unreadable=failed or reasons.get(row.config) or erased.get((row.config, row.estimand, row.group), ""),
        )
        if difference.is_group == grouped:
            differences.append(difference)
    return sorted(differences, key=lambda difference: difference.order)


def name_models(inputs: Sequence[ReportInput]) -> list[str]:
    """Return the names of the models; where some are alike, those of the results, or else with the number, from 1."""
    names = [str(source.result.model["name"]) for source in inputs]
    if len({*names}) < len(names) and any(source.encoding for source in inputs):
        return [*label_inputs(inputs)]
    return [f"{name} ({i})" if names.count(name) > 1 else name for i, name in enumerate(names, start=1)]


# --- In words -------------------------------------------------------------------------------------------------------


def describe_difference(difference: Difference) -> str:
    """Return a difference in words: ``a prefers the stereotype 18.0 points more than b on noun [+6.0, +30.0]``.

    If the second model's figure is higher, the interval is turned around with it.
    """
    row = difference.comparison
    (higher, lower), sign = _rank_models(difference)
    estimand = lookup(row.estimand)
    step, size = 10.0**-estimand.decimals, abs(row.difference or 0.0)
    amount = f"{size:.{estimand.decimals}f}" if size >= step / 2 else f"less than {step:.{estimand.decimals}f}"
    low, high = sorted(sign * end for end in difference.ends or (0.0, 0.0))
    text = f"{higher} {difference.tendency} {amount} {estimand.unit} more than {lower} on {row.config}"
    text = f"{text} {notation.format_ends(low, high, row.estimand)}" if difference.ends else text
    return "; ".join(filter(None, (text, _describe_equivalence(row))))


def describe_reading(difference: Difference) -> str:
    """Return which model does more: ``a more``, or ``undecided: a difference of +12.3 is possible``."""
    row = difference.comparison
    if difference.unreadable:
        return f"not readable: {difference.unreadable}"
    if row.difference is None or (difference.has_interval and difference.ends is None):
        return row.note or "no interval can be estimated"
    (higher, _), _ = _rank_models(difference)
    limit = notation.format_points(difference.outer_end, row.estimand)
    large = f": a difference of {limit} is possible" if difference.ends else ""
    text = f"{higher} more" if difference.excludes_zero else f"{VERDICT_WORDS['not_shown']}{large}"
    return "; ".join(filter(None, (text, _describe_equivalence(row))))


def _rank_models(difference: Difference) -> tuple[tuple[str, str], int]:
    """Return the names of the models, that of the higher figure first, and the sign of the difference."""
    names = difference.first, difference.second
    return (names, 1) if (difference.comparison.difference or 0.0) >= 0 else (names[::-1], -1)


def _describe_equivalence(row: Comparison) -> str:
    """Return ``equivalent within 5 points``; empty where that is not shown, or no margin holds for the figure."""
    return "" if row.equivalent in {None, INCONCLUSIVE} else f"{row.equivalent}"


def explain_disagreement(difference: Difference) -> str:
    """Return why p and the interval disagree about a difference; empty if they agree, or if one is missing."""
    row, p = difference.comparison, _last_p(difference)
    if p is None or row.p is None or difference.ends is None or difference.unreadable:
        return ""
    if (p < LEVEL) == difference.excludes_zero:
        return ""
    if difference.excludes_zero and row.p < LEVEL:
        return "with so many tests, this may be chance"
    return f"of another test than the interval, which {'excludes' if difference.excludes_zero else 'includes'} 0"


def _last_p(difference: Difference) -> float | None:
    """Return p after Holm's correction, or as it is where nothing was corrected."""
    row = difference.comparison
    return row.p if row.p_holm is None else row.p_holm


def describe_p(difference: Difference) -> str:
    """Return p of a difference, corrected; of an association test also as it was."""
    return (notation.format_p_value if difference.has_interval else notation.describe_test)(difference.comparison)


def agrees(difference: Difference) -> bool:
    """Return whether a difference is shown, and by p, too."""
    p = _last_p(difference)
    return difference.excludes_zero and p is not None and p < LEVEL


def summarize_differences(differences: Sequence[Difference]) -> str:
    """Return in how many figures two models differ: ``a and b: 3 of 14 figures differ by their intervals, 1 of …``.

    If none differs, return how large a difference is still possible. Figures without an interval are named, with
    their values. Of groups only intervals count, because among many some exclude 0 by chance.
    """
    first = differences[0]
    names = f"{first.first} and {first.second}"
    readable = [difference for difference in differences if not difference.unreadable]
    if not readable:
        return f"{names}: {VERDICT_WORDS['unreadable']}: {first.unreadable}."
    count, agreeing = (sum(map(test, readable)) for test in (attrgetter("excludes_zero"), agrees))
    noun = "group" if first.is_group else "figure" if first.has_interval else "test"
    if not first.is_group:
        readable = [difference for difference in readable if difference.has_interval or difference.comparison.rows]
    text = f"{names}: {count or 'none'} of {counted(len(readable), noun)} differ{'' if count > 1 else 's'}"
    if first.has_interval:
        text = f"{text} by {'their intervals' if count > 1 else 'the interval'}"
    estimable = [difference for difference in readable if difference.ends]
    if count and not first.has_interval:
        keys = (
            [key_of(d.comparison) for d in part] for part in (filter(attrgetter("excludes_zero"), readable), readable)
        )
        text = f"{text}: {name_tests(*keys)}"
    elif count:
        text = f"{text}, {agreeing or 'none'} of them also with p < {LEVEL:g} after Holm"
    elif estimable:
        farthest = max(estimable, key=lambda difference: (difference.in_points, abs(difference.outer_end)))
        limit = notation.format_points(farthest.outer_end, farthest.comparison.estimand)
        text = f"{text}; a difference of {limit} is possible ({farthest.comparison.config})"
    without = (d.comparison for d in readable if d.has_interval and not d.ends)
    named = listed(
        f"{' '.join(filter(None, (row.config, row.estimand, row.group)))} "
        f"({notation.format_points(row.difference, row.estimand)})"
        for row in without
        if row.difference is not None
    )
    return f"{text}; without an interval: {named}." if named else f"{text}."


def describe_differences(differences: Iterable[Difference]) -> Iterator[str]:
    """Yield a sentence for each difference whose interval excludes 0, with p and why the two may disagree.

    The difference of a group needs a small p, too, because there are many groups.
    """
    for difference in differences:
        if agrees(difference) or (difference.excludes_zero and not difference.is_group):
            p = ": ".join(filter(None, (describe_p(difference), explain_disagreement(difference))))
            yield ", ".join(filter(None, (describe_difference(difference), p)))


def explain_without_neutral(differences: Sequence[Difference]) -> str:
    """Return how to read differences of figures without a neutral value; empty if all have one.

    If a figure has one in some configs, its other configs are named.
    """
    configs: dict[str, list[str]] = {}
    for row in (difference.comparison for difference in differences if not difference.has_neutral):
        configs.setdefault(row.estimand, []).append(row.config)
    if not configs:
        return ""
    mixed = {difference.comparison.estimand for difference in differences if difference.has_neutral}
    names = [
        f"{name} in {listed(dict.fromkeys(members))}" if name in mixed else name for name, members in configs.items()
    ]
    return (
        f"For some figures, no value is known to mean unbiased ({', '.join(names)}). A difference says which model "
        "does more of it on the same rows. It does not say that either model is biased, or which one is more biased."
    )


# --- Sections -------------------------------------------------------------------------------------------------------


def comparison_sections(scope: ReportScope) -> Iterator[Section]:
    """Yield the sections that compare models in a report; none if nothing was compared.

    A brief does not have the table of groups, which is long.
    """
    ranked = [rank_differences(pair, scope.inputs) for pair in scope.comparisons]
    groups = [rank_differences(pair, scope.inputs, grouped=True) for pair in scope.comparisons]
    every = [difference for part in (*ranked, *groups) for difference in part]
    if not every:
        return
    margin = read_margin(scope.inputs)
    close = f"Equivalent: the 90 % interval of the difference lies within {margin.text} of 0." if margin else ""
    has_interval = all(difference.has_interval for difference in every)
    reading = (MORE, explain_without_neutral(every), DISAGREEMENT, close) if has_interval else ()
    compared = [difference.comparison for part in ranked for difference in part]
    yield Section(
        title="Differences between the models",
        paragraphs=(*_write_paragraphs(ranked), BY_DIFFERENCE if has_interval else HOW),
        charts=tuple(_build_forests(ranked)) if has_interval else (plot_effects(scope, compared),),
        tables=tuple(_build_table(part, brief=scope.is_brief) for part in ranked if part),
    )
    yield Section(
        title="Differences by group",
        paragraphs=tuple(_write_paragraphs(groups)),
        charts=tuple(_build_forests(groups)),
        tables=() if scope.is_brief else tuple(_build_table(part) for part in groups if part),
    )
    yield Section(title="How to read a difference", paragraphs=tuple(filter(None, reading)))


def _write_paragraphs(pairs: Sequence[Sequence[Difference]]) -> Iterator[str]:
    """Yield how many figures differ, and sentences on the largest differences; several pairs have a paragraph each."""
    most = MOST_SENTENCES if len(pairs) == 1 else 1
    for differences in filter(None, pairs):
        sentences = [f"{sentence}." for sentence in describe_differences(differences)]
        more = [f"The table has {len(sentences) - most} more."] if len(sentences) > most else []
        texts = [summarize_differences(differences), *sentences[:most], *more]
        yield from texts if len(pairs) == 1 else [" ".join(texts)]


def _build_forests(pairs: Sequence[Sequence[Difference]]) -> Iterator[Forest]:
    """Yield one forest plot of the differences of all pairs of models, if there are any.

    A row has the colour and marker of the model whose figure is higher.
    """
    parts = [[d for d in part if d.comparison.difference is not None and d.in_points] for part in pairs]
    plotted = [*chain.from_iterable(parts)]
    if not plotted:
        return
    several, most = len(parts) > 1, max(1, MOST_PLOTTED // len(parts))
    first, ends = [*chain.from_iterable(part[:most] for part in parts)], [10.0]
    for difference in first:
        ends += map(abs, difference.ends or (difference.comparison.difference or 0.0,))
    limit = 10.0 * ceil(max(ends) / 10)
    omission = f", {len(first)} of {len(plotted)}" if len(plotted) > len(first) else ""
    yield Forest(
        title=f"Differences with intervals, largest first{omission}",
        rows=tuple(_build_forest_row(difference, several) for difference in first),
        low=-limit,
        high=limit,
        left="second model more" if several else f"{first[0].second} more",
        right="first model more" if several else f"{first[0].first} more",
        closed=first[0].comparison.group is not None and len(first) > MOST_OPEN,
    )


def _build_forest_row(difference: Difference, several: bool) -> ForestRow:
    row = difference.comparison
    mark = Mark(
        series=difference.a if (row.difference or 0.0) >= 0 else difference.b,
        value=row.difference,
        low=row.low,
        high=row.high,
        text=notation.format_difference(row),
    )
    names = (f"{difference.second} more", f"{difference.first} more") if several else ("", "")
    label = f"{row.config}: {row.group or row.estimand}"
    note = f"not readable: {difference.unreadable}" if difference.unreadable else difference.tendency
    return ForestRow(label=label, marks=(mark,), note=note, left=names[0], right=names[1])


def _build_table(differences: Sequence[Difference], *, brief: bool = False) -> Table:
    """Return the table of all differences of a pair of models, or the collapsed one of groups."""
    first = differences[0]
    has_groups = any(difference.comparison.group for difference in differences)
    names = ("config", "figure", "group") if has_groups else ("config", "figure")
    basis = () if brief else ("factor by factor" if first.has_interval else "targets",)
    return Table(
        caption=f"{first.first} minus {first.second}{', by group' if first.is_group else ''}",
        headings=(*names, "difference", "in words", first.a, first.b, *basis),
        rows=tuple(_build_row(difference, len(names), brief=brief) for difference in differences),
        closed=first.is_group and len(differences) > MOST_OPEN,
    )


def _build_row(difference: Difference, names: int, *, brief: bool) -> tuple[Cell, ...]:
    row = difference.comparison
    values = ("none" if value is None else notation.format_points(value, row.estimand) for value in (row.a, row.b))
    partial = f"{row.scored} of {row.rows} scored by both" if row.unscored else ""
    note = "" if difference.ends is None else row.note  # else it stands in words
    notes = (describe_p(difference), explain_disagreement(difference), partial, note)
    basis = "; ".join(notation.describe_factors(row)) if difference.has_interval else notation.describe_words(row)
    return (
        *name_cells(*(row.config, row.estimand, row.group or "")[:names]),
        Cell.number(notation.format_difference(row), ", ".join(filter(None, notes))),
        Cell(describe_reading(difference), difference.tendency),
        *map(Cell.number, values),
        *(() if brief else (Cell.quiet(basis),)),
    )
