"""Two models on one association test: the difference of their effects and its p, by hand and by enumeration."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import association, word_sets
from senseprobe.evaluate.estimands.association_comparison import CONSTANT, TOO_FEW, compare_tests, read_tests
from senseprobe.evaluate.estimands.comparison import Comparison

X, Y = ("x1", "x2"), ("y1", "y2")
ASSOCIATIONS = {"x1": 0.3, "x2": 0.1, "y1": -0.1, "y2": -0.3}
EFFECT = 0.4 / math.sqrt(0.2 / 3)
"""By hand: means 0.2 and -0.2; squares .09 + .01 + .01 + .09 = .2 around the mean 0, over n - 1 = 3."""


def table(associations: Mapping[str, float], test: str | None = "t", **fields: object) -> pa.Table:
    """The words of a test with one attribute on either side: the cosine with a is s(w), and with b it is 0."""
    rows = [
        {"target": word, "target_role": word[0].upper(), "attribute": attribute, "attribute_role": attribute.upper()}
        | {"cosine": value if attribute == "a" or math.isnan(value) else 0.0, "check": None}
        | {"config": "c", "test": test, "identity": ""}
        | fields
        for word, value in associations.items()
        for attribute in ("a", "b")
    ]
    types = {name: pa.float64() if name in ("cosine", "check") else pa.string() for name in rows[0]}
    return pa.Table.from_pylist(rows, pa.schema(types))


def compared(a: Mapping[str, float], b: Mapping[str, float]) -> Comparison:
    """The one test of two models."""
    (comparison,) = compare_tests(read_tests(table(a)), read_tests(table(b)))
    return comparison


def turned(associations: Mapping[str, float]) -> dict[str, float]:
    """Associations with another sign."""
    return {word: -value for word, value in associations.items()}


def test_by_hand() -> None:
    """A model against its mirror image, 2 d apart: all four addends are positive, and 2 of 16 sign vectors as far."""
    row = compared(ASSOCIATIONS, turned(ASSOCIATIONS))
    assert [row.a, row.b] == pytest.approx([EFFECT, -EFFECT])
    assert row.difference == pytest.approx(2 * EFFECT)
    assert row.p == row.p_holm == 2 / 16
    assert (row.group, row.rows, row.scored, row.levels) == ("t", 4, 4, {"X": 2, "Y": 2, "A": 1, "B": 1})


def test_another_scale_is_no_difference() -> None:
    """Cosines of a model all of which lie closer together, and around another mean, have the same effect."""
    row = compared(ASSOCIATIONS, {word: 0.9 + value / 50 for word, value in ASSOCIATIONS.items()})
    assert row.difference == pytest.approx(0, abs=1e-8)
    assert row.p == 1
    dust = compared(ASSOCIATIONS, {word: value + 1e-14 * int(word[1]) for word, value in ASSOCIATIONS.items()})
    assert (dust.difference, dust.p) == (0, 1)


def test_p_by_enumeration() -> None:
    """Its p is the share of all 2^9 exchanges of a word's two values that are as far apart, either way round."""
    rng = np.random.default_rng(1)
    words = [*(f"x{i}" for i in range(5)), *(f"y{i}" for i in range(4))]
    a, b = (dict(zip(words, rng.uniform(-0.5, 0.5, 9).tolist(), strict=True)) for _ in range(2))

    def standardised(values: Sequence[float]) -> list[float]:
        mean = sum(values) / len(values)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
        return [(value - mean) / deviation for value in values]

    pairs = list(zip(standardised([*a.values()]), standardised([*b.values()]), strict=True))

    def apart(exchanged: Sequence[bool]) -> float:
        first, second = zip(
            *(pair[::-1] if turn else pair for pair, turn in zip(pairs, exchanged, strict=True)), strict=True
        )
        of_first, of_second = (sum(side[:5]) / 5 - sum(side[5:]) / 4 for side in (first, second))
        return float(abs(of_first - of_second))

    observed = apart([False] * 9)
    share = sum(apart(turns) >= observed - 1e-12 for turns in itertools.product((False, True), repeat=9)) / 2**9
    row, reverse = compared(a, b), compared(b, a)
    assert row.p == pytest.approx(share)
    assert [reverse.difference, reverse.p] == pytest.approx([-(row.difference or 0.0), share])


