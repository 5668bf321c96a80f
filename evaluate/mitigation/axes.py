"""Axes that users name: two words, a file of pairs or of words, or a list of this package; and words with labels.

text -> `read_axis` -> `DeclaredAxis` -> vectors of its words -> `derive_directions` -> directions
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.messages import counted, listed, offered, printable
from senseprobe.statistics.association import unit_vectors
from senseprobe.statistics.intervals import FloatArray
from senseprobe.tables import CsvRow, UnreadableError, csv_objects, read_csv, read_csv_file, split_lines, table_objects

MOST_BYTES = 2**26
"""Of a file of pairs, words or labels."""

MOST_WORDS = 100_000
"""Of such a file, for a record has them all."""

SAME = 1e-6
"""Two vectors are the same where their distance is at most this part of their length, as after a removal in float32."""

PREFIX = "list:"

GENDER = "list:gender"
"""The name of our own words with labels, female and male."""


@dataclass(frozen=True, slots=True)
class WordSet:
    """Words, or pairs of words, that span directions: each item has one word, or all have two.

    >>> WordSet((("he", "she"), ("man", "woman"))).words
    ('he', 'she', 'man', 'woman')
    """

    items: tuple[tuple[str, ...], ...]

    @property
    def is_paired(self) -> bool:
        """Whether items are pairs, whose differences span the directions."""
        return len(self.items[0]) == 2

    @property
    def words(self) -> tuple[str, ...]:
        """All words, each once, in order."""
        return tuple(dict.fromkeys(word for item in self.items for word in item))

    def with_vectors(self, vectors: Mapping[str, FloatArray]) -> "WordSet":
        """Return the items of which all words have a vector. Raise ValueError where there is none."""
        items = tuple(item for item in self.items if all(word in vectors for word in item))
        if not items:
            raise ValueError(f"{'no pair' if self.is_paired else 'no word'} has vectors")
        return WordSet(items)

    def stack(self, vectors: Mapping[str, FloatArray]) -> FloatArray:
        """Return the vectors of all items: shape (items, 1 or 2, dimensions)."""
        return np.array([[vectors[word] for word in item] for item in self.items], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class DeclaredAxis:
    """Words that declare an axis.

    - `name`: as it was named, such as ``he-she``.
    - `derived`: the words that its directions are derived from, of `rank` dimensions.
    - `full`: the words by which it is seen whether such an axis is there; the same, where no larger set was declared.
    """

    name: str
    derived: WordSet
    full: WordSet
    rank: int = 1

    @property
    def words(self) -> tuple[str, ...]:
        """All words, each once."""
        return tuple(dict.fromkeys((*self.derived.words, *self.full.words)))


# The lists of this package: Gendered, Demonyms and Adherents of Dev et al. (2020), and the pairs of Bolukbasi et al.
# (2016). The first three derive a direction from few words, and look for it in all.
LISTS = ("gendered", "demonyms", "adherents", "definitional")


def read_axis(text: str) -> DeclaredAxis:
    """Return the axis that a text names: ``he-she``, ``PAIRS.csv``, ``WORDS.csv`` or ``list:NAME``.

    A rank may stand after a file or list, as in ``list:adherents:2``. Files have the columns `first` and `second`, a
    pair in each row, or the column `word`. Raises SenseprobeError where the text names nothing, or a file is none.

    >>> read_axis("he-she").derived.items, read_axis("list:adherents").rank
    ((('he', 'she'),), 2)
    """
    name, _, end = text.rpartition(":")
    has_rank = name not in ("", PREFIX[:-1]) and end.isascii() and end.isdigit() and not Path(text).is_file()
    name, rank = (name, int(end)) if has_rank else (text, None)
    if name.startswith(PREFIX):
        return _read_list(text, name.removeprefix(PREFIX), rank)
    if name.lower().endswith(".csv") or Path(name).is_file():
        items = WordSet(_read_items(Path(name)))
        return _checked(DeclaredAxis(text, items, items, 1 if rank is None else rank))
    words = [word.strip() for word in name.split("-")]
    if rank is not None or len(words) != 2 or not all(words):
        raise SenseprobeError(
            f"{printable(text)} is not an axis: give two words (he-she), a CSV file of pairs (columns first, second) "
            f"or of words (column word), or {PREFIX}NAME ({', '.join(LISTS)})"
        )
    if words[0] == words[1]:
        raise SenseprobeError(f"{printable(text)} is not an axis: both words are {printable(words[0])}")
    pair = WordSet(((words[0], words[1]),))
    return _checked(DeclaredAxis(text, pair, pair))


def _read_list(text: str, name: str, rank: int | None) -> DeclaredAxis:
    if name not in LISTS:
        raise SenseprobeError(f"{printable(text)}: this list is not known; {offered(name, LISTS)}")
    if name in ("gendered", "definitional"):
        pairs = tuple((row["male"], row["word"]) for row in _read_wordlist("definitional_pairs"))
        derived = WordSet((("he", "she"),)) if name == "gendered" else WordSet(pairs)
        full = WordSet(tuple(pair for pair in pairs if name == "definitional" or pair != ("he", "she")))
    else:
        # Of adherents the paper prints other forms than those before "person", such as jew and shia.
        rows = [(row["split"], (row.get("printed", row["word"]),)) for row in _read_wordlist(f"nli_{name}")]
        derived = WordSet(tuple(item for split, item in rows if split == "train"))
        full = WordSet(tuple(item for _, item in rows))
    usual = 2 if name == "adherents" else 1
    return _checked(DeclaredAxis(text, derived, full, usual if rank is None else rank))


def _checked(axis: DeclaredAxis) -> DeclaredAxis:
    """Return an axis. Raise SenseprobeError where it cannot have its rank."""
    most = len(axis.derived.items) - (not axis.derived.is_paired)  # the mean of words takes one
    if not 1 <= axis.rank <= most:
        what = counted(len(axis.derived.items), "pair" if axis.derived.is_paired else "word")
        why = "a rank is from 1" if axis.rank < 1 else f"{what} span at most {counted(most, 'dimension')}"
        raise SenseprobeError(f"{printable(axis.name)}: rank {axis.rank} is not possible: {why}")
    return axis


def _read_wordlist(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a word list of this package."""
    text = (files("senseprobe") / "wordlists" / f"{name}.csv").read_text("utf-8")
    return (row for _, row in csv_objects(read_csv(split_lines(text))))


