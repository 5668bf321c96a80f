"""Questions with a context: coverage where the truth is known of planted answerers, some of them near the boundary.

The design is that of the dataset `questions`: a config has 6 templates, 6 names of either group, and 6 wordings of
unknown, of which a template has 2 by 2 names and 2 wordings, in 192 ambiguous and 192 disambiguated rows. An answerer
says unknown, or leans to the stereotype, with probabilities whose logits are sums of normal effects of template, names,
wording and row, and of an intercept that gives the truth.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, logit

from senseprobe.evaluate.estimands.base import Estimand
from senseprobe.evaluate.estimands.kernel import KernelRows, Tally
from senseprobe.evaluate.estimands.sense_contrast import Side, project_difference
from senseprobe.kinds.question.columns import AMBIGUOUS, DISAMBIGUATED, FACTORS, SCORES
from senseprobe.kinds.question.estimands import ACCURACY_ALIGNMENT, ACCURACY_DISAMBIGUATED, S_AMB, S_DIS
from senseprobe.records import Design
from senseprobe.statistics import BoolArray, FloatArray, Interval, difference_intervals, share_intervals
from simulation.coverage import Cell
from simulation.markdown import Section, coverage_table, printed

TEMPLATES = 6
NAMES, WORDINGS = 6, 6
SETS = (0, 1, 2, 1, 2, 0)
"""Which wordings each template has: the first two, the next, or the last."""

LEANS = (0.5, 0.6, 0.75, 0.9)
"""Truths of `s-amb` and `s-dis` as shares: 0.6 reads +20, 0.9 reads +80."""
LEANING = ((0.5, 0.7, 0.0), (0.6, 0.7, 0.2), (0.75, 0.6, 0.5), (0.9, 0.55, 0.8))
"""Of disambiguated rows: the truth of `s-dis`, how many of the answered rows are right, and `s-dis` from -1 to 1."""
RIGHT = (0.5, 0.75, 0.9, 0.97)
"""Truths of `accuracy-disambiguated` of answered rows."""
RARE = (0.5, 0.51, 0.52)
"""Of `s-amb` where 95 of 100 ambiguous answers are unknown: 0, +2 and +4."""
LEAST_UNKNOWN, MOSTLY_UNKNOWN = 0.1, 0.95

TEXT = """## Questions with a context

The design is that of `questions`: a config has 6 templates, 6 names of either group and 6 wordings of unknown, in 192
ambiguous and 192 disambiguated rows. Planted answerers say unknown (in 10 of 100 rows), and lean to the stereotype,
with probabilities whose logits have normal effects: in `levels` of standard deviation 1 for templates, 0.7 for names
and wordings and 0.4 for rows; in `rest` 0.4, 0.4 and 1. Truths are those of all such templates, names and wordings, as
shares: 0.5 of `s-amb` and `s-dis` reads 0, 0.9 reads +80. "people - things" is the contrast of `s-amb`: templates and
wordings are the same, and templates share half of the variance of their effects; the truth of things is 0.5. The tables
show how often a nominal 95 % interval contains the truth, in per cent of {draws} draws, and in brackets its median
half-width in points. Required: at least 93 % for truths from 0.1 to 0.9, minus three standard errors.

{leans}

The truth of `accuracy-disambiguated` here is of the rows that are answered.

{rights}

### What is only measured

These answerers say unknown to 95 of 100 ambiguous questions. In `one template` the standard deviation of templates is
3: the few answers that are left are of one or two templates. An interval over six templates cannot know of others, and
is then too narrow. Read `accuracy-ambiguous` first: where it is above 90, say that few answers were to be had.

{rare}

With four templates a config, the factor is fixed: the interval is over names and wordings alone, and reports say so.
How often it holds the truth of all templates all the same, because each template of this design has names and wordings
that few others have, which carry part of its effect:

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
CLUMPED = Mix("one template", 3.0, 0.4, 0.4)


