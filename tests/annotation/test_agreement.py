"""`agreement`: by question, sentence, stratum, annotator, word and group; who disagrees with whom; who is right."""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.annotation.making import answer, item, plan

from senseprobe.annotation.agreement import agreement, write_agreement
from senseprobe.annotation.agreement_figures import BY, Agreement, Figure
from senseprobe.annotation.records import Annotation, Plan
from senseprobe.errors import AnnotationError
from senseprobe.statistics import agreement_within, clopper_pearson

ITEMS = 40
WORDS = ("black", "white")
GOLD = {"natural.stereo": "yes", "natural.anti": "yes"}


def asked(items: int = ITEMS) -> Plan:
    """Every second row about another word, every fourth with known answers."""
    return plan(
        item(n, target=WORDS[n % 2], stratum=f"target={WORDS[n % 2]}", gold=GOLD if n % 4 == 0 else {})
        for n in range(items)
    )


def said(people: dict[str, str], items: int = ITEMS, groups: dict[str, str] | None = None) -> list[Annotation]:
    """What people said of `natural`: a string of y and n by person, over and over, for stereo, anti, stereo, …."""
    told = {"y": "yes", "n": "no"}
    return [
        answer(
            n,
            who,
            {f"natural.{role}": told[ways[(2 * n + at) % len(ways)]] for at, role in enumerate(("stereo", "anti"))},
            groups=tuple(filter(None, [(groups or {}).get(who, "")])),
        )
        for who, ways in people.items()
        for n in range(items)
    ]


THREE = {"p-a": "yn", "p-b": "ynyy", "p-c": "yyyn"}


def only(found: Agreement, by: str, level: str = "") -> Figure:
    (one,) = [figure for figure in found.by(by) if figure.level == level]
    return one


def test_a_question_of_each_sentence_is_one_figure() -> None:
    """All say yes to one sentence, one of three to the other: alpha of the counts, by hand."""
    found = agreement(asked(), said(THREE))
    whole = only(found, "all")

    assert (whole.question, whole.measure, whole.items, whole.units, whole.answers) == ("natural", "alpha", 40, 80, 240)
    assert (whole.annotators, whole.alone) == (3, 0)
    # of 240 answers 160 are yes: De = 2·160·80 / (240·239); half of the units differ in 2 of 3 pairs: Do = 1/3.
    assert whole.value == pytest.approx(1 - (1 / 3) / (2 * 160 * 80 / (240 * 239)))
    assert whole.same == pytest.approx(2 / 3)
    # all rows have these counts, so that no other sample of them would say anything else
    assert (whole.low, whole.high, whole.why) == (None, None, "no interval: all items agree equally")


def test_figures_are_told_of_every_part() -> None:
    found = agreement(asked(), said(THREE))
    levels = {by: [figure.level for figure in found.by(by)] for by in BY}
    assert levels == {
        "all": [""],
        "sentence": ["anti", "stereo"],
        "stratum": ["target=black", "target=white"],
        "annotator": ["p-a", "p-b", "p-c"],
        "word": ["black", "white"],
        "group": [],
        "groups": [],
    }
    # stereo: all say yes, always; anti: n n y and n y n in turn
    assert only(found, "sentence", "stereo").why == "all answers are the same"
    assert only(found, "sentence", "anti").same == pytest.approx(1 / 3)
    assert [figure.items for figure in found.by("word")] == [20, 20]


def test_an_annotator_is_seen_against_the_others() -> None:
    """p-a agrees with one of two wherever these differ; p-b and p-c each with nobody in half of those."""
    found = agreement(asked(), said(THREE))
    same = {figure.level: figure.same for figure in found.by("annotator")}
    assert same == {"p-a": pytest.approx(0.75), "p-b": pytest.approx(0.625), "p-c": pytest.approx(0.625)}
    assert {figure.measure for figure in found.by("annotator")} == {"cross-kappa"}
    alone = agreement(asked(), said({"p-a": "yn"}))
    assert only(alone, "annotator", "p-a").why == only(alone, "all").why == "items have only one answer each"
    assert only(alone, "all").alone == 80


def test_who_disagrees_with_whom() -> None:
    found = agreement(asked(), said(THREE))
    assert [(pair.first, pair.second, pair.units, pair.different, pair.most) for pair in found.pairs] == [
        ("p-b", "p-c", 80, 40, ("no", "yes", 20)),
        ("p-a", "p-b", 80, 20, ("no", "yes", 20)),
        ("p-a", "p-c", 80, 20, ("no", "yes", 20)),
    ]
    # p-a and p-b: yes-yes 40, no-no 20, no-yes 20: agreement 3/4, by chance 1/2 · 3/4 + 1/2 · 1/4 = 1/2.
    assert found.pairs[1].kappa == pytest.approx(0.5)
    assert found.pairs[0].kappa == pytest.approx((1 / 2 - 10 / 16) / (6 / 16))


def test_known_answers_tell_who_is_right() -> None:
    """Every fourth row is known to be natural, both sentences; p-a says no to every second one."""
    found = agreement(asked(), said(THREE))
    assert [(each.annotator, each.right, each.answered) for each in found.gold] == [
        ("p-a", 10, 20),
        ("p-b", 10, 20),
        ("p-c", 20, 20),
    ]
    low, high = clopper_pearson(10, 20)
    assert (found.gold[0].low, found.gold[0].high) == pytest.approx((0.272, 0.728), abs=5e-4)  # a published table's
    assert (100 * found.gold[0].low - 50, 100 * found.gold[0].high - 50) == pytest.approx((low, high))


