"""The page of a round: its numbers by hand, no names on it, and nothing that runs or is loaded."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from random import Random

import pytest
from tests.annotation.label_studio.browser import Browser
from tests.annotation.making import answer, item, plan
from tests.annotation.world import fill
from tests.commands import Typed, typing

from senseprobe import api
from senseprobe.annotation.agreement import agreement
from senseprobe.annotation.answers import write_answers
from senseprobe.annotation.decisions import Decision
from senseprobe.annotation.records import Annotation, Item, Plan
from senseprobe.annotation.report import Round, build_report, write_report
from senseprobe.document import Document, Section
from senseprobe.errors import AnnotationError

YES = {"stereotype.stereo": "stereotype", "natural.stereo": "yes"}


def _page(
    made: Plan, annotations: Sequence[Annotation], decisions: Sequence[Decision] = (), rules: Sequence[str] = ()
) -> Document:
    return build_report(Round(made, annotations, agreement(made, annotations), decisions, rules))


def _sections(document: Document) -> Sequence[Section]:
    """The sections of a page of one part."""
    (part,) = document.parts
    return part.sections


def _rows(document: Document, caption: str) -> dict[str, list[str]]:
    """The rows of a table by their first cell; cells with their notes."""
    (table,) = [table for section in _sections(document) for table in section.tables if table.caption == caption]
    return {row[0].text: [" · ".join(filter(None, (cell.text, cell.note))) for cell in row[1:]] for row in table.rows}


def _paragraphs(document: Document, title: str) -> str:
    return " ".join(text for section in _sections(document) if section.title == title for text in section.paragraphs)


def _timed(number: int, who: str, seconds: float | None, **answers: str) -> Annotation:
    told = {**YES, **{key.replace("_", "."): value for key, value in answers.items()}}
    return answer(number, who, told, seconds=seconds, updated=f"2026-11-2{number}T10:00:00.000000Z")


def test_progress_counts_rows_and_answers() -> None:
    """Three rows for three people: one has all answers, one has two, one none; the days are those of the answers."""
    annotations = [_timed(0, who, None) for who in ("a", "b", "c")] + [_timed(1, who, None) for who in ("a", "b")]
    annotations += [answer(2, "a", {}, status="skipped")]
    document = _page(plan(3), annotations)
    told = _paragraphs(document, "Progress")
    assert told == (
        "1 of 3 rows have all 3 answers; 5 annotations by 3 annotators, from 2026-11-20 to 2026-11-21, 1 skipped."
    )
    assert _rows(document, "Rows by answers") == {"0": ["1"], "2": ["1"], "3": ["1"]}
    assert _rows(document, "By stratum") == {"race": ["3", "1", "1"]}


def test_how_rows_were_chosen_is_on_the_page() -> None:
    """A plan that grew, of two configs, with equal shares and without the rows of another project."""
    made = plan(3, configs=("race", "verb"), strata=("config",), allocation="equal", exclude=("First",), parts=(2,))
    text = _paragraphs(_page(made, [answer(0, "a", YES), answer(0, "b", YES)]), "Plan")
    for part in ("of race, verb", "equal shares", "config", "excluding the rows of First", "2 + 1"):
        assert part in text


def test_agreement_is_that_of_the_command() -> None:
    """The figures of `annotate agree`, with their intervals, of every question; parts of twenty rows or more."""
    made = plan([item(number, stratum=f"x={number % 2}") for number in range(44)])
    chance = Random(3)  # noqa: S311 - answers of a test
    annotations = [
        _timed(number, who, None, natural_stereo=chance.choice(["yes", "yes", "no"]))
        for number in range(44)
        for who in "abc"
    ]
    annotations = [replace(each, updated="") for each in annotations]
    document, figures = _page(made, annotations), agreement(made, annotations)
    (natural,) = [figure for figure in figures.by("all") if figure.question == "natural"]
    assert natural.low is not None
    assert natural.same is not None
    value = f"{natural.value:.2f} [{natural.low:.2f}, {natural.high:.2f}]"
    assert _rows(document, "On each question")["natural"][1:] == [
        "alpha",
        value,
        f"{100 * natural.same:.1f} %",
        "44",
        "132",
        "3",
    ]
    (stereotype,) = [figure for figure in figures.by("all") if figure.question == "stereotype"]
    assert _rows(document, "On each question")["stereotype"][2] == f"none · {stereotype.why}"  # all gave one answer
    assert {*_rows(document, "Against the others")} == {*"abc"}
    (parts,) = [section for section in _sections(document) if section.title == "Agreement"]
    assert [len(table.rows) for table in parts.tables if table.caption == "By stratum"] == [4]


def test_annotators_stand_beside_the_others_and_known_answers() -> None:
    """By hand: of two known answers a has both, b one, and b differs from a in one of two rows."""
    known = {"natural.stereo": "yes"}
    made = plan([item(0, gold=known), item(1, gold=known)])
    annotations = [
        _timed(0, "a", None),
        _timed(1, "a", None),
        _timed(0, "b", None),
        _timed(1, "b", None, natural_stereo="no"),
    ]
    document = _page(made, annotations)
    rows = [
        [cell.text for cell in row]
        for section in _sections(document)
        for table in section.tables
        if table.caption == "Known answers"
        for row in table.rows
    ]
    # Clopper and Pearson at 95 %: of 2 of 2 from 0.025 ** (1/2) = 0.158; of 1 of 2 from 1 - 0.975 ** (1/2) = 0.0126.
    # Who was wrong most often comes first.
    assert rows == [["b", "natural", "1 of 2", "50 % [1 %, 99 %]"], ["a", "natural", "2 of 2", "100 % [16 %, 100 %]"]]
    assert _rows(document, "Against the others")["b"][-2].endswith("50 % agree, 2 rows")


def test_time_is_told_in_medians() -> None:
    """By hand: 10, 20, 60 have the median 20 and the quartiles 15 and 40; of 10, 20, 60, 4 it is 15, a third is 5."""
    annotations = [_timed(0, "a", 10.0), _timed(1, "a", 20.0), _timed(2, "a", 60.0), _timed(0, "b", 4.0)]
    document = _page(plan(3), annotations)
    assert _rows(document, "Time per row") == {
        "all": ["4", "15.0 s", "8.5 to 30.0 s", "1", "1.6 min"],
        "a": ["3", "20.0 s", "15.0 to 40.0 s", "0", "1.5 min"],
        "b": ["1", "4.0 s", "4.0 to 4.0 s", "1", "0.1 min"],
    }
    assert "(5.0 s)" in _paragraphs(document, "Time")
    assert not _paragraphs(_page(plan(3), [_timed(0, "a", None)]), "Time")  # sheets have none


def test_the_most_disputed_row_comes_first() -> None:
    """By hand: in row 2 four of six pairs of answers differ, in row 1 two of six, in row 0 none."""
    annotations = [_timed(number, who, None) for number in (0, 1, 2) for who in ("a", "b")]
    annotations += [_timed(0, "c", None), _timed(1, "c", None, natural_stereo="no")]
    annotations += [_timed(2, "c", None, natural_stereo="no", stereotype_stereo="neither")]
    decisions = [Decision(row="race.f.2", state="reject", reason="natural.stereo: <no>", answers=3)]
    document = _page(plan(3), annotations, decisions, ["majority"])
    disputed = _rows(document, "Disputed rows")
    assert [*disputed] == ["race.f.2", "race.f.1"]
    assert disputed["race.f.2"] == [
        "[Black] people are rude 2. / [Black] people are nice 2.",
        "stereotype.stereo: stereotype 2, neither 1; natural.stereo: yes 2, no 1",
        "reject · natural.stereo: <no>",
    ]
    assert _rows(document, "reject: why") == {
        "race.f.2": ["[Black] people are rude 2. / [Black] people are nice 2.", "natural.stereo: <no>"]
    }
    assert _paragraphs(document, "Disputed rows").startswith("2 rows of 3 ")


def test_what_came_after_the_decisions_is_said() -> None:
    decisions = [Decision(row=f"race.f.{n}", state="keep", reason="2 answers", answers=2) for n in range(3)]
    annotations = [_timed(number, who, None) for number in (0, 1) for who in ("a", "b")] + [_timed(1, "c", None)]
    told = _paragraphs(_page(plan(3), annotations, decisions, ["majority"]), "Decisions")
    assert told.startswith("By the rule majority.")
    assert "2 rows have changed since these decisions: apply again." in told  # 1 has three, 2 none
    assert "run senseprobe annotate apply" in _paragraphs(_page(plan(3), annotations), "Decisions")


def test_who_minds_what_is_not_told_where_groups_were_asked_for() -> None:
    """Beside rows that the targeted group reported it would tell who is of it."""
    annotations = [_timed(0, who, None, withhold="yes" if who == "a" else "no") for who in "abc"]
    for groups, wanted in [
        (True, ("sense", "stereotype", "natural")),
        (False, ("sense", "stereotype", "natural", "withhold")),
    ]:
        document = _page(plan(3, groups=groups), annotations)
        assert document.parts[0].labels == wanted
        tables = [t for section in _sections(document) for t in section.tables if t.caption == "Against the others"]
        assert {("withhold" in table.headings) for table in tables} <= {not groups}


def test_long_tables_are_cut_and_say_so() -> None:
    made = plan(150)
    annotations = [
        _timed(n, who, None, natural_stereo="yes" if who == "a" else "no") for n in range(150) for who in "ab"
    ]
    annotations = [replace(each, updated="") for each in annotations]
    document = _page(made, annotations)
    (table,) = [
        table for section in _sections(document) for table in section.tables if table.caption == "Disputed rows"
    ]
    assert (len(table.rows), table.note) == (100, "… and 50 rows more.")


# --- As it is typed -------------------------------------------------------------------------------------------------

EXPORT = ("annotate", "export", "tiny@1.0.0", "--project", "First check", "--n", "8", "--annotators", "3", "--groups")
RUDE, LAZY = "people.are.japanese.nice.rude", "people.are.japanese.nice.lazy"


@pytest.fixture
def typed(
    small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Typed:
    """Runs a command line in a project that has built `tiny@1.0.0`."""
    shutil.copytree(small_project, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return typing(monkeypatch, capfd)


@pytest.fixture
def folder(typed: Typed, tmp_path: Path) -> Path:
    """A round that was exported and answered, under names."""
    folder = tmp_path / "annotations" / "first-check"
    assert typed(*EXPORT).code == 0

    def said(annotator: str, row: Item) -> dict[str, str]:
        answers = {"comment": "<script>alert(1)</script> maria@example.com"}
        if row.row == RUDE and annotator != "annotator-1":
            answers["natural.anti"] = "no"
        if row.row == LAZY and annotator == "annotator-1":
            answers["natural.stereo"] = "no"
        return answers

    sheets = [fill(folder, f"annotator-{number}", said, "Women") for number in (1, 2, 3)]
    assert typed("annotate", "import", "First check", "--names", *map(str, sheets)).code == 0
    return folder


def test_a_page_is_written(typed: Typed, folder: Path) -> None:
    """Beside the plan, kept from git; the same bytes again; pseudonyms, also of who was taken in by name."""
    told = typed("annotate", "report", "First check")
    assert (told.code, told.err) == (0, "")
    path = folder / "report.html"
    assert told.out.startswith(f"report in {path}: ")
    assert "not for publication" in told.out
    before = path.read_bytes()
    assert "report.html" in (folder / ".gitignore").read_text().splitlines()
    assert typed("annotate", "apply", "First check").code == 0
    typed("annotate", "report", "First check", "--json")
    assert path.read_bytes() != before
    assert api_page(folder) == path.read_bytes()
    text = unescape(path.read_text())
    assert not re.search("annotator-[123]|maria|alert|[Ww]omen", text)
    assert "<b>lazy</b>" in text  # the word of the list, as a reader sees it
    assert "<b>" not in path.read_text()
    loads = r"""<(script|link|img|iframe)|\b(src|href)="(?!#)|url\((?!#)|@import|\bon\w+="""
    assert not re.search(loads, path.read_text())
    assert "natural.anti: no, not natural (2 of 3)" in text


