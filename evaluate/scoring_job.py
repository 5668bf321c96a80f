"""Which rows of a release are scored, for which estimands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.estimands import check_additional, listed_by
from senseprobe.evaluate.scorers import SCORERS, Scorer
from senseprobe.release.release import Release


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
                raise SenseprobeError("an association test needs all its words: leave --limit out, or choose a config")
            return fitting
        raise SenseprobeError(f"{self.describe_takers()}; {scorer.id} needs {scorer.kind} rows")

    def describe_takers(self) -> str:
        """Return which scorers take its rows: the first of each ability."""
        kinds = sorted(set(self.kinds.values()))
        name = f"{self.release.manifest.name}{f':{self.config}' if self.config else ''}"
        examples: dict[str, str] = {}
        for fitting_scorer in SCORERS.values():
            if fitting_scorer.taking(kinds).kind in kinds:
                examples.setdefault(fitting_scorer.ability, f"{fitting_scorer.id} ({fitting_scorer.ability})")
        takers = " or ".join(", ".join(examples.values()).rsplit(", ", 1))
        return f"{name} has {' and '.join(kinds)} rows, which need a scorer such as {takers}"

    def is_of(self, dataset: str) -> bool:
        """Return whether its rows are those of a release of a dataset."""
        return self.release.manifest.name.partition("@")[0] == dataset

    def check_estimands(self) -> None:
        """Raise SenseprobeError where a requested estimand is not a plug-in's or a variant, or not for these rows."""
        if self.estimands:
            listed = chain(*(listed_by(self.release.design(name)) for name in self.kinds))
            check_additional(self.estimands, self.kinds.values(), listed)
