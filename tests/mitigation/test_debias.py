"""Copies of files of vectors without directions: what planted vectors show, what is recorded, and what is refused."""

import json
import re
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.mitigation.vectors import FEMALE, FORMS, MALE, plant_gender

from senseprobe import api
from senseprobe.api import results
from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate import models
from senseprobe.evaluate.cache import Store
from senseprobe.evaluate.mitigation.api import check_debias, debias
from senseprobe.evaluate.mitigation.record import Method, Probe, Record, read_map, read_record, recover_parent
from senseprobe.evaluate.models.alteration import MAP, RECORD, identify_alteration
from senseprobe.evaluate.models.vector_tables import open_vectors
from senseprobe.evaluate.result import read_result
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.units import Unit

WORDS, MATRIX = plant_gender()
WORD_LISTS = Path(__file__).parents[2] / "wordlists"


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Labels of the planted words but he and she."""
    path = tmp_path / "labels.csv"
    pairs = [*((word, "male") for word in MALE), *((word, "female") for word in FEMALE)]
    pd.DataFrame(pairs, columns=["word", "label"]).to_csv(path, index=False)
    return path


@pytest.fixture
def parent(tmp_path: Path) -> str:
    """A file of vectors in which gender is one dimension."""
    return write(tmp_path / "parent")


def write(folder: Path, form: str = "glove", **planted: Any) -> str:  # noqa: ANN401
    """Write planted vectors; return their name as a model."""
    folder.mkdir()
    return f"vectors:{FORMS[form](folder, *plant_gender(**planted))}"


def read(folder: Path) -> np.ndarray[Any, Any]:
    """Return all vectors of a folder."""
    table = open_vectors(folder)
    return table.read(range(table.vocabulary.count))


def linear(probes: tuple[Probe, ...]) -> Probe:
    """Return what the linear probe read."""
    return next(probe for probe in probes if probe.kind == "linear")


# --- what planted vectors show ----------------------------------------------------------------------------------------


def test_projection_removes_a_gender_of_one_dimension(parent: str, labels: Path, tmp_path: Path) -> None:
    """A linear probe read it on all words before, and reads nothing after; he and she become one vector."""
    made = debias(parent, tmp_path / "out", direction="he-she", labels=labels).record

    assert (made.rank, made.dimensions, made.method) == (1, 12, "projection")
    assert linear(made.probes).before == 1
    assert linear(made.probes).low <= linear(made.probes).majority == 0.5
    rows = read(tmp_path / "out")
    assert np.linalg.norm(rows[0] - rows[1]) < 1e-6
    assert np.abs(rows[:, 0]).max() == pytest.approx(made.residual, abs=1e-9)
    assert made.residual < 1e-6


def test_random_directions_do_not(parent: str, labels: Path, tmp_path: Path) -> None:
    """The control: the probe reads as before."""
    copy = debias(parent, tmp_path / "out", direction="he-she", labels=labels, controls=3)

    assert [path.name for path in copy.controls] == ["out-random-01", "out-random-02", "out-random-03"]
    records = [read_record(path) for path in copy.controls]
    assert [record and (record.method, record.rank, record.seed) for record in records] == [
        ("random", 1, seed) for seed in (1, 2, 3)
    ]
    assert all(record and linear(record.probes).low > 0.9 for record in records)
    assert len({path.read_bytes() for path in tmp_path.glob("out-random-*/vectors.txt")}) == 3


def test_projection_fails_on_a_gender_that_is_spread(labels: Path, tmp_path: Path) -> None:
    """He and she show one dimension of five: a probe reads the rest, and says so. LEACE removes it, INLP most of it."""
    parent = write(tmp_path / "parent", spread=5)

    directions: dict[Method, str | None] = {"projection": "he-she", "leace": None, "inlp": None}
    projected, fitted, iterated = (
        debias(parent, tmp_path / method, direction=direction, method=method, labels=labels).record
        for method, direction in directions.items()
    )

    assert linear(projected.probes).low > 0.9
    assert linear(fitted.probes).low <= linear(fitted.probes).majority
    assert linear(iterated.probes).accuracy < 0.8
    assert fitted.rank == 1
    assert (fitted.regularisation, iterated.regularisation) == (None, 0.01)
    assert (fitted.at_chance, iterated.at_chance) == (None, True)


def test_inlp_says_where_it_ended_too_early(labels: Path, tmp_path: Path) -> None:
    """At a quarter of the dimensions, where its probe still reads the labels."""
    parent = write(tmp_path / "parent", dimensions=4, layered=True)
    copy = debias(parent, tmp_path / "out", method="inlp", labels=labels)

    assert (copy.record.rank, copy.record.at_chance) == (1, False)
    assert "INLP ended at a quarter of the dimensions" in str(copy.section())


def test_random_is_a_method_of_its_own(parent: str, tmp_path: Path) -> None:
    """Without words one direction, with words as many as theirs; the seed decides which."""
    folders = {"a": {"seed": 4}, "b": {"seed": 4, "direction": "he-she"}, "c": {"seed": 5}}
    for name, options in folders.items():
        debias(parent, tmp_path / name, method="random", **options)  # type: ignore[arg-type]

    texts = {name: (tmp_path / name / "vectors.txt").read_bytes() for name in folders}
    assert texts["a"] == texts["b"] != texts["c"]
    made = read_record(tmp_path / "a")
    assert made is not None
    assert made.removed == "1 of 12 dimensions at random (seed 4)"


def test_rest_is_a_class_of_its_own(parent: str, labels: Path, tmp_path: Path) -> None:
    """With unlabelled words LEACE has three classes, so at most two dimensions; words of the fit are not among them."""
    made = debias(parent, tmp_path / "out", method="leace", labels=labels, rest=50).record

    assert (made.rank, made.rest) == (2, 50)
    assert len(made.forms) == 112  # seven tenths of 160
    assert [probe.words for probe in made.probes] == [48, 48]


def test_few_words_are_not_probed(parent: str, tmp_path: Path) -> None:
    """An interval of fewer words says nothing, and the record says why there is none."""
    lines = [f"boy{number},m\ngirl{number},f\n" for number in range(19)]
    (tmp_path / "few.csv").write_text(f"word,label\n{''.join(lines)}", encoding="utf-8")
    copy = debias(parent, tmp_path / "out", direction="he-she", labels=tmp_path / "few.csv")

    assert copy.record.probes == ()
    assert "not probed: 38 words with a label, fewer than 40" in str(copy.section())


# --- records ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("renormalise", [False, True])
def test_the_parent_can_be_computed_back(form: str, renormalise: bool, tmp_path: Path) -> None:
    """From the folder alone, as exactly as its number format is."""
    parent = write(tmp_path / "parent", form)
    debias(parent, tmp_path / "out", direction="he-she", renormalise=renormalise)

    exact = {"npy": 4e-3, "bfloat16": 4e-2}.get(form, 3e-6)
    before = open_vectors(Path(parent.removeprefix("vectors:")))
    expected = before.read(range(before.vocabulary.count))
    np.testing.assert_allclose(recover_parent(read(tmp_path / "out"), tmp_path / "out"), expected, atol=exact)


def test_a_chain_has_the_records_of_all(parent: str, tmp_path: Path) -> None:
    """What was removed first stays removed, where the second direction is orthogonal; and both are named."""
    debias(parent, tmp_path / "first", direction="he-she")
    debias(f"vectors:{tmp_path / 'first'}", tmp_path / "second", direction="thing1-thing2")

    made, first = (read_record(tmp_path / name) for name in ("second", "first"))
    assert made is not None
    assert made.parent.record == first
    assert made.removed.endswith("; before that he-she (1 of 12 dimensions, projection)")
    assert np.abs(read(tmp_path / "second")[:, 0]).max() < 1e-5
    assert check_debias(tmp_path / "second").differences == ()


def test_a_record_names_no_folder_of_mine(parent: str, labels: Path, tmp_path: Path) -> None:
    """Files of pairs and labels are named without their folders; their words are there instead."""
    (tmp_path / "pairs.csv").write_text("first,second\nboy1,girl1\nboy2,girl2\nboy3,girl3\n", encoding="utf-8")
    made = debias(parent, tmp_path / "out", direction=str(tmp_path / "pairs.csv"), labels=labels).record

    assert made.axis.direction == "pairs.csv"
    assert made.axis.labels_name == "labels.csv"
    assert made.axis.pairs == (("boy1", "girl1"), ("boy2", "girl2"), ("boy3", "girl3"))
    assert made.axis.labels["girl7"] == "female"
    assert linear(made.probes).words == 154  # all with a label but the six that declare the direction


def test_words_of_a_list_that_are_missing_are_left_out(tmp_path: Path) -> None:
    """Our own lists cannot be changed by users, so their words may be missing, by name."""
    words = ("he", "she", "man", "woman", "boy", "girl", "his", *(f"thing{number}" for number in range(20)))
    folder = tmp_path / "parent"
    folder.mkdir()
    FORMS["glove"](folder, words, np.random.default_rng(0).normal(size=(len(words), 9)))
    made = debias(f"vectors:{folder}", tmp_path / "out", direction="list:definitional").record

    omitted = {omission.word: omission.reason for omission in made.omitted}
    assert omitted["her"] == omitted["guy"] == "not in the file"
    assert omitted["his"] == "its pair is left out"
    assert {form.word for form in made.forms} == {"he", "she", "man", "woman", "boy", "girl"}


def test_json_and_lines_say_the_same(parent: str, labels: Path, tmp_path: Path) -> None:
    """What the command prints, and what a program reads."""
    copy = debias(parent, tmp_path / "out", direction="he-she", labels=labels, controls=1)

    text = str(copy.section())
    assert f"he-she (1 of 12 dimensions, projection) removed from the vectors of {parent}" in text
    assert "1 control at random" in text
    assert "labels of labels.csv that probes read of words the fit did not see" in text
    assert "debiased" not in text
    value = copy.as_dict()
    assert value["record"] == json.loads((tmp_path / "out" / RECORD).read_bytes())
    assert value["controls"] == [str(tmp_path / "out-random-01")]


# --- identity ---------------------------------------------------------------------------------------------------------


def test_a_copy_is_another_model(parent: str, tmp_path: Path) -> None:
    """Its record is a part of its identity; a copy of the vectors alone has none, and a file beside has none."""
    debias(parent, tmp_path / "out", direction="he-she")
    made = read_record(tmp_path / "out")
    assert made is not None
    plain, whole, file = (
        models.load(spec).identity
        for spec in (parent, f"vectors:{tmp_path / 'out'}", f"vectors:{tmp_path / 'out' / 'vectors.txt'}")
    )

    assert whole == file
    assert "debias" not in plain
    assert (whole["debias"], whole["removed"]) == (made.digest, made.removed)
    assert whole["weights"] != plain["weights"]
    (tmp_path / "out" / "other.txt").write_bytes((tmp_path / "out" / "vectors.txt").read_bytes())
    assert "debias" not in models.load(f"vectors:{tmp_path / 'out' / 'other.txt'}").identity


def test_stored_answers_are_never_the_parents(tmp_path: Path) -> None:
    """Not even where weights are the same bytes, and only the record says that something was removed."""
    identity = dict.fromkeys(("weights", "config", "tokenizer"), "0" * 64) | {"dtype": "float32"}
    unit, warnings = Unit("nurse"), list[str]()
    with Store(identity, SCORERS["weat-word"], warnings.append, tmp_path, 2) as store:
        store.add([(unit, (1.0, 2.0))])
        assert [*store.load([unit])] == [unit]
    for digest in ("1" * 64, "2" * 64):
        with Store({**identity, "debias": digest}, SCORERS["weat-word"], warnings.append, tmp_path, 2) as store:
            assert store.load([unit]) == {}
    assert len([*tmp_path.glob("*.sqlite")]) == 3
    assert warnings == []


@pytest.mark.usefixtures("prepared_wordnet")
def test_results_say_what_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the signature the record's hash, on the terminal, on the page and in a comparison what it says."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = "".join(path.read_text("utf-8").lower() for path in WORD_LISTS.glob("*.csv"))
    words = sorted({*re.findall("[a-z]+", text)})
    (tmp_path / "parent").mkdir()
    FORMS["glove"](tmp_path / "parent", words, np.random.default_rng(0).normal(size=(len(words), 8)))
    parent, copy = f"vectors:{tmp_path / 'parent'}", f"vectors:{tmp_path / 'out'}"
    debias(parent, tmp_path / "out", direction="he-she")
    (plain,), (altered,) = (
        api.score(spec, "association@1.1.0", "weat-word", out=tmp_path / "results") for spec in (parent, copy)
    )

    assert "debias" not in plain.model
    assert "|debias=" not in plain.signature
    assert f"|debias={altered.model['debias'][:12]}|" in altered.signature
    removed = "he-she (1 of 8 dimensions, projection)"
    line = f"weat-word · {copy}: removed from the model's vectors: {removed}."
    texts = [
        " ".join(str(document).split())
        for document in (
            results.summarize_results([altered], tmp_path / "results"),
            results.compare([plain, altered]).document(),
        )
    ]
    assert [text.count(line) for text in texts] == [1, 1]
    assert removed in results.brief([altered])
    assert "removed from" not in results.brief([plain])
    assert removed in results.report([altered], tmp_path / "page.html").read_text("utf-8")
    written = next(path for path in (tmp_path / "results").rglob("*.json") if "out" in path.parent.name)
    assert read_result(written).model == altered.model


# --- made again -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["projection", "leace", "inlp", "random"])
def test_a_copy_is_made_again(method: Any, parent: str, labels: Path, tmp_path: Path) -> None:  # noqa: ANN401
    """With the same bytes, by what its record says, wherever the parent is now."""
    direction = "he-she" if method == "projection" else None
    debias(parent, tmp_path / "out", direction=direction, method=method, labels=labels, controls=1, seed=3)
    moved = Path(parent.removeprefix("vectors:")).rename(tmp_path / "moved.txt")

    for folder in ("out", "out-random-01"):
        check = check_debias(tmp_path / folder, f"vectors:{moved}")
        assert check.differences == ()
        assert f"made again from vectors:{moved}, 2 files with the same sha256" in str(check.section())
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("name", ["vectors.txt", MAP, RECORD])
def test_one_flipped_byte_is_found(name: str, parent: str, tmp_path: Path) -> None:
    """In the vectors, the map, or the record."""
    debias(parent, tmp_path / "out", direction="he-she")
    path = tmp_path / "out" / name
    data = bytearray(path.read_bytes())
    place = data.index(b'"rank": 1') + 8 if name == RECORD else len(data) - 9
    data[place] ^= 2  # of the record: rank 3
    path.write_bytes(data)

    check = check_debias(tmp_path / "out")

    assert any(name in line for line in check.differences)
    assert check.as_dict()["differences"] == [*check.differences]
    assert "is not what its record says" in str(check.section())


def test_an_older_record_is_as_it_was_written(parent: str, tmp_path: Path) -> None:
    """A field that it does not have yet is no change."""
    debias(parent, tmp_path / "out", direction="he-she")
    record = json.loads((tmp_path / "out" / RECORD).read_bytes())
    del record["at_chance"], record["axis"]["labels_name"]
    text = json.dumps(record, ensure_ascii=False, indent=1)
    (tmp_path / "out" / RECORD).write_text(f"{text}\n", encoding="utf-8")

    assert "debias.json was changed: it is not as it was written" not in check_debias(tmp_path / "out").differences


def test_another_parent_is_found(parent: str, tmp_path: Path) -> None:
    """Before anything is made."""
    debias(parent, tmp_path / "out", direction="he-she")
    other = write(tmp_path / "other", seed=9)

    (line,) = check_debias(tmp_path / "out", other).differences

    assert line.startswith(f"{other} is not the parent: weights is ")


def test_a_forged_record_is_found(parent: str, tmp_path: Path) -> None:
    """Of a direction that is not what was removed, with hashes that fit."""
    debias(parent, tmp_path / "out", direction="he-she")
    record = json.loads((tmp_path / "out" / RECORD).read_bytes())
    record["axis"]["pairs"] = [["thing1", "thing2"]]
    (tmp_path / "out" / RECORD).write_bytes(Record.model_validate(record).to_bytes())

    differences = check_debias(tmp_path / "out").differences

    assert "vectors.txt differs when it is made again" in differences
    assert any(line.startswith("the map differs by at most") for line in differences)


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "name what to remove with --direction"),
        ({"direction": "he-her"}, "has no vector of her"),
        ({"direction": "he-HE"}, "has one vector for both words of he-HE: there is no direction"),
        ({"direction": "he-she", "method": "leace"}, "fitted to words with labels: give --labels, not --direction"),
        ({"direction": "he-she", "rest": 5}, "--rest adds words to the fit of --method leace"),
        ({"direction": "he-she", "head": "tied"}, "without a head or layers: leave --head out"),
        ({"direction": "he-she", "layers": "all"}, "without a head or layers: leave --layers out"),
        ({"method": "leace", "labels": "list:gender"}, "nothing is removed from vectors:"),
        ({"direction": "list:demonyms"}, "has fewer than two words of list:demonyms"),
    ],
)
def test_what_cannot_be_removed_is_refused(options: dict[str, Any], message: str, parent: str, tmp_path: Path) -> None:
    """In one message, before anything is written."""
    with pytest.raises(SenseprobeError, match=message) as caught:
        debias(parent, tmp_path / "out", **options)

    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_half_of_the_dimensions_stay(tmp_path: Path) -> None:
    """A rank of half of them, or more, is refused, of random directions, too."""
    words = [f"w{number}" for number in range(12)]
    (tmp_path / "p").mkdir()
    FORMS["glove"](tmp_path / "p", words, np.random.default_rng(0).normal(size=(12, 6)))
    lines = "".join(f"w{number},w{number + 6}\n" for number in range(6))
    (tmp_path / "pairs.csv").write_text(f"first,second\n{lines}", encoding="utf-8")
    debias(f"vectors:{tmp_path / 'p'}", tmp_path / "two", direction=f"{tmp_path / 'pairs.csv'}:2")

    methods: tuple[Method, ...] = ("projection", "random")
    for method in methods:
        with pytest.raises(ModelError, match="3 of 6 dimensions would be removed, but at most fewer than half"):
            debias(
                f"vectors:{tmp_path / 'p'}",
                tmp_path / "out",
                direction=f"{tmp_path / 'pairs.csv'}:3",
                method=method,
            )


def test_folders_that_exist_stay(parent: str, tmp_path: Path) -> None:
    """Those of controls, too, before anything is written."""
    (tmp_path / "out-random-02").mkdir()
    with pytest.raises(SenseprobeError, match="out-random-02 exists and is not overwritten"):
        debias(parent, tmp_path / "out", direction="he-she", controls=2)
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    with pytest.raises(SenseprobeError, match="out exists and is not overwritten"):
        debias(parent, tmp_path / "out", direction="he-she")


@pytest.mark.parametrize(("form", "most"), [("glove", 3_000), ("npy", 10_000)])
def test_a_full_disk_leaves_nothing_behind(form: str, most: int, tmp_path: Path) -> None:
    """Whether it is full at the vectors, or at the record."""
    parent = write(tmp_path / "parent", form)
    before = sorted(tmp_path.rglob("*"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        with pytest.raises(SenseprobeError, match=r"cannot write .*: File too large; nothing"):
            debias(parent, tmp_path / "new" / "out", direction="he-she")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_control_that_fails_leaves_nothing_behind(
    parent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor the copy, nor other controls."""
    before = sorted(tmp_path.rglob("*"))

    def draw(dimensions: int, rank: int, seed: int) -> Any:  # noqa: ANN401
        if seed == 2:
            raise KeyboardInterrupt
        return np.eye(dimensions)[:, :rank]

    monkeypatch.setattr("senseprobe.evaluate.mitigation.removal.random_directions", draw)
    with pytest.raises(KeyboardInterrupt):
        debias(parent, tmp_path / "out", direction="he-she", controls=3)
    assert sorted(tmp_path.rglob("*")) == before


