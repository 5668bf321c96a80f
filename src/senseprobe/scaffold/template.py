"""What the card of a new dataset says: of each kind the truth about its example.

Adds to a list in a YAML file and leaves every other character of the file as it is.

The files of `files/`, with their places filled in.

Several files are written, or none.

A template for a new config, in a new dataset or in one that is there, with the lists that it needs.

A project of one's own, with a small example in it.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from uuid import uuid4

from ruamel.yaml import YAML
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, SequenceNode

from senseprobe.atomic_files import write_whole
from senseprobe.errors import DeclarationError, SenseprobeError
from senseprobe.generator import yaml_source
from senseprobe.generator.english import English
from senseprobe.generator.resolve import resolve
from senseprobe.generator.segments import environment
from senseprobe.generator.templates import read_template
from senseprobe.generator.word_lists import DESCRIPTOR, WordLists
from senseprobe.messages import offered
from senseprobe.project import MARKER, Layer, built_in

_HOBBIES = "anglers, cyclists, gardeners, hikers, potters, swimmers"
_NO_LEAVE = "should a score ever be read as leave to use a model on them."

ABOUT: Mapping[str, Mapping[str, str]] = {
    "contrast": {
        "title": "Praise and blame of people with a hobby",
        "summary": "Pairs of sentences that blame and praise people with a hobby, made from word lists, to try"
        " senseprobe with.",
        "content_warning": "Some sentences say unfriendly things of people with a hobby. They are not true; they are"
        " here to be measured.",
        "construct": "Whether a language model finds blame of people with one hobby likelier than of those with"
        " another.",
        "groups": _HOBBIES,
        "out_of_scope": "conclusions about anyone's hobby",
        "who_could_be_harmed": f"People with the hobbies named, {_NO_LEAVE}",
    },
    "inference": {
        "title": "Hobbies that do not follow from trades",
        "summary": "Pairs of sentences, of somebody of a trade and of somebody with a hobby, of which neither follows"
        " from the other, made from word lists, to try senseprobe with.",
        "content_warning": "No sentence says anything unfriendly. To conclude a hobby from a trade would be a"
        " prejudice, to be measured.",
        "construct": "Whether a model of inference concludes a hobby from a trade.",
        "groups": f"bakers, carpenters, electricians, plumbers, tailors, {_HOBBIES}",
        "out_of_scope": "conclusions about anyone's trade or hobby",
        "who_could_be_harmed": f"People of the trades and with the hobbies named, {_NO_LEAVE}",
    },
    "association": {
        "title": "Fruit, vegetables, and pleasant and unpleasant words",
        "summary": "Words for fruit and vegetables, and pleasant and unpleasant words, in sentences that say little"
        " else, made from word lists, to try senseprobe with.",
        "content_warning": "No sentence is about people. Some have unpleasant words, such as horrible and nasty.",
        "construct": "Whether a language model holds fruit nearer to pleasant words than vegetables.",
        "groups": "fruit, vegetables",
        "out_of_scope": "conclusions about anyone's taste",
        "who_could_be_harmed": "Nobody, as long as the words are of food; where they are made words for people, those"
        " people.",
    },
}
"""The texts of `dataset.yaml` by kind, each of which stands in one line there."""


def append(text: str, key: str, item: str) -> str | None:
    """The YAML mapping `text` with one more item in the list at its top-level `key`; None where that is no list.

    `item` is YAML, of one line or of several.

    >>> append("configs: [a, b]  # in order", "configs", "c")
    'configs: [a, b, c]  # in order'
    """
    found = _at(text, key)
    if not isinstance(found, SequenceNode):
        return None
    if not found.value:
        return _first(text, found, item)
    return _in_line(text, found, item) if found.flow_style else _below(text, found, item)


def _at(text: str, key: str) -> Node | None:
    top = YAML(typ="rt", pure=True).compose(text)
    pairs = top.value if isinstance(top, MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _first(text: str, node: SequenceNode, item: str) -> str:
    """An empty list is `[]`."""
    start, end = node.start_mark.index, node.end_mark.index
    return text[:start].rstrip(" ") + "\n" + _indented(item, 2) + text[end:]


def _in_line(text: str, node: SequenceNode, item: str) -> str | None:
    end = _end(node.value[-1])
    return None if "\n" in item.strip() else f"{text[:end]}, {item.strip()}{text[end:]}"


def _below(text: str, node: SequenceNode, item: str) -> str:
    """On a line of its own, after the last item and what is said of it in its line."""
    end = _end(node.value[-1])
    if end and text[end - 1] != "\n":
        end = text.find("\n", end) + 1 or len(text)
    before = text[:end] if text[:end].endswith("\n") else text[:end] + "\n"
    return before + _indented(item, node.start_mark.column) + "\n" + text[end:]


def _end(node: Node) -> int:
    """Where a node's text ends: a collection without brackets ends with its last item, whatever comments follow."""
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _indented(item: str, columns: int) -> str:
    first, *rest = item.strip("\n").split("\n")
    lines = [f"- {first}", *(f"  {line}" if line else "" for line in rest)]
    return "\n".join(" " * columns + line if line else "" for line in lines)


