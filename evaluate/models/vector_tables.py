"""Files of vectors: the format of a file, told by its content, its words, and the rows that are wanted of it.

file -> format -> `VectorTable`: the row of each word -> vectors of rows

A file is looked through once, for its words; vectors stay in the file until they are asked for. Nothing is unpickled.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from senseprobe.arrays import Unusable, explained, is_safetensors, map_npy, map_tensors, read_npz
from senseprobe.errors import ModelError
from senseprobe.evaluate.models.alteration import ALTERATION_FILES
from senseprobe.messages import printable
from senseprobe.parquet_files import MAX_MEMORY, bounded_parquet, read_batches
from senseprobe.release.parquet import ROWS_AT_ONCE
from senseprobe.tables import read_json
from senseprobe.word_vectors import (
    BYTE_ORDER_MARK,
    MOST_DIMENSIONS,
    MOST_LINE,
    Vectors,
    VectorTable,
    Vocabulary,
    check_count,
    check_finite,
    is_text,
    read_binary,
    read_text,
)

MOST_LIST = 2**30  # bytes of a list of words

_LISTS = (".txt", ".json", ".parquet")
_NAMED_LISTS = ("words", "vocab", "vocabulary")

# What a file begins with that is no file of vectors, and what to do about it.
_NOT_VECTORS = {
    b"\x1f\x8b": "it is compressed with gzip: unpack it first",
    b"BZh": "it is compressed with bzip2: unpack it first",
    b"\xfd7zXZ": "it is compressed with xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "it is compressed with zstd: unpack it first",
    b"\x89HDF": "HDF5 is not supported: save the vectors as .npz with a list of words",
    b"\xba\x16\x4f\x2f": "it is a model of fastText, not its vectors: use the .vec file",
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
        files = _vector_files(path)
        if len(files) != 1:
            names = ", ".join(file.name for file in files) or "none"
            raise ModelError(f"{path} does not have exactly one file of vectors (found: {names}): give the file itself")
        (path,) = files
    if not path.is_file():
        raise ModelError(f"no file of vectors {printable(str(path))} (`senseprobe fetch glove` downloads GloVe)")
    with explained(path):
        with path.open("rb") as file:
            start = file.read(MOST_LINE)
        if not start:
            raise Unusable("it is empty")
        read = _reader_of(path, start, header)
        if read is read_text:
            read = partial(read_text, header=header, skip_bad=skip_bad)
        elif header is not None or skip_bad:
            raise Unusable("--header and --skip-bad apply to text files only")
        table = read(path)
        if not 1 <= table.dimensions <= MOST_DIMENSIONS:
            raise Unusable(f"it has {table.dimensions:,} dimensions, but 1 to {MOST_DIMENSIONS:,} are supported")
        if not table.vocabulary.rows:
            raise Unusable("it has no words")
        return table


def _vector_files(folder: Path) -> list[Path]:
    """Return the files of a folder that may have vectors: those of known endings, else all that are not documents."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name not in ALTERATION_FILES)
    usual = [file for file in files if file.suffix in (".safetensors", ".npy", ".npz", ".vec")]
    return usual or [file for file in files if file.suffix not in (".json", ".md") and not file.name.startswith(".")]


def _reader_of(path: Path, start: bytes, header: bool | None) -> Callable[[Path], VectorTable]:
    """Return what reads a file that begins with `start`."""
    # Before others: its first bytes are a length, which may look like the beginning of a pickle.
    if is_safetensors(path):
        return _safetensors_table
    if advice := next((advice for magic, advice in _NOT_VECTORS.items() if start.startswith(magic)), None):
        raise Unusable(advice)
    by_magic = {b"\x93NUMPY": _npy_table, b"PAR1": _parquet_table, b"PK\x03\x04": _npz_table}
    if read := next((read for magic, read in by_magic.items() if start.startswith(magic)), None):
        return read
    return read_text if is_text(start, header) else read_binary


# --- arrays with a list of words ------------------------------------------------------------------------------------


def _npy_table(path: Path) -> VectorTable:
    return table_of("npy", path, map_npy(path), *_read_words(path))


