"""`debias.json` and the map beside it: read as they were written, and refused where somebody changed them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mitigation.records import DIGEST, make_record

from senseprobe.errors import ModelError
from senseprobe.evaluate.mitigation.erasure import Erasure
from senseprobe.evaluate.mitigation.record import (
    LONGEST_CHAIN,
    SCHEMA,
    Axis,
    Parent,
    describe_removal,
    pack_map,
    read_map,
    read_record,
    recover_parent,
)
from senseprobe.evaluate.models.alteration import MAP, RECORD, identify_alteration

RNG = np.random.default_rng(0)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The bytes are the same again, and their hash is what the identity has."""
    record = make_record()
    (tmp_path / RECORD).write_bytes(record.to_bytes())

    assert read_record(tmp_path) == record
    assert read_record(tmp_path / "vectors.txt") == record
    assert identify_alteration(tmp_path) == {"debias": record.digest, "removed": record.removed}
    assert record.digest == hashlib.sha256((tmp_path / RECORD).read_bytes()).hexdigest()
    assert json.loads(record.to_bytes())["schema"] == SCHEMA


def test_nothing_was_removed_where_there_is_no_record(tmp_path: Path) -> None:
    """An ordinary folder has no record, and its identity no part of it."""
    assert read_record(tmp_path) is None
    assert identify_alteration(tmp_path) == {}


def test_a_chain_is_told_in_a_line() -> None:
    """What was removed before stands behind what was removed last."""
    first = make_record()
    axis = Axis(direction="a|b")
    removed = describe_removal(axis, "leace", 1, 4, parent=first)
    second = make_record(parent=Parent(name="x", identity={}, record=first), removed=removed)

    assert removed == "a/b (1 of 4 dimensions, LEACE); before that he-she (1 of 4 dimensions, projection)"
    assert second.chain == (second, first)
    assert second.digest != first.digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "newer senseprobe"),
        ({"rank": 2}, "rank is not below half"),
        ({"residual": "NaN"}, "residual"),
        ({"more": 1}, "more: Extra inputs"),
        ({"files": {"a": "0"}}, "files.a"),
        ({"method": "magic"}, "method"),
        ({"perplexity": {"kind": "perplexity", "text": "a", "sha256": DIGEST, "tokens": 0}}, "perplexity.tokens"),
    ],
)
def test_a_changed_record_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """In one line, with the file and the field."""
    record = json.loads(make_record().to_bytes()) | change
    (tmp_path / RECORD).write_text(json.dumps(record), encoding="utf-8")

    with pytest.raises(ModelError, match=message) as caught:
        read_record(tmp_path)

    assert RECORD in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_chain_has_an_end(tmp_path: Path) -> None:
    """Whoever nests records without end gets a message, not a full memory."""
    record = json.loads(make_record().to_bytes())
    for _ in range(LONGEST_CHAIN):
        record = {**record, "parent": {**record["parent"], "record": record}}
    (tmp_path / RECORD).write_text(json.dumps(record), encoding="utf-8")

    with pytest.raises(ModelError, match="records are within each other"):
        read_record(tmp_path)


@pytest.mark.parametrize("removed", [None, "", "a\nb", "a|b", "x" * 2000, 3])
def test_what_was_removed_is_one_line(tmp_path: Path, removed: object) -> None:
    """The line goes into results, so nothing else than a line is taken from a file of somebody's."""
    (tmp_path / RECORD).write_text(json.dumps({"removed": removed, "files": {}}), encoding="utf-8")

    with pytest.raises(ModelError, match="does not say what was removed"):
        identify_alteration(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[1]", "\xff"])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    """By both readers, with the file's name."""
    (tmp_path / RECORD).write_text(text, encoding="latin-1")

    for read in (read_record, identify_alteration):
        with pytest.raises(ModelError, match=RECORD):
            read(tmp_path)


def test_a_record_is_no_link(tmp_path: Path) -> None:
    """A link could lead out of the folder."""
    (tmp_path / RECORD).symlink_to("/etc/passwd")

    with pytest.raises(ModelError, match="plain file"):
        read_record(tmp_path)


@pytest.mark.parametrize("scaled", [False, True])
def test_the_parent_can_be_computed(tmp_path: Path, scaled: bool) -> None:
    """By what was removed of each row, and the factor of each where lengths were restored."""
    rows = RNG.normal(size=(20, 6))
    left, right = (RNG.normal(size=(6, 2)) for _ in range(2))
    erasure = Erasure(left @ np.linalg.inv(right.T @ left), right, RNG.normal(size=6))
    altered = erasure.apply(rows)
    scale = np.linalg.norm(rows, axis=1) / np.linalg.norm(altered, axis=1) if scaled else None
    (tmp_path / MAP).write_bytes(pack_map(erasure, erasure.read(rows), scale))

    recovered = recover_parent(altered if scale is None else altered * scale[:, None], tmp_path)

    np.testing.assert_allclose(recovered, rows, atol=1e-12)
    np.testing.assert_array_equal(read_map(tmp_path)[0].left, erasure.left)


def test_a_damaged_map_is_refused(tmp_path: Path) -> None:
    """Where it is missing, cut short, or of other sizes than the vectors."""
    erasure = Erasure.onto([[1.0], [0.0], [0.0]])
    with pytest.raises(ModelError, match="missing"):
        read_map(tmp_path)
    whole = pack_map(erasure, np.zeros((2, 1)))
    (tmp_path / MAP).write_bytes(whole[:-8])
    with pytest.raises(ModelError, match="cut short"):
        read_map(tmp_path)
    (tmp_path / MAP).write_bytes(pack_map(Erasure(erasure.left, erasure.left, np.zeros(2)), np.zeros((2, 1))))
    with pytest.raises(ModelError, match="not a map"):
        read_map(tmp_path)
    (tmp_path / MAP).write_bytes(whole)
    with pytest.raises(ModelError, match="2 rows, but there are 3"):
        recover_parent(np.zeros((3, 3)), tmp_path)


def test_maps_are_read_by_the_format_s_reader(tmp_path: Path) -> None:
    """The library of the format reads what we write."""
    from safetensors.numpy import load_file

    erasure = Erasure.onto([[1.0], [2.0], [0.5]])
    (tmp_path / MAP).write_bytes(pack_map(erasure, np.ones((4, 1))))

    tensors = load_file(tmp_path / MAP)

    np.testing.assert_array_equal(tensors["left"], erasure.left)
    assert tensors["removed"].shape == (4, 1)
