"""What a result says, in a line for each config or bias type: shown, shown to be small, not shown, or cannot be read.

Each line is about one figure, a config's leading one where it has a neutral value. Where no value of `preference` is
neutral, the one that stands in for it does: `pronoun-stereotype`, `gap`, or the groups of `relative`. Of association
tests a line is about all that share an identity.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from senseprobe.document import Cell, Table, name_cells, render_table
from senseprobe.evaluate.control import DATASET, GUESS, RELEASE, beats_guess, is_control, is_probe, right_answers
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.estimands.association import (
    CANNOT_REACH,
    NO_INTERVAL,
    NOT_SHOWN,
    SHOWN,
    THESE_WORDS,
    TestKey,
    Weat,
    find_reversed,
)
from senseprobe.evaluate.estimands.equivalence import NOT_SHOWN as NOT_SMALL
from senseprobe.evaluate.reporting import significance
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.notation import describe_sizes, format_interval, format_p, format_points
from senseprobe.evaluate.reporting.precision import describe_levels, predict_precision
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted, listed
from senseprobe.records import Design, Figure

Kind: TypeAlias = Literal["shown", "these attribute words only", "shown to be small", "not shown", "cannot be read"]

ORDER: tuple[Kind, ...] = ("shown", "these attribute words only", "shown to be small", "not shown", "cannot be read")
"""In which verdicts stand on a page."""

LEVEL = 0.05
"""Of the tests of groups, after Holm's correction, and of their spread."""

FEW = 3
"""Groups that a verdict names."""


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
    """

    config: str
    bias_type: str = ""
    figure: Figure | None
    kind: Kind
    text: str
    basis: str = ""
    sharper: str = ""
    hidden: float | None = None


def build_verdicts(source: ReportInput) -> list[Verdict]:
    """Return the verdicts of a result: what is shown first, and what cannot be read for want of a neutral value last.

    A model that fails its control has one verdict alone, which says that.
    """
    if KINDS[source.kind].tests:
        return sorted(_judge_tests(source), key=rank)
    if (failed := find_failed_control(source)) is not None:
        right = f"{describe_right(failed)}, not shown to beat guessing ({GUESS})"
        return [
            Verdict(
                config=f"{DATASET}: {failed.config}",
                figure=failed,
                kind="cannot be read",
                text=f"the model fails its control: {right}; nothing else that it says can be read",
                basis=describe_levels(failed),
                sharper="check the order of its classes (--labels), or take a model that was trained to infer",
            )
        ]
    judge = Judge(source)
    verdicts = [
        verdict for figures in group_by_config(source.result.figures).values() for verdict in judge.verdicts(figures)
    ]
    return sorted(verdicts, key=rank)


def direction_labels(figure: Figure, design: Design | None) -> tuple[str, str]:
    """Return what stands at the low and at the high end of a figure's axis."""
    return lookup(figure.estimand).axis_ends(design)


def find_failed_control(source: ReportInput) -> Figure | None:
    """Return the right answers on the control of a model that may as well have guessed them; None of others."""
    return next((figure for figure in _control_figures(source) if not beats_guess(figure)), None)


def _control_figures(source: ReportInput) -> list[Figure]:
    """Return the shares of right answers on the control, of whole configs; its own, where the result is of it."""
    figures: Sequence[Figure] = source.result.figures if is_control(source.result) else ()
    if is_probe(source.result):
        figures = [figure for _, figure in significance.find_control_figures(source)]
    return right_answers(figures)


def describe_right(figure: Figure) -> str:
    """Return how many answers on the control are right, of 100."""
    return "no row was scored" if figure.value is None else f"right on {figure.value:.0f} of 100"


