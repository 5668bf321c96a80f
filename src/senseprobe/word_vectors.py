"""Vectors of words in files: words in order, what reads the vectors of rows, and texts and word2vec's binary files.

A file is looked through once, for its words; vectors stay in the file until they are asked for.
"""

import mmap
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from senseprobe.arrays import Unusable, explained
from senseprobe.messages import counted, printable

Vectors: TypeAlias = NDArray[np.float64]
ReadRows: TypeAlias = Callable[[Sequence[int]], Vectors]

MOST_WORDS = 20_000_000
MOST_DIMENSIONS = 2**14
MOST_LINE = 2**20  # bytes; 16,384 numbers have some 200 kB
MOST_WORD = 2**12  # bytes
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_SAMPLE = 50  # lines, by which the form of a text is told
_MOST_NAMED = 20  # lines that were passed over, in a remark
HEADER = re.compile(rb"([0-9]{1,12})[ \t]+([1-9][0-9]{0,5})[ \t]*\r?")
_NEAR = 256  # bytes in which a tab after a word is looked for, in every line
_END = b" \t\r\n"
_SKIP = "--skip-bad skips such lines and lists them"


@dataclass(slots=True)
class Vocabulary:
    """The words of a file in order; `rows` has the first row of each, so the first of `duplicates` counts.

    - `count`: rows of the file; `not_utf8`: of these, words that are no UTF-8, which no text can name.
    """

    rows: dict[str, int] = field(default_factory=dict)
    count: int = 0
    duplicates: list[str] = field(default_factory=list)
    not_utf8: int = 0

    def add(self, word: str | bytes) -> None:
        """Add the word of the next row."""
        row, self.count = self.count, self.count + 1
        if isinstance(word, bytes):
            try:
                word = word.decode()
            except UnicodeDecodeError:
                self.not_utf8 += 1
                return
        if self.rows.setdefault(word, row) != row:
            self.duplicates.append(word)

    def name(self, row: int) -> str:
        """Return the word of a row in brackets, after a blank; empty where no text can name it."""
        word = next((word for word, first in self.rows.items() if first == row), "")
        return word and f" ({printable(word[:80])})"

    @classmethod
    def of(cls, words: Iterable[str | bytes]) -> "Vocabulary":
        """Return the vocabulary of words in the order of their rows."""
        vocabulary = cls()
        for word in words:
            vocabulary.add(word)
        return vocabulary


@dataclass(frozen=True, slots=True)
class VectorTable:
    """A file of vectors that was looked through.

    - `files`: those that it consists of, the vectors first; `format`: its name for people; `header`: what the file says
      of itself; `dtype`: of its numbers.
    - `read(rows)`: vectors of rows, float64 of shape (rows, dimensions). ModelError where a number is not finite.
    - `tokens`: for static vectors of tokens (model2vec), the rows of which the mean is the vector of a text; None where
      rows are words. `normalized`: whether that mean is made one of length 1.
    - `remarks`: what was read otherwise than it stands there, or passed over, a sentence each.
    """

    format: str
    files: tuple[Path, ...]
    vocabulary: Vocabulary
    dimensions: int
    dtype: str
    read: ReadRows
    header: str = ""
    tokens: Callable[[str], list[int]] | None = None
    normalized: bool = False
    remarks: tuple[str, ...] = ()


def check_count(words: int) -> None:
    """Raise Unusable where there are more words than are read."""
    if words > MOST_WORDS:
        raise Unusable(f"it has more than {MOST_WORDS:,} words")


