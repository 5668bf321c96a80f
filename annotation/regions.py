"""The results of one annotation, as Label Studio stores them, and the answers that they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from senseprobe.annotation.faults import Faults
from senseprobe.annotation.jsonform import MAX_TEXT, clean
from senseprobe.annotation.questions import CONSENT, GROUPS, asked, controls, keys, question_of
from senseprobe.annotation.records import Item, Plan

MOST_GROUPS, LONGEST_GROUP = 20, 100
"""How many groups somebody may name of themselves in one annotation, and of how many characters each."""


@dataclass(frozen=True, slots=True)
class Said:
    """What an annotation says: answers by question key, and groups that the annotator belongs to."""

    answers: Mapping[str, str]
    groups: tuple[str, ...] = ()


def named_groups(text: str) -> tuple[tuple[str, ...], int]:
    """The groups of a text with commas between them, in small letters, sorted, each once; and how many are left out.

    That is what is longer than a name, and all behind the first twenty.

    >>> named_groups("Women,  Japanese american ,women")
    (('japanese american', 'women'), 0)
    """
    parts = (" ".join(part.split()).casefold() for part in text.replace(";", ",").replace("\n", ",").split(","))
    named = [part for part in dict.fromkeys(parts) if part]
    kept = [part for part in named if len(part) <= LONGEST_GROUP][:MOST_GROUPS]
    return tuple(sorted(kept)), len(named) - len(kept)


class Reader:
    """What reads results of annotations of a plan's items, and notes what is odd in them."""

    def __init__(self, plan: Plan, faults: Faults) -> None:
        self.faults = faults
        self._plan = plan
        self._required = {question.id for question in asked(plan) if question.required}
        self._forms: dict[tuple[bool, tuple[str, ...]], tuple[dict[str, str], tuple[str, ...]]] = {}

    def groups(self, results: object, place: str) -> tuple[str, ...]:
        """The groups that `results` hold, whatever else is in them, as in those that were skipped."""
        told: dict[str, list[str]] = {CONSENT: [], GROUPS: []}
        names = {name: name for name in told if self._plan.groups}
        for result in results if isinstance(results, list) else []:
            if isinstance(result, dict) and result.get("from_name") in names.values():
                for key, answer in self._read(result, names, place):
                    told[key].append(answer)
        return self._groups(told[CONSENT], told[GROUPS], place)

    def answers(self, results: object, item: Item, place: str) -> Said:
        """The answers that `results` hold; `place` names the annotation."""
        if not isinstance(results, list):
            self.faults.note("malformed", f"result of {place}")
            return Said({})
        told: dict[str, list[str]] = {}
        names, wanted = self._form(item)
        for result in results:
            for key, answer in self._read(result, names, place):
                told.setdefault(key, []).append(answer)
        groups = self._groups(told.pop(CONSENT, []), told.pop(GROUPS, []), place)
        return Said(self._chosen(told, wanted, place), groups)

    def _form(self, item: Item) -> tuple[dict[str, str], tuple[str, ...]]:
        """The key of each control, and the keys of what is asked: alike for items with the same order of roles."""
        alike = bool(item.gloss), tuple(sentence.role for sentence in item.sentences)
        if alike not in self._forms:
            names = controls(self._plan, item) | ({CONSENT: CONSENT, GROUPS: GROUPS} if self._plan.groups else {})
            self._forms[alike] = names, keys(self._plan, item)
        return self._forms[alike]

    def _read(self, result: object, names: Mapping[str, str], place: str) -> list[tuple[str, str]]:
        """The key of a result with each answer that it holds."""
        name = result.get("from_name") if isinstance(result, dict) else None
        key = names.get(name) if isinstance(name, str) else None
        if not isinstance(result, dict) or key is None:
            self.faults.note("control", f"{name} in {place}" if isinstance(name, str) else place)
            return []
        free = key == GROUPS or (key != CONSENT and not question_of(key).choices)
        answers = _texts(result.get("value"), "text" if free else "choices")
        if answers is None:
            self.faults.note("malformed", f"{name} of {place}")
            return []
        return [(key, answer) for text in answers if (answer := clean(text))]

    def _chosen(self, told: Mapping[str, list[str]], wanted: Sequence[str], place: str) -> dict[str, str]:
        """One answer to each question that was asked, in the order in which they are asked."""
        for key in sorted(told.keys() - set(wanted)):
            self.faults.note("unasked", f"{key} in {place}")
        found = {key: answer for key in wanted if key in told and (answer := self._one(key, told[key], place))}
        left = [key for key in wanted if key not in found and question_of(key).id in self._required]
        if found and left:
            self.faults.note("unfinished", f"{left[0]} of {place}")
        return found

    def _one(self, key: str, answers: list[str], place: str) -> str:
        """The answer to a question; empty where there is none that counts."""
        choices = question_of(key).choices
        if not choices:
            return self._cut("\n".join(dict.fromkeys(answers)), f"{key} of {place}")
        offered = {answer for answer in answers if answer in choices}
        if strange := sorted(set(answers) - offered):
            self.faults.note("label", f"{key}: {strange[0]} in {place}", len(strange))
        if len(offered) > 1:
            self.faults.note("several", f"{key} of {place}")
        return offered.pop() if len(offered) == 1 else ""

    def _cut(self, text: str, place: str) -> str:
        if len(text) > MAX_TEXT:
            self.faults.note("cut", place)
        return text[:MAX_TEXT].strip()

    def _groups(self, consent: list[str], groups: list[str], place: str) -> tuple[str, ...]:
        """The groups that the annotator named, if they agreed to have them kept."""
        if groups and consent != ["yes"]:
            self.faults.note("consent", place)
            return ()
        named, left_out = named_groups(",".join(groups))
        if left_out:
            self.faults.note("groups", place, left_out)
        return named


def _texts(value: Any, kind: str) -> list[str] | None:  # noqa: ANN401 - whatever JSON holds
    """The texts that a result's value has under `kind`; None where it is of another form."""
    texts = value.get(kind) if isinstance(value, dict) else None
    if isinstance(texts, str) and kind == "text":
        return [texts]
    return texts if isinstance(texts, list) and all(isinstance(text, str) for text in texts) else None
