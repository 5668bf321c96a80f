"""Estimands: from a table of scores per sentence to the figures that are reported, with intervals.

They are in a registry by id, ours in order of print, then those of plug-ins, whose figures are checked before use.

::

    preference            figure of the paper, strict                     preference.py
    preference-half       ties as halves, carries the interval            preference.py
    relative, spread      each group against the others, same words       relative.py
    relative-mean         the same against their mean; only if asked for  relative.py
    pronoun-stereotype, pronoun-baseline, pronoun-interaction             pronoun.py
    content-mean          of chat models' choices                         ../served/content.py
    matched-contrast      one figure in two senses                        sense_contrast.py
    lms, ss, icat         of StereoSet, over target terms or over pairs   stereoset.py
    nn, fn, t, accuracy   of rows of inference                            nli.py
    gap, gap:NAME         of rows of inference with words to compare      gap.py
    weat                  of association tests                            association.py
    sc-weat, gender-direction, sense-difference   of vectors on contrasts  evaluate/senses

A table has the columns of a contrast config (`id`, `frame`, a column per slot, `label_basis`, `contested`,
`stereo_value`, `anti_value`, `valence`, `stereotype`, `minimal`) and `stereo_score`, `anti_score`. A score that is not
a finite number leaves its row unscored.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from math import isfinite

import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from senseprobe.errors import ResultError, SenseprobeError
from senseprobe.evaluate.declaration import check_range, is_number
from senseprobe.evaluate.estimands.association import EXACT_P, WEAT, WEAT_ESTIMANDS, WEAT_PUBLISHED
from senseprobe.evaluate.estimands.base import NO_NEUTRAL, Estimand
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.estimands.gap import DECLARED_GAPS, NLI_ESTIMANDS
from senseprobe.evaluate.estimands.inference_rows import compact
from senseprobe.evaluate.estimands.kernel import KernelRows
from senseprobe.evaluate.estimands.multiple_testing import Family, corrected
from senseprobe.evaluate.estimands.preference import PREFERENCE, PREFERENCES
from senseprobe.evaluate.estimands.pronoun import PRONOUN_ESTIMANDS
from senseprobe.evaluate.estimands.relative import RELATIVE_ESTIMANDS
from senseprobe.evaluate.estimands.sense_contrast import (
    CONTRAST_ESTIMANDS,
    UNMATCHED,
    difference_of,
)
from senseprobe.evaluate.estimands.stereoset import STEREOSET_ESTIMANDS
from senseprobe.evaluate.retirements import check_computed
from senseprobe.evaluate.units import KINDS, NO_ROWS, ScoredRows
from senseprobe.messages import offered
from senseprobe.plugins import HERE, Registry, Unfit, blamed, describe_error
from senseprobe.records import Contrast, Design, Figure
from senseprobe.release.kinds import KINDS as ROW_KINDS
from senseprobe.statistics import CONFIDENCE, Scale

__all__ = [
    "CATALOGUE",
    "EXACT_P",
    "NO_NEUTRAL",
    "RETIRED_ESTIMANDS",
    "Estimand",
    "additional",
    "check_additional",
    "check_listed",
    "computed_estimands",
    "contrast_figures",
    "correct_gaps",
    "declared",
    "families_of",
    "figures",
    "find",
    "find_fault",
    "in_order",
    "kernel_rows",
    "leading_estimands",
    "listed_by",
    "lookup",
    "plugin_figures",
]

TOLERANCE = 1e-9
"""Points by which a plug-in's figure may lie outside its range or interval: what the order of a sum adds."""


def _admit(estimand: Estimand) -> Estimand:
    if not callable(estimand.figures):
        raise Unfit("its `figures` is not a function")
    if estimand.kind not in KINDS or KINDS[estimand.kind].tests:
        kinds = " or ".join(name for name, kind in KINDS.items() if not kind.tests)
        raise Unfit(f"it takes {estimand.kind} rows, but must take {kinds} rows")
    ends = estimand.range
    if not (isinstance(ends, tuple) and len(ends) == 2 and all(is_number(end) and isfinite(end) for end in ends)):
        raise Unfit("its range is not two finite numbers")
    check_range(estimand)
    return estimand


