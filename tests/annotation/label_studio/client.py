"""What tests have the client do, in the environment that has it: a line of JSON asks, a line of JSON answers."""

import json
import os
import sys
from pathlib import Path
from typing import Any


def answer(do: str, url: str, key: str, seconds: dict[str, float], **asked: Any) -> dict[str, Any]:  # noqa: ANN401
    """What came of it, or the error that was raised."""
    from senseprobe.annotation.label_studio.client import connect
    from senseprobe.errors import SenseprobeError

    try:
        server = connect(url, key, seconds=seconds)
        if do == "connect":
            return {"email": server.whoami(), "url": str(server)}
        return done(do, server, Path(asked.pop("folder")), asked)
    except SenseprobeError as error:
        return {"kind": type(error).__name__, "error": str(error)}


def done(do: str, server: Any, folder: Path, asked: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - Server
    """What pushing, pulling or asking for the status of a folder's plan gave."""
    from senseprobe.annotation.label_studio.transfer import pull, push, push_queue, read_status
    from senseprobe.annotation.plan_file import read_plan

    plan = read_plan(folder)
    if do == "push":
        told: list[tuple[int, int]] = []
        pushed = push(server, plan, folder, lambda *step: told.append(step), settle=asked.get("settle", 20.0))
        return {**pushed.as_dict(), "progress": told}
    if do == "queue":
        return push_queue(server, plan, folder, asked["rows"]).as_dict()
    if do == "pull":
        pulled = pull(server, plan, folder)
        return {"path": str(pulled.path), "new": pulled.new, "tasks": pulled.tasks, "people": dict(pulled.people)}
    return read_status(server, plan, folder).as_dict()


if __name__ == "__main__":
    sys.path += os.environ["OURS"].split(os.pathsep)  # behind its own: what it lacks of our environment
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line))), flush=True)  # noqa: T201 - its answer
