"""The schemas of rows, fixed, in one place; the card documents what is written here."""

from collections.abc import Sequence

import pyarrow as pa

__all__ = ["CONTRAST", "contrast_schema", "describe"]

_SPAN = pa.struct([pa.field("start", pa.int32()), pa.field("end", pa.int32())])
_TEXT, _FLAG = pa.string(), pa.bool_()

CONTRAST: tuple[tuple[str, pa.DataType, str], ...] = (
    ("stereo", _TEXT, "the sentence that states the stereotype; where `label_basis` is none, only the first of two"),
    ("anti", _TEXT, "its counterpart"),
    ("stereo_span", _SPAN, "where the target is in `stereo`: half-open, in code points, without its article"),
    ("anti_span", _SPAN, "where the target is in `anti`"),
    ("target", _TEXT, "the ambiguous word, as declared; null where no group is named"),
    ("sense_type", _TEXT, "the sense that the config is about"),
    ("sense_key", _TEXT, "the key of that sense in the lexicon"),
    ("token_key", _TEXT, "the key of the word's own sense in the sentence"),
    ("lexicon", _TEXT, "the lexicon that the keys belong to"),
    ("bias_type", _TEXT, "nationality, race or gender"),
    ("label_basis", _TEXT, "what the labels rest on: occupation, trait, both, or none"),
    ("contested", _FLAG, "whether published data labels the pair the other way"),
    ("stereo_value", _TEXT, "the bound words of `stereo` that `anti` does not have"),
    ("anti_value", _TEXT, "the bound words of `anti` that `stereo` does not have"),
    ("valence", _TEXT, "pleasant or unpleasant, where both members share a quality"),
    ("stereotype", _TEXT, "the gender that the occupation is stereotyped as"),
    ("minimal", _FLAG, "exactly one binding differs, and nothing outside the word that it prints"),
)
"""Name, type and meaning of the columns of a contrast config, after `id`, `frame` and one column per slot."""


def contrast_schema(slots: Sequence[str]) -> pa.Schema:
    """The schema of a contrast config with these slots."""
    head = [pa.field("id", _TEXT), pa.field("frame", _TEXT), *(pa.field(slot, _TEXT) for slot in slots)]
    return pa.schema([*head, *(pa.field(name, kind) for name, kind, _ in CONTRAST)])


def describe(slots: Sequence[str]) -> list[tuple[str, str]]:
    """Name and meaning of every column of a contrast config."""
    head = [("id", "readable and permanent: config, frame, words"), ("frame", "the frame's code, or its own id")]
    return [*head, *((slot, f"the word in slot `{slot}`") for slot in slots), *((n, text) for n, _, text in CONTRAST)]
