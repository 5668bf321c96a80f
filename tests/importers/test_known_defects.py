"""Known defects of published files, told on import by file and line; in sentences of our own with the same mistakes."""

import csv
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.imports.files import FILES
from typer.testing import CliRunner

from senseprobe import api
from senseprobe.cli.application import app
from senseprobe.importers.plan import ImportedDataset, read_import
from senseprobe.lexicon.wordnet import LEXICONS, Lexicon, Pos

ARTICLES = {
    "honest": 12, "intelligent": 8, "innocent": 6, "unprofessional": 4, "unkind": 2, "unfriendly": 2, "uppish": 2,
    "unclean": 2, "enthusiastic": 2,
}  # fmt: skip
"""The words after *a* in SSSB, with the number of sentences (UPSTREAM 1.5): 40."""


class Nouns:
    """A lexicon in which *baker* and *arab* are nouns, and nothing else is."""

    def definitions(self, word: str, pos: Pos) -> Mapping[str, str]:
        """Return the sense of a person."""
        return {f"{word}%1:18:00::": "a person"} if word in {"baker", "arab"} and pos == "noun" else {}


@pytest.fixture
def wordnet() -> Iterator[None]:
    """WordNet is prepared, and small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lexicon, "open", lambda name: Lexicon(name, Path("nowhere"), Nouns()))
        yield


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """WordNet is not prepared."""
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path / "no-wordnet"))


def _written(folder: Path, name: str, *lines: str) -> Path:
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / name


def _pairs(*pairs: tuple[str, str], key: str = "baker%1:18:00::") -> list[str]:
    """Lines of SSSB, from the third on in threes: two sentences and an empty line; 27 pairs of pronouns stand first."""
    plain = [(f"He is baker number {n}.", f"She is baker number {n}.") for n in range(27)]
    return [
        line
        for he, she in (*plain, *pairs)
        for line in (f"{he}\t[noun, {key}, stereo]", f"{she}\t[noun, {key}, anti]", "")
    ]


FIRST = 82
"""The line after 27 blocks of three lines."""


def _remarks(imported: ImportedDataset) -> list[tuple[int, str, str]]:
    return [(note.line, note.code, note.reason) for note in imported.notes.listed]


# ---- SSSB ----


def test_forty_wrong_articles_of_sssb_are_told(tmp_path: Path, bare: None) -> None:
    """Each sentence once, by its line; *an honest* and *a baker* are right."""
    pairs = [(f"He is a {word} baker.", f"She is an {word} baker.") for word, n in ARTICLES.items() for _ in range(n)]
    path = _written(tmp_path, "g.txt", *_pairs(*pairs))
    imported = api.read_import("sssb", [path], "x", "1.0.0")
    found = [note for note in imported.notes.listed if note.code == "E116"]

    assert [note.line for note in found] == list(range(FIRST, FIRST + 3 * 40, 3))
    assert Counter(note.reason.split("'")[1].split()[1] for note in found) == ARTICLES
    assert str(found[0]) == "g.txt:82: kept: E116 'a honest' needs 'an'"
    assert "remarks of lint's checks: E116 40" in imported.notes.facts


def test_pronouns_of_both_genders_of_one_person_are_told(tmp_path: Path, bare: None) -> None:
    """In the sentence whose own pronoun is the other one; a pair that keeps to its gender has no remark."""
    pairs = [
        ("He, a baker, taught her pupils.", "She, a baker, taught her pupils."),
        ("He, a baker, taught his pupils.", "She, a baker, taught her pupils."),
        ("He, a baker, taught his pupils.", "She, a baker, taught his pupils."),
    ]
    imported = api.read_import("sssb", [_written(tmp_path, "g.txt", *_pairs(*pairs))], "x", "1.0.0")
    what = "in one sentence: they contradict each other if it has one person"

    assert [remark for remark in _remarks(imported) if remark[1]] == [
        (FIRST, "W515", f"'He' and 'her' {what}"),
        (FIRST + 7, "W515", f"'She' and 'his' {what}"),
    ]


def test_words_that_only_one_sentence_of_a_pair_has_are_told(tmp_path: Path, bare: None) -> None:
    """A misspelling, and a noun that is missing: both are pairs of a config about gender, as their bias type says."""
    pairs = [
        ("He made a baker glad.", "She mad a baker glad."),
        ("He is a baker friend who sings.", "She is a baker who sings."),
    ]
    imported = api.read_import("sssb", [_written(tmp_path, "g.txt", *_pairs(*pairs))], "x", "1.0.0")
    rows = [row for batch in imported.rows("noun") for row in batch.to_pylist()]
    told = {line: reason for line, code, reason in _remarks(imported) if not code}

    assert {*told} == {FIRST, FIRST + 3}
    assert told[FIRST] == "its sentences differ in more than pronouns: 'He made' against 'She mad'"
    assert {row["bias_type"] for row in rows} == {"gender"}


@pytest.mark.usefixtures("wordnet")
def test_keys_that_wordnet_lacks_are_told(tmp_path: Path) -> None:
    """Of four sentences of two blocks, those with the key by suffix; the person noun of *Arabic* is *Arab*."""
    lines = [
        f"{word} people are {quality}.\t[nationality, {key}%1:18:00::, {label}]"
        for word, key in (("Arabic", "arabic"), ("Arab", "arab"))
        for quality, label in (("tidy", "anti"), ("late", "stereo"))
    ]
    imported = api.read_import("sssb", [_written(tmp_path, "n.txt", *lines)], "x", "1.0.0")
    message = "wordnet-3.0 has no sense arabic%1:18:00:: (it has no word arabic)"

    assert _remarks(imported) == [(1, "E302", message), (2, "E302", message)]
    assert "2 sense keys looked up in wordnet-3.0" in imported.notes.facts


def test_without_wordnet_keys_are_said_to_be_unchecked(tmp_path: Path, bare: None) -> None:
    """In the facts, and on the card."""
    release, notes = api.import_release("sssb", FILES["sssb"], "mine", "1.0.0", None, tmp_path)
    fact = "9 sense keys not checked, as WordNet is not prepared (senseprobe wordnet)"
    keys = {line.split(", ")[1] for path in FILES["sssb"] for line in path.read_text().splitlines() if ", " in line}

    assert len(keys - {"$SENSE-ID$"}) == 9, "the fact counts what is in the files"
    assert fact in notes.facts
    assert f"- {fact}" in (release.folder / "README.md").read_text()


# ---- The others ----


def _winobias(folder: Path, pro: str, anti: str) -> ImportedDataset:
    paths = [
        _written(folder, f"{side}_stereotyped_type2.txt.dev", f"1 {text}")
        for side, text in (("pro", pro), ("anti", anti))
    ]
    return api.read_import("winobias", paths, "x", "1.0.0")


def test_a_blank_within_brackets_of_winobias(tmp_path: Path, bare: None) -> None:
    """The sentence stands as published, with two blanks, which is told; the occupation has none."""
    imported = _winobias(tmp_path, "The [ baker] met us and thanked [him].", "The [ baker] met us and thanked [her].")
    (row,) = [row for batch in imported.rows("type2") for row in batch.to_pylist()]

    assert (row["target"], row["stereo_span"]) == ("baker", {"start": 5, "end": 10})
    assert [str(note).split(": ", 1)[1] for note in imported.notes.listed] == [
        "kept: E117 two spaces in a row: 'The  baker met '"
    ] * 2


def test_two_pronouns_side_by_side_of_winobias(tmp_path: Path, bare: None) -> None:
    """*she he* is a correction that was left half-done."""
    imported = _winobias(tmp_path, "[The baker] left because [she he] ran.", "[The baker] left because [he] ran.")

    assert [note.code for note in imported.notes.listed if note.file.startswith("pro")] == ["W515"]


def test_contexts_of_stereoset_without_a_full_stop(tmp_path: Path, bare: None) -> None:
    """By the item, as all may stand on one line; a quotation that ends in a full stop is closed."""
    data = json.loads(FILES["stereoset"][0].read_text(encoding="utf-8"))
    items = data["data"]["intersentence"]
    whole = json.dumps(items[0])
    texts = ("We met a sailor", 'We met a sailor, "Ann."', "We met a sailor.", "We met a sailor  ")
    for number, context in enumerate(texts):
        items[number:] = [{**json.loads(whole), "id": f"i{number}", "context": context}]
    path = _written(tmp_path, "dev.json", json.dumps({"data": {"intersentence": items}}))
    imported = api.read_import("stereoset", [path], "x", "1.0.0")

    assert [note.reason for note in imported.notes.listed if note.code == "W514"] == [
        f"intersentence item {number}: the context does not end in punctuation" for number in (1, 4)
    ]


# ---- What is frozen ----


def test_remarks_are_frozen_and_imported_again_without_wordnet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bare: None
) -> None:
    """A machine without WordNet, or with later checks, makes the same recipe again: remarks are frozen."""
    lines = _pairs(("He is a honest baker.", "She is an honest baker."), key="bakr%1:18:00::")
    with monkeypatch.context() as patch:
        patch.setattr(Lexicon, "open", lambda name: Lexicon(name, Path("nowhere"), Nouns()))
        release, notes = api.import_release("sssb", [_written(tmp_path, "g.txt", *lines)], "x", "1.0.0", None, tmp_path)
    monkeypatch.setattr(
        "senseprobe.generator.checks.published_rows.check_rows", lambda *_: pytest.fail("checked again")
    )
    with (release.folder / "recipe" / "import.csv").open(newline="", encoding="utf-8") as file:
        frozen = [(row["line"], row["code"]) for row in csv.DictReader(file) if row["code"]]

    assert Counter(code for _, code in frozen) == {"E302": 56, "E116": 1}, "two sentences of each of 28 pairs, and one"
    assert len(frozen) == sum(bool(note.code) for note in notes.listed)
    assert api.verify(str(release.folder), rebuild=True) == []


def test_imports_from_before_remarks_are_imported_again_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their recipe has no word of a lexicon, and their list of notes no column of codes."""
    monkeypatch.setattr("senseprobe.api.imports._with_remarks", lambda imported: imported)
    lines = _pairs(("He is a honest baker.", "She is an honest baker."))
    release, _ = api.import_release("sssb", [_written(tmp_path, "g.txt", *lines)], "x", "1.0.0", None, tmp_path)

    assert (release.folder / "recipe" / "import.csv").read_text().startswith("file,line,outcome,reason\n")
    assert "lexicon" not in (release.folder / "recipe" / "import.json").read_text()
    assert api.verify(str(release.folder), rebuild=True) == []


