"""Models of transformers with a new head: ordinary folders, the same bytes each time, embeddings that stay."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mitigation.nli_pairs import people_pairs, write_pairs
from tests.mitigation.records import make_record

from senseprobe.arrays import map_tensors
from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate import models
from senseprobe.evaluate.mitigation import api

FAMILIES = ("bert", "roberta", "albert", "gpt2", "llama")


@pytest.fixture(scope="module")
def pretrained(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny models by family, decoders among them."""
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    folders = {**tiny_models}
    tokenizer = AutoTokenizer.from_pretrained(tiny_models["roberta"])
    for name, (config, kind) in {
        "gpt2": (GPT2Config(n_embd=16, n_layer=2, n_head=2), GPT2LMHeadModel),
        "llama": (
            LlamaConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2),
            LlamaForCausalLM,
        ),
    }.items():
        config.vocab_size = len(tokenizer)
        folders[name] = tmp_path_factory.mktemp("decoders") / name
        kind(config).save_pretrained(folders[name])
        tokenizer.save_pretrained(folders[name])
    return folders


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs.jsonl", people_pairs())


def _train(corpus: Path, on: Path, out: Path, **options: Any) -> Any:  # noqa: ANN401
    usual: dict[str, Any] = {"epochs": 1, "batch": 32, "say": lambda line: None}
    return api.train_nli(corpus, on, out, **usual | options)


def _embeddings(folder: Path) -> list[np.ndarray[Any, Any]]:
    tensors, _ = map_tensors(folder / "model.safetensors")
    names = ("word_embeddings.weight", "wte.weight", "embed_tokens.weight")
    return [np.array(tensor) for name, tensor in tensors.items() if name.endswith(names)]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_result_is_an_ordinary_folder(
    family: str, pretrained: dict[str, Path], corpus: Path, tmp_path: Path
) -> None:
    """Transformers opens it with its labels, our scorer gives each pair three probabilities, and input stays frozen."""
    from transformers import AutoModelForSequenceClassification

    out = tmp_path / "m"
    trained = _train(corpus, pretrained[family], out, freeze_embeddings=True)
    model: Any = models.load(str(out))
    pairs = model.encode([("The father sang.", "Somebody sang."), ("The queen left.", "The woman left.")])
    numbers = np.concatenate([model.probabilities([pair]) for pair in pairs])
    opened: Any = AutoModelForSequenceClassification.from_pretrained(out)

    assert models.ability_of(str(out)) == "inference"
    np.testing.assert_allclose(numbers.sum(axis=1), 1, rtol=1e-6)
    assert opened.config.id2label == {0: "entailment", 1: "neutral", 2: "contradiction"}
    assert trained.record["freeze_embeddings"] is True
    np.testing.assert_array_equal(_embeddings(out)[0], _embeddings(pretrained[family])[0])


def test_padding_within_a_batch_changes_nothing(pretrained: dict[str, Path]) -> None:
    """Encoders and decoders give pairs of several lengths the logits that each has alone."""
    import torch

    from senseprobe.evaluate.mitigation.fine_tuning import DEFAULTS, ModelTask, open_with_head
    from senseprobe.evaluate.mitigation.nli_corpus import Corpus, Examples

    rows = [("A cat.", "A", "neutral"), ("The black cat sat on the mat.", "A cat sat there.", "neutral")]
    examples = Examples.split(Corpus.of("rows", "", rows), 0)
    for family in FAMILIES:
        model, tokenizer = open_with_head(str(pretrained[family]), DEFAULTS)
        task = ModelTask(examples, model, tokenizer)
        with torch.no_grad():
            together = task.logits(np.array([0, 1]))
            alone = torch.cat([task.logits(np.array([number])) for number in (0, 1)])
        torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_the_same_training_makes_the_same_weights(pretrained: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    """Also where it was interrupted after an epoch; and without freezing, the input is trained, too."""
    whole = _train(corpus, pretrained["bert"], tmp_path / "a" / "m", epochs=2, rate=1e-3)

    def interrupt(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(SenseprobeError, match="1 epoch of 2 kept"):
        _train(corpus, pretrained["bert"], tmp_path / "b" / "m", epochs=2, rate=1e-3, progress=interrupt)
    again = _train(corpus, pretrained["bert"], tmp_path / "b" / "m", epochs=2, rate=1e-3)
    weights = [(trained.folder / "model.safetensors").read_bytes() for trained in (whole, again)]

    assert weights[0] == weights[1]
    assert whole.record == again.record
    assert not np.array_equal(_embeddings(whole.folder)[0], _embeddings(pretrained["bert"])[0])


def test_the_record_of_a_parent_goes_on(pretrained: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    """What was removed from the parent is a part of the identity of the model that is trained on it."""
    parent = shutil.copytree(pretrained["bert"], tmp_path / "parent")
    (parent / "debias.json").write_bytes(make_record().to_bytes())
    lines: list[str] = []
    _train(corpus, parent, tmp_path / "m", say=lines.append)

    assert (tmp_path / "m" / "debias.json").read_bytes() == (parent / "debias.json").read_bytes()
    assert models.load(str(tmp_path / "m")).identity["debias"] == make_record().digest
    assert any("--freeze-embeddings keeps it out" in line for line in lines)


def test_a_model_that_classifies_already_is_refused(pretrained: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    """Its head would be taken for ours."""
    _train(corpus, pretrained["bert"], tmp_path / "m")
    with pytest.raises(ModelError, match="has a classification head already"):
        _train(corpus, tmp_path / "m", tmp_path / "again")
    with pytest.raises(ModelError, match="no such folder"):
        _train(corpus, tmp_path / "nowhere", tmp_path / "again")
    assert json.loads((tmp_path / "m" / "training.json").read_text())["settings"]["dropout"] == 0.1
