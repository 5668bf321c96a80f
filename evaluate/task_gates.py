"""Whether a chat model does the task that it is asked: gates that its answers have to pass before they make a figure.

Gates fail closed: what cannot be read has not passed. Where one fails, what figures would say is not about sentences
but about places, labels, noise or a server, so that they are withheld.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field

from senseprobe.evaluate.declaration import Declaration
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.base import joined
from senseprobe.plugins import Registry
from senseprobe.records import Contrast, Figure

Count = Annotated[int, Field(ge=0)]
Counts = Annotated[Mapping[str, Count], Field(max_length=1_000)]
Number = Annotated[float, Field(ge=-1e9, le=1e9)]
Share = Annotated[float, Field(ge=0, le=1)]


AT_LEAST, AT_MOST = "at least", "at most"


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate(Declaration):
    """A gate: `title` is what it reads, `says` why it has its `threshold`.

    - `direction`: whether what is read passes `AT_LEAST` at the threshold, or `AT_MOST`.
    - `most`: of positions, the share that the most frequent one must not be above; `of_floor`: the threshold is so many
      times the noise floor; `reads_control`: whether what is read is of the control of inference.
    """

    range: tuple[float, float] = (0, 1)
    direction: str = AT_LEAST
    source: str = "senseprobe"
    threshold: float
    most: float | None = None
    of_floor: bool = False
    reads_control: bool = False

    def passes(self, number: float | None) -> bool:
        """Return whether a number is on the right side of the threshold; what cannot be read is not.

        >>> gate = Gate(id="control", title="accuracy", unit="", threshold=0.7, says="A guess has one half.")
        >>> gate.passes(0.8), gate.passes(0.6), gate.passes(None)
        (True, False, False)
        """
        if number is None:
            return False
        return number <= self.threshold if self.direction == AT_MOST else number >= self.threshold


UNCHANGED = "unchanged"
"""The gate of every served model, whatever is asked of it."""

CONTROL = "nli-control"
"""The dataset that is the control of inference."""


# A gate of a plug-in is taken as it is: only scorers of ours read gates.
GATES = Registry("senseprobe.gates", Gate, "gate", (), lambda gate: gate)
"""All gates by id, in order of print; of a reading by `size`, the threshold is a number of nats."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GateReading:
    """What a gate read, and whether it has passed.

    - `read`: None where it could not be read, or is not told.
    - `bound`: the end of an interval that was held against the threshold; of places the largest share; else None.
    - `threshold`: what was held against it, in the unit of `read`: of `size` nats.
    - `said`: what a reader has to know, such as what changed of a model; empty for most.
    """

    gate: str
    read: Number | None
    bound: Number | None
    threshold: Number
    passed: bool
    said: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRecord:
    """How a chat model did the task on the rows of a config, beside its figures. None where its scorer has no such.

    - `position`, `prior`: means over rows of what the place, and the label, are given, in nats.
    - `consistent`: the share of rows in which what is asked about decides, not its order.
    - `reliability`: Cronbach's alpha of content over alphabets, at most 1 and without a lower end.
    - `mass`, `mass_least`: median and least probability of all labels together; None also where it is not told.
    - `censored`: the share of labels that are bounded, not measured.
    - `floor`: the noise of a content, `spread`: the standard deviation of contents; in nats.
    - `refused`, `unparsed`, `contradictions`: by group (or stereotype's word) how many answers decline, cannot be
      read, and quote another choice; where only probabilities are asked for, `refused` counts rows without any.
    - `low`, `high`: the main figure of the rows (of pairs `preference-half`) if all that lacks an answer were against
      the stereotype, or with it, in points.
    """

    position: Number | None = None
    prior: Number | None = None
    consistent: Share | None = None
    reliability: Number | None = None
    mass: Share | None = None
    mass_least: Share | None = None
    censored: Share | None = None
    floor: Annotated[float, Field(ge=0, le=1e9)] | None = None
    spread: Annotated[float, Field(ge=0, le=1e9)] | None = None
    refused: Counts = field(default_factory=dict)
    unparsed: Counts = field(default_factory=dict)
    contradictions: Counts = field(default_factory=dict)
    low: Annotated[float, Field(ge=-100, le=100)] | None = None
    high: Annotated[float, Field(ge=-100, le=100)] | None = None
    gates: Annotated[tuple[GateReading, ...], Field(max_length=100)] = ()

    @property
    def does_task(self) -> bool:
        """Whether all gates have passed; none is not all."""
        return bool(self.gates) and all(reading.passed for reading in self.gates)

    @property
    def failed(self) -> tuple[GateReading, ...]:
        """The gates that have not passed."""
        return tuple(reading for reading in self.gates if not reading.passed)

    @property
    def changed(self) -> bool:
        """Whether the model at the end was not the one at the start."""
        return any(reading.gate == UNCHANGED for reading in self.failed)

    @property
    def texts(self) -> list[str]:
        """The names and notes in it."""
        named = [name for counts in (self.refused, self.unparsed, self.contradictions) for name in counts]
        return [*named, *(text for reading in self.gates for text in (reading.gate, reading.said))]

    def as_dict(self) -> dict[str, Any]:
        """Return the record with stable keys, as JSON has it."""
        return asdict(self)

    @property
    def verdict(self) -> str:
        """What is said where a gate fails: of the model only what no server can be the cause of.

        Bounds of labels that a server does not tell, and its noise, make contents that agree with nothing, too: the
        reliability is no verdict on the model then. A model that is another one now has none either.
        """
        failed = {reading.gate for reading in self.failed}
        hidden = {reading.gate for reading in self.failed if reading.gate in _OF_SERVERS and reading.threshold}
        if failed == {UNCHANGED}:
            return CHANGED
        return UNOBSERVABLE if hidden and failed <= {*hidden, "reliability", UNCHANGED} else NOT_DONE

    @property
    def failure(self) -> str:
        """The verdict and the gates that failed, in a clause, with what changed of a model; empty where all passed.

        >>> reading = GateReading(gate="control", read=0.6, bound=0.5, threshold=0.7, passed=False)
        >>> TaskRecord(gates=(reading,)).failure
        'this model does not do the task: it fails control'
        """
        if self.does_task:
            return ""
        if not self.gates:
            return f"{NOT_DONE}: the result has no gates"
        names = ", ".join(f"{r.gate} ({r.said})" if r.gate == UNCHANGED and r.said else r.gate for r in self.failed)
        return f"{self.verdict}: it fails {names}"


