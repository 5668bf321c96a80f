"""Checks of words: misspelt, small, gendered, not agreeing; and the vocabulary that they ask."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from senseprobe.errors import LexiconError
from senseprobe.generator.checks import lint
from senseprobe.generator.checks.orthography import find_words, is_word, spelling_hint
from senseprobe.lexicon import prepare
from senseprobe.lexicon.install import FILES
from senseprobe.lexicon.wordnet import Sense, Vocabulary
from senseprobe.project import Layer
from senseprobe.records import Finding

HERE = Path(__file__).parents[1]
OURS = {"W401", "W402", "W403", "W512", "W513"}
PLACES = {"j2": "templates/x/x.j2", "things.csv": "wordlists/things.csv"}

# Bad file: line and column of its finding, counted by hand in the file, and what message and hint must name.
CASES: dict[str, tuple[int, int, str]] = {
    "W401-misspelt.things.csv": (3, 1, "'gunea' (did you mean 'guinea'?)"),
    "W401-misspelt-part.things.csv": (3, 8, "'pgi' (did you mean 'pig'?)"),
    "W402-people.things.csv": (3, 6, "'iraqi' is in lower case, but WordNet only has Iraqi"),
    "W403-waiter.j2": (8, 3, "'waiter' (exclude them with `where`, or use 'server')"),
    "W512-letters-swapped.j2": (20, 24, "'staris' (did you mean 'stairs'?)"),
    "W512-first-word.j2": (20, 1, "'teh' (did you mean 'the'?)"),
    "W512-in-a-tag.j2": (20, 21, "'explaned' (did you mean 'explained'?)"),
    "W513-after-he.j2": (20, 45, "'guide' does not agree with 'he' (did you mean 'guides'?)"),
    "W513-after-they.j2": (20, 47, "'guides' does not agree with 'they' (did you mean 'guide'?)"),
    "W513-after-a-person.j2": (20, 31, "'nurse' does not agree with 'teacher' (did you mean 'nurses'?)"),
}
WITH = {"W403-waiter.j2": "people.things.csv"}

# A WordNet of some words in the format of wndb(5WN): by part of speech, the lexicographer file of each (lexnames(5WN))
# and how many of its senses were tagged.
TINY = {
    "noun": [
        *((5, word, 1) for word in ("dog", "guinea", "guinea_pig", "pig", "zoo", "smith")),
        *((6, word, 3) for word in ("stair", "material", "road", "map", "mat")),
        *((18, word, 2) for word in ("guide", "keeper", "mother", "nurse", "teacher", "waiter")),
        *((18, word, 0) for word in ("Iraqi", "Shah")),
        (13, "Chardonnay", 0),
        (21, "rial", 0),
        (15, "New_York", 0),
    ],
    "verb": [
        *((31, word, 4) for word in ("ask", "cut", "explain", "guide", "like", "make", "nurse", "see")),
        (35, "saw", 1),
    ],
    "adj": [(0, "wild", 2), (0, "tame", 2), (0, "black(a)", 1), (1, "Iraqi", 0), (1, "Black", 0), (0, "five", 0)],
    "adv": [(2, "carefully", 1), (2, "quietly", 0)],
}
IRREGULAR = {"noun": "children child\n", "verb": "made make\nsaw see\n", "adj": "", "adv": ""}
HEADER = "  1 A toy for tests.\n  2 WordNet 3.0 Copyright 2006 by nobody.\n"


def _write(folder: Path, pos: str) -> None:
    letter = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}[pos]
    data, entries = HEADER, dict[str, list[tuple[int, int]]]()
    for number, word, tagged in TINY[pos]:
        entries.setdefault(word.partition("(")[0].lower(), []).append((len(data), tagged))
        frames = " 01 + 08 00" if pos == "verb" else ""
        data += f"{len(data):08d} {number:02d} {letter} 01 {word} 0 000{frames} | something  \n"
    index = HEADER
    for word, found in sorted(entries.items()):
        places = " ".join(f"{place:08d}" for place, _ in found)
        index += f"{word} {letter} {len(found)} 0 {len(found)} {found[0][1]} {places}  \n"
    (folder / f"data.{pos}").write_text(data)
    (folder / f"index.{pos}").write_text(index)
    (folder / f"{pos}.exc").write_text(IRREGULAR[pos])


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An NLTK data folder with the toy."""
    home = tmp_path_factory.mktemp("toy")
    folder = home / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for pos in TINY:
        _write(folder, pos)
    for name in FILES:
        if not (folder / name).exists():
            (folder / name).write_text("dog%1:05:00:: 00000000 1 0\n")
    return home


