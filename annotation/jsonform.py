"""JSON of others: read with bounds, and its values taken for nothing but what they are."""

import json
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from senseprobe.errors import AnnotationError

MAX_BYTES = 2**30
"""An export of 20,000 tasks with three annotations each has some 150 MB."""

MAX_TEXT = 10_000
"""Characters of an answer in words."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


def parse(raw: bytes, twice: Callable[[str], None]) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The JSON value; AnnotationError where it is none. `twice` is told of a key that an object has twice."""
    if len(raw) > MAX_BYTES:
        raise AnnotationError(f"the export is larger than {MAX_BYTES >> 20} MiB: export it in parts")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
        return found

    try:
        return json.loads(raw.decode("utf-8-sig"), object_pairs_hook=unique)
    except UnicodeDecodeError as error:
        raise AnnotationError(f"the export is not UTF-8: byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise AnnotationError(f"the export is not JSON: line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise AnnotationError("the export is not JSON that can be read: too deep, or a number too long") from None


def identity(value: object) -> str:
    """A number or a short text that names something; empty where it is neither."""
    if type(value) is int and 0 <= value < 2**63:
        return str(value)
    return clean(value) if isinstance(value, str) and len(value) <= 200 else ""


def clean(text: str) -> str:
    r"""A text without blanks around it, with plain ends of lines, and without what no file can hold.

    >>> clean(" a\r\nb\x00 ")
    'a\nb�'
    """
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def time(value: object) -> str | None:
    """A time of ISO 8601 in UTC, with as many digits as any other; None where it is no time.

    >>> time("2026-11-21T22:18:00+01:00")
    '2026-11-21T21:18:00.000000Z'
    """
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        told = datetime.fromisoformat(value)
        told = told.replace(tzinfo=UTC) if told.tzinfo is None else told.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return f"{told.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def seconds(value: object) -> float | None:
    """How long something took, to a thousandth of a second; None where it is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return round(float(value), 3) if 0 <= value <= 1e9 and math.isfinite(value) else None
