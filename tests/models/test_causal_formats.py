"""Every causal scorer on every family: number formats and threads change no more than they must.

Expected values are the committed vectors of `conformance/naive_causal.py`, which shares no code with senseprobe.
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.conformance import causal_models
from tests.models.all_scorers import numbers_by_scorer

from senseprobe.evaluate.units import Unit

if TYPE_CHECKING:
    from senseprobe.evaluate.models.causal import CausalLM


VECTORS = json.loads((Path(causal_models.__file__).parent / "causal_vectors.json").read_text(encoding="utf-8"))
UNITS = [Unit(text) for text in VECTORS["texts"]]
NAMES = ("ll", "ll-mean", "ll-byte", "ll-no-start", "ll-mean-no-start", "ll-byte-no-start")
FAMILIES = [*causal_models.MODELS]

# By format: how far a number may be from its vector, in nats, plus a part of it.
TOLERANCES = {"float32": (5e-5, 0.0), "bfloat16": (0.1, 0.02)}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of the tiny causal models of the conformance suite."""
    return causal_models.build(tmp_path_factory.mktemp("causal"))


@contextmanager
def two_threads() -> Iterator[None]:
    """Two threads, and as many as before afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    assert torch.get_num_threads() == 2
    try:
        yield
    finally:
        torch.set_num_threads(before)


def vector(family: str, name: str) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in VECTORS["scores"][family][name]])


def names(model: "CausalLM") -> list[str]:
    """The scorers that the model can have: without any start token, those without."""
    return [name for name in NAMES if model.start or name.endswith("no-start")]


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("family", FAMILIES)
def test_formats_change_every_scorer_within_their_precision(family: str, dtype: str, folders: dict[str, Path]) -> None:
    """Sums, means and shares alike, with a start token and without."""
    import torch

    from senseprobe.evaluate.models.causal import load

    torch.set_num_threads(1)
    model = load(str(folders[family]), device="cpu", dtype=dtype)
    bound, part = TOLERANCES[dtype]
    for name, values in numbers_by_scorer(names(model), model, UNITS).items():
        np.testing.assert_allclose(values, vector(family, name), rtol=part, atol=bound, err_msg=name)


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_change_no_scorer(family: str, folders: dict[str, Path]) -> None:
    """With two threads each number is its vector, to 1e-6 in double precision; `test_causal.py` has one thread."""
    from senseprobe.evaluate.models.causal import load

    model = load(str(folders[family]), device="cpu", dtype="float64")
    # BLOOM's softmax and Mamba's state are in single precision, whatever the format.
    bound = 1e-5 if family in {"bloom", "mamba"} else 1e-6
    with two_threads():  # takes seconds where other programs have the cores
        found = numbers_by_scorer(names(model), model, UNITS)
    for name, values in found.items():
        np.testing.assert_allclose(values, vector(family, name), rtol=0, atol=bound, err_msg=name)


def test_coarse_scores_are_near_and_not_the_same(folders: dict[str, Path]) -> None:
    """The format that was asked for is the one that computes: bfloat16 is more than 1e-4 from float32."""
    import torch

    from senseprobe.evaluate.models.causal import load

    torch.set_num_threads(1)
    opened = [load(str(folders["llama"]), device="cpu", dtype=dtype) for dtype in TOLERANCES]
    fine, coarse = (numbers_by_scorer(NAMES, model, UNITS) for model in opened)
    for name in NAMES:
        assert np.nanmax(np.abs(fine[name] - coarse[name])) > 1e-4, name
