"""How reports show the figures of an estimand: where they stand, and in which words.

Estimands override what differs: by a constant of their class, or by a method where it depends on a design or a figure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from senseprobe.evaluate.declaration import Declaration
from senseprobe.records import Design, Figure
from senseprobe.statistics import Ends

FOUND = (
    "Found: the 95 % interval excludes the neutral value, and p, corrected over all figures that have one (Holm), is "
    "below 0.05. Undecided: otherwise."
)
IN_POINTS = f"In points: 0 is neutral, and a preference of +20 means 70 of 100 pairs. {FOUND}"
NOBODY = 'nobody knows which value would mean "unbiased" here'
USE = "use these numbers only to compare models"


@dataclass(frozen=True, kw_only=True, slots=True)
class Display(Declaration):
    """What reports say of figures that an estimand declares, and where they show them."""

    unit: str = "points"

    # --- where figures stand ---

    @property
    def rank(self) -> int:
        """Its rank, from 1, among those that can lead a config, of which the lowest does; 0: it leads none."""
        return 0

    @property
    def stands_in(self) -> bool:
        """Whether a verdict is about it where no value of the figure that leads is neutral."""
        return False

    @property
    def is_contrast(self) -> bool:
        """Whether it is of two configs, and in the section of contrasts."""
        return False

    @property
    def plotted(self) -> bool:
        """Whether charts show it."""
        return False

    @property
    def by_word(self) -> bool:
        """Whether tables give it for each word and frame."""
        return False

    @property
    def tests_groups(self) -> bool:
        """Whether verdicts are about its groups, which are tested."""
        return False

    @property
    def names_others(self) -> bool:
        """Whether its figure of a group says with which other groups that is compared."""
        return False

    @property
    def needs_p(self) -> bool:
        """Whether its neutral value means something only beside its p."""
        return False

    @property
    def prints_p(self) -> bool:
        """Whether tables have p beside its interval, which says the same of most figures."""
        return bool(self.origin)

    # --- its scale ---

    @property
    def decimals(self) -> int:
        """The decimals of its figures in print."""
        return {"points": 1, "nats": 3}.get(self.unit, 2)

    @property
    def from_zero(self) -> bool:
        """Whether no figure is below 0, so that a plus sign would say nothing."""
        return self.range[0] >= 0

    @property
    def axis(self) -> Ends | None:
        """The ends of the axis of its figures, where that is its range; None where it is as long as they need."""
        return self.range if self.from_zero else None

    @property
    def heading(self) -> str:
        """What its figures are called at the head of a column."""
        return "points" if self.unit == "points" else "value"

    @property
    def scale_note(self) -> str:
        """What readers of verdicts on its figures are told of their scale; empty where nothing is."""
        return IN_POINTS if self.unit == "points" and not self.from_zero else ""

    @property
    def point(self) -> str:
        """What a point is, behind ``points``: ``from 50 of 100``; empty if that says enough."""
        return ""

    @property
    def zero_note(self) -> str:
        """What the value to compare it with means; empty where that is its neutral value, or none is known."""
        return ""

    def zero_means(self, design: Design | None, others: str = "") -> str:
        """Return what its 0 means, in two or three words for an axis; `others`: the only other group, if there is one.

        It is empty if nothing is known.
        """
        return self.zero_label

    zero_label: ClassVar[str] = ""

    def axis_ends(self, design: Design | None) -> tuple[str, str]:
        """Return what stands at the low and the high end of its axis, in two or three words each.

        >>> from senseprobe.evaluate.estimands import lookup
        >>> lookup("pronoun-baseline").axis_ends(None)
        ('"she"', '"he"')
        """
        return self.ends

    ends: ClassVar[tuple[str, str]] = ("lower", "higher")

    # --- what a model does ---

    def leaning(self, figure: Figure, design: Design | None, above: bool) -> str:
        """Return what a model does whose interval lies above the neutral value, or below: a clause without subject."""
        return self.leanings[above]

    leanings: ClassVar[tuple[str, str]] = ("is below its neutral value", "is above its neutral value")

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return what a model does, with the figure as a number: a clause that follows the model's name.

        `names`: what a report calls the sides of the figure: the ``first`` and the ``second`` sense of a contrast, or
        the sets ``X``, ``Y``, ``A``, ``B`` of an association test; its ``group``, and as ``others`` the only other
        one. The default, which plug-ins have, is of the title.
        """
        number = figure.value or 0.0
        value = f"{number:{'' if self.from_zero else '+'}.{self.decimals}f} {self.unit}"
        if self.leanings == Display.leanings:
            return f"scores {value} on \N{LEFT DOUBLE QUOTATION MARK}{self.title}\N{RIGHT DOUBLE QUOTATION MARK}"
        return f"{self.leanings[number > 0]} ({value})"

    def tendency(self, design: Design | None) -> str:
        """Return what a model with a higher figure does more than one with a lower: a clause without subject."""
        return self.higher

    higher: ClassVar[str] = "scores"

    @property
    def effect(self) -> str:
        """What an interval that includes the neutral value does not show."""
        return "effect"

    def unread(self, figure: Figure, design: Design | None) -> str:
        """Return why a figure without a neutral value says nothing of bias, and what to read instead."""
        return f"{NOBODY}; {USE}"

    # --- groups ---

    def groups_caption(self, design: Design | None) -> str:
        """Return the caption of its groups."""
        return self.caption or self.id

    caption: ClassVar[str] = ""

    def bias_type(self, figure: Figure) -> str:
        """Return the bias type that a group's figure is of; empty where its groups are something else."""
        return ""
