"""How many bytes rows take in memory, whatever batches they come in."""

import pyarrow as pa
import pyarrow.compute as pc


def held_bytes(batch: pa.RecordBatch) -> int:
    """Bytes of the batch's values as Arrow holds them, without padding: texts with an offset of 4 bytes, flags in one.

    Dictionaries count as written out, so that the sum over the batches of some rows is the same however they are cut.
    """
    return sum(_held(column) for column in batch.columns)


def _held(array: pa.Array) -> int:
    if pa.types.is_struct(array.type):
        return sum(_held(child) for child in array.flatten())
    if pa.types.is_boolean(array.type):
        return len(array)
    if pa.types.is_integer(array.type):
        return 4 * len(array)
    if pa.types.is_dictionary(array.type):
        return 4 * len(array) + _sum(pc.take(_lengths(array.dictionary), array.indices))
    return 4 * len(array) + _sum(_lengths(array))


def _lengths(texts: pa.Array) -> pa.Array:
    return pc.binary_length(texts).cast(pa.int64())


def _sum(numbers: pa.Array) -> int:
    return int(pc.sum(numbers).as_py() or 0)
