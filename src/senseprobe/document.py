"""What people read: sections of tables, charts and paragraphs, rendered as HTML, as Markdown, or for a terminal.

Text in a document is as it came from results and releases; the renderers escape all of it.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import zip_longest
from typing import Literal, Self, TypeVar

import jinja2
from markupsafe import Markup
from rich.cells import cell_len
from rich.text import Text

from senseprobe.charts import Axis, Chart, Mark, percent_along
from senseprobe.messages import visible


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

    @classmethod
    def of_texts(
        cls, columns: Mapping[str, str], rows: Iterable[Iterable[object]], caption: str = "", note: str = ""
    ) -> Self:
        """Return a table of texts and numbers; `columns` maps each heading to the kind of its cells. None is empty.

        >>> table = Table.of_texts({"config": "name", "rows": "number"}, [["race", 870], ["colour", 90]])
        >>> for line in render_terminal(Section("", tables=(table,))):
        ...     print(line)
        config  rows
        race     870
        colour    90
        """
        kinds = tuple(columns.values())
        cells = (
            tuple(Cell("" if text is None else str(text), kind=kind) for text, kind in zip(row, kinds, strict=True))
            for row in rows
        )
        return cls(caption, tuple(columns), tuple(cells), note)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tile:
    """A finding: a sentence with its badge, the interval as a bar, and what would change it.

    - `about`: the question; `note`: more about it, in small print; `example`: a row of it; `result` and `label`: the
      number and the name of the result that it is of.
    - `badge`, `tone`: the word of the verdict and its colour, as `Cell.tag` and `Cell.tone`.
    - `figure`: the number with its interval; `unit`: what a point of it is; `truth`: the value to find, if known.
    - `mark`, on `axis`, draws it, and `true_mark` the truth; None where it cannot be drawn.
    - `ends`: what the low end, the neutral value and the high end of the axis mean.
    - `outlook`: what would change the verdict; `basis`: the figure's name and what it is computed from.
    """

    about: str
    note: str = ""
    example: str = ""
    result: int | None = None
    label: str = ""
    badge: str
    tone: str
    sentence: str
    figure: str = ""
    unit: str = ""
    truth: str = ""
    mark: Mark | None = None
    true_mark: Mark | None = None
    axis: Axis | None = None
    ends: tuple[str, str, str] = ("", "", "")
    outlook: str = ""
    basis: str = ""


MOST_TILES = 6
"""Findings of a page that are tiles; others are rows."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with paragraphs, charts and tables in this order; empty ones are false. `closed`: all is collapsed.

    `lead` are sentences that come before all else, and `tiles` the findings that follow them. `rows` is JSON that the
    page's script lets readers search, in place of the tables (page_rows.js says what it has).

    >>> print(Section("Sizes", ("The release has 960 rows.",)))
    <BLANKLINE>
    Sizes
    The release has 960 rows.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    closed: bool = False
    rows: str = ""
    lead: tuple[str, ...] = ()
    tiles: tuple[Tile, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lead or self.tiles or self.paragraphs or self.charts or self.tables)

    def list_tables(self) -> tuple[Table, ...]:
        """Return the findings as a table, where there are no tiles, and the other tables."""
        return (tabulate_tiles(self.tiles), *self.tables) if self.tiles else self.tables

    def __str__(self) -> str:
        """Return the section as text, without its charts; a row of a table is one line."""
        return "\n".join(line.plain for line in render_terminal(self))


def tabulate_tiles(tiles: Sequence[Tile], note: str = "") -> Table:
    """Return findings as a table of verdict, question, sentence and figure."""
    several = len({tile.result for tile in tiles}) > 1
    headings = ("verdict", *(("result",) if several else ()), "question", "finding", "figure [95 % interval]")
    rows = tuple(
        (
            Cell("", tag=tile.badge, tone=tile.tone),
            *((Cell(tile.label, kind="quiet"),) if several else ()),
            Cell(tile.about, tile.note, "name"),
            Cell(tile.sentence, tile.outlook),
            Cell(" ".join(filter(None, (tile.figure, tile.unit, tile.truth))), tile.basis, "quiet"),
        )
        for tile in tiles
    )
    return Table("", headings, rows, note)