CATALOGUE = Registry(
    "senseprobe.estimands",
    Estimand,
    "estimand",
    (
        *(*PREFERENCES, *RELATIVE_ESTIMANDS, *PRONOUN_ESTIMANDS, *CONTRAST_ESTIMANDS, *STEREOSET_ESTIMANDS),
        *(*NLI_ESTIMANDS, *WEAT_ESTIMANDS),
    ),
    _admit,
)
"""All estimands by id, in order of print: ours, those of our rooms, then those of plug-ins."""


def families_of(figures: Iterable[Figure]) -> tuple[Family, ...]:
    """Return the families of tests that figures of single models can belong to."""
    families = (lookup(figure.estimand).family for figure in figures)
    return tuple(dict.fromkeys(family for family in families if family is not None))


RETIRED_ESTIMANDS = {estimand.id: estimand for estimand in (WEAT_PUBLISHED,)}
"""Estimands that are no longer computed, by id: results that have them are shown as before."""

_NOT_INSTALLED = Estimand(id="", title="", range=(-50, 50), direction="", source="", says="", origin="not installed")


def find(name: str) -> Estimand | None:
    """Return the estimand with an id, or with the name that a design gives to one of its own (gap:he-she), or None."""
    if (estimand := CATALOGUE.get(name)) is not None:
        return estimand
    estimand = CATALOGUE.get(name.partition(":")[0])
    return None if estimand is None else estimand.named(name)


def lookup(name: str) -> Estimand:
    """Return the estimand with an id, also a retired one; for one that is not installed, one that makes no claims.

    >>> lookup("preference-half").title
    'Preference for the stereotype, ties counted as half'
    >>> lookup("no-such-estimand").title
    'no-such-estimand'
    """
    return find(name) or RETIRED_ESTIMANDS.get(name) or replace(_NOT_INSTALLED, id=name, title=name)


def additional(names: Iterable[str]) -> list[str]:
    """Return those of the names that no release lists, each once: plug-ins' estimands, and variants of ours."""
    estimands = ((name, find(name)) for name in dict.fromkeys(names))
    return [name for name, estimand in estimands if estimand and (estimand.figures or estimand.variant_of)]


def check_additional(names: Iterable[str], kinds: Iterable[str], listed: Iterable[str] = ()) -> None:
    """Raise SenseprobeError where one of the names cannot be computed besides a release's own estimands.

    It has to be a plug-in's, over rows of one of the `kinds`, or a variant of one of the `listed` estimands.
    """
    kinds, listed = sorted({*kinds}), {*listed}
    for name in names:
        check_computed(name)
        estimand = CATALOGUE.find(name)
        if estimand.figures is None and not estimand.variant_of:
            raise SenseprobeError(
                f"{name} is not from a plug-in: the release decides which of senseprobe's own figures it has"
            )
        if estimand.kind not in kinds:
            raise SenseprobeError(f"{name} takes {estimand.kind} rows, and these are {' and '.join(kinds)} rows")
        if estimand.variant_of and estimand.variant_of not in listed:
            raise SenseprobeError(f"{name} is a variant of {estimand.variant_of}, which none of these configs has")


def figures(
    rows: pd.DataFrame,
    design: Design,
    config: str,
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    scale: Scale = "log",
    scored: ScoredRows = NO_ROWS,
) -> list[Figure]:
    """Return every figure that the design asks for, in its order; `rows` are one config's, with scores.

    `scored` has the words of association tests.

    `relative` gives a figure per group and the `spread`; `preference` and those of StereoSet one per bias type, too.
    Pronoun estimands that need praise and blame are left out of a config without them. `seed` draws the permutations,
    `confidence` is that of the intervals, `scale` that of the scores (`Scorer.scale`), by which ties are recognised.

    Where no value of `preference` is neutral and there is `pronoun-stereotype`, which is balanced, that comes first;
    those of plug-ins come last. Raises ResultError for an estimand that is not in the catalogue.

    >>> from senseprobe.records import Factor
    >>> factor = Factor(name="job", columns=("job",))
    >>> design = Design(
    ...     kind="contrast", sense_type="noun", bias_type="gender", slots=("job",), roles={}, factors=(factor,),
    ...     estimands=("preference-half",),
    ... )
    >>> scores = {"stereo_score": [-1.0, -2.0, -3.0], "anti_score": [-2.0, -1.0, -4.0]}
    >>> labels = {"label_basis": "published", "contested": False}
    >>> rows = pd.DataFrame({"job": ["nurse", "baker", "cook"], **scores, **labels})
    >>> (figure,) = figures(rows, design, "jobs")
    >>> round(figure.value, 1), figure.rows, figure.ties
    (16.7, 3, 0)
    """
    computed, plugged = computed_estimands(in_order(rows, design, scale), design)
    scope = Scope(design=design, config=config, seed=seed, confidence=confidence, scale=scale, scored=scored)
    table = compact(rows, design)
    results = [
        figure for estimand in computed if estimand.applies_to(table) for figure in estimand.compute(table, scope)
    ]
    results = correct_gaps(results, design)
    return [*results, *(figure for plugin in plugged for figure in plugin_figures(plugin, rows, design, config, seed))]


