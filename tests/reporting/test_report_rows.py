"""What a report finds beside a result: its table, its release, the control of its model; and what it makes of rows.

Expected values are counted by hand on pairs whose scores follow a rule, so that every share is known.
"""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import senseprobe
from senseprobe import document, parquet_files
from senseprobe.errors import DamagedRelease, ReleaseError, ResultError
from senseprobe.evaluate import result as results
from senseprobe.evaluate import result_form, score_tables
from senseprobe.evaluate.estimands import CATALOGUE
from senseprobe.evaluate.reporting import inputs, row_tables
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_inputs
from senseprobe.evaluate.reporting.notation import format_interval
from senseprobe.evaluate.reporting.report import build_report
from senseprobe.evaluate.result import Result, folder_of
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Design, Figure
from senseprobe.release.release import Release

MODEL = {"name": "org/model", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}
HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def sssb() -> Release:
    """The built-in release."""
    return senseprobe.load("sssb@1.0.0")


@pytest.fixture(scope="module")
def occupations() -> Design:
    """The design of the probe of occupations, whose rows are kept in no checkout."""
    return senseprobe.load("nli-occupation@1.0.0").design("activities")


def blames(word: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """A model that prefers the stereotype where its word is `word`, by 2, and its counterpart elsewhere, by 1."""
    return lambda rows: rows.assign(stereo_score=np.where(rows["bad"] == word, -1.0, -4.0), anti_score=-3.0)


def figures(config: str, value: float, **fields: object) -> Figure:
    """A figure over 25 rows."""
    told: dict[str, object] = {"sense_type": "race", "estimand": "preference-half", "neutral": None}
    told |= {"rows": 25, "scored": 25, "unscored": 0, "ties": 0}
    told |= {"definition": CATALOGUE[str(fields.get("estimand", "preference-half"))].version}
    return Figure(config=config, value=value, **{**told, **fields})  # type: ignore[arg-type]


def result(on: Release, scored: pd.DataFrame | None, /, **fields: object) -> Result:
    """A result on a release."""
    told: dict[str, object] = {
        "scorer": "aul",
        "model": MODEL,
        "release": {"name": on.manifest.name, "content": on.manifest.content, "config": None},
        "senseprobe": "0.1.0",
        "seed": 0,
        "figures": (figures("race-matched", -30.0),),
        "scored": ScoredRows(scored),
    }
    return Result(**{**told, **fields})  # type: ignore[arg-type]


def on_race(on: Release, /, **fields: object) -> Result:
    """A result of the model that blames the awful, on the 25 pairs of race-matched."""
    scored = blames("awful")(on.table("race-matched")).assign(config="race-matched")
    return result(on, scored[["config", "id", "stereo_score", "anti_score"]], **fields)


# --- what lies beside a result --------------------------------------------------------------------------------------


def test_everything_at_hand(sssb: Release, tmp_path: Path) -> None:
    """The rows of the release come with their scores, by id, whatever their order; nothing is missing."""
    found = on_race(sssb)
    assert found.rows is not None
    (one,) = gather_inputs([replace(found, scored=ScoredRows(found.rows[::-1])).write(tmp_path)])
    assert (one.missing, list(one.tables)) == ((), ["race-matched"])
    pd.testing.assert_frame_equal(
        one.tables["race-matched"][["id", "bad", "stereo_score", "anti_score"]],
        blames("awful")(sssb.table("race-matched"))[["id", "bad", "stereo_score", "anti_score"]],
    )


def test_any_order_of_rows(sssb: Release, tmp_path: Path) -> None:
    """The order in which a table of scores lies makes no difference to the page, to the last byte."""
    found = on_race(sssb)
    assert found.rows is not None
    mixed = replace(found, scored=ScoredRows(found.rows.sample(frac=1, random_state=1)))
    paths = [each.write(tmp_path / str(number)) for number, each in enumerate((found, mixed))]
    first, second = (document.render_html(build_report(gather_inputs([path]))) for path in paths)
    assert first == second
    assert "By word and frame" in first


def test_bias_types(sssb: Release, tmp_path: Path) -> None:
    """The kinds of bias are the release's; a control, which is about none, has none."""
    text = document.render_markdown(build_report(gather_inputs([on_race(sssb).write(tmp_path)])))
    assert "| **not readable** | race-matched<br>race | " in text
    assert "**race, bias type race**" in text
    control = document.render_markdown(
        build_report(gather_inputs([answer("nli-control@1.0.0", *ACCURACY).write(tmp_path / "control")]))
    )
    assert "**without senses**\n" in control
    assert "ias type" not in control


def test_without_a_table(sssb: Release, tmp_path: Path) -> None:
    """A result without its Parquet has a page of its figures, and the page says what is missing."""
    (one,) = gather_inputs([on_race(sssb, scored=ScoredRows()).write(tmp_path)])
    text = document.render_html(build_report([one]))
    assert "here is no table of scores next to the result" in text
    assert "bias type race" in text, "which the release knows"
    assert "-30.0 (interval not estimable)" in text
    assert "By word and frame" not in text


def test_without_the_release(sssb: Release, tmp_path: Path) -> None:
    """Without its release a result has the ids of its rows, no sentence, and a line that says so."""
    gone = {"name": "gone@1.0.0", "content": sssb.manifest.content, "config": None}
    (one,) = gather_inputs([on_race(sssb, release=gone).write(tmp_path)])
    text = document.render_html(build_report([one]))
    assert "The release gone@1.0.0 is not available (unknown release &#39;gone@1.0.0&#39;: there is" in text
    assert "The sentences are in the release, which is not available." in text
    assert "race-matched." in text
    assert "awful." not in text
    assert (
        document.render_html(build_report(gather_inputs([tmp_path / "aul.json"], "sssb@1.0.0"))).count(
            "Black people are "
        )
        > 5
    )


def test_another_content(sssb: Release, tmp_path: Path) -> None:
    """A release of the same name with other rows is left out; where it was asked for, that is an error."""
    other = {"name": "sssb@1.0.0", "content": "0" * 64, "config": None}
    path = on_race(sssb, release=other).write(tmp_path)
    (one,) = gather_inputs([path])
    assert one.release is None
    assert "sssb@1.0.0 here has other rows" in one.missing[0]
    with pytest.raises(ResultError, match=r"sssb@1\.0\.0 here has other rows: its content hash is"):
        gather_inputs([path], "sssb@1.0.0")
    with pytest.raises(ReleaseError, match=r"nothing@1\.0\.0"):
        gather_inputs([path], "nothing@1.0.0")


def test_damaged_release(sssb: Release, tmp_path: Path) -> None:
    """Sentences of a release that is not as it was frozen are not shown; where it was asked for, that is an error."""
    folder = tmp_path / "sssb"
    shutil.copytree(sssb.folder, folder)
    victim = next((folder / "race-matched").glob("*.parquet"))
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with pytest.raises(DamagedRelease):
        gather_inputs([on_race(sssb).write(tmp_path)], str(folder))


def test_rows_that_are_not_here(tmp_path: Path) -> None:
    """Of a release that keeps its recipe only, the report says how to make the rows."""
    release = senseprobe.load("nli-religion@1.0.0")
    if any(path.exists() for config in release.configs for path in release.files(config)):
        folder = tmp_path / "kept"
        shutil.copytree(release.folder, folder, ignore=shutil.ignore_patterns("*.parquet", "restored.json"))
        release = senseprobe.load(str(folder))
    nothing = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in {"config": str, "id": str}.items()})
    empty = nothing.assign(**{label: pd.Series(dtype=float) for label in ("entailment", "neutral", "contradiction")})
    path = result(release, empty, scorer="nli", figures=()).write(tmp_path)
    (one,) = gather_inputs([path], str(release.folder))
    assert f"`senseprobe verify --restore {release.folder}` makes them" in one.missing[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.assign(config="nowhere"), "the table of scores has a config 'nowhere'"),
        (lambda rows: rows.assign(id=[f"x{name}" for name in rows["id"]]), "rows of race-matched that are not in"),
        (lambda rows: rows.rename(columns={"anti_score": "auntie"}), "is not a table of scores: expected the columns"),
        (lambda rows: rows.assign(anti_score=1), "is not a table of scores: its column anti_score has the type int64"),
        (lambda rows: rows.assign(anti_score=-1e308), "is not a table of scores: it has numbers beyond 1e"),
        (lambda rows: rows.assign(bad=1.0), "is not a table of scores: expected the columns"),
        (lambda rows: rows.assign(config=pd.array([None] * len(rows), "string")), "without a config or an id"),
        (lambda rows: rows.assign(id=rows["id"].where(rows.index > 0)), "without a config or an id"),
    ],
)
def test_forged_tables(
    change: Callable[[pd.DataFrame], pd.DataFrame], message: str, sssb: Release, tmp_path: Path
) -> None:
    """A table that is not of these rows is refused."""
    found = on_race(sssb)
    assert found.rows is not None
    path = replace(found, scored=ScoredRows(change(found.rows))).write(tmp_path)
    with pytest.raises(ResultError, match=message):
        gather_inputs([path])


