"""Pairs of sentences on a row: how two sentences are aligned, quoted line feeds, spaces, languages, and old readers."""

import json
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import typing
from tests.imports.files import FILES, HERE

from senseprobe import api
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.replay import compare
from senseprobe.importers.plan import ImportedDataset, read_import, verify_import
from senseprobe.importers.sentence_pairs import find_difference, find_word

READER_1 = Path(__file__).parents[1] / "fixtures" / "imports" / "reader-1"
HEAD = "n,sent_more,sent_less,stereo_antistereo,bias_type\n"


def _import(
    folder: Path, text: str, format_: str = "crows-pairs", language: str | None = None, name: str = "c.csv"
) -> ImportedDataset:
    (folder / name).write_text(text, encoding="utf-8")
    return read_import(format_, [folder / name], None, language)


def _notes(imported: ImportedDataset) -> list[str]:
    return [str(note) for note in imported.notes.listed]


# ---- Alignment ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stereo", "anti", "shared", "words", "runs"),
    [
        ("Old men ran.", "Young men ran.", "_ men ran .", ("Old", "Young"), 1),
        ("The poor man paid the rich one.", "The rich man paid the poor one.", "The _ man paid the _ one .", 0, 2),
        # As `pairs.982` does: they begin and end in other words, so that nothing is common to their ends.
        ("Men from Mars lie!", "Women from Mars never lie.", "_ from Mars _ lie _", ("Men !", "Women never ."), 3),
        ("He sat.", "He sat down.", "He sat _ .", ("", "down"), 1),
        ("He is a good good man.", "He is a good man.", "He is a good _ man .", ("good", ""), 1),
        ("Same here.", "Same  here.", "Same here .", ("", ""), 0),
        ("Left.", "Right!", "_", ("Left .", "Right !"), 1),
        ("They do care.", "They don't care.", "They do _ care .", ("", "n't"), 1),
        # A hundred words, none of which is shared, are one run as ten are.
        ("a " * 100 + "end", "b " * 100 + "end", "_ end", 0, 1),
    ],
)
def test_two_sentences_are_aligned_by_their_words(
    stereo: str, anti: str, shared: str, words: tuple[str, str] | int, runs: int
) -> None:
    """As many words as possible are shared, by hand; only a single run is minimal and has a span."""
    difference, other = find_difference(stereo, anti), find_difference(anti, stereo)

    assert (difference.shared, difference.runs) == (shared, runs) == (other.shared, other.runs)
    values = tuple(" ".join(match.group() for match in side) for side in (difference.stereo, difference.anti))
    assert not words or values == words
    assert (other.stereo, other.anti) != (difference.stereo, difference.anti) or not any(words or ())


TOKENS = st.lists(st.sampled_from("abc"), max_size=9).map(tuple)


@given(TOKENS, TOKENS)
def test_no_alignment_shares_more_words(left: tuple[str, ...], right: tuple[str, ...]) -> None:
    """Against the textbook's table of lengths; one run exactly where one run shares as many; both orders alike."""
    lengths = dict.fromkeys(product(range(-1, len(left)), range(-1, len(right))), 0)
    for i, j in product(range(len(left)), range(len(right))):
        same = left[i] == right[j]
        lengths[i, j] = lengths[i - 1, j - 1] + 1 if same else max(lengths[i - 1, j], lengths[i, j - 1])
    longest = lengths[len(left) - 1, len(right) - 1]
    one_run = any(
        left[:start] == right[:start] and left[len(left) - longest + start :] == right[len(right) - longest + start :]
        for start in range(longest + 1)
    )
    difference, other = (find_difference(" ".join(a), " ".join(b)) for a, b in ((left, right), (right, left)))

    assert len(left) - len(difference.stereo) == longest == len(right) - len(difference.anti)
    assert difference.runs == (0 if left == right else 1) or not one_run
    assert (difference.runs > 1) != (one_run or left == right)
    assert (difference.shared, difference.runs) == (other.shared, other.runs)
    assert [match.span() for match in difference.stereo] == [match.span() for match in other.anti]


