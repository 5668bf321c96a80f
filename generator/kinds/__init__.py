"""The kinds of rows: what the front matter of each holds, and which columns and design its rows have."""

from collections.abc import Mapping
from typing import Any

from senseprobe.generator.kinds.association import AssociationKind
from senseprobe.generator.kinds.base import RowKind
from senseprobe.generator.kinds.contrast import ContrastKind
from senseprobe.generator.kinds.inference import InferenceKind
from senseprobe.generator.schema import Front

__all__ = ["FRONTS", "KINDS", "RowKind"]

KINDS: dict[str, RowKind[Any]] = {
    "contrast": ContrastKind(),
    "inference": InferenceKind(),
    "association": AssociationKind(),
}
FRONTS: Mapping[str, type[Front]] = {name: kind.front_type for name, kind in KINDS.items()}
