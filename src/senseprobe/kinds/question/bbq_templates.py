"""Reads the published templates of BBQ: a file for each category, with a template on each row."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from senseprobe.importers.notes import Notes
from senseprobe.importers.sources import Source
from senseprobe.kinds.question.bbq_people import Cast, Question, find_casts
from senseprobe.kinds.question.bbq_texts import PLACEHOLDER, Fill, TextError, write_line
from senseprobe.kinds.question.bbq_vocabulary import Vocabulary, read_lists
from senseprobe.messages import unprintable

FILE_NAME = re.compile(r"new_templates - ([A-Za-z_]{1,40})\.csv")
"""The names of the files, with the category."""

LINES = {
    "ambiguous": "Ambiguous_Context",
    "disambiguating": "Disambiguating_Context",
    "negative": "Question_negative_stereotype",
    "non-negative": "Question_non_negative",
}
ANSWERS = ("Answer_negative", "Answer_non_negative")
_PLACES = ("first", "second")
_SIDES = {"forward": ("target", "other"), "backward": ("other", "target"), "both": ("target", "other")}


@dataclass(frozen=True, slots=True)
class TemplateBlock:
    """A block of a question template: a row of BBQ's file, or two with the same texts and people in other places.

    - `template`, `variant`: its id, that of the question, and what tells its blocks apart; `line`: of the file.
    - `lines`: the two contexts, the two questions, and how answers that name the first or second person print.
    - `gold`: whom the negative question asks for: first or second. `words`: by slot, of which BBQ draws one.
    """

    template: str
    variant: str
    line: int
    target_groups: tuple[str, ...]
    cast: Cast
    words: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, str]
    gold: str

    @property
    def rows(self) -> int:
        """How many rows the block makes: pairs of people and words, as far as a row prints these."""
        pairs = len(self.cast.target) * len(self.cast.other) * max(1, len(self.cast.shared))
        rows = 0
        for contexts, question in product(
            (["ambiguous"], ["ambiguous", "disambiguating"]), ("negative", "non-negative")
        ):
            text = " ".join(self.lines[name] for name in (*contexts, question, *_PLACES))
            rows += pairs * prod(len(words) for slot, words in self.words.items() if re.search(rf"\b{slot}\b", text))
        return rows * (2 if self.cast.orders == "both" else 1)


def read_blocks(
    source: Source, questions: Iterable[tuple[int, Question]], vocabulary: Vocabulary, notes: Notes
) -> list[TemplateBlock]:
    """Return the blocks of a category's templates, which stand on some lines; what cannot be one is noted."""
    blocks: dict[tuple[object, ...], TemplateBlock] = {}
    for line, question in questions:
        try:
            for block in _row_blocks(question, vocabulary, line):
                people = (block.cast.target, block.cast.other, block.cast.shared, block.cast.outputs)
                texts = tuple(question.cell(column) for column in (*LINES.values(), *ANSWERS))
                same = (block.template, texts, str(people), str(block.words), block.gold)
                before = blocks.get(same)
                if before and {before.cast.orders, block.cast.orders} == {"forward", "backward"}:
                    blocks[same] = _make_block(question, replace(before.cast, orders="both"), before.line)
                else:
                    blocks[(*same, line) if before else same] = block
        except TextError as error:
            notes.leave_out(source, line, str(error))
        else:
            for oddity in _oddities(question):
                notes.keep(source, line, oddity)
    return _named(blocks.values())


def _row_blocks(question: Question, vocabulary: Vocabulary, line: int) -> Iterator[TemplateBlock]:
    for cast in find_casts(question, vocabulary):
        version = question.cell("version")
        variant = "-".join(filter(None, (version, cast.variant))).lower()
        yield _make_block(question, replace(cast, variant=variant), line)


