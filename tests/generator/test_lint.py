"""`senseprobe lint`: what its paths mean, how it prints, what it accepts and what it remembers."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import senseprobe
from senseprobe.cli.application import main
from senseprobe.errors import DeclarationError, SenseprobeError
from senseprobe.generator import schema, word_lists, yaml_source
from senseprobe.generator.checks import Report, lint_paths, page
from senseprobe.generator.checks.codes import EXAMPLES, all_codes
from senseprobe.generator.kinds import association, contrast, inference
from senseprobe.generator.segments import Segment
from senseprobe.generator.word_lists import Cells, WordLists
from senseprobe.generator.yaml_source import Model

ROOT = Path(__file__).parents[2]
CHECKS = Path(__file__).parents[1] / "checks"


@dataclass(frozen=True)
class Ran:
    """What the command printed, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The base project as the working directory, on a machine without WordNet."""
    shutil.copytree(CHECKS / "base", tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path / "kept"))
    return tmp_path / "project"


@pytest.fixture
def lint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run the real command, in this process."""

    def command(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["senseprobe", "lint", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Ran(int(ended.value.code or 0), out, err)

    return command


def _second_dataset(project: Path) -> None:
    """A dataset `y` beside `x`, with a config `z` that is wrong in its first line."""
    shutil.copytree(project / "templates/x", project / "templates/y")
    (project / "templates/y/x.j2").rename(project / "templates/y/y.j2")
    (project / "templates/y/z.j2").write_text("nothing\n")
    card = project / "templates/y/dataset.yaml"
    card.write_text(card.read_text().replace("configs: [x]", "configs: [y, z]"))


# --- paths ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "lists", "configs"),
    [
        # Counted in the base project: two lists, one config.
        ([], 2, 1),
        (["."], 2, 1),
        (["templates"], 0, 1),
        (["templates/x"], 0, 1),
        (["templates/x/dataset.yaml"], 0, 1),
        (["templates/x/x.j2"], 0, 1),
        (["wordlists"], 2, 0),
        (["wordlists/datapackage.yaml"], 2, 0),
        (["wordlists/things.csv"], 1, 0),
        (["wordlists/things.csv", "templates/x"], 1, 1),
    ],
)
def test_a_path_says_what_is_checked(project: Path, paths: list[str], lists: int, configs: int) -> None:
    """A project, its templates or wordlists, a dataset, a template or a list; and built-in lists are none of it."""
    report = lint_paths(map(Path, paths))
    assert (report.findings, report.lists, report.configs) == ((), lists, configs)


def test_paths_are_found_from_anywhere(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of templates and lists is a layer, with a marker or without."""
    monkeypatch.chdir(tmp_path)
    (project / "senseprobe.toml").unlink()
    report = lint_paths([Path("project/templates/x/x.j2"), Path("project/wordlists/things.csv")])
    assert (report.lists, report.configs) == (1, 1)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "nowhere: not a file, a folder or a dataset"),
        ("senseprobe.toml", "senseprobe.toml: give a project"),
        ("templates/x/README.md", "lint cannot check"),
        ("templates/empty", "lint cannot check"),
    ],
)
def test_a_path_that_is_none_is_misuse(project: Path, lint: Callable[..., Ran], path: str, message: str) -> None:
    """Exit code 2, and one message."""
    (project / "templates/x/README.md").touch()
    (project / "templates/empty").mkdir()
    ran = lint("templates/x", path)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


def test_only_what_is_named_is_told(project: Path) -> None:
    """A sibling's mistakes are not those of the template that was named, nor are those of other lists."""
    _second_dataset(project)
    shutil.copy(CHECKS / "E203-no-number.things.csv", project / "wordlists/things.csv")
    assert [f.code for f in lint_paths([Path("wordlists/qualities.csv")]).findings] == []
    assert [f.code for f in lint_paths([Path("wordlists/things.csv")]).findings] == ["E203"]
    told = {(finding.path, finding.code) for finding in lint_paths([Path("templates/y/z.j2")]).findings}
    assert ("templates/y/z.j2", "E101") in told
    assert not {path for path, _ in told} & {"templates/x/x.j2", "templates/y/y.j2"}


def test_a_sibling_that_is_broken_keeps_no_template_from_being_looked_at(project: Path) -> None:
    """Neither alone nor with its dataset; what the broken one accepts or makes is not judged."""
    _second_dataset(project)
    shutil.copy(CHECKS / "E121-value-in-flip.j2", project / "templates/y/y.j2")
    alone = [(finding.path, finding.code) for finding in lint_paths([Path("templates/y/y.j2")]).findings]
    assert alone == [("templates/y/y.j2", "E121")]
    report = lint_paths([Path("templates/y")])
    assert [(finding.path, finding.code) for finding in report.findings] == [*alone, ("templates/y/z.j2", "E101")]
    assert (report.configs, report.configs_not_checked) == (2, 0)


def test_another_number_of_rows_hides_nothing(project: Path) -> None:
    """What `expect` says wrongly, and what is wrong with the sentences, are told at once."""
    template = project / "templates/x/x.j2"
    text = template.read_text().replace("pairs: 2", "pairs: 3")
    template.write_text(text.replace("is {{ quality }}", " is {{ quality }}"))
    assert [finding.code for finding in lint_paths([]).findings] == ["E109", "E117"]


@pytest.mark.parametrize("broken", ["E100-latin-1.things.csv", "E102-languages-is-no-list.dataset.yaml"])
def test_what_was_not_looked_at_is_counted(project: Path, lint: Callable[..., Ran], broken: str) -> None:
    """Where a list or `dataset.yaml` is broken, two configs are sound, as far as anybody looked."""
    shutil.copy(project / "templates/x/x.j2", project / "templates/x/z.j2")
    card = project / "templates/x/dataset.yaml"
    shutil.copy(CHECKS / broken, project / ("wordlists/things.csv" if broken.endswith("csv") else card))
    card.write_text(card.read_text().replace("configs: [x]", "configs: [x, z]"))
    assert " and 0 configs; 2 configs not checked; " in lint().out.splitlines()[-1]
    assert json.loads(lint("--json").out)["configs_not_checked"] == 2


def test_a_dataset_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on other commands, from anywhere in the project, with its lists; what is at a path goes before a name."""
    _second_dataset(project)
    (project / "notes" / "y").mkdir(parents=True)
    monkeypatch.chdir(project / "notes")
    for name, paths in {
        "x": ["templates/x", "wordlists"],
        "x/x": ["templates/x/x.j2", "wordlists"],
        "y": ["templates/y", "wordlists"],
        "y/z": ["templates/y/z.j2"],  # without front matter, so that nobody knows its lists
    }.items():
        assert lint_paths([Path(name)]) == lint_paths(project / path for path in paths), name
    assert lint_paths([Path("sssb/noun")]).configs == 1  # of another layer
    monkeypatch.chdir(project / "templates/y")
    shutil.copytree(project / "templates/x", project / "templates/x.j2")
    assert lint_paths([Path("y.j2")]).configs == 1


def test_a_named_dataset_is_clean_only_if_its_lists_are(project: Path) -> None:
    """What `build` refuses lint finds by name; a list that the dataset does not use is not looked at."""
    shutil.copy(project / "wordlists/things.csv", project / "wordlists/others.csv")
    descriptor = project / "wordlists/datapackage.yaml"
    head, things, rest = re.split("(?=  - name: (?:things|qualities))", descriptor.read_text())
    things += "    description: TODO\n"
    descriptor.write_text(head + things + things.replace("things", "others") + rest)
    for name in ("x", "x/x"):
        (finding,) = lint_paths([Path(name)]).findings
        assert (finding.code, finding.path) == ("E115", "wordlists/datapackage.yaml")
    with pytest.raises(DeclarationError) as error:
        senseprobe.build("x", "1.0.0", project / "out")
    assert [f.code for f in error.value.findings] == ["E115"]


@pytest.mark.parametrize("name", ["y", "x/y", "sssb/nouns"])
def test_a_dataset_that_is_not_there_is_misuse(project: Path, lint: Callable[..., Ran], name: str) -> None:
    """One message, with the names that there are."""
    ran = lint(name)
    assert (ran.code, ran.out) == (2, "")
    assert "not a file, a folder or a dataset" in ran.err
    assert ran.err.rstrip().endswith("sssb-clusters, x")
    assert len(ran.err.splitlines()) == 1


def test_mistakes_of_a_list_hide_none_of_templates_nor_of_other_lists(project: Path) -> None:
    """Two lists are wrong, front matter names a column that is not there, and a frame has two blanks: four mistakes.

    Numbers of rows and of words, of which some are missing, are counted when the lists are right.
    """
    shutil.copy(CHECKS / "E203-no-number.things.csv", project / "wordlists/things.csv")
    shutil.copy(CHECKS / "E204-primary-key-twice.qualities.csv", project / "wordlists/qualities.csv")
    template = project / "templates/x/x.j2"
    sound = template.read_text()
    template.write_text(sound.replace("is {{ quality }}", " is {{ quality }}"))
    lists = [("wordlists/qualities.csv", 4, "E204"), ("wordlists/things.csv", 2, "E203")]
    found = [(finding.path, finding.line, finding.code) for finding in lint_paths([]).findings]
    assert found == [("templates/x/x.j2", 20, "E117"), *lists]
    assert [(f.path, f.line, f.code) for f in lint_paths([Path("x")]).findings] == found  # of the lists that it uses
    template.write_text(sound.replace("{{ thing }}", "{{ thing.wrod }}").replace("target: thing", "target: thign"))
    found = [(finding.path, finding.line, finding.code) for finding in lint_paths([]).findings]
    assert found == [("templates/x/x.j2", 12, "E105"), ("templates/x/x.j2", 20, "E104"), *lists]
    with pytest.raises(DeclarationError) as error:
        senseprobe.build("x", "1.0.0", project / "out")
    assert [f.code for f in error.value.findings] == ["E203", "E204", "E105", "E104"]  # lists, then templates


def test_a_list_without_words_hides_no_list_that_is_missing(project: Path) -> None:
    """Neither one that cannot be read, nor one whose every row is wrong; there are no sentences to check."""
    template = project / "templates/x/x.j2"
    template.write_text(template.read_text().replace("roles:", "  other: {list: thingies}\nroles:"))
    shutil.copy(CHECKS / "E100-latin-1.things.csv", project / "wordlists/things.csv")
    missing = ("templates/x/x.j2", "E110")
    assert [(f.path, f.code) for f in lint_paths([]).findings] == [missing, ("wordlists/things.csv", "E100")]
    (project / "wordlists/things.csv").write_text("word,size,tame,sense_noun\ndog,,,\n")
    assert [(f.path, f.code) for f in lint_paths([]).findings] == [missing, ("wordlists/things.csv", "E203")]
    rows = "".join(f"dog,{number},,\n" for number in range(1_100))
    (project / "wordlists/things.csv").write_text(f"word,size,tame,sense_noun\n{rows}")
    found = lint_paths([]).findings
    assert [(f.path, f.code) for f in found if f.code != "E204"] == [missing, ("wordlists/things.csv", "E202")]


def test_a_descriptor_or_a_card_that_is_broken_hides_no_mistake_of_front_matter(project: Path) -> None:
    """Frames need their words; what front matter says wrongly does not."""
    template = project / "templates/x/x.j2"
    template.write_text(template.read_text().replace("label_basis: ", "label_basis: no"))
    before = [finding for finding in lint_paths([]).findings if finding.path == "templates/x/x.j2"]
    assert before
    shutil.copy(CHECKS / "E201-no-path.datapackage.yaml", project / "wordlists/datapackage.yaml")
    shutil.copy(CHECKS / "E102-languages-is-no-list.dataset.yaml", project / "templates/x/dataset.yaml")
    found = lint_paths([]).findings
    assert [finding for finding in found if finding.path == "templates/x/x.j2"] == before
    assert {finding.code for finding in found} == {"E102", "E201"}


HEADERS = {
    "word;polarity": "columns are separated by semicolons, not commas",
    '"word";"polarity"': "columns are separated by semicolons, not commas",
    "word\tpolarity": "columns are separated by tabs, not commas",
    "polarity,word": "columns are not in the order of datapackage.yaml: polarity,word",
    "word,polarty": "columns differ from those in datapackage.yaml: without polarity, with polarty",
    "word": "columns differ from those in datapackage.yaml: without polarity",
    "word,word": "columns differ from those in datapackage.yaml: without polarity",
    "word,polarity,polarity": "columns differ from those in datapackage.yaml: one occurs twice",
}


@pytest.mark.parametrize("header", HEADERS)
def test_what_is_wrong_with_a_header_is_named(project: Path, header: str) -> None:
    """As spreadsheets of half of Europe write it, as somebody sorted it, and as somebody misspelt it."""
    path = project / "wordlists/qualities.csv"
    columns = header.replace('"', "").replace(";", ",").replace("\t", ",").split(",")
    sign = ";" if ";" in header else "\t" if "\t" in header else ","
    rows = [dict(zip(("word", "polarity"), line.split(","), strict=True)) for line in path.read_text().splitlines()[1:]]
    path.write_text("\n".join([header, *(sign.join(row.get(name, "") for name in columns) for row in rows)]) + "\n")
    (finding,) = lint_paths([]).findings
    assert (finding.path, finding.line, finding.code) == ("wordlists/qualities.csv", 1, "E202")
    assert (finding.message, finding.hint) == (HEADERS[header], "write word,polarity")


# --- formats --------------------------------------------------------------------------------------------------------


def test_a_template_with_a_mistake_was_looked_at_all_the_same(project: Path, lint: Callable[..., Ran]) -> None:
    """One file was asked for, and it has the finding."""
    template = project / "templates/x/x.j2"
    template.write_text(template.read_text().replace("target:", "taget:"))
    told = lint("templates/x/x.j2").out.splitlines()[-1]
    assert told.startswith("2 findings in 0 word lists and 1 config;")


def test_one_finding_is_no_findings(project: Path, lint: Callable[..., Ran]) -> None:
    """In the singular; and a clean project has none, in the plural."""
    assert lint().out.startswith("0 findings in 2 word lists and 1 config; 0 sense keys checked, 2 not checked")
    shutil.copy(CHECKS / "E203-no-number.things.csv", project / "wordlists/things.csv")
    assert lint("wordlists").out.splitlines()[-1].startswith("1 finding in 2 word lists and 0 configs;")


def test_github_gets_workflow_commands(project: Path, lint: Callable[..., Ran]) -> None:
    """Written by hand from GitHub's page on workflow commands: % , : and line feeds are escaped in properties.

    A message keeps commas and colons.
    """
    folder = project / "templates" / "50%, so: y"
    shutil.copytree(project / "templates/x", folder)
    shutil.copy(CHECKS / "E121-value-in-flip.j2", folder / "x.j2")
    template = folder / "x.j2"
    template.write_text(template.read_text().replace("size: 4", 'word: "100%"'))
    card = folder / "dataset.yaml"
    card.write_text(card.read_text().replace("accept: {W506: a test needs few words}\n", ""))
    ran = lint("--format", "github", str(folder))
    place = "file=templates/50%25%2C so%3A y/x.j2"
    lines = ran.out.splitlines()
    message = "things does not have a word with word '100%25' (there is dog, guinea pig)"
    assert f"::error {place},line=17,col=6,title=E121::{message}" in lines
    assert sum(line.startswith(f"::warning {place},line=18,col=") and ",title=W506::" in line for line in lines) == 2
    assert ran.code == 1


def test_json_has_stable_keys(project: Path, lint: Callable[..., Ran]) -> None:
    """What a program reads must not change its name; `--json` is short for it."""
    shutil.copy(CHECKS / "E104-column-in-frame.j2", project / "templates/x/x.j2")
    told = json.loads(lint("--format", "json").out)
    assert told == json.loads(lint("--json").out)
    counts = ["lists", "configs", "configs_not_checked", "keys_checked", "keys_not_checked", "not_checked"]
    assert list(told) == ["findings", "accepted", "guesses", *counts]
    assert told["findings"] == [
        {
            "path": "templates/x/x.j2",
            "line": 20,
            "column": 8,
            "code": "E104",
            "message": "thing does not have a column 'wrod'",
            "hint": "did you mean 'word'?",
        }
    ]


def test_every_guess_is_told(project: Path, lint: Callable[..., Ran]) -> None:
    """Of articles and plurals that no list states; asked for in text, always in JSON."""
    template = project / "templates/x/x.j2"
    template.write_text(template.read_text().replace("The {{ thing }}", "{{ thing | a | upfirst }}"))
    told = json.loads(lint("--json").out)["guesses"]
    assert told == [{"asked": "a", "text": word, "answer": "a"} for word in ("dog", "guinea pig")]
    assert "guinea pig" not in lint().out
    assert re.search(r"(?m)^article +guinea pig +a *$", lint("--guesses").out)


# --- what is accepted -----------------------------------------------------------------------------------------------


def test_what_is_accepted_is_told_and_is_no_finding(project: Path, lint: Callable[..., Ran]) -> None:
    """With the place of the reason; the template's own goes before its dataset's."""
    accepted = json.loads(lint("--json").out)["accepted"]
    # W506 of both factors: two things and one frame, of which five levels each are needed.
    mine = {"code": "W506", "path": "templates/x/dataset.yaml", "reason": "a test needs few words", "findings": 2}
    assert accepted == [mine]
    assert "; 2 warnings accepted" in lint().out
    template = project / "templates/x/x.j2"
    template.write_text(template.read_text().replace("pairs: 2}", "pairs: 2}\naccept: {W506: two will have to do}"))
    found = lint_paths([])
    assert [(each.path, each.reason) for each in found.accepted] == [("templates/x/x.j2", "two will have to do")]
    assert [(each.path, each.code) for each in found.findings] == [("templates/x/dataset.yaml", "E123")]


def test_a_waiver_is_not_judged_by_half_a_look(project: Path) -> None:
    """One config of several, or one that is broken, may hold what is accepted; so may checks that could not run."""
    template, card = project / "templates/x/x.j2", project / "templates/x/dataset.yaml"
    card.write_text(card.read_text().replace("few words}", "few words, W505: sets of unequal size}"))
    assert [finding.code for finding in lint_paths([template]).findings] == []
    descriptor = project / "wordlists/datapackage.yaml"
    text = descriptor.read_text().replace("path: things.csv\n", "path: things.csv\n    accept: {W401: odd but right}\n")
    descriptor.write_text(text)
    report = lint_paths([project / "wordlists"])
    assert report.findings == ()
    assert report.not_checked["W401"] == 2  # lists


# --- a second look --------------------------------------------------------------------------------------------------


KEYS_TWICE = """
import sys
from pathlib import Path
from senseprobe.generator.checks import lint_paths
report = lint_paths([Path("wordlists")])
print([finding.code for finding in report.findings], report.keys_checked, "nltk" in sys.modules)
"""


@pytest.mark.system
def test_no_look_needs_nltk(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where another list has changed, and where a list has lost a row; and keys are still found wrong."""
    home = tmp_path / "wordnet"
    made = subprocess.run([sys.executable, "-m", "senseprobe", "wordnet", "--folder", str(home)], check=False)
    assert made.returncode == 0
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(home))
    things = "word,size,tame,sense_noun\ndog,3,true,{}\n"
    (project / "wordlists/things.csv").write_text(things.format("dog%1:18:77::"))  # no word has so many senses

    def run() -> str:
        return subprocess.run([sys.executable, "-c", KEYS_TWICE], capture_output=True, text=True, check=True).stdout

    assert run() == "['E302'] 1 False\n"
    assert run() == "['E302'] 1 False\n"
    (project / "wordlists/qualities.csv").write_text("word,polarity\nwild,unpleasant\ntame,pleasant\ncalm,\n")
    assert run() == "['E302'] 1 False\n"
    (project / "wordlists/things.csv").write_text(things.format("dog%1:05:00::"))
    assert run() == "[] 1 False\n"


def test_each_declaration_is_parsed_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many checks ask for places in it: the descriptor, `dataset.yaml` and front matter."""
    texts: list[str] = []
    yaml_source._compose.cache_clear()
    load = YAML.load

    def noted(self: YAML, text: str) -> object:
        texts.append(text)
        return load(self, text)

    monkeypatch.setattr(YAML, "load", noted)
    (project / "wordlists/things.csv").write_text("word,size,tame,sense_noun\nelk,3,true,\nyak,3,true,\n")
    lint_paths([])
    own = [text for text in texts if "things" in text or "summary: " in text]
    assert len(own) >= 2
    assert [text for text in own if own.count(text) > 1] == []


def test_a_change_is_seen(project: Path) -> None:
    """Of a template, and of a list that it reads; without it the report is as before."""
    first = lint_paths([])
    shutil.copy(CHECKS / "E105-comparison-of-text-and-number.j2", project / "templates/x/x.j2")
    assert [finding.code for finding in lint_paths([]).findings] == ["E105"]
    shutil.copy(CHECKS / "base/templates/x/x.j2", project / "templates/x/x.j2")
    shutil.copy(CHECKS / "E203-no-number.things.csv", project / "wordlists/things.csv")
    assert {finding.code for finding in lint_paths([]).findings} == {"E203"}
    shutil.copy(CHECKS / "base/wordlists/things.csv", project / "wordlists/things.csv")
    assert lint_paths([]) == first


# --- what it costs --------------------------------------------------------------------------------------------------

WORDS = 1_000


def test_lint_costs_what_its_segments_cost(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A config of 10^12 rows is four lists of a thousand words: a few thousand texts, each asked for a few times."""
    rows = "".join(f"w{number}x,1,,\n" for number in range(WORDS))
    (project / "wordlists/things.csv").write_text("word,size,tame,sense_noun\n" + rows)
    template = project / "templates/x/x.j2"
    text = template.read_text().replace(
        "  thing: {list: things}\n", "".join(f"  {s}: {{list: things}}\n" for s in "abcd")
    )
    text = text.replace("target: thing", "target: a").replace("thing.s", "a.s").replace("[thing,", "[a,")
    text = text.replace("pairs: 2", f"pairs: {WORDS**4}").replace("size: 3", "size: 1")
    template.write_text(text.replace("The {{ thing }}", "The {{ a }}, {{ b }}, {{ c }} and {{ d }}"))
    asked = 0
    render = Segment.render

    def counted(segment: Segment, values: Mapping[str, Any]) -> tuple[str, int]:
        nonlocal asked
        asked += 1
        return render(segment, values)

    monkeypatch.setattr(Segment, "render", counted)
    report = lint_paths([template])
    assert report.configs == 1
    assert not [finding for finding in report.findings if finding.code.startswith("E")]
    # Two roles, four slots; each check that looks at sentences may ask again, which is no matter of the product.
    assert 2 * 4 * WORDS <= asked <= 20 * 2 * 4 * WORDS


def test_a_mistake_in_the_last_word_is_found(project: Path) -> None:
    """Every word of every slot is tried, also behind the 20,000 rows that were once looked at."""
    rows = "".join(f"w{number}x,{number},true,\n" for number in range(300))
    (project / "wordlists/things.csv").write_text(f"word,size,tame,sense_noun\n{rows}last,1,,\n")
    template = project / "templates/x/x.j2"
    text = template.read_text().replace(
        "  thing: {list: things}\n", "  thing: {list: things}\n  other: {list: things}\n"
    )
    text = text.replace("pairs: 2", f"pairs: {301**2}")
    template.write_text(
        text.replace("{{ thing }} is", "{{ thing }} of {{ other.sense_noun or other.tame and other }} is")
    )
    (found,) = lint_paths([template]).findings
    assert (found.code, found.line) == ("E105", 21)
    assert "other=last" in found.message


def test_the_longest_sentence_is_found(project: Path) -> None:
    """In the first row no slot has its long word, and no row of the first 20,000 has both."""
    long = "x" * 6_000
    rows = "".join(f"w{number}x,1,,\n" for number in range(300))
    (project / "wordlists/things.csv").write_text(f"word,size,tame,sense_noun\n{rows}{long},1,,\n")
    template = project / "templates/x/x.j2"
    text = template.read_text().replace(
        "  thing: {list: things}\n", "  thing: {list: things}\n  other: {list: things}\n"
    )
    text = text.replace("pairs: 2", f"pairs: {301**2}")
    template.write_text(text.replace("{{ thing }} is", "{{ thing }} of {{ other }} is"))
    # 6,000 twice, and "The " and " of " are 4 each; what follows is not counted any more.
    found = [finding for finding in lint_paths([template]).findings if finding.code == "E108"]
    assert [finding.message.partition(";")[0] for finding in found] == ["a sentence has 12008 characters"]


# --- the page of codes ----------------------------------------------------------------------------------------------


def test_the_page_is_the_one_that_the_code_makes(lint: Callable[..., Ran], tmp_path: Path) -> None:
    """Run `senseprobe lint --codes > docs/checks.md` where it is not."""
    assert (ROOT / "docs/checks.md").read_text(encoding="utf-8") == page()
    ran = lint("--codes")
    assert (ran.code, ran.out) == (0, page())


def test_every_code_of_the_sources_is_on_the_page() -> None:
    """Codes are found in the text of our files: "E105", wherever it is raised; and the page says what to do."""
    folders = [ROOT / "generator", ROOT / "src/senseprobe", ROOT / "evaluate", ROOT / "annotation"]
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py")]
    raised = {code for text in texts for code in re.findall(r'"([EW]\d{3})"', text)}
    assert len(raised) > 50
    assert raised == {*all_codes()}
    assert [code for code, said in all_codes().items() if not said.title.endswith(".") or len(said.advice) < 15] == []


def _required(model: type[Model]) -> dict[str, None]:
    return {(field.alias or name): None for name, field in model.model_fields.items() if field.is_required()}


def test_every_key_that_may_be_missing_has_an_example() -> None:
    """Of every form that authors fill in."""
    models = [
        each
        for module in (schema, contrast, inference, association, word_lists)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Model)
    ]
    assert len(models) >= 15
    assert {key for model in models for key in _required(model)} <= {*EXAMPLES}


