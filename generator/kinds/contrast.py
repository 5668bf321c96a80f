"""Rows that are pairs of sentences: a stereotype and its counterpart."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from senseprobe.generator.config import Config, ResolvedBlock, reference
from senseprobe.generator.kinds.base import ReferenceChecker, RowExpansion
from senseprobe.generator.product import Flags, RowSelection
from senseprobe.generator.render import FrameRows, constant, flags, join
from senseprobe.generator.schema import Binding, Condition, Expect, Front, Sense
from senseprobe.generator.senses import lexicon_of
from senseprobe.generator.word_lists import Word, WordLists
from senseprobe.records import Design

_ROLES: tuple[Literal["stereo", "anti"], ...] = ("stereo", "anti")


class ContrastFront(Front):
    """The front matter of a block of stereotype pairs."""

    kind: Literal["contrast"]
    roles: dict[Literal["stereo", "anti"], dict[str, Binding]]
    sense: Sense
    label_basis: Literal["occupation", "trait", "both", "none"]
    expect: Expect | None = None
    valence: str | None = None
    stereotype: str | None = None
    flip: list[Condition] = Field(default_factory=list)
    contested: list[Condition] = Field(default_factory=list)
    unmarked: bool = False
    stereo_value_key: str | None = None
    anti_value_key: str | None = None

    @property
    def value_keys(self) -> Mapping[str, str]:
        """By column, the ``slot.column`` that has the sense keys of the words in `stereo_value` or `anti_value`."""
        keys = {"stereo_value_key": self.stereo_value_key, "anti_value_key": self.anti_value_key}
        return {name: text for name, text in keys.items() if text}

    @property
    def added_columns(self) -> Mapping[str, str]:
        """`columns`, clusters, and the sense keys of the words that the sentences of a pair do not share."""
        return {**self.columns, **self.value_keys, **self.clusters}

    @property
    def has_labels(self) -> bool:
        """Whether one sentence of a pair counts as the stereotype."""
        return self.label_basis != "none"

    @property
    def strata(self) -> Mapping[str, str | None]:
        """What splits levels: the stereotype of an occupation, or whether both sentences praise or blame."""
        return {"stereotype": self.stereotype, "valence": self.valence}


class ContrastExpansion(RowExpansion[ContrastFront]):
    """Pairs of sentences, a stereotype and its counterpart."""

    front_type = ContrastFront
    distinctive_key = "sense"
    roles = _ROLES
    contrasts = ("preference", "preference-half", "pronoun-stereotype", "relative")

    def check_references(self, front: ContrastFront, checker: ReferenceChecker) -> None:
        """Check the strata, the sense keys, and the conditions of `flip` and `contested`."""
        for key, text in front.strata.items():
            if text is not None:
                checker.check_column(text, (key,))
        for key, text in (("key", front.sense.key), ("token", front.sense.token)):
            if text is not None and reference(text, checker.slots):
                checker.check_column(text, ("sense", key))
            elif text is not None and front.sense.lexicon is None:
                message, hint = "a literal sense key needs `lexicon`", "lexicon: wordnet-3.0"
                checker.add(("sense", key), "E113", message, hint)
        for key, conditions in (("flip", front.flip), ("contested", front.contested)):
            for number, condition in enumerate(conditions):
                checker.check_condition(condition, (key, number))
        self._check_value_keys(front, checker)

    def _check_value_keys(self, front: ContrastFront, checker: ReferenceChecker) -> None:
        """Check that keys of values are given for both roles, each those of a slot that its own role is bound to."""
        for role in _ROLES:
            name = f"{role}_value_key"
            if name in front.value_keys and name in front.columns:
                checker.add(("columns", name), "E102", f"`{name}` already makes this column", "remove one of them")
            slot, _, column = front.value_keys.get(name, "").partition(".")
            if front.value_keys and not slot:
                checker.add(
                    (next(iter(front.value_keys)),), "E102", f"it also needs `{name}`", "declare both, or neither"
                )
            elif slot in checker.slots and slot not in front.roles[role].values():
                checker.add((name,), "E102", f"`{role}` does not bind {slot}", f"name a slot of roles: {role}")
            elif slot in checker.slots and not column.startswith("sense_"):
                checker.add(
                    (name,), "E102", f"{column} is not a column of sense keys", "such a column begins with sense_"
                )
        if front.value_keys and front.flip:
            message = "with flipped labels, the words of a sentence come from different slots"
            checker.add((next(iter(front.value_keys)),), "E102", message, "remove this key")

    def columns(self, rows: FrameRows, selection: RowSelection, lists: WordLists) -> dict[str, pa.Array]:
        """Return both sentences, the labels of the pair, its sense and its target."""
        front = self.front(rows.block)
        pairs = _Pairs(rows, front)
        texts = front.model_dump(include={"bias_type", "label_basis", "valence", "stereotype"})
        texts |= {"sense_type": front.sense.type, "sense_key": front.sense.key, "token_key": front.sense.token}
        columns = pairs.sentences(selection) | rows.cells(selection, {**texts, "target": None})
        lexicon = lexicon_of(front.sense.key, rows.block, lists)
        columns["lexicon"] = rows.column(selection, (), lambda some: constant(lexicon, some.n))
        columns["contested"] = rows.column(selection, _slots(front.contested), pairs.contested)
        if target := front.target:
            slots = rows.block.reads("stereo", [target])  # where labels flip, the sentence before the flip
            columns["target"] = rows.column(selection, slots, partial(rows.bound, "stereo", target))
        return columns

    def complete_design(self, design: Design, config: Config) -> Design:
        """Return the design with what the sentences of a pair differ in, and what can be estimated from that."""
        block = config.blocks[0]
        front = self.front(block)
        differs, words = _difference(block)
        group, unmarked = self._group(config) if differs == "evaluative" else (None, None)
        strata = {column: reference(text, block.slots) for column, text in front.strata.items()}
        return replace(
            design,
            sense_type=front.sense.type,
            differs=differs,
            group=group,
            reference=unmarked,
            words=words,
            strata={column: parts[0] for column, parts in strata.items() if parts},
            estimands=_estimands(differs, group, front),
            neutral=None if differs == "evaluative" else 0.0,
        )

    def _group(self, config: Config) -> tuple[str | None, str | None]:
        """Return the slot whose levels `relative` compares, where it has several; and the unmarked level."""
        blocks = [(block, self.front(block)) for block in config.blocks]
        target, roles = blocks[0][1].target, blocks[0][1].roles
        # `relative` takes words by their role, so `stereo` must have the words of one slot in all rows.
        bound_alike = all(front.roles == roles and not front.flip for _, front in blocks)
        if target is None or target not in config.blocks[0].slots or not bound_alike:
            return None, None
        levels = [(str(word), front.unmarked) for block, front in blocks for word in block.slots[target]]
        unmarked = next((word for word, is_unmarked in levels if is_unmarked), None)
        return (target, unmarked) if len(levels) > 1 else (None, None)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The pairs of a frame."""

    rows: FrameRows
    front: ContrastFront

    def sentences(self, selection: RowSelection) -> dict[str, pa.Array]:
        """Return both sentences and what compares them. Where labels flip, each depends on the words of both."""
        rows, block = self.rows, self.rows.block
        slots = {slot for role in _ROLES for slot in (*rows.reads(role), *block.reads(role, block.roles[role]))}
        both = [slot for slot in block.slots if slot in slots | {*_slots(self.front.flip)}]
        if self.front.flip:
            return rows.gather(selection, both, self._flipped)
        return rows.gather(selection, both, self._compared) | rows.sentences(selection, _ROLES)

    def _compared(self, selection: RowSelection) -> dict[str, pa.Array]:
        """Return the bound words of each sentence that the other one does not have, and whether a pair is minimal."""
        names = self.front.roles["stereo"]
        words = {name: [self.rows.bound(role, name, selection) for role in _ROLES] for name in names}
        differing = {name: pc.not_equal(*both) for name, both in words.items()}
        columns = {}
        for number, role in enumerate(_ROLES):
            parts = [pc.if_else(differing[name], words[name][number], pa.scalar(None, pa.string())) for name in names]
            # Arrow drops a row whose every part is missing; an empty first part keeps it, and leaves ", " in front.
            columns[f"{role}_value"] = pc.utf8_slice_codeunits(join(["", *parts], selection.n, ", "), 2)
        minimal = self._minimal({name: flags(differs) for name, differs in differing.items()}, selection)
        return {**columns, "minimal": pa.array(minimal)}

    def _flipped(self, selection: RowSelection) -> dict[str, pa.Array]:
        # Two conditions that hold swap back.
        mask = pa.array(np.logical_xor.reduce([_holds(self.rows.block, some, selection) for some in self.front.flip]))
        columns = self._compared(selection)
        for role in _ROLES:
            columns |= self.rows.sentence(role, selection)
        for name in ("{}", "{}_span", "{}_value"):
            first, second = (name.format(role) for role in _ROLES)
            mine, theirs = columns[first], columns[second]
            columns[first], columns[second] = pc.if_else(mask, theirs, mine), pc.if_else(mask, mine, theirs)
        return columns

    def _minimal(self, differing: Mapping[str, Flags], selection: RowSelection) -> Flags:
        minimal: Flags = np.sum(list(differing.values()), axis=0) == 1
        none = np.zeros(selection.n, dtype=np.bool_)
        sides = [self.rows.side(role, selection).pieces for role in _ROLES]
        for segment, mine, theirs in zip(self.rows.frame.compiled.segments, *sides, strict=True):
            same = flags(pc.equal(mine.row_texts, theirs.row_texts))
            # A segment may differ only where it prints the word that differs, and then not in its article.
            # "a " and "an " differ in length, and no article is neither.
            may_differ = (mine.articles == theirs.articles) & (not segment.block)
            printed = np.logical_or.reduce([none, *(differing[name] for name in segment.prints & differing.keys())])
            minimal &= same | (may_differ & printed)
        return minimal

    def contested(self, selection: RowSelection) -> pa.Array:
        """Return where at least one of the conditions holds."""
        none = np.zeros(selection.n, dtype=np.bool_)
        holds = (_holds(self.rows.block, condition, selection) for condition in self.front.contested)
        return pa.array(np.logical_or.reduce([none, *holds]))


