"""The folder of an annotation project, with its plan, interface, tasks and sheets; it is never inside a release.

`plan.json` is canonical JSON, which somebody may have edited, so that everything in it is checked.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, fields, replace
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from senseprobe.annotation.cells import read_file, write_file
from senseprobe.annotation.guidelines import for_sheets
from senseprobe.annotation.label_studio.interface import MAX_XML, interface, tasks
from senseprobe.annotation.questions import ROLES, asked_of, keys, question_of, questions_of
from senseprobe.annotation.records import Item, Plan
from senseprobe.annotation.sheets import sheet_of, sheets
from senseprobe.atomic_files import read_plain
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable, shortened
from senseprobe.release import manifest

NAME, INTERFACE, TASKS, SHEETS = "plan.json", "interface.xml", "tasks.json", "sheets"
READ_FIRST = "READ-ME-FIRST.txt"  # beside the sheets: what people read before they fill one in

FORM = 3  # version of the form of `plan.json`; readers accept every older one
_SINCE_2 = {"configs": (), "allocation": "proportional", "exclude": (), "excluded": (), "parts": (), "guidelines": ""}
_SINCE_2 |= {"language": "en"}

MAX_BYTES = 256 * 2**20  # a hundred thousand items of 2.5 kB


@dataclass(frozen=True, kw_only=True, slots=True)
class _PlanFile(Plan):
    """A plan as `plan.json` has it."""

    form: Literal[1, 2, 3]


_PLAN_FILE = TypeAdapter(_PlanFile)


class _Form(BaseModel):
    model_config = ConfigDict(strict=True)

    form: Annotated[int, Field(ge=1)]


def slug(project: str) -> str:
    """Return the name of a project's folder: small letters, digits and hyphens, or else the digest of its name.

    >>> slug("SSSB check, Köln")
    'sssb-check-koln'
    """
    plain = unicodedata.normalize("NFKD", project.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or hashlib.sha256(project.encode()).hexdigest()[:12]


def check_project(project: str) -> None:
    """Raise AnnotationError for a name that the platform does not take: titles have 3 to 50 characters."""
    if not 3 <= len(project) <= 50 or project != project.strip() or not project.isprintable():
        raise AnnotationError(f"{project[:80]!r} is not a name of a project: expected 3 to 50 characters")


def check_outside(folder: Path) -> None:
    """Raise AnnotationError where a folder, which need not be there, is a release or lies in one."""
    path = folder.absolute()
    for parent in (path, *path.resolve().parents):
        if (parent / manifest.NAME).exists():
            raise AnnotationError(
                f"{printable(str(parent))} is a release, to which nothing is added: take another folder"
            )


def hash_item(item: Item) -> str:
    """Return sha256, in hexadecimal, of the canonical JSON of what is shown of an item, in the order of the screen."""
    content = {
        "gloss": item.gloss,
        "labels": dict(item.labels),
        "sentences": [[sentence.text, sentence.span] for sentence in item.sentences],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def dump(plan: Plan) -> bytes:
    """Return canonical JSON: sorted keys, UTF-8, two blanks of indent, one line feed at the end.

    It is of form 1 or 2, which older readers take, where the plan has nothing that they do not know.
    """
    facts = {"form": FORM, **asdict(plan)}
    if not plan.asks:
        facts = {name: value for name, value in facts.items() if name != "asks"} | {"form": 2}
    if not plan.asks and all(facts[name] == value for name, value in _SINCE_2.items()):
        facts = {name: value for name, value in facts.items() if name not in _SINCE_2} | {"form": 1}
    return (json.dumps(facts, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()


def write_plan(folder: Path, plan: Plan) -> Path:
    """Write `plan.json` into a folder, and return its path; raise AnnotationError where another plan is there.

    The same plan with more items takes its place.
    The guidelines of the first stay, in its language: another version of senseprobe words them otherwise, and asks the
    same.
    """
    path = folder / NAME
    if not path.is_symlink() and not path.exists():
        return write_file(path, dump(plan))
    stored = read_plan(folder)
    plan = replace(plan, guidelines=stored.guidelines, language=stored.language)
    if _grown(stored, plan) == plan:
        return write_file(path, dump(plan)) if plan != stored else path
    names = [field.name for field in fields(plan) if getattr(stored, field.name) != getattr(plan, field.name)]
    options = [
        f"{name} {'none' if (value := getattr(stored, name)) in ('', ()) else printable(shortened(value))}"
        for name in names
        if name not in {"items", "content", "excluded", "parts"}
    ]
    if names:
        differs = f"it has {', '.join(options)}" if options else "its rows are others (--n, --config, --gold)"
        raise AnnotationError(
            f"{printable(str(path))} is another plan: {differs}; ask as it was asked, or take another project"
        )
    return path


def _grown(stored: Plan, plan: Plan) -> Plan:
    """Return the stored plan with what may be added to it: items behind its own, excluded rows, unstated configs."""
    has_grown = plan.parts == (*stored.parts, len(stored.items)) and plan.items[: len(stored.items)] == stored.items
    items, parts = (plan.items, plan.parts) if has_grown else (stored.items, stored.parts)
    return replace(stored, items=items, parts=parts, excluded=plan.excluded, configs=stored.configs or plan.configs)


def open_plan(folder: Path, project: str) -> Plan:
    """Return the plan of a project in its folder; raise AnnotationError where it has none, or another plan."""
    plan = read_plan(folder)
    if plan.project != project:
        raise AnnotationError(
            f"{folder} is the folder of {printable(plan.project)!r}, and not of {printable(project)!r}"
        )
    return plan


def read_plan(folder: Path) -> Plan:
    """Return the plan in a folder; raise AnnotationError with the first mistake.

    Answers are compared with what was shown, so a plan that was edited by hand is refused where it would mislead.
    """
    path = folder / NAME
    display_path = printable(str(path))
    try:
        raw = read_plain(path, MAX_BYTES)
    except OSError as error:
        raise AnnotationError(f"no plan: {display_path} cannot be read ({error.strerror})") from None
    try:
        if (form := _Form.model_validate_json(raw).form) > FORM:
            raise AnnotationError(f"{display_path} is of form {form}, this senseprobe reads up to {FORM}: upgrade it")
        stored = _PLAN_FILE.validate_json(raw)
        plan = Plan(**{field.name: getattr(stored, field.name) for field in fields(Plan)})
        mistake = next(_mistakes(plan), "")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        location = printable(".".join(map(str, first["loc"])))[:200]
        mistake = f"{location}: {first['msg']}" if location else first["msg"]
    if mistake:
        raise AnnotationError(f"{display_path}: {printable(mistake)}; it is not to be edited: remove it and draw again")
    return plan


def _mistakes(plan: Plan) -> Iterator[str]:
    """Yield what makes a plan impossible, though each value alone might be right."""
    try:
        check_project(plan.project)
        questions_of(plan)
    except AnnotationError as error:
        yield str(error)
        return
    if silent := next((item.config for item in plan.items if not asked_of(plan, item.config)), ""):
        yield f"config {silent} is asked nothing"
    if len(set(plan.questions)) < len(plan.questions):
        yield "a question is asked twice"
    if list(plan.parts) != sorted({*plan.parts}) or not all(0 < part < len(plan.items) for part in plan.parts):
        yield "its parts are not rising numbers of its items"
    rows = Counter(item.row for item in plan.items)
    yield from (f"row {row[:200]} is there twice" for row, count in rows.items() if count > 1)
    for item in plan.items:
        yield from (f"row {item.row[:200]}: {mistake}" for mistake in _item_mistakes(plan, item))


def _item_mistakes(plan: Plan, item: Item) -> Iterator[str]:
    if sorted(sentence.role for sentence in item.sentences) != sorted(ROLES[plan.kind]):
        yield f"its sentences are not {' and '.join(ROLES[plan.kind])}"
    for sentence in item.sentences:
        if sentence.span and not 0 <= sentence.span[0] < sentence.span[1] <= len(sentence.text):
            yield f"the span of {sentence.role} is not in its text"
    names = keys(plan, item)
    for key, answer in [*item.gold.items(), *item.labels.items()]:
        if key not in names:
            yield f"is not asked {key!r}: there is {', '.join(names)}"
        elif answer not in (choices := question_of(key).choices):
            yield f"{answer[:200]!r} is not an answer to {key}: expected {', '.join(choices) or 'none in advance'}"
    if item.content != hash_item(item):
        yield "its content is not the hash of what is shown"


def read_interface(folder: Path, plan: Plan) -> str:
    """Return the interface with which the project in `folder` was made, perhaps by an earlier version; or else ours."""
    path = folder / INTERFACE
    if not (folder / NAME).exists() or not path.exists():
        return interface(plan)
    try:
        return read_file(path, MAX_XML).decode()
    except UnicodeDecodeError:
        raise AnnotationError(f"{printable(str(path))} is not UTF-8: remove it, and it is written again") from None


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
            f"{printable(str(other))} was filled in, or is of other annotators: remove it to begin again"
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
