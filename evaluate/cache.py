"""Scores that were computed before, so that they are not computed again.

A file of SQLite for each way to make numbers: the hashes of weights, config and tokenizer, the number format, the
scorer (or what it shares with others) and the version of its definition. A row has the digest of a unit, its numbers
and a checksum. Rows are only ever added, those of a forward pass at once: whatever kills the process, no more than the
pass that was under way is lost.

A number that is not certainly what was stored is no hit: a file that is damaged, or somebody else's, is set aside.
A store that cannot be used is said once, and scoring goes on without.
"""

import hashlib
import json
import os
import re
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.units import Unit

T = TypeVar("T")

FORM = 1
"""Of the files. It is part of the key, so that a file of another form is never opened."""

WAIT = 30.0
"""Seconds that a process waits for another one that writes; a write takes less than a thousandth of one."""

_PARTS = ("weights", "config", "tokenizer", "dtype")
_DIGEST_BYTES = 16
_TABLES = """
    CREATE TABLE IF NOT EXISTS key (text TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS scores (number INTEGER PRIMARY KEY, unit BLOB, numbers BLOB, checksum INTEGER);
"""
# What SQLite says of a file that is not as SQLite wrote it; all else (no space, no permission) is the world's fault.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH}
_DAMAGE |= {sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_INTERNAL}


def default_folder() -> Path:
    """``senseprobe/scores`` in ``$XDG_CACHE_HOME`` or ``~/.cache``; RuntimeError where there is no home."""
    named = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return (named if named.is_absolute() else Path.home() / ".cache") / "senseprobe" / "scores"


class _NotOurs(Exception):
    """What a file holds is not what this store wrote."""


