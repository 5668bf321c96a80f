"""Rows that are erased by construction: he and she are one vector, and pairs that differ in them say nothing."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.conformance import causal_models, masked_models
from tests.mitigation.altered import debias, debias_words
from tests.reporting.medium import printed

from senseprobe import api
from senseprobe.api.results import compare, describe_results, gate, result_paths, summarize_results
from senseprobe.document import render_html, render_markdown
from senseprobe.errors import ModelError, ResultError
from senseprobe.evaluate import models
from senseprobe.evaluate.erased_rows import ERASED, HEADS, INPUT, READ_AS, WHOLE, find_erased_flaw
from senseprobe.evaluate.estimands import figures, lookup
from senseprobe.evaluate.exports.distances import ExportSource, find_distances
from senseprobe.evaluate.mitigation.erased import mark_tables
from senseprobe.evaluate.models import alteration
from senseprobe.evaluate.reporting.inputs import gather_inputs
from senseprobe.evaluate.reporting.report import build_report
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import get
from senseprobe.records import Design, Factor, LevelPair

ROWS = pd.DataFrame(
    [
        ("he is a nurse", "she is a nurse"),
        ("the engineer and he", "the engineer and she"),
        ("he is kind", "she is cruel"),  # in another word, too
        ("the engineer is kind", "the nurse is kind"),
        ("he is a nurse", "he is a nurse"),  # nothing differs
        ("he is a nurse", "she is the black nurse"),
    ],
    columns=["stereo", "anti"],
)
ON_PAIRS = [1, 1, 0, 0, 0, 0]


@pytest.fixture(scope="module")
def parents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny models; the BERT predicts all tokens with one bias, as decoders without biases do."""
    import torch
    from transformers import AutoModelForMaskedLM

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("parents")
    folders = {**masked_models.build(folder / "masked"), **causal_models.build(folder / "causal")}
    model = AutoModelForMaskedLM.from_pretrained(folders["bert"])
    with torch.no_grad():
        model.get_output_embeddings().bias.zero_()
    model.save_pretrained(folders["bert"])
    return folders


def marks_of(folder: Path, scorer: str, rows: pd.DataFrame = ROWS, **options: Any) -> list[int]:  # noqa: ANN401
    """The marks of rows by a model in a folder."""
    model: Any = models.load(str(folder), ability=get(scorer).ability, device="cpu", **options)
    table = mark_tables({"c": rows}, get(scorer), model)["c"]
    return [] if ERASED not in table else table[ERASED].tolist()


@pytest.mark.parametrize(
    ("name", "scorer", "head", "mark"),
    [
        ("bert", "pll", "tied", WHOLE),
        ("bert", "pll", "untied", INPUT),
        ("bert", "cps", "untied", WHOLE),  # which predicts shared tokens alone
        ("bert-bare", "pll", "tied", INPUT),  # its biases differ
        ("gpt2", "ll", "tied", WHOLE),
        ("gpt2", "ll", "untied", INPUT),
        ("qwen2", "ll", "untied", INPUT),
    ],
)
def test_pairs(name: str, scorer: str, head: str, mark: int, parents: dict[str, Path], tmp_path: Path) -> None:
    """A pair is erased where the input coincides, and what predicts its words does, if that is read."""
    folder = debias(parents[name], tmp_path / "out", head=head)
    assert marks_of(folder, scorer) == [mark * is_erased for is_erased in ON_PAIRS]
    numbers = [
        get(scorer).numbers(models.load(str(folder), device="cpu"), units_of(ROWS, scorer, role))
        for role in ("stereo", "anti")
    ]
    ties = np.isclose(numbers[0][:, 0], numbers[1][:, 0], rtol=0, atol=1e-4).tolist()
    if mark == WHOLE:
        assert [*map(bool, ON_PAIRS)] == [
            tie and not same for tie, same in zip(ties, ROWS["stereo"] == ROWS["anti"], strict=True)
        ]
    else:
        assert not any(tie for tie, is_erased in zip(ties, ON_PAIRS, strict=True) if is_erased)


def units_of(rows: pd.DataFrame, scorer: str, role: str) -> list[Any]:
    """The units of rows."""
    from senseprobe.evaluate.units import units_of as units

    return units(rows, role, {"stereo": "anti", "anti": "stereo"}[role], get(scorer).reads)