def computed_estimands(names: Iterable[str], design: Design) -> tuple[list[Estimand], list[Estimand]]:
    """Return the estimands of a design that are computed, in the order of their `names`, then those of plug-ins."""
    estimands = {name: declared(name, design) for name in names}
    plugged = [estimand for estimand in estimands.values() if estimand.figures is not None]
    ours = (estimand for estimand in estimands.values() if estimand.figures is None)
    computed = {added.id: added for estimand in ours for added in estimand.computed_with(design)}
    return [estimand for estimand in computed.values() if estimand.variant_of in ("", *computed)], plugged


def correct_gaps(results: list[Figure], design: Design) -> list[Figure]:
    """Return the figures of a config with the p of the gaps that it declares corrected together."""
    if len(design.gaps) <= 1:
        return results
    tests = iter(corrected([figure for figure in results if figure.group is None], DECLARED_GAPS))
    return [next(tests) if figure.group is None else figure for figure in results]


def listed_by(design: Design) -> tuple[str, ...]:
    """Return the estimands that a design lists; imports and older releases of association tests list none."""
    return design.estimands or ((WEAT.id,) if design.kind == WEAT.kind else ())


def declared(name: str, design: Design) -> Estimand:
    """Return the estimand with an id; ResultError where none over rows of the design's kind has it."""
    estimand = find(name)
    if estimand is None or estimand.kind != design.kind:
        noun = KINDS[design.kind].nouns
        raise ResultError(f"no estimand {name!r} for rows of {noun}; there are {', '.join(CATALOGUE)}")
    return estimand


def check_listed(designs: Iterable[Design]) -> None:
    """Raise SenseprobeError where a kind of rows lists an estimand that cannot be computed from its rows."""
    for kind, name in dict.fromkeys((design.kind, name) for design in designs for name in design.estimands):
        estimand = find(name)
        if estimand is None or estimand.kind != kind:
            names = (declared.id for declared in CATALOGUE.values() if declared.kind == kind)
            origin = f" of {ROW_KINDS[kind].origin}" if ROW_KINDS[kind].origin else ""
            reason = CATALOGUE.fault(name) or offered(name, names)
            raise SenseprobeError(f"the kind of rows {kind}{origin} lists an unknown estimand {name!r}: {reason}")


def in_order(rows: pd.DataFrame, design: Design, scale: Scale) -> tuple[str, ...]:
    """Return the design's estimands with the one first that leads: `rows` are one config's, with scores."""
    leading = leading_estimands(design)
    if not leading or PREFERENCE.neutral_value(PREFERENCE.kernel_rows(rows, design, scale), design) is not None:
        return design.estimands
    return tuple(dict.fromkeys([*leading, *design.estimands]))


def leading_estimands(design: Design) -> list[str]:
    """Return the design's estimands that lead where no value of `preference` is neutral."""
    return [name for name in design.estimands if lookup(name).stands_in and lookup(name).kind == PREFERENCE.kind]


def kernel_rows(rows: pd.DataFrame, design: Design, estimand: str, scale: Scale = "log") -> KernelRows:
    """Return the rows, kernel and weights of an estimand; ResultError where it is no weighted mean over rows."""
    return declared(estimand, design).kernel_rows(rows, design, scale)


