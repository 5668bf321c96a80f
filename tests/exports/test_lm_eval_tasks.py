"""Tasks for lm-eval: what is written, and that lm-eval itself gives the numbers that `ll` gives.

Expected values come from lm-eval 0.4.13, run as it is; from a release's table, filtered by hand; from sha256.
"""

import csv
import hashlib
import json
import math
import os
import runpy
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import pytest
import yaml  # type: ignore[import-untyped]
from typer.testing import CliRunner

from senseprobe import api
from senseprobe.cli.application import app
from senseprobe.errors import ReleaseError, SenseprobeError
from senseprobe.evaluate.exports.lm_eval_tasks import export
from senseprobe.evaluate.result import Result
from senseprobe.release.release import Release

# A model or tokenizer of transformers, which ships no types that are of use.
Foreign: TypeAlias = Any

TESTS = Path(__file__).parents[1]
CONFORMANCE = TESTS / "conformance"
ODD = [
    ("Japanese people are unkind.", "Norwegian people are unkind."),
    ("日 people are kind.", "本 people are kind."),
    ("{{ 7 * 7 }} people are kind.", "{{ 7 * 8 }} people are kind."),
    ("!function os.getcwd", "!!python/name:os.getcwd"),
    ('He said "no": don\'t \\n.', 'She said "no": don\'t \\n.'),
    ("café owners are kind.", "cafe\u0301 owners are kind."),
    ('["he", 1]', '["she", 1]'),
    ("1", "0"),
    ("people are kind", " people  are kind, and unkind"),
]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release of the pairs above: `stereo`, then `anti`, without white space around them."""
    folder = tmp_path_factory.mktemp("odd")
    with (folder / "odd.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", "sent_more", "sent_less", "stereo_antistereo", "bias_type"])
        writer.writerows([i, *pair, "stereo", "nationality"] for i, pair in enumerate(ODD))
    release, _ = api.import_release("crows-pairs", [folder / "odd.csv"], "odd", "1.0.0", "MIT", folder)
    return release


def _data(folder: Path, config: str) -> list[dict[str, Any]]:
    """The rows of a task, as lm-eval reads them: with `datasets`, from what the task names."""
    import datasets

    task = yaml.safe_load((folder / f"{config}.yaml").read_text("utf-8"))
    files = {"test": str(folder / task["dataset_kwargs"]["data_files"]["test"])}
    loaded = datasets.load_dataset(task["dataset_path"], data_files=files, cache_dir=str(folder.parent / "cache"))
    return [dict(row) for row in loaded["test"]]


def test_rows_are_those_that_preference_is_about(tmp_path: Path) -> None:
    """Of noun's 186 pairs 4 are contested, of verb's 146 the labels of 6 rest on nothing: 182 and 140, in order."""
    release = api.load("sssb@1.0.0")
    exported = export(release, None, tmp_path / "tasks")
    tasks = {task.config: task for task in exported.tasks}

    assert [*tasks] == [*release.configs]
    assert (tasks["noun"].rows, dict(tasks["noun"].left_out)) == (182, {"contested": 4})
    assert (tasks["verb"].rows, dict(tasks["verb"].left_out)) == (140, {"unlabelled": 6})
    for config in ("noun", "verb"):
        table = release.table(config)
        table = table[~table["contested"] & (table["label_basis"] != "none")]
        expected = [(row.id, [row.anti, row.stereo]) for row in table.itertuples()]
        rows = _data(tmp_path / "tasks", config)
        assert [(row["id"], row["choices"]) for row in rows] == expected
        assert {row["canary"] for row in rows} == {release.manifest.data["card"]["canary"]}


def test_texts_arrive_as_they_are(odd: Release, tmp_path: Path) -> None:
    """Braces, quotes, tags of YAML and characters beyond ASCII are data, and nothing else."""
    export(odd, None, tmp_path / "tasks")
    texts = {text.strip() for pair in ODD for text in pair}
    assert {text for row in _data(tmp_path / "tasks", "pairs") for text in row["choices"]} == texts


def test_tasks_say_what_they_are_made_of(tmp_path: Path) -> None:
    """All of a task's YAML, read as lm-eval reads it, but with a loader that would refuse any tag."""
    release = api.load("sssb@1.0.0")
    folder = tmp_path / "tasks"
    exported = export(release, None, folder)
    facts = release.manifest.config("race")
    (file,) = folder.glob("race-????????????.jsonl")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    canary = "senseprobe:sssb:6f0d3e4a-9a57-4c36-8f0e-5b3c1d7a2e91"
    common = {
        "version": "1.0.0",
        "release": "sssb@1.0.0",
        "release_content": release.manifest.content,
        "canary": canary,
    }

    assert file.name == f"race-{digest[:12]}.jsonl"
    assert yaml.safe_load((folder / "race.yaml").read_text("utf-8")) == {
        "task": "senseprobe_sssb_1.0.0_race",
        "task_alias": "sssb@1.0.0:race",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": file.name}},
        "output_type": "multiple_choice",
        "test_split": "test",
        "doc_to_text": "",
        "doc_to_choice": "choices",
        "doc_to_target": 1,
        "target_delimiter": "",
        "num_fewshot": 0,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": None}],
        "metadata": common
        | {
            "config": "race",
            "config_content": facts["content"],
            "data_sha256": digest,
            "rows": 108,
            "left_out": {},
            "figure": "preference of ll = 100 * acc - 50",
            "neutral": "none known",
        },
    }
    assert yaml.safe_load((folder / "noun.yaml").read_text("utf-8"))["metadata"]["neutral"] == "none known"
    assert yaml.safe_load((folder / "_group.yaml").read_text("utf-8")) == {
        "group": "senseprobe_sssb_1.0.0",
        "group_alias": "sssb@1.0.0",
        "task": [f"senseprobe_sssb_1.0.0_{config}" for config in release.configs],
        "metadata": common,
    }
    told = (folder / "README.md").read_text("utf-8")
    assert f"--tasks {exported.name} " in told
    assert all(word in told for word in ("CC-BY-4.0", canary, release.manifest.content))


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_release_makes_the_same_bytes(tmp_path: Path) -> None:
    """Wherever the folder is; and a config alone is what it is among the others, without a group."""
    release = api.load("sssb@1.0.0")
    export(release, None, tmp_path / "a")
    export(release, None, tmp_path / "elsewhere" / "b")
    alone = export(release, "verb", tmp_path / "c")
    whole, again, verb = (_files(folder) for folder in (tmp_path / "a", tmp_path / "elsewhere" / "b", tmp_path / "c"))

    assert whole == again
    assert alone.name == "senseprobe_sssb_1.0.0_verb"
    assert {name for name in verb if name != "README.md"} == {name for name in whole if name.startswith("verb")}
    assert all(whole[name] == data for name, data in verb.items() if name != "README.md")
    assert not any(str(tmp_path).encode() in data for data in whole.values())


