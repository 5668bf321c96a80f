"""Scorers on causal language models: how likely a text is, as a sum, per token or per byte, with a start token or none.

They share one computation; what a text begins with is computed once for all texts (see `models.prefixes`).
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from senseprobe.errors import ModelError
from senseprobe.evaluate.scorers.base import Answers, Score, Scorer, WholeUnit, Why, answered
from senseprobe.evaluate.units import EMPTY, NOT_FINITE, TOO_LONG, Unit

if TYPE_CHECKING:  # so that scorers can be listed without loading torch
    from senseprobe.evaluate.models.causal import CausalLM


class TextModel(Protocol):
    """A model that cuts texts and adds up by itself, such as one behind a server."""

    def portions(self, items: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """Yield the items that are asked in one go."""

    def likelihoods(self, texts: Sequence[str], *, start: bool) -> Iterable[tuple[float, ...] | None]:
        """Return the sum, the number of tokens and the number of bytes of each text; None where there is no answer."""

    def why(self, text: str) -> str:
        """Return why there is no answer to a text."""


@dataclass(frozen=True, slots=True)
class _TextWork:
    """A unit, the tokens of its text with what stands before it, how many of them are given, and bytes of the rest."""

    unit: Unit
    ids: tuple[int, ...]
    given: int
    bytes: int
    rows: int = 1

    @property
    def length(self) -> int:
        """Tokens that are read: all but the last."""
        return len(self.ids) - 1


_PARTS = ("sum", "tokens", "bytes")
_UNSCORED = (np.nan,) * len(_PARTS)


def _score(*, start: bool) -> Score:
    """Return what sums log P over a text's tokens, and counts tokens and bytes; without a start the first is given."""

    def score(model: "CausalLM", units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:
        if hasattr(model, "likelihoods"):
            return _score_texts(cast("TextModel", model), units, done, start=start)
        before = model.start if start else ()
        if start and not before:
            raise ModelError(
                f"the tokenizer of {model.name} has no start token: use a scorer without one, such as ll-no-start"
            )
        given = max(1, len(before))

        def plan(window: Sequence[Unit]) -> Iterator[_TextWork]:
            for unit, tokens in zip(window, model.encode([unit.text for unit in window]), strict=True):
                ids = (*before, *tokens.ids)
                scored = unit.text if start else unit.text[tokens.first_end :]
                if not _obstacle(model, ids, given):
                    yield _TextWork(unit, ids, given, len(scored.encode()))

        def answer(batch: Sequence[_TextWork]) -> Iterator[tuple[float, ...]]:
            sums = model.log_likelihoods([(work.ids, work.given) for work in batch]).tolist()
            for value, work in zip(sums, batch, strict=True):
                tokens = len(work.ids) - work.given
                yield (value, float(tokens), float(work.bytes)) if np.isfinite(value) else _UNSCORED

        return answered(units, done, plan, model.batches, answer, _UNSCORED)

    return score


def _score_texts(model: "TextModel", units: Iterable[Unit], done: Container[Unit], *, start: bool) -> Iterator[Answers]:
    """Yield what `_score` does of a model that cuts texts and adds up by itself."""

    def answer(batch: Sequence[WholeUnit]) -> Iterator[tuple[float, ...]]:
        for value in model.likelihoods([work.unit.text for work in batch], start=start):
            yield _UNSCORED if value is None else value

    return answered(units, done, partial(map, WholeUnit), model.portions, answer, _UNSCORED)


def _why(*, start: bool) -> Why:
    def why(model: "CausalLM", units: Sequence[Unit]) -> Iterator[str]:
        if hasattr(model, "likelihoods"):
            yield from (cast("TextModel", model).why(unit.text) for unit in units)
            return
        before = model.start if start else ()
        for tokens in model.encode([unit.text for unit in units]):
            yield _obstacle(model, (*before, *tokens.ids), max(1, len(before))) or NOT_FINITE

    return why


def _obstacle(model: "CausalLM", ids: Sequence[int], given: int) -> str:
    """Return why tokens of which so many are given cannot be scored; empty where they can. The last is not read."""
    if len(ids) <= given:
        return EMPTY
    return TOO_LONG if len(ids) > model.max_length + 1 else ""


_START = (
    "The text follows the start token that its tokenizer adds (Llama's <s>). If there is none, it follows the "
    "beginning-of-sequence token (GPT-2's <|endoftext|>), or else the end-of-sequence token (Qwen's). A model "
    "without any of these is refused."
)
_NO_START = (
    "Nothing precedes the text, even if the tokenizer adds a start token. The first token is given and its "
    "probability is not counted; a text of one token is unscored."
)
_ENDS = "An end token that the tokenizer adds is not counted. A text too long for the model is unscored."
_LM_EVAL = (
    "lm-eval 0.4.13's loglikelihood with an empty context is the same, with three exceptions: it stops at a text "
    "that is too long, it puts one token before the text where the tokenizer puts several, and it puts none "
    "before a text that spells out the start token."
)
_MINICONS = (
    "By default, minicons 0.3.39's sequence_score is the same if the tokenizer adds no special tokens (GPT-2), "
    "and equals ll-mean if it adds a start token (Llama). It counts an end token as part of the text."
)
_LONGER = (
    "Each token lowers the sum, so a longer text scores lower for that reason alone. Compare texts of similar length."
)
_CUT = (
    "Tokens depend on the tokenizer, so compare texts under one model only. The mean favours words that are cut "
    "into many pieces, because all pieces but the first are easy to predict."
)
_SPELT = (
    "It can be compared between models with different tokenizers. It favours long words, and scripts with more "
    "bytes per character."
)
_FIRST = "The probability of the first word is not counted, which matters if the texts differ there."


def _with_and_without_start(
    name: str,
    *,
    titles: tuple[str, str],
    unit: str,
    combine: Callable[..., float],
    equations: tuple[str, str],
    words: tuple[str, str],
    cannot_say: str,
) -> tuple[Scorer, Scorer]:
    """Return a scorer with a start token, and the same without; what is said of both comes in that order."""
    with_start = Scorer(
        id=name,
        title=titles[0],
        ability="causal",
        unit=unit,
        range=(-np.inf, 0.0),
        direction="higher: the model finds the sentence more likely",
        source="Biderman et al. 2024",
        equation=equations[0],
        says=f"{words[0]} {_START} {_ENDS}",
        cannot_say=cannot_say,
        basis="ll",
        without_start=f"{name}-no-start",
        parts=_PARTS,
        combine=combine,
        score=_score(start=True),
        why=_why(start=True),
    )
    without_start = replace(
        with_start,
        id=with_start.without_start,
        title=titles[1],
        equation=equations[1],
        says=f"{words[1]} {_NO_START} {_ENDS}",
        cannot_say=f"{cannot_say} {_FIRST}",
        basis="ll-no-start",
        without_start="",
        score=_score(start=False),
        why=_why(start=False),
    )
    return with_start, without_start


LL, LL_NO_START = _with_and_without_start(
    "ll",
    titles=("log-likelihood", "log-likelihood without a start token"),
    unit="nats",
    combine=lambda total, tokens, size: total,
    equations=("Σ log P(t_i | start, t_1 … t_(i-1)), i = 1 … n", "Σ log P(t_i | t_1 … t_(i-1)), i = 2 … n"),
    words=(
        (
            "The sum over the text's tokens of log P(token | the start token and all earlier tokens). A text that "
            f"scores 2 higher than another is e² = 7.4 times as likely. {_LM_EVAL}"
        ),
        "The sum over all tokens of the text but the first of log P(token | all earlier tokens).",
    ),
    cannot_say=_LONGER,
)
LL_MEAN, LL_MEAN_NO_START = _with_and_without_start(
    "ll-mean",
    titles=("log-likelihood per token", "log-likelihood per token, without a start token"),
    unit="nats per token",
    combine=lambda total, tokens, size: total / tokens,
    equations=(
        "1/n Σ log P(t_i | start, t_1 … t_(i-1)), i = 1 … n",
        "1/(n-1) Σ log P(t_i | t_1 … t_(i-1)), i = 2 … n",
    ),
    words=(
        (
            "ll divided by the number of tokens in the text. -0.7 means a probability of about one half for a "
            "typical token."
        ),
        f"ll-no-start divided by the number of tokens in the sum. {_MINICONS}",
    ),
    cannot_say=_CUT,
)
LL_BYTE, LL_BYTE_NO_START = _with_and_without_start(
    "ll-byte",
    titles=("log-likelihood per byte", "log-likelihood per byte, without a start token"),
    unit="nats per byte",
    combine=lambda total, tokens, size: total / size if size else np.nan,
    equations=(
        "1/bytes Σ log P(t_i | start, t_1 … t_(i-1)), i = 1 … n",
        "1/bytes Σ log P(t_i | t_1 … t_(i-1)), i = 2 … n",
    ),
    words=(
        "ll divided by the number of bytes of the text in UTF-8.",
        (
            "ll-no-start divided by the number of UTF-8 bytes after the characters of the first token. Unscored "
            "if no characters follow them."
        ),
    ),
    cannot_say=_SPELT,
)
SCORERS = (LL, LL_MEAN, LL_BYTE, LL_NO_START, LL_MEAN_NO_START, LL_BYTE_NO_START)
