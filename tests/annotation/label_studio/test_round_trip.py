"""The whole way: a release's rows to a server, answers of three people there, and all of them back."""

import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.annotation.label_studio.answering import answer, answers_of
from tests.annotation.label_studio.studio import RATERS, Client, Studio

from senseprobe.annotation.label_studio.exports import parse_export
from senseprobe.annotation.label_studio.interface import tasks
from senseprobe.annotation.plan_file import read_plan
from senseprobe.annotation.records import Plan

pytestmark = pytest.mark.system
Planned = Callable[..., Path]

ROWS, BY_HAND = 1000, 10
CHOICES = (("yes", "no", "unsure"), ("stereotype", "anti-stereotype", "neither", "unsure"), ("yes", "no"))


def said(number: int, rater: int) -> dict[str, str]:
    """What a rater says of an item: each differently, and each item differently."""
    sense, stereotype, natural = ((number * 7 + rater * 3 + step) for step in range(3))
    return {
        "sense": CHOICES[0][sense % 3],
        "stereotype.stereo": CHOICES[1][stereotype % 4],
        "stereotype.anti": CHOICES[1][(stereotype + rater) % 4],
        "natural.stereo": CHOICES[2][natural % 2],
        "natural.anti": CHOICES[2][number % 2],
        "comment": f"<i>{number}</i> & {rater}",
    }


def answered(plan: Plan) -> Iterator[dict[str, Any]]:
    """The tasks of a plan, after the first few, with the answers of all three, as an import has them."""
    for number, task in enumerate(tasks(plan)):
        if number >= BY_HAND:
            made = [
                {"completed_by": {"email": rater.email}, "result": answers_of(plan, number, said(number, which))}
                for which, rater in enumerate(RATERS)
            ]
            yield {**task, "annotations": made}


def delete(studio: Studio, project: int, rows: set[str]) -> None:
    """Delete the tasks of these rows."""
    ids = [task["id"] for task in studio.tasks(project) if task["data"]["ext_id"] in rows]
    chosen = {"selectedItems": {"all": False, "included": ids}}
    studio.ask("POST", f"/api/dm/actions?id=delete_tasks&project={project}", chosen)


def test_three_raters_over_a_thousand_rows(studio: Studio, client: Client, planned: Planned) -> None:
    """1,000 rows are pushed, answered by three people, pulled, and every answer is that person's to that sentence.

    Ten rows are answered one by one, each with the token of who answers; the server takes a second for twenty of
    those, so the other rows are replaced by themselves with answers, in one import.
    """
    folder = planned(ROWS)
    plan = read_plan(folder)
    project = client.ask("push", studio.url, folder=folder)["project"]
    for number, (which, rater) in itertools.product(range(BY_HAND), enumerate(RATERS)):
        answer(studio, project, plan, number, rater, said(number, which))
    delete(studio, project, {item.row for item in plan.items[BY_HAND:]})
    studio.ask("POST", f"/api/projects/{project}/import", list(answered(plan)))

    assert client.ask("push", studio.url, folder=folder)["sent"] == 0
    told = client.ask("status", studio.url, folder=folder)
    assert (told["answered"], told["done"]) == ({"3": ROWS}, ROWS)
    assert told["annotators"] == {rater.email: ROWS for rater in RATERS}

    pulled = client.ask("pull", studio.url, folder=folder)
    received = parse_export(Path(pulled["path"]).read_bytes(), plan, lambda who: pulled["people"][who])
    numbers = {item.row: number for number, item in enumerate(plan.items)}
    raters = {rater.email: which for which, rater in enumerate(RATERS)}
    assert received.findings == ()
    assert Counter(each.row for each in received.annotations) == {item.row: 3 for item in plan.items}
    for each in received.annotations:
        assert each.answers == said(numbers[each.row], raters[each.annotator])


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_twenty_thousand_rows(studio: Studio, client: Client, planned: Planned) -> None:
    """They are pushed, pushed again, and pulled; each is there once."""
    folder = planned(20_000)
    begun = time.monotonic()
    first = client.ask("push", studio.url, folder=folder)
    pushed = time.monotonic()
    again = client.ask("push", studio.url, folder=folder)
    looked = time.monotonic()
    pulled = client.ask("pull", studio.url, folder=folder)
    print(f"push {pushed - begun:.1f} s, again {looked - pushed:.1f} s, pull {time.monotonic() - looked:.1f} s")  # noqa: T201

    assert (first["sent"], again["sent"], again["known"], pulled["tasks"]) == (20_000, 0, 20_000, 20_000)
    rows = [task["data"]["ext_id"] for task in json.loads(Path(pulled["path"]).read_bytes())]
    assert sorted(rows) == sorted(item.row for item in read_plan(folder).items)
    assert client.ask("status", studio.url, folder=folder)["answered"] == {"0": 20_000}
