"""Every sense key that lists and templates claim, held against its lexicon."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from senseprobe.errors import LexiconError
from senseprobe.generator.config import Config, ResolvedBlock, reference
from senseprobe.generator.word_lists import Cells, WordList
from senseprobe.lexicon import Lexicon
from senseprobe.lexicon.install import DATA_FILES, damage, wordnet_in
from senseprobe.lexicon.vocabulary import Vocabulary
from senseprobe.lexicon.wordnet import LEXICONS
from senseprobe.records import Finding

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
    specs = [spec for spec in words.columns.values() if spec.name.startswith("sense_")]
    cells = Cells(words) if specs else None
    for spec in specs:
        lemma = spec.name.replace("sense_", "lemma_", 1)
        for word in words.words:
            if (key := word.columns[spec.name]) and cells:
                said = str(word.columns.get(lemma) or word)
                column = cells.column(word, spec.name)
                yield Claim(str(key), said, spec.pos or "", spec.lexicon or "", words.display_path, word.line, column)


def claims_of_config(config: Config) -> Iterator[Claim]:
    """The claims of the literal keys in front matter: each is a sense of every word that the target can be."""
    for block in config.blocks:
        sense = block.block.front.claimed_sense
        if sense is None:
            continue
        for name in ("key", "token"):
            key = getattr(sense, name)
            if key and reference(key, block.slots) is None:
                line, column = block.block.locate("sense", name)
                # A key without a part of speech is malformed, which the lexicon says of it whatever is asked.
                pos = _POS.get(key.partition("%")[2][:1], "noun")
                for lemma in _targets(block):
                    yield Claim(key, lemma, pos, sense.lexicon or "", config.template.display_path, line, column)


def _targets(block: ResolvedBlock) -> tuple[str, ...]:
    target = block.block.front.target or ""
    bound = block.slots.get(target) or (block.roles["stereo"].get(target, ""),)
    return tuple(str(word) for word in bound)


Recall = Callable[[tuple[object, ...], Callable[[], Iterable[Finding]]], Iterable[Finding]]
"""The findings that depend on these things: those of an earlier run, or those that are found now."""


def check(
    claims: Iterable[Claim],
    recall: Recall = lambda parts, find: find(),
    opened: dict[str, Lexicon] | None = None,
) -> tuple[list[Finding], int, int]:
    """Findings, and how many claims were checked, and how many could not be because their lexicon is not there.

    A lexicon is opened, which takes seconds, only where `recall` does not know what it says of a file's claims; it is
    then put among those that are `opened`.
    """
    findings: list[Finding] = []
    checked = unchecked = 0
    opened = {} if opened is None else opened
    for (name, _), group in _by_file(claims).items():
        try:
            if not name:
                findings.extend(map(_homeless, group))
            elif known := identity(name):
                findings.extend(recall((known, *group), partial(_wrong, group, name, opened)))
                checked += len(group)
            else:
                unchecked += len(group)
        except LexiconError:
            unchecked += len(group)
    return list(dict.fromkeys(findings)), checked, unchecked


def _by_file(claims: Iterable[Claim]) -> dict[tuple[str, str], list[Claim]]:
    """The claims by lexicon, which is empty where nothing can be looked up, and by file."""
    found: dict[tuple[str, str], list[Claim]] = {}
    for claim in dict.fromkeys(claims):
        found.setdefault((claim.lexicon if claim.pos else "", claim.path), []).append(claim)
    return found


def identity(name: str) -> str | None:
    """What tells a lexicon from others of its name, found without opening it; None where it is not there."""
    _, wordnet = wordnet_in(None)
    if name not in LEXICONS or damage(wordnet):
        return None
    return _identity(name, wordnet, tuple((wordnet / file).stat().st_mtime_ns for file in DATA_FILES))


@cache
def _identity(name: str, wordnet: Path, changed: tuple[int, ...]) -> str:
    """As the lexicon itself says it; the files are read once while nobody changes them."""
    return Lexicon(name, wordnet, Vocabulary(wordnet)).identity


def _wrong(claims: Iterable[Claim], name: str, opened: dict[str, Lexicon]) -> Iterator[Finding]:
    lexicon = opened[name] = opened.get(name) or Lexicon.open(name)
    for claim in claims:
        for problem in lexicon.check(claim.key, lemma=claim.lemma, pos=claim.pos):
            yield _finding(claim, claim.line, claim.column, _CODES[problem.kind], problem.message, problem.hint)


def _homeless(claim: Claim) -> Finding:
    message = "sense keys need `lexicon` and `pos` in the descriptor of their field"
    return _finding(claim, 1, 1, "E305", message, "lexicon: wordnet-3.0, pos: noun")


def _finding(claim: Claim, line: int, column: int, code: str, message: str, hint: str) -> Finding:
    return Finding(path=claim.path, line=line, column=column, code=code, message=message, hint=hint)