def test_a_target_that_is_predicted(parents: dict[str, Path], tmp_path: Path) -> None:
    """`log-odds` predicts the target: where that is the same in both sentences, nothing that differs is predicted."""
    folder = debias(parents["bert"], tmp_path / "out")
    rows = ROWS.iloc[:2].assign(span=pd.Series([{"start": 8, "end": 13}, {"start": 4, "end": 12}], dtype=object))
    rows.loc[0, "anti"], rows.loc[0, "stereo"] = "she is a nurse", "he  is a nurse"
    assert marks_of(folder, "log-odds", rows.iloc[1:]) == [WHOLE]
    of_pronoun = rows.iloc[:1].assign(span=pd.Series([{"start": 0, "end": 2}], dtype=object))
    assert marks_of(folder, "log-odds", of_pronoun) == [INPUT]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_number_formats(dtype: str, parents: dict[str, Path], tmp_path: Path) -> None:
    """Rounding in the format that a model is loaded in is no difference."""
    folder = debias(parents["bert"], tmp_path / "out", head="tied")
    assert marks_of(folder, "pll", dtype=dtype) == [WHOLE * is_erased for is_erased in ON_PAIRS]


def test_a_second_removal(parents: dict[str, Path], tmp_path: Path) -> None:
    """What the parent's own record removed is equal in the parent, and stays marked."""
    from senseprobe.evaluate.mitigation import embeddings
    from senseprobe.evaluate.mitigation.erasure import Erasure
    from senseprobe.evaluate.mitigation.record import Parent, pack_map, read_record
    from senseprobe.evaluate.models.alteration import MAP, RECORD

    first = debias(parents["bert"], tmp_path / "first", head="tied")
    opened = embeddings.open_parent(str(first))
    direction = np.random.default_rng(2).normal(size=(opened.dimensions, 1))
    with embeddings.copied_without(opened, Erasure.onto(direction), tmp_path / "second", head="tied") as (out, change):
        record = read_record(first)
        assert record is not None
        chained = record.model_copy(update={"rank": 1, "parent": Parent(name="first", identity={}, record=record)})
        (out / RECORD).write_bytes(chained.to_bytes())
        (out / MAP).write_bytes(pack_map(Erasure.onto(direction), change.removed.astype(np.float64)))
    assert marks_of(tmp_path / "second", "pll") == [WHOLE * is_erased for is_erased in ON_PAIRS]


def test_inference(parents: dict[str, Path], tmp_path: Path) -> None:
    """Rows have one code where two hypotheses are one to the model: a gap of these is 0 whatever it infers."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    labels = {"id2label": dict(enumerate(["entailment", "neutral", "contradiction"])), "num_labels": 3}
    parent = tmp_path / "inference"
    AutoModelForSequenceClassification.from_pretrained(parents["bert"], **labels).save_pretrained(parent)
    AutoTokenizer.from_pretrained(parents["bert"]).save_pretrained(parent)
    folder = debias(parent, tmp_path / "out")
    words = ["he", "she", "people", "nurse"]
    rows = pd.DataFrame(
        [("the engineer is kind", f"{word} is kind") for word in words] + [("she is kind", "he is kind")],
        columns=["premise", "hypothesis"],
    )
    model: Any = models.load(str(folder), ability="inference", device="cpu")
    marked = mark_tables({"c": rows}, get("nli"), model)["c"]
    codes = marked[READ_AS].tolist()
    assert codes[0] == codes[1]
    assert len({*codes}) == len(codes) - 1
    assert marked[ERASED].tolist() == [0, 0, 0, 0, WHOLE]


VECTORS = {
    "he": [1.0, 0.2, 0.1, 0.0],
    "she": [-1.0, 0.2, 0.1, 0.0],
    "him": [0.9, 0.0, 0.3, 0.2],
    "her": [-0.8, 0.1, 0.3, 0.1],
    "career": [0.5, 0.5, -0.5, 0.2],
    "office": [0.4, 0.6, -0.3, 0.1],
    "family": [-0.5, 0.5, 0.5, 0.3],
    "home": [-0.4, 0.3, 0.6, 0.1],
}
SETS = {"X": ("career", "office"), "Y": ("family", "home"), "A": ("he", "him"), "B": ("she", "her")}


def test_association_tests(tmp_path: Path) -> None:
    """A word is erased where it is one with a word of the set that its own is held against."""
    path = debias_words(VECTORS, tmp_path / "out")
    sets = [("t", role, word, word) for role, words in SETS.items() for word in words]
    sets += [("alike", role, word, word) for role, word in zip("XYAB", ("he", "career", "she", "home"), strict=True)]
    rows = pd.DataFrame(sets, columns=["test", "role", "word", "sentence"])
    model: Any = models.load(f"vectors:{path}")
    marks = mark_tables({"c": rows}, get("weat-word"), model)["c"].set_index(["test", "word"])[ERASED]
    assert {word for word in marks["t"].index if marks["t"][word]} == {"he", "she"}
    assert not marks["alike"].any()  # they are in sets that are not held against each other


def test_a_model_on_frozen_vectors(tmp_path: Path) -> None:
    """It reads the words of the file that it was trained on."""
    path = debias_words(VECTORS, tmp_path / "out")
    file: Any = models.load(f"vectors:{path}")
    model: Any = SimpleNamespace(
        words=SimpleNamespace(file=file), alteration=path.parent, identity={"dtype": "float32"}
    )
    hypotheses = ["he family", "she family", "him family", "her family"]
    rows = pd.DataFrame({"premise": ["career home"] * 4, "hypothesis": hypotheses})
    codes = mark_tables({"c": rows}, get("nli"), model)["c"][READ_AS].tolist()
    assert codes[0] == codes[1]
    assert len({*codes}) == 3


def test_models_of_which_nothing_is_known(parents: dict[str, Path], tmp_path: Path) -> None:
    """A plug-in's model that does not say what it reads is not marked."""
    folder = debias(parents["bert"], tmp_path / "out")
    assert mark_tables({"c": ROWS}, get("pll"), SimpleNamespace(alteration=folder))["c"].equals(ROWS)


