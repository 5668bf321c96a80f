"""What a scorer declares and does, and how it gets from units to forward passes and back, whatever the model."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, repeat
from operator import itemgetter
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from senseprobe.evaluate.declaration import Declaration, accept_old_names
from senseprobe.evaluate.models.registry import of_plug_in
from senseprobe.evaluate.units import KINDS, ScoredRows, Unit, UnitTable, units_of
from senseprobe.statistics import Scale

Answers: TypeAlias = list[tuple[Unit, tuple[float, ...]]]
"""Units that are done, each with its numbers: NaN where it is unscored."""

Score: TypeAlias = Callable[[Any, Iterable[Unit], Container[Unit]], Iterator[Answers]]
Why: TypeAlias = Callable[[Any, Sequence[Unit]], Iterator[str]]

_USUAL_ROWS: Mapping[str, str] = {
    "masked": "contrast",
    "causal": "contrast",
    "inference": "inference",
    "vectors": "association",
}
"""The kind of rows that scorers of an ability take unless they name another; of plug-ins' abilities ``contrast``."""

NO_REASON = "no reason given"
"""Of a unit without a number: a plug-in need not give any."""

WINDOW = 65_536
"""Units that are planned together: enough to find others of the same length, few enough for memory.

No batch has units of two windows. So what answers windows one by one (evaluate/windows) makes the batches of one
process, and the same bits. It is no option of a run: another number would be another batch.
"""


def select_all(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, pd.DataFrame]:
    """Return the rows of configs, all of which are scored."""
    return tables


def tabulate_numbers(units: UnitTable, model: object = None) -> ScoredRows:
    """Return rows with the numbers of their units, whatever the model."""
    return ScoredRows.from_tables(units.tables(), units.columns)


