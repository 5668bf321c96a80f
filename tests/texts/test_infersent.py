"""InferSent's encoder against a naive LSTM in numpy, and what is refused of its files."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from senseprobe.errors import ModelError
from senseprobe.evaluate.texts import infersent

if TYPE_CHECKING:
    import torch


@pytest.fixture
def state() -> "dict[str, torch.Tensor]":
    """Weights as they are published, of 3 inputs and 4 units."""
    import torch

    torch.manual_seed(3)
    lstm = torch.nn.LSTM(3, 4, bidirectional=True)
    return {f"enc_lstm.{name}": tensor.clone() for name, tensor in lstm.state_dict().items()}


@pytest.fixture
def weights(state: "dict[str, torch.Tensor]", tmp_path: Path) -> Path:
    import torch

    path = tmp_path / "infersent1.pkl"
    torch.save(state, path)
    return path


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _states(state: "dict[str, torch.Tensor]", vectors: np.ndarray, way: str) -> list[list[float]]:
    """The hidden states of one direction, a unit at a time; gates in torch's order i, f, g, o."""
    w, u, b, c = (
        state[f"enc_lstm.{name}_l0{way}"].double().numpy() for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    hidden, cell, out = [0.0] * 4, [0.0] * 4, []
    for x in vectors if not way else vectors[::-1]:
        gates = [sum(w[k] * x) + b[k] + sum(u[k] * np.array(hidden)) + c[k] for k in range(16)]
        cell = [_sigmoid(gates[4 + k]) * cell[k] + _sigmoid(gates[k]) * math.tanh(gates[8 + k]) for k in range(4)]
        hidden = [_sigmoid(gates[12 + k]) * math.tanh(cell[k]) for k in range(4)]
        out.append(hidden)
    return out if not way else out[::-1]


def test_wins_are_those_of_a_naive_lstm(state: "dict[str, torch.Tensor]", weights: Path) -> None:
    """Sentences of several lengths, among which none is padded: each dimension goes to the first largest state."""
    generator = np.random.default_rng(7)
    sentences = [generator.normal(size=(length, 3)) for length in (5, 1, 3, 5, 2, 70)]

    found = infersent.load(f"infersent:{weights}").count_wins(sentences)

    for sentence, wins in zip(sentences, found, strict=True):
        sides = [_states(state, sentence, way) for way in ("", "_reverse")]
        expected = [0] * len(sentence)
        for side in sides:
            for unit in range(4):
                column = [row[unit] for row in side]
                expected[column.index(max(column))] += 1
        assert wins.tolist() == expected
        assert wins.sum() == 8


def test_of_equal_states_the_first_wins(state: "dict[str, torch.Tensor]", tmp_path: Path) -> None:
    """With weights of zero all states are 0."""
    import torch

    path = tmp_path / "zeros.pkl"
    torch.save({name: torch.zeros_like(tensor) for name, tensor in state.items()}, path)

    (wins,) = infersent.load(f"infersent:{path}").count_wins([np.ones((3, 3))])

    assert wins.tolist() == [8, 0, 0]


def test_safetensors_are_the_same_encoder(state: "dict[str, torch.Tensor]", weights: Path, tmp_path: Path) -> None:
    """The tensors of the pickle, written by the library of safetensors, have the identity of the pickle."""
    from safetensors.torch import save_file

    save_file(state, tmp_path / "weights.safetensors")
    second = infersent.load(f"infersent:{tmp_path / 'weights.safetensors'}")

    assert infersent.load(f"infersent:{weights}").identity == second.identity
    assert (second.inputs, second.hidden) == (3, 4)


class _Harm:
    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return (Path.touch, (Path("/tmp/harm"),))  # noqa: S108


def test_a_pickle_with_code_is_refused(tmp_path: Path) -> None:
    """A whole pickled model is one that could run code; nothing of it runs."""
    import torch

    path = tmp_path / "model.pkl"
    torch.save({"enc_lstm": _Harm()}, path)

    with pytest.raises(ModelError, match="could run code"):
        infersent.load(f"infersent:{path}")


def test_damaged_and_other_files_are_refused(state: "dict[str, torch.Tensor]", weights: Path, tmp_path: Path) -> None:
    """Truncated, text, of a missing tensor, of wrong shapes, with NaN, not there."""
    import torch

    path = tmp_path / "bad.pkl"
    path.write_bytes(weights.read_bytes()[:300])
    with pytest.raises(ModelError, match="damaged"):
        infersent.load(f"infersent:{path}")
    path.write_text("words")
    with pytest.raises(ModelError, match="neither"):
        infersent.load(f"infersent:{path}")
    torch.save(dict(list(state.items())[1:]), path)
    with pytest.raises(ModelError, match=r"lacks the tensor enc_lstm\.weight_ih_l0"):
        infersent.load(f"infersent:{path}")
    torch.save(state | {"enc_lstm.weight_hh_l0": torch.zeros(16, 5)}, path)
    with pytest.raises(ModelError, match=r"weight_hh_l0 has the shape \(16, 5\), not \(16, 4\)"):
        infersent.load(f"infersent:{path}")
    torch.save(state | {"enc_lstm.bias_hh_l0": torch.full((16,), math.nan)}, path)
    with pytest.raises(ModelError, match="not finite"):
        infersent.load(f"infersent:{path}")
    with pytest.raises(ModelError, match="No such file"):
        infersent.load("infersent:nowhere.pkl")
