"""The store of computed scores: a file of SQLite for each way to make numbers, and what any store of ours needs.

The way is the hashes of weights, config and tokenizer, the number format, the scorer (or what it shares with others)
and the version of its definition. Rows are only ever added, those of a forward pass at once, each with the digest of a
unit, its numbers and a checksum. A file that is damaged, or somebody else's, is renamed; without one, scoring goes on.
"""

import hashlib
import json
import os
import re
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.units import Unit
from senseprobe.project import cache_folder

T = TypeVar("T")

FORM = 1  # of the files. It is part of the key, so that a file of another form is never opened
WAIT = 30.0  # seconds that a process waits for another one that writes; a write takes less than a thousandth of one
_PARTS = ("weights", "config", "tokenizer", "dtype")
DIGEST_BYTES = 16
# What SQLite says of a file that is not as SQLite wrote it; all else (no space, no permission) is no damage.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH}
_DAMAGE |= {sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_INTERNAL}


class Rejected(Exception):
    """Raised where a file is not as this store wrote it."""


class KeyedFile:
    """A file of SQLite for each key, whose rows are only added; to be used as a context manager.

    A subclass says what it holds (`holds`, which names the table and the folder, too), the columns of the table, and
    what is so of a file that has another key. `warn` hears, in one sentence each, of a file that was renamed and of a
    file that cannot be used: then nothing is found, and nothing kept.
    """

    holds: ClassVar[str]
    columns: ClassVar[str]
    other_key: ClassVar[str]

    def __init__(self, key: str, name: str, warn: Callable[[str], None], folder: Path | None) -> None:
        self._key, self._warn = key, warn
        self._seed = zlib.crc32(key.encode())
        self._db: sqlite3.Connection | None = None
        self._path = Path(
            f"{re.sub(r'[^A-Za-z0-9._-]', '-', name)[:40]}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.sqlite"
        )
        try:
            self._path = (folder or cache_folder(self.holds)) / self._path
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError) as error:
            self._give_up(error)
        else:
            self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()

    def _checksum(self, row: bytes) -> int:
        """Return the checksum of a row and the key: neither a flipped bit nor another file's row passes."""
        return zlib.crc32(row, self._seed)

    def _open(self) -> None:
        try:
            # Threads may share a file where its class has a lock.
            self._db = sqlite3.connect(self._path, timeout=WAIT, check_same_thread=False)
        except sqlite3.Error as error:
            self._give_up(error)
        self._use(self._prepare, None)

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Make the tables where there are none, and check whose file it is."""
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
        if tables and tables != {"key", self.holds}:
            raise Rejected(f"is not a store of {self.holds}")
        # With a write-ahead log and synchronous=NORMAL a commit waits for no disk: a machine that loses its power may
        # lose the last ones, never the file's consistency, and a process that is killed nothing.
        if db.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                db.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:  # another process may request it at this moment
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
        db.execute("PRAGMA synchronous=NORMAL")
        if not tables:
            db.executescript(
                "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS key (text TEXT PRIMARY KEY) WITHOUT ROWID;"
                f" CREATE TABLE IF NOT EXISTS {self.holds} ({self.columns}); COMMIT;"
            )
            with db:
                db.execute("INSERT OR IGNORE INTO key VALUES (?)", (self._key,))
        if db.execute("SELECT text FROM key").fetchall() != [(self._key,)]:
            raise Rejected(self.other_key)

    def _use(self, act: Callable[[sqlite3.Connection], T], default: T, *, retry: bool = True) -> T:
        """Return what `act` makes of the open file, or of a new one where it is rejected; `default` without a file."""
        if self._db is None:
            return default
        try:
            return act(self._db)
        except Rejected as error:
            self._replace(str(error))
        except UnicodeDecodeError:  # a damaged name, perhaps in what SQLite says of the damage
            self._replace("is damaged")
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            # A header, too, can say that a file is not to be written.
            if code in _DAMAGE or (code == sqlite3.SQLITE_READONLY and os.access(self._path, os.W_OK)):
                self._replace(f"is damaged ({error})")
            else:
                self._give_up(error)
        return self._use(act, default, retry=False) if retry else default

    def _replace(self, reason: str) -> None:
        self._close()
        names = (self._path.with_name(f"{self._path.name}.aside-{number}") for number in count(1))
        renamed = next(path for path in names if not path.exists())
        try:
            for end in ("", "-wal"):
                if (part := Path(f"{self._path}{end}")).exists():
                    part.rename(f"{renamed}{end}")
            Path(f"{self._path}-shm").unlink(missing_ok=True)
        except OSError as error:
            self._give_up(error)
            return
        self._warn(
            f"the stored {self.holds} in {self._path} are not used: the file {reason}; it was renamed to {renamed.name}"
        )
        self._open()

    def _give_up(self, error: Exception) -> None:
        """Go on without a store; warned of once, since there is nothing left that could fail."""
        self._close()
        self._warn(f"{self.holds} cannot be stored for the next run: {getattr(error, 'strerror', None) or error}")

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


class Store(KeyedFile):
    """The numbers that a scorer makes with a model, stored in `folder`; to be used as a context manager.

    `warn` hears, in one sentence each, of a file that was renamed and of a store that cannot be used. Vectors have so
    many numbers as `width` says, in float32.
    """

    holds = "scores"
    columns = "number INTEGER PRIMARY KEY, unit BLOB, numbers BLOB, checksum INTEGER"
    other_key = "belongs to other weights or another scorer"

    def __init__(
        self,
        identity: Mapping[str, str],
        scorer: Scorer,
        warn: Callable[[str], None],
        folder: Path | None = None,
        width: int | None = None,
    ) -> None:
        parts = {part: identity[part] for part in _PARTS}
        # What a plug-in computes is its own: no other's numbers are taken for it, nor ours.
        parts |= {part: identity[part] for part in ("family", "encoding", "template", "debias") if part in identity}
        parts |= {"origin": scorer.origin} if scorer.origin else {}
        name, columns = scorer.basis or scorer.id, scorer.parts or scorer.columns
        key = {"form": FORM, "scorer": name, "version": scorer.version, "columns": columns, **parts}
        self._pack = struct.Struct(f"<{len(columns)}d" if width is None else f"<{width}f")
        # Of vectors arrays: tuples of all their numbers would take eight times the memory.
        as_array: Callable[[bytes], Any] = partial(np.frombuffer, dtype="<f4")
        self._unpack = self._pack.unpack if width is None else as_array
        super().__init__(json.dumps(key, sort_keys=True), name, warn, folder)

    def load(self, units: Iterable[Unit]) -> dict[Unit, tuple[float, ...]]:
        """Return what is stored of distinct units: their numbers, NaN where a unit is unscored.

        All rows are read, however few are requested: without an index adding is cheap, and a million take a second. Of
        a unit that two processes have stored, the first counts: the last bits of the other may differ.
        """
        requested = {digest_unit(unit): unit for unit in units}

        def select(db: sqlite3.Connection) -> dict[Unit, tuple[float, ...]]:
            answers = {}
            for unit, numbers, checksum in db.execute("SELECT unit, numbers, checksum FROM scores ORDER BY number"):
                blobs = isinstance(unit, bytes) and isinstance(numbers, bytes) and len(numbers) == self._pack.size
                if not blobs or checksum != self._checksum(unit + numbers):
                    raise Rejected("is damaged")
                if unit in requested:
                    answers[requested.pop(unit)] = self._unpack(numbers)
            return answers

        return self._use(select, {})

    def add(self, answers: Iterable[tuple[Unit, tuple[float, ...]]]) -> None:
        """Store the answers of one forward pass, all of them or, if the process dies, none."""
        rows = [(digest_unit(unit), self._pack.pack(*numbers)) for unit, numbers in answers]
        checked = [(*row, self._checksum(b"".join(row))) for row in rows]

        def insert(db: sqlite3.Connection) -> None:
            with db:  # one transaction
                db.executemany("INSERT INTO scores (unit, numbers, checksum) VALUES (?, ?, ?)", checked)

        self._use(insert, None)


def digest_unit(unit: Unit) -> bytes:
    """Return the digest of a unit, with `second` only where it is true: older files have units without it."""
    fields = unit if unit.second else unit[:-1]
    return hashlib.blake2b(json.dumps(fields).encode(), digest_size=DIGEST_BYTES).digest()