def test_rows_that_differ_in_several_places_are_not_minimal(tmp_path: Path) -> None:
    """Neither with as many words on both sides nor with more on one: no span then, but the words."""
    lines = (
        "0,The poor man paid the rich one.,The rich man paid the poor one.,stereo,age\n"
        "1,Old men from Mars never sat.,Young men from Mars sat.,stereo,age\n"
        "2,The very old man sat.,The young man sat.,stereo,age\n"
    )
    both, several, single = _import(tmp_path, HEAD + lines).table("pairs").rows

    assert [row["minimal"] for row in (both, several, single)] == [False, False, True]
    assert (both["stereo_span"], both["anti_span"], several["stereo_span"]) == (None, None, None)
    assert (both["stereo_value"], several["stereo_value"], several["anti_value"]) == ("poor rich", "Old never", "Young")
    assert (single["stereo_span"], single["anti_span"]) == ({"start": 4, "end": 12}, {"start": 4, "end": 9})


# ---- Tables ------------------------------------------------------------------------------------------------------


def test_a_quoted_line_feed_is_a_blank_and_an_open_quotation_mark_is_none(tmp_path: Path) -> None:
    """What tells them apart: whether one of the lines is a row by itself but for that mark."""
    row = "{},Old men ran {}.,Young men ran {}.,stereo,age\n"
    rows = [row.format(n, n, n) for n in range(9)]
    good = (
        '3,"Old, tall men\n ran.\n","Young men\nran.",stereo,age\n'  # lines 3 to 6, as row 1293 has it
        '4,Old women ran.,"Young women\nran.",stereo,age\n'
    )
    imported = _import(tmp_path, HEAD + rows[0] + good + rows[5])
    assert [row["stereo"] for row in imported.table("pairs").rows[1:3]] == ["Old, tall men ran.", "Old women ran."]
    assert [row["anti"] for row in imported.table("pairs").rows[1:3]] == ["Young men ran.", "Young women ran."]
    assert [row["source_line"] for row in imported.table("pairs").rows] == ["2", "3", "7", "9"]
    kept = "kept: a line feed in a quoted cell is read as a blank"
    assert _notes(imported) == [f"c.csv:3: {kept}", f"c.csv:7: {kept}"]

    def left_out(*lines: str) -> list[str]:
        return _notes(_import(tmp_path, HEAD + rows[0] + "".join(lines)))

    joined = "c.csv:3: left out: lines 3 to {} ({} lines) are one row, by their quotation marks"
    # A mark that nothing ends before the next row's own marks: with the right number of cells, in key columns too.
    opened, quoted = rows[1].replace("Old", '"Old'), '2,"Old men, too.",Young men too.,stereo,age\n'
    assert left_out(opened, '2,Old men" ran.,Young men ran.,stereo,age\n', rows[3]) == [joined.format(4, 2)]
    assert left_out(opened, rows[2], '3,Old",Young.,stereo,age\n') == [joined.format(5, 3)]
    assert left_out(opened, quoted) == [joined.format(4, 2)]
    assert left_out('1,"Old men\n' + "and\n" * 9 + 'ran.",Young men ran.,stereo,age\n') == [joined.format(13, 11)]


def test_all_rows_of_a_file_of_the_published_form_are_read(tmp_path: Path) -> None:
    """1,508 rows, as Nangia et al. 2020 print, on 1,509 lines below the header, since row 1293 has a line feed."""
    head = ",sent_more,sent_less,stereo_antistereo,bias_type,annotations,anon_writer,anon_annotators\n"
    said = "\"[['age'], ['age']]\",a1,\"['a2', 'a3']\""
    rows = [f'{n},"Old men, all {n}, ran.","Young men, all {n}, ran.",stereo,age,{said}\n' for n in range(1_508)]
    rows[1_293] = rows[1_293].replace("Old men, all", "Old men,\n all")
    imported = _import(tmp_path, head + "".join(rows))

    assert [row["id"] for row in imported.table("pairs").rows] == [f"pairs.{n}" for n in range(1_508)]
    assert imported.table("pairs").rows[1_293]["stereo"] == "Old men, all 1293, ran."
    assert [row["source_line"] for row in imported.table("pairs").rows[1_292:1_295]] == ["1294", "1295", "1297"]
    assert _notes(imported) == ["c.csv:1295: kept: a line feed in a quoted cell is read as a blank"]


