"""A chat model whose every answer is planted: what it makes of sentences, places and labels is known beforehand.

It reads prompts by their words alone, and shares no code with what asks or reads.
"""

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

CHOICE = re.compile(
    r"(?P<asked>.+?) Answer with one (?:letter|number), (?P<low>\S) or \S\.\n"
    r"(?P<a>\S)\. (?P<first>.*)\n(?P<b>\S)\. (?P<second>.*)",
    re.DOTALL,
)
REPLY = re.compile(r".+? Answer with the sentence only\.\n(?P<first>.*)\n(?P<second>.*)", re.DOTALL)
INFERENCE = re.compile(
    r"Given the first statement, .+?\nFirst: (?P<premise>.*)\nSecond: (?P<hypothesis>.*)\n"
    r"A\. (?P<a>.*)\nB\. (?P<b>.*)\nC\. (?P<c>.*)",
    re.DOTALL,
)
MENTIONS = re.compile(r'Which of these two sentences mentions "(?P<word>.*)"\?', re.DOTALL)
OPTIONS = {
    "It is true.": "entailment",
    "It may or may not be true.": "neutral",
    "It is false.": "contradiction",
}
OTHERS = tuple(re.findall(r"\w+", "the of and to in is was for on with as by at from it this that an be are or"))
"""Other first tokens, beside labels, and those of prompts of other kinds: 21, more than are told of."""

VARIANTS = {"{}": 0.7, " {}": 0.2, "{}.": 0.1}
"""First tokens of a label, with their share of its probability."""

REFUSAL = "I'm sorry, but I can't help with that."
UNPARSED = "Both of these are fine to me."
START, END = "<|im_start|>", "<|im_end|>"
FIRST_SPECIAL = 0x110000
SPECIALS = {START: FIRST_SPECIAL, END: FIRST_SPECIAL + 1}
"""Ids of tokens: every other token is one letter, and its id the letter's code point."""


def fraction(*parts: str) -> float:
    """Return a number from 0 to 1 (excluded) that depends on the texts alone."""
    return int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest()[:6], "big") / 2**48


def content_of(first: str, second: str) -> float:
    """Return what is planted between two sentences, in nats: 1 to 3 towards either, and the negative when exchanged."""
    low, high = sorted((first, second))
    drawn = fraction("content", low, high)
    size = 1 + 4 * abs(drawn - 0.5)
    return (size if drawn > 0.5 else -size) * (1 if first == low else -1)


def _plain(_first: str, _second: str) -> str:
    return ""


def _neutral(_premise: str, _hypothesis: str) -> str:
    return "neutral"


