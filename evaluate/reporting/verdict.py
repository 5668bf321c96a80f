"""A verdict: the conclusion of one line of a result, with its code, its words and its p."""

from collections.abc import Mapping
from dataclasses import dataclass

from senseprobe.evaluate.reporting.notation import format_p
from senseprobe.records import VERDICT_WORDS, Figure, FigureVerdict, VerdictCode

ORDER: tuple[VerdictCode, ...] = tuple(VERDICT_WORDS)
"""The order of verdicts on a page."""

TONES: Mapping[VerdictCode, str] = {
    "shown": "strong",
    "these_words": "calm",
    "small": "calm",
    "not_shown": "open",
    "unreadable": "mute",
}
"""The colour of a verdict."""

NOT_NONE = "Undecided does not mean that there is no bias."


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The conclusion from one figure of a result.

    - `config`, `bias_type`: its question; `bias_type` is empty if the config does not have figures by bias type.
    - `figure`: the figure; for groups, that of the group that differs most, or their spread if none is shown to differ;
      for association tests, the largest of those with its code.
    - `code`: ``shown`` if the interval excludes the neutral value, ``small`` if it lies within the release's margin,
      ``not_shown`` if it includes the neutral value, else ``unreadable``. If the neutral value is unknown, but the
      figures of models that always prefer one word are known, the interval must exclude all values between them. The
      code of several association tests is the first in this order that any of them has; ``these_words`` means that p is
      small with the attribute words fixed, but the interval includes the neutral value.
    - `text`: the direction, or the largest effect that is possible, or why it cannot be read: a clause without subject.
    - `basis`: the number of words that the interval is over: ``6 occupations, 31 qualities`` with a times sign between.
    - `sharper`: what would make the interval narrower, or the figure readable; empty if that is unknown.
    - `hidden`: if the code is ``not_shown``, the largest effect in points that fits the rows, in either direction.
    - `p`, `p_holm`: p of the line by itself, and corrected over the `family`, the number of leading figures; None
      without a test.
    - `alone`: the code without correction, which was its code by the first definition of verdicts.
    - `of`: the figures that it is about, each with its code and p: `figure`, or all groups that are shown to differ.
      Association tests have verdicts of their own.
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
        """Whether its p is that of a test, and not only the level at which the interval excludes the neutral value."""
        figure = self.figure
        return self.p_holm is not None and (figure is None or (figure.p, figure.p_holm) != (None, None))

    @property
    def fails_correction(self) -> bool:
        """Whether it would be shown without correction, and is not shown with it."""
        return self.alone == "shown" and self.code != "shown"


def word_of(figure: Figure) -> str:
    """Return the word of a figure's verdict; empty if no verdict is about it."""
    return "" if figure.verdict is None else VERDICT_WORDS[figure.verdict.code]


def rank(verdict: Verdict) -> tuple[int, bool]:
    """Return the position of a verdict: by its code; verdicts on a figure with a neutral value come first."""
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
