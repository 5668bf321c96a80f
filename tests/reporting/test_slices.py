"""`senseprobe study slice`: figures of the rows with some words, and the words with the largest probabilities."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from tests.commands import typing
from tests.imports.files import FILES

import senseprobe
from senseprobe import api, recipes
from senseprobe.evaluate.figures import figures_of
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.units import ScoredRows
from senseprobe.generator.word_lists import Word
from senseprobe.records import Figure
from senseprobe.release.release import Release

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
    result = Result(
        scorer="nli", model=MODEL, release=about, senseprobe="0.1.0", seed=0, figures=(), scored=ScoredRows(scores)
    )
    return result.write(tmp_path_factory.mktemp("results"))


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs the command as typed: exit code, output, complaints."""
    run = typing(monkeypatch, capfd)

    def slice_typed(*words: str) -> tuple[int, str, str]:
        done = run("study", "slice", *words)
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
    columns = ("claim_pair", "verb_class", "gold", "frame")
    by = [word for column in columns for word in ("--by", column)]
    code, out, _ = typed(str(answered), "--largest", "entailment", *by, "--count", "999", "--json")
    assert code == 0
    for column in columns:
        assert {type(row[column]) for part in json.loads(out) for row in part["largest"]} <= {str, type(None)}
    assert typed(str(answered), "--largest", "entailment", *by)[0] == 0


