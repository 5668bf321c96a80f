"""The items of a plan as Label Studio's tasks: what is shown, the row's id, and the hash of what is shown."""

from html import escape
from typing import Any

from senseprobe.annotation.interface import SENSE
from senseprobe.annotation.questions import controls
from senseprobe.annotation.records import Item, Plan, Sentence

MODEL_VERSION = "the release's own labels"
"""What the platform calls answers that are there before anybody answered."""


def tasks(plan: Plan) -> list[dict[str, Any]]:
    """The tasks of a plan, in its order, as Label Studio imports them.

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
    """The sentence as HTML in which nothing but the mark around the target is no text.

    >>> html_of(Sentence(role="stereo", text="A <b> dress.", span=(6, 11)))
    '<p>A &lt;b&gt; <mark>dress</mark>.</p>'
    """
    if sentence.span is None:
        return f"<p>{escape(sentence.text)}</p>"
    start, end = sentence.span
    before, target, after = (escape(sentence.text[cut]) for cut in (slice(start), slice(start, end), slice(end, None)))
    return f"<p>{before}<mark>{target}</mark>{after}</p>"


def meaning(item: Item) -> str:
    """What is said above the question of the sense, which is not to be answered where there is no meaning to show."""
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
