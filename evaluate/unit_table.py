"""Between rows and units: what is asked of a scorer, each distinct unit once, and what it answered."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from senseprobe.evaluate.scorers.base import Answers
from senseprobe.evaluate.units import ROLES, UNRELATED, Unit, units_of

Tables = Mapping[str, pd.DataFrame]


class Asked:
    """The distinct units of tables of one kind, and their numbers: NaN where there is none (yet).

    `reads` says what of a row makes its units, `columns` names the numbers of a unit; `unrelated` holds the names of
    tables whose third sentence is asked for, too. It holds the units that have an answer, so that a scorer can be told
    what is done.
    """

    def __init__(
        self, tables: Tables, kind: str, reads: Sequence[str], columns: Sequence[str], unrelated: Container[str] = ()
    ) -> None:
        self._tables, self._columns = tables, tuple(columns)
        self._roles = {name: {**ROLES[kind], **(UNRELATED if name in unrelated else {})} for name in tables}
        self._index: dict[Unit, int] = {}
        texts: dict[str, str] = {}  # a premise of two million pairs is held once, not once for each pair
        self._places: dict[tuple[str, str], NDArray[np.intp]] = {}
        for name, table in tables.items():
            for role, counterpart in self._roles[name].items():
                units = units_of(table, role, counterpart, reads)
                self._places[name, role] = self._place(units, texts)
        every = dict.fromkeys([*ROLES[kind], *(role for roles in self._roles.values() for role in roles)])
        self._prefixes = {role: f"{role}_" if len(every) > 1 else "" for role in every}
        self._numbers = np.full((len(self._index), len(self._columns)), np.nan)
        self._answered = np.zeros(len(self._index), dtype=np.bool_)

    def _place(self, units: Iterable[Unit], texts: dict[str, str]) -> NDArray[np.intp]:
        index, share = self._index, texts.setdefault
        shared = (
            Unit(share(text, text), share(beside, beside), start, end, second)
            for text, beside, start, end, second in units
        )
        return np.fromiter((index.setdefault(unit, len(index)) for unit in shared), dtype=np.intp)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, unit: object) -> bool:
        place = self._index.get(unit)  # type: ignore[call-overload]
        return place is not None and bool(self._answered[place])

    @property
    def units(self) -> Iterable[Unit]:
        """The distinct units, in the order in which the rows bring them."""
        return self._index.keys()

    @property
    def done(self) -> int:
        """How many of them have an answer."""
        return int(self._answered.sum())

    def take(self, answers: Answers | Iterable[tuple[Unit, Sequence[float]]]) -> None:
        """Note answers to units that were asked for."""
        for unit, numbers in answers:
            place = self._index[unit]
            self._numbers[place] = numbers
            self._answered[place] = True

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables with a column for each number: ``stereo_score``, or ``entailment`` where a row has one unit."""
        return {name: table.assign(**self._scores(name)) for name, table in self._tables.items()}

    def gaps(self) -> Iterator[tuple[str, Unit]]:
        """The id, and the first unit without a finite number, of each row that has one: in the order of the rows."""
        lacks = ~np.isfinite(self._numbers).all(axis=1)
        if not lacks.any():
            return
        units = list(self._index)
        for name, table in self._tables.items():
            places = np.stack([self._places[name, role] for role in self._roles[name]])
            gone, ids = lacks[places], table["id"].to_numpy()
            for row in np.flatnonzero(gone.any(axis=0)):
                yield str(ids[row]), units[places[gone[:, row].argmax(), row]]

    @property
    def columns(self) -> list[str]:
        """The names of those columns, in one table or another."""
        return [f"{prefix}{column}" for prefix in self._prefixes.values() for column in self._columns]

    def _scores(self, name: str) -> dict[str, NDArray[np.float64]]:
        return {
            f"{prefix}{column}": self._numbers[self._places[name, role], number]
            for role, prefix in self._prefixes.items()
            if role in self._roles[name]
            for number, column in enumerate(self._columns)
        }
