"""What is scored: the distinct units of a release's rows, and the table of the numbers that they got."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from senseprobe.records import Design
from senseprobe.release.kinds import KindTable

# Why a unit has no number, whatever the scorer; some have reasons of their own.
TOO_LONG = "too long for the model"
EMPTY = "no token to score"
NOT_FINITE = "no finite number"


@dataclass(frozen=True, slots=True)
class RowScoring:
    """What scoring has to know of a kind of rows.

    - `roles`: the columns that are scored, each with the column of its counterpart; none where no scorer takes them.
      A text without a counterpart is its own.
    - `columns`: the numbers that a scorer gives to each of them.
    - `cells`: the columns whose values divide a config into the cells that a sample represents alike; with
      `slots_are_cells` so do the slots in which the texts of a row differ.
    - `pairs`: whether the two sentences of a row are each scored, and compared; `infers`: whether models say what
      follows from the one of them.
    - `sentences`: whether a row is one sentence by itself, so that scorers of the sentences of pairs take it, too.
    - `tests`: whether what is computed of them are association tests, with an effect and words each.
    - `titles`: what readers call the two texts of a row; `label`: the column that says how a row is labelled.
    - `noun`, `reading`: what a row, and what its numbers say, is called in messages; `nouns`: what many are called,
      in messages and, where that is longer, in the `heading` of their estimands.
    - `zero`: what a figure of 0, or without bias, means, in sentences for the method of a page; empty: nothing.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ("score",)
    cells: tuple[str, ...] = ()
    slots_are_cells: bool = False
    pairs: bool = False
    infers: bool = False
    sentences: bool = False
    tests: bool = False
    titles: tuple[str, ...] = ()
    label: str = ""
    noun: str = "row"
    nouns: str = "rows"
    heading: str = ""
    reading: str = "sign"
    zero: str = ""

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of a row's numbers: ``stereo_score``, or ``entailment`` where a row has one text that is scored.

        >>> KINDS["contrast"].numbers
        ('stereo_score', 'anti_score')
        """
        prefixes = [f"{role}_" for role in self.roles] if len(self.roles) > 1 else [""]
        return tuple(f"{prefix}{column}" for prefix in prefixes for column in self.columns)

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of the texts that a model reads, in the order in which they are shown."""
        return tuple(dict.fromkeys([*self.roles, *self.roles.values()]))

    def cell_columns(self, design: Design, there: Container[str]) -> list[str]:
        """Return which of the columns `there` make cells; the frame, and words that all cells share, do not."""
        bound = [slot for names in design.roles.values() for slot in names.values() if slot in design.slots]
        columns = dict.fromkeys([*self.cells, *(bound if self.slots_are_cells else ())])
        return [column for column in columns if column in there]


_CONTRAST = RowScoring(
    roles={"stereo": "anti", "anti": "stereo"},
    cells=("label_basis", "contested", "stereotype", "valence", "target"),
    pairs=True,
    titles=("stereotype", "counterpart"),
    label="label_basis",
    noun="pair",
    nouns="pairs",
    heading="pairs of sentences",
    zero="Preferences are in points: 0 means half of the pairs, and 50 means all of them. If two sentences differ in a "
    "word of praise or blame, nobody knows which value a model without the bias would have. Read the relative figures "
    "there.",
)
_INFERENCE = RowScoring(
    roles={"premise": "hypothesis"},
    columns=("entailment", "neutral", "contradiction"),
    cells=("gold",),
    slots_are_cells=True,
    infers=True,
    titles=("premise", "hypothesis"),
    label="gold",
    nouns="inference",
    heading="premises and hypotheses",
    reading="largest label",
    zero="Inference figures are in points of 100. On pairs in which neither sentence follows from the other, a model "
    "that infers nothing scores 100 on nn, fn and t. Plain errors lower these figures as bias does. A gap of 0 "
    "means that both words are inferred equally often.",
)
_ASSOCIATION = RowScoring(
    roles={"sentence": "sentence"},
    tests=True,
    noun="word",
    nouns="association tests",
    heading="the words of association tests",
    reading="sign",
)
KINDS: Mapping[str, RowScoring] = KindTable(
    {"contrast": _CONTRAST, "inference": _INFERENCE, "association": _ASSOCIATION}, "scoring", RowScoring
)
"""By the name that designs have for it: ours, then those of plug-ins."""

# The third sentence of a contrast that StereoSet has, and its counterpart for scorers that read a pair.
UNRELATED: Mapping[str, str] = {"unrelated": "stereo"}
# What the column `direction` of CrowS-Pairs says where `anti` was written first, to violate a stereotype.
VIOLATES = "antistereo"
NO_SPAN = (-1, -1)


