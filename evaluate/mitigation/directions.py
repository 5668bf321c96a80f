"""Directions that words or pairs of words span, and whether such an axis is there: table 7 of Dev et al. (2020).

axis -> vectors of its items -> `measure_axis` -> ratios of singular values; cosines with directions of fewer items

The paper prints the ratios of the 2nd to the 4th singular value to the first, and one cosine: of the first direction of
all words with that of eight. It does not say whether it centres; not centred, the first direction of words is nearly
their mean. So both are here, and cosines without each item, of resampled items, and of items divided by chance.

Dev, Li, Phillips & Srikumar (2020). On measuring and mitigating biased inferences of word embeddings. AAAI.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.linalg import eigh
from scipy.special import betaincinv

from senseprobe.evaluate.mitigation.axes import DeclaredAxis, derive_directions, spread
from senseprobe.evaluate.mitigation.axis_vectors import AxisVectors, Item
from senseprobe.evaluate.mitigation.probes import draw_order, draw_steps
from senseprobe.evaluate.mitigation.record import rounded
from senseprobe.messages import counted
from senseprobe.statistics.intervals import FEWEST_LEVELS, FloatArray, IntArray

DRAWS = 1_000
"""Resamples of the items, with replacement."""

SPLITS = 200
"""Divisions of the items into two sets."""

MOST_ITEMS = 500
"""Of an axis: directions are derived without each of its items in turn."""

RATIOS = 3
"""Singular values after the first whose ratios to it are measured."""

Centring: TypeAlias = Literal["pairs", "set", "none"]

_MOST_SHARE = 0.5  # of the first direction's variance: of a second that may be taken for it
_MEAN = 0.95  # a first direction that has this cosine with the words' mean is called the mean


@dataclass(frozen=True, slots=True)
class Quantiles:
    """The median and the 5 % quantile of cosines, for each dimension of an axis."""

    median: tuple[float, ...]
    low: tuple[float, ...]

    @classmethod
    def of(cls, cosines: Iterable[FloatArray]) -> "Quantiles":
        """Return the quantiles of cosines, each of shape (rank,)."""
        median, low = np.quantile([*cosines], [0.5, 0.05], axis=0)
        return cls(_rounded(median), _rounded(low))


@dataclass(frozen=True, slots=True)
class Spectrum:
    """The directions of an axis's full set of items, centred in one way. Cosines are without their sign.

    - `centring`: ``pairs``, half differences of words of length 1; ``set``, words less their mean; ``none``, words.
    - `ratios`: the 2nd to the 4th singular value, each divided by the first.
    - `mean`: the cosine of the first direction with the mean of the words.
    - `derived`: the cosine of the first direction with that of the derived set; None where that is the full set.
    - `angles`: the cosines of the principal angles of these two sets' directions, for each dimension of the axis.
    - `left_out`: the least such cosines of all items' directions with those of all but one; `least`: without which.
    - `resampled`: of all items' directions with those of items drawn with replacement.
    - `divided`: of the directions of two sets that share no item; the first has as many items as the derived one, or
      half of all.
    - `above_chance`: whether the 5 % quantile of the last dimension's resampled cosines is above that of random
      directions (`chance_cosine`). Of two dimensions the first is near 1 for any few items, so it shows nothing.
    """

    centring: Centring
    ratios: tuple[float, ...]
    mean: float
    derived: float | None
    angles: tuple[float, ...]
    left_out: tuple[float, ...]
    least: str
    resampled: Quantiles
    divided: Quantiles
    above_chance: bool

    @property
    def is_mean(self) -> bool:
        """Whether the first direction is the mean of the words, which is not an axis between them."""
        return self.centring == "none" and self.mean >= _MEAN

    @property
    def is_doubtful(self) -> bool:
        """Whether the next direction explains more than half of the variance that the axis's last one does."""
        rank = len(self.left_out)
        return rank <= len(self.ratios) and (self.ratios[rank - 1] / (1.0, *self.ratios)[rank - 1]) ** 2 > _MOST_SHARE


