"""A change of a model beside those of controls: copies that something at random was done to, and not what was meant.

Dev, Li, Phillips & Srikumar (2020) give the mean of 8 random directions as their control (tables 8, 9 and 15), and call
changes of up to a third negligible. A mean hides how far single controls go: here a change has its rank among them.
"""

from dataclasses import asdict, dataclass
from typing import Any

from senseprobe.messages import counted
from senseprobe.statistics import LEVEL

FEWEST = 20
"""Controls that a rank needs to be able to have a p below 0.05."""

USUAL = 39
"""Controls where only scoring is repeated; where training is, they cost too much, and 8 are usual."""

ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlRank:
    """A figure before and after, and how far controls moved it.

    - `change`: `after` less `before`, over the rows that both scored, with its paired 95 % interval.
    - `controls`: what each control's figure is less `before`, in the order of the controls.
    - `extreme`: how many of these are at least as large as the change, whichever way they go.
    - `p`: (1 + extreme) / (1 + controls).

    >>> rank = ControlRank(config="a", estimand="gap", before=5.0, after=2.0, change=-3.0, controls=(1.0, 3.0, -2.0))
    >>> rank.extreme, rank.p, rank.reading
    (1, 0.5, '1 of 3 controls moves it as far: not shown')
    """

    config: str
    estimand: str
    group: str | None = None
    before: float | None
    after: float | None
    change: float
    low: float | None = None
    high: float | None = None
    controls: tuple[float, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest change of a control."""
        return min(self.controls), max(self.controls)

    @property
    def mean(self) -> float:
        """The mean change of controls, which is the control of Dev et al."""
        return sum(self.controls) / len(self.controls)

    @property
    def extreme(self) -> int:
        """How many controls are at least as extreme as the change; sums of another order are the same number."""
        return sum(abs(control) >= abs(self.change) - ROUNDING for control in self.controls)

    @property
    def p(self) -> float:
        """The rank of the change among the controls, as a probability."""
        return (1 + self.extreme) / (1 + len(self.controls))

    @property
    def reading(self) -> str:
        """What the rank shows, in words."""
        count, verb = counted(len(self.controls), "control"), "moves" if self.extreme == 1 else "move"
        rank = f"{self.extreme} of {count} {verb} it as far" if self.extreme else f"outside all {count}"
        return f"{rank}: {'shown' if self.p < LEVEL else 'not shown'}"

    def as_dict(self) -> dict[str, Any]:
        """Return the record with stable keys, as JSON has it."""
        return {**asdict(self), "controls": list(self.controls), "extreme": self.extreme, "p": self.p}
