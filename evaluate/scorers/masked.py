"""Scorers on masked language models."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # so that the catalogue can be listed without loading torch
    from senseprobe.evaluate.models.masked import Encoding, MaskedLM, Query

__all__ = ["aul", "pll"]


def aul(model: "MaskedLM", texts: Sequence[str], progress: Callable[[int], None] | None = None) -> NDArray[np.float64]:
    """Average over all tokens but special ones log P(token | the whole sentence) (Zhou et al. 2022, equation 5).

    float64 of shape (texts,), in nats per token, at most 0; NaN where a text is unscored.
    """
    return _by_sentence(model, texts, lambda encoding: [encoding.unmasked()], np.mean, progress)


def pll(model: "MaskedLM", texts: Sequence[str], progress: Callable[[int], None] | None = None) -> NDArray[np.float64]:
    """Sum over all tokens but special ones log P(token | the others) (Salazar et al. 2020, equation 1).

    float64 of shape (texts,), in nats, at most 0; NaN where a text is unscored.
    """

    def one_mask_at_a_time(encoding: "Encoding") -> Iterable["Query"]:
        return (encoding.masked(position, model.mask_id) for position in encoding.positions)

    return _by_sentence(model, texts, one_mask_at_a_time, np.sum, progress)


def _by_sentence(
    model: "MaskedLM",
    texts: Sequence[str],
    queries: Callable[["Encoding"], Iterable["Query"]],
    summary: Callable[[NDArray[np.float64]], np.float64],
    progress: Callable[[int], None] | None,
) -> NDArray[np.float64]:
    """Give each text the summary of the log-probabilities, one per own token, that its queries ask for."""
    distinct = list(dict.fromkeys(texts))
    encodings = dict(zip(distinct, model.encode(distinct), strict=True))
    # By length for equal batches; then by text, so that the order of the rows cannot change even the last bit.
    order = sorted(distinct, key=lambda text: (len(encodings[text].ids), text))
    asked = {text: encodings[text].positions if model.can_score(encodings[text]) else () for text in order}
    answers = model.log_probabilities(query for text in order if asked[text] for query in queries(encodings[text]))
    tokens = (value for answer in answers for value in answer)
    scores = {}
    for text, positions in asked.items():
        values = np.fromiter(islice(tokens, len(positions)), np.float64)
        scores[text] = summary(values) if positions and np.isfinite(values).all() else np.nan
        if progress is not None:
            progress(1)
    return np.array([scores[text] for text in texts], dtype=np.float64)
