"""What a check is, and what it looks at: a config and its frames, a dataset, a word list, or a folder of word lists.

A config is rendered once for all checks, in rows that show everything that each segment of a frame can print.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import jinja2
import numpy as np

from senseprobe.errors import DeclarationError, SenseprobeError
from senseprobe.generator import yaml_source
from senseprobe.generator.config import Config, ResolvedBlock, ResolvedFrame
from senseprobe.generator.english import English
from senseprobe.generator.expand import make_batch
from senseprobe.generator.kinds import EXPANSIONS
from senseprobe.generator.kinds.contrast import ContrastFront
from senseprobe.generator.product import Indices, RowSelection, digits
from senseprobe.generator.render import FrameRows, Side
from senseprobe.generator.schema import Dataset, Frame
from senseprobe.generator.segments import MAX_SENTENCE, Segment
from senseprobe.generator.word_lists import DESCRIPTOR, Cells, Word, WordList, WordLists
from senseprobe.messages import listed
from senseprobe.plugins import HERE, iterate_blamed
from senseprobe.records import Finding
from senseprobe.release.kinds import KINDS, CheckFunction

MOST_COMBINATIONS = 20_000
"""Combinations of words that are tried of one segment; of more, so many that each word is among them."""

MOST_ROWS = 5_000
"""Combinations of words that a check looks at; of more, it looks at so many that hold each word."""

Position = tuple[int, int]
"""A line and a column, both from 1."""


# ---- Subjects ----


@dataclass(frozen=True, eq=False)
class ConfigSubject:
    """A config in its dataset, with the lists that it sees; `english` answers checks, not frames."""

    dataset: Dataset
    config: Config
    lists: WordLists
    english: English = field(default_factory=English)

    @property
    def is_english(self) -> bool:
        """Return whether the dataset declares that its sentences are English: en, en-GB."""
        return any(language.lower().partition("-")[0] == "en" for language in self.dataset.card.languages)

    @cached_property
    def frames(self) -> "list[FrameSubject]":
        """Every line of the template that is a frame, in its block."""
        return [self._frame(block, line) for block in self.config.blocks for line in block.written or block.frames]

    @cached_property
    def row_frames(self) -> "list[FrameSubject]":
        """Every frame that makes rows, in its block: the lines, unless the kind puts several together."""
        return [self._frame(block, frame) for block in self.config.blocks for frame in block.frames]

    def _frame(self, block: ResolvedBlock, resolved: ResolvedFrame) -> "FrameSubject":
        frame = resolved.frame
        return FrameSubject(self, block, resolved, frame.source, (frame.line, frame.column), resolved.compiled.segments)

    @cached_property
    def labelled(self) -> "list[tuple[ResolvedBlock, list[LabelledRow]]]":
        """Each block with labels, which all its frames share, and rows of the first frame that are not contested."""
        fronts = ((block, block.block.front) for block in self.config.blocks)
        contrasts = (block for block, front in fronts if isinstance(front, ContrastFront) and front.has_labels)
        return [(block, _labelled_rows(self, block)) for block in contrasts]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield rows by column, as a release has them: of a frame with more than MOST_ROWS, so many with each word."""
        for block in self.config.blocks:
            for resolved in block.frames:
                rows, selection = FrameRows(self.config, block, resolved), pick_rows(block, tuple(block.slots))
                yield from make_batch(rows, selection, self.lists).to_pylist()

    def sources(self) -> dict[Frame, None]:
        """Return the frames as they are written, each once, though several blocks may have it."""
        return dict.fromkeys(frame for block in self.config.template.blocks for frame in block.frames)

    def finding(self, position: Position, code: str, message: str, hint: str = "") -> Finding:
        """Return a finding at a position of the config's template."""
        return finding_at(self.config.template.display_path, position, code, message, hint)


