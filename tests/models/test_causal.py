"""Log-likelihoods of causal language models, against the vectors of a naive second implementation; and what is refused.

Expected values come from `conformance/naive_causal.py`, which shares no code with senseprobe, from counting by hand, or
from sets of prefixes.
"""

import json
import math
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.all_scorers import numbers_by_scorer
from tests.models.later import causal, safetensors_torch, torch, transformers

from senseprobe.errors import ModelError
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.scorers.causal import SCORERS
from senseprobe.evaluate.units import Unit

# What transformers takes and gives, without types that are of use.
Foreign: TypeAlias = Any

CONFORMANCE = Path(__file__).parents[1] / "conformance"
VECTORS: dict[str, Any] = json.loads((CONFORMANCE / "causal_vectors.json").read_text(encoding="utf-8"))
NAIVE = runpy.run_path(str(CONFORMANCE / "naive_causal.py"))
NAMES = [scorer.id for scorer in SCORERS]
FAMILIES = [*VECTORS["scores"]]
SHARING = {"gpt2", "gpt2-bare", "llama", "llama-end", "qwen2"}
UNITS = [Unit(text) for text in VECTORS["texts"]]
# These compute a part of what they do in single precision, whatever the format: softmax, the state.
IN_SINGLE = {"bloom", "mamba"}
ids = st.lists(st.integers(0, 3), min_size=2, max_size=7).map(tuple)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of the tiny causal models of the conformance suite."""
    torch.set_num_threads(1)
    build: Callable[[Path], dict[str, Path]] = runpy.run_path(str(CONFORMANCE / "causal_models.py"))["build"]
    return build(tmp_path_factory.mktemp("causal"))


@pytest.fixture(scope="session")
def gpt2(folders: dict[str, Path]) -> "causal.CausalLM":
    """The tiny GPT-2 in double precision."""
    return causal.load(str(folders["gpt2"]), device="cpu", dtype="float64")


def _scores(name: str, model: object, units: Sequence[Unit] = UNITS) -> list[float]:
    numbers: list[float] = get(name).numbers(model, units)[:, 0].tolist()
    return numbers


def _expected(family: str, name: str) -> list[float]:
    return [math.nan if value is None else value for value in VECTORS["scores"][family][name]]


@pytest.mark.parametrize("batch_tokens", [1, 40, None])
@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_the_vectors(family: str, batch_tokens: int | None, folders: dict[str, Path]) -> None:
    """Every scorer is within 1e-6 of its vector in double precision, unscored where it is, for any budget."""
    model = causal.load(str(folders[family]), device="cpu", dtype="float64", batch_tokens=batch_tokens)
    bound = 1e-5 if family in IN_SINGLE else 1e-6
    names = NAMES if model.start else [name for name in NAMES if "no-start" in name]
    alone = batch_tokens is None  # that they share their passes is faster, and to be the same
    found = {name: _scores(name, model) for name in names} if alone else numbers_by_scorer(names, model, UNITS)
    for name, values in found.items():
        np.testing.assert_allclose(values, _expected(family, name), rtol=0, atol=bound, err_msg=name)


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_are_what_the_naive_implementation_gives(family: str, folders: dict[str, Path]) -> None:
    """The committed vectors are those of the committed models and the committed naive implementation."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[family])
    model = transformers.AutoModelForCausalLM.from_pretrained(folders[family], dtype=torch.float64).eval()
    assert VECTORS["texts"] == NAIVE["TEXTS"]
    for number in (0, 7, 16):
        for name, value in NAIVE["scores"](family, model, tokenizer, VECTORS["texts"][number]).items():
            expected = VECTORS["scores"][family][name][number]
            assert value == pytest.approx(expected, rel=0, abs=1e-6) if expected is not None else value is None


