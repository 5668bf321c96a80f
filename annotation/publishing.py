"""All single answers as they may be published: under pseudonyms, without who is of which group, or anybody's words."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from senseprobe.annotation.cells import csv_bytes
from senseprobe.annotation.harm import QUESTION
from senseprobe.annotation.planfile import NAME, dump
from senseprobe.annotation.pseudonyms import SHEET, is_pseudonym
from senseprobe.annotation.questions import QUESTIONS, asked
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.annotation.summary import group_counts
from senseprobe.errors import AnnotationError
from senseprobe.files import whole_folder
from senseprobe.release.markdown import prose
from senseprobe.wording import printable

__all__ = ["Published", "publish"]

_COLUMNS: Mapping[str, str] = {
    "row": "the row's id in the release",
    "content": "sha256 of what was shown of it",
    "question": "what was asked: see below",
    "role": "of which sentence of the row; empty where the question is of the row",
    "annotator": "a pseudonym, a keyed hash whose key is not published; empty where the row was reported",
    "value": "the answer",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """What was written to a folder: so many answers of so many annotators; and what was left out, by what it is."""

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
    reported: Collection[str],
    name_of: Callable[[str], str],
    free_text: bool = False,
) -> Published:
    """Write `answers.csv`, `plan.json` and a README into the folder `out`, which must not exist.

    - `reported`: rows that annotators of the targeted group reported, as verdicts say. Who answered them is not told;
      where there are any, `withhold` is left out of all rows, as who minds another row is not of that row's group.
    - `name_of`: gives a pseudonym to annotators who are still under their names.
    - `free_text`: whether answers in words of one's own are published.

    AnnotationError where nothing was answered, or the folder is there or cannot be written.
    """
    submitted = [each for each in annotations if each.status == "submitted"]
    if not submitted:
        raise AnnotationError("nobody has answered yet: there is nothing to release")
    told = [line for each in submitted for line in _lines(each, "" if each.row in reported else _who(each, name_of))]
    reasons = [_reason(line[2], any_reported=bool(reported), free_text=free_text) for line in told]
    kept = [line for line, reason in zip(told, reasons, strict=True) if not reason]
    left_out = dict(sorted(Counter(filter(None, reasons)).items()))
    people = {_who(each, name_of) for each in submitted}
    page = "\n".join(_page(plan, submitted, licence, len(people), left_out)) + "\n"
    files = {"answers.csv": csv_bytes([tuple(_COLUMNS), *sorted(kept)]), NAME: dump(plan), "README.md": page.encode()}
    _write(out, files)
    return Published(folder=out, answers=len(kept), annotators=len(people), left_out=left_out)


def _who(annotation: Annotation, name_of: Callable[[str], str]) -> str:
    """The pseudonym of an annotator, also of one who was taken in by name."""
    name = annotation.annotator
    return name if is_pseudonym(name) else name_of(f"{SHEET}{name}" if annotation.of_sheet else name)


def _lines(annotation: Annotation, who: str) -> Iterator[tuple[str, ...]]:
    for key, value in annotation.answers.items():
        question, _, role = key.partition(".")
        yield annotation.row, annotation.content, question, role, who, value


def _reason(question: str, *, any_reported: bool, free_text: bool) -> str:
    """Why an answer is not published; empty where it is."""
    if question not in QUESTIONS:
        return "answers to what is no question"
    if not QUESTIONS[question].choices and not free_text:
        return "answers in words of one's own"
    if question == QUESTION and any_reported:
        return f"answers to `{QUESTION}`, as the targeted group reported rows"
    return ""


def _page(
    plan: Plan, annotations: Sequence[Annotation], licence: str, people: int, left_out: Mapping[str, int]
) -> Iterator[str]:
    yield f"# What people said of {plan.release}\n"
    rows = len({each.row for each in annotations})
    yield f"Project {prose(plan.project)}: answers of {people} annotators on {rows} of {len(plan.items)} rows, all of"
    yield "them single. The sentences state stereotypes, which are wrong and hurtful.\n"
    yield f"Licence: {licence or 'none is stated'}, as the release's. `plan.json` says what was asked, of which rows,"
    yield "in which order.\n"
    yield from _table("column", "meaning", _COLUMNS.items())
    questions = asked(plan)
    yield from _table("question", "as it was asked", ((each.id, each.text) for each in questions))
    if left_out:
        yield f"Left out: {'; '.join(f'{count} {what}' for what, count in left_out.items())}.\n"
    if groups := group_counts(annotations):
        told = ", ".join(f"{prose(group)} ({count})" for group, count in groups.items())
        yield f"Groups that five annotators or more said to belong to: {told}.\n"
    yield "Pseudonyms are not anonymity: do not try to find out who is who."


def _table(first: str, second: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"| {first} | {second} |"
    yield "|---|---|"
    yield from (f"| `{name}` | {prose(text)} |" for name, text in rows)
    yield ""


def _write(out: Path, files: Mapping[str, bytes]) -> None:
    try:
        with whole_folder(out) as partial:
            for name, data in files.items():
                (partial / name).write_bytes(data)
    except FileExistsError:
        raise AnnotationError(f"{printable(str(out))} exists: answers are released into a new folder") from None
    except OSError as error:
        raise AnnotationError(f"{printable(str(out))} cannot be written: {error.strerror}") from None
