"""The labelling interface of a plan: Label Studio's XML, in which no control tells the role of a sentence.

Every item of a project has the same interface. What differs from item to item comes from its data: the sentences, as
escaped HTML with a mark around the target; and the meaning to check. The tasks hold what is shown, its hash, and the
row's id.
"""

from collections.abc import Collection, Iterator
from html import escape
from importlib.resources import files
from itertools import groupby, zip_longest
from typing import Any
from xml.etree import ElementTree

from senseprobe.annotation.questions import (
    ABOUT_YOU,
    CONSENT,
    GROUPS,
    ROLES,
    Question,
    controls,
    questions_of,
    questions_of_config,
    questions_of_some,
)
from senseprobe.annotation.records import Item, Plan, Sentence
from senseprobe.messages import printable, shortened

SENSE = "meaning"  # the key of a task's data that holds the meaning to check

MAX_XML = 2**20

# No regions are drawn, so the side panel is empty; and Label Studio's bars have more than a narrow screen takes.
_STYLE = "\n" + files(__package__).joinpath("interface.css").read_text("utf-8")

_NO_MEANING = "Meaning: not asked here, leave this question empty."
_NO_QUESTION = "Not asked here: leave this question empty."
_AGREE = "I agree that you store the groups that I name here"
_MOST_INLINE = 60  # characters of the choices of a question that stand in one line


def interface(plan: Plan) -> str:
    """Return the XML of a plan's interface, the same bytes for the same questions, kind of rows and wish for groups."""
    view = _view(None, className="task")
    ElementTree.SubElement(view, "Style").text = _STYLE
    sentences = _view(view, className="sentences columns")
    positions = range(1, len(ROLES[plan.kind]) + 1)
    for position in positions:
        box = _view(sentences, className="sentence")
        if len(positions) > 1:
            _header(box, f"Sentence {position}")
        ElementTree.SubElement(box, "HyperText", name=f"sentence-{position}", value=f"$html_{position}", inline="true")
    sometimes = {*questions_of_some(plan), *(() if all(item.gloss for item in plan.items) else ("sense",))}
    for per_sentence, questions in groupby(questions_of(plan), key=lambda question: question.per_sentence):
        same = [*questions]
        columns = _view(view, className="columns") if per_sentence else view
        for position in positions if per_sentence else [0]:
            column = _view(columns) if per_sentence else view
            for question in same:
                _ask(column, question, position, sometimes)
    if plan.groups:
        _ask_groups(view)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def _ask(view: ElementTree.Element, question: Question, position: int, sometimes: Collection[str]) -> None:
    """Add a question; none of `sometimes` must be answered, and but for the meaning the task says if it is asked."""
    required = (question.required or question.id == "sense") and question.id not in sometimes
    suffix, text = f"-{position}" if position else "", _of_sentence(question, position)
    other, answers = question.when or ("", ())
    box = _view(view, className="question", **(_when(f"{other}{suffix}", *sorted(answers)) if other else {}))
    if question.id == "sense":
        _header(box, f"${SENSE}", size="5")
    _header(box, f"${_text_key(question, position)}" if question.id in {*sometimes} - {"sense"} else text)
    facts = {"name": f"{question.id}{suffix}", "toName": f"sentence-{position or 1}"}
    needed = {"required": "true", "requiredMessage": f"Please answer: {text}"} if required else {}
    if not question.choices:
        ElementTree.SubElement(box, "TextArea", {**facts, "rows": "1", "maxSubmissions": "1", "editable": "true"})
        return
    inline = "true" if sum(map(len, question.choices.values())) <= _MOST_INLINE else "false"
    control = ElementTree.SubElement(box, "Choices", {**facts, "choice": "single", "showInline": inline, **needed})
    keys = question.hotkeys[max(position - 1, 0)]
    for (value, label), key in zip(question.choices.items(), keys, strict=True):
        ElementTree.SubElement(control, "Choice", value=value, html=label, hotkey=key)


def _of_sentence(question: Question, position: int) -> str:
    """Return the text of a question, of the sentence at a position, from 1; 0: of the row."""
    return f"Sentence {position}: {question.text[0].lower()}{question.text[1:]}" if position else question.text


def _text_key(question: Question, position: int) -> str:
    """Return the key of a task's data that holds a question that is asked of some tasks only, or that it is not."""
    return f"asks_{question.id}_{position}" if position else f"asks_{question.id}"


def _ask_groups(view: ElementTree.Element) -> None:
    """Add what is asked once, folded: the instruction asks, and here is where one answer goes, in whichever task."""
    fold = ElementTree.SubElement(view, "Collapse", bordered="false", open="false")
    box = ElementTree.SubElement(fold, "Panel", value=ABOUT_YOU)
    consent = ElementTree.SubElement(box, "Choices", name=CONSENT, toName="sentence-1", choice="multiple")
    # Without a key of its own the platform gives it a free digit, and who slips on the keyboard would agree.
    ElementTree.SubElement(consent, "Choice", value="yes", html=_AGREE, hotkey="alt+shift+y")
    inner = _view(box, **_when(CONSENT, "yes"))
    _header(inner, "Groups that you belong to, separated by commas")
    ElementTree.SubElement(inner, "TextArea", name=GROUPS, toName="sentence-1", rows="1", maxSubmissions="1")


