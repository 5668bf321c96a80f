"""The vectors of an axis's words that are single tokens of a model, in its input embeddings."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.axis_vectors import Item, ItemVectors, stack_items
from senseprobe.evaluate.mitigation.embeddings import ParentModel
from senseprobe.evaluate.mitigation.word_forms import split_words


class TokenVectors:
    """The input embeddings of words that are one token of a model.

    All words are in one form, such as after a space and with a small letter: the one that most items have, so that
    directions are of words, and not of spaces and capitals.
    """

    def __init__(self, model: ParentModel) -> None:
        self.model, self.dimensions = model, model.dimensions

    def find(self, items: Sequence[Item]) -> ItemVectors:
        """Return the vectors of words, or of pairs."""
        words = tuple(dict.fromkeys(word for item in items for word in item))
        try:
            tokens = split_words(self.model.tokens, words).tokens
        except ModelError:  # no word is one token
            return ItemVectors({}, words)
        counts = Counter(form for item in items for form in tokens.get(item[0], {}) if _has(tokens, item, form))
        form = max(counts, key=counts.__getitem__, default="")
        ids = {word: tokens[word][form] for word in words if form in tokens.get(word, {})}
        rows = dict(zip(ids, self.model.vectors(tuple(ids.values())), strict=True))
        vectors = {word: row for word, row in rows.items() if row.any() and np.isfinite(row).all()}
        missing = tuple(word for word in words if word not in vectors)
        return ItemVectors(stack_items(items, vectors), missing, form)


def _has(tokens: Mapping[str, Mapping[str, int]], item: Item, form: str) -> bool:
    return all(form in tokens.get(word, {}) for word in item)
