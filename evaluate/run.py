"""From a release and a model to a result: distinct units, model once, numbers per row, figures."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pandas as pd

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.asking import Asked
from senseprobe.evaluate.estimands import CATALOGUE, contrast_figure, figures
from senseprobe.evaluate.estimands.families import CONTRASTS, corrected
from senseprobe.evaluate.estimands.plugged import check_asked
from senseprobe.evaluate.models import FAMILIES
from senseprobe.evaluate.models.plugged import answers_of
from senseprobe.evaluate.plugins import Declared, versions
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.sampling import sample
from senseprobe.evaluate.scorers import SCORERS, Scorer, get
from senseprobe.evaluate.units import scores_unrelated
from senseprobe.evaluate.unscored import unscored
from senseprobe.records import Design, Figure
from senseprobe.release.reading import Release

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model
    from senseprobe.evaluate.store import Store

__all__ = ["KINDS", "Job", "Progress"]

KINDS: Mapping[str, str] = {"masked": "contrast", "causal": "contrast", "inference": "inference"}
"""The kind of rows that scorers of an ability take; of one that a plug-in brings, ``contrast``."""

Tables = Mapping[str, pd.DataFrame]
Progress = Callable[[int, int], None]
"""Hears how many units have an answer, of how many; those that were stored are the first that it hears of."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be scored: the rows of a verified release, or of one `config` of it.

    - `seed` draws permutations, and the rows where `limit` asks for so many only (evaluate/sampling.py says how).
    - `estimands`: of plug-ins, beside those of the release.
    - `version` is senseprobe's own, for the signature; `libraries` those of the others that have a say in the numbers.
    """

    release: Release
    config: str | None
    seed: int
    version: str
    limit: int | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)
    estimands: tuple[str, ...] = ()

    def configs(self, ability: str) -> list[str]:
        """The configs with rows for scorers of an ability. SenseprobeError where there are none."""
        if fitting := [name for name, kind in self._kinds().items() if kind == _kind(ability)]:
            return fitting
        kinds = sorted(set(self._kinds().values()))
        if "association" in kinds:
            raise SenseprobeError(f"{self._named}: no scorer takes association rows yet")
        abilities = " or ".join(able for able, kind in KINDS.items() if kind in kinds)
        raise SenseprobeError(
            f"{self._named} holds {' and '.join(kinds)} rows, which scorers on {abilities} models take;"
            f" a scorer on {ability} models takes {_kind(ability)} rows"
        )

    def left(self, ability: str) -> dict[str, str]:
        """The configs, with the kind of their rows, that scorers of an ability do not take."""
        return {name: kind for name, kind in self._kinds().items() if kind != _kind(ability)}

    @property
    def with_unrelated(self) -> set[str]:
        """The configs whose third sentence is scored, too."""
        return {name for name in self._kinds() if scores_unrelated(self.release.design(name))}

    def _kinds(self) -> dict[str, str]:
        names = [self.config] if self.config else self.release.configs
        return {name: self.release.design(name).kind for name in names}

    def check_estimands(self) -> None:
        """SenseprobeError where one that is asked for is no plug-in's, or is not over rows of this release."""
        check_asked(self.estimands, self._kinds().values())

    @property
    def _named(self) -> str:
        return f"{self.release.manifest.name}{f':{self.config}' if self.config else ''}"

    def tables(self, ability: str, reads: Iterable[str] = ("text",)) -> dict[str, pd.DataFrame]:
        """The rows for scorers of an ability, by config, with the spans if a scorer `reads` them.

        SenseprobeError where there are none.
        """
        names = self.configs(ability)
        tables = {name: self.release.table(name, spans="span" in reads) for name in names}
        if self.limit is None:
            return tables
        drawn = sample(tables, {name: self.release.design(name) for name in names}, self.limit, self.seed)
        return {name: rows for name, rows in drawn.items() if len(rows)}

    def run(
        self, model: "Model", scorer: str, *, store: "Store | None" = None, progress: Progress | None = None
    ) -> Result:
        """Score with a model; each distinct unit is computed once, or never where `store` knows its numbers.

        ModelError where the scorer asks for another ability.
        """
        asked = self.ask(model, scorer, store=store, progress=progress)
        result = self.result(asked, scorer, {"name": model.name, **model.identity})
        return replace(result, unscored=unscored(asked, get(scorer), model))

    def ask(
        self, model: "Model", scorer: str, *, store: "Store | None" = None, progress: Progress | None = None
    ) -> Asked:
        """The rows with the numbers of a model, of which nothing is made yet; raises as `run` does."""
        using = get(scorer)
        if using.ability != model.ability:
            raise ModelError(f"the scorer {scorer} asks for a {using.ability} model, and {model.name} is not one")
        tables = self.tables(using.ability, using.reads)
        asked = Asked(tables, _kind(using.ability), using.reads, using.columns, self.with_unrelated)
        _answer(asked, using, model, store, progress or _unheard)
        return asked

    def result(self, asked: Asked, scorer: str, model: Mapping[str, str]) -> Result:
        """The result of what was answered; a unit without a number leaves its row unscored."""
        scored = asked.tables()
        columns = ["id", *asked.columns]
        tables = (table.reindex(columns=columns).assign(config=name) for name, table in scored.items())
        rows = pd.concat(list(tables), ignore_index=True)
        manifest = self.release.manifest
        return Result(
            scorer=scorer,
            model=model,
            release={"name": manifest.name, "content": manifest.content, "config": self.config},
            senseprobe=self.version,
            libraries={**self.libraries, **versions(self._plugged(scorer, model))},
            seed=self.seed,
            limit=self.limit,
            figures=tuple(_rounded(figure) for figure in self._figures(scored)),
            rows=rows[["config", *columns]],
        )

    def _plugged(self, scorer: str, model: Mapping[str, str]) -> Iterator[Declared | None]:
        """What took part in a result, and may be a plug-in's."""
        yield SCORERS.get(scorer)
        yield from (FAMILIES.get(model[part]) for part in ("family",) if part in model)
        yield from (CATALOGUE.get(name) for name in self.estimands)

    def _design(self, config: str) -> Design:
        """The design of a config, with the estimands that are asked for besides and are over rows of its kind."""
        design = self.release.design(config)
        more = [name for name in self.estimands if CATALOGUE[name].kind == design.kind]
        return replace(design, estimands=tuple(dict.fromkeys([*design.estimands, *more])))

    def _figures(self, scored: Tables) -> list[Figure]:
        """Every figure of every config, then the matched sense contrasts whose two sides are there."""
        found: list[Figure] = []
        for name, rows in scored.items():
            found += figures(rows, self._design(name), name, seed=self.seed)
        for contrast in self.release.manifest.contrasts:
            if contrast.a in scored and contrast.b in scored:
                a, b = ((scored[name], self.release.design(name)) for name in (contrast.a, contrast.b))
                found.append(contrast_figure(contrast, *a, *b, seed=self.seed))
        return corrected(found, CONTRASTS)


def _kind(ability: str) -> str:
    return KINDS.get(ability, "contrast")


def _answer(asked: Asked, scorer: Scorer, model: "Model", store: "Store | None", progress: Progress) -> None:
    """Take what is stored, and compute the rest; what a forward pass answers is stored before the next one begins."""
    if store is not None:
        asked.take(scorer.finished(store.known(asked.units).items()))
    done = asked.done
    progress(done, len(asked))
    for answers in answers_of(model, scorer.score(model, asked.units, asked)):
        asked.take(scorer.finished(answers))
        if store is not None and answers:
            store.keep(answers)
        done += len(answers)
        progress(done, len(asked))


def _unheard(_done: int, _total: int) -> None:
    """What hears of progress where nobody asked."""


def _rounded(figure: Figure) -> Figure:
    """The figure to a billionth of a point: the last bits of a sum depend on the order of the rows."""
    return replace(figure, value=_point(figure.value), low=_point(figure.low), high=_point(figure.high))


def _point(value: float | None) -> float | None:
    return None if value is None else round(value, 9) + 0.0  # never -0.0, which prints another sign
