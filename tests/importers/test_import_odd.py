"""What is odd in users' own copies of published benchmarks, and what imports do about it: one rule, told each time."""

import csv
import json
from itertools import permutations
from pathlib import Path

import pytest
from tests.commands import typing
from tests.imports.files import FILES, HERE

from senseprobe import api
from senseprobe.errors import SenseprobeError
from senseprobe.importers import FORMATS, find_format
from senseprobe.importers.plan import ImportedDataset, read_import
from senseprobe.importers.sentence_pairs import find_word
from senseprobe.importers.sources import MAX_LINES
from senseprobe.release.citation import find_entry
from senseprobe.release.verify import FOREIGN


def _import(folder: Path, format_: str, files: dict[str, str], order: int = 1) -> ImportedDataset:
    """The import of files of these texts, in this order or the other way round."""
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
    return read_import(format_, [folder / name for name in [*files][::order]])


def _refused(folder: Path, format_: str, files: dict[str, str]) -> str:
    with pytest.raises(SenseprobeError) as caught:
        _import(folder, format_, files)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def _notes(imported: ImportedDataset) -> list[str]:
    return [str(note) for note in imported.notes.listed]


def _ids(imported: ImportedDataset) -> list[str]:
    return [str(row["id"]) for table in imported.tables for row in table.rows]


# ---- Words -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "word", "match"),
    [
        ("The boy loved the mall.", "male", None),
        ("They game all day.", "gay", None),
        ("He crossed the bridge.", "bride", None),
        ("A motherboard.", "mother", None),
        ("He ate cookies.", "cook", None),
        ("He bought a cooker.", "cook", None),
        ("A judgemental man.", "judge", None),
        ("Her mother-in-law came.", "mother", None),
        ("Her step-mother came.", "mother", None),
        ("They hoped so.", "hop", None),
        ("He planted a seed.", "see", None),
        ("The judge is judging.", "judge", None),
        ("The judge sees a judge.", "judge", None),
        ("A mother saw her mother-in-law.", "mother", "mother"),
        ("The judge's hat.", "judge", "judge"),
        ("His mothers came.", "mother", "mothers"),
        ("Two LADIES came.", "lady", "LADIES"),
        ("Coaches shout.", "coach", "Coaches"),
        ("She guides us.", "guide", "guides"),
        ("She was nursing.", "nurse", "nursing"),
        ("They hopped off.", "hop", "hopped"),
        ("He piloted it.", "pilot", "piloted"),
        ("They were lying.", "lie", "lying"),
        ("He spied on us.", "spy", "spied"),
        ("Two head nurses came.", "head nurse", "head nurses"),
    ],
)
def test_a_word_is_found_in_its_own_forms_alone(sentence: str, word: str, match: str | None) -> None:
    """Plural, past and participle by English rules; never a longer word, and nothing where it may be either."""
    span = find_word(sentence, word)

    assert (sentence[slice(*span)] if span else None) == match


def test_a_verb_beside_its_noun_has_no_place_and_is_told(tmp_path: Path) -> None:
    """`engineer` and `engineered` in one sentence: of which the key is, the words do not say."""
    lines = [f"The engineer engineered it as {who} liked.\t[verb, engineer%2:31:01::, {x}]\n" for who, x in WHO]
    imported = _import(tmp_path, "sssb", {"g.txt": "".join(lines)})
    (row,) = imported.table("verb").rows

    assert (row["stereo_span"], row["anti_span"], row["target"]) == (None, None, "engineer")
    reason = "kept: the word of engineer%2:31:01:: is not in the sentence, or more than once in some form"
    assert _notes(imported) == [f"g.txt:1: {reason}", f"g.txt:2: {reason}"]


WHO = (("he", "stereo"), ("she", "anti"))

# ---- Repeats -----------------------------------------------------------------------------------------------------


def _item(name: str, **fields: object) -> dict[str, object]:
    sentences = [
        {"sentence": f"The {word} sailor ran.", "gold_label": label, "labels": [{"label": label}]}
        for word, label in (("rude", "stereotype"), ("kind", "anti-stereotype"), ("door", "unrelated"))
    ]
    item = {"id": name, "target": "sailor", "bias_type": "jobs", "context": "The BLANK sailor ran."}
    return {**item, "sentences": sentences, **fields}


