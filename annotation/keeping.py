"""What was received, kept as it was: ``exports/NUMBER-SHA.json`` (``.csv`` for sheets) in the folder of a project."""

import hashlib
import re
from pathlib import Path

from senseprobe.errors import AnnotationError
from senseprobe.files import write_whole
from senseprobe.wording import printable

__all__ = ["EXPORTS", "keep"]

EXPORTS = "exports"

_NAME = re.compile(r"([0-9]{4,9})-([0-9a-f]{12})\.(json|csv)")


def keep(folder: Path, raw: bytes, suffix: str = "json") -> tuple[Path, bool]:
    """The file in a project's folder that holds what was received, and whether it was written now.

    It is not written again where the last one of its kind has the same bytes. AnnotationError where it cannot be.
    """
    place, digest = folder / EXPORTS, hashlib.sha256(raw).hexdigest()[:12]
    try:
        place.mkdir(parents=True, exist_ok=True)
        found = sorted((int(told[1]), path) for path in place.iterdir() if (told := _NAME.fullmatch(path.name)))
        last = next((path for _, path in reversed(found) if path.suffix == f".{suffix}"), None)
        if last is not None and last.stem.endswith(f"-{digest}") and last.stat().st_size == len(raw):
            return last, False
        path = place / f"{(found[-1][0] if found else 0) + 1:04d}-{digest}.{suffix}"
        write_whole(path, raw)
    except OSError as error:
        raise AnnotationError(f"{printable(str(place))} cannot be written: {error.strerror}") from None
    return path, True
