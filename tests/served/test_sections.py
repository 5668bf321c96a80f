"""What pages, terminals and comparisons say of a chat model that does the task, and of one that does not.

Records are made up; each expected word follows from the gate that a record fails, and what may not be on a page (a
value of a withheld figure) is a number that stands nowhere else.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.reporting.medium import printed, table_rows

import senseprobe
from senseprobe.api.results import slice_result, summarize_results
from senseprobe.document import render_html, render_markdown, render_section
from senseprobe.errors import ResultError
from senseprobe.evaluate.caveats import failed_tasks, withheld_configs
from senseprobe.evaluate.exports.distances import ExportSource, find_distances
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_inputs
from senseprobe.evaluate.reporting.notation import format_reading, format_threshold
from senseprobe.evaluate.reporting.report import build_brief, build_report
from senseprobe.evaluate.reporting.significance import compare_results
from senseprobe.evaluate.reporting.verdict_table import build_verdicts
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import SCORERS
from senseprobe.evaluate.served.capabilities import CHECKS
from senseprobe.evaluate.served.conversation import ALPHABETS, CONSTRUCTS
from senseprobe.evaluate.served.sections import describe_tasks
from senseprobe.evaluate.task_gates import GATES, NOT_DONE, GateReading, TaskRecord
from senseprobe.evaluate.units import ScoredRows
from senseprobe.records import Figure

RELEASE = "sssb@1.0.2"
MODEL = {"name": "org/chat", "weights": "a" * 64, "config": "b" * 64, "tokenizer": "c" * 64, "dtype": "float32"}
HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>"


def reading(gate: str, read: float | None, *, passed: bool, bound: float | None = None, said: str = "") -> GateReading:
    """What a gate read, held against the threshold of its table."""
    return GateReading(gate=gate, read=read, bound=bound, threshold=GATES[gate].threshold, passed=passed, said=said)


DONE = TaskRecord(
    position=0.43,
    prior=-0.21,
    consistent=0.92,
    reliability=0.81,
    mass=0.97,
    mass_least=0.88,
    censored=0.0,
    floor=0.0016,
    spread=1.25,
    low=12.5,
    high=12.5,
    gates=(reading("control", 0.95, bound=0.83, passed=True), reading("reliability", 0.81, passed=True)),
)
NOT = replace(
    DONE,
    reliability=-2.6,
    refused={"nurse": 7, "engineer": 0},
    unparsed={"nurse": 2},
    contradictions={"engineer": 3},
    low=-31.25,
    high=4.5,
    gates=(reading("control", 0.0, bound=0.0, passed=False), reading("reliability", -2.6, passed=False)),
)


def figure(config: str, estimand: str, value: float | None, **fields: object) -> Figure:
    """A figure over 100 rows, with an interval of ten points either way where it has a value."""
    ends = (None, None) if value is None else (value - 10, value + 10)
    stated = {"sense_type": "", "neutral": 0.0, "unscored": 0, "ties": 0, "rows": 100, "scored": 100}
    stated |= {"low": ends[0], "high": ends[1], **fields}
    return Figure(config=config, estimand=estimand, value=value, **stated)  # type: ignore[arg-type]


def withheld(config: str) -> Figure:
    """A figure without its value, as a run without --show-failing leaves it."""
    return figure(config, "preference-half", None, note=f"{NOT_DONE}: control")


def result(*figures: Figure, tasks: dict[str, TaskRecord], scorer: str = "choice-likely", **model: str) -> Result:
    """A result of a chat model on sssb, without rows."""
    release = senseprobe.load(RELEASE)
    about = {"name": RELEASE, "content": release.manifest.content, "config": None}
    return Result(
        scorer=scorer, model={**MODEL, **model}, release=about, senseprobe="0", seed=0, figures=figures, tasks=tasks
    )


def with_rows(own: Result, configs: Sequence[str], seed: int = 0) -> Result:
    """The result with random contents of all rows of some configs."""
    generator, parts = np.random.default_rng(seed), []
    for config in configs:
        ids = senseprobe.load(RELEASE).table(config, spans=False)["id"]
        content = generator.normal(0.5, 1, len(ids))
        scores = {"stereo_score": content / 2, "anti_score": -content / 2, "content": content}
        parts.append(pd.DataFrame({"config": config, "id": ids, **scores}))
    return replace(own, scored=ScoredRows(pd.concat(parts, ignore_index=True)))


PASSING = result(figure("verb", "preference-half", 23.4567), tasks={"verb": DONE})
FAILING = result(withheld("verb"), tasks={"verb": NOT})
SHOWN = result(figure("verb", "preference-half", 23.4567, note=f"{NOT_DONE}: control"), tasks={"verb": NOT})


def page(*results: Result) -> str:
    """The page of results, as HTML."""
    return render_html(build_report(gather_inputs(results)))


def scored(result: Result, out: Path) -> str:
    """What a terminal shows of a result, with one blank between the cells of a row."""
    return re.sub(r" +", " ", printed(summarize_results([result], out)))


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_model_that_does_the_task_is_judged_by_its_figures() -> None:
    """Its interval, 13 to 33, excludes 0."""
    (verdict,) = build_verdicts(ReportInput(result=PASSING))
    assert verdict.code == "shown"
    assert [*describe_tasks(PASSING)] == ["all gates passed in verb"]


@pytest.mark.parametrize("failing", [FAILING, SHOWN])
def test_a_model_that_does_not_is_not_read(failing: Result) -> None:
    """Whether its values are withheld or shown, with the gates that fail."""
    (verdict,) = build_verdicts(ReportInput(result=failing))
    assert (verdict.code, verdict.text) == ("unreadable", f"{NOT_DONE}: it fails control, reliability")


def test_what_has_no_record_has_passed_nothing() -> None:
    """A result of a chat scorer without gates, as one that was edited; of another scorer nothing is asked."""
    without = replace(PASSING, tasks={})
    assert failed_tasks(without) == {"verb": f"{NOT_DONE}: the result has no gates"}
    assert failed_tasks(replace(PASSING, tasks={"verb": replace(DONE, gates=())})) == failed_tasks(without)
    assert failed_tasks(replace(without, scorer="ll")) == {}


def test_withheld_is_what_has_no_value() -> None:
    """And not what is shown all the same, nor what passes."""
    assert [withheld_configs(own) for own in (PASSING, FAILING, SHOWN)] == [[], ["verb"], []]


def test_brief_says_withheld_and_never_a_dash() -> None:
    """In the table for a pull request the value reads ``withheld``."""
    brief = render_section(build_brief([ReportInput(result=FAILING)]))
    assert "withheld" in brief
    assert "org/chat does not do the task" in brief
    assert "| none" not in brief


# --- a terminal -------------------------------------------------------------------------------------------------------


def test_the_terminal_shows_gates_and_what_they_read(tmp_path: Path) -> None:
    """What fails with what was asked for, beside what passes alone: 0.95 from 0.83, -2.60 where 0.60 was asked."""
    text = scored(FAILING, tmp_path)
    assert "his model does not do the task in verb: it fails control, reliability; figures are withheld (--show" in text
    assert "asked for at least 0.50 at least 0.60\nverb failed: 0.00, from 0.00 failed: -2.60" in text
    assert "verb preference-half withheld" in text
    assert "-31.2 to +4.5" in text
    passing = scored(PASSING, tmp_path)
    assert "verb 0.95, from 0.83 0.81" in passing
    assert NOT_DONE not in passing
    shown = scored(SHOWN, tmp_path)
    assert "+23.5" in shown
    assert "its figures say nothing of bias" in shown


def test_other_results_are_as_they_were(tmp_path: Path) -> None:
    """No word of gates where no chat model was asked."""
    text = scored(replace(PASSING, scorer="ll", tasks={}), tmp_path)
    assert "gate" not in text
    assert "task" not in text


@pytest.mark.parametrize(
    ("gate", "read", "bound", "expected"),
    [
        ("reliability", 0.812, None, ("0.81", "at least 0.60")),
        ("control", 0.7, 0.535, ("0.70, from 0.54", "at least 0.50")),
        ("censored", 0.0625, None, ("0.062", "at most 0.05")),
        ("places", 0.1, 0.6, ("0.10 to 0.60", "0.15 to 0.55")),
        ("mass", None, None, ("not told", "at least 0.50")),
        ("size", 0.5, None, ("0.50", "at least 3 x 1.00")),
    ],
)
def test_readings_as_text(gate: str, read: float | None, bound: float | None, expected: tuple[str, str]) -> None:
    """Two decimals, or two digits below .1, rounded half to even; thresholds from the issue."""
    own = reading(gate, read, bound=bound, passed=True)
    assert (format_reading(own), format_threshold(own).replace("0.050", "0.05")) == expected


# --- a page -----------------------------------------------------------------------------------------------------------


def test_a_page_shows_what_stands_beside_the_figures() -> None:
    """Each number of the record, and the mean content beside the preference."""
    mean = figure("verb", "content-mean", 0.5216, low=0.25, high=0.75)
    text = page(replace(PASSING, figures=(*PASSING.figures, mean)))
    assert "+0.522 [+0.250, +0.750]" in text
    for number in ("0.43", "-0.21", "0.92", "0.81", "0.97", "0.88", "0.0016", "1.25"):
        assert f">{number}<" in text, number
    assert "Does the model do the task?" in text
    assert "All gates passed in verb." in text


def test_a_failing_page_has_reasons_and_no_value() -> None:
    """Each gate with what it read; refusals by group, the engineers' 0 beside the nurses' 7, and the range."""
    text = page(with_rows(FAILING, ["verb"]))
    assert "This model does not do the task in verb: it fails control, reliability" in text
    assert text.count('<span class="tag strong">failed</span>') == 2
    assert re.search(r">nurse<[^\n]*>7<[^\n]*>2<[^\n]*>0<", text)
    assert "-31.2 to +4.5" in text
    assert "withheld" in text
    # Neither charts nor tables of rows: their numbers are no more about sentences than the figure.
    assert "application/json" not in text
    assert "Which words" not in text


def test_values_that_are_shown_are_marked() -> None:
    """With --show-failing the value stands beside the verdict that it says nothing."""
    text = page(SHOWN)
    assert "+23.5" in text
    assert f"<small>{NOT_DONE}" in text
    assert f"preference-half: {NOT_DONE}" in text
    assert "its figures say nothing of bias" in text
    assert "not readable" in text


def test_a_page_shows_the_prompts_as_they_are_sent() -> None:
    """All eight of the first pair of the release: question, both sentences, and each alphabet in both orders."""
    text = page(PASSING)
    row = senseprobe.load(RELEASE).table("verb", spans=False).iloc[0]
    assert text.count('class="prompt"') == 8
    for alphabet in ALPHABETS:
        assert f"{alphabet[0]}. {row['stereo']}\n{alphabet[1]}. {row['anti']}" in text
        assert f"{alphabet[0]}. {row['anti']}\n{alphabet[1]}. {row['stereo']}" in text
    assert text.count(CONSTRUCTS["likely"]) >= 8
    markdown = render_markdown(build_report(gather_inputs([PASSING])))
    assert f"A. {row['stereo']}<br>B. {row['anti']}" in markdown


def test_a_served_model_is_named_with_all_that_it_is() -> None:
    """Origin, both names, build and template; where answers are, and that it is not the model in process."""
    served = result(
        *PASSING.figures,
        tasks={"verb": DONE},
        origin="http://127.0.0.1:8080",
        asked="smollm2",
        answered="smollm2.gguf",
        server="llama.cpp b4242",
        tokenizer="0" * 64,
    )
    text = page(served)
    for part in ("http://127.0.0.1:8080", "smollm2.gguf", "b4242", "0" * 64, "senseprobe/answers", "another model"):
        assert part in text
    assert "senseprobe/answers" not in page(PASSING)
    likelihood = page(replace(served, scorer="ll", tasks={}))
    assert "smollm2.gguf" in likelihood
    assert "Does the model do the task?" not in likelihood


def test_hostile_names_are_text() -> None:
    """Of models, servers, groups, gates' remarks and configs; and no markup of theirs is in the page."""
    record = replace(NOT, refused={HOSTILE: 3}, gates=(reading("unchanged", 0.0, passed=False, said=HOSTILE),))
    names = {"name": HOSTILE, "origin": HOSTILE, "answered": HOSTILE, "server": HOSTILE}
    hostile = result(withheld("verb"), tasks={"verb": record, HOSTILE: record}, **names)
    text = page(hostile)
    assert "<script>alert" not in text
    assert "<img" not in text
    assert text.count("&lt;script&gt;alert") >= 5
    assert "<img" not in render_markdown(build_report(gather_inputs([hostile]))).replace("\\<", "")


