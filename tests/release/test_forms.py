"""What a release is does not depend on who wrote, restored or downloaded it, and old ones stay readable."""

import csv
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from senseprobe import api
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.release.manifest import SCHEMA, read_manifest
from senseprobe.release.verify import FOREIGN

ROOT = Path(__file__).parents[2]
SSSB = ROOT / "releases" / "sssb" / "1.0.0"
NEWEST = ROOT / "releases" / "sssb" / "1.1.2"  # of the templates as they are
FORMS = Path(__file__).parents[1] / "fixtures" / "releases"

OLD = {"pyarrow": "21.0.0", "inflect": "7.3.1"}
"""Of 2025 and 2024; the environment of the tests has those of constraints.txt."""

WRONG = """
class engine:
    def a(self, text): return "an " + text
    def plural_noun(self, noun): return noun + "zz"
"""


UNDER_ANOTHER = """
import sys
from pathlib import Path
from senseprobe import api
api.build("tiny", "1.0.0", Path(sys.argv[1]))
print([api.verify(release, rebuild=True) for release in sys.argv[2:]])
"""


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment of its own, with older libraries; it borrows all others from ours."""
    place = tmp_path_factory.mktemp("old") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, *(f"{name}=={version}" for name, version in OLD.items())], check=True)
    own = Path(sysconfig.get_path("purelib", "venv", {"base": str(place)}))
    (own / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def _run(python: Path | str, *arguments: object) -> dict[str, Any]:
    """What a command of senseprobe prints as JSON, by an interpreter."""
    command = [str(python), "-m", "senseprobe", *map(str, arguments), "--json"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A release that may be damaged."""
    return Path(shutil.copytree(SSSB, tmp_path / "sssb" / "1.0.0"))


@pytest.mark.system
def test_two_writers_write_other_files_of_the_same_rows(old: Path, tmp_path: Path) -> None:
    """An older pyarrow and ours build sssb: other bytes in every file of rows, the content hash of the frozen one."""
    _run(old, "build", "sssb", "1.0.0", "--out", tmp_path / "old")
    api.build("sssb", "1.0.0", tmp_path / "new")
    then, now = (read_manifest(tmp_path / name / "sssb" / "1.0.0") for name in ("old", "new"))
    assert then.data["writer"] == {"pyarrow": OLD["pyarrow"]}
    assert now.data["writer"] == {"pyarrow": pa.__version__}
    rows = [name for name in now.files if name.endswith(".parquet")]
    assert len(rows) == 9
    assert [name for name in rows if then.files[name] == now.files[name]] == []
    assert then.content == now.content == read_manifest(NEWEST).content
    assert {n: then.config(n)["content"] for n in then.configs} == {n: now.config(n)["content"] for n in now.configs}


@pytest.mark.system
def test_older_libraries_verify_and_rebuild(old: Path) -> None:
    """Older pyarrow and inflect read what newer ones wrote, and make the same rows from its recipe."""
    assert _run(old, "verify", SSSB, "--rebuild")["findings"] == []


@pytest.mark.system
def test_rows_restored_by_another_writer_are_the_frozen_ones(old: Path, copy: Path) -> None:
    """Their files are others, which `restored.json` notes; both environments take them, and a flipped byte is found."""
    frozen = (copy / "noun" / "test-00000-of-00001.parquet").read_bytes()
    shutil.rmtree(copy / "noun")
    _run(old, "verify", "--restore", copy)
    path = copy / "noun" / "test-00000-of-00001.parquet"
    assert path.read_bytes() != frozen
    assert pq.read_table(path).to_pylist() == pq.read_table(SSSB / "noun").to_pylist()
    assert [*json.loads((copy / "restored.json").read_text())["files"]] == ["noun/test-00000-of-00001.parquet"]
    assert api.verify(str(copy), rebuild=True) == []
    assert _run(old, "verify", copy)["findings"] == []
    data = path.read_bytes()
    path.write_bytes(data[:1000] + bytes([data[1000] ^ 1]) + data[1001:])
    assert [finding.path for finding in api.verify(str(copy))] == ["noun/test-00000-of-00001.parquet"]


@pytest.fixture
def wrong_inflect(tmp_path: Path) -> Path:
    """A folder with an inflect that says nothing but *an* and plurals that do not exist."""
    folder = tmp_path / "modules"
    (folder / "inflect-99.0.dist-info").mkdir(parents=True)
    (folder / "inflect-99.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: inflect\nVersion: 99.0\n")
    (folder / "inflect.py").write_text(WRONG)
    return folder


