"""The kinds of rows: what the front matter of each holds, and which columns and design its rows have."""

from collections.abc import Mapping
from typing import Any

from senseprobe.generator.kinds.association import AssociationExpansion
from senseprobe.generator.kinds.base import RowExpansion
from senseprobe.generator.kinds.contrast import ContrastExpansion
from senseprobe.generator.kinds.inference import InferenceExpansion
from senseprobe.release.kinds import KindTable

__all__ = ["EXPANSIONS", "RowExpansion"]

EXPANSIONS: Mapping[str, RowExpansion[Any]] = KindTable(
    {
        "contrast": ContrastExpansion(),
        "inference": InferenceExpansion(),
        "association": AssociationExpansion(),
    },
    "expansion",
    RowExpansion,
)
"""How rows are made, by kind: ours, then those of plug-ins."""
