"""Copies of files of vectors: of the same form, read back by our reader, with the same words and no direction left."""

from pathlib import Path

import numpy as np
import pytest
from tests.mitigation.vectors import FORMS, member_names

from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.erasure import Erasure
from senseprobe.evaluate.mitigation.vector_copy import VectorCopy
from senseprobe.evaluate.models.vector_tables import open_vectors

RNG = np.random.default_rng(1)
WORDS = ["he", "she", "the", "New_York", "café", "nurse,", "1.5"]
MATRIX = RNG.normal(size=(len(WORDS), 8))
ROUNDED = {"npy": 2e-3, "bfloat16": 2e-2}
"""How exact numbers are that are not of float32."""


@pytest.fixture(params=FORMS)
def parent(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of each form."""
    (tmp_path / "parent").mkdir()
    return FORMS[request.param](tmp_path / "parent", WORDS, MATRIX)


def write(parent: Path, erasure: Erasure, folder: Path, *, renormalise: bool = False) -> tuple[Path, VectorCopy]:
    """Write a copy; return its file."""
    folder.mkdir()
    copy = VectorCopy(open_vectors(parent), erasure, renormalise=renormalise)
    return copy.write(folder), copy


def test_a_copy_is_of_the_same_form(parent: Path, tmp_path: Path) -> None:
    """Our reader says of both the same, and words stand where they stood."""
    erasure = Erasure.onto(MATRIX[:1].T - MATRIX[1:2].T)
    path, _ = write(parent, erasure, tmp_path / "copy")

    before, after = open_vectors(parent), open_vectors(path)
    assert (after.format, after.dtype, after.header) == (before.format, before.dtype, before.header)
    assert [*after.vocabulary.rows.items()] == [*before.vocabulary.rows.items()]
    assert {file.name for file in path.parent.iterdir()} == {file.name for file in parent.parent.iterdir()}
    assert open_vectors(path.parent).files == after.files


def test_directions_are_gone(parent: Path, tmp_path: Path) -> None:
    """What is left of them is the number format's rounding, and is what the record says."""
    erasure = Erasure.onto(RNG.normal(size=(8, 2)))
    path, copy = write(parent, erasure, tmp_path / "copy")

    rows, before = (open_vectors(file).read(range(len(WORDS))) for file in (path, parent))
    exact = ROUNDED.get("bfloat16" if "BF16" in str(parent.read_bytes()[:200]) else open_vectors(parent).format, 1e-6)
    left = np.abs(rows @ erasure.right)
    assert left.max() == pytest.approx(copy.residual)
    assert left.max() < exact
    np.testing.assert_allclose(rows, erasure.apply(before), atol=exact)
    np.testing.assert_allclose(rows + copy.removed @ erasure.left.T, before, atol=exact)
    ratios = np.linalg.norm(rows, axis=1) / np.linalg.norm(before, axis=1)
    assert (copy.norms.mean, copy.norms.least) == pytest.approx((ratios.mean(), ratios.min()))


def test_lengths_can_be_restored(parent: Path, tmp_path: Path) -> None:
    """Each row has the length that it had, and no direction."""
    erasure = Erasure.onto(RNG.normal(size=(8, 1)))
    path, copy = write(parent, erasure, tmp_path / "copy", renormalise=True)

    rows, before = (open_vectors(file).read(range(len(WORDS))) for file in (path, parent))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), np.linalg.norm(before, axis=1), rtol=1e-2)
    assert copy.scale is not None
    np.testing.assert_allclose(rows / copy.scale[:, None] + copy.removed @ erasure.left.T, before, atol=3e-2)
    assert copy.norms.least == pytest.approx(1, abs=1e-2)


def test_the_same_bytes_each_time(parent: Path, tmp_path: Path) -> None:
    """Nothing says when it was written, and what has no numbers is as it was."""
    erasure = Erasure.onto(np.eye(8)[:, :1])
    first, _ = write(parent, erasure, tmp_path / "first")
    second, _ = write(parent, erasure, tmp_path / "second")

    assert first.read_bytes() == second.read_bytes()
    for path in (path for path in parent.parent.iterdir() if path.name != parent.name):
        assert (first.parent / path.name).read_bytes() == path.read_bytes()


