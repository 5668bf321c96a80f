"""The estimands by id: ours in order of print, then those of plug-ins, whose figures are checked before use."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from math import isfinite

import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from senseprobe.errors import ResultError, SenseprobeError
from senseprobe.evaluate.estimands.base import Estimand
from senseprobe.evaluate.estimands.gap import GAP, GAPS
from senseprobe.evaluate.estimands.nli import ANSWERS, PROBES
from senseprobe.evaluate.estimands.preference import PREFERENCES
from senseprobe.evaluate.estimands.pronoun import PRONOUN_ESTIMANDS
from senseprobe.evaluate.estimands.relative import RELATIVE_ESTIMANDS, RELATIVE_GROUPS
from senseprobe.evaluate.estimands.sense_contrast import CONTRASTS, MATCHED_CONTRAST, UNMATCHED
from senseprobe.evaluate.estimands.stereoset import STEREOSET_ESTIMANDS
from senseprobe.evaluate.plugins import HERE, Registry, Unfit, blamed, clause
from senseprobe.records import Design, Figure

TOLERANCE = 1e-9
"""Points by which a plug-in's figure may lie outside its range or interval: what the order of a sum adds."""


def _admit(estimand: Estimand) -> Estimand:
    """Return a plug-in's estimand; Unfit where it cannot be used."""
    if not callable(estimand.figures):
        raise Unfit("its figures is no function")
    if estimand.kind not in {"contrast", "inference"}:
        raise Unfit(f"it is over {estimand.kind} rows, and there is contrast and inference")
    ends = (estimand.low, estimand.high)
    if not all(isinstance(end, int | float) and not isinstance(end, bool) and isfinite(end) for end in ends):
        raise Unfit("its range is no numbers")
    if not estimand.low < estimand.high:
        raise Unfit("its range is not a lower and an upper end")
    return estimand


CATALOGUE = Registry(
    "senseprobe.estimands",
    Estimand,
    "estimand",
    (
        *PREFERENCES,
        *RELATIVE_ESTIMANDS,
        *PRONOUN_ESTIMANDS,
        MATCHED_CONTRAST,
        UNMATCHED,
        *STEREOSET_ESTIMANDS,
        *PROBES,
        GAP,
        *ANSWERS,
    ),
    _admit,
)
"""All estimands by id, in order of print: ours, then those of plug-ins."""


FAMILIES = (CONTRASTS, RELATIVE_GROUPS, GAPS)
"""The families of tests of single models, but for that of all configs whose polarity is permuted."""


_NOT_INSTALLED = Estimand(
    id="", title="", low=-50, high=50, direction="", source="", says="", cannot_say="", origin="not installed"
)


def lookup(name: str) -> Estimand:
    """Return the estimand with an id; for one that is not installed, an estimand that makes no claims."""
    estimand = CATALOGUE.get(name)
    return replace(_NOT_INSTALLED, id=name, title=name) if estimand is None else estimand


def additional(names: Iterable[str]) -> list[str]:
    """Return those of the names that no release lists, each once: plug-ins' estimands, and variants of ours."""
    estimands = ((name, lookup(name)) for name in dict.fromkeys(names))
    return [name for name, estimand in estimands if estimand.figures or estimand.variant_of]


def check_additional(names: Iterable[str], kinds: Iterable[str], listed: Iterable[str] = ()) -> None:
    """Raise SenseprobeError where one of the names cannot be computed besides a release's own estimands.

    It has to be a plug-in's, over rows of one of the `kinds`, or a variant of one of the `listed` estimands.
    """
    kinds, listed = sorted({*kinds}), {*listed}
    for name in names:
        declared = CATALOGUE.find(name)
        if declared.figures is None and not declared.variant_of:
            raise SenseprobeError(f"{name} is no plug-in's: a release says itself which of senseprobe's figures it has")
        if declared.kind not in kinds:
            raise SenseprobeError(f"{name} is over {declared.kind} rows, and these are {' and '.join(kinds)} rows")
        if declared.variant_of and declared.variant_of not in listed:
            raise SenseprobeError(f"{name} is a variant of {declared.variant_of}, which none of these configs has")


def plugin_figures(estimand: Estimand, rows: pd.DataFrame, design: Design, config: str, seed: int) -> Iterator[Figure]:
    """Yield the figures of a plug-in's estimand over the rows of a config, with scores: it gets a copy of its own.

    Raises ResultError, which names the plug-in, where it fails, or returns what is not a figure of that name and range.
    """
    if estimand.figures is None:
        raise ResultError(f"no plug-in computes {estimand.id}")
    name = f"the estimand {estimand.id} of {estimand.origin or HERE}"
    with blamed(lambda reason: ResultError(f"{name} fails on {config} with {reason}")):
        results = [*estimand.figures(rows.copy(), design, config, seed)]
    groups: set[str | None] = set()
    for figure in results:
        with blamed(lambda reason: ResultError(f"{name} makes, of {config}, a figure that fails: {reason}")):
            error = _figure_error(figure, estimand, config)
        if error := error or ("a figure twice" if figure.group in groups else ""):
            raise ResultError(f"{name} makes, of {config}, {error}")
        groups.add(figure.group)
        yield replace(figure, definition=estimand.definition)


def _figure_error(figure: object, estimand: Estimand, config: str) -> str:
    """Return what is wrong with a figure; empty where nothing is."""
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
        return f"a figure that no file can hold ({clause(error)})"
    return _number_error(figure, estimand)


class _ResultFile(BaseModel):
    """A figure in a result file, as `result.py` reads it."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    figure: Figure


def _number_error(figure: Figure, estimand: Estimand) -> str:
    """Return which of a figure's numbers cannot be; empty where all can."""
    points = [point for point in (figure.low, figure.value, figure.high) if point is not None]
    if outside := [point for point in points if not estimand.low - TOLERANCE <= point <= estimand.high + TOLERANCE]:
        return f"a figure of {outside[0]:g}, outside its range"
    if any(later < sooner - TOLERANCE for sooner, later in pairwise(points)):
        return "a figure outside its interval"
    if any(p is not None and not 0 <= p <= 1 for p in (figure.p, figure.p_holm)):
        return "a p-value outside 0 to 1"
    counts = [figure.rows, figure.scored, figure.unscored, figure.ties, *figure.left_out.values()]
    if min(counts) < 0 or figure.rows != figure.scored + figure.unscored:
        return "a figure whose rows are not those that are scored and those that are not"
    return ""
