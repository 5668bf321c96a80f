"""The plan of a scoring in parts, as JSON: what is scored, and the windows of its distinct units."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, StringConstraints, ValidationError

from senseprobe.errors import ResultError
from senseprobe.evaluate.windows.places import Place, is_there, read_place
from senseprobe.release.manifest import Sha256, first_error
from senseprobe.tables import UnreadableError, read_json

PLAN = "plan"
"""The folder of a plan, in the folder of its parts."""

NAME = "plan.json"
MAX_BYTES = 2**26  # of a plan: that of 10^9 units has 3 MB
MAX_VALUES = 4_000_000
MAX_WINDOWS = 1_000_000

Text = Annotated[str, StringConstraints(max_length=4096)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class _Form(BaseModel):
    """A form of which nothing is trusted: its author may mean harm."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Window(_Form):
    """How many `units` a window has, in how many `rows` they occur, and the hashes of the two files."""

    units: PositiveInt
    rows: PositiveInt
    units_sha256: Sha256
    rows_sha256: Sha256


class PlannedConfig(_Form):
    """A config with so many `rows`, in which the texts of `roles` are scored."""

    name: Name
    rows: NonNegativeInt
    roles: tuple[Name, ...]


class PlannedRelease(_Form):
    """A release: how it was called (`spec`), its name and content hash, and the config that was requested."""

    spec: Text
    name: Text
    content: Sha256
    config: Name | None


class PlannedModel(_Form):
    """A model: its name, and what of the options of loading changes its numbers."""

    name: Text
    revision: Text | None
    dtype: Name
    labels: Text | None
    batch_tokens: PositiveInt | None


class Job(_Form):
    """Rows of a release that scorers with one computation take, and the windows of their distinct units.

    - `scorers`: their ids; `scorer` is what they share, and `version` of which definition; `numbers`: its names.
    - `roles`: all roles of `configs`, in order: the text of role r in row n has the place n * len(roles) + r.
    """

    ability: Name
    scorers: Annotated[tuple[Name, ...], Field(min_length=1)]
    kind: Name
    scorer: Name
    version: PositiveInt
    numbers: Annotated[tuple[Name, ...], Field(min_length=1)]
    release: PlannedRelease
    seed: NonNegativeInt
    limit: PositiveInt | None
    roles: Annotated[tuple[Name, ...], Field(min_length=1)]
    configs: tuple[PlannedConfig, ...]
    windows: tuple[Window, ...]

    @property
    def units(self) -> int:
        """How many distinct units there are."""
        return sum(window.units for window in self.windows)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(config.rows for config in self.configs)


class Plan(_Form):
    """What is scored: `jobs` of `scorers` with a model, and what the result depends on beside.

    `window` is how many units a window has, the last of a job apart; `abilities` are those of the model.
    """

    form: Literal[1]
    senseprobe: Name
    window: PositiveInt
    model: PlannedModel
    abilities: Annotated[tuple[Name, ...], Field(min_length=1)]
    release: PlannedRelease
    scorers: Annotated[tuple[Name, ...], Field(min_length=1)]
    seed: NonNegativeInt
    limit: PositiveInt | None
    estimands: tuple[Name, ...]
    control: bool
    jobs: Annotated[tuple[Job, ...], Field(min_length=1)]

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows of all jobs, in the order of their numbers."""
        return tuple(window for job in self.jobs for window in job.windows)

    def difference(self, other: "Plan") -> str:
        """Return the first part in which two plans ask for something else; empty where they ask for the same."""
        asked = ("window", "senseprobe", "model", "release", "scorers", "seed", "limit", "estimands", "control")
        for name in asked:
            mine, its = getattr(self, name), getattr(other, name)
            if isinstance(mine, BaseModel):
                for part in type(mine).model_fields:
                    if part != "spec" and getattr(mine, part) != getattr(its, part):
                        return f"{name} {part} {getattr(its, part)!r}, not {getattr(mine, part)!r}"
            elif mine != its:
                return f"{name} {its!r}, not {mine!r}"
        return ""


def write_plan_form(plan: Plan) -> bytes:
    """Return a plan as the bytes of its file: the same of equal plans."""
    text = json.dumps(plan.model_dump(mode="json"), ensure_ascii=False, indent=1, sort_keys=True)
    return f"{text}\n".encode()


@dataclass(frozen=True)
class OpenPlan:
    """A plan, the folder of its parts, and the hash of its file, which parts name."""

    folder: Place
    plan: Plan
    digest: str

    @cached_property
    def windows(self) -> Sequence[tuple[int, Window]]:
        """The number of the job of each window, and the window, in the order of their numbers."""
        return [(number, window) for number, job in enumerate(self.plan.jobs) for window in job.windows]

    def job_of(self, number: int) -> Job:
        """Return the job that a window belongs to."""
        return self.plan.jobs[self.windows[number][0]]

    def numbers_of(self, job: int) -> range:
        """Return the numbers of the windows of a job."""
        start = sum(len(before.windows) for before in self.plan.jobs[:job])
        return range(start, start + len(self.plan.jobs[job].windows))


def units_file(number: int) -> str:
    """Return the name of the file of a window's units, in the folder of the plan."""
    return f"units-{number:05d}.parquet"


def rows_file(number: int) -> str:
    """Return the name of the file that says where a window's units occur, in the folder of the plan."""
    return f"rows-{number:05d}.parquet"


def part_file(number: int) -> str:
    """Return the name of the part with the answers to a window, in the folder of parts.

    >>> part_file(7)
    'part-00007.parquet'
    """
    return f"part-{number:05d}.parquet"


def has_plan(folder: Place) -> bool:
    """Return whether a folder of parts has a plan."""
    return is_there(folder / PLAN / NAME)


def read_plan(folder: Place) -> OpenPlan:
    """Return the plan of a folder of parts. ResultError where there is none, or it cannot be read."""
    path = folder / PLAN / NAME
    try:
        data = read_place(path, MAX_BYTES)
        read_json(data, values=MAX_VALUES)  # bounds what is made of it
        plan = Plan.model_validate_json(data)
    except FileNotFoundError:
        raise ResultError(f"{folder} has no plan: `senseprobe score MODEL RELEASE --plan {folder}` writes it") from None
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnreadableError as error:
        raise ResultError(f"{path} {error}: delete {folder / PLAN} and plan again") from None
    except ValidationError as error:
        raise ResultError(f"{path}: {': '.join(first_error(error))}: delete {folder / PLAN} and plan again") from None
    except RecursionError:
        raise ResultError(f"{path} is nested too deep: delete {folder / PLAN} and plan again") from None
    if len(plan.windows) > MAX_WINDOWS:
        raise ResultError(f"{path} has {len(plan.windows):,} windows, more than {MAX_WINDOWS:,}")
    return OpenPlan(folder, plan, hashlib.sha256(data).hexdigest())
