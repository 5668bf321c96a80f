"""Sentences whose verb does not agree with its subject.

Articles that do not fit the word after them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from senseprobe.generator.checks.context import columns_of, finding, said, some
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.generator.checks.words import FUNCTION_WORDS, WORD, WORDNET, is_english, vocabulary
from senseprobe.generator.config import ResolvedBlock, ResolvedFrame
from senseprobe.generator.english import MARK, English, no_article
from senseprobe.generator.english.library import word_set
from senseprobe.generator.word_lists import Word
from senseprobe.lexicon.vocabulary import Vocabulary
from senseprobe.records import Finding

MOST_SENTENCES = 32
"""Sentences that are read of each frame and role: what does not agree is wrong whatever the words."""

_PERSON = 18  # lexnames(5WN): noun.person


@on_config("W513", lexicon=WORDNET)
def bare_verb(subject: Subject) -> Iterator[Finding]:
    """A verb does not agree with its subject: *he guide us*.

    The published verb pairs are partly made so, *he guide us* and a mother who *carefully nurse all* (UPSTREAM 1.5). A
    model scores the mistake along with the meaning. Looked for is a verb without ending after *he*, *she* and *it*, and
    after a single person with an adverb between or a pronoun behind. Use a column with the form that the frame needs,
    or `| third` and `| past`.
    """
    known = vocabulary()
    for block in subject.config.blocks if is_english(subject.dataset.card.languages) else ():
        for frame in block.frames:
            for column, (person, verb) in _bare_verbs(block, frame, known).items():
                hint = f"did you mean {_third(verb, subject.english)!r}?"
                message = f"{verb!r} does not agree with {person!r}"
                yield finding(subject.config, (frame.frame.line, column), "W513", message, hint)


def _third(verb: str, english: English) -> str:
    return {"am": "is", "are": "is", "have": "has"}.get(verb) or english.third(verb)


@dataclass(frozen=True, slots=True)
class _Token:
    """A word of a sentence as it is written, where it begins, and what stands between it and the word before."""

    text: str
    start: int
    gap: str

    @property
    def low(self) -> str:
        return self.text.lower()


def _bare_verbs(block: ResolvedBlock, frame: ResolvedFrame, known: Vocabulary) -> dict[int, tuple[str, str]]:
    """The first subject and verb that do not agree at each column of a frame."""
    found: dict[int, tuple[str, str]] = {}
    for role in block.roles:
        for starts, sentence in _sentences(block, frame, role):
            tokens = [*_tokens(sentence)]
            for subject, verb in (*_after_pronouns(tokens, known), *_after_person(tokens, known)):
                found.setdefault(_column(frame, starts, verb.start), (subject.text, verb.text))
    return found


def _sentences(block: ResolvedBlock, frame: ResolvedFrame, role: str) -> Iterator[tuple[list[int], str]]:
    """Some sentences of a frame, with the place of each segment in them; each word is in one, up to MOST_SENTENCES."""
    segments = frame.compiled.segments
    slots = block.reads(role, (name for segment in segments for name in segment.reads))
    for number in range(min(MOST_SENTENCES, max((len(block.slots[slot]) for slot in slots), default=1))):
        chosen = {slot: words[number % len(words)] for slot, words in block.slots.items()}
        texts = ["".join(said(block, role, segment, chosen) or ()) for segment in segments]
        yield [len("".join(texts[:at])) for at in range(len(texts))], "".join(texts)


def _tokens(sentence: str) -> Iterator[_Token]:
    end = 0
    for word in WORD.finditer(sentence):
        yield _Token(word[0], word.start(), sentence[end : word.start()])
        end = word.end()


def _column(frame: ResolvedFrame, starts: list[int], place: int) -> int:
    """The column of the frame that prints what is at `place` of a sentence: that of the tag, where a tag prints it."""
    at = max(number for number, start in enumerate(starts) if start <= place)
    literal = not frame.compiled.segments[at].reads
    return columns_of(frame)[at] + (place - starts[at] if literal else 0)


# ---- After he, she and it ----

# Questions and wishes have the bare verb by right (did he guide us; may she rest), and so has what is demanded.
_INVERTS = word_set("do does did can could will would shall should may might must need dare")
_DEMANDS = re.compile(
    r"demand|insist|suggest|recommend|propos|request|requir|ask|order|command|urg|advis|stipulat|mandat|prefer|rather"
    r"|lest|essential|vital|crucial|important|necessary|imperative"
)
_CLAUSE = word_set("after although and as because before but if once since so that though until when where while")
_UNLIKE = {"have", "do", "are", "am"}  # these are function words, and are verbs all the same

# Their past is like their infinitive.
_SAME_PAST = word_set(
    """
    be beat bet bid broadcast burst bust cast cost cut fit forecast hit hurt input knit let miscast offset outbid
    proofread put quit read recast reset rid set shed shut slit spit split spread sublet sweat telecast thrust typeset
    upset wed wet
    """
)


def _after_pronouns(tokens: list[_Token], known: Vocabulary) -> Iterator[tuple[_Token, _Token]]:
    demand = next((at for at, token in enumerate(tokens) if _DEMANDS.match(token.low)), len(tokens))
    for at, token in enumerate(tokens[:demand]):
        if token.text in ("he", "He", "she", "She", "it", "It") and _is_subject(tokens, at):
            verb = _verb_from(tokens, at + 1, known)
            if verb and _is_bare(verb.text, known):
                yield token, verb


def _is_subject(tokens: list[_Token], at: int) -> bool:
    """Whether the pronoun there is the one subject of a statement."""
    before = [token.low for token in tokens[max(at - 2, 0) : at]]
    if tokens[at].low == "it":  # which may be an object: made it work
        return not at or "," in tokens[at].gap or before[-1] in _CLAUSE - {"and"}
    joined = at > 0 and before[-1] in ("a", "an", "and", "or", "the") and "," not in tokens[at - 1].gap
    return not joined and not _INVERTS & {*before}


def _verb_from(tokens: list[_Token], at: int, known: Vocabulary) -> _Token | None:
    """The first of these words that is no adverb; None where a mark stands before it, or it may be an adverb."""
    for token in tokens[at : at + 3]:
        if token.gap != " ":
            return None
        if token.text in _ADVERBS:
            continue
        if token.text in _UNLIKE or not known.has(token.text, "adv"):
            return token
        if known.bases(token.text, "verb"):
            return None
    return None


_ADVERBS = word_set("also always both even ever just never not often only rarely seldom sometimes still then too")


def _is_bare(word: str, known: Vocabulary) -> bool:
    """Whether a word is the base form of a verb, and no form of its past."""
    if word in _UNLIKE:
        return True
    closed = word in FUNCTION_WORDS or word in _INVERTS or word in _SAME_PAST
    return not closed and word.islower() and known.has(word, "verb") and not known.irregular(word, "verb")


# ---- After a person ----

_DETERMINERS = word_set("a an each every her his my one our that the their this your")
_OBJECTS = word_set("him me them us")


def _after_person(tokens: list[_Token], known: Vocabulary) -> Iterator[tuple[_Token, _Token]]:
    """The person that a sentence begins with: "The mother of five carefully nurse all", "The captain guide us"."""
    start = next((at for at, token in enumerate(tokens[1:], 1) if "," in token.gap), 0)
    for first in {0, start}:
        head = _head(tokens, first, known) if tokens and tokens[first].low in _DETERMINERS else 0
        if not head:
            continue
        after = head + 1 + _length_of_phrase(tokens, head + 1)
        at = next((at for at in range(after, len(tokens)) if not _is_plain_adverb(tokens[at], known)), len(tokens))
        if at == len(tokens) or tokens[at].gap != " " or not _is_bare(tokens[at].text, known):
            continue
        objective = at + 1 < len(tokens) and tokens[at + 1].text in _OBJECTS and tokens[at + 1].gap == " "
        if (at > after and not known.has(tokens[at].text, "adj")) or objective:
            yield tokens[head], tokens[at]


def _head(tokens: list[_Token], first: int, known: Vocabulary) -> int:
    """The place of the noun for one person that ends the phrase of a determiner; 0 where there is none."""
    for at in range(first + 1, min(first + 4, len(tokens))):
        word = tokens[at].text
        if tokens[at].gap != " " or not (known.has(word, "adj") or known.has(word, "noun")):
            return 0
        if _is_person(word, known):
            return at
    return 0


def _is_person(word: str, known: Vocabulary) -> bool:
    sense = next(known.senses(word, "noun"), None)
    single = known.bases(word, "noun") == (word,) and word != "people"
    return single and sense is not None and sense.file == _PERSON and not known.has(word, "adj")


def _length_of_phrase(tokens: list[_Token], at: int) -> int:
    """How many words "of five" and "of the village" have; 0 where there is no such phrase."""
    if at >= len(tokens) or tokens[at].text != "of":
        return 0
    return 3 if at + 1 < len(tokens) and tokens[at + 1].low in _DETERMINERS else 2


def _is_plain_adverb(token: _Token, known: Vocabulary) -> bool:
    """Carefully, and not friendly or early, which may belong to a noun."""
    adverb = token.text in _ADVERBS or (token.text.endswith("ly") and known.has(token.text, "adv"))
    return token.gap == " " and adverb and not known.has(token.text, "adj")


_BEFORE_OUTPUT = re.compile(r"(?<![\w'-])(an?|An?)\s+$")
# A capital A within a sentence is more often a letter (vitamin A, plan A) than an article.
_BEFORE_WORD = re.compile(r"(?:(?<![\w'.-])(an?)|^(An?))\s+([^\W_][\w'.-]*)(?=[\s,;:.!?\"'\u201d\u2019)\]]|$)")

Problem = tuple[int, str, str]
"""Column, message and hint."""


@on_config("E116")
def wrong_article(subject: Subject) -> Iterator[Finding]:
    """An article does not fit the word after it: *a honest*, *an European*, *a headphones*.

    40 published articles are wrong, 14 of them of one occupation, so that the error goes with what is tested (UPSTREAM
    1.5). Write `{{ slot | a }}` in the place of a typed article; a list's column `article` (a, an, the or none) says
    what is right where the guess is not, as for plural and uncountable words.
    """
    if not is_english(subject.dataset.card.languages):
        return
    told = set()
    for block in subject.config.blocks:
        for frame in block.frames:
            for column, message, hint in (*_typed(subject, block, frame), *_printed(subject, block, frame)):
                place = frame.frame.line, column
                if (place, message) not in told:
                    told.add((place, message))
                    yield finding(subject.config, place, "E116", message, hint)


def _typed(subject: Subject, block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[Problem]:
    """Articles that the frame has itself, before words that it has itself, also in what a condition chooses from."""
    for at, (segment, column) in enumerate(zip(frame.compiled.segments, columns_of(frame), strict=True)):
        if segment.reads and not segment.block:
            continue
        texts = (
            [segment.render({})[0]] if not segment.reads else [text for text, _ in _said(subject, block, frame, at)[0]]
        )
        for found in (found for text in texts for found in _BEFORE_WORD.finditer(text)):
            typed, right = found[1] or found[2], _article(subject.english, found[3])
            # "Is a or b larger" has no articles.
            if typed.lower() != right and found[3].lower() not in FUNCTION_WORDS:
                place = column + (0 if segment.reads else found.start())
                yield place, f"{found[0]!r} needs {right!r}", f"{right} {found[3]}"


def _printed(subject: Subject, block: ResolvedBlock, frame: ResolvedFrame) -> Iterator[Problem]:
    """Articles before what a segment prints: those that the frame has itself, and those that `a` has guessed."""
    before = ""
    for at, (segment, column) in enumerate(zip(frame.compiled.segments, columns_of(frame), strict=True)):
        if not segment.reads:
            before = segment.render({})[0]
            continue
        said, stated = _said(subject, block, frame, at)
        if typed := _BEFORE_OUTPUT.search(before):
            yield from _unfit(subject.english, typed[1], [stated.get(text, text) for text, _ in said], column)
        plural = "plural" in frame.frame.source[column - frame.frame.column :].partition("}}")[0]
        yield from _needless([text[length:] for text, length in said if length], stated, column, plural)
        before = ""


Said = dict[tuple[str, int], None]


def _said(subject: Subject, block: ResolvedBlock, frame: ResolvedFrame, at: int) -> tuple[Said, dict[str, Word]]:
    """What a segment says in any role, with the length of its article; and the words that it prints, by their text."""
    said: Said = {}
    for role in block.roles:
        piece = subject.side(block, frame, role).pieces[at]
        said |= dict.fromkeys(zip(piece.row_texts.to_pylist(), piece.articles.tolist(), strict=True))
    prints = frame.compiled.segments[at].prints
    words = [word for role in block.roles for name in prints for word in block.words(role, name)]
    return said, {str(word): word for word in words}


def _unfit(english: English, typed: str, words: list[str], column: int) -> Iterator[Problem]:
    wrong = [word for word in words if word and _article(english, word) != typed.lower()]
    if wrong:
        message = f"{typed!r} does not fit {some(wrong)}"
        yield column - len(typed) - 1, message, "leave it out, and print the word with `| a`"


def _needless(texts: list[str], stated: dict[str, Word], column: int, plural: bool) -> Iterator[Problem]:
    wrong = []
    for text in dict.fromkeys(texts):
        word = stated.get(text) or stated.get(text[:1].lower() + text[1:])
        if no_article(text) and not (word and word.columns.get("article")):
            wrong.append(text)
    if wrong:
        hint = "remove `| a`" if plural else "say `none` in a column `article` of the list"
        yield column, f"`a` before what takes none: {some(wrong)}", hint


def _article(english: English, word: str) -> str:
    """The article that a word needs; empty where it needs none."""
    text = english.a(word)
    return text.partition(MARK)[0] if MARK in text else ""
