"""Mistakes of a list's content, and files that belong to no list.

Licences that cannot be used, or not together.

Sources that are named by a key which no `references.bib` has.

Verdicts and retired ids, held against the rows that there are and against each other.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from senseprobe.errors import DeclarationError
from senseprobe.generator import yaml_source
from senseprobe.generator.checks.registry import Folder, Published, Subject, on_config, on_dataset, on_folder, on_list
from senseprobe.generator.dataset import open_word_lists
from senseprobe.generator.exclusions import RowNumbers, read_dataset_verdicts
from senseprobe.generator.licence_check import check_dataset_licence, check_list_licences, find_used_lists
from senseprobe.generator.retired_ids import RETIRED, RetiredId, read_retired
from senseprobe.generator.schema import Dataset
from senseprobe.generator.word_lists import DESCRIPTOR, Cells, WordList
from senseprobe.messages import nearest, printable
from senseprobe.project import Layer, built_in
from senseprobe.records import Finding
from senseprobe.release.verdicts import KEEP, VERDICTS, Verdict


@on_list("E205")
def in_two_splits(words: WordList) -> Iterator[Finding]:
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
            column = cells.column(word, "split")
            yield Finding(
                path=words.display_path, line=word.line, column=column, code="E205", message=message, hint="keep one"
            )


@on_folder("E206")
def undeclared(folder: Folder) -> Iterator[Finding]:
    """A CSV file beside `datapackage.yaml` that it does not declare.

    Nobody can use it, nothing checks it, and no release says where it comes from. Declare it with its source and
    licence, or remove it.
    """
    for path in sorted(folder.path.glob("*.csv")):
        if yaml_source.format_path(path) not in folder.declared:
            message, hint = f"{DESCRIPTOR} does not declare this file", "add it to `resources`, or remove it"
            yield Finding(path=yaml_source.format_path(path), code="E206", message=message, hint=hint)


@on_list("E208")
def licence_of_a_list(words: WordList) -> Iterator[Finding]:
    """A licence is no SPDX expression, or forbids changed versions.

    A release says under which licence it may be used, so its parts must: write an identifier of
    https://spdx.org/licenses, or several joined by `AND` and `OR`. Where a list has several licences, all of them
    apply; one whose `licenses` are an empty list has the dataset's. A `LicenseRef-` says nothing of what is allowed.
    Sentences made of words are a changed version of what the words are from, which `CC-BY-ND-4.0` and its like forbid.
    Looked at are `licenses` of each list in `datapackage.yaml`, and `license` in `dataset.yaml`.
    """
    yield from check_list_licences(words)


@on_dataset("E208")
def licence_of_a_dataset(published: Published) -> Iterator[Finding]:
    """The licence of a dataset is no SPDX expression, or forbids changed versions."""
    yield from (finding for finding in _found(published) if finding.code == "E208")


@on_dataset("E209")
def licences_together(published: Published) -> Iterator[Finding]:
    """The licences of a dataset and of the lists that it uses cannot be one.

    A release bears the most restrictive of them. There is none where two share-alike licences differ (CC-BY-SA-4.0 and
    CC-BY-NC-SA-4.0), where a share-alike one allows commerce and another forbids it, or where senseprobe does not know
    how one goes with others. Leave out one of the lists, or ask its authors for another licence.
    """
    yield from (finding for finding in _found(published) if finding.code == "E209")


def _found(published: Published) -> Iterator[Finding]:
    try:
        used = find_used_lists(published.dataset, published.lists)
    except DeclarationError:
        return  # a list that cannot be read is told for itself
    yield from check_dataset_licence(published.dataset, used)


BIBLIOGRAPHY = "references.bib"
"""The file of sources, beside a layer's lists."""

_ENTRY = re.compile(r"@(?!comment\b|string\b|preamble\b)\w+\s*[{(]\s*([^\s,{}()]+)", re.IGNORECASE)


@on_config("E207")
def source_of_a_config(subject: Subject) -> Iterator[Finding]:
    """The source of a template is no key of the bibliography."""
    folder = open_word_lists(Layer(subject.dataset.folder.parent.parent)).folders[0]
    for block in subject.config.template.blocks:
        if "source" in block.sources[0]:
            place = subject.config.template.display_path, *block.locate("source")
            yield from _unknown("source", block.front.source, folder, place)


