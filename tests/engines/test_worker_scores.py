"""Several workers make the bytes of one process, and whatever stops them, the same call goes on where it was."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import causal_models, inference_models

import senseprobe
from senseprobe import api
from senseprobe.api import windows
from senseprobe.errors import ModelError, ResultError, SenseprobeError
from senseprobe.evaluate.scorers import base
from senseprobe.evaluate.windows import worker

KINDS = {"masked": ("aul",), "causal": ("ll",), "inference": ("nli",)}
RELEASES = {"masked": "sssb@1.1.0:noun", "causal": "sssb@1.1.0:noun", "inference": "nli-control@1.0.1"}


@pytest.fixture(scope="module")
def models(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny models: masked, causal and of inference."""
    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(causal_models, "MODELS", {"gpt2": causal_models.MODELS["gpt2"]})
        patch.setattr(inference_models, "MODELS", {"bert": inference_models.MODELS["bert"]})
        causal = causal_models.build(folder / "causal")
        inference = inference_models.build(folder / "inference")
    return {"masked": tiny_models["bert"], "causal": causal["gpt2"], "inference": inference["bert"]}


@pytest.fixture(autouse=True)
def alike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Windows of 64 units, so that small releases have several, one thread everywhere, the same day, a new cache."""
    monkeypatch.setattr(base, "WINDOW", 64)
    monkeypatch.setattr("senseprobe.api.scoring_jobs.read_today", lambda: "2026-11-23")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def score(model: Path, release: str, out: Path, workers: Any, **options: Any) -> list[Any]:  # noqa: ANN401
    """Score without the store."""
    return senseprobe.score(model, release, out=out, store=False, workers=workers, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_two_workers_make_the_bytes_of_one_process(kind: str, models: dict[str, Path], tmp_path: Path) -> None:
    """Results and their tables are the same files; progress counts every unit once, and the parts are gone."""
    model, release, options = models[kind], RELEASES[kind], {"scorers": KINDS[kind], "limit": 200}
    told: list[tuple[int, int]] = []
    score(model, release, tmp_path / "one", 1, **options)
    score(model, release, tmp_path / "two", 2, progress=lambda done, total: told.append((done, total)), **options)

    assert files_in(tmp_path / "two") == files_in(tmp_path / "one")
    totals = {total for _, total in told}
    assert len(totals) == 1
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert (told[0][0], told[-1]) == (0, (max(totals), max(totals)))
    assert len(told) > 2  # a number of windows
    assert not any((tmp_path / "cache" / "senseprobe" / "parts").iterdir())


def test_parts_can_be_at_an_address(models: dict[str, Path], tmp_path: Path) -> None:
    """Workers write to what fsspec opens, here files by their address; the same call finds the parts."""
    options = {"scorers": KINDS["masked"], "limit": 100}
    score(models["masked"], RELEASES["masked"], tmp_path / "one", 1, **options)
    team = api.workers(2, parts=f"local://{tmp_path}/parts")
    score(models["masked"], RELEASES["masked"], tmp_path / "two", team, **options)
    parts = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").glob("part-*")}
    score(models["masked"], RELEASES["masked"], tmp_path / "three", team, **options)

    assert files_in(tmp_path / "one") == files_in(tmp_path / "two") == files_in(tmp_path / "three")
    assert len(parts) > 1
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").glob("part-*")} == parts


def test_an_error_of_a_worker_ends_the_call_and_parts_stay(models: dict[str, Path], tmp_path: Path) -> None:
    """A window is damaged once it was planned: the message is that of one process. Then the same call goes on."""
    model, parts, options = models["masked"], tmp_path / "parts", {"scorers": ("aul",), "limit": 200}
    team = api.workers(2, parts=parts)
    windows.plan_scores(model, RELEASES["masked"], ("aul",), limit=200, parts=parts)
    units = parts / "plan" / "units-00002.parquet"
    data = units.read_bytes()
    units.write_bytes(data[:-9])
    with pytest.raises(ResultError, match=r"units-00002.parquet is damaged"):
        score(model, RELEASES["masked"], tmp_path / "two", team, **options)
    units.write_bytes(data)
    kept = {path.name: path.stat().st_mtime_ns for path in parts.glob("part-*")}
    score(model, RELEASES["masked"], tmp_path / "two", team, **options)
    score(model, RELEASES["masked"], tmp_path / "one", 1, **options)

    assert files_in(tmp_path / "two") == files_in(tmp_path / "one")
    assert {name: (parts / name).stat().st_mtime_ns for name in kept} == kept


def test_a_folder_that_cannot_be_written_is_told_before_scoring(models: dict[str, Path], tmp_path: Path) -> None:
    """No window is answered for a result that has no place."""
    (tmp_path / "out").write_text("a file")
    team = api.workers(2, parts=tmp_path / "parts")
    with pytest.raises(ResultError, match=r"cannot write results to .*: .* is not a folder that you can write to"):
        score(models["masked"], RELEASES["masked"], tmp_path / "out", team, scorers="aul", limit=100)
    assert not [*(tmp_path / "parts").glob("part-*")]


def test_fewer_windows_than_workers_are_told(models: dict[str, Path], tmp_path: Path) -> None:
    told: list[str] = []
    score(models["masked"], RELEASES["masked"], tmp_path, 9, scorers="aul", limit=60, say=told.append)

    assert "2 windows for 9 workers: 2 workers will do" in told


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scorers": "weat", "release": "association@1.1.1"}, "score it as a whole"),
        ({"workers": 0}, "^workers=0: expected a number from 1, or 'auto'$"),
    ],
)
def test_what_workers_cannot_do_is_refused_in_a_sentence(
    models: dict[str, Path], tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    asked = {"release": "sssb@1.1.0", "workers": 2, "out": tmp_path, **given}
    with pytest.raises(SenseprobeError, match=message):
        score(models["masked"], **asked)


def test_a_served_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"is behind a server, .*: score it as a whole$"):
        senseprobe.score("openai:http://127.0.0.1:9/v1#m", "sssb@1.1.0", workers=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "dask"}, "unknown engine dask"),
        ({"address": "auto"}, "^--engine processes does not take --address: leave it out$"),
        ({"engine": "ray", "devices": ["cuda:0"]}, "^--engine ray does not take --devices: leave it out$"),
        ({"gpus_per_worker": 1}, "^--engine processes does not take --gpus-per-worker"),
    ],
)
def test_options_that_an_engine_does_not_have_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SenseprobeError, match=message):
        api.workers(2, **options)


COMMAND = """
import sys
from senseprobe.api import scoring_jobs
from senseprobe.cli.application import main
from senseprobe.evaluate.scorers import base

