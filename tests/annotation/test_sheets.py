"""Sheets: filled in by hand and read back, whatever a spreadsheet and a person make of them."""

import csv
import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.annotation.given import Given, contrast, gloss, make_plan, plan
from tests.profiles import examples

from senseprobe.annotation.cells import csv_bytes, read_cells
from senseprobe.annotation.guidelines import for_sheets
from senseprobe.annotation.records import Plan
from senseprobe.annotation.sheets import Sheet, read_sheet, sheets
from senseprobe.errors import AnnotationError

Cells = list[list[str]]


def _cells(data: bytes) -> Cells:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def _column(cells: Cells, name: str) -> int:
    return next(number for number, head in enumerate(cells[0]) if head.split(":")[0].split(" (")[0] == name)


def _row_of(cells: Cells, made: Plan, row: str) -> list[str]:
    number = next(number for number, item in enumerate(made.items, 1) if item.row == row)
    return next(each for each in cells[1:] if each[0] == str(number))


def _written(folder: Path, cells: Cells, delimiter: str = ",", encoding: str = "utf-8-sig") -> Path:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(cells)
    path = folder / "sheet.csv"
    path.write_bytes(out.getvalue().encode(encoding))
    return path


def test_what_a_person_sees() -> None:
    """Sentences with the target in brackets, the meaning, a column for each question with its words; no id, no role."""
    made = plan(3, overlap=1)
    cells = _cells(sheets(made, ["ann"])["ann"])
    assert cells[0][:5] == ["item", "check", "sentence 1", "sentence 2", "meaning"]
    assert cells[0][6] == (
        "stereotype-1: Where you live, is this a known stereotype? [Yes / The opposite / Neither / I am not sure]"
    )
    assert len(cells) == 4
    assert {cells[1][2][:19]} == {"The [black] dress i"}
    assert set(cells[1][5:]) == {""}
    assert not any("c." in cell or cell in ("stereo", "anti") for row in cells for cell in row)


def test_everybody_gets_their_share() -> None:
    """Each item goes to as many people as the plan says, and whoever shares items shares them with several."""
    made = plan(60, overlap=3)
    given_ = {name: {row[0] for row in _cells(data)[1:]} for name, data in sheets(made, list("abcdef")).items()}
    assert Counter(number for numbers in given_.values() for number in numbers) == {str(n): 3 for n in range(1, 61)}
    assert {len(numbers) for numbers in given_.values()} == {30}
    assert all(given_["a"] & given_[other] for other in "bcef")
    orders = [[row[0] for row in _cells(data)[1:]] for data in sheets(plan(20, overlap=2), ["a", "b"]).values()]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])