def test_english_that_was_frozen_wins(wrong_inflect: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under an inflect that answers otherwise, new rows are others, and those of a frozen recipe are not."""
    project = tmp_path / "project"
    shutil.copytree(FORMS / "form-1" / "recipe", project)
    (project / "english.csv").unlink()
    (project / "senseprobe.toml").touch()
    with (project / "wordlists" / "manners.csv").open("a", encoding="utf-8") as words:
        csv.writer(words).writerow(["vzorbly", "pleasant"])
    island = project / "templates" / "tiny" / "island.j2"
    island.write_text(island.read_text().replace("pairs: 8", "pairs: 12"))
    monkeypatch.chdir(project)
    frozen = api.build("tiny", "1.0.0", tmp_path / "new").folder
    changed = tmp_path / "other" / "tiny" / "1.0.0"
    env = {**os.environ, "PYTHONPATH": str(wrong_inflect)}
    command = [sys.executable, "-c", UNDER_ANOTHER, str(tmp_path / "other"), str(frozen), str(changed)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[[], []]\n"), done.stderr
    assert "finds a vzorbly crowd" in str(pq.read_table(frozen / "island")["anti"].to_pylist())
    assert "finds an vzorbly crowd" in str(pq.read_table(changed / "island")["anti"].to_pylist())
    for release in (frozen, changed):
        assert api.verify(str(release), rebuild=True) == []


@pytest.mark.parametrize("form", [1, 2, 5])
def test_older_forms_stay_readable(form: int) -> None:
    """A release frozen by the code of its day is opened, verified, made again from its recipe, and loaded."""
    folder = FORMS / f"form-{form}"
    assert json.loads((folder / "release.json").read_bytes())["schema"] == form
    assert api.verify(str(folder), rebuild=True) == []
    release = api.load(str(folder))
    assert release.configs == (("island",) if form == 1 else ("island", "guess", "words"))
    sizes = {"island": 8, "guess": 6, "words": 4}  # 2 x 2 x 1 words in 2 frames; 3 x 2 in one; 4 members
    for config in release.configs:
        table = release.table(config)
        assert table.to_dict("records") == pq.read_table(folder / config).to_pandas().to_dict("records")
        assert len(table) == sizes[config]
    assert release.table("island")["stereo"][0] == "The Laputan people are haughty."


def test_there_is_a_release_of_every_form() -> None:
    """Whoever makes a new form adds a release of the one before it."""
    committed = {json.loads(path.read_bytes())["schema"] for path in FORMS.glob("*/release.json")}
    assert committed >= {*range(1, SCHEMA)}
    assert {path.name for path in FORMS.iterdir()} == {f"form-{form}" for form in committed}


def test_a_newer_form_is_refused(tmp_path: Path) -> None:
    """One line says which form it is, which this senseprobe reads, and what to do."""
    folder = Path(shutil.copytree(FORMS / "form-2", tmp_path / "tiny"))
    path = folder / "release.json"
    path.write_text(path.read_text().replace('"schema": 2', f'"schema": {SCHEMA + 1}'))
    told = rf"has form {SCHEMA + 1}, .* up to {SCHEMA}: upgrade senseprobe"
    for read in (api.verify, api.load):
        with pytest.raises(ReleaseError, match=told) as caught:
            read(str(folder))
        assert not isinstance(caught.value, DamagedRelease)


def test_a_downloaded_copy_verifies(tmp_path: Path) -> None:
    """What git, the Hub's clients and macOS leave beside a release is no part of it; the document lists the names."""
    copy = Path(shutil.copytree(FORMS / "form-2", tmp_path / "tiny"))
    left = [".gitattributes", ".gitignore", ".DS_Store", "island/.DS_Store", ".huggingface/x"]
    left += [".cache/huggingface/download/island/test-00000-of-00001.parquet.metadata", ".cache/huggingface/.gitignore"]
    for name in left:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("x")
    assert api.verify(str(copy), rebuild=True) == []
    (copy / "notes.txt").write_text("x")
    assert [(finding.path, finding.code) for finding in api.verify(str(copy))] == [("notes.txt", "E403")]
    document = (ROOT / "docs" / "content-hash.md").read_text(encoding="utf-8")
    assert ", ".join(f"`{name}`" for name in FOREIGN) in document
