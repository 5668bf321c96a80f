"""The card and the citation of a release, and the licence that they state."""

import json
import re
import subprocess
import venv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML
from tests.commands import typing

from senseprobe import api
from senseprobe.errors import DeclarationError, ReleaseError
from senseprobe.recipes import plan_of
from senseprobe.release.citation import find_entry
from senseprobe.release.freeze import Plan, freeze
from senseprobe.release.hashing import memory_bytes
from senseprobe.release.licences import alternatives, combine_licences, hub_name
from senseprobe.release.markup import dump_yaml
from senseprobe.release.release import Release

# PEERS section 3: what users of cards expect, content warning first.
SECTIONS = [
    "Details", "Load and score", "Example rows", "Uses", "Who could be harmed", "Sources",
    "Published row counts", "Structure", "Senses",
    "Creation", "What each config can show", "Lint warnings that the authors accept", "Limitations",
    "Licence", "Citation", "Canary", "Changelog",
]  # fmt: skip

DATASET = """
title: "Tiny: a | test"
summary: Tiny.
license: LICENSE
languages: [en, "no"]
authors: ["Lovelace, Ada", The Test Society, The Test Society]
citation: lovelace1843
canary: "c"
content_warning: None.
construct: Nothing.
intended_use: Tests.
out_of_scope: All else.
who_could_be_harmed: Nobody.
equivalence: {margin: 5, reason: None.}
configs: [job]
"""

TEMPLATE = """---
kind: contrast
bias_type: nothing
construct: gender stereotype of a job
description: He | against she.
source: lovelace1843
slots:
  job: {list: jobs}
roles:
  stereo: {pronoun: {list: pronouns, word: he}}
  anti:   {pronoun: {list: pronouns, word: she}}
target: job
sense: {type: noun}
label_basis: none
generalise: [job]
expect: {pairs: 1, published: 2, reason: one is left out, cite: "lovelace1843, Table 1"}
---
{{ pronoun.subject | upfirst }} is {{ job | a }}.
"""

PACKAGE = """
name: mine
resources:
  - name: jobs
    path: jobs.csv
    sources: [{title: lovelace1843}]
    licenses: [LICENSES]
    schema: {fields: [{name: word, type: string}]}
"""

BIBLIOGRAPHY = r"""
@string{x = {y}}
@article{lovelace1843,
  author  = {Lovelace, Ada and {Analytical Society} and Kurt G{\"o}del and Babbage, Charles},
  title   = "Notes on a {Machine} -- \& more",
  journal = {Scientific Memoirs}, volume = 3, number = {29}, pages = {666--731},
  year = 1843,
  doi = {10.1000/182},
  url = {not a url},
}
"""


def _front(folder: Path) -> dict[str, Any]:
    """The front matter as the Hub's own library reads it."""
    import huggingface_hub

    card = huggingface_hub.DatasetCard.load(folder / "README.md")
    return dict(card.data.to_dict())


