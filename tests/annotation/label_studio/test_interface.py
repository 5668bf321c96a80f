"""What the platform is given: an interface that it accepts, and tasks in which every sentence is a text."""

import json
import re
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.annotation import making
from tests.annotation.given import ROOT, Given, contrast, gloss, make_plan, plan
from tests.profiles import examples

from senseprobe.annotation.guidelines import instruction
from senseprobe.annotation.label_studio.interface import find_difference, html_of, interface, tasks
from senseprobe.annotation.questions import controls, question_of
from senseprobe.annotation.records import Plan, Sentence
from senseprobe.release.release import open_release

# What the platform's own client says of an interface and its tasks; the results are answers to take or to refuse.
CHECK = """
import json, sys
from label_studio_sdk.label_interface import LabelInterface
told = json.load(open(sys.argv[1]))
for each in told:
    face = LabelInterface(each["xml"])
    face.validate()
    for task in each["tasks"]:
        assert face.validate_task({"data": task["data"]}), task  # with predictions, 2.1.2 fails by itself
        for prediction in task.get("predictions", []):
            assert not face.validate_prediction(prediction, return_errors=True), prediction
    for right, result in each["results"]:
        assert face.validate_annotation({"result": result}) is right, result
    controls = {name: sorted(control.labels or ()) for name, control in face._controls.items()}
    assert controls == each["controls"], controls
print(len(told))
"""


class _Seen(HTMLParser):
    """The text of HTML, what of it is marked, and its tags."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.marked, self.tags, self._inside = "", "", [], False  # type: ignore[var-annotated]
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        self._inside = self._inside or tag == "mark"

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "mark"

    def handle_data(self, data: str) -> None:
        self.text += data
        self.marked += data if self._inside else ""


@settings(max_examples=examples(100))
@given(st.text(alphabet=st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), min_size=1), st.data())
def test_sentences_are_shown_as_text(text: str, data: st.DataObject) -> None:
    """A browser's reading of the HTML gives the sentence again, its target marked, and no tag but ours."""
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    seen = _Seen(html_of(Sentence(role="stereo", text=text, span=(start, end))))
    assert (seen.text, seen.marked, seen.tags) == (text, text[start:end], ["p", "mark"])
    assert _Seen(html_of(Sentence(role="stereo", text=text))).tags == ["p"]


def test_a_script_is_a_text() -> None:
    row = contrast(1, stereo="The <script>alert(1)</script> & <b>bad</b>.", stereo_span={"start": 4, "end": 12})
    made = make_plan(Given({"c": [row]}), project="a test", n=1, gloss=lambda *_: "<i>a meaning</i>")
    task = tasks(made)[0]["data"]
    shown = {task["html_1"], task["html_2"]}
    # By hand.
    escaped = "<p>The <mark>&lt;script&gt;</mark>alert(1)&lt;/script&gt; &amp; &lt;b&gt;bad&lt;/b&gt;.</p>"
    assert shown == {escaped, "<p>The <mark>black</mark> dress is good 1.</p>"}
    assert task["meaning"] == "Meaning of “black”: <i>a meaning</i>"  # a Header shows text


def test_tasks_tell_no_role() -> None:
    """The same keys for every row: its id, the hash, and what is shown."""
    made = plan(6)
    told = tasks(made)
    assert [task["data"]["ext_id"] for task in told] == [item.row for item in made.items]
    assert [task["data"]["content"] for task in told] == [item.content for item in made.items]
    keys = {
        "ext_id",
        "content",
        "gloss",
        "meaning",
        *(f"{kind}_{n}" for kind in ("text", "span", "html") for n in (1, 2)),
    }
    assert {tuple(sorted(task)) for task in told} == {("data",)}
    assert all(set(task["data"]) == keys for task in told)
    assert all(not {"stereo", "anti"} & set(json.dumps(task).split('"')) for task in told)


