"""The inputs of a report: results, each with its scores and tokens, its release and the control of its model.

Files come from anywhere, so sizes are checked before anything is read. A list names the missing inputs, and the report
then has fewer sections.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from senseprobe import project
from senseprobe.errors import DamagedRelease, ReleaseError, ResultError
from senseprobe.evaluate import control
from senseprobe.evaluate.caveats import failed_tasks, removed_text, withheld_configs
from senseprobe.evaluate.erased_rows import find_erased_configs
from senseprobe.evaluate.estimands import find, lookup
from senseprobe.evaluate.estimands.base import joined
from senseprobe.evaluate.figure_check import FigureCheck, check_figures
from senseprobe.evaluate.figures import fitting_estimands, scored_design
from senseprobe.evaluate.fitness import unreadable_configs
from senseprobe.evaluate.reporting.verdict import Verdict
from senseprobe.evaluate.result import Result, folder_of, read_result
from senseprobe.evaluate.score_tables import read_result_tables
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.task_gates import find_verdict
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import listed, printable
from senseprobe.records import Design, Figure, FigureVerdict
from senseprobe.release.release import DRAFT, Release, open_release
from senseprobe.release.verify import verify_release

MAX_RESULTS = 24
MOST_DIFFERENCES = 5  # parts of figures that a message names; the others are counted
MOST_NAME = 100  # characters of the name of a missing release

NOT_COMPARABLE = "single words are no texts for a model that reads from left to right: its vectors of them say nothing"

ReleaseKey = tuple[str, str]
"""Name and content hash of a release."""

_RELEASE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}@[0-9.]{1,40}", re.ASCII)
"""The names of releases; a result's other names are not looked up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportInput:
    """A result with its release, scores and controls, if they are available.

    - `result`: its scored rows have the texts of the release if both are available.
    - `release`: verified, with the same content; None if it is not available.
    - `file`: the name of the file with its table of scores; empty if the result was not read from a file.
    - `controls`: results of the same model on the control of inference.
    - `missing`: a sentence for each missing input.
    - `unchecked`: clauses on figures that were not compared with the table of scores, with the reason.
    - `verdicts`, `headline`, `flaws`: its verdicts, a sentence on them, and by config why its figures cannot be read
      (`verdict_table.judge`); None, or empty, before that.
    """

    result: Result
    release: Release | None = None
    file: str = ""
    controls: tuple[Result, ...] = ()
    missing: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] | None = None
    headline: str = ""
    flaws: Mapping[str, str] | None = None
    unchecked: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Scorer and model, for headings."""
        return f"{self.result.scorer} · {self.result.model['name']}"

    @property
    def release_key(self) -> ReleaseKey:
        """Name and content hash of its release, whether that is available or not."""
        return _release_key(self.result)

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Rows of the release with their scores, by config; empty without the release or the scores."""
        return self.result.scored.tables

    @property
    def kind(self) -> str:
        """The kind of rows that its scorer takes: ``inference`` or ``contrast``, as a planted truth does."""
        return self.result.kind

    @property
    def has_numbers(self) -> bool:
        """Whether the data of a comparison is available: words for association tests, else rows."""
        return self.result.words is not None if KINDS[self.kind].tests else bool(self.tables)

    @property
    def encoding(self) -> dict[str, str]:
        """The encoding of the vectors of association tests, by name (models/encodings.py); empty for other results."""
        parts = (part.partition("=") for part in str(self.result.model.get("encoding", "")).split(";"))
        return {name: value for name, sign, value in parts if sign}

    @property
    def is_comparable(self) -> bool:
        """Whether the vectors of association tests can be compared: some models' vectors of single words cannot."""
        return self.encoding.get("comparable") != "no"

    @property
    def unreadable(self) -> dict[str, str]:
        """The configs whose figures say nothing, each with the reason: unknown or erased words, or failed gates."""
        return unreadable_configs(self.result.fitness) | find_erased_configs(self.result.figures) | self.failing

    @property
    def failing(self) -> dict[str, str]:
        """The configs with a failed gate, and contrasts of them, each with the reason."""
        noted = {figure.config: verdict for figure in self.result.figures if (verdict := find_verdict(figure))}
        return noted | failed_tasks(self.result)

    def mark(self, figure: Figure, config: str) -> Figure:
        """Return a figure of a config's rows, with the reason if the config cannot be read."""
        is_bias = not lookup(figure.estimand).needs_gold  # right answers decide whether a model fails
        flaw = (self.failing if self.flaws is None or not is_bias else self.flaws).get(config, "")
        verdict = FigureVerdict(code="unreadable", text=flaw, flaw=flaw) if flaw and is_bias else None
        return replace(figure, note=joined(flaw, figure.note), verdict=verdict)

    def why_unread(self, config: str) -> str:
        """Return why the association tests of a config say nothing; empty if they can be read."""
        return unreadable_configs(self.result.fitness).get(config, "") if self.is_comparable else NOT_COMPARABLE

    def design(self, config: str) -> Design | None:
        """Return the design of a config; None without the release, and for a contrast of two configs."""
        release = self.release
        return release.design(config) if release is not None and config in release.configs else None

    def scored_design(self, config: str, release: Release) -> Design:
        """Return the design of a config's rows, with the estimands that fit the scorer's numbers."""
        design = scored_design(release, config, sampled=self.result.limit is not None)
        scorer = SCORERS.get(self.result.scorer)
        if scorer is None or not scorer.of_pairs:
            return design
        return replace(design, estimands=fitting_estimands(design, scorer))