class Unit(NamedTuple):
    """The input of which a scorer computes numbers; equal units have equal numbers, so each is computed once.

    - `text`: the sentence; for inference the premise.
    - `beside`: the other sentence of the pair, or the hypothesis; empty where the scorer does not read it.
    - `start`, `end`: the target's place in `text`, half-open, in code points; -1 where the scorer does not read it.
    - `second`: whether `beside` is sentence 1 of the pair; False where the scorer does not read the order.
    """

    text: str
    beside: str = ""
    start: int = -1
    end: int = -1
    second: bool = False


def units_of(table: pd.DataFrame, role: str, counterpart: str, reads: Iterable[str]) -> list[Unit]:
    """Return the unit of each row for the sentence in column `role`, with nothing that the scorer does not read.

    >>> rows = pd.DataFrame({"stereo": ["He is a cook."], "anti": ["She is a cook."]})
    >>> units_of(rows, "stereo", "anti", ["text", "beside"])
    [Unit(text='He is a cook.', beside='She is a cook.', start=-1, end=-1, second=False)]
    """
    reads = frozenset(reads)
    others = table[counterpart] if "beside" in reads else [""] * len(table)
    # Rows of one text have one span; nobody says where the target is in an unrelated sentence.
    marked = [name for name in (f"{role}_span", "span") if "span" in reads and name in table]
    spans = table[marked[0]] if marked else [None] * len(table)
    second = _is_second(table, role) if "order" in reads else np.zeros(len(table), dtype=np.bool_)
    ends = [(span["start"], span["end"]) if span else NO_SPAN for span in spans]
    rows = zip(table[role], others, ends, second.tolist(), strict=True)
    return [Unit(text, other, start, end, after) for text, other, (start, end), after in rows]


def _is_second(table: pd.DataFrame, role: str) -> NDArray[np.bool_]:
    """Return of each row whether the sentence in column `role` comes after its counterpart: bool of shape (rows,).

    Sentence 1 is as in the released code of CrowS-Pairs (Nangia et al. 2020, metric.py): `stereo`, but `anti` where the
    column `direction` says ``antistereo``. Rows without that column have the stereotype first.
    """
    if role not in ("stereo", "anti"):
        return np.full(len(table), role in UNRELATED)
    direction = table.get("direction", pd.Series("", index=table.index))
    return (direction == VIOLATES).to_numpy(dtype=np.bool_) ^ (role == "anti")