def test_many_configs_are_collapsed() -> None:
    """Twenty-five configs are more rows than are open."""
    tasks = {f"config-{number}": NOT for number in range(25)}
    sections = build_report(gather_inputs([result(withheld("verb"), tasks=tasks)])).parts[0].sections
    (section,) = [own for own in sections if own.title == "Does the model do the task?"]
    gates = section.tables[0]
    assert (len(gates.rows), gates.closed) == (1 + 25, True)
    assert gates.caption == "What each gate read: 50 of 50 failed"


LIKELIHOOD = {"origin": "http://127.0.0.1:8080", "name": "served"}
DRIFT = "the first prompt had -1.20, has -3.40"
CHANGED = "this model changed during the run"


def drifted(value: float | None) -> Result:
    """A likelihood of a server that changed, with or without its value."""
    record = TaskRecord(gates=(reading("unchanged", 0.0, passed=False, said=DRIFT),))
    own = figure("verb", "preference-half", value, note=f"{CHANGED}: it fails unchanged ({DRIFT})")
    return result(own, tasks={"verb": record}, scorer="ll", **LIKELIHOOD)


def test_a_likelihood_of_a_server_that_changed_is_withheld_and_says_why(tmp_path: Path) -> None:
    """It is no chat model's answer, so that nothing is said of a task; 23.4567 is nowhere, and its rows are not."""
    text = page(with_rows(drifted(None), ["verb"]))
    assert f"{CHANGED} in verb: it fails unchanged ({DRIFT}); figures are withheld".lower() in text.lower()
    assert "withheld" in text
    assert "application/json" not in text
    assert NOT_DONE not in text
    lines = scored(drifted(None), tmp_path)
    assert "verb preference-half withheld" in lines
    assert f"{CHANGED} in verb: it fails unchanged".lower() in lines.lower()
    shown = page(drifted(23.4567))
    assert f"<small>{CHANGED}" in shown
    assert find_distances(ExportSource(result=drifted(23.4567)))[0] == []
    steady = replace(drifted(None), tasks={"verb": TaskRecord(gates=(reading("unchanged", 1.0, passed=True),))})
    assert [*describe_tasks(steady)] == ["all gates passed in verb"]


