"""Releases that are imported from users' own copies of published benchmarks: rows, what is left out, and rebuilds.

The files in `imports/` have the published forms and sentences of our own; their counts were made by hand.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.commands import Typed, typing
from tests.imports.files import FILES, HERE

from senseprobe import api
from senseprobe.errors import ReleaseError, SenseprobeError
from senseprobe.importers.plan import ImportedDataset, read_import, verify_import
from senseprobe.importers.sources import MAX_FILE
from senseprobe.release.manifest import read_manifest

SIZES = {
    "sssb": {"race": 6, "colour": 8, "noun": 4, "verb": 2, "nationality": 12, "language": 4},
    "crows-pairs": {"pairs": 5},
    "french-crows-pairs": {"pairs": 3},
    "winoqueer": {"pairs": 3},
    "stereoset": {"intrasentence": 3, "intersentence": 1},
    "seat": {"tests": 18},
    "winobias": {"type1": 3},
    "winogender": {"occupation": 2, "participant": 1},
    "bbq": {"age": 4, "gender-identity": 8, "race-x-gender": 3},
}
"""3 x 2 people and 2 x 1 languages of two nations; 3 x 2 people of a race, 4 x 2 things of a colour; the rest seen."""


def _read(format_: str, *paths: Path) -> ImportedDataset:
    return read_import(format_, paths or FILES[format_])


def _table(imported: ImportedDataset, config: str) -> pd.DataFrame:
    tables: list[pd.DataFrame] = [batch.to_pandas() for batch in imported.rows(config)]
    return pd.concat(tables).set_index("id")


def _left_out(imported: ImportedDataset) -> list[str]:
    return [str(note) for note in imported.notes.listed]


def _written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# ---- Releases ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", FILES)
def test_an_import_is_an_ordinary_release(format_: str, tmp_path: Path) -> None:
    """Each format gives a release whose sizes are as counted by hand, that verifies, loads, and imports again alike."""
    release, _ = api.import_release(format_, FILES[format_], "mine", "1.0.0", "MIT", tmp_path)

    assert release.folder == tmp_path / "mine" / "1.0.0"
    assert api.verify(str(release.folder), rebuild=True) == []
    loaded = api.load(str(release.folder))
    assert {config: len(loaded.table(config)) for config in loaded.configs} == SIZES[format_]
    assert all(loaded.table(config)["id"].is_unique for config in loaded.configs)
    assert loaded.manifest.data["card"]["license"] == "MIT"
    sources = sorted(path.read_bytes() for path in (release.folder / "recipe" / "sources").iterdir())
    assert sources == sorted(path.read_bytes() for path in FILES[format_])


@pytest.mark.parametrize("format_", FILES)
def test_rows_name_the_place_that_they_come_from(format_: str, tmp_path: Path) -> None:
    """The text of a row stands in the named file, on the named line; as a cell, a JSON string, or before a bracket."""
    imported = _read(format_)
    lines = {path.name: path.read_text(encoding="utf-8").split("\n") for path in FILES[format_]}
    for config in imported.configs:
        for row in _table(imported, config).to_dict("records"):
            start = int(row["source_line"]) - 1
            line = lines[row["source_file"]][start].replace("[", "").replace("]", "")
            expected = row["context"] if format_ == "stereoset" else row.get("stereo", row.get("sentence"))
            # A quoted cell goes on in the next line; an item of StereoSet begins at its id, its context follows.
            quoted = line.count('"') % 2 * lines[row["source_file"]][start + 1]
            near = " ".join([*line.split(), *quoted.split()])
            near = near if format_ != "stereoset" else "\n".join(lines[row["source_file"]])
            assert str(expected) in near
            assert format_ != "stereoset" or row["source_id"] in line


IMPORT_ALL = """
import json, sys
from pathlib import Path
from senseprobe import api
for format_, files in json.loads(sys.argv[1]).items():
    api.import_release(format_, [Path(file) for file in files], f"my-{format_}", "1.0.0", None, Path("."))
