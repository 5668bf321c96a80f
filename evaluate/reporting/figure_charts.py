"""The charts of a report: figures with intervals, groups, words, and distributions of scores."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import combinations
from math import ceil

import numpy as np
import pandas as pd

from senseprobe.charts import ClassShares, Forest, ForestRow, HeatMap, Histogram, Mark, Scatter
from senseprobe.evaluate.control import same_model
from senseprobe.evaluate.estimands import kernel_rows, lookup
from senseprobe.evaluate.estimands.inference_rows import LABELS, compact, fillers
from senseprobe.evaluate.estimands.kernel import labels
from senseprobe.evaluate.reporting import notation
from senseprobe.evaluate.reporting.finding import find_senses, label_word
from senseprobe.evaluate.reporting.inputs import ReportInput, find_design
from senseprobe.evaluate.reporting.precision import WORDS
from senseprobe.evaluate.reporting.scope import FigureRow
from senseprobe.evaluate.reporting.significance import find_control_figures
from senseprobe.evaluate.reporting.verdict import Verdict
from senseprobe.evaluate.reporting.verdict_table import direction_labels
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.task_gates import find_verdict
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted, listed
from senseprobe.records import Design, Figure
from senseprobe.statistics import FloatArray

MOST_ROWS = 60
"""The most rows of a forest; of many groups, the lowest half and the highest half."""

MOST_OPEN = 6
"""The most charts of a kind that are not collapsed."""

MOST_WORDS, MOST_COLUMNS = 40, 16
"""The most rows and columns of a heat map: those with the lowest and the highest means."""

BINS = 41
MOST_SCATTERS = 3
AXIS = 50
"""The least distance from 0 to an end of a forest's axis, in points."""

# --- Forests of figures ---------------------------------------------------------------------------------------------


def plot_headlines(
    inputs: Sequence[ReportInput], rows: Sequence[FigureRow], verdicts: Iterable[Verdict]
) -> Iterator[Forest]:
    """Yield the figures of the verdicts and the leading figures of configs, then, collapsed, their other figures.

    A model that fails its control does not have verdicts on configs, so all its figures are collapsed.
    """
    verdicts = [*verdicts]
    plotted = [row for row in rows if row.group is None and row.declaration.plotted]
    verdict_figures = {(v.figure.config, v.figure.estimand) for v in verdicts if v.figure is not None}
    configs = {verdict.config for verdict in verdicts}
    judged = {row.config for row in plotted if (row.config, row.estimand) in verdict_figures}
    first = [
        row
        for row in plotted
        if (row.config, row.estimand) in verdict_figures or (row.config in configs - judged and row.declaration.rank)
    ]
    rest = [row for row in plotted if row not in first]
    for part, title, closed in ((first, "The main figure of each config", False), (rest, "Further figures", True)):
        alike: dict[tuple[bool, str], list[FigureRow]] = {}
        for row in part:
            alike.setdefault((lookup(row.estimand).from_zero, _name_zero(inputs, row)), []).append(row)
        for (from_zero, zero), members in sorted(alike.items(), key=lambda item: item[0][0]):
            scale = " from 0 to 100" if from_zero else ""
            omission = f"; the first {MOST_ROWS} of {len(members)}" if len(members) > MOST_ROWS else ""
            caption = f"{title}{scale}, with 95 % intervals{omission}{zero}"
            yield _build_forest(inputs, members[:MOST_ROWS], caption, closed=closed)


def _name_zero(inputs: Sequence[ReportInput], row: FigureRow) -> str:
    """Return the meaning of 0 on the axis of a row's figures, as the end of a caption."""
    estimand = lookup(row.estimand)
    zero = "" if estimand.from_zero else estimand.zero_means(find_design(inputs, row.config))
    return f". 0 means: {zero}" if zero else ""


