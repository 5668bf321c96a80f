"""What was received, kept as it was: ``exports/NUMBER-SHA.json`` (``.csv`` for sheets) in the folder of a project.

Sheets that were filled in: whose each is, and which come twice.

Answers that come as files: exports of Label Studio, and sheets that annotators filled in.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from senseprobe.annotation.answers import Changes, changes, read_answers, write_answers
from senseprobe.annotation.findings import AnswerFinding
from senseprobe.annotation.label_studio.exports import NameOf, ParsedExport, read
from senseprobe.annotation.label_studio.results import MAX_BYTES
from senseprobe.annotation.pseudonyms import SHEET
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.annotation.sheets import read_sheet
from senseprobe.atomic_files import read_plain, write_whole
from senseprobe.errors import AnnotationError
from senseprobe.messages import printable
from senseprobe.records import Finding

EXPORTS = "exports"

_NAME = re.compile(r"([0-9]{4,9})-([0-9a-f]{12})\.(json|csv)")


def keep(folder: Path, raw: bytes, suffix: str = "json") -> tuple[Path, bool]:
    """The file in a project's folder that holds what was received, and whether it was written now.

    An export is not written again where the last one has the same bytes, a sheet where any has. AnnotationError where
    it cannot be.
    """
    place = folder / EXPORTS
    try:
        place.mkdir(parents=True, exist_ok=True)
        found = _found(place)
        exports = [path for path in found if path.suffix == ".json"]
        same = kept(folder, raw, suffix)
        if same and (suffix == "csv" or same == exports[-1]):
            return same, False
        path = place / f"{int(found[-1].stem.partition('-')[0]) + 1 if found else 1:04d}-{_digest(raw)}.{suffix}"
        write_whole(path, raw)
    except OSError as error:
        raise AnnotationError(f"{printable(str(place))} cannot be written: {error.strerror}") from None
    return path, True


def kept(folder: Path, raw: bytes, suffix: str) -> Path | None:
    """The last file in a project's folder that holds these bytes; None where there is none."""
    ending = f"-{_digest(raw)}.{suffix}"
    same = [path for path in _found(folder / EXPORTS) if path.name.endswith(ending) and path.stat().st_size == len(raw)]
    return same[-1] if same else None


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:12]


def _found(place: Path) -> list[Path]:
    """What is kept there, in the order in which it came."""
    if not place.is_dir():
        return []
    found = ((int(told[1]), path) for path in place.iterdir() if (told := _NAME.fullmatch(path.name)))
    return [path for _, path in sorted(found)]


TELLING = 8
"""Items from which two sheets are not alike by chance: each has an order of its own."""


def owner(sheet: Path) -> str:
    """Of whom a sheet is, by its name; file systems differ in how they write an accent."""
    return unicodedata.normalize("NFC", sheet.stem)


def check_names(sheets: Sequence[Path]) -> None:
    """AnnotationError where sheets are not named so that each can be an annotator's."""
    names = [owner(path) for path in sheets]
    if strange := next((name for name in names if not name.isprintable()), None):
        raise AnnotationError(f"{strange!a} is no annotator's name: sheets are named after their annotators")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise AnnotationError(f"two sheets are called {twice}: sheets are named after their annotators")


def copies(folder: Path, sheets: Iterable[tuple[Path, bytes]], again: Collection[Path]) -> Iterator[Finding]:
    """Sheets with the bytes of another one, or of one that the project's folder keeps, unless they come `again`."""
    seen: dict[bytes, str] = {}
    for path, raw in sheets:
        if path not in again and (before := kept(folder, raw, "csv")):
            seen.setdefault(raw, printable(str(before)))
        if first := seen.get(raw):
            message = f"is the same file as {first}: if one person filled it in, these answers count twice"
            yield Finding(path=printable(str(path)), code="A107", message=message)
        seen.setdefault(raw, printable(str(path)))


Faulty = Sequence[AnswerFinding | Finding] | Sequence[AnswerFinding]

