"""Answers that come as files: exports of Label Studio, and sheets that annotators filled in."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from senseprobe.annotation.answers import Changes, changes, read_answers, write_answers
from senseprobe.annotation.exports import NameOf, read
from senseprobe.annotation.faults import Fault
from senseprobe.annotation.jsonform import MAX_BYTES
from senseprobe.annotation.keeping import keep
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.annotation.sheets import read_sheet
from senseprobe.errors import AnnotationError
from senseprobe.files import read_plain
from senseprobe.records import Finding
from senseprobe.release.form import printable

__all__ = ["Taken", "platform_of", "take", "take_files"]


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
    own = [each for each in old if _of_sheet(each)]
    return _written(folder, old, [*own, *received.annotations], received.faults)


def take_files(folder: Path, plan: Plan, files: Sequence[Path], name_of: NameOf) -> Taken:
    """Take files: ``.csv`` is a sheet, of the annotator after whom it is named; anything else an export.

    A sheet has the place of what the same annotator's sheet said before. All files are read before anything is written;
    AnnotationError where one cannot be.
    """
    exports = [path for path in files if path.suffix.lower() != ".csv"]
    sheets = [path for path in files if path not in exports]
    if len(exports) > 1:
        raise AnnotationError("an export has the place of the one before: import one at a time")
    names = [path.stem for path in sheets]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise AnnotationError(f"two sheets are called {printable(twice)}: sheets are named after their annotators")
    old = read_answers(folder)
    received = [read(_read(path), plan, name_of) for path in exports]
    filled = [read_sheet(plan, path, name_of(path.stem)) for path in sheets]
    people = {name_of(name) for name in names}
    kept = [each for each in old if not (each.annotator in people if _of_sheet(each) else exports)]
    new = [each for told in received for each in told.annotations]
    new += [each for sheet in filled for each in sheet.annotations]
    faults: list[Fault | Finding] = [fault for told in received for fault in told.faults]
    faults += [fault for sheet in filled for fault in sheet.faults]
    for path in files:
        keep(folder, _read(path), "json" if path in exports else "csv")
    return _written(folder, old, [*kept, *new], faults)


def _of_sheet(annotation: Annotation) -> bool:
    """Whether an annotation came in a sheet: its id is made of annotator and row."""
    return annotation.id == f"{annotation.annotator}/{annotation.row}"


def _read(path: Path) -> bytes:
    try:
        return read_plain(path, MAX_BYTES)
    except OSError as error:
        raise AnnotationError(f"{printable(str(path))} cannot be read: {error.strerror}") from None


def _written(folder: Path, old: Iterable[Annotation], new: Sequence[Annotation], faults: Faulty) -> Taken:
    """The annotations of a project, written to its tables, and as these give them."""
    before = [*old]
    write_answers(folder, new)
    now = read_answers(folder)
    return Taken(annotations=tuple(now), changes=changes(before, now), faults=tuple(faults))


def platform_of(annotations: Iterable[Annotation]) -> str:
    """With what people were asked."""
    kinds = {"CSV files" if _of_sheet(each) else "Label Studio" for each in annotations}
    return ", ".join(sorted(kinds, reverse=True)) or "Label Studio"
