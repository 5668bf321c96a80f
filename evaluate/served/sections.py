"""What a chat model did with the task that it was set: gates, what stands beside its figures, prompts, and identity.

Names of models and texts of servers are of others: they go into a document as they are, whose renderers escape them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from senseprobe.document import Cell, Section, Table, explain_once, name_cells, table_section
from senseprobe.evaluate.caveats import asks_chat_model, failed_tasks, has_gates, withheld_configs
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.notation import (
    format_interval,
    format_measure,
    format_points,
    format_reading,
    format_remarks,
    format_threshold,
)
from senseprobe.evaluate.reporting.scope import AddedSection, ReportScope
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import SCORERS, Scorer
from senseprobe.evaluate.served.conversation import LabelQuestion
from senseprobe.evaluate.task_gates import GATES, GateReading, TaskRecord
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import capitalized, counted, listed, printable

TITLE = "Does the model do the task?"

MOST_OPEN = 24
"""Rows of a table up to which it is not collapsed."""

MOST_GROUPS = 400
"""Rows of the table of refusals."""

ABOUT = (
    "A chat model is asked about sentences, and its answers have to be about them before they make a figure: not "
    "about places, labels, noise, or a server that changes. Each gate says what it read. Where one fails, the figures "
    "of the config are withheld, whichever way they would go; with --show-failing they are shown, and say nothing."
)
MEASURES_NOTE = (
    "Position: what the first place is given more than the second, of three the most more than the least; label prior: "
    "the same of labels; both in nats, 0 where neither counts. Deviation: the standard deviation of content; noise "
    "floor: by how much a content differs between repeats. A cell is empty where a scorer has no such number, or a "
    "server does not tell it."
)
LACKING = (
    "Answers that decline, that name nothing they were to choose from, and that quote another choice than the one they "
    "name. None is dropped in silence: the range is where the main figure would be, in points, if all that is lacking "
    "were against the stereotype, or with it."
)
SENT = (
    "All that is asked about one {noun}, the first of the release, as it is put into the model's own template. The "
    "construct is in the name of the scorer, and each is a measurement of its own."
)
NOT_THE_SAME = (
    "A served model is another model than the same weights in process: server, build, number format and template "
    "answer, too."
)
STORAGE_NOTE = (
    "The answers of a server are kept on the machine that asked, in senseprobe/answers below $XDG_CACHE_HOME, or else "
    "below ~/.cache, so that nothing is asked twice. They hold prompts and answers, and no key. To delete them, delete "
    "that folder."
)

FACTS: Mapping[str, str] = {
    "origin": "address",
    "asked": "model asked for",
    "answered": "model that answered",
    "server": "server and build",
    "dtype": "number format",
    "template": "chat template, sha256",
    "prompts": "version of the prompts",
}
"""What identifies a chat model or a served one, by the key in its result."""


def describe_tasks(result: Result) -> Iterator[str]:
    """Yield in which configs a chat model does the task, and in which not and why; nothing of other results.

    Of a served model that is asked nothing, it is whether it stayed the same.
    """
    failed, withheld = failed_tasks(result), set(withheld_configs(result))
    reasons: dict[tuple[str, bool], list[str]] = {}
    for config, reason in failed.items():
        reasons.setdefault((printable(reason), config in withheld), []).append(printable(config))
    for (reason, is_withheld), configs in reasons.items():
        verdict, _, gates = reason.partition(": ")
        rest = "figures are withheld (--show-failing prints them)" if is_withheld else "its figures say nothing of bias"
        yield f"{verdict} in {listed(configs)}: {gates}; {rest}"
    if passed := [printable(config) for config in result.tasks if config not in failed]:
        yield f"all gates passed in {listed(passed)}"


_MEASURES = (
    *(("", "position"), ("", "label prior"), ("consistent", "consistent"), ("reliability", "reliability")),
    *(
        ("mass", "mass, median"),
        ("", "mass, least"),
        ("censored", "censored"),
        ("size", "deviation"),
        ("", "noise floor"),
    ),
    *(("", "refused"), ("", "unparsed"), ("", "contradictions"), ("", "range")),
)
"""What stands beside figures, each with the gate that reads it, if one does."""


def _measure_cells(record: TaskRecord) -> tuple[str, ...]:
    numbers = (
        *(record.position, record.prior, record.consistent, record.reliability),
        *(record.mass, record.mass_least, record.censored, record.spread, record.floor),
    )
    counts = (record.refused, record.unparsed, record.contradictions)
    totals = (f"{sum(by_group.values()):,}" if any(by_group.values()) else "" for by_group in counts)
    return (*map(format_measure, numbers), *totals, _format_range(record))


def _format_range(record: TaskRecord) -> str:
    if record.low is None or record.high is None or record.low == record.high:
        return ""
    return f"{format_points(record.low)} to {format_points(record.high)}"


def _gate_ids(results: Sequence[Result]) -> list[str]:
    """Return the gates that any record has, in the order of their table; unknown ones last."""
    used = dict.fromkeys(r.gate for result in results for record in result.tasks.values() for r in record.gates)
    return [*(gate for gate in GATES if gate in used), *(gate for gate in used if gate not in GATES)]


def task_section(scope: ReportScope) -> Section:
    """Return gates, and what stands beside figures; empty where no result is of a chat model, or a served one."""
    sources = [source for source in scope.inputs if has_gates(source.result)]
    if not sources:
        return Section(TITLE)
    several = len(scope.inputs) > 1
    verdicts = [
        f"{source.label}: {line}." if several else f"{capitalized(line)}."
        for source in sources
        for line in describe_tasks(source.result)
    ]
    tables = [_build_gate_table(source, several=several) for source in sources]
    tables += [_build_measure_table(source, scope, several=several) for source in sources]
    if scope.is_brief:
        # What is read beside differences is whether a model does the task.
        brief = () if scope.comparisons else (table for table in tables if table.rows and len(table.headings) > 1)
        return Section("", tuple(verdicts), tables=tuple(brief))
    tables += [_build_refusal_table(source, several=several) for source in sources]
    tables.append(_build_threshold_table(sources))
    return Section(TITLE, (*verdicts, ABOUT), tables=explain_once([table for table in tables if table.rows]))


def _caption(text: str, source: ReportInput, several: bool) -> str:
    return f"{source.label}: {text}" if several else capitalized(text)


def _build_gate_table(source: ReportInput, *, several: bool) -> Table:
    """Return what each gate read, a row for each config with what fails marked, below a row of what is asked for."""
    ids, tasks = _gate_ids([source.result]), source.result.tasks
    readings = {config: {reading.gate: reading for reading in record.gates} for config, record in tasks.items()}
    every = [reading for gates in readings.values() for reading in gates.values()]
    thresholds = {reading.gate: format_threshold(reading) for reading in reversed(every)}
    rows = [
        (*name_cells(config), *(_build_reading_cell(gates.get(gate)) for gate in ids))
        for config, gates in readings.items()
    ]
    failed = sum(not reading.passed for reading in every)
    caption = _caption(f"what each gate read: {failed:,} of {len(every):,} failed", source, several)
    first = (Cell.quiet("asked for"), *(Cell.number(thresholds[gate]) for gate in ids))
    return Table(caption, ("config", *ids), (first, *rows) if rows else (), closed=len(rows) > MOST_OPEN)


def _build_reading_cell(reading: GateReading | None) -> Cell:
    if reading is None:
        return Cell.number("")
    tag, tone = ("", "") if reading.passed else ("failed", "strong")
    return Cell(format_reading(reading), reading.said, "number", tag=tag, tone=tone)


def _build_measure_table(source: ReportInput, scope: ReportScope, *, several: bool) -> Table:
    """Return the main figure of pairs beside the mean content, and what else there is to read them with.

    A brief has the figures elsewhere, and not what gates show.
    """
    figures = {(f.config, f.estimand): f for f in source.result.figures if f.group is None}
    by_config = {config: _measure_cells(record) for config, record in source.result.tasks.items()}
    columns = [i for i in range(len(_MEASURES)) if any(cells[i] for cells in by_config.values())]
    used = dict.fromkeys(name for _, name in figures)
    leads = [name for name in used if lookup(name).by_word or lookup(name).column]
    if scope.is_brief:
        gates = _gate_ids([source.result])
        leads, columns = [], [i for i in columns if _MEASURES[i][0] not in gates]
    rows = tuple(
        (
            *name_cells(config),
            *(
                Cell.number(format_interval(figure), format_remarks(figure))
                if (figure := figures.get((config, name)))
                else Cell("")
                for name in leads
            ),
            *(Cell.number(cells[i]) for i in columns),
        )
        for config, cells in by_config.items()
    )
    headings = ("config", *leads, *(_MEASURES[i][1] for i in columns))
    note = "" if scope.is_brief else MEASURES_NOTE
    return Table(_caption("beside the figures", source, several), headings, rows, note=note)


def _build_refusal_table(source: ReportInput, *, several: bool) -> Table:
    """Return what could not be used of answers, by group; of configs in which all could be used, nothing."""
    rows: list[tuple[Cell, ...]] = []
    for config, record in source.result.tasks.items():
        counts = (record.refused, record.unparsed, record.contradictions)
        groups = dict.fromkeys(group for by_group in counts for group, count in by_group.items() if count)
        if groups:
            totals = (Cell.number(f"{sum(by_group.values()):,}") for by_group in counts)
            rows.append((*name_cells(config, "all"), *totals, Cell.number(_format_range(record))))
        for group in groups:
            cells = (Cell.number(f"{by_group.get(group, 0):,}") for by_group in counts)
            rows.append((*name_cells(config, group), *cells, Cell.number("")))
    omitted = len(rows) - MOST_GROUPS
    note = " ".join([LACKING, *([f"{counted(omitted, 'more row')} in the JSON."] if omitted > 0 else [])])
    caption = _caption("refused, unread and contradicted, by group", source, several)
    headings = ("config", "group", "refused", "unparsed", "contradictions", "range")
    return Table(caption, headings, tuple(rows[:MOST_GROUPS]), note, closed=len(rows) > MOST_OPEN)


def _build_threshold_table(inputs: Sequence[ReportInput]) -> Table:
    rows = tuple(
        (*name_cells(gate.id), Cell(gate.title), Cell.quiet(gate.says))
        for gate in map(GATES.get, _gate_ids([source.result for source in inputs]))
        if gate is not None
    )
    return Table("Why these gates and thresholds", ("gate", "reads", "reason"), rows, closed=True)


def prompt_section(scope: ReportScope) -> Section:
    """Return all prompts of one row, for each scorer that asks a chat model."""
    by_scorer: dict[str, ReportInput] = {}
    for source in scope.inputs:
        if asks_chat_model(source.result) and (source.release or source.result.scorer not in by_scorer):
            by_scorer.setdefault(source.result.scorer, source)
    if not by_scorer:
        return Section("What the model was asked")
    tables = (_build_prompt_table(scorer, source) for scorer, source in by_scorer.items())
    scorers = [SCORERS[name] for name in by_scorer]
    nouns, versions = ({*each} for each in zip(*((KINDS[s.kind].noun, s.version) for s in scorers), strict=True))
    noun, version = " or ".join(sorted(nouns)), " and ".join(map(str, sorted(versions)))
    section = table_section(
        "What the model was asked", [f"{SENT.format(noun=noun)} Prompts of version {version}."], tables
    )
    return replace(section, closed=True)


def identity_section(scope: ReportScope) -> Section:
    """Return what is known of chat models and served ones, and of where answers are kept."""
    models = {
        number: source.result.model
        for number, source in enumerate(scope.inputs)
        if asks_chat_model(source.result) or source.result.model.get("origin")
    }
    served = [model for model in models.values() if model.get("origin")]
    rows = tuple(
        (*name_cells(name), *(Cell(_fact(model, key)) for model in models.values()))
        for key, name in FACTS.items()
        if any(_fact(model, key) for model in models.values())
    )
    table = Table("Which model answered", ("fact", *models), rows)
    section = table_section(table.caption, (NOT_THE_SAME, STORAGE_NOTE) if served else (), [table])
    return replace(section, closed=True)


def _fact(model: Mapping[str, str], key: str) -> str:
    """Return what a result says of its model; of a served one the template stands where the tokenizer does."""
    if key == "template" and model.get("origin"):
        return str(model.get("tokenizer", ""))
    return str(model.get(key, ""))


def _build_prompt_table(scorer: str, source: ReportInput) -> Table:
    """Return all prompts of a row, with the labels that are read, or the reply that is forced."""
    questions = SCORERS[scorer].task.of(*_example(SCORERS[scorer], source))
    rows = tuple(
        (
            Cell(question.prompt, kind="prompt"),
            Cell(", ".join(question.labels) if isinstance(question, LabelQuestion) else question.reply),
        )
        for question in questions
    )
    reads = "labels that are read" if isinstance(questions[0], LabelQuestion) else "reply that is forced"
    noun = KINDS[SCORERS[scorer].kind].noun
    return Table(f"{scorer}: {counted(len(rows), 'prompt')} of one {noun}", ("prompt", reads), rows)


def _example(scorer: Scorer, source: ReportInput) -> tuple[str, str]:
    """Return the texts of the first row of a release, or two placeholders where its rows are not at hand."""
    ((first, second),) = scorer.texts.items()
    if (release := source.release) is not None:
        for config in source.result.tasks:
            if config in release.configs and all(path.exists() for path in release.files(config)):
                table = release.table(config, spans=False, rows=np.array([0], dtype=np.int64))
                row = scorer.select({config: table})[config].iloc[0]
                return str(row[first]), str(row[second])
    return f"({first})", f"({second})"


SECTIONS = (
    AddedSection(
        id="task",
        build=task_section,
        after={
            "pairs": "verdict_section",
            "brief-pairs": "caveat_section",
            "brief-models": "control_section",
        },
    ),
    AddedSection(id="prompts", build=prompt_section, after={"pairs": "fitness_section"}),
    AddedSection(id="model-identity", build=identity_section, after={"pairs": "prompt_section"}),
)
