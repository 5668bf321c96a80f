"""InferSent's sentence encoder (Conneau et al. 2017): a bidirectional LSTM over word vectors with max pooling.

The Bias Score asks it how often each word wins the pooling. Its published weights are pickles; only tensors are read.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from senseprobe.arrays import Unusable, map_tensors
from senseprobe.errors import ModelError

PREFIX = "infersent:"
"""Before the path of its weights, where an encoder is named."""

_TENSOR = re.compile(r"(?:encoder\.|module\.)?enc_lstm\.((?:weight|bias)_[ih]h_l0(?:_reverse)?)")
_NAMES = tuple(
    f"{kind}_{gate}_l0{suffix}" for suffix in ("", "_reverse") for kind in ("weight", "bias") for gate in ("ih", "hh")
)
_BATCH = 64
_MOST_TOKENS = 4_096

Tensors: TypeAlias = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class InferSent:
    """The encoder: `tensors` by their names in `torch.nn.LSTM`, of a layer of `hidden` units in either direction."""

    name: str
    tensors: Tensors

    @property
    def inputs(self) -> int:
        """Dimensions of the word vectors that it reads."""
        return int(self.tensors["weight_ih_l0"].shape[1])

    @property
    def hidden(self) -> int:
        """Units of a direction; a sentence has twice as many dimensions, 4,096 in the published weights."""
        return int(self.tensors["weight_hh_l0"].shape[1])

    @property
    def identity(self) -> str:
        """sha256 of the weights, the same for a pickle and for safetensors."""
        return hashlib.sha256(b"".join(self.tensors[name].tobytes() for name in _NAMES)).hexdigest()

    def count_wins(self, sentences: Sequence[NDArray[np.floating]]) -> list[NDArray[np.int64]]:
        """Return for each sentence, vectors of shape (tokens, inputs), how many dimensions each token wins.

        A token wins a dimension where no hidden state is larger than its own there; of equal ones the first wins. The
        sum over tokens is 2 · `hidden`. Sentences of one length are read together, so that there is no padding. Raise
        ModelError for a sentence of no tokens, or of more than 4,096.
        """
        import torch

        if any(not 0 < len(sentence) <= _MOST_TOKENS for sentence in sentences):
            raise ModelError(f"{self.name} reads sentences of 1 to {_MOST_TOKENS:,} tokens")
        lstm = torch.nn.LSTM(self.inputs, self.hidden, batch_first=True, bidirectional=True)
        lstm.load_state_dict({name: torch.from_numpy(tensor.copy()) for name, tensor in self.tensors.items()})
        lstm.eval()
        wins: dict[int, NDArray[np.int64]] = {}
        left = sorted(range(len(sentences)), key=lambda index: len(sentences[index]))
        while left:
            length = len(sentences[left[0]])
            batch = [index for index in left[:_BATCH] if len(sentences[index]) == length]
            left = left[len(batch) :]
            with torch.inference_mode():
                stacked = np.stack([sentences[index] for index in batch]).astype(np.float32)
                states = lstm(torch.from_numpy(stacked))[0].numpy()
            for index, winners in zip(batch, states.argmax(axis=1), strict=True):
                wins[index] = np.bincount(winners, minlength=length)
        return [wins[index] for index in range(len(sentences))]


def load(spec: str) -> InferSent:
    """Return the encoder that ``infersent:FILE`` names.

    FILE is the published weights (``infersent1.pkl``), of which nothing but tensors is read, or safetensors with the
    same names. Raise ModelError where the file is another, or a whole pickled model, which could run code.
    """
    path = Path(spec.removeprefix(PREFIX)).expanduser()
    try:
        with path.open("rb") as file:
            is_pickle = file.read(2) in (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
        tensors = _read_pickle(path) if is_pickle else map_tensors(path)[0]
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from None
    except (Unusable, ValueError, LookupError, TypeError, AttributeError):
        raise ModelError(
            f"{path} is not a file of InferSent's weights: it is neither a pickle nor safetensors"
        ) from None
    return InferSent(f"{PREFIX}{path.name}", _check(path, tensors))


def _read_pickle(path: Path) -> dict[str, Any]:
    import torch

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, IndexError, AttributeError, TypeError):
        hint = "use the published state dict, infersent1.pkl or infersent2.pkl"
        raise ModelError(f"{path} is a damaged file or a whole pickled model, which could run code: {hint}") from None
    if not isinstance(state, Mapping) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ModelError(f"{path} does not have named tensors, as the weights of InferSent do")
    return {str(name): tensor.float().numpy() for name, tensor in state.items()}


def _check(path: Path, tensors: Mapping[str, Any]) -> Tensors:
    """Return the tensors of the LSTM. Raise ModelError where one is missing, has another shape, or is not finite."""
    named = ((_TENSOR.fullmatch(name), tensor) for name, tensor in tensors.items())
    lstm = {match[1]: np.ascontiguousarray(tensor, dtype=np.float32) for match, tensor in named if match}
    if missing := [name for name in _NAMES if name not in lstm]:
        raise ModelError(f"{path} lacks the tensor enc_lstm.{missing[0]}, which InferSent's encoder has")
    shape = lstm["weight_ih_l0"].shape
    gates, inputs = shape if len(shape) == 2 else (0, 0)
    hidden = gates // 4
    for name in _NAMES:
        expected = (gates,) if name.startswith("bias") else (gates, inputs if "_ih_" in name else hidden)
        if not hidden or gates % 4 or lstm[name].shape != expected:
            raise ModelError(f"{path}: enc_lstm.{name} has the shape {lstm[name].shape}, not {expected}")
        if not np.isfinite(lstm[name]).all():
            raise ModelError(f"{path}: enc_lstm.{name} has a number that is not finite")
    return {name: lstm[name] for name in _NAMES}
