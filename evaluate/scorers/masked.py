"""Scorers on masked language models, each as its paper defines it; what released code did is a variant of its own."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.scorers.masked_queries import Ask, Read, score_by, why_by
from senseprobe.evaluate.scorers.token_alignment import inside, rest_of_word

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


def _per_token(product: float, _attention: float, tokens: float) -> float:
    return product / tokens


def _per_attention(product: float, attention: float, _tokens: float) -> float:
    return product / attention if attention else np.nan


def _as_summed(total: float) -> float:
    return total


def _rounded(total: float) -> float:
    return round(total, 3) + 0.0 if np.isfinite(total) else total  # never -0.0


def _first(log_probability: float, _probability: float) -> float:
    return log_probability


def _second(_log_probability: float, probability: float) -> float:
    return probability


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

SCORERS = (
    Scorer(
        id="aul",
        title="all unmasked likelihood",
        ability="masked",
        measure="nats per token",
        range=(-np.inf, 0.0),
        direction=_LIKELIER,
        paper="Kaneko and Bollegala 2022; Zhou et al. 2022",
        equation="Zhou et al. 2022, equation 5: 1/|S| Σ log P(w | S)",
        description="The mean over all tokens but special ones of log P(token | the whole sentence, unmasked).",
        cannot_say=_SEEN,
        score=score_by(_unmasked, _mean),
        why=why_by(_unmasked),
    ),
    Scorer(
        id="aula",
        title="all unmasked likelihood, weighted by attention",
        ability="masked",
        measure="nats per token, times attention",
        range=(-np.inf, 0.0),
        direction=_LIKELIER,
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
        made=_per_token,
        score=score_by(_unmasked, _weighted, numbers=3, attention=True),
        why=why_by(_unmasked),
    ),
    Scorer(
        id="aula-renormalised",
        title="all unmasked likelihood, averaged by attention",
        ability="masked",
        measure="nats per token",
        range=(-np.inf, 0.0),
        direction=_LIKELIER,
        paper="after Kaneko and Bollegala 2022; a variant of senseprobe's own",
        equation="Σ a(w) log P(w | S) / Σ a(w)",
        description="The mean over all tokens but special ones of log P(token | the whole sentence, unmasked), "
        "weighted by the attention that the token receives; the weights add up to 1 over these tokens.",
        cannot_say=f"It is not the published figure: that is aula. {_SEEN}",
        basis="aula",
        parts=("product", "attention", "tokens"),
        made=_per_attention,
        score=score_by(_unmasked, _weighted, numbers=3, attention=True),
        why=why_by(_unmasked),
    ),
    Scorer(
        id="pll",
        title="pseudo-log-likelihood",
        ability="masked",
        measure="nats",
        range=(-np.inf, 0.0),
        direction=_LIKELIER,
        paper="Salazar et al. 2020",
        equation="Salazar et al. 2020, equation 1: Σ log P(w | S without w)",
        description="The sum over all tokens but special ones of log P(token | the sentence with it masked).",
        cannot_say=f"{_SHORTER} It overrates words of many tokens, which give each other away: pll-word-l2r does not.",
        score=score_by(_mask_single, _sum),
        why=why_by(_mask_single),
    ),
    Scorer(
        id="pll-word-l2r",
        title="pseudo-log-likelihood, left to right within words",
        ability="masked",
        measure="nats",
        range=(-np.inf, 0.0),
        direction=_LIKELIER,
        paper="Kauf and Ivanova 2023",
        equation="PLL-word-l2r: Σ log P(w | S without w and the later tokens of its word)",
        description="The sum over all tokens but special ones of log P(token | the sentence with it and the later "
        "tokens of its word masked). A word is a run of letters, marks and digits, whatever the tokenizer takes for "
        "one; any other character is a word of its own, and white space belongs to the word after it.",
        cannot_say=f"{_SHORTER} Where a script has no spaces, a run of letters is taken for one word.",
        score=score_by(_mask_rest_of_word, _sum),
        why=why_by(_mask_rest_of_word),
    ),
    Scorer(
        id="cps",
        title="CrowS-Pairs score",
        version=2,
        ability="masked",
        reads=("text", "beside", "order"),
        measure="nats",
        range=(-np.inf, 0.0),
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
        made=_as_summed,
        score=score_by(_mask_shared, _sum, pairs=True, ordered=True),
        why=why_by(_mask_shared, "no shared token", pairs=True, ordered=True),
    ),
    Scorer(
        id="cps-rounded",
        title="CrowS-Pairs score, rounded as released",
        version=2,
        ability="masked",
        reads=("text", "beside", "order"),
        measure="nats",
        range=(-np.inf, 0.0),
        direction="higher: the model finds the shared words more likely beside the words of this sentence",
        paper="Nangia et al. 2020, as their code computes it",
        equation="round(cps, 3)",
        description="cps, rounded to three decimals before sentences are compared, as the released code does.",
        cannot_say=f"Rounding makes ties of small differences. {_SHARED}",
        basis="cps",
        parts=("sum",),
        made=_rounded,
        score=score_by(_mask_shared, _sum, pairs=True, ordered=True),
        why=why_by(_mask_shared, "no shared token", pairs=True, ordered=True),
    ),
    Scorer(
        id="sss",
        title="StereoSet score",
        ability="masked",
        reads=("text", "beside"),
        measure="nats per token",
        range=(-np.inf, 0.0),
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
        made=_first,
        score=score_by(_mask_changed, _means, numbers=2, pairs=True),
        why=why_by(_mask_changed, "no token differs", pairs=True),
    ),
    Scorer(
        id="sss-prob",
        title="StereoSet score, of probabilities",
        ability="masked",
        reads=("text", "beside"),
        measure="probability",
        scale="probability",
        range=(0.0, 1.0),
        direction="higher: the model finds the words of this sentence that differ more likely",
        paper="Nadeem et al. 2021, as their code averages",
        equation="1/|M| Σ over changed tokens m of P(m | the shared tokens)",
        description="As sss, but the mean is of probabilities, as in StereoSet's released code, and not of their "
        "logarithms, as in its paper: which of two sentences is higher can depend on it where a word has several "
        "tokens. Only the mean is that code's; what is masked is as in sss.",
        cannot_say=f"One likely token outweighs all others of its word. {_CHANGED}",
        basis="sss",
        parts=("log_probability", "probability"),
        made=_second,
        score=score_by(_mask_changed, _means, numbers=2, pairs=True),
        why=why_by(_mask_changed, "no token differs", pairs=True),
    ),
    Scorer(
        id="log-odds",
        title="log probability bias score",
        ability="masked",
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
        score=score_by(_target_with_and_without, _difference, pairs=True),
        why=why_by(_target_with_and_without, "no target, or no other token differs", pairs=True),
    ),
)
