"""The families of models: which there are, to which a model belongs, and how a model is loaded.

The architecture in config.json decides which of our families a model is of; a plug-in's family says which it claims.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.models.alteration import DIGEST, MAP, RECORD, REMOVED, alter_model, identify_alteration
from senseprobe.evaluate.models.encodings import DEFAULT_ENCODING, EncodingOptions
from senseprobe.evaluate.models.vector_files import PREFIX, FileSummary, VectorFile, path_of
from senseprobe.plugins import HERE, Registry, Unfit, blamed, iterate_blamed, log_warning
from senseprobe.tables import read_json

if TYPE_CHECKING:
    from senseprobe.evaluate.models.batching import Budget

T = TypeVar("T")

IDENTITY_PARTS = ("weights", "config", "tokenizer", "dtype")
RESERVED_PARTS = {"name", "planted", DIGEST, REMOVED}  # what a result says of a model besides its identity


def files_of(spec: str) -> Any:  # noqa: ANN401 - a class as `VectorFile`
    """Return the class of the file that a model is named as, ``vectors:FILE`` or ``senses:FILE``; None of others."""
    families = (family for family in FAMILIES.ours.values() if family.names(spec) and family.source is None)
    return next((resolve_name(family.path) for family in families), None)


def opens(spec: str) -> bool:
    """Return whether a model is named as a file of vectors of words, or of senses."""
    return any(family.names(spec) and family.source is None for family in FAMILIES.ours.values())


def check_prefix(spec: str) -> None:
    """Raise ModelError where a name begins like models of a room or a plug-in that is not installed.

    >>> check_prefix("bert-base-uncased")
    >>> check_prefix("smells:roses.txt")
    Traceback (most recent call last):
    senseprobe.errors.ModelError: nothing in this installation of senseprobe opens models whose names begin with smells:
    """
    prefix = re.match(r"[a-z]{2,}:(?!//)", spec)
    if prefix and not opens(spec) and not Path(spec).exists():
        raise ModelError(f"nothing in this installation of senseprobe opens models whose names begin with {prefix[0]}")


def summarize(
    spec: str,
    release: str = "",
    sets: Mapping[tuple[str, str], Sequence[str]] | None = None,
    options: EncodingOptions = DEFAULT_ENCODING,
) -> FileSummary:
    """Read a whole file of vectors, ``senses:FILE`` or another one, as `options` say, and return what it is.

    `sets` are the words of each test and role of `release`, or sense keys. Raises ModelError where it cannot be used.
    """
    summary: FileSummary = (files_of(spec) or VectorFile).load(spec, options).summarize(release, sets or {})
    return summary


class Model(Protocol):
    """The common part of all models; the rest is between a family and the scorers that ask for its ability."""

    name: str
    ability: str
    budget: "Budget"

    @property
    def identity(self) -> Mapping[str, str]:
        """What scores depend on: sha256 of ``weights``, ``config`` and ``tokenizer``, ``dtype``; a Hub ``revision``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Models that are loaded in one way, and have one ability.

    - `ability`: what scorers ask for; `title`: what a model is called in messages, with its article.
    - `path`: of ours, the module and the class whose `load` opens them.
    - `base`, `fits(source)`: of ours that are models of another ability, too, which comes first: that ability, and
      whether the model of a source is also one of these.
    - `prefix`: of ours that are no folders, what a model's name begins with: a file of vectors after it, unless there
      is a `source`: the class of the sources of models that are not loaded here.

    A plug-in has instead

    - `load(spec, *, device, dtype, allow_pickle, batch_tokens)` (and `labels`, where they are stated, for a model of
      inference): opens the model that is called `spec`; `senseprobe.evaluate.models.load` describes the arguments;
    - `claims(spec, config)`: whether a model is of this family; `config` is its config.json, empty if it has none.
    """

    id: str
    ability: str
    title: str
    path: str = ""
    prefix: str = ""
    base: str = ""
    fits: Callable[[Any], bool] | None = None
    source: Callable[..., Any] | None = None
    load: Callable[..., Any] | None = None
    claims: Callable[[str, Mapping[str, Any]], bool] | None = None
    origin: str = ""

    def names(self, spec: str) -> bool:
        """Return whether a model is named as a file of the family."""
        return bool(self.prefix) and spec.startswith(self.prefix)


def admit(family: Family) -> Family:
    """Return the family of a plug-in. Raise Unfit where it cannot say which models are its own, or cannot open one."""
    if not callable(family.load) or not callable(family.claims):
        raise Unfit("its `load` or `claims` is not a function")
    return family


CORE = tuple(
    Family(id=name, ability=ability, title=title, path=f"{__package__}.{path}", prefix=prefix)
    for name, ability, title, path, prefix in (
        ("masked", "masked", "a masked language model", "masked:MaskedLM", ""),
        ("causal", "causal", "a causal language model", "causal:CausalLM", ""),
        ("inference", "inference", "an NLI model", "nli:Classifier", ""),
        ("vectors", "vectors", "a model with vectors", "encoder:Encoder", ""),
        ("word-vectors", "vectors", "a file of vectors of words", "vector_files:VectorFile", PREFIX),
    )
)

FAMILIES = Registry("senseprobe.models", Family, "family of models", CORE, admit)
"""By id, which is the ability of families of ours that are no files; then those of rooms, and of plug-ins."""


def title_of(ability: str) -> str:
    """Return what a model with an ability is called in messages, with its article.

    >>> title_of("masked")
    'a masked language model'
    """
    titles = (family.title for family in FAMILIES.values() if family.ability == ability)
    return next(titles, f"a model with the ability {ability}")


def ability_of(spec: str) -> str:
    """Return the ability of the model at `spec`: that of the plug-in that claims it, else of its architecture.

    Of a body without a head, the heads that exist for it decide: masked, else causal; ``vectors:FILE`` has vectors.
    Raises ModelError.
    """
    if opens(spec):
        return VectorFile.ability
    if re.match(r"[a-z]+:[a-z]+://", spec):  # what follows the prefix may hold a secret
        check_prefix(spec)
    if family := claiming(spec, FAMILIES.values()):
        return family.ability
    check_prefix(spec)
    from senseprobe.evaluate.models.checkpoint import explained, read_config, refuse_encoder_decoder

    config = read_config(spec)
    architectures = config.architectures or []
    if not isinstance(architectures, list) or not all(isinstance(name, str) for name in architectures):
        raise ModelError(
            f"cannot tell what kind of model {spec} is: `architectures` in its config.json is not a list of names"
        )
    abilities = (_ability_of_head(name) for name in architectures)
    bodies = (ability for ability, mapping in _heads().items() if config.model_type in mapping)
    ability = next(filter(None, abilities), None) or next(bodies, None)
    if ability != "inference":
        with explained(spec):
            refuse_encoder_decoder(config)
    if ability:
        return ability
    names = ", ".join(architectures) or "none"
    raise ModelError(f"cannot tell what kind of model {spec} is: its config.json names the architecture {names}")


def _ability_of_head(architecture: str) -> str | None:
    if architecture.endswith("ForSequenceClassification"):
        return "inference"
    for ability, mapping in _heads().items():
        names = ({names} if isinstance(names, str) else names for names in mapping.values())
        if any(architecture in several for several in names):
            return ability
    return None


def is_encoder(spec: str) -> bool:
    """Return whether a config names architectures that only make vectors, without a head; False where it has none."""
    names = raw_config(spec).get("architectures")
    return bool(names) and isinstance(names, list) and not any(_ability_of_head(str(name)) for name in names)


def _heads() -> dict[str, Mapping[str, str | Iterable[str]]]:
    """Return, by ability, the architectures that transformers has of each type of model."""
    from transformers.models.auto import modeling_auto

    return {
        "masked": modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        "causal": modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    }


def load(
    spec: str,
    *,
    ability: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    allow_pickle: bool = False,
    batch_tokens: int | None = None,
    labels: str | None = None,
    encoding: EncodingOptions = DEFAULT_ENCODING,
) -> Model:
    """Load the model in the folder `spec`, or ``USER/NAME[@REVISION]`` of the Hub, for an ability (default: its own).

    ``vectors:PATH`` is a file of vectors, ``senses:PATH`` one of senses; `encoding` says how vectors
    are made where that is not the model's own way.

    `device` is ``auto`` (CUDA if there is any, else the CPU) or a name that torch knows; `dtype` float32, float64,
    bfloat16 or float16; `batch_tokens` the tokens of a forward pass, None for what suits the device; `labels` the
    classes of a model of inference whose config does not name them (models/nli.py). Code from a checkpoint
    never runs; only `allow_pickle` lets weights be read that are not safetensors. Raises ModelError.
    """
    ability = ability or ability_of(spec)
    label_option = options_of_labels(spec, ability, labels)
    if files := files_of(spec):
        if dtype != "float32":
            raise ModelError(f"{spec} is a file of vectors, which are read in float32: leave --dtype out")
        vectors: Any = files.load(spec, encoding)
        _alter(vectors, path_of(spec))
        return cast("Model", vectors)
    options = {
        "device": device,
        "dtype": dtype,
        "allow_pickle": allow_pickle,
        "batch_tokens": batch_tokens,
        **label_option,
    }
    if family := claiming(spec, FAMILIES.values(), ability):
        model: Any = open_plugged(family, spec, **options)
    elif (named := FAMILIES.get(ability)) and named.path:
        model = class_of(ability).load(spec, **options, **options_of_encoding(ability, encoding))
    else:
        raise ModelError(f"cannot load the model {spec}: no plug-in can load it as {title_of(ability)}")
    model.identity.update(label_option)  # so that a replay can state them again
    if folder := _folder_of(spec, model.identity.get("revision")):
        _alter(model, folder)
    return cast("Model", model)


def _alter(model: Any, path: Path) -> None:  # noqa: ANN401 - of any family
    """Have a model altered as the record beside it says, which is part of its identity, if there is one."""
    if parts := identify_alteration(path):
        model.identity.update(parts)
        alter_model(model, path if path.is_dir() else path.parent)


def _folder_of(spec: str, commit: str | None) -> Path | None:
    """Return the folder that has the record of what was removed from a model's vectors, if there is one."""
    if (folder := Path(spec).expanduser()).is_dir():
        return folder
    if commit is None:  # a plug-in's model
        return None
    from senseprobe.evaluate.models.checkpoint import find_optional_file

    name = spec.partition("@")[0]
    if record := find_optional_file(name, RECORD, commit):
        find_optional_file(name, MAP, commit)  # beside it, for those that read the map
    return record.parent if record else None


