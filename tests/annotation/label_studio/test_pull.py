"""Pulling from a real server: everything, as it was received, and once for each state of the answers."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.annotation.label_studio.answering import answer, answers_of
from tests.annotation.label_studio.studio import ADMIN, RATERS, Client, Studio

from senseprobe.annotation.label_studio.exports import parse_export
from senseprobe.annotation.plan_file import read_plan

pytestmark = pytest.mark.system
Planned = Callable[..., Path]


def test_an_answer_comes_back_with_its_annotator(studio: Studio, client: Client, planned: Planned) -> None:
    folder = planned(3)
    project = client.ask("push", studio.url, folder=folder)["project"]
    plan = read_plan(folder)
    made = answer(studio, project, plan, 0, RATERS[0], {"sense": "yes", "stereotype.stereo": "stereotype"})
    pulled = client.ask("pull", studio.url, folder=folder)
    received = parse_export(Path(pulled["path"]).read_bytes(), plan, lambda who: pulled["people"][who])

    (found,) = received.annotations
    assert (found.id, found.row, found.annotator) == (str(made["id"]), plan.items[0].row, RATERS[0].email)
    assert found.answers == {"sense": "yes", "stereotype.stereo": "stereotype"}
    assert set(pulled["people"].values()) == {ADMIN.email, *(rater.email for rater in RATERS)}


def test_what_was_received_is_kept_once(studio: Studio, client: Client, planned: Planned) -> None:
    """The file is named by number and hash of its bytes; a second pull without a change writes none."""
    folder = planned(3)
    project = client.ask("push", studio.url, folder=folder)["project"]
    answer(studio, project, read_plan(folder), 1, RATERS[0], {"sense": "no"})
    first = client.ask("pull", studio.url, folder=folder)
    second = client.ask("pull", studio.url, folder=folder)
    path = Path(first["path"])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()

    assert (first["new"], second["new"]) == (True, False)
    assert path == folder / "exports" / f"0001-{digest[:12]}.json"
    assert second["path"] == first["path"]
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_an_answer_that_was_edited_after_a_pull(studio: Studio, client: Client, planned: Planned) -> None:
    """The next pull has the new answer, in a file of its own; the earlier file stays."""
    folder = planned(3)
    project = client.ask("push", studio.url, folder=folder)["project"]
    plan = read_plan(folder)
    made = answer(studio, project, plan, 2, RATERS[0], {"sense": "no"})
    before = Path(client.ask("pull", studio.url, folder=folder)["path"])
    studio.ask("PATCH", f"/api/annotations/{made['id']}", {"result": answers_of(plan, 2, {"sense": "yes"})})
    after = client.ask("pull", studio.url, folder=folder)

    assert after["new"]
    assert Path(after["path"]).name.startswith("0002-")
    for path, said in ((before, "no"), (Path(after["path"]), "yes")):
        (found,) = parse_export(path.read_bytes(), plan, str).annotations
        assert (found.id, found.answers) == (str(made["id"]), {"sense": said})


def test_skips_are_told_apart(studio: Studio, client: Client, planned: Planned) -> None:
    folder = planned(3)
    project = client.ask("push", studio.url, folder=folder)["project"]
    plan = read_plan(folder)
    answer(studio, project, plan, 0, RATERS[0], {}, skipped=True)
    pulled = client.ask("pull", studio.url, folder=folder)
    (found,) = parse_export(Path(pulled["path"]).read_bytes(), plan, str).annotations

    assert (found.status, found.answers) == ("skipped", {})


def test_how_far_it_is(studio: Studio, client: Client, planned: Planned) -> None:
    """Of 4 tasks, one has answers of three people, one of one person and a skip of another, two have none."""
    folder = planned(4)
    project = client.ask("push", studio.url, folder=folder)["project"]
    plan = read_plan(folder)
    for rater in RATERS:
        answer(studio, project, plan, 0, rater, {"sense": "yes"})
    answer(studio, project, plan, 1, RATERS[0], {"sense": "yes"})
    answer(studio, project, plan, 1, RATERS[1], {}, skipped=True)
    told = client.ask("status", studio.url, folder=folder)

    assert (told["tasks"], told["planned"], told["overlap"], told["done"], told["skips"]) == (4, 4, 3, 1, 1)
    assert told["answered"] == {"0": 2, "1": 1, "3": 1}
    assert told["seconds"] == 4.5  # which every answer here says that it took
    assert told["slowest"] == {plan.items[0].row: 4.5, plan.items[1].row: 4.5}
    assert told["annotators"] == {RATERS[0].email: 2, RATERS[1].email: 2, RATERS[2].email: 1}


def test_a_queue_is_a_project_whose_answers_come_with_the_others(
    studio: Studio, client: Client, planned: Planned
) -> None:
    """One row for one more person; the same rows again are the same project until that one has answered."""
    folder = planned(3, title="one more")
    project = client.ask("push", studio.url, folder=folder)["project"]
    plan = read_plan(folder)
    answer(studio, project, plan, 1, RATERS[0], {"sense": "no"})
    rows = [plan.items[1].row]
    queued = client.ask("queue", studio.url, folder=folder, rows=rows)
    assert (queued["title"], queued["tasks"], queued["created"]) == ("one more, queue 1", 1, True)
    assert studio.ask("GET", f"/api/projects/{queued['project']}")["maximum_annotations"] == 1
    assert client.ask("queue", studio.url, folder=folder, rows=rows)["project"] == queued["project"]

    answer(studio, queued["project"], read_plan(folder / "queue-1"), 0, RATERS[1], {"sense": "yes"})
    pulled = client.ask("pull", studio.url, folder=folder)
    found = parse_export(Path(pulled["path"]).read_bytes(), plan, lambda who: pulled["people"][who]).annotations
    assert pulled["tasks"] == 4
    assert {each.annotator: each.answers for each in found} == {
        RATERS[0].email: {"sense": "no"},
        RATERS[1].email: {"sense": "yes"},
    }
    assert client.ask("queue", studio.url, folder=folder, rows=rows)["title"] == "one more, queue 2"


def test_a_pull_is_all_that_the_server_has(studio: Studio, client: Client, planned: Planned) -> None:
    """Tasks without answers are in it too, each with its row."""
    folder = planned(1100)
    client.ask("push", studio.url, folder=folder)
    tasks = json.loads(Path(client.ask("pull", studio.url, folder=folder)["path"]).read_bytes())

    assert sorted(task["data"]["ext_id"] for task in tasks) == sorted(each.row for each in read_plan(folder).items)
