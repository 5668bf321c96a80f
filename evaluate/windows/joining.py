"""Make results of the parts of a scoring: what one process would have written, without a model's weights.

The scoring itself runs as ever (scoring.py), with the answers of parts in place of a store's, and with what else it
needs of a model, its tokenizer and its identity, in place of the model.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

from senseprobe.errors import ModelError, ResultError
from senseprobe.evaluate.cache import Store, digest_unit
from senseprobe.evaluate.models.alteration import DIGEST
from senseprobe.evaluate.models.registry import FAMILIES, class_of
from senseprobe.evaluate.models.source import ModelSource
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.scoring import RunOptions
from senseprobe.evaluate.units import Unit
from senseprobe.evaluate.windows.parts import MAX_BYTES, Maker, Part, check_part, describe_mixture, read_part
from senseprobe.evaluate.windows.places import Place, names_in, read_place
from senseprobe.evaluate.windows.plan_form import OpenPlan, part_file, read_plan
from senseprobe.evaluate.windows.worker import check_plan
from senseprobe.messages import counted, listed

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model
    from senseprobe.evaluate.models.base import TextTokens

_NAMED = 20  # missing windows that a message names
_RESULT_LIBRARIES = ("torch", "transformers")


@dataclass(frozen=True)
class JoinedParts:
    """All parts of a plan, each of which was read once, and found whole and alike.

    - `makers`: by ability of models, who made them; `reasons`: of units without a number, once they were looked up.
    """

    plan: OpenPlan
    makers: Mapping[str, Maker]

    def answers(self, job: int) -> Iterator[Part]:
        """Yield the parts of a job, in the order of their windows."""
        for number in self.plan.numbers_of(job):
            yield _read(self.plan, number)

    @cached_property
    def libraries(self) -> dict[str, str]:
        """The versions of the libraries that a result names."""
        made = next(iter(self.makers.values())).libraries
        return {name: made[name] for name in _RESULT_LIBRARIES if name in made}


def join_parts(folder: Place) -> JoinedParts:
    """Return the parts of a folder, all of which are there. Raises ResultError where they cannot be joined.

    That is where some are missing, doubled, damaged or of another plan, and where they were not made alike: with other
    weights, another number format, scorer, library, number of threads or kind of device.
    """
    plan = read_plan(folder)
    check_plan(plan)
    _check_names(plan)
    first: dict[str, tuple[str, Maker]] = {}
    for number, (job_number, _) in enumerate(plan.windows):
        job, name, part = plan.plan.jobs[job_number], str(folder / part_file(number)), _read(plan, number)
        made, planned = f"{part.maker.scorer}@{part.maker.version}", f"{job.scorer}@{job.version}"
        if made != planned:
            raise ResultError(f"{name} was made by the scorer {made}, and {planned} was planned: delete it")
        scorer = {"scorer": job.scorer, "version": job.version}
        other, maker = first.setdefault(job.ability, (name, part.maker))
        if text := describe_mixture((other, maker.model_copy(update=scorer)), (name, part.maker)):
            raise ResultError(text)
    return JoinedParts(plan, {ability: maker for ability, (_, maker) in first.items()})


def _check_names(plan: OpenPlan) -> None:
    """Raise ResultError where parts are missing, or where there are more than windows."""
    there = names_in(plan.folder)
    expected = [part_file(number) for number in range(len(plan.windows))]
    if missing := [number for number, name in enumerate(expected) if name not in there]:
        named = listed((f"window {number}" for number in missing[:_NAMED]), len(missing))
        raise ResultError(
            f"of {counted(len(expected), 'window')}, {len(missing)} have no part in {plan.folder}: {named}; start "
            "their shards again"
        )
    for name in sorted(there - {*expected}):
        if name.endswith(".parquet") and not name.startswith("."):
            path = plan.folder / name
            part = read_part(_bytes_of(path), str(path))
            if part.plan == plan.digest and part.window < len(expected):
                raise ResultError(
                    f"{path} has the answers to window {part.window}, as {part_file(part.window)} has: delete "
                    "one of them"
                )
            raise ResultError(f"{path} is not a part of this plan: move it elsewhere")


def _read(plan: OpenPlan, number: int) -> Part:
    """Return the part of a window. ResultError where it is not that part."""
    path = plan.folder / part_file(number)
    part, name = read_part(_bytes_of(path), str(path)), part_file(number)
    if part.plan != plan.digest:
        raise ResultError(f"{path} is the part of another plan: delete it and start its shard again")
    if part.window != number:
        other = part_file(part.window)
        raise ResultError(
            f"{path} has the answers to window {part.window}, of which {other} is the part: delete {name} and "
            "start its shard again"
        )
    check_part(part, plan.job_of(number), plan.windows[number][1].units, str(path))
    return part


def _bytes_of(path: Place) -> bytes:
    try:
        return read_place(path, MAX_BYTES)
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror or error}") from None


# --- in place of a model and a store ----------------------------------------------------------------------------------


class JoinedModel:
    """What a scoring needs of a model whose answers there are already.

    - `tokens`, `start`: of its tokenizer, as models have them; `stored_reasons`: why units have no number.
    """

    def __init__(
        self, name: str, ability: str, identity: Mapping[str, str], tokens: "TextTokens", start: tuple[int, ...]
    ) -> None:
        self.name, self.ability, self.identity = name, ability, {**identity}
        self.tokens, self.start = tokens, start
        self.stored_reasons: dict[Unit, str] = {}


class PartStore:
    """The answers of parts, in place of a store: to the units of one job of the plan, all of them."""

    def __init__(self, parts: JoinedParts, scorer: Scorer, model: Any) -> None:  # noqa: ANN401
        self._parts, self._scorer, self._model = parts, scorer, model

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def load(self, units: Iterable[Unit]) -> dict[Unit, tuple[float, ...]]:
        """Return the numbers of units. ResultError where no job of the plan has these units."""
        by_digest = {digest_unit(unit): unit for unit in units}
        for number, job in enumerate(self._parts.plan.plan.jobs):
            if self._scorer.id not in job.scorers or job.units != len(by_digest):
                continue
            answers = self._answers_of(number, by_digest)
            if len(answers) == len(by_digest):
                return answers
        raise ResultError(
            f"the parts in {self._parts.plan.folder} do not have the rows of this run: they were planned without them"
        )

    def add(self, answers: object) -> None:
        """Nothing is left to be answered."""

    def _answers_of(self, job: int, by_digest: Mapping[bytes, Unit]) -> dict[Unit, tuple[float, ...]]:
        answers: dict[Unit, tuple[float, ...]] = {}
        for part in self._parts.answers(job):
            for row, (digest, numbers) in enumerate(zip(part.digests, part.numbers.tolist(), strict=True)):
                if (unit := by_digest.get(digest)) is None:
                    return {}
                answers[unit] = tuple(numbers)
                if reason := part.reasons.get(row):
                    self._model.stored_reasons[unit] = reason
        return answers


@dataclass(frozen=True, slots=True, repr=False)
class JoinedSource(ModelSource):
    """A source whose model was asked already: what is opened is what its parts say of it, and its tokenizer."""

    parts: JoinedParts | None = None

    @classmethod
    def of(cls, source: ModelSource, parts: JoinedParts) -> "JoinedSource":
        """Return the source of a model as one of its parts. ResultError where they are not of a model of that name."""
        planned = parts.plan.plan.model
        if source.name != planned.name:
            raise ResultError(f"{parts.plan.folder} has the answers of {planned.name}, and not of {source.name}")
        return cls(**{field.name: getattr(source, field.name) for field in fields(ModelSource)}, parts=parts)

    @property
    def abilities(self) -> tuple[str, ...]:
        """What scorers may ask of it, as the plan says."""
        return self._parts.plan.plan.abilities

    @property
    def _parts(self) -> JoinedParts:
        return cast("JoinedParts", self.parts)

    def open(self, ability: str) -> "Model":
        """Return what parts say of a model, with its tokenizer; another number format than theirs is loaded.

        So are models of plug-ins, and those that were altered: what is marked in their rows is read from their weights.
        Raises ModelError also where the tokenizer, or the model, is not that of the parts.
        """
        if self.dtype != self._parts.plan.plan.model.dtype:
            return ModelSource.open(self, ability)
        identity = self._parts.makers[ability].model
        family = FAMILIES.get(ability)
        if "family" in identity or DIGEST in identity or family is None or not family.path:
            model: Any = ModelSource.open(self, ability)
            self._check(model.identity, identity)
            model.stored_reasons = {}
            return cast("Model", model)
        from senseprobe.evaluate.models.base import TextTokens, hash_tokenizer, start_of
        from senseprobe.evaluate.models.checkpoint import open_tokenizer

        pinned = replace(self, revision=identity.get("revision") or self.revision)
        outline, tokenizer = open_tokenizer(class_of(ability).auto_class, pinned.spec)
        self._check({**identity, "tokenizer": hash_tokenizer(outline, tokenizer)}, identity)
        start = start_of(tokenizer)[1] if hasattr(class_of(ability), "start") else ()
        return cast("Model", JoinedModel(self.name, ability, identity, TextTokens(tokenizer), start))

    def _check(self, here: Mapping[str, str], made: Mapping[str, str]) -> None:
        for part in ("weights", "config", "tokenizer"):
            if here[part] != made[part]:
                raise ModelError(
                    f"the {part} of {self.name} is not that of its parts ({here[part][:12]}, and not "
                    f"{made[part][:12]}): join them where the model is as it was"
                )


@dataclass(frozen=True, slots=True)
class JoinOptions(RunOptions):
    """Options of a run whose answers are in parts."""

    parts: JoinedParts | None = None

    def store(self, model: "Model", scorer: Scorer) -> AbstractContextManager[Store | None]:
        """Open the answers of parts; none of a model that is loaded in another number format."""
        if self.parts is None or not hasattr(model, "stored_reasons"):
            return nullcontext()
        return cast("AbstractContextManager[Store | None]", PartStore(self.parts, scorer, model))
