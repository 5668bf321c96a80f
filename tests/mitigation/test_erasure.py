"""Maps that remove directions: closed forms, naive loops, and what a probe reads after them."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from senseprobe.evaluate.mitigation.erasure import Erasure, fit_inlp, fit_leace, random_directions
from senseprobe.evaluate.mitigation.probes import code_labels, fit_logistic, split_words

Fit: TypeAlias = Callable[[np.ndarray, list[str]], Erasure]


def _planted(
    count: int, dimensions: int, classes: int = 2, seed: int = 0, gap: float = 3.0
) -> tuple[np.ndarray, list[str]]:
    """Vectors of a full covariance, whose class moves the mean along a few directions."""
    rng = np.random.default_rng(seed)
    labels = [f"class {number}" for number in rng.integers(classes, size=count)]
    mixing = rng.standard_normal((dimensions, dimensions))
    means = {f"class {number}": gap * rng.standard_normal(dimensions) for number in range(classes)}
    return rng.standard_normal((count, dimensions)) @ mixing + [means[label] for label in labels] + 5, labels


def _leace_by_scipy(x: np.ndarray, labels: list[str]) -> np.ndarray:
    """The vectors after LEACE, by the theorem as it stands, with matrix square roots and pseudo-inverses of NumPy."""
    z = np.array([[label == one for one in sorted({*labels})] for label in labels], dtype=float)
    mean, count = x.mean(axis=0), len(x)
    values, axes = np.linalg.eigh((x - mean).T @ (x - mean) / count)
    root = axes @ np.diag(np.sqrt(np.clip(values, 0, None))) @ axes.T
    whitening = np.linalg.pinv(root, rcond=1e-7, hermitian=True)
    across = whitening @ (x - mean).T @ (z - z.mean(axis=0)) / count
    onto = across @ np.linalg.pinv(across, rcond=1e-9)
    removed = (x - mean) @ (np.linalg.pinv(whitening, rcond=1e-7, hermitian=True) @ onto @ whitening).T
    return np.asarray(x - removed)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_leace_is_the_closed_form(classes: int) -> None:
    """Of the paper's theorem 4.3, with pseudo-inverses."""
    x, labels = _planted(200, 12, classes)

    erasure = fit_leace(x, labels)

    assert erasure.rank == classes - 1
    np.testing.assert_allclose(erasure.apply(x), _leace_by_scipy(x, labels), atol=1e-9)


def test_leace_of_vectors_that_do_not_span_the_space() -> None:
    """The covariance has no inverse: what the vectors do not span stays as it is."""
    x, labels = _planted(200, 12, 3)
    flat = x.copy()
    flat[:, 5] = flat[:, 4]
    flat[:, 7] = 2.0

    erased = fit_leace(flat, labels).apply(flat)

    np.testing.assert_allclose(erased, _leace_by_scipy(flat, labels), atol=1e-7)
    np.testing.assert_allclose(erased[:, 7], 2.0)


def test_after_leace_classes_have_one_mean_and_a_linear_probe_is_at_chance() -> None:
    """The mean is the criterion of the paper's theorem 3.1: no linear probe is better than a constant."""
    x, labels = _planted(600, 10, 3)

    erased = fit_leace(x, labels).apply(x)

    codes, _ = code_labels(labels)
    for code in range(3):
        np.testing.assert_allclose(erased[codes == code].mean(axis=0), x.mean(axis=0), atol=1e-9)
    weights, _ = fit_logistic(erased, codes, 3, 0.01)
    assert np.abs(weights).max() < 1e-6


def test_leace_moves_vectors_least_of_all_maps_that_erase() -> None:
    """In the norm of the covariance and in Euclid's: an orthogonal projection of the mean difference moves more."""
    x, labels = _planted(400, 8, 2)
    codes, _ = code_labels(labels)
    apart = x[codes == 0].mean(axis=0) - x[codes == 1].mean(axis=0)

    leace, projection = fit_leace(x, labels), Erasure.onto(apart[:, None])

    centred = x - x.mean(axis=0)
    moved = [np.sum((erased - centred) ** 2) for erased in (leace.apply(x) - x.mean(axis=0), projection.apply(centred))]
    assert moved[0] < moved[1]


