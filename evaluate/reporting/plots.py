"""Forest plots as SVG: a point and its interval for each figure, the same bytes on every machine."""

import io
import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from senseprobe.errors import ResultError
from senseprobe.records import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#1b6ca8", "#c8553d", "#3f7d20", "#7a4fa3", "#8a6d1d", "#444444")
_MOST_NAME = 60

Row = tuple[str, Sequence[Figure | None]]
"""A name, and a figure for each result, None where there is none."""


def colour(number: int) -> str:
    """Return the colour of a result, by its number from 0."""
    return _COLOURS[number % len(_COLOURS)]


def draw_forest(rows: Sequence[Row], from_zero: bool = False) -> str:
    """Return a plot of rows from top to bottom, on an axis around 0 or from 0 to 100.

    Raises ResultError without matplotlib.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise ResultError("a report needs matplotlib: pip install 'senseprobe[reports]'") from None

    output = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        # The reader's browser draws names in scripts that the font lacks.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        mpl.rcdefaults()  # without the user's style
        # Text stays text, never a formula, and ids are the same in every run.
        salt = "|".join(name for name, _ in rows)
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": salt, "font.size": 9, "text.parse_math": False})
        canvas = Canvas(figsize=(8, 0.8 + 0.18 * sum(1 + len(cells) for _, cells in rows)), layout="constrained")
        _fill_axes(canvas.subplots(), rows, from_zero)
        canvas.savefig(output, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = output.getvalue()
    # Ids of groups would be there several times on a page with several plots.
    return re.sub(r'<g id="[\w.]+">', "<g>", svg[svg.index("<svg") :])


def _fill_axes(axes: "Axes", rows: Sequence[Row], from_zero: bool) -> None:
    for position, (_, cells) in enumerate(rows):
        _draw_row(axes, position, cells)
    axes.set_yticks(range(len(rows)), [_shorten(name) for name, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    if from_zero:
        axes.set_xlim(-2, 102)
        axes.set_xlabel("points, of 100")
        return
    axes.axvline(0, color="#999999", linewidth=0.8)
    limit = _axis_limit(rows)
    axes.set_xlim(-limit, limit)
    axes.set_xlabel("points; hollow: 0 is not known to be neutral")


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_NAME else f"{text[:_MOST_NAME]}…"


def _axis_limit(rows: Sequence[Row]) -> float:
    """Return the ends of the axis: 52 points, or what the widest figure needs, 104 at most."""
    figures = [cell for _, cells in rows for cell in cells if cell is not None]
    ends = [abs(end) for cell in figures for end in (cell.value, cell.low, cell.high) if end is not None]
    return min(104.0, max(50.0, *ends) + 2.0) if ends else 52.0


def _draw_row(axes: "Axes", position: int, cells: Sequence[Figure | None]) -> None:
    for number, figure in enumerate(cells):
        if figure is None or figure.value is None:
            continue
        height = position + 0.7 * ((number + 0.5) / len(cells) - 0.5)
        filled = colour(number) if figure.neutral is not None else "white"
        if figure.low is not None and figure.high is not None:
            axes.plot([figure.low, figure.high], [height, height], color=colour(number), linewidth=1.4)
        axes.plot([figure.value], [height], "o", color=colour(number), markerfacecolor=filled, markersize=4.5)
