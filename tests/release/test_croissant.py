"""`croissant.json` as other tools take it: validated and read by MLCommons' own library, in a process of its own."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from senseprobe import api
from senseprobe.release import parquet
from senseprobe.release.manifest import read_manifest

# Texts come as bytes, a field as RECORDSET/FIELD, and a part of a struct as RECORDSET/FIELD/PART.
READ = """
import json, sys, traceback, mlcroissant
def plain(value):
    if isinstance(value, dict):
        return {key.rpartition("/")[2]: plain(part) for key, part in value.items()}
    return value.decode() if isinstance(value, bytes) else value
told = []
for path, names in json.loads(sys.argv[1]):
    try:
        dataset = mlcroissant.Dataset(jsonld=path)
        issues = dataset.metadata.ctx.issues
        rows = {name: [plain(row) for row in dataset.records(name)] for name in names}
        told.append([rows, [*issues.errors], [*issues.warnings]])
    except Exception:
        told.append([traceback.format_exc(), [], []])
print(json.dumps(told))
"""


@dataclass(frozen=True)
class Read:
    """What the library reads of a release, or why it does not, and what it says of its description."""

    rows: Any
    errors: list[str]
    warnings: list[str]


def _described(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "croissant.json").read_bytes())
    return data


@pytest.fixture(scope="module")
def association() -> Path:
    """Tests of words, which have other columns."""
    return api.load("association@1.1.0").folder


@pytest.fixture(scope="module")
def several(small_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of 100 rows, so that a config has several."""
    with chdir(small_project), pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "ROWS_PER_FILE", 100)
        return api.build("sssb", "1.0.0", tmp_path_factory.mktemp("several")).folder


