"""A verdict: what one line of a result says, with its kind, its words and its p."""

from collections.abc import Mapping
from dataclasses import dataclass

from senseprobe.evaluate.reporting.notation import format_p
from senseprobe.records import VERDICT_WORDS, Figure, FigureVerdict, VerdictCode

ORDER: tuple[VerdictCode, ...] = tuple(VERDICT_WORDS)
"""In which verdicts stand on a page."""

TONES: Mapping[VerdictCode, str] = {
    "shown": "strong",
    "these_words": "calm",
    "small": "calm",
    "not_shown": "open",
    "unreadable": "mute",
}
"""The colour of a verdict."""

LEVEL = 0.05
"""Of the tests of all lines together."""

NOT_NONE = "Undecided does not mean that there is no bias."


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What one figure of a result says.

    - `config`, `bias_type`: what it is of; `bias_type` is empty where the config has no figures by bias type.
    - `figure`: the figure; of groups that of the one that differs most, or their spread where none is shown to; of
      association tests the largest of those that are of its kind.
    - `code`: ``shown`` if the interval excludes the neutral value, ``small`` if it lies within the release's margin,
      ``not_shown`` if it includes the neutral value, else ``unreadable``. If no value is neutral, but the values of
      models that always prefer one word are known, the interval has to exclude all values between them. The code of
      several association tests is the first in this order that any of them has; ``these_words`` means that p is small,
      which holds the attribute words fixed, but the interval includes the neutral value.
    - `text`: which way, or how much could hide, or why it cannot be read: a clause without subject.
    - `basis`: how many words the interval is over: ``6 occupations, 31 qualities`` with a times sign between.
    - `sharper`: what would make the interval narrower, or the figure one that can be read; empty where nothing is known
      to.
    - `hidden`: of what is not shown, the points either way that fit the rows, too; None of others.
    - `p`, `p_holm`: of the line by itself, and corrected over the `family`, so many leading figures; None without a
      test.
    - `alone`: the code that it would have without correction, which was its code by the first definition of verdicts.
    - `of`: the figures that it is about, each with its code and p: `figure`, or all groups that are shown to differ. Of
      association tests each has its own.
    """

    config: str
    bias_type: str = ""
    figure: Figure | None
    code: VerdictCode
    text: str
    basis: str = ""
    sharper: str = ""
    hidden: float | None = None
    p: float | None = None
    p_holm: float | None = None
    family: int = 0
    alone: VerdictCode | None = None
    of: tuple[tuple[Figure, FigureVerdict], ...] = ()

    @property
    def word(self) -> str:
        """The word of its code."""
        return VERDICT_WORDS[self.code]

    @property
    def has_p(self) -> bool:
        """Whether its p is one of a test, and not only the level at which an interval excludes what is neutral."""
        figure = self.figure
        return self.p_holm is not None and (figure is None or (figure.p, figure.p_holm) != (None, None))

    @property
    def fails_correction(self) -> bool:
        """Whether correction alone keeps it from being shown."""
        return self.alone == "shown" and self.code != "shown"


def word_of(figure: Figure) -> str:
    """Return the word of a figure's verdict; empty if no verdict is about it."""
    return "" if figure.verdict is None else VERDICT_WORDS[figure.verdict.code]


def rank(verdict: Verdict) -> tuple[int, bool]:
    """Return where a verdict stands: by its code, and in that first where its figure has a neutral value."""
    return ORDER.index(verdict.code), verdict.figure is None or verdict.figure.neutral is None


def describe_family(verdict: Verdict) -> str:
    """Return the corrected p of a verdict whose text does not state it.

    >>> verdict = Verdict(config="noun", figure=None, code="not_shown", text="undecided", p_holm=0.0492, family=3)
    >>> describe_family(verdict)
    'p = 0.0492 after correction'
    """
    if not verdict.has_p or verdict.code in ("shown", "unreadable") or verdict.fails_correction:
        return ""
    p = "p = 1" if verdict.p_holm == 1.0 else format_p(verdict.p_holm or 0.0)
    return f"{p} after correction" if verdict.family > 1 else p
