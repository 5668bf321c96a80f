"""The built-in word lists, held against the real Frictionless and the counts of the papers that they come from."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

WORDLISTS = Path(__file__).parents[2] / "wordlists"
PACKAGE: dict[str, Any] = YAML(typ="safe").load(WORDLISTS / "datapackage.yaml")
RESOURCES: dict[str, dict[str, Any]] = {resource["name"]: resource for resource in PACKAGE["resources"]}


def _rows(name: str, **where: str) -> list[dict[str, str]]:
    with (WORDLISTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if where.items() <= row.items()]


def test_frictionless_finds_no_errors() -> None:
    """`frictionless validate wordlists/datapackage.yaml` is content with every list."""
    import frictionless

    report = frictionless.validate(WORDLISTS / "datapackage.yaml")

    assert report.flatten(["path", "rowNumber", "fieldName", "message"]) == []
    assert [task.stats.get("rows", 0) > 0 for task in report.tasks] == [True] * len(RESOURCES)


def test_every_list_is_described() -> None:
    """The CSV files in the folder are those of the descriptor, each under its own name."""
    assert {path.name for path in WORDLISTS.glob("*.csv")} == {resource["path"] for resource in RESOURCES.values()}
    assert [name for name, resource in RESOURCES.items() if resource["path"] != f"{name}.csv"] == []


@pytest.mark.parametrize("name", RESOURCES)
def test_sources_are_in_the_bibliography(name: str) -> None:
    """Every list names a licence and its sources, each a key of references.bib."""
    keys = set(
        re.findall(r"^@\w+\{([^,\s]+),", (WORDLISTS / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)
    )
    sources = {source["title"] for source in RESOURCES[name]["sources"]}

    assert RESOURCES[name]["licenses"]
    assert sources
    assert sources <= keys


@pytest.mark.parametrize("name", RESOURCES)
def test_sense_fields_name_their_lexicon(name: str) -> None:
    """Every field of sense keys names its lexicon and part of speech, and every lemma field has a sense field."""
    fields = {field["name"]: field for field in RESOURCES[name]["schema"]["fields"]}
    senses = {key: field for key, field in fields.items() if key.startswith("sense_")}

    assert {field.get("lexicon") for field in senses.values()} <= {"wordnet-3.0"}
    assert {field.get("pos") for field in senses.values()} <= {"noun", "verb", "adjective", "adverb"}
    assert {key.replace("lemma_", "sense_", 1) for key in fields if key.startswith("lemma_")} <= {*senses}


# Zhou et al. 2022, Table 1, prints 18 pleasant and 15 unpleasant attributes for nationality and language together, and
# 14 and 18 for occupations. The data published with it has them as 12 + 6 and 9 + 6, five and five for colour, and
# "cunning" twice among the 18, of which 17 are distinct.
@pytest.mark.parametrize(
    ("domain", "pleasant", "unpleasant"),
    [("person", 12, 9), ("language", 6, 6), ("colour", 5, 5), ("occupation", 14, 17)],
)
def test_attributes_are_as_many_as_in_the_paper(domain: str, pleasant: int, unpleasant: int) -> None:
    """Each domain has the paper's number of distinct pleasant and unpleasant attributes."""
    assert len({row["word"] for row in _rows("attributes", domain=domain, polarity="pleasant")}) == pleasant
    assert len({row["word"] for row in _rows("attributes", domain=domain, polarity="unpleasant")}) == unpleasant
    assert len(_rows("attributes", domain=domain)) == pleasant + unpleasant


# Zhou et al. 2022, section 4.3, names the six occupations. Its test cases are products: 2,304 = 16 x (12 x 9 + 6 x 6)
# for nationality and language, 625 = (5 x 5) x (5 x 5) for the colour of five things.
@pytest.mark.parametrize(
    ("name", "where", "size"),
    [("nationalities", {"sssb": "true"}, 16), ("occupations", {"sssb": "true"}, 6), ("colour_nouns", {}, 5)],
)
def test_slots_have_as_many_words_as_in_the_paper(name: str, where: dict[str, str], size: int) -> None:
    """The lists hold the paper's sixteen nations, six occupations and five black things."""
    assert len({row["word"] for row in _rows(name, **where)}) == size


@pytest.mark.parametrize(
    ("name", "column", "counts"),
    [
        ("gender_senses", "gender", {"male": 6, "female": 6}),  # VECTORS.md: six pairs of keys
        # UPSTREAM.md 6: distinct words of the two published files, which have 222 lines each.
        ("gendered_words", "gender", {"female": 202, "male": 207}),
        ("group_pronouns", "group", {"female": 3, "male": 3, "collective": 4}),  # Tan and Celis 2019, Table 1
        ("winobias_occupations", "gender", {"male": 20, "female": 20}),  # UPSTREAM.md 8: WinoBias
    ],
)
def test_words_of_gender_are_as_many_as_their_sources_have(name: str, column: str, counts: dict[str, int]) -> None:
    """Counted in the paper, or by those who studied the published files, which are not here."""
    assert {value: len(_rows(name, **{column: value})) for value in counts} == counts
    assert len(_rows(name)) == sum(counts.values())


def test_definitional_pairs_are_those_printed() -> None:
    """Azzalini et al. 2022, section 3.2, in its order."""
    female = ["woman", "girl", "she", "mother", "daughter", "gal", "female", "her", "herself", "Mary"]
    male = ["man", "boy", "he", "father", "son", "guy", "male", "his", "himself", "John"]
    assert [(row["word"], row["male"]) for row in _rows("definitional_pairs")] == list(zip(female, male, strict=True))


@pytest.mark.parametrize(
    ("word", "domain", "key", "lemma"),
    [  # by hand, from the glosses of WordNet 3.0
        ("smart", "colour", "smart%5:00:00:stylish:00", ""),  # elegant and stylish
        ("cunning", "person", "cunning%5:00:00:artful:00", ""),  # marked by skill in deception
        ("easy to learn", "language", "easy%3:00:01::", "easy"),  # posing no difficulty
    ],
)
def test_attributes_have_the_sense_of_their_domain(word: str, domain: str, key: str, lemma: str) -> None:
    """Every attribute has a key; three were looked up."""
    (row,) = _rows("attributes", word=word, domain=domain)
    assert (row["sense_adjective"], row["lemma_adjective"]) == (key, lemma)
    assert all(row["sense_adjective"] for row in _rows("attributes"))
