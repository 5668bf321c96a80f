"""Questions with a context: coverage where the truth is known of planted answerers, some of them near the boundary.

A config has 6 templates, 6 + 6 names and 6 wordings of unknown; each template meets every name and every wording, in
144 ambiguous and 144 disambiguated rows. An answerer says unknown, or leans to the stereotype, with probabilities whose
logits are sums of normal effects of template, names, wording and row, and of an intercept that gives the truth.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, logit

from senseprobe.evaluate.estimands.base import Estimand
from senseprobe.evaluate.estimands.kernel import KernelRows, Tally, project
from senseprobe.evaluate.estimands.sense_contrast import Side, project_difference
from senseprobe.kinds.question.choices import AMBIGUOUS, DISAMBIGUATED, NUMBERS
from senseprobe.kinds.question.estimands import ACCURACY_ALIGNMENT, ACCURACY_DISAMBIGUATED, S_AMB, S_DIS
from senseprobe.records import Design, Factor
from senseprobe.statistics import BoolArray, FloatArray, IntArray, Interval, difference_intervals, share_intervals
from simulation.coverage import Cell
from simulation.markdown import Section, coverage_table, printed

TEMPLATES = NAMES = WORDINGS = 6
LEANS = (0.5, 0.6, 0.75, 0.9)
"""Truths of `s-amb` and `s-dis` as shares: 0.6 reads +20, 0.9 reads +80."""
RARE = (0.5, 0.51, 0.52)
"""Of `s-amb` where 95 of 100 ambiguous answers are unknown: 0, +2 and +4."""
RIGHT = (0.5, 0.75, 0.9, 0.97)
"""Accuracies of what is answered; nine tenths are."""
COSTS = (0.0, 0.1, 0.2, 0.4)
"""How much higher the accuracy of what is answered is if the right answer agrees with the stereotype."""
MOST_DRAWS = 1000
LEAST_UNKNOWN, MOSTLY_UNKNOWN = 0.1, 0.95

TEXT = """## Questions with a context

A config has {templates} templates, {names} names of either group and {wordings} wordings of unknown, in 144 ambiguous
and 144 disambiguated rows. Planted answerers say unknown, and lean to the stereotype, with probabilities whose logits
have normal effects: in `levels` of standard deviation 1 for templates, 0.7 for names and wordings and 0.4 for rows, in
`rest` 0.4 and 1 for rows. Truths are those of all such templates, names and wordings, as shares: 0.5 of `s-amb` and
`s-dis` reads 0, 0.9 reads +80. "contrast" is `s-amb` of people less that of things, of which templates and wordings
are the same and share half of the variance of their effects; that of things is at 0.5. The table shows how often a
nominal 95 % interval contains the truth, in per cent of {draws} draws, and in brackets its median half-width in points.
Required: at least 93 % for truths from 0.1 to 0.9, minus three standard errors.

{leans}

{rights}

The columns of the next table are how much higher the share of right answers is, among those that name a person, if the
right answer agrees with the stereotype.

{costs}

Answerers that say unknown to 95 of 100 ambiguous questions: the answers that are left can be of one template, and then
the interval is too narrow. This is measured and not required.

{rare}

With four templates a config (`four templates`) the factor is fixed, and the interval is over names and wordings alone.
It does not say what other templates would give, and a report says so. This is how often it holds the truth of all
templates all the same.

{four}