@pytest.mark.parametrize("family", FAMILIES)
def test_architectures_that_cannot_share_are_found_out(family: str, folders: dict[str, Path]) -> None:
    """Beginnings are not shared where a window, ALiBi or a state would make that wrong, and are everywhere else."""
    model = causal.load(str(folders[family]), device="cpu", batch_tokens=1000)
    batches = list(model.batches([_Sequence((1, 2, 3)), _Sequence((1, 2, 4)), _Sequence((1, 2, 4, 5))]))
    assert len(batches) == (1 if family in SHARING else 2)


_SIZES: dict[str, Any] = {"vocab_size": 60, "hidden_size": 16, "initializer_range": 0.3}
_NEO = {**_SIZES, "num_layers": 2, "num_heads": 2, "attention_types": [[["global", "local"], 1]]}
_MISTRAL = {**_SIZES, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8}
_MPT = {"vocab_size": 60, "d_model": 16, "n_layers": 2, "n_heads": 2, "initializer_range": 0.3}


@pytest.mark.parametrize(
    ("config", "options", "shares"),
    [
        # A row has 128 places and inputs of up to 96: a window of the row must hold 128, one of a text's positions 96.
        ("GPTNeoConfig", {**_NEO, "window_size": 128}, True),
        ("GPTNeoConfig", {**_NEO, "window_size": 100}, False),
        ("MistralConfig", {**_MISTRAL, "sliding_window": 96}, True),
        ("MistralConfig", {**_MISTRAL, "sliding_window": 90}, False),
        ("MptConfig", _MPT, False),
    ],
)
def test_windows_are_tried_at_full_size(config: str, options: dict[str, Any], *, shares: bool) -> None:
    """Beginnings are shared as long as no window is shorter than what could come to lie in a row."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, config)(**options)).eval()
    assert causal.Reader("tried", model, longest=10_000).shares == shares


class _Sequence:
    rows = 1

    def __init__(self, tokens: tuple[int, ...]) -> None:
        self.ids, self.length = tokens, len(tokens) - 1


def test_texts_are_read_as_they_should_be(folders: dict[str, Path]) -> None:
    """What the vectors are meant to try is there: start tokens of each kind, end tokens, unknown tokens, spelt ones."""
    models = {family: causal.load(str(folder), device="cpu") for family, folder in folders.items()}
    for family, model in models.items():
        tokenizer = transformers.AutoTokenizer.from_pretrained(folders[family])
        start = NAIVE["START"][family]
        assert model.start == (() if start is None else (tokenizer.convert_tokens_to_ids(start),))
    with_end = transformers.AutoTokenizer.from_pretrained(folders["llama-end"])
    whole = tuple(with_end("Ж people")["input_ids"])
    assert (whole[0], whole[-1]) == (1, 2)
    assert models["llama-end"].encode(["Ж people"])[0].ids == whole[1:-1]
    assert with_end.unk_token_id in whole
    assert with_end.eos_token_id in models["llama-end"].encode(["people are </s> kind"])[0].ids
    assert transformers.AutoTokenizer.from_pretrained(folders["qwen2"]).bos_token_id is None
    assert transformers.AutoTokenizer.from_pretrained(folders["gpt2"]).pad_token_id is None


def test_bytes_per_text_are_counted_by_hand(gpt2: "causal.CausalLM") -> None:
    """Per byte: "café owners are naïve." has 22 characters and 24 bytes; "Japanese people are kind." has 25 of both."""
    units = [Unit("café owners are naïve."), Unit("Japanese people are kind.")]
    sums, shares = np.array(_scores("ll", gpt2, units)), np.array(_scores("ll-byte", gpt2, units))
    np.testing.assert_allclose(sums / shares, [24, 25], rtol=1e-12)
    # Their first tokens are "caf" and "Jap".
    sums, shares = np.array(_scores("ll-no-start", gpt2, units)), np.array(_scores("ll-byte-no-start", gpt2, units))
    np.testing.assert_allclose(sums / shares, [21, 22], rtol=1e-12)


# --- other programs ---------------------------------------------------------------------------------------------------

PEERS: dict[str, Any] = json.loads((CONFORMANCE / "causal_peers.json").read_text(encoding="utf-8"))
PEERS_UNITS = [Unit(text) for text in PEERS["texts"]]
# minicons by default scores what the tokenizer gives, less its first token, whatever that is.
AS_MINICONS = {
    **dict.fromkeys(["gpt2", "qwen2", "bloom", "mamba"], "ll-mean-no-start"),
    **dict.fromkeys(["llama", "mistral"], "ll-mean"),
}


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "gpt2-bare"])
def test_ll_is_what_lm_eval_gives(family: str, folders: dict[str, Path]) -> None:
    """lm-eval 0.4.13's log-likelihood with an empty context, computed in single precision, is `ll`."""
    scores = _scores("ll", causal.load(str(folders[family]), device="cpu"), PEERS_UNITS)
    np.testing.assert_allclose(scores, PEERS["scores"][family]["lm-eval"], rtol=0, atol=5e-5)


