"""What senseprobe makes, by its commands alone: rows, figures, keys of JSON, and what pages say in numbers and links.

    python tests/regression/record.py FOLDER [--all]

works in a folder that is not there yet and writes `expected.json` and `scores.parquet` into it. The two that
lie beside this file were made so before the code was laid out anew (November 2026), and `test_regression.py` makes them
again and compares.
With `--all` the rows of every release in `releases/` are made again, too, ten million of them, in a few minutes.
"""

import argparse
import contextlib
import csv
import hashlib
import html
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd

from senseprobe.cli.application import main

ROOT = Path(__file__).parents[2]
SMALL = {"sssb": "1.1.0", "nli-control": "1.0.1", "association": "1.1.0"}
LARGE = ("nli-nationality", "nli-occupation", "nli-religion")
SHEETS = ("annotator-1", "annotator-2", "annotator-3")

# A word-level BERT that infers: its weights are a formula, so that they are the same on every machine.
INFERENCE = """
import sys
import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer
words = sorted(set(open(sys.argv[2], encoding="utf-8").read().split()))
pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
labels = {0: "contradiction", 1: "entailment", 2: "neutral"}
config = BertConfig(vocab_size=len(pieces), id2label=labels, label2id={name: i for i, name in labels.items()}, **sizes)
model = BertForSequenceClassification(config)
with torch.no_grad():
    for place, (name, parameter) in enumerate(sorted(model.named_parameters())):
        numbers = np.sin(np.arange(parameter.numel()) * 12.9898 + place) * 43758.5453
        drawn = torch.tensor((numbers - np.floor(numbers) - 0.5) * 0.8).reshape(parameter.shape)
        parameter.copy_(drawn + (1 if name.endswith("LayerNorm.weight") else 0))
model.save_pretrained(sys.argv[1])
BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)}).save_pretrained(sys.argv[1])
"""


class Recorder:
    """A folder in which commands are run, and what they made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys: dict[str, list[str]] = {}

    def run(self, *words: str, codes: tuple[int, ...] = (0,)) -> str:
        """Type a command in the folder, in this process, which has loaded its libraries; return what it prints."""
        out, err, code = io.StringIO(), io.StringIO(), 0
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            sys.argv = ["senseprobe", *words]
            try:
                main()
            except SystemExit as stop:
                code = int(stop.code or 0)
        if code not in codes:
            raise RuntimeError(f"senseprobe {' '.join(words)}: exit code {code}\n{err.getvalue()}")
        return out.getvalue()

    def json(self, *words: str, codes: tuple[int, ...] = (0,)) -> Any:  # noqa: ANN401 - JSON
        """Type a command with --json; note its keys."""
        value = json.loads(self.run(*words, "--json", codes=codes))
        name = " ".join(words[:2] if words[0] in {"annotate", "metrics"} else words[:1])
        self.keys[name] = sorted({*self.keys.get(name, []), *_keys(value)})
        return value


def _keys(value: object, path: str = "") -> Iterator[str]:
    """The dotted keys of a JSON value; keys that are data, such as ids, configs and words, stand as `*`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = key if re.fullmatch(r"[a-z]+(_[a-z]+)*", key) and not path.endswith(("by", "counts")) else "*"
            yield f"{path}.{name}"
            yield from _keys(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, f"{path}[]")


def page(text: str) -> dict[str, list[str]]:
    """The decimals, identifiers and links of a page, each once: these stay where wording changes."""
    text = re.sub(r"(?s)<(style|script).*?</\1>", "", text)
    links = re.findall(r"""(?:href=["']|\]\()([^"')\s]+)""", text)
    links = [link for link in links if not re.fullmatch(r"#m[0-9a-f]{10}", link)]  # marks of plots
    codes = re.findall(r"<code>(.*?)</code>|`([^`\n]+)`", text)
    words = html.unescape(re.sub(r"<[^>]+>", " ", text))
    return {
        "numbers": sorted(set(re.findall(r"(?<![\w.])[-+\u2212]?\d+\.\d+(?![\w.])", words))),
        # Signatures name weights that were trained on this machine.
        "codes": sorted({html.unescape(first or second) for first, second in codes if "scorer=" not in first}),
        "links": sorted(set(links)),
    }


