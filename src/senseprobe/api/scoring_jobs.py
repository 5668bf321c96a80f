"""What is scored: the rows of a release or of a table, verified, for the functions that score them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, cast

from senseprobe import project
from senseprobe.api.models import require_libraries
from senseprobe.api.releases import verified
from senseprobe.errors import SenseprobeError

if TYPE_CHECKING:
    from senseprobe.api.releases import ReleaseSpec
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.scoring_job import ScoringJob
    from senseprobe.importers.draft import Draft, Factors, RowTable

LIBRARIES = ("torch", "transformers")
"""What models of texts are run by; files of vectors, and models behind servers, need none."""


def draft(table: RowTable | ReleaseSpec, *, factors: Factors = ()) -> Draft:
    """Make of a table, in memory, what `score` scores as it does a release.

    `table` is a DataFrame, a `datasets.Dataset` or a `pyarrow.Table` with the columns `stereo` and `anti`, or
    `premise` and `hypothesis`, or `test`, `role` (X, Y, A, B) and `word` or `sentence`. Other columns have the same
    meaning as in releases. `factors` names the columns whose levels stand for similar ones, over which intervals
    generalise: ``["target"]``, or ``{"words": ("bad", "good")}`` if the two sentences of a pair have different
    columns. Raises SenseprobeError if columns are missing or rows are invalid.
    """
    from senseprobe.importers.draft import draft_of

    if not _is_table(table):
        if not factors:
            raise SenseprobeError(f"expected a table, for example a DataFrame, not {type(table).__name__}")
        raise SenseprobeError("factors are only for a table: a release has its own, so leave them out")
    return draft_of(cast("RowTable", table), factors)


def _is_table(value: object) -> bool:
    """Return whether a value is a table of pandas, pyarrow or datasets; none of them is imported."""
    return bool({"column_names", "columns"} & {*dir(type(value))})


def resolve_release(
    release: ReleaseSpec | RowTable,
    notify: Callable[[str], None],
    *,
    columns: Mapping[str, str] | None,
    level_named: bool,
) -> ReleaseSpec:
    """Return the release of a file, a draft of a table in memory, or of a name the newest release.

    `columns` are mapped of a file. `notify` hears which release, how a file was read, and of a draft what it cannot be
    asked for; not where the level is named.
    """
    from senseprobe.importers.draft import Draft
    from senseprobe.importers.scored_table import is_table, release_of_table

    if is_table(release):
        from senseprobe.evaluate.estimands.headline import describe_headlines

        path = Path(cast("str | Path", release))
        return release_of_table(path, columns, installed_version("senseprobe"), describe_headlines, notify)
    if columns is not None:
        raise SenseprobeError(f"map (--map) is only for a file of pairs, and {str(release)[:80]} is not a file")
    if not _is_table(release) and not isinstance(release, Draft):
        spec = cast("ReleaseSpec", release)
        newest = project.newest_release(spec) if isinstance(spec, str) else None
        if newest:
            notify(f"{spec} does not name a version: scoring {newest}, the newest on this machine")
        return newest or spec
    table = release if isinstance(release, Draft) else draft(cast("RowTable", release))
    for needs in () if level_named else dict.fromkeys(table.left_out.values()):
        names = ", ".join(name for name, needed in table.left_out.items() if needed == needs)
        notify(f"left out: {names}, which would need {needs}")
    return table


def make_job(
    release: ReleaseSpec,
    seed: int,
    limit: int | None,
    estimands: Sequence[str] = (),
    config: str | None = None,
    libraries: Sequence[str] = LIBRARIES,
    *,
    check_rows: bool = True,
) -> ScoringJob:
    """Return what is to be scored, verified, before a model is loaded; with `check_rows` false its rows are not read.

    `config` is one of the release, unless the name of the release says which; `libraries` are those that score. Raises
    SenseprobeError also where they are not installed.
    """
    from senseprobe.importers.draft import Draft

    if seed < 0:
        raise SenseprobeError(f"seed {seed}: expected 0 or more")
    if limit is not None and limit < 1:
        raise SenseprobeError(f"limit {limit}: expected 1 or more")
    frozen, named = (release, None) if isinstance(release, Draft) else verified(release, rows=check_rows)
    if None not in (config, named) and config != named:
        raise SenseprobeError(f"{release} names the config {named}, and not {config}")
    config = config or named
    if config is not None:
        frozen.design(config)  # ReleaseError where there is none
    require_libraries(libraries, "models")
    from senseprobe.evaluate.scoring_job import ScoringJob

    versions = {library: installed_version(library) for library in libraries}
    senseprobe = installed_version("senseprobe")
    return ScoringJob(frozen, config, seed, senseprobe, limit, versions, tuple(estimands), read_today())


def control_job(source: ModelSource, seed: int) -> Callable[[], ScoringJob]:
    """Return what makes the job of the control of inference."""
    from senseprobe.evaluate.control import RELEASE, ROWS

    return partial(make_job, RELEASE, seed, ROWS, libraries=source.libraries)


def read_today() -> str:
    """Return the day, in UTC, as results name it: ``2026-11-23``."""
    return datetime.now(UTC).date().isoformat()
