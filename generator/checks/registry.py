"""The checks of `senseprobe lint`, by their codes: a function for each, whose docstring says what is wrong and why."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from senseprobe.generator.blocks import Config
from senseprobe.generator.templates import Dataset
from senseprobe.generator.wordlists import WordList, WordLists
from senseprobe.records import Finding

__all__ = ["Check", "ConfigCheck", "DatasetCheck", "ListCheck", "Subject", "checks", "on_config", "on_dataset", "on_list"]

Kind = Literal["list", "config", "dataset"]


@dataclass(frozen=True, slots=True)
class Subject:
    """A config in its dataset, with the lists that it sees."""

    dataset: Dataset
    config: Config
    lists: WordLists


ListCheck = Callable[[WordList], Iterator[Finding]]
ConfigCheck = Callable[[Subject], Iterator[Finding]]
DatasetCheck = Callable[[Dataset], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """A code, and the function that finds it; its docstring is what the page of codes says."""

    code: str
    on: Kind
    run: Callable[..., Iterator[Finding]]


_CHECKS: dict[str, Check] = {}


def _register(code: str, on: Kind, run: Callable[..., Iterator[Finding]]) -> None:
    if code in _CHECKS:
        raise ValueError(f"two checks with code {code}")
    _CHECKS[code] = Check(code, on, run)


def on_list(code: str) -> Callable[[ListCheck], ListCheck]:
    """Register a check of a word list."""

    def decorate(run: ListCheck) -> ListCheck:
        _register(code, "list", run)
        return run

    return decorate


def on_config(code: str) -> Callable[[ConfigCheck], ConfigCheck]:
    """Register a check of a config."""

    def decorate(run: ConfigCheck) -> ConfigCheck:
        _register(code, "config", run)
        return run

    return decorate


def on_dataset(code: str) -> Callable[[DatasetCheck], DatasetCheck]:
    """Register a check of `dataset.yaml`."""

    def decorate(run: DatasetCheck) -> DatasetCheck:
        _register(code, "dataset", run)
        return run

    return decorate


def checks(on: Kind) -> Iterator[Check]:
    """The checks of one kind of subject, by code."""
    yield from (check for _, check in sorted(_CHECKS.items()) if check.on == on)
