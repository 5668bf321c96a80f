"""The sentences of a frame: each segment is evaluated once for each combination of what it reads, then gathered."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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

MAX_STORED_TEXTS = 100_000
"""Texts of a segment that are kept from batch to batch: memory must not grow with the number of rows."""

MakeColumns = Callable[[RowSelection], Mapping[str, pa.Array]]
"""Makes columns of the rows that were picked."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What a segment says: its distinct texts, and for each row which of them, its length and its article's."""

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

    def gather(self, picked: RowSelection, slots: Sequence[str], make: MakeColumns) -> dict[str, pa.Array]:
        """Columns that depend on `slots`: made once for each combination of their words, then gathered.

        Texts come as a dictionary of the distinct ones, of which Parquet writes its own.
        """
        distinct, rows = picked.distinct(slots, self.block)
        return {name: _gathered(column, rows) for name, column in make(distinct).items()}

    def reads(self, role: str) -> tuple[str, ...]:
        """The slots on which the sentence of a role depends, in declared order."""
        return self.block.reads(role, (name for segment in self.frame.compiled.segments for name in segment.reads))

    def side(self, role: str, picked: RowSelection) -> Side:
        """The sentences of a role."""
        start, end, length = (np.zeros(picked.n, dtype=np.int32) for _ in range(3))
        pieces = []
        for segment in self.frame.compiled.segments:
            piece = self._evaluate(segment, role, picked)
            if segment is self.frame.target:
                start, end = length + piece.articles, length + piece.lengths
            length = length + piece.lengths
            self._check_length(int(length.max(initial=0)))
            pieces.append(piece)
        return Side(tuple(pieces), start, end)

    def sentence(self, role: str, picked: RowSelection) -> dict[str, pa.Array]:
        """The columns of a role: its sentences, and the spans of the target in them."""
        side = self.side(role, picked)
        return {role: side.text, f"{role}_span": self.spans(side)}

    def spans(self, side: Side) -> pa.Array:
        """The target's spans; null where the block has no target."""
        parts = [pa.array(side.start, pa.int32()), pa.array(side.end, pa.int32())]
        missing = pa.array(np.full(len(side.start), True)) if self.frame.target is None else None
        return pa.StructArray.from_arrays(parts, names=["start", "end"], mask=missing)

    def bound(self, role: str, name: str, picked: RowSelection) -> pa.Array:
        """The words that a name stands for in a role."""
        bound = self.block.names(role)[name]
        return constant(str(bound), picked.n) if isinstance(bound, Word) else self.words(bound, picked)

    def words(self, slot: str, picked: RowSelection) -> pa.Array:
        """The words of a slot."""
        return take([str(word) for word in self.block.slots[slot]], picked.at[slot])

    def cell(self, text: str | None, picked: RowSelection) -> pa.Array:
        """What front matter says as ``slot.column``, or as a literal: as text."""
        found = reference(text, self.block.slots)
        if found is None:
            return constant(text, picked.n)
        slot, column = found
        cells = [word.columns[column] for word in self.block.slots[slot]]
        return take([None if cell is None else str(cell) for cell in cells], picked.at[slot])

    def _check_length(self, longest: int) -> None:
        if longest > MAX_SENTENCE:
            message = f"a sentence has {longest} characters, at most {MAX_SENTENCE} are allowed"
            raise DeclarationError([self._finding("E108", message)])

    def _evaluate(self, segment: Segment, role: str, picked: RowSelection) -> Piece:
        slots = self.block.reads(role, segment.reads)
        distinct, rows = picked.distinct(slots, self.block)
        if slots and segment.is_plain:
            slot_words = self.block.slots[slots[0]]
            plain = [str(slot_words[place]) for place in distinct.at[slots[0]].tolist()]
            return self._piece(plain, np.zeros(len(plain), dtype=np.int32), rows)
        # Roles that bind nothing that is read say the same.
        bound = role if {*segment.reads} & self.block.roles[role].keys() else ""
        said = self.frame.rendered.setdefault((id(segment), bound), {})
        if len(said) > MAX_STORED_TEXTS:
            said.clear()
        found = []
        for places in _places(distinct, slots):
            # Other threads may fill it, or clear it, at any time.
            if (one := said.get(places)) is None:
                words = {slot: self.block.slots[slot][place] for slot, place in zip(slots, places, strict=True)}
                one = said[places] = self._render(segment, role, words)
            found.append(one)
        texts, articles = zip(*found, strict=True)
        return self._piece(texts, np.array(articles, dtype=np.int32), rows)

    @staticmethod
    def _piece(texts: Sequence[str], articles: Indices, rows: Indices) -> Piece:
        """A piece of texts and the lengths of their articles, and of which of them each row has."""
        lengths = np.fromiter(map(len, texts), dtype=np.int32, count=len(texts))
        return Piece(pa.array(texts, pa.string()), rows, lengths[rows], articles[rows])

    def _render(self, segment: Segment, role: str, chosen: Mapping[str, Word]) -> tuple[str, int]:
        bound = self.block.names(role)
        values = {n: b if isinstance(b := bound[n], Word) else chosen[b] for n in segment.reads}
        try:
            return segment.render(values)
        except (jinja2.TemplateError, TypeError) as error:
            shown = ", ".join(f"{name}={word!s}" for name, word in values.items())
            raise DeclarationError([self._finding("E105", f"cannot be rendered with {shown}: {error}")]) from None

    def _finding(self, code: str, message: str) -> Finding:
        path = self.config.template.display_path
        return Finding(path=path, line=self.frame.frame.line, column=1, code=code, message=message)


