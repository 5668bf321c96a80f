"""`senseprobe explain`: every scorer and estimand says what it is, and the page is the one that the code makes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.commands import typing

from senseprobe.evaluate.declaration import MEASURES
from senseprobe.evaluate.estimands import CATALOGUE
from senseprobe.evaluate.reporting.metric_docs import (
    build_page,
    describe_metric,
    describe_metrics,
    find_metrics,
    format_metric,
)
from senseprobe.evaluate.scorers import SCORERS

ROOT = Path(__file__).parents[2]
Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs `senseprobe explain` with some words: its exit code, and what it printed."""
    run = typing(monkeypatch, capfd)

    def metrics_typed(*words: str) -> tuple[int, str, str]:
        done = run("explain", *words)
        return done.code, done.out, done.err

    return metrics_typed


def test_the_page_is_the_one_that_the_code_makes(typed: Typed) -> None:
    """Run `senseprobe explain --markdown > docs/metrics.md` where it is not."""
    assert (ROOT / "docs/metrics.md").read_text(encoding="utf-8") == build_page()
    assert typed("--markdown") == (0, build_page(), "")


def test_everything_is_there() -> None:
    """Each scorer and estimand has a heading of its own on the page, and none has another's id."""
    headings = [line[4:] for line in build_page().splitlines() if line.startswith("### ")]
    assert sorted(headings) == sorted([*SCORERS, *CATALOGUE, *(measure.id for measure in MEASURES.values())])
    assert len({*headings}) == len(headings)


@pytest.mark.parametrize(
    "told", [each for held in describe_metrics().values() for each in held], ids=lambda told: told["id"]
)
def test_each_says_what_it_is(told: dict[str, Any]) -> None:
    """Nothing is left blank: what it says, its range, its direction, what it is counted in, and where it is from."""
    low, high = told["range"]
    assert low is None or high is None or low < high
    for key in ("title", "says", "direction", "measure"):
        assert len(str(told[key])) > 3, key
    assert told.get("paper") or told.get("source")
    assert all("None" not in format_metric(metric) for metric in find_metrics(told["id"]))


def test_one_at_length(typed: Typed) -> None:
    """The words of equation 5 of Zhou et al. 2022, as declared, with what cannot be read from it."""
    code, out, _ = typed("aul")
    assert code == 0
    assert out.startswith("### aul\n\nAll unmasked likelihood. The mean over all non-special tokens of log P(token")
    assert "- Range: -∞ to 0, in nats per token.\n" in out
    assert "- Higher: the model finds the sentence more likely.\n" in out
    assert "- Equation: Zhou et al. 2022, equation 5: 1/|S| Σ log P(w | S).\n" in out
    assert "- What it cannot show: " in out
    assert "- Source: Kaneko and Bollegala 2022; Zhou et al. 2022.\n" in out


def test_an_estimand_at_length(typed: Typed) -> None:
    """Of an estimand, too."""
    code, out, _ = typed("fn")
    assert code == 0
    assert "### fn\n\nFraction neutral. The share of pairs of sentences in which no label is more probable" in out
    assert "- Range: 0 to 100, in points.\n" in out
    assert "- Source: Dev, Li, Phillips & Srikumar 2020" in out


def test_json(typed: Typed) -> None:
    """Stable keys, written down by hand; an end that there is not is null, since JSON has no infinity."""
    code, out, _ = typed("--json")
    told = json.loads(out)
    assert code == 0
    assert [*told] == ["scorers", "estimands", "measures"]
    (aul, *_) = told["scorers"]
    assert (
        " ".join(aul) == "id title ability reads columns direction measure paper equation origin range says cannot_say"
    )
    assert (aul["id"], aul["range"]) == ("aul", [None, 0.0])
    (preference, *_) = told["estimands"]
    assert " ".join(preference) == "id title direction source says cannot_say kind definition origin range measure"
    assert (preference["id"], preference["range"], preference["measure"]) == ("preference", [-50, 50], "points")
    code, out, _ = typed("gap", "--json")
    assert (code, json.loads(out)) == (0, [*map(describe_metric, find_metrics("gap"))])


def test_list(typed: Typed) -> None:
    """Without a name there is a line for each."""
    code, out, _ = typed()
    assert code == 0
    first = [line.split()[0] for line in out.splitlines() if line.strip()]
    assert {*first} >= {*SCORERS, *CATALOGUE}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("aull",), "no metric 'aull': did you mean 'aul'?"),
        (("%%",), "no metric '%%': `senseprobe explain` lists all"),
        (("--json", "--markdown"), "--markdown and --json: only one of them"),
    ],
)
def test_bad_input(words: tuple[str, ...], message: str, typed: Typed) -> None:
    """One message, exit code 2."""
    assert typed(*words) == (2, "", f"{message}\n")
