"""Files of vectors that are arrays with a list of words, Parquet or safetensors. Nothing is unpickled."""

import json
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from senseprobe.arrays import (
    BYTE_ORDER_MARK,
    Unusable,
    Vectors,
    VectorTable,
    Vocabulary,
    check_count,
    check_finite,
    explained,
)
from senseprobe.messages import printable
from senseprobe.release.parquet import ROWS_AT_ONCE
from senseprobe.tables import MAX_MEMORY, bounded_parquet, next_batch

MOST_LIST = 2**30  # bytes of a list of words
_MOST_UNPACKED = 64  # times the bytes of an .npz: vectors hardly shrink when they are compressed
_SPARE_UNPACKED = 2**26

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I8": "i1", "U8": "u1"}
_LISTS = (".txt", ".json", ".parquet")
_NAMED_LISTS = ("words", "vocab", "vocabulary")


# --- arrays with a list of words ------------------------------------------------------------------------------------


@contextmanager
def _tolerating_python_2() -> Iterator[None]:
    """Silence NumPy's warning that an array was written by Python 2: it reads the array all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def read_npy(path: Path) -> VectorTable:
    """Read an array, with its words in a file beside it."""
    with _tolerating_python_2():
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    return table_of("npy", path, matrix, *_words_beside(path))


def read_npz(path: Path) -> VectorTable:
    """Read an archive with one array of numbers in two dimensions, and one of texts; their names do not matter."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if not all(member.filename.endswith(".npy") for member in members):
            raise Unusable("it is a zip archive: unpack it first")
        if sum(member.file_size for member in members) > _MOST_UNPACKED * path.stat().st_size + _SPARE_UNPACKED:
            raise Unusable("it unfolds into far more than vectors would")
        if pickled := [member.filename for member in members if _has_objects(archive, member)]:
            name = printable(pickled[0].removesuffix(".npy"))
            raise Unusable(
                f"its array {name} has objects of Python, which can run code: save it as texts, {name}.astype(str)"
            )
    with _tolerating_python_2(), np.load(path, allow_pickle=False) as arrays:
        parts = {name: arrays[name] for name in arrays.files}
    matrices = [part for part in parts.values() if part.ndim == 2 and part.dtype.kind in "fiu"]
    lists = [part for part in parts.values() if part.ndim == 1 and part.dtype.kind in "US"]
    if len(matrices) != 1 or len(lists) != 1:
        raise Unusable(f"of its arrays ({', '.join(parts)}), not one has vectors and one has words, as texts")
    return table_of("npz", path, matrices[0], lists[0].tolist())


