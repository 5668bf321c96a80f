"""Compute a result again from its signature, and compare it with the first one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from senseprobe.errors import ModelError, ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.figure_check import figure_differences
from senseprobe.evaluate.models import ModelSource, source_class
from senseprobe.evaluate.pipeline import Progress, run
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.retirements import RETIRED, describe_retired
from senseprobe.evaluate.score_tables import read_scored
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.scoring import opened_model
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.task_gates import accuracy_read, find_verdict
from senseprobe.messages import counted

TOLERANCE = 1e-5
"""By which a score may differ, times the score where that is above 1: other batches, threads or processors."""

CHAT_TOLERANCE = 1e-4
"""The same of chat models: in single precision a prompt of 100 tokens moves a log-probability by some 3e-5."""

COSINES_TOLERANCE = 1e-4
"""By which the cosine of two words may differ; the score of a row is a mean of many, and differs less."""

LISTED = 10  # differing scores that are listed; the rest is counted
_REDEFINED = "{} has a different definition: {} then, {} now"


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcome: `result` is the new one, None where the model is another or nothing of it is computed any more.

    No `differences`: the results agree.

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
    first: Result,
    moved: ModelSource | None,
    *,
    device: str,
    batch_tokens: int | None,
    allow_pickle: bool,
) -> ModelSource:
    """Return where the model of a result is, to be loaded as it was; `moved` says where it is now, if it was moved.

    ModelError where a result of a served model is to be computed by another kind, or the other way round.
    """
    if "planted" in first.model:
        raise ResultError("a planted truth is not a model's score: `senseprobe model plant` makes it again")
    kind = source_class(first.model["name"])
    if moved is not None and source_class(moved.name) is not kind:
        raise ModelError("a served model and a model loaded here are never the same: nothing was computed")
    return kind.of_result(first.model, moved, device=device, batch_tokens=batch_tokens, allow_pickle=allow_pickle)


def describe_retired_result(first: Result) -> str:
    """Return that a result is of what is no longer computed, so that nothing is; empty where it can be replayed."""
    kind = source_class(first.model["name"])
    return kind.describe_retired(first.model, first.scorer) or describe_retired(first.scorer)


def replay(job: ScoringJob, source: ModelSource, first: Result, path: Path, progress: Progress | None) -> Replay:
    """Compute the result in the file `path` once more, without a store, and compare it, with its table if it has one.

    A model with other weights, config or tokenizer is not run. ResultError where the release holds other rows.
    """
    release = job.release.manifest
    if release.content != first.release["content"]:
        raise ResultError(
            f"{release.name} is not the release of the result: its content hash is {release.content[:12]}, "
            f"the result's {str(first.release['content'])[:12]} (give the right one with --release PATH)"
        )
    first, scorer = replace(first, scored=read_scored(path, first)), get(first.scorer)
    with opened_model(source, scorer.ability) as model:
        identity = scorer.identity(model)
        if differing := source.compare_identities(first.model, identity, model):
            return Replay(first, None, differing)
        if retired := source.describe_retired_scorer(model, first.scorer):
            return Replay(first, None, (), (retired,))
        # Whether figures have values although a gate fails.
        show = any(find_verdict(figure) and figure.value is not None for figure in first.figures)
        check = scorer.check(model, accuracy=accuracy_read(first.tasks.values()), show=show)
        second = run(job, model, first.scorer, progress=progress, check=check)
    return compare(first, second, noise=getattr(model, "noise", 0.0))


def compare(first: Result, second: Result, noise: float = 0.0) -> Replay:
    """Compare a result that was computed again with the first one and, where there are any, its scores and words.

    `noise`: by how much a served model's answers differ between repeats, in nats.
    """
    then, now = ({figure.estimand: figure.definition for figure in result.figures} for result in (first, second))
    definitions = {name: (then[name], now[name]) for name in then if name in now and then[name] != now[name]}
    verdicts = (first.verdicts, second.verdicts)
    versions = {first.scorer: (first.scorer_version, second.scorer_version), **definitions, "a verdict": verdicts}
    if newer := [name for name, (before, after) in versions.items() if before > after]:
        raise ResultError(
            f"the result has newer definitions of {', '.join(newer)} than this senseprobe ({second.senseprobe}), "
            f"and was written by {first.senseprobe}: upgrade it"
        )
    if first.scorer_version != second.scorer_version:  # other numbers, and so other figures, are what it is about
        return Replay(first, second, (), (_REDEFINED.format(first.scorer, *versions[first.scorer]),))
    differences = [
        *figure_differences(
            first.figures,
            second.figures,
            lambda estimand: lookup(estimand).replay_tolerance,
            left_out={*definitions, *RETIRED},
            older=first.verdicts < second.verdicts,
        )
    ]
    largest = 0.0
    if first.rows is not None and second.rows is not None:
        exact = CHAT_TOLERANCE if get(first.scorer).gates else TOLERANCE
        in_rows, largest = _row_differences(first.rows, second.rows, max(exact, 3 * noise))
        differences += in_rows
    if first.words is not None and second.words is not None:
        differences += _word_differences(first.words, second.words)
    if first.verdicts != second.verdicts:
        definitions["a verdict"] = verdicts
    rows = None if first.rows is None else len(first.rows)
    redefined = [_REDEFINED.format(name, *both) for name, both in definitions.items()]
    redefined += filter(None, map(describe_retired, dict.fromkeys(figure.estimand for figure in first.figures)))
    return Replay(first, second, tuple(differences), tuple(redefined), rows, largest)


def _row_differences(before: pd.DataFrame, after: pd.DataFrame, tolerance: float) -> tuple[list[str], float]:
    """Return how the tables differ, and the largest difference of a score; rows are compared by config and id."""
    if list(before.columns) != list(after.columns):
        return [f"rows, columns: {', '.join(before.columns)} -> {', '.join(after.columns)}"], 0.0
    if before[["config", "id"]].to_numpy().tolist() != after[["config", "id"]].to_numpy().tolist():
        return [f"rows: {len(before)} -> {len(after)}, with different ids or in a different order"], 0.0
    scores = [column for column in before.columns if column not in {"config", "id"}]
    then, now = (table[scores].to_numpy(dtype=np.float64) for table in (before, after))
    distance = np.where(np.isnan(then) & np.isnan(now), 0.0, np.abs(then - now))
    size = np.fmax(1.0, np.fmax(np.abs(then), np.abs(now)))  # not NaN where a row has none
    differing = np.argwhere(~(distance <= tolerance * size))  # not >: NaN on one side only
    lines = [
        f"row {before['id'].iloc[row]}, {scores[column]}: {then[row, column]:.9g} -> {now[row, column]:.9g}"
        for row, column in differing[:LISTED]
    ]
    more = [f"and {counted(len(differing) - LISTED, 'other score')}"] if len(differing) > LISTED else []
    return lines + more, float(np.nanmax(distance, initial=0.0))


def _word_differences(before: pa.Table, after: pa.Table) -> Iterator[str]:
    numbers = ["cosine", "check"]
    if before.drop_columns(numbers) != after.drop_columns(numbers):
        yield "words: different words, or a different order"
        return
    then, now = (table.select(numbers).to_pandas().to_numpy(dtype=np.float64) for table in (before, after))
    far = ~(np.abs(then - now) <= COSINES_TOLERANCE) & ~(np.isnan(then) & np.isnan(now))
    if differing := int(far.any(axis=1).sum()):
        largest = np.nanmax(np.abs(then - now), initial=0)
        yield f"words: {counted(differing, 'cosine')} of {len(then):,}, the largest difference {largest:.1e}"
