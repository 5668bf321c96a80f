"""Vocabularies for tiny tokenizers, learned of a few sentences: those of the library break ties by chance.

A test with such a model would pass in one run and fail in the next.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise


def learn_pieces(words: Iterable[str], size: int, inner: str = "") -> tuple[Counter[str], list[tuple[str, str]]]:
    """Return pieces with their counts, letters first, and the pairs that were joined to make the others.

    The most frequent pair of neighbours is joined until there are `size` pieces, of equal ones the first by its
    letters (Sennrich et al. 2016). `inner` stands before a piece that does not begin a word: each letter is such a
    piece, too, though it has a count of 0.

    >>> pieces, merges = learn_pieces(["she", "she", "he"], 5)
    >>> list(pieces), merges
    (['e', 'h', 's', 'he', 'she'], [('h', 'e'), ('s', 'he')])
    >>> list(learn_pieces(["he"], 5, inner="-")[0])
    ['-e', '-h', 'e', 'h', 'he']
    """
    spelled = {word: [word[0], *(f"{inner}{letter}" for letter in word[1:])] for word in words}
    counts = Counter(words)
    letters: Counter[str] = Counter()
    for word, parts in spelled.items():
        for part in parts:
            letters[part] += counts[word]
    every = {
        form for letter in letters for form in (letter.removeprefix(inner), f"{inner}{letter.removeprefix(inner)}")
    }
    pieces, merges = Counter({letter: letters[letter] for letter in sorted(every)}), list[tuple[str, str]]()
    while len(pieces) < size:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, parts in spelled.items():
            for pair in pairwise(parts):
                pairs[pair] += counts[word]
        if not pairs:
            break
        (first, second), count = min(pairs.items(), key=lambda entry: (-entry[1], entry[0]))
        joined = first + second.removeprefix(inner)
        merges.append((first, second))
        pieces[joined] = count
        spelled = {word: _join(parts, first, second, joined) for word, parts in spelled.items()}
    return pieces, merges


def _join(parts: list[str], first: str, second: str, joined: str) -> list[str]:
    """Return the pieces of a word with each such pair of neighbours joined, from left to right."""
    result: list[str] = []
    for part in parts:
        if result and (result[-1], part) == (first, second):
            result[-1] = joined
        else:
            result.append(part)
    return result
