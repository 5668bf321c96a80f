"""Articles, plurals, verbs and capitals: rules against lists by hand, columns against rules, frozen against both."""

import csv
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from senseprobe.generator.english import MARK, English, no_article
from senseprobe.generator.word_lists import Word

GOLDEN = Path(__file__).parents[1] / "golden"


def _golden(name: str) -> list[tuple[str, ...]]:
    with (GOLDEN / name).open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


# Written by hand from how each word is said: the first sound in Merriam-Webster's symbols, or the spoken form of
# numerals, letters and acronyms. A vowel sound takes *an*.
ARTICLES = _golden("articles.csv")
# Written by hand; where dictionaries differ, the form that Merriam-Webster gives first.
PLURALS = _golden("plurals.csv")


@pytest.mark.parametrize(("text", "article", "note"), ARTICLES, ids=[row[0] for row in ARTICLES])
def test_an_article_goes_by_sound(text: str, article: str, note: str) -> None:
    """Not by spelling: an hour, a university, an FBI agent, a NATO ally, an 11,000-seat hall."""
    assert English().a(text) == f"{article}{MARK} {text}", note


def test_the_list_of_articles_is_large_and_consistent() -> None:
    """Both articles, each text once, each with its reason, and the reason agrees with the article."""
    texts = [text for text, _, _ in ARTICLES]
    assert len(set(texts)) == len(texts) >= 200
    assert min(sum(article == each for _, article, _ in ARTICLES) for each in ("a", "an")) >= 100
    sounds = {text: note.split()[2] for text, _, note in ARTICLES if note.startswith("first sound")}
    assert {text for text, article, _ in ARTICLES if article == "a"} & set(sounds) == {
        text for text, sound in sounds.items() if sound[0] in "bdfghjklmnprstvwyz"
    }


@pytest.mark.parametrize(("noun", "plural", "note"), PLURALS, ids=[row[0] for row in PLURALS])
def test_a_plural_is_the_dictionarys(noun: str, plural: str, note: str) -> None:
    """Of the head noun, in capitals too; what is plural already stays."""
    assert English().plural(noun) == plural, note


def test_the_list_of_plurals_is_large_enough() -> None:
    """Each noun once."""
    assert len({noun for noun, _, _ in PLURALS}) == len(PLURALS) >= 60


# By hand: regular spelling, then irregular verbs as Merriam-Webster has them (the first of two forms).
VERBS = """
call called calls; like liked likes; visit visited visits; stop stopped stops; plan planned plans; swap swapped swaps
own owned owns; donate donated donates; finish finished finishes; cook cooked cooks; crash crashed crashes
identify identified identifies; play played plays; enjoy enjoyed enjoys; try tried tries; fix fixed fixes
fear feared fears; offer offered offers; open opened opens; listen listened listens; develop developed develops
prefer preferred prefers; admit admitted admits; commit committed commits
occur occurred occurs; regret regretted regrets
travel traveled travels; cancel canceled cancels; kidnap kidnapped kidnaps; equip equipped equips; suit suited suits
quiz quizzed quizzes; panic panicked panics; mimic mimicked mimics; kiss kissed kisses; watch watched watches
veto vetoed vetoes; echo echoed echoes; radio radioed radios; agree agreed agrees; die died dies; tie tied ties
show showed shows; bow bowed bows; behave behaved behaves; welcome welcomed welcomes; relay relayed relays
rely relied relies; respond responded responds; need needed needs; answer answered answers; profit profited profits
be was is; have had has; do did does; go went goes; say said says; eat ate eats; drive drove drives; buy bought buys
meet met meets; pay paid pays; sell sold sells; speak spoke speaks; teach taught teaches; catch caught catches
think thought thinks; fly flew flies; cut cut cuts; hit hit hits; read read reads; lead led leads; feed fed feeds
begin began begins; write wrote writes; wear wore wears; steal stole steals; fight fought fights; hold held holds
undergo underwent undergoes; overcome overcame overcomes; withdraw withdrew withdraws; repay repaid repays
misunderstand misunderstood misunderstands; forgive forgave forgives; rewrite rewrote rewrites; undo undid undoes
co-write co-wrote co-writes; babysit babysat babysits; can could can
"""


@pytest.mark.parametrize("forms", [row.split() for line in VERBS.split("\n") for row in line.split(";") if row])
def test_verbs_are_the_dictionarys(forms: list[str]) -> None:
    """Simple past and the form after *she*."""
    verb, past, third = forms
    assert (English().past(verb), English().third(verb)) == (past, third)


