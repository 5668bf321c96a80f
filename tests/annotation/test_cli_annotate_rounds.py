"""`senseprobe annotate` over several rounds: other names, renamed projects, plans that grow, rows that stay open."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.annotation import world
from tests.annotation.world import Said, fill, label_studio
from tests.commands import Outcome, Typed

from senseprobe.annotation.plan_file import read_plan
from senseprobe.annotation.records import Item
from senseprobe.release.annotation_record import AgreementFact, describe_agreement

EXPORT = ("annotate", "export", "tiny@1.0.0", "--project", "First check", "--annotators", "3")
PUSH = ("annotate", "push", "tiny@1.0.0", "--project", "First check")
NAMES = ("annotator-1", "annotator-2", "annotator-3")


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
    assert typed("annotate", "status", "First check").out.startswith(
        "Somebody's new title: 4 of 4 rows are on the server"
    )
    assert typed("annotate", "pull", "First check").code == 0
    assert "0 tasks sent, 4 " in typed(*PUSH, "--n", "4").out
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
        f"40 s per row (median of rows' means); longest: {rows[2]} 90 s"
        in typed("annotate", "status", "First check").out
    )


# ---- Plans that grow -----------------------------------------------------------------------------------------------


def _rows(folder: Path) -> list[str]:
    return [item.row for item in read_plan(folder).items]


@pytest.mark.parametrize("command", [EXPORT, PUSH], ids=["export", "push"])
def test_a_plan_grows(command: Sequence[str], typed: Typed, studio: world.Studio, folder: Path) -> None:
    """The first rows stay, in their places, and new ones come behind; the same command again changes nothing."""
    strata = ("--strata", "config,target", "--seed", "3")
    assert typed(*command, "--n", "9", *strata).code == 0
    first, form = _rows(folder), json.loads((folder / "plan.json").read_text())["form"]
    assert (len(first), form) == (9, 2)  # guidelines are of form 2
    grown = typed(*command, "--n", "21", *strata)
    assert (grown.code, grown.err) == (0, "")
    assert "21 contrast rows of tiny@1.0.0 in 4 strata, drawn as 9 + 12, for 3 people each" in grown.out
    assert _rows(folder)[:9] == first
    assert len({*_rows(folder)}) == 21
    before = (folder / "plan.json").read_bytes()
    assert json.loads(before)["form"] == 2  # which an older senseprobe refuses by a message of its own
    assert typed(*command, "--n", "21", *strata).code == 0
    assert (folder / "plan.json").read_bytes() == before
    if command is PUSH:
        assert sorted(task["data"]["ext_id"] for task in studio.held[1]) == sorted(_rows(folder))


def test_a_plan_with_known_answers_grows_by_as_many(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """Four rows are drawn beside six with known answers, then six: these do not count, as in the first sample."""
    known = [f"tourists.are.{nation}.nice.{bad}" for nation in ("french", "japanese") for bad in world.BAD[:3]]
    (tmp_path / "gold.csv").write_text("id,natural.stereo\n" + "".join(f"{row},yes\n" for row in known))
    command = (*EXPORT, "--where", "config=people", "--gold", "gold.csv")
    for n in (4, 6, 6):
        assert typed(*command, "--n", str(n)).code == 0
        assert len(_rows(folder)) == n + len(known)


def test_a_plan_that_grew_is_that_which_is_drawn_at_once(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """Whatever the steps: without strata, or with shares that only rise, the rows are those of one draw."""
    for n in ("5", "6", "20"):
        typed(*EXPORT, "--n", n)
    typed(*EXPORT, "--n", "20", "--folder", str(tmp_path / "at-once"))
    assert sorted(_rows(folder)) == sorted(_rows(tmp_path / "at-once"))


def test_a_plan_does_not_shrink_nor_grow_by_itself(typed: Typed, folder: Path) -> None:
    """Fewer rows, or a command without `--n` (500), are refused, as are other options; nothing is changed."""
    typed(*EXPORT, "--n", "9")
    before = (folder / "plan.json").read_bytes()
    told = typed(*EXPORT, "--n", "8")
    assert (told.code, told.message) == (
        2,
        "9 rows were drawn before, and a plan can only grow: draw at least as many",
    )
    assert "another plan: its rows differ" in typed(*EXPORT).message
    assert "another plan: it has seed 0" in typed(*EXPORT, "--n", "20", "--seed", "1").message
    assert "it has configs none" in typed(*EXPORT, "--n", "20", "--config", "tourists").message
    assert (folder / "plan.json").read_bytes() == before


def test_an_older_plan_of_a_config_grows(typed: Typed, folder: Path) -> None:
    """Plans of form 1 do not say which configs they are of: the same command goes on as before, and more are added."""
    typed(*EXPORT, "--n", "4", "--config", "people")
    path = folder / "plan.json"
    plan = json.loads(path.read_text())
    added = {"configs", "allocation", "exclude", "excluded", "parts"}
    path.write_text(json.dumps({**{key: plan[key] for key in plan if key not in added}, "form": 1}))
    assert typed(*EXPORT, "--n", "4", "--config", "people").code == 0
    assert typed(*EXPORT, "--n", "7", "--config", "people").code == 0
    assert {item.config for item in read_plan(folder).items} == {"people"}
    assert read_plan(folder).parts == (4,)


def test_sheets_of_a_plan_that_grew_have_the_new_rows(typed: Typed, folder: Path) -> None:
    """Beside the filled ones, under the same names: what a person said of both parts is kept, and can be corrected."""
    typed(*EXPORT, "--n", "5")
    assert _import(typed, folder, _fine).code == 0
    grown = typed(*EXPORT, "--n", "8")
    assert (grown.code, grown.err) == (0, "")
    second = folder / "sheets" / "6-8"
    assert "senseprobe annotate import 'First check'\n" in grown.out
    assert sorted(path.name for path in second.iterdir()) == ["READ-ME-FIRST.txt", *(f"{name}.csv" for name in NAMES)]
    sheets = [fill(folder, f"6-8/{name}", _fine) for name in NAMES]
    told = typed("annotate", "import", "First check", *map(str, sheets))
    assert told.out == "24 annotations by 3 annotators, 0 skipped: 9 new, 0 edited, 0 deleted\n"
    again = _import(typed, folder, lambda who, item: {"withhold": "yes"}).out
    assert again.startswith("24 annotations by 3 annotators, 0 skipped: 0 new, 15 edited")


def test_rows_of_another_project_are_left_out(typed: Typed, folder: Path) -> None:
    """`--exclude`: 48 rows, 30 of them asked before, so 18 are left; the plan names the project and the rows."""
    typed(*EXPORT, "--n", "30")
    other = ("annotate", "export", "tiny@1.0.0", "--project", "Second", "--exclude", "First check")
    told = typed(*other, "--n", "40")
    assert (told.code, told.err) == (0, "")
    assert "40 rows were asked for, but only 18 " in told.out
    second = folder.with_name("second")
    assert not {*_rows(folder)} & {*_rows(second)}
    assert read_plan(second).exclude == ("First check",)
    assert {*read_plan(second).excluded} == {*_rows(folder)}
    typed(*EXPORT, "--n", "35")  # of rows that the second project asks about too
    assert typed(*other, "--n", "40").code == 0
    assert len(_rows(second)) == 18
    third = ("annotate", "export", "tiny@1.0.0", "--project", "Third", "--n", "4", "--exclude")
    assert "no annotation project 'Frist check': there is first-check, second" in typed(*third, "Frist check").message
    assert "apart from rows that were drawn before" in typed(*third, "Second", "--exclude", str(folder)).message
    own = typed(*EXPORT, "--n", "35", "--exclude", "First check").message
    assert own == "First check cannot exclude its own rows: name another project with --exclude"


def test_projects_of_one_name_are_both_left_out(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """Two colleagues called their projects alike: neither one's rows are drawn again."""
    typed(*EXPORT, "--n", "10")
    typed(
        "annotate", "export", "tiny@1.0.0", "--project", "First check", "--n", "10", "--seed", "1", "--folder", "theirs"
    )
    others = {*_rows(folder), *_rows(tmp_path / "theirs")}
    excluded = ("--exclude", "theirs", "--exclude", "First check")
    assert typed("annotate", "export", "tiny@1.0.0", "--project", "Second", "--n", "48", *excluded).code == 0
    assert len(others) > 10
    assert len(_rows(folder.with_name("second"))) == 48 - len(others)


