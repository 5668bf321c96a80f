"""Configs that are asked some of the questions only: of things that are no group, nobody is asked for a stereotype."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.annotation.given import Given, contrast, gloss, make_plan

from senseprobe.annotation.adjudication import Claim, decide
from senseprobe.annotation.guidelines import for_sheets
from senseprobe.annotation.label_studio.interface import interface, tasks
from senseprobe.annotation.plan_file import read_plan, write_plan
from senseprobe.annotation.questions import keys
from senseprobe.annotation.records import Annotation, Item, Plan
from senseprobe.annotation.rules import Rule
from senseprobe.annotation.sheets import read_sheet, sheets
from senseprobe.errors import AnnotationError

ASKS = ("sense", "natural", "withhold", "comment")
OF_THINGS = {"sense", "natural.stereo", "natural.anti", "withhold", "comment"}
OF_PEOPLE = OF_THINGS | {"stereotype.stereo", "stereotype.anti", "whom.stereo", "whom.anti"}


def _plan(*configs: str, asks: Sequence[str] | None = ASKS, **told: Any) -> Plan:  # noqa: ANN401 - options of a plan
    """A plan for all rows of these configs, of which `things` asks no stereotype."""
    rows = {name: [contrast(f"{name}.{number}") for number in range(3)] for name in configs}
    release = Given(rows, asks={"things": asks} if asks and "things" in configs else {})
    return make_plan(release, **{"project": "a test", "n": 6, "overlap": 1, "gloss": gloss, **told})


def _of(made: Plan, config: str) -> Item:
    return next(item for item in made.items if item.config == config)


def test_each_config_is_asked_what_it_asks() -> None:
    """By hand: two sentences, each of which has an answer on stereotype, whom and what is natural."""
    made = _plan("people", "things")
    assert ({*keys(made, _of(made, "people"))}, {*keys(made, _of(made, "things"))}) == (OF_PEOPLE, OF_THINGS)
    alone = _plan("things")
    assert alone.questions == ASKS  # and so no column of it, and nothing on the screen
    assert "stereotype" not in interface(alone)
    assert not any(name.startswith("asks_") for task in tasks(alone) for name in task["data"])
    as_before = _plan("people", "things", asks=None)
    assert {*keys(as_before, _of(as_before, "things"))} == OF_PEOPLE


def test_a_row_is_not_rejected_for_what_it_was_not_asked() -> None:
    """Two people say that a thing is no stereotype of anybody, as an earlier plan let them: it stays."""
    made = _plan("people", "things")
    said = {"sense": "yes", "stereotype.stereo": "neither", "natural.stereo": "yes", "natural.anti": "yes"}
    answers = [
        Annotation(id=f"{who}/{item.row}", row=item.row, content=item.content, annotator=who, answers=said)
        for item in made.items
        for who in ("a", "b")
    ]
    decisions = decide(made, answers, Rule(), {item.row: Claim() for item in made.items})
    states = {(item.config, decision.state) for item, decision in zip(made.items, decisions, strict=True)}
    assert states == {("people", "reject"), ("things", "keep")}


def test_sheets_say_what_is_not_asked(tmp_path: Path) -> None:
    """In the cell itself, which comes back as it is; an answer there is refused, as one to any unasked question."""
    made = _plan("people", "things")
    head, *rows = csv.reader(io.StringIO(sheets(made, ["ann"])["ann"].decode("utf-8-sig"), newline=""))
    names = [name.partition(":")[0] for name in head]
    thing = next(row for row in rows if made.items[int(row[0]) - 1].config == "things")
    unasked = {name for name, cell in zip(names, thing, strict=True) if cell == "(not asked)"}
    assert unasked == {"stereotype-1", "stereotype-2", "whom-1", "whom-2"}
    person = next(row for row in rows if made.items[int(row[0]) - 1].config == "people")
    assert "(not asked)" not in person
    thing[names.index("withhold")] = "It may be used"
    path = tmp_path / "ann.csv"
    for text, codes in (("(Not asked)", []), ("Neither", ["A103"])):
        thing[names.index("stereotype-1")] = text
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([head, *rows])
        sheet = read_sheet(made, path, "p-1")
        assert [finding.code for finding in sheet.findings] == codes
        assert [dict(annotation.answers) for annotation in sheet.annotations] == [{"withhold": "no"}]
    assert "(not asked)" in for_sheets(made)
    assert "(not asked)" not in for_sheets(_plan("things"))


def test_the_screen_says_what_is_not_asked() -> None:
    """All tasks have one interface: there the question comes from the task, and need not be answered."""
    made = _plan("people", "things")
    xml = interface(made)
    assert xml.count('value="$asks_stereotype_1"') == 1
    assert "Please answer: Sentence 1: where you live" not in xml
    assert "Please answer: Sentence 1: where you live" in interface(_plan("people"))
    told = {item.config: task["data"]["asks_stereotype_2"] for item, task in zip(made.items, tasks(made), strict=True)}
    assert told["people"].startswith("Sentence 2: where you live")
    assert "ot asked here" in told["things"]


def test_examples_of_a_config_answer_what_it_asks() -> None:
    """Of things no example says what is a stereotype; of people it does."""
    made = _plan("people", "things", n=2, strata=("config",))
    shown = made.guidelines.split("# Example ")[1:]
    first = made.items[0].config  # examples take turns with configs, in the order of the items
    assert ["Stereotype: “" in example for example in shown] == [
        name == "people" for name in (first, _other(first), first)
    ]


def _other(config: str) -> str:
    return {"people": "things", "things": "people"}[config]


def test_plans_of_before_stay(tmp_path: Path) -> None:
    """A plan that asks all goes on so; one with configs that are asked less is of a form that older readers refuse."""
    rows = {"people": [contrast(number) for number in range(4)], "things": [contrast(f"t{n}") for n in range(4)]}
    options: dict[str, Any] = {"project": "a test", "n": 6, "overlap": 1, "gloss": gloss}
    old = make_plan(Given(rows), **options)
    new = make_plan(Given(rows, asks={"things": ASKS}), **options)
    for name, made, form in (("old", old, 2), ("new", new, 3)):
        (tmp_path / name).mkdir()
        path = write_plan(tmp_path / name, made)
        assert json.loads(path.read_bytes())["form"] == form
        assert read_plan(tmp_path / name) == made
    assert "asks" not in json.loads((tmp_path / "old" / "plan.json").read_bytes())
    again = make_plan(Given(rows, asks={"things": ASKS}), stored=old, **options)
    assert again == old
    grown = make_plan(Given(rows, asks={"things": ASKS}), stored=new, **{**options, "n": 8})
    assert (grown.asks, len(grown.items)) == ({"things": ASKS}, 8)
    assert replace(grown, items=grown.items[:6], parts=()) == new


def test_a_config_that_would_be_asked_nothing_is_named() -> None:
    with pytest.raises(AnnotationError, match="things has only the questions sense, natural, withhold, comment"):
        _plan("people", "things", questions=["stereotype"])
