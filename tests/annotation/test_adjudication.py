"""Rules that make decisions of answers: majority, ties, thresholds, reports of harm. Expected by hand."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senseprobe.annotation.adjudication import Claim, decide, make_verdicts
from senseprobe.annotation.annotators import belongs, unmatched_groups
from senseprobe.annotation.decisions import Decision, count_states, summarise_round
from senseprobe.annotation.records import Annotation, Item, Plan, Sentence
from senseprobe.annotation.rules import Rule, by_majority, by_posterior
from senseprobe.errors import AnnotationError

CLAIM = Claim(targets=("Japanese",))

FINE = {
    "sense": "yes",
    "stereotype.stereo": "stereotype",
    "stereotype.anti": "anti-stereotype",
    "natural.stereo": "yes",
    "natural.anti": "yes",
    "withhold": "no",
}


def _item(row: str = "r1", **changes: str) -> Item:
    sentences = (Sentence(role="stereo", text="Japanese people are rude."), Sentence(role="anti", text="… nice."))
    facts = {"config": "c", "content": "0" * 64, "target": "Japanese", "sense_key": "k", "gloss": "g", **changes}
    return Item(row=row, sentences=sentences, **facts)  # type: ignore[arg-type]


def _plan(*items: Item) -> Plan:
    return Plan(
        project="p",
        release="tiny@1.0.0",
        content="f" * 64,
        kind="contrast",
        seed=0,
        overlap=3,
        questions=("sense", "stereotype", "natural", "withhold"),
        items=items,
    )


def _answers(row: str, *changes: Mapping[str, str], groups: Sequence[Sequence[str]] = ()) -> list[Annotation]:
    """An annotation per mapping, each of somebody else, who says that all is fine but for what is given."""
    return [
        Annotation(
            id=f"{row}-{number}",
            row=row,
            content="0" * 64,
            annotator=f"a{number}",
            answers={key: value for key, value in {**FINE, **change}.items() if value},
            groups=tuple(groups[number]) if groups else (),
        )
        for number, change in enumerate(changes)
    ]


def _one(annotations: Sequence[Annotation], rule: Rule | None = None, claim: Claim | None = None) -> Decision:
    (decision,) = decide(_plan(_item()), annotations, rule or Rule(), {"r1": claim or CLAIM})
    return decision


def test_a_row_that_all_find_fine_is_kept() -> None:
    """No objection, no doubt: kept, with how many answered."""
    decision = _one(_answers("r1", {}, {}, {}))
    assert (decision.state, decision.reason, decision.answers) == ("keep", "3 answers", 3)


@pytest.mark.parametrize(
    ("key", "choice", "reason"),
    [
        ("sense", "no", "sense: no, not used in the meaning shown (2 of 3)"),
        ("natural.anti", "no", "natural.anti: no, not natural (2 of 3)"),
        (
            "stereotype.stereo",
            "neither",
            "stereotype.stereo: neither, not a stereotype where the annotators live (2 of 3)",
        ),
        ("withhold", "yes", "withhold: yes, people do not want it to be used (2 of 3)"),
    ],
)
def test_two_of_three_reject(key: str, choice: str, reason: str) -> None:
    """Each question that can speak against a row does so by majority, and one voice does not."""
    decision = _one(_answers("r1", {key: choice}, {key: choice}, {}))
    assert (decision.state, decision.reason) == ("reject", reason)
    assert _one(_answers("r1", {key: choice}, {}, {})).state == "keep"


def test_sentences_the_other_way_round_are_contested() -> None:
    """People see the stereotype in the sentence that the release has as its counterpart."""
    other = {"stereotype.stereo": "anti-stereotype", "stereotype.anti": "stereotype"}
    decision = _one(_answers("r1", other, other, {}))
    assert (decision.state, decision.contested) == ("reject", True)
    assert decision.reason == (
        "contested: people see the stereotype in the other sentence: "
        "stereotype.stereo: anti-stereotype (2 of 3), stereotype.anti: stereotype (2 of 3)"
    )


def test_two_stereotypes_do_not_contest() -> None:
    """Where people know both sentences as stereotypes, the stereo one still is what the release says."""
    both = {"stereotype.anti": "stereotype"}
    assert _one(_answers("r1", both, both, both)).state == "keep"


def test_a_tie_is_no_decision() -> None:
    """One yes and one no: the row stays open, and what is tied is named."""
    decision = _one(_answers("r1", {"natural.stereo": "no"}, {}))
    assert (decision.state, decision.reason) == ("undecided", "natural.stereo: a tie: no 1, yes 1")


def test_half_is_no_majority() -> None:
    """Two of four with the others divided are the most, and still not more than half."""
    decision = _one(_answers("r1", {"sense": "no"}, {"sense": "no"}, {"sense": "unsure"}, {}))
    assert (decision.state, decision.reason) == ("undecided", "sense: no majority: no 2, unsure 1, yes 1")


def test_a_doubt_elsewhere_does_not_save_a_row() -> None:
    """What is rejected for one reason is rejected, whatever is open besides."""
    decision = _one(_answers("r1", {"natural.stereo": "no", "sense": "no"}, {"natural.stereo": "no"}))
    assert (decision.state, decision.reason) == (
        "reject",
        "natural.stereo: no, not natural (2 of 2)",
    )


def test_one_answer_decides_nothing_unless_asked() -> None:
    """Two answers are needed by default; the threshold can be moved."""
    alone = _answers("r1", {"sense": "no"})
    assert _one(alone).state == "undecided"
    assert _one(alone).reason.startswith("sense: 1 of at least 2 answers; ")
    assert _one(alone, Rule.of("majority", least=1)).state == "reject"


def test_most_unsure_is_no_decision() -> None:
    """Unsure is an answer, but it neither rejects a row nor keeps it."""
    decision = _one(_answers("r1", {"sense": "unsure"}, {"sense": "unsure"}, {}))
    assert (decision.state, decision.reason) == ("undecided", "sense: unsure (2 of 3)")


def test_nobody_has_to_answer_withhold() -> None:
    """It is an offer: without an answer to it the row is decided by the others."""
    assert _one(_answers("r1", {"withhold": ""}, {"withhold": ""})).state == "keep"


def test_thresholds_hold_per_question() -> None:
    """Two of three are 0.67: below the threshold of 0.7 of this question, and enough for the others."""
    rule = Rule.of("majority", thresholds={"natural": 0.7})
    two = [{"natural.stereo": "no", "sense": "no"}, {"natural.stereo": "no", "sense": "no"}, {}]
    assert _one(_answers("r1", *two), rule).reason == "sense: no, not used in the meaning shown (2 of 3)"
    assert _one(_answers("r1", {"natural.stereo": "no"}, {"natural.stereo": "no"}, {}), rule).state == "undecided"


@pytest.mark.parametrize("value", [0.0, 0.49, 1.01, -1.0])
def test_thresholds_that_make_no_sense_are_refused(value: float) -> None:
    """Below one half two choices could pass; above one none."""
    with pytest.raises(AnnotationError, match=r"is not a threshold: expected 0\.5 to 1"):
        Rule.of("majority", thresholds={"sense": value})


def test_rows_without_labels_are_not_judged_by_them() -> None:
    """Where the release does not say which sentence is the stereotype, nobody can deny it."""
    neither = {"stereotype.stereo": "neither", "stereotype.anti": "stereotype"}
    assert _one(_answers("r1", neither, neither), claim=Claim(labelled=False, targets=("Japanese",))).state == "keep"


def test_answers_to_other_words_decide_nothing() -> None:
    """The content hash of an answer is not that of the row: named, not counted."""
    stale = [Annotation(id="x", row="r1", content="1" * 64, annotator="z", answers={"sense": "no"})]
    decision = _one([*_answers("r1", {}, {}), *stale])
    assert (decision.state, decision.reason) == ("changed", "the answers are to other words than the plan's")


def test_rows_that_read_otherwise_in_the_release_are_not_decided() -> None:
    """A row that the release lacks, or whose sentences are others there, has no claim: named, not decided."""
    (decision,) = decide(_plan(_item()), _answers("r1", {"sense": "no"}, {"sense": "no"}), Rule(), {})
    assert (decision.state, decision.reason) == ("changed", "differs in the release from the row that people saw")


def test_skipped_answers_do_not_count() -> None:
    """Skipped: nobody answered. Drafts are no answers either."""
    answers = {"sense": "no"}
    kinds = [("skipped", "a"), ("draft", "b")]
    given_ = [
        Annotation(id=name, row="r1", content="0" * 64, annotator=name, answers=answers, status=status)
        for status, name in kinds
    ]
    assert _one(given_).state == "unanswered"


def test_the_last_answer_of_a_person_counts() -> None:
    """Who answered twice changed their mind: one voice, the later one."""
    first, second = _answers("r1", {"sense": "no"}, {})
    late = Annotation(
        id="z", row="r1", content="0" * 64, annotator="a0", answers=FINE, created="2026-01-02", updated="2026-01-02"
    )
    assert (_one([late, first, second]).state, _one([late, first, second]).answers) == ("keep", 2)


# Reports of the targeted group: the row is about Japanese people; one of three annotators says that they are Japanese.
OURS = [["Japanese"], ["Spanish"], []]


def test_a_majority_does_not_overrule_the_targeted_group() -> None:
    """One Japanese annotator reports, two others do not mind: rejected, and named."""
    decision = _one(_answers("r1", {"withhold": "yes"}, {}, {}, groups=OURS))
    assert decision.state == "reject"
    assert decision.reason == "reported as harmful by annotators of the targeted group"
    assert decision.reported


def test_who_keeps_a_reported_row_says_so() -> None:
    """`keep_reported` keeps it, and the reason tells both."""
    decision = _one(_answers("r1", {"withhold": "yes"}, {}, {}, groups=OURS), Rule.of("majority", keep_reported=True))
    assert (decision.state, decision.reported) == ("keep", True)
    assert decision.reason.startswith("reported as harmful by annotators of the targeted group, but kept")
    assert decision.reason.endswith("because of --keep-reported")


def test_a_reported_row_that_stays_by_a_tie_says_so() -> None:
    """`keep_reported`, and no majority on another question: undecided, and the card counts it as not rejected."""
    tie = [{"withhold": "yes"}, {"natural.stereo": "no"}, {"natural.stereo": ""}]
    rule = Rule.of("majority", keep_reported=True)
    decision = _one(_answers("r1", *tie, groups=OURS), rule)
    assert decision.state == "undecided"
    assert decision.reason.endswith("because of --keep-reported; natural.stereo: a tie: no 1, yes 1")
    told = summarise_round(_plan(_item()), [], [decision], rule)
    assert told.verdicts == {
        "reject": 0,
        "keep": 0,
        "undecided": 1,
        "reported by the targeted group": 1,
        "reported, and not rejected": 1,
    }


def test_groups_that_no_row_names_are_told() -> None:
    """Of those who object: *asian* may be meant for *Japanese*; the Spanish annotator objects to nothing."""
    said = _answers("r1", {"withhold": "yes"}, {}, {"withhold": "yes"}, groups=[["asian"], ["spanish"], ["japanese"]])
    assert unmatched_groups({"r1": said}, {"r1": ("Japanese",), "r2": ("French",)}) == ["asian"]


def test_reports_of_others_are_a_voice_among_voices() -> None:
    """A Spanish annotator's report on a row about Japanese people is one of three: no majority, no rejection."""
    decision = _one(_answers("r1", {}, {"withhold": "yes"}, {}, groups=OURS))
    assert (decision.state, decision.reported) == ("keep", False)


