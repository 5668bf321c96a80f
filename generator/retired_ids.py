"""`retired.csv`: ids of rows that were withdrawn from a dataset and may never come back.

An id stands for one row for ever: scores, verdicts and disputes name it. One that was withdrawn is listed here, and no
later release may have it.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import DeclarationError, ReleaseError
from senseprobe.generator import yaml_source
from senseprobe.generator.word_lists import show
from senseprobe.messages import printable
from senseprobe.records import Finding
from senseprobe.release.verdicts import read_id_table

RETIRED = "retired.csv"

_COLUMNS = ("id", "version", "reason")


@dataclass(frozen=True, slots=True)
class Retired:
    """An id that was withdrawn: since which version, and why, where that is said; and its line, from 1."""

    version: str
    reason: str
    line: int

    def __str__(self) -> str:
        since = f" in {self.version}" if self.version else ""
        return printable(f"{since}{': ' if self.reason else ''}{self.reason}")[:200]


def read_retired(folder: Path) -> dict[str, Retired]:
    """The retired ids of the dataset in `folder`; DeclarationError where its `retired.csv` is malformed."""
    path = folder / RETIRED
    if not path.exists() and not path.is_symlink():
        return {}
    shown = f"{show(folder)}/{RETIRED}"  # of the folder: a link would be shown as what it leads to
    if path.is_symlink() or not path.is_file():
        raise DeclarationError([Finding(path=shown, code="E100", message="is no plain file")])
    found: dict[str, Retired] = {}
    findings = []
    for line, row in read_id_table(yaml_source.read_text(path, shown), shown, _COLUMNS[:1], _COLUMNS[1:]):
        if wrong := _wrong(row["id"], found):
            message = f"{row['id']!r} {wrong}" if row["id"] else wrong
            findings.append(Finding(path=shown, line=line, column=1, code="E202", message=printable(message)))
        found.setdefault(row["id"], Retired(row.get("version", ""), row.get("reason", ""), line))
    if findings:
        raise DeclarationError(findings)
    return found


def _wrong(name: str, found: Container[str]) -> str | None:
    """What is wrong with an id; None where nothing is."""
    if not name:
        return "a row without an id"
    if name != name.strip():
        return "begins or ends with a blank, as no id does"
    return "is retired twice" if name in found else None


def refusal(retired: Mapping[str, Retired], folder: Path) -> Callable[[pa.RecordBatch], None]:
    """What raises ReleaseError for rows with a retired id; `retired` was read from the dataset in `folder`."""
    ids = pa.array(list(retired), pa.string())

    def refuse(rows: pa.RecordBatch) -> None:
        back = rows["id"].filter(pc.is_in(rows["id"], value_set=ids))
        if len(back):
            name = back[0].as_py()
            place = f"{show(folder / RETIRED)}:{retired[name].line}"
            raise ReleaseError(
                f"row {printable(name)} was retired{retired[name]} ({place}): a retired id never comes back"
            )

    return refuse
