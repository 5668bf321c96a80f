"""Association tests end to end, from vectors in Python to figures: planted effects, invariances, sentences of words."""

import itertools
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import senseprobe
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.models import ModelSource
from senseprobe.evaluate.models.encodings import EncodingOptions
from senseprobe.evaluate.result import Result
from senseprobe.records import Figure

Vectors = Mapping[str, Any]


def scored(vectors: Any, table: pd.DataFrame, *scorers: str, **how: Any) -> list[Result]:  # noqa: ANN401
    """The results of a table, of which nothing is stored or said."""
    return senseprobe.score(vectors, table, scorers, store=False, control=False, say=lambda _: None, **how)


def by_test(vectors: Any, table: pd.DataFrame, *scorers: str, **how: Any) -> dict[str, Figure]:  # noqa: ANN401
    """The figure of each test of the only result, by name; variants by their estimand too."""
    (result,) = scored(vectors, table, *scorers, **how)
    return {
        f"{figure.group}" if figure.estimand == "weat" else f"{figure.group} {figure.estimand}": figure
        for figure in result.figures
    }


def sets(test: str = "toy", /, **words: list[str]) -> pd.DataFrame:
    """A test whose sets have these words."""
    rows = [{"test": test, "role": role, "word": word} for role, own in words.items() for word in own]
    return pd.DataFrame(rows)


# --- planted effects --------------------------------------------------------------------------------------------------

AXES = 60
PLEASANT, UNPLEASANT = 0, 1


def attribute(axis: int, own: int, cosine: float, length: float) -> list[float]:
    """A vector with this cosine with an axis; the rest of it is on an axis of its own."""
    vector = [0.0] * AXES
    vector[axis], vector[own] = length * cosine, length * math.sqrt(1 - cosine**2)
    return vector


def target(pleasant: float, own: int, length: float) -> list[float]:
    """A vector whose cosine with the axis of the pleasant is this, and with that of the unpleasant .2."""
    vector = [0.0] * AXES
    vector[PLEASANT], vector[UNPLEASANT] = length * pleasant, length * 0.2
    vector[own] = length * math.sqrt(1 - pleasant**2 - 0.2**2)
    return vector


# Cosines of the words of A with their axis have the mean .8, those of B .5. So a target that has the cosine c with the
# first axis is associated by .8 c - .5 · .2.
ATTRIBUTES = {
    **{f"good{i}": attribute(PLEASANT, 2 + i, 0.8 + 0.02 * (i - 2), 1 + i) for i in range(5)},
    **{f"bad{i}": attribute(UNPLEASANT, 7 + i, 0.5 + 0.03 * (i - 2), 7 - i) for i in range(5)},
}
GOOD, BAD = [*ATTRIBUTES][:5], [*ATTRIBUTES][5:]


def test_a_planted_effect_is_found() -> None:
    """Associations by hand: .8 c - .1; every division of ten words is enumerated. No two sums are alike in float32."""
    cosines = {"X": [0.11, 0.203, 0.3007, 0.417, 0.5], "Y": [-0.109, 0.0151, 0.1613, 0.2519, 0.3541]}
    words = {f"{side}{i}": (c, i) for side, own in cosines.items() for i, c in enumerate(own)}
    vectors = ATTRIBUTES | {word: target(c, 12 + number, 1 + i) for number, (word, (c, i)) in enumerate(words.items())}
    figure = by_test(vectors, sets(X=[*words][:5], Y=[*words][5:], A=GOOD, B=BAD))["toy"]
    s = [0.8 * c - 0.1 for own in cosines.values() for c in own]
    mean = sum(s) / 10
    d = (sum(s[:5]) / 5 - sum(s[5:]) / 5) / math.sqrt(sum((value - mean) ** 2 for value in s) / 9)
    as_high = sum(sum(chosen) >= sum(s[:5]) - 1e-7 for chosen in itertools.combinations(s, 5))

    assert figure.value == pytest.approx(d, abs=1e-6), "vectors are float32"
    assert figure.p == as_high / 252
    assert figure.low is not None
    assert figure.low < d < (figure.high or 0)


