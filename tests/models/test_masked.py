"""Scores of masked language models, against an explicit loop; and what the loader refuses.

`test_masked_scorers.py` has every scorer on every type of model, against committed vectors.
"""

import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from huggingface_hub import constants as hub_constants
from numpy.typing import NDArray
from tests.models.later import masked, odd_models, torch, transformers, transformers_logging

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

FAMILIES = ("bert", "roberta", "albert")
TEXTS = [
    "Japanese people are kind.",
    "Norwegian people are kind.",
    "Vietnamese people are easy to understand.",
    "She is a talented engineer.",
    "Kind.",
    "Japanese people are kind.",
    "Ж people are 日本.",
    "English people are [SEP] kind.",
    "Arabic people are 'good looking', uppish, and (surprisingly) arrogant; the black dress is not!",
    "kind people are kind people are kind people are kind people are",
]


def numbers(name: str, model: "masked.MaskedLM", texts: list[str]) -> NDArray[np.float64]:
    """A scorer's number of each text, shape (texts,)."""
    return get(name).numbers(model, [Unit(text) for text in texts])[:, 0]


def naive_tokens(folder: Path, text: str, *, masked: bool) -> list[float]:
    """Log-probability of each own token: one position per forward pass, full logits, log_softmax in float64."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    # Special tokens are put around the text by hand, so that we need no mask to know where they are.
    ids = [tokenizer.cls_token_id, *tokenizer.encode(text, add_special_tokens=False), tokenizer.sep_token_id]
    values = []
    for position in range(1, len(ids) - 1):
        row = list(ids)
        if masked:
            row[position] = tokenizer.mask_token_id
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([row])).logits[0]
        values.append(torch.log_softmax(logits[position].double(), dim=0)[ids[position]].item())
    return values


NAIVE: dict[str, Callable[[Path, str], float]] = {
    "aul": lambda folder, text: float(np.mean(naive_tokens(folder, text, masked=False))),
    "pll": lambda folder, text: math.fsum(naive_tokens(folder, text, masked=True)),
}


@pytest.fixture(scope="session")
def expected(tiny_models: dict[str, Path]) -> dict[tuple[str, str], list[float]]:
    return {
        (family, name): [compute(tiny_models[family], text) for text in TEXTS]
        for family in FAMILIES
        for name, compute in NAIVE.items()
    }


@pytest.fixture
def bert(tiny_models: dict[str, Path], tmp_path: Path) -> Path:
    """Copy the tiny BERT into a folder of its own, to be spoilt."""
    return Path(shutil.copytree(tiny_models["bert"], tmp_path / "bert"))


@pytest.mark.parametrize("batch_tokens", [1, 40, 100_000])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ["aul", "pll"])
@pytest.mark.parametrize("family", FAMILIES)
# Takes long: the first loads torch and makes the models of the session.
def test_scores_equal_the_explicit_loop(
    family: str,
    name: str,
    side: str,
    batch_tokens: int,
    tiny_models: dict[str, Path],
    expected: dict[tuple[str, str], list[float]],
    tmp_path: Path,
) -> None:
    """Scores equal an explicit loop over positions, for any batch size and padding side, unknown tokens included."""
    folder = Path(shutil.copytree(tiny_models[family], tmp_path / family))
    _edit(folder / "tokenizer_config.json", padding_side=side)
    scores = numbers(name, masked.load(str(folder), batch_tokens=batch_tokens), TEXTS)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, expected[family, name], rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_read_as_they_should_be(family: str, tiny_models: dict[str, Path]) -> None:
    """The texts above hold what they are meant to try: unknown tokens, special tokens' names, equal lengths."""
    model = masked.load(str(tiny_models[family]))
    unknown, with_name, long = model.encode([TEXTS[6], TEXTS[7], TEXTS[8]])
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_models[family])
    if family != "roberta":  # bytes leave nothing unknown
        assert not unknown.special[unknown.ids.index(tokenizer.unk_token_id)]
        assert not with_name.special[with_name.ids.index(tokenizer.sep_token_id)]
    assert len(long.ids) > 25
    assert [special for special in unknown.special if special] == [True, True]


