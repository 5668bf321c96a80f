"""What annotation writes is never put into a release, which is frozen.

The folder of an annotation project: where it is, what it asks, what was received.
"""

import hashlib
import json
import re
import unicodedata
from pathlib import Path

from senseprobe.annotation.label_studio.interface import interface, tasks
from senseprobe.annotation.plan import write_plan
from senseprobe.annotation.plan_file import read_plan
from senseprobe.annotation.questions import for_sheets
from senseprobe.annotation.records import Plan
from senseprobe.annotation.sheets import sheets
from senseprobe.atomic_files import write_whole
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable
from senseprobe.release.manifest import NAME


def check_outside(folder: Path) -> None:
    """AnnotationError where a folder, which need not be there, is a release or lies in one."""
    place = folder.absolute()
    for each in (place, *place.resolve().parents):
        if (each / NAME).exists():
            raise AnnotationError(
                f"{printable(str(each))} is a release, to which nothing is added: take another folder"
            )


INTERFACE, SHEETS, TASKS = "interface.xml", "sheets", "tasks.json"
READ_FIRST = "READ-ME-FIRST.txt"
"""Beside the sheets: what people read before they fill one in."""


def slug(project: str) -> str:
    """The name of a project's folder: small letters, digits and hyphens; the digest of a name that has none of them.

    >>> slug("SSSB check, Köln")
    'sssb-check-koln'
    """
    plain = unicodedata.normalize("NFKD", project.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or hashlib.sha256(project.encode()).hexdigest()[:12]


def write_project(folder: Path, plan: Plan) -> None:
    """Write plan, interface and tasks.

    AnnotationError where the folder has another plan or is a release, or cannot be written.
    """
    check_outside(folder)
    write_plan(folder, plan)
    told = json.dumps(tasks(plan), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    _write(folder / INTERFACE, interface(plan).encode())
    _write(folder / TASKS, told.encode("utf-8", "surrogatepass"))


def open_plan(folder: Path, project: str) -> Plan:
    """The plan of a project in its folder; AnnotationError where there is none, or it is that of another project."""
    plan = read_plan(folder)
    if plan.project != project:
        raise AnnotationError(
            f"{folder} is the folder of {printable(plan.project)!r}, and not of {printable(project)!r}"
        )
    return plan


def write_sheets(folder: Path, plan: Plan, annotators: int) -> list[Path]:
    """Write a sheet for each of so many annotators, to be filled in, kept from git; the files.

    AnnotationError where one is there already with other bytes, as answers may be in it, or the plan has no sheets.
    """
    made = sheets(plan, [f"annotator-{number}" for number in range(1, annotators + 1)])
    place = folder / SHEETS
    files = {place / f"{name}.csv": data for name, data in made.items()}
    for path, data in files.items():
        if path.exists() and path.read_bytes() != data:
            raise AnnotationError(
                f"{printable(str(path))} was filled in, or is of other annotators: remove it to begin again"
            )
    _write(place / ".gitignore", b"*\n")
    _write(place / READ_FIRST, for_sheets(plan).encode())
    return [_write(path, data) for path, data in files.items()]


def _write(path: Path, data: bytes) -> Path:
    try:
        write_whole(path, data)
    except OSError as error:
        raise AnnotationError(f"{printable(str(path))} cannot be written: {error.strerror}") from None
    return path
