"""Questions with a context: from a template to rows, a release and back."""

import re
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import Typed, typing
from tests.kinds.question_projects import BALANCED, BLOCK, FRONT, LINES, PHONE, UNKNOWNS, write_project

from senseprobe import api
from senseprobe.errors import DeclarationError
from senseprobe.generator.dataset import ResolvedDataset, open_dataset, open_word_lists
from senseprobe.project import Layer

ONE_EACH = BLOCK.replace("group: old", "word: the grandfather").replace("group: young}", "word: the student}")
ONE_EACH = ONE_EACH.replace("{list: unknowns}", "{list: unknowns, where: {word: nobody knows}}")
CODE = re.compile(r"(late|phone)-(ambiguous|disambiguated)-(negative|non-negative)-([12])")


def opened(project: Path, *, any_count: bool = False) -> ResolvedDataset:
    """The dataset of a project, resolved."""
    lists = open_word_lists(Layer(project))
    return open_dataset(project / "templates/asks", lists, any_count=any_count)


def rows_of(project: Path, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
    """Rows of the one config."""
    dataset = opened(project)
    return [row for batch in dataset.rows(dataset.configs[0], start, stop) for row in batch.to_pylist()]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """What runs a command line."""
    return typing(monkeypatch, capfd)


SEEN = {
    "1": "I saw the grandfather and the student at the till when the line stopped.",
    "2": "I saw the student and the grandfather at the till when the line stopped.",
}
TOLD = {
    "1": f"{SEEN['1']} The grandfather looked for coins, while the student had paid already.",
    "2": f"{SEEN['2']} The student looked for coins, while the grandfather had paid already.",
}
# Written down from the template: context, question, stereo, anti, order, gold. The orders are the first 16 digits of
# what `printf 'CODE\nthe grandfather\nthe student\nnobody knows' | sha256sum` prints, modulo 6 by `bc`.
OLD, YOUNG = "The grandfather", "The student"
EXPECTED = {
    "late-ambiguous-negative-1": (SEEN["1"], "Who was slow?", OLD, YOUNG, "anti stereo unknown", "unknown"),
    "late-ambiguous-non-negative-1": (SEEN["1"], "Who was quick?", YOUNG, OLD, "stereo anti unknown", "unknown"),
    "late-disambiguated-negative-1": (TOLD["1"], "Who was slow?", OLD, YOUNG, "stereo anti unknown", "stereo"),
    "late-disambiguated-non-negative-1": (TOLD["1"], "Who was quick?", YOUNG, OLD, "anti unknown stereo", "stereo"),
    "late-ambiguous-negative-2": (SEEN["2"], "Who was slow?", OLD, YOUNG, "unknown anti stereo", "unknown"),
    "late-ambiguous-non-negative-2": (SEEN["2"], "Who was quick?", YOUNG, OLD, "unknown stereo anti", "unknown"),
    "late-disambiguated-negative-2": (TOLD["2"], "Who was slow?", OLD, YOUNG, "unknown anti stereo", "anti"),
    "late-disambiguated-non-negative-2": (TOLD["2"], "Who was quick?", YOUNG, OLD, "unknown stereo anti", "anti"),
}


def test_a_block_of_one_word_each_makes_eight_rows(tmp_path: Path) -> None:
    """Every cell of every row, in order, as somebody writes it who reads the template."""
    rows = rows_of(write_project(tmp_path, ONE_EACH))
    expected = []
    for code, (context, question, stereo, anti, order, gold) in EXPECTED.items():
        groups = {OLD: "old", YOUNG: "young"}
        expected.append(
            {
                "id": f"tills.{code}.the-grandfather.the-student.nobody-knows",
                "frame": code,
                "target": "the grandfather",
                "other": "the student",
                "wording": "nobody knows",
                "context": context,
                "question": question,
                "condition": "disambiguated" if "disambiguated" in code else "ambiguous",
                "polarity": "non-negative" if "non-negative" in code else "negative",
                "stereo": stereo,
                "anti": anti,
                "unknown": "Nobody can know",
                "order": order,
                "gold": gold,
                "stereo_group": groups[stereo],
                "anti_group": groups[anti],
                "target_groups": "old",
                "template": "late",
            }
        )
    assert rows == expected


def test_the_second_may_be_the_answer_to_the_negative_question(tmp_path: Path) -> None:
    """With `gold: {negative: second}` the right answers are the other ones; those of ambiguous rows stay."""
    project = write_project(tmp_path, ONE_EACH.replace("negative: first", "negative: second"))
    golds = {row["frame"]: row["gold"] for row in rows_of(project)}
    other = {"stereo": "anti", "anti": "stereo", "unknown": "unknown"}
    assert golds == {code: other[gold] for code, (*_, gold) in EXPECTED.items()}


def test_target_groups_and_columns_of_answers_can_be_named(tmp_path: Path) -> None:
    """Groups may be several, and an answer another column of the list."""
    template = ONE_EACH.replace("unknown: wording", "unknown: wording.word\ntarget_groups: [old, grandparents]")
    rows = rows_of(write_project(tmp_path, template))
    assert {row["target_groups"] for row in rows} == {"old; grandparents"}
    assert {row["unknown"] for row in rows} == {"nobody knows"}


def test_a_dataset_from_lint_to_restoring(tmp_path: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that makes, shows or checks rows takes questions: 2 templates of 8 x 2 x 2 x 2 rows."""
    monkeypatch.chdir(write_project(tmp_path, BALANCED.replace("---\nI saw", "expect: {rows: 128}\n---\nI saw")))
    assert (linted := typed("lint")).code == 0, linted.out + linted.err
    assert typed("count", "asks").out.endswith("128 rows\n")
    shown = typed("preview", "asks/tills", "-n", "128").out
    assert (
        "  sentence  I saw [the pensioner:target] and [the pupil:other] at the till when the line stopped.\n" in shown
    )
    assert "\n            Who was slow?\n" in shown
    assert typed("build", "asks", "1.0.0").code == 0
    assert typed("verify", "asks@1.0.0", "--rebuild").code == 0

    release = api.load("asks@1.0.0")
    (design,) = (release.manifest.design(name) for name in release.manifest.configs)
    assert [(factor.name, factor.columns) for factor in design.factors] == [
        ("template", ("template",)),
        ("names", ("stereo", "anti")),
        ("wording", ("unknown",)),
    ]
    path = Path("templates/asks/tills.j2")
    path.write_text(path.read_text().replace("Who was slow?", "Who was the slow one?"))
    assert typed("build", "asks", "2.0.0").code == 0
    differs = typed("diff", "asks@1.0.0", "asks@2.0.0")
    assert (differs.code, "32" in differs.out) == (0, True)
    (parquet,) = Path("releases/asks/2.0.0/tills").iterdir()
    before = parquet.read_bytes()
    parquet.unlink()
    assert typed("verify", "asks@2.0.0", "--restore").code == 0
    assert parquet.read_bytes() == before


# ---- Mistakes ----


@pytest.mark.parametrize(
    ("old", "new", "line", "code", "said"),
    [
        ("{# id: negative #}\nWho was quick", "\nWho was quick", 20, "E102", "needs one of the ids"),
        ("{# id: non-negative #}", "{# id: non-negativ #}", 21, "E102", "needs one of the ids"),
        ("{# id: non-negative #}", "{# id: negative #}", 21, "E114", "a second line with the id negative"),
        ("Who was quick? {# id: non-negative #}\n", "", 2, "E103", "lacks the line non-negative"),
        ("stereotyped: target\n", "stereotyped: targets\n", 12, "E105", "unknown slot 'targets'"),
        ("unknown: wording", "unknown: wording.texts", 14, "E104", "does not have a column 'texts'"),
        ("unstereotyped: other\n", "unstereotyped: target\n", 13, "E102", "already the slot of another answer"),
        ("group: young}}", "group: old}}", 13, "E102", "answer 'The grandfather' in common"),
        ("target.group", "target.groups", 15, "E104", "does not have a column 'groups'"),
        ("negative: first", "negative: third", 16, "E102", "input should be 'first' or 'second'"),
        ("template: late", "template: Late", 7, "E102", "string should match pattern"),
        ("unknown: wording\n", "", 2, "E102", "unknown: field required"),
        ("unknown: wording\n", "unknown: wording\ngeneralise: [target]\n", 15, "E102", "always generalise over"),
        ("unknown: wording\n", "unknown: wording\ntarget: other\n", 15, "E102", "target"),
        ("{{ second }} at the till", "{{ third }} at the till", 18, "E105", "'third' is not defined"),
        ("negative: first}\n", "negative: first}\nexpect: {rows: 63}\n", 17, "E109", "expands to 64 rows"),
        ("negative: first}\n", "negative: first}\nsense: {type: person, key: target.keys}\n", 17, "E104", "'keys'"),
        ("negative: first}\n", "negative: first}\nsense: {type: person, token: x}\n", 17, "E102", "no `token`"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_finding(tmp_path: Path, old: str, new: str, line: int, code: str, said: str) -> None:
    """What is wrong, and the line of it, counted by hand in the template."""
    assert old in BLOCK
    project = write_project(tmp_path, BLOCK.replace(old, new))
    with pytest.raises(DeclarationError) as caught:
        opened(project)
    findings = [(finding.line, finding.code) for finding in caught.value.findings]
    assert (line, code) in findings, caught.value.findings
    (message,) = [f.message for f in caught.value.findings if (f.line, f.code) == (line, code)]
    assert said in message


@pytest.mark.parametrize("cell", ['"two\nlines"', '""', '" "'])
def test_an_answer_is_one_line(tmp_path: Path, cell: str) -> None:
    """Scorers take answers apart at line breaks: none has one, and none is empty."""
    project = write_project(tmp_path, ONE_EACH)
    text = UNKNOWNS.replace("Nobody can know", cell)
    (project / "wordlists/unknowns.csv").write_text(text)
    with pytest.raises(DeclarationError):
        opened(project)


# ---- Contrasts ----

SIDES = {"a": "tills", "b": "things"}


@pytest.mark.parametrize(
    ("contrast", "said"),
    [
        ({"estimand": "s-amb"}, ""),
        ({"estimand": "preference"}, "rows of question have no figure 'preference'"),
        ({"estimand": "s-amb", "minimal_only": True}, "rows of question are not pairs"),
    ],
)
def test_a_contrast_is_of_a_figure_of_its_rows(tmp_path: Path, contrast: dict[str, object], said: str) -> None:
    """Questions of two senses are compared by s-amb, pairs by other figures."""
    spec = {"name": "people-things", **SIDES, **contrast}
    project = write_project(tmp_path, configs=["tills", "things"], contrasts=[spec])
    (project / "templates/asks/things.j2").write_text(BALANCED)
    if not said:
        assert [each.estimand for each in opened(project).dataset.contrasts] == ["s-amb"]
        return
    with pytest.raises(DeclarationError, match=said):
        opened(project)


# ---- Properties ----


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[ResolvedDataset, list[dict[str, Any]]]:
    """The balanced dataset, and all of its rows."""
    dataset = opened(write_project(tmp_path_factory.mktemp("project")))
    return dataset, [row for batch in dataset.rows(dataset.configs[0]) for row in batch.to_pylist()]


@given(ends=st.tuples(st.integers(0, 128), st.integers(0, 128)))
def test_any_range_of_rows_can_be_made_alone(
    made: tuple[ResolvedDataset, list[dict[str, Any]]], ends: tuple[int, int]
) -> None:
    """Rows i to j are those of the whole."""
    dataset, rows = made
    start, stop = sorted(ends)
    batches = dataset.rows(dataset.configs[0], start, stop)
    assert [row for batch in batches for row in batch.to_pylist()] == rows[start:stop]


def test_rows_are_balanced(made: tuple[ResolvedDataset, list[dict[str, Any]]]) -> None:
    """A template has as many rows of each condition, polarity and order; right answers are half for, half against."""
    _, rows = made
    parts = Counter(match.groups() for row in rows if (match := CODE.fullmatch(row["frame"])))
    assert len(parts) == 16
    assert {*parts.values()} == {8}
    for template in ("late", "phone"):
        golds = Counter(row["gold"] for row in rows if row["template"] == template)
        assert golds == {"unknown": 32, "stereo": 16, "anti": 16}
    assert {row["order"].split().index("unknown") for row in rows} == {0, 1, 2}


FRONT_LINES = FRONT.splitlines()
BITS = st.sampled_from(["null", "[]", "{}", "target", "target.group", "first", "late", "-", "{a: b}", "1", "'", "\n"])


@given(at=st.integers(0, len(FRONT_LINES) - 1), bit=BITS, key_only=st.booleans(), cut=st.booleans())
def test_any_front_matter_is_rows_or_findings(
    tmp_path_factory: pytest.TempPathFactory, at: int, bit: str, key_only: bool, cut: bool
) -> None:
    """Whatever stands at a key, a template is rows or findings, and no traceback."""
    key, _, value = FRONT_LINES[at].partition(":")
    line = "" if cut else f"{key}: {bit}" if key_only else f"{key}: {value}{bit}"
    front = "\n".join([*FRONT_LINES[:at], line, *FRONT_LINES[at + 1 :]])
    project = write_project(tmp_path_factory.mktemp("project"), f"---\n{front}\n---\n{LINES}")
    with suppress(DeclarationError):
        dataset = opened(project)
        made = [batch.num_rows for config in dataset.configs for batch in dataset.rows(config)]
        assert sum(made) == dataset.configs[0].size


def test_many_rows_take_few_seconds(tmp_path: Path) -> None:
    """About as many rows as BBQ has (58,492): 92 blocks of 512, in five seconds at most."""
    people = "word,group\n" + "".join(f"the {group} {n},{group}\n" for group in ("old", "young") for n in range(8))
    blocks = [f"---\ntemplate: t{number}\n---\n{PHONE}" for number in range(1, 92)]
    project = write_project(tmp_path, BLOCK + "".join(blocks), people)
    unknowns = "word,answer\nnobody knows,Nobody can know\n"
    (project / "wordlists/unknowns.csv").write_text(unknowns)
    dataset = opened(project)
    assert dataset.configs[0].size == 92 * 8 * 64
    start = time.process_time()
    table = pa.Table.from_batches(dataset.rows(dataset.configs[0]))
    assert table.num_rows == 92 * 8 * 64
    assert time.process_time() - start < 5
