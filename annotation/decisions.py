"""The decision on each row: `decisions.csv`, the dataset's verdicts after new ones, and the facts for its card."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from senseprobe.annotation.agreement_figures import Agreement
from senseprobe.annotation.annotators import count_groups, is_pseudonym
from senseprobe.annotation.cells import csv_bytes, read_cells, write_file
from senseprobe.annotation.questions import questions_of, questions_of_some
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.annotation.rules import Rule
from senseprobe.document import Section, Table
from senseprobe.errors import AnnotationError, DeclarationError
from senseprobe.messages import counted, listed, printable, shortened
from senseprobe.records import Finding
from senseprobe.release import annotation_record as record
from senseprobe.release.verdicts import Verdict
from senseprobe.tables import UnreadableError, table_objects

STATES = ("reject", "keep", "undecided", "changed", "unanswered")
"""What becomes of a row; ``changed``: the answers are to other words than those of the release."""

STANDING = ("reject", "keep")  # states that are verdicts

Level = tuple[str, str, str]
"""A config, a slot or ``frame``, and its word or code; slot and word are empty for the whole config."""

_LISTED = {
    "reject": "rejected",
    "undecided": "undecided: they stay, without a verdict",
    "changed": "not decided, because people saw other words",
}
_MOST_ROWS = 20  # of a table that a terminal prints


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What becomes of a row, and why.

    - `state`: one of STATES; only those of STANDING become verdicts.
    - `reason`: what speaks against the row, or what is open.
    - `answers`: how many people answered.
    - `reported`: whether somebody of the targeted group would rather not have it used.
    - `contested`: whether people see the stereotype in the other sentence.
    """

    row: str
    state: str
    reason: str
    answers: int = 0
    reported: bool = False
    contested: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the decision with stable keys."""
        return asdict(self)


def count_states(decisions: Iterable[Decision]) -> dict[str, int]:
    """Return how many rows are in each state."""
    counts = Counter(decision.state for decision in decisions)
    return {state: counts[state] for state in STATES}


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A word or frame of which people rejected all `judged` rows; `rows`: ids of the others, None where too many."""

    level: Level
    judged: int
    rows: tuple[str, ...] | None = None

    def __str__(self) -> str:
        config, slot, word = self.level
        name = f"{config}, {slot}={word}" if slot else config
        return f"{printable(shortened(name))}: all {self.judged} judged rows were rejected"


