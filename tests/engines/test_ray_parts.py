"""What of the engine Ray is checked without Ray: messages, and what an actor says of a piece."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType

import pytest
from tests.test_architecture import MODULES, _imported

from senseprobe.engines import ray_actor, ray_data
from senseprobe.engines.ray_actor import PieceActor
from senseprobe.engines.ray_driver import count_room, describe_refusal
from senseprobe.engines.work import Do, WorkerOptions, run_work
from senseprobe.errors import SenseprobeError
from senseprobe.tables import read_json

# What ray/_private/utils.py raises where versions differ.
MISMATCH = """\
Version mismatch: The cluster was started with:
    Ray: 2.50.1
    Python: 3.11.2
This process on node 192.0.2.2 was started with:
    Ray: 2.60.0
    Python: 3.11.9
"""


def test_without_ray_the_message_names_the_extra(
    tmp_path: Path, pieces: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_data, "find_spec", lambda _: None)

    with pytest.raises(SenseprobeError, match=r"^--engine ray needs Ray: run pip install 'senseprobe\[ray\]'$"):
        run_work(pieces.make_work(tmp_path, 1), WorkerOptions(engine="ray"))


def test_a_cluster_of_another_version_is_named() -> None:
    assert describe_refusal("auto", MISMATCH, "2.60.0") == (
        "the cluster at auto has Ray 2.50.1 on Python 3.11.2, and here is Ray 2.60.0 on Python 3.11.9: install the "
        "same versions on both"
    )


def test_an_address_without_a_cluster_is_named() -> None:
    told = "Could not find any running Ray instance. Please specify the one to connect to.\nMore."
    assert describe_refusal("auto", told, "2.60.0") == (
        "no Ray cluster of version 2.60.0 answers at auto (Could not find any running Ray instance. Please specify the "
        "one to connect to.): start one with `ray start --head`, or leave --address out"
    )


@pytest.mark.parametrize(("cpus", "gpus", "room"), [(1, 0, 10), (4, 0, 2), (1, 1, 3), (1, 0.5, 6), (8, 1, 1)])
def test_the_room_of_a_cluster_is_counted(cpus: int, gpus: float, room: int) -> None:
    assert count_room({"CPU": 10.0, "GPU": 3.0, "memory": 1e9}, cpus, gpus) == room


def test_no_room_in_a_cluster_is_told() -> None:
    with pytest.raises(SenseprobeError, match=r"^no worker fits .* 4 CPUs and 0 GPUs: lower .* --gpus-per-worker$"):
        count_room({"CPU": 4.0}, 1, 1)


def test_an_actor_that_sees_another_folder_says_so(tmp_path: Path) -> None:
    """As on a machine where the name of the folder leads elsewhere: there are no notes in it."""
    actor = PieceActor("no.module:function", "", str(tmp_path / "parts" / ".ray-1"))
    report = read_json(actor({"number": [7]})["report"][0])

    assert report["number"] == 7
    assert report["failed"]["message"].startswith(f"{tmp_path / 'parts'} on ")
    assert report["failed"]["message"].endswith("name one that all machines share")


def test_an_actor_opens_its_work_on_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several cards that Ray gives it, a model is spread over all."""
    opened: list[str | None] = []

    def note(worker: str, argument: str, device: str | None) -> AbstractContextManager[Do]:
        opened.append(device)
        return nullcontext(abs)

    monkeypatch.setattr(ray_actor, "open_worker", note)
    for device in ("all", None):
        assert read_json(PieceActor("w", "", "", device)({"number": [3]})["report"][0])["units"] == 3
    assert opened == ["all", None]


def test_an_actor_gives_a_piece_up_that_was_begun_four_times(tmp_path: Path, pieces: ModuleType) -> None:
    work, notes = pieces.make_work(tmp_path / "pieces", 2), tmp_path / "notes"
    notes.mkdir()
    (notes / "1").write_bytes(b"....")
    actor = PieceActor(work.worker, work.argument, str(notes))
    first, second = (read_json(report) for report in actor({"number": [0, 1]})["report"])

    assert first["units"] == 10
    assert second["ended_often"]
    assert second["failed"]["message"].startswith("its process ended 4 times")
    assert pieces.squares(tmp_path / "pieces") == {0: 0}


def test_one_module_imports_ray_and_nothing_loads_it_unasked() -> None:
    """The one that runs in a process of its own."""
    importing = {name for name in MODULES for each in _imported(name) if each.partition(".")[0] == "ray"}
    loading = {name for name in MODULES for each in _imported(name) if each.startswith("senseprobe.engines.ray_driver")}

    assert importing == {"engines.ray_driver"}
    assert loading == set()
