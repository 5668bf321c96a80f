"""Reads one entry of a BibTeX file, as far as citations need it."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_HEAD = re.compile(r"@(\w+)\s*\{\s*([^\s,{}()]+)\s*,")
_FIELD = re.compile(r"[\s,]*([A-Za-z][\w-]*)\s*=\s*")
_ACCENT = re.compile(r"\\([\"'`^~=.])\s*(?:\{\s*\\?([A-Za-z])\s*\}|\\?([A-Za-z]))|\\([cvHu])\{([A-Za-z])\}")
_COMBINING = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "c": "\u0327", "v": "\u030c", "H": "\u030b", "u": "\u0306",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: `kind` (``article``), its fields without TeX, and its own `text`."""

    kind: str
    fields: Mapping[str, str]
    text: str

    @property
    def authors(self) -> list[tuple[str, str]]:
        """Family and given names; the given names of what is no person are empty."""
        names = (each.strip() for each in re.split(r"\s+and\s+", self.fields.get("author", "")))
        return [_name(each) for each in names if each and each != "others"]


def find(bibliography: str, key: str) -> Entry | None:
    """The entry with this key; None where there is none that can be read."""
    for head in _HEAD.finditer(bibliography):
        if head.group(2) != key:
            continue
        end = _closing(bibliography, head.start() + head.group().index("{"))
        if not end:
            break  # all that follows is in this entry
        fields = dict(_fields(bibliography[head.end() : end]))
        return Entry(head.group(1).lower(), fields, bibliography[head.start() : end + 1])
    return None


def _fields(body: str) -> Iterator[tuple[str, str]]:
    place = 0
    while found := _FIELD.match(body, place):
        start = found.end()
        if body[start : start + 1] == "{":
            end = _closing(body, start) or len(body)
            value = body[start + 1 : end]
        elif body[start : start + 1] == '"':
            closing = body.find('"', start + 1)
            end = closing if closing >= 0 else len(body)
            value = body[start + 1 : end]
        else:
            comma = body.find(",", start)
            end = (comma if comma >= 0 else len(body)) - 1
            value = body[start : end + 1]
        # An author in braces of its own is an organisation, which `_name` has to see.
        name = found.group(1).lower()
        yield name, _plain(value, keep="{}" if name == "author" else "")
        place = end + 1


def _closing(text: str, start: int) -> int:
    """Where the brace that opens at `start` closes; 0 where it does not."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return place
    return 0


def _plain(text: str, keep: str = "") -> str:
    """The text without TeX's accents, braces and dashes."""
    text = _ACCENT.sub(_accented, text)
    text = text.replace("---", "\u2014").replace("--", "\u2013").replace("\\&", "&").replace("~", " ")
    return " ".join(text.translate({ord(c): None for c in "{}" if c not in keep}).split())


def _accented(found: re.Match[str]) -> str:
    letter, accent = found[2] or found[3] or found[5], found[1] or found[4]
    return unicodedata.normalize("NFC", letter + _COMBINING[accent])


def _name(text: str) -> tuple[str, str]:
    bare = text.replace("{", "").replace("}", "")
    if text.startswith("{") and text.endswith("}"):
        return bare, ""
    family, comma, given = bare.partition(",")
    if comma:
        return family.strip(), given.strip()
    given, _, family = bare.rpartition(" ")
    return family, given