@dataclass(frozen=True, eq=False)
class FrameSubject:
    """A frame in a block of a config: its text, where it begins, and its segments."""

    config_subject: ConfigSubject
    block: ResolvedBlock
    resolved: ResolvedFrame
    source: str
    position: Position
    segments: tuple[Segment, ...]
    _sides: dict[str, Side] = field(default_factory=dict)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The column at which each segment begins."""
        return segment_columns(self.resolved)

    @property
    def names(self) -> list[str]:
        """The names that the segments read, in their order."""
        return [name for segment in self.segments for name in segment.reads]

    @cached_property
    def printable(self) -> frozenset[str]:
        """The names that the frame may print: of its block's slots, and of what its roles bind."""
        return frozenset(name for role in self.block.roles for name in self.block.names(role))

    def combinations(self, slots: Sequence[str]) -> Iterator[dict[str, Word]]:
        """Yield combinations of the words of these slots, as `pick_rows` picks them."""
        selection = pick_rows(self.block, slots)
        for row in zip(*(selection.at[slot].tolist() for slot in slots), strict=True) if slots else [()]:
            yield {slot: self.block.slots[slot][at] for slot, at in zip(slots, row, strict=True)}

    def render(self, role: str, segment: Segment, chosen: Mapping[str, Word]) -> tuple[str, str] | None:
        """Return the article that a segment prints in a role, and the text after it; None where rendering fails (E105).

        `chosen` gives the words of the slots on which the segment depends.
        """
        bound = self.block.names(role)
        values = {n: word if isinstance(word := bound[n], Word) else chosen[word] for n in segment.reads}
        try:
            text, article = segment.render(values)
        except (jinja2.TemplateError, TypeError):
            return None
        return text[:article], text[article:]

    def side(self, role: str) -> Side:
        """Return sentences of a role in which each segment of the frame prints everything that it can.

        There are as many as the segments have combinations of words, whatever the product of all slots. Raises
        DeclarationError where one cannot be rendered or is too long.
        """
        if role not in self._sides:
            rows = FrameRows(self.config_subject.config, self.block, self.resolved)
            selection = _covering_rows(self.block, self.resolved, role)
            side = self._sides[role] = rows.side(role, selection)
            if sum(int(piece.lengths.max()) for piece in side.pieces) > MAX_SENTENCE:
                rows.side(role, _longest_row(rows, role, selection, side))  # raises E108 where it is too long
        return self._sides[role]

    def sides(self) -> list[Side]:
        """Return the sentences of every role, as `side` does."""
        return [self.side(role) for role in self.block.roles]

    def finding(self, code: str, message: str, hint: str, column: int | None = None) -> Finding:
        """Return a finding in the frame, at its beginning or at a column of its line."""
        line, start = self.position
        return self.config_subject.finding((line, start if column is None else column), code, message, hint)