def check_finite(
    numbers: NDArray[Any],
    rows: Sequence[int],
    noun: str = "row",
    first: int = 1,
    words: Vocabulary | None = None,
    advice: str = "",
) -> Vectors:
    """Return vectors of rows as float64. Raise Unusable where one is not finite in float32: `noun` `first` + row.

    With `words` the message names the word, too, and the `advice` on.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # some bits of NaN are signals
        vectors = numbers.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(vectors.astype(np.float32)).all(axis=1))
    if len(bad):
        row = rows[bad[0]]
        named = words.name(row) if words else ""
        raise Unusable(f"{noun} {row + first} has a number that is not finite in float32{named}{advice}")
    return vectors


# --- text: GloVe, fastText, word2vec --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text of vectors is laid out.

    - `begin`: bytes before its first line, of a byte-order mark; `headed`: whether that line is a header.
    - `header_counts`: the words, and the numbers of each, that the header states; None where it states none.
    - `dimensions`: numbers of a line; `separator`: what stands between them, in most lines.
    """

    begin: int
    headed: bool
    header_counts: tuple[int, int] | None
    dimensions: int
    separator: bytes

    def is_plain(self, text: bytes) -> bool:
        """Return whether a line, without its end, has single separators alone, as nearly all lines have."""
        separator = self.separator
        return text.count(separator) == self.dimensions and (separator == b"\t" or text.find(b"\t", 0, _NEAR) < 0)

    def word(self, text: bytes) -> bytes | None:
        """Return what stands before the numbers of a line without its end; None where there are more, or fewer."""
        if self.is_plain(text):
            return text[: text.index(self.separator)]
        word, *fields = (text if text[:1] not in (b" ", b"\t") else b"_" + text).rsplit(None, self.dimensions)
        last = word.split()[1:][-1:]  # a number too many, but for words such as nan
        if len(fields) < self.dimensions or (are_numbers(last) and not last[0].isalpha()):
            return None
        return word if word[:1] == text[:1] else word[1:]

    def numbers(self, text: bytes) -> list[float]:
        """Return the numbers of a line that has a word. ValueError where one is none."""
        if self.is_plain(text):
            return _numbers(text.split(self.separator)[1:])
        return _numbers(text.rsplit(None, self.dimensions)[-self.dimensions :])


def is_text(start: bytes, header: bool | None = None) -> bool:
    """Return whether a file that begins so is a text: it has no header as word2vec's binary form has, or lines below.

    The lines decide together, since the first word may be a blank, which looks like no word of the binary form either.
    """
    first, *lines = _sample_lines(start)
    if header is not None or not HEADER.fullmatch(first):
        return True
    numbers = [count_numbers(line) for line in lines if line.strip()]
    return 2 * sum(map(bool, numbers)) > len(numbers)


def _sample_lines(start: bytes) -> list[bytes]:
    """Return the first lines of a file, without the byte-order mark, and without one that is cut off."""
    lines = start.removeprefix(BYTE_ORDER_MARK).split(b"\n", _SAMPLE)
    cut = len(lines) > _SAMPLE or len(start) >= MOST_LINE
    return lines[:-1] if cut and len(lines) > 1 else lines


def count_numbers(line: bytes) -> int:
    """Return how many numbers end a line after its word, which may be a number, or blank."""
    fields, is_blank = line.split(), line[:1] in (b" ", b"\t")
    if are_numbers(fields[not is_blank :]):
        return len(fields) - (not is_blank)
    numbers = next((index for index, field in enumerate(reversed(fields)) if not are_numbers((field,))), len(fields))
    return max(0, min(numbers, len(fields) - 1))


def are_numbers(fields: Sequence[bytes]) -> bool:
    """Return whether all are numbers, and there are any."""
    try:
        return bool(_numbers(fields))
    except ValueError:
        return False


def _numbers(fields: Sequence[bytes]) -> list[float]:
    """Return numbers as files of vectors have them; ValueError where one is none, as 1_000, which Python reads."""
    if b"_" in b"".join(fields):
        raise ValueError("a number cannot contain an underscore")
    return [*map(float, fields)]


def _commonest(numbers: Iterable[int]) -> int:
    """Return the count of numbers that most lines have that have any; 0 where none has."""
    return max(Counter(filter(None, numbers)).items(), key=itemgetter(1), default=(0, 0))[0]


def read_layout(start: bytes, header: bool | None = None) -> Layout:
    """Tell the layout of a text that begins so. Raise Unusable where most of its first lines have no numbers."""
    first, *rest = _sample_lines(start)
    if b"\r" in first.rstrip(b"\r"):
        raise Unusable("its lines end in CR only, as on old Macs: save it with LF line ends")
    match = HEADER.fullmatch(first) if header is not False else None
    below = [count_numbers(line) for line in rest if line.strip()]
    if match and header is None and _commonest(below) == 1 != int(match[2]):
        match = None  # a word that is a number, and its only number
    headed = bool(header or match)
    numbers = below if headed else [count_numbers(first), *below]
    lines = rest if headed else [first, *rest]
    if 2 * sum(map(bool, numbers)) < max(1, len(numbers)):
        odd = next((index for index, line in enumerate(lines) if not count_numbers(line)), 0) + 1 + headed
        raise Unusable(
            f"line {odd} is not a word followed by numbers, and the file is not in another known format of vectors"
        )
    header_counts = (int(match[1]), int(match[2])) if match else None
    dimensions = header_counts[1] if header_counts and header is None else _commonest(numbers)
    tabs = sum(b"\t" in line and b" " not in line for line in lines)
    begin = len(BYTE_ORDER_MARK) if start.startswith(BYTE_ORDER_MARK) else 0
    return Layout(begin, headed, header_counts, dimensions, b"\t" if 2 * tabs > len(lines) else b" ")