def digests(release: Path) -> dict[str, str]:
    """The SHA-256 of every file of a release that holds data: rows, recipe."""
    files = [path for path in sorted(release.rglob("*")) if path.is_file()]
    data = [path for path in files if path.suffix == ".parquet" or "recipe" in path.relative_to(release).parts]
    return {str(path.relative_to(release)): hashlib.sha256(path.read_bytes()).hexdigest() for path in data}


def figures(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The figures of a result, with all that stands beside each."""
    return list(result["figures"])


def rows(path: Path) -> pd.DataFrame:
    """The rows of a result, in their order, by id."""
    return pd.read_parquet(path.with_suffix(".parquet"))


def record(folder: Path, everything: bool) -> tuple[dict[str, Any], pd.DataFrame]:
    """Make all there is in a folder; return what is compared, and the scores of each row."""
    with _without_wordnet(folder):
        made = Recorder(folder)
        out = _without_models(made, everything)
        scores = [*_stereotypes(made, out), *_inference(made, out)]
        return out, pd.concat(scores, ignore_index=True)


def record_without_models(folder: Path) -> dict[str, Any]:
    """Make what needs no model, in seconds where planting one takes minutes; return it in the same form."""
    with _without_wordnet(folder):
        return _without_models(Recorder(folder), everything=False)


def _without_wordnet(folder: Path) -> AbstractContextManager[object]:
    return patch.dict(os.environ, {"SENSEPROBE_WORDNET": str(folder / "none")})  # machines have WordNet, or have not


def _without_models(made: Recorder, everything: bool) -> dict[str, Any]:
    folder = made.folder
    out: dict[str, Any] = {"releases": {}, "figures": {}, "pages": {}, "keys": made.keys}
    for name, version in SMALL.items():
        made.json("build", name, version, "--out", "releases")
        out["releases"][name] = digests(folder / "releases" / name / version)
    for name in LARGE if everything else ():
        made.run("build", name, "1.0.1", "--out", "releases")
        out["releases"][name] = digests(folder / "releases" / name / "1.0.1")
    _authored(made, out)
    _annotated(made, out)
    out["pages"]["card"] = page((folder / "releases/sssb/1.1.0/README.md").read_text(encoding="utf-8"))
    out["pages"]["metrics"] = page(made.run("metrics", "--markdown"))
    out["pages"]["checks"] = page(made.run("lint", "--codes"))
    return out


def _stereotypes(made: Recorder, out: dict[str, Any]) -> Iterator[pd.DataFrame]:
    """A planted model on sssb: results, replay, comparison and pages."""
    release = "releases/sssb/1.1.0"
    made.json("verify", release, "--rebuild")
    made.json("plant", release, "model", "--out", "results")
    made.json("plant", f"{release}:noun", "other", "--share", "0.4", "--out", "results")
    made.json("score", "model", release, "-m", "aul", "-m", "pll", "-m", "cps", "--out", "results")
    made.json("score", "model", release, "-m", "aul", "--limit", "400", "--out", "results")
    made.json("score", "other", release, "-m", "aul", "--out", "results")
    kept = {folder: made.folder / "results/sssb@1.1.0" / folder for folder in ("model", "other")}
    for name in ("model/planted", "model/aul", "model/pll", "model/cps", "model/aul.limit400", "other/aul"):
        path = kept[name.split("/")[0]] / f"{name.split('/')[1]}.json"
        out["figures"][name] = figures(json.loads(path.read_text(encoding="utf-8")))
        yield _scores(name, path)
    compared = [str(folder / "aul.json") for folder in kept.values()]
    out["figures"]["comparison"] = made.json("compare", *compared)
    made.run("replay", str(kept["model"] / "aul.json"))
    results = [str(kept["model"] / f"{scorer}.json") for scorer in ("planted", "aul", "pll")]
    made.json("report", *results)
    made.run("report", *results, "--out", "report.html")
    made.run("report", *results, "--out", "report.md")
    made.run("compare", *compared, "--out", "compare.html")
    for name in ("report.html", "report.md", "compare.html"):
        out["pages"][name] = page((made.folder / name).read_text(encoding="utf-8"))
    made.json("diff", str(ROOT / "releases/sssb/1.0.0"), release)


def _inference(made: Recorder, out: dict[str, Any]) -> Iterator[pd.DataFrame]:
    """A model of inference on nli-control, whole: results, slices and a page."""
    release = made.folder / "releases/nli-control/1.0.1"
    sentences = {text for path in release.rglob("*.parquet") for column in ("premise", "hypothesis")
                 for text in pd.read_parquet(path, columns=[column])[column]}  # fmt: skip
    text = made.folder / "words.txt"
    text.write_text(" ".join(sorted({*re.findall(r"\w+|[^\w\s]", " ".join(sentences).lower())})), encoding="utf-8")
    program = [sys.executable, "-c", INFERENCE, "inference", str(text)]
    subprocess.run(program, cwd=made.folder, check=True, capture_output=True)
    made.json("score", "inference", str(release), "--out", "results")
    (path,) = (made.folder / "results/nli-control@1.0.1").rglob("nli.json")
    out["figures"]["inference/nli"] = figures(json.loads(path.read_text(encoding="utf-8")))
    yield _scores("inference/nli", path)
    made.json("slice", str(path), "--largest", "entailment")
    made.run("report", str(path), "--out", "control.html")
    out["pages"]["control.html"] = page((made.folder / "control.html").read_text(encoding="utf-8"))


def _scores(name: str, path: Path) -> pd.DataFrame:
    """Every number of every row of a result, one a line; of the 102,400 rows of nli-control, every fiftieth."""
    table = rows(path)
    numbers = table.select_dtypes("number").columns
    chosen = table.iloc[:: 50 if len(table) > 50_000 else 1]
    long = chosen.melt(id_vars="id", value_vars=list(numbers), var_name="number", value_name="value")
    return long.assign(result=name, value=long["value"].round(5))[["result", "id", "number", "value"]].dropna()


def _authored(made: Recorder, out: dict[str, Any]) -> None:
    """What commands print of the datasets that come with senseprobe."""
    made.json("lint", codes=(0, 1))
    made.json("lists")
    out["counts"] = made.json("count", "sssb")
    out["preview"] = made.json("preview", "sssb/nationality", "-n", "5")
    for sense in (sense for row in out["preview"]["sample"] for sense in row["senses"]):
        del sense["gloss"]  # there is none where WordNet is not prepared
    made.json("metrics")
    made.json("metrics", "aul")
    made.json("metrics", "preference")
    made.json("export", "lm-eval", "releases/sssb/1.1.0:noun", "--out", "tasks")


def _annotated(made: Recorder, out: dict[str, Any]) -> None:
    """A project of somebody's own, checked by three on sheets: agreement, verdicts, and what is left of the release."""
    project = Recorder(made.folder / "project")
    project.keys = made.keys
    made.run("init", "project")
    project.json("build", "example", "1.0.0")
    export = ("annotate", "export", "example@1.0.0", "--project", "check", "--n", "30", "--annotators", "3")
    project.json(*export)
    sheets = [project.folder / "annotations/check/sheets" / f"{name}.csv" for name in SHEETS]
    for number, sheet in enumerate(sheets):
        _fill(sheet, number)
    project.json("annotate", "import", "check", *map(str, sheets))
    agreement = project.json("annotate", "agree", "check")
    # Pseudonyms are drawn anew for each project.
    out["agreement"] = [row for row in agreement["figures"] if not str(row["level"]).startswith("p-")]
    project.json("annotate", "apply", "check")
    project.json("annotate", "release", "check", "published")
    project.json("build", "example", "2.0.0")
    for version in ("1.0.0", "2.0.0"):
        # Its canary is drawn anew for each project, and stands in its files.
        table = pd.read_parquet(project.folder / "releases/example" / version / "hobbies")
        rows_alone = table.to_csv(index=False).encode()
        out["releases"][f"example {version}"] = {"hobbies": hashlib.sha256(rows_alone).hexdigest()}


def _fill(sheet: Path, number: int) -> None:
    """Answer every line of a sheet; annotators differ by a rule, and find every fifth pair no English."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        head, *lines = csv.reader(file)
    answers = {"stereotype-1": "stereotype", "stereotype-2": "anti-stereotype", "natural-1": "yes", "withhold": "no"}
    for line in lines:
        item = int(line[0])
        said = {**answers, "natural-2": "no" if item % 5 == 0 and number else "yes"}
        said["stereotype-1"] = "neither" if (item + number) % 7 == 0 else "stereotype"
        for place, title in enumerate(head):
            line[place] = said.get(title.partition(":")[0], line[place])
    with sheet.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *lines])


def command_line() -> None:
    """Record into the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true", help="make the rows of every release, too")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True)
    expected, scores = record(folder, options.all)
    text = json.dumps(expected, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")
    scores.to_parquet(folder / "scores.parquet", index=False, compression="zstd", compression_level=19)


if __name__ == "__main__":
    command_line()