def test_a_missing_key_comes_with_an_example(project: Path) -> None:
    """A newcomer need not look up what to write."""
    template = project / "templates/x/x.j2"
    template.write_text(template.read_text().replace("kind: contrast\n", ""))
    (found,) = lint_paths([]).findings
    assert (found.message, found.hint) == ("kind: field required", "kind: contrast, inference or association")


# --- no false alarm -------------------------------------------------------------------------------------------------

RIGHT = {
    "an article that fits": "An old {{ thing }} is a {{ quality }} one, an hour a day, and a one-off.",
    "a letter that is no article": "Vitamin A is what the {{ thing }} needs, and {{ quality }} it is; plan A. A is it.",
    "a guessed article": "{{ thing | a | upfirst }} is {{ quality | a }} one.",
    "an ellipsis, a decimal and a sign": "The {{ thing }} is {{ quality }} ... or .5 of it :-) or less.",
    "a condition with its blank inside": "The {{ thing }} is{% if thing.tame %} very{% endif %} {{ quality }}.",
    "angles and braces that hold nothing to fill in": "The {{ thing }} is < {{ quality }} > 3, and [sic] _so_ on.",
    "endings, prefixes and hyphens": "The {{ thing }}s, un{{ quality }}, non-{{ quality }}, are {{ quality }}'s.",
    "a text in front of a slot that ends in no letter": "The ({{ thing }}) is 3\u2018{{ quality }}\u2019%.",
    "a sign that names no slot": "The {{ thing }} is {{ quality }} for $5, $USD or 5%.",
    "pronouns where none is bound": "He gave her a {{ thing }} of his; it was {{ quality }}.",
    "a word within a word": "The {{ thing }} thereof is {{ quality }}, as in sheep and Herbert's.",
}


