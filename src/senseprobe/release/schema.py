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
    ("stereo", _TEXT, "the sentence that states the stereotype; where `label_basis` is none, only the first of two"),
    ("anti", _TEXT, "its counterpart"),
    ("stereo_span", _SPAN, "where the target is in `stereo`: half-open, in code points, without its article"),
    ("anti_span", _SPAN, "where the target is in `anti`"),
    ("target", _TEXT, "the ambiguous word, as declared; null where no group is named"),
    ("sense_type", _TEXT, "the sense that the config is about"),
    ("sense_key", _TEXT, "the key of that sense in the lexicon"),
    ("token_key", _TEXT, "the key of the word's own sense in the sentence"),
    ("lexicon", _TEXT, "the lexicon that the keys belong to"),
    ("bias_type", _TEXT, "what the stereotype is about, as declared: nationality, race, gender, …"),
    (
        "label_basis",
        _TEXT,
        "what the labels rest on: occupation, trait, both, none; annotators or published in imports",
    ),
    ("contested", _FLAG, "whether published data labels the pair the other way"),
    ("stereo_value", _TEXT, "the bound words of `stereo` that `anti` does not have"),
    ("anti_value", _TEXT, "the bound words of `anti` that `stereo` does not have"),
    ("valence", _TEXT, "pleasant or unpleasant, where both members share a quality"),
    ("stereotype", _TEXT, "what the word is stereotyped as, as its list says: the gender of an occupation"),
    ("minimal", _FLAG, "exactly one binding differs, and nothing outside the word that it prints"),
)

_INFERENCE: Columns = (
    ("premise", _TEXT, "the sentence that is given"),
    ("hypothesis", _TEXT, "the sentence of which a model says whether it follows"),
    ("premise_span", _SPAN, "where the target is in `premise`: half-open, in code points, without its article"),
    ("hypothesis_span", _SPAN, "where the target is in `hypothesis`"),
    ("gold", _TEXT, "what a right answer is: entailment, neutral or contradiction"),
)

_ASSOCIATION: Columns = (
    ("test", _TEXT, "the association test"),
    ("role", _TEXT, "the word's set: X or Y (targets), A or B (attributes)"),
    ("word", _TEXT, "the word as published"),
    ("word_class", _TEXT, "the class of word that the frame is made for"),
    ("sentence", _TEXT, "the word in its frame"),
    ("span", _SPAN, "where the word is in `sentence`: half-open, in code points, without its article"),
)

DECLARED: Mapping[str, Mapping[str, str]] = {
    "association": {
        "identity": "what the test is about, as its list says: gender, race, …; empty where it is no group"
    },
    "contrast": {
        "stereo_value_key": "the sense key of the quality in `stereo_value`, as its list says",
        "anti_value_key": "the sense key of the quality in `anti_value`",
    },
}
"""By kind the columns that its front matter may declare by a key of their own, with their meanings."""

PROVENANCE = ("source_file", "source_line", "anti_file", "anti_line")
"""The columns of imports that say where a row stands in the published files: a row that moved is the same row."""

IMPORTED: Mapping[str, str] = {
    "source_file": "the published file in `recipe/sources/`",
    "source_line": "the line of it on which the row begins, or its `stereo` sentence",
    "anti_file": "the published file of `anti`",
    "anti_line": "the line of `anti`",
    "stereo_words": "`stereo` with `_` for the target",
    "anti_words": "`anti` with `_` for the target",
    "direction": "as published: whether a stereotype is stated (stereo), or violated by the other (antistereo)",
    "writer": "who wrote the pair, as published",
    "annotations": "what each annotator said, as published",
    "annotators": "who annotated the pair, as published",
    "context": "what stands before the sentences, or is filled, as published",
    "unrelated": "the sentence that makes no sense in the context",
    "stereo_labels": "how many annotators gave `stereo` which label",
    "anti_labels": "how many annotators gave `anti` which label",
    "source_id": "the published id",
    "category": "the published name of the set",
    "split": "the part of the published data",
    "occupation": "the occupation, as published",
    "participant": "the other person of the sentence, as published",
    "neutral_sentence": "the sentence with a pronoun of no gender",
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
        own_id = "the published file's own id where it has one, else its lines, or a hash of its sentences"
        texts["id"] = f"readable and permanent: config, then {own_id}"
    texts |= {slot: f"the word in slot `{slot}`" for design in listed for slot in design.slots}
    texts |= {name: text for design in listed for name, _, text in KINDS[design.kind] if name not in texts}
    for design in listed:
        declared = DECLARED.get(design.kind, {})
        own, otherwise = (IMPORTED, "as published") if is_import(design) else (declared, "what the lists say")
        texts |= {name: own.get(name, f"{otherwise}: `{name}`") for name, _ in design.columns}
    return texts


def is_import(design: Design) -> bool:
    """Return whether the rows of a design are imported: they name the file that they are from."""
    return "source_file" in dict(design.columns)


def loose(schema: pa.Schema) -> pa.Schema:
    """Return the names and types of a schema, without whether a column may hold nulls, in which files differ."""
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in schema])
