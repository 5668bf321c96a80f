"""What is no longer computed: results that have it are read, shown and replayed, and nobody can ask for it."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.commands import typing
from tests.reporting.medium import printed

from senseprobe import api
from senseprobe.api.results import report, summarize_results
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate import scorers
from senseprobe.evaluate.estimands import CATALOGUE, RETIRED_ESTIMANDS, check_additional, find, lookup
from senseprobe.evaluate.figure_check import check_figures
from senseprobe.evaluate.result import read_result
from senseprobe.evaluate.retirements import RETIRED, describe_retired

PUBLISHED = "weat-published is no longer computed: it shows a sign only; docs/senses.md says how to compute it"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result as 0.2 wrote it, with weat-published behind the figure of each test."""
    folder = tmp_path_factory.mktemp("stored")
    words = sorted(set(api.load("association@1.1.0").table("unbleached", spans=False)["word"]))
    rng = np.random.default_rng(3)
    vectors = folder / "v.txt"
    lines = (f"{word} {' '.join(map(str, rng.normal(size=3).round(3)))}" for word in words if " " not in word)
    vectors.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    api.score(f"vectors:{vectors}", "association@1.1.0", "weat-word", config="unbleached", out=folder, store=False)
    (path,) = folder.rglob("weat-word*.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    none = dict.fromkeys(("low", "high", "p", "p_low", "p_holm", "p_least"))
    published = {**none, "estimand": "weat-published", "method": "", "note": "+2 or -2 for any vectors"}
    data["figures"] += [
        {**figure, **published, "value": None if figure["value"] is None else 2.0} for figure in data["figures"]
    ]
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_each_estimand_that_is_retired_is_shown_and_not_computed() -> None:
    assert {*RETIRED_ESTIMANDS} <= {*RETIRED}
    for name, estimand in RETIRED_ESTIMANDS.items():
        assert name not in CATALOGUE
        assert (find(name), lookup(name)) == (None, estimand)


def test_nothing_that_is_retired_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a scorer, of which there is none today."""
    with pytest.raises(SenseprobeError, match=PUBLISHED):
        check_additional(["weat-published"], ["association"], ["weat"])
    monkeypatch.setitem(RETIRED, "ten-words", "score aul")
    with pytest.raises(SenseprobeError, match="ten-words is no longer computed: score aul"):
        scorers.get("ten-words")
    assert describe_retired("aul") == ""


def test_a_stored_figure_is_replayed_and_the_rest_compared(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    done = typing(monkeypatch, capfd)("replay", str(stored))
    assert (done.code, done.out.splitlines()[0]) == (0, PUBLISHED), done.err
    assert done.out.splitlines()[1].startswith("the same")


def test_a_stored_figure_is_shown_and_the_rest_checked(stored: Path, tmp_path: Path) -> None:
    page = report(stored, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Figures not checked: weat-published is no longer computed." in page
    assert page.count("It is no longer computed. It shows a sign only") == 2
    result = read_result(stored)
    text = printed(summarize_results([result], tmp_path))
    assert "weat-published: It is no longer computed." in text
    assert "+2.00" in text


def test_figures_of_a_retired_scorer_are_not_checked(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RETIRED, "weat-word", "score weat-sent")
    checked = check_figures(read_result(stored), None)
    assert checked.unchecked == ("weat-word is no longer computed: score weat-sent",)
