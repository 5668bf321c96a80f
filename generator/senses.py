"""Every sense key that lists and templates claim, held against its lexicon."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from senseprobe.errors import LexiconError
from senseprobe.generator.blocks import Config, ResolvedBlock, reference
from senseprobe.generator.declarations import ContrastFront
from senseprobe.generator.wordlists import WordList
from senseprobe.lexicon import Lexicon, Problem
from senseprobe.records import Finding

__all__ = ["Claim", "check", "claims_of_config", "claims_of_list"]

_CODES = {"malformed": "E301", "missing": "E302", "pos": "E303", "lemma": "E304"}
_POS = {"1": "noun", "2": "verb", "3": "adjective", "4": "adverb", "5": "adjective"}


@dataclass(frozen=True, slots=True)
class Claim:
    """A key that is said to be a sense of `lemma`, with the part of speech `pos`, in a lexicon; and who says so."""

    key: str
    lemma: str
    pos: str
    lexicon: str
    path: str
    line: int
    column: int = 1


def claims_of_list(words: WordList) -> Iterator[Claim]:
    """The claims of a list's `sense_*` fields; `lemma_*` overrides the word."""
    for spec in words.columns.values():
        if not spec.name.startswith("sense_"):
            continue
        lemma = spec.name.replace("sense_", "lemma_", 1)
        for word in words.words:
            if key := word.columns[spec.name]:
                said = str(word.columns.get(lemma) or word)
                yield Claim(str(key), said, spec.pos or "", spec.lexicon or "", words.shown, word.line)


def claims_of_config(config: Config) -> Iterator[Claim]:
    """The claims of the literal keys in front matter: each is a sense of every word that the target can be."""
    for block in config.blocks:
        front = block.block.front
        if not isinstance(front, ContrastFront):
            continue
        sense = front.sense
        for name in ("key", "token"):
            key = getattr(sense, name)
            if key and reference(key, block.slots) is None:
                line, column = block.block.place("sense", name)
                # A key without a part of speech is malformed, which the lexicon says of it whatever is asked.
                pos = _POS.get(key.partition("%")[2][:1], "noun")
                for lemma in _targets(block):
                    yield Claim(key, lemma, pos, sense.lexicon or "", config.template.shown, line, column)


def _targets(block: ResolvedBlock) -> tuple[str, ...]:
    target = block.block.front.target or ""
    bound = block.slots.get(target) or (block.roles["stereo"].get(target, ""),)
    return tuple(str(word) for word in bound)


def check(claims: Iterable[Claim]) -> tuple[list[Finding], int, int]:
    """Findings, and how many claims were checked, and how many could not be because their lexicon is not there."""
    findings, checked, unchecked = [], 0, 0
    opened: dict[str, Lexicon | None] = {}
    for claim in dict.fromkeys(claims):
        lexicon = _open(claim.lexicon, opened)
        if not claim.lexicon or not claim.pos:
            message = "sense keys need `lexicon` and `pos` in the descriptor of their field"
            findings.append(Finding(path=claim.path, line=1, column=1, code="E305", message=message))
        elif lexicon is None:
            unchecked += 1
        else:
            checked += 1
            findings.extend(_finding(claim, _CODES[p.kind], p.message, p.hint) for p in _problems(lexicon, claim))
    return list(dict.fromkeys(findings)), checked, unchecked


def _problems(lexicon: Lexicon, claim: Claim) -> tuple[Problem, ...]:
    return lexicon.check(claim.key, lemma=claim.lemma, pos=claim.pos)


def _open(name: str, opened: dict[str, Lexicon | None]) -> Lexicon | None:
    if name not in opened:
        try:
            opened[name] = Lexicon.open(name)
        except LexiconError:
            opened[name] = None
    return opened[name]


def _finding(claim: Claim, code: str, message: str, hint: str = "") -> Finding:
    return Finding(path=claim.path, line=claim.line, column=claim.column, code=code, message=message, hint=hint)
