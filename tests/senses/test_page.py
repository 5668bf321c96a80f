"""The page of embeddings of senses, from synthetic results."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from tests.reporting.test_association_report import shown_test
from tests.reporting.test_report import HOSTILE, MODEL, Page, loads, made

import senseprobe
from senseprobe.document import render_html
from senseprobe.errors import ResultError
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_inputs
from senseprobe.evaluate.reporting.report import build_report
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.senses.page import build_sense_page
from senseprobe.evaluate.senses.prediction import (
    PREFERS_HE,
    PREFERS_UNPLEASANT,
    SenseInputs,
    compute_word_shares,
    describe_correlation,
    predict_models,
    read_wat,
)
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Figure
from senseprobe.statistics import Correlation

NATIONS = {"Japanese": 0.5, "Chinese": -0.2, "English": -0.9, "Arabic": 1.1, "German": 0.1, "French": -0.4}
SENSE_COLUMNS = {"target_sense": pa.string(), "attribute_sense": pa.string()}
SENSE_COLUMNS |= {"target_senses": pa.int64(), "attribute_senses": pa.int64()}


def words_of_senses() -> pa.Table:
    """The cosines of a test: bass has two senses, of which the fish is the nearer one in two of three pairs."""
    rows = [
        ("weat2", "bass", "X", attribute, "A", 0.5, None, key, f"{attribute}%1:26:00::", 2, 1)
        for attribute, key in zip(
            ("joy", "love", "peace"), ("bass%1:05:00::", "bass%1:06:00::", "bass%1:05:00::"), strict=True
        )
    ]
    names = ("test", "target", "target_role", "attribute", "attribute_role", "cosine", "check", *SENSE_COLUMNS)
    frame = pd.DataFrame(rows, columns=[*names]).astype({"check": float})
    return pa.Table.from_pandas(frame.assign(config="words", identity=""), preserve_index=False)


def static(
    scorer: str, level: str, figures: tuple[Figure, ...], name: str = "ares", dimensions: int = 8
) -> ReportInput:
    """A result on vectors."""
    encoding = f"level={level};dimensions={dimensions}"
    result = Result(
        scorer=scorer,
        model={**MODEL, "name": name, "encoding": encoding},
        release={"name": "sssb@1.0.0", "content": "d" * 64, "config": None},
        senseprobe="0.1.0",
        seed=0,
        scale="probability",
        figures=figures,
        scored=ScoredRows(words=words_of_senses()),
    )
    return ReportInput(result=result)


def on_tests(level: str = "sense", *figures: Figure, **fields: object) -> ReportInput:
    """A result of association tests; its scorer stands in for those of senses, which have the same kind of rows."""
    own = figures or (shown_test("weat1", "", 1.5), shown_test("weat2", "", 0.8))
    return static("weat-word", level, own, **fields)  # type: ignore[arg-type]


def of_word(word: str | None, value: float | None, config: str = "nationality", **fields: object) -> Figure:
    """The figure of a word, or of a config."""
    own: dict[str, object] = {
        "estimand": "sc-weat",
        "sense_type": config,
        "rows": 9,
        "scored": 9,
        "unscored": 0,
        "ties": 0,
    }
    return Figure(config=config, group=word, value=value, **{**own, **fields})  # type: ignore[arg-type]


def placed(values: Mapping[str, float] = NATIONS, *more: Figure, **fields: object) -> ReportInput:
    """A result of contrasts on vectors. Its scorer stands in for those of senses: any of contrasts has their kind."""
    figures = (of_word(None, 0.25, low=-0.5, high=1.0), *(of_word(*each) for each in values.items()), *more)
    return static("ll", "sense", figures, **fields)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ReportInput:
    """A model of text with random scores on sssb."""
    scored = made("org/model", 4, "ll", ("nationality", "noun", "verb"))
    (source,) = gather_inputs([scored.write(tmp_path_factory.mktemp("model"))])
    return source


def page(*sources: ReportInput, **fields: object) -> Page:
    """The page of results."""
    return Page(render_html(build_sense_page(sources, **fields)))  # type: ignore[arg-type]


def test_shares_of_words_by_hand() -> None:
    """He in two of two pleasant and none of two unpleasant rows is a half, though three rows more are pleasant ties."""
    release = senseprobe.load("sssb@1.0.0")
    noun, nationality = release.design("noun"), release.design("nationality")
    rows = pd.DataFrame(
        {
            "target": ["nurse"] * 4 + ["judge"] * 2,
            "valence": ["pleasant", "pleasant", "unpleasant", "unpleasant", "pleasant", "unpleasant"],
            "stereo_value": ["she", "she", "he", "he", "he", "he"],
            "stereo_score": [-2.0, -2.0, -3.0, -3.0, -1.0, -1.0],
            "anti_score": [-1.0, -1.0, -1.0, -1.0, -1.0, float("nan")],
        }
    )
    # nurse: he scores higher in both pleasant rows (1), lower in both others (0); judge: a tie, and no number
    assert compute_word_shares(rows, noun, "log") == (PREFERS_HE, {"nurse": 0.5, "judge": 0.5})
    # Of traits it is the unpleasant sentence, the first: nurse never, judge the tie.
    assert compute_word_shares(rows, nationality, "log") == (PREFERS_UNPLEASANT, {"nurse": 0.0, "judge": 0.5})


def test_correlations_are_scipys(model: ReportInput) -> None:
    """Pearson's of an independent group-by of the rows, by scipy; below five words there is none."""
    rows = model.tables["nationality"]
    shares = (rows["stereo_score"] > rows["anti_score"]).groupby(rows["target"]).mean()
    (found,) = predict_models(SenseInputs.of([placed(), model]))
    expected = stats.pearsonr([*NATIONS.values()], [shares[name] for name in NATIONS]).statistic
    assert found.correlation.value == pytest.approx(expected)
    assert found.words == tuple(NATIONS)
    few = dict([*NATIONS.items()][:4])
    assert [*predict_models(SenseInputs.of([placed(few), model]))] == []


