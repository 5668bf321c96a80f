"""A verdict: what one line of a result says, with its kind, its words and its p."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from senseprobe.evaluate.reporting.notation import UNREAD, format_p
from senseprobe.messages import counted, listed
from senseprobe.records import Figure, FigureVerdict, VerdictCode

Kind: TypeAlias = Literal["shown", "these attribute words only", "shown to be small", "not shown", "cannot be read"]

CODES: Mapping[Kind, VerdictCode] = {
    "shown": "shown",
    "these attribute words only": "these_words",
    "shown to be small": "small",
    "not shown": "not_shown",
    UNREAD: "unreadable",
}
"""The code of each kind of verdict, in which `gate` and ``--json`` have it."""

ORDER: tuple[Kind, ...] = tuple(CODES)
"""In which verdicts stand on a page."""

WORDS: Mapping[VerdictCode, Kind] = {code: kind for kind, code in CODES.items()}
"""The kind of verdict, in words, by its code."""

TONES: Mapping[Kind, str] = {
    "shown": "strong",
    "these attribute words only": "calm",
    "shown to be small": "calm",
    "not shown": "open",
    UNREAD: "mute",
}
"""The colour of a verdict, by its kind."""

NOT_NONE = "Not shown does not mean that there is none."


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What one figure of a result says.

    - `config`, `bias_type`: what it is of; `bias_type` is empty where the config has no figures by bias type.
    - `figure`: the figure; of groups that of the one that differs most, or their spread where none is shown to; of
      association tests the largest of those that are of its kind.
    - `kind`: ``shown`` where the interval excludes the neutral value, ``not shown`` where it includes it, ``shown to be
      small`` where the release's margin holds it, on either side of the neutral value, else ``cannot be read``. Where
      no value is neutral, but it is known what models read that always prefer one word, all between is excluded. Of
      association tests that of the first in this order that any test is of; ``these attribute words only`` where p is
      small, which holds them fixed, and the interval includes the neutral value.
    - `text`: which way, or how much could hide, or why it cannot be read: a clause without subject.
    - `basis`: how many words the interval is over: ``6 occupations, 31 qualities`` with a times sign between.
    - `sharper`: what would make the interval narrower, or the figure one that can be read; empty where nothing is known
      to.
    - `hidden`: of what is not shown, the points either way that fit the rows, too; None of others.
    - `p`, `p_holm`: of the line by itself, and corrected over the `family`, so many leading figures; None without a
      test.
    - `alone`: the kind that it would have by itself, which was its kind by the first definition of verdicts.
    - `of`: the figures that it is about, each with its code and p: `figure`, or all groups that are shown to differ. Of
      association tests each has its own.
    """

    config: str
    bias_type: str = ""
    figure: Figure | None
    kind: Kind
    text: str
    basis: str = ""
    sharper: str = ""
    hidden: float | None = None
    p: float | None = None
    p_holm: float | None = None
    family: int = 0
    alone: Kind | None = None
    of: tuple[tuple[Figure, FigureVerdict], ...] = ()

    @property
    def code(self) -> VerdictCode:
        """The code of its kind."""
        return CODES[self.kind]

    @property
    def is_turned(self) -> bool:
        """Whether correction alone keeps it from being shown."""
        return self.alone == "shown" and self.kind != "shown"


def word_of(figure: Figure) -> Kind | Literal[""]:
    """Return what a figure shows, in the words of pages; empty where no verdict is about it."""
    return "" if figure.verdict is None else WORDS[figure.verdict.code]


def rank(verdict: Verdict) -> tuple[int, bool]:
    """Return where a verdict stands: by its kind, and in that first where its figure has a neutral value."""
    return ORDER.index(verdict.kind), verdict.figure is None or verdict.figure.neutral is None


def describe_family(verdict: Verdict) -> str:
    """Return p of a verdict, and after correction over the lines of its page: ``p = 0.0123, 0.0492 of 4 figures``."""
    if verdict.p is None or verdict.p_holm is None or verdict.kind == "cannot be read":
        return ""
    several = f", {format_p(verdict.p_holm).removeprefix('p ').removeprefix('= ')} of {verdict.family} figures"
    return format_p(verdict.p) + (several if verdict.family > 1 else "")


def summarize(verdicts: Sequence[Verdict]) -> str:
    """Return how many verdicts are of each kind, and how much could go unnoticed where nothing is shown."""
    counts = Counter(verdict.kind for verdict in verdicts)
    lines = counted(len(verdicts), "line")
    names = dict.fromkeys(verdict.config for verdict in verdicts if verdict.kind == "shown")
    sentences = [f"Shown in {counts['shown']} of {lines}: {listed(names)}."] if names else []
    if small := counts["shown to be small"]:
        sentences.append(f"{small} shown to be small.")
    if not_shown := counts["not shown"]:
        where = f"In {not_shown} nothing is shown" if counts["shown"] else f"Nothing is shown in {not_shown} of {lines}"
        hidden = max((verdict.hidden for verdict in verdicts if verdict.hidden is not None), default=0.0)
        sentences.append(
            f"{where}, which is not to say that nothing is there: up to {hidden:.0f} points fit the rows, too."
        )
    if unread := counts["cannot be read"]:
        alone = "No finding on bias: the figures of the model cannot be read."
        sentences.append(f"{unread} cannot be read." if len(verdicts) > 1 else alone)
    return " ".join(sentences)
