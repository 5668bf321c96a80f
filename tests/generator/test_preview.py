"""A preview shows rows as the engine makes them, in pieces that say where each word is from and what was guessed."""

import json
import random
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from senseprobe.api import open_catalogue
from senseprobe.generator.config import Config
from senseprobe.generator.dataset import ResolvedDataset, open_dataset
from senseprobe.generator.preview import Piece, PreviewRow, preview
from senseprobe.generator.word_lists import WordLists

CARD = """
title: Small
summary: Made for tests.
license: CC0-1.0
languages: [en]
citation: nobody
canary: "senseprobe:x:00000000-0000-0000-0000-000000000000"
content_warning: None.
intended_use: Tests.
out_of_scope: All else.
equivalence: {margin: 5, reason: a test}
configs: [x]
"""

COMMON = "bias_type: none\nconstruct: none\ndescription: none\nsource: nobody\ngeneralise: []\n"


def catalogue_of(place: Path, template: str, **lists: str) -> ResolvedDataset:
    """A dataset of one config `x`, whose lists are texts of CSV."""
    folder = place / "templates" / "x"
    folder.mkdir(parents=True)
    (place / "wordlists").mkdir()
    resources = []
    for name, text in lists.items():
        (place / "wordlists" / f"{name}.csv").write_text(text)
        schema = {"fields": [{"name": column} for column in text.split("\n", 1)[0].split(",")]}
        resources.append({"name": name, "path": f"{name}.csv", "sources": [], "licenses": [], "schema": schema})
    (place / "wordlists" / "datapackage.yaml").write_text(json.dumps({"resources": resources}))
    (folder / "dataset.yaml").write_text(CARD)
    (folder / "x.j2").write_text(f"---\n{COMMON}{template}")
    return open_dataset(folder, WordLists((place / "wordlists",)))


def shown(catalogue: ResolvedDataset, n: int = 100, seed: int = 0) -> list[PreviewRow]:
    """Rows of the only config."""
    return [*preview(catalogue, catalogue.configs[0], n, seed)]


def text(pieces: Sequence[Piece]) -> str:
    """The sentence."""
    return "".join(piece.text for piece in pieces)


# --- rows are those of the engine -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sssb/nationality", "sssb/noun", "sssb/race-groups", "association/unbleached"])
def test_rows_are_those_that_expansion_makes(name: str) -> None:
    """Ids and sentences, also where labels are swapped (noun) and where there are several blocks."""
    catalogue = open_catalogue(name)
    rows = [row for batch in catalogue.rows(catalogue.configs[0]) for row in batch.to_pylist()]
    found = shown(catalogue, 40)

    assert len(found) == 40
    for one in found:
        assert one.id == rows[one.row]["id"]
        assert {role: text(pieces) for role, pieces in one.sentences.items()} == {
            role: rows[one.row][role] for role in one.sentences
        }


def test_labels_are_swapped_in_a_preview_too() -> None:
    """Of noun, some stereotypes are of *he* and some of *she* (Zhou et al. 2022, section 4.3)."""
    first = {text(one.sentences["stereo"])[:3] for one in shown(open_catalogue("sssb/noun"), 100)}

    assert first == {"He ", "She"}


CONTRAST = """kind: contrast
slots:
  person: {list: people}
  good: {list: traits, where: {polarity: pleasant}}
  bad: {list: traits, where: {polarity: unpleasant}}
roles: {stereo: {quality: bad, end: {text: "!"}}, anti: {quality: good, end: {text: .}}}
target: person
sense: {type: none}
label_basis: trait
expect: {pairs: 8}
---
"""
PEOPLE = "word,plural\nhonest heir,\nman,men\n"
TRAITS = "word,polarity\nkind,pleasant\nopen,pleasant\nrude,unpleasant\nodd,unpleasant\n"


def test_pieces_say_where_they_come_from(tmp_path: Path) -> None:
    """Words of slots, by the slot and not by the binding; a word that a role always has, by the binding."""
    catalogue = catalogue_of(
        tmp_path, CONTRAST + "The {{ person }} is {{ quality }}{{ end }}\n", people=PEOPLE, traits=TRAITS
    )
    first = shown(catalogue)[0]

    assert [(piece.text, piece.slot) for piece in first.sentences["stereo"]] == [
        ("The ", None),
        ("honest heir", "person"),
        (" is ", None),
        ("rude", "bad"),
        ("!", "end"),
    ]
    assert first.sentences["anti"][3:] == (Piece("kind", "good", guessed=False), Piece(".", "end", guessed=False))
    assert all(not piece.guessed for piece in first.sentences["stereo"])


