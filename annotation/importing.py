"""Answers that come as files: exports of Label Studio, and sheets that annotators filled in."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from senseprobe.annotation.answers import Changes, changes, read_answers, write_answers
from senseprobe.annotation.exports import NameOf, Received, read
from senseprobe.annotation.faults import Fault
from senseprobe.annotation.jsonform import MAX_BYTES
from senseprobe.annotation.keeping import keep
from senseprobe.annotation.pseudonyms import SHEET
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.annotation.sheets import read_sheet
from senseprobe.errors import AnnotationError
from senseprobe.files import read_plain
from senseprobe.records import Finding
from senseprobe.wording import printable

__all__ = ["Taken", "platform_of", "take", "take_files"]


Faulty = Sequence[Fault | Finding] | Sequence[Fault]

_TELLING = 8
"""Items from which two sheets are not alike by chance: each has an order of its own."""

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
    sheet said before, under whichever name. All files are read before anything is written; AnnotationError where one
    cannot be.
    """
    name_of = (lambda who: who.removeprefix(SHEET)) if names else own
    exports = [path for path in files if path.suffix.lower() != ".csv"]
    sheets = [path for path in files if path not in exports]
    if len(exports) > 1:
        raise AnnotationError("an export has the place of the one before: import one at a time")
    _check_names(sheets)
    old = read_answers(folder)
    received = [_received(path, plan, name_of) for path in exports]
    filled = [read_sheet(plan, path, name_of(f"{SHEET}{path.stem}")) for path in sheets]
    people = {name for path in sheets for name in (path.stem, own(f"{SHEET}{path.stem}"))}
    kept = [each for each in old if not (each.annotator in people if each.of_sheet else exports)]
    new = [each for told in received for each in told.annotations]
    new += [each for sheet in filled for each in sheet.annotations]
    faults: list[Fault | Finding] = [fault for told in received for fault in told.faults]
    faults += [fault for sheet in filled for fault in sheet.faults]
    faults += _copies(path for path, sheet in zip(sheets, filled, strict=True) if len(sheet.annotations) >= _TELLING)
    for path in files:
        keep(folder, _read(path), "json" if path in exports else "csv")
    return _written(folder, old, [*kept, *new], faults)


def _check_names(sheets: Sequence[Path]) -> None:
    """AnnotationError where sheets are not named so that each can be an annotator's."""
    names = [path.stem for path in sheets]
    if strange := next((name for name in names if not name.isprintable()), None):
        raise AnnotationError(f"{strange!a} is no annotator's name: sheets are named after their annotators")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise AnnotationError(f"two sheets are called {twice}: sheets are named after their annotators")


def _copies(sheets: Iterable[Path]) -> Iterator[Finding]:
    """Sheets with the bytes of another one: one person's, under two names."""
    seen: dict[bytes, Path] = {}
    for path in sheets:
        first = seen.setdefault(sha256(_read(path)).digest(), path)
        if first is not path:
            message = f"is the same file as {first}: if one person filled it in, these answers count twice"
            yield Finding(path=printable(str(path)), code="A107", message=printable(message))


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
    """The annotations of a project, written to its tables, and as these give them."""
    before = [*old]
    write_answers(folder, new)
    now = read_answers(folder)
    return Taken(annotations=tuple(now), changes=changes(before, now), faults=tuple(faults))


def platform_of(annotations: Iterable[Annotation]) -> str:
    """With what people were asked."""
    kinds = {"CSV files" if each.of_sheet else "Label Studio" for each in annotations}
    return ", ".join(sorted(kinds, reverse=True)) or "Label Studio"
