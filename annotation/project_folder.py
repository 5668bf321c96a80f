"""The folder of an annotation project, with its plan, interface, tasks and sheets; it is never inside a release."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection
from itertools import count
from pathlib import Path

from senseprobe.annotation.cells import read_file, write_file
from senseprobe.annotation.guidelines import for_sheets
from senseprobe.annotation.label_studio.interface import MAX_XML, interface, tasks
from senseprobe.annotation.plan_file import NAME, write_plan
from senseprobe.annotation.plan_options import READ_FIRST
from senseprobe.annotation.records import Plan
from senseprobe.annotation.sheets import sheet_of, sheets
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable
from senseprobe.release import manifest

INTERFACE, TASKS, SHEETS = "interface.xml", "tasks.json", "sheets"


def slug(project: str) -> str:
    """Return the name of a project's folder: small letters, digits and hyphens, or else the digest of its name.

    >>> slug("SSSB check, Köln")
    'sssb-check-koln'
    """
    plain = unicodedata.normalize("NFKD", project.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or hashlib.sha256(project.encode()).hexdigest()[:12]


def check_outside(folder: Path) -> None:
    """Raise AnnotationError where a folder, which need not be there, is a release or lies in one."""
    path = folder.absolute()
    for parent in (path, *path.resolve().parents):
        if (parent / manifest.NAME).exists():
            raise AnnotationError(
                f"{printable(str(parent))} is a release, which cannot be changed: choose another folder"
            )


def read_interface(folder: Path, plan: Plan) -> str:
    """Return the interface with which the project in `folder` was made, perhaps by an earlier version; or else ours."""
    path = folder / INTERFACE
    if not (folder / NAME).exists() or not path.exists():
        return interface(plan)
    try:
        return read_file(path, MAX_XML).decode()
    except UnicodeDecodeError:
        raise AnnotationError(f"{printable(str(path))} is not UTF-8: remove it, and run the command again") from None


def write_project(folder: Path, plan: Plan, annotators: int = 0) -> list[Path]:
    """Write plan, interface and tasks, and a sheet for each of so many annotators, kept from git; return the files.

    Of a plan that grew, sheets have the rows of its last part alone, in a folder of their own. Raises AnnotationError
    where the folder is a release or has another plan, or there is a sheet with other lines, as answers may be in it.
    A sheet whose head alone differs, as that of an earlier version, stays as it is.
    """
    check_outside(folder)
    names = [f"annotator-{number}" for number in range(1, annotators + 1)]
    start = plan.parts[-1] if plan.parts else 0
    part = folder / SHEETS / f"{start + 1}-{len(plan.items)}" if start else folder / SHEETS
    contents = {part / f"{name}.csv": raw for name, raw in (sheets(plan, names, start) if names else {}).items()}
    xml = read_interface(folder, plan)
    plan_path = write_plan(folder, plan)
    there = {path: path.read_bytes() for path in contents if path.exists()}
    if other := next((path for path, raw in there.items() if _lines(raw) != _lines(contents[path])), None):
        raise AnnotationError(
            f"{printable(str(other))} was filled in, or belongs to other annotators: remove it to start again"
        )
    text = json.dumps(tasks(plan), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    interface_path = write_file(folder / INTERFACE, xml.encode())
    tasks_path = write_file(folder / TASKS, text.encode("utf-8", "surrogatepass"))
    if contents:
        _write_guide(folder, plan, part)
    sheet_paths = (write_file(path, there.get(path, raw)) for path, raw in contents.items())
    return [plan_path, interface_path, tasks_path, *sheet_paths]


def _lines(sheet: bytes) -> bytes:
    """Return a sheet without its first line, which is its head."""
    return sheet.partition(b"\n")[2]


def write_queue(folder: Path, plan: Plan, rows: Collection[str]) -> Path:
    """Write a sheet of some rows for one more annotator, and return its path: that of one that nobody filled in.

    Sheets are called `queue-1.csv` and so on; whoever fills one in is another annotator than those of the others.
    """
    for number in count(1):
        path = folder / SHEETS / f"queue-{number}.csv"
        raw = sheet_of(plan, path.stem, rows)
        if not path.exists() or path.read_bytes() == raw:
            break
    _write_guide(folder, plan, path.parent)
    return write_file(path, raw)


def _write_guide(folder: Path, plan: Plan, sheets_folder: Path) -> None:
    """Write what people read first beside their sheets, and keep all sheets from git."""
    write_file(folder / SHEETS / ".gitignore", b"*\n")
    write_file(sheets_folder / READ_FIRST, for_sheets(plan).encode())
