"""Workers build, restore and verify the release that one process does, and say the same of a damaged one."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.release.test_pieces import FORM_5, PIECES
from typer.testing import CliRunner

import senseprobe
from senseprobe.api import building
from senseprobe.api.workers import do_work
from senseprobe.cli.application import app
from senseprobe.engines import processes
from senseprobe.engines.work import ENGINES, Engine, Work, WorkerOptions
from senseprobe.release import parquet


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers that workers were given; they read and write files of three rows."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    numbers: list[int] = []

    def do_small(work: Work, *how: Any) -> None:  # noqa: ANN401
        numbers.extend(work.numbers)
        argument = json.dumps({"worker": work.worker, "argument": work.argument})
        do_work(replace(work, worker="small_files:open_small", argument=argument), *how)

    monkeypatch.setattr(building, "do_work", do_small)
    return numbers


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project of form 5, in files of three rows."""
    root = tmp_path / "project"
    shutil.copytree(FORM_5 / "recipe", root)
    (root / "english.csv").unlink()
    (root / "senseprobe.toml").touch()
    monkeypatch.chdir(root)
    monkeypatch.setattr(parquet, "ROWS_PER_FILE", 3)
    return root


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_two_workers_build_restore_and_verify(project: Path, tmp_path: Path, done: list[int]) -> None:
    """The same bytes; progress counts every row once."""
    whole = senseprobe.build("tiny", "5.0.0", tmp_path / "one").folder
    told: list[int] = []
    built = senseprobe.build("tiny", "5.0.0", tmp_path / "two", told.append, workers=2).folder
    assert files_in(built) == files_in(whole)
    assert (sum(told), done) == (18, [*range(PIECES)])
    assert [path.name for path in built.parent.iterdir()] == ["5.0.0"]

    assert senseprobe.verify(built, workers=2, rebuild=True) == []
    for path in [*built.glob("*/*.parquet")]:
        path.unlink()
    assert senseprobe.restore(built, workers=2).folder == built
    assert {name: data for name, data in files_in(built).items() if name != "restored.json"} == files_in(whole)
    assert senseprobe.restore(built, workers=2).folder == built  # nothing is left to do


def test_workers_find_what_one_process_finds(project: Path, tmp_path: Path, done: list[int]) -> None:
    built = senseprobe.build("tiny", "5.0.0", tmp_path).folder
    path = built / "island" / "test-00001-of-00003.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    findings = senseprobe.verify(built)

    assert findings
    assert senseprobe.verify(built, workers=2, content="0" * 12) == senseprobe.verify(built, content="0" * 12)
    (built / "manifest.json").write_text("{}")
    assert senseprobe.verify(built, workers=2) == senseprobe.verify(built) != []


def test_a_build_that_was_stopped_goes_on(
    project: Path, tmp_path: Path, done: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after two pieces: they are there, and the same call does the others."""

    def stop(units: int) -> None:
        if len([*tmp_path.glob("tiny/5.0.0.parts/**/shard.json")]) > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        senseprobe.build("tiny", "5.0.0", tmp_path, stop, workers=1 + 1)
    assert not (tmp_path / "tiny" / "5.0.0").exists()
    first = len(done)
    built = senseprobe.build("tiny", "5.0.0", tmp_path, workers=2)
    assert len(done) - first < PIECES
    assert senseprobe.verify(built) == []


def test_commands_hand_on_their_workers(
    project: Path, tmp_path: Path, done: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the options say; what is the work of one process is refused beside them."""
    seen: list[WorkerOptions] = []

    def run(work: Work, options: WorkerOptions, progress: Callable[[int], None] | None) -> None:
        seen.append(options)
        processes.run_processes(work, options, progress)

    monkeypatch.setitem(ENGINES, "mine", Engine(id="mine", title="mine", run=run, takes=("cpus",)))
    words = ["--engine", "mine", "--workers", "2", "--cpus-per-worker", "1"]
    runner = CliRunner()
    built = runner.invoke(app, ["build", "tiny", "5.0.0", "--out", str(tmp_path), *words])
    assert built.exit_code == 0, built.output
    checked = runner.invoke(app, ["verify", str(tmp_path / "tiny" / "5.0.0"), *words])
    assert checked.exit_code == 0, checked.output
    assert [(options.count, options.cpus) for options in seen] == [(2, 1)] * 2
    refused = runner.invoke(app, ["build", "tiny", "5.0.0", "--shards", "2", "--shard", "0", *words])
    assert str(refused.exception) == "--shards is the work of one process: leave out --workers"
