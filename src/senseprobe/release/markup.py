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


Value = str | bool | int | float | Sequence["Value"] | Mapping[str, "Value"]


def dump_yaml(value: Mapping[str, Value] | Sequence[Value]) -> str:
    """Return a mapping or a list as block YAML, in its own order.

    >>> print(dump_yaml({"language": ["no"], "configs": [{"name": "a", "rows": 2}]}), end="")
    language:
    - "no"
    configs:
    - name: "a"
      rows: 2
    """
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Value) -> Iterator[str]:
    if isinstance(value, str | bool | int | float) or not value:
        yield _scalar(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, str | bool | int | float) or not item:
                yield f"{key}: {_scalar(item)}"
            else:
                indent = "  " if isinstance(item, Mapping) else ""
                yield f"{key}:"
                yield from (f"{indent}{line}" for line in _lines(item))
    else:
        for item in value:
            first, *rest = _lines(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)


def _scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = re.sub(r'["\\]', r"\\\g<0>", value)
        return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped) + '"'
    if isinstance(value, float):
        return f"{value:f}"  # readers of YAML 1.1 take 1e-07 for a text
    return str(value) if isinstance(value, int) else "{}" if isinstance(value, Mapping) else "[]"
