"""The report of a round: how far it is, who agrees with whom, what is disputed, and what was decided and why.

Annotators have their pseudonyms there, and free text is left out, as is what each said of `withhold` where groups were
asked for: beside the rows that the targeted group reported, it would tell who belongs to it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles

from senseprobe.annotation.adjudication import group_by_row
from senseprobe.annotation.agreement import agreement
from senseprobe.annotation.agreement_figures import (
    MOST_ROWS,
    Agreement,
    Figure,
    agreement_section,
    cap_table,
    gold_section,
    list_cells,
    list_marks,
    plot_agreement,
)
from senseprobe.annotation.annotators import QUESTION, pseudonyms
from senseprobe.annotation.cells import write_file
from senseprobe.annotation.decisions import STATES, Decision, count_states, list_decisions
from senseprobe.annotation.project_folder import check_outside
from senseprobe.annotation.publication import pseudonym_of
from senseprobe.annotation.questions import question_of, questions_of
from senseprobe.annotation.records import Annotation, Item, Plan
from senseprobe.charts import ForestRow
from senseprobe.document import (
    Cell,
    Document,
    Part,
    Section,
    Table,
    name_cells,
    render_html,
    table_section,
)
from senseprobe.errors import AnnotationError
from senseprobe.messages import counted, printable

NAME = "report.html"

_QUICK = 1 / 3  # of the median time of a row, below which an answer was quick
_PRIVATE = (
    "This page is for the people who run the round. It has figures about single annotators, under pseudonyms. Publish "
    "only the files that senseprobe annotate release writes."
)
_WARNING = "The sentences state stereotypes, which are wrong and hurtful."
_MEANING = {
    "reject": "omitted from the next version",
    "keep": "stays",
    "undecided": "stays, without a verdict: a tie, or too few answers",
    "changed": "people saw other words than those in the release",
    "unanswered": "stays: nobody answered",
}


@dataclass(frozen=True, slots=True)
class Round:
    """A plan with its answers: `rows` has the last annotation of each person that was submitted, by row."""

    plan: Plan
    annotations: Sequence[Annotation]
    agreement: Agreement
    decisions: Sequence[Decision]
    rules: Sequence[str]

    @property
    def rows(self) -> dict[str, list[Annotation]]:
        """The annotations that count, by row."""
        return group_by_row(self.annotations)

    @property
    def people(self) -> list[str]:
        """The pseudonyms of all who answered or skipped."""
        return sorted({annotation.annotator for annotation in self.annotations})

    @property
    def questions(self) -> list[str]:
        """The questions with choices that single annotators are compared on."""
        withheld = QUESTION if self.plan.groups else ""
        return [question.id for question in questions_of(self.plan) if question.choices and question.id != withheld]


def write_report(plan: Plan, folder: Path, annotations: Sequence[Annotation], out: Path | None = None) -> Path:
    """Write the page of a round, as `report.html` in its `folder` if not to `out`, and return its path.

    Raises AnnotationError where nobody has answered, the path is not one of a page, or it cannot be written.
    """
    path = out or folder / NAME
    if path.suffix not in (".html", ".htm"):
        raise AnnotationError(f"{printable(str(path))}: the page is HTML: choose a name that ends in .html")
    check_outside(path)
    name_of = pseudonyms(folder)
    renamed = [replace(annotation, annotator=pseudonym_of(annotation, name_of)) for annotation in annotations]
    if not any(annotation.status == "submitted" for annotation in renamed):
        raise AnnotationError(f"nobody has answered {plan.project} yet, so there is nothing to report")
    decisions, rules = list_decisions(folder)
    page = render_html(build_report(Round(plan, renamed, agreement(plan, renamed), decisions, rules)))
    return write_file(path, page.encode("utf-8", "backslashreplace"))


def build_report(round_: Round) -> Document:
    """Return the page of a round."""
    plan = round_.plan
    compared = tuple(gold for gold in round_.agreement.gold if gold.question in round_.questions)
    sections = (
        Section("Plan", (_describe_plan(plan), _PRIVATE)),
        _build_progress(round_),
        agreement_section(round_.agreement),
        _build_raters(round_),
        gold_section(replace(round_.agreement, gold=compared)),
        _build_time(round_),
        _build_disputes(round_),
        _build_decisions(round_),
    )
    return Document(
        title=f"{plan.project}: annotation round on {plan.release}",
        warning=_WARNING,
        parts=(Part(title=plan.release, sections=tuple(filter(None, sections)), labels=tuple(round_.questions)),),
    )


def _describe_plan(plan: Plan) -> str:
    shares = " with equal shares" if plan.allocation == "equal" else ""
    chosen = [f"of {', '.join(plan.configs)}"] if plan.configs else []
    chosen += [f"of each stratum of {', '.join(plan.strata)}{shares}"] if plan.strata else []
    chosen += [f"where {plan.where}"] if plan.where else []
    chosen += [f"excluding the rows of {', '.join(plan.exclude)}"] if plan.exclude else []
    chosen += [f"drawn as {' + '.join(map(str, plan.part_sizes))}"] if plan.parts else []
    gold = sum(bool(item.gold) for item in plan.items)
    rows = (
        f"{counted(len(plan.items), f'{plan.kind} row')} of {plan.release}{', '.join(['', *chosen])} (seed {plan.seed})"
    )
    extra = [f"{counted(gold, 'row')} with known answers"] if gold else []
    extra += ["The release's labels were shown as pre-filled answers"] if plan.prefill else []
    extra += ["Annotators could name the groups that they belong to"] if plan.groups else []
    people = counted(plan.overlap, "person", "people")
    return " ".join(f"{part}." for part in (f"{rows}, for {people} each: {', '.join(plan.questions)}", *extra))


# --- How far it is --------------------------------------------------------------------------------------------------


def _build_progress(round_: Round) -> Section:
    plan, rows = round_.plan, round_.rows
    answers = {item.row: len(rows.get(item.row, ())) for item in plan.items}
    done = sum(count >= plan.overlap for count in answers.values())
    skipped = sum(annotation.status == "skipped" for annotation in round_.annotations)
    days = sorted(annotation.updated[:10] for annotation in round_.annotations if annotation.updated)
    between = f", from {days[0]} to {days[-1]}" if days else ""
    total = counted(sum(answers.values()), "annotation")
    text = (
        f"{done:,} of {counted(len(answers), 'row')} have all {plan.overlap} answers; {total}"
        f" by {counted(len(round_.people), 'annotator')}{between}, {skipped:,} skipped."
    )
    spread = sorted(Counter(answers.values()).items())
    strata: dict[str, list[int]] = {}
    for item in plan.items:
        strata.setdefault(item.stratum or item.config, []).append(answers[item.row])
    parts = tuple(
        list_cells([name], len(counts), sum(n >= plan.overlap for n in counts), counts.count(0))
        for name, counts in sorted(strata.items())
    )
    by_answers = Table("Rows by answers", ("answers", "rows"), tuple(list_cells([str(n)], rows) for n, rows in spread))
    by_stratum = Table("By stratum", ("stratum", "rows", "with all answers", "with none"), parts, closed=True)
    return Section("Progress", (text,), tables=(by_answers, cap_table(by_stratum)))


# --- Each annotator beside the others, known answers, and time ------------------------------------------------------


def _build_raters(round_: Round) -> Section:
    figures = {(f.level, f.question): f for f in round_.agreement.by("annotator")}
    per_person = Counter(annotation.annotator for of_row in round_.rows.values() for annotation in of_row)
    skipped = Counter(a.annotator for a in round_.annotations if a.status == "skipped")
    rows, bars = [], []
    for person in round_.people:
        kappas = [figures.get((person, question)) for question in round_.questions]
        rows.append((*list_cells([person], per_person[person], skipped[person]), *map(_rater_cell, kappas)))
        bars.append(ForestRow(label=person, marks=list_marks(kappas)))
    if not any(bar.marks for bar in bars):
        return Section("Each annotator and the others")
    paragraph = (
        "Cross-kappa compares one annotator with all others who answered the same rows. An annotator who differs may "
        "still be right: look at the rows, and at known answers."
    )
    charts = plot_agreement(
        "Each annotator against the others: cross-kappa, with 95 % intervals", bars[: MOST_ROWS["full"]]
    )
    headings = ("annotator", "rows", "skipped", *round_.questions)
    table = cap_table(Table("Against the others", headings, tuple(rows)))
    return Section("Each annotator and the others", (paragraph,), charts, (table,))


def _rater_cell(figure: Figure | None) -> Cell:
    if figure is None:
        return Cell.number("")
    same = f"{figure.format_share(0)} agree, " if figure.same is not None else ""
    return Cell.number(figure.format_value(), f"{same}{counted(figure.items, 'row')}")


def _build_time(round_: Round) -> Section:
    seconds: dict[str, list[float]] = {}
    for of_row in round_.rows.values():
        for annotation in of_row:
            if annotation.seconds is not None:
                seconds.setdefault(annotation.annotator, []).append(annotation.seconds)
    everybody = [value for values in seconds.values() for value in values]
    if not everybody:
        return Section("Time")
    limit = _QUICK * median(everybody)
    rows = []
    for person, values in [("all", everybody), *sorted(seconds.items())]:
        low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [*values] * 3
        quick = sum(value < limit for value in values)
        half, total = f"{low:.1f} to {high:.1f} s", f"{sum(values) / 60:.1f} min"
        rows.append(list_cells([person], len(values), f"{middle:.1f} s", half, quick, total))
    paragraph = (
        "Seconds from opening a row to answering it. Medians are used because pauses count. Quick answers took less "
        f"than a third of the overall median ({limit:.1f} s). Sheets do not have times."
    )
    headings = ("annotator", "rows", "median", "middle half", "quick", "in all")
    return table_section("Time", [paragraph], [cap_table(Table("Time per row", headings, tuple(rows)))])


# --- Rows -----------------------------------------------------------------------------------------------------------


def _build_disputes(round_: Round) -> Section:
    rows = round_.rows
    decided = {decision.row: Cell(decision.state, decision.reason) for decision in round_.decisions}
    disputes = [
        (share, item, texts)
        for item in round_.plan.items
        for share, texts in [_dispute(rows.get(item.row, ()))]
        if texts
    ]
    disputes.sort(key=lambda dispute: -dispute[0])  # stable: of equal ones, in the order of the plan
    cells = tuple(
        (*name_cells(item.row), _sentences(item), Cell("; ".join(texts)), decided.get(item.row, Cell("not yet")))
        for _, item, texts in disputes
    )
    answered = sum(len(of_row) > 1 for of_row in rows.values())
    paragraph = (
        f"{counted(len(disputes), 'row')} of {answered:,} with two or more answers have different answers. Rows with "
        "the most disagreement come first. The marked word is in brackets."
    )
    headings = ("row", "sentences", "different answers", "decision")
    return table_section("Disputed rows", [paragraph], [cap_table(Table("Disputed rows", headings, cells))])


def _dispute(annotations: Sequence[Annotation]) -> tuple[float, list[str]]:
    """Return the share of pairs of answers that differ, over the questions with choices; and the answers that do."""
    keys = dict.fromkeys(key for annotation in annotations for key in annotation.answers if question_of(key).choices)
    pairs = different = 0
    texts = []
    for key in keys:
        counts = Counter(annotation.answers[key] for annotation in annotations if key in annotation.answers)
        n = counts.total()
        pairs += n * (n - 1) // 2
        different += (n * n - sum(count * count for count in counts.values())) // 2
        if len(counts) > 1:
            by_count = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
            texts.append(f"{key}: {', '.join(f'{answer} {count}' for answer, count in by_count)}")
    return (different / pairs if pairs else 0.0), texts


def _sentences(item: Item) -> Cell:
    return Cell(" / ".join(sentence.marked("[", "]") for sentence in item.sentences))


def _build_decisions(round_: Round) -> Section:
    if not round_.decisions:
        return Section("Decisions", ("Nothing is decided yet: run senseprobe annotate apply.",))
    items, counts = {item.row: item for item in round_.plan.items}, count_states(round_.decisions)
    summary = tuple((*list_cells([state], counts[state]), Cell(_MEANING[state])) for state in STATES)
    tables = [Table("Rows by decision", ("state", "rows", "meaning"), summary)]
    for state in ("reject", "undecided", "changed"):
        rows = tuple(
            (*name_cells(decision.row), _sentences(items[decision.row]), Cell(decision.reason))
            for decision in round_.decisions
            if decision.state == state and decision.row in items
        )
        if rows:
            tables.append(
                cap_table(Table(f"{state}: why", ("row", "sentences", "why"), rows, closed=state != "reject"))
            )
    return Section("Decisions", tuple(_describe_decisions(round_)), tables=tuple(tables))


def _describe_decisions(round_: Round) -> Iterator[str]:
    reported = sum(decision.reported for decision in round_.decisions)
    rules = f"By the rule {', '.join(round_.rules)}." if round_.rules else "This round does not have verdicts."
    report = f" {counted(reported, 'row')} reported by annotators of the targeted group." if reported else ""
    yield f"{rules}{report} All rows are in decisions.csv."
    rows = round_.rows
    later = [d.row for d in round_.decisions if d.state != "changed" and d.answers != len(rows.get(d.row, ()))]
    if later:
        yield f"The answers to {counted(len(later), 'row')} have changed since these decisions: apply again."