@pytest.fixture
def known(home: Path) -> Vocabulary:
    """The toy's words."""
    return Vocabulary.open(home)


Checked = Callable[..., list[Finding]]


@pytest.fixture
def checked(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checked:
    """What the checks of words find in the base project with some files, or another frame, in the place of its own."""
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*names: str, frame: str = "") -> list[Finding]:
        project = tmp_path / "project"
        shutil.copytree(HERE / "checks" / "base", project, dirs_exist_ok=True)
        for name in names:
            shutil.copy(HERE / "checks_words" / name, project / PLACES[name.partition(".")[2]])
        template = project / PLACES["j2"]
        if frame:
            template.write_text(template.read_text().replace("The {{ thing }} is {{ quality }}.", frame))
        monkeypatch.chdir(project)
        return [finding for finding in lint(Layer(project)).findings if finding.code in OURS]

    return run


@pytest.mark.parametrize("name", CASES)
def test_a_bad_file_is_one_finding(checked: Checked, name: str) -> None:
    """With its code, place, culprit and hint."""
    line, column, said = CASES[name]
    (found,) = checked(name, *filter(None, [WITH.get(name)]))

    assert (found.code, found.path) == (name[:4], PLACES[name.partition(".")[2]])
    assert (found.line, found.column) == (line, column)
    assert said in f"{found.message} ({found.hint})"


def test_every_bad_file_is_a_case() -> None:
    """Each of our codes has one at least."""
    assert {path.name for path in (HERE / "checks_words").iterdir()} == {*CASES, *WITH.values()}
    assert {name[:4] for name in CASES} == OURS


@pytest.mark.parametrize(
    "frame",
    [
        "The {{ thing }} is {{ quality }}, and so are the dogs on the stairs.",
        "Zbigniew's {{ thing }} isn't {{ quality }}: it has 3x4 pigs.",
        "Zbigniew saw that a {{ thing }} is {{ quality }}.",
        "Shah saw a {{ quality }} {{ thing }}.",
        'A {{ "wild" if thing.tame == "vrb_pxq" else "tame" }} un{{ quality }} {{ thing }}.',
        "A zookeeper with a roadmap and an unexplained, unliked, doglike {{ quality }} {{ thing }}.",
        "Near the {{ quality }} {{ thing }}, did he guide us?",
        "They ask that he guide the {{ quality }} {{ thing }}.",
        "We made it nurse the {{ quality }} {{ thing }}.",
        "He and she guide the {{ quality }} {{ thing }}.",
        "She cut and saw the {{ quality }} {{ thing }}.",
        "The guide, the nurse and the mother guide a {{ quality }} {{ thing }}.",
        "The mothers of five carefully nurse a {{ quality }} {{ thing }}.",
        "The teacher saw the mother carefully nurse a {{ quality }} {{ thing }}.",
        "The {{ quality }} guide dog is a {{ thing }}.",
        "They guide a {{ quality }} {{ thing }}, and we saw them.",
        "What did they make of the {{ quality }} {{ thing }}?",
    ],
)
def test_good_sentences_are_left_alone(checked: Checked, frame: str) -> None:
    """Names, pieces of words, compounds, questions, wishes, plurals and objects with bare verbs are no mistakes."""
    assert checked(frame=frame) == []


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("They doesn't", "don't"), ("They isn\u2019t", "aren\u2019t"), ("He don't", "doesn't"), ("She haven't", "hasn't")],
)
def test_a_negation_hides_no_verb_that_does_not_agree(checked: Checked, wrong: str, right: str) -> None:
    """English has the ending before the *n't*; those that are right, and modals, are left alone."""
    rest = " guide a {{ quality }} {{ thing }}."
    (found,) = checked(frame=wrong + rest)
    assert (found.code, right in found.hint) == ("W513", True)
    subject = wrong.split(maxsplit=1)[0]
    for verb in (right, "won't", "can\u2019t", "mustn\u2019t"):
        assert checked(frame=f"{subject} {verb}{rest}") == []


