"""The sense keys of configs with their glosses, and a check of every key of lists and templates with its lexicon."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from senseprobe.errors import LexiconError
from senseprobe.generator.config import Config, ResolvedBlock, reference
from senseprobe.generator.schema import Sense
from senseprobe.generator.word_lists import Cells, WordList, WordLists
from senseprobe.lexicon import Lexicon
from senseprobe.lexicon.install import DATA_FILES, damage, wordnet_in
from senseprobe.lexicon.wordnet import LEXICONS, Vocabulary, part_of_speech
from senseprobe.records import Finding

_CODES = {"malformed": "E301", "missing": "E302", "pos": "E303", "lemma": "E304"}


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


def list_claims(words: WordList) -> Iterator[Claim]:
    """Yield the claims of a list's `sense_*` fields; `lemma_*` overrides the word."""
    cells = Cells(words)
    for spec in (spec for spec in words.columns.values() if spec.name.startswith("sense_")):
        pos, lexicon, path = spec.pos or "", spec.lexicon or "", words.display_path
        for word in words.words:
            if key := word.columns[spec.name]:
                lemma = str(word.columns.get(spec.name.replace("sense_", "lemma_", 1)) or word)
                yield Claim(str(key), lemma, pos, lexicon, path, word.line, cells.column(word, spec.name))


def config_claims(config: Config) -> Iterator[Claim]:
    """Yield the claims of literal keys in front matter: each is a sense of every word that the target can be."""
    for block in config.blocks:
        sense = _declared(block)
        for name, key in sense_texts(block).items():
            if sense and key and reference(key, block.slots) is None:
                line, column = block.block.locate("sense", name)
                # A key without a part of speech is malformed; the lexicon reports that for any part of speech.
                pos, path = part_of_speech(key) or "noun", config.template.display_path
                for lemma, _ in sense_keys(block, key):
                    yield Claim(key, lemma, pos, sense.lexicon or "", path, line, column)


def check(claims: Iterable[Claim], opened: dict[str, Lexicon]) -> tuple[list[Finding], int, int]:
    """Return findings, the number of claims that were checked, and of those whose lexicon is not installed."""
    findings: list[Finding] = []
    checked = unchecked = 0
    groups: dict[tuple[str, str], list[Claim]] = {}  # by lexicon, empty where nothing can be looked up, and by file
    for claim in dict.fromkeys(claims):
        groups.setdefault((claim.lexicon if claim.pos else "", claim.path), []).append(claim)
    for (name, path), group in groups.items():
        try:
            if not name:
                message = "sense keys need `lexicon` and `pos` in their field of the descriptor"
                hint = "lexicon: wordnet-3.0, pos: noun"
                findings.append(Finding(path=path, line=1, column=1, code="E305", message=message, hint=hint))
            elif identity(name):
                lexicon = opened[name] = opened.get(name) or Lexicon.open(name)
                findings += [finding for claim in group for finding in _check(claim, lexicon)]
                checked += len(group)
            else:
                unchecked += len(group)
        except LexiconError:
            unchecked += len(group)
    return list(dict.fromkeys(findings)), checked, unchecked


def _check(claim: Claim, lexicon: Lexicon) -> Iterator[Finding]:
    for problem in lexicon.check(claim.key, lemma=claim.lemma, pos=claim.pos):
        line, column, code = claim.line, claim.column, _CODES[problem.kind]
        yield Finding(path=claim.path, line=line, column=column, code=code, message=problem.message, hint=problem.hint)


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


# ---- The senses of a config ----

Gloss = Callable[[str, str], str | None]
"""Returns what a lexicon says of a key: None where it is not installed, empty where it has no such sense."""

MOST_SENSES = 200
"""Senses of a config that a release lists on its card."""


@dataclass(frozen=True, slots=True)
class WordSense:
    """A sense key in a `column` of a config's rows, its word, its gloss as `Gloss` returns it, and how many rows."""

    column: str
    word: str
    key: str
    lexicon: str
    gloss: str | None
    rows: int

    def __str__(self) -> str:
        """Return word, key and gloss."""
        missing = "no gloss: run `senseprobe wordnet`" if self.gloss is None else f"not in {self.lexicon}"
        return f"{self.word} {self.key} ({self.gloss or missing})" if self.key else f"{self.word} (no sense key)"


def open_glosses() -> Gloss:
    """Return a function that looks up glosses; it opens each lexicon once."""

    @cache
    def opened(name: str) -> Lexicon | None:
        return Lexicon.open(name) if identity(name) else None

    @cache
    def gloss(name: str, key: str) -> str | None:
        lexicon = opened(name)
        return lexicon.gloss(key) if lexicon else None

    return gloss


def sense_texts(block: ResolvedBlock) -> dict[str, str | None]:
    """Return what a block declares as `key` and as `token`; empty where its rows have no senses."""
    sense = _declared(block)
    return {"key": sense.key, "token": sense.token} if sense else {}


def sense_keys(block: ResolvedBlock, text: str) -> list[tuple[str, str]]:
    """Return words and keys, which may be empty: of ``slot.column`` those of the slot's words, else the target's."""
    if source := reference(text, block.slots):
        return [(str(word), str(word.columns[source[1]] or "")) for word in block.slots[source[0]]]
    target = block.block.front.target
    return [(str(word), text) for word in (block.words("stereo", target) if target else ("",))]


def lexicon_of(text: str | None, block: ResolvedBlock, lists: WordLists) -> str | None:
    """Return the lexicon of ``slot.column`` or of a literal key; None where there is none."""
    if source := reference(text, block.slots):
        words = lists.get(block.block.front.slots[source[0]].list)
        return words.columns[source[1]].lexicon if words else None
    sense = _declared(block)
    return sense.lexicon if sense and text else None


def find_senses(config: Config, lists: WordLists, gloss: Gloss) -> list[WordSense]:
    """Return the senses of a config, with rows before verdicts; of its tokens those that no word has as `sense_key`."""
    rows: Counter[tuple[str, str, str, str]] = Counter()
    for name in ("key", "token"):
        for block in config.blocks:
            text = sense_texts(block).get(name)
            keys, lexicon = sense_keys(block, text) if text else [], lexicon_of(text, block, lists) or ""
            for word, key in keys:
                if name == "key" or ("sense_key", word, key, lexicon) not in rows:
                    rows["sense_key" if name == "key" else "token_key", word, key, lexicon] += block.size // len(keys)
    return [
        WordSense(column, word, key, lexicon, gloss(lexicon, key) if key else "", n)
        for (column, word, key, lexicon), n in rows.items()
    ]


def _declared(block: ResolvedBlock) -> Sense | None:
    sense: Sense | None = getattr(block.block.front, "sense", None)
    return sense
