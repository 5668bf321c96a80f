"""Models by family, each with the ability that scorers ask for; a family's code is loaded when a model of it is."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from senseprobe.evaluate.models.registry import (
    FAMILIES,
    Family,
    Model,
    ModelSource,
    ability_in_memory,
    ability_of,
    load,
    title_of,
    wrap,
)

if TYPE_CHECKING:
    from senseprobe.evaluate.models.masked import Encoding, MaskedLM, Query

__all__ = [
    "FAMILIES",
    "Encoding",
    "Family",
    "MaskedLM",
    "Model",
    "ModelSource",
    "Query",
    "ability_in_memory",
    "ability_of",
    "load",
    "title_of",
    "wrap",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class of the family whose code is not loaded yet
    if name not in {"Encoding", "MaskedLM", "Query"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.masked"), name)
