"""Mentions and co-occurrences in sentences, counted by hand and by a naive loop."""

import math
import random
import re
from pathlib import Path

import numpy as np
import pytest

from senseprobe.evaluate.texts import corpus_counts
from senseprobe.evaluate.texts.corpus_counts import (
    Tally,
    Terms,
    count_documents,
    count_texts,
    estimate_log_odds,
    estimate_ratio,
)
from senseprobe.evaluate.texts.text_files import Document

TERMS = Terms(
    groups=("female", "male"),
    categories=("male", "female"),
    words=("nurse", "construction worker"),
    group_forms={"she": ("female",), "her": ("female",), "he": ("male",), "his": ("male",)},
    word_forms={
        "nurse": ("nurse", "female"),
        "nurses": ("nurse", "female"),
        "construction worker": ("construction worker", "male"),
    },
)


def test_counts_by_hand() -> None:
    """By hand: female 3 mentions (1 with a male word, 2 with a female one, 1 neutral), male 2 (1, 1, 1)."""
    texts = [
        "She saw the nurse and a construction worker. Her day! They left.",
        "HE'S a nurse; he met nurses near the construction worker. The shed _his_ father built.\n\nShe, the nurse.",
    ]
    counts = count_texts(texts, TERMS)
    assert (counts.documents, counts.sentences) == (2, 6)
    assert counts.sums.tolist() == [3, 1, 2, 1, 2, 1, 1, 1]
    assert counts.cooccurrences.tolist() == [[2, 1], [1, 1]]
    assert counts.totals.tolist() == [3, 2]


# Takes long: two processes of a pool.
def test_chunks_and_workers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small chunks and two processes give the sums of a naive loop over words of sentences."""
    draw = random.Random(1)  # noqa: S311 - a test
    words = ["she", "He", "his", "nurse", "nurses", "tree", "her", "élan", "the", "shed"]
    texts = [
        " ".join(" ".join(draw.choices(words, k=6)).capitalize() + "." for _ in range(draw.randint(1, 5)))
        for _ in range(60)
    ]
    monkeypatch.setattr(corpus_counts, "CHUNK", 200)
    documents = [Document(text, "x") for text in texts]
    one, two = (count_documents(documents, TERMS, workers).counts for workers in (1, 2))
    naive = [0] * 8
    for sentence in " ".join(texts).split("."):
        found = set(re.findall(r"\w+", sentence.lower()))
        nurse = bool(found & {"nurse", "nurses"})
        for start, forms in ((0, {"she", "her"}), (4, {"he", "his"})):
            if found & forms:
                naive[start] += 1
                naive[start + 2 if nurse else start + 3] += 1
    assert one.sums.tolist() == two.sums.tolist() == count_texts(texts, TERMS).sums.tolist() == naive
    assert (one.moments == two.moments).all()
    assert (one.moments == count_texts(texts, TERMS).moments).all()


def test_interval_near_a_jackknife() -> None:
    """The jackknife of the log ratio, document by document, has nearly the same standard error where n is large."""
    draw = np.random.default_rng(0)
    pairs = draw.poisson([3.0, 5.0], size=(400, 2)) + 1
    texts = ["She. " * f + "He. " * m for f, m in pairs]
    ratio = estimate_ratio(count_texts(texts, TERMS), 0, 4)
    total = pairs.sum(axis=0)
    left = np.log((total[0] - pairs[:, 0]) / (total[1] - pairs[:, 1]))
    error = math.sqrt(399 / 400 * ((left - left.mean()) ** 2).sum())
    assert ratio.value == pytest.approx(total[0] / total[1])
    assert ratio.high is not None
    assert ratio.value is not None
    assert math.log(ratio.high / ratio.value) == pytest.approx(1.96593 * error, rel=0.01)  # t of 399, from a table


def test_log_odds_by_hand() -> None:
    """Two words with 6 and 2 in all: priors 1.5 and 0.5, so that d of the first is log(5.5/1.5) - log(3.5/2.5)."""
    values, z = estimate_log_odds(np.array([4, 1]), np.array([2, 2]), np.array([6, 2]))
    expected = math.log(5.5 / 1.5) - math.log(3.5 / 2.5)
    assert values[0] == pytest.approx(expected)
    assert z[0] == pytest.approx(expected / math.sqrt(1 / 5.5 + 1 / 3.5))


def test_a_state_in_which_a_digit_changed_is_none(tmp_path: Path) -> None:
    """What a run goes on from is what it wrote: with any one digit raised by one, it begins anew."""
    state, empty = tmp_path / "state.json", count_texts([], TERMS)
    tally = count_documents([Document("She saw the nurse.", "x")], TERMS, state=state)
    written = state.read_bytes()
    assert Tally.read(state, empty).counts.sums.tolist() == tally.counts.sums.tolist() == [1, 0, 1, 0, 0, 0, 0, 0]
    digits = [at for at, sign in enumerate(written) if chr(sign).isdigit()]
    for at in digits:
        state.write_bytes(written[:at] + b"%d" % ((written[at] - ord("0") + 1) % 10) + written[at + 1 :])
        assert Tally.read(state, empty).chunks == 0
    assert len(digits) > 50
