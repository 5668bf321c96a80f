"""What everything that makes or checks numbers declares of itself: scorers, estimands, other measures and gates.

Reports, `senseprobe explain`, `docs/metrics.md` and cards read these fields, and no others, for their words.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from senseprobe.plugins import Registry, Unfit, log_warning


@dataclass(frozen=True, kw_only=True, slots=True)
class Declaration:
    """Something that is measured, as the documentation has it.

    - `range`: the ends of its numbers, infinite where there is none; `unit`: what they are counted in.
    - `direction`: what a higher number means.
    - `source`: the paper that it comes from, or ``senseprobe``; `equation`: which of that paper's, or the formula.
    - `says`: what it computes; `cannot_say`: what must not be read from it.
    - `version`: of its definition. It goes up when its numbers change, so that numbers of two versions are never taken
      for one another.
    - `origin`: the distribution of the plug-in that brings it; empty for ours.
    - `after`: of a room's, the id of the one behind which it stands in lists; empty: at the end.
    """

    id: str
    title: str
    range: tuple[float, float]
    unit: str
    direction: str
    source: str
    equation: str = ""
    says: str
    cannot_say: str = ""
    version: int = 1
    origin: str = ""
    after: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure(Declaration):
    """A measure that is no scorer: it reads a graph of word associations, any sentences, or any texts.

    `command` is what computes it, as it is typed.

    >>> width = Measure(
    ...     id="width", title="Longest sentence", command="senseprobe study width RELEASE", range=(0, 1e6),
    ...     unit="letters", direction="higher: longer", source="none", says="The number of letters.",
    ... )
    >>> width.title, width.version
    ('Longest sentence', 1)
    """

    command: str


def is_number(end: object) -> bool:
    """Return whether the end of a range is a number."""
    return isinstance(end, int | float) and not isinstance(end, bool)


def check_range(declared: Declaration) -> None:
    """Raise Unfit where the range of a plug-in's declaration is not two numbers, the lower first."""
    ends = declared.range
    if not (isinstance(ends, tuple) and len(ends) == 2 and all(map(is_number, ends)) and ends[0] < ends[1]):
        raise Unfit("its range is not a lower and an upper end")


def _admit(measure: Measure) -> Measure:
    check_range(measure)
    return measure


MEASURES = Registry("senseprobe.measures", Measure, "measure", (), _admit)
"""All measures by id, in order of print: of rooms that can be missing, then of plug-ins."""


C = TypeVar("C", bound=type[Declaration])


def accept_old_names(**new_names: str) -> Callable[[C], C]:
    """Decorate a class of declarations that plug-ins make: its old names of fields are constructor keywords, too.

    `new_names` are by old name. Old names of one field are its items, in order: ``low`` and ``high`` of ``range``.
    Each declaration with old names logs one notice, which has the new ones.
    """
    old_names: dict[str, list[str]] = {}
    for old, new in new_names.items():
        old_names.setdefault(new, []).append(old)

    def decorate(cls: C) -> C:
        construct = cls.__init__

        @wraps(construct)
        def construct_renamed(self: Declaration, **fields: Any) -> None:  # noqa: ANN401 - any field's
            changes = []
            for field, names in old_names.items():
                if not (given := [name for name in names if name in fields]):
                    continue
                if given != names or field in fields:
                    raise TypeError(f"{cls.__name__} has {given[0]}: declare `{field}` in its place")
                values = tuple(fields.pop(name) for name in names)
                fields[field] = values if len(values) > 1 else values[0]
                changes.append(f"{', '.join(f'`{name}`' for name in names)} is now `{field}`")
            construct(self, **fields)
            if changes:
                old = ", ".join(changes)
                log_warning(f"the {cls.__name__} {self.id} has old names of fields, which still work: {old}")

        type.__setattr__(cls, "__init__", construct_renamed)
        return cls

    return decorate
