"""Articles, plurals and capitals: rules against a dictionary, columns against rules, frozen guesses against both."""

import pytest

from senseprobe.generator.english import MARK, English
from senseprobe.generator.wordlists import Word

# The first sound of each word's first pronunciation in Merriam-Webster's Collegiate Dictionary (merriam-webster.com),
# in its own symbols; letters and numerals as they are spoken. A vowel sound takes *an*.
AN = {
    "honest": "ä", "hour": "au̇", "heir": "er", "honor": "ä", "heirloom": "er", "uncle": "ə",
    "umbrella": "ə", "usher": "ə", "unkind": "ə", "unprofessional": "ə", "unclean": "ə", "uppish": "ə", "engineer": "e",
    "innocent": "i", "intelligent": "i", "Iraqi": "i", "Egyptian": "i", "Arabic": "er", "English": "iŋ", "owl": "au̇",
    "only child": "ō", "yttrium compound": "i", "X-ray": "eks", "MP": "em", "FBI agent": "ef", "HIV carrier": "āch",
    "LGBT group": "el", "8th child": "ātth", "11-year-old": "i", "18-year-old": "ā", "SMS": "es",
}  # fmt: skip
A = {
    "university": "yü", "unicorn": "yü", "uniform": "yü", "unique idea": "yü", "union": "yü", "user": "yü",
    "European": "yu̇r", "Ukrainian": "yü", "eulogy": "yü", "euphemism": "yü", "one-eyed cat": "wən", "ewe": "yü",
    "house": "h", "historian": "h", "hotel": "h", "guide": "g", "judge": "j", "nurse": "n", "talented": "t",
    "year": "y", "young man": "y", "yellow dress": "y", "UN envoy": "yü", "US citizen": "yü", "PhD student": "pē",
    "BBC reporter": "bē", "10th child": "t", "100-year-old": "w", "NASA engineer": "na", "NATO ally": "nā",
}  # fmt: skip


@pytest.mark.parametrize(("word", "article"), [*((w, "an") for w in AN), *((w, "a") for w in A)])
def test_an_article_goes_by_sound(word: str, article: str) -> None:
    """Not by spelling: an hour, a university, an FBI agent, a UN envoy."""
    assert English().a(word) == f"{article}{MARK} {word}"


def test_the_dictionary_is_large_enough() -> None:
    """Both articles, forty words at least."""
    assert len(AN) + len(A) >= 40
    assert not set(AN) & set(A)


def _word(text: str, **columns: str | None) -> Word:
    return Word.of({"word": text, **columns})


@pytest.mark.parametrize(
    ("word", "stated", "expected"),
    [
        ("herb", "a", f"a{MARK} herb"),  # as it is said in Britain
        ("dog", "an", f"an{MARK} dog"),
        ("headphones", "none", "headphones"),
        ("lunch", "none", "lunch"),
        ("hour", None, f"an{MARK} hour"),  # an empty cell states nothing
    ],
)
def test_a_rows_article_overrides(word: str, stated: str | None, expected: str) -> None:
    """What a row states is no guess, so it is not recorded as one."""
    english = English()
    assert english.a(_word(word, article=stated)) == expected
    assert bool(english.guesses) == (stated is None)


@pytest.mark.parametrize(
    ("word", "stated", "expected"),
    [
        ("engineer", None, "engineers"),
        ("church", None, "churches"),
        ("child", None, "children"),
        ("wife", None, "wives"),
        ("octopus", "octopuses", "octopuses"),
        ("person", "persons", "persons"),
    ],
)
def test_a_plural_is_guessed_unless_stated(word: str, stated: str | None, expected: str) -> None:
    """Regular and irregular ones as Merriam-Webster has them."""
    english = English()
    assert english.plural(_word(word, plural=stated)) == expected
    assert english.guesses == ({} if stated else {("plural", word): expected})


@pytest.mark.parametrize(
    ("text", "expected"), [("an Iraqi", "An Iraqi"), ("X-ray", "X-ray"), ("élan", "Élan"), ("", ""), ("8th", "8th")]
)
def test_upfirst_touches_the_first_letter_only(text: str, expected: str) -> None:
    """Unlike `capitalize`, which makes *An iraqi* of an Iraqi (DESIGN section 3)."""
    assert English.upfirst(text) == expected


def test_a_frozen_guess_wins_over_every_rule() -> None:
    """So that an upgrade of inflect, or of our table, cannot change a release."""
    english = English({("a", "hour"): "a", ("plural", "engineer"): "engineren", ("a", "lunch"): "none"})
    assert (english.a("hour"), english.plural("engineer"), english.a("lunch")) == (
        f"a{MARK} hour",
        "engineren",
        "lunch",
    )
    assert english.a("heir") == f"an{MARK} heir"
    # Those that were used are guesses again, and so go into the next recipe.
    assert english.guesses[("a", "hour")] == "a"


def test_a_stated_article_wins_over_a_frozen_one() -> None:
    """The recipe keeps the list too, so both are frozen; the list is the one that a person wrote."""
    assert English({("a", "herb"): "an"}).a(_word("herb", article="a")) == f"a{MARK} herb"


def test_guesses_are_each_made_once() -> None:
    """One entry for each question, whatever the row that asked it."""
    english = English()
    for text in ("dog", _word("dog"), "dog", _word("owl")):
        english.a(text)
    assert english.guesses == {("a", "dog"): "a", ("a", "owl"): "an"}
