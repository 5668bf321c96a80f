"""Sheets: a CSV file for each annotator to fill in with a spreadsheet, and reading it back.

A sheet shows what the interface shows, and no more: a row is identified by its number in the plan and the first
digits of the hash of what is shown, since ids and configs could tell a role.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from senseprobe.annotation.cells import Line, csv_bytes, read_cells
from senseprobe.annotation.label_studio.results import MAX_TEXT, clean, named_groups
from senseprobe.annotation.questions import CONSENT, GROUPS, ROLES, Question, controls, keys, question_of, questions_of
from senseprobe.annotation.records import Annotation, Item, Plan, Sentence
from senseprobe.errors import AnnotationError
from senseprobe.messages import counted, listed, printable, shortened
from senseprobe.records import Finding
from senseprobe.statistics.permutation import hash_draw

_ITEM, _CHECK = "item", "check"


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a sheet holds: annotations, and a finding for every cell that could not be read, with its reason."""

    annotations: tuple[Annotation, ...]
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class _SheetReader:
    """A sheet that is being read: the numbers of its columns, and the findings so far."""

    plan: Plan
    display_path: str
    columns: Mapping[str, int]
    findings: list[Finding] = field(default_factory=list)

    def note(self, line: Line, column: int, code: str, message: str) -> None:
        self.findings.append(
            Finding(path=self.display_path, line=line.number, column=column + 1, code=code, message=printable(message))
        )


def sheets(plan: Plan, annotators: Sequence[str]) -> dict[str, bytes]:
    """Return a CSV file for each annotator, by name; each item is in as many of them as the plan has answers to it.

    Annotators take turns, so that everybody shares items with others; the order of a sheet is drawn by the plan's seed.
    Raises AnnotationError where there are fewer annotators than answers to each item, one is named twice, or the plan
    shows the release's own labels.
    """
    if plan.prefill:
        raise AnnotationError("a sheet that showed the release's labels would answer with them: draw without them")
    if len(set(annotators)) < len(annotators):
        raise AnnotationError("an annotator is named twice")
    if len(annotators) < plan.overlap:
        people, answers = counted(len(annotators), "annotator"), counted(plan.overlap, "answer")
        raise AnnotationError(f"{people} cannot give {answers} to each item")
    numbers_of: dict[str, list[int]] = {name: [] for name in annotators}
    for number in range(len(plan.items)):
        for turn in range(plan.overlap):
            numbers_of[annotators[(number + turn) % len(annotators)]].append(number)
    return {name: _sheet(plan, _shuffled(plan, name, numbers)) for name, numbers in numbers_of.items()}


def _shuffled(plan: Plan, annotator: str, numbers: Sequence[int]) -> list[int]:
    return sorted(numbers, key=lambda number: hash_draw(plan.seed, "sheet", annotator, plan.items[number].row))


def _sheet(plan: Plan, numbers: Sequence[int]) -> bytes:
    sentences = [f"sentence {position}" for position in range(1, len(ROLES[plan.kind]) + 1)]
    names = [_heading(name, question) for name, question in _answered(plan).items()]
    extra = [f"{CONSENT} (yes: keep the groups that I name)", f"{GROUPS} (commas between them)"] if plan.groups else []
    rows = [_row(plan, number) for number in numbers]
    return csv_bytes([[_ITEM, _CHECK, *sentences, *_meaning_column(plan), *names, *extra], *rows])


def _answered(plan: Plan) -> dict[str, Question]:
    """Return the questions of a plan by the name of their column, which is that of their control."""
    positions = range(1, len(ROLES[plan.kind]) + 1)
    return {
        f"{question.id}-{position}" if position else question.id: question
        for question in questions_of(plan)
        for position in (positions if question.per_sentence else [0])
    }


def _heading(name: str, question: Question) -> str:
    """Return the head of a column: its name, and for annotators what is asked and which words are allowed."""
    allowed = f" [{' / '.join(question.choices)}]" if question.choices else ""
    return f"{name}: {question.text}{allowed}"


def _meaning_column(plan: Plan) -> list[str]:
    return ["meaning"] if "sense" in plan.questions else []


def _row(plan: Plan, number: int) -> list[str]:
    item = plan.items[number]
    meaning = [item.gloss or "(not asked)"] if "sense" in plan.questions else []
    open_ = [""] * (len(_answered(plan)) + (2 if plan.groups else 0))
    return [str(number + 1), _check(item), *map(_bracketed, item.sentences), *meaning, *open_]


def _check(item: Item) -> str:
    """Return the first digits of the hash of what is shown, behind a letter: ``12e45`` is a number to spreadsheets."""
    return f"c{item.content[:12]}"


def _bracketed(sentence: Sentence) -> str:
    """Return the sentence with its target in brackets."""
    if sentence.span is None:
        return sentence.text
    start, end = sentence.span
    return f"{sentence.text[:start]}[{sentence.text[start:end]}]{sentence.text[end:]}"


