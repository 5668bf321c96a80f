"""Worker processes do each piece once, whatever happens to them, and none is left behind."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

from senseprobe.engines.processes import count_workers
from senseprobe.engines.work import WorkerOptions, WorkerTraceback, run_work
from senseprobe.errors import DamagedRelease, ModelError, SenseprobeError

HERE = Path(__file__).parent
TWO = WorkerOptions(count=2)
SQUARES = {number: number * number for number in range(8)}


def is_running(process: int) -> bool:
    """Return whether a process is there, and not only as what nobody has waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(happened: Callable[[], object]) -> None:
    """Wait until something has happened; pytest ends it where it never does."""
    while not happened():
        time.sleep(0.01)


def test_all_pieces_are_done_once_by_workers_that_open_once(tmp_path: Path, pieces: ModuleType) -> None:
    told: list[int] = []
    run_work(pieces.make_work(tmp_path, 8, together=2), TWO, told.append)

    assert pieces.squares(tmp_path) == SQUARES
    assert sorted(pieces.begun(tmp_path)) == [*range(8)]
    assert told == [10] * 8
    assert len(pieces.workers_of(tmp_path)) == 2
    assert len((tmp_path / "closed").read_text().split()) == 2  # and what they opened is closed


def test_what_workers_print_reaches_nobody(
    tmp_path: Path, pieces: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    """One of them prints more than a pipe holds, and is not held up."""
    run_work(pieces.make_work(tmp_path, 4, floods=[1, 2]), TWO)

    assert len(pieces.squares(tmp_path)) == 4
    assert capfd.readouterr() == ("", "")


def test_what_is_done_is_not_done_again(tmp_path: Path, pieces: ModuleType) -> None:
    run_work(pieces.make_work(tmp_path, 5, together=2), TWO)
    run_work(pieces.make_work(tmp_path, 8, together=4), TWO)
    run_work(pieces.make_work(tmp_path, 8), TWO)  # nothing: no worker is started

    assert sorted(pieces.begun(tmp_path)) == [*range(8)]
    assert len(pieces.workers_of(tmp_path)) == 4


def test_workers_are_at_most_as_many_as_pieces(tmp_path: Path, pieces: ModuleType) -> None:
    run_work(pieces.make_work(tmp_path, 2, together=2), WorkerOptions(count=5))

    assert len(pieces.workers_of(tmp_path)) == 2


def test_each_worker_has_a_device_and_threads(
    tmp_path: Path, pieces: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices go round; OMP_NUM_THREADS is that of the run, unless `cpus` are given."""
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    options = WorkerOptions(count=3, devices=("cuda:0", "cuda:1"))
    run_work(pieces.make_work(tmp_path / "a", 3, together=3), options)
    run_work(pieces.make_work(tmp_path / "b", 1), WorkerOptions(count=3, cpus=2))
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(9), raising=False)
    run_work(pieces.make_work(tmp_path / "c", 2, together=2), TWO)

    assert sorted((tmp_path / "a" / "devices").read_text().splitlines()) == ["cuda:0 3", "cuda:0 3", "cuda:1 3"]
    assert (tmp_path / "b" / "devices").read_text() == "None 2\n"
    assert (tmp_path / "c" / "devices").read_text() == "None 4\nNone 4\n"  # nine processors for two


@pytest.mark.parametrize(
    ("options", "threads", "workers"),
    [
        (WorkerOptions(count=7), "", 7),
        (WorkerOptions(count=None), "", 9),
        (WorkerOptions(count=None), "4", 2),
        (WorkerOptions(count=None, cpus=20), "", 1),
        (WorkerOptions(count=None, devices=("cuda:0", "cuda:1")), "", 2),
    ],
)
def test_auto_fills_the_machine(
    monkeypatch: pytest.MonkeyPatch, options: WorkerOptions, threads: str, workers: int
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(9), raising=False)

    assert count_workers(options) == workers


def test_killed_workers_are_started_again_up_to_three_times(tmp_path: Path, pieces: ModuleType) -> None:
    run_work(pieces.make_work(tmp_path, 8, kills={"2": 3, "5": 1}), TWO)

    assert pieces.squares(tmp_path) == SQUARES
    assert Counter(pieces.begun(tmp_path)) == dict.fromkeys(range(8), 1) | {2: 4, 5: 2}


def test_a_piece_that_kills_four_workers_is_named(tmp_path: Path, pieces: ModuleType) -> None:
    with pytest.raises(SenseprobeError, match=r"^window 3: its process ended 4 times, .* SIGKILL, .* memory") as raised:
        run_work(pieces.make_work(tmp_path, 8, kills={"3": 9}), WorkerOptions(count=1))

    assert "\n" not in str(raised.value)
    assert pieces.squares(tmp_path) == {0: 0, 1: 1, 2: 4}  # what was done is kept
    assert not any(map(is_running, pieces.workers_of(tmp_path)))


def test_the_last_words_of_a_worker_are_told(tmp_path: Path, pieces: ModuleType) -> None:
    with pytest.raises(SenseprobeError, match=r"window 0: .* exit code 7: the library is not of this processor"):
        run_work(pieces.make_work(tmp_path, 1, exits=[0]), TWO)


def test_a_worker_that_never_gets_ready_is_given_up(tmp_path: Path, pieces: ModuleType) -> None:
    with pytest.raises(SenseprobeError, match=r"^worker 0: its process ended 4 times"):
        run_work(pieces.make_work(tmp_path, 1, unopened="kill"), TWO)

    assert len(pieces.workers_of(tmp_path)) == 4


def test_errors_of_ours_come_back_as_they_were(tmp_path: Path, pieces: ModuleType) -> None:
    with pytest.raises(ModelError, match=r"^no-such-model: no such folder$"):
        run_work(pieces.make_work(tmp_path, 4, unopened="model"), TWO)
    with pytest.raises(DamagedRelease, match=r"^a.parquet:3: M001 is damaged$") as raised:
        run_work(pieces.make_work(tmp_path, 8, stops=[3]), WorkerOptions(count=1))

    assert raised.value.findings[0].line == 3
    assert pieces.squares(tmp_path) == {0: 0, 1: 1, 2: 4}


def test_errors_of_others_name_the_piece(tmp_path: Path, pieces: ModuleType) -> None:
    with pytest.raises(SenseprobeError, match=r"^window 1: ZeroDivisionError: a fault of somebody's code$") as raised:
        run_work(pieces.make_work(tmp_path, 2, faults=[1]), TWO)

    assert isinstance(raised.value.__cause__, WorkerTraceback)
    assert "numbered_pieces.py" in str(raised.value.__cause__)
    assert not any(map(is_running, pieces.workers_of(tmp_path)))


def test_an_unknown_engine_is_named(tmp_path: Path, pieces: ModuleType) -> None:
    with pytest.raises(SenseprobeError, match=r"unknown engine dask: .*processes"):
        run_work(pieces.make_work(tmp_path, 1), WorkerOptions(engine="dask"))


# --- from outside ---------------------------------------------------------------------------------------------------

DRIVER = """
import sys
from pathlib import Path

sys.path.insert(0, sys.argv.pop(1))
import numbered_pieces
from senseprobe.engines.work import WorkerOptions, run_work

work = numbered_pieces.make_work(Path(sys.argv[1]), int(sys.argv[2]), seconds=float(sys.argv[3]))
run_work(work, WorkerOptions(count=2))
"""


def start(folder: Path, count: int, seconds: float) -> "subprocess.Popen[bytes]":
    """Start a driver in a group of processes of its own, as a terminal does."""
    command = [sys.executable, "-P", "-c", DRIVER, str(HERE), str(folder), str(count), str(seconds)]
    return subprocess.Popen(command, process_group=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_ctrl_c_ends_all_and_keeps_what_is_done(tmp_path: Path, pieces: ModuleType) -> None:
    """As in a terminal, where it reaches all processes of the group."""
    driver = start(tmp_path, 200, 0.05)
    wait_until(lambda: len(pieces.squares(tmp_path)) > 3)
    os.killpg(driver.pid, signal.SIGINT)
    _, error = driver.communicate()
    done = len(pieces.squares(tmp_path))
    wait_until(lambda: not any(map(is_running, pieces.workers_of(tmp_path))))

    assert error.rstrip().endswith(b"KeyboardInterrupt")
    assert error.count(b"Traceback") == 1  # none of a worker
    assert 3 < done < 200
    run_work(pieces.make_work(tmp_path, 200), TWO)
    assert len(pieces.squares(tmp_path)) == 200


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_driver_that_is_killed_leaves_no_worker(tmp_path: Path, pieces: ModuleType, number: signal.Signals) -> None:
    """One works for a minute at its piece, and ends all the same."""
    driver = start(tmp_path, 200, 60)
    wait_until(lambda: len(pieces.begun(tmp_path)) == 2)
    driver.send_signal(number)
    driver.communicate()

    wait_until(lambda: not any(map(is_running, pieces.workers_of(tmp_path))))
    run_work(pieces.make_work(tmp_path, 8), TWO)
    assert pieces.squares(tmp_path) == SQUARES


def kill_at_random(folder: Path, pieces: ModuleType, seed: int) -> None:
    """Kill a worker or the driver, again and again, at a random moment after a piece was begun, until all are done."""
    draw = random.Random(seed)  # noqa: S311
    while len(pieces.squares(folder)) < 30:
        driver = start(folder, 30, 0.03)
        watch = Thread(target=driver.communicate)
        watch.start()
        while watch.is_alive():
            before = len(pieces.begun(folder))
            while watch.is_alive() and len(pieces.begun(folder)) == before:
                time.sleep(0.01)
            watch.join(draw.uniform(0, 0.3))
            victim = draw.choice([driver.pid, *filter(is_running, pieces.workers_of(folder))])
            if watch.is_alive() and is_running(victim):
                os.kill(victim, signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, pieces.workers_of(folder))))


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 30))])
def test_kills_at_random_moments_lose_nothing(tmp_path: Path, pieces: ModuleType, seed: int) -> None:
    folder = tmp_path / "pieces"
    folder.mkdir()
    kill_at_random(folder, pieces, seed)

    assert pieces.squares(folder) == {number: number * number for number in range(30)}
