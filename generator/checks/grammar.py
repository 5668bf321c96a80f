"""Verbs that do not agree with their subject, articles that do not fit the next word, and words of a gender."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.generator.checks.base import ConfigSubject, FrameSubject, check, first_words, mask_tags
from senseprobe.generator.checks.orthography import FUNCTION_WORDS, WORD, WORDNET, WORDS, load_vocabulary
from senseprobe.generator.config import ResolvedBlock
from senseprobe.generator.english import MARK, PRONOUNS, WITH_PLAIN_VERB, English, no_article
from senseprobe.generator.english.articles import article_of
from senseprobe.generator.english.inflection import third_of, word_set
from senseprobe.generator.word_lists import Word
from senseprobe.lexicon.wordnet import Vocabulary
from senseprobe.records import Finding

MOST_SENTENCES = 32
"""Sentences that are read of each frame and role: what does not agree is wrong whatever the words."""

_PERSON = 18  # lexnames(5WN): noun.person


@check("W513", lexicon=WORDNET)
def check_verb_agreement(subject: ConfigSubject) -> Iterator[Finding]:
    """A verb does not agree with its subject: *he guide us*, *they buys*.

    SSSB has such verb pairs: *he guide us*, and a mother who *carefully nurse all*. A model scores the mistake
    together with the meaning. The check looks for a verb without an ending after *he*, *she* and *it*, and after a
    single person with an adverb in between or a pronoun behind. It also looks for a verb with an ending after
    *they* and *we*. Use a column with the right form, `| agree(who)` if `who` prints the subject, or `| third` and
    `| past`.
    """
    vocabulary = load_vocabulary()
    for frame in subject.frames if subject.is_english else ():
        for column, (person, verb) in _mismatched_verbs(frame, vocabulary).items():
            right = _agreeing(person, verb, subject.english, vocabulary)
            yield frame.finding("W513", f"{verb!r} does not agree with {person!r}", f"did you mean {right!r}?", column)


_PLAIN = {"is": "are", "am": "are", "was": "were", "has": "have", "does": "do"}
_NOT = re.compile(r"n['\u2019]t$")


def _agreeing(person: str, verb: str, english: English, vocabulary: Vocabulary) -> str:
    """Return the form of a verb that does not agree with its subject that would."""
    if negation := _NOT.search(verb):
        return _agreeing(person, verb[: negation.start()], english, vocabulary) + negation[0]
    if person.lower() in WITH_PLAIN_VERB:
        return _PLAIN.get(verb) or vocabulary.bases(verb, "verb")[0]
    return {"am": "is", "are": "is", "have": "has"}.get(verb) or english.third(verb)


class _Token(NamedTuple):
    """A word of a sentence as it is written, where it begins, and the text between it and the word before."""

    text: str
    start: int
    gap: str

    @property
    def low(self) -> str:
        return self.text.lower()


def _mismatched_verbs(frame: FrameSubject, vocabulary: Vocabulary) -> dict[int, tuple[str, str]]:
    """Return the first subject and verb that do not agree at each column of a frame."""
    mismatches: dict[int, tuple[str, str]] = {}
    for role in frame.block.roles:
        for texts in _sentences(frame, role):
            tokens, starts = [*_tokens("".join(texts))], [0, *accumulate(map(len, texts))]
            for subject, verb in (*_after_pronouns(tokens, vocabulary), *_after_person(tokens, vocabulary)):
                at = max(number for number in range(len(texts)) if starts[number] <= verb.start)
                # What a tag prints is reported where the tag begins.
                offset = 0 if frame.segments[at].reads else verb.start - starts[at]
                mismatches.setdefault(frame.columns[at] + offset, (subject.text, verb.text))
    return mismatches


def _sentences(frame: FrameSubject, role: str) -> Iterator[list[str]]:
    """Yield the texts of the segments of some sentences; each word is in one, up to MOST_SENTENCES."""
    slots = frame.block.slots
    read = frame.block.reads(role, frame.names)
    for number in range(min(MOST_SENTENCES, max((len(slots[slot]) for slot in read), default=1))):
        chosen = {slot: words[number % len(words)] for slot, words in slots.items()}
        yield ["".join(frame.render(role, segment, chosen) or ()) for segment in frame.segments]


def _tokens(sentence: str) -> Iterator[_Token]:
    end = 0
    for word in WORD.finditer(sentence):
        yield _Token(word[0], word.start(), sentence[end : word.start()])
        end = word.end()


# ---- After he, she and it, they and we ----

# Questions and wishes have the bare verb by right (did he guide us; may she rest), and so has what is demanded.
_INVERTS = word_set("do does did can could will would shall should may might must need dare")
_DEMANDS = re.compile(
    r"demand|insist|suggest|recommend|propos|request|requir|ask|order|command|urg|advis|stipulat|mandat|prefer|rather"
    r"|lest|essential|vital|crucial|important|necessary|imperative"
)
_CLAUSE = word_set("after although and as because before but if once since so that though until when where while")
_FUNCTION_VERBS = {"have", "do", "are", "am"}
_ADVERBS = word_set("also always both even ever just never not often only rarely seldom sometimes still then too")

_SAME_PAST = word_set(WORDS["same_past"])


def _after_pronouns(tokens: list[_Token], vocabulary: Vocabulary) -> Iterator[tuple[_Token, _Token]]:
    demand = next((at for at, token in enumerate(tokens) if _DEMANDS.match(token.low)), len(tokens))
    for at, token in enumerate(tokens[:demand]):
        if (is_mismatch := _MISMATCHES.get(token.text[0].lower() + token.text[1:])) and _is_subject(tokens, at):
            verb = _verb_from(tokens, at + 1, vocabulary)
            if verb and is_mismatch(_NOT.sub("", verb.text), vocabulary):
                yield token, verb


def _is_subject(tokens: list[_Token], at: int) -> bool:
    """Return whether the pronoun there is the one subject of a statement."""
    before = [token.low for token in tokens[max(at - 2, 0) : at]]
    if tokens[at].low == "it":  # which may be an object: made it work
        return not at or "," in tokens[at].gap or before[-1] in _CLAUSE - {"and"}
    joined = at > 0 and before[-1] in ("a", "an", "and", "or", "the") and "," not in tokens[at - 1].gap
    return not joined and not _INVERTS & {*before}


def _verb_from(tokens: list[_Token], at: int, vocabulary: Vocabulary) -> _Token | None:
    """Return the first of these words that is not an adverb; None after a mark, or where it may be an adverb."""
    for token in tokens[at : at + 3]:
        if token.gap != " ":
            return None
        if token.text in _ADVERBS:
            continue
        if token.text in _FUNCTION_VERBS or not vocabulary.has(token.text, "adv"):
            return token
        if vocabulary.bases(token.text, "verb"):
            return None
    return None


def _is_bare(word: str, vocabulary: Vocabulary) -> bool:
    """Return whether a word is the base form of a verb, and not a form of its past."""
    if word in _FUNCTION_VERBS:
        return True
    closed = word in FUNCTION_WORDS or word in _INVERTS or word in _SAME_PAST
    return not closed and word.islower() and vocabulary.has(word, "verb") and not vocabulary.irregular(word, "verb")


def _has_ending(word: str, vocabulary: Vocabulary) -> bool:
    """Return whether a word is the form of a verb that *she* takes."""
    return word in _PLAIN or any(base != word == third_of(base) for base in vocabulary.bases(word, "verb"))


_MISMATCHES = {**dict.fromkeys(("he", "she", "it"), _is_bare), **dict.fromkeys(("they", "we"), _has_ending)}


# ---- After a person ----

_DETERMINERS = word_set("a an each every her his my one our that the their this your")
_OBJECTS = word_set("him me them us")


def _after_person(tokens: list[_Token], vocabulary: Vocabulary) -> Iterator[tuple[_Token, _Token]]:
    """Yield the person that a sentence begins with, and its verb: "The mother of five carefully nurse all"."""
    start = next((at for at, token in enumerate(tokens[1:], 1) if "," in token.gap), 0)
    for first in {0, start}:
        head = _head(tokens, first, vocabulary) if tokens and tokens[first].low in _DETERMINERS else 0
        if not head:
            continue
        after = head + 1
        if after < len(tokens) and tokens[after].text == "of":  # "of five", "of the village"
            after += 3 if after + 1 < len(tokens) and tokens[after + 1].low in _DETERMINERS else 2
        at = next((at for at in range(after, len(tokens)) if not _is_plain_adverb(tokens[at], vocabulary)), len(tokens))
        if at == len(tokens) or tokens[at].gap != " " or not _is_bare(tokens[at].text, vocabulary):
            continue
        objective = at + 1 < len(tokens) and tokens[at + 1].text in _OBJECTS and tokens[at + 1].gap == " "
        if (at > after and not vocabulary.has(tokens[at].text, "adj")) or objective:
            yield tokens[head], tokens[at]


def _head(tokens: list[_Token], first: int, vocabulary: Vocabulary) -> int:
    """Return the index of the noun for one person that ends the phrase of a determiner; 0 where there is none."""
    for at in range(first + 1, min(first + 4, len(tokens))):
        word = tokens[at].text
        if tokens[at].gap != " " or not (vocabulary.has(word, "adj") or vocabulary.has(word, "noun")):
            return 0
        sense = next(vocabulary.senses(word, "noun"), None)
        is_person = sense is not None and sense.file == _PERSON and word != "people"
        if is_person and vocabulary.bases(word, "noun") == (word,) and not vocabulary.has(word, "adj"):
            return at
    return 0


def _is_plain_adverb(token: _Token, vocabulary: Vocabulary) -> bool:
    """Return whether it is an adverb as carefully is; friendly and early may belong to a noun."""
    adverb = token.text in _ADVERBS or (token.text.endswith("ly") and vocabulary.has(token.text, "adv"))
    return token.gap == " " and adverb and not vocabulary.has(token.text, "adj")


# ---- Articles ----

_BEFORE_OUTPUT = re.compile(r"(?<![\w'-])(an?|An?)\s+$")
# A capital A within a sentence is more often a letter (vitamin A, plan A) than an article.
_BEFORE_WORD = re.compile(r"(?:(?<![\w'.-])(an?)|^(An?))\s+([^\W_][\w'.-]*)(?=[\s,;:.!?\"'\u201d\u2019)\]]|$)")


@check("E116")
def check_articles(subject: ConfigSubject) -> Iterator[Finding]:
    """An article does not fit the next word: *a honest*, *an European*, *a headphones*, *the they*.

    SSSB has 40 wrong articles, 14 of them with one occupation, so the errors depend on the tested word. Write
    `{{ slot | a }}` instead of a typed article. If the guess is wrong, as for plural and uncountable words, give
    the list a column `article` (a, an, the or none). If one role binds a noun and the other a pronoun, use
    `{{ slot | the }}`: it prints an article only before the noun.
    """
    frames = subject.frames if subject.is_english else ()
    finders = _typed_articles, _articles_before_output, _articles_before_pronouns
    yield from dict.fromkeys(finding for frame in frames for find in finders for finding in find(frame))


def _typed_articles(frame: FrameSubject) -> Iterator[Finding]:
    """Yield articles of the frame itself, before words of the frame itself, also in what a condition chooses from."""
    for at, (segment, column) in enumerate(zip(frame.segments, frame.columns, strict=True)):
        if segment.reads and not segment.block:
            continue
        texts = [text for text, _ in _segment_texts(frame, at)[0]] if segment.reads else [segment.render({})[0]]
        needed = partial(_needed_article, frame.config_subject.english)
        for match, right in (mistake for text in texts for mistake in find_article_mistakes(text, needed)):
            start = column + (0 if segment.reads else match.start())
            yield frame.finding("E116", f"{match[0]!r} needs {right!r}", f"{right} {match[3]}", start)


def find_article_mistakes(text: str, needed: Callable[[str], str] = article_of) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each article that does not fit the word after it, as a match, and the right one."""
    for match in _BEFORE_WORD.finditer(text):
        typed, right = match[1] or match[2], needed(match[3])
        # "Is a or b larger" has no articles.
        if typed.lower() != right and match[3].lower() not in FUNCTION_WORDS:
            yield match, right


