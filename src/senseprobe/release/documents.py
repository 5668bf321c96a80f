"""Whether card, citation and Croissant of a release agree with its manifest.

A forger of a release can list changed documents in a new manifest, with every hash right, and leave the rows as they
are. So the facts that readers and libraries take from the documents are compared with the manifest. The wording of
senseprobe's own texts is compared where the manifest records the current form of cards: it differs between versions.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

import jinja2
from pydantic import BaseModel, ConfigDict, ValidationError

from senseprobe.atomic_files import read_plain
from senseprobe.errors import DeclarationError, SenseprobeError
from senseprobe.messages import printable
from senseprobe.records import Finding
from senseprobe.release import card, citation, croissant
from senseprobe.release.annotation_record import ANNOTATION, read_annotation
from senseprobe.release.changelog import is_entry
from senseprobe.release.manifest import CARDS, NAME, Manifest, first_error
from senseprobe.release.metadata import DocumentInput, Source
from senseprobe.release.verdicts import VERDICTS, read_verdicts

MAX_BYTES = 32 * 2**20
"""The most bytes of a document: Croissant names every file up to three times, the manifest once in at most 8 MiB."""

MAX_BIBLIOGRAPHY = 4 * 2**20

_HINT = "do not read or load the release by this file: fetch it from its authors again"
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class CardSources:
    """Facts in the text of a card that stand in the recipe alone.

    - `lists`: the word lists that the rows are made of.
    - `left_out`: by config, the ids of rows that verdicts leave out.
    - `creation`: how the rows came about, empty for templates; None where only a new import would show it.
    """

    lists: tuple[Source, ...] = ()
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    creation: str | None = ""


ReadSources: TypeAlias = Callable[[Path, Manifest], CardSources]
"""Reads the recipe of the release in a folder, without making rows; raises SenseprobeError where it cannot be read."""


def document_names(manifest: Manifest) -> tuple[str, ...]:
    """Return the documents that a release of this form has."""
    return (card.NAME, citation.NAME, croissant.NAME) if manifest.cards > 1 else (card.NAME,)


def document_findings(
    folder: Path, manifest: Manifest, names: Sequence[str], sources: ReadSources | None
) -> Iterator[Finding]:
    """Yield the first difference between each of the documents `names` and the manifest.

    The text of the card is compared if there are `sources`, and the manifest records the current form of cards.
    """
    if message := _card_mistake(manifest):
        yield Finding(path=NAME, code="E401", message=message, hint="fetch the release again")
        return
    read: CardSources | None = None
    try:
        about = _document_input(folder, manifest)
    except SenseprobeError as error:
        yield from _unread(folder, "the documents are", error)
        return
    try:
        if sources and manifest.cards == CARDS:
            read = sources(folder, manifest)
    except SenseprobeError as error:
        yield from _unread(folder, "the card's text is", error)
    for name in names:
        try:
            text = read_plain(folder / name, MAX_BYTES).decode()
            yield from _COMPARISONS[name](text, about, manifest.cards, read)
        except UnicodeDecodeError:
            yield mismatch(name, "is not UTF-8")
        except OSError as error:
            yield Finding(path=name, code="E404", message=f"cannot be read ({error.strerror})")
        except (jinja2.TemplateError, AttributeError, LookupError, TypeError, ValueError) as error:
            message = f"does not hold what {name} is made of: {printable(str(error))[:200]}"
            yield Finding(path=NAME, code="E401", message=message, hint="fetch the release again")


def _unread(folder: Path, what: str, error: SenseprobeError) -> Iterator[Finding]:
    """Yield findings on a recipe that cannot be read: a declaration's, with their own files, or one for the recipe."""
    if isinstance(error, DeclarationError):
        for finding in error.findings:
            yield replace(finding, path=finding.path.removeprefix(f"{folder}/"))
        return
    reason = printable(str(error).replace(f"{folder}/", ""))[:300]
    message = f"cannot be read, so that {what} not compared: {reason}"
    yield Finding(path="recipe", code="E408", message=message, hint=_HINT)


