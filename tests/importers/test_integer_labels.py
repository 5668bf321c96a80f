"""Integers that stand for labels: named by a schema or by the user, in imports and drafts, and never guessed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, Features, Value
from tests.commands import typing

from senseprobe import SenseprobeError, api
from senseprobe.importers.draft import draft_of

NAMES = ["entailment", "neutral", "contradiction"]
NLI = pd.DataFrame(
    {"premise": ["A man runs.", "A dog sits.", "It rains."], "hypothesis": ["He moves.", "Ann sings.", "No."]}
)
GOLD = {"premise": "premise", "hypothesis": "hypothesis", "gold": "label"}
PAIRS = pd.DataFrame(
    {"stereo": ["Old people are slow.", "Men are rude."], "anti": ["Young people are slow.", "Ann is rude."]}
)
MEANT = "numbers mean other classes in other data"


def in_hub_form(table: pd.DataFrame, **names: list[str]) -> pa.Table:
    """A table with the schema that `datasets` writes: ClassLabel columns have names."""
    kinds: dict[str, Any] = {str(name): Value("int64" if table[name].dtype.kind == "i" else "string") for name in table}
    labels = {name: ClassLabel(names=own) for name, own in names.items()}
    return Dataset.from_pandas(table, features=Features({**kinds, **labels})).data.table


def rows_of(imported: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """The rows of an import."""
    return [row for batch in imported.rows("rows") for row in batch.to_pylist()]


def read(path: Path, columns: Mapping[str, str], **how: Any) -> Any:  # noqa: ANN401
    """What would be imported of a table."""
    return api.read_import(path.suffix[1:], [path], "x", "1.0.0", columns=columns, **how)


def test_a_schema_names_integers(tmp_path: Path) -> None:
    """By the feature's own list; -1, which has no label, is no name, and leaves its row out."""
    table = NLI.assign(label=[2, 0, -1])
    pq.write_table(in_hub_form(table, label=NAMES), tmp_path / "own.parquet")
    imported = read(tmp_path / "own.parquet", GOLD)
    assert [row["gold"] for row in rows_of(imported)] == ["contradiction", "entailment"]
    (note,) = imported.notes.listed
    assert "'-1'" in note.reason
    assert MEANT in note.reason


def test_integers_without_names_are_left_out_or_remarked_on(tmp_path: Path) -> None:
    """Of `gold` the row is left out; of a bias type it is a remark (W522); what is a name has none."""
    NLI.assign(label=[2, "neutral", 1.0]).to_csv(tmp_path / "nli.csv", index=False)
    imported = read(tmp_path / "nli.csv", GOLD)
    assert [row["gold"] for row in rows_of(imported)] == ["neutral"]
    assert [MEANT in note.reason for note in imported.notes.listed] == [True, True]
    roles = {"stereo": "stereo", "anti": "anti", "bias_type": "kind"}
    for kinds, codes in (([6, 2], ["W522"]), (["age", "gender"], [])):
        PAIRS.assign(kind=kinds).to_csv(tmp_path / "pairs.csv", index=False)
        assert [note.code for note in read(tmp_path / "pairs.csv", roles).notes.listed] == codes


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_the_user_names_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """In another order than most data have; before a schema; and the recipe knows the names, so that it reads alike."""
    table, path = NLI.assign(label=[0, 1, 2], kind=[7, 7, 8]), tmp_path / f"own.{form}"
    if form == "csv":
        table.to_csv(path, index=False)
    elif form == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        pq.write_table(in_hub_form(table, label=NAMES), path)
    labels = {"gold": dict(zip("012", reversed(NAMES), strict=True)), "group": {"7": "old", "8": "young"}}
    imported = read(path, GOLD | {"group": "kind"}, labels=labels)
    assert [(row["gold"], row["group"]) for row in rows_of(imported)] == [
        ("contradiction", "old"), ("neutral", "old"), ("entailment", "young"),
    ]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    own: Any = {"columns": GOLD | {"group": "kind"}, "labels": labels}
    release, _ = api.import_release(form, [path], "x", "1.0.0", None, tmp_path / "releases", **own)
    assert json.loads((release.folder / "recipe" / "import.json").read_text())["labels"] == labels
    assert [*api.verify(release.folder, rebuild=True)] == []


