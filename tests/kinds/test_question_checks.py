"""Each check of questions finds one planted defect, and nothing in what is only near it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kinds.question_projects import BALANCED, BLOCK, LINES, PEOPLE, PHONE, write_project

from senseprobe.generator.checks import lint_paths
from senseprobe.generator.checks.codes import codes_of_kind, page
from senseprobe.kinds.question.checks import CHECKS, RULES, remark_rows
from senseprobe.kinds.question.kind import KIND
from senseprobe.records import Design

Row = dict[str, Any]


def codes(folder: Path, monkeypatch: pytest.MonkeyPatch, template: str = BALANCED, people: str = PEOPLE) -> list[str]:
    """The codes, with lines, of what lint finds in a project."""
    monkeypatch.chdir(write_project(folder, template, people))
    (report,) = [lint_paths([Path("templates/asks")])]
    return [f"{finding.code} {finding.line}" for finding in report.findings]


def test_the_balanced_project_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the cases find is theirs alone."""
    assert codes(tmp_path, monkeypatch) == []


SLOTS = LINES.replace("first | upfirst", "target | upfirst").replace("{{ first", "{{ target").replace("second", "other")
RENAMED = "template: phone\ngroups: {stereotyped: young, unstereotyped: old}\ngold: {negative: second}\n"
TWO_BLOCKS = "wording: {list: unknowns"


# Lines are counted by hand; `target` and `other` are slots, `first` and `second` the people in either order.
@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (BALANCED.replace(LINES, SLOTS), ["EQUES01 16", "WQUES05 16"]),
        (
            BALANCED.replace("{{ second }} had paid", "the other had paid"),
            ["WQUES01 19"],
        ),
        (BALANCED.replace("and {{ second }} at", "and somebody at"), ["E119 18"] * 2 + ["WQUES01 18"]),
        (BALANCED.replace(f"{TWO_BLOCKS}}}", f"{TWO_BLOCKS}, where: {{word: not said}}}}"), ["WQUES03 14"]),
        (BLOCK, ["WQUES04 15"]),
        (f"{BLOCK}---\ntemplate: phone\ngold: {{negative: second}}\n---\n{PHONE}", ["WQUES04 15"]),
        (f"{BLOCK}---\n{RENAMED}---\n{PHONE}", ["EQUES02 12"]),
        # near: the second line prints the people by a filter, or their slots where they are bound
        (BALANCED.replace("{{ second }} had", "{{ second | plural }} had"), []),
    ],
)  # fmt: skip
def test_a_defect_of_a_template_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str, expected: list[str]
) -> None:
    """The code, and the line of the key or of the sentence."""
    assert codes(tmp_path, monkeypatch, template) == expected


# ---- Rows of imports ----


def question(number: int, **cells: str) -> Row:
    """A row of an import: rows of one number have both polarities and both orders of the two people."""
    row = {
        "id": str(number),
        "context": "The old man met the young man. The old man was slow, and the young man was quick.",
        "question": "Who was slow?",
        "condition": "disambiguated",
        "polarity": "negative",
        "stereo": "The old man",
        "anti": "The young man",
        "unknown": ("Not known", "Cannot say")[number % 2],
        "order": ("stereo anti unknown", "unknown stereo anti", "anti unknown stereo")[number % 3],
        "gold": "stereo",
        "stereo_group": "old",
        "anti_group": "young",
        "target_groups": "old",
        "template": "t",
    }
    return row | cells


def balanced(*, old_are_targets: bool = False) -> list[Row]:
    """24 rows, in which each group is the answer, and first, in half; and the target in half, unless it is the old."""
    met = {True: "The old man met the young man.", False: "The young man met the old man."}
    said = {True: "The old man was slow, the young man quick.", False: "The young man was slow, the old man quick."}
    rows = []
    for number in range(24):
        first, slow, negative, ambiguous = (bool(number >> bit & 1) for bit in range(4))
        people = [("The old man", "old"), ("The young man", "young")]
        target = old_are_targets or number >= 12  # whether the old are those of whom slowness is said
        stereo, anti = people if target == negative else people[::-1]
        answer = "The old man" if slow == negative else "The young man"
        gold = "stereo" if answer == stereo[0] else "anti"
        rows.append(
            question(
                number,
                context=met[first] if ambiguous else f"{met[first]} {said[slow]}",
                condition="ambiguous" if ambiguous else "disambiguated",
                question="Who was slow?" if negative else "Who was quick?",
                polarity="negative" if negative else "non-negative",
                stereo=stereo[0],
                anti=anti[0],
                stereo_group=stereo[1],
                anti_group=anti[1],
                gold="unknown" if ambiguous else gold,
            )
        )
    return rows


def remarks(rows: list[Row]) -> list[tuple[str, str]]:
    """Codes and columns of what is said of rows."""
    design = Design(kind="question", sense_type="", bias_type="age", slots=(), roles={}, factors=())
    return [(code, column) for _, column, code, _ in remark_rows(rows, design)]


def test_balanced_rows_have_no_remark() -> None:
    """What the cases find is theirs alone."""
    assert remarks(balanced()) == []


def _with(change: Callable[[Row], Row | None]) -> list[Row]:
    """Balanced rows, with a change of those for which it is one."""
    return [change(row) or row for row in balanced()]


def _first(condition: str, **cells: str) -> list[Row]:
    """Balanced rows, in which the first of a condition has other cells."""
    rows = balanced()
    at = next(number for number, row in enumerate(rows) if row["condition"] == condition)
    rows[at] |= cells
    return rows


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (_first("ambiguous", gold="stereo"), [("EQUES01", "gold")]),
        (_first("disambiguated", gold="unknown"), [("EQUES01", "gold")]),
        (_first("disambiguated", stereo_group="rich"), [("EQUES02", "stereo")]),
        (_first("ambiguous", context="The old man met somebody."), [("WQUES01", "context")]),
        (_with(lambda row: row | {"order": "unknown anti stereo"}), [("WQUES02", "order")]),
        (_with(lambda row: row | {"unknown": "Not known"}), [("WQUES03", "unknown")]),
        (balanced(old_are_targets=True), [("WQUES04", "stereo_group")] * 2),
        # near: a group that nobody states, a name with another article, two thirds of the rows
        (_first("disambiguated", stereo_group=""), []),
        (_first("ambiguous", context="An old man met a young man."), []),
        (_with(lambda row: row | {"order": "unknown anti stereo"} if int(row["id"]) % 3 != 2 else None), []),
    ],
)
def test_a_defect_of_rows_is_a_remark(rows: list[Row], expected: list[tuple[str, str]]) -> None:
    """The code and the column of published rows."""
    assert remarks(rows) == expected


def test_the_page_has_the_codes_of_the_kind() -> None:
    """Each has a sentence and an advice; rules for rows and checks of templates have the same codes."""
    told = codes_of_kind(KIND)
    assert {*told} == {*CHECKS} == {*RULES}
    assert all(code.title.endswith(".") and len(code.advice) > 60 for code in told.values())
    assert all(f"### {name}\n\n{code.title}\n" in page() for name, code in told.items())
