"""Figures as text: value and interval, p-value, the meaning of zero, rows and factors."""

from collections.abc import Iterable, Iterator

from senseprobe.evaluate.estimands import NO_NEUTRAL, lookup
from senseprobe.evaluate.estimands.base import NOT_ESTIMABLE
from senseprobe.evaluate.estimands.comparison import Comparison
from senseprobe.evaluate.estimands.permutation_null import PolarityNull
from senseprobe.evaluate.estimands.word_sets import SETS
from senseprobe.evaluate.task_gates import AT_LEAST, GATES, GateReading, find_verdict
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted
from senseprobe.records import VERDICT_WORDS, Figure
from senseprobe.statistics import Correlation

UNREAD = VERDICT_WORDS["unreadable"]
"""The mark of a figure with a flaw; its interval and its p are not printed."""

OTHER_TESTS = {"mcnemar": "McNemar's exact test", "sign flips": "sign flips"}
"""The tests of comparisons that differ from the interval's test, by name."""

MOST_DECIMALS = 6
"""The most decimals of an end that lies near the neutral value."""


def format_points(value: float, estimand: str = "", decimals: int | None = None) -> str:
    """Return points with one decimal, and with a sign if figures can be below 0.

    Figures in another unit have the number of decimals that their estimand declares: ``+1.71``.

    >>> format_points(12.34), format_points(-0.01), format_points(81.0, "accuracy")
    ('+12.3', '+0.0', '81.0')
    """
    declared = lookup(estimand)
    decimals = declared.decimals if decimals is None else decimals
    rounded = round(value, decimals) + 0.0  # 0.0 is added so that nothing prints as -0.0
    return f"{rounded:{'' if declared.from_zero else '+'}.{decimals}f}"


def name_measure(figures: Iterable[Figure]) -> str:
    """Return the heading of a column of figures: their unit, if all share it."""
    headings = {lookup(figure.estimand).heading for figure in figures}
    return headings.pop() if len(headings) == 1 else "value"


def format_ends(low: float | None, high: float | None, estimand: str = "", neutral: float | None = 0.0) -> str:
    """Return the ends of an interval in points; empty without an interval.

    If an end lies near the `neutral` value, both get more decimals, so that -0.0002 is not printed as 0.

    >>> format_ends(-4.04, 28.1), format_ends(-0.0002, 28.1)
    ('[-4.0, +28.1]', '[-0.0002, +28.1000]')
    """
    if low is None or high is None:
        return ""
    usual, others = lookup(estimand).decimals, [end for end in (low, high) if end != (neutral or 0.0)]
    enough = (n for n in range(usual, MOST_DECIMALS + 1) if all(round(end, n) != (neutral or 0.0) for end in others))
    decimals = next(enough, usual)
    return f"[{format_points(low, estimand, decimals)}, {format_points(high, estimand, decimals)}]"


def format_interval(figure: Figure) -> str:
    """Return value and interval in points, or say that an expected interval is not estimable.

    If a gate fails, the value is ``withheld``. A figure with a flaw has its value alone.

    >>> from senseprobe.records import Figure
    >>> names = {"config": "noun", "sense_type": "identity", "estimand": "preference"}
    >>> counts = {"rows": 100, "scored": 98, "unscored": 2, "ties": 1}
    >>> format_interval(Figure(**names, value=12.0, low=-4.0, high=28.0, **counts))
    '+12.0 [-4.0, +28.0]'
    """
    if figure.value is None:
        if find_verdict(figure):
            return "withheld"
        reason = _format_left_out(figure)
        return f"none ({reason})" if reason and not figure.rows else "none"
    value = format_points(figure.value, figure.estimand)
    if has_flaw(figure):
        return value
    ends = format_ends(figure.low, figure.high, figure.estimand, figure.neutral)
    missing = f"({NOT_ESTIMABLE})" if lookup(figure.estimand).promises_interval else ""
    return f"{value} {ends or missing}".rstrip()


def has_flaw(figure: Figure) -> bool:
    """Return whether interval and p of a figure say nothing, for example because a control fails."""
    return figure.verdict is not None and bool(figure.verdict.flaw)


def _format_left_out(figure: Figure) -> str:
    """Return the rows that a figure could not use, by reason: ``left out: 4 contested``; empty if it used all."""
    counts = ", ".join(f"{n:,} {reason}" for reason, n in figure.left_out.items() if n)
    return f"left out: {counts}" if counts else ""