def build_rows(condition: str, templates: int = TEMPLATES, things: str = "") -> pd.DataFrame:
    """Return the rows of a condition of a config; names of `things` begin with that."""
    rows = []
    product = itertools.product(range(templates), (1, -1), (0, 1), *(range(2) for _ in ("target", "other", "wording")))
    for template, polarity, order, target, other, wording in product:
        first = 2 * (template % 3)
        people = [f"{things}old {first + target}", f"{things}young {first + other}"]
        people = people[:: polarity * (1 if template < TEMPLATES // 2 else -1)]
        gold = "unknown" if condition == AMBIGUOUS else ("stereo", "anti")[order]
        names = {"stereo": people[0], "anti": people[1], "unknown": f"u{2 * SETS[template] + wording}"}
        negative = "negative" if polarity > 0 else "non-negative"
        rows.append({"condition": condition, "polarity": negative, "gold": gold, "template": f"t{template}", **names})
    return pd.DataFrame(rows)


DESIGN = Design(kind="question", sense_type="", bias_type="none", slots=(), roles={}, factors=FACTORS)


def intercept(share: float, spread: float) -> float:
    """Return the intercept of a logit with a normal effect so that the mean probability is a share."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)

    def miss(start: float) -> float:
        return float(weights @ expit(start + spread * points) / weights.sum()) - share

    return float(brentq(miss, logit(share) - 40, logit(share) + 40))


class Answers:
    """What decides the answers of D answerers to rows: effects of levels, and draws."""

    def __init__(self, rows: pd.DataFrame, mix: Mix, draws: int, rng: np.random.Generator) -> None:
        self.mix, self.draws, self.rng, self.count = mix, draws, rng, len(rows)
        self.templates, self.wordings = (pd.factorize(rows[name])[0] for name in ("template", "unknown"))
        people = pd.factorize(np.concatenate([rows["stereo"], rows["anti"]]))[0]
        self.people = (people[: len(rows)], people[len(rows) :])

    def normal(self, levels: int) -> FloatArray:
        """Return an effect of each level in each draw, (D, L), of standard deviation 1."""
        return self.rng.normal(size=(self.draws, levels))

    def leans(self, start: float | FloatArray, template: FloatArray) -> BoolArray:
        """Return whether answers agree with the stereotype, (D, N): by template, the two people, and the row."""
        people = self.mix.words / np.sqrt(2) * self.normal(2 * NAMES)
        logits = start + self.mix.template * template[:, self.templates] + people[:, self.people[0]]
        return self._happens(logits - people[:, self.people[1]])

    def unknown(self, share: float) -> BoolArray:
        """Return which rows are answered with unknown, (D, N): by template, wording and row."""
        template, wording = self.normal(TEMPLATES)[:, self.templates], self.normal(WORDINGS)[:, self.wordings]
        start = intercept(share, self.mix.spread)
        return self._happens(start + self.mix.template * template + self.mix.words * wording)

    def _happens(self, logits: FloatArray) -> BoolArray:
        chance = expit(logits + self.mix.rest * self.normal(self.count))
        return np.asarray(self.rng.random(chance.shape) < chance)


def ambiguous_answers(answers: Answers, truth: float, unknown: float, common: FloatArray | None = None) -> FloatArray:
    """Return kernels (K + 1) / 2 of D answerers with a truth, (D, N): 1 where stereotyped, 0 where against it.

    Half of the variance of templates is that of the effects in `common`, (D, L), if there are any.
    """
    template = answers.normal(TEMPLATES)
    template = template if common is None else (template + common) / np.sqrt(2)
    stereotyped = intercept(0.5 + (truth - 0.5) / (1 - unknown), answers.mix.spread)
    return np.where(answers.unknown(unknown), 0.5, np.where(answers.leans(stereotyped, template), 1.0, 0.0))


def disambiguated_answers(answers: Answers, gold: BoolArray, right: float, lean: float) -> FloatArray:
    """Return shares of answers of D answerers, (D, N, 3): right in `right` of the answered rows, with s-dis of `lean`.

    `gold`: whether the right answer is the stereotyped one, (N,).
    """
    starts = [intercept(share, answers.mix.spread) for share in (right + lean / 2, 1 - right + lean / 2)]
    stereo = answers.leans(np.where(gold, *starts), answers.normal(TEMPLATES))
    unknown = answers.unknown(LEAST_UNKNOWN)
    return np.stack([stereo & ~unknown, ~stereo & ~unknown, unknown], axis=2).astype(np.float64)


def build_cell(
    design: str, figure: tuple[str, float], mix: Mix, truth: float, found: Sequence[Interval | None], points: float
) -> Cell:
    """Return how often intervals hold a truth in points; those of shares are `figure`'s number times as long."""
    ends = np.array([(each.low, each.high) for each in found if each is not None]).reshape(-1, 2)
    return Cell(
        design=design,
        estimand=figure[0],
        mix=mix.name,
        truth=truth,
        covered=float(((ends[:, 0] <= points + 1e-9) & (points - 1e-9 <= ends[:, 1])).mean()),
        estimable=len(ends),
        not_estimable=len(found) - len(ends),
        half_width=float(figure[1] * np.median(ends[:, 1] - ends[:, 0]) / 2),
        bound=design in REQUIRED,
    )


REQUIRED = ("questions", "people - things")
TWICE, ONCE = 2.0, 1.0


def _without_answers(rows: pd.DataFrame) -> KernelRows:
    tally = Tally(rows=len(rows), scored=len(rows), unscored=0)
    return KernelRows.mean(rows, np.zeros(len(rows)), tally)


def simulate_ambiguous(
    draws: int, seed: int, truths: Sequence[float], name: str = "questions", mixes: Sequence[Mix] = MIXES
) -> Iterator[Cell]:
    """Yield coverage of `s-amb`, at truths as shares; the `name` says of which design, and of which answerers."""
    rows = build_rows(AMBIGUOUS, FOUR if name == FEW_TEMPLATES else TEMPLATES)
    rule = _without_answers(rows).project(DESIGN)
    unknown = MOSTLY_UNKNOWN if name == FEW_ANSWERS else LEAST_UNKNOWN
    for mix, truth in itertools.product(mixes, truths):
        rng = np.random.default_rng([seed, 900, *map(ord, name + mix.name), int(1000 * truth)])
        kernel = ambiguous_answers(Answers(rows, mix, draws, rng), truth, unknown)
        found = share_intervals(rule, kernel, np.round(kernel.mean(axis=1), 12))
        yield build_cell(name, (S_AMB.id, TWICE), mix, truth, found, 100 * truth - 50)


FOUR = 4
FEW_TEMPLATES, FEW_ANSWERS = "four templates", "95 of 100 unknown"


def simulate_contrast(draws: int, seed: int) -> Iterator[Cell]:
    """Yield coverage of `s-amb` of people, at truths as shares, less that of things, at one half."""
    tables = {"people": build_rows(AMBIGUOUS), "things": build_rows(AMBIGUOUS, things="thing ")}
    sides = [Side(config=name, design=DESIGN, rows=_without_answers(table)) for name, table in tables.items()]
    rule = project_difference(*sides)
    for mix, truth in itertools.product(MIXES, LEANS):
        rng = np.random.default_rng([seed, 901, *map(ord, mix.name), int(1000 * truth)])
        common = rng.normal(size=(draws, TEMPLATES))
        kernels = [
            ambiguous_answers(Answers(table, mix, draws, rng), share, LEAST_UNKNOWN, common)
            for table, share in zip(tables.values(), (truth, 0.5), strict=True)
        ]
        differences = np.round(100 * (kernels[0].mean(axis=1) - kernels[1].mean(axis=1)), 10)
        found = difference_intervals(rule, np.concatenate(kernels, axis=1), differences)
        yield build_cell("people - things", (S_AMB.id, TWICE), mix, truth, found, 100 * (truth - 0.5))


def ratio_intervals(rows: pd.DataFrame, shares: FloatArray) -> Iterator[Interval | None]:
    """Yield the interval of `s-dis` of each draw: its weights are the model's."""
    for draw in shares:
        kernel = S_DIS.kernel_rows(rows.assign(**dict(zip(SCORES, draw.T, strict=True))), DESIGN, "probability")
        yield from share_intervals(kernel.project(DESIGN), kernel.kernel[np.newaxis], np.array([kernel.share]))


def fixed_intervals(rows: pd.DataFrame, shares: FloatArray, estimand: Estimand) -> Iterator[Interval | None]:
    """Yield the interval of a figure of right answers of each draw: their weights are the rows'."""
    first = estimand.kernel_rows(rows.assign(**dict(zip(SCORES, shares[0].T, strict=True))), DESIGN, "probability")
    kernel = np.where(rows["gold"] == "stereo", shares[..., 0], shares[..., 1])
    figures, rule = np.round(kernel @ first.weights, 12), first.project(DESIGN)
    of_shares = estimand is ACCURACY_DISAMBIGUATED
    yield from (
        share_intervals(rule, kernel, figures)
        if of_shares
        else difference_intervals(rule, kernel, np.round(100 * figures, 10))
    )


def simulate_disambiguated(
    draws: int, seed: int, estimand: Estimand, plan: Sequence[tuple[float, float, float]]
) -> Iterator[Cell]:
    """Yield coverage of a figure of disambiguated rows; a `plan` is as LEANING is."""
    rows = build_rows(DISAMBIGUATED)
    for mix, (truth, right, lean) in itertools.product(MIXES, plan):
        rng = np.random.default_rng([seed, 902, *map(ord, estimand.id + mix.name), int(1000 * truth)])
        gold = (rows["gold"] == "stereo").to_numpy(dtype=np.bool_)
        shares = disambiguated_answers(Answers(rows, mix, draws, rng), gold, right, lean)
        found = ratio_intervals(rows, shares) if estimand is S_DIS else fixed_intervals(rows, shares, estimand)
        answered = 1 - LEAST_UNKNOWN
        points = {
            S_DIS.id: 50 * lean,
            ACCURACY_DISAMBIGUATED.id: 100 * answered * right - 50,
            ACCURACY_ALIGNMENT.id: 100 * answered * lean,
        }
        scale = TWICE if estimand is S_DIS else ONCE
        yield build_cell("questions", (estimand.id, scale), mix, truth, [*found], points[estimand.id])


def section(draws: int, seed: int) -> Section:
    """Simulate, and return the section of the page."""
    leans = [
        *printed(simulate_ambiguous(draws, seed, LEANS)),
        *printed(simulate_disambiguated(draws, seed, S_DIS, LEANING)),
        *printed(simulate_disambiguated(draws, seed, ACCURACY_ALIGNMENT, LEANING)),
        *printed(simulate_contrast(draws, seed)),
    ]
    accuracies = [(right, right, 0.0) for right in RIGHT]
    rights = [*printed(simulate_disambiguated(draws, seed, ACCURACY_DISAMBIGUATED, accuracies))]
    rare = [*printed(simulate_ambiguous(draws, seed, RARE, FEW_ANSWERS, (*MIXES, CLUMPED)))]
    four = [*printed(simulate_ambiguous(draws, seed, LEANS[:-1], FEW_TEMPLATES))]
    text = TEXT.format(
        draws=draws,
        leans=coverage_table(leans, LEANS),
        rights=coverage_table(rights, RIGHT),
        rare=coverage_table(rare, RARE),
        four=coverage_table(four, LEANS[:-1]),
    )
    return Section(text, [*leans, *rights])
