"""Word, key and gloss in `preview`, `count --senses`, lint and card; W301 to W303; `senseprobe words show WORD`."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.lexicon.test_lexicon import Synset, write_wordnet

from senseprobe import api
from senseprobe.api import author
from senseprobe.cli.application import main
from senseprobe.lexicon import prepare
from senseprobe.records import Finding
from senseprobe.release.manifest import Manifest

# Keys by hand after senseidx(5WN): 5 is noun.animal, 18 is noun.person.
ANIMAL, INVESTOR = "bear%1:05:00::", "bear%1:18:00::"
OX, TRADER = "bull%1:05:00::", "bull%1:18:00::"
SYNSETS: list[Synset] = [
    ("noun", 5, "n", (("bear", 0),), None, "a massive mammal with shaggy coat"),
    ("noun", 18, "n", (("bear", 0),), None, "an investor who expects prices to fall"),
    ("noun", 5, "n", (("bull", 0),), None, "an uncastrated male of cattle"),
    ("noun", 18, "n", (("bull", 0), ("optimist", 3)), None, "an investor who expects prices to rise"),
    ("verb", 42, "v", (("bear", 1),), None, "have"),
    ("adj", 0, "a", (("calm", 0),), None, "not agitated"),
    ("adj", 0, "a", (("wild", 0),), None, "not tame"),
    *(("noun", 15, "n", ((word, 0),), None, "a place") for word in ("wood", "exchange", "hill")),
    ("adv", 2, "r", (("well", 0),), None, "in a good way"),
]

BEASTS = f"word,sense_animal,sense_investor\nbear,{ANIMAL},{INVESTOR}\nbull,{OX},{TRADER}\n"
DESCRIPTOR = """
name: markets
resources:
  - name: beasts
    path: beasts.csv
    sources: [{title: nobody}]
    licenses: [{name: CC0-1.0}]
    schema:
      primaryKey: [word]
      fields:
        - {name: word}
        - {name: sense_animal, lexicon: wordnet-3.0, pos: noun}
        - {name: sense_investor, lexicon: wordnet-3.0, pos: noun}
"""
DATASET = """
title: Bears and bulls
summary: Beasts of the wood, and of the exchange.
license: CC0-1.0
languages: [en]
citation: nobody
canary: "senseprobe:market:00000000-0000-0000-0000-000000000000"
content_warning: None.
construct: whether beasts are said to be calm
groups: [bears, bulls]
intended_use: Tests.
out_of_scope: Everything else.
who_could_be_harmed: Traders who are taken for beasts.
equivalence: {margin: 5, reason: a test}
contrasts:
  - {name: beasts, estimand: preference, a: animal, b: investor}
configs: [animal, investor]
accept: {W506: a test needs few words, W509: a test needs few words, W523: nobody is asked here}
"""
TEMPLATE = """---
kind: contrast
bias_type: none
construct: none
description: Beasts, wild against calm.
source: nobody
slots:
  beast: {list: beasts}
roles:
  stereo: {quality: {text: wild}}
  anti:   {quality: {text: calm}}
target: beast
sense: {type: TYPE, key: beast.sense_TYPE}
label_basis: trait
generalise: [beast, frame]
expect: {pairs: 2}
---
The {{ beast }} PLACE is {{ quality }}.
"""
PLACES = {"animal": "in the wood", "investor": "at the exchange"}


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy WordNet, prepared."""
    folder = tmp_path_factory.mktemp("toy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nltk.data.path", [])
        return prepare(folder / "data", debian=write_wordnet(folder / "wordnet", SYNSETS)).folder


