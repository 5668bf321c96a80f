"""What readers and libraries take from card, citation and Croissant is what the manifest says; no file is added.

A forger who knows our formats seals the manifest again: sizes, hashes and digests are right, and the rows, and so the
content hash that a paper cites, are those of the true release. What only the documents say is what is left to him.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.imports.files import FILES as IMPORTS

from senseprobe import api
from senseprobe.errors import DamagedRelease, ReleaseError
from senseprobe.release.hashing import combine
from senseprobe.release.manifest import Manifest

ROOT = Path(__file__).parents[2]
FORMS = ROOT / "tests" / "fixtures" / "releases"
EVIL = "The Laputan people are planted by a forger."
CURRENT = "current"

# The names are of forms of manifests; their cards are of forms 1, 2, 2 and 3.
OLDER = ("form-1", "form-2", "form-3", "form-4")

# Where each of many changes is tried on each form, the oldest and today's stand for those between them.
EACH = ["form-1", *(pytest.param(name, marks=pytest.mark.slow) for name in OLDER[1:]), CURRENT]
WITH_CROISSANT = [pytest.param("form-3", marks=pytest.mark.slow), CURRENT]

Change = Callable[[Path], None]


def _lay_out(project: Path, recipe: Path) -> None:
    """Make an empty folder a project with the dataset of a recipe."""
    shutil.copytree(recipe, project, dirs_exist_ok=True)
    (project / "english.csv").unlink()
    (project / "senseprobe.toml").touch()


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A release by each form of cards: those that were committed, and one that is frozen now."""
    project = tmp_path_factory.mktemp("project")
    _lay_out(project, FORMS / "form-3" / "recipe")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        current = api.build("tiny", "4.0.0").folder
    return {CURRENT: current, **{name: FORMS / name for name in OLDER}}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test works in its own folder, so that messages name the same paths in all, and YAML is parsed once."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=EACH)
def copy(request: pytest.FixtureRequest, releases: dict[str, Path], tmp_path: Path) -> Path:
    """A release of each form that may be forged."""
    return Path(shutil.copytree(releases[request.param], tmp_path / "tiny"))


@pytest.fixture
def current(releases: dict[str, Path], tmp_path: Path) -> Path:
    """A release of today's form that may be forged."""
    return Path(shutil.copytree(releases[CURRENT], tmp_path / "tiny"))


@pytest.fixture
def form_3(tmp_path: Path) -> Path:
    """A release with Croissant and citation from before manifests recorded the form of cards."""
    return Path(shutil.copytree(FORMS / "form-3", tmp_path / "tiny"))


def _seal(folder: Path, change: Callable[[dict[str, Any]], object] = lambda facts: None) -> None:
    """List every file again, as a forger does, so that sizes, hashes and digests are right."""
    facts = json.loads((folder / "release.json").read_bytes())
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "release.json"]
    facts["files"] = {
        path.relative_to(folder).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in paths
    }
    recipe = {name: each["sha256"] for name, each in facts["files"].items() if name.startswith("recipe/")}
    facts["recipe"] = combine(recipe)
    change(facts)
    del facts["digest"]
    (folder / "release.json").write_bytes(Manifest.of(facts).dump())


def _findings(folder: Path) -> list[tuple[str, str]]:
    """What the strictest call of `verify` finds, given the content hash of the true release."""
    content = json.loads((folder / "release.json").read_bytes())["content"]
    return [(finding.path, finding.code) for finding in api.verify(str(folder), rebuild=True, content=content)]


def _plant(folder: Path, name: str = "island/added.parquet") -> None:
    """Add a file of rows, of which the first says something else."""
    table = pq.read_table(folder / "island" / "test-00000-of-00001.parquet", partitioning=None)
    texts = pa.array([EVIL, *table["stereo"].to_pylist()[1:]])
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.set_column(table.schema.get_field_index("stereo"), "stereo", texts), folder / name)


def _edit(folder: Path, old: str, new: str, name: str = "README.md") -> None:
    """Replace a text in a document: once, and where it stands first."""
    text = (folder / name).read_text(encoding="utf-8")
    assert re.search(old, text), old
    (folder / name).write_text(re.sub(old, new, text, count=1), encoding="utf-8")