def test_fleiss_kappa_is_told_of_each_question() -> None:
    """By hand: agreement 2/3, by chance (2/3)² + (1/3)² = 5/9: (2/3 - 5/9) / (4/9) = 1/4."""
    (kappa,) = agreement(asked(), said(THREE)).fleiss
    assert kappa.value == pytest.approx(0.25)
    assert (kappa.units, kappa.answers) == (80, 3)


GROUPED = {f"p-{n}": ("yn" if n < 5 else "yy") for n in range(10)}


def test_groups_are_seen_among_themselves_and_against_each_other() -> None:
    """Five who say yes and no in turn, five who always say yes: each agree perfectly, and half across."""
    groups = {who: "Women" if n < 5 else "men" for n, who in enumerate(GROUPED)}
    found = agreement(asked(), said(GROUPED, groups={**groups, "p-0": " WOMEN "}))

    assert [(figure.level, figure.same, figure.annotators) for figure in found.by("group")] == [
        ("men", 1.0, 5),
        ("women", 1.0, 5),
    ]
    across = only(found, "groups", "men / women")
    assert (across.same, across.annotators) == (0.5, 10)
    assert across.value == pytest.approx(0)
    assert found.withheld == 0


def test_groups_of_few_are_not_told_of() -> None:
    """Nor a comparison that rests on the few who are in one of two groups and not in the other."""
    groups = dict.fromkeys(list(GROUPED)[:4], "women")
    found = agreement(asked(), said(GROUPED, groups=groups))
    assert (found.by("group"), found.withheld) == ([], 1)
    assert "women" not in json.dumps(found.as_dict())
    told = agreement(asked(), said(GROUPED, groups=groups), smallest_group=2)
    assert only(told, "group", "women").annotators == 4

    overlapping = said(GROUPED, groups=dict.fromkeys(list(GROUPED)[:6], "a"))
    overlapping += [
        replace(each, id=f"x{each.id}", row="race.f.0", answers={}, groups=("b",), status="skipped")
        for each in overlapping
        if each.annotator in list(GROUPED)[1:7] and each.row == "race.f.1"
    ]
    found = agreement(asked(), overlapping)
    assert [figure.level for figure in found.by("group")] == ["a", "b"]
    assert found.by("groups") == []


def test_only_what_was_asked_and_submitted_last_counts() -> None:
    """Skipped, of other words, of no row of the plan, an answer that is not offered, an earlier one: none counts."""
    told = said(THREE)
    odd = [
        replace(told[0], id="skip", annotator="p-x", status="skipped"),
        replace(told[0], id="other", annotator="p-x", content="9" * 64),
        replace(told[0], id="nowhere", annotator="p-x", row="race.f.999"),
        replace(told[0], id="label", annotator="p-x", answers={"natural.stereo": "maybe", "colour": "red"}),
        replace(told[0], id="0", answers={"natural.stereo": "no", "natural.anti": "yes"}, updated=""),
    ]
    told = [replace(each, updated="2026-11-21T20:00:00.000000Z") for each in told]
    assert agreement(asked(), [*odd, *told]) == agreement(asked(), told)


def test_nothing_answered_is_nothing_told() -> None:
    found = agreement(asked(), [])
    assert (found.figures, found.fleiss, found.pairs, found.gold) == ((), (), (), ())


def test_agreement_is_kept_as_canonical_json(tmp_path: Path) -> None:
    """The same bytes whatever the order of the annotations; NaN is no JSON."""
    told = said(GROUPED, groups=dict.fromkeys(GROUPED, "women"))
    write_agreement(tmp_path / "a", agreement(asked(), told))
    random.Random(0).shuffle(told)  # noqa: S311 - no secret
    write_agreement(tmp_path / "b", agreement(asked(), told))
    raw = (tmp_path / "a" / "agreement.json").read_bytes()

    assert raw == (tmp_path / "b" / "agreement.json").read_bytes()
    kept = json.loads(raw)
    assert kept["seed"] == 0
    assert {figure["by"] for figure in kept["figures"]} <= set(BY)
    (tmp_path / "c" / "agreement.json").mkdir(parents=True)
    with pytest.raises(AnnotationError, match=r"agreement.json cannot be written"):
        write_agreement(tmp_path / "c", agreement(asked(), told))


def test_figures_are_told_in_a_line() -> None:
    whole, *_ = agreement(asked(), said({**THREE, "p-d": "yyynny"})).figures
    assert None not in (whole.value, whole.low, whole.high, whole.same)
    same = f"{100 * (whole.same or 0):.1f} % of answer pairs agree; 40 items"
    assert str(whole) == f"natural: alpha {whole.value:.3f} [{whole.low:.3f}, {whole.high:.3f}], {same}"
    few = agreement(asked(4), said(THREE, items=4)).figures[0]
    assert str(few).endswith("(no interval from fewer than 20 items)")


def test_the_figure_is_that_of_its_counts() -> None:
    """People who answer at random, each some of the rows: as `agreement_within` has it of hand-made counts."""
    rng = np.random.default_rng(3)
    told, counts = [], np.zeros((ITEMS, 4), dtype=np.intp)
    labels = ("stereotype", "anti-stereotype", "neither", "unsure")
    for n in range(ITEMS):
        for who in rng.choice(6, size=int(rng.integers(0, 5)), replace=False):
            label = int(rng.integers(0, 4))
            counts[n, label] += 1
            told.append(answer(n, f"p-{who}", {"stereotype.stereo": labels[label]}))
    found = only(agreement(asked(), told), "all")
    expected = agreement_within(counts, np.arange(ITEMS))
    assert expected.corrected.interval is not None
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.corrected.value, *expected.corrected.interval), abs=1e-9
    )
    assert found.alone == expected.alone
