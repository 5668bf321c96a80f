"""What a figure would be if polarity meant nothing: the words are divided into bad and good ones anew.

The same division holds in all groups and frames. A word that has become bad stands in the sentences in which it stood,
so nothing is scored again: which of two sentences is the stereotype is what changes. `relative` and `spread` permute
their words with the same `WordTables`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from senseprobe.evaluate.estimands.kernel import Words, codes_of, labels
from senseprobe.evaluate.estimands.preference import PREFERENCE_HALF
from senseprobe.records import Design
from senseprobe.statistics import (
    BoolArray,
    Divisions,
    FloatArray,
    IntArray,
    Scale,
    divisions,
    permutation_p,
    psi_between,
    studentised,
)

ROLES = ("stereo", "anti")
"""Of the bad word and of the good one."""

SAYS = (
    "A small p means that the unpleasant words score differently from randomly chosen words, whatever the "
    "group. It does not show that the group matters."
)
FEW_WORDS = "too few words for a permutation test"
SMALL = 0.001
MORE_PAIRS = "It covers every pair of a bad and a good word, including pairs that are not rows of the release."


@dataclass(frozen=True, kw_only=True)
class WordTables:
    """How often the sentence of one word beats that of another, in each of G tables (groups, or all rows together).

    - `wins`: shape (G, W, W), sums of ψ(score with the first word - score with the second).
    - `counts`: shape (G, W, W), how many pairs of sentences each sum is over.
    """

    wins: FloatArray
    counts: FloatArray

    def of_clusters(self, clusters: Mapping[str, Words]) -> "WordTables":
        """Return the tables of clusters of words: how often sentences of one beat those of another."""
        labels_of = [(role, cluster) for role in ROLES for cluster in clusters[role]]
        code_of = {label: number for number, label in enumerate(dict.fromkeys(labels_of))}
        codes = np.array([code_of[label] for label in labels_of], dtype=np.intp)
        members = (codes[:, None] == np.arange(int(codes.max(initial=-1)) + 1)).astype(np.float64)
        wins, counts = (members.T @ table @ members for table in (self.wins, self.counts))
        return WordTables(wins=wins, counts=counts)

    def points(self, bad: BoolArray) -> FloatArray:
        """Return 100 · mean ψ(bad word - good word) - 50, shape (P, G), for P divisions: `bad` has shape (P, W).

        NaN where a table has no pair of a bad and a good word.
        """
        first = bad.astype(np.float64)
        sums, counts = (
            np.array([((first @ table) * (1 - first)).sum(axis=1) for table in tables]).reshape(len(tables), len(bad)).T
            for tables in (self.wins, self.counts)
        )
        share = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
        return np.asarray(100 * np.round(share, 12) - 50)

    def studentised(self, bad: BoolArray) -> FloatArray:
        """Return T of the mean ψ(bad word - good word), shape (P, G), for P divisions: `bad` has shape (P, W).

        Each table's wins and losses of two words add up to their counts. NaN as in `points`.
        """
        statistics = np.empty((len(bad), len(self.wins)))
        kinds, kind = np.unique(self.counts, axis=0, return_inverse=True)
        for index, counts in enumerate(kinds):
            alike = np.flatnonzero(kind.ravel() == index)
            statistics[:, alike] = studentised(self.wins[alike], counts, bad)
        return statistics


def word_codes(rows: pd.DataFrame, design: Design) -> tuple[dict[str, IntArray], dict[str, Words]]:
    """Return the code of each row's word, by role, and the words by role, in the order of codes: bad ones first.

    The design's `words` name the slot of the bad word (role `stereo`) and of the good one (`anti`).
    """
    columns = {role: labels(rows, design.words[role]).astype(str) for role in ROLES}
    words = {role: np.unique(column) for role, column in columns.items()}
    codes = {role: np.searchsorted(words[role], column).astype(np.intp) for role, column in columns.items()}
    codes["anti"] = codes["anti"] + len(words["stereo"])
    return codes, words


def cluster_columns(design: Design) -> dict[str, str]:
    """Return the columns that have the clusters of words of praise or blame, by role, where the design names any."""
    columns = {factor.slot: factor.columns[0] for factor in design.factors if factor.is_clustered}
    return {role: columns[slot] for role, slot in design.words.items() if slot in columns}


def word_clusters(
    rows: pd.DataFrame, design: Design, codes: Mapping[str, IntArray], words: Mapping[str, Words]
) -> dict[str, Words]:
    """Return the cluster of each word, by role; a word is one of its own where the design names none.

    What is dealt out anew are clusters of one polarity, whole: their words go together, whatever they are said of.
    """
    columns, clusters, first_code = cluster_columns(design), dict(words), 0
    for role in ROLES:
        if role in columns:
            word_codes, first = np.unique(codes[role], return_index=True)
            clusters[role] = words[role].copy()
            clusters[role][word_codes - first_code] = labels(rows, columns[role])[first]
        first_code += len(words[role])
    return clusters


def marks_bad(clusters: Mapping[str, Words]) -> BoolArray:
    """Return whether each cluster is of bad words, shape (C,): those come first."""
    return np.repeat([True, False], [len({*clusters[role]}) for role in ROLES])


@dataclass(frozen=True, kw_only=True, slots=True)
class PolarityNull:
    """`preference-half` of a config against the same figure with polarity dealt out anew over the words.

    - `value`: the figure, over every pair of sentences that differ in a bad and a good word.
    - `low`, `high`: between them lie 95 % of the figures under the null, the observed one counted among them.
    - `p`, `p_holm`: two-sided, and after Holm's correction over its family; `smallest`: the smallest possible p.
      None where words are so few that any p would be 1.
    - `divisions`: how many were tried besides the observed one; `exact` where these are all that there are.
    """

    config: str
    estimand: str = PREFERENCE_HALF.id
    value: float
    low: float
    high: float
    p: float | None
    p_holm: float | None = None
    smallest: float
    divisions: int
    exact: bool
    words: Mapping[str, int]
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the record with stable keys, as JSON has it."""
        return {**asdict(self), "words": dict(self.words)}