@pytest.mark.parametrize("damage", ["", "file,line\nx,1\n", "file,line,outcome,reason,code\nx,y,kept,z,E116\n", "\xff"])
def test_a_damaged_list_of_remarks_is_a_finding(tmp_path: Path, damage: str, bare: None) -> None:
    """Never a traceback."""
    release, _ = api.import_release("sssb", FILES["sssb"], "mine", "1.0.0", None, tmp_path)
    (release.folder / "recipe" / "import.csv").write_bytes(damage.encode("latin-1"))

    assert next(finding.path for finding in api.verify(str(release.folder), rebuild=True)) == "recipe/import.csv"


def test_many_remarks_do_not_refuse_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bare: None) -> None:
    """As many are listed as there may be."""
    monkeypatch.setattr("senseprobe.importers.notes.MAX_REMARKS", 3)
    lines = _pairs(*[("He is a honest baker.", "She is a honest baker.")] * 4)
    imported = api.read_import("sssb", [_written(tmp_path, "g.txt", *lines)], "x", "1.0.0")

    assert [note.line for note in imported.notes.listed if note.code] == [FIRST, FIRST + 1, FIRST + 3]


def test_what_is_left_out_stands_first(tmp_path: Path, bare: None) -> None:
    """Of more notes than are printed, the one on the last line, which is lost, is the first."""
    lines = [*_pairs(*[("He is a honest baker.", "She is a honest baker.")] * 15), "A line that is none."]
    command = ["import", "sssb", str(_written(tmp_path, "g.txt", *lines)), "--name", "x", "--version", "1.0.0"]
    printed = CliRunner().invoke(app, [*command, "--dry-run"]).output.splitlines()

    assert printed[0].startswith(f"g.txt:{len(lines)}: left out: does not end in [")
    assert "kept" in printed[1]
    assert printed[20].startswith("… and ")


