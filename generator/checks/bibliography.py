"""Sources that are named by a key which no `references.bib` has."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from senseprobe.generator import yamlfile
from senseprobe.generator.catalogue import lists_of
from senseprobe.generator.checks.registry import Published, Subject, on_config, on_dataset, on_list
from senseprobe.generator.wordlists import DESCRIPTOR, WordList, show
from senseprobe.project import Layer, built_in
from senseprobe.records import Finding
from senseprobe.wording import nearest

BIBLIOGRAPHY = "references.bib"
"""The file of sources, beside a layer's lists."""

_ENTRY = re.compile(r"@(?!comment\b|string\b|preamble\b)\w+\s*[{(]\s*([^\s,{}()]+)", re.IGNORECASE)


@on_config("E207")
def of_a_config(subject: Subject) -> Iterator[Finding]:
    """The source of a template is no key of the bibliography."""
    folder = lists_of(Layer(subject.dataset.folder.parent.parent)).folders[0]
    for block in subject.config.template.blocks:
        if "source" in block.sources[0]:
            place = subject.config.template.shown, *block.place("source")
            yield from _unknown("source", block.front.source, folder, place)


@on_dataset("E207")
def of_a_dataset(published: Published) -> Iterator[Finding]:
    """The citation of a dataset is no key of the bibliography."""
    dataset = published.dataset
    folder, path = lists_of(Layer(dataset.folder.parent.parent)).folders[0], dataset.folder / "dataset.yaml"
    data = yamlfile.parse(yamlfile.read_text(path, show(path)), show(path))
    place = show(path), *yamlfile.place([data], ("citation",))
    yield from _unknown("citation", dataset.card.citation, folder, place)


@on_list("E207")
def of_a_list(words: WordList) -> Iterator[Finding]:
    """A source is named by a key that `references.bib` does not have.

    It is where words and frames come from, and releases hold it, so a key that leads nowhere leaves words without
    origin. Looked at are `source` in templates, `citation` in `dataset.yaml`, and the `title` of each of a list's
    `sources`; the keys are those of `references.bib` beside the lists, and of the built-in one.
    """
    path = words.path.with_name(DESCRIPTOR)
    data = yamlfile.parse(yamlfile.read_text(path, show(path)), show(path))
    number = [resource["name"] for resource in data["resources"]].index(words.resource.name)
    for at, source in enumerate(words.resource.sources):
        place = show(path), *yamlfile.place([data], ("resources", number, "sources", at, "title"))
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
        place = show(folder / DESCRIPTOR), 1, 1
        message, hint = f"no {BIBLIOGRAPHY} beside it", "write one, with an entry for each source that is named"
    path, line, column = place
    yield Finding(path=path, line=line, column=column, code="E207", message=message, hint=hint)


def _keys(path: Path) -> frozenset[str]:
    return _entries(path.read_text("utf-8", "replace")) if path.is_file() else frozenset()


@lru_cache(maxsize=4)
def _entries(text: str) -> frozenset[str]:
    """The keys of a bibliography; kept, since each source that is named is looked up in the same two."""
    return frozenset(_ENTRY.findall(text))
