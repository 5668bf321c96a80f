"""Models by family, each with the ability that scorers ask for; a family's code is loaded when a model of it is."""

from senseprobe.evaluate.models.registry import (
    FAMILIES,
    Family,
    Model,
    ModelSource,
    abilities_of_source,
    ability_in_memory,
    ability_of,
    load,
    title_of,
    wrap,
)

__all__ = [
    "FAMILIES",
    "Family",
    "Model",
    "ModelSource",
    "abilities_of_source",
    "ability_in_memory",
    "ability_of",
    "load",
    "title_of",
    "wrap",
]
