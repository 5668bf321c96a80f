"""What evaluation needs to know of a config, derived from its declarations."""

from collections.abc import Collection, Iterator, Sequence

from senseprobe.generator.config import Config, ResolvedBinding, ResolvedBlock, reference
from senseprobe.generator.kinds import KINDS
from senseprobe.generator.word_lists import Word
from senseprobe.records import Design, Factor


def derive_design(config: Config) -> Design:
    """Return the design of a config; blocks differ in words and labels only, so the first one stands for all."""
    block = config.blocks[0]
    front = block.block.front
    design = Design(
        kind=front.kind,
        sense_type="",
        bias_type=front.bias_type,
        slots=tuple(block.slots),
        roles={role: {name: _format(value) for name, value in names.items()} for role, names in block.roles.items()},
        factors=tuple(_factor(block, name) for name in front.generalise),
        columns=tuple(config.columns.items()),
    )
    return KINDS[front.kind].complete_design(design, config)


def count_levels(config: Config, excluded: Sequence[Collection[tuple[str, str]]] = ()) -> dict[str, int]:
    """Return how many levels each factor of `generalise` has; a factor that strata split counts by stratum.

    `excluded` are, block by block, pairs of slot (or ``frame``) and word of which no row is left.
    """
    levels: dict[str, set[str]] = {}
    for number, block in enumerate(config.blocks):
        if not block.block.front.has_labels:
            continue  # no figure uses these rows
        for name in config.blocks[0].block.front.generalise:
            for level, stratum in _levels(block, name, excluded[number] if excluded else ()):
                levels.setdefault(f"{name} ({stratum})" if stratum else name, set()).add(level)
    return {name: len(distinct) for name, distinct in levels.items()}


def _levels(block: ResolvedBlock, name: str, excluded: Collection[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the levels of a factor in a block that are not excluded, each with its stratum."""
    if name == "frame":
        codes = (frame.frame.code for frame in block.frames)
        yield from ((code, "") for code in codes if (name, code) not in excluded)
        return
    strata = [reference(text, block.slots) for text in block.block.front.strata.values()]
    for slot in _factor(block, name).columns:
        column = next((parts[1] for parts in strata if parts and parts[0] == slot), None)
        for word in block.slots[slot]:
            if (slot, str(word)) not in excluded:
                yield str(word), str(word.columns[column]) if column else ""


def _format(value: ResolvedBinding) -> str:
    return f"{value.source or 'text'}/{value}" if isinstance(value, Word) else value


def _factor(block: ResolvedBlock, name: str) -> Factor:
    if name in block.slots or name == "frame":
        return Factor(name=name, columns=(name,))
    slots = dict.fromkeys(str(names[name]) for names in block.roles.values())
    return Factor(name=name, columns=tuple(slots))
