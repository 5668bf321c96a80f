"""Arrays in files of strangers, one reader a format: npy and safetensors, mapped into memory, and npz.

Nothing is unpickled, and no more is unfolded than vectors would be.
"""

import json
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from senseprobe.errors import ModelError
from senseprobe.messages import printable
from senseprobe.tables import read_json

_MOST_HEADER = 2**26  # bytes of the header of safetensors
_MOST_UNPACKED = 64  # times the bytes of an .npz: vectors hardly shrink when they are compressed
_SPARE_UNPACKED = 2**26
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I8": "i1", "U8": "u1"}

_DAMAGED: tuple[type[Exception], ...] = (
    *(OSError, ValueError, TypeError, LookupError, EOFError, SyntaxError, OverflowError, MemoryError, RecursionError),
    *(NotImplementedError, RuntimeError, AttributeError, zipfile.BadZipFile, zlib.error, pa.ArrowException),
    tokenize.TokenError,  # NumPy reads the headers of arrays as Python
)
"""What libraries raise of a damaged file."""


class Unusable(Exception):
    """Why a file cannot be used, in a clause; `explained` says which file that is."""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what readers and libraries raise of a damaged file into ModelError with its path."""
    try:
        yield
    except Unusable as error:
        raise ModelError(f"{printable(str(path))}: {error}") from None
    except _DAMAGED as error:
        reason = printable(str(error).partition("\n")[0][:200]) or type(error).__name__
        raise ModelError(f"{printable(str(path))}: cannot be read as vectors ({reason})") from None


# --- npy, npz ---------------------------------------------------------------------------------------------------------


@contextmanager
def _tolerating_python_2() -> Iterator[None]:
    """Silence NumPy's warning that an array was written by Python 2: it reads the array all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def map_npy(path: Path) -> NDArray[Any]:
    """Map the array of a file into memory."""
    with _tolerating_python_2():
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive by name. Raise Unusable where it has another file, objects, or far too much."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if not all(member.filename.endswith(".npy") for member in members):
            raise Unusable("it is a zip archive: unpack it first")
        if sum(member.file_size for member in members) > _MOST_UNPACKED * path.stat().st_size + _SPARE_UNPACKED:
            raise Unusable("it unpacks to far more data than vectors need")
        if pickled := [member.filename for member in members if _has_objects(archive, member)]:
            name = printable(pickled[0].removesuffix(".npy"))
            raise Unusable(
                f"its array {name} contains Python objects, which can run code: save it as text, {name}.astype(str)"
            )
    with _tolerating_python_2(), np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _has_objects(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    """Return whether the header of an array says that it has objects of Python, which are pickled."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return bool(version < (3, 0) and read(file)[2].hasobject)


# --- safetensors ------------------------------------------------------------------------------------------------------


def is_safetensors(path: Path) -> bool:
    """Return whether a file begins as safetensors do: with the length of a header, and the header's brace."""
    with path.open("rb") as file:
        start = file.read(9)
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") < min(path.stat().st_size, _MOST_HEADER)


def map_tensors(path: Path) -> tuple[dict[str, NDArray[Any]], Mapping[str, Any]]:
    """Map the tensors of a file into memory, those of dtypes that vectors have; return them, and its metadata.

    Raise Unusable, or what libraries do, where it is no file of safetensors or was cut short.
    """
    if not is_safetensors(path):
        raise Unusable("it is not a safetensors file")
    header, begin = read_tensor_header(path)
    metadata, tensors = header.pop("__metadata__", {}), dict[str, NDArray[Any]]()
    data = np.memmap(path, np.uint8, "r", offset=begin)
    for name, tensor in header.items():
        if tensor["dtype"] not in _DTYPES:
            continue
        start, end = tensor["data_offsets"]
        if not 0 <= start <= end <= len(data):
            raise Unusable(f"the tensor {printable(name)} is outside the file, which was cut short")
        values = data[start:end].view(_DTYPES[tensor["dtype"]])
        if tensor["dtype"] == "BF16":
            values = (values.astype("<u4") << 16).view("<f4")
        tensors[name] = values.reshape(tensor["shape"])
    return tensors, metadata


def read_tensor_header(path: Path) -> tuple[dict[str, Any], int]:
    """Return the header of a file of safetensors, and where the numbers begin; raise what libraries do without one."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _MOST_HEADER:
            raise ValueError("the header is too long")
        header: dict[str, Any] = read_json(file.read(length))
    return header, 8 + length


def pack_tensor_header(header: Mapping[str, Any]) -> bytes:
    """Return the header of a file of safetensors in bytes, a multiple of eight of them."""
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def tensor_spans(path: Path) -> dict[str, tuple[str, int, int]]:
    """Return of each tensor of a file that `map_tensors` reads its dtype, and where its bytes begin and end."""
    header, begin = read_tensor_header(path)
    header.pop("__metadata__", None)
    spans = {name: tensor["data_offsets"] for name, tensor in header.items()}
    return {name: (header[name]["dtype"], begin + start, begin + end) for name, (start, end) in spans.items()}


def pack_tensors(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the contents of a file of safetensors: the same bytes for the same tensors, in the order that they have.

    Raises KeyError for numbers of a kind that vectors do not have.
    """
    codes = {np.dtype(form): code for code, form in _DTYPES.items() if code != "BF16"}
    header, parts, end = dict[str, Any](), list[bytes](), 0
    for name, tensor in tensors.items():
        data = np.ascontiguousarray(tensor).tobytes()
        offsets = [end, end := end + len(data)]
        header[name] = {"dtype": codes[tensor.dtype], "shape": [*tensor.shape], "data_offsets": offsets}
        parts.append(data)
    return b"".join([pack_tensor_header(header), *parts])
