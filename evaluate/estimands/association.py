"""Association tests: whether two sets of targets differ in how near they lie to two sets of attributes.

The effect is that of Caliskan et al. (2017) over words, whatever level their vectors are of; a word's sentences were
averaged before. The published test of sentences, which takes each for a draw of its own, is a variant.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from senseprobe.errors import ResultError
from senseprobe.evaluate.erased_rows import count_erased, find_erased_flaw
from senseprobe.evaluate.estimands.base import NOT_ESTIMABLE, Estimand, joined
from senseprobe.evaluate.estimands.figure_scope import Scope
from senseprobe.evaluate.estimands.multiple_testing import Family
from senseprobe.evaluate.estimands.word_sets import SETS, TestWords, compute_effect, describe_repeats
from senseprobe.evaluate.units import identity_of
from senseprobe.records import VERDICT_WORDS, Design, Figure, FigureVerdict
from senseprobe.statistics import (
    CONFIDENCE,
    FEWEST_LEVELS,
    EnclosedP,
    Ends,
    FloatArray,
    division_p,
    effect_interval,
    monte_carlo_p,
    tarone_holm,
)

ALPHA = 1 - CONFIDENCE
MOST_MISSING = 0.2
"""Share of a set's words without a vector above which a test gets no headline."""

_NUMBER = re.compile(r"([0-9]{1,9})")
NO_WORDS = (
    "the words of some sentences are unknown: each such sentence counts as a word, which makes p too small "
    "and the interval too narrow"
)

TestKey = tuple[str, str]
"""The config and the name of a test."""

EFFECTS = (
    "An effect is in standard deviations of the words' associations: 0 if X and Y are alike, 2 at most. "
    "Found: p, corrected over all tests, is below 0.05, and the 95 % interval lies above 0. These words only: "
    "p, which treats the attribute words as fixed, is as small, but the interval includes 0, so other "
    "attribute words may show no effect."
)
# What a test says, in the words of tables; `Weat.judge` says when.
DETECTED, THESE_WORDS, UNDETECTED = (VERDICT_WORDS[code] for code in ("shown", "these_words", "not_shown"))
CANNOT_REACH, NO_INTERVAL = "cannot reach", "not estimable"
LOST = "more than a fifth of a set has no vector"


