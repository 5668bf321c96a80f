"""What the files of a project say of one another: splits, descriptors, licences, sources, verdicts, retired ids."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path

from senseprobe.errors import DeclarationError
from senseprobe.generator.checks.base import (
    ConfigSubject,
    DatasetSubject,
    FolderSubject,
    Position,
    cell_finding,
    check,
    finding_at,
    resource_position,
    yaml_position,
)
from senseprobe.generator.checks.placeholders import is_unfilled
from senseprobe.generator.dataset import open_word_lists
from senseprobe.generator.exclusions import RETIRED, RetiredId, RowNumbers, read_dataset_verdicts, read_retired
from senseprobe.generator.recipe import check_dataset_licence, check_list_licences, find_used_lists
from senseprobe.generator.schema import Dataset
from senseprobe.generator.word_lists import DESCRIPTOR, Cells, WordList, how_to_describe
from senseprobe.generator.yaml_source import format_path
from senseprobe.messages import nearest, printable
from senseprobe.project import Layer, built_in
from senseprobe.records import Finding
from senseprobe.release.verdicts import KEEP, VERDICTS, Verdict


@check("E205")
def check_splits(words: WordList) -> Iterator[Finding]:
    """A word is in two splits of a list with a column `split`.

    What was learnt on one split is then tested on itself. Dev et al. say that their lists do not intersect, and *man*,
    *woman*, *guy* and *girl* are in both (UPSTREAM 3.1). Words are the same whatever their capitals.
    """
    cells = Cells(words)
    first: dict[str, tuple[object, int]] = {}
    for word in words.words if "split" in words.columns else ():
        split = word.columns["split"]
        before, line = first.setdefault(word.lower(), (split, word.line))
        if split != before:
            message = f"{str(word)!r} is in split {split!r}, and on line {line} in {before!r}"
            yield cell_finding(cells, word, "split", "E205", message, "keep one")


@check("E206")
def check_undeclared_files(folder: FolderSubject) -> Iterator[Finding]:
    """A CSV file beside `datapackage.yaml` that it does not declare.

    Nobody can use it, nothing checks it, and no release says where it comes from. Declare it with its source and
    licence, or remove it.
    """
    for path in sorted(folder.path.glob("*.csv")):
        if format_path(path) not in folder.declared:
            message, hint = f"{DESCRIPTOR} does not declare this file", f"{how_to_describe(path)}, or remove it"
            yield Finding(path=format_path(path), code="E206", message=message, hint=hint)


@check("E208")
def check_licence_of_list(words: WordList) -> Iterator[Finding]:
    """A licence is no SPDX expression, or forbids changed versions.

    A release says under which licence it may be used, so its parts must: write an identifier of
    https://spdx.org/licenses, or several joined by `AND` and `OR`. Where a list has several licences, all of them
    apply; one whose `licenses` are an empty list has the dataset's. A `LicenseRef-` says nothing of what is allowed.
    Sentences made of words are a changed version of what the words are from, which `CC-BY-ND-4.0` and its like forbid.
    Looked at are `licenses` of each list in `datapackage.yaml`, and `license` in `dataset.yaml`.
    """
    yield from check_list_licences(words)


@check("E208")
def check_licence_of_dataset(subject: DatasetSubject) -> Iterator[Finding]:
    """The licence of a dataset is no SPDX expression, or forbids changed versions."""
    yield from (finding for finding in _licence_findings(subject) if finding.code == "E208")


@check("E209")
def check_licence_compatibility(subject: DatasetSubject) -> Iterator[Finding]:
    """The licences of a dataset and of the lists that it uses cannot be one.

    A release bears the most restrictive of them. There is none where two share-alike licences differ (CC-BY-SA-4.0 and
    CC-BY-NC-SA-4.0), where a share-alike one allows commerce and another forbids it, or where senseprobe does not know
    how one goes with others. Leave out one of the lists, or ask its authors for another licence.
    """
    yield from (finding for finding in _licence_findings(subject) if finding.code == "E209")


def _licence_findings(subject: DatasetSubject) -> Iterator[Finding]:
    try:
        used = find_used_lists(subject.dataset.templates, subject.lists)
    except DeclarationError:
        return  # a list that cannot be read has findings of its own
    yield from check_dataset_licence(subject.dataset, used)


BIBLIOGRAPHY = "references.bib"
"""The file of sources, beside a layer's lists."""

_ENTRY = re.compile(r"@(?!comment\b|string\b|preamble\b)\w+\s*[{(]\s*([^\s,{}()]+)", re.IGNORECASE)


@check("E207")
def check_template_source(subject: ConfigSubject) -> Iterator[Finding]:
    """The source of a template is no key of the bibliography."""
    path = subject.config.template.display_path
    for block in subject.config.template.blocks:
        if "source" in block.sources[0]:
            folder, position = _list_folder(subject.dataset), partial(block.locate, "source")
            yield from _unknown_source("source", block.front.source, folder, path, position)