def _articles_before_output(frame: FrameSubject) -> Iterator[Finding]:
    """Yield articles before what a segment prints: those that the frame has itself, and those that `a` has guessed."""
    english, before = frame.config_subject.english, ""
    for at, (segment, column) in enumerate(zip(frame.segments, frame.columns, strict=True)):
        if not segment.reads:
            before = segment.render({})[0]
            continue
        texts, words_by_text = _segment_texts(frame, at)
        if typed := _BEFORE_OUTPUT.search(before):
            words = [words_by_text.get(text, text) for text, _ in texts]
            if unfit := [word for word in words if word and _needed_article(english, word) != typed[1].lower()]:
                message = f"{typed[1]!r} does not fit {first_words(unfit)}"
                hint = "remove it, and print the word with `| a`"
                yield frame.finding("E116", message, hint, column - len(typed[1]) - 1)
        needless = []
        for text in dict.fromkeys(text[length:] for text, length in texts if length):
            word = words_by_text.get(text) or words_by_text.get(text[:1].lower() + text[1:])
            if no_article(text) and not (word and word.columns.get("article")):
                needless.append(text)
        if needless:
            plural = "plural" in frame.source[column - frame.position[1] :].partition("}}")[0]
            hint = "remove `| a`" if plural else "write `none` in a column `article` of the list"
            yield frame.finding("E116", f"`a` before a word without an article: {first_words(needless)}", hint, column)
        before = ""


