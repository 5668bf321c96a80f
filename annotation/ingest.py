"""Answers that come in: exports of Label Studio and filled-in sheets, stored as received and taken into the tables.

What is received stays as it was, as ``exports/NUMBER-SHA.json`` (``.csv`` for sheets) in the folder of a project.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from senseprobe.annotation.annotators import SHEET
from senseprobe.annotation.answers import Changes, changes, read_answers, write_answers
from senseprobe.annotation.cells import read_file
from senseprobe.annotation.label_studio.exports import MAX_BYTES, AnswerFinding, NameOf, ParsedExport, parse_export
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.annotation.sheets import Sheet, read_sheet
from senseprobe.atomic_files import write_whole
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable
from senseprobe.records import Finding

EXPORTS = "exports"

FEWEST_FOR_COPY = 8  # items from which two sheets are not alike by chance: each has an order of its own

_NAME = re.compile(r"([0-9]{4,9})-([0-9a-f]{12})\.(json|csv)")
_USUAL = {"draft", "duplicate", "empty", "unfinished"}


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestResult:
    """All annotations that a project has now, what changed, and what is odd in the new ones."""

    annotations: tuple[Annotation, ...]
    changes: Changes
    findings: tuple[AnswerFinding | Finding, ...]

    @property
    def usual(self) -> bool:
        """Whether all that is odd is what any annotation under way has: drafts, second thoughts, empty answers."""
        return all(isinstance(finding, AnswerFinding) and finding.kind in _USUAL for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """Return counts, and what is odd, with stable keys; no answers."""
        counts = Counter(annotation.status for annotation in self.annotations)
        people = {annotation.annotator for annotation in self.annotations}
        facts = {"submitted": counts["submitted"], "skipped": counts["skipped"], "annotators": len(people)}
        return {**facts, "changes": asdict(self.changes), "faults": [str(finding) for finding in self.findings]}


def ingest_export(folder: Path, plan: Plan, raw: bytes, name_of: NameOf) -> IngestResult:
    """Take an export of Label Studio into the tables; it replaces all that came from there before."""
    export = parse_export(raw, plan, name_of)
    old = read_answers(folder)
    of_sheets = [annotation for annotation in old if annotation.of_sheet]
    return _write_tables(folder, old, [*of_sheets, *export.annotations], export.findings)


def ingest_files(
    folder: Path, plan: Plan, files: Sequence[Path], pseudonym_of: NameOf, *, names: bool = False
) -> IngestResult:
    """Take files into the tables: ``.csv`` is a sheet, of the annotator after whom it is named; others are exports.

    `pseudonym_of` gives pseudonyms, which annotators have unless `names`. A sheet with answers replaces what the same
    annotator's sheet of that part of the plan said before, under whichever name. All files are read
    before anything is written.
    """
    name_of = (lambda name: name.removeprefix(SHEET)) if names else pseudonym_of
    paths = [path for path in files if path.suffix.lower() == ".csv"]
    export_paths = [path for path in files if path not in paths]
    if len(export_paths) > 1:
        raise AnnotationError("an export has the place of the one before: import one at a time")
    owners = [unicodedata.normalize("NFC", path.stem) for path in paths]  # file systems differ in how they write é
    if unprintable := next((name for name in owners if not name.isprintable()), None):
        raise AnnotationError(f"{unprintable!a} is not an annotator's name: sheets are named after their annotators")
    if twice := next((name for name in owners if owners.count(name) > 1), None):
        raise AnnotationError(f"two sheets are called {twice}: sheets are named after their annotators")
    old = read_answers(folder)
    people = {annotation.annotator for annotation in old}  # their sheets may come again
    exports = [_read_export(path, plan, name_of) for path in export_paths]
    names_of = {path: {owner, pseudonym_of(f"{SHEET}{owner}")} for path, owner in zip(paths, owners, strict=True)}
    sheets = {path: read_sheet(plan, path, name_of(f"{SHEET}{name}")) for path, name in zip(paths, owners, strict=True)}

    replaced = {  # what somebody is called now, by what their sheet was called before
        name: name_of(f"{SHEET}{owner}")
        for (path, sheet), owner in zip(sheets.items(), owners, strict=True)
        for name in (names_of[path] if sheet.annotations else ())
    }
    part_of = {item.row: plan.part_of(number) for number, item in enumerate(plan.items)}
    listed = {(a.annotator, part_of[a.row]) for sheet in sheets.values() for a in sheet.annotations}
    listed |= {(name, -1) for name in replaced.values()}  # of rows that the plan does not have
    old = [_renamed(annotation, replaced) for annotation in old]
    new = [
        annotation
        for annotation in old
        if not ((annotation.annotator, part_of.get(annotation.row, -1)) in listed if annotation.of_sheet else exports)
    ]
    findings: list[AnswerFinding | Finding] = []
    sources: list[ParsedExport | Sheet] = [*exports, *sheets.values()]
    for parsed in sources:
        new += parsed.annotations
        findings += parsed.findings
    others = {
        path: not names_of[path] & people for path, sheet in sheets.items() if len(sheet.annotations) >= FEWEST_FOR_COPY
    }
    findings += _find_copies(folder, others)
    for path in files:
        store(folder, read_file(path, MAX_BYTES), "json" if path in export_paths else "csv")
    return _write_tables(folder, old, new, findings)


def _renamed(annotation: Annotation, names: Mapping[str, str]) -> Annotation:
    """Return an annotation under the name that its annotator's sheet has now; those of accounts as they are."""
    if not annotation.of_sheet or annotation.annotator not in names:
        return annotation
    name = names[annotation.annotator]
    return replace(annotation, annotator=name, id=f"{name}/{annotation.row}")


