"""One self-contained HTML page: figures by sense type with intervals, a plot, what each figure can and cannot say."""

import io
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import CATALOGUE, NO_NEUTRAL
from senseprobe.evaluate.estimands.kernels import NOT_ESTIMABLE
from senseprobe.evaluate.result import Result
from senseprobe.records import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["interval", "render"]

_WITHOUT_INTERVAL = ("preference", "spread", "unmatched-difference")
_PLOTTED = ("preference-half", "pronoun-stereotype", "pronoun-baseline", "pronoun-interaction", "matched-contrast")
_COLOURS = ("#1b6ca8", "#c8553d", "#3f7d20", "#7a4fa3", "#8a6d1d", "#444444")


@dataclass(frozen=True, slots=True)
class Line:
    """A figure as it is printed: one cell for each result, in their order; None where a result does not have it."""

    config: str
    estimand: str
    group: str | None
    cells: tuple[Figure | None, ...]

    @property
    def first(self) -> Figure:
        """The figure of the first result that has one."""
        return next(cell for cell in self.cells if cell is not None)

    @property
    def bases(self) -> list[tuple[str, list[int]]]:
        """What the cells rest on, each basis once, with the numbers (from 1) of the results that rest on it."""
        found: dict[str, list[int]] = {}
        for number, cell in enumerate(self.cells, start=1):
            if cell is not None:
                found.setdefault(_basis(cell), []).append(number)
        return list(found.items())


def render(results: Sequence[Result]) -> str:
    """The page for results on one release; ResultError where there are none, or releases differ."""
    releases = {(result.release["name"], result.release["content"]) for result in results}
    if len(releases) != 1:
        raise ResultError("a report is of results on one release" if releases else "no results to report")
    lines = list(_lines(results))
    senses: dict[str, list[Line]] = {}
    for line in lines:
        senses.setdefault(line.first.sense_type, []).append(line)
    used = {line.estimand for line in lines}
    plot = _plot([line for line in lines if line.estimand in _PLOTTED and line.group is None])
    return _template().render(
        results=results,
        labels=[(f"{result.scorer} · {result.model['name']}", _colour(i)) for i, result in enumerate(results)],
        senses=senses,
        estimands=[estimand for estimand in CATALOGUE.values() if estimand.id in used],
        plot=Markup(plot),  # noqa: S704 - matplotlib escapes the words that it draws
    )


def interval(figure: Figure) -> str:
    """Value and interval in points, one decimal: ``+12.3 [-4.0, +28.1]``; said so where there should be an interval."""
    if figure.value is None:
        return "none"
    if figure.low is None or figure.high is None:
        expected = figure.estimand not in _WITHOUT_INTERVAL
        return f"{_points(figure.value)} (interval not estimable)" if expected else _points(figure.value)
    return f"{_points(figure.value)} [{_points(figure.low)}, {_points(figure.high)}]"


def _points(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}"  # 0.0 is added so that nothing prints as -0.0


def _basis(figure: Figure) -> str:
    """Rows, what was left out of them, what the interval generalises over, and what the other columns do not say."""
    parts = [", ".join([f"{figure.rows} rows", *(f"{n} {reason}" for reason, n in figure.left_out.items() if n)])]
    if figure.levels:
        parts.append("over " + ", ".join(f"{name} ({n})" for name, n in figure.levels.items()))
    if figure.fixed:
        parts.append("not over " + ", ".join(figure.fixed))
    parts += [note for note in figure.note.split("; ") if note not in {"", NO_NEUTRAL, NOT_ESTIMABLE}]
    return "; ".join(parts)


def _lines(results: Sequence[Result]) -> Iterable[Line]:
    found: dict[tuple[str, str, str | None], list[Figure | None]] = {}
    for number, result in enumerate(results):
        for figure in result.figures:
            key = (figure.config, figure.estimand, figure.group)
            found.setdefault(key, [None] * len(results))[number] = figure
    for (config, estimand, group), cells in found.items():
        yield Line(config, estimand, group, tuple(cells))


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


@cache
def _template() -> jinja2.Template:
    source = files("senseprobe").joinpath("evaluate", "report.html.j2").read_text(encoding="utf-8")
    env = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    env.filters.update(interval=interval, upper_first=lambda text: text[:1].upper() + text[1:])
    return env.from_string(source)


def _plot(lines: Sequence[Line]) -> str:
    """A forest plot as SVG: a point and its interval for each figure that has one. The page's list is its legend.

    Empty where there is nothing to plot.
    """
    if not lines:
        return ""
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
            {"svg.fonttype": "none", "svg.hashsalt": "senseprobe", "font.size": 9, "text.parse_math": False}
        )
        canvas = Canvas(figsize=(8, 0.8 + 0.18 * sum(1 + len(line.cells) for line in lines)), layout="constrained")
        _fill(canvas.subplots(), lines)
        canvas.savefig(text, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return text.getvalue()[text.getvalue().index("<svg") :]


def _fill(axes: "Axes", lines: Sequence[Line]) -> None:
    """Draw the lines from top to bottom."""
    for row, line in enumerate(lines):
        _draw(axes, row, line)
    axes.axvline(0, color="#999999", linewidth=0.8)
    axes.set_yticks(range(len(lines)), [f"{line.config}: {line.estimand}" for line in lines])
    axes.set_xlim(-_limit(lines), _limit(lines))
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_xlabel("points; hollow: 0 is not known to be neutral")


def _limit(lines: Sequence[Line]) -> float:
    """How far the axis goes to either side: 52 points, or as far as the widest contrast needs, 104 at most."""
    cells = [cell for line in lines for cell in line.cells if cell is not None]
    ends = [abs(end) for cell in cells for end in (cell.value, cell.low, cell.high) if end is not None]
    return min(104.0, max(50.0, *ends) + 2.0) if ends else 52.0


def _draw(axes: "Axes", row: int, line: Line) -> None:
    for number, figure in enumerate(line.cells):
        if figure is None or figure.value is None:
            continue
        height, colour = row + 0.7 * ((number + 0.5) / len(line.cells) - 0.5), _colour(number)
        filled = colour if figure.neutral is not None else "white"
        if figure.low is not None and figure.high is not None:
            axes.plot([figure.low, figure.high], [height, height], color=colour, linewidth=1.4)
        axes.plot([figure.value], [height], "o", color=colour, markerfacecolor=filled, markersize=4.5)