@dataclass(kw_only=True)
class PlantedModel:
    """What the model makes of what it is asked. Log-odds are of the first place against the second, in nats.

    - `content(first, second)`: of two sentences; the negative when they are exchanged.
    - `position`: of the first place; `prior`: of the label that is first in its alphabet.
    - `spread`: standard deviation by which content differs between alphabets, fixed by sentences and alphabet.
    - `mass`: probability of the two labels together; `crowd`: how many other tokens share the rest.
    - `control`: log-odds of the right sentence in control items; 0 for a model that does not understand them.
    - `manner(first, second)`: ``refuse``, ``unparsed``, ``contradict`` or nothing, of two sentences in either order.
    - `inference(premise, hypothesis)`: the option that is likelier by `strength`, and log-odds of the three `places`.
    - `noise`: standard deviation of a log-odds between two requests; `near`: the same, with other requests at once;
      `cached`: the same, where the prompt cache is on. All drawn anew with each request, by `seed`.
    - `weights`: another number is another model for prompts of other kinds, likelihoods and fingerprints.
    """

    content: Callable[[str, str], float] = content_of
    position: float = 0.5
    prior: float = 0.25
    spread: float = 0.0
    mass: float = 0.9
    crowd: int = 14
    control: float = 8.0
    manner: Callable[[str, str], str] = _plain
    inference: Callable[[str, str], str] = _neutral
    strength: float = 4.0
    places: tuple[float, float, float] = (0.0, 0.0, 0.0)
    noise: float = 0.0
    near: float = 0.0
    cached: float = 0.0
    seed: int = 1
    weights: int = 0
    random: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def log_odds(self, asked: str, first: str, second: str) -> float:
        """Return the log-odds of the first of two sentences, place and label left out."""
        right = self._right(asked, first, second)
        return self.content(first, second) if right is None else self.control * right

    def tops(self, prompt: str, sigma: float = 0.0) -> dict[str, float]:
        """Return log-probabilities of the first token of an answer, the likeliest first; `sigma`: its noise."""
        logits = self._logits(prompt)
        if sigma:
            kinds = {token.strip(" .") for token in logits}
            shifts = dict(zip(sorted(kinds), self.random.normal(0, sigma / math.sqrt(2), len(kinds)), strict=True))
            logits = {token: logit + shifts[token.strip(" .")] for token, logit in logits.items()}
        total = float(np.logaddexp.reduce([*logits.values()]))
        return dict(sorted(((token, logit - total) for token, logit in logits.items()), key=lambda pair: -pair[1]))

    def text(self, prompt: str, tops: Mapping[str, float]) -> str:
        """Return the greedy answer: it begins with the likeliest token."""
        token = next(iter(tops))
        if match := CHOICE.fullmatch(prompt):
            first, second = match["first"], match["second"]
            manner = self._manner(match)
            if manner in ("refuse", "unparsed"):
                return REFUSAL if manner == "refuse" else UNPARSED
            shown = (first, second) if token.strip(" .") == match["a"] else (second, first)
            rest = shown[manner == "contradict"]
            return f"{token} {rest}" if token.endswith(".") else f"{token}. {rest}"
        if match := REPLY.fullmatch(prompt):
            return match["first"] if self._reply_odds(match) > 0 else match["second"]
        return f"{token} {OTHERS[int(fraction(prompt) * len(OTHERS))]} end."

    def refuses(self, prompt: str) -> bool:
        """Return whether it declines to answer."""
        match = CHOICE.fullmatch(prompt)
        return match is not None and self._manner(match) == "refuse"

    def steps(self, start: str, text: str) -> list[float]:
        """Return log P of each letter of `text` after `start`: each depends on what stands before it alone."""
        user = re.search(rf"{re.escape(START)}user\n(.*){re.escape(END)}\n{re.escape(START)}assistant\n$", start, re.S)
        if user and (match := REPLY.fullmatch(user[1])):
            return [self._reply_step(match, text[:number], letter) for number, letter in enumerate(text)]
        return [self._step(start + text[:number], letter) for number, letter in enumerate(text)]

    def _step(self, before: str, letter: str) -> float:
        return -0.5 - 3 * fraction(str(self.weights), before[-40:], letter)

    def _reply_step(self, match: re.Match[str], begun: str, letter: str) -> float:
        """Return log P of a letter: what both sentences share is certain, and where they part stands the log-odds."""
        sentences = [match["first"], match["second"]]
        fitting = [text for text in sentences if text.startswith(begun + letter)]
        if not fitting:
            return -10.0
        if len(fitting) == 2:
            return 0.0
        own = fitting[0]
        shared = next(n for n, (x, y) in enumerate(zip(*sentences, strict=False)) if x != y)
        if len(begun) > shared:
            return -1.0 / (len(own) - shared - 1)
        odds = self._reply_odds(match) * (1 if own == sentences[0] else -1)
        return -math.log1p(math.exp(-odds))

    def _reply_odds(self, match: re.Match[str]) -> float:
        asked = match[0].partition(" Answer with")[0]
        return self.log_odds(asked, match["first"], match["second"]) + self.position

    def _manner(self, match: re.Match[str]) -> str:
        return self.manner(*sorted((match["first"], match["second"])))

    def _logits(self, prompt: str) -> dict[str, float]:
        if match := CHOICE.fullmatch(prompt):
            a, b, first, second = match["a"], match["b"], match["first"], match["second"]
            odds = self.log_odds(match["asked"], first, second) + self.wobble(first, second, a + b)
            odds += self.position + (self.prior if a == match["low"] else -self.prior)
            manner = self._manner(match)
            mass = self.mass * (0.05 if manner in ("refuse", "unparsed") else 1.0)
            logits = self._labels((a, b), (odds, 0.0), mass)
            if mass < self.mass:
                logits[REFUSAL[:1] if manner == "refuse" else "Both"] = math.log(self.mass - mass)
            return {**logits, **dict(self._fillers(prompt, 1 - self.mass))}
        if match := INFERENCE.fullmatch(prompt):
            true = self.inference(match["premise"], match["hypothesis"])
            options = [OPTIONS[match[letter]] for letter in "abc"]
            odds3 = [self.strength * (name == true) + p for name, p in zip(options, self.places, strict=True)]
            fillers = [*self._fillers(prompt, 1 - self.mass)][
                :11
            ]  # with three labels' variants, all 20 that are told of
            return {**self._labels("ABC", odds3, self.mass), **dict(fillers)}
        return {token: 4 * fraction(str(self.weights), prompt, token) for token in [*OTHERS, *"ABCDEFGHI"]}

    def _labels(self, labels: Sequence[str], odds: Sequence[float], mass: float) -> dict[str, float]:
        logs = np.array(odds) - np.logaddexp.reduce(odds) + math.log(mass)
        return {
            variant.format(label): float(log) + math.log(share)
            for label, log in zip(labels, logs, strict=True)
            for variant, share in VARIANTS.items()
        }

    def _fillers(self, prompt: str, rest: float) -> Iterator[tuple[str, float]]:
        """Yield other tokens and their log-probabilities, which share what the labels leave."""
        names = [*OTHERS, *(f"w{number}" for number in range(self.crowd - len(OTHERS)))][: self.crowd]
        shares = [0.5 + fraction(prompt, name) for name in names]
        for name, share in zip(names, shares, strict=True):
            yield name, math.log(rest * share / sum(shares))

    def wobble(self, first: str, second: str, alphabet: str) -> float:
        """Return by how much an alphabet's content differs, of the sentences: about normal, negative when exchanged."""
        low, high = sorted((first, second))
        drawn = sum(fraction(str(n), low, high, alphabet) for n in range(12)) - 6
        return self.spread * drawn * (1 if first == low else -1)

    def _right(self, asked: str, first: str, second: str) -> int | None:
        """Return 1 or -1 where the first or the second sentence is right, 0 where neither, None for no control item."""
        if match := MENTIONS.fullmatch(asked):
            word = match["word"].casefold()
            return (word in first.casefold()) - (word in second.casefold())
        if first != second and sorted(first.split()) == sorted(second.split()):
            return _sense(first) - _sense(second) or None
        return None


def _sense(text: str) -> int:
    """Return how much of a sentence words in order look like: an upper-case beginning, a mark at the end."""
    return 1 if text[:1].isupper() and text.rstrip()[-1:] in ".?!" else 0


def tokenize(text: str, *, specials: bool = True) -> list[int]:
    """Return the ids of a text, one a letter, and one for each special token if they are read as such."""
    if not specials:
        return [ord(letter) for letter in text]
    parts = re.split(f"({re.escape(START)}|{re.escape(END)})", text)
    return [token for part in parts for token in ([SPECIALS[part]] if part in SPECIALS else map(ord, part))]


def detokenize(ids: Sequence[int]) -> str:
    """Return the text of ids."""
    names = {number: text for text, number in SPECIALS.items()}
    return "".join(names[number] if number in names else chr(number) for number in ids)


def render(messages: Sequence[Mapping[str, str]]) -> str:
    """Return a conversation as the model reads it, ready for its next turn, or in the middle of a turn it has begun."""
    turns = [f"{START}{turn['role']}\n{turn['content']}{END}\n" for turn in messages]
    if messages and messages[-1]["role"] == "assistant":
        return "".join(turns).removesuffix(f"{END}\n")
    return "".join(turns) + f"{START}assistant\n"
