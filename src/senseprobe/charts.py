"""Charts of a page as plain data: a page's template draws them in HTML and small SVG, and Markdown leaves them out.

Values, intervals and ends of axes are in the chart's own unit, which is points for figures.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """The ends of the axis that the marks of a table's cells are on, and the value to compare with, if there is one."""

    low: float
    high: float
    neutral: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """One result's figure in a row of a forest.

    - `series`: which result, from 0, as colour and marker.
    - `value`, `low`, `high`: the figure and its interval, None where there is none.
    - `hollow`: its 0 is not known to be neutral.
    - `text`: the figure in words, as ``+20.3 [+6.8, +31.0]``.
    """

    series: int
    value: float | None
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForestRow:
    """A row of a forest: what is measured, and a mark for each result. `left` and `right`: what its ends mean.

    `left` and `right` are empty where the forest's own hold.
    """

    label: str
    marks: tuple[Mark, ...]
    note: str = ""
    left: str = ""
    right: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forest:
    """Figures with intervals on one axis from `low` to `high`, which means `left` and `right`.

    `neutral` is the value of the line to compare with, None where there is none. `closed`: collapsed.
    """

    title: str
    rows: tuple[ForestRow, ...]
    low: float
    high: float
    neutral: float | None = 0.0
    left: str
    right: str
    closed: bool = False

    kind: ClassVar[str] = "forest"


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatMap:
    """A number for each row and column: signed points from -50 to 50, None where there is none.

    `texts` are the numbers in words, of the shape of `values`, as ``+50 4 of 4``; the ends of the scale, which read
    `low` and `high`, mean `left` and `right`. `note` says what is in small print.
    """

    title: str
    row_heading: str
    column_heading: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    left: str = ""
    right: str = ""
    low: str = "\N{MINUS SIGN}50"
    high: str = "+50"
    note: str = "Small: so many of the pairs, ties as halves."
    closed: bool = False

    kind: ClassVar[str] = "heat-map"


@dataclass(frozen=True, kw_only=True, slots=True)
class Histogram:
    """How often numbers occur: `counts` between `edges` that are as far apart, of which there is one more."""

    title: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    left: str
    right: str
    closed: bool = False

    kind: ClassVar[str] = "histogram"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scatter:
    """Points (x, y), in thousandths of two axes that both have 0 in the middle, at 500."""

    title: str
    x_label: str
    y_label: str
    points: tuple[tuple[int, int], ...]
    closed: bool = False

    kind: ClassVar[str] = "scatter"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassShares:
    """Mean probabilities of `classes` by row, as stacked bars: the label of a row, and shares whose sum is 1."""

    title: str
    row_heading: str
    classes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]
    closed: bool = False

    kind: ClassVar[str] = "shares"


Chart = Forest | HeatMap | Histogram | Scatter | ClassShares


def percent_along(value: float, low: float, high: float) -> str:
    """Return how far along an axis a value is, in percent as CSS and SVG take it; what is beyond an end is at it."""
    share = (min(max(value, low), high) - low) / (high - low) if high > low else 0.5
    return f"{100 * share:.4g}%"