def test_a_result_of_which_nothing_was_scored(answered: Path, typed: Typed, tmp_path: Path) -> None:
    """No figure and no words, and no error."""
    release = senseprobe.load("nli-control@1.0.0")
    rows = release.table("religion", spans=False)[["id"]].assign(config="religion")
    rows = rows[["config", "id"]].assign(entailment=np.nan, neutral=np.nan, contradiction=np.nan)
    about = {"name": release.manifest.name, "content": release.manifest.content, "config": "religion"}
    path = Result(
        scorer="nli", model=MODEL, release=about, senseprobe="0.1.0", seed=0, figures=(), scored=ScoredRows(rows)
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
    told = "entailment, contradiction: a model that answers neutral to everything gets 0: read it together"
    assert told in " ".join(out.split())


def test_a_word_that_was_not_drawn_is_not_said_to_be_in_no_row(answered: Path, typed: Typed, tmp_path: Path) -> None:
    """Of a sample, nothing is known of the other rows: nli-control's religion has 10,880."""
    release = senseprobe.load("nli-control@1.0.0")
    rows = release.table("religion", spans=False)
    rows = rows[rows["adherent"] != "Jain"][["id"]].head(200).assign(config="religion")
    rows = rows[["config", "id"]].assign(entailment=0.0, neutral=1.0, contradiction=0.0)
    about = {"name": release.manifest.name, "content": release.manifest.content, "config": "religion"}
    path = Result(
        scorer="nli",
        model=MODEL,
        release=about,
        senseprobe="0.1.0",
        seed=0,
        limit=200,
        figures=(),
        scored=ScoredRows(rows),
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
        (["--largest", "entailed"], "unknown label 'entailed': it can be entailment, neutral, contradiction"),
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
    assert "here is no table of scores next to the result" in err
    other = tmp_path / "aul.json"
    other.write_bytes(answered.read_bytes().replace(b'"nli"', b'"aul"'))
    code, _, err = typed(str(other), "--largest", "entailment")
    assert code == 2
    assert "aul is not a scorer of inference: only its results have a largest label" in err


# ---- Results of pairs ----------------------------------------------------------------------------------------------


def pairs(release: Release, seed: int = 0, limit: int | None = None) -> Result:
    """A result of all configs of a release, with random scores and the figures that they have."""
    draw, parts = np.random.default_rng(seed), {}
    for config in release.configs:
        rows = release.table(config, spans=False)
        names = [f"{role}_score" for role in ("stereo", "anti", "unrelated") if role in rows]
        parts[config] = rows.assign(**{name: draw.normal(size=len(rows)) for name in names})
    figures = figures_of(release, ScoredRows(tables=parts), seed=0, scale="log")
    columns = ["config", "id", "stereo_score", "anti_score", "unrelated_score"]
    scores = pd.concat([rows.assign(config=config) for config, rows in parts.items()], ignore_index=True)
    scores = scores[[name for name in columns if name in scores]]
    about = {"name": release.manifest.name, "content": release.manifest.content, "config": None}
    return Result(
        scorer="aul",
        model=MODEL,
        release=about,
        senseprobe="0.1.0",
        seed=0,
        figures=figures,
        scored=ScoredRows(scores if limit is None else scores[:limit]),
        limit=limit,
    )


@pytest.fixture(scope="module")
def sssb() -> Result:
    """A result on sssb, which has preferences, groups, pronoun figures and sense contrasts."""
    return pairs(senseprobe.load("sssb@1.0.0"))


def figure_of(result: Result, config: str, estimand: str, group: str | None = None) -> Figure:
    """The one figure of a result that is so called."""
    (figure,) = (f for f in result.figures if (f.config, f.estimand, f.group) == (config, estimand, group))
    return figure


def test_a_slice_of_pairs_has_the_preference_of_its_rows(sssb: Result) -> None:
    """By hand: 100 times the share of rows whose first score is larger, less 50; a group stands against all others."""
    release = senseprobe.load("sssb@1.0.0")
    assert sssb.rows is not None
    rows = release.table("nationality", spans=False).merge(sssb.rows, on="id")
    nation = rows["nation"].iloc[-1]
    mine = rows[rows["nation"] == nation]
    slices = {part.config: part for part in senseprobe.slice(sssb, {"nation": nation})}
    figures = {figure.estimand: figure for figure in slices["nationality"].figures}
    share = float((mine["stereo_score"] > mine["anti_score"]).mean())
    assert figures["preference"].value == pytest.approx(100 * share - 50)
    whole = figure_of(sssb, "nationality", "relative", nation)
    relative = figures["relative"]
    assert relative.value == pytest.approx(whole.value, abs=1e-8)
    assert relative.low == pytest.approx(whole.low, abs=1e-8)
    assert (relative.group, relative.p) == (f"nation={nation}", None)
    assert slices["nationality"].left_out == {"spread": "it covers all groups and words of a config at once"}


def test_all_rows_are_a_slice_that_equals_the_result(sssb: Result) -> None:
    """Without words every figure is that of the result, sense contrasts too, but for p and for the spread."""
    sliced = {(f.config, f.estimand, f.group): f.value for part in senseprobe.slice(sssb) for f in part.figures}
    for figure in sssb.figures:
        group = (
            figure.group
            if figure.group is None
            else next(
                g
                for c, e, g in sliced
                if (c, e) == (figure.config, "relative") and g and g.endswith(f"={figure.group}")
            )
        )
        if figure.estimand != "spread" and figure.rows:
            assert sliced[figure.config, figure.estimand, group] == pytest.approx(figure.value, abs=1e-8)


def test_what_a_slice_has_no_rows_for_is_left_out_with_the_reason(sssb: Result) -> None:
    """Nurse alone is one class of occupations: no pronoun figure, and so no contrast of it; preferences are there."""
    slices = {part.config: part for part in senseprobe.slice(sssb, ["occupation=nurse"])}
    assert {*slices} == {"noun", "noun-bare", "verb", "noun-verb", "noun-verb-unmatched"}
    assert [figure.estimand for figure in slices["noun"].figures] == ["preference", "preference-half"]
    assert {*slices["noun"].left_out} == {"pronoun-stereotype", "pronoun-baseline", "pronoun-interaction"}
    assert slices["noun-verb"].left_out == {"matched-contrast": "no row of the slice can be used in both configs"}
    lines = [line for part in senseprobe.slice(sssb, ["occupation=nurse"]).sections() for line in part.paragraphs]
    assert any("left out: the slice lacks a class of occupations" in line for line in lines)


def test_two_ways_at_once(sssb: Result, answered: Path, typed: Typed) -> None:
    """A slice for each combination, in order of words; by hand .9 of Jains who bought something, else .1."""
    code, out, _ = typed(
        str(answered), "adherent=Jain", "adherent=Anglican", "--by", "adherent", "--by", "verb", "--json"
    )
    parts = {part["slice"]: part["figures"] for part in json.loads(out)}
    assert code == 0
    assert len(parts) == 2 * 11  # the verbs of nli-control
    assert list(parts) == sorted(parts)
    values = {
        words: next(f["value"] for f in figures if f["estimand"] == "entailment") for words, figures in parts.items()
    }
    assert values.pop("adherent=Jain, verb=bought") == pytest.approx(90)
    assert [*values.values()] == pytest.approx([10] * 21)
    assert {figure["p"] for figures in parts.values() for figure in figures} == {None}
    code, out, _ = typed(str(answered), "--by", "adherent")
    assert code == 0
    assert "adherent=Jain" in out
    assert "levels are no tests of one another" in out
    by_type = senseprobe.slice(sssb, by=["label_basis"])
    assert {(part.config, part.words) for part in by_type} >= {
        ("verb", "label_basis=none"),
        ("verb", "label_basis=occupation"),
    }


def test_slices_by_what_a_list_says_of_words(answered: Path, typed: Typed) -> None:
    """The release's own lists have it, whether or not the template adds it to the rows."""
    code, out, _ = typed(str(answered), "verb.verb_class=commerce", "--by", "adherent.in_code", "--json")
    assert code == 0
    assert [part["slice"] for part in json.loads(out)] == [
        "verb.verb_class=commerce, adherent.in_code=False",
        "verb.verb_class=commerce, adherent.in_code=True",
    ]
    rows = senseprobe.load("nli-control@1.0.0").table("religion", spans=False)
    sizes = [part["figures"][0]["rows"] for part in json.loads(out)]
    assert sum(sizes) == (rows["verb_class"] == "commerce").sum()
    code, _, err = typed(str(answered), "verb.colour=red")
    assert code == 2
    assert "cannot slice by 'verb.colour': there is verb, object, adherent" in err


def test_many_numbers_of_a_list_are_thirds_of_its_words() -> None:
    """By hand: nine shares of women, three words a third; few numbers stay as they are."""
    shares = dict(zip("abcdefghi", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), strict=True))
    words = tuple(Word.of({"word": word, "women": share, "rank": int(share > 0.5)}) for word, share in shares.items())
    config = SimpleNamespace(blocks=[SimpleNamespace(slots={"job": words})])
    expected = ["0.1 to 0.3"] * 3 + ["0.4 to 0.6"] * 3 + ["0.7 to 0.9"] * 3
    assert [*recipes._cells(config, "job", "women").values()] == expected  # type: ignore[arg-type]
    assert {*recipes._cells(config, "job", "rank").values()} == {"0", "1"}  # type: ignore[arg-type]
    assert recipes._cells(config, "job", "men") == recipes._cells(config, "town", "women") == {}  # type: ignore[arg-type]


@pytest.mark.parametrize("format_", ["crows-pairs", "stereoset", "winobias", "winogender", "sssb"])
def test_imports_are_sliced(format_: str, tmp_path: Path) -> None:
    """By the published columns; each slice has the rows that pandas counts, and the figures of StereoSet are there."""
    folder = api.import_release(format_, FILES[format_], "mine", "1.0.0", "MIT", tmp_path)[0].folder
    release = senseprobe.load(str(folder))
    result = pairs(release)
    parts = senseprobe.slice(result, by=["bias_type"], release=str(folder))
    sizes = {
        (config, f"bias_type={name}"): size
        for config in release.configs
        for name, size in release.table(config)["bias_type"].value_counts().items()
    }
    assert {(part.config, part.words) for part in parts} >= {*sizes}
    if format_ == "stereoset":
        assert {"lms", "ss", "icat"} <= {figure.estimand for part in parts for figure in part.figures}
    if format_ == "crows-pairs":
        assert senseprobe.slice(result, ["direction=stereo"], release=str(folder))[0].figures[0].scored == 4


def test_a_slice_of_drawn_rows_has_no_neutral_value_by_chance(sssb: Result) -> None:
    """Of a sample, labels that are balanced by chance make nothing neutral."""
    drawn = pairs(senseprobe.load("sssb@1.0.0"), limit=400)
    (whole,), by_nation = senseprobe.slice(drawn), senseprobe.slice(drawn, by=["nation"])
    halves = [f for part in (whole, *by_nation) for f in part.figures if f.estimand == "preference-half"]
    assert {figure.neutral for figure in halves} == {None}
    # 108 rows a nation: four of 16 nations are too few to stand for all, but a nation that is named was not drawn.
    assert halves[0].low is None
    assert "too few levels of nation" in halves[0].note
    assert len(by_nation) == 4
    assert None not in {figure.low for figure in halves[1:]}