def find_leads(figures: Sequence[Figure]) -> list[Figure]:
    """Return the figures of a whole config, or contrast, that a verdict is about: most often one.

    Several stand in for one without a neutral value where a template declares several gaps; that one follows them where
    it is known what models read that always prefer one word.
    """
    whole = [figure for figure in figures if figure.group is None]
    if any(lookup(figure.estimand).presentation.contrasts for figure in whole):
        return [figure for figure in whole if lookup(figure.estimand).has_interval]
    ranked = [figure for figure in whole if lookup(figure.estimand).presentation.rank]
    lead = min(ranked, key=lambda figure: lookup(figure.estimand).presentation.rank, default=None)
    if lead is not None and lead.neutral is not None:
        return [lead]
    neutral = [figure for figure in whole if figure.neutral is not None]
    stand_ins = [figure for figure in neutral if lookup(figure.estimand).presentation.stands_in]
    first = min((lookup(figure.estimand).presentation.stands_in for figure in stand_ins), default=0)
    leads = [figure for figure in stand_ins if lookup(figure.estimand).presentation.stands_in == first]
    if lead is not None and (not leads or lead.readings):
        return [*leads, lead]
    return leads or (neutral or whole)[:1]


def group_by_config(figures: Iterable[Figure]) -> dict[str, list[Figure]]:
    """Return figures by config, in their order."""
    configs: dict[str, list[Figure]] = {}
    for figure in figures:
        configs.setdefault(figure.config, []).append(figure)
    return configs


def rank(verdict: Verdict) -> tuple[int, bool]:
    """Return where a verdict stands: by its kind, and in that first where its figure has a neutral value."""
    return ORDER.index(verdict.kind), verdict.figure is None or verdict.figure.neutral is None