@dataclass(frozen=True, slots=True)
class AxisReading:
    """What was measured of an axis.

    - `derived`, `full`: its items that have vectors; `missing`: the words that have none; `form`: the form of all
      words that are tokens of a model, empty of those in a file.
    - `by_chance`: the 95 % quantile of the cosines of random directions.
    - `spectra`: the default first; none where there are too few items, as `unmeasured` says.
    - `underived`: why there is no derived direction to compare with; empty where there is one, or none is declared.
    """

    name: str
    rank: int
    is_paired: bool
    derived: tuple[str, ...]
    full: tuple[str, ...]
    missing: tuple[str, ...]
    form: str
    by_chance: float
    spectra: tuple[Spectrum, ...] = ()
    unmeasured: str = ""
    underived: str = ""


def measure_axis(vectors: AxisVectors, axis: DeclaredAxis, *, seed: int = 0) -> AxisReading:
    """Return what can be measured of an axis, of the items that have vectors; `seed` is of resamples and divisions."""
    items = vectors.find([*dict.fromkeys((*axis.derived.items, *axis.full.items))])
    derived, full = (
        {item: items.vectors[item] for item in words.items if item in items.vectors}
        for words in (axis.derived, axis.full)
    )
    spectra, unmeasured = tuple[Spectrum, ...](), ""
    underived = _explain_underived(axis, derived)
    try:
        spectra = tuple(_measure_spectra(axis, {} if underived else derived, full, seed))
    except ValueError as error:
        unmeasured = str(error)
    return AxisReading(
        name=axis.name,
        rank=axis.rank,
        is_paired=axis.full.is_paired,
        derived=tuple(map("-".join, derived)),
        full=tuple(map("-".join, full)),
        missing=items.missing,
        form=items.form,
        by_chance=chance_cosine(vectors.dimensions),
        spectra=spectra,
        unmeasured=unmeasured,
        underived=underived,
    )


def _explain_underived(axis: DeclaredAxis, derived: Mapping[Item, FloatArray]) -> str:
    """Return why there is no derived direction, such as after it was removed; empty where there is one, or all are."""
    if axis.derived == axis.full:
        return ""
    try:
        derive_directions(np.array([*derived.values()]), axis.rank)
    except ValueError as error:
        return str(error) if derived else "its words have no vectors"
    return ""


def _measure_spectra(
    axis: DeclaredAxis, derived: Mapping[Item, FloatArray], full: Mapping[Item, FloatArray], seed: int
) -> Iterator[Spectrum]:
    """Yield the spectra of an axis. Raise ValueError where there are too few items, or they span too little."""
    least, number = max(FEWEST_LEVELS, axis.rank + 1), counted(len(full), "pair" if axis.full.is_paired else "word")
    if len(full) < least:
        raise ValueError(f"{number} with vectors, and stability needs {least}")
    if len(full) > MOST_ITEMS:
        raise ValueError(f"{number}, and at most {MOST_ITEMS} are measured")
    stacked = np.array([*full.values()])
    words = {word: vector for item, pair in full.items() for word, vector in zip(item, pair, strict=True)}
    sets: dict[Centring, tuple[list[str], FloatArray]] = {
        **({"pairs": (["-".join(item) for item in full], spread(stacked))} if axis.full.is_paired else {}),
        "set": ([*words], np.array([*words.values()])),
        "none": ([*words], np.array([*words.values()])),
    }
    mean = np.mean([*words.values()], axis=0)
    parts = None if axis.derived == axis.full or not derived else np.array([*derived.values()])
    for centring, (names, rows) in sets.items():
        directions = None if parts is None else derive_directions(parts, axis.rank, centred=centring != "none")
        first = len(derived) if parts is not None and not axis.full.is_paired else len(rows) // 2
        yield measure_spectrum(rows, names, centring, axis.rank, directions, mean, first, seed)


