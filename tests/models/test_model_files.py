"""Folders of models that somebody damaged or made up: one clause each; and odd ones that can be used all the same."""

import json
import math
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from huggingface_hub import constants as hub_constants

from senseprobe.errors import ModelError
from senseprobe.evaluate import models
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

UNITS = [Unit("Japanese people are kind."), Unit("She is a talented engineer.")]


@pytest.fixture
def bert(tiny_models: dict[str, Path], tmp_path: Path) -> Path:
    """Copy the tiny BERT into a folder of its own, to be spoilt."""
    return Path(shutil.copytree(tiny_models["bert"], tmp_path / "bert"))


def _edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _refused(spec: object, match: str, opened: Callable[..., object] | None = None, **how: Any) -> None:  # noqa: ANN401
    from senseprobe.evaluate.models import masked

    with pytest.raises(ModelError, match=match) as caught:
        (opened or masked.load)(str(spec), **how)
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
    from senseprobe.evaluate.models.masked import load

    expected = get("aul").numbers(load(str(bert)), UNITS)
    _edit(bert / "config.json", **odd)
    np.testing.assert_array_equal(get("aul").numbers(load(str(bert)), UNITS), expected)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"num_attention_heads": 0}, "cannot build a model from its files .ZeroDivisionError"),
        ({"num_attention_heads": "two"}, "config.json is not valid: .*num_attention_heads.*two"),
        ({"layer_norm_eps": "1e-5"}, "config.json is not valid: .*layer_norm_eps.*1e-5"),
        ({"pad_token_id": 10**6}, "AssertionError: Padding_idx"),
        ({"hidden_act": "evil"}, "cannot build a model from its files .KeyError: 'evil'"),
        ({"use_return_dict": False}, "cannot build a model from its files .AttributeError: property 'use_return_dict'"),
        ({"max_position_embeddings": 7}, "weights do not have the shapes that its config.json states"),
        ({"id2label": {"a": "b"}}, "a word in place of a number; the keys of id2label in config.json must be 0, 1, 2"),
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
    _refused(bert, "`architectures` in its config.json is not a list of names", models.ability_of)


def test_a_length_that_is_no_number_is_refused(bert: Path) -> None:
    """The tokenizer compares with it at each text."""
    _edit(bert / "tokenizer_config.json", model_max_length="x")
    _refused(bert, "model_max_length in its tokenizer_config.json is not a number")


def test_a_tokenizer_that_is_no_json_is_refused(bert: Path) -> None:
    """In words, not in those of a parser alone."""
    (bert / "tokenizer.json").write_text("\0")
    _refused(bert, "one of its files is not valid JSON")


def test_a_device_without_numbers_is_refused(bert: Path) -> None:
    """PyTorch knows a device that computes shapes alone."""
    _refused(bert, "cannot use the device meta: it has shapes only, not numbers", device="meta")


def test_a_first_pass_that_fails_is_refused(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What loads, and then fails at three tokens, would fail at each text."""

    def forward(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("transformers.BertForMaskedLM.forward", forward)
    _refused(bert, "cannot build a model from its files .ZeroDivisionError")


# --- which files have the weights -----------------------------------------------------------------------------------


class _Touching:
    """Makes a file when it is read by unpickling."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.trace}",)


def _index(folder: Path, name: object) -> None:
    """Have all weights be in the file that is called so."""
    from safetensors.torch import load_file

    from senseprobe.evaluate.models.checkpoint import INDEX

    names = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, name)}))


@pytest.mark.parametrize("allow_pickle", [False, True])
def test_an_index_of_pickles_is_refused_before_they_are_read(bert: Path, *, allow_pickle: bool) -> None:
    """An index of safetensors that names a pickle has transformers read it, safe weights asked for or not."""
    _index(bert, "pytorch_model-00001.bin")
    (bert / "pytorch_model-00001.bin").write_bytes(pickle.dumps(_Touching(bert / "it-ran")))
    _refused(bert, "names 'pytorch_model-00001.bin', which is not a safetensors file", allow_pickle=allow_pickle)
    assert not (bert / "it-ran").exists()


def test_a_pickle_that_is_more_than_weights_is_not_read_either(bert: Path) -> None:
    """Weights that are a pickle are read where that is asked for; other things in it are not."""
    import torch

    (bert / "model.safetensors").unlink()
    torch.save({"a": _Touching(bert / "it-ran")}, bert / "pytorch_model.bin")
    _refused(bert, "pickled weights contain more than tensors", allow_pickle=True)
    assert not (bert / "it-ran").exists()


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("../other/model.safetensors", "which is outside the folder"),
        ("/etc/model.safetensors", "which is outside the folder"),
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
    from senseprobe.evaluate.models.checkpoint import INDEX

    _index(bert, "a.safetensors")
    (bert / INDEX).write_text(told)
    _refused(bert, "does not say which files have the weights")


