"""Rows that are pairs of sentences, a stereotype and its counterpart.

Rows that are words of an association test, each in a sentence.

Rows that are a premise, a hypothesis, and the label of a right answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from senseprobe.generator.config import ResolvedBlock, reference
from senseprobe.generator.product import Flags, RowSelection
from senseprobe.generator.render import FrameRows, Side, constant, flags, join
from senseprobe.generator.schema import AssociationFront, Condition, ContrastFront, InferenceFront
from senseprobe.generator.word_lists import WordLists

_ROLES = ("stereo", "anti")


def contrast_columns(rows: FrameRows, picked: RowSelection, lists: WordLists) -> dict[str, pa.Array]:
    """The columns of a contrast config."""
    front = rows.block.block.front
    assert isinstance(front, ContrastFront)  # noqa: S101 - chosen by kind
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
    made = pairs.sentences(picked)
    for name, text in texts.items():
        found = reference(text, rows.block.slots)
        made |= rows.gather(picked, found[:1] if found else (), lambda one, n=name, t=text: {n: rows.cell(t, one)})  # type: ignore[misc]
    made |= rows.gather(picked, (), lambda one: {"lexicon": constant(_lexicon(rows.block, front, lists), one.n)})
    made |= rows.gather(picked, _slots(front.contested), lambda one: {"contested": pairs.contested(one)})
    return made | rows.gather(picked, pairs.target_slots(), lambda one: {"target": pairs.target(one)})


@dataclass(frozen=True, slots=True)
class _Pairs:
    rows: FrameRows
    front: ContrastFront

    def sentences(self, picked: RowSelection) -> dict[str, pa.Array]:
        """Both sentences and what is said of them. Where labels flip, each depends on the words of both."""
        rows, block = self.rows, self.rows.block
        slots = {slot for role in _ROLES for slot in (*rows.reads(role), *block.reads(role, block.roles[role]))}
        both = [slot for slot in block.slots if slot in slots | {*_slots(self.front.flip)}]
        if self.front.flip:
            return rows.gather(picked, both, self._pair)
        made = rows.gather(picked, both, self._compared)
        for role in _ROLES:
            made |= rows.gather(picked, rows.reads(role), lambda one, role=role: rows.sentence(role, one))  # type: ignore[misc]
        return made

    def _compared(self, one: RowSelection) -> dict[str, pa.Array]:
        stereo, anti = (self.rows.side(role, one) for role in _ROLES)
        values = dict(zip(("stereo_value", "anti_value"), self._values(one), strict=True))
        return {**values, "minimal": pa.array(self._minimal(stereo, anti, one))}

    def _pair(self, one: RowSelection) -> dict[str, pa.Array]:
        swapped = pa.array(_odd(self.rows.block, self.front.flip, one))
        made = self._compared(one) | self.rows.sentence("stereo", one) | self.rows.sentence("anti", one)
        for name in ("{}", "{}_span", "{}_value"):
            first, second = (name.format(role) for role in _ROLES)
            mine, theirs = made[first], made[second]
            made[first], made[second] = pc.if_else(swapped, theirs, mine), pc.if_else(swapped, mine, theirs)
        return made

    def _values(self, one: RowSelection) -> tuple[pa.Array, pa.Array]:
        """The bound words of each sentence that the other one does not have."""
        parts: tuple[list[pa.Array], list[pa.Array]] = ([], [])
        for name in self.front.roles["stereo"]:
            words = [self.rows.bound(role, name, one) for role in _ROLES]
            differs = pc.not_equal(*words)
            for mine, side in zip(words, parts, strict=True):
                side.append(pc.if_else(differs, mine, pa.scalar(None, pa.string())))
        # Arrow drops a row whose every part is missing; an empty first part keeps it, and leaves ", " in front.
        stereo, anti = (pc.utf8_slice_codeunits(join(["", *side], one.n, ", "), 2) for side in parts)
        return stereo, anti

    def _minimal(self, stereo: Side, anti: Side, one: RowSelection) -> Flags:
        differing = {
            name: flags(pc.not_equal(*(self.rows.bound(role, name, one) for role in _ROLES)))
            for name in self.front.roles["stereo"]
        }
        minimal: Flags = np.sum(list(differing.values()), axis=0) == 1
        for number, segment in enumerate(self.rows.frame.compiled.segments):
            mine, theirs = stereo.pieces[number], anti.pieces[number]
            same = flags(pc.equal(mine.row_texts, theirs.row_texts))
            # A segment may differ only where it prints the word that differs, and then not in its article.
            # "a " and "an " differ in length, and no article is neither.
            may_differ = (mine.articles == theirs.articles) & (not segment.block)
            printed = np.zeros(one.n, dtype=np.bool_)
            for name in segment.prints & differing.keys():
                printed |= differing[name]
            minimal &= same | (may_differ & printed)
        return minimal

    def contested(self, one: RowSelection) -> pa.Array:
        """Where one of the conditions holds at least."""
        held = [_holds(self.rows.block, condition, one) for condition in self.front.contested]
        return pa.array(np.any([np.zeros(one.n, dtype=np.bool_), *held], axis=0))

    def target_slots(self) -> tuple[str, ...]:
        """The slots on which the target depends."""
        return self.rows.block.reads("stereo", [self.front.target]) if self.front.target else ()

    def target(self, one: RowSelection) -> pa.Array:
        """The words that the target stands for, without a flip."""
        return self.rows.bound("stereo", self.front.target, one) if self.front.target else constant(None, one.n)


def _lexicon(block: ResolvedBlock, front: ContrastFront, lists: WordLists) -> str | None:
    found = reference(front.sense.key, block.slots)
    if found is None:
        return front.sense.lexicon if front.sense.key else None
    words = lists.get(front.slots[found[0]].list)
    return words.columns[found[1]].lexicon if words else None


def _slots(conditions: Iterable[Condition]) -> tuple[str, ...]:
    """The slots that conditions ask about."""
    return tuple(dict.fromkeys(key.partition(".")[0] for condition in conditions for key in condition))


def _odd(block: ResolvedBlock, conditions: Iterable[Condition], one: RowSelection) -> Flags:
    """Where an odd number of the conditions hold."""
    odd = np.zeros(one.n, dtype=np.bool_)
    for condition in conditions:
        odd ^= _holds(block, condition, one)
    return odd


def _holds(block: ResolvedBlock, condition: Condition, one: RowSelection) -> Flags:
    held = np.ones(one.n, dtype=np.bool_)
    for key, value in condition.items():
        slot, _, column = key.partition(".")
        wanted = value if isinstance(value, list) else [value]
        fits = np.array([word.columns[column or "word"] in wanted for word in block.slots[slot]])
        held &= fits[one.at[slot]]
    return held


def association_columns(rows: FrameRows, picked: RowSelection, lists: WordLists) -> dict[str, pa.Array]:
    """The columns of an association config."""
    front = rows.block.block.front
    assert isinstance(front, AssociationFront)  # noqa: S101 - chosen by kind
    told = {"test": front.test, "role": front.role, "word": front.word, "word_class": front.word_class}

    def make(one: RowSelection) -> dict[str, pa.Array]:
        side = rows.side("sentence", one)
        cells = {name: rows.cell(text, one) for name, text in told.items()}
        return {**cells, "sentence": side.text, "span": rows.spans(side)}

    return rows.gather(picked, tuple(rows.block.slots), make)


def inference_columns(rows: FrameRows, picked: RowSelection, lists: WordLists) -> dict[str, pa.Array]:
    """The columns of an inference config."""
    front = rows.block.block.front
    assert isinstance(front, InferenceFront)  # noqa: S101 - chosen by kind
    found = reference(front.gold, rows.block.slots)
    made = rows.gather(picked, found[:1] if found else (), lambda one: {"gold": rows.cell(front.gold, one)})
    for role in front.roles:
        made |= rows.gather(picked, rows.reads(role), lambda one, role=role: rows.sentence(role, one))  # type: ignore[misc]
    return made
