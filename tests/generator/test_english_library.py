"""inflect is loaded for new texts only, and no file changes an answer: inflect itself is the oracle, asked directly."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from senseprobe.generator.english import MARK, English
from senseprobe.generator.english.library import LONGEST, MAX_ANSWERS, AnswerCache, _answers, _inflect, cache_file

# Nothing is special of these but that no table has them: as Merriam-Webster has their plurals, and the article before
# *nth* by how the letter is called (en).
PLURALS = {"wolf": "wolves", "clarinet": "clarinets", "tooth": "teeth", "physician": "physicians"}
ANSWERS = {"a": {"nth": "an"}, "plural": PLURALS}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's in which nothing was kept yet."""
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path))
    return tmp_path


def _file() -> Path:
    path = cache_file()
    assert path
    return path


def _asked() -> dict[str, dict[str, str]]:
    """What this process answers to the questions of ANSWERS; the article without its mark."""
    english = English()
    plurals = {noun: english.plural(noun) for noun in PLURALS}
    return {"a": {"nth": english.a("nth").split(MARK)[0]}, "plural": plurals}


def _in_a_process(program: str) -> tuple[list[Any], bool]:
    """What another process prints as JSON when it ran `program` with an English `e`; whether it loaded inflect."""
    code = f"import json, sys\nfrom senseprobe.generator.english import English\ne = English()\n{program}\n"
    tell = "print(json.dumps('inflect' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code + tell], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    *printed, loaded = map(json.loads, done.stdout.splitlines())
    return printed, loaded


def _plurals(nouns: dict[str, str]) -> str:
    return f"print(json.dumps([e.plural(n) for n in {[*nouns]}] + [e.a('nth')]))"


def test_tests_have_a_file_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the user keeps is neither read nor written by any test."""
    assert _file().is_relative_to(tmp_path_factory.getbasetemp())


def test_the_library_is_loaded_without_its_checks_of_types(folder: Path) -> None:
    """They compile its methods again, for two seconds; what typeguard does to other libraries stays."""
    program = """
e.plural("clarinet")
import inflect, typeguard
print(json.dumps([*inflect.engine.plural_noun.__code__.co_names]))
print(json.dumps(typeguard.typechecked.__module__))
"""
    (names, module), _ = _in_a_process(program)
    assert "postprocess" in names
    assert [name for name in names if "check" in name] == []
    assert module == "typeguard"


def test_a_text_is_asked_of_the_library_once(folder: Path) -> None:
    """The first process loads it, the second does not, and a new text loads it again; the answers stay."""
    expected = [[*PLURALS.values(), f"an{MARK} nth"]]
    assert _in_a_process(_plurals(PLURALS)) == (expected, True)
    assert json.loads(_file().read_bytes()) == ANSWERS
    assert _in_a_process(_plurals(PLURALS)) == (expected, False)
    assert _in_a_process(_plurals({"goose": "geese"})) == ([["geese", f"an{MARK} nth"]], True)
    assert json.loads(_file().read_bytes()) == {"a": {"nth": "an"}, "plural": PLURALS | {"goose": "geese"}}
    assert [path.name for path in folder.iterdir()] == [_file().name]


# By how they are said, as in golden/articles.csv.
PLAIN = {
    "a": "dog house gnome knee psalm wrist queen yes cycle hyena three shrub spring sphere school tsar dwarf unit",
    "an": "owl apple idea egg hour usher ytterbium aardvark ibis",
}


def test_an_article_rarely_needs_the_library(folder: Path) -> None:
    """Nothing is loaded, read or written for words that begin as English words do."""
    words = {word: article for article, line in PLAIN.items() for word in line.split()}
    printed, loaded = _in_a_process(f"print(json.dumps([e.a(word) for word in {[*words]}]))")
    assert printed == [[f"{article}{MARK} {word}" for word, article in words.items()]]
    assert (loaded, list(folder.iterdir())) == (False, [])


@pytest.fixture(scope="module")
def library() -> Any:  # noqa: ANN401 - the library is not typed to the type checker
    """The library inflect, asked directly."""
    _inflect()  # Loads it without the checks of types that a plain import takes six seconds to compile.
    import inflect

    return inflect.engine()


@given(word=st.from_regex(r"[b-df-hj-np-tv-z]{1,4}[aeiouy][a-z]{0,3}", fullmatch=True))
@settings(max_examples=examples(500))
def test_consonants_are_as_the_library_has_them(library: Any, word: str) -> None:  # noqa: ANN401 - the same
    """What our table decides is no other answer than inflect's, where ours has no rule that corrects it."""
    corrected = ("heir", "honest", "hono", "hors", "xbox")
    spelt = ("fbi", "hiv", "mba", "mri", "nba", "rsvp", "sms", "suv", "mp", "hr", "ngo")
    if not word.startswith(corrected) and word not in spelt and word[0] != "y":
        assert English().a(word).replace(MARK, "") == library.a(word)


def _wrong(kind: str, answer: object) -> bytes:
    return json.dumps({kind: dict.fromkeys(ANSWERS[kind], answer)}).encode()