@on_dataset("E207")
def source_of_a_dataset(published: Published) -> Iterator[Finding]:
    """The citation of a dataset is no key of the bibliography."""
    dataset = published.dataset
    folder, path = open_word_lists(Layer(dataset.folder.parent.parent)).folders[0], dataset.folder / "dataset.yaml"
    data = yaml_source.read_mapping(path)
    place = yaml_source.format_path(path), *yaml_source.locate([data], ("citation",))
    yield from _unknown("citation", dataset.card.citation, folder, place)


@on_list("E207")
def source_of_a_list(words: WordList) -> Iterator[Finding]:
    """A source is named by a key that `references.bib` does not have.

    It is where words and frames come from, and releases hold it, so a key that leads nowhere leaves words without
    origin. Looked at are `source` in templates, `citation` in `dataset.yaml`, and the `title` of each of a list's
    `sources`; the keys are those of `references.bib` beside the lists, and of the built-in one.
    """
    path = words.path.with_name(DESCRIPTOR)
    data = yaml_source.read_mapping(path)
    number = [resource["name"] for resource in data["resources"]].index(words.resource.name)
    for at, source in enumerate(words.resource.sources):
        place = (
            yaml_source.format_path(path),
            *yaml_source.locate([data], ("resources", number, "sources", at, "title")),
        )
        yield from _unknown("source", source.title, path.parent, place)


def _unknown(what: str, key: str, folder: Path, place: tuple[str, int, int]) -> Iterator[Finding]:
    """E207 unless the key is in the folder's bibliography, or ours; where it has none, that is said at its descriptor.

    It is said in the same words of each key, and findings that are equal are one.
    """
    known = _keys(folder / BIBLIOGRAPHY) | _keys(built_in().wordlists / BIBLIOGRAPHY)
    if key in known:
        return
    if (folder / BIBLIOGRAPHY).is_file():
        message, hint = f"{BIBLIOGRAPHY} has no {what} {key!r}", nearest(key, known)
    else:
        place = yaml_source.format_path(folder / DESCRIPTOR), 1, 1
        message, hint = f"no {BIBLIOGRAPHY} beside it", "write one, with an entry for each source that is named"
    path, line, column = place
    yield Finding(path=path, line=line, column=column, code="E207", message=message, hint=hint)


def _keys(path: Path) -> frozenset[str]:
    return _entries(path.read_text("utf-8", "replace")) if path.is_file() else frozenset()


@lru_cache(maxsize=4)
def _entries(text: str) -> frozenset[str]:
    """The keys of a bibliography; kept, since each source that is named is looked up in the same two."""
    return frozenset(_ENTRY.findall(text))


@on_dataset("E210")
def kept_and_retired(published: Published) -> Iterator[Finding]:
    """An id that is retired and has the verdict `keep`.

    A retired id never comes back, whatever annotators say of its row: take the line out of `verdicts.csv`.
    """
    dataset = published.dataset
    verdicts, retired = _read(dataset)
    for verdict in verdicts.values():
        if verdict.verdict == KEEP and verdict.id in retired:
            place = f"{yaml_source.format_path(dataset.folder)}/{RETIRED}:{retired[verdict.id].line}"
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
    numbers = RowNumbers(subject.config)
    ours = (each for each in _unretired(subject.dataset) if _config(each) == subject.config.name)
    yield from _of_no_row(subject.dataset, (each for each in ours if numbers.find(each.id) is None))


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
    path = f"{yaml_source.format_path(dataset.folder)}/{VERDICTS}"
    hint = "take the line out" if code == "E210" else "take the line out, or correct the id"
    return Finding(path=path, line=verdict.line, column=1, code=code, message=printable(message), hint=hint)


def _read(dataset: Dataset) -> tuple[dict[str, Verdict], dict[str, RetiredId]]:
    """Verdicts and retired ids; none where a file is malformed, which is told where it is read first."""
    with suppress(DeclarationError):
        return read_dataset_verdicts(dataset.folder), read_retired(dataset.folder)
    return {}, {}