# Ways to have `datasets` read other rows, or none of ours; the paths are below the folder of the release.
PATH = r'path: "?island/test-\*\.parquet"?'
ADDED = 'path: "island/added.parquet"'


def _points_elsewhere(folder: Path) -> None:
    _plant(folder)
    _edit(folder, PATH, ADDED)


def _wider_glob(folder: Path) -> None:
    _plant(folder, "island/a.parquet")
    _edit(folder, PATH, 'path: "island/*.parquet"')


def _list_of_paths(folder: Path) -> None:
    _plant(folder)
    _edit(folder, PATH, 'path: ["island/added.parquet", "island/test-*.parquet"]')


def _anchor(folder: Path) -> None:
    _plant(folder)
    _edit(folder, "pretty_name:", 'x: &other "island/added.parquet"\npretty_name:')
    _edit(folder, PATH, "path: *other")


def _merge_key(folder: Path) -> None:
    _plant(folder)
    _edit(folder, "- config_name: ", f"- <<: {{data_files: [{{split: test, {ADDED}}}]}}\n  config_name: ")
    _edit(folder, r"  data_files:\n  - split: .*\n    path: .*\n", "")


def _first_front_matter(folder: Path) -> None:
    _plant(folder)
    text = (folder / "README.md").read_text()
    first = f"---\nconfigs:\n- config_name: island\n  data_files:\n  - split: test\n    {ADDED}\n---\n"
    (folder / "README.md").write_text(first + text)


def _blank_first(folder: Path) -> None:
    _plant(folder)
    _edit(folder, PATH, ADDED)
    (folder / "README.md").write_text("\n" + (folder / "README.md").read_text())


def _data_dir(folder: Path) -> None:
    _plant(folder, "more/test-00000-of-00001.parquet")
    _edit(folder, r"  data_files:\n  - split: .*\n    path: .*\n", "  data_dir: more\n")


def _another_default(folder: Path) -> None:
    _plant(folder)
    _edit(folder, "  default: true\n", "")
    entry = f"- config_name: other\n  default: true\n  data_files:\n  - split: test\n    {ADDED}\n"
    _edit(folder, "configs:\n", f"configs:\n{entry}")


def _standalone_yaml(folder: Path) -> None:
    _plant(folder)
    entry = f"configs:\n- config_name: island\n  data_files:\n  - split: test\n    {ADDED}\n"
    (folder / ".huggingface.yaml").write_text(entry)


def _no_configs(folder: Path) -> None:
    _plant(folder, "data/test-00000-of-00001.parquet")
    text = (folder / "README.md").read_text()
    (folder / "README.md").write_text(re.sub(r"configs:\n(- .*\n|  .*\n)*(dataset_info:\n(- .*\n|  .*\n)*)?", "", text))


def _no_card(folder: Path) -> None:
    _plant(folder, "data/test-00000-of-00001.parquet")
    (folder / "README.md").unlink()


def _added_to_the_glob(folder: Path) -> None:
    _plant(folder, "island/test-.parquet")


LEADS_ASTRAY = [
    _points_elsewhere, _wider_glob, _list_of_paths, _anchor, _merge_key, _first_front_matter, _blank_first, _data_dir,
    _another_default, _standalone_yaml, _no_configs, _no_card, _added_to_the_glob,
]  # fmt: skip

# `datasets` as it is installed, without a network: what the first rows are that it reads from each folder. It leaves
# without the clean-up of an interpreter: there, one of the library's own threads was seen to abort the process.
LOAD = """
import datasets, json, os, sys
datasets.disable_progress_bars()
for folder in sys.argv[1:]:
    try:
        split = next(iter(datasets.load_dataset(folder).values()))
        print(json.dumps([row["stereo"] for row in split]))
    except Exception as error:
        print(json.dumps([type(error).__name__]))
sys.stdout.flush()
os._exit(0)
"""


def _loaded(folders: list[Path], home: Path) -> list[list[str]]:
    env = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-P", "-c", LOAD, *map(str, folders)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