@pytest.mark.parametrize("name", ["aul", "pll"])
def test_order_changes_no_bit(name: str, tiny_models: dict[str, Path]) -> None:
    """Shuffled rows and repeated rows give the same numbers, bit for bit."""
    model = masked.load(str(tiny_models["bert"]), batch_tokens=40)
    scores = dict(zip(TEXTS, numbers(name, model, TEXTS), strict=True))
    shuffled = [*TEXTS, *TEXTS]
    np.random.default_rng(1).shuffle(shuffled)
    assert numbers(name, model, shuffled).tolist() == [scores[text] for text in shuffled]


def test_padding_and_cutting_that_a_tokenizer_brings_are_not_used(bert: Path) -> None:
    """A tokenizer.json that pads to 50 and cuts at 6 changes nothing, not even the identity."""
    before = masked.load(str(bert))
    padding = {
        "strategy": {"Fixed": 50},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    cutting = {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0}
    _edit(bert / "tokenizer.json", padding=padding, truncation=cutting)
    after = masked.load(str(bert))
    assert after.identity == before.identity
    np.testing.assert_array_equal(numbers("aul", after, TEXTS), numbers("aul", before, TEXTS))


def test_own_token_is_taken_from_the_diagonal(tiny_models: dict[str, Path]) -> None:
    """A score is made of each token at its own position, and of no token at another's."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_models["bert"])
    oracle = odd_models.Oracle(len(tokenizer), tokenizer.mask_token_id)
    model = masked.MaskedLM("oracle", oracle, tokenizer, batch_tokens=64)
    text = "Japanese people are kind."
    assert tokenizer.tokenize(text) == ["japanese", "people", "are", "kind", "."]
    # By hand: each own token has probability 1/2. Off the diagonal it is 1/2 / (size - 1), far below.
    assert numbers("aul", model, [text])[0] == pytest.approx(math.log(1 / 2), abs=1e-6)
    # By hand: five tokens, each masked in its turn, where every token has probability 1 / size.
    assert numbers("pll", model, [text])[0] == pytest.approx(-5 * math.log(len(tokenizer)), abs=1e-5)


@pytest.mark.parametrize("name", ["aul", "pll"])
@pytest.mark.parametrize("family", FAMILIES)
def test_texts_that_cannot_be_scored_are_nan(family: str, name: str, tiny_models: dict[str, Path]) -> None:
    """A text is scored up to the model's 96 tokens, and is NaN beyond, or where it has no token of its own."""
    model = masked.load(str(tiny_models[family]))
    assert model.max_length == 96
    texts = ["", " ", *("kind" + " kind" * more for more in range(100))]
    texts = [text for text, encoding in zip(texts, model.encode(texts), strict=True) if not 8 < len(encoding.ids) < 93]
    lengths = [len(encoding.ids) for encoding in model.encode(texts)]
    assert max(lengths) > 97
    finite = np.isfinite(numbers(name, model, texts))
    # CLS and SEP stand around every text: 2 is no token at all. RoBERTa's bytes make a token of the lone space.
    assert finite.tolist() == [2 < length <= 96 for length in lengths]


def test_scores_that_are_not_finite_are_nan(bert: Path) -> None:
    """A model that gives NaN for one word leaves the sentences with that word unscored, and those only."""
    model = masked.load(str(bert), dtype="float64")
    word = transformers.AutoTokenizer.from_pretrained(bert).convert_tokens_to_ids("norwegian")
    with torch.no_grad():
        # Input and output share their weights: part them, or every sentence would lack a finite sum over the words.
        model._model.get_output_embeddings().weight = torch.nn.Parameter(
            model._model.get_input_embeddings().weight.clone()
        )
        model._model.get_input_embeddings().weight[word] = math.nan
    assert np.isnan(numbers("aul", model, TEXTS)).tolist() == ["Norwegian" in text for text in TEXTS]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_vocabulary_is_computed_at_asked_positions_only(family: str, tiny_models: dict[str, Path]) -> None:
    """The head sees one row per asked token of each distinct input: never special tokens, never an input twice."""
    model = masked.load(str(tiny_models[family]))
    rows: list[int] = []
    model._model.get_output_embeddings().register_forward_hook(
        lambda _, inputs, output: rows.append(output.numel() // output.shape[-1])
    )
    read = [(encoding.ids, encoding.positions) for encoding in model.encode(sorted(set(TEXTS)))]
    # "Japanese people are kind." and "Norwegian people are kind." are one input where the first token is masked, unless
    # that is a part of the word.
    hidden = {((*ids[:place], "mask", *ids[place + 1 :]), place) for ids, places in read for place in places}
    assert (len(hidden) < sum(len(places) for _, places in read)) == (family != "albert")
    for name, asked in ("aul", sum(len(places) for _, places in read)), ("pll", len(hidden)):
        rows.clear()
        numbers(name, model, TEXTS)
        assert sum(rows) == asked


def test_heads_that_are_not_a_layer_are_read_in_full(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """MobileBERT multiplies with a matrix of its own making: its scores equal the explicit loop all the same."""
    from transformers import MobileBertConfig, MobileBertForMaskedLM

    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_models["bert"])
    sizes = {"hidden_size": 32, "embedding_size": 16, "intra_bottleneck_size": 16, "intermediate_size": 32}
    config = MobileBertConfig(vocab_size=len(tokenizer), num_hidden_layers=1, num_attention_heads=2, **sizes)
    MobileBertForMaskedLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = masked.load(str(tmp_path))
    for name, compute in NAIVE.items():
        values = [compute(tmp_path, text) for text in TEXTS[:3]]
        np.testing.assert_allclose(numbers(name, model, TEXTS[:3]), values, rtol=0, atol=1e-5)


def test_heads_whose_output_is_reshaped_are_read_in_full(tiny_models: dict[str, Path]) -> None:
    """Where the logits do not come back in the shape of what was asked, all of them are computed and read."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_models["bert"])
    model = masked.MaskedLM(
        "reshaping", odd_models.Reshaping(len(tokenizer), tokenizer.mask_token_id), tokenizer, batch_tokens=64
    )
    # By hand, as for the oracle above.
    assert numbers("aul", model, [TEXTS[0]])[0] == pytest.approx(math.log(1 / 2), abs=1e-6)


def test_no_pass_has_more_tokens_than_the_budget(tiny_models: dict[str, Path]) -> None:
    """Masks go through the model as many at a time as the budget allows, and alone where the text itself is above."""
    model = masked.load(str(tiny_models["bert"]), batch_tokens=30)
    sizes: list[int] = []
    model._model.register_forward_pre_hook(
        lambda _, args, more: sizes.append(more["input_ids"].numel()), with_kwargs=True
    )
    text = "kind people are kind people are kind people"
    assert len(model.encode([text])[0].ids) == 10
    numbers("pll", model, [text, " ".join([text] * 5)])
    assert sizes == [30, 30, 20, *[42] * 40]


def test_masks_are_made_when_their_turn_comes(tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first pass, the masks of the texts that come later are not made yet."""
    model = masked.load(str(tiny_models["bert"]), batch_tokens=30)
    made: list[masked.Query] = []
    query = masked.Encoding.query

    def counted(
        encoding: "masked.Encoding", asked: tuple[int, ...], masked: tuple[int, ...], mask_id: int
    ) -> "masked.Query":
        made.append(query(encoding, asked, masked, mask_id))
        return made[-1]

    monkeypatch.setattr(masked.Encoding, "query", counted)
    units = [Unit(" ".join(["kind"] * 6 + ["people"] * last)) for last in range(1, 60)]
    answers = get("pll").score(model, units, ())
    next(answers)
    assert len(next(answers)) == 1
    # Each text has from 7 to 65 tokens. To plan, a few of each are looked at.
    assert len(made) < 5 * len(units)


def test_answers_come_a_pass_at_a_time_and_add_up(tiny_models: dict[str, Path]) -> None:
    """Every distinct unit is answered once, the unscored ones included, and what is done is left out."""
    units = {Unit(text) for text in [*TEXTS, ""]}
    model = masked.load(str(tiny_models["bert"]), batch_tokens=40)
    answers = [answer for part in get("pll").score(model, units, ()) for answer in part]
    assert sorted(unit for unit, _ in answers) == sorted(units)
    rest = [answer for part in get("pll").score(model, units, [unit for unit, _ in answers[:4]]) for answer in part]
    assert repr(dict(rest)) == repr(dict(answers[4:]))


def test_no_texts_give_no_scores(tiny_models: dict[str, Path]) -> None:
    """An empty list of texts gives an empty array."""
    assert numbers("aul", masked.load(str(tiny_models["bert"])), []).shape == (0,)


def test_unknown_scorer_is_refused_with_the_known_ones() -> None:
    """An unknown scorer is refused in one clause that lists the known ones."""
    with pytest.raises(SenseprobeError, match=r"unknown scorer crows: there is aul, aula, .*pll, .*cps"):
        get("crows")


# Identity


def test_identity_does_not_depend_on_files(bert: Path, tmp_path: Path) -> None:
    """The same weights in other files, from another folder, are the same model."""
    transformers.AutoModelForMaskedLM.from_pretrained(bert).save_pretrained(tmp_path / "sharded", max_shard_size="20KB")
    transformers.AutoTokenizer.from_pretrained(bert).save_pretrained(tmp_path / "sharded")
    assert len(list((tmp_path / "sharded").glob("*.safetensors"))) > 1
    assert masked.load(str(tmp_path / "sharded")).identity == masked.load(str(bert)).identity


def test_identity_tells_what_scores_depend_on(bert: Path) -> None:
    """One changed weight, one changed setting, one changed token or another number format is another model."""
    before = masked.load(str(bert)).identity
    model = masked.load(str(bert), dtype="bfloat16")
    assert {key for key in before if before[key] != model.identity[key]} == {"weights", "dtype"}
    changed = transformers.AutoModelForMaskedLM.from_pretrained(bert)
    with torch.no_grad():
        changed.get_output_embeddings().bias[7] += 1
    changed.save_pretrained(bert)
    assert {key for key, value in masked.load(str(bert)).identity.items() if value != before[key]} == {"weights"}
    _edit(bert / "config.json", layer_norm_eps=0.1)
    assert {key for key, value in masked.load(str(bert)).identity.items() if value != before[key]} == {
        "weights",
        "config",
    }
    state = json.loads((bert / "tokenizer.json").read_text())
    state["normalizer"]["lowercase"] = False
    (bert / "tokenizer.json").write_text(json.dumps(state))
    _edit(bert / "tokenizer_config.json", do_lower_case=False)
    assert masked.load(str(bert)).identity["tokenizer"] != before["tokenizer"]


def test_identity_tells_how_names_of_special_tokens_are_read(bert: Path) -> None:
    """A setting outside tokenizer.json makes [SEP] in a text a token or five; where padding goes makes nothing."""
    before = masked.load(str(bert))
    _edit(bert / "tokenizer_config.json", padding_side="left", truncation_side="left")
    assert masked.load(str(bert)).identity == before.identity
    _edit(bert / "tokenizer_config.json", split_special_tokens=True)
    after = masked.load(str(bert))
    assert after.encode(["[SEP]"]) != before.encode(["[SEP]"])
    assert {key for key, value in after.identity.items() if value != before.identity[key]} == {"tokenizer"}


# Refusals


def _edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _refused(spec: object, match: str) -> None:
    with pytest.raises(ModelError, match=match) as caught:
        masked.load(str(spec))
    assert "\n" not in str(caught.value)


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    """A path that is not there is refused without asking the Hub."""
    _refused(tmp_path / "nothing", "there is no such folder")


def test_empty_folder_is_refused(tmp_path: Path) -> None:
    """A folder without a config.json is refused."""
    _refused(tmp_path, r"no config\.json")


def test_broken_config_is_refused(bert: Path) -> None:
    """A config.json that is cut off is refused."""
    (bert / "config.json").write_text('{"model_type": ')
    _refused(bert, r"config\.json is not valid JSON")


def test_folder_without_weights_is_refused(bert: Path) -> None:
    """A folder with a config.json and no weights is refused."""
    (bert / "model.safetensors").unlink()
    _refused(bert, "no weights")


def test_truncated_weights_are_refused(bert: Path) -> None:
    """A safetensors file that is cut off is refused."""
    weights = bert / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    _refused(bert, "weights are damaged")


def test_pickled_weights_are_refused_unless_allowed(bert: Path) -> None:
    """Weights that are a pickle are read only where that is asked for."""
    expected = numbers("aul", masked.load(str(bert)), TEXTS)
    torch.save(transformers.AutoModelForMaskedLM.from_pretrained(bert).state_dict(), bert / "pytorch_model.bin")
    (bert / "model.safetensors").unlink()
    _refused(bert, r"pytorch_model\.bin.* are a pickle.*--allow-pickle")
    np.testing.assert_array_equal(numbers("aul", masked.load(str(bert), allow_pickle=True), TEXTS), expected)


def test_causal_model_is_refused(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """A causal language model is refused."""
    from transformers import GPT2Config, GPT2LMHeadModel

    GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=32, n_layer=1, n_head=2)).save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(tiny_models["roberta"]).save_pretrained(tmp_path)
    _refused(tmp_path, r"architecture \(gpt2\) does not have this kind of head")


def test_decoder_of_a_masked_architecture_is_refused(bert: Path) -> None:
    """A BERT that was trained from left to right loads as a masked model without a word from transformers."""
    _edit(bert / "config.json", is_decoder=True, architectures=["BertLMHeadModel"])
    _refused(bert, "from left to right")


def test_encoder_without_head_is_refused(bert: Path) -> None:
    """An encoder whose masked-language-modelling head would be random is refused."""
    from transformers import BertModel

    BertModel.from_pretrained(bert).save_pretrained(bert)
    _refused(bert, r"lacks cls\.predictions.*random")


def test_remote_code_is_refused_and_does_not_run(bert: Path) -> None:
    """A config that wants code of its own is refused, and the code does not run."""
    trace = bert / "it-ran"
    (bert / "own.py").write_text(f"import pathlib\npathlib.Path({str(trace)!r}).touch()\n")
    _edit(bert / "config.json", model_type="own", auto_map={"AutoConfig": "own.C", "AutoModelForMaskedLM": "own.M"})
    _refused(bert, "code of its own")
    assert not trace.exists()


def test_unknown_architecture_is_refused(bert: Path) -> None:
    """An architecture that transformers does not know is refused."""
    _edit(bert / "config.json", model_type="own")
    _refused(bert, "does not know its architecture")


def test_model_without_mask_token_is_refused(bert: Path) -> None:
    """A tokenizer without a mask token is refused."""
    from transformers import PreTrainedTokenizerFast

    raw = transformers.AutoTokenizer.from_pretrained(bert).backend_tokenizer
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (bert / name).unlink()
    PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="[UNK]").save_pretrained(bert)  # noqa: S106
    _refused(bert, "does not have a mask token")