@pytest.mark.parametrize("family", AS_MINICONS)
def test_means_are_what_minicons_gives(family: str, folders: dict[str, Path]) -> None:
    """By default minicons 0.3.39 gives `ll-mean` where the tokenizer adds a start token, else `ll-mean-no-start`."""
    scores = _scores(AS_MINICONS[family], causal.load(str(folders[family]), device="cpu"), PEERS_UNITS)
    np.testing.assert_allclose(scores, PEERS["scores"][family]["minicons"], rtol=0, atol=5e-6)


def test_minicons_counts_an_end_token_as_one_of_the_text(folders: dict[str, Path]) -> None:
    """Where the tokenizer puts </s> after a text, minicons adds log P(</s>) and divides by one token more: not ours."""
    model = causal.load(str(folders["llama-end"]), device="cpu")
    own = [tokens.ids for tokens in model.encode(PEERS["texts"])]
    with_end = model.log_likelihoods([((1, *tokens, 2), 1) for tokens in own]) / [len(tokens) + 1 for tokens in own]
    np.testing.assert_allclose(with_end, PEERS["scores"]["llama-end"]["minicons"], rtol=0, atol=5e-6)
    assert (np.abs(with_end - _scores("ll-mean", model, PEERS_UNITS)) > 1e-3).all()


# --- what is shared ---------------------------------------------------------------------------------------------------


def test_each_beginning_goes_through_the_model_once(gpt2: "causal.CausalLM", monkeypatch: pytest.MonkeyPatch) -> None:
    """Of (1 2 3 4), (1 2 3 5), (1 2 6) and (7 8) four beginnings are read, with logits at three, by hand."""
    asked = [((1, 2, 3, 4), 2), ((1, 2, 3, 5), 3), ((1, 2, 6), 2), ((7, 8), 1)]
    gpt2.log_likelihoods([((1, 2, 3), 1)])  # so that the model was tried before we count
    read, made = _counted(gpt2, monkeypatch)
    values = gpt2.log_likelihoods(asked)
    # Nodes: 1, 1 2, 1 2 3, 7. Asked are 3 and 6 after 1 2; 4 and 5 after 1 2 3; 8 after 7.
    assert (read, made) == ([4], [3])
    alone = [gpt2.log_likelihoods([one])[0] for one in asked]
    np.testing.assert_allclose(values, alone, rtol=1e-12)


