"""A section of a page: the descriptors of an axis, from the lowest mean score to the highest, net of what is around."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from senseprobe.charts import Forest, ForestRow, Mark
from senseprobe.document import Section, Table
from senseprobe.evaluate.reporting.scope import AddedSection, ReportScope
from senseprobe.kinds.descriptor.spread import net_scores
from senseprobe.kinds.descriptor.tables import AXIS, DESCRIPTOR, AxisScores, axes_of
from senseprobe.messages import counted
from senseprobe.statistics import FloatArray, difference_interval

TITLE = "Descriptors within an axis"
MOST_ROWS = 40
"""Descriptors in a chart; of more it has the highest and the lowest."""
HEADINGS = {
    "axis": "name",
    "result": "name",
    "descriptors": "number",
    "highest means": "text",
    "lowest means": "text",
}
OPEN = 3
"""Charts that are not collapsed."""
MOST_CHARTS = 30
NAMED = 3
"""Descriptors at either end that the table names."""

ABOUT = (
    "The mean score of a descriptor, less that of all descriptors of its axis in the same templates with the same "
    "nouns, with its 95 % interval over templates and nouns. A frequent word, or one of fewer tokens, has a higher "
    "mean for that reason alone: being far from 0 does not show bias. Compare models, and look at neighbours."
)

Means = dict[str, tuple[float, float | None, float | None]]
"""By descriptor its mean net score, and the ends of its interval."""


def mean_scores(table: AxisScores) -> Means:
    """Return the mean net scores of the descriptors of an axis, which have the same templates and nouns.

    V is the variance of the means by template, divided by the number of these, and likewise by noun.
    """
    net = net_scores(table.scores)
    means, variances, fewest = net.mean(axis=(1, 2)), np.zeros(len(net)), []
    for factor, (across, is_sampled) in enumerate(zip((2, 1), table.sampled, strict=True)):
        if is_sampled:
            levels: FloatArray = net.mean(axis=across)
            variances += levels.var(axis=1, ddof=1) / levels.shape[1]
            fewest.append(net.shape[factor + 1])
    limit = float(np.abs(net).max(initial=0.0)) * 10 + 1
    results: Means = {}
    for name, mean, variance in zip(table.descriptors, means.tolist(), variances.tolist(), strict=True):
        df = min(fewest) - 1 if fewest else None
        low, high = difference_interval(mean, variance / 100**2, df, limit=limit) or (None, None)
        results[name] = (mean, low, high)
    return results


def descriptor_section(scope: ReportScope) -> Section:
    """Return the charts of the axes of all configs of descriptors, and a table of their ends; empty where none is."""
    axes: dict[tuple[str, str], dict[int, Means]] = {}
    for series, source in enumerate(scope.inputs):
        for config, rows in source.tables.items():
            design = source.design(config)
            if design is None or not {DESCRIPTOR, AXIS, "score"} <= {*rows}:
                continue
            for table in map(AxisScores.complete, axes_of(rows, design)):
                if len(table.descriptors) > 1:
                    axes.setdefault((config, table.axis), {})[series] = mean_scores(table)
    if not axes:
        return Section(TITLE)
    charts = [plot_axis(*key, means, closed=number >= OPEN) for number, (key, means) in enumerate(axes.items())]
    tables = tuple(_list_ends(scope, axes))
    return Section(TITLE, (ABOUT, *scope.failing), tuple(charts[:MOST_CHARTS]), tables)


def plot_axis(config: str, axis: str, means: dict[int, Means], *, closed: bool) -> Forest:
    """Return the chart of an axis: a descriptor a row, in the order of the first result's means."""
    first = next(iter(means.values()))
    order = sorted(first, key=lambda name: (-first[name][0], name))
    omission = ""
    if len(order) > MOST_ROWS:
        half = MOST_ROWS // 2
        omission = f"; the {half} highest and the {half} lowest of {len(order)}"
        order = order[:half] + order[-half:]
    rows = tuple(
        ForestRow(
            label=name,
            marks=tuple(_mark(series, *of_result[name]) for series, of_result in means.items() if name in of_result),
        )
        for name in order
    )
    ends = [
        abs(end) for row in rows for mark in row.marks for end in (mark.value, mark.low, mark.high) if end is not None
    ]
    limit = math.ceil(max([1e-6, *ends]) * 20) / 20
    return Forest(
        title=f"{config}, {axis}: mean scores{omission}",
        rows=rows,
        low=-limit,
        high=limit,
        left="lower than the axis",
        right="higher",
        closed=closed,
    )


def _mark(series: int, value: float, low: float | None, high: float | None) -> Mark:
    interval = "" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]"
    return Mark(series=series, value=value, low=low, high=high, hollow=True, text=f"{value:+.3f}{interval}")


def _list_ends(scope: ReportScope, axes: dict[tuple[str, str], dict[int, Means]]) -> Iterator[Table]:
    """Yield a table for each config: of each axis the descriptors at its ends, by result."""
    for config, entries in groupby(axes.items(), key=lambda entry: entry[0][0]):
        rows = [
            (axis, scope.labels[series], len(means), _name_ends(means, lowest=False), _name_ends(means, lowest=True))
            for (_, axis), by_series in entries
            for series, means in by_series.items()
        ]
        caption = f"{config}: ends of {counted(len({row[0] for row in rows}), 'axis', 'axes')}"
        yield Table.of_texts(HEADINGS, rows, caption)


def _name_ends(means: Means, *, lowest: bool) -> str:
    order: Sequence[str] = sorted(means, key=lambda name: (means[name][0] * (1 if lowest else -1), name))
    return ", ".join(f"{name} {means[name][0]:+.2f}" for name in order[:NAMED])


SECTIONS = (AddedSection(id="descriptors", build=descriptor_section, after={"pairs": "verdict_section"}),)
