"""Probabilities of inference: against one pair at a time in float64, with classes told by name; what is refused."""

import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.models.later import nli, torch, transformers

from senseprobe.errors import ModelError
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

Array = NDArray[np.float64]

PAIRS = [
    ("Japanese people are kind.", "She is a talented engineer."),
    ("Japanese people are kind.", "Japanese people are kind."),
    ("Chinese people are kind.", "Norwegian people are easy to understand."),
    ("She is a talented engineer.", "Japanese people are kind."),
    ("Kind.", "nice"),
    ("Ж people are 日本.", "English people are [SEP] kind."),
    ("Arabic people are 'good looking', uppish, and (surprisingly) arrogant!", "The black dress is beautiful."),
]
UNITS = [Unit(*pair) for pair in PAIRS]
CLASSES = ("entailment", "neutral", "contradiction")
# The names in each order, spelt as checkpoints on the Hub spell them.
NAMED = {
    "bert": ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"),
    "roberta": ("contradiction", "entailment", "neutral"),
    "deberta": ("Entails", "contradict", "Neutral"),
}
MEANT = {
    "bert": ("contradiction", "neutral", "entailment"),
    "roberta": ("contradiction", "entailment", "neutral"),
    "deberta": ("entailment", "contradiction", "neutral"),
}
FAMILIES = tuple(NAMED)
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def make(
    folder: Path, tokens: Path, kind: type, config: "transformers.PretrainedConfig", labels: Sequence[str]
) -> Path:
    """Save a random model with classes so called, and the tokenizer of `tokens`."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(tokens)
    config.update({"vocab_size": len(tokenizer), "id2label": dict(enumerate(labels))})
    config.update({"label2id": {label: i for i, label in enumerate(labels)}})
    with torch.random.fork_rng():
        torch.manual_seed(20200207)
        model = kind(config)
        for name, parameter in model.named_parameters():  # far wider than usual: every token makes a difference
            if parameter.ndim > 1 or name.endswith("bias"):
                torch.nn.init.normal_(parameter, std=0.4)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_classifiers(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of tiny models of inference: ``bert`` (segments), ``roberta`` (two separators), ``deberta``."""
    folder = tmp_path_factory.mktemp("classifiers")
    pad = {
        family: transformers.AutoTokenizer.from_pretrained(path).pad_token_id for family, path in tiny_models.items()
    }
    bert = transformers.BertConfig(max_position_embeddings=96, pad_token_id=pad["bert"], **SMALL)
    # Positions are counted from the padding id on: 98 rows are room for 96 tokens.
    roberta = transformers.RobertaConfig(
        max_position_embeddings=98, type_vocab_size=1, pad_token_id=pad["roberta"], **SMALL
    )
    # As version 3 has it: relative positions, no segments.
    relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}
    deberta = transformers.DebertaV2Config(
        max_position_embeddings=96, type_vocab_size=0, pad_token_id=pad["albert"], **SMALL, **relative
    )
    made = {
        "bert": (tiny_models["bert"], transformers.BertForSequenceClassification, bert),
        "roberta": (tiny_models["roberta"], transformers.RobertaForSequenceClassification, roberta),
        "deberta": (tiny_models["albert"], transformers.DebertaV2ForSequenceClassification, deberta),
    }
    return {family: make(folder / family, *parts, NAMED[family]) for family, parts in made.items()}


