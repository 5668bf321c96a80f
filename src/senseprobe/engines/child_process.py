"""A process that is started for work: orders go to it, reports come from it, and it never outlives who started it.

Orders are lines of JSON on its standard input, and reports lines of JSON through a pipe of their own. What libraries
print there goes to who started it, who shows the last of it where the process ends before its time.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

from senseprobe.messages import visible
from senseprobe.tables import read_json

Message: TypeAlias = Mapping[str, Any]

# No module of the folder where a command is typed can hide one of Python's: `-P`, and the path is that of this process.
_BEGIN = """\
import json, sys
from importlib import import_module
sys.path[:] = json.loads(sys.argv.pop(1))
import_module(sys.argv.pop(1)).serve(int(sys.argv.pop(1)))
"""
_LAST_WORDS = 4_096
"""Bytes that are kept of what a process prints."""
_PATIENCE = 10.0
"""Seconds that a process has to close what it opened, once all is done."""


class ChildProcess:
    """A process of this Python that runs `serve(report)` of a module of ours, and gets a first order.

    - `reports`, `printed`: pipes to wait for, which `read_reports` and `keep_printed` read without waiting.
    - `leads`: whether it leads a group of processes, those that it starts, which end with it.
    """

    def __init__(self, module: str, order: Message, environment: Mapping[str, str], *, leads: bool = False) -> None:
        self._leads = leads
        self._last_words = self._unread = b""
        self.reports, report = os.pipe()
        path = json.dumps([os.path.abspath(folder) for folder in sys.path])  # noqa: PTH100 - of what may be no path
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this Python, and our module
                [sys.executable, "-P", "-c", _BEGIN, path, module, str(report)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(report,),
                process_group=0 if leads else None,
                env={**os.environ, **environment},
            )
        except BaseException:
            os.close(self.reports)
            raise
        finally:
            os.close(report)
        assert self._process.stdin is not None  # noqa: S101 - both are pipes
        assert self._process.stdout is not None  # noqa: S101
        self._orders, self._output = self._process.stdin, self._process.stdout
        self.printed = self._output.fileno()
        for pipe in (self.reports, self.printed):
            os.set_blocking(pipe, False)
        self.tell(order)

    def tell(self, order: Message) -> None:
        """Send an order; that the process has ended is seen elsewhere."""
        with suppress(BrokenPipeError):
            self._orders.write(f"{json.dumps(order)}\n".encode())
            self._orders.flush()

    def read_reports(self) -> list[dict[str, Any]]:
        """Return the reports that have come."""
        *lines, self._unread = (self._unread + _read_all(self.reports)).split(b"\n")
        return [read_json(line) for line in lines]

    def keep_printed(self) -> None:
        """Keep the last of what it printed."""
        self._last_words = (self._last_words + _read_all(self.printed))[-_LAST_WORDS:]

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended; one that it started may hold its pipes open."""
        return self._process.poll() is not None

    def describe_end(self) -> str:
        """Return how it ended: a signal and where that comes from, or an exit code and what it printed last."""
        code = self._process.wait()
        if code < 0:
            name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"
            return f"{name}, which the system sends where memory runs out" if -code == signal.SIGKILL else name
        self.keep_printed()
        lines = self._last_words.decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f"exit code {code}{f': {visible(last.strip()[:200])}' if last else ''}"

    def stop(self) -> None:
        """Let it close what it opened, and wait for its end; `end` follows."""
        self.tell({"stop": True})
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)

    def end(self) -> None:
        """End the process at once, and its group if it leads one; close its pipes."""
        if self._leads:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        os.close(self.reports)
        self._output.close()
        with suppress(BrokenPipeError):
            self._orders.close()


def _read_all(pipe: int) -> bytes:
    """Return what is in a pipe, without waiting for more."""
    parts = list[bytes]()
    with suppress(BlockingIOError):
        while part := os.read(pipe, 65_536):
            parts.append(part)
    return b"".join(parts)


# --- in the process -------------------------------------------------------------------------------------------------


def take_orders(report: int) -> "SimpleQueue[dict[str, Any]]":
    """Return the queue of the orders to this process, which ends at once, with its group, where its starter is gone.

    Ctrl-C reaches all processes of a terminal: who started this one ends it. `report` is for this process alone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(report, False)
    orders: SimpleQueue[dict[str, Any]] = SimpleQueue()
    Thread(target=_listen, args=(orders,), daemon=True).start()
    return orders


def _listen(orders: "SimpleQueue[dict[str, Any]]") -> None:
    """Hand on orders as they come, also while a piece is done; where the other end is closed, end this process."""
    buffer = b""
    while data := os.read(0, 65_536):
        *lines, buffer = (buffer + data).split(b"\n")
        for line in lines:
            orders.put(read_json(line))
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def report_back(report: int, message: Message) -> None:
    """Send a report to who started this process."""
    data = f"{json.dumps(message)}\n".encode()
    while data:
        data = data[os.write(report, data) :]