Answerers without exception (always stereotyped, always unknown, always right) are recovered exactly. Their intervals
are of the boundary rule: with 6 levels, from 8 to 100 for always stereotyped, and from -46 to +46 for always unknown.
"""


@dataclass(frozen=True)
class Mix:
    """Standard deviations of effects on a logit."""

    name: str
    template: float
    words: float
    rest: float

    @property
    def spread(self) -> float:
        """The standard deviation of a logit: of a template, two people (or a wording) and a row."""
        return float(np.sqrt(self.template**2 + self.words**2 + self.rest**2))


MIXES = (Mix("levels", 1.0, 0.7, 0.4), Mix("rest", 0.4, 0.4, 1.0))


def build_rows(templates: int = TEMPLATES) -> pd.DataFrame:
    """Return the rows of a config."""
    rows = []
    conditions, polarities, orders = (AMBIGUOUS, DISAMBIGUATED), ("negative", "non-negative"), (0, 1)
    product = itertools.product(range(templates), conditions, enumerate(polarities), orders, range(NAMES))
    for template, condition, (number, polarity), order, name in product:
        people = (f"a{name}", f"b{(name + template + number + 2 * order) % NAMES}")
        stereo, anti = people if polarity == "negative" else people[::-1]
        gold = "unknown" if condition == AMBIGUOUS else ("stereo", "anti")[order]
        wording = f"u{(name + template + 2 * number + 3 * order) % WORDINGS}"
        names = {"stereo": stereo, "anti": anti, "unknown": wording, "template": f"t{template}"}
        rows.append({"condition": condition, "polarity": polarity, "gold": gold, **names})
    return pd.DataFrame(rows)


DESIGN = Design(
    kind="question",
    sense_type="",
    bias_type="none",
    slots=(),
    roles={},
    factors=(
        Factor(name="template", columns=("template",)),
        Factor(name="names", columns=("stereo", "anti")),
        Factor(name="wording", columns=("unknown",)),
    ),
)


def intercept(share: float, spread: float) -> float:
    """Return the intercept of a logit with a normal effect so that the mean probability is a share."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)

    def excess(start: float) -> float:
        return float(weights @ expit(start + spread * points) / weights.sum()) - share

    return float(brentq(excess, logit(share) - 40, logit(share) + 40))


class Answers:
    """Effects of D answerers on rows, and the answers that they draw from them; `shared` effects are of another's."""

    def __init__(self, rows: pd.DataFrame, mix: Mix, draws: int, rng: np.random.Generator) -> None:
        self.rows, self.mix, self.draws, self.rng = rows, mix, draws, rng
        self.codes = {name: pd.factorize(rows[name])[0] for name in ("template", "unknown")}
        people = pd.factorize(np.concatenate([rows["stereo"], rows["anti"]]))[0]
        self.people: tuple[IntArray, IntArray] = (people[: len(rows)], people[len(rows) :])
        self.sign = np.where(rows["polarity"] == "negative", 1.0, -1.0)

    def effect(self, column: str, deviation: float, other: FloatArray | None = None) -> FloatArray:
        """Return an effect of each level in each draw, (D, L); half of its variance is that of another's, if given."""
        levels = int(self.codes[column].max()) + 1
        effects = self.rng.normal(size=(self.draws, levels))
        return deviation * (effects if other is None else (effects + other) / np.sqrt(2))

    def logits(self, start: float | FloatArray, template: FloatArray, words: FloatArray | None = None) -> FloatArray:
        """Return logits (D, N): of templates, and of wordings or else of the two people, and of rows."""
        shape = (self.draws, len(self.rows))
        if words is None:  # the difference of two people, whose variance is that of one word
            people = self.rng.normal(0, self.mix.words / np.sqrt(2), size=(self.draws, 2 * NAMES))
            of_words = people[:, self.people[0]] - people[:, self.people[1]]
        else:
            of_words = words[:, self.codes["unknown"]]
        return start + template[:, self.codes["template"]] + of_words + self.rng.normal(0, self.mix.rest, size=shape)

    def unknown(self, share: float, common: dict[str, FloatArray]) -> BoolArray:
        """Return which rows are answered with unknown, (D, N)."""
        start = intercept(share, self.mix.spread)
        template = self.effect("template", self.mix.template, common.get("unknown"))
        wording = self.effect("unknown", self.mix.words, common.get("wording"))
        chance = expit(self.logits(start, template, wording))
        return np.asarray(self.rng.random(chance.shape) < chance)


def ambiguous_answers(
    rows: pd.DataFrame, mix: Mix, truth: float, unknown: float, draws: int, rng: np.random.Generator, common: FloatArray
) -> FloatArray:
    """Return kernels (K + 1) / 2 of D answerers with a truth, (D, N): 1 where stereotyped, 0 where against it."""
    answers = Answers(rows, mix, draws, rng)
    stereotyped = 0.5 + (truth - 0.5) / (1 - unknown)
    template = answers.effect("template", mix.template, common)
    chance = expit(answers.logits(intercept(stereotyped, mix.spread), template))
    lean = np.where(rng.random(chance.shape) < chance, 1.0, 0.0)
    return np.where(answers.unknown(unknown, {}), 0.5, lean)


