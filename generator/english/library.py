"""inflect, for what no table decides: loading it takes up to two seconds, so only a text never seen before loads it.

What it said is kept in the folder where WordNet lies, in a file for its version: a cache, which may be deleted. What
our own rules say is not kept: they run each time, so they may change, and answers are the same with and without a file.
"""

import atexit
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Protocol, cast

from senseprobe.generator.english.answers import Answers
from senseprobe.lexicon.folder import default_folder

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
def _answers(path: Path | None) -> Answers:
    answers = Answers(path)
    atexit.register(answers.save)
    return answers


def _recalled(kind: str, text: str, ask: Callable[[], str]) -> str:
    answers = _answers(cache_file())
    answer = answers.get(kind, text)
    if answer is None:
        answer = ask()
        answers.learn(kind, text, answer)
    return answer
