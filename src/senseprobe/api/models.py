"""Models and files of vectors as objects, and which other kinds there are: what is scored, and how it is loaded.

Nothing is loaded or asked until an object is used: by `score`, or by its own `describe`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeAlias, TypeVar, cast

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.options import HEADER, SKIP_BAD, Option, parameters_of
from senseprobe.plugins import Registry, Unfit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from senseprobe.api.sources import Model, Vectors
    from senseprobe.evaluate.models import ModelSource
    from senseprobe.evaluate.models.encodings import VectorModel

    Loaded: TypeAlias = PreTrainedModel | Mapping[str, ArrayLike] | ArrayLike
    """What is in memory: a model of transformers, vectors by word or sentence, or an array of them."""


Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called senseprobe from outside."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "senseprobe":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _tokens(text: str) -> int | None:
    if text == "auto":
        return None
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise ValueError(f"{text}: expected auto, or a number of tokens")


DEVICE = Option(
    metavar="DEVICE", help="Run on cpu, cuda, cuda:1, or auto; all spreads the layers of a large model over all cards."
)
BATCH_TOKENS = Option(
    old="--batch-size",
    type=str,
    default="auto",
    parse=_tokens,
    metavar="auto|TOKENS",
    help="Number of tokens (not texts) per forward pass; auto chooses by device. It is halved if memory runs out.",
)
ALLOW_PICKLE = Option(help="Also load weights that are not safetensors; they can run arbitrary code.")


def model(
    spec: str | Path | PreTrainedModel,
    *,
    pooling: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Pool token vectors: cls, mean, max or last for a sentence; mean, first, last or head for a word in "
            "it; model for a word alone. Default: the model's own.",
        ),
    ] = None,
    layer: Annotated[
        int | None,
        Option(
            metavar="N", help="Take vectors from this layer of hidden states, where -1 is the last. Default: the last."
        ),
    ] = None,
    start: Annotated[
        bool,
        Option(
            "--start/--no-start",
            old="--bos/--no-bos",
            help="Begin each text with a start token if a decoder's tokenizer does not add one.",
        ),
    ] = True,
    revision: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Load this branch, tag or commit from the Hub. Default: the main branch, recorded as a commit.",
        ),
    ] = None,
    device: Annotated[str, DEVICE] = "auto",
    dtype: Annotated[
        str, Option(metavar="FORMAT", help="Compute in float32, float64, bfloat16 or float16.")
    ] = "float32",
    batch_tokens: Annotated[int | None, BATCH_TOKENS] = None,
    allow_pickle: Annotated[bool, ALLOW_PICKLE] = False,
    labels: Annotated[
        str | None,
        Option(
            metavar="NAME,NAME,NAME",
            help="Name the classes of an inference model in its order, if the model does not name them.",
        ),
    ] = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    name: str | None = None,
) -> Model:
    """Name a language model, an encoder or a model of inference, and how it is loaded.

    `spec` is a folder, a fetched model, a name on the Hub, or a transformers model in memory with its `tokenizer`.
    A model in memory stays on its device and in its number format, has the same hashes as from its folder, and has
    the title `name` in results. The result has `abilities` (what scorers can ask of it). Its `describe()` returns
    its family, its levels, the scorers that fit, and its identity, without loading its weights. Raises
    SenseprobeError for options that do not fit.
    """
    from senseprobe.api.sources import Model
    from senseprobe.evaluate.models.encodings import EncodingOptions

    encoding = EncodingOptions(pooling=pooling, layer=layer, start=None if start else "off")
    if isinstance(spec, str | Path):
        if tokenizer is not None or name is not None:
            raise SenseprobeError(
                "tokenizer and name are only for a model in memory: leave them out if you name a folder"
            )
        return Model(str(spec), revision, device, dtype, batch_tokens, allow_pickle, labels, encoding=encoding)
    if (revision, device, dtype, allow_pickle) != (None, "auto", "float32", False):
        raise SenseprobeError(
            "revision, device, dtype and allow_pickle are only for models that senseprobe loads: set them on your model"
        )
    if tokenizer is None:
        raise SenseprobeError(
            "a model in memory needs its tokenizer: score(senseprobe.model(model, tokenizer=tokenizer), release)"
        )
    title = name or str(spec.config.name_or_path or "") or type(spec).__name__
    dtype = str(spec.dtype).removeprefix("torch.")
    return Model(
        title,
        dtype=dtype,
        batch_tokens=batch_tokens,
        labels=labels,
        model=spec,
        tokenizer=tokenizer,
        encoding=encoding,
    )


def vectors(
    file: str | Path | Mapping[str, ArrayLike] | ArrayLike,
    *,
    lower: Annotated[
        bool | None, Option(help="Look up words in lower case in a file of vectors. Default: as the file is written.")
    ] = None,
    unit: Annotated[bool | None, Option(help="Scale each sense vector to length 1.")] = None,
    exact_lemma: Annotated[
        bool,
        Option("--exact-lemma", help="Use only a word's own senses, not those of its base form."),
    ] = False,
    header: Annotated[bool | None, HEADER] = None,
    skip_bad: Annotated[bool, SKIP_BAD] = False,
    name: str | None = None,
) -> Vectors:
    """Name a file of vectors of words, or of senses, and how it is read.

    `file` is a path, or ``glove`` once fetched, with or without ``vectors:`` in front; or ``senses:FILE``. It can
    also be vectors in memory, with the title `name` in results: a dict by word or sentence, or an array of shape
    (rows, dimensions) for the rows of a table. `describe(release)` of the result reads the file and returns its
    properties, and the words of the release's tests that it has (default: ``association``; None: no release).
    `print` shows them as a table.
    """
    from senseprobe.api.sources import Vectors
    from senseprobe.evaluate.models.encodings import EncodingOptions
    from senseprobe.evaluate.models.registry import check_prefix, opens
    from senseprobe.evaluate.models.vector_files import PREFIX

    reading = EncodingOptions(lower=lower, unit=unit, exact_lemma=exact_lemma or None, header=header, skip_bad=skip_bad)
    if not isinstance(file, str | Path):
        return Vectors(name or "vectors in memory", model=file, encoding=reading)
    if name is not None:
        raise SenseprobeError("name is only for vectors in memory: leave it out if you name a file")
    check_prefix(str(file))
    return Vectors(str(file) if opens(str(file)) else f"{PREFIX}{file}", encoding=reading)


def vectors_of(given: str | Path | Vectors, prefix: str, **options: Any) -> Vectors:  # noqa: ANN401
    """Return the object of a file of vectors whose name may lack its prefix."""
    from senseprobe.api.sources import Vectors

    if isinstance(given, Vectors):
        return given
    return vectors(f"{prefix}{str(given).removeprefix(prefix)}", **options)


def open_vectors(source: ModelSource, notify: Callable[[str], None]) -> VectorModel:
    """Return the vectors of a source; `notify` hears what is odd about them."""
    from senseprobe.api.author import prepare_wordnet

    if source.reads_wordnet:
        prepare_wordnet()
    model = cast("VectorModel", source.open("vectors"))
    for remark in getattr(model, "remarks", ()):
        notify(f"{model.name}: {remark}")
    return model


# --- kinds of sources -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceKind:
    """A function that makes an object of what `score` is given, such as `senseprobe.model`.

    - `make(given, **options)`: returns the object, a `ModelSource`; its declared options are those of `score`.
    - `claims(given)`: whether what `score` is given is of this kind; where none claims it, it is a model.
    - `title`, `plural`: what messages call one of what it makes, and several.
    """

    id: str
    make: Callable[..., Any]
    title: str
    plural: str
    claims: Callable[[Any], bool]
    origin: str = ""


def _are_vectors(given: object) -> bool:
    """Return whether these are vectors in memory, or the name of a file of them."""
    from senseprobe.evaluate.models.registry import opens

    return opens(str(given)) if isinstance(given, str | Path) else not hasattr(given, "config")


def _admit(kind: SourceKind) -> SourceKind:
    """Return the kind of a plug-in. Raise Unfit where it cannot make an object, or say of what."""
    if not callable(kind.make) or not callable(kind.claims):
        raise Unfit("its `make` or `claims` is not a function")
    return kind


MODEL = SourceKind(
    id="model",
    make=model,
    title="a model that is loaded here",
    plural="models that are loaded here",
    claims=lambda given: False,
)
VECTORS = SourceKind(
    id="vectors", make=vectors, title="a file of vectors", plural="files of vectors", claims=_are_vectors
)
SOURCES = Registry("senseprobe.sources", SourceKind, "kind of source", (MODEL, VECTORS), _admit)
"""What makes an object of what `score` is given, by id: of a model, of vectors, then of rooms and plug-ins."""


def source_of(given: str | Path | Loaded | ModelSource, **options: Any) -> ModelSource:  # noqa: ANN401
    """Return the object of what `score` was given: itself, or of a name, or of what is in memory, with `options`.

    Raises ModelError where an option is not of what it is, unless it has its default.
    """
    from senseprobe.evaluate.models import ModelSource, source_class

    if isinstance(given, ModelSource):
        if options:
            raise SenseprobeError(f"{given} already has its options: leave out {', '.join(options)}")
        kind_of_name = ModelSource if given.model is not None else source_class(given.name)
        return given if isinstance(given, kind_of_name) else kind_of_name(given.name)
    kinds = [*SOURCES.values()]
    kind = next((kind for kind in kinds if kind.claims(given)), MODEL)
    declared = {option.name: (other, option) for other in kinds for option in parameters_of(other.make)}
    usual = {key: option.default for key, (_, option) in declared.items()}
    chosen = {key: value for key, value in options.items() if value != usual.get(key)}
    if unfit := [key for key in chosen if key in declared and declared[key][0] is not kind]:
        plurals = dict.fromkeys(declared[key][0].plural for key in unfit)
        which = "an option" if len(unfit) == 1 else "which are options"
        leave = f"leave out {', '.join(declared[key][1].flag for key in unfit)}, {which} of {' and of '.join(plurals)}"
        name = str(given) if isinstance(given, str | Path) else "the model in memory"
        raise ModelError(f"{name or 'the model in memory'} is {kind.title}: {leave}")
    return cast("ModelSource", kind.make(given, **chosen))


# --- keywords of 0.2 ------------------------------------------------------------------------------------------------

_SPELLINGS = {
    keyword: f"{make.__name__}(…, {keyword}=…)"
    for make in (vectors, model)
    for keyword, parameter in signature(make).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
} | {
    "name": "model(…, name=…) or vectors(…, name=…)",
    "serving": "server(…)",
    "stored": "store=…",
    "factors": "draft(…, factors=…)",
    "exact": 'estimands=["weat-exact"]',
}
OLD_KEYWORDS = tuple(keyword for keyword in _SPELLINGS if keyword not in ("stored", "factors", "exact"))
"""Keywords of 0.2 that are now those of `model`, `vectors` and `server`."""


def source_of_keywords(given: Any, *, serving: Any = None, **options: Any) -> ModelSource:  # noqa: ANN401
    """Return what `score` was given as an object, of the keywords that `score` had in 0.2."""
    return source_of(given, **options, **({} if serving is None else serving.keywords))


def _join_spellings(keywords: Iterable[str]) -> Iterator[str]:
    """Yield how old keywords are written now, those of one object together: ``model(…, device=…, dtype=…)``."""
    objects: dict[str, list[str]] = {}
    for spelling in dict.fromkeys(_SPELLINGS[keyword] for keyword in keywords):
        name, called, argument = spelling.partition("(…, ")
        objects.setdefault(spelling if " or " in spelling else f"{name}{called}", []).append(argument.removesuffix(")"))
    for name, arguments in objects.items():
        yield f"{name}{', '.join(arguments)})" if name.endswith("(…, ") else name


def with_old_keywords(
    **makers: tuple[Callable[..., Any], Iterable[str]],
) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Let a function take keywords of 0.2 for one minor version, with one warning that names the new spellings.

    `makers` has for a parameter what makes its value of what was given and of old keywords, and which these are. Other
    names that the function has not are refused by Python itself, as a TypeError.
    """

    def decorate(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        declared = signature(function)

        @wraps(function)
        def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
            old = {name: kwargs.pop(name) for _, names in makers.values() for name in names if name in kwargs}
            if not old:
                return function(*args, **kwargs)
            spellings = ", ".join(_join_spellings(old))
            names = ", ".join(f"{name}=" for name in old)
            warn(
                f"{function.__name__}({names}) of senseprobe 0.2 will be removed in 0.4: write {spellings}",
                DeprecationWarning,
            )
            given = declared.bind_partial(*args, **kwargs)
            given.apply_defaults()
            for parameter, (make, keywords) in makers.items():
                if of_maker := {name: old[name] for name in keywords if name in old}:
                    given.arguments[parameter] = make(given.arguments.get(parameter), **of_maker)
            return function(*given.args, **given.kwargs)

        return called

    return decorate


def require_libraries(names: Sequence[str], extra: str) -> None:
    """Raise SenseprobeError where a library of the `extra` is not installed."""
    if missing := [name for name in names if find_spec(name) is None]:
        raise SenseprobeError(f"{', '.join(missing)}: not installed; run pip install 'senseprobe[{extra}]'")
