"""JSON whose strings know where they stand, so that rows can name their line."""

import bisect
import json
import json.decoder
import json.scanner
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importing.sources import Source

__all__ = ["Lines", "Placed", "parse"]


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
    """The one JSON value of a file; its strings are `Placed`. ReleaseError where it is none."""
    decoder = json.JSONDecoder()
    decoder.parse_string = _placed  # type: ignore[attr-defined]
    decoder.parse_object = json.decoder.JSONObject  # type: ignore[attr-defined]
    decoder.scan_once = json.scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]
    try:
        return decoder.decode(source.text)
    except json.JSONDecodeError as error:
        raise ReleaseError(f"{source.name}:{error.lineno}: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise ReleaseError(f"{source.name}: is not JSON that can be read (too deep, or a number too long)") from None


def _placed(text: str, begin: int, strict: bool = True) -> tuple[Placed, int]:
    value, end = json.decoder.scanstring(text, begin, strict)  # type: ignore[attr-defined]
    placed = Placed(value)
    placed.at = begin
    return placed, end
