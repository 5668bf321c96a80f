"""The section that a report begins with: the verdicts of each result, their intervals on one scale, and caveats."""

from collections.abc import Iterable, Iterator, Sequence

from senseprobe.charts import Axis
from senseprobe.document import Cell, Section, Table, explain_once, name_cells, table_section
from senseprobe.evaluate.caveats import flipped_text, refused_text, unscored_text
from senseprobe.evaluate.control import GUESS
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.association import key_of
from senseprobe.evaluate.estimands.base import joined
from senseprobe.evaluate.figure_check import describe_unchecked
from senseprobe.evaluate.reporting import figure_charts
from senseprobe.evaluate.reporting.association_tables import describe_vectors
from senseprobe.evaluate.reporting.association_verdicts import describe_effect
from senseprobe.evaluate.reporting.inputs import ReportInput, missing_parts
from senseprobe.evaluate.reporting.notation import name_measure
from senseprobe.evaluate.reporting.scope import ReportScope
from senseprobe.evaluate.reporting.verdict import NOT_NONE, ORDER, TONES, Verdict, describe_family, rank
from senseprobe.evaluate.reporting.verdict_table import direction_labels
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted, listed
from senseprobe.records import VERDICT_WORDS, VerdictCode

TITLE = "What it shows"
HOLLOW = "A hollow mark: 0 is not known to be neutral."
MOST_OPEN = 4
"""Results whose verdicts are not collapsed."""

MOST_BRIEF = 30
"""Verdicts in the table of a brief: with caption, headings and note it is shorter than 40 lines."""


def verdict_section(scope: ReportScope) -> Section:
    """Return the verdicts of each result, whose intervals are on one scale, and what to read them with.

    A brief has one table for all results; where verdicts are many, its last line counts those left out.
    """
    if scope.is_brief:
        return table_section("", (), [_build_brief(scope)])
    axis = build_axis([verdict for source in scope.inputs for verdict in source.verdicts or ()])
    tables: list[Table] = []
    # A planted truth is what the others are held against, and comes after them, as do vectors that say nothing.
    numbers = range(len(scope.inputs))
    last = [(not source.is_comparable, "planted" in source.result.model) for source in scope.inputs]
    order = sorted(numbers, key=last.__getitem__)
    for place, number in enumerate(order):
        tables += _build_tables(scope, number, axis, closed=place >= MOST_OPEN)
    return Section(TITLE, tuple(describe_caveats(scope)), tables=explain_once(tables))


def build_axis(verdicts: Sequence[Verdict]) -> Axis:
    """Return the scale of the intervals of verdicts: the range of their estimand, or as wide as figures need."""
    ranged = [v for v in verdicts if v.figure is not None and v.figure.low is not None]
    # What can be read decides how far the scale goes; of other figures only those on it have a bar.
    figures = [v.figure for v in [v for v in ranged if v.code != "unreadable"] or ranged if v.figure is not None]
    ranges = {lookup(figure.estimand).axis for figure in figures}
    if len(ranges) == 1 and (fixed := ranges.pop()) is not None:
        neutral = 0.0 if fixed[0] < 0 else GUESS if all(lookup(f.estimand).needs_gold for f in figures) else None
        return Axis(low=fixed[0], high=fixed[1], neutral=neutral)
    limit = figure_charts.find_limit(figures)
    if any(ends is not None for ends in ranges):  # of some figures 0 is the least that there can be
        return Axis(low=-limit, high=100.0)
    return Axis(low=-limit, high=limit, neutral=0.0)


def _build_tables(scope: ReportScope, number: int, axis: Axis, *, closed: bool) -> Iterator[Table]:
    """Yield the table of a result's verdicts; of several results a reader first wants what can be read."""
    source, several = scope.inputs[number], len(scope.inputs) > 1
    verdicts = source.verdicts or ()
    unread = [verdict for verdict in verdicts if verdict.code == "unreadable"] if several else []
    folded = unread if len(unread) < len(verdicts) or not source.is_comparable else []
    shown = [verdict for verdict in verdicts if verdict not in folded]
    ends = f"{axis.low:+g} to {axis.high:+g}" if axis.low else f"0 to {axis.high:g}"
    figures = [verdict.figure for verdict in verdicts if verdict.figure is not None]
    headings = (number, "verdict", f"{name_measure(figures)} [95 %], bars from {ends}", "based on; sharper with")
    hollow = any(figure.neutral is None for figure in figures)
    note = explain_planted(source) or joined_sentences(*_explain_verdicts([source]), HOLLOW if hollow else "")
    for members, caption in ((shown, source.headline), (folded, f"{len(folded)} {VERDICT_WORDS['unreadable']}")):
        if members or (members is shown and not verdicts):
            rows = tuple(build_verdict_row(verdict, scope, number, axis) for verdict in members)
            caption = f"{scope.labels[number]}: {caption}" if several else caption
            yield Table(caption, headings, rows, note if members is shown else "", closed or members is folded, axis)