RACE, GENDER, BOTH = 0.2, -0.1, 0.15  # of whites, of men, and of black women, on the pleasant axis
SCATTER = [-0.05, -0.02, 0.0, 0.03, 0.04]


def test_planted_intersections_are_found() -> None:
    """What a comparison of groups shows is the sum of what was planted in which they differ; i1 to i5 are of this kind.

    The difference of means is .8 (weight of A) times: race alone between men; race and what is of black women between
    women; both and gender between white men and black women. Standardised by the scatter, by hand.
    """
    groups = {
        "white man": RACE + GENDER,
        "white woman": RACE,
        "black man": GENDER,
        "black woman": -BOTH,
    }
    words = {group: [f"{group} {i}" for i in range(5)] for group in groups}
    vectors = dict(ATTRIBUTES)
    for number, (group, level) in enumerate(groups.items()):
        for i, word in enumerate(words[group]):
            vectors[word] = target(level + SCATTER[i], 12 + 5 * number + i, 1 + i)
    planted = {
        ("white man", "black man"): RACE,
        ("white woman", "black woman"): RACE + BOTH,
        ("white man", "black woman"): RACE + GENDER + BOTH,
        ("black man", "black woman"): GENDER + BOTH,
        ("white man", "white woman"): GENDER,
    }
    tables = [sets(f"{x}/{y}", X=words[x], Y=words[y], A=GOOD, B=BAD) for x, y in planted]
    (result,) = scored(vectors, pd.concat(tables))
    assert result.words is not None
    table = result.words.to_pandas()
    scatter = sum(value**2 for value in SCATTER)
    figures = {f"{figure.group}": figure for figure in result.figures}
    for (x, y), effect in planted.items():
        s = table[table["test"] == f"{x}/{y}"].groupby(["target_role", "attribute_role"])["cosine"].mean()
        assert (s["X", "A"] - s["X", "B"]) - (s["Y", "A"] - s["Y", "B"]) == pytest.approx(0.8 * effect, abs=1e-6)
        deviation = math.sqrt((2 * scatter + 10 * (effect / 2) ** 2) / 9)
        assert figures[f"{x}/{y}"].value == pytest.approx(effect / deviation, abs=1e-5)
    effects = {(x, y): figures[f"{x}/{y}"].value for x, y in planted}
    assert max(effects, key=lambda pair: effects[pair] or 0) == ("white woman", "black woman")


# --- invariances ------------------------------------------------------------------------------------------------------

NAMES = {"X": ["x0", "x1", "x2"], "Y": ["y0", "y1"], "A": ["a0", "a1"], "B": ["b0", "b1", "b2"]}
WORDS = [word for own in NAMES.values() for word in own]
TABLE = sets(**NAMES)
planes = st.lists(
    st.tuples(*[st.integers(-4, 4)] * 3).filter(any), min_size=len(WORDS), max_size=len(WORDS)
).map(lambda rows: dict(zip(WORDS, rows, strict=True)))  # fmt: skip


Shown = tuple[float | None, float | None, float | None, str]


def shown(*cases: tuple[Vectors, pd.DataFrame]) -> list[Shown]:
    """Effect, p of two sides, p, and note of each test of vectors; the tests are scored at once, by words of their own.

    A run takes as long for a test as for five.
    """
    vectors = {f"{word}n{number}": vector for number, (own, _) in enumerate(cases) for word, vector in own.items()}
    tables = [
        table.assign(test=f"toy {number}", word=[f"{word}n{number}" for word in table["word"]])
        for number, (_, table) in enumerate(cases)
    ]
    figures = by_test(vectors, pd.concat(tables, ignore_index=True), estimands=["weat-two-sided"])
    names = [f"toy {number}" for number in range(len(cases))]
    return [
        (figures[name].value, figures[f"{name} weat-two-sided"].p, figures[name].p, figures[name].note)
        for name in names
    ]


