"""Tables of pairs, or of words of association tests, that are no release yet, with the design their columns allow."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.errors import SenseprobeError
from senseprobe.importers.integer_labels import (
    NO_NAME,
    as_integer,
    name_label,
    number_names,
    read_schema_names,
)
from senseprobe.importers.sentence_pairs import (
    WORD_SIGN,
    as_span,
    contrast_design,
    differ_in_pronouns,
    find_difference,
    find_word,
    frame_code,
    is_english,
    list_bias_types,
    pair_row,
)
from senseprobe.importers.sources import Source, Table
from senseprobe.messages import counted, listed
from senseprobe.records import Design, Factor
from senseprobe.release.hashing import ContentHash, combine
from senseprobe.release.kinds import KINDS
from senseprobe.release.manifest import Manifest
from senseprobe.release.release import DRAFT, Release
from senseprobe.release.schema import design_schema

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset
    from numpy.typing import ArrayLike

    RowTable: TypeAlias = pd.DataFrame | Dataset | pa.Table

CONFIG = "rows"

STRATA = {"stereotype": {"male", "female"}, "valence": {"pleasant", "unpleasant"}}
"""The labels that divide occupations and qualities into two classes each."""

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
    kind = next((kind for kind, fits in _COLUMNS.items() if fits(columns)), None)
    if kind is None or not len(rows):
        state = "is empty" if kind else f"has the columns {listed(rows.column_names) or '(none)'}"
        expected = "stereo and anti, premise and hypothesis, or test, role and word or sentence"
        raise SenseprobeError(f"the table {state}: expected {expected}")
    for column in SENTENCES.get(kind, ()):
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


SENTENCES: Mapping[str, tuple[str, str]] = {"contrast": ("stereo", "anti"), "inference": ("premise", "hypothesis")}
"""The columns of the two sentences of a row, by kind."""

_COLUMNS: Mapping[str, Callable[[set[str]], bool]] = {
    "contrast": lambda columns: columns >= {*SENTENCES["contrast"]},
    "inference": lambda columns: columns >= {*SENTENCES["inference"]},
    "association": lambda columns: columns >= {"test", "role"} and bool(columns & {"word", "sentence"}),
}
"""Whether a table with some columns is of a kind."""


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


_Completed = tuple[Design, list[dict[str, Any]], dict[str, str]]
"""The design of a draft, its rows with all columns of their kind, and what estimands that were left out need."""


def complete_rows(
    kind: str, records: list[dict[str, Any]], schema: pa.Schema, factors: tuple[Factor, ...], language: str = "en"
) -> _Completed:
    """Derive a design from the columns of a table, for drafts and for imports of a user's own table.

    Return it with the rows, which have all columns of their kind then, and with what estimands that it lacks would
    need, by id.
    """
    return _KINDS[kind](records, schema, factors, Source("draft", b"", language))


def _contrast(
    records: list[dict[str, Any]], schema: pa.Schema, factors: tuple[Factor, ...], source: Source
) -> _Completed:
    differences = [find_difference(row["stereo"], row["anti"]) for row in records]
    filled = [{name: value for name, value in row.items() if value is not None} for row in records]
    rows = [
        # Merged, not passed: a column may have the name of a parameter.
        pair_row(row["stereo"], row["anti"], source, line, difference, row.get("target"))
        | {"label_basis": "published", **row}
        for line, (row, difference) in enumerate(zip(filled, differences, strict=True), start=1)
    ]
    pronouns = is_english(source.language) and differ_in_pronouns(differences)
    framed = rows
    if "frame" not in schema.names:
        framed = [{**row, "frame": _frame_without_group(row, source.language)} for row in rows]
    group = next((name for name in ("group", "target") if not pronouns and _is_crossed(framed, name)), None)
    crossed = group is not None
    rows = framed if crossed else rows
    by_precedence = ["target", *(column for factor in factors for column in factor.columns)]  # the last one stays
    labels = STRATA if pronouns else ()
    strata = {label: column for label in labels for column in by_precedence if _divides(rows, column, label)}
    classed, praised = "stereotype" in strata, "valence" in schema.names
    estimands, left_out = _choose(
        (("preference", "preference-half"), True, ""),
        (
            ("relative", "spread"),
            crossed,
            "words of praise and blame, each with several groups in one frame, and groups in `group` or `target`",
        ),
        (
            ("pronoun-stereotype", "pronoun-baseline"),
            classed,
            "pairs of pronouns, occupations in `target` or a factor, and male or female in `stereotype`",
        ),
        (("pronoun-interaction",), classed and praised, "these and a column `valence`"),
        (("lms", "ss", "icat"), "unrelated" in schema.names, "a column `unrelated`"),
    )
    sense_types = {row.get("sense_type") for row in rows}
    design = contrast_design(
        bias_type=list_bias_types(rows) if all(row.get("bias_type") for row in rows) else "",
        factors={},
        columns=(),
        sense_type=str(next(iter(sense_types)) or "") if len(sense_types) == 1 else "",
        differs="pronoun" if pronouns else "evaluative" if crossed else "group",
        estimands=estimands,
        group=group,
        words={"stereo": "stereo_value", "anti": "anti_value"} if crossed else {},
        strata=strata,
    )
    design = replace(design, factors=factors, columns=_added_columns("contrast", schema))
    return design, rows, left_out


def _divides(rows: Sequence[Mapping[str, Any]], column: str, label: str) -> bool:
    """Return whether each word of a column has one value of a label, and both values of that occur."""
    classes = {(row.get(column), row.get(label)) for row in rows}
    return {value for _, value in classes} == STRATA[label] and len({word for word, _ in classes}) == len(classes)


def _frame_without_group(row: Mapping[str, Any], language: str) -> str:
    """Return the code of what two sentences share but for their group, so that groups can share a frame."""
    texts = []
    for role in ("stereo", "anti"):
        text, value = row[role], row[f"{role}_value"]
        spans = (find_word(text, str(row[name]), language) for name in ("target", "group") if row.get(name))
        start, end = next(filter(None, spans), (0, 0))
        text = f"{text[:start]}_{text[end:]}" if end else text
        texts.append(
            re.sub(rf"(?<!{WORD_SIGN}){re.escape(value)}(?!{WORD_SIGN})", "_", text, count=1) if value else text
        )
    return frame_code(find_difference(*texts).shared)


def _is_crossed(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Return whether each differing word of a frame is said of several groups, which can be compared by it then."""
    groups: dict[tuple[str, str, str], set[str | None]] = {}
    for row in rows:
        for column in ("stereo_value", "anti_value"):
            groups.setdefault((row["frame"], column, row[column]), set()).add(row.get(name))
    return all(len(names) > 1 and None not in names for names in groups.values())