@pytest.mark.parametrize(
    "fit", [fit_leace, lambda x, labels: fit_inlp(x, labels, seed=0)[0], lambda x, _: Erasure.onto(x[:2].T)]
)
def test_a_map_applied_twice_is_the_map(fit: Fit) -> None:
    """Idempotent, and what it leaves has no coordinate that it would remove."""
    x, labels = _planted(300, 12, 3)

    erasure = fit(x, labels)
    once = erasure.apply(x)

    np.testing.assert_allclose(erasure.apply(once), once, atol=1e-9)
    np.testing.assert_allclose(erasure.read(once), 0, atol=1e-9)
    np.testing.assert_allclose(once + erasure.read(x) @ erasure.left.T, x, atol=1e-12)


def test_leace_refuses_too_few_words() -> None:
    """It says how many there must be."""
    x, labels = _planted(23, 12)

    with pytest.raises(ValueError, match="24 for 12 dimensions: 23 have a label"):
        fit_leace(x, labels)


@pytest.mark.parametrize("fit", [fit_leace, lambda x, labels: fit_inlp(x, labels, seed=0)[0]])
def test_labels_that_tell_nothing_apart_are_refused(fit: Fit) -> None:
    """One class, labels of other words, and a number that is not finite."""
    x, labels = _planted(60, 4)

    with pytest.raises(ValueError, match="same label"):
        fit(x, ["female"] * 60)
    with pytest.raises(ValueError, match="one label"):
        fit(x, labels[1:])
    with pytest.raises(ValueError, match="finite"):
        fit(np.where(np.arange(4) == 1, np.nan, x), labels)


def test_leace_of_classes_with_one_mean_is_refused() -> None:
    """There is nothing that a linear probe reads."""
    with pytest.raises(ValueError, match="same mean"):
        fit_leace([[1, 1], [-1, -1], [1, -1], [-1, 1]], ["a", "a", "b", "b"])


def _naive_inlp(x: np.ndarray, labels: list[str], seed: int, regularisation: float, rounds: int) -> np.ndarray:
    """A loop of binary logistic regressions, each by another method, and a product of projections."""
    codes, _ = code_labels(labels)
    fitted, _ = split_words(codes, seed)
    whole = np.eye(x.shape[1])
    for _ in range(rounds):
        z, y = x[fitted] @ whole, codes[fitted]
        scale = np.sqrt(np.mean((z - z.mean(axis=0)) ** 2))
        z = (z - z.mean(axis=0)) / scale

        def loss(w: np.ndarray, z: np.ndarray = z, y: np.ndarray = y) -> float:
            shares = expit(z @ w[:-1] + w[-1])
            # Two columns of weights, w / 2 and -w / 2, have half the squared length of one.
            entropy = -np.mean(np.log(np.where(y == 1, shares, 1 - shares)))
            return float(entropy + regularisation / 4 * np.sum(w[:-1] ** 2))

        w = minimize(loss, np.zeros(x.shape[1] + 1), method="BFGS", options={"gtol": 1e-8}).x[:-1]
        w /= np.linalg.norm(w)
        whole = whole @ (np.eye(len(w)) - np.outer(w, w))
    return whole


def test_inlp_is_the_naive_loop() -> None:
    """Of as many rounds; each direction is removed from the vectors before the next is fitted."""
    x, labels = _planted(240, 16, gap=1.0, seed=3)

    erasure, record = fit_inlp(x, labels, seed=7, regularisation=0.05)

    assert [rank for rank, _ in record.rounds] == [*range(erasure.rank + 1)]
    assert erasure.rank >= 2
    whole = _naive_inlp(x, labels, 7, 0.05, erasure.rank)
    np.testing.assert_allclose(erasure.apply(np.eye(16)), whole, atol=1e-4)


def test_inlp_ends_at_chance_or_at_its_limit() -> None:
    """Where gender is one dimension, the first round removes most of it, and a second what the fit missed."""
    rng = np.random.default_rng(0)
    labels = ["female", "male"] * 300
    one = rng.standard_normal((600, 16))
    one[:, 0] += 3 * np.array([1.0, -1.0] * 300)

    erasure, record = fit_inlp(one, labels, seed=0)
    limited, limited_record = fit_inlp(one, labels, seed=0, most=1)

    assert erasure.rank <= 2
    assert np.linalg.norm(erasure.left[0]) > 0.99
    assert record.at_chance
    assert record.rounds[0][1].accuracy > 0.95
    assert record.rounds[-1][1].low <= record.rounds[-1][1].majority
    assert limited.rank == 1
    assert not limited_record.at_chance