def naive(folder: Path, family: str, pairs: Sequence[tuple[str, str]]) -> Array:
    """One pair at a time in float64, special tokens and segments put in by hand, the classes as `MEANT` says."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float64).eval()
    between = [tokenizer.sep_token_id] * (2 if family == "roberta" else 1)
    rows = []
    for pair in pairs:
        first, second = (tokenizer.encode(text, add_special_tokens=False) for text in pair)
        ids = [tokenizer.cls_token_id, *first, *between, *second, tokenizer.sep_token_id]
        extra = {}
        if family == "bert":
            extra = {"token_type_ids": torch.tensor([[0] * (len(first) + 2) + [1] * (len(second) + 1)])}
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids]), **extra).logits[0].tolist()
        odds = {name: math.exp(logit) for name, logit in zip(MEANT[family], logits, strict=True)}
        rows.append([odds[name] / sum(odds.values()) for name in CLASSES])
    return np.array(rows)


@pytest.fixture(scope="session")
def expected(tiny_classifiers: dict[str, Path]) -> dict[str, Array]:
    return {family: naive(folder, family, PAIRS) for family, folder in tiny_classifiers.items()}


def numbers(model: "nli.Classifier", units: Sequence[Unit]) -> Array:
    return get("nli").numbers(model, units)


@pytest.fixture
def bert(tiny_classifiers: dict[str, Path], tmp_path: Path) -> Path:
    """Copy the tiny BERT into a folder of its own, to be spoilt."""
    return Path(shutil.copytree(tiny_classifiers["bert"], tmp_path / "bert"))


def edit(folder: Path, **values: object) -> Path:
    """Change fields of the config; None takes one away."""
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), **values}
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))
    return folder


# --- probabilities --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_tokens", [1, 60, 100_000])
@pytest.mark.parametrize("family", FAMILIES)
def test_probabilities_equal_one_pair_at_a_time(
    family: str, batch_tokens: int, tiny_classifiers: dict[str, Path], expected: dict[str, Array]
) -> None:
    """They equal those of single pairs with special tokens put in by hand, for any batch size."""
    exact = nli.load(str(tiny_classifiers[family]), dtype="float64", batch_tokens=batch_tokens)
    np.testing.assert_allclose(numbers(exact, UNITS), expected[family], rtol=0, atol=1e-12)
    single = numbers(nli.load(str(tiny_classifiers[family]), batch_tokens=batch_tokens), UNITS)
    assert single.dtype == np.float64
    assert single.shape == (len(PAIRS), 3)
    np.testing.assert_allclose(single, expected[family], rtol=0, atol=1e-5)


def test_the_models_are_worth_a_test(expected: dict[str, Array]) -> None:
    """The probabilities above differ between classes and between pairs, or mistakes in their order would not show."""
    for values in expected.values():
        assert np.abs(np.diff(np.sort(values, axis=1), axis=1)).min() > 1e-4
        assert np.abs(np.diff(values, axis=0)).max() > 1e-2


@pytest.mark.parametrize("family", FAMILIES)
def test_probabilities_equal_those_of_the_pipeline(family: str, tiny_classifiers: dict[str, Path]) -> None:
    """Transformers' own pipeline, asked by label name, says the same."""
    folder = tiny_classifiers[family]
    pipeline = transformers.TextClassificationPipeline(
        model=transformers.AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float64),
        tokenizer=transformers.AutoTokenizer.from_pretrained(folder),
    )
    told = pipeline([{"text": a, "text_pair": b} for a, b in PAIRS], top_k=None)
    meant = dict(zip(NAMED[family], MEANT[family], strict=True))
    found = [{meant[one["label"]]: one["score"] for one in answers} for answers in told]
    values = [[row[name] for name in CLASSES] for row in found]
    np.testing.assert_allclose(numbers(nli.load(str(folder), dtype="float64"), UNITS), values, rtol=0, atol=1e-6)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(len(UNITS))), repeated=st.booleans(), batch_tokens=st.sampled_from([1, 30, 4096]))
def test_order_and_repetition_change_no_bit(
    order: list[int], repeated: bool, batch_tokens: int, tiny_classifiers: dict[str, Path]
) -> None:
    """Rows in any order, and rows repeated, get the same numbers bit for bit; other batch sizes the same to 1e-6."""
    model = _opened(tiny_classifiers["bert"])
    model.budget.tokens = batch_tokens
    straight = numbers(model, UNITS)
    shuffled = [UNITS[i] for i in order] * (1 + repeated)
    np.testing.assert_array_equal(numbers(model, shuffled), np.concatenate([straight[order]] * (1 + repeated)))
    model.budget.tokens = 100_000
    np.testing.assert_allclose(numbers(model, UNITS), straight, rtol=0, atol=1e-6)


