"""What the paths given to `lint` mean: which lists and templates of which layer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from senseprobe.errors import SenseprobeError
from senseprobe.generator.wordlists import DESCRIPTOR
from senseprobe.project import MARKER, Layer, layers


@dataclass(frozen=True, slots=True)
class Target:
    """A part of a layer: `lists` are files, `datasets` folders, `config` a template; None means all of them."""

    layer: Layer
    lists: frozenset[Path] | None = None
    datasets: frozenset[Path] | None = None
    config: str | None = None

    @property
    def whole_folder(self) -> bool:
        """Whether the folder of word lists is looked at, not only some of its files."""
        return self.lists is None

    def folders(self) -> list[Path]:
        """Folders of templates, sorted, also those that no `dataset.yaml` declares."""
        found = {path.parent for pattern in ("*/*.j2", "*/dataset.yaml") for path in self.layer.templates.glob(pattern)}
        return sorted(path for path in found if self.datasets is None or path.resolve() in self.datasets)


def targets(paths: Iterable[Path]) -> list[Target]:
    """What the paths mean; without any, the whole nearest layer.

    Raises SenseprobeError for a path that does not exist, or that lint does not read.
    """
    return [_target(path) for path in dict.fromkeys(paths)] or [Target(layers()[0])]


def _target(path: Path) -> Target:
    if not path.exists():
        raise SenseprobeError(f"{path}: no such file or folder")
    real = path.resolve()
    found = next((target for layer in _layers_of(real) if (target := _in_layer(real, layer))), None)
    if found is None:
        what = "a project, its templates or wordlists, a dataset's folder, a template (.j2) or a list (.csv)"
        raise SenseprobeError(f"{path} is nothing that lint reads: give {what}")
    return found


def _layers_of(real: Path) -> Iterator[Layer]:
    """The folders around a path that look like a layer, nearest first."""
    for folder in (real, *real.parents):
        if any((folder / part).exists() for part in (MARKER, "templates", "wordlists")):
            yield Layer(folder)


def _in_layer(real: Path, layer: Layer) -> Target | None:
    none: frozenset[Path] = frozenset()
    templates, wordlists = layer.templates.resolve(), layer.wordlists.resolve()
    if real == layer.root.resolve():
        return Target(layer)
    if real == templates:
        return Target(layer, lists=none)
    if real in (wordlists, wordlists / DESCRIPTOR):
        return Target(layer, datasets=none)
    if real.parent == wordlists and real.suffix == ".csv":
        return Target(layer, lists=frozenset({real}), datasets=none)
    return _in_templates(real, templates, layer)


def _in_templates(real: Path, templates: Path, layer: Layer) -> Target | None:
    folder = real if real.is_dir() else real.parent
    if folder.parent != templates:
        return None
    target = Target(layer, lists=frozenset(), datasets=frozenset({folder}))
    if real == folder:
        return target if target.folders() else None
    if real.suffix == ".j2":
        return Target(layer, lists=frozenset(), datasets=frozenset({folder}), config=real.stem)
    return target if real.name == "dataset.yaml" else None
