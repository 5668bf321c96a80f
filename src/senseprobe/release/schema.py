"""The fixed schemas of rows; the card documents their columns in the words of this file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import pyarrow as pa

from senseprobe.parquet_files import plain_type
from senseprobe.records import Design

Kind = Literal["contrast", "inference", "association"]

_SPAN = pa.struct([pa.field("start", pa.int32()), pa.field("end", pa.int32())])
_TEXT, _FLAG = pa.string(), pa.bool_()
COLUMN_TYPES: Mapping[str, pa.DataType] = {"string": _TEXT, "boolean": _FLAG}
"""The types of the columns that a template adds to those of its kind."""

Columns = tuple[tuple[str, pa.DataType, str], ...]

_CONTRAST: Columns = (
    ("stereo", _TEXT, "the sentence that states the stereotype; if `label_basis` is none, just the first sentence"),
    ("anti", _TEXT, "the counterpart of `stereo`"),
    ("stereo_span", _SPAN, "position of the target in `stereo`: half-open, in code points, without its article"),
    ("anti_span", _SPAN, "position of the target in `anti`"),
    ("target", _TEXT, "the ambiguous word, as declared; null if the row does not name a group"),
    ("sense_type", _TEXT, "the sense that the config is about"),
    ("sense_key", _TEXT, "the key of that sense in the lexicon"),
    ("token_key", _TEXT, "the key of the word's sense in the sentence"),
    ("lexicon", _TEXT, "the lexicon that the keys belong to"),
    ("bias_type", _TEXT, "the topic of the stereotype, as declared: nationality, race, gender, …"),
    (
        "label_basis",
        _TEXT,
        "the basis of the labels: occupation, trait, both or none; in imports also annotators or published",
    ),
    ("contested", _FLAG, "whether published data labels the pair the other way"),
    ("stereo_value", _TEXT, "the words bound in `stereo` but not in `anti`"),
    ("anti_value", _TEXT, "the words bound in `anti` but not in `stereo`"),
    ("valence", _TEXT, "pleasant or unpleasant, if both sentences share a quality"),
    ("stereotype", _TEXT, "the stereotype of the word according to its list, such as the gender of an occupation"),
    ("minimal", _FLAG, "whether the sentences differ in exactly one bound word and nowhere else"),
)

_INFERENCE: Columns = (
    ("premise", _TEXT, "the sentence that is given"),
    ("hypothesis", _TEXT, "the sentence that does or does not follow from the premise"),
    ("premise_span", _SPAN, "position of the target in `premise`: half-open, in code points, without its article"),
    ("hypothesis_span", _SPAN, "position of the target in `hypothesis`"),
    ("gold", _TEXT, "the correct answer: entailment, neutral or contradiction"),
)

_ASSOCIATION: Columns = (
    ("test", _TEXT, "the association test"),
    ("role", _TEXT, "the word's set: X or Y (targets), A or B (attributes)"),
    ("word", _TEXT, "the word as published"),
    ("word_class", _TEXT, "the class of words that the frame is for"),
    ("sentence", _TEXT, "the word in its frame"),
    ("span", _SPAN, "position of the word in `sentence`: half-open, in code points, without its article"),
)

DECLARED: Mapping[str, Mapping[str, str]] = {
    "association": {
        "identity": "the topic of the test according to its list: gender, race, …; empty if it is not about a group"
    },
    "contrast": {
        "stereo_value_key": "the sense key of the quality in `stereo_value`, according to its list",
        "anti_value_key": "the sense key of the quality in `anti_value`",
    },
}
"""By kind the columns that its front matter may declare by a key of their own, with their meanings."""

PROVENANCE = ("source_file", "source_line", "anti_file", "anti_line")
"""The columns of imports that say where a row stands in the published files: a row that moved is the same row."""

IMPORTED: Mapping[str, str] = {
    "source_file": "the published file in `recipe/sources/`",
    "source_line": "the line of `source_file` where the row (or its `stereo` sentence) begins",
    "anti_file": "the published file of `anti`",
    "anti_line": "the line of `anti`",
    "stereo_words": "`stereo` with `_` for the target",
    "anti_words": "`anti` with `_` for the target",
    "direction": "as published: whether the pair states a stereotype (stereo) or violates it (antistereo)",
    "writer": "who wrote the pair, as published",
    "annotations": "the answers of each annotator, as published",
    "annotators": "who annotated the pair, as published",
    "context": "the text before the sentences, or the text with a gap, as published",
    "unrelated": "the sentence that does not make sense in the context",
    "stereo_labels": "the number of annotators who gave `stereo` each label",
    "anti_labels": "the number of annotators who gave `anti` each label",
    "source_id": "the published id",
    "category": "the published name of the set",
    "split": "the part of the published data",
    "occupation": "the occupation, as published",
    "participant": "the other person of the sentence, as published",
    "neutral_sentence": "the sentence with a gender-neutral pronoun",
}
"""The columns that imports add to those of their kind, with their meanings."""

KINDS: Mapping[str, Columns] = {"contrast": _CONTRAST, "inference": _INFERENCE, "association": _ASSOCIATION}
"""Name, type and meaning of each kind's columns, after `id`, `frame` and one column per slot."""

