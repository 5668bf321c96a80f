"""How a release is cited: `CITATION.cff` (Citation File Format 1.2.0), and BibTeX."""

import re
from collections.abc import Iterator
from typing import Any

from senseprobe.release import yamltext
from senseprobe.release.about import About, Author
from senseprobe.release.bibliography import Entry, find
from senseprobe.release.licences import hub_name, spdx_url

NAME = "CITATION.cff"

_KINDS = {
    "article": "article", "inproceedings": "conference-paper", "conference": "conference-paper", "book": "book",
    "proceedings": "proceedings", "phdthesis": "thesis", "mastersthesis": "thesis", "techreport": "report",
    "unpublished": "unpublished",
}  # fmt: skip
"""What the format calls an entry of BibTeX; all else is generic."""

_UNKNOWN_TO_CFF = {"CDLA-Permissive-2.0"}
"""SPDX identifiers that the Hub has a name for and that are younger than the format's list."""

_DOI = re.compile(r"10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+")
_URL = re.compile(r"https?://\S+")


def paper(about: About) -> Entry | None:
    """The entry of the paper that the dataset follows; None where the bibliography has none."""
    return find(about.bibliography, str(about.card.get("citation", "")))


def cff(about: About) -> str:
    """`CITATION.cff`: who made the release, and the paper that it follows."""
    card, facts = about.card, about.facts
    told: dict[str, Any] = {
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
        told["license"] = about.licence
    elif url := spdx_url(about.licence):
        told["license-url"] = url
    entry = paper(about)
    if entry and (reference := dict(_reference(entry))):
        told["references"] = [reference]
    return yamltext.dump(told)


def _reference(entry: Entry) -> Iterator[tuple[str, Any]]:
    """The entry as the format has it; nothing where it has no title or no author."""
    fields = entry.fields
    if not fields.get("title") or not entry.authors:
        return
    yield "type", _KINDS.get(entry.kind, "generic")
    yield "title", fields["title"]
    yield "authors", [_author(Author(*name)) for name in dict.fromkeys(entry.authors)]
    names = {"journal": "journal", "booktitle": "collection-title", "volume": "volume", "number": "issue"}
    yield from ((told, fields[name]) for name, told in names.items() if fields.get(name))
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


def bibtex(about: About) -> str:
    """The release as an entry of BibTeX, and that of the paper that it follows."""
    facts = about.facts
    key = f"{facts['dataset']}-{facts['version']}"
    people = [
        _tex(f"{each.family}, {each.given}") if each.given else f"{{{_tex(each.family)}}}" for each in about.authors
    ]
    lines = {
        "author": " and ".join(people),
        "title": f"{{{_tex(about.card['title'])}}}",
        "version": facts["version"],
        "note": f"senseprobe release {about.name}, content hash {facts['content']}",
    }
    own = "\n".join([f"@misc{{{key},", *(f"  {name} = {{{value}}}," for name, value in lines.items()), "}"])
    entry = paper(about)
    return f"{own}\n\n{entry.text}\n" if entry else f"{own}\n"


def _tex_name(author: Author) -> str:
    return _tex(f"{author.family}, {author.given}") if author.given else f"{{{_tex(author.family)}}}"


def _tex(text: str) -> str:
    return re.sub(r"([%&#$_{}])", r"\\\1", " ".join(text.replace("\\", "").split()))
