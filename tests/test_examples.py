"""The examples of docstrings, which are run. No module is imported before its test is, and none without an example."""

import doctest
import importlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "senseprobe"


def _modules_with_examples() -> Iterator[str]:
    """Dotted names; folders that are links are followed, since links join the package."""
    for folder, _, files in os.walk(PACKAGE, followlinks=True):
        for path in (Path(folder, name) for name in files if name.endswith(".py")):
            if re.search(r"^ *>>> ", path.read_text(encoding="utf-8"), re.M):
                yield ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("module", sorted(_modules_with_examples()))
def test_examples_print_what_stands_there(module: str) -> None:
    """What differs is printed by doctest."""
    found = doctest.testmod(importlib.import_module(module))

    assert found.attempted
    assert not found.failed
