"""Figures of sense embeddings and of vectors on contrasts: single-category association tests.

Nothing here is a preference: cosines say how near a word lies to words of praise and blame, or to one side of a gender
direction.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.evaluate.estimands.association import interval_fields, p_fields, with_corrected
from senseprobe.evaluate.estimands.base import NO_NEUTRAL, NOT_ESTIMABLE, Estimand, joined
from senseprobe.evaluate.estimands.display import NOBODY
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.estimands.multiple_testing import Family
from senseprobe.evaluate.estimands.word_sets import compute_effect
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Contrast, Design, Figure
from senseprobe.statistics import (
    Ends,
    FloatArray,
    division_p,
    mean_difference_interval,
    mean_effect_interval,
    mean_interval,
    shared_effect_difference,
    single_category_interval,
)

FIXED_WORDS = "over words; the words that each sense is compared with are fixed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Nearness(Estimand):
    """A figure of the cosines of a config's targets; each word has one, as a group."""

    missing_slice = "its cosines cover all words of a config"
    prints_p = True

    def unread(self, figure: Figure, design: Design | None) -> str:
        """Return that nothing is known to be neutral, and what can be compared."""
        return f"{NOBODY}; use these numbers only to compare words, senses and embeddings"

    def figure_of_words(self, group: str | None, rows: pd.DataFrame, scope: Scope, **fields: Any) -> Figure:  # noqa: ANN401
        """Return a figure of some rows of a table of words."""
        scored = int(np.isfinite(rows["cosine"].to_numpy(dtype=np.float64)).sum())
        return Figure(
            config=scope.config,
            sense_type=scope.design.sense_type,
            estimand=self.id,
            group=group,
            rows=len(rows),
            scored=scored,
            unscored=len(rows) - scored,
            ties=0,
            definition=self.version,
            **fields,
        )

    def slice_figures(self, part: pd.DataFrame, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return none: see `missing_slice`."""
        return []

    def planned_half_width(self, design: Design, levels: Mapping[str, int], rows: int) -> float | None:
        """Return None: it depends on the cosines."""
        return None


def _has_values(words: pd.DataFrame | None) -> bool:
    """Return whether targets are compared with values of both sides, and not with a direction."""
    return words is not None and bool((words["attribute_role"] == "B").any())


WORDS = Family(
    id="words",
    says="all words of a config; those whose smallest p cannot reach the corrected threshold leave first (Tarone 1990)",
    by=("config", "estimand"),
    estimands=("sc-weat",),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SingleCategory(Nearness):
    """How much nearer a word lies to unpleasant attributes, A, than to pleasant ones, B."""

    family = WORDS
    rank = 1
    tests_groups = True
    caption = "words"
    ends = ("nearer to praise", "nearer to blame")
    zero_label = "as near to both"
    leanings = ("lies nearer to praise", "lies nearer to blame")
    higher = "has words nearer to blame"
    effect = "association"

    def compute(self, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return the figure of a config, and one for each of its words, from their cosines."""
        cosines = scope.scored.config_words(scope.config)
        if cosines is None or not _has_values(cosines):
            return []
        groups = cosines.groupby("target", sort=True)
        words = with_corrected([self._word(str(name), table, scope) for name, table in groups])
        return [self._config(words, cosines, scope), *words]

    def _word(self, name: str, table: pd.DataFrame, scope: Scope) -> Figure:
        """Return d(w), the effect of equations 2 and 3 of Zhou et al. (2022) for one word, with interval and p."""
        means = table.groupby(["attribute_role", "attribute"], sort=False)["cosine"].mean()
        sides = {side: means.xs(side) if side in means.index else means.iloc[:0] for side in "AB"}
        a, b = (cosines.dropna().to_numpy(dtype=np.float64) for cosines in sides.values())
        missing = _missing(table)
        value = compute_effect(a, b) if len(a) and len(b) else None
        fields: dict[str, Any] = {}
        if value is not None:
            ends = single_category_interval(a, b, scope.confidence)
            p = p_fields(division_p(a, b, two_sided=True))
            fields = {**p, **interval_fields(ends), "note": "" if ends else NOT_ESTIMABLE}
        lacking = " and ".join(side for side, cosines in zip("AB", (a, b), strict=True) if not len(cosines))
        alike = "all attributes are equally near" if value is None else ""
        note = f"{name} has no vector" if "X" in missing else f"no word of {lacking} has a vector" if lacking else alike
        return self.figure_of_words(
            name,
            table,
            scope,
            value=value,
            levels={"A": len(a), "B": len(b)},
            missing=missing,
            **{"note": note, **fields},
        )

    def _config(self, figures: Sequence[Figure], words: pd.DataFrame, scope: Scope) -> Figure:
        """Return the mean over the words that have an effect, with the interval over words, A and B."""
        values = [figure.value for figure in figures if figure.value is not None]
        cosines, n_a = cosine_table(words)
        ends = mean_effect_interval(cosines, n_a, scope.confidence) if len(cosines) == len(values) else None
        return self.figure_of_words(
            None,
            words,
            scope,
            value=float(np.mean(values)) if values else None,
            levels={"words": len(values), "A": n_a, "B": cosines.shape[1] - n_a},
            note=joined("" if ends else NOT_ESTIMABLE, NO_NEUTRAL),
            **interval_fields(ends),
        )


def _missing(words: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return what has no vector of the words of one target, by set: words, or sense keys; X is the target alone."""
    lost = words[words["cosine"].isna()]
    names = {side: lost[f"{side}_sense"].fillna(lost[side]) for side in ("target", "attribute")}
    if len(lost) == len(words):
        return {"X": tuple(dict.fromkeys(map(str, names["target"])))}
    by_set = names["attribute"].groupby(lost["attribute_role"])
    return {str(side): tuple(dict.fromkeys(map(str, words))) for side, words in by_set}


def cosine_table(words: pd.DataFrame) -> tuple[FloatArray, int]:
    """Return the cosines of targets with the attributes, those of A first, and how many these are: (words, A + B).

    Words and attributes without any number are left out; of a word with several senses it is the mean.
    """
    keys = ["attribute_role", "attribute"]
    table = words.pivot_table("cosine", "target", keys, dropna=False).sort_index(axis=1)
    table = table.dropna(how="all").dropna(how="all", axis=1)
    return table.to_numpy(dtype=np.float64), int((table.columns.get_level_values(0) == "A").sum())


@dataclass(frozen=True, kw_only=True, slots=True)
class GenderDirection(Nearness):
    """On which side of the gender direction of equation 8 words lie, and whether that is their stereotype's."""

    rank = 1
    caption = "words"
    ends = ("nearer to female", "nearer to male")
    zero_label = "as near to both"
    leanings = ("has words on the opposite side of their stereotype", "has words on the side of their stereotype")
    higher = "has words nearer to the side of their stereotype"
    effect = "association"

    def compute(self, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return the figure of a config, and one for each of its words, from their cosines."""
        table = scope.scored.config_words(scope.config)
        if table is None or table.empty or _has_values(table):
            return []
        words = []
        for name, word in table.groupby("target", sort=True):
            cosines = word["cosine"].dropna()
            keys = {key: len(word) for key in ("senses",) if word["target_sense"].notna().any()}
            value = float(cosines.mean()) if len(cosines) else None
            note = "" if len(cosines) else f"{name} has no vector"
            fields: dict[str, Any] = {"value": value, "levels": keys, "missing": _missing(word), "note": note}
            words.append(self.figure_of_words(str(name), word, scope, **fields))
        return [self._config(words, rows, table, scope), *words]

    def _config(self, figures: Sequence[Figure], rows: pd.DataFrame, words: pd.DataFrame, scope: Scope) -> Figure:
        """Return the mean of male-typed words less that of female-typed ones; of too few, of how near each lies."""
        signs = stereotype_signs(rows)
        values = [(signs.get(str(figure.group)), figure.value) for figure in figures]
        sides = [np.array([value for sign, value in values if sign == side and value is not None]) for side in (1, -1)]
        signed, named = np.concatenate([sides[0], -sides[1]]), str(words["attribute"].iloc[0])
        note = f"the {named}" if " " in named.removeprefix("gender direction") else ""
        levels = {"male": len(sides[0]), "female": len(sides[1])}
        if min(levels.values()) < 2:
            value, ends = float(signed.mean()) if len(signed) else None, mean_interval(signed, scope.confidence)
            note = joined(note, "the mean cosine towards the side of the word's stereotype")
        else:
            value = float(sides[0].mean() - sides[1].mean())
            ends = mean_difference_interval(sides[0], sides[1], scope.confidence)
        notes = joined(note, "" if ends else NOT_ESTIMABLE, NO_NEUTRAL)
        fields = interval_fields(ends, "t")
        return self.figure_of_words(None, words, scope, value=value, levels=levels, note=notes, **fields)


def stereotype_signs(rows: pd.DataFrame) -> dict[str, int]:
    """Return 1 for the targets of rows that are stereotyped as male, -1 for those as female."""
    if "stereotype" not in rows:
        return {}
    typed = rows[["target", "stereotype"]].dropna().drop_duplicates("target")
    signs = {"male": 1, "female": -1}
    named = zip(typed["target"], typed["stereotype"], strict=True)
    return {str(target): signs[stereotype] for target, stereotype in named if stereotype in signs}


class SenseDifference(Nearness):
    """The figures of words in one sense less those of the same words in another."""

    is_contrast = True
    ends = ("higher in the second", "higher in the first")
    zero_label = "both senses alike"
    leanings = ("is higher in the second of the two senses", "is higher in the first of the two senses")
    higher = "sets the first sense above the second"
    effect = "difference of the two senses"

    def compute(self, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return none: it is of two configs (`compare_words`)."""
        return []

    def compare_words(
        self,
        contrasts: Sequence[Contrast],
        figures: Sequence[Figure],
        scored: ScoredRows,
    ) -> list[Figure]:
        """Return the difference of each two senses that a release contrasts, of its matched contrast where it has one.

        `figures` are those of configs and words.
        """
        senses = {figure.config: figure.sense_type for figure in figures}
        done: set[tuple[str, str]] = set()
        results = []
        for contrast in sorted(contrasts, key=lambda contrast: not contrast.matched):
            pair = senses.get(contrast.a, ""), senses.get(contrast.b, "")
            if contrast.a not in senses or contrast.b not in senses or pair in done:
                continue
            done.add(pair)
            results.append(self._difference(contrast, figures, scored, " - ".join(pair)))
        return results

    def _difference(
        self,
        contrast: Contrast,
        figures: Sequence[Figure],
        scored: ScoredRows,
        sense_type: str,
    ) -> Figure:
        sides = [
            {str(figure.group).lower(): figure for figure in figures if figure.config == config and figure.group}
            for config in (contrast.a, contrast.b)
        ]
        pairs = [(sides[0][name], sides[1][name]) for name in sides[0] if name in sides[1]]
        signs = stereotype_signs(scored.tables[contrast.a])
        differences = np.array(
            [
                (a.value - b.value) * signs.get(str(a.group), 1)
                for a, b in pairs
                if a.value is not None and b.value is not None
            ]
        )
        value, ends = float(differences.mean()) if len(differences) else None, mean_interval(differences)
        words = [scored.config_words(config) for config in (contrast.a, contrast.b)]
        of_values = _has_values(words[0])
        note, levels = (FIXED_WORDS if of_values else "") if ends else NOT_ESTIMABLE, {"words": len(differences)}
        if len(differences) == 1 and of_values:
            value, ends, count = _shared_attributes(words)
            note, levels = (
                "for one word; the interval is over the words that both senses are compared with",
                {
                    "words": 1,
                    "attributes": count,
                },
            )
        counts = {
            name: sum(getattr(f, name) for pair in pairs for f in pair) for name in ("rows", "scored", "unscored")
        }
        return Figure(
            config=contrast.name,
            sense_type=sense_type,
            estimand=self.id,
            value=value,
            ties=0,
            levels=levels,
            note=joined(note if len(differences) else "no word has a figure in both senses", NO_NEUTRAL),
            definition=self.version,
            **counts,
            **interval_fields(ends, "jackknife" if "attributes" in levels else "t"),
        )


def _shared_attributes(words: Iterable[pd.DataFrame | None]) -> tuple[float | None, Ends | None, int]:
    """Return the difference of a single word in two senses over shared attributes, its interval, and their number."""
    keys = ["attribute_role", "attribute"]
    means = [table.groupby(keys)["cosine"].mean() for table in words if table is not None]
    both = pd.concat(means, axis=1, join="inner").dropna().sort_index()
    n_a = int((both.index.get_level_values(0) == "A").sum())
    if not 0 < n_a < len(both):
        return None, None, len(both)
    cosines = both.to_numpy(dtype=np.float64).T
    return *shared_effect_difference(cosines[0], cosines[1], n_a), len(both)


SINGLE_CATEGORY = SingleCategory(
    id="sc-weat",
    title="single-category WEAT: nearness of a word to praise or blame",
    range=(-10.0, 10.0),
    unit="standard deviations",
    direction="higher: a word lies nearer to the unpleasant attributes than to the pleasant ones",
    source="Zhou, Kaneko & Bollegala 2022, equations 2 and 3 for a single target, which the paper does not "
    "define; exact p: senseprobe",
    says="A word's mean cosine with unpleasant words minus that with pleasant words, in standard deviations "
    "over both. p permutes the attributes and is two-sided.",
    cannot_say="Nearness of vectors is not behaviour, and how near an unbiased word would be to praise is "
    "unknown. The p of a word treats its vector as fixed.",
)
GENDER_DIRECTION = GenderDirection(
    id="gender-direction",
    title="cosine with the gender direction",
    range=(-2.0, 2.0),
    unit="cosine",
    direction="higher: for a word, nearer to the male words; for a config, words nearer to the side of their "
    "stereotype",
    source="Zhou, Kaneko & Bollegala 2022, equation 8; male-typed minus female-typed words: senseprobe",
    says="The cosine of a word with the mean difference between male and female senses. For a config: the "
    "mean of male-typed words minus that of female-typed words.",
    cannot_say="Nearness of vectors is not behaviour. A few pairs of words define the direction, and 0 is "
    "not known to be neutral: compare the senses of one word.",
)
SENSE_DIFFERENCE = SenseDifference(
    id="sense-difference",
    title="difference between two senses of a word, in vectors",
    range=(-10.0, 10.0),
    unit="the unit of what it compares",
    direction="higher: words in the first sense are nearer to blame, or to the side of their stereotype, than in "
    "the second",
    source="senseprobe, after figures 2 and 3 of Zhou, Kaneko & Bollegala 2022",
    says="The mean over words of their figure in the first sense minus that in the second: of sc-weat, or of "
    "gender-direction (signed towards the word's stereotype).",
    cannot_say="Nearness of vectors is not behaviour. The two senses may be compared with different "
    "attributes, which the interval over words treats as fixed. People may also speak differently of the two "
    "senses for reasons other than bias.",
)
ESTIMANDS = (SINGLE_CATEGORY, GENDER_DIRECTION, SENSE_DIFFERENCE)