def test_missing_tokenizer_is_refused(bert: Path) -> None:
    """A folder without a tokenizer is refused, though transformers makes up one that knows no word."""
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (bert / name).unlink()
    _refused(bert, "does not have a readable tokenizer")


def test_tokenizer_of_a_larger_model_is_refused(bert: Path, tiny_models: dict[str, Path]) -> None:
    """A tokenizer with ids that the model has no row for is refused."""
    shutil.copy(tiny_models["roberta"] / "tokenizer.json", bert)
    _edit(bert / "tokenizer_config.json", tokenizer_class="RobertaTokenizer", mask_token="<mask>", unk_token="<unk>")  # noqa: S106
    _refused(bert, "tokens")


def test_unreachable_hub_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Hub name that is not in the cache is refused where the Hub cannot be asked."""
    monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", True)
    _refused("nobody/no-such-model", "cannot load the model nobody/no-such-model: .*not in its cache")


def test_impossible_name_is_refused() -> None:
    """A name that the Hub could not have is refused."""
    _refused("a/b/c", "no such folder")


def test_messages_hold_no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account's token in a message of the Hub client is not passed on."""

    def fail(*_: object, **__: object) -> None:
        raise OSError("401 for https://user:hf_abcDEF123@huggingface.co\nsecond line")

    monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", True)  # else the Hub is asked which commit that is
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", fail)
    with pytest.raises(ModelError) as caught:
        masked.load("nobody/no-such-model")
    assert "abcDEF123" not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"dtype": "int8"}, {"device": "abacus"}, {"device": "cuda:99"}])
def test_unknown_device_and_number_format_are_refused(wrong: dict[str, Any], bert: Path) -> None:
    """A device that is not there, or a number format that is not known, is refused."""
    with pytest.raises(ModelError, match=next(iter(wrong.values()))):
        masked.load(str(bert), **wrong)


def test_loading_is_silent_and_leaves_no_trace(bert: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Loading prints nothing, and transformers is as talkative afterwards as before."""
    transformers_logging.set_verbosity_info()
    transformers_logging.enable_progress_bar()
    environment = dict(os.environ)
    try:
        capfd.readouterr()
        masked.load(str(bert))
        assert capfd.readouterr() == ("", "")
        assert transformers_logging.get_verbosity() == transformers_logging.INFO
        assert transformers_logging.is_progress_bar_enabled()
        assert dict(os.environ) == environment
    finally:
        transformers_logging.set_verbosity_warning()
