"""Counts the rows, distinct sentences and tokens of a config without expanding it.

A sentence depends on the slots that it reads, and there are far fewer combinations of their words than rows. Where they
are few enough, each sentence is rendered once and counts are exact; otherwise they are upper bounds, computed from the
texts of single segments.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from senseprobe.generator.config import Config, ResolvedBlock, ResolvedFrame
from senseprobe.generator.product import RowSelection
from senseprobe.generator.render import FrameRows
from senseprobe.generator.segments import CompiledFrame

MOST_SENTENCES = 1_000_000
"""Combinations of words, over all frames and roles of a config, up to which every sentence is rendered."""

_BATCH = 8_192

Tokenize = Callable[[Sequence[str]], int]
"""Returns the number of tokens of some texts."""


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


def count(config: Config, tokenize: Tokenize | None = None, progress: Callable[[int], None] | None = None) -> Count:
    """Count a config; `progress` is called with the number of sentences rendered since its last call.

    Raise DeclarationError where a frame cannot be rendered.
    """
    views = [*_views(config)]
    if sum(view.n for view in views) > MOST_SENTENCES:
        return _bound(config, views)
    return _exact(config, views, tokenize, progress or (lambda _: None))


@dataclass(frozen=True, slots=True)
class _View:
    """The sentences of a role and a frame: one for each combination of the words that they read."""

    rows: FrameRows
    role: str

    @property
    def read(self) -> ResolvedBlock:
        """The block with only the slots that are read."""
        block = self.rows.block
        return replace(block, slots={slot: block.slots[slot] for slot in self.rows.reads(self.role)})

    @property
    def n(self) -> int:
        """Combinations of the words that are read."""
        return self.read.product

    @property
    def times(self) -> int:
        """The number of rows that have the same combination."""
        return self.rows.block.product // self.n

    def texts(self) -> Iterator[list[str]]:
        """Yield the sentences in batches; some may be equal."""
        read = self.read
        for start in range(0, read.product, _BATCH):
            selection = RowSelection.rows(read, start, min(start + _BATCH, read.product))
            yield self.rows.side(self.role, selection).text.to_pylist()

    def segments(self) -> Iterator["_View"]:
        """Yield each segment as if it were a sentence."""
        for segment in self.rows.frame.compiled.segments:
            alone = ResolvedFrame(self.rows.frame.frame, CompiledFrame((segment,), ()), None)
            yield _View(FrameRows(self.rows.config, self.rows.block, alone), self.role)


def _views(config: Config) -> Iterator[_View]:
    for block in config.blocks:
        for frame in block.frames:
            rows = FrameRows(config, block, frame)
            yield from (_View(rows, role) for role in block.roles)


def _frames(config: Config) -> int:
    return sum(len(block.frames) for block in config.blocks)


def _exact(config: Config, views: list[_View], tokenize: Tokenize | None, progress: Callable[[int], None]) -> Count:
    # A million sentences may be long: a digest of each is enough to recognize it.
    seen: set[bytes] = set()
    tokens = distinct = tokenizer_tokens = 0
    for view in views:
        times = view.times
        for texts in view.texts():
            sizes = [len(text.split()) for text in texts]
            tokens += sum(sizes) * times
            new = []
            for text, size in zip(texts, sizes, strict=True):
                digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
                if digest not in seen:
                    seen.add(digest)
                    distinct += size
                    new.append(text)
            tokenizer_tokens += tokenize(new) if tokenize and new else 0
            progress(len(texts))
    return Count(
        rows=config.size,
        frames=_frames(config),
        sentences=len(seen),
        tokens=tokens,
        distinct_tokens=distinct,
        exact=True,
        tokenizer_tokens=tokenizer_tokens if tokenize else None,
    )


def _bound(config: Config, views: list[_View]) -> Count:
    """Return upper bounds: all combinations may make different sentences, and each blank may begin a token."""
    per_view = [_most_tokens(view) for view in views]
    bounded = None not in per_view
    return Count(
        rows=config.size,
        frames=_frames(config),
        sentences=sum(view.n for view in views),
        tokens=sum((n or 0) * view.times for n, view in zip(per_view, views, strict=True)) if bounded else None,
        distinct_tokens=sum(n or 0 for n in per_view) if bounded else None,
        exact=False,
    )


def _most_tokens(view: _View) -> int | None:
    """Return a bound on the tokens of all combinations: one for each, and one more for each blank in a segment."""
    total = view.n
    for segment in view.segments():
        if segment.n > MOST_SENTENCES:
            return None
        # At each run of blanks in a text one token may begin.
        blanks = sum(len(f"x{text}x".split()) - 1 for texts in segment.texts() for text in texts)
        total += blanks * (view.n // segment.n)
    return total
