"""Questions with a right answer, made of a release's own rows: whether a model can answer questions about a text."""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from senseprobe.evaluate.served.conversation import CONTROL_ITEMS, ControlItem

MENTIONED = "Which of these is mentioned in the text?"
QUOTED = "Which of these sentences is in the text?"

_ENDS = re.compile(r"(?<=[.!?])\s+")
_ARTICLE = re.compile(r"(?:the|an|a)\s+", re.IGNORECASE)


def make_control_items(tables: Mapping[str, pd.DataFrame], seed: int) -> list[ControlItem]:
    """Return up to `CONTROL_ITEMS` items made of contexts and answers, half of either kind, by `seed`.

    - mentions: an answer about a person (or thing) of the context, and two of other rows that are not in it;
    - quotes: the first sentence of the context, and two first sentences of other contexts that are not in it.

    Neither is about what a stereotype says. The right answer is the first of an item's three.
    """
    answers: dict[str, tuple[str, str]] = {}
    for table in tables.values():
        rows = zip(table["context"], table["stereo"], table["anti"], strict=True)
        # Two questions about a context may have each other's answers.
        answers |= {str(context): (min(both), max(both)) for context, *both in rows}
    generator, contexts = np.random.default_rng(seed), sorted(answers)
    order = [contexts[number] for number in generator.permutation(len(contexts))]
    people = [answers[context][:: 1 if number % 2 else -1] for number, context in enumerate(order)]
    sentences = [(_ENDS.split(context)[0],) for context in order]
    return [
        *_draw_items("mentions", MENTIONED, order, people, generator),
        *_draw_items("quotes", QUOTED, order[::-1], sentences[::-1], generator),
    ]


def _draw_items(
    kind: str, question: str, contexts: Sequence[str], right: Sequence[Sequence[str]], generator: np.random.Generator
) -> Iterator[ControlItem]:
    """Yield half of the items: of a context the first of its right answers that is in it, and two that are not."""
    all_answers = sorted({answer for answers in right for answer in answers})
    made = 0
    for context, answers in zip(contexts, right, strict=True):
        if 2 * made == CONTROL_ITEMS:
            return
        fitting = [answer for answer in answers if _is_in(context, answer)]
        shuffled = (all_answers[number] for number in generator.permutation(len(all_answers)))
        wrong = [answer for answer in shuffled if _is_foreign(context, answer)][:2]
        if fitting and len(wrong) == 2:
            made += 1
            yield ControlItem("", f"{context}\n{question}", "\n".join([fitting[0], *wrong]), kind)


def _is_in(context: str, answer: str) -> bool:
    """Return whether a context has an answer word for word, its article left out."""
    core = _ARTICLE.sub("", answer, count=1) if _ARTICLE.match(answer) else answer
    return f" {_words(core)} " in f" {_words(context)} "


def _is_foreign(context: str, answer: str) -> bool:
    """Return whether a word of an answer is not in a context at all: what it says is not mentioned there."""
    return not {*_words(answer).split()} <= {*_words(context).split(), "the", "a", "an"}


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
