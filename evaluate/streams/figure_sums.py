"""The figures of rows that come in parts: those of `figures_of`, with nothing in memory that grows with the rows.

parts -> words as categories -> surveys -> sums by level and cell -> figures

An estimand that needs all rows at once has the small table of what estimands read, as long as that is small
(gathered.py): `relative`, those of StereoSet, those of plug-ins, and contrasts of two senses.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
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

RowReader: TypeAlias = Callable[[Collection[str] | None], Iterator[tuple[str, pd.DataFrame]]]
"""Reads the scored rows of all configs from the first one on, in parts: the name of a config and some of its rows.

A part has an ``id``, numbers, and those of the columns of the release that are asked for; None: all. It has rows of one
config, and all parts of a config follow one another.
"""

Listener: TypeAlias = Callable[[str, pd.DataFrame], None]
"""Hears of each part in the reading in which rows are added."""


def stream_figures(
    release: Release,
    read: RowReader,
    scorer: Scorer | None,
    seed: int,
    scale: Scale,
    estimands: Sequence[str] = (),
    *,
    configs: Sequence[str],
    sampled: bool = False,
    without: Sequence[str] = (),
    listeners: Sequence[Listener] = (),
) -> tuple[Figure, ...]:
    """Return every figure of `configs`, whose rows come in parts, as `figures_of` does of their tables.

    `without` names estimands, or sense contrasts, that are left out. Raises ResultError for one that needs more rows at
    once than memory holds, which it names. `listeners` hear of all rows once, with all columns.
    """
    contrasts = [one for one in fitting_contrasts(release, configs, scorer) if one.name not in without]
    streamed = {}
    for name in configs:
        design = evaluated_design(release, name, scorer, estimands, sampled=sampled)
        rows = 0 if sampled else int(release.manifest.config(name)["rows"])
        needing = [one.name for one in contrasts if name in (one.a, one.b)]
        streamed[name] = ConfigFigures(design, name, rows, seed, scale, without=without, contrasts=needing)
    columns = sorted({column for config in streamed.values() for column in config.columns})
    for turn in range(max((config.surveys for config in streamed.values()), default=0)):
        for name, part in read(columns):
            streamed[name].survey(part, turn)
    every_column = bool(listeners) or any(config.needs_all_columns for config in streamed.values())
    for name, part in read(None if every_column else columns):
        streamed[name].add(part)
        for hear in listeners:
            hear(name, part)
    results = [figure for config in streamed.values() for figure in config.figures()]
    for contrast in contrasts:
        a, b = (
            (streamed[name].table, scored_design(release, name, sampled=sampled)) for name in (contrast.a, contrast.b)
        )
        results += contrast_figures(contrast, *a, *b, seed=seed, scale=scale)
    return finish_figures(results)


class ConfigFigures:
    """The figures of a config whose rows come in parts; `table`, afterwards, are those of estimands that need all.

    - `rows`: how many it has, as far as that is known; `contrasts`: the sense contrasts that need all of them.
    - `surveys`: how often its rows have to be read before they are added; `columns`: which of their columns.
    """

    def __init__(
        self,
        design: Design,
        config: str,
        rows: int,
        seed: int,
        scale: Scale,
        *,
        without: Sequence[str] = (),
        contrasts: Sequence[str] = (),
    ) -> None:
        self._design, self._without = design, without
        self._scope = Scope(design=design, config=config, seed=seed, scale=scale)
        listed = [name for name in design.estimands if name not in without]
        computed, self._plugged = computed_estimands(listed, design)
        self._computed = [estimand for estimand in computed if estimand.id not in without]
        self._streams: dict[str, Stream] = {
            estimand.id: stream for estimand in self._computed if (stream := estimand.stream(self._scope)) is not None
        }
        self._leading = RowStream(PREFERENCE, self._scope) if leading_estimands(design) else None
        self._applies = dict.fromkeys(self._streams, False)
        self._coder = PartCoder(design)
        needing = [estimand.id for estimand in self._computed if estimand.id not in self._streams]
        self._gathered = GatheredRows(config, rows, [*needing, *contrasts])
        self._whole = GatheredRows(config, rows, [estimand.id for estimand in self._plugged])
        self._is_gathered = bool(needing or contrasts)
        self.surveys = max((stream.surveys for stream in self._streams.values()), default=0)
        self.columns = self._coder.names
        self.table = pd.DataFrame()

    @property
    def needs_all_columns(self) -> bool:
        """Whether a plug-in may read any column."""
        return bool(self._plugged)

    def survey(self, part: pd.DataFrame, turn: int) -> None:
        """Note what has to be known of all rows before they are added, in a turn from 0."""
        streams = [stream for stream in self._streams.values() if turn < stream.surveys]
        rows = self._coder.encode(part) if streams else part
        for stream in streams:
            stream.survey(rows, turn)

    def add(self, part: pd.DataFrame) -> None:
        """Add a part of the rows."""
        rows = self._coder.encode(part)
        self._add(rows)
        if self._is_gathered:
            self._gathered.add(rows)
        if self._plugged:
            self._whole.add(part, working=1)

    def figures(self) -> list[Figure]:
        """Return the figures of all rows that were added."""
        if self._is_gathered:
            self.table = self._gathered.table()
        figures = correct_gaps([*self._figures()], self._design)
        rows, scope = self._whole.table() if self._plugged else self.table, self._scope
        of_plugins = (plugin_figures(one, rows, self._design, scope.config, scope.seed) for one in self._plugged)
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
