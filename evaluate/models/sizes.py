"""Whether a model is of the size of its weights: told while it is built, before memory or time is spent on it."""

import json
import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch.nn.modules import module as hooks

from senseprobe.errors import ModelError

MOST_CONFIG_BYTES = 2**22
"""A config.json has some kB, those that name ten thousand classes less than one MB."""

MOST_PARTS = 100_000
"""Layers, experts, heads or labels that a config may ask for: lists of so many are made when it is read."""

CONFIG_MEMORY = 2**29
"""Bytes that a config may take while it is read, where names of its numbers do not say what they count."""

_PARTS = re.compile(r"(^|_)(n_)?(layers?|blocks|depths?|experts|groups|labels|heads|stages)$")
_SPARE_ELEMENTS = 2**26
_SPARE_PARTS = 10_000


@dataclass(frozen=True, slots=True)
class Weights:
    """What the files of a model's weights hold: `tensors`, or a bound on how many, and `bytes`."""

    tensors: int
    bytes: int

    @classmethod
    def of(cls, files: Collection[Path]) -> "Weights":
        """Read the headers of safetensors; a pickle is not opened, and has a tensor for each 64 bytes at most."""
        sizes = [path.stat().st_size for path in files]
        return cls(sum(map(_tensors, files)), sum(sizes))


def _tensors(path: Path) -> int:
    if path.suffix != ".safetensors":
        return path.stat().st_size // 64 + 1
    with safe_open(path, "pt") as file:
        return len(file.keys())


def check_config(spec: str, path: Path) -> None:
    """Raise ModelError where a config.json is too long, or asks for more layers or labels than any model has.

    transformers makes lists of so many names when it reads one. What is not JSON is left to it, which says so.
    """
    if path.stat().st_size > MOST_CONFIG_BYTES:
        raise ModelError(f"cannot load the model {spec}: its config.json is larger than {MOST_CONFIG_BYTES >> 20} MiB")
    try:
        config = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return
    for key, number in _numbers(config):
        if _PARTS.search(key) and number > MOST_PARTS:
            raise ModelError(
                f"cannot load the model {spec}: its config.json says {key} {number}, more than any model has"
                f" ({MOST_PARTS})"
            )


def _numbers(config: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401 - JSON
    """Every whole number of a config, however deep, with the key that it is under."""
    todo = [("", config)]
    while todo:
        key, value = todo.pop()
        if isinstance(value, dict):
            todo += [(str(name), below) for name, below in value.items()]
        elif isinstance(value, list):
            todo += [(key, below) for below in value]
        elif isinstance(value, int):
            yield key, value


@contextmanager
def bounded_by(spec: str, weights: Weights) -> Iterator[None]:
    """Meanwhile, raise ModelError as soon as a model that is built has more parts or numbers than its weights allow.

    A model has a parameter for each tensor in its file, two where they are tied, and again when they are loaded; four
    bits of a file at least are a number. Buffers, such as masks, are in no file.
    """
    most = {
        "parameters": 4 * weights.tensors + _SPARE_PARTS,
        "modules": 64 * weights.tensors + _SPARE_PARTS,
        "numbers": 4 * weights.bytes + _SPARE_ELEMENTS,
        "buffers": 4 * weights.bytes + _SPARE_ELEMENTS,
    }
    counts = dict.fromkeys(most, 0)

    def add(what: str, number: int) -> None:
        counts[what] += number
        if counts[what] > most[what]:
            raise ModelError(
                f"cannot load the model {spec}: its config.json asks for a far larger model than its weights are"
                f" ({weights.tensors} tensors in {weights.bytes} bytes)"
            )

    def parameter(_: object, __: str, value: torch.Tensor | None) -> None:
        add("parameters", 1)
        add("numbers", 0 if value is None else value.numel())

    def buffer(_: object, __: str, value: torch.Tensor | None) -> None:
        add("buffers", 0 if value is None else value.numel())

    def module(_: object, __: str, ___: object) -> None:
        add("modules", 1)

    with ExitStack() as registered:
        registered.enter_context(hooks.register_module_parameter_registration_hook(parameter))
        registered.enter_context(hooks.register_module_buffer_registration_hook(buffer))
        registered.enter_context(hooks.register_module_module_registration_hook(module))
        yield
