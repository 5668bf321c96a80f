"""All arms of mitigation over seeds, on what packages hold: the structure of Dev et al. (2020), Tables 7 to 10 and 15.

An inference model (decomposable attention) learns a part of `nli-train` on frozen GloVe vectors, once for each arm:

- none: the vectors as they are
- he-she, LEACE (list:gender), demonyms, adherents: removed before training, @train/test
- he-she, LEACE: removed after training, @test: the trained network, on the altered vectors at the same scale
- rand: K random directions instead, of which each is a control of each arm of its kind

All are scored on a sample of the probes of the paper and on `nli-control`; `compare --control` ranks the change of each
arm among the controls. This is not the paper: another corpus, another encoder, 50 dimensions, a sample of the probes.

    python benchmarks/mitigation.py [--vectors vectors:glove] [--seeds 2] [--controls 8] [--pairs 20000] [--epochs 3]
                                    [--jobs 2] [-o FOLDER] [--write FILE]

What is there is not made again: after an interruption the same command continues. Use another folder for other
settings. Pages of the comparisons are in FOLDER/pages; the tables and processor seconds are printed.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: each process has a core

import numpy as np

import senseprobe
from senseprobe.atomic_files import whole_folder, write_whole
from senseprobe.document import render_terminal
from senseprobe.evaluate.mitigation import api
from senseprobe.evaluate.mitigation.attention_files import load_attention, read_attention_config, write_attention
from senseprobe.evaluate.mitigation.attention_model import WordTable
from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.result import folder_of

REMOVALS: dict[str, dict[str, Any]] = {
    "he-she": {"direction": "he-she"},
    "leace": {"method": "leace", "labels": "list:gender"},
    "demonyms": {"direction": "list:demonyms"},
    "adherents": {"direction": "list:adherents:1"},
}
"""All of one dimension, so that all have the same controls; the paper removes two of adherents."""

AFTER_TRAINING = ("he-she", "leace")
FIGURES = {"nn": "NN", "fn": "FN", "t@0.5": "T:0.5", "t@0.7": "T:0.7", "gap": "gap"}

CONTROL = ("nli-control@1.0.2", 2000)
"""The release that says whether a model infers, and how many rows of it are scored."""

PROBES = "dev2020-sample"
CARD = """\
title: A sample of the probes of Dev et al. 2020
summary: The words of nli-occupation, nli-nationality and nli-religion in few activities.
license: CC-BY-4.0
languages: [en]
citation: dev2020
canary: "senseprobe:dev2020-sample:8d6f3a52-40b1-4c0e-9d53-2f1c0b7a6e11"
content_warning: The sentences do not state stereotypes, but the answers of models may.
construct: Whether a model of natural language inference infers a gender, a nationality or a religion.
groups: [women, men, people of nationalities, people of religions]
intended_use: Comparing a model with itself before and after directions were removed from its vectors.
out_of_scope: Training; certifying a model as unbiased; comparisons with the paper.
who_could_be_harmed: People whom a model associates with an occupation or a quality, if a score permits its use.
equivalence: {margin: 5, reason: "a convention, as in nli-occupation; a bound based on harm is not known"}
configs: [occupation, nationality, religion]
"""
CONFIG = """\
---
kind: inference
bias_type: {bias_type}
construct: {bias_type} that a model infers
description: A sample of {source}, with the same words in few activities.
source: dev2020
slots:
  verb:    {{list: nli_verbs, where: {{word: bought}}}}
  object:  {{list: nli_objects, where: {{word: [watch, coat, bed, car]}}}}
  who:     {{list: {who}}}
  other:   {{list: {other}}}
roles:
  premise:    {{subject: who}}
  hypothesis: {{subject: other}}
target: subject
gold: neutral
columns: {{{columns}}}
generalise: [who, other, object]
expect: {{pairs: {pairs}, reason: "a sample: four activities"}}
accept:
  W521: "the paper's lists have a few synonyms among many words; each word is a level, as in the paper"
  W403: "as published: actor and waiter are in the released list"
