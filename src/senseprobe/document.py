"""The parts of a page, charts among them, and their rendering as one self-contained HTML page or as Markdown.

Text in a document is as it came from results and releases; the two renderers escape all of it.
"""

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Self

import jinja2
from markupsafe import Markup

from senseprobe.charts import Axis, Chart, Mark, percent_along


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its `text`, and a `note` below in small print; a `mark` is drawn on the axis of its table.

    `kind`: ``name``, ``number``, ``quiet``, ``words``, or ``prompt``, which keeps its lines; `tag`: a word in front
    that says what the cell amounts to, of which `tone` is the colour (``strong``, ``calm``, ``open`` or ``mute``).
    """

    text: str
    note: str = ""
    kind: str = "words"
    mark: Mark | None = None
    tag: str = ""
    tone: str = ""

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
    """A table under a `caption`; a heading that is a number is that result's (from 0). `closed`: collapsed.

    `axis` is that of the marks in its cells, None where it has none.
    """

    caption: str
    headings: tuple[str | int, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    closed: bool = False
    axis: Axis | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with paragraphs, charts and tables in this order; empty ones are false. `closed`: all is collapsed.

    `rows` is JSON that the page's script lets readers search, in place of the tables (page_rows.js says what it has).
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    closed: bool = False
    rows: str = ""

    def __bool__(self) -> bool:
        return bool(self.paragraphs or self.charts or self.tables)


def table_section(title: str, paragraphs: Iterable[str], tables: Iterable[Table]) -> Section:
    """Return a section of the tables that have rows, with paragraphs about them; it is empty where none has any."""
    tables = tuple(table for table in tables if table.rows)
    return Section(title, tuple(paragraphs) if tables else (), tables=tables)


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """The sections about one release, under its name where a page is about several.

    `labels` are the names of its results, or of what else its charts and tables tell apart by colour and marker.
    """

    title: str
    sections: tuple[Section, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A whole page: title, a line below it, a note of who wrote it, content warning, parts; signatures of results."""

    title: str
    subtitle: str = ""
    note: str = ""
    warning: str
    parts: tuple[Part, ...]
    signatures: tuple[str, ...] = ()


def render_html(document: Document) -> str:
    """Return the page as HTML, with styles and charts in it; it loads nothing, and its policy forbids all else.

    The only script is our own, where there are rows to search: the policy names its hash.
    """
    script = (files("senseprobe") / "page_rows.js").read_text("utf-8")
    has_rows = any(section.rows for part in document.parts for section in part.sections)
    parts = {
        "script": Markup(script) if has_rows else "",  # noqa: S704 - a file of this package
        "script_hash": b64encode(sha256(script.encode()).digest()).decode(),
        "percent_along": percent_along,
    }
    return _environment().get_template("page.html.j2").render(document=document, **parts)


def render_markdown(document: Document) -> str:
    """Return the page as Markdown, without charts."""
    return _environment().get_template("page.md.j2").render(document=document)


def render_table(table: Table) -> str:
    """Return a table under its caption as Markdown, for a comment on a pull request."""
    return _environment().get_template("table.md.j2").render(table=table)


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


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
# What GitHub turns into links, mentions, emoji and formulas even where it is escaped.
# What follows the @ of NAME@VERSION is of digits and dots, which an address never is.
_AUTOLINKED = re.compile(r"\$|(?<!\w)@(?=\w)|@(?![\d.]+(?![\w.-]))|:(?=[/\w+-])|(?<=www)\.", re.IGNORECASE)
# A list or a rule at the beginning of a line: the escape goes behind it.
_BLOCK_START = re.compile(r"^(?:\d{1,9}(?=[.)](?:\s|$))|(?=[-+](?:\s|$)|--))")


@jinja2.pass_eval_context
def _escape(context: jinja2.nodes.EvalContext, value: object) -> object:
    """Return what Jinja escapes as it is; for Markdown one line that GitHub reads as nothing but text."""
    if context.autoescape:
        return value
    escaped = _SPECIAL.sub(r"\\\1", " ".join(str(value).split()))
    return _BLOCK_START.sub(r"\g<0>\\", _AUTOLINKED.sub(r"<span>\g<0></span>", escaped), count=1)
