"""Texts of users, streamed: plain text, gzip, zstandard, JSON lines, CSV, Parquet, folders, and datasets of the Hub.

A text file is read in blocks, so that one larger than memory, or one that unpacks to more, needs no more memory.
"""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import SenseprobeError
from senseprobe.messages import listed, printable
from senseprobe.parquet_files import bounded_parquet, plain_type, read_batches
from senseprobe.tables import LONGEST, UnreadableError, csv_objects, read_csv, read_json_lines, split_lines

BLOCK = 1 << 20
"""How many bytes of a text are read at once, and the most characters of a document: a longer paragraph is cut."""
MEMORY = 1 << 28
"""The most bytes of memory that a part of a Parquet file may take."""
FOOTER = 1 << 24
"""The most bytes of the footer of a Parquet file: some have thousands of row groups."""
COLUMNS = ("text", "sentence")
DECIDING = 100
"""How many rows decide which column has the texts, at most."""

_HUB = re.compile(r"(?:hf://datasets/)?([\w.-]+/[\w.-]+?)(?:@([\w.-]+))?(?::([\w.-]+)?(?:/([\w.-]+))?)?")
_ABBREVIATIONS = ("Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Jr", "Sr", "Gen", "Sen", "Rep", "vs", "etc", "e.g", "i.e")
_ENDS = "".join(rf"(?<!\b{re.escape(word)}[.])" for word in _ABBREVIATIONS)
BOUNDARY = re.compile(
    rf"""[.!?\n](?:(?<=\n)[^\S\n]*\n\s*|(?<!\n){_ENDS}(?<!\b[A-Z][.])["'”’)\]]*\s+(?=["'“‘(\[]*[^\W_a-zß-öø-ÿ]))"""
)
# ruff: noqa: RUF001 - quotation marks are meant
"""The end of a sentence: ``.``, ``!`` or ``?`` (and quotes or brackets that close) and white space, before a capital
letter or a digit (behind quotes or brackets that open); or a blank line. No end is an initial's (``J.``) or that of
one of a few abbreviations (``Mr.``, ``Dr.``, ``e.g.``)."""

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Document:
    """A text with the name of where it is from: ``FILE:NUMBER``, the row, line or paragraph from 1.

    `replaced`: how many bytes of its block were no UTF-8; it is on the first document of the block, 0 on others.
    """

    text: str
    name: str
    replaced: int = 0


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text by a rule, see `BOUNDARY`; without white space around them.

    >>> [*split_sentences("Dr. Lee came. She left at 5 p.m. sharp.")]
    ['Dr. Lee came.', 'She left at 5 p.m. sharp.']
    """
    start = 0
    for match in BOUNDARY.finditer(text):
        if sentence := text[start : match.end()].strip():
            yield sentence
        start = match.end()
    if sentence := text[start:].strip():
        yield sentence


def split_by_punkt(text: str) -> list[str]:
    """Return the sentences of a text as NLTK's punkt has them, of which the user has the data; about 2 MB/s."""
    from nltk import sent_tokenize

    try:
        return list(sent_tokenize(text))
    except LookupError:
        raise SenseprobeError(
            "NLTK's sentence data are not on this machine: install them with `python -m nltk.downloader punkt_tab`"
        ) from None


def read_documents(
    sources: Sequence[str], column: str | None = None, progress: Progress | None = None
) -> Iterator[Document]:
    """Yield the documents of files, folders and Hub datasets: the paragraphs of a text, the rows of a table.

    Paragraphs are what blank lines separate; one of more than `BLOCK` characters is cut. `column` has the text of a
    table; by default it is ``text``, ``sentence``, or the only column of texts. `progress` hears of bytes of files.
    Raise SenseprobeError where a source is missing, damaged, or no text.
    """
    return _read(sources, column, progress or (lambda _: None), re.compile(r"\n[^\S\n]*\n\s*"))


def read_lines(
    sources: Sequence[str], column: str | None = None, progress: Progress | None = None
) -> Iterator[Document]:
    """Yield a document for each line of a text and row of a table that is not blank; else as `read_documents`."""
    return _read(sources, column, progress or (lambda _: None), re.compile(r"\n"))