_OPEN: "dict[Path, nli.Classifier]" = {}


def _opened(folder: Path) -> "nli.Classifier":
    if folder not in _OPEN:
        _OPEN[folder] = nli.load(str(folder))
    return _OPEN[folder]


def test_what_is_done_is_left_out_and_changes_nothing(bert: Path) -> None:
    """A run that goes on where another ended asks for the rest only, in the same batches."""
    model, scorer = nli.load(str(bert), batch_tokens=60), get("nli")
    whole = [*scorer.score(model, {*UNITS}, ())]
    done = {unit for unit, _ in whole[1]}
    rest = {unit: values for answers in scorer.score(model, {*UNITS}, done) for unit, values in answers}
    assert rest == {unit: values for answers in whole for unit, values in answers if unit not in done}


# --- classes by name ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize("family", FAMILIES)
def test_classes_are_told_by_name(
    family: str, order: tuple[int, ...], tiny_classifiers: dict[str, Path], expected: dict[str, Array], tmp_path: Path
) -> None:
    """The same weights with outputs in another order, and the names with them, give the same probabilities."""
    folder = Path(shutil.copytree(tiny_classifiers[family], tmp_path / family))
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    head = model.classifier.out_proj if family == "roberta" else model.classifier
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(parameter[list(order)].clone())
    model.save_pretrained(folder)
    names = [NAMED[family][i] for i in order]
    edit(folder, id2label=dict(enumerate(names)), label2id={name: i for i, name in enumerate(names)})
    found = numbers(nli.load(str(folder), dtype="float64"), UNITS)
    np.testing.assert_allclose(found, expected[family], rtol=0, atol=1e-12)


def test_stated_labels_are_used_and_part_of_the_identity(bert: Path, expected: dict[str, Array]) -> None:
    """Where the config has no names, `labels` gives the order, and another order is another model."""
    edit(bert, id2label=None, label2id=None, num_labels=3)
    right = nli.load(str(bert), dtype="float64", labels="contradiction, Neutral, ENTAILMENT")
    np.testing.assert_allclose(numbers(right, UNITS), expected["bert"], rtol=0, atol=1e-12)
    other = nli.load(str(bert), dtype="float64", labels="entailment,neutral,contradiction")
    np.testing.assert_allclose(numbers(other, UNITS), expected["bert"][:, ::-1], rtol=0, atol=1e-12)
    assert {key for key in right.identity if right.identity[key] != other.identity[key]} == {"config"}


def test_stated_labels_that_repeat_the_config_are_fine(bert: Path) -> None:
    """Who says what the config says gets the same model."""
    stated = nli.load(str(bert), labels="contradiction,neutral,entailment")
    assert stated.identity == nli.load(str(bert)).identity