@pytest.mark.parametrize("why", RIGHT)
def test_what_is_right_is_left_alone(project: Path, why: str) -> None:
    """Sentences beside each mistake that are none; warnings are not asked here."""
    template = project / "templates/x/x.j2"
    template.write_text(template.read_text().replace("The {{ thing }} is {{ quality }}.", RIGHT[why]))
    assert [str(finding) for finding in lint_paths([]).findings if finding.code.startswith("E")] == []


def test_pronouns_of_one_gender_are_left_alone(project: Path) -> None:
    """Where the role's own gender is said, and where a role binds both."""
    template = project / "templates/x/x.j2"
    good = template.read_text().replace("{quality: {list: qualities, word: wild}}", "{p: {text: he}, q: {text: she}}")
    good = good.replace("{quality: {list: qualities, word: tame}}", "{p: {text: she}, q: {text: he}}")
    template.write_text(good.replace("is {{ quality }}", "knows that {{ p }} saw what {{ q }} did to her"))
    assert [f.code for f in lint_paths([]).findings if f.code == "W515"] == []


def test_a_slot_with_one_word_need_not_be_read(project: Path) -> None:
    """It repeats nothing; nor does a slot that only a condition reads."""
    template = project / "templates/x/x.j2"
    text = template.read_text().replace(
        "  thing: {list: things}\n", "  thing: {list: things}\n  one: {list: things, where: {size: 3}}\n"
    )
    template.write_text(text)
    assert [f.code for f in lint_paths([]).findings if f.code == "E119"] == []


