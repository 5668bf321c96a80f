"""Answer the windows of a plan: what a shard does, and each worker of an engine."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version as installed_version
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from senseprobe import parquet_files
from senseprobe.errors import ResultError
from senseprobe.evaluate.cache import digest_unit
from senseprobe.evaluate.models.registry import answers_of
from senseprobe.evaluate.models.source import ModelSource
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.scorers.base import NO_REASON, WINDOW, Scorer
from senseprobe.evaluate.units import Unit
from senseprobe.evaluate.windows import parts
from senseprobe.evaluate.windows.parts import Maker, Part, describe_mixture, read_part, write_part
from senseprobe.evaluate.windows.places import Place, is_there, names_in, place_of, read_place, write_place
from senseprobe.evaluate.windows.plan_form import PLAN, OpenPlan, Window, part_file, read_plan, units_file
from senseprobe.evaluate.windows.unit_columns import UNIT
from senseprobe.tables import UnreadableError, read_json

if TYPE_CHECKING:
    from senseprobe.evaluate.models import Model

MAX_WINDOW_BYTES = 2**30
"""Bytes of a file of a window: texts of 65,536 units have some megabytes."""

_LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")
_OPTIONS = ("name", "revision", "device", "dtype", "batch_tokens", "allow_pickle", "labels")


def missing_windows(folder: Place) -> tuple[int, ...]:
    """Return the numbers of the windows of a folder of parts that have no part. Raises ResultError without a plan."""
    there = names_in(folder)
    return tuple(number for number in range(len(read_plan(folder).windows)) if part_file(number) not in there)


def worker_argument(folder: Place, source: ModelSource) -> str:
    """Return the argument of `open_worker` for a folder of parts and the source of its model."""
    return json.dumps({"parts": str(folder), "model": {name: getattr(source, name) for name in _OPTIONS}})


@contextmanager
def open_worker(argument: str, device: str | None) -> Iterator[Callable[[int], int]]:
    """Provide a function that answers a window and returns how many units it has, 0 where a part was there already.

    `argument` is that of `worker_argument`; `device` replaces the one that it names. The model is loaded for the first
    window. Raises ResultError where the plan cannot be read, and as `models.load` does.
    """
    given = read_json(argument)
    source = ModelSource(**given["model"])
    with opened_windows(place_of(given["parts"]), replace(source, device=device) if device else source) as worker:
        yield worker.answer


@contextmanager
def opened_windows(folder: Place, source: ModelSource) -> "Iterator[WindowWorker]":
    """Provide what answers the windows of a folder of parts, and release its model in the end."""
    worker = WindowWorker(read_plan(folder), source)
    try:
        yield worker
    finally:
        worker.close()


class WindowWorker:
    """Answers windows of a plan with the model of a source, one ability at a time.

    Raises ResultError where the plan is of another senseprobe or scorer, or of other options of the model.
    """

    def __init__(self, plan: OpenPlan, source: ModelSource) -> None:
        check_plan(plan, source)
        self._plan, self._source = plan, source
        self._model: tuple[str, Model] | None = None
        self._is_checked = False

    def close(self) -> None:
        """Release the model."""
        if self._model is not None:
            self._source.close(self._model[1])
            self._model = None

    def answer(self, number: int, progress: Callable[[int], None] | None = None) -> int:
        """Answer a window, write its part, and return how many units it has; 0 where its part is there already.

        `progress` hears how many more units are done. Raises ResultError where the window is damaged, where a part that
        is there was made otherwise, and where the part cannot be written.
        """
        path = self._plan.folder / part_file(number)
        if is_there(path):
            return 0
        job, (_, window) = self._plan.job_of(number), self._plan.windows[number]
        units = read_units(self._plan, number, window)
        scorers = [get(name, (job.kind,)) for name in job.scorers]
        model = self._model_of(job.ability)
        maker = describe_maker(model, scorers[0])
        if not self._is_checked:
            self._check_others(number, maker)
        answers: dict[Unit, tuple[float, ...]] = {}
        for answered in answers_of(model, scorers[0].score(model, units, ())):
            answers.update(answered)
            if progress:
                progress(len(answered))
        numbers = np.array([answers[unit] for unit in units], dtype=np.float64).reshape(len(units), len(job.numbers))
        reasons = reasons_of(scorers, model, units, numbers)
        part = Part(self._plan.digest, number, maker, [digest_unit(unit) for unit in units], numbers, reasons)
        try:
            write_place(path, write_part(part, job.numbers))
        except OSError as error:
            raise ResultError(
                f"cannot write {path}: {error.strerror or error}; finished windows are kept, and the same command "
                "continues there"
            ) from error
        return len(units)

    def _model_of(self, ability: str) -> "Model":
        if self._model is None or self._model[0] != ability:
            self.close()
            self._model = ability, self._source.open(ability)
        return self._model[1]

    def _check_others(self, number: int, maker: Maker) -> None:
        """Raise ResultError where a part of the same job was made otherwise: better now than when they are joined."""
        job = self._plan.windows[number][0]
        for other in self._plan.numbers_of(job):
            path = self._plan.folder / part_file(other)
            if other == number or not is_there(path):
                continue
            there = read_part(read_place(path, parts.MAX_BYTES), str(path))
            if there.plan == self._plan.digest and (
                text := describe_mixture((str(path), there.maker), ("a new part", maker))
            ):
                raise ResultError(text)
            break
        self._is_checked = True


def check_plan(plan: OpenPlan, source: ModelSource | None = None) -> None:
    """Raise ResultError where this senseprobe, or a source with other options, would not answer what was planned."""
    here, planned = installed_version("senseprobe"), plan.plan.senseprobe
    if here != planned:
        raise ResultError(f"{plan.folder} was planned by senseprobe {planned}, and this is {here}: use that version")
    for job in plan.plan.jobs:
        for name in job.scorers:
            scorer = get(name, (job.kind,))
            shape = (scorer.basis or scorer.id, scorer.version, (scorer.parts or scorer.columns), scorer.ability)
            if shape != (job.scorer, job.version, job.numbers, job.ability):
                raise ResultError(f"{plan.folder} was planned with another definition of the scorer {name}: plan again")
    if any(window.units > WINDOW for window in plan.plan.windows):
        raise ResultError(f"{plan.folder} has windows of more than {WINDOW:,} units: plan again")
    for name in ("revision", "dtype", "labels", "batch_tokens") if source is not None else ():
        mine, its = getattr(source, name), getattr(plan.plan.model, name)
        if mine != its:
            option = f"--{name.replace('_', '-')}"
            raise ResultError(f"{plan.folder} was planned with {option} {its or 'auto'}, and not {mine or 'auto'}")


def read_units(plan: OpenPlan, number: int, window: Window) -> list[Unit]:
    """Return the units of a window, in order. ResultError where its file is not the one that was planned."""
    path = plan.folder / PLAN / units_file(number)
    again = f"delete {plan.folder} and plan again"
    try:
        data = read_place(path, MAX_WINDOW_BYTES)
        if hashlib.sha256(data).hexdigest() != window.units_sha256:
            raise ResultError(f"{path} is damaged: its bytes do not have the hash that the plan says; {again}")
        with parquet_files.bounded_parquet(data) as file:
            if file.schema_arrow.remove_metadata() != UNIT or file.metadata.num_rows != window.units:
                raise ResultError(f"{path} is not the file of a window: {again}")
            batches = [*parquet_files.read_batches(file, None, 2**16, MAX_WINDOW_BYTES)]
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror or error}; {again}") from None
    except (ValueError, MemoryError, UnreadableError, pa.ArrowException) as error:
        raise ResultError(f"{path} cannot be read: {str(error).partition(chr(10))[0]}; {again}") from None
    columns = pa.Table.from_batches(batches, UNIT).to_pydict()
    return [Unit(*values) for values in zip(*columns.values(), strict=True)]


def reasons_of(scorers: Sequence[Scorer], model: "Model", units: Sequence[Unit], numbers: Any) -> dict[int, str]:  # noqa: ANN401
    """Return why units have no number by one of scorers that share their computation, by position."""
    answers = [*zip(units, map(tuple, numbers.tolist()), strict=True)]
    lacking = {
        row
        for scorer in scorers
        for row, (_, finished) in enumerate(scorer.finish(answers))
        if not np.isfinite(finished).all()
    }
    rows = sorted(lacking)
    reasons = scorers[0].reasons(model, [units[row] for row in rows])
    return {row: reason for row, reason in zip(rows, reasons, strict=True) if reason != NO_REASON}


def describe_maker(model: "Model", scorer: Scorer) -> Maker:
    """Return who makes numbers in this process with a model."""
    import torch

    device = str(getattr(getattr(model, "device", "cpu"), "type", getattr(model, "device", "cpu")))
    on_cpu = device == "cpu"
    libraries = {name: installed_version(name) for name in _LIBRARIES}
    return Maker(
        model={name: parts.unknown_text(value) for name, value in scorer.identity(model).items()},
        scorer=scorer.basis or scorer.id,
        version=scorer.version,
        senseprobe=installed_version("senseprobe"),
        libraries=libraries,
        threads=torch.get_num_threads() if on_cpu else 0,
        device=torch.cuda.get_device_name(getattr(model, "device", None)) if device == "cuda" else device,
        processor=torch.backends.cpu.get_cpu_capability() if on_cpu else "",
    )
