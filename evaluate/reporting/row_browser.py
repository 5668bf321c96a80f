"""Single rows on a page: compact data for the script that searches them, and tables for pages without scripts.

A table of strings holds each text, word and token once, and rows refer to them by number. Three results on 4,000 pairs
take about 800 kB.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from senseprobe.document import Cell, Section, Table
from senseprobe.evaluate.reporting.inputs import ReportInput
from senseprobe.evaluate.reporting.row_tables import shorten
from senseprobe.evaluate.reporting.scope import ReportScope
from senseprobe.evaluate.subsample import LARGEST, PAGE_ROWS, largest_rows, page_rows, row_sizes
from senseprobe.evaluate.units import KINDS
from senseprobe.messages import counted
from senseprobe.records import Design
from senseprobe.release.kinds import KINDS as ROW_KINDS

MOST_TOKENS = 100
"""The most tokens of a sentence that the page holds."""

UNKNOWN = -1
"""The number of a token that the tokenizer does not know."""

_TITLE = "Rows"
_ABOUT = (
    "Single rows say least of all: they are here to see what the figures are made of, and the largest of some thousand "
    "numbers is large by chance, too. Scores are in the scorer's own unit; the words in which two sentences differ are "
    "marked."
)
_WITHOUT_SENTENCES = "The sentences are in the release, which is not available."
_WORD = re.compile(r"\w+|[^\w\s]")
_DIFFERENCE = "difference"
_LARGEST_ERROR = "wrong"
"""The column with the largest probability of a wrong label."""

Marks = tuple[int, ...]
"""The marked ranges of a text: start, end, start, end …, in code points; an end is exclusive."""


def row_section(scope: ReportScope) -> Section:
    """Return the rows of results, after the release's content warning; empty without tables of scores.

    A result with more than 5,000 rows shows those of `page_rows`, and the text names the file that has all.
    """
    results = [
        _PageRows(source) for source in scope.inputs if source.result.rows is not None and len(source.result.rows)
    ]
    if not results:
        return Section(_TITLE)
    paragraphs = [scope.content_warning, _ABOUT, *dict.fromkeys(filter(None, (rows.omission for rows in results)))]
    tables = tuple(_build_table(rows, closed=number > 0) for number, rows in enumerate(results))
    data = json.dumps(_Data(results).as_dict(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Whatever the texts contain, they do not end the script element that holds them.
    data = re.sub("[<>&\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", data)
    return Section(_TITLE, tuple(paragraphs), tables=tables, rows=data)


# --- which rows, with what ------------------------------------------------------------------------------------------


class _PageRows:
    """The rows of a result that the page shows, in the order of the release; without a release, in the order of ids.

    `table` has `config`, `id`, the `numbers` and the columns of the release.
    """

    def __init__(self, source: ReportInput) -> None:
        assert source.result.rows is not None  # noqa: S101 - `row_section` has selected such sources
        self.source, self.kind, self.total = source, KINDS[source.kind], len(source.result.rows)
        scores = dict(iter(source.result.rows.groupby("config", sort=True)))
        order = [*source.tables, *(name for name in scores if name not in source.tables)]
        parts = [
            source.tables[name] if name in source.tables else scores[name].sort_values("id") for name in map(str, order)
        ]
        given = [str(name) for name in source.result.rows if name not in {"config", "id"}]
        needed = ["id", *given, "gold"]
        columns = [part.reindex(columns=needed).assign(config=name) for name, part in zip(order, parts, strict=True)]
        chosen = page_rows(pd.concat(columns, ignore_index=True), source.result.seed)
        starts = np.cumsum([0, *map(len, parts)])
        self.table = pd.concat(
            [
                part.iloc[chosen[(chosen >= start) & (chosen < end)] - start].assign(config=name)
                for name, part, start, end in zip(order, parts, starts[:-1], starts[1:], strict=True)
            ],
            ignore_index=True,
        )
        # Texts that a scorer puts together are in no table: what they are made of is shown.
        self.is_put_together = not {*self.kind.texts} <= {name for name, _, _ in ROW_KINDS[source.kind].columns}
        texts = ROW_KINDS[source.kind].readable if self.is_put_together else self.kind.texts
        self.numbers, (self.first, self.second) = given, (*texts, "", "")[:2]
        if self.kind.pairs:
            self.table[_DIFFERENCE] = self.table["stereo_score"] - self.table["anti_score"]
            self.numbers = [*given, _DIFFERENCE]
        elif self.kind.infers:
            self.table[_LARGEST_ERROR] = row_sizes(self.table)
            self.numbers = [*given, _LARGEST_ERROR]

    @property
    def headings(self) -> list[str]:
        """The names of the numbers for readers."""
        return [
            name.removesuffix("_score") if name != _LARGEST_ERROR else "largest wrong label" for name in self.numbers
        ]

    @property
    def omission(self) -> str:
        """A sentence on the rows that the page leaves out; empty if it shows all."""
        if len(self.table) == self.total:
            return ""
        file = self.source.file or f"{self.source.result.stem}.parquet"
        return (
            f"{self.source.label}: {len(self.table):,} of {counted(self.total, 'row')} are here, the {LARGEST} "
            f"with the {self.largest} and others drawn by seed {self.source.result.seed}. All are in {file}."
        )

    @property
    def largest(self) -> str:
        """The name of the rows that a page always shows."""
        return "largest differences" if self.kind.pairs or self.kind.infers else "largest numbers"

    @property
    def sides(self) -> tuple[str, str]:
        """The names of the two texts of a row for readers; the second is empty if a row has one text."""
        first, second, *_ = (*self.kind.titles, *("", "")[len(self.kind.titles) :])
        return first or self.first, second or self.second

    @property
    def orders(self) -> list[tuple[str, int, str]]:
        """The orders that readers can choose: a name, the column of `numbers`, and ``size``, ``down`` or ``up``."""
        last = len(self.numbers) - 1
        if self.kind.pairs:
            first, second = (f"{title} scores higher" for title in self.kind.titles)
            return [("largest difference", last, "size"), (first, last, "down"), (second, last, "up")]
        if self.kind.infers:
            labels = [(name, i, "down") for i, name in enumerate(self.numbers[:-1])]
            return [("surest of a wrong label", last, "down"), *labels]
        ends = (("highest", "down"), ("lowest", "up"))
        return [(f"{end} {name}", i, to) for i, name in enumerate(self.headings) for end, to in ends]


def _build_table(rows: _PageRows, *, closed: bool) -> Table:
    """Return the rows with the largest differences, or probabilities of a wrong label, as a table."""
    ordered = rows.table.iloc[largest_rows(rows.table, LARGEST)]
    names = (rows.first, rows.second)
    first, second = (ordered[name] if name in ordered else pd.Series("", ordered.index) for name in names)
    sentences = zip(ordered["id"], first.fillna(""), second.fillna(""), strict=True)
    cells = (
        (
            Cell.quiet(shorten(name)),
            Cell(shorten(a), shorten(b)),
            *(Cell.number("none" if np.isnan(number) else f"{number:.3f}") for number in numbers),
        )
        for (name, a, b), numbers in zip(sentences, ordered[rows.numbers].to_numpy(dtype=np.float64), strict=True)
    )
    largest = "surest wrong labels" if rows.kind.infers else rows.largest
    return Table(
        caption=f"{rows.source.label}: {largest}",
        headings=("row", "sentences", *rows.headings),
        rows=tuple(cells),
        note="" if {*ordered["config"]} <= {*rows.source.tables} else _WITHOUT_SENTENCES,
        closed=closed,
    )


# --- the data of the script -----------------------------------------------------------------------------------------


class _Numbers(dict[Any, int]):
    """Distinct values with their numbers, from 0, in order of first use."""

    def __missing__(self, value: object) -> int:
        return self.setdefault(value, len(self))


@dataclass(slots=True)
class _RowSet:
    """The rows of one kind in all results: each once, with its position by config and id."""

    positions: dict[tuple[str, str], int] = field(default_factory=dict)
    columns: dict[str, list[Any]] = field(default_factory=dict)

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row: a value for each column."""
        for name, value in row.items():
            self.columns.setdefault(name, []).append(value)


