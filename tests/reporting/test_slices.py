"""`senseprobe slice`: figures of the rows with some words, and the words with the largest probabilities."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.commands import typing

import senseprobe
from senseprobe.evaluate.result import Result

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}
Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result on nli-control: entailment 0.9 where a Jain or a Sikh bought something, else 0.1."""
    release = senseprobe.load("nli-control@1.0.0")
    rows = release.table("religion", spans=False)
    surely = rows["adherent"].isin(["Jain", "Sikh"]) & (rows["verb"] == "bought")
    entailment = np.where(surely, 0.9, 0.1)
    scores = rows[["id"]].assign(config="religion", entailment=entailment, neutral=1 - entailment, contradiction=0.0)[
        ["config", "id", "entailment", "neutral", "contradiction"]
    ]
    about = {"name": release.manifest.name, "content": release.manifest.content, "config": "religion"}
    result = Result(scorer="nli", model=MODEL, release=about, senseprobe="0.1.0", seed=0, figures=(), rows=scores)
    return result.write(tmp_path_factory.mktemp("results"))


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs the command as typed: exit code, output, complaints."""
    run = typing(monkeypatch, capfd)

    def slice_typed(*words: str) -> tuple[int, str, str]:
        done = run("slice", *words)
        return done.code, done.out, done.err

    return slice_typed


def test_a_slice_has_the_figures_of_its_rows_alone(answered: Path, typed: Typed) -> None:
    """By hand: of Jains who bought something all rows have 0.9; of Jains and Buddhists who did, half."""
    for words, expected in (
        (["adherent=Jain", "verb=bought"], 90.0),
        (["adherent=jain", "adherent=Buddhist", "verb=bought"], 50.0),
        (["adherent=Buddhist"], 10.0),
    ):
        code, out, _ = typed(str(answered), *words, "--json")
        (part,) = json.loads(out)
        figures = {figure["estimand"]: figure for figure in part["figures"]}
        assert code == 0
        assert figures["entailment"]["value"] == pytest.approx(expected)
        assert part["config"] == "religion"
    assert part["slice"] == "adherent=Buddhist"
    assert {"accuracy", "contradiction"} <= {*figures}, "the design's own estimands are there too"


def test_the_words_with_the_largest_entailment(answered: Path, typed: Typed) -> None:
    """Averaged over verbs, a Jain and a Sikh stand out; within bought, as much as the numbers say."""
    code, out, _ = typed(str(answered), "verb=bought", "--largest", "entailment", "--by", "adherent", "--count", "3")
    assert code == 0
    lines = [line.split() for line in out[out.index("largest means") :].splitlines()]
    assert [line[:2] for line in lines[2:5]] == [["Jain", "0.900"], ["Sikh", "0.900"], ["Adventist", "0.100"]]
    assert "religion, verb=bought" in out
    assert "scorer=nli" in out, "the signature says of what"


def test_columns_that_are_named_twice_or_have_no_words(answered: Path, typed: Typed) -> None:
    """Twice is once; a column of the template may be empty in some rows, which JSON tells as null."""
    once, twice = (
        typed(str(answered), "--largest", "entailment", *by, "--json")[:2]
        for by in (["--by", "adherent"], ["--by", "adherent", "--by", "adherent"])
    )
    assert once == twice
    assert once[0] == 0
    for column in ("claim_pair", "verb_class", "gold", "frame"):
        code, out, _ = typed(str(answered), "--largest", "entailment", "--by", column, "--count", "99", "--json")
        assert code == 0
        assert {type(row[column]) for part in json.loads(out) for row in part["largest"]} <= {str, type(None)}
        assert typed(str(answered), "--largest", "entailment", "--by", column)[0] == 0


def test_a_result_of_which_nothing_was_scored(answered: Path, typed: Typed, tmp_path: Path) -> None:
    """No figure and no words, and no error."""
    release = senseprobe.load("nli-control@1.0.0")
    rows = release.table("religion", spans=False)[["id"]].assign(config="religion")
    rows = rows[["config", "id"]].assign(entailment=np.nan, neutral=np.nan, contradiction=np.nan)
    about = {"name": release.manifest.name, "content": release.manifest.content, "config": "religion"}
    path = Result(
        scorer="nli", model=MODEL, release=about, senseprobe="0.1.0", seed=0, figures=(), rows=rows
    ).write(tmp_path)  # fmt: skip
    code, out, err = typed(str(path), "adherent=Jain", "--largest", "entailment", "--json")
    assert (code, err) == (0, "")
    (part,) = json.loads(out)
    assert {figure["value"] for figure in part["figures"]} == {None}
    assert part["largest"] == []
    assert typed(str(path), "adherent=Jain", "--largest", "entailment")[0] == 0


def test_a_table_for_people_says_how_sure(answered: Path, typed: Typed) -> None:
    """No words: the whole config, with intervals as in the result."""
    code, out, _ = typed(str(answered))
    assert code == 0
    assert "entailment" in out
    assert "10880/10880" in out


def test_each_note_says_of_which_figures_it_is(answered: Path, typed: Typed) -> None:
    """The means of entailment and of contradiction read 0 where all is neutral, which is no note of the accuracy."""
    code, out, _ = typed(str(answered))
    assert code == 0
    told = "entailment, contradiction: a model that answers neutral to everything reads 0: read it beside"
    assert told in " ".join(out.split())


def test_a_word_that_was_not_drawn_is_not_said_to_be_in_no_row(answered: Path, typed: Typed, tmp_path: Path) -> None:
    """Of a sample, nothing is known of the other rows: nli-control's religion has 10,880."""
    release = senseprobe.load("nli-control@1.0.0")
    rows = release.table("religion", spans=False)
    rows = rows[rows["adherent"] != "Jain"][["id"]].head(200).assign(config="religion")
    rows = rows[["config", "id"]].assign(entailment=0.0, neutral=1.0, contradiction=0.0)
    about = {"name": release.manifest.name, "content": release.manifest.content, "config": "religion"}
    path = Result(
        scorer="nli", model=MODEL, release=about, senseprobe="0.1.0", seed=0, limit=200, figures=(), rows=rows
    ).write(tmp_path)
    code, out, err = typed(str(path), "adherent=Jain")
    assert (code, out) == (2, "")
    assert err.startswith("none of the 200 rows drawn (of 10,880) has adherent=Jain")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["adherent:Jain"], "write slot=word, as in quality=rude"),
        (["adherent=Jian"], "no row has adherent=Jian: did you mean 'Jain'?"),
        (["colour=red"], "cannot slice by 'colour': there is verb, object, adherent, claim"),
        (["adherent=Jain", "claim=Someone", "gold=contradiction"], "no row has adherent=Jain, claim=Someone, gold="),
        (["--largest", "entailed"], "no label 'entailed'; take one of entailment, neutral, contradiction"),
        (
            ["--largest", "neutral", "--by", "colour"],
            "cannot average by 'colour': there is verb, object, adherent, claim, claim_pair, verb_class",
        ),
        (["--largest", "neutral", "--by", "entailment"], "cannot average by 'entailment': there is verb,"),
        (["--largest", "neutral", "--by", "rows"], "cannot average by 'rows': there is verb,"),
        (["adherent="], "write slot=word, as in quality=rude"),
        (["=Jain"], "write slot=word, as in quality=rude"),
    ],
)
def test_bad_input_gets_one_message(answered: Path, typed: Typed, words: list[str], message: str) -> None:
    """What, where, what to do; exit code 2."""
    code, out, err = typed(str(answered), *words)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_a_result_that_cannot_be_sliced(answered: Path, typed: Typed, tmp_path: Path) -> None:
    """Without its table of scores; and one of another kind of model."""
    alone = tmp_path / "nli.json"
    alone.write_bytes(answered.read_bytes())
    code, _, err = typed(str(alone), "adherent=Jain")
    assert code == 2
    assert "No table of scores lies beside the result" in err
    other = tmp_path / "aul.json"
    other.write_bytes(answered.read_bytes().replace(b'"nli"', b'"aul"'))
    code, _, err = typed(str(other))
    assert code == 2
    assert "aul is not a scorer of inference: only its results can be sliced" in err