@pytest.mark.parametrize(
    ("names", "stated", "told"),
    [
        (["LABEL_0", "LABEL_1", "LABEL_2"], None, "LABEL_0, LABEL_1, LABEL_2, which does not show .* labels='entail"),
        (["entailment", "not_entailment"], None, r"has 2 classes \(entailment, not_entailment\)"),
        (["entailment", "not_entailment"], "entailment,neutral,contradiction", "has 2 classes"),
        (["entailment", "neutral", "contradiction", "-"], None, "has 4 classes"),
        (["positive", "negative", "neutral"], None, "positive, negative, neutral, which does not show"),
        (["entailment", "entails", "neutral"], None, "entailment, entails, neutral, which does not show"),
        (["entailment", "LABEL_1", "contradiction"], None, "LABEL_1, contradiction, which does not show"),
        (
            ["a", "b", "c"],
            "entailment,neutral",
            "must name entailment, neutral and contradiction once each.*entailment",
        ),
        (["a", "b", "c"], "entailment,neutral,neutral", "must name .* once each"),
        (["a", "b", "c"], "", "must name .* once each"),
        (
            ["contradiction", "neutral", "entailment"],
            "entailment,neutral,contradiction",
            "leave --labels out, or correct",
        ),
        (["entailment", "LABEL_1", "LABEL_2"], "neutral,entailment,contradiction", "leave --labels out, or correct"),
    ],
)
def test_classes_that_cannot_be_told_are_refused(
    names: list[str], stated: str | None, told: str, bert: Path, tiny_models: dict[str, Path]
) -> None:
    """Without three names, or against them, nothing is guessed: the message has what was found and what to do."""
    folder = make(
        bert, tiny_models["bert"], transformers.BertForSequenceClassification, transformers.BertConfig(**SMALL), names
    )
    with pytest.raises(ModelError, match=told) as caught:
        nli.load(str(folder), labels=stated)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("numbers_told", [("1", "2", "3"), ("0", "5", "7"), ("-1", "0", "1")])
@pytest.mark.parametrize("stated", [None, "contradiction,neutral,entailment"])
def test_classes_are_numbered_as_outputs_are(stated: str | None, numbers_told: tuple[str, ...], bert: Path) -> None:
    """Which output a class numbered 5 is, nobody can tell."""
    edit(bert, id2label=dict(zip(numbers_told, NAMED["bert"], strict=True)))
    with pytest.raises(ModelError, match=f"numbers its classes {', '.join(numbers_told)}, .* outputs are 0, 1 and 2"):
        nli.load(str(bert), labels=stated)


def test_segments_are_part_of_the_identity(bert: Path) -> None:
    """A tokenizer that names no segments among its outputs makes other probabilities, and so another model."""
    before = nli.load(str(bert))
    told = json.loads((bert / "tokenizer_config.json").read_text())
    told["model_input_names"] = ["input_ids", "attention_mask"]
    (bert / "tokenizer_config.json").write_text(json.dumps(told))
    after = nli.load(str(bert))
    assert np.abs(numbers(after, UNITS) - numbers(before, UNITS)).max() > 1e-3
    assert {key for key, value in after.identity.items() if value != before.identity[key]} == {"tokenizer"}


def test_classes_that_do_not_exclude_one_another_are_refused(bert: Path) -> None:
    """A model trained for several labels at once has no probabilities that add up to one."""
    with pytest.raises(ModelError, match="not mutually exclusive"):
        nli.load(str(edit(bert, problem_type="multi_label_classification")))


def test_a_model_without_a_classifier_is_refused(tiny_models: dict[str, Path]) -> None:
    """A masked language model would answer with a random head."""
    with pytest.raises(ModelError, match="made for another kind of head"):
        nli.load(str(tiny_models["bert"]))


# --- what cannot be scored ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_pairs_that_cannot_be_scored_are_nan(family: str, tiny_classifiers: dict[str, Path]) -> None:
    """A pair is scored up to the model's 96 tokens, and is NaN beyond, or where a text has no token of its own."""
    model = nli.load(str(tiny_classifiers[family]))
    assert model.max_length == 96
    texts = ["kind" + " kind" * more for more in range(100)]
    lengths = {text: len(model.encode([(text, "kind")])[0].ids) for text in texts}
    units = [Unit(text, "kind") for text in texts] + [Unit("", texts[4]), Unit(texts[4], ""), Unit("", texts[5])]
    values = numbers(model, units)
    finite = np.isfinite(values)
    assert finite.any(axis=1).tolist() == finite.all(axis=1).tolist()
    assert finite.all(axis=1).tolist() == [lengths[text] <= 96 for text in texts] + [False] * 3
    assert np.isnan(numbers(model, [Unit("", ""), Unit("", "kind"), Unit("kind", "")])).all()
    assert {length > 96 for length in lengths.values() if 93 < length < 100} == {False, True}