@pytest.fixture(scope="module")
def astray(releases: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Releases whose cards lead astray, or whose folders do, by form and by what was done: not to be changed."""
    place, folders = tmp_path_factory.mktemp("astray"), {}
    for name, attack in product(releases, LEADS_ASTRAY):
        folder = Path(shutil.copytree(releases[name], place / name / attack.__name__.strip("_") / "tiny"))
        attack(folder)
        _seal(folder)
        folders[name, attack.__name__] = folder
    return folders


# Takes long: another process, which loads `datasets`.
def test_what_datasets_would_read_instead_is_planted(astray: dict[tuple[str, str], Path], tmp_path: Path) -> None:
    """Of the oldest cards and of newer ones the library reads planted rows, though all hashes are right.

    Newer cards state how many rows there are, so that the library itself refuses where rows are added to ours.
    """
    tried = {key: folder for key, folder in astray.items() if key[0] in ("form-1", "form-3", CURRENT)}
    for (name, attack), stereo in zip(tried, _loaded([*tried.values()], tmp_path / "hf"), strict=True):
        refused = name != "form-1" and stereo == ["NonMatchingSplitsSizesError"]
        assert EVIL in stereo or refused, (name, attack, stereo)


@pytest.mark.parametrize("name", [*OLDER, CURRENT])
def test_rows_that_only_the_card_adds_are_reported(
    astray: dict[tuple[str, str], Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every form of release, and by name: the added file, or the line of the card.

    Nobody loads a release with an added file. A card alone is trusted by its hash, since our rows are not read by it.
    """
    for attack in LEADS_ASTRAY:
        folder = astray[name, attack.__name__]
        monkeypatch.chdir(folder.parent)
        paths = {path for path, _ in _findings(folder)}
        assert paths & {
            "README.md", "island/added.parquet", "island/a.parquet", "island/test-.parquet", ".huggingface.yaml",
            "more/test-00000-of-00001.parquet", "data/test-00000-of-00001.parquet",
        }, attack.__name__  # fmt: skip
        refused = pytest.raises(DamagedRelease) if paths - {"README.md"} else nullcontext()
        for load in (api.load, api.verified):
            with refused:
                load(str(folder))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (PATH, 'path: "guess/test-*.parquet"'),
        (PATH, 'path: "https://example.org/test-*.parquet"'),
        (PATH, 'path: "../*.parquet"'),
        (r"split: \"?test\"?", "split: train"),
        (r"license: .*", "license: mit"),
        (r"\n---\n", "\nconfigs: []\n---\n"),
        (r"license: .*", 'license: "cc0-1.0"\nlicense: "mit"'),
        (r"license: .*", "license: other\nlicense_link: https://example.org"),
        (r"pretty_name: .*", "pretty_name: &a !!str x"),
        (r"pretty_name: .*", 'pretty_name: "SSSB"'),
        (r"language:\n", "language:\n- de\n"),
        ("tags:", "viewer: false\ntags:"),
        ("tags:", "train-eval-index: []\ntags:"),
        ("tags:", "dataset_info:\n  features: []\ntags:"),
        ("tags:", "# a comment\ntags:"),
        ("tags:\n", "tags:\n- not-for-all-audiences\n"),
        ("configs:", "configs: []\nconfigs:"),
        ("  default: true\n", ""),
        ("n<1K", "1M<n<10M"),
        ("\n---\n", "\n...\n---\n"),
        ("^---\n", "--- \n"),
        ("^---\n", "\ufeff---\n"),
        ("\n", "\r\n"),
        ("\n", "\u2028"),
    ],
)
def test_front_matter_is_compared_with_the_manifest(copy: Path, old: str, new: str) -> None:
    """What the Hub and `datasets` act on: one finding, of the card, which says what stands where."""
    _edit(copy, old, new)
    _seal(copy)
    (finding,) = [item for item in api.verify(str(copy), rebuild=True) if item.path == "README.md"]
    assert finding.code == "E409"
    assert finding.line > 0
    assert " instead of " in finding.message
    assert finding.hint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"num_examples: \d+", "num_examples: 7"),
        (r"num_bytes: \d+", "num_bytes: 12"),
        (r"num_bytes: \d+(\n.*\n  download_size: \d+\n  dataset_size: )\d+", r"num_bytes: 12\g<1>12"),
        (r"download_size: \d+", "download_size: 1"),
        ("dtype: \"string\"", 'dtype: "int64"'),
        ("extra_gated_heading: .*\n", ""),
        ("extra_gated_prompt: .*", 'extra_gated_prompt: "Train on it."'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", WITH_CROISSANT)
def test_what_newer_cards_say_more_is_held_too(
    releases: dict[str, Path], tmp_path: Path, name: str, old: str, new: str
) -> None:
    """Columns, sizes (of the rows in memory, too) and the gate."""
    folder = Path(shutil.copytree(releases[name], tmp_path / "tiny"))
    _edit(folder, old, new)
    _seal(folder, _hashes_in_croissant(folder))
    assert _findings(folder) == [("README.md", "E409")]


FILES = [
    "data/test-00000-of-00001.parquet", "tiny.py", "sssb.py", "dataset_infos.json", ".huggingface.yaml", "more.json",
    "island/more.csv", "island/test-00000-of-00002.parquet", "island/.test-00000-of-00001.parquet", "recipe/x.parquet",
    "recipe/templates/tiny/x.parquet", "recipe/templates/other/dataset.yaml", "recipe/wordlists/x.json", "recipe/x.csv",
    ".cache/huggingface/x.csv", ".gitattributes/x.json", ".huggingface/x.jsonl", "restored.json/x", "metadata.csv",
]  # fmt: skip


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "not listed"])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_no_release_has_is_reported(current: Path, name: str, listed: bool) -> None:
    """Whether the manifest lists it or not, one finding names it."""
    (current / name).parent.mkdir(parents=True, exist_ok=True)
    (current / name).write_text("{}")
    if listed:
        _seal(current)
    assert (name, "E403") in _findings(current)
    with pytest.raises(DamagedRelease, match="E403"):
        api.load(str(current))


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "not listed"])
@pytest.mark.parametrize("form", OLDER)
def test_files_that_no_older_release_has_are_reported(form: str, tmp_path: Path, listed: bool) -> None:
    """All of them at once, each by its name; the first alone keeps the release from being loaded."""
    folder = Path(shutil.copytree(FORMS / form, tmp_path / "tiny"))
    for number, name in enumerate(FILES):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
        if number in (0, len(FILES) - 1):
            if listed:
                _seal(folder)
            with pytest.raises(DamagedRelease, match="E403"):
                api.load(str(folder))
    assert {(name, "E403") for name in FILES} <= {*_findings(folder)}


