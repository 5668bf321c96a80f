"""Words that a measure of texts is given, in a file of the user's or in a list of ours: axes, groups, categories."""

import json
from hashlib import sha256
from pathlib import Path

from senseprobe.api.author import word_lists
from senseprobe.errors import SenseprobeError
from senseprobe.messages import listed, printable

_MOST_BYTES = 2**20  # of a list of words
CORPUS_LISTS = {"pronouns": "group_pronouns", "occupations": "winobias_occupations"}
"""Short names of lists that `study corpus` knows."""


def read_pairs(path: str | Path | None) -> tuple[tuple[str, str], list[tuple[str, str]]]:
    """Return the names of the ends of an axis, the positive one first, and its pairs of words in that order.

    Of a CSV whose two columns are headed by these names; without one female and male, with Bolukbasi et al.'s pairs.
    Raises SenseprobeError where a file is not that.
    """
    if path is None:
        return ("female", "male"), [(row["word"], row["male"]) for row in _list_rows("definitional_pairs")]
    header, *rows = _read_csv(path)
    taken = ("absolute", "balance", "name", "text", "words", "missing", "gendered", "centred")
    if len(header) != 2 or not all(name.isidentifier() for name in header) or {*header} & {*taken} or not rows:
        raise SenseprobeError(f"{path}: an axis needs two columns of words, with the names of the two ends as headers")
    if len({*header}) < 2 or any(len(row) != 2 or not all(row) for row in rows):
        raise SenseprobeError(f"{path}: each line needs two words, and the two columns need different names")
    return (header[0], header[1]), [(row[0], row[1]) for row in rows]


def read_gendered(path: str | Path | None, *, default: bool) -> list[str]:
    """Return the words that count 0, of a file, or of our list where the axis is ours; those of pairs come to them."""
    if path is None:
        return [row["word"] for row in _list_rows("gendered_words")] if default else []
    header, *rows = _read_csv(path)
    if "word" not in header:
        raise SenseprobeError(f"{path}: add a column `word` with the words that count as 0 (it has no column `word`)")
    return [row[header.index("word")] for row in rows if len(row) == len(header)]


def _list_rows(name: str) -> list[dict[str, str]]:
    return [{column: str(cell) for column, cell in word.columns.items()} for word in word_lists(name)[0].words]


def _read_csv(path: str | Path) -> list[list[str]]:
    """Return the cells of a CSV without blanks around them, the names of columns first; lines may differ in length."""
    from senseprobe.tables import UnreadableError, read_csv_file  # with numpy, which no help of a command needs

    named = printable(str(path))
    try:
        rows = [[cell.strip() for cell in row.cells] for row in read_csv_file(Path(path).resolve(), _MOST_BYTES)]
    except UnreadableError as error:
        raise SenseprobeError(error.at(path)) from None
    if not rows:
        raise SenseprobeError(f"{named} is empty: it needs a line of column names, and lines with words")
    return rows


def read_groups(source: str | Path) -> tuple[list[tuple[str, str]], str]:
    """Return the words of a list with their groups or categories, and its name with twelve digits of their hash."""
    path = Path(CORPUS_LISTS.get(str(source), source))
    if path.suffix == ".csv":
        columns, *lines = _read_csv(path)
        rows = [dict(zip(columns, line, strict=False)) for line in lines]
    else:
        rows = _list_rows(str(path))
        columns = [*rows[0]]
    kind = next((name for name in ("group", "gender") if name in columns), None)
    if kind is None or "word" not in columns or not rows:
        raise SenseprobeError(
            f"{printable(str(source))}: a list needs rows and the columns word and group (or gender); it has "
            f"{printable(listed(columns))}"
        )
    pairs = [(row.get("word", ""), row.get(kind, "")) for row in rows]
    if empty := [number for number, pair in enumerate(pairs, 1) if not all(pair)]:
        raise SenseprobeError(f"{printable(str(source))}: row {empty[0]} lacks a word or {kind}; fill it in")
    return pairs, f"{path.stem}@{sha256(json.dumps(pairs).encode()).hexdigest()[:12]}"