def stated_memory(folder: Path, manifest: Manifest) -> dict[str, int]:
    """Return by config the bytes in memory that the card states for its rows; empty where it states none."""
    if manifest.cards == 1:
        return {}
    try:
        text = read_plain(folder / card.NAME, MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return {}
    return _memory(text, manifest.configs)


def mismatch(name: str, message: str, line: int = 0) -> Finding:
    """Return the finding that a document says otherwise than the manifest."""
    return Finding(path=name, line=line, column=int(line > 0), code="E409", message=message, hint=_HINT)


class _Card(BaseModel):
    model_config = ConfigDict(strict=True)

    title: str
    summary: str
    content_warning: str
    measured: str
    intended_use: str
    out_of_scope: str
    who_could_be_harmed: str
    languages: list[str]
    authors: list[str] = []
    citation: str = ""
    license: str | None = None


def _card_mistake(manifest: Manifest) -> str | None:
    """Return the first of the card's facts that is not of its type; None where all are."""
    try:
        _Card.model_validate(manifest.data["card"])
    except ValidationError as error:
        return printable(f"card.{': '.join(first_error(error))}")
    return None


def _document_input(folder: Path, manifest: Manifest) -> DocumentInput:
    """Return what the documents are made from, as far as manifest and recipe have it.

    Raises DeclarationError where verdicts, annotation or bibliography of the recipe cannot be read.
    """
    dataset = str(manifest.data["dataset"])
    display_path = f"recipe/templates/{dataset}"
    templates = folder / display_path
    return DocumentInput(
        facts=manifest.data,
        files={name: entry for name, entry in manifest.data["files"].items() if name != croissant.NAME},
        memory=dict.fromkeys(manifest.configs, 0),
        bibliography=read_bibliography(folder),
        verdicts=read_verdicts(templates / VERDICTS, f"{display_path}/{VERDICTS}"),
        annotation=read_annotation(templates / ANNOTATION, f"{display_path}/{ANNOTATION}"),
    )


def read_bibliography(folder: Path) -> str:
    """Return the BibTeX entries of a release's recipe, from its lists or from an import.

    Bytes that are not UTF-8 become replacement characters. Raises DeclarationError where the file cannot be read, or is
    too large.
    """
    names = [name for name in ("wordlists/references.bib", "references.bib") if (folder / "recipe" / name).is_file()]
    try:
        texts = [read_plain(folder / "recipe" / name, MAX_BIBLIOGRAPHY) for name in names]
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise DeclarationError([Finding(path=f"recipe/{names[0]}", code="E100", message=message)]) from None
    return "".join(text.decode("utf-8", "replace") for text in texts)


def _card_findings(text: str, about: DocumentInput, form: int, sources: CardSources | None) -> Iterator[Finding]:
    """Compare the front matter, and the text below it where `sources` are known."""
    memory = dict.fromkeys(about.facts["order"], 0) | _memory(text, about.facts["order"])
    about = replace(about, memory=memory)
    if sources is None:
        front = f"---\n{card.render_front_matter(about, form)}---\n"
        # Lines after the front matter are prose, but for the first, which ends it for every reader.
        top = "\n".join(text.split("\n")[: front.count("\n") + 1])
        yield from _line_findings(card.NAME, top, front, _is_bare if form == 1 else None)
        return
    creation, changelog = sources.creation, read_section(text, "Changelog")
    if creation is None:
        creation = read_section(text, "Creation")
    written = replace(about, lists=sources.lists, left_out=sources.left_out, creation=creation, changelog=changelog)
    yield from _line_findings(card.NAME, text, card.render(written))
    if changelog != card.FIRST and not is_entry(changelog, about.name):
        line = text[: text.rfind("\n## Changelog\n")].count("\n") + 2
        yield mismatch(card.NAME, "the changelog is not one that senseprobe writes", line)


def _memory(text: str, configs: Sequence[str]) -> dict[str, int]:
    sizes = re.findall(r"(?m)^  dataset_size: (0|[1-9][0-9]{0,14})$", text)
    return dict(zip(configs, map(int, sizes), strict=False))


def read_section(text: str, heading: str) -> str:
    """Return the last section of a card with this heading, without its heading; empty where there is none.

    The last, since the authors' own texts, which may have such headings too, stand before it.
    """
    sections = re.findall(rf"(?m)^## {heading}\n\n((?:(?!# |## ).*(?:\n|\Z))*)", text)
    return re.sub(r"(?m)^#(?=##)", "", sections[-1].strip()) if sections else ""


_BARE = re.compile(r'((?: *- )?(?: *[a-z_]+: )?)"([A-Za-z0-9][A-Za-z0-9 ().,/<>*+&_-]*)"')
_NO_TEXT = re.compile(r"(?i)y|n|yes|no|on|off|true|false|null|[0-9.][0-9._a-f,x+-]*|.* ")
"""Words that YAML reads as other types than texts where they are not in quotes."""


def _is_bare(line: str, expected: str) -> bool:
    """Return whether a line of the first form of cards is the `expected` one without the quotes of its text."""
    quoted = _BARE.fullmatch(expected)
    return quoted is not None and not _NO_TEXT.fullmatch(quoted[2]) and line == quoted[1] + quoted[2]


_PROSE_LINE = re.compile(r'(message|  description): "(?:[^"\\]|\\.)*"')


def _citation_findings(text: str, about: DocumentInput, form: int, sources: CardSources | None) -> Iterator[Finding]:
    yield from _line_findings(citation.NAME, text, citation.render_cff(about), None if form == CARDS else _is_prose)


def _is_prose(line: str, expected: str) -> bool:
    """Return whether two lines of a citation are the same text of senseprobe in two wordings."""
    matches = _PROSE_LINE.fullmatch(line), _PROSE_LINE.fullmatch(expected)
    return matches[0] is not None and matches[1] is not None and matches[0][1] == matches[1][1]


def _line_findings(
    name: str, text: str, expected: str, is_same: Callable[[str, str], bool] | None = None
) -> Iterator[Finding]:
    """Yield a finding at the first line that is not the expected one; `is_same` accepts other wordings of it."""
    for number, (line, other) in enumerate(zip_longest(text.split("\n"), expected.split("\n"), fillvalue=None), 1):
        accepted = is_same and line is not None and other is not None and is_same(line, other)
        if line != other and not accepted:
            yield mismatch(name, f"{_rendered(line)} instead of {_rendered(other)}, as the manifest has it", number)
            return


def _croissant_findings(text: str, about: DocumentInput, form: int, sources: CardSources | None) -> Iterator[Finding]:
    try:
        data = json.loads(text)
        is_canonical = json.dumps(data, ensure_ascii=False, indent=1) + "\n" == text
    except (ValueError, RecursionError):
        yield mismatch(croissant.NAME, "is not JSON")
        return
    rendered = json.loads(croissant.render(about))
    for location, value, expected in _json_differences(data, rendered, "", form == CARDS):
        message = f"{_rendered(value)} instead of {_rendered(expected)}, as the manifest has it"
        yield mismatch(croissant.NAME, f"{printable(location)[:200]}: {message}" if location else message)
        return
    if not is_canonical:
        yield mismatch(croissant.NAME, "has a key twice, or is not laid out as senseprobe writes it")


def _json_differences(
    value: Any,  # noqa: ANN401 - any JSON
    expected: Any,  # noqa: ANN401
    path: str,
    prose: bool,
) -> Iterator[tuple[str, object, object]]:
    """Yield path and both values where JSON differs; senseprobe's own texts are compared only with `prose`."""
    if isinstance(value, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in value if key not in expected)]:
            pair = value.get(key, _ABSENT), expected.get(key, _ABSENT)
            if prose or not _are_prose(key, *pair):
                yield from _json_differences(*pair, f"{path}.{key}" if path else key, prose)
    elif isinstance(value, list) and isinstance(expected, list):
        for number, pair in enumerate(zip_longest(value, expected, fillvalue=_ABSENT)):
            yield from _json_differences(*pair, f"{path}.{number}", prose)
    elif type(value) is not type(expected) or value != expected:
        yield path, value, expected


def _are_prose(key: str, value: object, expected: object) -> bool:
    """Return whether a key holds senseprobe's own text, and both values are texts, or lists of them."""
    if key != "description" and not key.startswith("rai:"):
        return False
    if isinstance(value, list) and isinstance(expected, list):
        return all(isinstance(text, str) for text in value)
    return isinstance(value, str) and isinstance(expected, str)


def _rendered(value: object) -> str:
    if value is None or value is _ABSENT:
        return "nothing"
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "an object"
    return repr(value[:160] if isinstance(value, str) else value)[:200]


_COMPARISONS: Mapping[str, Callable[[str, DocumentInput, int, CardSources | None], Iterator[Finding]]] = {
    card.NAME: _card_findings,
    citation.NAME: _citation_findings,
    croissant.NAME: _croissant_findings,
}
