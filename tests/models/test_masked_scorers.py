"""Every scorer on masked language models: committed vectors, numbers by hand, and what must not change a number."""

import difflib
import json
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.conformance import masked_models, naive_masked
from tests.models.all_scorers import numbers_by_scorer
from tests.models.later import checkpoint, layers, masked, odd_models, torch, transformers
from tests.profiles import examples

from senseprobe.errors import ModelError
from senseprobe.evaluate.scorers import SCORERS, get
from senseprobe.evaluate.scorers.masked_queries import inside, rest_of_word, shared_tokens
from senseprobe.evaluate.units import Unit

VECTORS = json.loads(naive_masked.VECTORS.read_text(encoding="utf-8"))
UNITS = [Unit(**case) for case in VECTORS["cases"]]
NAMES = [name for name, scorer in SCORERS.items() if scorer.ability == "masked"]
MODELS = [*masked_models.MODELS]

# How far a number may be from the vectors, which are float64's, for each of max(1, |number|).
TOLERANCES = {"float64": 1e-6, "float32": 1e-5, "float16": 0.1, "bfloat16": 0.3}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The models of the conformance suite, by name."""
    torch.set_num_threads(1)
    return masked_models.build(tmp_path_factory.mktemp("conformance"))


@pytest.fixture(scope="session")
def loaded(folders: dict[str, Path]) -> "dict[str, masked.MaskedLM]":
    """The same in float32, with passes of at most 60 tokens."""
    return {name: masked.load(str(folder), batch_tokens=60) for name, folder in folders.items()}


def numbers(name: str, model: "masked.MaskedLM", units: Sequence[Unit]) -> NDArray[np.float64]:
    return get(name).numbers(model, units)[:, 0]


def vector(model: str, name: str) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in VECTORS["values"][model][name]])


def _rounding(name: str) -> float:
    """How far apart two numbers may be that were next to each other before they were rounded."""
    return 0.001 if name == "cps-rounded" else 0.0


# Conformance


def test_the_vectors_are_of_every_scorer_and_model() -> None:
    """The committed file has a number, or none, for each case, scorer and model that there is."""
    assert sorted(NAMES) == sorted(naive_masked.NAMES)
    assert [*VECTORS["values"]] == MODELS
    assert {len(values) for model in VECTORS["values"].values() for values in model.values()} == {len(UNITS)}
    assert [tuple(case.values()) for case in VECTORS["cases"]] == naive_masked.CASES


@pytest.mark.parametrize("model", MODELS)
def test_the_naive_implementation_gives_the_vectors(model: str, folders: dict[str, Path]) -> None:
    """The second implementation, which shares no code with senseprobe, gives the committed numbers."""
    found = naive_masked.all_vectors({model: folders[model]})[model]
    for name in NAMES:
        assert [value is None for value in found[name]] == [value is None for value in VECTORS["values"][model][name]]
        values = [math.nan if value is None else value for value in found[name]]
        np.testing.assert_allclose(values, vector(model, name), rtol=0, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("model", MODELS)
def test_scorers_give_the_vectors(model: str, dtype: str, folders: dict[str, Path]) -> None:
    """Each scorer gives the committed numbers: to 1e-6 in float64, to what a number format can hold in the others."""
    scored = masked.load(str(folders[model]), dtype=dtype)
    for name, found in numbers_by_scorer(NAMES, scored, UNITS).items():
        expected = vector(model, name)
        terms = 2 if name == "log-odds" else 1  # the difference of two numbers, each of which may be as far off
        bound = terms * TOLERANCES[dtype] * np.maximum(1, np.abs(expected))
        assert np.isnan(found).tolist() == np.isnan(expected).tolist(), name
        assert np.nanmax(np.abs(found - expected) - bound) <= _rounding(name) * (dtype != "float64"), name


def test_what_cannot_be_scored_is_unscored() -> None:
    """By hand: texts of no token or too many everywhere; pairs where nothing differs or is shared in some scorers."""
    unscored = {name: {i for i, value in enumerate(vector("bert", name)) if np.isnan(value)} for name in NAMES}
    texts = [unit.text for unit in UNITS]
    nothing, long = texts.index(""), max(range(len(texts)), key=lambda i: len(texts[i]))
    assert unscored["aul"] == unscored["pll"] == unscored["aula"] == unscored["pll-word-l2r"] == {nothing, long}
    apart = texts.index("kind")  # beside "people are"
    assert UNITS[apart].beside == "people are"
    assert unscored["cps"] == {nothing, long, apart}
    same = {i for i, unit in enumerate(UNITS) if unit.text.strip() == unit.beside}
    shorter = texts.index("people are kind")  # beside "people are kind and clever": all of it is shared
    assert unscored["sss"] == unscored["sss-prob"] == {nothing, long, shorter, *same}
    itself = texts.index("he is a nurse.")  # the target is what differs
    untold = texts.index("people are kind and clever")  # no target
    assert unscored["log-odds"] == {nothing, long, shorter, *same, apart, itself, untold}


def test_why_there_is_no_number(loaded: "dict[str, masked.MaskedLM]") -> None:
    """Each unit that is unscored has its reason: of the text first, then of the pair, then of the number."""
    texts = [unit.text for unit in UNITS]
    nothing, apart = Unit("", "kind"), UNITS[texts.index("kind")]
    long, shorter = max(UNITS, key=lambda unit: len(unit.text)), UNITS[texts.index("people are kind")]
    for name in NAMES:
        reasons = why(name, loaded["bert"], [nothing, long, Unit("he is kind", "she is kind")])
        assert reasons[:2] == ["no token to score", "too long for the model"], name
        # A word that both share and one that differs are there, but no target: else it is the number that is not.
        assert reasons[2] == ("no target, or no other token differs" if name == "log-odds" else "no finite number")
    assert why("cps", loaded["bert"], [apart]) == why("cps-rounded", loaded["bert"], [apart]) == ["no shared token"]
    assert why("sss", loaded["bert"], [shorter]) == why("sss-prob", loaded["bert"], [shorter]) == ["no token differs"]


def why(name: str, model: "masked.MaskedLM", units: Sequence[Unit]) -> list[str]:
    """What a scorer says of units without a number."""
    said = get(name).why
    assert said is not None
    return [*said(model, units)]


@pytest.mark.parametrize("name", NAMES)
def test_numbers_lie_in_the_declared_range(name: str) -> None:
    """Every number of every model lies in the range that the scorer declares."""
    low, high = get(name).range
    values = np.concatenate([vector(model, name) for model in MODELS])
    assert low <= np.nanmin(values) < np.nanmax(values) <= high


@pytest.mark.parametrize("name", NAMES)
def test_declarations_say_what_there_is_to_know(name: str) -> None:
    """Each scorer says where it is from, what it computes and what must not be read from it, in whole sentences."""
    scorer = get(name)
    assert scorer.id == name
    for text in (scorer.says, scorer.cannot_say):
        assert text[0].isupper() or text.startswith(tuple(NAMES))
        assert text.endswith(".")
    for text in (scorer.title, scorer.unit, scorer.direction, scorer.source, scorer.equation):
        assert text
        assert not text.endswith(".")
    assert scorer.direction.startswith("higher: ")


def test_listing_scorers_loads_no_model_library() -> None:
    """The catalogue can be listed without torch."""
    program = "import sys, senseprobe.evaluate.scorers; print('torch' in sys.modules, 'transformers' in sys.modules)"
    ran = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]


# What must not change a number


class Case(SimpleNamespace):
    """Some units, in some order and with some repeated, for one model and scorer."""


CASES = st.builds(
    Case,
    model=st.sampled_from(MODELS),
    name=st.sampled_from(NAMES),
    picks=st.lists(st.integers(0, len(UNITS) - 1), min_size=1, max_size=12),
)


@settings(max_examples=examples(40), derandomize=True)
@given(case=CASES, random=st.randoms(use_true_random=False))
def test_order_and_duplicates_change_no_bit(case: Case, random: Random, loaded: "dict[str, masked.MaskedLM]") -> None:
    """Shuffling rows and repeating them changes no bit of a number."""
    model = loaded[case.model]
    once = dict(zip(case.picks, numbers(case.name, model, [UNITS[i] for i in case.picks]).tolist(), strict=True))
    again = [*case.picks, *case.picks]
    random.shuffle(again)
    found = numbers(case.name, model, [UNITS[i] for i in again]).tolist()
    assert repr(found) == repr([once[i] for i in again])


@settings(max_examples=examples(40), derandomize=True)
@given(case=CASES, tokens=st.integers(1, 2000), threads=st.sampled_from([1, 2]))
def test_batch_size_company_and_threads_do_not_matter(
    case: Case, tokens: int, threads: int, loaded: "dict[str, masked.MaskedLM]"
) -> None:
    """Tokens per pass, the other rows and the number of threads change a number by less than 1e-5 of it."""
    shared = loaded[case.model]
    model = masked.MaskedLM("again", shared._model, shared._tokenizer, batch_tokens=tokens)
    torch.set_num_threads(threads)
    try:
        found = numbers(case.name, model, [UNITS[i] for i in case.picks])
    finally:
        torch.set_num_threads(1)
    expected = vector(case.model, case.name)[case.picks]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 + _rounding(case.name), equal_nan=True)


# Numbers by hand


def _tokenizer(folders: dict[str, Path], name: str = "bert") -> "checkpoint.Pretrained":
    return transformers.AutoTokenizer.from_pretrained(folders[name])


def test_pairs_by_hand(folders: dict[str, Path]) -> None:
    """Own tokens count at their own places, each in company of the masks that the definition asks for."""
    tokenizer = _tokenizer(folders)
    text, beside = "the talented engineer is uppish.", "the talented engineer is kind."
    tokens = ["[CLS]", "the", "talent", "##ed", "engineer", "is", "upp", "##ish", ".", "[SEP]"]
    truth = tokenizer.convert_tokens_to_ids(tokens)
    assert tokenizer(text)["input_ids"] == truth
    model = masked.MaskedLM(
        "knowing", odd_models.Knowing(truth, len(tokenizer), tokenizer.mask_token_id), tokenizer, batch_tokens=64
    )
    unit = Unit(text, beside, text.index("talented"), text.index("talented") + len("talented"))
    by_hand = {
        "cps": 6 * math.log(1 / 2),  # the, talent, ##ed, engineer, is, the full stop: one mask each
        "cps-rounded": -4.159,  # 6 · 0.693147… = 4.158883…
        "sss": math.log(1 / 4),  # upp and ##ish, both masked; at each other's place they have next to nothing
        "sss-prob": 1 / 4,
        # talent and ##ed, two masks; four with upp and ##ish
        "log-odds": 2 * math.log(1 / 4) - 2 * math.log(1 / 16),
        "pll": 8 * math.log(1 / 2),
        # talent with ##ed and upp with ##ish: two masks; all others one
        "pll-word-l2r": 6 * math.log(1 / 2) + 2 * math.log(1 / 4),
        "aul": math.log(1 / 2),
    }
    for name, value in by_hand.items():
        assert numbers(name, model, [unit])[0] == pytest.approx(value, abs=1e-6), name


def test_probabilities_and_their_logarithms_can_disagree(folders: dict[str, Path]) -> None:
    """By hand: (1/2, 1/32) has the higher mean, (1/4, 1/4) the higher mean of logarithms."""
    assert np.mean([1 / 2, 1 / 32]) > np.mean([1 / 4, 1 / 4])
    assert np.mean(np.log([1 / 2, 1 / 32])) < np.mean(np.log([1 / 4, 1 / 4]))
    summaries = {name: _summary(name) for name in ("sss", "sss-prob")}
    one, other = [np.log([1 / 2, 1 / 32])], [np.log([1 / 4, 1 / 4])]
    assert summaries["sss"](one) < summaries["sss"](other)
    assert summaries["sss-prob"](one) > summaries["sss-prob"](other)


def _summary(name: str) -> Callable[[list[NDArray[np.float64]]], float]:
    from senseprobe.evaluate.scorers.masked import _means

    combine: Any = get(name).combine
    assert combine is not None
    return lambda values: combine(*_means(values))


@pytest.mark.parametrize("family", ["bert", "bert-bare", "roberta", "albert"])
def test_uniform_attention_by_hand(family: str, folders: dict[str, Path]) -> None:
    """Where all attend to all alike, aula is aul over the number of all tokens, and renormalised it is aul."""
    model = masked.load(str(folders[family]), dtype="float64")
    with torch.no_grad():
        for name, parameter in model._model.named_parameters():
            if "query" in name:
                parameter.zero_()
    texts = ["kind", "people are kind.", "people are kind and clever and good."]
    units = [Unit(text) for text in texts]
    lengths = [len(encoding.ids) for encoding in model.encode(texts)]
    aul = numbers("aul", model, units)
    np.testing.assert_allclose(numbers("aula", model, units), aul / lengths, atol=1e-6)
    np.testing.assert_allclose(numbers("aula-renormalised", model, units), aul, atol=1e-6)


# Which tokens


def _encoded(*ids: int, special: Sequence[int] = ()) -> "masked.Encoding":
    flags = tuple(place in special for place in range(len(ids)))
    return masked.Encoding(ids, None, flags, tuple((place, place + 1) for place in range(len(ids))))


def test_tokens_of_a_word(loaded: "dict[str, masked.MaskedLM]") -> None:
    """By hand: pieces of a word go together, punctuation stands alone, white space goes with what follows."""
    model = loaded["bert"]
    text = "uppish naïve don't [SEP]"
    encoding = model.encode([text])[0]
    tokens = model._tokenizer.convert_ids_to_tokens(encoding.ids)
    rests = ["+".join(tokens[place] for place in places) for places in rest_of_word(text, encoding)]
    assert rests == [
        *("upp+##ish", "##ish"),
        *("na+##ï+##v+##e", "##ï+##v+##e", "##v+##e", "##e"),
        *("don", "'", "t", "["),
        *("s+##e+##p", "##e+##p", "##p"),
        "]",
    ]
    model = loaded["roberta"]
    text = " uppish 👩."
    encoding = model.encode([text])[0]
    tokens = model._tokenizer.convert_ids_to_tokens(encoding.ids)
    found = [[tokens[place] for place in places] for places in rest_of_word(text, encoding)]
    assert found[:3] == [["Ġupp", "i", "sh"], ["i", "sh"], ["sh"]]
    woman = ["Ġ", "ð", "Ł", "ĳ", "©"]  # four bytes of one character, after the space that goes with it
    assert found[3:] == [*(woman[k:] for k in range(5)), ["."]]


def test_tokens_inside_a_span(loaded: "dict[str, masked.MaskedLM]") -> None:
    """Tokens that have a character of the span: all pieces of a word, and no space before it."""
    found = {}
    for name in ("bert", "roberta", "albert"):
        text = "  the talented 👩 is kind"
        encoding = loaded[name].encode([text])[0]
        tokens = loaded[name]._tokenizer.convert_ids_to_tokens(encoding.ids)
        found[name] = [[tokens[place] for place in inside(encoding, a, b)] for a, b in ((6, 14), (15, 16), (-1, -1))]
    assert found["bert"] == [["talent", "##ed"], ["[UNK]"], []]
    assert found["roberta"] == [["Ġtal", "en", "t", "ed"], ["ð", "Ł", "ĳ", "©"], []]
    assert found["albert"] == [["▁talent", "ed"], ["<unk>"], []]


def test_shared_tokens_by_hand() -> None:
    """Special tokens are left out by mask, wherever they stand; without any, no word is."""
    one, other = _encoded(1, 7, 8, 5, 2, special=(0, 4)), _encoded(1, 7, 9, 9, 5, 2, special=(0, 5))
    assert shared_tokens(one, other) == ((1, 3), (2,))
    assert shared_tokens(other, one) == ((1, 4), (2, 3))
    assert shared_tokens(_encoded(7, 8, 5), _encoded(7, 9, 5)) == ((0, 2), (1,))
    assert shared_tokens(_encoded(1, 7, 1, 5, special=(0, 2)), _encoded(7, 6, special=())) == ((1,), (3,))
    assert shared_tokens(_encoded(7), _encoded(8)) == ((), (0,))


TOKENS = st.lists(st.integers(3, 6), max_size=12)


@settings(derandomize=True)
@given(first=TOKENS, second=TOKENS, around=st.sampled_from([(0, 0), (1, 0), (1, 1), (2, 1)]))
def test_both_members_of_a_pair_share_the_same_tokens(
    first: list[int], second: list[int], around: tuple[int, int]
) -> None:
    """Whichever is asked, the two of a pair have the same tokens in common, in the same order, and no special one.

    That is so whether the order of the pair is given or not.
    """
    before, after = around

    def encoded(own: list[int]) -> "masked.Encoding":
        ids = [1] * before + own + [2] * after
        return _encoded(*ids, special=[*range(before), *range(before + len(own), len(ids))])

    a, b = encoded(first), encoded(second)
    for second_a, second_b in ((None, None), (False, True), (True, False)):
        shared_a, changed_a = shared_tokens(a, b, second=second_a)
        shared_b, changed_b = shared_tokens(b, a, second=second_b)
        assert [a.ids[place] for place in shared_a] == [b.ids[place] for place in shared_b]
        assert sorted(shared_a + changed_a) == [*a.positions]
        assert sorted(shared_b + changed_b) == [*b.positions]
        if first == second:
            assert changed_a == ()


# What released code computes


def _log_p(folder: Path, ids: Sequence[int]) -> "torch.Tensor":
    """Log-probabilities of a whole row of input, shape (positions, vocabulary), in float64."""
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).double().eval()
    with torch.no_grad():
        return torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0], dim=-1)


def _crows_pairs(folder: Path, first: str, second: str) -> tuple[float, float]:
    """What nyu-mll/crows-pairs computes: the first and the last match are skipped, whatever they are."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer(text)["input_ids"] for text in (first, second)]
    matched: tuple[list[int], list[int]] = ([], [])
    for name, a, b, c, d in difflib.SequenceMatcher(None, *ids).get_opcodes():
        if name == "equal":
            matched[0].extend(range(a, b))
            matched[1].extend(range(c, d))
    totals = []
    for places, row in zip(matched, ids, strict=True):
        terms = []
        for place in places[1:-1]:
            masked = [*row]
            masked[place] = tokenizer.mask_token_id
            terms.append(_log_p(folder, masked)[place, row[place]].item())
        totals.append(round(math.fsum(terms), 3))
    return totals[0], totals[1]


