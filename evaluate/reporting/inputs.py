"""A result with what lies beside it: its table of scores, the release it is on, the control of its model.

Files come from anywhere, so sizes are bounded before anything is read; what is not at hand is said, and leaves a report
of the figures alone.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from senseprobe import project
from senseprobe.errors import DamagedRelease, ReleaseError, ResultError
from senseprobe.evaluate import control
from senseprobe.evaluate.estimands import CATALOGUE
from senseprobe.evaluate.estimands.kernel_rows import OF_LABELS
from senseprobe.evaluate.estimands.plugin_figures import besides
from senseprobe.evaluate.figures import figures_of, levels_of
from senseprobe.evaluate.result import Result, read_result
from senseprobe.evaluate.score_tables import read_scores
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.messages import listed
from senseprobe.records import Figure
from senseprobe.release.release import Release, open_release
from senseprobe.release.verify import verify_release

MAX_RESULTS = 24
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}@[0-9.]{1,40}", re.ASCII)
"""Of a release: what else a result calls one is looked for nowhere."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A result, and what of its surroundings was found.

    - `rows`: its table of scores; `release`: verified, with the same content; None where it was not found.
    - `tables`: rows of the release with their scores, by config; empty where `rows` or `release` is missing.
    - `controls`: results of the same model on the control of inference.
    - `missing`: a sentence for each thing that was not at hand.
    """

    result: Result
    rows: pd.DataFrame | None = None
    release: Release | None = None
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    controls: tuple[Result, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Scorer and model, as headings have it."""
        return f"{self.result.scorer} · {self.result.model['name']}"

    def drawn_from(self, name: str) -> dict[str, int] | None:
        """Return a config's or contrast's levels in the release, as `of_sample` takes them; None for whole results."""
        if self.release is None or self.result.limit is None:
            return None
        return levels_of(self.release, name)

    @property
    def kind(self) -> str:
        """The kind of rows that its scorer takes: ``inference`` or ``contrast``, as a planted truth does."""
        return self.result.kind


def gather(paths: Sequence[Path], release: str | None = None) -> list[Evidence]:
    """Evidence of the results in files, on one release; results on the control among others go to those of their model.

    `release` says where the release is, if not where its name leads. Raises ResultError where a file is no result or is
    too large, where releases differ, or its table is not its own; DamagedRelease and ReleaseError for `release`.
    """
    if not 0 < len(paths) <= MAX_RESULTS:
        raise ResultError(f"{len(paths)} results: expected 1 to {MAX_RESULTS}" if paths else "no results to report")
    read = {path: read_result(path) for path in paths}
    about = [path for path, result in read.items() if not control.is_control(result)] or list(read)
    if len({read[path].release["content"] for path in about} | {read[path].release["name"] for path in about}) != 2:
        names = sorted({str(read[path].release["name"]) for path in about})
        told = listed(names) if len(names) > 1 else f"several that are called {names[0]}"
        raise ResultError(f"a report is of results on one release, and these are on {told}: leave out the others")
    found, missing = _release(read[about[0]], release)
    controls = [read[path] for path in read if path not in about]
    made = [_evidence(path, read[path], found, controls, missing) for path in about]
    if controls and not any(each.kind == "inference" for each in made):
        raise ResultError("results on the control go with those of a model of inference, and there is none here")
    return made


def _release(result: Result, where: str | None) -> tuple[Release | None, list[str]]:
    """The release of a result, and what is missing of it; where it was named, anything wrong is an error."""
    name = str(result.release["name"])
    try:
        folder = _folder(name, where)
        release = open_release(folder)
        _check(release, result)
    except (ReleaseError, ResultError) as error:
        if where is not None:
            raise
        reason = "it is damaged" if isinstance(error, DamagedRelease) else str(error)
        told = (
            f"The release is not at hand ({reason}), so that sentences, words, frames and all that needs its design "
            "are left out (--release says where it is)."
        )
        return None, [told]
    if away := [config for config in release.configs if not all(path.exists() for path in release.files(config))]:
        hint = f"`senseprobe restore {name}` makes them, and --release PATH says where they are."
        return release, [f"The rows of {', '.join(away)} are not here: {hint}"]
    if findings := verify_release(folder)[1]:
        if where is not None:
            raise DamagedRelease(findings)
        return None, ["The release is not as it was frozen (`senseprobe verify` says how), so that it is left out."]
    return release, []


