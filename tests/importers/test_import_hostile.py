"""Imports of files that are no such files, and imports that are killed: one clear message, and a release or none."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.forks import Child, start
from tests.imports.files import FILES
from tests.profiles import examples

from senseprobe import api
from senseprobe.errors import SenseprobeError
from senseprobe.importers.plan import read_import
from senseprobe.release.manifest import read_manifest

SECONDS = 20.0
"""More than any of these small files takes on a machine that is busy: a hang is longer."""

# ---- Mutations ---------------------------------------------------------------------------------------------------

TOKENS = (
    *"\n\n\r\t []{}\",:'$%_.",
    *(
        "[noun, ",
        "stereo]",
        ", anti]",
        "$SENSE-ID$",
        "%1:18:00::",
        "BLANK",
        "null",
        "true",
        "1e999",
        "NaN",
        "-",
        "\\ud800",
    ),
    *(
        '"',
        '""',
        '"\n',
        "\x00",
        "\ufeff",
        "\u2028",
        "\x85",
        "\x1b[2J",
        "\u202e",
        "ß",
        "İ",
        "ﬁ",
        "😀",
        "=1+1",
        "_",
        "a" * 2_001,
    ),
    *("he", "she", "[", "]", "[]", "[[", ".male.txt", "recipe", "../", "targ1", "examples", "gold_label", "sentences"),
)
BITS = st.one_of(
    st.binary(max_size=40),
    st.lists(st.sampled_from(TOKENS), max_size=8).map(lambda tokens: "".join(tokens).encode("utf-8", "surrogatepass")),
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(TOKENS))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)

Files = list[tuple[str, bytes]]


def _whole(format_: str) -> Files:
    return [(path.name, path.read_bytes()) for path in FILES[format_]]


@st.composite
def spliced(draw: st.DrawFn, format_: str) -> Files:
    """One of the files with other bytes in the place of some of its own, at one to three places."""
    files = _whole(format_)
    at = draw(st.integers(0, len(files) - 1))
    name, data = files[at]
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(data)))
        data = data[:begin] + draw(BITS) + data[begin + draw(st.integers(0, 40)) :]
    files[at] = (name, data)
    return files


@st.composite
def shuffled(draw: st.DrawFn, format_: str) -> Files:
    """One of the files, lines of which are lost, doubled, moved, or come from a file of another format."""
    files = _whole(format_)
    at = draw(st.integers(0, len(files) - 1))
    name, data = files[at]
    lines = data.split(b"\n")
    others = draw(st.sampled_from([data for format_ in FILES for _, data in _whole(format_)])).split(b"\n")
    for _ in range(draw(st.integers(1, 4))):
        to = draw(st.integers(0, len(lines)))
        lines[to : to + draw(st.integers(0, 2))] = [draw(st.sampled_from((*lines, *others, b"")))]
    files[at] = (name, b"\n".join(lines))
    return files


def _places(data: object) -> list[tuple[dict[str, object] | list[object], object]]:
    keys: list[object] = [*data] if isinstance(data, dict) else [*range(len(data))] if isinstance(data, list) else []
    return [position for key in keys for position in ((data, key), *_places(data[key]))]  # type: ignore[index, misc]


@st.composite
def revalued(draw: st.DrawFn, format_: str) -> Files:
    """A file of JSON with other values, or without some; other formats are spliced."""
    files = _whole(format_)
    at = draw(st.integers(0, len(files) - 1))
    try:
        data = json.loads(files[at][1])
    except ValueError:
        return draw(spliced(format_))
    for _ in range(draw(st.integers(1, 3))):
        if places := _places(data):
            holder, key = draw(st.sampled_from(places))
            if draw(st.booleans()):
                holder[key] = draw(VALUES)  # type: ignore[index, call-overload]
            else:
                del holder[key]  # type: ignore[arg-type]
    text = json.dumps(data, ensure_ascii=draw(st.booleans()))
    files[at] = (files[at][0], text.encode("utf-8", "surrogatepass"))
    return files


@st.composite
def noise(draw: st.DrawFn, format_: str) -> Files:
    """Files of any bytes."""
    return [(name, draw(st.one_of(st.binary(max_size=300), BITS))) for name, _ in _whole(format_)]


def _judge(format_: str, folder: Path) -> Callable[[Files], None]:
    """Imports files; whatever they hold, they become rows or one message, soon."""

    def judge(files: Files) -> None:
        paths = []
        for name, data in files:
            paths.append(folder / name)
            paths[-1].write_bytes(data)
        start = time.monotonic()
        try:
            imported = read_import(format_, paths)
        except SenseprobeError as error:
            message = str(error)
            assert message.isprintable()
        else:
            ids = [
                name for config in imported.configs for rows in imported.rows(config) for name in rows["id"].to_pylist()
            ]
            assert len(ids) == len({*ids}) > 0
            assert all(
                row["source_file"] in {name for name, _ in files} for table in imported.tables for row in table.rows
            )
            imported.recipe()
            _freeze(format_, paths, folder)
        assert time.monotonic() - start < SECONDS

    return judge


def _freeze(format_: str, paths: list[Path], folder: Path) -> None:
    """Whatever can be read can be frozen and made again: one file in twenty, as it takes long."""
    if np.random.default_rng(sum(path.stat().st_size for path in paths)).random() < 0.05:
        out = folder / f"out-{time.monotonic_ns()}"
        release, _ = api.import_release(format_, paths, "fuzzed", "1.0.0", None, out)
        assert api.verify(str(release.folder), rebuild=True) == []


def _fuzz(format_: str, folder: Path, most: int) -> None:
    judge = _judge(format_, folder)
    strategy = st.one_of(spliced(format_), shuffled(format_), revalued(format_), noise(format_))
    checked = settings(
        max_examples=most,
        database=None,
        derandomize=most < 1_000,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[*HealthCheck],
    )
    checked(given(strategy)(judge))()


@pytest.mark.parametrize("format_", FILES)
def test_whatever_stands_in_a_file_is_rows_or_one_message(format_: str, tmp_path: Path) -> None:
    """Two hundred files (in `make test` fewer): of any bytes, spliced, with lines of others, with other values."""
    _fuzz(format_, tmp_path, examples(200))


@pytest.mark.soak
@pytest.mark.parametrize("format_", FILES)
def test_whatever_stands_in_many_files_is_rows_or_one_message(format_: str, tmp_path: Path) -> None:
    """Two thousand files of each format."""
    _fuzz(format_, tmp_path, 2_000)


# ---- Imports that are killed -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file to import, which makes 900 pairs, and an earlier release of it."""
    folder = tmp_path_factory.mktemp("killed")
    text = [f"The s is p{n}.\t[a, s%1:18:00::, stereo]\nThe s is q{n}.\t[a, s%1:18:00::, anti]\n" for n in range(30)]
    (folder / "pairs.txt").write_text("".join(text))
    api.import_release("sssb", [folder / "pairs.txt"], "big", "0.0.1", None, folder)
    return folder