_ARTICLE_END = re.compile(r"(?i)(?<![\w'-])(the|an?)\s+$")
_PRONOUN_START = rf"(?i)^(?:{'|'.join(sorted(PRONOUNS))})(?:[^a-z0-9_'-]|$)"


def _articles_before_pronouns(frame: FrameSubject) -> Iterator[Finding]:
    """Yield articles before a pronoun that a segment prints: *the they*."""
    unfit: dict[int, list[str]] = {}
    for pieces in (side.pieces for side in frame.sides()):
        for column, before, after in zip(frame.columns[1:], pieces, pieces[1:], strict=False):
            if not pc.any(pc.match_substring_regex(after.texts, _PRONOUN_START)).as_py():
                continue
            rows = dict.fromkeys(zip(before.row_texts.to_pylist(), after.row_texts.to_pylist(), strict=True))
            pairs = [(match[1], text) for head, text in rows if (match := _ARTICLE_END.search(head))]
            phrases = [f"{article} {text}" for article, text in pairs if re.match(_PRONOUN_START, text)]
            unfit.setdefault(column, []).extend(phrases)
    for column, texts in unfit.items():
        if texts:
            hint = "remove the article, and print the word with `| the`"
            yield frame.finding("E116", f"an article before a pronoun: {first_words(texts)}", hint, column)


