"""JSON of a server, of which nothing is believed unseen: how it is read, and what its values may be."""

import math
import re
from collections.abc import Iterable
from typing import Any

from senseprobe import tables
from senseprobe.errors import ModelError
from senseprobe.evaluate.served.address import HIDDEN
from senseprobe.tables import DepthError

DEEPEST = 64
"""Levels of a body's JSON; answers have ten."""

_SECRET = 8  # letters from which on a key is hidden in answers, too: "EMPTY" and "x" are words, and no secrets
# Rounding of single precision, or of decimals, may bring the sum of twenty probabilities this much over 1.
OVER_ONE = 1e-4
LONGEST_NAME = 200
"""Characters of a server's words that are shown."""


def read_json(data: bytes, key: str | None = None) -> Any:  # noqa: ANN401 - JSON
    """Return JSON in UTF-8 that any program may read: its numbers finite, its texts Unicode, and without the key.

    ValueError where it is none, or nested more than `DEEPEST` deep.
    """
    value = tables.read_json(data, parse_constant=_refuse, parse_float=_finite, parse_int=_whole)
    return _clean_json(value, key if key and len(key) >= _SECRET else None, DEEPEST)


def _clean_json(value: Any, key: str | None, levels: int) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        text = value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text.replace(key, HIDDEN) if key else text
    if not isinstance(value, list | dict):
        return value
    if not levels:
        raise DepthError("is nested too deeply")
    if isinstance(value, list):
        return [_clean_json(item, key, levels - 1) for item in value]
    return {_clean_json(name, key, 1): _clean_json(item, key, levels - 1) for name, item in value.items()}


def _refuse(name: str) -> float:
    raise ValueError(name)


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(text)
    return value


def _whole(text: str) -> int:
    _finite(text)  # what no float holds ends a calculation later, wherever that is
    return int(text)


# --- values that may be missing, or other than they should be ---------------------------------------------------------


def object_or_empty(value: object) -> dict[str, Any]:
    """Return an object; an empty one of any other value."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: object) -> list[Any]:
    """Return a list; an empty one of any other value."""
    return value if isinstance(value, list) else []


def objects_in(values: object) -> list[dict[str, Any]]:
    """Return the objects in a list, or in any iterable of ours; none of any other value."""
    items = values if isinstance(values, Iterable) and not isinstance(values, str | dict) else ()
    return [value for value in items if isinstance(value, dict)]


def count_of(value: object) -> int | None:
    """Return a whole number from 0; None where it is none that can be believed."""
    return value if type(value) is int and 0 <= value < 10**9 else None


def model_name(value: object) -> str:
    """Return the name of a model as a server gives it, the path of a file cut to its name; empty where it is none."""
    name = short_name(value)
    is_path = name.startswith(("/", ".", "~")) or "\\" in name or name.endswith(".gguf")
    return re.split(r"[/\\]", name)[-1] if is_path else name


def short_name(value: object) -> str:
    """Return a short printable text as a server gives it, empty where it is none."""
    return "".join(letter for letter in value if letter.isprintable())[:LONGEST_NAME] if isinstance(value, str) else ""


# --- values without which an answer is none: ModelError ---------------------------------------------------------------


def impossible(what: str) -> ModelError:
    """Return the error of an answer that has what no answer can have."""
    return ModelError(f"the server's answer cannot be used: it has {what}")


def object_of(value: object, problem: str) -> dict[str, Any]:
    """Return an object; ModelError that says the problem where it is none."""
    if not isinstance(value, dict):
        raise impossible(problem)
    return value


def list_of(value: object, problem: str) -> list[Any]:
    """Return a list; ModelError that says the problem where it is none."""
    if not isinstance(value, list):
        raise impossible(problem)
    return value


def first_of(value: object, name: str) -> object:
    """Return the first item of a list; ModelError where it is none, or empty."""
    if not isinstance(value, list) or not value:
        raise impossible(f"no {name}")
    return value[0]


def text_of(value: object) -> str:
    """Return the text of a message: a text, parts of one, or none."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "".join(text_of(object_or_empty(part).get("text")) for part in value)
    if not isinstance(value, str):
        raise impossible("a value that is not text")
    return value


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise impossible(f"a {what} that is not a number")
    return float(value)


def log_probability(value: object) -> float:
    """Return a log-probability, 0 where rounding brought it above; ModelError where it is none."""
    log = _number(value, "log-probability")
    if log > OVER_ONE:
        raise impossible("a log-probability above 0")
    return min(log, 0.0)


def probability(value: object) -> float:
    """Return a probability, which rounding may have brought above 1; ModelError where it is none."""
    share = _number(value, "probability")
    if not 0 <= share <= 1 + OVER_ONE:
        raise impossible("a probability that is not between 0 and 1")
    return share