@pytest.mark.parametrize(
    ("told", "annotators", "message"),
    [
        ({}, ["a", "b"], "2 annotators cannot give 3 answers"),
        ({}, ["a", "b", "a"], "named twice"),
        ({"prefill": True}, ["a", "b", "c"], "omit --prefill"),
    ],
)
def test_sheets_that_cannot_be_are_refused(told: dict[str, Any], annotators: list[str], message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        sheets(plan(**told), annotators)


@pytest.mark.parametrize(("delimiter", "encoding"), [(",", "utf-8-sig"), (";", "utf-8"), ("\t", "utf-8")])
def test_answers_come_back(delimiter: str, encoding: str, tmp_path: Path) -> None:
    """In the roles of the plan, whatever case, blanks, order of rows and columns, and kind of CSV."""
    made = plan(3, overlap=1)
    cells = _cells(sheets(made, ["ann"])["ann"])
    row = _row_of(cells, made, "c.1")
    item = next(item for item in made.items if item.row == "c.1")
    for name, text in {
        "sense": " YES",
        "stereotype-2": "Anti-Stereotype ",
        "whom-2": "  old men",
        "comment": "é;,",
    }.items():
        row[_column(cells, name)] = text
    turned = [list(reversed(each)) for each in (cells[0], *reversed(cells[1:]))]
    for form in (cells, turned):
        sheet = read_sheet(made, _written(tmp_path, form, delimiter, encoding), "p-1")
        role = item.sentences[1].role
        assert not sheet.findings
        (got,) = sheet.annotations
        assert got.answers == {
            "sense": "yes",
            f"stereotype.{role}": "anti-stereotype",
            f"whom.{role}": "old men",
            "comment": "é;,",
        }
        assert (got.id, got.row, got.content, got.annotator) == ("p-1/c.1", "c.1", item.content, "p-1")
        assert got.status == "submitted"


@pytest.mark.parametrize(
    ("name", "texts", "choice"),
    [
        # By hand, from the heads of sheets, from READ-ME-FIRST, and from the names that docs/annotation.md has.
        (
            "stereotype-1",
            ["Yes", " yes ", "YES.", "Yes: people often say this about a whole group of people"],
            "stereotype",
        ),
        ("stereotype-1", ["The opposite", "the  Opposite", "Anti-Stereotype"], "anti-stereotype"),
        ("stereotype-1", ["Neither", "neither"], "neither"),
        ("stereotype-1", ["I am not sure", "unsure"], "unsure"),
        ("sense", ["Yes", "yes"], "yes"),
        ("withhold", ["I would rather not have it used", "yes"], "yes"),
        ("withhold", ["It may be used", "it may be used.", "No"], "no"),
    ],
)
def test_answers_are_taken_in_either_spelling(name: str, texts: list[str], choice: str, tmp_path: Path) -> None:
    """The words that people read and the names that tables have are the same answers."""
    made = plan(1, overlap=1)
    for text in texts:
        cells = _cells(sheets(made, ["ann"])["ann"])
        cells[1][_column(cells, name)] = text
        sheet = read_sheet(made, _written(tmp_path, cells), "p-1")
        assert not sheet.findings
        assert [*sheet.annotations[0].answers.values()] == [choice]


def test_every_word_of_a_sheet_is_taken(tmp_path: Path) -> None:
    """What the head of a column offers, in its order, is what is read: as many answers as there are choices."""
    made = plan(1, overlap=1)
    cells = _cells(sheets(made, ["ann"])["ann"])
    offered = {
        head.partition(":")[0]: head.rpartition(" [")[2].rstrip("]").split(" / ") for head in cells[0] if "[" in head
    }
    assert {*offered} == {"sense", "stereotype-1", "stereotype-2", "natural-1", "natural-2", "withhold"}
    for name, words in offered.items():
        read = set()
        for word in words:
            assert f"“{word}”" in for_sheets(made)
            form = [cells[0], [*cells[1]]]
            form[1][_column(cells, name)] = word
            (annotation,) = read_sheet(made, _written(tmp_path, form), "p-1").annotations
            read |= {*annotation.answers.values()}
        assert len(read) == len(words)


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_all_answers_come_back(data: st.DataObject, tmp_path: Path) -> None:
    """Any answers that the questions have, in any cells: exactly these are read, and nothing is a fault."""
    from senseprobe.annotation.questions import controls, question_of

    made = plan(4, overlap=1)
    cells = _cells(sheets(made, ["ann"])["ann"])
    wanted: dict[str, dict[str, str]] = {}
    words = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=20).map(str.strip)
    for item in made.items:
        for name, key in controls(made, item).items():
            choices = [*question_of(key).choices]
            text = data.draw(st.sampled_from(["", *choices]) if choices else words)
            if text:
                _row_of(cells, made, item.row)[_column(cells, name)] = text
                wanted.setdefault(item.row, {})[key] = text
    (tmp_path / "sheet.csv").write_bytes(csv_bytes(cells))
    sheet = read_sheet(made, tmp_path / "sheet.csv", "p-1")
    assert [fault.code for fault in sheet.findings] == ([] if wanted else ["A106"])
    assert {each.row: dict(each.answers) for each in sheet.annotations} == wanted


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    """What a spreadsheet would run is behind an apostrophe, and comes back without it."""
    odd = ["=1+1", "+1", "-1", "@a", "\tx", "'quoted", "plain", "a=b"]
    rows = [contrast(number, stereo=text, stereo_span=None) for number, text in enumerate(odd)]
    made = make_plan(Given({"c": rows}), project="a test", n=99, overlap=1, gloss=gloss)
    cells = _cells(sheets(made, ["ann"])["ann"])
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in cells for cell in row)
    assert {cell for row in cells for cell in row} >= {"'=1+1", "'+1", "'-1", "'@a", "''quoted", "plain", "a=b"}
    (tmp_path / "x.csv").write_bytes(csv_bytes([["head"], *([text] for text in odd)]))
    assert [row.cells for row in read_cells(tmp_path / "x.csv")[1:]] == [[text] for text in odd]


