"""The result of rows that come in parts: that of `pipeline.run`, without a table of all rows.

read -> figures, and beside them what the tokenizer makes of rows, and which rows a page shows -> result

Its scores are written part by part, in groups of rows (`Result.write`), in one more reading.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.figures import left_out_estimands, with_notes
from senseprobe.evaluate.fitness import FitnessCount, reads_tokens, unreadable_configs
from senseprobe.evaluate.pipeline import make_result
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.score_tables import tokenize_texts
from senseprobe.evaluate.scorers import Scorer
from senseprobe.evaluate.scorers.base import select_all
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.streams.figure_sums import RowReader, stream_figures
from senseprobe.evaluate.streams.page_sample import LargestRows, page_rows_of
from senseprobe.evaluate.units import KINDS, ScoredRows

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model


def why_not_streamed(job: ScoringJob, model: Any, scorer: Scorer) -> str:  # noqa: ANN401 - of any family
    """Return why the rows of a job cannot come in parts; empty where they can."""
    if KINDS[scorer.kind].tests or scorer.level:
        return "an association test needs all its words"
    if job.limit is not None or scorer.select is not select_all:
        return "rows are chosen among all"
    if scorer.gates:
        return "a chat model is asked on"
    if getattr(model, "alteration", None) is not None:
        return "which rows are one to a model that something was removed from is known of all rows only"
    return ""


def stream_result(
    job: ScoringJob,
    model: "Model",
    scorer: Scorer,
    read: RowReader,
    numbers: Sequence[str],
    unscored: Callable[[], Mapping[str, Any]],
    *,
    warn: Callable[[str], None] = lambda _: None,
    without: Sequence[str] = (),
) -> Result:
    """Return the result of a job whose scored rows come in parts: that of `pipeline.run`, in every field of its file.

    `numbers` are their columns of numbers. `unscored` returns, after rows were read, those without a number by reason,
    as `caveats.unscored_rows` does. Raises ResultError as `stream_figures`, and where rows cannot come in parts.
    """
    if why := why_not_streamed(job, model, scorer):
        raise ResultError(f"{scorer.id} of {job.release.manifest.name} needs all rows at once: {why}")
    configs, has_tokens = job.configs(scorer), reads_tokens(model)
    designs = {name: job.release.design(name) for name in configs}
    fitness = {name: FitnessCount(designs[name], scorer, model) for name in configs} if has_tokens else {}
    largest = LargestRows()

    def hear(config: str, part: pd.DataFrame) -> None:
        largest.add(config, part[[name for name in part if name in {"id", "gold", *KINDS[scorer.kind].numbers}]])
        if has_tokens:
            fitness[config].add(part)

    figures = stream_figures(
        job.release,
        read,
        scorer,
        job.seed,
        scorer.scale,
        job.estimands,
        configs=configs,
        without=without,
        listeners=[hear],
    )

    def read_parts() -> Iterator[pd.DataFrame]:
        for config, part in read(()):
            yield part.assign(config=config).reindex(columns=["config", "id", *numbers])

    named = {"name": model.name, **scorer.identity(model)}
    scored = ScoredRows(read_parts=read_parts)
    result = make_result(job, figures, configs, sum(largest.counts.values()), scored, scorer, named)
    if left_out := left_out_estimands(job.release, configs, scorer):
        warn(f"{scorer.id} does not compute {', '.join(left_out)}: they compare sentences of several pairs")
    counted = {name: count_of.fitness() for name, count_of in fitness.items()}
    reasons = unreadable_configs(counted)
    tokens = None
    if has_tokens and KINDS[scorer.kind].titles:
        shown = page_rows_of(job.release, largest, job.seed, configs)
        rows = pd.concat([table.assign(config=name) for name, table in shown.items()], ignore_index=True)
        tokens = tokenize_texts(rows, scorer.kind, model)
    return replace(
        result,
        unscored=unscored(),
        fitness=counted,
        figures=tuple(with_notes(job.release, figure, reasons) for figure in result.figures),
        tokens=tokens,
    )