MINIMAL = [
    ("Japanese people are unkind.", "Japanese people are kind."),
    ("the talented engineer is uppish.", "the talented engineer is good looking."),
    ("she is a nurse.", "he is a nurse."),
]


# Of these difflib matches other tokens, or as many others, when the two are turned around.
TURNABLE = [
    ("kind people are kind people and kind", "people are kind and kind people are"),
    ("people are kind and kind people are", "kind people are kind people and kind"),
    ("kind and cruel and kind", "cruel and kind and cruel"),
    ("cruel and kind and cruel", "kind and cruel and kind"),
]


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("pair", [*MINIMAL, *TURNABLE])
def test_crows_pairs_as_released(pair: tuple[str, str], family: str, folders: dict[str, Path]) -> None:
    """Where a tokenizer puts one special token at either end, cps-rounded is what the released code gives.

    Expected: `_crows_pairs`, that code's loop, to which the first of `pair` is `sent1`.
    """
    model = masked.load(str(folders[family]), dtype="float64")
    units = [Unit(pair[0], pair[1]), Unit(pair[1], pair[0], second=True)]
    assert numbers("cps-rounded", model, units).tolist() == [*_crows_pairs(folders[family], *pair)]


def test_crows_pairs_as_released_loses_words_of_models_without_special_tokens(folders: dict[str, Path]) -> None:
    """Where a tokenizer adds none, the released code leaves out the first and the last shared word; cps does not."""
    folder = folders["bert-bare"]
    text, beside = MINIMAL[2]
    ids = transformers.AutoTokenizer.from_pretrained(folder)(text)["input_ids"]
    by_hand = []  # is, a, nurse and the full stop: all but "she"
    for place in range(1, 5):
        row = [*ids]
        row[place] = 4  # the mask
        by_hand.append(_log_p(folder, row)[place, ids[place]].item())
    model = masked.load(str(folder), dtype="float64")
    assert numbers("cps", model, [Unit(text, beside)])[0] == pytest.approx(math.fsum(by_hand), abs=1e-9)
    assert _crows_pairs(folder, text, beside)[0] == round(math.fsum(by_hand[1:-1]), 3)


