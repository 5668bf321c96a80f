"""Association tests whose effect lies the other way round, and pages of several results: what readers would miss."""

from dataclasses import replace
from pathlib import Path

from tests.reporting.medium import printed
from tests.reporting.test_association_report import page, result, source, unshown

from senseprobe.api.results import summarize_results
from senseprobe.evaluate.estimands.association import WEAT, find_reversed
from senseprobe.evaluate.reporting.verdict_table import build_verdicts

FAR = unshown("weat3", value=-1.4, low=None, high=None, method="none", p=0.999, p_holm=1.0)
NEAR = unshown("weat4", value=-0.6, low=-1.4, high=0.3, p=0.96, p_holm=1.0)


def test_p_of_sets_exchanged() -> None:
    """By hand, with 12,870 divisions: 0.001 + 1/12870, times 2 for two tests, is 0.0022; 0.04 + 1/12870 is 0.0401.

    The second alone is below 0.05, and beside the first it is, too, by Holm; a third of 0.5 takes it to twice as much.
    """
    third = unshown("weat5", value=0.0, p=0.5, p_holm=1.0)
    assert find_reversed([(WEAT, NEAR)]) == {("bleached", "weat4")}
    assert find_reversed([(WEAT, test) for test in (FAR, NEAR, third)]) == {("bleached", "weat3")}
    assert find_reversed([(WEAT, unshown("weat4", value=-0.6, high=-0.1, p=0.9))]) == {("bleached", "weat4")}


def test_what_is_not_reversed() -> None:
    """Too few words are left, p is two-sided, or the lower end of an enclosed p is not large enough."""
    lost = replace(FAR, missing={"A": tuple("abcd")})  # 4 of 12
    assert find_reversed([(WEAT, lost)]) == set()
    assert find_reversed([(replace(WEAT, two_sided=True), FAR)]) == set()
    assert find_reversed([(WEAT, replace(FAR, p_low=0.95))]) == set()


def test_named_wherever_the_test_is(tmp_path: Path) -> None:
    """It stays "not shown", with what lies behind that: on the page, in the brief, and in what `score` prints."""
    made = result("word", FAR, unshown("weat4"))
    shown = page(made)
    assert "An effect is found in 0 of 2 tests; the other way round in 1: weat3." in shown.text
    (verdict,) = build_verdicts(source(made))
    assert verdict.code == "not_shown"
    assert verdict.text.endswith("the other way round, which p does not test: weat3")
    reads = {row[0]: row[-1] for row in shown.rows if len(row) == 5 and "bleached" in row[0]}
    assert reads["weat3 race; bleached"].startswith("undecided the other way round: Y nearer to A")
    assert reads["weat4 race; bleached"] == "undecided"
    beside = page(made, result("sent", FAR, unshown("weat4")))
    assert ["-1.40 other way, p 1.0000"] * 2 in [row[1:] for row in beside.rows]
    assert "the other way round, which p does not test: weat3" in printed(summarize_results([made], tmp_path))


def test_several_results_are_several_tries() -> None:
    """A page of one result is corrected as a whole; of two it is not, and says so."""
    assert "p is corrected within each result: who reads 2 of them has tried 2." in page(result(), result("sent")).text
    assert "within each result" not in page(result()).text
