"""The end of each help: when a command is used is on the page of commands, and its two examples work as they stand.

They are typed in a copy of a project that `senseprobe init` began, with small models under the names of real ones. The
Hub, Label Studio and the chat server are those that other tests have.
"""

import copy
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from tests.annotation import world
from tests.commands import Typed, typing
from tests.hub.conftest import hub  # noqa: F401 - a fixture
from tests.hub.server import Hub
from tests.served.planted_server import PlantedServer

from senseprobe import api, scaffold
from senseprobe.annotation.label_studio import client
from senseprobe.annotation.plan_file import read_plan
from senseprobe.api import annotation
from senseprobe.cli.application import app
from senseprobe.cli.examples import USES
from senseprobe.evaluate.mitigation.api import debias
from senseprobe.evaluate.models import package_download, packages
from senseprobe.evaluate.senses.api import build_senses
from senseprobe.evaluate.texts.api import word_association

PARTS = 2
SERVER = "http://127.0.0.1:8080"
BROKEN = {"study senses build --encoder minilm --examples --words sssb -o s.safetensors"}
EXAMPLES = [(name, example) for name, use in USES.items() for example in use.examples]

pytestmark = [
    pytest.mark.usefixtures("prepared_wordnet"),
    # The Hub's client hands bytes to httpx2 in a way that httpx2 does not want any more.
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]


