"""The results of an annotation, as Label Studio stores them: untrusted JSON, read with bounds into answers."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from senseprobe.annotation.findings import FindingCollector
from senseprobe.annotation.questions import CONSENT, GROUPS, controls, keys, question_of, questions_of
from senseprobe.annotation.records import Item, Plan
from senseprobe.errors import AnnotationError

MAX_BYTES = 2**30
"""An export of 20,000 tasks with three annotations each has some 150 MB."""

MAX_TEXT = 10_000
"""Characters of an answer in words."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


def parse_json(raw: bytes, twice: Callable[[str], None]) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the JSON value; raise AnnotationError where it is none. `twice` is called with a repeated key."""
    if len(raw) > MAX_BYTES:
        raise AnnotationError(f"the export is larger than {MAX_BYTES >> 20} MiB: export it in parts")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            seen: set[str] = set()
            twice(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
        return result

    try:
        return json.loads(raw.decode("utf-8-sig"), object_pairs_hook=unique)
    except UnicodeDecodeError as error:
        raise AnnotationError(f"the export is not UTF-8: byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise AnnotationError(f"the export is not JSON: line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise AnnotationError("the export is not JSON that can be read: too deep, or a number too long") from None


def identity(value: object) -> str:
    """Return a number or a short text that names something; empty where it is neither."""
    if type(value) is int and 0 <= value < 2**63:
        return str(value)
    return clean(value) if isinstance(value, str) and len(value) <= 200 else ""


def clean(text: str) -> str:
    r"""Return a text without blanks around it, with plain ends of lines, and without what no file can hold.

    >>> clean(" a\r\nb\x00 ")
    'a\nb�'
    """
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def parse_time(value: object) -> str | None:
    """Return a time of ISO 8601 in UTC, with as many digits as any other; None where it is no time.

    >>> parse_time("2026-11-21T22:18:00+01:00")
    '2026-11-21T21:18:00.000000Z'
    """
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        parsed = datetime.fromisoformat(value)
        parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return f"{parsed.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def parse_seconds(value: object) -> float | None:
    """Return how long something took, to a thousandth of a second; None where it is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return round(float(value), 3) if 0 <= value <= 1e9 and math.isfinite(value) else None


MOST_GROUPS, LONGEST_GROUP = 20, 100
"""How many groups somebody may name of themselves in one annotation, and of how many characters each."""


@dataclass(frozen=True, slots=True)
class ParsedAnswers:
    """The content of an annotation: answers by question key, and groups that the annotator belongs to."""

    answers: Mapping[str, str]
    groups: tuple[str, ...] = ()


def named_groups(text: str) -> tuple[tuple[str, ...], int]:
    """Return the groups of a text with commas between them, lower case, sorted, once each; and how many it leaves out.

    It leaves out what is longer than a name, and all behind the first twenty.

    >>> named_groups("Women,  Japanese american ,women")
    (('japanese american', 'women'), 0)
    """
    parts = (" ".join(part.split()).casefold() for part in text.replace(";", ",").replace("\n", ",").split(","))
    named = [part for part in dict.fromkeys(parts) if part]
    allowed = [part for part in named if len(part) <= LONGEST_GROUP][:MOST_GROUPS]
    return tuple(sorted(allowed)), len(named) - len(allowed)


