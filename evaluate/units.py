"""What is scored: a text, alone, beside its counterpart, or with a part of it marked."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.evaluate.estimands import lookup
from senseprobe.records import Design

TOO_LONG = "too long for the model"
EMPTY = "no token to score"
NOT_FINITE = "no finite number"
"""Why a unit has no number, whatever the scorer; some have reasons of their own."""

ROLES: Mapping[str, Mapping[str, str]] = {
    "contrast": {"stereo": "anti", "anti": "stereo"},
    "inference": {"premise": "hypothesis"},
}
"""The columns that are scored in rows of a kind, each with the column of its counterpart."""

UNRELATED: Mapping[str, str] = {"unrelated": "stereo"}
"""The third sentence of a contrast that StereoSet has, and its counterpart for scorers that read a pair."""

VIOLATES = "antistereo"
"""What the column `direction` of CrowS-Pairs says where `anti` was written first, to violate a stereotype."""

NO_SPAN = (-1, -1)


class Unit(NamedTuple):
    """What a scorer takes a number of; equal units have equal numbers, so each is computed once.

    - `text`: the sentence; for inference the premise.
    - `beside`: the other sentence of the pair, or the hypothesis; empty where the scorer does not read it.
    - `start`, `end`: the target's place in `text`, half-open, in code points; -1 where the scorer does not read it.
    - `second`: whether `beside` is sentence 1 of the pair; False where the scorer does not read the order.
    """

    text: str
    beside: str = ""
    start: int = -1
    end: int = -1
    second: bool = False


def scores_unrelated(design: Design) -> bool:
    """Whether the sentences in the column ``unrelated`` are scored, too: where a figure of the design is about them."""
    needed = any(lookup(name).reads_unrelated for name in design.estimands)
    return needed and "unrelated" in dict(design.columns)


def units_of(table: pd.DataFrame, role: str, counterpart: str, reads: Iterable[str]) -> list[Unit]:
    """The unit of each row for the sentence in column `role`, with nothing in it that the scorer does not read.

    `reads` names ``text``, ``beside``, ``span`` and ``order``.
    """
    reads = frozenset(reads)
    nothing = [""] * len(table)
    beside = table[counterpart] if "beside" in reads else nothing
    marked = "span" in reads and f"{role}_span" in table  # nobody says where the target is in an unrelated sentence
    spans = table[f"{role}_span"] if marked else [None] * len(table)
    places = [(span["start"], span["end"]) if span else NO_SPAN for span in spans]
    second = _is_second(table, role) if "order" in reads else np.zeros(len(table), dtype=np.bool_)
    rows = zip(table[role], beside, places, second.tolist(), strict=True)
    return [Unit(text, other, start, end, after) for text, other, (start, end), after in rows]


def _is_second(table: pd.DataFrame, role: str) -> NDArray[np.bool_]:
    """Of each row, whether the sentence in column `role` comes after its counterpart: bool of shape (rows,).

    Sentence 1 is as in the released code of CrowS-Pairs (Nangia et al. 2020, metric.py): `stereo`, but `anti` where the
    column `direction` says ``antistereo``. Rows without that column have the stereotype first.
    """
    turned = np.zeros(len(table), dtype=np.bool_)
    if "direction" in table:
        turned = (table["direction"] == VIOLATES).to_numpy(dtype=np.bool_)
    if role == "stereo":
        return turned
    return ~turned if role == "anti" else np.full(len(table), role in UNRELATED)
