"""Read the tests of sent-bias (May et al. 2019): despite the name `.jsonl`, a file is one JSON object.

It has the sets `targ1`, `targ2`, `attr1` and `attr2` (here X, Y, A and B), each with a category and its examples:
words, or sentences. A sentence does not say which word it is about; where the test of the words (`weat1` for
`sent-weat1`) is imported with it, the word is looked up among those of its set. Files without `sent-` may hold
sentences too, so an example is taken for a word only if it looks like one.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importers.contents import line_of, parse_json
from senseprobe.importers.notes import LeftOut, Notes, check_count, check_sentence
from senseprobe.importers.sentence_pairs import as_span, inflected_forms, is_english
from senseprobe.importers.sources import Row, Source, Table, excerpt, id_part
from senseprobe.records import Design, Factor

KEYS = {"category", "examples"}
ROLES = {"targ1": "X", "targ2": "Y", "attr1": "A", "attr2": "B"}
COLUMNS = ("category", "source_file", "source_line")
CONFIG = "tests"
SENTENCES = "sent-"
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
MAX_WORDS = 3
"""The most words of a name, of a group or a person, that still counts as a word."""

Sets = Mapping[str, Mapping[str, Any]]


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """Read one config, with a column `test`; its levels are the words, or the sentences where a word is missing."""
    stems = Counter(source.stem.lower() for source in sources)  # what follows a dot is not part of a test's name
    if twice := [source.name for source in sources if stems[source.stem.lower()] > 1]:
        raise ReleaseError(f"{twice[0]} and {twice[1]} would be the same test: rename one of them")
    tests = {source.stem.lower(): _sets(source, notes) for source in sources}
    rows: list[Row] = []
    for source in sources:
        examples = [*_rows(source, tests, notes)]
        check_count(len(rows) + len(examples), source.name)
        roles = Counter(row["role"] for row in examples)
        sizes = f" ({', '.join(f'{role} {roles[role]}' for role in ROLES.values())})" if examples else ""
        notes.add_fact(source, f"{len(examples)} examples{sizes}")
        rows += examples
    if not rows:
        return []
    level = "word" if all(row["word"] for row in rows) else "sentence"
    design = Design(
        kind="association",
        sense_type="",
        bias_type="several",
        slots=(),
        roles={"sentence": {}},
        factors=(Factor(name=level, columns=(level,)),),
        columns=tuple((name, "string") for name in COLUMNS),
    )
    return [Table(CONFIG, "Words or sentences of the sets of association tests.", design, rows, unit="members")]


def _sets(source: Source, notes: Notes) -> Sets:
    whole = parse_json(source)
    sets: dict[str, Any] = {key: whole.get(key) if isinstance(whole, dict) else None for key in ROLES}
    for key, content in sets.items():
        if not isinstance(content, dict) or not isinstance(content.get("examples"), list):
            raise ReleaseError(f"{source.name}: lacks {key} with a list of examples: is it another format?")
    if other := [*({*whole} - {*ROLES}), *(f"{key}.{name}" for key in ROLES for name in {*sets[key]} - KEYS)]:
        notes.leave_out(source, 0, f"what the format does not have: {excerpt(', '.join(sorted(other)))}")
    return sets


def _rows(source: Source, tests: Mapping[str, Sets], notes: Notes) -> Iterator[Row]:
    test = source.stem.lower()
    sets, has_sentences, unknown = tests[test], test.startswith(SENTENCES), 0
    word_sets = tests.get(test.removeprefix(SENTENCES), {}) if has_sentences else {}
    for key, role in ROLES.items():
        words_by_form = _words_by_form(word_sets.get(key, {}), inflects=is_english(source.language))
        for row in _set_rows(source, role, sets[key], notes):
            text = row["sentence"]
            word, position = _find_longest(text, words_by_form)
            if not has_sentences and _is_word(text):
                word, position = text, (0, len(text))
            unknown += word is None
            yield {**row, "word": word, "span": as_span(position)}
    sizes = {key: len(sets[key]["examples"]) for key in ("targ1", "targ2")}
    if len({*sizes.values()}) > 1:
        notes.keep(source, 0, f"targets of unequal size: {sizes['targ1']} and {sizes['targ2']}")
    if unknown:
        what = "import the test of the words with it" if has_sentences else "they are no words themselves"
        notes.keep(source, 0, f"{unknown} sentences whose word is not known: {what}")


def _is_word(example: str) -> bool:
    """Return whether an example is a word or a short name, and not a sentence, which is longer or ends as one."""
    return len(example.split()) <= MAX_WORDS and not example.endswith((".", "!", "?"))


def _set_rows(source: Source, role: str, content: Mapping[str, Any], notes: Notes) -> Iterator[Row]:
    category = content.get("category")
    fits = isinstance(category, str) and len(category) <= 200 and category.isprintable()
    if not fits:
        notes.keep(source, line_of(category), f"{role}: its category is no text of a fit length, and is left empty")
    seen: dict[str, int] = {}
    for number, example in enumerate(content["examples"], start=1):
        name, line = f"{role} example {number}: ", line_of(example if isinstance(example, str) else category)
        with notes.leaving_out(source, line, name):
            if not isinstance(example, str):
                raise LeftOut("no text")
            check_sentence(example)
            text = example.strip()
            if (earlier := seen.setdefault(text, number)) != number:
                notes.keep(source, line, f"{name}the same as example {earlier}")
            yield {
                "id": f"{CONFIG}.{id_part(source.stem)}.{role.lower()}.{number}",
                "test": source.stem,
                "role": role,
                "sentence": text,
                "category": category if fits else None,
                "source_file": source.name,
                "source_line": str(line),
            }


def _words_by_form(content: Mapping[str, Any], *, inflects: bool) -> dict[str, str]:
    """Return the words of a set by their forms, singular and plural where they are inflected, in lower case."""
    words = [word.strip() for word in content.get("examples", ()) if isinstance(word, str) and len(word) < 100]
    words_by_form: dict[str, str] = {}
    for word in filter(_is_word, words):
        for form in inflected_forms(word, verbal=False) if inflects else [word]:
            words_by_form.setdefault(form.casefold(), word)
    return words_by_form


def _find_longest(sentence: str, words_by_form: Mapping[str, str]) -> tuple[str | None, tuple[int, int] | None]:
    """Return the longest word of the set and where it stands; None where there is none, or two of that length."""
    matches: list[tuple[str, tuple[int, int]]] = []
    tokens = list(_WORD.finditer(sentence)) if words_by_form else []
    for size in range(1, MAX_WORDS + 1):
        for first, last in zip(tokens, tokens[size - 1 :], strict=False):
            if word := words_by_form.get(sentence[first.start() : last.end()].casefold()):
                matches.append((word, (first.start(), last.end())))
    longest = max((len(word) for word, _ in matches), default=0)
    best = [match for match in matches if len(match[0]) == longest]
    return best[0] if len(best) == 1 else (None, None)
