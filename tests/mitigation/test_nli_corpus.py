"""Corpora of inference: SNLI, MultiNLI and data of the Hub as they are published, releases, and what is refused."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mitigation.nli_pairs import people_pairs

import senseprobe
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.mitigation.nli_corpus import LABELS, Corpus, Examples, read_file, read_release

SNLI = [
    {"gold_label": "neutral", "sentence1": "A person on a horse.", "sentence2": "A race.", "pairID": "1"},
    {"gold_label": "-", "sentence1": "A person on a horse.", "sentence2": "A contest.", "pairID": "2"},
    {"gold_label": "contradiction", "sentence1": "A person on a horse.", "sentence2": "A diner.", "pairID": "3"},
    {"gold_label": "entailment", "sentence1": "Two cats.", "sentence2": "A person on a horse.", "pairID": "4"},
    {"gold_label": "entailment", "sentence1": "Two cats.", "sentence2": "", "pairID": "5"},
]


def _write(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def _on_the_hub(path: Path, *, named: bool) -> Path:
    """Write SNLI as `datasets` has it: integers, and -1 for a pair without a label."""
    columns = {
        "premise": [row["sentence1"] for row in SNLI],
        "hypothesis": [row["sentence2"] for row in SNLI],
        "label": [1, -1, 2, 0, 0],
    }
    features = {"label": {"names": ["entailment", "neutral", "contradiction"], "_type": "ClassLabel"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})} if named else {}
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path)
    return path


def test_snli_is_read_as_it_is_published(tmp_path: Path) -> None:
    """Pairs without a gold label and empty texts are dropped and counted, and a text is kept once."""
    corpus = read_file(_write(tmp_path / "snli.jsonl", SNLI), {}, {}, "CC-BY-SA-4.0")

    assert corpus.texts == ("A person on a horse.", "A race.", "A diner.", "Two cats.")
    assert corpus.pairs.tolist() == [[0, 1], [0, 2], [3, 0]]
    assert corpus.gold.tolist() == [1, 2, 0]
    assert corpus.dropped == {"with an empty text": 1, "without a gold label": 1}
    assert corpus.describe().endswith(
        "3 pairs (1 entailment, 1 neutral, 1 contradiction); 1 dropped with an empty text; "
        "1 dropped without a gold label; licence: CC-BY-SA-4.0"
    )


def test_the_hubs_parquet_is_the_same_corpus(tmp_path: Path) -> None:
    """Labels that are integers have the names of the schema, or those that the user gives."""
    snli = read_file(_write(tmp_path / "snli.jsonl", SNLI), {}, {}, "")
    named = read_file(_on_the_hub(tmp_path / "a.parquet", named=True), {}, {}, "")
    integers = {str(number): label for number, label in enumerate(LABELS)}
    told = read_file(_on_the_hub(tmp_path / "b.parquet", named=False), {}, integers, "")

    assert named.sha256 == told.sha256 == snli.sha256
    assert named.gold.tolist() == snli.gold.tolist()
    assert named.dropped == snli.dropped


def test_columns_are_mapped(tmp_path: Path) -> None:
    """Columns of other names are mapped, and some may be while others have the usual names."""
    rows = [{"p": row["sentence1"], "sentence2": row["sentence2"], "verdict": row["gold_label"]} for row in SNLI]
    path = _write(tmp_path / "own.jsonl", rows)
    corpus = read_file(path, {"premise": "p", "gold": "verdict"}, {}, "")

    assert corpus.sha256 == read_file(_write(tmp_path / "snli.jsonl", SNLI), {}, {}, "").sha256


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([{**SNLI[0], "gold_label": "maybe"}], {}, r"own.jsonl:1: the label 'maybe' is not entailment, neutral and"),
        ([{**SNLI[0], "gold_label": 1}], {}, r"own.jsonl:1: the label 1 is a number.*--labels 0=entailment"),
        ([SNLI[1]], {}, r"own.jsonl has no pair with a gold label"),
        ([{**SNLI[0], "sentence1": ["A"]}], {}, r"own.jsonl:1: premise or hypothesis is not text"),
        (SNLI, {"premise": "text"}, r"lacks the column 'text'; its columns are gold_label, sentence1.*--map premise="),
        (SNLI, {"text": "sentence1"}, r"unknown role 'text' in the map"),
        (SNLI, {"premise": "sentence2"}, r"one column for two roles"),
        ([], {}, r"has no pair"),
    ],
)
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, rows: Sequence[Mapping[str, object]], columns: dict[str, str], message: str
) -> None:
    """One message says what is wrong, and in which line."""
    with pytest.raises(SenseprobeError, match=message):
        read_file(_write(tmp_path / "own.jsonl", rows), columns, {}, "")


def test_files_that_are_no_table_are_refused(tmp_path: Path) -> None:
    """Neither text nor a damaged Parquet file is a corpus."""
    for name, data in (("a.jsonl", b"premise,hypothesis\n"), ("b.parquet", b"PAR1\0\0\0\0PAR1"), ("c", b"\xff\xfe")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(SenseprobeError, match=name):
            read_file(tmp_path / name, {}, {}, "")


def test_a_release_is_a_corpus() -> None:
    """A release of inference has its gold labels and its licence; one config can be named."""
    release = senseprobe.load("nli-control@1.0.1")
    corpus = read_release(release, "religion")

    assert (len(corpus), corpus.name, corpus.license) == (10_880, "nli-control@1.0.1:religion", "CC-BY-4.0")
    assert corpus.counts == {"entailment": 5440, "neutral": 0, "contradiction": 5440}
    with pytest.raises(SenseprobeError, match="no pair of neutral"):
        corpus.check_labels()
    with pytest.raises(SenseprobeError, match="does not have pairs of premise and hypothesis"):
        read_release(senseprobe.load("sssb@1.0.2"), None)


def test_no_premise_is_on_both_sides() -> None:
    """About the share is held out, the same pairs each time, and by premises."""
    corpus = Corpus.of("people", "", people_pairs())
    examples = Examples.split(corpus, 0.3)
    sides = [
        {corpus.texts[text] for text in examples.pairs[side, 0]} for side in (examples.training, examples.held_out)
    ]

    assert not sides[0] & sides[1]
    assert sorted([*examples.training, *examples.held_out]) == [*range(len(corpus))]
    assert 0.1 < len(examples.held_out) / len(corpus) < 0.5
    assert Examples.split(corpus, 0.3).held_out.tolist() == examples.held_out.tolist()


def test_another_corpus_is_held_out() -> None:
    """Its pairs follow those that are trained on, and have their own texts."""
    training, other = (
        Corpus.of(name, "", rows) for name, rows in (("a", people_pairs()), ("b", [("A", "B", "neutral")]))
    )
    examples = Examples.join(training, other)

    assert examples.held_out.tolist() == [len(training)]
    assert [examples.texts[text] for text in examples.pairs[-1]] == ["A", "B"]
    assert examples.gold[-1] == LABELS.index("neutral")