# ---- Rows that moved ----


@pytest.mark.parametrize("format_", ["crows-pairs", "winobias", "winogender"])
def test_rows_that_moved_in_their_file_are_not_edited(tmp_path: Path, format_: str, bare: None) -> None:
    """The same rows, lower in a file with another name: a PATCH, by `diff` and by what `import` accepts."""
    api.import_release(format_, FILES[format_], "mine", "1.0.0", None, tmp_path / "out")
    moved = tmp_path / "moved"
    moved.mkdir()
    for path in FILES[format_]:
        head, *rest = path.read_text(encoding="utf-8").split("\n")
        lines = [head, "", *rest] if format_ != "winobias" else ["", head, *rest]
        (moved / path.name.replace("crows", "other")).write_text("\n".join(lines), encoding="utf-8")
    release, _ = api.import_release(format_, sorted(moved.iterdir()), "mine", "1.0.1", None, tmp_path / "out")
    changes = api.diff(tmp_path / "out" / "mine" / "1.0.0", release)

    assert (changes.version, changes.bump) == ("1.0.1", "patch")
    assert changes.configs == ()
    assert changes.as_dict()["recipe"] != []


def test_an_edited_row_that_moved_is_edited(tmp_path: Path, bare: None) -> None:
    """Another word in a row: one row edited, and nothing is said of its line."""
    api.import_release("crows-pairs", FILES["crows-pairs"], "mine", "1.0.0", None, tmp_path / "out")
    text = FILES["crows-pairs"][0].read_text(encoding="utf-8")
    head, rest = text.split("\n", 1)
    path = tmp_path / "crows.csv"
    path.write_text(f"{head}\n\n{rest.replace('lose their spades', 'lose their rakes')}", encoding="utf-8")
    release, _ = api.import_release("crows-pairs", [path], "mine", "2.0.0", None, tmp_path / "out")
    (change,) = api.diff(tmp_path / "out" / "mine" / "1.0.0", release).configs

    assert (change.edited, {*change.columns}) == (1, {"stereo", "anti", "frame"})
    shutil.rmtree(tmp_path / "out")