def _inference(records: list[dict[str, Any]], schema: pa.Schema, factors: tuple[Factor, ...], _: Source) -> _Completed:
    if integers := [str(number) for number, row in enumerate(records) if as_integer(row.get("gold"))]:
        first = str(records[int(integers[0])]["gold"])
        raise SenseprobeError(f"gold of rows {listed(integers)} (from 0): {first!r} {NO_NAME}")
    rows = [{**row, "gold": row.get("gold") or "neutral"} for row in records]
    probes = all(row["gold"] == "neutral" for row in rows)
    gap = probes and "pair" in schema.names and {"male", "female"} <= {row.get("gender") for row in rows}
    estimands, left_out = _choose(
        (("nn", "fn", "t@0.5", "t@0.7"), probes, "rows whose correct answer is neutral"),
        (("gap",), gap, "such rows, and the columns `gender` (male and female) and `pair`"),
        (("accuracy",), not probes, "correct answers in a column `gold`"),
    )
    design = Design(
        kind="inference",
        sense_type="",
        bias_type="",
        slots=(),
        roles={"premise": {}, "hypothesis": {}},
        factors=factors,
        columns=_added_columns("inference", schema),
        estimands=estimands,
    )
    return design, rows, left_out


SETS = ("X", "Y", "A", "B")
"""The roles of an association test."""

_SPAN = ("span_start", "span_end")


