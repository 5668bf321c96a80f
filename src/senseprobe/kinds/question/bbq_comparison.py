"""Compares the rows that a project made of BBQ's templates expands to with the published rows, text by text."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.generator.dataset import open_dataset, open_word_lists
from senseprobe.kinds.question.bbq import POLARITIES
from senseprobe.kinds.question.bbq_people import Cast, Question, find_casts, find_roles
from senseprobe.kinds.question.bbq_published import PublishedRow
from senseprobe.kinds.question.bbq_templates import ANSWERS, LINES
from senseprobe.kinds.question.bbq_texts import PLACEHOLDER, TextError
from senseprobe.kinds.question.bbq_vocabulary import Vocabulary, read_lists
from senseprobe.messages import counted, printable
from senseprobe.project import Layer

_DRAWN = "other people were drawn"
_NO_SIDE = "both people or neither are of a stereotyped group"
_ODD = "no template says why"
_EXAMPLES = 3
_CONDITIONS = {"ambig": ("ambiguous",), "disambig": ("ambiguous", "disambiguating")}


@dataclass(frozen=True)
class TemplateTexts:
    """A template's texts with placeholders, and the texts that may stand in their places."""

    question: Question
    vocabulary: Vocabulary
    _patterns: dict[tuple[str, str], re.Pattern[str]] = field(default_factory=dict, compare=False, repr=False)

    def parts(self, row: PublishedRow) -> tuple[str, str]:
        """Return context and question of the template for the condition and the polarity of a row."""
        texts = [self.question.cells[LINES[name]].strip() for name in _CONDITIONS[row.condition]]
        return " ".join(texts), self.question.cells[LINES[POLARITIES[row.polarity]]].strip()

    def has_drawn_words(self, row: PublishedRow) -> bool:
        """Return whether a row has a word that was drawn from a list, in its texts or answers."""
        texts = (*self.parts(row), *(self.question.cells[column] for column in ANSWERS))
        return any(name.startswith("WORD") for text in texts for name in PLACEHOLDER.findall(text))

    def find_people(self, row: PublishedRow) -> tuple[str, str] | None:
        """Return the people of a row whose texts are the template's with words of the vocabulary; None of any other."""
        key = (row.condition, row.polarity)
        if key not in self._patterns:
            self._patterns[key] = re.compile(self._pattern("\n".join(self.parts(row))))
        match = self._patterns[key].fullmatch(f"{row.context}\n{row.question}")
        if not match:
            return None
        named = match.groupdict()
        return named.get("NAME1", ""), named.get("NAME2", "")

    def _pattern(self, text: str) -> str:
        texts, named = list[str](), set[str]()
        for number, part in enumerate(PLACEHOLDER.split(text)):
            if number % 2 == 0:
                # BBQ mends articles, and makes a lesbian man a woman, in the whole text.
                literal = re.sub(r"(?<=\\ )([aA])(?=\\ |$)", r"\1n?", re.escape(part))
                texts.append(re.sub(r"(?<=^\\ )man", "(?:wo)?man", literal))
            elif part in named:
                texts.append(f"(?:(?P={part})|Latin[ao])" if part.startswith("NAME") else f"(?P={part})")
            else:
                named.add(part)
                texts.append(f"(?P<{part}>{self._choices(part)})")
        return "".join(texts)

    def _choices(self, placeholder: str) -> str:
        question, names = self.question, self.vocabulary.names
        kind = placeholder[:-1]
        if kind == "WORD":
            words = [*read_lists(question.cell("Lexical_diversity"))[0].get(placeholder, ())]
        elif kind != "NAME":
            words = [word for some in find_roles(question, self.vocabulary).values() for word in some]
        elif question.is_named:
            last = "|".join(re.escape(name.name) for name in names if name.part == "last")
            first = "|".join(re.escape(name.name) for name in names if name.part != "last")
            return f"(?:{first})(?: (?:{last}))?" if last else f"(?:{first})"
        else:
            lists = read_lists(question.cell("Names"))[0]
            words = [*lists.get(placeholder, ())] or [word.word for word in self.vocabulary.words] + ["Latina"]
        # Of "a one percenter" BBQ makes "an one percenter".
        escaped = map(re.escape, sorted(words, key=len, reverse=True))
        return "|".join(re.sub(r"^a(?=\\ [aeiou])", "an?", word) for word in escaped) or "(?!)"