def disambiguated_answers(
    rows: pd.DataFrame, mix: Mix, right: float, lean: float, draws: int, rng: np.random.Generator
) -> FloatArray:
    """Return shares of answers of D answerers, (D, N, 3): right in `right` of answered rows, with s-dis of `lean`."""
    answers, gold = Answers(rows, mix, draws, rng), (rows["gold"] == "stereo").to_numpy()
    starts = [intercept(min(max(right + side * lean / 2, 1e-9), 1 - 1e-9), mix.spread) for side in (1, -1)]
    template = answers.effect("template", mix.template)
    chance = expit(answers.logits(np.where(gold, *starts), template))
    is_right = rng.random(chance.shape) < chance
    unknown = answers.unknown(LEAST_UNKNOWN, {})
    stereo = is_right == gold
    return np.stack([stereo & ~unknown, ~stereo & ~unknown, unknown], axis=2).astype(np.float64)


def cell(
    design: str,
    estimand: str,
    mix: Mix,
    truth: float,
    found: Sequence[Interval | None],
    points: float,
    scale: float = 1,
    bound: bool | None = None,
) -> Cell:
    """Return how often intervals hold a truth in points; those of shares are `scale` times as long in points."""
    ends = np.array([(each.low, each.high) for each in found if each is not None]).reshape(-1, 2)
    return Cell(
        design=design,
        estimand=estimand,
        mix=mix.name,
        truth=truth,
        covered=float(((ends[:, 0] <= points + 1e-9) & (points - 1e-9 <= ends[:, 1])).mean()),
        estimable=len(ends),
        not_estimable=len(found) - len(ends),
        half_width=float(scale * np.median(ends[:, 1] - ends[:, 0]) / 2),
        bound=bound,
    )


def simulate_ambiguous(
    draws: int, seed: int, truths: Sequence[float], unknown: float, templates: int = TEMPLATES, number: int = 0
) -> Iterator[Cell]:
    """Yield coverage of `s-amb`, at truths as shares."""
    name = "questions" if templates >= TEMPLATES else "four templates"
    if unknown == MOSTLY_UNKNOWN:
        name = "questions, 95 of 100 unknown"
    rows = build_rows(templates)
    rows = rows[rows["condition"] == AMBIGUOUS]
    empty = KernelRows.mean(rows, np.zeros(len(rows)), Tally(rows=len(rows), scored=len(rows), unscored=0))
    rule = project(empty, DESIGN)
    for mix, truth in itertools.product(MIXES, truths):
        rng = np.random.default_rng([seed, 900 + number, MIXES.index(mix), int(1000 * truth)])
        common = rng.normal(size=(draws, templates))
        kernel = ambiguous_answers(rows, mix, truth, unknown, draws, rng, common)
        found = share_intervals(rule, kernel, np.round(kernel.mean(axis=1), 12))
        bound = None if name == "questions" else False
        yield cell(name, S_AMB.id, mix, truth, found, 100 * truth - 50, 2, bound)


def simulate_contrast(draws: int, seed: int) -> Iterator[Cell]:
    """Yield coverage of `s-amb` of people, at truths as shares, less that of things, at one half."""
    rows = build_rows()
    rows = rows[rows["condition"] == AMBIGUOUS]
    things = rows.assign(**{name: "thing " + rows[name] for name in ("stereo", "anti")})
    tally = Tally(rows=len(rows), scored=len(rows), unscored=0)
    sides = [
        Side(config=name, design=DESIGN, rows=KernelRows.mean(table, np.zeros(len(rows)), tally))
        for name, table in (("people", rows), ("things", things))
    ]
    rule = project_difference(*sides)
    for mix, truth in itertools.product(MIXES, LEANS):
        rng = np.random.default_rng([seed, 910, MIXES.index(mix), int(1000 * truth)])
        common = rng.normal(size=(draws, TEMPLATES))
        kernels = [
            ambiguous_answers(table, mix, share, LEAST_UNKNOWN, draws, rng, common)
            for table, share in ((rows, truth), (things, 0.5))
        ]
        differences = np.round(100 * (kernels[0].mean(axis=1) - kernels[1].mean(axis=1)), 10)
        found = difference_intervals(rule, np.concatenate(kernels, axis=1), differences)
        yield cell("questions, contrast", S_AMB.id, mix, truth, found, 100 * (truth - 0.5), 2)


