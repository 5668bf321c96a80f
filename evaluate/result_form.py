"""What a result file holds, and which numbers and names it may have: whoever wrote it may have meant harm."""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from senseprobe.errors import ResultError
from senseprobe.evaluate.caveats import MOST_REASONS, Fitness
from senseprobe.evaluate.estimands import find_fault
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
MAX_POINTS = 1e9  # of a figure, which has 100 at most, or is a plug-in's

SEPARATOR = "|"
"""What stands between the parts of a signature, so that no part of it may hold it."""

SIGNED = ("name", "weights", "config", "tokenizer", "dtype", "revision", "planted", "encoding", "template", "prompts")
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


class Form(_Part):
    """The contents of a result file; whoever wrote it may have meant harm, so all of it is checked."""

    form: Annotated[int, Field(alias="schema", ge=1, le=SCHEMA)]
    signature: str
    scorer: str
    scorer_version: Annotated[int, Field(ge=1)]
    scale: Scale
    verdicts: Annotated[int, Field(ge=1)] = 1
    model: _Model
    release: _Release
    senseprobe: str
    libraries: dict[str, str]
    seed: Annotated[int, Field(ge=0)]
    limit: Annotated[int | None, Field(ge=1)]
    date: Annotated[str | None, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")] = None
    coarse: _Coarse | None = None
    unscored: Annotated[dict[str, _Unscored], Field(max_length=MOST_REASONS)] = {}
    refused: Annotated[dict[str, list[str]], Field(max_length=MOST_REASONS)] = {}
    fitness: Annotated[dict[str, Fitness], Field(max_length=MAX_CONFIGS)] = {}
    tasks: Annotated[dict[str, TaskRecord], Field(max_length=MAX_CONFIGS)] = {}
    figures: tuple[Figure, ...]


class _Form2(Form):
    """Before scorers had a version and a scale."""

    scorer_version: Annotated[int, Field(ge=1)] = 1
    scale: Scale = "log"


class _Form1(_Form2):
    """Before there were `libraries` and `limit`."""

    signature: str = ""
    libraries: dict[str, str] = {}
    limit: Annotated[int | None, Field(ge=1)] = None


def form_of(schema: object) -> type[Form]:
    """Return the form of that number: of an unknown one the newest, which refuses it."""
    return {1: _Form1, 2: _Form2}.get(schema, Form) if type(schema) is int else Form


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of result files of the newest form; docs/result.schema.json is this."""
    schema = Form.model_json_schema()
    schema["properties"]["schema"] |= {"const": SCHEMA}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A result of senseprobe"}


def check_form(path: Path, form: Form) -> None:
    """Raise ResultError where the file `path` has too much, names that are too long, or figures that cannot be."""
    names = [name for f in form.figures for name in (f.config, f.estimand, f.group, f.sense_type)]
    unscored = [text for reason, rows in form.unscored.items() for text in (reason, *rows.first)]
    refused = [text for reason, tests in form.refused.items() for text in (reason, *tests)]
    starts = [fitness.first_token.before for fitness in form.fitness.values() if fitness.first_token]
    tasks = [text for record in form.tasks.values() for text in record.texts]
    texts = [*names, *unscored, *refused, *form.fitness, *starts, *form.tasks, *tasks, form.scorer]
    texts += form.model.model_dump().values()
    longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
    if longest > MAX_NAME or max(len(form.figures), len(refused), len(tasks)) > MAX_FIGURES:
        size = f"{counted(len(form.figures), 'figure')} and a name of {counted(longest, 'character')}"
        raise ResultError(f"{path} has {size}: too many")
    parts = {"scorer": form.scorer, "senseprobe": form.senseprobe, "release": form.release.name}
    parts |= {f"model's {name}": getattr(form.model, name) for name in SIGNED}
    if divided := [name for name, text in parts.items() if SEPARATOR in (text or "")]:
        raise ResultError(
            f"{path} is not a result of senseprobe: its {divided[0]} contains {SEPARATOR}, which is not allowed"
        )
    known: set[tuple[str, str, str]] = set()
    for figure in form.figures:
        key = (figure.config, figure.estimand, figure.group or "")
        if fault := "two figures" if key in known else _point_fault(figure) or find_fault(figure):
            raise ResultError(
                f"{path} is not a result of senseprobe: {printable(' '.join(filter(None, key)))} has {fault}"
            )
        known.add(key)


def _point_fault(figure: Figure) -> str:
    """Return which of a figure's numbers, or ends of its interval, cannot be; empty where all can."""
    points = [part for part in (figure.value, figure.low, figure.neutral, figure.high) if part is not None]
    if any(abs(part) > MAX_POINTS for part in (*points, *figure.readings.values(), *figure.senses.values())):
        return f"a number beyond {MAX_POINTS:g}"
    turned = figure.low is not None and figure.high is not None and figure.low > figure.high
    return "an interval whose lower end is above its upper end" if turned else ""