def _build_brief(scope: ReportScope) -> Table:
    """Return one table of the verdicts of all results, those that say most where they are many."""
    several = len(scope.inputs) > 1
    lines = [(n, verdict) for n, source in enumerate(scope.inputs) for verdict in source.verdicts or ()]
    important = sorted(range(len(lines)), key=lambda index: rank(lines[index][1]))[:MOST_BRIEF]
    rows = tuple(
        (
            *(name_cells(scope.labels[number]) if several else ()),
            *build_verdict_row(verdict, scope, number),
        )
        for number, verdict in (lines[index] for index in sorted(important))
    )
    omitted = [verdict.code for index, (_, verdict) in enumerate(lines) if index not in important]
    figures = [verdict.figure for _, verdict in lines if verdict.figure is not None]
    measure = f"{name_measure(figures)} [95 %]"
    headings = (*(("result",) if several else ()), "config", "verdict", measure, "based on; sharper with")
    releases = listed(dict.fromkeys(str(source.result.release["name"]) for source in scope.inputs))
    names = counted(len(scope.inputs), "result") if several else scope.labels[0]
    planted = dict.fromkeys(map(explain_planted, scope.inputs))
    unchecked = (
        f"{describe_unchecked(source.unchecked, source.label if several else '')}."
        for source in scope.inputs
        if source.unchecked
    )
    note = joined_sentences(*planted, *_explain_verdicts(scope.inputs), count_omitted(omitted), *unchecked)
    return Table(f"senseprobe: {names} on {releases}", headings, rows, note)


def build_verdict_row(verdict: Verdict, scope: ReportScope, number: int, axis: Axis | None = None) -> tuple[Cell, ...]:
    """Return the cells of a verdict: what it is about, what it says, its figure, and what that is based on.

    What cannot be read is muted beside others, not where it is all that is said.
    """
    source, figure = scope.inputs[number], verdict.figure
    alone = len(source.verdicts or ()) == 1 and verdict.code == "unreadable"
    about = Cell(verdict.config, verdict.bias_type or scope.biases.get(verdict.config, ""), "name")
    text = Cell(verdict.text, tag=verdict.word, tone="open" if alone else TONES[verdict.code])
    if figure is None:
        return about, text, Cell(""), Cell(verdict.basis, verdict.sharper, "quiet")
    words = scope.words[number].get(key_of(figure)) if verdict.code in ("shown", "these_words") else None
    example = "" if words is None else describe_effect(words)
    basis = Cell(verdict.basis, joined(example, verdict.sharper), "quiet")
    estimand, mark = lookup(figure.estimand), figure_charts.build_mark(figure, number)
    name = ", ".join(filter(None, (figure.estimand, figure.group)))
    if not estimand.from_zero:
        name += f" (+\N{NO-BREAK SPACE}{direction_labels(figure, source.design(verdict.config))[1]})"
    has_mark = axis is not None and mark.low is not None and mark.high is not None
    is_on_axis = has_mark and axis.low <= mark.low and mark.high <= axis.high  # type: ignore[union-attr, operator]
    under = joined(name, describe_family(verdict))
    return about, text, Cell(mark.text, under, "number", mark if is_on_axis else None), basis


def _explain_verdicts(inputs: Iterable[ReportInput]) -> Iterator[str]:
    """Yield what readers of the verdicts on results have to know of their scale and words."""
    figures = (verdict.figure for source in inputs for verdict in source.verdicts or () if verdict.figure is not None)
    yield from dict.fromkeys(lookup(figure.estimand).scale_note for figure in figures)
    yield NOT_NONE


def joined_sentences(*sentences: str) -> str:
    """Return sentences as a paragraph; those that are empty say nothing."""
    return " ".join(filter(None, sentences))


def count_omitted(codes: Iterable[VerdictCode]) -> str:
    """Return how many verdicts of each code are not in the table; empty without any."""
    codes = list(codes)
    counts = ", ".join(f"{codes.count(code)} {VERDICT_WORDS[code]}" for code in ORDER if code in codes)
    return f"Not listed here: {counts}. `senseprobe report` lists all." if counts else ""


def describe_caveats(scope: ReportScope) -> Iterator[str]:
    """Yield what a reader has to know before any figure: rows that were drawn, what others say, and what is missing."""
    of_tests = KINDS[scope.inputs[0].kind].tests
    if of_tests:
        yield from describe_vectors(scope)
    for source in scope.inputs:
        if source.result.limit is not None:
            drawn = counted(source.result.limit, "row")
            if source.release is not None and source.tables:
                total = sum(source.release.manifest.config(config)["rows"] for config in source.tables)
                drawn = f"{source.result.limit:,} of {counted(total, 'row')}"
            yield f"{source.label}: a first look at {drawn}, drawn by seed {source.result.seed}."
    for describe in (refused_text, flipped_text, *(() if of_tests else (unscored_text,))):
        yield from (f"{source.label}: {clause}." for source in scope.inputs if (clause := describe(source.result)))
    for sentence, names in () if scope.is_brief else missing_parts(scope.inputs).items():
        yield sentence if len(names) == len(scope.inputs) else f"{', '.join(names)}: {sentence}"


def caveat_section(scope: ReportScope) -> Section:
    """Return what a reader of a brief has to know beside verdicts; of models compared, which figures are unchecked."""
    unchecked = [source for source in scope.inputs if source.unchecked]
    if scope.comparisons:
        return Section("", tuple(f"{describe_unchecked(source.unchecked, source.label)}." for source in unchecked))
    return Section("", tuple(describe_caveats(scope)))


def explain_planted(source: ReportInput) -> str:
    """Return what the truth that was planted in a model is; empty of other results."""
    if (share := source.result.model.get("planted")) is None:
        return ""
    try:
        share = f"{100 * float(share):.0f} %"
    except ValueError:
        share = f"a share ({share})"
    return (
        f"{source.result.scorer} is not a score but the truth: the model was made to see {share} of the stereotypes "
        "more often than what they are compared with, and the others less often. A sentence counts as the logarithm "
        "of how often it was seen."
    )
