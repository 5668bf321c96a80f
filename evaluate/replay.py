"""Compute a result again from its signature, and compare it with the first one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.models.registry import ModelSource
from senseprobe.evaluate.pipeline import Progress, ScoringJob, open_model, run
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.score_tables import read_scores
from senseprobe.evaluate.scorers import get
from senseprobe.messages import counted, printable

TOLERANCE = 1e-5
"""By which a score may differ, times the score where that is above 1: other batches, threads or processors."""

POINTS = 1e-6
"""By which a figure may differ, in points."""

LISTED = 10
"""Differing scores that are listed; the rest is counted."""

_NUMBERS = ("value", "low", "high", "p", "p_holm", "neutral")


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcome: `result` is the new one, None where the model is another; no `differences`: the results agree.

    - `redefined`: what is computed by another definition now than then, which makes no result wrong.
    - `rows`: how many rows were compared, None where the first result has no table.
    - `largest`: the largest difference between two scores of a unit.
    """

    first: Result
    result: Result | None
    differences: tuple[str, ...]
    redefined: tuple[str, ...] = ()
    rows: int | None = None
    largest: float = 0.0


def source_of(
    first: Result, name: str | None, *, device: str, batch_tokens: int | None, allow_pickle: bool
) -> ModelSource:
    """Return where the model of a result is, to be loaded as it was; `name` says where it is now, if it was moved.

    ResultError where a result is not of scores: a planted truth was not asked of a model.
    """
    if "planted" in first.model:
        raise ResultError("a planted truth is no score: `senseprobe plant` makes it again")
    revision = None if name else first.model.get("revision")
    spec, dtype, labels = name or first.model["name"], first.model["dtype"], first.model.get("labels")
    of_folder = revision is None and "family" not in first.model  # a plug-in's models are called as it likes
    if name is None and of_folder and not Path(spec).exists():
        raise ResultError(f"the model of the result, {printable(spec)}, is not here: --model says where it is now")
    return ModelSource(spec, revision, device, dtype, batch_tokens, allow_pickle, labels)


def replay(job: ScoringJob, source: ModelSource, first: Result, path: Path, progress: Progress | None) -> Replay:
    """Compute the result in the file `path` once more, without a store, and compare it, with its table if it has one.

    A model with other weights, config or tokenizer is not run. ResultError where the release holds other rows.
    """
    _refuse_other_release(first, job.release.manifest.name, job.release.manifest.content)
    rows, ability = read_scores(path, first), get(first.scorer).ability
    model = open_model(source, ability)
    if differences := _model_differences(first, model.identity):
        return Replay(first, None, tuple(differences))
    return compare(first, rows, run(job, model, first.scorer, progress=progress))


def _refuse_other_release(first: Result, name: str, content: str) -> None:
    if content != first.release["content"]:
        raise ResultError(
            f"{name} is not the release of the result: its content hash is {content[:12]},"
            f" the result's {str(first.release['content'])[:12]} (--release PATH says where the right one is)"
        )


def _model_differences(first: Result, identity: Mapping[str, str]) -> list[str]:
    """Return in what a model is not the one of the result; an empty list where scores have to be the same."""
    parts = ("weights", "config", "tokenizer", "dtype", "family")
    then, now = ({part: str(model.get(part, "ours"))[:12] for part in parts} for model in (first.model, identity))
    differing = [part for part in parts if first.model.get(part) != identity.get(part)]
    return [f"model, {part}: {then[part]} -> {now[part]}" for part in differing]


def compare(first: Result, rows: pd.DataFrame | None, second: Result) -> Replay:
    """Compare a result that was computed again with the first one and, where there is one, its table of scores."""
    _refuse_newer(first, second)
    if first.scorer_version != second.scorer_version:  # other numbers, and so other figures, are what it is about
        return Replay(first, second, (), (_redefined(first.scorer, first.scorer_version, second.scorer_version),))
    differences = [*_figure_differences(first, second)]
    largest = 0.0
    if rows is not None and second.rows is not None:
        in_rows, largest = _row_differences(rows, second.rows)
        differences += in_rows
    redefined = tuple(_redefined(name, *versions) for name, versions in _definitions(first, second).items())
    return Replay(first, second, tuple(differences), redefined, None if rows is None else len(rows), largest)


def _refuse_newer(first: Result, second: Result) -> None:
    """Raise ResultError where a result was computed by a definition that this senseprobe does not have yet."""
    newer = [first.scorer] if first.scorer_version > second.scorer_version else []
    newer += [name for name, (then, now) in _definitions(first, second).items() if then > now]
    if newer:
        raise ResultError(
            f"the result has newer definitions of {', '.join(newer)} than this senseprobe ({second.senseprobe}), "
            f"and was written by {first.senseprobe}: upgrade it"
        )


def _redefined(name: str, then: int, now: int) -> str:
    return f"{name} has another definition: {then} then, {now} now"


def _definitions(first: Result, second: Result) -> dict[str, tuple[int, int]]:
    """Return the estimands of both results that have another definition in the second, with both."""
    then, now = ({figure.estimand: figure.definition for figure in result.figures} for result in (first, second))
    return {name: (then[name], now[name]) for name in then if name in now and then[name] != now[name]}


def _figure_differences(first: Result, second: Result) -> Iterator[str]:
    sides = [
        {(figure.config, figure.estimand, figure.group or ""): figure.as_dict() for figure in result.figures}
        for result in (first, second)
    ]
    redefined = _definitions(first, second)
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        if key[1] in redefined:
            continue
        name = " ".join(filter(None, key))
        before, after = (side.get(key) for side in sides)
        if before is None or after is None:
            yield f"{name}: {'new' if before is None else 'no longer there'}"
            continue
        for part, then in before.items():
            now = after[part]
            if not (_close(then, now) if part in _NUMBERS else _plain(then) == _plain(now)):
                yield f"{name}, {part}: {then} -> {now}"


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _close(then: float | None, now: float | None) -> bool:
    return then is now if then is None or now is None else abs(then - now) <= POINTS


def _row_differences(before: pd.DataFrame, after: pd.DataFrame) -> tuple[list[str], float]:
    """Return how the tables differ, and the largest difference of a score; rows are compared by config and id."""
    if list(before.columns) != list(after.columns):
        return [f"rows, columns: {', '.join(before.columns)} -> {', '.join(after.columns)}"], 0.0
    if before[["config", "id"]].to_numpy().tolist() != after[["config", "id"]].to_numpy().tolist():
        return [f"rows: {len(before)} -> {len(after)}, with other ids or in another order"], 0.0
    scores = [column for column in before.columns if column not in {"config", "id"}]
    then, now = (table[scores].to_numpy(dtype=np.float64) for table in (before, after))
    distance = np.where(np.isnan(then) & np.isnan(now), 0.0, np.abs(then - now))
    size = np.maximum(1.0, np.maximum(np.abs(then), np.abs(now)))
    differing = np.argwhere(~(distance <= TOLERANCE * size))  # not >: NaN on one side only
    lines = [
        f"row {before['id'].iloc[row]}, {scores[column]}: {then[row, column]:.9g} -> {now[row, column]:.9g}"
        for row, column in differing[:LISTED]
    ]
    more = [f"and {counted(len(differing) - LISTED, 'other score')}"] if len(differing) > LISTED else []
    return lines + more, float(np.nanmax(distance, initial=0.0))
