"""Starting a server, with a small program in Label Studio's place."""

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import label_studio_server
import pytest
from label_studio_server import Login, _login, install, main, start

from senseprobe.errors import AnnotationError

LOGIN = Login(email="a@example.com", password="p" * 12, token="0" * 40)
SERVING = """
import http.server, json, os
print(json.dumps({"environment": dict(os.environ)}), flush=True)
class Up(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'{"status": "UP"}')
http.server.HTTPServer(("127.0.0.1", int(os.environ["LABEL_STUDIO_PORT"])), Up).serve_forever()
"""
MOVING = """
import os, pathlib, time
tried = pathlib.Path(os.environ["HOME"], "tried")
if not tried.exists():
    tried.touch()
    print("Port 123 is in use. Trying to start at 124", flush=True)
    time.sleep(60)
"""
Programs = Callable[[str], Path]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    """What writes a program called `label-studio`, and gives its folder."""

    def write(text: str) -> Path:
        program = tmp_path / "bin" / "label-studio"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable}\n{text}")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return program.parent

    return write


def port() -> int:
    """Where to look for a free one."""
    return 51_000 + os.getpid() % 100 * 100


def test_a_server_sees_nothing_of_our_environment(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Label Studio reads variables as common as DEBUG and DATABASE_NAME, and proxies would be asked for its pages."""
    for name in ("DEBUG", "DATABASE_NAME", "PORT", "USERNAME", "LABEL_STUDIO_API_KEY"):
        monkeypatch.setenv(name, "ours")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    running = start(programs(SERVING), tmp_path / "data", LOGIN, port(), wait=30)
    running.stop()
    seen = json.loads((tmp_path / "data" / "log").read_text().splitlines()[0])["environment"]

    assert "ours" not in seen.values()
    assert seen["HOME"] == seen["LABEL_STUDIO_BASE_DATA_DIR"] == str(tmp_path / "data")
    assert seen["LABEL_STUDIO_COLLECT_ANALYTICS"] == "false"
    assert running.url == f"http://127.0.0.1:{seen['LABEL_STUDIO_PORT']}"


def test_a_server_that_moves_to_another_port_is_started_again(programs: Programs, tmp_path: Path) -> None:
    """Label Studio moves by itself where its port is taken just then: what answers at the old one is somebody else."""
    running = start(programs(MOVING + SERVING), tmp_path / "data", LOGIN, port(), wait=30)
    running.stop()

    assert (tmp_path / "data" / "tried").exists()
    assert int(running.url.rpartition(":")[2]) > port()


def test_a_server_that_ends_is_told(programs: Programs, tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match=r"stopped: see .*log"):
        start(programs("raise SystemExit(1)"), tmp_path / "data", LOGIN, port(), wait=30)


def test_a_server_that_does_not_answer_is_stopped(programs: Programs, tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match=r"does not answer: .*log"):
        start(programs("import time; time.sleep(60)"), tmp_path / "data", LOGIN, port(), wait=0.3)


def test_what_is_installed_is_not_installed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything run for it."""
    (tmp_path / f"label-studio-{label_studio_server.VERSION}").touch()
    monkeypatch.setattr("label_studio_server.subprocess.run", None)

    assert install(tmp_path) == tmp_path / "bin"


def test_an_installation_that_fails_is_told_and_taken_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the stamp, which comes last, the next call starts anew."""
    monkeypatch.setattr(label_studio_server, "_python", lambda: "/bin/false")
    for _ in range(2):
        with pytest.raises(AnnotationError, match="an environment cannot be made"):
            install(tmp_path / "venv")


def test_a_python_that_is_too_new_is_replaced_or_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("label_studio_server.sys.hexversion", 0x030E0000)
    which = "label_studio_server.shutil.which"
    monkeypatch.setattr(which, lambda name: f"/usr/bin/{name}" if name == "python3.12" else None)
    assert label_studio_server._python() == "/usr/bin/python3.12"

    monkeypatch.setattr(which, lambda name: None)
    with pytest.raises(AnnotationError, match=r"cannot be installed for Python 3\.14: install python3\.13 or"):
        label_studio_server._python()


def test_a_login_is_made_up_once(tmp_path: Path) -> None:
    """It is another on each machine, only its owner may read it, and the token is one that Label Studio takes."""
    first = _login(tmp_path / "login.json")

    assert _login(tmp_path / "login.json") == first
    assert _login(tmp_path / "other.json") != first
    assert (tmp_path / "login.json").stat().st_mode & 0o777 == 0o600
    assert len(first.token) == 40
    assert len(first.password) >= 8


def test_a_login_that_is_damaged_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With exit code 2 and no traceback."""
    (tmp_path / f"label-studio-{label_studio_server.VERSION}").touch()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "login.json").write_text("{")

    assert main([f"--environment={tmp_path}", f"--data={tmp_path / 'data'}"]) == 2
    assert "login.json cannot be read" in capsys.readouterr().err