def test_probabilities_that_are_not_finite_are_nan(bert: Path) -> None:
    """A model that gives NaN for one word leaves the pairs with that word unscored, whole, and those only."""
    model = nli.load(str(bert))
    word = transformers.AutoTokenizer.from_pretrained(bert).convert_tokens_to_ids("norwegian")
    with torch.no_grad():
        model._model.get_input_embeddings().weight[word] = math.nan
    lost = np.isnan(numbers(model, UNITS))
    assert lost.all(axis=1).tolist() == lost.any(axis=1).tolist() == ["Norwegian" in a + b for a, b in PAIRS]


def test_why_there_is_no_number(bert: Path) -> None:
    """A pair needs a token on both sides, and has room for 96; else it is the number that is not."""
    said = get("nli").why
    assert said is not None
    units = [Unit("", "kind"), Unit("kind", ""), Unit("kind " * 60, "kind " * 60), Unit("kind", "kind")]
    reasons = ["no token to score", "no token to score", "too long for the model", "no finite number"]
    assert [*said(nli.load(str(bert)), units)] == reasons


def test_memory_that_does_not_suffice_halves_the_budget(bert: Path, expected: dict[str, Array]) -> None:
    """A pass that is too large is tried again in halves, and the numbers stay."""
    model, sizes = nli.load(str(bert), dtype="float64", batch_tokens=4096), []
    forward: Callable[..., Any] = model._model.forward

    def small(**inputs: "torch.Tensor") -> object:
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(**inputs)

    model._model.forward = small
    many = [Unit(f"{nation} people are kind.", "She is nice.") for nation in ("Chinese", "English", "German", "French")]
    many += [Unit(unit.text, "He is nice.") for unit in many]
    found = numbers(model, many)
    assert max(sizes) > 2
    assert 1 < sizes[-1] <= 2
    # One at a time, by hand.
    np.testing.assert_allclose(found, naive(bert, "bert", [(unit.text, unit.beside) for unit in many]), atol=1e-12)


# --- other architectures, and how pairs are joined ------------------------------------------------------------------


def test_decoders_are_read_at_their_last_token(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """A model that reads from left to right classifies by its last token, without a padding token of its own too."""
    config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=2, n_positions=96, bos_token_id=0, eos_token_id=0)
    folder = make(
        tmp_path / "gpt2", tiny_models["roberta"], transformers.GPT2ForSequenceClassification, config, NAMED["roberta"]
    )
    assert json.loads((folder / "config.json").read_text()).get("pad_token_id") is None
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float64).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = []
    for pair in PAIRS:
        with torch.no_grad():
            hidden = model.transformer(tokenizer(*pair, return_tensors="pt")["input_ids"]).last_hidden_state[0, -1]
            rows.append(torch.softmax(model.score(hidden), dim=0)[[1, 2, 0]].tolist())
    found = numbers(nli.load(str(folder), dtype="float64", batch_tokens=4096), UNITS)
    np.testing.assert_allclose(found, rows, rtol=0, atol=1e-12)


def test_encoders_with_a_decoder_are_read(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """BART, which classifies by the last </s>, gives what it gives for each pair alone."""
    sizes = {"d_model": 32, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 96}
    config = transformers.BartConfig(
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, **sizes
    )
    folder = make(
        tmp_path / "bart", tiny_models["roberta"], transformers.BartForSequenceClassification, config, NAMED["roberta"]
    )
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float64).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = []
    for pair in PAIRS:
        with torch.no_grad():
            logits = model(tokenizer(*pair, return_tensors="pt")["input_ids"]).logits[0]
        rows.append(torch.softmax(logits, dim=0)[[1, 2, 0]].tolist())
    found = numbers(nli.load(str(folder), dtype="float64", batch_tokens=4096), UNITS)
    np.testing.assert_allclose(found, rows, rtol=0, atol=1e-12)


