"""What messages to authors name, what `lint --fix` mends, and what a draft need not say yet."""

from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest
from tests.commands import Typed, typing

import senseprobe
from senseprobe.records import Edit

BASE = Path(__file__).parents[1] / "checks" / "base"
TEMPLATE = "templates/x/x.j2"
FRAME = "The {{ thing }} is {{ quality }}."


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Command lines in a project of one template, on a machine without WordNet."""
    copytree(BASE, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path / "nowhere"))
    return typing(monkeypatch, capfd)


def replace(old: str, new: str, name: str = TEMPLATE) -> int:
    """Write another text into a file of the project, once; return how long it is."""
    text = Path(name).read_text()
    assert old in text
    return Path(name).write_text(text.replace(old, new, 1))


UNMARKED = "\n---\nslots:\n  thing: {list: things}\nunmarked: true\n---\nIt is {{ quality }}.\n"

MISTAKES: dict[str, tuple[Callable[[], object], str, str]] = {
    "one brace": (lambda: replace("{{ thing }}", "{ thing }"), "E112", "write {{ thing }}"),
    "one brace lacks": (lambda: replace("{{ thing }}", "{{ thing }"), "E107", "write {{ thing }}"),
    "one brace is missing before": (lambda: replace("{{ quality }}", "{ quality }}"), "E115", "write {{ quality }}"),
    "one brace before the target": (lambda: replace("{{ thing }}", "{ thing }}"), "E112", "write {{ thing }}"),
    "a role prints the target": (
        lambda: (
            replace("{quality: {list: qualities, word: wild}}", "{who: thing, quality: {text: wild}}"),
            replace("{quality: {list: qualities, word: tame}}", "{who: thing, quality: {text: tame}}"),
            replace("{{ thing }}", "{{ who }}"),
        ),
        "E112",
        "write `target: who`",
    ),
    "unmarked with a target": (lambda: replace(FRAME, FRAME + UNMARKED), "E112", "write `target: null`"),
    "no target": (lambda: replace("target: thing", "target: null"), "E112", "`unmarked: true`"),
    "a list without a description": (
        lambda: (Path("wordlists/beasts.csv").write_text("word\ncat\n"), replace("list: things", "list: beasts")),
        "E110",
        "senseprobe words add wordlists/beasts.csv",
    ),
    "a kind as others call it": (lambda: replace("kind: contrast", "kind: nli"), "E102", "is inference"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_message_says_what_to_write(mistake: str, typed: Typed) -> None:
    """The right code, and in its hint the words that mend it: each typed by hand into a template that is right."""
    make, code, words = MISTAKES[mistake]
    assert typed("lint").code == 0
    make()
    findings = typed("lint", "--format", "json").told["findings"]
    assert [words in finding["hint"] for finding in findings if finding["code"] == code] == [True]


def test_fix_mends_what_is_certain_and_shows_it(typed: Typed) -> None:
    """Single braces, and blanks around a cell; a word that no list has is the author's, and stays a finding."""
    right = Path(TEMPLATE).read_text(), Path("wordlists/qualities.csv").read_text()
    replace(FRAME, "The { thing } is {{ quality }. {# id: is #}\r\nThe {{ thing }} was { quality }.")
    replace("wild,", "wild ,", "wordlists/qualities.csv")
    replace("tame,", "tame\u00a0,", "wordlists/qualities.csv")
    done = typed("lint", "--fix")
    fixed = right[0].replace(
        FRAME, "The {{ thing }} is {{ quality }}. {# id: is #}\r\nThe {{ thing }} was {{ quality }}."
    )
    assert Path(TEMPLATE).read_bytes().decode() == fixed
    assert Path("wordlists/qualities.csv").read_text() == right[1]
    assert "-The { thing } is {{ quality }. {# id: is #}\n" in done.out
    assert "+The {{ thing }} is {{ quality }}. {# id: is #}\n" in done.out
    assert (
        "E109" in done.out
    )  # two frames make four pairs, and `expect` says two: which is right, only the author knows
    assert done.code == 1
    assert typed("lint", "--fix", "--format", "json").told["fixed"] == []


def test_fix_leaves_files_of_others_alone(typed: Typed, tmp_path: Path) -> None:
    """A template outside of the project is checked, not written."""
    copytree(BASE, tmp_path / "other")
    path = tmp_path / "other" / TEMPLATE
    path.write_text(path.read_text().replace("{{ quality }}", "{ quality }"))
    before = path.read_bytes()
    assert typed("lint", str(path), "--fix").code == 1
    assert path.read_bytes() == before


def test_what_is_certain_is_in_the_finding(typed: Typed) -> None:
    """The place, and what stands there before and after, counted by hand; a finding without an edit has no key."""
    replace("{{ quality }}", "{ quality }")
    replace("target: thing", "target: thin")
    assert "fix" not in typed("lint", "--format", "json").told["findings"][0]
    replace("target: thin", "target: thing")
    (finding,) = senseprobe.lint().findings
    assert finding.fix == Edit(line=20, column=20, was="{ quality }", now="{{ quality }}")
    assert finding.as_dict()["fix"] == {"line": 20, "column": 20, "was": "{ quality }", "now": "{{ quality }}"}


def test_expect_may_be_absent_until_a_build(typed: Typed) -> None:
    """A draft is linted, counted and previewed without it; a build says how many pairs there are (two things)."""
    replace("expect: {pairs: 2}\n", "")
    assert typed("lint").code == 0
    assert typed("count", "x", "--json").told["configs"][0]["rows"] == 2
    assert typed("preview", "x/x", "--json").code == 0
    refused = typed("build", "x", "0.1.0")
    assert refused.code == 1
    assert "expect: {pairs: 2}" in refused.err + refused.out
    assert not Path("releases/x").exists()


@pytest.mark.parametrize(
    ("words", "names"),
    [("preview", "nli-control"), ("build", "sssb"), ("verify", "sssb@1.1.0"), ("annotate export", "sssb@1.1.0")],
)
def test_a_missing_name_lists_names(words: str, names: str, typed: Typed) -> None:
    """Datasets or releases on this machine, in one line."""
    done = typed(*words.split())
    assert done.code == 2
    assert names in done.message.replace(",", " ").split()


def test_a_missing_argument_of_another_kind_says_what_it_is(typed: Typed) -> None:
    """What its help says, in one line."""
    assert "MAJOR.MINOR.PATCH" in typed("build", "x").message
    assert "inference" in typed("new", "a/b").message
    assert "unknown kind 'nli'" in (message := typed("new", "a/b", "--kind", "nli").message)
    assert message.endswith(" inference")  # the one kind, and not a list of all
