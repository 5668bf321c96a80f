"""Words that name a gender where gender is tested, and pronouns of two genders in one sentence."""

import re
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.generator.checks.base import ConfigSubject, FrameSubject, check, first_words, mask_tags
from senseprobe.generator.checks.orthography import WORDS
from senseprobe.generator.config import ResolvedBlock
from senseprobe.generator.word_lists import Word
from senseprobe.records import Finding

_GENDERED: Mapping[str, str] = WORDS["gendered"]
"""Occupations and ranks in a form for one gender, with one for all where English has it."""


@check("W403")
def check_gendered_words(subject: ConfigSubject) -> Iterator[Finding]:
    """A word names a gender already where the config tests which gender a model takes for granted.

    *Actor* and *waiter* are two of the 164 occupations of Dev et al. (UPSTREAM 3.1): that a model takes a waiter for a
    man says nothing of its stereotypes. Looked at are the words of the target and those that roles bind. Leave such
    words out with `where`, or take a form for all.
    """
    if "gender" in subject.config.blocks[0].block.front.bias_type:
        blocks = subject.config.blocks
        yield from dict.fromkeys(finding for block in blocks for finding in _gendered_findings(subject, block))


def _gendered_findings(subject: ConfigSubject, block: ResolvedBlock) -> Iterator[Finding]:
    front = block.block.front
    slots = {slot for role, names in block.roles.items() for slot in block.reads(role, names)}
    for slot in block.slots:
        words = [word for word in dict.fromkeys(block.slots[slot]) if word in _GENDERED]
        if words and (slot in slots or slot == front.target):
            forms = sorted({_GENDERED[word] for word in words} - {""})
            hint = "leave them out with `where`" + (f", or say {first_words(forms)}" if forms else "")
            message = f"{slot} has words that name a gender: {first_words(words)}"
            yield subject.finding(block.block.locate("slots", slot), "W403", message, hint)


_GENDERS = {"male": ("he", "him", "his", "himself"), "female": ("she", "her", "hers", "herself")}
_GENDER = {word: gender for gender, words in _GENDERS.items() for word in words}
_WRITTEN = {
    gender: rf"(?i)(?:^|[^a-z0-9_'-])(?:{'|'.join(words)})(?:[^a-z0-9_-]|$)" for gender, words in _GENDERS.items()
}
_PRONOUN = re.compile(rf"(?<![\w'-])(?:{'|'.join(_GENDER)})(?![\w-])", re.IGNORECASE)


@check("W515")
def check_pronouns(subject: ConfigSubject) -> Iterator[Finding]:
    """A frame says *he* or *she* itself where a role binds a pronoun of the other gender.

    Eight published sentences have a mentor who taught "he … her students" (UPSTREAM 1.5): whether the pair tests the
    bound pronoun or the other one, nobody can say. Print the pronoun's own column, as `{{ pronoun.possessive }}`; where
    the sentence has two people, accept the warning.
    """
    first: dict[int, Finding] = {}
    for frame in subject.frames if subject.is_english else ():
        for finding in _mixed_genders(frame):
            first.setdefault(finding.line, finding)
    yield from first.values()


def _mixed_genders(frame: FrameSubject) -> Iterator[Finding]:
    read = {*frame.names}
    for role, bindings in frame.block.roles.items():
        words = [word for name, word in bindings.items() if name in read and isinstance(word, Word)]
        bound = {_GENDER[word]: word for word in words if word in _GENDER}
        if len(bound) != 1:
            continue
        (gender, word), *_ = bound.items()
        if match := find_other_pronoun(frame.side(role).text, gender):
            text, other = match
            # Where the frame has the word itself, else where it begins.
            own = re.search(rf"\b{other}\b", mask_tags(frame.source, "\x00"))
            column = frame.position[1] + (own.start() if own else 0)
            message = f"{other!r} where {role} binds {str(word)!r}: {text!r}"
            yield frame.finding("W515", message, "print the pronoun's own column", column)


def find_other_pronoun(texts: pa.Array, gender: str) -> tuple[str, str] | None:
    """Return the first text that has a pronoun of another gender, and the pronoun; None where no text has.

    Arrow, which is faster and knows less of letters, leaves out those texts that cannot have one.
    """
    others = "|".join(pattern for other, pattern in _WRITTEN.items() if other != gender)
    for text in dict.fromkeys(texts.filter(pc.match_substring_regex(texts, others)).to_pylist()):
        pronouns = (word for word in _PRONOUN.findall(text) if _GENDER.get(word.lower(), gender) != gender)
        if other := next(pronouns, None):
            return text, other
    return None
