"""What others collect of a result, by Every Eval Ever and on the Hub: distances of figures from their neutral value.

Both want a number of which less, or more, is better. A signed figure has no such direction, so what is written is its
distance from the value that means no bias; the figure itself stands beside it. Where no such value is known, nothing
is written, and that is said.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from senseprobe.errors import ResultError
from senseprobe.evaluate.caveats import failed_tasks
from senseprobe.evaluate.control import (
    GUESS,
    beats_guess,
    find_controls,
    is_control,
    is_probe,
    right_answers,
    same_model,
)
from senseprobe.evaluate.erased_rows import find_erased_flaw
from senseprobe.evaluate.estimands import find, lookup
from senseprobe.evaluate.estimands.base import NO_NEUTRAL
from senseprobe.evaluate.fitness import unreadable_configs
from senseprobe.evaluate.result import Result, read_result
from senseprobe.evaluate.task_gates import CONTROL, find_verdict
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import printable
from senseprobe.records import Figure

RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_REVISION = re.compile(r"[\w./-]{1,200}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a figure of a config is from its neutral value, in points.

    `value` and the 95 % interval from `low` to `high` (None without one) lie between 0 and `most`, the largest distance
    that figures of its kind can have.
    """

    figure: Figure
    value: float
    low: float | None
    high: float | None
    most: float

    @property
    def summary(self) -> str:
        """The signed figure with its interval and its neutral value: ``gap +1.7 [-10.3, +13.3], neutral at 0``."""
        figure = self.figure
        ends = "" if figure.low is None else f" [{figure.low:+.1f}, {figure.high:+.1f}]"
        return f"{figure.estimand} {figure.value:+.1f}{ends}, neutral at {figure.neutral:g}"


@dataclass(frozen=True, slots=True)
class ExportSource:
    """A result to export, with the results of its model on the control of inference, of which only probes need any."""

    result: Result
    controls: tuple[Result, ...] = ()


def gather_sources(origins: Sequence[Path | Result]) -> list[ExportSource]:
    """Read results; those on the control, also where they lie in the folder of results, go to their model's others.

    Raises ResultError for a file that is not a result.
    """
    read = [(origin, origin if isinstance(origin, Result) else read_result(origin)) for origin in origins]
    given = [result for _, result in read if is_control(result)]
    sources = []
    for origin, result in [pair for pair in read if not is_control(pair[1])] or read:
        near = find_controls(origin.resolve().parent, result) if isinstance(origin, Path) and is_probe(result) else []
        controls = {control.signature: control for control in (*given, *near) if same_model(control, result)}
        sources.append(ExportSource(result, tuple(controls.values())))
    return sources


@dataclass(frozen=True, slots=True)
class Origin:
    """What a result does not say of itself.

    - `retrieved`: when the export is made, in seconds since 1970.
    - `dataset`: the dataset on the Hub, ``USER/NAME``, or empty, and its `revision`.
    - `model`: the model on the Hub, ``ORG/NAME``, where the result does not name it so; or empty.
    - `organization`: who evaluated; `relationship`: to the model's maker, one of `RELATIONSHIPS`.
    """

    retrieved: int
    dataset: str = ""
    revision: str = ""
    model: str = ""
    organization: str = "unknown"
    relationship: str = "other"

    def __post_init__(self) -> None:
        for name, text in (("dataset", self.dataset), ("model", self.model)):
            if text and not _HUB_ID.fullmatch(text):
                raise ResultError(f"{name} {text!r}: expected USER/NAME, as on the Hugging Face Hub")
        if self.revision and not _REVISION.fullmatch(self.revision):
            raise ResultError(f"revision {self.revision!r}: expected a commit, tag or branch of the dataset on the Hub")
        if self.relationship not in RELATIONSHIPS:
            raise ResultError(f"relationship {self.relationship!r}: expected {', '.join(RELATIONSHIPS)}")

    def model_id(self, result: Result) -> str:
        """Return ``ORG/NAME`` of a model; the organisation is ``unknown`` where neither result nor user says it."""
        name = result.model["name"]
        if self.model or (result.model.get("revision") and _HUB_ID.fullmatch(name)):
            return self.model or name
        return f"unknown/{file_name(name.rstrip('/').rpartition('/')[2]) or 'model'}"


@dataclass(frozen=True, slots=True)
class ExportedResults:
    """The `files` by path below a folder, and a line for each reason why figures are `left_out`."""

    files: Mapping[str, bytes]
    left_out: tuple[str, ...]


