"""Models and files of vectors that something was removed from: a record beside them is a part of their identity.

The record is `debias.json`, which the room for mitigation writes; here it is only hashed, and its line is read that
says what was removed. A model's weights differ from the parent's, too, but for one that is altered as it is loaded.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.atomic_files import read_plain
from senseprobe.errors import ModelError
from senseprobe.messages import printable
from senseprobe.plugins import Registry
from senseprobe.tables import UnreadableError, read_json

RECORD = "debias.json"
"""The file beside a model, or a file of vectors, that says what was removed from it."""

MAP = "debias.safetensors"
"""The file beside that with the map, and what it removed."""

ALTERATION_FILES = (RECORD, MAP)
"""Files beside vectors that have none themselves."""

MOST_RECORD = 2**26
"""Bytes of it."""

DIGEST = "debias"
"""The part of a model's identity that is the sha256 of its record."""

REMOVED = "removed"
"""What a result says of a model beside that: in one line, what was removed."""

_LONGEST = 1024

FloatArray: TypeAlias = NDArray[np.float64]
Tables: TypeAlias = Mapping[str, pd.DataFrame]


class AlteredModel(Protocol):
    """What a model has, that something was removed from, so that it can be told which texts are one to it.

    Files of vectors are read by their lines. One that predicts tokens has `output_vectors`, too, as ours.

    - `alteration`: the folder of the record.
    """

    alteration: Path

    def table_rows(self, level: str, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return of each text the rows of the table of embeddings that it is read as; `level` is a scorer's."""

    def input_vectors(self, rows: Sequence[int]) -> FloatArray:
        """Return the vectors of rows: float64 of shape (rows, dimensions)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alteration:
    """What a room does with models that something was removed from.

    - `load(model, folder)`: alters a model that was loaded, where the record says that it is altered so.
    - `mark(tables, scorer, model)`: returns the tables of scored rows, by config, with the columns that say which rows
      are one to the model (evaluate/erased_rows.py).
    """

    id: str
    load: Callable[[Any, Path], None]
    mark: Callable[[Tables, Any, AlteredModel], Tables]
    origin: str = ""


ALTERATIONS = Registry("senseprobe.alterations", Alteration, "alteration", (), lambda alteration: alteration)


def alter_model(model: Any, folder: Path) -> None:  # noqa: ANN401 - of any family
    """Let rooms alter a model that was loaded, and note the `folder` of its record."""
    with suppress(AttributeError):  # of a plug-in's model that takes no more attributes
        model.alteration = folder
    _, record = (b"", {}) if ALTERATIONS.ours else read_alteration(folder) or (b"", {})
    if record.get("layers", "input") != "input":
        raise ModelError(f"{model.name} is altered as it is loaded, by evaluate/mitigation, which is missing here")
    for alteration in ALTERATIONS.ours.values():
        alteration.load(model, folder)


def mark_erased(tables: Tables, scorer: Any, model: Any, warn: Callable[[str], None]) -> Tables:  # noqa: ANN401
    """Return the tables of scored rows with marks of those that are one to a model; as they are of one as it was."""
    if getattr(model, "alteration", None) is None:
        return tables
    if not ALTERATIONS.ours:
        warn(
            f"rows that are erased by what was removed from {model.name} are not marked: evaluate/mitigation is missing"
        )
    for alteration in ALTERATIONS.ours.values():
        tables = alteration.mark(tables, scorer, model)
    return tables


def identify_alteration(path: Path) -> dict[str, str]:
    """Return what the record in a folder, or beside a file, adds to an identity: sha256 and what was removed.

    Nothing without a record, or where that is not of the file. Raises ModelError where it cannot be read, or does not
    say what was removed.
    """
    path = path.expanduser()
    if (contents := read_alteration(path)) is None:
        return {}
    data, record = contents
    removed, files = record.get(REMOVED), record.get("files")
    if not isinstance(removed, str) or not isinstance(files, dict) or not _may_be_signed(removed):
        file = record_path(path)
        raise ModelError(f"{printable(str(file))} does not say what was removed: make the folder again")
    if path.is_file() and path.name not in files:
        return {}
    return {DIGEST: hashlib.sha256(data).hexdigest(), REMOVED: removed}


def record_path(path: Path) -> Path:
    """Return where the record is in a folder, or beside a file."""
    path = path.expanduser()
    return (path if path.is_dir() else path.parent) / RECORD


def read_alteration(path: Path) -> tuple[bytes, Any] | None:
    """Return the bytes of the record in a folder, or beside a file, and its JSON, an object; None without a record.

    Raises ModelError where it cannot be read.
    """
    file = record_path(path)
    if not os.path.lexists(file):  # a link to nothing is a record that cannot be read
        return None
    try:
        data = read_plain(resolve_stored(file), MOST_RECORD)
        value = read_json(data)
    except UnreadableError as error:
        raise ModelError(error.at(file)) from None
    except OSError as error:
        raise ModelError(f"{printable(str(file))} cannot be read: {error.strerror or error}") from None
    return data, value if isinstance(value, dict) else {}


def resolve_stored(path: Path) -> Path:
    """Return a path; in the cache of the Hub, where all files are links, that in the store of the same repository."""
    target = path.resolve() if path.is_symlink() else path
    return target if target.parent == find_store(path.parent) else path


def find_store(folder: Path) -> Path | None:
    """Return where the cache of the Hub has the files that those of a folder are links to; None of other folders."""
    folder = folder.resolve()
    return folder.parent.parent / "blobs" if folder.parent.name == "snapshots" else None


def _may_be_signed(text: str) -> bool:
    """Return whether a text is one line that may stand in a result."""
    return 0 < len(text) <= _LONGEST and text.isprintable() and "|" not in text
