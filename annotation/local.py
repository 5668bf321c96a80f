"""A Label Studio server on this machine, for those who have none: ``make label-studio``.

It runs in an environment of its own, keeps everything in one folder (SQLite), listens to this machine only, and asks
nothing of the internet once it is installed. It stops with the command that started it.
"""

import argparse
import fcntl
import json
import os
import secrets
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from senseprobe.annotation.serving import VERSION, Login, install, is_installed, start
from senseprobe.errors import AnnotationError, SenseprobeError
from senseprobe.files import write_whole

EMAIL = "admin@example.com"

_SETTINGS = "environment"


def main(arguments: Sequence[str] | None = None) -> int:
    """Install Label Studio and serve it until interrupted; exit code 0, or 2 where that fails."""
    parser = argparse.ArgumentParser(prog="python -m senseprobe.annotation.local", description=__doc__)
    parser.add_argument("--environment", type=Path, default=Path(".venv-label-studio"))
    parser.add_argument("--data", type=Path, default=Path(".label-studio"))
    parser.add_argument("--pins", type=Path)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--install-only", action="store_true")
    asked = parser.parse_args(arguments)
    try:
        if asked.install_only:
            install(asked.environment.resolve(), asked.pins)
        else:
            _serve(asked.environment.resolve(), asked.data.resolve(), asked.pins, asked.port)
    except (SenseprobeError, OSError) as error:
        _say(str(error), sys.stderr)
        return 2
    except KeyboardInterrupt:
        _say("\nLabel Studio was stopped; what was annotated is kept")
    return 0


def _serve(environment: Path, data: Path, pins: Path | None, port: int) -> None:
    data.mkdir(parents=True, exist_ok=True)
    (data / ".gitignore").write_text("*\n")
    with _held(data / "lock") as lock:
        if lock is None:
            _say(f"Label Studio runs already: {(data / 'lock').read_text() or 'it is just starting'}")
            _tell_how(_login(data / "login.json"), data)
            return
        if not is_installed(environment):
            _say(f"installing Label Studio {VERSION} into {environment}: about 280 MB to load, 1 GB there")
        programs = install(environment, pins)
        login = _login(data / "login.json")
        _say("starting Label Studio; the first time it makes its database, which takes a minute")
        running = start(programs, data, login, port, held=[lock])  # so it is held as long as the server lives
        try:
            (data / "lock").write_text(f"{running.url} (process {running.process.pid})")
            _tell(running.url, login, data)
            running.process.wait()
            raise AnnotationError(f"Label Studio ended by itself: {data / 'log'} says why")
        finally:
            (data / "lock").write_text("")
            running.stop()


def _tell(url: str, login: Login, data: Path) -> None:
    _private(data / _SETTINGS, f"export LABEL_STUDIO_URL={url}\nexport LABEL_STUDIO_API_KEY={login.token}\n")
    _say(f"\nLabel Studio: {url}")
    _tell_how(login, data)
    _say("Ctrl-C stops it; what was annotated is kept in " + str(data))


def _tell_how(login: Login, data: Path) -> None:
    _say(f"log in as     {login.email}, password {login.password}")
    _say(f"for senseprobe, in another terminal: . {data / _SETTINGS}")


def _login(path: Path) -> Login:
    """The login of the server's first user, made up the first time."""
    try:
        return Login(**json.loads(path.read_text()))
    except FileNotFoundError:
        login = Login(email=EMAIL, password=secrets.token_urlsafe(9), token=secrets.token_hex(20))
    except (OSError, ValueError, TypeError):
        raise AnnotationError(
            f"{path} cannot be read: mend it, or remove {path.parent} with all answers in it"
        ) from None
    _private(path, json.dumps({"email": login.email, "password": login.password, "token": login.token}))
    return login


def _private(path: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    before = os.umask(0o077)
    try:
        write_whole(path, text.encode())
    finally:
        os.umask(before)


@contextmanager
def _held(path: Path) -> Iterator[int | None]:
    """The file, open, for this process alone until the block ends; None where another has it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield handle
    finally:
        os.close(handle)


def _say(text: str, stream: object = None) -> None:
    print(text, file=stream or sys.stdout, flush=True)  # type: ignore[arg-type]


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):  # who starts it in the background may have the first ignored
        signal.signal(number, signal.default_int_handler)
    sys.exit(main())
