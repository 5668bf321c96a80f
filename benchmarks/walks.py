"""How far one walks through the code: the six walks of the house, traced while they are run with tiny models.

    python benchmarks/walks.py [--only score] [--files score]

It traces the package that Python finds: of another checkout with PYTHONPATH=CHECKOUT/src. Each walk is the command
that a user types, in a process of its own, whose projects, models, servers and caches are made beside it.

- files: those of the package in which a function runs.
- moves: distinct pairs of files of which a function of the one runs a function of the other, or goes on with its
  generator, whatever code of libraries is between them.
- up: those of the moves from a room into one to its right in CONTRIBUTING.md's order, as only a callback or a late
  import can; rooms of one column are never up from each other, nor are files of a room.
- model: the place, in order, at which the first file is entered that reads a model or talks to one, in
  evaluate/models or evaluate/served; files that only tell what a name stands for do not count.

What runs while a module is imported does not count.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for tests.tiny and the planted server, which know nothing of the package

ROOMS = (
    ("records", "errors", "messages", "progress"),
    (),  # the rest of the spine
    ("lexicon", "statistics"),
    ("release",),
    ("generator", "annotation", "evaluate"),
    ("hub", "importers", "scaffold", "recipes"),
    ("api",),
    ("cli", "__main__"),
)
"""Rooms from left to right; the package's own `__init__` hands out what the API has."""

COLUMN = {room: column for column, rooms in enumerate(ROOMS) for room in rooms} | {"__init__": ROOMS.index(("api",))}
MODELS = ("evaluate/models/", "evaluate/served/")
NAMES = (*(f"evaluate/models/{name}.py" for name in ("__init__", "registry", "source")), "evaluate/served/address.py")
"""What reads the names of models, and no model."""


class Walk(NamedTuple):
    """Files in the order in which they are entered, and moves between them, each by its two files."""

    files: list[str]
    moves: list[tuple[str, str]]

    @property
    def up(self) -> list[tuple[str, str]]:
        """The moves into a room further right."""
        return [(a, b) for a, b in self.moves if column_of(a) < column_of(b)]

    @property
    def model(self) -> int | None:
        """Which file, counted from 1, is the first of the model; None where there is none."""
        models = (place for place, file in enumerate(self.files, 1) if file.startswith(MODELS) and file not in NAMES)
        return next(models, None)


def column_of(file: str) -> int:
    """The column of the room of a file, ``release/verify.py``; files of no room are the spine's."""
    return COLUMN.get(file.partition("/")[0].removesuffix(".py"), 1)


class Tracer:
    """Notes files and moves of a package, in all threads, while it is entered (`with`)."""

    def __init__(self, package: Path) -> None:
        self._package = f"{package}{os.sep}"
        self._names: dict[str, str] = {}  # of each file of code, its name in the package; empty of others
        self._stacks: dict[int, list[tuple[str, bool]]] = {}
        self.files: dict[str, None] = {}
        self.moves: dict[tuple[str, str], None] = {}

    def __enter__(self) -> "Tracer":
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        """Keep of each running frame the file of the package that it is in, or was called from, and if it imports."""
        if event not in ("call", "return"):
            return
        stack = self._stacks.setdefault(threading.get_ident(), [("", False)])
        if event == "return":
            if len(stack) > 1:  # what ran before the walk began returns, too
                stack.pop()
            return
        caller, imports = stack[-1]
        imports = imports or frame.f_code.co_name == "<module>"
        file = "" if imports else self._name(frame.f_code.co_filename)
        if file:
            self.files.setdefault(file)
            if caller and caller != file:
                self.moves.setdefault((caller, file))
        stack.append((file or caller, imports))

    def _name(self, path: str) -> str:
        if path not in self._names:
            real = str(Path(path).absolute())  # not where the links to rooms lead
            self._names[path] = real.removeprefix(self._package) if real.startswith(self._package) else ""
        return self._names[path]


# --- the walks --------------------------------------------------------------------------------------------------------

Command = Callable[..., None]


def build(run: Command) -> None:
    """Build sssb of its templates."""
    run("build", "sssb", "1.0.0", "--out", "releases")


def score(run: Command) -> None:
    """Score a masked model on a release that ships with senseprobe."""
    run("score", _masked_model(), "sssb@1.1.1", "--out", "results")


def associate(run: Command) -> None:
    """Score a file of vectors on the association tests."""
    run("score", f"vectors:{_vectors()}", "association@1.1.0", "--out", "results")


def chat(run: Command) -> None:
    """Score a chat model behind a server on this machine."""
    from tests.served.planted_server import PlantedServer

    with PlantedServer() as server:
        run("score", server.spec, "sssb@1.1.1:noun-bare", "--scorer", "choice-likely", "--out", "results")


def judge(run: Command) -> None:
    """Take in what three people answered, leave out what they reject, build the next release, and say what changed."""
    _project()
    _untraced("build", "tiny", "1.0.0")
    _untraced("annotate", "export", "tiny@1.0.0", "--project", "check", "--n", "6", "--annotators", "3")
    for path in Path("annotations/check/sheets").glob("annotator-*.csv"):
        _fill_in(path)
    run("annotate", "import", "check")
    run("annotate", "apply", "check")
    run("build", "tiny", "2.0.0")
    run("diff", "tiny@1.0.0", "tiny@2.0.0")


