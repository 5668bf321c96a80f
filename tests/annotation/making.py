"""Small plans, and exports as Label Studio writes them (LABELSTUDIO-HUB part 1), written by hand."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from senseprobe.annotation.label_studio.exports import ParsedExport, parse_export
from senseprobe.annotation.label_studio.interface import tasks
from senseprobe.annotation.questions import ROLES
from senseprobe.annotation.records import Annotation, Item, Plan, Sentence

QUESTIONS = ("sense", "stereotype", "whom", "natural", "withhold", "comment")

JUDGED = {
    "sense": "yes",
    "stereotype.stereo": "stereotype",
    "stereotype.anti": "neither",
    "natural.stereo": "yes",
    "natural.anti": "yes",
    "withhold": "no",
}
"""Answers to all that must be answered of a row, and more."""


def item(number: int, *, turned: bool = False, **facts: Any) -> Item:  # noqa: ANN401 - fields of an item
    """Row `race.f.N`; `turned`: the counterpart is shown first."""
    sentences = (
        Sentence(role="stereo", text=f"Black people are rude {number}.", span=(0, 5)),
        Sentence(role="anti", text=f"Black people are nice {number}.", span=(0, 5)),
    )
    shown = sentences[::-1] if turned else sentences
    told = {"gloss": "of a dark skin", "sense_key": "black%3:00:02::", "target": "black", **facts}
    return Item(row=f"race.f.{number}", config="race", content=f"{number:064x}", sentences=shown, **told)


def plan(items: Iterable[Item] | int = 3, **facts: Any) -> Plan:  # noqa: ANN401 - fields of a plan
    """A plan for contrast rows, every second of which is turned."""
    told = tuple(item(n, turned=n % 2 == 1) for n in range(items)) if isinstance(items, int) else tuple(items)
    known: dict[str, Any] = {"questions": QUESTIONS, **facts}
    return Plan(
        project="check", release="sssb@1.0.0", content="f" * 64, kind="contrast", seed=0, overlap=3, items=told, **known
    )


def result(name: str, *values: str, to: str = "sentence-1") -> dict[str, Any]:
    """What Label Studio stores of one control: a choice, or what was typed."""
    free = name.partition("-")[0] in ("whom", "comment", "groups")
    kind, key = ("textarea", "text") if free else ("choices", "choices")
    return {
        "id": "a1b2c3",
        "type": kind,
        "value": {key: [*values]},
        "origin": "manual",
        "to_name": to,
        "from_name": name,
    }


def marked(id_: int, who: object, *results: Any, **facts: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON holds
    """An annotation of an export."""
    told = {
        "was_cancelled": False,
        "ground_truth": False,
        "lead_time": 4.25,
        "created_at": "2026-11-21T20:00:00.123456Z",
        "updated_at": "2026-11-21T20:00:05.123456Z",
        "prediction": {},
        "unique_id": f"u{id_}",
    }
    return {"id": id_, "completed_by": who, "result": [*results], **told, **facts}


def judged(plan: Plan, number: int, id_: int, who: object, answers: Mapping[str, str], **facts: Any) -> dict[str, Any]:  # noqa: ANN401
    """An annotation of item `number` that says `answers`, by question key: positions as the item has them."""
    roles = [sentence.role for sentence in plan.items[number].sentences]
    results = []
    for key, value in answers.items():
        question, _, role = key.partition(".")
        results.append(result(f"{question}-{roles.index(role) + 1}" if role else question, value))
    return marked(id_, who, *results, **facts)


def exported(plan: Plan, annotations: Mapping[int, list[Any]]) -> list[dict[str, Any]]:
    """The plan's tasks as they are exported, with these annotations by number of the item."""
    return [
        {"id": 100 + n, "inner_id": n + 1, "meta": {}, "drafts": [], "predictions": [], **task}
        | {"annotations": annotations.get(n, [])}
        for n, task in enumerate(tasks(plan))
    ]


def received(plan: Plan, told: object) -> ParsedExport:
    """What is read of an export; annotators are called `rater-ID`."""
    return parse_export(json.dumps(told).encode(), plan, lambda who: f"rater-{who}")


def faults(found: ParsedExport) -> dict[str, int]:
    """How often each kind of fault was met."""
    return {fault.kind: fault.count for fault in found.findings}


def answer(
    number: int,
    who: str,
    answers: Mapping[str, str],
    *,
    kind: str = "contrast",
    **facts: Any,  # noqa: ANN401
) -> Annotation:
    """An annotation of row `race.f.N`."""
    assert kind in ROLES
    told: dict[str, Any] = {"content": f"{number:064x}", "id": f"{number}-{who}", **facts}
    return Annotation(row=f"race.f.{number}", annotator=who, answers=answers, **told)
