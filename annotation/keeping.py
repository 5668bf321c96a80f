"""What was received, kept as it was: ``exports/NUMBER-SHA.json`` (``.csv`` for sheets) in the folder of a project."""

import hashlib
import re
from pathlib import Path

from senseprobe.errors import AnnotationError
from senseprobe.files import write_whole
from senseprobe.wording import printable

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
