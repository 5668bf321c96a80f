"""Tables that are no release yet: the rows of a release, given as a table, have the figures of that release."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import senseprobe
from senseprobe import SenseprobeError
from senseprobe.importers.draft import draft_of

PAIRS = pd.DataFrame(
    {"stereo": ["He is a nurse.", "He is an engineer."], "anti": ["She is a nurse.", "She is an engineer."]}
)


@pytest.fixture(scope="module")
def inference_model(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of inference with random weights, and its classes in its config."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    folder = tmp_path_factory.mktemp("inference")
    tokenizer = AutoTokenizer.from_pretrained(tiny_models["bert"])
    labels = dict(enumerate(("entailment", "neutral", "contradiction")))
    sizes = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}
    config = BertConfig(vocab_size=len(tokenizer), id2label=labels, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def score(model: Path, table: Any, **how: Any) -> tuple[senseprobe.Result, list[str]]:  # noqa: ANN401 - a release or a table
    """Return the only result, and what was said."""
    said: list[str] = []
    (result,) = senseprobe.score(str(model), table, store=False, control=False, say=said.append, **how)
    return result, said


def figures(result: senseprobe.Result) -> dict[tuple[str, str | None], tuple[Any, ...]]:
    """What a figure says, by estimand and group."""
    return {(f.estimand, f.group): (f.value, f.low, f.high, f.neutral, f.p_holm, f.scored) for f in result.figures}


@pytest.mark.parametrize(
    ("config", "factors"),
    [
        ("noun-bare", ["occupation", "frame"]),
        ("noun", ["occupation", "quality"]),
        ("language", ["nation", "good", "bad"]),
    ],
)
def test_rows_of_a_release_have_its_figures(tiny_models: dict[str, Path], config: str, factors: list[str]) -> None:
    """Expected are the figures of the release, whose design was declared and not read off its columns."""
    release = senseprobe.load("sssb@1.0.1")
    frozen, _ = score(tiny_models["bert"], release, config=config)
    draft, said = score(tiny_models["bert"], senseprobe.draft(release.to_pandas(config), factors=factors))

    assert figures(draft) == figures(frozen)
    assert draft.rows_of("rows")["stereo_score"].equals(frozen.rows_of(config)["stereo_score"])
    assert "|release=not a release|content=" in draft.signature
    assert draft.signature.count(str(draft.release["content"])[:12]) == 1
    assert "left out: lms, ss, icat, which would need a column `unrelated`" in said


def test_three_libraries_make_one_draft(tiny_models: dict[str, Path]) -> None:
    """The hash of the rows is that of their contents; other rows have another one."""
    from datasets import Dataset

    tables = [PAIRS, pa.Table.from_pandas(PAIRS), Dataset.from_pandas(PAIRS)]
    signatures = {score(tiny_models["bert"], table)[0].signature for table in tables}
    other, _ = score(tiny_models["bert"], PAIRS.iloc[::-1])
    score(tiny_models["bert"], PAIRS.assign(line="1", source="a", difference="b"))  # any names of other columns

    assert len(signatures) == 1
    assert signatures.isdisjoint({other.signature})


def test_figures_that_need_more_columns_are_left_out_by_name(tiny_models: dict[str, Path]) -> None:
    """With a class for each occupation, the figures of pronouns appear."""
    bare, said = score(tiny_models["bert"], PAIRS)
    classed = PAIRS.assign(target=["nurse", "engineer"], stereotype=["female", "male"])
    full, _ = score(tiny_models["bert"], classed)

    assert {figure.estimand for figure in bare.figures} == {"preference", "preference-half"}
    assert any(text.startswith("left out: pronoun-stereotype, pronoun-baseline, which would need") for text in said)
    assert {figure.estimand for figure in full.figures} >= {"pronoun-stereotype", "pronoun-baseline"}


def test_pairs_of_premise_and_hypothesis(inference_model: Path) -> None:
    """Rows whose right answer is neutral have the rates of that; others their accuracy, counted from scores."""
    pairs = pd.DataFrame({"premise": ["A man slept.", "A man ran."], "hypothesis": ["A woman slept.", "A man moved."]})
    probes, said = score(inference_model, pairs)
    golden, _ = score(inference_model, senseprobe.draft(pairs.assign(gold=["neutral", "entailment"]), factors=["gold"]))
    numbers = golden.rows_of("rows")[["entailment", "neutral", "contradiction"]].to_numpy()
    right = [numbers[0].argmax() == 1, numbers[1].argmax() == 0]

    assert {figure.estimand for figure in probes.figures} == {"nn", "fn", "t@0.5", "t@0.7"}
    assert "left out: accuracy, which would need correct answers in a column `gold`" in said
    assert golden.figures[0].value == 50 * sum(right)


@pytest.mark.parametrize("factors", [[], ["job"]])
def test_the_gap_of_rows_that_name_gender_and_pair(inference_model: Path, factors: list[str]) -> None:
    """By hand: the mean over pairs of the entailment of the man's sentence less that of the woman's."""
    jobs = ("baker", "pilot", "clerk")
    table = pd.DataFrame(
        [(f"The {job} slept.", f"A {word} slept.", word, f"{job}-1", job) for job in jobs for word in ("man", "woman")],
        columns=["premise", "hypothesis", "gender", "pair", "job"],
    ).assign(gender=["male", "female"] * 3)
    result, _ = score(inference_model, senseprobe.draft(table, factors=factors))
    entailment = result.rows_of("rows")["entailment"]

    expected = 100 * (entailment[::2].to_numpy() - entailment[1::2].to_numpy()).mean()
    assert figures(result)["gap", None][0] == pytest.approx(expected, abs=1e-8)
    assert draft_of(table.assign(gender="F")).left_out["gap"].startswith("such rows, and the columns `gender`")


def test_report_and_files_of_a_draft(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """A result of a draft is written and read, and its report says what it is of."""
    result, _ = score(tiny_models["bert"], PAIRS, out=tmp_path)
    (path,) = tmp_path.rglob("*.json")
    page = senseprobe.report(path, tmp_path / "page.md").read_text(encoding="utf-8")

    assert senseprobe.load_result(path).signature == result.signature
    assert page.splitlines()[0].endswith(" on not a release")
    assert "The rows are a draft, not a release" in page
    assert str(result.release["content"])[:12] in page


@pytest.mark.parametrize(
    ("table", "factors", "message"),
    [
        (pd.DataFrame({"sentence": ["a"]}), (), "the table has the columns sentence: expected stereo and anti"),
        (PAIRS.iloc[:0], (), "the table is empty"),
        (PAIRS.assign(anti="  "), (), r"column 'anti' .* rows 0, 1 \(from 0\)"),
        (PAIRS, ["target"], "unknown column 'target' for a factor; columns: anti, stereo"),
        (PAIRS.assign(id=["a", "a"]), (), "the column `id` has the same value twice"),
        (PAIRS.assign(contested="x"), (), "a column has a type that releases do not allow"),
        ("sssb@1.0.1", ["nation"], "factors are only for a table"),
    ],
)
def test_what_cannot_be_a_draft(table: Any, factors: Any, message: str) -> None:  # noqa: ANN401 - what a user may pass
    """One message each, before a model is loaded."""
    with pytest.raises(SenseprobeError, match=message):
        senseprobe.score("no-such-model", senseprobe.draft(table, factors=factors))


# --- association tests ------------------------------------------------------------------------------------------------

# Two words a set; the word once, as a plural, not there, and twice in its sentence.
MEMBERS = pd.DataFrame(
    [
        ("toy", "X", "rose", "This is a rose."),
        ("toy", "X", "rose", "Roses are here."),
        ("toy", "X", "lily", "No flower at all."),
        ("toy", "Y", "ant", "An ant is an ant."),
        ("toy", "A", "joy", "Joy!"),
        ("toy", "B", "grief", "It is \U0001f641 grief."),
    ],
    columns=["test", "role", "word", "sentence"],
)


def test_words_in_sentences_are_an_association_test() -> None:
    """Spans by hand, in code points: 10 to 14, 0 to 5, none, none of two, 0 to 3, 8 to 13."""
    draft = draft_of(MEMBERS)
    rows = draft.rows.to_pylist()
    design = draft.designs["rows"]

    spans = [(10, 14), (0, 5), None, None, (0, 3), (8, 13)]
    assert [row["span"] and (row["span"]["start"], row["span"]["end"]) for row in rows] == spans
    assert [row["word"] for row in rows] == list(MEMBERS["word"])
    assert (design.kind, design.estimands, design.factors[0].columns) == ("association", ("weat",), ("word",))
    assert draft.left_out == {}


def test_identity_and_class_of_words_stay() -> None:
    """The one is a column of the table's own, the other one of the kind; places are those that are stated."""
    table = MEMBERS.assign(identity="age", word_class="thing", span_start=pd.Series({3: 12}), span_end=15)
    draft = draft_of(table)

    assert draft.designs["rows"].columns == (("identity", "string"),)
    assert draft.rows.column_names == [
        *("id", "frame", "test", "role", "word", "word_class", "sentence", "span", "identity")
    ]
    assert draft.rows["span"][3].as_py() == {"start": 12, "end": 15}
    assert draft.rows["identity"][0].as_py() == "age"