def test_duplicate_rows(sssb: Release, tmp_path: Path) -> None:
    """A row that comes twice is refused."""
    found = on_race(sssb)
    assert found.rows is not None
    path = replace(found, scored=ScoredRows(pd.concat([found.rows, found.rows[:1]]))).write(tmp_path)
    with pytest.raises(ResultError, match="has a row of race-matched twice"):
        gather_inputs([path])


def test_other_tables(sssb: Release, tmp_path: Path) -> None:
    """The table of another result, what is no Parquet, and a link are refused."""
    path = on_race(sssb).write(tmp_path)
    table = path.with_suffix(".parquet")
    other = on_race(sssb, seed=1).write(tmp_path / "other").with_suffix(".parquet")
    for content, message in ((other.read_bytes(), "its signature"), (b"PAR1\0\0\0\0PAR1", "cannot be read")):
        table.write_bytes(content)
        with pytest.raises(ResultError, match=message):
            gather_inputs([path])
    table.unlink()
    table.symlink_to(other)
    with pytest.raises(ResultError, match="is not a plain file"):
        gather_inputs([path])


def test_bounds(sssb: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, tables and names beyond what a result has are refused before they fill memory or page."""
    path = on_race(sssb).write(tmp_path)
    for module, bound, small, message in (
        (results, "MAX_BYTES", 100, "larger than"),
        (inputs, "MAX_RESULTS", 0, "1 results: expected 1 to 0"),
        (result_form, "MAX_FIGURES", 0, "has 1 figure and"),
        (result_form, "MAX_NAME", 5, "a name of 64 characters"),
        (score_tables, "MAX_ROWS", 24, "has 25 rows, more than 24"),
        (score_tables, "MAX_TABLE_BYTES", 100, "holds more than"),
        (parquet_files, "MAX_FOOTER_BYTES", 100, "it has a footer of"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, bound, small)
            with pytest.raises(ResultError, match=message):
                gather_inputs([path])


def test_a_table_that_unfolds(sssb: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file of one long id many times over is refused by what it unfolds into."""
    path = on_race(sssb, scored=ScoredRows()).write(tmp_path)
    ids = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * 10_000]))
    numbers = pa.array(np.zeros(20_000))
    columns = {"config": pa.array(["race-matched"] * 20_000), "id": ids, "stereo_score": numbers, "anti_score": numbers}
    signature = json.loads(path.read_bytes())["signature"]
    table = pa.table(columns).cast(
        pa.schema([(name, pa.string() if name in ("config", "id") else pa.float64()) for name in columns])
    )
    pq.write_table(table.replace_schema_metadata({"signature": signature}), path.with_suffix(".parquet"))
    assert path.with_suffix(".parquet").stat().st_size < 10**6
    monkeypatch.setattr(score_tables, "MAX_TABLE_BYTES", 10**8)
    with pytest.raises(ResultError, match="holds more than 95 MiB"):
        gather_inputs([path])