def _make_block(question: Question, cast: Cast, line: int) -> TemplateBlock:
    gold = _find_gold(question)
    texts = {line_id: question.cells[column] for line_id, column in LINES.items()}
    answers = dict(zip(ANSWERS, (gold, *(place for place in _PLACES if place != gold)), strict=True))
    texts |= {place: question.cells[column] for column, place in sorted(answers.items(), key=lambda item: item[1])}
    printed = {name for text in texts.values() for name in PLACEHOLDER.findall(text)}
    lists = read_lists(question.cell("Lexical_diversity"))[0]
    words = {name.lower(): lists[name] for name in sorted(lists) if name in printed}
    fills = {name: Fill(name.lower(), texts, mends=False) for name, texts in lists.items()} | _fills(cast)
    lines = {}
    columns = {**LINES, **{place: column for column, place in answers.items()}}
    printable_lists = {"Lexical_diversity": "".join(word for some in words.values() for word in some)}
    for column, text in ({columns[line_id]: text for line_id, text in texts.items()} | printable_lists).items():
        if (odd := unprintable(text)) is not None:
            raise TextError(f"{column}: U+{ord(text[odd]):04X} does not print")
    for line_id, text in texts.items():
        try:
            lines[line_id] = write_line(text, fills)
        except TextError as error:
            raise TextError(f"{columns[line_id]}: {error}") from None
        if not lines[line_id]:
            raise TextError(f"{line_id}: the text is empty")
    number = re.sub(r"[^a-z0-9]+", "-", question.cell("Q_id").lower()).strip("-") or str(question.number + 1)
    template = f"{question.category.lower().replace('_', '-')}-{number}"
    return TemplateBlock(template, cast.variant, line, tuple(question.groups), cast, words, lines, gold)


def _find_gold(question: Question) -> str:
    """Return whom the negative question asks for, by the one person whom each answer names."""
    named = []
    for column in ANSWERS:
        numbers = {name[-1] for name in PLACEHOLDER.findall(question.cells[column]) if not name.startswith("WORD")}
        if len(numbers) != 1:
            raise TextError(f"{column} does not name just one of the two people")
        named.append(numbers.pop())
    if named[0] == named[1]:
        raise TextError("both answers name the same person")
    return "first" if named[0] == "1" else "second"


def _fills(cast: Cast) -> dict[str, Fill]:
    """Return what stands in for the placeholders of people, with all texts that stand there in its orders."""
    fills = dict[str, Fill]()
    for placeholder, output in cast.outputs.items():
        name, _, column = output.partition(".")
        if name == "shared":
            people = cast.shared
        else:
            sides = dict(zip(_PLACES, _SIDES[cast.orders], strict=True))
            people = (*cast.target, *cast.other) if cast.orders == "both" else getattr(cast, sides[name])
        texts = tuple(dict.fromkeys(getattr(person, column or "word") for person in people))
        names = (
            [placeholder] if placeholder.startswith("NAME") else [f"{kind}{placeholder[-1]}" for kind in ("GEN", "OCC")]
        )
        fills |= {each: Fill(output, texts) for each in names}
    return fills


def _oddities(question: Question) -> Iterator[str]:
    """Yield what is odd in the cells of a template that makes a block nevertheless."""
    for column in (*LINES.values(), *ANSWERS):
        text = question.cells[column]
        rest = PLACEHOLDER.sub("", text)
        if stray := re.search("[{}]", rest):
            yield f"{column}: a stray {stray[0]} is printed, as BBQ prints it"
        if "  " in text.strip():
            yield f"{column}: two blanks after one another"
        if column in ANSWERS and text != text.strip():
            yield f"{column}: blanks at the ends are removed; BBQ keeps them"
    for column in ("Names", "Lexical_diversity"):
        if (
            question.cell(column)
            and (odd := read_lists(question.cell(column))[1])
            and not question.cell(column).startswith("[")
        ):
            yield f"{column}: {odd}"


def _named(blocks: Iterable[TemplateBlock]) -> list[TemplateBlock]:
    """Return blocks whose variants tell those of one question apart; a question's only block needs none."""
    named: list[TemplateBlock] = []
    by_template: dict[str, list[TemplateBlock]] = {}
    for block in blocks:
        by_template.setdefault(block.template, []).append(block)
    for some in by_template.values():
        taken: set[str] = set()
        for number, block in enumerate(some, 1):
            variant = "" if len(some) == 1 else re.sub(r"[^a-z0-9]+", "-", block.variant).strip("-") or str(number)
            variant = variant if variant not in taken else f"{variant}-{number}"
            taken.add(variant)
            named.append(replace(block, variant=variant))
    return named
