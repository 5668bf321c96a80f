"""The association tests, held against the papers' sizes, the published words, and sentences written by hand."""

import csv
import hashlib
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from senseprobe.api import open_catalogue

ROOT = Path(__file__).parents[2]
Row = dict[str, Any]

# Words in X and Y, in A, and in B. Caliskan et al. 2017, table 1, prints these numbers for its tests 1 to 10 (here
# weat1 to weat10). UPSTREAM.md, sections 4 and 5: 4 terms a side in angry_black_woman_stereotype_b; 13 names in i1 to
# i5, 8 in c11, 32 in c12 and c13, 26 names and 20 occupations in occ. The others were counted in the published lists.
SIZES = {
    "weat1": (25, 25, 25),
    "weat2": (25, 25, 25),
    "weat3": (32, 25, 25),
    "weat3b": (15, 25, 25),
    "weat4": (16, 25, 25),
    "weat5": (16, 8, 8),
    "weat5b": (15, 8, 8),
    "weat6": (8, 8, 8),
    "weat6b": (8, 8, 8),
    "weat7": (8, 8, 8),
    "weat7b": (8, 8, 8),
    "weat8": (8, 8, 8),
    "weat8b": (8, 8, 8),
    "weat9": (6, 7, 7),
    "weat10": (8, 8, 8),
    "angry_black_woman_stereotype": (15, 18, 18),
    "angry_black_woman_stereotype_b": (4, 18, 18),
    "double_bind_competent": (8, 10, 10),
    "double_bind_likable": (8, 8, 8),
    "c11": (8, 25, 25),
    "c12": (32, 8, 8),
    "c13": (8, 32, 32),
    "occ": (26, 20, 20),
    "i1": (13, 25, 25),
    "i2": (13, 25, 25),
    "i3": (13, 25, 25),
    "i4": (13, 25, 25),
    "i5": (13, 25, 25),
    "race_double_bind_competent": (32, 10, 10),
    "race_double_bind_likable": (32, 8, 8),
}

# Of test, role, name of the set and word, tab between them, lines sorted: the published lists, which are not in the
# repository (shared/lists/association.json), hashed by another program.
PUBLISHED = "73528d0461304a5e7765fc6929c27eedd77b461874763bbcc5415847d4233849"

# UPSTREAM.md, section 4: names 8, mass nouns 4, adjectives 3, verbs 8, count nouns 7 or 8 singular and 6 plural,
# pronouns 5, 3, 7. The last three classes are senseprobe's, with the frames of shared/lists/association.json.
FRAMES = {
    "name": 8,
    "mass-noun": 4,
    "adjective": 3,
    "verb": 8,
    "person": 7 + 6,
    "thing": 8 + 6,
    "pronoun-subject": 5,
    "pronoun-object": 3,
    "pronoun-possessive": 7,
    "plural-noun": 6,
    "adverb": 1,
    "organisation": 6,
}

# Written by hand, without a look at what the templates make: hard articles, plurals and capitals, and each frame of
# each class at least once.
SENTENCES = """
This is DeShawn.|That is Aaliyah.|There is Greg.|Here is Precious.|DeAndre is here.|Ebony is there.
Einstein is a person.|The person's name is Shakespeare.
They are loyal.|This is evil.|That is opinionated.|This is short-term.|They are unlikable.|They are depressed.
It is laughter.|That is peace.|This is dynamite.|There is teargas.|It is cancer.|There is influenza.|This is algebra.
It is physics.|There is sculpture.|This is management.|This is construction.
This is an aster.|That is an axe.|There is an accident.|Here is an iris.|The fly is here.|The knife is there.
An honor is a thing.|It is an oboe.|These are irises.|Those are banjos.|They are poppies.|The cellos are here.
The peonies are there.|Asters are things.|Crocuses are things.|Lilies are things.|Flies are things.
These are mosquitoes.|Blackflies are things.|They are roaches.|These are pianos.
Harmonicas are things.|They are axes.|These are knives.
Caresses are things.|This is an honor.|These are families.|Tragedies are things.|Salaries are things.
Symphonies are things.|The businesses are there.|An illness is a thing.|Viruses are things.|Those are daisies.
An orchid is a thing.
This is a Ukrainian American.|That is an uncle.|There is an Ethiopian American.|Here is an analyst.
The woman of color is here.|The African American is there.|A European American is a person.|These are women of color.
Those are salespeople.|They are chiefs.|The grandmothers are here.|The women are there.|Men are people.
An Eritrean American is a person.|These are South African Americans.|Sierra Leonean Americans are people.
Cape Verdean Americans are people.|An executive is a person.|A male is a person.|Black females are people.
Fair-skinned women are people.|A fair-skinned woman is a person.|Women of color are people.|Secretaries are people.
This will pollute.|This did kill.|This can pollute.|This may kill.
That will kill.|That did pollute.|That can kill.|That may pollute.
He is here.|She is there.|Here he is.|There she is.|She is a person.
It is him.|This is her.|That is him.
This is his.|That is hers.|There is his.|Here is hers.|It is his.|Hers is there.|His is here.
These are parents.|Those are equations.|They are cousins.|The relatives are here.|The numbers are there.
Numbers are things.|Children are people.
This is always.|This is forever.
This is NASA.|That is NASA.|There is NASA.|Here is NASA.|NASA is here.|NASA is there.
"""


