"""Expands a config to record batches, in a fixed order.

Rows come block after block, frame after frame, and for each frame as the product of the slots in declared order, the
last varying fastest. Nothing is rendered row by row. Any range of rows can be expanded alone.
"""

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from senseprobe.errors import SenseprobeError
from senseprobe.generator.config import Config, ResolvedBlock, ResolvedFrame, reference
from senseprobe.generator.kinds import EXPANSIONS
from senseprobe.generator.product import RowSelection
from senseprobe.generator.render import FrameRows, constant, glue, join, take
from senseprobe.generator.word_lists import WordLists
from senseprobe.release.schema import row_schema

BATCH_ROWS = 262_144  # so many rows are in a file, too: no batch is joined with another or cut when it is written


def expand(config: Config, lists: WordLists, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
    """Yield rows `start` to `stop` (half-open; default: all) of a config; batches end at multiples of BATCH_ROWS.

    Raise SenseprobeError where a frame cannot be rendered, and ValueError for a range outside the config.
    """
    stop = config.size if stop is None else stop
    if not 0 <= start <= stop <= config.size:
        raise ValueError(f"rows {start} to {stop} of a config with {config.size}")
    first = 0
    for block in config.blocks:
        bounds, selection = (0, 0), RowSelection.rows(block, 0, 0)
        for frame in block.frames:
            last = first + block.product
            begin, rows = max(start, first), FrameRows(config, block, frame)
            while begin < min(stop, last):
                end = min(stop, last, (begin // BATCH_ROWS + 1) * BATCH_ROWS)
                if bounds != (begin - first, end - first):  # frames of a small block have the same words in their rows
                    bounds = (begin - first, end - first)
                    selection = RowSelection.rows(block, *bounds)
                yield make_batch(rows, selection, lists)
                begin = end
            first = last


def make_batch(rows: FrameRows, selection: RowSelection, lists: WordLists) -> pa.RecordBatch:
    """Return rows as a batch: texts except ids are dictionaries, columns without nulls are marked as required."""
    config, block = rows.config, rows.block
    columns = {
        "id": _ids(config, block, rows.frame, selection),
        "frame": rows.column(selection, (), lambda some: constant(rows.frame.frame.code, some.n)),
        **EXPANSIONS[config.kind].columns(rows, selection, lists),
        **{slot: rows.column(selection, (slot,), partial(rows.words, slot)) for slot in block.slots},
        **{name: _added_column(rows, selection, name, text) for name, text in block.block.front.added_columns.items()},
    }
    names = row_schema(config.kind, tuple(block.slots), config.columns.items()).names
    if odd := [*(name for name in names if name not in columns), *(name for name in columns if name not in names)]:
        problem = "is declared and not made" if odd[0] in names else "is made and not declared"
        raise SenseprobeError(f"{config.name}: the column {odd[0]} of the kind {config.kind} {problem}")
    fields = [pa.field(name, columns[name].type, name not in config.full) for name in names]
    return pa.record_batch([columns[name] for name in names], schema=pa.schema(fields))


def _ids(config: Config, block: ResolvedBlock, frame: ResolvedFrame, selection: RowSelection) -> pa.Array:
    # Rows that differ in the last slot only share the head of their ids, which is made once for all of them.
    *outer, last = block.slots
    distinct, rows = selection.distinct(outer, block)
    slugs = {slot: [word.slug for word in words] for slot, words in block.slots.items()}
    heads = [f"{config.name}.{frame.frame.code}", *(take(slugs[slot], distinct.at[slot]) for slot in outer)]
    ends = pa.array([f".{slug}" for slug in slugs[last]], pa.string())
    return glue([(join(heads, distinct.n, "."), rows), (ends, selection.at[last])])


def _added_column(rows: FrameRows, selection: RowSelection, name: str, text: str) -> pa.Array:
    """Return a column that the template adds: a list's cells, unchanged."""
    source = reference(text, rows.block.slots)
    assert source  # noqa: S101 - no template is resolved otherwise
    slot, column = source
    type_ = pa.bool_() if rows.config.columns[name] == "boolean" else pa.string()
    cells = pa.array([word.columns[column] for word in rows.block.slots[slot]], type_)
    return rows.column(selection, (slot,), lambda some: cells.take(pa.array(some.at[slot])))