def _when(name: str, *choices: str) -> dict[str, str]:
    """Return the attributes of what is shown only where a control has one of these choices."""
    return {"visibleWhen": "choice-selected", "whenTagName": name, "whenChoiceValue": ",".join(choices)}


def _view(parent: ElementTree.Element | None, **facts: str) -> ElementTree.Element:
    return ElementTree.Element("View", facts) if parent is None else ElementTree.SubElement(parent, "View", facts)


def _header(box: ElementTree.Element, text: str, size: str = "6") -> None:
    ElementTree.SubElement(box, "Header", value=text, size=size)


def find_difference(xml: str, other: str) -> str:
    """Return the first thing in which another interface, of a server, is not the one of `xml`; empty where nothing is.

    Indents and the order of attributes make no difference. What has entities of its own is not read.
    """
    if len(other) > MAX_XML or "<!" in other:
        return "senseprobe did not make it: it is too long, or has declarations"
    try:
        theirs = ElementTree.fromstring(other)  # noqa: S314 - without declarations there are no entities to expand
    except (ElementTree.ParseError, ValueError) as error:
        return f"it is not XML: {printable(str(error))}"
    return next(_differences(ElementTree.fromstring(xml), theirs, "View"), "")  # noqa: S314 - ours


def _differences(ours: ElementTree.Element, theirs: ElementTree.Element, path: str) -> Iterator[str]:
    """Yield what differs, the outer before the inner; trees that differ in their tags are not compared further."""
    if ours.tag != theirs.tag:
        yield f"{path}: {_short(theirs.tag)} instead of {ours.tag}"
        return
    for name in sorted({*ours.attrib, *theirs.attrib}):
        if ours.get(name) != theirs.get(name):
            yield f"{path}: {_short(name)} is {_short(theirs.get(name))}, not {_short(ours.get(name))}"
    if (ours.text or "").split() != (theirs.text or "").split():
        yield f"{path}: its text differs"
    for number, (expected, other) in enumerate(zip_longest(ours, theirs), 1):
        element = theirs[number - 1] if expected is None else expected
        name = element.get("name") or element.get("value") or str(number)
        inner = f"{path}/{_short(element.tag)}[{_short(name)}]"
        if expected is None or other is None:
            yield f"{inner} is {'superfluous' if expected is None else 'missing'}"
        else:
            yield from _differences(expected, other, inner)


def _short(text: str | None) -> str:
    return "missing" if text is None else printable(shortened(text))


MODEL_VERSION = "the release's own labels"  # what the platform calls answers that are shown before anybody answered


def tasks(plan: Plan) -> list[dict[str, Any]]:
    """Return the tasks of a plan, in its order, as Label Studio imports them.

    `data` has the row's id (`ext_id`), the hash of what is shown (`content`), and of each sentence by position its text
    (`text_1`), its span or null (`span_1`) and its HTML (`html_1`). `predictions` are there only where a plan shows the
    release's own labels.
    """
    return [_task(plan, item) for item in plan.items]


def _task(plan: Plan, item: Item) -> dict[str, Any]:
    data: dict[str, Any] = {"ext_id": item.row, "content": item.content}
    for position, sentence in enumerate(item.sentences, 1):
        data[f"text_{position}"] = sentence.text
        data[f"span_{position}"] = list(sentence.span) if sentence.span else None
        data[f"html_{position}"] = html_of(sentence)
    if "sense" in plan.questions:
        data["gloss"] = item.gloss
        word = f"Meaning of “{item.target}”" if item.target else "The marked word"
        data[SENSE] = f"{word}: {item.gloss}" if item.gloss else _NO_MEANING
    some, questions = questions_of_some(plan), questions_of_config(plan, item.config)
    for question in questions_of(plan):
        if question.id in {*some} - {"sense"}:
            for position in range(1, len(item.sentences) + 1) if question.per_sentence else [0]:
                text = _of_sentence(question, position) if question.id in questions else _NO_QUESTION
                data[_text_key(question, position)] = text
    results = [
        {
            "from_name": name,
            "to_name": f"sentence-{name.partition('-')[2] or 1}",
            "type": "choices",
            "value": {"choices": [item.labels[key]]},
        }
        for name, key in controls(plan, item).items()
        if plan.prefill and key in item.labels
    ]
    predictions = {"predictions": [{"model_version": MODEL_VERSION, "result": results}]} if results else {}
    return {"data": data, **predictions}


def html_of(sentence: Sentence) -> str:
    """Return the sentence as HTML, escaped, with a mark around the target.

    >>> html_of(Sentence(role="stereo", text="A <b> dress.", span=(6, 11)))
    '<p>A &lt;b&gt; <mark>dress</mark>.</p>'
    """
    return f"<p>{sentence.marked('<mark>', '</mark>', escape)}</p>"