@pytest.mark.parametrize("name", ["/etc", "..", "a" * 10_000, "x@1\0", "hf://somebody/something@1.0.0", "\ud800@1.0.0"])
def test_hostile_names_of_releases(name: str) -> None:
    """What is no name of a release leads nowhere."""
    found, missing = inputs._open_release(name, "0", None)
    assert found is None
    assert "its name is not one that a release can have" in missing[0]


# --- words, frames, rows --------------------------------------------------------------------------------------------


def test_levels(sssb: Release) -> None:
    """A word that is always blamed is at +50, the others at -50; of any good word a fifth of the pairs are blamed.

    Where all of 5 good words agree, the other end is 100 · .025^(1/5) - 50 = -2.2 (ESTIMANDS: n* = 5).
    """
    rows = blames("awful")(sssb.table("race-matched"))
    good, bad = row_tables.compute_level_figures(rows, sssb.design("race-matched"), "race-matched")
    assert (good.slot, bad.slot, bad.estimand) == ("good", "bad", "preference-half")
    assert {figure.group: format_interval(figure) for figure in bad.figures} == {
        word: "+50.0 [-2.2, +50.0]" if word == "awful" else "-50.0 [-50.0, +2.2]" for word in {*rows["bad"]}
    }
    assert bad.figures[-1].group == "awful", "lowest first"
    assert [figure.value for figure in good.figures] == pytest.approx([-30] * 5)
    assert {figure.rows for figure in good.figures} == {5}
    assert good.figures[0].levels == {"bad": 5}
    assert "good" not in good.figures[0].fixed, "it is what the figure is about"


