"""The family of models that `model train-nli` makes of vectors, as the registry of families takes it."""

from collections.abc import Mapping
from typing import Any

from senseprobe.evaluate.models.registry import Family


def _claims(spec: str, config: Mapping[str, Any]) -> bool:
    """Return whether config.json says that a model is an attention model of ours."""
    return config.get("model_type") == "senseprobe-attention"


def _load(spec: str, **options: Any) -> Any:  # noqa: ANN401 - a model, which needs torch
    from senseprobe.evaluate.mitigation.attention_files import load_attention

    return load_attention(spec, **options)


FAMILIES = (
    Family(
        id="attention",
        ability="inference",
        title="an NLI model on vectors of words",
        load=_load,
        claims=_claims,
    ),
)
