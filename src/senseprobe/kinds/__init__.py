"""What a kind of rows is declared with, for plug-ins and for rooms of ours below this folder; docs/plugins.md says how.

A room is registered by its entry point in the group `senseprobe.kinds`; nothing else imports it. The names below are
loaded when they are first used, so that what a room declares besides, as a command, is light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from senseprobe.evaluate.units import RowScoring
    from senseprobe.generator.checks.base import ConfigSubject
    from senseprobe.generator.config import Config, ResolvedBlock, reference
    from senseprobe.generator.kinds import RowExpansion
    from senseprobe.generator.kinds.base import ReferenceChecker
    from senseprobe.generator.product import RowSelection
    from senseprobe.generator.render import FrameRows
    from senseprobe.generator.schema import Binding, ExpectRows, Front, RowCount
    from senseprobe.generator.word_lists import Word, WordLists
    from senseprobe.records import Design, Figure, Finding
    from senseprobe.release.kinds import FLAG, SPAN, TEXT, Kind

__all__ = [
    "FLAG",
    "SPAN",
    "TEXT",
    "Binding",
    "Config",
    "ConfigSubject",
    "Design",
    "ExpectRows",
    "Figure",
    "Finding",
    "FrameRows",
    "Front",
    "Kind",
    "ReferenceChecker",
    "ResolvedBlock",
    "RowCount",
    "RowExpansion",
    "RowScoring",
    "RowSelection",
    "Word",
    "WordLists",
    "reference",
]

_HOMES = {
    "evaluate.units": ("RowScoring",),
    "generator.checks.base": ("ConfigSubject",),
    "generator.config": ("Config", "ResolvedBlock", "reference"),
    "generator.kinds": ("RowExpansion",),
    "generator.kinds.base": ("ReferenceChecker",),
    "generator.product": ("RowSelection",),
    "generator.render": ("FrameRows",),
    "generator.schema": ("Binding", "ExpectRows", "Front", "RowCount"),
    "generator.word_lists": ("Word", "WordLists"),
    "records": ("Design", "Figure", "Finding"),
    "release.kinds": ("FLAG", "SPAN", "TEXT", "Kind"),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is declared with
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"senseprobe.{_MODULES[name]}"), name)
