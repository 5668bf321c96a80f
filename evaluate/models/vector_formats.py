"""Files of vectors: the format of a file, told by its content, its words, and the rows that are wanted of it.

file -> format -> `VectorTable`: the row of each word -> vectors of rows

A file is looked through once, for its words; vectors stay in the file until they are asked for. Nothing is unpickled.
"""

import mmap
import re
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.vector_tables import (
    Unusable,
    Vectors,
    VectorTable,
    Vocabulary,
    check_count,
    check_finite,
    explained,
    read_npy,
    read_npz,
    read_parquet,
    read_safetensors,
)
from senseprobe.messages import printable

MOST_LINE = 2**20  # bytes; 16,384 numbers have some 200 kB
MOST_DIMENSIONS = 2**14
MOST_WORD = 2**12  # bytes
MOST_HEADER = 2**26  # bytes of the header of safetensors

# What a file begins with that is no file of vectors, and what to do about it.
_NOT_VECTORS = {
    b"\x1f\x8b": "it is compressed by gzip: unpack it first",
    b"BZh": "it is compressed by bzip2: unpack it first",
    b"\xfd7zXZ": "it is compressed by xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "it is compressed by zstd: unpack it first",
    b"\x89HDF": "HDF5 is not read: save the vectors as .npz with a list of words",
    b"\xba\x16\x4f\x2f": "it is a model of fastText, not its vectors: take the .vec file",
    b"GGUF": "it is a language model: `senseprobe score` takes its folder",
    **{bytes((0x80, version)): "it is a pickle, which can run code: save the vectors as text" for version in range(6)},
}
_HEADER = re.compile(rb"([0-9]{1,12})[ \t]+([0-9]{1,6})[ \t]*\r?\n")


def open_vectors(path: Path) -> VectorTable:
    """Look through the file of vectors at `path`, or the one in that folder. ModelError where it cannot be used."""
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
        table = _reader_of(path, start)(path)
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


def _reader_of(path: Path, start: bytes) -> Callable[[Path], VectorTable]:
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
    header = _HEADER.match(start)
    if header and not are_numbers(fields_of(start[header.end() :].partition(b"\n")[0])[1:2]):
        return _read_binary
    return read_text


# --- text: GloVe, fastText, word2vec --------------------------------------------------------------------------------


def fields_of(line: bytes) -> list[bytes]:
    """Return what stands between the blanks of a line, or between its tabs where it has no blank."""
    line = line.rstrip(b" \t\r\n")
    return line.split(b"\t" if b"\t" in line and b" " not in line else b" ")


def are_numbers(fields: Sequence[bytes]) -> bool:
    """Return whether all are numbers, and there are any."""
    try:
        return bool([*map(_number, fields)])
    except ValueError:
        return False


def _number(field: bytes) -> float:
    """Return a number as files of vectors have it; ValueError where it is none, as 1_000, which Python reads."""
    if b"_" in field:
        raise ValueError("a number has no underscore")
    return float(field)


def read_text(path: Path, *, headed: bool = False) -> VectorTable:
    """Read lines of a word and its numbers, with blanks or tabs between; the first line may say how many there are.

    With `headed` the first line is a header, whatever it says.

    The last numbers of a line are the vector: what stands before them is the word, which may have blanks (GloVe 840B).
    """
    with path.open("rb") as file:
        first = file.readline(MOST_LINE)
        header = _HEADER.fullmatch(first)
        headed = headed or header is not None
        start, line = (1, file.readline(MOST_LINE)) if headed else (0, first)
        fields = fields_of(line)
        if not are_numbers(fields[1:]):
            raise Unusable(
                f"line {start + 1} is no word followed by numbers, and no other format of vectors is like this"
            )
        dimensions = int(header[2]) if header else len(fields) - 1
        separator = b"\t" if b"\t" in line and b" " not in line else b" "
        file.seek(len(first) if headed else 0)
        vocabulary, offsets = _scan_lines(file, start, dimensions, separator)
    if header and int(header[1]) != vocabulary.count:
        raise Unusable(
            f"line 1 says {int(header[1]):,} words, and there are {vocabulary.count:,}: it was cut short, or changed"
        )

    def read(rows: Sequence[int]) -> Vectors:
        with explained(path), path.open("rb") as lines:
            found = [_numbers_at(lines, offsets[row], start + row + 1, dimensions, separator) for row in rows]
            return check_finite(np.array(found).reshape(-1, dimensions), rows, "line", start + 1, vocabulary)

    form = "text, as word2vec and fastText write it" if header else "text, as GloVe writes it"
    stated = first.decode(errors="replace").strip() if headed else ""
    return VectorTable(form, (path,), vocabulary, dimensions, "decimal", read, stated)