def _start(releases: Path, told: Path, version: str) -> Child:
    arguments = ["--name", "big", "--version", version, "--out", str(releases)]
    return start(told, "import", "sssb", str(releases / "pairs.txt"), *arguments)


def _writing(child: Child, releases: Path, version: str) -> bool:
    """Wait until the import begins to write; False where it has ended before we looked."""
    while child.runs:
        if any((releases / "big").glob(f".{version}.partial-*")):
            return True
        time.sleep(0.001)
    return False


def _kill(releases: Path, told: Path, moments: int, major: int) -> None:
    rng = np.random.default_rng(20220526)
    earlier = read_manifest(releases / "big" / "0.0.1")
    child = _start(releases, told, f"{major}.0.0")
    assert _writing(child, releases, f"{major}.0.0")
    begun = time.monotonic()
    child.end()
    seconds = 1.1 * (time.monotonic() - begun)
    for number, moment in enumerate([0.0, *rng.uniform(0, seconds, moments - 1)], start=1):
        version = f"{major}.{number}.0"
        child = _start(releases, told, version)
        if _writing(child, releases, version):
            time.sleep(moment)
        child.send(signal.SIGKILL)
        code, _, _ = child.end()
        folder = releases / "big" / version
        if not folder.exists():
            assert code == -signal.SIGKILL
            api.import_release("sssb", [releases / "pairs.txt"], "big", version, None, releases)
        assert api.verify(str(folder)) == []
        assert read_manifest(folder).content == earlier.content
        assert not any((releases / "big").glob(f".{version}.*"))


@pytest.mark.slow
def test_a_killed_import_leaves_no_half_release(releases: Path, tmp_path: Path) -> None:
    """Ten moments of writing: the release is whole or absent, and the rerun gives the same content hash."""
    _kill(releases, tmp_path, 10, 1)


@pytest.mark.soak
def test_a_killed_import_never_leaves_half_a_release(releases: Path, tmp_path: Path) -> None:
    """A hundred moments."""
    _kill(releases, tmp_path, 100, 2)
