"""What annotators read before their first task: definitions, three worked examples, and what becomes of answers.

It is written from the release: what it says of the configs that people are asked about, and sentences of theirs. The
examples suppose what somebody thinks of a stereotype, and give the answer to that: which sentence the release calls one
would be copied, and is not said.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib.resources import files
from itertools import islice
from typing import Any

from senseprobe.annotation.questions import (
    ABOUT_YOU,
    ROLES,
    questions_of,
    questions_of_config,
    questions_of_some,
    word_for,
)
from senseprobe.annotation.records import Plan
from senseprobe.messages import shortened
from senseprobe.release.release import Release
from senseprobe.statistics.permutation import hash_draw

_TEXTS = tomllib.loads(files(__package__).joinpath("guidelines.toml").read_text("utf-8"))

_HEADING, _ITEM = "# ", "- "  # how lines of the text begin that are no paragraphs

_EXAMPLES = 3
_MOST_READ = 1000  # rows of a config among which examples are looked for: some have millions
_MOST_CONFIGS = 12  # configs that are described one by one

_TAGS = {_HEADING: "h4", _ITEM: "li", "": "p"}

Gloss = Callable[[str, str], str]
"""From a lexicon's name and a sense key to a text; empty where the lexicon has none."""


@dataclass(frozen=True, slots=True)
class Meanings:
    """What lexicons say: the `gloss` of a sense, and that of `another` sense of its word, which is something else."""

    gloss: Gloss
    another: Gloss = lambda lexicon, key: ""

    def of(self, row: Mapping[str, Any]) -> str:
        """Return the gloss of the sense of a row."""
        key = row.get("sense_key") or ""
        return _flatten(self.gloss(lexicon_of(row), key)) if key else ""


def lexicon_of(row: Mapping[str, Any]) -> str:
    """Return the name of the lexicon of a row's sense key."""
    return str(row.get("lexicon") or "wordnet-3.0")


def write_guidelines(release: Release, plan: Plan, meanings: Meanings) -> str:
    """Return the definitions and examples for a plan, as text; the same for the same release, plan and lexicon."""
    configs = tuple(dict.fromkeys(item.config for item in plan.items))
    texts = _TEXTS["definitions"]
    definitions = [word_for(plan, texts[question]) for question in plan.questions if question in texts]
    examples = enumerate((lines for lines in _examples(release, plan, configs, meanings) if lines[1:]), 1)
    return "\n".join(
        [
            f"{_HEADING}About the sentences",
            *_descriptions(release, configs),
            f"{_HEADING}The questions",
            *(f"{_ITEM}{definition}" for definition in definitions),
            *(
                line
                for number, (sentences, *reasons) in examples
                for line in (f"{_HEADING}Example {number}", sentences, *(f"{_ITEM}{reason}" for reason in reasons))
            ),
        ]
    )


def _descriptions(release: Release, configs: Sequence[str]) -> Iterator[str]:
    card, facts = release.manifest.data.get("card", {}), release.manifest.data.get("configs", {})
    yield " ".join(filter(None, (_sentence(card.get("title")), _sentence(card.get("content_warning")))))
    for config in configs[:_MOST_CONFIGS]:
        design = release.design(config)
        bias = f" ({design.bias_type})" if design.bias_type not in ("", "none") else ""
        if description := _sentence(facts.get(config, {}).get("description")):
            yield f"{_ITEM}{config}{bias}: {description}"
    if len(configs) > _MOST_CONFIGS:
        yield f"{_ITEM}and {len(configs) - _MOST_CONFIGS} more"


def _sentence(text: object) -> str:
    """Return a text in one line, with a full stop; empty where it is none."""
    line = _flatten(shortened(text)) if isinstance(text, str) else ""
    return f"{line.rstrip('.')}." if line else ""


def _flatten(text: str) -> str:
    """Return a text without line feeds: a line of its own could pass for a heading of ours."""
    return " ".join(text.split())


