"""The parts of a report, and their rendering as one self-contained HTML page or as Markdown.

Text in a document is as it came from results and releases; the two renderers escape all of it.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

from senseprobe.evaluate.reporting.plots import colour


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A cell: its `text`, and a `note` below in small print. `kind`: ``name``, ``number``, ``quiet`` or ``words``."""

    text: str
    note: str = ""
    kind: str = "words"


def name_cells(*names: str) -> tuple[Cell, ...]:
    """Return a cell for each name: of a config, a figure, a group or a word."""
    return tuple(Cell(text=name, kind="name") for name in names)


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table under a `caption`; a heading that is a number is that result's (from 0). `closed`: collapsed."""

    caption: str
    headings: tuple[str | int, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    closed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Plot:
    """A forest plot as SVG, with a title that describes it; Markdown leaves it out. `closed`: collapsed."""

    title: str
    svg: str
    closed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading with paragraphs, plots and tables in this order; `closed` plots come last. Empty ones are false."""

    title: str
    paragraphs: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.paragraphs or self.plots or self.tables)


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A whole report: title, content warning, the names of the results, sections, and the results' signatures."""

    title: str
    warning: str
    labels: tuple[str, ...]
    sections: tuple[Section, ...]
    signatures: tuple[str, ...]


def render_html(document: Document) -> str:
    """Return the page as HTML, with styles and plots in it; it loads nothing, and its policy forbids all else."""
    return _environment().get_template("page.html.j2").render(document=document, colour=colour, draw=_draw)


def render_markdown(document: Document) -> str:
    """Return the page as Markdown, without plots."""
    return _environment().get_template("page.md.j2").render(document=document)


@cache
def _environment() -> jinja2.Environment:
    """Return templates that escape all values: HTML by Jinja, Markdown by `_escape`."""
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_read_template),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.j2",), default=False),
        undefined=jinja2.StrictUndefined,
        finalize=_escape,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _read_template(name: str) -> str:
    return files("senseprobe").joinpath("evaluate", "reporting", name).read_text(encoding="utf-8")


def _draw(plot: Plot) -> Markup:
    """Return the plot as an image with a name; matplotlib has escaped its words."""
    start = Markup('<svg role="img" aria-label="{}" ').format(plot.title)
    return start + Markup(plot.svg.removeprefix("<svg "))  # noqa: S704


@jinja2.pass_eval_context
def _escape(context: jinja2.nodes.EvalContext, value: object) -> object:
    return value if context.autoescape else _escape_markdown(str(value))


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
# What GitHub turns into links, mentions, emoji and formulas even where it is escaped.
# What follows the @ of NAME@VERSION ends in a number, which an address never does.
_AUTOLINKED = re.compile(r"\$|(?<!\w)@(?=\w)|@(?![\d.]+(?!\w))|:(?=[/\w+-])|(?<=www)\.", re.IGNORECASE)
# A list or a rule at the beginning of a line: the escape goes behind it.
_BLOCK_START = re.compile(r"^(?:\d{1,9}(?=[.)](?:\s|$))|(?=[-+](?:\s|$)|--))")


def _escape_markdown(text: str) -> str:
    """Return one line that GitHub's Markdown reads as nothing but text."""
    escaped = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return _BLOCK_START.sub(r"\g<0>\\", _AUTOLINKED.sub(r"<span>\g<0></span>", escaped), count=1)
