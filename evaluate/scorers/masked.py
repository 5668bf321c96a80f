"""Scorers on masked language models, each as its paper defines it; what released code did is a variant of its own."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.scorers.masked_queries import Ask, Read, inside, rest_of_word, score_by, why_by

Values: TypeAlias = Sequence[NDArray[np.float64]]


def _unmasked(read: Read) -> Iterator[Ask]:
    yield read.encoding.positions, ()


def _mask_single(read: Read) -> Iterator[Ask]:
    return (((i,), (i,)) for i in read.encoding.positions)


def _mask_rest_of_word(read: Read) -> Iterator[Ask]:
    return (((places[0],), places) for places in rest_of_word(read.unit.text, read.encoding))


def _mask_shared(read: Read) -> Iterator[Ask]:
    return (((i,), (i,)) for i in read.shared)


def _mask_changed(read: Read) -> Iterator[Ask]:
    if read.changed:
        yield read.changed, read.changed


def _target_with_and_without(read: Read) -> Iterator[Ask]:
    """Yield the target's tokens, all masked, with the attribute as it is and with the attribute masked."""
    target = inside(read.encoding, read.unit.start, read.unit.end)
    attribute = tuple(i for i in read.changed if i not in target)
    if target and attribute:
        yield target, target
        yield target, target + attribute


def _sum(values: Values) -> tuple[float]:
    return (float(np.concatenate(values).sum()),)


def _mean(values: Values) -> tuple[float]:
    return (float(np.concatenate(values).mean()),)


def _difference(values: Values) -> tuple[float]:
    return (float(values[0].sum() - values[1].sum()),)


def _means(values: Values) -> tuple[float, float]:
    """Return the means of log-probabilities and of probabilities."""
    scores = np.concatenate(values)
    return float(scores.mean()), float(np.exp(scores).mean())


def _weighted(values: Values) -> tuple[float, float, float]:
    """Return the sum of log-probabilities times attention, that of attention, and how many there are."""
    scores, weights = values[0]
    return float(scores @ weights), float(weights.sum()), float(len(scores))


def _by(
    ask: Callable[[Read], Iterable[Ask]],
    summary: Callable[[Values], tuple[float, ...]],
    nothing: str = "",
    *,
    pairs: bool = False,
    ordered: bool = False,
    **how: Any,  # noqa: ANN401 - numbers and attention of `score_by`
) -> dict[str, Any]:
    """Return `score` and `why` of a scorer; the parameters are those of `score_by` and `why_by`."""
    why = why_by(ask, nothing, pairs=pairs, ordered=ordered)
    return {"score": score_by(ask, summary, pairs=pairs, ordered=ordered, **how), "why": why}


_LIKELIER = "higher: the model finds the sentence more likely"
_SHORTER = (
    "Each token adds to it, so that a sentence with more tokens is lower for that alone: it compares sentences only "
    "that are cut into as many tokens."
)
_SEEN = (
    "The token that is asked for stands in the input, where the model can read it off: numbers lie near zero, and are "
    "no probabilities of the sentence."
)
_SHARED = (
    "Which tokens are shared depends on the tokenizer. The words that differ are never predicted: it says how they "
    "bear on the others, not how likely they are."
)
_CHANGED = (
    "It holds the words that differ against each other, so that their frequency is in it. Their number of tokens is "
    "given away by the masks, and tokens of one word are predicted without each other."
)

_masked = partial(Scorer, ability="masked", range=(-np.inf, 0.0), direction=_LIKELIER)

