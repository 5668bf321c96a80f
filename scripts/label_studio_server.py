"""Start a Label Studio server on this machine: ``make label-studio``.

It runs in an environment of its own, stores everything in one folder (SQLite), listens to this machine only, and needs
no internet once it is installed. It stops with the command that started it.
"""

import argparse
import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from senseprobe.atomic_files import write_whole
from senseprobe.errors import AnnotationError, SenseprobeError
from senseprobe.tables import read_json

VERSION = "1.23.2"  # the version of Label Studio that senseprobe is tested with

_STAMP = f"label-studio-{VERSION}"  # the file that comes last into an environment, which is whole then

_PYTHONS = ("python3.13", "python3.12", "python3.11")
_SETTINGS = "environment"
_STARTS = 600.0  # seconds that a first start may take: it makes the database, which takes 20 to 40 on a quick disk


@dataclass(frozen=True, kw_only=True, slots=True)
class Login:
    """Who may log in at a server that is started here, and the legacy token of that user."""

    email: str
    password: str
    token: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """A server that was started: its address and process."""

    url: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def install(folder: Path, pins: Path | None = None) -> Path:
    """Make an environment with Label Studio, unless it is there; `pins`: a constraints file. Return its programs."""
    programs = folder / "bin"
    if is_installed(folder):
        return programs
    constraints = ["-c", str(pins)] if pins else []
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    if subprocess.run([_python(), "-m", "venv", "--clear", str(folder)], check=False).returncode:  # noqa: S603 - ours
        raise AnnotationError("an environment cannot be made (Debian: python3-venv)")
    (folder / ".gitignore").write_text("*\n")
    if subprocess.run([*pip, *constraints, f"label-studio=={VERSION}"], check=False).returncode:  # noqa: S603 - ours
        raise AnnotationError("Label Studio cannot be installed: see the message of pip above")
    (folder / _STAMP).touch()
    return programs


def is_installed(folder: Path) -> bool:
    """Return whether an environment has this version of Label Studio, whole."""
    return (folder / _STAMP).exists()


def _python() -> str:
    """Return a Python that Label Studio can be installed for: its libraries do not support 3.14 and later."""
    if sys.hexversion < 0x030E0000:
        return sys.executable
    if path := next(filter(None, map(shutil.which, _PYTHONS)), None):
        return path
    raise AnnotationError(
        f"Label Studio {VERSION} cannot be installed for Python 3.14: install {' or '.join(_PYTHONS)}"
    )


def start(
    programs: Path, data: Path, login: Login, port: int = 8080, *, open_files: Sequence[int] = (), wait: float = _STARTS
) -> Running:
    """Start a server on the folder `data`, with ``log`` in it, and wait until it answers.

    Where the port is taken it is the next free one. `open_files` are handles that it keeps open.
    """
    data.mkdir(parents=True, exist_ok=True)
    for candidate in range(port, port + 100):
        if not _is_free(candidate):
            continue
        running = _started(programs, data, login, candidate, open_files)
        try:
            if _answers(running, data / "log", time.monotonic() + wait):
                return running
        except BaseException:
            running.stop()
            raise
        running.stop()  # somebody took the port meanwhile, and it moved to another by itself
    raise AnnotationError(f"all ports from {port} on are in use: choose another with --port")


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def _started(programs: Path, data: Path, login: Login, port: int, open_files: Sequence[int]) -> Running:
    """Start the process, as leader of a group of its own, so that we handle Ctrl-C."""
    command = [str(programs / "label-studio"), "start", "--no-browser", "--internal-host", "127.0.0.1"]
    with (data / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [*command, "--log-level", "WARNING"],
            env=_environment(programs, data, login, port),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=open_files,
        )
    return Running(url=f"http://127.0.0.1:{port}", process=process)


def _environment(programs: Path, data: Path, login: Login, port: int) -> Mapping[str, str]:
    """Return the server's whole environment: it also reads variables as common as PORT and USERNAME."""
    return {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(data),
        "LANG": "C.UTF-8",
        "LABEL_STUDIO_BASE_DATA_DIR": str(data),
        "LABEL_STUDIO_PORT": str(port),
        "LABEL_STUDIO_USERNAME": login.email,
        "LABEL_STUDIO_PASSWORD": login.password,
        "LABEL_STUDIO_USER_TOKEN": login.token,
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
        "LABEL_STUDIO_LATEST_VERSION_CHECK": "false",
        "LABEL_STUDIO_SENTRY_DSN": "",
        "LABEL_STUDIO_FRONTEND_SENTRY_DSN": "",
    }