def test_several_configs_can_be_named(typed: Typed, folder: Path) -> None:
    typed(*EXPORT, "--n", "48", "--config", "people", "--config", "tourists")
    assert len(_rows(folder)) == 48
    assert read_plan(folder).configs == ("people", "tourists")
    assert typed(*EXPORT, "--n", "48", "--config", "tourists", "--config", "people").code == 0  # in whichever order
    wrong = ("annotate", "export", "tiny@1.0.0", "--project", "Wrong", "--n", "4", "--config", "people")
    assert "tourist" in typed(*wrong, "--config", "tourist").message
    one = ("annotate", "export", "tiny@1.0.0:people", "--project", "Only people", "--n", "4")
    assert typed(*one, "--config", "people").code == 0
    both = typed(*one, "--config", "people", "--config", "tourists")
    assert both.code == 2
    assert both.message.startswith("tiny@1.0.0:people names config people, but --config names people, tourists: ")


def test_strata_can_have_equal_shares(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """36 rows of people, 12 of tourists. By hand: 10 each of 20; of 30, 12 and 18, since there are no more tourists."""
    equal = (*EXPORT, "--strata", "config", "--allocation", "equal")
    typed(*equal, "--n", "20")
    assert Counter(row.partition(".")[0] for row in _rows(folder)) == {"people": 10, "tourists": 10}
    typed(*equal, "--n", "30")
    assert Counter(row.partition(".")[0] for row in _rows(folder)) == {"people": 18, "tourists": 12}
    assert (
        "allocation 'equal': expected proportional, or equal (with strata)"
        in typed(
            "annotate", "export", "tiny@1.0.0", "--project", "No strata", "--n", "4", "--allocation", "equal"
        ).message
    )


# ---- Rows that stay open, and who is meant by them -----------------------------------------------------------------


def test_undecided_rows_are_put_to_one_more_person(typed: Typed, folder: Path) -> None:
    """Three who all say something else leave two rows open; what the fourth says decides them, by 2 of 4 and more."""
    open_rows = ("people.are.japanese.nice.rude", "people.are.french.nice.rude")
    choices = dict(zip(NAMES, ("stereotype", "neither", "unsure"), strict=True))

    def said(annotator: str, item: Item) -> Mapping[str, str]:
        return {"stereotype.stereo": choices[annotator]} if item.row in open_rows else {}

    typed(*EXPORT, "--n", "48")
    assert "decisions.csv is missing: run `annotate apply`" in typed("annotate", "queue", "First check").message
    _import(typed, folder, said)
    assert "undecided 2" in typed("annotate", "apply", "First check").out
    sheet = folder / "sheets" / "queue-1.csv"
    told = typed("annotate", "queue", "First check")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith(f"2 undecided rows at {sheet}: ")
    assert typed("annotate", "queue", "First check", "--json").told == {"rows": 2, "file": str(sheet), "url": None}
    numbers = {int(line.partition(",")[0]) for line in sheet.read_text("utf-8-sig").splitlines()[1:]}
    assert {read_plan(folder).items[number - 1].row for number in numbers} == {*open_rows}
    fill(folder, "queue-1", lambda who, item: {})  # who calls both a stereotype: 2 of 4, a tie no more, but no majority
    assert typed("annotate", "queue", "First check", "--json").told["file"].endswith("queue-2.csv")
    assert "2 new, 0 edited, 0 deleted" in typed("annotate", "import", "First check", str(sheet)).out
    assert "undecided 2" in typed("annotate", "apply", "First check").out
    second = fill(folder, "queue-2", lambda who, item: {})
    assert "2 new, 0 edited, 0 deleted" in typed("annotate", "import", "First check", str(second)).out
    assert "keep 48, reject 0" in typed("annotate", "apply", "First check").out  # 3 of 5
    assert typed("annotate", "queue", "First check").out == "no undecided rows\n"


def test_undecided_rows_are_put_to_one_more_person_on_the_server(
    typed: Typed, studio: world.Studio, folder: Path
) -> None:
    """In a project of their own, whose answers come with the others; a second queue once the first is answered."""
    typed(*PUSH, "--n", "6")
    plan = read_plan(folder)
    first = plan.items[0].row
    choices = {"7": "stereotype", "8": "neither", "9": "unsure"}

    def said(annotator: str, item: Item) -> Mapping[str, str]:
        return {"stereotype.stereo": choices[annotator]} if item.row == first else {}

    studio.held[1] = label_studio(plan, dict.fromkeys((7, 8, 9), said), studio.held[1])
    typed("annotate", "pull", "First check")
    assert "undecided 1" in typed("annotate", "apply", "First check").out
    for number in (2, 3):  # projects of the server
        told = typed("annotate", "queue", "First check", "--push")
        assert told.out.startswith(f"1 undecided row at http://127.0.0.1:1/projects/{number}/: ")
        assert typed("annotate", "queue", "First check", "--push", "--json").told["url"].endswith(f"/{number}/")
        assert (studio.made[number].title, studio.made[number].overlap) == (f"First check, queue {number - 1}", 1)
        studio.held[number] = label_studio(plan, {number + 20: lambda _, item: {}}, studio.held[number])
        for annotation in studio.held[number][0]["annotations"]:
            annotation["id"] += 1000 * number
        assert typed("annotate", "pull", "First check").out.startswith(f"{5 + number} tasks, kept in")
        typed("annotate", "apply", "First check")
    # 3 of 5 call it a stereotype: both queues' answers count beside those of the three.
    assert "keep 6, reject 0" in typed("annotate", "apply", "First check").out
    assert typed("annotate", "queue", "First check", "--push").out == "no undecided rows\n"


def test_a_column_says_what_people_of_the_target_call_themselves(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """`columns: {target_group: nation.people}`: a report by one who names that group counts as one of the target's."""
    lists = tmp_path / "wordlists"
    (lists / "nations.csv").write_text(
        "word,slug,people\nJapanese,japanese,Nihonjin; people of Japan\nFrench,french,\n"
    )
    package = lists / "datapackage.yaml"
    field = "{name: slug, type: string}"
    package.write_text(package.read_text().replace(field, f"{field}, {{name: people, type: string}}", 1))
    template = tmp_path / "templates" / "tiny" / "people.j2"
    text = template.read_text()
    template.write_text(text.replace("label_basis:", "columns: {target_group: nation.people}\nlabel_basis:"))
    assert typed("build", "tiny", "2.0.0").code == 0

    def said(annotator: str, item: Item) -> Mapping[str, str]:
        return {"withhold": "yes"} if annotator == "annotator-1" and item.row.endswith("nice.rude") else {}

    command = [*EXPORT, "--n", "48", "--groups"]
    command[command.index("tiny@1.0.0")] = "tiny@2.0.0"
    assert typed(*command).code == 0
    sheets = [fill(folder, name, said, "Nihonjin, cyclists" if name == NAMES[0] else "") for name in NAMES]
    assert typed("annotate", "import", "First check", *map(str, sheets)).code == 0
    told = typed("annotate", "apply", "First check", "--json").told
    reported = {row["row"] for row in told["rows"] if row["reported"]}
    # Of both configs rows of that word are objected to; only that of people has the column, and only Japanese a group.
    assert reported == {f"people.{frame}.japanese.nice.rude" for frame in world.FRAMES}
    assert "cyclists" in " ".join(told["notes"])
    assert "ihonjin" not in " ".join(told["notes"])
