"""`senseprobe annotate` with files that people mixed up, and tables that they wrote into."""

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from tests.annotation import world
from tests.annotation.world import fill
from tests.commands import Outcome, Typed, typing

from senseprobe import api
from senseprobe.annotation.plan_file import read_plan
from senseprobe.annotation.records import Item

EXPORT = ("annotate", "export", "tiny@1.0.0", "--project", "First check", "--annotators", "2", "--overlap", "2")
IMPORT = ("annotate", "import", "First check")


@pytest.fixture
def typed(
    small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Typed:
    """Runs a command line in a project that has built `tiny@1.0.0`, and asks two people about its eight rows."""
    shutil.copytree(small_project, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    run = typing(monkeypatch, capfd)
    assert run(*EXPORT, "--groups").code == 0
    return run


def _fine(annotator: str, item: Item) -> dict[str, str]:
    return {}


def _sheet(folder: Path, name: str, groups: str = "") -> Path:
    """The sheet of the first annotator, filled in, under this name."""
    filled = fill(folder, "annotator-1", _fine, groups)
    return Path(shutil.copy(filled, folder.parent / f"{name}.csv"))


def _people(folder: Path) -> set[str]:
    text = (folder / "answers.csv").read_text("utf-8-sig")
    return {line["annotator"] for line in csv.DictReader(io.StringIO(text))}


def _message(told: Outcome) -> str:
    assert told.code == 2
    return told.message


def test_a_sheet_under_a_name_and_under_a_pseudonym_is_one_persons(typed: Typed, folder: Path) -> None:
    """Taken with --names and without, in any order, Maria is counted once."""
    sheet = _sheet(folder, "maria")
    for names in ([], ["--names"], []):
        assert typed(*IMPORT, str(sheet), *names).code == 0
        assert len(_people(folder)) == 1
        assert (_people(folder) == {"maria"}) == bool(names)


def test_a_sheet_is_not_the_account_of_that_number(typed: Typed, folder: Path) -> None:
    """1.csv is somebody else than user 1 of Label Studio."""
    tasks = json.loads((folder / "tasks.json").read_text())
    export = folder.parent / "export.json"
    export.write_text(json.dumps(world.label_studio(read_plan(folder), {1: _fine}, tasks)))
    assert typed(*IMPORT, str(export), str(_sheet(folder, "1"))).code == 0
    assert len(_people(folder)) == 2


def test_one_file_under_two_names_is_noticed(typed: Typed, folder: Path) -> None:
    """Taken, since two people may agree in all, and named, exit code 1."""
    told = typed(*IMPORT, str(_sheet(folder, "maria")), str(_sheet(folder, "marie")))
    assert (told.code, len(_people(folder))) == (1, 2)
    assert "marie.csv: A107 is the same file as" in told.out


def test_one_file_in_two_imports_is_noticed(typed: Typed, folder: Path) -> None:
    """A copy that a browser named; the same sheet again is no copy, nor is a name whose accent is written otherwise."""
    assert typed(*IMPORT, str(_sheet(folder, "Zo\u00eb"))).code == 0
    for again in ("Zo\u00eb", "Zoe\u0308"):
        assert typed(*IMPORT, str(_sheet(folder, again))).code == 0
        assert len(_people(folder)) == 1
    told = typed(*IMPORT, str(_sheet(folder, "Zo\u00eb (1)")))
    assert (told.code, len(_people(folder))) == (1, 2)
    assert "A107 is the same file as" in told.out
    assert len(list((folder / "exports").iterdir())) == 1


def test_an_account_and_a_sheet_of_one_name_are_refused(typed: Typed, folder: Path) -> None:
    """With --names both would be called 1."""
    tasks = json.loads((folder / "tasks.json").read_text())
    export = folder.parent / "export.json"
    export.write_text(json.dumps(world.label_studio(read_plan(folder), {1: _fine}, tasks)))
    told = _message(typed(*IMPORT, "--names", str(export), str(_sheet(folder, "1"))))
    assert told == "1 names an account and a sheet: rename the sheet"
    assert not (folder / "answers.csv").exists()


def test_the_sheet_of_another_project_is_refused_at_once(typed: Typed, folder: Path) -> None:
    """One message and not one for each line; what was there stays."""
    sheet = _sheet(folder, "maria")
    assert typed(*IMPORT, str(sheet)).code == 0
    cells = list(csv.reader(io.StringIO(sheet.read_text("utf-8-sig"))))
    other = [cells[0], *([row[0], "c000000000000", *row[2:]] for row in cells[1:])]
    with sheet.open("w", newline="") as file:
        csv.writer(file).writerows(other)
    told = _message(typed(*IMPORT, str(sheet)))
    assert told.endswith("maria.csv: none of 8 items matches this project: is it a sheet of another project?")
    assert len(_people(folder)) == 1


def test_a_sheet_without_answers_is_named(typed: Typed, folder: Path) -> None:
    """It takes the place of nothing: whoever imports the sheets as they were made loses no answers."""
    blank = (folder / "sheets" / "annotator-1.csv").read_bytes()
    typed(*IMPORT, str(fill(folder, "annotator-1", _fine)))
    (folder / "sheets" / "annotator-1.csv").write_bytes(blank)
    told = typed(*IMPORT, *(str(folder / "sheets" / f"annotator-{number}.csv") for number in (1, 2)))
    assert told.code == 1
    assert told.out.splitlines()[0] == "8 annotations by 1 annotator, 0 skipped: 0 new, 0 edited, 0 deleted"
    assert "annotator-1.csv: A106 does not have answers yet" in told.out
    assert "annotator-2.csv: A106 does not have answers yet" in told.out


def test_a_file_that_is_no_export_is_called_by_its_name(typed: Typed, folder: Path) -> None:
    path = folder.parent / "README.md"
    path.write_text("# Read me\n")
    assert _message(typed(*IMPORT, str(path))).startswith(f"{path}: the export is not JSON")


def test_a_name_that_no_table_can_hold_is_refused(typed: Typed, folder: Path) -> None:
    """A file name of bytes that are no UTF-8, or with a line feed in it."""
    for name in (b"\xff", b"a\nb"):
        path = bytes(folder.parent) + b"/" + name + b".csv"
        shutil.copy(bytes(_sheet(folder, "maria")), path)
        told = _message(typed(*IMPORT, "--names", path.decode("utf-8", "surrogateescape")))
        assert "is not the name of an annotator" in told
        assert not (folder / "answers.csv").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",yes,", ",perhaps,", "perhaps is not an answer to natural"),
        (",natural,", ",age,", "age.anti was not asked of people."),
        (
            "people.are.french.nice.lazy",
            "people.are.dutch.nice.lazy",
            "the plan does not have the row people.are.dutch.nice.lazy",
        ),
    ],
)
def test_answers_that_somebody_wrote_in_are_named(typed: Typed, folder: Path, old: str, new: str, message: str) -> None:
    """By every command that reads them; pulling or importing again makes the table anew."""
    sheet = _sheet(folder, "maria")
    typed(*IMPORT, str(sheet))
    path = folder / "answers.csv"
    path.write_text(path.read_text("utf-8-sig").replace(old, new), "utf-8")
    for command in (("agree",), ("apply",), ("release", "out")):
        told = _message(typed("annotate", command[0], "First check", *command[1:]))
        assert message in told
        assert told.endswith("`annotate pull` or `annotate import` writes the table again")
    assert typed(*IMPORT, str(sheet)).code == 0
    assert typed("annotate", "agree", "First check").code == 0