class UnitTable:
    """The distinct units of tables of one kind, and their numbers: NaN where there is none (yet).

    `counterparts` has the columns of texts that are scored, each with its counterpart. `unrelated` names the tables
    whose third sentence is scored, too. A unit has a number for each of `columns`, or a vector of `width` numbers in
    float32. A unit with an answer is ``in`` the table.

    >>> rows = pd.DataFrame({"id": ["a", "b"], "sentence": ["A rose.", "A rose."]})
    >>> units = UnitTable({"flowers": rows}, {"sentence": "sentence"}, ["text"], ["score"])
    >>> units.add_answers([(Unit("A rose."), (-1.5,))])
    >>> len(units), units.tables()["flowers"]["score"].tolist()
    (1, [-1.5, -1.5])
    """

    def __init__(
        self,
        tables: Mapping[str, pd.DataFrame],
        counterparts: Mapping[str, str],
        reads: Sequence[str],
        columns: Sequence[str],
        unrelated: Container[str] = (),
        width: int | None = None,
    ) -> None:
        self.rows, self._columns = tables, tuple(columns)
        self._roles = {name: {**counterparts, **(UNRELATED if name in unrelated else {})} for name in tables}
        self._index: dict[Unit, int] = {}
        texts: dict[str, str] = {}  # a premise of two million pairs is in memory once, not once for each pair
        self._rows: dict[tuple[str, str], NDArray[np.intp]] = {}  # the unit of each row, by table and role
        for name, table in tables.items():
            for role, counterpart in self._roles[name].items():
                self._rows[name, role] = self._numbered(units_of(table, role, counterpart, reads), texts)
        roles = dict.fromkeys([*counterparts, *(role for roles in self._roles.values() for role in roles)])
        self._prefixes = {role: f"{role}_" if len(roles) > 1 else "" for role in roles}
        shape, of_vectors = (len(self._index), width or len(self._columns)), width is not None
        self._numbers = np.full(shape, np.nan, dtype=np.float32 if of_vectors else np.float64)
        self._answered = np.zeros(len(self._index), dtype=np.bool_)

    def _numbered(self, units: Iterable[Unit], texts: dict[str, str]) -> NDArray[np.intp]:
        index, share = self._index, texts.setdefault
        shared = (
            Unit(share(text, text), share(other, other), start, end, second)
            for text, other, start, end, second in units
        )
        return np.fromiter((index.setdefault(unit, len(index)) for unit in shared), dtype=np.intp)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, unit: object) -> bool:
        number = self._index.get(unit)  # type: ignore[call-overload]
        return number is not None and bool(self._answered[number])

    @property
    def units(self) -> Iterable[Unit]:
        """The distinct units, in the order in which the rows bring them."""
        return self._index.keys()

    @property
    def done(self) -> int:
        """How many of them have an answer."""
        return int(self._answered.sum())

    def add_answers(self, answers: Iterable[tuple[Unit, Sequence[float]]]) -> None:
        """Note the numbers of units of the table."""
        for unit, numbers in answers:
            number = self._index[unit]
            self._numbers[number] = numbers
            self._answered[number] = True

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables with columns of numbers: ``stereo_score``, or ``entailment`` where a row has one unit."""
        return {
            name: table.assign(
                **{
                    f"{self._prefixes[role]}{column}": self._numbers[self._rows[name, role], number]
                    for role in self._roles[name]
                    for number, column in enumerate(self._columns)
                }
            )
            for name, table in self.rows.items()
        }

    def vectors(self, name: str, role: str) -> NDArray[np.float32]:
        """Return the vector of each row of a table for the text in column `role`: of shape (rows, width)."""
        vectors: NDArray[np.float32] = self._numbers[self._rows[name, role]]
        return vectors

    @property
    def columns(self) -> list[str]:
        """The names of those columns, in one table or another."""
        return [f"{prefix}{column}" for prefix in self._prefixes.values() for column in self._columns]

    def unscored(self) -> Iterator[tuple[str, Unit]]:
        """Yield the id, and the first unit without a finite number, of each row that has one: in the order of rows."""
        lacking = ~np.isfinite(self._numbers).all(axis=1)
        if not lacking.any():
            return
        units = list(self._index)
        for name, table in self.rows.items():
            numbers = np.stack([self._rows[name, role] for role in self._roles[name]])
            missing, ids = lacking[numbers], table["id"].to_numpy()
            for row in np.flatnonzero(missing.any(axis=0)):
                yield str(ids[row]), units[numbers[missing[:, row].argmax(), row]]


def identity_of(rows: pd.DataFrame) -> str:
    """Return what the association test of rows is about; empty where that is null, or no column."""
    identity = rows["identity"].iloc[0] if "identity" in rows else None
    return identity if isinstance(identity, str) else ""


HAS_VECTOR = "has_vector"
TIMES_LISTED = "times_listed"
"""Of a row of an association test, how many rows have its set, word and sentence."""


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Rows with their numbers, and of association tests the cosines of words: from the scorer to the report.

    - `rows`: `config`, `id` and the numbers of each row; None where they are not available.
    - `words`: of association tests the cosines of words (scorers/association.py); None of others.
    - `tables`: by config its rows as the release has them, with their numbers. Rows of association tests also say
      whether they have a vector: `HAS_VECTOR`. Empty without the release, and in what `score` returns: texts of
      millions of rows would stay in memory.
    - `read_parts`: reads the columns of `rows` in parts, where there are too many rows for a table; else None.
    """

    rows: pd.DataFrame | None = None
    words: pa.Table | None = None
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    read_parts: Callable[[], Iterator[pd.DataFrame]] | None = field(default=None, compare=False)

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, pd.DataFrame], columns: Sequence[str], words: pa.Table | None = None
    ) -> "ScoredRows":
        """Return the rows of configs, whose numbers are in `columns`.

        >>> table = pd.DataFrame({"id": ["a", "b"], "sentence": ["A rose.", "A wasp."], "score": [0.5, -0.5]})
        >>> ScoredRows.from_tables({"flowers": table}, ["score"]).rows
            config id  score
        0  flowers  a    0.5
        1  flowers  b   -0.5
        """
        names = ["config", "id", *columns]
        parts = [table.assign(config=config).reindex(columns=names) for config, table in tables.items()]
        return cls(pd.concat(parts, ignore_index=True), words, tables)

    def rows_with(self, ids: Sequence[str]) -> pd.DataFrame | None:
        """Return the rows, or of those that come in parts the ones with some ids; None where there are none."""
        if self.rows is not None or self.read_parts is None:
            return self.rows
        return pd.concat([part[part["id"].isin(ids)] for part in self.read_parts()], ignore_index=True)

    def config_words(self, config: str) -> pd.DataFrame | None:
        """Return the cosines of the words of a config's association tests; None without a table of words."""
        return None if self.words is None else self.words.filter(pc.field("config") == config).to_pandas()


NO_ROWS = ScoredRows()