@settings(max_examples=25)
@given(planes, st.integers(-20, 20), st.integers(0, 2**31))
def test_effects_are_invariant(vectors: Vectors, power: int, seed: int) -> None:
    """The length of each vector, the order of rows and that of coordinates change nothing."""
    rng = np.random.default_rng(seed)
    longer = {word: np.ldexp(np.array(vector, float), power) for word, vector in vectors.items()}
    unequal = {word: (1 + number) * np.array(vector) for number, (word, vector) in enumerate(vectors.items())}
    turned = {word: np.array(vector)[[2, 0, 1]] * [1, -1, 1] for word, vector in vectors.items()}
    shuffled = TABLE.iloc[rng.permutation(len(TABLE))]

    cases = [(vectors, TABLE), (longer, TABLE), (unequal, TABLE), (turned, TABLE), (vectors, shuffled)]
    (effect, both, p, note), *others = shown(*cases)
    for value, *ps, text in others:
        assert value == (None if effect is None else pytest.approx(effect, abs=1e-6))
        assert (ps, text) == ([both, p], note)


@settings(max_examples=25)
@given(planes)
def test_swapped_sets_turn_the_sign(vectors: Vectors) -> None:
    """X for Y, and A for B, negate the effect; to two sides p stays, and both swaps together change nothing."""
    swaps = {"XY": {"X": "Y", "Y": "X"}, "AB": {"A": "B", "B": "A"}}
    roles = [{}, swaps["XY"], swaps["AB"], swaps["XY"] | swaps["AB"]]
    (effect, both, p, _), *once, (value_again, _, p_again, _) = shown(
        *((vectors, TABLE.assign(role=TABLE["role"].replace(swap))) for swap in roles)
    )
    for value, p_of_both, *_ in once:
        assert value == (None if effect is None else pytest.approx(-effect, abs=1e-9))
        assert p_of_both == both
    assert (value_again, p_again) == (None if effect is None else pytest.approx(effect, abs=1e-9), p)


def test_the_order_of_rows_changes_no_number_of_a_word() -> None:
    """Words stand in the order of rows; each cosine is the same."""
    rng = np.random.default_rng(0)
    vectors = {word: rng.normal(size=7) for word in WORDS}
    keys = ["target", "attribute"]
    tables = [
        result.words.to_pandas().set_index(keys)["cosine"].sort_index()
        for table in (TABLE, TABLE.iloc[::-1])
        for result in scored(vectors, table)
        if result.words is not None
    ]
    np.testing.assert_allclose(tables[0], tables[1], rtol=0, atol=1e-15)
    assert (tables[0].index == tables[1].index).all()


# --- sentences of words -----------------------------------------------------------------------------------------------


def test_sentences_are_averaged_before_the_cosine() -> None:
    """Of (3, 0) and (0, 1): the mean has the cosine 1.5/√2.5 with (1, 0); the mean of cosines would be .5.

    And without making them equally long before, which would give √.5. The other target is (0, 1), so by hand the
    associations are (1.5 - .5)/√2.5 and -1; with one word a set, d is √2 whatever they are, so cosines are looked at.
    """
    table = pd.DataFrame(
        [
            ("toy", "X", "rose", "A rose."),
            ("toy", "X", "rose", "Roses."),
            ("toy", "Y", "ant", "An ant."),
            ("toy", "A", "joy", "Joy here."),
            ("toy", "B", "woe", "Woe here."),
        ],
        columns=["test", "role", "word", "sentence"],
    )
    vectors = [(3, 0), (0, 1), (0, 1), (1, 0), (0, 2)]
    (result,) = scored(vectors, table)
    assert result.words is not None
    words = result.words.to_pandas()

    assert result.scorer == "weat-sent"
    assert words["target"].tolist() == ["rose", "rose", "ant", "ant"]
    assert words["cosine"].tolist() == pytest.approx([1.5 / math.sqrt(2.5), 0.5 / math.sqrt(2.5), 0, 1])
    assert result.figures[0].value == pytest.approx(math.sqrt(2))
    # SEAT's s of each sentence, of May et al. (2019): the mean cosine with A less that with B, and of A with X less Y.
    assert result.rows is not None
    assert result.rows["score"].tolist() == pytest.approx([1, -1, -1, 0.5 - 0, 0.5 - 1])


