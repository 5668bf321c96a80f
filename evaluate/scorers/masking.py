"""The name that `masked_queries` had in 0.1, for plug-ins that import it: it warns, and 0.3 will be without it."""

from typing import Any
from warnings import warn

from senseprobe.evaluate.scorers import masked_queries

_NAMES = ("Ask", "Read", "score_by", "why_by")


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn(f"{__name__} is now {masked_queries.__name__}: import {name} from there", DeprecationWarning, stacklevel=2)
    return getattr(masked_queries, name)
