"""Forest plots as SVG: a point and its interval for each figure, the same bytes wherever they are made."""

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
    """The colour of a result, by its number from 0."""
    return _COLOURS[number % len(_COLOURS)]


def draw_forest(rows: Sequence[Row], from_zero: bool = False) -> str:
    """The rows from top to bottom, on an axis around 0, or from 0 to 100. ResultError without matplotlib."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise ResultError("a report needs matplotlib: pip install 'senseprobe[reports]'") from None

    text = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        # Names in scripts that the font lacks are drawn by the reader's browser.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        mpl.rcdefaults()  # whatever style the user has set
        # Text stays text and no formula, and ids do not change from run to run.
        mpl.rcParams.update(
            {"svg.fonttype": "none", "svg.hashsalt": _salt(rows), "font.size": 9, "text.parse_math": False}
        )
        canvas = Canvas(figsize=(8, 0.8 + 0.18 * sum(1 + len(cells) for _, cells in rows)), layout="constrained")
        _fill(canvas.subplots(), rows, from_zero)
        canvas.savefig(text, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = text.getvalue()
    # A page holds several plots, and names of groups of theirs would be there several times.
    return re.sub(r'<g id="[\w.]+">', "<g>", svg[svg.index("<svg") :])


def _salt(rows: Sequence[Row]) -> str:
    return "|".join(name for name, _ in rows)


def _fill(axes: "Axes", rows: Sequence[Row], from_zero: bool) -> None:
    for place, (_, cells) in enumerate(rows):
        _draw(axes, place, cells)
    axes.set_yticks(range(len(rows)), [_name(name) for name, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    if from_zero:
        axes.set_xlim(-2, 102)
        axes.set_xlabel("points, of 100")
        return
    axes.axvline(0, color="#999999", linewidth=0.8)
    axes.set_xlim(-_limit(rows), _limit(rows))
    axes.set_xlabel("points; hollow: 0 is not known to be neutral")


def _name(text: str) -> str:
    return text if len(text) <= _MOST_NAME else f"{text[:_MOST_NAME]}…"


def _limit(rows: Sequence[Row]) -> float:
    """How far the axis goes to either side: 52 points, or as far as the widest contrast needs, 104 at most."""
    figures = [cell for _, cells in rows for cell in cells if cell is not None]
    ends = [abs(end) for cell in figures for end in (cell.value, cell.low, cell.high) if end is not None]
    return min(104.0, max(50.0, *ends) + 2.0) if ends else 52.0


def _draw(axes: "Axes", place: int, cells: Sequence[Figure | None]) -> None:
    for number, figure in enumerate(cells):
        if figure is None or figure.value is None:
            continue
        height = place + 0.7 * ((number + 0.5) / len(cells) - 0.5)
        filled = colour(number) if figure.neutral is not None else "white"
        if figure.low is not None and figure.high is not None:
            axes.plot([figure.low, figure.high], [height, height], color=colour(number), linewidth=1.4)
        axes.plot([figure.value], [height], "o", color=colour(number), markerfacecolor=filled, markersize=4.5)
