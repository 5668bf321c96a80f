"""What a family of models declares of itself.

Families of models that plug-ins bring: which of them claims a model, and models that are looked at when opened.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.plugins import HERE, Unfit, blamed, iterate_blamed, log_warning

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Models that are loaded in one way, and have one ability.

    - `ability`: what scorers ask for; `title`: what a model is called in messages, with its article.
    - `module`: of ours, the one whose `load` opens them.

    A plug-in has instead

    - `load(spec, *, device, dtype, allow_pickle, batch_tokens)` (and `labels`, where they are stated, for a model of
      inference): opens the model that is called `spec`; what each means is told by `senseprobe.evaluate.models.load`;
    - `claims(spec, config)`: whether a model is of this family; `config` is its config.json, empty if it has none.
    """

    id: str
    ability: str
    title: str
    module: str = ""
    load: Callable[..., Any] | None = None
    claims: Callable[[str, Mapping[str, Any]], bool] | None = None
    origin: str = ""


OWN = (
    Family(id="masked", ability="masked", title="a masked language model", module="masked"),
    Family(id="causal", ability="causal", title="a causal language model", module="causal"),
    Family(id="inference", ability="inference", title="a model of inference", module="nli"),
)


A = TypeVar("A")

PARTS = ("weights", "config", "tokenizer", "dtype")
TAKEN = {"name", "planted"}
"""What a result says of a model besides its identity."""


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
        with blamed(Unfit):
            return bool(family.claims and family.claims(spec, config))
    except (Unfit, SenseprobeError) as told:  # models of other families do not need it
        named = f"the family of models {family.id} of {family.origin or HERE}"
        log_warning(f"{named} is left out: asked for {spec} it fails with {told}")
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
    with blamed(lambda told: ModelError(f"{failed} fails with {told}")):
        model: Any = family.load(spec, **how) if family.load else None
        wrong = _wrong(model, family)
        model.name = spec
    if wrong:
        raise ModelError(f"{failed} {wrong}")
    return cast("Model", model)


def _wrong(model: Any, family: Family) -> str:  # noqa: ANN401 - whatever somebody else's function returns
    """What a model lacks; nothing: empty, and its identity says the family."""
    if model.ability != family.ability:
        return f"makes one with the ability {model.ability}, not {family.ability}"
    told = {**dict.fromkeys(PARTS), **model.identity}
    if odd := [part for part, text in told.items() if not _is_plain(text)]:
        return f"tells a {odd[0]} that is no text, or not one in a line without |"
    if taken := TAKEN & {*told}:
        return f"tells a {min(taken)}, which a model's identity has not"
    model.identity["family"] = family.id
    return (
        "" if model.identity.get("family") == family.id else "makes its identity anew each time, instead of keeping it"
    )


def _is_plain(text: object) -> bool:
    """Whether a text can stand in a signature."""
    return isinstance(text, str) and text.isprintable() and "|" not in text


def answers_of(model: "Model", answers: Iterable[A]) -> Iterator[A]:
    """What a scorer makes of a model; ModelError, which names the family, where a plug-in's model makes it fail."""
    if "family" not in model.identity:
        return iter(answers)
    failed = f"the model {model.name} of the family {model.identity['family']}, a plug-in, fails with"
    return iterate_blamed(lambda told: ModelError(f"{failed} {told}"), lambda: answers)
