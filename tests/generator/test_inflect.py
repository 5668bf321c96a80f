"""inflect is loaded where no table has an answer: inflect itself is the oracle, asked directly."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from senseprobe.generator.english import MARK, English
from senseprobe.generator.english.inflection import _inflect

# Nothing is special of these but that no table has them: as Merriam-Webster has their plurals, and the article before
# *nth* by how the letter is called (en).
PLURALS = {"wolf": "wolves", "clarinet": "clarinets", "tooth": "teeth", "physician": "physicians"}


def _in_a_process(program: str) -> tuple[list[Any], bool]:
    """What another process prints as JSON when it ran `program` with an English `e`; whether it loaded inflect."""
    code = f"import json, sys\nfrom senseprobe.generator.english import English\ne = English()\n{program}\n"
    tell = "print(json.dumps('inflect' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code + tell], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    *printed, loaded = map(json.loads, done.stdout.splitlines())
    return printed, loaded


def test_the_library_answers_what_no_table_has() -> None:
    """Plurals, and an article."""
    english = English()
    assert {noun: english.plural(noun) for noun in PLURALS} == PLURALS
    assert english.a("nth") == f"an{MARK} nth"


def test_the_library_is_loaded_without_its_checks_of_types() -> None:
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


# By how they are said, as in golden/articles.csv.
PLAIN = {
    "a": "dog house gnome knee psalm wrist queen yes cycle hyena three shrub spring sphere school tsar dwarf unit",
    "an": "owl apple idea egg hour usher ytterbium aardvark ibis",
}


def test_an_article_rarely_needs_the_library() -> None:
    """It is not loaded for words that begin as English words do."""
    words = {word: article for article, line in PLAIN.items() for word in line.split()}
    printed, loaded = _in_a_process(f"print(json.dumps([e.a(word) for word in {[*words]}]))")
    assert printed == [[f"{article}{MARK} {word}" for word, article in words.items()]]
    assert not loaded


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