class Judge:
    """Says what the figures of one result show."""

    def __init__(self, source: ReportInput) -> None:
        self.source = source
        self.unreadable = source.unreadable
        self.margin = significance.read_margin([source])
        self._small: set[tuple[str, str, str | None]] | None = None
        contrasts = source.release.manifest.contrasts if source.release else ()
        self.first_sides = {contrast.name: contrast.a for contrast in contrasts}
        for contrast in contrasts:
            if side := next((name for name in (contrast.a, contrast.b) if name in self.unreadable), ""):
                self.unreadable[contrast.name] = f"of {side}, {self.unreadable[side]}"

    def verdicts(self, figures: Sequence[Figure]) -> Iterator[Verdict]:
        """Yield the verdicts of the figures of a config: of bias types where it has them, or of the whole."""
        leads, spread = find_leads(figures), next((f for f in figures if lookup(f.estimand).presentation.see_p), None)
        groups = [f for f in figures if f.group and lookup(f.estimand).presentation.tested_groups]
        if groups and all(lead.neutral is None or lead is spread for lead in leads):
            yield self._of_groups(groups, spread)
            return
        for lead in leads:
            estimand = lookup(lead.estimand)
            parts = [f for f in figures if f.estimand == lead.estimand and estimand.bias_type(f)]
            for figure in parts or [lead]:
                kind, text = self._judge(figure)
                if kind != "cannot be read" or lead is leads[0]:  # else another stands in for it
                    yield self._of(figure, kind, text, _find_hidden([figure]), estimand.bias_type(figure))

    def _of(self, figure: Figure, kind: Kind, text: str, hidden: float | None = None, bias_type: str = "") -> Verdict:
        if "planted" in self.source.result.model:
            text = f"the truth that was planted: {text}"
        return Verdict(
            config=figure.config,
            bias_type=bias_type,
            figure=figure,
            kind=kind,
            text=text,
            basis=describe_levels(figure, self.source.design(self.first_sides.get(figure.config, figure.config))),
            sharper="" if kind == "cannot be read" else predict_precision(self.source, figure),
            hidden=hidden if kind == "not shown" else None,
        )

    def _judge(self, figure: Figure) -> tuple[Kind, str]:
        """Return what a figure shows, and in which words."""
        estimand, design = lookup(figure.estimand), self.source.design(figure.config)
        if reason := self.find_flaw([figure]):
            return "cannot be read", reason
        if not (neutral := [figure.neutral] if figure.neutral is not None else [*figure.readings.values()]):
            return "cannot be read", estimand.unread(figure, design)
        if figure.low is None or figure.high is None:
            return "cannot be read", _explain_no_interval(figure)
        low, high = figure.low - max(neutral), figure.high - min(neutral)
        lean = "" if low <= 0 <= high else estimand.leaning(figure, design, low > 0)
        if figure.neutral is None:
            return ("shown", lean) if lean else ("cannot be read", estimand.unread(figure, design))
        if self._is_small(figure):
            small = f"within {self.margin.text if self.margin else ''} of neutral"
            return "shown to be small", f"{small}; {lean}" if lean else small
        if lean:
            return "shown", lean
        return (
            "not shown",
            f"a {estimand.presentation.effect} from {low:+.0f} to {high:+.0f} points, or none, fits the rows",
        )

    def find_flaw(self, figures: Sequence[Figure]) -> str:
        """Return why no figure of these rows can be read, whatever its neutral value; empty where it can."""
        figure = figures[0]
        if reason := self.unreadable.get(figure.config):
            return reason
        if is_probe(self.source.result) and not _control_figures(self.source):
            return f"no result on its control is at hand: `senseprobe score MODEL {RELEASE}`"
        if all(part.value is None for part in figures):
            return figure.note or "no row can be used"
        scored, ties = (sum(getattr(part, name) for part in figures) for name in ("scored", "ties"))
        if scored and scored == ties and KINDS[lookup(figure.estimand).kind].pairs:
            table = self.source.tables.get(figure.config)
            scores = None if table is None else table[["stereo_score", "anti_score"]].to_numpy(dtype=np.float64)
            if scores is not None and np.nanmax(scores) == np.nanmin(scores):
                return "the model gives every sentence the same score"
            return "the model gives both sentences of every pair the same score"
        return ""

    def _of_groups(self, groups: Sequence[Figure], spread: Figure | None) -> Verdict:
        """Return the verdict of figures of groups: a group differs where interval and corrected p both say so."""
        farthest = max(groups, key=lambda f: (-(1.0 if f.p_holm is None else f.p_holm), abs(f.value or 0.0)))
        if reason := self.find_flaw(groups):
            return self._of(farthest, "cannot be read", reason)
        ends = [end for figure in groups for end in (figure.low, figure.high) if end is not None]
        if not ends or all(figure.p_holm is None for figure in groups):
            return self._of(farthest, "cannot be read", "too few words for intervals and tests of groups")
        differing = [figure for figure in groups if _differs(figure)]
        if differing:
            design = self.source.design(farthest.config)
            others = "a sentence that names no group" if design and design.reference else "the others"
            names = f"{'; '.join(_name_sides(differing, design))}, more than {others}"
            return self._of(farthest, "shown", f"{names} ({len(differing)} of {counted(len(groups), 'group')})")
        if spread is not None and spread.p is not None and spread.p < LEVEL:
            return self._of(spread, "shown", f"groups differ ({format_p(spread.p)}), no single one is shown to")
        if self.margin is not None and all(map(self._is_small, groups)):
            return self._of(farthest, "shown to be small", f"no group differs by {self.margin.text} or more")
        hidden = _find_hidden(groups)
        fits = f"up to {hidden or 0.0:.0f} points, or none, fit the rows"
        text = f"of {counted(len(groups), 'group')} none is shown to differ (most: {farthest.group}); {fits}"
        return self._of(farthest, "not shown", text, hidden)

    def _is_small(self, figure: Figure) -> bool:
        """Return whether a figure is equivalent to its neutral value by the margin that the release states."""
        if self.margin is None or abs((figure.value or 0.0) - (figure.neutral or 0.0)) >= self.margin.points:
            return False
        if self._small is None:
            answers = significance.assess_equivalence(self.source, self.margin)
            self._small = {
                (answer.config, answer.estimand, answer.group)
                for answer in answers
                if answer.neutral is not None and answer.answer != NOT_SMALL
            }
        return (figure.config, figure.estimand, figure.group) in self._small


def _find_hidden(figures: Sequence[Figure]) -> float | None:
    """Return how far from the neutral value the intervals of figures reach, in points; None without any."""
    ends = [end - (f.neutral or 0.0) for f in figures for end in (f.low, f.high) if end is not None]
    return max(map(abs, ends), default=None)


