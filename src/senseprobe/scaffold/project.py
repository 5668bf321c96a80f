"""A project of one's own, with a small example in it."""

import os
from importlib.metadata import version
from pathlib import Path

from senseprobe.errors import SenseprobeError
from senseprobe.project import MARKER, Layer
from senseprobe.scaffold.template import planned
from senseprobe.scaffold.texts import fill
from senseprobe.scaffold.writing import write_all

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