def test_all_that_is_made_of_failing_rows_is_marked() -> None:
    """With --show-failing: words and frames cell by cell, and charts, rows and tests of equivalence by a sentence."""
    text = page(with_rows(SHOWN, ["verb"]))
    _, _, words = text.partition("<h2>By word and frame")
    cells, marked = (words.partition("</section>")[0].count(part) for part in ("<small>", f"<small>{NOT_DONE}"))
    assert marked > 10
    assert cells >= marked
    sentence = f"{NOT_DONE} in verb. Tables and charts of these rows say nothing about bias."
    assert text.count(sentence) >= 3
    assert sentence not in page(with_rows(PASSING, ["verb"]))
    parts = slice_result(with_rows(SHOWN, ["verb"]), by=["occupation"])
    assert all(own.note.startswith(f"{NOT_DONE}: it fails control") for part in parts for own in part.figures)


def test_only_the_results_that_fail_are_marked_in_a_chart() -> None:
    """The first of two does the task, the second does not."""
    text = page(PASSING, replace(SHOWN, model={**MODEL, "name": "org/other"}))
    assert f"preference-half: 2: {NOT_DONE}" in text


# --- comparisons, slices, exports -------------------------------------------------------------------------------------


def test_withheld_configs_are_not_compared() -> None:
    """Nor sliced: what is left is compared, and of a model without any there is nothing to compare."""
    tasks = {"verb": DONE, "noun": NOT}
    figures = (*PASSING.figures, withheld("noun"))
    first = with_rows(result(*figures, tasks=tasks), ["verb", "noun"])
    second = with_rows(result(*figures, tasks=tasks, name="org/other"), ["verb", "noun"], seed=1)
    inputs = gather_inputs([first, second])
    pairs = compare_results(inputs)
    assert {row.config for row in pairs[0].comparisons} == {"verb"}
    assert printed(build_report(inputs, pairs, "brief")).count(NOT_DONE) == 2
    assert {part.config for part in slice_result(first, by=["occupation"])} == {"verb"}
    none = [with_rows(replace(FAILING, model={**MODEL, "name": name}), ["verb"]) for name in "ab"]
    with pytest.raises(ResultError, match="does not do the task"):
        compare_results(gather_inputs(none))


