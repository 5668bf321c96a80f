"""Articles that do not fit the word after them."""

import re
from collections.abc import Iterator

from senseprobe.generator.blocks import ResolvedBlock, ResolvedFrame
from senseprobe.generator.checks.reading import columns_of, finding, some
from senseprobe.generator.checks.registry import Subject, on_config
from senseprobe.generator.checks.words import FUNCTION_WORDS, is_english
from senseprobe.generator.english import MARK, English, no_article
from senseprobe.generator.wordlists import Word
from senseprobe.records import Finding

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
        said |= dict.fromkeys(zip(piece.said.to_pylist(), piece.articles.tolist(), strict=True))
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