def test_what_cannot_be_exported_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message; no folder is made, overwritten, or left half-written."""
    sssb = api.load("sssb@1.0.0")
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(SenseprobeError, match=r"taken exists and is not overwritten: choose a new folder with --out"):
        export(sssb, None, taken)
    with pytest.raises(SenseprobeError, match=r"cannot write .*file/below"):
        export(sssb, None, tmp_path / "file" / "below")
    with pytest.raises(SenseprobeError, match=r"nli-control@1\.0\.0 .*occupation: inference rows"):
        export(api.load("nli-control@1.0.0"), None, tmp_path / "none")
    with pytest.raises(SenseprobeError, match=r"unbleached: association rows, for which lm-eval .*\)"):
        export(api.load("association@1.1.0"), None, tmp_path / "none")
    with pytest.raises(ReleaseError, match="has no config 'nouns'"):
        export(sssb, "nouns", tmp_path / "none")

    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SenseprobeError, match=r"No space left on device; nothing was changed"):
        export(sssb, None, tmp_path / "none")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_config_without_labels_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """lm-eval stops at a task without rows, so there is none, and that is said; a release without any is refused."""
    whole = Release.table

    def unlabelled(release: Release, config: str) -> pd.DataFrame:
        table = whole(release, config)
        return table.assign(label_basis="none") if config in without else table

    without = {"race", "colour"}
    monkeypatch.setattr(Release, "table", unlabelled)
    told = CliRunner().invoke(app, ["export", "lm-eval", "sssb@1.0.0", "--out", str(tmp_path / "tasks")])
    assert told.exit_code == 0, told.output
    assert "race is omitted: no labelled pair\ncolour is omitted: no labelled pair\n" in told.stderr
    group = yaml.safe_load((tmp_path / "tasks" / "_group.yaml").read_text("utf-8"))
    assert len(group["task"]) == 7
    assert not [*(tmp_path / "tasks").glob("race[.-][ya-f0-9]*"), *(tmp_path / "tasks").glob("colour*")]

    without |= {*api.load("sssb@1.0.0").configs}
    with pytest.raises(SenseprobeError, match=r"lm-eval .*\(nationality: no labelled pair; "):
        export(api.load("sssb@1.0.0"), None, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_command_says_what_was_written_and_how_to_run_it(tmp_path: Path) -> None:
    """In words and as JSON; a program that there is no export for is misuse."""
    run = CliRunner().invoke
    told = run(app, ["export", "lm-eval", "sssb@1.0.0", "--out", str(tmp_path / "a")])
    assert told.exit_code == 0, told.output
    assert "senseprobe_sssb_1.0.0_noun: 182 pairs; omitted: 4 contested" in told.output
    assert "lm_eval run --include_path . --tasks senseprobe_sssb_1.0.0 --model hf" in told.output
    listed = run(app, ["export", "lm-eval", "sssb@1.0.0:verb", "--out", str(tmp_path / "b"), "--json"])
    verb = {"task": "senseprobe_sssb_1.0.0_verb", "config": "verb", "rows": 140, "left_out": {"unlabelled": 6}}
    folder = str(tmp_path / "b")
    assert json.loads(listed.stdout) == {"folder": folder, "task": verb["task"], "tasks": [verb], "skipped": {}}
    assert run(app, ["export", "helm", "sssb@1.0.0", "--out", str(tmp_path / "c")]).exit_code == 2
    assert not (tmp_path / "c").exists()


def _scored(model: Path, release: Release) -> Result:
    (result,) = api.score(api.model(model, device="cpu", dtype="float64"), str(release.folder), ["ll"], store=False)
    return result


def _environment(tmp_path: Path) -> dict[str, str]:
    """Ours without our code, and without the network or the user's caches."""
    own = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | own


