"""The figures of a round's agreement, and the sections that show them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from senseprobe.charts import Forest, ForestRow, Mark
from senseprobe.document import Cell, Level, Section, Table, build_sections, name_cells, table_section
from senseprobe.messages import counted, printable
from senseprobe.statistics import FEWEST_ITEMS

BY = ("all", "sentence", "stratum", "annotator", "word", "group", "groups")
"""What a figure is about: everything; one role; one stratum; one annotator against the others; one target word; those
of a group among themselves; those of one group against those of another."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """Agreement on a question, in all or in a part of the answers.

    - `by`: one of BY; `level`: which, empty for all.
    - `measure`: ``alpha`` (Krippendorff's, nominal), or ``cross-kappa`` of one set of annotators against another.
    - `value`, `low`, `high`: the measure and its interval; `same`, `same_low`, `same_high`: the share of pairs of
      answers that are equal; None where `why` says so.
    - `items`, `units`, `answers`, `annotators`: what it is based on; `alone`: units that one person answered, left out.
    """

    question: str
    by: str
    level: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    same: float | None
    same_low: float | None
    same_high: float | None
    items: int
    units: int
    answers: int
    annotators: int
    alone: int
    why: str = ""

    def __str__(self) -> str:
        subject = printable(f"{self.question}{f' · {self.by} {self.level}' if self.level else ''}")
        same = f", {self.format_share(1)} of answer pairs agree" if self.same is not None else ""
        why = f" ({self.why})" if self.why else ""
        return f"{subject}: {self.measure} {self.format_value(3)}{same}; {self.items:,} items{why}"

    def format_value(self, digits: int = 2) -> str:
        """Return the value with its interval, if it has one, in so many decimals; or ``none``."""
        if self.value is None:
            return "none"
        interval = (
            "" if self.low is None or self.high is None else f" [{self.low:z.{digits}f}, {self.high:z.{digits}f}]"
        )
        return f"{self.value:z.{digits}f}{interval}"

    def format_share(self, digits: int) -> str:
        """Return the share of pairs of answers that are equal, in percent; empty without one."""
        return "" if self.same is None else f"{100 * self.same:.{digits}f} %"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kappa:
    """A kappa over `units`, each answered `answers` times; None where `why` says so."""

    question: str = ""
    value: float | None
    units: int
    answers: int
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two annotators on one question.

    - `units`: how many both answered, `different`: how many of them differently; `share`: of all.
    - `kappa`: Cohen's; None where `why` says so.
    - `most`: what the first and the second said most often where they differ, and how often; None where they never do.
    """

    question: str
    first: str
    second: str
    units: int
    different: int
    share: float
    kappa: float | None
    why: str = ""
    most: tuple[str, str, int] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """How often an annotator said what was expected, of the `answered` units of which that is known.

    `low` and `high` are the exact interval (Clopper & Pearson 1934) at 95 %, for units that have nothing in common.
    """

    question: str
    annotator: str
    right: int
    answered: int
    share: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """All figures of agreement; `draws` and `seed` are those of the intervals.

    `withheld`: the number of groups without figures, because they have fewer than `smallest_group` annotators.
    """

    figures: tuple[Figure, ...]
    fleiss: tuple[Kappa, ...]
    pairs: tuple[Pair, ...]
    gold: tuple[Accuracy, ...]
    draws: int
    seed: int
    smallest_group: int
    withheld: int

    fewest_items: ClassVar[int] = FEWEST_ITEMS
    """Figures of fewer rows have no interval."""

    def by(self, what: str) -> list[Figure]:
        """Return the figures about one of BY, in order."""
        return [figure for figure in self.figures if figure.by == what]

    def reliable(self, what: str) -> tuple[list[Figure], int]:
        """Return the figures with enough rows for an interval, and the number of the other figures."""
        figures = self.by(what)
        reliable = [figure for figure in figures if figure.items >= self.fewest_items]
        return reliable, len(figures) - len(reliable)

    def sections(self) -> tuple[Section, ...]:
        """Return the sections that the command prints: a short form of the page of a round."""
        return build_sections((agreement_section, gold_section, pairs_section), self, "brief")

    def as_dict(self) -> dict[str, Any]:
        """Return the figures with stable keys, as `agreement.json` has it."""
        facts = {"draws": self.draws, "seed": self.seed, "smallest_group": self.smallest_group}
        parts: dict[str, Any] = {name: getattr(self, name) for name in ("figures", "fleiss", "pairs", "gold")}
        lists = {name: [asdict(part) for part in records] for name, records in parts.items()}
        return {**facts, "withheld_groups": self.withheld, **lists}


# --- sections ---------------------------------------------------------------------------------------------------------

MOST_ROWS: Mapping[Level, int] = {"brief": 20, "full": 100}  # rows of a table: what is longer nobody reads
_TITLES = {
    "annotator": "One annotator against the others",
    "stratum": "By stratum",
    "word": "By word",
    "group": "Within groups of annotators",
    "groups": "Across groups",
}
_HEADINGS = ("question", "part", "measure", "value [95 %]", "same answers", "rows", "answers", "annotators")


def agreement_section(agreement: Agreement, level: Level = "full") -> Section:
    """Return the figures of agreement; in brief also those of single annotators, which the page has beside others."""
    figures = [*agreement.by("all"), *agreement.by("sentence")]
    tables, few = [Table("On each question", _HEADINGS, tuple(map(_figure_cells, figures)))], []
    for by, title in _TITLES.items():
        if by == "annotator" and level == "full":
            continue
        part, unreliable = agreement.reliable(by)
        part.sort(key=lambda f: (f.value is None, f.value or 0.0, f.question, f.level))
        rows = tuple(map(_figure_cells, part))
        tables.append(cap_table(Table(title, _HEADINGS, rows, closed=True), level))
        if unreliable:
            of_few = f"{counted(unreliable, 'figure')} with fewer than {agreement.fewest_items} rows"
            few.append(f"{title}: {of_few}: see agreement.json.")
    bars = [
        ForestRow(label=f"{f.question} {f.level}".strip(), marks=list_marks([f]))
        for f in figures
        if f.value is not None
    ]
    meaning = (
        "Krippendorff's alpha is 1 if all agree, and 0 if they agree as often as by chance. If nearly all answers are "
        "the same, alpha is near 0 although people agree, so also read the share of pairs that agree. Intervals show "
        f"how alpha would vary with other rows; they need at least {agreement.fewest_items} rows."
    )
    paragraphs = [meaning, *few]
    if agreement.withheld:
        groups = counted(agreement.withheld, "group")
        paragraphs.append(f"Figures about {groups} with fewer than {agreement.smallest_group} annotators are hidden.")
    charts = plot_agreement("Agreement on each question: alpha, with 95 % intervals", bars)
    return Section("Agreement", tuple(paragraphs), charts, tuple(table for table in tables if table.rows))


def _figure_cells(figure: Figure) -> tuple[Cell, ...]:
    value = Cell.number(figure.format_value(), figure.why)
    numbers = list_cells([], figure.format_share(1), figure.items, figure.answers, figure.annotators)
    return (*name_cells(figure.question, figure.level), Cell.quiet(figure.measure), value, *numbers)


def plot_agreement(title: str, rows: Sequence[ForestRow]) -> tuple[Forest, ...]:
    """Return a chart of agreement, from what would be disagreement to 1, if there is any; 0 is chance."""
    left, right = "less often than by chance", "all agree"
    return (Forest(title=title, rows=tuple(rows), low=-1, high=1, left=left, right=right),) if rows else ()


def list_marks(figures: Iterable[Figure | None]) -> tuple[Mark, ...]:
    """Return the marks of figures, the position of each as its series; those without a value have none."""
    return tuple(
        Mark(series=number, value=figure.value, low=figure.low, high=figure.high, text=figure.format_value())
        for number, figure in enumerate(figures)
        if figure is not None and figure.value is not None
    )


def gold_section(agreement: Agreement, level: Level = "full") -> Section:
    """Return how often each annotator was right where the answer is known."""
    rows = tuple(
        list_cells(
            [gold.annotator, gold.question],
            f"{gold.right} of {gold.answered}",
            f"{100 * gold.share:.0f} % [{100 * gold.low:.0f} %, {100 * gold.high:.0f} %]",
        )
        for gold in agreement.gold
    )
    paragraph = "How often each annotator gave the expected answer to rows with known answers."
    headings = ("annotator", "question", "right", "share [95 %]")
    return table_section("Known answers", [paragraph], [cap_table(Table("Known answers", headings, rows), level)])


def pairs_section(agreement: Agreement, level: Level = "full") -> Section:
    """Return who disagrees with whom most often."""
    pairs = sorted((p for p in agreement.pairs if p.different), key=lambda p: (-p.share, -p.units, p.question))
    rows = tuple(
        (
            *name_cells(pair.question, pair.first, pair.second),
            Cell(f"{pair.different} of {pair.units}"),
            Cell(" / ".join((pair.most or ())[:2])),
        )
        for pair in pairs
    )
    headings = ("question", "annotator", "and", "differ on", "most often")
    title = "Disagreement between annotators"
    return table_section(title, (), [cap_table(Table(title, headings, rows), level)])


def list_cells(names: Sequence[str], *values: int | str) -> tuple[Cell, ...]:
    """Return the cells of a row: what it is about, then its numbers."""
    return (*name_cells(*names), *(Cell.number(v if isinstance(v, str) else f"{v:,}") for v in values))


def cap_table(table: Table, level: Level = "full") -> Table:
    """Return the table with no more rows than are read, and a note of how many are left out."""
    if (more := len(table.rows) - MOST_ROWS[level]) <= 0:
        return table
    where = ": --json lists all" if level == "brief" else "."
    return replace(table, rows=table.rows[: MOST_ROWS[level]], note=f"… and {counted(more, 'row')} more{where}")