def test_words_that_both_have() -> None:
    """A word without a vector in either model is left out of both, whatever the order of the words."""
    more = ASSOCIATIONS | {"x3": 0.9}
    row = compared(more | {"x3": math.nan}, dict(reversed((turned(ASSOCIATIONS) | {"x3": 0.5}).items())))
    assert row.difference == pytest.approx(2 * EFFECT)
    assert (row.rows, row.scored, row.unscored, row.levels["X"]) == (5, 4, 1, 2)


def test_nothing_to_compare() -> None:
    """Without words in common, or where a model has one association for all, there is a reason and no number."""
    none = compared(ASSOCIATIONS, ASSOCIATIONS | {"x1": math.nan, "x2": math.nan})
    flat = compared(ASSOCIATIONS, dict.fromkeys(ASSOCIATIONS, 0.25))
    assert (none.note, none.difference, none.p) == (TOO_FEW, None, None)
    assert (flat.note, flat.difference, flat.p) == (CONSTANT, None, None)
    bits = compared(ASSOCIATIONS, {word: 0.25 + place * 2**-54 for place, word in enumerate(ASSOCIATIONS)})
    assert (bits.note, bits.difference, bits.p) == (CONSTANT, None, None)


def test_corrected_over_all_tests() -> None:
    """Holm over two tests with p = 2/16 and 1: 1/4 and 1. A test that one model lacks is left out."""
    a = pa.concat_tables([table(ASSOCIATIONS), table(ASSOCIATIONS, "same"), table(ASSOCIATIONS, "alone")])
    b = pa.concat_tables([table(turned(ASSOCIATIONS)), table(ASSOCIATIONS, "same")])
    rows = compare_tests(read_tests(a), read_tests(b))
    assert [(row.group, row.p, row.p_holm) for row in rows] == [("t", 0.125, 0.25), ("same", 1.0, 1.0)]


def test_rejects_a_true_null_as_often_as_it_may() -> None:
    """Of two models with the same associations but for noise, a nominal 5 % test finds a difference in about 5 %."""
    rng = np.random.default_rng(7)
    has = {side: tuple(f"{side.lower()}{i}" for i in range(8)) for side in "XY"} | {"A": ("a",), "B": ("b",)}
    models: list[dict[association.TestKey, word_sets.TestWords]] = [{}, {}]
    for number, row in enumerate(rng.normal(size=(600, 16)) + np.repeat([0.4, -0.4], 8)):
        for model in models:
            cosines = np.stack([np.tanh(0.1 * (row + rng.normal(0, 0.7, 16))), np.zeros(16)], axis=1)
            model["c", str(number)] = word_sets.TestWords(has, {}, cosines, np.full_like(cosines, np.nan))
    found = sum((comparison.p or 1.0) < 0.05 for comparison in compare_tests(*models))
    assert 0.025 <= found / 600 <= 0.075  # three standard errors of 5 %, as a binomial of 600 has them


@pytest.mark.parametrize(
    "forged",
    [
        table(ASSOCIATIONS, target_role="Z"),
        table(ASSOCIATIONS, attribute_role="X"),
        table(ASSOCIATIONS, cosine=7.0),
        table(ASSOCIATIONS, cosine=-math.inf),
        table(ASSOCIATIONS, check=1e308),
        pa.concat_tables([table(ASSOCIATIONS), table(ASSOCIATIONS, test=None)]),
        table(ASSOCIATIONS).slice(1),
        pa.concat_tables([table(ASSOCIATIONS), table(ASSOCIATIONS)]),
        pa.concat_tables([table(ASSOCIATIONS).slice(0, 1), table(ASSOCIATIONS | {"x1": math.nan}).slice(1)]),
    ],
)
def test_forged_tables_are_refused(forged: pa.Table) -> None:
    """What no scoring writes is named: a role, a cosine, a word twice, or a pair of words that is not there."""
    with pytest.raises(ResultError, match="score the model again"):
        read_tests(forged)
