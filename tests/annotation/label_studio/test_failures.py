"""What happens when server, client or network fail in the middle: nothing is there twice, nothing is lost."""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest
from tests.annotation.label_studio.proxy import Answer, Held, Proxy, Request
from tests.annotation.label_studio.studio import Client, Refused, Studio
from tests.annotation.label_studio.test_push import rows

pytestmark = pytest.mark.system
Planned = Callable[..., Path]


def is_import(request: Request) -> bool:
    """Whether tasks are sent."""
    return request.method == "POST" and request.path.endswith("/import")


def imports(proxy: Proxy) -> int:
    """How often tasks were sent."""
    return sum(method == "POST" and path.endswith("/import") for method, path in proxy.requests)


def test_a_slow_server_is_waited_for(studio: Studio, proxy: Proxy, client: Client, planned: Planned) -> None:
    """The client gives up waiting for an answer, sees the tasks appear, and does not send them again."""

    def slow(request: Request) -> Answer:
        if is_import(request):
            time.sleep(3)
        return request.forward()

    proxy.behave = slow
    done = client.ask("push", proxy.url, folder=planned(5), seconds={"send": 0.5})

    assert (done["sent"], done["tasks"], done["duplicates"]) == (5, 5, [])
    assert imports(proxy) == 1
    assert studio.rows(done["project"]) == rows(5)


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_connection_that_is_cut(lost: str, studio: Studio, proxy: Proxy, client: Client, planned: Planned) -> None:
    """What was lost on its way to the server is sent again once it did not appear; what was taken is not."""

    def cut(request: Request) -> Answer:
        if is_import(request) and imports(proxy) == 1:
            if lost == "answer":
                request.forward()
            return None
        return request.forward()

    proxy.behave = cut
    done = client.ask("push", proxy.url, folder=planned(5, title=f"lost: {lost}"), settle=2)

    assert (done["sent"], done["tasks"], done["duplicates"]) == (5, 5, [])
    assert imports(proxy) == {"request": 2, "answer": 1}[lost]
    assert studio.rows(done["project"]) == rows(5)


def test_a_project_that_was_made_without_an_answer(
    studio: Studio, proxy: Proxy, client: Client, planned: Planned
) -> None:
    """It is found, and no second one is made."""

    def cut_creation(request: Request) -> Answer:
        answer = request.forward()
        return None if request.method == "POST" and not is_import(request) else answer

    proxy.behave = cut_creation
    assert client.ask("push", proxy.url, folder=planned(2))["sent"] == 2


def test_a_server_that_never_takes_anything(proxy: Proxy, client: Client, planned: Planned) -> None:
    """After three attempts, looking and waiting between them, it is told."""
    proxy.behave = lambda request: None if is_import(request) else request.forward()
    with pytest.raises(Refused, match=r"cannot send 2 tasks: the connection to .* was cut; .*run the same command"):
        client.ask("push", proxy.url, folder=planned(2), settle=0.5)

    assert imports(proxy) == 3


def test_the_client_is_killed_in_the_middle_of_a_push(
    studio: Studio, proxy: Proxy, new_client: Callable[[], Client], client: Client, planned: Planned
) -> None:
    """The server takes what it was sent though nobody waits, and a push right after adds only what is missing."""
    folder = planned(2100)
    held = Held(proxy, skip=1)
    killed = new_client()
    killed.begin("push", proxy.url, folder=folder)
    held.came()
    killed.kill()
    held.release_once_listed()
    done = client.ask("push", proxy.url, folder=folder)

    assert (done["known"], done["tasks"], done["duplicates"]) == (1000, 2100, [])
    assert imports(proxy) == 3
    assert studio.rows(done["project"]) == rows(2100)


