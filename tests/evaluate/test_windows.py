"""Scoring in parts: five shards, joined, make the bytes of one process, whatever the scorer."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from tests.commands import fill_in
from tests.conformance import causal_models, inference_models

from senseprobe import api
from senseprobe.api import windows
from senseprobe.cli.application import main
from senseprobe.errors import ModelError
from senseprobe.evaluate import control
from senseprobe.evaluate.scorers import base, get
from senseprobe.evaluate.windows import row_numbers, streamed_join, worker
from senseprobe.evaluate.windows.joining import join_parts
from senseprobe.evaluate.windows.plan_form import read_plan
from senseprobe.evaluate.windows.row_numbers import RowStream

SHARDS = 5


@pytest.fixture(scope="module")
def models(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny models: masked, causal and of inference."""
    folder = tmp_path_factory.mktemp("windows")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(causal_models, "MODELS", {"gpt2": causal_models.MODELS["gpt2"]})
        patch.setattr(inference_models, "MODELS", {"bert": inference_models.MODELS["bert"]})
        causal = causal_models.build(folder / "causal")
        inference = inference_models.build(folder / "inference")
    return {"masked": tiny_models["bert"], "causal": causal["gpt2"], "inference": inference["bert"]}


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of 64 units, so that small releases have several; and the same day throughout."""
    monkeypatch.setattr(base, "WINDOW", 64)
    monkeypatch.setattr("senseprobe.api.scoring_jobs.read_today", lambda: "2026-11-23")


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


CASES = [
    ("masked", "sssb@1.1.0:noun", ("aul",), {}),
    ("masked", "sssb@1.1.0", ("aul", "aula", "aula-renormalised", "cps"), {"limit": 250}),
    ("causal", "sssb@1.1.0", ("ll",), {"limit": 250}),
    ("causal", "sssb@1.1.0:noun", ("ll", "ll-mean", "ll-byte-no-start"), {}),
    ("inference", "nli-control@1.0.1", ("nli",), {"limit": 200}),
]


@pytest.mark.parametrize(("kind", "release", "scorers", "options"), CASES)
def test_shards_make_the_bytes_of_one_process(
    kind: str,
    release: str,
    scorers: tuple[str, ...],
    options: dict[str, Any],
    models: dict[str, Path],
    tmp_path: Path,
) -> None:
    """Results and their tables are the same files, of each scorer, and of the control of inference."""
    model = str(models[kind])
    api.score(model, release, scorers, out=tmp_path / "whole", store=False, **options)
    windows.plan_scores(model, release, scorers, parts=tmp_path / "parts", **options)
    assert len(read_plan(tmp_path / "parts").windows) > 1
    for shard in range(SHARDS):
        windows.score_shard(tmp_path / "parts", shard, SHARDS)
    assert worker.missing_windows(tmp_path / "parts") == ()
    windows.join_scores(tmp_path / "parts", out=tmp_path / "joined")
    assert files_in(tmp_path / "joined") == files_in(tmp_path / "whole")


@pytest.mark.parametrize("rows", [100, 7, 10**6])
def test_rows_stream_as_they_are_scored(rows: int, models: dict[str, Path], tmp_path: Path) -> None:
    """Rows with their numbers, by ranges of any size, are those of the result, in order; and so are those without."""
    from senseprobe.api.scoring_jobs import make_job

    options: dict[str, Any] = {"parts": tmp_path / "parts"}
    windows.plan_scores(str(models["masked"]), "sssb@1.1.0", ("log-odds", "aul"), **options)
    windows.score_shard(tmp_path / "parts", 0, 1)
    results = windows.join_scores(tmp_path / "parts")
    job, joined = make_job("sssb@1.1.0", 0, None), join_parts(tmp_path / "parts")
    for result in results:
        stream = RowStream(joined, job, get(result.scorer), rows=rows)
        frames = [frame.assign(config=config) for config, frame in stream]
        assert result.rows is not None
        assert_frame_equal(pd.concat(frames, ignore_index=True)[[*result.rows]], result.rows)
        assert stream.unscored() == result.unscored
    assert any(result.unscored for result in results)


def test_the_control_of_inference_is_planned_and_joined(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probes say nothing without it: its windows are answered, too, and its result is the same file."""
    monkeypatch.setattr(control, "ROWS", 150)
    monkeypatch.chdir(tmp_path)
    for command in (["init", "mine"], ["new", "jobs/tools", "--kind", "inference"], ["build", "jobs", "1.0.0"]):
        if command[0] == "build":
            fill_in(Path())
        monkeypatch.setattr(sys, "argv", ["senseprobe", *command])
        with pytest.raises(SystemExit, match=r"^0$"):
            main()
        monkeypatch.chdir(tmp_path / "mine")
    model = str(models["inference"])
    assert len(api.score(model, "jobs@1.0.0", out="whole", store=False)) == 2
    windows.plan_scores(model, "jobs@1.0.0", parts="parts")
    assert [job.release.name for job in read_plan(Path("parts")).plan.jobs] == ["jobs@1.0.0", "nli-control@1.0.1"]
    windows.score_shard("parts", 0, 1)
    assert len(windows.join_scores("parts", out="joined")) == 2
    assert files_in(Path("joined")) == files_in(Path("whole"))
    (probe,) = windows.join_scores("parts", out="joined")[:1]  # where the control is there already, it is taken
    assert probe.rows is not None


