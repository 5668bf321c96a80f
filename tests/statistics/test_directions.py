"""Directions of pairs of words, on vectors made by hand and against an eigendecomposition."""

import numpy as np
import pytest

from senseprobe.statistics.directions import leave_out_pairs, principal_direction


def test_two_pairs_by_hand() -> None:
    """Half differences are (1, 0) and (0, .6): the axis is (1, 0), with 1 of 1.36 of the variance."""
    first = [[1.0, 0.0], [0.8, 0.6]]
    second = [[-1.0, 0.0], [0.8, -0.6]]

    found = principal_direction(first, second)

    assert found.direction == pytest.approx([1, 0])
    assert found.shares == pytest.approx([1 / 1.36, 0.36 / 1.36])
    assert not found.is_doubtful


def test_the_sign_is_that_of_the_first_words() -> None:
    """Exchanged sides turn the axis around."""
    first, second = np.array([[1.0, 0.2], [2.0, 0.1]]), np.array([[-1.0, 0.3], [-1.0, 0.2]])

    assert principal_direction(first, second).direction @ (first - second).mean(axis=0) > 0
    assert principal_direction(second, first).direction == pytest.approx(-principal_direction(first, second).direction)


def test_it_is_the_largest_eigenvector_of_pair_centred_rows() -> None:
    """Equal to numpy's eigendecomposition of the covariance of the 20 rows, each less the mean of its pair."""
    generator = np.random.default_rng(5)
    first, second = generator.normal(1, 1, (10, 7)), generator.normal(-1, 1, (10, 7))
    rows = []
    for a, b in zip(first, second, strict=True):
        a, b = a / np.sqrt(a @ a), b / np.sqrt(b @ b)
        rows += [a - (a + b) / 2, b - (a + b) / 2]
    values, vectors = np.linalg.eigh(np.array(rows).T @ np.array(rows))

    found = principal_direction(first, second)

    assert abs(found.direction @ vectors[:, -1]) == pytest.approx(1)
    assert found.shares[:7] == pytest.approx(values[::-1] / values.sum())


def test_a_second_component_over_half_of_the_first_is_doubtful() -> None:
    """Half differences (.8, 0) and (0, .6): .36 is over half of .64."""
    assert principal_direction([[0.8, 0.6], [0.8, 0.6]], [[-0.8, 0.6], [0.8, -0.6]]).is_doubtful


def test_centring_over_the_differences_is_refused() -> None:
    """It would subtract the axis itself."""
    with pytest.raises(ValueError, match="delete the axis"):
        principal_direction([[1.0, 0.0]], [[-1.0, 0.0]], centring="differences")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([[1.0, 0.0]], [[2.0, 0.0]], "the same vector"),
        ([[1.0, 0.0], [-1.0, 0.0]], [[-1.0, 0.0], [1.0, 0.0]], "opposite"),
        ([[1.0, np.nan]], [[1.0, 0.0]], "not finite"),
        ([[0.0, 0.0]], [[1.0, 0.0]], "zero"),
        ([], [], "at least one pair"),
    ],
)
def test_pairs_without_an_axis_are_refused(first: list[list[float]], second: list[list[float]], message: str) -> None:
    """Each says what is wrong."""
    with pytest.raises(ValueError, match=message):
        principal_direction(first, second)


def test_each_pair_is_left_out_in_turn() -> None:
    """Of the two pairs by hand, each alone spans its own half difference; of one pair nothing is left."""
    found = leave_out_pairs([[1.0, 0.0], [0.8, 0.6]], [[-1.0, 0.0], [0.8, -0.6]])

    assert found == pytest.approx(np.array([[0, 1], [1, 0]]))
    assert leave_out_pairs([[1, 0]], [[-1, 0]]).shape == (0, 2)
