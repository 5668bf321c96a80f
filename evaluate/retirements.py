"""What senseprobe no longer computes: results that have it are read and shown, and it is never computed again."""

from collections.abc import Mapping

from senseprobe.errors import SenseprobeError

DECISION = "a server's decision (/v1/decisions, /v1/systemone)"

RETIRED: Mapping[str, str] = {
    "weat-published": "it shows a sign only; docs/senses.md says how to compute it",
    DECISION: "the result has it in its numbers or its fixed prompts, so score the model again to compare",
}
"""Estimands, scorers and routes of servers that are retired, by id: why, and what to do instead, in a clause."""


def describe_retired(name: str) -> str:
    """Return that something is no longer computed, and why; empty where it is computed, or unknown.

    >>> describe_retired("weat-published")
    'weat-published is no longer computed: it shows a sign only; docs/senses.md says how to compute it'
    >>> describe_retired("weat")
    ''
    """
    return f"{name} is no longer computed: {RETIRED[name]}" if name in RETIRED else ""


def check_computed(name: str) -> None:
    """Raise SenseprobeError where an estimand or a scorer is no longer computed."""
    if retired := describe_retired(name):
        raise SenseprobeError(retired)