@accept_old_names(measure="unit", paper="source", description="says")
@dataclass(frozen=True, kw_only=True, slots=True)
class Scorer(Declaration):
    """A named way from a model to numbers per sentence (or pair).

    - `ability`: what it asks of a model: ``masked``, ``causal``, ``chat``, ``inference`` or ``vectors``.
    - `rows`: the kind of rows that it takes, where that is not the usual one of its ability; `kind` says it of each.
    - `reads`: what of a row it reads: ``text``, and ``beside`` (the other sentence), ``span`` (the target's place)
      or ``order`` (which of the two is sentence 1).
    - `columns`: the names of its numbers, one for most.
    - `scale`: whether they are logarithms (or sums and means of them) or probabilities: it decides what is a tie.
    - `basis`, `parts`: what several scorers have in common, so that it is computed and stored once: its name, and those
      of its numbers, with which `score` answers; `combine` computes the number, or a tuple of them, from these. Else
      numbers are stored.
    - `roles`: the columns of the texts that it reads, each with its counterpart, where `select` makes them.
    - `estimands`: the figures of its numbers, where these are not those that a release lists.
    - `of_pairs`: whether a pair has one number, so that sentences of two pairs cannot be compared.
    - `gates`: what answers have to pass before figures are read of them (evaluate/task_gates.py); none but of chat.
    - `task`: how it asks a chat model, and what makes the check that is wrapped round a run and reads these gates
      (evaluate/served/tasks.py); None of others.
    - `needs`: the scorer of which a server has to be capable for this one; empty: itself.
    - `asks(unit)`: the texts whose likelihoods a server is asked for, where it is.
    - `cyclic`: the id of the scorer that is the same with the three cyclic orders of answers alone; empty: none is.
    - `level`: what has vectors: ``word``, ``sent``, ``cword`` or ``sense``; empty of other scorers. `score` answers
      with a vector for each unit, `select` the rows that have one of their own, and `tabulate` makes their numbers.
    - `cosines`: the schema of the table of words that `tabulate` makes (scorers/association.py); None: it makes none.
    - `predicts`: of which tokens it reads the probability, where it does: ``all``, those that both sentences ``share``,
      or those of the ``target``: so that two tokens of one vector may yet differ.
    - `without_start`: the id of the scorer that is the same without a start token; empty where it puts none.
    - `score(model, units, done)`: for distinct units, the answers of one forward pass after another. It plans as if
      nothing were `done` and leaves out what is, so that a run that was interrupted ends with the same bits. A unit is
      unscored, with NaN, where it is too long for the model, has no token of its own, or its number is not finite.
    - `why(model, units)`: the reason, in a few words, for each of units that are unscored; None: no reasons.

    >>> def count_letters(model, units, done):
    ...     yield [(unit, (-float(len(unit.text)),)) for unit in units if unit not in done]
    >>> brevity = Scorer(
    ...     id="brevity", title="letters less", ability="lengths", range=(-1e9, 0), unit="letters", source="none",
    ...     direction="higher: shorter", says="Minus the number of letters.", score=count_letters,
    ... )
    >>> brevity.kind
    'contrast'
    >>> brevity.numbers(None, [Unit("A rose."), Unit("A poppy.")]).tolist()
    [[-7.0], [-8.0]]
    """

    ability: str
    rows: str = ""
    reads: tuple[str, ...] = ("text",)
    columns: tuple[str, ...] = ("score",)
    scale: Scale = "log"
    basis: str = ""
    parts: tuple[str, ...] = ()
    combine: Callable[..., float | tuple[float, ...]] | None = None
    level: str = ""
    roles: Mapping[str, str] | None = None
    estimands: tuple[str, ...] = ()
    of_pairs: bool = False
    gates: tuple[str, ...] = ()
    task: Any = None
    needs: str = ""
    asks: Callable[[Unit], Sequence[str]] = itemgetter(slice(1))  # its text alone
    cyclic: str = ""
    select: Callable[[Mapping[str, pd.DataFrame]], Mapping[str, pd.DataFrame]] = select_all
    tabulate: Callable[..., ScoredRows] = tabulate_numbers
    cosines: pa.Schema | None = None
    predicts: Literal["all", "share", "target"] = "all"
    without_start: str = ""
    score: Score
    why: Why | None = None
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.rows or _USUAL_ROWS.get(self.ability, "contrast"))

    def taking(self, kinds: Collection[str]) -> "Scorer":
        """Return it as a scorer of the first of `kinds` whose rows are sentences, if it takes rows of none of them.

        That is itself where it does not score each sentence of a pair without the other: its numbers are the same.
        """
        sentences = next((kind for kind in kinds if KINDS[kind].sentences), self.kind)
        is_alone = self.columns == ("score",) and {*self.reads} <= {"text", "span"} and self.roles is None
        if not kinds or self.kind in kinds or not KINDS[self.kind].pairs or not is_alone or self.of_pairs or self.level:
            return self
        return replace(self, rows=sentences)

    @property
    def texts(self) -> Mapping[str, str]:
        """The columns of the texts that are scored, each with its counterpart: at the level of words the word alone."""
        words = {"word": "word"} if self.level == "word" else KINDS[self.kind].roles
        return words if self.roles is None else self.roles

    def width(self, model: Any) -> int | None:  # noqa: ANN401 - of any family with vectors
        """Return how many numbers the vector of a unit has; None where the answer to a unit is no vector."""
        return int(model.width(self.level)) if self.level else None

    def identity(self, model: Any) -> dict[str, str]:  # noqa: ANN401 - of any family
        """Return what a model's numbers depend on, with the ``encoding`` of vectors, or ``prompts``: what is asked."""
        encoding = {"encoding": model.encoding(self.level).text} if self.level else {}
        return {**model.identity, **encoding, **({"prompts": str(self.version)} if self.gates else {})}

    def check(self, model: Any, **options: Any) -> Any:  # noqa: ANN401 - of any family; evaluate/served/task_records.py
        """Return the check that is wrapped round a run with a model: this scorer's or a served model's; else None."""
        make = getattr(self.task or model, "task_check", None)
        return None if make is None else make(scorer=self, model=model, **options)

    def words_at_start(self, model: Any, table: pd.DataFrame) -> int:  # noqa: ANN401 - of any family
        """Return how many words whose vectors are taken stand at the first position of what the model reads."""
        if self.level not in ("word", "cword") or not hasattr(model, "first_positions"):
            return 0
        units = (unit for role in self.texts for unit in units_of(table, role, role, self.reads))
        return int(model.first_positions([*units] if self.roles is None else list(dict.fromkeys(units))))

    @property
    def left_to_right(self) -> bool:
        """Whether its models read from left to right, so that a first token is predicted from a start token alone."""
        return self.ability == "causal"

    def finish(self, answers: Iterable[tuple[Unit, tuple[float, ...]]]) -> Answers:
        """Return the numbers of units, made of what `score` answered or of what was stored of it."""
        combine = self.combine
        if combine is None:
            return [*answers]
        combined = ((unit, combine(*parts)) for unit, parts in answers)
        return [(unit, numbers if isinstance(numbers, tuple) else (numbers,)) for unit, numbers in combined]

    def numbers(self, model: object, units: Iterable[Unit]) -> NDArray[np.float64]:
        """Return the numbers of units, computed once each: float64 of shape (units, columns), in order."""
        order = list(units)
        values = {unit: value for answers in self.score(model, {*order}, ()) for unit, value in self.finish(answers)}
        return np.array([values[unit] for unit in order], dtype=np.float64).reshape(len(order), len(self.columns))

    def reasons(self, model: Any, units: Sequence[Unit]) -> Iterator[str]:  # noqa: ANN401 - of any family
        """Yield the reason of each unscored unit; a plug-in's scorer or model gives none.

        A model whose answers were read from parts has them beside these, as `stored_reasons` (evaluate/windows).
        """
        if (stored := getattr(model, "stored_reasons", None)) is not None:
            yield from (stored.get(unit, NO_REASON) for unit in units)
            return
        if self.why is None or of_plug_in(model.identity):
            yield from repeat(NO_REASON, len(units))
            return
        for start in range(0, len(units), WINDOW):
            yield from self.why(model, units[start : start + WINDOW])


