"""Whether the two sentences of a row differ in what is tested, and in nothing else."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from senseprobe.generator.checks.context import columns_of, combinations, finding, said
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.generator.config import Config, ResolvedBlock, ResolvedFrame
from senseprobe.generator.segments import Segment
from senseprobe.generator.word_lists import Word
from senseprobe.records import Finding

_AGREEMENT = frozenset(
    map(
        frozenset,
        [
            ("a", "an"), ("a", ""), ("an", ""), ("this", "these"), ("that", "those"), ("is", "are"), ("was", "were"),
            ("has", "have"), ("does", "do"), ("isn't", "aren't"), ("wasn't", "weren't"), ("doesn't", "don't"),
        ],
    )
)  # fmt: skip


@on_config("W502")
def more_than_the_bound_words(subject: Subject) -> Iterator[Finding]:
    """The two sentences of a pair differ in more than the words that their roles bind.

    A scorer compares whole sentences: in UPSTREAM 1.5 a misspelling in one sentence of a pair, *mad* for *made*,
    explains a headline result. Looked at are the conditions of a frame that print other text in one role than in the
    other, and bindings to a text of several words that differ in more than one. What grammar makes follow the bound
    word (an article, *is* or *are*, an ending) is reported only where it differs in all pairs of a frame; else the
    column `minimal` tells which pairs it sets apart.
    """
    for number, block in enumerate(subject.config.blocks):
        if len(block.roles) == 2:
            if not number or "roles" in block.block.sources[0]:
                yield from _texts(subject.config, block)
            for frame in block.frames:
                yield from _segments(subject.config, block, frame)


def _texts(config: Config, block: ResolvedBlock) -> Iterator[Finding]:
    """Bindings to texts of as many words each, of which more than one differ."""
    if config.kind != "contrast":
        return
    for name, mine in block.roles["stereo"].items():
        theirs = block.roles["anti"][name]
        if not (isinstance(mine, Word) and isinstance(theirs, Word)) or mine.source or theirs.source:
            continue
        words = [text.split() for text in (mine, theirs)]
        differing = sum(a != b for a, b in zip(*words, strict=False))
        if len(words[0]) == len(words[1]) and differing > 1:
            message = f"{mine!s} and {theirs!s} differ in {differing} words"
            place = block.block.locate("roles", "anti", name)
            yield finding(
                config, place, "W502", message, "bind the word that is meant, and write the others in the frame"
            )


def _segments(config: Config, block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[Finding]:
    for segment, column in zip(frame.compiled.segments, columns_of(frame), strict=True):
        if any(_differs(block, name) for name in segment.reads) and (found := _unlike(block, segment)):
            mine, theirs = found
            message = f"the two sentences differ in more than the bound words: {mine!r} against {theirs!r}"
            hint = "print the same in both roles, or bind what differs"
            yield finding(config, (frame.frame.line, column), "W502", message, hint)


def _differs(block: ResolvedBlock, name: str) -> bool:
    first, second = (block.names(role)[name] for role in block.roles)
    return first != second


def _unlike(block: ResolvedBlock, segment: Segment) -> tuple[str, str] | None:
    """What a segment says in the two roles, where more than the bound words differ in it."""
    names = [name for name in segment.reads if _differs(block, name)]
    printed = not segment.block and any(name in segment.prints for name in names)
    minimal, followed = False, None
    for first, second in _both(block, segment, names):
        if (first.article, printed or first.rest) == (second.article, printed or second.rest):
            minimal = True
            if printed:
                return None  # only articles could differ in other pairs
        elif not printed and first.rest != second.rest and not _agree(first.rest, second.rest):
            return first.text, second.text
        else:
            followed = first.text, second.text
    return None if minimal else followed


@dataclass(frozen=True, slots=True)
class _Said:
    """What a segment says in one role: its article, all of its text, and the text without article and bound words."""

    article: str
    text: str
    rest: str


def _both(block: ResolvedBlock, segment: Segment, names: Iterable[str]) -> Iterator[tuple[_Said, _Said]]:
    """What a segment says in the two roles, where they bind different words."""
    slots = tuple(dict.fromkeys(slot for role in block.roles for slot in block.reads(role, segment.reads)))
    for chosen in combinations(block, slots):
        words, found = [], []
        for role in block.roles:
            bound = (block.names(role)[name] for name in names)
            words.append([one if isinstance(one, Word) else chosen[one] for one in bound])
            if made := said(block, role, segment, chosen):
                found.append(_Said(made[0].strip(), "".join(made), _without(made[1], words[-1])))
        if words[0] != words[1] and len(found) == len(words):
            yield found[0], found[1]


def _without(text: str, words: Iterable[Word]) -> str:
    """The text without the words, and without what else their rows hold, as *her* for *she*."""
    cells = {cell for word in words for cell in (*word.columns.values(), str(word)) if isinstance(cell, str) and cell}
    if not cells:
        return text
    forms = "|".join(re.escape(cell) for cell in sorted(cells, key=len, reverse=True))
    return re.sub(rf"(?i)(?<!\w)(?:{forms})(?:s|es)?(?!\w)", "_", text)


def _agree(first: str, second: str) -> bool:
    """Whether two texts differ in one word, and there as grammar asks after another subject."""
    words = [text.lower().split(" ") for text in (first, second)]
    if len(words[0]) != len(words[1]):
        return False
    apart = [(a, b) for a, b in zip(*words, strict=True) if a != b]
    return len(apart) == 1 and (frozenset(apart[0]) in _AGREEMENT or _ending(*sorted(apart[0], key=len)))


def _ending(short: str, long: str) -> bool:
    return long in (f"{short}s", f"{short}es", f"{short[:-1]}ies")
