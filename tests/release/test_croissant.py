"""`croissant.json` as other tools take it: validated and read by MLCommons' own library, in a process of its own."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from senseprobe import api
from senseprobe.release import parquet

# Texts come as bytes, a field as RECORDSET/FIELD, and a part of a struct as RECORDSET/FIELD/PART.
READ = """
import json, sys, mlcroissant
told = {}
dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
def plain(value):
    if isinstance(value, dict):
        return {key.rpartition("/")[2]: plain(part) for key, part in value.items()}
    return value.decode() if isinstance(value, bytes) else value
for name in sys.argv[2:] or [each.id for each in dataset.metadata.record_sets]:
    told[name] = [plain(row) for row in dataset.records(name)]
print(json.dumps(told))
"""


def _ran(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


def _validated(folder: Path) -> list[str]:
    """What `mlcroissant validate` says of a release, which it must take."""
    done = _ran(Path(sys.executable).with_name("mlcroissant"), "validate", "--jsonld", folder / "croissant.json")
    assert done.returncode == 0, done.stderr
    assert "Done." in done.stderr
    return [line.strip() for line in done.stderr.splitlines() if line.startswith("  -  ")]


def _read(folder: Path, *names: str) -> dict[str, list[dict[str, Any]]]:
    done = _ran(sys.executable, "-c", READ, folder / "croissant.json", *names)
    assert done.returncode == 0, done.stderr
    rows: dict[str, list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def _described(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "croissant.json").read_bytes())
    return data


@pytest.fixture(scope="module")
def sssb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sssb as the templates make it."""
    return api.build("sssb", "1.0.0", tmp_path_factory.mktemp("releases")).folder


@pytest.fixture(scope="module")
def association(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Association in files of 2,000 rows, so that a config has several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "ROWS_PER_FILE", 2_000)
        return api.build("association", "1.0.0", tmp_path_factory.mktemp("releases")).folder


def test_mlcroissant_finds_no_error(sssb: Path, association: Path) -> None:
    """It asks for nothing but a date of publication, which a release that is the same whenever it is built has not."""
    for folder in (sssb, association):
        (said,) = _validated(folder)
        assert "datePublished" in said


def test_mlcroissant_reads_every_row(sssb: Path) -> None:
    """Every config is a record set with the rows of its Parquet file, in order, spans as parts of a field.

    Croissant has no null struct: where no group is named, and so no span, both of its parts are null.
    """
    rows = _read(sssb)
    none = {"start": None, "end": None}
    assert list(rows) == json.loads((sssb / "release.json").read_bytes())["order"]
    for name, found in rows.items():
        spans = [column for column in found[0] if column.endswith("_span")]
        stored = pq.read_table(sssb / name, partitioning=None).to_pylist()
        assert found == [{**row, **{span: row[span] or none for span in spans}} for row in stored]
    assert [row["stereo_span"] for row in rows["race-groups"]].count(none) == 12 * 9  # of "People are …"
    assert {type(row["stereo_span"]["start"]) for row in rows["nationality"]} == {int}
    assert {type(row["minimal"]) for row in rows["verb"]} == {bool}


def test_mlcroissant_reads_a_config_of_several_files(association: Path) -> None:
    """The files of a config are a set, read in the order of its rows."""
    assert len([*association.glob("bleached/*.parquet")]) > 1
    rows = _read(association, "bleached")["bleached"]
    assert rows == pq.read_table(association / "bleached", partitioning=None).to_pylist()


def test_mlcroissant_refuses_other_bytes(sssb: Path, tmp_path: Path) -> None:
    """Hashes are those of the files, so what was changed on the way is not read."""
    for name in ("croissant.json", "race/test-00000-of-00001.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((sssb / name).read_bytes() + b"\n")
    done = _ran(sys.executable, "-c", READ, tmp_path / "croissant.json", "race")
    assert done.returncode != 0
    assert "is not identical with the reference" in done.stderr


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


def test_a_flipped_byte_of_a_document_is_reported(sssb: Path, tmp_path: Path) -> None:
    """`verify` looks at the documents too."""
    folder = api.build("sssb", "1.0.0", tmp_path).folder
    for name in ("croissant.json", "CITATION.cff", "README.md"):
        data = bytearray((folder / name).read_bytes())
        data[len(data) // 2] ^= 1
        (folder / name).write_bytes(bytes(data))
    findings = {(finding.path, finding.code) for finding in api.verify(str(folder))}
    assert findings == {("croissant.json", "E404"), ("CITATION.cff", "E404"), ("README.md", "E404")}


@pytest.mark.parametrize(("seed", "zone", "locale"), [("1", "UTC", "C"), ("2", "Asia/Tokyo", "tr_TR.UTF-8")])
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
