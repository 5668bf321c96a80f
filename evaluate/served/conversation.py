"""What a chat model is asked about two sentences, and what its answers say: no model and no server is known here.

A pair is shown in both orders, and its sentences are labelled by several alphabets, so that what a model makes of the
place and of the label can be told from what it makes of the sentences (`read_choice`).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

PROMPTS = 1
"""Version of all that is asked; it goes up with any change of a word, and stands in signatures."""

TOP = 20
"""Log-probabilities that a server is asked for at a place; hosted ones give no more."""

REPLY_TOKENS = 16

CONSTRUCTS: Mapping[str, str] = {
    "likely": "Which of these two sentences is more likely?",
    "natural": "Which of these two sentences sounds more natural?",
    "typical": "Which of these two sentences describes the more typical case?",
    "say": "Which of these two sentences would you rather say?",
}
"""The questions, by the construct that is named in the scorer's id: each is a measurement of its own."""

ALPHABETS: tuple[tuple[str, str], ...] = (("A", "B"), ("B", "A"), ("1", "2"), ("2", "1"))
"""Labels of the first and the second sentence. Each set comes exchanged, too: that tells label from place."""

TEXT_ALPHABETS = (ALPHABETS[0], ALPHABETS[2])
"""Alphabets of whole answers, where what exchanging adds is small beside what an answer costs."""


class LabelQuestion(NamedTuple):
    """A user's turn, and the labels one of which is to begin the answer."""

    prompt: str
    labels: tuple[str, ...]


class ReplyQuestion(NamedTuple):
    """A user's turn, and a reply that is forced."""

    prompt: str
    reply: str


@dataclass(frozen=True, slots=True)
class LabelWeights:
    """What a model gives to each label at the first place of its answer.

    - `log_probs`: log P of each label, its variants (`variants_of`) summed; an upper bound where `censored`, since the
      label is not among those that were told.
    - `mass`: the share of all labels together, 0 to 1.
    """

    log_probs: tuple[float, ...]
    censored: tuple[bool, ...]
    mass: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: its text, and whether the server marks it as refused or filtered."""

    text: str
    refused: bool = False


T = TypeVar("T")


class ChatModel(Protocol):
    """A model that answers a user's turn: of transformers with its template, or behind a server.

    Lists are in the order of the questions; None where a question has no answer (too long for the model).
    `noise`: the root mean square by which a content differs between repeats and neighbours, in nats; 0.0 where none.
    """

    name: str
    noise: float
    ability: str

    @property
    def identity(self) -> Mapping[str, str]:
        """What its answers depend on."""

    def weigh_labels(self, questions: Sequence[LabelQuestion]) -> list[LabelWeights | None]:
        """Return what it gives to the labels of each question."""

    def weigh_replies(self, questions: Sequence[ReplyQuestion]) -> list[float | None]:
        """Return log P(reply and the end of its turn left out | prompt) of each forced reply, in nats."""

    def answer(self, prompts: Sequence[LabelQuestion]) -> list[Answer | None]:
        """Return greedy answers of at most `REPLY_TOKENS` tokens, without what it thinks before."""

    def portions(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield the units that are asked in one go: some dozens in process, about the concurrency of a server."""

    def why(self, prompt: str) -> str:
        """Return the reason why a prompt has no answer; empty where it has one."""


# --- questions ------------------------------------------------------------------------------------------------------


def choice_question(wording: str, first: str, second: str, alphabet: tuple[str, str]) -> LabelQuestion:
    """Return the question which of two labelled sentences it is; what all pairs share comes first.

    >>> print(choice_question(CONSTRUCTS["likely"], "It rains.", "It sings.", ("1", "2")).prompt)
    Which of these two sentences is more likely? Answer with one number, 1 or 2.
    1. It rains.
    2. It sings.
    """
    kind = "number" if alphabet[0].isdigit() else "letter"
    labels = tuple(sorted(alphabet))
    a, b = alphabet
    head = f"{wording} Answer with one {kind}, {labels[0]} or {labels[1]}."
    return LabelQuestion(f"{head}\n{a}. {first}\n{b}. {second}", alphabet)