def test_groups_named_once_hold_for_all_rows() -> None:
    """Who said of themselves in one annotation which group they are of is of that group in all."""
    said = _answers("r1", {}, {}, {}, groups=OURS)
    silent = _answers("r2", {"withhold": "yes"}, {}, {})
    first, second = decide(_plan(_item("r1"), _item("r2")), [*said, *silent], Rule(), {"r1": CLAIM, "r2": CLAIM})
    assert (first.state, second.state) == ("keep", "reject")


@pytest.mark.parametrize(
    ("groups", "targets", "inside"),
    [
        (["japanese"], ["Japanese"], True),
        (["Japanese American"], ["Japanese"], True),
        (["Japan"], ["Japanese"], False),
        (["women"], ["woman"], True),
        (["hikers"], ["hiker"], True),
        (["Filipinas, ladies"], ["Filipina"], True),
        (["Que\u0301be\u0301cois"], ["Qu\u00e9b\u00e9cois"], True),
        (["non-Japanese"], ["Japanese"], False),
        (["not Japanese"], ["Japanese"], False),
        (["neither Japanese nor Korean"], ["Japanese"], False),
        (["I am never Japanese"], ["Japanese"], False),
        (["isn't Japanese"], ["Japanese"], False),
        (["anti-Japanese"], ["Japanese"], False),
        (["ex-angler"], ["angler"], False),
        (["bosses"], ["boss"], True),
        (["coaches"], ["coach"], True),
        (["actress"], ["actresses"], True),
        (["wives"], ["wife"], True),
        (["thieves"], ["thief"], True),
        (["child"], ["children"], True),
        (["men"], ["man"], True),
        (["houses"], ["house"], True),
        (["boss"], ["bos"], False),
        ([], ["Japanese"], False),
        (["anything"], [""], False),
        (["STRASSE"], ["Straße"], True),
    ],
)
def test_who_belongs_to_a_group(groups: list[str], targets: list[str], inside: bool) -> None:
    """All words of the target, in whatever case and number, and no empty target that everybody would belong to."""
    assert belongs(groups, targets) is inside


