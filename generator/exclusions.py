"""Ids of rows that are left out (`verdicts.csv`) or withdrawn for good (`retired.csv`): found without making any row.

An id names the words of its row, so it gives the row's number, that before verdicts. It names one row for ever, since
scores, verdicts and disputes refer to it: no later release may have one that is retired.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import DeclarationError, ReleaseError
from senseprobe.generator.config import Config
from senseprobe.generator.yaml_source import format_path, read_text
from senseprobe.messages import printable
from senseprobe.records import Finding
from senseprobe.release.verdicts import REJECT, VERDICTS, Verdict, read_id_table, read_verdicts

RETIRED = "retired.csv"


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
            if len(words) == len(slugs) and all(word in at for word, at in zip(words, slugs, strict=True)):
                number = 0
                for word, at in zip(words, slugs, strict=True):
                    number = number * len(at) + at[word]
                return first + number
        return None


def read_exclusions(configs: Sequence[Config], folder: Path) -> dict[str, ExcludedRows]:
    """Return by config the rows that are rejected; raise DeclarationError where no row of a config is left."""
    rejected = [verdict.id for verdict in read_dataset_verdicts(folder).values() if verdict.verdict == REJECT]
    exclusions, findings = {}, []
    for config in configs if rejected else ():
        numbers = RowNumbers(config)
        rows = sorted((number, name) for name in rejected if (number := numbers.find(name)) is not None)
        if len(rows) == config.size:
            path, message = f"{format_path(folder)}/{VERDICTS}", f"rejects every row of {config.name}"
            hint = f"remove {config.name} from `configs`, or keep some of its rows"
            findings.append(Finding(path=path, code="E125", message=message, hint=hint))
        elif rows:
            exclusions[config.name] = ExcludedRows(tuple(number for number, _ in rows), tuple(name for _, name in rows))
    if findings:
        raise DeclarationError(findings)
    return exclusions


def drop_rows(batches: Iterable[pa.RecordBatch], start: int, excluded: ExcludedRows) -> Iterator[pa.RecordBatch]:
    """Yield every batch, of which the first begins with row `start`, without the rows that are left out."""
    for batch in batches:
        if rows := excluded.within(start, start + batch.num_rows):
            remaining = np.ones(batch.num_rows, dtype=np.bool_)
            remaining[rows] = False
            columns = [_filtered(column, pa.array(remaining)) for column in batch.columns]
            yield pa.record_batch(columns, schema=batch.schema)
        else:
            yield batch
        start += batch.num_rows


def _filtered(column: pa.Array, mask: pa.Array) -> pa.Array:
    # Arrow filters a whole batch, or a struct, several times slower than this.
    if pa.types.is_struct(column.type) and not column.null_count:
        return pa.StructArray.from_arrays([child.filter(mask) for child in column.flatten()], fields=[*column.type])
    return column.filter(mask)


def exhausted_words(config: Config, excluded: ExcludedRows) -> Iterator[frozenset[tuple[str, str]]]:
    """Yield for each block the pairs of slot (or ``frame``) and word (or code) of which no row is left."""
    first = 0
    for block in config.blocks:
        words: dict[str, Sequence[str]] = {"frame": [frame.frame.code for frame in block.frames], **block.slots}
        counts: Counter[tuple[str, int]] = Counter()
        for number in excluded.within(first, first + block.size):
            for slot in reversed(words):
                number, at = divmod(number, len(words[slot]))
                counts[slot, at] += 1
        full = [pair for pair, rows in counts.items() if rows * len(words[pair[0]]) == block.size]
        yield frozenset((slot, str(words[slot][at])) for slot, at in full)
        first += block.size


@dataclass(frozen=True, slots=True)
class RetiredId:
    """An id that was withdrawn: the version and the reason, where they are given, and its line, from 1."""

    version: str
    reason: str
    line: int

    def __str__(self) -> str:
        since = f" in {self.version}" if self.version else ""
        return printable(f"{since}{': ' if self.reason else ''}{self.reason}")[:200]


def read_retired(folder: Path) -> dict[str, RetiredId]:
    """Return the retired ids of the dataset in `folder`; raise DeclarationError where `retired.csv` is malformed."""
    path = folder / RETIRED
    if not path.exists() and not path.is_symlink():
        return {}
    display_path = f"{format_path(folder)}/{RETIRED}"  # the folder's: a link would have the path of its target
    if path.is_symlink() or not path.is_file():
        raise DeclarationError([Finding(path=display_path, code="E100", message="is not a plain file")])
    retired: dict[str, RetiredId] = {}
    findings = []
    for line, row in read_id_table(read_text(path, display_path), display_path, ("id",), ("version", "reason")):
        name, error = row["id"], ""
        if not name:
            error = "the row has an empty id"
        elif name != name.strip():
            error = f"{name!r} begins or ends with a space, which an id cannot do"
        elif name in retired:
            error = f"{name!r} is retired twice"
        if error:
            findings.append(Finding(path=display_path, line=line, column=1, code="E202", message=printable(error)))
        retired.setdefault(name, RetiredId(row.get("version", ""), row.get("reason", ""), line))
    if findings:
        raise DeclarationError(findings)
    return retired


def retired_id_check(retired: Mapping[str, RetiredId], folder: Path) -> Callable[[pa.RecordBatch], None]:
    """Return a function that raises ReleaseError for rows with an id that is retired in the dataset in `folder`."""
    ids = pa.array(list(retired), pa.string())

    def check(rows: pa.RecordBatch) -> None:
        back = rows["id"].filter(pc.is_in(rows["id"], value_set=ids))
        if len(back):
            name = back[0].as_py()
            row, location = retired[name], f"{format_path(folder / RETIRED)}:{retired[name].line}"
            message = f"row {printable(name)} was retired{row} ({location}): a retired id never comes back"
            raise ReleaseError(message)

    return check
