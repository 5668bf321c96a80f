"""Rows whose sentences are one to an altered model by construction: their tokens differ, and have one vector.

texts -> rows of the table of vectors -> classes of rows whose vectors coincide -> texts that are one -> marks

Two vectors coincide where their distance is at most 1e-3, or eight times the rounding of the number format, of what it
was in the parent. Where the output is read, what predicts the two has to coincide, too, and their biases.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from senseprobe.errors import ModelError
from senseprobe.evaluate.erased_rows import ERASED, INPUT, READ_AS, WHOLE
from senseprobe.evaluate.mitigation.record import Record, check_vectors, check_weights, read_map, read_record
from senseprobe.evaluate.models.alteration import Alteration, AlteredModel, Tables
from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.units import KINDS
from senseprobe.statistics.intervals import FloatArray

Ids: TypeAlias = tuple[int, ...]
IntArray: TypeAlias = NDArray[np.intp]

LEAST_TOLERANCE = 1e-3
ROUNDINGS = 8
_EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
_BLOCK = 2**22  # distances that are in memory at once
_DUST = 1e-5  # part of squares of norms: what float32 makes of the distance of a vector to itself


@dataclass(frozen=True, slots=True)
class RowClasses:
    """Rows of a table of vectors that are one to a model: by row, the first of its class; of rows alone, nothing.

    - `read`: as the input; `predicted`: as the input and as what is predicted, too.
    """

    read: Mapping[int, int]
    predicted: Mapping[int, int]


def mark_tables(tables: Tables, scorer: Scorer, model: AlteredModel) -> dict[str, pd.DataFrame]:
    """Return the tables of scored rows with the columns of `erased_rows`: which rows are one to a model."""
    kind = KINDS[scorer.kind]
    is_readable = _find_file(model) is not None or hasattr(model, "table_rows")
    if not is_readable or not (kind.pairs or kind.infers or kind.tests):
        return {**tables}
    roles = dict.fromkeys([*scorer.texts, *scorer.texts.values()])
    texts = list(dict.fromkeys(text for table in tables.values() for role in roles for text in table[role]))
    rows = dict(zip(texts, _read_rows(model, scorer.level, texts), strict=True))
    classes = find_classes(model, sorted({row for ids in rows.values() for row in ids}))
    if not classes.read:
        return {**tables}
    read, predicted = (
        {text: tuple(same.get(row, row) for row in ids) for text, ids in rows.items()}
        for same in (classes.read, classes.predicted)
    )
    if kind.tests:
        (role, *_) = roles
        return {
            name: table.assign(**{ERASED: _mark_tests(table, table[role].map(read))}) for name, table in tables.items()
        }
    marked = {}
    for name, table in tables.items():
        first, second = (table[role] for role in [*roles][:2])
        differ = _unequal(first.map(rows), second.map(rows))
        alike, whole = (~_unequal(first.map(texts_as), second.map(texts_as)) for texts_as in (read, predicted))
        whole |= _are_unpredicted(table, scorer)
        marks = np.where(differ & alike, np.where(whole, WHOLE, INPUT), 0).astype(np.int8)
        columns: dict[str, Any] = {ERASED: marks}
        if kind.infers:
            pairs = zip(first.map(read), second.map(read), strict=True)
            columns[READ_AS] = pd.factorize(pd.Series(list(pairs), index=table.index, dtype=object))[0]
        marked[name] = table.assign(**columns)
    return marked


def _find_file(model: Any) -> VectorFile | None:  # noqa: ANN401 - of any family
    """Return the file of vectors that a model is, or was trained on; None of others."""
    return model if isinstance(model, VectorFile) else getattr(getattr(model, "words", None), "file", None)


def _read_rows(model: AlteredModel, level: str, texts: Sequence[str]) -> list[Ids]:
    """Return of each text the rows of the table of vectors that a model reads it as."""
    if file := _find_file(model):
        return [tuple(file.look_up(level, text)[0]) for text in texts]
    return model.table_rows(level, texts)


def _unequal(first: "pd.Series[Any]", second: "pd.Series[Any]") -> NDArray[np.bool_]:
    return np.array([a != b for a, b in zip(first, second, strict=True)], dtype=np.bool_)


def _mark_tests(table: pd.DataFrame, read: "pd.Series[Any]") -> NDArray[np.int8]:
    """Return marks of the texts of tests that are one with a text of the set that theirs is held against."""
    marks = np.zeros(len(table), dtype=np.int8)
    roles, codes = table["role"].to_numpy(dtype=object), pd.factorize(read.map(repr))[0]
    empty = np.array([not ids for ids in read], dtype=np.bool_)
    for rows in table.groupby("test", sort=False).indices.values():
        for pair in (("X", "Y"), ("A", "B")):
            sides = [rows[(roles[rows] == role) & ~empty[rows]] for role in pair]
            both = np.intersect1d(*(codes[side] for side in sides))
            for side in sides:
                marks[side[np.isin(codes[side], both)]] = WHOLE
    return marks


def _are_unpredicted(table: pd.DataFrame, scorer: Scorer) -> NDArray[np.bool_]:
    """Return of each row whether no token that differs is predicted, so that what predicts it is of no effect."""
    if KINDS[scorer.kind].infers or scorer.predicts == "share":
        return np.ones(len(table), dtype=np.bool_)
    if scorer.predicts == "all":
        return np.zeros(len(table), dtype=np.bool_)
    first, second = (_targets(table, role) for role in [*scorer.texts][:2])
    return np.array([a == b for a, b in zip(first, second, strict=True)], dtype=np.bool_)


def _targets(table: pd.DataFrame, role: str) -> Iterator[str]:
    """Yield the text of the target in each sentence of a role; empty where it has none."""
    marked = [name for name in (f"{role}_span", "span") if name in table]
    for text, span in zip(table[role], table[marked[0]] if marked else [None] * len(table), strict=True):
        yield text[span["start"] : span["end"]] if span else ""


# --- rows that coincide -----------------------------------------------------------------------------------------------


def find_classes(model: AlteredModel, rows: Sequence[int]) -> RowClasses:
    """Return which of the rows of a model's table of vectors are one to it.

    Raises ModelError where the record, or the map beside it, cannot be read.
    """
    record, (erasure, of_rows) = read_record(model.alteration), read_map(model.alteration)
    if record is None or (rows and rows[-1] >= len(of_rows["removed"])):
        raise ModelError(f"the record of what was removed from {model.alteration} is not of this model")
    file = _find_file(model)
    vectors = np.asarray(file.table.read(rows), dtype=np.float64) if file else model.input_vectors(rows)
    removed = np.asarray(of_rows["removed"][list(rows)], dtype=np.float64)
    scale = np.asarray(of_rows["scale"][list(rows)] if "scale" in of_rows else np.ones(len(rows)), dtype=np.float64)
    parents = vectors / scale[:, None] + removed @ erasure.left.T
    tolerance = find_tolerance(model, record)
    # What an earlier record removed is equal in the parent, too, but for rounding.
    rounding = ROUNDINGS * _EPS.get(record.number_format, _EPS["float32"]) if len(record.chain) > 1 else 0.0
    first, second = find_close_pairs(vectors, parents, tolerance, rounding)
    output = model.output_vectors(rows) if hasattr(model, "output_vectors") else None
    alike = np.ones(len(first), dtype=np.bool_)
    if output is not None:
        heads, biases = output
        # A tied head was altered as the input was; another is the parent's, and coincides where it is the same.
        former = parents if record.head == "tied" else heads
        apart, was = (_distances(table, first, second) for table in (heads, former))
        alike = (apart <= tolerance * was if record.head == "tied" else apart == 0) & (biases[first] == biases[second])
    elif getattr(model, "predicts_tokens", False):
        alike[:] = False
    return RowClasses(*(_join(rows, first[pairs], second[pairs]) for pairs in (np.ones_like(alike), alike)))


def find_tolerance(model: AlteredModel, record: Record) -> float:
    """Return the part of the parent's distance below which two vectors coincide."""
    formats = (record.number_format, str(getattr(model, "identity", {}).get("dtype", "")))
    return max(LEAST_TOLERANCE, *(ROUNDINGS * _EPS.get(number_format, 0.0) for number_format in formats))


