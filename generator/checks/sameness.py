"""Sentences that are there more than once: pairs that say one thing twice, and slots that change nothing."""

from collections.abc import Iterator
from math import prod

import numpy as np
import pyarrow.compute as pc

from senseprobe.generator.blocks import Config, ResolvedBlock, ResolvedFrame
from senseprobe.generator.checks.reading import finding, spread
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.generator.english import MARK
from senseprobe.generator.product import Picked
from senseprobe.generator.sentences import FrameRows, flags, join
from senseprobe.records import Finding

__all__ = ["same_twice", "unread_slot"]


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
    told = [join([side.pieces[at] for at in numbers] or [""], picked.n, MARK) for side in sides]
    same = flags(pc.equal(*told))
    if not same.any():
        return ""
    combinations = prod(len(block.slots[slot]) for slot in slots)
    share = "all" if same.all() else str(int(same.sum())) if combinations == picked.n else "some"
    text = sides[0].text[int(same.argmax())].as_py()
    return f"both sentences are {text!r}: so are {share} of {combinations} combinations of words"


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
        read = {frame: {slot for role in block.roles for slot in _reads(block, role, frame)} for frame in block.frames}
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


def _reads(block: ResolvedBlock, role: str, frame: ResolvedFrame) -> tuple[str, ...]:
    return block.reads(role, (name for segment in frame.compiled.segments for name in segment.reads))
