"""A copy of a file of vectors from which directions were removed: of the parent's form, its words and their order.

What is written beside numbers (words, headers, separators, ends of lines, lists of words) is copied as bytes. Numbers
have the parent's number format, and in texts seven digits, as float32 has them: ``0.04216374``, ``-1.25e-05``.
"""

import mmap
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from senseprobe.arrays import Unusable, explained, map_npy, map_tensors, read_npz, tensor_spans
from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.erasure import Erasure, divide_lengths
from senseprobe.evaluate.mitigation.record import Norms
from senseprobe.evaluate.models.vector_tables import open_vectors
from senseprobe.messages import printable
from senseprobe.statistics.intervals import FloatArray
from senseprobe.word_vectors import MOST_LINE, MOST_WORD, VectorTable, read_layout

_NUMBERS = 1_000_000  # in memory at once
_END = b" \t\r\n"
_DIGITS = b"%.7g"
_NOTHING = 2.0**-48

Blocks: TypeAlias = Iterable[FloatArray]


class VectorCopy:
    """The copy of a file of vectors while it is written, and what was done to each row.

    - `removed`: float64 of shape (rows, rank), what was removed; `scale`: float64 of shape (rows,), by what rows
      were multiplied to have their former length, None where they were not.
    - `residual` and `norms`: of what can be read of the copy (mitigation/record.py), when `measure` has read it.
    """

    def __init__(self, table: VectorTable, erasure: Erasure, *, renormalise: bool = False) -> None:
        self.table, self.erasure = table, erasure
        rows = table.vocabulary.count
        self.removed: FloatArray = np.zeros((rows, erasure.rank))
        self.scale: FloatArray | None = np.ones(rows) if renormalise else None
        self._before = np.zeros(rows)
        self.residual, self.norms = 0.0, Norms(mean=1.0, least=1.0)

    @property
    def step(self) -> int:
        """How many rows are in memory at once."""
        return max(1, _NUMBERS // self.table.dimensions)

    def alter(self, first: int, rows: FloatArray) -> FloatArray:
        """Return rows without the directions, the first of which is row `first`; float64 of shape (N, dimensions)."""
        if not (finite := np.isfinite(rows).all(axis=1)).all():
            raise Unusable(f"row {first + int(np.argmin(finite)) + 1} has a number that is not finite")
        span = slice(first, first + len(rows))
        self.removed[span], altered = _erase(rows, self.erasure)
        self._before[span] = np.linalg.norm(rows, axis=1)
        if self.scale is not None:
            after = np.linalg.norm(altered, axis=1)
            self.scale[span] = divide_lengths(self._before[span], after)
            altered = altered * self.scale[span, None]
        return altered

    def blocks(self) -> Iterator[tuple[int, FloatArray]]:
        """Yield the altered rows of the parent in parts, each with the number of its first."""
        rows = self.table.vocabulary.count
        for first in range(0, rows, self.step):
            yield first, self.alter(first, self.table.read(range(first, min(first + self.step, rows))))

    def write(self, folder: Path) -> Path:
        """Write the copy into a folder, with its list of words; return its file, and measure what is left there.

        Raises ModelError where the parent is of a form that cannot be written, and OSError.
        """
        path = self.table.files[0]
        write = None if self.table.tokens else _WRITERS.get(self.table.format)
        if write is None:
            raise ModelError(
                f"{printable(str(path))} is {self.table.format}: directions are removed from files of text, word2vec, "
                "npy, npz and safetensors with a vector for each word"
            )
        copy = folder / path.name
        failure = None
        with explained(path):
            try:
                write(self, copy)
            except OSError as error:  # of the copy: the parent was read once already
                failure = error
        if failure:
            raise failure
        for words in self.table.files[1:]:
            shutil.copyfile(words, folder / words.name)
        try:
            self._measure(open_vectors(copy))
        except ModelError as error:  # of a file that will have another name, or none
            reason = str(error).replace(str(folder), folder.name).partition(": --skip-bad")[0]
            raise ModelError(f"{printable(str(path))} cannot be copied: {reason}") from None
        return copy

    def _measure(self, copy: VectorTable) -> None:
        words = self.table.vocabulary
        if copy.vocabulary.rows != words.rows or copy.vocabulary.count != words.count:
            raise ModelError(f"{printable(copy.files[0].name)} does not have the words of its parent")
        ratios = np.ones(words.count)
        for first in range(0, words.count, self.step):
            rows = copy.read(range(first, min(first + self.step, words.count)))
            span = slice(first, first + len(rows))
            ratios[span] = divide_lengths(np.linalg.norm(rows, axis=1), self._before[span])
            unscaled = rows if self.scale is None else rows / self.scale[span, None]
            self.residual = max(self.residual, float(np.abs(self.erasure.read(unscaled)).max()))
        self.norms = Norms(mean=float(ratios.mean()), least=float(ratios.min()))


def _erase(rows: FloatArray, erasure: Erasure) -> tuple[FloatArray, FloatArray]:
    """Return what is removed of rows, and the rows without it, as `Erasure.read` and `apply` do.

    Sums are taken one number after the other, so that bits do not depend on how many rows, threads or processors there
    are. What is far below the rounding of a row's largest number is zero.
    """
    centred, removed, altered = rows - erasure.mean, np.zeros((len(rows), erasure.rank)), rows.copy()
    for number, weights in zip(centred.T, erasure.right, strict=True):
        removed += number[:, None] * weights
    for coordinate, direction in zip(removed.T, erasure.left.T, strict=True):
        altered -= coordinate[:, None] * direction
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return removed, np.where(np.abs(altered) < _NOTHING * largest, 0.0, altered)


# --- text -------------------------------------------------------------------------------------------------------------


def _write_text(copy: VectorCopy, path: Path) -> None:
    with copy.table.files[0].open("rb") as file, path.open("wb") as out:
        layout = read_layout(file.read(MOST_LINE))
        file.seek(0)
        out.write(file.read(layout.begin))
        if layout.headed:
            out.write(file.readline(MOST_LINE))
        form, first = layout.separator.join([_DIGITS] * layout.dimensions), 0
        lines = iter(lambda: file.readline(MOST_LINE), b"")
        while window := [*islice(lines, copy.step)]:
            texts = [line.rstrip(_END) for line in window]
            filled = [text for text in texts if text]
            numbers = np.array([layout.numbers(text) for text in filled], dtype=np.float64)
            altered = iter(copy.alter(first, numbers).tolist() if filled else ())
            for line, text in zip(window, texts, strict=True):
                if text:
                    word = layout.word(text) or b""
                    out.write(b"%b%b%b" % (word, layout.separator, form % tuple(next(altered))))
                out.write(line[len(text) :])
            first += len(filled)


# --- word2vec, binary -------------------------------------------------------------------------------------------------


def _write_binary(copy: VectorCopy, path: Path) -> None:
    source, width = copy.table.files[0], 4 * copy.table.dimensions
    with (
        source.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        path.open("wb") as out,
    ):
        out.write(data.readline())
        end = data.tell()
        for _, rows in copy.blocks():
            for row in rows.astype("<f4"):
                numbers = data.find(b" ", end, end + MOST_WORD) + 1
                out.write(data[end:numbers])
                out.write(row.tobytes())
                end = numbers + width
        out.write(data[end:])


# --- arrays -----------------------------------------------------------------------------------------------------------


def _write_npy(copy: VectorCopy, path: Path) -> None:
    matrix = map_npy(copy.table.files[0])
    _check_format(matrix)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=matrix.dtype, shape=matrix.shape)
    for first, rows in copy.blocks():
        out[first : first + len(rows)] = _round(rows, matrix.dtype)
    out.flush()