Texts = dict[tuple[str, int], None]


def _segment_texts(frame: FrameSubject, at: int) -> tuple[Texts, dict[str, Word]]:
    """Return what a segment prints in any role, with the length of its article; and the words by their text."""
    texts: Texts = {}
    for role in frame.block.roles:
        piece = frame.side(role).pieces[at]
        texts |= dict.fromkeys(zip(piece.row_texts.to_pylist(), piece.articles.tolist(), strict=True))
    prints = frame.segments[at].prints
    words = [word for role in frame.block.roles for name in prints for word in frame.block.words(role, name)]
    return texts, {str(word): word for word in words}


def _needed_article(english: English, word: str) -> str:
    """Return the article that a word needs; empty where it needs none."""
    text = english.a(word)
    return text.partition(MARK)[0] if MARK in text else ""


# ---- Gender ----

_GENDERED: Mapping[str, str] = WORDS["gendered"]
"""Occupations and ranks in a form for one gender, with one for all where English has it."""


@check("W403")
def check_gendered_words(subject: ConfigSubject) -> Iterator[Finding]:
    """A word names a gender, but the config tests which gender a model assumes.

    *Actor* and *waiter* are two of the 164 occupations of Dev et al. A model that takes a waiter for a man does not
    show a stereotype. The check looks at the target's words and at the words that roles bind. Exclude such words
    with `where`, or use a form for all genders.
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
            hint = "exclude them with `where`" + (f", or use {first_words(forms)}" if forms else "")
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
    """A frame contains *he* or *she*, but a role binds a pronoun of the other gender.

    Eight sentences of SSSB have a mentor who taught "he … her students". It is unclear whether such a pair tests
    the bound pronoun or the other one. Print the column of the bound pronoun, as in `{{ pronoun.possessive }}`. If
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
            typed = re.search(rf"\b{other}\b", mask_tags(frame.source, "\x00"))
            column = frame.position[1] + (typed.start() if typed else 0)
            message = f"{other!r} is in a sentence where {role} binds {str(word)!r}: {text!r}"
            yield frame.finding("W515", message, "print the pronoun's own column", column)


def find_genders(text: str) -> dict[str, str]:
    """Return the genders of the pronouns in a text, each with the first pronoun of it.

    >>> find_genders("He saw her.")
    {'male': 'He', 'female': 'her'}
    """
    genders: dict[str, str] = {}
    for word in _PRONOUN.findall(text):
        genders.setdefault(_GENDER[word.lower()], word)
    return genders


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