base.WINDOW = 64
scoring_jobs.read_today = lambda: "2026-11-23"
main()
"""


def start(model: Path, out: Path, *options: str) -> "subprocess.Popen[str]":
    """Start `senseprobe score` in a group of processes of its own, as a terminal does."""
    words = ["score", str(model), RELEASES["masked"], "-s", "aul", "--out", str(out), "--no-store", *options]
    command = [sys.executable, "-P", "-c", COMMAND, *words]
    return subprocess.Popen(command, process_group=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_command_that_is_stopped_goes_on(models: dict[str, Path], tmp_path: Path, number: signal.Signals) -> None:
    """With its parts in the cache: the same line, once more, computes what is left, and writes the same bytes."""
    one = start(models["masked"], tmp_path / "one")
    _, error = one.communicate()
    assert one.returncode == 0, error
    two = start(models["masked"], tmp_path / "two", "--workers", "2")
    parts = tmp_path / "cache" / "senseprobe" / "parts"
    while len(found := [*parts.glob("*/part-*.parquet")]) < 2:
        assert two.poll() is None, two.communicate()
        time.sleep(0.01)
    os.killpg(two.pid, number)
    _, error = two.communicate()
    first = {path: path.stat().st_mtime_ns for path in found}
    if number == signal.SIGINT:
        assert (two.returncode, error.splitlines()[-1].endswith("and the same command continues there")) == (2, True)
    assert not (tmp_path / "two").exists()
    kept = len([*parts.glob("*/part-*.parquet")])

    again = start(models["masked"], tmp_path / "two", "--workers", "2")
    while again.poll() is None and all(path.exists() for path in first):
        assert {path: path.stat().st_mtime_ns for path in first if path.exists()}.items() <= first.items()
        time.sleep(0.01)
    _, error = again.communicate()
    assert again.returncode == 0, error
    assert kept >= 2
    assert "Traceback" not in error
    assert files_in(tmp_path / "two") == files_in(tmp_path / "one")
    assert not any(parts.iterdir())


def test_workers_answer_windows_as_planned(models: dict[str, Path], tmp_path: Path) -> None:
    """A plan of windows of 64 units is taken as it is by workers, whose own windows have 65,536."""
    planned = windows.plan_scores(models["masked"], "sssb@1.1.0:noun", parts=tmp_path)

    assert planned.windows == len(worker.missing_windows(tmp_path)) == -(-planned.units // 64)
