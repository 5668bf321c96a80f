"""A replay asks the model of the result only: any part of it that is another is named, and nothing is computed."""

import json
import shutil
from pathlib import Path

import pytest
from tests.conformance import masked_models
from tests.tiny_release import write_release

from senseprobe import api

TEXT = "She is the nurse."


@pytest.fixture
def scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the model ``bert`` and its result on ``tiny``; the path of the result."""
    import torch

    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    write_release(tmp_path)
    monkeypatch.setattr(masked_models, "MODELS", {"bert": masked_models.MODELS["bert"]})
    masked_models.build(tmp_path)
    api.score("bert", "tiny@1.0.0", ["aul"], out=Path("results"))
    (path,) = tmp_path.glob("results/**/aul.json")
    return path


def test_a_replay_with_another_tokenizer_says_so(scored: Path, tmp_path: Path) -> None:
    """Weights and config are the same; the tokenizer no longer lower-cases, so that scores are others."""
    assert api.replay(scored).differences == ()
    first = json.loads(scored.read_bytes())["model"]
    place = tmp_path / "bert" / "tokenizer.json"
    told = json.loads(place.read_bytes())
    assert told["normalizer"]["lowercase"] is True
    told["normalizer"]["lowercase"] = False
    place.write_text(json.dumps(told))
    again = api.replay(scored)
    (difference,) = again.differences
    assert difference.startswith(f"model, tokenizer: {first['tokenizer'][:12]} -> ")
    assert again.result is None


def test_a_replay_with_another_config_says_so(scored: Path, tmp_path: Path) -> None:
    """The same weights and words, but another activation function."""
    place = tmp_path / "bert" / "config.json"
    told = json.loads(place.read_bytes())
    assert told["hidden_act"] == "gelu"
    place.write_text(json.dumps({**told, "hidden_act": "relu"}))
    again = api.replay(scored)
    (difference,) = again.differences
    assert difference.startswith("model, config: ")
    assert again.result is None


def test_a_replay_of_a_copied_model_is_the_same(scored: Path, tmp_path: Path) -> None:
    """Where a model lies is no part of it."""
    shutil.move(tmp_path / "bert", tmp_path / "moved")
    assert api.replay(scored, model="moved").differences == ()
