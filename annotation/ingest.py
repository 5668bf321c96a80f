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
from senseprobe.annotation.project_folder import SHEETS
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.annotation.sheets import Sheet, read_sheet
from senseprobe.atomic_files import write_whole
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable
from senseprobe.records import Finding

EXPORTS = "exports"

_SHEETS = frozenset({".csv", ".tsv"})  # endings of files that are sheets; others are exports
_WORKBOOK = b"PK\x03\x04"  # how the files of Excel and LibreOffice begin, which are archives

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

    Without files, those in the project's folder of sheets are taken. `pseudonym_of` gives pseudonyms, which annotators
    have unless `names`. A sheet with answers replaces what the same annotator's sheet of that part of the plan said
    before, under whichever name, but for answers that cannot be read in it. All files are read before anything is
    written.
    """
    name_of = (lambda name: name.removeprefix(SHEET)) if names else pseudonym_of
    files = files or [path for path in sorted((folder / SHEETS).rglob("*")) if path.suffix.lower() in _SHEETS]
    if not files:
        raise AnnotationError(f"{printable(str(folder / SHEETS))} does not have sheets: name the files to import")
    paths = [path for path in files if path.suffix.lower() in _SHEETS]
    export_paths = [path for path in files if path not in paths]
    if len(export_paths) > 1:
        raise AnnotationError("each export replaces the previous one: import one at a time")
    owner_of = _owners(paths, folder / SHEETS)
    old = read_answers(folder)
    people = {annotation.annotator for annotation in old}  # their sheets may come again
    exports = [_read_export(path, plan, name_of) for path in export_paths]
    names_of = {path: {owner, pseudonym_of(f"{SHEET}{owner}")} for path, owner in owner_of.items()}
    sheets = {path: read_sheet(plan, path, name_of(f"{SHEET}{owner}")) for path, owner in owner_of.items()}
    _check_answered_once(owner_of, sheets)
    replaced = {  # what somebody is called now, by what their sheet was called before
        name: name_of(f"{SHEET}{owner_of[path]}")
        for path, sheet in sheets.items()
        for name in (names_of[path] if sheet.annotations else ())
    }
    old = [_renamed(annotation, replaced) for annotation in old]
    new = _standing(plan, old, [*sheets.values()], exports=bool(exports))
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
    joined: dict[str, Annotation] = {}  # answers that stand, and what a sheet has in addition, have one id
    for annotation in new:
        earlier = joined.get(annotation.id) if annotation.of_sheet else None
        answers = {**earlier.answers, **annotation.answers} if earlier else annotation.answers
        joined[annotation.id] = replace(annotation, answers=answers)
    return _write_tables(folder, old, [*joined.values()], findings)


def _owners(paths: Sequence[Path], sheets_folder: Path) -> dict[Path, str]:
    """Return after whom each sheet is named; AnnotationError for a name that is none, and for two sheets of one name.

    In the folders `sheets_folder` of the project's sheets, each part of a plan has a sheet of the same name.
    """
    owner_of = {
        path: unicodedata.normalize("NFC", path.stem) for path in paths
    }  # file systems differ in how they write é
    if unprintable := next((name for name in owner_of.values() if not name.isprintable()), None):
        raise AnnotationError(f"{unprintable!a} is not the name of an annotator: name each sheet after its annotator")
    counts = Counter((name, path.parent if sheets_folder in path.parents else None) for path, name in owner_of.items())
    names = [name for name, _ in counts]
    several = [name for (name, folder), count in counts.items() if count > 1 or (not folder and names.count(name) > 1)]
    if several or len(owner_of) < len(paths):
        twice = several[0] if several else owner_of[paths[0]]
        raise AnnotationError(f"two sheets are named {twice}: name each sheet after its annotator")
    return owner_of


def _check_answered_once(owner_of: Mapping[Path, str], sheets: Mapping[Path, Sheet]) -> None:
    """Raise AnnotationError where two sheets of one name answer the same row."""
    answered: dict[str, Path] = {}
    for path, sheet in sheets.items():
        for annotation in sheet.annotations:
            if (other := answered.setdefault(annotation.id, path)) != path:
                raise AnnotationError(
                    f"{printable(str(path))} and {printable(str(other))} are both named {owner_of[path]} and answer "
                    "the same row: import one of them"
                )


def _standing(plan: Plan, old: Iterable[Annotation], sheets: Sequence[Sheet], *, exports: bool) -> list[Annotation]:
    """Return what stands of the annotations that there were: no export's where one came, nor what sheets say anew."""
    part_of = {item.row: plan.part_of(number) for number, item in enumerate(plan.items)}
    contents = {item.row: item.content for item in plan.items}
    replacing = {(a.annotator, part_of[a.row]): sheet for sheet in sheets for a in sheet.annotations}
    people = {annotator for annotator, _ in replacing}
    standing: list[Annotation | None] = []
    for annotation in old:
        sheet = replacing.get((annotation.annotator, part_of.get(annotation.row, -1)))
        if not annotation.of_sheet:
            standing.append(None if exports else annotation)
        elif sheet:
            standing.append(sheet.leave(annotation) if annotation.content == contents[annotation.row] else None)
        else:  # what the plan does not have is gone
            standing.append(annotation if annotation.row in part_of or annotation.annotator not in people else None)
    return [annotation for annotation in standing if annotation]


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
        raise AnnotationError(f"{printable(both[0])} names an account and a sheet: rename the sheet")
    write_answers(folder, new)
    now = read_answers(folder)
    return IngestResult(annotations=tuple(now), changes=changes(old, now), findings=tuple(findings))


def _read_export(path: Path, plan: Plan, name_of: NameOf) -> ParsedExport:
    """Return what an export holds; raise AnnotationError, with its name, where it is not of this project."""
    raw = read_file(path, MAX_BYTES)
    if raw.startswith(_WORKBOOK):
        raise AnnotationError(f'{printable(str(path))} is a workbook, and no table of text: save it as "CSV UTF-8"')
    try:
        return parse_export(raw, plan, name_of)
    except AnnotationError as error:
        raise AnnotationError(f"{printable(str(path))}: {error}") from None


def store(folder: Path, raw: bytes, suffix: str = "json") -> tuple[Path, bool]:
    """Store what came in unless the last export, or any sheet, has the same bytes; return it, and if it is new."""
    exports_folder = folder / EXPORTS
    try:
        stored = _stored_files(exports_folder) if exports_folder.exists() else []
        same = _find_stored(folder, raw, suffix) if stored else None
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