def test_an_index_on_the_hub_is_looked_at_first(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a folder: what it names is not even asked for."""
    from transformers import AutoModelForMaskedLM

    from senseprobe.evaluate.models import base, checkpoint

    _index(bert, "pytorch_model-00001.bin")
    config = checkpoint.read_config(str(bert))
    monkeypatch.setattr(base, "read_config", lambda _: config)
    monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(checkpoint, "hf_hub_download", lambda _, file, **__: bert / file)
    monkeypatch.setattr(AutoModelForMaskedLM, "from_pretrained", lambda *_, **__: pytest.fail("was read"))
    _refused("somebody/bert", "names 'pytorch_model-00001.bin', which is not a safetensors file")


# --- whether logits agree -------------------------------------------------------------------------------------------

LOGITS = [1.0, -4.0, 10.0]


@pytest.mark.parametrize("mark", [float(np.finfo(np.float32).min), -math.inf, math.inf, math.nan, -1e9])
def test_a_mark_among_logits_lets_nothing_pass(mark: float) -> None:
    """By hand: a part of 1e-3 of 10 is 0.01, whatever stands for a token that cannot be."""
    import torch

    from senseprobe.evaluate.models.layers import agree

    marked = torch.tensor([*LOGITS, mark])
    assert agree(marked, marked, 1e-3)
    for change, same in ((0.009, True), (0.011, False)):
        other = marked.clone()
        other[0] += change
        assert agree(marked, other, 1e-3) == same


def test_logits_that_tell_nothing_do_not_agree() -> None:
    """NaN, another shape, a mark in one of them only."""
    import torch

    from senseprobe.evaluate.models.layers import agree

    logits = torch.tensor(LOGITS)
    assert not agree(logits * torch.nan, logits * torch.nan, 1)
    assert not agree(logits, logits[:2], 1)
    assert not agree(logits, torch.tensor([1.0, -torch.inf, 10.0]), 1)
    assert not agree(logits * 1e6, logits * 1.1e6, 1e-3)
    assert agree(logits * 1e6, logits * 1.0001e6, 1e-3)


def test_a_model_without_logits_is_told(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A classifier whose answer has another form."""
    from senseprobe.evaluate.models.masked import load
    from senseprobe.evaluate.models.nli import Classifier

    opened: Any = load(str(bert))
    opened._model.forward = lambda **_: SimpleNamespace()
    odd = Classifier("odd", opened._model, opened._tokenizer, columns=(0, 1, 2), batch_tokens=64)
    with pytest.raises(ModelError, match="the model odd does not return logits"):
        get("nli").numbers(odd, [Unit("She is kind.", "He is kind.")])


# --- sizes that a config asks for -----------------------------------------------------------------------------------


MemoryOf = Callable[[Path], tuple[str, int]]
# Opens the models whose folders are written to it, each in a fork of its own: what is loaded is loaded once.
GROWTH = """
import json, os, resource, sys
from senseprobe.errors import ModelError
from senseprobe.evaluate import models
from senseprobe.evaluate.models import masked
from transformers.models.bert import modeling_bert, tokenization_bert
from senseprobe.evaluate.units import Unit
for line in sys.stdin:
    folder = line.strip()
    if os.fork() == 0:
        before, message = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, ""
        try:
            models.ability_of(folder)
            model = masked.load(folder)
            model.encode(["She is kind and clever, and a talented engineer. " * 4] * 64)
        except ModelError as error:
            message = str(error)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
        print(json.dumps([message, grown]), flush=True)
        os._exit(0)
    if os.wait()[1]:
        sys.exit("a fork failed")
os._exit(0)
"""


@pytest.fixture(scope="module")
def memory_of() -> Iterator[MemoryOf]:
    """The message of a model that is refused, in a process of its own, and by how many MiB that process grew."""
    with subprocess.Popen(
        [sys.executable, "-c", GROWTH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as opener:
        assert opener.stdin is not None
        assert opener.stdout is not None
        questions, answers = opener.stdin, opener.stdout

        def asked(folder: Path) -> tuple[str, int]:
            print(folder, file=questions, flush=True)
            message, grown = json.loads(answers.readline())
            return message, grown

        yield asked
        questions.close()
        assert opener.wait() == 0


LARGE = 10**6


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"num_hidden_layers": LARGE}, "its config.json says num_hidden_layers 1000000, more than any known model has"),
        ({"num_hidden_layers": 10**15}, "its config.json says num_hidden_layers 1000000000000000, more than any"),
        ({"num_labels": 10**9}, "its config.json says num_labels 1000000000, more than any known model has"),
        ({"num_hidden_layers": 50_000}, r"describes a much larger model than its weights \(\d+ tensors in \d+ bytes"),
        ({"vocab_size": 10**12}, "describes a much larger model than its weights"),
        ({"hidden_size": 2 * LARGE}, "describes a much larger model than its weights"),
        ({"intermediate_size": 10**10}, "describes a much larger model than its weights"),
        ({"max_position_embeddings": 10**11}, "describes a much larger model than its weights"),
        ({"type_vocab_size": 10**11}, "describes a much larger model than its weights"),
        ({"remarks": ["x" * 2**22]}, "its config.json is larger than 4 MiB"),
    ],
)
# Takes long: the first starts the process that opens all models whose memory is measured.
def test_a_config_that_asks_for_more_than_the_weights_are(
    asked: dict[str, object], match: str, bert: Path, memory_of: MemoryOf
) -> None:
    """One message, and less than 150 MiB: the layers of the first would take gigabytes and minutes."""
    _edit(bert / "config.json", **asked)
    message, grown = memory_of(bert)
    assert re.search(match, message), message
    assert "\n" not in message
    assert grown < 150