def _assert_same(result: Result, samples: Mapping[str, list[float]], config: str, bound: float) -> None:
    """Both numbers of every pair of a config."""
    assert result.rows is not None
    rows = result.rows[result.rows["config"] == config].set_index("id")
    for name, (anti, stereo) in samples.items():
        assert anti == pytest.approx(rows.loc[name, "anti_score"], rel=0, abs=bound), name
        assert stereo == pytest.approx(rows.loc[name, "stereo_score"], rel=0, abs=bound), name


def _preference(result: Result, config: str) -> float:
    (value,) = [f.value for f in result.figures if f.estimand == "preference" and f.config == config]
    assert value is not None
    return value


@pytest.mark.system
def test_lm_eval_gives_the_figures_and_the_numbers_of_ll(peers: Path, tmp_path: Path) -> None:
    """Its own command, on all of sssb, with a tiny seeded GPT-2: per pair and per config, to 1e-6."""
    import transformers

    made = runpy.run_path(str(CONFORMANCE / "causal_models.py"))
    tokenizer = made["_gpt2_tokenizer"]()
    sizes = {"n_positions": 128, "n_embd": 24, "n_layer": 3, "n_head": 2}  # sssb has sentences of 80 of these tokens
    model: Foreign = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=len(tokenizer), **sizes))
    made["_fill"](model, "gpt2 for sssb")
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "model")
    release = api.load("sssb@1.0.0")
    exported = export(release, None, tmp_path / "tasks")
    command = [
        *(str(peers.with_name("lm_eval")), "run", "--include_path", ".", "--tasks", exported.name),
        *("--model", "hf", "--model_args", f"pretrained={tmp_path / 'model'},dtype=float64", "--device", "cpu"),
        *("--batch_size", "32", "--output_path", str(tmp_path / "results"), "--log_samples"),
    ]
    done = subprocess.run(
        command, cwd=exported.folder, env=_environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

    result = _scored(tmp_path / "model", release)
    (summary,) = (tmp_path / "results").rglob("results_*.json")
    theirs = json.loads(summary.read_text("utf-8"))
    for task in exported.tasks:
        (log,) = (tmp_path / "results").rglob(f"samples_{task.name}_2*.jsonl")
        logged = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        samples = {line["doc"]["id"]: [float(value) for value, _ in line["filtered_resps"]] for line in logged}
        assert len(samples) == task.rows
        _assert_same(result, samples, task.config, 1e-6)
        accuracy = theirs["results"][task.name]["acc,none"]
        assert 100 * accuracy - 50 == pytest.approx(_preference(result, task.config), rel=0, abs=1e-6)
        assert theirs["configs"][task.name]["metadata"]["release_content"] == release.manifest.content
    assert theirs["higher_is_better"][exported.name] == {"acc": None}
    assert len({theirs["results"][task.name]["acc,none"] for task in exported.tasks}) >= 5


@pytest.mark.system
def test_the_same_for_every_kind_of_start_token_and_any_text(peers: Path, odd: Release, tmp_path: Path) -> None:
    """Models that begin with <s> of the tokenizer's, a token of their own, or an end token; pairs that are alike.

    lm-eval takes the first of two choices that are alike, which is `anti`, so that a tie counts as no preference.
    """
    folders = runpy.run_path(str(CONFORMANCE / "causal_models.py"))["build"](tmp_path / "models")
    del folders["gpt2-bare"]  # has no start token: lm-eval cannot begin, and `ll` is refused
    exported = export(odd, None, tmp_path / "tasks")
    asked = json.dumps({"task": exported.name, "models": {name: str(folder) for name, folder in folders.items()}})
    done = subprocess.run(
        [peers, TESTS / "peers" / "tasks.py"],
        input=asked,
        cwd=exported.folder,
        env=_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    ties = {}
    for name, found in json.loads(done.stdout.splitlines()[-1]).items():
        result = _scored(folders[name], odd)
        assert len(found["samples"]) == len(ODD)
        # These compute a part of what they do in single precision, where padding changes the last bits.
        _assert_same(result, found["samples"], "pairs", {"bloom": 2e-6, "mamba": 1e-4}.get(name, 1e-6))
        assert math.isclose(100 * found["acc"] - 50, _preference(result, "pairs"), rel_tol=0, abs_tol=1e-6)
        ties[name] = next(figure.ties for figure in result.figures if figure.estimand == "preference")
    # Llama's tokenizer here knows neither 日 nor 本; Qwen's makes one of é and of e with an accent.
    assert {name for name, count in ties.items() if count == 1} == {"llama-end", "qwen2"}
    assert sum(ties.values()) == 2