def _gathered(column: pa.Array, rows: Indices) -> pa.Array:
    at = pa.array(rows)
    if not pa.types.is_string(column.type):
        return column.take(at)
    coded = column.dictionary_encode()
    all_differ = len(coded.dictionary) == len(column)
    # The places are right by construction: Arrow need not look at each of them.
    return pa.DictionaryArray.from_arrays(at if all_differ else coded.indices.take(at), coded.dictionary, safe=False)


def _places(picked: RowSelection, slots: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Each combination, as places in the slots."""
    return zip(*(picked.at[slot].tolist() for slot in slots), strict=True) if slots else iter([()])


def take(texts: list[str] | list[str | None], at: Indices) -> pa.Array:
    """The texts at these places."""
    return pa.array(texts, pa.string()).take(pa.array(at))


def constant(text: str | None, n: int) -> pa.Array:
    """One text, `n` times."""
    return pa.repeat(pa.scalar(text, pa.string()), n)


def flags(array: pa.Array) -> Flags:
    """A column of booleans as numpy has it."""
    found: Flags = array.to_numpy(zero_copy_only=False).astype(bool)
    return found


def glue(parts: Sequence[tuple[pa.Array, Indices]]) -> pa.Array:
    """For each row, the texts of all parts at their places in one; no text is null.

    Several times faster than ``join``: all texts are gathered one after another, and of the bounds between them those
    within a row are left out.
    """
    at = np.empty((len(parts[0][1]), len(parts)), dtype=np.int32)
    first = 0
    for number, (texts, places) in enumerate(parts):
        np.add(places, first, out=at[:, number], casting="same_kind")
        first += len(texts)
    gathered = pa.concat_arrays([texts for texts, _ in parts]).take(pa.array(at.reshape(-1)))
    _, bounds, data = gathered.buffers()
    ends = np.frombuffer(bounds, dtype=np.int32)[: len(gathered) + 1 : len(parts)]
    return pa.StringArray.from_buffers(len(at), pa.py_buffer(ends.tobytes()), data)


def join(parts: list[pa.Array] | list[str | pa.Array], n: int, between: str = "") -> pa.Array:
    """The parts of each row in one text; missing parts are left out."""
    columns = [constant(part, n) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*columns, between, null_handling="skip")
