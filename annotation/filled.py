"""Sheets that were filled in: whose each is, and which come twice."""

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from senseprobe.annotation.keeping import kept
from senseprobe.errors import AnnotationError
from senseprobe.records import Finding
from senseprobe.wording import printable

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
