"""Inference and association rows, written by hand; and what a design may promise of contrast rows."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from senseprobe.errors import DeclarationError
from senseprobe.generator.config import Config
from senseprobe.generator.dataset import derive_design
from senseprobe.generator.english import English
from senseprobe.generator.expand import expand
from senseprobe.generator.resolve import resolve
from senseprobe.generator.segments import environment
from senseprobe.generator.templates import read_template
from senseprobe.generator.word_lists import WordLists
from senseprobe.parquet_files import plain
from senseprobe.release.schema import design_schema

DESCRIPTOR = """
name: x
resources:
  - name: people
    path: people.csv
    sources: []
    licenses: []
    schema:
      fields: [{name: word, type: string}, {name: known, type: boolean}, {name: claim, type: string}]
  - name: others
    path: others.csv
    sources: []
    licenses: []
    schema: {fields: [{name: word, type: string}, {name: known, type: string}, {name: claim, type: string}]}
  - name: members
    path: members.csv
    sources: []
    licenses: []
    schema:
      primaryKey: [test, role, word]
      fields:
        - {name: word, type: string}
        - {name: test, type: string}
        - {name: role, type: string}
        - {name: kind, type: string}
        - {name: slug, type: string}
  - name: qualities
    path: qualities.csv
    sources: []
    licenses: []
    schema:
      fields: [{name: word, type: string}, {name: polarity, type: string}, {name: sense_adjective, type: string}]
"""

LISTS = {
    "people": "word,known,claim\nurchin,true,neutral\nhonest élite,,contradiction\n",
    "others": "word,known,claim\nowl,yes,neutral\n",
    "members": "word,test,role,kind,slug\nox,t1,X,thing,t1-x-ox\nNASA,t1,Y,name,t1-y-nasa\nox,t2,A,thing,t2-a-ox\n",
    "qualities": "word,polarity,sense_adjective\nkind,pleasant,kind%3:00:00::\nrude,unpleasant,\n",
}

INFERENCE = """---
kind: inference
bias_type: none
construct: a
description: b
source: c
slots:
  thing: {list: qualities}
  who: {list: people}
roles:
  premise:    {filler: who}
  hypothesis: {filler: {text: "person"}}
