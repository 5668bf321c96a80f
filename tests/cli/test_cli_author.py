"""`senseprobe lint`, `count` and `preview`, bad input (one clear message, exit code 1 or 2), and builds everywhere."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

import senseprobe
from senseprobe.cli.application import app, main

TESTS = Path(__file__).parents[1]
BASE, CHECKS, SRC = TESTS / "checks" / "base", TESTS / "checks", TESTS.parent / "src"


@dataclass(frozen=True)
class Ran:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's project, as the working directory, on a machine without WordNet."""
    shutil.copytree(BASE, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path / "nowhere"))
    return tmp_path / "project"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the real command line, in this process."""

    def command(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["senseprobe", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Ran(int(ended.value.code or 0), out, err)

    return command


def _use(project: Path, case: str, place: str) -> None:
    shutil.copy(CHECKS / case, project / place)


# --- lint -----------------------------------------------------------------------------------------------------------


def test_lint_of_a_clean_project_exits_0(project: Path, run: Run) -> None:
    """And says how much it could not check, which --strict does not forgive."""
    clean = run("lint")
    assert clean.code == 0
    assert re.search(r"0 findings in \d+ word lists and 1 config; 0 sense keys checked, \d+ not checked", clean.out)
    assert run("lint", "--strict").code == 1


def test_lint_tells_every_finding_and_exits_1(project: Path, run: Run) -> None:
    """As path:line:column: CODE message, so that an editor can jump there."""
    _use(project, "E203-no-number.things.csv", "wordlists/things.csv")
    _use(project, "E204-primary-key-twice.qualities.csv", "wordlists/qualities.csv")
    found = run("lint")
    assert found.code == 1
    assert "wordlists/things.csv:2:5: E203 size is 'three', expected a whole number\n" in found.out
    assert "wordlists/qualities.csv:4:1: E204 wild occurs twice" in found.out
    assert "2 findings in" in found.out


def test_lint_as_json_has_stable_keys(project: Path, run: Run) -> None:
    """What a program reads must not change its name."""
    _use(project, "E104-column-in-frame.j2", "templates/x/x.j2")
    found = run("lint", "--json")
    told = json.loads(found.out)
    assert list(told) == [
        *("findings", "accepted", "guesses", "lists", "configs", "configs_not_checked"),
        *("keys_checked", "keys_not_checked", "not_checked"),
    ]
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
    assert found.code == 1


# --- the command line itself ----------------------------------------------------------------------------------------


def test_version_is_that_of_the_package(run: Run) -> None:
    """As pip knows it."""
    done = run("--version")
    assert (done.code, done.out, done.err) == (0, f"senseprobe {version('senseprobe')}\n", "")


def test_without_a_command_it_says_where_to_begin(run: Run) -> None:
    """Three command lines that exist, and where the others are."""
    done = run()
    assert (done.code, done.err) == (0, "")
    named = re.findall(r"senseprobe ([a-z]+) [a-z]", done.out)
    assert named == ["init", "fetch", "score", "report"]
    assert "senseprobe --help" in done.out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["lin"], ["lint"]),
        (["words", "list", "--j"], ["--json"]),
        (["build", "x"], ["x"]),
        (["preview", "nli-o"], ["nli-occupation"]),
        (["verify", "sssb@1.0"], ["sssb@1.0.0", "sssb@1.0.1", "sssb@1.0.2", "sssb@1.0.3"]),
        (["score", "MODEL", "association@1.0"], ["association@1.0.0", "association@1.0.1"]),
    ],
)
def test_a_shell_completes_commands_options_and_names(
    project: Path, run: Run, words: list[str], offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As bash asks: the words so far, and the number of the one that is typed."""
    line = {"COMP_WORDS": " ".join(["senseprobe", *words]), "COMP_CWORD": str(len(words))}
    for name, value in {**line, "_SENSEPROBE_COMPLETE": "complete_bash"}.items():
        monkeypatch.setenv(name, value)
    done = run()
    assert (done.out.split(), done.err) == (offered, "")


