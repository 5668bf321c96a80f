"""Segments and words -> record batches, in a stated order.

Rows come block after block, frame after frame, and for each frame as the product of the slots in declared order, the
last varying fastest. Nothing is rendered row by row: a segment is evaluated once for each combination of what it reads,
then gathered. Any range of rows can be expanded alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import jinja2
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import DeclarationError
from senseprobe.generator.blocks import Config, ResolvedBlock, ResolvedFrame, reference
from senseprobe.generator.segments import MAX_SENTENCE, Segment
from senseprobe.generator.templates import Condition
from senseprobe.generator.wordlists import Word, WordLists
from senseprobe.records import Finding
from senseprobe.release.schema import contrast_schema

__all__ = ["BATCH_ROWS", "expand"]

BATCH_ROWS = 65_536

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def expand(config: Config, lists: WordLists, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
    """Rows `start` to `stop` (half-open; default: to the end) of a config, as batches of at most BATCH_ROWS.

    Raises DeclarationError where a frame cannot be rendered, and ValueError for a range outside the config.
    """
    stop = config.size if stop is None else stop
    if not 0 <= start <= stop <= config.size:
        raise ValueError(f"rows {start} to {stop} of a config with {config.size}")
    first = 0
    for block in config.blocks:
        for frame in block.frames:
            low, high = max(start - first, 0), min(stop - first, block.product)
            rows = _FrameRows(config, block, frame, lists)
            for begin in range(low, high, BATCH_ROWS):
                yield rows.batch(np.arange(begin, min(begin + BATCH_ROWS, high)))
            first += block.product


@dataclass(slots=True)
class _Side:
    """One role's sentences for a batch: text, span of the target, and what `minimal` compares."""

    text: pa.Array
    start: Indices
    end: Indices
    pieces: list[pa.Array]
    articles: list[Indices]