def _scan_lines(file: BinaryIO, start: int, dimensions: int, separator: bytes) -> tuple[Vocabulary, "array[int]"]:
    """Return the words of a file of text, and where their lines begin; `start` lines were read before."""
    vocabulary, offsets, offset = Vocabulary(), array("q"), file.tell()
    for number, line in enumerate(iter(lambda: file.readline(MOST_LINE), b""), start + 1):
        where = f"line {number}"
        if len(line) == MOST_LINE:
            raise Unusable(f"{where} has more than {MOST_LINE >> 20} MiB")
        text = line.rstrip(b" \t\r\n")
        numbers = text.count(separator)
        if numbers < dimensions:
            if not text and not file.read(1):
                break  # a blank line at the end
            raise Unusable(f"{where} has {_counted(numbers)}, and the lines before, or the header, {dimensions}")
        word = text[: text.index(separator)] if numbers == dimensions else text.rsplit(separator, dimensions)[0]
        if numbers > dimensions and are_numbers(word.rsplit(separator, 1)[1:]):
            raise Unusable(f"{where} has {_counted(numbers)}, and the lines before, or the header, {dimensions}")
        if not word or len(word) > MOST_WORD:
            raise Unusable(f"{where} has {'a word too long' if word else 'no word'}")
        vocabulary.add(word)
        check_count(vocabulary.count)
        offsets.append(offset)
        offset += len(line)
    return vocabulary, offsets


def _counted(numbers: int) -> str:
    return f"{numbers} number{'' if numbers == 1 else 's'}"


def _numbers_at(lines: BinaryIO, offset: int, number: int, dimensions: int, separator: bytes) -> list[float]:
    lines.seek(offset)
    fields = lines.readline(MOST_LINE).rstrip(b" \t\r\n").rsplit(separator, dimensions)[1:]
    try:
        return [*map(_number, fields)]
    except ValueError:
        raise Unusable(f"line {number} has what is no number") from None


# --- word2vec, binary -----------------------------------------------------------------------------------------------


def _read_binary(path: Path) -> VectorTable:
    """Read what word2vec writes: a line with the counts, then each word, a blank, and its numbers in float32."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        first = data.readline()
        count, dimensions = map(int, first.split())
        if not 1 <= dimensions <= MOST_DIMENSIONS or count * (4 * dimensions + 2) > len(data):
            raise Unusable(
                f"its first line says {count:,} words with {dimensions:,} numbers, and it has {len(data):,} bytes:"
                " it was cut short, or is no file of word2vec"
            )
        vocabulary, offsets, end = Vocabulary(), array("q"), len(first)
        for row in range(count):
            begin, blank = end, data.find(b" ", end, end + MOST_WORD)
            end = blank + 1 + 4 * dimensions
            if blank <= begin or end > len(data):
                raise Unusable(f"byte {begin:,}: word {row + 1:,} of {count:,} is cut short, or none is there")
            vocabulary.add(data[begin:blank].lstrip(b"\n"))
            offsets.append(blank + 1)
        if data[end:].strip(b"\n"):
            raise Unusable(f"byte {end:,}: there is more after its {count:,} words")

    def read(rows: Sequence[int]) -> Vectors:
        with explained(path):
            data = np.memmap(path, np.uint8, "r")
            parts = (data[offsets[row] : offsets[row] + 4 * dimensions].tobytes() for row in rows)
            return check_finite(np.frombuffer(b"".join(parts), "<f4").reshape(-1, dimensions), rows)

    return VectorTable(
        "binary, as word2vec writes it", (path,), vocabulary, dimensions, "float32", read, first.decode().strip()
    )