def find_files(sources: Sequence[str]) -> list[Path]:
    """Return the files of sources that are on this machine, those of a folder sorted."""
    files: list[Path] = []
    for path in map(Path, sources):
        if not path.is_dir():
            files += [path] if path.exists() else []
            continue
        texts = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
        if not texts:
            raise SenseprobeError(f"{printable(str(path))}: the folder is empty; give the texts to read")
        files += texts
    return files


def _read(
    sources: Sequence[str], column: str | None, progress: Progress, separator: re.Pattern[str]
) -> Iterator[Document]:
    for source in sources:
        if Path(source).exists():
            for path in find_files([source]):
                with _explained(path):
                    yield from _read_file(path, column, progress, separator)
        elif (match := _HUB.fullmatch(source)) and (source.startswith("hf://") or not Path(source).suffix):
            yield from _read_hub(source, match, column)
        else:
            raise SenseprobeError(
                f"{printable(source)}: no such file or folder; a dataset of the Hub is hf://datasets/USER/NAME"
            )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Raise SenseprobeError with the path and what to do where a file is damaged."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, pa.ArrowException, MemoryError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            why = error.strerror or str(error)
        elif isinstance(error, MemoryError):
            why = f"a part of it needs more than {MEMORY >> 20} MiB of memory: is it damaged?"
        elif isinstance(error, UnreadableError) and error.line:
            why = f"line {error.line}: {error}"
        else:
            why = f"it is damaged, cut off, or not in the format that its name says ({str(error)[:200]}); get it again"
        raise SenseprobeError(f"{printable(str(path))}: {printable(why)}") from None


