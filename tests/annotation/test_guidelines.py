"""What annotators read first: written from the release, and without a word on which sentence it calls what."""

import re
from dataclasses import replace
from html import unescape

import pytest
from tests.annotation.given import SSSB, Given, contrast, gloss, inference, plan

from senseprobe.annotation.guidelines import for_sheets, instruction
from senseprobe.annotation.plan import make_plan
from senseprobe.release.release import open_release


def _examples(text: str) -> list[list[str]]:
    """The lines of each example."""
    return [part.strip().splitlines() for part in re.split(r"^# Example \d$", text, flags=re.MULTILINE)[1:]]


def test_guidelines_are_written_from_the_release() -> None:
    """What its card and manifest say of the configs that are asked about, and three sentences of theirs."""
    release = open_release(SSSB)
    made = make_plan(release, project="a test", n=20, config="nationality", gloss=gloss)
    facts = release.manifest.data
    assert f"- nationality (nationality): {facts['configs']['nationality']['description']}" in made.guidelines
    assert str(facts["card"]["content_warning"]) in made.guidelines
    rows = {
        row[role]: row["id"]
        for batch in release.batches("nationality")
        for row in batch.to_pylist()
        for role in ("stereo", "anti")
    }
    (first, *_), (second, *_), (third, *_) = _examples(made.guidelines)
    shown = [first.strip("“”"), second.strip("“”"), " ".join(reversed(third.strip("“”").split()))]
    assert {*shown} < {*rows}
    assert not {rows[text] for text in shown} & {item.row for item in made.items}  # answers are not given in advance
    assert "language" not in re.findall(r"^- (\S+) \(", made.guidelines, flags=re.MULTILINE)


@pytest.mark.parametrize("kind", ["contrast", "inference"])
def test_examples_answer_what_is_asked(kind: str) -> None:
    """Each question that has choices is answered in some example, by a label of the interface; each differs."""
    made = plan(5, kind)
    lines = [[line for line in example if line.startswith("- ")] for example in _examples(made.guidelines)]
    main = "Stereotype" if kind == "contrast" else "What follows"
    answers = [next(line for line in example if line.startswith(f"- {main}")) for example in lines]
    # By hand, from the labels of the questions.
    wanted = {
        "contrast": ["“Yes”", "“The opposite”", "“Neither”"],
        "inference": ["“Then sentence 2 is true”", "“Sentence 2 may be true or not”", "“Then sentence 2 is false”"],
    }
    assert [line.partition(": ")[2].partition(" if ")[0] for line in answers] == wanted[kind]
    assert not re.search(r"\b(stereo|anti|premise|hypothesis|gold)\b", made.guidelines)


@pytest.mark.parametrize(("question", "examples"), [("natural", 3), ("withhold", 1), ("comment", 0)])
def test_only_what_is_asked_is_explained(question: str, examples: int) -> None:
    made = plan(3, questions=[question])
    assert len(_examples(made.guidelines)) == examples
    assert ("Stereotype:" in made.guidelines, "Natural English:" in made.guidelines) == (False, question == "natural")


def test_a_sentence_in_which_no_word_is_marked_is_no_example() -> None:
    """Of unmarked rows, which have no target, none is taken while others are left; else they are, too."""
    rows = [contrast(number, stereo=f"Unmarked {number}.", target=None) for number in range(50)]
    rows += [contrast(100 + number, stereo=f"Marked {number}.", anti=f"Marked {number}!") for number in range(8)]
    made = make_plan(Given({"c": rows}), project="a test", n=2, gloss=gloss)
    assert "Unmarked" not in made.guidelines
    assert len(_examples(make_plan(Given({"c": rows[:50]}), project="a test", n=2, gloss=gloss).guidelines)) == 3


def test_the_cut_of_batches_makes_no_difference() -> None:
    tables = {"c": [contrast(number) for number in range(20)], "d": [contrast(f"d{number}") for number in range(20)]}
    texts = {make_plan(Given(tables, cut=cut), project="a test", n=6, gloss=gloss).guidelines for cut in (1, 3, 100)}
    assert len(texts) == 1
    other = {"i": [inference(number) for number in range(3)]}
    assert make_plan(Given(other, "inference"), project="a test", n=3, gloss=gloss).guidelines  # all rows are asked


def test_what_a_row_holds_is_text() -> None:
    """A sentence that is HTML is shown as it reads, and one with line feeds adds no heading of its own."""
    rows = [
        contrast(number, stereo=f"A <script>x</script>\n# b {number}", anti="<b>", target="a\n# c")
        for number in range(9)
    ]
    made = make_plan(Given({"c": rows}), project="a test", n=2, gloss=gloss)
    page = instruction(made)
    assert {*re.findall(r"<(/?\w+)", page)} == {"p", "/p", "h4", "/h4", "li", "/li"}
    assert "&lt;b&gt;" in page
    assert [unescape(text) for text in re.findall("<h4>(.*?)</h4>", page)] == [
        *("What the sentences are about", "What the questions mean", "Example 1", "Example 2", "Example 3"),
        "What becomes of your answers",
    ]


def test_sheets_come_with_the_same_guidelines() -> None:
    made = plan(3, groups=True)
    text = for_sheets(made)
    assert made.guidelines in text
    assert "write `yes` into\n`consent`" in text
    assert "account" not in text  # a sheet has none
    assert "# " not in for_sheets(replace(made, guidelines=""))  # a plan of before


def test_sheets_say_which_word_stands_for_which_answer() -> None:
    """The guidelines speak of answers as the screen has them, and a sheet takes their names: *Yes* is no stereotype."""
    made = plan(3)
    assert "- stereotype: `stereotype` for “Yes: it says what is often said of a whole group of people”," in for_sheets(
        made
    )
    assert "`yes` for “I would rather not have it used”" in for_sheets(made)
    assert "- natural" not in for_sheets(made)  # yes and no are what they are on the screen