def test_a_model_is_built_within_what_its_weights_allow(tiny_models: dict[str, Path]) -> None:
    """Shared layers (ALBERT) and tied tables ask for no more than there is."""
    from senseprobe.evaluate.models.masked import load

    for folder in tiny_models.values():
        assert load(str(folder)).encode(["She is kind."])


# --- how long a tokenizer makes a text ------------------------------------------------------------------------------


def _replace(content: str, pattern: str = "") -> dict[str, object]:
    return {"type": "Replace", "pattern": {"Regex": pattern or "."}, "content": content}


def _tokenizer(folder: Path, **changes: object) -> None:
    """Change the file of a tokenizer, which is to be read as it is: BERT's own class has a normaliser of its own."""
    _edit(folder / "tokenizer.json", **changes)
    _edit(folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")


def _sequence(*steps: Mapping[str, object]) -> dict[str, object]:
    return {"type": "Sequence", "normalizers": list(steps)}


def _nested(depth: int) -> dict[str, object]:
    step: dict[str, object] = {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"}
    for _ in range(depth):
        step = _sequence({"type": "Replace", "pattern": {"String": "e"}, "content": "ee"}, step)
    return step


@pytest.mark.parametrize(
    "changed",
    [
        {"normalizer": _replace("x" * 1000)},
        {"normalizer": _replace("x" * 10**6, "Q")},
        {"normalizer": _sequence(_sequence(_replace("y" * 20), _sequence(_replace("z" * 20))))},
        {"normalizer": _nested(30)},
        {"normalizer": _sequence(*[{"type": "Prepend", "prepend": "x" * 99}] * 3)},
        {"normalizer": _sequence(*[{"type": "ByteLevel"}] * 12)},
        {
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
                ]
                * 12,
            }
        },
    ],
    ids=["thousandfold", "of a rare letter", "nested", "deep", "prepended", "bytes of bytes", "pre-tokenizer"],
)
def test_a_growing_tokenizer_is_refused(changed: dict[str, object], bert: Path, memory_of: MemoryOf) -> None:
    """Before it is loaded, which would send its added tokens through the same steps; whatever letters it waits for."""
    _tokenizer(bert, **changed)
    message, grown = memory_of(bert)
    assert re.search(r"the normaliser of its tokenizer could make texts [\d,]+ times as long", message), message
    assert grown < 150


# Takes long: a tokenizer of a hundred thousand tokens is made.
def test_a_tokenizer_that_puts_many_tokens_around_a_text_is_refused(bert: Path, memory_of: MemoryOf) -> None:
    """A template of a hundred thousand special tokens: 64 texts of it would be six million."""
    special = {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}
    many = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}] * 100_000
    template = {"type": "TemplateProcessing", "special_tokens": {"[CLS]": special}}
    text, other = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}
    _tokenizer(bert, post_processor={**template, "single": [*many, text], "pair": [*many, text, other]})
    message, grown = memory_of(bert)
    assert "its tokenizer adds 100000 tokens around each text" in message
    assert grown < 300


