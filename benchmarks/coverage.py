"""How often the 95 % intervals of `senseprobe.evaluate.estimands` hold the truth, by simulation on sssb's designs.

A model is drawn anew each time: a crossed random-effects probit, in which every level of every factor has a normal
effect and a pair is won where the sum of its effects is positive. So the true figure is a normal integral in closed
form, and the code under test computes weights, variance and interval as it does for real scores.

    python benchmarks/coverage.py [--draws 2000] [--seed 0] [--write docs/coverage.md]

Exits 1 where a cell with a truth in [0.1, 0.9] covers less than 93 %, Monte-Carlo error of
three standard errors allowed.
"""

import argparse
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from senseprobe.evaluate.estimands import kernel_rows
from senseprobe.evaluate.estimands.kernels import project
from senseprobe.evaluate.estimands.matched import Side, project_difference
from senseprobe.evaluate.estimands.preference import exact_hits
from senseprobe.records import Design, Factor
from senseprobe.statistics import (
    FloatArray,
    bounded_interval,
    clopper_pearson,
    difference_interval,
)

PAGE = """# Coverage of the intervals

Written by `python benchmarks/coverage.py --draws {draws} --seed {seed} --write docs/coverage.md`; do not edit.

How often a nominal 95 % interval holds the truth, in per cent, and in brackets its median half-width in points. Truths
are shares on [0, 1]: 0.5 is neutral, 0.96 reads 46 points. For a contrast of two senses the truth is that of the first,
and the second stands at 0.5. Each of the {draws} draws of a cell is a new model, in which every level of every factor
has a normal effect: in the mix `levels` (standard deviation 1, interactions and noise 0.4) the words decide, in `rest`
(0.4 and 1) their combinations do (on race there are none: a pair is the difference of two sentences). Nurse, the one
occupation typed female, is fixed, and so is every occupation of the verb design: an interval is held against the truth
given their effects, and the column names the truth before them.

Asked for: at least 93 % for truths from 0.1 to 0.9, less a Monte-Carlo error of three standard errors ({error:.1f}
points here). The columns beyond are measured and printed. "none" says how often there was no interval to give: no level
differed from another, and senseprobe says "interval not estimable".

{table}
"""

TRUTHS = (0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 0.96)
ASKED, ASKED_RANGE = 0.93, (0.1, 0.9)
CLASSES = dict.fromkeys(("engineer", "carpenter", "guide", "mentor", "judge"), "male") | {"nurse": "female"}
CONTESTED = ("good00", "good01", "bad00", "bad01")
FRAMES = {"engineer": 24, "carpenter": 22, "guide": 22, "mentor": 20, "judge": 22, "nurse": 22}


@dataclass(frozen=True)
class Mix:
    """Standard deviations of the effects of levels, and of what is left (interactions and noise)."""

    name: str
    level: float
    rest: float


MIXES = (Mix("levels", 1.0, 0.4), Mix("rest", 0.4, 1.0))
Draw = tuple[FloatArray, FloatArray]
"""Kernel, shape (D, N), and the true figure on [0, 1], shape (D,)."""


@dataclass(frozen=True)
class Cell:
    """What was seen on one design at one truth."""

    design: str
    estimand: str
    mix: str
    truth: float
    covered: float
    estimable: int
    not_estimable: int
    half_width: float

    @property
    def error(self) -> float:
        """Monte-Carlo standard error of a coverage of 93 % from as many intervals."""
        return math.sqrt(ASKED * (1 - ASKED) / max(1, self.estimable))

    @property
    def asked(self) -> bool:
        """Whether the truth lies where the coverage is asked for."""
        return ASKED_RANGE[0] <= self.truth <= ASKED_RANGE[1]

    @property
    def holds(self) -> bool:
        """Whether the coverage is what is asked, less three standard errors."""
        return not self.asked or self.covered >= ASKED - 3 * self.error


# --- tables of pairs, as a release has them -------------------------------------------------------------------------


def product(**slots: Sequence[str]) -> pd.DataFrame:
    """Cross product of slots, the last varying fastest, with the columns that every contrast config has."""
    rows = pd.DataFrame(list(itertools.product(*slots.values())), columns=list(slots), dtype=object)
    return complete(rows)


