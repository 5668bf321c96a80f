"""Probabilities of inference against committed vectors, and what must not change them.

The vectors come from `conformance/naive_inference.py`, which shares no code with senseprobe: one pair at a time, in
float64, the softmax written out.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.conformance import inference_models, naive_inference

from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

if TYPE_CHECKING:
    from senseprobe.evaluate.models.nli import Classifier


VECTORS = json.loads(naive_inference.VECTORS.read_text(encoding="utf-8"))
UNITS = [Unit(case["premise"], case["hypothesis"]) for case in VECTORS["cases"]]
MODELS = [*inference_models.MODELS]

# How far a probability may be from the vectors. bfloat16, of 8 bits, was 0.024 off at most where this was written;
# processors round otherwise.
TOLERANCES = {"float64": 1e-6, "float32": 1e-5, "bfloat16": 0.06}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The models of the conformance suite, by name."""
    import torch

    torch.set_num_threads(1)
    return inference_models.build(tmp_path_factory.mktemp("inference"))


@pytest.fixture
def threads() -> Iterator[None]:
    """Sets the number of threads back afterwards."""
    import torch

    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def scored(model: "Classifier", units: Sequence[Unit] = UNITS) -> NDArray[np.float64]:
    return get("nli").numbers(model, units)


def vector(model: str) -> NDArray[np.float64]:
    return np.array([[math.nan] * 3 if value is None else value for value in VECTORS["values"][model]])


def test_the_vectors_are_of_every_model_and_case() -> None:
    """The committed file has three probabilities, or none, for each case and model; the classes are in any order."""
    assert [*VECTORS["values"]] == MODELS
    assert [(unit.text, unit.beside) for unit in UNITS] == naive_inference.CASES
    assert {len(rows) for rows in VECTORS["values"].values()} == {len(UNITS)}
    orders = {tuple(naive_inference.MEANT[name] for name in names) for names in inference_models.LABELS.values()}
    assert len(orders) == len(MODELS) == 6
    # By hand: the last four cases lack a text, or are too long.
    for name in MODELS:
        assert [value is None for value in VECTORS["values"][name]] == [False] * 14 + [True] * 4
        assert np.nansum(vector(name), axis=1)[:14] == pytest.approx([1] * 14, abs=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_the_naive_implementation_gives_the_vectors(name: str, folders: dict[str, Path]) -> None:
    """The second implementation, which shares no code with senseprobe, gives the committed numbers."""
    found = naive_inference.all_vectors({name: folders[name]})[name]
    values = [[math.nan] * 3 if value is None else value for value in found]
    np.testing.assert_allclose(values, vector(name), rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def found(folders: dict[str, Path]) -> Callable[[str, str], NDArray[np.float64]]:
    """The probabilities of all cases, by model and number format."""
    from senseprobe.evaluate.models.nli import load

    return cache(lambda name, dtype: scored(load(str(folders[name]), device="cpu", dtype=dtype)))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", MODELS)
def test_the_scorer_gives_the_vectors(name: str, dtype: str, found: Callable[[str, str], NDArray[np.float64]]) -> None:
    """To 1e-6 in float64, to what the number format can hold in others; unscored where they are."""
    np.testing.assert_allclose(found(name, dtype), vector(name), rtol=0, atol=TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", MODELS)
def test_the_softmax_is_in_double_precision(
    name: str, dtype: str, found: Callable[[str, str], NDArray[np.float64]]
) -> None:
    """Whatever the format of the model, its three probabilities add up to 1 to 1e-14."""
    assert np.abs(found(name, dtype)[:14].sum(axis=1) - 1).max() < 1e-14


@pytest.mark.parametrize("name", MODELS)
def test_the_numbers_tell_models_and_texts_apart(name: str) -> None:
    """Another order of classes, premise for hypothesis, or any other case is further away than 1e-4."""
    told = vector(name)[:14]
    for order in ([0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]):
        assert np.abs(told[:, order] - told).max() > 0.05
    assert np.abs(told[0] - told[1]).max() > 0.01, "the same two texts, turned around"
    apart = np.abs(told[:, None] - told[None]).max(axis=2) + np.eye(len(told))
    assert apart.min() > 1e-4


@pytest.mark.parametrize(("count", "sizes"), [(1, (1, 60, 4096)), (2, (60, 4096))])
@pytest.mark.parametrize("name", MODELS)
def test_batches_order_and_threads_change_nothing(
    name: str, count: int, sizes: tuple[int, ...], folders: dict[str, Path], threads: None
) -> None:
    """One pair a pass or many, in any order and again and again, with one thread or two: the vectors, to 1e-6."""
    import torch

    from senseprobe.evaluate.models.nli import load

    torch.set_num_threads(count)
    order = np.random.default_rng(3).permutation([*range(len(UNITS))] * 3)
    for batch_tokens in sizes:
        model = load(str(folders[name]), device="cpu", dtype="float64", batch_tokens=batch_tokens)
        np.testing.assert_allclose(scored(model), vector(name), rtol=0, atol=1e-6)
        shuffled = scored(model, [UNITS[place] for place in order])
        np.testing.assert_allclose(shuffled, vector(name)[order], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_pairs_of_one_length_share_a_pass(name: str, folders: dict[str, Path]) -> None:
    """Twenty pairs in one pass are, each, what they are alone: to 1e-12 in float64."""
    from senseprobe.evaluate.models.nli import load

    words = ("nurse", "engineer", "friend", "dress")
    units = [Unit(f"the {a} is {b}", f"the {b} is kind") for a in words for b in words]
    model = load(str(folders[name]), device="cpu", dtype="float64")
    together = scored(model, units)
    alone = [scored(model, [unit])[0] for unit in units]
    assert np.isfinite(together).all()
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-12)
