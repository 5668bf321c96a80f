"""How a release is cited: `CITATION.cff` (Citation File Format 1.2.0) and BibTeX, with the paper that it follows.

The paper is read from a bibliography that may come from a stranger, as far as citations need it: one entry by its key,
without macros (`@string`), whatever stands in other entries. A release quotes the entry's own text.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from senseprobe.records import Finding
from senseprobe.release.documents import Author, CardSources, DocumentInput, line_findings
from senseprobe.release.licences import hub_name, spdx_url
from senseprobe.release.manifest import CARDS
from senseprobe.release.markup import dump_yaml

_HEAD = re.compile(r"@(\w+)\s*\{\s*([^\s,{}()]+)\s*,")
_FIELD = re.compile(r"[\s,]*([A-Za-z][\w-]*)\s*=\s*")
_ACCENT = re.compile(r"\\([\"'`^~=.])\s*(?:\{\s*\\?([A-Za-z])\s*\}|\\?([A-Za-z]))|\\([cvHu])\{([A-Za-z])\}")
_COMBINING = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "c": "\u0327", "v": "\u030c", "H": "\u030b", "u": "\u0306",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of BibTeX: `kind` (``article``), its `fields` without TeX, and its own `text`."""

    kind: str
    fields: Mapping[str, str]
    text: str

    @property
    def authors(self) -> list[Author]:
        """The authors, without repetitions; an organisation is a group."""
        names = (name.strip() for name in re.split(r"\s+and\s+", self.fields.get("author", "")))
        return list(dict.fromkeys(_split_name(name) for name in names if name and name != "others"))


def find_entry(bibliography: str, key: str) -> Entry | None:
    """Return the entry with this key; None where there is none that can be read.

    >>> entry = find_entry("@article{zhou2022, title={{S}ense embeddings}, year=2022}", "zhou2022")
    >>> entry.kind, entry.fields
    ('article', {'title': 'Sense embeddings', 'year': '2022'})
    """
    for head in _HEAD.finditer(bibliography):
        if head.group(2) != key:
            continue
        end = _closing(bibliography, head.start() + head.group().index("{"))
        if not end:
            break  # all that follows is in this entry
        fields = dict(_fields(bibliography[head.end() : end]))
        return Entry(head.group(1).lower(), fields, bibliography[head.start() : end + 1])
    return None


def entry_keys(bibliography: str) -> Iterator[str]:
    """Yield the keys of the entries that have fields and can be read, in order."""
    position = 0
    while head := _HEAD.search(bibliography, position):
        end = _closing(bibliography, head.start() + head.group().index("{"))
        if next(_fields(bibliography[head.end() : end]), None) and end:
            yield head.group(2)
        position = end + 1 if end else len(bibliography)


def _fields(body: str) -> Iterator[tuple[str, str]]:
    position = 0
    while head := _FIELD.match(body, position):
        start = head.end()
        if body[start : start + 1] in ("{", '"'):
            start, end = start + 1, _closing(body, start)
        else:
            end = body.find(",", start)
        end = end if end > 0 else len(body)
        # An author in braces is an organisation, which `_split_name` recognises by them.
        name = head.group(1).lower()
        text = _ACCENT.sub(_accented, body[start:end])
        text = text.replace("---", "\u2014").replace("--", "\u2013").replace("\\&", "&").replace("~", " ")
        braces = () if name == "author" else "{}"
        yield name, " ".join(text.translate({ord(c): None for c in braces}).split())
        position = end + 1


def _closing(text: str, start: int) -> int:
    """Return where the brace, or quotation mark outside braces, that opens at `start` closes; 0 where it does not."""
    depth, last = 0, "}" if text[start] == "{" else '"'
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if not depth and text[position] == last and position > start:
            return position
    return 0