def test_many_levels(sssb: Release) -> None:
    """Of more words than are shown, the lowest and the highest are, and the rest is counted."""
    rows = sssb.table("verb").assign(anti_score=-3.0)
    number = np.arange(len(rows), dtype=np.float64)
    _, frames = row_tables.compute_level_figures(
        rows.assign(stereo_score=np.where(number < 3, -1.0, -4.0)), sssb.design("verb"), "verb"
    )
    known = ~rows["contested"] & (rows["label_basis"] != "none")
    assert (frames.slot, len(frames.figures), frames.words) == ("frame", row_tables.MOST_LEVELS, int(known.sum()))
    assert [figure.value for figure in frames.figures].count(50.0) == int(known[:3].sum()) > 0
    chosen = {"frame": [str(rows["frame"][0])]}
    _, again = row_tables.compute_level_figures(rows.assign(stereo_score=-9.0), sssb.design("verb"), "verb", chosen)
    assert [(figure.group, figure.value) for figure in again.figures] == [(rows["frame"][0], -50.0)]


def test_a_third_sentence(sssb: Release, tmp_path: Path) -> None:
    """Scores of unrelated sentences, which StereoSet has, come along, and a row without one says so."""
    found = on_race(sssb)
    assert found.rows is not None
    third = [np.nan, *(-7.0 for _ in found.rows["id"][1:])]
    rows = ScoredRows(found.rows.assign(unrelated_score=third))
    (one,) = gather_inputs([replace(found, scored=rows).write(tmp_path)])
    assert one.tables["race-matched"]["unrelated_score"].tolist()[1:] == third[1:]
    text = document.render_markdown(build_report([one]))
    assert "| row | sentences | stereo | anti | unrelated | difference |" in text
    assert "| -1.000 | -3.000 | none | 2.000 |" in text or "| -4.000 | -3.000 | none | -1.000 |" in text
    assert "| -1.000 | -3.000 | -7.000 | 2.000 |" in text


def probes(occupations: Design, numbers: dict[tuple[str, str, str], tuple[float, float, float]]) -> pd.DataFrame:
    """Rows of the probe of occupations, as occupation, verb and person, with three probabilities."""
    rows = [
        {
            "id": f"row{number}",
            "frame": "f",
            "occupation": occupation,
            "verb": verb,
            "object": "car",
            "person": person,
            "premise": f"The {occupation} {verb} a car.",
            "hypothesis": f"The {person} {verb} a car.",
            "gold": "neutral",
            "gender": "female" if person == "woman" else "male",
            "pair": "man",
            "entailment": e,
            "neutral": n,
            "contradiction": c,
        }
        for number, ((occupation, verb, person), (e, n, c)) in enumerate(numbers.items())
    ]
    assert {*occupations.slots} <= {*rows[0]}
    return pd.DataFrame(rows)


ANSWERS = {
    ("nurse", "bought", "woman"): (0.9, 0.1, 0.0),
    ("nurse", "sold", "woman"): (0.7, 0.2, 0.1),
    ("nurse", "bought", "man"): (0.1, 0.1, 0.8),
    ("nurse", "sold", "man"): (0.1, 0.3, 0.6),
    ("guard", "bought", "woman"): (0.2, 0.4, 0.4),
    ("guard", "sold", "woman"): (0.0, 0.9, 0.1),
    ("guard", "bought", "man"): (0.6, 0.4, 0.0),
    ("guard", "sold", "man"): (0.5, 0.5, 0.0),
}


