"""A copy is made again from its parent as its record says, and compared with what there is.

record -> files in the folder -> parent -> a second copy beside the first -> differences
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from senseprobe.document import Section
from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.mitigation.debias import remove_directions
from senseprobe.evaluate.mitigation.parents import open_parent
from senseprobe.evaluate.mitigation.record import Record, read_map, read_record
from senseprobe.evaluate.mitigation.removal import Removal
from senseprobe.evaluate.models.alteration import MAP, RECORD
from senseprobe.messages import counted, printable
from senseprobe.release.hashing import file_sha256

_CIRCUMSTANCES = {"senseprobe", "files", "perplexity"}
"""What of a record is not compared as it stands there: files have a sentence each; a text may not be at hand."""


@dataclass(frozen=True, slots=True)
class CopyCheck:
    """Whether a copy is what its record says: its folder, its parent, how many files were compared, and what differs.

    `differences` are empty where all bytes are the same.
    """

    folder: Path
    parent: str
    files: int
    differences: tuple[str, ...]

    def section(self) -> Section:
        """Return what people read."""
        if self.differences:
            return Section("", (f"{printable(str(self.folder))} is not what its record says", *self.differences))
        same = f"{counted(self.files, 'file')} with the same sha256"
        return Section("", (f"{printable(str(self.folder))}: made again from {printable(self.parent)}, {same}",))

    def as_dict(self) -> dict[str, Any]:
        """Return it with the stable keys of ``--json``."""
        return {
            "folder": str(self.folder),
            "parent": self.parent,
            "files": self.files,
            "differences": [*self.differences],
        }


def check_copy(folder: Path, parent: str | None = None) -> CopyCheck:
    """Make a copy again from its parent, which is where its record says by default, and compare the two.

    Raises ModelError where there is no record, or the parent cannot be opened, and SenseprobeError without space.
    """
    if not folder.is_dir():
        raise ModelError(f"{printable(str(folder))} is not a folder that something was removed into")
    record = read_record(folder)
    if record is None:
        raise ModelError(f"{printable(str(folder))} does not have a {RECORD}, so nothing was removed from it")
    name = parent or record.parent.name
    differences = [*_compare_files(folder, record)] or [*_compare_copies(folder, record, name)]
    return CopyCheck(folder, name, len(record.files), tuple(differences))


def _compare_files(folder: Path, record: Record) -> Iterator[str]:
    """Yield which files of a folder are not those that its record names."""
    for name, digest in record.files.items():
        path = folder / name
        if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
            yield f"{printable(name)} is missing"
        elif file_sha256(path) != digest:
            yield f"{printable(name)} was changed: its sha256 is not that in {RECORD}"
    if (folder / RECORD).read_bytes() != record.to_bytes(complete=False):
        yield f"{RECORD} was changed: it is not as it was written"


def _compare_copies(folder: Path, record: Record, name: str) -> Iterator[str]:
    """Yield what differs when the copy is made again."""
    parent = open_parent(name)
    then, now = record.parent.identity, parent.identity
    if then != now:
        parts = [part for part in {**then, **now} if then.get(part) != now.get(part)]
        yield from (
            f"{printable(name)} is not the parent: {printable(part)} is {now.get(part, 'none')[:12]}, "
            f"not {then.get(part, 'none')[:12]}"
            for part in parts
        )
        return
    try:
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.again-", dir=folder.resolve().parent) as temporary:
            copy = Path(temporary) / "copy"
            with remove_directions(parent, Removal.of(record), copy) as repeated:
                pass
            yield from _compare_records(record, repeated)
            if record.files.get(MAP) != repeated.files.get(MAP):
                yield _compare_maps(folder, copy)
    except OSError as error:
        raise SenseprobeError(f"cannot make {folder} again: {error.strerror or error}") from error


def _compare_records(record: Record, repeated: Record) -> Iterator[str]:
    """Yield the files and the fields that differ."""
    is_renamed = sorted(record.files.values()) == sorted(repeated.files.values())  # a copy is called as its parent
    for name in () if is_renamed else {**record.files, **repeated.files}:
        if record.files.get(name) != repeated.files.get(name):
            yield f"{printable(name)} differs when it is made again"
    then, now = (entry.model_dump(mode="json") for entry in (record, repeated))
    for name in (name for name in then if name not in _CIRCUMSTANCES):
        if name == "parent":
            then[name]["name"] = now[name]["name"]
        if then[name] != now[name]:
            values = " ".join(f"{printable(str(value))[:60]} ->" for value in (then[name], now[name]))
            yield f"{name} in {RECORD} differs: {values.removesuffix(' ->')}"


def _compare_maps(folder: Path, copy: Path) -> str:
    """Return by how much two maps differ: processors round differently."""
    first, second = (read_map(path)[0] for path in (folder, copy))
    if first.left.shape != second.left.shape:
        return f"the map has rank {first.rank}, and made again {second.rank}"
    sides = ((getattr(first, name), getattr(second, name)) for name in ("left", "right", "mean"))
    most = max(float(np.abs(a - b).max()) for a, b in sides)
    return f"the map differs by at most {most:.1e}; another processor or version of NumPy may round so"