def test_rows_of_a_release_keep_their_spans() -> None:
    """Also of the word that is twice in its sentence, in the mapping that a release has."""
    table = senseprobe.load("association@1.0.1").to_pandas("unbleached")
    assert draft_of(table).rows["span"].to_pylist() == list(table["span"])


def test_words_alone_and_sentences_alone() -> None:
    """What the one lacks is null, and what cannot be asked for is said; so is the other way round."""
    words = draft_of(MEMBERS.drop(columns="sentence").drop_duplicates("word"))
    sentences = draft_of(MEMBERS.drop(columns="word"))

    assert words.rows["word"].to_pylist() == ["rose", "lily", "ant", "joy", "grief"]
    assert words.rows["sentence"].null_count == words.rows["span"].null_count == 5
    assert {*words.left_out} == {"level sent", "level cword"}
    assert sentences.rows["word"].null_count == 6
    assert sentences.designs["rows"].factors[0].columns == ("sentence",)
    assert {*sentences.left_out} == {"level word", "level cword"}


def test_what_is_said_of_levels() -> None:
    """At the line that calls; nothing where the level is named, or where vectors of the reader's own have one."""
    words = MEMBERS.drop(columns="sentence").drop_duplicates("word")
    own = {word: [1.0, number] for number, word in enumerate(words["word"])}
    assert len(senseprobe.score(own, words)) == 1  # a warning would be an error
    missing = pytest.raises(SenseprobeError, match="no file of vectors")
    with (
        pytest.warns(UserWarning, match="level sent, level cword, which would need a column `sentence`") as told,
        missing,
    ):
        senseprobe.score("vectors:nothing", words)
    assert [(warning.filename, len(told)) for warning in told] == [(__file__, 1)]
    with pytest.raises(SenseprobeError, match="no file of vectors"):
        senseprobe.score("vectors:nothing", words, level="word")


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("role", "targets", "row 3 (from 0) has the role 'targets'"),
        ("role", "X", "test 'toy' lacks rows of Y: it needs X, Y, A and B"),
        ("test", " ", "row 3 (from 0) lacks a test"),
        ("test", "other", "test 'toy' lacks rows of Y"),
        ("span_end", "99", "row 3 (from 0): span 3 to 99 is invalid"),
        ("span_end", "three", "row 3 (from 0): span 3 to three"),
        ("span_end", "3", "row 3 (from 0): span 3 to 3"),
        ("sentence", " An ant.", "row 3 (from 0): span 3 to 6"),
    ],
)
def test_rows_that_make_no_test(column: str, cell: str, message: str) -> None:
    """In one message, with the number of the row."""
    table = MEMBERS.assign(span_start=pd.Series({3: "3"}), span_end=pd.Series({3: "6"}))
    table.loc[3, column] = cell
    with pytest.raises(SenseprobeError, match=re.escape(message)):
        draft_of(table)