def test_inference_is_held_against_the_release() -> None:
    """People say entailment, the release says neutral: rejected; they agree: kept."""
    item = Item(row="r1", config="c", content="0" * 64, sentences=(Sentence(role="premise", text="A."),))
    plan = Plan(
        project="p",
        release="t@1.0.0",
        content="",
        kind="inference",
        seed=0,
        overlap=2,
        questions=("inference",),
        items=(item,),
    )
    said = [
        Annotation(id=name, row="r1", content="0" * 64, annotator=name, answers={"inference": "entailment"})
        for name in "ab"
    ]
    (wrong,) = decide(plan, said, Rule(), {"r1": Claim(kind="inference", gold="neutral")})
    (right,) = decide(plan, said, Rule(), {"r1": Claim(kind="inference", gold="entailment")})
    assert (wrong.state, wrong.reason) == ("reject", "inference: entailment, but the release says neutral (2 of 2)")
    assert right.state == "keep"


def test_posteriors_decide_where_they_are_asked_for() -> None:
    """0.81 is above the threshold of 0.8, and 0.79 is not."""
    rule = Rule.of("dawid-skene")
    assert by_posterior({"no": 0.81, "yes": 0.19}, 2, rule, "sense").choice == "no"
    assert by_posterior({"no": 0.79, "yes": 0.21}, 2, rule, "sense").detail == "not likely enough: no p = 0.79"
    assert by_posterior({"no": 1.0}, 1, rule, "sense").detail == "1 of at least 2 answers"


