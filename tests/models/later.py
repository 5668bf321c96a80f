"""Modules that are imported when a test first uses them.

Loading torch and transformers takes seconds, for which nobody should wait who collects tests, or runs others.
"""

from importlib import import_module
from typing import Any


class Later:
    """Stands for a module at the top of tests, which say the real import under `TYPE_CHECKING`.

    It has no attributes of its own: what is to be patched is named in full, ``monkeypatch.setattr("torch.load", …)``.
    """

    __slots__ = ("_module",)

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as of a module
        # Python and pytest, when it collects, ask everything for such names.
        if name.startswith(("__", "_mock_", "pytest_")):
            raise AttributeError(name)
        return getattr(import_module(self._module), name)
