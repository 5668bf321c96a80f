"""The tests of sent-bias (May et al. 2019): despite the name `.jsonl`, one JSON object in a file.

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
from senseprobe.importers.registry import ImportFormat
from senseprobe.importers.sentence_pairs import plurals, span
from senseprobe.importers.sources import Lines, Notes, Row, Source, Table, bounded, check_count, id_part, parse, shown
from senseprobe.records import Design, Factor

KEYS = {"category", "examples"}
ROLES = {"targ1": "X", "targ2": "Y", "attr1": "A", "attr2": "B"}
COLUMNS = ("category", "source_file", "source_line")
CONFIG = "tests"
SENTENCES = "sent-"
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
MAX_WORDS = 3
"""Of what is called a word here, as the name of a group or of a person."""

Sets = Mapping[str, Mapping[str, Any]]


def read(sources: Sequence[Source], notes: Notes) -> list[Table]:
    """One config, in which `test` tells the tests apart; words are its levels, or sentences where no word is known."""
    _check_names(sources)
    sets = {source.name: _sets(source, notes) for source in sources}
    words = {source.stem.lower(): sets[source.name] for source in sources if not _of_sentences(source)}
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


def _check_names(sources: Sequence[Source]) -> None:
    """ReleaseError where two files would be one test, as what follows a dot in a name is no part of the test's."""
    stems = Counter(source.stem.lower() for source in sources)
    if twice := [source.name for source in sources if stems[source.stem.lower()] > 1]:
        raise ReleaseError(f"{twice[0]} and {twice[1]} would be one test: rename one of them")


def _of_sentences(source: Source) -> bool:
    return source.stem.lower().startswith(SENTENCES)


def _sets(source: Source, notes: Notes) -> Sets:
    whole = parse(source)
    sets = {key: whole.get(key) for key in ROLES} if isinstance(whole, dict) else {}
    found = {
        key: told for key, told in sets.items() if isinstance(told, dict) and isinstance(told.get("examples"), list)
    }
    if len(found) != len(ROLES):
        missing = next(key for key in ROLES if key not in found)
        raise ReleaseError(f"{source.name}: has no {missing} with a list of examples: is it another format?")
    if other := [*({*whole} - {*ROLES}), *(f"{key}.{name}" for key in found for name in {*found[key]} - KEYS)]:
        notes.leave_out(source, 0, f"what the format does not have: {shown(', '.join(sorted(other)))}")
    return found


def _rows(source: Source, sets: Sets, words: Mapping[str, Sets], notes: Notes) -> Iterator[Row]:
    lines = Lines(source.text)
    of_words = words.get(source.stem.lower().removeprefix(SENTENCES), {}) if _of_sentences(source) else {}
    unknown = 0
    for key, role in ROLES.items():
        known = _known(of_words.get(key, {}))
        for row in _set(source, role, sets[key], lines, notes):
            single = not _of_sentences(source) and _is_word(row["sentence"])
            place = (0, len(row["sentence"])) if single else _place(row["sentence"], known)
            unknown += place is None
            word = known.get(row["sentence"][place[0] : place[1]].casefold()) if place and not single else None
            yield {**row, "word": row["sentence"] if single else word, "span": span(place)}
    sizes = {key: len(sets[key]["examples"]) for key in ("targ1", "targ2")}
    if len({*sizes.values()}) > 1:
        notes.keep(source, 0, f"targets of unequal size: {sizes['targ1']} and {sizes['targ2']}")
    if unknown:
        what = "import the test of the words with it" if _of_sentences(source) else "they are no words themselves"
        notes.keep(source, 0, f"{unknown} sentences whose word is not known: {what}")


def _is_word(example: str) -> bool:
    """Whether an example is a word, or a name of a few: no sentence, which is longer or ends as one."""
    return len(example.split()) <= MAX_WORDS and not example.endswith((".", "!", "?"))


def _set(source: Source, role: str, told: Mapping[str, Any], lines: Lines, notes: Notes) -> Iterator[Row]:
    category = told.get("category")
    fits = isinstance(category, str) and len(category) <= 200 and category.isprintable()
    if not fits:
        notes.keep(source, lines.of(category), f"{role}: its category is no text of a fit length, and is left empty")
    seen: dict[str, int] = {}
    for number, example in enumerate(told["examples"], start=1):
        name = f"{role} example {number}: "
        if not isinstance(example, str):
            notes.leave_out(source, lines.of(category), f"{name}no text")
            continue
        line = lines.of(example)
        if not notes.sentence(source, line, example, name):
            continue
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


def _known(told: Mapping[str, Any]) -> dict[str, str]:
    """The words of a set by their forms, singular and plural, in small letters."""
    words = [word.strip() for word in told.get("examples", ()) if isinstance(word, str) and len(word) < 100]
    known: dict[str, str] = {}
    for word in filter(_is_word, words):
        for form in plurals(word):
            known.setdefault(form.casefold(), word)
    return known


def _place(sentence: str, known: Mapping[str, str]) -> tuple[int, int] | None:
    """Where a known word is: the longest that is there; None where there is none, or twice, or two of a length."""
    if not known:
        return None
    tokens = list(_WORD.finditer(sentence))
    found: list[tuple[int, tuple[int, int]]] = []
    for size in range(1, MAX_WORDS + 1):
        for first, last in zip(tokens, tokens[size - 1 :], strict=False):
            if word := known.get(sentence[first.start() : last.end()].casefold()):
                found.append((len(word), (first.start(), last.end())))
    longest = max((length for length, _ in found), default=0)
    best = [place for length, place in found if length == longest]
    return best[0] if len(best) == 1 else None


def _sizes(rows: Sequence[Row]) -> str:
    counts = Counter(row["role"] for row in rows)
    return f" ({', '.join(f'{role} {counts[role]}' for role in ROLES.values())})" if rows else ""


FORMAT = ImportFormat(
    name="seat",
    title="Association tests of sent-bias (SEAT)",
    files="JSON files, each with the sets targ1, targ2, attr1 and attr2 of a test",
    paper=r"""@inproceedings{may2019,
  author    = {May, Chandler and Wang, Alex and Bordia, Shikha and Bowman, Samuel R. and Rudinger, Rachel},
  title     = {On Measuring Social Biases in Sentence Encoders},
  booktitle = {Proceedings of the 2019 Conference of the North American Chapter of the Association for Computational
               Linguistics: Human Language Technologies, Volume 1 (Long and Short Papers)},
  year      = {2019},
  url       = {https://aclanthology.org/N19-1063},
}
""",
    measured="Whether a model's vectors of two sets (X, Y) differ in how near they lie to two sets of attributes "
    "(A, B).",
    read=read,
)