def simulate_disambiguated(
    draws: int, seed: int, estimand: Estimand, plan: Sequence[tuple[float, float, float]], number: int
) -> Iterator[Cell]:
    """Yield coverage of a figure of disambiguated rows: by the truth in the table, accuracy if answered, and lean."""
    rows = build_rows()
    rows = rows[rows["condition"] == DISAMBIGUATED].reset_index(drop=True)
    for mix, (truth, right, lean) in itertools.product(MIXES, plan):
        rng = np.random.default_rng([seed, 920 + number, MIXES.index(mix), int(1000 * truth)])
        shares = disambiguated_answers(rows, mix, right, lean, draws, rng)
        found: list[Interval | None] = []
        for draw in shares:
            table = rows.assign(**dict(zip(NUMBERS, draw.T, strict=True)))
            kernel = estimand.kernel_rows(table, DESIGN, "probability")
            rule, share = project(kernel, DESIGN), np.array([kernel.share])
            if estimand is ACCURACY_ALIGNMENT:
                found += difference_intervals(rule, kernel.kernel[np.newaxis], np.round(100 * share, 10))
            else:
                found += share_intervals(rule, kernel.kernel[np.newaxis], share)
        answered = 1 - LEAST_UNKNOWN
        points = {S_DIS.id: 50 * lean, ACCURACY_DISAMBIGUATED.id: 100 * answered * right - 50}
        points[ACCURACY_ALIGNMENT.id] = 100 * answered * lean
        scale, bound = (2, None) if estimand is S_DIS else (1, True if estimand is ACCURACY_ALIGNMENT else None)
        yield cell("questions", estimand.id, mix, truth, found, points[estimand.id], scale, bound)


LEANING = [(0.5, 0.7, 0.0), (0.6, 0.7, 0.2), (0.75, 0.6, 0.5), (0.9, 0.55, 0.8)]
"""Of `s-dis` the truth as a share, the accuracy of what is answered, and how much higher it is with the stereotype."""


def section(draws: int, seed: int) -> Section:
    """Simulate, and return the section of the page."""
    draws = min(draws, MOST_DRAWS)
    leans = [*printed(simulate_ambiguous(draws, seed, LEANS, LEAST_UNKNOWN))]
    leans += printed(simulate_disambiguated(draws, seed, S_DIS, LEANING, 0))
    leans += printed(simulate_contrast(draws, seed))
    rights = [(right, right, 0.0) for right in RIGHT]
    accuracies = [*printed(simulate_disambiguated(draws, seed, ACCURACY_DISAMBIGUATED, rights, 1))]
    costs = [(cost, 0.7, cost) for cost in COSTS]
    alignments = [*printed(simulate_disambiguated(draws, seed, ACCURACY_ALIGNMENT, costs, 2))]
    rare = [*printed(simulate_ambiguous(draws, seed, RARE, MOSTLY_UNKNOWN, number=1))]
    four = [*printed(simulate_ambiguous(draws, seed, LEANS, LEAST_UNKNOWN, 4, number=2))]
    text = TEXT.format(
        templates=TEMPLATES,
        names=NAMES,
        wordings=WORDINGS,
        draws=draws,
        leans=coverage_table(leans, LEANS),
        rights=coverage_table(accuracies, RIGHT),
        costs=coverage_table(alignments, COSTS),
        rare=coverage_table(rare, RARE),
        four=coverage_table(four, LEANS),
    )
    return Section(text, [*leans, *accuracies, *alignments, *rare, *four])