def test_a_coarse_number_format_is_counted_as_in_one_process(models: dict[str, Path], tmp_path: Path) -> None:
    """The rows that bfloat16 turns around are those of the model in float32, which `join` loads for a sample."""
    model = api.model(str(models["masked"]), dtype="bfloat16")
    (whole,) = api.score(model, "sssb@1.1.0:noun", "aul", out=tmp_path / "whole", store=False)
    assert whole.coarse is not None
    windows.plan_scores(model, "sssb@1.1.0:noun", "aul", parts=tmp_path / "parts")
    windows.score_shard(tmp_path / "parts", 0, 1, model=model)
    windows.join_scores(tmp_path / "parts", out=tmp_path / "joined")
    assert files_in(tmp_path / "joined") == files_in(tmp_path / "whole")


def test_no_weights_are_read_to_join(models: dict[str, Path], tmp_path: Path) -> None:
    """The model's folder has none any more, and its place is another; but its tokenizer has to be the same."""
    model = Path(shutil.copytree(models["causal"], tmp_path / "model"))
    windows.plan_scores(str(model), "sssb@1.1.0:noun", "ll", parts=tmp_path / "parts")
    windows.score_shard(tmp_path / "parts", 0, 1)
    (model / "model.safetensors").unlink()
    (result,) = windows.join_scores(tmp_path / "parts")
    assert result.fitness["noun"].first_token is not None
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"n_positions": 7, "max_position_embeddings": 7}))
    with pytest.raises(ModelError, match=r"the tokenizer of .* is not that of its parts"):
        windows.join_scores(tmp_path / "parts")


@pytest.mark.system
def test_shards_of_a_real_model_make_the_bytes_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SmolLM2 on the 21 distinct sentences of sssb:race, four at a time. Needs a package of PyPI, or its folder."""
    monkeypatch.setattr(base, "WINDOW", 4)
    packages = os.environ["SENSEPROBE_TEST_PACKAGES"]
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": packages, "XDG_CACHE_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    model = str(api.fetch("smollm2", say=lambda _: None).folder)
    api.score(model, "sssb@1.1.0:race", "ll", out=tmp_path / "whole", store=False)
    windows.plan_scores(model, "sssb@1.1.0:race", "ll", parts=tmp_path / "parts")
    assert len(read_plan(tmp_path / "parts").windows) == 6
    for shard in range(SHARDS):
        windows.score_shard(tmp_path / "parts", shard, SHARDS)
    windows.join_scores(tmp_path / "parts", out=tmp_path / "joined")
    assert files_in(tmp_path / "joined") == files_in(tmp_path / "whole")


STREAMED: list[tuple[str, str, tuple[str, ...], dict[str, Any]]] = [
    ("masked", "sssb@1.1.0", ("aul", "cps"), {}),
    ("coarse", "sssb@1.1.0:noun", ("aul",), {}),
    ("causal", "sssb@1.1.0", ("ll", "ll-no-start"), {}),
    ("inference", "nli-control@1.0.1:religion", ("nli",), {"control": False}),
]


@pytest.mark.parametrize(("kind", "release", "scorers", "options"), STREAMED)
def test_rows_that_come_in_parts_make_the_bytes_of_a_table(
    kind: str,
    release: str,
    scorers: tuple[str, ...],
    options: dict[str, Any],
    models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Results, scores and tokens are the same files, whether a job's rows are in a table or come in parts."""
    monkeypatch.setattr(base, "WINDOW", 4_096)
    model = api.model(str(models["masked"]), dtype="bfloat16") if kind == "coarse" else str(models[kind])
    windows.plan_scores(model, release, scorers, parts=tmp_path / "parts", **options)
    windows.score_shard(tmp_path / "parts", 0, 1, model=model)
    windows.join_scores(tmp_path / "parts", out=tmp_path / "whole")
    monkeypatch.setattr(streamed_join, "MOST_ROWS", 0)
    monkeypatch.setattr(row_numbers, "ROWS_AT_ONCE", 501)
    results = windows.join_scores(tmp_path / "parts", out=tmp_path / "streamed")
    assert all(result.rows is None and result.scored.read_parts is not None for result in results)
    assert files_in(tmp_path / "streamed") == files_in(tmp_path / "whole")
