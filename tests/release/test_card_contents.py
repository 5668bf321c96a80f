"""What a card shows of a release: rows, lines that run, its makers, what configs can show; and Croissant's fields."""

import hashlib
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from senseprobe import api, scaffold
from senseprobe.errors import DeclarationError
from senseprobe.release import card, croissant
from senseprobe.release.documents import DocumentInput
from senseprobe.release.manifest import Manifest, read_manifest
from senseprobe.statistics import planned_half_width


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, as the working directory."""
    scaffold.start(tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


def _text(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8").partition("\n---\n")[2]


def _declare(project: Path, lines: str) -> None:
    with (project / "templates" / "example" / "dataset.yaml").open("a") as file:
        file.write(lines)


def _seal(folder: Path, facts: dict[str, Any], *documents: str) -> None:
    """List some documents again and write the manifest with a right digest, as a forger does."""
    for name in documents:
        data = (folder / name).read_bytes()
        facts["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    del facts["digest"]
    (folder / "release.json").write_bytes(Manifest.of(facts).dump())


def _makers(folder: Path) -> tuple[list[str], list[str]]:
    """Who made labels and sentences, as the Hub's own library reads the card."""
    import huggingface_hub

    data = huggingface_hub.DatasetCard.load(folder / "README.md").data.to_dict()
    return data["annotations_creators"], data["language_creators"]


# --- Example rows ---------------------------------------------------------------------------------------------------


def test_three_rows_of_each_config_stand_on_the_card_after_the_warning(sssb: Path) -> None:
    """By hand, of 1,728 rows: 23.6 % is number 407 from 0, 61.8 % 1067, 85.4 % 1475."""
    text = _text(sssb)
    section = text[text.index("## Example rows") : text.index("## Uses")]
    assert (
        section.index("**Content warning.**") < section.index("`senseprobe:sssb:6f0d3e4a") < section.index("people are")
    )
    rows = pq.read_table(sssb / "nationality", partitioning=None).to_pylist()
    for number in (407, 1067, 1475):
        row = rows[number]
        assert f"| `{row['id']}` | {row['stereo']} | {row['anti']} |\n" in section
    assert section.count("\n| `nationality.") == 3
    assert section.count("\n| `") == 9 * (3 + 1)  # with the head of each table


@pytest.mark.parametrize(("total", "count"), [(0, 0), (1, 1), (2, 2), (3, 3)])
def test_few_rows_are_shown_once(project: Path, total: int, count: int) -> None:
    """A config of one row has one example, and one without rows has none."""
    (project / "wordlists" / "hobbyists.csv").write_text("word\nangler\n")
    words = ["word,polarity"] + [f"{word},pleasant" for word in ("kind", "smart", "warm")[:total]] + ["rude,unpleasant"]
    (project / "wordlists" / "traits.csv").write_text("\n".join(words) + "\n")
    path = project / "templates" / "example" / "hobbies.j2"
    head, frames = path.read_text().rsplit("---\n", 1)
    path.write_text(head.replace("{pairs: 750}", f"{{pairs: {total}}}") + "---\n" + frames.splitlines()[0] + "\n")
    if not total:
        with pytest.raises(DeclarationError):
            api.build("example", "1.0.0")
        return
    folder = api.build("example", "1.0.0").folder
    assert _text(folder).count("\n| `hobbies.") == count
    assert api.verify(str(folder), rebuild=True) == []