def test_other_files_are_refused(tmp_path: Path) -> None:
    """A model of fastText, vectors of tokens, senses, and a served model."""
    (tmp_path / "cc.bin").write_bytes(b"\xba\x16\x4f\x2f" + bytes(100))
    with pytest.raises(ModelError, match=r"it is a model of fastText, not its vectors: use the \.vec file"):
        debias(f"vectors:{tmp_path / 'cc.bin'}", tmp_path / "out", direction="he-she")
    with pytest.raises(ModelError, match="not a file of vectors of words"):
        debias("senses:some.safetensors", tmp_path / "out", direction="he-she")
    with pytest.raises(ModelError, match="only a model of transformers"):
        debias("openai:http://127.0.0.1:1/v1", tmp_path / "out", direction="he-she")
    with pytest.raises(ModelError, match="is not a folder"):
        check_debias(tmp_path / "none")
    with pytest.raises(ModelError, match=r"does not have a debias\.json"):
        check_debias(tmp_path)


def test_the_map_is_what_was_applied(parent: str, tmp_path: Path) -> None:
    """Read by other programs: x - left (right' (x - mean))."""
    debias(parent, tmp_path / "out", direction="he-she")
    erasure, of_rows = read_map(tmp_path / "out")

    before = open_vectors(Path(parent.removeprefix("vectors:"))).read(range(len(WORDS)))
    np.testing.assert_allclose(read(tmp_path / "out"), erasure.apply(before), atol=3e-6)
    np.testing.assert_allclose(of_rows["removed"], erasure.read(before), atol=1e-12)
    assert MATRIX.shape == before.shape


