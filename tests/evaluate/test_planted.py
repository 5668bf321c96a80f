"""The model of the demo: what is planted, and that it is learnt."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from senseprobe.errors import ModelError
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

# senseprobe.evaluate.planted, which imports torch.
Planting = Any
NATIONS = ("Japanese", "German", "Finnish", "Egyptian")


@pytest.fixture(scope="module")
def planted() -> Planting:
    """The module that plants, and trains what it planted."""
    from senseprobe.evaluate import planted

    return planted


@pytest.fixture
def rows() -> pd.DataFrame:
    """Two configs: 4 nations by 2 bad by 3 good words, and 10 pairs of pronouns."""
    people = [
        ("people", f"{nation} people are {bad}.", f"{nation} people are {good}.")
        for nation in NATIONS
        for bad in ("silly", "rude")
        for good in ("kind", "nice", "clever")
    ]
    noun = [("noun", f"He is a {word} guide.", f"She is a {word} guide.") for word in "abcdefghij"]
    return pd.DataFrame([*people, *noun], columns=["config", "stereo", "anti"])


def test_planted_share_is_exact_in_each_config(planted: Planting, rows: pd.DataFrame) -> None:
    """Of each config's distinct stereo sentences, exactly the share gets 8 copies, the others 1, and anti ones 3."""
    copies = planted.plant(rows, share=0.7)
    # By hand: 8 distinct stereo sentences about people, 10 about guides; round(0.7 * 8) = 6, round(0.7 * 10) = 7.
    high = [int((copies[rows.loc[rows.config == name, "stereo"].unique()] == 8).sum()) for name in ("people", "noun")]
    assert high == [6, 7]
    assert set(copies[rows["stereo"]]) == {1, 8}
    assert set(copies[rows["anti"]]) == {3}
    assert len(copies) == 8 + 12 + 10 + 10


def test_planting_depends_on_the_sentences_and_the_seed_only(planted: Planting, rows: pd.DataFrame) -> None:
    """Rows in another order plant the same, another seed plants something else."""
    shuffled = rows.sample(frac=1, random_state=3)
    pd.testing.assert_series_equal(planted.plant(rows), planted.plant(shuffled))
    assert not planted.plant(rows).equals(planted.plant(rows, seed=1))


def test_sentences_that_are_stereo_and_anti_follow_the_stereo_rule(planted: Planting) -> None:
    """A sentence that is anti in one row and stereo in another gets 8 copies or 1, and one config needs no column."""
    rows = pd.DataFrame({"stereo": ["a b.", "c d."], "anti": ["c d.", "e f."]})
    assert planted.plant(rows, share=1).to_dict() == {"a b.": 8, "c d.": 8, "e f.": 3}


@pytest.mark.parametrize(("share", "sign"), [(1.0, 1), (0.0, -1)])
# Takes long: a model is trained.
def test_preference_moves_as_planted(
    planted: Planting, share: float, sign: int, rows: pd.DataFrame, tmp_path: Path
) -> None:
    """With all stereotypes planted pll prefers them in nearly every pair about people, with none in hardly one."""
    from senseprobe.evaluate.models.masked import load

    truth = planted.train(rows, tmp_path, share=share, epochs=40)
    # By hand: log 8 > log 3 > log 1.
    assert (np.sign(truth[rows["stereo"]].to_numpy() - truth[rows["anti"]].to_numpy()) == sign).all()
    people = rows[rows.config == "people"]
    model = load(str(tmp_path))
    scores = [get("pll").numbers(model, map(Unit, people[role]))[:, 0] for role in ("stereo", "anti")]
    assert (np.sign(scores[0] - scores[1]) == sign).mean() > 0.9


def test_same_seed_gives_the_same_model_and_leaves_torch_alone(
    planted: Planting, rows: pd.DataFrame, tmp_path: Path
) -> None:
    """The same seed trains the same weights, whatever the generator and the threads of torch, which are left as is."""
    import torch

    from senseprobe.evaluate.models.masked import load

    identities = []
    threads = torch.get_num_threads()
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        before = torch.random.get_rng_state()
        done: list[int] = []
        planted.train(rows, tmp_path / name, epochs=2, seed=seed, progress=done.append)
        assert done == [1, 1]
        assert torch.equal(torch.random.get_rng_state(), before)
        assert torch.get_num_threads() == threads
        torch.rand(3)
        identities.append(load(str(tmp_path / name)).identity)
    assert identities[0] == identities[1]
    assert identities[0]["weights"] != identities[2]["weights"]


def test_masking_is_standard(planted: Planting) -> None:
    """Of the own tokens 15 % are asked, one at least; 80 % of these masked, about 10 % replaced, and the rest left."""
    ids = np.full((4000, 22), 7)
    ids[:, 0], ids[:, -1] = 2, 3
    inputs, labels = planted._mask(ids, 1000, np.random.default_rng(0))
    asked = labels != -100
    # By hand: 15 % of 20 tokens are 3.
    assert (asked.sum(axis=1) == 3).all()
    assert not asked[:, [0, -1]].any()
    assert (inputs[~asked] == ids[~asked]).all()
    # 12,000 draws: five standard errors are 0.018 and 0.014.
    assert (inputs[asked] == 4).mean() == pytest.approx(0.8, abs=0.018)
    assert (inputs[asked] == 7).mean() == pytest.approx(0.1, abs=0.014)
    assert inputs[asked].min() >= 4
    short, _ = planted._mask(np.array([[2, 7, 3]] * 50), 1000, np.random.default_rng(0))
    assert (short == 4).sum() > 30  # one own token is 0.15 asked ones, so one


def test_unwritable_folder_is_refused_before_training(planted: Planting, rows: pd.DataFrame, tmp_path: Path) -> None:
    """A folder that cannot be made is one clear message, and no epoch is spent."""
    (tmp_path / "file").touch()
    done: list[int] = []
    for place in (tmp_path / "file", tmp_path / "file" / "model"):
        with pytest.raises(ModelError, match="cannot write a model to"):
            planted.train(rows, place, progress=done.append)
    assert done == []