def _stereoset(*items: object, **more: object) -> str:
    return json.dumps({"version": "1", "data": {"intrasentence": items, **more}})


def test_repeats_on_one_line_and_in_another_file_are_told(tmp_path: Path) -> None:
    """A file may be a single line, so that notes name items; what stands in another file is named with it."""
    other = _item("c", context="The BLANKet sailor ran.")
    files = {"a.json": _stereoset(_item("a"), _item("b")), "b.json": _stereoset(other, {"id": 5})}

    assert _notes(_import(tmp_path, "stereoset", files)) == [
        "a.json:1: kept: intrasentence item 2: the same pair as in intrasentence item 1",
        "b.json: left out: intrasentence item 2: no text id",
        "b.json:1: kept: intrasentence item 1: its context has not one BLANK that stands by itself",
        "b.json:1: kept: intrasentence item 1: the same pair as in intrasentence item 1 of a.json",
    ]
    seat = _seat(X=["oak", "oak"])
    assert _notes(_import(tmp_path, "seat", {"t.jsonl": seat}))[-1] == (
        "t.jsonl:1: kept: X example 2: the same as example 1"
    )
    head = "sent_more,sent_less,stereo_antistereo,bias_type\n"
    row = "Old men ran.,Young men ran.,stereo,age\n"
    crows = _import(tmp_path, "crows-pairs", {"a.csv": head + row, "b.csv": head + row})
    assert _notes(crows) == ["b.csv:2: kept: the same pair as in line 2 of a.csv"]
    sssb = "".join(f"Green folk are {x}.\t[race, green%1:18:00::, {x}]\n" for x in ("stereo", "stereo", "anti"))
    assert _notes(_import(tmp_path, "sssb", {"a.txt": sssb, "b.txt": sssb})) == [
        "a.txt:2: kept: the same sentence as in line 1",
        "b.txt:1: kept: the same sentence as in line 1 of a.txt",
        "b.txt:2: kept: the same sentence as in line 1 of a.txt",
        "b.txt:3: kept: the same sentence as in line 3 of a.txt",
    ]


# ---- JSON --------------------------------------------------------------------------------------------------------


def _seat(**sets: list[str]) -> str:
    """A test on one line: its sets hold two words each, or those that are given."""
    keys = {"targ1": "X", "targ2": "Y", "attr1": "A", "attr2": "B"}
    return json.dumps(
        {key: {"category": role, "examples": sets.get(role, [f"{role}a", f"{role}b"])} for key, role in keys.items()}
    )


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """Python would keep the last value alone, and lose the first without a word."""
    whole = _stereoset(_item("a"))
    item = whole.replace('"target"', '"target": "other",\n"target"')
    data = f'{whole[:-1]},\n"data": {{"intrasentence": []}}}}'
    seat = _seat().replace('"targ2"', '\n"targ1"')

    assert _refused(tmp_path, "stereoset", {"a.json": item}) == (
        "a.json:1: an object has the key 'target' twice: remove one of them"
    )
    assert "has the key 'data' twice" in _refused(tmp_path, "stereoset", {"a.json": data})
    assert "has the key 'targ1' twice" in _refused(tmp_path, "seat", {"a.jsonl": seat})


def test_a_key_of_another_shape_is_refused_or_told(tmp_path: Path) -> None:
    """A part that is no list; keys that no format has, votes that are none, a category that is no text."""
    listless = _stereoset(_item("a"), intersentence={"a": 1})
    assert _refused(tmp_path, "stereoset", {"a.json": listless}) == (
        "a.json: its data.intersentence is not a list: is it another format?"
    )
    item = _item("a")
    assert isinstance(item["sentences"], list)
    item["sentences"][0]["labels"] = [{"label": "stereotype"}, {"label": 5}, "x"]
    imported = _import(tmp_path, "stereoset", {"a.json": _stereoset(item, middle=[])})
    assert _notes(imported) == [
        "a.json: left out: what the format does not have: data.middle",
        "a.json:1: kept: intrasentence item 1: what its annotators said is not all labels: these alone are counted",
    ]
    assert imported.table("intrasentence").rows[0]["stereo_labels"] == "stereotype 1"
    seat = json.loads(_seat())
    seat["targ1"]["category"], seat["extra"] = 5, {}
    odd = _import(tmp_path, "seat", {"t.jsonl": json.dumps(seat)})
    assert _notes(odd) == [
        "t.jsonl: left out: what the format does not have: extra",
        "t.jsonl: kept: X: its category is no text of a fit length, and is left empty",
    ]
    assert [row["category"] for row in odd.table("tests").rows[:3]] == [None, None, "Y"]


