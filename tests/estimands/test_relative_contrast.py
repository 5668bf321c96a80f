"""`relative` in one sense against another: by hand, matched by word, at the ends, and where it cannot be had."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from senseprobe.evaluate.estimands import contrast_figures
from senseprobe.evaluate.estimands.comparison import compare_contrast
from senseprobe.evaluate.estimands.multiple_testing import corrected
from senseprobe.evaluate.estimands.sense_contrast import RELATIVE_CONTRASTS
from senseprobe.records import Contrast, Design, Factor, Figure

Array = NDArray[np.float64]
CONTRAST = Contrast(name="people-things", estimand="relative", a="people", b="things")
T4 = 2.7764451051977987
"""Student's t with 4 degrees of freedom at 97.5 %, from a table."""


def design(group: str = "nation", reference: str | None = None, words: tuple[str, str] = ("bad", "good")) -> Design:
    """Of a group with bad and good words."""
    return Design(
        kind="contrast",
        sense_type="simulated",
        bias_type="simulated",
        slots=(group, *words),
        roles={},
        differs="evaluative",
        factors=tuple(Factor(name=word, columns=(word,)) for word in words),
        group=group,
        reference=reference,
        words=dict(zip(("stereo", "anti"), words, strict=True)),
        estimands=("relative",),
    )


def rows(
    groups: Sequence[str], bad: Sequence[str], good: Sequence[str], scores: dict[tuple[str, str], float]
) -> pd.DataFrame:
    """Every group with every pair of words; `scores` are those of a group and a word."""
    table = pd.DataFrame([*itertools.product(groups, bad, good)], columns=["nation", "bad", "good"], dtype=object)
    for role, slot in (("stereo", "bad"), ("anti", "good")):
        table[f"{role}_score"] = [scores[pair] for pair in zip(table["nation"], table[slot], strict=True)]
    table["id"] = table["nation"] + "." + table["bad"] + "." + table["good"]
    return table.assign(frame="f", label_basis="trait", contested=False, valence=None, stereotype=None, minimal=True)


def words(prefix: str, numbers: Sequence[int]) -> list[str]:
    """Words by number."""
    return [f"{prefix}{number}" for number in numbers]


def drawn(groups: Sequence[str], bad: Sequence[str], good: Sequence[str], seed: int) -> pd.DataFrame:
    """Rows with normal scores."""
    rng = np.random.default_rng(seed)
    scores = {pair: float(rng.normal()) for pair in itertools.product(groups, [*bad, *good])}
    return rows(groups, bad, good, scores)


def wins_by_hand(table: pd.DataFrame, group: str, groups: Sequence[str]) -> pd.DataFrame:
    """Whether the group's r of a bad word (a row) is above that of a good one (a column); against the median."""
    score = {
        (nation, word): value
        for role, slot in (("stereo", "bad"), ("anti", "good"))
        for nation, word, value in zip(table["nation"], table[slot], table[f"{role}_score"], strict=True)
    }
    r = {
        word: score[group, word] - float(np.median([score[other, word] for other in groups if other != group]))
        for word in {word for _, word in score}
    }
    bad, good = sorted({*table["bad"]}), sorted({*table["good"]})
    return pd.DataFrame([[float(r[b] > r[g]) for g in good] for b in bad], index=bad, columns=good)


def one(figures: Sequence[Figure], group: str) -> Figure:
    """The figure of a group."""
    return next(figure for figure in figures if figure.group == group)


GROUPS = ["Dane", "Finn", "Greek", "Turk"]


def test_it_is_the_difference_with_shared_words_subtracted_by_word() -> None:
    """Words 1 to 5 in one sense and 0 to 4 in the other: four are shared, under other numbers. All of it by hand.

    The projection of a word is the mean over its row, or column, less the mean of all; of a shared word those of the
    two senses are subtracted, and the squares of six words of a kind have the factor 6/5, with five degrees of freedom.
    """
    first = drawn(GROUPS, words("bad", range(1, 6)), words("good", range(1, 6)), 3)
    second = drawn(GROUPS, words("bad", range(5)), words("good", range(5)), 4)
    made = contrast_figures(CONTRAST, first, design(), second, design())
    a, b = (wins_by_hand(table, "Finn", GROUPS) for table in (first, second))
    variance = 0.0
    for axis in (1, 0):
        own = [(wins.mean(axis=axis) - wins.to_numpy().mean()) / 5 for wins in (a, b)]
        union = own[0].subtract(own[1], fill_value=0.0)
        assert len(union) == 6
        variance += 6 / 5 * float(np.square(union).sum())
    value = 100 * (a.to_numpy().mean() - b.to_numpy().mean())
    reach = 2.5705818366147395 * 100 * math.sqrt(variance)  # Student's t with 5 degrees of freedom, from a table

    assert [figure.group for figure in made] == GROUPS
    found = one(made, "Finn")
    assert (found.value, found.low, found.high) == pytest.approx((value, value - reach, value + reach))
    assert (found.estimand, found.neutral, found.method) == ("relative-contrast", 0.0, "projection")
    assert (found.levels, found.fixed) == ({"bad": 6, "good": 6}, ("frame",))
    assert found.p is not None
    assert (found.p < 0.05) == (abs(value) > reach)