def measure_spectrum(
    rows: FloatArray,
    names: Sequence[str],
    centring: Centring,
    rank: int,
    derived: FloatArray | None,
    mean: FloatArray,
    first: int,
    seed: int,
) -> Spectrum:
    """Return the spectrum of rows, shape (items, D), for an axis of `rank` dimensions.

    `derived`: its directions of the derived set, shape (D, rank); `mean`: of the words, shape (D,); `first`: how many
    items the first of two divided sets has. Raises ValueError where the rows do not span `rank` dimensions.
    """
    count, is_centred = len(rows), centring == "set"
    _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    basis = axes[sizes > sizes[0] * 1e-12].T  # all is in the span of the rows, which has few dimensions
    coordinates = rows @ basis
    whole, spanned = top_directions(coordinates, rank, is_centred)
    if not spanned:
        raise ValueError(f"{counted(count, 'item')} do not span {counted(rank, 'dimension')}")
    values = np.linalg.svd(coordinates - is_centred * coordinates.mean(axis=0), compute_uv=False)

    def compare(items: IntArray) -> FloatArray:
        return _cosines(_directions_of(coordinates[items], rank, is_centred), whole)

    def divide(number: int) -> FloatArray:
        order = draw_order(count, seed * SPLITS + number)
        sides = (coordinates[order[:first]], coordinates[order[first:]])
        return _cosines(*(_directions_of(side, rank, is_centred) for side in sides))

    left_out = np.array([compare(np.delete(np.arange(count), item)) for item in range(count)])
    draws = (draw_steps((DRAWS, count), seed) * 2.0**-53 * count).astype(np.intp)
    resampled = Quantiles.of(map(compare, draws))
    angles = None if derived is None else _cosines(derived, basis @ whole)
    towards = basis @ whole[:, 0]
    return Spectrum(
        centring=centring,
        ratios=_rounded(values[1 : RATIOS + 1] / values[0]),
        mean=_rounded([abs(towards @ mean) / (np.linalg.norm(mean) or 1.0)])[0],
        derived=None if derived is None else _rounded([abs(towards @ derived[:, 0])])[0],
        angles=() if angles is None else _rounded(angles),
        left_out=_rounded(left_out.min(axis=0)),
        least=names[int(left_out[:, -1].argmin())],
        resampled=resampled,
        divided=Quantiles.of(map(divide, range(SPLITS))),
        above_chance=resampled.low[-1] > chance_cosine(rows.shape[1]),
    )


def top_directions(rows: FloatArray, rank: int, is_centred: bool) -> tuple[FloatArray, bool]:
    """Return the first principal directions of rows, shape (numbers, rank), and whether the rows span so many."""
    moved = rows - rows.mean(axis=0) if is_centred else rows
    size = moved.shape[1]
    if size < rank:
        return np.zeros((size, rank)), False
    values, axes = eigh(moved.T @ moved, subset_by_index=[size - rank, size - 1])
    return np.asarray(axes[:, ::-1]), bool(values[0] > 1e-12 * values[-1] > 0)


def _directions_of(rows: FloatArray, rank: int, is_centred: bool) -> FloatArray:
    """Return the directions of rows; zeros, which have the cosine 0 with all, where they span fewer dimensions."""
    directions, spanned = top_directions(rows, rank, is_centred)
    return directions if spanned else np.zeros_like(directions)


def _cosines(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the cosines of the principal angles of two sets of orthonormal directions, largest first."""
    return np.asarray(np.minimum(np.linalg.svd(first.T @ second, compute_uv=False), 1.0))


def chance_cosine(dimensions: int) -> float:
    """Return the 95 % quantile of the cosine of a random direction with a given one, without its sign.

    Its square has a beta distribution; the quantile is about 1.96 / √D.

    >>> chance_cosine(50)
    0.275936
    """
    return _rounded([np.sqrt(betaincinv(0.5, (dimensions - 1) / 2, 0.95))])[0] if dimensions > 1 else 1.0


def _rounded(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(map(rounded, values))
