"""Size and free space are stated before anything is written; what does not fit, or is too much, is refused.

Expected values: products of the lengths of lists, by hand; bytes of files that were written.
"""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest
from tests.commands import Typed, typing
from tests.tiny import FRONT, lay_out
from tests.tiny_release import write_release

from senseprobe import api
from senseprobe.errors import ReleaseError
from senseprobe.release.parquet import ROWS_PER_FILE, file_names
from senseprobe.release.restore import Size
from senseprobe.release.shards import shard_files, shard_rows

Usage = namedtuple("Usage", "total used free")
SLOTS = tuple("abcdefg")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line."""
    return typing(monkeypatch, capfd)


def _product(project: Path, lengths: tuple[int, ...]) -> None:
    """A dataset whose rows are the product of lists of these lengths."""
    slots = SLOTS[: len(lengths)]
    rows = 1
    for length in lengths:
        rows *= length
    front = (
        FRONT.replace("PAIRS", str(rows)).replace("target: job", "target: a").replace("[job]", f"[{', '.join(slots)}]")
    )
    front = front.replace("  job: {list: jobs}\n", "".join(f"  {slot}: {{list: {slot}s}}\n" for slot in slots))
    text = " ".join(f"{{{{ {slot} }}}}" for slot in slots)
    lay_out(project, f"{front}{{{{ pronoun.subject | upfirst }}}} is {text}.\n")
    package = "name: mine\nresources:\n"
    for slot, length in zip(slots, lengths, strict=True):
        fields = "schema: {fields: [{name: word, type: string}]}"
        source = "sources: [{title: nobody}], licenses: [{name: MIT}]"
        package += f"  - {{name: {slot}s, path: {slot}s.csv, {source}, {fields}}}\n"
        words = [f"{slot}{number}" for number in range(length)]
        (project / "wordlists" / f"{slot}s.csv").write_text("\n".join(["word", *words]) + "\n")
    (project / "wordlists" / "datapackage.yaml").write_text(package)


def _free(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**15, 0, free))


def test_more_rows_than_anybody_means_are_refused(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: 1000^3 * 50 * 100 are 5 * 10^12 rows, which `build` began to write."""
    monkeypatch.chdir(tmp_path)
    _product(tmp_path, (1000, 1000, 1000, 50, 100))
    _free(monkeypatch, 10**15)
    message = typed("build", "tiny", "1.0.0").message
    assert message.startswith("tiny 1.0.0: 5,000,000,000,000 rows, an estimated ")
    assert " TB; 1,000 TB are free in " in message
    assert message.endswith("this is more than 1,000,000,000 rows; nothing was written (use --force to write anyway)")
    assert not (tmp_path / "releases" / "tiny").exists()
    message = typed("build", "tiny", "1.0.0", "--shards", "100", "--shard", "7").message
    # By hand: 19,073,487 files of 262,144 rows, of which shard 7 has 190,735; the last, short one is another's.
    assert message.startswith("tiny 1.0.0.shard-00007-of-00100: 50,000,035,840 rows, an estimated ")


def test_what_does_not_fit_is_refused(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Free space is what the system says; --force, and force=True, write what is estimated not to fit."""
    monkeypatch.chdir(tmp_path)
    _product(tmp_path, (30, 40))
    _free(monkeypatch, 100)
    message = typed("build", "tiny", "1.0.0").message
    assert message.startswith("tiny 1.0.0: 1,200 rows, an estimated ")
    assert "; 100 bytes are free in " in message
    assert message.endswith(": the rows do not fit on the disk; nothing was written (use --force to write anyway)")
    with pytest.raises(ReleaseError, match="the rows do not fit on the disk"):
        api.build_shard("tiny", "1.0.0", 0, 1)
    assert api.build("tiny", "1.0.0", force=True).folder.is_dir()
    assert typed("build", "tiny", "1.0.1", "--force").code == 0


def test_size_is_stated_first(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On standard error, so that what programs read stays as it is; `verify --restore` has it from the manifest."""
    monkeypatch.chdir(tmp_path)
    write_release(tmp_path)
    _free(monkeypatch, 2_500_000_000)
    done = typed("build", "tiny", "1.0.1", "--json")
    assert done.told["release"] == "tiny@1.0.1"
    assert done.err.startswith("tiny 1.0.1: 2 rows, an estimated ")
    assert "; 2.50 GB are free in " in done.err
    folder = tmp_path / "releases" / "tiny" / "1.0.0"
    size = sum(path.stat().st_size for path in (folder / "job").iterdir())
    shutil.rmtree(folder / "job")
    heard: list[str] = []
    api.restore("tiny@1.0.0", say=heard.append)
    assert [line.partition(";")[0] for line in heard] == [f"tiny@1.0.0: 2 rows, {size / 1000:.2f} kB"]
    api.restore("tiny@1.0.0", say=heard.append)
    assert len(heard) == 1
    shutil.rmtree(folder / "job")
    _free(monkeypatch, 100)
    assert "the rows do not fit on the disk" in typed("verify", "--restore", "tiny@1.0.0").message
    assert typed("verify", "--restore", "tiny@1.0.0", "--force").code == 0


def test_the_estimate_is_near_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 300,000 rows, from 16,384 of them: not less than four fifths, nor more than twice the bytes of the files."""
    monkeypatch.chdir(tmp_path)
    _product(tmp_path, (60, 50, 100))
    sizes: list[Size] = []
    monkeypatch.setattr(Size, "check", lambda size, **_: sizes.append(size))
    folder = api.build("tiny", "1.0.0").folder / "job"
    written = sum(path.stat().st_size for path in folder.iterdir())
    assert sizes[0].rows == 300_000
    assert 0.8 * written < sizes[0].bytes < 2 * written


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_rows_of_a_shard_are_those_of_its_files(shards: int) -> None:
    """Counted without a name of a file being made, they are what the files that are dealt hold."""
    full = ROWS_PER_FILE
    sizes = {"a": 5 * full + 1, "b": 0, "c": 3 * full, "d": 17, "e": 2 * full - 1}
    stored = {name: dict.fromkeys(file_names(size), full) for name, size in sizes.items()}
    for name, size in sizes.items():
        if size % full:
            stored[name][file_names(size)[-1]] = size % full
    for shard in range(shards):
        expected = {
            name: sum(stored[name][file] for file in files) for name, files in shard_files(sizes, shard, shards).items()
        }
        assert shard_rows(sizes, shard, shards) == expected


def test_bytes_are_reported_in_units() -> None:
    """By hand; to three digits."""
    from senseprobe.messages import sized

    texts = {0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1_000: "1.00 kB", 12_345: "12.3 kB", 4 * 10**15: "4,000 TB"}
    assert {number: sized(number) for number in texts} == texts
