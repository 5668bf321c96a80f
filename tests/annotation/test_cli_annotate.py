"""`senseprobe annotate` without a server, as it is typed: from a release to the next one without what people reject."""

import csv
import io
import json
import re
import shlex
import shutil
import stat
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.annotation import given, world
from tests.annotation.world import fill
from tests.commands import Outcome, Typed, typing

from senseprobe import api
from senseprobe.annotation.adjudication import read_claims
from senseprobe.annotation.plan_file import read_plan
from senseprobe.annotation.records import Item

EXPORT = ("annotate", "export", "tiny@1.0.0", "--project", "First check", "--n", "8", "--annotators", "3", "--groups")
PEOPLE = ("annotator-1", "annotator-2", "annotator-3")
RUDE, LAZY = "people.are.japanese.nice.rude", "people.are.japanese.nice.lazy"
SEEM = "people.seem.french.nice.rude"


@pytest.fixture
def typed(
    small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Typed:
    """Runs a command line in a project that has built `tiny@1.0.0`."""
    shutil.copytree(small_project, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    return typing(monkeypatch, capfd)


def _said(annotator: str, item: Item) -> dict[str, str]:
    """Two of three find RUDE's counterpart no English; the one Japanese would not have LAZY used; a tie on SEEM."""
    if item.row == RUDE and annotator != "annotator-1":
        return {"natural.anti": "no"}
    if item.row == LAZY and annotator == "annotator-1":
        return {"withhold": "yes"}
    if item.row == SEEM:
        return {"stereotype.stereo": {"annotator-1": "stereotype", "annotator-2": "neither"}.get(annotator, "unsure")}
    return {}


def _table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def _answered(typed: Typed, folder: Path) -> list[Path]:
    assert typed(*EXPORT).code == 0
    groups = {"annotator-1": "Women, Japanese", "annotator-2": "french"}
    sheets = [fill(folder, name, _said, groups.get(name, "")) for name in PEOPLE]
    imported = typed("annotate", "import", "First check", *map(str, sheets))
    assert (imported.code, imported.err) == (0, "")
    return sheets


def test_export_writes_all_that_asking_needs(typed: Typed, folder: Path) -> None:
    """Plan, interface, tasks, a sheet for each annotator; the same command again writes the same bytes."""
    told = typed(*EXPORT)
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines() == [
        "First check: 8 contrast rows of tiny@1.0.0, for 3 people each",
        "asked: stereotype, whom, natural, withhold, comment, and their groups",
        f"plan.json, interface.xml, tasks.json and 3 sheets in {folder}",
        ("send each with READ-ME-FIRST.txt, which lies beside it; then: senseprobe annotate import 'First check'"),
    ]
    page = " ".join((folder / "sheets" / "READ-ME-FIRST.txt").read_text().split())
    assert "Stereotypes are wrong and can hurt." in page
    assert "`yes` into the column `consent`" in page
    before = {path.name: path.read_bytes() for path in folder.rglob("*.*")}
    assert {*before} >= {"plan.json", "interface.xml", "tasks.json", "annotator-1.csv"}
    assert typed(*EXPORT).code == 0
    assert {path.name: path.read_bytes() for path in folder.rglob("*.*")} == before
    assert (folder / "sheets" / ".gitignore").read_text() == "*\n"


def test_another_plan_in_the_same_project_is_refused(typed: Typed, folder: Path) -> None:
    """Answers are to what was asked: another sample is another project."""
    typed(*EXPORT)
    told = typed(*EXPORT, "--seed", "1")
    assert (told.code, told.out) == (2, "")
    assert "plan.json is another plan: it has seed 0; " in told.err


def test_a_filled_sheet_is_not_overwritten(typed: Typed, folder: Path) -> None:
    """Somebody's work of hours is in it."""
    typed(*EXPORT)
    filled = fill(folder, "annotator-2", _said).read_bytes()
    told = typed(*EXPORT)
    assert told.code == 2
    assert "annotator-2.csv was filled in" in told.err
    assert (folder / "sheets" / "annotator-2.csv").read_bytes() == filled


def test_from_answers_to_the_next_release(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """What two of three, or one of the targeted group, reject is not in the next release; diff and verdicts name it."""
    _answered(typed, folder)
    applied = typed("annotate", "apply", "First check")
    assert (applied.code, applied.err) == (0, "")
    assert "keep 5, reject 2, undecided 1 (of these, reported by the targeted group: 1)" in applied.out
    assert "templates/tiny/verdicts.csv (7 new); annotation.json is next to it" in applied.out
    told = " ".join(applied.out.split())
    assert f"{RUDE} natural.anti: no, not natural (2 of 3)" in told
    assert told.count(f"{LAZY} reported as harmful by annotators of the targeted group") == 2
    assert f"{SEEM} stereotype.stereo: a tie: neither 1, stereotype 1, unsure 1" in told
    lines = list(csv.DictReader(io.StringIO((tmp_path / "templates/tiny/verdicts.csv").read_text())))
    assert [(line["id"], line["source"]) for line in lines if line["verdict"] == "reject"] == [
        (LAZY, "tiny@1.0.0"),
        (RUDE, "tiny@1.0.0"),
    ]
    assert {line["id"]: line["reported"] for line in lines if line["reported"]} == {LAZY: "true"}
    assert len(lines) == 7
    built = typed("build", "tiny", "2.0.0")
    assert built.code == 0
    (size,) = built.err.splitlines()
    assert size.startswith("tiny 2.0.0: ")
    assert re.search(r" rows, an estimated .+ are free in ", size)
    assert set(api.load("tiny@2.0.0").table("people")["id"]) == set(api.load("tiny@1.0.0").table("people")["id"]) - {
        LAZY,
        RUDE,
    }
    diff = typed("diff", "tiny@1.0.0", "tiny@2.0.0").out
    assert RUDE in diff
    assert LAZY in diff
    card = (tmp_path / "releases/tiny/2.0.0/README.md").read_text()
    assert "reported by the targeted group: 1" in card
    assert [api.load(f"tiny@{version}").manifest.data["schema"] for version in ("1.0.0", "2.0.0")] == [2, 4]
    assert api.verify("tiny@2.0.0", rebuild=True) == []


def test_facts_for_the_card(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """`annotation.json` says who was asked what and what came of it; no group of fewer than five, and no name."""
    _answered(typed, folder)
    typed("annotate", "apply", "First check")
    text = (tmp_path / "templates/tiny/annotation.json").read_text()
    (facts,) = json.loads(text)["rounds"]
    assert (facts["platform"], facts["project"], facts["release"]) == ("CSV files", "First check", "tiny@1.0.0")
    assert (facts["answered"], facts["annotations"], facts["least"], facts["most"]) == (8, 24, 3, 3)
    assert facts["annotators"] == {"count": 3, "groups": {}, "pseudonyms": True}
    assert facts["protocol"]["thresholds"] == {"fewest answers": 2, "share of answers": 0.5}
    assert facts["verdicts"] == {"reject": 2, "keep": 5, "undecided": 1, "reported by the targeted group": 1}
    keys = [f"{question}.{role}" for question in ("stereotype", "natural") for role in ("anti", "stereo")]
    assert [each["question"] for each in facts["agreement"]] == ["stereotype", "natural", "withhold", *keys]
    levels = {fact["level"] for fact in facts["estimates"]}
    assert levels == {"", "are", "seem", "Japanese", "French", "rude", "<b>lazy</b>"}  # the words of rows, and no more
    assert "apanese" not in json.dumps({**facts, "estimates": []})


def test_a_reported_row_may_be_kept_and_that_is_said(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """`--keep-reported` leaves it to the rule, in the verdict's own words, and counts it apart."""
    _answered(typed, folder)
    told = typed("annotate", "apply", "First check", "--keep-reported")
    reported = "reported by the targeted group: 1, reported, and not rejected: 1"
    assert f"keep 6, reject 1, undecided 1 (of these, {reported})" in told.out
    lines = csv.DictReader(io.StringIO((tmp_path / "templates/tiny/verdicts.csv").read_text()))
    (kept,) = [line for line in lines if line["id"] == LAZY]
    assert kept["verdict"] == "keep"
    assert kept["reason"].endswith("of the targeted group, but kept because of --keep-reported")


def test_applying_again_replaces_its_own_verdicts(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """A stricter rule takes verdicts back; those of readers' disputes stay, and a contradiction is named by line."""
    path = tmp_path / "templates/tiny/verdicts.csv"
    dispute = "people.are.french.nice.rude,reject,dispute,tiny@0.9.0,a reader says so\n"
    path.write_text("id,verdict,rule,source,reason\n" + dispute)
    _answered(typed, folder)
    refused = typed("annotate", "apply", "First check")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith(
        "templates/tiny/verdicts.csv:2:1: E202 people.are.french.nice.rude has the verdict reject (dispute"
    )
    assert path.read_text().endswith(dispute)
    assert not (tmp_path / "templates/tiny/annotation.json").exists()
    strict = typed("annotate", "apply", "First check", "--least", "4")
    assert strict.code == 0
    assert "(1 new); annotation.json" in strict.out
    assert [line["id"] for line in csv.DictReader(io.StringIO(path.read_text()))] == [
        "people.are.french.nice.rude",
        LAZY,  # a report needs no majority
    ]


def test_another_project_on_the_same_release_overrules_nothing(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """One answer each in a second project, on the same rows: what contradicts is named, and nothing is written."""
    _answered(typed, folder)
    typed("annotate", "apply", "First check")
    path = tmp_path / "templates" / "tiny" / "verdicts.csv"
    before = path.read_bytes()
    second = [*EXPORT]
    second[second.index("First check")] = "Second check"
    typed(*second)
    place = folder.with_name("second-check")
    sheet = fill(place, PEOPLE[0], lambda who, item: {})  # who finds nothing wrong with any row
    typed("annotate", "import", "Second check", str(sheet))
    told = typed("annotate", "apply", "Second check", "--least", "1")
    assert (told.code, told.out) == (1, "")
    assert f"E202 {RUDE} has the verdict reject" in told.err
    assert path.read_bytes() == before


def test_what_was_sent_is_not_what_came_back(typed: Typed, folder: Path) -> None:
    """Our own tasks.json, taken for an export, would delete all answers."""
    _answered(typed, folder)
    before = (folder / "answers.csv").read_bytes()
    told = typed("annotate", "import", "First check", str(folder / "tasks.json"))
    assert (told.code, told.out) == (2, "")
    assert "tasks.json: the file has tasks without annotations" in told.err
    assert (folder / "answers.csv").read_bytes() == before


def test_too_few_annotators_leave_no_plan_behind(typed: Typed, folder: Path) -> None:
    """The corrected command must not meet the plan of the wrong one."""
    wrong = [*EXPORT]
    wrong[wrong.index("3")] = "2"
    told = typed(*wrong, "--overlap", "3")
    assert (told.code, told.err.strip()) == (
        2,
        "2 annotators cannot give 3 answers for each item: ask more people, or lower the overlap",
    )
    assert not folder.exists()


def test_two_annotators_answer_each_row_if_nobody_says_otherwise(typed: Typed, folder: Path) -> None:
    """Three answers are usual, and two people cannot give them; what the plan has then stays, whoever asks again."""
    two = ("annotate", "export", "tiny@1.0.0", "--project", "First check", "--n", "6")
    made = typed(*two, "--annotators", "2")
    assert (made.code, made.err) == (0, "")
    assert read_plan(folder).overlap == 2
    assert (typed(*two).code, read_plan(folder).overlap) == (0, 2)
    assert "has overlap 2" in typed(*two, "--overlap", "3").message
    other = typed(*(word.replace("First", "Second") for word in two), "--annotators", "5")
    assert (other.code, read_plan(folder.with_name("second-check")).overlap) == (0, 3)


def test_sheets_of_an_earlier_version_are_left_as_they_are(typed: Typed, folder: Path) -> None:
    """The heads of columns had other words for answers: the same command again meets no sheet of somebody else."""
    typed(*EXPORT)
    path = folder / "sheets" / "annotator-1.csv"
    old = path.read_bytes().replace(b"Yes / The opposite / Neither / I am not sure", b"stereotype / anti-stereotype")
    assert old != path.read_bytes()
    path.write_bytes(old)
    assert (typed(*EXPORT).code, path.read_bytes()) == (0, old)


def test_agreement_is_told_with_intervals(typed: Typed, folder: Path) -> None:
    """By question and in all; nothing of groups of fewer than five."""
    _answered(typed, folder)
    told = typed("annotate", "agree", "First check")
    assert (told.code, told.err) == (0, "")
    assert "alpha" in told.out
    assert "Figures about 3 groups with fewer than 5 annotators" in told.out
    assert "women" not in (folder / "agreement.json").read_text().casefold()
    figures = typed("annotate", "agree", "First check", "--json").told["figures"]
    # By hand: 48 answers to `natural` (8 rows, 2 sentences, 3 people), 2 of them no, on one unit: of 48 pairs 2 differ.
    (natural,) = [each for each in figures if (each["question"], each["by"]) == ("natural", "all")]
    assert natural["same"] == pytest.approx(46 / 48)
    assert natural["answers"] == 48


def test_dawid_skene_decides_too(typed: Typed, folder: Path) -> None:
    """Its threshold is a probability, and the verdict's reason names it."""
    _answered(typed, folder)
    told = typed("annotate", "apply", "First check", "--rule", "dawid-skene", "--json").told
    assert told["facts"]["protocol"]["thresholds"] == {"fewest answers": 2, "posterior probability": 0.8}
    (rude,) = [row for row in told["rows"] if row["row"] == LAZY]
    assert rude["state"] == "reject"


def test_answers_are_released_without_who_is_who(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """Pseudonyms, no groups, no words of one's own, and nothing that tells who reported a row."""
    _answered(typed, folder)
    typed("annotate", "apply", "First check")
    told = typed("annotate", "release", "First check", "out")
    assert (told.code, told.err) == (0, "")
    # By hand: 24 annotations of 5 answers, one of them to `withhold`, which is left out as one row was reported.
    assert told.out.splitlines()[0] == "96 answers of 3 annotators in out"
    assert "24 answers to `withhold`, because the targeted group reported rows" in told.out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["README.md", "answers.csv", "plan.json"]
    lines = list(csv.DictReader(io.StringIO((tmp_path / "out/answers.csv").read_text("utf-8-sig"))))
    assert len(lines) == 96
    assert {line["annotator"][:2] for line in lines} == {"p-"}  # all of them answered all rows
    everything = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert "women" not in everything.casefold()
    assert (folder / "secret").read_text().strip() not in everything
    page = (tmp_path / "out/README.md").read_text()
    assert "| `annotator` | a pseudonym" in page
    assert "Licence: MIT" in page
    assert typed("annotate", "release", "First check", "out").code == 2


def test_the_secret_is_kept(typed: Typed, folder: Path) -> None:
    """Mode 0600, and named in .gitignore with groups.csv."""
    _answered(typed, folder)
    assert stat.S_IMODE((folder / "secret").stat().st_mode) == 0o600
    assert {"secret", "groups.csv"} <= set((folder / ".gitignore").read_text().split())
    assert "apanese" in (folder / "groups.csv").read_text()
    assert "annotator-1" not in (folder / "answers.csv").read_text()


def test_sheets_come_one_by_one_and_again(typed: Typed, folder: Path) -> None:
    """A later sheet adds to the earlier ones; the same one again, changed, takes its own place."""
    typed(*EXPORT)
    first, second = (fill(folder, name, _said) for name in PEOPLE[:2])
    assert typed("annotate", "import", "First check", str(first)).out.startswith(
        "8 annotations by 1 annotator, 0 skipped: 8 new"
    )
    assert typed("annotate", "import", "First check", str(second)).out.startswith("16 annotations by 2 annotators")
    fill(folder, PEOPLE[0], lambda who, item: {"natural.stereo": "no"})
    told = typed("annotate", "import", "First check", str(first), "--json").told
    assert (told["submitted"], len(told["changes"]["edited"]), told["changes"]["deleted"]) == (16, 8, [])


def test_a_cell_that_is_refused_leaves_the_earlier_answer(typed: Typed, folder: Path) -> None:
    """One that is empty takes it back, as before; the other cells of the line are taken."""
    typed(*EXPORT)
    first = fill(folder, PEOPLE[0], lambda who, item: {})
    typed("annotate", "import", "First check", str(first))
    fill(folder, PEOPLE[0], lambda who, item: {"natural.stereo": "perhaps", "natural.anti": "", "withhold": "yes"})
    told = typed("annotate", "import", "First check", str(first), "--json")
    assert (told.code, told.told["submitted"], told.told["changes"]["deleted"]) == (1, 8, [])
    answers = Counter((a["question"], a["role"], a["value"]) for a in _table(folder / "answers.csv"))
    assert {key: count for key, count in answers.items() if key[0] in ("natural", "withhold")} == {
        ("natural", "stereo", "yes"): 8,
        ("withhold", "", "yes"): 8,
    }


@pytest.mark.parametrize("column", ["item", "check"])
def test_a_line_that_is_refused_leaves_the_earlier_answers(typed: Typed, folder: Path, column: str) -> None:
    """A damaged number or check of one line: its row has what it had. A line that is gone takes its answers along."""
    typed(*EXPORT)
    path = fill(folder, PEOPLE[0], lambda who, item: {}, groups="women")
    typed("annotate", "import", "First check", str(path))
    head, damaged, *rows, last = csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline=""))
    for row in (*rows, last):
        row[next(number for number, name in enumerate(head) if name.startswith("withhold"))] = "yes"

    def imported(*lines: list[str]) -> Outcome:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([head, *lines])
        return typed("annotate", "import", "First check", str(path))

    good, damaged[head.index(column)] = [*damaged], "x"
    told = imported(damaged, *rows, last)
    assert (told.code, "A101" in told.out, "A102" in told.out) == (1, column == "item", column == "check")
    # By hand: 8 rows of 5 answers, and 7 of the rows have another answer to `withhold` now.
    answers = _table(folder / "answers.csv")
    assert len(answers) == 40
    assert sum(answer["value"] == "yes" and answer["question"] == "withhold" for answer in answers) == 7
    assert {line["group"] for line in _table(folder / "groups.csv")} == {"women"}
    assert imported(good, *rows).code == 0
    assert len(_table(folder / "answers.csv")) == 35


def test_import_without_files_takes_the_projects_own_sheets(typed: Typed, folder: Path) -> None:
    """Also of later parts of the plan, whose sheets have the same names; without any sheet it says so."""
    some = [*EXPORT[:6], "5", *EXPORT[7:]]
    more = [*EXPORT[:6], "8", *EXPORT[7:]]
    none = typed("annotate", "export", "tiny@1.0.0", "--project", "Second check", "--n", "5")
    assert none.code == 0
    assert str(folder.with_name("second-check") / "sheets") in typed("annotate", "import", "Second check").message
    typed(*some)
    for name in PEOPLE:
        fill(folder, name, lambda who, item: {})
    assert typed("annotate", "import", "First check").out.startswith(
        "15 annotations by 3 annotators, 0 skipped: 15 new"
    )
    typed(*more)
    for name in PEOPLE:
        fill(folder, f"6-8/{name}", lambda who, item: {})
    told = typed("annotate", "import", "First check")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("24 annotations by 3 annotators, 0 skipped: 9 new, 0 edited, 0 deleted")
    shutil.copy(folder / "sheets" / f"{PEOPLE[0]}.csv", folder / "sheets" / "6-8" / f"{PEOPLE[0]}.csv")
    twice = typed("annotate", "import", "First check")
    assert (twice.code, twice.message.count(f"{PEOPLE[0]}.csv")) == (2, 2)
    assert len(_table(folder / "answers.csv")) == 24 * 5


def test_the_command_that_follows_names_the_folder(typed: Typed, tmp_path: Path) -> None:
    """A project elsewhere: what is printed for the sheets can be typed as it stands."""
    place = tmp_path / "some where"
    command = typed(*EXPORT, "--folder", str(place)).out.rpartition("then: ")[2].strip()
    fill(place, PEOPLE[0], lambda who, item: {})
    assert typed(*shlex.split(command)[1:]).out.startswith("8 annotations by 1 annotator")


def test_a_workbook_is_told_from_a_sheet(typed: Typed, tmp_path: Path) -> None:
    """A spreadsheet program's own form is an archive, by its first bytes."""
    typed(*EXPORT)
    (tmp_path / "annotator-1.xlsx").write_bytes(b"PK\x03\x04" + bytes(60))
    assert "CSV UTF-8" in typed("annotate", "import", "First check", str(tmp_path / "annotator-1.xlsx")).message


def test_odd_cells_are_counted_and_named(typed: Typed, folder: Path) -> None:
    """What a sheet has that the interface does not offer: named with line and column, exit code 1; the rest is in."""
    typed(*EXPORT)
    sheet = fill(folder, PEOPLE[0], lambda who, item: {"natural.stereo": "perhaps"} if item.row == RUDE else {})
    told = typed("annotate", "import", "First check", str(sheet))
    assert told.code == 1
    assert told.out.splitlines()[0].startswith("8 annotations by 1 annotator,")
    assert "'perhaps' is not an answer to natural-" in told.out


def test_an_export_of_label_studio_comes_in_too(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """Tasks as they were exported, answered by three users: decisions as by sheets; another export takes its place."""
    typed(*EXPORT)
    tasks = json.loads((folder / "tasks.json").read_text())
    people = {7: _said, 8: _said, 9: _said}
    said = {number: (lambda who, item, n=n: _said(f"annotator-{n}", item)) for n, number in enumerate(people, 1)}
    export = tmp_path / "project-1.json"
    export.write_text(json.dumps(world.label_studio(read_plan(folder), said, tasks)))
    told = typed("annotate", "import", "First check", str(export))
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines()[0].startswith("24 annotations by 3 annotators, 0 skipped: 24 new")
    kept = [path.name for path in (folder / "exports").iterdir()]
    assert len(kept) == 1
    assert kept[0].startswith("0001-")
    applied = typed("annotate", "apply", "First check", "--json").told
    assert applied["facts"]["platform"] == "Label Studio"
    states = {row["row"]: row["state"] for row in applied["rows"]}
    assert (states[RUDE], states[LAZY], states[SEEM]) == ("reject", "keep", "undecided")  # nobody named groups
    fewer = json.loads(export.read_text())
    for task in fewer:
        task["annotations"] = task["annotations"][:2]
    export.write_text(json.dumps(fewer))
    again = typed("annotate", "import", "First check", str(export), "--json").told
    assert (again["submitted"], len(again["changes"]["deleted"])) == (16, 8)


def test_an_export_of_another_project_is_refused(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """Its rows are unknown here: nothing is taken, and nothing that was there is lost."""
    sheets = _answered(typed, folder)
    before = (folder / "answers.csv").read_bytes()
    other = tmp_path / "other.json"
    other.write_text(json.dumps([{"id": 1, "data": {"ext_id": "elsewhere", "content": "0" * 64}, "annotations": []}]))
    told = typed("annotate", "import", "First check", str(other), str(sheets[0]))
    assert (told.code, told.out) == (2, "")
    assert "none of 1 task belongs to this project" in told.err
    assert (folder / "answers.csv").read_bytes() == before


def test_imported_releases_are_not_rebuilt(typed: Typed, tmp_path: Path) -> None:
    """A release without templates in the project: both files lie in the annotation folder, and that is said."""
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(
        ",sent_more,sent_less,stereo_antistereo,bias_type,annotations,anon_writer,anon_annotators\n"
        "0,Women cannot drive.,Men cannot drive.,stereo,gender,"
        "\"[['gender'], ['gender'], ['gender']]\",a0,\"['a1', 'a2', 'a3']\"\n"
    )
    assert typed("import", "crows-pairs", str(pairs), "--name", "mine", "--version", "1.0.0").code == 0
    made = typed("annotate", "export", "mine@1.0.0", "--project", "theirs", "--n", "1", "--annotators", "3")
    assert (made.code, made.err) == (0, "")
    place = tmp_path / "annotations" / "theirs"
    sheets = [str(fill(place, name, lambda who, item: {"natural.stereo": "no"})) for name in PEOPLE]
    assert typed("annotate", "import", "theirs", *sheets).code == 0
    told = typed("annotate", "apply", "theirs")
    assert told.code == 0
    assert "mine was imported and cannot be rebuilt, so both files are in the annotation folder" in told.out
    assert {"verdicts.csv", "annotation.json", "decisions.csv"} <= {path.name for path in place.iterdir()}


def test_rows_of_another_build_are_not_decided(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """The release has been made anew with another word: its rows are named and not decided, exit code 1."""
    _answered(typed, folder)
    list_ = tmp_path / "wordlists" / "praise.csv"
    list_.write_text(list_.read_text().replace("nice,nice", "kind,nice"))
    other = api.build("tiny", "1.0.0", tmp_path / "elsewhere").folder
    told = typed("annotate", "apply", "First check", "--release", str(other))
    assert told.code == 1
    assert "differs in the release from the row that people saw" in told.out
    assert "changed 8, keep 0, reject 0" in told.out


def test_a_missing_project_is_one_message(typed: Typed) -> None:
    """Nothing was pushed or exported under that name."""
    for command in ("agree", "apply", "pull", "status"):
        told = typed("annotate", command, "nothing here")
        assert (told.code, told.out) == (2, ""), command
        assert len(told.err.strip().splitlines()) == 1
        assert "Traceback" not in told.err


def test_nobody_answered_yet(typed: Typed) -> None:
    """There is a plan, and no answers."""
    typed(*EXPORT)
    told = typed("annotate", "agree", "First check")
    assert told.code == 2
    assert "nobody has answered First check yet" in told.err


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ("0.3", "0.3 is not a threshold: expected 0.5 to 1"),
        ("natural=x", "'natural=x' is not a threshold: expected SHARE or QUESTION=SHARE"),
        ("comment=0.7", "do not decide on 'comment'"),
        ("nan", "nan is not a threshold"),
    ],
)
def test_thresholds_that_cannot_be_are_refused(typed: Typed, threshold: str, message: str) -> None:
    """One line, exit code 2."""
    typed(*EXPORT)
    told = typed("annotate", "apply", "First check", "--threshold", threshold)
    assert told.code == 2
    assert message in told.err


def test_pushing_needs_a_server_or_says_so(typed: Typed) -> None:
    """Without an address there is one message, before any row is drawn."""
    told = typed("annotate", "push", "tiny@1.0.0", "--project", "First check")
    assert (told.code, told.out) == (2, "")
    assert "set LABEL_STUDIO_URL" in told.err


def test_pushing_without_the_client_says_how_to_install_it(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK is an extra."""
    monkeypatch.setenv("LABEL_STUDIO_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "0" * 40)
    monkeypatch.setitem(sys.modules, "label_studio_sdk.client", None)
    told = typed("annotate", "push", "tiny@1.0.0", "--project", "First check")
    assert told.code == 2
    assert "pip install 'senseprobe[annotation]'" in told.err


PUSH = ("annotate", "push", "tiny@1.0.0", "--project", "First check", "--n", "8", "--groups")


def test_a_refused_push_leaves_no_plan_behind(typed: Typed, studio: world.Studio, folder: Path) -> None:
    """Somebody has a project of that name with an interface of their own: the next name must not meet this plan."""
    studio.create("First check", "<View/>", maximum_annotations=1)
    told = typed(*PUSH)
    assert (told.code, told.out) == (2, "")
    assert "has another interface on the server" in told.err
    assert not folder.exists()


def test_a_push_beside_other_tasks_leaves_no_plan_behind(typed: Typed, studio: world.Studio, folder: Path) -> None:
    """The same questions, but other rows are there already: nothing is added, here or there."""
    assert typed(*PUSH).code == 0
    studio.held[1][0]["data"]["ext_id"] = "elsewhere"
    other = folder.with_name("other")
    told = typed(*PUSH, "--folder", str(other))
    assert (told.code, told.out) == (2, "")
    assert "the project on the server has tasks that are not in this plan (elsewhere)" in told.err
    assert not other.exists()


def test_pushed_twice_adds_nothing(typed: Typed, studio: world.Studio) -> None:
    """The second time says that all was there; another plan under the name is refused before the server is asked."""
    first, second = typed(*PUSH), typed(*PUSH)
    assert (first.code, first.err, second.code) == (0, "", 0)
    assert first.out.splitlines()[-1] == "8 tasks sent, 0 already there: http://127.0.0.1:1/projects/1/"
    assert second.out.splitlines()[-1] == "0 tasks sent, 8 already there: http://127.0.0.1:1/projects/1/"
    assert typed(*PUSH, "--overlap", "2").code == 2
    assert len(studio.held[1]) == 8


def test_answers_are_pulled_under_pseudonyms(typed: Typed, studio: world.Studio, folder: Path) -> None:
    """Status names who works, for whoever has the token; tables do not, unless --names asks for it."""
    typed(*PUSH)
    said = {number: (lambda who, item, n=n: _said(f"annotator-{n}", item)) for n, number in enumerate((7, 8, 9), 1)}
    studio.held[1] = world.label_studio(read_plan(folder), said, studio.held[1])
    status = typed("annotate", "status", "First check")
    assert (status.code, status.err) == (0, "")
    assert status.out.startswith("First check: 8 of 8 rows are on the server, 8 have all 3 answers\n")
    assert "maria@example.com" in status.out
    pulled = typed("annotate", "pull", "First check")
    assert (pulled.code, pulled.err) == (0, "")
    assert pulled.out.splitlines()[-1] == "24 annotations by 3 annotators, 0 skipped: 24 new, 0 edited, 0 deleted"
    assert "maria" not in (folder / "answers.csv").read_text()
    assert "maria" not in pulled.out
    again = typed("annotate", "pull", "First check", "--json").told
    assert (again["new"], again["changes"]) == (False, {"new": [], "edited": [], "deleted": [], "regrouped": []})
    named = typed("annotate", "pull", "First check", "--names")
    assert named.code == 0
    assert "maria@example.com" in (folder / "answers.csv").read_text()
    assert typed("annotate", "apply", "First check").code == 0
    typed("annotate", "release", "First check", "out")
    assert "maria" not in (folder.parents[1] / "out" / "answers.csv").read_text()


def test_an_edit_after_a_pull_is_told(typed: Typed, studio: world.Studio, folder: Path) -> None:
    """One annotation changed, one deleted: both are named by their ids."""
    typed(*PUSH)
    studio.held[1] = world.label_studio(read_plan(folder), {7: lambda who, item: {}}, studio.held[1])
    typed("annotate", "pull", "First check")
    first, second = studio.held[1][:2]
    first["annotations"][0]["result"][0]["value"]["choices"] = ["unsure"]
    second["annotations"] = []
    told = typed("annotate", "pull", "First check")
    assert told.out.splitlines()[-1] == "7 annotations by 1 annotator, 0 skipped: 0 new, 1 edited (1), 1 deleted (2)"


def test_inference_is_held_against_gold_and_the_marked_word() -> None:
    """Of a row of inference the release says what follows, and the group stands in the hypothesis alone."""
    row = {
        **given.inference(1),
        "hypothesis": "The Italian person ate a pie.",
        "hypothesis_span": {"start": 4, "end": 11},
    }
    release = given.Given({"c": [row]}, "inference")
    plan = given.make_plan(release, n=1, gloss=given.gloss)
    (claim,) = read_claims(release, plan).values()
    assert (claim.kind, claim.gold) == ("inference", "neutral")
    assert claim.targets == ("doctor", "Italian")  # by hand: the words at the spans
    other = given.Given({"c": [{**row, "premise": "The doctor bought a pie."}]}, "inference")
    assert read_claims(other, plan) == {}


def test_a_project_of_an_earlier_version_goes_on(typed: Typed, studio: world.Studio, folder: Path) -> None:
    """It keeps the interface that it was made with, which lies in its folder; another one is still refused."""
    assert typed(*PUSH).code == 0
    old = (Path(__file__).parents[1] / "fixtures" / "interface-0.2.xml").read_text()
    studio.made[1] = replace(studio.made[1], interface=old)
    (folder / "interface.xml").write_text(old)
    plan = {
        name: value for name, value in json.loads((folder / "plan.json").read_bytes()).items() if name != "guidelines"
    }
    (folder / "plan.json").write_text(json.dumps({**plan, "form": 1}))
    del studio.held[1][3:]
    told = typed(*PUSH)
    assert (told.code, len(studio.held[1])) == (0, 8)
    assert (folder / "interface.xml").read_text() == old
    (folder / "interface.xml").unlink()
    told = typed(*PUSH)
    assert told.code == 2
    assert "has another interface on the server" in told.err
