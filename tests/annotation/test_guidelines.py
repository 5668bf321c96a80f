"""What annotators read first: written from the release, and without a word on which sentence it calls what."""

import re
from dataclasses import replace
from html import unescape
from itertools import pairwise

import pytest
from tests.annotation.given import SSSB, Given, contrast, gloss, inference, make_plan, plan

from senseprobe.annotation.guidelines import Gloss, Meanings, for_sheets, instruction, write_guidelines
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
    assert [line.partition(": ")[2].partition(", because ")[0] for line in answers] == wanted[kind]
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
        *("About the sentences", "The questions", "Example 1", "Example 2", "Example 3"),
        "How we use your answers",
    ]


def test_sheets_come_with_the_same_guidelines() -> None:
    made = plan(3, groups=True)
    text = for_sheets(made)
    assert made.guidelines in text
    assert "`yes` into the\ncolumn `consent`" in text
    assert "account" not in text  # a sheet has none
    assert "# " not in for_sheets(replace(made, guidelines=""))  # a plan of before


def test_sheets_and_examples_have_the_same_words_for_answers() -> None:
    """What the worked examples answer is what the list of words for sheets has, with what it means."""
    text = for_sheets(plan(3))
    assert "- stereotype: “Yes” (people often say this about a whole group of people), “The opposite”" in text
    assert "- withhold: “I would rather not have it used”" in text
    answered = {line.partition(": ")[2].split(",")[0] for example in _examples(text) for line in example[1:]}
    listed = text.rpartition("small or capital letters:")[2]
    assert {"“Yes”", "“The opposite”", "“Neither”", "“No”"} < {word for word in answered if word in listed}


def test_an_example_shows_the_meaning_that_its_answer_is_about() -> None:
    """The row's own gloss where the answer is yes; where it is no, another sense of its word, or another row's."""
    rows = [contrast(number, sense_key=f"k{number}") for number in range(9)]
    release, made = Given({"c": rows}), plan(2)
    own = {f"wordnet-3.0 on k{number}" for number in range(9)}

    def shown(*another: Gloss) -> list[tuple[str, str]]:
        """The gloss of each example, and the answer to its question of the meaning."""
        found = _examples(write_guidelines(release, made, Meanings(gloss, *another)))
        lines = [next(pair for pair in pairwise(each) if pair[1].startswith("- Meaning: ")) for each in found]
        return [(first.partition("Meaning shown for “black”: ")[2], second[:16]) for first, second in lines]

    first, second, third = shown(lambda lexicon, key: f"another than {key}")
    assert (first[0] in own, first[1], third[0] in own, third[1]) == (
        True,
        "- Meaning: “Yes”",
        True,
        "- Meaning: “Yes”",
    )
    assert (second[0][:14], second[1]) == ("another than k", "- Meaning: “No”,")
    first, second, third = shown()
    assert (second[0] in own, second[1]) == (True, "- Meaning: “No”,")
    alike = Given({"c": [contrast(number) for number in range(9)]})  # all of one sense, of which no other is known
    text = write_guidelines(alike, made, Meanings(gloss))
    assert (text.count("- Meaning: “Yes”, because"), text.count("- Meaning: “No”")) == (3, 0)
    unknown = write_guidelines(alike, made, Meanings(lambda lexicon, key: ""))
    assert "- Meaning: “" not in unknown