def _read_file(path: Path, column: str | None, progress: Progress, separator: re.Pattern[str]) -> Iterator[Document]:
    """Yield the documents of a file, of the format that the ends of its name say."""
    if not path.is_file():
        raise SenseprobeError(f"{printable(str(path))}: a pipe or a device cannot be read twice; give a file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packing = suffixes.pop() if suffixes and suffixes[-1] in {".gz", ".zst"} else ""
    kind = suffixes[-1] if suffixes else ""
    if kind == ".parquet":
        yield from _number(_read_parquet(path, column, progress), path)
        return
    with path.open("rb") as raw:
        stream: Any = raw
        if packing == ".gz":
            stream = gzip.GzipFile(fileobj=raw)
        elif packing == ".zst":
            stream = pa.CompressedInputStream(pa.PythonFile(raw), "zstd")
        blocks = _decode(stream, raw, path, progress)
        if kind in {".jsonl", ".csv", ".tsv"}:
            lines = split_lines(block for block, _ in blocks)
            separated = csv_objects(read_csv(lines, "\t" if kind == ".tsv" else None))
            rows = read_json_lines(lines) if kind == ".jsonl" else separated
            yield from _number(_pick_column((row for _, row in rows), column, path), path)
        else:
            yield from _split_blocks(blocks, path, separator)


def _number(texts: Iterable[str], source: object) -> Iterator[Document]:
    """Yield the texts of rows by number, from 1; a row without one, or with white space alone, is no document."""
    yield from (Document(text, f"{source}:{number}") for number, text in enumerate(texts, 1) if text.strip())


def _decode(stream: Any, raw: IO[bytes], path: Path, progress: Progress) -> Iterator[tuple[str, int]]:  # noqa: ANN401
    """Yield the text of blocks, and how many bytes of each were no UTF-8 and became U+FFFD."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("surrogateescape"), translate=True)
    done, first = 0, True
    while block := stream.read(BLOCK):
        if first and (b"\0" in block[:4096] or block[:2] in {b"\xff\xfe", b"\xfe\xff"}):
            raise SenseprobeError(f"{printable(str(path))}: this is not UTF-8 text; convert it to UTF-8 first")
        text = decoder.decode(block)
        yield _replace_bytes(text.removeprefix("\ufeff") if first else text)
        position, first = raw.tell(), False
        progress(position - done)
        done = position
    yield _replace_bytes(decoder.decode(b"", final=True))


def _replace_bytes(text: str) -> tuple[str, int]:
    """Return a text with U+FFFD for each byte that was no UTF-8, and how many there were."""
    if text.isascii():
        return text, 0
    return re.subn("[\udc80-\udcff]", "\ufffd", text)


def _split_blocks(blocks: Iterable[tuple[str, int]], path: Path, separator: re.Pattern[str]) -> Iterator[Document]:
    rest, number, lost = "", 0, 0
    for block, replaced in blocks:
        *pieces, rest = separator.split(rest + block)
        lost += replaced
        while len(rest) > BLOCK:  # at the last white space
            cut = max(rest.rfind(" ", 0, BLOCK), rest.rfind("\n", 0, BLOCK)) + 1 or BLOCK
            pieces.append(rest[:cut])
            rest = rest[cut:]
        for piece in filter(None, map(str.strip, pieces)):
            number += 1
            yield Document(piece, f"{path}:{number}", lost)
            lost = 0
    if rest.strip():
        yield Document(rest.strip(), f"{path}:{number + 1}", lost)


def _pick_column(rows: Iterable[dict[str, Any]], column: str | None, source: object) -> Iterator[str]:
    """Yield the texts of rows; which column has them is decided by the first hundred, of which some may lack it."""
    rest, first = iter(rows), []
    texts: dict[str, None] = {}
    length = 0
    for row in islice(rest, DECIDING):
        first.append({name: value if isinstance(value, str | None) else 0 for name, value in row.items()})
        texts.update(dict.fromkeys(name for name, value in row.items() if isinstance(value, str)))
        length += sum(len(text) for pair in first[-1].items() for text in pair if isinstance(text, str))
        if (column or COLUMNS[0]) in texts or length > LONGEST:
            break
    if not first:
        return
    column = _choose(column, [*texts], source)
    for number, row in enumerate(chain(first, rest), 1):
        value = row.get(column)
        if not isinstance(value, str | None):
            raise SenseprobeError(f"{printable(str(source))}: row {number} has no text in column {printable(column)}")
        yield value or ""


def _choose(column: str | None, names: Sequence[str], source: object) -> str:
    """Return the column to read of those that have texts; raise SenseprobeError that lists them."""
    choices = [column] if column else [*COLUMNS, *(names if len(names) == 1 else ())]
    for name in choices:
        if name in names:
            return name
    there = printable(listed(names) or "none")
    what = f"there is no text column {printable(column)!r}" if column else "it is unclear which column has the text"
    raise SenseprobeError(f"{printable(str(source))}: {what}; choose one with --column: there is {there}")


def _read_parquet(path: Path, column: str | None, progress: Progress) -> Iterator[str]:
    with bounded_parquet(path, MEMORY, FOOTER, BLOCK) as file:
        kinds = {field.name: plain_type(field.type) for field in file.schema_arrow}
        columns = [name for name, kind in kinds.items() if kind in {pa.string(), pa.large_string(), pa.string_view()}]
        name = _choose(column, columns, path)
        if file.schema_arrow.names.count(name) > 1:
            raise UnreadableError(f"two columns are called {name[:80]!r}")
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        chunks = (group.column(index) for group in groups for index in range(group.num_columns))
        unfolded = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema == name)
        size, rows = path.stat().st_size, max(file.metadata.num_rows, 1)
        at_once = min(max(32 * BLOCK * rows // max(unfolded, 1), 1), 1024)
        for batch in read_batches(file, [name], at_once, MEMORY // 4 + 200 * size, MEMORY):
            texts = batch.column(0).cast(pa.large_string())  # the length of a view cannot be had
            if (pc.max(pc.binary_length(texts)).as_py() or 0) > LONGEST:
                raise UnreadableError(f"a text of more than {LONGEST:,} bytes")
            # One by one where they are long: as Python's texts they take up to four times as much.
            values = texts.to_pylist() if texts.nbytes < 8 * BLOCK else (text.as_py() for text in texts)
            yield from (text or "" for text in values)
            progress(size * batch.num_rows // rows)


def _read_hub(source: str, match: re.Match[str], column: str | None) -> Iterator[Document]:
    """Yield the rows of a dataset of the Hub, streamed; by default of the split ``train``, or of its only one."""
    import datasets

    repository, revision, config, split = match.groups()
    try:
        splits = datasets.load_dataset(repository, config, revision=revision, streaming=True)
        if split is None:
            split = "train" if "train" in splits or len(splits) != 1 else next(iter(splits))
        rows = iter(splits[split])
        yield from _number(_pick_column(rows, column, source), source)
    except SenseprobeError:
        raise
    except Exception as error:  # noqa: BLE001 - datasets raises whatever its readers do
        why = printable(str(error).partition("\n")[0][:200])
        raise SenseprobeError(
            f"{printable(source)}: cannot be read from the Hub ({why}); check its name and split"
        ) from None
