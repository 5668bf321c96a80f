"""The labelling interface of a plan: Label Studio's XML, in which no control tells the role of a sentence.

Every item of a project has the same interface. What differs from item to item comes from its data: the sentences, as
escaped HTML with a mark around the target; and the meaning to check. The tasks hold what is shown, its hash, and the
row's id.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any
from xml.etree import ElementTree

from senseprobe.annotation.questions import CONSENT, GROUPS, ROLES, Question, controls, questions_of
from senseprobe.annotation.records import Item, Plan, Sentence
from senseprobe.messages import printable, shortened

SENSE = "meaning"
"""The key of a task's data that holds the meaning to check."""

MAX_XML = 2**20

_HOTKEYS = "1234567890qwertasdfgzxcvb"
_STYLE = """
.sentence { padding: 0.25rem 0.75rem; border-left: 4px solid #8a8a8a; margin-bottom: 0.75rem }
.sentence p { font-size: 1.375rem; line-height: 1.4 }
.question { margin-bottom: 1rem }
"""

_CONSENT = (
    "If you like: which groups do you belong to, that these sentences may be about? It tells whether people of a group "
    "see what others do not. On a shared server other annotators may see what you write; afterwards it is kept apart "
    "from your answers. Once is enough."
)
_AGREE = "I agree that the groups that I name here are kept for that"


def interface(plan: Plan) -> str:
    """Return the XML of a plan's interface, the same bytes for the same questions, kind of rows and wish for groups."""
    view = _view(None)
    ElementTree.SubElement(view, "Style").text = _STYLE
    positions = range(1, len(ROLES[plan.kind]) + 1)
    for position in positions:
        box = _view(view, className="sentence")
        if len(positions) > 1:
            _header(box, f"Sentence {position}")
        ElementTree.SubElement(box, "HyperText", name=f"sentence-{position}", value=f"$html_{position}", inline="true")
    hotkeys = iter(_HOTKEYS)
    always = all(item.gloss for item in plan.items)
    for question, position in _in_order(questions_of(plan), positions):
        _ask(view, question, position, hotkeys, required=question.required or (question.id == "sense" and always))
    if plan.groups:
        _ask_groups(view)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def _in_order(questions: Iterable[Question], positions: Sequence[int]) -> Iterator[tuple[Question, int]]:
    """Yield each question with the position of the sentence that it is asked of, 0 for the row.

    What follows from an answer comes right behind it, of one sentence after the other.
    """
    listed = list(questions)
    followed = {question.when[0]: question for question in listed if question.when}
    ids = {question.id for question in listed}
    for question in listed:
        if question.when and question.when[0] in ids:
            continue
        for position in positions if question.per_sentence else [0]:
            yield question, position
            if after := followed.get(question.id):
                yield after, position


def _ask(
    view: ElementTree.Element, question: Question, position: int, hotkeys: Iterator[str], *, required: bool
) -> None:
    suffix = f"-{position}" if position else ""
    box = _view(view, className="question", **_visible(question, suffix))
    if question.id == "sense":
        _header(box, f"${SENSE}", size="5")
    text = f"Sentence {position}: {_lower(question.text)}" if position else question.text
    _header(box, text)
    facts = {"name": f"{question.id}{suffix}", "toName": f"sentence-{position or 1}"}
    needed = {"required": "true", "requiredMessage": f"Please answer: {text}"} if required else {}
    if not question.choices:
        ElementTree.SubElement(box, "TextArea", {**facts, "rows": "1", "maxSubmissions": "1", "editable": "true"})
        return
    control = ElementTree.SubElement(box, "Choices", {**facts, "choice": "single", "showInline": "true", **needed})
    for value, label in question.choices.items():
        choice = ElementTree.SubElement(control, "Choice", value=value, html=label)
        if key := next(hotkeys, ""):
            choice.set("hotkey", key)


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _visible(question: Question, suffix: str) -> dict[str, str]:
    """Return when a question is shown, as attributes for Label Studio; none where it does not depend on another."""
    if question.when is None:
        return {}
    other, answers = question.when
    chosen = ",".join(sorted(answers))
    return {"visibleWhen": "choice-selected", "whenTagName": f"{other}{suffix}", "whenChoiceValue": chosen}


def _ask_groups(view: ElementTree.Element) -> None:
    box = _view(view, className="question")
    _header(box, _CONSENT)
    consent = ElementTree.SubElement(box, "Choices", name=CONSENT, toName="sentence-1", choice="multiple")
    ElementTree.SubElement(consent, "Choice", value="yes", html=_AGREE)
    when = {"visibleWhen": "choice-selected", "whenTagName": CONSENT, "whenChoiceValue": "yes"}
    inner = _view(box, **when)
    _header(inner, "Groups that you belong to, with commas between them")
    ElementTree.SubElement(inner, "TextArea", name=GROUPS, toName="sentence-1", rows="1", maxSubmissions="1")


def _view(parent: ElementTree.Element | None, **facts: str) -> ElementTree.Element:
    return ElementTree.Element("View", facts) if parent is None else ElementTree.SubElement(parent, "View", facts)


def _header(box: ElementTree.Element, text: str, size: str = "6") -> None:
    ElementTree.SubElement(box, "Header", value=text, size=size)


def find_difference(xml: str, other: str) -> str:
    """Return the first thing in which another interface is not the one of `xml`; empty where nothing is.

    How it is indented and in which order attributes stand makes no difference. `other` comes from a server, so what is
    not XML, or has entities of its own, is not read.
    """
    if len(other) > MAX_XML or "<!" in other:
        return "it is not an interface of ours: too long, or with declarations"
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
        yield f"{path}: its text is another"
    for number in range(max(len(ours), len(theirs))):
        inner = f"{path}/{_named([*ours, *theirs][number] if number < len(ours) else theirs[number], number)}"
        if number >= len(ours):
            yield f"{inner} is there and should not be"
        elif number >= len(theirs):
            yield f"{inner} is missing"
        else:
            yield from _differences(ours[number], theirs[number], inner)


def _named(element: ElementTree.Element, number: int) -> str:
    name = element.get("name") or element.get("value") or str(number + 1)
    return f"{_short(element.tag)}[{_short(name)}]"


def _short(text: str | None) -> str:
    return "not there" if text is None else printable(shortened(text))


MODEL_VERSION = "the release's own labels"
"""What the platform calls answers that are shown before anybody answered."""


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
        data[SENSE] = meaning(item)
    predictions = _predictions(plan, item)
    return {"data": data, **({"predictions": predictions} if predictions else {})}


def html_of(sentence: Sentence) -> str:
    """Return the sentence as HTML, escaped, with a mark around the target.

    >>> html_of(Sentence(role="stereo", text="A <b> dress.", span=(6, 11)))
    '<p>A &lt;b&gt; <mark>dress</mark>.</p>'
    """
    if sentence.span is None:
        return f"<p>{escape(sentence.text)}</p>"
    start, end = sentence.span
    before, target, after = (escape(sentence.text[cut]) for cut in (slice(start), slice(start, end), slice(end, None)))
    return f"<p>{before}<mark>{target}</mark>{after}</p>"


def meaning(item: Item) -> str:
    """Return the text above the question of the sense, which must stay open where there is no meaning to show."""
    if not item.gloss:
        return "The question of the meaning is not asked here: leave it open."
    word = f"“{item.target}”" if item.target else "The marked word"
    return f"Meaning of {word}: {item.gloss}" if item.target else f"{word}: {item.gloss}"


def _predictions(plan: Plan, item: Item) -> list[dict[str, Any]]:
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
    return [{"model_version": MODEL_VERSION, "result": results}] if results else []
