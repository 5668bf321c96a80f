"""What a report is made of, before it is set: sections of paragraphs, plots and tables, in plain words.

Nothing here is escaped: names and sentences are as they were found, and whoever sets them escapes them all.
"""

from dataclasses import dataclass


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
class Account:
    """A whole report: its title, a warning that comes before all else, the results by name, and sections."""

    title: str
    warning: str
    labels: tuple[str, ...]
    sections: tuple[Section, ...]
    signatures: tuple[str, ...]