@dataclass(frozen=True, slots=True)
class DatasetSubject:
    """A dataset, with the lists that it sees, and those of its configs that can be resolved."""

    dataset: Dataset
    lists: WordLists
    configs: tuple[Config, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderSubject:
    """A folder of word lists; `declared` are the files that its descriptor names, as messages print them."""

    path: Path
    declared: frozenset[str]


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """The words of a row by slot, the target's word, and the words that the two roles bind."""

    words: tuple[str, ...]
    target: str | None
    stereo: str
    anti: str


def _labelled_rows(subject: ConfigSubject, block: ResolvedBlock) -> list[LabelledRow]:
    rows, selection = FrameRows(subject.config, block, block.frames[0]), pick_rows(block, tuple(block.slots))
    try:
        contrast = EXPANSIONS[subject.config.kind].columns(rows, selection, subject.lists)
    except DeclarationError:
        return []  # a sentence that cannot be rendered is a finding of its own, E105
    words = zip(*(rows.words(slot, selection).to_pylist() for slot in block.slots), strict=True)
    names = ("target", "stereo_value", "anti_value", "contested")
    columns = zip(words, *(contrast[name].to_pylist() for name in names), strict=True)
    return [LabelledRow(*values) for *values, contested in columns if not contested]


# ---- Checks ----

CheckT = TypeVar("CheckT", bound=Callable[..., Iterator[Finding]])


@dataclass(frozen=True, slots=True)
class Check:
    """A code, and the function that finds it in a type of subject; `lexicon` names the lexicon that it needs."""

    code: str
    subject: type
    run: Callable[..., Iterator[Finding]]
    lexicon: str = ""


_CHECKS: dict[tuple[str, str], Check] = {}


def check(code: str, lexicon: str = "") -> Callable[[CheckT], CheckT]:
    """Register a check of every subject of the type of its parameter; without its lexicon, it counts as not checked."""

    def register(run: CheckT) -> CheckT:
        subject, *_ = run.__annotations__.values()
        if (key := (code, subject.__name__)) in _CHECKS:
            raise ValueError(f"two checks with code {code}")
        _CHECKS[key] = Check(code, subject, run, lexicon)
        return run

    return register


def registered_checks() -> list[Check]:
    """Return all checks by code."""
    return [check for _, check in sorted(_CHECKS.items())]


def checks_of_kind(name: str) -> list[Check]:
    """Return the checks that a plug-in brings with its kind of rows, by code; none of ours.

    SenseprobeError, which names the check, where it fails or yields anything else than findings with its code.
    """
    kind = KINDS[name]
    return [Check(code, ConfigSubject, _blame(code, run, kind.origin)) for code, run in sorted(kind.checks.items())]


def _blame(code: str, run: CheckFunction, origin: str) -> Callable[[ConfigSubject], Iterator[Finding]]:
    def list_findings(subject: ConfigSubject) -> Iterator[Finding]:
        yield from run(subject)  # which a plug-in may have written without `yield`: it fails when it is called

    def run_blamed(subject: ConfigSubject) -> Iterator[Finding]:
        name = f"the check {code} of {origin or HERE}"
        for finding in iterate_blamed(list_findings(subject), f"{name} failed on {subject.config.name} with"):
            if not isinstance(finding, Finding) or finding.code != code:
                raise SenseprobeError(f"{name} yielded, for {subject.config.name}, no finding with its code")
            yield finding

    return run_blamed


# ---- Findings ----


def finding_at(path: str, position: Position, code: str, message: str, hint: str = "") -> Finding:
    """Return a finding at a position of a file."""
    return Finding(path=path, line=position[0], column=position[1], code=code, message=message, hint=hint)


def cell_finding(cells: Cells, word: Word, field_name: str, code: str, message: str, hint: str, at: int = 0) -> Finding:
    """Return a finding in the cell of a list that a word has in a field, `at` characters after its beginning."""
    position = word.line, cells.column(word, field_name) + at
    return finding_at(cells.words.display_path, position, code, message, hint)


def yaml_position(path: Path, *location: str | int) -> Position:
    """Return where a key of a YAML or JSON file stands, or what is nearest to it where it is not there."""
    return yaml_source.locate([yaml_source.read_mapping(path)], location)


def resource_position(words: WordList, *location: str | int) -> Position:
    """Return where a key of a list's resource stands in `datapackage.yaml`."""
    path = words.path.with_name(DESCRIPTOR)
    names = [resource["name"] for resource in yaml_source.read_mapping(path)["resources"]]
    return yaml_position(path, "resources", names.index(words.resource.name), *location)


def first_words(words: Sequence[str]) -> str:
    """Return the first three words in quotation marks, and how many more there are.

    >>> first_words(["a", "b", "c", "d"])
    "'a', 'b', 'c' and 1 more"
    """
    return listed([repr(str(word)) for word in words[:3]], len(words))


# ---- The text of frames ----

TAG = re.compile(r"\{(?:\{[^{}]*\}|%[-+]?\s*(?P<word>\w++)[^{}]*%)\}")
"""An output or a statement of a frame. Braces end the search, which would else go on to the end from every brace."""


def mask_tags(source: str, mark: str) -> str:
    """Return a frame with a mark for each character of its tags, so that positions stay what they are.

    >>> mask_tags("The {{ job }} is kind.", "_")
    'The _________ is kind.'
    """
    return TAG.sub(lambda tag: mark * len(tag[0]), source)


def segment_columns(frame: ResolvedFrame) -> tuple[int, ...]:
    """Return the column of the line, from 1, at which each segment begins."""
    starts = tuple(_segment_starts(frame.frame.source))
    if len(starts) != len(frame.compiled.segments):
        starts = (0,) * len(frame.compiled.segments)  # signs as `{{-` swallow blanks, and segments with them
    return tuple(frame.frame.column + start for start in starts)


def _segment_starts(source: str) -> Iterator[int]:
    end = depth = 0
    for tag in TAG.finditer(source):
        if not depth and tag.start() > end:
            yield end
        if not depth:
            yield tag.start()
        depth += {"if": 1, "endif": -1}.get(tag["word"] or "", 0)
        end = tag.end()
    if end < len(source):
        yield end


# ---- Rows ----


def pick_rows(block: ResolvedBlock, slots: Sequence[str]) -> RowSelection:
    """Pick all combinations of the words of these slots, or MOST_ROWS of them."""
    sizes = [len(block.slots[slot]) for slot in slots]
    if (n := prod(sizes)) <= MOST_ROWS:
        return RowSelection(digits(np.arange(n), slots, sizes), n)
    draw, numbers = np.random.default_rng(0), np.arange(MOST_ROWS)
    at = {slot: draw.permutation(numbers % size) for slot, size in zip(slots, sizes, strict=True)}
    return RowSelection(at, MOST_ROWS)


def _covering_rows(block: ResolvedBlock, frame: ResolvedFrame, role: str) -> RowSelection:
    """Pick rows with all that each segment can print; a slot that a segment does not read keeps its first word."""
    reads = dict.fromkeys(block.reads(role, segment.reads) for segment in frame.compiled.segments)
    combinations: list[tuple[dict[str, Indices], int]] = []
    for slots in filter(None, reads):
        sizes = [len(block.slots[slot]) for slot in slots]
        if (n := prod(sizes)) <= MOST_COMBINATIONS:
            combinations.append((digits(np.arange(n), slots, sizes), n))
        else:
            n = max(MOST_COMBINATIONS, *sizes)
            combinations.append(({slot: np.arange(n) % size for slot, size in zip(slots, sizes, strict=True)}, n))
    combinations = combinations or [({}, 1)]
    at = {
        slot: np.concatenate([columns.get(slot, np.zeros(length, dtype=np.int64)) for columns, length in combinations])
        for slot in block.slots
    }
    return RowSelection(at, sum(length for _, length in combinations))


def _longest_row(rows: FrameRows, role: str, selection: RowSelection, side: Side) -> RowSelection:
    """Pick a row in which the segments, the longest first, print their longest text, as far as they share words."""
    at: dict[str, Indices] = {}
    pieces = zip(side.pieces, rows.frame.compiled.segments, strict=True)
    for piece, segment in sorted(pieces, key=lambda pair: -int(pair[0].lengths.max())):
        row = int(piece.lengths.argmax())
        for slot in rows.block.reads(role, segment.reads):
            at.setdefault(slot, selection.at[slot][row : row + 1])
    first = {slot: np.zeros(1, dtype=np.int64) for slot in rows.block.slots}
    return RowSelection({**first, **at}, 1)
