"""Whether a model is fit to be asked: what its tokenizer makes of the rows, counted by hand on known vocabularies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.conformance import causal_models, inference_models, masked_models
from tests.tiny_release import write_release

from senseprobe import api
from senseprobe.evaluate import fitness, models
from senseprobe.evaluate.fitness import FirstToken, Fitness
from senseprobe.evaluate.scorers import counterpart, get
from senseprobe.records import Design

if TYPE_CHECKING:
    from transformers import BertTokenizer

DESIGN = Design(kind="contrast", sense_type="noun", bias_type="gender", slots=(), roles={}, factors=())
PROBES = replace(DESIGN, kind="inference")


def pairs(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    """A table of labelled pairs with their numbers."""
    table = pd.DataFrame(rows, columns=["stereo", "anti", "stereo_score", "anti_score"])
    return table.assign(contested=False, label_basis="both")


def read_by(tokenizer: Any, table: pd.DataFrame, scorer: str = "pll", **more: Any) -> Fitness:  # noqa: ANN401
    """What is counted for a model with such a tokenizer."""
    from senseprobe.evaluate.models.base import TextTokens

    model: Any = SimpleNamespace(tokens=TextTokens(tokenizer), **more)
    design = PROBES if "premise" in table else DESIGN
    return fitness.count_fitness({"c": table}, {"c": design}, get(scorer), model)["c"]


def counts(found: Fitness) -> tuple[int | None, ...]:
    """Rows, unknown, same tokens, unequal counts, ties, explained."""
    return (found.rows, found.unknown, found.same_tokens, found.unequal_counts, found.ties, found.explained)


# --- known vocabularies -------------------------------------------------------------------------------------------


NURSES = pairs(
    ("she is a nurse.", "he is a nurse.", -1.0, -2.0),
    ("Ivo is a nurse.", "Ana is a nurse.", -1.0, -1.0),  # both names are unknown: the same tokens, and so a tie
    ("she is kind.", "she is a nurse.", -1.0, -2.0),  # kind is unknown; three tokens and a full stop against four
    ("she is a nurse.", "he is a nurse.", -3.0, -3.0),  # a tie of other tokens
    ("Ivo is a nurse.", "Ana is a nurse.", math.nan, -1.0),  # without a number: no tie
    ("Ivo and she.", "Ivo and he.", -1.0, -1.0),  # what is unknown is in both, and does not make the tie
)


def wordpiece(*words: str) -> "BertTokenizer":
    """A WordPiece tokenizer that knows these words and no other."""
    from transformers import BertTokenizer

    known = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words)
    return BertTokenizer(vocab={word: number for number, word in enumerate(known)})


def test_words_that_a_wordpiece_vocabulary_does_not_have() -> None:
    """By hand, from the comments above: unknown in rows 2, 3, 5, 6; the same in 2, 5; unequal in 3; ties 2, 4, 6."""
    found = read_by(wordpiece("she", "he", "is", "a", "nurse", "and", "."), NURSES)
    assert counts(found) == (6, 4, 2, 1, 3, 1)
    assert found.first_token is None


def test_byte_level_tokens_know_every_word() -> None:
    """By hand: of these names no bytes are joined, three each; Ж is two bytes in UTF-8, 日 three."""
    table = pairs(("Ж is", "日 is", -1.0, -1.0), ("Ivo", "Uvo", -1.0, -2.0))
    found = read_by(causal_models.byte_level(), table)
    assert counts(found) == (2, 0, 0, 1, 1, 0)


def test_words_that_a_unigram_vocabulary_does_not_have() -> None:
    """ALBERT's kind: what is not in the vocabulary is <unk>, whichever of two scripts it is in."""
    tokenizer = masked_models.unigram()
    table = pairs(("Ж is kind.", "日本 is kind.", -1.0, -1.0), ("she is kind.", "he is kind.", -1.0, -1.0))
    for text in ("Ж is kind.", "日本 is kind."):
        pieces = tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])
        assert pieces.count("<unk>") == 1, "by the tokenizer's own pieces"
    found = read_by(tokenizer, table)
    assert (found.unknown, found.same_tokens, found.ties, found.explained) == (1, 1, 2, 1)


def test_probes_of_inference_are_counted_for_unknown_words_alone() -> None:
    """A premise and a hypothesis are no two sentences to be told apart: by hand, rows 2 and 3 hold Ivo."""
    table = pd.DataFrame(
        {"premise": ["she is a nurse.", "Ivo is a nurse.", "she."], "hypothesis": ["he.", "he.", "Ivo is a nurse."]}
    )
    found = read_by(wordpiece("she", "he", "is", "a", "nurse", "."), table, "nli")
    assert found == Fitness(rows=3, unknown=2)
    assert found.as_dict() == {"rows": 3, "unknown": 2}