def test_an_affine_map_keeps_its_mean(tmp_path: Path) -> None:
    """Of a map with a mean, what is left is counted from the mean."""
    parent = FORMS["glove"](tmp_path, WORDS, MATRIX)
    basis = Erasure.onto(RNG.normal(size=(8, 2)))
    erasure = Erasure(basis.left, basis.right, RNG.normal(size=8))
    path, copy = write(parent, erasure, tmp_path / "copy")

    rows = open_vectors(path).read(range(len(WORDS)))
    assert np.abs((rows - erasure.mean) @ erasure.right).max() == pytest.approx(copy.residual)
    assert copy.residual < 1e-6


def test_texts_keep_all_but_numbers(tmp_path: Path) -> None:
    """Byte-order marks, blank lines, blank words, words with blanks and words twice stay as they are."""
    text = "\ufeffhe 1 2 3 4\nshe 0 1 2 3\n. . . 5 5 5 5\nhe 2 2 2 2\r\n 7 7 7 7\n\n"
    parent = tmp_path / "odd.txt"
    parent.write_text(text, encoding="utf-8", newline="")
    path, _ = write(parent, Erasure.onto(np.eye(4)[:, :1]), tmp_path / "copy")

    expected = "\ufeffhe 0 2 3 4\nshe 0 1 2 3\n. . . 0 5 5 5\nhe 0 2 2 2\r\n 0 7 7 7\n\n"
    assert path.read_bytes().decode() == expected


def test_parts_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that does not fit into memory is written in parts."""
    erasure = Erasure.onto(RNG.normal(size=(8, 1)))
    for name, write_form in FORMS.items():
        (tmp_path / name).mkdir()
        parent = write_form(tmp_path / name, WORDS, MATRIX)
        whole, _ = write(parent, erasure, tmp_path / f"{name}-whole")
        with monkeypatch.context() as patch:
            patch.setattr("senseprobe.evaluate.mitigation.vector_copy._NUMBERS", 16)
            parts, _ = write(parent, erasure, tmp_path / f"{name}-parts")
        assert parts.read_bytes() == whole.read_bytes()


def test_archives_keep_their_members(tmp_path: Path) -> None:
    """Other arrays stay, and the order of all."""
    parent = FORMS["npz"](tmp_path, WORDS, MATRIX)
    path, _ = write(parent, Erasure.onto(np.eye(8)[:, :1]), tmp_path / "copy")

    assert member_names(path) == member_names(parent)
    with np.load(path) as arrays:
        np.testing.assert_array_equal(arrays["years"], np.arange(3))


def test_big_endian_arrays_stay_so(tmp_path: Path) -> None:
    """The number format is the parent's, to its byte order."""
    np.save(tmp_path / "v.npy", np.asfortranarray(MATRIX.astype(">f8")))
    (tmp_path / "v.txt").write_text("\n".join(WORDS), encoding="utf-8")
    path, copy = write(tmp_path / "v.npy", Erasure.onto(RNG.normal(size=(8, 1))), tmp_path / "copy")

    assert np.load(path).dtype == np.dtype(">f8")
    assert copy.residual < 1e-15


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """Whole numbers are quantised; a number format may be too small for what is left."""
    (tmp_path / "v.txt").write_text("\n".join(WORDS), encoding="utf-8")
    np.save(tmp_path / "v.npy", (MATRIX * 10).astype(np.int8))
    with pytest.raises(ModelError, match=r"v\.npy: its numbers are int8, those of quantised"):
        write(tmp_path / "v.npy", Erasure.onto(np.eye(8)[:, :1]), tmp_path / "a")
    np.save(tmp_path / "v.npy", np.full((len(WORDS), 8), 60_000, dtype=np.float16))
    with pytest.raises(ModelError, match="not finite"):
        write(tmp_path / "v.npy", Erasure.onto([[-1.0], [2.0], *[[0.0]] * 6]), tmp_path / "b")
