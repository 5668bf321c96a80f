"""All single answers in a form that may be published: with pseudonyms, without groups and free text."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from senseprobe.annotation.annotators import QUESTION, SHEET, count_groups, is_pseudonym
from senseprobe.annotation.cells import csv_bytes
from senseprobe.annotation.plan_file import NAME, dump
from senseprobe.annotation.project_folder import check_outside
from senseprobe.annotation.questions import QUESTIONS, questions_of
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.atomic_files import write_new_folder
from senseprobe.errors import AnnotationError
from senseprobe.messages import counted
from senseprobe.release.markup import escape_markdown

_COLUMNS: Mapping[str, str] = {
    "row": "the row's id in the release",
    "content": "sha256 of the text that was shown",
    "question": "the question (see below)",
    "role": "the sentence of the row; empty for a question about the whole row",
    "annotator": "a pseudonym (keyed hash; the key is not published); empty if it could reveal who reported rows",
    "value": "the answer",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Publication:
    """The folder that was written, how many answers and annotators it has, and what was left out, by kind."""

    folder: Path
    answers: int
    annotators: int
    left_out: Mapping[str, int]


def publish(
    out: Path,
    plan: Plan,
    annotations: Sequence[Annotation],
    *,
    licence: str,
    reported: bool,
    name_of: Callable[[str], str],
    free_text: bool = False,
) -> Publication:
    """Write `answers.csv`, `plan.json` and a README into the folder `out`, which must not exist.

    - `reported`: whether annotators of the targeted group reported rows, as verdicts say. Then `withhold` is left out,
      and no answer has a pseudonym unless all annotators answered the same rows: who answered the reported ones, and
      who minds others, would tell who is of that group.
    - `name_of`: gives a pseudonym to annotators who are still under their names.
    - `free_text`: whether answers in words of one's own are published.

    Raises AnnotationError where nothing was answered, or the folder lies in a release, and SenseprobeError where it
    exists or cannot be written.
    """
    check_outside(out)
    submitted = [annotation for annotation in annotations if annotation.status == "submitted"]
    if not submitted:
        raise AnnotationError("nobody has answered yet, so there is nothing to release")
    rows: dict[str, set[str]] = {}
    for annotation in submitted:
        rows.setdefault(annotation.annotator, set()).add(annotation.row)
    # Where all annotators answered the same rows, nobody is known by which those are.
    named = not reported or len({frozenset(answered) for answered in rows.values()}) == 1
    people, lines, reasons = set(), [], Counter[str]()
    for annotation in submitted:
        who = pseudonym_of(annotation, name_of)
        people.add(who)
        for key, value in annotation.answers.items():
            question, _, role = key.partition(".")
            if reason := _reason(question, reported=reported, free_text=free_text):
                reasons[reason] += 1
            else:
                lines.append((annotation.row, annotation.content, question, role, who if named else "", value))
    left_out = dict(sorted(reasons.items()))
    left_out |= {} if named else {"pseudonyms, because the targeted group reported rows": len(lines)}
    files = {
        "answers.csv": csv_bytes([tuple(_COLUMNS), *sorted(lines)]),
        NAME: dump(plan),
        "README.md": ("\n".join(_page(plan, submitted, licence, len(people), left_out)) + "\n").encode(),
    }
    write_new_folder(out, files)
    return Publication(folder=out, answers=len(lines), annotators=len(people), left_out=left_out)


def pseudonym_of(annotation: Annotation, name_of: Callable[[str], str]) -> str:
    """Return the pseudonym of an annotator, also of one who was taken in by name."""
    name = annotation.annotator
    return name if is_pseudonym(name) else name_of(f"{SHEET}{name}" if annotation.of_sheet else name)


def _reason(question: str, *, reported: bool, free_text: bool) -> str:
    """Return why an answer is not published; empty where it is."""
    if question not in QUESTIONS:
        return "answers to unknown questions"
    if not QUESTIONS[question].choices and not free_text:
        return "free-text answers"
    if question == QUESTION and reported:
        return f"answers to `{QUESTION}`, because the targeted group reported rows"
    return ""


def _page(
    plan: Plan, annotations: Sequence[Annotation], licence: str, people: int, left_out: Mapping[str, int]
) -> Iterator[str]:
    yield f"# Annotations of {plan.release}\n"
    rows = len({annotation.row for annotation in annotations})
    answered = f"answers of {counted(people, 'annotator')} to {rows} of {counted(len(plan.items), 'row')}"
    yield f"Project {escape_markdown(plan.project)}: {answered}. Each line of `answers.csv` has one answer."
    yield "The sentences state stereotypes, which are wrong and hurtful.\n"
    yield f"Licence: {licence or 'not stated'}, the same as that of the release. `plan.json` has the questions, the"
    yield "rows and their order.\n"
    yield from _table("column", "meaning", _COLUMNS.items())
    yield from _table("question", "wording", ((question.id, question.text) for question in questions_of(plan)))
    if left_out:
        yield f"Omitted: {'; '.join(f'{count} {what}' for what, count in left_out.items())}.\n"
    if groups := count_groups(annotations):
        names = ", ".join(f"{escape_markdown(group)} ({count})" for group, count in groups.items())
        yield f"Self-reported groups of at least five annotators: {names}.\n"
    yield "Pseudonyms do not guarantee anonymity: do not try to identify annotators."


def _table(first: str, second: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"| {first} | {second} |"
    yield "|---|---|"
    yield from (f"| `{name}` | {escape_markdown(text)} |" for name, text in rows)
    yield ""
