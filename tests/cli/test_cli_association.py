"""`senseprobe score` and `replay` on association tests, as they are typed: vectors of files, encoders and decoders."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants as hub_constants
from tests.commands import Typed, typing
from tests.conformance import causal_models
from tests.imports.files import FILES

import senseprobe

WORDS = ["oak", "birch", "saw", "plane", "merry", "fine", "gloomy", "rude", "this", "is", "here", "things", "rudeness"]
NEWEST = "association@1.1.1"


def write_vectors(path: Path, seed: int, words: list[str]) -> None:
    """Write random vectors of 12 numbers as GloVe's text."""
    vectors = np.random.default_rng(seed).normal(size=(len(words), 12))
    lines = (f"{word} {' '.join(f'{x:.4f}' for x in vector)}" for word, vector in zip(words, vectors, strict=True))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory, tiny_models: dict[str, Path]) -> Path:
    """A project with the release `mine` of SEAT's form, two files of vectors, an encoder and a decoder."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "senseprobe.toml").touch()
    senseprobe.api.import_release("seat", FILES["seat"], "mine", "1.0.0", None, folder / "releases")
    write_vectors(folder / "v.txt", 0, WORDS)
    write_vectors(folder / "w.txt", 1, WORDS)
    shutil.copytree(tiny_models["bert"], folder / "bert")
    shutil.copytree(causal_models.build(folder / "causal")["gpt2"], folder / "gpt2")
    shutil.rmtree(folder / "causal")
    return folder


@pytest.fixture
def typed(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line in a copy of the project."""
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return typing(monkeypatch, capfd)


