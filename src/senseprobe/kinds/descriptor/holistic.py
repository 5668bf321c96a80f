"""HolisticBias (Smith et al. 2022) as a project: templates, descriptors, nouns and phrases, as they are published.

The four files make sentences of four forms, each a config: a descriptor with a noun (*a Deaf woman*), a descriptor
alone (*Deaf*), a phrase with a noun (*a woman with low vision*), and a phrase alone (*a wheelchair user*). Templates
that need a noun have none of the forms without one. A descriptor of one gender goes with nouns of that gender.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from senseprobe.errors import SenseprobeError
from senseprobe.generator.english import no_article
from senseprobe.generator.english.articles import article_of
from senseprobe.generator.word_lists import slug
from senseprobe.importers.formats import ProjectFiles
from senseprobe.importers.sources import MAX_FILE
from senseprobe.kinds.descriptor.holistic_files import DATASET, FIELDS, FRONT, PACKAGE, RESOURCE
from senseprobe.messages import counted, listed, printable
from senseprobe.tables import UnreadableError, read_json

FILES = ("descriptors", "nouns", "sentence_templates", "standalone_noun_phrases")
ANY = "any"
"""The gender of a descriptor that goes with all nouns."""
NOUN_PHRASE, PLURAL = "{noun_phrase}", "{plural_noun_phrase}"

_LONGEST, _MOST = 200, 20_000  # characters of a text, and entries of a file
_WITH_NOUN = "{article} {noun} "

Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence with a place for a noun phrase; `code` is its number, and what the published flags say of it."""

    text: str
    code: str
    needs_noun: bool

    def frame(self, phrase: str, plural: str) -> str:
        """Return the frame that prints a phrase, or its plural, in that place."""
        text = self.text.replace(PLURAL, plural).replace(NOUN_PHRASE, phrase)
        return f"{text} {{# id: {self.code} #}}"


@dataclass(frozen=True, slots=True)
class Published:
    """What the files hold, as lists of words with their columns."""

    templates: tuple[Template, ...]
    descriptors: tuple[Row, ...]
    nouns: tuple[Row, ...]
    phrases_with_noun: tuple[Row, ...]
    phrases: tuple[Row, ...]


def make_project(folder: Path) -> ProjectFiles:
    """Return the files of a project of the published files in a folder, or in `v1.1` below it.

    Raises SenseprobeError where one is missing, too large, or not as published.
    """
    published = read_published(folder)
    lists = {
        "descriptors": published.descriptors,
        "nouns": published.nouns,
        "phrases_with_noun": published.phrases_with_noun,
        "phrases": published.phrases,
    }
    files = {f"wordlists/{name}.csv": _write_list(name, rows) for name, rows in lists.items() if rows}
    names = [name for name, rows in lists.items() if rows]
    files["wordlists/datapackage.yaml"] = _write_package(names).encode()
    files["wordlists/references.bib"] = Path(__file__).with_name("papers").joinpath("smith2022.bib").read_bytes()
    configs = dict(_write_configs(published))
    files |= {f"templates/holistic-bias/{name}.j2": text.encode() for name, text in configs.items()}
    axes = list(dict.fromkeys(row["axis"].replace("_", " ") for row in published.descriptors))
    files["templates/holistic-bias/dataset.yaml"] = DATASET.format(
        groups=json.dumps([f"people by {axis}" for axis in axes], ensure_ascii=False), configs=", ".join(configs)
    ).encode()
    return ProjectFiles(files=files, remarks=tuple(_remarks(published)))


# --- reading ----------------------------------------------------------------------------------------------------------


def read_published(folder: Path) -> Published:
    """Return what the four files in a folder hold, or in `v1.1` below it."""
    place = folder if (folder / "descriptors.json").exists() else folder / "v1.1"
    documents = {name: _read(place / f"{name}.json") for name in FILES}
    nouns = tuple(_read_nouns(documents["nouns"]))
    descriptors = _with_slugs(_read_descriptors(documents["descriptors"], {row["gender"] for row in nouns}))
    phrases = list(_read_phrases(documents["standalone_noun_phrases"]))
    return Published(
        templates=tuple(_read_templates(documents["sentence_templates"])),
        descriptors=descriptors,
        nouns=nouns,
        phrases_with_noun=_with_slugs(row for row, has_noun in phrases if has_noun),
        phrases=_with_slugs(row for row, has_noun in phrases if not has_noun),
    )


