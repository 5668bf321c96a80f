"""`senseprobe words show` with an embedding: direction, nearest senses, pages; and what it refuses."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import nltk.data
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.lexicon.test_lexicon import TINY, Synset, write_wordnet
from tests.profiles import examples

from senseprobe.api import show_senses
from senseprobe.document import render_html
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.reporting.word_senses import PlacedSense, WordSenses
from senseprobe.evaluate.senses.placement import find_nearest, locate_senses
from senseprobe.lexicon import SenseEntry, prepare

MAN, WOMAN, NURSE, NURSING = "man%1:18:00::", "woman%1:18:00::", "nurse%1:18:00::", "nurse%2:29:00::"
VECTORS = {MAN: [2.0, 0.0], WOMAN: [0.0, 1.0], NURSE: [0.0, 3.0], NURSING: [1.0, 1.0], "zero%1:18:00::": [0.0, 0.0]}
PAIRS = [(MAN, WOMAN)]


class Planted:
    """An embedding of a few senses, read two at a time."""

    name = "planted"

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self.table = {key: np.array(vector) for key, vector in vectors.items()}

    def vectors(self, keys: Sequence[str]) -> np.ndarray:
        """As of `SenseFile`."""
        return np.array([self.table.get(key, np.full(2, np.nan)) for key in keys])

    def senses(self, word: str) -> tuple[str, ...]:
        """As of `SenseFile`; nobody asks."""
        return ()

    def refuses(self, word_class: str) -> str:
        """As of `SenseFile`."""
        return word_class[:0]

    def blocks(self) -> Iterator[tuple[Sequence[str], np.ndarray]]:
        """As of `SenseFile`."""
        keys = [*self.table]
        for start in range(0, len(keys), 2):
            yield keys[start : start + 2], self.vectors(keys[start : start + 2])


def entry(key: str, gloss: str = "a sense") -> SenseEntry:
    """An entry of WordNet."""
    return SenseEntry(key, "noun", "noun.person", gloss, ("nurse",))


def place(model: Planted, keys: Sequence[str], count: int) -> WordSenses:
    """The senses of nurse in an embedding."""
    shown = WordSenses(word="nurse", senses=tuple(PlacedSense(entry(key)) for key in keys))
    return locate_senses(shown, model, model.blocks(), PAIRS, count)


def placed(count: int = 2) -> WordSenses:
    """The two senses of nurse, and one that the embedding lacks."""
    return place(Planted(VECTORS), [NURSE, NURSING, "nurse%1:18:99::"], count)


def test_cosines_are_those_by_hand() -> None:
    """The direction is (2, 0) - (0, 1) = (2, -1), of length √5: nurse (0, 1) has -1/√5, nursing (1, 1)/√2 has 1/√10."""
    shown = placed()
    assert [sense.gender for sense in shown.senses] == [
        pytest.approx(-1 / 5**0.5),
        pytest.approx(1 / 10**0.5),
        None,
    ]
    assert [round(cosine, 6) for _, _, cosine in shown.check] == [round(2 / 5**0.5, 6), round(-1 / 5**0.5, 6)]
    assert shown.on_their_side == 2
    # Woman is parallel to nurse; man and nurse have the cosine √½ with nursing, as woman has: the first keys count.
    assert [key for key, _ in shown.senses[0].nearest] == [WOMAN, NURSING]
    assert [cosine for _, cosine in shown.senses[0].nearest] == pytest.approx([1.0, 0.5**0.5])
    assert [key for key, _ in shown.senses[1].nearest] == [MAN, NURSE]
    assert any("planted lacks nurse%1:18:99::" in text for text in shown.sections("brief")[0].paragraphs)


def test_nearest_senses_are_those_of_a_plain_sort() -> None:
    """Of three hundred random vectors in blocks of two, against all cosines sorted."""
    generator = np.random.default_rng(3)
    keys = [f"word{number}" for number in range(300)]
    model = Planted(dict(zip(keys, generator.normal(size=(300, 2)), strict=True)))
    unit = model.vectors(keys) / np.linalg.norm(model.vectors(keys), axis=1, keepdims=True)
    for own, row, near in zip(keys, unit @ unit.T, find_nearest(model.blocks(), keys, unit, 7), strict=True):
        others = sorted((-cosine, key) for key, cosine in zip(keys, row, strict=True) if key != own)
        assert [key for key, _ in near] == [key for _, key in others[:7]]


def test_what_has_no_direction_says_why() -> None:
    """A pair without a vector is named, and senses are shown without their cosines."""
    shown = place(Planted({NURSE: [1, 2], MAN: [1, 0]}), [NURSE], 0)
    assert shown.senses[0].gender is None
    assert f"No direction of gender: planted lacks {WOMAN}." in shown.sections("brief")[0].paragraphs
    fewer = [*PAIRS, ("boy%1:18:00::", "girl%1:18:00::")]
    model, senses = Planted(VECTORS), tuple(map(PlacedSense, [entry(NURSE)]))
    shown = locate_senses(WordSenses(word="nurse", senses=senses), model, model.blocks(), fewer, 0)
    assert shown.senses[0].gender == pytest.approx(-1 / 5**0.5)
    text = "The direction is of fewer pairs: planted lacks boy%1:18:00::, girl%1:18:00::."
    assert text in shown.sections("brief")[0].paragraphs
    with pytest.raises(SenseprobeError, match="planted has none of the 1 sense of 'nurse' in WordNet"):
        place(Planted(VECTORS), ["x%1:18:00::"], 0)
    with pytest.raises(SenseprobeError, match="101 nearest senses: from 0 to 100"):
        placed(101)


def test_pages_escape_and_repeat() -> None:
    """What a lexicon or a file says is text; the same senses give the same bytes, and a plot."""
    hostile = WordSenses(word="<b>x", senses=(PlacedSense(entry(NURSE, "<script>1</script>")),), embedding="<i>e")
    html = render_html(hostile.page())
    assert "<script>1" not in html
    assert "<b>x" not in html
    assert "<i>e" not in html
    page = render_html(placed().page())
    assert page == render_html(placed().page())
    assert "-0.447" in page
    assert "The number is the cosine with the direction of gender" in page
    assert "2 of the 2 senses" in page
    json.dumps(placed().as_dict(), allow_nan=False)


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A WordNet of one word."""
    folder = tmp_path_factory.mktemp("wordnet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nltk.data, "path", [])
        synsets: list[Synset] = [("noun", 18, "n", (("nurse", 0),), None, "one skilled in caring"), *TINY]
        return prepare(folder / "data", debian=write_wordnet(folder / "wordnet", synsets)).folder


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(word=st.text(max_size=30))
def test_any_word_is_shown_or_refused_in_one_message(wordnet: Path, word: str) -> None:
    """No text, whatever its letters, ends in another error than ours."""
    known = word.strip().lower() in {"nurse", "nurses"}
    with nullcontext() if known else pytest.raises(SenseprobeError, match="does not contain"):
        assert [sense.entry.key for sense in show_senses(word, folder=wordnet).senses] == [NURSE]


def test_a_page_is_no_result(wordnet: Path, tmp_path: Path) -> None:
    """A page is not written over a result; without an embedding it has the senses alone."""
    with pytest.raises(SenseprobeError, match=r"ends in \.html or \.md"):
        show_senses("nurse", out=tmp_path / "x.json", folder=wordnet)
    show_senses("nurse", out=tmp_path / "x.html", folder=wordnet)
    assert "one skilled in caring" in (tmp_path / "x.html").read_text()
