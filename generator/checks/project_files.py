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

    Then a method is tested on the words that it was trained on. Dev et al. say that their lists do not overlap, but
    *man*, *woman*, *guy* and *girl* are in both. Upper and lower case count as the same word.
    """
    cells = Cells(words)
    first: dict[str, tuple[object, int]] = {}
    for word in words.words if "split" in words.columns else ():
        split = word.columns["split"]
        before, line = first.setdefault(word.lower(), (split, word.line))
        if split != before:
            message = f"{str(word)!r} is in split {split!r}, but on line {line} in {before!r}"
            yield cell_finding(cells, word, "split", "E205", message, "keep one of the two rows")


@check("E206")
def check_undeclared_files(folder: FolderSubject) -> Iterator[Finding]:
    """`datapackage.yaml` does not declare a CSV file in its folder.

    The file cannot be used, is not checked, and its source is unknown. Declare it with its source and licence, or
    remove it.
    """
    for path in sorted(folder.path.glob("*.csv")):
        if format_path(path) not in folder.declared:
            message, hint = f"{DESCRIPTOR} does not declare this file", f"{how_to_describe(path)}, or remove it"
            yield Finding(path=format_path(path), code="E206", message=message, hint=hint)


@check("E208")
def check_licence_of_list(words: WordList) -> Iterator[Finding]:
    """A licence is not an SPDX expression, or forbids modified versions.

    A release states its licence, so its parts need one too. Write an identifier of https://spdx.org/licenses, or
    several joined by `AND` and `OR`. If a list has several licences, all of them apply; if its `licenses` are
    empty, the licence of the dataset applies. A `LicenseRef-` does not say what is allowed. Sentences made from
    words are a modified version of the source of the words, which `CC-BY-ND-4.0` and similar licences forbid. The
    check looks at `licenses` of each list in `datapackage.yaml`, and at `license` in `dataset.yaml`.
    """
    yield from check_list_licences(words)


@check("E208")
def check_licence_of_dataset(subject: DatasetSubject) -> Iterator[Finding]:
    """The licence of a dataset is not an SPDX expression, or forbids modified versions."""
    yield from (finding for finding in _licence_findings(subject) if finding.code == "E208")


@check("E209")
def check_licence_compatibility(subject: DatasetSubject) -> Iterator[Finding]:
    """The licences of a dataset and its lists cannot be combined.

    A release gets the most restrictive of them. This fails if two share-alike licences differ (CC-BY-SA-4.0 and
    CC-BY-NC-SA-4.0), if a share-alike licence allows commercial use and another licence forbids it, or if
    senseprobe does not know a licence. Remove one of the lists, or ask its authors for another licence.
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
    """The bibliography does not have the source of a template."""
    path = subject.config.template.display_path
    for block in subject.config.template.blocks:
        if "source" in block.sources[0]:
            folder, position = _list_folder(subject.dataset), partial(block.locate, "source")
            yield from _unknown_source("source", block.front.source, folder, path, position)


@check("E207")
def check_dataset_citation(subject: DatasetSubject) -> Iterator[Finding]:
    """The bibliography does not have the citation of a dataset."""
    dataset, path = subject.dataset, subject.dataset.folder / "dataset.yaml"
    folder, position = _list_folder(dataset), partial(yaml_position, path, "citation")
    yield from _unknown_source("citation", dataset.card.citation, folder, format_path(path), position)


@check("E207")
def check_list_sources(words: WordList) -> Iterator[Finding]:
    """`references.bib` does not have the key of a source.

    Sources say where words and frames come from, and releases include them. The check looks at `source` in
    templates, `citation` in `dataset.yaml`, and the `title` of each entry in a list's `sources`. The keys are those
    of `references.bib` in the folder of the lists, and of the built-in one.
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
        yield finding_at(
            path, position(), "E207", f"{BIBLIOGRAPHY} does not have the {what} {key!r}", nearest(key, keys)
        )
    else:  # the same finding for each key
        message, hint = f"{BIBLIOGRAPHY} is missing in this folder", "write it, with an entry for each source"
        yield finding_at(format_path(folder / DESCRIPTOR), (1, 1), "E207", message, hint)


def _bibliography_keys(path: Path) -> frozenset[str]:
    return _parse_keys(path.read_text("utf-8", "replace")) if path.is_file() else frozenset()


@lru_cache(maxsize=4)
def _parse_keys(text: str) -> frozenset[str]:
    """Return the keys of a bibliography; cached, since each source is looked up in the same two."""
    return frozenset(_ENTRY.findall(text))


@check("E210")
def check_retired_verdicts(subject: DatasetSubject) -> Iterator[Finding]:
    """A retired id has the verdict `keep`.

    A retired id never comes back, whatever annotators say about its row. Remove the line from `verdicts.csv`.
    """
    dataset = subject.dataset
    verdicts, retired = _read_verdicts(dataset)
    for verdict in verdicts.values():
        if verdict.verdict == KEEP and verdict.id in retired:
            line = f"{format_path(dataset.folder)}/{RETIRED}:{retired[verdict.id].line}"
            message = f"{verdict.id!r} has the verdict keep, but is retired ({line})"
            yield _verdict_finding(dataset, verdict, "E210", message, "remove the line")


@check("W516")
def check_verdict_configs(subject: DatasetSubject) -> Iterator[Finding]:
    """A verdict names an id that does not exist."""
    configs = subject.dataset.card.configs
    yield from _rowless_verdicts(subject.dataset, lambda verdict: verdict.id.partition(".")[0] not in configs)


@check("W516")
def check_verdict_rows(subject: ConfigSubject) -> Iterator[Finding]:
    """A verdict names an id that does not exist.

    An id contains the frame and the words of its row. If one of them changed after people saw the row, it has a new
    id, and people have not judged the new sentence. Remove the line from `verdicts.csv`, or correct the id. An id
    in `retired.csv` may have a verdict without a row.
    """
    numbers, name = RowNumbers(subject.config), subject.config.name
    yield from _rowless_verdicts(
        subject.dataset, lambda verdict: verdict.id.partition(".")[0] == name and numbers.find(verdict.id) is None
    )


def _rowless_verdicts(dataset: Dataset, is_rowless: Callable[[Verdict], bool]) -> Iterator[Finding]:
    verdicts, retired = _read_verdicts(dataset)
    for verdict in verdicts.values():
        if verdict.id not in retired and is_rowless(verdict):
            message = f"{verdict.id!r} has the verdict {verdict.verdict}, but this id does not exist"
            yield _verdict_finding(dataset, verdict, "W516", message, "remove the line, or correct the id")


def _verdict_finding(dataset: Dataset, verdict: Verdict, code: str, message: str, hint: str) -> Finding:
    return finding_at(f"{format_path(dataset.folder)}/{VERDICTS}", (verdict.line, 1), code, printable(message), hint)


def _read_verdicts(dataset: Dataset) -> tuple[dict[str, Verdict], dict[str, RetiredId]]:
    """Return verdicts and retired ids; none where a file is malformed, which is reported where it is read first."""
    with suppress(DeclarationError):
        return read_dataset_verdicts(dataset.folder), read_retired(dataset.folder)
    return {}, {}
