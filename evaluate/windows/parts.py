"""The answers to a window as a file, a part: Parquet with the hash of its own bytes, and with who made it."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, StringConstraints, ValidationError

from senseprobe import parquet_files
from senseprobe.errors import ResultError
from senseprobe.evaluate.cache import DIGEST_BYTES
from senseprobe.evaluate.windows.plan_form import Job, Text
from senseprobe.release.manifest import Sha256
from senseprobe.tables import UnreadableError

MAX_BYTES = 2**28
"""Bytes of a part: 65,536 units with three numbers have 3 MB."""

MAX_REASON = 1_000
_CHECKSUM = b"senseprobe-sha256:"
_ZEROS = b"0" * 64
_PATTERN = re.compile(re.escape(_CHECKSUM) + rb"([0-9a-f]{64})")
_META = b"senseprobe"

Line = Annotated[str, StringConstraints(max_length=4096)]


class Maker(BaseModel):
    """What made a part, all of which has a say in the last bits of numbers.

    - `model`: its identity, as results have it; `threads` and `processor`: of the computation on a CPU, else 0 and "".
    - `device`: ``cpu``, or what kind of card.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    model: Annotated[dict[Line, Line], Field(max_length=64)]
    scorer: Line
    version: NonNegativeInt
    senseprobe: Line
    libraries: Annotated[dict[Line, Line], Field(max_length=64)]
    threads: NonNegativeInt
    device: Line
    processor: Line

    def differences(self, other: "Maker") -> Iterator[tuple[str, str, str]]:
        """Yield what differs, with what it is here and there."""
        for part in ("weights", "config", "tokenizer"):
            if self.model.get(part) != other.model.get(part):
                yield f"the model's {part}", self.model.get(part, "")[:12], other.model.get(part, "")[:12]
        for part in dict.fromkeys([*self.model, *other.model]):
            if part not in ("weights", "config", "tokenizer") and self.model.get(part) != other.model.get(part):
                name = "the number format" if part == "dtype" else f"the model's {part}"
                yield name, self.model.get(part, "none"), other.model.get(part, "none")
        yield from _unlike("the version of senseprobe", self.senseprobe, other.senseprobe)
        yield from _unlike("the scorer", f"{self.scorer}@{self.version}", f"{other.scorer}@{other.version}")
        for name in dict.fromkeys([*self.libraries, *other.libraries]):
            yield from _unlike(name, self.libraries.get(name, "none"), other.libraries.get(name, "none"))
        yield from _unlike("the device", self.device, other.device)
        yield from _unlike("the kind of processor", self.processor, other.processor)
        yield from _unlike("the number of threads", str(self.threads), str(other.threads))


def _unlike(name: str, mine: str, its: str) -> Iterator[tuple[str, str, str]]:
    if mine != its:
        yield name, mine, its


