"""Ray itself as an engine: each piece is done once, whatever is killed, and nothing of Ray is left behind.

Needs Ray, which `.ci/run` installs into an environment of its own.
"""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.engines.test_processes import is_running

pytestmark = pytest.mark.system

HERE, SOURCE = Path(__file__).parent, Path(__file__).parents[2] / "src"
COUNT = 12
SQUARES = {number: number * number for number in range(COUNT)}

DRIVER = """
import json, sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import numbered_pieces
from senseprobe.engines.work import WorkerOptions, run_work
from senseprobe.errors import SenseprobeError

folder, behaviour, options = Path(sys.argv[2]), json.loads(sys.argv[3]), json.loads(sys.argv[4])
work = numbered_pieces.make_work(folder, int(sys.argv[5]), **behaviour)
told = []
try:
    run_work(work, WorkerOptions(**{"count": 2, "engine": "ray", **options}), told.append)
except SenseprobeError as error:
    sys.exit(f"{type(error).__name__}: {error}")
assert "ray" not in sys.modules
print(told)
"""


@pytest.fixture(scope="module")
def python() -> str:
    """The Python of the environment that has Ray."""
    return os.environ["SENSEPROBE_RAY"]


class Driver:
    """A process that has a work done on Ray, in a group of its own, as a terminal starts it."""

    def __init__(self, python: str, folder: Path, count: int = COUNT, **behaviour: Any) -> None:  # noqa: ANN401
        options, environment = behaviour.pop("options", {}), behaviour.pop("environment", {})
        words = [str(HERE), str(folder), json.dumps(behaviour), json.dumps(options), str(count)]
        path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(SOURCE))))
        self.process = subprocess.Popen(
            [python, "-P", "-c", DRIVER, *words],
            process_group=0,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **environment},
        )

    def ended(self) -> tuple[int, str, str]:
        """Return its exit code, and what it wrote to standard output and error."""
        output, error = self.process.communicate()
        return self.process.returncode, output, error

    def processes(self) -> dict[int, str]:
        """Return the processes below it, and their command lines."""
        parents, below = {}, {self.process.pid}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                name = (entry / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            parents[int(entry.name)] = (int(fields[1]), name)
        for _ in range(5):  # generations
            below |= {process for process, (parent, _) in parents.items() if parent in below}
        return {process: parents[process][1] for process in below - {self.process.pid} if process in parents}


def wait_for(happened: Any) -> None:  # noqa: ANN401
    """Wait until something has happened; pytest ends it where it never does."""
    while not happened():
        time.sleep(0.05)


def test_each_piece_is_done_once_and_nothing_is_printed(tmp_path: Path, pieces: ModuleType, python: str) -> None:
    """Also by actors that are killed; what they print, and what Ray does, stays where it is."""
    folder = tmp_path / "pieces"
    driver = Driver(python, folder, kills={"2": 2, "5": 1}, floods=[4])
    wait_for(lambda: len(pieces.squares(folder)) > 5 or driver.process.poll() is not None)
    below = driver.processes()
    niceness = {os.getpriority(os.PRIO_PROCESS, process) for process in below if is_running(process)}
    code, output, error = driver.ended()

    assert (code, output, error) == (0, f"{[10] * COUNT}\n", "")
    assert pieces.squares(folder) == SQUARES
    assert sorted(pieces.begun(folder)) == sorted([*range(COUNT), 2, 2, 5])
    assert niceness <= {os.getpriority(os.PRIO_PROCESS, 0)}
    assert {*(folder / "devices").read_text().splitlines()} == {"None 1"}  # the threads of the run
    assert [path.name for path in folder.iterdir() if path.name.startswith(".ray")] == []
    wait_for(lambda: not any(map(is_running, below)))
    assert [*Path("/tmp").glob(f"senseprobe-ray-{driver.process.pid}-*")] == []  # noqa: S108


def test_errors_come_back_as_a_line(tmp_path: Path, pieces: ModuleType, python: str) -> None:
    """A piece that kills each actor is named; a second start does the rest, and names an error of somebody's code."""
    folder = tmp_path / "pieces"
    code, output, error = Driver(python, folder, 4, kills={"3": 99}).ended()
    assert (code, output, error.count("\n")) == (1, "", 1)
    assert error.startswith("SenseprobeError: window 3: its process ended 4 times, as where memory runs out; what is")
    assert pieces.squares(folder) == {0: 0, 1: 1, 2: 4}

    code, output, error = Driver(python, folder, 4, faults=[3]).ended()
    assert (code, output) == (1, "")
    assert error == "SenseprobeError: window 3: ZeroDivisionError: a fault of somebody's code\n"


@pytest.mark.parametrize("whom", ["the terminal", "the driver"])
def test_what_is_stopped_leaves_no_process_and_goes_on(
    tmp_path: Path, pieces: ModuleType, python: str, whom: str
) -> None:
    """Ctrl-C reaches the group of the terminal; a driver that is killed with -9 tells nobody."""
    folder = tmp_path / "pieces"
    driver = Driver(python, folder, seconds=0.3)
    wait_for(lambda: len(pieces.squares(folder)) > 1)
    below = driver.processes()
    os.killpg(driver.process.pid, signal.SIGINT) if whom == "the terminal" else driver.process.kill()
    driver.ended()
    wait_for(lambda: not any(map(is_running, below)))
    assert 1 < len(pieces.squares(folder)) < COUNT

    again = Driver(python, folder)
    assert again.ended()[0] == 0
    assert pieces.squares(folder) == SQUARES
    assert len(pieces.begun(folder)) <= COUNT + 2  # those that were begun when it was stopped
    assert [*Path("/tmp").glob(f"senseprobe-ray-{driver.process.pid}-*")] == []  # noqa: S108


def test_a_cluster_is_joined_by_its_address(tmp_path: Path, pieces: ModuleType, python: str) -> None:
    """One that runs on this machine; without it, one line says how to start one."""
    folder, home = tmp_path / "pieces", Path("/tmp") / f"sp-{os.getpid()}"  # noqa: S108 - paths of sockets are short
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
    environment = {**os.environ, **token, "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": str(home)}
    refused = Driver(python, folder, options={"address": "127.0.0.1:1"}).ended()
    assert (refused[0], refused[2].count("\n")) == (1, 1)
    assert "no Ray cluster of version" in refused[2]
    assert "`ray start --head`" in refused[2]

    ray = [python, "-P", "-m", "ray.scripts.scripts"]
    head = [*ray, "start", "--head", "--port=0", "--num-cpus=2", "--include-dashboard=false", f"--temp-dir={home}"]
    with (tmp_path / "started").open("w") as file:  # no pipe, which what it leaves running would hold open
        started = subprocess.Popen(head, env=environment, process_group=0, stdout=file)
    try:
        assert started.wait() == 0
        address = (tmp_path / "started").read_text().partition("--address='")[2].partition("'")[0]
        refused = Driver(
            python, folder, options={"address": address}, environment={"RAY_AUTH_MODE": "disabled"}
        ).ended()
        assert "asks for its token: set RAY_AUTH_MODE=token" in refused[2]
        joined: dict[str, Any] = {"options": {"address": address, "count": None}, "environment": token}
        code, output, error = Driver(python, folder, **joined).ended()
        assert (code, output, error) == (0, f"{[10] * COUNT}\n", "")
        assert pieces.squares(folder) == SQUARES
        joined["options"]["gpus"] = 1
        refused = Driver(python, tmp_path / "others", **joined).ended()
        assert refused[2].startswith("SenseprobeError: no worker fits into the cluster, which has 2 CPUs and 0 GPUs")
    finally:
        os.killpg(started.pid, signal.SIGKILL)  # what `ray start` leaves running
        subprocess.run(["rm", "-rf", str(home)], check=True)


VICTIMS = ("PieceActor", "raylet/raylet", "gcs_server", "senseprobe.engines.ray_driver", "the driver")


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 30))])
def test_kills_at_random_moments_lose_nothing(tmp_path: Path, pieces: ModuleType, python: str, seed: int) -> None:
    """An actor, the raylet, another server of Ray, the process that drives it, or the one that was started."""
    draw = random.Random(seed)  # noqa: S311
    folder, killed = tmp_path / "pieces", 0
    while (done := len(pieces.squares(folder))) < COUNT:
        driver = Driver(python, folder, seconds=0.2)
        while driver.process.poll() is None and len(pieces.squares(folder)) == done:
            time.sleep(0.05)
        time.sleep(draw.uniform(0, 1))
        below = driver.processes()
        victim = VICTIMS[(seed + killed) % len(VICTIMS)]
        found = [process for process, line in below.items() if victim in line] or [driver.process.pid]
        if killed < 4 and driver.process.poll() is None:
            killed += 1
            os.kill(draw.choice(found), signal.SIGKILL)
        code, _, error = driver.ended()
        assert "Traceback" not in error
        assert code in (0, 1, -signal.SIGKILL)
        wait_for(lambda below=below: not any(map(is_running, below)))
    assert pieces.squares(folder) == SQUARES