def reply_questions(wording: str, first: str, second: str, replies: Sequence[str]) -> list[ReplyQuestion]:
    """Return the question which of two sentences it is, without labels, with each of the replies."""
    prompt = f"{wording} Answer with the sentence only.\n{first}\n{second}"
    return [ReplyQuestion(prompt, reply) for reply in replies]


def variants_of(label: str) -> tuple[str, ...]:
    """Return the first tokens that count as a label: bare, after a space, and with the full stop of the list."""
    return (label, f" {label}", f"{label}.")


def weights_of(tops: Mapping[str, float], labels: Sequence[str]) -> LabelWeights:
    """Return the weights of labels among the log-probabilities `tops`, by the text of the token.

    A label of which no variant is among them is bounded by the smallest of `tops`. ValueError where there are none.

    >>> weights = weights_of({"A": -0.5, "yes": -2.0}, ("A", "B"))
    >>> weights.log_probs, weights.censored, round(weights.mass, 3)
    ((-0.5, -2.0), (False, True), 0.607)
    """
    if not tops:
        raise ValueError("no log-probabilities")
    seen = [[tops[text] for text in variants_of(label) if text in tops] for label in labels]
    logs = [float(np.logaddexp.reduce(variant_logs)) if variant_logs else min(tops.values()) for variant_logs in seen]
    mass = sum(math.exp(log) for log, variant_logs in zip(logs, seen, strict=True) if variant_logs)
    return LabelWeights(tuple(logs), tuple(not variant_logs for variant_logs in seen), min(mass, 1.0))


# --- a choice ---------------------------------------------------------------------------------------------------------


def choice_questions(wording: str, first: str, second: str) -> list[LabelQuestion]:
    """Return the eight questions of a pair: of each alphabet `first` before `second`, and the other way round."""
    orders = ((first, second), (second, first))
    return [choice_question(wording, *order, alphabet) for alphabet in ALPHABETS for order in orders]


CHOICE_COLUMNS = (
    "content",
    "position",
    "prior",
    *("".join(alphabet) for alphabet in ALPHABETS),
    "mass",
    "mass_least",
    "censored",
)
"""Numbers of a pair, in nats but for the last three: see `read_choice`."""


def read_choice(weights: Sequence[LabelWeights]) -> tuple[float, ...]:
    """Return the numbers of a pair, of its eight answers, as `CHOICE_COLUMNS` names them.

    Of an alphabet and an order o, a(o) = log P(label of the first place) - log P(label of the second). The content is
    half the mean over alphabets of a(first before second) - a(second before first); the position half that of their
    sum; the prior half the mean difference of position between an alphabet and the same exchanged. Then the content
    of each alphabet; median and least mass of the eight; how many of their sixteen labels are censored.

    >>> weights = [LabelWeights((-0.2, -2.2), (False, False), 0.9), LabelWeights((-1.2, -1.2), (False, False), 0.6)]
    >>> dict(zip(CHOICE_COLUMNS, read_choice(weights * len(ALPHABETS))))["content"]
    1.0
    """
    a = np.array([weight.log_probs[0] - weight.log_probs[1] for weight in weights]).reshape(len(ALPHABETS), 2)
    contents, positions = (a[:, 0] - a[:, 1]) / 2, a.sum(axis=1) / 2
    prior = (positions[0] - positions[1] + positions[2] - positions[3]) / 4
    masses = [weight.mass for weight in weights]
    censored = float(sum(sum(weight.censored) for weight in weights))
    median, least = float(np.median(masses)), float(np.min(masses))
    return (float(contents.mean()), float(positions.mean()), float(prior), *contents.tolist(), median, least, censored)


# --- a reply without labels -------------------------------------------------------------------------------------------


def answer_questions(wording: str, first: str, second: str) -> list[ReplyQuestion]:
    """Return the four questions of a pair: both orders, with either sentence as the reply."""
    replies = (first, second)
    return [*reply_questions(wording, first, second, replies), *reply_questions(wording, second, first, replies)]


ANSWER_COLUMNS = ("content", "position")


def read_replies(logs: Sequence[float]) -> tuple[float, float]:
    """Return content and position of a pair, of the log-probabilities of its four replies, in nats.

    With a(o) = log P(first) - log P(second), content is the mean over both orders, position half the difference.

    >>> read_replies([-10.0, -14.0, -13.0, -11.0])
    (1.0, 3.0)
    """
    forward, backward = logs[0] - logs[1], logs[2] - logs[3]
    return (forward + backward) / 2, (forward - backward) / 2


