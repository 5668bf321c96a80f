"""Where a model runs, in which number format, and how long an input it takes: what all families have in common.

On a CPU, oneDNN computes linear layers: it is several times as fast as MKL on processors not from Intel.
"""

import sys
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet
from senseprobe.evaluate.models.head import agree

# The operators that PyTorch's own compiler makes of linear layers on a CPU.
_OPERATORS = ("_reorder_linear_weight", "_linear_pointwise")
# So far may logits be apart that layers give as they are and packed, as a part of the largest of them.
_SAME = 1e-3
# What a model raises that looks into its layers itself, or that does not take three tokens and nothing else.
_REFUSALS = (RuntimeError, TypeError, ValueError, AttributeError, LookupError, NotImplementedError, MemoryError)


class _Packed(torch.nn.Module):
    """A linear layer whose weights are laid out as oneDNN reads them; others see them as they were, in a copy.

    The layer gives its weights away, so that they are not in memory twice, and gets them back with `plain`. `was_read`
    says whether some code read them, which takes longer than the layer itself.
    """

    def __init__(self, layer: Any) -> None:  # noqa: ANN401 - two classes, with the weights one way and the other
        super().__init__()
        self._transposed = isinstance(layer, Conv1D)
        weight = layer.weight.detach()
        self._packed = torch.ops.mkldnn._reorder_linear_weight(
            (weight.t() if self._transposed else weight).contiguous()
        )
        self.bias = None if layer.bias is None else layer.bias.detach()
        self.was_read = False
        # What is tied to other weights lives on there, and is to be the same again.
        self._given = weakref.ref(layer.weight)
        self._learns = layer.weight.requires_grad
        self._shell = (layer,)  # in a tuple, it is no part of the model
        layer.weight = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the layer to an array of shape (…, inputs): shape (…, outputs)."""
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
        return weight.t() if self._transposed else weight

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
        layers = _pack_layers(model)
        after = _logits(model)
        alike = after is not None and agree(before, after, _SAME)
        for parent, name in layers:
            packed = getattr(parent, name)
            if packed.was_read or not alike:
                setattr(parent, name, packed.plain)


def _can_pack(model: Pretrained) -> bool:
    """Return whether packing can help: elsewhere PyTorch has other libraries, which are as fast."""
    available = torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    available = available and all(hasattr(torch.ops.mkldnn, name) for name in _OPERATORS)
    return bool(available) and model.device.type == "cpu" and model.dtype == torch.float32


def _pack_layers(model: torch.nn.Module) -> list[tuple[torch.nn.Module, str]]:
    """Replace linear layers by packed ones, one by one; return what each is part of, and its name there."""
    done: dict[int, _Packed] = {}
    layers = []
    for parent, name in list(_linear_layers(model)):
        layer = getattr(parent, name)
        try:
            packed = done.get(id(layer)) or _Packed(layer)
        except _REFUSALS:  # oneDNN takes no such shape, or memory does not suffice
            continue
        done[id(layer)] = packed  # which keeps the layer, and with it the number, from being another's
        setattr(parent, name, packed)
        layers.append((parent, name))
    return layers


def _linear_layers(model: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, str]]:
    """Yield what each is part of, and its name there; classes derived from linear layers are left alone."""
    for parent in model.modules():
        for name, layer in parent._modules.items():
            if type(layer) in (torch.nn.Linear, Conv1D) and _fits(layer.weight):  # type: ignore[union-attr, arg-type]
                yield parent, name


def _fits(weight: torch.Tensor) -> bool:
    return weight.dtype == torch.float32 and weight.numel() > 0


@torch.inference_mode()
def _logits(model: Pretrained) -> torch.Tensor | None:
    """Return the logits of three tokens; None where the model refuses them."""
    ids = torch.arange(3)[None]
    try:
        logits: torch.Tensor = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    except _REFUSALS:
        return None
    return logits


_DTYPES: Mapping[str, torch.dtype] = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
# Tokens per forward pass: on a CPU, as many as benchmarks/score.py found best; elsewhere, what keeps the device busy.
_BATCH_TOKENS = {"cpu": 1024}
_BATCH_TOKENS_ELSEWHERE = 8192


def dtype_of(name: str) -> torch.dtype:
    """Return the number format called float32, float64, bfloat16 or float16; ModelError for another name."""
    if name not in _DTYPES:
        raise ModelError(f"unknown number format {name}: take one of {', '.join(_DTYPES)}")
    return _DTYPES[name]


def device_of(name: str) -> torch.device:
    """Return the device of a name that torch knows; ``auto`` is CUDA if there is any, else the CPU.

    Raises ModelError where there is no such device.
    """
    try:
        with quiet():
            device = torch.device(name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu")
            torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(f"cannot use the device {name}: {str(error).strip().splitlines()[0]}") from error
    if device.type == "meta":
        raise ModelError(f"cannot use the device {name}: it holds shapes and no numbers")
    return device


def placed(model: Pretrained, device: torch.device) -> Pretrained:
    """Move a model to a device, with its layers laid out for it, and return it."""
    model.to(device)
    pack(model)
    return model


def batch_tokens_on(device: torch.device) -> int:
    """Return how many tokens of a forward pass suit a device."""
    return _BATCH_TOKENS.get(device.type, _BATCH_TOKENS_ELSEWHERE)


def longest_input(model: Pretrained, tokenizer: Pretrained) -> int:
    """Return the most tokens that the model takes, special ones included."""
    declared: int | None = getattr(model.config, "max_position_embeddings", None)
    if declared is None or declared <= 0:
        return min(int(tokenizer.model_max_length), sys.maxsize)
    # RoBERTa and its kin count positions from the padding id on, so that the first rows of the table are never used.
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.weight.shape[0]) - int(module.padding_idx) - 1
    return declared