def files_below(folder: Path) -> dict[str, bytes]:
    """What a folder holds, by path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def results_of(folder: Path = Path("results")) -> dict[str, Path]:
    """The files of results, by scorer."""
    return {path.stem: path for path in folder.glob("*/*/weat-*.json")}


def told(typed: Typed, *words: str) -> list[dict[str, Any]]:
    """The results that a command prints as JSON."""
    done = typed("score", *words, "--json")
    assert done.code == 0, done.err
    return list(json.loads(done.out))


# --- what is scored -------------------------------------------------------------------------------------------------


# Takes long: the first loads torch, and makes the project that the others copy.
def test_a_file_of_vectors(typed: Typed) -> None:
    """Tests of words at the level of words, those of sentences at that of sentences, each with its words and rows."""
    done = typed("score", "vectors:v.txt", "mine")

    assert (done.code, done.err) == (
        0,
        "mine does not name a version: scoring mine@1.0.0, the newest on this machine\n",
    )
    assert "senseprobe: 2 results on mine@1.0.0" in done.out
    assert "|encoding=level=word;lower=yes;multiword=_,mean|" in done.out
    assert "|encoding=level=sent;lower=yes;tokens=words,n't;pooling=mean|" in done.out
    tests = [line.split(";")[0] for line in done.out.splitlines() if "corrected cannot reach" in line]
    assert tests == ["weat1", "sent-weat1"]
    names = sorted(path.name for path in Path("results").glob("*/*/*"))
    assert names == [
        f"weat-{level}{end}" for level in ("sent", "word") for end in (".json", ".parquet", ".words.parquet")
    ]
    # weat1 has two words a set: 4 targets with 4 attributes.
    assert len(pq.read_table(next(Path("results").glob("*/*/weat-word.words.parquet")))) == 16


@pytest.mark.parametrize("model", ["bert", "gpt2"])
def test_a_model_of_texts_has_all_levels(typed: Typed, model: str) -> None:
    """Without a scorer all of them, of a model with whatever head; a sentence whose word is not known is named."""
    done = typed("score", model, "mine@1.0.0")

    assert done.code == 0
    assert {*results_of()} == {"weat-word", "weat-sent", "weat-cword"}
    assert "Rudeness is here." in done.out
    start = "own" if model == "bert" else "bos"
    assert f"pooling=mean;check=last;layer={2 if model == 'bert' else 3};start={start}|" in done.out
    assert ("comparable=no" in done.out) == (model == "gpt2")


def test_options_stand_in_the_signature_and_change_numbers(typed: Typed) -> None:
    """Each way is a result of its own."""
    ways = {
        "": "pooling=mean;check=last;layer=3;start=bos",
        "--no-start": "pooling=mean;check=last;layer=3;start=off",
        "--layer 1": "pooling=mean;check=last;layer=1;start=bos",
        "--layer -2": "pooling=mean;check=last;layer=2;start=bos",
        "--pooling last": "pooling=last;check=mean;layer=3;start=bos",
    }
    effects = []
    for options, encoding in ways.items():
        (result,) = told(typed, "gpt2", "mine@1.0.0", "-m", "weat", "--level", "cword", *options.split())
        assert result["model"]["encoding"] == f"level=cword;{encoding}"
        effects.append(result["figures"][0]["value"])
    assert len({*effects}) == len(ways)
    assert len([*Path("results").glob("*/*/*.words.parquet")]) == len(ways)


def test_variants_that_are_asked_for(typed: Typed) -> None:
    """By hand: the population's deviation of four targets is √(3/4) of the sample's; least p are 1 and 2 of 6.

    At the level of sentences the published test has 1 of 20: three sentences of X, three of Y.
    """
    options = ["-e", "weat-pop", "-e", "weat-two-sided", "-e", "weat-sentence", "--exact"]
    word, sent, _ = told(typed, "bert", "mine@1.0.0", *options)
    figures = {figure["estimand"]: figure for figure in word["figures"]}

    assert [*figures] == ["weat", "weat-pop", "weat-two-sided", "weat-sentence", "weat-exact"]
    assert figures["weat-pop"]["value"] == pytest.approx(figures["weat"]["value"] / 0.75**0.5)
    assert figures["weat-exact"]["p"] == figures["weat"]["p"]
    least = {name: figure["p_least"] for name, figure in figures.items()}
    assert (least["weat"], least["weat-two-sided"]) == (1 / 6, 2 / 6)
    assert [f["p_least"] for f in sent["figures"] if f["estimand"] == "weat-sentence"] == [1 / 20]


# Takes long: every word of thirty tests, in two formats.
def test_a_coarse_format_is_held_against_float32(typed: Typed) -> None:
    """All words of the tests, of which those are flipped whose association has another sign in both results."""
    words = ["bert", NEWEST, "-m", "weat", "--level", "word"]
    scores = []
    for dtype in ("float32", "bfloat16"):
        (result,) = told(typed, *words, "--dtype", dtype, "--out", dtype)
        (path,) = Path(dtype).glob("*/*/weat-word.parquet")
        scores.append(pq.read_table(path)["score"].to_numpy())
    flipped = int((np.sign(scores[0]) != np.sign(scores[1])).sum())

    assert flipped > 0
    assert result["coarse"] == {"rows": len(scores[0]), "flipped": flipped}


# Takes long: four runs of thirty tests with their permutations.
def test_each_version_of_the_release(typed: Typed) -> None:
    """All 30 tests of words of 1.0.0, 1.0.1 and 1.1.0, with the same figures; the newest says what they are about.

    Identities of Tan and Celis' Table 2 (VECTORS.md): ten, nine, seven and two tests; weat1 and weat2 have none.
    """
    table = senseprobe.load(NEWEST).to_pandas("bleached")
    words = {part.lower() for word in table["word"] for part in word.split()}
    write_vectors(Path("all.txt"), 2, sorted(words))
    versions = {}
    for name in ("association@1.0.0", "association@1.0.1", NEWEST, "association"):
        (result,) = told(typed, "vectors:all.txt", name, "-m", "weat", "--level", "word")
        versions[name] = pd.DataFrame(result["figures"]).drop(columns=["fixed", "left_out", "readings", "levels"])
    newest = versions.pop(NEWEST)

    counts = newest["identity"].fillna("").value_counts().to_dict()
    assert counts == {"gender": 10, "race": 9, "intersectional": 7, "disability": 1, "age": 1, "": 2}
    pd.testing.assert_frame_equal(versions.pop("association"), newest)
    for older in versions.values():
        plain = newest.drop(columns="identity")
        pd.testing.assert_frame_equal(older.drop(columns="identity", errors="ignore"), plain)


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("vectors:v.txt mine@1.0.0 -m weat --level cword", "vectors:v.txt does not have vectors at the level cword"),
        ("vectors:v.txt mine@1.0.0 --level doc", "unknown level doc: there is word, sent, cword"),
        ("vectors:v.txt mine@1.0.0 -m aul --level word", "levels apply to weat, not to aul: leave --level out"),
        ("vectors:v.txt mine@1.0.0 --pooling cls", "vectors:v.txt is a file of vectors: leave out --pooling"),
        ("vectors:v.txt mine@1.0.0 --layer 1", "vectors:v.txt is a file of vectors: leave out --layer"),
        ("vectors:v.txt mine@1.0.0 --no-start", "vectors:v.txt is a file of vectors: leave out --no-start"),
        ("vectors:v.txt mine@1.0.0 --dtype bfloat16", "vectors:v.txt is a file of vectors: leave out --dtype"),
        ("vectors:v.txt mine@1.0.0 --revision main", "vectors:v.txt is a file of vectors: leave out --revision"),
        ("vectors:no.txt mine@1.0.0", "no file of vectors no.txt"),
        ("vectors:v.txt mine@1.0.0 --limit 4", "an association test needs all its words: leave --limit out"),
        ("vectors:v.txt mine@1.0.0 -e relative-mean", "relative-mean takes contrast rows, and these are association"),
        ("vectors:v.txt nli-control@1.0.1", "nli-control@1.0.1 has inference rows, which need a scorer such as ll-nli"),
        ("bert mine@1.0.0 -m aul", "mine@1.0.0 has association rows, which need a scorer such as weat-word"),
        ("bert mine@1.0.0 --limit 4", "an association test needs all its words: leave --limit out"),
        ("bert mine@1.0.0 --level cword --pooling cls", "level cword does not have the pooling cls: use one of mean,"),
        ("bert mine@1.0.0 --level sent --pooling head", "level sent does not have the pooling head: use one of cls,"),
        ("bert mine@1.0.0 --pooling first", "level sent does not have the pooling first: use one of cls, mean,"),
        ("bert mine@1.0.0 --layer 3", "the model bert does not have layer 3: its last is 2, its embedding table is 0"),
        ("bert mine@1.0.0 --layer -4", "the model bert does not have layer -4: its last is 2"),
        ("bert mine@1.0.0 --no-start", "cannot load the model bert: its tokenizer alone decides which token precedes"),
        ("bert mine@1.0.0 --lower", "bert is a model that is loaded here: leave out --lower, an option of files"),
    ],
)  # fmt: skip
def test_bad_input(words: str, message: str, typed: Typed, tmp_path: Path) -> None:
    """One message, exit code 2, and nothing is written: no level before the one that cannot be."""
    done = typed("score", *words.split())
    assert done.message.startswith(message)
    assert done.code == 2
    assert not (tmp_path / "results").exists()


# --- replay, and numbers that are stored ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("vectors:v.txt", ""),
        ("vectors:v.txt", "--no-lower -e weat-two-sided"),
        ("bert", ""),
        ("bert", "--level sent --pooling max"),
        ("gpt2", "--no-start --layer 1"),
        ("gpt2", "--level cword --pooling head -e weat-pop"),
    ],
)
def test_each_result_is_replayed(model: str, options: str, typed: Typed) -> None:
    """At each level, with the same options, variants and bits."""
    assert typed("score", model, "mine@1.0.0", "-m", "weat", *options.split()).code == 0
    assert results_of()
    for path in results_of().values():
        done = typed("replay", str(path))
        assert (done.code, done.out[:10], done.out.rstrip()[-7:]) == (0, "the same: ", "0.0e+00"), done.out + done.err


@pytest.mark.parametrize(("change", "code"), [(0.0005, 0), (-0.0005, 0), (0.01, 1)])
def test_an_effect_may_differ_by_what_another_processor_changes(change: float, code: int, typed: Typed) -> None:
    """Cosines that differ by 1e-7 move an effect of targets with a deviation of .001 by some 1e-4; not by .01."""
    assert typed("score", "vectors:v.txt", "mine@1.0.0").code == 0
    path = results_of()["weat-word"]
    told = json.loads(path.read_bytes())
    told["figures"][0]["value"] += change
    path.write_text(json.dumps(told))
    assert typed("replay", str(path)).code == code


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("cosine", 0.5, "words: 1 cosine of"),
        ("cosine", None, "words: 1 cosine of"),
        ("check", 0.5, "words: 1 cosine of"),
        ("target", "he", "words: different words, or a different order"),
    ],
)
def test_words_that_were_changed_are_no_replay(column: str, value: object, message: str, typed: Typed) -> None:
    """The table of words is compared, too: figures and scores of rows may be as they were."""
    typed("score", "vectors:v.txt", "mine@1.0.0", "--level", "word")
    path = results_of()["weat-word"]
    words = pq.read_table(path.with_suffix(".words.parquet"))
    numbers = words[column].to_pylist()
    changed = pa.array([value, *numbers[1:]], words.schema.field(column).type)
    pq.write_table(
        words.set_column(words.column_names.index(column), column, changed), path.with_suffix(".words.parquet")
    )
    done = typed("replay", str(path))
    assert done.code == 1
    assert message in done.out


def test_other_vectors_are_another_model(typed: Typed, tmp_path: Path) -> None:
    """A copy is the same; words without a number are no difference."""
    Path("few.txt").write_text("\n".join(Path("v.txt").read_text().splitlines()[1:]) + "\n")  # no oak
    for name in ("v", "few"):
        assert typed("score", f"vectors:{name}.txt", "mine@1.0.0", "--out", name).code == 0
        path = str(results_of(Path(name))["weat-word"])
        shutil.move(f"{name}.txt", "moved.txt")
        done = typed("replay", path)
        assert (done.code, done.message.endswith(" is not on this machine: give its place with --model")) == (2, True)
        assert typed("replay", path, "--model", "vectors:moved.txt").code == 0
        done = typed("replay", path, "--model", "vectors:w.txt")
        assert (done.code, done.out.splitlines()[-1]) == (1, "this is another model: nothing was computed")


def test_vectors_need_no_library_of_models(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither to be scored nor to be replayed."""
    for module in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, module, None)
    done = typed("score", "vectors:v.txt", "mine@1.0.0")
    assert (done.code, done.err) == (0, "")
    assert json.loads(results_of()["weat-word"].read_bytes())["libraries"] == {}
    assert typed("replay", str(results_of()["weat-word"])).code == 0
    assert typed("score", "bert", "mine@1.0.0").message.startswith("torch, transformers: not installed; run pip ")