def test_json_has_as_many_lines_as_text(tmp_path: Path) -> None:
    """A file of one item in 500,001 lines more than it needs is refused, whatever its format."""
    text = _stereoset(_item("a")).replace("[", "[" + "\n" * (MAX_LINES + 1), 1)

    assert f"has more than {MAX_LINES} lines" in _refused(tmp_path, "stereoset", {"a.json": text})


# ---- Tables ------------------------------------------------------------------------------------------------------


def test_rows_that_a_quotation_mark_joins_are_counted(tmp_path: Path) -> None:
    """A stray quotation mark in line 3 that one in line 5 ends, with the right number of cells; one without end."""
    head = "sent_more,sent_less,stereo_antistereo,bias_type\n"
    rows = [f"Old men ran {n}.,Young men ran {n}.,stereo,age\n" for n in range(9)]
    stray = [rows[0], f'"{rows[1]}', rows[2], rows[3].replace(".,", '.",', 1), *rows[4:]]
    imported = _import(tmp_path, "crows-pairs", {"c.csv": head + "".join(stray)})
    assert _notes(imported) == ["c.csv:3: left out: lines 3 to 5 (3 lines) are one row, by their quotation marks"]
    assert len(_ids(imported)) == 6

    endless = _import(tmp_path, "crows-pairs", {"c.csv": head + rows[0] + rows[1].replace("age", '"age') + rows[2]})
    assert _notes(endless) == ["c.csv:3: left out: lines 3 to 4 (2 lines) are one row, by their quotation marks"]
    long = head + rows[0] + rows[1].replace("age", '"age') + rows[2] * 40_000
    csv.field_size_limit(2**24)  # as a corpus that was read before leaves it
    assert _refused(tmp_path, "crows-pairs", {"c.csv": long}) == (
        "c.csv:3: cannot be read as a table: a row of more than 1,048,576 characters: "
        "is there an unclosed quotation mark?"
    )


def test_headers_and_blank_cells(tmp_path: Path) -> None:
    """A column that is there twice is refused: which one counts is not known. A blank bias type is none."""
    head = "sent_more,sent_less,stereo_antistereo,bias_type"
    row = "Old men ran.,Young men ran.,stereo"
    twice = f"{head},sent_more\n{row},age,Old women ran.\n"

    assert _refused(tmp_path, "crows-pairs", {"c.csv": twice}) == (
        "c.csv: has the column 'sent_more' twice: rename or remove one of them"
    )
    blank = _import(tmp_path, "crows-pairs", {"c.csv": f"{head}\n{row},age\n{row},  \n"})
    assert _notes(blank) == ["c.csv:3: left out: no bias_type"]


# ---- Names and ids -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", [format_ for format_, files in FILES.items() if len(files) > 1])
def test_the_order_of_files_is_no_part_of_a_release(format_: str) -> None:
    """Rows, notes and recipe are the same in whatever order the files are named."""
    imports = [read_import(format_, files) for files in permutations(FILES[format_])]

    assert all(
        (imported_once.tables, imported_once.recipe()) == (imports[0].tables, imports[0].recipe())
        for imported_once in imports
    )


