"""Whether the figures of a result are those of its rows: computed again from the table beside it, and compared."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import pandas as pd

from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.caveats import withheld_configs
from senseprobe.evaluate.estimands import EXACT_P, additional, find, lookup
from senseprobe.evaluate.figures import figures_of
from senseprobe.evaluate.result import VERDICTS, Result
from senseprobe.evaluate.retirements import RETIRED, describe_retired
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.task_gates import gated_figures
from senseprobe.evaluate.units import HAS_VECTOR, KINDS
from senseprobe.messages import listed, printable
from senseprobe.records import Figure, FigureKey
from senseprobe.release.release import Release

TOLERANCE = 1e-6
"""By which a number may differ: another order of a sum makes far less."""

NOT_OF_ROWS = {"definition", "erased", "note", "verdict"}
"""Parts of figures that rows do not make: a note is words about them, a verdict is read with a control, and
which rows are erased is known where the model is at hand."""


@dataclass(frozen=True, slots=True)
class FigureCheck:
    """What a result's rows make of its figures.

    - `figures`: computed again; None where they cannot be.
    - `differences`: in which parts those of the result are others, by name.
    - `unchecked`: what is not compared, in clauses with the reason; empty where all is.
    """

    figures: tuple[Figure, ...] | None = None
    differences: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """What is not compared, in a sentence; none where all is."""
        return [f"{describe_unchecked(self.unchecked)}."] if self.unchecked else []


def describe_unchecked(clauses: Sequence[str], name: str = "") -> str:
    """Return that figures were not checked, and why, of the result called `name`, if it has to be told."""
    reasons = "; ".join(clauses)
    return f"{name}: figures not checked: {reasons}" if name else f"Figures not checked: {reasons}"


def check_figures(result: Result, release: Release | None, *, exact: bool = False) -> FigureCheck:
    """Compute the figures of a result with its rows and words again, and compare them.

    Figures of configs that fail a gate are withheld as the result's are. With `exact`, p of `weat-exact` is computed,
    too, which takes long.
    """
    if reason := _why_not(result, release):
        return FigureCheck(unchecked=(reason,))
    assert release is not None  # noqa: S101 - else there was a reason
    left_out = {figure.estimand: reason for figure in result.figures if (reason := _why_left_out(figure, exact=exact))}
    withheld = withheld_configs(result)
    names = [name for name in additional(figure.estimand for figure in result.figures) if exact or name != EXACT_P.id]
    try:
        figures = figures_of(
            release,
            result.scored,
            seed=result.seed,
            scale=result.scale,
            estimands=names,
            sampled=result.limit is not None,
            scorer=SCORERS.get(result.scorer),
        )
    except SenseprobeError as error:  # a plug-in that fails, or a figure of the release that is not known here
        return FigureCheck(unchecked=(printable(str(error)),))
    figures = _withhold(figures, result, release, withheld)
    stored = {figure.key: figure for figure in result.figures}
    tables = result.scored.tables
    figures = tuple(stored[figure.key] if _lacks_words(figure, stored, tables) else figure for figure in figures)
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(reason, []).append(name)
    unchecked = [f"{listed(names)} {reason}" for reason, names in by_reason.items()]
    unchecked += [f"{listed(withheld)} withheld"] if withheld else []
    differences = figure_differences(
        result.figures,
        figures,
        lambda _: TOLERANCE,
        left_out={*left_out},
        ignored=NOT_OF_ROWS,
        older=result.verdicts < VERDICTS,
    )
    return FigureCheck(figures, tuple(differences), tuple(map(printable, unchecked)))


def _why_not(result: Result, release: Release | None) -> str:
    """Return why no figure can be computed again; empty where they can."""
    if retired := describe_retired(result.scorer):
        return retired
    if result.rows is None:
        return "there is no table of scores next to the result"
    if release is None:
        return "the release is not available"
    if lacking := [str(name) for name in result.rows["config"].unique() if name not in result.scored.tables]:
        return f"the rows of {listed(lacking)} are not available"
    if result.words is None and KINDS[result.kind].tests:
        return "there is no table of words next to the result"
    scorer = SCORERS.get(result.scorer)
    if scorer is None and "planted" not in result.model:
        return f"the scorer {result.scorer} is not installed"
    if scorer is not None and scorer.version != result.scorer_version:
        older = scorer.version > result.scorer_version
        return f"the scores are of {'an older' if older else 'a newer'} definition of {result.scorer}"
    return ""


def _why_left_out(figure: Figure, *, exact: bool) -> str:
    if figure.estimand in RETIRED:
        return "is no longer computed"
    estimand = find(figure.estimand)
    if estimand is None:
        return "is not installed"
    if estimand.version != figure.definition:
        return f"is of {'an older' if estimand.version > figure.definition else 'a newer'} definition"
    return "takes long to recompute" if estimand.id == EXACT_P.id and not exact else ""


def _withhold(
    figures: Sequence[Figure], result: Result, release: Release, withheld: Sequence[str]
) -> tuple[Figure, ...]:
    """Return figures with the verdicts of gates in their notes, and no value where the result has none for them."""
    contrasts = release.manifest.contrasts
    sides = {contrast.name: {contrast.a, contrast.b} for contrast in contrasts}
    with_values, without_values = (gated_figures(figures, result.tasks, contrasts, show=show) for show in (True, False))
    return tuple(
        without if {*withheld} & sides.get(figure.config, {figure.config}) else figure
        for figure, without in zip(with_values, without_values, strict=True)
    )


def _lacks_words(figure: Figure, stored: Mapping[FigureKey, Figure], tables: Mapping[str, pd.DataFrame]) -> bool:
    """Return whether a figure is of a test of which a set has no vector, as the result says, too.

    Which words of the other sets have one is not in the table of scores.
    """
    if figure.value is not None or figure.key not in stored or not KINDS[lookup(figure.estimand).kind].tests:
        return False
    return stored[figure.key].value is None and HAS_VECTOR not in tables[figure.config]


# --- two lists of figures -------------------------------------------------------------------------------------------


def figure_differences(
    first: Sequence[Figure],
    second: Sequence[Figure],
    nearly: Callable[[str], float],
    *,
    left_out: Set[str] = frozenset(),
    ignored: Set[str] = frozenset(),
    older: bool = False,
) -> Iterator[str]:
    """Yield in which parts the second figures are others than the first, by name; verdicts are no parts of files.

    `nearly` says by how much a number of an estimand may differ; `left_out` are estimands, and `ignored` parts of
    figures, that are not compared. What an `older` senseprobe did not give is no difference: groups of a figure of
    whole configs, and readings.
    """
    sides = [{figure.key: figure.as_dict() for figure in figures} for figures in (first, second)]
    grouped = {key[:2] for key in sides[0] if key[2]}
    if older and not any(figure.readings for figure in first):
        ignored = {*ignored, "readings"}
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        name = " ".join(filter(None, key))
        before, after = (side.get(key) for side in sides)
        if key[1] in left_out or (older and before is None and key[2] and key[:2] not in grouped):
            continue
        if before is None or after is None:
            yield f"{name}: {'new' if before is None else 'no longer there'}"
            continue
        for part in dict.fromkeys([*before, *after]):
            then, now = before.get(part), after.get(part)
            if part not in ignored and not _same(then, now, nearly(key[1])):
                yield f"{name}, {part}: {then} -> {now}"


def _same(then: Any, now: Any, nearly: float) -> bool:  # noqa: ANN401 - any part of a figure
    if isinstance(then, float | int) and isinstance(now, float | int):
        return bool(abs(then - now) <= nearly)
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        return then.keys() == now.keys() and all(_same(then[name], now[name], nearly) for name in then)
    before, after = (list(value) if isinstance(value, tuple) else value for value in (then, now))
    return bool(before == after)