def test_labels_are_shown_where_that_is_wished() -> None:
    """As predictions, at the position of their sentence."""
    made = plan(8, prefill=True)
    for task, item in zip(tasks(made), made.items, strict=True):
        (prediction,) = task["predictions"]
        by_position = {each["from_name"]: each["value"]["choices"] for each in prediction["result"]}
        first = "stereotype" if item.sentences[0].role == "stereo" else "anti-stereotype"
        assert by_position["stereotype-1"] == [first]
        assert {each["from_name"][-1] == each["to_name"][-1] for each in prediction["result"]} == {True}


def _tree(xml: str) -> ElementTree.Element:
    return ElementTree.fromstring(xml)  # noqa: S314 - ours


def _controls(xml: str) -> dict[str, list[str]]:
    """The choices of every control of an interface, by its name."""
    tree = _tree(xml)
    return {
        each.attrib["name"]: sorted(choice.attrib["value"] for choice in each)
        for tag in ("Choices", "TextArea")
        for each in tree.iter(tag)
    }


@pytest.mark.parametrize("kind", ["contrast", "inference"])
def test_every_question_has_its_control(kind: str) -> None:
    """One for each key of an item, with the choices of its question."""
    made = plan(3, kind, groups=True)
    xml = interface(made)
    wanted = {name: sorted(question_of(key).choices) for name, key in controls(made, made.items[0]).items()}
    assert _controls(xml) == {**wanted, "consent": ["yes"], "groups": []}


def test_answers_to_an_earlier_interface_are_read() -> None:
    """The interface of senseprobe 0.2.0 has the same controls and choices, so that its projects and exports go on."""
    old = (ROOT / "tests" / "fixtures" / "interface-0.2.xml").read_text()
    assert find_difference(interface(making.plan(groups=True)), old)
    assert _controls(old) == _controls(interface(making.plan(groups=True)))


def test_what_follows_an_answer_comes_behind_it() -> None:
    """Of whom is asked where a stereotype was seen, right behind that question; not where its opposite was (issue 15).

    All questions of a sentence stand together, under the sentence.
    """
    tree = _tree(interface(plan()))
    names = [each.attrib["name"] for each in tree.iter() if each.tag in {"Choices", "TextArea"}]
    assert names[:7] == ["sense", "stereotype-1", "whom-1", "natural-1", "stereotype-2", "whom-2", "natural-2"]
    views = {view.attrib["whenTagName"]: view for view in tree.iter("View") if "whenTagName" in view.attrib}
    assert {name: view.attrib["whenChoiceValue"] for name, view in views.items()} == {
        "stereotype-1": "stereotype",
        "stereotype-2": "stereotype",
    }


def _hotkeys(made: Plan) -> dict[tuple[str, str], str]:
    """The key of each choice, by question with the position of its sentence; the row's is that of sentence 1."""
    return {
        (control.attrib["name"].removesuffix("-1"), choice.attrib["value"]): choice.attrib["hotkey"]
        for control in _tree(interface(made)).iter("Choices")
        for choice in control
        if control.attrib["name"] != "consent"
    }


def test_the_same_keys_for_the_same_answers_in_every_project() -> None:
    """Whatever else is asked, and of whichever kind of rows; no key is there twice in a project (issue 15)."""
    associations = make_plan(open_release(ROOT / "releases" / "association" / "1.0.1"), project="a test", n=3)
    kinds = [plan(3, "contrast", groups=True), plan(3, "inference"), associations]
    single = [replace(made, questions=(question,)) for made in kinds for question in made.questions]
    keys = [_hotkeys(made) for made in [*kinds, *single]]
    assert all(len(set(of_project.values())) == len(of_project) for of_project in keys)
    for answer in {answer for of_project in keys for answer in of_project}:
        assert len({of_project[answer] for of_project in keys if answer in of_project}) == 1, answer
    # By hand, as docs/annotation.md has them.
    assert [keys[0]["stereotype", "stereotype"], keys[1]["stereotype", "stereotype"], keys[1]["natural-2", "no"]] == [
        *"qqv"
    ]