def test_answers_in_words() -> None:
    """What an interval says, whichever side of 0 it is on."""
    assert describe_correlation(Correlation(0.1, -0.4, 0.6, 9)) == "undecided: anything from -0.40 to +0.60 fits"
    shown = describe_correlation(Correlation(0.5, 0.1, 0.8, 9))
    assert shown == "found: words higher in the embedding are higher in the model, from +0.10 to +0.80"
    assert describe_correlation(Correlation(-0.5, -0.8, -0.1, 9)).startswith("found: the other way round")
    assert describe_correlation(Correlation(None, None, None, 6)).startswith("no correlation: 6 words")
    assert describe_correlation(Correlation(0.5, None, None, 4)) == "4 words give no interval"


def test_a_page_of_everything(model: ReportInput, tmp_path: Path) -> None:
    """Table 3's rows with what was left out, WAT, words, the answer, differences, senses; and the same bytes twice."""
    record = {"model": "ares", "level": "sense", "correlation": 0.31, "low": 0.25, "high": 0.37, "pairs": 5110}
    (tmp_path / "wat.json").write_text(json.dumps({"correlations": [record]}), encoding="utf-8")
    wat = read_wat(tmp_path / "wat.json")
    difference = of_word(None, 0.4, "race-colour", estimand="matched-contrast", low=-0.1, high=0.9)
    sources = [on_tests(), on_tests("word"), placed(NATIONS, difference), model]
    html = render_html(build_sense_page(sources, wat))
    assert html == render_html(build_sense_page(sources, wat))
    shown = Page(html)
    assert next(row for row in shown.rows if row[0] == "Flowers vs Insects")[1:3] == [
        "weat1",
        "+1.50 [+0.20, +1.50] found; p 0.0010, corrected 0.0100",
    ]
    assert next(row for row in shown.rows if row[0] == "Math vs Art")[2].startswith("left out")
    assert next(row for row in shown.rows if row[0] == "WAT")[2] == "+0.310 [+0.250, +0.370], 5,110 words"
    (contrast,) = [row for row in shown.rows if row[:2] == ["race-colour", "matched-contrast"]]
    assert contrast[2].startswith("+0.4 [-0.1, +0.9]")
    assert next(row for row in shown.rows if row[2:3] == ["bass%1:05:00::"])[3:] == ["bass, 2 senses", "2 of 3"]
    assert next(row for row in shown.rows if row[:2] == ["Japanese", "nationality"])
    assert "X 2.0" in shown.text
    assert "computes +2 or -2 whatever the vectors are" in shown.text
    (prediction,) = predict_models(SenseInputs.of(sources))
    assert "Of 1 correlation over words that have an interval none is shown" in shown.text
    assert describe_correlation(prediction.correlation) in shown.text
    assert "lexicographers" in shown.text


def test_words_and_rows_of_two_releases_are_told(model: ReportInput) -> None:
    """A model on sssb 1.0.0 beside an embedding on 1.1.0; of one release there is nothing to say."""
    newer = placed()
    newer = replace(newer, result=replace(newer.result, release={**newer.result.release, "name": "sssb@1.1.0"}))
    assert "words of sssb@1.1.0 stand against rows of sssb@1.0.0" in page(newer, model).text
    assert "Not of one release" not in page(placed(), model).text


def test_a_sweep_over_dimensions() -> None:
    """Two sizes of an embedding: a column for each, in order of size; one alone is no sweep."""
    large = on_tests("sense", shown_test("weat1", "", 1.2), name="big", dimensions=300)
    small = on_tests("sense", shown_test("weat1", "", 0.4), name="small", dimensions=50)
    rows = page(large, small).rows
    assert next(row for row in rows if row[:3] == ["weat1", "weat", "sense"])[3].startswith("+0.40")
    assert "Effects by dimensions" not in page(large).text


def test_names_are_text(model: ReportInput) -> None:
    """Of models, configs and words, whatever they are called."""
    hostile = placed({HOSTILE: 0.5, **NATIONS}, of_word(HOSTILE, 0.1, HOSTILE), name=HOSTILE)
    shown = page(hostile, on_tests("sense", shown_test(HOSTILE), name=HOSTILE), replace(model))
    assert list(loads(shown)) == []
    assert "<script>alert('x')</script>" in shown.text


@pytest.mark.parametrize("text", ["", "[]x", "{}", '{"model": 1}', '{"correlations": [3]}', '"x"', "[" * 9000])
def test_other_files_are_no_records_of_wat(tmp_path: Path, text: str) -> None:
    """One message with the file's name and what makes one."""
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(ResultError, match=r"x\.json is not a record of `senseprobe study wat`"):
        read_wat(tmp_path / "x.json")


def test_models_alone_are_refused(model: ReportInput) -> None:
    """Without vectors there is nothing to report here."""
    with pytest.raises(ResultError, match="no result is on vectors"):
        build_sense_page([model])


def test_words_in_slots_are_not_read_as_association_tests() -> None:
    """A result on contrasts has a table of words, too, whose roles are slots: its report is written all the same."""
    result = placed().result
    assert result.words is not None
    roles = pa.array(["bad"] * len(result.words))
    slots = result.words.set_column(result.words.column_names.index("attribute_role"), "attribute_role", roles)
    source = ReportInput(result=replace(result, scored=ScoredRows(words=slots)))

    assert "nationality" in Page(render_html(build_report([source]))).text
