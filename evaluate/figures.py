"""The figures of a release's scored rows: those of each config, of each contrast of senses, and of a drawn sample."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from senseprobe.evaluate.erased_rows import describe_erased_input
from senseprobe.evaluate.estimands import CATALOGUE, contrast_figures, figures, listed_by, lookup
from senseprobe.evaluate.estimands.multiple_testing import corrected
from senseprobe.evaluate.estimands.sense_contrast import CONTRASTS, RELATIVE_CONTRASTS
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Contrast, Design, Figure
from senseprobe.release.release import Release
from senseprobe.statistics import Scale

STRATA = ("male", "female", "pleasant", "unpleasant")
"""Into which the words that `stereotype` and `valence` describe fall, and the frames that hold them."""


def figures_of(
    release: Release,
    scored: ScoredRows,
    *,
    seed: int,
    scale: Scale,
    estimands: Sequence[str] = (),
    sampled: bool = False,
    scorer: Scorer | None = None,
) -> tuple[Figure, ...]:
    """Return every figure of every config, then the sense contrasts whose two sides are there.

    `estimands` are added to those of the designs, for configs that have rows of their kind; of the numbers of a
    `scorer` those are computed that `fitting_estimands` names. `sampled`: whether the rows are a sample of those of the
    release (`--limit`).
    """
    results: list[Figure] = []
    tables = scored.tables
    for name, rows in tables.items():
        design = evaluated_design(release, name, scorer, estimands, sampled=sampled)
        results += figures(rows, design, name, seed=seed, scale=scale, scored=scored)
    for estimand in scorer.estimands if scorer is not None else ():
        results += lookup(estimand).compare_words(release.manifest.contrasts, results, scored)
    for contrast in fitting_contrasts(release, tables, scorer):
        a, b = ((tables[name], scored_design(release, name, sampled=sampled)) for name in (contrast.a, contrast.b))
        results += contrast_figures(contrast, *a, *b, seed=seed, scale=scale)
    return finish_figures(results)


def evaluated_design(
    release: Release, name: str, scorer: Scorer | None, estimands: Sequence[str] = (), *, sampled: bool = False
) -> Design:
    """Return the design of a config with the estimands that are computed of a scorer's numbers, and those added."""
    design = scored_design(release, name, sampled=sampled)
    more = (estimand for estimand in estimands if CATALOGUE[estimand].kind == design.kind)
    return replace(design, estimands=tuple(dict.fromkeys([*fitting_estimands(design, scorer), *more])))


def fitting_contrasts(release: Release, configs: Container[str], scorer: Scorer | None) -> list[Contrast]:
    """Return the sense contrasts that a scorer's numbers make, both of whose configs are there."""
    return [
        contrast
        for contrast in (release.manifest.contrasts if scorer is None or not scorer.estimands else ())
        if scorer is None or not scorer.of_pairs or lookup(contrast.estimand).of_pairs
        if contrast.a in configs and contrast.b in configs
    ]


def finish_figures(figures: list[Figure]) -> tuple[Figure, ...]:
    """Return the figures of a release, corrected over those of contrasts and rounded."""
    return tuple(map(_rounded, corrected(corrected(figures, CONTRASTS), RELATIVE_CONTRASTS)))


def fitting_estimands(design: Design, scorer: Scorer | None) -> tuple[str, ...]:
    """Return the figures of a scorer's numbers in a config: its own, or those of the design (that are of pairs)."""
    if scorer is None or not scorer.of_pairs:
        return (scorer.estimands if scorer else ()) or listed_by(design)
    of_pairs = (name for name in listed_by(design) if lookup(name).of_pairs)
    return (*of_pairs, *(name for name, estimand in CATALOGUE.items() if estimand.column))


def left_out_estimands(release: Release, configs: Iterable[str], scorer: Scorer) -> list[str]:
    """Return the figures that configs of a release list, and that a scorer's numbers cannot make; once each."""
    listed = chain.from_iterable(listed_by(release.design(name)) for name in configs)
    return [name for name in dict.fromkeys(listed) if scorer.of_pairs and not lookup(name).of_pairs]


def scored_design(release: Release, name: str, *, sampled: bool) -> Design:
    """Return the design of a config by which its rows are evaluated, or those that were drawn of them (`--limit`)."""
    design = release.design(name)
    if not sampled:
        return design
    levels: dict[str, int] = {}
    for factor, count in release.manifest.config(name)["levels"].items():
        levels[factor] = count
        if "(" not in factor and design.strata:  # the frames of either class of occupations
            levels.update({f"{factor} ({stratum})": count for stratum in STRATA})
    return replace(design, drawn_from=levels)


def _sides(release: Release, name: str) -> list[str]:
    """Return the two configs of a sense contrast; none where the release has no contrast of that name."""
    contrasts = (contrast for contrast in release.manifest.contrasts if contrast.name == name)
    return [config for contrast in contrasts for config in (contrast.a, contrast.b)]


def with_notes(release: Release, figure: Figure, reasons: Mapping[str, str]) -> Figure:
    """Return a figure with notes on what is erased, and of a contrast on sides that `reasons` calls not readable."""
    notes = [f"{side} is not readable: {reasons[side]}" for side in _sides(release, figure.config) if side in reasons]
    notes += [text] if (text := describe_erased_input(figure)) else []
    return replace(figure, note="; ".join([*notes, *filter(None, [figure.note])])) if notes else figure


def _rounded(figure: Figure) -> Figure:
    """Round a figure to a billionth of a point: the last bits of a sum depend on the order of the rows."""
    # Never -0.0, which prints another sign.
    points = (figure.value, figure.low, figure.high)
    value, low, high = (None if point is None else round(point, 9) + 0.0 for point in points)
    return replace(figure, value=value, low=low, high=high)