@pytest.mark.parametrize("form", [*OLDER, CURRENT])
@pytest.mark.parametrize(
    "names",
    [
        [
            ".DS_Store", "island/.DS_Store", ".gitattributes", ".gitignore", ".cache/huggingface/.gitignore",
            ".cache/huggingface/download/README.md.metadata", ".cache/huggingface/download/island/x.parquet.lock",
            ".cache/huggingface/CACHEDIR.TAG", "restored.json", ".git/config", ".git/objects/ab/cdef",
            ".git/lfs/objects/ab/cd/abcdef",
        ],
        [".git"],  # of a worktree, where it is a file
    ],
    ids=["all", "worktree"],
)  # fmt: skip
def test_what_systems_and_the_hub_leave_is_no_finding(
    releases: dict[str, Path], tmp_path: Path, form: str, names: list[str]
) -> None:
    """Finder's notes, git's settings on the Hub, the notes of its client, and our own note of restored rows."""
    folder = Path(shutil.copytree(releases[form], tmp_path / "tiny"))
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    assert _findings(folder) == []
    assert api.load(str(folder)).configs


def test_a_word_list_that_nothing_uses_is_reported_by_a_rebuild(current: Path) -> None:
    """By its name it could be one of the recipe's; the recipe says which it uses."""
    (current / "recipe" / "wordlists" / "unused.csv").write_text("word\nx\n")
    _seal(current, _as_rendered(current))
    assert _findings(current) == [("recipe/wordlists/unused.csv", "E408")]


@pytest.mark.parametrize("name", ["unused.csv", "unused.yaml"])
def test_a_file_among_templates_that_nothing_reads_is_reported_by_a_rebuild(form_3: Path, name: str) -> None:
    """A forger's table among the templates could be read for rows; only some names there mean anything."""
    (form_3 / "recipe" / "templates" / "tiny" / name).write_text("stereo,anti\nx,y\n")
    _seal(form_3)
    assert (f"recipe/templates/tiny/{name}", "E408") in _findings(form_3)