def test_a_third_sentence_that_is_scored_counts() -> None:
    """StereoSet's unrelated sentence is asked for like the other two."""
    table = pairs(("she is a nurse.", "he is a nurse.", -1.0, -2.0)).assign(unrelated="Ivo.")
    tokenizer = wordpiece("she", "he", "is", "a", "nurse", ".")
    assert read_by(tokenizer, table).unknown == 0
    assert read_by(tokenizer, table.assign(unrelated_score=-3.0)).unknown == 1


def test_many_rows_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is cut into tokens at once, the counts are the same; of no rows, too."""
    tokenizer = wordpiece("she", "he", "is", "a", "nurse", "and", ".")
    whole = read_by(tokenizer, NURSES)
    monkeypatch.setattr(fitness, "_WINDOW", 2)
    assert read_by(tokenizer, NURSES) == whole
    assert counts(read_by(tokenizer, NURSES.head(0))) == (0, 0, 0, 0, 0, 0)


def test_a_model_of_a_plug_in_is_not_counted() -> None:
    """What a plug-in calls `tokens` is none of ours."""
    model: Any = SimpleNamespace(tokens=["she"])
    assert fitness.count_fitness({"c": NURSES}, {"c": DESIGN}, get("pll"), model) == {}
    assert fitness.count_fitness({"c": NURSES}, {"c": DESIGN}, get("pll"), SimpleNamespace()) == {}


# --- the first token ----------------------------------------------------------------------------------------------


STARTS = pairs(
    ("she is a nurse", "he is a nurse", -1.0, -2.0),
    ("he is a nurse", "she is a nurse", -1.0, -2.0),
    ("she is kind", "he is kind", -1.0, -1.0),
    ("a nurse is kind", "a nurse is cruel", -1.0, -9.0),  # the first token is the same
    ("a nurse", "she", math.nan, -1.0),  # without a number
)


@pytest.mark.parametrize(("scorer", "before"), [("ll", "<s>"), ("ll-no-start", "")])
def test_pairs_that_differ_in_the_first_token(scorer: str, before: str) -> None:
    """By hand: rows 1, 2, 3 and 5; of the three with numbers two prefer the stereotype, and one is half: 5 in 6."""
    named = {"bos_token": "<s>"}
    tokenizer = causal_models.sentence_piece("<s> $A", bytes_for_unknown=True, **named)
    found = read_by(tokenizer, STARTS, scorer, start=(tokenizer.get_vocab()["<s>"],)).first_token
    assert found is not None
    assert (found.rows, found.before) == (4, before)
    assert found.preference == pytest.approx(100 * 5 / 6 - 50, abs=1e-9)


def test_without_labels_there_is_no_preference() -> None:
    """Rows are counted all the same."""
    found = read_by(causal_models.byte_level(), STARTS.assign(label_basis="none"), "ll-no-start").first_token
    assert found == FirstToken(rows=4, before="", preference=None)


@pytest.mark.parametrize(("scorer", "other"), [("ll", "ll-no-start"), ("ll-byte-no-start", "ll-byte"), ("aul", "")])
def test_scorers_with_and_without_a_start_token_go_together(scorer: str, other: str) -> None:
    """Each names the one that it is to be read beside."""
    assert counterpart(scorer) == other


# --- from a release to a result -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A causal model with a start token and a masked one."""
    import torch

    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(causal_models, "MODELS", {"llama": causal_models.MODELS["llama"]})
        patch.setattr(masked_models, "MODELS", {"bert": masked_models.MODELS["bert"]})
        return {**causal_models.build(place / "causal"), **masked_models.build(place / "masked")}


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """He and she of an engineer and of a nurse, in the current folder."""
    monkeypatch.chdir(tmp_path)
    write_release(tmp_path)
    return "tiny@1.0.0"


