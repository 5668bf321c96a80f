"""Models by family, each with the ability that scorers ask for; a family's code is loaded when a model of it is."""

from senseprobe.evaluate.models.registry import (
    FAMILIES,
    Family,
    Model,
    ModelSource,
    ability_in_memory,
    ability_of,
    ability_of_source,
    load,
    title_of,
    wrap,
)

__all__ = [
    "FAMILIES",
    "Family",
    "Model",
    "ModelSource",
    "ability_in_memory",
    "ability_of",
    "ability_of_source",
    "load",
    "title_of",
    "wrap",
]
