"""Answers as they are published: what is in the folder, and what never is."""

import csv
import io
import json
from pathlib import Path

import pytest

from senseprobe.annotation.annotators import count_groups
from senseprobe.annotation.publication import publish
from senseprobe.annotation.records import Annotation, Item, Plan, Sentence
from senseprobe.errors import AnnotationError


def _plan() -> Plan:
    sentences = (Sentence(role="stereo", text="A."), Sentence(role="anti", text="B."))
    items = tuple(Item(row=row, config="c", content="0" * 64, sentences=sentences) for row in ("r1", "r2"))
    return Plan(
        project="a <b>project</b>",
        release="tiny@1.0.0",
        content="f" * 64,
        kind="contrast",
        seed=0,
        overlap=2,
        questions=("natural", "withhold", "comment"),
        items=items,
    )


def _said(row: str, annotator: str, groups: tuple[str, ...] = (), **answers: str) -> Annotation:
    id_ = f"{annotator}{row}"
    return Annotation(id=id_, row=row, content="0" * 64, annotator=annotator, answers=answers, groups=groups)


def _published(
    out: Path, *annotations: Annotation, free_text: bool = False, reported: bool = False
) -> list[dict[str, str]]:
    publish(
        out,
        _plan(),
        annotations,
        licence="CC-BY-4.0",
        reported=reported,
        name_of=lambda who: f"p-{len(who):012x}",
        free_text=free_text,
    )
    return list(csv.DictReader(io.StringIO((out / "answers.csv").read_text("utf-8-sig"))))


def test_names_become_pseudonyms(tmp_path: Path) -> None:
    """Who was pulled by name is published under a pseudonym, and who had one keeps it."""
    lines = _published(
        tmp_path / "out", _said("r2", "maria", natural="no"), _said("r2", "p-0123456789ab", natural="no")
    )
    assert [line["annotator"] for line in lines] == ["p-000000000005", "p-0123456789ab"]
    of_sheet = Annotation(id="maria/r2", row="r2", content="0" * 64, annotator="maria", answers={"natural": "no"})
    lines = _published(tmp_path / "more", of_sheet)
    assert [line["annotator"] for line in lines] == [f"p-{len('sheet:maria'):012x}"]
    assert "maria" not in "".join(path.read_text() for path in (tmp_path / "more").iterdir())


def test_nobody_is_known_by_what_the_targeted_group_reported(tmp_path: Path) -> None:
    """Who answered which rows, and whom which row does not trouble, would say who is of the group."""
    one, two = "p-0123456789ab", "p-ba9876543210"
    said = [_said(row, who, natural="yes", withhold="yes") for row, who in (("r1", one), ("r1", two), ("r2", two))]
    lines = _published(tmp_path / "out", *said, reported=True)
    assert [(line["row"], line["question"], line["annotator"]) for line in lines] == [
        ("r1", "natural", ""),
        ("r1", "natural", ""),
        ("r2", "natural", ""),
    ]
    page = (tmp_path / "out" / "README.md").read_text()
    assert "answers of 2 annotators to 2 of 2 rows" in page
    assert "3 answers to `withhold`, because the targeted group reported rows" in page
    assert "3 pseudonyms, because the targeted group reported rows" in page
    everything = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert not [who for who in (one, two) if who in everything]


def test_where_all_answered_all_rows_they_keep_their_pseudonyms(tmp_path: Path) -> None:
    """Nobody is known by the rows that they answered; what they said to `withhold` is left out all the same."""
    said = [_said(row, who, natural="yes", withhold="yes") for row in ("r1", "r2") for who in ("p-0", "p-1")]
    lines = _published(tmp_path / "out", *said, reported=True)
    assert [(line["question"], bool(line["annotator"])) for line in lines] == [("natural", True)] * 4


def test_nothing_is_published_into_a_release(tmp_path: Path) -> None:
    (tmp_path / "release.json").write_text("{}")
    with pytest.raises(AnnotationError, match="is a release, which cannot be changed: choose another folder"):
        _published(tmp_path / "recipe" / "answers", _said("r2", "p-0", natural="yes"))


def test_words_of_ones_own_are_published_only_when_asked(tmp_path: Path) -> None:
    """A comment may say who wrote it; a formula in it is none for a spreadsheet."""
    said = _said("r2", "p-0123456789ab", comment="=1+1, I am Maria", natural="yes")
    assert [line["question"] for line in _published(tmp_path / "a", said)] == ["natural"]
    lines = _published(tmp_path / "b", said, free_text=True)
    assert [(line["question"], line["value"]) for line in lines] == [
        ("comment", "'=1+1, I am Maria"),
        ("natural", "yes"),
    ]


def test_what_no_question_asks_is_left_out(tmp_path: Path) -> None:
    """A table that was edited by hand breaks nothing."""
    assert (
        _published(tmp_path / "out", _said("r2", "p-0123456789ab", strange="x", natural="yes"))[0]["question"]
        == "natural"
    )


def test_the_readme_counts_groups_of_five_and_escapes_names(tmp_path: Path) -> None:
    """Five women are told, four men are not; a name that is HTML stays text."""
    people = [_said("r2", f"p-{n:012x}", ("Women",) if n < 5 else ("men",), natural="yes") for n in range(9)]
    _published(tmp_path / "out", *people)
    page = (tmp_path / "out" / "README.md").read_text()
    assert "of at least five annotators: women (5)." in page
    assert "men (4)" not in page
    assert "Project a \\<b\\>project\\</b\\>: answers of 9 annotators to 1 of 2 rows." in page
    assert count_groups(people) == {"women": 5}
    assert json.loads((tmp_path / "out" / "plan.json").read_text())["release"] == "tiny@1.0.0"


def test_nothing_is_published_of_nothing(tmp_path: Path) -> None:
    """Nobody answered: one message, no folder."""
    with pytest.raises(AnnotationError, match="nobody has answered yet"):
        _published(tmp_path / "out")
    assert not (tmp_path / "out").exists()