def own_tokens(folder: Path, texts: Sequence[str]) -> list[list[str]]:
    """Pieces by transformers itself."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return [tokenizer.tokenize(text) for text in texts]


def test_every_result_has_it(release: str, folders: Mapping[str, Path]) -> None:
    """A masked model, scored and from the store: counts are those of the tokenizer's own pieces."""
    for stored in (False, True, True):
        (result,) = api.score(str(folders["bert"]), release, ["aul"], store=stored)
        rows = api.load(release).table("job")
        sides = [own_tokens(folders["bert"], rows[role].tolist()) for role in ("stereo", "anti")]
        found = result.fitness["job"]
        assert found.rows == 2
        assert found.unknown == sum("[UNK]" in (*a, *b) for a, b in zip(*sides, strict=True))
        assert found.unequal_counts == sum(len(a) != len(b) for a, b in zip(*sides, strict=True))
        assert found.same_tokens == 0


def test_a_causal_model_and_its_first_tokens(release: str, folders: Mapping[str, Path]) -> None:
    """Both pairs begin with He and She; the start token that the tokenizer puts is told by its text."""
    with_start, without = api.score(str(folders["llama"]), release, ["ll", "ll-no-start"])
    rows = api.load(release).table("job")
    sides = [own_tokens(folders["llama"], rows[role].tolist()) for role in ("stereo", "anti")]
    differ = sum(a[0] != b[0] for a, b in zip(*sides, strict=True))
    assert [each.fitness["job"].first_token for each in (with_start, without)] == [
        FirstToken(rows=differ, before="<s>"),  # the rows of this release have no label
        FirstToken(rows=differ, before=""),
    ]


def test_a_model_of_inference(folders: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> None:
    """The real classes of models each have the tokens of texts."""
    place = tmp_path_factory.mktemp("inference")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inference_models, "MODELS", {"bert": inference_models.MODELS["bert"]})
        made = inference_models.build(place)["bert"]
    table = pd.DataFrame({"premise": ["日本"], "hypothesis": ["people are kind."]})
    model = models.load(str(made), ability="inference", device="cpu")
    assert fitness.count_fitness({"c": table}, {"c": PROBES}, get("nli"), model) == {"c": Fitness(rows=1, unknown=1)}


# --- what is told -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unknown", "told"), [(0, ""), (20, ""), (21, "21 % of its rows hold words that the tokenizer does not know")]
)
def test_more_than_a_fifth_is_too_much(unknown: int, told: str) -> None:
    """A fifth itself is not more than a fifth."""
    assert fitness.unreadable(Fitness(rows=100, unknown=unknown)) == told


def test_what_was_not_counted_is_not_held_against_a_model() -> None:
    """No rows, and results of models of plug-ins."""
    assert fitness.unreadable(Fitness(rows=0, unknown=0)) == fitness.unreadable(None) == ""


def test_a_line_for_each_config() -> None:
    """Each count that is not 0, in a clause, and nothing that steers a terminal."""
    found = Fitness(
        rows=1200,
        unknown=30,
        same_tokens=1,
        unequal_counts=400,
        ties=5,
        explained=1,
        first_token=FirstToken(rows=7, before="<s>"),
    )
    told = (
        "30 of 1,200 rows with words that the tokenizer does not know; 1 pair with identical tokens; "
        "400 pairs with unequal numbers of tokens; 1 of 5 ties because both sentences have the same tokens; "
        "7 pairs with different first tokens, with only <s> before them"
    )
    assert [*fitness.fitness_lines({"race": found, "x\x1b[2J": found})] == [f"race: {told}", f"'x\\x1b[2J': {told}"]
    alone = Fitness(rows=3, unknown=0, first_token=FirstToken(rows=1, before=""))
    assert [*fitness.fitness_lines({"race": alone})] == [
        "race: 1 pair with different first tokens, whose probabilities are not counted"
    ]


def test_nothing_is_told_where_all_is_read_as_it_is() -> None:
    """A tie that no tokens explain is a figure's to tell."""
    nothing = Fitness(rows=3, unknown=0, same_tokens=0, unequal_counts=0, ties=2, explained=0)
    assert [*fitness.fitness_lines({"a": nothing})] == []
    other = replace(nothing, first_token=FirstToken(rows=0, before="<s>"))
    assert [*fitness.fitness_lines({"a": other})] == []


@pytest.mark.parametrize(
    "odd",
    [
        {"rows": 1, "unknown": 2},
        {"rows": 1, "unknown": 0, "same_tokens": 2},
        {"rows": 5, "unknown": 0, "ties": 1, "explained": 2},
        {"rows": 5, "unknown": 0, "explained": 1},
        {"rows": 1, "unknown": 0, "first_token": FirstToken(rows=2, before="")},
    ],
)
def test_counts_that_cannot_be(odd: dict[str, Any]) -> None:
    """More than there is."""
    with pytest.raises(ValueError, match="more is counted than there is"):
        Fitness(**odd)