def _has_objects(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    """Return whether the header of an array says that it has objects of Python, which are pickled."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return bool(version < (3, 0) and read(file)[2].hasobject)


def table_of(
    form: str, path: Path, matrix: NDArray[Any], words: Sequence[str | bytes], beside: Path | None = None
) -> VectorTable:
    """Return the table of an array with a row for each word."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise Unusable(f"its array is {matrix.dtype} of shape {matrix.shape}, and vectors are numbers, a row each")
    if len(matrix) != len(words):
        raise Unusable(f"it has {len(matrix):,} vectors, and {beside.name if beside else 'it'} {len(words):,} words")
    check_count(len(words))
    vocabulary = Vocabulary.of(words)

    def read(rows: Sequence[int]) -> Vectors:
        with explained(path):
            return check_finite(matrix[np.asarray(rows, dtype=np.intp)], rows, words=vocabulary)

    files = (path, beside) if beside else (path,)
    return VectorTable(form, files, vocabulary, matrix.shape[1], str(matrix.dtype), read)


def _words_beside(path: Path) -> tuple[list[str | bytes], Path]:
    """Return the words of an array, and the file that has them: of the same stem, of a usual name, or the only list."""
    names = [f"{stem}{suffix}" for stem in (path.stem, *_NAMED_LISTS) for suffix in _LISTS]
    named = [path.with_name(name) for name in names]
    lists = sorted(file for file in path.parent.iterdir() if file.suffix in _LISTS and file.is_file())
    beside = next((file for file in named if file.is_file() and file != path), lists[0] if len(lists) == 1 else None)
    if beside is None:
        raise Unusable(f"its words are missing: put {path.stem}.txt beside it, with a word in each line")
    with explained(beside):
        return _read_list(beside), beside


def _read_list(path: Path) -> list[str | bytes]:
    """Read words: the lines of a text, a list or numbered names in JSON, or the first column of texts in Parquet."""
    if path.stat().st_size > MOST_LIST:
        raise Unusable(f"a list of words of more than {MOST_LIST >> 30} GiB")
    if path.suffix == ".parquet":
        return [*_texts(path)]
    if path.suffix == ".txt":
        lines = path.read_bytes().removeprefix(BYTE_ORDER_MARK).removesuffix(b"\n").split(b"\n")
        return [line.removesuffix(b"\r") for line in lines]
    words = json.loads(path.read_bytes())
    if isinstance(words, dict) and sorted(words.values()) == [*range(len(words))]:
        words = sorted(words, key=words.__getitem__)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise Unusable("it is neither a list of words, nor words with their numbers from 0")
    return list(words)


# --- Parquet --------------------------------------------------------------------------------------------------------


def _texts(path: Path) -> Iterator[str]:
    with bounded_parquet(path, MAX_MEMORY) as file:
        columns = [part.name for part in file.schema_arrow if _is_text(part.type)]
        if not columns:
            raise Unusable("it has no column of words")
        check_count(file.metadata.num_rows)
        for column in _columns(file, columns[:1]):
            yield from (word or "" for word in column[0].to_pylist())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _columns(file: Any, names: Sequence[str]) -> Iterator[list[Any]]:  # noqa: ANN401 - pyarrow has no types
    """Yield columns, some thousand rows at a time."""
    batches = file.iter_batches(ROWS_AT_ONCE, columns=[*names], use_threads=False)
    while (batch := next_batch(batches)) is not None:
        yield [batch.column(name) for name in names]


def read_parquet(path: Path) -> VectorTable:
    """Read a table with a column of words, and one of lists of numbers, or one of numbers for each dimension."""
    words = [*_texts(path)]
    with bounded_parquet(path, MAX_MEMORY) as file:
        schema = file.schema_arrow
        lists = [part.name for part in schema if pa.types.is_list(part.type) or pa.types.is_fixed_size_list(part.type)]
        numbers = lists or [part.name for part in schema if pa.types.is_floating(part.type)]
        if not numbers or len(lists) > 1:
            raise Unusable(f"it has {len(lists) or 'no'} columns of vectors: it takes one of lists, or of numbers each")
        kind = schema.field(numbers[0]).type
        dimensions = len(numbers)
        if lists:
            if not words:
                raise Unusable("it has no words")
            first = next(_columns(file, numbers))[0]
            dimensions, kind = len(first[0].as_py() or ()), kind.value_type

    def read(rows: Sequence[int]) -> Vectors:
        found, start = np.empty((len(rows), dimensions)), 0
        wanted = np.asarray(rows, dtype=np.intp)
        with explained(path), bounded_parquet(path, MAX_MEMORY) as file:
            for columns in _columns(file, numbers):
                places = np.flatnonzero((wanted >= start) & (wanted < start + len(columns[0])))
                parts = [column.take(pa.array(wanted[places] - start)) for column in columns] if len(places) else []
                start += len(columns[0])
                if parts:
                    found[places] = _stack(parts, dimensions, nested=bool(lists))
            return check_finite(found, rows)

    return VectorTable("Parquet", (path,), Vocabulary.of(words), dimensions, str(kind), read)


def _stack(parts: Sequence[Any], dimensions: int, *, nested: bool) -> Vectors:
    if not nested:
        return np.column_stack([part.to_numpy(zero_copy_only=False) for part in parts])
    vectors = parts[0].to_pylist()
    if any(len(vector or ()) != dimensions for vector in vectors):
        raise Unusable(f"not all of its vectors have {dimensions} numbers, as the first")
    return np.array(vectors, dtype=np.float64)


# --- safetensors ----------------------------------------------------------------------------------------------------


def read_safetensors(path: Path) -> VectorTable:
    """Read the tensor ``embeddings``, or the only one of two dimensions, with words beside it, or a tokenizer."""
    tensors = map_tensors(path)
    flat = [name for name, tensor in tensors.items() if tensor.ndim == 2]
    if "embeddings" not in flat and len(flat) != 1:
        raise Unusable(f"it has {len(flat)} tensors of two dimensions, none called embeddings: these are no vectors")
    matrix = tensors["embeddings" if "embeddings" in flat else flat[0]]
    if path.with_name("tokenizer.json").is_file():
        return _token_table(path, matrix, tensors)
    return table_of("safetensors", path, matrix, *_words_beside(path))


def map_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Map the tensors of a file into memory, those of dtypes that vectors have."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    tensors: dict[str, NDArray[Any]] = {}
    data = np.memmap(path, np.uint8, "r", offset=8 + length)
    for name, tensor in header.items():
        if name == "__metadata__" or tensor["dtype"] not in _DTYPES:
            continue
        start, end = tensor["data_offsets"]
        if not 0 <= start <= end <= len(data):
            raise Unusable(f"the tensor {printable(str(name))} lies outside the file: it was cut short")
        values = data[start:end].view(_DTYPES[tensor["dtype"]])
        if tensor["dtype"] == "BF16":
            values = (values.astype("<u4") << 16).view("<f4")
        tensors[str(name)] = values.reshape(tensor["shape"])
    return tensors


def _token_table(path: Path, matrix: NDArray[Any], tensors: Mapping[str, NDArray[Any]]) -> VectorTable:
    """Return the table of static vectors of tokens, as model2vec has them, with the tokenizer beside.

    A token has the row that ``mapping`` says, times its weight, where the file has these; else its own.
    """
    from senseprobe.evaluate.models.limits import Unloadable, check_tokenizer

    beside = path.with_name("tokenizer.json")
    with explained(beside):
        try:
            check_tokenizer(beside)
        except Unloadable as error:
            raise Unusable(str(error)) from None
        names, tokens = _tokenizer(beside)
    mapping = tensors.get("mapping", np.arange(len(matrix)))
    weights = check_finite(tensors.get("weights", np.ones(len(mapping))).reshape(-1, 1), range(len(mapping)))
    fits = len(names) == len(mapping) == len(weights) and mapping.ndim == 1 and mapping.dtype.kind == "i"
    if not fits or mapping.min() < 0 or mapping.max() >= len(matrix):
        raise Unusable(f"its tensors do not fit the {len(names):,} tokens of tokenizer.json")
    config = path.with_name("config.json")
    with explained(config):
        normalized = config.is_file() and json.loads(config.read_bytes()).get("normalize") is True

    def read(rows: Sequence[int]) -> Vectors:
        with explained(path):
            return check_finite(matrix[mapping[[*rows]]], rows) * weights[[*rows]]

    return VectorTable(
        format="safetensors, as model2vec writes them",
        files=(path, beside, config) if config.is_file() else (path, beside),
        vocabulary=Vocabulary.of(names),
        dimensions=matrix.shape[1],
        dtype=str(matrix.dtype),
        read=read,
        tokens=tokens,
        normalized=normalized,
    )


def _tokenizer(path: Path) -> tuple[list[str], Callable[[str], list[int]]]:
    """Return the tokens of a tokenizer in order, and what makes the ids of a text, without those of what is unknown."""
    from tokenizers import Tokenizer

    pieces = json.loads(path.read_bytes())["model"]
    with _blamed_on_tokenizer():
        tokenizer = Tokenizer.from_file(str(path))
    vocabulary = tokenizer.get_vocab()
    if sorted(vocabulary.values()) != [*range(len(vocabulary))]:
        raise Unusable("its tokens are not numbered from 0 without gaps")
    unknown = vocabulary.get(pieces.get("unk_token"), pieces.get("unk_id"))

    def tokens(text: str) -> list[int]:
        with explained(path), _blamed_on_tokenizer():
            return [token for token in tokenizer.encode(text, add_special_tokens=False).ids if token != unknown]

    return sorted(vocabulary, key=vocabulary.__getitem__), tokens


@contextmanager
def _blamed_on_tokenizer() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - tokenizers raises nothing narrower
        raise Unusable(f"its tokenizer fails ({printable(str(error))[:200]})") from None
