"""Plans: what is shown of a row, what is expected of it, and the file that keeps it."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.annotation.given import ROOT, SSSB, Given, contrast, gloss, inference, make_plan, plan
from tests.profiles import examples

from senseprobe import api
from senseprobe.annotation.plan_file import read_plan, write_plan
from senseprobe.annotation.records import Sentence
from senseprobe.errors import AnnotationError
from senseprobe.release.release import open_release

# One program, run with another hash seed, locale, time zone and folder: a digest of all that a plan is made into.
PROGRAM = """
import hashlib, json, sys
from pathlib import Path
from senseprobe.annotation import plan, plan_file, sheets
from senseprobe.annotation.plan_options import PlanOptions
from senseprobe.annotation.label_studio import interface
from senseprobe.release.release import open_release
options = PlanOptions(n=40, seed=3, strata=["config", "target"], groups=True)
made = plan.make_plan(open_release(Path(sys.argv[1])), "a test", options, gloss=lambda lexicon, key: key)
plan_file.write_plan(Path("made"), made)
parts = [Path("made/plan.json").read_bytes(), interface.interface(made).encode(),
         json.dumps(interface.tasks(made)).encode(), *sheets.sheets(made, ["a", "b", "c", "d"]).values()]
print(hashlib.sha256(b"".join(parts)).hexdigest())
"""


def test_what_is_shown_of_a_row() -> None:
    """Sentences with spans, the word and its meaning; the hash is of what is shown, and of nothing else."""
    made = plan(1, strata=["quality", "config"], seed=4)
    item = made.items[0]
    assert {s.role: (s.text, s.span) for s in item.sentences} == {
        "stereo": ("The black dress is bad 0.", (4, 9)),
        "anti": ("The black dress is good 0.", (4, 9)),
    }
    assert (item.target, item.gloss) == ("black", "wordnet-3.0 on black%3:00:01::")
    assert item.stratum == "quality=nice, config=c"
    sentences = ",".join(f'["{s.text}",[4,9]]' for s in item.sentences)
    shown = f'{{"gloss":"{item.gloss}","labels":{{}},"sentences":[{sentences}]}}'  # by hand
    assert item.content == sha256(shown.encode()).hexdigest()


def test_the_order_of_sentences_tells_no_role() -> None:
    """About half of the pairs have the stereotype first; another seed has others; a premise is always first."""
    orders = {seed: {item.row: item.sentences[0].role for item in plan(400, seed=seed).items} for seed in (0, 1)}
    for first in orders.values():
        assert abs(Counter(first.values())["stereo"] - 200) < 50  # five standard deviations of 400 throws of a coin
    same = sum(orders[0][row] == orders[1][row] for row in orders[0])
    assert abs(same - 200) < 50
    assert {tuple(s.role for s in item.sentences) for item in plan(20, "inference").items} == {
        ("premise", "hypothesis")
    }


def test_labels_are_kept_only_to_be_shown() -> None:
    """The release's own labels, where it has any and nobody contests them."""
    rows = [contrast(1), contrast(2, label_basis="none"), contrast(3, contested=True), contrast(4, label_basis=None)]
    made = make_plan(Given({"c": rows}), project="a test", n=4, prefill=True, gloss=gloss)
    labels = {item.row: item.labels for item in made.items}
    assert labels == {
        "c.1": {"stereotype.stereo": "stereotype", "stereotype.anti": "anti-stereotype"},
        "c.2": {},
        "c.3": {},
        "c.4": {},
    }
    assert [item.labels for item in plan(1, "inference", prefill=True).items] == [{"inference": "neutral"}]
    assert not any(item.labels for item in plan(3).items)


def test_spans_outside_a_text_are_not_shown() -> None:
    row = contrast(1, stereo_span={"start": 4, "end": 99}, anti_span=None)
    made = make_plan(Given({"c": [row]}), project="a test", n=1, gloss=gloss)
    assert {s.span for s in made.items[0].sentences} == {None}