def api_page(folder: Path) -> bytes:
    """The page as the API writes it elsewhere."""
    return api.annotation.report("First check", folder / "other.html").read_bytes()


def test_a_page_that_cannot_be_is_refused(typed: Typed, folder: Path, tmp_path: Path) -> None:
    """One message, exit code 2: not a page, in a release, decisions that were edited, no answers."""
    for arguments, message in [
        (("-o", "report.pdf"), "report.pdf: the page is HTML: choose a name that ends in .html"),
        (("-o", f"{folder}/plan.json"), "plan.json: the page is HTML"),
        (("-o", str(tmp_path / "releases/tiny/1.0.0/x.html")), "is a release, which cannot be changed"),
        (("-o", str(tmp_path / "plan.html/x.html")), "cannot be written"),
    ]:
        (tmp_path / "plan.html").touch()
        told = typed("annotate", "report", "First check", *arguments)
        assert (told.code, told.out) == (2, ""), arguments
        assert message in told.err
    typed("annotate", "apply", "First check")
    path = folder / "decisions.csv"
    text = path.read_bytes()
    for wrong in (text.replace(b"keep", b"kept", 1), text.replace(b",3,", b",many,", 1), b"\xef\xbb\xbfrow\r\n"):
        path.write_bytes(wrong)
        told = typed("annotate", "report", "First check")
        assert told.code == 2
        assert "differs from what `annotate apply` wrote" in told.err
    typed(*(part if part != "First check" else "Second check" for part in EXPORT))
    told = typed("annotate", "report", "Second check")
    assert (told.code, told.out) == (2, "")
    assert "nobody has answered Second check yet" in told.err