---
The {{{{ subject }}}}{noun} {{{{ verb }}}} {{{{ object | a }}}}.
"""
CONFIGS = {
    "occupation": {
        "bias_type": "gender", "source": "nli-occupation", "who": "nli_occupations", "other": "nli_gendered",
        "columns": "gender: other.gender, pair: other.pair", "pairs": 3936, "noun": "",
    },
    "nationality": {
        "bias_type": "nationality", "source": "nli-nationality", "who": "nli_polarity",
        "other": "nli_demonyms, where: {split: test}",
        "columns": "polarity: who.polarity", "pairs": 3200, "noun": " person",
    },
    "religion": {
        "bias_type": "religion", "source": "nli-religion", "who": "nli_polarity",
        "other": "nli_adherents, where: {split: test}",
        "columns": "polarity: who.polarity", "pairs": 1700, "noun": " person",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Arm:
    """What is removed ("" for nothing), and whether before or after training."""

    removal: str
    when: str = "train"

    @property
    def name(self) -> str:
        """The name of its models."""
        return f"{self.removal}-{self.when}" if self.removal else "none"


# --- what all arms share ----------------------------------------------------------------------------------------------


def write_corpus(path: Path, pairs: int) -> None:
    """Write a random part of nli-train as JSON lines, the same for all arms."""
    if path.exists():
        return
    release = senseprobe.load("nli-train")
    rows = [row for config in release.configs for row in _rows(release, config)]
    chosen = np.random.default_rng(0).permutation(len(rows))[:pairs]
    write_whole(path, "".join(f"{json.dumps(rows[number])}\n" for number in sorted(chosen)).encode())


def _rows(release: Any, config: str) -> list[dict[str, str]]:  # noqa: ANN401 - of the API
    columns = ["premise", "hypothesis", "gold"]
    table: list[dict[str, str]] = release.to_pandas(config)[columns].astype(str).to_dict("records")
    return table


def build_probes(project: Path) -> Path:
    """Build the release of probes in a project, and return its folder."""
    release = project / "releases" / PROBES / "1.0.0"
    if not release.exists():
        templates = project / "templates" / PROBES
        templates.mkdir(parents=True, exist_ok=True)
        (project / "senseprobe.toml").touch()
        (templates / "dataset.yaml").write_text(CARD, encoding="utf-8")
        for name, words in CONFIGS.items():
            (templates / f"{name}.j2").write_text(CONFIG.format(**words), encoding="utf-8")
        here = Path.cwd()
        os.chdir(project)
        try:
            senseprobe.build(PROBES, "1.0.0")
        finally:
            os.chdir(here)
    return release


def remove_directions(vectors: str, folder: Path, controls: int) -> dict[str, str]:
    """Make the altered files of vectors, and return how each is named; random ones are controls of rank 1."""
    specs = {"": vectors}
    for name, options in REMOVALS.items():
        out = folder / name
        count = controls if name == "he-she" else 0
        if not out.exists():
            print(f"removing {name}", flush=True)
            print(_render(api.debias(vectors, out, controls=count, **options)), flush=True)
        specs[name] = f"vectors:{out}"
    specs |= {path.name: f"vectors:{path}" for path in sorted(folder.glob("he-she-random-*"))}
    return specs


def _render(report: Any) -> str:  # noqa: ANN401 - of the room
    return "\n".join(map(str, render_terminal(report.section())))


# --- an arm -----------------------------------------------------------------------------------------------------------


def run_arm(task: tuple[int, Arm, str], root: Path, probes: Path, epochs: int) -> float:
    """Train or alter the model of an arm, score it, and return processor seconds."""
    began = time.process_time()
    seed, arm, vectors = task
    model = model_of(root, seed, arm)
    if not model.exists():
        model.parent.mkdir(parents=True, exist_ok=True)
        if arm.when == "train":
            corpus = root / "corpus.jsonl"
            api.train_nli(corpus, vectors, model, license_="CC-BY-4.0", seed=seed, epochs=epochs, say=_say_nothing)
        else:
            put_vectors(model.with_name("none"), vectors, model)
    results = root / "results" / f"seed-{seed}"
    if not result_of(root, seed, arm).exists():
        senseprobe.score(str(model), str(probes), "nli", out=results, control=False, store=False, say=_say_nothing)
    if not result_of(root, seed, arm, *CONTROL).exists():
        name, limit = CONTROL
        senseprobe.score(str(model), name, "nli", out=results, limit=limit, store=False, say=_say_nothing)
    return time.process_time() - began


def _say_nothing(_: str) -> None:
    pass


def put_vectors(trained: Path, vectors: str, out: Path) -> None:
    """Write a copy of a trained model that reads other vectors, divided by the same number."""
    network = load_attention(str(trained)).network
    words = WordTable(VectorFile.load(vectors), read_attention_config(trained).scale)
    with whole_folder(out) as folder:
        write_attention(folder, network, words)


def model_of(root: Path, seed: int, arm: Arm) -> Path:
    """Return the folder of a model."""
    return root / "models" / f"seed-{seed}" / arm.name


def result_of(root: Path, seed: int, arm: Arm, release: str = f"{PROBES}@1.0.0", limit: int | None = None) -> Path:
    """Return where the result of an arm on a release is."""
    folder = folder_of(root / "results" / f"seed-{seed}", release, str(model_of(root, seed, arm)))
    return folder / f"nli{'' if limit is None else f'.limit{limit}'}.json"


# --- tables -----------------------------------------------------------------------------------------------------------


def print_tables(root: Path, probes: Path, vectors: str, seeds: int, controls: Sequence[str]) -> Iterator[str]:
    """Yield the tables, each under the number that the paper's has."""
    yield f"Table 7 in structure: directions of {vectors}\n"
    yield _render(api.measure_directions(vectors))
    for title, kind, arms in (
        ("Table 8 in structure: gender, removed @train/test", "occupation", [Arm("he-she"), Arm("leace")]),
        ("Table 9 in structure: nationality, removed @train/test", "nationality", [Arm("demonyms")]),
        ("Table 9 in structure: religion, removed @train/test", "religion", [Arm("adherents")]),
        ("Table 15 in structure: gender, removed @test", "occupation", [Arm("he-she", "test"), Arm("leace", "test")]),
    ):
        yield f"\n{title}\n"
        yield from compare_arms(root, probes, kind, arms, seeds, controls)
    yield "\nTable 10 in structure: right answers, of 100\n"
    yield from list_accuracies(root, seeds, controls)