def test_largest_fillers(occupations: Design) -> None:
    """Means over verbs: nurse and woman (.9 + .7) / 2 = .8 of entailment, nurse and man .7 of contradiction."""
    release = senseprobe.load("nli-occupation@1.0.0")
    tables = row_tables.build_filler_tables({"activities": probes(occupations, ANSWERS)}, release, count=2)
    entailed, contradicted = tables
    assert entailed.caption == "activities: largest entailment"
    assert entailed.headings == ("occupation", "person", "entailment", "neutral", "contradiction", "rows")
    assert [cell.text for cell in entailed.rows[0]] == ["nurse", "woman", "80.0", "15.0", "5.0", "2"]
    assert [cell.text for cell in entailed.rows[1]][:2] == ["guard", "man"]
    assert [cell.text for cell in contradicted.rows[0]] == ["nurse", "man", "10.0", "20.0", "70.0", "2"]
    assert [cell.text for cell in contradicted.rows[1]][:2] == ["guard", "woman"]
    assert (len(entailed.rows), len(contradicted.rows)) == (2, 2)


def test_hostile_sentences(sssb: Release) -> None:
    """Sentences and words of a release are text, in HTML and in Markdown, and long ones are cut."""
    rows = blames("awful")(sssb.table("race-matched")).assign(stereo=HOSTILE, anti="y" * 10_000, frame=HOSTILE)
    rows.loc[:4, "frame"] = "other"
    table = rows.assign(config="race-matched")[["config", "id", "stereo_score", "anti_score"]]
    scored = ScoredRows(table, tables={"race-matched": rows})
    account = build_report([ReportInput(result=on_race(sssb, scored=scored), release=sssb)])
    html, markdown = document.render_html(account), document.render_markdown(account)
    assert re.findall(r"<script[^>]*>", html) == ['<script type="application/json">', "<script>"]
    assert "<img" not in html
    assert html.count("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;") > 5
    assert "y" * 301 not in html + markdown
    assert "<script" not in markdown.replace("\\<", "")


# --- older definitions ----------------------------------------------------------------------------------------------


def test_figures_of_an_older_definition_are_computed_again(sssb: Release, tmp_path: Path) -> None:
    """With its rows at hand a result is told by today's definitions; without, its figures are marked as older.

    Of 25 pairs the five with the awful are won: 20 %, which is -30 points.
    """
    older = on_race(sssb, figures=(replace(figures("race-matched", 12.3), definition=1),))
    path = older.write(tmp_path)
    (one,) = gather_inputs([path])
    assert {figure.estimand: figure.value for figure in one.result.figures} == {
        "preference": pytest.approx(-30),
        "preference-half": pytest.approx(-30),
    }
    assert one.missing == ("Computed again from its rows, since the definition has changed: preference-half.",)
    path.with_suffix(".parquet").unlink()
    (one,) = gather_inputs(
        [replace(older, scored=ScoredRows(), figures=(replace(older.figures[0], neutral=0.0),)).write(tmp_path / "x")]
    )
    assert [figure.neutral for figure in one.result.figures] == [None], "labels are not at hand, nor what follows"
    text = document.render_markdown(build_report(gather_inputs([path])))
    assert "+12.3 (interval not estimable)<br>older definition" in text
    assert "Of an older definition, and not computed again: preference-half." in text


def test_scores_of_an_older_definition_are_named(sssb: Release, tmp_path: Path) -> None:
    """Nothing makes new numbers of a scorer out of old ones: the page says to score again."""
    (one,) = gather_inputs([on_race(sssb, scorer="cps").write(tmp_path)])
    assert one.missing[0].startswith("Its scores are of an older definition of cps (1, now 2): score the model again.")


# --- the control of inference ---------------------------------------------------------------------------------------


def answer(release: str, *found: Figure, model: dict[str, str] = MODEL) -> Result:
    """A result of a model of inference, with figures alone."""
    manifest = senseprobe.load(release).manifest
    about = {"name": manifest.name, "content": manifest.content, "config": None}
    return Result(scorer="nli", model=model, release=about, senseprobe="0.1.0", seed=0, figures=found)


def probe(**fields: object) -> Result:
    """A result on the probe of occupations."""
    nn = figures("activities", 97.0, low=95.5, high=98.0, estimand="nn", sense_type="")
    return replace(answer("nli-occupation@1.0.0", nn), **fields)  # type: ignore[arg-type]


