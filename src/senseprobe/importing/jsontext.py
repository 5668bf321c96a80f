"""JSON whose strings know where they stand, so that rows can name their line."""

import bisect
import json
import json.decoder
import json.scanner
from collections import Counter
from functools import partial
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importing.sources import Source, shown


class Placed(str):
    """A string of a JSON text, with the offset at which it begins."""

    __slots__ = ("at",)
    at: int


class Lines:
    """From offsets to numbers of lines."""

    def __init__(self, text: str) -> None:
        self._ends = [at for at, letter in enumerate(text) if letter == "\n"]

    def of(self, value: object, otherwise: int = 0) -> int:
        """The line on which a string begins, from 1."""
        return bisect.bisect_left(self._ends, value.at) + 1 if isinstance(value, Placed) else otherwise


def parse(source: Source) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The one JSON value of a file; its strings are `Placed`. ReleaseError where it is none, or has a key twice."""
    decoder = json.JSONDecoder(object_pairs_hook=partial(_object, source))
    decoder.parse_string = _placed  # type: ignore[attr-defined]
    decoder.parse_object = json.decoder.JSONObject  # type: ignore[attr-defined]
    decoder.scan_once = json.scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]
    try:
        return decoder.decode(source.text)
    except json.JSONDecodeError as error:
        raise ReleaseError(f"{source.name}:{error.lineno}: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise ReleaseError(f"{source.name}: is not JSON that can be read (too deep, or a number too long)") from None


def _object(source: Source, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; ReleaseError where a key stands in it twice, as the first value would be lost."""
    found = dict(pairs)
    if len(found) != len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        line = Lines(source.text).of(_first_text(found), otherwise=1)
        raise ReleaseError(f"{source.name}:{line}: an object has the key {shown(twice)!r} twice: remove one of them")
    return found


def _first_text(value: object) -> object:
    """The first string that a value holds."""
    inner = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return value if isinstance(value, Placed) else next((text for each in inner if (text := _first_text(each))), None)


def _placed(text: str, begin: int, strict: bool = True) -> tuple[Placed, int]:
    value, end = json.decoder.scanstring(text, begin, strict)  # type: ignore[attr-defined]
    placed = Placed(value)
    placed.at = begin
    return placed, end
