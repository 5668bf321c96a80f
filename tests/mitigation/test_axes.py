"""Axes that users name: words, files and lists, what is refused, and the directions of their vectors."""

from pathlib import Path

import numpy as np
import pytest

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.mitigation.axes import derive_directions, read_axis, read_labels, refuse_missing
from senseprobe.statistics import principal_direction


def test_two_words_are_an_axis() -> None:
    """The direction is first - second."""
    axis = read_axis("he-she")

    assert (axis.name, axis.rank, axis.words) == ("he-she", 1, ("he", "she"))
    assert axis.derived is axis.full
    assert axis.derived.is_paired


@pytest.mark.parametrize(
    ("name", "derived", "full", "rank"),
    [("gendered", 1, 9, 1), ("demonyms", 8, 40, 1), ("adherents", 8, 25, 2), ("definitional", 10, 10, 1)],
)
def test_lists_are_those_of_the_papers(name: str, derived: int, full: int, rank: int) -> None:
    """Dev et al. derive a direction from few words and look for it in all."""
    axis = read_axis(f"list:{name}")

    assert (len(axis.derived.items), len(axis.full.items), axis.rank) == (derived, full, rank)
    assert read_axis(f"list:{name}:1").rank == 1


def test_a_file_has_pairs_or_words(tmp_path: Path) -> None:
    """With a rank after a colon, blanks around cells, columns in any order, and other marks between them."""
    pairs, words = tmp_path / "pairs.csv", tmp_path / "ages"
    pairs.write_text("second;first\n old ; young\nold man;boy\n\n", encoding="utf-8")
    words.write_text("word\nyoung\nold\nmature\n", encoding="utf-8")

    assert read_axis(f"{pairs}:2").derived.items == (("young", "old"), ("boy", "old man"))
    assert read_axis(f"{pairs}:2").rank == 2
    assert read_axis(str(words)).derived.items == (("young",), ("old",), ("mature",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("he", "he is not an axis: give two words"),
        ("he-", "is not an axis"),
        ("he-she-it", "is not an axis"),
        ("he-she:2", "is not an axis"),
        ("he-he", "both words are he"),
        ("", "is not an axis"),
        ("a\x1b[2J", r"'a\\x1b\[2J' is not an axis"),
        ("list:demonym", "did you mean 'demonyms'"),
        ("list:", "this list is not known"),
        ("list:adherents:0", "rank 0 is not possible: a rank is from 1"),
        ("list:adherents:8", "8 words span at most 7 dimensions"),
        ("list:gendered:2", "1 pair span at most 1 dimension"),
        ("missing.csv", "missing.csv: cannot be read: No such file"),
    ],
)
def test_what_is_no_axis_is_refused(text: str, message: str) -> None:
    """One message each."""
    with pytest.raises(SenseprobeError, match=message):
        read_axis(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "1: the first line must name columns first, second or the column word"),
        (b"he,she\nman,woman\n", "1: the first line must name"),
        (b"first,second,third\n", "1: the first line must name"),
        (b"first,second\n", "only the names of columns"),
        (b"first,second\nhe\n", ":2: 1 cells, expected 2"),
        (b"first,second\nhe,\n", ":2: second is empty"),
        (b"first,second\nhe,he\n", ":2: both words are 'he'"),
        (b"first,second\nhe,she\nhe,she\n", ":3: he-she is in line 2, too"),
        (b"first,second\nhe,\xff\n", "2: is not UTF-8"),
        (b"word\nold\n", "1 word span at most 0 dimensions"),
    ],
)
def test_files_that_are_no_axis_are_refused_with_their_line(content: bytes, message: str, tmp_path: Path) -> None:
    """One message each."""
    path = tmp_path / "axis.csv"
    path.write_bytes(content)

    with pytest.raises(SenseprobeError, match=message):
        read_axis(str(path))


def test_labels_are_of_a_file_or_of_our_gendered_words(tmp_path: Path) -> None:
    """A word may be repeated with its label, not with another."""
    path = tmp_path / "labels.csv"
    path.write_text("word,label\nboy,young\ngrandfather,old\nboy,young\n", encoding="utf-8")

    assert read_labels(str(path)) == {"boy": "young", "grandfather": "old"}
    assert len(read_labels("list:gender")) == 409
    path.write_text("word,label\nboy,young\nboy,old\n", encoding="utf-8")
    with pytest.raises(SenseprobeError, match="3: 'boy' is young, and old, too"):
        read_labels(str(path))
    path.write_text("word,label\nboy,young\n", encoding="utf-8")
    with pytest.raises(SenseprobeError, match="at least two labels"):
        read_labels(str(path))
    with pytest.raises(SenseprobeError, match="list:gender has"):
        read_labels("list:demonyms")


def test_words_without_a_vector_are_named() -> None:
    """The first few of them."""
    refuse_missing("vectors:glove", [])
    with pytest.raises(ModelError, match="vectors:glove has no vector of a, b, c, d, e and 1 more"):
        refuse_missing("vectors:glove", [*"abcdef"])


def test_directions_of_pairs_are_those_of_bolukbasi() -> None:
    """The first is `principal_direction`; further ones are orthogonal to it."""
    rng = np.random.default_rng(0)
    items = rng.standard_normal((9, 2, 20)) + np.array([[1.0], [-1.0]]) * rng.standard_normal(20)

    directions = derive_directions(items, 3)

    np.testing.assert_allclose(directions[:, 0], principal_direction(items[:, 0], items[:, 1]).direction, atol=1e-9)
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-12)


def test_directions_of_words_are_principal_components() -> None:
    """Centred they are those of the covariance; not centred, the first of words that share a mean is that mean."""
    rng = np.random.default_rng(0)
    words = rng.standard_normal((40, 1, 6)) * np.array([3, 1, 1, 1, 1, 1]) + 20 * np.eye(6)[5]

    centred, plain = (derive_directions(words, 1, centred=centred)[:, 0] for centred in (True, False))

    values, axes = np.linalg.eigh(np.cov(words[:, 0].T))
    assert abs(centred @ axes[:, values.argmax()]) == pytest.approx(1)
    mean = words[:, 0].mean(axis=0)
    assert plain @ mean / np.linalg.norm(mean) > 0.99
    assert centred[np.abs(centred).argmax()] > 0


@pytest.mark.parametrize(
    ("items", "rank", "message"),
    [
        ([[[1.0, 2.0], [1.0, 2.0]]], 1, "pair 1 have the same vector"),
        ([[[1.0, 2.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]], 1, "a vector is zero"),
        ([[[1.0, 2.0]], [[1.0, 2.0]]], 1, "2 items span 0 dimensions, not 1"),
        ([[[1.0, np.nan]]], 1, "finite"),
        ([[[1.0, 2.0]], [[3.0, 2.0]]], 2, "2 items span 1 dimension, not 2"),
    ],
)
def test_vectors_without_such_directions_are_refused(items: list[list[list[float]]], rank: int, message: str) -> None:
    """With the pair, or what they span."""
    with pytest.raises(ValueError, match=message):
        derive_directions(items, rank)
