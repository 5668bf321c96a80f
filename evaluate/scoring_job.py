"""A job of scoring: which rows of a release are scored, and the distinct units of them that a scorer reads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import pandas as pd

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.estimands import check_additional, listed_by, lookup
from senseprobe.evaluate.scorers import SCORERS, Scorer
from senseprobe.evaluate.scorers.senses import leave_refused
from senseprobe.evaluate.subsample import sample
from senseprobe.evaluate.units import KINDS, UnitTable
from senseprobe.release.release import Release
from senseprobe.release.schema import design_schema

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model


@dataclass(frozen=True, slots=True)
class ScoringJob:
    """The rows to be scored: those of a verified release, or of one `config` of it.

    - `seed` draws permutations, and the rows where `limit` asks for so many only (evaluate/subsample.py says how).
    - `estimands`: of plug-ins, and variants such as `relative-mean`, besides those of the release.
    - `version` is senseprobe's own, for the signature; `libraries` those of the others that have a say in the numbers;
      `date` is the day, in UTC, as ``2026-11-23``.
    - `levels` of association tests that were requested; none: those that the model has.
    """

    release: Release
    config: str | None
    seed: int
    version: str
    limit: int | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)
    estimands: tuple[str, ...] = ()
    date: str | None = None
    levels: tuple[str, ...] = ()

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of rows of each config: ``contrast``, ``inference`` or ``association``."""
        names = [self.config] if self.config else self.release.configs
        return {name: self.release.design(name).kind for name in names}

    def configs(self, scorer: Scorer) -> list[str]:
        """Return the configs with rows that a scorer takes. SenseprobeError where there are none."""
        if fitting := [name for name, kind in self.kinds.items() if kind == scorer.kind]:
            if scorer.level and self.limit is not None:
                raise SenseprobeError("an association test takes all its words: leave the limit out, or name a config")
            return fitting
        kinds = sorted(set(self.kinds.values()))
        name = f"{self.release.manifest.name}{f':{self.config}' if self.config else ''}"
        examples: dict[str, str] = {}
        for fitting_scorer in SCORERS.values():
            if fitting_scorer.kind in kinds:
                examples.setdefault(fitting_scorer.ability, f"{fitting_scorer.id} ({fitting_scorer.ability})")
        takers = " or ".join(", ".join(examples.values()).rsplit(", ", 1))
        raise SenseprobeError(
            f"{name} holds {' and '.join(kinds)} rows, which scorers such as {takers} take;"
            f" {scorer.id} takes {scorer.kind} rows"
        )

    def check_estimands(self) -> None:
        """Raise SenseprobeError where a requested estimand is not a plug-in's or a variant, or not for these rows."""
        listed = chain(*(listed_by(self.release.design(name)) for name in self.kinds))
        check_additional(self.estimands, self.kinds.values(), listed)


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
    return {name: release.table(name, spans=spans, rows=rows) for name, rows in sampled.items() if len(rows)}


def units_of_rows(
    job: ScoringJob, scorer: Scorer, rows: Mapping[str, pd.DataFrame], width: int | None = None
) -> UnitTable:
    """Return the distinct units of rows, none of which has an answer yet; `width` is that of their vectors."""
    designs = {name: job.release.design(name) for name in rows}
    for name, table in rows.items():
        if taken := {*scorer.columns} & {*table.columns} if scorer.gates else ():
            raise SenseprobeError(f"{name} has a column {min(taken)}, which is the name of a number of {scorer.id}")
    # Where a figure is about unrelated sentences, they are scored, too; but not where a pair has one number.
    unrelated = [name for name in rows if any(lookup(id_).reads_unrelated for id_ in designs[name].estimands)]
    unrelated = unrelated if scorer.roles is None else []
    unrelated = [name for name in unrelated if "unrelated" in dict(designs[name].columns)]
    return UnitTable(rows, scorer.texts, scorer.reads, scorer.columns, unrelated, width)


def units_of_job(
    job: ScoringJob, model: "Model", scorer: Scorer, warn: Callable[[str], None] = lambda _: None
) -> tuple[UnitTable, dict[str, list[str]]]:
    """Return the units of a job's rows, none of which has an answer. ModelError where a model has another ability.

    Beside them stand, by reason, the tests that are left out since their words cannot be looked up among senses, of
    which `warn` hears.
    """
    if scorer.ability != model.ability:
        raise ModelError(f"the scorer {scorer.id} asks for a {scorer.ability} model, and {model.name} is not one")
    rows, refused = leave_refused(rows_of(job, scorer), model)
    for reason, tests in refused.items():
        warn(f"{scorer.id} leaves out {', '.join(tests)}: {reason}")
    return units_of_rows(job, scorer, rows, scorer.width(model)), refused
