"""A brief of results: what it says of figures that have no value."""

from pathlib import Path

from tests.exports.test_result_exports import figure, result
from tests.reporting.medium import printed

from senseprobe.api.results import summarize_results
from senseprobe.records import Figure


def _of(group: str, value: float | None, note: str = "") -> Figure:
    return figure("relative", value, None, None, group=group, note=note)  # type: ignore[arg-type]


def test_groups_without_a_value_are_told(tmp_path: Path) -> None:
    """How many and why, by config and figure; of a result in which all have one, nothing. One is of the verdict."""
    missing = [_of("Arlan", None, "no row can be used"), _of("Borian", None, "no row can be used"), _of("Dorian", 3.0)]
    lines = printed(summarize_results([result(*missing)], tmp_path)).splitlines()
    assert "2 figures of single groups: in the report, and in --json" in lines
    assert "no value of relative in verb, of 2 groups: no row can be used" in lines
    assert "no value" not in printed(summarize_results([result(_of("Arlan", 3.0))], tmp_path))