class Reader:
    """Reads results of annotations of a plan's items, and notes what is odd in them."""

    def __init__(self, plan: Plan, findings: FindingCollector) -> None:
        self.findings = findings
        self._plan = plan
        self._required = {question.id for question in questions_of(plan) if question.required}
        self._forms: dict[tuple[bool, tuple[str, ...]], tuple[dict[str, str], tuple[str, ...]]] = {}

    def groups(self, results: object, position: str) -> tuple[str, ...]:
        """Return the groups that `results` hold, whatever else is in them, as in those that were skipped."""
        answers: dict[str, list[str]] = {CONSENT: [], GROUPS: []}
        names = {name: name for name in answers if self._plan.groups}
        for result in results if isinstance(results, list) else []:
            if isinstance(result, dict) and result.get("from_name") in names.values():
                for key, answer in self._read(result, names, position):
                    answers[key].append(answer)
        return self._groups(answers[CONSENT], answers[GROUPS], position)

    def answers(self, results: object, item: Item, position: str) -> ParsedAnswers:
        """Return the answers that `results` hold; `position` names the annotation."""
        if not isinstance(results, list):
            self.findings.note("malformed", f"result of {position}")
            return ParsedAnswers({})
        texts: dict[str, list[str]] = {}
        names, item_keys = self._form(item)
        for result in results:
            for key, answer in self._read(result, names, position):
                texts.setdefault(key, []).append(answer)
        groups = self._groups(texts.pop(CONSENT, []), texts.pop(GROUPS, []), position)
        return ParsedAnswers(self._chosen(texts, item_keys, position), groups)

    def _form(self, item: Item) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return the key of each control, and the keys of the questions: the same for one order of roles."""
        alike = bool(item.gloss), tuple(sentence.role for sentence in item.sentences)
        if alike not in self._forms:
            names = controls(self._plan, item) | ({CONSENT: CONSENT, GROUPS: GROUPS} if self._plan.groups else {})
            self._forms[alike] = names, keys(self._plan, item)
        return self._forms[alike]

    def _read(self, result: object, names: Mapping[str, str], position: str) -> list[tuple[str, str]]:
        """Return the key of a result with each answer that it holds."""
        name = result.get("from_name") if isinstance(result, dict) else None
        key = names.get(name) if isinstance(name, str) else None
        if not isinstance(result, dict) or key is None:
            self.findings.note("control", f"{name} in {position}" if isinstance(name, str) else position)
            return []
        free = key == GROUPS or (key != CONSENT and not question_of(key).choices)
        answers = _texts(result.get("value"), "text" if free else "choices")
        if answers is None:
            self.findings.note("malformed", f"{name} of {position}")
            return []
        return [(key, answer) for text in answers if (answer := clean(text))]

    def _chosen(self, texts: Mapping[str, list[str]], item_keys: Sequence[str], position: str) -> dict[str, str]:
        """Return an answer to each question of the item, in the order of the questions."""
        for key in sorted(texts.keys() - set(item_keys)):
            self.findings.note("unasked", f"{key} in {position}")
        answers = {
            key: answer for key in item_keys if key in texts and (answer := self._answer(key, texts[key], position))
        }
        missing = [key for key in item_keys if key not in answers and question_of(key).id in self._required]
        if answers and missing:
            self.findings.note("unfinished", f"{missing[0]} of {position}")
        return answers

    def _answer(self, key: str, answers: list[str], position: str) -> str:
        """Return the answer to a question; empty where none counts."""
        choices = question_of(key).choices
        if not choices:
            return self._cut("\n".join(dict.fromkeys(answers)), f"{key} of {position}")
        offered = {answer for answer in answers if answer in choices}
        if unexpected := sorted(set(answers) - offered):
            self.findings.note("label", f"{key}: {unexpected[0]} in {position}", len(unexpected))
        if len(offered) > 1:
            self.findings.note("several", f"{key} of {position}")
        return offered.pop() if len(offered) == 1 else ""

    def _cut(self, text: str, position: str) -> str:
        if len(text) > MAX_TEXT:
            self.findings.note("cut", position)
        return text[:MAX_TEXT].strip()

    def _groups(self, consent: list[str], groups: list[str], position: str) -> tuple[str, ...]:
        """Return the groups that the annotator named, if they agreed to have them kept."""
        if groups and consent != ["yes"]:
            self.findings.note("consent", position)
            return ()
        named, left_out = named_groups(",".join(groups))
        if left_out:
            self.findings.note("groups", position, left_out)
        return named


def _texts(value: Any, kind: str) -> list[str] | None:  # noqa: ANN401 - whatever JSON holds
    """Return the texts that a result's value has under `kind`; None where it is of another form."""
    texts = value.get(kind) if isinstance(value, dict) else None
    if isinstance(texts, str) and kind == "text":
        return [texts]
    return texts if isinstance(texts, list) and all(isinstance(text, str) for text in texts) else None