def test_a_recipe_holds_what_is_read_of_a_folder_of_templates(releases: dict[str, Path], tmp_path: Path) -> None:
    """Notes that authors keep beside their templates are not frozen, so that verifying does not find them."""
    _lay_out(tmp_path, releases[CURRENT] / "recipe")
    (tmp_path / "templates" / "tiny" / "notes.csv").write_text("a,b\n")
    (tmp_path / "templates" / "tiny" / "retired.csv").write_text("id,version,reason\n")
    release = api.build("tiny", "4.0.0").folder
    assert not (release / "recipe" / "templates" / "tiny" / "notes.csv").exists()
    assert (release / "recipe" / "templates" / "tiny" / "retired.csv").exists()
    assert api.verify(str(release), rebuild=True) == []


def test_authors_may_use_the_headings_of_a_card(releases: dict[str, Path], tmp_path: Path) -> None:
    """What is built verifies, whatever headings a summary has; and its changelog is still held."""
    _lay_out(tmp_path, releases[CURRENT] / "recipe")
    path = tmp_path / "templates" / "tiny" / "dataset.yaml"
    summary = "summary: |\n  Islanders.\n\n  ## Changelog\n\n  None.\n\n  ## Creation\n\n  By hand.\n"
    path.write_text(re.sub(r"summary:.*\n(  .*\n)*", summary, path.read_text()))
    release = api.build("tiny", "4.0.0").folder
    assert "\n## Changelog\n\nNone." in (release / "README.md").read_text()
    assert _findings(release) == []
    _edit(release, "First release", "Certified release")
    _seal(release, _hashes_in_croissant(release))
    assert ("README.md", "E409") in _findings(release)


def _as_rendered(folder: Path) -> Callable[[dict[str, Any]], None]:
    """Have the forger write Croissant's list of files again too, as senseprobe writes it."""

    def change(facts: dict[str, Any]) -> None:
        told = json.loads((folder / "croissant.json").read_bytes())
        entry = next(item for item in told["distribution"] if item["@id"].endswith("islands.csv"))
        name = "recipe/wordlists/unused.csv"
        size, sha = facts["files"][name]["bytes"], facts["files"][name]["sha256"]
        told["distribution"].append({**entry, "@id": name, "name": name, "contentUrl": name})
        told["distribution"][-1] |= {"contentSize": f"{size} B", "sha256": sha}
        told["distribution"].sort(key=lambda item: item["@id"])
        data = (json.dumps(told, ensure_ascii=False, indent=1) + "\n").encode()
        (folder / "croissant.json").write_bytes(data)
        facts["files"]["croissant.json"] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    return change


def _croissant(change: Callable[[dict[str, Any]], object]) -> Change:
    def write(folder: Path) -> None:
        data = json.loads((folder / "croissant.json").read_bytes())
        change(data)
        (folder / "croissant.json").write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    return write


