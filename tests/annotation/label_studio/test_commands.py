"""The commands, run as users run them, in an environment that has the client."""

import json
import os
import signal
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.annotation.label_studio.answering import answer
from tests.annotation.label_studio.proxy import Held, Proxy
from tests.annotation.label_studio.studio import ADMIN, RATERS, ROOT, Studio

from senseprobe.annotation.plan_file import read_plan

pytestmark = pytest.mark.system
Start = Callable[..., "subprocess.Popen[str]"]

PROGRAM = f"import sys; sys.path += {sorted({sysconfig.get_path(kind) for kind in ('purelib', 'platlib')})}"
PROGRAM += "; from senseprobe.cli.application import main; main()"


@pytest.fixture
def start(programs: Path, studio: Studio, tmp_path: Path) -> Start:
    """What starts `senseprobe annotate COMMAND …` for a project in a folder of the test's own."""

    def begin(command: str, *arguments: str, url: str = studio.url, key: str = ADMIN.token) -> "subprocess.Popen[str]":
        environment = {"PYTHONPATH": str(ROOT / "src"), "LABEL_STUDIO_URL": url, "LABEL_STUDIO_API_KEY": key}
        return subprocess.Popen(
            [programs / "python", "-P", "-c", PROGRAM, "annotate", command, *arguments, "--folder", tmp_path / "asked"],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


def push(start: Start, title: str, url: str = "", key: str = ADMIN.token) -> "subprocess.Popen[str]":
    """The command that asks about five rows of sssb."""
    more = {"url": url} if url else {}
    return start("push", "sssb@1.0.0", "--project", title, "--n", "5", "--questions", "natural", key=key, **more)


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Exit code, output and complaints; none is that WordNet was prepared, as in a home that has none yet."""
    out, notices = process.communicate(timeout=300)
    complaints = (line for line in notices.splitlines(keepends=True) if not line.startswith("prepared WordNet"))
    return process.returncode, out, "".join(complaints)


def test_a_project_goes_there_and_back(studio: Studio, start: Start, tmp_path: Path) -> None:
    """Rows are pushed, looked at, answered and pulled; the answer comes under a pseudonym, and no token is anywhere."""
    pushed = ended(push(start, "there and back"))
    plan = read_plan(tmp_path / "asked")
    (project,) = studio.ask("GET", "/api/projects?title=there+and+back")["results"]
    answer(studio, project["id"], plan, 0, RATERS[0], {"natural.stereo": "yes", "natural.anti": "no"})
    looked = ended(start("status", "there and back", "--json"))
    pulled = ended(start("pull", "there and back", "--json"))
    answers = (tmp_path / "asked" / "answers.csv").read_text()

    assert [code for code, _, _ in (pushed, looked, pulled)] == [0, 0, 0], (pushed, looked, pulled)
    assert "5 tasks sent" in pushed[1]
    assert json.loads(looked[1])["annotators"] == {RATERS[0].email: 1}
    assert json.loads(pulled[1])["tasks"] == 5
    assert plan.items[0].row in answers
    assert RATERS[0].email not in answers
    written = "".join(path.read_text() for path in (tmp_path / "asked").rglob("*") if path.is_file())
    assert ADMIN.token not in "".join([written, *pushed[1:], *looked[1:], *pulled[1:]])


def test_a_wrong_token_is_one_line(start: Start) -> None:
    code, out, complaints = ended(push(start, "wrong token", key="0" * 40))

    assert (code, out) == (2, "")
    assert complaints.startswith("cannot read your account: Label Studio does not accept the token")
    assert complaints.count("\n") == 1
    assert "0" * 40 not in complaints


def test_an_interrupted_push_is_taken_up_again(proxy: Proxy, studio: Studio, start: Start) -> None:
    """Ctrl-C in the middle of a request is one line; the same command again brings each row once."""
    held = Held(proxy)
    process = push(start, "interrupted", proxy.url)
    held.came()
    process.send_signal(signal.SIGINT)
    code, _, complaints = ended(process)
    held.release()
    again = ended(push(start, "interrupted", proxy.url))
    (project,) = studio.ask("GET", "/api/projects?title=interrupted")["results"]

    assert code == 2
    assert complaints.startswith("interrupted")
    assert complaints.count("\n") == 1
    assert again[0] == 0, again
    assert len(studio.tasks(project["id"])) == 5