def test_ids_follow_from_names_alone(tmp_path: Path) -> None:
    """Names that differ in signs alone, as published ones of SEAT do, give ids that differ; with other files or not."""
    names = ("heilman_double_bind_1.jsonl", "heilman_double_bind_1-.jsonl", "heilman_double_bind_1+3-.jsonl")
    both = _import(tmp_path, "seat", {name: _seat() for name in names})
    alone = [_import(tmp_path, "seat", {name: _seat()}) for name in names]

    assert sorted(_ids(both)) == sorted(name for imported_once in alone for name in _ids(imported_once))
    assert "tests.heilman_double_bind_1+3-.x.1" in _ids(both)
    heads = "".join(
        f"{job}.guest.0.{gender}.txt\tThe {job} told the guest that {who} won.\n"
        for job in ("head nurse", "head-nurse")
        for gender, who in (("male", "he"), ("female", "she"), ("neutral", "they"))
    )
    nurses = _import(tmp_path, "winogender", {"a.tsv": f"sentid\tsentence\n{heads}"})
    # By `printf 'head nurse' | sha256sum`.
    assert _ids(nurses) == ["occupation.head-nurse-ee9790.guest", "occupation.head-nurse.guest"]
    lines = "".join(f"Green folk are {x}.\t[race, green%1:18:00::, {x}]\n" for x in ("stereo", "anti"))
    for order in (1, -1):
        imported = _import(tmp_path, "sssb", {"a.txt": lines, "b.txt": lines}, order)
        assert _ids(imported) == ["race.1.2", "race.b-txt.1.2"]


def test_files_or_senses_of_one_name_are_refused(tmp_path: Path) -> None:
    """What a dot follows is no part of a test's name; a sense `recipe` takes another name, which may be taken."""

    def pair(sense: str, key: str = "judge") -> str:
        return "".join(f"{who} is a judge.\t[{sense}, {key}%1:18:00::, {x}]\n" for who, x in WHO) + "\n"

    seat = {"weat1.json": _seat(), "weat1.jsonl": _seat()}
    assert _refused(tmp_path, "seat", seat) == "weat1.json and weat1.jsonl would be the same test: rename one of them"
    assert _refused(tmp_path, "sssb", {"g.txt": pair("recipe") + pair("sense-recipe")}) == (
        "two configs would be named 'sense-recipe': import them separately, or rename one in the files"
    )
    crossed = "".join(f"Green folk are {x}.\t[race, green%1:18:00::, {x}]\n" for x in ("stereo", "anti", "anti"))
    files = {"a.txt": pair("race-crossed") + pair("race"), "b.txt": crossed}
    assert "would be named 'race-crossed'" in _refused(tmp_path, "sssb", files)


@pytest.mark.parametrize("name", ["a:b.txt", ".git", *FOREIGN])
def test_names_that_no_published_release_can_have_are_refused(name: str, tmp_path: Path) -> None:
    """Windows has no `:` in names, and what other tools leave in a folder is no part of a release."""
    assert "rename the file" in _refused(tmp_path, "sssb", {name: "x"})


# ---- Formats -----------------------------------------------------------------------------------------------------


def test_money_is_no_placeholder(tmp_path: Path) -> None:
    """A letter follows the sign of a placeholder."""

    def pair(what: str) -> str:
        return "".join(f"A judge paid {who} {what}.\t[noun, judge%1:18:00::, {x}]\n" for who, x in WHO) + "\n"

    imported = _import(tmp_path, "sssb", {"g.txt": pair("$100") + pair("$GENDER$") + pair("$OBJ")})

    assert _ids(imported) == ["noun.1.2"]
    placeholders = (("4", "$GENDER$"), ("5", "$GENDER$"), ("7", "$OBJ"), ("8", "$OBJ"))
    assert _notes(imported) == [f"g.txt:{line}: left out: unfilled placeholder {text}" for line, text in placeholders]


def test_sentences_in_files_of_words_are_no_words(tmp_path: Path) -> None:
    """Three words at most, and no end of a sentence: published files without `sent-` hold names, and sentences too."""
    words = ["oak", "European American", "Kip van Dee", "Kate is competent here", "She rose.", "Ran!"]
    imported = _import(tmp_path, "seat", {"heilman.jsonl": _seat(X=words, Y=words)})
    rows = imported.table("tests").rows[:6]

    assert [row["word"] for row in rows] == [*words[:3], None, None, None]
    assert [row["span"] for row in rows[2:4]] == [{"start": 0, "end": 11}, None]
    assert [row["sentence"] for row in rows] == words
    assert _notes(imported) == [
        "heilman.jsonl: kept: 6 sentences whose word is not known: they are no words themselves"
    ]
    assert imported.table("tests").design.factors[0].name == "sentence"


