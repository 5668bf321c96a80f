"""The first section of a report: the verdicts of each result, their intervals on one scale, and caveats."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from senseprobe.charts import Axis
from senseprobe.document import Section, Tile, tabulate_tiles
from senseprobe.evaluate.caveats import flipped_text, refused_text, removed_text, unscored_text
from senseprobe.evaluate.control import GUESS
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.figure_check import describe_unchecked
from senseprobe.evaluate.reporting import figure_charts
from senseprobe.evaluate.reporting.association_tables import describe_vectors
from senseprobe.evaluate.reporting.finding import find_contrasted, find_only_other, state_headline, state_outlook
from senseprobe.evaluate.reporting.inputs import ReportInput, list_removals, missing_parts
from senseprobe.evaluate.reporting.notation import format_points
from senseprobe.evaluate.reporting.scope import ReportScope
from senseprobe.evaluate.reporting.verdict import NOT_NONE, ORDER, TONES, Verdict, describe_family, rank
from senseprobe.evaluate.reporting.verdict_table import direction_labels
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import as_paragraph, counted, listed
from senseprobe.records import VERDICT_WORDS, Figure, VerdictCode

TITLE = "Findings"
HOLLOW = "A hollow mark on an interval means that no neutral value is known."
MOST_BRIEF = 30
"""The most verdicts in the table of a brief, which with caption, headings and note is shorter than 40 lines."""

MOST_EXAMPLE = 113
"""The most characters of an example, with its sign."""

SEARCHED = 10_000
"""The rows that are searched for an example of a group."""

PLANTED = "planted"

MOST_HEADLINES = 3
"""The most results with a headline above the findings."""


def verdict_section(scope: ReportScope) -> Section:
    """Return the headline of each result and its findings, those with an answer first, with notes and caveats.

    A brief has one table of findings; if there are many, its last line counts those left out.
    """
    lines = [(n, verdict) for n, source in enumerate(scope.inputs) for verdict in source.verdicts or ()]
    # A planted truth comes after the findings that are compared with it, and so do vectors that say nothing.
    last = [(not source.is_comparable, "planted" in source.result.model) for source in scope.inputs]
    lines.sort(key=lambda line: (last[line[0]], rank(line[1])))
    if scope.is_brief:
        return _build_brief(scope, lines)
    axis = build_axis([verdict for _, verdict in lines])
    tiles: list[Tile] = []
    for number, verdict in lines:
        tile = build_tile(verdict, scope, number, axis)
        is_quoted = any(tile.example == earlier.example for earlier in tiles)
        tiles.append(replace(tile, example="") if is_quoted else tile)
    hollow = any(tile.mark is not None and tile.mark.hollow for tile in tiles)
    note = as_paragraph(*_explain_verdicts(scope.inputs), HOLLOW if hollow else "")
    paragraphs = (*filter(None, [note]), *describe_caveats(scope))
    return Section(TITLE, paragraphs, lead=(as_paragraph(*_list_headlines(scope)),), tiles=tuple(tiles))


def _list_headlines(scope: ReportScope) -> Iterator[str]:
    """Yield the headline of each result, short if there are several; of many results, the first have one."""
    several, every = len(scope.inputs) > 1, range(len(scope.inputs))
    numbers = [n for n in every if "planted" not in scope.inputs[n].result.model] or [*every]
    numbers.sort(key=lambda n: not scope.inputs[n].is_comparable)
    for number in numbers[:MOST_HEADLINES]:
        text = scope.inputs[number].headline or state_headline(scope.writers[number], short=several)
        yield f"{scope.short_labels[number]}: {text}" if several else text
    yield from filter(None, dict.fromkeys(map(explain_planted, scope.inputs)))


def build_tile(verdict: Verdict, scope: ReportScope, number: int, axis: Axis) -> Tile:
    """Return a finding: the fact with its badge, the interval on an axis, and what would change the verdict."""
    source, figure = scope.inputs[number], verdict.figure
    alone = len(source.verdicts or ()) == 1 and verdict.code == "unreadable"
    about = verdict.bias_type or scope.biases.get(verdict.config, "")
    tile = Tile(
        about=verdict.config,
        example="" if scope.is_brief else _quote_example(source, verdict),
        note="" if about == verdict.config else about,
        result=number,
        label=scope.short_labels[number],
        badge=verdict.word,
        tone="open" if alone else TONES[verdict.code],
        sentence=scope.writers[number].state_fact(verdict),
        outlook=state_outlook(verdict, source),
        basis=verdict.basis,
    )
    if figure is None:
        return tile
    estimand, mark, design = (
        lookup(figure.estimand),
        figure_charts.build_mark(figure, number),
        source.design(verdict.config),
    )
    name = ", ".join(filter(None, (figure.estimand, figure.group)))
    has_mark = mark.low is not None and mark.high is not None
    is_on_axis = has_mark and axis.low <= mark.low and mark.high <= axis.high  # type: ignore[operator]
    ends = direction_labels(figure, design)
    unit = "of 100" if estimand.from_zero and estimand.unit == "points" else estimand.unit
    zero = estimand.zero_means(design, find_only_other(source, figure)) or ("" if figure.neutral is None else "neutral")
    middle = f"0: {zero}" if zero and not estimand.from_zero else ""
    if estimand.needs_gold:
        middle = "" if axis.neutral is None else f"{axis.neutral:g}: guessing"
    truth = scope.find_truth(number, figure)
    true_mark = None if truth is None else figure_charts.build_mark(truth[1], truth[0])
    if true_mark is not None and (true_mark.value is None or not axis.low <= true_mark.value <= axis.high):
        true_mark = None
    return replace(
        tile,
        truth="" if truth is None else f"{PLANTED}: {format_points(truth[1].value or 0.0, figure.estimand)}",
        true_mark=true_mark if is_on_axis else None,
        figure=f"{mark.text} {unit}" if mark.value is not None else mark.text,
        unit=_describe_point(source, figure) if mark.value is not None else "",
        mark=mark if is_on_axis else None,
        axis=replace(axis, neutral=None) if estimand.from_zero and axis.low < 0 else axis,
        ends=(ends[0], middle, ends[1]),
        basis=" \N{MIDDLE DOT} ".join(filter(None, (name, verdict.basis, describe_family(verdict)))),
    )


def _describe_point(source: ReportInput, figure: Figure) -> str:
    """Return what a point of a figure is; of a contrast one of 100 of what its configs have."""
    contrasted, point = find_contrasted(source, figure), lookup(figure.estimand).point
    return f"(1 = 1 of 100 {KINDS[contrasted.kind].nouns})" if contrasted and point else point


def _quote_example(source: ReportInput, verdict: Verdict) -> str:
    """Return the two sentences of the first row of a config, or of the verdict's group if it has one.

    The text is empty without rows, and if it would be too long.
    """
    table = source.tables.get(verdict.config)
    if table is not None and verdict.figure is not None and verdict.figure.group:
        few = table.head(SEARCHED)
        group_rows = few[few.isin([verdict.figure.group]).any(axis=1)]
        table = group_rows if len(group_rows) else table
    for first, second, sign in (("stereo", "anti", "/"), ("premise", "hypothesis", "\N{RIGHTWARDS ARROW}")):
        if not {first, second} <= {*KINDS[source.kind].texts}:
            continue
        if table is not None and len(table) and first in table and second in table:
            text = f"{table[first].iloc[0]} {sign} {table[second].iloc[0]}"
            return text if len(text) <= MOST_EXAMPLE else ""
    return ""


def build_axis(verdicts: Sequence[Verdict]) -> Axis:
    """Return the scale of the intervals of verdicts: the range of their estimand, or as wide as figures need."""
    ranged = [v for v in verdicts if v.figure is not None and v.figure.low is not None]
    # The readable figures decide the length of the scale; others have a bar only if they are on it.
    figures = [v.figure for v in [v for v in ranged if v.code != "unreadable"] or ranged if v.figure is not None]
    ranges = {lookup(figure.estimand).axis for figure in figures}
    if len(ranges) == 1 and (fixed := ranges.pop()) is not None:
        neutral = 0.0 if fixed[0] < 0 else GUESS if all(lookup(f.estimand).needs_gold for f in figures) else None
        return Axis(low=fixed[0], high=fixed[1], neutral=neutral)
    limit = figure_charts.find_limit(figures)
    if any(ends is not None for ends in ranges):  # some figures cannot be below 0
        return Axis(low=-limit, high=100.0)
    return Axis(low=-limit, high=limit, neutral=0.0)


def _build_brief(scope: ReportScope, lines: Sequence[tuple[int, Verdict]]) -> Section:
    """Return the findings of all results as one table, without the last ones if there are many."""
    several = len(scope.inputs) > 1
    axis = Axis(low=0.0, high=0.0)
    tiles = [build_tile(verdict, scope, number, axis) for number, verdict in lines[:MOST_BRIEF]]
    omitted = [verdict.code for _, verdict in lines[MOST_BRIEF:]]
    releases = listed(dict.fromkeys(str(source.result.release["name"]) for source in scope.inputs))
    names = counted(len(scope.inputs), "result") if several else scope.labels[0]
    unchecked = (
        f"{describe_unchecked(source.unchecked, source.label if several else '')}."
        for source in scope.inputs
        if source.unchecked
    )
    note = as_paragraph(*_explain_verdicts(scope.inputs), count_omitted(omitted), *unchecked)
    tables = (tabulate_tiles(tiles, note),) if tiles else ()
    return Section(f"senseprobe: {names} on {releases}", lead=tuple(_list_headlines(scope)), tables=tables)


def _explain_verdicts(inputs: Sequence[ReportInput]) -> Iterator[str]:
    """Yield notes on the scale and the words of the verdicts."""
    verdicts = [(source, verdict) for source in inputs for verdict in source.verdicts or ()]
    figures = ((source, verdict.figure) for source, verdict in verdicts if verdict.figure is not None)
    tested = ((s, f) for s, f in figures if f.neutral is not None or KINDS[lookup(f.estimand).kind].tests)
    yield from dict.fromkeys((find_contrasted(source, f) or lookup(f.estimand)).scale_note for source, f in tested)
    if any(verdict.code == "not_shown" for _, verdict in verdicts):
        yield NOT_NONE


def count_omitted(codes: Iterable[VerdictCode]) -> str:
    """Return how many verdicts of each code are not in the table; empty if all are.

    >>> count_omitted(["not_shown", "shown", "not_shown"])
    'Not listed here: 1 found, 2 undecided. `senseprobe report` lists all.'
    """
    codes = list(codes)
    counts = ", ".join(f"{codes.count(code)} {VERDICT_WORDS[code]}" for code in ORDER if code in codes)
    return f"Not listed here: {counts}. `senseprobe report` lists all." if counts else ""


def describe_caveats(scope: ReportScope) -> Iterator[str]:
    """Yield the caveats on all figures: samples of rows, unscored and refused rows, and missing inputs."""
    is_association = KINDS[scope.inputs[0].kind].tests
    if is_association:
        yield from describe_vectors(scope)
    for source in scope.inputs:
        if source.result.limit is not None:
            sample = counted(source.result.limit, "row")
            if source.release is not None and source.tables:
                total = sum(source.release.manifest.config(config)["rows"] for config in source.tables)
                sample = f"{source.result.limit:,} of {counted(total, 'row')}"
            yield f"{source.label}: a first look at {sample}, drawn by seed {source.result.seed}."
    for describe in (removed_text, refused_text, flipped_text, *(() if is_association else (unscored_text,))):
        yield from (f"{source.label}: {clause}." for source in scope.inputs if (clause := describe(source.result)))
    for sentence, names in () if scope.is_brief else missing_parts(scope.inputs).items():
        yield sentence if len(names) == len(scope.inputs) else f"{', '.join(names)}: {sentence}"


def caveat_section(scope: ReportScope) -> Section:
    """Return the caveats of a brief; for compared models, the unchecked figures."""
    unchecked = [source for source in scope.inputs if source.unchecked]
    if scope.comparisons:
        texts = (f"{describe_unchecked(source.unchecked, source.label)}." for source in unchecked)
        return Section("", (*list_removals(scope.inputs), *texts))
    return Section("", tuple(describe_caveats(scope)))


def explain_planted(source: ReportInput) -> str:
    """Return a note on the truth that was planted in a model; empty for other results."""
    if (share := source.result.model.get("planted")) is None:
        return ""
    try:
        share = f"{100 * float(share):.0f} %"
    except ValueError:
        share = f"a share ({share})"
    return (
        f"{source.result.scorer} is the truth that was put in, not a score: the model saw {share} of the "
        f"stereotypes more often than their opposites. A perfect scorer would read the value after “{PLANTED}:”."
    )
