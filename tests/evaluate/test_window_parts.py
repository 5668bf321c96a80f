"""Parts of a scoring that cannot be joined, or were made by two at once: each is named, and nothing is half-written.

The parts here are those of a tiny masked model on 186 pairs, six windows of 64 units. Others are made of them as a
stranger, a broken disk or another machine would make them.
"""

import errno
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from senseprobe import api
from senseprobe.api.scoring_jobs import make_job
from senseprobe.errors import ResultError, SenseprobeError
from senseprobe.evaluate.scorers import base, get
from senseprobe.evaluate.units import Unit
from senseprobe.evaluate.windows import parts, planning, worker
from senseprobe.evaluate.windows.joining import join_parts
from senseprobe.evaluate.windows.parts import Part, is_whole, read_part, write_part
from senseprobe.evaluate.windows.places import names_in, place_of, read_place, write_place
from senseprobe.evaluate.windows.plan_form import (
    OpenPlan,
    Plan,
    Window,
    part_file,
    read_plan,
    rows_file,
    units_file,
    write_plan_form,
)
from senseprobe.evaluate.windows.row_numbers import RowStream

RELEASE = "sssb@1.1.0:noun"


@pytest.fixture(scope="module")
def made(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder whose parts are all there; nobody writes to it."""
    folder = tmp_path_factory.mktemp("made") / "parts"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "WINDOW", 64)
        api.plan_scores(str(tiny_models["bert"]), RELEASE, "aul", parts=folder)
    api.score_shard(folder, 0, 1)
    yield folder
    assert join_parts(folder).plan.plan.window == 64


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "parts"))


def changed(folder: Path, number: int, change: Callable[[Part], Part]) -> None:
    """Write a part again as somebody else would have."""
    path = folder / part_file(number)
    part = change(read_part(path.read_bytes(), path.name))
    path.write_bytes(write_part(part, read_plan(folder).plan.jobs[0].numbers))


def with_maker(part: Part, **facts: Any) -> Part:  # noqa: ANN401 - of any field
    """A part of another maker."""
    return replace_part(part, maker=part.maker.model_copy(update=facts))


def replace_part(part: Part, **facts: Any) -> Part:  # noqa: ANN401 - of any field
    """A part with other facts."""
    return replace(part, **facts)


def refusal_of(read: Callable[[], object], otherwise: str) -> str:
    """The message of a file that is refused; of one that can be read `otherwise`."""
    try:
        read()
    except SenseprobeError as error:
        return str(error)
    return otherwise


# --- what `join` refuses ----------------------------------------------------------------------------------------------


def test_missing_parts_are_named(folder: Path) -> None:
    """By the numbers of their windows; the first twenty."""
    for number in (1, 4):
        (folder / part_file(number)).unlink()
    assert worker.missing_windows(folder) == (1, 4)
    with pytest.raises(ResultError, match=r"of 6 windows, 2 have no part in .*: window 1, window 4; start"):
        join_parts(folder)


@pytest.mark.parametrize("where", range(0, 1_000, 97))
def test_one_flipped_bit_anywhere_is_found(where: int, folder: Path) -> None:
    """Of any byte of a part: at its begin, among its numbers, in what it says of itself, at its end."""
    path = folder / part_file(2)
    data = bytearray(path.read_bytes())
    data[where * (len(data) - 1) // 970] ^= 1 << where % 8
    path.write_bytes(bytes(data))
    with pytest.raises(
        ResultError, match=r"part-00002\.parquet is damaged, or no part: .* delete it and start its shard"
    ):
        join_parts(folder)


def test_each_byte_counts(made: Path) -> None:
    """A part is whole with the bytes that were written, and with no others: each byte of it is changed in turn."""
    data = (made / part_file(5)).read_bytes()
    assert is_whole(data)
    for place in range(len(data)):
        assert not is_whole(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
    assert not any(is_whole(part) for part in (b"", data[:-1], data + b"\0", data * 2))


def test_a_part_with_two_names_is_doubled(folder: Path) -> None:
    """Whichever name the second has."""
    shutil.copyfile(folder / part_file(3), folder / "part-00003 (1).parquet")
    with pytest.raises(ResultError, match=r"\(1\)\.parquet has the answers to window 3, as part-00003\.parquet has"):
        join_parts(folder)


def test_a_part_in_the_place_of_another_is_named(folder: Path) -> None:
    """Two parts have the answers to one window, and the other's are not there."""
    shutil.copyfile(folder / part_file(3), folder / part_file(1))
    with pytest.raises(ResultError, match=r"part-00001\.parquet has the answers to window 3, of which part-00003"):
        join_parts(folder)


def test_a_part_of_another_plan_is_foreign(folder: Path) -> None:
    """In the place of a part, or beside the parts."""
    shutil.copyfile(folder / part_file(3), folder / "kept")
    changed(folder, 3, lambda part: replace_part(part, plan="0" * 64))
    with pytest.raises(ResultError, match=r"part-00003\.parquet is the part of another plan: delete it and start"):
        join_parts(folder)
    (folder / part_file(3)).rename(folder / "other.parquet")
    (folder / "kept").rename(folder / part_file(3))
    with pytest.raises(ResultError, match=r"other\.parquet is not a part of this plan: move it elsewhere"):
        join_parts(folder)
    (folder / "other.parquet").unlink()
    (folder / "slurm-17.out").write_text("a log lies beside the parts")
    join_parts(folder)


MIXTURES: dict[str, Callable[[Part], Part]] = {
    "the model's weights is ": lambda part: with_maker(part, model={**part.maker.model, "weights": "0" * 64}),
    "the model's tokenizer is ": lambda part: with_maker(part, model={**part.maker.model, "tokenizer": "0" * 64}),
    "the number format is bfloat16 in": lambda part: with_maker(part, model={**part.maker.model, "dtype": "bfloat16"}),
    "torch is 2.0.0 in": lambda part: with_maker(part, libraries={**part.maker.libraries, "torch": "2.0.0"}),
    "the version of senseprobe is 9.9.9 in": lambda part: with_maker(part, senseprobe="9.9.9"),
    "the number of threads is 7 in": lambda part: with_maker(part, threads=7),
    "the device is NVIDIA H200 in": lambda part: with_maker(part, device="NVIDIA H200"),
    "the kind of processor is AVX2x in": lambda part: with_maker(part, processor="AVX2x"),
}


@pytest.mark.parametrize("message", MIXTURES)
def test_parts_that_were_not_made_alike_are_refused(message: str, folder: Path) -> None:
    """With which part, what differs, and what to do; and before a shard goes on beside them."""
    changed(folder, 4, MIXTURES[message])
    with pytest.raises(
        ResultError, match=r"part-00004\.parquet and .*part-00000\.parquet cannot be joined: "
    ) as raised:
        join_parts(folder)
    assert message in str(raised.value)
    assert "delete one of them, and start its shard again where all are alike" in str(raised.value)
    for number in (0, 1, 2, 3, 5):
        (folder / part_file(number)).unlink()
    with pytest.raises(ResultError, match="cannot be joined"):
        api.score_shard(folder, 0, 1)
    assert worker.missing_windows(folder) == (0, 1, 2, 3, 5)


def test_another_definition_of_the_scorer_is_refused(folder: Path) -> None:
    """Of a part, and of a plan."""
    changed(folder, 0, lambda part: with_maker(part, version=9))
    with pytest.raises(ResultError, match=r"part-00000\.parquet was made by the scorer aul@9, and aul@\d was planned"):
        join_parts(folder)
    path = folder / "plan" / "plan.json"
    plan = json.loads(path.read_text())
    plan["jobs"][0]["version"] = 9
    path.write_text(json.dumps(plan))
    with pytest.raises(ResultError, match="was planned with another definition of the scorer aul: plan again"):
        join_parts(folder)


def test_fewer_units_than_planned_are_refused(folder: Path) -> None:
    """Of a part that is whole."""
    changed(folder, 0, lambda part: replace_part(part, digests=part.digests[1:], numbers=part.numbers[1:]))
    with pytest.raises(ResultError, match="has 63 units with 1 numbers, but its window has 64 with 1"):
        join_parts(folder)


def test_a_release_that_changed_is_refused(folder: Path) -> None:
    """The plan names its content."""
    path = folder / "plan" / "plan.json"
    text = path.read_text().replace(read_plan(folder).plan.release.content, "0" * 64)
    path.write_text(text)
    digest = read_plan(folder).digest
    for number in range(6):
        changed(folder, number, lambda part: replace_part(part, plan=digest))
    with pytest.raises(ResultError, match="name the release that was planned"):
        api.join_scores(folder)


# --- shards that stop, or run twice -----------------------------------------------------------------------------------


def test_a_window_that_was_interrupted_is_computed_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed process left of it is removed; finished windows are not computed again, and are the same bytes."""
    before = {number: (folder / part_file(number)).read_bytes() for number in range(6)}
    (folder / part_file(4)).unlink()
    left = folder / f".{part_file(4)}.partial-deadbeef-999999999"
    left.write_bytes(before[4][:100])
    answered: list[int] = []
    read = worker.read_units

    def note(plan: OpenPlan, number: int, window: Window) -> list[Unit]:
        answered.append(number)
        return read(plan, number, window)

    monkeypatch.setattr(worker, "read_units", note)
    summary = api.score_shard(folder, 0, 1)
    assert (answered, summary.answered, summary.missing) == ([4], 1, 0)
    assert not left.exists()
    assert {number: (folder / part_file(number)).read_bytes() for number in range(6)} == before


def test_an_exception_keeps_finished_windows_and_nothing_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the third of six windows."""
    for number in range(6):
        (folder / part_file(number)).unlink()
    steps = iter(range(1_000))
    done: list[int] = []

    def step(units: int, total: int) -> None:
        done.append(units)
        if units > 140 and next(steps) == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        api.score_shard(folder, 0, 1, progress=step)
    assert [path.name for path in sorted(folder.iterdir())] == [part_file(0), part_file(1), "plan"]
    assert api.score_shard(folder, 0, 1).answered == 4


def test_a_full_disk_is_one_message(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a plan or a part is written; nothing is left of either."""

    def fill(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (folder / part_file(2)).unlink()
    with monkeypatch.context() as patch:
        patch.setattr("senseprobe.atomic_files._sync", fill)
        with pytest.raises(ResultError, match=r"cannot write .*part-00002\.parquet: No space left on device; finished"):
            api.score_shard(folder, 0, 1)
    assert worker.missing_windows(folder) == (2,)
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    model = read_plan(folder).plan.model.name
    for target in ("write_windows", "write_plan_form"):
        with monkeypatch.context() as patch:
            patch.setattr(planning, target, fill)
            with pytest.raises(ResultError, match=r"cannot write .*plan: No space left on device; nothing was changed"):
                api.plan_scores(model, RELEASE, "aul", parts=folder.with_name("new"))
        assert not folder.with_name("new").exists()


def test_two_that_plan_at_once_have_one_plan(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have written all of it before either gives it its name."""
    model, new = read_plan(folder).plan.model.name, folder.with_name("new")
    both, plans = threading.Barrier(2), list[api.ScorePlan]()

    def wait(plan: Plan) -> bytes:
        both.wait(60)
        return write_plan_form(plan)

    monkeypatch.setattr(planning, "write_plan_form", wait)
    names = iter(("one", "two"))
    monkeypatch.setattr("senseprobe.atomic_files._partial_path", lambda final: final.with_name(f".plan.{next(names)}"))
    threads = [
        threading.Thread(target=lambda: plans.append(api.plan_scores(model, RELEASE, "aul", parts=new)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert plans[0] == plans[1]
    assert [path.name for path in new.iterdir()] == ["plan"]
    assert len(read_plan(new).windows) == plans[0].windows


def test_a_folder_in_the_place_of_a_plan_is_named(folder: Path) -> None:
    """Somebody deleted the plan alone: what it said is lost."""
    model = read_plan(folder).plan.model.name
    (folder / "plan" / "plan.json").unlink()
    with pytest.raises(ResultError, match=r"cannot write .*plan: it exists, without a plan; delete it"):
        api.plan_scores(model, RELEASE, "aul", parts=folder)


def test_another_scoring_in_the_folder_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what is asked for otherwise; the same one is taken."""
    monkeypatch.setattr(base, "WINDOW", 64)
    model = read_plan(folder).plan.model.name
    asked: list[tuple[dict[str, Any], str]] = [
        ({"scorers": "cps"}, r"this one asks for scorers \('cps',\), not \('aul',\)"),
        ({"seed": 3}, "this one asks for seed 3, not 0"),
        ({"limit": 100}, "this one asks for limit 100, not None"),
        ({"control": False}, "this one asks for control False, not True"),
        ({"model": api.model(model, dtype="float64")}, "this one asks for model dtype 'float64', not 'float32'"),
        ({"release": "sssb@1.1.0:verb"}, "this one asks for release config 'verb', not 'noun'"),
    ]
    for options, message in asked:
        given = {"model": model, "release": RELEASE, "scorers": "aul", **options}
        with pytest.raises(ResultError, match=message):
            api.plan_scores(**given, parts=folder)


# --- strangers' files -------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_plan_of_a_stranger_is_read_or_refused(data: st.DataObject, made: Path, tmp_path: Path) -> None:
    """Any byte of it changed, cut or repeated: one message, no other error."""
    text = bytearray((made / "plan" / "plan.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text) - 1))
        kind = data.draw(st.sampled_from(["change", "cut", "repeat", "number"]))
        if kind == "change":
            text[place] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del text[place : place + data.draw(st.integers(1, 200))]
        elif kind == "repeat":
            text[place:place] = text[place : place + 40] * data.draw(st.integers(1, 20))
        else:
            text[place:place] = data.draw(st.sampled_from([b"-1", b"1e999", b"9" * 30, b"null", b'"', b"[" * 5_000]))
        if not text:
            break
    folder = tmp_path / "stranger"
    (folder / "plan").mkdir(parents=True, exist_ok=True)
    (folder / "plan" / "plan.json").write_bytes(bytes(text))
    assert "plan" in refusal_of(lambda: read_plan(folder), "plan")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_part_of_a_stranger_is_read_or_refused(data: st.DataObject, made: Path) -> None:
    """With a checksum that is right: its author may mean harm."""
    whole = (made / part_file(0)).read_bytes()
    mark = whole.index(b"senseprobe-sha256:") + len(b"senseprobe-sha256:")
    text = bytearray(whole[:mark] + b"0" * 64 + whole[mark + 64 :])
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(text) - 1))
        if not mark - 18 <= place < mark + 64:
            text[place] = data.draw(st.integers(0, 255))
    digest = hashlib.sha256(bytes(text)).hexdigest().encode()
    forged = bytes(text).replace(b"senseprobe-sha256:" + b"0" * 64, b"senseprobe-sha256:" + digest)
    assert "forged" in refusal_of(lambda: read_part(forged, "forged").numbers[0], "forged")


@pytest.mark.parametrize("name", [units_file(1), rows_file(1)])
def test_a_damaged_window_is_named(name: str, folder: Path) -> None:
    """Where its units are read, or where they occur."""
    path = folder / "plan" / name
    path.write_bytes(path.read_bytes()[:-9] + b"x" + path.read_bytes()[-8:])
    (folder / part_file(1)).unlink()
    if name == units_file(1):
        with pytest.raises(ResultError, match=r"units-00001\.parquet is damaged: .* and plan again"):
            api.score_shard(folder, 0, 1)
        return
    api.score_shard(folder, 0, 1)
    stream = RowStream(join_parts(folder), make_job(RELEASE, 0, None), get("aul"))
    with pytest.raises(ResultError, match=r"rows-00001\.parquet is damaged: .* and plan again"):
        list(stream)


def test_a_part_is_a_plain_table(made: Path) -> None:
    """Other programs read it: digests of 16 bytes, numbers in float64, and reasons."""
    table = pq.read_table(made / part_file(0))
    assert table.schema.remove_metadata() == pa.schema(
        [("unit", pa.binary(16)), ("score", pa.float64()), ("reason", pa.string())]
    )
    assert np.isfinite(table["score"].to_numpy()).all()
    assert (made / part_file(0)).stat().st_size < parts.MAX_BYTES


# --- addresses --------------------------------------------------------------------------------------------------------


@pytest.fixture
def address() -> Iterator[str]:
    """A folder that fsspec has in memory."""
    import fsspec  # type: ignore[import-untyped]

    yield "memory://shared/parts"
    fsspec.filesystem("memory").rm("/shared", recursive=True)


def test_parts_at_an_address_make_the_same_result(address: str, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planned, answered, continued and joined there; what is damaged or missing there is named by its address."""
    monkeypatch.setattr(base, "WINDOW", 64)
    model = read_plan(made).plan.model.name
    assert api.plan_scores(model, RELEASE, "aul", parts=address).windows == 6
    assert api.plan_scores(model, RELEASE, "aul", parts=Path(address)).windows == 6  # which has lost a slash
    assert api.score_shard(address, 0, 2).missing == 3
    with pytest.raises(ResultError, match=r"3 have no part in memory://shared/parts: window 1, window 3, window 5"):
        api.join_scores(address)
    assert api.score_shard(address, 0, 1).answered == 3
    (there,), (here,) = api.join_scores(address), api.join_scores(made)
    assert (there.signature, there.figures) == (here.signature, here.figures)
    stream = RowStream(join_parts(place_of(address)), make_job(RELEASE, 0, None), get("aul"))
    assert sum(len(frame) for _, frame in stream) == 186
    place = place_of(address) / part_file(2)
    data = read_place(place, parts.MAX_BYTES)
    write_place(place, data[:-1] + b"x")
    with pytest.raises(ResultError, match=r"memory://shared/parts/part-00002\.parquet is damaged"):
        api.join_scores(address)
    assert {name for name in names_in(place_of(address)) if name.startswith(".")} == set()


@pytest.mark.parametrize("address", ["nosuchprotocol://x/y", "memory://nowhere/parts"])
def test_an_address_that_cannot_be_read_is_one_message(address: str) -> None:
    """An unknown kind of address, and one without a plan."""
    with pytest.raises(ResultError, match=address):
        api.score_shard(address, 0, 1)