def test_a_release_that_ships() -> None:
    """Rows of sssb: a marked word is the target as it is printed, in both sentences."""
    made = make_plan(open_release(SSSB), project="sssb", n=60, strata=["config"], gloss=gloss)
    assert len(made.items) == 60
    for item in made.items:
        for sentence in item.sentences:
            if sentence.span:
                assert sentence.text[slice(*sentence.span)]


def test_members_of_associations_are_one_sentence() -> None:
    made = make_plan(open_release(ROOT / "releases" / "association" / "1.0.1"), project="weat", n=20, strata=["role"])
    assert {tuple(s.role for s in item.sentences) for item in made.items} == {("sentence",)}
    assert all(item.sentences[0].span for item in made.items)


@pytest.mark.parametrize("format_", ["crows-pairs", "stereoset", "winobias", "winogender", "sssb", "seat"])
def test_imports_are_asked_about_like_others(format_: str, tmp_path: Path) -> None:
    from tests.imports.files import FILES

    release, _ = api.import_release(format_, FILES[format_], "theirs", "1.0.0", out=tmp_path)
    made = make_plan(release, project="theirs", n=5, config=release.configs[0], prefill=True, gloss=gloss)
    assert made.items
    write_plan(tmp_path / "plan", made)
    assert read_plan(tmp_path / "plan") == made


