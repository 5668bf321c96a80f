"""Rows that are pairs of sentences: a stereotype and its counterpart."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from senseprobe.generator.config import Config, ResolvedBlock, reference
from senseprobe.generator.kinds.base import RowKind, cell_columns, sentence_columns
from senseprobe.generator.product import Flags, RowSelection
from senseprobe.generator.references import ReferenceChecker
from senseprobe.generator.render import FrameRows, Side, constant, flags, join
from senseprobe.generator.schema import Binding, Condition, Expect, Front, Sense
from senseprobe.generator.word_lists import Word, WordLists
from senseprobe.records import Design

LabelBasis = Literal["occupation", "trait", "both", "none"]
_ROLES = ("stereo", "anti")


class ContrastFront(Front):
    """The front matter of a block of stereotype pairs."""

    kind: Literal["contrast"]
    roles: dict[Literal["stereo", "anti"], dict[str, Binding]]
    sense: Sense
    label_basis: LabelBasis
    expect: Expect
    valence: str | None = None
    stereotype: str | None = None
    flip: list[Condition] = Field(default_factory=list)
    contested: list[Condition] = Field(default_factory=list)
    unmarked: bool = False

    @property
    def bindings(self) -> Mapping[str, Mapping[str, Binding]]:
        """What the two sentences bind."""
        return dict(self.roles.items())

    @property
    def expected(self) -> Expect:
        """How many pairs the file should make."""
        return self.expect

    @property
    def needs_target(self) -> bool:
        """Whether the block must name a target: only an unmarked block may leave it out."""
        return not self.unmarked

    @property
    def has_labels(self) -> bool:
        """Whether one sentence of a pair counts as the stereotype."""
        return self.label_basis != "none"

    @property
    def strata(self) -> Mapping[str, str | None]:
        """What splits levels: the stereotype of an occupation, or whether both sentences praise or blame."""
        return {"stereotype": self.stereotype, "valence": self.valence}

    @property
    def claimed_sense(self) -> Sense:
        """The sense that the front matter claims for the target."""
        return self.sense


class ContrastKind(RowKind[ContrastFront]):
    """Pairs of sentences, a stereotype and its counterpart."""

    front_type = ContrastFront
    own_key = "sense"
    roles = _ROLES

    def check_references(self, front: ContrastFront, checker: ReferenceChecker) -> None:
        """Check the strata, the sense keys, and the conditions of `flip` and `contested`."""
        for key, text in (("valence", front.valence), ("stereotype", front.stereotype)):
            if text is not None:
                checker.check_column(text, (key,))
        for key, text in (("key", front.sense.key), ("token", front.sense.token)):
            if text is not None and reference(text, checker.draft.slots):
                checker.check_column(text, ("sense", key))
            elif text is not None and front.sense.lexicon is None:
                hint = "lexicon: wordnet-3.0"
                checker.collector.add(("sense", key), "E113", "a literal sense key needs `lexicon`", hint)
        for key, conditions in (("flip", front.flip), ("contested", front.contested)):
            for number, condition in enumerate(conditions):
                checker.check_condition(condition, (key, number))

    def columns(self, rows: FrameRows, selection: RowSelection, lists: WordLists) -> dict[str, pa.Array]:
        """Return both sentences, the labels of the pair, its sense and its target."""
        front = self.front(rows.block)
        pairs = _Pairs(rows, front)
        texts = {
            "sense_type": front.sense.type,
            "sense_key": front.sense.key,
            "token_key": front.sense.token,
            "bias_type": front.bias_type,
            "label_basis": front.label_basis,
            "valence": front.valence,
            "stereotype": front.stereotype,
        }
        columns = pairs.sentences(selection) | cell_columns(rows, selection, texts)
        lexicon = _lexicon(rows.block, front, lists)
        columns |= rows.gather(selection, (), lambda some: {"lexicon": constant(lexicon, some.n)})
        columns |= rows.gather(selection, _slots(front.contested), lambda some: {"contested": pairs.contested(some)})
        if not (target := front.target):
            return columns | rows.gather(selection, (), lambda some: {"target": constant(None, some.n)})
        slots = rows.block.reads("stereo", [target])  # where labels flip, the sentence before the flip
        return columns | rows.gather(selection, slots, lambda some: {"target": rows.bound("stereo", target, some)})

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
        target = config.blocks[0].block.front.target
        if target is None or target not in config.blocks[0].slots or not self._binds_alike(config):
            return None, None
        levels = [word for block in config.blocks for word in block.slots[target]]
        unmarked = [word for block in config.blocks if self.front(block).unmarked for word in block.slots[target]]
        return (target, str(unmarked[0]) if unmarked else None) if len(levels) > 1 else (None, None)

    def _binds_alike(self, config: Config) -> bool:
        """Return whether `stereo` has the words of one slot in all rows: `relative` takes words by their role."""
        fronts = [self.front(block) for block in config.blocks]
        return all(front.roles == fronts[0].roles and not front.flip for front in fronts)


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
        return rows.gather(selection, both, self._compared) | sentence_columns(rows, selection, _ROLES)

    def _compared(self, selection: RowSelection) -> dict[str, pa.Array]:
        stereo, anti = (self.rows.side(role, selection) for role in _ROLES)
        values = dict(zip(("stereo_value", "anti_value"), self._values(selection), strict=True))
        return {**values, "minimal": pa.array(self._minimal(stereo, anti, selection))}

    def _flipped(self, selection: RowSelection) -> dict[str, pa.Array]:
        swapped = np.zeros(selection.n, dtype=np.bool_)
        for condition in self.front.flip:  # two conditions that hold swap back
            swapped ^= _holds(self.rows.block, condition, selection)
        mask = pa.array(swapped)
        columns = self._compared(selection)
        for role in _ROLES:
            columns |= self.rows.sentence(role, selection)
        for name in ("{}", "{}_span", "{}_value"):
            first, second = (name.format(role) for role in _ROLES)
            mine, theirs = columns[first], columns[second]
            columns[first], columns[second] = pc.if_else(mask, theirs, mine), pc.if_else(mask, mine, theirs)
        return columns

    def _values(self, selection: RowSelection) -> tuple[pa.Array, pa.Array]:
        """Return the bound words of each sentence that the other one does not have."""
        parts: tuple[list[pa.Array], list[pa.Array]] = ([], [])
        for name in self.front.roles["stereo"]:
            words = [self.rows.bound(role, name, selection) for role in _ROLES]
            differs = pc.not_equal(*words)
            for mine, side in zip(words, parts, strict=True):
                side.append(pc.if_else(differs, mine, pa.scalar(None, pa.string())))
        # Arrow drops a row whose every part is missing; an empty first part keeps it, and leaves ", " in front.
        stereo, anti = (pc.utf8_slice_codeunits(join(["", *side], selection.n, ", "), 2) for side in parts)
        return stereo, anti

    def _minimal(self, stereo: Side, anti: Side, selection: RowSelection) -> Flags:
        differing = {
            name: flags(pc.not_equal(*(self.rows.bound(role, name, selection) for role in _ROLES)))
            for name in self.front.roles["stereo"]
        }
        minimal: Flags = np.sum(list(differing.values()), axis=0) == 1
        for number, segment in enumerate(self.rows.frame.compiled.segments):
            mine, theirs = stereo.pieces[number], anti.pieces[number]
            same = flags(pc.equal(mine.row_texts, theirs.row_texts))
            # A segment may differ only where it prints the word that differs, and then not in its article.
            # "a " and "an " differ in length, and no article is neither.
            may_differ = (mine.articles == theirs.articles) & (not segment.block)
            printed = np.zeros(selection.n, dtype=np.bool_)
            for name in segment.prints & differing.keys():
                printed |= differing[name]
            minimal &= same | (may_differ & printed)
        return minimal

    def contested(self, selection: RowSelection) -> pa.Array:
        """Return where at least one of the conditions holds."""
        contested = np.zeros(selection.n, dtype=np.bool_)
        for condition in self.front.contested:
            contested |= _holds(self.rows.block, condition, selection)
        return pa.array(contested)


def _lexicon(block: ResolvedBlock, front: ContrastFront, lists: WordLists) -> str | None:
    parts = reference(front.sense.key, block.slots)
    if parts is None:
        return front.sense.lexicon if front.sense.key else None
    words = lists.get(front.slots[parts[0]].list)
    return words.columns[parts[1]].lexicon if words else None


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