def test_only_english_is_judged(checked: Checked, tmp_path: Path) -> None:
    """A dataset says which languages it is in."""
    checked()
    card = tmp_path / "project" / "templates" / "x" / "dataset.yaml"
    card.write_text(card.read_text().replace("languages: [en]", "languages: [de]"))
    assert checked_again(tmp_path / "project", "Le {{ thing }} est très {{ quality }} et he guide us.") == []
    card.write_text(card.read_text().replace("languages: [de]", "languages: [de, en-GB]"))
    found = checked_again(tmp_path / "project", "Le {{ thing }} est très {{ quality }} et he guide us.")
    assert [finding.code for finding in found] == ["W512", "W512", "W512", "W513"]  # le, est, et, guide


def test_what_is_endless_is_cut(checked: Checked) -> None:
    """No word is so long, and no list so full of mistakes, that a hint takes for ever; 50 are told."""
    assert [finding.hint[:18] for finding in checked(frame=f"{{{{ thing }}}} {{{{ quality }}}} {'qz' * 4000}.")] == [
        "check its spelling"
    ]
    many = " ".join("qz" + chr(97 + a) + chr(97 + b) for a in range(20) for b in range(20))
    assert len(checked(frame=f"The {{{{ thing }}}} is {{{{ quality }}}}: {many}, {'he ' * 2000}.")) == 50


def test_a_gendered_word_is_none_where_gender_is_not_tested(checked: Checked) -> None:
    """A waiter is wild or tame as others are."""
    assert checked("people.things.csv") == []


def test_a_word_of_a_list_may_stand_in_a_frame(checked: Checked, tmp_path: Path) -> None:
    """What one list has and WordNet has not is said of the list alone."""
    checked()
    words = tmp_path / "project" / PLACES["things.csv"]
    words.write_text(words.read_text().replace("guinea pig", "glorp"))
    found = checked_again(tmp_path / "project", "The {{ thing }} is {{ quality }} as a glorp.")
    assert [(finding.code, finding.line) for finding in found] == [("W401", 3)]


def checked_again(project: Path, frame: str) -> list[Finding]:
    """Lint a project with another frame."""
    template = project / PLACES["j2"]
    head = template.read_text().rpartition("---\n")[0]
    template.write_text(f"{head}---\n{frame}\n")
    return [finding for finding in lint(Layer(project)).findings if finding.code in OURS]


