"""The checks of `senseprobe lint` by code: a function for each, whose docstring is its section of `docs/checks.md`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from senseprobe.generator.checks.subjects import ConfigSubject, DatasetSubject, FolderSubject
from senseprobe.generator.word_lists import WordList
from senseprobe.records import Finding

Kind = Literal["folder", "list", "config", "dataset"]
FolderCheck = Callable[[FolderSubject], Iterator[Finding]]
ListCheck = Callable[[WordList], Iterator[Finding]]
ConfigCheck = Callable[[ConfigSubject], Iterator[Finding]]
DatasetCheck = Callable[[DatasetSubject], Iterator[Finding]]
CheckT = TypeVar("CheckT", bound=Callable[..., Iterator[Finding]])


@dataclass(frozen=True, slots=True)
class Check:
    """A code, and the function that finds it in a kind of subject; `lexicon` names the lexicon that it needs."""

    code: str
    on: Kind
    run: Callable[..., Iterator[Finding]]
    lexicon: str = ""


_CHECKS: dict[tuple[str, Kind], Check] = {}


def _register(code: str, on: Kind, lexicon: str = "") -> Callable[[CheckT], CheckT]:
    def decorate(run: CheckT) -> CheckT:
        if (code, on) in _CHECKS:
            raise ValueError(f"two checks with code {code}")
        _CHECKS[code, on] = Check(code, on, run, lexicon)
        return run

    return decorate


def on_folder(code: str) -> Callable[[FolderCheck], FolderCheck]:
    """Register a check of a folder of word lists."""
    return _register(code, "folder")


def on_list(code: str, lexicon: str = "") -> Callable[[ListCheck], ListCheck]:
    """Register a check of a word list; where its lexicon is not prepared, it counts as not checked."""
    return _register(code, "list", lexicon)


def on_config(code: str, lexicon: str = "") -> Callable[[ConfigCheck], ConfigCheck]:
    """Register a check of a config; where its lexicon is not prepared, it counts as not checked."""
    return _register(code, "config", lexicon)


def on_dataset(code: str) -> Callable[[DatasetCheck], DatasetCheck]:
    """Register a check of `dataset.yaml`."""
    return _register(code, "dataset")


def checks(on: Kind | None = None) -> Iterator[Check]:
    """Yield the checks of one kind of subject, or all, by code."""
    yield from (check for _, check in sorted(_CHECKS.items()) if on in (None, check.on))
