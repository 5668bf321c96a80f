"""Rows whose right answers are known, asked among the others to see how well people answer.

A CSV file: the column `id`, then one column for each question key, as `sense` or `stereotype.stereo`; an empty cell
expects nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from senseprobe.annotation.cells import Line, read_cells
from senseprobe.annotation.queries import _short
from senseprobe.annotation.questions import Question
from senseprobe.errors import AnnotationError
from senseprobe.wording import listed, meant, printable


@dataclass(frozen=True, slots=True)
class Gold:
    """What is expected of a row, by question key; and the place where that is written, ``gold.csv:3``."""

    place: str
    expected: Mapping[str, str]


def read_gold(path: Path, questions: Mapping[str, Question]) -> dict[str, Gold]:
    """The expected answers by row id; `questions` are those that have choices, by key.

    AnnotationError with the first mistakes, each with its line: an unknown question or choice, an id twice or none, a
    row that expects nothing.
    """
    shown, lines = printable(str(path)), read_cells(path)
    if not lines:
        raise AnnotationError(f"{shown}: is empty: expected the column id, then one for each question")
    columns = _columns(lines[0], questions, shown)
    found: dict[str, Gold] = {}
    wrong: list[str] = []
    for line in lines[1:]:
        expected = {key: line.cell(number) for number, key in enumerate(columns) if number and line.cell(number)}
        place = f"{shown}:{line.number}"
        wrong += [f"{place}: {message}" for message in _mistakes(line, expected, questions, len(columns), found)]
        found.setdefault(line.cell(0), Gold(place, {key: text.lower() for key, text in expected.items()}))
    if wrong:
        raise AnnotationError(listed(wrong))
    return found


def _columns(header: Line, questions: Mapping[str, Question], shown: str) -> list[str]:
    columns = [header.cell(number) for number in range(len(header.cells))]
    place = f"{shown}:{header.number}"
    if columns[0] != "id" or len(set(columns)) < len(columns):
        raise AnnotationError(f"{place}: columns are not id, then question keys, each once: {', '.join(questions)}")
    for column in columns[1:]:
        if column not in questions:
            hint = meant(column, questions) or f"there is {', '.join(questions)}"
            raise AnnotationError(f"{place}: no question {_short(column)!r} has expected answers: {hint}")
    return columns


def _mistakes(
    line: Line, expected: Mapping[str, str], questions: Mapping[str, Question], width: int, found: Collection[str]
) -> Sequence[str]:
    id_ = line.cell(0)
    wrong = [] if len(line.cells) <= width else [f"{len(line.cells)} cells, expected {width}"]
    if not id_:
        wrong.append("a row without an id")
    elif id_ in found:
        wrong.append(f"{_short(id_)} is there twice")
    if not expected:
        wrong.append("expects no answer")
    for key, text in expected.items():
        if text.lower() not in (choices := questions[key].choices):
            wrong.append(f"{_short(text)!r} is no answer to {key}: expected {', '.join(choices)}")
    return wrong
