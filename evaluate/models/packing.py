"""Linear layers on a CPU, computed by oneDNN, which is several times as fast as MKL on processors not from Intel."""

from collections.abc import Iterator
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

from senseprobe.evaluate.models.checkpoint import Pretrained, quiet

__all__ = ["pack"]

# The operators that PyTorch's own compiler makes of linear layers on a CPU.
_OPERATORS = ("_reorder_linear_weight", "_linear_pointwise")
# So far may logits be apart that layers give as they are and packed, as a part of the largest of them.
_SAME = 1e-3
# What a model raises that looks into its layers itself, or that does not take three tokens and nothing else.
_REFUSALS = (RuntimeError, TypeError, ValueError, AttributeError, LookupError, NotImplementedError)


class _Packed(torch.nn.Module):
    """A linear layer whose weights lie as oneDNN reads them; others see them as they were, in a copy."""

    def __init__(self, layer: Any) -> None:  # noqa: ANN401 - two classes, with the weights one way and the other
        super().__init__()
        self._turned = isinstance(layer, Conv1D)
        weight = layer.weight.detach()
        self._packed = torch.ops.mkldnn._reorder_linear_weight((weight.t() if self._turned else weight).contiguous())
        self.bias = None if layer.bias is None else layer.bias.detach()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What the layer makes of an array of shape (…, inputs): shape (…, outputs)."""
        result: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")
        return result

    @property
    def weight(self) -> torch.Tensor:
        """The weights, in the layer's shape."""
        weight: torch.Tensor = self._packed.to_dense()
        return weight.t() if self._turned else weight

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        destination[f"{prefix}weight"] = self.weight
        if self.bias is not None:
            destination[f"{prefix}bias"] = self.bias


def pack(model: Pretrained) -> None:
    """Have oneDNN compute the linear layers of a model that is on an x86 CPU in float32.

    It is tried on three tokens before and after: where it fails or gives other numbers, it stays as it was.
    """
    if not _can_pack(model):
        return
    plain = list(_linear_layers(model))
    with quiet():
        before = _logits(model)
        for parent, name, layer in plain:
            setattr(parent, name, _Packed(layer))
        if not _alike(before, _logits(model)):
            for parent, name, layer in plain:
                setattr(parent, name, layer)


def _can_pack(model: Pretrained) -> bool:
    """Elsewhere PyTorch has other libraries, which are as fast."""
    known = torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    known = known and all(hasattr(torch.ops.mkldnn, name) for name in _OPERATORS)
    return bool(known) and model.device.type == "cpu" and model.dtype == torch.float32


def _linear_layers(model: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, str, torch.nn.Module]]:
    """What each is part of, its name there, and the layer; classes derived from linear layers are left alone."""
    for parent in model.modules():
        for name, layer in parent.named_children():
            if type(layer) in (torch.nn.Linear, Conv1D) and layer.weight.dtype == torch.float32:
                yield parent, name, layer


@torch.inference_mode()
def _logits(model: Pretrained) -> torch.Tensor | None:
    """For three tokens; None where the model cannot tell."""
    ids = torch.arange(3)[None]
    try:
        logits: torch.Tensor = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    except _REFUSALS:
        return None
    return logits


def _alike(before: torch.Tensor | None, after: torch.Tensor | None) -> bool:
    if before is None or after is None or before.shape != after.shape:
        return False
    bound = _SAME * float(before.nan_to_num().abs().max())
    return torch.allclose(before, after, rtol=0, atol=bound, equal_nan=True)