def _accented(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", (match[2] or match[3] or match[5]) + _COMBINING[match[1] or match[4]])


def _split_name(text: str) -> Author:
    bare = text.replace("{", "").replace("}", "")
    if text.startswith("{") and text.endswith("}"):
        return Author(bare, "")
    family, comma, given = bare.partition(",")
    if comma:
        return Author(family.strip(), given.strip())
    given, _, family = bare.rpartition(" ")
    return Author(family, given)


NAME = "CITATION.cff"

_KINDS = {
    "article": "article", "inproceedings": "conference-paper", "conference": "conference-paper", "book": "book",
    "proceedings": "proceedings", "phdthesis": "thesis", "mastersthesis": "thesis", "techreport": "report",
    "unpublished": "unpublished",
}  # fmt: skip
"""The format's names of BibTeX's kinds of entries; all others are generic."""

_UNKNOWN_TO_CFF = {"CDLA-Permissive-2.0"}
"""SPDX identifiers that are younger than the format's list, though the Hub has a name for them."""

_DOI = re.compile(r"10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+")
_URL = re.compile(r"https?://\S+")
_PROSE_LINE = re.compile(r'(message|  description): "(?:[^"\\]|\\.)*"')


def find_paper(about: DocumentInput) -> Entry | None:
    """Return the entry of the paper that the dataset follows; None where the bibliography has none."""
    return find_entry(about.bibliography, str(about.card.get("citation", "")))


def render_cff(about: DocumentInput) -> str:
    """Return `CITATION.cff`: who made the release, and the paper that it follows."""
    card, facts = about.card, about.facts
    fields: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "Cite this release with its version and content hash, and the paper that it follows.",
        "type": "dataset",
        "title": card["title"],
        "abstract": card["summary"],
        "version": facts["version"],
        "authors": [_author(author) for author in about.authors],
        "keywords": ["bias", "fairness", "stereotypes"],
        "identifiers": [
            {"type": "other", "value": f"sha256:{facts['content']}", "description": "Content hash of the rows."}
        ],
    }
    if hub_name(about.licence) not in ("other", "unknown") and about.licence not in _UNKNOWN_TO_CFF:
        fields["license"] = about.licence
    elif url := spdx_url(about.licence):
        fields["license-url"] = url
    if (entry := find_paper(about)) and (reference := dict(_reference(entry))):
        fields["references"] = [reference]
    return dump_yaml(fields)


def _reference(entry: Entry) -> Iterator[tuple[str, Any]]:
    """Yield the fields of the entry in the format; nothing where it has no title or no author."""
    fields = entry.fields
    if not fields.get("title") or not entry.authors:
        return
    yield "type", _KINDS.get(entry.kind, "generic")
    yield "title", fields["title"]
    others = [Author("others", "")] if re.search(r"\sand\s+others\s*$", fields["author"]) else []
    yield "authors", [_author(author) for author in (*entry.authors, *others)]
    names = {"journal": "journal", "booktitle": "collection-title", "volume": "volume", "number": "issue"}
    yield from ((cff_name, fields[name]) for name, cff_name in names.items() if fields.get(name))
    if fields.get("year", "").isdecimal():
        yield "year", int(fields["year"])
    start, dash, end = fields.get("pages", "").partition("\u2013")
    if dash and start and end:
        yield from (("start", start), ("end", end))
    if _DOI.fullmatch(fields.get("doi", "")):
        yield "doi", fields["doi"]
    if _URL.fullmatch(fields.get("url", "")):
        yield "url", fields["url"]


def _author(author: Author) -> dict[str, str]:
    if not author.given:
        return {"name": author.family}
    return {"family-names": author.family, "given-names": author.given}


def compare(text: str, about: DocumentInput, form: int, sources: CardSources | None) -> Iterator[Finding]:
    """Yield the first difference between a `CITATION.cff` and the facts of its manifest."""
    yield from line_findings(NAME, text, render_cff(about), None if form == CARDS else _is_prose)


def _is_prose(line: str, expected: str) -> bool:
    """Return whether two lines of a citation are the same text of senseprobe in two wordings."""
    keys = [match and match[1] for match in map(_PROSE_LINE.fullmatch, (line, expected))]
    return keys[0] is not None and keys[0] == keys[1]


def render_bibtex(about: DocumentInput) -> str:
    """Return the release as an entry of BibTeX, and that of the paper that it follows."""
    facts = about.facts
    key = f"{facts['dataset']}-{facts['version']}"
    people = [(_tex(author.family), _tex(author.given)) for author in about.authors]
    names = [f"{family}, {given}" if given else f"{{{family}}}" for family, given in people]
    lines = {
        "author": " and ".join(names),
        "title": f"{{{_tex(about.card['title'])}}}",
        "version": facts["version"],
        "note": f"senseprobe release {about.name}, content hash {facts['content']}",
    }
    release_entry = "\n".join([f"@misc{{{key},", *(f"  {name} = {{{value}}}," for name, value in lines.items()), "}"])
    paper = find_paper(about)
    return f"{release_entry}\n\n{paper.text}\n" if paper else f"{release_entry}\n"


def _tex(text: str) -> str:
    return re.sub(r"([%&#$_{}])", r"\\\1", " ".join(text.replace("\\", "").split()))