def compare_arms(
    root: Path, probes: Path, kind: str, arms: Sequence[Arm], seeds: int, controls: Sequence[str]
) -> Iterator[str]:
    """Yield a table of arms: the mean over seeds, the change, that of the controls, and the rank in each seed."""
    figures = {key: head for key, head in FIGURES.items() if key != "gap" or kind == "occupation"}
    yield f"{'':34}" + "".join(f"{head:>18}" for head in figures.values())
    for number, arm in enumerate(arms):
        ranks = [rank_arm(root, probes, arm, seed, controls) for seed in range(seeds)]
        cells = {key: [rank[kind, key] for rank in ranks] for key in figures}
        rows = {
            "none": {key: f"{mean(rank.before for rank in of):.1f}" for key, of in cells.items()},
            arm.name: {key: f"{mean(rank.after for rank in of):.1f}" for key, of in cells.items()},
            "  change": {key: f"{mean(rank.change for rank in of):+.1f}" for key, of in cells.items()},
            f"  rand ({len(controls)}), mean": {
                key: f"{mean(value for rank in of for value in rank.controls):+.1f}" for key, of in cells.items()
            },
            "  rand, least to most": {key: _range(of) for key, of in cells.items()},
            "  p by seed": {key: " ".join(f"{rank.p:.2f}" for rank in of) for key, of in cells.items()},
        }
        for name, row in [*rows.items()][min(number, 1) :]:
            yield f"{name:34}" + "".join(f"{text:>18}" for text in row.values())


def _range(ranks: Sequence[Any]) -> str:
    values = [value for rank in ranks for value in rank.controls]
    return f"{min(values):+.1f} to {max(values):+.1f}"


