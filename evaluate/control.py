"""The control of inference: pairs of the same words, of which the one follows from the other or contradicts it.

A model that answers neutral to everything looks perfect on probes, where nothing follows. On the control it is right on
none, so figures of probes are read beside its accuracy there.
"""

from math import inf
from pathlib import Path

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.result import Result, read_result

DATASET = "nli-control"
RELEASE = "nli-control@1.0.1"

ROWS = 2_000
"""That are drawn of it where nobody scored it whole: the accuracy is then known to some three points."""

MAX_FILES = 24
_SAME_MODEL = ("weights", "config", "tokenizer", "dtype", "labels", "family")


def is_control(result: Result) -> bool:
    """Whether a result is on the control."""
    return str(result.release["name"]).partition("@")[0] == DATASET


def is_probe(result: Result) -> bool:
    """Whether a result has figures that say nothing without the control."""
    return any(lookup(figure.estimand).needs_control for figure in result.figures)


def same_model(a: Result, b: Result) -> bool:
    """Whether two results are of one model, wherever it lay."""
    return all(a.model.get(part) == b.model.get(part) for part in _SAME_MODEL)


def beside(folder: Path, result: Result) -> list[Result]:
    """Results on the control by the model of `result`, whose own lie in `folder`: ``results/RELEASE/MODEL``.

    Of those that are of more rows and of fewer, the former: a first look at the control is soon taken.
    """
    found = []
    folders = sorted(place / folder.name for place in folder.parent.parent.glob(f"{DATASET}@*"))
    for file in [file for place in folders for file in sorted(place.glob("*.json"))][:MAX_FILES]:
        try:
            found.append(read_result(file))
        except ResultError:
            continue  # what nobody asked for need not be right
    ours = [each for each in found if is_control(each) and same_model(each, result)]
    most = max(map(rows_drawn, ours), default=0)
    return [each for each in ours if rows_drawn(each) == most]


def rows_drawn(result: Result) -> float:
    """How many rows a result was drawn from, infinitely many where all were scored."""
    return inf if result.limit is None else result.limit
