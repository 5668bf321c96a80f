"""Vectors of made-up words in all forms of files, and an axis that was planted in them."""

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from senseprobe.arrays import pack_tensors

Words = Sequence[str]


def _text(folder: Path, words: Words, matrix: NDArray[Any], header: str = "", end: str = "\n") -> Path:
    path = folder / "vectors.txt"
    lines = (" ".join([word, *(f"{number:.6g}" for number in row)]) for word, row in zip(words, matrix, strict=True))
    path.write_bytes("".join(f"{line}{end}" for line in [*filter(None, [header]), *lines]).encode())
    return path


def _tabbed(folder: Path, words: Words, matrix: NDArray[Any]) -> Path:
    path = _text(folder, words, matrix)
    path.write_bytes(path.read_bytes().replace(b" ", b"\t"))
    return path


def _headed(folder: Path, words: Words, matrix: NDArray[Any]) -> Path:
    """As fastText writes it: with the counts, and a blank at the end of each line."""
    path = _text(folder, words, matrix, f"{len(words)} {matrix.shape[1]}", " \n")
    return path.rename(folder / "wiki.vec")


def _binary(folder: Path, words: Words, matrix: NDArray[Any], end: bytes = b"\n") -> Path:
    path = folder / "vectors.bin"
    rows = [word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, matrix, strict=True)]
    path.write_bytes(f"{len(words)} {matrix.shape[1]}\n".encode() + b"".join(rows))
    return path


def _npy(folder: Path, words: Words, matrix: NDArray[Any]) -> Path:
    np.save(folder / "vectors.npy", matrix.astype(np.float16))
    (folder / "vectors.txt").write_text("\n".join(words), encoding="utf-8")
    return folder / "vectors.npy"


def _npz(folder: Path, words: Words, matrix: NDArray[Any]) -> Path:
    np.savez_compressed(folder / "vectors.npz", words=np.array(words), vectors=matrix, years=np.arange(3))
    return folder / "vectors.npz"


def _tensors(folder: Path, words: Words, matrix: NDArray[Any]) -> Path:
    path = folder / "vectors.safetensors"
    path.write_bytes(pack_tensors({"bias": np.zeros(3), "embeddings": matrix.astype(np.float32)}))
    (folder / "words.json").write_text(str([*words]).replace("'", '"'), encoding="utf-8")
    return path


def _bfloat16(folder: Path, words: Words, matrix: NDArray[Any]) -> Path:
    path = _tensors(folder, words, matrix)
    bits = (matrix.astype("<f4").view("<u4") >> 16).astype("<u2")
    header = {"embeddings": {"dtype": "BF16", "shape": [*matrix.shape], "data_offsets": [0, bits.nbytes]}}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bits.tobytes())
    return path


FORMS: Mapping[str, Callable[[Path, Words, NDArray[Any]], Path]] = {
    "glove": _text,
    "windows": lambda folder, words, matrix: _text(folder, words, matrix, end="\r\n"),
    "tabs": _tabbed,
    "fasttext": _headed,
    "word2vec": _binary,
    "word2vec-flat": lambda folder, words, matrix: _binary(folder, words, matrix, b""),
    "npy": _npy,
    "npz": _npz,
    "safetensors": _tensors,
    "bfloat16": _bfloat16,
}
"""Writers of each form of files of vectors."""


def member_names(path: Path) -> list[str]:
    """Return the names in an archive, in order."""
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


MALE, FEMALE = (tuple(f"{gender}{number}" for number in range(80)) for gender in ("boy", "girl"))
OTHERS = tuple(f"thing{number}" for number in range(200))


def plant_gender(
    *, dimensions: int = 12, spread: int = 1, seed: int = 0, layered: bool = False
) -> tuple[Words, NDArray[np.float64]]:
    """Return words and vectors in which gender is one dimension, or spread over several that no pair shows alone.

    Of each pair he-she, boy0-girl0… the two differ in the first dimension; with a `spread` of more, words of a gender
    have the same sign in further ones, too, and he and she do not. `layered`: with more and more noise in four
    dimensions, so that a probe of the first leaves much to one of the next.
    """
    rng = np.random.default_rng(seed)
    words = ("he", "she", *MALE, *FEMALE, *OTHERS)
    matrix = rng.normal(size=(len(words), dimensions))
    signs = np.array([1.0, -1.0, *[1.0] * len(MALE), *[-1.0] * len(FEMALE), *[0.0] * len(OTHERS)])
    matrix[1] = matrix[0]
    matrix[:, 0] = 3 * signs + 0.1 * rng.normal(size=len(words)) * (signs == 0)
    matrix[2:, 1:spread] += 3 * signs[2:, None]
    if layered:
        matrix[:, :4] = signs[:, None] + rng.normal(size=(len(words), 4)) * [0.1, 0.27, 0.74, 2]
    return words, matrix