def gather_inputs(
    sources: Sequence[Path | Result], release: str | Sequence[str] | None = None, *, checked: bool = False
) -> list[ReportInput]:
    """Read results, in their order; those on the control come last and are also the `controls` of the others.

    `sources` are result files, or results with their rows, on one release or several; `release` is the name or path of
    a release that is not in its usual folder, or several; with `checked`, figures are computed again from the tables of
    scores. Raises ResultError for a file that is not a result or too large, for a table of another result, for figures
    that differ from those of the table, and for a `release` without the rows of a result; DamagedRelease and
    ReleaseError for `release`.
    """
    if not 0 < len(sources) <= MAX_RESULTS:
        raise ResultError(f"{len(sources)} results: expected 1 to {MAX_RESULTS}" if sources else "no results to report")
    distinct = {source if isinstance(source, Path) else id(source): source for source in sources}.values()
    results = [source if isinstance(source, Result) else read_result(source) for source in distinct]
    read = list(zip(distinct, results, strict=True))
    read.sort(key=lambda pair: control.is_control(pair[1]))
    controls = [result for _, result in read if control.is_control(result)]
    releases = _open_releases([result for _, result in read], [release] if isinstance(release, str) else release)
    return [
        _read_input(source, result, releases[_release_key(result)], controls, checked=checked)
        for source, result in read
    ]


def gather_scored(results: Sequence[Result], out: Path, release: str | None = None) -> list[ReportInput]:
    """Return results that were scored just now, and written below `out`, with the inputs of their verdicts.

    `release` is the name or path of the scored release, which was verified then. Controls of a model are those among
    the results, and those below `out`. Rows of a release are read only on demand.
    """
    return [_read_scored(result, results, out, release) for result in results]


def _read_scored(result: Result, results: Sequence[Result], out: Path, requested: str | None) -> ReportInput:
    name, content = _release_key(result)
    release: Release | None = None
    for spec in (requested, name) if name != DRAFT else ():
        with suppress(ReleaseError, ResultError):
            release = release or (spec and _find_release(name, content, spec)) or None
    controls: list[Result] = []
    if KINDS[result.kind].infers and not control.is_control(result):
        folder = folder_of(out, name, result.model["name"])
        given = [other for other in results if control.is_control(other) and control.same_model(other, result)]
        controls = [*{c.signature: c for c in (*given, *control.find_controls(folder, result))}.values()]
    tables = {} if release is None or result.rows is None else _LazyTables(release, result.rows)
    result = replace(result, scored=replace(result.scored, tables=tables))
    check = _check_figures(result, result, release, checked=False)
    result, _ = _update_figures(result, check.figures)  # a control may have older figures
    return ReportInput(result=result, release=release, controls=tuple(controls))