def _answers(running: Running, log: Path, until: float) -> bool:
    """Wait until the server answers; return whether it does so at its own port, which may be in use."""
    while time.monotonic() < until:
        if re.search(rb"Port \d+ is in use", log.read_bytes()):
            return False
        if running.process.poll() is not None:
            raise AnnotationError(f"Label Studio stopped: see {log}")
        if _is_up(running.url):
            return True
        time.sleep(0.1)
    raise AnnotationError(f"Label Studio does not answer: see {log}")


def _is_up(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/health", timeout=5) as answer:
            return bool(read_json(answer.read(1000)).get("status") == "UP")
    except (OSError, ValueError, AttributeError):
        return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Install Label Studio and serve it until interrupted; exit code 0, or 2 where that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", type=Path, default=Path(".venv-label-studio"))
    parser.add_argument("--data", type=Path, default=Path(".label-studio"))
    parser.add_argument("--pins", type=Path)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--install-only", action="store_true")
    options = parser.parse_args(arguments)
    try:
        if options.install_only:
            install(options.environment.resolve(), options.pins)
        else:
            _serve(options.environment.resolve(), options.data.resolve(), options.pins, options.port)
    except (SenseprobeError, OSError) as error:
        _print(str(error), sys.stderr)
        return 2
    except KeyboardInterrupt:
        _print("\nLabel Studio was stopped; all annotations are kept")
    return 0


def _serve(environment: Path, data: Path, pins: Path | None, port: int) -> None:
    data.mkdir(parents=True, exist_ok=True)
    (data / ".gitignore").write_text("*\n")
    with (data / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _print(f"Label Studio is already running: {(data / 'lock').read_text() or 'it is just starting'}")
            _print_login(_login(data / "login.json"), data)
            return
        if not is_installed(environment):
            _print(f"installing Label Studio {VERSION} into {environment}: about 280 MB to download, 1 GB on disk")
        programs = install(environment, pins)
        login = _login(data / "login.json")
        _print("starting Label Studio; the first start takes a minute, because it makes the database")
        running = start(programs, data, login, port, open_files=[lock.fileno()])  # locked as long as the server lives
        try:
            (data / "lock").write_text(f"{running.url} (process {running.process.pid})")
            variables = {"LABEL_STUDIO_URL": running.url, "LABEL_STUDIO_API_KEY": login.token}
            _write_private(data / _SETTINGS, "".join(f"export {name}={text}\n" for name, text in variables.items()))
            _print(f"\nLabel Studio: {running.url}")
            _print_login(login, data)
            _print(f"Ctrl-C stops it; annotations are kept in {data}")
            running.process.wait()
            raise AnnotationError(f"Label Studio stopped: see {data / 'log'}")
        finally:
            (data / "lock").write_text("")
            running.stop()


def _print_login(login: Login, data: Path) -> None:
    _print(f"log in as     {login.email}, password {login.password}")
    _print(f"for senseprobe, in another terminal: . {data / _SETTINGS}")


def _login(path: Path) -> Login:
    """Return the login of the server's first user, which is made the first time."""
    try:
        return Login(**read_json(path.read_bytes()))
    except FileNotFoundError:
        login = Login(email="admin@example.com", password=secrets.token_urlsafe(9), token=secrets.token_hex(20))
    except (OSError, ValueError, TypeError):
        raise AnnotationError(
            f"{path} cannot be read: correct it, or remove {path.parent} with all answers in it"
        ) from None
    _write_private(path, json.dumps(asdict(login)))
    return login


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    before = os.umask(0o077)
    try:
        write_whole(path, text.encode())
    finally:
        os.umask(before)


def _print(text: str, stream: object = None) -> None:
    print(text, file=stream or sys.stdout, flush=True)  # type: ignore[arg-type]


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):  # who starts it in the background may have the first ignored
        signal.signal(number, signal.default_int_handler)
    sys.exit(main())