def _slots(conditions: Iterable[Condition]) -> tuple[str, ...]:
    """Return the slots that the conditions are about."""
    return tuple(dict.fromkeys(key.partition(".")[0] for condition in conditions for key in condition))


def _holds(block: ResolvedBlock, condition: Condition, selection: RowSelection) -> Flags:
    holds = np.ones(selection.n, dtype=np.bool_)
    for key, value in condition.items():
        slot, _, column = key.partition(".")
        fits = np.array([word.has(column or "word", value) for word in block.slots[slot]])
        holds &= fits[selection.at[slot]]
    return holds


def _difference(block: ResolvedBlock) -> tuple[str, dict[str, str]]:
    """Return in what the members of a pair differ; for praise or blame also the slots of these words, by role."""
    for name, bound in block.roles["stereo"].items():
        if isinstance(bound, Word):
            if bound.source == "pronouns":
                return "pronoun", {}
        elif "polarity" in block.slots[bound][0].columns:
            return "evaluative", {role: str(names[name]) for role, names in block.roles.items()}
    return "group", {}


def _estimands(differs: str, group: str | None, front: ContrastFront) -> tuple[str, ...]:
    estimands = ["preference", "preference-half"]
    if differs == "evaluative" and group:
        estimands += ["relative", "spread"]
    if differs == "pronoun" and front.stereotype:
        estimands += ["pronoun-stereotype", "pronoun-baseline"] + (["pronoun-interaction"] if front.valence else [])
    return tuple(estimands)
