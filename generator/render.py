"""Renders the sentences of a frame: each segment once for each combination of the words that it reads."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import jinja2
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import DeclarationError
from senseprobe.generator.config import Config, ResolvedBlock, ResolvedFrame, reference
from senseprobe.generator.product import Flags, Indices, RowSelection
from senseprobe.generator.segments import MAX_SENTENCE, Segment
from senseprobe.generator.word_lists import Word
from senseprobe.records import Finding

MAX_STORED_TEXTS = 100_000  # of a segment, from batch to batch: memory must not grow with the number of rows


@dataclass(frozen=True, slots=True)
class Piece:
    """The distinct texts of a segment, and for each row which of them it has, its length and its article's."""

    texts: pa.Array
    rows: Indices
    lengths: Indices
    articles: Indices

    @property
    def row_texts(self) -> pa.Array:
        """The text of each row."""
        return self.texts.take(pa.array(self.rows))


@dataclass(frozen=True, slots=True)
class Side:
    """One role's sentences: a piece for each segment, and where the target is."""

    pieces: tuple[Piece, ...]
    start: Indices
    end: Indices

    @property
    def text(self) -> pa.Array:
        """The sentence of each row."""
        return glue([(piece.texts, piece.rows) for piece in self.pieces])


@dataclass(slots=True)
class FrameRows:
    """The rows of one frame of a block: every column is made from the few slots that it reads."""

    config: Config
    block: ResolvedBlock
    frame: ResolvedFrame

    def gather(
        self, selection: RowSelection, slots: Sequence[str], make: Callable[[RowSelection], Mapping[str, pa.Array]]
    ) -> dict[str, pa.Array]:
        """Return columns that depend on `slots`: made once for each combination of their words, then gathered."""
        distinct, rows = selection.distinct(slots, self.block)
        return {name: _gathered(column, rows) for name, column in make(distinct).items()}

    def column(
        self, selection: RowSelection, slots: Sequence[str], make: Callable[[RowSelection], pa.Array]
    ) -> pa.Array:
        """Return one column, as `gather` does."""
        return self.gather(selection, slots, lambda distinct: {"": make(distinct)})[""]

    def cells(self, selection: RowSelection, texts: Mapping[str, str | None]) -> dict[str, pa.Array]:
        """Return columns by name, each of a literal or of what it refers to as ``slot.column``."""
        slots = {name: (reference(text, self.block.slots) or ())[:1] for name, text in texts.items()}
        return {name: self.column(selection, slots[name], partial(self.cell, text)) for name, text in texts.items()}

    def sentences(self, selection: RowSelection, roles: Iterable[str]) -> dict[str, pa.Array]:
        """Return the sentences of roles and the spans of the target in them, each from the slots that it reads."""
        columns: dict[str, pa.Array] = {}
        for role in roles:
            columns |= self.gather(selection, self.reads(role), partial(self.sentence, role))
        return columns

    def reads(self, role: str) -> tuple[str, ...]:
        """Return the slots on which the sentence of a role depends, in declared order."""
        return self.block.reads(role, (name for segment in self.frame.compiled.segments for name in segment.reads))

    def side(self, role: str, selection: RowSelection) -> Side:
        """Return the sentences of a role."""
        start, end, length = (np.zeros(selection.n, dtype=np.int32) for _ in range(3))
        pieces = []
        for segment in self.frame.compiled.segments:
            piece = self._evaluate(segment, role, selection)
            if segment is self.frame.target:
                start, end = length + piece.articles, length + piece.lengths
            length = length + piece.lengths
            if (longest := length.max(initial=0)) > MAX_SENTENCE:
                raise self._error("E108", f"a sentence has {longest} characters; the limit is {MAX_SENTENCE}")
            pieces.append(piece)
        return Side(tuple(pieces), start, end)

    def sentence(self, role: str, selection: RowSelection) -> dict[str, pa.Array]:
        """Return the columns of a role: its sentences, and the spans of the target in them."""
        side = self.side(role, selection)
        return {role: side.text, f"{role}_span": self.spans(side)}

    def spans(self, side: Side) -> pa.Array:
        """Return the target's spans; null where the block has no target."""
        ends = [pa.array(side.start, pa.int32()), pa.array(side.end, pa.int32())]
        missing = pa.array(np.full(len(side.start), True)) if self.frame.target is None else None
        return pa.StructArray.from_arrays(ends, names=["start", "end"], mask=missing)

    def bound(self, role: str, name: str, selection: RowSelection) -> pa.Array:
        """Return the words that a name stands for in a role."""
        bound = self.block.names(role)[name]
        return constant(str(bound), selection.n) if isinstance(bound, Word) else self.words(bound, selection)

    def words(self, slot: str, selection: RowSelection) -> pa.Array:
        """Return the words of a slot."""
        return take([str(word) for word in self.block.slots[slot]], selection.at[slot])

    def cell(self, text: str | None, selection: RowSelection) -> pa.Array:
        """Return the texts of ``slot.column``, or the same literal for each row."""
        source = reference(text, self.block.slots)
        if source is None:
            return constant(text, selection.n)
        slot, column = source
        cells = [word.columns[column] for word in self.block.slots[slot]]
        return take([None if cell is None else str(cell) for cell in cells], selection.at[slot])

    def _evaluate(self, segment: Segment, role: str, selection: RowSelection) -> Piece:
        slots = self.block.reads(role, segment.reads)
        distinct, rows = selection.distinct(slots, self.block)
        if slots and isinstance(segment.source, str) and not segment.filters:  # it prints a word as it is
            slot_words = self.block.slots[slots[0]]
            plain = [str(slot_words[at]) for at in distinct.at[slots[0]].tolist()]
            return _piece(plain, np.zeros(len(plain), dtype=np.int32), rows)
        # Roles that bind nothing that is read have the same text.
        bound = role if {*segment.reads} & self.block.roles[role].keys() else ""
        cache = self.frame.rendered.setdefault((id(segment), bound), {})
        if len(cache) > MAX_STORED_TEXTS:
            cache.clear()
        results = []
        for positions in zip(*(distinct.at[slot].tolist() for slot in slots), strict=True) if slots else [()]:
            # Other threads may fill or clear the cache at any time.
            if (result := cache.get(positions)) is None:
                words = {slot: self.block.slots[slot][at] for slot, at in zip(slots, positions, strict=True)}
                result = cache[positions] = self._render(segment, role, words)
            results.append(result)
        texts, articles = zip(*results, strict=True)
        return _piece(texts, np.array(articles, dtype=np.int32), rows)

    def _render(self, segment: Segment, role: str, chosen: Mapping[str, Word]) -> tuple[str, int]:
        bound = self.block.names(role)
        values = {n: b if isinstance(b := bound[n], Word) else chosen[b] for n in segment.reads}
        try:
            return segment.render(values)
        except (jinja2.TemplateError, TypeError) as error:
            words = ", ".join(f"{name}={word!s}" for name, word in values.items())
            raise self._error("E105", f"cannot be rendered with {words}: {error}") from None

    def _error(self, code: str, message: str) -> DeclarationError:
        path, line = self.config.template.display_path, self.frame.frame.line
        return DeclarationError([Finding(path=path, line=line, column=1, code=code, message=message)])


