"""Files of safetensors as bytes: tensors are read and copied in parts, and those that do not change stay as they are.

The form: the length of a header in eight bytes, the header as JSON, and the numbers of one tensor after the other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from senseprobe.arrays import pack_tensor_header, read_tensor_header
from senseprobe.errors import ModelError
from senseprobe.messages import printable
from senseprobe.statistics.intervals import FloatArray

_PART = 2**24  # bytes that are copied at once

FORMATS: Mapping[str, torch.dtype] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}
"""The number formats of vectors that can be changed; all others are those of quantised weights."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor in a file: its number format and shape, and where its bytes begin and end."""

    path: Path
    format: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.end - self.start

    @property
    def width(self) -> int:
        """How many bytes a number has."""
        return self.size // max(1, prod(self.shape))

    def parts(self) -> Iterator[bytes]:
        """Yield its bytes."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            for left in range(self.size, 0, -_PART):
                data = file.read(min(left, _PART))
                if len(data) < min(left, _PART):
                    raise _damaged(self.path)
                yield data

    def rows(self, first: int, last: int) -> FloatArray:
        """Return the rows of a matrix from `first` to `last`, half-open: float64 of shape (last - first, columns)."""
        width = self.size // self.shape[0]
        with self.path.open("rb") as file:
            file.seek(self.start + first * width)
            data = file.read((last - first) * width)
        if len(data) < (last - first) * width:
            raise _damaged(self.path)
        return decode(data, self.format, self.shape[1])

    def has_bytes_of(self, other: "StoredTensor") -> bool:
        """Return whether two tensors are the same."""
        alike = (self.format, self.shape) == (other.format, other.shape)
        return alike and all(a == b for a, b in zip(self.parts(), other.parts(), strict=True))


@dataclass(frozen=True, slots=True)
class TensorFile:
    """What a file holds: its tensors by name, and its metadata."""

    path: Path
    tensors: Mapping[str, StoredTensor]
    metadata: Mapping[str, str] | None

    @classmethod
    def read(cls, path: Path) -> "TensorFile":
        """Read the header of a file. Raises ModelError where it is damaged."""
        try:
            header, begin = read_tensor_header(path)
            metadata, size = header.pop("__metadata__", None), path.stat().st_size
            tensors = {name: _tensor(path, entry, begin) for name, entry in header.items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError):
            raise _damaged(path) from None
        ends = {tensor.end for tensor in tensors.values()}
        if not tensors or max(ends) != size or sum(tensor.size for tensor in tensors.values()) != size - begin:
            raise _damaged(path)
        return cls(path, tensors, metadata)


def _tensor(path: Path, entry: Any, offset: int) -> StoredTensor:  # noqa: ANN401 - JSON
    start, end = (int(number) + offset for number in entry["data_offsets"])
    shape = tuple(map(int, entry["shape"]))
    dtype = FORMATS.get(entry["dtype"])
    if not offset <= start <= end or (dtype is not None and end - start != prod(shape) * dtype.itemsize):
        raise ValueError("offsets")
    return StoredTensor(path, str(entry["dtype"]), shape, start, end)


def _damaged(path: Path) -> ModelError:
    return ModelError(f"{printable(str(path))} is not a whole file of safetensors")


def decode(data: bytes, number_format: str, columns: int) -> FloatArray:
    """Return the numbers in bytes as float64 of shape (rows, columns)."""
    values = torch.frombuffer(bytearray(data), dtype=FORMATS[number_format])
    numbers: FloatArray = values.reshape(-1, columns).double().numpy()
    return numbers


def encode(values: FloatArray, number_format: str) -> bytes:
    """Return numbers as bytes in a number format, rounded to the nearest."""
    numbers = torch.from_numpy(np.ascontiguousarray(values)).to(FORMATS[number_format])
    return bytes(numbers.contiguous().view(torch.uint8).numpy().data)


def write_header(file: BinaryIO, tensors: Mapping[str, StoredTensor], metadata: Mapping[str, str] | None) -> list[str]:
    """Write the header of a file that will hold tensors; return their names in the order of their bytes.

    As the library orders them: those of wide numbers first, so that each begins where its format needs it.
    """
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    names, offset = sorted(tensors, key=lambda name: (-tensors[name].width, name)), 0
    for name in names:
        tensor = tensors[name]
        header[name] = {
            "dtype": tensor.format,
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + tensor.size],
        }
        offset += tensor.size
    file.write(pack_tensor_header(header))
    return names
