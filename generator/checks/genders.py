"""Pronouns of two genders in one sentence."""

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.generator.blocks import ResolvedBlock, ResolvedFrame
from senseprobe.generator.checks.reading import finding, masked
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.generator.checks.words import is_english
from senseprobe.generator.wordlists import Word
from senseprobe.records import Finding

_GENDERS = {"male": ("he", "him", "his", "himself"), "female": ("she", "her", "hers", "herself")}
_GENDER = {word: gender for gender, words in _GENDERS.items() for word in words}
_WRITTEN = {
    gender: rf"(?i)(?:^|[^a-z0-9_'-])(?:{'|'.join(words)})(?:[^a-z0-9_-]|$)" for gender, words in _GENDERS.items()
}
_PRONOUN = re.compile(rf"(?<![\w'-])(?:{'|'.join(_GENDER)})(?![\w-])", re.IGNORECASE)


@on_config("W515")
def mixed_genders(subject: Subject) -> Iterator[Finding]:
    """A frame says *he* or *she* itself where a role binds a pronoun of the other gender.

    Eight published sentences have a mentor who taught "he … her students" (UPSTREAM 1.5): whether the pair tests the
    bound pronoun or the other one, nobody can say. Print the pronoun's own column, as `{{ pronoun.possessive }}`; where
    the sentence has two people, accept the warning.
    """
    if not is_english(subject.dataset.card.languages):
        return
    seen: set[int] = set()
    for block in subject.config.blocks:
        for frame in block.frames:
            for mixed in _mixed(subject, block, frame):
                if frame.frame.line not in seen:
                    seen.add(frame.frame.line)
                    yield mixed


def _mixed(subject: Subject, block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[Finding]:
    for role in block.roles:
        read = {name for segment in frame.compiled.segments for name in segment.reads}
        words = [word for name, word in block.roles[role].items() if name in read and isinstance(word, Word)]
        bound = {_GENDER[word]: word for word in words if word in _GENDER}
        if len(bound) != 1:
            continue
        (gender, word), *_ = bound.items()
        if found := find_other_pronoun(subject.side(block, frame, role).text, gender):
            text, other = found
            message = f"{other!r} where {role} binds {str(word)!r}: {text!r}"
            yield finding(subject.config, _place(frame, other), "W515", message, "print the pronoun's own column")


def find_other_pronoun(texts: pa.Array, gender: str) -> tuple[str, str] | None:
    """The first text that has a pronoun of another gender, and the pronoun; None where no text has.

    Arrow, which is faster and knows less of letters, leaves out those texts that cannot have one.
    """
    others = "|".join(pattern for other, pattern in _WRITTEN.items() if other != gender)
    for text in dict.fromkeys(texts.filter(pc.match_substring_regex(texts, others)).to_pylist()):
        if other := next(
            (word for word in _PRONOUN.findall(text) if _GENDER.get(word.lower(), gender) != gender), None
        ):
            return text, other
    return None


def _place(frame: ResolvedFrame, word: str) -> tuple[int, int]:
    """Where a frame has the word itself, else where it begins."""
    outside = masked(frame.frame.source, "\x00")
    found = re.search(rf"\b{word}\b", outside)
    return frame.frame.line, frame.frame.column + (found.start() if found else 0)
