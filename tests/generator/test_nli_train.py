"""nli-train: rows that models may learn. Counts were multiplied by hand; sentences were written by hand."""

import csv
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

import senseprobe

ROOT = Path(__file__).parents[2]
PROBES = ("nli-occupation", "nli-nationality", "nli-religion", "nli-control", "sssb")

# 60 occupations, 20 kin words, 24 demonyms, 16 adherents; 100 activities. With claims an activity is in 10 rows of a
# word, 2 about another object, and 3 the other way round; with nouns in 3. Of claims 3 x 4 + 2 x 6 + 3 x 2 + 2 x 3.
SIZES = {
    "claims": 100 * (12 + 12 + 6 + 6),
    "occupation": 60 * 100 * 15,
    "kin": 20 * 100 * 15,
    "kin-pairs": 20 * 100 * 3,
    "nationality": 24 * 100 * 15,
    "nationality-pairs": 24 * 100 * 3,
    "religion": 16 * 100 * 15,
    "religion-pairs": 16 * 100 * 3,
}
NOUNS = {"occupation": "occupation", "kin": "kin", "nationality": "demonym", "religion": "adherent"}

SENTENCES = {
    "claims": """
A person painted a fence.|Somebody painted a fence.|entailment
Somebody painted a fence.|Not a single human being painted a fence.|contradiction
A person painted a fence.|Nobody painted a gate.|neutral""",
    "occupation": """
The potter painted a fence.|Somebody painted a fence.|entailment
The archaeologist repaired an umbrella.|Not a single human being repaired an umbrella.|contradiction
The potter painted a fence.|Nobody painted a gate.|neutral
Somebody painted a canoe.|The potter painted a canoe.|neutral""",
    "kin": """
The bride built a kite.|Some individual built a kite.|entailment
Somebody painted a fence.|The mother painted a fence.|neutral""",
    "kin-pairs": """
The mother painted a fence.|The parent painted a fence.|entailment
The parent painted a fence.|The mother painted a fence.|neutral
The mother painted a fence.|The father painted a fence.|contradiction""",
    "nationality": "The Kenyan traveler painted a fence.|No one painted a fence.|contradiction",
    "nationality-pairs": """
The Kenyan traveler painted a fence.|A traveler painted a fence.|entailment
A traveler painted a fence.|The Kenyan traveler painted a fence.|neutral""",
    "religion": "The Quaker traveler lost a glove.|No one lost a wallet.|neutral",
    "religion-pairs": "The Quaker traveler lifted an anchor.|A traveler lifted an anchor.|entailment",
}


def _words(lists: Path, name: str) -> set[str]:
    """The words that a list puts in sentences, in lower case: the columns that templates print."""
    printed = ("word", "object", "other", "hypernym", "plural", "male")
    with (lists / f"{name}.csv").open(encoding="utf-8") as file:
        cells = chain.from_iterable((row.get(column) for column in printed) for row in csv.DictReader(file))
        return {cell.lower() for cell in cells if cell}


def test_every_label_is_a_third_for_every_word() -> None:
    """No word gives a label away: neither that of a group, nor a verb, an object, or a claim in a hypothesis."""
    release = senseprobe.load("nli-train@1.0.0")

    assert {name: len(release.table(name)) for name in release.designs} == SIZES
    assert sum(SIZES.values()) == 201_600
    for name, size in SIZES.items():
        rows = release.table(name)
        assert {*Counter(rows["gold"]).values()} == {size // 3}
        for column in [noun for part, noun in NOUNS.items() if name.startswith(part)]:
            shares = {frozenset(Counter(part["gold"]).values()) for _, part in rows.groupby(column)}
            assert shares == {frozenset({size // rows[column].nunique() // 3})}
    rows = release.table("occupation")
    for claim in ("Nobody", "No one", "No person", "No individual", "Not a single human being"):
        assert {*rows[rows["hypothesis"].str.startswith(claim)]["gold"]} == {"neutral", "contradiction"}


@pytest.mark.parametrize("config", SENTENCES)
def test_rows_are_as_written_by_hand(config: str) -> None:
    """Each pair stands in the release, with its label."""
    rows = senseprobe.load("nli-train@1.0.0").table(config)
    made = {*zip(rows["premise"], rows["hypothesis"], rows["gold"], strict=True)}

    assert {tuple(line.split("|")) for line in SENTENCES[config].strip().splitlines()} <= made


def test_words_are_held_out_of_what_measures() -> None:
    """No noun, verb or object is in a list of a probe; of the claims two are in the control, as the README says."""
    lists = senseprobe.load("nli-train@1.0.0").folder / "recipe/wordlists"
    measured = {
        word
        for name in PROBES
        for path in (senseprobe.load(name).folder / "recipe/wordlists").glob("*.csv")
        for word in _words(path.parent, path.stem)
    }
    shared = {path.stem: _words(lists, path.stem) & measured for path in lists.glob("nli_train_*.csv")}

    assert len(shared) == 6
    assert shared.pop("nli_train_claims") == {"somebody", "nobody", "someone", "no one", "a person", "no person"}
    assert not any(shared.values())


def test_no_row_joins_an_occupation_and_a_gender() -> None:
    """What a model answers to such a pair comes from its vectors."""
    release = senseprobe.load("nli-train@1.0.0")
    occupations, kin = {*release.table("occupation")["occupation"]}, {*release.table("kin")["kin"]}

    for name in SIZES:
        rows = release.table(name)
        for text in (rows["premise"] + " " + rows["hypothesis"]).unique():
            words = {*text.replace(".", "").split()}
            assert not (words & occupations and words & kin)


def test_its_card_allows_training_and_says_what_is_learnt() -> None:
    """The card has the split train and no gate; that of a dataset that measures has both of the others."""
    card, other = ((senseprobe.load(name).folder / "README.md").read_text() for name in ("nli-train", "nli-control"))

    assert "not for training" not in card.lower()
    assert "Do not train" not in card
    assert "extra_gated" not in card
    assert '- split: "train"' in card
    assert "Every config has one split, `train`." in card
    assert "do not\nmeasure it on them" in card
    assert "Do not train on this dataset" in other
    assert "extra_gated" in other
    assert '- split: "test"' in other


def test_datasets_load_the_split_that_the_card_names() -> None:
    """The library of the Hub reads the rows as a user would from a repository."""
    from datasets import load_dataset

    folder = senseprobe.load("nli-train@1.0.0").folder
    rows = load_dataset(str(folder), "religion-pairs", split="train")

    assert rows.num_rows == SIZES["religion-pairs"]