def format_remarks(figure: Figure) -> str:
    """Return the p-value, an older definition, the number of scored rows if not all were scored, and ties.

    If a value is shown although it says nothing, the remarks begin with the reason.
    """
    estimand = lookup(figure.estimand)
    remarks = (
        "" if figure.value is None else find_verdict(figure) or (UNREAD if has_flaw(figure) else ""),
        format_p_value(figure),
        "no interval (permutation test)" if estimand.needs_p and figure.value is not None else "",
        "older definition" if figure.definition < estimand.version else "",
        f"{figure.scored} of {figure.rows} scored" if figure.unscored else "",
        counted(figure.ties, "tie") if figure.ties else "",
    )
    return ", ".join(filter(None, remarks))


def format_p(p: float) -> str:
    """Return a p-value with four decimals that never reads 0: ``p = 0.0123``, or ``p < 0.0001``.

    >>> format_p(0.01234), format_p(0.00001)
    ('p = 0.0123', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"


def format_test(test: Figure | Comparison) -> tuple[str, str]:
    """Return p of an association test and p after correction: ``≤ 0.0012`` (an upper end) and ``0.0230``.

    Both are empty without a test. A test with too few words leaves its family: its corrected p is ``cannot reach``.
    """
    if test.p is None or (isinstance(test, Figure) and has_flaw(test)):
        return "", ""
    is_upper_end = isinstance(test, Figure) and test.p_low is not None
    p, corrected = (None if n is None else format_p(n).removeprefix("p ") for n in (test.p, test.p_holm))
    p = f"{p}".replace("=", "≤") if is_upper_end else f"{p}".removeprefix("= ")
    return p, "cannot reach" if corrected is None else corrected.removeprefix("= ")


def describe_test(test: Figure | Comparison) -> str:
    """Return p of an association test in words: ``p ≤ 0.0012, corrected 0.0230``; empty without a test."""
    p, corrected = format_test(test)
    return f"p {p}, corrected {corrected}" if p else ""


def describe_sizes(figure: Figure) -> str:
    """Return how many words of each set of a test have a vector: ``8 and 8 words, 25 and 24 attributes``.

    Tests of senses add the average number of senses of a word in each set.
    """
    x, y, a, b = (figure.levels.get(side, 0) for side in SETS)
    senses = "+".join(f"{figure.senses[side]:.1f}" for side in SETS if side in figure.senses)
    return f"{x} and {y} words, {a} and {b} attributes{f'; senses a word {senses}' if senses else ''}"


def describe_words(test: Comparison) -> str:
    """Return how many targets were compared: ``32``, or ``31 of 32`` if a model lacks the vector of one."""
    return f"{test.scored} of {test.rows}" if test.unscored else str(test.rows)


def format_p_value(test: Figure | Comparison | PolarityNull) -> str:
    """Return the p-value, corrected if possible: ``p = 0.0123 after Holm``; empty without a test or with a flaw.

    The test is named if it is not that of the interval.
    """
    if isinstance(test, Figure) and has_flaw(test):
        return ""
    p = test.p if test.p_holm is None else test.p_holm
    if p is None or (isinstance(test, Figure) and test.p_holm is None and not lookup(test.estimand).prints_p):
        return ""
    after = "" if test.p_holm is None else " after Holm"
    other = OTHER_TESTS.get(test.test) if isinstance(test, Comparison) else None
    return f"{format_p(p)}{after}{f' ({other}, rows independent)' if other else ''}"


def describe_zero(figure: Figure) -> str:
    """Return the meaning of 0, or of another value to compare a figure with."""
    estimand = lookup(figure.estimand)
    if estimand.zero_note:
        return estimand.zero_note
    if figure.neutral is not None:
        return "neutral"
    if KINDS[estimand.kind].infers:
        return "100 is neutral to all"
    return "; ".join(filter(None, ("not known to be neutral", format_readings(figure))))


def describe_neutral(figure: Figure) -> str:
    """Return the neutral value of a figure in short, or other values to compare it with."""
    estimand = lookup(figure.estimand)
    if figure.neutral is None and not estimand.readings_are_neutral:
        return estimand.zero_note or "none known"
    if figure.neutral is None:
        return format_readings(figure) or "none known"
    return f"{figure.neutral:g}{', see p' if estimand.needs_p else ''}"


def format_readings(figure: Figure) -> str:
    """Return the figures of models that always prefer one word: ``always he +33.6, always she -33.6``; or nothing."""
    readings = figure.readings.items()
    return ", ".join(f"always {word} {format_points(value, figure.estimand)}" for word, value in readings)


def describe_basis(figure: Figure, *, brief: bool = False) -> str:
    """Return rows, rows left out, the factors that the interval generalises over or not, and further notes.

    With `brief` it has the rows, and the reason if the figure has no value.
    """
    parts = [counted(figure.rows, "row"), *filter(None, [_format_left_out(figure)])]
    if brief:
        return "; ".join([*parts, *([figure.note] if figure.value is None and not find_verdict(figure) else [])])
    if figure.levels:
        parts.append("over " + ", ".join(f"{name} ({n})" for name, n in figure.levels.items()))
    if figure.fixed:
        parts.append("not over " + ", ".join(figure.fixed))
    notes = figure.note.split("; ")[bool(find_verdict(figure)) :]  # the value's remarks have the verdict
    parts += [note for note in notes if note not in {"", NO_NEUTRAL, NOT_ESTIMABLE}]
    return "; ".join(parts)


def format_null(null: PolarityNull) -> str:
    """Return a figure with its range under random polarity: ``+12.3, at random [-20.0, +20.0], p = 0.0100, …``."""
    divisions = counted(null.divisions, "division")
    count = f"all {divisions}" if null.exact else f"{divisions} drawn"
    test = "no p" if null.p is None else f"{format_p_value(null)}, smallest possible p {null.smallest:.4f}"
    return f"{format_points(null.value)}, at random {format_ends(null.low, null.high)}, {test} ({count})"


def format_difference(comparison: Comparison) -> str:
    """Return the difference of two models with its interval: ``+4.0 [-1.2, +9.2]``."""
    if comparison.difference is None:
        return "none"
    ends = format_ends(comparison.low, comparison.high, comparison.estimand)
    missing = f"({NOT_ESTIMABLE})" if lookup(comparison.estimand).compared_with_interval else ""
    return f"{format_points(comparison.difference, comparison.estimand)} {ends or missing}".rstrip()


def describe_factors(comparison: Comparison) -> Iterator[str]:
    """Yield the test if rows are independent, then p for each factor as if only its levels were sampled."""
    if test := OTHER_TESTS.get(comparison.test):
        counts = f"{comparison.only_a} only the first, {comparison.only_b} only the second"
        yield f"rows are independent ({counts}): {test}"
    for factor in comparison.factors:
        smallest = f", smallest possible p {factor.smallest:.4f}" if factor.smallest > 0.001 else ""
        levels = counted(factor.of, "level")
        if factor.levels < factor.of:
            levels = f"{levels}, of which {factor.levels:,} differ{'s' if factor.levels == 1 else ''}"
        yield f"only over {factor.factor} ({levels}): {format_p(factor.p)}{smallest}"


def format_reading(reading: GateReading) -> str:
    """Return the reading of a gate and the end of its interval that counts: ``0.70, from 0.53``.

    A gate with two thresholds has the least and the most: ``0.10 to 0.60``. Without a reading it is ``not told``.
    """
    if reading.read is None:
        return "not told"
    text = format_measure(reading.read)
    if reading.bound is None:
        return text
    gate = GATES.get(reading.gate)
    is_range = gate is not None and gate.most is not None
    return f"{text}{' to ' if is_range else ', from '}{format_measure(reading.bound)}"


def format_threshold(reading: GateReading) -> str:
    """Return a gate's threshold: ``at least 0.50``, ``at most 0.05``, ``0.15 to 0.55``, ``at least 3 x 0.0016``."""
    gate, least = GATES.get(reading.gate), format_measure(reading.threshold)
    if gate is not None and gate.most is not None:
        return f"{least} to {format_measure(gate.most)}"
    if gate is not None and gate.of_floor:
        least = f"{gate.threshold:g} x {format_measure(reading.threshold / gate.threshold)}"
    return f"{AT_LEAST if gate is None else gate.direction} {least}"


def format_measure(value: float | None) -> str:
    """Return a number of a chat model with two decimals, or two significant digits below .1; empty without one.

    >>> format_measure(0.703), format_measure(0.00163)
    ('0.70', '0.0016')
    """
    if value is None:
        return ""
    return f"{value + 0.0:.2f}" if abs(value) >= 0.1 or not value else f"{value:.2g}"


def format_correlation(correlation: Correlation) -> str:
    """Return value, interval and number of words: ``+0.312 [+0.251, +0.371], 5,110 words``."""
    if correlation.value is None:
        return "none"
    low, high = correlation.low, correlation.high
    interval = ", no interval" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]"
    return f"{correlation.value:+.3f}{interval}, {counted(correlation.pairs, 'word')}"
