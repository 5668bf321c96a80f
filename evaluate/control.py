"""The control of inference: pairs of the same words, of which the one follows from the other or contradicts it.

A model that answers neutral to everything looks perfect on probes, where nothing follows, and is right on no control.
"""

from collections.abc import Iterable
from contextlib import suppress
from math import inf
from pathlib import Path

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.result import Result, folder_of, read_result
from senseprobe.evaluate.task_gates import CONTROL
from senseprobe.records import Figure

RELEASE = "nli-control@1.0.1"

ROWS = 2_000
"""Rows that are drawn where the control was not scored whole: the accuracy is then exact to some three points."""

CHAT_ROWS = 200
"""Rows of the control that a chat model is asked about, six questions each: its gate is exact to some six points."""

GUESS = 50
"""Right answers, in points, of a model that never says neutral and guesses otherwise."""

MAX_FILES = 24
_SAME_MODEL = ("weights", "config", "tokenizer", "dtype", "labels", "family", "debias")


def is_control(result: Result) -> bool:
    """Return whether a result is on the control."""
    return str(result.release["name"]).partition("@")[0] == CONTROL


def is_probe(result: Result) -> bool:
    """Return whether a result has figures that say nothing without the control."""
    return any(lookup(figure.estimand).needs_control for figure in result.figures)


def right_answers(figures: Iterable[Figure]) -> list[Figure]:
    """Return the shares of right answers of whole configs among figures of the control."""
    return [figure for figure in figures if figure.group is None and lookup(figure.estimand).needs_gold]


def beats_guess(right: Figure) -> bool:
    """Return whether a share of right answers is shown to be above a guess's: a few right ones may be chance.

    >>> counts = {"rows": 9, "scored": 9, "unscored": 0, "ties": 0}
    >>> right = Figure(config="jobs", sense_type="", estimand="accuracy", value=80.0, low=48.0, **counts)
    >>> beats_guess(right)
    False
    """
    return right.low is not None and right.low > GUESS


def same_model(a: Result, b: Result) -> bool:
    """Return whether two results are of one model, wherever its files were."""
    return all(a.model.get(part) == b.model.get(part) for part in _SAME_MODEL)


def find_controls(folder: Path, result: Result) -> list[Result]:
    """Return results on the control by the model of `result`, whose own lie in `folder`: ``results/RELEASE/MODEL``.

    Only those of the most rows: a first look at the control is soon taken.
    """
    folders = sorted(folder.parent.parent.glob(f"{CONTROL}@*"))
    controls = []
    for file in [file for path in folders for file in sorted((path / folder.name).glob("*.json"))][:MAX_FILES]:
        with suppress(ResultError):  # a file that was not requested may be damaged
            controls.append(read_result(file))
    controls = [control for control in controls if is_control(control) and same_model(control, result)]
    most = max(map(_sample_size, controls), default=0)
    return [control for control in controls if _sample_size(control) == most]


def sufficient_controls(out: Path | None, probe: Result) -> list[Result]:
    """Return results of the model and scorer of a probe on the control below `out`, of at least `ROWS` rows."""
    if out is None:
        return []
    controls = find_controls(folder_of(out, str(probe.release["name"]), probe.model["name"]), probe)
    return [control for control in controls if control.scorer == probe.scorer and _sample_size(control) >= ROWS]


def _sample_size(result: Result) -> float:
    """Return how many rows a result was drawn from, infinitely many where all were scored."""
    return inf if result.limit is None else result.limit