def _fault(made: Plan, cells: Cells, name: str, text: str) -> tuple[Cells, int]:
    row = _row_of(cells, made, "c.0")
    row[_column(cells, name)] = text
    return cells, cells.index(row) + 1


@pytest.mark.parametrize(
    ("name", "text", "code", "message"),
    [
        ("item", "99", "A101", "'99' is not an item of the plan: 1 to 3"),
        ("item", "0", "A101", "'0' is not an item"),
        ("item", "one", "A101", "'one' is not an item"),
        ("item", "9" * 5000, "A101", "is not an item"),
        ("check", "c000000000000", "A102", "differs in this plan"),
        (
            "stereotype-1",
            "stereotyp",
            "A103",
            "'stereotyp' is not an answer to stereotype-1: expected Yes, The opposite",
        ),
        ("natural-2", "\x1b[2J", "A103", "is not an answer to natural-2"),
        ("comment", "x" * 10_001, "A103", "10001 characters; the limit is 10000"),
    ],
)
def test_odd_cells_are_named(name: str, text: str, code: str, message: str, tmp_path: Path) -> None:
    """File, line and column, by the number of the line that a spreadsheet shows; the other cells are read."""
    made = plan(3, overlap=1)
    cells = _cells(sheets(made, ["ann"])["ann"])
    _row_of(cells, made, "c.0")[_column(cells, "withhold")] = "no"
    cells, line = _fault(made, cells, name, text)
    sheet = read_sheet(made, _written(tmp_path, cells), "p-1")
    (fault,) = sheet.findings
    assert (fault.line, fault.column, fault.code) == (line, _column(cells, name) + 1, code)
    assert message in fault.message
    assert str(fault).isprintable()
    assert [dict(each.answers) for each in sheet.annotations] == (
        [] if name in ("item", "check") else [{"withhold": "no"}]
    )


def test_lines_are_counted_as_they_are(tmp_path: Path) -> None:
    """A cell of several lines makes the lines of the file more than its rows."""
    made = plan(3, overlap=1)
    cells = _cells(sheets(made, ["ann"])["ann"])
    cells[1][_column(cells, "comment")] = "one\ntwo\nthree"
    cells[2][_column(cells, "natural-1")] = "perhaps"
    sheet = read_sheet(made, _written(tmp_path, cells), "p-1")
    assert [fault.line for fault in sheet.findings] == [5]  # a head, three lines, then this


