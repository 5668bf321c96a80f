"""Layers that we replace: the output head, computed at requested positions only, and linear layers on a CPU.

There oneDNN computes linear layers: it is several times as fast as MKL on processors not from Intel.
"""

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.pytorch_utils import Conv1D

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet

# Logits beyond are marks (the lowest number, for a token that cannot be), not scores, and say nothing of the scale.
_MARK = 1e4
# So far may logits be apart that were computed for some rows and for all, as a part of the largest of them.
_SAME = {torch.float64: 1e-9, torch.float32: 1e-3}
_SAME_IN_HALF = 3e-2
# Rows of logits that sums over the vocabulary are made of at a time.
_CACHED = 16
# The operators that PyTorch's own compiler makes of linear layers on a CPU. They are private, and public ones take
# longer: `aul` of a model as large as BERT takes 1.33 to 1.41 times the processor's seconds with torch.nn.Linear, and
# 1.19 times with torch.utils.mkldnn (AMD EPYC, one thread, medians of 10 and 7 rounds in turns).
_OPERATORS = ("_reorder_linear_weight", "_linear_pointwise")
# What a model raises that looks into its layers itself, or that does not take three tokens and nothing else.
_REFUSALS = (RuntimeError, TypeError, ValueError, AttributeError, LookupError, NotImplementedError, MemoryError)


def agree(a: torch.Tensor, b: torch.Tensor, part: float) -> bool:
    """Return whether logits of one shape differ by at most `part` of the largest of them; a mark by `part` of itself.

    Infinities and NaN agree with themselves. Where nothing is finite, they do not agree.
    """
    if a.shape != b.shape or not a.isfinite().any():
        return False
    a, b = a.detach().cpu().double(), b.detach().cpu().double()
    usual = (a.abs() <= _MARK) & (b.abs() <= _MARK)
    bound = part * float(a[usual].abs().max()) if usual.any() else 0.0
    alike = torch.allclose(a[usual], b[usual], rtol=0, atol=bound)
    return alike and torch.allclose(a[~usual], b[~usual], rtol=part, atol=0, equal_nan=True)


def target_log_probabilities(logits: torch.Tensor, rows: torch.Tensor, targets: torch.Tensor) -> NDArray[np.float64]:
    """Return natural log-probabilities, at most 0, of `targets`[k] in row `rows`[k] of `logits` (rows, vocabulary)."""
    # Half precision is too coarse for a sum over the vocabulary.
    logits = logits if logits.dtype == torch.float64 else logits.float()
    # On a CPU a part that stays in the cache is several times as fast, and the numbers are the same.
    size = _CACHED if logits.device.type == "cpu" else len(logits)
    totals = torch.cat([part.logsumexp(1) for part in torch.split(logits, size)])
    values: NDArray[np.float64] = (logits[rows, targets] - totals[rows]).cpu().double().numpy()  # no float64 elsewhere
    return values


# --- the output head ------------------------------------------------------------------------------------------------


class Head:
    """Runs a language model whose product with the vocabulary is computed for requested (text, position) rows only.

    Whether the architecture allows it is tried once, on three tokens: where logits of a row that is requested alone are
    not those of the whole pass (a head that is no layer, or that reshapes), all logits are computed and then looked up.
    """

    def __init__(self, name: str, model: Pretrained) -> None:
        self.name = name
        self._model = model
        self._layer: torch.nn.Module | None = model.get_output_embeddings()
        with quiet():
            if self._layer is not None and not self._serves_rows():
                self._layer = None

    def run(self, inputs: Mapping[str, Any], rows: torch.Tensor) -> tuple[torch.Tensor, Pretrained]:
        """Return the logits, shape (rows, vocabulary), at `rows` of one forward pass, and all that the pass gave.

        `inputs`, with ``input_ids`` of shape (texts, length), go to the model as they are. A row is numbered text by
        text: text * length + position. Raises ModelError where the logits are not one per position.
        """
        shape = tuple(inputs["input_ids"].shape)
        with self._only(shape, rows) as cuts:
            output = self._model(**inputs)
        if tuple(output.logits.shape[:2]) != ((1, len(rows)) if cuts else shape):
            raise ModelError(
                f"the model {self.name} returned logits of shape {tuple(output.logits.shape)} for input "
                f"of shape {shape}"
            )
        return (output.logits[0] if cuts else output.logits.flatten(0, 1)[rows]), output

    @contextmanager
    def _only(self, shape: tuple[int, ...], rows: torch.Tensor) -> Iterator[list[bool]]:
        """Give the head `rows` alone meanwhile, as one text; the list that is yielded is empty unless it got them."""
        cuts: list[bool] = []

        def select_rows(_: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor] | None:
            if not args or args[0].ndim != 3 or args[0].shape[:2] != shape:
                return None
            cuts.append(True)
            return (args[0].flatten(0, 1)[rows.to(args[0].device)].unsqueeze(0),)  # of layers on several cards

        hook = self._layer.register_forward_pre_hook(select_rows) if self._layer is not None else None
        try:
            yield cuts
        finally:
            if hook is not None:
                hook.remove()

    @torch.inference_mode()
    def _serves_rows(self) -> bool:
        """Return whether logits of one row of three, requested alone, are what the whole pass has there."""
        ids = torch.arange(3, device=self._model.device)[None]
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        whole = self._model(**inputs).logits
        try:
            alone, _ = self.run(inputs, torch.tensor([1], device=ids.device))
        except (ModelError, RuntimeError):  # what comes out of the head is given a shape that three rows would have
            return False
        same = _SAME.get(whole.dtype, _SAME_IN_HALF)
        return whole.shape[:2] == ids.shape and agree(whole[0, 1], alone[0], same)


# --- packed linear layers -------------------------------------------------------------------------------------------


class _Packed(torch.nn.Module):
    """A linear layer whose weights are laid out as oneDNN reads them; others see them as they were, in a copy.

    The layer gives its weights away, so that they are not in memory twice, and gets them back with `plain`. `was_read`
    says whether some code read them, which takes longer than the layer itself.
    """

    def __init__(self, layer: Any) -> None:  # noqa: ANN401 - two classes, with the weights one way and the other
        super().__init__()
        self._transposed = isinstance(layer, Conv1D)
        weight = layer.weight.detach()
        weight = (weight.t() if self._transposed else weight).contiguous()
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight)
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
        if (before := _output(model)) is None:
            return
        layers = _pack_layers(model)
        after = _output(model)
        alike = after is not None and agree(before, after, _SAME[torch.float32])
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
        modules: Mapping[str, Any] = parent._modules
        for name, layer in modules.items():
            if (
                type(layer) in (torch.nn.Linear, Conv1D)
                and layer.weight.dtype == torch.float32
                and layer.weight.numel()
            ):
                yield parent, name


@torch.inference_mode()
def _output(model: Pretrained) -> torch.Tensor | None:
    """Return the logits of three tokens, hidden states of a model without a head; None where it refuses them."""
    ids = torch.arange(3)[None]
    try:
        output = model(input_ids=ids, attention_mask=torch.ones_like(ids))
        numbers: torch.Tensor = output.logits if hasattr(output, "logits") else output.last_hidden_state
    except _REFUSALS:
        return None
    return numbers
