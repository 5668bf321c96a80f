"""Whether the labels of a question are to be found among the tokens that a server tells of its answer, and where."""

import math
from collections.abc import Sequence
from itertools import pairwise

from senseprobe.evaluate.served.conversation import TOP, parse_label, variants_of
from senseprobe.evaluate.served.wire import ChatAnswer, read_chat
from senseprobe.messages import printable

_LONGEST = 40
_LEAST_MASS = 0.05
_FURTHEST = 1.0  # nats by which a likelier token than the one that was written is noise


def count_lead_tokens(body: object) -> int:
    """Return how many tokens of a chat completion stand before its label; 0 where nothing follows them.

    ModelError where the body is none.
    """
    before = read_chat(body).before
    return before if read_chat(body, before).first else 0


def fault_of_tops(answer: ChatAnswer, labels: Sequence[str], *, greedy: bool) -> str:
    """Return why the log-probabilities of an answer cannot be used; empty where they can.

    `greedy`: whether the likeliest token was to be written.
    """
    order = answer.order
    if not order:
        return "the server does not return them"
    if len(order) < TOP:
        return f"only {len(order)} were returned, and {TOP} are needed"
    if any(later > earlier for earlier, later in pairwise(order)):
        return "they are not in order"
    if (total := sum(map(math.exp, order))) < _LEAST_MASS:
        return f"their probabilities sum to {total:.3g}"
    if fault := _fault_of_spelling(answer, labels):
        return fault
    if answer.first is None or answer.first[0] not in answer.tops:
        return "the written token is not among them"
    if greedy and answer.tops[answer.first[0]] < max(answer.tops.values()) - _FURTHEST:
        return "the written token is not the likeliest, at temperature 0"
    return ""


def _fault_of_spelling(answer: ChatAnswer, labels: Sequence[str]) -> str:
    """Return why no label is among the tokens, where the text begins with one and its token is spelt otherwise.

    Empty of any other answer: that it has no label there is the model's own doing.
    """
    label = parse_label(answer.text.lstrip(), labels)
    names = {name for text in labels for name in variants_of(text)}
    if not label or answer.first is None or names & {*answer.tops, answer.first[0]}:
        return ""
    spelt = answer.first[0].strip()
    if spelt and spelt in answer.text:
        return ""
    spelling = printable(answer.first[0][:_LONGEST])
    return f"labels are not among the tokens: this server spells them differently ({spelling!r} for {label})"


def fault_of_places(answers: Sequence[ChatAnswer | None], label_offset: int) -> str:
    """Return why labels have no place that is always the same: half of the answers or more have theirs elsewhere."""
    heard = [answer for answer in answers if answer]
    elsewhere = [answer.before for answer in heard if answer.before != label_offset]
    if not elsewhere or 2 * len(elsewhere) < len(heard):
        return ""
    return (
        f"the first answer has {label_offset} blanks or special tokens before its label, but {len(elsewhere)} of "
        f"{len(heard)} answers have a different number: the label has no fixed position"
    )
