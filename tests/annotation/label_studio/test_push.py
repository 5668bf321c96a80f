"""Pushing to a real server: each row once, and nothing of others is touched."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.annotation.label_studio.conftest import item
from tests.annotation.label_studio.proxy import Held, Proxy
from tests.annotation.label_studio.studio import Client, Refused, Studio

pytestmark = pytest.mark.system
Planned = Callable[..., Path]


def rows(count: int, first: int = 0) -> list[str]:
    """The ids of the rows of a plan, sorted."""
    return sorted(item(number).row for number in range(first, first + count))


def test_a_project_is_made_as_planned(studio: Studio, client: Client, planned: Planned) -> None:
    """Title, number of answers and tasks are those of the plan; sentences are text, and no answer is suggested."""
    done = client.ask("push", studio.url, folder=planned(3))
    there = studio.ask("GET", f"/api/projects/{done['project']}")
    first = studio.tasks(done["project"])[0]

    assert (done["created"], done["sent"], done["known"], done["tasks"]) == (True, 3, 0, 3)
    assert done["url"] == f"{studio.url}/projects/{done['project']}/"
    assert (there["title"], there["maximum_annotations"]) == ("a_project_is_made_as_planned", 3)
    assert "sssb@1.0.0" in there["description"]
    assert there["show_instruction"]
    assert "Stereotypes are wrong and can hurt." in there["expert_instruction"]
    assert studio.rows(done["project"]) == rows(3)
    assert "&lt;b&gt;Person&lt;/b&gt; &amp; 0 is a" in first["data"]["html_1"]
    assert first["total_predictions"] == 0


def test_a_second_push_adds_nothing(studio: Studio, client: Client, planned: Planned) -> None:
    folder = planned(1050)
    first = client.ask("push", studio.url, folder=folder)
    second = client.ask("push", studio.url, folder=folder)

    assert first["progress"] == [[0, 1050], [1000, 1050], [1050, 1050]]
    assert (second["created"], second["sent"], second["known"], second["tasks"]) == (False, 0, 1050, 1050)
    assert second["project"] == first["project"]
    assert studio.rows(first["project"]) == rows(1050)


def test_what_somebody_deleted_is_sent_again(studio: Studio, client: Client, planned: Planned) -> None:
    folder = planned(4)
    project = client.ask("push", studio.url, folder=folder)["project"]
    gone = studio.tasks(project)[1]
    studio.ask("DELETE", f"/api/tasks/{gone['id']}")

    assert client.ask("push", studio.url, folder=folder)["sent"] == 1
    assert studio.rows(project) == rows(4)


def test_another_interface_is_refused_and_not_changed(studio: Studio, client: Client, planned: Planned) -> None:
    folder = planned(2)
    project = client.ask("push", studio.url, folder=folder)["project"]
    theirs = studio.ask("GET", f"/api/projects/{project}")["label_config"].replace('"natural-1"', '"nature-1"')
    studio.ask("PATCH", f"/api/projects/{project}", {"label_config": theirs})

    with pytest.raises(Refused, match=r"another interface.*nothing was changed"):
        client.ask("push", studio.url, folder=folder)
    assert studio.ask("GET", f"/api/projects/{project}")["label_config"] == theirs


def test_a_project_that_was_renamed_is_still_ours(studio: Studio, client: Client, planned: Planned) -> None:
    """By the number that the first push noted: no second project is made, and pull and status find it."""
    folder = planned(2)
    project = client.ask("push", studio.url, folder=folder)["project"]
    studio.ask("PATCH", f"/api/projects/{project}", {"title": "Somebody's new title"})

    again = client.ask("push", studio.url, folder=folder)
    assert (again["created"], again["project"], again["known"]) == (False, project, 2)
    assert client.ask("status", studio.url, folder=folder)["title"] == "Somebody's new title"
    assert client.ask("pull", studio.url, folder=folder)["tasks"] == 2


@pytest.mark.parametrize("how", ["other rows", "other words", "no rows"])
def test_tasks_that_are_not_ours_are_refused(how: str, studio: Studio, client: Client, planned: Planned) -> None:
    """Where a project has tasks of other rows, of the same rows in other words, or of nobody, nothing is added."""
    folder = planned(2, title=f"strangers: {how}")
    project = client.ask("push", studio.url, folder=folder)["project"]
    data = studio.tasks(project)[0]["data"]
    changed = {"other rows": {"ext_id": "noun.x"}, "other words": {"content": "d" * 64}, "no rows": {"ext_id": ""}}[how]
    studio.ask("POST", f"/api/projects/{project}/import", [{"data": {**data, **changed}}])

    with pytest.raises(Refused, match="nothing was added") as told:
        client.ask("push", studio.url, folder=planned(5, title=f"strangers: {how}", folder="larger"))
    assert ("whose text differs" if how == "other words" else "not in this plan") in str(told.value)
    assert len(studio.tasks(project)) == 3


def test_two_projects_of_one_name_are_told_apart(studio: Studio, client: Client, planned: Planned) -> None:
    """Label Studio lets two projects have one title: none of them is taken for ours."""
    folder = planned(2)
    done = client.ask("push", studio.url, folder=folder)
    other = studio.ask("POST", "/api/projects", {"title": done["title"]})

    with pytest.raises(Refused, match=rf"2 projects .*{done['project']}, {other['id']}"):
        client.ask("push", studio.url, folder=folder)


def test_a_name_that_is_part_of_another_is_another(studio: Studio, client: Client, planned: Planned) -> None:
    longer = client.ask("push", studio.url, folder=planned(2, title="people and their jobs", folder="long"))
    shorter = client.ask("push", studio.url, folder=planned(2, title="people", folder="short"))

    assert shorter["created"]
    assert shorter["project"] != longer["project"]


def test_another_number_of_answers_is_noted(studio: Studio, client: Client, planned: Planned) -> None:
    folder = planned(2)
    project = client.ask("push", studio.url, folder=folder)["project"]
    studio.ask("PATCH", f"/api/projects/{project}", {"maximum_annotations": 1})

    assert client.ask("push", studio.url, folder=folder)["notes"] == [
        "the project asks for 1 answers per task, but the plan for 3"
    ]


def test_a_folder_is_pushed_by_one_at_a_time(
    studio: Studio, proxy: Proxy, new_client: Callable[[], Client], client: Client, planned: Planned
) -> None:
    folder = planned(2)
    held = Held(proxy)
    slow = new_client()
    slow.begin("push", proxy.url, folder=folder)
    held.came()

    with pytest.raises(Refused, match="another push of this project is running"):
        client.ask("push", studio.url, folder=folder)
    held.release()
    assert slow.answer()["sent"] == 2


def test_two_pushes_at_once_are_noticed(
    studio: Studio, proxy: Proxy, new_client: Callable[[], Client], client: Client, planned: Planned
) -> None:
    """Two people push the same plan, and both look before either has sent: the duplicates are named."""
    mine, theirs = planned(4, folder="mine"), planned(4, folder="theirs")
    project = client.ask("push", studio.url, folder=planned(0, folder="empty"))["project"]
    held = Held(proxy)
    slow = new_client()
    slow.begin("push", proxy.url, folder=mine)
    held.came()
    assert client.ask("push", studio.url, folder=theirs)["duplicates"] == []
    held.release()

    told = slow.answer()
    assert sorted(told["duplicates"]) == rows(4)
    assert told["tasks"] == len(studio.tasks(project)) == 8
