"""What a sample says of the rows that nobody judged: by hand, by exact enumeration, and as the commands tell it."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.annotation import world
from tests.annotation.given import Given, contrast, gloss, make_plan
from tests.annotation.world import Said, fill
from tests.commands import Typed

from senseprobe import api
from senseprobe.annotation.decisions import Decision
from senseprobe.annotation.estimates import Sample, find_proposals, read_population
from senseprobe.annotation.plan_file import read_plan
from senseprobe.annotation.records import Item
from senseprobe.errors import AnnotationError
from senseprobe.statistics import estimate_rest

EXPORT = ("annotate", "export", "tiny@1.0.0", "--project", "First check", "--annotators", "3")
NAMES = ("annotator-1", "annotator-2", "annotator-3")


def _rest(
    hits: Sequence[Sequence[int | None]], sizes: Sequence[int], domain: Sequence[int] = ()
) -> tuple[float, int, int] | None:
    """What is estimated of the rest; `hits` are those of each stratum, None for a row that is not of the domain.

    `domain`: how many rows of the domain each stratum has; all of its rows by default.
    """
    strata = np.repeat(np.arange(len(sizes)), [len(some) for some in hits])
    values = np.array([bool(hit) for some in hits for hit in some], np.bool_)
    of = np.array([hit is not None for some in hits for hit in some], np.bool_)
    rest = np.array(domain or sizes) - np.bincount(strata[of], minlength=len(sizes))
    return estimate_rest(values, of, strata, np.array(sizes), rest)


def test_a_share_of_the_rest_by_hand() -> None:
    """Of 30 rows 10 are judged: 1 / (1 / 10 + 1 / 20) = 6.67 rows, of which 0 are hits: to 1 - .025 ** .15 = .425."""
    assert _rest([[0] * 10], [30]) == (0.0, 0, 9)  # .425 x 20 = 8.5
    assert _rest([[1] * 10], [30]) == (20.0, 11, 20)
    # Strata: 4 of 5 in 10 rows, 1 of 3 in 30 rows. 5 x .8 + 27 / 3 = 13 of the 32 that are left.
    found = _rest([[1, 1, 1, 1, 0], [1, 0, 0]], [10, 30])
    assert found is not None
    assert found[0] == pytest.approx(13)
    # A stratum of which all rows were judged says nothing of the rest, whatever is in it.
    assert _rest([[1] * 10, [0] * 5], [10, 100]) == (0.0, 0, _rest([[0] * 5], [100])[2])  # type: ignore[index]
    assert _rest([[1] * 10, []], [10, 4]) is None
    assert _rest([[1] * 10], [10]) == (0.0, 0, 0)


def _chance(size: int, hits: int, judged: int) -> list[float]:
    """The probability of each number of hits among rows that are drawn without replacement."""
    ways = comb(size, judged)
    return [comb(hits, k) * comb(size - hits, judged - k) / ways for k in range(judged + 1)]


@pytest.mark.parametrize(
    "strata",
    [[(10, 3)], [(20, 10)], [(100, 20)], [(40, 39)], [(30, 5), (10, 5)], [(60, 6), (20, 10)], [(9, 1), (9, 1)]],
)
def test_intervals_hold_what_they_say(strata: list[tuple[int, int]]) -> None:
    """By enumeration of all samples from all populations, hypergeometric: 95 in 100 intervals hold, or more."""
    sizes, judged = [size for size, _ in strata], [count for _, count in strata]
    intervals: dict[tuple[int, ...], tuple[float, int, int]] = {}
    for hits in product(*(range(count + 1) for count in judged)):
        found = _rest([[1] * k + [0] * (count - k) for k, count in zip(hits, judged, strict=True)], sizes)
        assert found is not None
        intervals[hits] = found
    for totals in product(*(range(0, size + 1, 1 + size // 25) for size in sizes)):
        chances = [_chance(*facts) for facts in zip(sizes, totals, judged, strict=True)]
        covered = sum(
            float(np.prod([chance[k] for chance, k in zip(chances, hits, strict=True)]))
            for hits, (_, low, high) in intervals.items()
            if low <= sum(totals) - sum(hits) <= high
        )
        assert covered > 0.95, totals


def test_intervals_hold_for_a_word_that_a_large_stratum_may_hide() -> None:
    """With equal shares, 4 of 40 and 6 of 8 rows; the word is in 8 of each, and 39 in 100 samples miss it in the 40.

    By enumeration of all samples from all populations, multivariate hypergeometric.
    """
    strata = [(40, 4, 8), (8, 6, 8)]  # size, judged, rows of the word
    sizes, _, domain = zip(*strata, strict=True)
    for totals in product(range(0, 9, 2), repeat=2):
        drawn = [
            [
                ([1] * a + [0] * b + [None] * (judged - a - b), comb(k, a) * comb(of - k, b) * comb(size - of, rest))
                for a in range(k + 1)
                for b in range(of - k + 1)
                if 0 <= (rest := judged - a - b) <= size - of
            ]
            for (size, judged, of), k in zip(strata, totals, strict=True)
        ]
        covered = everything = 0
        for (first, ways), (second, others) in product(*drawn):
            found = _rest([first, second], sizes, domain)
            assert found is not None
            everything += ways * others
            true = sum(totals) - [*first, *second].count(1)
            covered += ways * others * (found[1] <= true <= found[2])
        assert covered / everything > 0.95, totals


# ---- Words and frames ----------------------------------------------------------------------------------------------


def _sample(rows: int, rejected: Sequence[int], n: int | None = None, **row: Sequence[str]) -> Sample:
    """A sample of so many rows whose columns repeat these words; `rejected` are numbers of rows."""
    tables = {"c": [contrast(k, **{name: words[k % len(words)] for name, words in row.items()}) for k in range(rows)]}
    release = Given(tables)
    plan = make_plan(release, project="a test", n=n or rows, gloss=gloss)
    ids = {f"c.{number}" for number in rejected}
    decisions = [
        Decision(row=item.row, state="reject" if item.row in ids else "keep", reason="") for item in plan.items
    ]
    return Sample.of(read_population(release, plan), plan, decisions)


@pytest.mark.parametrize(("judged", "proposed"), [(5, []), (6, [("c", "quality", "odd")])])
def test_six_rows_that_all_are_rejected_are_enough(judged: int, proposed: list[tuple[str, str, str]]) -> None:
    """By hand, Clopper and Pearson: .025 ** (1 / 5) = .478 is below one half, .025 ** (1 / 6) = .541 above."""
    words = ["odd"] * judged + ["nice"] * 20
    sample = _sample(len(words), range(judged), quality=words)
    assert [proposal.level for proposal in find_proposals(sample)] == proposed
    one_kept = _sample(len(words), range(1, judged), quality=words)
    assert find_proposals(one_kept) == []


def test_a_word_that_only_a_rejected_frame_has_is_not_proposed() -> None:
    """Of frame f all twelve rows are rejected, and with them all six of *odd*, which stands in no other frame."""
    frames, words = ["f"] * 12 + ["g"] * 12, ["odd", "nice"] * 6 + ["nice"] * 12
    sample = _sample(24, range(12), frame=frames, quality=words)
    assert [(proposal.level, proposal.judged) for proposal in find_proposals(sample)] == [(("c", "frame", "f"), 12)]
    whole = _sample(24, range(24), frame=frames, quality=words)
    assert [proposal.level for proposal in find_proposals(whole)] == [("c", "", "")]


def test_rows_that_the_options_do_not_find_are_no_sample() -> None:
    """A plan that somebody changed by hand: nothing is estimated, and no number is made up."""
    release = Given({"c": [contrast(number) for number in range(9)]})
    plan = make_plan(release, project="a test", n=4, gloss=gloss)
    decisions = [Decision(row=item.row, state="keep", reason="") for item in plan.items]
    other = replace(plan, where="quality=other")
    with pytest.raises(AnnotationError, match="options of the plan do not select"):
        Sample.of(read_population(release, other), other, decisions)


# ---- As the commands tell it ---------------------------------------------------------------------------------------


def _seem_is_no_english(annotator: str, item: Item) -> Mapping[str, str]:
    return {"natural.stereo": "no"} if ".seem." in item.row else {}


def _answered(typed: Typed, folder: Path, said: Said, *options: str, groups: str = "") -> None:
    """Have three people fill in their sheets, the first of whom names `groups`."""
    assert typed(*EXPORT, *options).code == 0
    sheets = [fill(folder, name, said, groups if name == NAMES[0] else "") for name in NAMES]
    assert typed("annotate", "import", "First check", *map(str, sheets)).code == 0


def _estimates(told: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401 - JSON
    return {" ".join(filter(None, (e["config"], e["slot"], e["level"]))): e for e in told["estimates"]}


def test_apply_diff_and_card_tell_what_nobody_judged(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """27 of 36 rows of people and 9 of 12 of tourists, as the strata have it; all of *seem* is rejected.

    By hand: K of the 27 are of *seem*, and all 12 - K others of it would be rejected; of the 9 rows that nobody judged
    K / 27 x 9, whatever frame they are of. Of tourists none is: 1 / (1 / 9 + 1 / 3) = 2.25 rows, to 1 - .025 ** (1 /
    2.25) = .806 of 3, 2.4, so 3.
    """
    _answered(typed, folder, _seem_is_no_english, "--n", "36", "--strata", "config")
    items = read_plan(folder).items
    seem = sum(".seem." in item.row for item in items)
    told = typed("annotate", "apply", "First check", "--json").told
    found = _estimates(told)
    assert [*found][:2] == ["people", "tourists"]
    people, tourists, frame = found["people"], found["tourists"], found["people frame seem"]
    assert (people["judged"], people["rejected"], people["rest"]) == (27, seem, 9)
    assert people["estimate"] == pytest.approx(seem / 3, abs=0.001)
    assert (tourists["judged"], tourists["rejected"], tourists["rest"]) == (9, 0, 3)
    assert (tourists["estimate"], tourists["low"], tourists["high"]) == (0, 0, 3)
    assert (frame["judged"], frame["rejected"], frame["rest"], frame["estimate"]) == (seem, seem, 12 - seem, 12 - seem)
    assert "tourists frame are" not in found  # the only frame: it says nothing beside its config
    assert "people quality nice" not in found
    text = typed("annotate", "apply", "First check").out
    assert "36 rows in the sample; estimates for the unjudged rows:" in text
    (line,) = [line for line in text.splitlines() if line.startswith("tourists ")]
    assert line.split("  ")[0] == "tourists"
    assert [word for word in line.split() if word.strip("[],%").isdigit()] == ["9", "0", "3"]  # fewer than ten: counts
    (line,) = [line for line in text.splitlines() if line.startswith("people ")]
    assert "%" in line
    assert typed("build", "tiny", "2.0.0").code == 0
    card = (tmp_path / "releases/tiny/2.0.0/README.md").read_text()
    assert "| tourists | 9 | 0 | 0% \\[0%, 25%\\] | 3 | about 0 \\[0, 3\\] |" in card
    assert f"| people, frame=seem | {seem} | {seem} | 100% " in card
    diff = typed("diff", "tiny@1.0.0", "tiny@2.0.0")
    assert "First check: 36 rows of tiny@1.0.0 in the sample: keep" in diff.out
    assert "First check: tourists: 0 of 9 judged rows rejected" in diff.out
    assert ["%" in line for line in diff.out.splitlines() if ": tourists" in line or ": people:" in line] == [
        True,
        False,
    ]
    (round_,) = typed("diff", "tiny@1.0.0", "tiny@2.0.0", "--json").told["rounds"]
    assert [fact["config"] for fact in round_["estimates"][:2]] == ["people", "tourists"]
    assert api.verify("tiny@2.0.0", rebuild=True) == []


def test_what_people_reject_throughout_is_proposed_and_not_rejected(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """Only with `--propose`, in a file of its own; an author who copies its lines has them left out."""
    _answered(typed, folder, _seem_is_no_english, "--n", "36")
    asked = {item.row for item in read_plan(folder).items}
    seem = sum(row.startswith("people.seem") for row in asked)
    plain = typed("annotate", "apply", "First check").out
    assert f"people, frame=seem: all {seem} judged rows were rejected" in plain
    assert "`--propose` writes the unjudged rows of these words and frames" in plain
    proposed, verdicts = folder / "proposed-verdicts.csv", tmp_path / "templates/tiny/verdicts.csv"
    assert not proposed.exists()
    before = verdicts.read_bytes()
    told = typed("annotate", "apply", "First check", "--propose").out
    assert f"these are proposals only: copy the lines of {proposed} that you agree with to verdicts.csv" in told
    assert verdicts.read_bytes() == before
    lines = list(csv.DictReader(io.StringIO(proposed.read_text())))
    every = {f"people.seem.{nation}.nice.{word}" for nation in ("japanese", "french") for word in world.BAD}
    assert {line["id"] for line in lines} == every - asked
    assert {(line["verdict"], line["rule"], line["source"]) for line in lines} == {("reject", "proposal", "tiny@1.0.0")}
    (kept,) = typed("annotate", "apply", "First check", "--propose", "--json").told["proposals"]
    assert (kept["level"], kept["judged"], len(kept["rows"])) == (["people", "frame", "seem"], seem, 12 - seem)
    verdicts.write_text(verdicts.read_text() + "".join(proposed.read_text().splitlines(keepends=True)[1:]))
    assert typed("annotate", "apply", "First check", "--propose").code == 0
    assert proposed.read_text() == "id,verdict,rule,source,reason\n"  # all of it is decided now
    assert typed("build", "tiny", "2.0.0").code == 0
    assert not [row for row in api.load("tiny@2.0.0").table("people")["id"] if row in every]


def test_what_is_proposed_fits_into_verdicts_with_reports(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """The targeted group reports a row, so that `verdicts.csv` has a column more: copied lines have it too."""

    def said(annotator: str, item: Item) -> Mapping[str, str]:
        withhold = "yes" if annotator == NAMES[0] and item.target == "Japanese" else "no"
        return {**_seem_is_no_english(annotator, item), "withhold": withhold}

    _answered(typed, folder, said, "--n", "36", "--groups", groups="Japanese")
    proposed, verdicts = folder / "proposed-verdicts.csv", tmp_path / "templates/tiny/verdicts.csv"
    assert typed("annotate", "apply", "First check", "--propose").code == 0
    assert verdicts.read_text().startswith("id,verdict,rule,source,reason,reported\n")
    copied = proposed.read_text().splitlines(keepends=True)[1:]
    assert copied
    verdicts.write_text(verdicts.read_text() + "".join(copied))
    assert typed("count", "tiny").code == 0
    assert typed("annotate", "apply", "First check", "--propose").code == 0


def test_rows_with_known_answers_are_no_sample(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """Two that somebody chose are added to 46: they count neither as judged nor as the rest."""
    (tmp_path / "gold.csv").write_text(
        "id,natural.stereo\npeople.are.french.nice.rude,yes\ntourists.are.french.nice.rude,yes\n"
    )
    _answered(typed, folder, lambda who, item: {}, "--where", "bad=loud", "--where", "bad=cold", "--gold", "gold.csv")
    found = _estimates(typed("annotate", "apply", "First check", "--json").told)
    # By hand: 2 words x 2 nations x (3 + 1) frames = 16 rows, all of them judged; nothing is said of other words.
    assert [(found[name]["judged"], found[name]["rest"]) for name in ("people", "tourists")] == [(12, 0), (4, 0)]
    text = typed("annotate", "apply", "First check").out
    assert "18 rows in the sample, 2 of them with known answers, which do not count below" in text