def find_close_pairs(
    vectors: FloatArray, parents: FloatArray, tolerance: float, rounding: float = 0.0
) -> tuple[IntArray, IntArray]:
    """Return the pairs of vectors, by number, that coincide: shape (pairs,) each.

    Their distance is at most `tolerance` of that of their `parents`, or `rounding` of the longer of the two.
    """
    coarse, squares = vectors.astype(np.float32), (vectors**2).sum(axis=1)
    # Twice the product of two that coincide is at least their squares, less what the limit of their distance leaves.
    limits = np.maximum(2 * tolerance**2 * (parents**2).sum(axis=1), (rounding**2 + _DUST) * squares)
    least = (squares - limits - _DUST * squares).astype(np.float32)
    pairs = []
    step = max(1, _BLOCK // max(1, len(vectors)))
    for start in range(0, len(vectors), step):
        products = coarse[start : start + step] @ (2 * coarse[start:]).T
        a, b = np.nonzero(products >= least[start : start + step, None] + least[start:])
        pairs.append(np.stack([a, b])[:, a < b] + start)
    first, second = np.concatenate(pairs, axis=1) if pairs else np.zeros((2, 0), dtype=np.intp)
    apart, was = (_distances(table, first, second) for table in (vectors, parents))
    longest = np.sqrt(np.maximum(squares[first], squares[second]))
    coincide = ((apart <= tolerance * was) & (was > 0)) | ((apart <= rounding * longest) & (rounding > 0))
    return first[coincide], second[coincide]


def _distances(table: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    return np.asarray(np.linalg.norm(table[first] - table[second], axis=1))


def _join(rows: Sequence[int], first: IntArray, second: IntArray) -> dict[int, int]:
    """Return by row the first of its class, of pairs of their numbers: classes are what pairs connect."""
    size, ends = len(rows), np.stack([first, second])
    _, labels = connected_components(coo_array((np.ones(ends.shape[1]), ends), shape=(size, size)), directed=False)
    _, least, of_row = np.unique(labels, return_index=True, return_inverse=True)
    return {rows[number]: rows[least[of_row[number]]] for number in np.unique(ends).tolist()}


def load_altered(model: Any, folder: Path) -> None:  # noqa: ANN401 - of any family
    """Alter a model that was loaded, where the record in a folder says that it is altered so."""
    record = read_record(folder)
    if record is None:
        return
    if isinstance(model, VectorFile):
        check_vectors(record, model.table.files, model.identity["weights"])
    if record.layers == "all":
        from senseprobe.evaluate.mitigation.hidden_layers import alter_layers

        check_weights(record, folder)
        alter_layers(model, folder)


ALTERATIONS = (Alteration(id="mitigation", load=load_altered, mark=mark_tables),)
