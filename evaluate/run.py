"""From a release and a model to a result: distinct sentences, model once, scores per row, figures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.estimands import contrast_figure, figures
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import get
from senseprobe.records import Figure
from senseprobe.release.reading import Release

if TYPE_CHECKING:
    from senseprobe.evaluate.models import MaskedLM

__all__ = ["Job"]

Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be scored: the rows of a verified release, or of one `config` of it.

    `seed` draws the permutations; `version` is senseprobe's own, for the signature.
    """

    release: Release
    config: str | None
    seed: int
    version: str

    def tables(self) -> dict[str, pd.DataFrame]:
        """The rows by config; SenseprobeError where a config holds no pairs to contrast."""
        names = [self.config] if self.config else self.release.configs
        for name in names:
            if (kind := self.release.design(name).kind) != "contrast":
                raise SenseprobeError(f"{name} holds {kind} rows, and no scorer takes those yet: name another config")
        return {name: self.release.table(name) for name in names}

    def run(self, model: "MaskedLM", scorer: str, progress: Callable[[int], None] | None = None) -> Result:
        """Score with a model; each distinct sentence is computed once."""
        tables = self.tables()
        texts = sorted({text for table in tables.values() for role in ("stereo", "anti") for text in table[role]})
        values = get(scorer).score(model, texts, progress=progress)
        scores = dict(zip(texts, values.tolist(), strict=True))
        return self.result(tables, scores, scorer, {"name": model.name, **model.identity})

    def result(self, tables: Tables, scores: Mapping[str, float], scorer: str, model: Mapping[str, str]) -> Result:
        """The result of scores per sentence; a sentence without a score, or with NaN, leaves its rows unscored."""
        scored = {name: _with_scores(table, scores) for name, table in tables.items()}
        columns = ["id", "stereo_score", "anti_score"]
        rows = pd.concat([table[columns].assign(config=name) for name, table in scored.items()], ignore_index=True)
        manifest = self.release.manifest
        return Result(
            scorer=scorer,
            model=model,
            release={"name": manifest.name, "content": manifest.content, "config": self.config},
            senseprobe=self.version,
            seed=self.seed,
            figures=tuple(_rounded(figure) for figure in self._figures(scored)),
            rows=rows[["config", *columns]],
        )

    def _figures(self, scored: Tables) -> list[Figure]:
        """Every figure of every config, then the matched sense contrasts whose two sides are there."""
        found: list[Figure] = []
        for name, rows in scored.items():
            found += figures(rows, self.release.design(name), name, seed=self.seed)
        for contrast in self.release.manifest.contrasts:
            if contrast.a in scored and contrast.b in scored:
                a, b = ((scored[name], self.release.design(name)) for name in (contrast.a, contrast.b))
                found.append(contrast_figure(contrast, *a, *b, seed=self.seed))
        return found


def _with_scores(table: pd.DataFrame, scores: Mapping[str, float]) -> pd.DataFrame:
    found = {f"{role}_score": table[role].map(scores).astype(np.float64) for role in ("stereo", "anti")}
    return table.assign(**found)


def _rounded(figure: Figure) -> Figure:
    """The figure to a billionth of a point: the last bits of a sum depend on the order of the rows."""
    return replace(figure, value=_point(figure.value), low=_point(figure.low), high=_point(figure.high))


def _point(value: float | None) -> float | None:
    return None if value is None else round(value, 9) + 0.0  # never -0.0, which prints another sign
