"""One model, one scorer and the rows of a release, one step after another.

release -> rows -> distinct units -> stored answers -> forward passes -> table -> figures -> result

What only some runs need (several scorers, controls, coarse number formats, files) is wrapped round it in scoring.py;
what a chat or served model has to pass is a check of its own (`Scorer.check`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pandas as pd

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate import caveats
from senseprobe.evaluate.cache import Store
from senseprobe.evaluate.estimands import CATALOGUE, lookup
from senseprobe.evaluate.figures import figures_of, left_out_estimands, with_notes
from senseprobe.evaluate.fitness import count_fitness, unreadable_configs
from senseprobe.evaluate.models.alteration import mark_erased
from senseprobe.evaluate.models.registry import FAMILIES, answers_of
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.score_tables import tokenize_rows
from senseprobe.evaluate.scorers import Scorer, get
from senseprobe.evaluate.scorers.association import leave_refused
from senseprobe.evaluate.scoring_job import ScoringJob
from senseprobe.evaluate.subsample import sample
from senseprobe.evaluate.task_gates import TaskRecord
from senseprobe.evaluate.units import KINDS, UNRELATED, ScoredRows, UnitTable
from senseprobe.plugins import versions
from senseprobe.records import Figure
from senseprobe.release.release import Release
from senseprobe.release.schema import design_schema

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model

Figures: TypeAlias = tuple[Figure, ...]
Records: TypeAlias = Mapping[str, TaskRecord]

Progress = Callable[[int, int], None]
"""Called with how many units have an answer, of how many: first with those that were stored."""


class Check(Protocol):
    """What a model has to pass besides: asked before its rows, and read after them."""

    def ask(self, rows: Mapping[str, pd.DataFrame], seed: int, progress: Progress | None, units: int) -> int:
        """Ask what comes before the `units` of rows; `progress` hears of both. Return how much was asked."""

    def read(self, release: Release, figures: Sequence[Figure], scored: ScoredRows) -> tuple[Figures, Records]:
        """Return figures as the check lets them pass, and its record of each config."""


# --- the run --------------------------------------------------------------------------------------------------------


def run(
    job: ScoringJob,
    model: "Model",
    scorer: str,
    *,
    store: Store | None = None,
    progress: Progress | None = None,
    warn: Callable[[str], None] = lambda _: None,
    check: Check | None = None,
) -> Result:
    """Return the result of a job with a model, whose ability the scorer has to ask for; `store` has known numbers."""
    declared = get(scorer, job.kinds.values())
    units, refused = units_of_job(job, model, declared, warn)
    checked = check.ask(units.rows, job.seed, progress, len(units)) if check else 0
    answer_units(units, model, declared, store, progress, checked)
    scored = declared.tabulate(units, model)
    scored = replace(scored, tables=mark_erased(scored.tables, declared, model, warn))
    result = result_of(job, scored, declared, {"name": model.name, **declared.identity(model)})
    if left_out := left_out_estimands(job.release, scored.tables, declared):
        warn(f"{declared.id} does not compute {', '.join(left_out)}: they compare sentences of several pairs")
    designs = {name: job.release.design(name) for name in job.kinds}
    fitness = count_fitness(scored.tables, designs, declared, model)
    reasons = unreadable_configs(fitness)
    result = replace(
        result,
        unscored=caveats.unscored_rows(units, declared, model),
        refused=refused,
        fitness=fitness,
        figures=tuple(with_notes(job.release, figure, reasons) for figure in result.figures),
        tokens=tokenize_rows(scored.tables, declared.kind, job.seed, model),
    )
    if check is None:
        return result
    figures, tasks = check.read(job.release, result.figures, scored)
    return replace(result, figures=figures, tasks=tasks)


# --- its steps ------------------------------------------------------------------------------------------------------


def rows_of(job: ScoringJob, scorer: Scorer) -> dict[str, pd.DataFrame]:
    """Return the rows that a scorer takes, by config, with the spans if it reads them; drawn where a limit is set."""
    release, names, spans = job.release, job.configs(scorer), "span" in scorer.reads
    if job.limit is None:
        try:
            return {**scorer.select({name: release.table(name, spans=spans) for name in names})}
        except SenseprobeError as error:
            raise SenseprobeError(f"{release.manifest.name}: {error}") from None
    kind, designs = KINDS[scorer.kind], {name: release.design(name) for name in names}
    cells = {name: kind.cell_columns(design, design_schema(design).names) for name, design in designs.items()}
    parts = {name: partial(release.batches, name, ["id", *cells[name]]) for name in names}
    sampled = sample(parts, cells, job.limit, job.seed)
    drawn = {name: release.table(name, spans=spans, rows=rows) for name, rows in sampled.items() if len(rows)}
    return {**scorer.select(drawn)}


def units_of_rows(
    job: ScoringJob, scorer: Scorer, rows: Mapping[str, pd.DataFrame], width: int | None = None
) -> UnitTable:
    """Return the distinct units of rows, none of which has an answer yet; `width` is that of their vectors."""
    for name, table in rows.items():
        if taken := {*scorer.columns} & {*table.columns} if scorer.gates else ():
            raise SenseprobeError(
                f"{name} has a column {min(taken)}, a name that {scorer.id} uses for its own numbers: rename the column"
            )
    unrelated = [name for name, roles in scored_roles(job, scorer, rows).items() if len(roles) > len(scorer.texts)]
    return UnitTable(rows, scorer.texts, scorer.reads, scorer.columns, unrelated, width)


def scored_roles(job: ScoringJob, scorer: Scorer, configs: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the columns of texts that are scored in each config, each with its counterpart.

    Where a figure is about unrelated sentences, they are scored, too; but not where a pair has one number.
    """
    roles = {name: dict(scorer.texts) for name in configs}
    for name in roles if scorer.roles is None else ():
        design = job.release.design(name)
        if any(lookup(id_).reads_unrelated for id_ in design.estimands) and "unrelated" in dict(design.columns):
            roles[name] |= UNRELATED
    return roles


