"""Families of models that plug-ins bring: which of them claims a model, and models that are looked at when opened."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.models.families import Family
from senseprobe.evaluate.plugins import HERE, Unfit, clause, tell

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model

__all__ = ["admit", "claiming", "open_plugged", "raw_config"]

PARTS = ("weights", "config", "tokenizer", "dtype")


def admit(family: Family) -> Family:
    """The family of a plug-in. Raises Unfit where it cannot be told whose models these are, or they not be opened."""
    if not callable(family.load) or not callable(family.claims):
        raise Unfit("its load or claims is no function")
    return family


def claiming(spec: str, families: Iterable[Family], ability: str | None = None) -> Family | None:
    """The family of a plug-in that claims the model at `spec`, and has the `ability`; None where none does.

    Raises ModelError where several do. One that fails to answer claims nothing, and is told.
    """
    able = [family for family in families if family.claims and ability in (None, family.ability)]
    config = raw_config(spec) if able else {}
    found = [family for family in able if _claims(family, spec, config)]
    if len(found) > 1:
        both = " and ".join(f"{family.id} of {family.origin or HERE}" for family in found)
        raise ModelError(f"cannot tell how to load the model {spec}: {both} both claim it; uninstall one")
    return found[0] if found else None


def _claims(family: Family, spec: str, config: Mapping[str, Any]) -> bool:
    try:
        return bool(family.claims and family.claims(spec, config))
    except Exception as error:  # noqa: BLE001 - somebody else's code, which models of other families do not need
        named = f"the family of models {family.id} of {family.origin or HERE}"
        tell(f"{named} is left out: asked for {spec} it fails with {clause(error)}")
        return False


def raw_config(spec: str) -> dict[str, Any]:
    """What the config.json at `spec`, a folder or a name on the Hub, says, as it is; empty where there is none."""
    folder = Path(spec).expanduser()
    try:
        path = folder / "config.json" if folder.exists() or spec.startswith((".", "/", "~")) else _from_hub(spec)
        told = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):  # HFValidationError is a ValueError, what the Hub refuses an OSError
        return {}
    return told if isinstance(told, dict) else {}


def _from_hub(spec: str) -> Path:
    from huggingface_hub import hf_hub_download

    from senseprobe.evaluate.models.checkpoint import quiet

    name, _, revision = spec.partition("@")
    with quiet():
        return Path(hf_hub_download(name, "config.json", revision=revision or None))


def open_plugged(family: Family, spec: str, **how: object) -> "Model":
    """The model, loaded by a plug-in; `family` is then part of its identity, as others may compute otherwise.

    Raises ModelError, which names the plug-in, where it fails or its model lacks what scores are kept and replayed by.
    """
    failed = f"cannot load the model {spec}: {family.id} of {family.origin or HERE}"
    try:
        model: Any = family.load(spec, **how) if family.load else None
        wrong = _wrong(model, family)
    except SenseprobeError:
        raise
    except Exception as error:
        raise ModelError(f"{failed} fails with {clause(error)}") from error
    if wrong:
        raise ModelError(f"{failed} {wrong}")
    return cast("Model", model)


def _wrong(model: Any, family: Family) -> str:  # noqa: ANN401 - whatever somebody else's function returns
    """What a model lacks; nothing: empty, and its identity says the family."""
    if model.ability != family.ability:
        return f"makes one with the ability {model.ability}, not {family.ability}"
    if missing := [part for part in PARTS if not isinstance(model.identity[part], str)]:
        return f"tells a {missing[0]} that is no text"
    model.identity["family"] = family.id
    return (
        "" if model.identity.get("family") == family.id else "makes its identity anew each time, instead of keeping it"
    )