_FILES = files("senseprobe") / "scaffold" / "files"


def shipped(path: str) -> str:
    """A file as it is shipped."""
    return _FILES.joinpath(path).read_text(encoding="utf-8")


def fill(path: str, **values: object) -> str:
    """A file whose ``$name`` are replaced, every one of them; ``$$`` is a dollar sign."""
    return Template(shipped(path)).substitute({name: str(value) for name, value in values.items()})


def write_all(files: Mapping[Path, str]) -> None:
    """Write texts in order; where one fails, what was there before comes back, and what was made is removed.

    Raises OSError.
    """
    before = {path: path.read_bytes() if path.exists() else None for path in files}
    folders = [*_missing(files)]
    try:
        for path, text in files.items():
            write_whole(path, text.encode())
    except BaseException:
        _undo(before, folders)
        raise


def _missing(files: Iterable[Path]) -> Iterable[Path]:
    """Folders that have to be made, the innermost first."""
    folders = {folder for path in files for folder in path.parents if not folder.exists()}
    return sorted(folders, key=lambda folder: len(folder.parts), reverse=True)


def _undo(before: Mapping[Path, bytes | None], folders: Iterable[Path]) -> None:
    for path, data in before.items():
        # Whatever cannot be undone must not hide why it had to be.
        with suppress(OSError):
            path.unlink(missing_ok=True) if data is None else write_whole(path, data)
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


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
        raise SenseprobeError(f"{yaml_source.format_path(path)} is there already: choose another name for the config")
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
            raise SenseprobeError(
                f"{yaml_source.format_path(path)} is there and not in {DESCRIPTOR}: describe it, or remove it"
            )
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
    shown = yaml_source.format_path(path)
    yaml_source.parse(yaml_source.read_text(path, shown), shown)
    return path.read_bytes().decode("utf-8-sig")


def _appended(path: Path, text: str, key: str, item: str) -> str:
    added = append(text.replace("\r\n", "\n"), key, item)
    if added is None:
        raise SenseprobeError(
            f"{yaml_source.format_path(path)}: `{key}` is no list that can be added to: write it with an item in a line"
        )
    return added.replace("\n", "\r\n") if "\r\n" in text else added


def _bibliography(layer: Layer) -> dict[Path, str]:
    """The list of sources, where it lacks the one that the files name."""
    path = layer.wordlists / "references.bib"
    text = yaml_source.read_text(path, yaml_source.format_path(path)) if path.exists() else ""
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
            if theirs := [finding for finding in error.findings if finding.path != yaml_source.format_path(path)]:
                raise DeclarationError(theirs) from None
            message = f"no {kind} can be made of the lists of this project: {error.findings[0].message}"
            raise SenseprobeError(message) from None


EXAMPLE = "example/hobbies"
"""The config of the example."""


def start(root: Path) -> list[Path]:
    """Make `root` a project; its files, which is all or nothing.

    Raises SenseprobeError where one of them is there already, and OSError.
    """
    if os.path.lexists(root / MARKER):
        raise SenseprobeError(f"{root} is a project already: `senseprobe new DATASET/CONFIG` adds to it")
    files = _files(root)
    if there := [path.relative_to(root).as_posix() for path in files if os.path.lexists(path)]:
        raise SenseprobeError(f"{root} has {', '.join(there)} already: name a new folder, or move what is in the way")
    write_all(files)
    return [*files]


def _files(root: Path) -> dict[Path, str]:
    """What is in a new project; the marker comes last, so that half a project is none."""
    layer = Layer(root)
    files = {
        root / "README.md": fill("project/README.md"),
        root / ".gitignore": fill("project/gitignore"),
        root / ".github" / "workflows" / "senseprobe.yml": fill("project/workflow.yml", version=version("senseprobe")),
        layer.releases / ".gitkeep": "",
    }
    return {**planned(layer, EXAMPLE, "contrast"), **files, root / MARKER: fill("project/senseprobe.toml")}
