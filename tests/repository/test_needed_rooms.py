"""An entry point of a room of ours whose module needs a room that is missing is missing, too; other errors are seen."""

from importlib.metadata import EntryPoint

import pytest

from senseprobe import plugins
from senseprobe.release.kinds import KINDS, Kind

ENTRY = EntryPoint("mine", "senseprobe.kinds.mine.kind:KINDS", "senseprobe.kinds")


def _registry(monkeypatch: pytest.MonkeyPatch, missing: str) -> plugins.Registry[Kind]:
    """Return a registry with one room, whose import does not find the module `missing`."""

    def load(entry: EntryPoint) -> object:
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr(EntryPoint, "load", load)
    monkeypatch.setattr(plugins, "_find_entries", lambda group, path: ([ENTRY], {}))
    return plugins.Registry("senseprobe.kinds", Kind, "kind of rows", [KINDS["contrast"]], lambda kind: kind)


@pytest.mark.parametrize("missing", ["senseprobe.evaluate.served", "senseprobe.kinds.question"])
def test_what_needs_a_missing_room_is_missing(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """The rest of a room is there without those of its modules that need another one."""
    assert [*_registry(monkeypatch, missing)] == ["contrast"]


@pytest.mark.parametrize("missing", ["senseprobe.evaluate.typo", "senseprobe.evaluate.served.typo", "numpy"])
def test_a_mistake_in_a_room_is_an_error(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """A misspelt import in a room does not make it vanish, and nor does a missing library."""
    with pytest.raises(ModuleNotFoundError, match=missing):
        _registry(monkeypatch, missing).find("mine")