def test_labels_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """`--labels` is of gold, unless it names another role; what does not fit is one message."""
    NLI.assign(label=[0, 1, 5], kind=[7, 7, 8]).to_csv(tmp_path / "own.csv", index=False)
    monkeypatch.chdir(tmp_path)
    run = typing(monkeypatch, capfd)
    words = ("import", "csv", "own.csv", "--map", "premise=premise,hypothesis=hypothesis,gold=label,group=kind")
    more = ("--name", "x", "--version", "1.0.0", "--dry-run")
    done = run(*words, "--labels", "0=entailment,1=neutral", "--labels", "group:7=old,8=young", *more, "--json")
    assert done.told["rows"] == {"rows": 2}
    assert "'5'" in done.told["notes"][0]["reason"]
    for wrong, told in (
        ("0=", "INTEGER=NAME"),
        ("first=neutral", "is not an integer"),
        ("target:0=a", "target"),
        ("0=neutral,0=entailment", "twice"),
    ):
        failed = run(*words, "--labels", wrong, *more)
        assert failed.code == 2
        assert told in failed.message
    refused = run("import", "crows-pairs", "own.csv", "--labels", "0=stereo", *more)
    assert (refused.code, "--map" in refused.message) == (2, True)


def test_drafts_are_read_by_the_same_rule() -> None:
    """The names of a dataset and of a table with its schema; integers that have none are refused in the same words."""
    table = NLI.assign(gold=[2, 0, 1])
    named = in_hub_form(table, gold=NAMES)
    for own in (named, Dataset(named)):
        assert [row["gold"] for row in draft_of(own).rows.to_pylist()] == ["contradiction", "entailment", "neutral"]
    for own in (table, in_hub_form(table), in_hub_form(NLI.assign(gold=[0, 1, -1]), gold=NAMES)):
        with pytest.raises(SenseprobeError, match=MEANT):
            draft_of(own)
    features = NLI.assign(features=["a", "b", "c"])  # a column of that name is no schema
    assert len(draft_of(features).rows) == 3


@pytest.mark.parametrize(
    "metadata",
    [
        b"no JSON", b"[" * 10_000, b"{}", b'{"info": {"features": []}}', b'{"info": {"features": {"label": 1}}}',
        b'{"info": {"features": {"label": {"_type": "ClassLabel", "names": 3}}}}',
        b"\xff",
    ],
    ids=range(7),
)  # fmt: skip
def test_a_schema_that_cannot_be_read_names_nothing(tmp_path: Path, metadata: bytes) -> None:
    """Then integers are without names, which is told."""
    table = pa.Table.from_pandas(NLI.assign(label=[2, 0, 1])).replace_schema_metadata({b"huggingface": metadata})
    pq.write_table(table, tmp_path / "own.parquet")
    with pytest.raises(SenseprobeError, match=MEANT):
        read(tmp_path / "own.parquet", GOLD)


def test_directions_of_the_hub(tmp_path: Path) -> None:
    """A table of integers is the Hub's; one integer among directions is a line that is left out."""
    header = "sent_more,sent_less,stereo_antistereo,bias_type"
    lines = ["Old men sing.,Young men sing.,0,6", "Old men run.,Young men run.,1,6"]
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join([header, *lines, ""]))
    with pytest.raises(SenseprobeError, match="Hub's copy"):
        api.read_import("crows-pairs", [path], "x", "1.0.0")
    path.write_text("\n".join([header, *lines, "Old men sit.,Young men sit.,stereo,age", ""]))
    imported = api.read_import("crows-pairs", [path], "x", "1.0.0")
    assert [len(table.rows) for table in imported.tables] == [1]