def test_columns_are_known_by_name_in_any_table(tmp_path: Path) -> None:
    """Of any order and delimiter, with or without directions; others are columns of text, under names of their own."""
    text = (
        "bias_type;sent_less;target;sent_more;Rated by;index;line\n"
        "âge;Young men, too.;men;Old men, too.;A;7;x\n"
        "genre;Her hat.;hat;His hat.;;8;\n"
    )
    imported = _import(tmp_path, text)
    (first, second), design = imported.table("pairs").rows, imported.table("pairs").design

    assert (first["id"], first["stereo"], first["anti"], first["direction"]) == (
        "pairs.7",
        "Old men, too.",
        "Young men, too.",
        None,
    )
    assert (first["published_target"], first["rated_by"], first["line"], second["rated_by"]) == ("men", "A", "x", None)
    assert first["target"] is None
    assert design.bias_type == "genre, âge"
    named = [name for name, _ in design.columns]
    assert named[:4] == ["direction", "writer", "annotations", "annotators"]
    assert named[4:] == ["published_target", "rated_by", "line", "source_file", "source_line"]
    wide = ",".join(["sent_more", "sent_less", "bias_type", *(f"c{n}" for n in range(80))])
    with pytest.raises(SenseprobeError, match="has more than 60 columns"):
        _import(tmp_path, f"{wide}\n{',' * 82}\n")


def test_a_row_without_a_number_keeps_its_id_where_it_moves(tmp_path: Path) -> None:
    """The same rows in another order, and one more before them: nothing is edited (MINOR)."""
    head, *rows = "Gender_ID_x,sent_x,sent_y\nGay,Gay men dig.,Men dig.\nTrans,Trans men sow.,Men sow.\n".splitlines()
    for version, lines in (("1.0.0", rows), ("1.0.1", rows[::-1]), ("1.1.0", ["Gay,Gay men rake.,Men rake.", *rows])):
        (tmp_path / "w.csv").write_text("\n".join([head, *lines]))
        api.import_release("winoqueer", [tmp_path / "w.csv"], "mine", version, None, tmp_path / "out")

    changes = api.diff(str(tmp_path / "out" / "mine" / "1.0.1"), str(tmp_path / "out" / "mine" / "1.1.0")).as_dict()
    assert (changes["bump"], changes["version"]) == ("minor", "1.1.0")


def test_winoqueer_has_identities_for_bias_types(tmp_path: Path) -> None:
    """`sent_x` is about queer people, whose identity is the kind of bias."""
    rows = read_import("winoqueer", FILES["winoqueer"]).table("pairs").rows

    assert [(row["bias_type"], row["gender_id_y"]) for row in rows] == [
        ("Gay", "Straight"),
        ("Lesbian", "Straight"),
        ("Gay", "Heterosexual"),
    ]
    assert rows[0]["stereo"] == "Gay gardeners forget their spades."
    assert rows[0]["anti_span"] == {"start": 0, "end": 8}


