"""How a chat model did its task on the rows of a config: control items, numbers beside the figures, and gates.

rows with numbers -> position, prior, reliability, mass, refusals by group -> what each gate reads (task_gates.py)
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.kernel import labels
from senseprobe.evaluate.scorers.base import Scorer
from senseprobe.evaluate.served.conversation import NLI_OPTIONS
from senseprobe.evaluate.served.gates import ACCURACY
from senseprobe.evaluate.task_gates import (
    CONTROL,
    GATES,
    UNCHANGED,
    GateReading,
    TaskRecord,
    gated_figures,
    gated_records,
)
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Design, Figure
from senseprobe.release.release import Release
from senseprobe.statistics import BoolArray, FloatArray, clopper_pearson

# --- the check --------------------------------------------------------------------------------------------------------


class ControlCount(NamedTuple):
    """How many control `items` a model was asked, and how many it got `right` in both orders."""

    right: int
    items: int


@dataclass(kw_only=True, slots=True)
class TaskCheck:
    """Whether a model does the task that a run asks of it, or is still itself: wrapped round that run.

    - `scorer`: its `task` says how it asks (tasks.py); served models of scorers without one are held against themselves
      alone.
    - `accuracy`: on nli-control, from 0 to 1; None where that was not scored. Rows of it tell their own.
    - `show`: whether figures keep their values where a gate fails.
    - `control`, `drift`: read by gates: the count of control items, None where there is no such gate; and what changed
      of the model during the run, empty where nothing did, None where it is in this process.
    """

    scorer: Scorer
    model: Any  # a chat model, or a served one
    accuracy: float | None = None
    show: bool = False
    control: ControlCount | None = None
    drift: str | None = None

    def ask(
        self,
        rows: Mapping[str, pd.DataFrame],
        seed: int,
        progress: Callable[[int, int], None] | None = None,
        units: int = 0,
    ) -> int:
        """Ask the control items that are made of rows, if the scorer has any, and return how many.

        `progress` hears how many it was asked, of these and so many `units`.
        """
        if "control" not in self.scorer.gates:
            return 0
        task = self.scorer.task
        items, numbers = task.control_items(rows, seed), list[tuple[float, ...]]()
        for portion in self.model.portions(items):
            numbers += task.numbers(self.model, [(item.wording, item.text, item.beside) for item in portion])
            if progress is not None:
                progress(len(numbers), len(items) + units)
        table = pd.DataFrame(numbers, columns=list(task.columns), dtype=np.float64)
        self.control = ControlCount(int(task.answers_right(table).sum()), len(items))
        return len(items)

    def read(
        self, release: Release, figures: Sequence[Figure], scored: ScoredRows
    ) -> tuple[tuple[Figure, ...], Mapping[str, TaskRecord]]:
        """Return figures, without values where a gate of their config fails, and the records of the configs."""
        if self.scorer.gates and release.manifest.name.partition("@")[0] == CONTROL:
            self.accuracy = balanced_accuracy(scored.tables.values())
        self.drift = self.model.drift() if hasattr(self.model, "drift") else None
        records = {name: self._record(table, release.design(name)) for name, table in scored.tables.items()}
        figures = gated_figures(figures, records, release.manifest.contrasts, show=self.show)
        return figures, gated_records(records, show=self.show)

    def _record(self, table: pd.DataFrame, design: Design) -> TaskRecord:
        record = _record(self.scorer, table, design, self.model.noise) if self.scorer.task else TaskRecord()
        gates = tuple(_READERS[gate](record, table, self) for gate in self.scorer.gates or (UNCHANGED,))
        return replace(record, gates=gates)


def balanced_accuracy(tables: Iterable[pd.DataFrame]) -> float | None:
    """Return the mean over gold labels of the share of right answers; None where fewer than two labels have any.

    `tables` have the columns `gold` and those of `NLI_OPTIONS`; among k options that are likeliest, one counts 1 / k.

    >>> gold = ["entailment", "entailment", "neutral"]
    >>> rows = {"gold": gold, "entailment": [0.8, 0.2, 0.1], "neutral": [0.1, 0.7, 0.8], "contradiction": [0.1] * 3}
    >>> balanced_accuracy([pd.DataFrame(rows)])
    0.75
    """
    options = [*NLI_OPTIONS]
    rows = pd.concat([table[["gold", *options]] for table in tables if "gold" in table] or [pd.DataFrame()])
    if rows.empty:
        return None
    rows = rows[rows["gold"].isin(options) & rows[options].notna().all(axis=1)]
    p = rows[options].to_numpy(dtype=np.float64)
    gold = np.array([options.index(label) for label in rows["gold"]], dtype=np.intp)
    likeliest = p == p.max(axis=1, keepdims=True, initial=0.0)
    right = likeliest[np.arange(len(p)), gold] / np.maximum(1, likeliest.sum(axis=1))
    shares = [float(right[gold == label].mean()) for label in np.unique(gold)]
    return sum(shares) / len(shares) if len(shares) > 1 else None


# --- records ----------------------------------------------------------------------------------------------------------

MOST_GROUPS = 200
OTHER_GROUPS = "others"


def cronbach_alpha(items: FloatArray) -> float | None:
    """Return Cronbach's alpha of items, of shape (rows, items): k / (k - 1) · (1 - sum of variances / that of the sum).

    None of fewer than two rows, and where the sums do not vary.

    >>> cronbach_alpha(np.array([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]))
    1.0
    """
    if len(items) < 2:
        return None
    total = float(items.sum(axis=1).var(ddof=1))
    k = items.shape[1]
    return k / (k - 1) * (1 - float(items.var(axis=0, ddof=1).sum()) / total) if total > 0 else None


def _record(scorer: Scorer, table: pd.DataFrame, design: Design, noise: float) -> TaskRecord:
    """Return the numbers of a config's rows, without gates."""
    task = scorer.task
    lacking = ~np.isfinite(table[[*scorer.columns]].to_numpy(dtype=np.float64)).all(axis=1)
    rows = table[~lacking]
    decided, contents = task.decides(rows), task.contents(rows)
    column = task.group_column(table, design)
    groups = [str(word or "") for word in labels(table, column)] if column else [""] * len(table)
    label_count = task.labels * len(rows)
    low, high = task.ends(table) or (None, None)
    return TaskRecord(
        position=_mean(rows, "position"),
        prior=_mean(rows, "prior"),
        consistent=_number(decided.mean()) if decided is not None and len(rows) else None,
        reliability=_number(task.reliability(rows)),
        mass=_number(rows["mass"].median()) if "mass" in rows else None,
        mass_least=_number(rows["mass_least"].min()) if "mass_least" in rows else None,
        censored=_number(rows["censored"].sum() / label_count) if "censored" in rows and label_count else None,
        floor=_number(noise) if contents is not None else None,
        spread=_number(np.std(contents, ddof=1)) if contents is not None and len(contents) > 1 else None,
        refused=_count(groups, table.get("refused", lacking)),
        unparsed=_count(groups, table["unparsed"]) if "unparsed" in table else {},
        contradictions=_count(groups, table["contradictions"]) if "contradictions" in table else {},
        low=_number(low),
        high=_number(high),
    )


