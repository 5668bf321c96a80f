"""People are asked about releases that `senseprobe import` made: every kind of file becomes an interface and tasks."""

import html
import json
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.annotation.world import fill
from tests.commands import Typed, typing
from tests.imports.files import FILES

ROWS = {"sssb": 36, "crows-pairs": 5, "stereoset": 4, "seat": 18, "winobias": 3, "winogender": 3}
"""Made by hand, as those of each config in tests/importers/test_import.py: 6 + 8 + 4 + 2 + 12 + 4, 3 + 1, 2 + 1."""

PAIR = ["natural-1", "natural-2", "stereotype-1", "stereotype-2", "whom-1", "whom-2", "withhold", "comment"]
SINGLE = ["natural", "withhold", "comment"]
CONTROLS = {**dict.fromkeys(ROWS, PAIR), "seat": SINGLE}
"""By docs/annotation.md: of a contrast row each sentence is asked about, a row of association has one."""

EVIL = (
    "Old <img src=x onerror=alert(1)> gardeners & </p><script>alert('a')</script> forget.",
    "Young <img src=x onerror=alert(1)> gardeners & </p><script>alert('a')</script> forget.",
)


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line in a project that has nothing but imports."""
    (tmp_path / "senseprobe.toml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    return typing(monkeypatch, capfd)


def _asked(typed: Typed, format_: str, files: Sequence[Path], folder: Path, *options: str) -> list[dict[str, Any]]:
    """Import files, and have people asked about all rows; the tasks."""
    imported = typed("import", format_, *map(str, files), "--name", "mine", "--version", "1.0.0")
    assert (imported.code, imported.err) == (0, ""), imported.err
    made = typed("annotate", "export", "mine@1.0.0", "--project", "theirs", "--n", "500", *options)
    assert (made.code, made.err) == (0, "")
    tasks: list[dict[str, Any]] = json.loads((folder / "tasks.json").read_text())
    return tasks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the files of the annotation project are."""
    return tmp_path / "annotations" / "theirs"


@pytest.mark.parametrize("format_", sorted(ROWS))
def test_every_kind_of_import_can_be_asked_about(format_: str, typed: Typed, folder: Path) -> None:
    """The interface is XML with one control for each question and sentence, on sentences that it shows.

    Without the question of the sense, for which WordNet would have to be there: sssb's files name keys.
    """
    questions = dict.fromkeys(name.partition("-")[0] for name in CONTROLS[format_])
    tasks = _asked(typed, format_, FILES[format_], folder, "--questions", ",".join(questions))
    view = ElementTree.fromstring((folder / "interface.xml").read_text())  # noqa: S314 - ours
    controls = [each for tag in ("Choices", "TextArea") for each in view.iter(tag)]
    assert sorted(str(each.get("name")) for each in controls) == sorted(CONTROLS[format_])
    shown = {each.get("name"): str(each.get("value")) for each in view.iter("HyperText")}
    assert len(shown) == (1 if format_ == "seat" else 2)
    for each in controls:
        position = str(each.get("name")).rpartition("-")[2]
        assert each.get("toName") == f"sentence-{position if position in '12' else 1}"
    assert len(tasks) == ROWS[format_]
    for task in tasks:
        assert all(task["data"][field.removeprefix("$")] for field in shown.values())


def test_sentences_of_another_language_are_not_asked_to_be_english(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """A table in French: nobody reads of English, before the first task, in it, on a sheet or in a verdict."""
    rows = "Les vieux sont lents.,Les vieux sont vifs.\nLes jeunes sont impolis.,Les jeunes sont polis.\n"
    (tmp_path / "fr.csv").write_text(f"plus,moins\n{rows}")
    named = ("--name", "mine", "--version", "1.0.0", "--language", "fr")
    assert typed("import", "csv", "fr.csv", "--map", "stereo=plus,anti=moins", *named).code == 0
    made = (
        "annotate",
        "export",
        "mine@1.0.0",
        "--project",
        "theirs",
        "--n",
        "2",
        "--overlap",
        "1",
        "--annotators",
        "1",
    )
    assert typed(*made).code == 0
    assert typed(*made).code == 0
    sheet = fill(folder, "annotator-1", lambda annotator, item: {"natural.stereo": "no"})
    assert typed("annotate", "import", "theirs", str(sheet)).code == 0
    applied = typed("annotate", "apply", "theirs", "--least", "1")
    assert "natural.stereo: no" in applied.out
    files = ("plan.json", "interface.xml", "sheets/READ-ME-FIRST.txt", "sheets/annotator-1.csv", "annotation.json")
    for text in (applied.out, *((folder / name).read_text() for name in files)):
        assert "English" not in text
    assert "Is it natural in its language?" in sheet.read_text()


def test_no_sense_is_asked_of_an_import_that_names_none(typed: Typed, folder: Path) -> None:
    """All questions that there are, without an option and without WordNet: those of a pair but that one."""
    _asked(typed, "crows-pairs", FILES["crows-pairs"], folder)
    assert json.loads((folder / "plan.json").read_text())["questions"] == [
        *("stereotype", "whom", "natural", "withhold", "comment")
    ]


class _Page(HTMLParser):
    """What a browser makes of a piece of HTML: its tags and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def _crows(folder: Path) -> Path:
    said = ",".join('"' + sentence.replace('"', '""') + '"' for sentence in EVIL)
    path = folder / "evil.csv"
    path.write_text(
        ",sent_more,sent_less,stereo_antistereo,bias_type,annotations,anon_writer,anon_annotators\n"
        f"0,{said},stereo,age,\"[['age'], ['age']]\",a1,\"['a2', 'a3']\"\n"
    )
    return path


def _seat(folder: Path) -> Path:
    tests = json.loads(FILES["seat"][0].read_text())
    for part in tests.values():
        part["examples"] = [f"{EVIL[0]} {number} {text}" for number, text in enumerate(part["examples"])]
    path = folder / FILES["seat"][0].name
    path.write_text(json.dumps(tests))
    return path


def _stereoset(folder: Path) -> Path:
    text = FILES["stereoset"][0].read_text()
    path = folder / "stereoset.json"
    path.write_text(text.replace("We met a Marshan sailor.", EVIL[0]))
    return path


@pytest.mark.parametrize(("format_", "made"), [("crows-pairs", _crows), ("seat", _seat), ("stereoset", _stereoset)])
def test_html_in_an_imported_sentence_is_text(
    format_: str,
    made: Callable[[Path], Path],
    typed: Typed,
    folder: Path,
    tmp_path: Path,
) -> None:
    """In tasks.json there is no tag but our own, and a browser shows the sentence as it was imported."""
    tasks = _asked(typed, format_, [made(tmp_path)], folder)
    evil = 0
    for task in tasks:
        data = task["data"]
        for position in (1, 2):
            if f"html_{position}" not in data:
                continue
            page = _Page(data[f"html_{position}"])
            assert set(page.tags) <= {"p", "mark"}
            assert page.text == data[f"text_{position}"]
            assert html.unescape(re.sub(r"</?(p|mark)>", "", data[f"html_{position}"])) == data[f"text_{position}"]
            evil += "<script>" in data[f"text_{position}"]
    assert evil >= 1
    if format_ == "crows-pairs":
        assert {task["data"][f"text_{n}"] for task in tasks for n in (1, 2)} == {*EVIL}
    interface = (folder / "interface.xml").read_text()
    assert "script" not in interface
    assert "onerror" not in interface
