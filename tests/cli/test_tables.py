"""Tables for people: in a terminal of 80 cells, and where the output is no terminal, nothing in them is cut."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.commands import Typed, typing
from tests.profiles import examples
from tests.served.planted_server import PlantedServer
from tests.tiny_release import write_release

import senseprobe
from senseprobe import document
from senseprobe.cli import console

WIDTH = 80

words = st.text(st.sampled_from("ab-é語"), min_size=1, max_size=9)
texts = st.lists(words, max_size=12).map(" ".join)


def in_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed goes to a terminal of 80 cells."""
    terminal = Console(
        highlight=False, emoji=False, soft_wrap=True, width=WIDTH, force_terminal=True, color_system=None
    )
    monkeypatch.setattr(console, "_out", terminal)


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Sequence[str]]]:
    """The tables that are printed from now on, heading first."""
    tables: list[Sequence[Sequence[str]]] = []
    original: Callable[..., Iterator[list[str]]] = document.lay_out

    def spy(table: Sequence[Sequence[str]], right: Sequence[bool], width: int | None) -> Iterator[list[str]]:
        tables.append(table)
        return original(table, right, width)

    monkeypatch.setattr(document, "lay_out", spy)
    return tables


@pytest.fixture(scope="session")
def tabled(tmp_path_factory: pytest.TempPathFactory, tiny_models: dict[str, Path]) -> Path:
    """A project with two versions of a release, and two results on the second."""
    folder = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / ".cache"))
        write_release(folder)
        (folder / "wordlists" / "jobs.csv").write_text("word\nengineer\nnurse\nmathematics-teacher\n")
        template = folder / "templates" / "tiny" / "job.j2"
        template.write_text(template.read_text().replace("pairs: 2", "pairs: 3"))
        senseprobe.build("tiny", "1.1.0")
        for family in ("bert", "roberta"):
            senseprobe.score(str(tiny_models[family]), "tiny@1.1.0", "aul", out=folder / "results")
    return folder


COMMANDS = {
    "explain": "explain",
    "words list": "words list",
    "list": "words list jobs",
    "count": "count tiny",
    "diff": "diff tiny@1.0.0 tiny@1.1.0",
    "score": "score {bert} tiny@1.1.0 -m aul",
    "compare": "compare {results}",
    "model check": "model check {server}",
}


@pytest.mark.parametrize("where", ["terminal", "pipe"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_table_of_a_command_is_cut(
    command: str,
    where: str,
    tabled: Path,
    tiny_models: dict[str, Path],
    printed: list[Sequence[Sequence[str]]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """No word is missing or broken, nor an interval or a p; in a pipe each row is whole on a line."""
    monkeypatch.chdir(tabled)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tabled / ".cache"))
    results = sorted(map(str, tabled.glob("results/**/*.json")))
    with PlantedServer(kind="llama.cpp") as server:
        filled = COMMANDS[command].format(
            bert=tiny_models["bert"], results=" ".join(results), server=f"{server.url}#planted"
        )
        typed: Typed = typing(monkeypatch, capfd)
        if where == "terminal":
            in_terminal(monkeypatch)
        done = typed(*filled.split())
    assert printed, done.err + done.out
    for table in printed:
        for row in table:
            for cell in row:
                # An interval and a p are one word; others go on in a second line where there are many columns.
                assert all(word in done.out for word in re.findall(r"\[[^]\s]+,? [^]\s]+\]|p [=<>≤≥] \S+|\S+", cell))
            if where == "pipe":
                assert any(all(cell.strip() in line for cell in row) for line in done.out.splitlines())


@settings(max_examples=examples(200))
@given(st.data())
def test_a_table_keeps_every_word_and_the_width(data: st.DataObject) -> None:
    """Each row has the words of its cells and no others; a line is too long only where a word is, with its indent."""
    columns = data.draw(st.integers(1, 5))
    table = data.draw(st.lists(st.lists(texts, min_size=columns, max_size=columns), min_size=1, max_size=4))
    right = data.draw(st.lists(st.booleans(), min_size=columns, max_size=columns))
    width = data.draw(st.integers(5, 90))
    longest = max((measure(word) for row in table for cell in row for word in cell.split()), default=0)
    for row, lines in zip(table, document.lay_out(table, right, width), strict=True):
        assert sorted(" ".join(lines).split()) == sorted(" ".join(row).split())
        assert all(measure(line) <= max(width, 24 + 2, longest + 2) for line in lines)
    for row, lines in zip(table, document.lay_out(table, right, None), strict=True):
        assert [" ".join(line.split()) for line in lines] == [" ".join(" ".join(row).split())]


def measure(text: str) -> int:
    """The cells of a terminal: a Chinese character takes two (Unicode Standard Annex 11)."""
    return len(text) + text.count("語")


def test_columns_of_a_narrow_terminal() -> None:
    """A p, an interval and a name stay whole where a reason goes on below itself; by hand, at 44 cells."""
    table = [
        ["figure", "value", "", "reason"],
        ["gap-of-groups", "+12.3 [-4.0, +28.1] p = 0.0123 after Holm", "no", "of these rows there are too few"],
    ]
    first, *second = document.lay_out(table, [False] * 4, 44)
    assert [line for line in second[0] if "gap-of-groups" in line]
    assert any("[-4.0, +28.1]" in line for line in second[0])
    assert any("p = 0.0123" in line for line in second[0])
    assert len(first) == 1


def test_strange_cells_are_no_markup(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Brackets are printed, sequences of a terminal are not, and what they are replaced by is not cut either."""
    in_terminal(monkeypatch)
    rows: list[list[object]] = [["[bold]x[/bold]", "a\x1b[2Jb"], [None, 1]]
    table = document.Table.of_texts({"name": "name", "read": "number"}, rows, "[red]")
    console.print_sections([document.Section("", tables=(table,))])
    assert capfd.readouterr().out.splitlines() == [
        "",
        "[red]",
        "name" + 17 * " " + "read",
        "[bold]x[/bold]  a\\x1b[2Jb",
        24 * " " + "1",
    ]


def test_a_section_without_content_has_no_heading() -> None:
    """Nor one of charts alone, which a terminal does not show; one with a paragraph has both."""
    assert not [*document.render_terminal(document.Section("Which groups"))]
    lines = [line.plain for line in document.render_terminal(document.Section("What it shows", ("Nothing.",)))]
    assert lines == ["", "What it shows", "Nothing."]


def test_a_terminal_without_a_sign_has_it_escaped() -> None:
    """Whose encoding is ASCII, as where a locale is not installed: the ends of a range without one are infinite."""
    env = {**os.environ, "LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:strict"}
    command = [sys.executable, "-P", "-m", "senseprobe", "explain"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u221e" in done.stdout
