"""What a report is made of, before it is set: sections of paragraphs, plots and tables, in plain words.

Nothing here is escaped: names and sentences are as they were found, and whoever sets them escapes them all.

A document set as one self-contained HTML page, or as Markdown. Whatever was found in a result is text in both.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table under a `caption`; a heading that is a number is that result's (from 0). `closed`: shown on demand."""

    caption: str
    headings: tuple[str | int, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    closed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Plot:
    """A forest plot as SVG, and what it shows, in words; Markdown leaves it out. `closed`: shown on demand."""

    title: str
    svg: str
    closed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading, and what stands below it, in this order, but for `closed` plots, which come last."""

    title: str
    paragraphs: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.paragraphs or self.plots or self.tables)


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A whole report: its title, a warning that comes before all else, the results by name, and sections."""

    title: str
    warning: str
    labels: tuple[str, ...]
    sections: tuple[Section, ...]
    signatures: tuple[str, ...]


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
# What GitHub makes links, mentions, emoji and formulas of, even where it is escaped.
# What follows the @ of NAME@VERSION ends in a number, which no address does.
_MADE_MORE_OF = re.compile(r"\$|(?<!\w)@(?=\w)|@(?![\d.]+(?!\w))|:(?=[/\w+-])|(?<=www)\.", re.IGNORECASE)
# A list, or a rule, where it stands at the beginning of a line: the escape goes behind this.
_BEGINS = re.compile(r"^(?:\d{1,9}(?=[.)](?:\s|$))|(?=[-+](?:\s|$)|--))")


def render_html(document: Document) -> str:
    """The page: styles and plots are in it, it asks for nothing, and its policy forbids all else."""
    return _environment().get_template("page.html.j2").render(document=document, colour=colour, drawn=_drawn)


def render_markdown(document: Document) -> str:
    """The same without plots."""
    return _environment().get_template("page.md.j2").render(document=document)


@cache
def _environment() -> jinja2.Environment:
    """Of HTML, whatever is put in is escaped by Jinja; of Markdown, by `_plain`."""
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.j2",), default=False),
        undefined=jinja2.StrictUndefined,
        finalize=_plain,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _source(name: str) -> str:
    return files("senseprobe").joinpath("evaluate", "reporting", name).read_text(encoding="utf-8")


@jinja2.pass_eval_context
def _plain(context: jinja2.nodes.EvalContext, value: object) -> object:
    """A value that Markdown takes for nothing but text, in one line; of HTML, as it is."""
    return value if context.autoescape else _text(str(value))


def _text(found: str) -> str:
    """Text for Markdown as GitHub has it."""
    escaped = _SPECIAL.sub(r"\\\1", " ".join(found.split()))
    return _BEGINS.sub(r"\g<0>\\", _MADE_MORE_OF.sub(r"<span>\g<0></span>", escaped), count=1)


def _drawn(plot: Plot) -> Markup:
    """The plot as an image with a name; matplotlib escapes the words that it draws."""
    named = Markup('<svg role="img" aria-label="{}" ').format(plot.title)
    return named + Markup(plot.svg.removeprefix("<svg "))  # noqa: S704
