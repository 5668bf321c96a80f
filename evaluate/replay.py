"""A result is computed again from its signature, and held against what was found the first time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.run import Job, Progress
from senseprobe.evaluate.score_tables import read_scores
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.scoring import Opening, open_model
from senseprobe.messages import counted, printable

TOLERANCE = 1e-5
"""By which a score may differ, times the score where that is above 1: other batches, threads or processors."""

POINTS = 1e-6
"""By which a figure may differ, in points."""

SHOWN = 10
"""Differences that are told; the rest is counted."""

_NUMBERS = ("value", "low", "high", "p", "p_holm", "neutral")


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of it: `result` is the new one, None where the model is another; nothing in `differences`: the same.

    - `redefined`: what is computed by another definition now than then, which makes no result wrong.
    - `rows`: how many rows were compared, None where the first result has no table beside it.
    - `largest`: the largest difference between two scores of a unit.
    """

    first: Result
    result: Result | None
    differences: tuple[str, ...]
    redefined: tuple[str, ...] = ()
    rows: int | None = None
    largest: float = 0.0


def opening_of(
    first: Result, name: str | None, *, device: str, batch_tokens: int | None, allow_pickle: bool
) -> Opening:
    """The model of a result, to be opened as it was; `name` says where it is now, if it was moved.

    ResultError where a result is not of scores: a planted truth was not asked of a model.
    """
    if "planted" in first.model:
        raise ResultError("a planted truth is no score: `senseprobe plant` makes it again")
    revision = None if name else first.model.get("revision")
    spec, dtype, labels = name or first.model["name"], first.model["dtype"], first.model.get("labels")
    of_folder = revision is None and "family" not in first.model  # a plug-in's models are called as it likes
    if name is None and of_folder and not Path(spec).exists():
        raise ResultError(f"the model of the result, {printable(spec)}, is not here: --model says where it is now")
    return Opening(spec, revision, device, dtype, batch_tokens, allow_pickle, labels)


def again(job: Job, opening: Opening, first: Result, path: Path, progress: Progress | None) -> Replay:
    """Compute the result in the file `path` once more, without a store; the table beside it is compared, if any.

    A model whose weights, config or tokenizer are others is not asked. ResultError where the release holds other rows.
    """
    _refuse_other_release(first, job.release.manifest.name, job.release.manifest.content)
    rows, ability = read_scores(path, first), get(first.scorer).ability
    model = open_model(opening, ability)
    if differences := _other_model(first, model.identity):
        return Replay(first, None, tuple(differences))
    return compare(first, rows, job.run(model, first.scorer, progress=progress))


def _refuse_other_release(first: Result, name: str, content: str) -> None:
    if content != first.release["content"]:
        raise ResultError(
            f"{name} is not the release of the result: its content hash is {content[:12]},"
            f" the result's {str(first.release['content'])[:12]} (--release PATH says where the right one is)"
        )


def _other_model(first: Result, identity: Mapping[str, str]) -> list[str]:
    """In what a model is not the one of the result; an empty list where scores have to be the same."""
    parts = ("weights", "config", "tokenizer", "dtype", "family")
    was, now = ({part: str(told.get(part, "ours"))[:12] for part in parts} for told in (first.model, identity))
    differ = [part for part in parts if first.model.get(part) != identity.get(part)]
    return [f"model, {part}: {was[part]} -> {now[part]}" for part in differ]


def compare(first: Result, rows: pd.DataFrame | None, again: Result) -> Replay:
    """Hold a result that was computed again against the first one and, where there is one, its table of scores."""
    _refuse_newer(first, again)
    if first.scorer_version != again.scorer_version:  # other numbers, and so other figures, are what it is about
        return Replay(first, again, (), (_redefined(first.scorer, first.scorer_version, again.scorer_version),))
    told = [*_figures(first, again)]
    largest = 0.0
    if rows is not None and again.rows is not None:
        different, largest = _rows(rows, again.rows)
        told += different
    redefined = tuple(_redefined(name, *versions) for name, versions in _definitions(first, again).items())
    return Replay(first, again, tuple(told), redefined, None if rows is None else len(rows), largest)


def _refuse_newer(first: Result, again: Result) -> None:
    """ResultError where a result was computed by a definition that this senseprobe does not have yet."""
    newer = [first.scorer] if first.scorer_version > again.scorer_version else []
    newer += [name for name, (was, now) in _definitions(first, again).items() if was > now]
    if newer:
        raise ResultError(
            f"the result has newer definitions of {', '.join(newer)} than this senseprobe ({again.senseprobe}), "
            f"and was written by {first.senseprobe}: upgrade it"
        )


def _redefined(name: str, was: int, now: int) -> str:
    return f"{name} has another definition: {was} then, {now} now"


def _definitions(first: Result, again: Result) -> dict[str, tuple[int, int]]:
    """Return the estimands of either result that have another definition in the other, with both."""
    was, now = ({figure.estimand: figure.definition for figure in result.figures} for result in (first, again))
    return {name: (was[name], now[name]) for name in was if name in now and was[name] != now[name]}


def _figures(first: Result, again: Result) -> Iterator[str]:
    sides = [
        {(figure.config, figure.estimand, figure.group or ""): figure.as_dict() for figure in result.figures}
        for result in (first, again)
    ]
    redefined = _definitions(first, again)
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        if key[1] in redefined:
            continue
        name = " ".join(filter(None, key))
        before, after = (side.get(key) for side in sides)
        if before is None or after is None:
            yield f"{name}: {'new' if before is None else 'no longer there'}"
            continue
        for part, was in before.items():
            now = after[part]
            if not (_close(was, now) if part in _NUMBERS else _plain(was) == _plain(now)):
                yield f"{name}, {part}: {was} -> {now}"


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _close(was: float | None, now: float | None) -> bool:
    return was is now if was is None or now is None else abs(was - now) <= POINTS


def _rows(before: pd.DataFrame, after: pd.DataFrame) -> tuple[list[str], float]:
    """What is different in the tables, and the largest difference of a score; rows are compared by config and id."""
    if list(before.columns) != list(after.columns):
        return [f"rows, columns: {', '.join(before.columns)} -> {', '.join(after.columns)}"], 0.0
    if before[["config", "id"]].to_numpy().tolist() != after[["config", "id"]].to_numpy().tolist():
        return [f"rows: {len(before)} -> {len(after)}, with other ids or in another order"], 0.0
    scores = [column for column in before.columns if column not in {"config", "id"}]
    was, now = (table[scores].to_numpy(dtype=np.float64) for table in (before, after))
    apart = np.where(np.isnan(was) & np.isnan(now), 0.0, np.abs(was - now))
    size = np.maximum(1.0, np.maximum(np.abs(was), np.abs(now)))
    wrong = np.argwhere(~(apart <= TOLERANCE * size))  # not <=: NaN on one side only
    told = [
        f"row {before['id'].iloc[row]}, {scores[column]}: {was[row, column]:.9g} -> {now[row, column]:.9g}"
        for row, column in wrong[:SHOWN]
    ]
    more = [f"and {counted(len(wrong) - SHOWN, 'other score')}"] if len(wrong) > SHOWN else []
    return told + more, float(np.nanmax(apart, initial=0.0))
