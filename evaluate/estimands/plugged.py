"""Estimands of plug-ins: what they must have, and figures that are looked at before they are printed."""

import json
from collections.abc import Iterable, Iterator

import pandas as pd

from senseprobe.errors import ResultError, SenseprobeError
from senseprobe.evaluate.estimands.catalogue import CATALOGUE, Estimand
from senseprobe.evaluate.plugins import HERE, clause
from senseprobe.records import Design, Figure

__all__ = ["check_asked", "of_plugins", "plugged_figures"]


def of_plugins(names: Iterable[str]) -> list[str]:
    """Those of the names that plug-ins compute, each once."""
    known = ((name, CATALOGUE.get(name)) for name in dict.fromkeys(names))
    return [name for name, declared in known if declared is not None and declared.figures is not None]


def check_asked(names: Iterable[str], kinds: Iterable[str]) -> None:
    """SenseprobeError where one of the names is no plug-in's, or is over rows of a kind that is not there."""
    kinds = sorted({*kinds})
    for name in names:
        declared = CATALOGUE.find(name)
        if declared.figures is None:
            raise SenseprobeError(f"{name} is no plug-in's: a release says itself which of senseprobe's figures it has")
        if declared.kind not in kinds:
            raise SenseprobeError(f"{name} is over {declared.kind} rows, and these are {' and '.join(kinds)} rows")


def plugged_figures(name: str, rows: pd.DataFrame, design: Design, config: str, seed: int) -> Iterator[Figure]:
    """What a plug-in makes of the rows of a config, with scores: a copy of its own.

    Raises ResultError, which names the plug-in, where it fails, or makes what is no figure of that name and range.
    """
    estimand = CATALOGUE[name]
    if estimand.figures is None:
        raise ResultError(f"no plug-in computes {name}")
    try:
        made = list(estimand.figures(rows.copy(), design, config, seed))
    except SenseprobeError:
        raise
    except Exception as error:
        raise ResultError(f"{_named(estimand)} fails on {config} with {clause(error)}") from error
    for figure in made:
        if wrong := _wrong(figure, estimand, config):
            raise ResultError(f"{_named(estimand)} makes, of {config}, {wrong}")
        yield figure


def _named(estimand: Estimand) -> str:
    return f"the estimand {estimand.id} of {estimand.origin or HERE}"


def _wrong(figure: object, estimand: Estimand, config: str) -> str:
    """What is wrong with a figure; nothing: empty."""
    if not isinstance(figure, Figure):
        return f"a {type(figure).__name__}, not a Figure"
    if (figure.estimand, figure.config) != (estimand.id, config):
        return f"a figure {figure.estimand} of {figure.config}"
    try:
        json.dumps(figure.as_dict(), allow_nan=False)
    except (TypeError, ValueError) as error:
        return f"a figure that no file can hold ({clause(error)})"
    if figure.value is not None and not estimand.low - 1e-9 <= figure.value <= estimand.high + 1e-9:
        return f"a figure of {figure.value:g}, outside its range"
    return ""
