"""Verdicts and rows: which rows of a config are left out, known by their ids, without making any.

An id says which words its row has, so it says which row it is; rows keep the numbers that they have before verdicts,
and whoever expands a range counts by these.
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
    """The verdicts on rows of the dataset in `folder`; DeclarationError where its `verdicts.csv` is malformed."""
    return read_verdicts(folder / VERDICTS, f"{format_path(folder)}/{VERDICTS}")


@dataclass(frozen=True, slots=True)
class ExcludedRows:
    """The rows of a config that verdicts leave out, in the order of their numbers before verdicts, and their ids."""

    numbers: tuple[int, ...] = ()
    ids: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True)
class RowNumbers:
    """The numbers of a config's rows, by their ids."""

    config: Config

    @cached_property
    def _frames(self) -> dict[str, list[tuple[int, list[dict[str, int]]]]]:
        """By frame code: the first row's number of each frame with it, and slot by slot the places of words by slug."""
        found: dict[str, list[tuple[int, list[dict[str, int]]]]] = {}
        first = 0
        for block in self.config.blocks:
            slugs = [{word.slug: at for at, word in enumerate(words)} for words in block.slots.values()]
            for frame in block.frames:
                found.setdefault(frame.frame.code, []).append((first, slugs))
                first += block.product
        return found

    def find(self, name: str) -> int | None:
        """The number of the row with this id; None where no row has it."""
        config, _, rest = name.partition(".")
        code, *words = rest.split(".")  # no slug has a dot
        for first, slugs in self._frames.get(code, ()) if config == self.config.name else ():
            if (number := _number(words, slugs)) is not None:
                return first + number
        return None


def _number(words: list[str], slugs: list[dict[str, int]]) -> int | None:
    """The place of a row in the product of some slots; None where a slot does not have its word."""
    if len(words) != len(slugs):
        return None
    number = 0
    for word, known in zip(words, slugs, strict=True):
        if (at := known.get(word)) is None:
            return None
        number = number * len(known) + at
    return number


def read_exclusions(configs: Sequence[Config], folder: Path) -> dict[str, ExcludedRows]:
    """By config the rows that have the verdict ``reject``; ids that no row has are passed over.

    Raises DeclarationError where the verdicts in `folder` are malformed, or leave no row of a config.
    """
    names = [each.id for each in read_dataset_verdicts(folder).values() if each.verdict == REJECT]
    found = {config.name: _left_out(config, names) for config in configs} if names else {}
    findings = [
        _nothing_left(config.name, folder) for config in configs if names and len(found[config.name]) == config.size
    ]
    if findings:
        raise DeclarationError(findings)
    return {name: out for name, out in found.items() if out}


def _left_out(config: Config, names: Iterable[str]) -> ExcludedRows:
    numbers, start = RowNumbers(config), f"{config.name}."
    ours = (name for name in names if name.startswith(start))
    found = sorted((number, name) for name in ours if (number := numbers.find(name)) is not None)
    return ExcludedRows(tuple(number for number, _ in found), tuple(name for _, name in found))


def _nothing_left(config: str, folder: Path) -> Finding:
    message, hint = f"leaves no row of {config}", f"take {config} out of `configs`, or keep some of its rows"
    return Finding(path=f"{format_path(folder)}/{VERDICTS}", code="E125", message=message, hint=hint)


def drop_rows(batches: Iterable[pa.RecordBatch], start: int, out: ExcludedRows) -> Iterator[pa.RecordBatch]:
    """The batches, of which the first begins with row `start`, without the rows that are left out.

    There are as many batches as before: one of which all rows are left out has none.
    """
    for batch in batches:
        stop = start + batch.num_rows
        here = out.numbers[bisect_left(out.numbers, start) : bisect_left(out.numbers, stop)]
        yield _without(batch, [number - start for number in here]) if here else batch
        start = stop


def _without(batch: pa.RecordBatch, rows: list[int]) -> pa.RecordBatch:
    kept = np.ones(batch.num_rows, dtype=np.bool_)
    kept[rows] = False
    mask = pa.array(kept)
    return pa.record_batch([_filtered(column, mask) for column in batch.columns], schema=batch.schema)


def _filtered(column: pa.Array, mask: pa.Array) -> pa.Array:
    """The column where the mask holds; Arrow filters a whole batch, or a struct, several times slower than this."""
    if pa.types.is_struct(column.type) and not column.null_count:
        return pa.StructArray.from_arrays([part.filter(mask) for part in column.flatten()], fields=[*column.type])
    return column.filter(mask)


def emptied(config: Config, out: ExcludedRows) -> Iterator[frozenset[tuple[str, str]]]:
    """For each block of a config the pairs of slot (or ``frame``) and word (or code) of which no row is left."""
    first = 0
    for block in config.blocks:
        last = first + block.size
        here = out.numbers[bisect_left(out.numbers, first) : bisect_left(out.numbers, last)]
        yield _emptied(block, [number - first for number in here]) if here else frozenset()
        first = last


def is_gone(config: Config, out: ExcludedRows, slot: str, word: str) -> bool:
    """Whether no row with this word in the slot is left."""
    held = [gone for block, gone in zip(config.blocks, emptied(config, out), strict=True) if word in block.slots[slot]]
    return bool(out) and all((slot, word) in gone for gone in held)


def _emptied(block: ResolvedBlock, numbers: Iterable[int]) -> frozenset[tuple[str, str]]:
    gone: Counter[tuple[str, int]] = Counter()
    for number in numbers:
        frame, rest = divmod(number, block.product)
        gone["frame", frame] += 1
        for slot, words in reversed([*block.slots.items()]):
            rest, at = divmod(rest, len(words))
            gone[slot, at] += 1
    codes = [frame.frame.code for frame in block.frames]
    words_of = {"frame": codes, **{slot: [str(word) for word in words] for slot, words in block.slots.items()}}
    return frozenset(
        (slot, words_of[slot][at]) for (slot, at), rows in gone.items() if rows * len(words_of[slot]) == block.size
    )