FULL: Mapping[str, frozenset[str]] = {
    "contrast": frozenset({"stereo", "anti"}),
    "inference": frozenset(name for name, _, _ in _INFERENCE),
    "association": frozenset({"role", "sentence", "span"}),
}
"""The columns of each kind that are null in no row."""


QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "contrast": ("sense", "stereotype", "whom", "natural", "withhold", "comment"),
    "inference": ("inference", "stereotype", "whom", "natural", "withhold", "comment"),
    "association": ("natural", "withhold", "comment"),
}
"""The ids of the questions that people may be asked of rows of each kind, in the order in which they are asked."""

READABLE: Mapping[str, tuple[str, ...]] = {
    "contrast": ("stereo", "anti"),
    "inference": ("premise", "hypothesis", "gold"),
    "association": ("role", "sentence"),
}
"""The columns of each kind by which a reader sees what a row is."""

EXAMPLES = (236, 618, 854)
"""Where the rows on the card stand among those of a config, in thousandths: few, so that little can be learnt of them.

They are not equally far apart: such rows of a product have the same word in a slot.
"""

MAX_EXAMPLE = 300
"""The most characters of a text of an example: an import may have whole pages."""


def example_rows(batch: pa.RecordBatch, start: int, design: Design, total: int) -> list[dict[str, str]]:
    """Return those of the examples of a config of `total` rows that are in a batch, whose first row has number `start`.

    Each is its id and the READABLE columns.
    """
    numbers = sorted({part * total // 1000 for part in EXAMPLES}) if total else []
    mine = [number - start for number in numbers if 0 <= number - start < batch.num_rows]
    columns = ("id", *READABLE[design.kind])
    rows = [{name: str(batch[name][at].as_py()) for name in columns} for at in mine]
    return [
        {name: cell if len(cell) <= MAX_EXAMPLE else f"{cell[:MAX_EXAMPLE]}…" for name, cell in row.items()}
        for row in rows
    ]


def row_schema(kind: str, slots: Sequence[str], columns: Iterable[tuple[str, str]] = ()) -> pa.Schema:
    """Return the schema of a config's rows; `columns` names those that the template adds, with their types."""
    head = [pa.field(name, _TEXT) for name in ("id", "frame", *slots)]
    own = [pa.field(name, COLUMN_TYPES[type_]) for name, type_ in columns]
    return pa.schema([*head, *(pa.field(name, type_) for name, type_, _ in KINDS[kind]), *own])


def design_schema(design: Design) -> pa.Schema:
    """Return the schema of the rows that a design describes."""
    return row_schema(design.kind, design.slots, design.columns)


def meanings(designs: Iterable[Design]) -> dict[str, str]:
    """Return the meaning of every column of some configs, in order."""
    listed = list(designs)
    texts = {"id": "readable and permanent: config, frame, words", "frame": "the frame's code, or its own id"}
    if any(is_import(design) for design in listed):
        own_id = "the published file's id if it has one, else its lines, or a hash of its sentences"
        texts["id"] = f"readable and permanent: config, then {own_id}"
    texts |= {slot: f"the word in slot `{slot}`" for design in listed for slot in design.slots}
    texts |= {name: text for design in listed for name, _, text in KINDS[design.kind] if name not in texts}
    for design in listed:
        declared = DECLARED.get(design.kind, {})
        own, otherwise = (IMPORTED, "as published") if is_import(design) else (declared, "according to the lists")
        texts |= {name: own.get(name, f"{otherwise}: `{name}`") for name, _ in design.columns}
    return texts


def is_import(design: Design) -> bool:
    """Return whether the rows of a design are imported: they name the file that they are from."""
    return "source_file" in dict(design.columns)


def loose(schema: pa.Schema) -> pa.Schema:
    """Return the names and types of a schema, without whether a column may hold nulls, in which files differ."""
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in schema])
