"""Each medium says the same of the same figure: terminal, page, brief, page of senses, `gate`, and ``--json``.

Expected codes follow from the definition of verdicts and the ends of made-up intervals, or from models whose answers
are planted; none was copied from what the code printed.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from tests.reporting import test_association_report as association
from tests.reporting.medium import printed, table_rows
from tests.reporting.test_gate import result as planted
from tests.reporting.test_verdict_table import GAP, PROBE, control, figure, groups_of, source
from tests.senses.test_page import of_word, static
from tests.served import test_sections as chat

import senseprobe
from senseprobe.api.results import brief, describe_results, describe_scored, gate, summarize_results
from senseprobe.document import Section, render_html, render_markdown
from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.figures import figures_of
from senseprobe.evaluate.fitness import Fitness
from senseprobe.evaluate.reporting.gate import check_gate
from senseprobe.evaluate.reporting.inputs import gather_inputs
from senseprobe.evaluate.reporting.notation import format_interval
from senseprobe.evaluate.reporting.report import build_report
from senseprobe.evaluate.reporting.verdict_table import find_flaws
from senseprobe.evaluate.result import Result, folder_of, read_result
from senseprobe.evaluate.senses.page import build_sense_page
from senseprobe.evaluate.units import ScoredRows

Key = tuple[str, str]
"""The config, and the figure with its group, as tables name it."""

CODES = {
    "found": "shown",
    "these words only": "these_words",
    "small": "small",
    "undecided": "not_shown",
    "not readable": "unreadable",
}
"""The words of people's media, by the code that the issue names."""


@dataclass(frozen=True)
class Case:
    """Results as `score` wrote them, the first with figures whose codes are `expected`, and the others its controls.

    - `lines`: of these the figures that have a line on the page and in the brief; None: all.
    - `of_families`: those of the lines of association tests, one for each identity.
    - `unprinted`: intervals and p that nothing but JSON may have, since nothing can be read of them.
    """

    results: Sequence[Result]
    expected: Mapping[Key, str]
    lines: Sequence[Key] | None = None
    of_families: Sequence[Key] | None = None
    unprinted: Sequence[str] = ()


own = partial(figure, definition=lookup("preference-half").version)
"""A figure of today's definition, which no page computes again."""


def of_sssb(share: float, *, name: str = "org/model", tied: bool = False) -> Result:
    """A model that is typical in a share of the frames of ``verb``; `tied`: whose sentences all score alike."""
    release = senseprobe.load("sssb@1.0.2")
    made = planted(release, name, share)
    if not tied:
        return made
    table = release.table("verb").assign(stereo_score=-2.0, anti_score=-2.0)
    scored = ScoredRows.from_tables({"verb": table}, ["stereo_score", "anti_score"])
    return replace(made, scored=scored, figures=figures_of(release, scored, seed=0, scale="log"))


def probe(*controls: Result) -> Sequence[Result]:
    """A result of inference, with figures whose p and interval would be shown, and controls of its model."""
    return [source(PROBE, GAP, scorer="ll-nli", name="nli-occupation@1.0.1").result, *controls]


def unknown_words() -> Result:
    """A config of which 41 of 100 rows have words that the tokenizer does not know, more than a fifth."""
    made = source(own("noun", 20.0, 6.0, 31.0), own("verb", 5.0, -4.0, 14.0)).result
    return replace(made, fitness={"noun": Fitness(rows=100, unknown=41)})


def family() -> Result:
    """Three figures by themselves shown: Holm by hand makes 3 x 0.01, 2 x 0.02 and 0.03, thus 0.03, 0.04 and 0.04."""
    return source(*(own(name, 20.0, 6.0, 31.0, p=p) for name, p in (("a", 0.01), ("b", 0.02), ("c", 0.03)))).result


def turned() -> Result:
    """The same with 0.01, 0.02 and 0.06: 0.03 and 0.04, and the last, whose interval excludes 0, is not shown."""
    return source(*(own(name, 20.0, 6.0, 31.0, p=p) for name, p in (("a", 0.01), ("b", 0.02), ("c", 0.06)))).result


def of_groups() -> Result:
    """Two groups of which one differs: twice 0.001 is small, and its interval excludes 0."""
    return source(*groups_of((10, 2, 30, 0.001), (-5, -24, 20, 0.9))).result


