"""Sentences that are there more than once: in a pair, by a slot that changes nothing, or by a frame that is copied."""

from collections.abc import Iterator
from math import prod

import numpy as np
import pyarrow.compute as pc

from senseprobe.generator.blocks import Config, ResolvedBlock, ResolvedFrame
from senseprobe.generator.checks.placeholders import names_of, unfilled
from senseprobe.generator.checks.reading import TAG, finding, spread
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.generator.english import MARK
from senseprobe.generator.product import Picked
from senseprobe.generator.sentences import FrameRows, flags, join
from senseprobe.generator.wordlists import Word
from senseprobe.records import Finding

# Blanks within a tag say nothing.


@on_config("E118")
def same_twice(subject: Subject) -> Iterator[Finding]:
    """Both sentences of a pair say the same.

    Such a pair has no answer: every model prefers neither, and it is counted as a tie. Print what the roles bind, and
    see that they bind different words.
    """
    seen = set()
    for block in subject.config.blocks:
        for frame in block.frames if len(block.roles) > 1 else ():
            place = frame.frame.line, frame.frame.column
            if any(unfilled(frame.frame.source, names_of(block))):
                continue  # said by E115: what differs was to be printed
            if place not in seen and (message := _same(subject.config, block, frame)):
                seen.add(place)
                yield finding(subject.config, place, "E118", message, "bind words that differ, and print them")


def _same(config: Config, block: ResolvedBlock, frame: ResolvedFrame) -> str:
    """What is wrong with the pairs that say the same; empty where there are none.

    Compared is what segments print that roles bind differently; the others are alike.
    """
    names = [block.names(role) for role in block.roles]
    differ = {name for name in names[0] if names[0][name] != names[1][name]}
    numbers = [at for at, segment in enumerate(frame.compiled.segments) if differ & {*segment.reads}]
    reads = [name for at in numbers for name in frame.compiled.segments[at].reads]
    slots = {slot for role in block.roles for slot in block.reads(role, reads)}
    picked = _all_slots(block, spread(block, [slot for slot in block.slots if slot in slots]))
    sides = [FrameRows(config, block, frame).side(role, picked) for role in block.roles]
    told = [join([side.pieces[at].said for at in numbers] or [""], picked.n, MARK) for side in sides]
    same = flags(pc.equal(*told))
    if not same.any():
        return ""
    combinations = prod(len(block.slots[slot]) for slot in slots)
    share = "all" if same.all() else str(int(same.sum())) if combinations == picked.n else "some"
    said = f"both sentences are {sides[0].text[int(same.argmax())].as_py()!r}"
    return f"{said}: so are {share} of {combinations} combinations of words" if combinations > 1 else said


def _all_slots(block: ResolvedBlock, picked: Picked) -> Picked:
    still = np.zeros(picked.n, dtype=np.int64)
    return Picked({slot: picked.at.get(slot, still) for slot in block.slots}, picked.n)


@on_config("E119")
def unread_slot(subject: Subject) -> Iterator[Finding]:
    """A slot with several words changes no sentence, so that each sentence comes out several times.

    Repeated sentences count several times in every figure without adding evidence: the published data has 16 (UPSTREAM
    1.5). Print the slot, or give it one word in this block with `where`.
    """
    seen = set()
    for block in subject.config.blocks:
        read = {frame: {*_reads(block, frame)} for frame in block.frames}
        for slot, words in block.slots.items():
            without = [frame for frame in block.frames if slot not in read[frame]] if len(words) > 1 else []
            nowhere = without and len(without) == len(block.frames)
            for frame in without[:1] if nowhere else without:
                place = block.block.place("slots", slot) if nowhere else (frame.frame.line, frame.frame.column)
                if (slot, place) not in seen:
                    seen.add((slot, place))
                    where = "no frame reads" if nowhere else "this frame does not read"
                    message = f"{where} {slot!r}: each sentence comes out {len(words)} times"
                    yield finding(subject.config, place, "E119", message, "print it, or give it one word with `where`")


def _reads(block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[str]:
    """The slots that a frame reads in any role, and those that it was to read: `{slot}` is a finding of E115."""
    names = [name for segment in frame.compiled.segments for name in segment.reads]
    names += [name for _, name in unfilled(frame.frame.source, names_of(block))]
    for role in block.roles:
        yield from block.reads(role, names)


@on_config("E124")
def frame_twice(subject: Subject) -> Iterator[Finding]:
    """The same frame is there twice, under two names, for the same words, so that sentences come out several times.

    Another `{# id: name #}` makes other ids of the same sentences, which then count several times in every figure (see
    E119). Remove one of the frames, or give their blocks different words with `where`.
    """
    earlier: dict[str, list[tuple[ResolvedBlock, ResolvedFrame]]] = {}
    told = set()
    for block in subject.config.blocks:
        for frame in block.frames:
            others = earlier.setdefault(TAG.sub(lambda tag: "".join(tag[0].split()), frame.frame.source), [])
            same = next((theirs for their, theirs in others if _says_the_same(their, theirs, block, frame)), None)
            others.append((block, frame))
            place = frame.frame.line, frame.frame.column
            if same and place not in told:
                told.add(place)
                message = f"the frame on line {same.frame.line} says the same, with the same words"
                yield finding(subject.config, place, "E124", message, "remove one of the two")


def _says_the_same(one: ResolvedBlock, theirs: ResolvedFrame, other: ResolvedBlock, frame: ResolvedFrame) -> bool:
    """Whether two frames of one text print what is bound alike, of slots that share words; their codes differ."""
    names = {name for segment in frame.compiled.segments for name in segment.reads}
    bound = [
        {(role, name): _bound(block, role, name) for role in block.roles for name in names} for block in (one, other)
    ]
    slots = {slot for role in other.roles for slot in other.reads(role, names)}
    shared = all({*one.slots[slot]} & {*other.slots[slot]} for slot in slots)
    return theirs.frame.code != frame.frame.code and bound[0] == bound[1] and shared


def _bound(block: ResolvedBlock, role: str, name: str) -> object:
    """What a name stands for, as something that is equal to its like: a slot, or a word with its columns."""
    bound = block.names(role)[name]
    return (str(bound), dict(bound.columns)) if isinstance(bound, Word) else bound
