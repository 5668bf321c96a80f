"""`decisions.csv`: what became of each row, and which lines of the dataset's verdicts are this project's.

New verdicts beside those that a dataset has already: of other releases and projects, of readers' disputes.

What a card says of an annotation project: who was asked what, how many answered, what was decided.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from senseprobe.annotation.adjudication import Decision, states
from senseprobe.annotation.cells import csv_bytes, read_cells
from senseprobe.annotation.questions import asked
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.annotation.rules import Rule
from senseprobe.atomic_files import write_whole
from senseprobe.errors import AnnotationError, DeclarationError
from senseprobe.messages import printable, shortened
from senseprobe.records import Finding
from senseprobe.release.annotation_record import (
    FEWEST_IN_GROUP,
    REPORTED,
    STAYED,
    AgreementFact,
    AnnotatorFacts,
    Protocol,
    QuestionFact,
    Round,
)
from senseprobe.release.verdicts import Verdict

DECISIONS = "decisions.csv"

_COLUMNS = ("row", "state", "reason", "answers", "contested", "reported", "rule")
_FLAGS = {False: "false", True: "true"}


@dataclass(frozen=True, slots=True)
class Decided:
    """What a project decided the last time.

    - `verdicts`: by row, those that it put into the dataset's file; not those that somebody else had put there.
    - `reported`: the rows that the targeted group reported.
    """

    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    reported: frozenset[str] = frozenset()


def write_decisions(folder: Path, decisions: Iterable[Decision], put: Collection[str], rule: str) -> None:
    """Write what became of each row, in the order of the plan; of those in `put` the `rule` made a verdict of ours.

    AnnotationError where it cannot be written.
    """
    path = folder / DECISIONS
    told = (_cells(each, rule if each.row in put else "") for each in decisions)
    try:
        write_whole(path, csv_bytes([_COLUMNS, *told]))
    except OSError as error:
        raise AnnotationError(f"{printable(str(path))} cannot be written: {error.strerror}") from None


def _cells(decision: Decision, rule: str) -> tuple[str, ...]:
    flags = _FLAGS[decision.contested], _FLAGS[decision.reported]
    return decision.row, decision.state, decision.reason, str(decision.answers), *flags, rule


def read_decisions(folder: Path, source: str) -> Decided:
    """What `write_decisions` wrote for rows of the release `source`; nothing where there is no file.

    AnnotationError where it is another file.
    """
    path = folder / DECISIONS
    if not path.exists():
        return Decided()
    lines = [line.cells for line in read_cells(path)]
    if lines[:1] != [_COLUMNS] or any(len(cells) != len(_COLUMNS) for cells in lines):
        raise AnnotationError(f"{printable(str(path))} is not as `annotate apply` wrote it: remove it")
    rows = [dict(zip(_COLUMNS, cells, strict=True)) for cells in lines[1:]]
    made = (
        Verdict(id=row["row"], verdict=row["state"], rule=row["rule"], source=source, reason=row["reason"])
        for row in rows
        if row["rule"]
    )
    return Decided(
        verdicts={each.id: each for each in made},
        reported=frozenset(row["row"] for row in rows if row["reported"] == _FLAGS[True]),
    )


@dataclass(frozen=True, slots=True)
class Merged:
    """A file's verdicts, sorted by id; of which rows they are this project's (`put`), and of which not (`others`)."""

    verdicts: tuple[Verdict, ...]
    put: frozenset[str]
    others: frozenset[str]


def merged(there: Mapping[str, Verdict], new: Iterable[Verdict], own: Mapping[str, Verdict], shown: str) -> Merged:
    """The verdicts of a file after new ones were put to it.

    - `there`: what the file has, by id; `shown` is what messages call it.
    - `own`: what this project put there before, by id: it is replaced, also where nothing is decided of a row any more.
      What somebody else put there, or changed by hand, stays.

    Raises DeclarationError, with every line, where one of those that stay says the opposite.
    """
    kept = {name: each for name, each in there.items() if name not in own or own[name].as_written != each}
    others, findings = frozenset(kept), []
    for each in new:
        before = kept.setdefault(each.id, each)
        if before.verdict != each.verdict:
            findings.append(_conflict(before, each, shown))
    if findings:
        raise DeclarationError(findings)
    verdicts = tuple(sorted(kept.values(), key=lambda each: each.id))
    return Merged(verdicts, frozenset(kept) - others, others)


def differing(before: Mapping[str, Verdict], after: Iterable[Verdict]) -> dict[str, int]:
    """How many verdicts are ``new``, ``turned`` round and ``gone`` between two states of a file."""
    now = {each.id: each.verdict for each in after}
    return {
        "new": len(now.keys() - before.keys()),
        "turned": sum(before[name].verdict != now[name] for name in now.keys() & before.keys()),
        "gone": len(before.keys() - now.keys()),
    }


def _conflict(before: Verdict, now: Verdict, shown: str) -> Finding:
    message = f"{printable(now.id)} is {before.verdict} by {before}; answers to {now.source} say {now.verdict} ({now})"
    hint = "nothing was written: remove the line if you stand by the new one"
    return Finding(path=shown, line=before.line, column=1, code="E202", message=message, hint=hint)


def round_of(
    plan: Plan,
    annotations: Sequence[Annotation],
    decisions: Sequence[Decision],
    rule: Rule,
    *,
    platform: str,
    pseudonyms: bool = True,
    agreement: Sequence[AgreementFact] = (),
) -> Round:
    """The facts of a project for `annotation.json`; no name, no free text, and no group of fewer than five."""
    submitted = [each for each in annotations if each.status == "submitted"]
    people = {each.annotator for each in submitted}
    per_row = Counter(row for row, _ in {(each.row, each.annotator) for each in submitted})
    return Round(
        platform=platform,
        project=plan.project,
        release=plan.release,
        protocol=_protocol(plan, rule),
        answered=len(per_row),
        annotations=per_row.total(),
        least=min(per_row.values(), default=0),
        most=max(per_row.values(), default=0),
        skipped=sum(each.status == "skipped" for each in annotations),
        annotators=AnnotatorFacts(count=len(people), pseudonyms=pseudonyms, groups=group_counts(submitted)),
        agreement=list(agreement),
        verdicts=_verdicts(decisions),
    )


def _protocol(plan: Plan, rule: Rule) -> Protocol:
    questions = [QuestionFact(id=each.id, text=each.text, choices=list(each.choices)) for each in asked(plan)]
    return Protocol(
        questions=questions,
        items=len(plan.items),
        overlap=plan.overlap,
        gold=sum(bool(item.gold) for item in plan.items),
        seed=plan.seed,
        strata=list(map(printable, plan.strata)),
        where=printable(shortened(plan.where)).strip(),
        prefill=plan.prefill,
        rule=str(rule),
        thresholds=rule.numbers(),
    )


def _verdicts(decisions: Iterable[Decision]) -> dict[str, int]:
    """How many rows became what; those that the targeted group reported are counted again, under their own names."""
    told = [*decisions]
    reported = [each for each in told if each.reported]
    counts = {state: count for state, count in states(told).items() if count or state in {"reject", "keep"}}
    again = {REPORTED: len(reported), STAYED: sum(each.state != "reject" for each in reported)}
    return counts | {what: count for what, count in again.items() if count}


def group_counts(annotations: Iterable[Annotation]) -> dict[str, int]:
    """How many annotators named each group, in whatever case, where they are five or more."""
    named = {(each.annotator, _plain(group)) for each in annotations for group in each.groups}
    counts = Counter(group for _, group in sorted(named) if group)
    return {group: count for group, count in sorted(counts.items()) if count >= FEWEST_IN_GROUP}


def _plain(group: str) -> str:
    """The name of a group in lower case, in one line of 200 characters at most."""
    signs = "".join(sign if sign.isprintable() else " " for sign in group.casefold())
    return " ".join(signs.split())[:200].strip()
