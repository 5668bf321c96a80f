"""New verdicts beside old ones: who stays, who is replaced, and what contradicts."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from senseprobe.annotation.decisions import count_changes, merge_verdicts
from senseprobe.errors import DeclarationError
from senseprobe.release.verdicts import Verdict


def _verdict(row: str, verdict: str, source: str = "tiny@1.0.0", line: int = 0, reason: str = "because") -> Verdict:
    return Verdict(id=row, verdict=verdict, rule="majority", source=source, reason=reason, line=line)


def _by_id(*verdicts: Verdict) -> dict[str, Verdict]:
    return {each.id: each for each in verdicts}


def _told(found: Iterable[Verdict]) -> list[tuple[str, str, str]]:
    return [(each.id, each.verdict, each.source) for each in found]


def test_other_sources_stay_and_ones_own_are_replaced() -> None:
    """A verdict of another release or project stays; what this project put there goes, or becomes another."""
    there = _by_id(
        _verdict("a", "reject", "tiny@0.9.0"), _verdict("b", "keep"), _verdict("c", "reject"), _verdict("d", "keep")
    )
    own = _by_id(_verdict("b", "keep"), _verdict("c", "reject"))
    found = merge_verdicts(there, [_verdict("b", "reject"), _verdict("e", "keep")], own, "v.csv")
    assert _told(found.verdicts) == [
        ("a", "reject", "tiny@0.9.0"),
        ("b", "reject", "tiny@1.0.0"),
        ("d", "keep", "tiny@1.0.0"),
        ("e", "keep", "tiny@1.0.0"),
    ]
    assert (set(found.ours), set(found.others)) == ({"b", "e"}, {"a", "d"})
    assert count_changes(there, found.verdicts) == {"new": 1, "turned": 1, "gone": 1}


@pytest.mark.parametrize("change", [{"rule": "dispute"}, {"reason": "a reader says so"}, {"source": "tiny@0.9.0"}])
def test_what_somebody_changed_by_hand_is_theirs(change: dict[str, str]) -> None:
    """The line has another rule, reason or source than this project gave it: it stays, and may contradict."""
    mine = _verdict("a", "reject")
    there = _by_id(replace(mine, **change))  # type: ignore[arg-type]
    assert merge_verdicts(there, [], _by_id(mine), "v.csv").others == {"a"}
    with pytest.raises(DeclarationError):
        merge_verdicts(there, [_verdict("a", "keep")], _by_id(mine), "v.csv")


def test_a_reason_is_known_again_as_it_was_written() -> None:
    """In a file a reason is one line of at most 1,000 characters."""
    mine = _verdict("a", "reject", reason=f"line\nline {'x' * 2000}")
    assert merge_verdicts(_by_id(mine.as_written), [], _by_id(mine), "v.csv").verdicts == ()


def test_two_sources_that_agree_are_one_verdict() -> None:
    """An id has one line: the older one stays, and is still the other's."""
    there = _by_id(_verdict("a", "reject", "tiny@0.9.0"))
    found = merge_verdicts(there, [_verdict("a", "reject")], {}, "v.csv")
    assert (_told(found.verdicts), found.ours) == ([("a", "reject", "tiny@0.9.0")], frozenset())


def test_sources_that_contradict_are_named_by_line() -> None:
    """Each contradiction is a finding with its line."""
    there = _by_id(_verdict("a", "keep", "tiny@0.9.0", 2), _verdict("b", "reject", "tiny@0.9.0", 3))
    with pytest.raises(DeclarationError) as raised:
        merge_verdicts(there, [_verdict("a", "reject"), _verdict("b", "keep")], {}, "v.csv")
    first, second = raised.value.findings
    assert (first.path, first.line, second.line) == ("v.csv", 2, 3)
    assert (
        "a has the verdict keep (majority, tiny@0.9.0: because), but answers to tiny@1.0.0 say reject" in first.message
    )