@pytest.fixture(scope="module")
def damaged(sssb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a byte more than its hash is of."""
    folder = tmp_path_factory.mktemp("damaged")
    for name in ("croissant.json", "race/test-00000-of-00001.parquet"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes((sssb / name).read_bytes() + b"\n")
    return folder


@pytest.fixture(scope="module")
def read(sssb: Path, association: Path, several: Path, damaged: Path) -> dict[Path, Read]:
    """All that the library reads, in one process. It takes seconds to load, and reads each config from its file."""
    names = {sssb: read_manifest(sssb).configs, association: (), several: ("language",), damaged: ("race",)}
    told = json.dumps([[str(folder / "croissant.json"), each] for folder, each in names.items()])
    done = subprocess.run([sys.executable, "-c", READ, told], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {folder: Read(*each) for folder, each in zip(names, json.loads(done.stdout.splitlines()[-1]), strict=True)}


@pytest.mark.slow
def test_mlcroissant_finds_no_error(sssb: Path, association: Path, read: dict[Path, Read]) -> None:
    """It asks for nothing but a date of publication, which a release that is the same whenever it is built has not."""
    for folder in (sssb, association):
        assert read[folder].errors == []
        (warning,) = read[folder].warnings
        assert "datePublished" in warning
    program, described = Path(sys.executable).with_name("mlcroissant"), sssb / "croissant.json"
    command = [str(program), "validate", "--jsonld", str(described)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Done." in done.stderr
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("  -  ")]
    assert "datePublished" in said


@pytest.mark.slow
def test_mlcroissant_reads_every_row(sssb: Path, read: dict[Path, Read]) -> None:
    """Every config is a record set with the rows of its Parquet file, in order, spans as parts of a field.

    Croissant has no null struct: where no group is named, and so no span, both of its parts are null.
    """
    rows = read[sssb].rows
    none = {"start": None, "end": None}
    assert [each["@id"] for each in _described(sssb)["recordSet"]] == [*rows] == [*read_manifest(sssb).configs]
    for name, found in rows.items():
        spans = [column for column in found[0] if column.endswith("_span")]
        stored = pq.read_table(sssb / name, partitioning=None).to_pylist()
        assert found == [{**row, **{span: row[span] or none for span in spans}} for row in stored]
    assert [row["stereo_span"] for row in rows["race-groups"]].count(none) == 12 * 9  # of "People are …"
    assert {type(row["stereo_span"]["start"]) for row in rows["nationality"]} == {int}
    assert {type(row["minimal"]) for row in rows["verb"]} == {bool}


@pytest.mark.slow
def test_mlcroissant_reads_a_config_of_several_files(several: Path, read: dict[Path, Read]) -> None:
    """The files of a config are a set, read in the order of its rows."""
    assert len([*several.glob("language/*.parquet")]) == 6
    assert read[several].rows["language"] == pq.read_table(several / "language", partitioning=None).to_pylist()


@pytest.mark.slow
def test_mlcroissant_refuses_other_bytes(damaged: Path, read: dict[Path, Read]) -> None:
    """Hashes are those of the files, so what was changed on the way is not read."""
    assert "is not identical with the reference" in read[damaged].rows


def test_it_says_what_croissant_1_1_asks_for(sssb: Path) -> None:
    """Version of the specification, of the data, licence, citation, and that the data does not change."""
    told, manifest = _described(sssb), json.loads((sssb / "release.json").read_bytes())
    assert told["conformsTo"][0] == "http://mlcommons.org/croissant/1.1"
    assert (told["name"], told["version"], told["isLiveDataset"]) == ("sssb", "1.0.0", False)
    assert told["license"] == "https://spdx.org/licenses/CC-BY-4.0.html"
    assert manifest["content"] in told["citeAs"]
    assert "@inproceedings{zhou2022," in told["citeAs"]
    assert "Content warning" in told["description"]
    assert told["rai:dataUseCases"].startswith("Measuring masked language models")


def test_it_has_the_hash_of_every_file_but_two(sssb: Path) -> None:
    """All but its own, and that of the manifest, which has the hash of this."""
    files = {path.relative_to(sssb).as_posix(): path for path in sssb.rglob("*") if path.is_file()}
    entries = {entry["@id"]: entry for entry in _described(sssb)["distribution"]}
    assert {*entries} == {*files} - {"croissant.json", "release.json"}
    for name, entry in entries.items():
        data = files[name].read_bytes()
        assert (entry["contentUrl"], entry["contentSize"]) == (name, f"{len(data)} B")
        assert entry["sha256"] == hashlib.sha256(data).hexdigest()
    data = files["croissant.json"].read_bytes()
    listed = json.loads(files["release.json"].read_bytes())["files"]["croissant.json"]
    assert listed == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_a_flipped_byte_of_a_document_is_reported(small: Path, tmp_path: Path) -> None:
    """`verify` looks at the documents too."""
    folder = Path(shutil.copytree(small, tmp_path / "1.0.0"))
    for name in ("croissant.json", "CITATION.cff", "README.md"):
        data = bytearray((folder / name).read_bytes())
        data[len(data) // 2] ^= 1
        (folder / name).write_bytes(bytes(data))
    findings = {(finding.path, finding.code) for finding in api.verify(str(folder))}
    assert findings == {("croissant.json", "E404"), ("CITATION.cff", "E404"), ("README.md", "E404")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "zone", "locale"),
    [("1", "UTC", "C"), ("2", "Asia/Tokyo", "tr_TR.UTF-8")],
)
def test_documents_are_the_same_wherever_they_are_made(
    seed: str, zone: str, locale: str, sssb: Path, tmp_path: Path
) -> None:
    """Same bytes, whatever the hash seed, the time zone, the locale and the folder."""
    env = {"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale, "PATH": "/usr/bin:/bin"}
    env["SENSEPROBE_WORDNET"] = os.environ["SENSEPROBE_WORDNET"]  # its glosses are on the card, or are not
    command = [sys.executable, "-m", "senseprobe", "build", "sssb", "1.0.0", "--out", "made"]
    subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True)
    built = tmp_path / "made" / "sssb" / "1.0.0"
    for name in ("croissant.json", "CITATION.cff", "README.md", "release.json"):
        assert (built / name).read_bytes() == (sssb / name).read_bytes()


@pytest.mark.parametrize("release", ["sssb@1.0.0", "association@1.0.0"])
def test_releases_from_before_croissant_are_as_they_were(release: str) -> None:
    """A manifest that lists no croissant.json is fine."""
    assert "croissant.json" not in api.load(release).manifest.files
    assert api.verify(release) == []
