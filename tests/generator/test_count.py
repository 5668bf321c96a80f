"""Rows, distinct sentences and tokens without expanding: exact where sentences are few, else a bound that says so."""

import json
import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from senseprobe.api import open_catalogue
from senseprobe.generator import count as counting
from senseprobe.generator.config import Config
from senseprobe.generator.count import count
from senseprobe.generator.dataset import open_dataset
from senseprobe.generator.recipe import open_recipe
from senseprobe.generator.word_lists import WordLists

FROZEN = Path(__file__).parents[2] / "releases" / "sssb" / "1.0.0"
CONFIGS = [*json.loads((FROZEN / "release.json").read_bytes())["configs"]]

CARD = {
    "title": "Large",
    "summary": "Made for tests.",
    "license": "CC0-1.0",
    "languages": ["en"],
    "citation": "nobody",
    "canary": "senseprobe:large:00000000-0000-0000-0000-000000000000",
    "content_warning": "None.",
    "intended_use": "Tests.",
    "out_of_scope": "All else.",
    "equivalence": {"margin": 5, "reason": "a test"},
    "configs": ["large"],
}


def config_of(place: Path, lists: Mapping[str, list[str]], front: Mapping[str, object], *frames: str) -> Config:
    """A config of a dataset with these lists, each with a slot of its name; JSON is YAML too."""
    folder = place / "templates" / "large"
    folder.mkdir(parents=True)
    (place / "wordlists").mkdir()
    resources = []
    for name, words in lists.items():
        (place / "wordlists" / f"{name}.csv").write_text("\n".join(["word", *words]) + "\n")
        schema = {"fields": [{"name": "word"}]}
        resources.append({"name": name, "path": f"{name}.csv", "sources": [], "licenses": [], "schema": schema})
    (place / "wordlists" / "datapackage.yaml").write_text(json.dumps({"resources": resources}))
    (folder / "dataset.yaml").write_text(json.dumps(CARD))
    common = {"bias_type": "none", "construct": "none", "description": "none", "source": "nobody", "generalise": []}
    slots = {name: {"list": name} for name in lists}
    text = json.dumps({**common, "slots": slots, **front}, indent=1)
    (folder / "large.j2").write_text("\n".join(["---", text, "---", *frames]) + "\n")
    return open_dataset(folder, WordLists((place / "wordlists",))).configs[0]


def _contrast(pairs: int) -> dict[str, object]:
    roles = {"stereo": {"quality": "bad"}, "anti": {"quality": "good"}}
    sense = {"sense": {"type": "none"}, "label_basis": "trait", "target": "group"}
    return {"kind": "contrast", "roles": roles, **sense, "expect": {"pairs": pairs}}


def words(stem: str, n: int) -> list[str]:
    """`n` words that differ."""
    return [f"{stem}{number}" for number in range(n)]


# --- many rows ------------------------------------------------------------------------------------------------------


def test_a_product_of_a_million_millions_is_counted(tmp_path: Path) -> None:
    """Counted by hand: 1000^4 rows; a sentence reads three of the four lists; it has three tokens, or four."""
    lists = {name: words(name, 1000) for name in ("group", "thing", "good")}
    config = config_of(
        tmp_path, {**lists, "bad": words("very bad", 1000)}, _contrast(10**12), "{{ group }} {{ thing }} {{ quality }}."
    )

    tracemalloc.start()
    found = count(config)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found.rows == 10**12
    assert (found.sentences, found.exact) == (2 * 10**9, False)
    assert found.distinct_tokens == 3 * 10**9 + 4 * 10**9
    assert found.tokens == 3 * 10**12 + 4 * 10**12
    assert peak < 50e6


def test_numbers_beyond_those_of_machines_are_counted(tmp_path: Path) -> None:
    """1000^7 is more than 2^63; each sentence reads six lists."""
    lists = {name: words(name, 1000) for name in ("group", "a", "b", "c", "d", "good", "bad")}
    frame = "{{ group }} {{ a }} {{ b }} {{ c }} {{ d }} {{ quality }}."
    found = count(config_of(tmp_path, lists, _contrast(10**21), frame))

    assert (found.rows, found.sentences, found.tokens) == (10**21, 2 * 10**18, 2 * 6 * 10**21)


def test_rows_may_be_many_and_sentences_few(tmp_path: Path) -> None:
    """Lists that no sentence reads make rows, not sentences: 2 groups x (3 + 3) qualities of 2 x 3 x 3 x 10^6 rows."""
    lists = {"group": words("g", 2), "good": words("good", 3), "bad": words("bad", 3), "unread": words("u", 1000)}
    lists["unread_too"] = words("u", 1000)
    found = count(config_of(tmp_path, lists, _contrast(18 * 10**6), "{{ group }} are {{ quality }}."))

    assert (found.sentences, found.exact, found.distinct_tokens) == (12, True, 36)
    assert found.tokens == 2 * 3 * 18 * 10**6


