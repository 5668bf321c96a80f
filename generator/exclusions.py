"""The rows that verdicts leave out of a config: found by their ids, without making any row.

An id names the words of its row, so it gives the row's number. Rows keep the numbers that they have before verdicts;
ranges of rows count by these.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from senseprobe.errors import DeclarationError
from senseprobe.generator.config import Config, ResolvedBlock
from senseprobe.generator.yaml_source import format_path
from senseprobe.records import Finding
from senseprobe.release.verdicts import REJECT, VERDICTS, Verdict, read_verdicts


def read_dataset_verdicts(folder: Path) -> dict[str, Verdict]:
    """Return the verdicts of the dataset in `folder`; raise DeclarationError where `verdicts.csv` is malformed."""
    return read_verdicts(folder / VERDICTS, f"{format_path(folder)}/{VERDICTS}")


@dataclass(frozen=True, slots=True)
class ExcludedRows:
    """The rows of a config that verdicts leave out, in the order of their numbers before verdicts, and their ids."""

    numbers: tuple[int, ...] = ()
    ids: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers)

    def within(self, start: int, stop: int) -> list[int]:
        """Return the numbers from `start` to `stop`, counted from `start`."""
        first, last = bisect_left(self.numbers, start), bisect_left(self.numbers, stop)
        return [number - start for number in self.numbers[first:last]]


@dataclass(frozen=True)
class RowNumbers:
    """The numbers of a config's rows, by their ids."""

    config: Config

    @cached_property
    def _frames(self) -> dict[str, list[tuple[int, list[dict[str, int]]]]]:
        """By frame code: the number of the frame's first row, and for each slot the positions of words by slug."""
        frames: dict[str, list[tuple[int, list[dict[str, int]]]]] = {}
        first = 0
        for block in self.config.blocks:
            slugs = [{word.slug: at for at, word in enumerate(words)} for words in block.slots.values()]
            for frame in block.frames:
                frames.setdefault(frame.frame.code, []).append((first, slugs))
                first += block.product
        return frames

    def find(self, name: str) -> int | None:
        """Return the number of the row with the id `name`; None where no row has it."""
        config, _, rest = name.partition(".")
        code, *words = rest.split(".")  # no slug has a dot
        for first, slugs in self._frames.get(code, ()) if config == self.config.name else ():
            if (number := _number(words, slugs)) is not None:
                return first + number
        return None


def _number(words: list[str], slugs: list[dict[str, int]]) -> int | None:
    """Return the position of a row in the product of its slots; None where a slot does not have its word."""
    if len(words) != len(slugs):
        return None
    number = 0
    for word, positions in zip(words, slugs, strict=True):
        if (at := positions.get(word)) is None:
            return None
        number = number * len(positions) + at
    return number


def read_exclusions(configs: Sequence[Config], folder: Path) -> dict[str, ExcludedRows]:
    """Return by config the rows that have the verdict ``reject``; ids that no row has are ignored.

    Raise DeclarationError where the verdicts in `folder` are malformed, or leave no row of a config.
    """
    names = [verdict.id for verdict in read_dataset_verdicts(folder).values() if verdict.verdict == REJECT]
    if not names:
        return {}
    exclusions = {config.name: _find_rows(config, names) for config in configs}
    if empty := [config.name for config in configs if len(exclusions[config.name]) == config.size]:
        raise DeclarationError([_nothing_left(name, folder) for name in empty])
    return {name: rows for name, rows in exclusions.items() if rows}


def _find_rows(config: Config, names: Iterable[str]) -> ExcludedRows:
    numbers = RowNumbers(config)
    rows = sorted((number, name) for name in names if (number := numbers.find(name)) is not None)
    return ExcludedRows(tuple(number for number, _ in rows), tuple(name for _, name in rows))


def _nothing_left(config: str, folder: Path) -> Finding:
    message, hint = f"leaves no row of {config}", f"take {config} out of `configs`, or keep some of its rows"
    return Finding(path=f"{format_path(folder)}/{VERDICTS}", code="E125", message=message, hint=hint)


def drop_rows(batches: Iterable[pa.RecordBatch], start: int, excluded: ExcludedRows) -> Iterator[pa.RecordBatch]:
    """Yield the batches, of which the first begins with row `start`, without the rows that are left out.

    There are as many batches as before; one whose rows are all left out is empty.
    """
    for batch in batches:
        rows = excluded.within(start, start + batch.num_rows)
        yield _drop(batch, rows) if rows else batch
        start += batch.num_rows


def _drop(batch: pa.RecordBatch, rows: list[int]) -> pa.RecordBatch:
    remaining = np.ones(batch.num_rows, dtype=np.bool_)
    remaining[rows] = False
    mask = pa.array(remaining)
    return pa.record_batch([_filtered(column, mask) for column in batch.columns], schema=batch.schema)


def _filtered(column: pa.Array, mask: pa.Array) -> pa.Array:
    # Arrow filters a whole batch, or a struct, several times slower than this.
    if pa.types.is_struct(column.type) and not column.null_count:
        return pa.StructArray.from_arrays([part.filter(mask) for part in column.flatten()], fields=[*column.type])
    return column.filter(mask)


def exhausted_words(config: Config, excluded: ExcludedRows) -> Iterator[frozenset[tuple[str, str]]]:
    """Yield for each block the pairs of slot (or ``frame``) and word (or code) of which no row is left."""
    first = 0
    for block in config.blocks:
        yield _exhausted(block, excluded.within(first, first + block.size))
        first += block.size


def is_exhausted(config: Config, excluded: ExcludedRows, slot: str, word: str) -> bool:
    """Return whether no row with this word in the slot is left."""
    blocks = zip(config.blocks, exhausted_words(config, excluded), strict=True)
    return bool(excluded) and all((slot, word) in exhausted for block, exhausted in blocks if word in block.slots[slot])


def _exhausted(block: ResolvedBlock, numbers: Iterable[int]) -> frozenset[tuple[str, str]]:
    """Return the pairs of slot and word of which the rows with these numbers are all that there are."""
    counts: Counter[tuple[str, int]] = Counter()
    for number in numbers:
        frame, rest = divmod(number, block.product)
        counts["frame", frame] += 1
        for slot, words in reversed([*block.slots.items()]):
            rest, at = divmod(rest, len(words))
            counts[slot, at] += 1
    codes = [frame.frame.code for frame in block.frames]
    words_of = {"frame": codes, **{slot: [str(word) for word in words] for slot, words in block.slots.items()}}
    return frozenset(
        (slot, words_of[slot][at]) for (slot, at), rows in counts.items() if rows * len(words_of[slot]) == block.size
    )
