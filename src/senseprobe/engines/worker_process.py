"""What a worker process does: it opens what it needs, does the pieces that it is told, and says what came of each."""

import os

from senseprobe.engines.child_process import report_back, take_orders
from senseprobe.engines.work import describe_failure, open_worker


def serve(report: int) -> None:
    """Do pieces until told to stop, and end this process; `report` is the pipe for what came of them."""
    orders = take_orders(report)
    first = orders.get()
    try:
        with open_worker(first["worker"], first["argument"], first["device"]) as do:
            report_back(report, {"ready": True})
            while (order := orders.get()) and "do" in order:
                number = int(order["do"])
                report_back(report, {"done": number, "units": int(do(number))})
    except BaseException as error:  # noqa: BLE001 - of whatever kind: it is raised where this process was started
        report_back(report, {"failed": describe_failure(error)})
    # Without the end of an interpreter, which takes a second where torch is loaded.
    os._exit(0)
