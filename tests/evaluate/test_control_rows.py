"""The control of inference, scored whole: it is preferred to any sample of it, and is not scored again.

Expected values by hand: all rows are more than those of any limit.
"""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.commands import fill_in
from tests.conformance import inference_models

from senseprobe import api
from senseprobe.cli.application import main
from senseprobe.evaluate.control import find_controls
from senseprobe.evaluate.result import Result, folder_of

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}
PROBE = Result(
    scorer="nli",
    model=MODEL,
    release={"name": "nli-religion@1.0.1", "content": "0" * 64, "config": None},
    senseprobe="0",
    seed=0,
    figures=(),
)


def control(limit: int | None, of: Result = PROBE) -> Result:
    """A result of the same model on the control, of so many rows."""
    return replace(of, release={**of.release, "name": "nli-control@1.0.1"}, limit=limit, figures=(), unscored={})


@pytest.mark.parametrize("limit", [1, 2_000, 2_500, 1_000_000])
def test_a_whole_control_is_taken_before_a_sample_of_it(limit: int, tmp_path: Path) -> None:
    """However many rows were drawn, all of them are more."""
    folder = folder_of(tmp_path, "nli-control@1.0.1", "org/model")
    for part in (limit, None):
        control(part).write(folder)
    found = find_controls(folder_of(tmp_path, "nli-religion@1.0.1", "org/model"), PROBE)
    assert [each.limit for each in found] == [None]


def test_of_two_samples_the_larger_is_taken(tmp_path: Path) -> None:
    """2,500 rows before 2,000."""
    folder = folder_of(tmp_path, "nli-control@1.0.1", "org/model")
    for part in (2_500, 2_000):
        control(part).write(folder)
    found = find_controls(folder_of(tmp_path, "nli-religion@1.0.1", "org/model"), PROBE)
    assert [each.limit for each in found] == [2_500]


@pytest.mark.parametrize("beside_it", [None, 2_500])
def test_a_whole_control_is_not_scored_again(
    beside_it: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probes are shown with the result that is there, alone or beside a sample; the control gets no new file."""
    import torch

    monkeypatch.chdir(tmp_path)
    for command in (["init", "mine"], ["new", "jobs/tools", "--kind", "inference"], ["build", "jobs", "1.0.0"]):
        if command[0] == "build":
            fill_in(Path())
        monkeypatch.setattr(sys, "argv", ["senseprobe", *command])
        with pytest.raises(SystemExit, match=r"^0$"):
            main()
        monkeypatch.chdir(tmp_path / "mine")
    torch.set_num_threads(1)
    monkeypatch.setattr(inference_models, "MODELS", {"bert": inference_models.MODELS["bert"]})
    inference_models.build(tmp_path)
    (probe,) = api.score("../bert", "jobs@1.0.0", limit=10, control=False)
    whole = control(None, probe)
    folder = folder_of(Path("results"), "nli-control@1.0.1", "../bert")
    before = {whole.write(folder)}
    if beside_it is not None:
        before.add(control(beside_it, probe).write(folder))
    _, found = api.score("../bert", "jobs@1.0.0", limit=10, out=Path("results"), control=True)
    assert (found.limit, found.signature) == (None, whole.signature)
    assert {*folder.glob("*.json")} == before
