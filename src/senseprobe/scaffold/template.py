"""Write a new project with a small example (`start`), or a template for a new config of a dataset (`add`).

The files are those of `files/`. What describes the example is true of it; what describes any other dataset is to be
filled in. Lists in YAML files of the user get an item; every other character of such a file stays as it is. All files
are written, or none.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from textwrap import indent
from uuid import uuid4

from ruamel.yaml import YAML
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, SequenceNode

from senseprobe.atomic_files import write_whole
from senseprobe.errors import DeclarationError, SenseprobeError
from senseprobe.generator import yaml_source
from senseprobe.generator.checks.placeholders import EXAMPLE, EXAMPLE_SOURCE
from senseprobe.generator.english import English
from senseprobe.generator.kinds import EXPANSIONS
from senseprobe.generator.resolve import resolve
from senseprobe.generator.schema import kind_hint
from senseprobe.generator.segments import environment
from senseprobe.generator.templates import read_template
from senseprobe.generator.word_lists import DESCRIPTOR, WordLists
from senseprobe.project import MARKER, Layer, built_in

LISTS: Mapping[str, tuple[str, ...]] = {
    "contrast": ("hobbyists", "traits"),
    "inference": ("deeds", "belongings", "trades", "hobbyists"),
    "association": ("foods",),
}
"""The lists that the template of a kind uses."""

MARGINS: Mapping[str, float] = {"contrast": 5, "inference": 5, "association": 0.2}
"""The margin of equivalence that is proposed for a dataset of a kind, in the unit of its figures."""

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_CITED = re.compile(rf"@\w+\{{\s*{EXAMPLE_SOURCE}\s*,")

CONFIG = "hobbies"
"""The config of the example in a new project."""

FIRST_STEPS: Mapping[str, str] = {
    "lint": "check templates and word lists (the example is clean)",
    f"preview {EXAMPLE}/{CONFIG}": "show some pairs of sentences",
    f"build {EXAMPLE} 1.0.0": "freeze all pairs in releases/",
    f"verify {EXAMPLE}@1.0.0 --rebuild": "check the release, and make its rows again",
    "new mine/first --kind contrast": "begin a dataset of your own: replace each TODO in its files",
    f"model plant {EXAMPLE}@1.0.0 planted": "train a tiny model to try scores with, without a network",
    f"score planted {EXAMPLE}@1.0.0": "score this model, and store the result",
    f"report results/{EXAMPLE}@1.0.0/planted/aul.json": "show the result as a page, report.html",
}
"""The commands to try in a new project, in order, and what each does."""

_FILES = files("senseprobe") / "scaffold" / "files"


def start(root: Path) -> list[Path]:
    """Make `root` a project, with all of its files or none; return their paths.

    Raise SenseprobeError where one of them exists already, and OSError.
    """
    if os.path.lexists(root / MARKER):
        raise SenseprobeError(f"{root} is already a project: `senseprobe new DATASET/CONFIG` adds to it")
    layer = Layer(root)
    workflow = fill_template_file("project/workflow.yml", version=version("senseprobe"))
    files = {
        **plan_files(layer, f"{EXAMPLE}/{CONFIG}", "contrast"),
        root / "README.md": fill_template_file("project/README.md", steps=render_steps()),
        root / ".gitignore": fill_template_file("project/gitignore"),
        root / ".github" / "workflows" / "senseprobe.yml": workflow,
        layer.releases / ".gitkeep": "",
        root / MARKER: fill_template_file("project/senseprobe.toml"),  # last: an incomplete project is not one
    }
    if existing := ", ".join(path.relative_to(root).as_posix() for path in files if os.path.lexists(path)):
        raise SenseprobeError(f"{root} already has {existing}: name a new folder, or move these files away")
    write_all(files)
    return [*files]


def render_steps() -> str:
    """Return FIRST_STEPS as lines to be typed, each with a comment."""
    width = max(map(len, FIRST_STEPS))
    return "\n".join(f"    senseprobe {command:<{width}}  # {what}" for command, what in FIRST_STEPS.items())


def add(layer: Layer, name: str, kind: str) -> list[Path]:
    """Add the config ``DATASET/CONFIG`` of a kind to a project, all of its files or none; return their paths.

    Raise SenseprobeError where it exists already or cannot be made of the project's lists, DeclarationError where
    a file of the project that it needs cannot be read, and OSError.
    """
    files = plan_files(layer, name, kind)
    write_all(files)
    return [*files]


def plan_files(layer: Layer, name: str, kind: str) -> dict[Path, str]:
    """Return the files that `add` writes, with their texts."""
    if kind not in LISTS:
        if kind in EXPANSIONS:
            raise SenseprobeError(f"`new` makes no template of kind {kind}: write one as docs/authoring.md shows")
        raise SenseprobeError(f"unknown kind {kind!r}: {kind_hint(kind, LISTS)}")
    dataset, _, config = name.partition("/")
    if not _NAME.fullmatch(dataset) or not _NAME.fullmatch(config):
        expected = "use DATASET/CONFIG, both with lower-case letters, digits, - and _, and a letter first"
        raise SenseprobeError(f"{name!r} cannot be the name of a config: {expected}")
    folder = layer.templates / dataset
    path = folder / f"{config}.j2"
    if os.path.lexists(path):
        raise SenseprobeError(f"{yaml_source.format_path(path)} already exists: choose another name for the config")
    if dataset in built_in().datasets() and not folder.is_dir():
        raise SenseprobeError(f"{dataset} is the name of a built-in dataset: choose another name")
    lists = dict(_missing_lists(layer, kind))
    about = yaml_source.parse(read_template_file("dataset/about.yaml"), "about.yaml")
    texts = about["example" if name == f"{EXAMPLE}/{CONFIG}" else "to_fill_in"]
    template = fill_template_file(f"dataset/{kind}.j2", rows=_count_rows(layer, config, kind, lists), **texts)
    card = folder / "dataset.yaml"
    if card.exists():
        card_text = with_item(card, read_yaml(card), "configs", config)
    else:
        texts = {**texts, "margin": f"{MARGINS[kind]:g}"}
        card_text = fill_template_file("dataset/dataset.yaml", dataset=dataset, config=config, uuid=uuid4(), **texts)
    return {**lists, **_add_bibliography(layer), path: template, card: card_text}


def _missing_lists(layer: Layer, kind: str) -> Iterator[tuple[Path, str]]:
    """Yield the files of the lists that the project lacks, and the descriptor with these lists."""
    names = WordLists((layer.wordlists,)).names()
    missing = [name for name in LISTS[kind] if name not in names]
    for name in missing:
        path = layer.wordlists / f"{name}.csv"
        if os.path.lexists(path):
            what = f"{yaml_source.format_path(path)} exists but is not in {DESCRIPTOR}"
            raise SenseprobeError(f"{what}: describe it, or remove it")
        yield path, read_template_file(f"lists/{name}.csv")
    if missing:
        path = layer.wordlists / DESCRIPTOR
        text = read_yaml(path) if path.exists() else read_template_file("project/datapackage.yaml")
        for name in missing:
            text = with_item(path, text, "resources", read_template_file(f"lists/{name}.yaml"))
        yield path, text


def read_yaml(path: Path) -> str:
    """Read a file with its own line ends; raise DeclarationError where it is not YAML as declarations have it."""
    display_path = yaml_source.format_path(path)
    yaml_source.parse(yaml_source.read_text(path, display_path), display_path)
    return path.read_bytes().decode("utf-8-sig")


def with_item(path: Path, text: str, key: str, item: str) -> str:
    """Return the text of a YAML file with another item in a list; raise SenseprobeError where that is not a list."""
    added = append_item(text.replace("\r\n", "\n"), key, item)
    if added is None:
        what = f"{yaml_source.format_path(path)}: senseprobe cannot add to `{key}`"
        raise SenseprobeError(f"{what}: write it as a list with one item per line")
    return added.replace("\n", "\r\n") if "\r\n" in text else added


def _add_bibliography(layer: Layer) -> dict[Path, str]:
    """Return the list of sources with the one that the files cite; nothing where it has that already."""
    path = layer.wordlists / "references.bib"
    text = yaml_source.read_text(path, yaml_source.format_path(path)) if path.exists() else ""
    if _CITED.search(text):
        return {}
    return {path: (text and text.rstrip("\n") + "\n\n") + read_template_file("project/references.bib")}


def _count_rows(layer: Layer, config: str, kind: str, lists: Mapping[Path, str]) -> int:
    """Count the rows that the template makes of the project's lists, whose words may differ."""
    with tempfile.TemporaryDirectory() as scratch:
        draft = Layer(Path(scratch))
        path = draft.templates / f"{config}.j2"
        texts = {draft.wordlists / path.name: text for path, text in lists.items()}
        fields = dict.fromkeys(("bias_type", "sense", "measures", "description", "source"), "")
        write_all({path: fill_template_file(f"dataset/{kind}.j2", rows=0, **fields), **texts})
        # The draft's descriptor has the project's lists too, whose files are in the project: those come first.
        word_lists = WordLists((layer.wordlists, draft.wordlists, built_in().wordlists))
        try:
            return resolve(read_template(path), word_lists, environment(English().filters())).size
        except DeclarationError as error:
            draft_path = yaml_source.format_path(path)
            if project_findings := [finding for finding in error.findings if finding.path != draft_path]:
                raise DeclarationError(project_findings) from None
            message = f"the lists of this project cannot make a {kind}: {error.findings[0].message}"
            raise SenseprobeError(message) from None