def test_the_word_of_a_sentence_is_there_in_one_form(tmp_path: Path) -> None:
    """The longest word that is there once: `oak` and `oaks` are one word twice, and `cares` is no plural of `car`."""
    texts = ["Oaks and an oak.", "Who cares?", "European American men.", "A car."]
    files = {
        "weat1.jsonl": _seat(X=["oak", "car", "European American", "men"]),
        "sent-weat1.jsonl": _seat(X=texts),
    }
    rows = [row for row in _import(tmp_path, "seat", files).table("tests").rows if row["test"] == "sent-weat1"]

    assert [row["word"] for row in rows[:4]] == [None, None, "European American", "car"]


def test_files_of_tan_and_celis_and_of_bias_bench(tmp_path: Path) -> None:
    """Their form, with sentences written for this test: long sentences, an added test, one without its words."""
    names, other = ["Emily", "Anne"], ["Lakisha", "Ebony"]
    sentences = [f"{name} is an engineer with superior skills." for name in (*names, *other)]
    sets = {"targ1": names, "targ2": other, "attr1": ["competent", "able"], "attr2": ["inept", "a mess"]}
    texts = {
        **dict(zip(("targ1", "targ2"), (sentences[:2], sentences[2:]), strict=True)),
        **{key: [f"They say the engineer is {word}." for word in sets[key]] for key in ("attr1", "attr2")},
    }

    def whole(of: dict[str, list[str]]) -> str:
        return json.dumps({key: {"category": key, "examples": examples} for key, examples in of.items()}, indent=2)

    religion = _seat(X=["This is a church.", "Churches are things."], A=["This is a cherish."])
    files = {
        "weat_hdb_unbleach_competent.jsonl": whole(sets),
        "sent-weat_hdb_unbleach_competent.jsonl": whole(texts),
        "+i1.jsonl": _seat(X=["Aisha", "Mary Ann"]),
        "sent-+i1.jsonl": _seat(X=["This is Aisha.", "Mary Ann is here."]),
        "sent-religion1.jsonl": religion,
    }
    rows = _import(tmp_path, "seat", files).table("tests").rows
    by_test = {
        test: [(row["role"], row["word"], row["span"] and (row["span"]["start"], row["span"]["end"])) for row in some]
        for test in ("sent-weat_hdb_unbleach_competent", "sent-+i1", "sent-religion1")
        if (some := [row for row in rows if row["test"] == test])
    }

    assert by_test["sent-weat_hdb_unbleach_competent"] == [
        ("X", "Emily", (0, 5)),
        ("X", "Anne", (0, 4)),
        ("Y", "Lakisha", (0, 7)),
        ("Y", "Ebony", (0, 5)),
        ("A", "competent", (25, 34)),
        ("A", "able", (25, 29)),
        ("B", "inept", (25, 30)),
        ("B", "a mess", (25, 31)),
    ]
    assert by_test["sent-+i1"][:2] == [("X", "Aisha", (8, 13)), ("X", "Mary Ann", (0, 8))]
    assert {word for _, word, _ in by_test["sent-religion1"]} == {None}


def _winobias(folder: Path, pro: str, anti: str) -> ImportedDataset:
    fill = "9 [The baker] said [{}] ran.\n"
    names = ("pro_stereotyped_type1.txt", "anti_stereotyped_type1.txt")
    return _import(
        folder, "winobias", dict(zip(names, (pro + fill.format("she"), anti + fill.format("he")), strict=True))
    )