def test_tests_have_the_identity_that_they_are_about() -> None:
    """Missing cells, as those of weat1 and weat2 in association@1.1.0, are none, and not the text ``nan``."""
    plain = sets("plain", **NAMES).assign(identity=None)
    table = pd.concat([sets("aged", **NAMES).assign(identity="age"), plain, plain.assign(test="x", identity=np.nan)])
    vectors = {word: (number, 1) for number, word in enumerate(WORDS)}
    (result,) = scored(vectors, table, estimands=["weat-sentence"])

    assert [figure.identity for figure in result.figures] == ["age", "", ""] * 2
    assert result.words is not None
    assert {*result.words["identity"].to_pylist()} == {"age", ""}


def test_a_test_whose_attributes_have_no_sentence_is_not_lost() -> None:
    """It has a line without a value."""
    words = pd.concat([sets("whole", **NAMES), sets("half", **NAMES)])
    table = words.assign(sentence=[f"About {word}." for word in words["word"]])
    table.loc[(table["test"] == "half") & table["role"].isin(["A", "B"]), "sentence"] = None
    vectors = {word: (number, 1) for number, word in enumerate(["about", *WORDS])}
    figures = by_test(vectors, table, level="sent")
    assert {name: figure.value is None for name, figure in figures.items()} == {"half": True, "whole": False}


def test_a_test_of_words_alone_stands_for_those_with_its_words_only() -> None:
    """As `weat1` for `sent-weat1`, some of whose words may not be known; other tests have words of their own."""
    others = {role: [f"other {word}" for word in own] for role, own in NAMES.items()}
    alone, sentences, other = sets("weat1", **NAMES), sets("sent-weat1", **NAMES), sets("sent-weat2", **others)
    tables = [
        alone.assign(sentence=alone["word"]),
        *(table.assign(sentence=[f"Here is {word}." for word in table["word"]]) for table in (sentences, other)),
    ]
    tables[1].loc[0, "word"] = None
    vectors = {word: (number, 1) for number, word in enumerate(["other", *WORDS])}
    assert by_test(vectors, pd.concat(tables), level="word").keys() == {"weat1", "sent-weat2"}


@pytest.mark.parametrize(
    ("table", "lengths"),
    [
        (sets(X=[*"abc"], Y=[*"de"], A=[*"fghijk"], B=[*"lmn"]), 1 / 3),
        (
            sets(
                **{role: ["a", "b", "c", "d", "e"] for role in "XY"},
                **{role: ["f", "g", "h", "i", "j"] for role in "AB"},
            ),
            0,
        ),
    ],
)
@pytest.mark.parametrize("estimand", ["weat", "weat-two-sided", "weat-sentence"])
def test_rounding_is_no_effect(table: pd.DataFrame, lengths: float, estimand: str) -> None:
    """Parallel vectors have cosines of 1, and A for B no association: what is left are the last bits of sums."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=50)
    vectors = {
        word: one * 1.37 ** (number * lengths) if lengths else rng.normal(size=50)
        for number, word in enumerate(dict.fromkeys(table["word"]))
    }
    (result,) = scored(vectors, table, estimands=[estimand] if estimand != "weat" else ())
    assert [figure.value for figure in result.figures if figure.estimand == estimand] == [None]
    assert [figure.p for figure in result.figures if figure.estimand == estimand] == [None]


# --- from Python ------------------------------------------------------------------------------------------------------

SENTENCES = TABLE.assign(sentence=[f"This is {word}." for word in TABLE["word"]])
BY_WORD = {word: np.random.default_rng(number).normal(size=5) for number, word in enumerate(WORDS)}
BY_SENTENCE = dict(zip(SENTENCES["sentence"], BY_WORD.values(), strict=True))


def test_vectors_by_word_by_sentence_and_by_row() -> None:
    """The same vectors give the same effect, however they are named, and at each level that they have."""
    import torch

    expected = by_test(BY_WORD, TABLE)["toy"].value
    assert expected is not None
    levels = {"level": ["sent", "cword"]}
    for result in (
        *scored(BY_SENTENCE, SENTENCES, **levels),
        *scored(np.array([*BY_WORD.values()]), SENTENCES, **levels),
        *scored([*BY_WORD.values()], SENTENCES.drop(columns="word")),
        *scored(pd.DataFrame(BY_WORD).T, TABLE),
        *scored(torch.tensor(np.array([*BY_WORD.values()])), TABLE),
        *scored({**BY_WORD, **BY_SENTENCE}, SENTENCES, level=["word", "sent", "cword"]),
    ):
        assert result.figures[0].value == pytest.approx(expected, abs=1e-6), result.scorer


def test_no_level_is_asked_of_vectors_but_their_own() -> None:
    """By default words alone are of words, and sentences are sentences; another name is the user's."""
    assert [result.scorer for result in scored(BY_WORD, TABLE)] == ["weat-word"]
    (result,) = scored(senseprobe.vectors(BY_SENTENCE, name="mine"), SENTENCES)
    assert (result.scorer, result.model["name"]) == ("weat-sent", "mine")
    assert result.release["name"] == "not a release"


