"""Makes a senseprobe project of the published templates of BBQ: templates, word lists, and their descriptions."""

import csv
import hashlib
import io
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TypeVar

from senseprobe.generator.word_lists import slug
from senseprobe.kinds.question.bbq_people import People
from senseprobe.kinds.question.bbq_templates import TemplateBlock

DATASET, SOURCE, UNKNOWNS = "bbq", "parrish2022", "bbq_unknowns"
_SLOTS = ("target", "other", "shared", "word1", "word2")
_NONE = "none"
"""The word of a slot that a block does not use, because all blocks of a file have the same slots."""

_T = TypeVar("_T")


@dataclass(slots=True)
class CategoryLists:
    """The words of a category's two lists, by the set to which they belong; a set that is there is not added again."""

    people: dict[str, People] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)


def project_files(blocks: Mapping[str, Sequence[TemplateBlock]], wordings: Sequence[str]) -> dict[str, bytes]:
    """Return the files of a project, by their paths, of blocks by category and of wordings of *unknown*."""
    files_, resources = dict[str, str](), [_resource(UNKNOWNS, "Wordings of the answer that nobody can know", ())]
    files_[f"wordlists/{UNKNOWNS}.csv"] = _table(("word",), ([wording] for wording in wordings))
    for category, some in blocks.items():
        lists, config = CategoryLists(), category.lower()
        files_[f"templates/{DATASET}/{config}.j2"] = _template(config, some, wordings, lists)
        for kind, rows, columns in _list_tables(lists):
            name = f"bbq_{config}_{kind}"
            files_[f"wordlists/{name}.csv"] = _table(("word", *columns), rows)
            resources.append(_resource(name, _described(kind, category), columns))
    head = {"name": "wordlists", "profile": "data-package"}
    texts = [*(f"{key}: {value}" for key, value in head.items()), "resources:", *resources]
    files_["wordlists/datapackage.yaml"] = "\n".join(texts) + "\n"
    files_["wordlists/references.bib"] = files(__package__).joinpath(f"papers/{SOURCE}.bib").read_text("utf-8")
    digest = hashlib.sha256("".join(f"{path}\n{text}" for path, text in sorted(files_.items())).encode()).hexdigest()
    files_[f"templates/{DATASET}/dataset.yaml"] = _dataset(blocks, uuid.uuid5(uuid.NAMESPACE_OID, digest))
    return {path: text.encode() for path, text in sorted(files_.items())}


# --- Templates --------------------------------------------------------------------------------------------------------


def _template(config: str, blocks: Sequence[TemplateBlock], wordings: Sequence[str], lists: CategoryLists) -> str:
    """Return the file of a category, with a block for each of its blocks, and put their words into its lists."""
    used = [slot for slot in _SLOTS if slot in ("target", "other") or any(_has(block, slot) for block in blocks)]
    numbers = {template: number for number, template in enumerate(dict.fromkeys(block.template for block in blocks))}
    texts, inherited = list[str](), set[str]()
    for block in blocks:
        wording = wordings[numbers[block.template] % len(wordings)]
        slots = [f"  {slot}: {_slot(config, block, slot, lists)}" for slot in used]
        slots.append(f"  wording: {{list: {UNKNOWNS}, where: {{word: {_quoted(wording)}}}}}")
        keys = [f"variant: {_quoted(block.variant)}", f"target_groups: {_quoted(block.target_groups)}"]
        keys += [f"gold: {{negative: {block.gold}}}", f"orders: {block.cast.orders}"]
        # A later block states what the first one has otherwise.
        head = [] if texts else _first_keys(config, sum(each.rows for each in blocks))
        own = [key for key in keys if key not in inherited]
        own_slots = [slot for slot in slots if slot not in inherited]
        lines = [f"{text} {{# id: {name} #}}" for name, text in block.lines.items()]
        parts = [*head, f"template: {block.template}", *own, *(["slots:", *own_slots] if own_slots else [])]
        texts.append("\n".join(["---", *parts, "---", *lines, ""]))
        inherited = inherited or {*keys, *slots}
    return "".join(texts)


def _first_keys(config: str, rows: int) -> list[str]:
    topic = config.replace("_", " ")
    return [
        "kind: question",
        f"bias_type: {_quoted(topic)}",
        f"construct: {_quoted(f'what a stereotype says of people, by {topic}')}",
        f"description: {_quoted(f'Questions about two people, of whom a stereotype concerns one, by {topic}.')}",
        f"source: {SOURCE}",
        "stereotyped: target",
        "unstereotyped: other",
        "unknown: wording",
        "groups: {stereotyped: target.group, unstereotyped: other.group}",
        f"expect: {{rows: {rows}}}",
    ]


def _has(block: TemplateBlock, slot: str) -> bool:
    return bool(block.cast.shared if slot == "shared" else block.words.get(slot))