class Work(Protocol):
    """The forward passes that a unit needs of a model."""

    @property
    def unit(self) -> Unit:
        """Whose work it is."""


@dataclass(frozen=True, slots=True)
class WholeUnit:
    """The work of a unit that a model is given as it is, as a server or a chat model cuts texts by itself."""

    unit: Unit


W = TypeVar("W", bound=Work)


def answered(
    units: Iterable[Unit],
    done: Container[Unit],
    plan: Callable[[Sequence[Unit]], Iterable[W]],
    pack: Callable[[Sequence[W]], Iterable[Sequence[W]]],
    answer: Callable[[Sequence[W]], Iterable[tuple[float, ...]]],
    unscored: tuple[float, ...] = (float("nan"),),
) -> Iterator[Answers]:
    """Yield the answers to distinct units, a forward pass at a time.

    `plan` says what units ask of the model, leaving out those that cannot be scored; `pack` puts their work into
    batches; `answer` makes numbers of a batch. Units are taken in the order of their texts, so that neither the order
    of rows nor what is `done` already decides which share a batch: that could change the last bit of a number.
    """
    ordered = iter(sorted(units))
    while window := list(islice(ordered, WINDOW)):
        if all(unit in done for unit in window):
            continue
        works = list(plan(window))
        planned = {work.unit for work in works}
        yield [(unit, unscored) for unit in window if unit not in planned and unit not in done]
        for batch in pack(works):
            if left := [work for work in batch if work.unit not in done]:
                yield [(work.unit, numbers) for work, numbers in zip(left, answer(left), strict=True)]