def _folder(name: str, where: str | None) -> Path:
    if where is None and not _NAME.fullmatch(name):
        raise ReleaseError("its name is none that a release can have")
    return project.find_release(where or name)[0]


def _check(release: Release, result: Result) -> None:
    if release.manifest.content != result.release["content"]:
        raise ResultError(
            f"{release.manifest.name} here holds other rows: its content hash is {release.manifest.content[:12]}, the "
            f"result's {str(result.release['content'])[:12]}"
        )


def _evidence(
    path: Path, result: Result, release: Release | None, controls: Sequence[Result], missing: Sequence[str]
) -> Evidence:
    rows = read_scores(path, result)
    told = list(missing)
    if rows is None:
        told.append("No table of scores lies beside the result, so that single rows, words and frames are left out.")
    tables = {} if release is None or rows is None else _joined(release, rows)
    found = [each for each in controls if control.same_model(each, result)]
    kept = {each.signature: each for each in (*found, *control.find_controls(path.resolve().parent, result))}
    result, renewed = _renewed(result, release, tables)
    told += renewed
    evidence = Evidence(result=result, rows=rows, release=release, tables=tables, missing=tuple(told))
    needed = evidence.kind == "inference" and not control.is_control(result)
    return replace(evidence, controls=tuple(kept.values()) if needed else ())


def _renewed(result: Result, release: Release | None, tables: Mapping[str, pd.DataFrame]) -> tuple[Result, list[str]]:
    """Return a result whose figures have today's definitions, computed from its rows, and what is to be known of it.

    Where its rows or its release are not at hand, its figures stay as they are.
    """
    declared = SCORERS.get(result.scorer)
    told = []
    if declared is not None and declared.version > result.scorer_version:
        told.append(
            f"Its scores are of an older definition of {result.scorer} ({result.scorer_version}, now "
            f"{declared.version}): score the model again."
        )
    if newer := _defined(result.figures, operator.gt):
        told.append(f"Of a newer definition than this senseprobe's: {', '.join(newer)}: upgrade it.")
    if not (older := _defined(result.figures, operator.lt)):
        return result, told
    if release is None or not tables:
        # What was taken for neutral may be none: that follows from the rows.
        figures = tuple(replace(f, neutral=None) if f.estimand in OF_LABELS else f for f in result.figures)
        told.append(f"Of an older definition, and not computed again: {', '.join(older)}.")
        return replace(result, figures=figures) if {*older} & OF_LABELS else result, told
    asked = besides(figure.estimand for figure in result.figures)
    figures = figures_of(
        release, tables, seed=result.seed, scale=result.scale, estimands=asked, drawn=result.limit is not None
    )
    told.append(f"Computed again from its rows, since the definition has changed: {', '.join(older)}.")
    return replace(result, figures=figures), told


def _defined(figures: Iterable[Figure], compared: Callable[[int, int], bool]) -> list[str]:
    """Return the estimands of figures whose definition, `compared` with today's, is older (lt) or newer (gt)."""
    definitions = {figure.estimand: figure.definition for figure in figures if figure.estimand in CATALOGUE}
    return [name for name, definition in definitions.items() if compared(definition, CATALOGUE[name].definition)]


def _joined(release: Release, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of the release with their scores, by config; ResultError where a row is none of the release's."""
    tables = {}
    for name, scores in rows.groupby("config", sort=False):
        config = str(name)
        if config not in release.configs:
            raise ResultError(f"the table of scores has a config {config[:80]!r}, and the release has none")
        if not all(path.exists() for path in release.files(config)):
            continue
        if not scores["id"].is_unique:
            raise ResultError(f"the table of scores has a row of {config} twice")
        joined = release.table(config, spans=False).merge(scores.drop(columns="config"), on="id", how="inner")
        if len(joined) != len(scores):
            raise ResultError(f"the table of scores has rows of {config} that are not in the release")
        tables[config] = joined
    return {config: tables[config] for config in release.configs if config in tables}