def test_inlp_holds_out_words_with_all_their_forms() -> None:
    """Two forms of a word are nearly one vector: held out alone, one would be known from the other."""
    rng = np.random.default_rng(0)
    words = [f"word {number}" for number in range(60) for _ in range(2)]
    x = np.repeat(rng.standard_normal((60, 30)), 2, axis=0) + 0.01 * rng.standard_normal((120, 30))
    labels = ["a" if number < 30 else "b" for number in range(60) for _ in range(2)]

    erasure, _ = fit_inlp(x, labels, seed=0)

    assert erasure.rank  # nothing but noise, read by its other form
    with pytest.raises(ValueError, match="does not read the labels"):
        fit_inlp(x, labels, seed=0, words=words)


def test_inlp_of_labels_that_cannot_be_read_is_refused() -> None:
    """Also where one round would remove more than it may."""
    rng = np.random.default_rng(0)

    with pytest.raises(ValueError, match="does not read the labels"):
        fit_inlp(rng.standard_normal((200, 8)), ["a", "b"] * 100, seed=0)
    x, labels = _planted(300, 8, 4)
    with pytest.raises(ValueError, match="one round removes 3 dimensions, more than the limit of 2"):
        fit_inlp(x, labels, seed=0)
    with pytest.raises(ValueError, match="one word only"):
        fit_inlp(x[:3], ["a", "a", "b"], seed=0)


def test_random_directions_are_orthonormal_nested_and_fixed() -> None:
    """The numbers are those of PCG64's bits, on every machine."""
    four = random_directions(50, 4, seed=3)

    np.testing.assert_allclose(four.T @ four, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(random_directions(50, 1, seed=3), four[:, :1], atol=1e-12)
    assert abs(float(four[:, 0] @ random_directions(50, 1, seed=4)[:, 0])) < 0.5
    np.testing.assert_allclose(random_directions(3, 1, seed=0)[:, 0], [0.5, 0.5, 0.5], atol=2)
    with pytest.raises(ValueError, match="from 1 to 3"):
        random_directions(3, 4, seed=0)


def test_random_directions_are_uniform() -> None:
    """The mean squared coordinate of many is 1 / D, and no side is preferred."""
    many = np.stack([random_directions(5, 1, seed)[:, 0] for seed in range(2_000)])

    np.testing.assert_allclose((many**2).mean(axis=0), 0.2, atol=0.02)
    np.testing.assert_allclose(many.mean(axis=0), 0, atol=0.03)


# Prints nothing; reads vectors and classes, and writes what concept-erasure makes of them, without its shrinkage.
_CONCEPT_ERASURE = """
import sys
import numpy as np
import torch
from concept_erasure import LeaceFitter

folder, method, affine = sys.argv[1], sys.argv[2], sys.argv[3] == "affine"
x, z = torch.from_numpy(np.load(f"{folder}/x.npy")), torch.from_numpy(np.load(f"{folder}/z.npy"))
options = {"shrinkage": False, "constrain_cov_trace": False, "svd_tol": 1e-9}
fitter = LeaceFitter(x.shape[1], z.shape[1], method, affine=affine, dtype=torch.float64, **options)
np.save(f"{folder}/erased.npy", fitter.update(x, z).eraser(x).numpy())
"""


@pytest.mark.system
@pytest.mark.parametrize("classes", [2, 4])
def test_concept_erasure_makes_the_same_of_vectors(classes: int, tmp_path: Path) -> None:
    """LEACE, and the projection of means' differences, by the package of LEACE's authors, in a process of its own."""
    (wheel,) = Path(os.environ["SENSEPROBE_TEST_PACKAGES"]).glob("concept_erasure-*.whl")
    x, labels = _planted(300, 20, classes)
    codes, _ = code_labels(labels)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "z.npy", np.eye(classes)[codes])

    def erase(method: str, affine: str) -> np.ndarray:
        program = [sys.executable, "-c", _CONCEPT_ERASURE, str(tmp_path), method, affine]
        subprocess.run(program, check=True, env={**os.environ, "PYTHONPATH": str(wheel)})
        erased: np.ndarray = np.load(tmp_path / "erased.npy")
        return erased

    np.testing.assert_allclose(fit_leace(x, labels).apply(x), erase("leace", "affine"), atol=1e-9)
    means = np.array([x[codes == code].mean(axis=0) for code in range(classes)])
    projected = Erasure.onto((means[1:] - means[0]).T).apply(x)
    np.testing.assert_allclose(projected, erase("orth", "linear"), atol=1e-9)
