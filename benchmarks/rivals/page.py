"""The table of docs/performance.md: a line for each work, rival and device, of which a run replaces its own."""

from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["HEAD", "merge"]

HEAD = ("work", "against", "on", "ours /s", "theirs /s", "times as fast", "at least", "machine")
KEY = 3  # so many cells, of which the first up to its colon, say which line it is


def merge(page: Path, lines: Iterable[Mapping[str, str]]) -> None:
    """Put lines, cells by HEAD, into the page's one table with this head: in the place of their like, or at the end."""
    before, table, after = _parted(page.read_text(encoding="utf-8").splitlines())
    rows = {_key(cells): cells for cells in map(_cells, table)}
    for line in lines:
        cells = [line[name] for name in HEAD]
        rows[_key(cells)] = cells
    text = [*before, *map(_line, rows.values()), *after]
    page.write_text("\n".join(text) + "\n", encoding="utf-8")


def _parted(text: list[str]) -> tuple[list[str], list[str], list[str]]:
    start = text.index(_line(HEAD)) + 2
    end = next((i for i in range(start, len(text)) if not text[i].startswith("|")), len(text))
    return text[:start], text[start:end], text[end:]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _key(cells: list[str]) -> tuple[str, ...]:
    return (cells[0].partition(":")[0], *cells[1:KEY])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
