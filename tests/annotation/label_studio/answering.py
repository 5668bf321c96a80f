"""Answers as the interface would store them."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from label_studio_server import Login
from tests.annotation.label_studio.studio import Studio

from senseprobe.annotation.records import Plan


def answers_of(plan: Plan, number: int, answers: Mapping[str, str]) -> list[dict[str, Any]]:
    """The results that these answers, by question key, to an item of a plan are to Label Studio."""
    roles = [sentence.role for sentence in plan.items[number].sentences]
    results = []
    for key, said in answers.items():
        question, _, role = key.partition(".")
        position = roles.index(role) + 1 if role else 1
        name = f"{question}-{position}" if role else question
        kind, value = ("textarea", {"text": [said]}) if question == "comment" else ("choices", {"choices": [said]})
        place = f"sentence-{position}"
        results.append({"from_name": name, "to_name": place, "type": kind, "value": value, "id": f"{name}-x"})
    return results


def answer(
    studio: Studio,
    project: int,
    plan: Plan,
    number: int,
    rater: Login,
    answers: Mapping[str, str],
    *,
    skipped: bool = False,
) -> dict[str, Any]:
    """Have somebody answer an item of a plan, or skip it."""
    row = {"filter": "filter:tasks:data.ext_id", "operator": "equal", "type": "String", "value": plan.items[number].row}
    query = quote(json.dumps({"filters": {"conjunction": "and", "items": [row]}}))
    (task,) = studio.ask("GET", f"/api/tasks?project={project}&fields=task_only&query={query}")["tasks"]
    body = {"result": answers_of(plan, number, answers), "was_cancelled": skipped, "lead_time": 4.5}
    return dict(studio.ask("POST", f"/api/tasks/{task['id']}/annotations", body, rater))
