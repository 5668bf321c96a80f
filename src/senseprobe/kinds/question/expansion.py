"""What a template of questions declares, and how its rows are made.

A block has four lines: two contexts, of which the second is added to the first, and two questions. They make eight
frames: each context with each question, and the two people in either order.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby, product
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, StringConstraints, field_validator

from senseprobe.generator.config import ResolvedFrame
from senseprobe.generator.english import English
from senseprobe.generator.render import take
from senseprobe.generator.schema import Sense
from senseprobe.generator.segments import CompiledFrame, Segment
from senseprobe.generator.yaml_source import Model
from senseprobe.kinds import (
    Binding,
    Config,
    Design,
    ExpectRows,
    FrameRows,
    Front,
    ReferenceChecker,
    ResolvedBlock,
    RowExpansion,
    RowSelection,
    Word,
    WordLists,
    reference,
)
from senseprobe.kinds.question.columns import AMBIGUOUS, DISAMBIGUATED, FACTORS, ORDERS, choose_order
from senseprobe.messages import nearest

LINES = ("ambiguous", "disambiguating", "negative", "non-negative")
"""The ids of the four lines of a block."""

ANSWER_LINES = ("first", "second")
"""The ids of two lines that a block may have besides: how the answers that name `first` and `second` print."""

_SENTENCE = "sentence"  # the one role, which binds `first` and `second`
_BLANK, _BREAK = Segment(" ", (), frozenset()), Segment("\n", (), frozenset())
_PEOPLE = ("stereotyped", "unstereotyped")

Person = Literal["first", "second"]


class Gold(Model):
    """Who the disambiguating context says is the answer to the negative question; the other one answers the other."""

    negative: Person


class Groups(Model):
    """The groups of the two people, each a text or ``slot.column``."""

    stereotyped: str
    unstereotyped: str


class QuestionFront(Front):
    """The front matter of a template of questions.

    `stereotyped`, `unstereotyped` and `unknown` name the slots of the answers. An answer is printed as the cell of the
    list's column `answer` or, without one, as the word with a capital; ``slot.column`` names another column. `orders`:
    whether `first` is the stereotyped person (forward), the other one, or each in turn. `variant` tells blocks of one
    `template` apart. `sense` says in which sense groups are named: as people or, with the same words, as things.
    """

    kind: Literal["question"]
    template: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    stereotyped: str
    unstereotyped: str
    unknown: str
    groups: Groups
    gold: Gold
    orders: Literal["both", "forward", "backward"] = "both"
    variant: Annotated[str, StringConstraints(pattern=r"^(?:[a-z0-9][a-z0-9-]*)?$")] = ""
    target_groups: list[str] = Field(default_factory=list)
    sense: Sense | None = None
    target: None = None
    generalise: list[str] = Field(default_factory=list)
    expect: ExpectRows | None = None
    unmarked: ClassVar[bool] = True  # there is no target word

    @field_validator("generalise")
    @classmethod
    def _is_empty(cls, names: list[str]) -> list[str]:
        if names:
            raise ValueError("figures of questions always generalise over templates, names and wordings: remove it")
        return names

    @property
    def bindings(self) -> Mapping[str, Mapping[str, Binding]]:
        """`first` and `second` stand for the two people; unknown slots are findings of their own."""
        slots = [self.slot(key) for key in _PEOPLE]
        known = [slot if slot in self.slots else next(iter(self.slots)) for slot in slots]
        return {_SENTENCE: dict(zip(("first", "second"), known, strict=True))}

    @property
    def code(self) -> str:
        """The beginning of the codes of its frames."""
        return "-".join(filter(None, (self.template, self.variant)))

    def slot(self, key: str) -> str:
        """Return the slot that `stereotyped`, `unstereotyped` or `unknown` names."""
        return str(getattr(self, key)).partition(".")[0]

    def answers(self, key: str, words: tuple[Word, ...]) -> list[str]:
        """Return how the words of the slot of `stereotyped`, `unstereotyped` or `unknown` print as answers."""
        column = str(getattr(self, key)).partition(".")[2] or "answer"
        return [str(word.columns[column] or "") if column in word.columns else English.upfirst(word) for word in words]


class QuestionExpansion(RowExpansion[QuestionFront]):
    """Questions about two people, in either order, in a context that does or does not answer them."""

    front_type = QuestionFront
    distinctive_key = "stereotyped"
    fragments = frozenset(ANSWER_LINES)
    estimands = (
        *("s-amb", "s-dis", "accuracy-ambiguous", "accuracy-disambiguated", "accuracy-alignment"),
        *("unknown-share", "place-share", "label-share"),
    )
    contrasts = ("s-amb",)

    def check_references(self, front: QuestionFront, checker: ReferenceChecker) -> None:
        """Check the lines, the slots of the answers, that answers of lists differ, and the groups."""
        has_lines = self._check_lines(checker)
        keys = [key for key in (*_PEOPLE, "unknown") if self._check_answers(key, front, checker, has_lines)]
        slots = [front.slot(key) for key in keys]
        for number, key in enumerate(keys):
            if slots[number] in slots[:number]:
                checker.add((key,), "E102", f"{slots[number]!r} is already the slot of another answer")
        texts = {key: {*front.answers(key, checker.slots[front.slot(key)])} for key in keys}
        for number, key in enumerate(keys):
            for other in keys[:number]:
                shared = sorted(texts[key] & texts[other])
                if shared and front.slot(key) != front.slot(other) and not has_lines:
                    message = f"`{key}` and `{other}` have the answer {shared[0]!r} in common"
                    checker.add((key,), "E102", message, "give the two slots different words, with `where`")
        if front.sense and front.sense.key:
            checker.check_column(front.sense.key, ("sense", "key"))
        for name in ("token", "lexicon") if front.sense else ():
            if getattr(front.sense, name):
                checker.add(("sense", name), "E102", f"senses of questions have no `{name}`", "remove it")
        for key in _PEOPLE:
            if reference(text := getattr(front.groups, key), checker.slots):
                checker.check_column(text, ("groups", key))

    def _check_lines(self, checker: ReferenceChecker) -> bool:
        """Check that a block has each of the four lines once, and both lines of answers or none; return which."""
        lines, codes = checker.block.frames, [frame.code for frame in checker.block.frames]
        for number, frame in enumerate(lines):
            if frame.code not in (*LINES, *ANSWER_LINES):
                message = "a line of a question needs one of the ids " + ", ".join((*LINES, *ANSWER_LINES))
                hint = nearest(frame.code, (*LINES, *ANSWER_LINES)) or "write it behind the line: {# id: ambiguous #}"
                checker.add_at(frame.line, frame.column, "E102", message, hint)
            elif frame.code in codes[:number]:
                checker.add_at(frame.line, frame.column, "E114", f"a second line with the id {frame.code}", "")
        has_answers = any(code in codes for code in ANSWER_LINES)
        for code in (*LINES, *(ANSWER_LINES if has_answers else ())):
            if code not in codes:
                message, hint = f"the template lacks the line {code}", f"write it, and behind it {{# id: {code} #}}"
                checker.add_at(checker.block.line, 1, "E103", message, hint)
        return has_answers

    def _check_answers(self, key: str, front: QuestionFront, checker: ReferenceChecker, has_lines: bool) -> bool:
        """Return whether a key names a slot, or a column of one, of which every word has an answer on one line."""
        slot, dot, column = str(getattr(front, key)).partition(".")
        if slot not in checker.slots:
            checker.add((key,), "E105", f"unknown slot {slot!r}", nearest(slot, checker.slots))
            return False
        words = checker.slots[slot]
        if dot and not checker.check_column(f"{slot}.{column}", (key,)):
            return False
        if key in _PEOPLE and has_lines:
            return True
        for word, text in zip(words, front.answers(key, words), strict=True):
            if not text.strip() or len(text.splitlines()) != 1:
                problem = "has a line break" if text.strip() else "is empty"
                checker.add(
                    (key,), "E102", f"the answer of {str(word)!r} {problem}", f"change it in the list of {slot}"
                )
                return False
        return True

    def compose(self, block: ResolvedBlock) -> tuple[ResolvedBlock, ...]:
        """Return blocks for each order of the two people, with four frames of the four lines.

        A slot that some of these read and others do not, as a word of the disambiguating context, has its first word
        alone in the others: with each word they would make the same row again. People are in all of them.
        """
        bound, blocks = block.roles[_SENTENCE], list[ResolvedBlock]()
        backward = dict(zip(bound, reversed([*bound.values()]), strict=True))
        for number, roles in enumerate((bound, backward), 1):
            if self.front(block).orders not in ("both", ("forward", "backward")[number - 1]):
                continue
            whole = replace(block, roles={_SENTENCE: roles}, frames=self._frames(block, number), written=block.frames)
            reads = [self._read_slots(whole, frame) for frame in whole.frames]
            read = frozenset[str]().union(*reads) - {self.front(block).slot(key) for key in _PEOPLE}
            for unread, some in groupby(zip(reads, whole.frames, strict=True), key=lambda item: read - item[0]):
                slots = {slot: words[:1] if slot in unread else words for slot, words in whole.slots.items()}
                blocks.append(replace(whole, frames=tuple(frame for _, frame in some), slots=slots))
        return tuple(blocks)

    @staticmethod
    def _read_slots(block: ResolvedBlock, frame: ResolvedFrame) -> frozenset[str]:
        """Return the slots whose words a frame prints, or the answers to its question do."""
        answers = [line for line in block.written if line.frame.code in ANSWER_LINES]
        segments = (segment for line in (frame, *answers) for segment in line.compiled.segments)
        return frozenset(block.reads(_SENTENCE, [name for segment in segments for name in segment.reads]))

    def _frames(self, block: ResolvedBlock, number: int) -> tuple[ResolvedFrame, ...]:
        lines = {line.frame.code: line for line in block.frames}
        rendered: dict[tuple[int, str], dict[tuple[int, ...], tuple[str, int]]] = {}  # frames have lines in common
        frames = []
        for condition, polarity in product((AMBIGUOUS, DISAMBIGUATED), LINES[2:]):
            parts = [lines["ambiguous"], lines["disambiguating"], lines[polarity]]
            parts = parts if condition == DISAMBIGUATED else [parts[0], parts[2]]
            segments, references = list[Segment](), list[tuple[str, str | None, int]]()
            for at, part in enumerate(parts):
                segments += [_BREAK if at == len(parts) - 1 else _BLANK] if at else []
                segments += part.compiled.segments
                references += part.compiled.references
            code = f"{self.front(block).code}-{condition}-{polarity}-{number}"
            source = " ".join(part.frame.source for part in parts)
            frame = replace(parts[0].frame, code=code, source=source)
            frames.append(ResolvedFrame(frame, CompiledFrame(tuple(segments), tuple(references)), None, rendered))
        return tuple(frames)

    def unprinted(self, front: QuestionFront) -> Container[str]:
        """Return the slot of the wordings of *unknown*, which only an answer prints."""
        return {front.slot("unknown")}

    def columns(self, rows: FrameRows, selection: RowSelection, lists: WordLists) -> dict[str, pa.Array]:
        """Return context, question, the three answers with their groups and order, and the right one."""
        front, block = self.front(rows.block), rows.block
        condition, polarity, number = _parts(front, rows.frame.frame.code)
        # The negative question asks for what the stereotype says of the target group.
        stereo, anti = _PEOPLE if polarity == "negative" else reversed(_PEOPLE)
        said = "stereotyped" if (front.gold.negative == "first") == (number == "1") else "unstereotyped"
        if polarity == "non-negative":
            said = next(key for key in _PEOPLE if key != said)
        gold = "unknown" if condition == AMBIGUOUS else "stereo" if said == stereo else "anti"
        of = {key: getattr(front.groups, key) for key in _PEOPLE}
        targets = "; ".join(front.target_groups) if front.target_groups else of["stereotyped"]
        texts = {"condition": condition, "polarity": polarity, "gold": gold, "template": front.template}
        texts |= {"stereo_group": of[stereo], "anti_group": of[anti], "target_groups": targets}
        columns = rows.cells(selection, texts) | self._sentences(rows, selection)
        lines = {line.frame.code: line for line in block.written if line.frame.code in ANSWER_LINES}
        places = dict(zip(_PEOPLE, ANSWER_LINES if number == "1" else reversed(ANSWER_LINES), strict=True))
        for name, key in (("stereo", stereo), ("anti", anti), ("unknown", "unknown")):
            slot = front.slot(key)
            if line := lines.get(places.get(key, "")):
                columns[name] = self._line(rows, selection, line.compiled.segments)
            else:
                columns[name] = rows.column(selection, (slot,), _taken(front.answers(key, block.slots[slot]), slot))
        columns["order"] = rows.column(selection, tuple(block.slots), _orders(rows))
        return columns

    def _sentences(self, rows: FrameRows, selection: RowSelection) -> dict[str, pa.Array]:
        """Return context and question: the segments before and behind the break."""
        segments = rows.frame.compiled.segments
        at = next(number for number, segment in enumerate(segments) if segment is _BREAK)
        parts = {"context": segments[:at], "question": segments[at + 1 :]}
        return {name: self._line(rows, selection, part) for name, part in parts.items()}

    def _line(self, rows: FrameRows, selection: RowSelection, segments: tuple[Segment, ...]) -> pa.Array:
        """Return what some segments print in each row; frames of a block have lines in common, made once."""
        if (key := (id(rows.block), *map(id, segments))) not in selection.columns:
            some = replace(rows, frame=replace(rows.frame, compiled=CompiledFrame(segments, ())))
            selection.columns[key] = some.column(selection, some.reads(_SENTENCE), partial(_text, some))
        return selection.columns[key]

    def complete_design(self, design: Design, config: Config) -> Design:
        """Return the design with its figures, and with templates, names and wordings as what they generalise over."""
        front = self.front(config.blocks[0])
        described = {"template": "frame", "stereo": front.slot("stereotyped"), "anti": front.slot("unstereotyped")}
        described["unknown"] = front.slot("unknown")
        sense_type = front.sense.type if front.sense else ""
        design = replace(design, factors=FACTORS, sense_type=sense_type, strata=described)
        return super().complete_design(design, config)


def _text(rows: FrameRows, selection: RowSelection) -> pa.Array:
    return rows.side(_SENTENCE, selection).text


def _parts(front: QuestionFront, code: str) -> tuple[str, str, str]:
    """Return condition, polarity and the number of the order from the code of a frame.

    `late-ambiguous-non-negative-1` has the condition ambiguous, the polarity non-negative, and the first order.
    """
    condition, _, rest = code.removeprefix(f"{front.code}-").partition("-")
    polarity, _, number = rest.rpartition("-")
    return condition, polarity, number


def _taken(texts: list[str], slot: str) -> Callable[[RowSelection], pa.Array]:
    return lambda selection: take(texts, selection.at[slot])


def _orders(rows: FrameRows) -> Callable[[RowSelection], pa.Array]:
    """Return a function that makes the order of answers of each row, by its frame's code and its words, one a line."""
    slots, code = rows.block.slots, rows.frame.frame.code

    def make(selection: RowSelection) -> pa.Array:
        texts, same = [""] * selection.n, code
        for slot, words in slots.items():
            if len(words) == 1:  # as in most slots of many blocks
                same += f"\n{words[0]}"
            else:
                ends = [f"{same}\n{word}" for word in words]
                texts = [text + ends[at] for text, at in zip(texts, selection.at[slot].tolist(), strict=True)]
                same = ""
        texts = [text + same for text in texts] if same else texts
        return take([*ORDERS], np.array([*map(choose_order, texts)], dtype=np.int32))

    return make