class _Meta(BaseModel):
    """What a part says of itself."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    plan: Sha256
    window: NonNegativeInt
    maker: Maker


@dataclass(frozen=True, slots=True)
class Part:
    """The answers to a window.

    - `plan`: the hash of the plan; `window`: the number of the window; `maker`: what made it.
    - `digests`: of the units, in their order: bytes, `DIGEST_BYTES` each.
    - `numbers`: float64 of shape (units, numbers), NaN where a unit has none; `reasons`: why, by position.
    """

    plan: str
    window: int
    maker: Maker
    digests: Sequence[bytes]
    numbers: NDArray[np.float64]
    reasons: Mapping[int, str]


def write_part(part: Part, names: Sequence[str]) -> bytes:
    """Return a part as the bytes of its file; `names` are those of its numbers."""
    reasons = [part.reasons.get(row) for row in range(len(part.digests))]
    columns = {"unit": pa.array(part.digests, pa.binary(DIGEST_BYTES))}
    columns |= {name: pa.array(part.numbers[:, number]) for number, name in enumerate(names)}
    table = pa.table(columns | {"reason": pa.array(reasons, pa.string())})
    meta = {"plan": part.plan, "window": part.window, "maker": part.maker.model_dump()}
    texts = {_META: json.dumps(meta).encode(), b"checksum": _CHECKSUM + _ZEROS}
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(texts)
    data = bytes(sink.getvalue())
    # The hash is of the file with zeros in its place, so that one file, and any byte of it, can be checked by itself.
    return data.replace(_CHECKSUM + _ZEROS, _CHECKSUM + hashlib.sha256(data).hexdigest().encode())


def is_whole(data: bytes) -> bool:
    """Return whether the bytes of a part are those that were written."""
    found: list[bytes] = _PATTERN.findall(data)
    if len(found) != 1:
        return False
    zeroed = data.replace(_CHECKSUM + found[0], _CHECKSUM + _ZEROS)
    return hashlib.sha256(zeroed).hexdigest() == found[0].decode()


def read_part(data: bytes, name: str) -> Part:
    """Return the part with these bytes, called `name` in messages. ResultError where it is damaged, or no part."""
    if not is_whole(data):
        raise ResultError(
            f"{name} is damaged, or no part: its bytes do not have the hash that stands in it; delete it and start "
            "its shard again"
        )
    try:
        with parquet_files.bounded_parquet(data) as file:
            metadata: dict[bytes, bytes] = file.metadata.metadata or {}
            meta = _Meta.model_validate_json(metadata.get(_META, b""))
            batches = [*parquet_files.read_batches(file, None, 2**16, MAX_BYTES)]
            table = pa.Table.from_batches(batches, file.schema_arrow.remove_metadata())
    except ValidationError:
        raise ResultError(f"{name} is no part of a scoring: it does not say who made it") from None
    except (OSError, ValueError, MemoryError, UnreadableError, pa.ArrowException) as error:
        raise ResultError(f"{name} cannot be read: {str(error).partition(chr(10))[0]}") from None
    return _part_of(meta, table, name)


def _part_of(meta: _Meta, table: pa.Table, name: str) -> Part:
    first, *numbers, last = table.schema if table.num_columns > 2 else (None, None)
    sound = first == pa.field("unit", pa.binary(DIGEST_BYTES)) and last == pa.field("reason", pa.string())
    if not sound or any(field is None or field.type != pa.float64() for field in numbers):
        raise ResultError(f"{name} is no part of a scoring: expected the columns unit, numbers and reason")
    columns = [table[field.name].to_numpy() for field in numbers]
    if any(table[column].null_count for column in table.column_names[:-1]):
        raise ResultError(f"{name} is no part of a scoring: it has units without a digest, or without numbers")
    reasons = {row: reason[:MAX_REASON] for row, reason in enumerate(table["reason"].to_pylist()) if reason is not None}
    values: NDArray[np.float64] = np.stack(columns, axis=1) if columns else np.empty((len(table), 0))
    return Part(meta.plan, meta.window, meta.maker, table["unit"].to_pylist(), values, reasons)


def check_part(part: Part, job: Job, units: int, name: str) -> None:
    """Raise ResultError where a part does not have the numbers of a job, or other than so many units."""
    if part.numbers.shape != (units, len(job.numbers)):
        raise ResultError(
            f"{name} has {part.numbers.shape[0]} units with {part.numbers.shape[1]} numbers, but its window has "
            f"{units} with {len(job.numbers)}: delete it and start its shard again"
        )


def describe_mixture(one: tuple[str, Maker], other: tuple[str, Maker]) -> str:
    """Return what differs in who made two parts, and what to do; empty where nothing does."""
    (name, maker), (other_name, other_maker) = one, other
    for what, mine, its in other_maker.differences(maker):
        return (
            f"{other_name} and {name} cannot be joined: {what} is {mine} in the one and {its} in the other; delete one "
            "of them, and start its shard again where all are alike"
        )
    return ""


def unknown_text(value: Any) -> Text:  # noqa: ANN401 - whatever a model says of itself
    """Return a text of at most 4,096 characters."""
    return str(value)[:4096]
