"""One self-contained HTML page: figures by sense type with intervals, a plot, what each figure can and cannot say."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import CATALOGUE
from senseprobe.evaluate.result import Result
from senseprobe.records import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["render"]

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
    return _template().render(
        results=results,
        labels=[f"{result.scorer} · {result.model['name']}" for result in results],
        senses=senses,
        estimands=[estimand for estimand in CATALOGUE.values() if estimand.id in used],
        plot=Markup(_plot(lines, results)),  # noqa: S704 - matplotlib escapes the words that it draws
    )


def interval(figure: Figure) -> str:
    """Value and interval in points, one decimal: ``+12.3 [-4.0, +28.1]``."""
    if figure.value is None:
        return "none"
    bounds = "" if figure.low is None or figure.high is None else f" [{figure.low:+.1f}, {figure.high:+.1f}]"
    return f"{figure.value:+.1f}{bounds}"


def _lines(results: Sequence[Result]) -> Iterable[Line]:
    found: dict[tuple[str, str, str | None], list[Figure | None]] = {}
    for number, result in enumerate(results):
        for figure in result.figures:
            key = (figure.config, figure.estimand, figure.group)
            found.setdefault(key, [None] * len(results))[number] = figure
    for (config, estimand, group), cells in found.items():
        yield Line(config, estimand, group, tuple(cells))


@cache
def _template() -> jinja2.Template:
    source = files("senseprobe").joinpath("evaluate", "report.html.j2").read_text(encoding="utf-8")
    env = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    env.filters.update(interval=interval, upper_first=lambda text: text[:1].upper() + text[1:])
    return env.from_string(source)


def _plot(lines: Sequence[Line], results: Sequence[Result]) -> str:
    """A forest plot as SVG: a point and its interval for each figure that has one."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise ResultError("a report needs matplotlib: pip install 'senseprobe[reports]'") from None

    kept = [line for line in lines if line.estimand in _PLOTTED and line.group is None]
    # Text stays text, and ids do not change from run to run.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "senseprobe", "font.size": 9}):
        canvas = Canvas(figsize=(8, 1 + 0.18 * len(kept) * (1 + len(results))), layout="constrained")
        axes = canvas.subplots()
        for row, line in enumerate(kept):
            _draw(axes, row, line)
        axes.axvline(0, color="#999999", linewidth=0.8)
        axes.set_yticks(range(len(kept)), [f"{line.config}: {line.estimand}" for line in kept])
        axes.set_xlim(-52, 52)
        axes.invert_yaxis()
        axes.set_xlabel("points; hollow: no value is known to mean no bias")
        for number, result in enumerate(results):
            axes.plot(
                [], [], "o", color=_COLOURS[number % len(_COLOURS)], label=f"{result.scorer} · {result.model['name']}"
            )
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.06), frameon=False)
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def _draw(axes: "Axes", row: int, line: Line) -> None:
    for number, figure in enumerate(line.cells):
        if figure is None or figure.value is None:
            continue
        height, colour = row + 0.7 * ((number + 0.5) / len(line.cells) - 0.5), _COLOURS[number % len(_COLOURS)]
        filled = colour if figure.neutral is not None else "white"
        if figure.low is not None and figure.high is not None:
            axes.plot([figure.low, figure.high], [height, height], color=colour, linewidth=1.4)
        axes.plot([figure.value], [height], "o", color=colour, markerfacecolor=filled, markersize=4.5)