@pytest.mark.parametrize(
    ("pro", "anti", "reason"),
    [
        ("[she] ran", "[her] ran", "no pronoun of the other gender than in"),
        ("[she] ran", "[she] sang", "no pronoun of the other gender than in"),
        ("[she] ran", "[they] ran", "no pronoun of the other gender than in"),
        ("[she] ran for a long while", "[he] ran", "another sentence than"),
        ("[she] ran", "[he] ran for a long while", "another sentence than"),
        ("[she] ran", "[she] ran", "the same as"),
        ("[she] ran for a while", "[he] ran", None),
        ("[she] put [her] hat on", "[he] put [his] hat on", None),
        ("she ran", "he ran", None),
    ],
)
def test_winobias_pairs_differ_in_gender_and_little_else(
    pro: str, anti: str, reason: str | None, tmp_path: Path
) -> None:
    """Three words besides at most on each side; four, or pronouns of one gender, and both lines are left out."""
    imported = _winobias(tmp_path, f"1 [The baker] said {pro}.\n", f"1 [The baker] said {anti}.\n")
    left_out = [str(note) for note in imported.notes.listed if not note.kept]
    expected = [
        f"{a}_stereotyped_type1.txt:1: left out: {reason} line 1 of {b}_stereotyped_type1.txt"
        for a, b in (("anti", "pro"), ("pro", "anti"))
    ]

    assert _ids(imported) == (["type1.9"] if reason else ["type1.1", "type1.9"])
    assert left_out == (expected if reason else [])


def test_winogender_figures_are_read_strictly(tmp_path: Path) -> None:
    """Two figures of an occupation are none, one twice is one; `1_0` is no number; each file is counted by itself."""
    jobs = ("baker", "pilot", "clerk", "cook")
    text = "".join(
        f"{job}.guest.0.{gender}.txt\tThe {job} told the guest that {who} won.\n"
        for job in jobs
        for gender, who in (("male", "he"), ("female", "she"), ("neutral", "they"))
    )
    first = "baker\t90\npilot\t10.5\nclerk\t1_0\n"
    second = "baker\t20\nPilot\t10.5\n"
    head = "occupation\tbls_pct_female\n"
    files = {"s.tsv": f"sentid\tsentence\n{text}", "t.tsv": head + first, "u.tsv": head + second}
    imported = _import(tmp_path, "winogender", files)

    assert [row["stereotype"] for row in imported.table("occupation").rows] == [None, "male", None, None]
    assert _notes(imported) == [
        "s.tsv:2: kept: the statistics have no figure for baker: its pairs have no label",
        "s.tsv:8: kept: the statistics have no figure for clerk: its pairs have no label",
        "s.tsv:11: kept: the statistics have no figure for cook: its pairs have no label",
        "t.tsv:2: left out: baker has several figures, so that none is taken",
        "t.tsv:4: left out: no occupation with a bls_pct_female from 0 to 100",
        "u.tsv:2: left out: baker has several figures, so that none is taken",
        "u.tsv:3: kept: pilot has the same figure in line 3 of t.tsv",
    ]
    assert imported.notes.facts == ["t.tsv: 2 occupations", "u.tsv: 2 occupations", "s.tsv: 4 pairs of 4"]


# ---- What the command is told ------------------------------------------------------------------------------------


def _release(folder: Path, license_: str | None, name: str = "mine") -> str:
    release, _ = api.import_release("crows-pairs", [HERE / "crows.csv"], name, "1.0.0", license_, folder)
    return str(release.manifest.data["card"]["license"])


def test_a_licence_is_an_expression_or_none(tmp_path: Path) -> None:
    """None stated is fine, and one that forbids changes, for oneself; what is no expression is refused at once."""
    for license_text in ("banana", "MIT AND banana", "MIT) OR (MIT", "LicenseRef-mine", "MIT\nlicense: x"):
        with pytest.raises(SenseprobeError, match="is not an SPDX licence expression"):
            _release(tmp_path / "no", license_text)
    assert not (tmp_path / "no").exists()
    taken = {
        "NONE": "",
        "mit": "MIT",
        "CC-BY-NC-ND-4.0": "CC-BY-NC-ND-4.0",
        "MIT OR CC-BY-ND-4.0": "MIT OR CC-BY-ND-4.0",
    }
    for number, (license_text, license_) in enumerate(taken.items()):
        assert _release(tmp_path / str(number), license_text) == license_


