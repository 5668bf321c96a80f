"""What is asked of which rows, and by which names answers are known."""

import pytest
from tests.annotation.given import Given, contrast, make_plan, plan

from senseprobe.annotation.questions import (
    QUESTIONS,
    controls,
    keys,
    plan_keys,
    question_of,
    questions_for,
    questions_of,
)
from senseprobe.errors import AnnotationError


def test_the_questions_are_those_of_the_issue() -> None:
    """Ids and choices, in order, as issue 6 and the contract of its helpers have them."""
    told = {id_: tuple(question.choices) for id_, question in QUESTIONS.items()}
    assert told == {
        "sense": ("yes", "no", "unsure"),
        "inference": ("entailment", "neutral", "contradiction", "unsure"),
        "stereotype": ("stereotype", "anti-stereotype", "neither", "unsure"),
        "whom": (),
        "natural": ("yes", "no"),
        "withhold": ("yes", "no"),
        "comment": (),
    }


def test_each_sentence_of_a_pair_is_asked_about() -> None:
    """The keys of a contrast name roles, whatever the order in which sentences are shown."""
    made = plan(8)
    wanted = ("sense", "stereotype.stereo", "stereotype.anti", "whom.stereo", "whom.anti", "natural.stereo")
    assert {keys(made, item) for item in made.items} == {(*wanted, "natural.anti", "withhold", "comment")}
    assert {question_of(key).id for key in plan_keys(made)} == {*QUESTIONS} - {"inference"}


def test_an_inference_is_asked_of_the_row() -> None:
    """A stereotype is what the two sentences say together; English is each one's own."""
    made = plan(2, "inference")
    wanted = ("inference", "stereotype", "whom", "natural.premise", "natural.hypothesis", "withhold", "comment")
    assert {keys(made, item) for item in made.items} == {wanted}
    assert [question.id for question in questions_for("association")] == ["natural", "withhold", "comment"]


def test_controls_tell_no_role() -> None:
    """The same names for every item; what they stand for depends on the order of its sentences."""
    made = plan(30)
    named = [controls(made, item) for item in made.items]
    assert len({tuple(each) for each in named}) == 1
    assert not any(role in name for name in named[0] for role in ("stereo.", "anti.", "premise", "hypothesis"))
    assert {each["natural-1"] for each in named} == {"natural.stereo", "natural.anti"}
    for item, each in zip(made.items, named, strict=True):
        assert each["natural-2"] == f"natural.{item.sentences[1].role}"


def test_a_row_without_a_sense_is_not_asked_for_it() -> None:
    """No key of the lexicon, no question; where no row has one, the question is not in the plan."""
    mixed = Given({"c": [contrast(1), contrast(2, sense_key=None)]})
    made = make_plan(mixed, project="a test", n=2, gloss=lambda _, key: key)
    assert {item.row: "sense" in keys(made, item) for item in made.items} == {"c.1": True, "c.2": False}
    none = make_plan(Given({"c": [contrast(2, sense_key=None)]}), project="a test", n=1, gloss=lambda _, key: key)
    assert "sense" not in none.questions


def test_unknown_questions_are_named() -> None:
    with pytest.raises(AnnotationError, match="unknown question inference for contrast rows: sense, stereotype"):
        plan(questions=["natural", "inference"])


def test_questions_are_asked_in_one_order() -> None:
    made = plan(questions=["comment", "natural", "comment"])
    assert made.questions == ("natural", "comment")
    assert [question.id for question in questions_of(made)] == ["natural", "comment"]