def plot_groups(inputs: Sequence[ReportInput], rows: Sequence[FigureRow]) -> Iterator[Forest]:
    """Yield the groups of each figure, from the highest to the lowest of the first result."""
    groups: dict[tuple[str, str], list[FigureRow]] = {}
    for row in rows:
        if row.group is not None and row.declaration.plotted:
            groups.setdefault((row.config, row.estimand), []).append(row)
    senses = find_senses(inputs)
    several = [members for members in groups.values() if len(members) > 1]
    for number, members in enumerate(several):
        order = sorted(members, key=lambda row: (-(row.first.value or 0.0), row.group or ""))
        omission = ""
        if len(order) > MOST_ROWS:
            half = MOST_ROWS // 2
            omission = f"; the {half} highest and the {half} lowest of {len(order)}"
            order = order[:half] + order[-half:]
        row = order[0]
        caption = lookup(row.estimand).groups_caption(find_design(inputs, row.config))
        title = f"{row.config}: {caption}{omission}{_name_zero(inputs, row)}"
        yield _build_forest(inputs, order, title, senses, closed=number >= MOST_OPEN)


def _build_forest(
    inputs: Sequence[ReportInput],
    rows: Sequence[FigureRow],
    title: str,
    senses: Mapping[str, Set[str]] | None = None,
    *,
    closed: bool,
) -> Forest:
    """Return a forest of rows; rows with a neutral value and the same ends of the axis are neighbours."""
    built = [_build_forest_row(inputs, row, senses or {}) for row in rows]
    order: dict[tuple[bool, str, str], list[ForestRow]] = {}
    for row in built:
        order.setdefault((all(mark.hollow for mark in row.marks), row.left, row.right), []).append(row)
    from_zero = lookup(rows[0].estimand).from_zero
    limit = 100.0 if from_zero else find_limit([cell for row in rows for cell in row.cells])
    return Forest(
        title=title,
        rows=tuple(row for key in sorted(order, key=lambda key: key[0]) for row in order[key]),
        low=0.0 if from_zero else -limit,
        high=limit,
        neutral=None if from_zero else 0.0,
        left="",
        right="",
        closed=closed,
    )


def _build_forest_row(inputs: Sequence[ReportInput], row: FigureRow, senses: Mapping[str, Set[str]]) -> ForestRow:
    number = next(number for number, cell in enumerate(row.cells) if cell is not None)
    design = inputs[number].design(row.config)
    left, right = direction_labels(row.first, design)
    marks = [build_mark(cell, series) for series, cell in enumerate(row.cells) if cell is not None]
    named = (row.config, row.estimand) if row.group is None else (label_word(row.group, design, senses), "")
    verdicts = {n: "" if cell is None else find_verdict(cell) for n, cell in enumerate(row.cells, start=1)}
    failing = {str(n): verdict for n, verdict in verdicts.items() if verdict}
    numbers = f"{', '.join(failing)}: " if len(failing) < len(marks) else ""  # of some of the row's results
    undone = f"{numbers}{listed(dict.fromkeys(failing.values()))}" if failing else ""
    return ForestRow(
        label=named[0], note=": ".join(filter(None, (named[1], undone))), marks=tuple(marks), left=left, right=right
    )


def build_mark(figure: Figure, series: int = 0) -> Mark:
    """Return the mark of a figure: hollow if the neutral value is unknown, without an interval if it has a flaw."""
    low, high = (None, None) if notation.has_flaw(figure) else (figure.low, figure.high)
    return Mark(
        series=series,
        value=figure.value,
        low=low,
        high=high,
        hollow=figure.neutral is None and not lookup(figure.estimand).from_zero,
        text=notation.format_interval(figure),
    )


def find_limit(figures: Sequence[Figure | None]) -> float:
    """Return the distance from 0 to the end of an axis that fits all intervals: 50, 75 or 100 points."""
    ends = [abs(end) for f in figures if f is not None for end in (f.value, f.low, f.high) if end is not None]
    return min(100.0, 25.0 * ceil(min(max([float(AXIS), *ends]), 100.0) / 25))


def plot_control(inputs: Sequence[ReportInput]) -> Iterator[Forest]:
    """Yield the right answers on the control, by model: they are read with the figures of a probe."""
    rows = tuple(
        ForestRow(
            label=f"{figure.config}{f', {figure.group}' if figure.group else ''}",
            note=release,
            marks=(build_mark(figure, number),),
        )
        for number, source in enumerate(inputs)
        for release, figure in find_control_figures(source)
        if lookup(figure.estimand).needs_gold
    )
    if rows:
        title = "Right answers on the control, of 100. A guess that never says neutral gets 50"
        yield Forest(title=title, rows=rows[:MOST_ROWS], low=0, high=100, neutral=50, left="wrong", right="right")


