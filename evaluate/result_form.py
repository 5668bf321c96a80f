"""What a result file holds, and which numbers and names it may have: whoever wrote it may have meant harm."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, TypeAdapter, model_validator
from pydantic_core.core_schema import CoreSchema, no_info_after_validator_function

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import find_fault
from senseprobe.evaluate.fitness import Fitness
from senseprobe.evaluate.task_gates import TaskRecord
from senseprobe.messages import MAX_LISTED, counted, printable
from senseprobe.records import Figure
from senseprobe.statistics import Scale

SCHEMA = 3
"""Form of result files; readers accept every older one.

2 added `libraries` and `limit`, and `revision` to a model; 3 `scorer_version`, `scale` and `fitness`, and `definition`
and `readings` to a figure.
"""

MAX_NAME = 4096
MAX_FIGURES = 20_000
MAX_CONFIGS = 10_000
MOST_REASONS = 20  # why rows have no number
MAX_POINTS = 1e9  # of a figure, which has 100 at most, or is a plug-in's

SEPARATOR = "|"
"""What stands between the parts of a signature, so that no part of it may hold it."""

SIGNED = (
    *("name", "weights", "config", "tokenizer", "debias", "dtype"),
    *("revision", "planted", "encoding", "template", "prompts"),
)
"""What a signature says of a model."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Model(_Part):
    model_config = ConfigDict(extra="allow")

    name: str
    weights: str
    config: str
    tokenizer: str
    dtype: str
    revision: str | None = None
    planted: str | None = None
    labels: str | None = None
    encoding: str | None = None
    template: str | None = None
    prompts: str | None = None
    debias: str | None = None
    removed: str | None = None


class _Release(_Part):
    name: str
    content: str
    config: str | None


class _Coarse(_Part):
    rows: Annotated[int, Field(ge=0)]
    flipped: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _of_rows(self) -> Self:
        if self.flipped > self.rows:
            raise ValueError("more rows are flipped than there are rows")
        return self


class _Unscored(_Part):
    rows: Annotated[int, Field(ge=1)]
    first: Annotated[list[str], Field(max_length=MAX_LISTED)]


@dataclass(frozen=True, slots=True)
class _Checked:
    """What a mapping in a file is held against; `without_none`: keys without a value are left out."""

    model: type[BaseModel]
    without_none: bool = False

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        dump = partial(self.model.model_dump, exclude_none=self.without_none)
        return no_info_after_validator_function(dump, handler.generate_schema(self.model))