def table_section(title: str, paragraphs: Iterable[str], tables: Iterable[Table]) -> Section:
    """Return a section of the tables that have rows, with paragraphs about them; it is empty where none has any."""
    tables = tuple(table for table in tables if table.rows)
    return Section(title, tuple(paragraphs) if tables else (), tables=tables)


Level = Literal["brief", "full"]
"""How much of a page is shown: ``brief`` in a terminal and on a pull request, ``full`` on the page."""

_About = TypeVar("_About")


def build_sections(
    page: Iterable[Callable[[_About, Level], Section]], about: _About, level: Level = "full"
) -> tuple[Section, ...]:
    """Return those sections of a page that say something `about` a thing; a page is the functions that make them."""
    return tuple(filter(None, (make_section(about, level) for make_section in page)))


def explain_once(tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return tables of which notes that are the same stand below the first alone."""
    notes = [table.note for table in tables]
    return tuple(
        replace(table, note="" if table.note in notes[:number] else table.note) for number, table in enumerate(tables)
    )


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
    sheets = ["page.css", *(["page_rows.css"] if has_rows else [])]
    style = "".join((files("senseprobe") / name).read_text("utf-8") for name in sheets)
    # Without comments and needless blanks: a page has its styles in full.
    style = re.sub(r"\s*([{};,])\s*", r"\1", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL))
    values = {
        "style": Markup(style),  # noqa: S704 - our files
        "script": Markup(script) if has_rows else "",  # noqa: S704 - a file of this package
        "script_hash": b64encode(sha256(script.encode()).digest()).decode(),
        "percent_along": percent_along,
        "most_tiles": MOST_TILES,
    }
    return _environment().get_template("page.html.j2").render(document=document, **values)


def render_markdown(document: Document) -> str:
    """Return the page as Markdown, without charts."""
    return _environment().get_template("page.md.j2").render(document=document)


def render_section(section: Section, labels: Sequence[str] = ()) -> str:
    """Return the paragraphs and tables of a section as Markdown, for a comment on a pull request.

    >>> table = Table.of_texts({"config": "name", "rows": "number"}, [["race", 870]])
    >>> print(render_section(Section("", tables=(table,))).strip())
    | config | rows |
    | --- | --- |
    | race | 870 |
    """
    title = f"**{_escape_markdown(section.title)}**\n\n" if section.title else ""
    text = title + _environment().get_template("section.md.j2").render(section=section, labels=labels)
    return f"{text.strip()}\n"


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
    return value if context.autoescape else _escape_markdown(value)


def _escape_markdown(value: object) -> str:
    """Return a value as one line that GitHub reads as nothing but text."""
    escaped = _SPECIAL.sub(r"\\\1", " ".join(str(value).split()))
    return _BLOCK_START.sub(r"\g<0>\\", _AUTOLINKED.sub(r"<span>\g<0></span>", escaped), count=1)


# --- a terminal -----------------------------------------------------------------------------------------------------

_GAP = 2  # blanks between columns
_SHORT = 24  # width up to which a cell of a table stays on one line, if there is room; else as near to it as there is

# What a line of a cell is not broken in: an interval, a p, a word.
_WORD = re.compile(r"\[[^\]\s]+,? [^\]\s]+\]\S*|p [=<>≤≥] \S+|\S+")


def render_terminal(section: Section, labels: Sequence[str] = (), width: int | None = None) -> Iterator[Text]:
    """Yield the lines of a section for a terminal of `width` cells, without its charts.

    No cell is cut. A cell may go on below itself, at a blank, the widest columns first; columns for which there is
    still no room go on in a line below. Where `width` is None, a row is one line, as programs read it.
    """
    tables = section.list_tables()
    if section.title and (section.lead or section.paragraphs or tables):
        yield Text("")
        yield Text(visible(section.title), "bold")
    yield from (Text(visible(paragraph)) for paragraph in (*section.lead, *section.paragraphs))
    for table in tables:
        if table.caption not in ("", section.title):
            yield Text("")
            yield Text(visible(table.caption), "italic")
        headings = [labels[heading] if isinstance(heading, int) else heading for heading in table.headings]
        rows = [headings, *([_line_cell(cell, width) for cell in row] for row in table.rows)]
        columns = zip(*table.rows, strict=True)
        right = [all(cell.kind == "number" and not cell.note for cell in column) for column in columns]
        for number, lines in enumerate(lay_out(rows, right or [False] * len(headings), width)):
            yield from (Text(line, "" if number else "bold") for line in lines)
        if table.note:
            yield Text(visible(table.note))


def _line_cell(cell: Cell, width: int | None) -> str:
    """Return the text of a cell behind its tag, and the note below it, or beside it where a row is one line."""
    text, note = ": ".join(filter(None, (cell.tag, cell.text))), cell.note.replace("\N{NO-BREAK SPACE}", " ")
    if width is None:
        text = " ".join(text.split())
        return visible((" " if text.endswith(".") else "; ").join(filter(None, (text, note))))
    return visible("\n".join(filter(None, (text, note))))


def lay_out(table: Sequence[Sequence[str]], right: Sequence[bool], width: int | None) -> Iterator[list[str]]:
    """Yield the lines of each row of a table, where a terminal has `width` cells, or one line where it is None.

    `right`: whether a column is justified right. Lines are longer than `width` only where one word is.
    """
    widths = [max(map(cell_len, "\n".join(cells).split("\n"))) for cells in zip(*table, strict=True)]
    if width is not None:
        widths = _fit_columns(table, widths, width)
    bands: list[list[int]] = [[]]
    used = 0
    for column, size in enumerate(widths):
        if width is not None and bands[-1] and used + size > width:
            bands.append([])
            used = _GAP
        bands[-1].append(column)
        used += size + _GAP
    for row in table:
        cells = [_wrap(cell, size) for cell, size in zip(row, widths, strict=True)]
        lines = []
        for band in bands:
            for parts in zip_longest(*(cells[column] for column in band), fillvalue=""):
                spaces = [" " * (widths[column] - cell_len(part)) for column, part in zip(band, parts, strict=True)]
                padded = [
                    space + part if right[column] else part + space
                    for column, part, space in zip(band, parts, spaces, strict=True)
                ]
                lines.append((" " * _GAP * (band is not bands[0]) + (" " * _GAP).join(padded)).rstrip())
        yield lines


def _fit_columns(table: Sequence[Sequence[str]], widths: Sequence[int], width: int) -> list[int]:
    """Return the widths of columns in a terminal of `width` cells: the widest give way, down to their longest word.

    Short cells stay on one line as far as there is room.
    """
    room = width - _GAP * (len(widths) - 1)
    for short in range(_SHORT, -1, -1):
        floor = _least_widths(table, short)
        for most in range(min(room, max(widths)), -1, -1):
            fitted = [max(least, min(size, most)) for least, size in zip(floor, widths, strict=True)]
            if sum(fitted) <= room:
                return fitted
    return _least_widths(table, _SHORT)


def _least_widths(table: Sequence[Sequence[str]], short: int) -> list[int]:
    """Return how wide columns must be for their longest word, and for cells of at most `short` on one line."""
    return [
        max(
            cell_len(line) if cell_len(line) <= short else max(map(cell_len, _WORD.findall(line)))
            for cell in cells
            for line in cell.split("\n")
        )
        for cells in zip(*table, strict=True)
    ]


def _wrap(cell: str, size: int) -> list[str]:
    """Return a cell as lines of at most `size` cells, broken at blanks; a longer word is a line."""
    lines = []
    for line in cell.split("\n"):
        if cell_len(line) <= size:
            lines.append(line)
            continue
        words = _WORD.findall(line)
        lines.append(words[0])
        for word in words[1:]:
            joined = f"{lines[-1]} {word}"
            if cell_len(joined) <= size:
                lines[-1] = joined
            else:
                lines.append(word)
    return lines