def units_of_job(
    job: ScoringJob, model: "Model", scorer: Scorer, warn: Callable[[str], None] = lambda _: None
) -> tuple[UnitTable, dict[str, list[str]]]:
    """Return the units of a job's rows, none of which has an answer. ModelError where a model has another ability.

    Beside them stand, by reason, the tests that are left out since their words cannot be looked up among senses, of
    which `warn` hears.
    """
    if scorer.ability != model.ability:
        raise ModelError(f"the scorer {scorer.id} needs a {scorer.ability} model, and {model.name} is not one")
    rows, refused = leave_refused(rows_of(job, scorer), model)
    for reason, tests in refused.items():
        warn(f"{scorer.id} skips {', '.join(tests)}: {reason}")
    return units_of_rows(job, scorer, rows, scorer.width(model)), refused


def answer_units(
    units: UnitTable,
    model: "Model",
    scorer: Scorer,
    store: Store | None = None,
    progress: Progress | None = None,
    before: int = 0,
) -> None:
    """Give units the numbers of a model: those that are stored, and the others by asking it.

    `progress` counts them, and so many that it was asked `before`.
    """
    if store is not None:
        units.add_answers(scorer.finish(store.load(units.units).items()))
    done, progress, total = before + units.done, progress or (lambda _done, _total: None), before + len(units)
    progress(done, total)
    if units.done == len(units):
        return
    # What a forward pass answers is stored before the next one begins.
    for answers in answers_of(model, scorer.score(model, units.units, units)):
        units.add_answers(scorer.finish(answers))
        if store is not None and answers:
            store.add(answers)
        done += len(answers)
        progress(done, total)


def result_of(job: ScoringJob, scored: ScoredRows, scorer: Scorer, model: Mapping[str, str]) -> Result:
    """Return the result of scored rows; `model` is what it says of the model: its ``name`` and identity."""
    rows = sum(map(len, scored.tables.values()))
    figures = figures_of(
        job.release,
        scored,
        seed=job.seed,
        scale=scorer.scale,
        estimands=job.estimands,
        sampled=limit_of(job, scored.tables, rows) is not None,
        scorer=scorer,
    )
    return make_result(job, figures, scored.tables, rows, replace(scored, tables={}), scorer, model)


def limit_of(job: ScoringJob, configs: Iterable[str], rows: int) -> int | None:
    """Return the limit of a job that drew `rows` of configs: None where that is all rows of their kinds."""
    kinds = {job.kinds[name] for name in configs}
    of_kinds = sum(int(job.release.manifest.config(name)["rows"]) for name, kind in job.kinds.items() if kind in kinds)
    return None if rows == of_kinds else job.limit  # one that is as large as all rows of the kind drew nothing


def make_result(
    job: ScoringJob,
    figures: Figures,
    configs: Iterable[str],
    rows: int,
    scored: ScoredRows,
    scorer: Scorer,
    model: Mapping[str, str],
) -> Result:
    """Return the result of figures over so many rows of configs; `scored` and `model` are what it says of these."""
    manifest = job.release.manifest
    plugged = (scorer, FAMILIES.get(model.get("family", "")), *map(CATALOGUE.get, job.estimands))
    return Result(
        scorer=scorer.id,
        scorer_version=scorer.version,
        scale=scorer.scale,
        model=model,
        release={"name": manifest.name, "content": manifest.content, "config": job.config},
        senseprobe=job.version,
        libraries={**job.libraries, **versions(plugged)},
        seed=job.seed,
        limit=limit_of(job, configs, rows),
        date=job.date,
        figures=figures,
        scored=scored,
    )
