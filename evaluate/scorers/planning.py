"""From units to forward passes and back, whatever the model."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from senseprobe.evaluate.scorers.declaring import Answers
from senseprobe.evaluate.units import Unit

# So many texts are looked at together: enough to find others of the same length, few enough to be held in memory.
_WINDOW = 65_536


class Work(Protocol):
    """What a unit asks of a model."""

    @property
    def unit(self) -> Unit:
        """Whose work it is."""


W = TypeVar("W", bound=Work)


def answered(
    units: Iterable[Unit],
    done: Container[Unit],
    plan: Callable[[Sequence[Unit]], Iterable[W]],
    pack: Callable[[Sequence[W]], Iterable[Sequence[W]]],
    answer: Callable[[Sequence[W]], Iterable[tuple[float, ...]]],
    unscored: tuple[float, ...] = (float("nan"),),
) -> Iterator[Answers]:
    """The answers to distinct units, a forward pass at a time.

    `plan` says what units ask of the model, leaving out those that cannot be scored; `pack` puts their work into
    batches; `answer` makes numbers of a batch. Units are taken in the order of their texts, so that neither the order
    of rows nor what is `done` already decides which share a batch: that could change the last bit of a number.
    """
    ordered = iter(sorted(units))
    while window := list(islice(ordered, _WINDOW)):
        if all(unit in done for unit in window):
            continue
        works = list(plan(window))
        planned = {work.unit for work in works}
        yield [(unit, unscored) for unit in window if unit not in planned and unit not in done]
        for batch in pack(works):
            if left := [work for work in batch if work.unit not in done]:
                yield [(work.unit, numbers) for work, numbers in zip(left, answer(left), strict=True)]