def test_an_article_that_the_list_states_is_believed(project: Path) -> None:
    """Jeans take `a` where their list says so (a jeans: not our taste, but stated)."""
    descriptor = project / "wordlists/datapackage.yaml"
    descriptor.write_text(descriptor.read_text().replace("{name: tame, type: boolean}", "{name: article}"))
    (project / "wordlists/things.csv").write_text("word,size,article,sense_noun\njeans,3,a,\nadvice,1,none,\n")
    template = project / "templates/x/x.j2"
    template.write_text(template.read_text().replace("The {{ thing }}", "{{ thing | a | upfirst }}"))
    assert [f.code for f in lint_paths([]).findings if f.code == "E116"] == []
    (project / "wordlists/things.csv").write_text("word,size,article,sense_noun\njeans,3,,\nadvice,1,none,\n")
    found = [finding.message for finding in lint_paths([]).findings if finding.code == "E116"]
    assert found == ["`a` before a word without an article: 'jeans'"]


def test_one_pair_of_many_that_says_the_same_is_counted(project: Path) -> None:
    """Two slots of one list, one for each role: 2 of 4 combinations are the same word twice."""
    template = project / "templates/x/x.j2"
    text = template.read_text().replace(
        "  thing: {list: things}\n", "".join(f"  {s}: {{list: things}}\n" for s in "ab")
    )
    text = text.replace("{quality: {list: qualities, word: wild}}", "{thing: a}").replace("pairs: 2", "pairs: 4")
    text = text.replace("{quality: {list: qualities, word: tame}}", "{thing: b}").replace("thing.s", "a.s")
    template.write_text(text.replace("is {{ quality }}", "barks"))
    found = [finding.message for finding in lint_paths([]).findings if finding.code == "E118"]
    assert found == ["both sentences are 'The dog barks.', as in 2 of 4 combinations of words"]