def test_groups_that_became_others_are_told(typed: Typed, folder: Path) -> None:
    """Reports of the targeted group hang on them: another group, and none any more."""
    typed(*IMPORT, str(_sheet(folder, "maria", "Japanese")))
    told = typed(*IMPORT, str(_sheet(folder, "maria", "Dutch")))
    (name,) = _people(folder)
    assert told.out.splitlines()[0].endswith(f"0 new, 0 edited, 0 deleted, 1 with changed groups ({name})")
    changes = typed(*IMPORT, str(_sheet(folder, "maria", "Dutch")), "--json").told["changes"]
    assert changes == {"new": [], "edited": [], "deleted": [], "regrouped": []}


def test_the_next_plan_is_not_put_into_a_release(typed: Typed, tmp_path: Path) -> None:
    place = tmp_path / "releases" / "tiny" / "1.0.0"
    told = _message(typed(*EXPORT, "--folder", str(place)))
    assert told == f"{place} is a release, which cannot be changed: choose another folder"
    inside = _message(typed(*EXPORT, "--folder", str(place / "recipe")))
    assert inside == told
    assert api.verify("tiny@1.0.0") == []


def test_fewer_rows_than_were_asked_for_is_said(typed: Typed, tmp_path: Path) -> None:
    told = typed(*EXPORT, "--n", "5000", "--folder", str(tmp_path / "elsewhere"))
    assert "note: 5,000 rows were asked for, but only 8 exist" in told.out


