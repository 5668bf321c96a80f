"""The process that drives Ray: it starts Ray here or joins a cluster, and Ray Data deals the pieces to actors.

It is a process of its own since Ray takes a process over: it prints, sets handlers of signals, and ends it where its
own processes end. Only here is Ray imported.
"""

import logging
import os
import re
import socket
from collections.abc import Iterator, Mapping
from typing import Any

from senseprobe.engines.child_process import report_back, take_orders
from senseprobe.engines.ray_actor import PieceActor
from senseprobe.engines.work import describe_failure
from senseprobe.errors import SenseprobeError
from senseprobe.plugins import describe_error
from senseprobe.tables import read_json

_OBJECT_STORE = 100 * 2**20
"""Bytes of memory for what actors exchange: numbers and reports."""

_REACH = 10.0
"""Seconds in which a cluster has to answer."""


def serve(report: int) -> None:
    """Do a work on Ray, and end this process; `report` is the pipe for what came of each piece."""
    order = take_orders(report).get()
    try:
        _connect(order)
        report_back(report, {"ready": True})
        for told in _deal(order):
            report_back(report, told)
        report_back(report, {"finished": True})
    except BaseException as error:  # noqa: BLE001 - of whatever kind: it is raised where this process was started
        report_back(report, {"failed": describe_failure(error)})
    import ray

    ray.shutdown()
    os._exit(0)


def _connect(order: Mapping[str, Any]) -> None:
    """Join a cluster by its address, or start Ray here, which may fail: it gives itself 30 s. SenseprobeError if so."""
    import ray

    how = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    try:
        if order["address"]:
            _reach(order["address"])
            ray.init(address=order["address"], runtime_env={"env_vars": order["environment"]}, **how)
        else:
            ray.init(
                address="local",
                num_cpus=order["count"] and order["count"] * order["cpus"],
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE,
                _temp_dir=order["folder"],
                **how,
            )
    except Exception as error:  # noqa: BLE001 - Ray has no class of its own for this
        if order["address"]:
            raise SenseprobeError(
                describe_refusal(order["address"], f"{error}\n{error.__cause__}", ray.__version__)
            ) from None
        raise SenseprobeError(
            f"Ray did not start ({describe_error(error)}): it gives itself 30 s, which is too little on a busy machine"
        ) from None


def _reach(address: str) -> None:
    """Raise OSError where nothing answers at ``HOST:PORT``: Ray itself waits for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in address:
        socket.create_connection((host, int(port)), _REACH).close()


def describe_refusal(address: str, message: str, version: str) -> str:
    """Return why the cluster at an address could not be joined, of what Ray, of a version, says; in one line."""
    if len(versions := re.findall(r"Ray: (\S+)\s+Python: (\S+)", message)) == 2:
        theirs, ours = (f"Ray {ray} on Python {python}" for ray, python in versions)
        return f"the cluster at {address} has {theirs}, and here is {ours}: install the same versions on both"
    if "InvalidAuthToken" in message:
        return (
            f"the cluster at {address} asks for its token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to what `ray "
            "get-auth-token` says there"
        )
    reason = next((line.strip() for line in message.splitlines() if line.strip()), "no reason given")
    return (
        f"no Ray cluster of version {version} answers at {address} ({reason[:200]}): start "
        "one with `ray start --head`, or leave --address out"
    )


def _deal(order: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the report of each piece as it comes."""
    import ray
    from ray import data

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # which its import has set
    numbers = order["numbers"]
    device = "all" if order["gpus"] > 1 else None  # a worker sees the cards that Ray gives it, and no others
    room = count_room(ray.cluster_resources(), order["cpus"], order["gpus"])
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    dealt = data.from_items([{"number": number} for number in numbers], override_num_blocks=len(numbers))
    reports = dealt.map_batches(
        PieceActor,
        batch_size=1,
        batch_format="numpy",
        fn_constructor_args=(order["worker"], order["argument"], order["notes"], device),
        compute=data.ActorPoolStrategy(size=order["count"] or min(room, len(numbers)), max_tasks_in_flight_per_actor=1),
        num_cpus=order["cpus"],
        num_gpus=order["gpus"] or None,
    )
    for batch in reports.iter_batches(batch_size=None, batch_format="numpy", prefetch_batches=0):
        yield from map(read_json, batch["report"].tolist())


def count_room(resources: Mapping[str, float], cpus: int, gpus: float) -> int:
    """Return how many workers that take `cpus` and `gpus` fit into a cluster. SenseprobeError where none does."""
    takes = {"CPU": cpus, "GPU": gpus}
    room = min(int(resources.get(kind, 0) // amount) for kind, amount in takes.items() if amount)
    if not room:
        there = " and ".join(f"{resources.get(kind, 0):g} {kind}s" for kind in takes)
        raise SenseprobeError(
            f"no worker fits into the cluster, which has {there}: lower --cpus-per-worker or --gpus-per-worker"
        )
    return room