def senses() -> Result:
    """Words on a scale whose zero nobody knows, and the difference of two senses of them, whose zero is neutral."""
    place = of_word(None, 0.25, low=0.1, high=1.0)
    difference = of_word(None, 0.4, "race-colour", estimand="matched-contrast", neutral=0.0, low=0.2, high=0.9, p=0.001)
    made = static("ll", "sense", (place, of_word("Japanese", 0.5), difference)).result
    return replace(made, scored=ScoredRows())


VERB = ("verb", "preference-half")
UNREAD = {("x", "nn"): "unreadable", ("x", "gap"): "unreadable"}
PROBED = ("[95.0, 98.5]", "[+5.0, +20.0]", "p < 0.0001")
BLIND = ("preference-half", "preference", "pronoun-stereotype", "pronoun-baseline")
OF_TESTS = {
    ("bleached", "weat weat3"): "shown",
    ("bleached", "weat weat4"): "these_words",  # p 0.03, and the interval includes 0
    ("bleached", "weat weat5"): "not_shown",
    ("bleached", "weat weat5b"): "not_shown",
    ("bleached", "weat weat6"): "shown",
    ("bleached", "weat weat7"): "unreadable",  # 3 of 11 words are lost, more than a fifth
    ("bleached", "weat few"): "unreadable",  # p cannot be small
}
LARGEST = [("bleached", f"weat {name}") for name in ("weat3", "weat6", "few")]
"""Of race, gender and what is about both, the largest of those that say most."""


def passing_chat() -> Result:
    """Its only figure is above 0 in the whole interval."""
    return replace(
        chat.PASSING, figures=tuple(replace(f, definition=own("", 0, 0, 0).definition) for f in chat.PASSING.figures)
    )