def read_template_file(path: str) -> str:
    """Read a file of `files/`."""
    return _FILES.joinpath(path).read_text(encoding="utf-8")


def fill_template_file(path: str, **values: object) -> str:
    """Read a file of `files/` and replace every ``$name``; ``$$`` is a dollar sign."""
    return Template(read_template_file(path)).substitute({name: str(value) for name, value in values.items()})


def write_all(files: Mapping[Path, str]) -> None:
    """Write texts in order; where one fails, raise OSError and restore what was there before."""
    before = {path: path.read_bytes() if path.exists() else None for path in files}
    folders = {folder for path in files for folder in path.parents if not folder.exists()}
    try:
        for path, text in files.items():
            write_whole(path, text.encode())
    except BaseException:
        # An error here must not hide the error that made this necessary.
        for path, data in before.items():
            with suppress(OSError):
                path.unlink(missing_ok=True) if data is None else write_whole(path, data)
        for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
            with suppress(OSError):
                folder.rmdir()
        raise


def append_item(text: str, key: str, item: str) -> str | None:
    """Return the YAML mapping `text` with another item in the list at top-level `key`; None where that is not a list.

    `item` is YAML, of one line or of several.

    >>> append_item("configs: [a, b]  # in order", "configs", "c")
    'configs: [a, b, c]  # in order'
    """
    top = YAML(typ="rt", pure=True).compose(text)
    pairs = top.value if isinstance(top, MappingNode) else []
    node = next((value for name, value in pairs if name.value == key), None)
    if not isinstance(node, SequenceNode):
        return None
    if not node.value:  # []
        before = text[: node.start_mark.index].rstrip(" ")
        return f"{before}\n{_indented(item, 2)}{text[node.end_mark.index :]}"
    end = _end_of(node.value[-1])
    if node.flow_style:
        return None if "\n" in item.strip() else f"{text[:end]}, {item.strip()}{text[end:]}"
    # On a line of its own, after the line of the last item, which may end in a comment.
    if end and text[end - 1] != "\n":
        end = text.find("\n", end) + 1 or len(text)
    before = text[:end].removesuffix("\n")
    return f"{before}\n{_indented(item, node.start_mark.column)}\n{text[end:]}"


def _end_of(node: Node) -> int:
    """Return where a node's text ends: a collection without brackets ends with its last item, before comments."""
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_of(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _indented(item: str, columns: int) -> str:
    text = indent(item.strip("\n"), " " * (columns + 2))
    return f"{' ' * columns}- {text[columns + 2 :]}"
