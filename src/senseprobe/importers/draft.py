"""Tables of pairs, or of words of association tests, that are no release yet, with the design their columns allow."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import SenseprobeError
from senseprobe.importers.integer_labels import name_label, number_names, read_schema_names
from senseprobe.importers.sources import Table
from senseprobe.importers.table_kinds import CONFIG, complete_rows, find_kind, name_needed, table_kinds
from senseprobe.messages import counted, listed
from senseprobe.records import Design, Factor
from senseprobe.release.hashing import ContentHash, combine
from senseprobe.release.manifest import Manifest
from senseprobe.release.release import DRAFT, Release
from senseprobe.release.schema import design_schema

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset
    from numpy.typing import ArrayLike

    RowTable: TypeAlias = pd.DataFrame | Dataset | pa.Table

Factors: TypeAlias = Sequence[str] | Mapping[str, str | tuple[str, str]]


@dataclass(frozen=True, slots=True)
class DraftManifest(Manifest):
    """The facts of a draft: of its only config, and the content hash of its rows."""

    @property
    def name(self) -> str:
        """``not a release``."""
        return DRAFT


@dataclass(frozen=True, slots=True, repr=False)
class Draft(Release):
    """Rows in memory that are scored as those of a release are.

    `left_out` says of estimands that need other columns which these are.
    """

    rows: pa.Table
    left_out: Mapping[str, str]

    def batches(self, config: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows; `columns` names those of interest (default: all)."""
        yield from self.rows.select(columns or self.rows.column_names).to_batches()


def draft_of(table: "RowTable", factors: Factors = ()) -> Draft:
    """Return a draft of a table with `stereo` and `anti`, `premise` and `hypothesis`, or sets of association tests.

    The last are rows with a `test`, a `role` (X, Y, A, B), and a `word`, a `sentence` or both. Where the word stands in
    its sentence is looked for, unless `span` (a mapping), or `span_start` and `span_end`, say so. A row without a
    sentence is of the word alone, one without a word of its sentence. `word_class` and `identity` may be added.

    Other columns are used where a release has them under the same name: ``id``, ``frame``, ``target``, ``gold``,
    ``group``, ``stereotype``, ``valence``, ``contested``, ``unrelated``, ``gender`` and ``pair``. `factors` are
    columns whose levels stand for more of their kind; by name where both sentences of a pair have a level each, in two
    columns. Raises SenseprobeError where a column is missing, a row has no sentence, or two rows have one id.

    >>> table = pa.table({"stereo": ["Nurses are rude."], "anti": ["Nurses are kind."], "target": ["nurse"]})
    >>> draft = draft_of(table)
    >>> draft.design("rows").estimands
    ('preference', 'preference-half')
    """
    try:
        rows = _as_arrow(table)
    except (pa.ArrowException, ValueError, KeyError) as error:
        raise SenseprobeError(f"the table cannot be read: {error}") from error
    columns = {*rows.column_names}
    kind = find_kind(columns)
    if kind is None or not len(rows):
        state = "is empty" if kind else f"has the columns {listed(rows.column_names) or '(none)'}"
        expected = f"{name_needed(())}, or test, role and word or sentence"
        raise SenseprobeError(f"the table {state}: expected {expected}")
    for column in table_kinds()[kind].texts:
        lacking = [number for number, text in enumerate(rows[column].to_pylist()) if not (text and str(text).strip())]
        if lacking:
            raise SenseprobeError(f"column {column!r} is empty in rows {listed(map(str, lacking))} (from 0)")
    named = _factors(factors, columns)
    records = rows.to_pylist()
    design, complete, left_out = complete_rows(kind, records, rows.schema, named)
    ids = [str(row["id"] if row.get("id") is not None else number) for number, row in enumerate(records, start=1)]
    if len({*ids}) < len(ids):
        raise SenseprobeError("the column `id` has the same value twice: give each row its own")
    complete = [{"frame": "", **row, "id": id_} for row, id_ in zip(complete, ids, strict=True)]
    try:
        whole = pa.Table.from_pylist(complete, design_schema(design))
    except pa.ArrowException as error:
        raise SenseprobeError(f"a column has a type that releases do not allow: {error}") from error
    return Draft(folder=Path(DRAFT), manifest=_manifest(whole, design), rows=whole, left_out=left_out)


