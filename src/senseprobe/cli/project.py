"""Commands of those who begin: a project, a template."""

from pathlib import Path
from typing import Annotated

import typer

from senseprobe.cli.console import print_line
from senseprobe.errors import SenseprobeError


def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the project goes.")]) -> None:
    """Make a project of your own, with a small example that works."""
    from senseprobe.scaffold import start

    files = start(folder)
    print_line(f"made a project of {len(files)} files in {folder}; its README.md says what is where")
    print_line("try there: senseprobe lint, and senseprobe preview example/hobbies")


def new(
    name: Annotated[str, typer.Argument(metavar="DATASET/CONFIG")],
    kind: Annotated[str, typer.Option(metavar="KIND", help="What a row is: contrast, inference or association.")],
) -> None:
    """Add a template with comments to your project, and the dataset and word lists that it needs."""
    from senseprobe.generator.wordlists import show
    from senseprobe.project import MARKER, user_layer
    from senseprobe.scaffold import add

    layer = user_layer()
    if layer is None:
        raise SenseprobeError(f"no project here (no {MARKER} in a parent folder): make one with `senseprobe init DIR`")
    for path in add(layer, name, kind):
        print_line(f"wrote {show(path)}")
    print_line(f"edit them, and see what you have: senseprobe lint, and senseprobe preview {name}")