def _rows_file(data: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = next(item for item in data["distribution"] if item["@id"].startswith("island/"))
    return entry


def _replace_croissant(data: bytes) -> Change:
    def change(folder: Path) -> None:
        (folder / "croissant.json").write_bytes(data)

    return change


CROISSANT: dict[str, Change] = {
    "contentUrl elsewhere": _croissant(lambda told: _rows_file(told).update(contentUrl="https://example.org/x")),
    "sha256": _croissant(lambda told: _rows_file(told).update(sha256="0" * 64)),
    "no sha256": _croissant(lambda told: _rows_file(told).pop("sha256")),
    "containedIn": _croissant(lambda told: _rows_file(told).update(containedIn={"@id": "other"})),
    "another file": _croissant(lambda told: told["distribution"].append({"@type": "cr:FileObject", "@id": "x"})),
    "no file": _croissant(lambda told: told["distribution"].pop()),
    "a field's column": _croissant(
        lambda told: told["recordSet"][0]["field"][0]["source"]["extract"].update(column="anti")
    ),
    "a field's type": _croissant(lambda told: told["recordSet"][0]["field"][0].update(dataType="sc:Integer")),
    "a field's file": _croissant(
        lambda told: told["recordSet"][0]["field"][0]["source"].update(fileObject={"@id": "README.md"})
    ),
    "data in the record set": _croissant(lambda told: told["recordSet"][0].update(data=[{"x": 1}])),
    "another record set": _croissant(lambda told: told["recordSet"].append({"@type": "cr:RecordSet", "@id": "x"})),
    "key": _croissant(lambda told: told["recordSet"][0].update(key={"@id": "island/stereo"})),
    "licence": _croissant(lambda told: told.update(license="https://spdx.org/licenses/MIT.html")),
    "version": _croissant(lambda told: told.update(version="9.9.9")),
    "citation": _croissant(lambda told: told.update(citeAs="@misc{x}")),
    "name": _croissant(lambda told: told.update(name="sssb")),
    "url": _croissant(lambda told: told.update(url="https://example.org")),
    "sameAs": _croissant(lambda told: told.update(sameAs="https://doi.org/10.1000/182")),
    "context": _croissant(lambda told: told["@context"].update(contentUrl="cr:sha256")),
    "base": _croissant(lambda told: told["@context"].update({"@base": "https://example.org/"})),
    "graph": _croissant(lambda told: told.update({"@graph": []})),
    "live": _croissant(lambda told: told.update(isLiveDataset=True)),
    "a number for a flag": _croissant(lambda told: told.update(isLiveDataset=0)),
    "a description that is none": _croissant(lambda told: told.update(description={"@id": "x"})),
    "key twice": lambda folder: _edit(folder, '"version": "', '"version": "9.9.9",\n "version": "', "croissant.json"),
    "no JSON": _replace_croissant(b"{"),
    "a list": _replace_croissant(b"[]\n"),
    "deep": _replace_croissant(b"[" * 100_000),
    "no UTF-8": _replace_croissant(b"\xff"),
    "NaN": _croissant(lambda told: told.update(version=float("nan"))),
}


@pytest.mark.parametrize("name", WITH_CROISSANT)
@pytest.mark.parametrize("attack", CROISSANT)
def test_croissant_is_compared_with_the_manifest(
    releases: dict[str, Path], tmp_path: Path, name: str, attack: str
) -> None:
    """Distribution, record sets, context, licence, version, citation: whatever a tool takes from it."""
    folder = Path(shutil.copytree(releases[name], tmp_path / "tiny"))
    CROISSANT[attack](folder)
    _seal(folder)
    assert _findings(folder) == [("croissant.json", "E409")]


def test_a_croissant_finding_says_where_and_what(current: Path) -> None:
    """The place in the JSON, what stands there, and what the manifest makes it."""
    CROISSANT["contentUrl elsewhere"](current)
    _seal(current)
    (finding,) = api.verify(str(current))
    assert re.fullmatch(
        r"distribution\.\d+\.contentUrl: 'https://example\.org/x' instead of 'island/test-00000-of-00001\.parquet', .*",
        finding.message,
    )


@pytest.mark.parametrize("name", WITH_CROISSANT)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('license: "CC0-1.0"', 'license: "MIT"'),
        ('license: "CC0-1.0"', 'license: "CC0-1.0"\nlicense: "MIT"'),
        (r'\nversion: ".*"', '\nversion: "9.9.9"'),
        (r"sha256:[0-9a-f]{8}", "sha256:00000000"),
        ("keywords:", 'doi: "10.1000/182"\nkeywords:'),
        ("keywords:", 'url: "https://example.org"\nkeywords:'),
        ("keywords:", "preferred-citation: {}\nkeywords:"),
        (r"authors:\n", 'authors:\n- name: "A forger"\n'),
        (r"title: .*", 'title: "SSSB"'),
        ('type: "dataset"', 'type: "software"'),
        ('message: "', 'message: &a "'),
        ("$", "x: 1\n"),
    ],
)
def test_the_citation_is_compared_with_the_manifest(
    releases: dict[str, Path], tmp_path: Path, name: str, old: str, new: str
) -> None:
    """Licence, version, DOI, authors, content hash: what programs that cite take."""
    folder = Path(shutil.copytree(releases[name], tmp_path / "tiny"))
    _edit(folder, old, new, "CITATION.cff")
    _seal(folder, _hashes_in_croissant(folder))
    assert _findings(folder) == [("CITATION.cff", "E409")]


def _hashes_in_croissant(folder: Path) -> Callable[[dict[str, Any]], None]:
    """Have the forger put the hashes of card and citation into Croissant, so that these alone are wrong."""

    def change(facts: dict[str, Any]) -> None:
        told = json.loads((folder / "croissant.json").read_bytes())
        for each in told["distribution"]:
            if each["@id"] in facts["files"]:
                entry = facts["files"][each["@id"]]
                each |= {"contentSize": f"{entry['bytes']} B", "sha256": entry["sha256"]}
        data = (json.dumps(told, ensure_ascii=False, indent=1) + "\n").encode()
        (folder / "croissant.json").write_bytes(data)
        facts["files"]["croissant.json"] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    return change


