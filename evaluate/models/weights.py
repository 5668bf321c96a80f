"""Files of weights, looked at before any of them is read: only safetensors, unless a pickle is asked for."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from senseprobe.errors import ModelError

INDEX = "model.safetensors.index.json"
"""Says which of several files has which of the weights."""
WHOLE = "model.safetensors"
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")


def refuse_other_weights(folder: Path, *, allow_pickle: bool) -> None:
    """Raise ModelError where the weights that transformers would take are not safetensors of this folder."""
    if (folder / WHOLE).is_file():
        return
    if (folder / INDEX).is_file():
        _refuse_missing(folder, refuse_index(str(folder), folder / INDEX))
    else:
        _refuse_pickle(folder, allow_pickle=allow_pickle)


def refuse_index(spec: str, path: Path) -> Collection[str]:
    """The files that an index of safetensors names. ModelError where one could be a pickle, or lie elsewhere.

    Transformers reads by its ending what an index names, wherever it is.
    """
    named = _named(path)
    if not named or not all(isinstance(name, str) for name in named):
        raise ModelError(f"cannot load the model {spec}: its {INDEX} does not say which files have the weights")
    for name in sorted(named):
        if not name.endswith(".safetensors"):
            raise ModelError(f"cannot load the model {spec}: its {INDEX} names {name!r}, which is no safetensors file")
        if "/" in name or "\\" in name:
            raise ModelError(f"cannot load the model {spec}: its {INDEX} names {name!r}, which lies elsewhere")
    return named


def _named(path: Path) -> set[Any]:
    """What an index of safetensors names as files; empty where it is none."""
    try:
        told = json.loads(path.read_bytes())
        return {*told["weight_map"].values()} if isinstance(told["metadata"], dict) else set()
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return set()


def _refuse_missing(folder: Path, names: Collection[str]) -> None:
    if missing := sorted(name for name in names if not (folder / name).is_file()):
        raise ModelError(f"cannot load the model {folder}: it lacks {missing[0]!r}, which its {INDEX} names")


def _refuse_pickle(folder: Path, *, allow_pickle: bool) -> None:
    pickled = [name for name in _PICKLED if (folder / name).is_file()]
    if not pickled:
        raise ModelError(f"cannot load the model {folder}: the folder has no weights ({WHOLE})")
    if not allow_pickle:
        raise ModelError(
            f"cannot load the model {folder}: its only weights ({pickled[0]}) are a pickle, which can run code when it"
            " is read; allow_pickle reads it, if you trust where it is from"
        )
