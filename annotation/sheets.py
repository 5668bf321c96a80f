"""Sheets: a CSV file for each annotator to fill in with a spreadsheet, and reading it back.

A sheet shows what the interface shows, and no more: a row is identified by its number in the plan and the first
digits of the hash of what is shown, since ids and configs could tell a role.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from senseprobe.annotation.annotators import named_groups
from senseprobe.annotation.cells import csv_bytes, read_cells
from senseprobe.annotation.questions import (
    CONSENT,
    GROUPS,
    ROLES,
    Question,
    controls,
    keys,
    question_of,
    questions_of,
    questions_of_config,
)
from senseprobe.annotation.records import MAX_TEXT, Annotation, Item, Plan, clean
from senseprobe.errors import AnnotationError
from senseprobe.messages import counted, listed, printable, shortened
from senseprobe.records import Finding
from senseprobe.statistics.permutation import hash_draw
from senseprobe.tables import CsvRow

_ITEM, _CHECK = "item", "check"

EMPTY_CELL = "(not asked)"  # in the cell of what is asked of other rows only


def sheets(plan: Plan, annotators: Sequence[str], start: int = 0) -> dict[str, bytes]:
    """Return a CSV file for each annotator, by name; each item is in as many of them as the plan has answers to it.

    `start` is the number of items, the first of the plan, that are in none of them.
    Annotators take turns, so that everybody shares items with others; the order of a sheet is drawn by the plan's seed.
    """
    _check_prefill(plan)
    if len(set(annotators)) < len(annotators):
        raise AnnotationError("an annotator is named twice")
    if len(annotators) < plan.overlap:
        people, answers = counted(len(annotators), "annotator"), counted(plan.overlap, "answer")
        raise AnnotationError(f"{people} cannot give {answers} for each item: ask more people, or lower the overlap")
    size, items = len(annotators), range(start, len(plan.items))
    return {
        name: _sheet(plan, name, [number for number in items if (turn - number) % size < plan.overlap])
        for turn, name in enumerate(annotators)
    }


def sheet_of(plan: Plan, annotator: str, rows: Collection[str]) -> bytes:
    """Return a CSV file of some rows of a plan, for one more annotator."""
    _check_prefill(plan)
    return _sheet(plan, annotator, [number for number, item in enumerate(plan.items) if item.row in rows])


def _check_prefill(plan: Plan) -> None:
    if plan.prefill:
        raise AnnotationError("sheets cannot show the release's labels, which would count as answers: omit --prefill")


def _sheet(plan: Plan, annotator: str, numbers: Sequence[int]) -> bytes:
    sentences = [f"sentence {position}" for position in range(1, len(ROLES[plan.kind]) + 1)]
    meaning = ["meaning"] if "sense" in plan.questions else []
    answered = _answered(plan)
    questions = [
        f"{name}: {question.text}" + (f" [{' / '.join(question.words)}]" if question.choices else "")
        for name, question in answered.items()
    ]
    extra = [f"{CONSENT} (yes: store the groups that I name)", f"{GROUPS} (separated by commas)"] if plan.groups else []
    rows = [[_ITEM, _CHECK, *sentences, *meaning, *questions, *extra]]
    for number in sorted(numbers, key=lambda number: hash_draw(plan.seed, "sheet", annotator, plan.items[number].row)):
        item = plan.items[number]
        marked = [sentence.marked("[", "]") for sentence in item.sentences]
        glosses = [item.gloss or EMPTY_CELL] if meaning else []
        of_config = questions_of_config(plan, item.config)
        blanks = ["" if question.id in of_config else EMPTY_CELL for question in answered.values()]
        rows.append([str(number + 1), _check(item), *marked, *glosses, *blanks, *[""] * len(extra)])
    return csv_bytes(rows)


def _answered(plan: Plan) -> dict[str, Question]:
    """Return the questions of a plan by the name of their column, which is that of their control."""
    positions = range(1, len(ROLES[plan.kind]) + 1)
    return {
        f"{question.id}-{position}" if position else question.id: question
        for question in questions_of(plan)
        for position in (positions if question.per_sentence else [0])
    }


def _check(item: Item) -> str:
    """Return the first digits of the hash of what is shown, behind a letter: ``12e45`` is a number to spreadsheets."""
    return f"c{item.content[:12]}"


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a sheet holds: annotations, and a finding for every cell that could not be read, with its reason.

    - `refused`: by row, the keys of the answers that could not be read; `rows`: those that lines were read of.
    - `complete`: whether each line was read.
    """

    annotations: tuple[Annotation, ...]
    findings: tuple[Finding, ...]
    refused: Mapping[str, Collection[str]] = field(default_factory=dict)
    rows: Collection[str] = ()
    complete: bool = True

    def leave(self, earlier: Annotation) -> Annotation | None:
        """Return what stands of an earlier annotation by the same person, as it could not be read here; None: nothing.

        Of a line that could not be read everything stands.
        """
        if earlier.row not in self.rows:
            return None if self.complete else earlier
        left = self.refused.get(earlier.row, ())
        answers = {key: answer for key, answer in earlier.answers.items() if key in left}
        return replace(earlier, answers=answers, groups=()) if answers else None


