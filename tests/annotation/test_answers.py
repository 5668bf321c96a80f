"""`answers.csv`, `skipped.csv` and `groups.csv`: written, read back, and what changed between two pulls."""

import csv
import random
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.annotation.making import JUDGED, answer
from tests.profiles import examples

from senseprobe.annotation.answers import Changes, changes, read_answers, write_answers
from senseprobe.annotation.records import Annotation
from senseprobe.atomic_files import write_whole
from senseprobe.errors import AnnotationError

TIME = "2026-11-21T20:00:05.123456Z"
TOLD = [
    answer(0, "p-b", JUDGED, updated=TIME, seconds=4.25),
    answer(0, "p-a", {**JUDGED, "comment": '=HYPERLINK("x")'}, groups=("women",)),
    answer(1, "p-a", {}, status="skipped", updated=TIME, seconds=1.0, groups=("women",)),
    answer(1, "p-b", {"natural.anti": "no"}, seconds=None),
]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [*csv.DictReader(file)]


def test_answers_have_a_line_each_and_groups_are_apart(tmp_path: Path) -> None:
    write_answers(tmp_path, TOLD)
    answers = rows(tmp_path / "answers.csv")

    assert len(answers) == 6 + 7 + 1
    assert answers[-1] == {
        "row": "race.f.1", "content": f"{1:064x}", "question": "natural", "role": "anti", "annotator": "p-b",
        "value": "no", "annotation": "1-p-b", "updated": "", "seconds": "",
    }  # fmt: skip
    assert (answers[1]["updated"], answers[1]["seconds"]) == ("", "")
    assert [line["seconds"] for line in answers if line["annotator"] == "p-b"][:6] == ["4.250"] * 6
    assert [line["annotation"] for line in rows(tmp_path / "skipped.csv")] == ["1-p-a"]
    assert rows(tmp_path / "groups.csv") == [{"annotator": "p-a", "group": "women"}]
    assert "women" not in (tmp_path / "answers.csv").read_text() + (tmp_path / "skipped.csv").read_text()


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    write_answers(
        tmp_path, [answer(0, "=cmd", {"comment": text}, id=text) for text in ("=1", "+1", "-1", "@x", "\t=1")]
    )
    cells = [cell for line in rows(tmp_path / "answers.csv") for cell in line.values()]
    assert [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t")] == []


def test_the_same_annotations_give_the_same_bytes(tmp_path: Path) -> None:
    """Whatever their order, and that of their answers."""
    write_answers(tmp_path / "a", TOLD)
    turned = [replace(each, answers=dict([*each.answers.items()][::-1])) for each in TOLD]
    random.Random(1).shuffle(turned)  # noqa: S311 - no secret
    write_answers(tmp_path / "b", turned)
    for name in ("answers.csv", "skipped.csv", "groups.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_tables_are_read_back(tmp_path: Path) -> None:
    """All but the time at which an annotation was begun; groups are those that the person named anywhere."""
    write_answers(tmp_path, TOLD)
    back = read_answers(tmp_path)

    assert back == [TOLD[1], TOLD[0], TOLD[2], TOLD[3]]
    assert read_answers(tmp_path / "nowhere") == []


def test_groups_that_nobody_names_any_more_go(tmp_path: Path) -> None:
    write_answers(tmp_path, TOLD[:1])
    assert not (tmp_path / "groups.csv").exists()
    write_answers(tmp_path, TOLD)
    write_answers(tmp_path, TOLD[:1])
    assert rows(tmp_path / "groups.csv") == []


HEAD = "row,content,question,role,annotator,value,annotation,updated,seconds"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], r"answers.csv:1: columns are not row, content"),
        (["row,content"], r"answers.csv:1: columns are not row, content"),
        ([HEAD, "r,c,natural"], r"answers.csv:2: 3 cells, expected 9"),
        ([HEAD, ",c,natural,,p,yes,1,,"], r"answers.csv:2: annotation 1: no row"),
        ([HEAD, "r,c,natural,,p,,1,,"], r"answers.csv:2: annotation 1: no value"),
        ([HEAD, "r,c,natural,,p,yes,1,today,"], r"answers.csv:2: annotation 1: today is not a time"),
        ([HEAD, "r,c,natural,,p,yes,1,,soon"], r"answers.csv:2: annotation 1: soon is not a number of seconds"),
        ([HEAD, "r,c,natural,,p,yes,1,,nan"], r"nan is not a number"),
        (
            [HEAD, "r,c,natural,,p,yes,1,,", "r,c,natural,,p,no,1,,"],
            r"answers.csv:3: annotation 1: natural occurs tw",
        ),
        ([HEAD, "r,c,natural,,p,yes,1,,", "s,c,sense,,p,no,1,,"], r"answers.csv:3: annotation 1: differs from a line"),
        ([HEAD, '"r,c'], r"answers.csv:2: malformed CSV"),
    ],
)
def test_mistakes_of_a_table_are_named_with_their_place(tmp_path: Path, lines: list[str], message: str) -> None:
    (tmp_path / "answers.csv").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(AnnotationError, match=message):
        read_answers(tmp_path)


