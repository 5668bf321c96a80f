"""Encoders whose hidden layers are altered, too: a hook at load, after each layer, for our own scorers.

Weights cannot hold it, so that transformers alone would not apply it; the record says that (`layers` is ``all``).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.erasure import Erasure
from senseprobe.evaluate.mitigation.record import read_map
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet

if TYPE_CHECKING:
    from senseprobe.evaluate.mitigation.embeddings import ParentModel

_LEFT = 1e-3  # of the largest number of a hidden state, that a direction may still have


def check_layers(parent: "ParentModel", erasure: Erasure) -> None:
    """Raise ModelError where a map cannot be applied after all layers of a model.

    That is a projection, in an encoder whose hidden states have as many numbers as its embeddings.
    """
    reason = ""
    if erasure.mean.any():
        reason = "its map has a mean, that of embeddings: use a projection"
    elif parent.ability == "causal" or getattr(parent.model.config, "is_decoder", False):
        reason = "it reads from left to right: only the input of decoders is altered"
    elif _width(parent.model) != parent.dimensions:
        reason = (
            f"its hidden states have {_width(parent.model)} numbers, and its embeddings {parent.dimensions}, since it "
            "factorises them"
        )
    elif _find_layers(parent.model) is None:
        reason = "its layers are not known"
    if reason:
        raise ModelError(f"cannot alter all layers of {parent.spec} (--layers all): {reason}")


def alter_layers(model: Any, folder: Path) -> None:  # noqa: ANN401 - of any family
    """Have the map in a folder applied after each layer of a model that was loaded.

    Raises ModelError where hidden states are not without the directions then.
    """
    erasure, _ = read_map(folder)
    body = getattr(model, "_model", None)
    layers = None if body is None else _find_layers(body)
    if body is None or layers is None or _width(body) != erasure.dimensions:
        raise ModelError(f"the model {model.name} was altered in all layers, which cannot be done as it is loaded here")
    left, right, mean = (torch.tensor(part, device=body.device) for part in (erasure.left, erasure.right, erasure.mean))

    def without(states: torch.Tensor) -> torch.Tensor:
        exact = states.double()
        return (exact - (exact - mean) @ right @ left.T).to(states.dtype)

    def alter(_: torch.nn.Module, __: object, output: Any) -> Any:  # noqa: ANN401 - a tensor, or a tuple with one
        return (without(output[0]), *output[1:]) if isinstance(output, tuple) else without(output)

    for layer in layers:
        layer.register_forward_hook(alter, prepend=True)  # before transformers notes what a layer gave
    ids = torch.arange(3, device=body.device)[None]
    with quiet(), torch.inference_mode():
        output = body(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
    for states in output.hidden_states[1 : len(layers)]:
        residual = ((states.double() - mean) @ right).abs().max()
        if residual > _LEFT * max(1.0, float(states.abs().max())):
            raise ModelError(f"the hidden layers of {model.name} cannot be altered: they keep what was to be removed")


def _find_layers(model: Pretrained) -> torch.nn.ModuleList | None:
    """Return the layers of a model, one after the other; None where they are no list of their number."""
    count = getattr(model.config, "num_hidden_layers", None)
    body: Pretrained = getattr(model, "base_model", model)
    lists = [part for part in body.modules() if isinstance(part, torch.nn.ModuleList) and len(part) == count]
    return lists[0] if len(lists) == 1 or (lists and count and count > 1) else None


def _width(model: Pretrained) -> int:
    return int(getattr(model.config, "hidden_size", 0))