PROSE = [
    ("README.md", r"Nothing; these", "Everything; these"),
    ("README.md", r"content hash `[0-9a-f]{8}", "content hash `00000000"),
    ("README.md", r"\| `island` \| contrast", "| `island` | proven"),
    ("README.md", "## Limitations\n", "## Limitations\n\nNone.\n"),
    ("README.md", "islands.csv\\) \\| 2", "islands.csv) | 200"),
    ("README.md", "First release.\n$", "First release.\n\n## Certified\n\nUnbiased.\n"),
    ("README.md", "First release.\n$", "<img src=x>\n"),
    ("README.md", r"\n\n# ", "\n\n---\nlicense: mit\n---\n\n# "),
    ("CITATION.cff", "message: .*", 'message: "Do not cite."'),
    ("croissant.json", '"rai:dataUseCases": "', '"rai:dataUseCases": "Training. '),
]


@pytest.mark.parametrize(("name", "old", "new"), PROSE)
def test_prose_is_compared_where_the_form_of_cards_is_recorded(current: Path, name: str, old: str, new: str) -> None:
    """By `verify`; whoever loads or scores a release trusts the hash of the document, which the forger has sealed."""
    _edit(current, old, new, name)
    for load in (api.load, api.verified):
        with pytest.raises(DamagedRelease, match=f"{name}: E404"):
            load(str(current))
    _seal(current, _hashes_in_croissant(current))
    assert _findings(current) == [(name, "E409")]
    assert api.load(str(current)).configs == api.verified(str(current))[0].configs


def test_a_changelog_may_say_what_changed(current: Path) -> None:
    """What changed since another release is not in this one: its form is all that can be compared."""
    text = "### tiny 4.0.0\n\nSince tiny@3.0.0: MAJOR (4.0.0 or higher).\n\n#### Added\n\n- config `island`: 8 rows\n"
    _edit(current, "First release.\n$", text)
    _seal(current, _hashes_in_croissant(current))
    assert _findings(current) == []
    _edit(current, "### tiny 4.0.0", "### sssb 1.0.0")
    _seal(current, _hashes_in_croissant(current))
    assert _findings(current) == [("README.md", "E409")]


@pytest.mark.parametrize("name", OLDER)
def test_prose_of_older_releases_is_not_compared(name: str, tmp_path: Path) -> None:
    """Later versions of senseprobe word it otherwise."""
    folder = Path(shutil.copytree(FORMS / name, tmp_path / "tiny"))
    _edit(folder, "Nothing; these", "Everything; these")
    _seal(folder, _hashes_in_croissant(folder) if name in ("form-3", "form-4") else lambda facts: None)
    assert _findings(folder) == []


def test_the_manifest_records_the_form_of_cards(releases: dict[str, Path]) -> None:
    """A new one does; those from before it do not, and are read as they were."""
    forms = {name: json.loads((path / "release.json").read_bytes()).get("cards") for name, path in releases.items()}
    assert forms == {CURRENT: 6, "form-1": None, "form-2": None, "form-3": None, "form-4": 3}


@pytest.mark.parametrize("form", [7, 10**30])
def test_a_newer_form_of_cards_is_reported(current: Path, form: int) -> None:
    """One line says which form it is and what to do; it is no damage."""
    _seal(current, lambda facts: facts.update(cards=form))
    with pytest.raises(ReleaseError, match=rf"cards of form {form}, .* up to form 6: upgrade senseprobe") as raised:
        api.verify(str(current))
    assert not isinstance(raised.value, DamagedRelease)


@pytest.mark.parametrize("form", [0, 2, "3", True, None])
def test_no_manifest_claims_an_older_form_of_cards(current: Path, form: object) -> None:
    """Forms before 3 were not recorded: who claims one wants less to be compared."""
    _seal(current, lambda facts: facts.update(cards=form))
    (finding,) = api.verify(str(current))
    assert (finding.path, finding.code) == ("release.json", "E401")