TESTS = Family(
    id="tests",
    says="all tests of a config, at one level and one pooling; those whose smallest p cannot reach the corrected "
    "threshold leave first (Tarone 1990)",
    by=("config", "estimand"),
    estimands=("weat", "weat-pop", "weat-two-sided", "weat-exact", "weat-sentence"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Weat(Estimand):
    """The effect size of an association test, with an interval over all four sets and the p of permuted targets.

    `population`: whether the standard deviation is that of a population; `two_sided` and `exact`: how p is computed.
    """

    population: bool = False
    two_sided: bool = False
    exact: bool = False

    unit: str = "standard deviations"

    family = TESTS
    neutral = 0.0
    prints_p = True
    compared_with_interval = False
    missing_slice = "a test needs all its words"
    rank = 1
    tests_groups = True
    caption = "tests"
    ends = ("X nearer to B", "X nearer to A")
    zero_label = "both alike"
    leanings = ("has X nearer to B, and Y nearer to A", "has X nearer to A, and Y nearer to B")
    higher = "has X nearer to A"
    effect = "association"

    @property
    def axis(self) -> Ends:
        """The ends of the axis of its figures: effects lie between the two."""
        return self.range

    @property
    def heading(self) -> str:
        """What its figures are called at the head of a column."""
        return "effect"

    @property
    def scale_note(self) -> str:
        """What readers of verdicts on its figures are told of their scale."""
        return EFFECTS

    def compute(self, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return a figure for each test of a config, from the cosines of its words."""
        if (words := scope.scored.config_words(scope.config)) is None:
            return []
        tables = dict(iter(words.groupby("test", sort=False)))
        none = words.iloc[:0]  # of a test of which only targets, or only attributes, have a text at this level
        return with_corrected(
            [self._test(name, test_rows, tables.get(name, none), scope) for name, test_rows in _by_test(rows)]
        )

    def _test(self, name: str, rows: pd.DataFrame, table: pd.DataFrame, scope: Scope) -> Figure:
        words = TestWords.of_table(table)
        words = words if all(words.has.values()) else words.split_by_vectors(rows)
        levels = {side: len(names) for side, names in words.has.items()}
        lost = sum(map(len, words.missing.values()))
        lacking = " and ".join(side for side, count in levels.items() if not count)
        none: dict[str, Any] = {"value": None, "note": f"no word of {lacking} has a vector"}
        fields = none if lacking else self._effect(words, scope)
        repeats = "" if lacking else describe_repeats(rows, words)
        fields["note"] = joined(fields["note"], NO_WORDS if rows["word"].isna().any() else "", repeats)
        facts = {"identity": identity_of(rows), "missing": words.missing, "senses": mean_senses(table)}
        facts["erased"] = _count_erased_words(rows)
        return self._figure(name, scope, levels, lost, **fields, **facts)

    def _effect(self, words: TestWords, scope: Scope) -> dict[str, Any]:
        """Return effect, interval, p and notes of a test all of whose sets have words."""
        x, y = words.associations(words.cosines)
        value = compute_effect(x, y, population=self.population)
        if value is None:
            return {"value": None, "note": "all targets have the same association"}
        ends = effect_interval(words.cosines, len(x), len(words.has["A"]), scope.confidence, population=self.population)
        tested, inexact = self._p(x, y)
        notes = []
        if not ends:
            few = min(map(len, words.has.values())) < FEWEST_LEVELS
            why = f"with fewer than {FEWEST_LEVELS} words in a set" if few else "because the words do not vary"
            notes.append(f"{NOT_ESTIMABLE} {why}")
        notes.append(inexact)
        other = compute_effect(*words.associations(words.check)) if words.changes_sign else None
        if other is not None:
            notes.append(f"with the other pooling (check), the effect has the opposite sign: {other:+.2f}")
        return {"value": value, **interval_fields(ends), **p_fields(tested), "note": joined(*notes)}

    def _p(self, x: FloatArray, y: FloatArray) -> tuple[EnclosedP, str]:
        """Return p, and why it is only enclosed where it was to be counted exactly."""
        try:
            return division_p(x, y, two_sided=self.two_sided, exact=self.exact), ""
        except ResultError as error:  # too many targets, or too little memory: other tests of the release have theirs
            return division_p(x, y, two_sided=self.two_sided), f"p is given as bounds only: {error}"

    def _figure(
        self,
        test: str,
        scope: Scope,
        levels: Mapping[str, int],
        unscored: int,
        **fields: Any,  # noqa: ANN401
    ) -> Figure:
        scored = sum(levels.values())
        return Figure(
            config=scope.config,
            sense_type=scope.design.sense_type,
            estimand=self.id,
            group=test,
            neutral=self.neutral,
            rows=scored + unscored,
            scored=scored,
            unscored=unscored,
            ties=0,
            levels=levels,
            definition=self.version,
            **fields,
        )

    def lost_too_many(self, figure: Figure) -> bool:
        """Return whether a set of a test lost so many of its words that the test gets no headline."""
        lost = ((len(words), figure.levels.get(side, 0)) for side, words in figure.missing.items())
        return any(missing > MOST_MISSING * (missing + left) for missing, left in lost)

    def judge(self, figure: Figure) -> FigureVerdict:
        """Return what a test shows: ``shown``, ``these_words``, ``not_shown`` or ``unreadable``, and why.

        ``these_words``: p, which holds the attribute words fixed, is small, and the interval over other words has 0.
        """
        if flaw := LOST if self.lost_too_many(figure) else find_erased_flaw([figure]):
            return FigureVerdict(code="unreadable", text=flaw, flaw=flaw)
        if figure.p is None:
            return FigureVerdict(code="unreadable", text=NO_INTERVAL)
        if figure.p_holm is None:
            return FigureVerdict(code="unreadable", text=CANNOT_REACH)
        if figure.p_holm > ALPHA:
            return FigureVerdict(code="not_shown", text=UNDETECTED)
        if figure.low is None or figure.high is None:
            return FigureVerdict(code="unreadable", text=NO_INTERVAL)
        if figure.low <= 0 <= figure.high:
            return FigureVerdict(code="these_words", text=THESE_WORDS)
        return FigureVerdict(code="shown", text=DETECTED)

    def fact(self, figure: Figure, design: Design | None, names: Mapping[str, str]) -> str:
        """Return which words lie nearer to which, and the effect size."""
        value = figure.value or 0.0
        x, y, a, b = (names.get(side, side) for side in SETS)
        near, far = (x, y) if value >= 0 else (y, x)
        return f"places {near} nearer to {a}, and {far} nearer to {b} (effect size d = {abs(value):.2f})"

    def bias_type(self, figure: Figure) -> str:
        """Return the identity that a test is about."""
        return figure.identity

    def planned_half_width(self, design: Design, levels: Mapping[str, int], rows: int) -> float | None:
        """Return None: a release counts the words of all tests together."""
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceWeat(Weat):
    """The published test of sentences: each is permuted as if it were a draw of its own."""

    has_interval = False
    caption = "tests, sentences permuted"

    def compute(self, rows: pd.DataFrame, scope: Scope) -> Iterable[Figure]:
        """Return a figure for each test of a config, from the associations of its sentences (``score``)."""
        return with_corrected([self._sentences(str(name), table, scope) for name, table in _by_test(rows)])

    def _sentences(self, name: str, table: pd.DataFrame, scope: Scope) -> Figure:
        scores = {side: table.loc[table["role"] == side, "score"].to_numpy(dtype=np.float64) for side in SETS}
        lost = sum(int(np.isnan(values).sum()) for values in scores.values())
        scores = {side: values[np.isfinite(values)] for side, values in scores.items()}
        levels = {side: len(values) for side, values in scores.items()}
        value = compute_effect(scores["X"], scores["Y"]) if levels["X"] and levels["Y"] else None
        fields: dict[str, Any] = {"value": value, "identity": identity_of(table), "erased": _count_erased_words(table)}
        if value is None:
            return self._figure(name, scope, levels, lost, **fields, note="no effect can be computed")
        tested = monte_carlo_p(scores["X"], scores["Y"], seed=scope.seed)
        return self._figure(name, scope, levels, lost, **fields, **p_fields(tested))


class Tested(Protocol):
    """A figure of an association test, or a difference of two."""

    @property
    def config(self) -> str:
        """The config of the test."""

    @property
    def group(self) -> str | None:
        """Its name."""


def key_of(tested: Tested) -> TestKey:
    """Return the config and the name of the test that a figure, or a difference of two, is of."""
    return tested.config, tested.group or ""


def _by_test(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows of each test: weat2 before weat10."""
    tests = ((str(name), rows) for name, rows in table.groupby("test", sort=False))
    # A name is split into text and numbers in turn.
    return sorted(tests, key=lambda test: [int(p) if i % 2 else p for i, p in enumerate(_NUMBER.split(test[0]))])


def _count_erased_words(rows: pd.DataFrame) -> dict[str, int]:
    """Return the counts of the set of a test of which most is erased (`count_erased`), as a share of the set."""
    sets = [erased for _, part in rows.groupby("role") if (erased := count_erased(part))]
    return max(sets, key=lambda erased: (erased["whole"] + erased["input"]) / erased["rows"], default={})


def interval_fields(ends: Ends | None, method: str = "jackknife") -> dict[str, Any]:
    """Return the fields of a figure with the ends of its interval; none without one."""
    return {"low": ends[0], "high": ends[1], "method": method} if ends else {}


def p_fields(tested: EnclosedP) -> dict[str, float | None]:
    """Return the fields of a figure with p: its upper end, and the lower one where p is only enclosed."""
    return {
        "p": tested.high,
        "p_low": None if tested.low == tested.high else tested.low,
        "p_least": tested.least,
    }


def mean_senses(words: pd.DataFrame) -> dict[str, float]:
    """Return how many senses the words of each set have on average; empty where words were compared, not senses."""
    if "target_sense" not in words or words["target_sense"].isna().all():
        return {}
    sides = [words[[f"{side}_role", side, f"{side}_senses"]].to_numpy() for side in ("target", "attribute")]
    counts = {(role, word): count for side in sides for role, word, count in side if not pd.isna(count)}
    means = {name: [count for (role, _), count in counts.items() if role == name] for name in SETS}
    return {name: round(float(np.mean(values)), 2) for name, values in means.items() if values}


def with_corrected(figures: Sequence[Figure]) -> list[Figure]:
    """Return the tests of a family with `p_holm`: None where a test cannot reach the corrected threshold."""
    tested = [number for number, figure in enumerate(figures) if figure.p is not None]
    results = list(figures)
    p, least = (
        np.array([getattr(figures[number], name) for number in tested], dtype=np.float64) for name in ("p", "p_least")
    )
    for number, corrected in zip(tested, tarone_holm(p, least, ALPHA).tolist() if tested else (), strict=True):
        results[number] = replace(figures[number], p_holm=None if np.isnan(corrected) else corrected)
    return results


def find_reversed(tests: Iterable[tuple[Weat, Figure]]) -> set[TestKey]:
    """Return config and name of the tests whose effect lies the other way round, Y nearer to A, beyond chance.

    A one-sided p does not ask for that. It would be small, after correction, were X and Y exchanged; or the interval
    lies below 0.
    """
    exchanged: dict[tuple[str, str], list[Figure]] = {}
    reversed_tests = set()
    for weat, figure in tests:
        if weat.two_sided or figure.p is None or figure.p_least is None or weat.lost_too_many(figure):
            continue
        if figure.high is not None and figure.high < 0:
            reversed_tests.add(key_of(figure))
        below = 1 - (figure.p if figure.p_low is None else figure.p_low) + figure.p_least  # those that tie count, too
        exchanged.setdefault((figure.config, weat.id), []).append(replace(figure, p=min(below, 1.0)))
    corrected = (figure for family in exchanged.values() for figure in with_corrected(family))
    small = (figure for figure in corrected if figure.p_holm is not None and figure.p_holm <= ALPHA)
    return reversed_tests | {key_of(figure) for figure in small if (figure.value or 0.0) < 0}


WEAT = Weat(
    id="weat",
    title="WEAT effect size",
    range=(-2.0, 2.0),
    kind="association",
    direction="above 0: the targets X are nearer to the attributes A, and Y nearer to B, than the other way round",
    source="Caliskan, Bryson & Narayanan 2017; over words at each level, unlike in May et al. 2019 and Tan & "
    "Celis 2019",
    says="The mean association of the words in X minus that of the words in Y, in standard deviations (of "
    "the sample) over all of them. By convention 0.2 is small, 0.5 medium and 0.8 large. p permutes the target "
    "words; it is one-sided, and exact or given as bounds.",
    cannot_say="Nearness of vectors is not behaviour. p treats the attribute words as fixed and shows "
    "nothing about others. The interval is about words like these, in lists of this length.",
)
EXACT_P = replace(
    WEAT,
    id="weat-exact",
    title="WEAT effect size, with exact p for up to 52 targets",
    says="As weat, but p is exact for up to 52 targets; weat gives bounds above 40.",
    variant_of="weat",
    exact=True,
)
WEAT_ESTIMANDS = (
    WEAT,
    replace(
        WEAT,
        id="weat-pop",
        title="WEAT effect size in standard deviations of the population",
        source="the released code of WEFE and of Zhou, Kaneko & Bollegala 2022",
        says="As weat, with the standard deviation of the population. It is larger, by 3 % for 8 and 8 words.",
        variant_of="weat",
        population=True,
    ),
    replace(
        WEAT,
        id="weat-two-sided",
        title="WEAT effect size, with a two-sided p",
        says="As weat, but p is for a difference at least as large in either direction.",
        variant_of="weat",
        two_sided=True,
    ),
    EXACT_P,
    SentenceWeat(
        id="weat-sentence",
        title="SEAT effect size, as published",
        range=(-2.0, 2.0),
        kind="association",
        direction="above 0: sentences of X are nearer to those of A, and of Y to those of B, than the other way round",
        source="May, Wang, Bordia, Bowman & Rudinger 2019 (SEAT), and its released code",
        says="The effect over single sentences. p permutes sentences.",
        cannot_say="Its p is anti-conservative (too small): the sentences of a word are alike, but each "
        "counts as an independent draw (docs/coverage.md shows how much this matters). It is here for "
        "comparison with published numbers.",
        variant_of="weat",
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RetiredWeat(Weat):
    """An effect that results have and that is no longer computed: a number without interval and p."""

    has_interval = False
    caption = "tests, as published"


WEAT_PUBLISHED = RetiredWeat(
    id="weat-published",
    title="WEAT effect size as in the code of Zhou et al.",
    range=(-10.0, 10.0),
    kind="association",
    direction="above 0: the targets X are nearer to A than the targets Y are",
    source="weat-sense.py of Zhou, Kaneko & Bollegala 2022",
    says="The effect as that code computes it: each word gets the mean association of its whole set.",
    cannot_say="It is no longer computed. It shows a sign only: with sets of equal size it is +2 or -2 for any "
    "vectors.",
    variant_of="weat",
)
