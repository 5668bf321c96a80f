"""Charts of a page as plain data: a page's template draws them in HTML and small SVG, and Markdown leaves them out.

Values, intervals and ends of axes are in the chart's own unit, which is points for figures.
"""

from dataclasses import dataclass


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


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatMap:
    """A number for each row and column: signed points from -50 to 50, None where there is none.

    `texts` are the numbers in words, of the shape of `values`, as ``+50 (4 of 4)``.
    """

    title: str
    row_heading: str
    column_heading: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    closed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Histogram:
    """How often numbers occur: `counts` of each result between the `edges`, of which there is one more."""

    title: str
    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    left: str
    right: str
    closed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Scatter:
    """A point (x, y) for each row."""

    title: str
    x_label: str
    y_label: str
    points: tuple[tuple[float, float], ...]
    closed: bool = False


Chart = Forest | HeatMap | Histogram | Scatter