def read_sheet(plan: Plan, path: Path, annotator: str) -> Sheet:
    """Return the annotations of a sheet; a row without any answer gives none, and what cannot be read is a finding.

    Case and blanks around an answer do not matter, nor the order of rows and columns. An annotation's `id` is made of
    `annotator`, which is best a pseudonym already, and the row's id. Raises AnnotationError where the file cannot be
    read, or its columns are not those of the plan.
    """
    lines = read_cells(path)
    display_path = printable(str(path))
    if not lines:
        raise AnnotationError(f"{display_path}: is empty")
    reading = _SheetReader(plan, display_path, _columns(plan, lines[0], display_path))
    annotations: dict[str, Annotation] = {}
    for line in lines[1:]:
        annotation = _annotation(reading, line, annotator)
        if annotation and annotation.row in annotations:
            message = f"item {line.cell(reading.columns[_ITEM])} is there twice: only its first answers are taken"
            reading.note(line, reading.columns[_ITEM], "A104", message)
        elif annotation:
            annotations[annotation.row] = annotation
    if not annotations:
        _check_any(reading, len(lines) - 1)
    return Sheet(tuple(annotations.values()), tuple(reading.findings))


def _check_any(reading: _SheetReader, items: int) -> None:
    """Note that a sheet has no answers; raise AnnotationError where no item of it is as the plan has it."""
    if items and sum(finding.code in {"A101", "A102"} for finding in reading.findings) == items:
        raise AnnotationError(
            f"{reading.display_path}: none of {items} items is as this project shows it: is it another's?"
        )
    if not reading.findings:
        reading.findings.append(Finding(path=reading.display_path, code="A106", message="has no answers yet"))


def _columns(plan: Plan, header: Line, display_path: str) -> dict[str, int]:
    """Return the number of each column by name; columns that only show something may be missing."""
    names = [
        header.cell(number).partition(":")[0].partition(" (")[0].strip().lower() for number in range(len(header.cells))
    ]
    needed = [_ITEM, _CHECK, *_answered(plan), *([CONSENT, GROUPS] if plan.groups else [])]
    for name in needed:
        if names.count(name) != 1:
            what = "is missing" if name not in names else "is there twice"
            raise AnnotationError(f"{display_path}:{header.number}: column {name} {what}: expected {', '.join(needed)}")
    allowed = {*needed, "meaning", *(f"sentence {position}" for position in (1, 2))}
    if unexpected := [printable(shortened(name)) for name in names if name and name not in allowed]:
        raise AnnotationError(f"{display_path}:{header.number}: no question has the column {listed(unexpected)}")
    return {name: number for number, name in enumerate(names) if name}


def _annotation(reading: _SheetReader, line: Line, annotator: str) -> Annotation | None:
    """Return the annotation of a line; None where it has no answer, or belongs to no item."""
    item = _item(reading, line)
    if item is None:
        return None
    answers = dict(_answers(reading, line, item))
    groups = _groups(reading, line)
    if not answers and not groups:
        return None
    id_ = f"{annotator}/{item.row}"
    return Annotation(id=id_, row=item.row, content=item.content, annotator=annotator, answers=answers, groups=groups)


def _item(reading: _SheetReader, line: Line) -> Item | None:
    column, items = reading.columns[_ITEM], reading.plan.items
    text = line.cell(column).removesuffix(".0")  # as spreadsheets may write whole numbers
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= number <= len(items):
        reading.note(line, column, "A101", f"{shortened(text)!r} is not an item of the plan: 1 to {len(items)}")
        return None
    item, check = items[number - 1], reading.columns[_CHECK]
    if line.cell(check).lower() != _check(item):
        message = f"item {number} of this plan was shown otherwise: {_check(item)} is expected"
        reading.note(line, check, "A102", message)
        return None
    return item


def _answers(reading: _SheetReader, line: Line, item: Item) -> Iterator[tuple[str, str]]:
    """Yield the answers of a line by question key; a cell that is not an answer is noted and left out."""
    item_keys = keys(reading.plan, item)
    for name, key in controls(reading.plan, item).items():
        column, question = reading.columns[name], question_of(key)
        text = line.cell(column)
        if not text:
            continue
        if key not in item_keys:
            reading.note(line, column, "A103", f"{name} is not asked of this item")
        elif question.choices and text.lower() not in question.choices:
            allowed = ", ".join(question.choices)
            reading.note(line, column, "A103", f"{shortened(text)!r} is not an answer to {name}: expected {allowed}")
        elif len(text) > MAX_TEXT:
            reading.note(line, column, "A103", f"{len(text)} characters, at most {MAX_TEXT}")
        else:
            yield key, text.lower() if question.choices else clean(text)


def _groups(reading: _SheetReader, line: Line) -> tuple[str, ...]:
    """Return the groups that an annotator names, with consent; without it they are not read."""
    if not reading.plan.groups or not (text := line.cell(reading.columns[GROUPS])):
        return ()
    if line.cell(reading.columns[CONSENT]).lower() != "yes":
        reading.note(line, reading.columns[CONSENT], "A105", "groups are named without consent: they are not read")
        return ()
    named, left_out = named_groups(text)
    if left_out:
        message = f"groups left out, behind the first 20 or longer than 100 characters: {left_out}"
        reading.note(line, reading.columns[GROUPS], "A105", message)
    return named