def _association(
    records: list[dict[str, Any]], schema: pa.Schema, factors: tuple[Factor, ...], source: Source
) -> _Completed:
    rows = [_association_row(row, number, source.language) for number, row in enumerate(records)]
    roles: dict[str, set[str]] = {}
    identities: dict[str, str | None] = {}
    for row in rows:
        roles.setdefault(row["test"], set()).add(row["role"])
        if (first := identities.setdefault(row["test"], row.get("identity"))) != row.get("identity"):
            both = f"{first!r} and {row['identity']!r}"
            raise SenseprobeError(f"test {row['test']!r} has the identities {both}: give it a single one")
    for test, there in roles.items():
        if missing := [role for role in SETS if role not in there]:
            raise SenseprobeError(f"test {test!r} lacks rows of {' and '.join(missing)}: it needs X, Y, A and B")
    level = "word" if all(row["word"] for row in rows) else "sentence"
    needs = {
        "level word": ("word", "a column `word`"),
        "level sent": ("sentence", "a column `sentence`"),
        "level cword": ("sentence", "a column `sentence`") if "word" in schema.names else ("word", "a column `word`"),
    }
    design = Design(
        kind="association",
        sense_type="",
        bias_type="",
        slots=(),
        roles={"sentence": {}},
        factors=factors or (Factor(name=level, columns=(level,)),),
        columns=tuple(column for column in _added_columns("association", schema) if column[0] not in _SPAN),
        estimands=("weat",),
    )
    return design, rows, {what: needed for what, (column, needed) in needs.items() if column not in schema.names}


def _association_row(row: Mapping[str, Any], number: int, language: str) -> dict[str, Any]:
    """Return a row with the place of its word in its sentence, where it has both."""
    test, role, word, sentence = (str(row.get(name) or "").strip() for name in ("test", "role", "word", "sentence"))
    if not test or role not in SETS or not (word or sentence):
        lacks = "a word or sentence" if test and role in SETS else "a test"
        defect = f"has the role {role!r}" if test and role not in SETS else f"lacks {lacks}"
        raise SenseprobeError(
            f"row {number} (from 0) {defect}: a row needs a test, a role (X, Y, A or B), and a word or sentence"
        )
    span: tuple[int, int] | None = None
    if row.get(_SPAN[0]) is not None and row.get(_SPAN[1]) is not None:
        span = _read_span(row, number, sentence)
    elif word and sentence:
        span = find_word(sentence, word, language)
    texts = {"word": word or None, "sentence": sentence or None}
    return {**row, "test": test, "role": role, **texts, "span": as_span(span)}


def _read_span(row: Mapping[str, Any], number: int, sentence: str) -> tuple[int, int]:
    """Return where a row says that its word stands; raise SenseprobeError where that is no part of the sentence."""
    try:
        start, end = (int(float(row[name])) for name in _SPAN)  # pandas makes 3.0 of 3 where a cell is missing
    except (ValueError, OverflowError):
        start = end = 0
    if not 0 <= start < end <= len(sentence) or sentence != row.get("sentence"):
        expected = "expected half-open code points of the sentence, without spaces around the word"
        raise SenseprobeError(f"row {number} (from 0): span {row[_SPAN[0]]} to {row[_SPAN[1]]} is invalid: {expected}")
    return start, end


_KINDS: Mapping[str, Callable[[list[dict[str, Any]], pa.Schema, tuple[Factor, ...], Source], _Completed]] = {
    "contrast": _contrast,
    "inference": _inference,
    "association": _association,
}


def _choose(*offers: tuple[tuple[str, ...], bool, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the estimands that can be computed, and what the others need, by id."""
    chosen = tuple(name for names, possible, _ in offers if possible for name in names)
    return chosen, {name: needs for names, possible, needs in offers if not possible for name in names}


def _added_columns(kind: str, schema: pa.Schema) -> tuple[tuple[str, str], ...]:
    """Return the columns besides those of the kind, in order, each with its type."""
    usual = {"id", "frame", *(name for name, _, _ in KINDS[kind].columns)}
    kinds = {True: "boolean", False: "string"}
    return tuple((field.name, kinds[pa.types.is_boolean(field.type)]) for field in schema if field.name not in usual)


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