def test_sss_is_the_released_number_for_single_tokens_only(folders: dict[str, Path]) -> None:
    """Kaneko and Bollegala's code averages each token at each place: that is sss where a single token differs."""
    folder = folders["bert"]
    model = masked.load(str(folder), dtype="float64")
    for text, beside, alike in (*MINIMAL[2], True), (*MINIMAL[1], False):
        encoding, other = model.encode([text, beside])
        _, changed = shared_tokens(encoding, other)
        row = [model.mask_id if place in changed else token for place, token in enumerate(encoding.ids)]
        block = _log_p(folder, row)[list(changed)][:, [encoding.ids[place] for place in changed]]
        found = numbers("sss", model, [Unit(text, beside)])[0]
        assert found == pytest.approx(block.diagonal().mean().item(), abs=1e-9)
        assert math.isclose(found, block.mean().item(), abs_tol=1e-9) == alike


# Attention


@pytest.mark.parametrize("name", ["aula", "aula-renormalised"])
def test_models_that_do_not_show_attention_are_refused(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    """A model without attention weights, or with weights of a window only, is refused in one clause."""
    tokenizer = _tokenizer(folders)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.LongformerConfig(
        vocab_size=len(tokenizer), attention_window=4, max_position_embeddings=64, **sizes
    )
    windowed = masked.MaskedLM(
        "windowed", transformers.LongformerForMaskedLM(config).eval(), tokenizer, batch_tokens=64
    )
    without = masked.MaskedLM("without", odd_models.Knowing(range(64), len(tokenizer), 4), tokenizer, batch_tokens=64)
    for model in (windowed, without):
        assert np.isfinite(numbers("aul", model, [Unit("people are kind.")])).all()
        with pytest.raises(ModelError, match=rf"^the model {model.name} does not return .*attention"):
            numbers(name, model, [Unit("people are kind.")])


@pytest.mark.parametrize("family", MODELS)
def test_attention_leaves_the_model_as_it_was(family: str, loaded: "dict[str, masked.MaskedLM]") -> None:
    """After aula the model has the attention that it had, no hook more, and gives the same bits."""
    model = loaded[family]
    before = (numbers("pll", model, UNITS).tolist(), model._model.config._attn_implementation, _hooks(model))
    numbers("aula", model, UNITS)
    after = (numbers("pll", model, UNITS).tolist(), model._model.config._attn_implementation, _hooks(model))
    # transformers installs hooks of its own, for good, when weights are first asked for; none of them is ours.
    assert repr(after[:2]) == repr(before[:2])
    assert {hook for hook in after[2] - before[2] if "senseprobe" in hook} == set()


def _hooks(model: "masked.MaskedLM") -> set[str]:
    modules = model._model.modules()
    return {hook.__module__ for module in modules for hook in module._forward_hooks.values()}


@pytest.mark.parametrize("family", MODELS)
def test_weights_of_all_layers_are_never_held_at_once(family: str, loaded: "dict[str, masked.MaskedLM]") -> None:
    """Each layer's weights, texts by heads by length by length, become texts by length as soon as the layer is done."""
    model = loaded[family]._model
    ids = torch.arange(5, 25)[None].repeat(2, 1)
    with torch.inference_mode(), masked.observed("it", model, (2, 20)):
        attentions = model(input_ids=ids, output_attentions=True).attentions
    assert [tuple(layer.shape) for layer in attentions] == [(2, 20)] * 3
    for layer in attentions:
        torch.testing.assert_close(layer.sum(1), torch.ones(2))


# Memory


@pytest.mark.parametrize("family", MODELS)
def test_pairs_ask_the_head_for_what_they_need_alone(family: str, folders: dict[str, Path]) -> None:
    """The head sees a row per distinct input and position, and rows that several pairs ask for are computed once."""
    model = masked.load(str(folders[family]), batch_tokens=100_000)
    rows: list[int] = []
    model._model.get_output_embeddings().register_forward_hook(
        lambda _, inputs, output: rows.append(output.numel() // output.shape[-1])
    )
    ends = ["kind", "cruel", "clever", "good"]
    units = [Unit(f"people are {a}.", f"people are {b}.", 0, 6) for a in ends for b in ends if a != b]
    assert {len(encoding.ids) for encoding in model.encode([unit.text for unit in units])} == {
        len(model.encode(["people are kind."])[0].ids)
    }
    # One input with the last word masked; two with people masked beside each word, one with both masked.
    for name, asked in (("sss", 1), ("log-odds", 4 + 1), ("cps", 4 * 3)):
        rows.clear()
        numbers(name, model, units)
        assert sum(rows) == asked, name


def test_a_long_sentence_stays_within_the_budget(folders: dict[str, Path]) -> None:
    """512 tokens under pll: never more than 1,024 tokens in a pass, nor more logits than rows of it."""
    from transformers import BertConfig, BertForMaskedLM

    tokenizer = _tokenizer(folders)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=512, **sizes)
    model = masked.MaskedLM("long", BertForMaskedLM(config).eval(), tokenizer, batch_tokens=1024)
    passes: list[tuple[int, int]] = []
    logits: list[int] = []
    model._model.register_forward_pre_hook(
        lambda _, args, more: passes.append(tuple(more["input_ids"].shape)), with_kwargs=True
    )
    model._model.get_output_embeddings().register_forward_hook(
        lambda _, inputs, output: logits.append(output.numel() // output.shape[-1])
    )
    units = [Unit("kind " * 510), Unit("kind " * 511)]
    # Words that are the same everywhere but at their places: 510 inputs, of two to a pass. 513 tokens are too many.
    assert np.isfinite(numbers("pll", model, units)).tolist() == [True, False]
    assert passes == [(2, 512)] * 255
    assert logits == [2] * 255


@pytest.mark.parametrize("name", NAMES)
def test_where_memory_does_not_suffice_the_budget_is_halved(name: str, loaded: "dict[str, masked.MaskedLM]") -> None:
    """On a machine with little memory the same numbers come out, in smaller passes."""
    plenty = loaded["bert"]
    model = masked.MaskedLM("starving", odd_models.Starving(plenty._model, 14), plenty._tokenizer, batch_tokens=4000)
    ends, starts = ("kind", "cruel", "clever"), ("people", "engineer", "nurse", "friend")
    pairs = [(f"{start} are {a}.", f"{start} are {b}.") for start in starts for a in ends for b in ends if a != b]
    units = [Unit(*pair, 0, pair[0].index(" ")) for pair in pairs]
    # float32: other passes change a number by less than 1e-5.
    expected = numbers(name, plenty, units)
    np.testing.assert_allclose(numbers(name, model, units), expected, rtol=1e-5, atol=1e-5 + _rounding(name))
    assert model.budget.tokens <= 14
    assert plenty._model.config._attn_implementation != "eager"


@pytest.mark.parametrize("name", NAMES)
def test_a_text_that_no_memory_suffices_for_is_refused(name: str, loaded: "dict[str, masked.MaskedLM]") -> None:
    """Where memory does not suffice for one row, the error says for how many tokens."""
    plenty = loaded["bert"]
    model = masked.MaskedLM("starving", odd_models.Starving(plenty._model, 6), plenty._tokenizer, batch_tokens=4000)
    with pytest.raises(ModelError, match="not enough memory for one text of 7 tokens"):
        numbers(name, model, [UNITS[1]])


# The head


@pytest.mark.parametrize(("kind", "seen"), [("mixing", 12), ("linear", 2)])
def test_heads_are_asked_for_rows_only_where_that_gives_the_same(kind: str, seen: int) -> None:
    """A head that needs all positions gets them; one that takes each for itself gets those that are asked for."""
    torch.manual_seed(1)
    head = odd_models.Mixing(8, 20) if kind == "mixing" else torch.nn.Linear(8, 20)
    model = odd_models.WithHead(head)
    wrapped = layers.Head("it", model)
    rows: list[int] = []
    head.register_forward_hook(lambda _, inputs, output: rows.append(output.shape[0] * output.shape[1]))
    ids = torch.arange(12).reshape(3, 4)
    logits, output = wrapped.run({"input_ids": ids}, torch.tensor([1, 6]))
    assert rows == [seen]
    whole = model(ids).logits.flatten(0, 1)
    torch.testing.assert_close(logits, whole[[1, 6]])
    assert output.logits.shape[-1] == 20