def class_of(ability: str) -> Any:  # noqa: ANN401
    """Return the class of the models of a family of ours."""
    return resolve_name(FAMILIES[ability].path)


def options_of_labels(name: str, ability: str, labels: str | None) -> dict[str, str]:
    """Return what stated labels are as an option, and in the identity. ModelError without inference."""
    if labels is not None and ability != "inference":
        raise ModelError(f"{name} is {title_of(ability)}: --labels applies to NLI models only")
    return {} if labels is None else {"labels": labels}


def options_of_encoding(ability: str, encoding: EncodingOptions) -> dict[str, EncodingOptions]:
    """Return how vectors are made, as an option of models that have them."""
    return {"options": encoding} if ability == VectorFile.ability else {}


def ability_in_memory(source: Any) -> str:  # noqa: ANN401 - a `ModelSource`
    """Return the ability of the model that a source has in memory. ModelError where its class is of none."""
    kind = type(source.model).__name__
    if (ability := _ability_of_head(kind)) is None:
        raise ModelError(f"cannot tell what kind of model {source.name} is: its class is {kind}")
    return ability


def claiming(spec: str, families: Iterable[Family], ability: str | None = None) -> Family | None:
    """Return the family of a plug-in that claims the model at `spec` and has the `ability`; None where none does.

    Raises ModelError where several do. One that fails to answer claims nothing, and a warning names it.
    """
    able = [family for family in families if family.claims and ability in (None, family.ability)]
    config = raw_config(spec) if able else {}
    claimants = [family for family in able if _claims(family, spec, config)]
    if len(claimants) > 1:
        both = " and ".join(f"{family.id} of {family.origin or HERE}" for family in claimants)
        raise ModelError(f"cannot tell how to load the model {spec}: {both} both claim it; uninstall one")
    return claimants[0] if claimants else None