def test_the_server_is_killed_in_the_middle_of_an_import(
    new_studio: Callable[[], Studio], client: Client, planned: Planned
) -> None:
    """What it had not finished is not there in part; once it runs again, a push brings the rest."""
    studio = new_studio()
    proxy = Proxy(studio.url)
    folder = planned(2100)

    def killing(request: Request) -> Answer:
        if is_import(request) and imports(proxy) == 2:
            Timer(0.3, studio.kill).start()
        return request.forward()

    proxy.behave = killing
    with pytest.raises(Refused, match=r"cannot .*: .*(was cut|nothing answers)"):
        client.ask("push", proxy.url, folder=folder, settle=3)
    studio.again()
    proxy.target = studio.url
    done = client.ask("push", proxy.url, folder=folder, settle=3)

    assert done["known"] in (1000, 2000), "whole requests are there, or nothing of them"
    assert (done["tasks"], done["duplicates"]) == (2100, [])
    assert studio.rows(done["project"]) == rows(2100)
    proxy.stop()
    studio.stop()


def test_the_client_is_killed_in_the_middle_of_a_pull(
    studio: Studio, proxy: Proxy, new_client: Callable[[], Client], client: Client, planned: Planned
) -> None:
    """Nothing is left that looks like an export, and the next pull is whole."""
    folder = planned(300)
    client.ask("push", studio.url, folder=folder)
    killed = new_client()

    def half(request: Request, length: int) -> int:
        if not request.path.partition("?")[0].endswith("/export"):
            return length
        Timer(0.5, killed.kill).start()
        time.sleep(1)
        return length // 2

    proxy.shorten = half
    killed.begin("pull", proxy.url, folder=folder)
    with pytest.raises(Refused, match="the client"):
        killed.answer()

    assert not [path for path in folder.rglob("*.json") if path.name not in {"plan.json", ".project.json"}]
    assert client.ask("pull", studio.url, folder=folder)["tasks"] == 300


def test_an_export_that_is_cut_short_is_not_kept(
    studio: Studio, proxy: Proxy, client: Client, planned: Planned
) -> None:
    folder = planned(300)
    client.ask("push", studio.url, folder=folder)
    proxy.shorten = lambda request, length: length // 2 if "/export" in request.path else length

    with pytest.raises(Refused, match=r"cannot fetch the answers: .*was cut"):
        client.ask("pull", proxy.url, folder=folder)
    assert not (folder / "exports").exists()


def test_an_export_without_all_tasks_is_not_kept(
    studio: Studio, proxy: Proxy, client: Client, planned: Planned
) -> None:
    """As where the server, or what is before it, gives an earlier one."""
    folder = planned(3)
    client.ask("push", studio.url, folder=folder)
    proxy.behave = lambda request: (200, {}, b'[{"id": 1}]') if "/export" in request.path else request.forward()

    with pytest.raises(Refused, match=r"has 3 tasks, but the server exports 1.*nothing was stored"):
        client.ask("pull", proxy.url, folder=folder)
    assert not (folder / "exports").exists()


def test_a_project_that_was_deleted_meanwhile(studio: Studio, client: Client, planned: Planned) -> None:
    """Status and pull say so, and a push makes it again."""
    folder = planned(3)
    project = client.ask("push", studio.url, folder=folder)["project"]
    studio.ask("DELETE", f"/api/projects/{project}")

    for do in ("status", "pull"):
        with pytest.raises(Refused, match="renamed, deleted or never pushed") as told:
            client.ask(do, studio.url, folder=folder)
        assert told.value.kind == "NoProject"
    assert client.ask("push", studio.url, folder=folder)["created"]


def test_a_project_that_is_deleted_in_the_middle_of_a_push(
    studio: Studio, proxy: Proxy, client: Client, planned: Planned
) -> None:
    def deleting(request: Request) -> Answer:
        if is_import(request) and imports(proxy) == 2:
            project = request.path.split("/")[3]
            studio.ask("DELETE", f"/api/projects/{project}")
        return request.forward()

    proxy.behave = deleting
    with pytest.raises(Refused, match="project"):
        client.ask("push", proxy.url, folder=planned(1500), settle=1)


def test_a_server_that_is_down(programs: Path, client: Client) -> None:
    with pytest.raises(Refused, match=r"no server answers at http://127.0.0.1:1/: is Label Studio running") as told:
        client.ask("connect", "http://127.0.0.1:1")
    assert told.value.kind == "Unreachable"