class Counting:
    """A tokenizer that counts the texts that it is given, and may put its own between long pairs."""

    def __init__(self, folder: Path, *, odd: bool = False) -> None:
        self.tokenizer, self.odd, self.texts = transformers.AutoTokenizer.from_pretrained(folder), odd, 0

    def __call__(
        self, texts: list[str], others: list[str] | None = None, **options: bool
    ) -> "transformers.BatchEncoding":
        """Tokenize."""
        self.texts += len(texts) + len(others or [])
        columns: transformers.BatchEncoding = self.tokenizer(texts, others, **options)
        if self.odd and others is not None:  # the separator of long pairs is another one
            for ids in columns["input_ids"]:
                if len(ids) > 12:
                    ids[-1] = 0
        return columns


@pytest.mark.parametrize("family", FAMILIES)
def test_each_text_is_tokenized_once(family: str, tiny_classifiers: dict[str, Path]) -> None:
    """Joined are the tokens that the tokenizer makes of each text, as the tokenizer joins them."""
    tokenizer = Counting(tiny_classifiers[family])
    pairs = [(a, b) for a, _ in PAIRS for _, b in PAIRS]
    made = nli.Joiner(tokenizer, typed=family == "bert").join(pairs)
    own = transformers.AutoTokenizer.from_pretrained(tiny_classifiers[family])(
        [a for a, _ in pairs], [b for _, b in pairs]
    )
    assert [list(pair.ids) for pair in made] == own["input_ids"]
    assert all(pair.whole for pair in made)
    if family == "bert":
        assert [list(pair.types or ()) for pair in made] == own["token_type_ids"]
    else:
        assert [pair.types for pair in made] == [None] * len(pairs)
    # Each distinct text once, two pairs to compare with, and one to look at what stands between.
    assert tokenizer.texts == len({text for pair in pairs for text in pair}) + 4 + 2


def test_a_tokenizer_that_joins_in_its_own_way_is_believed(tiny_classifiers: dict[str, Path]) -> None:
    """Where what was looked up does not make the tokenizer's own pairs, the tokenizer makes them all."""
    odd = Counting(tiny_classifiers["bert"], odd=True)
    made = nli.Joiner(odd, typed=True).join(PAIRS)
    own = Counting(tiny_classifiers["bert"], odd=True)([a for a, _ in PAIRS], [b for _, b in PAIRS])
    assert [list(pair.ids) for pair in made] == own["input_ids"]


def test_padding_and_cutting_that_a_tokenizer_brings_are_not_used(bert: Path) -> None:
    """A tokenizer.json that pads to 50 and cuts at 6 changes nothing, not even the identity."""
    before = nli.load(str(bert))
    path = bert / "tokenizer.json"
    padding: dict[str, object] = {"strategy": {"Fixed": 50}, "direction": "Right", "pad_to_multiple_of": None}
    padding |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    cutting = {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0}
    path.write_text(json.dumps({**json.loads(path.read_text()), "padding": padding, "truncation": cutting}))
    after = nli.load(str(bert))
    assert after.identity == before.identity
    np.testing.assert_array_equal(numbers(after, UNITS), numbers(before, UNITS))


def test_wrong_shapes_are_refused(bert: Path) -> None:
    """A model that gives a row of logits per token is no classifier of pairs."""
    model = nli.load(str(bert))
    model._model.classifier = torch.nn.Linear(32, 4)
    with pytest.raises(ModelError, match=r"logits of shape \(\d, 4\)"):
        numbers(model, UNITS)


def test_no_pairs_have_no_probabilities(tiny_classifiers: dict[str, Path]) -> None:
    """Nothing in, nothing out."""
    model = _opened(tiny_classifiers["bert"])
    assert model.encode([]) == []
    assert model.probabilities([]).shape == (0, 3)
    assert numbers(model, []).shape == (0, 3)


def test_the_loader_is_found_by_ability() -> None:
    """The scorer asks for the ability that the model has."""
    assert get("nli").ability == nli.Classifier.ability == "inference"
    assert get("nli").columns == CLASSES
    assert nli.load is nli.load