def _write_npz(copy: VectorCopy, path: Path) -> None:
    arrays = read_npz(copy.table.files[0])
    with zipfile.ZipFile(copy.table.files[0]) as source, zipfile.ZipFile(path, "w") as out:
        for member in source.infolist():
            array = arrays[member.filename.removesuffix(".npy")]
            if array.ndim == 2 and array.dtype.kind in "fiu":  # the only one: vector_tables.py
                _check_format(array)
                array = np.concatenate([_round(rows, array.dtype) for _, rows in copy.blocks()])
            entry = zipfile.ZipInfo(member.filename)  # of 1980: the same bytes at all times
            entry.compress_type = member.compress_type
            with out.open(entry, "w", force_zip64=True) as part:
                np.lib.format.write_array(part, array, allow_pickle=False)


def _write_tensors(copy: VectorCopy, path: Path) -> None:
    source = copy.table.files[0]
    tensors, _ = map_tensors(source)
    flat = [name for name, tensor in tensors.items() if tensor.ndim == 2]
    name = "embeddings" if "embeddings" in flat else flat[0]
    code, start, end = tensor_spans(source)[name]
    if code != "BF16":
        _check_format(tensors[name])
    with source.open("rb") as file, path.open("wb") as out:
        out.write(file.read(start))
        for _, rows in copy.blocks():
            out.write((_to_bfloat16(rows) if code == "BF16" else _round(rows, tensors[name].dtype)).tobytes())
        file.seek(end)
        shutil.copyfileobj(file, out)


def _check_format(matrix: NDArray[Any]) -> None:
    if matrix.dtype.kind != "f":
        raise Unusable(f"its numbers are {matrix.dtype}, those of quantised vectors: use the full ones")


def _round(rows: FloatArray, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return rows in a number format; infinite where it has no such numbers, which is refused when they are read."""
    with np.errstate(over="ignore"):
        return rows.astype(dtype)


def _to_bfloat16(rows: FloatArray) -> NDArray[np.uint16]:
    """Return rows in bfloat16, rounded to the nearest, and to even numbers half-way."""
    bits = _round(rows, np.dtype("<f4")).view("<u4")
    return np.asarray((bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16, dtype="<u2")


_WRITERS: Mapping[str, Callable[[VectorCopy, Path], None]] = {
    "text, as GloVe writes it": _write_text,
    "text, as word2vec and fastText write it": _write_text,
    "binary, as word2vec writes it": _write_binary,
    "npy": _write_npy,
    "npz": _write_npz,
    "safetensors": _write_tensors,
}
"""By the format of a table."""
