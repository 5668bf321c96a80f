"""The store of what served models answered: a file of SQLite for each identity of a model, a row for each request.

A row is written as its answer arrives, so that a killed run loses only what was on its way. What is kept are answers
and hashes of requests; no prompt, no header and no key.
"""

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from senseprobe.evaluate.cache import KeyedFile
from senseprobe.tables import read_json

FORM = 1  # of the files. It is part of the key, so that a file of another form is never opened


class AnswerStore(KeyedFile):
    """Answers of the model that `identity` names, in a file of `folder`; to be used as a context manager.

    `identity` is a text: whatever changes it, as another fingerprint, begins another file. Without a folder it is
    ``answers`` in the user's cache. `warn` hears of a file that was renamed, and of one that cannot be used: then
    nothing is found, and nothing kept. Threads may share a store.
    """

    holds = "answers"
    columns = "request BLOB PRIMARY KEY, answer BLOB, checksum INTEGER"
    other_key = "belongs to another model"

    def __init__(self, folder: Path | None, identity: str, warn: Callable[[str], None] = lambda text: None) -> None:
        self._lock = Lock()
        super().__init__(json.dumps({"form": FORM, "identity": identity}), "answers", warn, folder)

    @property
    def path(self) -> Path:
        """The file of the answers; who deletes it deletes them."""
        return self._path

    def key(self, url: str, model: str, body: bytes) -> bytes:
        """Return the key of a request: the hash of the identity and of all that is asked."""
        parts = (self._key.encode(), url.encode(), model.encode(), body)
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()

    def get(self, key: bytes) -> Any | None:  # noqa: ANN401 - JSON
        """Return the stored answer; None without one, and where its row is damaged: then the next one replaces it."""
        with self._lock:
            row = self._use(
                lambda db: db.execute("SELECT answer, checksum FROM answers WHERE request = ?", (key,)).fetchone(), None
            )
        if row is None or not isinstance(row[0], bytes) or row[1] != self._checksum(key + row[0]):
            return None
        return read_json(zlib.decompress(row[0]))

    def add(self, key: bytes, answer: Any) -> None:  # noqa: ANN401 - JSON
        """Store an answer; once this returns, it outlives the process."""
        packed = zlib.compress(json.dumps(answer).encode())
        row = (key, packed, self._checksum(key + packed))

        def insert(db: sqlite3.Connection) -> None:
            with db:  # one transaction
                db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", row)

        with self._lock:
            self._use(insert, None)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _open(self) -> None:
        # Answers are nobody else's. SQLite gives its other files the permissions of this one.
        with suppress(OSError):  # what opens the file next says why it cannot
            if not self._path.exists():
                self._path.touch(mode=0o600)
        super()._open()