def read_text(path: Path, *, header: bool | None = None, skip_bad: bool = False) -> VectorTable:
    """Read lines of a word and its numbers, with blanks or tabs between; the first line may say how many there are.

    The last numbers of a line are the vector: what stands before them is the word, which may have blanks (GloVe 840B)
    and may be blank. Whether the first line is a header is told by the lines below, or stated: then a `header` is one
    whatever it says. With `skip_bad` lines that are no word with its numbers are passed over. Raises Unusable.
    """
    with path.open("rb") as file:
        layout = read_layout(file.read(MOST_LINE), header)
        file.seek(layout.begin)
        first = file.readline(MOST_LINE) if layout.headed else b""
        scan = _LineScan(layout, detected=header is None, skip_bad=skip_bad)
        scan.read(file)
    scan.check_header()
    vocabulary, offsets = scan.vocabulary, scan.offsets

    def read(rows: Sequence[int]) -> Vectors:
        with explained(path), path.open("rb") as lines:
            vectors = np.empty((len(rows), layout.dimensions))
            for index, row in enumerate(rows):
                lines.seek(offsets[row])
                try:
                    vectors[index] = layout.numbers(lines.readline(MOST_LINE).rstrip(_END))
                except ValueError:
                    raise Unusable(
                        f"line {row + 1 + layout.headed} contains a value that is not a number: {_SKIP}"
                    ) from None
            return check_finite(vectors, rows, "line", 1 + layout.headed, vocabulary, f": {_SKIP}")

    form = "text, as word2vec and fastText write it" if layout.header_counts else "text, as GloVe writes it"
    header_line = first.decode(errors="replace").strip()
    remarks = tuple(scan.remarks())
    return VectorTable(form, (path,), vocabulary, layout.dimensions, "decimal", read, header_line, remarks=remarks)


class _LineScan:
    """The words of a text's lines, where each line begins, and what is odd about them.

    `detected`: the lines, not the user, told whether there is a header. `skip_bad`: skip lines that are not a word with
    its numbers.
    """

    def __init__(self, layout: Layout, *, detected: bool, skip_bad: bool) -> None:
        self.layout, self.detected, self.skip_bad = layout, detected, skip_bad
        self.vocabulary, self.offsets = Vocabulary(), array("q")
        self.lines = 0  # without blank ones
        self.is_whole = True  # the last line has its end
        self.blanks, self.first_blank = 0, 0
        self.bad, self.named = 0, list[str]()

    def read(self, file: BinaryIO) -> None:
        """Read lines to the end, where blank ones may be. Raise Unusable of the first that is not in order."""
        layout, skip_bad, number, offset, gap = self.layout, self.skip_bad, int(self.layout.headed), file.tell(), 0
        dimensions, separator, is_tabbed = layout.dimensions, layout.separator, layout.separator == b"\t"
        line = b"\n"
        for line in iter(lambda: file.readline(MOST_LINE), b""):
            number += 1
            begin, offset = offset, offset + len(line)
            text = line.rstrip(_END)
            if not text:
                gap = gap or number
                continue
            if gap:
                self._pass_over(gap, "has 0 numbers")
                gap = 0
            self.lines += 1
            if len(line) == MOST_LINE:
                self._pass_over(number, f"has more than {MOST_LINE >> 20} MiB")
                while len(line) == MOST_LINE:
                    line = file.readline(MOST_LINE)
                    offset += len(line)
                continue
            word: bytes | None
            if text.count(separator) == dimensions and (is_tabbed or text.find(b"\t", 0, _NEAR) < 0):  # as Layout.word
                word = text[: text.index(separator)]
            else:
                word = layout.word(text)
            if word is None or len(word) > MOST_WORD or (skip_bad and _has_odd_numbers(layout, text)):
                self._pass_over(number, self._defect(word, text))
                continue
            if not word or word.isspace():
                self.blanks, self.first_blank = self.blanks + 1, self.first_blank or number
            self.vocabulary.add(word)
            self.offsets.append(begin)
            check_count(self.vocabulary.count)
        self.is_whole = line.endswith(b"\n")

    def _defect(self, word: bytes | None, text: bytes) -> str:
        """Return what is wrong with a line, from its verb on."""
        if word is None:
            source = "the header says" if self.detected and self.layout.header_counts else "most lines have"
            return f"has {counted(count_numbers(text), 'number')}, but {source} {self.layout.dimensions}"
        return (
            "has a word that is too long" if len(word) > MOST_WORD else ("contains a value that is not a finite number")
        )

    def _pass_over(self, number: int, defect: str) -> None:
        """Pass a line over. Raise Unusable where none is to be, with what else can be done."""
        if not self.skip_bad:
            is_first = self.detected and number == 1 + self.layout.headed
            header = "--header yes treats line 1 as a header, whatever it says; " if is_first else ""
            raise Unusable(f"line {number} {defect}: {header}{_SKIP}")
        self.bad += 1
        if self.bad <= _MOST_NAMED:
            self.named.append(f"line {number} {defect}")

    def check_header(self) -> None:
        """Raise Unusable where a header that lines told states another number of words, by more than a whole line."""
        if not (self.detected and self.layout.header_counts):
            return
        words = self.layout.header_counts[0]
        if abs(words - self.lines) > 1 or (words > self.lines and not self.is_whole):
            raise Unusable(
                f"line 1 says {words:,} words, but there are {self.lines:,}: it was cut short, or changed "
                "(--header yes reads the lines that exist, --header no treats line 1 as a word)"
            )

    def remarks(self) -> Iterator[str]:
        """Yield what is odd and was read all the same, or passed over."""
        there = (self.lines, self.layout.dimensions)
        if self.layout.header_counts not in (None, there):
            declared, actual = (
                f"{words:,} words of {numbers:,} numbers" for words, numbers in (self.layout.header_counts, there)
            )
            yield f"line 1 says {declared}, but there are {actual}, which are read"
        if self.blanks:
            several = f"{self.blanks:,} lines, the first of them " if self.blanks > 1 else ""
            yield f"a word is blank in {several}line {self.first_blank}, so no text can look it up"
        if self.bad:
            more = f"; and {self.bad - _MOST_NAMED:,} more" if self.bad > _MOST_NAMED else ""
            yield f"skipped: {counted(self.bad, 'line')}: {'; '.join(self.named)}{more}"


