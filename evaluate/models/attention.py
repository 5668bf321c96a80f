"""How much attention each token of a text receives, without the weights of all layers ever being held at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet


@contextmanager
def observed(name: str, model: Pretrained, shape: tuple[int, ...]) -> Iterator[None]:
    """Meanwhile a pass with ``output_attentions`` over input of `shape` gives a layer's attention as received.

    Weights of shape (texts, heads, queries, keys) become their mean over heads and queries as soon as the layer is
    done: one layer's are held at a time. Only the implementation called eager computes weights at all, so it takes the
    place of the faster one meanwhile. Raises ModelError where the architecture has no such implementation.
    """
    usual = getattr(getattr(model, "config", None), "_attn_implementation", None)
    try:
        _choose(model, usual, "eager")
    except (AttributeError, ValueError) as error:
        raise ModelError(f"the model {name} does not show its attention weights, which this scorer needs") from error
    hooks = [module.register_forward_hook(_reduce(shape), prepend=True) for module in model.modules()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        _choose(model, "eager", usual)


def attention_received(name: str, output: Pretrained, shape: tuple[int, ...]) -> torch.Tensor:
    """What each token receives, averaged over layers, heads and queries: shape (texts, length); a text's sum is 1.

    `output` is what a pass under `observed` gave. Raises ModelError where there are no such weights in it: none at all,
    or others than of each token to each (sliding windows that are stored as such, global tokens apart).
    """
    layers = getattr(output, "attentions", None) or ()
    received = [_mean(layer) if layer.ndim == 4 else layer for layer in layers if layer is not None]
    if not received or any(layer.shape != shape for layer in received):
        raise ModelError(f"the model {name} does not show the attention of each token to each, which this scorer needs")
    mean = torch.stack([layer.cpu().double() for layer in received]).mean(0)  # not every device has float64
    # Each query spreads a weight of 1 over all tokens, so that what they receive adds up to 1 as well.
    if not torch.allclose(mean.sum(1)[mean.isfinite().all(1)], mean.new_ones(()), rtol=0, atol=1e-2):
        raise ModelError(f"the model {name} has attention weights that do not add up to 1, as this scorer needs")
    return mean


def _choose(model: Pretrained, now: str | None, wanted: str | None) -> None:
    if wanted != now:
        with quiet():  # older architectures, which always compute weights, say that they have no choice
            model.set_attn_implementation(wanted)


def _reduce(shape: tuple[int, ...]) -> Any:  # noqa: ANN401 - a hook, whose module, input and output can be anything
    square = (shape[0], shape[1], shape[1])

    def reduce(_: torch.nn.Module, __: object, output: object) -> object:
        if not isinstance(output, tuple):
            return output
        return (*output[:1], *(_mean(part) if _is_attention(part, square) else part for part in output[1:]))

    return reduce


def _is_attention(part: object, square: tuple[int, ...]) -> bool:
    return isinstance(part, torch.Tensor) and part.ndim == 4 and (part.shape[0], *part.shape[2:]) == square


def _mean(weights: torch.Tensor) -> torch.Tensor:
    """Over heads and queries, of weights of shape (texts, heads, queries, keys), in float32 at least."""
    kind = torch.float64 if weights.dtype == torch.float64 else torch.float32
    return weights.mean((1, 2), dtype=kind)