class _LazyTables(Mapping[str, pd.DataFrame]):
    """The rows of a release with their scores, by config, joined on demand: there may be millions."""

    def __init__(self, release: Release, rows: pd.DataFrame) -> None:
        configs = {*map(str, rows["config"].unique())}
        self._names = [name for name in release.configs if name in configs and _has_rows(release, name)]
        self._release, self._rows = release, rows
        self._joined: dict[str, pd.DataFrame] = {}

    def __getitem__(self, config: str) -> pd.DataFrame:
        if config not in self._names:
            raise KeyError(config)
        if config not in self._joined:
            self._joined |= _join_scores(self._release, self._rows[self._rows["config"] == config])
        return self._joined[config]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def without_controls(inputs: Sequence[ReportInput]) -> list[ReportInput]:
    """Return the results that are not on a control; all, if all of them are."""
    return [source for source in inputs if not control.is_control(source.result)] or list(inputs)


def find_design(inputs: Sequence[ReportInput], config: str) -> Design | None:
    """Return the design of a config, from the first result that has it."""
    return next((design for source in inputs if (design := source.design(config))), None)


def require_preferences(inputs: Sequence[ReportInput]) -> None:
    """Raise ResultError if the numbers of pairs are not scores of sentences, since they do not have a preference.

    Pages, comparisons, gates and slices of pairs are about the sentence with the higher score.
    """
    for source in inputs:
        scorer = SCORERS.get(source.result.scorer)
        if scorer is not None and scorer.estimands:
            raise ResultError(
                f"{scorer.id} measures how near vectors lie to each other, and no sentence is preferred: such a result"
                " has no report, comparison, gate or slice of pairs: `senseprobe study senses report` writes its page"
            )


def require_same_release(inputs: Sequence[ReportInput]) -> None:
    """Raise ResultError if results are on several releases: models are compared on the same rows."""
    if len(keys := {source.release_key for source in inputs}) > 1:
        names = sorted({name for name, _ in keys})
        releases = listed(names) if len(names) > 1 else f"several that are called {names[0]}"
        raise ResultError(
            f"a comparison is of results on one release, and these are on {releases}: leave out the others"
        )


def list_removals(inputs: Iterable[ReportInput]) -> list[str]:
    """Return what was removed from the vectors of models, a sentence for each result of one."""
    return [f"{source.label}: {clause}." for source in inputs if (clause := removed_text(source.result))]


def missing_parts(inputs: Sequence[ReportInput]) -> dict[str, list[str]]:
    """Return the sentences on missing inputs, each with the labels of its results."""
    parts: dict[str, list[str]] = {}
    for source in inputs:
        for sentence in source.missing:
            parts.setdefault(sentence, []).append(source.label)
    return parts


def _release_key(result: Result) -> ReleaseKey:
    return str(result.release["name"]), str(result.release["content"])


Opened = tuple[Release | None, list[str]]
"""A release, None if it is not available, and a sentence for each of its missing inputs."""