def test_only_figures_of_its_own_pairs_are_compared() -> None:
    """`relative` holds a sentence of one pair against one of another, which no choice between two is about."""
    own = [
        with_rows(
            result(figure("nationality", "preference-half", 5.0), tasks={"nationality": DONE}, name=name),
            ["nationality"],
            seed,
        )
        for seed, name in enumerate(["org/a", "org/b"])
    ]
    (pair,) = compare_results(gather_inputs(own))
    assert {row.estimand for row in pair.comparisons} == {"preference-half", "content-mean"}
    assert "relative" in senseprobe.load(RELEASE).design("nationality").estimands


def test_mean_contents_are_compared_in_nats() -> None:
    """Their difference over the pairs with a label that count, and not over one that one model lacks, by hand."""
    own = [with_rows(replace(PASSING, model={**MODEL, "name": name}), ["verb"], i) for i, name in enumerate("ab")]
    assert own[1].rows is not None
    table = senseprobe.load(RELEASE).table("verb", spans=False)
    counted = (table["label_basis"] != "none") & table["label_basis"].notna() & ~table["contested"]
    lacking = own[1].rows["id"] == table[counted]["id"].iloc[0]
    numbers = ["stereo_score", "anti_score", "content"]
    rows = own[1].rows.assign(**{n: own[1].rows[n].mask(lacking) for n in numbers})
    own[1] = replace(own[1], scored=ScoredRows(rows))
    inputs = gather_inputs(own)
    (pair,) = compare_results(inputs)
    row = next(row for row in pair.comparisons if row.estimand == "content-mean")
    kept = {*table[counted]["id"].iloc[1:]}
    tables = [source.result.rows for source in inputs if source.result.rows is not None]
    a, b = (table[table["id"].isin(kept)]["content"].mean() for table in tables)
    assert row.difference == pytest.approx(a - b, abs=1e-9)
    assert (row.scored, row.unscored, row.equivalent) == (len(kept), 1, None)
    (part,) = build_report(inputs, [pair], "brief").parts
    cells = [row for section in part.sections for row in table_rows(section, part.labels)]
    found = [cell["difference"] for cell in cells if cell.get("figure") == "content-mean"]
    assert [text.startswith(f"{a - b:+.3f} [") for text in found] == [True]


