"""What was measured of axes in a model's vectors, for people and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from senseprobe.document import Section, Table
from senseprobe.evaluate.mitigation.axes import DeclaredAxis
from senseprobe.evaluate.mitigation.axis_vectors import AxisVectors
from senseprobe.evaluate.mitigation.directions import DRAWS, RATIOS, SPLITS, AxisReading, Spectrum, measure_axis
from senseprobe.messages import as_paragraph, counted, listed, printable

_CENTRINGS = {"pairs": "pairs", "set": "centred", "none": "not centred"}
_COSINES = ("derived", "angles", "one out", "resampled", "divided")
_ABOUT = (
    "2nd, 3rd, 4th: singular values, divided by the first. Derived: cosine of the first direction of all items with "
    "the derived one. Angles, and what follows: cosines of principal angles, of all dimensions. One out: without the "
    f"item that changes most. Resampled: 5 % quantile of {DRAWS:,} draws with replacement. Divided: median of {SPLITS} "
    "divisions into two sets. Rows of pairs are of differences of words of length 1, others of words."
)


@dataclass(frozen=True, slots=True)
class DirectionReport:
    """What was measured of axes in the vectors of a model; printed, it is a table."""

    model: str
    dimensions: int
    seed: int
    axes: tuple[AxisReading, ...]

    def __str__(self) -> str:
        return str(self.section())

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)

    def section(self) -> Section:
        """Return what people read: a table with a row for each axis and centring, and which words it is of."""
        columns = {"axis": "name", "": "words", "2nd": "number", "3rd": "number", "4th": "number"}
        columns |= {**dict.fromkeys(_COSINES, "number"), "reading": "words"}
        rows = [
            (axis.name if spectrum is axis.spectra[0] else "", *_cells(spectrum), describe_stability(spectrum, axis))
            for axis in self.axes
            for spectrum in axis.spectra
        ]
        lines = (
            f"{printable(self.model)}: {counted(self.dimensions, 'dimension')}, seed {self.seed}",
            *(as_paragraph(*_describe(axis)) for axis in self.axes),
        )
        return Section("", (*lines, _ABOUT) if rows else lines, tables=(Table.of_texts(columns, rows),) if rows else ())


def measure_directions(
    model: str, vectors: AxisVectors, axes: Sequence[DeclaredAxis], *, seed: int = 0
) -> DirectionReport:
    """Return what can be measured of axes in a model's vectors of words; `seed` is of resamples and divisions."""
    readings = tuple(measure_axis(vectors, axis, seed=seed) for axis in axes)
    return DirectionReport(model, vectors.dimensions, seed, readings)


def describe_stability(spectrum: Spectrum, axis: AxisReading) -> str:
    """Return in a few words whether there is such an axis."""
    if spectrum.is_mean:
        return "the mean of the words"
    if not spectrum.above_chance:
        return "no stable axis"
    doubts = [*(["a further one nearly as large"] if spectrum.is_doubtful else [])]
    doubts += ["parts disagree"] if spectrum.divided.median[-1] <= axis.by_chance else []
    return ": ".join(filter(None, ("above chance", ", ".join(doubts))))


def _cells(spectrum: Spectrum) -> list[str]:
    ratios = [*(f"{ratio:.2f}" for ratio in spectrum.ratios), *[""] * RATIOS][:RATIOS]
    derived = () if spectrum.derived is None else (spectrum.derived,)
    angles = spectrum.angles if len(spectrum.angles) > 1 else ()
    cosines = (derived, angles, spectrum.left_out, spectrum.resampled.low, spectrum.divided.median)
    return [
        _CENTRINGS[spectrum.centring],
        *ratios,
        *(" ".join(f"{value:.2f}" for value in values) for values in cosines),
    ]


def _describe(axis: AxisReading) -> Iterator[str]:
    """Yield sentences about an axis: its items, those that are missing, and why it was not measured."""
    derived = "" if axis.derived == axis.full else f", derived from {listed(map(printable, axis.derived))}"
    yield f"{printable(axis.name)}: {counted(len(axis.full), 'pair' if axis.is_paired else 'word')}{derived}."
    if axis.missing:
        without = f"Not one token in the form {axis.form}" if axis.form else "Without a vector"
        yield f"{without}: {', '.join(map(printable, axis.missing))}."
    if axis.underived:
        yield f"No derived direction: {axis.underived}."
    if axis.unmeasured:
        yield f"Not measured: {axis.unmeasured}."
    for spectrum in axis.spectra[:1]:
        yield f"Least alike without {printable(spectrum.least)}."
        yield f"Random directions: below {axis.by_chance:.2f} in 95 % of draws."