def test_texts_that_cannot_share_are_read_once_with_what_differs_at_their_end(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where beginnings cannot be shared, texts that differ in their last token alone are still one row of input."""
    model = causal.load(str(folders["mistral"]), device="cpu", dtype="float64")
    asked = [((1, 2, 3, 4), 1), ((1, 2, 3, 5), 1), ((1, 2, 6), 1)]
    assert len(list(model.batches([_Sequence(tokens) for tokens, _ in asked]))) == 2
    read, made = _counted(model, monkeypatch)
    model.log_likelihoods(asked)
    assert (read, made) == ([2, 3], [2, 3])


def _counted(model: "causal.CausalLM", monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
    """Lists that fill with the tokens that go in and the positions that logits are made for, pass by pass."""
    inner: Any = model
    read: list[int] = []
    made: list[int] = []
    network, head = inner._model, inner._model.get_output_embeddings()
    forward, product = network.forward, head.forward

    def counting_forward(**inputs: Foreign) -> Foreign:
        read.append(inputs["input_ids"].numel())
        return forward(**inputs)

    def counting_product(hidden: "torch.Tensor") -> Foreign:
        made.append(hidden.numel() // hidden.shape[-1])
        return product(hidden)

    monkeypatch.setattr(network, "forward", counting_forward)
    monkeypatch.setattr(head, "forward", counting_product)
    return read, made


@given(st.lists(ids, min_size=1, max_size=20).map(sorted), st.integers(1, 12))
def test_a_forest_holds_every_beginning_once_in_its_row(sequences: list[tuple[int, ...]], limit: int) -> None:
    """A row's nodes are the distinct proper prefixes of its sequences, each above those that go on from it."""
    forest = causal.Forest.of(sequences, limit)
    seen: dict[tuple[int, tuple[int, ...]], int] = {}
    for row, (start, end) in enumerate(causal.rows_of(sequences, limit)):
        prefixes = {sequence[:k] for sequence in sequences[start:end] for k in range(1, len(sequence))}
        assert len(prefixes) <= limit or end == start + 1
        assert sum(forest.row == row) == len(prefixes)
        for sequence, path in zip(sequences[start:end], forest.path[start:end].tolist(), strict=True):
            assert set(path[len(sequence) - 1 :]) <= {-1}
            for k, node in enumerate(path[: len(sequence) - 1]):
                assert seen.setdefault((row, sequence[: k + 1]), node) == node
                assert (forest.row[node], forest.token[node], forest.depth[node]) == (row, sequence[k], k)
    assert sorted(seen.values()) == list(range(len(forest.token)))
    above = {(node, seen[row, prefix[:k]]) for (row, prefix), node in seen.items() for k in range(1, len(prefix) + 1)}
    assert {tuple(pair) for pair in forest.above.T.tolist()} == above
    assert len({*forest.number.tolist()}) + len(forest.empty[0]) == forest.rows * forest.width


@given(st.lists(ids, min_size=1, max_size=20).map(sorted), st.integers(1, 12))
def test_rows_are_as_full_as_can_be(sequences: list[tuple[int, ...]], limit: int) -> None:
    """No sequence that begins a row would have fitted into the one before it."""
    rows = causal.rows_of(sequences, limit)
    assert [start for start, _ in rows] == [0, *(end for _, end in rows[:-1])]
    assert rows[-1][1] == len(sequences)
    for start, end in rows[:-1]:
        assert len({s[:k] for s in sequences[start : end + 1] for k in range(1, len(s))}) > limit


# --- what changes nothing ---------------------------------------------------------------------------------------------

SENTENCES = st.lists(
    st.builds(
        "{} people are {}{}".format,
        st.sampled_from(["Japanese", "Norwegian", "kind", "日"]),
        st.sampled_from(["kind", "unkind", "good looking", "a nurse or an engineer"]),
        st.sampled_from(["", ".", " and black."]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25)
@given(texts=SENTENCES, batch_tokens=st.integers(1, 300), data=st.data())
def test_scores_do_not_depend_on_company(
    texts: list[str], batch_tokens: int, data: st.DataObject, gpt2: "causal.CausalLM"
) -> None:
    """Budget and duplicates change scores by less than 1e-9 in double precision, and order changes no bit."""
    alone = {text: _scores("ll", gpt2, [Unit(text)])[0] for text in {*texts}}
    shuffled = data.draw(st.permutations([*texts, *texts]))
    before, gpt2.budget.tokens = gpt2.budget.tokens, batch_tokens
    try:
        scores = _scores("ll", gpt2, [Unit(text) for text in texts])
        again = _scores("ll", gpt2, [Unit(text) for text in shuffled])
    finally:
        gpt2.budget.tokens = before
    np.testing.assert_allclose(scores, [alone[text] for text in texts], rtol=0, atol=1e-9)
    found = dict(zip(texts, scores, strict=True))
    assert again == [found[text] for text in shuffled]


@pytest.mark.parametrize("threads", [2, 3])
def test_scores_do_not_depend_on_the_number_of_threads(threads: int, gpt2: "causal.CausalLM") -> None:
    """Whatever the number of threads, scores are those of the vectors."""
    torch.set_num_threads(threads)
    try:
        scores = _scores("ll", gpt2)
    finally:
        torch.set_num_threads(1)
    np.testing.assert_allclose(scores, _expected("gpt2", "ll"), rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["gpt2", "llama-end", "qwen2", "bloom"])
def test_padding_side_and_padding_that_a_tokenizer_brings_change_no_bit(
    family: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    """Texts are never padded, whatever side or length the tokenizer's files ask for."""
    found = []
    for side in ("left", "right"):
        folder = Path(shutil.copytree(folders[family], tmp_path / side))
        for file, values in (
            ("tokenizer_config.json", {"padding_side": side}),
            ("tokenizer.json", {"padding": _padding(side, family), "truncation": _CUTTING}),
        ):
            content = json.loads((folder / file).read_text(encoding="utf-8"))
            (folder / file).write_text(json.dumps({**content, **values}), encoding="utf-8")
        found.append(_scores("ll", causal.load(str(folder), device="cpu", dtype="float64")))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], _expected(family, "ll"), rtol=0, atol=1e-5)


_CUTTING = {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0}


def _padding(side: str, family: str) -> dict[str, Any]:
    padding = {"strategy": {"Fixed": 50}, "direction": side.title(), "pad_to_multiple_of": None}
    return {**padding, "pad_id": 0, "pad_type_id": 0, "pad_token": "</s>" if "llama" in family else "<|endoftext|>"}


def test_an_interrupted_run_ends_with_the_same_bits(gpt2: "causal.CausalLM") -> None:
    """What is done is not computed again, and what is left gets the bits of a run that was never interrupted."""
    gpt2.budget.tokens, before = 20, gpt2.budget.tokens
    try:
        whole = [dict(answers) for answers in get("ll").score(gpt2, {*UNITS}, ())]
        done = {**whole[0], **whole[1], **whole[2]}
        rest = dict(pair for answers in get("ll").score(gpt2, {*UNITS}, done) for pair in answers)
    finally:
        gpt2.budget.tokens = before
    assert len(whole) > 5
    expected = {unit: numbers for answers in whole[3:] for unit, numbers in answers.items()}
    assert {unit: np.array(value).tobytes() for unit, value in rest.items()} == {
        unit: np.array(value).tobytes() for unit, value in expected.items()
    }


# --- memory -----------------------------------------------------------------------------------------------------------


# What PyTorch raises: on CUDA, on Linux, on macOS and Windows; what oneDNN says, C++, Python.
SHORTAGES = [
    "CUDA out of memory",
    "[enforce fail] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.",
    "[enforce fail] data. DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes.",
    "could not create a primitive",
    "could not create a memory object",
    "std::bad_alloc",
    "",
]


@pytest.mark.parametrize("words", SHORTAGES)
def test_each_library_has_its_words_for_too_little_memory(
    words: str, gpt2: "causal.CausalLM", monkeypatch: pytest.MonkeyPatch
) -> None:
    """In all of them the budget is halved, and other errors are passed on."""
    asked = [((first, second, *range(8)), 1) for first in range(4) for second in range(4)]
    expected = [gpt2.log_likelihoods([one])[0] for one in asked]
    kinds: dict[str, type[Exception]] = {"CUDA out of memory": torch.OutOfMemoryError, "": MemoryError}
    _memory_for(30, gpt2, monkeypatch, kinds.get(words, RuntimeError)(words))
    before = gpt2.budget.tokens
    try:
        np.testing.assert_allclose(gpt2.log_likelihoods(asked), expected, rtol=1e-6)
        assert gpt2.budget.tokens < 60
    finally:
        gpt2.budget.tokens = before
    _memory_for(1, gpt2, monkeypatch, RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        gpt2.log_likelihoods(asked)


@pytest.mark.parametrize("family", ["gpt2", "bloom"])
def test_batches_are_halved_where_memory_does_not_suffice(
    family: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With memory for 30 tokens at a time, numbers stay what they are, and later batches keep to it."""
    model = causal.load(str(folders[family]), device="cpu", dtype="float64")
    asked = [((first, second, *range(8)), 1) for first in range(4) for second in range(4)]
    expected = [model.log_likelihoods([one])[0] for one in asked]
    _memory_for(30, model, monkeypatch)
    np.testing.assert_allclose(model.log_likelihoods(asked), expected, rtol=1e-6)
    assert model.budget.tokens < 60


def test_a_text_too_large_for_memory_is_told(gpt2: "causal.CausalLM", monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not enough memory for one text, that is the error, not torch's."""
    _scores("ll", gpt2, UNITS[:2])
    before = gpt2.budget.tokens
    _memory_for(1, gpt2, monkeypatch)
    with pytest.raises(ModelError, match="not enough memory for one text"):
        _scores("ll", gpt2)
    gpt2.budget.tokens = before


def _memory_for(
    tokens: int, model: "causal.CausalLM", monkeypatch: pytest.MonkeyPatch, shortage: Exception | None = None
) -> None:
    inner: Any = model
    forward = inner._model.forward

    def bounded(**inputs: Foreign) -> Foreign:
        if inputs["input_ids"].numel() > tokens:
            raise shortage or torch.OutOfMemoryError(SHORTAGES[0])
        return forward(**inputs)

    monkeypatch.setattr(inner._model, "forward", bounded)


# --- what has no number -----------------------------------------------------------------------------------------------


def test_scores_that_are_no_numbers_are_unscored(folders: dict[str, Path], tmp_path: Path) -> None:
    """Weights with NaN make texts unscored, never 0."""
    folder = Path(shutil.copytree(folders["bloom"], tmp_path / "nan"))
    weights = safetensors_torch.load_file(folder / "model.safetensors")
    weights["transformer.ln_f.bias"][0] = math.nan
    safetensors_torch.save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert np.isnan(get("ll").numbers(causal.load(str(folder), device="cpu"), UNITS)).all()


@pytest.mark.parametrize(("name", "alone"), [("ll", "no finite number"), ("ll-no-start", "no token to score")])
def test_why_there_is_no_number(name: str, alone: str, gpt2: "causal.CausalLM") -> None:
    """Without a start token one token is none to score; of 400 words there are too many for 96 positions."""
    said = get(name).why
    assert said is not None
    units = [Unit(""), Unit("a"), Unit("kind " * 400)]
    assert [*said(gpt2, units)] == ["no token to score", alone, "too long for the model"]


@pytest.mark.parametrize("name", [name for name in NAMES if "no-start" not in name])
def test_a_model_without_a_start_token_is_refused_one(name: str, folders: dict[str, Path]) -> None:
    """No start token is made up: the user is told which scorers do without."""
    model = causal.load(str(folders["gpt2-bare"]), device="cpu")
    with pytest.raises(ModelError, match=r"has no start token: .*ll-no-start"):
        _scores(name, model)


def test_no_unit_is_no_work(gpt2: "causal.CausalLM") -> None:
    """Nothing asked, nothing answered."""
    assert get("ll").numbers(gpt2, []).shape == (0, 1)
    assert gpt2.log_likelihoods([]).shape == (0,)
    assert gpt2.encode([]) == []


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_models_that_read_from_both_sides_are_refused(family: str, tiny_models: dict[str, Path]) -> None:
    """A masked language model has a head that fits, and would give numbers that are no likelihoods."""
    with pytest.raises(ModelError, match="it reads texts in both directions, so it is not a causal language model"):
        causal.load(str(tiny_models[family]), device="cpu")


def test_models_without_such_a_head_are_refused(tiny_models: dict[str, Path]) -> None:
    """ALBERT has no causal head in transformers at all."""
    with pytest.raises(ModelError, match=r"its architecture \(albert\) does not have this kind of head"):
        causal.load(str(tiny_models["albert"]), device="cpu")


def test_models_that_translate_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    """An encoder and a decoder: transformers would take BART's decoder and leave its encoder out."""
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    shutil.copytree(folders["gpt2"], tmp_path / "bart")
    config = transformers.BartConfig(vocab_size=600, d_model=8, encoder_ffn_dim=8, decoder_ffn_dim=8, **sizes)
    transformers.BartForConditionalGeneration(config).save_pretrained(tmp_path / "bart")
    with pytest.raises(ModelError, match="it has an encoder and a decoder"):
        causal.load(str(tmp_path / "bart"), device="cpu")


# --- the catalogue ----------------------------------------------------------------------------------------------------


def test_scorers_declare_what_they_are() -> None:
    """Six scorers, with and without a start token; each says what it cannot say, and where others differ."""
    assert NAMES == ["ll", "ll-mean", "ll-byte", "ll-no-start", "ll-mean-no-start", "ll-byte-no-start"]
    for scorer in SCORERS:
        assert (scorer.ability, scorer.range, scorer.reads) == ("causal", (-math.inf, 0.0), ("text",))
        assert scorer.source
        assert scorer.equation
        assert scorer.cannot_say
        assert ("Nothing precedes the text" in scorer.says) == ("no-start" in scorer.id)
    assert "lm-eval" in get("ll").says
    assert "minicons" in get("ll-mean-no-start").says


def test_the_catalogue_loads_no_torch() -> None:
    """Listing scorers is quick."""
    code = (
        "import sys, senseprobe.evaluate.scorers.causal as c; assert len(c.SCORERS) == 6; print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_identity_is_that_of_the_weights(folders: dict[str, Path]) -> None:
    """Two models of one architecture differ in their weights; the format is named."""
    first, second = (causal.load(str(folders[name]), device="cpu").identity for name in ("llama", "llama-end"))
    assert first["weights"] != second["weights"]
    assert first["tokenizer"] != second["tokenizer"]
    assert first["dtype"] == "float32"
    assert causal.load(str(folders["llama"]), device="cpu").identity == first


def test_identity_covers_the_longest_input(folders: dict[str, Path], tmp_path: Path) -> None:
    """Where only the tokenizer says how much a model reads, another length is another model; else it is not."""
    for family, changed in (("mamba", {"tokenizer"}), ("gpt2", set())):
        folder = Path(shutil.copytree(folders[family], tmp_path / family))
        before = causal.load(str(folder), device="cpu")
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": 12}))
        after = causal.load(str(folder), device="cpu")
        assert {key for key, value in after.identity.items() if value != before.identity[key]} == changed
        assert (after.max_length == 12) == (family == "mamba")


def test_dropout_of_merges_is_switched_off(folders: dict[str, Path], tmp_path: Path) -> None:
    """A tokenizer.json that was left as in training splits words at random; here they are split in one way."""
    folder = Path(shutil.copytree(folders["gpt2"], tmp_path / "dropout"))
    told = json.loads((folder / "tokenizer.json").read_text())
    told["model"]["dropout"] = 0.5
    (folder / "tokenizer.json").write_text(json.dumps(told))
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert len({tuple(theirs(VECTORS["texts"][0])["input_ids"]) for _ in range(20)}) > 1
    model = causal.load(str(folder), device="cpu", dtype="float64")
    np.testing.assert_allclose(_scores("ll", model), _expected("gpt2", "ll"), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(_scores("ll", model), _scores("ll", model))
    assert model.identity == causal.load(str(folders["gpt2"]), device="cpu", dtype="float64").identity
