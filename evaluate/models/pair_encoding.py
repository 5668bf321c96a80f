"""Two texts as one input, joined as the tokenizer joins them, with each distinct text tokenized once.

The 323,000 premises and 12,000 hypotheses of nli-occupation make 1.9 million pairs. A tokenizer reads the two texts of
a pair apart from one another and puts special tokens around them, so what it puts there is looked up once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from senseprobe.evaluate.models.checkpoint import Pretrained
from senseprobe.evaluate.models.limits import tokenized

Ids = tuple[int, ...]
Texts = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts as a model reads them.

    - `ids`: vocabulary ids, special tokens included; `types`: segment ids, None where the model has none.
    - `whole`: whether both texts have a token of their own.
    """

    ids: Ids
    types: Ids | None
    whole: bool


class Part(NamedTuple):
    """A stretch of an input: one of the two texts (`owner` 0 or 1), or special tokens (None); of one segment."""

    owner: int | None
    ids: Ids
    kind: int


class Joiner:
    """Joins two texts as a tokenizer does; `typed` says whether the model has segments."""

    def __init__(self, tokenizer: Pretrained, *, typed: bool) -> None:
        self._tokenizer = tokenizer
        self._probe = tokenizer(["a"], ["a"], verbose=False)
        self._typed = typed and "token_type_ids" in self._probe

    def join(self, pairs: Sequence[Texts]) -> list[Pair]:
        """Return the pairs as the model reads them, in order, neither padded nor cut."""
        if not pairs:
            return []
        ids = self._tokens(sorted({text for pair in pairs for text in pair}))
        # The tokenizer decides: where it does not join as was looked up, it joins all pairs itself.
        probes = [choose(pairs, key=lambda pair: len(ids[pair[0]]) + len(ids[pair[1]])) for choose in (min, max)]
        if self._parts and [self._put(ids[a], ids[b]) for a, b in probes] == self._joined(probes):
            return [self._put(ids[a], ids[b]) for a, b in pairs]
        return self._joined(pairs)

    def _tokens(self, texts: Sequence[str]) -> dict[str, Ids]:
        """Return the tokens of each text alone, without special ones."""
        portions = tokenized(self._tokenizer, texts, add_special_tokens=False, return_attention_mask=False)
        return dict(zip(texts, (tuple(ids) for columns in portions for ids in columns["input_ids"]), strict=True))

    def _put(self, first: Ids, second: Ids) -> Pair:
        """Put the two texts between what stands around them."""
        ids: list[int] = []
        types: list[int] = []
        for owner, special, kind in self._parts:
            own = special if owner is None else (first, second)[owner]
            ids += own
            types += [kind] * len(own)
        return Pair(tuple(ids), tuple(types) if self._typed else None, bool(first and second))

    def _joined(self, pairs: Sequence[Texts]) -> list[Pair]:
        """Return the pairs as the tokenizer itself joins them."""
        portions = tokenized(self._tokenizer, [a for a, _ in pairs], [b for _, b in pairs])
        return [
            Pair(
                tuple(ids),
                tuple(columns["token_type_ids"][row]) if self._typed else None,
                {0, 1} <= {*columns.sequence_ids(row)},
            )
            for columns in portions
            for row, ids in enumerate(columns["input_ids"])
        ]

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        """What a pair consists of; empty where each text is not in one piece."""
        parts = tuple(self._stretches())
        return parts if sorted(part.owner for part in parts if part.owner is not None) == [0, 1] else ()

    def _stretches(self) -> Iterator[Part]:
        ids, owners = self._probe["input_ids"][0], self._probe.sequence_ids(0)
        types = self._probe["token_type_ids"][0] if self._typed else [0] * len(ids)
        for (owner, kind), tokens in groupby(zip(owners, types, ids, strict=True), key=lambda token: token[:2]):
            yield Part(owner, tuple(token for *_, token in tokens), kind)
