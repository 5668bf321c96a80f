"""An answer that comes in pieces, as server-sent events: some servers stream whatever they are asked."""

from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from itertools import islice
from typing import Any

from senseprobe.evaluate.served.json_values import list_or_empty, objects_in

MOST_EVENTS = 200_000
"""Events of an answer; a piece is a token, and answers have some thousands."""

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


def join_events(data: bytes, parse: Callable[[bytes], Any]) -> Any:  # noqa: ANN401 - JSON
    r"""Return the answer that a stream of events holds, as one that is not streamed has it; None where there is none.

    `parse` makes JSON of the bytes of an event, or raises ValueError. A stream that does not say that it ended is cut,
    and no answer; an error in it is all of it.

    >>> import json
    >>> data = b'data: {"choices": [{"delta": {"content": "A"}}]}\n\n'
    >>> join_events(data + data + b"data: [DONE]\n\n", json.loads)["choices"][0]["message"]
    {'content': 'AA'}
    """
    events: list[dict[str, Any]] = []
    ended = False
    try:
        for number, event in enumerate(_events(data)):
            ended = event == b"[DONE]"
            if ended or number == MOST_EVENTS:
                break
            read = parse(event)
            if not isinstance(read, dict):
                return None
            if read.get("error") or read.get("object") == "error":
                return read
            events.append(read)
    except ValueError:
        return None
    return _joined(events, ended=ended)


def _events(data: bytes) -> Iterator[bytes]:
    """Yield the data of each event (WHATWG HTML, section 9.2.6); of what is no stream, nothing."""
    if not data.lstrip()[:6].startswith((b"data:", b"event:", b"id:", b"retry:", b":")):
        return
    lines: list[bytes] = []
    for line in islice(BytesIO(data + b"\n\n"), 10 * MOST_EVENTS):
        name, _, value = line.rstrip(b"\r\n").partition(b":")
        if name == b"data":
            lines.append(value.removeprefix(b" "))
        elif not name and not value and lines:
            yield b"\n".join(lines)
            lines = []


def _joined(events: list[dict[str, Any]], *, ended: bool) -> dict[str, Any] | None:
    """Return the first choice of all events in one, with what else they say; None where it has no end."""
    choices = [choice for event in events for choice in objects_in(event.get("choices")) if not choice.get("index")]
    finish = next((choice["finish_reason"] for choice in reversed(choices) if choice.get("finish_reason")), None)
    if not choices or (finish is None and not ended):
        return None
    whole: dict[str, Any] = {}
    for event in events:
        whole |= {name: value for name, value in event.items() if name != "choices" and value is not None}
    parts = [part for choice in choices for part in objects_in([choice.get("delta") or choice.get("message")])]
    message = {name: text for name in _TEXTS if (text := _text(part.get(name) for part in parts)) is not None}
    entry: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish}
    if (text := _text(choice.get("text") for choice in choices)) is not None:
        entry["text"] = text
    if logprobs := [*objects_in(choice.get("logprobs") for choice in choices)]:
        names = {name for fields in logprobs for name, value in fields.items() if isinstance(value, list)}
        entry["logprobs"] = {
            name: [item for part in logprobs for item in list_or_empty(part.get(name))] for name in sorted(names)
        }
    return {**whole, "choices": [entry]}


def _text(pieces: Iterable[object]) -> str | None:
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "".join(texts) if texts else None
