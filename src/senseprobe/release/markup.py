"""Strangers' texts in Markdown, where they become no links, tags or cells; and YAML that every reader reads alike.

The YAML has all texts in double quotes, since `no` is false in YAML 1.1. Its bytes are compared with those of frozen
releases, so its layout must never change.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from senseprobe.messages import printable

_SIGNS = re.compile(r"[\\`*_\[\]<>#|~$&@]|:(?=/)|(?<=[wW])\.")


def code_span(text: str) -> str:
    """Return the text as a code span of Markdown.

    >>> code_span("engineer"), code_span("a`b")
    ('`engineer`', '`` a`b ``')
    """
    text = printable(text)
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (max(map(len, re.findall("`+", text))) + 1)
    return f"{fence} {text} {fence}"


def escape_markdown(text: str) -> str:
    r"""Return the text in one line, with a backslash before every sign that has a meaning in Markdown.

    >>> escape_markdown("<img src=x> [a](https://b)")
    '\\<img src=x\\> \\[a\\](https\\://b)'
    """
    return _SIGNS.sub(r"\\\g<0>", printable(" ".join(text.split())))


Value = str | bool | int | Sequence["Value"] | Mapping[str, "Value"]


def dump_yaml(value: Mapping[str, Value]) -> str:
    """Return the mapping as block YAML, in its own order.

    >>> print(dump_yaml({"language": ["no"], "configs": [{"name": "a", "rows": 2}]}), end="")
    language:
    - "no"
    configs:
    - name: "a"
      rows: 2
    """
    return "".join(f"{line}\n" for line in _mapping(value))


def _quoted(text: str) -> str:
    """Return the text in double quotes, as both YAML 1.1 and 1.2 read it."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08X}"


def _mapping(value: Mapping[str, Value]) -> Iterator[str]:
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield f"{key}:"
            yield from (f"  {line}" for line in _mapping(item))
        elif isinstance(item, Sequence) and not isinstance(item, str) and item:
            yield f"{key}:"
            yield from _items(item)
        else:
            yield f"{key}: {_scalar(item)}"


def _items(values: Sequence[Value]) -> Iterator[str]:
    for value in values:
        lines = [*_mapping(value)] if isinstance(value, Mapping) else [_scalar(value)]
        yield f"- {lines[0]}"
        yield from (f"  {line}" for line in lines[1:])


def _scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    return str(value) if isinstance(value, int) else "{}" if isinstance(value, Mapping) else "[]"