def _bound(project: Path, frame: str, stereo: str, anti: str) -> list[str]:
    """The mistakes of a frame whose roles bind `p` to two texts."""
    template = project / "templates/x/x.j2"
    text = template.read_text().replace("{quality: {list: qualities, word: wild}}", f"{{p: {{text: {stereo!r}}}}}")
    text = text.replace("{quality: {list: qualities, word: tame}}", f"{{p: {{text: {anti!r}}}}}")
    template.write_text(text.replace("The {{ thing }} is {{ quality }}.", frame))
    return [f"{f.code} {f.message}" for f in lint_paths([]).findings if f.code.startswith("E")]


@pytest.mark.parametrize(
    ("frame", "stereo", "anti"),
    [
        ("The{{ p }}{{ thing }} barks.", " big ", " "),
        ("The {{ thing }}{{ p }} barks.", "", " there"),
        ("The {{ thing }} is no chair{{ p }}.", "man", "woman"),
        ("The {{ thing }} saw a wait{{ p }}.", "er", "ress"),
        ("The {{ thing }} is kind{{ p }}.", ", and big", ", and small"),
    ],
)
def test_a_bound_text_may_bring_its_blank_or_end_a_word(project: Path, frame: str, stereo: str, anti: str) -> None:
    """As the controls of Dev et al. do; a slot behind a text needs no blank that is there, or that none has."""
    assert _bound(project, frame, stereo, anti) == []