_MAY_BE_MISSING = Field(json_schema_extra={"default": {}})


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultFacts:
    """The contents of a result file; whoever wrote it may have meant harm, so all of it is checked."""

    __pydantic_config__ = ConfigDict(strict=True, allow_inf_nan=False)

    scorer: str
    scorer_version: Annotated[int, Field(ge=1)]
    scale: Scale
    verdicts: Annotated[int, Field(ge=1)] = 1
    model: Annotated[Mapping[str, str], _Checked(_Model, without_none=True)]
    release: Annotated[Mapping[str, str | None], _Checked(_Release)]
    senseprobe: str
    libraries: Mapping[str, str]
    seed: Annotated[int, Field(ge=0)]
    limit: Annotated[int | None, Field(ge=1)]
    date: Annotated[str | None, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")] = None
    coarse: Annotated[Mapping[str, int], _Checked(_Coarse)] | None = None
    unscored: Annotated[
        Mapping[str, Annotated[Mapping[str, Any], _Checked(_Unscored)]], Field(max_length=MOST_REASONS), _MAY_BE_MISSING
    ] = field(default_factory=dict)
    refused: Annotated[Mapping[str, list[str]], Field(max_length=MOST_REASONS), _MAY_BE_MISSING] = field(
        default_factory=dict
    )
    fitness: Annotated[Mapping[str, Fitness], Field(max_length=MAX_CONFIGS), _MAY_BE_MISSING] = field(
        default_factory=dict
    )
    tasks: Annotated[Mapping[str, TaskRecord], Field(max_length=MAX_CONFIGS), _MAY_BE_MISSING] = field(
        default_factory=dict
    )
    figures: tuple[Figure, ...]


_FACTS = TypeAdapter(ResultFacts)

_BEFORE_3: dict[str, object] = {"scorer_version": 1, "scale": "log"}
_BEFORE_2 = {**_BEFORE_3, "libraries": {}, "limit": None, "signature": ""}
_OLDER = {1: _BEFORE_2, 2: _BEFORE_3}
"""By form what its files may lack, and what is meant then."""


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of result files of the newest form; docs/result.schema.json is this."""
    schema = _FACTS.json_schema()
    for definition in schema["$defs"].values():  # examples of docstrings are Python
        if "description" in definition:
            definition["description"] = definition["description"].partition("\n\n>>> ")[0]
    schema["properties"] |= {
        "schema": {"title": "Schema", "type": "integer", "minimum": 1, "maximum": SCHEMA, "const": SCHEMA},
        "signature": {"title": "Signature", "type": "string"},
    }
    schema["required"] = ["schema", "signature", *schema["required"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A result of senseprobe"}


def read_facts(raw: bytes, data: object) -> ResultFacts:
    """Return what a result file holds, as bytes and as JSON; ValueError where that is none."""
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(data, dict) or type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise ValueError("no schema")
    whole = {**_OLDER.get(schema, {}), **data}
    if type(whole.get("signature")) is not str:
        raise ValueError("no signature")
    return _FACTS.validate_json(raw if schema == SCHEMA else json.dumps(whole))


def check_facts(path: Path, facts: ResultFacts) -> None:
    """Raise ResultError where the file `path` has too much, names that are too long, or figures that cannot be."""
    names = [name for f in facts.figures for name in (f.config, f.estimand, f.group, f.sense_type)]
    unscored = [text for reason, rows in facts.unscored.items() for text in (reason, *rows["first"])]
    refused = [text for reason, tests in facts.refused.items() for text in (reason, *tests)]
    starts = [fitness.first_token.before for fitness in facts.fitness.values() if fitness.first_token]
    tasks = [text for record in facts.tasks.values() for text in record.texts]
    texts = [*names, *unscored, *refused, *facts.fitness, *starts, *facts.tasks, *tasks, facts.scorer]
    texts += facts.model.values()
    longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
    if longest > MAX_NAME or max(len(facts.figures), len(refused), len(tasks)) > MAX_FIGURES:
        size = f"{counted(len(facts.figures), 'figure')} and a name of {counted(longest, 'character')}"
        raise ResultError(f"{path} has {size}: too many")
    parts = {"scorer": facts.scorer, "senseprobe": facts.senseprobe, "release": facts.release["name"]}
    parts |= {f"model's {name}": facts.model.get(name) for name in SIGNED}
    if divided := [name for name, text in parts.items() if SEPARATOR in (text or "")]:
        raise ResultError(
            f"{path} is not a result of senseprobe: its {divided[0]} contains {SEPARATOR}, which is not allowed"
        )
    keys: set[tuple[str, str, str]] = set()
    for figure in facts.figures:
        key = (figure.config, figure.estimand, figure.group or "")
        if fault := "two figures" if key in keys else _point_fault(figure) or find_fault(figure):
            raise ResultError(
                f"{path} is not a result of senseprobe: {printable(' '.join(filter(None, key)))} has {fault}"
            )
        keys.add(key)


def _point_fault(figure: Figure) -> str:
    points = [part for part in (figure.value, figure.low, figure.neutral, figure.high) if part is not None]
    if any(abs(part) > MAX_POINTS for part in (*points, *figure.readings.values(), *figure.senses.values())):
        return f"a number beyond {MAX_POINTS:g}"
    counts = [figure.erased.get(name, 0) for name in ("whole", "input", "rows")]
    if {*figure.erased} - {"whole", "input", "rows"} or min(counts) < 0 or counts[0] + counts[1] > counts[2]:
        return "counts of erased rows that cannot be"
    is_reversed = figure.low is not None and figure.high is not None and figure.low > figure.high
    return "an interval whose lower end is above its upper end" if is_reversed else ""
