"""`senseprobe init` and `new`: what they write works at once, and they write all of it or nothing."""

import csv
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.commands import fill_in

from senseprobe import scaffold
from senseprobe.atomic_files import write_whole
from senseprobe.cli.application import main
from senseprobe.generator.word_lists import WordLists
from senseprobe.project import Layer, built_in
from senseprobe.scaffold import template
from senseprobe.scaffold.template import append_item

Run = Callable[..., str]
KINDS = ("contrast", "inference", "association")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the real command line in this process, and hold its exit code against `code`; what it printed."""

    def command(*arguments: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["senseprobe", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert (int(ended.value.code or 0), "Traceback" in out + err) == (code, False), out + err
        return out + err

    return command


@pytest.fixture(scope="module")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project, which no test changes."""
    folder = tmp_path_factory.mktemp("new") / "mine"
    scaffold.start(folder)
    return folder


@pytest.fixture
def project(new_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the new project, as the working directory."""
    shutil.copytree(new_project, tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder; None for folders."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


# --- init -----------------------------------------------------------------------------------------------------------


def test_a_new_project_lints_clean_counts_and_shows(project: Path, run: Run) -> None:
    """6 people x 5 good x 5 bad words in 5 frames; 6 x 10 x 5 sentences."""
    assert run("lint").startswith("0 findings in 2 word lists and 1 config;")
    assert re.search(r"hobbies +750 +5 +300 ", run("count"))
    assert "example/hobbies: 20 of 750 rows, seed 0" in run("preview", "example/hobbies")


def test_a_new_project_builds_verifies_and_scores(project: Path, run: Run, tiny_models: dict[str, Path]) -> None:
    """From the build to a figure, all 750 rows of it."""
    run("build", "example", "1.0.0")
    assert "unchanged, and its recipe makes the same rows" in run("verify", "example@1.0.0", "--rebuild")
    assert "750 rows" in run("score", str(tiny_models["bert"]), "example@1.0.0")
    assert (project / "results" / "example@1.0.0").is_dir()


Step = Callable[..., str]

# Stands for senseprobe in a shell: it notes where it was called, and with what.
NOTING = '#!/bin/sh\nprintf "%s\\0" "$PWD" "$@" >> "$NOTED"; echo >> "$NOTED"\n'


@pytest.fixture(params=["here", pytest.param("in a shell", marks=pytest.mark.slow)])
def step(request: pytest.FixtureRequest, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Step:
    """Run a script as GitHub does, with bash until the first failure; what it printed.

    Here, it is bash that says what is typed where, and this process that does it: starting senseprobe takes a second.
    """

    def go(script: str, folder: Path, **env: str) -> str:
        noting = tmp_path / "noting"
        noting.mkdir(exist_ok=True)
        (noting / "senseprobe").write_text(NOTING)
        (noting / "senseprobe").chmod(0o755)
        (noting / "noted").write_text("")
        programs = noting if request.param == "here" else Path(sys.executable).parent
        env = {**os.environ, **env, "PATH": f"{programs}:{os.environ['PATH']}", "NOTED": str(noting / "noted")}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        printed = done.stdout
        for line in (noting / "noted").read_text().splitlines():
            place, *words = line.split("\0")[:-1]
            monkeypatch.chdir(place)
            printed += run(*words)
        return printed

    return go


def test_the_workflow_of_a_new_project_runs(project: Path, run: Run, step: Step, tmp_path: Path) -> None:
    """Each step but the installation, in the shell in which it will run, with a frozen release and without."""
    flow = YAML(typ="safe").load((project / ".github" / "workflows" / "senseprobe.yml").read_text())
    steps = {step["name"]: step["run"] for step in flow["jobs"]["check"]["steps"] if "run" in step}
    assert list(steps) == ["Install", "Lint", "Build and verify", "Verify releases"]
    assert re.fullmatch(r'pip install "senseprobe>=\d+\.\d+\.\d+"', steps.pop("Install"))
    for round_ in ("without", "with"):
        output = [step(script, project, RUNNER_TEMP=str(tmp_path / round_)) for script in steps.values()]
        assert "unchanged" in output[1]
        assert ("unchanged" in output[2]) is (round_ == "with")
        if round_ == "without":
            run("build", "example", "1.0.0")


def _commands(text: str) -> list[str]:
    """The lines of a text that are to be typed."""
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


def test_what_init_prints_works_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, step: Step
) -> None:
    """Typed into a shell in a new folder, in order, without a network, it ends with a page (ISSUE 16, line 31)."""
    monkeypatch.chdir(tmp_path)
    printed = _commands(run("init", "my project"))
    assert printed[0] == "cd 'my project'"
    assert [re.match(r"senseprobe (model )?(\w+) ", line)[2] for line in printed[1:]] == [  # type: ignore[index]
        *("lint", "preview", "build", "verify", "new", "plant", "score", "report")
    ]

    def refuse(_: socket.socket, address: object) -> None:
        raise OSError(f"{address} was asked")

    from senseprobe.evaluate import planted

    # One round of training in place of thirty: how well the model learnt its preference is not the question here.
    fit = planted._fit
    monkeypatch.setattr(planted, "_fit", lambda model, corpus, _, *how: fit(model, corpus, 1, *how))
    # A fresh machine: no cache of models, and nobody to ask for one.
    monkeypatch.setattr(socket.socket, "connect", refuse)
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    output = step("\n".join(printed), tmp_path, **offline)
    assert "0 findings" in output
    assert "makes the same rows" in output
    page = (tmp_path / "my project" / "report.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "example@1.0.0" in page
    assert _commands((tmp_path / "my project" / "README.md").read_text()) == printed[1:]


@pytest.mark.parametrize("kind", KINDS)
def test_what_new_prints_works_as_it_stands(project: Path, run: Run, kind: str) -> None:
    """The first shows rows; the second has findings, which it is there to show."""
    preview, lint = (line.partition("#")[0].split()[1:] for line in _commands(run("new", "jobs/tools", "--kind", kind)))
    assert "jobs/tools: 20 of " in run(*preview)
    assert "TODO" in run(*lint, code=1)


def test_the_readme_of_a_new_project_is_right(project: Path) -> None:
    """Every path that it names is there, or comes with the commands that it shows."""
    text = (project / "README.md").read_text()
    for name in re.findall(r"`([a-z./]+/|\.github[^`]+|[a-z]+\.(?:yaml|bib))`", text):
        made = name == "results/" or (project / name).exists() or (project / "wordlists" / name).exists()
        assert made, name


def test_the_example_is_balanced() -> None:
    """As many words of praise as of blame, with as many letters."""
    with Path(str(files("senseprobe") / "scaffold" / "files" / "lists" / "traits.csv")).open() as file:
        rows = list(csv.DictReader(file))
    sides = [[row["word"] for row in rows if row["polarity"] == side] for side in ("pleasant", "unpleasant")]
    assert [len(side) for side in sides] == [5, 5]
    assert len("".join(sides[0])) == len("".join(sides[1]))


def test_a_canary_is_of_one_project_only(tmp_path: Path) -> None:
    """A canary that two datasets share tells nobody which of them leaked."""
    canaries = set()
    for name in ("a", "b"):
        scaffold.start(tmp_path / name)
        match = re.search(
            r"senseprobe:example:([0-9a-f-]{36})", (tmp_path / name / "templates/example/dataset.yaml").read_text()
        )
        assert match
        canaries.add(match[1])
    assert len(canaries) == 2


def test_init_beside_other_files_leaves_them(tmp_path: Path, run: Run) -> None:
    """A repository that has been made, and holds a licence."""
    (tmp_path / "LICENSE").write_text("mine")
    run("init", str(tmp_path))
    assert (tmp_path / "LICENSE").read_text() == "mine"
    assert (tmp_path / "senseprobe.toml").is_file()


@pytest.mark.parametrize(
    "name", ["README.md", ".gitignore", "wordlists/references.bib", "templates/example/hobbies.j2"]
)
def test_init_writes_nothing_where_a_file_is_in_the_way(tmp_path: Path, run: Run, name: str) -> None:
    """And says which one."""
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine\n")
    before = tree(tmp_path)
    assert name in run("init", str(tmp_path), code=2)
    assert tree(tmp_path) == before


def test_init_of_a_project_is_refused(project: Path, run: Run) -> None:
    """In one line that names the command that was perhaps meant."""
    assert run("init", ".", code=2) == ". is already a project: `senseprobe new DATASET/CONFIG` adds to it\n"


def _failing(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Writing fails at the file with this number, as on a disk that is full; undoing is possible."""
    calls = iter(range(10**6))

    def write(path: Path, data: bytes) -> None:
        if next(calls) == at:
            raise OSError(28, "No space left on device", str(path))
        write_whole(path, data)

    monkeypatch.setattr(template, "write_whole", write)


@pytest.mark.parametrize("at", range(11))
def test_init_leaves_nothing_where_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Whichever of the eleven files it was."""
    (tmp_path / "other").write_text("kept")
    _failing(monkeypatch, at + 2)  # two are a draft elsewhere, from which rows are counted
    with pytest.raises(OSError, match="No space left"):
        scaffold.start(tmp_path)
    assert tree(tmp_path) == {"other": b"kept"}


# --- new ------------------------------------------------------------------------------------------------------------

# 6 people x 5 x 5 words x 5 frames; 5 deeds x 5 things x 5 trades x 6 people x 5 frames; (10 + 10) words x 5 frames.
ROWS = {"contrast": 750, "inference": 3750, "association": 100}


# Fields of dataset.yaml, counted in it, and of the front matter; then the lists of the example that each kind uses.
FIELDS = {
    *("title", "summary", "authors.0", "citation", "content_warning", "construct", "groups.0", "intended_use"),
    *("out_of_scope", "who_could_be_harmed", "bias_type", "description", "source"),
}
LISTS = {"contrast": 2, "inference": 4, "association": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_template_works_at_once_and_says_what_is_to_be_filled_in(project: Path, run: Run, kind: str) -> None:
    """Sentences and counts come at once; no release comes of fields that nobody has filled in (ISSUE 15, line 5)."""
    output = run("new", "my-data/first_1", "--kind", kind)
    assert "wrote templates/my-data/first_1.j2\n" in output
    assert re.search(rf"first_1 +{ROWS[kind]} ", run("count", "my-data/first_1"))
    assert f"20 of {ROWS[kind]} rows" in run("preview", "my-data")
    linted = run("lint", code=1).splitlines()
    assert all(": E115 " in line for line in linted[:-1])
    unfilled = [
        match[1] for line in linted if (match := re.search(r"E115 (\S+) contains a placeholder: 'TODO' \(", line))
    ]
    fields = FIELDS | ({"sense.type"} if kind == "contrast" else set())
    assert ({*unfilled}, len(unfilled)) == (fields, len(fields) + 1)  # `construct` is in both files
    assert sum("from senseprobe's example" in line for line in linted) == LISTS[kind]
    assert run("build", "my-data", "0.1.0", code=1).splitlines() == linted[:-1]
    assert not (project / "releases" / "my-data").exists()
    assert run("build", "my-data", "0.1.0", "--shards", "2", "--shard", "0", code=1).splitlines() == linted[:-1]
    fill_in(project)
    assert run("lint").startswith("0 findings")
    run("build", "my-data", "0.1.0")
    assert "makes the same rows" in run("verify", "my-data@0.1.0", "--rebuild")


def test_nothing_of_the_example_describes_another_dataset(project: Path, run: Run) -> None:
    """A dataset of slurs was published as "Praise and blame of people with a hobby", with `lint --strict` clean."""
    example = (project / "templates/example/dataset.yaml").read_text()
    run("new", "slurs/first", "--kind", "contrast")
    card = (project / "templates/slurs/dataset.yaml").read_text()
    fields = ("title", "summary", "authors", "citation", "content_warning", "groups", "who_could_be_harmed")
    for name in fields:
        texts = [YAML(typ="safe").load(text)[name] for text in (example, card)]
        assert texts[0] != texts[1]
        assert "TODO" in str(texts[1])


def test_the_example_under_another_name_is_found(project: Path, run: Run) -> None:
    """Who copies it, and replaces its words, has to say whose words and frames they are, and so reads what they are."""
    (project / "templates/example").rename(project / "templates/slurs")
    found = run("lint", code=1).splitlines()
    assert [re.search(r"E115 (.*) from senseprobe's example", line)[1] for line in found[:-1]] == [  # type: ignore[index]
        *("the citation is", "the frames are", "the words of hobbyists are", "the words of traits are")
    ]
    assert run("build", "slurs", "1.0.0", code=1).splitlines() == found[:-1]


def test_a_kind_that_there_is_not(project: Path, run: Run) -> None:
    """In one line, with what may have been meant, and nothing is written."""
    before = tree(project)
    output = run("new", "mine/first", "--kind", "contrst", code=2)
    assert output == "unknown kind 'contrst': did you mean 'contrast'? there is contrast, inference, association\n"
    assert tree(project) == before


def test_a_dataset_may_have_all_kinds(project: Path, run: Run) -> None:
    """Each is added to its dataset and to the lists that are there, which are written once."""
    lists = (project / "wordlists" / "traits.csv").read_bytes()
    for kind in KINDS:
        run("new", f"all/{kind}", "--kind", kind)
    fill_in(project)
    assert run("lint").startswith("0 findings in 6 word lists and 4 configs;")
    assert YAML(typ="safe").load((project / "templates/all/dataset.yaml").read_text())["configs"] == list(KINDS)
    assert (project / "wordlists" / "traits.csv").read_bytes() == lists


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_a_template_has_a_comment(project: Path, run: Run, kind: str) -> None:
    """Above it, or above the keys that it belongs to."""
    run("new", "a/b", "--kind", kind)
    lines = (project / "templates/a/b.j2").read_text().splitlines()
    keys = [number for number, line in enumerate(lines) if re.match(r"[a-z_]+:", line)]
    together = {"role", "word", "word_class"}
    for number in keys:
        assert lines[number - 1].startswith("#") or lines[number].partition(":")[0] in together, lines[number]


@pytest.mark.parametrize(("kind", "margin"), [("contrast", 5), ("inference", 5), ("association", 0.2)])
def test_a_margin_is_in_the_unit_of_the_figures(project: Path, run: Run, kind: str, margin: float) -> None:
    """Points, or standard deviations, of which 5 would be all that there can be."""
    run("new", "a/b", "--kind", kind)
    assert YAML(typ="safe").load((project / "templates/a/dataset.yaml").read_text())["equivalence"]["margin"] == margin


def test_rows_are_those_of_the_words_that_are_there(project: Path, run: Run) -> None:
    """Who has added people to the list gets a template that expects them."""
    with (project / "wordlists" / "hobbyists.csv").open("a") as file:
        file.write("chess player\nbirder\n")
    run("new", "a/b", "--kind", "contrast")
    assert "expect: {pairs: 1000}" in (project / "templates/a/b.j2").read_text()


def test_lists_that_are_gone_are_written_again(project: Path, run: Run) -> None:
    """A project without lists is still a project."""
    for path in (project / "wordlists").iterdir():
        path.unlink()
    run("new", "a/b", "--kind", "contrast")
    assert {path.name for path in (project / "wordlists").iterdir()} == {
        *("datapackage.yaml", "hobbyists.csv", "references.bib", "traits.csv")
    }
    fill_in(project)
    assert run("lint").startswith("0 findings")


def test_a_bibliography_is_added_to(project: Path, run: Run) -> None:
    """Where the entry that the files name is missing, and only there."""
    path = project / "wordlists" / "references.bib"
    mine = "@book{mine,\n  title = {A Book},\n}\n"
    path.write_text(mine)
    run("new", "a/b", "--kind", "contrast")
    added = path.read_text()
    run("new", "a/c", "--kind", "contrast")
    assert added.startswith(mine + "\n@misc{senseprobe-example,\n")
    assert path.read_text() == added


INVALID_NAMES = {
    "a/B": "cannot be the name of a config",
    "A/b": "cannot be the name of a config",
    "a": "cannot be the name of a config",
    "a/b/c": "cannot be the name of a config",
    "../a/b": "cannot be the name of a config",
    "1/2": "cannot be the name of a config",
    "example/hobbies": "templates/example/hobbies.j2 already exists",
    "sssb/mine": "sssb is the name of a built-in dataset",
}


@pytest.mark.parametrize("name", INVALID_NAMES)
def test_a_name_that_cannot_be_one_is_misuse(project: Path, run: Run, name: str) -> None:
    """In one line, and nothing is written."""
    before = tree(project)
    output = run("new", name, "--kind", "contrast", code=2)
    assert INVALID_NAMES[name] in output
    assert output.count("\n") == 1
    assert tree(project) == before


def test_new_without_a_project_says_how_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Rather than to write into the installed package."""
    monkeypatch.chdir(tmp_path)
    assert "make one with `senseprobe init DIR`" in run("new", "a/b", "--kind", "contrast", code=2)


SPOILT = {
    "a list of another form": ("wordlists/traits.csv", "word,polarity", "word,kind", 1, "traits.csv:1:1: E202"),
    "a list that no longer fits": (
        "wordlists/traits.csv",
        ",pleasant",
        ",unpleasant",
        2,
        "none of the words of traits match",
    ),
    "a descriptor that is none": ("wordlists/datapackage.yaml", "resources:", "resources: [", 1, "datapackage.yaml"),
    "a dataset that is none": ("templates/example/dataset.yaml", "configs: [", "configs: [[", 1, "dataset.yaml"),
    "configs that are no list": ("templates/example/dataset.yaml", "configs: [hobbies]", "configs: a", 2, "`configs`"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_nothing_is_written_where_something_is_in_the_way(project: Path, run: Run, how: str) -> None:
    """One message that names what it is; the project stays as it was."""
    name, old, spoilt, code, message = SPOILT[how]
    text = (project / name).read_text()
    assert old in text
    (project / name).write_text(text.replace(old, spoilt))
    before = tree(project)
    output = run("new", "example/more", "--kind", "contrast", code=code)
    assert message in output
    assert output.count("\n") == 1
    assert tree(project) == before


def test_words_of_two_association_tests(project: Path, run: Run) -> None:
    """One line for all that stand in both, which says what to do; with a column `slug`, as it says, there is none."""
    run("new", "a/b", "--kind", "association")
    words, descriptor = project / "wordlists" / "foods.csv", project / "wordlists" / "datapackage.yaml"
    head, *rows = words.read_text().splitlines()
    both = [*rows, *(row.replace(",foods,", ",meals,") for row in rows)]
    words.write_text("\n".join([head, *both]) + "\n")
    (before, key, after) = descriptor.read_text().partition("[test, role, word]")
    assert key
    lines = [line for line in run("lint", "a/b", code=1).splitlines() if " E114 " in line]
    assert lines[0].partition(" E114 ")[2].startswith("'apple', 'carrot', 'cherry', 'cucumber', 'leek' and 5 more ")
    assert "`slug`" in lines[0]
    assert len(lines) == 2  # things, and adjectives

    words.write_text("\n".join([f"{head},slug", *(f"{row},{'-'.join(row.split(',')[1::-1])}" for row in both)]) + "\n")
    field = "{name: test, type: string, constraints: {required: true}}"
    assert field in after
    slug = f"{field}\n        - {{name: slug, type: string, constraints: {{required: true}}}}"
    descriptor.write_text(before + key + after.replace(field, slug))
    assert " E114 " not in run("lint", "a/b", code=1)


def test_a_file_that_no_descriptor_knows_is_left_alone(project: Path, run: Run) -> None:
    """It may be somebody's work."""
    (project / "wordlists" / "foods.csv").write_text("word\nbread\n")
    before = tree(project)
    assert "foods.csv exists but is not in datapackage.yaml" in run("new", "a/b", "--kind", "association", code=2)
    assert tree(project) == before


@pytest.mark.parametrize("at", range(6))
def test_new_leaves_nothing_where_the_disk_is_full(project: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Neither new files nor half of a descriptor: three lists, the descriptor, the template, the dataset."""
    before = tree(project)
    _failing(monkeypatch, at + 5)  # five are the draft
    with pytest.raises(OSError, match="No space left"):
        scaffold.add(Layer(project), "example/more", "inference")
    assert tree(project) == before


def test_lists_of_the_examples_hide_no_built_in_list() -> None:
    """A built-in template that a user copies into a project must find the words that it had."""
    ours = {name for names in template.LISTS.values() for name in names}
    assert not ours & {*WordLists((built_in().wordlists,)).names()}


# --- lists --add ----------------------------------------------------------------------------------------------------

JOBS = """word,job,year,common,weight,code,sense_noun
nurse,care,1990,true,0.5,007,nurse%1:18:00::
smith,metal,,false,2,012,
"""

# Types and constraints of the cells above, by hand; 007 is a code, which a number would lose.
FIELDS_OF_JOBS = [
    {"name": "word", "type": "string", "constraints": {"required": True, "unique": True}},
    {"name": "job", "type": "string", "constraints": {"required": True}},
    {"name": "year", "type": "integer"},
    {"name": "common", "type": "boolean", "constraints": {"required": True}},
    {"name": "weight", "type": "number", "constraints": {"required": True}},
    {"name": "code", "type": "string", "constraints": {"required": True}},
    {"name": "sense_noun", "type": "string", "lexicon": "wordnet-3.0", "pos": "noun"},
]


@pytest.mark.parametrize("place", ["../jobs.csv", "wordlists/jobs.csv"])
def test_a_list_is_added_with_its_descriptor(project: Path, run: Run, place: str) -> None:
    """What its cells show is stated; what they do not is to be filled in, and nothing is built until it is."""
    (project / place).write_text(JOBS)
    before = (project / "wordlists/datapackage.yaml").read_text()
    output = run("words", "add", place)
    assert "wrote wordlists/datapackage.yaml\n" in output
    text = (project / "wordlists/datapackage.yaml").read_text()
    assert text.startswith(before)
    added = YAML(typ="safe").load(text)["resources"][-1]
    assert (added["name"], added["path"]) == ("jobs", "jobs.csv")
    assert added["schema"] == {"primaryKey": ["word"], "fields": FIELDS_OF_JOBS}
    assert (project / "wordlists/jobs.csv").read_text() == JOBS
    codes = [line.split()[1] for line in run("lint", code=1).splitlines()[:-1]]
    assert codes == ["E115", "E115", "E208"]  # description, source, licence
    assert "smith  metal" in run("words", "list", "jobs")  # templates can use it at once


def test_the_key_of_a_list_is_what_tells_its_rows_apart(project: Path, run: Run) -> None:
    """A word may be there twice, in two tests."""
    (project / "wordlists/tests.csv").write_text("word,test,a b\nrose,one,x\nrose,two,x\nlily,two,x\n")
    run("words", "add", "wordlists/tests.csv")
    schema = YAML(typ="safe").load((project / "wordlists/datapackage.yaml").read_text())["resources"][-1]["schema"]
    assert schema["primaryKey"] == ["word", "test"]
    assert [field["name"] for field in schema["fields"]] == ["word", "test", "a b"]
    assert "E204" not in run("lint", code=1)


def test_a_column_of_keys_of_two_parts_of_speech_is_left_to_its_author(project: Path, run: Run) -> None:
    """A field states one; keys of another form may be of another lexicon."""
    (project / "wordlists/jobs.csv").write_text(
        "word,sense_a,sense_b,sense_c\n"
        "nurse,nurse%1:18:00::,nurse%1:18:00::,nurse.n.01\n"
        "smith,smith%1:18:00::,work%2:36:00::,smith.n.01\n"
    )
    run("words", "add", "wordlists/jobs.csv")
    added = YAML(typ="safe").load((project / "wordlists/datapackage.yaml").read_text())["resources"][-1]
    assert [field.get("pos") for field in added["schema"]["fields"]] == [None, "noun", None, None]


NO_LISTS = {
    "of semicolons": ("jobs.csv", "word;job\nnurse;care\n", "columns are separated by semicolons, use commas"),
    "without words": ("jobs.csv", "name,job\nnurse,care\n", "does not have a column `word`: its columns are name, job"),
    "empty": ("jobs.csv", "", "does not have a column `word`"),
    "with a column twice": ("jobs.csv", "word,job,job\na,b,c\n", "each column needs its own name"),
    "ragged": ("jobs.csv", "word,job\na,b\nc\n", "row 3 does not have 2 cells"),
    "malformed": ("jobs.csv", 'word\n"a', "jobs.csv:2: malformed CSV"),
    "of another name": ("My Jobs.csv", "word\na\n", "rename it with"),
    "of another kind": ("jobs.txt", "word\na\n", "rename it with"),
    "described already": ("traits.csv", "word\na\n", "wordlists/datapackage.yaml already describes traits"),
}


@pytest.mark.parametrize("how", NO_LISTS)
def test_a_file_that_cannot_be_a_list_is_misuse(project: Path, run: Run, how: str) -> None:
    """One message, and nothing is written."""
    name, text, message = NO_LISTS[how]
    (project / name).write_text(text)
    before = tree(project)
    output = run("words", "add", name, code=2)
    assert message in output
    assert output.count("\n") == 1
    assert tree(project) == before


def test_no_file_of_the_project_is_overwritten(project: Path, run: Run) -> None:
    """A file that has the name, a name beside the file, a file that is not there, and no project."""
    (project / "wordlists/jobs.csv").write_text("word\nmine\n")
    (project / "jobs.csv").write_text("word\na\n")
    before = tree(project)
    assert "wordlists/jobs.csv already exists" in run("words", "add", "jobs.csv", code=2)
    assert "nowhere.csv: no such file" in run("words", "add", "nowhere.csv", code=2)
    assert tree(project) == before


# --- lists in YAML --------------------------------------------------------------------------------------------------

# A file, and what of it is replaced by what.
ADDED = {
    "in a line": ("a: 1  # one\nconfigs: [x, y]  # in order\nb: 2\n", "y]", "y, new]"),
    "with a comma at its end": ("configs: [x,]\n", "x,", "x, new,"),
    "in a line of several": ("configs: [\n  x,  # first\n  y   # last\n]\n", "  y ", "  y, new "),
    "below": ("configs:\n  - x\n  - y  # last\n\n# then\nb: 2\n", "# last\n", "# last\n  - new\n"),
    "below, not indented": ("configs:\n- x\nb: 2\n", "x\n", "x\n- new\n"),
    "at the end, without a line feed": ("configs:\n  - x", "x", "x\n  - new\n"),
    "after a quoted text": ("configs:\n  - 'x # y'\n", "y'\n", "y'\n  - new\n"),
    "after a mapping": ("configs:\n  - n: x\n    s: {f: [1]}  # c\nb: 2\n", "# c\n", "# c\n  - new\n"),
    "after a folded text": ("configs:\n  - n: >-\n      x\n      y\nb: 2\n", "y\n", "y\n  - new\n"),
    "empty": ("a: 1\nconfigs: []  # none\nb: 2\n", " []", "\n  - new"),
}


@pytest.mark.parametrize("how", ADDED)
def test_an_item_is_added_and_all_else_stays(how: str) -> None:
    """As one would write it by hand."""
    before, old, new = ADDED[how]
    after = append_item(before, "configs", "new")
    assert after == before.replace(old, new)
    read = {**YAML(typ="safe").load(before)}
    assert YAML(typ="safe").load(after) == {**read, "configs": [*read["configs"], "new"]}


@pytest.mark.parametrize("text", ["configs: x\n", "a: 1\n", "configs:\n", "", "[configs]\n"])
def test_what_is_no_list_is_not_added_to(text: str) -> None:
    """The author is told instead."""
    assert append_item(text, "configs", "new") is None


def test_line_ends_of_other_systems_stay(project: Path, run: Run) -> None:
    """A file that was saved on Windows does not change in every line."""
    path = project / "templates" / "example" / "dataset.yaml"
    lines = path.read_bytes().replace(b"\n", b"\r\n")
    path.write_bytes(lines)
    run("new", "example/more", "--kind", "contrast")
    assert path.read_bytes() == lines.replace(b"[hobbies]", b"[hobbies, more]")


# --- names that are not UTF-8 ---------------------------------------------------------------------------------------


def test_a_project_below_a_folder_whose_name_is_not_utf8(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux takes any bytes for a name: what lies there is built and verified as anywhere else."""
    above = project.with_name(os.fsdecode(b"pr\xff"))
    project.rename(above)
    monkeypatch.chdir(above)
    run("build", "example", "1.0.0")
    run("verify", "example@1.0.0", "--rebuild")
    run("verify", "releases/example/1.0.0")


def test_a_dataset_whose_name_is_not_utf8_is_not_built(project: Path, run: Run) -> None:
    """Its name is that of the release, in files that are UTF-8: one message."""
    name = os.fsdecode(b"ex\xffmple")
    (project / "templates" / "example").rename(project / "templates" / name)
    assert "is not UTF-8: rename the folder of the dataset" in run("build", name, "1.0.0", code=2)
