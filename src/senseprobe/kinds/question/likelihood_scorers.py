"""Scorers of causal models: how likely each of three answers is as what follows a text and a question.

unit -> tokens of "context question", and of each answer after it -> log P of the answers, the beginning read once
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from senseprobe.evaluate.scorers.base import Answers, Scorer, WholeUnit, answered
from senseprobe.evaluate.units import NOT_FINITE, TOO_LONG, Unit
from senseprobe.kinds.question.columns import ANSWERS, SCORES
from senseprobe.kinds.question.units import ROLES, select_units, split_unit

if TYPE_CHECKING:  # so that scorers can be listed without loading torch
    from senseprobe.evaluate.models.causal import CausalLM, Query

UNLIKE = "the tokens of an answer do not follow those of the question"
_PARTS = tuple(f"{answer}_{part}" for answer in ANSWERS for part in ("sum", "tokens", "bytes"))
_UNSCORED = (nan,) * len(_PARTS)


def write_texts(unit: Unit) -> list[str]:
    r"""Return the text before the answers of a unit, and that with each of them.

    >>> write_texts(Unit("Ann met Bo.\nWho sang?", "Ann.\nBo.\nUnknown."))[:2]
    ['Ann met Bo. Who sang?', 'Ann met Bo. Who sang? Ann.']
    """
    context, question, answers = split_unit(unit.text, unit.beside)
    before = f"{context} {question}"
    return [before, *(f"{before} {answer}" for answer in answers)]


@dataclass(frozen=True, slots=True)
class _AnswerWork:
    """A unit, and the queries of its answers: the tokens of the whole text, and how many of them are given."""

    unit: Unit
    queries: tuple["Query", ...]
    rows: int = len(ANSWERS)

    @property
    def ids(self) -> tuple[int, ...]:
        """The tokens by which it is put beside others that begin alike: those of its longest text."""
        return max((ids for ids, _ in self.queries), key=len)

    @property
    def length(self) -> int:
        """Tokens that are read of the longest text: all but the last."""
        return len(self.ids) - 1


def _sizes(unit: Unit) -> list[float]:
    return [float(len(answer.encode())) for answer in split_unit(unit.text, unit.beside).answers]


def _plan(model: "CausalLM", window: Sequence[Unit]) -> Iterator[_AnswerWork | str]:
    """Yield the work of each unit, or why it has none."""
    texts = [text for unit in window for text in write_texts(unit)]
    tokens, width = [(*model.start, *tokens.ids) for tokens in model.encode(texts)], 1 + len(ANSWERS)
    for number, unit in enumerate(window):
        before, *whole = tokens[number * width : (number + 1) * width]
        if max(map(len, whole)) > model.max_length + 1:
            yield TOO_LONG
        elif not before or any(ids[: len(before)] != before or len(ids) == len(before) for ids in whole):
            yield UNLIKE
        else:
            yield _AnswerWork(unit, tuple((ids, len(before)) for ids in whole))


def _score(model: Any, units: Iterable[Unit], done: Container[Unit]) -> Iterator[Answers]:  # noqa: ANN401
    """Yield of each unit's answers the sum of log P over tokens, how many there are, and bytes of the answer."""
    if hasattr(model, "likelihoods"):
        return answered(units, done, partial(map, WholeUnit), model.portions, partial(_ask, model), _UNSCORED)

    from senseprobe.evaluate.models.causal import PROMPTS

    model = model.laid_out(PROMPTS)

    def plan(window: Sequence[Unit]) -> Iterator[_AnswerWork]:
        return (work for work in _plan(model, window) if isinstance(work, _AnswerWork))

    def answer(batch: Sequence[_AnswerWork]) -> Iterator[tuple[float, ...]]:
        sums = iter(model.log_likelihoods([query for work in batch for query in work.queries]).tolist())
        for work in batch:
            likelihoods = [(next(sums), float(len(ids) - given)) for ids, given in work.queries]
            yield _parts_of(work.unit, likelihoods)

    return answered(units, done, plan, model.batches, answer, _UNSCORED)