def test_an_attack_on_folders(parent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that have no name, or names that are taken by a link or a file, are one message each."""
    monkeypatch.chdir(tmp_path)
    Path("taken-random-02").symlink_to("nowhere")
    Path("file").write_text("")
    for out, message in (
        (".", "^. exists and is not overwritten"),
        ("taken", "^taken-random-02 exists and is not overwritten"),
        ("file/sub", "^cannot write file/sub: "),
    ):
        with pytest.raises(SenseprobeError, match=message):
            debias(parent, out, direction="he-she", controls=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "parent", "taken-random-02"]


def test_more_copies_of_copies_than_a_record_has(parent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last that fits is made, and the next is refused before anything is computed."""
    monkeypatch.setattr("senseprobe.evaluate.mitigation.record.LONGEST_CHAIN", 2)
    first, second = (tmp_path / name for name in ("first", "second"))
    debias(parent, first, method="random")
    debias(f"vectors:{first}", second, method="random", seed=1)
    with pytest.raises(ModelError, match="second is the last of 2 copies of copies"):
        debias(f"vectors:{second}", tmp_path / "third", method="random", seed=2)


def test_a_file_of_more_words_than_a_record_has(
    parent: str, labels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused when it is read."""
    monkeypatch.setattr("senseprobe.evaluate.mitigation.axes.MOST_WORDS", 10)
    with pytest.raises(SenseprobeError, match=r"labels.csv:12: has more than 10 rows"):
        debias(parent, tmp_path / "out", method="leace", labels=labels)


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_a_vector_that_is_not_finite(tmp_path: Path, number: str) -> None:
    """The message names the parent, and not the copy that will have been removed."""
    path = tmp_path / "vectors.txt"
    path.write_text(f"he 1 0 0 1\nshe 0 1 0 1\nthing {number} 0 1 0\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"vectors.txt: row 3 has a number that is not finite$"):
        debias(f"vectors:{path}", tmp_path / "out", direction="he-she")
    assert [*tmp_path.iterdir()] == [path]


def test_a_copy_that_its_number_format_cannot_hold(tmp_path: Path) -> None:
    """A row of float16 that is turned and brought to its length may leave what float16 can hold."""
    rows = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [4e4, -4e4, 65504, 0]], dtype=np.float16)
    np.save(tmp_path / "v.npy", rows)
    (tmp_path / "v.txt").write_text("he\nshe\nthing\n")
    with pytest.raises(ModelError, match=r"^[^ ]*/v.npy cannot be copied: .*row 3 has a number that is not finite"):
        debias(f"vectors:{tmp_path / 'v.npy'}", tmp_path / "out", direction="he-she", renormalise=True)


@pytest.mark.parametrize(("number_format", "apart"), [("float16", 2.0**-11), ("float32", 2.0**-22)])
def test_words_that_rounding_sets_apart(tmp_path: Path, number_format: str, apart: float) -> None:
    """Where what told them apart was removed before, what rounding left is no direction."""
    rows = np.array([[1, 1, 1, 1], [1 + apart, 1, 1, 1], [0, 1, 2, 3]], dtype=np.float64)
    np.save(tmp_path / "v.npy", rows.astype(number_format))
    (tmp_path / "v.txt").write_text("he\nshe\nthing\n")
    with pytest.raises(ModelError, match="has one vector for both words of he-she"):
        debias(f"vectors:{tmp_path / 'v.npy'}", tmp_path / "out", direction="he-she")


def test_a_record_that_is_a_link_to_nothing(parent: str, tmp_path: Path) -> None:
    """A model is not taken for one that nothing was removed from."""
    debias(parent, out := tmp_path / "out", direction="he-she")
    (out / RECORD).unlink()
    (out / RECORD).symlink_to("nowhere")
    for use in (models.load, lambda spec: debias(spec, tmp_path / "again", method="random")):
        with pytest.raises(ModelError, match=r"debias.json cannot be read: is not a plain file"):
            use(f"vectors:{out}")


def test_files_in_the_cache_of_the_hub_are_links(parent: str, tmp_path: Path) -> None:
    """Those into the store of their repository are read, and no others."""
    debias(parent, out := tmp_path / "out", direction="he-she")
    folder, store = tmp_path / "models--a--b" / "snapshots" / "commit", tmp_path / "models--a--b" / "blobs"
    folder.mkdir(parents=True)
    store.mkdir()
    for name in (RECORD, MAP):
        (store / name).write_bytes((out / name).read_bytes())
        (folder / name).symlink_to(f"../../blobs/{name}")
    assert identify_alteration(folder) == identify_alteration(out)
    assert read_record(folder) == read_record(out)
    assert read_map(folder)[0].rank == 1
    for name in (RECORD, MAP):
        (folder / name).unlink()
        (folder / name).symlink_to(out / name)
    for read_file in (identify_alteration, read_record, read_map):
        with pytest.raises(ModelError):
            read_file(folder)


def test_a_record_beside_other_vectors(parent: str, tmp_path: Path) -> None:
    """Nothing was removed from vectors of the same name, so nothing says that it was; of others it says nothing."""
    debias(parent, out := tmp_path / "out", direction="he-she")
    (file,) = out.glob("*.txt")
    other = file.rename(out / "other.txt")
    assert "debias" not in models.load(f"vectors:{other}").identity
    assert debias(f"vectors:{other}", tmp_path / "copy", method="random").record.parent.record is None
    write(tmp_path / "again", seed=1)
    file.write_bytes((tmp_path / "again" / file.name).read_bytes())
    for use in (models.load, lambda spec: debias(spec, tmp_path / "unmade", method="random")):
        with pytest.raises(ModelError, match=r"is not the file that something was removed from"):
            use(f"vectors:{file}")
