"""`retired.csv`: ids of rows that were withdrawn from a dataset and may never come back.

An id names one row for ever, since scores, verdicts and disputes refer to it. No later release may have an id that is
listed here.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import DeclarationError, ReleaseError
from senseprobe.generator import yaml_source
from senseprobe.messages import printable
from senseprobe.records import Finding
from senseprobe.release.verdicts import read_id_table

RETIRED = "retired.csv"

_COLUMNS = ("id", "version", "reason")


@dataclass(frozen=True, slots=True)
class RetiredId:
    """An id that was withdrawn: the version and the reason, where they are given, and its line, from 1."""

    version: str
    reason: str
    line: int

    def __str__(self) -> str:
        since = f" in {self.version}" if self.version else ""
        return printable(f"{since}{': ' if self.reason else ''}{self.reason}")[:200]


def read_retired(folder: Path) -> dict[str, RetiredId]:
    """Return the retired ids of the dataset in `folder`; raise DeclarationError where `retired.csv` is malformed."""
    path = folder / RETIRED
    if not path.exists() and not path.is_symlink():
        return {}
    display_path = (
        f"{yaml_source.format_path(folder)}/{RETIRED}"  # the folder's: a link would have the path of its target
    )
    if path.is_symlink() or not path.is_file():
        raise DeclarationError([Finding(path=display_path, code="E100", message="is no plain file")])
    retired: dict[str, RetiredId] = {}
    findings = []
    for line, row in read_id_table(yaml_source.read_text(path, display_path), display_path, _COLUMNS[:1], _COLUMNS[1:]):
        if error := _id_error(row["id"], retired):
            message = f"{row['id']!r} {error}" if row["id"] else error
            findings.append(Finding(path=display_path, line=line, column=1, code="E202", message=printable(message)))
        retired.setdefault(row["id"], RetiredId(row.get("version", ""), row.get("reason", ""), line))
    if findings:
        raise DeclarationError(findings)
    return retired


def _id_error(name: str, earlier: Container[str]) -> str | None:
    if not name:
        return "a row without an id"
    if name != name.strip():
        return "begins or ends with a blank, as no id does"
    return "is retired twice" if name in earlier else None


def retired_id_check(retired: Mapping[str, RetiredId], folder: Path) -> Callable[[pa.RecordBatch], None]:
    """Return a function that raises ReleaseError for rows with a retired id.

    `retired` was read from the dataset in `folder`.
    """
    ids = pa.array(list(retired), pa.string())

    def check(rows: pa.RecordBatch) -> None:
        back = rows["id"].filter(pc.is_in(rows["id"], value_set=ids))
        if len(back):
            name = back[0].as_py()
            location = f"{yaml_source.format_path(folder / RETIRED)}:{retired[name].line}"
            raise ReleaseError(
                f"row {printable(name)} was retired{retired[name]} ({location}): a retired id never comes back"
            )

    return check
