"""Where a model comes from, with options of loading, and what differs by that: a model that is loaded here, by default.

The source of models that are not loaded here, such as those behind a server, is a class of its own, which the family
of these models names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast

from senseprobe.document import Section
from senseprobe.errors import ModelError, ResultError
from senseprobe.evaluate.models import packages
from senseprobe.evaluate.models.encodings import DEFAULT_ENCODING, EncodingOptions
from senseprobe.evaluate.models.packages import find_fetched
from senseprobe.evaluate.models.registry import (
    FAMILIES,
    Model,
    ability_in_memory,
    ability_of,
    claiming,
    class_of,
    files_of,
    load,
    opens,
    options_of_encoding,
    options_of_labels,
)
from senseprobe.evaluate.models.vector_files import PREFIX, VectorFile, path_of
from senseprobe.messages import printable

if TYPE_CHECKING:
    from senseprobe.evaluate.scoring_job import ScoringJob

LIBRARIES = ("torch", "transformers")
"""What models of texts are run by; files of vectors, and models that are not loaded here, need none."""

_UNPRINTED = ("name", "model", "tokenizer", "notify")  # of a source, which are no options


class Estimate(Protocol):
    """What a run would cost, as reports and JSON have it."""

    @property
    def requests(self) -> Mapping[str, int]:
        """How many requests there are, by scorer."""

    @property
    def asked(self) -> int:
        """How many of them have no stored answer, and are asked."""

    def section(self) -> Section:
        """Return the table that people read."""

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON has it."""


@dataclass(frozen=True, slots=True, repr=False)
class ModelSource:
    """The place that a model is loaded from, and options of loading.

    - `name`: a folder, a model that was fetched (`packages`), or a name on the Hub; the first of these that there is.
    - `revision`: a branch, tag or commit of the Hub.
    - `labels`: the classes of a model of inference that has no names for them.
    - `model` and `tokenizer`: of transformers, in memory; they are used as they are, and `name` is only a name. Or
      `model` are vectors by word, and there is no tokenizer.
    - `encoding`: how vectors are made, where that is not the model's own way.
    - `device` and `batch_tokens` change the speed, and numbers by less than 1e-5; `dtype` changes the numbers.
    """

    name: str
    revision: str | None = None
    device: str = "auto"
    dtype: str = "float32"
    batch_tokens: int | None = None
    allow_pickle: bool = False
    labels: str | None = None
    model: Any = None
    tokenizer: Any = None
    encoding: EncodingOptions = DEFAULT_ENCODING

    is_local: ClassVar[bool] = True
    """Whether the model is loaded in this process, in the number format that its source says."""

    def __repr__(self) -> str:
        """Return what it is, its name, and the options that are not the usual ones, in a line."""
        chosen = ", ".join(_chosen_options(self))
        return f"<{type(self).__name__} {printable(str(self))}{': ' if chosen else ''}{chosen}>"

    def __str__(self) -> str:
        """Return its name."""
        return self.name

    @property
    def abilities(self) -> tuple[str, ...]:
        """What scorers may ask of it, the first of which is its own. Raises ModelError where that cannot be told."""
        return abilities_of_source(self)

    @property
    def reads_texts(self) -> bool:
        """Whether its model reads texts, and is not a table of vectors."""
        return not opens(self.name) and (self.model is None or self.tokenizer is not None)

    @property
    def reads_wordnet(self) -> bool:
        """Whether its words are looked up in WordNet."""
        return bool((files := files_of(self.name)) and files.reads_wordnet)

    @property
    def libraries(self) -> tuple[str, ...]:
        """The libraries that run its model here."""
        return LIBRARIES if self.reads_texts and self.is_local else ()

    @property
    def spec(self) -> str:
        """The model as `load` takes it: a folder, ``NAME`` or ``NAME@REVISION``.

        Raises ModelError where a folder has a revision, where a model that can be fetched was not, or where vectors
        were, which have a prefix.
        """
        is_folder = Path(self.name).expanduser().is_dir()
        fetched = None if is_folder else find_fetched(self.name)
        if self.revision and (is_folder or fetched or opens(self.name)):
            what = "a file" if opens(self.name) else "a folder"
            raise ModelError(f"{self.name} is {what}, and revisions exist only on the Hub: leave --revision out")
        if fetched and not (fetched / "config.json").is_file():
            raise ModelError(f"{self.name} is a file of vectors: write {PREFIX}{self.name}")
        return str(fetched or (f"{self.name}@{self.revision}" if self.revision else self.name))

    def open(self, ability: str) -> Model:
        """Load the model for an ability, or wrap the one in memory.

        It is called by its name without a revision: that is in its identity, as a commit.
        """
        if self.model is not None:
            return wrap(self, ability)
        model = load(
            self.spec,
            ability=ability,
            device=self.device,
            dtype=self.dtype,
            allow_pickle=self.allow_pickle,
            batch_tokens=self.batch_tokens,
            labels=self.labels,
            encoding=self.encoding,
        )
        model.name = self.name
        return model

    def close(self, model: Model) -> None:
        """Release what a model that was opened holds: nothing, of a model that is loaded here."""

    # --- a run --------------------------------------------------------------------------------------------------------

    def prepare(self, notify: Callable[[str], None], *, stored: bool, levels: Sequence[str] = ()) -> Self:
        """Return the source as a run uses it, before its release is resolved; raise where it cannot be used.

        `notify` hears of waiting, `stored` is whether answers are kept, `levels` are those of requested vectors.
        """
        return self

    def choose_scorers(
        self, job: "ScoringJob", names: Sequence[str], notify: Callable[[str], None], *, control: bool
    ) -> Sequence[str]:
        """Return the scorers of a run, of those that are named; say what leaves this machine, if anything does."""
        return names

    def check_consent(self, job: "ScoringJob") -> None:
        """Raise SenseprobeError where rows of a job may not be given to its model."""

    def check_estimable(self) -> None:
        """Raise ModelError where a run costs nothing that can be estimated."""
        raise ModelError(f"{self.name} is not behind a server, so there is nothing to estimate")

    def estimate(self, job: "ScoringJob", names: Sequence[str], control: "Callable[[], ScoringJob] | None") -> Estimate:
        """Return what scoring a job would ask; `control` makes the job of what inference is held against."""
        raise NotImplementedError  # `check_estimable` refuses first

    # --- a replay -----------------------------------------------------------------------------------------------------

    @classmethod
    def of_result(
        cls,
        identity: Mapping[str, str],
        moved: "ModelSource | None",
        *,
        device: str,
        batch_tokens: int | None,
        allow_pickle: bool,
    ) -> "ModelSource":
        """Return where the model of a result is, to be loaded as it was; `moved` says where it is now, if it was moved.

        Raises ResultError where only the result says where it is, and it is not there.
        """
        revision = identity.get("revision")
        spec, dtype, labels = identity["name"], identity["dtype"], identity.get("labels")
        of_folder = revision is None and "family" not in identity  # a plug-in's models are called as it likes
        path = path_of(spec) if opens(spec) else Path(spec)
        if moved is None and of_folder and not path.exists() and spec not in packages.packaged_models():
            raise ResultError(
                f"the model of the result, {printable(spec)}, is not on this machine: give its place with --model"
            )
        encoding = EncodingOptions.of_text(identity.get("encoding", ""))
        if moved is not None:
            return replace(moved, dtype=dtype, labels=labels, encoding=encoding)
        return cls(spec, revision, device, dtype, batch_tokens, allow_pickle, labels, encoding=encoding)

    @classmethod
    def describe_retired(cls, identity: Mapping[str, str], scorer: str) -> str:
        """Return that what a result was computed by is no longer computed; empty where it can be replayed."""
        return ""

    def describe_retired_scorer(self, model: Any, scorer: str) -> str:  # noqa: ANN401
        """Return that a model could be scored only by what is no longer computed; empty where it can be."""
        return ""

    def compare_identities(self, then: Mapping[str, str], now: Mapping[str, str], model: Model) -> tuple[str, ...]:
        """Return in which parts of its identity a model is not that of a result."""
        parts = ("weights", "config", "tokenizer", "debias", "template", "dtype", "family", "encoding")
        lengths = {"encoding": None}
        old, new = ({part: str(of.get(part, "ours"))[: lengths.get(part, 12)] for part in parts} for of in (then, now))
        differing = [part for part in parts if then.get(part) != now.get(part)]
        return tuple(f"model, {part}: {old[part]} -> {new[part]}" for part in differing)