@pytest.fixture
def project(tmp_path: Path, wordnet: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two configs on two senses of the same words, where the toy WordNet is prepared."""
    home = Path(shutil.copytree(wordnet, tmp_path / "data"))
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(home))
    folder = tmp_path / "project"
    for name in ("templates/market", "wordlists", "releases"):
        (folder / name).mkdir(parents=True)
    (folder / "senseprobe.toml").touch()
    (folder / "wordlists" / "datapackage.yaml").write_text(DESCRIPTOR)
    (folder / "wordlists" / "beasts.csv").write_text(BEASTS)
    (folder / "wordlists" / "references.bib").write_text("@misc{nobody,\n  title = {Nothing},\n}\n")
    (folder / "templates" / "market" / "dataset.yaml").write_text(DATASET)
    for name, place in PLACES.items():
        text = TEMPLATE.replace("TYPE", name).replace("PLACE", place)
        (folder / "templates" / "market" / f"{name}.j2").write_text(text)
    monkeypatch.chdir(folder)
    return folder


Edit = Callable[[str, str, str], None]


@pytest.fixture
def edit(project: Path) -> Edit:
    """Replace a text in a file of the project, where it stands once."""

    def replace(name: str, old: str, new: str) -> None:
        path = project / name
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))

    return replace


def _codes(findings: tuple[Finding, ...]) -> list[tuple[str, str, int]]:
    return [(finding.code, finding.path, finding.line) for finding in findings]


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["senseprobe", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


# --- lint -----------------------------------------------------------------------------------------------------------

WITHIN = ("templates/market/animal.j2", 13)
DECLARED = "templates/market/dataset.yaml"


def test_the_project_is_clean(project: Path) -> None:
    """What the tests find is what they plant: two senses of two words, each in its own sentences."""
    report = author.lint()
    assert report.findings == ()
    assert (report.configs, report.keys_checked) == (2, 4)


def test_an_empty_key_is_a_finding(project: Path, edit: Edit) -> None:
    """In the config that reads the column; the other one does not."""
    edit("wordlists/beasts.csv", f"bull,{OX}", "bull,")
    report = author.lint()
    assert _codes(report.findings) == [("W301", *WITHIN)]
    assert report.findings[0].message == "beast.sense_animal is empty: 'bull'"
    edit("templates/market/animal.j2", "expect:", "accept: {W301: WordNet has no such bull}\nexpect:")
    assert author.lint().findings == ()


def test_a_block_without_a_key_is_a_finding(project: Path, edit: Edit) -> None:
    """Beside a block that has one; a config that declares none, or has no target, has no such finding."""
    block = "---\nsense: {type: animal}\n---\nA {{ beast }} of the hills is {{ quality }}.\n"
    template = project / "templates/market/animal.j2"
    template.write_text(template.read_text().replace("pairs: 2", "pairs: 4") + block)
    (finding,) = author.lint().findings
    assert (finding.code, finding.line) == ("W301", 20)
    assert finding.message == "`sense` lacks the `key` that it has in other blocks: 'bear', 'bull'"
    edit("templates/market/animal.j2", ", key: beast.sense_animal", "")
    assert author.lint().findings == ()


def test_one_key_on_both_sides_of_a_contrast_is_a_finding(project: Path, edit: Edit) -> None:
    """With word, key and gloss, so that the author sees which side is wrong: here the animal as investor."""
    edit("wordlists/beasts.csv", f"bear,{ANIMAL},{INVESTOR}", f"bear,{ANIMAL},{ANIMAL}")
    report = author.lint()
    assert _codes(report.findings) == [("W302", DECLARED, 16)]
    sense = f"bear {ANIMAL} (a massive mammal with shaggy coat)"
    assert report.findings[0].message == f"animal and investor have the same sense: {sense}"
    edit(DECLARED, "accept: {", "accept: {W302: the same on purpose here, ")
    assert author.lint().findings == ()


def test_a_contrast_that_does_not_say_what_people_are_asked_is_a_finding(project: Path, edit: Edit) -> None:
    """One of its two senses may be no group: either config may say so, and then there is no finding."""
    edit(DECLARED, ", W523: nobody is asked here", "")
    assert _codes(author.lint().findings) == [("W523", DECLARED, 16)]
    edit("templates/market/animal.j2", "label_basis: trait", "label_basis: trait\nasks: [sense, natural]")
    assert author.lint().findings == ()


def test_what_people_are_asked_goes_into_the_release(project: Path, edit: Edit) -> None:
    """And is no part of the rows or of the design: the next version with it is a PATCH, which names the config."""
    api.build("market", "1.0.0")
    edit("templates/market/animal.j2", "label_basis: trait", "label_basis: trait\nasks: [sense, natural, comment]")
    api.build("market", "1.0.1")
    old, new = (api.load(f"market@{version}").manifest for version in ("1.0.0", "1.0.1"))
    assert [*map(new.asks, ("animal", "investor")), old.asks("animal")] == [("sense", "natural", "comment"), (), ()]
    assert [name for name in new.configs if "asks" in new.config(name)] == ["animal"]
    assert (old.content, old.data["schema"]) == (new.content, new.data["schema"])
    assert {name: old.design(name) for name in old.configs} == {name: new.design(name) for name in new.configs}
    (change,) = (change for change in api.diff("market@1.0.0", "market@1.0.1").configs if change.about)
    assert (change.config, change.about) == ("animal", ("asks",))
    assert api.diff("market@1.0.0", "market@1.0.1").bump.name == "PATCH"
    assert api.verify("market@1.0.1", rebuild=True) == []


def test_a_contrast_of_relative_without_groups_is_a_finding(project: Path, edit: Edit) -> None:
    """Wild and calm are neither praise nor blame, and there is no `relative` of either config."""
    edit(DECLARED, "estimand: preference", "estimand: relative")
    assert _codes(author.lint().findings) == [("E127", DECLARED, 16)]


def test_two_words_of_one_synset_are_a_finding(project: Path, edit: Edit) -> None:
    """A bull in the sense of a trader is an optimist; with a column of clusters, or another sense, nothing is found."""
    template = "templates/market/investor.j2"
    edit("wordlists/beasts.csv", f"bear,{ANIMAL},{INVESTOR}", f"optimist,{ANIMAL},optimist%1:18:03::")
    found = tuple(finding for finding in author.lint().findings if finding.code == "W521")
    assert _codes(found) == [("W521", template, 15)]
    assert "optimist and bull" in found[0].message

    edit("wordlists/beasts.csv", BEASTS.partition("\n")[0], f"{BEASTS.partition(chr(10))[0]},kind")
    edit("wordlists/beasts.csv", "optimist%1:18:03::", "optimist%1:18:03::,trader")
    edit("wordlists/beasts.csv", f"bull,{OX},{TRADER}", f"bull,{OX},{TRADER},trader")
    edit("wordlists/datapackage.yaml", "- {name: word}\n", "- {name: word}\n        - {name: kind, type: string}\n")
    edit(template, "generalise: [beast, frame]", "generalise: [beast.kind, frame]")
    assert "W521" not in {finding.code for finding in author.lint().findings}


def test_one_sentence_of_two_senses_is_a_finding(project: Path, edit: Edit) -> None:
    """Of either role, about the same word; about another word, or in another config of the sense, it is none."""
    edit("templates/market/investor.j2", "at the exchange", "in the wood")
    report = author.lint()
    assert _codes(report.findings) == [("W303", DECLARED, 17)]
    message = report.findings[0].message
    assert message.startswith("animal (animal) and investor (investor) both have 'The bear in the wood is wild.', ")
    assert message.endswith(" and 1 more")  # two words, wild or calm
    edit("templates/market/investor.j2", "type: investor", "type: animal")
    assert author.lint().findings == ()


def test_a_sentence_about_another_of_its_words_is_no_finding(project: Path, edit: Edit) -> None:
    """A bear beside a bull: each is the target in one config, in the same sentences."""
    for name, words in (("animal", "{{ beast }} and the bull"), ("investor", "bear and the {{ beast }}")):
        edit(f"templates/market/{name}.j2", f"{{{{ beast }}}} {PLACES[name]} is", f"{words} are")
        word = "bear" if name == "animal" else "bull"
        edit(f"templates/market/{name}.j2", "{list: beasts}", f"{{list: beasts, where: {{word: {word}}}}}")
        edit(f"templates/market/{name}.j2", "pairs: 2", "pairs: 1")
    assert [finding.code for finding in author.lint().findings if finding.code.startswith("W3")] == []


def test_a_key_of_another_word_is_reported_with_its_gloss(project: Path, edit: Edit) -> None:
    """What the key is a sense of, in the words of the lexicon."""
    edit("wordlists/beasts.csv", f"bull,{OX},{TRADER}", f"bull,{OX},{INVESTOR}")
    messages = [finding.message for finding in author.lint().findings]
    assert f"{INVESTOR} (an investor who expects prices to fall) is a sense of bear, not of bull" in messages


# --- preview and count ----------------------------------------------------------------------------------------------


def test_preview_prints_word_key_and_gloss(
    project: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An existing key of the wrong sense is seen: the investor among the animals."""
    edit("wordlists/beasts.csv", f"bear,{ANIMAL}", f"bear,{INVESTOR}")
    assert _run(monkeypatch, "preview", "market/animal") == 0
    out = capsys.readouterr().out
    assert f"  sense_key: bear {INVESTOR} (an investor who expects prices to fall)\n" in out
    assert f"  sense_key: bull {OX} (an uncastrated male of cattle)\n" in out


def test_count_lists_senses(project: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    """On request, with rows; of tokens only other senses than those that words have. A key may be empty or wrong."""
    edit(
        "templates/market/animal.j2", "key: beast.sense_animal", "key: beast.sense_animal, token: beast.sense_investor"
    )
    edit("wordlists/beasts.csv", f"bull,{OX},{TRADER}", "bull,bull%1:07:00::,")
    counts = author.count("market/animal", senses=True)[0].as_dict()
    assert counts == json.loads(json.dumps(counts))
    names = ("column", "word", "key", "lexicon", "gloss", "rows")
    assert counts["configs"][0]["senses"] == [
        dict(zip(names, values, strict=True))
        for values in (
            ("sense_key", "bear", ANIMAL, "wordnet-3.0", "a massive mammal with shaggy coat", 1),
            ("sense_key", "bull", "bull%1:07:00::", "wordnet-3.0", "", 1),
            ("token_key", "bear", INVESTOR, "wordnet-3.0", "an investor who expects prices to fall", 1),
            ("token_key", "bull", "", "wordnet-3.0", "", 1),
        )
    ]
    assert "senses" not in author.count("market/animal")[0].configs[0]


def test_count_prints_senses(
    project: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each; without WordNet, what to do about the gloss."""
    edit("wordlists/beasts.csv", f"bull,{OX}", "bull,")
    assert _run(monkeypatch, "count", "market/animal", "--senses") == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"animal, sense_key: bear {ANIMAL} (a massive mammal with shaggy coat), 1 row" in lines
    assert "animal, sense_key: bull (no sense key), 1 row" in lines
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(project / "nowhere"))
    assert _run(monkeypatch, "count", "market/animal", "--senses") == 0
    assert f"animal, sense_key: bear {ANIMAL} (no gloss: run `senseprobe wordnet`), 1 row" in capsys.readouterr().out


def test_literal_keys_are_senses_of_the_target(project: Path) -> None:
    """In the built-in verbs of sssb, whose blocks have a key each: 14 frames of one sense of *engineer*, 9 of one."""
    (counts,) = author.count("sssb/verb", senses=True)
    found = [(sense.word, sense.key, sense.rows) for sense in counts.configs[0]["senses"]]
    assert found[:2] == [("engineer", "engineer%2:31:01::", 14), ("engineer", "engineer%2:31:00::", 9)]
    assert sum(rows for _, _, rows in found) == counts.rows == 146


# --- the card -------------------------------------------------------------------------------------------------------


def _senses_of_card(folder: Path) -> list[list[str]]:
    section = (folder / "README.md").read_text().partition("\n## Senses\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| (.*) \|$", section)
    return [row.split(" | ") for row in rows[1:]]


def test_the_card_lists_word_key_and_gloss(project: Path) -> None:
    """From the manifest, which says with which WordNet; the recipe alone makes the same."""
    release = api.build("market", "1.0.0")
    assert _senses_of_card(release.folder) == [
        ["bear", f"`{ANIMAL}`", "a massive mammal with shaggy coat", "`sense_key`", "`animal`"],
        ["bull", f"`{OX}`", "an uncastrated male of cattle", "`sense_key`", "`animal`"],
        ["bear", f"`{INVESTOR}`", "an investor who expects prices to fall", "`sense_key`", "`investor`"],
        ["bull", f"`{TRADER}`", "an investor who expects prices to rise", "`sense_key`", "`investor`"],
    ]
    assert [*release.manifest.data["lexicons"]] == ["wordnet-3.0"]
    assert api.verify(str(release.folder), rebuild=True) == []


def test_a_card_needs_no_wordnet_to_be_verified(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a release that was built without it: its card says so, and is verified where WordNet is."""
    told: list[str] = []
    api.build("market", "1.0.0", say=told.append)
    with monkeypatch.context() as patch:
        patch.setenv("SENSEPROBE_WORDNET", str(project / "nowhere"))
        assert api.verify("market@1.0.0", rebuild=True) == []
        bare = api.build("market", "1.0.0", "elsewhere", say=told.append)
        assert api.verify(str(bare.folder), rebuild=True) == []
    assert "lexicons" not in bare.manifest.data
    assert {row[2] for row in _senses_of_card(bare.folder)} == {"missing"}
    assert "glosses are missing" in (bare.folder / "README.md").read_text()
    assert [line for line in told if "WordNet" in line] == [told[-1]]
    assert api.verify(str(bare.folder), rebuild=True) == []


@pytest.mark.parametrize("change", [{"gloss": "a friend"}, {"key": OX}, {"word": "she-bear"}, {"rows": 7}])
def test_a_rebuild_compares_senses(project: Path, change: dict[str, Any]) -> None:
    """Who seals a manifest with another sense again is found out by the recipe and WordNet."""
    release = api.build("market", "1.0.0")
    facts = json.loads((release.folder / "release.json").read_bytes())
    facts["configs"]["animal"]["senses"][0].update(change)
    own = {key: value for key, value in facts.items() if key not in ("schema", "digest")}
    (release.folder / "release.json").write_bytes(Manifest.of(own).dump())
    found = {(finding.code, finding.message) for finding in api.verify(str(release.folder), rebuild=True)}
    assert ("E408", "the recipe and the manifest differ: animal, senses") in found


@pytest.mark.parametrize("value", [{"gloss": 5}, {"column": "x"}, {"rows": -1}])
def test_senses_of_a_manifest_are_of_their_form(project: Path, value: dict[str, Any]) -> None:
    """A stranger's manifest is refused, with where it is wrong."""
    release = api.build("market", "1.0.0")
    facts = json.loads((release.folder / "release.json").read_bytes())
    facts["configs"]["animal"]["senses"][0].update(value)
    own = {key: value for key, value in facts.items() if key not in ("schema", "digest")}
    (release.folder / "release.json").write_bytes(Manifest.of(own).dump())
    (finding,) = api.verify(str(release.folder))
    assert (finding.code, f"senses.0.{next(iter(value))}" in finding.message) == ("E401", True)


def test_a_dataset_without_keys_has_no_senses_on_its_card(project: Path, edit: Edit) -> None:
    """And its manifest is what it was."""
    for name in PLACES:
        edit(f"templates/market/{name}.j2", f", key: beast.sense_{name}", "")
    release = api.build("market", "1.0.0")
    assert "## Senses" not in (release.folder / "README.md").read_text()
    assert "lexicons" not in release.manifest.data
    assert "senses" not in release.manifest.config("animal")


# --- senseprobe words show ----------------------------------------------------------------------------------------


def test_senses_show_lists_the_senses_of_a_word(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of its forms too, nouns first; keys, files after lexnames(5WN), words and glosses."""
    assert _run(monkeypatch, "words", "show", "Bears") == 0
    rows = [re.split(" {2,}", line.strip()) for line in capsys.readouterr().out.splitlines() if "%" in line]
    assert rows == [
        [ANIMAL, "noun.animal", "bear", "a massive mammal with shaggy coat"],
        [INVESTOR, "noun.person", "bear", "an investor who expects prices to fall"],
        ["bear%2:42:01::", "verb.stative", "bear", "have"],
    ]
    assert _run(monkeypatch, "words", "show", "optimist", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["word"], shown["embedding"]) == ("optimist", None)
    assert shown["senses"] == [
        {
            "key": "optimist%1:18:03::",
            "pos": "noun",
            "file": "noun.person",
            "gloss": "an investor who expects prices to rise",
            "lemmas": ["bull", "optimist"],
            "gender": None,
            "nearest": [],
            "missing": False,
        }
    ]
    assert _run(monkeypatch, "words", "show", "zebra") == 2
    assert "wordnet-3.0 does not contain 'zebra'" in capsys.readouterr().err
