"""Where a model runs, in which number format, and how long an input it takes: what all families have in common."""

import sys
from collections.abc import Mapping

import torch

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet
from senseprobe.evaluate.models.packing import pack

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
    """The number format called float32, float64, bfloat16 or float16; ModelError for another name."""
    if name not in _DTYPES:
        raise ModelError(f"unknown number format {name}: take one of {', '.join(_DTYPES)}")
    return _DTYPES[name]


def device_of(name: str) -> torch.device:
    """The device of a name that torch knows; ``auto`` is CUDA if there is any, else the CPU. Raises ModelError."""
    try:
        with quiet():
            place = torch.device(name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu")
            torch.empty(0, device=place)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(f"cannot use the device {name}: {str(error).strip().splitlines()[0]}") from error
    if place.type == "meta":
        raise ModelError(f"cannot use the device {name}: it holds shapes and no numbers")
    return place


def placed(model: Pretrained, place: torch.device) -> Pretrained:
    """The model on a device, its layers laid out for it."""
    model.to(place)
    pack(model)
    return model


def batch_tokens_on(place: torch.device) -> int:
    """The tokens of a forward pass that suit a device."""
    return _BATCH_TOKENS.get(place.type, _BATCH_TOKENS_ELSEWHERE)


def longest_input(model: Pretrained, tokenizer: Pretrained) -> int:
    """The most tokens that the model takes, special ones included."""
    declared: int | None = getattr(model.config, "max_position_embeddings", None)
    if declared is None or declared <= 0:
        return min(int(tokenizer.model_max_length), sys.maxsize)
    # RoBERTa and its kin count positions from the padding id on, so that the first rows of the table are never used.
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.weight.shape[0]) - int(module.padding_idx) - 1
    return declared