def _open_releases(results: Iterable[Result], requested: Sequence[str] | None) -> dict[ReleaseKey, Opened]:
    """Return the release of each result; raise if a requested one has a defect, or does not fit any result."""
    keys = dict.fromkeys(map(_release_key, results))
    specs: dict[ReleaseKey, str] = {}
    for spec in requested or ():
        manifest = open_release(project.find_release(spec)[0]).manifest
        if not (holding := [key for key in keys if key[1] == manifest.content]):
            mismatch = f"{manifest.name} here has other rows: its content hash is {manifest.content[:12]}"
            raise ResultError(f"{mismatch}, the result's {listed(content[:12] for _, content in keys)}")
        for key in holding:  # of versions with the same rows, the one with the result's name
            if key not in specs or manifest.name == key[0]:
                specs[key] = spec
    return {key: _open_release(*key, specs.get(key)) for key in keys}


def _open_release(name: str, content: str, requested: str | None) -> Opened:
    """Return the release of that name and content; raise if a requested one has a defect."""
    if name == DRAFT and requested is None:
        return None, ["The rows are a draft, not a release, so sentences, words and frames are not shown."]
    try:
        release = _find_release(name, content, requested)
    except (ReleaseError, ResultError) as error:
        if requested is not None:
            raise
        reason = "it is damaged" if isinstance(error, DamagedRelease) else str(error)
        note = (
            f"The release {name[:MOST_NAME]} is not available ({reason}), so sentences, words, frames and "
            "everything else that needs its design are not shown. Give its place with --release, by name or "
            "path."
        )
        return None, [note]
    if absent := [config for config in release.configs if not _has_rows(release, config)]:
        note = (
            f"The rows of {listed(absent)} are not in {name}, so their sentences, words and frames are not "
            f"shown. `senseprobe verify --restore {requested or name}` makes them; then give their place with "
            "--release."
        )
        return release, [note]
    if findings := verify_release(release.folder)[1]:
        if requested is not None:
            raise DamagedRelease(findings)
        return None, [
            f"The release {name} was changed after it was frozen (`senseprobe verify` shows how), so it is not used."
        ]
    return release, []


def _find_release(name: str, content: str, requested: str | None) -> Release:
    if requested is None and not _RELEASE_NAME.fullmatch(name):
        raise ReleaseError("its name is not one that a release can have")
    release = open_release(project.find_release(requested or name)[0])
    if release.manifest.content != content:
        mismatch = f"{release.manifest.name} here has other rows: its content hash is {release.manifest.content[:12]}"
        raise ResultError(f"{mismatch}, the result's {content[:12]}")
    return release


def _has_rows(release: Release, config: str) -> bool:
    return all(path.exists() for path in release.files(config))


def _read_input(
    origin: Path | Result, result: Result, opened: Opened, controls: Sequence[Result], *, checked: bool
) -> ReportInput:
    release, missing = opened
    if isinstance(origin, Path):
        result = read_result_tables(origin, result)
    notes, rows = list(missing), result.rows
    if rows is None:
        notes.append("There is no table of scores next to the result, so single rows, words and frames are not shown.")
    if result.words is None and KINDS[result.kind].tests:
        notes.append("There is no table of words next to the result, so words and their associations are not shown.")
    tables = {} if release is None or rows is None else _join_scores(release, rows)
    result = replace(result, scored=replace(result.scored, tables=tables))
    check = _check_figures(origin, result, release, checked=checked)
    if withheld := withheld_configs(result):
        failed = failed_tasks(result)
        verdicts = dict.fromkeys(failed[config].partition(":")[0] for config in withheld)
        notes.append(
            f"In {listed(withheld)} {listed(verdicts)}: figures, rows and words of it are withheld "
            "(`score --show-failing` has them)."
        )
        # Charts, slices and comparisons of these rows would say as little about sentences as the figures.
        remaining = None if rows is None else rows[~rows["config"].isin(withheld)]
        rows = None if remaining is None or remaining.empty else remaining
        tables = {config: table for config, table in tables.items() if config not in withheld}
        result = replace(result, scored=replace(result.scored, rows=rows, tables=tables))
    result, update_notes = _update_figures(result, check.figures)
    source = ReportInput(
        result=result,
        release=release,
        file="" if isinstance(origin, Result) else origin.with_suffix(".parquet").name,
        missing=(*notes, *update_notes, *check.sentences),
        unchecked=check.unchecked if checked else (),
    )
    if not KINDS[source.kind].infers or control.is_control(result):
        return source
    model_controls = [candidate for candidate in controls if control.same_model(candidate, result)]
    model_controls += control.find_controls(origin.resolve().parent, result) if isinstance(origin, Path) else []
    unique = {candidate.signature: candidate for candidate in model_controls}
    return replace(source, controls=tuple(unique.values()))