@dataclass(frozen=True, kw_only=True, slots=True)
class Adjudication:
    """The decisions that follow from answers.

    - `decisions`: the decision on each row, in the order of the plan; `facts`: the round in `annotation.json`.
    - `verdicts`: the file of verdicts, which now has `total`; `reason`: why it is not in a dataset's folder, if so.
    - `changed`: the numbers of ``new``, ``turned`` and ``gone`` verdicts, compared with the earlier file.
    - `estimates`: estimates for the unjudged rows, including words and frames that `facts` omits.
    - `proposals`: words and frames that people always reject; `proposed`: the file of their rows, if requested.
    - `notes`: notes on a model that did not converge, groups that match no row, and verdicts of others.
    """

    decisions: tuple[Decision, ...]
    facts: record.Round
    verdicts: Path
    total: int
    changed: Mapping[str, int]
    reason: str = ""
    estimates: tuple[record.RejectionEstimate, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    proposed: Path | None = None
    notes: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The number of rows by decision, in a line."""
        return record.describe_decisions(self.facts)

    def as_dict(self) -> dict[str, Any]:
        """Return it with stable keys."""
        return {
            "facts": self.facts.model_dump(mode="json"),
            "verdicts": str(self.verdicts),
            "changed": dict(self.changed),
            "notes": list(self.notes),
            "estimates": [estimate.model_dump(mode="json") for estimate in self.estimates],
            "proposals": [asdict(proposal) for proposal in self.proposals],
            "rows": [decision.as_dict() for decision in self.decisions],
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the decisions, the estimates for other rows, and the place of the verdicts."""
        changed = ", ".join(f"{count} {what}" for what, count in self.changed.items() if count) or "unchanged"
        total = f"{counted(self.total, 'verdict')} in {self.verdicts} ({changed}); annotation.json is next to it"
        written = Section("Verdicts", (total, self.reason or "`senseprobe build` omits rejected rows"))
        return (_decided_section(self), _estimates_section(self), written)


def _decided_section(result: Adjudication) -> Section:
    protocol = result.facts.protocol
    numbers = ", ".join(f"{name} {value:g}" for name, value in protocol.thresholds.items())
    listed_rows = {title: [d for d in result.decisions if d.state == state] for state, title in _LISTED.items()}
    listed_rows["reported by annotators of the targeted group"] = [d for d in result.decisions if d.reported]
    tables = (
        Table.of_texts(
            {"row": "name", "why": "words"},
            ((decision.row, decision.reason) for decision in decisions[:_MOST_ROWS]),
            title,
            note=f"… and {len(decisions) - _MOST_ROWS} more: decisions.csv lists all"
            if len(decisions) > _MOST_ROWS
            else "",
        )
        for title, decisions in listed_rows.items()
    )
    notes = (f"note: {note}" for note in result.notes)
    return Section(
        "Decisions",
        (f"{protocol.rule} ({numbers})", result.description, *notes),
        tables=tuple(table for table in tables if table.rows),
    )


def _estimates_section(result: Adjudication) -> Section:
    """Return what decisions say of the rows that nobody judged, and which words and frames people reject throughout."""
    protocol, count = result.facts.protocol, len(result.decisions)
    gold = f", {protocol.gold} of them with known answers, which do not count below" if protocol.gold else ""
    texts = [f"{counted(count, 'row')} in the sample{gold}; estimates for the unjudged rows:"]
    configs = [estimate for estimate in result.estimates if not estimate.slot]
    rejected = [estimate for estimate in result.estimates if estimate.slot and estimate.rejected]
    others = [estimate for estimate in rejected if not estimate.has_few_judged]
    if few := len(rejected) - len(others):
        texts.append(
            f"{counted(few, 'word or frame', 'words and frames')} with fewer than 10 judged rows: see the card"
        )
    for proposal in result.proposals:
        rest = f"; {counted(len(proposal.rows), 'other row')}" if proposal.rows is not None else ""
        texts.append(f"{proposal}{rest}")
    if result.proposed and not result.proposals:
        texts.append("none of the words and frames was rejected in all its rows, so there are no proposals")
    elif result.proposed:
        texts.append(
            f"these are proposals only: copy the lines of {result.proposed} that you agree with to verdicts.csv"
        )
        if any(proposal.rows is None for proposal in result.proposals):
            texts.append("a proposal without a number has too many other rows: remove the word from its list")
    elif result.proposals:
        texts.append("`--propose` writes the unjudged rows of these words and frames")
    kinds = dict(zip(record.RejectionEstimate.columns, ("name", *["number"] * 5), strict=True))
    rows = []
    for estimate in (*configs, *others[:_MOST_ROWS]):
        name, judged, rejections, _, rest, _ = cells = estimate.cells()
        few_cells = (name, judged, rejections, "on the card", rest, "on the card")  # the card has the rest
        rows.append(few_cells if estimate.has_few_judged else cells)
    more = len(others) - _MOST_ROWS
    note = f"… and {more} more words and frames: --json lists all" if more > 0 else ""
    tables = (Table.of_texts(kinds, rows, note=note),) if configs else ()
    return Section("Unjudged rows", tuple(texts), tables=tables)


DECISIONS = "decisions.csv"

_COLUMNS = ("row", "state", "reason", "answers", "contested", "reported", "rule")
_FLAGS = {False: "false", True: "true"}


def write_decisions(folder: Path, decisions: Iterable[Decision], ours: Collection[str], rule: str) -> None:
    """Write what became of each row, in the order of the plan; `ours` are the rows whose verdict is this project's."""
    lines = [_COLUMNS]
    for decision in decisions:
        flags = _FLAGS[decision.contested], _FLAGS[decision.reported]
        start = decision.row, decision.state, decision.reason, str(decision.answers)
        lines.append((*start, *flags, rule if decision.row in ours else ""))
    write_file(folder / DECISIONS, csv_bytes(lines))


def list_decisions(folder: Path) -> tuple[list[Decision], list[str]]:
    """Return what `write_decisions` wrote, in its order, and the names of the rules."""
    rows = _read_rows(folder / DECISIONS)
    if unexpected := next((row for row in rows if row["state"] not in STATES or not row["answers"].isdecimal()), None):
        path, line = printable(str(folder / DECISIONS)), printable(shortened(unexpected["row"]))
        raise AnnotationError(f"{path}: {line} differs from what `annotate apply` wrote: remove the file")
    decisions = [
        Decision(
            row=row["row"],
            state=row["state"],
            reason=row["reason"],
            answers=int(row["answers"]),
            reported=row["reported"] == _FLAGS[True],
            contested=row["contested"] == _FLAGS[True],
        )
        for row in rows
    ]
    return decisions, sorted({row["rule"] for row in rows} - {""})


def read_decisions(folder: Path, source: str) -> tuple[dict[str, Verdict], frozenset[str]]:
    """Return what `write_decisions` wrote for rows of the release `source`: own verdicts by row, and reported rows."""
    rows = _read_rows(folder / DECISIONS)
    reported = frozenset(row["row"] for row in rows if row["reported"] == _FLAGS[True])
    verdicts = {
        row["row"]: Verdict(
            id=row["row"],
            verdict=row["state"],
            rule=row["rule"],
            source=source,
            reason=row["reason"],
            reported=row["row"] in reported,
        )
        for row in rows
        if row["rule"]
    }
    return verdicts, reported


def read_undecided(folder: Path) -> frozenset[str]:
    """Return the rows that the last `write_decisions` left undecided; raise AnnotationError where there was none."""
    path = folder / DECISIONS
    if not path.exists():
        raise AnnotationError(
            f"{printable(str(path))} is missing: run `annotate apply` first, which finds the undecided rows"
        )
    return frozenset(row["row"] for row in _read_rows(path) if row["state"] == "undecided")


def _read_rows(path: Path) -> list[dict[str, str]]:
    """Return the lines of `decisions.csv` by column; none where there is no file."""
    if not path.exists():
        return []
    try:
        return [row for _, row in table_objects(read_cells(path), _COLUMNS)]
    except UnreadableError:
        raise AnnotationError(f"{printable(str(path))} differs from what `annotate apply` wrote: remove it") from None


@dataclass(frozen=True, slots=True)
class MergedVerdicts:
    """A file's verdicts, sorted by id; of which rows they are this project's (`ours`), and of which not (`others`)."""

    verdicts: tuple[Verdict, ...]
    ours: frozenset[str]
    others: frozenset[str]


def merge_verdicts(
    before: Mapping[str, Verdict], new: Iterable[Verdict], ours: Mapping[str, Verdict], display_path: str
) -> MergedVerdicts:
    """Return the verdicts of a file after new ones were put into it; `before` is what it has, by id.

    `ours` is what this project put there before: it is replaced, also where nothing is decided of a row any more. What
    somebody else put there, or changed by hand, stays. Raises DeclarationError, with every line, where one of those
    says the opposite.
    """
    merged = {name: verdict for name, verdict in before.items() if name not in ours or ours[name].as_written != verdict}
    others, findings = frozenset(merged), []
    for verdict in new:
        standing = merged.setdefault(verdict.id, verdict)
        if standing.verdict != verdict.verdict:
            answers = f"answers to {verdict.source} say {verdict.verdict} ({verdict})"
            message = f"{printable(verdict.id)} has the verdict {standing.verdict} ({standing}), but {answers}"
            hint = "nothing was written: remove the line if you agree with the new verdict"
            findings.append(
                Finding(path=display_path, line=standing.line, column=1, code="E202", message=message, hint=hint)
            )
    if findings:
        raise DeclarationError(findings)
    verdicts = tuple(sorted(merged.values(), key=lambda verdict: verdict.id))
    return MergedVerdicts(verdicts, frozenset(merged) - others, others)


def count_changes(before: Mapping[str, Verdict], after: Iterable[Verdict]) -> dict[str, int]:
    """Return how many verdicts are ``new``, ``turned`` round and ``gone`` between two states of a file."""
    now = {verdict.id: verdict.verdict for verdict in after}
    return {
        "new": len(now.keys() - before.keys()),
        "turned": sum(before[name].verdict != now[name] for name in now.keys() & before.keys()),
        "gone": len(before.keys() - now.keys()),
    }


def summarise_round(
    plan: Plan,
    annotations: Sequence[Annotation],
    decisions: Sequence[Decision],
    rule: Rule,
    agreement: Agreement | None = None,
    estimates: Sequence[record.RejectionEstimate] = (),
) -> record.Round:
    """Return the facts of a project for `annotation.json`; no name, no free text, and no group of fewer than five."""
    submitted = [annotation for annotation in annotations if annotation.status == "submitted"]
    people = {annotation.annotator for annotation in submitted}
    per_row = Counter(row for row, _ in {(annotation.row, annotation.annotator) for annotation in submitted})
    pseudonyms = all(is_pseudonym(annotation.annotator) for annotation in annotations)
    platforms = {"CSV files" if annotation.of_sheet else "Label Studio" for annotation in annotations}
    # The rows that the targeted group reported count a second time, by other names.
    reported = [decision for decision in decisions if decision.reported]
    verdicts = {state: count for state, count in count_states(decisions).items() if count or state in STANDING}
    extra = {record.REPORTED: len(reported), record.STAYED: sum(decision.state != "reject" for decision in reported)}
    verdicts |= {name: count for name, count in extra.items() if count}
    return record.Round(
        platform=", ".join(sorted(platforms, reverse=True)) or "Label Studio",
        project=plan.project,
        release=plan.release,
        protocol=_protocol(plan, rule),
        answered=len(per_row),
        annotations=per_row.total(),
        least=min(per_row.values(), default=0),
        most=max(per_row.values(), default=0),
        skipped=sum(annotation.status == "skipped" for annotation in annotations),
        annotators=record.AnnotatorFacts(count=len(people), pseudonyms=pseudonyms, groups=count_groups(submitted)),
        agreement=_agreement_facts(agreement) if agreement else [],
        verdicts=verdicts,
        estimates=[*estimates[: record.MOST_ESTIMATES]],
    )


def _protocol(plan: Plan, rule: Rule) -> record.Protocol:
    some = questions_of_some(plan)
    return record.Protocol(
        questions=[
            record.QuestionFact(
                id=question.id,
                text=question.text + (f" (of {listed(some[question.id])})" if question.id in some else ""),
                choices=list(question.choices),
            )
            for question in questions_of(plan)
        ],
        items=len(plan.items),
        overlap=plan.overlap,
        gold=sum(bool(item.gold) for item in plan.items),
        seed=plan.seed,
        strata=list(map(printable, plan.strata)),
        where=printable(shortened(plan.where)).strip(),
        allocation="" if plan.allocation == "proportional" else plan.allocation,
        exclude=list(map(printable, plan.exclude)),
        prefill=plan.prefill,
        rule=str(rule),
        thresholds=rule.numbers(),
    )


def _agreement_facts(agreement: Agreement) -> list[record.AgreementFact]:
    """Return the agreement on each question, over all sentences and of each alone: they may differ much."""
    return [
        record.AgreementFact(
            question=f"{figure.question}.{figure.level}" if figure.level else figure.question,
            alpha=figure.value,
            low=figure.low,
            high=figure.high,
            same=figure.same,
            items=figure.items,
            answers=figure.answers,
        )
        for figure in (*agreement.by("all"), *agreement.by("sentence"))
    ]
