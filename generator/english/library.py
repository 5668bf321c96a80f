"""Tables of words are written as text: a literal would take a line for each word.

What a library answered, in a file of the user's that saves time and nothing else: it may be lost or damaged.

inflect, for what no table decides: loading it takes up to two seconds, so only a text never seen before loads it.

What it said is kept in the folder where WordNet lies, in a file for its version: a cache, which may be deleted. What
our own rules say is not kept: they run each time, so they may change, and answers are the same with and without a file.
"""

import atexit
import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, cast

from senseprobe.atomic_files import write_whole
from senseprobe.lexicon.install import default_folder


def word_set(text: str) -> frozenset[str]:
    """The words of a text, which white space separates."""
    return frozenset(text.split())


MAX_ANSWERS = 10_000
"""AnswerCache of a kind that the file keeps; of more, those that were learnt last."""

LONGEST = 50
"""Characters of a text, or of an answer, that is kept."""

_KINDS = ("a", "plural")
_LARGEST = 10_000_000  # bytes: more than the most and longest answers in UTF-8, so what is larger was not written here

_Table = dict[str, str]


class AnswerCache:
    """AnswerCache by kind and text. `path` is read once, here, and written by `save`; without one nothing is kept."""

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
    return dict(list(table.items())[-MAX_ANSWERS:])


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


_ASKED = 1
"""How inflect is asked, by number: count on when that changes, so that answers to the old question are not believed."""


class _Inflect(Protocol):
    def a(self, text: str) -> str: ...

    def plural_noun(self, text: str) -> str | bool: ...


@cache
def _inflect() -> _Inflect:
    """The library, loaded without typeguard, which would compile each of its methods again to check types: two seconds.

    What it is asked here is always text, so that no answer depends on those checks.
    """
    import typeguard

    checked = typeguard.typechecked
    setattr(typeguard, "typechecked", lambda method: method)  # noqa: B010  it has overloads, which no lambda has
    try:
        import inflect
    finally:
        setattr(typeguard, "typechecked", checked)  # noqa: B010
    return cast("_Inflect", inflect.engine())


def library_article(word: str) -> str:
    """``a`` or ``an``, before a single word."""
    return _recalled("a", word, lambda: _inflect().a(word).split(" ", 1)[0])


def library_plural(noun: str) -> str:
    """The plural of a single noun; the noun itself where the library knows none."""
    return _recalled("plural", noun, lambda: str(_inflect().plural_noun(noun) or noun))


def cache_file() -> Path | None:
    """Where answers are kept, by inflect's version; None where that cannot be told."""
    try:
        folder = default_folder().expanduser().absolute()
    except (RuntimeError, OSError):  # no home folder, no current one
        return None
    return folder / f"english-{_version()}-{_ASKED}.json" if _version() else None


@cache
def _version() -> str:
    try:
        return version("inflect")
    except PackageNotFoundError:
        return ""


@cache
def _answers(path: Path | None) -> AnswerCache:
    answers = AnswerCache(path)
    atexit.register(answers.save)
    return answers


def _recalled(kind: str, text: str, ask: Callable[[], str]) -> str:
    answers = _answers(cache_file())
    answer = answers.get(kind, text)
    if answer is None:
        answer = ask()
        answers.learn(kind, text, answer)
    return answer
