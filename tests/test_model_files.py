"""Folders of models that somebody damaged or made up: one clause each; and odd ones that can be used all the same."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import constants as hub_constants
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM

from senseprobe.errors import ModelError
from senseprobe.evaluate import models
from senseprobe.evaluate.models import checkpoint
from senseprobe.evaluate.models.agreement import agree
from senseprobe.evaluate.models.masked import load
from senseprobe.evaluate.models.weights import INDEX
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

UNITS = [Unit("Japanese people are kind."), Unit("She is a talented engineer.")]


@pytest.fixture
def bert(tiny_models: dict[str, Path], tmp_path: Path) -> Path:
    """Copy the tiny BERT into a folder of its own, to be spoilt."""
    return Path(shutil.copytree(tiny_models["bert"], tmp_path / "bert"))


def _edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _refused(spec: object, match: str, opened: Callable[..., object] = load, **how: Any) -> None:  # noqa: ANN401
    with pytest.raises(ModelError, match=match) as caught:
        opened(str(spec), **how)
    assert "\n" not in str(caught.value)


# --- what a config says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "odd",
    [
        {"return_dict": False},
        {"chunk_size_feed_forward": 7},
        {"attn_implementation": "flex_attention"},
        {"attn_implementation": "somebody/kernel"},
        {"transformers_weights": "other.safetensors"},
    ],
)
def test_how_to_compute_is_not_for_a_config_to_say(odd: dict[str, object], bert: Path) -> None:
    """The same weights give the same numbers, whatever of this a config asks for."""
    expected = get("aul").numbers(load(str(bert)), UNITS)
    _edit(bert / "config.json", **odd)
    np.testing.assert_array_equal(get("aul").numbers(load(str(bert)), UNITS), expected)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"num_attention_heads": 0}, "makes no model of its files .ZeroDivisionError"),
        ({"num_attention_heads": "two"}, "config.json is not valid: .*num_attention_heads.*two"),
        ({"layer_norm_eps": "1e-5"}, "config.json is not valid: .*layer_norm_eps.*1e-5"),
        ({"pad_token_id": 10**6}, "AssertionError: Padding_idx"),
        ({"hidden_act": "evil"}, "makes no model of its files .KeyError: 'evil'"),
        ({"use_return_dict": False}, "makes no model of its files .AttributeError: property 'use_return_dict'"),
        ({"max_position_embeddings": 7}, "weights have other shapes than its config.json says"),
        ({"id2label": {"a": "b"}}, "a word for a number; the keys of id2label in config.json are 0, 1, 2"),
    ],
)
def test_configs_that_make_no_model_are_refused(wrong: dict[str, object], match: str, bert: Path) -> None:
    """Whatever transformers makes of them: one clause, which has the word that is wrong."""
    _edit(bert / "config.json", **wrong)
    _refused(bert, match)


@pytest.mark.parametrize("named", [5, [5], {"BertForMaskedLM": 1}, "BertForMaskedLM"])
def test_architectures_that_are_no_list_of_names_are_refused(named: object, bert: Path) -> None:
    """They are looked through for one that is known."""
    _edit(bert / "config.json", architectures=named)
    _refused(bert, "architectures is no list of names", models.ability_of)


def test_a_length_that_is_no_number_is_refused(bert: Path) -> None:
    """The tokenizer compares with it at each text."""
    _edit(bert / "tokenizer_config.json", model_max_length="x")
    _refused(bert, "model_max_length in its tokenizer_config.json is no number")


def test_a_tokenizer_that_is_no_json_is_refused(bert: Path) -> None:
    """In words, not in those of a parser alone."""
    (bert / "tokenizer.json").write_text("\0")
    _refused(bert, "one of its files is not valid JSON")


def test_a_device_without_numbers_is_refused(bert: Path) -> None:
    """PyTorch knows a device that computes shapes alone."""
    _refused(bert, "cannot use the device meta: it holds shapes and no numbers", device="meta")


def test_a_first_pass_that_fails_is_refused(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What loads, and then fails at three tokens, would fail at each text."""

    def forward(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("transformers.BertForMaskedLM.forward", forward)
    _refused(bert, "makes no model of its files .ZeroDivisionError")


# --- which files have the weights -----------------------------------------------------------------------------------


class _Touching:
    """Makes a file when it is read by unpickling."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.trace}",)


def _index(folder: Path, name: object) -> None:
    """Have all weights be in the file that is called so."""
    names = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, name)}))


@pytest.mark.parametrize("allow_pickle", [False, True])
def test_an_index_of_pickles_is_refused_before_they_are_read(bert: Path, *, allow_pickle: bool) -> None:
    """An index of safetensors that names a pickle has transformers read it, safe weights asked for or not."""
    _index(bert, "pytorch_model-00001.bin")
    (bert / "pytorch_model-00001.bin").write_bytes(pickle.dumps(_Touching(bert / "it-ran")))
    _refused(bert, "names 'pytorch_model-00001.bin', which is no safetensors file", allow_pickle=allow_pickle)
    assert not (bert / "it-ran").exists()


def test_a_pickle_that_is_more_than_weights_is_not_read_either(bert: Path) -> None:
    """Weights that are a pickle are read where that is asked for; other things in it are not."""
    (bert / "model.safetensors").unlink()
    torch.save({"a": _Touching(bert / "it-ran")}, bert / "pytorch_model.bin")
    _refused(bert, "pickled weights hold more than tensors", allow_pickle=True)
    assert not (bert / "it-ran").exists()


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("../other/model.safetensors", "which lies elsewhere"),
        ("/etc/model.safetensors", "which lies elsewhere"),
        ("none.safetensors", r"lacks 'none\.safetensors', which its model\.safetensors\.index\.json names"),
        (5, "does not say which files"),
        (["a.safetensors"], "does not say which files"),
    ],
)
def test_an_index_names_files_of_its_folder(name: object, match: str, bert: Path) -> None:
    """Nothing else is read."""
    _index(bert, name)
    _refused(bert, match)


@pytest.mark.parametrize("told", ["{}", "[1]", '{"weight_map": [1]}', '{"metadata": {}, "weight_map": {}}', "{"])
def test_an_index_that_says_nothing_is_refused(told: str, bert: Path) -> None:
    """Without a KeyError of transformers'."""
    _index(bert, "a.safetensors")
    (bert / INDEX).write_text(told)
    _refused(bert, "does not say which files have the weights")


def test_an_index_on_the_hub_is_looked_at_first(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a folder: what it names is not even asked for."""
    _index(bert, "pytorch_model-00001.bin")
    monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(checkpoint, "hf_hub_download", lambda _, file, **__: bert / file)
    monkeypatch.setattr(AutoModelForMaskedLM, "from_pretrained", lambda *_, **__: pytest.fail("was read"))
    _refused("somebody/bert", "names 'pytorch_model-00001.bin', which is no safetensors file")


# --- whether logits agree -------------------------------------------------------------------------------------------

LOGITS = torch.tensor([1.0, -4.0, 10.0])


@pytest.mark.parametrize("mark", [torch.finfo(torch.float32).min, -torch.inf, torch.inf, torch.nan, -1e9])
def test_a_mark_among_logits_lets_nothing_pass(mark: float) -> None:
    """By hand: a part of 1e-3 of 10 is 0.01, whatever stands for a token that cannot be."""
    marked = torch.cat([LOGITS, torch.tensor([mark])])
    assert agree(marked, marked, 1e-3)
    for change, same in ((0.009, True), (0.011, False)):
        other = marked.clone()
        other[0] += change
        assert agree(marked, other, 1e-3) == same


def test_logits_that_tell_nothing_do_not_agree() -> None:
    """NaN, another shape, a mark in one of them only."""
    assert not agree(LOGITS * torch.nan, LOGITS * torch.nan, 1)
    assert not agree(LOGITS, LOGITS[:2], 1)
    assert not agree(LOGITS, torch.tensor([1.0, -torch.inf, 10.0]), 1)
    assert not agree(LOGITS * 1e6, LOGITS * 1.1e6, 1e-3)
    assert agree(LOGITS * 1e6, LOGITS * 1.0001e6, 1e-3)


def test_a_model_without_logits_is_told(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A classifier whose answer has another form."""
    from senseprobe.evaluate.models.classifier import Classifier

    opened: Any = load(str(bert))
    opened._model.forward = lambda **_: SimpleNamespace()
    odd = Classifier("odd", opened._model, opened._tokenizer, columns=(0, 1, 2), batch_tokens=64)
    with pytest.raises(ModelError, match="the model odd gives no logits"):
        get("nli").numbers(odd, [Unit("She is kind.", "He is kind.")])
