"""From a release and a model to a result: distinct units, model once, numbers per row, figures."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate import fitness
from senseprobe.evaluate.estimands import CATALOGUE, contrast_figure, figures, of_sample
from senseprobe.evaluate.estimands.multiple_testing import corrected
from senseprobe.evaluate.estimands.registry import check_additional
from senseprobe.evaluate.estimands.sense_contrast import CONTRASTS
from senseprobe.evaluate.models import FAMILIES
from senseprobe.evaluate.models.registry import answers_of
from senseprobe.evaluate.plugins import Declared, versions
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import SCORERS, Scorer, get
from senseprobe.evaluate.subsample import cell_columns, sample
from senseprobe.evaluate.unit_table import Asked
from senseprobe.evaluate.units import scores_unrelated
from senseprobe.evaluate.unscored import unscored
from senseprobe.records import Design, Figure
from senseprobe.release.release import Release
from senseprobe.release.schema import design_schema
from senseprobe.statistics import Scale

if TYPE_CHECKING:
    from senseprobe.evaluate.cache import Store
    from senseprobe.evaluate.models import Model


KINDS: Mapping[str, str] = {"masked": "contrast", "causal": "contrast", "inference": "inference"}
"""The kind of rows that scorers of an ability take; of one that a plug-in brings, ``contrast``."""

STRATA = ("male", "female", "pleasant", "unpleasant")
"""Into which the words that `stereotype` and `valence` describe fall, and the frames that hold them."""

Tables = Mapping[str, pd.DataFrame]
Progress = Callable[[int, int], None]
"""Hears how many units have an answer, of how many; those that were stored are the first that it hears of."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be scored: the rows of a verified release, or of one `config` of it.

    - `seed` draws permutations, and the rows where `limit` asks for so many only (evaluate/subsample.py says how).
    - `estimands`: of plug-ins, and variants such as `relative-mean`, beside those of the release.
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
        """SenseprobeError where one that is asked for is no plug-in's and no variant, or not for these rows."""
        kinds = self._kinds()
        check_additional(
            self.estimands, kinds.values(), chain(*(self.release.design(name).estimands for name in kinds))
        )

    @property
    def _named(self) -> str:
        return f"{self.release.manifest.name}{f':{self.config}' if self.config else ''}"

    def tables(self, ability: str, reads: Iterable[str] = ("text",)) -> dict[str, pd.DataFrame]:
        """The rows for scorers of an ability, by config, with the spans if a scorer `reads` them.

        SenseprobeError where there are none.
        """
        names, spans = self.configs(ability), "span" in reads
        if self.limit is None:
            return {name: self.release.table(name, spans=spans) for name in names}
        designs = {name: self.release.design(name) for name in names}
        drawn = sample({name: partial(self._cells, name) for name in names}, designs, self.limit, self.seed)
        return {name: self.release.table(name, spans=spans, rows=rows) for name, rows in drawn.items() if len(rows)}

    def _cells(self, config: str) -> Iterator[pa.RecordBatch]:
        """The ids of a config, and the columns that divide it into cells, in parts."""
        design = self.release.design(config)
        names = {*design_schema(design).names}
        columns = ["id", *(column for column in cell_columns(design) if column in names)]
        return self.release.batches(config, columns)

    def run(
        self, model: "Model", scorer: str, *, store: "Store | None" = None, progress: Progress | None = None
    ) -> Result:
        """Score with a model; each distinct unit is computed once, or never where `store` knows its numbers.

        ModelError where the scorer asks for another ability.
        """
        asked = self.ask(model, scorer, store=store, progress=progress)
        result = self.result(asked, scorer, {"name": model.name, **model.identity})
        designs = {name: self.release.design(name) for name in self._kinds()}
        read = fitness.count(asked.tables(), designs, get(scorer), model)
        figures = tuple(self._with_unreadable(figure, fitness.unreadable_configs(read)) for figure in result.figures)
        return replace(result, unscored=unscored(asked, get(scorer), model), fitness=read, figures=figures)

    def _with_unreadable(self, figure: Figure, without: Mapping[str, str]) -> Figure:
        """Return the figure of a contrast with a note where the model cannot read a side of it; any other as it is."""
        sides = _sides(self.release, figure.config)
        notes = [f"{side} is not readable: {without[side]}" for side in sides if side in without]
        return replace(figure, note="; ".join([*notes, *filter(None, [figure.note])])) if notes else figure

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
        manifest, declared = self.release.manifest, SCORERS.get(scorer)
        scale: Scale = "log" if declared is None else declared.scale
        limit = None if self.limit is None or self._has_all(scored) else self.limit
        return Result(
            scorer=scorer,
            scorer_version=1 if declared is None else declared.version,
            scale=scale,
            model=model,
            release={"name": manifest.name, "content": manifest.content, "config": self.config},
            senseprobe=self.version,
            libraries={**self.libraries, **versions(self._plugged(scorer, model))},
            seed=self.seed,
            limit=limit,
            figures=figures_of(
                self.release,
                scored,
                seed=self.seed,
                scale=scale,
                estimands=self.estimands,
                drawn=limit is not None,
            ),
            rows=rows[["config", *columns]],
        )

    def _has_all(self, scored: Mapping[str, pd.DataFrame]) -> bool:
        """Whether tables are all rows of their kinds: a limit that is as large drew nothing."""
        kinds = self._kinds()
        taken = {kinds[name] for name in scored}
        rows = sum(int(self.release.manifest.config(name)["rows"]) for name in kinds if kinds[name] in taken)
        return sum(map(len, scored.values())) == rows

    def _plugged(self, scorer: str, model: Mapping[str, str]) -> Iterator[Declared | None]:
        """What took part in a result, and may be a plug-in's."""
        yield SCORERS.get(scorer)
        yield from (FAMILIES.get(model[part]) for part in ("family",) if part in model)
        yield from (CATALOGUE.get(name) for name in self.estimands)


