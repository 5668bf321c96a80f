"""Words that name a gender where gender is tested.

Pronouns of two genders in one sentence.
"""

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.generator.checks.context import finding, masked, some
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.generator.checks.words import is_english
from senseprobe.generator.config import Config, ResolvedBlock, ResolvedFrame
from senseprobe.generator.word_lists import Word
from senseprobe.records import Finding

# Occupations and ranks in a form for one gender, with one for all where English has it.
_GENDERED = {
    "actor": "performer", "actress": "performer", "alderman": "", "anchorman": "anchor", "barmaid": "bartender",
    "barman": "bartender", "baron": "", "baroness": "", "businessman": "business person",
    "businesswoman": "business person", "cameraman": "camera operator", "chairman": "chair", "chairwoman": "chair",
    "chambermaid": "cleaner", "cleaning lady": "cleaner", "comedienne": "comedian", "congressman": "legislator",
    "congresswoman": "legislator", "countess": "", "craftsman": "artisan", "duchess": "", "duke": "",
    "emperor": "ruler", "empress": "ruler", "fireman": "firefighter", "fisherman": "fisher", "foreman": "supervisor",
    "governess": "tutor", "handyman": "repairer", "headmaster": "head teacher", "headmistress": "head teacher",
    "heiress": "heir", "hostess": "host", "king": "monarch", "landlady": "property owner", "landlord": "property owner",
    "mailman": "mail carrier", "maid": "cleaner", "masseur": "massage therapist", "masseuse": "massage therapist",
    "midwife": "", "milkman": "", "monk": "", "nun": "", "poetess": "poet", "policeman": "police officer",
    "policewoman": "police officer", "postman": "mail carrier", "postmaster": "", "postmistress": "",
    "priestess": "priest", "prince": "", "princess": "", "queen": "monarch", "repairman": "repairer",
    "salesman": "salesperson", "saleswoman": "salesperson", "seamstress": "sewer", "serviceman": "service member",
    "servicewoman": "service member", "sorceress": "sorcerer", "spokesman": "spokesperson",
    "spokeswoman": "spokesperson", "sportsman": "athlete", "sportswoman": "athlete", "statesman": "",
    "steward": "flight attendant", "stewardess": "flight attendant", "waiter": "server", "waitress": "server",
    "watchman": "guard", "weatherman": "forecaster", "workman": "worker",
}  # fmt: skip


@on_config("W403")
def gendered_word(subject: Subject) -> Iterator[Finding]:
    """A word names a gender already where the config tests which gender a model takes for granted.

    *Actor* and *waiter* are two of the 164 occupations of Dev et al. (UPSTREAM 3.1): that a model takes a waiter for a
    man says nothing of its stereotypes. Looked at are the words of the target and those that roles bind. Leave such
    words out with `where`, or take a form for all.
    """
    if "gender" in subject.config.blocks[0].block.front.bias_type:
        yield from dict.fromkeys(one for block in subject.config.blocks for one in _gendered(subject.config, block))


def _gendered(config: Config, block: ResolvedBlock) -> Iterator[Finding]:
    front = block.block.front
    slots = {slot for role, names in block.roles.items() for slot in block.reads(role, names)}
    for slot in block.slots:
        found = [word for word in dict.fromkeys(block.slots[slot]) if word in _GENDERED]
        if found and (slot in slots or slot == front.target):
            forms = sorted({_GENDERED[word] for word in found} - {""})
            hint = "leave them out with `where`" + (f", or say {some(forms)}" if forms else "")
            message = f"{slot} has words that name a gender: {some(found)}"
            yield finding(config, block.block.locate("slots", slot), "W403", message, hint)


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
