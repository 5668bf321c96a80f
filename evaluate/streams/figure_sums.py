"""The figures of rows that come in parts: those of `figures_of`, with nothing in memory that grows with the rows.

parts -> words as categories -> surveys -> sums by level and cell -> figures

An estimand that needs all rows at once has the small table of what estimands read, as long as that is small
(gathered.py): `relative`, those of StereoSet, those of plug-ins, and contrasts of two senses.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import pandas as pd

from senseprobe.evaluate.estimands import (
    computed_estimands,
    contrast_figures,
    correct_gaps,
    leading_estimands,
    plugin_figures,
)
from senseprobe.evaluate.estimands.base import Estimand
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.estimands.preference import PREFERENCE
from senseprobe.evaluate.estimands.streams import RowStream, Stream
from senseprobe.evaluate.figures import evaluated_design, finish_figures, fitting_contrasts, scored_design
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.streams.gathered import GatheredRows
from senseprobe.evaluate.streams.parts import PartCoder
from senseprobe.records import Design, Figure
from senseprobe.release.release import Release
from senseprobe.statistics import Scale

Parts: TypeAlias = Callable[[str], Iterator[pd.DataFrame]]
"""Reads the scored rows of a config from the first one on, in parts: the release's columns, and numbers."""


def stream_figures(
    release: Release,
    parts: Parts,
    scorer: Scorer | None,
    seed: int,
    scale: Scale,
    estimands: Sequence[str] = (),
    sampled: bool = False,
    *,
    configs: Sequence[str],
    without: Sequence[str] = (),
) -> tuple[Figure, ...]:
    """Return every figure of `configs`, whose rows come in parts, as `figures_of` does of their tables.

    `without` names estimands, or sense contrasts, that are left out. Raises ResultError for one that needs more rows at
    once than memory holds, which it names.
    """
    contrasts = [one for one in fitting_contrasts(release, configs, scorer) if one.name not in without]
    sides = {name for contrast in contrasts for name in (contrast.a, contrast.b)}
    results: list[Figure] = []
    tables: dict[str, pd.DataFrame] = {}
    for name in configs:
        design = evaluated_design(release, name, scorer, estimands, sampled=sampled)
        rows = 0 if sampled else int(release.manifest.config(name)["rows"])
        of_config = ConfigFigures(design, name, rows, seed, scale, without)
        results += of_config.compute(parts, [one.name for one in contrasts if name in (one.a, one.b)])
        if name in sides:
            tables[name] = of_config.table
    for contrast in contrasts:
        a, b = ((tables[name], scored_design(release, name, sampled=sampled)) for name in (contrast.a, contrast.b))
        results += contrast_figures(contrast, *a, *b, seed=seed, scale=scale)
    return finish_figures(results)


class ConfigFigures:
    """The figures of a config whose rows come in parts; `table`, afterwards, are those of estimands that need all."""

    def __init__(
        self, design: Design, config: str, rows: int, seed: int, scale: Scale, without: Sequence[str] = ()
    ) -> None:
        self._design, self._rows, self._without = design, rows, without
        self._scope = Scope(design=design, config=config, seed=seed, scale=scale)
        listed = [name for name in design.estimands if name not in without]
        self._computed, self._plugged = computed_estimands(listed, design)
        self._computed = [estimand for estimand in self._computed if estimand.id not in without]
        self._streams: dict[str, Stream] = {
            estimand.id: stream for estimand in self._computed if (stream := estimand.stream(self._scope)) is not None
        }
        self._leading = RowStream(PREFERENCE, self._scope) if leading_estimands(design) else None
        self._applies = dict.fromkeys(self._streams, False)
        self.table = pd.DataFrame()

    def compute(self, parts: Parts, contrasts: Sequence[str] = ()) -> list[Figure]:
        """Read the rows as often as the estimands need, and return their figures; `contrasts` need them, too."""
        coder, config = PartCoder(self._design), self._scope.config
        for turn in range(max((stream.surveys for stream in self._streams.values()), default=0)):
            for part in parts(config):
                rows = coder.encode(part)
                for stream in self._streams.values():
                    if turn < stream.surveys:
                        stream.survey(rows, turn)
        needing = [estimand.id for estimand in self._computed if estimand.id not in self._streams]
        gathered = GatheredRows(config, self._rows, [*needing, *contrasts])
        whole = GatheredRows(config, self._rows, [estimand.id for estimand in self._plugged])
        for part in parts(config):
            rows = coder.encode(part)
            self._add(rows)
            if needing or contrasts:
                gathered.add(rows)
            if self._plugged:
                whole.add(part, working=1)
        if needing or contrasts:
            self.table = gathered.table()
        figures = correct_gaps([*self._figures()], self._design)
        rows = whole.table() if self._plugged else self.table
        of_plugins = (plugin_figures(plugin, rows, self._design, config, self._scope.seed) for plugin in self._plugged)
        return [*figures, *(figure for made in of_plugins for figure in made)]

    def _add(self, rows: pd.DataFrame) -> None:
        for estimand in self._computed:
            if estimand.id in self._streams:
                self._applies[estimand.id] |= estimand.applies_to(rows)
                self._streams[estimand.id].add(rows)
        if self._leading is not None:
            self._leading.add(rows)

    def _figures(self) -> Iterator[Figure]:
        """Yield the figures of the estimands, in order of print."""
        for estimand in self._in_order():
            if estimand.id not in self._streams:
                if estimand.applies_to(self.table):
                    yield from estimand.compute(self.table, self._scope)
            elif self._applies[estimand.id]:
                yield from self._streams[estimand.id].figures()

    def _in_order(self) -> list[Estimand]:
        """Return the estimands with those first that lead, where `preference` has no neutral value."""
        if self._leading is None or PREFERENCE.neutral_value(self._leading.rows(), self._design) is not None:
            return self._computed
        names = dict.fromkeys([*leading_estimands(self._design), *self._design.estimands])
        computed, _ = computed_estimands([name for name in names if name not in self._without], self._design)
        return [estimand for estimand in computed if estimand.id not in self._without]