def find_distances(source: ExportSource) -> tuple[list[Distance], list[str]]:
    """Return the distances of a result's figures of whole configs, and why others are left out, a line for each reason.

    Left out are association tests; figures of single groups; those without a known neutral value; those that mean
    something only beside their p; those of an older definition or of a plug-in that is not installed; configs whose
    words the tokenizer does not know, or in which a chat model does not do the task; and all of a model of inference
    that is not shown to infer anything, since it reads as one without bias.
    """
    result, distances, reasons = source.result, [], dict[str, dict[str, dict[str, None]]]()
    if result.scorer == "planted":
        return [], [f"{printable(result.model['name'])}: a planted truth is not a score of the model"]
    unread = unreadable_configs(result.fitness) | failed_tasks(result)
    failed = ""
    if KINDS[result.kind].infers and is_probe(result):
        right = right_answers(figure for control in source.controls for figure in control.figures)
        if not right:
            failed = f"the accuracy on {CONTROL} is missing, and a model that infers nothing would look unbiased"
        elif not all(map(beats_guess, right)):
            failed = f"the model's accuracy on {CONTROL} is not shown to exceed guessing, {GUESS} of 100"
    for figure in result.figures:
        # A contrast fails with either of its configs: it says so itself.
        if (
            reason := failed
            or unread.get(figure.config)
            or find_erased_flaw([figure])
            or find_verdict(figure)
            or _why_left_out(figure)
        ):
            reasons.setdefault(reason, {}).setdefault(figure.config, {})[figure.estimand] = None
        else:
            distances.append(_measure(figure))
    lines = []
    for reason, configs in reasons.items():
        names = ", ".join(f"{config} ({', '.join(estimands)})" for config, estimands in configs.items())
        lines.append(printable(f"{result.scorer}: {reason}: {names}"))
    return distances, lines


def _why_left_out(figure: Figure) -> str:
    estimand = find(figure.estimand)
    if estimand is not None and KINDS[estimand.kind].tests:
        return "of association tests, whose effects are not distances: chance alone makes them large if words are few"
    if figure.group is not None:
        return "of single groups, and only figures of whole configs are exported"
    if figure.value is None:
        return figure.note or "not estimable"
    if figure.neutral is None:
        return NO_NEUTRAL
    if estimand is None:
        return "of a plug-in that is not installed, so its range is unknown"
    if figure.definition != estimand.version:
        return "of a different definition than this senseprobe's: score the model again"
    see_p = lookup(figure.estimand).needs_p
    return "chance alone makes it positive, so it means something only with its p" if see_p else ""


def _measure(figure: Figure) -> Distance:
    """Return the distance; it holds where the figure's own interval does, since it is that interval's image."""
    estimand, neutral, value = lookup(figure.estimand), figure.neutral or 0.0, figure.value or 0.0
    low = high = None
    if figure.low is not None and figure.high is not None:
        ends = sorted((abs(figure.low - neutral), abs(figure.high - neutral)))
        low, high = (0.0 if figure.low <= neutral <= figure.high else ends[0]), ends[1]
    return Distance(
        figure, abs(value - neutral), low, high, max(neutral - estimand.range[0], estimand.range[1] - neutral)
    )


def collect_distances(sources: Sequence[ExportSource]) -> tuple[list[tuple[Result, list[Distance]]], tuple[str, ...]]:
    """Return the results that have distances, with them, and what is left out; ResultError where none has any."""
    measured = [(source.result, *find_distances(source)) for source in sources]
    left_out = tuple(dict.fromkeys(line for _, _, lines in measured for line in lines))
    if not any(distances for _, distances, _ in measured):
        raise ResultError(f"nothing can be exported: {'; '.join(left_out) or 'there is no figure'}")
    return [(result, distances) for result, distances, _ in measured if distances], left_out


def file_name(text: str) -> str:
    """Return a text as the name of a file: what else it has becomes hyphens, and none begins or ends with a dot.

    >>> file_name("jane/base model.")
    'jane-base-model'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-")[:95]


def parse_time(text: str) -> int:
    """Return seconds since 1970 of a time, which is that number or ISO 8601 (UTC where it names no zone).

    >>> parse_time("86400"), parse_time("1970-01-02"), parse_time("1970-01-02T01:00+01:00")
    (86400, 86400, 86400)
    """
    try:
        if text.isdecimal():
            return int(text)
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        raise ResultError(
            f"{text!r} is not a time: expected seconds since 1970, or a date such as 2026-01-31"
        ) from None
