"""What a library answered, in a file of the user's that saves time and nothing else: it may be lost or damaged."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from senseprobe.files import write_whole

MOST_KEPT = 10_000
"""Answers of a kind that the file keeps; of more, those that were learnt last."""

LONGEST = 50
"""Characters of a text, or of an answer, that is kept."""

_KINDS = ("a", "plural")
_LARGEST = 10_000_000  # bytes: more than the most and longest answers in UTF-8, so what is larger was not written here

_Table = dict[str, str]


class Answers:
    """Answers by kind and text. `path` is read once, here, and written by `save`; without one nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known = _read(path)
        self._grown = False

    def get(self, kind: str, text: str) -> str | None:
        """The answer to what was asked before, in this process or in an earlier one."""
        return self._known[kind].get(text)

    def learn(self, kind: str, text: str, answer: str) -> None:
        """Keep an answer, unless it is of no use in a file: too long, not printable, no article."""
        if _fits(kind, text, answer):
            self._known[kind][text] = answer
            self._grown = True

    def save(self) -> None:
        """Write what is new to the file, with what others wrote there meanwhile; where that fails, nothing happens."""
        if self._path is None or not self._grown:
            return
        # Who writes between our reading and our writing loses what only they knew: it is asked and learnt again.
        meanwhile = _read(self._path)
        kept = {kind: _last(meanwhile[kind] | self._known[kind]) for kind in _KINDS}
        with suppress(OSError):
            write_whole(self._path, json.dumps(kept, ensure_ascii=False).encode())
            self._grown = False


def _last(table: _Table) -> _Table:
    return dict(list(table.items())[-MOST_KEPT:])


def _read(path: Path | None) -> dict[str, _Table]:
    data = _parsed(path) if path else None
    tables = data if isinstance(data, dict) else {}
    return {kind: _fitting(kind, tables.get(kind)) for kind in _KINDS}


def _parsed(path: Path) -> Any:  # noqa: ANN401 - whatever JSON there is
    """The file's JSON; nothing where there is none, or where it is no file or too large to be ours."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _fitting(kind: str, table: object) -> _Table:
    if not isinstance(table, dict):
        return {}
    return _last({text: answer for text, answer in table.items() if _fits(kind, text, answer)})


def _fits(kind: str, text: str, answer: object) -> bool:
    if not isinstance(answer, str) or (kind == "a" and answer not in ("a", "an")):
        return False
    return all(0 < len(each) <= LONGEST and each.isprintable() for each in (text, answer))
