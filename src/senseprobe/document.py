"""The parts of a page, forest plots among them, and their rendering as one self-contained HTML page or as Markdown.

Text in a document is as it came from results and releases; the two renderers escape all of it.
"""

import io
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Self

import jinja2
from markupsafe import Markup

from senseprobe.charts import Chart
from senseprobe.errors import ResultError
from senseprobe.records import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its `text`, and a `note` below in small print. `kind`: ``name``, ``number``, ``quiet`` or ``words``."""

    text: str
    note: str = ""
    kind: str = "words"

    @classmethod
    def number(cls, text: str, note: str = "") -> Self:
        """Return a cell of a number."""
        return cls(text, note, "number")

    @classmethod
    def quiet(cls, text: str) -> Self:
        """Return a cell of what few readers need."""
        return cls(text, kind="quiet")


def name_cells(*names: str) -> tuple[Cell, ...]:
    """Return a cell for each name: of a config, a figure, a group or a word."""
    return tuple(Cell(name, kind="name") for name in names)


@dataclass(frozen=True, slots=True)
class Table:
    """A table under a `caption`; a heading that is a number is that result's (from 0). `closed`: collapsed."""

    caption: str
    headings: tuple[str | int, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Plot:
    """A forest plot as SVG, with a title that describes it; Markdown leaves it out. `closed`: collapsed."""

    title: str
    svg: str
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with paragraphs, plots and tables in this order; `closed` plots come last. Empty ones are false."""

    title: str
    paragraphs: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.paragraphs or self.plots or self.tables or self.charts)


def table_section(title: str, paragraphs: Iterable[str], tables: Iterable[Table]) -> Section:
    """Return a section of the tables that have rows, with paragraphs about them; it is empty where none has any."""
    tables = tuple(table for table in tables if table.rows)
    return Section(title, tuple(paragraphs) if tables else (), tables=tables)


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A whole page: title, content warning, sections; of results their names and signatures, else what plots compare.

    `labels` are the names of what has a colour each.
    """

    title: str
    warning: str
    labels: tuple[str, ...]
    sections: tuple[Section, ...]
    signatures: tuple[str, ...] = ()


def render_html(document: Document) -> str:
    """Return the page as HTML, with styles and plots in it; it loads nothing, and its policy forbids all else."""
    return _environment().get_template("page.html.j2").render(document=document, colours=COLOURS, draw=_name_image)


def render_markdown(document: Document) -> str:
    """Return the page as Markdown, without plots."""
    return _environment().get_template("page.md.j2").render(document=document)


@cache
def _environment() -> jinja2.Environment:
    """Return templates that escape all values: HTML by Jinja, Markdown by `_escape`."""
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (files("senseprobe") / name).read_text("utf-8")),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.j2",), default=False),
        undefined=jinja2.StrictUndefined,
        finalize=_escape,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _name_image(plot: Plot) -> Markup:
    """Return the plot as an image with a name; matplotlib has escaped its words."""
    start = Markup('<svg role="img" aria-label="{}" ').format(plot.title)
    return start + Markup(plot.svg.removeprefix("<svg "))  # noqa: S704


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
# What GitHub turns into links, mentions, emoji and formulas even where it is escaped.
# What follows the @ of NAME@VERSION ends in a number, which an address never does.
_AUTOLINKED = re.compile(r"\$|(?<!\w)@(?=\w)|@(?![\d.]+(?!\w))|:(?=[/\w+-])|(?<=www)\.", re.IGNORECASE)
# A list or a rule at the beginning of a line: the escape goes behind it.
_BLOCK_START = re.compile(r"^(?:\d{1,9}(?=[.)](?:\s|$))|(?=[-+](?:\s|$)|--))")


@jinja2.pass_eval_context
def _escape(context: jinja2.nodes.EvalContext, value: object) -> object:
    """Return what Jinja escapes as it is; for Markdown one line that GitHub reads as nothing but text."""
    if context.autoescape:
        return value
    escaped = _SPECIAL.sub(r"\\\1", " ".join(str(value).split()))
    return _BLOCK_START.sub(r"\g<0>\\", _AUTOLINKED.sub(r"<span>\g<0></span>", escaped), count=1)


# --- Forest plots ---------------------------------------------------------------------------------------------------

COLOURS = ("#1b6ca8", "#c8553d", "#3f7d20", "#7a4fa3", "#8a6d1d", "#444444")
_MOST_NAME = 60

Row = tuple[str, Sequence[Figure | None]]
"""A name, and a figure for each result, None where there is none."""


def draw_forest(rows: Sequence[Row], from_zero: bool = False, label: str = "") -> str:
    """Return a plot of rows as SVG, the same bytes on every machine, on an axis around 0 or from 0 to 100.

    `label`: of the axis, where that is not points. Raises ResultError without matplotlib.
    """
    _require_matplotlib()
    import matplotlib as mpl

    output = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        # The reader's browser draws names in scripts that the font lacks.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        mpl.rcdefaults()  # without the user's style
        # Text stays text, never a formula, and ids are the same in every run.
        salt = "|".join(name for name, _ in rows)
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": salt, "font.size": 9, "text.parse_math": False})
        canvas = plot_forest(rows, from_zero, label)
        canvas.savefig(output, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = output.getvalue()
    # Ids of groups would be there several times on a page with several plots.
    return re.sub(r'<g id="[\w.]+">', "<g>", svg[svg.index("<svg") :])


def plot_forest(rows: Sequence[Row], from_zero: bool = False, label: str = "") -> "Canvas":
    """Return the plot of `draw_forest` as a Matplotlib figure, in the user's style; raises ResultError as it does."""
    _require_matplotlib()
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(8, 0.8 + 0.18 * sum(1 + len(cells) for _, cells in rows)), layout="constrained")
    axes = canvas.subplots()
    for position, (_, cells) in enumerate(rows):
        _draw_row(axes, position, cells)
    names = [name if len(name) <= _MOST_NAME else f"{name[:_MOST_NAME]}…" for name, _ in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    if from_zero:
        axes.set_xlim(-2, 102)
        axes.set_xlabel(label or "points, of 100")
        return canvas
    axes.axvline(0, color="#999999", linewidth=0.8)
    figures = [cell for _, cells in rows for cell in cells if cell is not None]
    ends = [abs(end) for cell in figures for end in (cell.value, cell.low, cell.high) if end is not None]
    limit = min(104.0, max([50.0, *ends]) + 2.0)
    axes.set_xlim(-limit, limit)
    axes.set_xlabel(label or "points; hollow: 0 is not known to be neutral")
    return canvas


def _require_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise ResultError("a report needs matplotlib: pip install 'senseprobe[reports]'")


def _draw_row(axes: "Axes", position: int, cells: Sequence[Figure | None]) -> None:
    for number, figure in enumerate(cells):
        if figure is None or figure.value is None:
            continue
        height = position + 0.7 * ((number + 0.5) / len(cells) - 0.5)
        colour = COLOURS[number % len(COLOURS)]
        filled = colour if figure.neutral is not None else "white"
        if figure.low is not None and figure.high is not None:
            axes.plot([figure.low, figure.high], [height, height], color=colour, linewidth=1.4)
        axes.plot([figure.value], [height], "o", color=colour, markerfacecolor=filled, markersize=4.5)
