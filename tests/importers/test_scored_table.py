"""A table of one's own that is scored as it is: without a project, and then like any release."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.commands import Typed, typing

import senseprobe
from senseprobe import SenseprobeError, project
from senseprobe.importers import notes, sources
from senseprobe.importers.scored_table import is_table, read_table, release_of_table

JOBS = ("nurse", "pilot", "baker", "clerk", "farmer", "dancer", "lawyer", "cook")
PAIRS = pd.DataFrame(
    {
        "stereo": [f"The {job} said that {'she' if at % 2 else 'he'} left." for at, job in enumerate(JOBS)],
        "anti": [f"The {job} said that {'he' if at % 2 else 'she'} left." for at, job in enumerate(JOBS)],
    }
)
FORMS = {
    "csv": lambda table: table.to_csv(index=False),
    "tsv": lambda table: table.to_csv(index=False, sep="\t"),
    "jsonl": lambda table: table.to_json(orient="records", lines=True),
    "json": lambda table: table.to_json(orient="records", lines=True),
}


def _save(folder: Path, table: pd.DataFrame = PAIRS, form: str = "csv", name: str = "pairs") -> Path:
    path = folder / f"{name}.{form}"
    if form == "parquet":
        table.to_parquet(path)
    else:
        path.write_text(FORMS[form](table), encoding="utf-8")
    return path


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a project, which is the current one, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    return typing(monkeypatch, capfd)


def _result(folder: Path) -> Path:
    (path,) = (path for path in folder.rglob("*.json") if ".tokens" not in path.name)
    return path


# ---- What is scored ----


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_a_table_is_scored_in_an_empty_folder(
    elsewhere: Path, typed: Typed, tiny_models: dict[str, Path], form: str
) -> None:
    """The same numbers as the same rows in memory, in each form; the first line says how the table was read."""
    _save(elsewhere, form=form)
    scored = typed("score", str(tiny_models["bert"]), f"pairs.{form}", "--no-store")
    result = senseprobe.load_result(_result(elsewhere / "results"))
    (expected,) = senseprobe.score(str(tiny_models["bert"]), senseprobe.draft(PAIRS), store=False, say=print)
    assert (result.rows is not None, expected.rows is not None) == (True, True)

    assert scored.code == 0
    assert scored.err.splitlines() == [f"Read 8 pairs from pairs.{form}: stereo, anti"]
    columns = ["stereo_score", "anti_score"]
    assert result.rows_of("pairs")[columns].to_numpy() == pytest.approx(expected.rows_of("rows")[columns].to_numpy())
    assert sorted(path.name for path in elsewhere.iterdir()) == [f"pairs.{form}", "results"]


def test_figures_have_intervals_over_pairs(elsewhere: Path, tiny_models: dict[str, Path]) -> None:
    """Nobody names a factor: each pair is one, as in an import of CrowS-Pairs without writers."""
    (result,) = senseprobe.score(str(tiny_models["bert"]), _save(elsewhere), say=print)
    (design,) = (read_table(elsewhere / "pairs.csv").tables[0].design,)

    assert [(factor.name, factor.columns) for factor in design.factors] == [("pair", ("id",))]
    assert all(figure.low is not None for figure in result.figures if figure.estimand == "preference-half")


def test_intervals_are_over_what_several_pairs_are_about(elsewhere: Path) -> None:
    """Two pairs about one target are not independent; a column with one value, or with gaps, divides nothing."""
    targets: Mapping[str, tuple[list[str | None], str]] = {
        "two": (["nurse", "pilot"] * 4, "target"),
        "one": (["nurse"] * 8, "pair"),
        "gaps": (["nurse", "nurse", "pilot", None] * 2, "pair"),
        "each": ([*JOBS], "pair"),
    }
    for name, (values, expected) in targets.items():
        design = read_table(_save(elsewhere, PAIRS.assign(target=pd.Series(values)), name=name)).tables[0].design
        assert [factor.name for factor in design.factors] == [expected], name


def test_questions_are_called_so(elsewhere: Path) -> None:
    """What is said of a table has the name that its kind has for rows: here questions, which are no pairs."""
    rows = {
        "context": ["Ann and Max were late.", "Ann and Max were late. Max ran."],
        "question": ["Who ran?", "Who ran?"],
        "stereo": "Ann",
        "anti": "Max",
        "unknown": "Nobody knows",
        "template": "late",
    }
    said: list[str] = []
    path = _save(elsewhere, pd.DataFrame(rows), name="questions")
    release_of_table(path, None, "0.0.0", lambda release: {}, said.append)

    assert said[0] == "Read 2 questions from questions.csv: context, question, stereo, anti, unknown, template"
    assert not [line for line in said if "pair" in line.casefold()]


def test_inference_and_its_right_answers(elsewhere: Path) -> None:
    """The column `label` has them, in any case; without one every pair is taken for a neutral one."""
    rows = {"Premise": ["A man slept.", "A man ran."], "hypothesis": ["A man rested.", "A man sat."]}
    table = pd.DataFrame(rows | {"label": ["Entailment", "contradiction"]})
    with_gold = read_table(_save(elsewhere, table, name="gold")).tables[0]
    without = read_table(_save(elsewhere, pd.DataFrame(rows))).tables[0]

    assert [row["gold"] for row in with_gold.rows] == ["entailment", "contradiction"]
    assert with_gold.design.estimands == ("accuracy",)
    assert [row["gold"] for row in without.rows] == ["neutral", "neutral"]
    assert "nn" in without.design.estimands


def test_columns_are_mapped_and_the_others_named(elsewhere: Path, typed: Typed, tiny_models: dict[str, Path]) -> None:
    """As `import` maps them; from Python, too."""
    table = PAIRS.rename(columns={"stereo": "sent_more", "anti": "sent, less"}).assign(note="a", kind=["x", "y"] * 4)
    path, bert = _save(elsewhere, table), str(tiny_models["bert"])
    mapping = ("--map", 'stereo=sent_more,"anti=sent, less"', "--map", "bias_type=kind")
    scored = typed("score", bert, "pairs.csv", *mapping)
    columns = {"stereo": "sent_more", "anti": "sent, less", "bias_type": "kind"}
    (again,) = senseprobe.score(bert, path, map=columns, say=print)
    result = senseprobe.load_result(_result(elsewhere / "results"))

    read, unread = scored.err.splitlines()
    assert read == "Read 8 pairs from pairs.csv: stereo (sent_more), anti (sent, less), bias_type (kind)"
    assert unread.endswith(": note")
    assert {figure.group for figure in result.figures} == {None, "x", "y"}
    assert (again.signature, again.figures) == (result.signature, result.figures)


# ---- Which it is ----


def test_the_same_content_is_the_same_release_and_other_content_another(
    elsewhere: Path, tiny_models: dict[str, Path]
) -> None:
    """Wherever the file lies; a copy in the cache is used again, and made anew where it was damaged."""

    def score(path: Path, columns: Mapping[str, str] | None = None) -> tuple[str, str]:
        (result,) = senseprobe.score(str(tiny_models["bert"]), path, map=columns, say=print)
        return str(result.release["name"]), str(result.release["content"])

    (elsewhere / "b").mkdir()
    first = score(_save(elsewhere))
    (copy,) = (elsewhere.parent / "cache" / "senseprobe" / "tables" / "pairs").iterdir()
    made = (copy / "release.json").stat().st_mtime_ns
    second = score(_save(elsewhere / "b"))
    assert (copy / "release.json").stat().st_mtime_ns == made
    next((copy / "pairs").iterdir()).write_bytes(b"damaged")
    third = score(elsewhere / "pairs.csv")
    turned = score(elsewhere / "pairs.csv", {"stereo": "anti", "anti": "stereo"})
    other = score(_save(elsewhere, PAIRS.head(3)))

    assert first == second == third
    assert first[0] == f"pairs@{copy.name}"
    assert len({first, turned, other}) == 3
    assert pq.read_table(next((copy / "pairs").iterdir())).num_rows == 8


def test_a_name_of_a_dataset_is_not_taken(elsewhere: Path, tiny_models: dict[str, Path]) -> None:
    (result,) = senseprobe.score(str(tiny_models["bert"]), _save(elsewhere, name="sssb"), say=print)
    (other,) = senseprobe.score(str(tiny_models["bert"]), _save(elsewhere, name="Пары"), say=print)
    (recipe,) = senseprobe.score(str(tiny_models["bert"]), _save(elsewhere, name="recipe"), say=print)

    assert str(result.release["name"]).startswith("sssb-table@0.0.")
    assert str(other.release["name"]).startswith("table@0.0.")
    assert {figure.config for figure in recipe.figures} == {"table"}


def test_folders_and_names_of_releases_stay_releases(elsewhere: Path) -> None:
    """A folder that is called like a table, with a release or without; a file that is called like a folder is none."""
    (elsewhere / "pairs.csv").mkdir()
    (elsewhere / "notes").write_text("a")
    kept = project.built_in().releases / "nli-control" / "1.0.1"
    whole = shutil.copytree(kept, elsewhere / "own.csv") if kept.is_dir() else elsewhere / "pairs.csv"

    assert not any(map(is_table, ["pairs.csv", str(whole), "sssb@1.0.1", "sssb:race", "hf://a/b@1.0.0", ""]))
    assert is_table("notes")
    assert is_table(Path("absent.jsonl"))
    with pytest.raises(SenseprobeError, match=r"pairs\.csv"):
        senseprobe.score("model", "pairs.csv", say=print)


# ---- What is done with the result ----


def test_reports_comparisons_slices_and_replays(elsewhere: Path, typed: Typed, tiny_models: dict[str, Path]) -> None:
    """From another folder, too, as the copy is in the cache; without the copy a message says what to do."""
    _save(elsewhere)
    for model in ("bert", "albert"):
        assert typed("score", str(tiny_models[model]), "pairs.csv", "-m", "aul").code == 0
    first, second = sorted(map(str, (elsewhere / "results").resolve().rglob("aul.json")))
    page = elsewhere / "page.html"

    assert typed("report", first, "-o", str(page)).code == 0
    assert "The nurse said that" in page.read_text()
    assert typed("compare", first, second).code == 0
    assert typed("slice", first, "stereo_value=she").code == 0
    assert typed("gate", first, "--against", second, "--margin", "90").code == 0
    assert typed("replay", first).code == 0
    shutil.rmtree(elsewhere.parent / "cache")
    name = json.loads(Path(first).read_text())["release"]["name"]
    message = typed("replay", first).message
    assert name in message
    assert "senseprobe score MODEL FILE" in message
    (elsewhere / "pairs.csv").write_text(FORMS["csv"](PAIRS.head(3)))
    assert typed("score", str(tiny_models["bert"]), "pairs.csv").code == 0
    assert name in typed("replay", first).message  # the table has changed: that is another release
    _save(elsewhere)
    assert typed("score", str(tiny_models["bert"]), "pairs.csv").code == 0
    assert typed("replay", first).code == 0


# ---- What is refused ----


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("pairs.csv", b"a,b\nx,y\n", ["pairs.csv", "a, b", "stereo", "anti", "premise", "hypothesis", "--map"]),
        ("pairs.csv", b"stereo,anti\nx.,y.\nx.,\n", ["pairs.csv:3", "anti", "1 row"]),
        ("pairs.csv", b"stereo,anti\nx.,x.\nx.,y.\n", ["pairs.csv:2", "1 row"]),
        ("pairs.csv", b"stereo,anti\n", ["pairs.csv"]),
        ("pairs.csv", b"", ["pairs.csv"]),
        ("pairs.csv", b"stereo,anti\nna\xefve.,x.\n", ["pairs.csv:2", "UTF-8"]),
        ("pairs.csv", b"stereo,anti,anti\nx.,y.,z.\n", ["pairs.csv", "'anti'"]),
        ("pairs.csv", b"premise,hypothesis,label\nx.,y.,0\n", ["pairs.csv:2", "'0'", "--labels"]),
        ("pairs.jsonl", b'{"stereo": "x.", "anti": ["y."]}\n', ["pairs.jsonl:1", "anti"]),
        ("pairs.json", b'[\n{"stereo": "x.", "anti": "y."}]\n', ["pairs.json:1"]),
        ("pairs.parquet", b"PAR1", ["pairs.parquet", "Parquet"]),
        ("pairs.xlsx", b"PK", ["pairs.xlsx", ".csv", ".tsv", ".jsonl", ".parquet"]),
    ],
)
def test_what_is_no_table_of_pairs_is_one_message(
    elsewhere: Path, typed: Typed, name: str, data: bytes, told: list[str]
) -> None:
    """With what was found, where, and what to do; before a model is looked for, and nothing is written."""
    (elsewhere / name).write_bytes(data)
    scored = typed("score", "model", name)

    assert scored.code == 2
    assert [word for word in told if word not in scored.message] == []
    assert [path.name for path in elsewhere.iterdir()] == [name]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("absent.csv",), "absent.csv"),
        (("pairs.csv", "--map", "stereo=stereo"), "anti="),
        (("pairs.csv", "--map", "stereo=stereo,anti=ant"), "'anti'"),
        (("pairs.csv", "--map", "stereo"), "ROLE=COLUMN"),
        (("sssb:noun", "--map", "stereo=a,anti=b"), "--map"),
    ],
)
def test_maps_that_do_not_fit(elsewhere: Path, typed: Typed, words: tuple[str, ...], told: str) -> None:
    _save(elsewhere)
    scored = typed("score", "model", *words)

    assert scored.code == 2
    assert told in scored.message


def test_what_is_too_large_is_refused(elsewhere: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the bounds of imports: bytes of a file, and pairs."""
    _save(elsewhere)
    with monkeypatch.context() as patch:
        patch.setattr(notes, "MAX_ROWS", 3)
        assert "pairs.csv" in typed("score", "model", "pairs.csv").message
    monkeypatch.setattr(sources, "MAX_FILE", 100)
    assert "pairs.csv" in typed("score", "model", "pairs.csv").message


def test_a_cache_that_cannot_be_written(elsewhere: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is where the folder would be."""
    _save(elsewhere)
    (elsewhere / "cache").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(elsewhere / "cache"))
    scored = typed("score", "model", "pairs.csv")

    assert scored.code == 2
    assert "XDG_CACHE_HOME" in scored.err
    assert "Traceback" not in scored.err