# --- Words and classes ----------------------------------------------------------------------------------------------


def plot_words(inputs: Sequence[ReportInput]) -> Iterator[HeatMap]:
    """Yield, by config and result, a heat map of preference for each group (or occupation) and word.

    The maps of the first result that is not a planted truth are open, and the others are collapsed.
    """
    scored = [source for source in inputs if "planted" not in source.result.model] or inputs
    for source in inputs:
        number = 0
        for config in source.tables:
            prefix = f"{source.label}, " if len(inputs) > 1 else ""
            closed = source is not scored[0] or number >= MOST_OPEN
            if (chart := _build_heat_map(source, config, prefix, closed=closed)) is not None:
                yield chart
                number += 1


def _build_heat_map(source: ReportInput, config: str, prefix: str, *, closed: bool) -> HeatMap | None:
    design, table = source.design(config), source.tables[config]
    if design is None or KINDS[design.kind].infers or not len(table):
        return None
    estimand = next((name for name in design.estimands if lookup(name).by_word), None)
    slots = _find_slots(design, table)
    if estimand is None or slots is None:
        return None
    rows = kernel_rows(compact(table, design), design, estimand, source.result.scale)
    columns = [labels(rows.table, slot).astype(str) for slot in slots]
    pairs = pd.DataFrame({"kernel": np.round(rows.kernel, 12), "row": columns[0], "column": columns[1]})
    if (lengths := (len({*pairs["row"]}), len({*pairs["column"]})))[0] < lengths[1]:  # the longer side goes down
        pairs, slots = pairs.rename(columns={"row": "column", "column": "row"}), slots[::-1]
    if min(lengths) < 2:
        return None
    kernels = pairs.groupby(["row", "column"])["kernel"]
    hits, counts = kernels.sum().to_dict(), kernels.count().to_dict()
    names, words = _order(pairs, "row", MOST_WORDS), _order(pairs, "column", MOST_COLUMNS)
    cells = [[(hits.get((name, word), 0.0), counts.get((name, word), 0)) for word in words] for name in names]
    kinds = {slot: WORDS[role] for role, slot in design.words.items()}
    row_heading, column_heading = (kinds.get(slot, slot) for slot in slots)
    left, right = lookup(estimand).axis_ends(design)
    return HeatMap(
        title=f"{prefix}{config}: {row_heading} by {column_heading}, in points",
        row_heading=row_heading,
        column_heading=column_heading,
        rows=tuple(names),
        columns=tuple(words),
        values=tuple(tuple(round(100 * k / n - 50, 1) + 0.0 if n else None for k, n in row) for row in cells),
        texts=tuple(tuple(f"{100 * k / n - 50 + 0.0:+.0f} {k:g} of {n}" if n else "" for k, n in row) for row in cells),
        left=left,
        right=right,
        closed=closed,
    )


def _find_slots(design: Design, table: pd.DataFrame) -> tuple[str, str] | None:
    """Return the slots of groups (or labels) and of words, each with at least two levels; None without both."""
    several = [slot for slot in design.slots if len({*table[slot]}) > 1]
    words = design.words.get("stereo") or next((slot for slot in several[1:]), None)
    groups = [slot for slot in (design.group, *design.strata.values(), *several) if slot in several]
    groups = [slot for slot in groups if slot != words and slot not in design.words.values()]
    return (groups[0], words) if groups and words in several else None