def test_groups_are_asked_for_once() -> None:
    """The instruction asks; on a task the question is folded away (issue 15)."""
    made = plan(groups=True)
    (fold,) = _tree(interface(made)).iter("Collapse")
    assert fold.get("open") == "false"
    assert {each.get("name") for each in fold.iter() if each.tag in {"Choices", "TextArea"}} == {"consent", "groups"}
    assert "which groups you belong to" in instruction(made)
    assert "which groups you belong to" not in instruction(plan())


def test_a_sense_is_required_only_where_all_have_one() -> None:
    mixed = make_plan(
        Given({"c": [contrast(1), contrast(2, sense_key=None)]}), project="a test", n=2, gloss=lambda *_: "it"
    )
    required = [
        _tree(interface(made)).find(".//Choices[@name='sense']").get("required")  # type: ignore[union-attr]
        for made in (plan(), mixed)
    ]
    assert required == ["true", None]
    told = {task["data"]["ext_id"]: task["data"]["meaning"] for task in tasks(mixed)}
    assert told["c.2"] == "Meaning: not asked here, leave this question empty."


def test_another_interface_is_noticed() -> None:
    """Blanks and the order of attributes make no difference; any control, choice or text does."""
    xml = interface(plan())
    assert find_difference(xml, xml) == ""
    assert find_difference(xml, " ".join(line.strip() for line in xml.splitlines())) == ""
    assert find_difference(xml, ElementTree.canonicalize(xml)) == ""
    assert find_difference(xml, interface(plan(groups=True))) == "View/Collapse[7] is superfluous"
    assert "is missing" in find_difference(interface(plan(groups=True)), xml)
    assert find_difference(xml, xml.replace('value="unsure"', 'value="dunno"', 1)) == (
        "View/View[3]/Choices[sense]/Choice[unsure]: value is dunno, not unsure"
    )
    assert "required is false, not true" in find_difference(xml, xml.replace('required="true"', 'required="false"', 1))
    assert "Rectangle instead of Choices" in find_difference(xml, xml.replace("Choices", "Rectangle"))
    assert find_difference(xml, xml.replace("font-size", "font")) == "View/Style[1]: its text differs"


@pytest.mark.parametrize(
    "other",
    [
        "",
        "<View>",
        "x",
        "<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>",
        "<x>&a;</x>",
        "<View/>" * 2,
        "\x00",
        "<a>\ud800</a>",
    ],
)
def test_what_is_no_interface_is_told(other: str) -> None:
    assert re.search("not XML|did not make it", find_difference(interface(plan()), other))


@settings(max_examples=examples(50))
@given(st.text())
def test_any_text_is_compared(other: str) -> None:
    assert find_difference("<View/>", other).isprintable()


def _answered(made: Plan) -> list[tuple[bool, list[dict[str, Any]]]]:
    """An answer to every question that has choices, which the platform takes; and one that it has to refuse."""
    found = []
    for name, key in controls(made, made.items[0]).items():
        for right, choice in [(True, next(iter(question_of(key).choices), "")), (False, "nonsense")]:
            if question_of(key).choices:
                result = {"from_name": name, "to_name": f"sentence-{name.partition('-')[2] or 1}", "type": "choices"}
                found.append((right, [{**result, "id": "a", "value": {"choices": [choice]}}]))
    return found


@pytest.mark.system
def test_the_platform_takes_interfaces_and_tasks(label_studio_sdk: Path, tmp_path: Path) -> None:
    """The client of Label Studio finds interfaces, tasks and predictions valid, and a wrong choice wrong."""
    associations = open_release(ROOT / "releases" / "association" / "1.0.1")
    plans = [
        plan(3, kind, prefill=prefill, groups=prefill)
        for kind in ("contrast", "inference")
        for prefill in (True, False)
    ]
    plans.append(make_plan(associations, project="a test", n=5, gloss=gloss))
    plans.append(plan(2, questions=["natural"]))
    told = [
        {
            "xml": interface(made),
            "tasks": tasks(made),
            "results": _answered(made),
            "controls": _controls(interface(made)),
        }
        for made in plans
    ]
    (tmp_path / "told.json").write_text(json.dumps(told))
    ran = subprocess.run(
        [label_studio_sdk, "-c", CHECK, tmp_path / "told.json"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == str(len(plans))