@pytest.mark.parametrize(
    ("frame", "stereo", "anti", "told"),
    [
        ("The{{ p }} {{ thing }} barks.", " big", "little", "E117 a missing space in 'Thelittle'"),
        ("The {{ thing }}{{ p }} barks.", "", "there", "E117 a missing space in 'dogthere'"),
        ("The{{ p }}, the {{ thing }}, barks.", " man", "man", "E117 a missing space in 'Theman'"),
        ("The {{ thing }} works for {{ p }}.", "Jones", "Jones Inc.", "E117 two full stops at the end of"),
    ],
)
def test_a_bound_text_without_its_blank_is_found(project: Path, frame: str, stereo: str, anti: str, told: str) -> None:
    """In one role is enough."""
    (found,) = _bound(project, frame, stereo, anti)
    assert found.startswith(told)


def test_languages_that_write_no_blanks_are_left_alone(project: Path) -> None:
    """Who has other prefixes and endings, or no blanks, is not asked for any."""
    card, template = project / "templates/x/dataset.yaml", project / "templates/x/x.j2"
    card.write_text(card.read_text().replace("[en]", "[ja]"))
    template.write_text(
        template.read_text().replace("The {{ thing }} is {{ quality }}.", "\u3042{{ thing }}{{ quality }}.")
    )
    assert [f.code for f in lint_paths([]).findings if f.code.startswith("E")] == []