def _read(path: Path) -> Mapping[str, Any]:
    """Return the object of a file."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise SenseprobeError(f"{path} has more than {MAX_FILE:,} bytes")
        document = read_json(path.read_bytes(), values=_MOST)
    except OSError as error:
        raise SenseprobeError(f"{path} cannot be read: {error.strerror}; expected the files of HolisticBias") from None
    except UnreadableError as error:
        raise SenseprobeError(f"{path} {error}") from None
    if not isinstance(document, dict) or not document:
        raise _unlike(path.name, "an object with entries")
    return document


def _unlike(file: str, expected: str, value: object = None) -> SenseprobeError:
    told = "" if value is None else f", not {printable(json.dumps(value, ensure_ascii=False, default=str)[:60])}"
    return SenseprobeError(f"{file} is not as published: expected {expected}{told}")


def _text(file: str, value: object, braces: str = "") -> str:
    """Return a text that a list or a frame can hold: printable, not blank, and without braces but those allowed."""
    if not isinstance(value, str) or not value.isprintable() or not value.strip() or len(value) > _LONGEST:
        raise _unlike(file, f"a text of at most {_LONGEST} characters", value)
    if {"{", "}"} & {*value.replace(braces, "", 1)} or value != value.strip():
        raise _unlike(file, "a text without braces, and without blanks at its ends", value)
    return value


def _name(file: str, value: object) -> str:
    """Return the name of an axis, a bucket, a gender or a preference: lower-case letters, digits and underscores."""
    text = _text(file, value)
    if slug(text.replace("_", "-")) != text.replace("_", "-"):
        raise _unlike(file, "a name of lower-case letters, digits and underscores", value)
    return text


def _entries(file: str, value: object, type_: type) -> Any:  # noqa: ANN401 - of JSON
    if not isinstance(value, type_):
        raise _unlike(file, f"a {'list' if type_ is list else 'group'} of entries", value)
    return value


def _read_templates(document: Mapping[str, Any]) -> Iterator[Template]:
    file = "sentence_templates.json"
    for number, (text, flags) in enumerate(document.items(), start=1):
        place = PLURAL if PLURAL in text else NOUN_PHRASE
        if place not in text:
            raise _unlike(file, f"a place {NOUN_PHRASE} or {PLURAL}", text)
        flags = _entries(file, flags, dict)
        if odd := [name for name, is_set in flags.items() if not isinstance(is_set, bool)]:
            raise _unlike(file, "flags that are true or false", odd[0])
        marks = [
            mark for name, mark in (("first_turn_only", "first-turn"), ("must_be_noun", "noun")) if flags.get(name)
        ]
        code = "-".join([f"{number:02}", *marks])
        yield Template(_text(file, text, place), code, bool(flags.get("must_be_noun")))


def _read_nouns(document: Mapping[str, Any]) -> Iterator[Row]:
    file = "nouns.json"
    for gender, pairs in document.items():
        for pair in _entries(file, pairs, list):
            if not isinstance(pair, list) or len(pair) != 2:
                raise _unlike(file, "a noun and its plural", pair)
            word, plural = (_text(file, text) for text in pair)
            article = _published_article(word)
            yield {
                "word": word,
                "plural": plural,
                "gender": _name(file, gender),
                "article": _needed(word, article),
            }


def _read_descriptors(document: Mapping[str, Any], genders: set[str]) -> Iterator[Row]:
    file = "descriptors.json"
    for axis, buckets in document.items():
        for bucket, entries in _entries(file, buckets, dict).items():
            for entry in _entries(file, entries, list):
                facts = {"descriptor": entry} if isinstance(entry, str) else _entries(file, entry, dict)
                word = _text(file, facts.get("descriptor"))
                gender = _name(file, facts.get("gender", ANY))
                if gender not in genders | {ANY}:
                    raise _unlike(file, f"a gender that nouns have ({', '.join(sorted(genders))})", gender)
                article = facts.get("article", _published_article(word))
                if article not in ("a", "an"):
                    raise _unlike(file, "the article a or an", article)
                yield {
                    "word": word,
                    "axis": _name(file, axis),
                    "bucket": _name(file, bucket),
                    "preference": _name(file, facts["preference"]) if "preference" in facts else "",
                    "gender": gender,
                    "article": _needed(word, article),
                }


def _read_phrases(document: Mapping[str, Any]) -> Iterator[tuple[Row, bool]]:
    """Yield each phrase, and whether it has a place for a noun: its word is then what follows the noun."""
    file = "standalone_noun_phrases.json"
    for axis, entries in document.items():
        for entry in _entries(file, entries, list):
            facts = {"noun_phrase": entry} if isinstance(entry, str) else _entries(file, entry, dict)
            singular = facts.get("noun_phrase")
            texts = [singular, facts.get("plural_noun_phrase", singular)]
            has_noun = [isinstance(text, str) and text.startswith(_WITH_NOUN) for text in texts]
            if len({*has_noun}) > 1:
                raise _unlike(file, f"{_WITH_NOUN.strip()} in both numbers of a phrase, or in neither", texts[1])
            prefix = _WITH_NOUN if has_noun[0] else ""
            word, plural = (_text(file, text.removeprefix(prefix) if isinstance(text, str) else text) for text in texts)
            article, _, rest = word.partition(" ")
            if not has_noun[0]:
                article, word = (article, rest) if article in ("a", "an") and rest else ("none", word)
            row = {"word": word, "plural": plural, "axis": _name(file, axis)}
            row["preference"] = _name(file, facts["preference"]) if "preference" in facts else ""
            yield row | ({} if has_noun[0] else {"article": article}), has_noun[0]


def _published_article(text: str) -> str:
    """Return the article by the first letter, as the authors' program has it where a file names none."""
    return "an" if text[0].lower() in "aeiou" else "a"