def _read_items(path: Path) -> tuple[tuple[str, ...], ...]:
    """Return the pairs, or words, of a file. Raise SenseprobeError."""
    lines = dict[tuple[str, ...], int]()
    for line, cells in _read_table(path, (("first", "second"), ("word",))):
        if len({*cells}) < len(cells):
            raise SenseprobeError(f"{printable(str(path))}:{line}: both words are {cells[0]!r}")
        if (first := lines.setdefault(cells, line)) != line:
            raise SenseprobeError(f"{printable(str(path))}:{line}: {'-'.join(cells)} is in line {first}, too")
    if not lines:
        raise SenseprobeError(f"{printable(str(path))}: there are only the names of columns, and not a word")
    return tuple(lines)


def _read_table(path: Path, forms: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the line and the cells of each row of a file whose columns are one of the `forms`, in the form's order."""
    try:
        yield from _parse_table(read_csv_file(path, MOST_BYTES), forms)
    except UnreadableError as error:
        raise SenseprobeError(error.at(path)) from None


def _parse_table(rows: Sequence[CsvRow], forms: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield as `_read_table`. Raise UnreadableError."""
    stripped = [row._replace(cells=[*map(str.strip, row.cells)]) for row in rows]
    header = {*stripped[0].cells} if stripped else set()
    form = next((form for form in forms if {*form} == header), None)
    if form is None:
        expected = " or ".join(f"{'columns' if len(form) > 1 else 'the column'} {', '.join(form)}" for form in forms)
        raise UnreadableError(f"the first line must name {expected}", 1)
    if len(stripped) > MOST_WORDS + 1:
        raise UnreadableError(f"has more than {MOST_WORDS:,} rows", MOST_WORDS + 2)
    for row, cells in table_objects(stripped, form):
        if empty := next((name for name in form if not cells[name]), ""):
            raise UnreadableError(f"{empty} is empty", row.line)
        yield row.line, tuple(cells[name] for name in form)


def read_labels(text: str) -> dict[str, str]:
    """Return the label of each word in a CSV file with the columns `word` and `label`, or of ``list:gender``.

    Raises SenseprobeError where a file is none, a word has two labels, or all have the same.

    >>> read_labels("list:gender")["actress"]
    'female'
    """
    if text == GENDER:
        return {row["word"]: row["gender"] for row in _read_wordlist("gendered_words")}
    if text.startswith(PREFIX):
        raise SenseprobeError(f"{printable(text)}: this list has no labels; {GENDER} has")
    labels = dict[str, str]()
    for line, (word, label) in _read_table(Path(text), (("word", "label"),)):
        if labels.setdefault(word, label) != label:
            raise SenseprobeError(f"{printable(text)}:{line}: {word!r} is {labels[word]}, and {label}, too")
    if len({*labels.values()}) < 2:
        raise SenseprobeError(
            f"{printable(text)}: words need at least two labels: {listed({*labels.values()}) or 'none'}"
        )
    return labels


def refuse_missing(model: str, missing: Sequence[str]) -> None:
    """Raise ModelError that names words without a vector, where there are any."""
    if missing:
        raise ModelError(f"{model} has no vector of {listed(map(printable, missing))}")


def derive_directions(vectors: ArrayLike, rank: int, *, centred: bool = True) -> FloatArray:
    """Return orthonormal directions, shape (dimensions, rank), of words or pairs: shape (items, 1 or 2, dimensions).

    One pair's direction is first - second. Several pairs' are the principal components of their differences, each word
    of length 1, as in Bolukbasi et al. (2016). Words' are their principal components: about the words' mean, unless not
    `centred`. A component's sign is that of the mean of first - second; where there is none, its largest number is
    positive.

    Raises ValueError where a pair has one vector, or the items do not span `rank` dimensions.

    >>> derive_directions([[[2.0, 0.0], [0.0, 0.0]]], 1).tolist()
    [[1.0], [0.0]]
    """
    items = np.asarray(vectors, dtype=np.float64)
    if items.ndim != 3 or items.shape[1] not in (1, 2) or not len(items) or not np.isfinite(items).all():
        raise ValueError("directions need words, or pairs, with vectors of finite numbers")
    lengths = np.linalg.norm(items, axis=2).max(axis=1)
    if items.shape[1] == 2 and (same := np.linalg.norm(items[:, 0] - items[:, 1], axis=1) <= SAME * lengths).any():
        raise ValueError(f"the two words of pair {np.argmax(same) + 1} have the same vector")
    if len(items) > 1 and items.shape[1] == 2 and not items.any(axis=2).all():
        raise ValueError("a vector is zero: it has no direction")
    rows = spread(items, centred=centred)
    _, sizes, components = np.linalg.svd(rows, full_matrices=False)
    spanned = int(np.sum(sizes > sizes[0] * 1e-9)) if sizes[0] > 0 else 0
    if spanned < rank:
        raise ValueError(f"{counted(len(items), 'item')} span {counted(spanned, 'dimension')}, not {rank}")
    directions = components[:rank].T
    along = rows.mean(axis=0) @ directions
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(rank)]
    signs = np.where(np.abs(along) > 1e-9 * sizes[0], along, largest)
    return np.asarray(directions * np.where(signs < 0, -1.0, 1.0))


def spread(items: FloatArray, *, centred: bool = True) -> FloatArray:
    """Return the rows whose singular vectors are the directions of items: shape (items, dimensions).

    Of pairs half the differences of vectors of length 1; of one pair the difference as it is; of words the vectors,
    less their mean where `centred`.
    """
    if items.shape[1] == 1:
        words = items[:, 0]
        return np.asarray(words - words.mean(axis=0) if centred else words)
    if len(items) == 1:
        return np.asarray(items[:, 0] - items[:, 1])
    return np.asarray((unit_vectors(items[:, 0]) - unit_vectors(items[:, 1])) / 2)