@pytest.mark.parametrize(
    ("verb", "past"),
    # The verbs of Dev et al. (2020), supplement, as they are printed there.
    [
        ("budget for", "budgeted for"),
        ("pay for", "paid for"),
        ("speak to", "spoke to"),
        ("befriend", "befriended"),
        ("interrupt", "interrupted"),
        ("consume", "consumed"),
        ("prepare", "prepared"),
    ],
)
def test_words_after_a_verb_stay(verb: str, past: str) -> None:
    """Only the first word is a verb."""
    assert English().past(verb) == past


# By hand: infinitive, after they, after she; and what is to be agreed is what `past` makes, where it is a past.
AGREED = """
own own owns; buy buy buys; be are is; be_kind are_kind is_kind; have have has; do do does; watch watch watches
can_afford can_afford can_afford; budget_for budget_for budgets_for; try try tries
"""


@pytest.mark.parametrize("forms", [row.split() for line in AGREED.split("\n") for row in line.split(";") if row])
def test_a_verb_agrees_with_its_subject(forms: list[str]) -> None:
    """*They* takes the plain verb, as we and you do, and everybody else the one with an ending."""
    verb, plain, third = (form.replace("_", " ") for form in forms)
    assert [English().agree(verb, who) for who in ("they", "They", "you", "we")] == [plain] * 4
    assert [English().agree(verb, who) for who in ("he", "She", "it", "xe", "nurse", "")] == [third] * 6


def test_a_past_agrees_with_its_subject() -> None:
    """Only *be* has two pasts."""
    past = {who: [English().agree(English().past(verb), who) for verb in ("be", "be kind", "buy")] for who in WHO}
    were, was = ["were", "were kind", "bought"], ["was", "was kind", "bought"]
    assert past == {"they": were, "you": were, "she": was, "I": was}
    assert [English().agree("be", who) for who in WHO] == ["are", "are", "is", "am"]


WHO = ("they", "you", "she", "I")


def test_columns_say_what_agrees() -> None:
    """A finite verb of a list has its form after *they* in a column; a subject may state its number, or be a column."""
    verb = _word("owns", plural="own")
    assert [English().agree(verb, who) for who in ("they", "she")] == ["own", "owns"]
    assert English().agree("own", _word("neutral", subject="they")) == "own"
    assert [English().agree("own", _word("crew", number=number)) for number in ("plural", "singular")] == [
        "own",
        "owns",
    ]
    with pytest.raises(jinja2.TemplateRuntimeError, match="the number of 'crew' is 'two', expected singular or plural"):
        English().agree("own", _word("crew", number="two"))


def test_a_pronoun_takes_no_article() -> None:
    """The accountant, and they."""
    assert [English().the(text) for text in ("accountant", "they", "He")] == [f"the{MARK} accountant", "they", "He"]
    assert no_article("they")


@pytest.mark.parametrize("verb", ["lie", "hang", "must"])
def test_a_verb_of_two_pasts_is_not_guessed(verb: str) -> None:
    """He lay or he lied: the list has to say."""
    with pytest.raises(jinja2.TemplateRuntimeError, match="column past"):
        English().past(verb)
    assert English().past(_word(verb, past="lied")) == "lied"


NO_ARTICLE = """
headphones lunch breakfast dinner jeans trousers scissors glasses pajamas information luggage advice furniture news
homework equipment evidence knowledge money traffic weather clothing jewelry software electricity rice bread
people men women children police clothes Iraqis Israelis Hindus SUVs CEOs engineers ladies potatoes mice
mathematics politics tennis 8-year-olds brass teeth
"""
WITH_ARTICLE = """
bus glass boss lens dress gas iris actress campus virus crisis atlas canvas series species crossroads Swiss Chinese
SUV GPS octopus thermos rhinoceros watch apple soup cake meal pizza chicken specimen abdomen woman human person child
engineer 8-year-old in-law Iraqi Hindu sheep aircraft waitress princess headquarters summons PhD homeless famous
"""
PHRASES = {
    "pair of jeans": False, "news anchor": False, "glass of water": False, "woman in jeans": False, "piece of advice":
    False, "women of color": True, "good advice": True, "people with disabilities": True, "lunch break": False,
    "jeans with holes": True, "United States citizen": False,
    "late lunch": False, "": False, "...": False,
    "mother-in-law": False, "mothers-in-law": True, "lady-in-waiting": False, "ladies-in-waiting": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [*((w, True) for w in NO_ARTICLE.split()), *((w, False) for w in WITH_ARTICLE.split()), *PHRASES.items()],
)
def test_plural_and_uncountable_nouns_take_no_article(text: str, expected: bool) -> None:
    """By the head noun, and as an English speaker would have it."""
    assert no_article(text) is expected


