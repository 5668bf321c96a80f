"""Exports that were edited by hand or made to harm: read, or refused in one line; never a traceback."""

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.annotation.making import JUDGED, exported, judged, marked, plan, received
from tests.profiles import examples

from senseprobe.annotation.answers import read_answers, write_answers
from senseprobe.annotation.label_studio.exports import ParsedExport, parse_export
from senseprobe.annotation.questions import keys, question_of
from senseprobe.errors import AnnotationError

ASKED = plan(3, groups=True)
WHOLE = exported(ASKED, {n: [judged(ASKED, n, 10 * n + who, who, JUDGED) for who in (1, 2)] for n in range(3)})

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["yes", "race.f.0", "withhold", "stereotype-1", "", "\ud800", "=1+1", "2026-11-21T20:00:00Z"])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "data", "annotations", "result", "value", "choices", "text", "from_name", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def assert_sound(found: ParsedExport) -> None:
    """Only rows that were asked about, answers that were offered, one annotation by each person of each row."""
    items = {item.row: item for item in ASKED.items}
    for each in found.annotations:
        item = items[each.row]
        assert each.content == item.content
        assert (each.status == "submitted") == bool(each.answers)
        for key, value in each.answers.items():
            assert key in keys(ASKED, item)
            assert value
            assert value in (choices := question_of(key).choices) or not choices
    assert len({(each.row, each.annotator) for each in found.annotations}) == len(found.annotations)
    assert len({each.id for each in found.annotations}) == len(found.annotations)
    assert all(str(fault).isprintable() for fault in found.findings)


def assert_read_or_refused(raw: bytes) -> None:
    """What is read is sound; what is refused is told in one line."""
    told = ""
    try:
        assert_sound(parse_export(raw, ASKED, str))
    except AnnotationError as refused:
        told = str(refused)
    assert not told or told.isprintable()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401 - whatever JSON holds
    """Paths of all values in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


PLACES = [place for place in places(WHOLE) if place]


@settings(max_examples=examples(200))
@given(edits=st.lists(st.tuples(st.sampled_from(PLACES), JSON), min_size=1, max_size=4))
def test_an_export_edited_by_hand_is_read_or_refused(edits: list[tuple[tuple[Any, ...], Any]]) -> None:
    told = copy.deepcopy(WHOLE)
    for place, value in edits:
        put(told, place, value)
    assert_read_or_refused(json.dumps(told).encode())


def put(told: Any, place: tuple[Any, ...], value: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Put a value into a place, if it is still there."""
    try:
        for key in place[:-1]:
            told = told[key]
        told[place[-1]] = value
    except (KeyError, IndexError, TypeError):
        return


@settings(max_examples=examples(150))
@given(told=JSON)
@example(told=[{"data": {"ext_id": []}}])
@example(told=[{"data": {"ext_id": {}}, "annotations": []}])
def test_any_json_is_read_or_refused(told: object) -> None:
    assert_read_or_refused(json.dumps(told).encode())


@settings(max_examples=examples(150))
@given(raw=st.binary(max_size=60), cut=st.integers(0, 3_000))
def test_any_bytes_are_read_or_refused(raw: bytes, cut: int) -> None:
    whole = json.dumps(WHOLE).encode()
    for told in (raw, whole[:cut] + raw, whole[:cut] + raw + whole[cut:]):
        assert_read_or_refused(told)


def test_the_order_of_tasks_and_annotations_does_not_matter() -> None:
    """Also with a repeated id, and annotations of one time."""
    told = copy.deepcopy(WHOLE)
    told[0]["annotations"] += [marked(1, 2), judged(ASKED, 0, 99, 1, {**JUDGED, "withhold": "yes"})]
    told.append(copy.deepcopy(told[0]))
    expected = received(ASKED, told)
    rng = random.Random(0)  # noqa: S311 - no secret
    for _ in range(20):
        for task in told:
            rng.shuffle(task["annotations"])
        rng.shuffle(told)
        found = received(ASKED, told)
        assert found.annotations == expected.annotations
        assert [(fault.kind, fault.count) for fault in found.findings] == [
            (fault.kind, fault.count) for fault in expected.findings
        ]


@settings(max_examples=examples(100))
@given(text=st.text(min_size=1) | st.sampled_from(["=1+1", "'=1", "''", "+", "-1", "@x", "\t", "a\nb", "'", "\r"]))
def test_what_is_read_of_an_export_goes_through_the_tables(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever people type: written, read back, the same; and no cell is a formula."""
    folder = tmp_path_factory.mktemp("project")
    asked = plan(1)
    told = received(asked, exported(asked, {0: [judged(asked, 0, 1, 7, {**JUDGED, "comment": text})]})).annotations
    write_answers(folder, told)

    back = read_answers(folder)
    assert [dict(each.answers) for each in back] == [dict(each.answers) for each in told]