CASES: Mapping[str, Callable[[], Case]] = {
    # Always what is typical is +50, also beyond what always "he" would read.
    "planted": lambda: Case([of_sssb(1.0)], {("verb", "pronoun-stereotype"): "shown", VERB: "shown"}),
    "half": lambda: Case([of_sssb(0.5)], {("verb", "pronoun-stereotype"): "not_shown"}),
    "blind": lambda: Case(
        [of_sssb(0.5, tied=True)],
        {("verb", name): "unreadable" for name in BLIND},
        lines=[("verb", "pronoun-stereotype")],
        unprinted=["[+0.0, +0.0]", "p = 1.0000"],
    ),
    "unknown words": lambda: Case(
        [unknown_words()],
        {("noun", "preference-half"): "unreadable", VERB: "not_shown"},
        unprinted=["[+6.0, +31.0]", "p < 0.0001"],
    ),
    "family": lambda: Case([family()], {(name, "preference-half"): "shown" for name in "abc"}),
    "turned": lambda: Case(
        [turned()],
        {(name, "preference-half"): code for name, code in zip("abc", ["shown", "shown", "not_shown"], strict=True)},
    ),
    "groups": lambda: Case([of_groups()], {("race", "relative g0"): "shown"}),
    "control passed": lambda: Case(probe(control(80.0, 75.0)), {("x", "gap"): "shown"}),
    "control failed": lambda: Case(
        probe(control(33.0, 30.0)), UNREAD, lines=[("nli-control: nation", "accuracy")], unprinted=PROBED
    ),
    "no control": lambda: Case(probe(), UNREAD, lines=[("x", "gap")], unprinted=PROBED),
    "association": lambda: Case([association.result()], OF_TESTS, of_families=LARGEST),
    "decoder's words": lambda: Case(
        [association.decoder(association.result())],
        dict.fromkeys(OF_TESTS, "unreadable"),
        of_families=[],
        unprinted=["[+0.20, +1.50]", "0.0010", "0.0300"],
    ),
    "senses": lambda: Case(
        [senses()], {("nationality", "sc-weat"): "unreadable", ("race-colour", "matched-contrast"): "shown"}
    ),
    "chat": lambda: Case([passing_chat()], {VERB: "shown"}),
    "failing chat": lambda: Case([chat.FAILING], {VERB: "unreadable"}),
    "failing chat, shown": lambda: Case([chat.SHOWN], {VERB: "unreadable"}, unprinted=["[+13.5, +33.5]"]),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    """One of the cases."""
    return CASES[request.param]()


@pytest.fixture
def files(case: Case, tmp_path: Path) -> list[Path]:
    """The files of its results, where `score` puts them; the first is that of the probe."""
    return [made.write(folder_of(tmp_path, str(made.release["name"]), made.model["name"])) for made in case.results]


def in_terminal(case: Case, files: Sequence[Path], out: Path) -> dict[Key, str]:
    """The codes of the tags in the table of `score`."""
    del files
    (part,) = summarize_results(case.results[:1], out).parts  # its controls are found below `out`
    return _in_verdict_table(part.sections[0])


def _in_verdict_table(section: Section) -> dict[Key, str]:
    """The codes of the badges in the tables of findings of a section."""
    rows = [row for table in section.list_tables() if "finding" in table.headings for row in table.rows]
    named = [(row[-3].text, _name_figure(row[-1].note), row[0].tag) for row in rows]
    return {(about, name): CODES[badge] for about, name, badge in named if name}


def _name_figure(basis: str) -> str:
    """The estimand and the group that a basis begins with; empty of a finding without a figure."""
    name = basis.split(" \N{MIDDLE DOT} ", maxsplit=1)[0].replace(",", "")
    return "" if name[:1].isdigit() else name


def in_json(case: Case, files: Sequence[Path], out: Path) -> dict[Key, str]:
    """The codes of ``report --json``."""
    del case, out
    return _coded(describe_results(files[:1])[0]["figures"])


def in_json_of_score(case: Case, files: Sequence[Path], out: Path) -> dict[Key, str]:
    """The codes of ``score --json``."""
    del files
    return _coded(describe_scored(case.results[:1], out)[0]["figures"])


def _coded(figures: Sequence[Mapping[str, object]]) -> dict[Key, str]:
    found = {}
    for made in figures:
        if isinstance(judged := made.get("verdict"), dict):
            found[str(made["config"]), " ".join(filter(None, (made["estimand"], made["group"])))] = judged["code"]  # type: ignore[arg-type]
    return found


def on_page(case: Case, files: Sequence[Path], out: Path) -> dict[Key, str]:
    """The codes of the tags in the page's tables of verdicts."""
    del case, out
    (part,) = build_report(gather_inputs(files[:1])).parts
    (section,) = [section for section in part.sections if section.title == "Findings"]
    return _in_verdict_table(section)


def of_each_test(case: Case, files: Sequence[Path], out: Path) -> dict[Key, str]:
    """The codes of single tests on the page, and of the lines of other results."""
    (part,) = build_report(gather_inputs(files[:1])).parts
    sections = [section for section in part.sections if section.title == "Every test"]
    rows = (row for section in sections for row in section.tables[0].rows)
    said = {(row[0].note.split("; ")[-1], f"weat {row[0].text}"): CODES[row[-1].tag] for row in rows}
    return said or on_page(case, files, out)


def in_brief(case: Case, files: Sequence[Path], out: Path) -> dict[Key, str]:
    """The codes of the tags in the table of `--brief`."""
    del case, out
    said: dict[Key, str] = {}
    for line in brief(files[:1]).splitlines():
        cells = [cell.strip().replace("\\", "") for cell in line.strip("|").split("|")]
        if len(cells) > 3 and (tag := re.match(r"\*\*([a-z ]+)\*\*", cells[0])):
            name = _name_figure(cells[-1].partition("<br>")[2])
            said |= {(cells[-3].partition("<br>")[0], name): CODES[tag[1]]} if name else {}
    return said


ON_LINES = (on_page, in_terminal, in_brief)
MEDIA = (of_each_test, in_json, in_json_of_score, *ON_LINES)


@pytest.mark.parametrize("medium", MEDIA)
def test_each_medium_has_the_same_code(
    medium: Callable[..., dict[Key, str]], case: Case, files: list[Path], tmp_path: Path
) -> None:
    """Tables and JSON have a code for each figure that a verdict is about, a page and a brief one for each line."""
    expected, keys = {**case.expected, ("nli-control: nation", "accuracy"): "unreadable"}, [*case.expected]
    if medium in (*ON_LINES, of_each_test):
        lines = case.of_families if medium in ON_LINES and case.of_families is not None else case.lines
        keys = keys if lines is None else [*lines]
    assert medium(case, files, tmp_path) == {key: expected[key] for key in keys}


def test_no_medium_for_people_prints_what_cannot_be_read(case: Case, files: list[Path], tmp_path: Path) -> None:
    """Neither the interval nor p: not in a table, not beside a chart."""
    scored, page = summarize_results(case.results[:1], tmp_path), build_report(gather_inputs(files[:1]))
    texts = "\n".join([printed(scored), brief(files[:1]), render_markdown(page), render_html(page)])
    assert not [text for text in case.unprinted if text in texts]


def test_a_reason_is_told_in_the_terminal() -> None:
    """With the verdict, and its config."""
    for made, words in ((probe()[0], "the result on its control"), (unknown_words(), "41 % of its rows")):
        (part,) = summarize_results([made], Path("nowhere")).parts
        rows = [row for row in table_rows(part.sections[0]) if words in row["finding"]]
        assert [row["question"].partition(";")[0] for row in rows] == [made.figures[0].config]
        assert {row["verdict"] for row in rows} == {"not readable"}


def test_a_family_is_counted_once(tmp_path: Path) -> None:
    """Holm by hand of 0.01, 0.02 and 0.03: 0.03, 0.04 and 0.04, of three figures in every medium."""
    made = family()
    path = made.write(tmp_path)
    by_hand = {"a": 0.03, "b": 0.04, "c": 0.04}
    (part,) = summarize_results([made], tmp_path).parts
    told = {row["question"].partition(";")[0]: " ".join(row.values()) for row in table_rows(part.sections[0])}
    assert [f"{p:.4f}" in told[name] for name, p in by_hand.items()] == [True] * 3
    figures = describe_results(path)[0]["figures"]
    assert {f["config"]: (f["verdict"]["p"], f["verdict"]["family"]) for f in figures} == {
        name: (pytest.approx(p), 3) for name, p in by_hand.items()
    }
    assert [f"{p:.4f} after correction for 3 tests" in brief(path) for p in by_hand.values()] == [True] * 3
    page = render_markdown(build_report(gather_inputs([path])))
    assert page.count("0.0400 after correction for 3 tests") == 2


def test_the_gate_says_what_the_new_model_shows() -> None:
    """The code stands beside the name; what cannot be read is not gated, and called so."""
    base = of_sssb(0.5, name="org/base")
    assert "verb pronoun-stereotype (found): " in gate(of_sssb(1.0), base).lines[1]
    assert "verb pronoun-stereotype (undecided): " in gate(of_sssb(0.5), base).lines[1]
    with pytest.raises(ResultError, match="not readable: the model gives every sentence the same score"):
        gate(of_sssb(0.5, tied=True), base)
    failing, released = chat.with_rows(chat.SHOWN, ["verb"]), chat.with_rows(chat.PASSING, ["verb"])
    new, old = (gather_inputs([made])[0] for made in (failing, released))  # made-up figures, held against no rows
    with pytest.raises(ResultError, match="not readable: this model does not do the task"):
        check_gate(new, old)


def test_the_page_of_senses_has_the_same_words() -> None:
    """What a test shows stands before its p; of a model whose words say nothing there is neither interval nor p."""
    shown = association.shown_test("weat1", "", 1.5)
    for made, words in (
        (association.result("word", shown), ["found"]),
        (association.decoder(association.result("word", shown)), ["not readable"]),
    ):
        (part,) = build_sense_page(gather_inputs([made])).parts
        (cells,) = [row for table in part.sections[0].tables for row in table.rows if row[1].text == "weat1"]
        assert cells[2].note.split("; ")[:1] == words
        assert ("[" in cells[2].text, "p 0.0010" in cells[2].note) == (words == ["found"],) * 2


def test_a_file_cannot_say_its_own_verdict(tmp_path: Path) -> None:
    """It is computed anew from the figures, whatever stands there; and results are written without any."""
    path = probe()[0].write(tmp_path)
    assert "verdict" not in json.loads(path.read_text(encoding="utf-8"))["figures"][0]
    data = json.loads(path.read_text(encoding="utf-8"))
    for made in data["figures"]:
        made["verdict"] = {"code": "shown", "text": "all is well", "flaw": "", "p": 0.001, "family": 1}
    path.write_text(json.dumps(data), encoding="utf-8")
    assert read_result(path).figures[0].verdict is None
    assert {f["verdict"]["code"] for f in describe_results(path)[0]["figures"]} == {"unreadable"}


def test_right_answers_keep_their_intervals() -> None:
    """A model that fails its control fails by them: also those of single words are told whole."""
    right = figure("nation", 33.0, 30.0, 36.0, estimand="accuracy", neutral=None)
    failing = find_flaws(source(right, name="nli-control@1.0.1"))
    assert failing.flaws
    assert format_interval(failing.mark(right, "nation")) == "33.0 [30.0, 36.0]"
    assert format_interval(failing.mark(replace(right, estimand="gap"), "nation")) == "+33.0"