@dataclass(slots=True)
class _FrameRows:
    """The rows of one frame of a block."""

    config: Config
    block: ResolvedBlock
    frame: ResolvedFrame
    lists: WordLists
    _done: dict[tuple[int, str], dict[int, tuple[str, int]]] = field(default_factory=dict)

    def batch(self, rows: Indices) -> pa.RecordBatch:
        """The rows with these numbers, of the product of the slots."""
        at = self._slot_indices(rows)
        stereo, anti = (self._side(role, at, len(rows)) for role in ("stereo", "anti"))
        flip = _odd(self.block, self.block.block.front.flip, at, len(rows))
        columns = {
            "id": self._ids(at, len(rows)),
            "frame": _constant(self.frame.frame.code, len(rows)),
            **{slot: _words(words, at[slot]) for slot, words in self.block.slots.items()},
            **_pair("{}", stereo.text, anti.text, flip),
            **_pair("{}_span", self._spans(stereo), self._spans(anti), flip),
            **_pair("{}_value", *self._values(at, len(rows)), flip),
            **self._facts(at, len(rows)),
            "minimal": pa.array(self._minimal(stereo, anti, at)),
        }
        schema = contrast_schema(tuple(self.block.slots))
        return pa.record_batch([columns[name] for name in schema.names], schema=schema)

    def _slot_indices(self, rows: Indices) -> dict[str, Indices]:
        at, stride = {}, self.block.product
        for slot, words in self.block.slots.items():
            stride //= len(words)
            at[slot] = rows // stride % len(words)
        return at

    def _ids(self, at: Mapping[str, Indices], n: int) -> pa.Array:
        slugs = [_take([word.slug for word in words], at[slot]) for slot, words in self.block.slots.items()]
        return _join([f"{self.config.name}.{self.frame.frame.code}", *slugs], n, ".")

    def _side(self, role: str, at: Mapping[str, Indices], n: int) -> _Side:
        length, start, end = (np.zeros(n, dtype=np.int64) for _ in range(3))
        pieces, articles = [], []
        for segment in self.frame.compiled.segments:
            texts, rows, lengths, article = self._evaluate(segment, role, at, n)
            if segment is self.frame.target:
                start, end = length + article, length + lengths
            length = length + lengths
            self._check_length(int(length.max(initial=0)))
            pieces.append(texts.take(rows))
            articles.append(article)
        return _Side(_join(pieces, n), start, end, pieces, articles)

    def _check_length(self, longest: int) -> None:
        if longest > MAX_SENTENCE:
            message = f"a sentence has {longest} characters, at most {MAX_SENTENCE} are allowed"
            raise DeclarationError([self._finding("E108", message)])

    def _evaluate(
        self, segment: Segment, role: str, at: Mapping[str, Indices], n: int
    ) -> tuple[pa.Array, pa.Array, Indices, Indices]:
        """The distinct texts of a segment; and for each row which of them it has, its length and its article's."""
        names = {name: self.block.names(role)[name] for name in segment.reads}
        slots = dict.fromkeys(bound for bound in names.values() if not isinstance(bound, Word))
        codes, sizes = np.zeros(n, dtype=np.int64), [len(self.block.slots[slot]) for slot in slots]
        for slot, size in zip(slots, sizes, strict=True):
            codes = codes * size + at[slot]
        distinct, rows = np.unique(codes, return_inverse=True)
        done = self._done.setdefault((id(segment), role), {})
        for code in distinct.tolist():
            if code not in done:
                chosen = dict(zip(slots, np.unravel_index(code, sizes or (1,)), strict=False))
                done[code] = self._render(segment, names, chosen)
        texts, articles = zip(*(done[code] for code in distinct.tolist()), strict=True)
        lengths = np.array([len(text) for text in texts])
        return pa.array(texts, pa.string()), pa.array(rows), lengths[rows], np.array(articles)[rows]

    def _render(
        self, segment: Segment, names: Mapping[str, str | Word], chosen: Mapping[str, np.intp]
    ) -> tuple[str, int]:
        slots = self.block.slots
        values = {n: b if isinstance(b, Word) else slots[b][int(chosen[b])] for n, b in names.items()}
        try:
            return segment.render(values)
        except (jinja2.TemplateError, TypeError) as error:
            shown = ", ".join(f"{name}={word!s}" for name, word in values.items())
            raise DeclarationError([self._finding("E105", f"cannot be rendered with {shown}: {error}")]) from None

    def _finding(self, code: str, message: str) -> Finding:
        path = self.config.template.shown
        return Finding(path=path, line=self.frame.frame.line, column=1, code=code, message=message)

    def _spans(self, side: _Side) -> pa.Array:
        parts = [pa.array(side.start, pa.int32()), pa.array(side.end, pa.int32())]
        missing = pa.array(np.full(len(side.start), self.frame.target is None))
        return pa.StructArray.from_arrays(parts, names=["start", "end"], mask=missing)

    def _values(self, at: Mapping[str, Indices], n: int) -> tuple[pa.Array, pa.Array]:
        parts: tuple[list[pa.Array], list[pa.Array]] = ([], [])
        for name in self.block.roles["stereo"]:
            mine, theirs = (self._bound(role, name, at, n) for role in ("stereo", "anti"))
            differs = pc.not_equal(mine, theirs)
            for words, side in zip((mine, theirs), parts, strict=True):
                side.append(pc.if_else(differs, words, pa.scalar(None, pa.string())))
        # Arrow drops a row whose every part is missing; an empty first part keeps it, and leaves ", " in front.
        stereo, anti = (pc.utf8_slice_codeunits(_join(["", *side], n, ", "), 2) for side in parts)
        return stereo, anti

    def _bound(self, role: str, name: str, at: Mapping[str, Indices], n: int) -> pa.Array:
        bound = self.block.roles[role][name]
        return _constant(str(bound), n) if isinstance(bound, Word) else _words(self.block.slots[bound], at[bound])

    def _facts(self, at: Mapping[str, Indices], n: int) -> dict[str, pa.Array]:
        front = self.block.block.front
        target = self._bound_anywhere(front.target, at, n) if front.target else _constant(None, n)
        return {
            "target": target,
            "sense_type": _constant(front.sense.type, n),
            "sense_key": self._cell(front.sense.key, at, n),
            "token_key": self._cell(front.sense.token, at, n),
            "lexicon": self._lexicon(n),
            "bias_type": _constant(front.bias_type, n),
            "label_basis": _constant(front.label_basis, n),
            "contested": pa.array(_any(self.block, front.contested, at, n)),
            "valence": self._cell(front.valence, at, n),
            "stereotype": self._cell(front.stereotype, at, n),
        }

    def _bound_anywhere(self, name: str, at: Mapping[str, Indices], n: int) -> pa.Array:
        words = self.block.slots.get(name)
        return self._bound("stereo", name, at, n) if words is None else _words(words, at[name])

    def _cell(self, text: str | None, at: Mapping[str, Indices], n: int) -> pa.Array:
        found = reference(text, self.block.slots)
        if found is None:
            return _constant(text, n)
        slot, column = found
        cells = [word.columns[column] for word in self.block.slots[slot]]
        return _take([None if cell is None else str(cell) for cell in cells], at[slot])

    def _lexicon(self, n: int) -> pa.Array:
        sense = self.block.block.front.sense
        found = reference(sense.key, self.block.slots)
        if found is None:
            return _constant(sense.lexicon if sense.key else None, n)
        words = self.lists.get(self.block.block.front.slots[found[0]].list)
        return _constant(words.columns[found[1]].lexicon if words else None, n)

    def _minimal(self, stereo: _Side, anti: _Side, at: Mapping[str, Indices]) -> Flags:
        n = len(stereo.start)
        differing = {
            name: _numpy(pc.not_equal(*(self._bound(role, name, at, n) for role in ("stereo", "anti"))))
            for name in self.block.roles["stereo"]
        }
        minimal: Flags = np.sum(list(differing.values()), axis=0) == 1
        for number, segment in enumerate(self.frame.compiled.segments):
            same = _numpy(pc.equal(stereo.pieces[number], anti.pieces[number]))
            # A segment may differ only where it prints the word that differs, and then not in its article.
            # "a " and "an " differ in length, and no article is neither.
            may_differ = (stereo.articles[number] == anti.articles[number]) & (not segment.block)
            printed = np.zeros(n, dtype=np.bool_)
            for name in segment.prints & differing.keys():
                printed |= differing[name]
            minimal &= same | (may_differ & printed)
        return minimal


