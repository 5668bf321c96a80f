"""Figures in words: value and interval, what zero means, what a figure rests on."""

from collections.abc import Iterator

from senseprobe.evaluate.estimands import CATALOGUE, NO_NEUTRAL
from senseprobe.evaluate.estimands.comparison import Comparison
from senseprobe.evaluate.estimands.equivalence import WITHOUT_INTERVAL
from senseprobe.evaluate.estimands.kernel_rows import NOT_ESTIMABLE
from senseprobe.evaluate.estimands.permutation_null import PolarityNull
from senseprobe.evaluate.estimands.stereoset import ICATS, SHARES
from senseprobe.messages import counted
from senseprobe.records import Figure

OTHER_TESTS = {"mcnemar": "McNemar's exact test", "sign flips": "sign flips"}
"""Of comparisons, those that are not the interval's, with their names."""


def starts_at_zero(estimand: str) -> bool:
    """Whether a figure lies between 0 and 100, so that a plus sign would say nothing."""
    declared = CATALOGUE.get(estimand)
    return declared is not None and declared.low >= 0


def format_points(value: float, estimand: str = "") -> str:
    """One decimal, with its sign where there are figures below 0 too: ``+12.3``, or ``81.0``."""
    shown = round(value, 1) + 0.0  # 0.0 is added so that nothing prints as -0.0
    return f"{shown:.1f}" if starts_at_zero(estimand) else f"{shown:+.1f}"


def format_ends(low: float | None, high: float | None, estimand: str = "") -> str:
    """The two ends of an interval: ``[-4.0, +28.1]``; empty where there is none."""
    return "" if low is None or high is None else f"[{format_points(low, estimand)}, {format_points(high, estimand)}]"


def format_interval(figure: Figure) -> str:
    """Value and interval in points: ``+12.3 [-4.0, +28.1]``; said so where there should be an interval and is none."""
    if figure.value is None:
        return f"none ({why})" if (why := _left_out(figure)) and not figure.rows else "none"
    value, ends = format_points(figure.value, figure.estimand), format_ends(figure.low, figure.high, figure.estimand)
    return f"{value} {ends or ('' if _is_without(figure.estimand) else f'({NOT_ESTIMABLE})')}".rstrip()


def _left_out(figure: Figure) -> str:
    """The rows that a figure could not use, by reason: ``left out: 4 contested``; empty where there are none."""
    told = ", ".join(f"{n:,} {reason}" for reason, n in figure.left_out.items() if n)
    return f"left out: {told}" if told else ""


def _is_without(estimand: str) -> bool:
    """Whether nobody promises an interval: neither we, nor a plug-in."""
    declared = CATALOGUE.get(estimand)
    return estimand in WITHOUT_INTERVAL or declared is None or bool(declared.origin)


def format_remarks(figure: Figure) -> str:
    """What stands below a figure: its p-value, how many rows were scored if not all, ties."""
    told = [format_p_value(figure)]
    declared = CATALOGUE.get(figure.estimand)
    if declared is not None and figure.definition < declared.definition:
        told.append("older definition")
    if figure.unscored:
        told.append(f"{figure.scored} of {figure.rows} scored")
    if figure.ties:
        told.append(counted(figure.ties, "tie"))
    return ", ".join(filter(None, told))


def format_p(p: float) -> str:
    """A p-value with four decimals, which is never 0: ``p = 0.0123``, or ``p < 0.0001``."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"


def format_p_value(test: Figure | Comparison | PolarityNull) -> str:
    """The p-value, after correction where there was one: ``p = 0.0123 after Holm``; empty where no test was made.

    Where it is of another test than the interval, that is named.
    """
    p = test.p if test.p_holm is None else test.p_holm
    if p is None:
        return ""
    after = "" if test.p_holm is None else " after Holm"
    other = OTHER_TESTS.get(test.test) if isinstance(test, Comparison) else None
    return f"{format_p(p)}{after}{f' ({other}, rows independent)' if other else ''}"


def describe_zero(figure: Figure) -> str:
    """What 0, or whatever else is the value to compare with, means for a figure."""
    declared = CATALOGUE.get(figure.estimand)
    if figure.estimand in {*SHARES, *ICATS}:
        return "50 is a guess"
    if figure.estimand == "spread":
        return "groups alike: read p"
    if figure.estimand == "accuracy":
        return "33 is a guess, 100 all right"
    if declared is not None and declared.kind == "inference" and figure.neutral is None:
        return "nothing inferred" if figure.estimand in {"entailment", "contradiction"} else "100 is neutral to all"
    if figure.neutral is None:
        return "; ".join(filter(None, ("not known to be neutral", format_readings(figure))))
    return "neutral"


def describe_neutral(figure: Figure) -> str:
    """Return the neutral value of a figure for a table in a terminal, or what else it can be compared with."""
    if figure.neutral is None:
        return format_readings(figure) or "none known"
    return "0, see p" if figure.estimand == "spread" else f"{figure.neutral:g}"


def format_readings(figure: Figure) -> str:
    """Return what models read that always prefer one word: ``always he +33.6, always she -33.6``, or nothing."""
    return ", ".join(
        f"always {word} {format_points(value, figure.estimand)}" for word, value in figure.readings.items()
    )


def describe_basis(figure: Figure) -> str:
    """Rows, what was left out of them, what the interval generalises over, and what the other columns do not say."""
    parts = [counted(figure.rows, "row"), *filter(None, [_left_out(figure)])]
    if figure.levels:
        parts.append("over " + ", ".join(f"{name} ({n})" for name, n in figure.levels.items()))
    if figure.fixed:
        parts.append("not over " + ", ".join(figure.fixed))
    parts += [note for note in figure.note.split("; ") if note not in {"", NO_NEUTRAL, NOT_ESTIMABLE}]
    return "; ".join(parts)


def format_null(found: PolarityNull) -> str:
    """A figure beside what it would be if polarity meant nothing: ``+12.3, at random [-20.0, +20.0]``."""
    divisions = counted(found.divisions, "division")
    drawn = f"all {divisions}" if found.exact else f"{divisions} drawn"
    told = f"{format_p_value(found)}, the smallest there is {found.smallest:.4f}" if found.p is not None else "no p"
    return f"{format_points(found.value)}, at random {format_ends(found.low, found.high)}, {told} ({drawn})"


def format_difference(found: Comparison) -> str:
    """The difference of two models with its interval: ``+4.0 [-1.2, +9.2]``; the same signs as any contrast."""
    if found.difference is None:
        return "none"
    return f"{format_points(found.difference)} {format_ends(found.low, found.high) or f'({NOT_ESTIMABLE})'}"


def describe_factors(found: Comparison) -> Iterator[str]:
    """A line for each factor, as if only its levels were a sample; and the test where rows are independent."""
    if other := OTHER_TESTS.get(found.test):
        yield f"rows are independent ({found.only_a} only the first, {found.only_b} only the second): {other}"
    for each in found.factors:
        least = f", the smallest there is {each.smallest:.4f}" if each.smallest > 0.001 else ""
        levels = counted(each.of, "level")
        if each.levels < each.of:
            levels = f"{levels}, of which {each.levels:,} differ{'s' if each.levels == 1 else ''}"
        yield f"only over {each.factor} ({levels}): {format_p(each.p)}{least}"