def test_slots_of_other_names_hold_the_same_words() -> None:
    """What one template calls `bad` another calls `blame`."""
    first, second = (drawn(GROUPS, words("bad", range(5)), words("good", range(5)), seed) for seed in (3, 4))
    renamed = second.rename(columns={"bad": "blame", "good": "praise", "nation": "people"})
    other = replace(design("people", words=("blame", "praise")), sense_type="simulated")

    plain = contrast_figures(CONTRAST, first, design(), second, design())
    assert contrast_figures(CONTRAST, first, design(), renamed, other) == plain


def test_groups_of_one_sense_alone_leave_the_median() -> None:
    """A fifth group in the second sense: the figures of the four are as without it."""
    first = drawn(GROUPS, words("bad", range(5)), words("good", range(5)), 3)
    second = drawn([*GROUPS, "Swede"], words("bad", range(5)), words("good", range(5)), 5)
    four = second[second["nation"] != "Swede"]

    made = contrast_figures(CONTRAST, first, design(), second, design())
    assert [replace(figure, rows=0) for figure in made] == [
        replace(figure, rows=0) for figure in contrast_figures(CONTRAST, first, design(), four, design())
    ]


def test_one_sense_at_its_end_has_movers_interval() -> None:
    """All bad words above all good ones in the first sense: R = 50; the end of five words that agree, by hand."""
    bad, good = words("bad", range(5)), words("good", range(5))
    scores = {(nation, word): float(nation == "Finn" and word in bad) for nation in GROUPS for word in [*bad, *good]}
    second = drawn(GROUPS, bad, good, 4)
    found = one(contrast_figures(CONTRAST, rows(GROUPS, bad, good, scores), design(), second, design()), "Finn")

    assert found.method == "boundary"
    assert None not in (found.low, found.high, found.value)
    assert found.value - found.low >= 100 * (1 - 0.025**0.2)  # type: ignore[operator]


def test_sides_of_unlike_references_are_not_compared() -> None:
    """Two groups left against each other; none left; a sentence that names no group in one sense alone."""
    first, second = (drawn(GROUPS[start : start + 3], ["bad0"], ["good0"], 3) for start in (0, 1))
    (few,) = contrast_figures(CONTRAST, first, design(), second, design())
    assert (few.value, few.group) == (None, None)
    assert "share 2" in few.note
    (mixed,) = contrast_figures(CONTRAST, first, design(reference="Dane"), second, design())
    assert mixed.value is None
    (alone,) = contrast_figures(CONTRAST, first[first["nation"] != "Finn"], design(), second[:0], design())
    assert alone.value is None


def test_a_sentence_that_names_no_group_is_the_reference_of_one() -> None:
    """The tutorial's case: one group against the sentence without it, in two senses, one frame; by hand."""
    bad, good = words("bad", range(5)), words("good", range(5))
    tables = [drawn(["old", "plain"], bad, good, seed) for seed in (8, 9)]
    (made,) = contrast_figures(CONTRAST, tables[0], design(reference="plain"), tables[1], design(reference="plain"))
    shares = []
    for table in tables:
        score = {
            (nation, word): value
            for role, slot in (("stereo", "bad"), ("anti", "good"))
            for nation, word, value in zip(table["nation"], table[slot], table[f"{role}_score"], strict=True)
        }
        r = {word: score["old", word] - score["plain", word] for word in [*bad, *good]}
        shares.append(np.mean([r[b] > r[g] for b in bad for g in good]))

    assert made.value == pytest.approx(100 * (shares[0] - shares[1]))
    assert (made.group, made.neutral) == ("old", 0.0)


def test_groups_are_one_family_and_two_models_are_compared() -> None:
    """Four p are corrected by Holm's method; model A less model B is the difference of their differences."""
    bad, good = words("bad", range(5)), words("good", range(5))
    models = [[drawn(GROUPS, bad, good, seed) for seed in seeds] for seeds in ((3, 4), (5, 6))]
    told = [corrected(contrast_figures(CONTRAST, a, design(), b, design()), RELATIVE_CONTRASTS) for a, b in models]
    smallest = min(told[0], key=lambda figure: figure.p or 1.0)
    assert smallest.p_holm == pytest.approx(min(1.0, 4 * (smallest.p or 1.0)))

    compared = compare_contrast(CONTRAST, models[0], models[1], [design(), design()])
    assert [one_of.group for one_of in compared] == GROUPS
    for one_of, a, b in zip(compared, *told, strict=True):
        assert (one_of.a, one_of.b) == pytest.approx((a.value, b.value))
        assert one_of.difference == pytest.approx(a.value - b.value)
