"""The schemas of rows; the card documents their columns in the words of this file and of `kinds`."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from senseprobe.parquet_files import plain_type
from senseprobe.records import Design
from senseprobe.release.kinds import FLAG, KINDS, TEXT

COLUMN_TYPES: Mapping[str, pa.DataType] = {"string": TEXT, "boolean": FLAG}
"""The types of the columns that a template adds to those of its kind."""

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

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "contrast": ("sense", "stereotype", "whom", "natural", "withhold", "comment"),
    "inference": ("inference", "stereotype", "whom", "natural", "withhold", "comment"),
    "association": ("natural", "withhold", "comment"),
}
"""The ids of the questions that people may be asked of rows of each kind, in the order in which they are asked."""

EXAMPLES = (236, 618, 854)
"""Where the rows on the card stand among those of a config, in thousandths: few, so that little can be learnt of them.

They are not equally far apart: such rows of a product have the same word in a slot.
"""

MAX_EXAMPLE = 300
"""The most characters of a text of an example: an import may have whole pages."""


def example_rows(batch: pa.RecordBatch, start: int, design: Design, total: int) -> list[dict[str, str]]:
    """Return those of the examples of a config of `total` rows that are in a batch, whose first row has number `start`.

    Each is its id and the `readable` columns of its kind.
    """
    mine = [number - start for number in example_numbers(total) if 0 <= number - start < batch.num_rows]
    columns = ("id", *KINDS[design.kind].readable)
    rows = [{name: str(batch[name][at].as_py()) for name in columns} for at in mine]
    return [
        {name: cell if len(cell) <= MAX_EXAMPLE else f"{cell[:MAX_EXAMPLE]}…" for name, cell in row.items()}
        for row in rows
    ]


def example_numbers(total: int) -> list[int]:
    """Return the numbers of the rows, of a config with `total`, that its card shows, from 0."""
    return sorted({part * total // 1000 for part in EXAMPLES}) if total else []


def row_schema(kind: str, slots: Sequence[str], columns: Iterable[tuple[str, str]] = ()) -> pa.Schema:
    """Return the schema of a config's rows; `columns` names those that the template adds, with their types."""
    head = [pa.field(name, TEXT) for name in ("id", "frame", *slots)]
    added = [pa.field(name, COLUMN_TYPES[type_]) for name, type_ in columns]
    return pa.schema([*head, *(pa.field(name, type_) for name, type_, _ in KINDS[kind].columns), *added])


def design_schema(design: Design) -> pa.Schema:
    """Return the schema of the rows that a design describes."""
    return row_schema(design.kind, design.slots, design.columns)


def meanings(designs: Iterable[Design]) -> dict[str, str]:
    """Return the meaning of every column of some configs, in order."""
    listed = list(designs)
    texts = {"id": "readable and permanent: config, frame, words", "frame": "the frame's code, or its own id"}
    if any(is_import(design) for design in listed):
        imported_id = "the published file's id if it has one, else its lines, or a hash of its sentences"
        texts["id"] = f"readable and permanent: config, then {imported_id}"
    texts |= {slot: f"the word in slot `{slot}`" for design in listed for slot in design.slots}
    texts |= {name: text for design in listed for name, _, text in KINDS[design.kind].columns if name not in texts}
    for design in listed:
        declared = KINDS[design.kind].declared
        special, otherwise = (IMPORTED, "as published") if is_import(design) else (declared, "according to the lists")
        texts |= {name: special.get(name, f"{otherwise}: `{name}`") for name, _ in design.columns}
    return texts


def is_import(design: Design) -> bool:
    """Return whether the rows of a design are imported: they name the file that they are from."""
    return "source_file" in dict(design.columns)


def loose(schema: pa.Schema) -> pa.Schema:
    """Return the names and types of a schema, without whether a column may hold nulls, in which files differ."""
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in schema])
