"""Models by family, each with the ability that scorers ask for; a family's code is loaded when a model of it is."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.registry import OWN, Family, admit, claiming, open_plugged
from senseprobe.evaluate.plugins import Registry

if TYPE_CHECKING:
    from senseprobe.evaluate.models.batching import Budget
    from senseprobe.evaluate.models.masked import Encoding, MaskedLM, Query

__all__ = ["FAMILIES", "Encoding", "Family", "MaskedLM", "Model", "Query", "ability_of", "load", "title_of"]


class Model(Protocol):
    """What all models have in common; the rest is between a family and the scorers that ask for its ability."""

    name: str
    ability: str
    budget: "Budget"

    @property
    def identity(self) -> Mapping[str, str]:
        """What scores depend on: sha256 of ``weights``, ``config`` and ``tokenizer``, ``dtype``; a Hub ``revision``."""


FAMILIES = Registry("senseprobe.models", Family, "family of models", OWN, admit)
"""By id, which of ours is their ability; then those of plug-ins."""


def title_of(ability: str) -> str:
    """What a model with an ability is called in messages, with its article."""
    known = (family.title for family in FAMILIES.values() if family.ability == ability)
    return next(known, f"a model with the ability {ability}")


def ability_of(spec: str) -> str:
    """The ability of the model at `spec`: of a plug-in that claims it, else by the architectures in its config.json.

    Where it names a body without a head, the heads that there are for such a body decide: masked, else causal. Raises
    ModelError.
    """
    if family := claiming(spec, FAMILIES.values()):
        return family.ability
    from senseprobe.evaluate.models.checkpoint import read_config

    config = read_config(spec)
    named = config.architectures or []
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise ModelError(
            f"cannot tell what kind of model {spec} is: in its config.json architectures is no list of names"
        )
    found = (_by_head(name) for name in named)
    if ability := next(filter(None, found), None) or _by_body(config.model_type):
        return ability
    told = ", ".join(named) or "none"
    raise ModelError(f"cannot tell what kind of model {spec} is: its config.json names the architecture {told}")


def _by_head(architecture: str) -> str | None:
    from transformers.models.auto import modeling_auto as known

    if architecture.endswith("ForSequenceClassification"):
        return "inference"
    if architecture in _classes(known.MODEL_FOR_MASKED_LM_MAPPING_NAMES):
        return "masked"
    return "causal" if architecture in _classes(known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) else None


def _by_body(kind: str) -> str | None:
    from transformers.models.auto import modeling_auto as known

    if kind in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return "masked"
    return "causal" if kind in known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES else None


def _classes(mapping: Mapping[str, str | Iterable[str]]) -> set[str]:
    return {name for names in mapping.values() for name in ([names] if isinstance(names, str) else names)}


def load(
    spec: str,
    *,
    ability: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    allow_pickle: bool = False,
    batch_tokens: int | None = None,
    labels: str | None = None,
) -> Model:
    """Load the model in the folder `spec`, or ``USER/NAME[@REVISION]`` of the Hub, for an ability (default: its own).

    `device` is ``auto`` (CUDA if there is any, else the CPU) or a name that torch knows; `dtype` float32, float64,
    bfloat16 or float16; `batch_tokens` the tokens of a forward pass, None for what suits the device; `labels` the
    classes of a model of inference whose config does not name them (models/nli.py). Code from a checkpoint
    never runs; only `allow_pickle` lets weights be read that are not safetensors. Raises ModelError.
    """
    ability = ability or ability_of(spec)
    if labels is not None and ability != "inference":
        raise ModelError(f"{spec} is {title_of(ability)}: labels are of a model of inference")
    stated = {} if labels is None else {"labels": labels}
    how = {"device": device, "dtype": dtype, "allow_pickle": allow_pickle, "batch_tokens": batch_tokens, **stated}
    opened = _open(spec, ability, how)
    if stated:
        opened.identity.update(stated)  # so that a replay can state them again
    return cast("Model", opened)


def _open(spec: str, ability: str, how: Mapping[str, object]) -> Any:  # noqa: ANN401 - a model, of which we set parts
    if family := claiming(spec, FAMILIES.values(), ability):
        return open_plugged(family, spec, **how)
    if ability not in {family.id for family in OWN}:
        raise ModelError(f"cannot load the model {spec}: no plug-in claims it that makes {title_of(ability)}")
    return import_module(f"{__name__}.{FAMILIES[ability].module}").load(spec, **how)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class of the family whose code is not loaded yet
    if name not in {"Encoding", "MaskedLM", "Query"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.masked"), name)