# --- text -------------------------------------------------------------------------------------------------------------

TEXT_COLUMNS = ("psi", "psi_low", "psi_high", "by_place", "refused", "unparsed", "contradictions")
"""Numbers of a pair: see `read_texts`."""

_APOSTROPHES = "'\u2019"
_OPENING = r"""[\s(\["'*\u201c\u2018]*"""
_CLOSING = "*\"'\u201d\u2019"
_REFUSALS = re.compile(
    rf"\b(?:I(?:[{_APOSTROPHES}]m| am) (?:sorry|unable|not able)"
    rf"|I (?:cannot|can[{_APOSTROPHES}]?t|won[{_APOSTROPHES}]?t|will not|must decline|decline)"
    r"|as an AI\b|neither (?:of|sentence|is)|not (?:appropriate|comfortable))",
    re.IGNORECASE,
)


def text_questions(wording: str, first: str, second: str) -> list[LabelQuestion]:
    """Return the four questions of a pair: both orders under the alphabets AB and 12."""
    orders = ((first, second), (second, first))
    return [choice_question(wording, *order, alphabet) for alphabet in TEXT_ALPHABETS for order in orders]


def parse_label(text: str, labels: Sequence[str]) -> str:
    """Return the label that an answer begins with, behind brackets, quotes and asterisks; empty where none does.

    >>> parse_label("**A**", ("A", "B")), parse_label("Both are.", ("A", "B"))
    ('A', '')
    """
    match = re.match(rf"{_OPENING}({'|'.join(map(re.escape, labels))})\b", text)
    return match.group(1) if match else ""


def is_refusal(answer: Answer) -> bool:
    """Return whether an answer declines: the server says so, or its English words do."""
    return answer.refused or bool(_REFUSALS.search(answer.text))