def test_without_wordnet_nothing_is_said_and_that_is_counted(
    checked: Checked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four of the five need it; one config and two lists were to be checked."""
    checked("W401-misspelt.things.csv", "W513-after-he.j2")
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path / "nowhere"))
    report = lint(Layer(tmp_path / "project"))

    assert not OURS & {finding.code for finding in report.findings}
    assert {code: report.not_checked.get(code) for code in OURS - {"W403"}} == {
        "W401": 2,
        "W402": 2,
        "W512": 1,
        "W513": 1,
    }


# ---- The vocabulary ----


def test_a_folder_without_wordnet_is_told(tmp_path: Path) -> None:
    """With the command that helps."""
    with pytest.raises(LexiconError, match="senseprobe wordnet"):
        Vocabulary.open(tmp_path)


@pytest.mark.parametrize(
    ("word", "pos", "bases"),
    [
        ("dog", "noun", ("dog",)),
        ("dogs", "noun", ("dog",)),
        ("guinea_pigs", "noun", ("guinea_pig",)),
        ("explaining", "verb", ("explain",)),
        ("liked", "verb", ("like",)),
        ("saw", "verb", ("saw", "see")),  # a listed form, and a verb itself
        ("wilder", "adj", ("wild",)),
        ("children", "noun", ()),  # child is not in the toy
        ("dog", "verb", ()),
        ("", "noun", ()),
        ("zzz", "noun", ()),
        ("aaa", "noun", ()),
        ("d", "noun", ()),
    ],
)
def test_forms_have_bases(known: Vocabulary, word: str, pos: str, bases: tuple[str, ...]) -> None:
    """By the rules of morphy(7WN), applied by hand."""
    assert known.bases(word, pos) == bases  # type: ignore[arg-type]


def test_every_word_of_the_toy_is_found(known: Vocabulary) -> None:
    """The first and last of each file too."""
    for pos, words in TINY.items():
        for _, word, _ in words:
            assert known.has(word.partition("(")[0].lower(), pos)  # type: ignore[arg-type]


def test_senses_have_their_capitals_and_files(known: Vocabulary) -> None:
    """A marker of syntax, as (a), is no part of the word."""
    assert [*known.senses("iraqis")] == [Sense("Iraqi", 18)]
    assert [*known.senses("black")] == [Sense("black", 0), Sense("Black", 1)]
    assert [*known.senses("guides", "verb")] == [Sense("guide", 31)]
    assert known.tagged("stairs") == 3
    assert known.irregular("saw", "verb")
    assert not known.irregular("see", "verb")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("staris", "did you mean 'stairs'?"),
        ("explaning", "did you mean 'explaining'?"),
        ("matrials", "did you mean 'materials'?"),  # and no compound of mat and rials
        ("teh", "did you mean 'the'?"),
        ("xyzzyx", "check its spelling; a name begins with a capital"),
    ],
)
def test_hints_name_what_is_nearest(known: Vocabulary, word: str, hint: str) -> None:
    """The first three are SSSB's (UPSTREAM 1.5)."""
    assert spelling_hint(word, known) == hint


def test_the_project_may_know_more(known: Vocabulary) -> None:
    """Its words are words, and may be what was meant."""
    assert spelling_hint("glorp", known, frozenset({"glorp"})) is None
    assert spelling_hint("glorpp", known, frozenset({"glorp"})) == "did you mean 'glorp'?"


@pytest.mark.parametrize("word", ["the", "whose", "dogless", "quietly", "wildly", "unexplained", "nonmaterial"])
def test_what_is_made_by_rule_is_a_word(known: Vocabulary, word: str) -> None:
    """WordNet lists few of these."""
    assert is_word(word, known)


def test_parts_are_what_can_be_misspelt() -> None:
    """Places counted by hand."""
    text = "Ann's half-baked x 3rd SUV don't naïve plan_b dogs' O'Neill"
    assert [*find_words(text)] == [(6, "half"), (11, "baked"), (27, "do"), (46, "dogs")]


@pytest.mark.system
def test_bases_are_those_of_nltk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On real WordNet, for each irregular form and for three forms of each tenth verb."""
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    folder = prepare(tmp_path).folder
    known = Vocabulary.open(folder)
    monkeypatch.setattr("nltk.data.path", [str(folder)])
    reader = WordNetCorpusReader(str(known.wordnet), omw_reader=())
    verbs = [line.split()[0] for line in (known.wordnet / "index.verb").read_text().splitlines() if line[0] != " "]
    forms = [form for pos in TINY for form in (known.wordnet / f"{pos}.exc").read_text("latin-1").split()]
    forms += [verb + ending for verb in verbs[::10] for ending in ("s", "ed", "ing")]
    for pos, letter in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
        differing = [form for form in forms if {*known.bases(form, pos)} != {*reader._morphy(form, letter)}]  # type: ignore[arg-type]
        assert differing == []


@pytest.mark.system
def test_definitions_are_those_of_nltk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On real WordNet, keys and texts of every fiftieth word of each index file, in the same order."""
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    folder = prepare(tmp_path).folder
    known = Vocabulary.open(folder)
    monkeypatch.setattr("nltk.data.path", [str(folder)])
    reader = WordNetCorpusReader(str(known.wordnet), omw_reader=())
    for pos, letter in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
        lines = (known.wordnet / f"index.{pos}").read_text().splitlines()
        words = [line.split()[0] for line in lines if line[0] != " "][::50]
        assert len(words) > 80
        theirs = {word: {x.key(): x.synset().definition() for x in reader.lemmas(word, letter)} for word in words}
        ours = {word: known.definitions(word, pos) for word in words}  # type: ignore[arg-type]
        assert [word for word in words if [*ours[word].items()] != [*theirs[word].items()]] == []