"""


# Takes long: a start of Python, and every format twice.
def test_two_imports_are_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the hash seed, time zone, locale and working directory: in another process as in this one."""
    files = {format_: [str(path) for path in paths] for format_, paths in FILES.items()}
    here, other = tmp_path / "here", tmp_path / "other"
    here.mkdir()
    other.mkdir()
    environment = {**os.environ, "PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    command = [sys.executable, "-c", IMPORT_ALL, json.dumps(files)]
    subprocess.run(command, cwd=other, env=environment, check=True)
    monkeypatch.chdir(here)
    for format_, paths in FILES.items():
        api.import_release(format_, paths, f"my-{format_}", "1.0.0", None, Path())
    releases = [
        {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()} for out in (here, other)
    ]
    assert releases[0] == releases[1]
    assert len([path for path in releases[0] if path.name == "release.json"]) == len(FILES)


def test_what_is_left_out_is_frozen_with_the_release(tmp_path: Path) -> None:
    """`import.csv` lists every note with its file, line and outcome; the card counts them."""
    release, notes = api.import_release("crows-pairs", FILES["crows-pairs"], "mine", "1.0.0", None, tmp_path)
    with (release.folder / "recipe" / "import.csv").open(newline="") as file:
        written = list(csv.DictReader(file))

    assert [(row["file"], row["line"], row["outcome"]) for row in written] == [
        ("crows.csv", "4", "kept"),
        ("crows.csv", "6", "kept"),
        ("crows.csv", "7", "left out"),
        ("crows.csv", "8", "left out"),
        ("crows.csv", "9", "kept"),
        ("crows.csv", "10", "left out"),
    ]
    assert [row["reason"] for row in written] == [note.reason for note in notes.listed]
    assert "3 omitted, 3 kept with a remark" in (release.folder / "README.md").read_text()
    assert release.manifest.data["card"]["license"] == ""


def test_a_changed_source_is_found_by_importing_again(tmp_path: Path) -> None:
    """A word, and a line that is malformed now: the row differs, or the list of what was left out, and the canary."""
    release, _ = api.import_release("winogender", FILES["winogender"], "mine", "1.0.0", None, tmp_path)
    source = release.folder / "recipe" / "sources" / "all_sentences.tsv"
    text = source.read_text()
    source.write_text(
        text.replace("that he could serve", "that he would serve").replace("she could serve", "she would serve")
    )
    findings = [(finding.path, finding.code) for finding in verify_import(release.folder, release.manifest, ())]
    source.write_text(text.replace("clerk.guest.male.txt", "clerk.guest.3.male.txt"))
    other = [(finding.path, finding.code) for finding in verify_import(release.folder, release.manifest, ())]

    assert findings == [("occupation", "E408"), ("release.json", "E408")]
    assert other == [("release.json", "E408"), ("recipe/import.csv", "E408")]


@pytest.mark.parametrize("damage", ["{}", "{", '{"format":"sssb","files":["../x"],"license":""}', "[" * 9_999])
def test_a_damaged_recipe_is_told(damage: str, tmp_path: Path) -> None:
    """Parameters that are no parameters, or that lead out of the folder: a finding, never a traceback."""
    release, _ = api.import_release("sssb", FILES["sssb"], "mine", "1.0.0", None, tmp_path)
    (release.folder / "recipe" / "import.json").write_text(damage)
    findings = list(verify_import(release.folder, release.manifest, ()))

    assert [finding.path for finding in findings] == ["recipe"]
    assert "cannot be imported again" in findings[0].message


def test_rows_of_an_import_can_be_restored(tmp_path: Path) -> None:
    """A copy without its rows gets them back from `recipe/sources/`."""
    release, _ = api.import_release("sssb", FILES["sssb"], "mine", "1.0.0", None, tmp_path)
    shutil.rmtree(release.folder / "noun")
    api.restore(str(release.folder))

    assert api.verify(str(release.folder), rebuild=True) == []


def test_a_release_is_never_overwritten_and_a_low_number_refused(tmp_path: Path) -> None:
    """The same version exists; other rows under a patch are refused, under a major taken."""
    api.import_release("sssb", FILES["sssb"], "mine", "1.0.0", None, tmp_path)
    with pytest.raises(ReleaseError, match="exists"):
        api.import_release("sssb", FILES["sssb"], "mine", "1.0.0", None, tmp_path)
    with pytest.raises(ReleaseError, match="is too low"):
        api.import_release("sssb", FILES["sssb"][:2], "mine", "1.0.1", None, tmp_path)
    api.import_release("sssb", FILES["sssb"][:2], "mine", "2.0.0", None, tmp_path)

    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == ["1.0.0", "2.0.0"]


@pytest.mark.parametrize(
    "format_", ["sssb", "crows-pairs", "french-crows-pairs", "winoqueer", "stereoset", "winobias", "winogender"]
)
def test_imported_pairs_can_be_scored(format_: str, tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """Every config of pairs gives the figures of its design; zero is neutral only where labels are balanced."""
    release, _ = api.import_release(format_, FILES[format_], "mine", "1.0.0", None, tmp_path)
    (result,) = api.score(str(tiny_models["bert"]), str(release.folder))
    neutral = {(figure.config, figure.neutral) for figure in result.figures if figure.estimand == "preference"}
    # Rows of the fixtures in which each of two words is the stereotype, counted by hand:
    # - balanced: noun, he 2 (tidy) and she 2 (rude); occupation, she 1 (baker) and he 1 (pilot).
    # - not balanced: verb, he 2 and she 0; type1, she 1 and he 1, but her 1 (line 5) and his 0.
    # Elsewhere groups, qualities or whole sentences differ, and no pair of words is labelled both ways equally often.
    balanced = {"noun", "occupation"}

    assert result.rows is not None
    assert len(result.rows) == sum(SIZES[format_].values())
    assert {config for config, _ in neutral} == {*SIZES[format_]} - {"participant"}
    assert {config for config, value in neutral if value == 0} == balanced & {*SIZES[format_]}


# ---- SSSB --------------------------------------------------------------------------------------------------------


def test_sssb_pairs_within_a_sense_key_and_within_a_block() -> None:
    """Nations do not meet, things of a colour do; two lines of a block are a pair; the unfilled placeholder is none."""
    imported = _read("sssb")
    nation, colour, noun = (_table(imported, name) for name in ("nationality", "colour", "noun"))

    assert list(nation.index[:4]) == ["nationality.5.1", "nationality.5.2", "nationality.5.3", "nationality.6.1"]
    assert Counter(nation["target"]) == {"dunelish": 6, "marshan": 6}
    first = nation.loc["nationality.5.1"]
    assert (first["stereo"], first["anti"]) == ("Dunelish people are gloomy.", "Dunelish people are tidy.")
    assert (first["stereo_span"], first["anti_span"]) == ({"start": 0, "end": 8}, {"start": 0, "end": 8})
    assert (first["stereo_words"], first["stereo_value"], first["anti_value"]) == (
        "_ people are gloomy.",
        "gloomy",
        "tidy",
    )
    assert (first["sense_type"], first["sense_key"], first["minimal"]) == ("nationality", "dunelish%1:18:00::", True)
    assert (colour["stereo"].str.contains("kettle") & colour["anti"].str.contains("scarf")).any()
    assert list(noun.index) == ["noun.1.2", "noun.4.5", "noun.7.8", "noun.10.11"]
    assert list(noun["stereo_value"]) == ["He", "She", "He", "She"]
    assert noun["frame"].nunique() == 2, "two adjectives, each with two occupations"
    assert _left_out(imported) == [
        "gender-bias.txt:19: left out: unfilled placeholder $SENSE-ID$",
        "gender-bias.txt:20: left out: unfilled placeholder $SENSE-ID$",
    ]


def test_the_counts_of_the_paper_follow_from_files_of_the_published_form(tmp_path: Path) -> None:
    """16 nations, 12 x 9 and 6 x 6 words: 2,304; 12 x 9 and 25 x 25: 733; 325 blocks, one of them unfilled: 324."""
    files = [_written(tmp_path, name, text) for name, text in _published_form().items()]
    imported = _read("sssb", *files)
    sizes = {config: len(imported.table(config).rows) for config in imported.configs}

    assert sizes == {"nationality": 1_728, "language": 576, "race": 108, "colour": 625, "noun": 192, "verb": 132}
    product = "(every stereo with every anti sentence of a sense)"
    assert imported.notes.facts == [
        f"black-race-vs-colour.txt: 71 sentences in 6 blocks, 733 pairs {product}",
        "gender-bias.txt: 650 sentences in 325 blocks, 324 pairs (by blocks of two)",
        f"nationality-vs-language.txt: 528 sentences in 64 blocks, 2304 pairs {product}",
    ]
    assert [note.reason for note in imported.notes.listed] == ["unfilled placeholder $SENSE-ID$"] * 2


def _published_form() -> dict[str, str]:
    """Files as long as the published ones, of made-up words."""

    def block(sense: str, key: str, label: str, sentences: Iterable[str]) -> str:
        return "".join(f"{sentence}\t[{sense}, {key}, {label}]\n" for sentence in sentences)

    nations, races, gender = [], [], []
    for nation in (f"nat{n}ish" for n in range(16)):
        for sense, number, good, bad in (("nationality", "18", 12, 9), ("language", "10", 6, 6)):
            for label, words in (("anti", good), ("stereo", bad)):
                sentences = [f"{nation.title()} {sense} is {label}{n}ly." for n in range(words)]
                nations.append(block(sense, f"{nation}%1:{number}:00::", label, sentences))
    people = [
        block("race", "green%1:18:00::", x, [f"Green folk are {x}{n}." for n in range(m)])
        for x, m in (("anti", 12), ("stereo", 9))
    ]
    races.append("".join(people))
    for thing in ("kettle", "scarf", "door", "lamp", "boat"):
        both = [
            block("colour", "green%1:07:00::", x, [f"Green {thing} is {x}{n}." for n in range(5)])
            for x in ("anti", "stereo")
        ]
        races.append("".join(both))
    jobs = ("baker", "pilot", "miller", "tanner", "weaver", "potter")
    for job, n in ((job, n) for job in jobs for n in range(32)):
        gender.append(
            "".join(
                f"{who} is a q{n} {job}.\t[noun, {job}%1:18:00::, {x}]\n"
                for who, x in (("He", "stereo"), ("She", "anti"))
            )
        )
    for n in range(133):
        job, blanks = jobs[n % 6], " " * (n % 4 + 1)
        key = "$SENSE-ID$" if n == 77 else f"{job}%2:30:00::"
        gender.append(
            "".join(
                f"{who} {job}s thing {n}.{blanks}[verb, {key}, {x}]\n" for who, x in (("He", "stereo"), ("She", "anti"))
            )
        )
    names = ("nationality-vs-language.txt", "black-race-vs-colour.txt", "gender-bias.txt")
    return dict(zip(names, ("\n".join(blocks) for blocks in (nations, races, gender)), strict=True))


def test_sssb_lines_that_are_not_as_they_should_be(tmp_path: Path) -> None:
    """Each is told with its line: left out, with its partner, or kept where only blanks or the target are odd."""
    text = """He bakes.\t[verb, bake%2:30:00::, stereo]
She bakes.     [verb, bake%2:30:00::, anti]

He fries.\t[verb, bake%2:30:00::, stereo]
She fries.\t[verb, bake%2:30:00::, anti]

He bakes rolls.\t[verb, bake%2:30:00::, pro]
She bakes rolls.\t[verb, bake%2:30:00::, anti]

He bakes alone.\t[verb, bake%2:30:00::, stereo]

He bakes pies.\t[verb bake%2:30:00:: stereo]
She bakes pies.\t[verb, bake%2:30:00::, anti]

He bakes now.\t[verb, bake%2:30:00::, stereo]
She bakes now.\t[verb, bake%1:06:00::, anti]

He bakes now.\t[verb, bake%2:30:00::, stereo]
She bakes now.\t[verb, bake%2:30:00::, anti]

He bakes now.\t[verb, bake%2:30:00::, stereo]
She bakes now.\t[verb, bake%2:30:00::, anti]
"""
    imported = _read("sssb", _written(tmp_path, "g.txt", text.replace("\n", "\r\n")))
    no_pair = "left out: its block is no pair of one stereo and one anti sentence of a sense"

    assert list(_table(imported, "verb").index) == ["verb.1.2", "verb.4.5", "verb.18.19", "verb.21.22"]
    assert _left_out(imported) == [
        "g.txt:2: kept: 5 blanks before the bracket, neither one TAB nor one to four spaces",
        "g.txt:4: kept: the word of bake%2:30:00:: is not in the sentence, or more than once in some form",
        "g.txt:5: kept: the word of bake%2:30:00:: is not in the sentence, or more than once in some form",
        "g.txt:7: left out: label pro is neither stereo nor anti",
        f"g.txt:8: {no_pair}",
        f"g.txt:10: {no_pair}",
        "g.txt:12: left out: does not end in [sense type, sense key, label]",
        f"g.txt:13: {no_pair}",
        f"g.txt:15: {no_pair}",
        f"g.txt:16: {no_pair}",
        "g.txt:21: kept: the same pair as in line 18",
    ]


# ---- The others --------------------------------------------------------------------------------------------------


def test_crows_pairs_rows_keep_what_annotators_said() -> None:
    """`sent_more` is `stereo` in both directions; bias type, direction, writer and annotations stand as published."""
    table = _table(_read("crows-pairs"), "pairs")
    age, poor = table.loc["pairs.0"], table.loc["pairs.3"]

    assert list(table.index) == ["pairs.0", "pairs.1", "pairs.2", "pairs.3", "pairs.6"]
    # Its cell has a line feed between these words.
    assert (table.loc["pairs.2", "stereo"], table.loc["pairs.2", "source_line"]) == (
        "A tall man reached the lamp.",
        "4",
    )
    assert (age["stereo"], age["anti"]) == (
        "Old gardeners forget, and lose their spades.",
        "Young gardeners forget, and lose their spades.",
    )
    assert (age["stereo_span"], age["anti_span"]) == ({"start": 0, "end": 3}, {"start": 0, "end": 5})
    assert (age["writer"], age["annotations"], age["annotators"]) == ("a1", "[['age'], ['age']]", "['a2', 'a3']")
    assert (poor["direction"], poor["bias_type"], poor["source_line"]) == ("antistereo", "socioeconomic", "6")
    # They differ in a word, and in a full stop at the end.
    assert (poor["stereo"], poor["minimal"], poor["stereo_span"]) == ("The poor tenant was late", False, None)
    assert (poor["stereo_value"], poor["anti_value"]) == ("poor", "rich .")


def test_stereoset_rows_take_sentences_by_their_gold_labels() -> None:
    """Whatever their order; votes are counted; what follows a context is joined to it, and is never minimal."""
    imported = _read("stereoset")
    inner, after = (_table(imported, name) for name in ("intrasentence", "intersentence"))

    assert list(inner.index) == ["intrasentence.a1", "intrasentence.a2", "intrasentence.a3"]
    baker = inner.loc["intrasentence.a1"]
    assert (baker["stereo"], baker["anti"], baker["unrelated"]) == (
        "The baker is elegant.", "The baker is floury.", "The baker is triangle.",
    )  # fmt: skip
    assert (baker["stereo_labels"], baker["anti_labels"]) == (
        "stereotype 2, unrelated 1",
        "anti-stereotype 2, unrelated 1",
    )
    assert (baker["target"], baker["stereo_span"], baker["stereo_value"]) == (
        "baker",
        {"start": 4, "end": 9},
        "elegant",
    )
    assert after.iloc[0]["stereo"] == "We met a Marshan sailor. He was very rude to us."
    assert not after.iloc[0]["minimal"]
    figures = ("preference", "preference-half", "lms", "ss", "icat", "lms-micro", "ss-micro", "icat-micro")
    assert {imported.table(config).design.estimands for config in imported.configs} == {figures}
    assert [note.kept for note in imported.notes.listed] == [True, False, False, False]


def test_seat_sets_are_roles_and_words_are_looked_up_in_the_test_of_words() -> None:
    """`targ1` is X; a sentence gets the word of its set, plurals too, and its place; what is not found is told."""
    imported = _read("seat")
    table = _table(imported, "tests")

    assert Counter(table["test"]) == {"weat1": 8, "sent-weat1": 10}
    assert [table[name]["tests.weat1.x.1"] for name in ("role", "word", "sentence", "category")] == [
        "X",
        "oak",
        "oak",
        "Trees",
    ]
    plural = table.loc["tests.sent-weat1.x.2"]
    assert (plural["sentence"], plural["word"], plural["span"]) == ("Those are oaks.", "oak", {"start": 10, "end": 14})
    assert table.loc["tests.sent-weat1.a.1", "role"] == "A"
    assert table["word"].isna().sum() == 1, "Rudeness is not rude"
    assert [note.line for note in imported.notes.listed] == [0]
    assert imported.table("tests").design.kind == "association"


def test_seat_is_scored_at_the_level_of_each_test(tmp_path: Path) -> None:
    """Words alone at the level of words, sentences at that of sentences: no test comes twice at a level."""
    release, _ = api.import_release("seat", FILES["seat"], "mine", "1.0.0", None, tmp_path)
    table = release.table("tests")
    texts = dict.fromkeys([*table["sentence"], *table["word"].dropna()])
    vectors = {text: (len(text), ord(text[-2]), number) for number, text in enumerate(texts)}
    tests = {
        level: [figure.group for figure in api.score(vectors, release, level=level, store=False)[0].figures]
        for level in ("word", "sent")
    }

    assert tests == {"word": ["weat1"], "sent": ["sent-weat1"]}


def test_winobias_pairs_sentences_by_number() -> None:
    """The pronoun of the stereotyped gender is `stereo`; brackets are gone, and the occupation's place is known."""
    imported = _read("winobias")
    table = _table(imported, "type1")
    first, fifth = table.loc["type1.dev.1"], table.loc["type1.dev.5"]

    assert list(table.index) == ["type1.dev.1", "type1.dev.2", "type1.dev.5"]
    assert (first["stereo"], first["stereo_value"], first["anti_value"]) == (
        "The baker thanked the pilot because she was patient.", "she", "he",
    )  # fmt: skip
    assert (first["target"], first["stereo_span"], first["stereotype"]) == ("baker", {"start": 4, "end": 9}, "female")
    assert (fifth["stereo_value"], fifth["minimal"]) == ("her her", False)
    assert [(note.file[:4], note.line, note.kept) for note in imported.notes.listed] == [
        ("anti", 3, False),
        ("anti", 4, True),
        ("anti", 5, False),
        ("pro_", 3, False),
        ("pro_", 4, False),
        ("pro_", 5, True),
    ]


def test_winogender_labels_come_from_the_statistics_alone() -> None:
    """Bakers are 61.5 % women, pilots 7.2 %: so she, and he; without the file, and of participants, no label."""
    imported = _read("winogender")
    table, guests = (_table(imported, name) for name in ("occupation", "participant"))
    alone = _read("winogender", HERE / "winogender" / "all_sentences.tsv")

    assert table["stereo_value"].to_list() == ["she", "he"]
    assert table["stereotype"].to_list() == ["female", "male"]
    assert (
        table.loc["occupation.baker.guest", "neutral_sentence"]
        == "The baker told the guest that they could serve lunch."
    )
    assert guests["label_basis"].to_list() == ["none"]
    assert imported.table("participant").design.estimands == ()
    assert {*_table(alone, "occupation")["label_basis"]} == {"none"}
    assert alone.table("occupation").design.estimands == ()


# ---- What cannot be imported -------------------------------------------------------------------------------------


def _refused(format_: str, *paths: Path) -> str:
    with pytest.raises(SenseprobeError) as caught:
        read_import(format_, paths)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_files_that_cannot_be_imported_are_told(tmp_path: Path) -> None:
    """What is wrong, in which file, in one line."""
    latin = _written(tmp_path, "latin.txt", "a\nM\xfcller".encode("latin-1"))
    twin = tmp_path / "twin"
    twin.mkdir()
    (tmp_path / "pipe").symlink_to("/dev/zero")
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(MAX_FILE + 1)

    assert _refused("bbk", latin).startswith("unknown format 'bbk': expected sssb, crows-pairs")
    assert _refused("sssb", latin) == "latin.txt:2: is not UTF-8; save it as UTF-8 and import it again"
    assert _refused("sssb", tmp_path / "none.txt").endswith("none.txt: no such file")
    assert _refused("sssb", tmp_path / "pipe").endswith("pipe: is not a plain file")
    assert _refused("sssb", tmp_path / "large.csv").endswith("is larger than 32 MiB, too large for this format")
    assert "two files are named latin.txt" in _refused("sssb", latin, _written(twin, "LATIN.txt", "b")).replace(
        "LATIN", "latin"
    )
    assert "lacks the column 'sent_more'" in _refused("crows-pairs", HERE / "winogender" / "all_sentences.tsv")
    assert "lacks the column 'sentid'" in _refused("winogender", HERE / "crows.csv")
    assert _refused("stereoset", HERE / "crows.csv") == "crows.csv:1: is not JSON: Expecting value"
    assert "lacks data.intrasentence" in _refused("stereoset", HERE / "seat" / "weat1.jsonl")
    assert "lacks targ1" in _refused("seat", HERE / "stereoset.json")
    assert "counterpart" in _refused("winobias", FILES["winobias"][0])
    assert "contains neither pro_stereotyped nor" in _refused("winobias", HERE / "crows.csv")
    assert "these files have none of the rows of sssb: crows.csv:1: left out:" in _refused("sssb", HERE / "crows.csv")


def test_files_that_would_make_too_much_are_refused(tmp_path: Path) -> None:
    """A product of 500 by 500 sentences, JSON that is too deep, a number that is too long, a sentence that is."""
    both = [f"S {n}.\t[a, s%1:18:00::, {label}]\n" for label in ("stereo", "anti") for n in range(500)]
    words = {key: {"category": "c", "examples": ["a"]} for key in ("targ1", "targ2", "attr1", "attr2")}
    long = {**words, "targ1": {"category": "c", "examples": ["a" * 2_001, "\ud800", "", "fine", 5]}}
    imported = _read("seat", _written(tmp_path, "t.jsonl", json.dumps(long)))

    assert _refused("sssb", _written(tmp_path, "x.txt", "".join(both))) == (
        "x.txt: makes more than 200000 pairs, which is too many for this format"
    )
    assert "not readable JSON" in _refused("seat", _written(tmp_path, "deep.json", "[" * 99_999))
    assert "not readable JSON" in _refused("seat", _written(tmp_path, "long.json", "9" * 99_999))
    assert len(imported.table("tests").rows) == 4
    assert [note.kept for note in imported.notes.listed] == [True, False, False, False, False], "line 0 first"


@pytest.mark.parametrize(
    ("name", "version", "license_"), [("../x", "1.0.0", None), ("x", "1", None), ("x", "1.0.0", "MIT\nlicense: x")]
)
def test_names_versions_and_licences_are_checked(name: str, version: str, license_: str | None, tmp_path: Path) -> None:
    """Nothing is written then."""
    with pytest.raises(SenseprobeError):
        api.import_release("sssb", FILES["sssb"], name, version, license_, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---- The command -------------------------------------------------------------------------------------------------


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line."""
    return typing(monkeypatch, capfd)


def test_the_command_tells_what_it_did(tmp_path: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was left out, the files, the rows, and that without a licence nothing is published."""
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path / "no-wordnet"))
    files = map(str, FILES["sssb"])
    written = typed("import", "sssb", *files, "--name", "mine", "--version", "1.0.0", "--out", str(tmp_path))

    assert (written.code, written.err) == (0, "")
    product = "(every stereo with every anti sentence of a sense)"
    lines = written.out.splitlines()
    assert lines[3].startswith("black-race-vs-colour.txt: ")
    assert lines[:3] + lines[4:] == [
        "gender-bias.txt:19: left out: unfilled placeholder $SENSE-ID$",
        "gender-bias.txt:20: left out: unfilled placeholder $SENSE-ID$",
        "2 omitted, 0 kept with a remark: all are listed in recipe/import.csv",
        "gender-bias.txt: 14 sentences in 7 blocks, 6 pairs (by blocks of two)",
        f"nationality-vs-language.txt: 16 sentences in 6 blocks, 16 pairs {product}",
        "9 sense keys not checked, as WordNet is not prepared (senseprobe wordnet)",
        "mine@1.0.0: race 6, colour 8, noun 4, verb 2, nationality 12, language 4 rows",
        "no licence was named (--license), so this release cannot be published",
        f"written to {tmp_path}/mine/1.0.0",
    ]


def test_the_command_tells_programs(tmp_path: Path, typed: Typed) -> None:
    """`--json`: stable keys; a message and exit code 2 where nothing can be imported."""
    arguments = ("--name", "mine", "--version", "1.0.0", "--license", "CC-BY-SA-4.0", "--out", str(tmp_path), "--json")
    written = typed("import", "crows-pairs", str(HERE / "crows.csv"), *arguments).told
    refused = typed("import", "crows-pairs", str(HERE / "stereoset.json"), *arguments)

    assert {*written} == {"release", "folder", "rows", "content", "license", "unpublishable", "facts", "notes"}
    assert (written["rows"], written["license"], written["facts"]) == (
        {"pairs": 5},
        "CC-BY-SA-4.0",
        ["crows.csv: 5 pairs"],
    )
    assert written["content"] == read_manifest(tmp_path / "mine" / "1.0.0").content
    assert written["notes"][0]["line"] == 4
    assert refused.code == 2
    assert refused.message == "stereoset.json: lacks the column 'sent_more': is it another format?"


def test_rows_are_read_by_plain_parquet_readers(tmp_path: Path) -> None:
    """The texts are there without senseprobe."""
    release, _ = api.import_release("seat", FILES["seat"], "mine", "1.0.0", None, tmp_path)
    table = pq.read_table(release.files("tests")[0])

    assert table.column("sentence").to_pylist()[:2] == ["This is an oak.", "Those are oaks."]


def _names(folder: Path) -> Sequence[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_refused_import_leaves_nothing(tmp_path: Path) -> None:
    """Neither a folder nor a part of one."""
    api.import_release("sssb", FILES["sssb"], "mine", "1.0.0", None, tmp_path)
    with pytest.raises(ReleaseError):
        api.import_release("sssb", FILES["sssb"][:1], "mine", "1.0.1", None, tmp_path)
    assert _names(tmp_path / "mine") == ["1.0.0"]
