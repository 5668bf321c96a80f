"""The published rows of BBQ beside its templates: what a project made of the templates is compared with."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importers.sources import Source, read_sources
from senseprobe.kinds.question.bbq import PLACES, UNKNOWN
from senseprobe.tables import UnreadableError, read_json_lines


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A published row, without blanks at the ends of its texts: `people` are the two answers that name somebody."""

    question_index: str
    version: str
    condition: str
    polarity: str
    context: str
    question: str
    people: tuple[str, str]
    unknown: str
    gold: str


def find_published(folder: Path, categories: Iterable[str]) -> list[Path]:
    """Return the files of rows of some categories in a folder or, without any, in the one around it."""
    names = [f"{category}.jsonl" for category in categories]
    for place in (folder, folder.parent):
        if paths := [path for name in names if (path := place / name).is_file()]:
            return paths
    return []


def read_published(paths: list[Path]) -> dict[str, list[PublishedRow]]:
    """Return the published rows by category; raise ReleaseError where a file is not of BBQ's form."""
    return {source.stem: [*_read_rows(source)] for source in read_sources(paths)}


def _read_rows(source: Source) -> Iterator[PublishedRow]:
    try:
        for line, row in read_json_lines(source.lines):
            try:
                yield _as_row(row)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError):
                raise ReleaseError(f"{source.name}:{line}: is not a row of BBQ") from None
    except UnreadableError as error:
        raise ReleaseError(f"{source.name}:{error.line}: {error}") from None


def _as_row(row: Mapping[str, Any]) -> PublishedRow:
    answers = [str(row[place]).strip() for place in PLACES]
    (unknown,) = (number for number, place in enumerate(PLACES) if row["answer_info"][place][1] == UNKNOWN)
    people = tuple(answer for number, answer in enumerate(answers) if number != unknown)
    version = row["additional_metadata"].get("version") or ""
    return PublishedRow(
        question_index=str(row["question_index"]),
        version="" if version == "None" else version,
        condition=row["context_condition"],
        polarity=row["question_polarity"],
        context=row["context"].strip(),
        question=row["question"].strip(),
        people=(people[0], people[1]),
        unknown=answers[unknown],
        gold=answers[row["label"]],
    )