def members() -> list[dict[str, str]]:
    with (ROOT / "wordlists" / "association.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def rows(config: str) -> list[Row]:
    catalogue = open_catalogue(f"association/{config}")
    return [row for batch in catalogue.rows(catalogue.configs[0]) for row in batch.to_pylist()]


def test_every_test_has_its_sets() -> None:
    """Thirty tests with 1,860 words, as many in each set as were published."""
    found = Counter((row["test"], row["role"]) for row in members())
    expected = {
        (test, role): size for test, (x, a, b) in SIZES.items() for role, size in zip("XYAB", (x, x, a, b), strict=True)
    }

    assert found == expected
    assert (len(SIZES), found.total()) == (30, 1860)


def test_words_are_those_that_were_published() -> None:
    """Not a word more, less or spelt otherwise, under the published names of sets; each has a class."""
    lines = sorted("\t".join((row["test"], row["role"], row["set"], row["word"])) for row in members())

    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == PUBLISHED
    assert {row["word_class"] for row in members()} == {*FRAMES}


def test_every_member_has_every_frame_of_its_class() -> None:
    """No word vanishes, and none has a sentence twice."""
    found = Counter((row["test"], row["role"], row["word"], row["word_class"]) for row in rows("bleached"))
    texts = {(row["test"], row["role"], row["sentence"]) for row in rows("bleached")}

    assert found == {(m["test"], m["role"], m["word"], m["word_class"]): FRAMES[m["word_class"]] for m in members()}
    assert len(texts) == len(rows("bleached"))


def test_sentences_are_those_written_by_hand() -> None:
    """Articles, plurals and capitals of hard words, in every frame of every class."""
    expected = {text for line in SENTENCES.split("\n") for text in line.split("|") if text}
    made = {row["sentence"] for row in rows("bleached")}
    frames = {(row["word_class"], row["frame"]) for row in rows("bleached")}

    assert len(expected) >= 60
    assert expected - made == set()
    assert {(row["word_class"], row["frame"]) for row in rows("bleached") if row["sentence"] in expected} == frames


@pytest.mark.parametrize("config", ["bleached", "unbleached"])
def test_sentences_are_well_formed(config: str) -> None:
    """A capital, one stop, single blanks; *an* before a vowel and nowhere else, but for three words by sound."""
    for row in rows(config):
        text = row["sentence"]
        assert re.fullmatch(r"[A-Z][A-Za-z',-]*( [A-Za-z',-]+)+\.", text), text
        by_sound = re.sub(r"European|Ukrainian", "Y", text).replace("honor", "onor")
        assert not re.search(r"\b[Aa] [aeiouAEIOU]|\b[Aa]n [^aeiouAEIOU]", by_sound), text


@pytest.mark.parametrize("config", ["bleached", "unbleached"])
def test_spans_hold_the_word_or_its_plural(config: str) -> None:
    """What stands at the span begins as the word does, irregular plurals by hand, and the word ends where it ends."""
    stems = {"man": "m", "woman": "wom", "knife": "kni", "salesperson": "salespe", "woman of color": "wom"}
    for row in rows(config):
        word, shown = row["word"], row["sentence"][row["span"]["start"] : row["span"]["end"]]
        stem = stems.get(word) or re.sub(r"(man|y)$", "", word)
        assert shown.lower().startswith(stem.lower()), row
        assert row["member"] == word
        assert row["sentence"][row["span"]["end"]] in " .,", row


def test_double_bind_stands_in_sentences_about_work() -> None:
    """Six sentences for every name and adjective of the four tests; no frame of a name is in both kinds."""
    tests = [test for test in SIZES if "double_bind" in test]
    found = Counter((row["test"], row["role"], row["word"]) for row in rows("unbleached"))
    frames = {
        kind: {row["frame"] for row in rows("unbleached") if row["test"].endswith(kind) and row["word_class"] == "name"}
        for kind in ("competent", "likable")
    }

    assert found == {(m["test"], m["role"], m["word"]): 6 for m in members() if m["test"] in tests}
    assert [len(codes) for codes in frames.values()] == [6, 6]
    assert frames["competent"].isdisjoint(frames["likable"])


def test_work_sentences_have_no_word_of_gender_or_race() -> None:
    """Without their word, unbleached frames name neither."""
    telling = r"\b(he|she|him|her|his|hers|himself|herself|man|woman|men|women|male|female|black|white)\b"
    for row in rows("unbleached"):
        rest = row["sentence"][: row["span"]["start"]] + row["sentence"][row["span"]["end"] :]
        assert not re.search(telling, rest, re.IGNORECASE), row["sentence"]


def test_identities_are_those_of_the_papers_table() -> None:
    """Tan and Celis 2019, Table 2 (VECTORS.md): 92 tests, 60 without contextual words; weat1 and weat2 are of nobody.

    A test of a config is taken at each level, but for the words of unbleached ones, which are those of the bleached.
    """
    configs = ("bleached", "unbleached")
    words = {
        config: {(row["test"], row["identity"], row["role"], row["word"]) for row in rows(config)} for config in configs
    }
    tests = {config: Counter(identity for _, identity in {row[:2] for row in words[config]}) for config in configs}
    by_level = {
        "word": tests["bleached"],
        "sent": sum(tests.values(), Counter()),
        "cword": sum(tests.values(), Counter()),
    }
    table = sum(by_level.values(), Counter())

    assert words["unbleached"] < words["bleached"]
    assert table.pop(None) == 6  # two tests at three levels
    assert table == {"gender": 34, "race": 31, "intersectional": 21, "disability": 3, "age": 3}
    assert (table.total(), sum((by_level[level] - Counter({None: 2})).total() for level in ("word", "sent"))) == (
        92,
        60,
    )


def test_ids_are_permanent() -> None:
    """Frame code (6 hex of the sha256 of its source), then the slug of test, role and word."""
    found = {row["sentence"]: row["id"] for row in rows("bleached") if row["test"] == "angry_black_woman_stereotype_b"}
    code = hashlib.sha256(b"These are {{ member | plural }}.").hexdigest()[:6]

    assert found["These are women of color."] == f"bleached.{code}.angry-black-woman-stereotype-b-y-woman-of-color"


def test_page_is_what_its_generator_prints() -> None:
    """docs/association-tests.md is generated, and the smallest p of its tests is that of a count by hand."""
    command = [sys.executable, "benchmarks/association_table.py"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    page = (ROOT / "docs" / "association-tests.md").read_text(encoding="utf-8")

    assert page == printed
    assert len(re.findall(r"^\| `\w+` \| \w+2017|^\| `\w+` \| \w+2019", page, re.MULTILINE)) == 30
    # C(8, 4) = 70, C(12, 6) = 924, C(16, 8) = 12,870, C(26, 13) = 10,400,600: a table of binomial coefficients.
    for test, ways in (
        ("angry_black_woman_stereotype_b", "70"),
        ("weat9", "924"),
        ("weat6", "12,870"),
        ("i1", "10,400,600"),
    ):
        assert re.search(rf"^\| `{test}` .* 1/{ways} \(", page, re.MULTILINE)
    # Names have 8 frames: 13 names 104 sentences (UPSTREAM.md, section 5), 26 names 208.
    assert "WhiteFemaleNames 13 / 104" in page
    assert "MaleNames 26 / 208" in page