def read_sheet(plan: Plan, path: Path, annotator: str) -> Sheet:
    """Return the annotations of a sheet; a row without any answer gives none, and what cannot be read is a finding.

    An answer may be a choice's name or what people read of it; case and blanks around it do not matter, nor the order
    of rows and columns.
    """
    display_path, lines = printable(str(path)), read_cells(path)
    if not lines:
        raise AnnotationError(f"{display_path} is empty")
    reader = _SheetReader(plan, display_path, _columns(plan, lines[0], display_path))
    annotations: dict[str, Annotation] = {}
    for line in lines[1:]:
        annotation = reader.annotation(line, annotator)
        if annotation and annotation.row in annotations:
            number = line.cell(reader.columns[_ITEM])
            reader.note(line, _ITEM, "A104", f"item {number} occurs twice: only its first answers count")
        elif annotation:
            annotations[annotation.row] = annotation
    findings, items = reader.findings, len(lines) - 1
    if not annotations and items and sum(finding.code in {"A101", "A102"} for finding in findings) == items:
        raise AnnotationError(
            f"{display_path}: none of {items} items matches this project: is it a sheet of another project?"
        )
    if not annotations and not findings:
        findings.append(Finding(path=display_path, code="A106", message="does not have answers yet"))
    return Sheet(tuple(annotations.values()), tuple(findings), reader.refused, reader.rows, reader.complete)


def _columns(plan: Plan, header: CsvRow, display_path: str) -> dict[str, int]:
    """Return the number of each column by name; columns that only show something may be missing."""
    cells = map(header.cell, range(len(header.cells)))
    names = [cell.partition(":")[0].partition(" (")[0].strip().lower() for cell in cells]
    if {"annotation_id", "annotator"} <= {*names}:
        raise AnnotationError(
            f"{display_path} is a CSV export of Label Studio, not a sheet: export the project as JSON"
        )
    needed = [_ITEM, _CHECK, *_answered(plan), *([CONSENT, GROUPS] if plan.groups else [])]
    for name in needed:
        if names.count(name) != 1:
            what = "is missing" if name not in names else "occurs twice"
            raise AnnotationError(f"{display_path}:{header.line}: column {name} {what}: expected {', '.join(needed)}")
    allowed = {"", *needed, "meaning", "sentence 1", "sentence 2"}
    if unexpected := [printable(shortened(name)) for name in names if name not in allowed]:
        raise AnnotationError(f"{display_path}:{header.line}: unknown column {listed(unexpected)}")
    return {name: number for number, name in enumerate(names) if name}


@dataclass(slots=True)
class _SheetReader:
    plan: Plan
    display_path: str
    columns: Mapping[str, int]
    findings: list[Finding] = field(default_factory=list)
    refused: dict[str, set[str]] = field(default_factory=dict)
    rows: set[str] = field(default_factory=set)
    complete: bool = True

    def note(self, line: CsvRow, name: str, code: str, message: str) -> None:
        column, message = self.columns[name] + 1, printable(message)
        self.findings.append(Finding(path=self.display_path, line=line.line, column=column, code=code, message=message))

    def annotation(self, line: CsvRow, annotator: str) -> Annotation | None:
        """Return the annotation of a line; None where it has no answer, or belongs to no item."""
        item = self._item(line)
        self.complete &= item is not None
        self.rows |= {item.row} if item else set()
        answers, groups = (dict(self._answers(line, item)), self._groups(line)) if item else ({}, ())
        if item is None or not (answers or groups):
            return None
        id_ = f"{annotator}/{item.row}"
        return Annotation(
            id=id_, row=item.row, content=item.content, annotator=annotator, answers=answers, groups=groups
        )

    def _item(self, line: CsvRow) -> Item | None:
        items, text = self.plan.items, line.cell(self.columns[_ITEM]).removesuffix(".0")  # as spreadsheets write 1
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        if not 1 <= number <= len(items):
            self.note(line, _ITEM, "A101", f"{shortened(text)!r} is not an item of the plan: 1 to {len(items)}")
            return None
        item = items[number - 1]
        if line.cell(self.columns[_CHECK]).lower() != _check(item):
            message = f"the text of item {number} differs in this plan: expected {_check(item)}"
            self.note(line, _CHECK, "A102", message)
            return None
        return item

    def _answers(self, line: CsvRow, item: Item) -> Iterator[tuple[str, str]]:
        """Yield the answers of a line by question key; a cell that is not an answer is noted and left out."""
        item_keys = keys(self.plan, item)
        for name, key in controls(self.plan, item).items():
            question, text = question_of(key), line.cell(self.columns[name])
            if not text or (text.lower() == EMPTY_CELL and key not in item_keys):
                continue
            if key not in item_keys:
                self.note(line, name, "A103", f"{name} is not a question about this item")
            elif question.choices and not question.find_choice(text):
                message = f"{shortened(text)!r} is not an answer to {name}: expected {', '.join(question.words)}"
                self.note(line, name, "A103", message)
                self.refused.setdefault(item.row, set()).add(key)
            elif len(text) > MAX_TEXT:
                self.note(line, name, "A103", f"{len(text)} characters; the limit is {MAX_TEXT}")
                self.refused.setdefault(item.row, set()).add(key)
            else:
                yield key, question.find_choice(text) or clean(text)

    def _groups(self, line: CsvRow) -> tuple[str, ...]:
        """Return the groups that an annotator names, with consent; without it they are not read."""
        if not self.plan.groups or not (text := line.cell(self.columns[GROUPS])):
            return ()
        if line.cell(self.columns[CONSENT]).lower() != "yes":
            self.note(line, CONSENT, "A105", "groups without consent are not read")
            return ()
        named, left_out = named_groups(text)
        if left_out:
            message = f"omitted groups (after the first 20, or longer than 100 characters): {left_out}"
            self.note(line, GROUPS, "A105", message)
        return named