def key_vectors(
    vectors: "Mapping[str, ArrayLike] | ArrayLike", release: Release
) -> tuple[Mapping[str, "ArrayLike"], tuple[str, ...]]:
    """Return vectors by text, and the level that they are scored at unless one is named.

    An array has a row for each row of a draft, whose text is its sentence, or its word without one. Raises
    SenseprobeError where it has not.
    """
    rows = release.rows.to_pylist() if isinstance(release, Draft) else []
    texts = [row.get("sentence") or row.get("word") for row in rows]
    levels = ("sent",) if any(row.get("sentence") for row in rows) else ("word",)
    if isinstance(vectors, Mapping):
        return vectors, levels
    try:
        array = np.asarray(vectors)
    except (ValueError, TypeError, RuntimeError) as error:  # rows of unequal length; what torch refuses
        raise SenseprobeError(f"the vectors cannot be read as an array: {error}") from error
    if not rows or array.ndim != 2 or len(array) != len(rows):
        shape = " by ".join(map(str, array.shape)) or "one number"
        raise SenseprobeError(
            f"an array of vectors needs one row for each row of the table, but this one has {shape} for"
            f" {counted(len(rows), 'row')}: fix it, or give a dict by word or sentence"
        )
    keyed: dict[str, ArrayLike] = {}
    for text, vector in zip(texts, array, strict=True):
        first = keyed.setdefault(text, vector)
        if first is not vector and not np.array_equal(first, vector):
            raise SenseprobeError(f"{text!r} is in several rows with different vectors: give it one vector")
    return keyed, levels


def _as_arrow(table: Any) -> pa.Table:  # noqa: ANN401 - of three libraries
    """Return a table with texts and booleans only; columns of nested values are dropped.

    Integers that its schema, or the features of `datasets`, give names to are these names.
    """
    features = table.features if hasattr(type(table), "features") else {}
    labels = {name: feature for name, feature in features.items() if hasattr(feature, "int2str")}
    names = {name: number_names(label.names or ()) for name, label in labels.items()}
    if not isinstance(table, pa.Table):
        as_pandas = table if hasattr(table, "columns") else table.to_pandas()
        table = pa.Table.from_pandas(as_pandas, preserve_index=False)
    names |= read_schema_names(table.schema.metadata)
    if "span" in table.column_names and pa.types.is_struct(span := table.schema.field("span").type):
        for name in {"start", "end"} & {field.name for field in span}:
            table = table.append_column(f"span_{name}", pc.struct_field(table["span"], name))
    flat = {field.name: field.type for field in table.schema if not pa.types.is_nested(field.type)}
    types = {name: kind if pa.types.is_boolean(kind) else pa.string() for name, kind in flat.items()}
    columns = {name: pc.cast(table[name], kind) for name, kind in types.items()}
    for name, column in columns.items():
        if names.get(name) and pa.types.is_string(column.type):
            columns[name] = pa.array([name_label(text, names[name]) for text in column.to_pylist()], pa.string())
    return pa.table(columns)


def _factors(factors: Factors, columns: set[str]) -> tuple[Factor, ...]:
    pairs = factors.items() if isinstance(factors, Mapping) else [(name, name) for name in factors]
    named = tuple(
        Factor(name=name, columns=(source,) if isinstance(source, str) else tuple(source)) for name, source in pairs
    )
    if missing := [column for factor in named for column in factor.columns if column not in columns]:
        raise SenseprobeError(f"unknown column {missing[0]!r} for a factor; columns: {listed(sorted(columns))}")
    return named


def _manifest(rows: pa.Table, design: Design) -> DraftManifest:
    content = ContentHash(design_schema(design))
    for batch in rows.to_batches():
        content.update(batch)
    config = {
        "rows": len(rows),
        "content": content.hexdigest(),
        "design": asdict(design),
        "levels": Table(CONFIG, "", design, rows.to_pylist()).levels(),
        "description": "",
        "expect": {},
    }
    facts = {"dataset": DRAFT, "version": "", "card": {}, "order": [CONFIG], "configs": {CONFIG: config}}
    return DraftManifest({**facts, "contrasts": [], "content": combine({CONFIG: content.hexdigest()}), "files": {}})
