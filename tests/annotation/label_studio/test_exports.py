"""Exports of Label Studio: what is read of them, and what is odd, each kind counted and named."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.annotation.making import JUDGED, exported, faults, item, judged, marked, plan, received, result

from senseprobe.annotation.label_studio.exports import KINDS, parse_export
from senseprobe.errors import AnnotationError


def test_answers_come_back_by_role_whatever_the_order_on_the_screen() -> None:
    """Item 1 shows its counterpart first, so `stereotype-2` is of the role `stereo` there."""
    asked = plan(2)
    assert [sentence.role for sentence in asked.items[1].sentences] == ["anti", "stereo"]
    results = [result("stereotype-1", "neither"), result("stereotype-2", "stereotype"), result("natural-1", "no")]
    found = received(asked, exported(asked, {0: [marked(1, 7, *results)], 1: [marked(2, 7, *results)]}))

    assert [dict(each.answers) for each in found.annotations] == [
        {"stereotype.stereo": "neither", "stereotype.anti": "stereotype", "natural.stereo": "no"},
        {"stereotype.stereo": "stereotype", "stereotype.anti": "neither", "natural.anti": "no"},
    ]


def test_an_annotation_is_read_whole() -> None:
    asked = plan(1)
    told = judged(asked, 0, 12, 7, {**JUDGED, "whom.stereo": " Black\r\npeople ", "comment": "fine"})
    (one,) = received(asked, exported(asked, {0: [told]})).annotations

    assert dict(one.answers) == {**JUDGED, "whom.stereo": "Black\npeople", "comment": "fine"}
    assert [*one.answers] == [
        "sense", "stereotype.stereo", "stereotype.anti", "whom.stereo", "natural.stereo", "natural.anti", "withhold",
        "comment",
    ]  # fmt: skip
    assert (one.id, one.row, one.annotator, one.status, one.seconds) == ("12", "race.f.0", "rater-7", "submitted", 4.25)
    assert (one.created, one.updated) == ("2026-11-21T20:00:00.123456Z", "2026-11-21T20:00:05.123456Z")
    assert one.content == asked.items[0].content


def test_skipped_annotations_are_apart_and_without_answers() -> None:
    """What was answered before the annotator skipped the task was not submitted."""
    asked = plan(1)
    told = judged(asked, 0, 1, 7, JUDGED, was_cancelled=True)
    found = received(asked, exported(asked, {0: [told, judged(asked, 0, 2, 8, JUDGED)]}))

    assert [(each.annotator, each.status, len(each.answers)) for each in found.annotations] == [
        ("rater-7", "skipped", 0),
        ("rater-8", "submitted", 6),
    ]
    assert found.findings == ()


def test_the_last_annotation_of_a_person_counts() -> None:
    """Also where the row was imported twice, as another task, and where the person skipped it once."""
    asked = plan(1)
    early = judged(asked, 0, 1, 7, {**JUDGED, "withhold": "yes"})
    late = judged(asked, 0, 2, 7, JUDGED, updated_at="2026-11-21T21:00:06+01:00")  # one second later, in UTC
    skip = judged(asked, 0, 3, 7, {}, was_cancelled=True, updated_at="2026-11-22T00:00:00Z")
    tasks = [*exported(asked, {0: [late, skip]}), *exported(asked, {0: [early]})]
    for told in (tasks, tasks[::-1]):
        found = received(asked, told)
        assert [each.id for each in found.annotations] == ["2"]
        assert faults(found) == {"duplicate": 2}
        assert str(found.findings[0]) == (
            "annotations that the same annotator replaced later (omitted): 2 (3 of race.f.0, 1 of race.f.0)"
        )


@pytest.mark.parametrize(
    ("who", "name"),
    [
        (7, "rater-7"),
        ({"id": 7, "email": "a@example.com"}, "rater-7"),  # one person, whichever way the export names them
        ({"email": "A@Example.com"}, "rater-a@example.com"),
        ("a@example.com", "rater-a@example.com"),
    ],
)
def test_annotators_are_named_by_id_or_address(who: object, name: str) -> None:
    asked = plan(1)
    assert received(asked, exported(asked, {0: [judged(asked, 0, 1, who, JUDGED)]})).annotations[0].annotator == name


@pytest.mark.parametrize("who", [None, "", True, -1, 1.5, [], {}, {"id": None}, {"email": 7}, 2**80])
def test_annotations_of_nobody_are_left_out(who: object) -> None:
    asked = plan(1)
    found = received(asked, exported(asked, {0: [judged(asked, 0, 1, who, JUDGED), judged(asked, 0, 2, 8, JUDGED)]}))
    assert (len(found.annotations), faults(found)) == (1, {"nobody": 1})


def test_the_export_of_another_project_is_refused() -> None:
    """Its answers must not take the place of those that are there."""
    asked, other = plan(2), plan([replace(item(n), row=f"other.{n}") for n in (5, 6, 7)])
    with pytest.raises(AnnotationError, match=r"none of 3 tasks belongs to this project: .* 3 "):
        received(asked, exported(other, {}))
    foreign = [{"id": 1, "data": {"text": "Hello"}, "annotations": []}]
    with pytest.raises(AnnotationError, match=r"none of 1 task .* without a row id .*\(task 1\)"):
        received(asked, foreign)
    mixed = received(asked, [*exported(asked, {}), *exported(other, {}), *foreign, "text", {"data": None}])
    assert (mixed.tasks, faults(mixed)) == (2, {"unknown": 3, "unnamed": 1, "task": 2})


def test_answers_to_other_words_are_left_out() -> None:
    """By the content hash, and where a text was changed by hand beside an old hash."""
    asked = plan(3)
    told = exported(asked, {n: [judged(asked, n, n + 1, 7, JUDGED)] for n in range(3)})
    told[0]["data"]["content"] = "0" * 63 + "9"
    told[1]["data"]["html_2"] = told[1]["data"]["html_2"].replace("people", "folks")
    found = received(asked, told)

    assert [each.row for each in found.annotations] == ["race.f.2"]
    assert str(found.findings[0]) == "tasks whose text differs from the plan (omitted): 2 (race.f.0, race.f.1)"


@pytest.mark.parametrize(
    ("results", "kind", "left"),
    [
        ([result("colour", "red")], "control", {}),
        ([result("stereotype", "neither")], "control", {}),  # without a position
        ([{"type": "relation", "from_id": "a", "to_id": "b"}], "control", {}),
        (["text", None, 7], "control", {}),
        ([result("withhold", "maybe")], "label", {}),
        ([result("withhold", "Yes")], "label", {}),  # what people read is no answer
        ([result("withhold", "yes", "no")], "several", {}),
        ([result("withhold", "yes"), result("withhold", "no")], "several", {}),
        ([{**result("withhold", "yes"), "value": "yes"}], "malformed", {}),
        ([{**result("withhold", "yes"), "value": {"choices": "yes"}}], "malformed", {}),
        ([{**result("withhold", "yes"), "value": {"choices": [["yes"]]}}], "malformed", {}),
        ([result("withhold", "yes"), result("withhold", "yes")], None, {"withhold": "yes"}),
        ([{**result("comment"), "value": {"text": "one text"}}], None, {"comment": "one text"}),
        ([result("comment", "a"), result("comment", "b")], None, {"comment": "a\nb"}),
        ([result("comment", "x" * 10_001)], "cut", {"comment": "x" * 10_000}),
        ([result("comment", "a\x00\ud800b")], None, {"comment": "a\ufffd\ufffdb"}),
        ([result("withhold")], None, {}),
    ],
)
def test_odd_answers_are_left_out_and_named(results: list[Any], kind: str | None, left: dict[str, str]) -> None:
    """The rest of the annotation stays."""
    asked = plan(1)
    known = {key: answer for key, answer in JUDGED.items() if key != "withhold"}
    told = judged(asked, 0, 1, 7, known)
    told["result"] += results
    found = received(asked, exported(asked, {0: [told]}))

    assert dict(found.annotations[0].answers) == {**known, **left}
    assert list(faults(found)) == ([kind] if kind else [])


def test_the_sense_is_not_read_where_it_was_not_asked() -> None:
    asked = plan([item(0, gloss=""), item(1)])
    told = {n: [judged(asked, n, n, 7, JUDGED)] for n in range(2)}
    found = received(asked, exported(asked, told))

    assert ["sense" in each.answers for each in found.annotations] == [False, True]
    assert faults(found) == {"unasked": 1}


def test_what_must_be_answered_is_missed() -> None:
    asked = plan(1)
    found = received(asked, exported(asked, {0: [judged(asked, 0, 1, 7, {"withhold": "yes"})]}))
    assert dict(found.annotations[0].answers) == {"withhold": "yes"}
    assert str(found.findings[0]).endswith("(kept): 1 (stereotype.stereo of 1 of race.f.0)")


def test_annotations_that_are_none_are_left_out() -> None:
    asked = plan(2)
    told: list[Any] = [marked(1, 7), "text", {"completed_by": 7}, {**marked(2, 7), "result": "[]"}]
    tasks = exported(asked, {0: told})
    tasks[0]["drafts"] = [{"id": 5}, {"id": 6}]
    tasks[1]["annotations"] = {"id": 1}
    found = received(asked, tasks)

    assert found.annotations == ()
    assert faults(found) == {"draft": 2, "annotation": 2, "empty": 2, "malformed": 2}


def test_the_same_annotation_exported_twice_counts_once() -> None:
    asked = plan(2)
    told = judged(asked, 0, 1, 7, JUDGED)
    found = received(asked, [*exported(asked, {0: [told]}), *exported(asked, {0: [told]})])
    assert (len(found.annotations), faults(found)) == (1, {"repeated": 1})


def test_times_that_are_none_are_left_open() -> None:
    asked = plan(1)
    told = judged(asked, 0, 1, 7, JUDGED, created_at="yesterday", updated_at=None, lead_time=-1)
    found = received(asked, exported(asked, {0: [told]}))
    (one,) = found.annotations
    assert (one.created, one.updated, one.seconds, faults(found)) == ("", "", None, {"malformed": 2})


def test_groups_are_read_with_consent_only() -> None:
    asked = plan(1, groups=True)
    groups, yes = result("groups", "Women, Black  British"), result("consent", "yes")
    base = judged(asked, 0, 1, 7, JUDGED)["result"]
    for results, expected, odd in (
        ([groups, yes], ("black british", "women"), {}),
        ([groups], (), {"consent": 1}),
        ([groups, result("consent", "no")], (), {"consent": 1}),
        ([yes], (), {}),
    ):
        found = received(asked, exported(asked, {0: [marked(1, 7, *base, *results)]}))
        assert (found.annotations[0].groups, faults(found)) == (expected, odd)
    many = result("groups", ",".join(f"g{number:02}" for number in range(23)))
    found = received(asked, exported(asked, {0: [marked(1, 7, *base, many, yes)]}))
    assert (len(found.annotations[0].groups), faults(found)) == (20, {"groups": 3})
    long = result("groups", f"{'x' * 101}, women")
    found = received(asked, exported(asked, {0: [marked(1, 7, *base, long, yes)]}))
    assert (found.annotations[0].groups, faults(found)) == (("women",), {"groups": 1})
    unasked = plan(1)
    found = received(unasked, exported(unasked, {0: [marked(1, 7, *base, groups, yes)]}))
    assert (found.annotations[0].groups, faults(found)) == ((), {"control": 2})


@pytest.mark.parametrize("how", ["earlier", "skipped", "nothing else"])
def test_groups_count_wherever_they_were_named(how: str) -> None:
    """In an annotation that a later one replaces, in a skipped one, and in one without answers."""
    asked = plan(2, groups=True)
    groups = [result("groups", "women"), result("consent", "yes")]
    base = judged(asked, 0, 1, 7, JUDGED)["result"]
    naming = {
        "earlier": marked(1, 7, *base, *groups),
        "skipped": {**marked(1, 7, *groups), "was_cancelled": True},
        "nothing else": marked(1, 7, *groups),
    }[how]
    found = received(asked, exported(asked, {0: [naming, marked(2, 7, *base)], 1: [judged(asked, 1, 3, 8, JUDGED)]}))
    assert [(each.annotator, each.groups) for each in found.annotations] == [("rater-7", ("women",)), ("rater-8", ())]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", r"is not JSON.*line 1"),
        (b"[1,", r"is not JSON.*line 1"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"{}", "is not a list of tasks"),
        (b"null", "is not a list of tasks"),
        (b"[" * 200_000, "too deep"),
        (b"[" + b"9" * 5_000 + b"]", "a number too long"),
        (json.dumps([{"annotation_id": 1, "annotator": 7, "ext_id": "r"}]).encode(), "JSON-MIN"),
    ],
)
def test_what_is_no_export_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(AnnotationError, match=message) as refused:
        parse_export(raw, plan(1), str)
    assert "\n" not in str(refused.value)


def test_an_empty_project_has_no_answers() -> None:
    assert received(plan(1), []).annotations == ()


def test_a_key_twice_is_named() -> None:
    """JSON keeps the last, so an answer may have been lost by hand-editing."""
    asked = plan(1)
    raw = json.dumps(exported(asked, {0: [judged(asked, 0, 1, 7, JUDGED)]}))
    found = parse_export(raw.replace('"lead_time"', '"id": 1, "lead_time"').encode(), asked, str)
    assert str(found.findings[0]).endswith("(key twice in one object: id)")


def test_no_fault_lets_a_terminal_be_steered() -> None:
    asked = plan(1)
    tasks = exported(asked, {0: [judged(asked, 0, 1, 7, JUDGED)]})
    tasks[0]["annotations"][0]["result"] += [result("\x1b[2J", "x"), result("withhold", "\x1b]0;x\x07")]
    tasks.append({"data": {"ext_id": "\x1b[31m" * 1_000, "content": ""}, "annotations": []})
    found = received(asked, tasks)

    assert list(faults(found)) == ["unknown", "control", "label"]
    assert all(str(fault).isprintable() and len(str(fault)) < 2_000 for fault in found.findings)
    assert {fault.kind for fault in found.findings} <= KINDS.keys()
