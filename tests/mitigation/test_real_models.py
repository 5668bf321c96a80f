"""MiniLM and SmolLM2 without he - she: as prototypes had measured, on the packages of `.ci/run`."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mitigation.altered import debias

from senseprobe.api.packages import fetch
from senseprobe.evaluate import models
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

pytestmark = pytest.mark.system


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are fetched from the packages that `.ci/run` has downloaded."""
    folder = os.environ["SENSEPROBE_TEST_PACKAGES"]
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, "XDG_CACHE_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)


def test_minilm(tmp_path: Path) -> None:
    """Sentences of he and she are one to the model; those of man and woman are nearer to each other than they were."""
    parent = fetch("minilm", say=lambda _: None).folder
    cosines = {}
    for name, folder in (("parent", parent), ("copy", debias(parent, tmp_path / "copy"))):
        model: Any = models.load(str(folder), ability="vectors", device="cpu")
        units = [Unit(f"The {word} is a nurse.") for word in ("man", "woman")]
        units += [Unit(f"{word} is a nurse.") for word in ("He", "She")]
        vectors = {unit: vector for answers in model.encode("sent", units) for unit, vector in answers}
        rows = np.array([vectors[unit] / np.linalg.norm(vectors[unit]) for unit in units], dtype=np.float64)
        cosines[name] = (float(rows[0] @ rows[1]), float(rows[2] @ rows[3]))
    assert cosines["copy"][1] == pytest.approx(1, abs=1e-6)
    assert cosines["parent"][1] < 0.95
    assert cosines["parent"][0] < cosines["copy"][0] < 0.99


@pytest.mark.parametrize("head", ["tied", "untied"])
def test_smollm2(head: str, tmp_path: Path) -> None:
    """With a tied head he and she are as likely as each other, everywhere; else the head still tells them apart."""
    folder = debias(fetch("smollm2", say=lambda _: None).folder, tmp_path / "copy", head=head)
    model: Any = models.load(str(folder), device="cpu")
    texts = [f"They say that {word} is here." for word in ("he", "she", "the man", "the woman")]
    he, she, man, woman = get("ll").numbers(model, map(Unit, texts))[:, 0]
    assert (abs(he - she) < 1e-3) == (head == "tied")
    assert abs(man - woman) > 0.1