def _join_scores(release: Release, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the release's rows with their scores, by config; raise ResultError for a row of another release."""
    tables = {}
    for name, scores in rows.groupby("config", sort=False):
        config = str(name)
        if config not in release.configs:
            raise ResultError(f"the table of scores has a config {config[:80]!r}, and the release has none")
        if not _has_rows(release, config):
            continue
        if not scores["id"].is_unique:
            raise ResultError(f"the table of scores has a row of {config} twice")
        joined = release.table(config, spans=False).merge(scores.drop(columns="config"), on="id", how="inner")
        if len(joined) != len(scores):
            raise ResultError(f"the table of scores has rows of {config} that are not in the release")
        tables[config] = joined
    return {config: tables[config] for config in release.configs if config in tables}


def _check_figures(origin: Path | Result, result: Result, release: Release | None, *, checked: bool) -> FigureCheck:
    """Return a result's figures, computed again if they are to be `checked` or have an older definition.

    Raise ResultError if checked figures differ from those of the result.
    """
    older = any(age < 0 for age in _ages(result).values())
    if not (checked or older):
        return FigureCheck()
    check = check_figures(result, release, exact=older)
    if not checked:
        return replace(check, unchecked=())
    if check.differences:
        name = origin if isinstance(origin, Path) else f"the result of {result.scorer} for {result.model['name']}"
        raise ResultError(
            f"{printable(str(name))} has figures that its table of scores does not make (figure -> computed again): "
            f"{printable('; '.join(check.differences[:MOST_DIFFERENCES]))}"
            f"{f' and {more} more' if (more := len(check.differences) - MOST_DIFFERENCES) > 0 else ''}: one of the two "
            "was changed since; score the model again"
        )
    return check


def _ages(result: Result) -> dict[str, int]:
    """Return by estimand how many definitions the result is ahead of this senseprobe."""
    return {f.estimand: f.definition - estimand.version for f in result.figures if (estimand := find(f.estimand))}


def _update_figures(result: Result, computed: Sequence[Figure] | None) -> tuple[Result, list[str]]:
    """Return the result with the figures that were `computed` by today's definitions, and notes on changes.

    If `computed` is None, the figures stay.
    """
    notes, declared = [], SCORERS.get(result.scorer)
    if declared is not None and declared.version > result.scorer_version:
        versions = f"{result.scorer_version}, now {declared.version}"
        notes.append(f"Its scores are of an older definition of {result.scorer} ({versions}): score the model again.")
    ages = _ages(result)
    if newer := [name for name, age in ages.items() if age > 0]:
        notes.append(f"Of a newer definition than this senseprobe's: {', '.join(newer)}: upgrade it.")
    if not (older := [name for name, age in ages.items() if age < 0]):
        return result, notes
    figures: Iterable[Figure] = result.figures
    if computed is None:
        notes.append(f"Of an older definition, and not computed again: {', '.join(older)}.")
        if any(lookup(name).neutral_from_labels for name in older):  # the labels of the rows are not available
            figures = (replace(f, neutral=None) if lookup(f.estimand).neutral_from_labels else f for f in figures)
    else:
        notes.append(f"Computed again from its rows, since the definition has changed: {', '.join(older)}.")
        erased = {figure.key: figure.erased for figure in result.figures}
        figures = (replace(figure, erased=erased.get(figure.key, {})) for figure in computed)
    return replace(result, figures=tuple(figures)), notes
