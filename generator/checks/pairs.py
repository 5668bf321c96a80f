"""Whether the two sentences of a row differ in what is tested, and in nothing else."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from senseprobe.generator.checks.frame_text import combinations, render_segment, segment_columns
from senseprobe.generator.checks.registry import on_config
from senseprobe.generator.checks.subjects import ConfigSubject
from senseprobe.generator.config import ResolvedBlock, ResolvedFrame
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
def check_minimal_pairs(subject: ConfigSubject) -> Iterator[Finding]:
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
                yield from _text_bindings(subject, block)
            for frame in block.frames:
                yield from _differing_segments(subject, block, frame)


def _text_bindings(subject: ConfigSubject, block: ResolvedBlock) -> Iterator[Finding]:
    """Report bindings to texts of equally many words of which more than one differ."""
    if subject.config.kind != "contrast":
        return
    for name, mine in block.roles["stereo"].items():
        theirs = block.roles["anti"][name]
        if not (isinstance(mine, Word) and isinstance(theirs, Word)) or mine.source or theirs.source:
            continue
        words = [text.split() for text in (mine, theirs)]
        differing = sum(a != b for a, b in zip(*words, strict=False))
        if len(words[0]) == len(words[1]) and differing > 1:
            message = f"{mine!s} and {theirs!s} differ in {differing} words"
            hint = "bind the word that is meant, and write the others in the frame"
            yield subject.finding(block.block.locate("roles", "anti", name), "W502", message, hint)


def _differing_segments(subject: ConfigSubject, block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[Finding]:
    for segment, column in zip(frame.compiled.segments, segment_columns(frame), strict=True):
        if any(_is_bound_differently(block, name) for name in segment.reads) and (
            texts := _differing_texts(block, segment)
        ):
            mine, theirs = texts
            message = f"the two sentences differ in more than the bound words: {mine!r} against {theirs!r}"
            hint = "print the same in both roles, or bind what differs"
            yield subject.finding((frame.frame.line, column), "W502", message, hint)


def _is_bound_differently(block: ResolvedBlock, name: str) -> bool:
    first, second = (block.names(role)[name] for role in block.roles)
    return first != second


def _differing_texts(block: ResolvedBlock, segment: Segment) -> tuple[str, str] | None:
    """Return what a segment prints in the two roles, where more than the bound words differ in it."""
    names = [name for name in segment.reads if _is_bound_differently(block, name)]
    printed = not segment.block and any(name in segment.prints for name in names)
    minimal, followed = False, None
    for first, second in _rendered_pairs(block, segment, names):
        if (first.article, printed or first.rest) == (second.article, printed or second.rest):
            minimal = True
            if printed:
                return None  # only articles could differ in other pairs
        elif not printed and first.rest != second.rest and not _differ_in_agreement(first.rest, second.rest):
            return first.text, second.text
        else:
            followed = first.text, second.text
    return None if minimal else followed


@dataclass(frozen=True, slots=True)
class _RenderedSegment:
    """What a segment prints in one role: its article, all of its text, and the text without article and bound words."""

    article: str
    text: str
    rest: str


def _rendered_pairs(
    block: ResolvedBlock, segment: Segment, names: Iterable[str]
) -> Iterator[tuple[_RenderedSegment, _RenderedSegment]]:
    """Yield what a segment prints in the two roles, where they bind different words."""
    slots = tuple(dict.fromkeys(slot for role in block.roles for slot in block.reads(role, segment.reads)))
    for chosen in combinations(block, slots):
        words, texts = [], []
        for role in block.roles:
            bindings = (block.names(role)[name] for name in names)
            words.append([bound if isinstance(bound, Word) else chosen[bound] for bound in bindings])
            if rendered := render_segment(block, role, segment, chosen):
                article, text = rendered
                texts.append(_RenderedSegment(article.strip(), article + text, _without_words(text, words[-1])))
        if words[0] != words[1] and len(texts) == len(words):
            yield texts[0], texts[1]


def _without_words(text: str, words: Iterable[Word]) -> str:
    """Return the text without the words, and without what else their rows have, as *her* for *she*."""
    cells = {cell for word in words for cell in (*word.columns.values(), str(word)) if isinstance(cell, str) and cell}
    if not cells:
        return text
    forms = "|".join(re.escape(cell) for cell in sorted(cells, key=len, reverse=True))
    return re.sub(rf"(?i)(?<!\w)(?:{forms})(?:s|es)?(?!\w)", "_", text)


def _differ_in_agreement(first: str, second: str) -> bool:
    """Return whether two texts differ in one word, and there as grammar requires after another subject."""
    words = [text.lower().split(" ") for text in (first, second)]
    if len(words[0]) != len(words[1]):
        return False
    apart = [(a, b) for a, b in zip(*words, strict=True) if a != b]
    return len(apart) == 1 and (frozenset(apart[0]) in _AGREEMENT or _is_plural_ending(*sorted(apart[0], key=len)))


def _is_plural_ending(short: str, long: str) -> bool:
    return long in (f"{short}s", f"{short}es", f"{short[:-1]}ies")
