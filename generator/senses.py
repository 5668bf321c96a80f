"""Checks every sense key of lists and templates against its lexicon."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from senseprobe.errors import LexiconError
from senseprobe.generator.config import Config, ResolvedBlock, reference
from senseprobe.generator.word_lists import Cells, WordList
from senseprobe.lexicon import Lexicon
from senseprobe.lexicon.install import DATA_FILES, damage, wordnet_in
from senseprobe.lexicon.wordnet import LEXICONS, Vocabulary
from senseprobe.records import Finding

_CODES = {"malformed": "E301", "missing": "E302", "pos": "E303", "lemma": "E304"}
_POS = {"1": "noun", "2": "verb", "3": "adjective", "4": "adverb", "5": "adjective"}


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that `key` is a sense of `lemma` with the part of speech `pos` in a lexicon, and where it is made."""

    key: str
    lemma: str
    pos: str
    lexicon: str
    path: str
    line: int
    column: int = 1


def claims_of_list(words: WordList) -> Iterator[Claim]:
    """Yield the claims of a list's `sense_*` fields; `lemma_*` overrides the word."""
    cells = Cells(words)
    for spec in (spec for spec in words.columns.values() if spec.name.startswith("sense_")):
        pos, lexicon, path = spec.pos or "", spec.lexicon or "", words.display_path
        for word in words.words:
            if key := word.columns[spec.name]:
                lemma = str(word.columns.get(spec.name.replace("sense_", "lemma_", 1)) or word)
                yield Claim(str(key), lemma, pos, lexicon, path, word.line, cells.column(word, spec.name))


def claims_of_config(config: Config) -> Iterator[Claim]:
    """Yield the claims of literal keys in front matter: each is a sense of every word that the target can be."""
    for block in config.blocks:
        sense = block.block.front.claimed_sense
        if sense is None:
            continue
        for name in ("key", "token"):
            key = getattr(sense, name)
            if key and reference(key, block.slots) is None:
                line, column = block.block.locate("sense", name)
                # A key without a part of speech is malformed; the lexicon reports that for any part of speech.
                pos = _POS.get(key.partition("%")[2][:1], "noun")
                for lemma in _targets(block):
                    yield Claim(key, lemma, pos, sense.lexicon or "", config.template.display_path, line, column)


def _targets(block: ResolvedBlock) -> tuple[str, ...]:
    target = block.block.front.target or ""
    bound = block.slots.get(target) or (block.roles["stereo"].get(target, ""),)
    return tuple(str(word) for word in bound)


Recall = Callable[[tuple[object, ...], Callable[[], Iterable[Finding]]], Iterable[Finding]]
"""Returns the findings that depend on its first argument: those of an earlier run, or those that its second returns."""


def check(
    claims: Iterable[Claim],
    recall: Recall = lambda parts, find: find(),
    opened: dict[str, Lexicon] | None = None,
) -> tuple[list[Finding], int, int]:
    """Return findings, the number of claims that were checked, and of those whose lexicon is not installed.

    A lexicon is opened, which takes seconds, only where `recall` has no findings for a file's claims; it is then added
    to `opened`.
    """
    findings: list[Finding] = []
    checked = unchecked = 0
    opened = {} if opened is None else opened
    for (name, _), group in _by_file(claims).items():
        try:
            if not name:
                findings.extend(map(_without_lexicon, group))
            elif version := identity(name):
                findings.extend(recall((version, *group), partial(_check_group, group, name, opened)))
                checked += len(group)
            else:
                unchecked += len(group)
        except LexiconError:
            unchecked += len(group)
    return list(dict.fromkeys(findings)), checked, unchecked


def _by_file(claims: Iterable[Claim]) -> dict[tuple[str, str], list[Claim]]:
    """Return the claims by lexicon, which is empty where nothing can be looked up, and by file."""
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim in dict.fromkeys(claims):
        groups.setdefault((claim.lexicon if claim.pos else "", claim.path), []).append(claim)
    return groups


def identity(name: str) -> str | None:
    """Return what identifies a lexicon and its version, without opening it; None where it is not installed."""
    _, wordnet = wordnet_in(None)
    if name not in LEXICONS or damage(wordnet):
        return None
    return _identity(name, wordnet, tuple((wordnet / file).stat().st_mtime_ns for file in DATA_FILES))


@cache
def _identity(name: str, wordnet: Path, changed: tuple[int, ...]) -> str:
    # The files are read once while nobody changes them.
    return Lexicon(name, wordnet, Vocabulary(wordnet)).identity


def _check_group(claims: Iterable[Claim], name: str, opened: dict[str, Lexicon]) -> Iterator[Finding]:
    lexicon = opened[name] = opened.get(name) or Lexicon.open(name)
    for claim in claims:
        for problem in lexicon.check(claim.key, lemma=claim.lemma, pos=claim.pos):
            yield _finding(claim, claim.line, claim.column, _CODES[problem.kind], problem.message, problem.hint)


def _without_lexicon(claim: Claim) -> Finding:
    message = "sense keys need `lexicon` and `pos` in the descriptor of their field"
    return _finding(claim, 1, 1, "E305", message, "lexicon: wordnet-3.0, pos: noun")


def _finding(claim: Claim, line: int, column: int, code: str, message: str, hint: str) -> Finding:
    return Finding(path=claim.path, line=line, column=column, code=code, message=message, hint=hint)