def test_only_decided_rows_become_verdicts() -> None:
    """Reject and keep are written, ties and unanswered rows are not, all are counted."""
    plan = _plan(_item("r1"), _item("r2"), _item("r3"), _item("r4"))
    answers = [
        *_answers("r1", {"sense": "no"}, {"sense": "no"}),
        *_answers("r2", {}, {}),
        *_answers("r3", {"sense": "no"}, {}),
    ]
    decisions = decide(plan, answers, Rule(), dict.fromkeys(("r1", "r2", "r3", "r4"), CLAIM))
    verdicts = [*make_verdicts(decisions, plan, Rule())]
    assert [(each.id, each.verdict, each.rule, each.source) for each in verdicts] == [
        ("r1", "reject", "majority", "tiny@1.0.0"),
        ("r2", "keep", "majority", "tiny@1.0.0"),
    ]
    assert count_states(decisions) == {"reject": 1, "keep": 1, "undecided": 1, "changed": 0, "unanswered": 1}


def test_answers_that_no_question_has_do_not_count() -> None:
    """A table that was edited by hand may hold anything: what is no choice is no voice."""
    said = _answers("r1", {"sense": "no"}, {"sense": "no"}, {"sense": "NO"}, {"sense": "maybe"}, {"sense": "maybe"})
    assert _one(said).reason == "sense: no, not used in the meaning shown (2 of 2)"


_VOICES = st.lists(
    st.tuples(st.sampled_from(["yes", "no", ""]), st.sampled_from([(), ("Japanese",), ("French",)])),
    min_size=1,
    max_size=7,
)


@given(_VOICES, st.booleans(), st.sampled_from(["majority", "dawid-skene"]), st.integers(1, 3))
def test_no_rule_overrules_the_targeted_group_without_saying_so(
    voices: list[tuple[str, tuple[str, ...]]], keep: bool, name: str, least: int
) -> None:
    """Whatever others answer: a report of the targeted group rejects, or the verdict says that it was kept."""
    rule = Rule.of(name, least=least, keep_reported=keep)
    said = _answers("r1", *({"withhold": answer} for answer, _ in voices), groups=[groups for _, groups in voices])
    decision = _one(said, rule)
    reported = any(answer == "yes" and "Japanese" in groups for answer, groups in voices)
    assert decision.reported == reported
    assert decision.reason.startswith("reported as harmful by annotators of the targeted group") == reported
    if reported and not keep:
        assert decision.state == "reject"
    if reported and keep and decision.state != "reject":
        assert "--keep-reported" in decision.reason


@given(st.lists(st.sampled_from(["yes", "no", "unsure"]), max_size=9), st.floats(0.5, 1))
def test_a_majority_is_what_counting_says(answers: list[str], share: float) -> None:
    """A choice passes only with more than half of the answers; which order they came in never matters."""
    rule = Rule.of("majority", least=1, threshold=share)
    outcome = by_majority(answers, rule, "sense")
    passing = [
        c for c in set(answers) if 2 * answers.count(c) > len(answers) and answers.count(c) / len(answers) >= share
    ]
    assert ([outcome.choice] if outcome.choice else []) == passing
    assert by_majority(sorted(answers), rule, "sense") == outcome
