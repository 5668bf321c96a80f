"""The boundary rule: intervals of a figure where a model decides all rows of a cell alike.

There √V collapses: a model that never prefers 'he' has no variance, one that prefers it in a single row has next to
none, and an interval from such a variance is too narrow. So each block of the figure has an interval of its own
(`block_interval`), and MOVER, the method of variance estimates recovery (Zou & Donner 2008), combines them: the
distance of an end from the figure is the root of the sum of the squares of the distances of the blocks in that
direction.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import optimize

from senseprobe.statistics.intervals import (
    CONFIDENCE,
    NO_VARIANCE,
    Block,
    Ends,
    FloatArray,
    Projection,
    bounded_interval,
    difference_interval,
    difference_p,
)

SMALLEST_P = 1e-15
"""The smallest p-value that is computed: beyond it an interval does not differ from one of certainty."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The ends of an interval, in points; `method` is ``projection``, or ``boundary`` by the boundary rule."""

    low: float
    high: float
    method: str


def block_interval(share: float, variance: float, cells: int, levels: int | None, confidence: float) -> Ends:
    """Return the interval of a block's mean, on [0, 1]; it includes the mean.

    `levels` is n*, of the smallest sampled stratum in the block; None where nothing was sampled and the mean is known.
    At 0 or 1 it ends at the share under which n* levels would all agree with a probability of half of 1 - confidence.
    Inside and without variance it goes as far either way, over the root of the number of `cells`.
    """
    if levels is None:
        return share, share
    reach = 1 - ((1 - confidence) / 2) ** (1 / levels)
    if share in (0.0, 1.0):
        return (1 - reach, 1.0) if share else (0.0, reach)
    ends = bounded_interval(share, variance, levels - 1, confidence) if levels > 1 else None
    if ends is None:
        return max(0.0, share - reach / math.sqrt(cells)), min(1.0, share + reach / math.sqrt(cells))
    return ends[0] / 100 + 0.5, ends[1] / 100 + 0.5


def _mover(value: float, blocks: Sequence[tuple[Block, float, float]], confidence: float) -> Ends:
    """Return the ends of a figure, in points, from the share and the variance of each of its blocks."""
    down, up = [], []
    for block, share, variance in blocks:
        low, high = block_interval(share, variance, block.size, block.levels, confidence)
        pulls = block.coefficient * (share - low), block.coefficient * (high - share)
        down.append(pulls[0] if block.coefficient > 0 else pulls[1])
        up.append(pulls[1] if block.coefficient > 0 else pulls[0])
    return value - 100 * math.hypot(*down), value + 100 * math.hypot(*up)


@dataclass(frozen=True)
class _Draw:
    """A figure by one kernel: its value in points, its variance, and its blocks where they are needed.

    - `projected`: returns its ends by the interval rule at a confidence, None where that does not apply.
    - `blocks`: each block with its share and its variance; empty where the interval rule suffices.
    - `unanimous`: whether all rows of a cell agree, or nothing varies: the boundary. `limit`: the largest value.
    """

    value: float
    variance: float
    projected: Callable[[float], Ends | None]
    blocks: Sequence[tuple[Block, float, float]]
    unanimous: bool
    limit: float

    def interval(self, confidence: float) -> Interval:
        """Return the interval of the interval rule, or MOVER's, or the lower low and the higher high of both."""
        candidates = [self.projected(confidence), _mover(self.value, self.blocks, confidence) if self.blocks else None]
        lows, highs = zip(*filter(None, candidates), strict=True)
        low, high = max(-self.limit, min(lows)), min(self.limit, max(highs))
        return Interval(low, high, method="boundary" if self.unanimous else "projection")


def _draws(
    rule: Projection, kernel: FloatArray, figures: FloatArray, *, shares: bool = False, by_blocks: bool = False
) -> Iterator[_Draw | None]:
    """Yield the figure, a share or a difference, by each of D kernels, shape (D, N); None where all factors are fixed.

    `by_blocks`: always and only by MOVER.
    """
    if rule.df is None:
        yield from [None] * len(figures)
        return
    values, limit = (100 * figures - 50, 50.0) if shares else (figures, 100.0)
    interval_rule = bounded_interval if shares else difference_interval
    variances = rule.variance(kernel)
    boundary = rule.has_unanimous_cell(kernel) | (variances <= NO_VARIANCE)
    needed = boundary | by_blocks
    blocks = _blocks(rule, kernel) if needed.any() else []
    numbers = zip(figures.tolist(), values.tolist(), variances.tolist(), strict=True)
    for draw, (figure, value, variance) in enumerate(numbers):
        projected = (lambda _: None) if by_blocks else partial(interval_rule, figure, variance, rule.df)
        yield _Draw(value, variance, projected, blocks[draw] if needed[draw] else (), bool(boundary[draw]), limit)


def _blocks(rule: Projection, kernel: FloatArray) -> list[list[tuple[Block, float, float]]]:
    """Return, for each draw, its blocks, each with its share and variance."""
    draws_by_block = [
        [(block, *pair) for pair in zip(block.shares(kernel).tolist(), block.variances(kernel).tolist(), strict=True)]
        for block in rule.blocks
    ]
    return [list(draw) for draw in zip(*draws_by_block, strict=True)]