def test_figures_of_bias_types_and_directions(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """Expected are shares counted from the rows, less one half: ties against the stereotype, or as halves."""
    kinds = [(kind, where) for kind in ("age", "race") for where in ("stereo", "antistereo") for _ in range(3)]
    words = ("rude", "kind", "tall", "small", "tidy", "late", "old", "young", "rich", "poor", "calm", "loud")
    lines = [f"{n},He is {a}.,She is {a}.,{w},{k}\n" for n, (a, (k, w)) in enumerate(zip(words, kinds, strict=True))]
    (tmp_path / "c.csv").write_text(HEAD + "".join(lines))
    release, _ = api.import_release("crows-pairs", [tmp_path / "c.csv"], "mine", "1.0.0", None, tmp_path / "out")
    (result,) = api.score(str(tiny_models["bert"]), str(release.folder))
    rows = result.rows_of("pairs").merge(release.to_pandas("pairs"), on="id")
    figures = {(figure.estimand, figure.group): figure for figure in result.figures}

    # A result of before, without groups, is replayed without a difference.
    whole = replace(result, figures=tuple(figure for figure in result.figures if figure.group is None))
    assert compare(replace(whole, verdicts=1), result).differences == ()
    assert compare(result, whole).differences != ()
    groups = {"age", "race", "direction=stereo", "direction=antistereo"}
    assert {*figures} == {*product(("preference", "preference-half"), (None, *groups))}
    for group in groups:
        column, _, label = group.rpartition("=")
        part = rows[rows[column or "bias_type"] == label]
        wins, ties = part["stereo_score"] > part["anti_score"], part["stereo_score"] == part["anti_score"]
        assert figures["preference", group].value == pytest.approx(100 * wins.mean() - 50)
        assert figures["preference-half", group].value == pytest.approx(100 * (wins + ties / 2).mean() - 50)
        assert figures["preference", group].scored == 6


# ---- Languages ---------------------------------------------------------------------------------------------------


def test_other_spaces_are_spaces(tmp_path: Path) -> None:
    """No-break and thin ones, in text or escaped in JSON: plain ones in the rows, and one note that counts them."""
    french = read_import("french-crows-pairs", FILES["french-crows-pairs"])
    first, second, _ = french.table("pairs").rows

    assert first["stereo"] == "Les vieux jardiniers oublient tout !"
    assert first["stereo_span"] == {"start": 4, "end": 9}
    assert (second["stereo"], second["minimal"]) == ("Pourquoi les vieilles voisines crient-elles ?", True)
    # Two lines with one such space in each sentence.
    assert _notes(french) == ["french.tsv:2: kept: here is the first of 4 no-break or other spaces read as plain ones"]
    text = (HERE / "stereoset.json").read_text().replace("The baker is elegant", "The\\u00a0baker is\u202felegant")
    stereoset = _import(tmp_path, text, "stereoset", name="s.json")
    assert stereoset.table("intrasentence").rows[0]["stereo"] == "The baker is elegant."
    assert any("the first of 2 no-break" in note for note in _notes(stereoset))


def test_a_language_is_that_of_card_recipe_and_words(tmp_path: Path) -> None:
    """That of the format, or the one that is named; a recipe of another one makes another card."""
    for format_, language, expected in (("french-crows-pairs", None, "fr"), ("crows-pairs", "pt-BR", "pt-BR")):
        folder = tmp_path / format_
        release, _ = api.import_release(format_, FILES[format_], "mine", "1.0.0", None, folder, language=language)
        assert release.manifest.data["card"]["languages"] == [expected]
        front = yaml.safe_load((release.folder / "README.md").read_text().split("---\n")[1])
        # The Hub refuses `pt-BR` as a language, and has another key for it.
        assert front["language"] == [expected[:2]]
        assert front.get("language_bcp47") == (["pt-BR"] if expected == "pt-BR" else None)
        assert json.loads((release.folder / "recipe" / "import.json").read_text())["language"] == expected
        assert api.verify(str(release.folder), rebuild=True) == []
    assert read_import("crows-pairs", FILES["crows-pairs"], None, "PT-BR").language == "pt-BR"
    parameters = release.folder / "recipe" / "import.json"
    parameters.write_text(parameters.read_text().replace("pt-BR", "de"))
    (finding,) = verify_import(release.folder, release.manifest, ())
    assert "card, languages" in finding.message
    assert find_word("Les gardes gardent.", "garde", "fr") is None
    assert find_word("La garde dort.", "Garde", "fr") == (3, 8)
    assert find_word("The guards sleep.", "guard", "en-GB") == (4, 10)


def test_marks_and_joiners_are_parts_of_words(tmp_path: Path) -> None:
    """As in Hindi, by hand: vowels are marks, no letters; a joiner within a word is no reason to leave a row out."""
    text = "sent_more,sent_less,bias_type\nलड़की सोती है।,लड़का सोता है।,लिंग\nहिंदू सोते हैं।,न्\u200dयास सोते हैं।,धर्म\n"
    imported = _import(tmp_path, text, language="hi")
    first, second = imported.table("pairs").rows

    assert (first["stereo_value"], first["anti_value"], first["minimal"]) == ("लड़की सोती", "लड़का सोता", True)
    assert (second["stereo_value"], second["minimal"], second["stereo_span"]) == ("हिंदू", True, {"start": 0, "end": 5})
    assert imported.table("pairs").design.bias_type == "धर्म, लिंग"
    assert find_word("लड़की सोती है।", "लड़क", "hi") is None
    assert find_word("लड़की सोती है।", "लड़की", "hi") == (0, 5)


def test_plurals_are_english(tmp_path: Path) -> None:
    """Of SEAT's words, too: in another language a word is found as it stands."""
    sets = {key: {"category": key, "examples": ["oak"]} for key in ("targ1", "targ2", "attr1", "attr2")}
    (tmp_path / "w.jsonl").write_text(json.dumps(sets))
    sets["targ1"]["examples"] = ["These are oaks."]
    (tmp_path / "sent-w.jsonl").write_text(json.dumps(sets))
    words = {
        language: read_import("seat", [tmp_path / "w.jsonl", tmp_path / "sent-w.jsonl"], None, language)
        for language in ("en", "sv")
    }
    found = {
        language: [row["word"] for row in imported.table("tests").rows if row["sentence"] == "These are oaks."]
        for language, imported in words.items()
    }
    assert found == {"en": ["oak"], "sv": [None]}


@pytest.mark.parametrize(
    ("format_", "language", "message"),
    [
        ("winobias", "fr", "winobias must be English, but the language is 'fr'"),
        ("multilingual-crows-pairs", None, "name yours (--language)"),
        ("crows-pairs", "français", "'français' is not a language tag"),
        ("crows-pairs", "", "files of crows-pairs exist in several languages"),
    ],
)
def test_a_language_that_cannot_be_is_refused(
    format_: str,
    language: str | None,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """By the command in one line, with exit code 2, before anything is written."""
    files = FILES.get(format_, FILES["crows-pairs"])
    options = ["--name", "mine", "--version", "1.0.0", "--out", str(tmp_path / "out")]
    options += ["--language", language] if language is not None else []
    refused = typing(monkeypatch, capfd)("import", format_, *map(str, files), *options)

    assert refused.code == 2
    assert message in refused.message
    assert not (tmp_path / "out").exists()


# ---- Readers -----------------------------------------------------------------------------------------------------


def test_an_import_by_an_older_reader_is_as_it_was_frozen(tmp_path: Path) -> None:
    """`fixtures/imports/reader-1` was made by commit 0b22e0b: two of its rows have runs and spans by common ends."""
    folder = shutil.copytree(READER_1, tmp_path / "reader-1" / "1.0.0")
    assert api.verify(str(folder)) == []
    (finding,) = api.verify(str(folder), rebuild=True)

    assert (finding.code, finding.path) == ("E408", "recipe/import.json")
    assert "reader 1 read these files, but this senseprobe has reader 2" in finding.message
    assert finding.hint == "import recipe/sources again as a new version, or rebuild it with senseprobe 0.1"
    # The same files anew make other rows: a MAJOR version.
    again = ("crows-pairs", [folder / "recipe/sources/pairs.csv"], "reader-1")
    with pytest.raises(SenseprobeError, match="is too low"):
        api.import_release(*again, "1.1.0", "CC-BY-SA-4.0", tmp_path)
    release, _ = api.import_release(*again, "2.0.0", "CC-BY-SA-4.0", tmp_path)
    assert api.verify(str(release.folder), rebuild=True) == []


def test_an_older_reader_that_made_the_same_rows_is_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of Winogender differ in a pronoun, which both readers find: nothing has to be imported again."""
    monkeypatch.setattr("senseprobe.api.imports._with_remarks", lambda imported: imported)  # as before there were any
    release, _ = api.import_release("winogender", FILES["winogender"], "mine", "1.0.0", None, tmp_path)
    parameters = release.folder / "recipe" / "import.json"
    stated = json.loads(parameters.read_text())
    parameters.write_text(json.dumps({key: stated[key] for key in ("files", "format", "license")}))

    assert list(verify_import(release.folder, release.manifest, ())) == []