def _claims(family: Family, spec: str, config: Mapping[str, Any]) -> bool:
    try:
        with blamed("", Unfit):
            return bool(family.claims and family.claims(spec, config))
    except (Unfit, SenseprobeError) as error:  # models of other families do not need it
        named = f"the family of models {family.id} of {family.origin or HERE}"
        log_warning(f"{named} is ignored: asked about {spec}, it failed with {error}")
        return False


def raw_config(spec: str) -> dict[str, Any]:
    """Return the config.json at `spec`, a folder or a name on the Hub, as it is; empty where there is none."""
    path = Path(spec).expanduser() / "config.json"
    try:
        if not (path.parent.exists() or spec.startswith((".", "/", "~"))):
            from huggingface_hub import hf_hub_download

            from senseprobe.evaluate.models.checkpoint import quiet

            name, _, revision = spec.partition("@")
            with quiet():
                path = Path(hf_hub_download(name, path.name, revision=revision or None))
        config = read_json(path.read_bytes())
    except (OSError, ValueError):  # HFValidationError is a ValueError, what the Hub refuses an OSError
        return {}
    return config if isinstance(config, dict) else {}


def open_plugged(family: Family, spec: str, **options: object) -> Model:
    """Load a model by a plug-in; `family` becomes part of its identity, since others may compute otherwise."""
    failed = f"cannot load the model {spec}: {family.id} of {family.origin or HERE}"
    with blamed(f"{failed} failed with", ModelError):
        model: Any = family.load(spec, **options) if family.load else None
        defect = _defect(model, family)
        model.name = spec
    if defect:
        raise ModelError(f"{failed} {defect}")
    return cast("Model", model)