class _Data:
    """The data of the script: ``strings``, ``marks``, ``sides``, ``sets`` of rows, ``tokens`` and ``results``."""

    def __init__(self, results: Sequence[_PageRows]) -> None:
        self._strings, self._marks, self._sides = _Numbers(), _Numbers(), _Numbers()
        self._sets: dict[str, _RowSet] = {}
        self._tokens: dict[str, dict[int, list[int]]] = {}
        self._results = []
        for rows in results:
            row_set = self._sets.setdefault(rows.source.kind, _RowSet())
            self._add_rows(rows, row_set)
            self._add_tokens(rows, row_set)
            self._results.append(self._describe_result(rows, row_set, [*self._sets].index(rows.source.kind)))

    def as_dict(self) -> dict[str, Any]:
        """Return the data as a JSON object."""
        return {
            "strings": [*self._strings],
            "marks": [*self._marks],
            "sides": [*self._sides],
            "sets": [row_set.columns for row_set in self._sets.values()],
            "tokens": [*self._tokens.values()],
            "results": self._results,
        }

    def _add_rows(self, rows: _PageRows, row_set: _RowSet) -> None:
        """Add the rows that earlier results on the release do not have."""
        for config, table in rows.table.groupby("config", sort=False):
            release = rows.source.release if config in rows.source.tables else None
            design = None if release is None else release.design(str(config))
            texts = table.drop(columns=rows.numbers).astype(object)
            for record in texts.where(texts.notna(), "").to_dict("records"):
                position = len(row_set.positions)
                if row_set.positions.setdefault((record["config"], record["id"]), position) == position:
                    row_set.append(self._describe_row(record, design, rows))

    def _describe_row(self, record: Mapping[Any, Any], design: Design | None, rows: _PageRows) -> dict[str, Any]:
        first, second = (shorten(record.get(name, "")) for name in (rows.first, rows.second))
        marks = mark_differences(first, second) if rows.second and not rows.is_put_together else ((), ())
        label = str(record.get(rows.kind.label, ""))
        sides = rows.sides if label != "none" else ("sentence 1", "sentence 2")
        if record.get("contested"):
            label += ", contested"
        slots = design.slots if design is not None else ()
        group = record.get(design.group, "") if design is not None and design.group else ""
        return {
            "id": shorten(record["id"]),
            "config": self._strings[record["config"]],
            "frame": self._strings[shorten(record.get("frame", ""))],
            "group": self._strings[shorten(group)],
            "label": self._strings[label],
            "sides": self._sides[sides],
            "first": self._strings[first],
            "second": self._strings[second],
            "firstMarks": self._marks[marks[0]],
            "secondMarks": self._marks[marks[1]],
            "words": [self._strings[shorten(record[slot])] for slot in slots if record[slot]],
        }

    def _add_tokens(self, rows: _PageRows, row_set: _RowSet) -> None:
        """Add the tokens of the texts; results with the same tokenizer, such as a planted truth, share them."""
        numbered = self._tokens.setdefault(rows.source.result.model["tokenizer"], {})
        if rows.source.result.tokens is None or rows.is_put_together:
            return
        for record in rows.source.result.tokens.to_pylist():
            position = row_set.positions.get((record["config"], record["id"]))
            for side, name in zip(("first", "second"), rows.kind.texts, strict=False):
                if position is not None and (text := row_set.columns[side][position]) not in numbered:
                    tokens = record[name] or ()
                    numbered[text] = [
                        UNKNOWN if token is None else self._strings[shorten(token)] for token in tokens[:MOST_TOKENS]
                    ]
                    if len(tokens) > MOST_TOKENS:
                        numbered[text].append(self._strings["…"])

    def _describe_result(self, rows: _PageRows, row_set: _RowSet, number: int) -> dict[str, Any]:
        result, keys = rows.source.result, zip(rows.table["config"], rows.table["id"], strict=True)
        return {
            "label": rows.source.label,
            "set": number,
            "rows": [row_set.positions[key] for key in keys],
            "columns": rows.headings,
            "scored": 2 if rows.kind.pairs else 0,  # the columns that hold the score of one sentence
            "numbers": [  # a page needs six digits
                [float(f"{number:.6g}") if np.isfinite(number) else None for number in rows.table[name].tolist()]
                for name in rows.numbers
            ],
            "orders": rows.orders,
            "tokens": [*self._tokens].index(result.model["tokenizer"]),
            "total": rows.total,
        }


@lru_cache(maxsize=2 * PAGE_ROWS)
def mark_differences(first: str, second: str) -> tuple[Marks, Marks]:
    """Return the ranges of the words in which two texts differ.

    >>> mark_differences("The nurse was kind.", "The nurse was very rude.")
    ((14, 18), (14, 23))
    """
    words = [[*_WORD.finditer(text)] for text in (first, second)]
    a, b = ([word[0] for word in text] for text in words)
    marks: tuple[list[int], list[int]] = ([], [])
    for kind, *bounds in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        for side, (start, end) in enumerate((bounds[:2], bounds[2:])):
            if kind != "equal" and end > start:
                marks[side].extend((words[side][start].start(), words[side][end - 1].end()))
    return tuple(marks[0]), tuple(marks[1])
