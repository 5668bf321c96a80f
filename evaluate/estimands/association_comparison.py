"""Two models on the same association tests: how far effect sizes differ, over the words that both have vectors of.

Cosines of two models are on two scales, so what is compared is standardised: u(w) = (s(w) - mean) / sd, over the
targets of a test that both models have. The difference of the two effect sizes is then a sum over words,

    d_A - d_B = Σ_X (u_A - u_B) / n_X - Σ_Y (u_A - u_B) / n_Y,

and is tested by signs: where it does not matter which of the models a word's value is of, each addend could as well
have had the other sign. Words are paired, so what a word does to both models cancels. The attribute words are held
fixed, as they are by the p of a single test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands.association import WEAT, TestKey
from senseprobe.evaluate.estimands.comparison import Comparison
from senseprobe.evaluate.estimands.multiple_testing import COMPARISONS, corrected
from senseprobe.evaluate.estimands.word_sets import ROUNDING, SETS, TestWords
from senseprobe.statistics import sign_flips

FEWEST_TARGETS = 3
LARGEST = 1 + 1e-6  # of a cosine, with what computing it adds
TOO_FEW = "the two models have too few words in common"
CONSTANT = "a model has the same association for all words"


def read_tests(words: pa.Table) -> dict[TestKey, TestWords]:
    """Return the words of each test of a table of words (evaluate/scorers/association.py), in its order.

    ResultError where a test is not one cosine, from -1 to 1, for each target with each attribute.
    """
    if words["config"].null_count or words["test"].null_count:
        raise ResultError("the table of words has words that belong to no test: score the model again")
    tests = {}
    for (config, test), part in words.to_pandas().groupby(["config", "test"], sort=False):
        sides = [part[[f"{side}_role", side]].drop_duplicates() for side in ("target", "attribute")]
        are_sets = [set(roles.iloc[:, 0]) <= {*names} for roles, names in zip(sides, (SETS[:2], SETS[2:]), strict=True)]
        beyond = (part[["cosine", "check"]].abs() > LARGEST).any(axis=None)
        if not all(are_sets) or len(part) != len(sides[0]) * len(sides[1]) or beyond:
            raise ResultError(
                f"the table of words has {str(test)[:80]!r}, which is not an association test: score the model again"
            )
        read = TestWords.of_table(part)
        if not np.isfinite(read.cosines).all():
            raise ResultError(f"the table of words lacks cosines of {str(test)[:80]!r}: score the model again")
        tests[str(config), str(test)] = read
    return tests


def compare_tests(a: Mapping[TestKey, TestWords], b: Mapping[TestKey, TestWords], *, seed: int = 0) -> list[Comparison]:
    """Return the tests that both models have, effect size of A minus that of B, with p corrected over all of them.

    `seed` draws signs where there are too many to count.
    """
    return corrected([_compare(key, a[key], b[key], seed) for key in a if key in b], COMPARISONS)


def _compare(key: TestKey, a: TestWords, b: TestWords, seed: int) -> Comparison:
    shared = {side: tuple(word for word in a.has[side] if word in b.has[side]) for side in SETS}
    targets = sum(len(words.get(side, ())) for words in (a.has, a.missing) for side in ("X", "Y"))
    n_x, n_y = len(shared["X"]), len(shared["Y"])
    compared = Comparison(
        config=key[0],
        estimand=WEAT.id,
        group=key[1],
        rows=targets,
        scored=n_x + n_y,
        unscored=targets - n_x - n_y,
        levels={side: len(words) for side, words in shared.items()},
    )
    if not all(shared.values()) or n_x + n_y < FEWEST_TARGETS:
        return replace(compared, note=TOO_FEW)
    values = [np.concatenate(part.associations(part.cosines)) for part in (_part(a, shared), _part(b, shared))]
    deviations = [float(associations.std(ddof=1)) for associations in values]
    if min(deviations) <= ROUNDING:
        return replace(compared, note=CONSTANT)
    weights = np.repeat([1 / n_x, -1 / n_y], [n_x, n_y])
    centred = [associations - associations.mean() for associations in values]
    addends = [weights * deviation / sd for deviation, sd in zip(centred, deviations, strict=True)]
    effects = [round(float(part.sum()), 9) + 0.0 for part in addends]
    difference = round(effects[0] - effects[1], 9) + 0.0
    # Of two models that are alike, what is left is of the order of sums, and no difference.
    tested = sign_flips(np.round(addends[0] - addends[1], 9) + 0.0, seed)
    return replace(compared, a=effects[0], b=effects[1], difference=difference, p=tested.p, test="sign flips")


def _part(test: TestWords, words: Mapping[str, Sequence[str]]) -> TestWords:
    """Return a test with some of its words, in their order."""
    places = [
        [
            start + test.has[side].index(word)
            for side, start in ((first, 0), (second, len(test.has[first])))
            for word in words[side]
        ]
        for first, second in (("X", "Y"), ("A", "B"))
    ]
    chosen = np.ix_(*places)
    return TestWords({side: tuple(words[side]) for side in SETS}, {}, test.cosines[chosen], test.check[chosen])
