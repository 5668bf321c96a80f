"""Files of vectors: the format of a file, told by its content, its words, and the rows that are wanted of it.

file -> format -> `VectorTable`: the row of each word -> vectors of rows

A file is looked through once, for its words; vectors stay in the file until they are asked for. Nothing is unpickled.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from senseprobe.arrays import (
    MOST_DIMENSIONS,
    MOST_LINE,
    Unusable,
    VectorTable,
    explained,
    is_text,
    read_binary,
    read_text,
)
from senseprobe.errors import ModelError
from senseprobe.evaluate.models.vector_tables import read_npy, read_npz, read_parquet, read_safetensors
from senseprobe.messages import printable

MOST_HEADER = 2**26  # bytes of the header of safetensors

# What a file begins with that is no file of vectors, and what to do about it.
_NOT_VECTORS = {
    b"\x1f\x8b": "it is compressed by gzip: unpack it first",
    b"BZh": "it is compressed by bzip2: unpack it first",
    b"\xfd7zXZ": "it is compressed by xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "it is compressed by zstd: unpack it first",
    b"\x89HDF": "HDF5 is not read: save the vectors as .npz with a list of words",
    b"\xba\x16\x4f\x2f": "it is a model of fastText, not its vectors: take the .vec file",
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), "it is UTF-16: save it as UTF-8"),
    b"GGUF": "it is a language model: `senseprobe score` takes its folder",
    **{bytes((0x80, version)): "it is a pickle, which can run code: save the vectors as text" for version in range(6)},
}


def open_vectors(path: Path, *, header: bool | None = None, skip_bad: bool = False) -> VectorTable:
    """Look through the file of vectors at `path`, or the one in that folder. ModelError where it cannot be used.

    `header` and `skip_bad` are as of `read_text`, and of texts alone.
    """
    path = path.expanduser()
    if path.is_dir():
        path = _file_in(path)
    if not path.is_file():
        raise ModelError(f"no file of vectors {printable(str(path))} (`senseprobe fetch glove` gets GloVe)")
    with explained(path):
        with path.open("rb") as file:
            start = file.read(MOST_LINE)
        if not start:
            raise Unusable("it is empty")
        read = _reader_of(path, start, header)
        if read is read_text:
            read = partial(read_text, header=header, skip_bad=skip_bad)
        elif header is not None or skip_bad:
            raise Unusable("--header and --skip-bad are of vectors as text, and it is none")
        table = read(path)
        if not 1 <= table.dimensions <= MOST_DIMENSIONS:
            raise Unusable(f"it has {table.dimensions:,} dimensions, and 1 to {MOST_DIMENSIONS:,} are read")
        if not table.vocabulary.rows:
            raise Unusable("it has no words")
        return table


def _file_in(folder: Path) -> Path:
    """Return the one file of a folder that holds vectors by its name. ModelError where there is none, or several."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".safetensors", ".npy", ".npz", ".vec"))
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise ModelError(f"{folder} has no single file of vectors ({names} by name): name the file itself")
    return files[0]


def _reader_of(path: Path, start: bytes, header: bool | None) -> Callable[[Path], VectorTable]:
    """Return what reads a file that begins with `start`."""
    # Before others: its first bytes are a length, which may look like the beginning of a pickle.
    if start[8:9] == b"{" and int.from_bytes(start[:8], "little") < min(path.stat().st_size, MOST_HEADER):
        return read_safetensors
    if advice := next((advice for magic, advice in _NOT_VECTORS.items() if start.startswith(magic)), None):
        raise Unusable(advice)
    if start.startswith(b"\x93NUMPY"):
        return read_npy
    if start.startswith(b"PAR1"):
        return read_parquet
    if start.startswith(b"PK\x03\x04"):
        return read_npz
    return read_text if is_text(start, header) else read_binary