def _defect(model: Any, family: Family) -> str:  # noqa: ANN401 - whatever somebody else's function returns
    """Return what a model lacks; empty where it lacks nothing, and its identity names the family."""
    if model.ability != family.ability:
        return f"made one with the ability {model.ability}, not {family.ability}"
    for part, text in {**dict.fromkeys(IDENTITY_PARTS), **model.identity}.items():
        if not (isinstance(text, str) and text.isprintable() and "|" not in text):  # it is to stand in a signature
            return f"gives a {part} that is not one line of text without |"
    if reserved := RESERVED_PARTS & {*model.identity}:
        return f"gives a {min(reserved)}, a name that senseprobe uses itself"
    model.identity["family"] = family.id
    if model.identity.get("family") != family.id:
        return "makes a new identity each time instead of keeping it"
    return ""


def of_plug_in(identity: Mapping[str, str]) -> bool:
    """Return whether a model with this identity is of a plug-in's family, and not of one of ours that names itself."""
    return "family" in identity and identity["family"] not in FAMILIES.ours


def answers_of(model: Model, answers: Iterable[T]) -> Iterator[T]:
    """Iterate over a scorer's answers; ModelError, which names the family, where a plug-in's model makes it fail."""
    if not of_plug_in(model.identity):
        return iter(answers)
    failed = f"the model {model.name} of the family {model.identity['family']}, a plug-in, failed with"
    return iterate_blamed(iter(answers), failed, ModelError)