DAMAGED = {
    "empty": b"",
    "cut": b'{"a": {"nth": "a',
    "no text": b"\xff\xfe\x00",
    "deep": b"[" * 200_000,
    "list": b'["nth"]',
    "number": b"7",
    "null": b"null",
    "long number": b"9" * 10_000,
    "list of answers": b'{"a": [["nth", "a"]], "plural": "wolf"}',
    "article": _wrong("a", "the"),
    "empty answer": _wrong("plural", ""),
    "null answer": _wrong("plural", None),
    "number as answer": _wrong("plural", 7),
    "answers in an answer": _wrong("plural", {"wolf": "wolfs"}),
    "control": _wrong("plural", "wolfs\x1b[31m"),
    "long": _wrong("plural", "s" * (LONGEST + 1)),
    "huge": b" " * 10_000_001 + _wrong("plural", "wolfs"),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.usefixtures("folder")
def test_a_damaged_file_is_no_file(data: bytes) -> None:
    """It is asked again, and the file is whole afterwards."""
    _file().write_bytes(data)
    assert _asked() == ANSWERS
    _answers(_file()).save()
    assert json.loads(_file().read_bytes()) == ANSWERS


def test_a_right_file_is_believed(folder: Path) -> None:
    """Else the tests of wrong ones would say nothing; files of another inflect, or of another question, are not."""
    wrong = _wrong("plural", "wolfs")
    for name in ("english-0.0.1-1.json", f"english-{version('inflect')}-0.json", "english.json"):
        (folder / name).write_bytes(wrong)
    assert _asked() == ANSWERS
    _answers.cache_clear()
    (folder / f"english-{version('inflect')}-1.json").write_bytes(wrong)
    assert English().plural("wolf") == "wolfs"


def test_what_is_in_the_way_is_no_error(folder: Path) -> None:
    """A folder, a pipe that nobody writes to, a file where the folder should be, a home that does not exist."""
    _file().mkdir()
    _refused()
    _file().rmdir()
    os.mkfifo(_file())
    _refused()
    (folder / "file").write_bytes(b"")
    for place in (folder / "file", folder / "file" / "below", "~nobody-has-this-name/data"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SENSEPROBE_WORDNET", str(place))
            _refused()
    assert (folder / "file").read_bytes() == b""


def _refused() -> None:
    """Answers are right, and asking the same again does not fail."""
    _answers.cache_clear()
    assert _asked() == ANSWERS
    _answers(cache_file()).save()
    assert _asked() == ANSWERS


def test_writers_at_once_keep_each_others_answers(folder: Path) -> None:
    """Both read the empty file before either wrote it."""
    path = folder / "answers.json"
    one, other = AnswerCache(path), AnswerCache(path)
    one.add("plural", "wolf", "wolves")
    other.add("plural", "tooth", "teeth")
    other.add("a", "nth", "an")
    one.save()
    other.save()
    assert json.loads(path.read_bytes()) == {"a": {"nth": "an"}, "plural": {"wolf": "wolves", "tooth": "teeth"}}


def test_processes_at_once_leave_a_whole_file(folder: Path) -> None:
    """Whoever comes last; nothing half written lies about."""
    code = "from senseprobe.generator.english import English; import sys; English().plural(sys.argv[1])"
    running = [subprocess.Popen([sys.executable, "-c", code, noun]) for noun in ("wolf", "tooth")]
    assert [process.wait(120) for process in running] == [0, 0]
    kept = json.loads(_file().read_bytes())["plural"]
    assert kept
    assert kept.items() <= PLURALS.items()
    assert [path.name for path in folder.iterdir()] == [_file().name]


def test_the_file_stays_small(tmp_path: Path) -> None:
    """Of more answers than are kept, the last; what it may not hold is not written, and it is believed when read."""
    path = tmp_path / "answers.json"
    answers = AnswerCache(path)
    texts = [f"{number:>05}".rjust(LONGEST, "\U0001f98a") for number in range(MAX_ANSWERS + 5)]
    for text in texts:
        answers.add("plural", text, text)
    long = "x" * (LONGEST + 1)
    for text, answer in ((long, "x"), ("x", long), ("\ud800", "x"), ("x", "\n"), ("", "x")):
        answers.add("plural", text, answer)
    answers.add("a", "x", "the")
    answers.save()
    assert list(json.loads(path.read_bytes())["plural"]) == texts[5:]
    assert json.loads(path.read_bytes())["a"] == {}
    again = AnswerCache(path)
    assert [again.get("plural", text) for text in (texts[4], texts[5], texts[-1])] == [None, texts[5], texts[-1]]


TEXTS = st.lists(st.text(max_size=60) | st.text("aehnouxsyf-' ", max_size=12), max_size=5)


@given(TEXTS)
@settings(max_examples=examples(60))
def test_answers_are_the_same_with_and_without_a_file(texts: list[str]) -> None:
    """From nothing, from what this process keeps, and from what another one wrote."""
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENSEPROBE_WORDNET", place)
        asked, kept = _guesses(texts), _guesses(texts)
        _answers(_file()).save()
        _answers.cache_clear()
        assert asked == kept == _guesses(texts)


def _guesses(texts: list[str]) -> dict[tuple[str, str], str]:
    english = English()
    for text in texts:
        english.a(text)
        english.plural(text)
    return english.guesses
