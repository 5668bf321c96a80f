"""Vectors of words, sentences and words in sentences, against committed vectors and a naive loop.

Both are of `conformance/naive_association.py`, which shares no code with senseprobe: one text at a time, in float64,
with a word's tokens found by spelling them along the text. `test_encoder_loading.py` has which models are opened.
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.conformance import masked_models, naive_association
from tests.models.later import encoder, torch, transformers

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.encodings import LEVELS, EncodingOptions
from senseprobe.evaluate.units import EMPTY, NOT_FINITE, TOO_LONG, Unit

VECTORS = json.loads(naive_association.VECTORS.read_text(encoding="utf-8"))
MODELS = [*naive_association.MODELS]
UNITS = [Unit(text, "", start, end) for text, start, end in naive_association.CASES]
# Those that an encoder has: senses have no tokens.
# One for each family of tokenizers: WordPiece, byte-level BPE, SentencePiece's Unigram; and a decoder.
FAMILIES = ("bert", "modernbert", "albert", "gpt2")
# What a name of the vectors is to senseprobe: level, pooling (None: the model's own), whether it is the check's half.
NAMES: dict[str, tuple[str, str | None, bool]] = {
    "word": ("word", None, False),
    "sent": ("sent", None, False),
    "cword-mean": ("cword", None, False),
    "cword-first": ("cword", "first", False),
    "cword-last": ("cword", None, True),
    "cword-head": ("cword", "head", False),
}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The models of the conformance suite, by name."""
    torch.set_num_threads(1)
    return naive_association.build(tmp_path_factory.mktemp("association"))


def loaded(
    folder: Path,
    *,
    batch_tokens: int | None = None,
    dtype: str = "float64",
    **options: Any,  # noqa: ANN401
) -> "encoder.Encoder":
    """Open a model with these options of its encodings."""
    return encoder.Encoder.load(str(folder), options=EncodingOptions(**options), dtype=dtype, batch_tokens=batch_tokens)


def vectors(model: "encoder.Encoder", level: str, units: Iterable[Unit]) -> NDArray[np.float32]:
    """The vectors in the order of units, shape (units, width)."""
    order = list(units)
    answers = dict(pair for batch in model.encode(level, {*order}) for pair in batch)
    return np.stack([answers[unit] for unit in order])


@cache
def named(folder: Path, dtype: str) -> dict[str, NDArray[np.float32]]:
    """The vectors of all cases, by the names that the committed ones have."""
    models = {pooling: loaded(folder, dtype=dtype, pooling=pooling) for pooling in (None, "first", "head")}
    values = {name: vectors(models[pooling], level, UNITS) for name, (level, pooling, _) in NAMES.items()}
    size = models[None].dimensions
    return {name: values[name][:, size * check :][:, :size] for name, (*_, check) in NAMES.items()}


def expected(rows: list[list[float] | None], width: int) -> NDArray[np.float64]:
    return np.array([[np.nan] * width if row is None else row for row in rows])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("model", MODELS)
def test_vectors_are_the_committed_ones(folders: dict[str, Path], model: str, dtype: str) -> None:
    """The first numbers of every vector, and none where there is none."""
    for name, own in named(folders[model], dtype).items():
        rows = expected(VECTORS[model][name], naive_association.SHOWN)
        tolerance = {"float64": 1e-6, "float32": 1e-5}[dtype]
        np.testing.assert_allclose(own[:, : naive_association.SHOWN], rows, rtol=0, atol=tolerance)


@cache
def naive(name: str, folder: Path) -> naive_association.Naive:
    return naive_association.Naive(name, folder)


@cache
def opened(folder: Path) -> "encoder.Encoder":
    return loaded(folder)


@pytest.mark.parametrize("model", FAMILIES)
def test_vectors_are_those_of_the_naive_loop(folders: dict[str, Path], model: str) -> None:
    """All numbers of every vector; and no vector is that of a token before or behind, so that a neighbour shows."""
    slow = naive(model, folders[model])
    rows = [slow.vectors(*case) for case in naive_association.CASES]
    for name, own in named(folders[model], "float64").items():
        np.testing.assert_allclose(own, expected([row[name] for row in rows], own.shape[1]), rtol=0, atol=1e-6)
    _, hidden = slow.states("Japanese people are unkind.") or ([], [])
    apart = [np.abs(np.subtract(a, b)).max() for a, b in pairwise(hidden)]
    assert min(apart) > 1e-3


words = st.sampled_from(
    [*masked_models.WORDS[:20], "unkindly", "upper", "owner's", "don't", "African-American", "nurses'", "café", "x"]
)


