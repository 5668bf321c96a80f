"""A template for a new config, in a new dataset or in one that is there, with the lists that it needs."""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from senseprobe.errors import DeclarationError, SenseprobeError
from senseprobe.generator import yamlfile
from senseprobe.generator.english import English
from senseprobe.generator.resolving import resolve
from senseprobe.generator.segments import environment
from senseprobe.generator.templates import read_template
from senseprobe.generator.wordlists import DESCRIPTOR, WordLists, show
from senseprobe.project import Layer, built_in
from senseprobe.scaffold.about import ABOUT
from senseprobe.scaffold.texts import fill, shipped
from senseprobe.scaffold.writing import write_all
from senseprobe.scaffold.yamltext import append
from senseprobe.wording import offered

LISTS: Mapping[str, tuple[str, ...]] = {
    "contrast": ("hobbyists", "traits"),
    "inference": ("deeds", "belongings", "trades", "hobbyists"),
    "association": ("foods",),
}
"""The lists that the template of a kind asks for."""

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_CITED = re.compile(r"@\w+\{\s*project\s*,")


def add(layer: Layer, name: str, kind: str) -> list[Path]:
    """Add the config ``DATASET/CONFIG`` of a kind to a project; the files that were written, all or none.

    Raises SenseprobeError where it is there already or cannot be made of the project's lists, DeclarationError where
    a file of the project that it needs cannot be read, and OSError.
    """
    files = planned(layer, name, kind)
    write_all(files)
    return [*files]


def planned(layer: Layer, name: str, kind: str) -> dict[Path, str]:
    """The files that `add` writes, with their texts."""
    if kind not in LISTS:
        raise SenseprobeError(f"no kind {kind!r}: {offered(kind, LISTS)}")
    dataset, config = _names(name)
    folder = layer.templates / dataset
    path = folder / f"{config}.j2"
    if os.path.lexists(path):
        raise SenseprobeError(f"{show(path)} is there already: choose another name for the config")
    if dataset in built_in().datasets() and not folder.is_dir():
        raise SenseprobeError(f"{dataset} is a built-in dataset, which yours would hide: choose another name")
    lists = dict(_lists(layer, kind))
    rows = _rows(layer, config, kind, lists)
    return {
        **lists,
        **_bibliography(layer),
        path: fill(f"dataset/{kind}.j2", rows=rows),
        folder / "dataset.yaml": _card(folder / "dataset.yaml", dataset, config, kind),
    }


def _names(name: str) -> tuple[str, str]:
    dataset, _, config = name.partition("/")
    for part in (dataset, config):
        if not _NAME.fullmatch(part):
            expected = "expected DATASET/CONFIG, each of lower-case letters, digits, - and _, with a letter first"
            raise SenseprobeError(f"{name!r} cannot be the name of a config: {expected}")
    return dataset, config


def _lists(layer: Layer, kind: str) -> Iterator[tuple[Path, str]]:
    """The files of the lists that the project lacks, and the descriptor with them."""
    known = WordLists((layer.wordlists,)).names()
    missing = [name for name in LISTS[kind] if name not in known]
    for name in missing:
        path = layer.wordlists / f"{name}.csv"
        if os.path.lexists(path):
            raise SenseprobeError(f"{show(path)} is there and not in {DESCRIPTOR}: describe it, or remove it")
        yield path, shipped(f"lists/{name}.csv")
    if missing:
        yield layer.wordlists / DESCRIPTOR, _descriptor(layer.wordlists / DESCRIPTOR, missing)


def _descriptor(path: Path, missing: list[str]) -> str:
    text = _text(path) if path.exists() else shipped("project/datapackage.yaml")
    for name in missing:
        text = _appended(path, text, "resources", shipped(f"lists/{name}.yaml"))
    return text


def _card(path: Path, dataset: str, config: str, kind: str) -> str:
    if path.exists():
        return _appended(path, _text(path), "configs", config)
    return fill("dataset/dataset.yaml", dataset=dataset, config=config, uuid=uuid4(), **ABOUT[kind])


def _text(path: Path) -> str:
    """The file, checked to be YAML as declarations have it, with its own line ends."""
    shown = show(path)
    yamlfile.parse(yamlfile.read_text(path, shown), shown)
    return path.read_bytes().decode("utf-8-sig")


def _appended(path: Path, text: str, key: str, item: str) -> str:
    added = append(text.replace("\r\n", "\n"), key, item)
    if added is None:
        raise SenseprobeError(f"{show(path)}: `{key}` is no list that can be added to: write it with an item in a line")
    return added.replace("\n", "\r\n") if "\r\n" in text else added


def _bibliography(layer: Layer) -> dict[Path, str]:
    """The list of sources, where it lacks the one that the files name."""
    path = layer.wordlists / "references.bib"
    text = yamlfile.read_text(path, show(path)) if path.exists() else ""
    if _CITED.search(text):
        return {}
    return {path: (text and text.rstrip("\n") + "\n\n") + fill("project/references.bib", year=datetime.now(UTC).year)}


def _rows(layer: Layer, config: str, kind: str, lists: Mapping[Path, str]) -> int:
    """How many rows the template makes of the project's lists, which may have other words than those shipped."""
    with tempfile.TemporaryDirectory() as place:
        draft = Layer(Path(place))
        path = draft.templates / f"{config}.j2"
        texts = {draft.wordlists / path.name: text for path, text in lists.items()}
        write_all({path: fill(f"dataset/{kind}.j2", rows=0), **texts})
        # The draft's descriptor knows the project's lists too, whose files are in the project: those come first.
        sight = WordLists((layer.wordlists, draft.wordlists, built_in().wordlists))
        try:
            return resolve(read_template(path), sight, environment(English().filters())).size
        except DeclarationError as error:
            if theirs := [finding for finding in error.findings if finding.path != show(path)]:
                raise DeclarationError(theirs) from None
            message = f"no {kind} can be made of the lists of this project: {error.findings[0].message}"
            raise SenseprobeError(message) from None