def _has_odd_numbers(layout: Layout, text: bytes) -> bool:
    """Return whether a line has what is no number, or is not finite in float32."""
    try:
        with np.errstate(over="ignore"):
            return not bool(np.isfinite(np.array(layout.numbers(text), dtype=np.float32)).all())
    except ValueError:
        return True


# --- word2vec, binary -----------------------------------------------------------------------------------------------


def read_binary(path: Path) -> VectorTable:
    """Read what word2vec writes: a line with the counts, then each word, a blank, and its numbers in float32."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        first = data.readline()
        count, dimensions = map(int, first.split())
        if not 1 <= dimensions <= MOST_DIMENSIONS or count * (4 * dimensions + 2) > len(data):
            raise Unusable(
                f"its first line says {count:,} words with {dimensions:,} numbers, but it has {len(data):,} "
                "bytes: it was cut short, or is not a word2vec file"
            )
        vocabulary, offsets, end, remarks = Vocabulary(), array("q"), len(first), list[str]()
        for row in range(count):
            begin, blank = end, data.find(b" ", end, end + MOST_WORD)
            end = blank + 1 + 4 * dimensions
            if blank < begin or end > len(data):
                raise Unusable(f"byte {begin:,}: word {row + 1:,} of {count:,} is cut short or missing")
            word = data[begin:blank].lstrip(b"\n")
            vocabulary.add(word)
            offsets.append(blank + 1)
            if not word and len(remarks) < _MOST_NAMED:
                remarks.append(f"a word is blank in row {row + 1}, so no text can look it up")
        if data[end:].strip(b"\n"):
            raise Unusable(f"byte {end:,}: there are more bytes after its {count:,} words")

    def read(rows: Sequence[int]) -> Vectors:
        with explained(path):
            data = np.memmap(path, np.uint8, "r")
            vectors = (data[offsets[row] : offsets[row] + 4 * dimensions].tobytes() for row in rows)
            return check_finite(np.frombuffer(b"".join(vectors), "<f4").reshape(-1, dimensions), rows)

    form, header = "binary, as word2vec writes it", first.decode().strip()
    return VectorTable(form, (path,), vocabulary, dimensions, "float32", read, header, remarks=tuple(remarks))