@pytest.mark.parametrize("model", ["bert", "roberta", "modernbert", "albert", "gpt2", "llama-end"])
@settings(max_examples=25)
@given(sentence=st.lists(words, min_size=1, max_size=7), end=st.sampled_from([".", "", "?!", " ."]), data=st.data())
def test_a_word_is_found_wherever_it_stands(
    folders: dict[str, Path], model: str, sentence: list[str], end: str, data: st.DataObject
) -> None:
    """A random stretch of letters of a random sentence: its own tokens' vectors, of no other."""
    text = " ".join(sentence) + end
    start, stop = data.draw(st.sampled_from([m.span() for m in re.finditer(r"\w+", text)]), label="span")
    rows = naive(model, folders[model]).vectors(text, start, stop)
    own = vectors(opened(folders[model]), "cword", [Unit(text, "", start, stop)])
    both = [value for name in ("cword-mean", "cword-last") for value in rows[name] or [np.nan] * 24]
    np.testing.assert_allclose(own[0], both, rtol=0, atol=1e-6)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("model", FAMILIES)
def test_batches_and_order_change_nothing(folders: dict[str, Path], model: str, level: str) -> None:
    """Any batch size is the same to 1e-5, any order of units and what is done already to the bit."""
    whole = vectors(loaded(folders[model], dtype="float32", batch_tokens=40), level, UNITS)
    for tokens in (1, 100_000):
        other = vectors(loaded(folders[model], dtype="float32", batch_tokens=tokens), level, UNITS)
        np.testing.assert_allclose(other, whole, rtol=0, atol=1e-5)

    ours = loaded(folders[model], dtype="float32", batch_tokens=40)
    turned = vectors(ours, level, UNITS[::-1])[::-1]
    assert turned.tobytes() == whole.tobytes()
    done = {*UNITS[::3]}
    rest = dict(pair for batch in ours.encode(level, UNITS, done) for pair in batch)
    assert {*rest} == {*UNITS} - done
    assert all(rest[unit].tobytes() == whole[UNITS.index(unit)].tobytes() for unit in rest)


