"""`senseprobe annotate` over several rounds: other names, renamed projects, plans that grow, rows that stay open."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.annotation import world
from tests.annotation.world import Said, fill, label_studio
from tests.commands import Outcome, Typed, typing

from senseprobe import api
from senseprobe.annotation.label_studio import client
from senseprobe.annotation.project_folder import read_plan
from senseprobe.annotation.records import Item
from senseprobe.release.annotation_record import AgreementFact, describe_agreement

EXPORT = ("annotate", "export", "tiny@1.0.0", "--project", "First check", "--annotators", "3")
PUSH = ("annotate", "push", "tiny@1.0.0", "--project", "First check")
NAMES = ("annotator-1", "annotator-2", "annotator-3")


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line in a project whose `tiny@1.0.0` has 36 rows of people and 12 of tourists, of two nations."""
    world.make_larger(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    api.build("tiny", "1.0.0")
    return typing(monkeypatch, capfd)


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch) -> world.Studio:
    """What stands for a server here; tests/annotation/label_studio has a real one."""
    made = world.Studio()
    monkeypatch.setattr(client, "connect", lambda: made)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the files of the annotation project are."""
    return tmp_path / "annotations" / "first-check"


def _fine(annotator: str, item: Item) -> Mapping[str, str]:
    return {}


def _import(typed: Typed, folder: Path, said: Said, *options: str, groups: str = "") -> Outcome:
    sheets = [fill(folder, name, said, groups) for name in NAMES]
    return typed("annotate", "import", "First check", *map(str, sheets), *options)


# ---- Names, numbers, times -----------------------------------------------------------------------------------------


def test_names_after_pseudonyms_are_no_edits(typed: Typed, studio: world.Studio, folder: Path) -> None:
    """The same answers pulled again with `--names`, and then without: nobody edited, added or deleted anything."""
    typed(*PUSH, "--n", "4", "--groups")
    studio.held[1] = label_studio(read_plan(folder), {7: _fine, 8: _fine}, studio.held[1])
    for task in studio.held[1]:
        consent = [("consent", "choices", {"choices": ["yes"]}), ("groups", "textarea", {"text": ["women"]})]
        for annotation in task["annotations"]:
            annotation["result"] += [
                {"from_name": name, "to_name": "sentence-1", "type": kind, "value": value}
                for name, kind, value in consent
            ]
    nothing = "8 annotations by 2 annotators, 0 skipped: 0 new, 0 edited, 0 deleted\n"
    assert "8 new, 0 edited, 0 deleted" in typed("annotate", "pull", "First check").out
    assert nothing in typed("annotate", "pull", "First check", "--names").out
    assert "maria@example.com" in (folder / "answers.csv").read_text()
    assert nothing in typed("annotate", "pull", "First check").out


def test_names_after_pseudonyms_are_no_edits_in_sheets(typed: Typed, folder: Path) -> None:
    """Ids of answers in sheets hold the annotator's name, and still: nothing is new and nothing is gone."""
    typed(*EXPORT, "--n", "4", "--groups")
    assert _import(typed, folder, _fine, groups="women").out.startswith("12 annotations by 3 annotators")
    told = _import(typed, folder, _fine, "--names", groups="women").out
    assert told == "12 annotations by 3 annotators, 0 skipped: 0 new, 0 edited, 0 deleted\n"


def test_a_small_negative_figure_is_printed_as_zero(typed: Typed, folder: Path) -> None:
    """By hand: 288 answers to `natural`, two rows with one no of three each: alpha = -1 / (288 - 2) = -0.0035."""
    first = ("people.are.japanese.nice.rude", "people.are.french.nice.rude")

    def said(annotator: str, item: Item) -> Mapping[str, str]:
        return {"natural.stereo": "no"} if annotator == "annotator-1" and item.row in first else {}

    typed(*EXPORT, "--n", "48")
    _import(typed, folder, said)
    (natural,) = [
        figure
        for figure in typed("annotate", "agree", "First check", "--json").told["figures"]
        if (figure["question"], figure["by"]) == ("natural", "all")
    ]
    assert natural["value"] == pytest.approx(-1 / 286)
    assert "-0.00" not in typed("annotate", "agree", "First check").out
    fact = AgreementFact(question="natural", alpha=-0.004, low=-0.0049, high=0.2, items=48, answers=288)
    assert describe_agreement(fact).startswith("Krippendorff's alpha 0.00 (95 % interval 0.00 to 0.20)")


def test_a_project_that_was_renamed_is_found_by_its_number(typed: Typed, studio: world.Studio, folder: Path) -> None:
    """Status, pull and push go on with it; no second project is made."""
    typed(*PUSH, "--n", "4")
    studio.made[1] = replace(studio.made[1], title="Somebody's new title")
    assert typed("annotate", "status", "First check").out.startswith("Somebody's new title: 4 of 4 rows are there")
    assert typed("annotate", "pull", "First check").code == 0
    assert "0 tasks sent, 4 there already" in typed(*PUSH, "--n", "4").out
    assert [*studio.made] == [1]


def test_a_project_of_another_server_with_that_number_is_not_ours(
    typed: Typed, studio: world.Studio, folder: Path
) -> None:
    """At the same address a new server was set up, on which somebody made project 1 at another time."""
    typed(*PUSH, "--n", "4")
    studio.made[1] = replace(studio.made[1], title="Theirs", created="2027-01-01")
    assert "is not there" not in typed(*PUSH, "--n", "4").err
    assert [project.title for project in studio.made.values()] == ["Theirs", "First check"]


def test_status_tells_how_long_a_row_takes(typed: Typed, studio: world.Studio, folder: Path) -> None:
    """By hand: means of 10 and 20, of 40 and 40, of 90 alone; the median of 15, 40 and 90 is 40; one has none."""
    typed(*PUSH, "--n", "4")
    tasks = label_studio(read_plan(folder), {7: _fine, 8: _fine}, studio.held[1])
    for task, times in zip(tasks, ([10, 20], [40, 40], [90], []), strict=True):
        task["annotations"] = [{**a, "lead_time": t} for a, t in zip(task["annotations"], times, strict=False)]
    studio.held[1] = tasks
    told = typed("annotate", "status", "First check", "--json").told
    rows = [task["data"]["ext_id"] for task in tasks]
    assert told["seconds"] == 40
    assert told["slowest"] == {rows[2]: 90, rows[1]: 40, rows[0]: 15}
    assert (
        f"40 s for a row (median of rows' means); longest: {rows[2]} 90 s"
        in typed("annotate", "status", "First check").out
    )
