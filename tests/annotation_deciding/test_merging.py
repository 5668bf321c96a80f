"""New verdicts beside old ones: who stays, who is replaced, and what contradicts."""

import pytest

from senseprobe.annotation.merging import merged
from senseprobe.errors import DeclarationError
from senseprobe.release.verdicts import Verdict


def _verdict(row: str, verdict: str, source: str = "tiny@1.0.0", line: int = 0) -> Verdict:
    return Verdict(id=row, verdict=verdict, rule="majority", source=source, reason="because", line=line)


def _told(found: list[Verdict]) -> list[tuple[str, str, str]]:
    return [(each.id, each.verdict, each.source) for each in found]


def test_other_sources_stay_and_the_same_is_replaced() -> None:
    """A verdict of another release or project stays, one of this source on a row that was asked about goes."""
    there = {
        "a": _verdict("a", "reject", "tiny@0.9.0"),
        "b": _verdict("b", "keep"),
        "c": _verdict("c", "reject"),
        "d": _verdict("d", "keep"),
    }
    found = merged(there, [_verdict("b", "reject"), _verdict("e", "keep")], {"b", "c", "e"}, "tiny@1.0.0", "v.csv")
    assert _told(found) == [
        ("a", "reject", "tiny@0.9.0"),
        ("b", "reject", "tiny@1.0.0"),
        ("d", "keep", "tiny@1.0.0"),
        ("e", "keep", "tiny@1.0.0"),
    ]


def test_two_sources_that_agree_are_one_verdict() -> None:
    """An id has one line: the older one stays."""
    there = {"a": _verdict("a", "reject", "tiny@0.9.0")}
    assert _told(merged(there, [_verdict("a", "reject")], {"a"}, "tiny@1.0.0", "v.csv")) == [
        ("a", "reject", "tiny@0.9.0")
    ]


def test_sources_that_contradict_are_named_by_line() -> None:
    """Each contradiction is a finding with its line."""
    there = {"a": _verdict("a", "keep", "tiny@0.9.0", 2), "b": _verdict("b", "reject", "tiny@0.9.0", 3)}
    with pytest.raises(DeclarationError) as raised:
        merged(there, [_verdict("a", "reject"), _verdict("b", "keep")], {"a", "b"}, "tiny@1.0.0", "v.csv")
    first, second = raised.value.findings
    assert (first.path, first.line, second.line) == ("v.csv", 2, 3)
    assert "a is keep by majority, tiny@0.9.0: because; answers to tiny@1.0.0 say reject" in first.message