@check("E207")
def check_dataset_citation(subject: DatasetSubject) -> Iterator[Finding]:
    """The citation of a dataset is no key of the bibliography."""
    dataset, path = subject.dataset, subject.dataset.folder / "dataset.yaml"
    folder, position = _list_folder(dataset), partial(yaml_position, path, "citation")
    yield from _unknown_source("citation", dataset.card.citation, folder, format_path(path), position)


@check("E207")
def check_list_sources(words: WordList) -> Iterator[Finding]:
    """A source is named by a key that `references.bib` does not have.

    It is where words and frames come from, and releases hold it, so a key that leads nowhere leaves words without
    origin. Looked at are `source` in templates, `citation` in `dataset.yaml`, and the `title` of each of a list's
    `sources`; the keys are those of `references.bib` beside the lists, and of the built-in one.
    """
    path = words.path.with_name(DESCRIPTOR)
    for at, source in enumerate(words.resource.sources):
        position = partial(resource_position, words, "sources", at, "title")
        yield from _unknown_source("source", source.title, path.parent, format_path(path), position)


def _list_folder(dataset: Dataset) -> Path:
    return open_word_lists(Layer(dataset.folder.parent.parent)).folders[0]


def _unknown_source(
    what: str, key: str, folder: Path, path: str, position: Callable[[], Position]
) -> Iterator[Finding]:
    """Yield E207 unless the key is in the folder's bibliography, or the built-in one; `position` is slow to find."""
    keys = _bibliography_keys(folder / BIBLIOGRAPHY) | _bibliography_keys(built_in().wordlists / BIBLIOGRAPHY)
    if key in keys or is_unfilled(key):  # E115
        return
    if (folder / BIBLIOGRAPHY).is_file():
        yield finding_at(path, position(), "E207", f"{BIBLIOGRAPHY} has no {what} {key!r}", nearest(key, keys))
    else:  # the same finding for each key
        message, hint = f"no {BIBLIOGRAPHY} beside it", "write one, with an entry for each source that is named"
        yield finding_at(format_path(folder / DESCRIPTOR), (1, 1), "E207", message, hint)


def _bibliography_keys(path: Path) -> frozenset[str]:
    return _parse_keys(path.read_text("utf-8", "replace")) if path.is_file() else frozenset()


@lru_cache(maxsize=4)
def _parse_keys(text: str) -> frozenset[str]:
    """Return the keys of a bibliography; cached, since each source is looked up in the same two."""
    return frozenset(_ENTRY.findall(text))


@check("E210")
def check_retired_verdicts(subject: DatasetSubject) -> Iterator[Finding]:
    """An id that is retired and has the verdict `keep`.

    A retired id never comes back, whatever annotators say of its row: take the line out of `verdicts.csv`.
    """
    dataset = subject.dataset
    verdicts, retired = _read_verdicts(dataset)
    for verdict in verdicts.values():
        if verdict.verdict == KEEP and verdict.id in retired:
            line = f"{format_path(dataset.folder)}/{RETIRED}:{retired[verdict.id].line}"
            message = f"{verdict.id!r} is to be kept, and is retired ({line})"
            yield _verdict_finding(dataset, verdict, "E210", message, "take the line out")


@check("W516")
def check_verdict_configs(subject: DatasetSubject) -> Iterator[Finding]:
    """A verdict on an id that no row has.

    An id begins with the name of its config.
    """
    configs = subject.dataset.card.configs
    yield from _rowless_verdicts(subject.dataset, lambda verdict: verdict.id.partition(".")[0] not in configs)


@check("W516")
def check_verdict_rows(subject: ConfigSubject) -> Iterator[Finding]:
    """A verdict on an id that no row has.

    An id holds the frame and the words of its row: where one of them was changed after people saw it, the row has
    another id, and nobody has judged its sentences as they are now. Take the line out of `verdicts.csv`, or correct the
    id; one that is listed in `retired.csv` may have a verdict without a row.
    """
    numbers, name = RowNumbers(subject.config), subject.config.name
    yield from _rowless_verdicts(
        subject.dataset, lambda verdict: verdict.id.partition(".")[0] == name and numbers.find(verdict.id) is None
    )


def _rowless_verdicts(dataset: Dataset, is_rowless: Callable[[Verdict], bool]) -> Iterator[Finding]:
    verdicts, retired = _read_verdicts(dataset)
    for verdict in verdicts.values():
        if verdict.id not in retired and is_rowless(verdict):
            message = f"{verdict.id!r} has the verdict {verdict.verdict}, and no row has this id"
            yield _verdict_finding(dataset, verdict, "W516", message, "take the line out, or correct the id")


def _verdict_finding(dataset: Dataset, verdict: Verdict, code: str, message: str, hint: str) -> Finding:
    return finding_at(f"{format_path(dataset.folder)}/{VERDICTS}", (verdict.line, 1), code, printable(message), hint)


def _read_verdicts(dataset: Dataset) -> tuple[dict[str, Verdict], dict[str, RetiredId]]:
    """Return verdicts and retired ids; none where a file is malformed, which is reported where it is read first."""
    with suppress(DeclarationError):
        return read_dataset_verdicts(dataset.folder), read_retired(dataset.folder)
    return {}, {}