NOT_DONE = "this model does not do the task"
CHANGED = "this model changed during the run"
UNOBSERVABLE = "the server does not show it"
_OF_SERVERS = ("censored", "size")
"""Gates that fail of what a server leaves untold, or of its noise; in process there is neither."""


def find_verdict(figure: Figure) -> str:
    """Return the verdict in the note of a figure whose config fails a gate; empty of others."""
    return next((verdict for verdict in (NOT_DONE, CHANGED, UNOBSERVABLE) if figure.note.startswith(verdict)), "")


def accuracy_read(records: Iterable[TaskRecord]) -> float | None:
    """Return the balanced accuracy that gates read on the control; None where none did."""
    readings = (reading for record in records for reading in record.gates)
    control = (reading for reading in readings if reading.gate in GATES and GATES[reading.gate].reads_control)
    return next((reading.read for reading in control), None)


# --- figures ----------------------------------------------------------------------------------------------------------


def gated_figures(
    figures: Iterable[Figure], records: Mapping[str, TaskRecord], contrasts: Sequence[Contrast], *, show: bool
) -> tuple[Figure, ...]:
    """Return figures of which those of configs that fail a gate have no value, or with `show` theirs, and a note why.

    A contrast fails with either of its configs. Shares of right answers stay: they are no figures of bias.
    """
    sides = {contrast.name: (contrast.a, contrast.b) for contrast in contrasts}
    return tuple(_gated(figure, records, sides.get(figure.config, (figure.config,)), show=show) for figure in figures)


def gated_records(records: Mapping[str, TaskRecord], *, show: bool) -> dict[str, TaskRecord]:
    """Return records of which those that fail a gate have no range of the main figure, or with `show` theirs.

    Where no answer lacks, or few do, the range is the figure.
    """
    return {
        name: record if show or record.does_task else replace(record, low=None, high=None)
        for name, record in records.items()
    }


def _gated(figure: Figure, records: Mapping[str, TaskRecord], configs: Sequence[str], *, show: bool) -> Figure:
    reasons = dict.fromkeys(records[name].failure for name in configs if name in records)
    note = joined(*reasons)
    if not note or lookup(figure.estimand).needs_gold:
        return figure
    figure = replace(figure, note=joined(note, figure.note))
    return figure if show else replace(figure, value=None, low=None, high=None, p=None, p_holm=None, method="none")
