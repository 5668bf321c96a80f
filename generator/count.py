"""Counts the rows, distinct sentences and tokens of a config without expanding it.

A sentence depends on the slots that it reads, and there are far fewer combinations of their words than rows. Where they
are few enough, each sentence is rendered once and counts are exact; otherwise they are upper bounds, computed from the
texts of single segments.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from senseprobe.generator.config import Config, ResolvedFrame
from senseprobe.generator.product import RowSelection
from senseprobe.generator.render import FrameRows
from senseprobe.generator.segments import CompiledFrame

MOST_SENTENCES = 1_000_000  # combinations of words, over all frames and roles, up to which all are rendered
_BATCH = 8_192

Tokenize = Callable[[Sequence[str]], int]  # returns the number of tokens of some texts


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """Counts of a config. All are counted before verdicts; `left_out` is the number of rows that verdicts leave out.

    - `sentences`: distinct sentences, over all roles.
    - `tokens`, `distinct_tokens`: runs of non-blank characters in the sentences of all rows, and in the distinct ones;
      None where not even a bound is known, since a segment reads too many slots.
    - `exact`: whether these are counts; otherwise they are upper bounds.
    - `tokenizer_tokens`: tokens of the distinct sentences by a tokenizer; None without one, or where not `exact`.
    """

    rows: int
    frames: int
    sentences: int
    tokens: int | None
    distinct_tokens: int | None
    exact: bool
    tokenizer_tokens: int | None = None
    left_out: int = 0


class _View:
    """The sentences of a role and a frame: one for each of `n` combinations of words, which `times` rows have."""

    def __init__(self, rows: FrameRows, role: str) -> None:
        self.rows, self.role = rows, role
        self.read = replace(rows.block, slots={slot: rows.block.slots[slot] for slot in rows.reads(role)})
        self.n = self.read.product
        self.times = rows.block.product // self.n

    def texts(self) -> Iterator[list[str]]:
        """Yield the sentences in batches; some may be equal."""
        for start in range(0, self.n, _BATCH):
            selection = RowSelection.rows(self.read, start, min(start + _BATCH, self.n))
            yield self.rows.side(self.role, selection).text.to_pylist()

    def most_tokens(self) -> int | None:
        """Return a bound on the tokens of all sentences: one for each, and one more for each blank in a segment."""
        total = self.n
        for segment in self.rows.frame.compiled.segments:
            alone = ResolvedFrame(self.rows.frame.frame, CompiledFrame((segment,), ()), None)
            view = _View(replace(self.rows, frame=alone), self.role)
            if view.n > MOST_SENTENCES:
                return None
            # At each run of blanks in a text one token may begin.
            blanks = sum(len(f"x{text}x".split()) - 1 for texts in view.texts() for text in texts)
            total += blanks * (self.n // view.n)
        return total


def count(config: Config, tokenize: Tokenize | None = None, progress: Callable[[int], None] | None = None) -> Count:
    """Count a config; `progress` is called with the number of sentences rendered since its last call."""
    frames = [FrameRows(config, block, frame) for block in config.blocks for frame in block.frames]
    views = [_View(rows, role) for rows in frames for role in rows.block.roles]
    sentences = sum(view.n for view in views)  # all combinations may make different ones
    most = Count(
        rows=config.size, frames=len(frames), sentences=sentences, tokens=None, distinct_tokens=None, exact=False
    )
    if sentences <= MOST_SENTENCES:
        return _count_sentences(most, views, tokenize, progress or (lambda _: None))
    bounds = [(tokens, view.times) for view in views if (tokens := view.most_tokens()) is not None]
    if len(bounds) < len(views):
        return most
    tokens = sum(tokens * times for tokens, times in bounds)
    return replace(most, tokens=tokens, distinct_tokens=sum(tokens for tokens, _ in bounds))


def _count_sentences(
    most: Count, views: list[_View], tokenize: Tokenize | None, progress: Callable[[int], None]
) -> Count:
    # A million sentences may be long: a digest of each is enough to recognize it.
    seen: set[bytes] = set()
    tokens = distinct = tokenizer_tokens = 0
    for view in views:
        for texts in view.texts():
            new = []
            for text in texts:
                size, digest = len(text.split()), hashlib.blake2b(text.encode(), digest_size=16).digest()
                tokens += size * view.times
                if digest not in seen:
                    seen.add(digest)
                    distinct += size
                    new.append(text)
            tokenizer_tokens += tokenize(new) if tokenize and new else 0
            progress(len(texts))
    exact = replace(most, sentences=len(seen), tokens=tokens, distinct_tokens=distinct, exact=True)
    return replace(exact, tokenizer_tokens=tokenizer_tokens) if tokenize else exact
