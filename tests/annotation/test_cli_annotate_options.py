"""What is asked for on the command line of `senseprobe annotate` is what is drawn, shown, told and decided."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.annotation import world
from tests.annotation.world import Said, fill
from tests.commands import Typed

from senseprobe.annotation.plan_file import read_plan
from senseprobe.annotation.records import Item
from senseprobe.lexicon.install import prepare

FRAMES = world.FRAMES
EXPORT = ("annotate", "export", "tiny@1.0.0", "--project", "First check")
PUSH = ("annotate", "push", "tiny@1.0.0", "--project", "First check")
NAMES = ("annotator-1", "annotator-2", "annotator-3")
DEBIAN = Path("/usr/share/wordnet")


def _items(folder: Path) -> list[dict[str, Any]]:
    """The rows of `plan.json`, as JSON has them."""
    found: list[dict[str, Any]] = json.loads((folder / "plan.json").read_text())["items"]
    return found


def _lines(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


# ---- Which rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [EXPORT, PUSH], ids=["export", "push"])
def test_each_level_of_the_strata_gets_its_share(
    command: Sequence[str], typed: Typed, studio: world.Studio, folder: Path
) -> None:
    """16 of 48 rows: a third of each of the four. By hand: 18 / 3 people and 6 / 3 tourists of each nation."""
    told = typed(*command, "--n", "16", "--strata", "config,target")
    assert (told.code, told.err) == (0, "")
    drawn = Counter(tuple(item["row"].split(".")[0:3:2]) for item in _items(folder))
    assert drawn == {
        ("people", "japanese"): 6,
        ("people", "french"): 6,
        ("tourists", "japanese"): 2,
        ("tourists", "french"): 2,
    }
    assert len(studio.held.get(1, [])) == (16 if command is PUSH else 0)


@pytest.mark.parametrize("command", [EXPORT, PUSH], ids=["export", "push"])
def test_a_query_says_which_rows_are_asked_about(
    command: Sequence[str], typed: Typed, studio: world.Studio, folder: Path
) -> None:
    """Values of one column are ORed, columns ANDed, all that is found is asked: by hand 3 + 1 frames x 2 words."""
    told = typed(*command, "--where", "target=Japanese", "--where", "bad=rude", "--where", "bad=dull")
    assert (told.code, told.err) == (0, "")
    wanted = {
        f"{config}.{frame}.japanese.nice.{word}"
        for config, frames in (("people", FRAMES), ("tourists", FRAMES[:1]))
        for frame in frames
        for word in ("rude", "dull")
    }
    assert {item["row"] for item in _items(folder)} == wanted
    if command is PUSH:
        assert {task["data"]["ext_id"] for task in studio.held[1]} == wanted


@pytest.mark.parametrize("command", [EXPORT, PUSH], ids=["export", "push"])
def test_a_config_says_of_which_table_rows_are(
    command: Sequence[str], typed: Typed, studio: world.Studio, folder: Path
) -> None:
    """There are twelve rows of tourists, and a note that no more were there to be drawn."""
    told = typed(*command, "--n", "20", "--config", "tourists")
    assert (told.code, told.err) == (0, "")
    assert {item["config"] for item in _items(folder)} == {"tourists"}
    assert len(_items(folder)) == 12
    assert "20 rows were asked for, but only 12 " in told.out
    assert {len(held) for held in studio.held.values()} == ({12} if command is PUSH else set())


@pytest.mark.parametrize("command", [EXPORT, PUSH], ids=["export", "push"])
def test_a_damaged_release_is_refused_before_anything_is_drawn(
    command: Sequence[str], typed: Typed, studio: world.Studio, folder: Path, tmp_path: Path
) -> None:
    """One byte of a table is another one: no plan, no project, and the file is named."""
    (table,) = (tmp_path / "releases" / "tiny" / "1.0.0" / "tourists").glob("*.parquet")
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(bytes(data))
    told = typed(*command, "--n", "4", "--config", "people")  # whose own table is whole
    assert told.code != 0
    assert told.out == ""
    assert table.name in told.err
    assert not folder.exists()
    assert studio.made == {}


# ---- What is asked -----------------------------------------------------------------------------------------------


def test_only_the_named_questions_are_asked(typed: Typed, folder: Path) -> None:
    """Plan, interface and sheets have them and no other."""
    told = typed(*EXPORT, "--n", "4", "--annotators", "3", "--questions", "natural,withhold")
    assert (told.code, told.err) == (0, "")
    assert json.loads((folder / "plan.json").read_text())["questions"] == ["natural", "withhold"]
    view = ElementTree.fromstring((folder / "interface.xml").read_text())  # noqa: S314 - ours
    controls = [each.get("name") for tag in ("Choices", "TextArea") for each in view.iter(tag)]
    assert sorted(map(str, controls)) == ["natural-1", "natural-2", "withhold"]
    heads = next(csv.reader(io.StringIO((folder / "sheets" / "annotator-1.csv").read_text("utf-8-sig"))))
    asked = {head.partition(":")[0].partition(" (")[0] for head in heads}
    assert {"natural-1", "natural-2", "withhold"} <= asked
    assert not {name for name in asked if name.startswith(("stereotype", "whom", "sense", "comment"))}


@pytest.mark.parametrize("prefill", [True, False])
def test_labels_are_shown_as_answers_only_where_that_was_asked_for(
    typed: Typed, studio: world.Studio, folder: Path, *, prefill: bool
) -> None:
    """`--prefill`: the rude sentence is there as the stereotype and the nice one as its opposite; else nothing is."""
    told = typed(*PUSH, "--n", "6", *(["--prefill"] if prefill else []))
    assert (told.code, told.err) == (0, "")
    tasks = json.loads((folder / "tasks.json").read_text())
    assert len(tasks) == len(studio.held[1]) == 6
    for task in [*tasks, *studio.held[1]]:
        if not prefill:
            assert not task.get("predictions")
            continue
        (prediction,) = task["predictions"]
        shown = {each["from_name"]: each["value"]["choices"] for each in prediction["result"]}
        nice = [position for position in (1, 2) if "nice" in task["data"][f"text_{position}"]]
        wanted = {n: ["anti-stereotype"] if [n] == nice else ["stereotype"] for n in (1, 2)}
        assert shown == {f"stereotype-{n}": labels for n, labels in wanted.items()}


GOLD = """id,natural.stereo,withhold
people.are.japanese.nice.rude,yes,no
people.seem.french.nice.loud,no,
"""
KNOWN = ("people.are.japanese.nice.rude", "people.seem.french.nice.loud")


def test_annotators_are_measured_by_known_answers(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """`--gold` adds its rows to the sample; `agree` tells how often each annotator was right on them.

    By hand: FINE has natural yes and withhold no. Of `natural` the second annotator, who says no to all, is right once
    and wrong once, as are the others, who say yes; the third is wrong on `withhold`, which one row has.
    """
    (tmp_path / "known.csv").write_text(GOLD)

    def said(annotator: str, item: Item) -> Mapping[str, str]:
        if annotator == "annotator-2":
            return {"natural.stereo": "no" if item.row == KNOWN[1] else "yes"}  # both right
        return {"withhold": "yes"} if annotator == "annotator-3" else {}

    told = typed(*EXPORT, "--where", "bad=dull", "--gold", "known.csv", "--annotators", "3")
    assert (told.code, told.err) == (0, "")
    # By hand: 8 rows are about dull people, and none of the known ones is.
    assert "10 contrast rows" in told.out
    assert "2 of them with known answers" in told.out
    assert {item["row"] for item in _items(folder)} >= {*KNOWN}
    _import(typed, folder, said, "--names")
    agreed = typed("annotate", "agree", "First check")
    assert (agreed.code, agreed.err) == (0, "")
    after = agreed.out.partition("Known answers")[2]
    table = [" ".join(line.split()) for line in after.splitlines()]
    wanted = {
        ("natural", "annotator-1"): (1, 2),
        ("natural", "annotator-2"): (2, 2),
        ("natural", "annotator-3"): (1, 2),
        ("withhold", "annotator-1"): (1, 1),
        ("withhold", "annotator-2"): (1, 1),
        ("withhold", "annotator-3"): (0, 1),
    }
    for (question, annotator), (right, answered) in wanted.items():
        assert any(line.startswith(f"{annotator} {question} {right} of {answered}") for line in table), agreed.out
    found = typed("annotate", "agree", "First check", "--json").told["gold"]
    assert {(g["question"], g["annotator"]): (g["right"], g["answered"]) for g in found} == wanted
    assert {g["share"] for g in found if g["annotator"] == "annotator-1" and g["question"] == "natural"} == {0.5}


def _definition(key: str) -> str:
    """What Debian's data files say that a sense is, without any program: all up to its first example."""
    (line,) = [line for line in (DEBIAN / "index.sense").read_text().splitlines() if line.startswith(f"{key} ")]
    offset = int(line.split()[1])
    with (DEBIAN / "data.noun").open("rb") as file:
        file.seek(offset)
        return file.readline().decode().partition(" | ")[2].partition('; "')[0].strip()


