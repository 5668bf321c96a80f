"""What a worker process does: it opens what it needs, does the pieces that it is told, and says what came of each.

Orders come as lines of JSON on its standard input, and reports go out as lines of JSON through a pipe of their own.
What libraries print goes to its standard output and error, which who started it reads, and shows if it ends.
"""

import json
import os
import signal
from queue import SimpleQueue
from threading import Thread
from typing import Any

from senseprobe.engines.work import describe_failure, open_worker
from senseprobe.tables import read_json


def serve(report: int) -> None:
    """Do pieces until told to stop, and end this process; `report` is the pipe for what came of them.

    Ctrl-C reaches all processes of a terminal: who started this one ends it. Where that one is gone, it ends itself.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(report, False)
    orders: SimpleQueue[dict[str, Any]] = SimpleQueue()
    Thread(target=_listen, args=(orders,), daemon=True).start()
    first = orders.get()
    try:
        with open_worker(first["worker"], first["argument"], first["device"]) as do:
            _tell(report, {"ready": True})
            while (order := orders.get()) and "do" in order:
                number = int(order["do"])
                _tell(report, {"done": number, "units": int(do(number))})
    except BaseException as error:  # noqa: BLE001 - of whatever kind: it is raised where this process was started
        _tell(report, {"failed": describe_failure(error)})
    # Without the end of an interpreter, which takes a second where torch is loaded.
    os._exit(0)


def _tell(report: int, message: dict[str, Any]) -> None:
    data = f"{json.dumps(message)}\n".encode()
    while data:
        data = data[os.write(report, data) :]


def _listen(orders: "SimpleQueue[dict[str, Any]]") -> None:
    """Hand on orders as they come, also while a piece is done; where the other end is closed, end this process."""
    buffer = b""
    while data := os.read(0, 65_536):
        *lines, buffer = (buffer + data).split(b"\n")
        for line in lines:
            orders.put(read_json(line))
    os._exit(1)
