"""`decisions.csv`: what became of each row, and which lines of the dataset's verdicts are this project's."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from senseprobe.annotation.cells import csv_bytes, read_cells
from senseprobe.annotation.deciding import Decision
from senseprobe.errors import AnnotationError
from senseprobe.files import write_whole
from senseprobe.release.verdicts import Verdict
from senseprobe.wording import printable

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
