"""A model whose layers are spread over places: here the processor is the only place, with the hooks of several."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senseprobe import ModelError
from senseprobe.evaluate import models
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

UNITS = [Unit("She is a talented engineer."), Unit("He judges the horses."), Unit("The black dress is beautiful.")]


@pytest.fixture
def roomy(monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401
    """The module that loads models, where all cards are one place of much room: the memory of the processor."""
    import torch

    from senseprobe.evaluate.models import base

    monkeypatch.setattr(base, "spread_layers", partial(base.spread_layers, room={"cpu": 2**30}))
    monkeypatch.setattr(base, "device_of", lambda name: torch.device("cpu"))
    monkeypatch.setattr(base, "pack", lambda model: None)  # packed layers, of processors alone, would lose their hooks
    return base


@pytest.mark.parametrize(("family", "scorer"), [("bert", "aul"), ("roberta", "pll")])
def test_numbers_are_those_of_one_place(family: str, scorer: str, tiny_models: dict[str, Path], roomy: object) -> None:
    """Every layer has a hook that moves what it reads, and forward passes, and parts of them, go through these."""
    plain, spread = (
        models.load(str(tiny_models[family]), ability="masked", device=device) for device in ("cpu", "all")
    )
    hooked = [module for module in spread._model.modules() if hasattr(module, "_hf_hook")]  # type: ignore[attr-defined]

    assert len(hooked) > 10
    numbers = get(scorer).numbers(spread, UNITS)
    assert np.isfinite(numbers).all()
    assert numbers.tolist() == get(scorer).numbers(plain, UNITS).tolist()
    assert spread.identity == plain.identity


def test_what_does_not_fit_is_refused(tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """No layer goes to a disk, or to the processor, where it would take hundreds of times as long."""
    import torch

    from senseprobe.evaluate.models import base

    monkeypatch.setattr(base, "spread_layers", partial(base.spread_layers, room={"cpu": 1000}))
    monkeypatch.setattr(base, "device_of", lambda name: torch.device("cpu"))
    with pytest.raises(ModelError, match=r"has 0\.0 GB of weights, and 1 card together too little memory: use more"):
        models.load(str(tiny_models["bert"]), ability="masked", device="all")
