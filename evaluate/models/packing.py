"""Linear layers on a CPU, computed by oneDNN, which is several times as fast as MKL on processors not from Intel."""

import weakref
from collections.abc import Iterator
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

from senseprobe.evaluate.models.agreement import agree
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet

# The operators that PyTorch's own compiler makes of linear layers on a CPU.
_OPERATORS = ("_reorder_linear_weight", "_linear_pointwise")
# So far may logits be apart that layers give as they are and packed, as a part of the largest of them.
_SAME = 1e-3
# What a model raises that looks into its layers itself, or that does not take three tokens and nothing else.
_REFUSALS = (RuntimeError, TypeError, ValueError, AttributeError, LookupError, NotImplementedError, MemoryError)


class _Packed(torch.nn.Module):
    """A linear layer whose weights lie as oneDNN reads them; others see them as they were, in a copy.

    The layer gives its weights away, so that they are not held twice, and gets them back with `plain`. `was_read` says
    whether somebody looked at them, which takes longer than the layer itself.
    """

    def __init__(self, layer: Any) -> None:  # noqa: ANN401 - two classes, with the weights one way and the other
        super().__init__()
        self._turned = isinstance(layer, Conv1D)
        weight = layer.weight.detach()
        self._packed = torch.ops.mkldnn._reorder_linear_weight((weight.t() if self._turned else weight).contiguous())
        self.bias = None if layer.bias is None else layer.bias.detach()
        self.was_read = False
        # What is tied to other weights lives on there, and is to be the same again.
        self._given = weakref.ref(layer.weight)
        self._learns = layer.weight.requires_grad
        self._shell = (layer,)  # in a tuple, it is no part of the model
        layer.weight = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What the layer makes of an array of shape (…, inputs): shape (…, outputs)."""
        result: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")
        return result

    @property
    def weight(self) -> torch.Tensor:
        """The weights, in the layer's shape."""
        self.was_read = True
        return self._copy()

    @property
    def plain(self) -> torch.nn.Module:
        """The layer as it was."""
        (layer,) = self._shell
        if layer.weight is None:
            given = self._given()
            layer.weight = torch.nn.Parameter(self._copy(), self._learns) if given is None else given
        return layer  # type: ignore[no-any-return]

    def _copy(self) -> torch.Tensor:
        weight: torch.Tensor = self._packed.to_dense()
        return weight.t() if self._turned else weight

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        destination[f"{prefix}weight"] = self._copy()
        if self.bias is not None:
            destination[f"{prefix}bias"] = self.bias


def pack(model: Pretrained) -> None:
    """Have oneDNN compute the linear layers of a model that is on an x86 CPU in float32.

    It is tried on three tokens before and after: where it fails or gives other numbers, it stays as it was, and so do
    layers whose weights the model reads itself.
    """
    if not _can_pack(model):
        return
    with quiet():
        if (before := _logits(model)) is None:
            return
        places = _pack_layers(model)
        after = _logits(model)
        alike = after is not None and agree(before, after, _SAME)
        for parent, name in places:
            packed = getattr(parent, name)
            if packed.was_read or not alike:
                setattr(parent, name, packed.plain)


def _can_pack(model: Pretrained) -> bool:
    """Elsewhere PyTorch has other libraries, which are as fast."""
    known = torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    known = known and all(hasattr(torch.ops.mkldnn, name) for name in _OPERATORS)
    return bool(known) and model.device.type == "cpu" and model.dtype == torch.float32


def _pack_layers(model: torch.nn.Module) -> list[tuple[torch.nn.Module, str]]:
    """Put packed layers in place of linear ones, one by one; says what each is part of, and its name there."""
    done: dict[int, _Packed] = {}
    places = []
    for parent, name in list(_linear_layers(model)):
        layer = getattr(parent, name)
        try:
            packed = done.get(id(layer)) or _Packed(layer)
        except _REFUSALS:  # oneDNN takes no such shape, or there is no room for it
            continue
        done[id(layer)] = packed  # which keeps the layer, and with it the number, from being another's
        setattr(parent, name, packed)
        places.append((parent, name))
    return places


def _linear_layers(model: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, str]]:
    """What each is part of, and its name there; classes derived from linear layers are left alone."""
    for parent in model.modules():
        for name, layer in parent._modules.items():
            if type(layer) in (torch.nn.Linear, Conv1D) and _fits(layer.weight):  # type: ignore[union-attr, arg-type]
                yield parent, name


def _fits(weight: torch.Tensor) -> bool:
    return weight.dtype == torch.float32 and weight.numel() > 0


@torch.inference_mode()
def _logits(model: Pretrained) -> torch.Tensor | None:
    """For three tokens; None where the model cannot tell."""
    ids = torch.arange(3)[None]
    try:
        logits: torch.Tensor = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    except _REFUSALS:
        return None
    return logits
