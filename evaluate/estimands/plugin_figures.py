"""Estimands that are asked for besides a release's own: variants of ours, and those of plug-ins.

Of plug-ins, what they must have, and figures that are looked at before they are printed.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from senseprobe.errors import ResultError, SenseprobeError
from senseprobe.evaluate.estimands.catalogue import CATALOGUE, Estimand
from senseprobe.evaluate.plugins import HERE, blamed, clause
from senseprobe.records import Design, Figure

DUST = 1e-9
"""By which points may be out of place: what the order of a sum adds to them."""


def of_plugins(names: Iterable[str]) -> list[str]:
    """Those of the names that plug-ins compute, each once."""
    known = ((name, CATALOGUE.get(name)) for name in dict.fromkeys(names))
    return [name for name, declared in known if declared is not None and declared.figures is not None]


def besides(names: Iterable[str]) -> list[str]:
    """Those of the names that no release lists and who scores asks for, each once: plug-ins', and variants of ours."""
    known = ((name, CATALOGUE.get(name)) for name in dict.fromkeys(names))
    return [name for name, one in known if one is not None and (one.figures is not None or one.variant_of)]


def check_asked(names: Iterable[str], kinds: Iterable[str], listed: Iterable[str] = ()) -> None:
    """SenseprobeError where one of the names cannot be asked for besides a release's own.

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


def plugged_figures(name: str, rows: pd.DataFrame, design: Design, config: str, seed: int) -> Iterator[Figure]:
    """What a plug-in makes of the rows of a config, with scores: a copy of its own.

    Raises ResultError, which names the plug-in, where it fails, or makes what is no figure of that name and range.
    """
    estimand = CATALOGUE[name]
    if estimand.figures is None:
        raise ResultError(f"no plug-in computes {name}")
    with blamed(lambda told: ResultError(f"{_named(estimand)} fails on {config} with {told}")):
        made = [*estimand.figures(rows.copy(), design, config, seed)]
    known: set[str | None] = set()
    for figure in made:
        with blamed(lambda told: ResultError(f"{_named(estimand)} makes, of {config}, a figure that fails: {told}")):
            wrong = _wrong(figure, estimand, config)
        if wrong := wrong or ("a figure twice" if figure.group in known else ""):
            raise ResultError(f"{_named(estimand)} makes, of {config}, {wrong}")
        known.add(figure.group)
        yield replace(figure, definition=estimand.definition)


def _named(estimand: Estimand) -> str:
    return f"the estimand {estimand.id} of {estimand.origin or HERE}"


def _wrong(figure: object, estimand: Estimand, config: str) -> str:
    """What is wrong with a figure; nothing: empty."""
    if not isinstance(figure, Figure):
        return f"a {type(figure).__name__}, not a Figure"
    if (figure.estimand, figure.config) != (estimand.id, config):
        return f"a figure {figure.estimand} of {figure.config}"
    try:
        _Form.model_validate_json(json.dumps({"figure": figure.as_dict()}, allow_nan=False))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        return f"a figure whose {first['loc'][1]} is amiss ({first['msg']})"
    except (TypeError, ValueError) as error:
        return f"a figure that no file can hold ({clause(error)})"
    return _out_of_place(figure, estimand)


class _Form(BaseModel):
    """What a figure in a result file is, as `result.py` reads it."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    figure: Figure


def _out_of_place(figure: Figure, estimand: Estimand) -> str:
    """What of a figure's numbers cannot be; nothing: empty."""
    points = [point for point in (figure.low, figure.value, figure.high) if point is not None]
    if outside := [point for point in points if not estimand.low - DUST <= point <= estimand.high + DUST]:
        return f"a figure of {outside[0]:g}, outside its range"
    if any(later < sooner - DUST for sooner, later in pairwise(points)):
        return "a figure outside its interval"
    if any(p is not None and not 0 <= p <= 1 for p in (figure.p, figure.p_holm)):
        return "a p-value outside 0 to 1"
    counts = [figure.rows, figure.scored, figure.unscored, figure.ties, *figure.left_out.values()]
    if min(counts) < 0 or figure.rows != figure.scored + figure.unscored:
        return "a figure whose rows are not those that are scored and those that are not"
    return ""