AUL = _masked(
    id="aul",
    title="all unmasked likelihood",
    measure="nats per token",
    paper="Kaneko and Bollegala 2022; Zhou et al. 2022",
    equation="Zhou et al. 2022, equation 5: 1/|S| Σ log P(w | S)",
    description="The mean over all tokens but special ones of log P(token | the whole sentence, unmasked).",
    cannot_say=_SEEN,
    **_by(_unmasked, _mean),
)
AULA = _masked(
    id="aula",
    title="all unmasked likelihood, weighted by attention",
    measure="nats per token, times attention",
    paper="Kaneko and Bollegala 2022",
    equation="1/|S| Σ a(w) log P(w | S)",
    description="The mean over all tokens but special ones of log P(token | the whole sentence, unmasked) times "
    "the attention that the token receives, averaged over layers, heads and all positions that attend. As in "
    "the paper and its code, the weights are not made to add up to 1 over the tokens that count, and the mean "
    "is over tokens.",
    cannot_say="It favours longer sentences: weights add up to 1 at most over the whole sentence and are then "
    "divided by its number of tokens again, so that with each token the number comes nearer to zero, whatever "
    f"the tokens are. aula-renormalised does not. {_SEEN}",
    basis="aula",
    parts=("product", "attention", "tokens"),
    made=lambda product, attention, tokens: product / tokens,
    **_by(_unmasked, _weighted, numbers=3, attention=True),
)
AULA_RENORMALISED = replace(
    AULA,
    id="aula-renormalised",
    title="all unmasked likelihood, averaged by attention",
    measure="nats per token",
    paper="after Kaneko and Bollegala 2022; a variant of senseprobe's own",
    equation="Σ a(w) log P(w | S) / Σ a(w)",
    description="The mean over all tokens but special ones of log P(token | the whole sentence, unmasked), "
    "weighted by the attention that the token receives; the weights add up to 1 over these tokens.",
    cannot_say=f"It is not the published figure: that is aula. {_SEEN}",
    made=lambda product, attention, tokens: product / attention if attention else np.nan,
)
PLL = _masked(
    id="pll",
    title="pseudo-log-likelihood",
    measure="nats",
    paper="Salazar et al. 2020",
    equation="Salazar et al. 2020, equation 1: Σ log P(w | S without w)",
    description="The sum over all tokens but special ones of log P(token | the sentence with it masked).",
    cannot_say=f"{_SHORTER} It overrates words of many tokens, which give each other away: pll-word-l2r does not.",
    **_by(_mask_single, _sum),
)
PLL_WORD_L2R = _masked(
    id="pll-word-l2r",
    title="pseudo-log-likelihood, left to right within words",
    measure="nats",
    paper="Kauf and Ivanova 2023",
    equation="PLL-word-l2r: Σ log P(w | S without w and the later tokens of its word)",
    description="The sum over all tokens but special ones of log P(token | the sentence with it and the later "
    "tokens of its word masked). A word is a run of letters, marks and digits, whatever the tokenizer takes for "
    "one; any other character is a word of its own, and white space belongs to the word after it.",
    cannot_say=f"{_SHORTER} Where a script has no spaces, a run of letters is taken for one word.",
    **_by(_mask_rest_of_word, _sum),
)
CPS = _masked(
    id="cps",
    title="CrowS-Pairs score",
    version=2,
    reads=("text", "beside", "order"),
    measure="nats",
    direction="higher: the model finds the shared words more likely beside the words of this sentence",
    paper="Nangia et al. 2020",
    equation="Σ over shared tokens u of log P(u | the other shared tokens, the changed ones)",
    description="The sum over the tokens that both sentences of a pair have of log P(token | the sentence with "
    "it masked), one mask at a time. Tokens are matched by difflib on ids, with sentence 1 first, as in the "
    "released code: the stereotype, or the other sentence where a column `direction` says antistereo. Special "
    "tokens are left out by the tokenizer's mask. The released code leaves out the first and the last match "
    "instead, which are words where a tokenizer adds no special tokens, and takes frequent tokens "
    "of texts from 200 tokens on for noise.",
    cannot_say=_SHARED,
    basis="cps",
    parts=("sum",),
    made=float,
    **_by(_mask_shared, _sum, "no shared token", pairs=True, ordered=True),
)
CPS_ROUNDED = replace(
    CPS,
    id="cps-rounded",
    title="CrowS-Pairs score, rounded as released",
    paper="Nangia et al. 2020, as their code computes it",
    equation="round(cps, 3)",
    description="cps, rounded to three decimals before sentences are compared, as the released code does.",
    cannot_say=f"Rounding makes ties of small differences. {_SHARED}",
    made=lambda total: round(total, 3) + 0.0,  # never -0.0
)
SSS = _masked(
    id="sss",
    title="StereoSet score",
    reads=("text", "beside"),
    measure="nats per token",
    direction="higher: the model finds the words of this sentence that differ more likely",
    paper="Nadeem et al. 2021; Kaneko and Bollegala 2022",
    equation="1/|M| Σ over changed tokens m of log P(m | the shared tokens)",
    description="The mean over the tokens that the other sentence of the pair has not of log P(token | the "
    "sentence with all of them masked), each at its own position. The code of Kaneko and Bollegala averages "
    "each of these tokens at the position of each, which is the same for a single token only. Unscored where "
    "nothing differs.",
    cannot_say=_CHANGED,
    basis="sss",
    parts=("log_probability", "probability"),
    made=lambda log_probability, probability: log_probability,
    **_by(_mask_changed, _means, "no token differs", numbers=2, pairs=True),
)
SSS_PROB = replace(
    SSS,
    id="sss-prob",
    title="StereoSet score, of probabilities",
    measure="probability",
    scale="probability",
    range=(0.0, 1.0),
    paper="Nadeem et al. 2021, as their code averages",
    equation="1/|M| Σ over changed tokens m of P(m | the shared tokens)",
    description="As sss, but the mean is of probabilities, as in StereoSet's released code, and not of their "
    "logarithms, as in its paper: which of two sentences is higher can depend on it where a word has several "
    "tokens. Only the mean is that code's; what is masked is as in sss.",
    cannot_say=f"One likely token outweighs all others of its word. {_CHANGED}",
    made=lambda log_probability, probability: probability,
)
LOG_ODDS = _masked(
    id="log-odds",
    title="log probability bias score",
    reads=("text", "beside", "span"),
    measure="nats",
    range=(-np.inf, np.inf),
    direction="higher: what differs makes the target more likely; 0: it makes no difference",
    paper="Kurita et al. 2019",
    equation="log P(target | sentence) - log P(target | sentence with the attribute masked)",
    description="How much likelier the attribute makes the target. The target is the row's span, the attribute "
    "all tokens outside of it that the other sentence has not. All tokens of the target are masked at once; log "
    "P is the sum over them, each at its own position. In the second term the attribute's tokens are masked as "
    "well. Unscored where there is no target, or where nothing outside of it differs.",
    cannot_say="Targets of several tokens are predicted without knowledge of each other, and their number, like "
    "the attribute's, is given away by the masks: compare targets of as many tokens. It needs sentences that "
    "differ outside of the target.",
    **_by(_target_with_and_without, _difference, "no target, or no other token differs", pairs=True),
)
SCORERS = (AUL, AULA, AULA_RENORMALISED, PLL, PLL_WORD_L2R, CPS, CPS_ROUNDED, SSS, SSS_PROB, LOG_ODDS)