def test_a_segment_that_reads_too_much_leaves_tokens_unknown(tmp_path: Path) -> None:
    """Rather than being evaluated for ever, or guessed at."""
    lists = {name: words(name, 1000) for name in ("group", "a", "b", "good", "bad")}
    frame = "{{ group }} {{ a if b == quality else b }}."
    found = count(config_of(tmp_path, lists, _contrast(10**15), frame))

    assert (found.tokens, found.distinct_tokens, found.exact) == (None, None, False)
    assert found.sentences == 2 * 10**12


# --- few rows -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sssb() -> dict[str, Config]:
    """The configs of the frozen release's recipe by name."""
    found = {config.name: config for config in open_recipe(FROZEN / "recipe", "sssb").configs}
    assert found.keys() == {*CONFIGS}
    return found


def _read(name: str) -> "pd.Series[str]":
    """Every sentence of every row of a config of the frozen release, by another library than the one that counts."""
    tables = [pd.read_parquet(path) for path in (FROZEN / name).glob("*.parquet")]
    return pd.Series([text for table in tables for role in ("stereo", "anti") for text in table[role]])


@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_exact_is_what_the_release_holds(sssb: dict[str, Config], name: str) -> None:
    """Distinct sentences and tokens of the frozen rows, counted by pandas."""
    rows, found = _read(name), count(sssb[name])
    distinct = rows.drop_duplicates()

    assert found.exact
    assert found.sentences == len(distinct)
    assert found.distinct_tokens == distinct.str.count(r"\S+").sum()
    assert found.tokens == rows.str.count(r"\S+").sum()


def test_sentences_of_the_other_kinds_are_counted_too() -> None:
    """Against the expanded rows: words recur across association tests, and their sentences with them."""
    catalogue = open_catalogue("association/bleached")
    config = catalogue.configs[0]
    rows = pd.concat(batch.to_pandas() for batch in catalogue.rows(config))["sentence"]
    found = count(config)

    assert (found.rows, found.sentences) == (len(rows), rows.nunique())
    assert found.tokens == rows.str.count(r"\S+").sum()
    assert found.sentences < found.rows


@pytest.mark.parametrize("name", CONFIGS)
def test_a_bound_is_one(sssb: dict[str, Config], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is not below what is counted where every sentence is made; nor twice as much, in data of ours."""
    config = sssb[name]
    exact = count(config)
    monkeypatch.setattr(counting, "MOST_SENTENCES", 0)
    assert count(config).tokens is None  # no segment may be made, not even to tell a bound
    monkeypatch.setattr(counting, "MOST_SENTENCES", 50)  # a list has no more words
    bound = count(config)

    assert bound.exact is (exact.sentences <= 50)
    assert exact.sentences <= bound.sentences <= 2 * exact.sentences
    for counted, most in ((exact.tokens, bound.tokens), (exact.distinct_tokens, bound.distinct_tokens)):
        assert counted is not None
        assert most is not None
        assert counted <= most <= 2 * counted


def test_sentences_that_come_out_alike_are_one(tmp_path: Path) -> None:
    """Two frames that print the same, and a word that both roles have: 2 groups x 3 words, not 2 x 4 x 2."""
    lists = {"group": words("g", 2), "good": ["odd", "kind"], "bad": ["odd", "rude"]}
    frames = ("{{ group }} are {{ quality }}.", "{{ group }} are {{ quality }}{{ '.' }}")
    found = count(config_of(tmp_path, lists, _contrast(16), *frames))

    assert (found.sentences, found.distinct_tokens, found.tokens) == (6, 18, 2 * 16 * 3)


def test_blanks_are_counted_as_python_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blanks, and a word without one before it, make no token of their own; the bound may count them."""
    lists = {"group": ["g"], "good": ["kind"], "bad": ["rude"]}
    config = config_of(
        tmp_path, lists, _contrast(1), "{{ group }}  are{{ ' ' }} {{ quality }}{{ quality if false else '' }}."
    )
    found = count(config)
    monkeypatch.setattr(counting, "MOST_SENTENCES", 1)
    bound = count(config)

    assert (found.tokens, found.exact) == (6, True)
    assert (bound.tokens, bound.exact) == (8, False)  # the blank that is printed and the one after it count twice


def test_a_tokenizer_is_asked_of_distinct_sentences_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, whatever the number of rows; and not at all where they are not made."""
    lists = {"group": words("g", 2), "good": words("good", 3), "bad": words("bad", 3), "unread": words("u", 9)}
    config = config_of(tmp_path, lists, _contrast(162), "{{ group }} are {{ quality }}.")
    asked: list[str] = []

    def letters(texts: object) -> int:
        assert isinstance(texts, list)
        asked.extend(texts)
        return sum(map(len, texts))

    found = count(config, letters)
    monkeypatch.setattr(counting, "MOST_SENTENCES", 11)

    # 2 x 3 sentences like "g0 are bad0." and 2 x 3 like "g0 are good0."
    assert sorted(asked) == sorted(f"g{g} are {q}{n}." for g in range(2) for q in ("bad", "good") for n in range(3))
    assert found.tokenizer_tokens == 6 * 12 + 6 * 13
    assert count(config, letters).tokenizer_tokens is None
    assert len(asked) == 12