def _differs(figure: Figure) -> bool:
    """Return whether p after Holm is below 5 %, and the interval excludes 0, which is neutral to groups, too."""
    if figure.low is None or figure.high is None or figure.p_holm is None:
        return False
    return figure.p_holm < LEVEL and not figure.low <= 0 <= figure.high


def _name_sides(figures: Sequence[Figure], design: Design | None) -> Iterator[str]:
    """Yield the groups above, and those below, with what they are drawn to."""
    for above in (True, False):
        side = [f for f in figures if ((f.value or 0.0) > 0) == above]
        if side:
            names = listed([f.group for f in side[:FEW]], len(side))
            yield f"{names} {lookup(side[0].estimand).leaning(side[0], design, above)}"


def _explain_no_interval(figure: Figure) -> str:
    if not lookup(figure.estimand).has_interval:
        return "it has no interval"
    few = ", ".join(figure.fixed)
    return f"no interval: fewer than five of {few}" if few and not figure.levels else "no interval can be estimated"


# --- Association tests ----------------------------------------------------------------------------------------------

OTHER = "no identity"
"""What tests are about that are of no identity, as those of flowers and insects."""

WORDINGS: Mapping[str, Kind] = {
    SHOWN: "shown",
    THESE_WORDS: "these attribute words only",
    NOT_SHOWN: "not shown",
    CANNOT_REACH: "cannot be read",
    NO_INTERVAL: "cannot be read",
}
"""The kind of verdict, by what a test says; in order."""


def find_tests(figures: Iterable[Figure], *, variants: bool = False) -> list[tuple[Weat, Figure]]:
    """Return the association tests among figures, each with its estimand, or those of its variants."""
    found = ((lookup(figure.estimand), figure) for figure in figures if figure.group is not None)
    return [(weat, figure) for weat, figure in found if isinstance(weat, Weat) and bool(weat.variant_of) == variants]


def group_tests(figures: Iterable[Figure]) -> dict[tuple[str, str], list[tuple[Weat, Figure]]]:
    """Return the association tests by config and identity; of a config none of whose tests has one, that is empty."""
    tests = find_tests(figures)
    of_identities = {figure.config for _, figure in tests if figure.identity}
    families: dict[tuple[str, str], list[tuple[Weat, Figure]]] = {}
    for weat, figure in tests:
        identity = figure.identity or (OTHER if figure.config in of_identities else "")
        families.setdefault((figure.config, identity), []).append((weat, figure))
    return families


def _judge_tests(source: ReportInput) -> Iterator[Verdict]:
    """Yield a verdict for each identity of each config."""
    below = find_reversed(find_tests(source.result.figures))
    for (config, identity), tests in group_tests(source.result.figures).items():
        if reason := source.why_unread(config):
            of = counted(len(tests), "test")
            yield Verdict(config=config, bias_type=identity, figure=None, kind="cannot be read", text=reason, basis=of)
        else:
            yield _judge_family(config, identity, tests, below)


def _judge_family(config: str, identity: str, tests: Sequence[tuple[Weat, Figure]], below: set[TestKey]) -> Verdict:
    """Return the verdict of the tests of an identity: how many say what, and which."""
    said: dict[str, list[Figure]] = {wording: [] for wording in WORDINGS}
    lost: list[Figure] = []
    for weat, figure in tests:
        (lost if weat.lost_too_many(figure) else said[weat.wording(figure)]).append(figure)
    leading = next((wording for wording, figures in said.items() if figures), CANNOT_REACH)
    largest = max(said[leading] or lost, key=lambda figure: figure.value or 0.0)
    hidden = max((figure.high for figure in said[NOT_SHOWN] if figure.high is not None), default=0.0)
    several = f" of {len(tests)} tests" if len(tests) > 1 else ""
    clauses = {
        f"in {len(said[SHOWN])}{several}": said[SHOWN],
        f"in {len(said[THESE_WORDS])}{several if leading == THESE_WORDS else f', {THESE_WORDS}'}": said[THESE_WORDS],
        "too few words for any p to be small": said[CANNOT_REACH],
        "not estimable": said[NO_INTERVAL],
        "the other way round, which p does not test": [f for f in said[NOT_SHOWN] if (config, f.group) in below],
        "not judged, since over a fifth of a set has no vector": lost,
    }
    texts = [
        f"{clause}: {listed(figure.group for figure in figures)}" for clause, figures in clauses.items() if figures
    ]
    if said[NOT_SHOWN]:
        fits = f"an effect up to {format_points(max(hidden, 0.0), largest.estimand)} fits, too"
        count = (
            f"not shown in {len(said[NOT_SHOWN])}" if leading != NOT_SHOWN else f"in none{several}" if several else ""
        )
        texts.insert(0 if leading == NOT_SHOWN else len(texts), "; ".join(filter(None, (count, fits))))
    return Verdict(
        config=config,
        bias_type=identity,
        figure=None if largest.value is None else largest,
        kind=WORDINGS[leading],
        text="; ".join(texts),
        basis="" if largest.value is None else f"{largest.group}, the largest of these: {describe_sizes(largest)}",
        hidden=hidden if leading == NOT_SHOWN else None,
    )


