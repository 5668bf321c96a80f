"""Texts of others in Markdown: as they are, whatever signs are in them, and without becoming links, tags or cells."""

import re

from senseprobe.wording import printable

_SIGNS = re.compile(r"[\\`*_\[\]<>#|~$&@]|:(?=/)|(?<=[wW])\.")


def code(text: str) -> str:
    """The text as Markdown prints it between backticks.

    >>> code("engineer"), code("a`b")
    ('`engineer`', '`` a`b ``')
    """
    text = printable(text)
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (max(map(len, re.findall("`+", text))) + 1)
    return f"{fence} {text} {fence}"


def prose(text: str) -> str:
    r"""The text in one line, with a backslash before every sign that Markdown may take for its own.

    >>> prose("<img src=x> [a](https://b)")
    '\\<img src=x\\> \\[a\\](https\\://b)'
    """
    return _SIGNS.sub(r"\\\g<0>", printable(" ".join(text.split())))