def test_a_missing_lexicon_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to do: prepare it, or leave the question out; without the question it is not looked for."""
    monkeypatch.setenv("SENSEPROBE_WORDNET", str(tmp_path))
    with pytest.raises(AnnotationError, match="run `senseprobe wordnet`; or remove the question `sense`"):
        plan(gloss=None)
    made = plan(gloss=None, questions=["stereotype", "natural"])
    assert not any(item.gloss for item in made.items)


def test_a_sense_that_no_row_has_is_left_out_unless_it_is_asked_for() -> None:
    rows = Given({"c": [contrast(0, sense_key=None)]})
    assert "sense" not in make_plan(rows, project="a test", n=1, gloss=gloss).questions
    with pytest.raises(AnnotationError, match="remove the question `sense`"):
        make_plan(rows, project="a test", n=1, gloss=gloss, questions=["sense", "natural"])


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"project": "ab"}, "'ab' cannot name a project: use 3 to 50 characters"),
        ({"project": "a" * 51}, "cannot name a project"),
        ({"project": "a\x1b[2J"}, "cannot name a project"),
        ({"overlap": 0}, "0 answers for each item: expected 1 to 100"),
    ],
)
def test_what_no_plan_can_be_is_named(told: dict[str, Any], message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        plan(**told)


def test_a_plan_is_written_once(tmp_path: Path) -> None:
    """The same plan again changes nothing; another one is refused."""
    made = plan(groups=True, strata=["quality"], where=["config=c"])
    path = write_plan(tmp_path, made)
    before = path.read_bytes()
    assert read_plan(tmp_path) == made
    assert write_plan(tmp_path, made) == path
    assert path.read_bytes() == before
    assert json.loads(before)["form"] == 2
    with pytest.raises(AnnotationError, match=r"is another plan: it has seed 0; "):
        write_plan(tmp_path, replace(made, seed=1))
    with pytest.raises(AnnotationError, match="is another plan: its rows differ"):
        write_plan(tmp_path, replace(made, items=made.items[:1]))


def test_a_plan_without_guidelines_is_still_one(tmp_path: Path) -> None:
    """Form 1, which had none, is read; the same options go on with it, and what it says stays."""
    made = plan()
    path = write_plan(tmp_path, made)
    data = {name: value for name, value in json.loads(path.read_bytes()).items() if name != "guidelines"}
    path.write_text(json.dumps({**data, "form": 1}))
    before = path.read_bytes()
    assert made.guidelines
    assert read_plan(tmp_path) == replace(made, guidelines="")
    assert write_plan(tmp_path, made).read_bytes() == before


def test_the_same_wherever_it_is_made(tmp_path: Path) -> None:
    """Another hash seed, locale, time zone and working folder: the same bytes. Each takes a start of Python."""
    told = set()
    for number, (seed, locale, zone) in enumerate([("0", "C", "UTC"), ("7", "C.UTF-8", "Asia/Tokyo")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        env = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": zone}
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(SSSB)], cwd=folder, env=env, capture_output=True, text=True, check=True
        )
        told.add(ran.stdout)
    assert len(told) == 1


def _edited(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A plan of two rows that somebody changed by hand."""
    path = write_plan(folder, plan(2))
    data = json.loads(path.read_bytes())
    change(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.update(colour=1), "colour: Unexpected"),
        (lambda data: data.pop("seed"), "seed: Field required"),
        (lambda data: data.update(seed="1"), "seed: Input should be a valid integer"),
        (lambda data: data.update(strata=[" config"]), "strata.0: String should match"),
        (lambda data: data.update(overlap=0), "overlap: Input should be greater than or equal to 1"),
        (lambda data: data.update(kind="essay"), "kind: String should match"),
        (lambda data: data.update(content="x"), "content: String should match"),
        (lambda data: data.update(form=4), "has form 4, .* up to 3: upgrade senseprobe"),
        (lambda data: data.update(form=3, asks={"c": ["x"]}), "config c does not have questions"),
        (lambda data: data.update(form="x"), "form: Input should be a valid integer"),
        (lambda data: data.update(project="x"), "'x' cannot name a project"),
        (lambda data: data.update(questions=["natural", "age"]), "unknown question age for contrast rows"),
        (lambda data: data.update(questions=["natural", "natural"]), "a question is asked twice"),
        (lambda data: data.update(items=data["items"] * 2), "row c.[01] occurs twice"),
        (lambda data: data["items"][0].update(row=7), "items.0.row: Input should be a valid string"),
        (lambda data: data["items"][0].update(age=7), "items.0.age: Unexpected"),
        (lambda data: data["items"][0].update(gold={"age": "7"}), "'age' is not one of its questions"),
        (lambda data: data["items"][0].update(gold={"natural.stereo": "7"}), "'7' is not an answer to natural.stereo"),
        (
            lambda data: data["items"][0].update(labels={"comment": "7"}),
            "'7' is not an answer to comment: expected none",
        ),
        (lambda data: data["items"][0]["sentences"].pop(), "its sentences are not stereo and anti"),
        (lambda data: data["items"][0]["sentences"][0].update(span=[3, 999]), "the span of .* is outside its text"),
        (
            lambda data: data["items"][0]["sentences"][0].update(text="The black cat"),
            "content hash does not match",
        ),
        (lambda data: data["items"][0].update(gloss="x"), "content hash does not match"),
    ],
)
def test_a_plan_that_was_edited_is_refused(
    change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
) -> None:
    """Unknown keys, wrong types, unknown ids, other words: one message, which says where."""
    _edited(tmp_path, change)
    with pytest.raises(AnnotationError, match=message) as caught:
        read_plan(tmp_path)
    assert "plan.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"form": 1e400}', '"\ud800"', "\x00"])
def test_what_is_no_plan_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(AnnotationError, match=r"plan\.json"):
        read_plan(tmp_path)


