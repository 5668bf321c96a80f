"""Models by family, each with the ability that scorers ask for; a family's code is loaded when a model of it is."""

from senseprobe.evaluate.models.registry import (
    FAMILIES,
    Family,
    Model,
    ability_in_memory,
    ability_of,
    load,
    title_of,
)
from senseprobe.evaluate.models.source import ModelSource, abilities_of_source, source_class, wrap

__all__ = [
    "FAMILIES",
    "Family",
    "Model",
    "ModelSource",
    "abilities_of_source",
    "ability_in_memory",
    "ability_of",
    "load",
    "source_class",
    "title_of",
    "wrap",
]