def _commands(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - typer's own type is private
    """Every command and group that help has, by name as it is typed."""
    yield above, group
    for name, command in getattr(group, "commands", {}).items():
        if not command.hidden:
            yield from _commands(command, f"{above} {name}".strip())


def test_each_help_ends_with_two_examples() -> None:
    """Of that command, each of them another; a group's are of its commands. The page has when it is used, too."""
    commands = dict(_commands(typer.main.get_command(app)))
    assert {*USES} == {*commands}
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    for name, command in commands.items():
        use = USES[name]
        assert command.epilog == "\n\n".join(["Examples:", *(f"senseprobe {each}" for each in use.examples)])
        assert len({*use.examples}) == 2
        # A terminal of 80 columns leaves room for 78: a broken line cannot be pasted.
        assert [each for each in use.examples if len(f"senseprobe {each}") > 78 and each not in BROKEN] == []
        assert [each for each in use.examples if not f"{each} ".startswith(f"{name} ".lstrip())] == []
        if name and not hasattr(command, "commands"):
            assert f"### senseprobe {name}\n\n{use.when}\n" in page
            assert all(f"\nsenseprobe {each}\n" in page for each in use.examples)


# As the issue that ordered the commands lists them: those of the first screen, and lines of 0.2 with what they are now.
FIRST = (
    *("init", "new", "lint", "preview", "count", "words"),
    *("build", "verify", "diff", "import", "publish", "pull"),
    *("fetch", "score", "report", "compare"),
)
OLD_LINES = {
    "lists": "words list",
    "lists --add": "words add",
    "senses show": "words show",
    "metrics": "explain",
    "vectors": "model vectors",
    "probe": "model check",
    "plant": "model plant",
    "bias-score": "study bias-score",
    "corpus": "study corpus",
    "wat": "study wat",
    "slice": "study slice",
    "senses": "study senses",
    "restore": "verify --restore",
    "join": "build DATASET VERSION --join FOLDER",
}


def test_the_first_screen_has_sixteen_commands() -> None:
    """What authors, publishers and scorers call stands before groups and single commands."""
    group = typer.main.get_group(app)
    names = group.list_commands(typer.Context(group))
    assert tuple(names[: len(FIRST)]) == FIRST
    assert {*names[len(FIRST) :]} == {"annotate", "model", "study", "export", "explain", "gate", "replay"}


def test_without_a_command_it_says_where_to_begin(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """To make a dataset, score a model, and read a result."""
    done = typing(monkeypatch, capfd)()
    assert (done.code, done.err) == (0, "")
    assert [line for line in ("init", "fetch", "score", "report") if f"senseprobe {line}" not in done.out] == []


@pytest.mark.parametrize(("old", "new"), OLD_LINES.items())
def test_an_old_line_works_with_a_notice(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is the same command."""
    done = typing(monkeypatch, capfd)(*old.split(), "--help")
    assert done.code == 0
    assert done.err.replace("\n", " ").strip() == f"`senseprobe {old}` is now `senseprobe {new}`"


# --- where they are typed -------------------------------------------------------------------------------------------


def _language_model(folder: Path, seed: int) -> None:
    import tokenizers
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    raw = tokenizers.ByteLevelBPETokenizer()
    raw.train_from_iterator(["She is a hiker."], vocab_size=300, special_tokens=["<s>"], show_progress=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw._tokenizer)
    tokenizer.add_special_tokens({"bos_token": "<s>", "eos_token": "<s>"})
    torch.manual_seed(seed)
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _encoder(folder: Path) -> None:
    import tokenizers
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    raw = tokenizers.BertWordPieceTokenizer()
    raw.train_from_iterator(["the quick brown fox jumps over a lazy dog"] * 9, vocab_size=90, show_progress=False)
    tokenizer = BertTokenizer(vocab=raw.get_vocab())
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _word_vectors(folder: Path) -> None:
    """Random vectors of every word that the built-in lists have."""
    folder.mkdir(parents=True)
    cells = " ".join(path.read_text("utf-8") for path in (Path(__file__).parents[2] / "wordlists").glob("*.csv"))
    words = sorted({*re.findall(r"[a-z]+", cells.lower())})
    np.save(folder / "vectors.npy", np.random.default_rng(0).normal(size=(len(words), 8)).astype("float32"))
    pd.DataFrame({"word": words, "index": range(len(words))}).to_parquet(folder / "words.parquet", index=False)


def _fetched() -> None:
    """Small models under the names of those that can be fetched, where `fetch` keeps them."""
    makers: dict[str, Callable[[Path], None]] = {
        "smollm2": lambda folder: _language_model(folder, 0),
        "minilm": _encoder,
        "glove": _word_vectors,
    }
    for name, make in makers.items():
        model = packages.find_packaged(name)
        make(model.folder)
        package_download._write_record(model, "MIT", model.folder)


FILES = {
    "pairs.csv": "stereo,anti\nWomen drive badly.,Men drive badly.\nOld people are slow.,Young people are slow.\n",
    "my.csv": "a,b\nWomen drive badly.,Men drive badly.\nOld people are slow.,Young people are slow.\n",
    "m.jsonl": '{"a": "Women drive badly.", "b": "Men drive badly."}\n',
    "tools.csv": "word\nhammer\nsaw\n",
    "letters.csv": 'text\n"The nurse said that she was tired. He thanked her."\n"Dr. Reed is a mechanic."\n',
    "sentences.txt": "She is a nurse.\nThe judge thanked him.\nIt rains.\n",
    "associations.csv": "cue,response,R123.Strength\nman,nurse,3\nnurse,woman,1\nman,judge,2\njudge,woman,1\n",
    "nli.jsonl": '{"sentence1": "A nurse is a man.", "sentence2": "A man is a nurse.", "gold_label": "entailment"}\n'
    '{"sentence1": "A judge is a woman.", "sentence2": "A man is a nurse.", "gold_label": "neutral"}\n'
    '{"sentence1": "A man is a judge.", "sentence2": "A nurse is a judge.", "gold_label": "contradiction"}\n',
    "words.txt": "nurse\njudge\nman\nwoman\n",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The project, with releases, models, results, and answers of three annotators. Not to be changed."""
    folder = tmp_path_factory.mktemp("made") / "project"
    scaffold.start(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
        _fetched()
        for seed, name in enumerate(("base", "tuned")):
            _language_model(folder / name, seed)
        api.build("example", "1.0.0")
        _make_results()
        _ask_by_sheets(folder)
        with (folder / "wordlists" / "hobbyists.csv").open("a", encoding="utf-8") as words:
            words.write("weaver\n")
        template = folder / "templates" / "example" / "hobbies.j2"
        template.write_text(template.read_text("utf-8").replace("pairs: 750", "pairs: 875"), encoding="utf-8")
        api.build("example", "1.1.0")
        for part in range(PARTS):
            api.build_shard("example", "1.2.0", part, PARTS, "parts")
        yield folder


def _make_results() -> None:
    for name in ("base", "tuned"):
        for release in ("example@1.0.0", "sssb@1.1.0:noun"):
            api.score(name, release, "ll", out="results")
    for result, name in (("base", "old"), ("tuned", "new")):
        for path in Path("results", "sssb@1.1.0", result).glob("ll.noun*"):
            shutil.copy(path, path.name.replace("ll.noun", name))
    api.score("vectors:glove", "association@1.1.0", "weat-word", out="results")
    debias("vectors:glove", "glove-he-she", direction="he-she")
    build_senses("minilm", "senses.safetensors", words=["words.txt"])
    wat = word_association("associations.csv", vectors=["vectors:glove"])
    Path("wat.json").write_text(json.dumps(wat.as_dict()), encoding="utf-8")


def _ask_by_sheets(folder: Path) -> None:
    """Each of three people answers; the third finds no row natural."""
    options = annotation.PlanOptions(n=12)
    annotation.export("example@1.0.0", "pilot", annotators=3, options=options)
    place = folder / "annotations" / "pilot"
    for number in (1, 2, 3):
        wrong = {"natural.anti": "no"} if number == 3 else {}

        def answers(_annotator: str, _item: object, wrong: dict[str, str] = wrong) -> dict[str, str]:
            return wrong

        path = world.fill(place, f"annotator-{number}", answers)
        shutil.copy(path, folder)
    annotation.ingest("pilot")
    annotation.adjudicate("pilot")


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project, as the working directory, and of the folder where models are kept."""
    shutil.copytree(made, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("XDG_CACHE_HOME", str(made.parent / "cache"))
    return tmp_path / "project"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    return typing(monkeypatch, capfd)


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch, project: Path) -> world.Studio:
    """What stands for Label Studio, with a round that two people answered."""
    made = world.Studio()
    monkeypatch.setattr(client, "connect", lambda: made)
    annotation.push("example@1.0.0", "first-check", options=annotation.PlanOptions(n=6))
    plan = read_plan(project / "annotations" / "first-check")
    people: dict[int, world.Said] = {7: lambda *_: {}, 8: lambda *_: {"natural.anti": "no"}}
    answered = world.label_studio(plan, people, copy.deepcopy(made.held[1]))
    made.held[1] = [{**task, **answer} for task, answer in zip(made.held[1], answered, strict=True)]
    annotation.pull("first-check")
    annotation.adjudicate("first-check")
    return made


@pytest.fixture
def server() -> Iterator[PlantedServer]:
    with PlantedServer(kind="llama.cpp") as started:
        yield started


def _prepare(example: str, request: pytest.FixtureRequest) -> str:
    """Begin the server that an example asks; return the example with its address."""
    if SERVER in example:
        server: PlantedServer = request.getfixturevalue("server")
        return example.replace(SERVER, server.url.removesuffix("/v1"))
    if example.startswith(("publish", "pull")):
        there: Hub = request.getfixturevalue("hub")
        assert there.url
        if example.startswith("pull"):
            api.publish("example@1.0.0", "jane/hobbies")
    if "--project pilot" in example:
        shutil.rmtree(Path("annotations", "pilot"))  # it begins this round, which other examples go on with
    if re.match("annotate (push|status|pull|queue .*--push)", example):
        request.getfixturevalue("studio")
    return example


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_works_as_it_stands(
    name: str, example: str, project: Path, typed: Typed, request: pytest.FixtureRequest
) -> None:
    """It ends without a finding, and says something."""
    words = shlex.split(_prepare(example, request))
    if several := next((word for word in words if "*" in word), ""):
        at = words.index(several)
        words[at : at + 1] = sorted(map(str, Path().glob(several)))
    done = typed(*words)
    assert done.code == 0, done.out + done.err
    assert done.out.strip()
    if "-o" in words or "--out" in words:
        written = words[words.index("-o" if "-o" in words else "--out") + 1]
        assert (project / written).exists()
