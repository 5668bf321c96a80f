"""What measures that are no scorers declare of themselves: of word graphs, sentences and corpora.

A scorer turns the rows of a release into numbers, from which estimands make figures. These measures read other things:
a graph of word associations, any sentences, any texts. Each is declared in the module that computes it.
"""

from dataclasses import dataclass
from importlib import import_module

_MODULES: tuple[str, ...] = ("word_association", "bias_score", "corpus_summary")
"""The modules of this room that declare a `MEASURES`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """A measure as `docs/metrics.md` and `senseprobe explain` have it.

    - `command`: what computes it, as it is typed.
    - `range`: the ends of its numbers, infinite where there is none; `measure`: what they are counted in.
    - `direction`: what a higher number means.
    - `paper`, `equation`: where it comes from; `says`: what it computes; `cannot_say`: what must not be read from it.
    """

    id: str
    title: str
    command: str
    range: tuple[float, float]
    measure: str
    direction: str
    paper: str
    equation: str
    says: str
    cannot_say: str


def list_measures() -> list[Measure]:
    """Return the measures of all modules, in order of print."""
    modules = (import_module(f"{__package__}.{name}") for name in _MODULES)
    return [measure for module in modules for measure in module.MEASURES]
