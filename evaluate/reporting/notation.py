"""Figures in words: value and interval, what zero means, what a figure rests on."""

from collections.abc import Iterator

from senseprobe.evaluate.estimands import NO_NEUTRAL, lookup
from senseprobe.evaluate.estimands.base import NOT_ESTIMABLE
from senseprobe.evaluate.estimands.comparison import Comparison
from senseprobe.evaluate.estimands.permutation_null import PolarityNull
from senseprobe.messages import counted
from senseprobe.records import Figure

OTHER_TESTS = {"mcnemar": "McNemar's exact test", "sign flips": "sign flips"}
"""Of comparisons, those that are not the interval's, with their names."""


def points(value: float, estimand: str = "") -> str:
    """One decimal, with its sign where there are figures below 0 too: ``+12.3``, or ``81.0``."""
    shown = round(value, 1) + 0.0  # 0.0 is added so that nothing prints as -0.0
    return f"{shown:.1f}" if lookup(estimand).from_zero else f"{shown:+.1f}"


def between(low: float | None, high: float | None, estimand: str = "") -> str:
    """The two ends of an interval: ``[-4.0, +28.1]``; empty where there is none."""
    return "" if low is None or high is None else f"[{points(low, estimand)}, {points(high, estimand)}]"


def interval(figure: Figure) -> str:
    """Value and interval in points: ``+12.3 [-4.0, +28.1]``; said so where there should be an interval and is none."""
    if figure.value is None:
        return f"none ({why})" if (why := _left_out(figure)) and not figure.rows else "none"
    value, ends = points(figure.value, figure.estimand), between(figure.low, figure.high, figure.estimand)
    return f"{value} {ends or (f'({NOT_ESTIMABLE})' if lookup(figure.estimand).promises_interval else '')}".rstrip()


def _left_out(figure: Figure) -> str:
    """The rows that a figure could not use, by reason: ``left out: 4 contested``; empty where there are none."""
    told = ", ".join(f"{n:,} {reason}" for reason, n in figure.left_out.items() if n)
    return f"left out: {told}" if told else ""


def remarks(figure: Figure) -> str:
    """What stands below a figure: its p-value, how many rows were scored if not all, ties."""
    told = [p_value(figure)]
    if figure.definition < lookup(figure.estimand).definition:
        told.append("older definition")
    if figure.unscored:
        told.append(f"{figure.scored} of {figure.rows} scored")
    if figure.ties:
        told.append(counted(figure.ties, "tie"))
    return ", ".join(filter(None, told))


def shown_p(p: float) -> str:
    """A p-value with four decimals, which is never 0: ``p = 0.0123``, or ``p < 0.0001``."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"


def p_value(test: Figure | Comparison | PolarityNull) -> str:
    """The p-value, after correction where there was one: ``p = 0.0123 after Holm``; empty where no test was made.

    Where it is of another test than the interval, that is named.
    """
    p = test.p if test.p_holm is None else test.p_holm
    if p is None:
        return ""
    after = "" if test.p_holm is None else " after Holm"
    other = OTHER_TESTS.get(test.test) if isinstance(test, Comparison) else None
    return f"{shown_p(p)}{after}{f' ({other}, rows independent)' if other else ''}"


def zero(figure: Figure) -> str:
    """What 0, or whatever else is the value to compare with, means for a figure."""
    estimand = lookup(figure.estimand)
    if estimand.presentation.zero:
        return estimand.presentation.zero
    if figure.neutral is not None:
        return "neutral"
    if estimand.kind == "inference":
        return "100 is neutral to all"
    return "; ".join(filter(None, ("not known to be neutral", readings(figure))))


def neutral(figure: Figure) -> str:
    """Return the neutral value of a figure for a table in a terminal, or what else it can be compared with."""
    if figure.neutral is None:
        return readings(figure) or "none known"
    return f"{figure.neutral:g}{', see p' if lookup(figure.estimand).presentation.see_p else ''}"


def readings(figure: Figure) -> str:
    """Return what models read that always prefer one word: ``always he +33.6, always she -33.6``, or nothing."""
    return ", ".join(f"always {word} {points(value, figure.estimand)}" for word, value in figure.readings.items())


def basis(figure: Figure) -> str:
    """Rows, what was left out of them, what the interval generalises over, and what the other columns do not say."""
    parts = [counted(figure.rows, "row"), *filter(None, [_left_out(figure)])]
    if figure.levels:
        parts.append("over " + ", ".join(f"{name} ({n})" for name, n in figure.levels.items()))
    if figure.fixed:
        parts.append("not over " + ", ".join(figure.fixed))
    parts += [note for note in figure.note.split("; ") if note not in {"", NO_NEUTRAL, NOT_ESTIMABLE}]
    return "; ".join(parts)


def null(found: PolarityNull) -> str:
    """A figure beside what it would be if polarity meant nothing: ``+12.3, at random [-20.0, +20.0]``."""
    divisions = counted(found.divisions, "division")
    drawn = f"all {divisions}" if found.exact else f"{divisions} drawn"
    told = f"{p_value(found)}, the smallest there is {found.smallest:.4f}" if found.p is not None else "no p"
    return f"{points(found.value)}, at random {between(found.low, found.high)}, {told} ({drawn})"


def difference(found: Comparison) -> str:
    """The difference of two models with its interval: ``+4.0 [-1.2, +9.2]``; the same signs as any contrast."""
    if found.difference is None:
        return "none"
    return f"{points(found.difference)} {between(found.low, found.high) or f'({NOT_ESTIMABLE})'}"


def factors(found: Comparison) -> Iterator[str]:
    """A line for each factor, as if only its levels were a sample; and the test where rows are independent."""
    if other := OTHER_TESTS.get(found.test):
        yield f"rows are independent ({found.only_a} only the first, {found.only_b} only the second): {other}"
    for each in found.factors:
        least = f", the smallest there is {each.smallest:.4f}" if each.smallest > 0.001 else ""
        levels = counted(each.of, "level")
        if each.levels < each.of:
            levels = f"{levels}, of which {each.levels:,} differ{'s' if each.levels == 1 else ''}"
        yield f"only over {each.factor} ({levels}): {shown_p(each.p)}{least}"
