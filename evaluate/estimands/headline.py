"""The figure that a config of a release is read by, for its card: as it is known before any model was scored."""

from collections.abc import Mapping

import pandas as pd

from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.base import Estimand
from senseprobe.evaluate.estimands.preference import PREFERENCE
from senseprobe.records import Design, Headline
from senseprobe.release.release import Release


def describe_headlines(release: Release) -> dict[str, Headline]:
    """Return the headline of each config that has one; the rows say whether `preference` has a neutral value.

    Raise DamagedRelease where rows cannot be read.
    """
    headlines = {}
    for config, design in release.designs.items():
        facts, preference_neutral = release.manifest.config(config), None
        if PREFERENCE.id in design.estimands and design.neutral is not None:
            columns = dict.fromkeys(("label_basis", "contested", "stereo_value", "anti_value", *design.strata))
            batches = (batch.to_pandas() for batch in release.batches(config, [*columns]))
            rows = pd.concat(batches, ignore_index=True).assign(stereo_score=0.0, anti_score=0.0)
            preference_neutral = PREFERENCE.neutral_value(PREFERENCE.kernel_rows(rows, design, "log"), design)
        if leading := _find_headline(design, preference_neutral):
            estimand, neutral = leading
            headlines[config] = describe_headline(estimand, neutral, design, facts["levels"], facts["rows"])
    return headlines


def _find_headline(design: Design, preference_neutral: float | None) -> tuple[Estimand, float | None] | None:
    """Return the estimand that leads a config, and its neutral value.

    That is the one of the lowest rank; where it has no neutral value for want of balanced labels, the first other that
    has one, and an interval.
    """
    estimands = [lookup(name) for name in design.estimands]
    if not estimands:
        return None
    first = min(estimands, key=lambda estimand: estimand.rank or len(estimands) + 9)
    if not first.neutral_from_labels:
        return first, first.neutral
    if preference_neutral is None:
        others = (other for other in estimands if other.neutral is not None and other.has_interval)
        if other := next(others, None):
            return other, other.neutral
    return first, preference_neutral


def describe_headline(
    estimand: Estimand, neutral: float | None, design: Design, levels: Mapping[str, int], rows: int
) -> Headline:
    """Return what a card says of an estimand as the figure of a config with so many levels and rows."""
    half_width = estimand.planned_half_width(design, levels, rows)
    return Headline(
        estimand=estimand.id,
        title=estimand.title,
        says=estimand.says,
        cannot_say=estimand.cannot_say,
        neutral=neutral,
        zero=estimand.zero_note,
        factors=tuple(factor.name for factor in estimand.rule_design(design).factors),
        half_width=None if half_width is None else round(half_width, 1),
    )