@pytest.mark.system
def test_a_plan_has_the_gloss_that_wordnet_has(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the Japanese, and of their language: what the data files of Debian's wordnet-base say of the row's key."""
    with monkeypatch.context() as patch:
        patch.setattr("nltk.data.path", [])
        prepare(tmp_path / "wordnet", debian=DEBIAN)
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path / "wordnet"))
    for config, key in (("nationality", "japanese%1:18:00::"), ("language", "japanese%1:10:00::")):
        made = typed(
            *("annotate", "export", "sssb@1.0.1", "--project", config, "--n", "3", "--config", config),
            *("--where", "target=Japanese"),
        )
        assert (made.code, made.err) == (0, "")
        items = _items(tmp_path / "annotations" / config)
        assert {(item["sense_key"], item["gloss"]) for item in items} == {(key, _definition(key))}
        shown = json.loads((tmp_path / "annotations" / config / "tasks.json").read_text())
        assert all(_definition(key) in task["data"]["meaning"] for task in shown)


# ---- What is told of agreement -----------------------------------------------------------------------------------


def _import(typed: Typed, folder: Path, said: Said, *options: str, names: Sequence[str] = NAMES) -> None:
    """Have annotators fill in their sheets, and take them."""
    sheets = [str(fill(folder, name, said)) for name in names]
    taken = typed("annotate", "import", "First check", *sheets, *options)
    assert (taken.code, taken.err) == (0, ""), taken.out


def test_figures_of_many_rows_have_an_interval(typed: Typed, folder: Path) -> None:
    """Twenty rows and more: printed as `value [low, high]`; of fewer there is the value alone. Who differs is told.

    By hand: the third annotator alone would not have the 24 rows of the French used, so that they differ from each of
    the others on 24 of 48.
    """
    assert typed(*EXPORT, "--n", "48", "--annotators", "3").code == 0

    def said(annotator: str, item: Item) -> Mapping[str, str]:
        return {"withhold": "yes"} if annotator == "annotator-3" and ".french." in item.row else {}

    _import(typed, folder, said, "--names")
    told = typed("annotate", "agree", "First check")
    assert (told.code, told.err) == (0, "")
    figure = re.compile(r"withhold +alpha +(-?\d\.\d\d) \[(-?\d\.\d\d), (-?\d\.\d\d)\]")
    (line,) = [found for found in map(figure.search, told.out.partition("One annotator")[0].splitlines()) if found]
    value, low, high = map(float, line.groups())
    # By hand: of 144 answers 24 are yes and 120 no; each of 24 rows has one pair of three alike, the others all.
    # Observed disagreement: 24 x 2/3 / 48 = 1/3. Expected: 2 x 24 x 120 / (144 x 143) = 0.27972. 1 - 1/3 / 0.27972.
    assert value == pytest.approx(1 - (1 / 3) / (2 * 24 * 120 / (144 * 143)), abs=0.005)
    assert low < value < high
    differing = told.out.partition("Disagreement between annotators")[2].splitlines()
    table = {" ".join(line.split()) for line in differing if "withhold" in line}
    assert {line.partition(" of ")[0] for line in table} == {
        "withhold annotator-1 annotator-3 24",
        "withhold annotator-2 annotator-3 24",
    }
    assert all(line.endswith("24 of 48 no / yes") for line in table)


def test_figures_of_few_rows_have_no_interval(typed: Typed, folder: Path) -> None:
    """Nineteen rows: a value, and nothing in brackets."""
    assert typed(*EXPORT, "--n", "19", "--annotators", "3").code == 0
    _import(typed, folder, lambda who, item: {"withhold": "yes"} if ".french." in item.row else {})
    told = typed("annotate", "agree", "First check")
    assert told.code == 0
    assert re.search(r"withhold +alpha +1\.00", told.out)
    assert not re.search(r"\d\.\d\d \[", told.out)


def test_fleiss_kappa_is_among_the_figures(typed: Typed, folder: Path) -> None:
    """Of four rows by three people. By hand, after Fleiss (1971): `withhold` is yyy, nnn, ynn, nnn.

    P = (1 + 1 + 1/3 + 1) / 4 = 5/6; 4 of 12 answers are yes, so P_e = 1/9 + 4/9 = 5/9, and kappa is
    (5/6 - 5/9) / (4/9) = 5/8.
    """
    assert typed(*EXPORT, "--n", "4", "--annotators", "3").code == 0
    first, _, third, _ = sorted(item["row"] for item in _items(folder))

    def said(annotator: str, item: Item) -> Mapping[str, str]:
        yes = item.row == first or (item.row == third and annotator == "annotator-2")
        return {"withhold": "yes" if yes else "no"}

    _import(typed, folder, said)
    assert typed("annotate", "agree", "First check").code == 0
    figures = json.loads((folder / "agreement.json").read_text())["fleiss"]
    (withhold,) = [each for each in figures if each["question"] == "withhold"]
    assert withhold["value"] == pytest.approx(5 / 8)
    assert (withhold["units"], withhold["answers"]) == (4, 3)


# ---- What does not fit -------------------------------------------------------------------------------------------


def _odd(fault: str, tasks: list[dict[str, Any]]) -> tuple[int, tuple[str, ...]]:
    """Put something odd into an export of two people's answers to six rows: how often, and what must be named of it."""
    if fault == "label":
        for task in tasks[:3]:
            chosen = next(each for each in task["annotations"][0]["result"] if each["from_name"] == "withhold")
            chosen["value"]["choices"] = ["certainly"]
        return 3, ("certainly",)
    if fault == "row":
        for number, task in enumerate(tasks[:2]):
            data = {**task["data"], "ext_id": f"people.elsewhere.{number}"}
            tasks.append({**task, "id": 900 + number, "data": data, "annotations": []})
        return 2, ("people.elsewhere.0", "people.elsewhere.1")
    again = {**tasks[0]["annotations"][0], "id": 5001, "updated_at": "2026-11-02T10:00:12.500000Z"}
    tasks[0]["annotations"].append(again)
    return 1, (tasks[0]["data"]["ext_id"],)


ODD = pytest.mark.parametrize(("fault", "code"), [("label", 1), ("row", 1), ("duplicate", 0)])
"""What the interface does not offer and rows that nobody asked about need a look; second thoughts do not."""


def _named(out: str, count: int, names: Sequence[str]) -> bool:
    """Whether a line of the output counts something, and names it."""
    lines = [line for line in out.splitlines() if all(name in line for name in names)]
    return any(re.search(rf"(?<![\w.:-]){count}(?![\w.:-])", line) for line in lines)


@ODD
def test_what_does_not_fit_in_an_export_is_counted_and_named(
    fault: str, code: int, typed: Typed, folder: Path, tmp_path: Path
) -> None:
    """An unknown label, rows of elsewhere, a second answer by one person: told in a line, and the rest is taken."""
    assert typed(*EXPORT, "--n", "6").code == 0
    people: dict[int, Said] = {7: lambda who, item: {}, 8: lambda who, item: {}}
    tasks = world.label_studio(read_plan(folder), people, json.loads((folder / "tasks.json").read_text()))
    count, names = _odd(fault, tasks)
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    told = typed("annotate", "import", "First check", "export.json")
    assert (told.code, told.err) == (code, ""), told.out
    assert told.out.startswith("12 annotations by 2 annotators, 0 skipped: 12 new")
    assert _named(told.out, count, names), told.out
    answers = _lines(folder / "answers.csv")
    # By hand: five answers of each of twelve annotations, less the labels that do not exist.
    assert len(answers) == 60 - (3 if fault == "label" else 0)
    assert "certainly" not in {line["value"] for line in answers}
    assert not any("elsewhere" in line["row"] for line in answers)
    if fault == "duplicate":
        kept = [line["annotation"] for line in answers if line["row"] == names[0]]
        assert Counter(kept)["5001"] == 5  # the later one


@ODD
def test_what_does_not_fit_in_a_pull_is_counted_and_named(
    fault: str, code: int, typed: Typed, studio: world.Studio, folder: Path
) -> None:
    """The same on a server: it is told, and the exit code says whether it needs a look."""
    assert typed(*PUSH, "--n", "6").code == 0
    people: dict[int, Said] = {7: lambda who, item: {}, 8: lambda who, item: {}}
    studio.held[1] = world.label_studio(read_plan(folder), people, studio.held[1])
    count, names = _odd(fault, studio.held[1])
    told = typed("annotate", "pull", "First check")
    assert (told.code, told.err) == (code, ""), told.out
    assert _named(told.out, count, names), told.out
    assert len(_lines(folder / "answers.csv")) == 60 - (3 if fault == "label" else 0)


# ---- What follows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("how", ["import", "pull"])
def test_names_that_were_kept_are_told_on_the_card(
    how: str, typed: Typed, studio: world.Studio, folder: Path, tmp_path: Path, *, named: bool
) -> None:
    """`--names`: annotation.json and the card of the next release say that answers are kept under names; else not."""
    options = ["--names"] if named else []
    if how == "import":
        assert typed(*EXPORT, "--n", "6", "--annotators", "3").code == 0
        _import(typed, folder, lambda who, item: {}, *options)
    else:
        assert typed(*PUSH, "--n", "6").code == 0
        people: dict[int, Said] = dict.fromkeys((7, 8, 9), lambda who, item: {})
        studio.held[1] = world.label_studio(read_plan(folder), people, studio.held[1])
        assert typed("annotate", "pull", "First check", *options).code == 0
    name = "annotator-1" if how == "import" else "maria@example.com"
    assert (name in (folder / "answers.csv").read_text()) is named
    applied = typed("annotate", "apply", "First check", "--json")
    assert applied.code == 0
    assert applied.told["facts"]["annotators"]["pseudonyms"] is not named
    (facts,) = json.loads((tmp_path / "templates" / "tiny" / "annotation.json").read_text())["rounds"]
    assert facts["annotators"] == {"count": 3, "groups": {}, "pseudonyms": not named}
    assert typed("build", "tiny", "2.0.0").code == 0
    card = (tmp_path / "releases" / "tiny" / "2.0.0" / "README.md").read_text()
    assert ("under their names" in card, "under pseudonyms" in card) == (named, not named)
    assert name not in card


LIARS = ("annotator-4", "annotator-5")
NOT_ENGLISH = "loud"


def _posterior(answers: Sequence[tuple[int, int, int]], smoothing: float) -> list[float]:
    """How likely label 1 is the truth of each unit, by the EM of Dawid and Skene (1979, section 3) for two labels.

    `answers`: unit, person, label. `smoothing`: answers that each person is taken to have given where each label is
    true, half of them right and the others at random, as `annotation/rules.py` states; 1 by default.
    """
    units, people = (max(each[at] for each in answers) + 1 for at in (0, 1))
    told = [[(person, label) for unit, person, label in answers if unit == number] for number in range(units)]
    truth = [sum(label for _, label in each) / len(each) for each in told]
    for _ in range(300):
        common = (sum(truth) + smoothing / 2) / (units + smoothing)
        right = [[0.75 * smoothing, 0.75 * smoothing] for _ in range(people)]
        given = [[smoothing, smoothing] for _ in range(people)]
        for unit, person, label in answers:
            for true, share in enumerate((1 - truth[unit], truth[unit])):
                given[person][true] += share
                right[person][true] += share * (label == true)
        for unit, each in enumerate(told):
            likely = [1 - common, common]
            for person, label in each:
                for true in (0, 1):
                    rate = right[person][true] / given[person][true]
                    likely[true] *= rate if label == true else 1 - rate
            truth[unit] = likely[1] / sum(likely)
    return truth


def test_dawid_skene_does_not_follow_two_who_are_always_wrong(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """Two annotators say the opposite of what is so, three are right; on two rows only one of these three answers.

    Majority goes with the two: it rejects the fine row and keeps the wrong one. The model, computed here once more by a
    plain EM, knows the two from the other rows, and decides the other way round.
    """
    people = (*NAMES, *LIARS)
    where = [f"--where={query}" for query in ("target=Japanese", "bad=rude", "bad=loud", "bad=dull")]
    made = typed(*EXPORT, "--config", "tourists", *where, "--overlap", "5", "--annotators", "5")
    assert (made.code, made.err) == (0, "")
    fine, wrong = "tourists.are.japanese.nice.rude", "tourists.are.japanese.nice.loud"
    answers: list[tuple[int, int, int]] = []
    units = [(item.row, role) for item in read_plan(folder).items for role in ("anti", "stereo")]

    def said(annotator: str, item: Item) -> Mapping[str, str]:
        found = {}
        for role in ("anti", "stereo"):
            english = role == "anti" or item.row.rpartition(".")[2] != NOT_ENGLISH
            yes = english is not (annotator in LIARS)
            silent = item.row in (fine, wrong) and role == "stereo" and annotator in NAMES[1:]
            found[f"natural.{role}"] = "" if silent else "yes" if yes else "no"
        return found

    for item in read_plan(folder).items:
        for number, annotator in enumerate(people):
            for key, told in said(annotator, item).items():
                if told:
                    answers.append((units.index((item.row, key.partition(".")[2])), number, int(told == "yes")))
    _import(typed, folder, said, names=people)
    states = {}
    for rule in ("majority", "dawid-skene"):
        done = typed("annotate", "apply", "First check", "--rule", rule, "--json")
        assert (done.code, done.err) == (0, "")
        states[rule] = {row["row"]: (row["state"], row["reason"]) for row in done.told["rows"]}
    by_hand = _posterior(answers, smoothing=1.0)
    likely = {row: by_hand[units.index((row, "stereo"))] for row in (fine, wrong)}
    assert likely[fine] > 0.8  # that it is natural
    assert likely[wrong] < 0.2
    assert (states["majority"][fine][0], states["majority"][wrong][0]) == ("reject", "keep")
    assert "2 of 3" in states["majority"][fine][1]
    assert (states["dawid-skene"][fine][0], states["dawid-skene"][wrong][0]) == ("keep", "reject")
    assert f"p = {1 - likely[wrong]:.2f}" in states["dawid-skene"][wrong][1]
    verdicts = {each["id"]: each["verdict"] for each in _lines(tmp_path / "templates" / "tiny" / "verdicts.csv")}
    assert (verdicts[fine], verdicts[wrong]) == ("keep", "reject")