class Store:
    """The numbers that a scorer makes with a model, kept in `folder`; to be used as a context manager.

    `say` hears, in one sentence each, of a file that was set aside and of a store that cannot be used.
    """

    def __init__(
        self, identity: Mapping[str, str], scorer: Scorer, say: Callable[[str], None], folder: Path | None = None
    ) -> None:
        parts = {part: identity[part] for part in _PARTS}
        # What a plug-in computes is its own: no other's numbers are taken for it, nor ours.
        parts |= {part: identity[part] for part in ("family",) if part in identity}
        parts |= {"origin": scorer.origin} if scorer.origin else {}
        name, columns = scorer.basis or scorer.id, scorer.parts or scorer.columns
        key = {"form": FORM, "scorer": name, "version": scorer.version, "columns": columns, **parts}
        self._key = json.dumps(key, sort_keys=True)
        self._seed = zlib.crc32(self._key.encode())
        self._pack = struct.Struct(f"<{len(columns)}d")
        self._say = say
        self._db: sqlite3.Connection | None = None
        try:
            place = default_folder() if folder is None else folder
            place.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError) as error:
            self._give_up(error)
            return
        readable = re.sub(r"[^A-Za-z0-9._-]", "-", name)[:40]
        self._path = place / f"{readable}-{hashlib.sha256(self._key.encode()).hexdigest()[:24]}.sqlite"
        self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()

    def known(self, units: Iterable[Unit]) -> dict[Unit, tuple[float, ...]]:
        """What is stored of distinct units: their numbers, NaN where a unit is unscored."""
        return self._use(lambda db: self._look(db, units), {})

    def keep(self, answers: Iterable[tuple[Unit, tuple[float, ...]]]) -> None:
        """Store the answers of one forward pass, all of them or, if the process dies, none."""
        rows = [(_digest(unit), self._pack.pack(*numbers)) for unit, numbers in answers]
        checked = [(*row, self._checksum(*row)) for row in rows]
        self._use(lambda db: self._add(db, checked), None)

    def _look(self, db: sqlite3.Connection, units: Iterable[Unit]) -> dict[Unit, tuple[float, ...]]:
        """All rows are read, however few are asked for: adding one costs the less, and a million take a second.

        Of a unit that two processes have stored, the first counts: the last bits of the other may differ.
        """
        asked = {_digest(unit): unit for unit in units}
        rows = self._rows(db)
        return {asked.pop(unit): self._pack.unpack(numbers) for unit, numbers in rows if unit in asked}

    def _rows(self, db: sqlite3.Connection) -> Iterator[tuple[bytes, bytes]]:
        for unit, numbers, checksum in db.execute("SELECT unit, numbers, checksum FROM scores ORDER BY number"):
            blobs = isinstance(unit, bytes) and isinstance(numbers, bytes) and len(numbers) == self._pack.size
            if not blobs or checksum != self._checksum(unit, numbers):
                raise _NotOurs("is damaged")
            yield unit, numbers

    def _checksum(self, unit: bytes, numbers: bytes) -> int:
        """Of a row, with the key: neither a flipped bit nor a row of another store passes for one of this."""
        return zlib.crc32(unit + numbers, self._seed)

    @staticmethod
    def _add(db: sqlite3.Connection, rows: list[tuple[bytes, bytes, int]]) -> None:
        with db:  # one transaction
            db.executemany("INSERT INTO scores (unit, numbers, checksum) VALUES (?, ?, ?)", rows)

    def _open(self) -> None:
        try:
            self._db = sqlite3.connect(self._path, timeout=WAIT)
        except sqlite3.Error as error:
            self._give_up(error)
        self._use(self._prepare, None)

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Make the tables where there are none, and see whose file it is.

        With a write-ahead log and synchronous=NORMAL a commit waits for no disk. A process that is killed loses nothing
        that it committed; a machine that loses its power may lose the last commits, but never the file's consistency.
        """
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
        if tables and tables != {"key", "scores"}:
            raise _NotOurs("is not a store of scores")
        if db.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            _ask_for_log(db)
        db.execute("PRAGMA synchronous=NORMAL")
        if not tables:
            db.executescript(f"BEGIN IMMEDIATE;{_TABLES}COMMIT;")
            with db:
                db.execute("INSERT OR IGNORE INTO key VALUES (?)", (self._key,))
        if db.execute("SELECT text FROM key").fetchall() != [(self._key,)]:
            raise _NotOurs("is of other weights or another scorer")

    def _use(self, act: Callable[[sqlite3.Connection], T], otherwise: T, *, again: bool = True) -> T:
        """What `act` makes of the open file, or the new one where it is set aside; `otherwise` where there is none."""
        if self._db is None:
            return otherwise
        try:
            return act(self._db)
        except _NotOurs as error:
            self._set_aside(str(error))
        except UnicodeDecodeError:  # a damaged name, perhaps in what SQLite says of the damage
            self._set_aside("is damaged")
        except sqlite3.Error as error:
            if self._is_damage(error):
                self._set_aside(f"is damaged ({error})")
            else:
                self._give_up(error)
        return self._use(act, otherwise, again=False) if again else otherwise

    def _is_damage(self, error: sqlite3.Error) -> bool:
        """Whether an error is of what the file holds: its header, too, can say that it is not to be written."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        return code in _DAMAGE or (code == sqlite3.SQLITE_READONLY and os.access(self._path, os.W_OK))

    def _set_aside(self, reason: str) -> None:
        """Give the file another name, and begin a new one."""
        self._close()
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.aside-{number}")).exists():
            number += 1
        try:
            for end in ("", "-wal"):
                if (part := Path(f"{self._path}{end}")).exists():
                    part.rename(f"{aside}{end}")
            Path(f"{self._path}-shm").unlink(missing_ok=True)
        except OSError as error:
            self._give_up(error)
            return
        self._say(f"the stored scores in {self._path} are not used: the file {reason}; it is now {aside.name}")
        self._open()

    def _give_up(self, error: Exception) -> None:
        """Go on without a store; said once, since there is nothing left that could fail."""
        self._close()
        reason = getattr(error, "strerror", None) or error
        self._say(f"scores are not kept for the next run: {reason}")

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _ask_for_log(db: sqlite3.Connection) -> None:
    """Ask for a write-ahead log. A file system may not have any, and another process may be asking at this moment."""
    try:
        db.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise


def _digest(unit: Unit) -> bytes:
    """The digest of what a unit holds; the order of sentences only where it is turned, as it was not always there."""
    held = unit if unit.second else unit[:-1]
    return hashlib.blake2b(json.dumps(held).encode(), digest_size=_DIGEST_BYTES).digest()