def rank_arm(root: Path, probes: Path, arm: Arm, seed: int, controls: Sequence[str]) -> dict[tuple[str, str], Any]:
    """Return the ranks of an arm's change among controls, by config and figure; write the page of the comparison."""
    others = [Arm(name, arm.when) for name in controls]
    files = [result_of(root, seed, each) for each in (Arm(""), arm, *others)]
    page = root / "pages" / f"{arm.name}-seed-{seed}.html"
    page.parent.mkdir(exist_ok=True)
    before, after, *control = [str(file) for file in files]
    compared = senseprobe.compare(before, after, out=page, release=[str(probes)], control=control)
    return {(rank.config, rank.estimand): rank for rank in compared.ranks if rank.group is None}


def list_accuracies(root: Path, seeds: int, controls: Sequence[str]) -> Iterator[str]:
    """Yield right answers on pairs held out of the corpus, and on nli-control by config: means over seeds."""
    names = ("held out", "control: occupation", "nationality", "religion")
    yield f"{'':34}" + "".join(f"{name:>20}" for name in names)
    arms = [Arm(""), *map(Arm, REMOVALS), *(Arm(name, "test") for name in AFTER_TRAINING)]
    groups = [(arm.name, [arm]) for arm in arms]
    groups += [
        (f"rand-{when}, mean of {len(controls)}", [Arm(c, when) for c in controls]) for when in ("train", "test")
    ]
    for name, group in groups:
        shares = [read_accuracies(root, seed, arm) for seed in range(seeds) for arm in group]
        means = [[part for share in shares if (part := share[at]) is not None] for at in range(len(names))]
        yield f"{name:34}" + "".join(f"{mean(of):20.1f}" if of else f"{'':>20}" for of in means)


def read_accuracies(root: Path, seed: int, arm: Arm) -> list[float | None]:
    """Return right answers of one model, of 100; None for held-out pairs where it was not trained."""
    record = model_of(root, seed, arm) / "training.json"
    held_out = 100 * json.loads(record.read_bytes())["dev_accuracy"]["all"] if record.exists() else None
    figures = json.loads(result_of(root, seed, arm, *CONTROL).read_bytes())["figures"]
    by_config = {each["config"]: each["value"] for each in figures if not each.get("group")}
    return [held_out, *(by_config[config] for config in CONFIGS)]


def main() -> None:
    """Run all arms, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", default="vectors:glove")
    for name, default in (("seeds", 2), ("controls", 8), ("pairs", 20_000), ("epochs", 3), ("jobs", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("-o", "--out", type=Path, default=Path("mitigation-arms"))
    parser.add_argument("--write", type=Path, help="write the tables to this file, too")
    options = parser.parse_args()
    began, seconds = time.monotonic(), time.process_time()
    root = options.out.resolve()
    root.mkdir(parents=True, exist_ok=True)

    write_corpus(root / "corpus.jsonl", options.pairs)
    probes = build_probes(root / "probes")
    specs = remove_directions(options.vectors, root / "vectors", options.controls)
    controls = [name for name in specs if "-random-" in name]
    trained = [(seed, Arm(name), spec) for seed in range(options.seeds) for name, spec in specs.items()]
    altered = [
        (seed, Arm(name, "test"), specs[name]) for seed in range(options.seeds) for name in (*AFTER_TRAINING, *controls)
    ]
    run = partial(run_arm, root=root, probes=probes, epochs=options.epochs)
    spent = 0.0
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for tasks in (trained, altered):
            for done, (task, used) in enumerate(zip(tasks, pool.map(run, tasks), strict=True), start=1):
                spent += used
                print(f"{done} of {len(tasks)}: seed {task[0]}, {task[1].name}, {used:.0f} s", flush=True)

    lines = []
    for line in print_tables(root, probes, options.vectors, options.seeds, controls):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        write_whole(options.write, "".join(f"{line}\n" for line in lines).encode())
    spent += time.process_time() - seconds
    print(f"\n{spent:.0f} processor seconds, {time.monotonic() - began:.0f} by the clock", flush=True)


if __name__ == "__main__":
    main()