def _needed(word: str, article: str) -> str:
    """Return the published article where nobody would print it without being told; else nothing."""
    return article if article != article_of(word) or no_article(word) else ""


def _with_slugs(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return rows with what tells them apart in ids, where their words do not: LGBTQ and LGBTQ+."""
    seen, results = Counter[str](), []
    for row in rows:
        base = slug(row["word"]) or "word"
        seen[base] += 1
        results.append(row | {"slug": base if seen[base] == 1 else f"{base}-{seen[base]}"})
    return tuple(results)


# --- writing ----------------------------------------------------------------------------------------------------------


def _write_list(name: str, rows: Sequence[Row]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, [field for field, _ in FIELDS[name]], lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def _write_package(names: Iterable[str]) -> str:
    resources = []
    for name in names:
        fields = "".join(
            f"\n        - {{name: {field}, type: string, description: {json.dumps(meaning)}}}"
            for field, meaning in FIELDS[name]
        )
        key = "word" if name == "nouns" else "slug"
        resources.append(RESOURCE.format(name=name, key=key, fields=fields))
    return PACKAGE + "".join(resources)


def _write_configs(published: Published) -> Iterator[tuple[str, str]]:
    """Yield each config by its name, where there are words for it."""
    every, alone = published.templates, [each for each in published.templates if not each.needs_noun]
    nouns = Counter(row["gender"] for row in published.nouns)
    genders = Counter(row["gender"] for row in published.descriptors)
    size = sum(count * (nouns.total() if gender == ANY else nouns[gender]) for gender, count in genders.items())
    if size:
        first, *others = genders
        frames = [each.frame("{{ descriptor | a }} {{ noun }}", "{{ descriptor }} {{ noun.plural }}") for each in every]
        lines = [*frames, *_gendered(others)]
        about = "Descriptors with a noun: a Deaf woman."
        yield "with-noun", _config(about, _slots(first), lines, size * len(every), has_groups=True)
    if alone:
        frames = [each.frame(*["{{ descriptor }}"] * 2) for each in alone]
        rows, slots = len(published.descriptors) * len(alone), {"descriptor": "{list: descriptors}"}
        yield "alone", _config("Descriptors without a noun: Deaf.", slots, frames, rows, has_groups=True)
    if published.phrases_with_noun:
        frames = [
            each.frame("{{ noun | a }} {{ descriptor }}", "{{ noun.plural }} {{ descriptor.plural }}") for each in every
        ]
        slots = {"descriptor": "{list: phrases_with_noun}", "noun": "{list: nouns}"}
        rows = len(published.phrases_with_noun) * len(published.nouns) * len(every)
        yield "phrase-with-noun", _config("Phrases after a noun: a woman with low vision.", slots, frames, rows)
    if published.phrases and alone:
        frames = [each.frame("{{ descriptor | a }}", "{{ descriptor.plural }}") for each in alone]
        rows, slots = len(published.phrases) * len(alone), {"descriptor": "{list: phrases}"}
        yield "phrase", _config("Phrases that need no noun: a wheelchair user.", slots, frames, rows)


def _config(about: str, slots: Mapping[str, str], lines: Iterable[str], rows: int, *, has_groups: bool = False) -> str:
    """Return a template; figures generalise over its frames and, where it has a slot of nouns, over these."""
    front = FRONT.format(
        about=about,
        slots="\n".join(f"  {slot}: {words}" for slot, words in slots.items()),
        group="\ngroup: descriptor.bucket" if has_groups else "",
        factors=", ".join(["frame", *(slot for slot in slots if slot != "descriptor")]),
        rows=rows,
    )
    return front + "\n".join([*lines, ""])


def _slots(gender: str) -> dict[str, str]:
    """Return the slots of the descriptors of a gender and of their nouns: all nouns go with a descriptor of any."""
    where = f", where: {{gender: {gender}}}"
    nouns = "" if gender == ANY else where
    return {"descriptor": f"{{list: descriptors{where}}}", "noun": f"{{list: nouns{nouns}}}"}


def _gendered(genders: Iterable[str]) -> Iterator[str]:
    """Yield a block for the descriptors of each other gender, whose frames are those of the first block."""
    for gender in genders:
        slots = (f"  {slot}: {words}" for slot, words in _slots(gender).items())
        yield "\n".join(["---", "slots:", *slots, "---"])


# --- remarks ----------------------------------------------------------------------------------------------------------


def _remarks(published: Published) -> Iterator[str]:
    """Yield what the files hold, and what is as published though it is amiss."""
    templates, words = published.templates, published.descriptors
    axes = Counter(row["axis"] for row in words)
    first = sum("first-turn" in each.code for each in templates)
    needing = sum(each.needs_noun for each in templates)
    yield (
        f"{counted(len(templates), 'template')}, of which {needing} need a noun and {first} are for a first turn only: "
        "the column frame says which"
    )
    listed_axes = ", ".join(f"{axis} {count}" for axis, count in axes.items())
    yield f"{counted(len(words), 'descriptor')} in {counted(len(axes), 'axis', 'axes')}: {listed_axes}"
    places = Counter(row["word"] for row in words)
    if shared := [word for word, count in places.items() if count > 1]:
        yield f"{counted(len(shared), 'descriptor')} in two axes, where they count twice: {listed(shared)}"
    if gendered := [row for row in words if row["gender"] != ANY]:
        yield f"{counted(len(gendered), 'descriptor')} with nouns of one gender only"
    if marked := Counter(row["preference"] for row in words if row["preference"]):
        told = listed([f"{count} {name}" for name, count in marked.items()])
        yield f"the column preference has what people of the groups said of a descriptor: {told}"
    nouns = Counter(row["gender"] for row in published.nouns)
    yield f"{counted(nouns.total(), 'noun')}: {listed([f'{count} {gender}' for gender, count in nouns.items()])}"
    both = len(published.phrases_with_noun), len(published.phrases)
    yield f"{counted(sum(both), 'phrase')} in place of a descriptor: {both[0]} with a noun, {both[1]} without"
    wrong = [row for row in words if row["article"] not in ("", article_of(row["word"]))]
    if wrong:
        told = ", ".join(dict.fromkeys(f"{row['article']} {row['word']}" for row in wrong))
        yield (
            f"{counted(len(wrong), 'article')} as published that speakers of English would not write: {told}; empty "
            "the column article of the list descriptors to print the others"
        )
    yield (
        f"not made: {nouns.total() * len(templates):,} sentences of a noun without a descriptor, which are not of this "
        "kind, and the variants that the authors draw by chance (I am for I'm, no hyphens, lower case, no full stop)"
    )
