"""What evaluation needs to know of a config, derived from its declarations."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from senseprobe.generator.config import Config, ResolvedBinding, ResolvedBlock, reference
from senseprobe.generator.schema import AssociationFront, ContrastFront, InferenceFront
from senseprobe.generator.word_lists import Word
from senseprobe.records import Design, Factor


def derive_design(config: Config) -> Design:
    """The design of a config; blocks differ in words and labels only, so the first one speaks for all."""
    block = config.blocks[0]
    front = block.block.front
    common = Design(
        kind=front.kind,
        sense_type="",
        bias_type=front.bias_type,
        slots=tuple(block.slots),
        roles={role: {name: _shown(value) for name, value in names.items()} for role, names in block.roles.items()},
        factors=tuple(_factor(block, name) for name in front.generalise),
        columns=tuple(config.columns.items()),
    )
    match front:
        case ContrastFront():
            return _contrast(common, config, block, front)
        case InferenceFront():
            return replace(common, estimands=_inference_estimands(config, front))
        case AssociationFront():
            return common


def _contrast(common: Design, config: Config, block: ResolvedBlock, front: ContrastFront) -> Design:
    differs, words = _differs(block)
    group, unmarked = _group(config, block) if differs == "evaluative" else (None, None)
    strata = {"stereotype": reference(front.stereotype, block.slots), "valence": reference(front.valence, block.slots)}
    return replace(
        common,
        sense_type=front.sense.type,
        differs=differs,
        group=group,
        reference=unmarked,
        words=words,
        strata={column: found[0] for column, found in strata.items() if found},
        estimands=_estimands(differs, group, front.stereotype, front.valence),
        neutral=None if differs == "evaluative" else 0.0,
    )


def count_levels(config: Config, gone: Sequence[Collection[tuple[str, str]]] = ()) -> dict[str, int]:
    """How many levels each factor of `generalise` has, split where praise and blame or a stereotype split them.

    `gone` are, block by block, slots (or ``frame``) and words of which no row is left.
    """
    front = config.blocks[0].block.front
    found: dict[str, set[str]] = {}
    for number, block in enumerate(config.blocks):
        lost = gone[number] if gone else ()
        if getattr(block.block.front, "label_basis", "") == "none":
            continue  # rows without a label are in no preference
        for name in front.generalise:
            for level, stratum in _levels(block, name, lost):
                found.setdefault(f"{name} ({stratum})" if stratum else name, set()).add(level)
    return {name: len(levels) for name, levels in found.items()}


def _levels(block: ResolvedBlock, name: str, lost: Collection[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The levels of a factor in a block that are not lost, each with its stratum."""
    if name == "frame":
        codes = (frame.frame.code for frame in block.frames)
        yield from ((code, "") for code in codes if (name, code) not in lost)
        return
    front = block.block.front
    texts = (front.stereotype, front.valence) if isinstance(front, ContrastFront) else ()
    described = [reference(text, block.slots) for text in texts]
    for slot in _factor(block, name).columns:
        column = next((found[1] for found in described if found and found[0] == slot), None)
        for word in block.slots[slot]:
            if (slot, str(word)) in lost:
                continue
            yield str(word), str(word.columns[column]) if column else ""


def _shown(value: ResolvedBinding) -> str:
    return f"{value.source or 'text'}/{value}" if isinstance(value, Word) else value


def _columns(block: ResolvedBlock, binding: str) -> Mapping[str, object]:
    bound = block.roles["stereo"][binding]
    return (bound if isinstance(bound, Word) else block.slots[bound][0]).columns


def _differs(block: ResolvedBlock) -> tuple[str, dict[str, str]]:
    """In what the members of a pair differ; for words of praise or blame also the slots that hold them, by role."""
    for name, bound in block.roles["stereo"].items():
        if "polarity" in _columns(block, name) and not isinstance(bound, Word):
            return "evaluative", {role: str(names[name]) for role, names in block.roles.items()}
        if isinstance(bound, Word) and bound.source == "pronouns":
            return "pronoun", {}
    return "group", {}


def _group(config: Config, block: ResolvedBlock) -> tuple[str | None, str | None]:
    """The slot whose levels `relative` compares, where there is more than one level; and the unmarked level."""
    target = block.block.front.target
    if target is None or target not in block.slots or not _binds_alike(config):
        return None, None
    levels = [word for one in config.blocks for word in one.slots[target]]
    bare = [one for one in config.blocks if isinstance(one.block.front, ContrastFront) and one.block.front.unmarked]
    unmarked = [word for one in bare for word in one.slots[target]]
    return (target, str(unmarked[0]) if unmarked else None) if len(levels) > 1 else (None, None)


def _binds_alike(config: Config) -> bool:
    """Whether `stereo` holds the words of one slot in all rows: `relative` takes a row's words by their role."""
    fronts = [block.block.front for block in config.blocks]
    return all(front.roles == fronts[0].roles and not getattr(front, "flip", None) for front in fronts)


def _factor(block: ResolvedBlock, name: str) -> Factor:
    if name in block.slots or name == "frame":
        return Factor(name=name, columns=(name,))
    slots = dict.fromkeys(str(names[name]) for names in block.roles.values())
    return Factor(name=name, columns=tuple(slots))


def _inference_estimands(config: Config, front: InferenceFront) -> tuple[str, ...]:
    """A model should find pairs of nothing but groups neutral; of controls, whatever gold says."""
    if front.gold != "neutral":
        return ("accuracy",)
    gap = ("gap",) if {"gender", "pair"} <= config.columns.keys() else ()
    return ("nn", "fn", "t@0.5", "t@0.7", *gap)


def _estimands(differs: str, group: str | None, stereotype: str | None, valence: str | None) -> tuple[str, ...]:
    found = ["preference", "preference-half"]
    if differs == "evaluative" and group:
        found += ["relative", "spread"]
    if differs == "pronoun" and stereotype:
        found += ["pronoun-stereotype", "pronoun-baseline"] + (["pronoun-interaction"] if valence else [])
    return tuple(found)