ACCURACY = (
    figures("occupation", 50.0, low=48.0, high=52.0, estimand="accuracy", sense_type=""),
    figures("occupation", 99.0, low=98.0, high=99.5, estimand="accuracy", sense_type="", group="entailment"),
    figures("religion", 61.0, low=58.0, high=64.0, estimand="accuracy", sense_type=""),
)


def test_control_beside(tmp_path: Path) -> None:
    """The control of the same model is found where `score` puts it, and its config of the same words is shown.

    It is no better than a guess, so that of the probe only the value is told.
    """
    control = answer("nli-control@1.0.0", *ACCURACY)
    for each in (probe(), control):
        each.write(folder_of(tmp_path, str(each.release["name"]), "org/model"))
    account = build_report(gather_inputs([tmp_path / "nli-occupation@1.0.0/org--model/nli.json"]))
    text = document.render_markdown(account)
    assert "| nli · org/model | nli-occupation@1.0.0 | activities | nn |  | 97.0<br>not readable |" in text
    assert "| nli · org/model | nli-control@1.0.0 | occupation | accuracy |  | 50.0 \\[48.0, 52.0\\] |" in text
    assert "| accuracy | entailment | 99.0 \\[98.0, 99.5\\] |" in text
    assert "61.0" not in text, "that is of religion"
    assert "is missing" not in text


def test_control_of_another_model(tmp_path: Path) -> None:
    """The control of other weights says nothing of these, wherever it lies: it is missed, and has a part of its own."""
    control = answer("nli-control@1.0.0", *ACCURACY, model={**MODEL, "weights": "f" * 64}).write(tmp_path / "control")
    text = document.render_markdown(build_report(gather_inputs([probe().write(tmp_path / "probe"), control])))
    assert "nli · org/model: the result of this model on nli-control is missing" in text
    assert text.index("## nli-control@1.0.0") < text.index("50.0")


def test_control_that_was_named(tmp_path: Path) -> None:
    """A result on the control that is named among others is beside that of its model, and has a part of its own."""
    control = answer("nli-control@1.0.0", *ACCURACY).write(tmp_path / "control")
    text = document.render_markdown(build_report(gather_inputs([control, probe().write(tmp_path / "probe")])))
    first, second = text.split("## nli-control@1.0.0")
    assert "## nli-occupation@1.0.0" in first, "the control comes last, wherever it was named"
    assert "| accuracy | entailment | 99.0 \\[98.0, 99.5\\] |" in first
    assert "61.0" not in first, "that is of religion"
    assert "61.0" in second
    alone = document.render_markdown(build_report(gather_inputs([control])))
    assert alone.startswith("# org/model on nli-control@1.0.0\n"), "alone it is the subject"
    assert "Does the model infer" not in alone


# --- zero, and polarity ---------------------------------------------------------------------------------------------


def test_near_zero_and_polarity(sssb: Release, tmp_path: Path) -> None:
    """Where zero is not neutral nothing is near it, and the page says so; polarity is dealt out anew instead.

    252 ways to deal 5 of 10 words: 251 others, and the observed one.
    """
    text = document.render_markdown(build_report(gather_inputs([on_race(sssb).write(tmp_path)])))
    assert "their neutral value is not known: race-matched preference-half." in text
    assert "lies within 5 points of it. Five points of preference" in text
    assert "| race-matched | -30.0, at random \\[" in text
    assert "(all 251 divisions) |" in text


def test_equivalence(sssb: Release, tmp_path: Path) -> None:
    """Labels of bare frames are mostly of *he*, so the balanced figure is answered; a coin is not shown near 0."""
    rows = sssb.table("noun-bare").assign(config="noun-bare", stereo_score=-1.0)
    rows["anti_score"] = np.where(np.arange(len(rows)) % 2 == 0, -2.0, 0.0)
    found = result(sssb, rows[["config", "id", "stereo_score", "anti_score"]], figures=(figures("noun-bare", 0.0),))
    text = document.render_markdown(build_report(gather_inputs([found.write(tmp_path)])))
    assert "| noun-bare | pronoun-stereotype |  | not shown<br>90 % " in text
    assert "| noun-bare | preference-half |  | not shown" not in text
    assert "noun-bare preference-half" in text, "among those to which equivalence does not apply"
