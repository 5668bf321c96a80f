"""Verdicts and retired ids, held against the rows that there are and against each other."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from senseprobe.errors import DeclarationError
from senseprobe.generator.checks.registry import Published, Subject, on_config, on_dataset
from senseprobe.generator.rejecting import Numbers, verdicts_of
from senseprobe.generator.retired import RETIRED, Retired, read_retired
from senseprobe.generator.templates import Dataset
from senseprobe.generator.wordlists import show
from senseprobe.records import Finding
from senseprobe.release.verdicts import KEEP, VERDICTS, Verdict
from senseprobe.wording import printable


@on_dataset("E210")
def kept_and_retired(published: Published) -> Iterator[Finding]:
    """An id that is retired and has the verdict `keep`.

    A retired id never comes back, whatever annotators say of its row: take the line out of `verdicts.csv`.
    """
    dataset = published.dataset
    verdicts, retired = _read(dataset)
    for verdict in verdicts.values():
        if verdict.verdict == KEEP and verdict.id in retired:
            place = f"{show(dataset.folder)}/{RETIRED}:{retired[verdict.id].line}"
            yield _finding(dataset, verdict, "E210", f"{verdict.id!r} is to be kept, and is retired ({place})")


@on_dataset("W516")
def verdict_of_no_config(published: Published) -> Iterator[Finding]:
    """A verdict on an id that no row has.

    An id begins with the name of its config.
    """
    dataset = published.dataset
    yield from _of_no_row(dataset, (each for each in _unretired(dataset) if _config(each) not in dataset.card.configs))


@on_config("W516")
def verdict_of_no_row(subject: Subject) -> Iterator[Finding]:
    """A verdict on an id that no row has.

    An id holds the frame and the words of its row: where one of them was changed after people saw it, the row has
    another id, and nobody has judged its sentences as they are now. Take the line out of `verdicts.csv`, or correct the
    id; one that is listed in `retired.csv` may have a verdict without a row.
    """
    numbers = Numbers(subject.config)
    ours = (each for each in _unretired(subject.dataset) if _config(each) == subject.config.name)
    yield from _of_no_row(subject.dataset, (each for each in ours if numbers.of(each.id) is None))


def _config(verdict: Verdict) -> str:
    return verdict.id.partition(".")[0]


def _unretired(dataset: Dataset) -> Iterator[Verdict]:
    verdicts, retired = _read(dataset)
    yield from (each for each in verdicts.values() if each.id not in retired)


def _of_no_row(dataset: Dataset, verdicts: Iterable[Verdict]) -> Iterator[Finding]:
    for verdict in verdicts:
        message = f"{verdict.id!r} has the verdict {verdict.verdict}, and no row has this id"
        yield _finding(dataset, verdict, "W516", message)


def _finding(dataset: Dataset, verdict: Verdict, code: str, message: str) -> Finding:
    path = f"{show(dataset.folder)}/{VERDICTS}"
    hint = "take the line out" if code == "E210" else "take the line out, or correct the id"
    return Finding(path=path, line=verdict.line, column=1, code=code, message=printable(message), hint=hint)


def _read(dataset: Dataset) -> tuple[dict[str, Verdict], dict[str, Retired]]:
    """Verdicts and retired ids; none where a file is malformed, which is told where it is read first."""
    with suppress(DeclarationError):
        return verdicts_of(dataset.folder), read_retired(dataset.folder)
    return {}, {}
