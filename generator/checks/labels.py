"""Whether labels agree with one another."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice, product

from senseprobe.generator.checks.context import MOST_ROWS, finding, labelled
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.generator.config import ResolvedBlock
from senseprobe.generator.kinds.contrast import ContrastFront
from senseprobe.generator.schema import Condition, Frame
from senseprobe.generator.word_lists import Word
from senseprobe.records import Finding

MOST_TOKENS = 100
"""Words of a frame up to which it is compared with others; a longer one is compared as a whole."""


@on_config("W504")
def contradictory(subject: Subject) -> Iterator[Finding]:
    """Two frames that differ in one word at most have labels that contradict one another.

    The blocks of the two frames bind the roles the other way round for the same words, so what is the stereotype in
    one sentence is its opposite in the other, though both say the same of the same person (the mentor sentences of
    UPSTREAM 1.5). One of the labels is wrong. Frames are not compared where the word is a negation.
    """
    if len(subject.config.blocks) < 2:
        return  # labels are the same in all frames of a block
    blocks = list(labelled(subject))
    labels = [{(row.words, row.stereo, row.anti) for row in rows} for _, rows in blocks]
    near: dict[tuple[str, ...], list[tuple[int, Frame]]] = {}
    for number, (block, _) in enumerate(blocks):
        told: set[int] = set()
        opposed: dict[int, set[tuple[str, ...]]] = {}  # by an earlier block, found once for all frames
        frames = [(frame.frame, key) for frame in block.frames for key in _one_word_less(frame.frame)]
        for frame, key in frames:
            for other, earlier in near.get(key, ()):
                if other not in opposed:
                    opposed[other] = _opposed(labels[number], labels[other])
                words = opposed[other]
                if not words or frame.line in told:
                    continue
                apart = _apart(_tokens(earlier), _tokens(frame))
                if not any(map(_negates, apart)):
                    told.add(frame.line)
                    yield _contradiction(subject, earlier, frame, apart, words)
        for frame, key in frames:
            near.setdefault(key, []).append((number, frame))


Labels = set[tuple[tuple[str, ...], str, str]]
"""The words of each row by slot, and what the stereotype and its opposite bind."""


def _opposed(labels: Labels, others: Labels) -> set[tuple[str, ...]]:
    """The words whose label is the other way round in the others."""
    return {words for words, stereo, anti in labels if (words, anti, stereo) in others}


_TOKEN = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|[\w'-]+")
_NEGATIONS = frozenset(
    ["cannot", "hardly", "neither", "never", "no", "nobody", "none", "nor", "not", "nothing", "without"]
)

Tokens = tuple[str, ...]


def _negates(tokens: Tokens) -> bool:
    return any(token in _NEGATIONS or token.endswith("n't") for token in tokens)


def _tokens(frame: Frame) -> Tokens:
    """The words of a frame in lower case, and its outputs, each as one token."""
    return tuple(_TOKEN.findall(frame.source.lower().replace("\u2019", "'")))


def _one_word_less(frame: Frame) -> Iterator[Tokens]:
    """The frame, and the frame without each of its words: what two frames have in common that differ in one."""
    tokens = _tokens(frame)
    yield tokens
    if len(tokens) <= MOST_TOKENS:
        yield from dict.fromkeys(tokens[:at] + tokens[at + 1 :] for at in range(len(tokens)))


def _apart(first: Tokens, second: Tokens) -> tuple[Tokens, Tokens]:
    """What is left of two frames without what they begin and end with alike."""
    start = next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    first, second = first[start:], second[start:]
    end = next((n for n, (a, b) in enumerate(zip(first[::-1], second[::-1], strict=False)) if a != b), None)
    end = min(len(first), len(second)) if end is None else end
    return first[: len(first) - end], second[: len(second) - end]


def _contradiction(
    subject: Subject, earlier: Frame, frame: Frame, apart: tuple[Tokens, Tokens], words: set[tuple[str, ...]]
) -> Finding:
    mine, theirs = (" ".join(tokens) or "nothing" for tokens in reversed(apart))
    differs = f"{mine!r} for {theirs!r}" if mine != theirs else "the same words"
    of = ", ".join(min(words))
    message = f"labelled the other way round than the frame on line {earlier.line} ({differs}) with {of}"
    return finding(subject.config, (frame.line, frame.column), "W504", message, "one of the two labels is wrong")


@on_config("W508")
def both_ways(subject: Subject) -> Iterator[Finding]:
    """The labels of one word go both ways although `label_basis` is `occupation`.

    If a label says what is stereotyped of an occupation, it cannot be *he* in some of its sentences and *she* in
    others: something else decides (UPSTREAM 1.5: mentor is labelled *he* in ten sentences and *she* in nine). Make the
    labels the same, or say what they rest on: `label_basis: trait` or `both`.
    """
    seen: dict[str, Counter[tuple[str, str]]] = {}
    blocks: dict[tuple[str, tuple[str, str]], ResolvedBlock] = {}
    for block, rows in labelled(subject):
        if isinstance(front := block.block.front, ContrastFront) and front.label_basis == "occupation":
            for row in rows:
                label = (row.stereo, row.anti)
                seen.setdefault(str(row.target), Counter())[label] += len(block.frames)
                blocks.setdefault((str(row.target), label), block)
    for word, labels in seen.items():
        for (stereo, anti), count in labels.items():
            other = labels.get((anti, stereo), 0)
            if (count, anti) < (other, stereo):  # told once, where the rarer label is
                message = f"labels of {word!r} go both ways: {anti!r} is stereo in {other} rows, {stereo!r} in {count}"
                place = _place(blocks[word, (stereo, anti)], "flip")
                yield finding(subject.config, place, "W508", message, "label_basis: trait, or both")


def _place(block: ResolvedBlock, key: str) -> tuple[int, int]:
    """The place of a key of the front matter, or of the roles where it is not there."""
    return block.block.locate(key if any(key in source for source in block.block.sources) else "roles")


@on_config("W509")
def one_sided(subject: Subject) -> Iterator[Finding]:
    """The stereotype binds the same word in every row, so that always preferring this word gets 100 %.

    A model that prefers *he* to *she* whatever the sentence says would have the highest score (the verb pairs of
    carpenter in UPSTREAM 1.5). Add words of the opposite stereotype, and `flip` their labels.
    """
    rows = [(block, row) for block, found in labelled(subject) for row in found]
    if len({row.stereo for _, row in rows}) == 1:
        block, row = rows[0]
        message = f"stereo binds {row.stereo!r} in every row: a model that always prefers it gets 100 %"
        hint = "add words of the opposite stereotype, and flip them"
        yield finding(subject.config, block.block.locate("roles", "stereo"), "W509", message, hint)


@on_config("W510")
def undeclared_exception(subject: Subject) -> Iterator[Finding]:
    """An exception of single words in `flip` is not declared in `contested`.

    A condition on two slots or more that names words is an exception to the rule by which labels were given (nurse:
    strong, weak, professional, unclean in UPSTREAM 1.5). It needs no less evidence than the rule: declare the same
    words in `contested`, so that estimands leave them out until somebody has looked.
    """
    for block in subject.config.blocks:
        front = block.block.front
        if not isinstance(front, ContrastFront):
            continue
        for number, condition in enumerate(front.flip):
            if _is_exception(condition) and not _contested(block, front, condition):
                shown = ", ".join(f"{key}: {value}" for key, value in condition.items())
                message = f"an exception that `contested` does not declare: {shown}"
                hint = f"contested: [{{{shown}}}]"
                yield finding(subject.config, block.block.locate("flip", number), "W510", message, hint)


def _is_exception(condition: Condition) -> bool:
    slots = {key.partition(".")[0] for key in condition}
    return len(slots) > 1 and any(key.partition(".")[2] in ("", "word") for key in condition)


def _contested(block: ResolvedBlock, front: ContrastFront, condition: Condition) -> bool:
    """Whether every combination of words that a condition holds for is contested."""
    if condition in front.contested:
        return True
    held = {slot: [word for word in words if _holds(condition, slot, word)] for slot, words in block.slots.items()}
    slots = {key.partition(".")[0] for asked in (condition, *front.contested) for key in asked}
    rows = (dict(zip(slots, chosen, strict=True)) for chosen in product(*(held[slot] for slot in slots)))
    return all(
        any(all(_holds(asked, slot, word) for slot, word in row.items()) for asked in front.contested)
        for row in islice(rows, MOST_ROWS)
    )


def _holds(condition: Condition, slot: str, word: Word) -> bool:
    """Whether what a condition says of a slot holds for a word."""
    for key, value in condition.items():
        asked, _, column = key.partition(".")
        if asked == slot and word.columns[column or "word"] not in (value if isinstance(value, list) else [value]):
            return False
    return True