def figures_of(
    release: Release,
    scored: Tables,
    *,
    seed: int,
    scale: Scale,
    estimands: Sequence[str] = (),
    drawn: bool = False,
) -> tuple[Figure, ...]:
    """Return every figure of every config, then the sense contrasts whose two sides are there.

    `scored` holds rows of the release with scores, by config; `estimands` are asked for besides those of the designs,
    for configs that have rows of their kind. Where the rows were `drawn`, figures say what a sample can (`of_sample`).
    """
    found: list[Figure] = []
    for name, rows in scored.items():
        found += figures(rows, _design(release, name, estimands), name, seed=seed, scale=scale)
    for contrast in release.manifest.contrasts:
        if contrast.a in scored and contrast.b in scored:
            a, b = ((scored[name], release.design(name)) for name in (contrast.a, contrast.b))
            found.append(contrast_figure(contrast, *a, *b, seed=seed, scale=scale))
    if drawn:
        levels = {name: levels_of(release, name) for name in {figure.config for figure in found}}
        found = [of_sample(figure, levels[figure.config]) for figure in found]
    return tuple(_rounded(figure) for figure in corrected(found, CONTRASTS))


def levels_of(release: Release, name: str) -> dict[str, int]:
    """Return how many levels each factor of a config, or of the two of a contrast, has in a release."""
    found: dict[str, int] = {}
    for config in _sides(release, name) or [name]:
        for factor, count in release.manifest.config(config)["levels"].items():
            found[factor] = count
            if "(" not in factor and release.design(config).strata:  # the frames of either class of occupations
                found.update({f"{factor} ({stratum})": count for stratum in STRATA})
    return found


def _sides(release: Release, name: str) -> list[str]:
    """Return the two configs of a sense contrast; none where the release has no contrast of that name."""
    return [config for one in release.manifest.contrasts if one.name == name for config in (one.a, one.b)]


def _design(release: Release, config: str, estimands: Sequence[str]) -> Design:
    """Return the design of a config, with the estimands that are asked for besides and are over rows of its kind."""
    design = release.design(config)
    more = [name for name in estimands if CATALOGUE[name].kind == design.kind]
    return replace(design, estimands=tuple(dict.fromkeys([*design.estimands, *more])))


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