def test_a_plan_with_odd_options_still_leads_to_verdicts(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """`plan.json` says how rows were chosen, in words that no card can hold as they are."""
    path = folder / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"where": "nation=\x1b[2J", "strata": ["a\x07"]}))
    typed(*IMPORT, str(_sheet(folder, "maria")))
    told = typed("annotate", "apply", "First check", "--least", "1")
    assert (told.code, told.err) == (0, "")
    (facts,) = json.loads((tmp_path / "templates/tiny/annotation.json").read_text())["rounds"]
    assert (facts["protocol"]["where"], facts["protocol"]["strata"]) == (r"'nation=\x1b[2J'", [r"'a\x07'"])


def test_a_project_is_one_round_whatever_it_came_with(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """Sheets, then an export beside them: the card has one section, of both."""
    sheet = _sheet(folder, "maria")
    typed(*IMPORT, str(sheet))
    typed("annotate", "apply", "First check", "--least", "1")
    tasks = json.loads((folder / "tasks.json").read_text())
    export = folder.parent / "export.json"
    export.write_text(json.dumps(world.label_studio(read_plan(folder), {1: _fine}, tasks)))
    typed(*IMPORT, str(export))
    told = typed("annotate", "apply", "First check")
    assert "templates/tiny/verdicts.csv (unchanged)" in told.out
    (facts,) = json.loads((tmp_path / "templates/tiny/annotation.json").read_text())["rounds"]
    assert (facts["platform"], facts["annotators"]["count"]) == ("Label Studio, CSV files", 2)


def test_groups_that_no_row_names_are_noted(typed: Typed, folder: Path) -> None:
    """Who says *Asian* and objects to rows about Japanese people is one of all, unless somebody looks."""
    filled = fill(folder, "annotator-1", lambda who, item: {"withhold": "yes"}, "Asian")
    typed(*IMPORT, str(filled))
    told = typed("annotate", "apply", "First check")
    assert "belong to other groups than the rows (asian)" in told.out


def _second(typed: Typed, folder: Path, say: world.Said) -> Path:
    """The sheets of a second project on the same rows, filled in and taken."""
    place = folder.with_name("second-check")
    if not place.exists():
        typed(*(word.replace("First", "Second") for word in EXPORT))
    sheets = [fill(place, f"annotator-{number}", say) for number in (1, 2)]
    assert typed("annotate", "import", "Second check", *map(str, sheets)).code == 0
    return place


def _no_english(annotator: str, item: Item) -> dict[str, str]:
    return {"natural.stereo": "no"}


def test_a_project_takes_back_its_own_verdicts_only(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """Both reject all rows; the second changes its mind: that contradicts the first, whose verdicts stay."""
    sheets = [fill(folder, f"annotator-{number}", _no_english) for number in (1, 2)]
    typed(*IMPORT, *map(str, sheets))
    typed("annotate", "apply", "First check")
    path = tmp_path / "templates" / "tiny" / "verdicts.csv"
    before = path.read_bytes()
    _second(typed, folder, _no_english)
    assert "(unchanged)" in typed("annotate", "apply", "Second check").out
    _second(typed, folder, _fine)
    told = typed("annotate", "apply", "Second check")
    assert (told.code, told.out, path.read_bytes()) == (1, "", before)
    assert told.err.count("E202") == 8
    _second(typed, folder, lambda who, item: {"natural.stereo": "yes" if who == "annotator-1" else "no"})
    told = typed("annotate", "apply", "Second check")  # ties: nothing is decided, and nothing taken back
    assert (told.code, path.read_bytes()) == (0, before)
    assert "note: 8 rows without a decision here keep their earlier verdicts (people." in told.out


def test_decisions_that_are_none_are_named(typed: Typed, folder: Path) -> None:
    typed(*IMPORT, str(_sheet(folder, "maria")))
    for text in ("", "\n\n", "row,state\n", "row,state,reason,answers,contested,reported,rule\na,keep\n"):
        (folder / "decisions.csv").write_text(text)
        told = _message(typed("annotate", "apply", "First check"))
        assert told.endswith("decisions.csv differs from what `annotate apply` wrote: remove it")


@pytest.mark.parametrize("gone", ["groups.csv", "decisions.csv"])
def test_who_reported_a_row_is_not_told_when_groups_are_gone(typed: Typed, folder: Path, gone: str) -> None:
    """The verdicts say that the targeted group reported rows, whatever became of the groups since."""
    filled = fill(folder, "annotator-1", lambda who, item: {"withhold": "yes"}, "Japanese")
    typed(*IMPORT, str(filled), str(fill(folder, "annotator-2", _fine)))
    typed("annotate", "apply", "First check")
    for name in {"groups.csv", gone}:
        (folder / name).unlink()
    told = typed("annotate", "release", "First check", "out")
    assert "16 answers to `withhold`, because the targeted group reported rows" in told.out


def test_verdicts_from_before_the_column_say_who_reported_in_their_reason(
    typed: Typed, folder: Path, tmp_path: Path
) -> None:
    """Such a file without `reported` counts as it did, and `apply` finds its own lines in it and adds the column."""
    filled = fill(folder, "annotator-1", lambda who, item: {"withhold": "yes"}, "Japanese")
    typed(*IMPORT, str(filled), str(fill(folder, "annotator-2", _fine)))
    typed("annotate", "apply", "First check")
    path = tmp_path / "templates" / "tiny" / "verdicts.csv"
    written = path.read_bytes()
    path.write_text(re.sub(r"(?m),(true|reported|)$", "", path.read_text()))
    assert path.read_text().startswith("id,verdict,rule,source,reason\n")
    (folder / "groups.csv").rename(tmp_path / "groups.csv")
    (folder / "decisions.csv").rename(tmp_path / "decisions.csv")
    told = typed("annotate", "release", "First check", "out")
    assert "16 answers to `withhold`, because the targeted group reported rows" in told.out
    (tmp_path / "groups.csv").rename(folder / "groups.csv")
    (tmp_path / "decisions.csv").rename(folder / "decisions.csv")
    assert "(unchanged)" in typed("annotate", "apply", "First check").out
    assert path.read_bytes() == written


def test_a_threshold_of_what_was_not_asked_is_refused(typed: Typed, folder: Path) -> None:
    typed(*IMPORT, str(_sheet(folder, "maria")))
    told = _message(typed("annotate", "apply", "First check", "--threshold", "inference=0.7"))
    assert told.startswith("First check does not ask inference: it asks ")