def _number(value: float | None) -> float | None:
    """Return a number without the dust of its last digits; None where it is not finite."""
    return None if value is None or not math.isfinite(value) else round(float(value), 9) + 0.0


def _mean(rows: pd.DataFrame, column: str) -> float | None:
    return _number(rows[column].mean()) if column in rows else None


def _count(groups: Sequence[str], counts: "pd.Series[float] | BoolArray") -> dict[str, int]:
    """Return the sums of counts by group, the most first; groups without any are left out, and the rest is pooled."""
    sums: Counter[str] = Counter()
    numbers = np.nan_to_num(np.asarray(counts, dtype=np.float64)).astype(np.intp)
    for group, count in zip(groups, numbers.tolist(), strict=True):
        sums[group] += count
    ordered = sorted(((group, count) for group, count in sums.items() if count), key=lambda pair: (-pair[1], pair[0]))
    rest = sum(count for _, count in ordered[MOST_GROUPS:])
    return {**dict(ordered[:MOST_GROUPS]), **({OTHER_GROUPS: rest} if rest else {})}


# --- gates ------------------------------------------------------------------------------------------------------------


def _reading(gate: str, read: float | None, *, bound: float | None = None, remark: str = "") -> GateReading:
    """Return the reading of a gate that holds what it read, or its bound, against its threshold."""
    passed = GATES[gate].passes(read if bound is None else bound)
    return GateReading(gate=gate, read=read, bound=bound, threshold=GATES[gate].threshold, passed=passed, said=remark)


def _read_control(record: TaskRecord, table: pd.DataFrame, check: TaskCheck) -> GateReading:
    if check.control is None or not check.control.items:
        return _reading("control", None, remark="the rows have no sentences from which control items can be made")
    right, items = check.control.right, check.control.items
    low, _ = clopper_pearson(right, items)
    return _reading(
        "control", _number(right / items), bound=_number(low / 100 + 0.5), remark=f"{right} of {items} items"
    )


def _read_size(record: TaskRecord, table: pd.DataFrame, check: TaskCheck) -> GateReading:
    """Hold the spread of contents against three times the noise floor; one that is 0 has not passed."""
    if record.spread is None or record.floor is None:
        return _reading("size", None)
    threshold = _number(GATES["size"].threshold * record.floor) or 0.0
    passed = 0 < record.spread >= threshold
    return GateReading(gate="size", read=record.spread, bound=None, threshold=threshold, passed=passed)


def _read_places(record: TaskRecord, table: pd.DataFrame, check: TaskCheck) -> GateReading:
    shares = [_mean(table, f"place_{number}") for number in (1, 2, 3)]
    ordered = sorted(share for share in shares if share is not None)
    if len(ordered) < len(shares):
        return _reading("places", None)
    gate = GATES["places"]
    passed = gate.passes(ordered[0]) and ordered[-1] <= (gate.most or 0)
    return GateReading(gate=gate.id, read=ordered[0], bound=ordered[-1], threshold=gate.threshold, passed=passed)


_READERS: Mapping[str, Callable[[TaskRecord, pd.DataFrame, TaskCheck], GateReading]] = {
    "control": _read_control,
    "consistent": lambda record, table, check: _reading("consistent", record.consistent),
    "reliability": lambda record, table, check: _reading("reliability", record.reliability),
    "size": _read_size,
    "mass": lambda record, table, check: _reading("mass", record.mass),
    "censored": lambda record, table, check: _reading("censored", record.censored),
    ACCURACY: lambda record, table, check: _reading(ACCURACY, check.accuracy),
    "places": _read_places,
    UNCHANGED: lambda record, table, check: _reading(UNCHANGED, 0.0 if check.drift else 1.0, remark=check.drift or ""),
}