def contrast_figures(
    contrast: Contrast,
    a: pd.DataFrame,
    a_design: Design,
    b: pd.DataFrame,
    b_design: Design,
    *,
    seed: int = 0,  # as of `figures`; no estimand that can be contrasted draws anything
    confidence: float = CONFIDENCE,
    scale: Scale = "log",
) -> list[Figure]:
    """Return figure `contrast.estimand` of the rows `a` minus that of the rows `b`, in points from -100 to 100.

    Of `relative` there is one for each group that both have, else one. Neutral is 0 where it is for both sides, else
    unknown. Raises ResultError where the estimand is not one over rows of pairs.
    """
    tables = ((a, a_design), (b, b_design))
    if not contrast.matched:
        return [UNMATCHED.contrast_figure(contrast, tables, scale)]
    estimand, difference = declared(contrast.estimand, a_design), difference_of(contrast)
    return difference.contrast_figures(contrast, estimand, tables, scale, confidence)


def plugin_figures(estimand: Estimand, rows: pd.DataFrame, design: Design, config: str, seed: int) -> list[Figure]:
    """Return a plug-in's figures, checked; ResultError, which names it, where it fails or a figure cannot be."""
    compute, name = estimand.figures, f"the estimand {estimand.id} of {estimand.origin or HERE}"
    checked: dict[str | None, Figure] = {}
    with blamed(f"{name} failed on {config} with", ResultError):
        for figure in compute(rows.copy(), design, config, seed) if compute else ():
            error = _figure_error(figure, estimand, config)
            if error := error or ("a figure twice" if figure.group in checked else ""):
                raise ResultError(f"{name} returned, for {config}, {error}")
            checked[figure.group] = replace(figure, definition=estimand.version)
    return [*checked.values()]


def _figure_error(figure: object, estimand: Estimand, config: str) -> str:
    if not isinstance(figure, Figure):
        return f"a {type(figure).__name__}, not a Figure"
    if (figure.estimand, figure.config) != (estimand.id, config):
        return f"a figure {figure.estimand} of {figure.config}"
    try:
        _ResultFile.model_validate_json(json.dumps({"figure": figure.as_dict()}, allow_nan=False))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        return f"a figure whose {first['loc'][1]} is amiss ({first['msg']})"
    except (TypeError, ValueError) as error:
        return f"a figure that no file can hold ({describe_error(error)})"
    return _number_error(figure, estimand)


class _ResultFile(BaseModel):
    """A figure in a result file, as `result.py` reads it."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    figure: Figure


def _number_error(figure: Figure, estimand: Estimand) -> str:
    points = [point for point in (figure.low, figure.value, figure.high) if point is not None]
    least, most = estimand.range[0] - TOLERANCE, estimand.range[1] + TOLERANCE
    if outside := [point for point in points if not least <= point <= most]:
        return f"a figure of {outside[0]:g}, outside its range"
    if any(later < sooner - TOLERANCE for sooner, later in pairwise(points)):
        return "a figure outside its interval"
    if figure.rows != figure.scored + figure.unscored:
        return "a figure whose rows are not those that are scored and those that are not"
    return find_fault(figure)


def find_fault(figure: Figure) -> str:
    """Return which probabilities or counts of a figure cannot be, whatever it is of; empty where all can.

    >>> counts = {"rows": 2, "scored": 2, "unscored": 0, "ties": 0}
    >>> find_fault(Figure(config="jobs", sense_type="", estimand="preference", value=10.0, p=1.5, **counts))
    'a p-value outside 0 to 1'
    """
    if any(p is not None and not 0 <= p <= 1 for p in (figure.p, figure.p_holm, figure.p_low, figure.p_least)):
        return "a p-value outside 0 to 1"
    counts = (figure.rows, figure.scored, figure.unscored, figure.ties)
    if min(*counts, *figure.left_out.values(), *figure.levels.values()) < 0:
        return "a count below 0"
    if max(figure.scored, figure.unscored) > figure.rows:
        return f"{figure.scored:,} rows with a number and {figure.unscored:,} without, of {figure.rows:,}"
    return f"{figure.ties:,} ties among {figure.scored:,} rows with a number" if figure.ties > figure.scored else ""