@pytest.mark.parametrize("name", ["verb", "a-contrast"])
def test_values_of_a_failing_model_are_not_exported(name: str) -> None:
    """Although they are there, with --show-failing; nor those of a contrast, which fails with either of its configs."""
    own = replace(SHOWN, figures=tuple(replace(each, config=name) for each in SHOWN.figures))
    found, lines = find_distances(ExportSource(result=own))
    assert found == []
    assert any(NOT_DONE in line for line in lines)


# --- the page of the documentation ------------------------------------------------------------------------------------

DOCS = Path(__file__).parents[2] / "docs" / "chat-models.md"


def _table(heading: str) -> list[list[str]]:
    """The rows of the table of the page whose first heading this is."""
    _, _, below = DOCS.read_text(encoding="utf-8").partition(f"| {heading} |")
    lines = below.split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_has_the_gates() -> None:
    """Each with what it reads, its threshold and the reason, in their order."""
    gates = [(f"`{gate.id}`", gate.title, gate.says) for gate in GATES.values()]
    assert [(row[0], row[1], row[3]) for row in _table("gate")] == gates
    thresholds = [format_threshold(reading(gate, None, passed=False)) for gate in GATES]
    printed = [row[2].replace("3 \N{MULTIPLICATION SIGN} the noise floor", "3 x 1.00") for row in _table("gate")]
    assert printed == thresholds


def test_the_page_has_the_checks() -> None:
    """What is checked of a server, in the words of the probe."""
    assert [row[0] for row in _table("what is checked")] == [*CHECKS.values()]


def test_the_page_has_the_scorers() -> None:
    """Each that asks a chat model."""
    named = {name.strip("` ") for row in _table("scorer") for name in row[0].split(",")}
    asking = {scorer.id for scorer in SCORERS.values() if scorer.gates}
    assert named == asking | {"ll", "ll-mean", "ll-byte"}