def compare_rows(
    project: Path, published: Mapping[str, Sequence[PublishedRow]], templates: Iterable[TemplateTexts]
) -> Iterator[str]:
    """Yield sentences on the published rows of each category: how many come out of a project, and why others do not.

    A row comes out where the project has a row with its context, its question and its two people as answers. The
    wording of *unknown* and the order of answers are drawn for each row, and not compared.
    """
    layer = Layer(project)
    dataset = open_dataset(layer.templates / "bbq", open_word_lists(layer))
    configs = {config.name: config for config in dataset.configs}
    by_question: dict[tuple[str, str, str], list[TemplateTexts]] = {}
    for each in templates:
        key = (each.question.category, each.question.cell("Q_id"), each.question.cell("version"))
        by_question.setdefault(key, []).append(each)
    wholes, examples = Counter[str](), list[str]()
    for category, rows in published.items():
        if config := configs.get(category.lower()):
            present = _present(rows, dataset.rows(config))
            counts, odd = _count(category, rows, present, by_question)
            examples += odd
            wholes += counts
            yield f"{category}: {_sentence(counts)}"
    if wholes:
        yield f"All: {_sentence(wholes)}"
    yield from (f"no reason known: {printable(text)[:200]}" for text in examples[:_EXAMPLES])


def _key(row: PublishedRow) -> str:
    return "\n".join([row.context, row.question, *sorted(row.people)])


def _present(rows: Sequence[PublishedRow], batches: Iterable[pa.RecordBatch]) -> set[str]:
    """Return the keys of published rows that are among those of a config."""
    wanted, present = pa.array(sorted({_key(row) for row in rows}), pa.string()), set[str]()
    for batch in batches:
        texts = [batch[name].cast(pa.string()) for name in ("context", "question", "stereo", "anti")]
        swapped = pc.greater(texts[2], texts[3])
        people = [pc.if_else(swapped, texts[3], texts[2]), pc.if_else(swapped, texts[2], texts[3])]
        keys = pc.binary_join_element_wise(*texts[:2], *people, "\n")
        present.update(wanted.filter(pc.is_in(wanted, value_set=keys)).to_pylist())
    return present


def _count(
    category: str,
    rows: Sequence[PublishedRow],
    present: set[str],
    by_question: Mapping[tuple[str, str, str], Sequence[TemplateTexts]],
) -> tuple[Counter[str], list[str]]:
    """Return how many rows were drawn how, come out, and do not for which reason, and texts without a reason."""
    counts, odd = Counter[str](), list[str]()
    drawn: dict[tuple[str, str], str] = {}
    for row in rows:
        some = by_question.get((category, row.question_index, row.version), ())
        key = (row.question_index, row.version)
        if key not in drawn:
            drawn[key] = _people_drawn(some)
        how = "people" if drawn[key] else "words" if any(each.has_drawn_words(row) for each in some) else "alone"
        counts["rows"] += 1
        counts[how] += 1
        if _key(row) in present:
            counts["out"] += 1
            counts[f"{how} out"] += 1
            continue
        reason = _reason(row, some, drawn[key])
        counts[reason] += 1
        if reason == _ODD:
            odd.append(f"{category} {row.question_index}: {row.context} {row.question}")
    texts = {f"{row.context}\n{row.question}": _key(row) in present for row in rows}
    counts["texts"], counts["texts out"] = len(texts), sum(texts.values())
    return counts, odd


def _people_drawn(templates: Sequence[TemplateTexts]) -> str:
    """Return whether BBQ draws a template's people: of lists that are complete here, of more, or not at all."""
    casts = list[Cast]()
    for each in templates:
        try:
            casts += find_casts(each.question, each.vocabulary)
        except TextError:
            continue
    if not any(cast.drawn for cast in casts):
        return ""
    return "complete" if all(cast.complete for cast in casts) else "part"


def _reason(row: PublishedRow, templates: Sequence[TemplateTexts], drawn: str) -> str:
    for each in templates:
        if not (people := each.find_people(row)):
            continue
        if drawn == "part":
            return _DRAWN
        groups = {word.word: word.group for word in each.vocabulary.words}
        if all(name in groups for name in people):
            sides = {each.question.is_target(groups[name]) for name in people}
            if len(sides) == 1:
                return _NO_SIDE
    return _ODD


def _sentence(counts: Counter[str]) -> str:
    """Return what is counted, in words."""
    kinds = {"alone": "of templates alone", "words": "with drawn words", "people": "with drawn people"}
    made = ", ".join(
        f"{counts[how]:,} {text} ({counts[f'{how} out']:,} come out)" for how, text in kinds.items() if counts[how]
    )
    reasons = "; ".join(f"{counts[reason]:,} not: {reason}" for reason in (_DRAWN, _NO_SIDE, _ODD) if counts[reason])
    text = f"{counted(counts['rows'], 'published row')}: {made}"
    text += f"; {counts['texts out']:,} of {counts['texts']:,} texts come out"
    return f"{text}; {reasons}" if reasons else text