def test_the_completion_of_a_shell_can_be_shown(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that bash reads without an error."""
    # What --show-completion does, whatever shell runs this.
    monkeypatch.setenv("_SENSEPROBE_COMPLETE", "source_bash")
    script = run().out
    monkeypatch.delenv("_SENSEPROBE_COMPLETE")
    options = {option for each in typer.main.get_command(app).params for option in each.opts}
    assert {"--install-completion", "--show-completion"} <= options
    assert "complete_bash" in script
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


# --- count ----------------------------------------------------------------------------------------------------------

# Zhou et al. 2022, Table 1, by sense (UPSTREAM.md 1.2), beside what is ours.
PUBLISHED = {"nationality": 1728, "language": 576, "race": 108, "colour": 625, "noun": 192, "verb": 132}


def test_count_of_sssb_tells_ours_and_theirs(project: Path, run: Run) -> None:
    """With a reason where they differ, and without making a row."""
    told = json.loads(run("count", "sssb", "--json").out)
    assert list(told) == ["dataset", "configs", "rows", "left_out"]
    configs = {config["config"]: config for config in told["configs"]}
    assert {n: c["published"] for n, c in configs.items() if c["published"]} == PUBLISHED
    for config in configs.values():
        assert list(config) == [
            *("config", "rows", "published", "cite", "frames", "reason"),
            *("sentences", "tokens", "distinct_tokens", "exact", "tokenizer_tokens", "left_out"),
        ]
        assert config["reason"] or config["rows"] == config["published"]
    assert told["rows"] == sum(config["rows"] for config in configs.values())
    assert (configs["noun"]["rows"], configs["race-matched"]["rows"]) == (186, 25)


def test_count_and_preview_work_while_expect_is_wrong(project: Path, run: Run) -> None:
    """Two things and one pair of qualities make 2 rows: an author who does not know yet how many has to see them."""
    template = project / "templates/x/x.j2"
    template.write_text(template.read_text().replace("pairs: 2", "pairs: 3"))
    finding = "templates/x/x.j2:18:10: E109 expands to 2 pairs, but `expect` states 3\n"
    for command in (("count", "x"), ("count", "x/x"), ("count",), ("preview", "x/x")):
        done = run(*command)
        assert (done.code, done.err) == (0, finding), command
        assert "2 rows" in done.out
    for name, told in (("count", "x"), ("preview", "x/x")):
        (stated,) = json.loads(run(name, told, "--json").out)["findings"]
        assert (stated["code"], stated["line"]) == ("E109", 18)
    assert senseprobe.preview("x/x").findings == senseprobe.count("x")[0].findings
    assert run("build", "x", "1.0.0").code == 1  # what is frozen is what was expected


def test_count_prints_a_table(project: Path, run: Run) -> None:
    """Of one config where one is named: 2 x 186 sentences, in which no pronoun is twice with the same words."""
    table = run("count", "sssb/noun")
    assert table.code == 0
    assert re.search(r"noun +186 +192 +1 +372 +1872 +1872\nnoun: the published data has cunning twice", table.out)
    assert table.out.rstrip().endswith("186 rows")
    assert "verb" not in table.out


def test_count_without_a_name_tells_every_dataset_of_the_project(project: Path, run: Run) -> None:
    """And none of the built-in ones: a dog (four words, wild or tame) and a guinea pig (five)."""
    told = json.loads(run("count", "--json").out)
    assert list(told) == ["datasets", "rows", "left_out"]
    (dataset,) = told["datasets"]
    assert (dataset["dataset"], dataset["rows"], told["rows"]) == ("x", 2, 2)
    sizes = {key: dataset["configs"][0][key] for key in ("sentences", "tokens", "distinct_tokens", "exact")}
    assert sizes == {"sentences": 4, "tokens": 18, "distinct_tokens": 18, "exact": True}
    assert re.search(r"^\nx *\n.*\nx +2 +1 +4 +18 +18\n2 rows\n$", run("count").out)


def test_what_is_a_bound_is_called_one(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many sentences to make each."""
    monkeypatch.setattr("senseprobe.generator.count.MOST_SENTENCES", 3)
    table = run("count", "x").out
    assert re.search(r"x +2 +1 +\u2264 4 +\u2264 18 +\u2264 18\n\u2264 [a-z]", table)
    assert json.loads(run("count", "x", "--json").out)["configs"][0]["exact"] is False


def test_count_asks_a_tokenizer(
    project: Path, run: Run, tiny_models: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a folder, whose own library says how many tokens the four sentences have."""
    import tokenizers

    raw = tokenizers.Tokenizer.from_file(str(tiny_models["bert"] / "tokenizer.json"))
    sentences = [f"The {thing} is {quality}." for thing in ("dog", "guinea pig") for quality in ("wild", "tame")]
    expected = sum(len(raw.encode(text, add_special_tokens=False).ids) for text in sentences)
    ran = run("count", "x", "--tokenizer", str(tiny_models["bert"]), "--json")
    assert json.loads(ran.out)["configs"][0]["tokenizer_tokens"] == expected
    table = run("count", "x", "--tokenizer", str(tiny_models["bert"])).out
    assert re.search(rf"by bert *\nx +2 +1 +4 +18 +18 +{expected}\n", table)
    monkeypatch.setattr("senseprobe.generator.count.MOST_SENTENCES", 3)
    assert "not counted" in run("count", "x", "--tokenizer", str(tiny_models["bert"])).out


def test_a_tokenizer_that_is_none_is_one_message(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is not there, or what would load it."""
    (project / "empty").mkdir()
    ran = run("count", "x", "--tokenizer", "empty")
    assert ran.code == 2
    assert ran.err.startswith("cannot load the tokenizer empty: ")
    assert len(ran.err.strip().splitlines()) == 1
    monkeypatch.setattr("senseprobe.api.author.find_spec", lambda _: None)
    ran = run("count", "x", "--tokenizer", "empty")
    assert (ran.code, ran.err) == (2, "transformers: not installed; run pip install 'senseprobe[models]'\n")


# --- preview --------------------------------------------------------------------------------------------------------


def test_preview_names_slots_where_there_are_no_colours(project: Path, run: Run) -> None:
    """Of the only config of a dataset, if it has one: things by their file, with the labels swapped for size 3."""
    shown = run("preview", "x")
    assert shown.code == 0
    title, *rows = shown.out.split("\n\n")
    assert title == "x/x: 2 of 2 rows, seed 0"
    assert [row.splitlines()[1:3] for row in rows] == [
        ["  stereo  The [dog:thing] is [tame:quality].", "  anti    The [dog:thing] is [wild:quality]."],
        ["  stereo  The [guinea pig:thing] is [wild:quality].", "  anti    The [guinea pig:thing] is [tame:quality]."],
    ]
    assert [row.splitlines()[3:] for row in rows] == [
        ["  sense_key: dog dog%1:05:00:: (no gloss: run `senseprobe wordnet`)"],
        ["  sense_key: guinea pig guinea_pig%1:05:00:: (no gloss: run `senseprobe wordnet`)"],
    ]


def test_preview_colours_words_by_slot(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, with a legend; but not where NO_COLOR is set."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = run("preview", "x").out
    assert "The \x1b[1;36mdog\x1b[0m is \x1b[1;35mtame\x1b[0m." in shown
    assert shown.endswith("\n\x1b[1;36mthing\x1b[0m \x1b[1;35mquality\x1b[0m\n")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "The [dog:thing] is [tame:quality]." in run("preview", "x").out
    assert "\x1b" not in run("preview", "x").out


def test_preview_marks_what_was_guessed(project: Path, run: Run) -> None:
    """With a star and a line that says what it means; what a list states has none."""
    template = project / TEMPLATE
    template.write_text(template.read_text().replace("The {{ thing }} is", "{{ thing | a | upfirst }} is"))
    shown = run("preview", "x", "-n", "1", "--seed", "5").out
    assert re.search(r"  stereo  A\* \[(dog|guinea pig):thing\] is ", shown)
    assert shown.splitlines()[-1].startswith("* guessed: ")


def test_preview_as_json_has_stable_keys(project: Path, run: Run) -> None:
    """What a program reads must not change its name."""
    told = json.loads(run("preview", "x/x", "-n", "1", "--seed", "1", "--json").out)
    assert list(told) == ["dataset", "config", "rows", "seed", "sample"]
    (row,) = told["sample"]
    assert (list(row), list(row["sentences"])) == (["row", "id", "sentences", "left_out", "senses"], ["stereo", "anti"])
    assert list(row["senses"][0]) == ["column", "word", "key", "lexicon", "gloss", "rows"]
    assert list(row["sentences"]["anti"][1]) == ["text", "slot", "guessed"]
    assert told["rows"] == 2


def test_preview_of_several_configs_asks_for_one(project: Path, run: Run) -> None:
    """Exit code 2, and their names."""
    ran = run("preview", "sssb")
    assert ran.code == 2
    assert "name one of them as sssb/CONFIG (nationality, language, race, " in ran.err.replace("\n", " ")


# --- bad input: one test each ---------------------------------------------------------------------------------------

TEMPLATE, DATASET, THINGS = "templates/x/x.j2", "templates/x/dataset.yaml", "wordlists/things.csv"

BAD = {
    "malformed front matter": ("E101-key-twice.j2", TEMPLATE, r"x\.j2:7:1: E101 .*duplicate key"),
    "unknown list": (
        "E110-unknown-list.j2",
        TEMPLATE,
        r"x\.j2:8:11: E110 no word list 'thing' \(did you mean 'things'\?\)",
    ),
    "unknown column": ("E104-column-in-frame.j2", TEMPLATE, r"x\.j2:20:8: E104 thing does not have a column 'wrod'"),
    "undefined variable": ("E105-undefined-name-in-frame.j2", TEMPLATE, r"x\.j2:20:23: E105 'qualty' is not defined"),
    "forbidden node": ("E106-loop.j2", TEMPLATE, r"x\.j2:20:20: E106 For is not allowed in a frame"),
    "wrong type": (
        "E203-no-number.things.csv",
        THINGS,
        r"things\.csv:2:5: E203 size is 'three', expected a whole number",
    ),
    "duplicate words": (
        "E204-word-twice.things.csv",
        THINGS,
        r"things\.csv:3:1: E204 dog .* first on line 2",
    ),
    "malformed dataset.yaml": ("E102-languages-is-no-list.dataset.yaml", DATASET, r"dataset\.yaml:4:1: E102 languages"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_message_with_its_place(project: Path, run: Run, kind: str) -> None:
    """From each command that reads it, with exit code 1, and without a release."""
    case, place, message = BAD[kind]
    _use(project, case, place)
    for arguments in (("count", "x"), ("preview", "x"), ("build", "x", "1.0.0"), ("lint",)):
        ran = run(*arguments)
        assert ran.code == 1
        told = (ran.out if arguments == ("lint",) else ran.err).strip().splitlines()
        assert re.search(message, told[0]), told
        assert len(told) == (2 if arguments == ("lint",) else 1)
    assert not (project / "releases").exists()


@pytest.mark.parametrize("how", ["a frame of 10 MB", "words of 100 kB", "arithmetic"])
def test_a_template_that_renders_10_megabytes_is_one_message(project: Path, run: Run, how: str) -> None:
    """Whether it is written out, comes from the words, or is computed."""
    template = project / TEMPLATE
    if how == "a frame of 10 MB":
        template.write_text(template.read_text().replace("The ", "The very " + "very " * 2_000_000))
        expected = r"x\.j2:20:1: E108 [a-z ]+ 100\d{5} characters; the limit is 10000"
    elif how == "words of 100 kB":
        (project / THINGS).write_text(f"word,size,tame,sense_noun\n{'a' * 100_000},1,,\n{'b' * 100_000},1,,\n")
        template.write_text(template.read_text().replace("{{ quality }}", "{{ quality }} " * 100))
        expected = r"x\.j2:20:1: E108 [a-z ]+ 10\d{4} characters; the limit is 10000"
    else:
        template.write_text(template.read_text().replace("{{ quality }}", "{{ 'a' * 10000000 }}"))
        expected = r"x\.j2:20:20: E106 Mul is not allowed"
    ran = run("build", "x", "1.0.0")
    assert ran.code == 1
    assert re.search(expected, ran.err)
    assert not list(project.glob("releases/**/*.parquet"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("count", "sssbb"), "unknown dataset 'sssbb': did you mean 'sssb'? there is "),
        (("count", "x/y"), "x has no config 'y': there is x"),
        (("build", "y", "1.0.0"), "unknown dataset 'y': there is "),
        (("build", "x", "1.0"), "'1.0' is not a version: expected MAJOR.MINOR.PATCH"),
        (("build", "x", "../1.0.0"), "'../1.0.0' is not a version"),
        (("count", "../x"), "unknown dataset '..'"),
    ],
)
def test_a_name_that_is_none_is_misuse(project: Path, run: Run, arguments: tuple[str, ...], message: str) -> None:
    """Exit code 2, and the names that there are."""
    ran = run(*arguments)
    assert ran.code == 2
    assert message in ran.err.replace("\n", " ")


# Takes long: all built-in data is checked.
def test_without_a_project_a_build_says_where_to_put_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """The built-in folder is no place for it."""
    monkeypatch.chdir(tmp_path)
    ran = run("build", "sssb", "1.0.0")
    assert ran.code == 2
    assert "not in a project (no parent folder has a senseprobe.toml): name a folder with --out DIR" in ran.err
    assert run("count", "sssb/race").code == 0
    assert "not in a project (no parent folder has a senseprobe.toml): checked the built-in data" in run("lint").out


def test_the_installed_command_does_the_same(project: Path) -> None:
    """In a process of its own, where the exit code is one for the shell."""
    _use(project, "E203-no-number.things.csv", THINGS)
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    command = [sys.executable, "-m", "senseprobe", "count", "x"]
    done = subprocess.run(command, env=env, cwd=project, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "wordlists/things.csv:2:5: E203 size is 'three', expected a whole number\n"


# --- the same bytes everywhere --------------------------------------------------------------------------------------

PLACES: list[dict[str, str]] = [
    {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC", "OMP_NUM_THREADS": "1", "ARROW_IO_THREADS": "1"},
    {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Kathmandu", "OMP_NUM_THREADS": "7", "ARROW_IO_THREADS": "9"},
    {
        "PYTHONHASHSEED": "4242",
        "LC_ALL": "tr_TR.UTF-8",
        "LANG": "de_DE",
        "TZ": "America/St_Johns",
        "OMP_NUM_THREADS": "2",
    },
]


def _files(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of sssb, built by this process."""
    folder = tmp_path_factory.mktemp("built")
    senseprobe.build("sssb", "1.0.0", out=folder)
    return _files(folder)


@pytest.mark.parametrize("place", [*(pytest.param(place, marks=pytest.mark.slow) for place in PLACES[:2]), PLACES[2]])
# Takes long: sssb is built twice, once by another process.
def test_a_build_has_the_same_bytes_everywhere(
    place: Mapping[str, str], built: dict[str, bytes], tmp_path: Path
) -> None:
    """Whatever the hash seed, locale, time zone, working directory and number of threads."""
    env = {**os.environ, "PYTHONPATH": str(SRC), **place}
    command = [sys.executable, "-m", "senseprobe", "build", "sssb", "1.0.0", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(built) > 9
    assert _files(tmp_path / "out") == built


def test_lists_are_shown(project: Path, run: Run) -> None:
    """All lists by name, one with its cells; of an unknown one, the nearest."""
    assert "things" in run("words", "list").out
    assert "guinea pig" in run("words", "list", "things").out
    told = json.loads(run("words", "list", "things", "--json").out)
    assert (told["words"], told["columns"]) == (["dog", "guinea pig"], ["word", "size", "tame", "sense_noun"])
    found = run("words", "list", "thing")
    assert found.code == 2
    assert "no word list 'thing': did you mean 'things'?" in found.err


# --- names that commands had ----------------------------------------------------------------------------------------

RENAMED = [
    ("lists", "words list", "things --json"),
    ("lists", "words list", "nothing"),
    ("metrics", "explain", "aul"),
    ("restore", "verify --restore", "nothing@1.0.0 --out x"),
    ("vectors", "model vectors", "nothing.txt"),
    ("probe", "model check", "http://me:secret@127.0.0.1/v1"),
    ("plant", "model plant", "nothing@1.0.0 x"),
    ("bias-score", "study bias-score", "x --vectors y"),
    ("corpus", "study corpus", "nothing.txt"),
    ("wat", "study wat", ""),
    ("slice", "study slice", "nothing.json"),
    ("senses", "study senses", "report nothing.json"),
    ("senses", "study senses", "--help"),
    ("senses show", "words show", "dog --nearest many"),
]


@pytest.mark.parametrize(("old", "new", "rest"), RENAMED)
def test_a_command_has_its_old_name_too(project: Path, run: Run, old: str, new: str, rest: str) -> None:
    """The same output and exit code, and one more line on standard error: the new name."""
    then, now = (run(*name.split(), *rest.split()) for name in (old, new))
    assert (then.code, then.out) == (now.code, now.out)
    assert then.err == f"`senseprobe {old}` is now `senseprobe {new}`\n{now.err}"


def test_a_list_is_added_by_the_old_option_too(project: Path, run: Run) -> None:
    """With its value as the next word, or as one word with it."""
    for name, words in (("a", ("--add", "a.csv", "--json")), ("b", ("--json", "--add=b.csv"))):
        (project / f"{name}.csv").write_text("word\nfox\n")
        done = run("lists", *words)
        assert json.loads(done.out)["list"] == name
        assert done.err == "`senseprobe lists --add` is now `senseprobe words add`\n"


def test_a_card_names_the_senses_of_a_word_as_before(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cards of frozen releases say `senseprobe wordnet WORD`; without a word it is the command that it was."""
    then, now = run("wordnet", "nurse", "--nearest", "many"), run("words", "show", "nurse", "--nearest", "many")
    assert (then.code, then.err) == (2, f"`senseprobe wordnet WORD` is now `senseprobe words show WORD`\n{now.err}")
    assert run("wordnet", "--help").err == ""


def test_help_and_completion_have_the_new_names_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen commands and five groups; of the old names, none begins with what is typed."""
    shown = re.findall(r"^│ ([a-z][a-z-]+) ", run("--help").out, re.MULTILINE)
    assert shown == [
        *("init", "new", "lint", "preview", "count", "words"),
        *("build", "verify", "diff", "import", "publish", "pull"),
        *("fetch", "score", "report", "compare"),
        *("annotate", "model", "study", "export", "explain", "gate", "replay"),
    ]
    for name, value in {
        "COMP_WORDS": "senseprobe ",
        "COMP_CWORD": "1",
        "_SENSEPROBE_COMPLETE": "complete_bash",
    }.items():
        monkeypatch.setenv(name, value)
    assert run().out.split() == shown
    monkeypatch.setenv("COMP_WORDS", "senseprobe probe --api")
    monkeypatch.setenv("COMP_CWORD", "2")
    done = run()
    assert (done.out.split(), done.err) == (["--api-key-env"], "")
