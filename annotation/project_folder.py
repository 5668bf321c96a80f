"""The folder of an annotation project, with its plan, interface, tasks and sheets; it is never inside a release."""

import hashlib
import json
import re
import unicodedata
from pathlib import Path

from senseprobe.annotation.cells import write_file
from senseprobe.annotation.label_studio.interface import interface, tasks
from senseprobe.annotation.plan import write_plan
from senseprobe.annotation.plan_file import read_plan
from senseprobe.annotation.questions import for_sheets
from senseprobe.annotation.records import Plan
from senseprobe.annotation.sheets import sheets
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable
from senseprobe.release.manifest import NAME


def check_outside(folder: Path) -> None:
    """Raise AnnotationError where a folder, which need not be there, is a release or lies in one."""
    path = folder.absolute()
    for parent in (path, *path.resolve().parents):
        if (parent / NAME).exists():
            raise AnnotationError(
                f"{printable(str(parent))} is a release, to which nothing is added: take another folder"
            )


INTERFACE, SHEETS, TASKS = "interface.xml", "sheets", "tasks.json"
READ_FIRST = "READ-ME-FIRST.txt"
"""Beside the sheets: what people read before they fill one in."""


def slug(project: str) -> str:
    """Return the name of a project's folder: small letters, digits and hyphens, or else the digest of its name.

    >>> slug("SSSB check, Köln")
    'sssb-check-koln'
    """
    plain = unicodedata.normalize("NFKD", project.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or hashlib.sha256(project.encode()).hexdigest()[:12]


def write_project(folder: Path, plan: Plan) -> None:
    """Write plan, interface and tasks.

    Raises AnnotationError where the folder has another plan or is a release, or cannot be written.
    """
    check_outside(folder)
    write_plan(folder, plan)
    text = json.dumps(tasks(plan), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    write_file(folder / INTERFACE, interface(plan).encode())
    write_file(folder / TASKS, text.encode("utf-8", "surrogatepass"))


def open_plan(folder: Path, project: str) -> Plan:
    """Return the plan of a project in its folder; raise AnnotationError where it has none, or another plan."""
    plan = read_plan(folder)
    if plan.project != project:
        raise AnnotationError(
            f"{folder} is the folder of {printable(plan.project)!r}, and not of {printable(project)!r}"
        )
    return plan


def write_sheets(folder: Path, plan: Plan, annotators: int) -> list[Path]:
    """Write a sheet for each of so many annotators, to be filled in, kept from git; return the files.

    Raises AnnotationError where one exists with other bytes, as answers may be in it, or the plan has no sheets.
    """
    contents = sheets(plan, [f"annotator-{number}" for number in range(1, annotators + 1)])
    sheets_folder = folder / SHEETS
    files = {sheets_folder / f"{name}.csv": data for name, data in contents.items()}
    for path, data in files.items():
        if path.exists() and path.read_bytes() != data:
            raise AnnotationError(
                f"{printable(str(path))} was filled in, or is of other annotators: remove it to begin again"
            )
    write_file(sheets_folder / ".gitignore", b"*\n")
    write_file(sheets_folder / READ_FIRST, for_sheets(plan).encode())
    return [write_file(path, data) for path, data in files.items()]