def polarity_null(
    rows: pd.DataFrame, design: Design, config: str, *, seed: int = 0, scale: Scale = "log"
) -> PolarityNull | None:
    """Return the null of `preference-half` by dividing its words anew; None where no evaluative word differs.

    Uses the rows of `preference-half`: scored, labelled, uncontested. None too where there is none.
    """
    if set(design.words) != set(ROLES):
        return None
    kernel = PREFERENCE_HALF.kernel_rows(rows, design, scale)
    if kernel.share is None:
        return None
    codes, words = word_codes(kernel.table, design)
    clusters = word_clusters(kernel.table, design, codes, words)
    bad = marks_bad(clusters)
    tables = _tables(kernel.table, design, codes, sum(map(len, words.values())), scale).of_clusters(clusters)
    others = divisions(bad, seed)
    observed = float(tables.points(bad[None, :])[0, 0])
    permuted = tables.points(others.labels)[:, 0]
    low, high = np.nanquantile([observed, *permuted], (0.025, 0.975), method="inverted_cdf")
    p = p_of(np.abs(observed), np.abs(permuted), others)
    note = f"There is no p-value: {FEW_WORDS}." if p is None else SAYS
    as_printed = abs(observed - (100 * kernel.share - 50)) < 1e-6
    return PolarityNull(
        config=config,
        value=observed,
        low=float(low),
        high=float(high),
        p=None if p is None else float(p),
        smallest=others.smallest,
        divisions=len(permuted),
        exact=others.exact,
        words={design.words[role]: len(words[role]) for role in ROLES},
        note=note if as_printed else f"{note} {MORE_PAIRS}",
    )


def p_of(observed: ArrayLike, permuted: FloatArray, others: Divisions, *, relative: bool = False) -> FloatArray | None:
    """Return the p-values of figures against those of other divisions, shape (P, ...); None where all would be 1.

    A division of which a figure cannot be computed counts as one that is as far out as the observed. `relative` is that
    of `permutation_p`.
    """
    if others.smallest == 1:
        return None
    return permutation_p(observed, np.nan_to_num(permuted, nan=np.inf), relative=relative)


def test_note(others: Divisions, smallest: float) -> str:
    """Return that there are too few divisions for a p, or the smallest p where that is not small; else nothing."""
    if others.smallest == 1:
        return f"no p: {FEW_WORDS}"
    return f"the smallest possible p is {smallest:.4f}" if smallest > SMALL else ""


def _tables(rows: pd.DataFrame, design: Design, codes: Mapping[str, IntArray], count: int, scale: Scale) -> WordTables:
    """Return one table over all pairs of contexts (a sentence without its word) that the rows compare."""
    columns = zip(*(_context(rows, design, role) for role in ROLES), strict=True)
    contexts = codes_of([np.concatenate(both) for both in columns], 2 * len(rows))
    scores = np.full((int(contexts.max()) + 1, count), np.nan)
    word = np.concatenate([codes[role] for role in ROLES])
    scores[contexts, word] = np.concatenate([rows[f"{role}_score"].to_numpy(dtype=np.float64) for role in ROLES])
    wins, counts = np.zeros((count, count)), np.zeros((count, count))
    for first, second in np.unique(contexts.reshape(2, -1), axis=1).T:
        a, b = scores[first][:, None], scores[second][None, :]
        scored = ~np.isnan(a - b)
        wins += np.where(scored, psi_between(a, b, scale), 0.0)
        counts += scored
    return WordTables(wins=wins[None], counts=counts[None])


def _context(rows: pd.DataFrame, design: Design, role: str) -> list[Words]:
    """Return the columns that identify a sentence but for its evaluative word: frame, slots, what the role binds."""
    bound = {slot for roles in design.roles.values() for slot in roles.values()} | set(design.words.values())
    of_row = [labels(rows, column) for column in ("frame", *(slot for slot in design.slots if slot not in bound))]
    bindings = design.roles.get(role, {})
    of_role = [bindings[name] for name in sorted(bindings) if bindings[name] != design.words[role]]
    return of_row + [
        labels(rows, slot) if slot in design.slots else np.full(len(rows), slot, dtype=object) for slot in of_role
    ]