def share_intervals(
    rule: Projection, kernel: FloatArray, shares: FloatArray, confidence: float = CONFIDENCE, *, by_blocks: bool = False
) -> list[Interval | None]:
    """Return intervals of a figure on [0, 1] for D draws, in points from -50 to 50; None where all factors are fixed.

    At 0 or 1 the interval rule has an interval without variance, too, and it is used: blocks that share words, as two
    cells that a model decides alike, are not independent samples, and MOVER alone would be too narrow there.

    `kernel` has shape (D, N) and `shares` (D,), the figure on [0, 1]. `by_blocks`: always and only by MOVER, as for the
    difference of the shares of two classes.
    """
    draws = _draws(rule, kernel, shares, shares=True, by_blocks=by_blocks)
    return [None if draw is None else draw.interval(confidence) for draw in draws]


def share_test(
    rule: Projection,
    kernel: FloatArray,
    share: float,
    neutral: Ends,
    confidence: float = CONFIDENCE,
    *,
    by_blocks: bool = False,
) -> tuple[Interval, float] | None:
    """Return the interval of a figure on [0, 1], in points, and its two-sided p; None where all factors are fixed.

    p is the smallest level at which the interval excludes the `neutral` values, all from the first to the second, in
    points from -50 to 50; 1 of a figure that is one of them. It is below 0.05 exactly where the interval of 95 % does
    so, and is rounded to nine digits. `kernel` has shape (N,).
    """
    (draw,) = _draws(rule, kernel[np.newaxis], np.array([share]), shares=True, by_blocks=by_blocks)
    return None if draw is None else (draw.interval(confidence), _p_value(draw.interval, draw.value, neutral))


def difference_intervals(
    rule: Projection,
    kernel: FloatArray,
    differences: FloatArray,
    confidence: float = CONFIDENCE,
    *,
    by_blocks: bool = False,
) -> list[Interval | None]:
    """Return intervals of a difference of two figures for D draws, in points from -100 to 100.

    `kernel` has shape (D, N) and `differences` (D,), in points; the rest is as in `share_intervals`.
    """
    draws = _draws(rule, kernel, differences, by_blocks=by_blocks)
    return [None if draw is None else draw.interval(confidence) for draw in draws]


def difference_test(
    rule: Projection, kernel: FloatArray, difference: float, confidence: float = CONFIDENCE, *, by_blocks: bool = False
) -> tuple[Interval, float] | None:
    """Return the interval of a difference, in points, and its two-sided p against 0; None where all factors are fixed.

    `kernel` has shape (N,). p is the smallest level at which the interval excludes 0, so it is below 0.05 exactly
    where the interval of 95 % does. It is rounded to nine digits, which the order of the rows does not change.
    """
    (draw,) = _draws(rule, kernel[np.newaxis], np.array([difference]), by_blocks=by_blocks)
    if draw is None:
        return None
    by_rule = 1.0 if (p := difference_p(draw.value, draw.variance, rule.df)) is None else p
    return draw.interval(confidence), _p_value(draw.interval, draw.value) if draw.blocks else by_rule


def comparison_test(
    rule: Projection,
    kernels: FloatArray,
    intervals: Callable[[float], Sequence[Interval | None]],
    values: Sequence[float],
    confidence: float = CONFIDENCE,
    *,
    limit: float = 100.0,
) -> tuple[Interval, float] | None:
    """Return the interval of one model's figure minus another's where either is at the boundary, and its p against 0.

    Also where the difference is the same in every row, and has no variance. None elsewhere: the interval rule alone
    applies there. Else the wider of the interval rule of the difference, where it has a variance, and MOVER (Zou &
    Donner 2008) over the two models' own intervals, as if they were independent.

    `kernels` has shape (2, N), `values` are the figures in points, `intervals` returns those of both at a confidence.
    """
    is_constant = np.ptp(kernels[0] - kernels[1]) == 0
    if rule.df is None or not (is_constant or rule.has_unanimous_cell(kernels).any()):
        return None
    df, difference = rule.df, values[0] - values[1]
    variance = float(rule.variance(kernels[0] - kernels[1]))

    def ends(level: float) -> Interval | None:
        first, second = intervals(level)
        if first is None or second is None:
            return None
        down = math.hypot(values[0] - first.low, second.high - values[1])
        up = math.hypot(first.high - values[0], values[1] - second.low)
        low, high = difference - down, difference + up
        projected = difference_interval(difference, variance, df, level, limit=limit) or (low, high)
        return Interval(max(-limit, min(low, projected[0])), min(limit, max(high, projected[1])), method="boundary")

    interval = ends(confidence)
    return None if interval is None else (interval, _p_value(ends, difference))


def _p_value(interval: Callable[[float], Interval | None], value: float, neutral: Ends = (0.0, 0.0)) -> float:
    """Return the level, from 1e-15 to 1, at which the interval of a value just excludes all from one end to another."""

    def end(logarithm: float) -> float:  # it rises with the logarithm of the level
        ends = interval(-math.expm1(logarithm))
        return -math.inf if ends is None else ends.low - neutral[1] if value > neutral[1] else neutral[0] - ends.high

    least, most = math.log(SMALLEST_P), math.log(0.999_999)
    if neutral[0] <= value <= neutral[1] or end(most) <= 0:
        return 1.0
    root = least if end(least) > 0 else float(optimize.brentq(end, least, most, xtol=1e-12))
    return float(f"{math.exp(root):.9g}")