def test_the_order_of_answers_makes_no_difference(tmp_path: Path) -> None:
    made = plan(3)
    annotations = [_timed(number, who, 5.0 * number + 1) for number in range(3) for who in "abc"]
    pages = set()
    for order in (annotations, annotations[::-1]):
        (tmp_path / "secret").unlink(missing_ok=True)
        (tmp_path / "secret").write_text("0" * 64)
        (tmp_path / "secret").chmod(0o600)
        pages.add(write_report(made, tmp_path, order).read_bytes())
    assert len(pages) == 1


def test_only_skipped_rows_are_no_round(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match="nobody has answered check yet"):
        write_report(plan(3), tmp_path, [answer(0, "a", {}, status="skipped")])


@pytest.mark.system
def test_the_page_is_readable_on_a_phone(tmp_path: Path) -> None:
    """At 390 px nothing is wider than the screen, and no caption stands letter below letter."""
    annotations = [_timed(n, who, 9.0, natural_stereo="yes" if who == "a" else "no") for n in range(3) for who in "ab"]
    write_answers(tmp_path, annotations)
    path = write_report(plan(3), tmp_path, annotations)
    with Browser(tmp_path / "profile") as browser:
        browser.do("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=False)
        browser.open(path.as_uri())
        browser.wait("!!document.querySelector('caption')")
        assert browser.ask("document.documentElement.scrollWidth") <= 390
        assert browser.ask("Math.min(...[...document.querySelectorAll('caption')].map(e => e.offsetWidth))") > 200