def test_formats_are_read_without_remarks() -> None:
    """Reading alone runs no check: rebuilding does not depend on them."""
    assert not any(note.code for name, paths in FILES.items() for note in read_import(name, paths).notes.listed)
    assert LEXICONS == ("wordnet-3.0",)


def test_a_word_in_two_sets_of_seat(tmp_path: Path, bare: None) -> None:
    """*war* is pleasant and unpleasant in one test, and twice unpleasant in another; the sets are told, not changed."""
    sets = {"targ1": ["rose"], "targ2": ["ant"], "attr1": ["joy", "war"], "attr2": ["hate", "War"]}
    other = sets | {"attr1": ["joy"], "attr2": ["war", "hate"]}
    paths = []
    for name, own in (("one", sets), ("two", other)):
        whole = {key: {"category": key, "examples": words} for key, words in own.items()}
        paths.append(_written(tmp_path, f"{name}.jsonl", json.dumps(whole, indent=1)))
    imported = api.read_import("seat", paths, "x", "1.0.0")
    (note,) = [note for note in imported.notes.listed if note.code == "W519"]
    assert (note.file, note.kept) == ("one.jsonl", True)
    assert "'War' is in B and also in A" in note.reason
    assert len([row for batch in imported.rows("tests") for row in batch.to_pylist()]) == 11
