"""What a model is asked of a row: its context and question as one text, its three answers as the other."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from senseprobe.kinds.question.columns import ANSWERS

ROLES: Mapping[str, str] = {"prompt": "answers"}
"""The columns that `select_units` adds: a unit's text, and what stands beside it."""


class QuestionUnit(NamedTuple):
    """A unit in its parts: what is given, what is asked, and the answers, as `ANSWERS` has them."""

    context: str
    question: str
    answers: tuple[str, ...]


def select_units(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, pd.DataFrame]:
    r"""Return the rows of configs, all of them, with the columns ``prompt`` and ``answers`` of their units.

    A question and an answer have no line break, so that `split_unit` gets the parts back.

    >>> row = {"context": "Ann met Bo.", "question": "Who sang?", "stereo": "Ann.", "anti": "Bo.", "unknown": "None."}
    >>> select_units({"song": pd.DataFrame([row])})["song"][["prompt", "answers"]].values.tolist()
    [['Ann met Bo.\nWho sang?', 'Ann.\nBo.\nNone.']]
    """
    selected = {}
    for name, table in tables.items():
        text = {column: table[column].astype(str) for column in ("context", "question", *ANSWERS)}
        answers = text["stereo"] + "\n" + text["anti"] + "\n" + text["unknown"]
        selected[name] = table.assign(prompt=text["context"] + "\n" + text["question"], answers=answers)
    return selected


def split_unit(text: str, beside: str) -> QuestionUnit:
    r"""Return the parts of a unit's two texts.

    >>> split_unit("Ann met Bo.\nWho sang?", "Ann.\nBo.\nUnknown.")
    QuestionUnit(context='Ann met Bo.', question='Who sang?', answers=('Ann.', 'Bo.', 'Unknown.'))
    """
    context, _, question = text.rpartition("\n")
    return QuestionUnit(context, question, tuple(beside.split("\n")))
