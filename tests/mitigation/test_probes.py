"""Probes: what they read of planted labels, and what a map leaves of them."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binomtest

from senseprobe.evaluate.mitigation.erasure import Erasure, fit_leace
from senseprobe.evaluate.mitigation.probes import (
    ProbeAccuracy,
    code_labels,
    fit_logistic,
    predict_by_kernel,
    probe_labels,
    split_words,
)


def test_an_interval_is_the_exact_one_of_scipy() -> None:
    """And it is at chance where that is not above the largest class."""
    read = ProbeAccuracy.of(61, 100, 0.5)
    exact = binomtest(61, 100).proportion_ci()

    assert (read.low, read.high) == pytest.approx((exact.low, exact.high))
    assert (read.is_at_chance, ProbeAccuracy.of(59, 100, 0.5).is_at_chance) == (False, True)


def test_three_tenths_of_each_class_are_held_out() -> None:
    """No word is in both, and none is left out."""
    codes, classes = code_labels(["a"] * 50 + ["b"] * 30 + ["c"] * 2)

    fitted, held = split_words(codes, seed=1)

    assert classes == ["a", "b", "c"]
    assert sorted([*fitted.tolist(), *held.tolist()]) == [*range(82)]
    assert np.bincount(codes[held]).tolist() == [15, 9, 1]


def test_logistic_regression_is_at_its_optimum() -> None:
    """By another method, from another start, of a loss that is written out; and the same at another scale."""
    rng = np.random.default_rng(0)
    x, codes = rng.standard_normal((80, 3)) + 2, rng.integers(3, size=80)
    x[:, 0] += codes

    weights, intercepts = fit_logistic(x, codes, 3, 0.1)

    z = (x - x.mean(axis=0)) / np.sqrt(np.mean((x - x.mean(axis=0)) ** 2))

    def loss(flat: np.ndarray) -> float:
        w = flat.reshape(4, 3)
        logits = z @ w[:3] + w[3]
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return float(-np.log(shares[np.arange(80), codes]).mean() + 0.05 * np.sum(w[:3] ** 2))

    best = minimize(loss, rng.standard_normal(12), method="BFGS", options={"gtol": 1e-9}).x.reshape(4, 3)
    logits, expected = x @ weights + intercepts, z @ best[:3] + best[3]
    np.testing.assert_allclose(logits - logits[:, :1], expected - expected[:, :1], atol=1e-4)
    scaled, _ = fit_logistic(1000 * x, codes, 3, 0.1)
    np.testing.assert_allclose(1000 * scaled, weights, atol=1e-6)


def test_kernel_regression_is_its_closed_form() -> None:
    """Written out, word by word."""
    rng = np.random.default_rng(0)
    x, codes, others = rng.standard_normal((12, 2)), np.arange(12) % 2, rng.standard_normal((3, 2))

    scores = predict_by_kernel(x, codes, 2, others)

    apart = [np.sum((x[i] - x[j]) ** 2) for i in range(12) for j in range(i)]
    kernel = np.array([[np.exp(-np.sum((a - b) ** 2) / np.median(apart)) for b in x] for a in x])
    solved = np.linalg.inv(kernel + 0.1 * np.eye(12)) @ (np.eye(2)[codes] - 0.5)
    expected = [[np.exp(-np.sum((o - b) ** 2) / np.median(apart)) for b in x] @ solved + 0.5 for o in others]
    np.testing.assert_allclose(scores, expected, atol=1e-9)


def _vectors(count: int = 400) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Vectors of noise, their labels, and a sign for each."""
    signs = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    return np.random.default_rng(0).standard_normal((count, 8)), ["f" if s > 0 else "m" for s in signs], signs


def _read(vectors: np.ndarray, labels: list[str]) -> tuple[ProbeAccuracy, ProbeAccuracy]:
    """What the linear and the other probe read."""
    probes = probe_labels(vectors, labels)
    assert probes.linear is not None
    assert probes.nonlinear is not None
    return probes.linear, probes.nonlinear


def test_where_gender_is_one_dimension_its_projection_leaves_nothing_and_a_random_one_all() -> None:
    """The dimension is known here, and so is what a perfect probe reads."""
    x, labels, signs = _vectors()
    x[:, 0] += 4 * signs
    random = np.random.default_rng(1).standard_normal((8, 1))

    before, after, control = (
        _read(y, labels) for y in (x, Erasure.onto(np.eye(8)[:, :1]).apply(x), Erasure.onto(random).apply(x))
    )

    assert before[0].accuracy > 0.99
    assert before[1].accuracy > 0.99
    assert after[0].is_at_chance
    assert after[1].is_at_chance
    assert control[0].accuracy > 0.97
    assert after[0].majority == 0.5


def test_where_gender_is_spread_projection_fails_and_the_probes_say_so() -> None:
    """Groups of words carry it in one dimension each; the direction of one pair is that of its group."""
    x, labels, signs = _vectors()
    x[np.arange(400), np.arange(400) // 2 % 8] += 4 * signs

    linear, _ = _read(Erasure.onto(np.eye(8)[:, :1]).apply(x), labels)

    assert linear.low > 0.7


def test_what_is_not_linear_is_read_after_leace_by_the_kernel_alone() -> None:
    """The class is the product of two signs, and the mean."""
    x, labels, signs = _vectors(800)
    first = np.where(np.random.default_rng(2).random(800) < 0.5, 1.0, -1.0)
    x[:, 0] += 4 * first
    x[:, 1] += 4 * first * signs
    x[:, 2] += 2 * signs

    linear, nonlinear = _read(fit_leace(x, labels).apply(x)[400:], labels[400:])

    assert linear.accuracy < 0.65
    assert nonlinear.accuracy > 0.95


def test_few_words_are_not_probed() -> None:
    """Nor is one class; more than two thousand are drawn from."""
    x, labels, _ = _vectors(2_400)

    assert probe_labels(x[:39], labels[:39]).unprobed == "39 words with a label, fewer than 40"
    assert probe_labels(x[::2], labels[::2]).unprobed == "all words are f"
    few, many = _read(x[:40], labels[:40]), _read(x, labels)
    assert [read.words for read in (*few, *many)] == [40, 40, 2_000, 2_000]
    again = [probe_labels(x, labels, seed=seed) for seed in (0, 1, 1)]
    assert again[1] == again[2] != again[0]
