"""Files of sense embeddings: LMMS, LMMS-SP and ARES as text, LMMS as .npz, and our own safetensors.

A file of senses is one of vectors whose words are WordNet's sense keys. Its format is told by its content, and each key
is checked, so that no row is taken for a header, nor a header for a row.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from senseprobe.arrays import Unusable, explained, is_safetensors, map_tensors
from senseprobe.evaluate.models.vector_tables import open_vectors, table_of
from senseprobe.lexicon.wordnet import part_of_speech
from senseprobe.messages import counted, listed, printable
from senseprobe.word_vectors import (
    BYTE_ORDER_MARK,
    HEADER,
    MOST_LINE,
    VectorTable,
    Vocabulary,
    are_numbers,
    read_text,
)

KEYS, VECTORS = "keys", "embeddings"
"""The tensors of our own files: bytes of UTF-8, a key in each line, and the vectors in that order."""
METADATA = "senseprobe"
"""The entry of a file's metadata that says in JSON how it was made."""

# From so many keys on that WordNet 3.0 lacks, if they are more than this share, a file is of another version.
_FEWEST_UNKNOWN, _MOST_UNKNOWN = 5, 0.01
_SYNSET = re.compile(r".+\.[nvasr]\.[0-9]+|(?:wn:)?[0-9]{8}-?[nvasr]|bn:.*")


def open_senses(
    path: Path, in_wordnet: Callable[[str], bool], *, header: bool | None = None, skip_bad: bool = False
) -> tuple[VectorTable, tuple[str, ...]]:
    """Look through a file of senses; return it, and its keys that are not `in_wordnet`.

    `header` and `skip_bad` are as of `read_text`. Raises ModelError where it cannot be used, or is of words, of synsets
    or of another version of WordNet.
    """
    path = path.expanduser()
    undescribed = header is None and not skip_bad
    table = _open_safetensors(path) if undescribed and path.is_file() else None
    if table is None and header is None and path.is_file() and _has_odd_header(path):
        with explained(path):
            table = read_text(path, header=True, skip_bad=skip_bad)
            counts = [int(number) for number in re.findall("[0-9]+", table.header)]
            if len(counts) == 1 and counts[0] not in (table.vocabulary.count, table.dimensions):
                raise Unusable(f"its header says {table.header!r}, but it has {table.vocabulary.count:,} senses")
    table = table or open_vectors(path, header=header, skip_bad=skip_bad)
    if table.dtype == "decimal":
        layout = "a header, as ARES" if table.header else "no header, as LMMS"
        table = replace(table, format=f"text of senses with {layout}")
    with explained(path):
        return table, check_keys(table.vocabulary, in_wordnet)


def check_keys(vocabulary: Vocabulary, in_wordnet: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the keys that are not `in_wordnet`. Raise Unusable where they are no keys, or stand there twice."""
    if odd := [word for word in vocabulary.rows if not part_of_speech(word)]:
        example = printable(odd[0][:80])
        if _SYNSET.fullmatch(odd[0]):
            raise Unusable(f"{example} is a synset: senses are named by sense keys, such as dog%1:05:00::")
        many = f"{len(odd):,} of its {len(vocabulary.rows):,} words are not sense keys ({example})"
        raise Unusable(f"{many}: write vectors:FILE for a file of words")
    if vocabulary.not_utf8:
        raise Unusable(f"{counted(vocabulary.not_utf8, 'key')} are not UTF-8")
    if vocabulary.duplicates:
        raise Unusable(f"senses occur twice: {listed(vocabulary.duplicates)}")
    unknown = tuple(key for key in vocabulary.rows if not in_wordnet(key))
    share = len(unknown) / max(1, len(vocabulary.rows))
    if len(unknown) >= _FEWEST_UNKNOWN and share > _MOST_UNKNOWN:
        named = listed(unknown[:_FEWEST_UNKNOWN], len(unknown))
        raise Unusable(
            f"its keys seem to come from another WordNet version: WordNet 3.0 lacks {len(unknown):,} ({named})"
        )
    return unknown


def _has_odd_header(path: Path) -> bool:
    """Return whether line 1 of a text is neither a sense with numbers nor two counts, and line 2 is a sense."""
    with path.open("rb") as file:
        first, second = file.readline(MOST_LINE).removeprefix(BYTE_ORDER_MARK), file.readline(MOST_LINE)
    return not _is_row(first) and not HEADER.fullmatch(first.rstrip(b"\n")) and _is_row(second)


def _is_row(line: bytes) -> bool:
    key, *numbers = line.split() or [b""]
    return bool(part_of_speech(key.decode(errors="replace"))) and are_numbers(numbers)


def _open_safetensors(path: Path) -> VectorTable | None:
    """Return the table of a file of `study senses build`, with its metadata as the header; None of another file."""
    with explained(path):
        if not is_safetensors(path):
            return None
        tensors, metadata = map_tensors(path)
        if KEYS not in tensors or VECTORS not in tensors:
            return None
        keys = tensors[KEYS].tobytes().decode().split("\n")
        table = table_of("safetensors, as senseprobe writes senses", path, tensors[VECTORS], keys)
        return replace(table, header=str(metadata.get(METADATA, "")))
