"""What the library inflect answers, for words that no table decides.

Loading it takes up to two seconds, so its answers are cached in the folder of WordNet, in a file for each version of
inflect that may be deleted at any time. Answers of the rules here are not cached, since rules may change.
"""

import atexit
import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from senseprobe.atomic_files import write_whole
from senseprobe.lexicon.install import default_folder
from senseprobe.tables import read_json

MAX_ANSWERS = 10_000  # of a kind in the file; of more, the last ones
LONGEST = 50  # characters of a text, or of an answer, in the file
_LARGEST = 10_000_000  # bytes: more than MAX_ANSWERS of the longest answers take in UTF-8
_KINDS = ("a", "plural")
_QUERY_VERSION = 1  # increase it when the calls of inflect change, so that answers of earlier calls are not used


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text: a table of words as a literal would take a line for each word."""
    return frozenset(text.split())


class AnswerCache:
    """Answers by kind and text; the file `path`, if any, is read at first and written by `save`."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._answers, self._changed = path, _read(path), False

    def get(self, kind: str, text: str) -> str | None:
        """Return the answer for a text, from this process or an earlier one."""
        return self._answers[kind].get(text)

    def add(self, kind: str, text: str, answer: str) -> None:
        """Add an answer, unless it is too long, not printable, or not an article where it should be one."""
        if _fits(kind, text, answer):
            self._answers[kind][text] = answer
            self._changed = True

    def save(self) -> None:
        """Add new answers to the file, to which others may have written meanwhile; do nothing where that fails."""
        if self._path is None or not self._changed:
            return
        # Answers that another process writes between this reading and this writing are lost, and asked for again.
        stored = _read(self._path)
        answers = {kind: dict([*(stored[kind] | self._answers[kind]).items()][-MAX_ANSWERS:]) for kind in _KINDS}
        with suppress(OSError):
            write_whole(self._path, json.dumps(answers, ensure_ascii=False).encode())
            self._changed = False


def _read(path: Path | None) -> dict[str, dict[str, str]]:
    """Return the answers in a file by kind: none where it is missing, damaged, or too large to come from here."""
    data: object = None
    with suppress(OSError, ValueError):
        if path and path.is_file() and path.stat().st_size <= _LARGEST:
            data = read_json(path.read_bytes())
    tables = {kind: data.get(kind) if isinstance(data, dict) else None for kind in _KINDS}
    items = {kind: table.items() if isinstance(table, dict) else () for kind, table in tables.items()}
    return {kind: {text: answer for text, answer in items[kind] if _fits(kind, text, answer)} for kind in _KINDS}


def _fits(kind: str, text: str, answer: object) -> bool:
    if not isinstance(answer, str) or (kind == "a" and answer not in ("a", "an")):
        return False
    return all(0 < len(part) <= LONGEST and part.isprintable() for part in (text, answer))


@cache
def _inflect() -> Any:  # noqa: ANN401 - the library is not typed to the type checker
    """Return the library without type checks, which take two seconds to compile: its arguments are always text here."""
    import typeguard

    checked = typeguard.typechecked
    setattr(typeguard, "typechecked", lambda method: method)  # noqa: B010  it has overloads, which no lambda has
    try:
        import inflect
    finally:
        setattr(typeguard, "typechecked", checked)  # noqa: B010
    return inflect.engine()


def library_article(word: str) -> str:
    """Return ``a`` or ``an``, before a single word."""
    return _cached("a", word, lambda: str(_inflect().a(word)).split(" ", 1)[0])


def library_plural(noun: str) -> str:
    """Return the plural of a single noun; the noun itself where the library has none."""
    return _cached("plural", noun, lambda: str(_inflect().plural_noun(noun) or noun))


def _cached(kind: str, text: str, ask: Callable[[], str]) -> str:
    answers = _answers(cache_file())
    if (answer := answers.get(kind, text)) is None:
        answer = ask()
        answers.add(kind, text, answer)
    return answer


@cache
def _answers(path: Path | None) -> AnswerCache:
    answers = AnswerCache(path)
    atexit.register(answers.save)
    return answers


_version = cache(version)


def cache_file() -> Path | None:
    """Return the file of answers for the installed version of inflect; None where there is no folder or version."""
    try:
        folder = default_folder().expanduser().absolute()
        return folder / f"english-{_version('inflect')}-{_QUERY_VERSION}.json"
    except (RuntimeError, OSError, PackageNotFoundError):  # no home folder, no current one, no inflect
        return None
