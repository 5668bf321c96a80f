"""Models and files of vectors that something was removed from: a record beside them is a part of their identity.

The record is `debias.json`, which the room for mitigation writes; here it is only hashed, and its line is read that
says what was removed. A model's weights differ from the parent's, too, but for one that is altered as it is loaded.
"""

import hashlib
from pathlib import Path

from senseprobe.atomic_files import read_plain
from senseprobe.errors import ModelError
from senseprobe.messages import printable
from senseprobe.tables import UnreadableError, read_json

RECORD = "debias.json"
"""The file beside a model, or a file of vectors, that says what was removed from it."""

MOST_RECORD = 2**26
"""Bytes of it."""

DIGEST = "debias"
"""The part of a model's identity that is the sha256 of its record."""

REMOVED = "removed"
"""What a result says of a model beside that: in one line, what was removed."""

_LONGEST = 1024


def identify_alteration(path: Path) -> dict[str, str]:
    """Return what the record in a folder, or beside a file, adds to an identity: sha256 and what was removed.

    Nothing without a record. Raises ModelError where it cannot be read, or does not say what was removed.
    """
    file = (path if path.is_dir() else path.parent) / RECORD
    if not file.exists():
        return {}
    try:
        data = read_plain(file, MOST_RECORD)
        record = read_json(data)
    except UnreadableError as error:
        raise ModelError(error.at(file)) from None
    except OSError as error:
        raise ModelError(f"{printable(str(file))} cannot be read: {error.strerror or error}") from None
    removed = record.get(REMOVED) if isinstance(record, dict) else None
    is_line = isinstance(removed, str) and 0 < len(removed) <= _LONGEST and removed.isprintable()
    if not is_line or "|" in removed:  # it goes into results and signatures
        raise ModelError(f"{printable(str(file))} does not say what was removed: make the folder again")
    return {DIGEST: hashlib.sha256(data).hexdigest(), REMOVED: str(removed)}