TWICE = pd.concat([TABLE, TABLE.iloc[:1].assign(role="A")])
EYE = np.eye(10)


def _encoded(**options: Any) -> ModelSource:  # noqa: ANN401
    """Vectors in memory, of which is asked what only models have, as a replay of a strange result would."""
    return ModelSource("made", model=BY_WORD, encoding=EncodingOptions(**options))


@pytest.mark.parametrize(
    ("vectors", "table", "how", "message"),
    [
        (EYE[:9], TABLE, {}, "but this one has 9 by 10 for 10 rows: fix it, or give a dict by word or sentence"),
        (EYE[0], TABLE, {}, "but this one has 10 for 10 rows"),
        (EYE[None], TABLE, {}, "but this one has 1 by 10 by 10 for 10 rows"),
        ([*EYE[:9], [1]], TABLE, {}, "the vectors cannot be read as an array: setting an array element"),
        (np.vstack([EYE, EYE[:1] + 1])[:, :3], TWICE, {}, "'x0' is in several rows with different vectors"),
        (EYE * [math.nan] + EYE, TABLE, {}, "vectors in memory: the vector of 'x0' has a number that is not finite"),
        (EYE * 1e300, TABLE, {}, "vectors in memory: row 1 has a number that is not finite in float32"),
        (EYE.astype(str), TABLE, {}, "10 texts, and numbers of shape (10, 10): each text needs a vector"),
        (
            {**BY_WORD, "b2": (1,)},
            TABLE,
            {},
            "vectors in memory: 'b2' has 1 numbers, and 'x0' has 5 numbers: give all vectors one length",
        ),
        ({}, TABLE, {}, "vectors in memory: 0 texts, and numbers of shape (0,): each text needs a vector"),
        ({1: (1, 2)}, TABLE, {}, "vectors in memory: some of its keys are not text"),
        (BY_WORD, TABLE.assign(role="T"), {}, "row 0 (from 0) has the role 'T'"),
        (BY_WORD, TABLE[TABLE["role"] != "B"], {}, "test 'toy' lacks rows of B: it needs X, Y, A and B"),
        (
            BY_WORD,
            TABLE.assign(identity=WORDS),
            {},
            "test 'toy' has the identities 'x0' and 'x1': give it a single one",
        ),
        (BY_WORD, TABLE, {"level": "doc"}, "unknown level doc: there is word, sent, cword, sense"),
        (BY_WORD, TABLE, {"level": "sent"}, "no row has a sentence: "),
        (BY_SENTENCE, SENTENCES.drop(columns="word"), {"level": "word"}, "no row has a word: "),
        (BY_WORD, SENTENCES, {"level": "cword"}, "does not have vectors at the level cword: a word has the same"),
        (_encoded(pooling="cls"), TABLE, {}, "it has neither layers nor start tokens, and only mean pooling"),
        (_encoded(layer=2), TABLE, {}, "it has neither layers"),
        (_encoded(start="off"), TABLE, {}, "nor start tokens"),
        (BY_WORD, TABLE, {"limit": 5}, "an association test needs all its words"),
        (BY_WORD, TABLE, {"estimands": ["weat"]}, "weat is not from a plug-in"),
        (EYE, "association", {}, "an array of vectors needs one row for each row of the table"),
        (BY_WORD, "nli-control", {}, " has inference rows, which need a scorer such as ll-nli"),
    ],
)
def test_what_cannot_be_scored(vectors: Any, table: Any, how: dict[str, Any], message: str) -> None:  # noqa: ANN401
    """One message in one line."""
    with pytest.raises(SenseprobeError, match=re.escape(message)) as caught:
        scored(vectors, table, **how)
    assert "\n" not in str(caught.value)


