"""The store of what served models answered: a file of SQLite for each identity of a model, a row for each request."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


class AnswerStore:
    """Answers of the model that `identity` names, each written as it arrives, in a file of `folder`.

    `identity` is a text: whatever changes it (another fingerprint) begins another file. Without a folder it is
    ``answers`` in the user's cache. `warn` hears of a file that was renamed, and of a store that cannot be used. Threads
    may share it.
    """

    def __init__(self, folder: Path | None, identity: str, warn: Callable[[str], None] = lambda text: None) -> None:
        raise NotImplementedError

    @property
    def path(self) -> Path:
        """The file of the answers; delete it to delete them."""
        raise NotImplementedError

    def key(self, url: str, model: str, body: bytes) -> bytes:
        """Return the key of a request: the hash of the identity and of all that is asked."""
        raise NotImplementedError

    def get(self, key: bytes) -> Any | None:  # noqa: ANN401 - JSON
        """Return the stored answer, None without one."""
        raise NotImplementedError

    def add(self, key: bytes, answer: Any) -> None:  # noqa: ANN401 - JSON
        """Store an answer; an earlier one to the same request stays."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        raise NotImplementedError