def _slot(config: str, block: TemplateBlock, slot: str, lists: CategoryLists) -> str:
    """Return the declaration of a slot, and add its words to the lists where they are new."""
    own = "-".join(filter(None, (block.template.removeprefix(f"{config.replace('_', '-')}-"), block.variant, slot)))
    kind = "words" if slot.startswith("word") else "people"
    is_person = kind == "people"
    words = block.words.get(slot, ())
    name = _added(lists.people, own, getattr(block.cast, slot)) if is_person else _added(lists.words, own, words)
    return f"{{list: bbq_{config}_{kind}, where: {{set: {_quoted(name)}}}}}"


def _added(sets: dict[str, _T], name: str, words: _T) -> str:
    """Return the name of the set that has some words: a new one, that of a block before, or none."""
    if not words:
        name = _NONE
    known = next((known for known, other in sets.items() if other == words), name)
    sets.setdefault(known, words)
    return known


# --- Word lists -------------------------------------------------------------------------------------------------------


def _list_tables(lists: CategoryLists) -> Iterator[tuple[str, Iterable[Sequence[str]], tuple[str, ...]]]:
    """Yield the name, the rows and the columns beside `word` of each list that has words."""
    people = [(name, each) for name, some in lists.people.items() for each in some]
    parts = any(each.name for _, each in people)
    slugs = _slugs([(name, each.word) for name, each in people])
    columns = ("set", "group", *(("name", "role") if parts else ()), *(("slug",) if any(slugs) else ()))
    rows = []
    for (name, each), slug_ in zip(people, slugs, strict=True):
        cells = {"set": name, "group": each.group, "name": each.name, "role": each.role, "slug": slug_}
        rows.append([each.word, *(cells[column] for column in columns)])
    if _NONE in lists.people:
        rows.append([_NONE, _NONE, *("" for _ in columns[1:])])
    yield "people", rows, columns
    if lists.words:
        words = [(name, word) for name, some in lists.words.items() for word in some]
        words += [(_NONE, _NONE)] if _NONE in lists.words else []
        slugs = _slugs(words)
        columns = ("set", "slug") if any(slugs) else ("set",)
        yield (
            "words",
            [[word, name, slug_][: len(columns) + 1] for (name, word), slug_ in zip(words, slugs, strict=True)],
            columns,
        )


def _slugs(words: Sequence[tuple[str, str]]) -> list[str]:
    """Return for each word of a set what tells it apart in ids, where its own slug does not; else an empty text."""
    times = Counter((name, slug(word)) for name, word in words)
    seen: Counter[tuple[str, str]] = Counter()
    slugs = []
    for name, word in words:
        key = (name, slug(word))
        seen[key] += 1
        slugs.append(f"{key[1]}-{seen[key]}" if times[key] > 1 else "")
    return slugs


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def _described(kind: str, category: str) -> str:
    topic = category.replace("_", " ")
    return f"People of BBQ's templates: {topic}" if kind == "people" else f"Words drawn for BBQ's templates: {topic}"


def _resource(name: str, description: str, columns: Sequence[str]) -> str:
    key = "[set, word]" if "set" in columns else "[word]"
    fields = [f"        - {{name: {column}, type: string}}" for column in columns]
    return "\n".join(
        [
            f"  - name: {name}",
            f"    path: {name}.csv",
            f"    description: {_quoted(description + '.')}",
            f"    sources: [{{title: {SOURCE}}}]",
            "    licenses: [{name: CC-BY-4.0}]",
            "    schema:",
            f"      primaryKey: {key}",
            "      fields:",
            "        - {name: word, type: string, constraints: {required: true}}",
            *fields,
        ]
    )


# --- The dataset ------------------------------------------------------------------------------------------------------


def _dataset(blocks: Mapping[str, Sequence[TemplateBlock]], canary: uuid.UUID) -> str:
    topics = ", ".join(category.lower().replace("_", " ") for category in blocks)
    casts = [block.cast for some in blocks.values() for block in some]
    texts = {
        "title": "Questions of BBQ's templates",
        "summary": "Questions about two people in a context that does or does not answer them, made of the published "
        f"templates and vocabularies of BBQ: {topics}.",
        "license": "CC-BY-4.0",
        "languages": ["en"],
        "authors": ["The authors of BBQ"],
        "citation": SOURCE,
        "canary": f"senseprobe:{DATASET}:{canary}",
        "content_warning": "Contexts and questions state stereotypes about groups of people.",
        "construct": "Whether a model answers a question about two people by a stereotype where the context does not "
        "answer it, and against the context where it does.",
        "groups": sorted({person.group for cast in casts for person in (*cast.target, *cast.other)}),
        "who_could_be_harmed": "People of these groups, if a score is taken as permission to use a model on texts "
        "about them.",
        "intended_use": "Measuring language models, and comparing models on the same release.",
        "out_of_scope": "Training; certifying a model as unbiased; conclusions about groups that are not in the lists.",
        "equivalence": {
            "margin": 5,
            "reason": "A convention, stated before scoring, because a bound based on harm is not known.",
        },
        "configs": [category.lower() for category in blocks],
    }
    return "".join(f"{key}: {_quoted(value)}\n" for key, value in texts.items())


def _quoted(value: object) -> str:
    """Return a value as JSON, which is YAML, too."""
    return json.dumps(value, ensure_ascii=False)