def _headings(text: str) -> list[str]:
    return re.findall(r"(?m)^## (.*)$", text)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's project: a dataset with a list of its own, beside the built-in list of pronouns (CC-BY-4.0)."""
    for folder in ("templates/tiny", "wordlists", "releases"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "senseprobe.toml").touch()
    (tmp_path / "templates" / "tiny" / "job.j2").write_text(TEMPLATE)
    (tmp_path / "wordlists" / "jobs.csv").write_text("word\nnurse\n")
    (tmp_path / "wordlists" / "references.bib").write_text(BIBLIOGRAPHY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _licensed(project: Path, own: str, *of_list: str) -> None:
    (project / "templates" / "tiny" / "dataset.yaml").write_text(DATASET.replace("LICENSE", own))
    names = ", ".join(f'{{name: "{name}"}}' for name in of_list)
    (project / "wordlists" / "datapackage.yaml").write_text(PACKAGE.replace("LICENSES", names))


def test_the_card_has_its_sections_and_the_warning_first(sssb: Path) -> None:
    """Title, warning, and then what users look for, in an order of their own."""
    text = (sssb / "README.md").read_text(encoding="utf-8").partition("\n---\n")[2]
    assert text.strip().startswith("# SSSB: Sense-Sensitive Social Bias, 1.0.0\n\n> **Content warning.** ")
    assert _headings(text) == SECTIONS
    assert "\n\n\n" not in text
    assert "| `noun` | 186 | 192 | zhou2022, Table 1 | the published data has cunning twice" in text
    assert "| [`colour_nouns`](recipe/wordlists/colour_nouns.csv) | 5 | Things that are black. | zhou2022 |" in text
    assert "5 \u00d7 occupation (male); 10 \u00d7 frame | 1 \u00d7 occupation (female) |" in text
    assert "English only, and only the genders that the words name." in text
    assert text.endswith("## Changelog\n\nFirst release.\n")


def test_sizes_and_features_are_those_of_the_files(sssb: Path) -> None:
    """`dataset_info` says what the `datasets` library finds in the Parquet files."""
    import datasets

    for info in _front(sssb)["dataset_info"]:
        files = [*(sssb / info["config_name"]).glob("*.parquet")]
        table = pq.read_table(files, partitioning=None)
        features = datasets.Features.from_arrow_schema(table.schema)
        assert datasets.Features._from_yaml_list(info["features"]) == features
        (split,) = info["splits"]
        assert (split["name"], split["num_examples"]) == ("test", table.num_rows)
        assert info["download_size"] == sum(path.stat().st_size for path in files)
        assert info["dataset_size"] == split["num_bytes"] == sum(_bytes(row) for row in table.to_pylist())


def _bytes(value: object) -> int:
    """By hand: texts and their offsets of 4 bytes, numbers of 4, flags of 1; a null is as empty as an empty text."""
    if isinstance(value, dict):
        spans = {key for key in value if str(key).endswith("span")}
        flags = {"contested", "minimal"} & {*value}
        rest = {*value} - spans - flags
        return 8 * len(spans) + len(flags) + sum(4 + len(str(value[key] or "").encode()) for key in rest)
    raise TypeError(value)


def test_bytes_in_memory_do_not_depend_on_batches() -> None:
    """Dictionaries or none, one batch or several: the same number."""
    texts = pa.array(["a", None, "ü", "bcd", "a"])
    spans = pa.array([{"start": 1, "end": 2}, None, None, None, {"start": 0, "end": 0}])
    plain = pa.record_batch([texts, spans.cast(pa.struct({"start": pa.int32(), "end": pa.int32()}))], ["t", "s"])
    coded = plain.set_column(0, "t", texts.dictionary_encode())
    # 1 + 0 + 2 + 3 + 1 bytes of text, five offsets of 4, and five spans of 8.
    assert memory_bytes(plain) == memory_bytes(coded) == 7 + 20 + 40
    assert memory_bytes(coded.slice(0, 2)) + memory_bytes(coded.slice(2)) == memory_bytes(coded)


def test_the_gate_asks_not_to_train(sssb: Path) -> None:
    """A prompt, and boxes to tick, in the form that the Hub knows."""
    front = _front(sssb)
    assert "train" in front["extra_gated_prompt"]
    assert "stereotypes" in front["extra_gated_prompt"]
    assert {*front["extra_gated_fields"].values()} == {"checkbox"}


def test_texts_of_authors_stay_texts(project: Path) -> None:
    """What YAML or a table has a meaning for is said as it was meant: `no` is Norwegian, and a bar ends no cell."""
    _licensed(project, "MIT", "MIT")
    folder = api.build("tiny", "1.0.0").folder
    front, text = _front(folder), (folder / "README.md").read_text(encoding="utf-8")
    assert (front["pretty_name"], front["language"]) == ("Tiny: a | test", ["en", "no"])
    assert front["multilinguality"] == "multilingual"
    assert front["size_categories"] == ["n<1K"]
    assert "| `job` | contrast | noun | 1 | He \\| against she. |" in text
    assert "Languages: en, no." in text
    assert "** Ada Lovelace, The Test Society; built with senseprobe" in text
    assert "| `job` | 1 | 2 | lovelace1843, Table 1 | one is left out |" in text


# By hand, from the licences' texts: what a work made of parts under these may be under.
TOGETHER = [
    ("CC-BY-4.0", ["CC-BY-4.0"], "CC-BY-4.0"),
    ("cc-by-4.0", ["mit"], "CC-BY-4.0"),
    ("CC0-1.0", ["MIT", "Apache-2.0"], "Apache-2.0"),
    ("CC-BY-4.0", ["CC-BY-SA-4.0"], "CC-BY-SA-4.0"),
    ("CC-BY-SA-3.0", ["CC-BY-SA-4.0"], "CC-BY-SA-4.0"),
    ("CC-BY-4.0", ["CC-BY-NC-4.0"], "CC-BY-NC-4.0"),
    ("CC-BY-NC-4.0", ["CC-BY-NC-SA-4.0"], "CC-BY-NC-SA-4.0"),
    ("CC-BY-NC-4.0", ["CC-BY-SA-4.0 OR MIT"], "CC-BY-NC-4.0"),
    ("MIT", ["(MIT OR Apache-2.0) AND CC-BY-4.0"], "CC-BY-4.0"),
    ("GPL-3.0-only", ["GPL-3.0-only"], "GPL-3.0-only"),
    ("MIT", ["CC-BY-ND-4.0 OR CC-BY-4.0"], "CC-BY-4.0"),
]
AT_ODDS = [
    ("CC-BY-SA-4.0", ["CC-BY-NC-SA-4.0"], "CC-BY-SA-4.0 (dataset.yaml) and CC-BY-NC-SA-4.0 (list 0)"),
    ("CC-BY-SA-4.0", ["CC-BY-NC-4.0"], "CC-BY-SA-4.0 (dataset.yaml) and CC-BY-NC-4.0 (list 0)"),
    ("MIT", ["CC-BY-SA-4.0", "ODbL-1.0"], "CC-BY-SA-4.0 (list 0) and ODbL-1.0 (list 1)"),
    ("MIT", ["GPL-3.0-only"], "MIT (dataset.yaml) and GPL-3.0-only (list 0)"),
]


def _parts(own: str, lists: list[str]) -> dict[str, str]:
    return {"dataset.yaml": own} | {f"list {number}": text for number, text in enumerate(lists)}


@pytest.mark.parametrize(("own", "lists", "expected"), TOGETHER)
def test_a_release_bears_the_most_restrictive_licence(own: str, lists: list[str], expected: str) -> None:
    """In whichever order the parts come."""
    parts = _parts(own, lists)
    assert combine_licences(parts) == expected
    assert combine_licences(dict(reversed(parts.items()))) == expected


@pytest.mark.parametrize(("own", "lists", "named"), AT_ODDS)
def test_licences_that_cannot_be_one_are_named(own: str, lists: list[str], named: str) -> None:
    """With the parts that are under them, and no others."""
    with pytest.raises(ReleaseError, match=re.escape(f"{named} cannot be combined")):
        combine_licences(_parts(own, lists))


@pytest.mark.parametrize(
    "text", ["", "Mine", "CC-BY", "MIT License", "MIT AND (", "LicenseRef-mine", "NOASSERTION", "(" * 200, "MIT\x1b[2J"]
)
def test_what_is_no_spdx_expression_is_refused(text: str) -> None:
    """And said so that it can be printed."""
    with pytest.raises(ReleaseError, match="is not an SPDX licence expression") as refused:
        alternatives(text)
    assert str(refused.value).isprintable()


def test_an_expression_with_too_many_alternatives_is_refused_soon() -> None:
    """It has more than anybody means, and would take long."""
    hostile = " AND ".join(f"({a} OR {b})" for a, b in zip(*[iter(_IDENTIFIERS)] * 2, strict=True))
    with pytest.raises(ReleaseError, match="more than 1000 alternatives"):
        alternatives(hostile)


_IDENTIFIERS = [
    "0BSD", "AAL", "ADSL", "AFL-1.1", "AFL-1.2", "AFL-2.0", "AMDPLPA", "AML", "APAFML", "Abstyles", "Adobe-2006",
    "Afmparse", "Aladdin", "Apache-1.0", "Apache-1.1", "Apache-2.0", "Bahyph", "Barr", "Beerware", "Borceux", "Caldera",
    "ClArtistic",
]  # fmt: skip


def test_the_card_bears_the_licence_of_its_lists(project: Path) -> None:
    """The dataset says CC-BY-4.0, its list CC-BY-SA-4.0: so is the release, wherever it says so."""
    _licensed(project, "CC-BY-4.0", "CC-BY-SA-4.0")
    release = api.build("tiny", "1.0.0")
    assert release.manifest.data["card"]["license"] == "CC-BY-SA-4.0"
    assert _front(release.folder)["license"] == "cc-by-sa-4.0"
    assert YAML(typ="safe").load(release.folder / "CITATION.cff")["license"] == "CC-BY-SA-4.0"
    assert "CC-BY-SA-4.0.html" in json.loads((release.folder / "croissant.json").read_bytes())["license"]


def test_all_licences_of_a_list_apply_and_one_without_has_the_datasets(project: Path) -> None:
    """Two licences of a list are two duties; none is the dataset's own."""
    _licensed(project, "CC0-1.0", "MIT", "CC-BY-NC-4.0")
    assert _front(api.build("tiny", "1.0.0").folder)["license"] == "cc-by-nc-4.0"
    _licensed(project, "CC0-1.0")
    assert _front(api.build("tiny", "1.0.1").folder)["license"] == "cc-by-4.0"  # that of the built-in pronouns


def test_a_licence_that_the_hub_does_not_list_has_a_name_and_a_link(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the Hub asks for where `license` is `other`; a release without any licence says `unknown`."""
    monkeypatch.setattr("senseprobe.generator.recipe.list_licence", lambda words: "")
    _licensed(project, "GPL-2.0-or-later WITH Classpath-exception-2.0")
    front = _front(api.build("tiny", "1.0.0").folder)
    assert front["license"] == "other"
    assert front["license_name"] == "GPL-2.0-or-later WITH Classpath-exception-2.0"
    assert front["license_link"].startswith("https://spdx.org/")
    assert hub_name("") == "unknown"


@pytest.mark.parametrize(
    ("own", "of_list", "code", "place"),
    [
        ("CC-BY-SA-4.0", "CC-BY-NC-SA-4.0", "E209", "templates/tiny/dataset.yaml"),
        ("MIT", "Mine", "E208", "wordlists/datapackage.yaml"),
        ("Mine", "MIT", "E208", "templates/tiny/dataset.yaml"),
        ("MIT", "CC-BY-NC-ND-4.0", "E208", "wordlists/datapackage.yaml"),
        ("MIT", "CC-BY-ND-3.0", "E208", "wordlists/datapackage.yaml"),  # of every version and country
        ("MIT", "CC-BY-NC-ND-3.0-DE", "E208", "wordlists/datapackage.yaml"),
    ],
)
def test_nothing_is_built_under_licences_that_forbid_it(
    own: str,
    of_list: str,
    code: str,
    place: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The finding is that of lint, at its place, and no folder is left behind."""
    _licensed(project, own, of_list)
    with pytest.raises(DeclarationError) as refused:
        api.build("tiny", "1.0.0")
    (finding,) = refused.value.findings
    assert (finding.code, finding.path) == (code, place)
    assert [*(project / "releases").rglob("*")] == []
    done = typing(monkeypatch, capfd)("lint")
    assert done.code == 1
    assert str(finding) in done.out


def test_the_changelog_is_what_the_approver_says(project: Path) -> None:
    """It sees rows, recipe and manifest before the card is written; its headings go below the card's."""
    _licensed(project, "MIT", "MIT")
    plan = plan_of(api.open_catalogue("tiny"), "1.1.0")
    seen: list[str] = []

    def approve(release: Release) -> str:
        seen.extend(row for batch in release.batches("job") for row in batch["id"].to_pylist())
        return "## tiny 1.1.0\n\nSince tiny@1.0.0: PATCH (1.0.1 or higher).\n\n### Changed\n\n- one row\n"

    freeze(plan, project / "made", approve=approve)
    text = (project / "made" / "README.md").read_text(encoding="utf-8")
    assert len(seen) == 1
    since = "Since tiny@1.0.0: PATCH (1.0.1 or higher).\n\n#### Changed\n\n- one row\n"
    assert text.endswith(f"\n## Changelog\n\n### tiny 1.1.0\n\n{since}")
    assert api.verify(str(project / "made")) == []


def test_an_approver_may_refuse(project: Path) -> None:
    """And nothing is left behind."""
    _licensed(project, "MIT", "MIT")
    plan: Plan = plan_of(api.open_catalogue("tiny"), "1.0.0")

    def refuse(made: Release) -> str:
        raise ReleaseError("too low")

    with pytest.raises(ReleaseError, match="too low"):
        freeze(plan, project / "releases" / "made", approve=refuse)
    assert [*(project / "releases").iterdir()] == []


# ---- Citation ----


def test_an_entry_of_a_bibliography_is_read() -> None:
    """Names of persons and of others, accents, dashes, braces and quotes."""
    entry = find_entry(BIBLIOGRAPHY, "lovelace1843")
    assert entry
    assert entry.kind == "article"
    assert entry.authors == [("Lovelace", "Ada"), ("Analytical Society", ""), ("Gödel", "Kurt"), ("Babbage", "Charles")]
    assert entry.fields["title"] == "Notes on a Machine \u2013 & more"
    assert (entry.fields["volume"], entry.fields["year"]) == ("3", "1843")
    assert entry.text.startswith("@article{lovelace1843,")
    assert entry.text.endswith("}")
    assert find_entry(BIBLIOGRAPHY, "nobody") is None
    assert find_entry("@misc{open, title = {never closed", "open") is None


def test_a_quotation_mark_in_braces_ends_no_field() -> None:
    """As BibTeX has it: an umlaut in braces is part of a name in quotation marks, and the field after it is read."""
    entry = find_entry('@misc{a, author = "M{\\"u}ller, J and {de la Cruz}, P", year = "1990"}', "a")

    assert entry
    assert entry.authors == [("Müller", "J"), ("de la Cruz", "P")]
    assert entry.fields["year"] == "1990"


def test_the_citation_has_the_keys_that_the_format_asks_for(project: Path) -> None:
    """Citation File Format 1.2.0: cff-version, message, title and authors are required; each key once."""
    _licensed(project, "MIT", "MIT")
    release = api.build("tiny", "1.0.0")
    cff = YAML(typ="safe").load(release.folder / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= {*cff}
    assert (cff["cff-version"], cff["type"], cff["version"]) == ("1.2.0", "dataset", "1.0.0")
    # A person is cff from a group, and nobody is named twice, which the format forbids.
    assert cff["authors"] == [{"family-names": "Lovelace", "given-names": "Ada"}, {"name": "The Test Society"}]
    assert "author = {Lovelace, Ada and {The Test Society}}," in (release.folder / "README.md").read_text()
    creators = json.loads((release.folder / "croissant.json").read_text())["creator"]
    assert [(each["@type"], each["name"]) for each in creators] == [
        ("sc:Person", "Ada Lovelace"),
        ("sc:Organization", "The Test Society"),
    ]
    assert cff["identifiers"][0]["value"] == f"sha256:{release.manifest.content}"
    # The url is none, and is left out; the rest is that of the bibliography.
    assert cff["references"] == [
        {
            "type": "article",
            "title": "Notes on a Machine \u2013 & more",
            "authors": [
                {"family-names": "Lovelace", "given-names": "Ada"},
                {"name": "Analytical Society"},
                {"family-names": "Gödel", "given-names": "Kurt"},
                {"family-names": "Babbage", "given-names": "Charles"},
            ],
            "journal": "Scientific Memoirs",
            "volume": "3",
            "issue": "29",
            "year": 1843,
            "start": "666",
            "end": "731",
            "doi": "10.1000/182",
        }
    ]


def test_yaml_is_read_alike_by_every_reader() -> None:
    """By a reader of YAML 1.1, as the Hub's is, and one of 1.2."""
    import yaml  # type: ignore[import-untyped]

    value: dict[str, Any] = {
        "a": ["no", "1.0", "on: x", 'q"\\', "\x07\x85\u2028é😀", "- a", ""],
        "b": {},
        "c": {"d": True, "e": 2},
    }
    text = dump_yaml(value)
    assert yaml.safe_load(text) == value
    assert YAML(typ="safe", pure=True).load(text) == value


@pytest.mark.system
def test_cffconvert_finds_the_citation_valid(sssb: Path, project: Path, tmp_path: Path) -> None:
    """The format's own validator, in an environment of its own: it needs an older jsonschema than we do."""
    _licensed(project, "MIT", "MIT")
    release_folder = api.build("tiny", "1.0.0").folder
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "cffconvert==2.0.0"], check=True)
    for folder in (sssb, release_folder):
        command = [str(python.with_name("cffconvert")), "--validate", "-i", str(folder / "CITATION.cff")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "valid according to schema version 1.2.0" in done.stdout + done.stderr