def _odd(block: ResolvedBlock, conditions: list[Condition], at: Mapping[str, Indices], n: int) -> Flags:
    """Where an odd number of the conditions hold."""
    odd = np.zeros(n, dtype=np.bool_)
    for condition in conditions:
        odd ^= _holds(block, condition, at, n)
    return odd


def _any(block: ResolvedBlock, conditions: list[Condition], at: Mapping[str, Indices], n: int) -> Flags:
    """Where one of the conditions holds at least."""
    any_holds = np.zeros(n, dtype=np.bool_)
    for condition in conditions:
        any_holds |= _holds(block, condition, at, n)
    return any_holds


def _holds(block: ResolvedBlock, condition: Condition, at: Mapping[str, Indices], n: int) -> Flags:
    held = np.ones(n, dtype=np.bool_)
    for key, value in condition.items():
        slot, _, column = key.partition(".")
        wanted = value if isinstance(value, list) else [value]
        fits = np.array([word.columns[column or "word"] in wanted for word in block.slots[slot]])
        held &= fits[at[slot]]
    return held


def _pair(name: str, stereo: pa.Array, anti: pa.Array, flip: Flags) -> dict[str, pa.Array]:
    swapped = pa.array(flip)
    first, second = (stereo, anti) if not flip.any() else _swap(stereo, anti, swapped)
    return {name.format("stereo"): first, name.format("anti"): second}


def _swap(stereo: pa.Array, anti: pa.Array, swapped: pa.Array) -> tuple[pa.Array, pa.Array]:
    return pc.if_else(swapped, anti, stereo), pc.if_else(swapped, stereo, anti)


def _words(words: tuple[Word, ...], at: Indices) -> pa.Array:
    return _take([str(word) for word in words], at)


def _take(texts: list[str] | list[str | None], at: Indices) -> pa.Array:
    return pa.array(texts, pa.string()).take(pa.array(at))


def _constant(text: str | None, n: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.string()), n)


def _numpy(array: pa.Array) -> Flags:
    flags: Flags = array.to_numpy(zero_copy_only=False).astype(bool)
    return flags


def _join(parts: list[pa.Array] | list[str | pa.Array], n: int, between: str = "") -> pa.Array:
    """The parts of each row in one text; missing parts are left out."""
    columns = [_constant(part, n) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*columns, between, null_handling="skip")