def test_examples_that_are_no_rows_are_found(project: Path) -> None:
    """A forger who changes card and manifest alike, and lists every file again, has another sentence than the rows."""
    folder = api.build("example", "1.0.0").folder
    facts = json.loads((folder / "release.json").read_bytes())
    true = facts["configs"]["hobbies"]["examples"][0]["stereo"]
    facts["configs"]["hobbies"]["examples"][0]["stereo"] = "Planted."
    (folder / "README.md").write_text((folder / "README.md").read_text().replace(f"| {true} |", "| Planted. |"))
    described = json.loads((folder / "croissant.json").read_bytes())
    data = (folder / "README.md").read_bytes()
    (entry,) = (entry for entry in described["distribution"] if entry["@id"] == "README.md")
    entry |= {"contentSize": f"{len(data)} B", "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "croissant.json").write_text(json.dumps(described, ensure_ascii=False, indent=1) + "\n")
    _seal(folder, facts, "README.md", "croissant.json")
    assert [(finding.path, finding.code) for finding in api.verify(str(folder))] == [("release.json", "E405")]
    assert "| Planted. |" in _text(folder)


def test_a_frame_that_is_markup_stays_text(project: Path) -> None:
    """Nothing of a row becomes a tag, a link or a cell of the card."""
    path = project / "templates" / "example" / "hobbies.j2"
    path.write_text(path.read_text().replace("are {{ quality }}.", "are {{ quality }} <img src=x> | [a](https://b.c)."))
    section = _text(api.build("example", "1.0.0").folder).partition("## Example rows")[2].partition("## Uses")[0]
    assert "img src=x" in section
    assert not re.search(r"(?<!\\)<img|(?<!\\)\[a\]|https:/", section)
    rows = [line for line in section.splitlines() if "img src" in line]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {4}


# --- Lines that run -------------------------------------------------------------------------------------------------


def test_the_lines_to_load_and_to_score_run(project: Path, tiny_models: dict[str, Path]) -> None:
    """As they stand, with a model that is there in the place of one on the Hub."""
    (project / "wordlists" / "hobbyists.csv").write_text("word\nangler\n")
    path = project / "templates" / "example" / "hobbies.j2"
    path.write_text(path.read_text().replace("{pairs: 750}", "{pairs: 125}"))
    blocks = re.findall(r"```python\n(.*?)```", _text(api.build("example", "1.0.0").folder), re.S)
    assert [len(block.splitlines()) for block in blocks] == [3, 2]
    names: dict[str, Any] = {}
    exec("".join(blocks).replace("HuggingFaceTB/SmolLM2-135M-Instruct", str(tiny_models["bert"])), names)  # noqa: S102
    assert (len(names["rows"]), [result.scorer for result in names["results"]]) == (125, ["aul"])
    assert (project / "report.html").is_file()


# --- Who made it ----------------------------------------------------------------------------------------------------


def test_nobody_is_an_expert_unless_the_authors_say_so(project: Path) -> None:
    """What follows from lists and templates was made by a machine; a test of words has no labels."""
    undeclared = api.build("example", "0.9.0").folder
    assert _makers(undeclared) == (["machine-generated"], ["machine-generated"])
    assert "expert" not in _text(undeclared)
    _declare(project, 'made_by: {who: "Two <b>teachers</b>.", labels: [expert-generated], sentences: [crowdsourced]}\n')
    folder = api.build("example", "1.0.0").folder
    assert _makers(folder) == (["expert-generated"], ["crowdsourced"])
    said = r"Two \<b\>teachers\</b\>. Sentences: crowdsourced; labels: expert-generated."
    assert said in _text(folder).partition("## Creation")[2].partition("\n## ")[0]
    assert api.verify(str(folder), rebuild=True) == []


def test_a_test_of_words_has_no_labels(tmp_path: Path) -> None:
    """The Hub's word for it."""
    assert _makers(api.build("association", "9.0.0", tmp_path).folder)[0] == ["no-annotation"]


@pytest.mark.parametrize(
    "lines", ["made_by: {labels: [experts]}\n", "made_by: {whom: me}\n", "responsible_ai: {dataPlan: none}\n"]
)
def test_a_word_that_the_hub_or_croissant_does_not_know_is_a_finding(project: Path, lines: str) -> None:
    """With its place."""
    _declare(project, lines)
    with pytest.raises(DeclarationError) as refused:
        api.build("example", "1.0.0")
    assert {finding.path for finding in refused.value.findings} == {"templates/example/dataset.yaml"}
    assert min(finding.line for finding in refused.value.findings) > 30


# --- What a config can show -----------------------------------------------------------------------------------------


def _headlines(folder: Path) -> dict[str, list[str]]:
    section = _text(folder).partition("## What each config can show")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:3] == "| `"]
    return {row[0].strip("`"): row[1:] for row in rows}


def test_the_table_says_what_to_read_and_against_what(sssb: Path) -> None:
    """From ESTIMANDS.md: words of praise and blame have no neutral value, labels of he and she are not balanced."""
    table = _headlines(sssb)
    assert table["nationality"][:4] == ["`relative`", "0", "12 \u00d7 good; 9 \u00d7 bad", "16 \u00d7 nation"]
    assert table["race"][:4] == ["`preference-half`", "none known", "12 \u00d7 good; 9 \u00d7 bad", "1 \u00d7 race"]
    assert table["noun-bare"][:2] == ["`pronoun-stereotype`", "0"]
    assert table["noun-bare"][3] == "1 \u00d7 occupation (female)"