# --- For a pull request -------------------------------------------------------------------------------------------

MOST_ROWS = 30
"""Verdicts in the table: with caption, headings and note it is shorter than 40 lines."""

POINTS = (
    "In points: 0 is neutral, and a preference of +20 is 70 of 100 pairs. Shown: the 95 % interval excludes the "
    "neutral value."
)
"""What readers of any table of verdicts are told."""

EFFECTS = (
    "An effect is in standard deviations of words' associations: 0 where those of X and Y lie alike, 2 at most. Shown: "
    "p, corrected over all tests, is below 0.05, and the 95 % interval lies above 0. These attribute words only: p, "
    "which holds them fixed, is as small, but the interval includes 0: with other such words there may be no effect."
)
"""What readers of verdicts on association tests are told."""

NOT_NONE = "Not shown does not mean that there is none."


def build_brief(inputs: Sequence[ReportInput]) -> str:
    """Return the verdicts of results as Markdown; where they are many, the last line counts those left out."""
    rows = [(source, verdict) for source in inputs for verdict in build_verdicts(source)]
    important = sorted(range(len(rows)), key=lambda index: rank(rows[index][1]))[:MOST_ROWS]
    shown = [rows[index] for index in sorted(important)]
    omitted = [verdict.kind for index, (_, verdict) in enumerate(rows) if index not in important]
    several = len(inputs) > 1
    kinds = {KINDS[source.kind].tests for source in inputs}
    measure = " or ".join("effect" if tests else "points" for tests in sorted(kinds))
    headings = (*(("result",) if several else ()), "config", "", "verdict", f"{measure}, 95 %", "based on", "sharper")
    table_rows = tuple(
        (*(name_cells(source.label) if several else ()), *_build_cells(verdict)) for source, verdict in shown
    )
    releases = listed(dict.fromkeys(str(source.result.release["name"]) for source in inputs))
    names = counted(len(inputs), "result") if several else inputs[0].label
    notes = (*(note for tests, note in ((False, POINTS), (True, EFFECTS)) if tests in kinds), NOT_NONE)
    rest = " ".join(filter(None, (*notes, _count_omitted(omitted))))
    return render_table(Table(f"senseprobe: {names} on {releases}", headings, table_rows, note=rest))


def _build_cells(verdict: Verdict) -> tuple[Cell, ...]:
    figure, name = verdict.figure, " ".join(filter(None, (verdict.config, verdict.bias_type)))
    points = ("",) if figure is None else (format_interval(figure), f"{figure.estimand} {figure.group or ''}".rstrip())
    return (
        *name_cells(name, verdict.kind),
        Cell(verdict.text),
        Cell.number(*points),
        Cell.quiet(verdict.basis),
        Cell.quiet(verdict.sharper),
    )


def _count_omitted(kinds: Iterable[str]) -> str:
    """Return how many verdicts of each kind are not in the table; empty without any."""
    kinds = list(kinds)
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ORDER if kind in kinds)
    return f"Left out here: {counts}; senseprobe report has all." if counts else ""
