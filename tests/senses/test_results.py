"""Results of sense embeddings on real releases: planted vectors, loops of their own, and refusals."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.reporting.medium import printed

from senseprobe import api
from senseprobe.api.results import compare, gate, load_result, report, slice_result, summarize_results
from senseprobe.errors import ModelError, ResultError, SenseprobeError
from senseprobe.evaluate.result import Result, read_result
from senseprobe.evaluate.senses.api import report_senses
from senseprobe.statistics import FloatArray

PAIRS = {"man": "woman", "boy": "girl", "father": "mother", "son": "daughter", "guy": "gal", "male": "female"}
PERSON = "%1:18:00::"
KEYS = ("target", "sense_key"), ("stereo_value", "stereo_value_key"), ("anti_value", "anti_value_key")


def write_senses(path: Path, vectors: dict[str, Sequence[float]]) -> str:
    """Write vectors by sense key as LMMS does, and return the model's name."""
    path.write_text("".join(f"{key} {' '.join(map(repr, map(float, own)))}\n" for key, own in vectors.items()))
    return f"senses:{path}"


@pytest.fixture(scope="module")
def vectors() -> dict[str, FloatArray]:
    """Return a vector for each key of sssb, and of the pairs of gender."""
    release = api.load("sssb@1.1.0")
    tables = [release.table(config, spans=False) for config in release.configs]
    keys = [f"{word}{PERSON}" for pair in PAIRS.items() for word in pair]
    for table in tables:
        keys += [key for _, column in KEYS if column in table for key in table[column].dropna()]
    rng = np.random.default_rng(5)
    return {key: rng.normal(size=4).round(3) for key in dict.fromkeys(keys)}


