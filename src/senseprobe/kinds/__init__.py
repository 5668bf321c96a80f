"""What a kind of rows is declared with, for plug-ins and for rooms of ours below this folder; docs/plugins.md says how.

A room is registered by its entry point in the group `senseprobe.kinds`; nothing else imports it.
"""

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