def read_texts(first: str, second: str, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Return the numbers of a pair, of its four answers, as `TEXT_COLUMNS` names them.

    Of an alphabet, psi is 1 where both orders choose `first`, 0 where both choose `second`, and one half where the
    answer follows the place; without both answers it has none. The pair has the mean over alphabets, NaN without any,
    and what it would be if all that lacks were 0, or 1. Then the share of alphabets by place, and how many of four
    answers are refused, unparsed, or quote the other sentence: there the label counts.

    >>> answers = [Answer("A. He runs."), Answer("A."), Answer("1"), Answer("I am sorry.")]
    >>> numbers = dict(zip(TEXT_COLUMNS, read_texts("She runs.", "He runs.", answers)))
    >>> numbers["psi"], numbers["psi_high"], numbers["refused"], numbers["contradictions"]
    (0.5, 0.75, 1.0, 1.0)
    """
    psis: list[float] = []
    refused = unparsed = contradictions = positional = 0
    for number, alphabet in enumerate(TEXT_ALPHABETS):
        chosen: list[float] = []
        for order, answer in enumerate(answers[2 * number : 2 * number + 2]):
            sentences = (first, second) if order == 0 else (second, first)
            label = parse_label(answer.text, alphabet)
            if not label or answer.refused:
                refused, unparsed = (refused + 1, unparsed) if is_refusal(answer) else (refused, unparsed + 1)
                continue
            position = alphabet.index(label)
            # Whether what follows the label is the beginning of the other sentence, and not of the labelled one.
            rest = re.sub(r"^\W*\w+\W*", "", answer.text.strip(), count=1).strip().rstrip(_CLOSING)
            labelled, other = sentences[position], sentences[1 - position]
            contradictions += other.startswith(rest) and not labelled.startswith(rest)
            chosen.append(float(sentences[position] == first))
        if len(chosen) == 2:
            psis.append(sum(chosen) / 2)
            positional += chosen[0] != chosen[1]
    lacking, total = len(TEXT_ALPHABETS) - len(psis), sum(psis)
    psi = total / len(psis) if psis else math.nan
    low, high = total / len(TEXT_ALPHABETS), (total + lacking) / len(TEXT_ALPHABETS)
    share = positional / len(psis) if psis else math.nan
    return psi, low, high, share, float(refused), float(unparsed), float(contradictions)


# --- inference --------------------------------------------------------------------------------------------------------

NLI_OPTIONS: Mapping[str, str] = {
    "entailment": "It is true.",
    "neutral": "It may or may not be true.",
    "contradiction": "It is false.",
}
NLI_LABELS = ("A", "B", "C")
NLI_ORDERS = tuple(permutations(NLI_OPTIONS))
"""All six: the three cyclic ones give another label in more than a quarter of rows where the place dominates."""

NLI_COLUMNS = (*NLI_OPTIONS, "place_1", "place_2", "place_3", "mass", "censored")


def nli_questions(premise: str, hypothesis: str) -> list[LabelQuestion]:
    """Return the six questions of premise and hypothesis, one for each order of the three options."""
    head = (
        "Given the first statement, what is so of the second? Answer with one letter, A, B or C.\n"
        f"First: {premise}\nSecond: {hypothesis}"
    )
    return [
        LabelQuestion(
            "\n".join([head, *(f"{x}. {NLI_OPTIONS[name]}" for x, name in zip(NLI_LABELS, order, strict=True))]),
            NLI_LABELS,
        )
        for order in NLI_ORDERS
    ]


def read_nli(weights: Sequence[LabelWeights]) -> tuple[float, ...]:
    """Return the numbers of a row, of its six answers, as `NLI_COLUMNS` names them.

    The probabilities are the softmax of each option's mean log-probability over orders; then the share of the orders
    whose likeliest letter is the first, second or third; the median mass; how many of eighteen labels are censored.
    """
    logs = np.array([weight.log_probs for weight in weights])
    names = [*NLI_OPTIONS]
    places = np.array([[order.index(name) for name in names] for order in NLI_ORDERS])
    means = np.take_along_axis(logs, places, axis=1).mean(axis=0)
    shares = np.exp(means - means.max())
    picked = np.bincount(logs.argmax(axis=1), minlength=len(names)) / len(NLI_ORDERS)
    mass = float(np.median([weight.mass for weight in weights]))
    return (*(shares / shares.sum()).tolist(), *picked.tolist(), mass, float(sum(sum(w.censored) for w in weights)))


# --- control ----------------------------------------------------------------------------------------------------------

CONTROL_ITEMS = 40


class ControlItem(NamedTuple):
    """A question with a right answer: its wording, and the two texts of a unit that is made for it.

    Of pairs `text` is the right sentence and `beside` the other; `kind` is ``scrambled`` or ``mentions``.
    """

    wording: str
    text: str
    beside: str
    kind: str


def control_items(sentences: Sequence[str], wording: str, seed: int) -> Iterator[ControlItem]:
    """Yield up to `CONTROL_ITEMS` items made of a release's own sentences, half of either kind, by `seed`.

    - scrambled: the construct's own question of a sentence and the same words in another order;
    - mentions: which of two sentences mentions a word that stands in the one only.
    """
    generator = np.random.default_rng(seed)
    distinct = sorted({text for text in sentences if len(set(_words(text))) >= 4})
    order = [distinct[number] for number in generator.permutation(len(distinct))]
    half = CONTROL_ITEMS // 2
    for text in order[:half]:
        yield ControlItem(wording, text, _scrambled(text, generator), "scrambled")
    mentions = 0
    for text, other in zip(order, [*order[half:], *order[:half]], strict=True):
        candidates = [word for word in dict.fromkeys(_words(text)) if word.casefold() not in other.casefold()]
        if candidates and mentions < half:
            mentions += 1
            word = max(candidates, key=len)
            yield ControlItem(f'Which of these two sentences mentions "{word}"?', text, other, "mentions")


def _words(text: str) -> list[str]:
    return re.findall(rf"[^\W\d_]+(?:[{_APOSTROPHES}-][^\W\d_]+)*", text)


def _scrambled(text: str, generator: np.random.Generator) -> str:
    """Return the words of a sentence in an order of which none stands where it stood before, if that can be found."""
    words = text.split()
    best = words
    for _ in range(50):
        best = [words[number] for number in generator.permutation(len(words))]
        if not any(a == b for a, b in zip(best, words, strict=True)):
            break
    return " ".join(best)
