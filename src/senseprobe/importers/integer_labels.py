"""Integers that stand for labels, as in data of the Hub: a schema or the user names them, and nothing is guessed."""

import re
from collections.abc import Iterable, Mapping

from senseprobe.errors import SenseprobeError
from senseprobe.tables import UnreadableError, read_json

Names = Mapping[str, str]
"""The names of integers."""

NO_NAME = (
    "is an integer, and numbers mean other classes in other data: name them (import --labels "
    "0=entailment,1=neutral,2=contradiction), or keep the Hub's schema, which does"
)
"""What is said of an integer in the place of a label, everywhere."""

_INTEGER = re.compile(r"([+-]?[0-9]{1,9})(?:\.0+)?")
_KEY = b"huggingface"


def as_integer(text: str | None) -> str | None:
    """Return a text that is an integer in its shortest form; None where it is none.

    >>> as_integer("1"), as_integer("1.0"), as_integer("neutral")
    ('1', '1', None)
    """
    match = _INTEGER.fullmatch((text or "").strip())
    return str(int(match[1])) if match else None


def name_label(text: str | None, names: Names) -> str | None:
    """Return the name of an integer that has one; any other text as it is.

    >>> name_label("0", {"0": "male"}), name_label("2", {"0": "male"})
    ('male', '2')
    """
    return names.get(as_integer(text) or "", text)


def read_schema_names(metadata: Mapping[bytes, bytes] | None) -> dict[str, Names]:
    """Return the names of integers by column, as `datasets` writes them into a schema (ClassLabel).

    None are found where they cannot be read: their integers are without names then, which is said where they stand.
    """
    try:
        features = read_json((metadata or {})[_KEY])["info"]["features"]
        labels = {name: feature["names"] for name, feature in features.items() if feature.get("_type") == "ClassLabel"}
    except (UnreadableError, LookupError, TypeError, AttributeError):
        return {}
    return {name: number_names(names) for name, names in labels.items() if isinstance(names, list)}


def number_names(names: Iterable[object]) -> Names:
    """Return names by their integers, from 0; without those that are no text."""
    return {str(number): name for number, name in enumerate(names) if isinstance(name, str) and name.strip()}


def check_labels(labels: Mapping[str, Names], roles: Iterable[str]) -> None:
    """Raise SenseprobeError where names are of a role that is not in the map, or not of integers."""
    mapped = [*roles]
    for role, names in labels.items():
        if role not in mapped:
            raise SenseprobeError(f"labels of {role!r} need a mapped column: map it ({role}=COLUMN)")
        if invalid := [number for number in names if as_integer(number) != number]:
            raise SenseprobeError(f"labels of {role}: {invalid[0]!r} is not an integer: expected 0=NAME, 1=NAME")
        if invalid := [number for number, name in names.items() if not (name.strip() and name.isprintable())]:
            raise SenseprobeError(f"labels of {role}: {invalid[0]} lacks a name: expected {invalid[0]}=NAME")
