"""Fixtures of tests of engines."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the work, which workers find, too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return import_module("numbered_pieces")