def _piece(texts: Sequence[str], articles: Indices, rows: Indices) -> Piece:
    """Return a piece of texts and the lengths of their articles, and of which of them each row has."""
    lengths = np.fromiter(map(len, texts), dtype=np.int32, count=len(texts))
    return Piece(pa.array(texts, pa.string()), rows, lengths[rows], articles[rows])


def _gathered(column: pa.Array, rows: Indices) -> pa.Array:
    """Return the values of the rows; texts as a dictionary, which Parquet writes faster than repeated texts."""
    at = pa.array(rows)
    if not pa.types.is_string(column.type):
        return column.take(at)
    coded = column.dictionary_encode()
    all_differ = len(coded.dictionary) == len(column)
    # The indices are valid by construction: Arrow need not check them.
    return pa.DictionaryArray.from_arrays(at if all_differ else coded.indices.take(at), coded.dictionary, safe=False)


def take(texts: list[str] | list[str | None], at: Indices) -> pa.Array:
    """Return the texts at these positions."""
    return pa.array(texts, pa.string()).take(pa.array(at))


def constant(text: str | None, n: int) -> pa.Array:
    """Return one text, `n` times."""
    return pa.repeat(pa.scalar(text, pa.string()), n)


def flags(array: pa.Array) -> Flags:
    """Return a column of booleans as a numpy array."""
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.bool_)


def glue(pieces: Sequence[tuple[pa.Array, Indices]]) -> pa.Array:
    """Return for each row the texts of all parts at their positions in one text; no text is null."""
    # Several times faster than `join`: texts are gathered one after another, then bounds within a row are left out.
    at = np.empty((len(pieces[0][1]), len(pieces)), dtype=np.int32)
    first = 0
    for number, (texts, positions) in enumerate(pieces):
        np.add(positions, first, out=at[:, number], casting="same_kind")
        first += len(texts)
    gathered = pa.concat_arrays([texts for texts, _ in pieces]).take(pa.array(at.reshape(-1)))
    _, bounds, data = gathered.buffers()
    ends = np.frombuffer(bounds, dtype=np.int32)[: len(gathered) + 1 : len(pieces)]
    return pa.StringArray.from_buffers(len(at), pa.py_buffer(ends.tobytes()), data)


def join(pieces: list[pa.Array] | list[str | pa.Array], n: int, between: str = "") -> pa.Array:
    """Return the parts of each row in one text; missing parts are left out.

    >>> join(["race", pa.array(["nurse", "judge"])], 2, ".").to_pylist()
    ['race.nurse', 'race.judge']
    """
    columns = [constant(piece, n) if isinstance(piece, str) else piece for piece in pieces]
    return pc.binary_join_element_wise(*columns, between, null_handling="skip")