@pytest.fixture(scope="module")
def results(vectors: dict[str, FloatArray], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """Return the results of both levels on sssb, read from their files."""
    folder = tmp_path_factory.mktemp("senses")
    model = write_senses(folder / "s.txt", {key: [*own] for key, own in vectors.items()})
    api.score(model, "sssb@1.1.0", "weat", out=folder, store=False)
    paths = [*folder.rglob("sc-weat-*.json")]
    assert [api.replay(path).differences for path in paths] == [(), ()]
    return {path.stem: load_result(path) for path in paths}


def cosine(a: FloatArray, b: FloatArray) -> float:
    return float(sum(x * y for x, y in zip(a, b, strict=True)) / (sum(a * a) * sum(b * b)) ** 0.5)


def figure_of(result: Result, config: str, group: str | None = None) -> Any:  # noqa: ANN401
    return next(figure for figure in result.figures if (figure.config, figure.group) == (config, group))


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_numbers_are_those_of_a_loop(results: dict[str, Result], vectors: dict[str, FloatArray]) -> None:
    """Cosines of the senses of a row, and d of a word over its attributes, each counted once."""
    result, table = results["sc-weat-sense"], api.load("sssb@1.1.0").table("nationality", spans=False)
    scores = result.rows_of("nationality").set_index("id")
    for _, row in table.iloc[::97].iterrows():
        expected = [cosine(vectors[row["sense_key"]], vectors[row[f"{side}_value_key"]]) for side in ("stereo", "anti")]
        found = scores.loc[row["id"], ["stereo_score", "anti_score"]].tolist()
        assert found == pytest.approx(expected, abs=1e-9)
    own = table[table["target"] == "Japanese"]
    target = vectors[own["sense_key"].iloc[0]]
    a, b = ([cosine(target, vectors[key]) for key in own[f"{side}_value_key"].unique()] for side in ("stereo", "anti"))
    effect = (np.mean(a) - np.mean(b)) / np.std([*a, *b], ddof=1)
    figure = figure_of(result, "nationality", "Japanese")
    assert figure.value == pytest.approx(effect, abs=1e-8)
    assert (figure.levels, figure.estimand) == ({"A": len(a), "B": len(b)}, "sc-weat")
    every = [f.value or 0.0 for f in result.figures if f.config == "nationality" and f.group]
    assert figure_of(result, "nationality").value == pytest.approx(np.mean(every))


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_the_gender_direction_is_that_of_equation_8(results: dict[str, Result], vectors: dict[str, FloatArray]) -> None:
    """The mean of male less female senses; the female pronoun's sentence has the cosine turned around."""
    result, table = results["sc-weat-sense"], api.load("sssb@1.1.0").table("verb", spans=False)
    g = sum(vectors[f"{male}{PERSON}"] - vectors[f"{female}{PERSON}"] for male, female in PAIRS.items()) / len(PAIRS)
    scores = result.rows_of("verb").set_index("id")
    for _, row in table.iterrows():
        near = cosine(vectors[row["sense_key"]], np.array(g)) * (1 if row["stereo_value"] == "he" else -1)
        assert scores.loc[row["id"]].tolist() == pytest.approx([near, -near], abs=1e-9)
    keys = table.loc[table["target"] == "judge", "sense_key"].unique()
    expected = np.mean([cosine(vectors[key], np.array(g)) for key in keys])
    assert len(keys) > 1
    assert figure_of(result, "verb", "judge").value == pytest.approx(expected, abs=1e-8)


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_a_word_is_compared_with_the_mean_of_its_senses(
    results: dict[str, Result], vectors: dict[str, FloatArray]
) -> None:
    """Equation 7: of guide the file has four senses of verbs and the noun's, which both configs are then about."""
    word, sense = results["sc-weat-word"], results["sc-weat-sense"]
    own = [key for key in vectors if key.startswith("guide%")]
    mean = np.mean([vectors[key] for key in own], axis=0)
    g = np.mean([vectors[f"{male}{PERSON}"] - vectors[f"{female}{PERSON}"] for male, female in PAIRS.items()], axis=0)
    assert figure_of(word, "verb", "guide").value == pytest.approx(cosine(mean, g), abs=1e-6)
    assert figure_of(word, "noun-verb").value == pytest.approx(0, abs=1e-9)
    assert figure_of(sense, "noun-verb").value != pytest.approx(0, abs=1e-3)
    assert word.words is not None
    counts = word.words.to_pandas().groupby("target")["target_senses"].first()
    assert counts["guide"] == len(own)


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_differences_are_of_shared_words(results: dict[str, Result]) -> None:
    """One for each two senses: the mean over 16 nations, by hand from the figures of words."""
    result = results["sc-weat-sense"]
    differences = {f.config: f for f in result.figures if f.estimand == "sense-difference"}
    assert list(differences) == ["race-colour", "noun-verb", "nationality-language"]
    words = {(f.config, f.group): f.value or 0.0 for f in result.figures if f.group}
    nations = [group for config, group in words if config == "language"]
    expected = np.mean([words["nationality", name] - words["language", name] for name in nations])
    assert differences["nationality-language"].value == pytest.approx(expected)
    assert differences["nationality-language"].levels == {"words": 16}
    assert differences["race-colour"].levels == {"words": 1, "attributes": 10}


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_nothing_reads_them_as_preferences(results: dict[str, Result], tmp_path: Path) -> None:
    """Pages, comparisons, gates and slices are of pairs of sentences."""
    result = results["sc-weat-sense"]
    refused = pytest.raises(ResultError, match="no sentence is preferred")
    with refused:
        report(result, tmp_path / "r.html")
    with refused:
        compare([result, result])
    with refused:
        gate(result, result)
    with refused:
        slice_result(result, ["nation=Japanese"])
    assert {f.neutral for f in result.figures} == {None}


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_a_terminal_shows_them(results: dict[str, Result], tmp_path: Path) -> None:
    """Their table of words is of words and qualities, not of tests, and every config has a line."""
    for result in results.values():
        text = printed(summarize_results([result], tmp_path))
        assert all(figure.config in text for figure in result.figures)


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_older_releases_are_refused_by_name(vectors: dict[str, FloatArray], tmp_path: Path) -> None:
    """They have no keys of values; the level of words goes without."""
    model = write_senses(tmp_path / "s.txt", {key: [*own] for key, own in vectors.items()})
    with pytest.raises(SenseprobeError, match=r"sssb@1.0.3: .* has no sense keys .* such as sssb@1.1.0"):
        api.score(model, "sssb@1.0.3", "sc-weat-sense", out=None, store=False)
    assert api.score(model, "sssb@1.0.3", "sc-weat-word", out=None, store=False)[0].figures


def test_files_of_words_have_no_senses() -> None:
    """The level is refused, and not left out silently."""
    with pytest.raises(ModelError, match="not a file of senses"):
        api.score({"nurse": np.ones(2)}, "sssb@1.1.0", "sc-weat-sense", out=None, store=False)


# --- association tests ------------------------------------------------------------------------------------------------

SETS: dict[str, dict[str, tuple[str, ...]]] = {
    "X": {"judge": ("%1:18:00::", "%2:31:02::"), "nurse": ("%1:18:00::", "%2:29:00::")},
    "Y": {"father": (PERSON,), "mother": (PERSON,)},
    "A": {"beautiful": ("%3:00:00::",), "friendly": ("%3:00:01::",)},
    "B": {"innocent": ("%3:00:00::",), "generous": ("%3:00:01::",)},
}
TEST = pd.DataFrame(
    [{"test": "t", "role": role, "word": word, "word_class": "thing"} for role, own in SETS.items() for word in own]
)
AXES: dict[str, list[float]] = {"A": [1.0, 0, 0], "B": [0, 1.0, 0], "Y": [0, 0, 1.0]}


def planted() -> dict[str, Sequence[float]]:
    """Return vectors where one sense of each word of X is at A, and its other sense takes the mean back to Y's."""
    found: dict[str, Sequence[float]] = {}
    for role, words in SETS.items():
        for word, ends in words.items():
            both: list[list[float]] = [[1, 0, 1], [-1, 0, 1]] if role == "X" else [AXES[role]]
            found |= {f"{word}{end}": vector for end, vector in zip(ends, both, strict=True)}
    return found


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_what_one_sense_carries_is_found_by_senses_only(tmp_path: Path) -> None:
    """By hand: d of 2 and 2 targets that are told apart completely is 2 times the root of 3/4."""
    model = write_senses(tmp_path / "s.txt", planted())
    word, sense = api.score(model, TEST, "weat", level=["word", "sense"], out=tmp_path, store=False)
    assert (word.figures[0].value, word.figures[0].note) == (None, "all targets have the same association")
    assert sense.figures[0].value == pytest.approx(2 * 0.75**0.5)
    assert sense.figures[0].senses == {"X": 2, "Y": 1, "A": 1, "B": 1}
    (path,) = tmp_path.rglob("weat-sense.json")
    assert read_result(path).figures == sense.figures


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_words_of_one_sense_have_one_effect_at_both_levels(tmp_path: Path) -> None:
    """The largest over one pair is that pair."""
    rng = np.random.default_rng(3)
    ends = {word: ends[0] for own in SETS.values() for word, ends in own.items()}
    model = write_senses(tmp_path / "s.txt", {f"{word}{end}": [*rng.normal(size=3)] for word, end in ends.items()})
    found = api.score(model, TEST, "weat", level=["word", "sense"], out=None)
    word, sense = ({f.estimand: f.value for f in result.figures} for result in found)
    assert sense["weat"] == pytest.approx(word["weat"], abs=1e-6)


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_tests_with_names_and_pronouns_are_left_out_by_name(tmp_path: Path) -> None:
    """At both levels of a file of senses; where no test is left, that is an error."""
    model = write_senses(tmp_path / "s.txt", planted())
    named = TEST.assign(test="n", word_class=np.where(TEST["role"] == "X", "name", "thing"))
    heard: list[str] = []
    levels = ["word", "sense"]
    results = api.score(
        model, pd.concat([TEST, named]), "weat", level=levels, out=tmp_path, store=False, say=heard.append
    )
    assert [[figure.group for figure in result.figures] for result in results] == [["t"], ["t"]]
    assert [line for line in heard if " n: " in line and "john is a toilet" in line] == heard[-2:]
    written = [read_result(path) for path in sorted(tmp_path.rglob("weat-*.json"))]
    assert [[*result.refused.values()] for result in written] == [[["n"]], [["n"]]]
    assert "left out: n (WordNet's entries of names" in printed(summarize_results(written, tmp_path))
    report([*tmp_path.rglob("weat-*.json")], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("left out: n (WordNet") == 2
    with pytest.raises(SenseprobeError, match="cannot score any of these tests"):
        api.score(model, named, "weat", level="sense", out=None, store=False)


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_many_missing_senses_leave_a_result_that_can_be_read(tmp_path: Path) -> None:
    """Each sense key is a reason of its own; the last of them stand together."""
    model = write_senses(tmp_path / "s.txt", {f"{word}{PERSON}": [1, 2] for pair in PAIRS.items() for word in pair})
    api.score(model, "sssb@1.1.0", "sc-weat-sense", out=tmp_path, store=False)
    (path,) = tmp_path.rglob("sc-weat-sense.json")
    reasons = read_result(path).unscored
    assert len(reasons) == 20
    assert [*reasons][-1].startswith("other reasons")


@pytest.mark.system
@pytest.mark.usefixtures("prepared_wordnet")
def test_a_page_of_real_results(vectors: dict[str, FloatArray], tiny_models: dict[str, Path], tmp_path: Path) -> None:
    """Senses and a tiny model scored on sssb, on one page; r is numpy's, of the figures and rows of the two files."""
    model = write_senses(tmp_path / "s.txt", {key: [*own] for key, own in vectors.items()})
    (placed,) = api.score(model, "sssb@1.1.0", "sc-weat-sense", config="language", out=tmp_path, store=False)
    api.score(str(tiny_models["bert"]), "sssb@1.1.0", "aul", config="language", out=tmp_path, store=False)
    paths = [path for name in ("sc-weat-sense", "aul") for path in tmp_path.rglob(f"{name}.language.json")]
    report_senses(paths, tmp_path / "page.html")
    rows = api.load("sssb@1.1.0").table("language", spans=False)
    rows = rows.merge(pd.read_parquet(paths[1].with_suffix(".parquet")), on="id")
    difference = rows["stereo_score"] - rows["anti_score"]
    preferred = (difference > 0) + 0.5 * (difference == 0)
    shares = preferred.groupby(rows["target"]).mean()
    own = {str(figure.group): figure.value for figure in placed.figures if figure.group}
    r = np.corrcoef([own[word] or 0.0 for word in shares.index], shares)[0, 1]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f">{r:+.2f}<" in page
    assert "Not of one release" not in page
