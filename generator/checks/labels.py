"""Whether the labels of a contrast agree with one another: contradictions, one-sided labels, undeclared exceptions."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from itertools import islice, product

from senseprobe.generator.checks.base import MOST_ROWS, ConfigSubject, check
from senseprobe.generator.config import ResolvedBlock
from senseprobe.generator.english.inflection import word_set
from senseprobe.generator.kinds.contrast import ContrastFront
from senseprobe.generator.schema import Block, Condition, Frame
from senseprobe.generator.word_lists import Word
from senseprobe.records import Finding

MOST_TOKENS = 100
"""Words of a frame up to which it is compared with others; a longer one is compared as a whole."""


@check("W504")
def check_contradictions(subject: ConfigSubject) -> Iterator[Finding]:
    """Two frames that differ in at most one word have contradictory labels.

    For the same words, the two blocks bind the roles the other way round. So the stereotype in one sentence is the
    opposite in the other, although both say the same about the same person (like the mentor sentences of SSSB). One
    of the labels is wrong. Frames are not compared if the different word is a negation.
    """
    if len(subject.config.blocks) < 2:
        return  # labels are the same in all frames of a block
    labels = [{(row.words, row.stereo, row.anti) for row in rows} for _, rows in subject.labelled]
    near: dict[Tokens, list[tuple[int, Frame]]] = {}
    for number, (block, _) in enumerate(subject.labelled):
        reported: set[int] = set()
        reversed_words = cache(partial(_reversed_words, labels, number))  # once for all frames
        frames = [(frame.frame, key) for frame in block.frames for key in _comparison_keys(frame.frame)]
        for frame, key in frames:
            for other, earlier in near.get(key, ()):
                words = reversed_words(other)
                if not words or frame.line in reported:
                    continue
                differing = _differing_tokens(_tokens(earlier), _tokens(frame))
                if not any(token in _NEGATIONS or token.endswith("n't") for tokens in differing for token in tokens):
                    reported.add(frame.line)
                    theirs, mine = (" ".join(tokens) or "nothing" for tokens in differing)
                    differs = f"{mine!r} for {theirs!r}" if mine != theirs else "the same words"
                    contradiction = f"the label is the opposite of that of the frame on line {earlier.line} ({differs})"
                    message, hint = f"{contradiction} with {', '.join(min(words))}", "one of the two labels is wrong"
                    yield subject.finding((frame.line, frame.column), "W504", message, hint)
        for frame, key in frames:
            near.setdefault(key, []).append((number, frame))


Labels = set[tuple[tuple[str, ...], str, str]]
"""The words of each row by slot, and what the stereotype and its opposite bind."""


def _reversed_words(labels: list[Labels], number: int, other: int) -> set[tuple[str, ...]]:
    """Return the words whose label in one block is the other way round in the other."""
    return {words for words, stereo, anti in labels[number] if (words, anti, stereo) in labels[other]}


_TOKEN = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|[\w'-]+")
_NEGATIONS = word_set("cannot hardly neither never no nobody none nor not nothing without")

Tokens = tuple[str, ...]


def _tokens(frame: Frame) -> Tokens:
    """Return the words of a frame in lower case, and its outputs, each as one token."""
    return tuple(_TOKEN.findall(frame.source.lower().replace("\u2019", "'")))


def _comparison_keys(frame: Frame) -> Iterator[Tokens]:
    """Yield the frame, and the frame without each of its words: frames that differ in one word share one of these."""
    tokens = _tokens(frame)
    yield tokens
    if len(tokens) <= MOST_TOKENS:
        yield from dict.fromkeys(tokens[:at] + tokens[at + 1 :] for at in range(len(tokens)))


def _differing_tokens(first: Tokens, second: Tokens) -> tuple[Tokens, Tokens]:
    """Return what is left of two frames without their common beginning and end."""
    start = _common_length(first, second)
    first, second = first[start:], second[start:]
    end = _common_length(first[::-1], second[::-1])
    return first[: len(first) - end], second[: len(second) - end]


def _common_length(first: Tokens, second: Tokens) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(first), len(second)))


@check("W508")
def check_label_consistency(subject: ConfigSubject) -> Iterator[Finding]:
    """The labels of one word go both ways, although `label_basis` is `occupation`.

    If a label states the stereotype of an occupation, it cannot be *he* in some of its sentences and *she* in
    others: something else decides. In SSSB, mentor is labelled *he* in ten sentences and *she* in nine. Make the
    labels the same, or state their basis: `label_basis: trait` or `both`.
    """
    rows: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], Block] = {}
    for resolved, labelled in subject.labelled:
        front = resolved.block.front
        if isinstance(front, ContrastFront) and front.label_basis == "occupation":
            for row in labelled:
                label = (str(row.target), row.stereo, row.anti)
                rows[label] += len(resolved.frames)
                first.setdefault(label, resolved.block)
    for (word, stereo, anti), count in rows.items():
        reverse = rows[word, anti, stereo]
        if (count, anti) < (reverse, stereo):  # reported once, where the rarer label is
            block = first[word, stereo, anti]
            position = block.locate("flip" if any("flip" in source for source in block.sources) else "roles")
            sides = f"{anti!r} is stereo in {reverse} rows, {stereo!r} in {count}"
            message = f"labels of {word!r} go both ways: {sides}"
            yield subject.finding(position, "W508", message, "write `label_basis: trait` or `both`")


@check("W509")
def check_label_balance(subject: ConfigSubject) -> Iterator[Finding]:
    """The stereotype binds the same word in every row, so always preferring this word scores 100 %.

    A model that prefers *he* to *she* in every sentence would get the highest score, as in the verb pairs of
    carpenter in SSSB. Add words of the opposite stereotype, and `flip` their labels.
    """
    rows = [(block, row) for block, labels in subject.labelled for row in labels]
    if len({row.stereo for _, row in rows}) == 1:
        block, row = rows[0]
        message = f"stereo binds {row.stereo!r} in every row: a model that always prefers it gets 100 %"
        hint = "add words of the opposite stereotype, and flip their labels"
        yield subject.finding(block.block.locate("roles", "stereo"), "W509", message, hint)


@check("W510")
def check_exceptions(subject: ConfigSubject) -> Iterator[Finding]:
    """`contested` does not declare an exception for single words in `flip`.

    A condition on two or more slots that names words is an exception to the labelling rule (nurse with strong,
    weak, professional and unclean in SSSB). It needs as much evidence as the rule. Declare the same words in
    `contested`; scores then exclude them until somebody has checked them.
    """
    for block in subject.config.blocks:
        front = block.block.front
        flip, contested = (front.flip, front.contested) if isinstance(front, ContrastFront) else ([], [])
        for number, condition in enumerate(flip):
            slots = {key.partition(".")[0] for key in condition}
            is_exception = len(slots) > 1 and any(key.partition(".")[2] in ("", "word") for key in condition)
            if is_exception and not _is_contested(block, contested, condition):
                text = ", ".join(f"{key}: {value}" for key, value in condition.items())
                message = f"`contested` does not declare this exception: {text}"
                position = block.block.locate("flip", number)
                yield subject.finding(position, "W510", message, f"contested: [{{{text}}}]")


def _is_contested(block: ResolvedBlock, contested: list[Condition], condition: Condition) -> bool:
    """Return whether every combination of words that a condition matches is contested."""
    if condition in contested:
        return True
    slots = {key.partition(".")[0] for declared in (condition, *contested) for key in declared}
    matching = ([word for word in block.slots[slot] if _matches(condition, slot, word)] for slot in slots)
    rows = (dict(zip(slots, chosen, strict=True)) for chosen in product(*matching))
    return all(
        any(all(_matches(declared, slot, word) for slot, word in row.items()) for declared in contested)
        for row in islice(rows, MOST_ROWS)
    )


def _matches(condition: Condition, slot: str, word: Word) -> bool:
    columns = ((key.partition("."), value) for key, value in condition.items())
    return all(word.has(column or "word", value) for (name, _, column), value in columns if name == slot)
