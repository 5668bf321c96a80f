"""Which tokens of a text are meant: those of a word, of a span of characters, those shared with another text."""

import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # so that the catalogue can be listed without loading torch
    from senseprobe.evaluate.models.masked import Encoding


def inside(encoding: "Encoding", start: int, end: int) -> tuple[int, ...]:
    """Positions of the own tokens that have a character of the half-open span, in code points, of the text."""
    return tuple(
        position
        for position in encoding.positions
        if encoding.offsets[position][0] < end and encoding.offsets[position][1] > start
    )


def rest_of_word(text: str, encoding: "Encoding") -> list[tuple[int, ...]]:
    """For each own token its position and those of the later tokens of the same word.

    A word is a run of letters, marks and digits, whatever the tokenizer takes for one; any other character is a word of
    its own, and white space belongs to the word after it. A token belongs to the word that its first character is in.
    """
    numbers = _words(text)
    words: dict[int, list[int]] = {}
    for place in encoding.positions:
        words.setdefault(numbers[min(encoding.offsets[place][0], len(text))], []).append(place)
    rests = {place: tuple(word[i:]) for word in words.values() for i, place in enumerate(word)}
    return [rests[place] for place in encoding.positions]


def _words(text: str) -> list[int]:
    """The number of the word of each character, and one more for white space at the end of the text."""
    joined = [unicodedata.category(character)[0] in "LMN" for character in text]
    numbers = [0] * bool(text)
    for before, after in pairwise(joined):
        numbers.append(numbers[-1] + (not (before and after)))
    numbers.append(len(text))
    for place in range(len(text) - 1, -1, -1):
        if text[place].isspace():
            numbers[place] = numbers[place + 1]
    return numbers


def shared_tokens(
    one: "Encoding", other: "Encoding", *, second: bool | None = None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of own tokens of `one` that `other` has as well, in the same order, and of those that it has not.

    Tokens are matched by difflib, as the released code of CrowS-Pairs does: blocks in common, longest first. Special
    tokens help to match and are then left out, by mask. difflib can match a pair otherwise when it is turned around.
    `second` says whether `one` is its second sequence; None: the one with the lower ids is the first. Either way the
    two texts of a pair have the same tokens in common, whichever is asked.
    """
    turned = other.ids < one.ids if second is None else second
    a, b = (other, one) if turned else (one, other)
    matched = {}
    for at, bt in _matched(a.ids, b.ids):
        if not a.special[at] and not b.special[bt]:
            matched[bt if turned else at] = True
    return tuple(sorted(matched)), tuple(place for place in one.positions if place not in matched)


def _matched(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    # Without autojunk, which takes frequent tokens of texts from 200 tokens on for noise.
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]