def _npz_table(path: Path) -> VectorTable:
    """Return the table of an archive with one array of numbers in two dimensions, and one of texts, whatever names."""
    parts = read_npz(path)
    matrices = [part for part in parts.values() if part.ndim == 2 and part.dtype.kind in "fiu"]
    lists = [part for part in parts.values() if part.ndim == 1 and part.dtype.kind in "US"]
    if len(matrices) != 1 or len(lists) != 1:
        raise Unusable(f"none of its arrays ({', '.join(parts)}) has vectors, or none has words as text")
    return table_of("npz", path, matrices[0], lists[0].tolist())


def table_of(
    form: str, path: Path, matrix: NDArray[Any], words: Sequence[str | bytes], word_file: Path | None = None
) -> VectorTable:
    """Return the table of an array with a row for each word."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise Unusable(
            f"its array is {matrix.dtype} of shape {matrix.shape}, but must have a row of numbers for each word"
        )
    if len(matrix) != len(words):
        where = word_file.name if word_file else "it"
        raise Unusable(f"it has {len(matrix):,} vectors, and {where} {len(words):,} words")
    check_count(len(words))
    vocabulary = Vocabulary.of(words)

    def read(rows: Sequence[int]) -> Vectors:
        with explained(path):
            return check_finite(matrix[np.asarray(rows, dtype=np.intp)], rows, words=vocabulary)

    files = (path, word_file) if word_file else (path,)
    return VectorTable(form, files, vocabulary, matrix.shape[1], str(matrix.dtype), read)


def _read_words(path: Path) -> tuple[list[str | bytes], Path]:
    """Return the words of an array, and the file that has them: of the same stem, of a usual name, or the only list."""
    names = [f"{stem}{suffix}" for stem in (path.stem, *_NAMED_LISTS) for suffix in _LISTS]
    named = [path.with_name(name) for name in names]
    lists = sorted(file for file in path.parent.iterdir() if file.suffix in _LISTS and file.is_file())
    word_file = next((file for file in named if file.is_file() and file != path), lists[0] if len(lists) == 1 else None)
    if word_file is None:
        raise Unusable(f"its words are missing: put {path.stem}.txt next to it, with one word per line")
    with explained(word_file):
        return _read_list(word_file), word_file


def _read_list(path: Path) -> list[str | bytes]:
    """Read words: the lines of a text, a list or numbered names in JSON, or the first column of texts in Parquet."""
    if path.stat().st_size > MOST_LIST:
        raise Unusable(f"the list of words is larger than {MOST_LIST >> 30} GiB")
    if path.suffix == ".parquet":
        return [*_texts(path)]
    if path.suffix == ".txt":
        lines = path.read_bytes().removeprefix(BYTE_ORDER_MARK).removesuffix(b"\n").split(b"\n")
        return [line.removesuffix(b"\r") for line in lines]
    words = read_json(path.read_bytes())
    if isinstance(words, dict) and sorted(words.values()) == [*range(len(words))]:
        words = sorted(words, key=words.__getitem__)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise Unusable("it is neither a list of words nor an object that numbers words from 0")
    return list(words)


# --- Parquet --------------------------------------------------------------------------------------------------------


def _texts(path: Path) -> Iterator[str]:
    with bounded_parquet(path, MAX_MEMORY) as file:
        kinds = (pa.types.is_string, pa.types.is_large_string)
        columns = [part.name for part in file.schema_arrow if any(is_text(part.type) for is_text in kinds)]
        if not columns:
            raise Unusable("it has no column of words")
        check_count(file.metadata.num_rows)
        for batch in read_batches(file, columns[:1], ROWS_AT_ONCE):
            yield from (word or "" for word in batch.column(0).to_pylist())


def _parquet_table(path: Path) -> VectorTable:
    """Read a table with a column of words, and one of lists of numbers, or one of numbers for each dimension."""
    words = [*_texts(path)]
    with bounded_parquet(path, MAX_MEMORY) as file:
        schema = file.schema_arrow
        lists = [part.name for part in schema if pa.types.is_list(part.type) or pa.types.is_fixed_size_list(part.type)]
        numbers = lists or [part.name for part in schema if pa.types.is_floating(part.type)]
        if not numbers or len(lists) > 1:
            raise Unusable(
                f"it has {len(lists) or 'no'} columns of vectors: it needs one column of lists, or one column "
                "per dimension"
            )
        kind = schema.field(numbers[0]).type
        dimensions = len(numbers)
        if lists:
            if not words:
                raise Unusable("it has no words")
            first = next(read_batches(file, numbers, ROWS_AT_ONCE)).column(0)
            dimensions, kind = len(first[0].as_py() or ()), kind.value_type

    def read(rows: Sequence[int]) -> Vectors:
        vectors, start = np.empty((len(rows), dimensions)), 0
        requested = np.asarray(rows, dtype=np.intp)
        with explained(path), bounded_parquet(path, MAX_MEMORY) as file:
            for batch in read_batches(file, numbers, ROWS_AT_ONCE):
                positions = np.flatnonzero((requested >= start) & (requested < start + len(batch)))
                if len(positions):
                    parts = batch.take(pa.array(requested[positions] - start)).columns
                    vectors[positions] = _stack(parts, dimensions, nested=bool(lists))
                start += len(batch)
            return check_finite(vectors, rows)

    return VectorTable("Parquet", (path,), Vocabulary.of(words), dimensions, str(kind), read)


def _stack(parts: Sequence[Any], dimensions: int, *, nested: bool) -> Vectors:
    if not nested:
        return np.column_stack([part.to_numpy(zero_copy_only=False) for part in parts])
    vectors = parts[0].to_pylist()
    if any(len(vector or ()) != dimensions for vector in vectors):
        raise Unusable(f"some vectors do not have {dimensions} numbers like the first one")
    return np.array(vectors, dtype=np.float64)


# --- safetensors ----------------------------------------------------------------------------------------------------


def _safetensors_table(path: Path) -> VectorTable:
    """Read the tensor ``embeddings``, or the only one of two dimensions, with words beside it, or a tokenizer."""
    tensors, _ = map_tensors(path)
    flat = [name for name, tensor in tensors.items() if tensor.ndim == 2]
    if "embeddings" not in flat and len(flat) != 1:
        raise Unusable(
            f"it has {len(flat)} tensors of two dimensions, and none is called embeddings: the vectors cannot "
            "be identified"
        )
    matrix = tensors["embeddings" if "embeddings" in flat else flat[0]]
    if path.with_name("tokenizer.json").is_file():
        return _token_table(path, matrix, tensors)
    return table_of("safetensors", path, matrix, *_read_words(path))


def _token_table(path: Path, matrix: NDArray[Any], tensors: Mapping[str, NDArray[Any]]) -> VectorTable:
    """Return the table of static vectors of tokens, as model2vec has them, with the tokenizer beside.

    A token has the row that ``mapping`` says, times its weight, where the file has these; else its own.
    """
    from senseprobe.evaluate.models.limits import Unloadable, check_tokenizer

    tokenizer_file = path.with_name("tokenizer.json")
    with explained(tokenizer_file):
        try:
            check_tokenizer(tokenizer_file)
        except Unloadable as error:
            raise Unusable(str(error)) from None
        names, tokens = _tokenizer(tokenizer_file)
    mapping = tensors.get("mapping", np.arange(len(matrix)))
    weights = check_finite(tensors.get("weights", np.ones(len(mapping))).reshape(-1, 1), range(len(mapping)))
    fits = len(names) == len(mapping) == len(weights) and mapping.ndim == 1 and mapping.dtype.kind == "i"
    if not fits or mapping.min() < 0 or mapping.max() >= len(matrix):
        raise Unusable(f"its tensors do not fit the {len(names):,} tokens of tokenizer.json")
    config = path.with_name("config.json")
    with explained(config):
        normalized = config.is_file() and read_json(config.read_bytes()).get("normalize") is True

    def read(rows: Sequence[int]) -> Vectors:
        with explained(path):
            return check_finite(matrix[mapping[[*rows]]], rows) * weights[[*rows]]

    return VectorTable(
        format="safetensors, as model2vec writes them",
        files=(path, tokenizer_file, config) if config.is_file() else (path, tokenizer_file),
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

    pieces = read_json(path.read_bytes())["model"]
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
        raise Unusable(f"its tokenizer failed ({printable(str(error))[:200]})") from None
