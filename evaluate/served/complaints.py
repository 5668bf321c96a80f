"""What a server complained of, what was left out or changed for it, and what that costs."""

import re
from dataclasses import dataclass

from senseprobe.evaluate.served.conversation import TOP

LEAST_TEMPERATURE = 0.01
"""The temperature that stands in for 0, where a server takes none of 0."""

_MOST = re.compile(
    r"(?:at most|no more than|up to|equal to|<=|\u2264|between \d+ and|exceeds?|max(?:imum)?(?:\s\w+){0,2}:?)\s*(\d+)"
)
_TEMPERATURE_1 = re.compile(r"(?<![\w.-])1(?:\.0+)?(?!\w|[.-]\d|-)")


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a server says against a field of a request.

    - `field`: the field; `words`: the server's own, short, printable, and without a key.
    - `consequence`: what follows for the answers; `changed`: what was left out, or put in its place; `cost`: what that
      costs, empty where nothing.
    """

    field: str
    words: str
    consequence: str
    changed: str
    cost: str = ""

    @property
    def text(self) -> str:
        """All of it in a clause."""
        cost = f": {self.cost}" if self.cost else ""
        return f"{self.quote}: {self.changed}{cost}"

    @property
    def quote(self) -> str:
        """The server's words, as such."""
        return f'the server says "{self.words}"'

    @property
    def because(self) -> str:
        """What follows for the answers, and the server's words for it."""
        return f"{self.consequence}: {self.quote}"


def of_limit(words: str) -> Complaint:
    """Return the complaint about ``max_tokens``."""
    return Complaint("max_tokens", words, "", "max_completion_tokens is sent instead")


def of_logprobs(words: str) -> Complaint:
    """Return the complaint about log-probabilities: there are none, or fewer than are needed."""
    most = next((number for number in map(int, _MOST.findall(words)) if 0 < number < TOP), None)
    few = f"the server returns at most {most}, and {TOP} are needed"
    consequence = "the server does not return log-probabilities" if most is None else few
    changed = "logprobs is not sent" + ("" if most is None else f", because {few}")
    return Complaint(
        "logprobs", words, consequence, changed, "label probabilities are unavailable, which choice-… and nli-chat need"
    )


def of_temperature(words: str, tried: float) -> Complaint:
    """Return the complaint about a temperature: a very low one stands in for 0, or the field is left out."""
    if tried == 0 and "default" not in words:
        changed = f"temperature {LEAST_TEMPERATURE:g} is sent instead of 0"
        return Complaint(
            "temperature", words, "", changed, "either of two tokens within .05 nats of each other may be written"
        )
    return Complaint(
        "temperature",
        words,
        "this model fixes the temperature, so answers cannot be repeated",
        "temperature is not sent",
        "answers are random, and text-likely cannot be scored",
    )


def is_fixed_at_1(words: str) -> bool:
    """Return whether a complaint about the temperature names 1 as the one that there is: probabilities are as they are.

    >>> is_fixed_at_1("Only the default (1) value is supported"), is_fixed_at_1("temperature is not supported")
    (True, False)
    """
    return bool(_TEMPERATURE_1.search(words))


_COSTS = {
    "chat_template_kwargs": "thinking stays on",
    "cache_prompt": "the prompt cache stays on, which changes answers",
}


def of_field(field: str, words: str) -> Complaint:
    """Return the complaint about a field that is left out."""
    return Complaint(field, words, "", f"{field} is not sent", _COSTS.get(field, ""))
