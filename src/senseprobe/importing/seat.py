"""The tests of sent-bias (May et al. 2019): despite the name `.jsonl`, one JSON object in a file.

It has the sets `targ1`, `targ2`, `attr1` and `attr2` (here X, Y, A and B), each with a category and its examples:
words, or sentences. A sentence does not say which word it is about; where the test of the words (`weat1` for
`sent-weat1`) is imported with it, the word is looked up among those of its set.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from senseprobe.errors import ReleaseError
from senseprobe.importing.jsontext import Lines, parse
from senseprobe.importing.pairs import span
from senseprobe.importing.sources import Notes, Source, slug
from senseprobe.importing.tables import Row, Table, bounded, check_count
from senseprobe.records import Design, Factor

__all__ = ["read"]

ROLES = {"targ1": "X", "targ2": "Y", "attr1": "A", "attr2": "B"}
COLUMNS = ("category", "source_file", "source_line")
CONFIG = "tests"
SENTENCES = "sent-"
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
MAX_WORDS = 6

Sets = Mapping[str, Mapping[str, Any]]


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """One config, in which `test` tells the tests apart; words are its levels, or sentences where no word is known."""
    sets = {source.name: _sets(source) for source in sources}
    words = {source.stem: sets[source.name] for source in sources if not source.stem.startswith(SENTENCES)}
    rows: list[Row] = []
    for source in sources:
        made = [*bounded(_rows(source, sets[source.name], words, notes), source.name)]
        notes.tell(source, f"{len(made)} examples{_sizes(made)}")
        rows += made
        check_count(len(rows), source.name)
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
    return [Table(CONFIG, "Words or sentences of the sets of association tests.", design, rows)]


def _sets(source: Source) -> Sets:
    whole = parse(source)
    sets = {key: whole.get(key) for key in ROLES} if isinstance(whole, dict) else {}
    found = {
        key: told for key, told in sets.items() if isinstance(told, dict) and isinstance(told.get("examples"), list)
    }
    if len(found) != len(ROLES):
        missing = next(key for key in ROLES if key not in found)
        raise ReleaseError(f"{source.name}: has no {missing} with a list of examples: is it another format?")
    return found


def _rows(source: Source, sets: Sets, words: Mapping[str, Sets], notes: Notes) -> Iterator[Row]:
    lines = Lines(source.text)
    of_words = words.get(source.stem.removeprefix(SENTENCES), {})
    unknown = 0
    for key, role in ROLES.items():
        known = _known(of_words.get(key, {}))
        single = source.stem.removeprefix(SENTENCES) == source.stem
        for row in _set(source, role, sets[key], lines, notes):
            place = (0, len(row["sentence"])) if single else _place(row["sentence"], known)
            unknown += place is None
            word = known.get(row["sentence"][place[0] : place[1]].casefold()) if place and not single else None
            yield {**row, "word": row["sentence"] if single else word, "span": span(place)}
    sizes = {key: len(sets[key]["examples"]) for key in ("targ1", "targ2")}
    if len({*sizes.values()}) > 1:
        notes.keep(source, 0, f"targets of unequal size: {sizes['targ1']} and {sizes['targ2']}")
    if unknown:
        notes.keep(source, 0, f"{unknown} sentences whose word is not known: import the test of the words with it")


def _set(source: Source, role: str, told: Mapping[str, Any], lines: Lines, notes: Notes) -> Iterator[Row]:
    category = told.get("category")
    fits = isinstance(category, str) and len(category) <= 200 and category.isprintable()
    seen: dict[str, int] = {}
    for number, example in enumerate(told["examples"], start=1):
        line = lines.of(example)
        if not isinstance(example, str):
            notes.leave_out(source, lines.of(category), f"example {number} of {role} is no text")
            continue
        if not notes.sentence(source, line, example):
            continue
        text = example.strip()
        if (earlier := seen.setdefault(text, line)) != line:
            notes.keep(source, line, f"the same example of {role} as in line {earlier}")
        yield {
            "id": f"{CONFIG}.{slug(source.stem, 'test')}.{role.lower()}.{number}",
            "test": source.stem,
            "role": role,
            "sentence": text,
            "category": str(category) if fits else None,
            "source_file": source.name,
            "source_line": str(line),
        }


def _known(told: Mapping[str, Any]) -> dict[str, str]:
    """The words of a set by their forms, singular and plural, in small letters."""
    words = [word.strip() for word in told.get("examples", ()) if isinstance(word, str) and len(word) < 100]
    forms: dict[str, str] = {}
    for word in words:
        small = word.casefold()
        plurals = (f"{small}s", f"{small}es", *([f"{small[:-1]}ies"] if small.endswith("y") else ()))
        for form in (small, *plurals):
            forms.setdefault(form, word)
    return forms


def _place(sentence: str, known: Mapping[str, str]) -> tuple[int, int] | None:
    """Where a known word is: the longest that is there; None where there is none, or two of a length."""
    if not known:
        return None
    tokens = list(_WORD.finditer(sentence))
    found: list[tuple[int, int]] = []
    for size in range(1, MAX_WORDS + 1):
        for first, last in zip(tokens, tokens[size - 1 :], strict=False):
            if sentence[first.start() : last.end()].casefold() in known:
                found.append((first.start(), last.end()))
    longest = max((end - start for start, end in found), default=0)
    best = [place for place in found if place[1] - place[0] == longest]
    return best[0] if len(best) == 1 else None


def _sizes(rows: Sequence[Row]) -> str:
    counts = Counter(row["role"] for row in rows)
    return f" ({', '.join(f'{role} {counts[role]}' for role in ROLES.values())})" if rows else ""