def test_a_name_of_a_dataset_is_refused(tmp_path: Path) -> None:
    """`sssb@1.0.0` is what senseprobe's own rows are called."""
    with pytest.raises(SenseprobeError, match="'sssb' is already a dataset of templates"):
        _release(tmp_path / "out", None, "SSSB")
    assert not (tmp_path / "out").exists()


PAPERS = {
    "sssb": ("Zhou", "Bollegala", "2022", "2022.acl-long.135"),
    "crows-pairs": ("Nangia", "Bowman", "2020", "2020.emnlp-main.154"),
    "french-crows-pairs": ("Névéol", "Fort", "2022", "2022.acl-long.583"),
    "multilingual-crows-pairs": ("Fort", "Fort", "2024", ""),
    "winoqueer": ("Felkner", "May", "2023", "2023.acl-long.507"),
    "stereoset": ("Nadeem", "Reddy", "2021", "2021.acl-long.416"),
    "seat": ("May", "Rudinger", "2019", "N19-1063"),
    "winobias": ("Zhao", "Chang", "2018", "N18-2003"),
    "winogender": ("Rudinger", "Van Durme", "2018", "N18-2002"),
    "bbq": ("Parrish", "Bowman", "2022", "2022.findings-acl.165"),
}
"""First and last author, year, and name in the ACL Anthology."""


@pytest.mark.parametrize("format_", FORMATS)
def test_a_format_has_the_name_by_which_it_is_registered(format_: str) -> None:
    """The name in the registry, which users type, is the one that a release's manifest holds."""
    assert find_format(format_).id == format_


@pytest.mark.parametrize("format_", [name for name, format_ in FORMATS.items() if format_.read])
def test_an_import_cites_its_paper(format_: str, tmp_path: Path) -> None:
    """The paper's entry is in the recipe, and its authors are not those of the user's release."""
    files, language = FILES.get(format_, FILES["crows-pairs"]), find_format(format_).language or "de"
    release, _ = api.import_release(format_, files, "mine", "1.0.0", None, tmp_path, language=language)
    card = release.manifest.data["card"]
    entry = find_entry((release.folder / "recipe" / "references.bib").read_text(), card["citation"])

    assert entry is not None
    names = [family for family, _ in entry.authors]
    url = entry.fields.get("url", "")
    assert (names[0], names[-1], entry.fields["year"], url.rpartition("/")[2]) == PAPERS[format_]
    assert card["authors"] == []
    readme = (release.folder / "README.md").read_text()
    assert "- **Authors:** mine contributors" in readme
    assert "row counts" not in readme  # none was published
    cited = (release.folder / "CITATION.cff").read_text().partition("references:")[2]
    assert entry.fields["title"] in cited
    assert not url or f'url: "{url}"' in cited


def test_a_dry_run_tells_all_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same facts and notes as the import; a licence that forbids changes is reported too."""
    typed = typing(monkeypatch, capfd)
    command = ("import", "crows-pairs", str(HERE / "crows.csv"), "--name")
    arguments = (*command, "mine", "--version", "1.0.0", "--out", str(tmp_path))
    dry = typed(*arguments, "--dry-run", "--license", "CC-BY-ND-4.0")
    assert not [*tmp_path.iterdir()]
    as_json = typed(*arguments, "--dry-run", "--json").told
    assert typed(*arguments).code == 0

    assert (dry.code, dry.err) == (0, "")
    assert dry.out.splitlines()[-5:] == [
        "3 omitted, 3 kept with a remark: --json lists all",
        "crows.csv: 5 pairs",
        "mine@1.0.0: pairs 5 rows",
        "CC-BY-ND-4.0 forbids modified versions such as a release, so this release cannot be published",
        "nothing was written",
    ]
    with (tmp_path / "mine" / "1.0.0" / "recipe" / "import.csv").open(newline="") as file:
        listed = [(row["file"], int(row["line"]), row["reason"]) for row in csv.DictReader(file)]
    assert [(note["file"], note["line"], note["reason"]) for note in as_json["notes"]] == listed
    assert (as_json["folder"], as_json["content"], as_json["rows"]) == (None, None, {"pairs": 5})
    assert typed(*command, "x", "--version", "1", "--dry-run").code == 2