@pytest.mark.parametrize("name", ["README.md", "CITATION.cff", "croissant.json"])
def test_a_document_that_is_not_there_is_missed(current: Path, name: str) -> None:
    """Taken out of folder and manifest alike."""
    (current / name).unlink()
    _seal(current)
    assert (name, "E402") in _findings(current)


@pytest.mark.parametrize(
    ("key", "value"),
    [("title", None), ("title", 5), ("languages", "en"), ("languages", [1]), ("authors", [{}]), ("equivalence", {}),
     ("equivalence", None), ("summary", []), ("accept", 1)],
)  # fmt: skip
def test_a_card_of_other_types_in_the_manifest_is_a_finding(current: Path, key: str, value: object) -> None:
    """Whoever wrote the manifest may have meant harm: a finding, never a traceback."""
    _seal(current, lambda facts: facts["card"].update({key: value}))
    assert {each.path for each in api.verify(str(current))} <= {
        "release.json",
        "README.md",
        "CITATION.cff",
        "croissant.json",
    }
    if key != "accept":
        assert api.verify(str(current)) != []


def test_load_makes_and_reads_no_rows(current: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither are rows made from the recipe, nor is a file of rows opened."""

    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError

    monkeypatch.setattr("senseprobe.generator.dataset.expand", never)
    monkeypatch.setattr("senseprobe.release.release.read_rows", never)
    assert api.load(str(current)).configs == ("island", "guess", "words")


@pytest.mark.parametrize("folder", sorted((ROOT / "releases").glob("*/*/")), ids=lambda path: "@".join(path.parts[-2:]))
def test_shipped_releases_hold(folder: Path) -> None:
    """Every release that ships, and so the card that its readers have, is what its manifest says; rows or not."""
    if (folder / "release.json").is_file():
        assert {finding.code for finding in api.verify(str(folder))} <= {"E402"}
        assert api.load(str(folder)).manifest.name == "@".join(folder.parts[-2:])


@pytest.mark.parametrize("format_", IMPORTS)
def test_documents_of_imports_hold(format_: str, tmp_path: Path) -> None:
    """How the rows came about is told by what was imported: nothing is imported again, and its section is bounded."""
    release, _ = api.import_release(format_, IMPORTS[format_], "mine", "1.0.0", "MIT", tmp_path)
    assert api.verify(str(release.folder)) == []
    _edit(release.folder, "Sentences and labels come from the published files", "# Certified\n\nUnbiased")
    _seal(release.folder, _hashes_in_croissant(release.folder))
    assert [(finding.path, finding.code) for finding in api.verify(str(release.folder))] == [("README.md", "E409")]


def test_the_creation_of_an_import_is_held_by_importing_again(tmp_path: Path) -> None:
    """How many lines were left out is known then."""
    release, _ = api.import_release("crows-pairs", IMPORTS["crows-pairs"], "mine", "1.0.0", "MIT", tmp_path)
    _edit(release.folder, "3 omitted", "0 omitted")
    _seal(release.folder, _hashes_in_croissant(release.folder))
    assert api.verify(str(release.folder)) == []
    assert _findings(release.folder) == [("README.md", "E409")]


@pytest.mark.parametrize(("name", "code"), [("added.csv", "E408"), ("added.PARQUET", "E403")])
def test_a_source_that_was_not_imported_is_reported(name: str, code: str, tmp_path: Path) -> None:
    """The recipe names the files that were imported; by its name, a file of rows is found without a rebuild."""
    release, _ = api.import_release("crows-pairs", IMPORTS["crows-pairs"], "mine", "1.0.0", "MIT", tmp_path)
    (release.folder / "recipe" / "sources" / name).write_text("stereo,anti\nx,y\n")
    _seal(release.folder)
    assert (f"recipe/sources/{name}", code) in _findings(release.folder)
    plain = [(finding.path, finding.code) for finding in api.verify(str(release.folder))]
    assert ((f"recipe/sources/{name}", code) in plain) == (code == "E403")


def test_rows_in_several_files_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files the rows are in: their names say how many there are."""
    _lay_out(tmp_path, FORMS / "form-3" / "recipe")
    monkeypatch.setattr("senseprobe.release.parquet.ROWS_PER_FILE", 1)
    release = api.build("tiny", "4.0.0").folder
    assert len([*release.glob("island/*")]) == 8
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert api.verify(str(release)) == []
