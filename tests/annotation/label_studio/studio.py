"""A Label Studio server for tests: started on a copy of a folder that was set up once, and asked without any client."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from label_studio_server import Login, Running, start

ROOT = Path(__file__).parents[3]
ADMIN = Login(email="admin@example.com", password="correct-horse-1", token="ad" * 20)  # noqa: S106 - of a server that lives for a test
RATERS = tuple(Login(email=f"rater{n}@example.com", password=f"correct-horse-{n}", token=f"{n}a" * 20) for n in "234")


class Studio:
    """A server that is running, or was."""

    def __init__(self, programs: Path, data: Path) -> None:
        self.programs, self.data = programs, data
        self.running: Running = start(programs, data, ADMIN, _port())

    @property
    def url(self) -> str:
        """Its address."""
        return self.running.url

    def ask(self, method: str, path: str, body: object = None, user: Login = ADMIN) -> Any:  # noqa: ANN401 - any JSON
        """What the server answers to a request of a user's."""
        request = urllib.request.Request(  # noqa: S310 - our own address
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Token {user.token}", "Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
            raw = answer.read()
        return json.loads(raw) if raw else None

    def tasks(self, project: int) -> list[dict[str, Any]]:
        """All tasks of a project."""
        found = self.ask("GET", f"/api/tasks?project={project}&page_size=100000&fields=task_only")
        return list(found["tasks"])

    def rows(self, project: int) -> list[str]:
        """The row of each task of a project, sorted."""
        return sorted(task["data"].get("ext_id", "") for task in self.tasks(project))

    def kill(self) -> None:
        """End it as a power cut would."""
        self.running.process.kill()
        self.running.process.wait()

    def again(self) -> None:
        """Start it again, on another port."""
        self.running = start(self.programs, self.data, ADMIN, _port())

    def stop(self) -> None:
        """End it, and remove what it kept."""
        self.running.stop()
        shutil.rmtree(self.data, ignore_errors=True)


def _port() -> int:
    """Where to look for a free port: each process of tests has ports of its own."""
    return 20_000 + os.getpid() % 300 * 100


@dataclass(frozen=True)
class Template:
    """A data folder that `make label-studio` made, and what that said: when called, called again, and interrupted."""

    folder: Path
    told: str
    again: str
    code: int


def set_up(environment: Path, folder: Path) -> Template:
    """Make a data folder as newcomers do, with an administrator who is known to us; then add three raters."""
    folder.mkdir()
    (folder / "login.json").write_text(json.dumps(asdict(ADMIN)))
    command = [
        sys.executable,
        "-P",
        os.fspath(ROOT / "scripts" / "label_studio_server.py"),
        f"--environment={environment}",
    ]
    command += [f"--data={folder}", f"--port={_port()}"]
    ours = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PORT": "1", "USERNAME": "mallory", "DATABASE_NAME": "wrong"}
    with subprocess.Popen(command, env=ours, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = ""
        while "Ctrl-C" not in told:
            line = process.stdout.readline()
            assert line, told
            told += line
        again = subprocess.run(command, env=ours, stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
        _add_users(environment / "bin", folder)
        process.send_signal(signal.SIGINT)
        told += process.stdout.read()
    return Template(folder, told, again, process.returncode)


def _add_users(programs: Path, folder: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LABEL_STUDIO_BASE_DATA_DIR": str(folder)}
    users = json.dumps([(user.email, user.password, user.token) for user in RATERS])
    script = [str(programs / "python"), str(Path(__file__).with_name("users.py"))]
    subprocess.run(script, input=users, env=environment, check=True, text=True, stdout=subprocess.DEVNULL)


class Refused(Exception):
    """The client said that it cannot do what it was asked for; `kind` is the class of its error."""

    def __init__(self, kind: str, error: str) -> None:
        self.kind = kind
        super().__init__(error)


class Client:
    """The client, in a process of its own, in the environment that has it."""

    def __init__(self, programs: Path) -> None:
        ours = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
        self.process = subprocess.Popen(
            [programs / "python", "-P", Path(__file__).with_name("client.py")],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src"), "OURS": os.pathsep.join(sorted(ours))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            text=True,
        )

    def begin(self, do: str, url: str, key: str = ADMIN.token, seconds: object = None, **asked: object) -> None:
        """Ask for something, without waiting for the answer."""
        line = {"do": do, "url": url, "key": key, "seconds": seconds or {}, **asked}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line, default=str) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The answer; Refused where it is an error."""
        assert self.process.stdout is not None
        told: dict[str, Any] = json.loads(self.process.stdout.readline() or '{"kind": "died", "error": "the client"}')
        if "error" in told:
            raise Refused(told["kind"], told["error"])
        return told

    def ask(self, do: str, url: str, key: str = ADMIN.token, seconds: object = None, **asked: object) -> dict[str, Any]:
        """Ask for something and wait for the answer."""
        self.begin(do, url, key, seconds, **asked)
        return self.answer()

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.communicate()