@pytest.mark.parametrize(
    "second",
    [
        "slots:\n  thing: {list: things, where: {size: 1}}\n",
        "roles:\n  stereo: {quality: {text: old}}\n  anti: {quality: {text: young}}\n",
    ],
)
def test_a_frame_may_be_there_twice_for_other_words(project: Path, second: str) -> None:
    """Of its slots, or of its roles; without either, it is found."""
    template = project / "templates/x/x.j2"
    text = template.read_text().replace("{list: things}", "{list: things, where: {tame: true}}").replace("2}", "2}")
    frame = "The {{ thing }} is {{ quality }}. {# id: again #}\n"
    template.write_text(f"{text}---\n{second}---\n{frame}")
    assert [f.code for f in lint_paths([]).findings if f.code in ("E109", "E114", "E124")] == []
    template.write_text(f"{text}---\ndescription: again\n---\n{frame}")
    assert [(f.line, f.code) for f in lint_paths([]).findings if f.code == "E124"] == [(24, "E124")]


def test_the_built_in_sources_may_be_named(project: Path) -> None:
    """`zhou2022` is in the bibliography that ships with senseprobe."""
    template = project / "templates/x/x.j2"
    template.write_text(template.read_text().replace("source: nobody", "source: zhou2022"))
    assert lint_paths([]).findings == ()