def test_guesses_are_marked_every_time(tmp_path: Path) -> None:
    """An article and a plural that no list states, in each row anew; *men* is stated, and its article is not."""
    frames = "{{ person | a | upfirst }} is {{ quality }}.\nMost {{ person | plural }} are {{ quality }}.\n"
    template = (
        CONTRAST.replace("pairs: 8", "pairs: 16").replace(', end: {text: "!"}', "").replace(", end: {text: .}", "")
    )
    catalogue = catalogue_of(tmp_path, template + frames, people=PEOPLE, traits=TRAITS)
    rows = shown(catalogue)

    assert len(rows) == 16
    for number, row in enumerate(rows):
        for pieces in row.sentences.values():
            marked = [piece.text for piece in pieces if piece.guessed]
            assert marked == [["An "], ["A "], ["honest heirs"], []][number // 4]


def test_what_was_guessed_before_is_still_known(tmp_path: Path) -> None:
    """A preview forgets no guess, since a release writes them down."""
    template = CONTRAST.replace(', end: {text: "!"}', "").replace(", end: {text: .}", "")
    frame = "{{ person | a | upfirst }} is {{ quality }}.\n"
    catalogue = catalogue_of(tmp_path, template + frame, people=PEOPLE, traits=TRAITS)
    shown(catalogue)

    assert catalogue.english.guesses == {("a", "honest heir"): "an", ("a", "man"): "a"}


def test_an_inference_row_has_premise_and_hypothesis(tmp_path: Path) -> None:
    """With a verb form that was guessed (bought) and one that is stated (hung)."""
    template = """kind: inference
slots: {deed: {list: deeds}, job: {list: jobs}, person: {list: people}}
roles: {premise: {subject: job}, hypothesis: {subject: person}}
target: subject
gold: neutral
expect: {pairs: 4}
---
The {{ subject }} {{ deed | past }} a lamp.
"""
    lists = {"deeds": "word,past\nbuy,\nhang,hung\n", "jobs": "word\nbaker\n", "people": PEOPLE}
    rows = shown(catalogue_of(tmp_path, template, **lists))

    assert [text(row.sentences["premise"]) for row in rows] == ["The baker bought a lamp."] * 2 + [
        "The baker hung a lamp."
    ] * 2
    assert [(piece.text, piece.slot, piece.guessed) for piece in rows[1].sentences["hypothesis"]] == [
        ("The ", None, False),
        ("man", "person", False),
        (" ", None, False),
        ("bought", "deed", True),
        (" a lamp.", None, False),
    ]
    assert not any(piece.guessed for piece in rows[3].sentences["hypothesis"])


# --- the sample -----------------------------------------------------------------------------------------------------


def _large(place: Path, slots: int) -> ResolvedDataset:
    words = "word\n" + "\n".join(f"w{number}" for number in range(1000)) + "\n"
    names = [f"s{number}" for number in range(slots)]
    template = f"""kind: inference
slots: {{{", ".join(f"{name}: {{list: words}}" for name in names)}}}
roles: {{premise: {{subject: s0}}, hypothesis: {{subject: s1}}}}
target: subject
gold: neutral
expect: {{pairs: {1000**slots}}}
---
The {{{{ subject }}}}{"".join(f" {{{{ {name} }}}}" for name in names[2:])}.
"""
    return catalogue_of(place, template, words=words)


@pytest.mark.parametrize("slots", [4, 7])  # 10^12, and 10^21, which is more than 2^63
def test_a_huge_product_is_sampled_without_expanding(tmp_path: Path, slots: int) -> None:
    """A row's words are the digits of its number to the base of 1000."""
    catalogue = _large(tmp_path, slots)
    tracemalloc.start()
    rows = shown(catalogue, 20, seed=7)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len({row.row for row in rows}) == 20
    assert max(row.row for row in rows) > 1000**slots / 2
    for row in rows:
        digits = [row.row // 1000**place % 1000 for place in reversed(range(slots))]
        assert row.id.split(".")[2:] == [f"w{digit}" for digit in digits]
        others = "".join(f" w{digit}" for digit in digits[2:])
        assert text(row.sentences["premise"]) == f"The w{digits[0]}{others}."
        assert text(row.sentences["hypothesis"]) == f"The w{digits[1]}{others}."
    assert peak < 20e6


def test_a_seed_draws_the_same_rows_and_another_seed_others() -> None:
    """As Python's own generator draws them, in order of their numbers."""
    catalogue = open_catalogue("sssb/race")
    config: Config = catalogue.configs[0]
    drawn = [row.row for row in preview(catalogue, config, 9, 3)]

    assert drawn == sorted(random.Random(3).sample(range(108), 9))  # noqa: S311 - rows, no secret
    assert drawn == [row.row for row in preview(catalogue, config, 9, 3)]
    assert drawn != [row.row for row in preview(catalogue, config, 9, 4)]


@pytest.mark.parametrize("n", [108, 109, 10**9])
def test_a_sample_as_large_as_the_config_is_all_of_it(n: int) -> None:
    """Zhou et al. 2022, Table 1: 108 pairs."""
    assert [row.row for row in shown(open_catalogue("sssb/race"), n)] == [*range(108)]