def test_a_tensor_that_is_trained_cannot_be_scored() -> None:
    """What torch says of it is told."""
    import torch

    with pytest.raises(SenseprobeError, match="cannot be read as an array: Can't call numpy") as caught:
        scored(torch.ones(10, 2, requires_grad=True), TABLE)
    assert "\n" not in str(caught.value)


def test_other_scorers_do_not_take_vectors() -> None:
    """Nor other levels than those of `weat`."""
    with pytest.raises(SenseprobeError, match="levels apply to weat, not to aul"):
        scored(BY_WORD, TABLE, "aul", level="word")


# --- a model in memory ------------------------------------------------------------------------------------------------


def naive_vectors(folder: Path, table: pd.DataFrame, level: str) -> list[NDArray[np.float64]]:
    """The vectors of rows by transformers alone, a text at a time: [CLS], or the mean of the tokens of the word."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    vectors = []
    for row in table.to_dict("records"):
        text = row["word"] if level == "word" else row["sentence"]
        read = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
        spans = read.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            hidden = model(**read).last_hidden_state[0].double().numpy()
        start = 0 if level == "word" else text.index(row["word"])
        own = [i for i, (a, b) in enumerate(spans) if a < b and a < start + len(row["word"]) and b > start]
        vectors.append(hidden[0] if level == "sent" else hidden[own].mean(axis=0))
    return vectors


def naive_effect(vectors: list[NDArray[np.float64]], table: pd.DataFrame) -> float:
    """The effect by loops over words, whose vectors are averaged first."""
    words: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    for role, word, vector in zip(table["role"], table["word"], vectors, strict=True):
        words.setdefault((role, word), []).append(vector)
    means = {key: np.mean(own, axis=0) for key, own in words.items()}

    def s(own: NDArray[np.float64]) -> float:
        sides = []
        for role in "AB":
            others = [vector for key, vector in means.items() if key[0] == role]
            sides.append(sum(own @ one / math.sqrt(own @ own) / math.sqrt(one @ one) for one in others) / len(others))
        return float(sides[0] - sides[1])

    x, y = ([s(vector) for key, vector in means.items() if key[0] == role] for role in "XY")
    return float((sum(x) / len(x) - sum(y) / len(y)) / np.std([*x, *y], ddof=1))


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_model_in_memory_is_scored_at_all_levels(family: str, tiny_models: dict[str, Path]) -> None:
    """As transformers alone gives it, with words at the end, in a plural, and in several sentences."""
    from transformers import AutoModel, AutoTokenizer

    rows = [
        *(("X", word, frame.format(word)) for word in ("nice", "kind") for frame in ("The {} dress.", "It is {}.")),
        *(("Y", word, frame.format(word)) for word in ("arrogant", "uppish") for frame in ("{} people.", "Be {}")),
        ("A", "engineer", "She is a talented engineer."),
        ("A", "horse", "He judges the horses at the fair."),
        ("B", "people", "English people are easy."),
        ("B", "dress", "The black dress is beautiful."),
    ]
    table = pd.DataFrame(rows, columns=["role", "word", "sentence"]).assign(test="toy")
    folder = tiny_models[family]
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    results = scored(senseprobe.model(model, tokenizer=tokenizer), table, "weat")

    assert [result.scorer for result in results] == ["weat-word", "weat-sent", "weat-cword"]
    for result in results:
        level = result.scorer.removeprefix("weat-")
        plain = table.drop_duplicates(["role", "word"]) if level == "word" else table
        expected = naive_effect(naive_vectors(folder, plain, level), plain)
        assert result.figures[0].value == pytest.approx(expected, abs=1e-4), level
        assert result.model["encoding"].startswith(f"level={level};pooling=")


# --- words in several sets --------------------------------------------------------------------------------------------

APART = dict(
    zip(
        ("rose", "lily", "ant", "bee", "Bee", "joy", "love", "hate", "grief", "fly", "Fly"),
        np.random.default_rng(1).normal(size=(11, 12)),
        strict=True,
    )
)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({}, ""),
        ({"X": ["fly"], "Y": ["fly"]}, "X and Y (which cancel out): fly"),
        # Of X a third, of Y a half: what is left of it does not cancel.
        ({"X": ["fly", "ant"], "Y": ["fly"]}, "X and Y (on both sides of the comparison): fly"),
        ({"Y": ["fly"], "B": ["fly"]}, "Y and B (compared with themselves): fly"),
        ({"X": ["fly"], "Y": ["fly"], "A": ["fly"]}, "X and Y and A (which cancel out): fly"),
        ({"X": ["fly", "fly", "fly"]}, "3 times in X (counted once): fly"),
        ({"A": ["fly", "bee", "fly"], "B": ["bee"]}, "twice in A (counted once): fly"),
    ],
)
def test_words_in_several_sets_are_said(words: Mapping[str, list[str]], told: str) -> None:
    """Which sets have them is known, since they were put there."""
    whole = {"X": ["rose"], "Y": ["lily"], "A": ["joy", "love"], "B": ["hate", "grief"]}
    table = sets(**{role: [*own, *words.get(role, [])] for role, own in whole.items()})
    note = by_test(APART, table)["toy"].note
    assert told in note
    assert ("words" in note.replace("5 words", "")) == bool(told)


def test_words_that_differ_in_capitals_are_one_where_their_vectors_are() -> None:
    """*fly* and *Fly* have vectors of their own, unless words are looked up in lower case."""
    table = sets(X=["rose", "fly", "Fly"], Y=["lily", "ant"], A=["joy", "bee"], B=["hate", "Bee"])
    note = by_test(senseprobe.vectors(APART, lower=False), table)["toy"].note
    assert "spelt" not in note
    assert "cancel" not in note
    lower = {word: vector for word, vector in APART.items() if word.islower()}
    note = by_test(senseprobe.vectors(lower, lower=True), table)["toy"].note
    assert "X (spelt in 2 ways, counted 2 times): fly and Fly" in note
    assert "A and B (which cancel out): bee and Bee" in note


def test_sentences_of_a_word_in_several_sets() -> None:
    """A sentence twice in a set is said of its word; two sentences of a word are no repeat."""
    words = {"X": ["fly", "fly", "rose"], "Y": ["fly", "lily"], "A": ["joy"], "B": ["hate"]}
    table = sets(**words)
    table["sentence"] = [f"This is {word}." for word in table["word"]]
    vectors = {sentence: APART[word] for sentence, word in zip(table["sentence"], table["word"], strict=True)}
    note = by_test(vectors, table, level="sent")["toy"].note
    assert "X and Y (on both sides of the comparison): fly" not in note
    assert "X and Y (which cancel out): fly" in note
    assert "twice in X (counted once): fly" in note
    other = table.assign(sentence=[f"{sentence} {n}" for n, sentence in enumerate(table["sentence"])])
    vectors = {sentence: APART[word] for sentence, word in zip(other["sentence"], other["word"], strict=True)}
    assert "twice" not in by_test(vectors, other, level="sent")["toy"].note
