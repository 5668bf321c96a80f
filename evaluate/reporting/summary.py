"""What a terminal shows of results, of comparisons and of slices: tables, and lines below them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from senseprobe.evaluate.caveats import (
    failed_tasks,
    fitness_lines,
    flipped_text,
    refused_text,
    unscored_text,
)
from senseprobe.evaluate.control import RELEASE, is_probe
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.association import Weat, find_reversed, key_of
from senseprobe.evaluate.estimands.word_sets import SETS
from senseprobe.evaluate.figure_check import describe_unchecked
from senseprobe.evaluate.reporting.association_comparison import (
    HOW,
    describe_words,
    format_numbers,
    name_models,
    rank_tests,
    summarize_tests,
    tell_test,
)
from senseprobe.evaluate.reporting.association_tables import name_tests
from senseprobe.evaluate.reporting.association_verdicts import find_tests
from senseprobe.evaluate.reporting.chat_section import beside_table, describe_tasks, gate_table
from senseprobe.evaluate.reporting.comparison_page import (
    BY_DIFFERENCE,
    DISAGREEMENT,
    MOST_TOLD,
    Difference,
    describe_reading,
    explain_disagreement,
    explain_without_neutral,
    rank_differences,
    summarize_differences,
    tell_differences,
)
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_scored
from senseprobe.evaluate.reporting.metric_docs import describe_metrics, format_range
from senseprobe.evaluate.reporting.notation import (
    UNREAD,
    describe_neutral,
    describe_test,
    format_difference,
    format_interval,
    format_p_value,
    format_points,
    format_test,
    format_verdict_p,
    has_flaw,
)
from senseprobe.evaluate.reporting.row_tables import ResultSlice
from senseprobe.evaluate.reporting.significance import ModelComparison, find_control_figures
from senseprobe.evaluate.reporting.verdict import word_of
from senseprobe.evaluate.reporting.verdict_table import judge
from senseprobe.evaluate.result import Result, folder_of
from senseprobe.evaluate.scorers import counterpart
from senseprobe.evaluate.task_gates import find_verdict
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted, listed, printable
from senseprobe.records import Figure, FigureKey

_NAMED = 2  # words without a vector in a table, whose other columns would be cut off otherwise
TESTS = (
    "p is one-sided unless a title says otherwise, of these attribute words, and corrected over the tests of a config "
    "(Tarone, then Holm). Shown: the interval excludes 0, too. These attribute words only: it includes 0. Not shown "
    "does not mean that there is none."
)
"""The last line on association tests."""


class TextTable(NamedTuple):
    """A table for people: `columns` maps each heading to how it is justified, ``left`` or ``right``."""

    columns: Mapping[str, str]
    rows: Sequence[Sequence[object]]
    title: str = ""


FEW_GROUPS = 5
"""Of a contrast, that the table has."""

Summary: TypeAlias = Iterator[TextTable | str]


def summarize_results(results: Sequence[Result], out: Path, release: str | None = None) -> Summary:
    """Yield, for each result, its figures with their verdicts, its signature, and what limits its reading.

    `out` is the folder below which the results were written, `release` the name or path of what was scored.
    """
    for source in map(judge, gather_scored(results, out, release)):
        result = source.result
        if KINDS[result.kind].tests:
            yield from _summarize_tests(source)
            yield _written(result, out)
            continue
        yield _figure_table(source)
        yield from _verdict_lines(source)
        yield from summarize_tasks(result)
        measures = {f.estimand: lookup(f.estimand).measure for f in result.figures}
        if others := [f"{name} in {measure}" for name, measure in measures.items() if measure != "points"]:
            rest = "the others in points" if len(others) < len(measures) else "no preferences"
            yield f"values: {', '.join(others)}; {rest}"
        if result.limit is not None:
            yield f"a first look at {counted(result.limit, 'row')}, drawn by seed: intervals of so few are wide"
        yield result.signature
        yield from filter(None, (unscored_text(result), flipped_text(result), *_fitness_lines(result, results)))
        yield from _group_lines(source)
        yield _written(result, out)


def _figure_table(source: ReportInput) -> TextTable:
    """Return the figures of whole configs, and those that verdicts are about; last those of which nothing is read."""
    result = source.result
    columns = dict.fromkeys(("config", "figure", _heading(result.figures), "verdict", "neutral"), "left")
    columns |= dict.fromkeys(("scored", "ties", "left out"), "right")
    rows = [
        (
            f.config,
            " ".join(filter(None, (f.estimand, f.group))),
            f"{format_interval(f)} {format_verdict_p(f)}".rstrip(),
            word_of(f),
            describe_neutral(f),
            f"{f.scored}/{f.rows}",
            f.ties,
            sum(f.left_out.values()) or "",
        )
        for f in sorted(_listed_figures(source), key=lambda f: has_flaw(f) and f.config in (source.flaws or {}))
    ]
    return TextTable(columns, rows, f"\n{result.scorer} of {result.model['name']} on {result.release['name']}")


def _verdict_lines(source: ReportInput) -> Summary:
    """Yield why figures cannot be read, with their configs, and over how many figures verdicts are corrected."""
    reasons: dict[str, dict[str, None]] = {}
    told = failed_tasks(source.result)  # of which lines on gates say it
    for figure in _listed_figures(source):
        judged = figure.verdict if figure.config not in told else None
        if judged is not None and judged.code == "unreadable":
            reasons.setdefault(judged.text, {})[figure.config] = None
    for reason, configs in reasons.items():
        yield f"{UNREAD}: {printable(listed(configs))}: {printable(reason)}"
    if (family := max((verdict.family for verdict in source.verdicts or ()), default=0)) > 1:
        yield f"verdicts are corrected over {counted(family, 'figure')} (Holm)"


def summarize_tasks(result: Result) -> Summary:
    """Yield whether a chat model does the task, what each gate read, and what stands beside the figures."""
    yield from describe_tasks(result)
    for part, title in ((gate_table(result), "gates"), (beside_table(result), "beside the figures")):
        if part.rows and len(part.headings) > 1:
            justified = dict.fromkeys(part.headings, "right") | {part.headings[0]: "left"}
            yield TextTable(justified, part.rows, f"\n{title}")


def _heading(figures: Iterable[Figure]) -> str:
    """Return the heading of values of figures, which are not in points of all."""
    return f"{'points' if {lookup(f.estimand).measure for f in figures} <= {'points'} else 'value'} [95 %]"


def _written(result: Result, out: Path) -> str:
    folder = folder_of(out, str(result.release["name"]), result.model["name"])
    return f"result in {result.path_in(folder)}"


def _summarize_tests(source: ReportInput) -> Summary:
    """Yield a table of the association tests of each estimand and config, the signature, and how to read them."""
    columns = {"test": "left", "effect [95 %]": "left", "p": "right", "corrected": "right", "X+Y+A+B": "left"}
    columns |= dict.fromkeys(("reads", "without a vector"), "left")
    result = source.result
    tables: dict[tuple[str, Weat], list[tuple[str, ...]]] = {}
    tests = [test for own in (False, True) for test in find_tests(result.figures, variants=own)]
    asked = [(weat, figure) for weat, figure in tests if not weat.variant_of and not source.why_unread(figure.config)]
    reverse = find_reversed(asked)
    with_senses = any(figure.senses for _, figure in tests)
    columns |= {"senses a word": "left"} if with_senses else {}
    for weat, figure in tests:
        senses = "+".join(f"{figure.senses[side]:.1f}" for side in SETS if side in figure.senses)
        row = _test_row(figure, source.why_unread(figure.config))
        tables.setdefault((figure.config, weat), []).append((*row, senses) if with_senses else row)
    for (config, weat), rows in tables.items():
        title = f"\n{result.scorer} of {result.model['name']} on {result.release['name']}:{config}, {weat.title}"
        yield TextTable(columns, rows, title)
        if not weat.has_interval:
            yield f"{weat.id}: {weat.cannot_say}"
    yield from _notes((figure.note, figure.group or "") for _, figure in tests)
    yield result.signature
    whys = {figure.config: why for _, figure in tests if (why := source.why_unread(figure.config))}
    yield from (f"{UNREAD}: {printable(config)}: {why}" for config, why in whys.items())
    yield from filter(None, [refused_text(result), flipped_text(result), *fitness_lines(result.fitness)])
    if reverse:
        named = name_tests(sorted(reverse), [key_of(figure) for _, figure in asked])
        yield f"the other way round, Y nearer to A, which p does not test (-e weat-two-sided does): {named}"
    yield TESTS


def _test_row(figure: Figure, why: str) -> tuple[str, ...]:
    """Return the cells of a test; `why` nothing of its config can be read stands in a line below."""
    missing = dict.fromkeys(word for words in figure.missing.values() for word in words)
    reads: str = word_of(figure)
    if reads == UNREAD and figure.verdict is not None and not why:
        reads = f"{reads}: {figure.verdict.text}"
    sizes = "+".join(str(figure.levels.get(side, 0)) for side in SETS)
    named = listed([*missing][:_NAMED], len(missing))
    return figure.group or "", format_interval(figure), *format_test(figure), sizes, reads, named


def _listed_figures(source: ReportInput) -> list[Figure]:
    """Return the figures that the table has: of whole configs, those that verdicts are about, and of few groups all.

    Of groups that differ, where they are many, it is the first, by config; of a contrast all groups are listed if few.
    """
    figures, listed_keys, counts = source.result.figures, set[FigureKey](), Counter[tuple[str, str]]()
    for verdict in source.verdicts or ():
        listed_keys |= {figure.key for figure, _ in verdict.of[:FEW_GROUPS]}
    for figure in figures:
        counts[figure.config, figure.estimand] += 1
    return [
        f
        for f in figures
        if f.group is None
        or f.key in listed_keys
        or (lookup(f.estimand).presentation.contrasts and counts[f.config, f.estimand] <= FEW_GROUPS)
    ]


def _group_lines(source: ReportInput) -> Iterator[str]:
    """Yield how many figures of single groups there are, and why those without a value have none."""
    there = {figure.key for figure in _listed_figures(source)}
    grouped = [figure for figure in source.result.figures if figure.key not in there]
    if grouped:
        yield f"{counted(len(grouped), 'figure')} of single groups: in the report, and in --json"
    # Of what is withheld it is said of the whole config.
    missing = Counter((f.config, f.estimand, f.note) for f in grouped if f.value is None and not find_verdict(f))
    for (config, estimand, note), count in missing.items():
        yield f"no value of {estimand} in {config}, of {counted(count, 'group')}: {note}"


def _fitness_lines(result: Result, results: Iterable[Result]) -> Iterator[str]:
    """Yield what the model's tokenizer does with the rows, a line for each config that has something to report.

    A scorer of first tokens has a counterpart to be read with, which is named where none of the `results` is of it.
    """
    if "family" in result.model and not result.fitness:
        yield "unknown words are not counted: the tokenizer of a plug-in's model is its own"
    other = counterpart(result.scorer)
    yield from fitness_lines(result.fitness, "" if other in {r.scorer for r in results} else other)


def summarize_comparison(pairs: Iterable[ModelComparison], inputs: Sequence[ReportInput]) -> Summary:
    """Yield the differences of each pair of models, in words and as a table, then the control of each model."""
    unchecked = [describe_unchecked(source.unchecked, source.label) for source in inputs if source.unchecked]
    if all(KINDS[source.kind].tests for source in inputs):
        yield from _summarize_compared_tests(pairs, name_models(inputs))
        yield from unchecked
        return
    every: list[Difference] = []
    for pair in pairs:
        whole, groups = (rank_differences(pair, inputs, grouped=grouped) for grouped in (False, True))
        yield from _summarize_pair(whole, groups, f"{inputs[pair.a - 1].label} less {inputs[pair.b - 1].label}")
        every += whole + groups
    if every:
        yield BY_DIFFERENCE
        yield from filter(None, [explain_without_neutral(every)])
    if any(map(explain_disagreement, every)):
        yield DISAGREEMENT
    for source in inputs:
        yield from control_lines(source)
        yield from (f"{source.label}: {line}" for line in describe_tasks(source.result))
    yield from unchecked


def _summarize_compared_tests(pairs: Iterable[ModelComparison], names: Sequence[str]) -> Summary:
    """Yield which association tests of each pair of models differ, and all of them as a table, smallest p first."""
    for pair in pairs:
        first, second = names[pair.a - 1], names[pair.b - 1]
        yield f"\n{summarize_tests(pair, names)}"
        rows = [
            (
                row.group,
                row.config,
                *format_numbers(row),
                describe_test(row),
                describe_words(row),
                tell_test(row, first, second),
            )
            for row in rank_tests(pair)
        ]
        columns = dict.fromkeys(("test", "config"), "left")
        columns |= dict.fromkeys(("difference", "first", "second"), "right") | dict.fromkeys(
            ("p", "targets", "in words"), "left"
        )
        yield TextTable(columns, rows, f"\n{first} less {second}")
    yield HOW


def _summarize_pair(whole: Sequence[Difference], groups: Sequence[Difference], title: str) -> Summary:
    """Yield what differs in words, then all figures over whole configs as a table, largest difference first."""
    if whole:
        yield f"\n{summarize_differences(whole)}"
        yield from (f"  {sentence}" for sentence in tell_differences(whole))
        rows = [
            (
                row.config,
                row.estimand,
                format_difference(row),
                format_p_value(row),
                *("none" if value is None else format_points(value, row.estimand) for value in (row.a, row.b)),
                describe_reading(difference),
            )
            for difference in whole
            for row in [difference.comparison]
        ]
        left = dict.fromkeys(("config", "figure", "first less second [95 %]", "p"), "left")
        yield TextTable(left | {"first": "right", "second": "right", "in words": "left"}, rows, f"\n{title}")
        yield from _notes(
            (d.comparison.note, f"{d.comparison.config} {d.comparison.estimand}") for d in whole if d.ends
        )
    if groups:
        yield f"{summarize_differences(groups)} See --out, or --json."
        yield from (f"  {sentence}" for sentence in [*tell_differences(groups)][:MOST_TOLD])


def control_lines(source: ReportInput) -> Iterator[str]:
    """Yield right answers on the control, without which inference probes say nothing."""
    if is_probe(source.result):
        whole = [figure for _, figure in find_control_figures(source) if figure.group is None]
        figures = ", ".join(f"{figure.config} {format_interval(figure)}" for figure in whole)
        missing = f"not at hand (`senseprobe score MODEL {RELEASE}`)"
        yield f"{source.label}: right answers on nli-control: {figures or missing}"


def summarize_slices(slices: Iterable[ResultSlice], source: ReportInput) -> Summary:
    """Yield the figures of each slice of a result, and the words with the largest means where they were requested.

    Several slices of a config are one table.
    """
    slices = [*slices]
    several = {part.config for part in slices if sum(other.config == part.config for other in slices) > 1}
    yield from _summarize_levels([part for part in slices if part.config in several])
    for part in (part for part in slices if part.config not in several):
        columns = {"figure": "left", _heading(part.figures): "left", "neutral": "left", "scored": "right"}
        rows: list[tuple[str, ...]] = [
            (f.estimand, format_interval(f), "none known" if f.neutral is None else "0", f"{f.scored}/{f.rows}")
            for f in part.figures
        ]
        if len({f.group for f in part.figures}) > 1:  # each group of a figure, in the slice
            columns = {"rows": "left", **columns}
            rows = [(f.group or "", *row) for f, row in zip(part.figures, rows, strict=True)]
        if rows:
            yield TextTable(columns, rows, f"\n{part.config}{f', {part.words}' if part.words else ''}")
        if part.largest:
            numbers = {name for name, value in part.largest[0].items() if not isinstance(value, str)}
            columns = {name: "right" if name in numbers else "left" for name in part.largest[0]}
            means = [[f"{v:.3f}" if isinstance(v, float) else v for v in row.values()] for row in part.largest]
            yield TextTable(columns, means, "\nlargest means")
            yield "the largest of many look extreme for that alone, and the fewer their rows, the more so"
        yield from _notes((figure.note, figure.estimand) for figure in part.figures)
    yield from _notes((f"left out: {why}", name) for part in slices for name, why in part.left_out.items())
    yield from control_lines(source)
    if source.result.limit is not None:
        yield f"a first look: these are of {counted(source.result.limit, 'row')} that were drawn"
    yield source.result.signature


def _summarize_levels(slices: Sequence[ResultSlice]) -> Summary:
    """Yield a table of the slices of each config: what they are of, and their figures."""
    for config in dict.fromkeys(part.config for part in slices):
        figures = [(part.words, f) for part in slices if part.config == config for f in part.figures]
        rows = [(f.group or words, f.estimand, format_interval(f), f"{f.scored}/{f.rows}") for words, f in figures]
        columns = {"rows": "left", "figure": "left", _heading(f for _, f in figures): "left", "scored": "right"}
        if rows:
            yield TextTable(columns, rows, f"\n{config}")
        yield from _notes((f.note, f.estimand) for _, f in figures)
    if slices:
        yield "levels are no tests of one another: the largest of many is large by chance, and no p is printed"


def summarize_metrics() -> Summary:
    """Yield a table of all scorers, and one of all estimands."""
    metrics = describe_metrics()
    for part, key, columns in (
        ("scorers", "ability", ("scorer", "asks for", "range", "is")),
        ("estimands", "kind", ("\nfigure", "\nover rows of", "\nrange", "\nis")),
    ):
        rows = [[entry["id"], entry[key], format_range(entry), entry["title"]] for entry in metrics[part]]
        yield TextTable(dict.fromkeys(columns, "left"), rows)
    yield "senseprobe metrics NAME says what one of them can and cannot say"


def _notes(named: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each note once, after the names of what it is about."""
    notes: dict[str, dict[str, None]] = {}
    for note, name in named:
        notes.setdefault(note, {})[name] = None
    yield from (f"{', '.join(names)}: {note}" for note, names in notes.items() if note)
