"""Compares card, citation and Croissant of a release with its manifest.

Who forges a release can list changed files in a new manifest, with every hash right, and leave the rows as they are. So
what a reader or a library takes from the documents is compared with what the manifest says. Texts that senseprobe words
itself are compared where the manifest records the current form of cards: other versions word them otherwise.
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
from senseprobe.release.manifest import CARDS, NAME, Manifest
from senseprobe.release.metadata import DocumentInput, Source
from senseprobe.release.verdicts import VERDICTS, read_verdicts

MAX_BYTES = 32 * 2**20
"""Croissant names every file twice or three times, the manifest once in at most 8 MiB."""

MAX_BIBLIOGRAPHY = 4 * 2**20

_HINT = "do not read or load the release by this file: fetch it from its authors again"
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class CardSources:
    """What the text of a card says that stands in the recipe alone.

    - `lists`: the word lists that the rows are made of.
    - `left_out`: by config, the ids of rows that verdicts leave out.
    - `creation`: how the rows came about, empty for templates; None where only a new import would tell.
    """

    lists: tuple[Source, ...] = ()
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    creation: str | None = ""


ReadSources: TypeAlias = Callable[[Path, Manifest], CardSources]
"""Reads the recipe of the release in a folder, without making rows; raises SenseprobeError where it cannot be read."""


def document_names(manifest: Manifest) -> tuple[str, ...]:
    """The documents that a release of this form has."""
    return (card.NAME, citation.NAME, croissant.NAME) if manifest.cards > 1 else (card.NAME,)


def document_findings(
    folder: Path, manifest: Manifest, names: Sequence[str], sources: ReadSources | None
) -> Iterator[Finding]:
    """Yield the first difference between each of the documents `names` and the manifest.

    The text of the card is compared where `sources` can be asked, and the manifest records the current form of cards.
    """
    if mistake := _card_mistake(manifest):
        yield Finding(path=NAME, code="E401", message=mistake, hint="fetch the release again")
        return
    read: CardSources | None = None
    try:
        about = _about(folder, manifest)
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
            yield from _COMPARED[name](text, about, manifest.cards, read)
        except UnicodeDecodeError:
            yield mismatch(name, "is not UTF-8")
        except OSError as error:
            yield Finding(path=name, code="E404", message=f"cannot be read ({error.strerror})")
        except (jinja2.TemplateError, AttributeError, LookupError, TypeError, ValueError) as error:
            message = f"does not hold what {name} is made of: {printable(str(error))[:200]}"
            yield Finding(path=NAME, code="E401", message=message, hint="fetch the release again")


def _unread(folder: Path, what: str, error: SenseprobeError) -> Iterator[Finding]:
    """Yield what is wrong with a recipe: a declaration's findings with their own files, or one for the recipe."""
    if isinstance(error, DeclarationError):
        for finding in error.findings:
            yield replace(finding, path=finding.path.removeprefix(f"{folder}/"))
        return
    reason = printable(str(error).replace(f"{folder}/", ""))[:300]
    message = f"cannot be read, so that {what} not compared: {reason}"
    yield Finding(path="recipe", code="E408", message=message, hint=_HINT)


def stated_memory(folder: Path, manifest: Manifest) -> dict[str, int]:
    """By config, the bytes in memory that the card states for its rows; empty where it states none."""
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
    """The first of the card's facts that is not of its type; None where all are."""
    try:
        _Card.model_validate(manifest.data["card"])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return printable(f"card.{'.'.join(map(str, first['loc']))}: {first['msg']}")
    return None


def _about(folder: Path, manifest: Manifest) -> DocumentInput:
    """What the documents are made from, as far as manifest and recipe tell.

    Raises DeclarationError where verdicts, annotation or bibliography of the recipe cannot be read.
    """
    dataset = str(manifest.data["dataset"])
    place, shown = folder / "recipe" / "templates" / dataset, f"recipe/templates/{dataset}"
    return DocumentInput(
        facts=manifest.data,
        files={name: entry for name, entry in manifest.data["files"].items() if name != croissant.NAME},
        memory=dict.fromkeys(manifest.configs, 0),
        bibliography=bibliography(folder),
        verdicts=read_verdicts(place / VERDICTS, f"{shown}/{VERDICTS}"),
        annotation=read_annotation(place / ANNOTATION, f"{shown}/{ANNOTATION}"),
    )