@pytest.mark.parametrize("model", ["vectors:v.txt", "bert"])
def test_a_second_run_computes_nothing(model: str, typed: Typed) -> None:
    """All vectors are stored, and read with the same bits; those by another layer are others."""
    steps: list[tuple[int, int]] = []
    first = senseprobe.score(model, "mine@1.0.0", progress=lambda done, total: steps.append((done, total)))
    assert all(done < total for done, total in steps[:1])
    steps.clear()
    second = senseprobe.score(model, "mine@1.0.0", progress=lambda done, total: steps.append((done, total)))
    assert steps
    assert all(done == total for done, total in steps)
    for before, after in zip(first, second, strict=True):
        assert before.as_dict() == after.as_dict()
        assert before.words == after.words
    if model == "bert":
        steps.clear()
        first_layer = senseprobe.model(model, layer=1)
        senseprobe.score(first_layer, "mine@1.0.0", progress=lambda done, total: steps.append((done, total)))
        assert steps[0][0] == 0


class Interruption(Exception):
    """Raised instead of Ctrl-C."""


def test_an_interrupted_run_goes_on(typed: Typed) -> None:
    """What a forward pass answered is stored, and the result is that of a run without interruption, in every bit."""
    model = senseprobe.model("bert", batch_tokens=20)
    (whole,) = senseprobe.score(model, "mine@1.0.0", level="cword", store=False)
    steps: list[int] = []

    def interrupt(done: int, total: int) -> None:
        steps.append(done)
        if 0 < done < total:
            raise Interruption

    with pytest.raises(Interruption):
        senseprobe.score(model, "mine@1.0.0", level="cword", progress=interrupt)
    stored, steps = steps[-1], []
    (result,) = senseprobe.score(model, "mine@1.0.0", level="cword", progress=lambda done, _: steps.append(done))
    assert (steps[0], stored > 0) == (stored, True)
    assert result.as_dict() == whole.as_dict()
    assert result.words == whole.words


