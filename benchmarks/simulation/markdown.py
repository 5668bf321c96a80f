"""How cells of a simulation are printed, on the terminal and in tables of a page."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from simulation.coverage import Cell
from simulation.size import SizeCell

AnyCell = TypeVar("AnyCell", Cell, SizeCell)


@dataclass(frozen=True)
class Section:
    """A section of the page, and the cells that it is held to."""

    text: str
    cells: Sequence[Cell | SizeCell]


def printed(cells: Iterable[AnyCell]) -> Iterator[AnyCell]:
    """Print each cell as it is simulated, and yield it."""
    for cell in cells:
        if isinstance(cell, Cell):
            print(f"{cell.design:35} {cell.estimand:19} {cell.mix:7} {cell.truth:5g}  {entry(cell)}", flush=True)
        else:
            print(f"{cell.test}, {cell.design}, {cell.mix}: {rejected(cell)}", flush=True)
        yield cell


def coverage_table(cells: Sequence[Cell], truths: Sequence[float], digits: int = 0) -> str:
    """One line per design, figure and mix, one column per truth."""
    lines = [
        f"| design | figure | mix | {' | '.join(f'{truth:g}' for truth in truths)} |",
        "|---" * (3 + len(truths)) + "|",
    ]
    for (name, estimand, mix), group in itertools.groupby(
        cells, key=lambda cell: (cell.design, cell.estimand, cell.mix)
    ):
        lines.append(f"| {name} | `{estimand}` | {mix} | {' | '.join(entry(cell, digits) for cell in group)} |")
    return "\n".join(lines)


def entry(cell: Cell, digits: int = 0) -> str:
    """Coverage in per cent, the median half-width in so many digits, and how often there was no interval."""
    missing = (
        f", none {100 * cell.not_estimable / (cell.estimable + cell.not_estimable):.0f} %" if cell.not_estimable else ""
    )
    return f"{100 * cell.covered:.1f} (±{cell.half_width:.{digits}f}{missing})" + ("" if cell.holds else " **below**")


def rejected(test: SizeCell) -> str:
    """How often a test rejected, and of how many draws."""
    return f"{size(test)} % of {test.draws}" + ("" if test.holds else " **above**")


def size(test: SizeCell) -> str:
    """How often a test rejected, in per cent."""
    return f"{100 * test.rejected:.1f}"


def size_row(*cells: str | SizeCell) -> str:
    """Return a row of a table of texts and of sizes in per cent."""
    texts = (c if isinstance(c, str) else size(c) + ("" if c.holds else " **above**") for c in cells)
    return f"| {' | '.join(texts)} |"
