"""Rows of questions, answers to them, and the interval rule over their factors in plain loops."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.kinds.question.columns import FACTORS
from senseprobe.kinds.question.expansion import QuestionExpansion
from senseprobe.records import Design, Figure

ANSWERS = ("stereo", "anti", "unknown")
NUMBERS = ["stereo_score", "anti_score", "unknown_score"]
DESIGN = Design(
    kind="question",
    sense_type="",
    bias_type="age",
    slots=(),
    roles={},
    factors=FACTORS,
    estimands=QuestionExpansion.estimands,
)


def with_answers(rows: pd.DataFrame, answers: Iterable[str]) -> pd.DataFrame:
    """Rows whose numbers are logarithms of which the largest is that of the answer."""
    scores = [[0.0 if answer == name else -3.0 for name in ANSWERS] for answer in answers]
    return rows.assign(**dict(zip(NUMBERS, np.array(scores).T, strict=True)))


def with_shares(rows: pd.DataFrame, shares: Sequence[Sequence[float]]) -> pd.DataFrame:
    return rows.assign(**dict(zip(NUMBERS, np.array(shares, dtype=float).T, strict=True)))


def by_name(made: Iterable[Figure]) -> dict[tuple[str, str | None], Figure]:
    return {(figure.estimand, figure.group): figure for figure in made}


def design_rows(templates: int = 6, names: int = 5, wordings: int = 6, things: str = "") -> pd.DataFrame:
    """Rows of a config: half ambiguous; of each template half of the right answers agree with the stereotype."""
    rows: list[dict[str, Any]] = []
    product = itertools.product(
        range(templates), ("ambiguous", "disambiguated"), ("negative", "non-negative"), (0, 1), range(names)
    )
    orders = [*itertools.permutations(ANSWERS)]
    for number, (template, condition, polarity, order, name) in enumerate(product):
        target, other = f"{things}old {name}", f"{things}young {(name + template + order) % names}"
        if template % 2:  # every other template is about the other group
            target, other = other, target
        stereo, anti = (target, other) if polarity == "negative" else (other, target)
        gold = "unknown" if condition == "ambiguous" else ("stereo", "anti")[order]
        rows.append(
            {
                "id": f"{things}{number}",
                "frame": f"{template}-{condition}-{polarity}-{order}",
                "context": f"{template}: {target} and {other}, {condition}, {order}",
                "condition": condition,
                "polarity": polarity,
                "stereo": stereo,
                "anti": anti,
                "unknown": f"unknown {(name + 2 * template + 3 * order) % wordings}",
                "order": " ".join(orders[(number * 7 + template) % 6]),
                "gold": gold,
                "target_groups": "young" if template % 2 else "old",
                "template": f"t{template}",
            }
        )
    return pd.DataFrame(rows)


def naive_variance(terms: Sequence[float], rows: pd.DataFrame, factors: Mapping[str, Sequence[str]]) -> float:
    """V of a sum of terms (already centred and weighted): by factor n / (n - 1) times the sum of squared level sums."""
    variance = 0.0
    for columns in factors.values():
        sums: dict[str, float] = {}
        for term, (_, row) in zip(terms, rows.iterrows(), strict=True):
            for column in columns:
                sums[row[column]] = sums.get(row[column], 0.0) + term
        variance += len(sums) / (len(sums) - 1) * sum(total**2 for total in sums.values())
    return variance


OF_ROWS = {"template": ("template",), "names": ("stereo", "anti"), "wording": ("unknown",)}


def draw(rows: pd.DataFrame, seed: int, chances: Sequence[float]) -> pd.DataFrame:
    return with_answers(rows, np.random.default_rng(seed).choice(ANSWERS, size=len(rows), p=chances))


def answers_of(rows: pd.DataFrame) -> list[str]:
    return [ANSWERS[int(np.argmax(row))] for row in rows[NUMBERS].to_numpy()]