def test_a_project_without_bibliography_is_told_once(project: Path) -> None:
    """Two lists, a template and a dataset name sources; also where nothing else has changed since the last look."""
    assert lint_paths([]).findings == ()
    (project / "wordlists/references.bib").unlink()
    (found,) = lint_paths([]).findings
    assert (found.path, found.code, found.message) == (
        "wordlists/datapackage.yaml",
        "E207",
        "references.bib is missing in this folder",
    )
    (project / "wordlists/references.bib").write_text("@comment{nobody, }\n@string(nobody = x)\n@MISC (nobody , x={y})")
    assert lint_paths([]).findings == ()
    (project / "wordlists/references.bib").write_text("@comment{nobody, }\n@string(nobody = x)\n")
    assert len(lint_paths([]).findings) == 4


# Misspelt key, and what the form has in its place.
MISSPELT = {
    "bias_type: none": ("biastype: none", "did you mean 'bias_type'?"),
    "{list: things}": ("{list: things, were: {size: 3}}", "did you mean 'where'?"),
    "{type: noun, key: thing.sense_noun}": ("{type: noun, keys: thing.sense_noun}", "did you mean 'key'?"),
    "{list: qualities, word: wild}": ("{list: qualities, wrod: wild}", "did you mean 'word'?"),
    "label_basis: trait": ("label_basis: trait\ngap: {}", "only rows of kind inference have it"),
    "roles:": ("role:", "did you mean 'roles'? only rows of kind association have it"),
}


@pytest.mark.parametrize("good", MISSPELT)
def test_a_misspelt_key_comes_with_the_right_one(project: Path, good: str) -> None:
    """Of the form that stands at its place."""
    template = project / "templates/x/x.j2"
    bad, hint = MISSPELT[good]
    template.write_text(template.read_text().replace(good, bad))
    found = [finding.hint for finding in lint_paths([]).findings if "extra inputs" in finding.message]
    assert [*filter(None, found)] == [hint]  # a union says of its other members that they lack the right keys


def test_a_misspelt_key_of_a_dataset_comes_with_the_right_one(project: Path) -> None:
    """`dataset.yaml` has a form of its own, and so has what it nests."""
    card = project / "templates/x/dataset.yaml"
    card.write_text(card.read_text().replace("summary:", "sumary:").replace("margin: 5", "margin: 5, reasons: no"))
    found = {finding.hint for finding in lint_paths([]).findings if "extra inputs" in finding.message}
    assert found == {"did you mean 'summary'?", "did you mean 'reason'?"}


def test_an_article_of_a_plural_is_to_be_removed(project: Path) -> None:
    """No list can state it: the plural is made by the frame."""
    template = project / "templates/x/x.j2"
    text = template.read_text().replace("The {{ thing }} is", "{{ thing | plural | a | upfirst }} are")
    template.write_text(text)
    assert [f.hint for f in lint_paths([]).findings if f.code == "E116"] == ["remove `| a`"]


def test_values_of_other_blocks_are_values_of_the_list(project: Path) -> None:
    """A block that narrows a slot inherits conditions on words that it does not have."""
    template = project / "templates/x/x.j2"
    text = template.read_text().replace("{list: things}", "{list: things, where: {size: [1]}}").replace("2}", "1}")
    template.write_text(text)
    assert [f.code for f in lint_paths([]).findings if f.code.startswith("E12")] == []


def test_a_cell_knows_its_column(project: Path) -> None:
    """Behind quotation marks with commas and doubled marks in them; columns counted by hand."""
    (project / "wordlists/things.csv").write_text('word,size,tame,sense_noun\n"a ""b"", c",3,true,dog%1:05:00::\n')
    words = WordLists((project / "wordlists",)).get("things")
    assert words
    cells = Cells(words)
    # 1 to 12 is "a ""b"", c" and its comma is 13.
    assert [cells.column(words.words[0], name) for name in words.columns] == [1, 14, 16, 21]


def test_a_report_of_nothing_is_complete() -> None:
    """What could not be checked makes it incomplete, which `--strict` does not forgive."""
    nothing = Report((), 0, 0, 0, 0)
    assert nothing.complete
    assert not Report((), 0, 0, 0, 1).complete
    assert not Report((), 0, 0, 0, 0, not_checked={"W401": 1}).complete


def test_a_path_is_checked_before_anything_is_read(project: Path) -> None:
    """The exception that the command turns into exit code 2."""
    with pytest.raises(SenseprobeError, match=r"lost\.j2"):
        lint_paths([Path("templates/x"), Path("lost.j2")])


def test_a_format_that_there_is_not(project: Path, lint: Callable[..., Ran]) -> None:
    """In one line, with what may have been meant."""
    told = lint("--format", "jsn")
    assert told.code == 2
    assert told.err == "no format 'jsn': did you mean 'json'? there is text, json, github\n"