def source_class(name: str) -> type[ModelSource]:
    """Return the class of the source of a model that is named so: that of the family whose prefix the name has.

    >>> source_class("google-bert/bert-base-uncased").__name__
    'ModelSource'
    """
    classes = (family.source for family in FAMILIES.ours.values() if family.source and family.names(name))
    return cast("type[ModelSource]", next(classes, ModelSource))


def _chosen_options(options: Any) -> Iterator[str]:  # noqa: ANN401 - a source, or options of one
    """Yield the options that are not the usual ones, with their values."""
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name in _UNPRINTED:
            continue
        if is_dataclass(value):
            yield from _chosen_options(value)
        elif value != field.default:
            yield f"{field.name} {value!r}"


def abilities_of_source(source: ModelSource) -> tuple[str, ...]:
    """Return the abilities of the model of a source, loaded or in memory, the first of which is the default.

    A model has those of families that fit it, too, unless a plug-in claims it. Raises ModelError.
    """
    if source.model is not None:
        ability = ability_in_memory(source) if source.reads_texts else VectorFile.ability
    else:
        ability = ability_of(source.spec)
    built = [family for family in FAMILIES.values() if family.fits and family.base == ability]
    if built and source.model is None and claiming(source.spec, FAMILIES.values()):
        return (ability,)
    return (ability, *(family.ability for family in built if family.fits and family.fits(source)))


def wrap(source: ModelSource, ability: str) -> Model:
    """Wrap the model of transformers that a source has in memory, on its own device; it stays as it is."""
    label_option = options_of_labels(source.name, ability, source.labels)
    if not source.reads_texts:
        return cast("Model", (files_of(source.name) or VectorFile).wrap(source.name, source.model, source.encoding))
    from senseprobe.evaluate.models.base import dtype_of
    from senseprobe.evaluate.models.checkpoint import adopt

    model, tokenizer = adopt(source.name, source.model, source.tokenizer)
    model.to(dtype_of(source.dtype))
    more = options_of_encoding(ability, source.encoding)
    wrapped = class_of(ability).wrap(
        source.name, model, tokenizer, model.device, source.batch_tokens, **label_option, **more
    )
    wrapped.identity.update(label_option)
    return cast("Model", wrapped)