def bibliography(folder: Path) -> str:
    """The entries that a release cites, those of its lists or of an import; DeclarationError where there are too many.

    What is not UTF-8 in them becomes a replacement character.
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
        front = f"---\n{card.front(about, form)}---\n"
        # Lines after the front matter are prose, but for the first, which ends it for every reader.
        top = "\n".join(text.split("\n")[: front.count("\n") + 1])
        yield from _line_findings(card.NAME, top, front, _is_bare if form == 1 else None)
        return
    creation, changelog = sources.creation, _section(text, "Changelog")
    if creation is None:
        creation = _section(text, "Creation")
    written = replace(about, lists=sources.lists, left_out=sources.left_out, creation=creation, changelog=changelog)
    yield from _line_findings(card.NAME, text, card.render(written))
    if changelog != card.FIRST and not is_entry(changelog, about.name):
        line = text[: text.rfind("\n## Changelog\n")].count("\n") + 2
        yield mismatch(card.NAME, "the changelog is not one that senseprobe writes", line)


def _memory(text: str, configs: Sequence[str]) -> dict[str, int]:
    sizes = re.findall(r"(?m)^  dataset_size: (0|[1-9][0-9]{0,14})$", text)
    return dict(zip(configs, map(int, sizes), strict=False))


def _section(text: str, heading: str) -> str:
    """The text of a section of a card, without a heading of its own; empty where there is none.

    Of several it is the last one: what authors say of a dataset, which may have such headings too, stands before.
    """
    sections = re.findall(rf"(?m)^## {heading}\n\n((?:(?!# |## ).*(?:\n|\Z))*)", text)
    return re.sub(r"(?m)^#(?=##)", "", sections[-1].strip()) if sections else ""


_BARE = re.compile(r'((?: *- )?(?: *[a-z_]+: )?)"([A-Za-z0-9][A-Za-z0-9 ().,/<>*+&_-]*)"')
_NO_TEXT = re.compile(r"(?i)y|n|yes|no|on|off|true|false|null|[0-9.][0-9._a-f,x+-]*|.* ")
"""What YAML takes for something else where it is not in quotes."""


def _is_bare(line: str, wanted: str) -> bool:
    """Whether a line of the first form of cards is the `wanted` one without the quotes of its text."""
    quoted = _BARE.fullmatch(wanted)
    return quoted is not None and not _NO_TEXT.fullmatch(quoted[2]) and line == quoted[1] + quoted[2]


_PROSE_LINE = re.compile(r'(message|  description): "(?:[^"\\]|\\.)*"')


def _citation_findings(text: str, about: DocumentInput, form: int, sources: CardSources | None) -> Iterator[Finding]:
    yield from _line_findings(citation.NAME, text, citation.cff(about), None if form == CARDS else _is_prose)


def _is_prose(line: str, wanted: str) -> bool:
    """Whether two lines of a citation are one text of senseprobe in two wordings."""
    there, expected = _PROSE_LINE.fullmatch(line), _PROSE_LINE.fullmatch(wanted)
    return there is not None and expected is not None and there[1] == expected[1]


def _line_findings(
    name: str, text: str, wanted: str, is_same: Callable[[str, str], bool] | None = None
) -> Iterator[Finding]:
    """Yield a finding at the first line that is not the one wanted; `is_same` says which others may stand there."""
    lines = zip_longest(text.split("\n"), wanted.split("\n"), fillvalue=None)
    for number, (line, expected) in enumerate(lines, 1):
        known = is_same and line is not None and expected is not None and is_same(line, expected)
        if line != expected and not known:
            yield mismatch(name, f"{_shown(line)} instead of {_shown(expected)}, as the manifest has it", number)
            return


def _croissant_findings(text: str, about: DocumentInput, form: int, sources: CardSources | None) -> Iterator[Finding]:
    try:
        data = json.loads(text)
        is_canonical = json.dumps(data, ensure_ascii=False, indent=1) + "\n" == text
    except (ValueError, RecursionError):
        yield mismatch(croissant.NAME, "is not JSON")
        return
    wanted = json.loads(croissant.render(about))
    for place, value, expected in _json_differences(data, wanted, "", form == CARDS):
        message = f"{_shown(value)} instead of {_shown(expected)}, as the manifest has it"
        yield mismatch(croissant.NAME, f"{printable(place)[:200]}: {message}" if place else message)
        return
    if not is_canonical:
        yield mismatch(croissant.NAME, "has a key twice, or is not laid out as senseprobe writes it")


Difference: TypeAlias = tuple[str, object, object]


def _json_differences(value: Any, wanted: Any, place: str, prose: bool) -> Iterator[Difference]:  # noqa: ANN401 - any JSON
    """Yield place and both values where JSON differs; texts that senseprobe words only with `prose`."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        for key in [*wanted, *(key for key in value if key not in wanted)]:
            pair = value.get(key, _ABSENT), wanted.get(key, _ABSENT)
            if prose or not _are_prose(key, *pair):
                yield from _json_differences(*pair, f"{place}.{key}" if place else key, prose)
    elif isinstance(value, list) and isinstance(wanted, list):
        for number, pair in enumerate(zip_longest(value, wanted, fillvalue=_ABSENT)):
            yield from _json_differences(*pair, f"{place}.{number}", prose)
    elif type(value) is not type(wanted) or value != wanted:
        yield place, value, wanted


def _are_prose(key: str, value: object, wanted: object) -> bool:
    """Whether a key holds a text that senseprobe words, and both values are texts, or lists of them."""
    if key != "description" and not key.startswith("rai:"):
        return False
    if isinstance(value, list) and isinstance(wanted, list):
        return all(isinstance(text, str) for text in value)
    return isinstance(value, str) and isinstance(wanted, str)


def _shown(value: object) -> str:
    if value is None or value is _ABSENT:
        return "nothing"
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "an object"
    return repr(value[:160] if isinstance(value, str) else value)[:200]


_COMPARED: Mapping[str, Callable[[str, DocumentInput, int, CardSources | None], Iterator[Finding]]] = {
    card.NAME: _card_findings,
    citation.NAME: _citation_findings,
    croissant.NAME: _croissant_findings,
}