target: filler
gold: who.claim
columns: {known: who.known, polarity: thing.polarity}
generalise: [who, thing]
expect: {pairs: 4}
---
{{ filler | a | upfirst }} is {{ thing }}. {# id: plain #}
"""

ASSOCIATION = """---
kind: association
bias_type: none
construct: a
description: b
source: c
slots:
  member: {list: members, where: {kind: thing}}
target: member
test: member.test
role: member.role
word: member.word
word_class: member.kind
generalise: [member]
expect: {members: 5}
---
{{ member | plural | upfirst }} are here. {# id: many #}
This is {{ member | a }}. {# id: one #}
---
slots:
  member: {list: members, where: {kind: name}}
---
This is {{ member }}. {# id: name #}
"""

CONTRAST = """---
kind: contrast
bias_type: none
construct: a
description: b
source: c
slots:
  who: {list: people}
  good: {list: qualities, where: {polarity: pleasant}}
  bad: {list: qualities, where: {polarity: unpleasant}}
roles:
  stereo: {quality: bad}
  anti: {quality: good}
target: who
sense: {type: noun}
label_basis: trait
generalise: [who]
expect: {pairs: 2}
MORE---
The {{ who }} is {{ quality }}. {# id: one #}
"""


@pytest.fixture
def lists(tmp_path: Path) -> WordLists:
    """Four small lists."""
    (tmp_path / "datapackage.yaml").write_text(DESCRIPTOR)
    for name, text in LISTS.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return WordLists((tmp_path,))


def _config(lists: WordLists, text: str) -> Config:
    path = lists.folders[0] / "x.j2"
    path.write_text(text)
    return resolve(read_template(path), lists, environment(English().filters()))


def _rows(lists: WordLists, text: str) -> list[dict[str, Any]]:
    config = _config(lists, text)
    batches = [plain(batch) for batch in expand(config, lists)]
    table = pa.Table.from_batches(batches, design_schema(derive_design(config)))
    return [dict(row) for row in table.to_pylist()]


def test_inference_rows(lists: WordLists) -> None:
    """By hand: the last slot varies fastest; a span leaves out the article; an empty cell is null; gold is a cell."""
    rows = _rows(lists, INFERENCE)
    assert [row["id"] for row in rows] == [
        "x.plain.kind.urchin", "x.plain.kind.honest-élite", "x.plain.rude.urchin", "x.plain.rude.honest-élite",
    ]  # fmt: skip
    assert rows[0] == {
        "id": "x.plain.kind.urchin", "frame": "plain", "thing": "kind", "who": "urchin",
        "premise": "An urchin is kind.", "hypothesis": "A person is kind.",
        "premise_span": {"start": 3, "end": 9}, "hypothesis_span": {"start": 2, "end": 8},
        "gold": "neutral", "known": True, "polarity": "pleasant",
    }  # fmt: skip
    assert rows[3] == {
        "id": "x.plain.rude.honest-élite", "frame": "plain", "thing": "rude", "who": "honest élite",
        "premise": "An honest élite is rude.", "hypothesis": "A person is rude.",
        "premise_span": {"start": 3, "end": 15}, "hypothesis_span": {"start": 2, "end": 8},
        "gold": "contradiction", "known": None, "polarity": "unpleasant",
    }  # fmt: skip


def test_association_rows(lists: WordLists) -> None:
    """By hand: block after block, frame after frame; a word that recurs in two tests has two ids."""
    rows = _rows(lists, ASSOCIATION)
    assert [(row["id"], row["sentence"]) for row in rows] == [
        ("x.many.t1-x-ox", "Oxen are here."), ("x.many.t2-a-ox", "Oxen are here."),
        ("x.one.t1-x-ox", "This is an ox."), ("x.one.t2-a-ox", "This is an ox."),
        ("x.name.t1-y-nasa", "This is NASA."),
    ]  # fmt: skip
    assert rows[2] == {
        "id": "x.one.t1-x-ox", "frame": "one", "member": "ox", "test": "t1", "role": "X", "word": "ox",
        "word_class": "thing", "sentence": "This is an ox.", "span": {"start": 11, "end": 13},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ("gold: who.claim", "gold: maybe", "E105 gold is 'maybe'"),
        ("gold: who.claim", "gold: thing.polarity", "E102 thing.polarity has the value 'pleasant'"),
        ("known: who.known", "known: who.nkown", "E104 who does not have a column 'nkown' (did you mean 'known'?)"),
        ("known: who.known", "gold: who.known", "E102 'gold' cannot be the name of a column"),
        ("known: who.known", "known: true", "E102"),
        ("premise:    {filler: who}", "premise:    {subject: who}", "E102 roles must be `premise` and `hypothesis`"),
        ("---\n{{ filler", "---\n{{ fi", "E105 'fi' is not defined"),
        ("who: {list: people}", "who\u00e9: {list: people}", "E102 'who\u00e9' cannot be the name of a slot"),
    ],
)
def test_inference_mistakes(lists: WordLists, was: str, now: str, message: str) -> None:
    """Each is told with what is wrong."""
    text = INFERENCE.replace(was, now)
    assert text != INFERENCE
    with pytest.raises(DeclarationError) as caught:
        _config(lists, text)
    assert message in str(caught.value)


def test_an_identity_is_a_column_of_the_rows(lists: WordLists) -> None:
    """By hand: the cell of the list, after the columns of the kind; the design declares it, and `weat`."""
    text = ASSOCIATION.replace("generalise:", "identity: member.kind\ngeneralise:")
    assert [row["identity"] for row in _rows(lists, text)] == ["thing"] * 4 + ["name"]
    design = derive_design(_config(lists, text))
    assert (design.columns, design.estimands) == ((("identity", "string"),), ("weat",))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("identity: member.knid", r"x\.j2:14:1: E104 member does not have a column 'knid' \(did you mean 'kind'\?\)"),
        ("identity: gender", r"x\.j2:14:1: E105 'gender' does not have the form slot\.column"),
        (
            "identity: member.kind\ncolumns: {identity: member.test}",
            r"x\.j2:15:11: E102 `identity` already makes this column",
        ),
    ],
)
def test_an_identity_that_is_no_column(lists: WordLists, line: str, message: str) -> None:
    """A mistake stands where the key stands."""
    with pytest.raises(DeclarationError, match=message):
        _config(lists, ASSOCIATION.replace("generalise:", f"{line}\ngeneralise:"))


VALUE_KEYS = "stereo_value_key: bad.sense_adjective\nanti_value_key: good.sense_adjective\n"


def test_the_sense_keys_of_values_are_columns_of_the_rows(lists: WordLists) -> None:
    """By hand: the cell of the word in each role, null where the list has none; without the keys no such columns."""
    rows = _rows(lists, CONTRAST.replace("MORE", VALUE_KEYS))
    assert [(row["stereo_value"], row["stereo_value_key"]) for row in rows] == [("rude", None)] * 2
    assert [(row["anti_value"], row["anti_value_key"]) for row in rows] == [("kind", "kind%3:00:00::")] * 2
    assert not {"stereo_value_key", "anti_value_key"} & _rows(lists, CONTRAST.replace("MORE", ""))[0].keys()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("bad.sense_adjective", "bad.sense", r"x\.j2:19:1: E104 bad does not have a column 'sense'"),
        ("bad.sense_adjective", "quality.sense_adjective", r"x\.j2:19:1: E105 'quality\.sense_adjective' "),
        ("bad.sense_adjective", "good.sense_adjective", r"x\.j2:19:1: E102 `stereo` does not bind good"),
        ("bad.sense_adjective", "bad.polarity", r"x\.j2:19:1: E102 polarity is not a column of sense keys"),
        ("anti_value_key: good.sense_adjective\n", "", r"x\.j2:19:1: E102 .* `anti_value_key`"),
        (
            "anti_value_key: good",
            "flip: [{who: urchin}]\nanti_value_key: good",
            r"x\.j2:19:1: E102 with flipped labels",
        ),
        (
            "anti_value_key: good",
            "columns: {anti_value_key: who.claim}\nanti_value_key: good",
            r"E102 `anti_value_key` already makes this column",
        ),
    ],
)
def test_sense_keys_that_are_none_of_the_values(lists: WordLists, old: str, new: str, message: str) -> None:
    """A mistake stands where the key stands: line 19 of the template has the first of the two."""
    with pytest.raises(DeclarationError, match=message):
        _config(lists, CONTRAST.replace("MORE", VALUE_KEYS.replace(old, new)))


def test_a_role_that_is_none(lists: WordLists) -> None:
    """Sets are X, Y, A and B."""
    with pytest.raises(DeclarationError, match=r"E102 member\.kind .* 'thing'"):
        _config(lists, ASSOCIATION.replace("role: member.role", "role: member.kind"))


def test_a_column_has_one_type(lists: WordLists) -> None:
    """Boolean in one block and text in the next could not be one column."""
    more = "---\nslots:\n  who: {list: others}\n---\n"
    with pytest.raises(DeclarationError, match="E102 every block needs columns of the same types"):
        _config(lists, INFERENCE + more)


@pytest.mark.parametrize("more", ["", "flip: [{who: urchin}]\n"])
def test_relative_is_promised_only_where_roles_bind_alike(lists: WordLists, more: str) -> None:
    """Where labels flip, `stereo` holds the good word in some rows: taking words by role would be wrong there."""
    design = derive_design(_config(lists, CONTRAST.replace("MORE", more)))
    assert design.differs == "evaluative"
    assert ("relative" in design.estimands) == (more == "")
    swapped = (
        "---\nroles:\n  stereo: {quality: good}\n  anti: {quality: bad}\n---\nSo is the {{ who }}, and {{ quality }}.\n"
    )
    assert "relative" not in derive_design(_config(lists, CONTRAST.replace("MORE", more) + swapped)).estimands