def test_no_false_alarm_on_what_has_an_article() -> None:
    """Every text of the golden list takes one: all words of Dev et al. (2020) with a hard first sound are there."""
    assert [text for text, _, _ in ARTICLES if no_article(text)] == []


def _word(text: str, **columns: str | None) -> Word:
    return Word.of({"word": text, **columns})


@pytest.mark.parametrize(
    ("word", "stated", "expected"),
    [
        ("herb", "a", f"a{MARK} herb"),  # as it is said in Britain
        ("dog", "an", f"an{MARK} dog"),
        ("brass", "the", f"the{MARK} brass"),
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


@pytest.mark.parametrize("stated", ["An", "some", "no", "a "])
def test_a_row_states_one_of_four_articles(stated: str) -> None:
    """With the word and what is allowed: the expansion reports such an error as a finding."""
    with pytest.raises(jinja2.TemplateRuntimeError, match=f"'hour' is '{stated}', expected a, an, the, none"):
        English().a(_word("hour", article=stated))


@pytest.mark.parametrize(
    ("kind", "word", "stated", "expected"),
    [
        ("plural", "engineer", None, "engineers"),
        ("plural", "octopus", "octopi", "octopi"),
        ("plural", "person", "persons", "persons"),
        ("past", "dive", None, "dived"),
        ("past", "dive", "dove", "dove"),
        ("third", "solo", None, "soloes"),
        ("third", "solo", "solos", "solos"),
    ],
)
def test_a_form_is_guessed_unless_stated(kind: str, word: str, stated: str | None, expected: str) -> None:
    """The column has the filter's name, and a guess is recorded under it."""
    english = English()
    assert english.filters()[kind](_word(word, **{kind: stated})) == expected
    assert english.guesses == ({} if stated else {(kind, word): expected})


@pytest.mark.parametrize(
    ("text", "expected"), [("an Iraqi", "An Iraqi"), ("X-ray", "X-ray"), ("élan", "Élan"), ("", ""), ("8th", "8th")]
)
def test_upfirst_touches_the_first_letter_only(text: str, expected: str) -> None:
    """Unlike `capitalize`, which makes *An iraqi* of an Iraqi (DESIGN section 3)."""
    assert English.upfirst(text) == expected


PRINTABLE = st.text(max_size=100).filter(str.isprintable) | st.text("aehnouxyAFHNUX018,.-'\"( é", max_size=100)


@given(PRINTABLE)
@settings(max_examples=examples(300))
def test_every_printable_text_has_an_answer(text: str) -> None:
    """One of two articles before the text as it was, and some plural and some verb forms; never an exception."""
    english = English()
    assert english.a(text) in (f"a{MARK} {text}", f"an{MARK} {text}")
    assert all(isinstance(answer, str) for answer in (english.plural(text), english.third(text)))
    assert isinstance(no_article(text), bool)
    assert len(english.guesses) == 3


@given(PRINTABLE)
def test_upfirst_twice_is_upfirst_once(text: str) -> None:
    """Also where the capital is two letters (ß)."""
    assert English.upfirst(English.upfirst(text)) == English.upfirst(text)


@given(st.sampled_from([text for text, _, _ in ARTICLES]), st.sampled_from(['"{}"', "({})", "“{}”", "[{}]", "'{}'"]))
def test_quotes_and_brackets_are_silent(text: str, around: str) -> None:
    """The article is that of the text within."""
    marks = around.format(text)
    assert English().a(marks).split(MARK)[0] == English().a(text).split(MARK)[0]


@pytest.mark.parametrize("plural", [row[1] for row in PLURALS])
def test_a_plural_is_its_own_plural(plural: str) -> None:
    """So that a list of plural nouns can be given to the same template."""
    assert English().plural(plural) == plural


def test_the_library_is_loaded_when_it_is_asked() -> None:
    """Most commands guess nothing."""
    code = "import sys, senseprobe.generator.english; sys.exit('inflect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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