def _examples(release: Release, plan: Plan, configs: Sequence[str], meanings: Meanings) -> Iterator[list[str]]:
    """Yield the lines of each example: what is shown, then the answer to each question and why it is right."""
    rows = [_example_rows(release, plan, config) for config in configs[:_EXAMPLES]]
    for number, answers in enumerate(_TEXTS["examples"][plan.kind]):
        candidates = rows[number % len(rows)]
        config = configs[number % len(rows)]
        row, other = (candidates[(number + step) % len(candidates)] for step in (0, 1))
        sentences = " ".join(f"“{text}”" for text in map(_flatten, _sentences(plan.kind, number, row, other)))
        word = f"“{_flatten(row['target'])}”" if row.get("target") else "the marked word"
        right = {id_: answer for id_, answer in answers.items() if id_ in questions_of_config(plan, config)}
        right["sense"], gloss = _meaning(row, right["sense"], rows, meanings) if "sense" in right else ("", "")
        lines = [sentences, *([f"Meaning shown for {word}: {gloss}"] if gloss else [])]
        for question in questions_of(plan):
            if answer := right.get(question.id):
                name = word_for(plan, _TEXTS["definitions"][question.id].partition(":")[0])
                choice = dict(zip(question.choices, question.words, strict=True))[answer]
                lines.append(f"{name}: “{choice}”, because {_TEXTS['reasons'][question.id][answer].format(word=word)}.")
        yield lines


def _meaning(
    row: Mapping[str, Any], answer: str, rows: Iterable[Sequence[Mapping[str, Any]]], meanings: Meanings
) -> tuple[str, str]:
    """Return the answer to the question of the sense, and the gloss to which it is right; both empty without a gloss.

    What the word does not mean is another sense of it, or else the sense of another row; without either, it is *yes*.
    """
    gloss, key = meanings.of(row), row.get("sense_key")
    if not gloss or answer != "no":
        return (answer, gloss) if gloss else ("", "")
    others = (meanings.of(other) for of_config in rows for other in of_config if other.get("sense_key") != key)
    candidates = (_flatten(meanings.another(lexicon_of(row), str(key))), *others)
    other_gloss = next((other for other in candidates if other and other != gloss), "")
    return ("no", other_gloss) if other_gloss else ("yes", gloss)


def _example_rows(release: Release, plan: Plan, config: str) -> list[Mapping[str, Any]]:
    """Return rows of a config for examples, drawn by chance from its first.

    Those without a target, in which no word is marked, are taken only at need, and those that are asked about only
    after these. The number of batches in which they come makes no difference.
    """
    planned = {item.row for item in plan.items}
    draw = partial(hash_draw, plan.seed, "example", config)
    rows = islice((row for batch in release.batches(config) for row in batch.to_pylist()), _MOST_READ)
    ordered = sorted(rows, key=lambda row: (row["id"] in planned, not row.get("target"), draw(row["id"])))
    return ordered[: _EXAMPLES + 1]


def _sentences(kind: str, number: int, row: Mapping[str, Any], other: Mapping[str, Any]) -> Iterable[str]:
    """Return the sentences of example `number`, which fit what the texts suppose of them."""
    first, last = row[ROLES[kind][number % len(ROLES[kind])]], number == _EXAMPLES - 1
    if kind != "inference":
        return [" ".join(reversed(first.split())) if last else first]
    premise = row["premise"]
    return [premise, (premise, other["premise"], f"It is not true that this is so: {premise}")[number]]


def instruction(plan: Plan) -> str:
    """Return all that annotators read first on the platform, as HTML; what sentences hold is text."""
    use = f"{_HEADING}How we use your answers\n{_in_lines(_TEXTS['kept'])}"
    groups = _in_lines(_TEXTS["groups"].format(about_you=ABOUT_YOU))
    belonging = f"{_HEADING}Groups that you belong to\n{groups}" if plan.groups else ""
    parts = []
    for line in filter(None, "\n".join((_in_lines(_TEXTS["warning"]), plan.guidelines, use, belonging)).splitlines()):
        start = next((mark for mark in (_HEADING, _ITEM) if line.startswith(mark)), "")
        parts.append(f"<{_TAGS[start]}>{escape(line.removeprefix(start))}</{_TAGS[start]}>")
    return "".join(parts)


def _in_lines(text: str) -> str:
    """Return a text with each paragraph in a line."""
    return "\n".join(map(_flatten, text.split("\n\n")))


def for_sheets(plan: Plan) -> str:
    """Return all that annotators read first who fill in a sheet, and how that is done, as text."""
    guidelines = f"\n{plan.guidelines}\n" if plan.guidelines else ""
    words = ""
    for question in questions_of(plan):
        texts = (text.partition(": ") for text in question.choices.values())
        if answers := [f"“{word}”{f' ({meaning})' if meaning else ''}" for word, _, meaning in texts]:
            words += f"{_ITEM}{question.id}: {', '.join(answers)}\n"
    text: str = (
        _TEXTS["warning"] + guidelines + _TEXTS["sheets"] + (_TEXTS["not_asked"] if questions_of_some(plan) else "")
    )
    return text + (_TEXTS["sheet_words"] + words if words else "") + (_TEXTS["sheet_groups"] if plan.groups else "")