def test_a_text_is_read_once(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Units that share a sentence share a row of a forward pass, and nothing is padded."""
    model = loaded(folders["bert"])
    forward = model._model.forward
    read: list[tuple[int, ...]] = []

    def noted(**inputs: "torch.Tensor") -> object:
        assert bool((inputs["attention_mask"] == 1).all())
        read.extend(map(tuple, inputs["input_ids"].tolist()))
        return forward(**inputs)

    monkeypatch.setattr(model._model, "forward", noted)
    vectors(model, "cword", UNITS)
    scored = {text for text, start, end in naive_association.CASES if start < end and len(text) < 100}
    assert len(read) == len({*read}) == len(scored)


def test_poolings_of_a_sentence(folders: dict[str, Path]) -> None:
    """Largest, mean and last are taken of own tokens, cls of the first; by plain transformers and numpy."""
    text = "Japanese people are unkind."
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders["bert"])
    plain = transformers.AutoModel.from_pretrained(folders["bert"]).double().eval()
    with torch.no_grad():
        states = plain(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
    own = states[1:-1]
    by_hand = {"cls": states[0], "mean": own.mean(0), "max": own.max(0), "last": own[-1]}
    for pooling, value in by_hand.items():
        model = loaded(folders["bert"], pooling=pooling)
        np.testing.assert_allclose(vectors(model, "sent", [Unit(text)])[0], value, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_word_alone_can_be_pooled_as_a_sentence(folders: dict[str, Path], name: str) -> None:
    """The model's own vector of the word: [CLS], or what a decoder has read last; the default is of its own tokens."""
    own, word = loaded(folders[name]), loaded(folders[name], pooling="model")
    as_sentence, alone = (vectors(own, level, [Unit("Japanese")])[0] for level in ("sent", "word"))

    np.testing.assert_array_equal(vectors(word, "word", [Unit("Japanese")])[0], as_sentence)
    assert name == "gpt2" or not np.allclose(as_sentence, alone)
    stated = word.encoding("word").text
    assert stated.startswith("level=word;pooling=model;by=")
    assert EncodingOptions.of_text(stated).pooling == "model"


@pytest.mark.parametrize("layer", [0, 1, -1, -2])
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_layers_are_those_of_transformers(folders: dict[str, Path], name: str, layer: int) -> None:
    """A layer is an index into hidden states as transformers gives them; the number that is stated is not negative."""
    text, tokenizer = "people are kind.", transformers.AutoTokenizer.from_pretrained(folders[name])
    plain = transformers.AutoModel.from_pretrained(folders[name]).double().eval()
    ids = tokenizer(("<|endoftext|>" if name == "gpt2" else "") + text, return_tensors="pt")
    with torch.no_grad():
        states = plain(**ids, output_hidden_states=True).hidden_states
    at = -1 if name == "gpt2" else 0
    model = loaded(folders[name], layer=layer)
    np.testing.assert_allclose(vectors(model, "sent", [Unit(text)])[0], states[layer][0, at], rtol=0, atol=1e-6)
    assert f";layer={layer % len(states)};" in f"{model.encoding('sent').text};"


def test_what_stands_before_a_text(folders: dict[str, Path]) -> None:
    """A decoder gets its own token for a beginning, else for an end; `off` leaves it out; encoders keep their own."""
    starts = {name: loaded(folders[name]).start for name in MODELS}
    assert starts == {
        **dict.fromkeys(("bert", "roberta", "albert", "modernbert", "bert-bare", "llama-end"), "own"),
        "gpt2": "bos",
        "mamba": "bos",
        "qwen2": "eos",
        "gpt2-bare": "off",
    }
    with pytest.raises(ModelError, match="its tokenizer alone decides which token precedes a text"):
        loaded(folders["llama-end"], start="off")

    # The same weights, named otherwise: without a start token GPT-2 is what it is where its tokenizer has none.
    units = [Unit("Japanese people are kind.", "", start, end) for start, end in ((0, 8), (9, 15), (20, 24))]
    bare = loaded(folders["gpt2"], start="off")
    assert bare.encoding("cword").text == "level=cword;pooling=mean;check=last;layer=3;start=off"
    slow = naive("gpt2", folders["gpt2"])
    slow_start, slow.start = slow.start, ""
    rows = expected([slow.vectors(unit.text, unit.start, unit.end)["cword-mean"] for unit in units], 24)
    slow.start = slow_start
    np.testing.assert_allclose(vectors(bare, "cword", units)[:, :24], rows, rtol=0, atol=1e-6)

    assert bare.first_positions(units) == 1
    assert bare.first_positions([Unit("kind"), Unit("cruel people")]) == 2
    assert loaded(folders["gpt2"]).first_positions(units) == 0
    assert loaded(folders["bert-bare"]).first_positions(units) == 0


@pytest.mark.parametrize("model", ["bert", "bert-bare", "gpt2", "gpt2-bare"])
def test_an_encoding_states_what_makes_it_again(folders: dict[str, Path], model: str) -> None:
    """Options that are read off an encoding give the same encoding."""
    asked = [("sent", None), ("sent", "max"), ("cword", "head"), ("word", "last")]
    for (level, pooling), (layer, start) in product(asked, ((None, None), (1, "off" if "gpt" in model else None))):
        encoding = loaded(folders[model], pooling=pooling, layer=layer, start=start).encoding(level)
        again = loaded(folders[model], **_parts(EncodingOptions.of_text(encoding.text))).encoding(level)
        assert again == encoding


def _parts(options: EncodingOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("pooling", "layer", "start", "lower")}


def test_encodings_are_stated(folders: dict[str, Path]) -> None:
    """What each level does is in its text; vectors of a word alone by a decoder are not to be compared."""
    texts = {name: [loaded(folders[name]).encoding(level).text for level in LEVELS] for name in ("bert", "qwen2")}
    assert texts == {
        "bert": [
            "level=word;pooling=mean;layer=3;start=own",
            "level=sent;pooling=cls;layer=3;start=own",
            "level=cword;pooling=mean;check=last;layer=3;start=own",
        ],
        "qwen2": [
            "level=word;pooling=mean;layer=3;start=eos;comparable=no",
            "level=sent;pooling=last;special=out;layer=3;start=eos",
            "level=cword;pooling=mean;check=last;layer=3;start=eos",
        ],
    }
    model = loaded(folders["bert"], pooling="last")
    assert model.encoding("cword").text == "level=cword;pooling=last;check=mean;layer=3;start=own"
    assert [model.width(level) for level in LEVELS] == [24, 24, 48]


@pytest.mark.parametrize(
    ("name", "options", "level", "message"),
    [
        (
            "bert",
            {"pooling": "head"},
            "sent",
            "level sent does not have the pooling head: use one of cls, mean, max, last",
        ),
        ("bert", {"pooling": "cls"}, "cword", "level cword does not have the pooling cls"),
        ("gpt2", {"pooling": "cls"}, "sent", "does not add a CLS token"),
        ("bert", {"layer": 4}, "word", "does not have layer 4: its last is 3, its embedding table is 0"),
        ("bert", {"layer": -5}, "word", "does not have layer -5"),
        ("bert", {}, "sense", "does not have vectors at level sense: use word, sent, cword"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    folders: dict[str, Path], name: str, options: dict[str, Any], level: str, message: str
) -> None:
    """An encoding that the model, or the level, does not have is named, before anything is computed."""
    with pytest.raises(ModelError, match=message):
        loaded(folders[name], **options).encoding(level)


def test_why_a_unit_has_no_vector(folders: dict[str, Path]) -> None:
    """Nothing to read, too much, no token in the span, no finite number."""
    model = loaded(folders["bert"])
    long = "people " * 60
    units = [Unit(""), Unit(long, "", 0, 6), Unit("people are", "", 6, 6), Unit("people are"), Unit("a", "", 4, 9)]
    assert np.isnan(vectors(model, "cword", units)).all()
    assert [*model.reasons("cword", units)] == [EMPTY, TOO_LONG, encoder.NO_TOKEN, encoder.NO_TOKEN, encoder.NO_TOKEN]
    assert [*model.reasons("sent", units[:2])] == [EMPTY, TOO_LONG]

    with torch.no_grad():
        model._model.embeddings.word_embeddings.weight.fill_(torch.nan)
    assert np.isnan(vectors(model, "sent", [Unit("kind")])).all()
    assert [*model.reasons("sent", [Unit("kind")])] == [NOT_FINITE]
