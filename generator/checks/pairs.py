"""Whether the two sentences of a row differ in what is tested, and in nothing else; and repeated sentences.

A sentence is repeated within a pair, by a slot that changes nothing, or by a frame that is copied.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import prod

import numpy as np
import pyarrow.compute as pc

from senseprobe.generator.checks.base import TAG, ConfigSubject, FrameSubject, Position, check, pick_rows
from senseprobe.generator.checks.placeholders import find_single_braces
from senseprobe.generator.config import ResolvedBlock
from senseprobe.generator.english import MARK
from senseprobe.generator.kinds import EXPANSIONS
from senseprobe.generator.kinds.contrast import ContrastFront
from senseprobe.generator.product import RowSelection
from senseprobe.generator.render import FrameRows, flags, join
from senseprobe.generator.segments import Segment
from senseprobe.generator.word_lists import Word
from senseprobe.records import Finding

# ---- Repeated sentences ----


@check("E118")
def check_identical_sentences(subject: ConfigSubject) -> Iterator[Finding]:
    """Both sentences of a pair are the same.

    Such a pair does not have an answer: every model is indifferent, and the pair counts as a tie. Print the words
    that the roles bind, and bind different words.
    """
    first: dict[Position, Finding] = {}
    for frame in subject.frames:
        if len(frame.block.roles) < 2 or any(find_single_braces(frame)):
            continue  # E115: what differs was to be printed
        if message := _identical_pairs(frame):
            first.setdefault(frame.position, frame.finding("E118", message, "bind words that differ, and print them"))
    yield from first.values()


def _identical_pairs(frame: FrameSubject) -> str:
    """Return how many pairs have equal sentences, compared where roles bind differently; empty where none has."""
    block = frame.block
    varying = [at for at, segment in enumerate(frame.segments) if _bound_differently(block, segment)]
    reads = [name for at in varying for name in frame.segments[at].reads]
    slots = {slot for role in block.roles for slot in block.reads(role, reads)}
    picked = pick_rows(block, [slot for slot in block.slots if slot in slots])
    still = {slot: np.zeros(picked.n, dtype=np.int64) for slot in block.slots}
    selection = RowSelection({**still, **picked.at}, picked.n)
    sides = [
        FrameRows(frame.config_subject.config, block, frame.resolved).side(role, selection) for role in block.roles
    ]
    texts = [join([side.pieces[at].row_texts for at in varying] or [""], picked.n, MARK) for side in sides]
    identical = flags(pc.equal(*texts))
    if not identical.any():
        return ""
    count = prod(len(block.slots[slot]) for slot in slots)
    share = "all" if identical.all() else str(int(identical.sum())) if count == picked.n else "some"
    message = f"both sentences are {sides[0].text[int(identical.argmax())].as_py()!r}"
    return f"{message}, as in {share} of {count} combinations of words" if count > 1 else message


def _bound_differently(block: ResolvedBlock, segment: Segment) -> list[str]:
    """Return the names that a segment reads and that the two roles bind differently."""
    first, second = (block.names(role) for role in block.roles)
    return [name for name in segment.reads if first[name] != second[name]]


@check("E119")
def check_unread_slots(subject: ConfigSubject) -> Iterator[Finding]:
    """A slot with several words does not change any sentence, so each sentence occurs several times.

    Repeated sentences count several times in every score but add no evidence: SSSB has 16. Print the slot, or give
    it one word in this block with `where`.
    """
    first: dict[tuple[str, Position], Finding] = {}
    for _, group in groupby(subject.row_frames, key=lambda frame: id(frame.block)):
        reads = {}
        for frame in group:
            # `{slot}` is an output that should have been `{{ slot }}`: see E115.
            names = [*frame.names, *(name for _, name in find_single_braces(frame))]
            reads[frame] = {slot for role in frame.block.roles for slot in frame.block.reads(role, names)}
        block = next(iter(reads)).block
        front = block.block.front
        unprinted = EXPANSIONS[front.kind].unprinted(front)
        for slot, words in ((slot, words) for slot, words in block.slots.items() if slot not in unprinted):
            unread = [(frame.position, "this frame does not read") for frame in reads if slot not in reads[frame]]
            if len(unread) == len(reads):
                unread = [(block.block.locate("slots", slot), "none of the frames reads")]
            for position, where in unread if len(words) > 1 else ():
                message = f"{where} {slot!r}: each sentence occurs {len(words)} times"
                finding = subject.finding(position, "E119", message, "print it, or give it one word with `where`")
                first.setdefault((slot, position), finding)
    yield from first.values()


@check("E124")
def check_duplicate_frames(subject: ConfigSubject) -> Iterator[Finding]:
    """The same frame occurs twice, under two names and with the same words, so its sentences occur several times.

    A different `{# id: name #}` gives the same sentences different ids, and they count several times in every score
    (see E119). Remove one of the frames, or give their blocks different words with `where`.
    """
    earlier: dict[str, list[FrameSubject]] = {}
    first: dict[Position, Finding] = {}
    for frame in subject.frames:
        others = earlier.setdefault(TAG.sub(lambda tag: "".join(tag[0].split()), frame.source), [])
        if duplicate := next((other for other in others if _are_duplicates(other, frame)), None):
            message = f"the frame on line {duplicate.position[0]} is the same, with the same words"
            first.setdefault(frame.position, frame.finding("E124", message, "remove one of the two"))
        others.append(frame)
    yield from first.values()


def _are_duplicates(earlier: FrameSubject, frame: FrameSubject) -> bool:
    """Return whether two frames of one text, of different codes, print the same bindings of slots that share words."""
    other, block, names = earlier.block, frame.block, {*frame.names}
    bindings = [
        {(role, name): _binding_key(resolved, role, name) for role in resolved.roles for name in names}
        for resolved in (other, block)
    ]
    slots = {slot for role in block.roles for slot in block.reads(role, names)}
    share_words = all({*other.slots[slot]} & {*block.slots[slot]} for slot in slots)
    same_code = earlier.resolved.frame.code == frame.resolved.frame.code
    return not same_code and bindings[0] == bindings[1] and share_words


def _binding_key(block: ResolvedBlock, role: str, name: str) -> object:
    """Return what a name stands for, equal to its like: a slot, or a word with its columns."""
    bound = block.names(role)[name]
    return (str(bound), dict(bound.columns)) if isinstance(bound, Word) else bound


# ---- Minimal pairs ----

_AGREEMENT = [
    {"a", "an"}, {"a", ""}, {"an", ""}, {"this", "these"}, {"that", "those"}, {"is", "are"}, {"was", "were"},
    {"has", "have"}, {"does", "do"}, {"isn't", "aren't"}, {"wasn't", "weren't"}, {"doesn't", "don't"},
]  # fmt: skip


@check("W502")
def check_minimal_pairs(subject: ConfigSubject) -> Iterator[Finding]:
    """The two sentences of a pair differ in more than the words that their roles bind.

    A scorer compares whole sentences. In SSSB, a misspelling in one sentence of a pair (*mad* for *made*) explains
    a headline result. The check looks at conditions in frames that print different text in the two roles, and at
    bindings to texts that differ in more than one word. Text that depends on the bound word by grammar (an article,
    *is* or *are*, an ending) is reported only if it differs in all pairs of a frame. Otherwise the column `minimal`
    marks these pairs.
    """
    for number, block in enumerate(subject.config.blocks):
        if len(block.roles) == 2 and (not number or "roles" in block.block.sources[0]):
            yield from _text_bindings(subject, block)
    for frame in subject.frames:
        for segment, column in zip(frame.segments, frame.columns, strict=True) if len(frame.block.roles) == 2 else ():
            if texts := _differing_texts(frame, segment):
                mine, theirs = texts
                message = f"the two sentences differ in more than the bound words: {mine!r} against {theirs!r}"
                yield frame.finding("W502", message, "print the same in both roles, or bind what differs", column)


def _text_bindings(subject: ConfigSubject, block: ResolvedBlock) -> Iterator[Finding]:
    """Report bindings to texts of equally many words of which more than one differ."""
    if not isinstance(block.block.front, ContrastFront):
        return
    for name, mine in block.roles["stereo"].items():
        theirs = block.roles["anti"][name]
        if not (isinstance(mine, Word) and isinstance(theirs, Word)) or mine.source or theirs.source:
            continue
        words = [text.split() for text in (mine, theirs)]
        differing = sum(a != b for a, b in zip(*words, strict=False))
        if len(words[0]) == len(words[1]) and differing > 1:
            message = f"{mine!s} and {theirs!s} differ in {differing} words"
            hint = "bind the one word that differs, and write the others in the frame"
            yield subject.finding(block.block.locate("roles", "anti", name), "W502", message, hint)


def _differing_texts(frame: FrameSubject, segment: Segment) -> Sequence[str] | None:
    """Return what a segment prints in the two roles, where more than the bound words differ in it."""
    names = _bound_differently(frame.block, segment)
    printed = not segment.block and any(name in segment.prints for name in names)
    minimal, followed = False, None
    for mine, theirs in _rendered_pairs(frame, segment, names) if names else ():
        texts = (f"{mine.article}{mine.text}", f"{theirs.article}{theirs.text}")
        same_article = mine.article.strip() == theirs.article.strip()
        if printed and same_article:
            return None  # only articles could differ in other pairs
        if same_article and not printed and mine.rest == theirs.rest:
            minimal = True
        elif not printed and mine.rest != theirs.rest and not _differ_in_agreement(mine.rest, theirs.rest):
            return texts
        else:
            followed = texts
    return None if minimal else followed


@dataclass(frozen=True)
class _Rendered:
    """What a segment prints in a role: an article, and a text with the words that the role binds."""

    article: str
    text: str
    words: tuple[Word, ...]

    @cached_property
    def rest(self) -> str:
        """The text without the words, and without what else their rows have, as *her* for *she*."""
        texts = (text for word in self.words for text in (*word.columns.values(), str(word)))
        cells = {text for text in texts if isinstance(text, str) and text}
        if not cells:
            return self.text
        forms = "|".join(re.escape(cell) for cell in sorted(cells, key=len, reverse=True))
        return re.sub(rf"(?i)(?<!\w)(?:{forms})(?:s|es)?(?!\w)", "_", self.text)


def _rendered_pairs(frame: FrameSubject, segment: Segment, names: Sequence[str]) -> Iterator[Sequence[_Rendered]]:
    """Yield what a segment prints in the two roles where these bind different words."""
    roles = {role: frame.block.names(role) for role in frame.block.roles}
    reads = {role: [*frame.block.reads(role, segment.reads)] for role in roles}
    rendered: dict[tuple[str, ...], _Rendered | None] = {}
    for chosen in frame.combinations(tuple(dict.fromkeys(slot for slots in reads.values() for slot in slots))):
        pair = []
        for role, bound in roles.items():
            # A role prints the same whatever the words of the other one are.
            key = (role, *(str(id(chosen[slot])) for slot in reads[role]))
            if key not in rendered:
                words = tuple(word if isinstance(word := bound[name], Word) else chosen[word] for name in names)
                text = frame.render(role, segment, chosen)
                rendered[key] = _Rendered(*text, words) if text else None
            pair.append(rendered[key])
        sides = [side for side in pair if side]
        if len(sides) == len(pair) and sides[0].words != sides[1].words:
            yield sides


def _differ_in_agreement(first: str, second: str) -> bool:
    """Return whether two texts differ in one word, and there as grammar requires after another subject."""
    words = [text.lower().split(" ") for text in (first, second)]
    if len(words[0]) != len(words[1]):
        return False
    apart = [(a, b) for a, b in zip(*words, strict=True) if a != b]
    short, long = sorted(apart[0], key=len) if len(apart) == 1 else ("", "")
    return {short, long} in _AGREEMENT or long in (f"{short}s", f"{short}es", f"{short[:-1]}ies")