def test_many_rows() -> None:
    """Twenty thousand rows of vectors, of which two coincide, take seconds, in parts of memory."""
    from senseprobe.evaluate.mitigation.erased import find_close_pairs

    vectors = np.random.default_rng(3).normal(size=(20_000, 8))
    parents, vectors[17] = vectors.copy(), vectors[11_000]
    first, second = find_close_pairs(vectors, parents, 1e-3)
    assert (first.tolist(), second.tolist()) == ([17], [11_000])


def test_a_record_of_another_model(parents: dict[str, Path], tmp_path: Path) -> None:
    """A map with fewer rows than there are tokens is refused."""
    from senseprobe.evaluate.mitigation.erasure import Erasure
    from senseprobe.evaluate.mitigation.record import pack_map
    from senseprobe.evaluate.models.alteration import MAP

    folder = debias(parents["bert"], tmp_path / "out")
    (folder / MAP).write_bytes(pack_map(Erasure.onto(np.eye(4)[:, :1]), np.zeros((3, 1))))
    with pytest.raises(ModelError, match="is not of this model"):
        marks_of(folder, "pll")
    (folder / MAP).unlink()
    with pytest.raises(ModelError, match="is missing: make the folder again"):
        marks_of(folder, "pll")


def test_the_room_may_be_missing(parents: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is marked, which is said, and what is altered at load cannot be loaded."""
    monkeypatch.setitem(alteration.ALTERATIONS.__dict__, "ours", {})
    model: Any = models.load(str(debias(parents["bert"], tmp_path / "out")), device="cpu")
    warnings: list[str] = []
    assert alteration.mark_erased({"c": ROWS}, get("pll"), model, warnings.append) == {"c": ROWS}
    assert "are not marked: evaluate/mitigation is missing" in warnings[0]
    with pytest.raises(ModelError, match="altered as it is loaded, by evaluate/mitigation, which is missing here"):
        models.load(str(debias(parents["bert"], tmp_path / "all", layers="all")), device="cpu")


def test_gaps(tmp_path: Path) -> None:
    """A gap of two words that are one is not readable; others of the config are."""
    rows = pd.DataFrame(
        [(f"f{frame}", job, word) for frame in range(2) for job in "abcdef" for word in ("he", "she", "they")],
        columns=["frame", "occupation", "pronoun"],
    ).assign(gold="neutral", entailment=0.2, neutral=0.5, contradiction=0.3, id=range(36), premise="", hypothesis="")
    gaps = {
        f"{first}-{second}": LevelPair(slot="pronoun", column="pronoun", first=first, second=second)
        for first, second in (("he", "she"), ("he", "they"))
    }
    design = Design(
        kind="inference",
        sense_type="noun",
        bias_type="gender",
        slots=("occupation", "pronoun"),
        roles={"premise": {"subject": "occupation"}, "hypothesis": {"subject": "pronoun"}},
        factors=(Factor(name="occupation", columns=("occupation",)),),
        estimands=("nn", *(f"gap:{name}" for name in gaps)),
        gaps=gaps,
    )
    names = rows["frame"] + rows["occupation"] + rows["pronoun"].replace("she", "he")
    rows[READ_AS], rows[ERASED] = pd.factorize(names)[0], 0
    made = figures(rows, design, "c", scale="probability")
    whole = {figure.estimand: figure for figure in made if figure.group is None}
    assert dict(whole["gap:he-she"].erased) == {"rows": 24, "whole": 24, "input": 0}
    assert find_erased_flaw([whole["gap:he-she"]])
    assert not any(find_erased_flaw([figure]) for name, figure in whole.items() if name != "gap:he-she")
    assert all(find_erased_flaw([f]) for f in made if f.estimand == "gap:he-she")


def test_tests_of_erased_sets(tmp_path: Path) -> None:
    """A test of which more than a fifth of a set is erased is not readable, and its verdict says so."""
    path = debias_words(VECTORS, tmp_path / "out")
    rows = pd.DataFrame(
        [("t", role, word, word) for role, words in SETS.items() for word in words],
        columns=["test", "role", "word", "sentence"],
    )
    (result,) = api.score(f"vectors:{path}", rows, ["weat-word"], out=Path("results"), store=False)
    (figure,) = (figure for figure in result.figures if figure.group)
    assert dict(figure.erased) == {"rows": 2, "whole": 1, "input": 0}
    weat: Any = lookup(figure.estimand)
    verdict = weat.judge(figure)
    assert (verdict.code, verdict.text) == ("unreadable", find_erased_flaw([figure]))
    assert f"not judged, since {verdict.text}: t" in printed(summarize_results([result], "results"))


# --- figures ----------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are written into a folder of the test."""
    monkeypatch.chdir(tmp_path)


def score(folder: Path) -> Result:
    """The result of a masked model on pairs of he and she."""
    options: Any = {"config": "noun-bare", "out": Path("results"), "store": False}
    (result,) = api.score(str(folder), "sssb@1.0.1", ["pll"], **options)
    return result


def test_figures_of_a_tied_head_are_not_readable(parents: dict[str, Path], tmp_path: Path) -> None:
    """Most pairs differ in he and she alone: nothing of the config is read, and everywhere it says why."""
    before, after = (
        score(parents["bert"]),
        score(debias(parents["bert"], tmp_path / "out", head="tied")),
    )
    counts = {"rows": 60, "whole": 36, "input": 0}  # others have his and her, too
    assert {figure.estimand: dict(figure.erased) for figure in after.figures} == dict.fromkeys(
        [figure.estimand for figure in after.figures], counts
    )
    reason = "60 % of its rows are erased by construction: what differs in them became one vector"
    assert {find_erased_flaw([figure]) for figure in after.figures} == {reason}

    files = result_paths([before, after], "results")
    verdicts = [figure["verdict"] for figure in describe_results(files[1:])[0]["figures"]]
    assert [verdict["code"] for verdict in verdicts] == ["unreadable"] * len(verdicts)
    assert {verdict["flaw"] for verdict in verdicts} == {reason}
    page = build_report(gather_inputs(files[1:]))
    sections = [section for part in page.parts for section in part.sections]
    (table,) = [table for section in sections for table in section.list_tables() if "erased" in table.headings]
    assert {tuple(cell.text for cell in row[-3:]) for row in table.rows} == {("60", "36", "0")}
    for text in (render_html(page), render_markdown(page), printed(summarize_results([after], "results"))):
        assert reason in text
    compare(files, out=Path("page.html"))
    assert f"not readable: {reason}" in Path("page.html").read_text(encoding="utf-8")
    with pytest.raises(ResultError, match=f"not readable: {reason}"):
        gate(files[1], files[0])
    assert find_distances(ExportSource(after))[0] == []
    assert reason in find_distances(ExportSource(after))[1][0]


def test_figures_of_an_untied_head_say_whose_the_difference_is(parents: dict[str, Path], tmp_path: Path) -> None:
    """They are readable, with a note."""
    result = score(debias(parents["bert"], tmp_path / "out"))
    assert all(HEADS in figure.note for figure in result.figures)
    assert f"in noun-bare the input is erased by construction in 60 % of its rows: {HEADS}" in printed(
        summarize_results([result], "results")
    )
    assert not any(map(find_erased_flaw, [[figure] for figure in result.figures]))
    assert {figure.erased["input"] for figure in result.figures} == {36}


def test_nothing_is_marked_of_the_parent(parents: dict[str, Path]) -> None:
    """Results of models that nothing was removed from are what they were."""
    result = score(parents["bert"])
    assert not any(figure.erased for figure in result.figures)
    assert "erased" not in str(result.as_dict())
    assert replace(result.figures[0], erased={"rows": 2, "whole": 1, "input": 0}).as_dict()["erased"]