def report(run: Command) -> None:
    """Write the page of a result."""
    _untraced("score", _masked_model(), "sssb@1.1.1", "--out", "results")
    run("report", *map(str, Path("results").rglob("*.json")), "--out", "page.html")


WALKS: dict[str, tuple[str, Callable[[Command], None]]] = {
    "build": ("template → Parquet (`build sssb`)", build),
    "score": ("`score` of a masked model", score),
    "association": ("association on vectors", associate),
    "chat": ("chat behind a server", chat),
    "annotation": ("answers → verdict → next release → diff", judge),
    "report": ("report page", report),
}


def _untraced(*words: str) -> None:
    """Run a command line as it is typed; raise where it fails."""
    from senseprobe.cli.application import main

    sys.argv = ["senseprobe", *words]
    try:
        main()
    except SystemExit as stop:
        if stop.code:
            raise


def walk(name: str) -> Walk:
    """Take a walk in the current folder, and return it."""
    import senseprobe

    tracer = Tracer(Path(senseprobe.__file__ or "").parent)

    def run(*words: str) -> None:
        with tracer:
            _untraced(*words)

    with redirect_stdout(sys.stderr):
        WALKS[name][1](run)
    return Walk([*tracer.files], [*tracer.moves])


# --- what is walked over ----------------------------------------------------------------------------------------------


def _masked_model() -> str:
    """Save a BERT of two small layers with random weights."""
    import tokenizers
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    import senseprobe

    torch.set_num_threads(1)
    torch.manual_seed(0)
    raw = tokenizers.BertWordPieceTokenizer()
    raw.train_from_iterator(senseprobe.load("sssb@1.1.1").to_pandas("race")["stereo"], vocab_size=300)
    tokenizer = BertTokenizer(vocab=raw.get_vocab())
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained("bert")
    tokenizer.save_pretrained("bert")
    return "bert"


def _vectors() -> str:
    """Write a vector of three numbers for each word of the association tests."""
    import numpy as np

    import senseprobe

    words = senseprobe.load("association@1.1.0").to_pandas("bleached")["word"].dropna().unique()
    numbers = np.random.default_rng(0).normal(size=(len(words), 3))
    lines = (f"{word} {' '.join(map(str, own))}" for word, own in zip(words, numbers, strict=True) if " " not in word)
    Path("words.txt").write_text("\n".join(lines) + "\n")
    return "words.txt"


def _project() -> None:
    from tests.tiny import FRONT, lay_out

    lay_out(Path(), FRONT.replace("PAIRS", "6") + "{{ pronoun.subject | upfirst }} is the {{ job }}.\n")
    schema = "schema: {fields: [{name: word, type: string}]}"
    descriptor = f"name: jobs, path: jobs.csv, sources: [{{title: nobody}}], licenses: [{{name: MIT}}], {schema}"
    Path("wordlists/datapackage.yaml").write_text(f"name: mine\nresources:\n  - {{{descriptor}}}\n")
    Path("wordlists/jobs.csv").write_text("word\nbaker\nclerk\ndriver\nfarmer\nnurse\npilot\n")


def _fill_in(path: Path) -> None:
    """Answer as somebody who knows the stereotype of nurses alone: all other rows are rejected."""
    head, *rows = csv.reader(path.read_text(encoding="utf-8-sig").splitlines())
    for row in rows:
        for column in range(5, len(head)):
            if head[column].startswith("stereotype"):
                row[column] = "Yes" if "nurse" in row[2] else "Neither"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])


# --- the table --------------------------------------------------------------------------------------------------------


def main() -> int:
    """Take the walks, each in a process of its own, and print the table; return 1 where one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[*WALKS], help="one of the walks; may be repeated")
    parser.add_argument("--files", action="store_true", help="print the files, too, in the order of their entry")
    parser.add_argument("--here", choices=[*WALKS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(walk(options.here)))
        return 0
    walks = {name: _in_process(name) for name in options.only or WALKS}
    print("| walk | files | moves | up | model |\n|---|---|---|---|---|")
    for name, taken in walks.items():
        if taken is not None:
            counts = (len(taken.files), len(taken.moves), len(taken.up), taken.model or "")
            print(f"| {WALKS[name][0]} | {' | '.join(map(str, counts))} |")
    for name, taken in walks.items() if options.files else ():
        if taken is not None:
            _print_files(name, taken)
    return 0 if all(walks.values()) else 1


def _in_process(name: str) -> Walk | None:
    """Return a walk that was taken in a new process and folder; None where it fails, whose errors are printed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-P", str(Path(__file__).resolve()), "--here", name]
        environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache", "HF_HUB_OFFLINE": "1"}
        paths = [str(Path(path).resolve()) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    if done.returncode:
        print(f"{name}: {done.stderr}", file=sys.stderr)
        return None
    told: Any = json.loads(done.stdout.splitlines()[-1])
    return Walk(told[0], [(a, b) for a, b in told[1]])


def _print_files(name: str, taken: Walk) -> None:
    print(f"\n{name}")
    for place, file in enumerate(taken.files, 1):
        print(f"{place:4} {file}")
    print("up")
    for a, b in taken.up:
        print(f"     {a} → {b}")


if __name__ == "__main__":
    sys.exit(main())