def _order(pairs: pd.DataFrame, side: str, most: int) -> list[str]:
    """Return the words of a side of a heat map, highest mean first; of too many words, those at both ends."""
    means = pairs.groupby(side)["kernel"].mean().round(9).to_dict()
    order = sorted(map(str, means), key=lambda word: (-means[word], word))
    return order if len(order) <= most else order[: most // 2] + order[-most // 2 :]


def plot_classes(inputs: Sequence[ReportInput]) -> Iterator[ClassShares]:
    """Yield the mean probabilities of the three classes by group, or by the right answer if it differs by row."""
    for source in inputs:
        for config, table in source.tables.items():
            design = source.design(config)
            if design is None or not KINDS[design.kind].infers:
                continue
            gold = any(lookup(name).needs_gold for name in design.estimands)
            columns = ["gold"] if gold else [*fillers(design)[1]]
            scored = table[np.isfinite(table[[*LABELS]]).all(axis=1)]
            if not columns or scored.empty:
                continue
            means = scored.groupby(columns)[[*LABELS]].mean()
            rows = [
                (", ".join(map(str, name if isinstance(name, tuple) else (name,))), tuple(shares))
                for name, shares in zip(means.index, means.to_numpy().tolist(), strict=True)
            ]
            rows.sort(key=lambda row: row[1][LABELS.index("neutral")])
            most = f"; the {MOST_WORDS} least neutral of {len(rows)}" if len(rows) > MOST_WORDS else ""
            prefix = f"{source.label}, " if len(inputs) > 1 else ""
            yield ClassShares(
                title=f"{prefix}{config}: mean probability of each answer, in points{most}",
                row_heading="right answer" if gold else ", ".join(columns),
                classes=LABELS,
                rows=tuple(rows[:MOST_WORDS]),
            )


# --- Scores ---------------------------------------------------------------------------------------------------------


def _differences(source: ReportInput) -> pd.Series:
    """Return the finite differences between the scores of two sentences, by config and id; empty without any."""
    if source.result.rows is None or not KINDS[source.kind].pairs or "stereo_score" not in source.result.rows:
        return pd.Series(dtype=np.float64)
    rows = source.result.rows.set_index(["config", "id"])
    differences = (rows["stereo_score"] - rows["anti_score"]).replace([np.inf, -np.inf], np.nan)
    return differences.dropna().sort_index()


def plot_differences(inputs: Sequence[ReportInput]) -> Iterator[Histogram]:
    """Yield a histogram of the differences of each result, around 0; the bins at the ends count all values beyond."""
    for source in inputs:
        values = _differences(source).to_numpy()
        limit = float(np.quantile(np.abs(values), 0.99)) if len(values) else 0.0
        if not limit:
            continue
        edges = np.linspace(-limit, limit, BINS + 1)
        counts, _ = np.histogram(np.clip(values, -limit, limit), edges)
        scorer = SCORERS.get(source.result.scorer)
        measure = f", in {scorer.unit}" if scorer else ""
        yield Histogram(
            title=f"{source.label}: differences in {counted(len(values), 'pair')}{measure}",
            edges=tuple(map(float, edges)),
            counts=tuple(map(int, counts)),
            left="the second sentence scores higher",
            right="the first sentence scores higher",
        )


def plot_scorers(inputs: Sequence[ReportInput]) -> Iterator[Scatter]:
    """Yield the differences of one scorer against those of another scorer of the same model."""
    scored = [source for source in inputs if "planted" not in source.result.model]
    pairs = [(a, b) for a, b in combinations(scored, 2) if a.result.scorer != b.result.scorer]
    for a, b in [pair for pair in pairs if same_model(pair[0].result, pair[1].result)][:MOST_SCATTERS]:
        both = pd.concat([_differences(a), _differences(b)], axis=1, join="inner").to_numpy()
        if len(both) < 2:
            continue
        x, y = (scale_values(both[:, side]) for side in (0, 1))
        same = float(np.mean(np.sign(both[:, 0]) == np.sign(both[:, 1])))
        names = (a.result.scorer, b.result.scorer)
        yield Scatter(
            title=f"{names[0]} and {names[1]} prefer the same sentence in {100 * same:.0f} % of {len(both):,} pairs",
            x_label=f"{names[0]}: the first sentence scores higher",
            y_label=f"{names[1]}: the first sentence scores higher",
            points=tuple(sorted({*zip(x, y, strict=True)})),
        )


def scale_values(values: FloatArray) -> list[int]:
    """Return numbers in thousandths of an axis around 0, in steps of 5, because a dot is larger than that."""
    limit = float(np.quantile(np.abs(values), 0.99)) or 1.0
    thousandths: list[int] = (5 * np.round(100 * (np.clip(values / limit, -1, 1) + 1))).astype(int).tolist()
    return thousandths
