"""What a study found in published data is found again where it is planted; docs/published-defects.md says where."""

import re
from pathlib import Path

import pytest

from senseprobe.generator.checks import Report, lint
from senseprobe.lexicon import prepare
from senseprobe.project import Layer

HERE = Path(__file__).parents[1]
TABLE = (HERE.parent / "docs" / "published-defects.md").read_text(encoding="utf-8").partition("## Cannot happen")[0]
ROW = re.compile(
    r"^\| (?P<section>[\d., ]+) \| .+ \| (?P<code>[EW]\d{3}) \| (?P<path>[\w./-]+?)(?::(?P<line>\d+))? \|$"
)
ROWS = [row for line in TABLE.splitlines() if (row := ROW.match(line))]

# Sense keys and words can be looked up only where WordNet is.
NEED_WORDNET = {"E301", "E302", "E303", "E304", "W401", "W402", "W512", "W513", "W521"}

Places = set[tuple[str, str, int]]


def planted() -> Places:
    """What the table says: code, path and line (0 where the place is the whole file)."""
    return {(row["code"], row["path"], int(row["line"] or 0)) for row in ROWS}


def found(report: Report) -> Places:
    """What lint says."""
    return {(finding.code, finding.path, finding.line) for finding in report.findings}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layer:
    """The project of defects, on a machine without WordNet where lint has never run."""
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path / "nltk_data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(HERE / "defects")
    return Layer(HERE / "defects")


def test_every_line_of_the_table_is_read() -> None:
    """No row is lost because it is not written as the others."""
    lines = [line for line in TABLE.splitlines() if line.startswith("|")]
    assert len(ROWS) == len(lines) - 2  # its head
    assert {row["section"] for row in ROWS} >= {"1.5", "3.1", "3.2", "3.3", "9.2", "9.4", "9.5"}


def test_every_defect_is_found_and_nothing_else(project: Layer) -> None:
    """Those that need no WordNet; the others are counted as not checked."""
    report = lint(project)

    assert found(report) == {place for place in planted() if place[0] not in NEED_WORDNET}
    assert {*report.not_checked} | {"E301", "E302", "E303", "E304"} == NEED_WORDNET
    assert report.keys_not_checked > 0


def test_only_one_warning_is_taken_on_purpose(project: Layer) -> None:
    """Few frames are a defect of this project, and of none that was published."""
    assert {accepted.code for accepted in lint(project).accepted} == {"W506"}


@pytest.mark.system
def test_every_defect_is_found_with_wordnet(project: Layer, tmp_path: Path) -> None:
    """All of them, in Debian's WordNet."""
    prepare(tmp_path / "nltk_data")
    report = lint(project)

    assert found(report) == planted()
    assert report.complete
