"""How much memory `senseprobe score --limit` holds on a large release, beside what the libraries take alone.

A release of three lists (100 x 150 x 200 words: 3,000,000 rows) and a tiny masked model are made in a folder of their
own; then three processes run one after the other, each with one thread, and the most memory that each held (its peak
resident size, which the system measures) is printed:

- `libraries`: imports what a masked model is scored with, and does nothing;
- `small`: scores a release of 1,000 rows whole, with the same model;
- `large`: scores 1,000 rows that are drawn of the 3,000,000.

    python benchmarks/draw.py [--words 100 150 200] [--limit 1000] [--most 100] [--folder FOLDER]

Exits 1 where `large` holds more than `--most` MB (of 10^6 bytes) beside what `small` does, which scores as many rows. A
folder that is named is kept, and used again.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

DATASET = """
title: Large
summary: Many rows.
license: MIT
languages: [en]
citation: nobody
canary: "c"
content_warning: None.
construct: Nothing.
intended_use: Benchmarks.
out_of_scope: All else.
who_could_be_harmed: Nobody.
equivalence: {margin: 5, reason: None.}
configs: [job]
"""
TEMPLATE = """---
kind: contrast
bias_type: gender
construct: gender stereotype of a job
description: He against she.
source: nobody
slots:
  job: {list: jobs}
  town: {list: towns}
  day: {list: days}
roles:
  stereo: {pronoun: {list: pronouns, word: he}}
  anti:   {pronoun: {list: pronouns, word: she}}
target: job
sense: {type: noun}
label_basis: none
generalise: [job, town, day]
expect: {pairs: PAIRS}
---
{{ pronoun.subject | upfirst }} is the {{ job }} in {{ town }} on {{ day }}.
"""
LISTS = ("jobs", "towns", "days")
SMALL = (10, 10, 10)
LIBRARIES = "import senseprobe.api, senseprobe.evaluate.scoring, senseprobe.evaluate.models.masked"
MODEL = """
import string, sys
import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer
letters = [*string.ascii_lowercase, *string.digits, "."]
pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + letter for letter in letters)]
torch.manual_seed(0)
sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
BertForMaskedLM(BertConfig(vocab_size=len(pieces), **sizes)).save_pretrained(sys.argv[1])
BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)}).save_pretrained(sys.argv[1])
"""
PEAK = """
import resource, runpy, sys
sys.argv[:1] = []
try:
    runpy.run_module("senseprobe", run_name="__main__") if sys.argv[0] == "senseprobe" else exec(sys.argv[1])
finally:
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def main() -> int:
    """Make release and model, run the three processes, print what they held, and return the exit status."""
    options = _options()
    with ExitStack() as opened:
        folder = options.folder or Path(opened.enter_context(tempfile.TemporaryDirectory()))
        model = _model(folder / "model")
        small, large = (_release(folder / name, sizes) for name, sizes in (("small", SMALL), ("large", options.words)))
        _print("libraries", *_peak(["python", LIBRARIES]))
        held = {}
        for name, release in (("small", small), ("large", large)):
            held[name], seconds = _peak(_scoring(model, release, options.limit))
            _print(name, held[name], seconds)
    more = held["large"] - held["small"]
    print(f"large holds {more:,.0f} MB more than small, {'at most' if more <= options.most else 'over'} {options.most}")
    return 0 if more <= options.most else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, nargs=3, default=[100, 150, 200], help="how long the three lists are")
    parser.add_argument("--limit", type=int, default=1000, help="rows to draw")
    parser.add_argument("--most", type=int, default=100, help="MB that `large` may hold beside `small`")
    parser.add_argument("--folder", type=Path, help="where releases and model are made, and kept")
    return parser.parse_args()


def _model(folder: Path) -> Path:
    """A tiny BERT with random weights; made by a process of its own, so that this one stays small."""
    if not folder.is_dir():
        subprocess.run([sys.executable, "-P", "-c", MODEL, str(folder)], check=True, capture_output=True)
    return folder


def _release(project: Path, sizes: Sequence[int]) -> Path:
    """The release of three lists of so many words."""
    folder = project / "releases" / "large" / "1.0.0"
    if not folder.is_dir():
        _lay_out(project, sizes)
        subprocess.run([sys.executable, "-P", "-m", "senseprobe", "build", "large", "1.0.0"], check=True, cwd=project)
    return folder


def _lay_out(project: Path, sizes: Sequence[int]) -> None:
    for folder in ("templates/large", "wordlists", "releases"):
        (project / folder).mkdir(parents=True)
    (project / "senseprobe.toml").touch()
    (project / "templates" / "large" / "dataset.yaml").write_text(DATASET)
    pairs = sizes[0] * sizes[1] * sizes[2]
    (project / "templates" / "large" / "job.j2").write_text(TEMPLATE.replace("PAIRS", str(pairs)))
    (project / "wordlists" / "references.bib").write_text("@misc{nobody, title = {Nothing}}\n")
    entry = "  - {name: NAME, path: NAME.csv, sources: [{title: nobody}], licenses: [{name: MIT}], schema: FIELDS}\n"
    entry = entry.replace("FIELDS", "{fields: [{name: word, type: string}]}")
    described = "name: mine\nresources:\n" + "".join(entry.replace("NAME", name) for name in LISTS)
    (project / "wordlists" / "datapackage.yaml").write_text(described)
    for name, size in zip(LISTS, sizes, strict=True):
        words = [f"{name[:-1]}{number}" for number in range(size)]
        (project / "wordlists" / f"{name}.csv").write_text("\n".join(["word", *words]) + "\n")


def _scoring(model: Path, release: Path, limit: int) -> list[str]:
    where = ["--out", str(release.parents[2] / "results"), "--no-store"]
    return ["senseprobe", "score", str(model), str(release), "-m", "aul", "--limit", str(limit), *where]


def _peak(words: Sequence[str]) -> tuple[float, float]:
    """The most memory in MB that a process held, and its seconds."""
    began = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-P", "-c", PEAK, *words],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    return int(run.stderr.split()[-1]) * 1024 / 1e6, time.perf_counter() - began


def _print(name: str, most: float, seconds: float) -> None:
    print(f"{name}: {most:,.0f} MB, {seconds:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