def test_tables_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(AnnotationError, match="is not UTF-8"):
        read_answers(tmp_path)
    (tmp_path / "answers.csv").unlink()
    (tmp_path / "answers.csv").symlink_to("/dev/zero")
    with pytest.raises(AnnotationError, match="is not a plain file"):
        read_answers(tmp_path)


@settings(max_examples=examples(150))
@given(
    raw=st.binary(max_size=40) | st.text(alphabet="\",\n;\t'=r1c.-", max_size=40).map(str.encode),
    cut=st.integers(0, 1_500),
    name=st.sampled_from(["answers.csv", "skipped.csv", "groups.csv"]),
)
@example(raw=b'\t"', cut=0, name="answers.csv")  # whose error has a tab in it
def test_a_damaged_table_is_read_or_refused(
    raw: bytes, cut: int, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In one line, never a traceback; what is read is one annotation by id, with answers that are not empty."""
    folder = tmp_path_factory.mktemp("project")
    write_answers(folder, TOLD)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:cut] + raw + whole[cut:])
    told, found = "", []
    try:
        found = read_answers(folder)
    except AnnotationError as refused:
        told = str(refused)
    assert not told or told.isprintable()
    assert len({each.id for each in found}) == len(found)
    assert all(each.row and each.annotator and all(each.answers.values()) for each in found)


@pytest.mark.parametrize("before", ["skipped", "submitted"])
@pytest.mark.parametrize("cut", [1, 2])
def test_tables_whose_writing_was_cut_off_are_read(
    before: str, cut: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was skipped is submitted now, or the other way round, and the program dies between two tables."""
    after = {"skipped": "submitted", "submitted": "skipped"}[before]
    states = {state: [replace(each, status=state) for each in TOLD] for state in (before, after)}
    write_answers(tmp_path, states[before])
    written: list[Path] = []

    def dies(path: Path, data: bytes) -> None:
        if len(written) == cut:
            raise KeyboardInterrupt
        written.append(path)
        write_whole(path, data)

    monkeypatch.setattr("senseprobe.annotation.cells.write_whole", dies)
    with pytest.raises(KeyboardInterrupt):
        write_answers(tmp_path, states[after])
    monkeypatch.undo()
    read_answers(tmp_path)
    write_answers(tmp_path, states[after])
    assert {each.status for each in read_answers(tmp_path)} == {after}


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").mkdir()
    with pytest.raises(AnnotationError, match=r"answers.csv cannot be written"):
        write_answers(tmp_path, TOLD)


def test_changes_between_two_pulls_are_told(tmp_path: Path) -> None:
    """Against what was written: a later time alone, or a time of beginning, is no change."""
    write_answers(tmp_path, TOLD)
    old = read_answers(tmp_path)
    touched = replace(TOLD[0], updated="2026-11-22T00:00:00.000000Z", created=TIME)
    assert changes(old, [touched, *TOLD[1:]]) == Changes(new=(), edited=(), deleted=())

    edited = replace(TOLD[0], answers={**JUDGED, "withhold": "yes"})
    unskipped = replace(TOLD[2], status="submitted", answers=JUDGED)
    found = changes(old, [edited, TOLD[1], unskipped, answer(2, "p-a", JUDGED), answer(2, "p-b", JUDGED)])
    assert (found.new, found.edited, found.deleted) == (("2-p-a", "2-p-b"), ("0-p-b", "1-p-a"), ("1-p-b",))
    assert str(found) == "2 new, 2 edited (0-p-b, 1-p-a), 1 deleted (1-p-b)"


def test_ids_are_sorted_as_numbers_are() -> None:
    told = [Annotation(id=name, row=name, content="c", annotator="a", answers={}) for name in ("10", "9", "11")]
    assert changes([], told).new == ("9", "10", "11")


def test_answers_are_for_all_to_read(tmp_path: Path) -> None:
    """They can be released; the secret cannot (test_pseudonyms.py)."""
    write_answers(tmp_path, TOLD)
    assert (tmp_path / "answers.csv").stat().st_mode & stat.S_IRUSR