@pytest.mark.parametrize("line", ["sep=;", "SEP=;", '"sep=;"', "sep=;;;;;"])
def test_excels_own_first_line_is_none(line: str, tmp_path: Path) -> None:
    """It says what stands between cells; lines are counted with it."""
    made = plan(3, overlap=1)
    cells = _cells(sheets(made, ["ann"])["ann"])
    cells[1][_column(cells, "natural-1")], cells[2][_column(cells, "natural-1")] = "yes", "perhaps"
    path = _written(tmp_path, cells, delimiter=";")
    path.write_bytes(f"{line}\r\n".encode() + path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    sheet = read_sheet(made, path, "p-1")
    assert ([fault.line for fault in sheet.findings], len(sheet.annotations)) == ([4], 1)


def test_an_item_that_is_there_twice_is_told(tmp_path: Path) -> None:
    made = plan(3, overlap=1)
    cells = _cells(sheets(made, ["ann"])["ann"])
    cells[1][_column(cells, "withhold")] = "no"
    again = [*cells[1]]
    again[_column(cells, "withhold")] = "yes"
    sheet = read_sheet(made, _written(tmp_path, [*cells, again]), "p-1")
    assert [fault.code for fault in sheet.findings] == ["A104"]
    assert [dict(each.answers) for each in sheet.annotations] == [{"withhold": "no"}]


def test_a_sense_that_is_not_asked_is_not_answered(tmp_path: Path) -> None:
    made = make_plan(
        Given({"c": [contrast(0), contrast(1, sense_key=None)]}), project="a test", n=2, overlap=1, gloss=gloss
    )
    cells = _cells(sheets(made, ["ann"])["ann"])
    for row in cells[1:]:
        row[_column(cells, "sense")] = "no"
    sheet = read_sheet(made, _written(tmp_path, cells), "p-1")
    assert [(fault.code, fault.message) for fault in sheet.findings] == [
        ("A103", "sense is not a question about this item")
    ]
    assert [each.row for each in sheet.annotations] == ["c.0"]


def test_groups_are_read_with_consent_only(tmp_path: Path) -> None:
    made = plan(2, overlap=1, groups=True)
    cells = _cells(sheets(made, ["ann"])["ann"])
    for number, consent in ((1, "Yes"), (2, "")):
        cells[number][_column(cells, "consent")] = consent
        cells[number][_column(cells, "groups")] = " women , Black people,women,"
        cells[number][_column(cells, "withhold")] = "no"
    sheet = read_sheet(made, _written(tmp_path, cells), "p-1")
    assert sorted(each.groups for each in sheet.annotations) == [(), ("black people", "women")]
    assert [fault.code for fault in sheet.findings] == ["A105"]
    cells[1][_column(cells, "groups")] = ",".join(f"g{number:02}" for number in range(23))
    sheet = read_sheet(made, _written(tmp_path, cells), "p-1")
    assert [fault.message for fault in sheet.findings if fault.line == 2] == [
        "omitted groups (after the first 20, or longer than 100 characters): 3"
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cells: [], "is empty"),
        (lambda cells: [row[1:] for row in cells], "sheet.csv:1: column item is missing: expected item, check, sense"),
        (lambda cells: [[*row, row[0]] for row in cells], "sheet.csv:1: column item occurs twice"),
        (lambda cells: [[*row, "age"] for row in cells], "sheet.csv:1: unknown column age"),
    ],
)
def test_a_sheet_of_something_else_is_refused(change: Callable[[Cells], Cells], message: str, tmp_path: Path) -> None:
    made = plan(2, overlap=1)
    path = _written(tmp_path, change(_cells(sheets(made, ["ann"])["ann"])))
    with pytest.raises(AnnotationError, match=message):
        read_sheet(made, path, "p-1")


def test_a_sheet_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match=r"none\.csv: cannot be read"):
        read_sheet(plan(1), tmp_path / "none.csv", "p-1")


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_anything_is_read_or_refused(data: st.DataObject, tmp_path: Path) -> None:
    """Any bytes, and a sheet with any cells: annotations and faults, or one line that says what is wrong."""
    made = plan(2, overlap=1, groups=True)
    good = sheets(made, ["ann"])["ann"]
    raw = data.draw(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
    at = data.draw(st.integers(0, len(good)))
    until = data.draw(st.integers(at, len(good)))
    (tmp_path / "sheet.csv").write_bytes(data.draw(st.sampled_from([raw, good[:at] + raw + good[until:]])))
    try:
        told, sheet = "", read_sheet(made, tmp_path / "sheet.csv", "p-1")
    except AnnotationError as error:
        told, sheet = str(error), Sheet((), ())
    assert told.isprintable()
    assert all(str(fault).isprintable() for fault in sheet.findings)
    assert {each.row for each in sheet.annotations} <= {item.row for item in made.items}