def _find_copies(folder: Path, sheets: Mapping[Path, bool]) -> Iterator[Finding]:
    """Yield a finding for sheets with the bytes of another one, or, of somebody new (True), of a stored one."""
    seen: dict[bytes, str] = {}
    for path, is_new in sheets.items():
        raw, display_path = read_file(path, MAX_BYTES), printable(str(path))
        if is_new and (stored := _find_stored(folder, raw, "csv")):
            seen.setdefault(raw, printable(str(stored)))
        if first := seen.get(raw):
            message = f"is the same file as {first}: if one person filled it in, these answers count twice"
            yield Finding(path=display_path, code="A107", message=message)
        seen.setdefault(raw, display_path)


def _write_tables(
    folder: Path, old: Sequence[Annotation], new: Sequence[Annotation], findings: Iterable[AnswerFinding | Finding]
) -> IngestResult:
    """Write the annotations of a project to its tables, and return them as these give them."""
    accounts = {annotation.annotator for annotation in new if not annotation.of_sheet}
    if both := sorted(accounts & {annotation.annotator for annotation in new if annotation.of_sheet}):
        raise AnnotationError(f"{printable(both[0])} is an account and a sheet: give the sheet another name")
    write_answers(folder, new)
    now = read_answers(folder)
    return IngestResult(annotations=tuple(now), changes=changes(old, now), findings=tuple(findings))


def _read_export(path: Path, plan: Plan, name_of: NameOf) -> ParsedExport:
    """Return what an export holds; raise AnnotationError, with its name, where it is not of this project."""
    raw = read_file(path, MAX_BYTES)
    try:
        return parse_export(raw, plan, name_of)
    except AnnotationError as error:
        raise AnnotationError(f"{printable(str(path))}: {error}") from None


def store(folder: Path, raw: bytes, suffix: str = "json") -> tuple[Path, bool]:
    """Store what came in unless the last export, or any sheet, has the same bytes; return it, and if it is new."""
    exports_folder = folder / EXPORTS
    try:
        exports_folder.mkdir(parents=True, exist_ok=True)
        stored = _stored_files(exports_folder)
        same = _find_stored(folder, raw, suffix)
        if same and (suffix == "csv" or same == [path for path in stored if path.suffix == ".json"][-1]):
            return same, False
        number = int(stored[-1].stem.partition("-")[0]) + 1 if stored else 1
        path = exports_folder / f"{number:04d}-{_digest(raw)}.{suffix}"
        write_whole(path, raw)
    except OSError as error:
        raise AnnotationError(f"{printable(str(exports_folder))} cannot be written: {error.strerror}") from None
    return path, True


def _find_stored(folder: Path, raw: bytes, suffix: str) -> Path | None:
    """Return the last file in a project's folder that holds these bytes; None where there is none."""
    ending = f"-{_digest(raw)}.{suffix}"
    files = (path for path in reversed(_stored_files(folder / EXPORTS)) if path.name.endswith(ending))
    return next((path for path in files if path.stat().st_size == len(raw)), None)


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:12]


def _stored_files(exports_folder: Path) -> list[Path]:
    """Return the stored files, in the order in which they came."""
    paths = exports_folder.iterdir() if exports_folder.is_dir() else ()
    files = (path for path in paths if _NAME.fullmatch(path.name))
    return sorted(files, key=lambda path: (int(path.name.partition("-")[0]), path))
