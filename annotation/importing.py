"""Answers that come as files: exports of Label Studio, and sheets that annotators filled in."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from senseprobe.annotation.answers import Changes, changes, read_answers, write_answers
from senseprobe.annotation.exports import NameOf, Received, read
from senseprobe.annotation.faults import Fault
from senseprobe.annotation.filled import TELLING, check_names, copies, owner
from senseprobe.annotation.jsonform import MAX_BYTES
from senseprobe.annotation.keeping import keep
from senseprobe.annotation.pseudonyms import SHEET
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.annotation.sheets import read_sheet
from senseprobe.errors import AnnotationError
from senseprobe.files import read_plain
from senseprobe.records import Finding
from senseprobe.wording import printable

Faulty = Sequence[Fault | Finding] | Sequence[Fault]

_USUAL = {"draft", "duplicate", "empty", "unfinished"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """What was taken into a project: all annotations that it has now, what changed, and what is odd.

    `usual`: whether all that is odd is what any annotation under way has: drafts, second thoughts, empty answers.
    """

    annotations: tuple[Annotation, ...]
    changes: Changes
    faults: tuple[Fault | Finding, ...]

    @property
    def usual(self) -> bool:
        """Whether nothing needs a look."""
        return all(isinstance(fault, Fault) and fault.kind in _USUAL for fault in self.faults)

    def as_dict(self) -> dict[str, Any]:
        """Counts, and what is odd, with stable keys; nothing that anybody said."""
        counts = Counter(each.status for each in self.annotations)
        people = {each.annotator for each in self.annotations}
        told = {"submitted": counts["submitted"], "skipped": counts["skipped"], "annotators": len(people)}
        return {**told, "changes": asdict(self.changes), "faults": [str(fault) for fault in self.faults]}


def take(folder: Path, plan: Plan, raw: bytes, name_of: NameOf) -> Taken:
    """Take an export of Label Studio: it has the place of all that came from there before.

    AnnotationError where it is none of this project, or a table of the folder cannot be read or written.
    """
    received = read(raw, plan, name_of)
    old = read_answers(folder)
    own = [each for each in old if each.of_sheet]
    return _written(folder, old, [*own, *received.annotations], received.faults)


def take_files(folder: Path, plan: Plan, files: Sequence[Path], own: NameOf, *, names: bool = False) -> Taken:
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
    faults: list[Fault | Finding] = [fault for told in received for fault in told.faults]
    faults += [fault for sheet in filled for fault in sheet.faults]
    known = {each.annotator for each in old}
    telling = [path for path, sheet in zip(sheets, filled, strict=True) if len(sheet.annotations) >= TELLING]
    again = {path for path in telling if known & {owner(path), own(f"{SHEET}{owner(path)}")}}
    faults += copies(folder, [(path, _read(path)) for path in telling], again)
    for path in files:
        keep(folder, _read(path), "json" if path in exports else "csv")
    return _written(folder, old, [*stay, *new], faults)


def _received(path: Path, plan: Plan, name_of: NameOf) -> Received:
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


def _written(folder: Path, old: Iterable[Annotation], new: Sequence[Annotation], faults: Faulty) -> Taken:
    """The annotations of a project, written to its tables, and as these give them.

    AnnotationError where somebody's account and somebody's sheet have one name: they would be one person.
    """
    names = [{each.annotator for each in new if each.of_sheet is of_sheet} for of_sheet in (True, False)]
    if both := sorted(set.intersection(*names)):
        raise AnnotationError(f"{printable(both[0])} is an account and a sheet: give the sheet another name")
    before = [*old]
    write_answers(folder, new)
    now = read_answers(folder)
    return Taken(annotations=tuple(now), changes=changes(before, now), faults=tuple(faults))


def platform_of(annotations: Iterable[Annotation]) -> str:
    """With what people were asked."""
    kinds = {"CSV files" if each.of_sheet else "Label Studio" for each in annotations}
    return ", ".join(sorted(kinds, reverse=True)) or "Label Studio"