_USUAL = {"draft", "duplicate", "empty", "unfinished"}


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestResult:
    """What was taken into a project: all annotations that it has now, what changed, and what is odd.

    `usual`: whether all that is odd is what any annotation under way has: drafts, second thoughts, empty answers.
    """

    annotations: tuple[Annotation, ...]
    changes: Changes
    faults: tuple[AnswerFinding | Finding, ...]

    @property
    def usual(self) -> bool:
        """Whether nothing needs a look."""
        return all(isinstance(fault, AnswerFinding) and fault.kind in _USUAL for fault in self.faults)

    def as_dict(self) -> dict[str, Any]:
        """Counts, and what is odd, with stable keys; nothing that anybody said."""
        counts = Counter(each.status for each in self.annotations)
        people = {each.annotator for each in self.annotations}
        told = {"submitted": counts["submitted"], "skipped": counts["skipped"], "annotators": len(people)}
        return {**told, "changes": asdict(self.changes), "faults": [str(fault) for fault in self.faults]}


def ingest_export(folder: Path, plan: Plan, raw: bytes, name_of: NameOf) -> IngestResult:
    """Take an export of Label Studio: it has the place of all that came from there before.

    AnnotationError where it is none of this project, or a table of the folder cannot be read or written.
    """
    received = read(raw, plan, name_of)
    old = read_answers(folder)
    own = [each for each in old if each.of_sheet]
    return _written(folder, old, [*own, *received.annotations], received.faults)


def ingest_files(folder: Path, plan: Plan, files: Sequence[Path], own: NameOf, *, names: bool = False) -> IngestResult:
    """Take files: ``.csv`` is a sheet, of the annotator after whom it is named; anything else an export.

    `own` gives pseudonyms, which annotators have but with `names`. A sheet has the place of what the same annotator's
    sheet said before, under whichever name, if anything was answered in it. All files are read before anything is
    written; AnnotationError where one cannot be.
    """
    name_of = (lambda who: who.removeprefix(SHEET)) if names else own
    exports = [path for path in files if path.suffix.lower() != ".csv"]
    sheets = [path for path in files if path not in exports]
    if len(exports) > 1:
        raise AnnotationError("an export has the place of the one before: import one at a time")
    check_names(sheets)
    old = read_answers(folder)
    received = [_received(path, plan, name_of) for path in exports]
    filled = [read_sheet(plan, path, name_of(f"{SHEET}{owner(path)}")) for path in sheets]
    answered = [path for path, sheet in zip(sheets, filled, strict=True) if sheet.annotations]
    people = {name for path in answered for name in (owner(path), own(f"{SHEET}{owner(path)}"))}
    stay = [each for each in old if not (each.annotator in people if each.of_sheet else exports)]
    new = [each for told in received for each in told.annotations]
    new += [each for sheet in filled for each in sheet.annotations]
    faults: list[AnswerFinding | Finding] = [fault for told in received for fault in told.faults]
    faults += [fault for sheet in filled for fault in sheet.faults]
    known = {each.annotator for each in old}
    telling = [path for path, sheet in zip(sheets, filled, strict=True) if len(sheet.annotations) >= TELLING]
    again = {path for path in telling if known & {owner(path), own(f"{SHEET}{owner(path)}")}}
    faults += copies(folder, [(path, _read(path)) for path in telling], again)
    for path in files:
        keep(folder, _read(path), "json" if path in exports else "csv")
    return _written(folder, old, [*stay, *new], faults)


def _received(path: Path, plan: Plan, name_of: NameOf) -> ParsedExport:
    """What an export holds; AnnotationError, with its name, where it is none of this project."""
    try:
        return read(_read(path), plan, name_of)
    except AnnotationError as error:
        raise AnnotationError(f"{printable(str(path))}: {error}") from None


def _read(path: Path) -> bytes:
    try:
        return read_plain(path, MAX_BYTES)
    except OSError as error:
        raise AnnotationError(f"{printable(str(path))} cannot be read: {error.strerror}") from None


def _written(folder: Path, old: Iterable[Annotation], new: Sequence[Annotation], faults: Faulty) -> IngestResult:
    """The annotations of a project, written to its tables, and as these give them.

    AnnotationError where somebody's account and somebody's sheet have one name: they would be one person.
    """
    names = [{each.annotator for each in new if each.of_sheet is of_sheet} for of_sheet in (True, False)]
    if both := sorted(set.intersection(*names)):
        raise AnnotationError(f"{printable(both[0])} is an account and a sheet: give the sheet another name")
    before = [*old]
    write_answers(folder, new)
    now = read_answers(folder)
    return IngestResult(annotations=tuple(now), changes=changes(before, now), faults=tuple(faults))


def platform_of(annotations: Iterable[Annotation]) -> str:
    """With what people were asked."""
    kinds = {"CSV files" if each.of_sheet else "Label Studio" for each in annotations}
    return ", ".join(sorted(kinds, reverse=True)) or "Label Studio"
