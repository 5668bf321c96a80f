"""Scorers on causal language models: how likely a text is, as a sum, per token or per byte, with a start token or none.

They share one computation; what a text begins with is computed once for all texts (see `models.prefixes`).
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from senseprobe.errors import ModelError
from senseprobe.evaluate.scorers.base import Answers, Score, Scorer, Why, answered
from senseprobe.evaluate.units import EMPTY, NOT_FINITE, TOO_LONG, Unit

if TYPE_CHECKING:  # so that scorers can be listed without loading torch
    from senseprobe.evaluate.models.causal import CausalLM


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
        before = model.start if start else ()
        if start and not before:
            raise ModelError(
                f"the tokenizer of {model.name} has no start token: take a scorer without one, such as ll-no-start"
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


def _why(*, start: bool) -> Why:
    def why(model: "CausalLM", units: Sequence[Unit]) -> Iterator[str]:
        before = model.start if start else ()
        for tokens in model.encode([unit.text for unit in units]):
            yield _obstacle(model, (*before, *tokens.ids), max(1, len(before))) or NOT_FINITE

    return why


def _obstacle(model: "CausalLM", ids: Sequence[int], given: int) -> str:
    """Return why tokens of which so many are given cannot be scored; empty where they can. The last is not read."""
    if len(ids) <= given:
        return EMPTY
    return TOO_LONG if len(ids) > model.max_length + 1 else ""


def _sum(total: float, _tokens: float, _bytes: float) -> float:
    return total


def _per_token(total: float, tokens: float, _bytes: float) -> float:
    return total / tokens


def _per_byte(total: float, _tokens: float, size: float) -> float:
    return total / size if size else np.nan


_START = (
    "What stands before the text is what its tokenizer puts there (Llama's <s>), else its beginning-of-sequence token "
    "(GPT-2's <|endoftext|>), else its end-of-sequence token (Qwen's); a model without any is refused."
)
_NO_START = (
    "Nothing stands before the text, not even where the tokenizer would put a start token: the first token is given, "
    "its own probability is left out, and a text of one token is unscored."
)
_ENDS = (
    "An end token that the tokenizer puts after a text is not the text's. A text too long for the model is unscored."
)
_LM_EVAL = (
    "lm-eval 0.4.13's loglikelihood with an empty context is the same, except that it stops at a text that is too "
    "long, puts one token before the text where the tokenizer puts several, and puts none before a text that "
    "spells the start token out."
)
_MINICONS = (
    "minicons 0.3.39's sequence_score is by default this where the tokenizer adds no special tokens (GPT-2), and "
    "ll-mean where it puts a start token before a text (Llama); an end token it counts as one of the text's."
)
_LONGER = "Each token adds to it, so that a longer text is lower for that alone: it compares texts of similar length."
_CUT = (
    "What a token is depends on the tokenizer: it compares texts under one model, and favours words that are cut into "
    "many pieces, of which all but the first are easy."
)
_SPELT = (
    "It compares models with different tokenizers, but favours texts in scripts that take more bytes per character, "
    "and long words."
)
_FIRST = "How likely the first word is stays out of it, which matters where texts differ in it."


def _declared(
    name: str,
    *,
    title: str,
    measure: str,
    made: Callable[..., float],
    start: bool,
    equation: str,
    words: str,
    cannot_say: str,
) -> Scorer:
    return Scorer(
        id=name,
        title=title,
        ability="causal",
        measure=measure,
        range=(-np.inf, 0.0),
        direction="higher: the model finds the sentence more likely",
        paper="Biderman et al. 2024",
        equation=equation,
        description=f"{words} {_START if start else _NO_START} {_ENDS}",
        cannot_say=cannot_say if start else f"{cannot_say} {_FIRST}",
        basis="ll" if start else "ll-no-start",
        without_start=f"{name}-no-start" if start else "",
        parts=_PARTS,
        made=made,
        score=_score(start=start),
        why=_why(start=start),
    )


SCORERS = (
    _declared(
        "ll",
        title="log-likelihood",
        measure="nats",
        made=_sum,
        start=True,
        equation="Σ log P(t_i | start, t_1 … t_(i-1)), i = 1 … n",
        words=f"The sum over the text's tokens of log P(token | all before it, and a start token). {_LM_EVAL}",
        cannot_say=_LONGER,
    ),
    _declared(
        "ll-mean",
        title="log-likelihood per token",
        measure="nats per token",
        made=_per_token,
        start=True,
        equation="1/n Σ log P(t_i | start, t_1 … t_(i-1)), i = 1 … n",
        words="ll divided by the number of the text's tokens.",
        cannot_say=_CUT,
    ),
    _declared(
        "ll-byte",
        title="log-likelihood per byte",
        measure="nats per byte",
        made=_per_byte,
        start=True,
        equation="1/bytes Σ log P(t_i | start, t_1 … t_(i-1)), i = 1 … n",
        words="ll divided by the number of bytes of the text in UTF-8.",
        cannot_say=_SPELT,
    ),
    _declared(
        "ll-no-start",
        title="log-likelihood without a start token",
        measure="nats",
        made=_sum,
        start=False,
        equation="Σ log P(t_i | t_1 … t_(i-1)), i = 2 … n",
        words="The sum over the text's tokens but the first of log P(token | all before it).",
        cannot_say=_LONGER,
    ),
    _declared(
        "ll-mean-no-start",
        title="log-likelihood per token, without a start token",
        measure="nats per token",
        made=_per_token,
        start=False,
        equation="1/(n-1) Σ log P(t_i | t_1 … t_(i-1)), i = 2 … n",
        words="ll-no-start divided by the number of tokens in the sum. " + _MINICONS,
        cannot_say=_CUT,
    ),
    _declared(
        "ll-byte-no-start",
        title="log-likelihood per byte, without a start token",
        measure="nats per byte",
        made=_per_byte,
        start=False,
        equation="1/bytes Σ log P(t_i | t_1 … t_(i-1)), i = 2 … n",
        words="ll-no-start divided by the number of bytes, in UTF-8, after the characters that the first token stands "
        "for; where these are the whole text, it is unscored.",
        cannot_say=_SPELT,
    ),
)