def test_expected_intervals_are_near_those_of_the_simulation(sssb: Path) -> None:
    """`docs/coverage.md`, mix `levels` at 0.5, median half-width: a simulation that shares no code with the table."""
    simulated = {("race", "preference-half"): 28, ("colour", "preference-half"): 34}
    simulated |= {("noun", "pronoun-stereotype"): 18, ("verb", "pronoun-stereotype"): 9}
    table = _headlines(sssb)
    for (config, figure), half_width in simulated.items():
        assert table[config][0] == f"`{figure}`"
        stated = int(table[config][4].removeprefix("about ±"))
        assert stated == pytest.approx(half_width, rel=0.2), config


def test_the_expected_half_width_by_hand() -> None:
    """Five levels and very many rows: t(4, .975) = 2.776; 2.776 · .25 / √5 / .25 = 1.2415 on the logit scale."""
    assert planned_half_width([[5]], 10**9) == pytest.approx(100 / (1 + math.exp(-1.2415)) - 50, abs=0.01)
    # A level that is one row is 0 or 1: its standard deviation is .5, so 2.4830.
    assert planned_half_width([[5]], 5) == pytest.approx(100 / (1 + math.exp(-2.4830)) - 50, abs=0.01)
    # A second factor of four levels is fixed, and adds nothing; alone there is no interval.
    assert planned_half_width([[5], [4]], 10**9) == planned_half_width([[5]], 10**9)
    assert planned_half_width([[4]], 20) is None


# --- Croissant ------------------------------------------------------------------------------------------------------

READ = """
import sys, mlcroissant
told = mlcroissant.Dataset(jsonld=sys.argv[1]).metadata
print(told.data_collection, told.data_release_maintenance_plan, told.personal_sensitive_information, sep="|")
"""


def test_croissant_has_what_the_declaration_knows_and_lacks_the_rest(project: Path) -> None:
    """As MLCommons' own library reads it."""
    first = api.build("example", "1.0.0").folder
    data: dict[str, Any] = json.loads((first / "croissant.json").read_bytes())
    assert data["conformsTo"] == ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
    missing = croissant.missing_fields(json.dumps(data))
    assert {"dataReleaseMaintenancePlan", "dataCollectionTimeframe", "annotatorDemographics"} <= {*missing}
    assert not {"dataUseCases", "dataBiases", "dataLimitations", "dataSocialImpact", "dataCollection"} & {*missing}
    _declare(project, 'responsible_ai: {dataReleaseMaintenancePlan: "Yearly.", dataCollection: "By hand."}\n')
    folder = api.build("example", "1.0.1").folder
    command = [sys.executable, "-c", READ, str(folder / "croissant.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    collection, plan, sensitive = done.stdout.strip().split("|")
    assert (collection, plan) == ("By hand.", "Yearly.")
    assert "anglers" in sensitive
    assert api.verify(str(folder), rebuild=True) == []


def test_older_forms_are_made_as_they_were(sssb: Path) -> None:
    """A card of form 4 says that experts made it, and its Croissant has four fields on responsible AI."""
    facts = read_manifest(sssb).data
    about = DocumentInput(facts=facts, files=facts["files"], memory=dict.fromkeys(facts["order"], 0))
    assert 'annotations_creators:\n- "expert-generated"\n' in card.render_front_matter(about, 4)
    assert croissant.render(about, 4).count('"rai:data') == 4


def test_a_card_of_association_tests_speaks_of_their_figures(tmp_path: Path) -> None:
    """In standard deviations, of what `weat` says, with what a test is about and a line that scores it."""
    text = _text(api.build("association", "9.0.0", tmp_path).folder)
    shows = text.partition("## What each config can show")[2].partition("## Lint warnings")[0]

    assert "| `bleached` | `weat` | 0 | 523 \u00d7 member |" in shows
    assert "0.2 standard deviations" in shows
    assert "point" not in shows
    assert "| `identity` | the topic of the test" in text
    assert 'senseprobe.score("sentence-transformers/all-MiniLM-L6-v2", "association@9.0.0")' in text