def _parts_of(unit: Unit, likelihoods: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Return the parts of a unit, of the sum of log P and the number of tokens of each answer."""
    if not all(isfinite(total) and tokens > 0 for total, tokens in likelihoods):
        return _UNSCORED
    sizes = zip(likelihoods, _sizes(unit), strict=True)
    return tuple(part for (total, tokens), size in sizes for part in (total, tokens, size))


# --- behind a server --------------------------------------------------------------------------------------------------


def _ask(model: Any, batch: Sequence[WholeUnit]) -> Iterator[tuple[float, ...]]:  # noqa: ANN401
    """Yield the parts of units by a model that cuts texts itself: log P of the whole less that of what is before."""
    texts = list(dict.fromkeys(text for work in batch for text in write_texts(work.unit)))
    values = dict(zip(texts, model.likelihoods(texts, start=True), strict=True))
    for work in batch:
        before, *whole = (values[text] for text in write_texts(work.unit))
        if before is None or None in whole:
            yield _UNSCORED
        else:
            yield _parts_of(work.unit, [(text[0] - before[0], text[1] - before[1]) for text in whole])


def _why(model: Any, units: Sequence[Unit]) -> Iterator[str]:  # noqa: ANN401 - a causal model
    if hasattr(model, "likelihoods"):
        for unit in units:
            yield next(filter(None, map(model.why, write_texts(unit))), NOT_FINITE)
        return
    for work in _plan(model, units):
        yield work if isinstance(work, str) else NOT_FINITE


# --- scorers ----------------------------------------------------------------------------------------------------------


def _per_token(*parts: float) -> tuple[float, ...]:
    return tuple(total / tokens for total, tokens in zip(parts[0::3], parts[1::3], strict=True))


def _per_byte(*parts: float) -> tuple[float, ...]:
    return tuple(total / size if size else nan for total, size in zip(parts[0::3], parts[2::3], strict=True))


_TEXT = "The text, a blank, the question, a blank and the answer, after the model's start token if it has one."
_CANNOT = (
    "It is not what the model would answer: a phrase that is frequent anywhere is also likely here. Wordings of 'it "
    "cannot be known' differ most, and the share of them as the most likely answer says little."
)
_WAYS: Mapping[str, Any] = {
    "ability": "causal",
    "rows": "question",
    "reads": ("text", "beside"),
    "columns": SCORES,
    "roles": ROLES,
    "select": select_units,
    "range": (-float("inf"), 0.0),
    "basis": "question-likely",
    "parts": _PARTS,
    "needs": "ll",
    "asks": write_texts,
    "score": _score,
    "why": _why,
}
LIKELY = Scorer(
    **_WAYS,
    id="question-likely",
    title="likelihood of an answer after its question, per token",
    unit="nats per token",
    direction="higher: the model finds the answer more likely",
    source="Brown et al. 2020; Parrish et al. 2022",
    equation="1/n Σ log P(t_i | context, question, t_1 … t_(i-1)) over the n tokens of the answer",
    says=f"The mean over the answer's tokens of log P(token | all that is before it). {_TEXT}",
    cannot_say=f"{_CANNOT} Tokens depend on the tokenizer; question-likely-byte does not.",
    combine=_per_token,
)
LIKELY_BYTE = replace(
    LIKELY,
    id="question-likely-byte",
    title="likelihood of an answer after its question, per byte",
    unit="nats per byte",
    equation="1/bytes Σ log P(t_i | context, question, t_1 … t_(i-1)) over the tokens of the answer",
    says="As question-likely, but the sum is divided by the bytes of the answer in UTF-8, without the blank before it.",
    cannot_say=f"{_CANNOT} It favours long words, and scripts with more bytes per character.",
    combine=_per_byte,
)
SCORERS = (LIKELY, LIKELY_BYTE)
"""Scorers of causal models on questions."""