def test_a_row_without_word_and_sentence() -> None:
    """Missing cells of pandas are no text."""
    table = MEMBERS.copy()
    table.loc[3, ["word", "sentence"]] = float("nan")
    with pytest.raises(SenseprobeError, match=r"row 3 \(from 0\) lacks a word or sentence"):
        draft_of(table)


# By hand: the words of X have the associations 1 and -.2, those of Y -1 and .2, so the means differ by .8, and the
# sample has the variance (1 + .04 + 1 + .04) / 3. Of the 6 ways to choose two of the four, 2 have a sum of .8 or more.
PLANE = {"rose": (1, 0), "lily": (3, 4), "ant": (0, 2), "fly": (4, 3), "joy": (5, 0), "grief": (0, 1)}
EFFECT = 0.8 / (2.08 / 3) ** 0.5
SETS = pd.DataFrame({"test": "toy", "role": [*"XXYYAB"], "word": [*PLANE]})


def effect(vectors: Any, table: pd.DataFrame, **how: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """Return level, effect, p and identity of the only test."""
    (result,) = senseprobe.score(vectors, table, store=False, control=False, say=lambda _: None, **how)
    (figure,) = result.figures
    return result.scorer, figure.value, figure.p, figure.identity


@pytest.mark.parametrize("make", [dict, lambda vectors: [*vectors.values()]])
def test_a_table_of_words_and_vectors_is_a_test(make: Any) -> None:  # noqa: ANN401
    """Vectors by word, or one for each row; at the only level that words have."""
    scorer, value, p, identity = effect(make(PLANE), SETS.assign(identity="age"))
    assert (scorer, value, p, identity) == ("weat-word", pytest.approx(EFFECT), pytest.approx(2 / 6), "age")


def test_sentences_of_a_word_are_averaged_and_without_words_each_stands_for_itself() -> None:
    """Two sentences of a rose, whose mean is as long as no word's; without the column of words they are two targets."""
    texts = {"A rose.": (2, 1), "Roses.": (2, -1), **{word: PLANE[word] for word in [*PLANE][1:]}}
    table = pd.DataFrame({"test": "toy", "role": [*"XXXYYAB"], "word": ["rose", *PLANE], "sentence": [*texts]})
    assert effect(texts, table, level="sent")[1:3] == (pytest.approx(EFFECT), pytest.approx(2 / 6))
    (result,) = senseprobe.score(texts, table.drop(columns="word"), store=False, say=lambda _: None)
    (figure,) = result.figures
    assert figure.levels == {"X": 3, "Y": 2, "A": 1, "B": 1}
    assert "the words of some sentences are unknown" in figure.note