def complete(rows: pd.DataFrame) -> pd.DataFrame:
    """Columns that the estimands read, where a design does not set them itself."""
    given = {
        "frame": "f",
        "label_basis": "trait",
        "contested": False,
        "stereo_value": "he",
        "anti_value": "she",
        "valence": None,
        "stereotype": None,
        "minimal": True,
        "stereo_score": 1.0,
        "anti_score": 0.0,
    }
    missing = {column: [value] * len(rows) for column, value in given.items() if column not in rows}
    return pd.concat([rows, pd.DataFrame(missing)], axis=1)


def words(prefix: str, count: int) -> list[str]:
    """Invented words: good00, good01 ..."""
    return [f"{prefix}{i:02d}" for i in range(count)]


def design(*factors: str | Factor, slots: Sequence[str], strata: Mapping[str, str] | None = None) -> Design:
    """Contrast design with the factors, each in a column of its own name where a name is all that is given."""
    return Design(
        kind="contrast",
        sense_type="simulated",
        bias_type="simulated",
        slots=tuple(slots),
        roles={},
        differs="evaluative",
        factors=tuple(f if isinstance(f, Factor) else Factor(name=f, columns=(f,)) for f in factors),
        strata=strata or {},
    )


def occupations(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the class of their occupation."""
    return rows.assign(stereotype=rows["occupation"].map(CLASSES))


def noun() -> pd.DataFrame:
    """Six occupations with 14 pleasant and 17 unpleasant qualities; four of nurse's are contested."""
    rows = occupations(product(occupation=list(CLASSES), quality=words("good", 14) + words("bad", 17)))
    contested = rows["occupation"].eq("nurse") & rows["quality"].isin(CONTESTED)
    valence = np.where(rows["quality"].str.startswith("good"), "pleasant", "unpleasant")
    return rows.assign(valence=valence.astype(object), contested=contested)


def verb() -> pd.DataFrame:
    """132 frames, each of one occupation."""
    held = [(occupation, f"{occupation}{i}") for occupation, count in FRAMES.items() for i in range(count)]
    return occupations(complete(pd.DataFrame(held, columns=["occupation", "frame"], dtype=object)))


COLOUR = design(
    Factor(name="noun", columns=("noun_stereo", "noun_anti")),
    "good",
    "bad",
    slots=("noun_stereo", "noun_anti", "good", "bad"),
)
NOUN = design(
    "occupation",
    "quality",
    slots=("occupation", "quality"),
    strata={"stereotype": "occupation", "valence": "quality"},
)
BARE = design("occupation", "frame", slots=("occupation",), strata={"stereotype": "occupation"})
VERB = design("frame", slots=("occupation",), strata={"stereotype": "occupation"})


def colour() -> pd.DataFrame:
    """Five nouns for each member of a pair, five pleasant and five unpleasant words."""
    nouns = words("noun", 5)
    return product(noun_stereo=nouns, noun_anti=nouns, good=words("good", 5), bad=words("bad", 5))


# --- models with a known truth --------------------------------------------------------------------------------------


class Effects:
    """Random effects of the levels that the rows of a table hold, drawn anew in each of D draws."""

    def __init__(self, rng: np.random.Generator, draws: int) -> None:
        self._rng = rng
        self.draws = draws

    def levels(self, deviation: float, count: int) -> FloatArray:
        """Effects of some levels, shape (D, count)."""
        return self._rng.normal(0, deviation, (self.draws, count))

    def of(self, deviation: float, rows: pd.DataFrame, *columns: str) -> FloatArray:
        """Effects of the combinations of levels in the columns, for each row: shape (D, N)."""
        codes = rows.groupby(list(columns), sort=True).ngroup().to_numpy()
        return self.levels(deviation, int(codes.max()) + 1)[:, codes]


def won(latent: FloatArray) -> FloatArray:
    """Kernel of latent differences: 1 where positive."""
    return (latent > 0).astype(np.float64)


def nationality_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Every sentence (nation, word) has its score; a pair is a difference of two and has no noise of its own."""
    latent = effects.of(mix.level / 2, rows, "nation")
    for word in ("bad", "good"):
        latent = latent + effects.of(mix.level, rows, word) + effects.of(mix.rest, rows, "nation", word)
    deviation = math.sqrt(2.25 * mix.level**2 + 2 * mix.rest**2)
    return won(latent + deviation * ndtri(truth)), np.full(effects.draws, truth)


def race_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """One group, which is fixed: a pair is won where the bad word's score is above the good word's."""
    latent = effects.of(mix.level, rows, "bad") + effects.of(mix.level, rows, "good")
    return won(latent + math.sqrt(2) * mix.level * ndtri(truth)), np.full(effects.draws, truth)


def colour_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Nouns' own effects cancel in a pair of the same noun, so the truth mixes a fifth and four fifths of the pairs."""
    stereo, anti = (rows[f"noun_{role}"].str[4:].astype(int).to_numpy() for role in ("stereo", "anti"))
    own = effects.levels(mix.level, 5)
    latent = own[:, stereo] - own[:, anti]
    for noun, word in (("noun_stereo", "bad"), ("noun_anti", "good")):
        latent = latent + effects.of(mix.level, rows, word) + effects.of(mix.rest, rows, noun, word)
        latent = latent + effects.of(mix.level / 2, rows, noun)
    same = math.sqrt(2.5 * mix.level**2 + 2 * mix.rest**2)
    crossed = math.sqrt(same**2 + 2 * mix.level**2)
    shift = brentq(lambda mu: ndtr(mu / same) / 5 + 4 * ndtr(mu / crossed) / 5 - truth, -20, 20)
    return won(latent + shift), np.full(effects.draws, truth)


def verb_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Occupations are fixed, so the truth is that of the six that were drawn."""
    centre = effects.of(mix.level, rows, "occupation") + math.hypot(mix.level, mix.rest) * ndtri(truth)
    latent = centre + effects.levels(mix.rest, len(rows))
    return won(latent), np.asarray(ndtr(centre / mix.rest)).mean(axis=1)


def noun_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """Nurse is fixed with the effects that she has, the male-typed occupations and the qualities are samples."""
    row = Occupational(rows, effects, mix, "quality")
    deviation = row.deviation * ndtri(truth)
    nurse = row.nurse.mean()
    of_nurse = ndtr((deviation + row.centre) / row.inner)[:, row.nurse].mean(axis=1)
    return won(row.latent + deviation), (1 - nurse) * truth + nurse * of_nurse


def pronoun_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """As much preference for 'he' in male-typed occupations as for 'she' with nurse, but for nurse's own effects."""
    column = "quality" if "quality" in rows else "frame"
    return Occupational(rows, effects, mix, column).pronoun(truth)


class Occupational:
    """Latent effects of an occupation (and its praise and blame), of what it is combined with, and of each pair."""

    def __init__(
        self, rows: pd.DataFrame, effects: Effects, mix: Mix, column: str, shared: FloatArray | None = None
    ) -> None:
        own = effects.of(mix.level, rows, "occupation") if shared is None else shared
        valence = effects.of(mix.rest, rows.fillna({"valence": ""}), "occupation", "valence")
        self.nurse = rows["occupation"].eq("nurse").to_numpy()
        self.centre = own + valence
        self.inner = math.hypot(mix.level, mix.rest)
        self.deviation = math.sqrt(2 * mix.level**2 + 2 * mix.rest**2)
        self.latent = self.centre + effects.of(mix.level, rows, column) + effects.levels(mix.rest, len(rows))
        self.pleasant = rows["valence"].ne("unpleasant").to_numpy()

    def pronoun(self, truth: float) -> Draw:
        """Kernel H, and the truth of `pronoun-stereotype` given the effects of nurse."""
        shift = self.deviation * ndtri(truth)
        halves = [self.nurse & half for half in (self.pleasant, ~self.pleasant) if half.any()]
        centres = [self.centre[:, np.flatnonzero(half)[0]] for half in halves]
        nurse = np.mean([ndtr((centre - shift) / self.inner) for centre in centres], axis=0)
        return won(self.latent + np.where(self.nurse, -shift, shift)), 0.5 + 0.5 * (truth - nurse)


def race_colour_model(sides: Sequence[Side], effects: Effects, truth: float, mix: Mix) -> tuple[Draw, Draw]:
    """Words have an effect that both senses share and one of each sense; the second sense stands at one half."""
    race, colour = (side.rows.table for side in sides)
    both = pd.concat([race, colour], ignore_index=True)
    shared = effects.of(mix.level, both, "bad") + effects.of(mix.level, both, "good")
    own = [effects.of(mix.rest, rows, "bad") + effects.of(mix.rest, rows, "good") for rows in (race, colour)]
    nouns = effects.of(mix.level / 2, colour, "noun_stereo") + effects.levels(mix.rest, len(colour))
    deviation = math.sqrt(2 * mix.level**2 + 2 * mix.rest**2)
    first = won(shared[:, : len(race)] + own[0] + deviation * ndtri(truth))
    second = won(shared[:, len(race) :] + own[1] + nouns)
    return (first, np.full(effects.draws, truth)), (second, np.full(effects.draws, 0.5))


def noun_verb_model(sides: Sequence[Side], effects: Effects, truth: float, mix: Mix) -> tuple[Draw, Draw]:
    """Occupations have an effect that both senses share and one of each sense; the second sense stands at one half."""
    noun, verb = (side.rows.table for side in sides)
    both = effects.of(mix.level, pd.concat([noun, verb], ignore_index=True), "occupation")
    first = Occupational(noun, effects, mix, "frame", shared=both[:, : len(noun)]).pronoun(truth)
    second = Occupational(verb, effects, mix, "frame", shared=both[:, len(noun) :]).pronoun(0.5)
    return first, second


def fixed_pronoun_model(rows: pd.DataFrame, effects: Effects, truth: float, mix: Mix) -> Draw:
    """All occupations are fixed: the truth is that of the six that were drawn, and frames alone are a sample."""
    sign = np.where(rows["occupation"].eq("nurse"), -1.0, 1.0)
    centre = effects.of(mix.level, rows, "occupation") + sign * math.hypot(mix.level, mix.rest) * ndtri(truth)
    share = pd.DataFrame(np.asarray(ndtr(centre / mix.rest)).T).groupby(rows["occupation"]).first()
    male = share.drop("nurse").mean().to_numpy()
    kernel = won(centre + effects.levels(mix.rest, len(rows)))
    return kernel, 0.5 + 0.5 * (male - share.loc["nurse"].to_numpy())


# --- what is simulated ----------------------------------------------------------------------------------------------

Model = Callable[[pd.DataFrame, Effects, float, Mix], Draw]
PairModel = Callable[[Sequence[Side], Effects, float, Mix], tuple[Draw, Draw]]
Intervals = tuple[list[tuple[float, float] | None], FloatArray]
"""Intervals and truths in points, one per draw."""


@dataclass(frozen=True)
class Study:
    """One figure of one config."""

    name: str
    estimand: str
    rows: pd.DataFrame
    design: Design
    model: Model

    def intervals(self, effects: Effects, truth: float, mix: Mix) -> Intervals:
        """Intervals of D draws."""
        rows = kernel_rows(self.rows, self.design, self.estimand)
        rule = project(rows, self.design)
        kernel, truths = self.model(rows.table, effects, truth, mix)
        if exact_hits(rows, self.design) is not None and self.estimand == "preference-half":
            made = [clopper_pearson(int(hits), kernel.shape[1]) for hits in kernel.sum(axis=1)]
            return list(made), 100 * truths - 50
        shares = np.round(rows.offset + kernel @ rows.weights, 12)
        pairs = zip(shares.tolist(), rule.variance(kernel).tolist(), strict=True)
        return [bounded_interval(share, variance, rule.df) for share, variance in pairs], 100 * truths - 50


@dataclass(frozen=True)
class PairStudy:
    """One figure in two senses."""

    name: str
    estimand: str
    sides: Sequence[tuple[pd.DataFrame, Design]]
    model: PairModel

    def intervals(self, effects: Effects, truth: float, mix: Mix) -> Intervals:
        """Intervals of D draws."""
        sides = [
            Side(config=str(i), design=design, rows=kernel_rows(rows, design, self.estimand))
            for i, (rows, design) in enumerate(self.sides)
        ]
        rule = project_difference(*sides)
        (first, first_truth), (second, second_truth) = self.model(sides, effects, truth, mix)
        differences = 100 * (
            first @ sides[0].rows.weights + sides[0].rows.offset - second @ sides[1].rows.weights - sides[1].rows.offset
        )
        variances = rule.variance(np.concatenate([first, second], axis=1))
        pairs = zip(differences.tolist(), variances.tolist(), strict=True)
        made = [difference_interval(difference, variance, rule.df) for difference, variance in pairs]
        return made, 100 * (first_truth - second_truth)


def studies() -> list[Study | PairStudy]:
    """Designs of sssb, with the words invented."""
    nationality = product(nation=words("nation", 16), good=words("good", 12), bad=words("bad", 9))
    race = product(race=["race"], good=words("good", 12), bad=words("bad", 9))
    matched = product(race=["race"], good=words("good", 5), bad=words("bad", 5))
    bare = occupations(product(occupation=list(CLASSES), frame=words("frame", 10)))
    over_nations = design("nation", "good", "bad", slots=("nation", "good", "bad"))
    over_words = design("race", "good", "bad", slots=("race", "good", "bad"))
    same_noun = colour().query("noun_stereo == noun_anti").reset_index(drop=True)
    return [
        Study("nationality", "preference-half", nationality, over_nations, nationality_model),
        Study("race", "preference-half", race, over_words, race_model),
        Study("colour", "preference-half", colour(), COLOUR, colour_model),
        Study("noun", "preference-half", noun(), NOUN, noun_model),
        Study("verb", "preference-half", verb(), VERB, verb_model),
        Study("noun", "pronoun-stereotype", noun(), NOUN, pronoun_model),
        Study("verb", "pronoun-stereotype", verb(), VERB, fixed_pronoun_model),
        PairStudy("race - colour", "preference-half", [(matched, over_words), (same_noun, COLOUR)], race_colour_model),
        PairStudy("noun - verb", "pronoun-stereotype", [(bare, BARE), (verb(), VERB)], noun_verb_model),
    ]


def simulate(draws: int, seed: int = 0, truths: Sequence[float] = TRUTHS) -> Iterator[Cell]:
    """Cells of every design, mix and truth, each with a random stream of its own."""
    for number, (study, mix, truth) in enumerate(itertools.product(studies(), MIXES, truths)):
        effects = Effects(np.random.default_rng([seed, number]), draws)
        made, true_values = study.intervals(effects, truth, mix)
        known = [(pair, value) for pair, value in zip(made, true_values.tolist(), strict=True) if pair is not None]
        yield Cell(
            design=study.name,
            estimand=study.estimand,
            mix=mix.name,
            truth=truth,
            covered=float(np.mean([low <= value <= high for (low, high), value in known])) if known else math.nan,
            estimable=len(known),
            not_estimable=draws - len(known),
            half_width=float(np.median([(high - low) / 2 for (low, high), _ in known])) if known else math.nan,
        )


def table(cells: Sequence[Cell], draws: int, seed: int) -> str:
    """Page with one line per design, figure and mix, one column per truth."""
    lines = [
        f"| design | figure | mix | {' | '.join(f'{truth:g}' for truth in TRUTHS)} |",
        "|---" * (3 + len(TRUTHS)) + "|",
    ]
    for (name, estimand, mix), group in itertools.groupby(
        cells, key=lambda cell: (cell.design, cell.estimand, cell.mix)
    ):
        lines.append(f"| {name} | `{estimand}` | {mix} | {' | '.join(entry(cell) for cell in group)} |")
    return PAGE.format(draws=draws, seed=seed, table="\n".join(lines), error=100 * 3 * cells[0].error)


def entry(cell: Cell) -> str:
    """Coverage in per cent, the median half-width in points, and how often there was no interval."""
    missing = (
        f", none {100 * cell.not_estimable / (cell.estimable + cell.not_estimable):.0f} %" if cell.not_estimable else ""
    )
    return f"{100 * cell.covered:.1f} (±{cell.half_width:.0f}{missing})" + ("" if cell.holds else " **below**")


def main() -> int:
    """Run, print, write where asked; 1 where a coverage that is asked for is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000, help="models drawn for each cell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the table as Markdown")
    options = parser.parse_args()
    start = time.perf_counter()
    cells = []
    for cell in simulate(options.draws, options.seed):
        print(f"{cell.design:14} {cell.estimand:19} {cell.mix:7} {cell.truth:5g}  {entry(cell)}", flush=True)
        cells.append(cell)
    if options.write:
        options.write.write_text(table(cells, options.draws, options.seed), encoding="utf-8")
    below = [cell for cell in cells if not cell.holds]
    print(f"{len(cells)} cells in {time.perf_counter() - start:.0f} s, {len(below)} below {ASKED:.0%}")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