# Takes long: another process.
def test_in_other_circumstances(typed: Typed, tmp_path: Path) -> None:
    """Another process, folder, hash seed, locale, time zone and number of threads: the same bytes of all files."""
    words = ["score", "vectors:v.txt", "mine@1.0.0", "-e", "weat-sentence"]
    assert typed(*words).code == 0
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    for name in ("senseprobe.toml", "releases", "v.txt"):
        (elsewhere / name).symlink_to(tmp_path / name)
    others = {"PYTHONHASHSEED": "12345", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu", "OMP_NUM_THREADS": "3"}
    again = [sys.executable, "-m", "senseprobe", *words, "--no-store"]
    subprocess.run(again, cwd=elsewhere, env={**os.environ, **others}, check=True, capture_output=True)
    assert files_below(elsewhere / "results") == files_below(tmp_path / "results")


def test_odd_lines_of_vectors_are_remarked(typed: Typed) -> None:
    """The same words and numbers, and four lines more, two of them bad; the header says 18, not 17."""
    lines = Path("v.txt").read_text().splitlines()
    numbers = " 1" * 12
    Path("odd.txt").write_text("\n".join(["18 12", f" {numbers}", *lines, "lost", f"last{numbers}", "15 1"]) + "\n")
    refused = typed("score", "vectors:odd.txt", "mine@1.0.0", "-m", "weat-word").message
    assert [part for part in ("line 16 has 0 numbers", "--skip-bad") if part not in refused] == []
    done = typed("score", "vectors:odd.txt", "mine@1.0.0", "-m", "weat-word", "--skip-bad", "--json")
    assert (done.code, done.err.count("vectors:odd.txt: ")) == (0, 3), done.err
    for part in ("line 1 says 18 words", "blank in line 2", "2 lines: line 16 has 0 numbers", "line 18 has 1 number"):
        assert part in done.err
    plain = told(typed, "vectors:v.txt", "mine@1.0.0", "-m", "weat-word")
    assert [figure["value"] for figure in done.told[0]["figures"]] == [f["value"] for f in plain[0]["figures"]]
    assert done.told[0]["model"]["encoding"].endswith(";bad=skipped")
    (result,) = Path("results").glob("*/*odd*/*.json")
    assert typed("replay", str(result)).code == 0
    assert typed("score", "vectors:v.txt", "mine@1.0.0", "--header", "maybe").code == 2
    assert typed("score", "bert", "mine@1.0.0", "-m", "weat-word", "--skip-bad").code == 2


def test_bad_lines_of_vectors_wherever_vectors_are_named(typed: Typed) -> None:
    """Line 3 is refused, and passed over, by each command; line 1 is a header only where it is said to be."""
    pairs = ["oak,saw", "birch,plane", "merry,gloomy"]
    Path("pairs.csv").write_text("\n".join(["tree,tool", *pairs]) + "\n")
    Path("lexicon.tsv").write_text("fine\t1\nrude\t-1\nthis\t0.5\nhere\t-0.2\n")
    Path("texts.txt").write_text("fine things\n")
    first, *lines = Path("v.txt").read_text().splitlines()
    Path("odd.txt").write_text("\n".join(["words", first, "lost", *lines]) + "\n")
    commands = [
        ("model", "vectors", "odd.txt", "--release", ""),
        ("study", "bias-score", "texts.txt", "--vectors", "odd.txt", "--pairs", "pairs.csv"),
        ("study", "wat", "--lexicon", "lexicon.tsv", "--vectors", "vectors:odd.txt", "--pairs", "pairs.csv"),
    ]
    for command in commands:
        assert "line 1 has 0 numbers" in typed(*command).message
        assert "line 3 has 0 numbers" in typed(*command, "--header", "yes").message
        done = typed(*command, "--header", "yes", "--skip-bad")
        assert done.code == 0, done.err
        assert "skipped: 1 line: line 3 has 0 numbers" in done.out + done.err


@pytest.mark.parametrize("model", ["vectors:nothing.txt", "openai:http://127.0.0.1:9/v1#m"])
def test_where_results_go_is_looked_at_first(model: str, typed: Typed) -> None:
    """Before the model: there is none in this file, and no server behind this port."""
    Path("results").write_text("mine")
    message = typed("score", model, "mine@1.0.0").message
    assert message.startswith("cannot write results to results/mine@1.0.0/")
    assert Path("results").read_text() == "mine"