def test_what_comes_out_is_bounded_too(bert: Path, memory_of: MemoryOf) -> None:
    """Steps that might be harmless, and are not: 64 texts of 49 words, each letter of them twenty tokens."""
    _tokenizer(bert, normalizer=_replace("e." * 100, "e"), pre_tokenizer={"type": "BertPreTokenizer"})
    message, grown = memory_of(bert)
    assert re.search(r"the model's tokenizer makes [\d,]+ tokens from [\d,]+ bytes of text", message), message
    assert grown < 300


def test_usual_normalisers_are_not_refused(tiny_models: dict[str, Path]) -> None:
    """ALBERT's: two replacements, NFKD, lower case, a map of SentencePiece, a regular expression."""
    from senseprobe.evaluate.models.limits import check_steps

    check_steps(json.loads((tiny_models["albert"] / "tokenizer.json").read_text()))
    replaced: list[dict[str, object]] = [{"type": "Replace", "pattern": {"String": "``"}, "content": '"'}]
    steps: list[Mapping[str, object]] = [
        *replaced,
        {"type": "NFKD"},
        {"type": "StripAccents"},
        {"type": "Lowercase"},
        _replace(" ", " {2,}"),
    ]
    check_steps({"normalizer": _sequence(*steps), "pre_tokenizer": {"type": "ByteLevel"}})


def _literal(pattern: str, content: str) -> dict[str, object]:
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


@pytest.mark.parametrize(
    "steps",
    [
        [_literal(letter, f"{plain}e") for letter, plain in zip("äöüßÄÖÜæœ", "aousAOUao", strict=True)],
        [
            _literal(sign, f" {word} ")
            for sign, word in (("€", "euro"), ("$", "dollar"), ("%", "percent"), ("&", "and"))
        ],
        [
            _replace(" ", pattern)
            for pattern in ("[\u2018\u2019]", "[\u201c\u201d]", r"\s+", "[a]", "[b]", "[c]", "[d]", "[e]", "x+")
        ],
    ],
    ids=["German letters", "currencies", "classes of signs"],
)
def test_rules_that_do_not_match_what_others_put_in_do_not_multiply(steps: list[Mapping[str, object]]) -> None:
    """A letter goes through one of them: the longest makes nine letters of one."""
    from senseprobe.evaluate.models.limits import check_steps

    check_steps({"normalizer": _sequence(*steps)})


@pytest.mark.parametrize(
    "steps",
    [
        [_literal("a", "b" * 20), _literal("b", "c" * 20)],
        [_literal("a", "B" * 20), {"type": "Lowercase"}, _literal("b", "c" * 20)],
        [_literal("a", "Ä" * 20), {"type": "NFKD"}, {"type": "StripAccents"}, _literal("A", "c" * 20)],
        [_literal("a", "b" * 20), _literal("b", "c"), _literal("c", "d" * 20)],
        [_literal("a", "b" * 20), _replace("c" * 20, "[xb]+")],
        [_literal("a", " " * 20), _replace("c" * 20, r"\s")],
        [_literal("a", "b" * 20), _replace("c" * 20, "[^x]")],
        [_literal("a", "b" * 20), _replace("c" * 20, "[a-z]")],
        [_literal("a", "b" * 20), _replace("c" * 20, "x*")],
        [_literal("a", "b" * 20), {"type": "Precompiled", "precompiled_charsmap": ""}, _literal("c", "d" * 20)],
    ],
)
def test_rules_that_match_what_others_put_in_multiply(steps: list[Mapping[str, object]]) -> None:
    """One letter becomes 400, whatever stands between the two rules."""
    from senseprobe.evaluate.models.limits import check_steps

    with pytest.raises(ModelError, match=r"could make texts [0-9,]+ times as long"):
        check_steps({"normalizer": _sequence(*steps)})


def test_portions_are_read_as_one(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that are tokenized in many portions have the same tokens, alone and in pairs."""
    from senseprobe.evaluate.models import limits
    from senseprobe.evaluate.models.limits import tokenized
    from senseprobe.evaluate.models.masked import load

    texts = ["She is kind.", "", "He is a talented engineer.", "She judges the horses at the county fair."] * 3
    model = load(str(bert))
    whole = model.encode(texts)
    pairs = [columns["input_ids"] for columns in tokenized(model._tokenizer, texts, texts[::-1])]
    monkeypatch.setattr(limits, "PORTION", 20)
    assert model.encode(texts) == whole
    parts = [columns["input_ids"] for columns in tokenized(model._tokenizer, texts, texts[::-1])]
    assert len(parts) > 6
    assert [ids for part in parts for ids in part] == pairs[0]
    assert list(tokenized(model._tokenizer, [])) == []