def test_a_plan_that_is_not_there_or_no_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AnnotationError, match=r"the plan .* cannot be read"):
        read_plan(tmp_path)
    os.mkfifo(tmp_path / "plan.json")
    with pytest.raises(AnnotationError, match="is not a plain file"):
        read_plan(tmp_path)
    (tmp_path / "plan.json").unlink()
    write_plan(tmp_path, plan(2))
    monkeypatch.setattr("senseprobe.annotation.plan_file.MAX_BYTES", 100)
    with pytest.raises(AnnotationError, match="larger than"):
        read_plan(tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def _places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all that is in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in _places(each, (*path, key)))]


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_plan_with_anything_anywhere_is_read_or_refused(data: st.DataObject, tmp_path: Path) -> None:
    """Any JSON in any place of a plan: a plan again, or one line that says what is wrong."""
    (tmp_path / "plan.json").unlink(missing_ok=True)
    path = write_plan(tmp_path, plan(2, groups=True))
    told = json.loads(path.read_bytes())
    place = data.draw(st.sampled_from(_places(told)))
    value = data.draw(JSON)
    holder = told
    for step in place[:-1]:
        holder = holder[step]
    if place:
        holder[place[-1]] = value
    path.write_text(json.dumps(told if place else value))
    try:
        told, made = "", read_plan(tmp_path)
    except AnnotationError as error:
        told, made = str(error), plan(2)
    assert told.isprintable()
    assert {type(s) for item in made.items for s in item.sentences} <= {Sentence}


def test_expected_answers(tmp_path: Path) -> None:
    """Rows of the file are in the sample whatever was drawn, with what is expected of them."""
    path = tmp_path / "gold.csv"
    path.write_text("id,sense,stereotype.anti\r\nc.3,Yes,\r\n\r\nc.4, unsure ,Neither\r\n")
    made = plan(6, n=1, where=["id=c.0"], gold=path)
    assert {item.row: dict(item.gold) for item in made.items} == {
        "c.0": {},
        "c.3": {"sense": "yes"},
        "c.4": {"sense": "unsure", "stereotype.anti": "neither"},
    }
    write_plan(tmp_path, made)
    assert read_plan(tmp_path) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("row,sense\nc.1,yes\n", "gold.csv:1: expected the column id"),
        ("id,sense,sense\nc.1,yes,no\n", "gold.csv:1: expected the column id"),
        ("id,sens\nc.1,yes\n", "gold.csv:1: unknown question 'sens': did you mean 'sense'"),
        ("id,comment\nc.1,yes\n", "gold.csv:1: unknown question 'comment': expected sense,"),
        ("id,sense\nc.1,maybe\n", "gold.csv:2: 'maybe' is not an answer to sense: expected yes, no, unsure"),
        ("id,sense\nc.1,yes\nc.1,no\n", "gold.csv:3: c.1 occurs twice"),
        ("id,sense\n,yes\n", "gold.csv:2: the row has an empty id"),
        ("id,sense\nc.1,\n", "gold.csv:2: the row lacks an expected answer"),
        ("id,sense\nc.1,yes,no\n", "gold.csv:2: .* 3 cells, expected 2"),
        ("id,sense\nc.1,yes\nc.99,no\nc.98,no\n", "tiny@1.0.0 .*gold.csv:3: c.99, .*gold.csv:4: c.98"),
        ("id,sense\nc.0,yes\n", "gold.csv:2: sense .* gloss"),
        ('id,sense\nc.1,"yes\n', "gold.csv:2: malformed CSV"),
        ("id,sense\nc.1,y\xe9s\n", r'gold.csv:2: is not UTF-8 \(byte 14\): save it as "CSV UTF-8"'),
    ],
)
def test_expected_answers_that_cannot_be_are_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_bytes(text.encode("latin-1"))
    release = Given({"c": [contrast(0, sense_key=None), *(contrast(number) for number in range(1, 4))]})
    with pytest.raises(AnnotationError, match=message):
        make_plan(release, project="a test", n=4, gold=path, gloss=gloss)


def test_expected_answers_of_other_kinds(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_text("id,inference,natural.premise\ni.1,contradiction,no\n")
    made = make_plan(Given({"i": [inference(n) for n in range(3)]}, "inference"), project="a test", n=1, gold=path)
    assert {"i.1": {"inference": "contradiction", "natural.premise": "no"}}.items() <= {
        item.row: dict(item.gold) for item in made.items
    }.items()
