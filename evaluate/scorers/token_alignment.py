"""Tokens of a text by what they belong to: a word, a span of characters, or another text that has them as well."""

import unicodedata
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # so that scorers can be listed without loading torch
    from senseprobe.evaluate.models.masked import Encoding


def inside(encoding: "Encoding", start: int, end: int) -> tuple[int, ...]:
    """Return positions of the own tokens that have a character of the half-open span, in code points, of the text."""
    return tuple(
        position
        for position in encoding.positions
        if encoding.offsets[position][0] < end and encoding.offsets[position][1] > start
    )


def rest_of_word(text: str, encoding: "Encoding") -> list[tuple[int, ...]]:
    """Return for each own token its position and those of the later tokens of the same word.

    A word is a run of letters, marks and digits, whatever the tokenizer takes for one; any other character is a word of
    its own, and white space belongs to the word after it. A token belongs to the word that its first character is in.
    """
    numbers = _words(text)
    words: dict[int, list[int]] = {}
    for position in encoding.positions:
        words.setdefault(numbers[min(encoding.offsets[position][0], len(text))], []).append(position)
    rests = {position: tuple(word[i:]) for word in words.values() for i, position in enumerate(word)}
    return [rests[position] for position in encoding.positions]


def _words(text: str) -> list[int]:
    """Return the number of the word of each character, and one more for white space at the end of the text."""
    joined = [unicodedata.category(character)[0] in "LMN" for character in text]
    numbers = [0] * bool(text)
    for before, after in pairwise(joined):
        numbers.append(numbers[-1] + (not (before and after)))
    numbers.append(len(text))
    for i in range(len(text) - 1, -1, -1):
        if text[i].isspace():
            numbers[i] = numbers[i + 1]
    return numbers


def shared_tokens(
    encoding: "Encoding", other: "Encoding", *, second: bool | None = None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return positions of own tokens that `other` has as well, in the same order, and of those that it has not.

    Tokens are matched by difflib, as the released code of CrowS-Pairs does: blocks in common, longest first. Special
    tokens help to match and are then left out, by mask. difflib can match a pair otherwise in the other order.
    `second` says whether `encoding` is its second sequence; None: the one with the lower ids is the first. Either way
    the two texts of a pair have the same tokens in common.
    """
    swapped = other.ids < encoding.ids if second is None else second
    a, b = (other, encoding) if swapped else (encoding, other)
    shared = {j if swapped else i for i, j in _matches(a, b)}
    return tuple(sorted(shared)), tuple(position for position in encoding.positions if position not in shared)


def _matches(a: "Encoding", b: "Encoding") -> Iterator[tuple[int, int]]:
    """Yield the positions of each own token of `a` that matches an own token of `b`."""
    # Without autojunk, which takes frequent tokens of texts from 200 tokens on for noise.
    for block in SequenceMatcher(None, a.ids, b.ids, autojunk=False).get_matching_blocks():
        for i, j in ((block.a + step, block.b + step) for step in range(block.size)):
            if not a.special[i] and not b.special[j]:
                yield i, j
