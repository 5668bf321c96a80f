"""The first screen of a report: a headline, at most six tiles, and the same sentences in a terminal and in Markdown."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import cast, get_args

import pytest
from tests.reporting.medium import printed
from tests.reporting.test_association_report import result as result_of_tests
from tests.reporting.test_association_report import source as on_tests
from tests.reporting.test_report_rows import ACCURACY, answer
from tests.reporting.test_verdict_media import of_groups, probe
from tests.reporting.test_verdict_table import design, figure, source
from tests.served import test_sections as chat

from senseprobe.api.results import brief
from senseprobe.document import MOST_TILES, Tile, render_html, render_markdown, render_section
from senseprobe.evaluate.estimands import CATALOGUE, Estimand
from senseprobe.evaluate.reporting.finding import label_word, name_model
from senseprobe.evaluate.reporting.inputs import ReportInput, gather_inputs
from senseprobe.evaluate.reporting.report import build_brief, build_report
from senseprobe.evaluate.reporting.row_tables import explain_counts
from senseprobe.records import VERDICT_WORDS, VerdictCode


def tiles_of(*inputs: ReportInput) -> list[Tile]:
    """The findings of a page."""
    return [tile for part in build_report(inputs).parts for section in part.sections for tile in section.tiles]


def test_each_code_has_its_word() -> None:
    """One word for each of the five codes, wherever it is shown."""
    assert {*VERDICT_WORDS} == {*get_args(VerdictCode)}
    assert [*VERDICT_WORDS.values()] == ["found", "these words only", "small", "undecided", "not readable"]


def test_six_tiles_and_the_rest_in_rows() -> None:
    """Of nine findings six are tiles; all have a sentence about the model, a badge, and a bar with its unit."""
    inputs = [source(*(figure(f"c{n}", 20.0, 6.0, 31.0, neutral=0.0) for n in range(9)))]
    html = render_html(build_report(inputs))
    tiles, rows = (re.search(rf'<ul class="{name}">(.*?)</ul>', html, re.DOTALL) for name in ("tiles", "lines"))
    assert tiles is not None
    assert rows is not None
    assert [part[1].count("<li ") for part in (tiles, rows)] == [MOST_TILES, 3] == [6, 3]
    for part, count in ((tiles[1], 6), (rows[1], 3)):
        assert part.count('<p class="fact">org/model prefers the stereotype in 70 of 100 pairs.</p>') == count
        assert part.count('<span class="tag strong">found</span>') == part.count('<svg class="marks"') == count
        assert part.count("+20.0 [+6.0, +31.0] points") == part.count("0: half of the pairs") == count


def test_the_headline_is_sentences() -> None:
    """How many questions have an answer, what is undecided and how large it can be, and what has no neutral value."""
    inputs = [
        source(
            figure("a", 20.0, 6.0, 31.0, neutral=0.0),
            figure("b", 9.0, -4.0, 28.0, neutral=0.0),
            figure("c", 9.0, 4.0, 28.0, neutral=None),
        )
    ]
    (part,) = build_report(inputs).parts
    (lead,) = part.sections[0].lead
    assert lead.startswith(
        "One of three questions has an answer. a: org/model prefers the stereotype in 70 of 100 pairs."
    )
    assert "Undecided: b; an effect of up to 28 points is possible." in lead
    assert re.search(r'Not readable: c\. \w[^.]* "unbiased" here', lead)


def test_groups_are_named() -> None:
    """The group that differs is in the sentence, with its number and with what it is compared with."""
    (tile,) = tiles_of(*gather_inputs([of_groups()]))
    assert re.match(r"org/model links g0 to \w+ words more than g1, in \d+ of 100 ", tile.sentence)
    assert tile.ends[1] == "0: like g1"
    assert "groups" not in tile.sentence, "with one other group, its name says enough"


@pytest.mark.parametrize(("estimand", "said"), [("relative", True), ("preference-half", False)])
def test_figures_within_groups_say_so(estimand: str, said: bool) -> None:
    """The verdict on groups compares them with each other; the figures of words do not."""
    made = SimpleNamespace(tables={"a": None}, design=lambda _: SimpleNamespace(estimands=(estimand,)))
    told = explain_counts([cast("ReportInput", made)])
    assert ["`relative`" in line for line in told] == [True] * said


@pytest.mark.parametrize("made", ["pairs", "tests", "chat", "control"])
def test_the_media_share_their_sentences(made: str, tmp_path: Path) -> None:
    """What a tile says stands in the terminal, in Markdown and in the brief, with the same badge."""
    inputs = {
        "pairs": [source(figure("a", 20.0, 6.0, 31.0, neutral=0.0), figure("b", 9.0, -4.0, 28.0, neutral=0.0))],
        "tests": [on_tests(result_of_tests())],
        "chat": [ReportInput(result=chat.FAILING)],
        "control": gather_inputs([probe()[0]]),
    }[made]
    page = build_report(inputs)
    media = [
        printed(build_report(inputs, level="brief")),
        *(
            re.sub(r"\\(.)|<[^>]+>", r"\1", text)
            for text in (render_section(build_brief(inputs)), render_markdown(page))
        ),
        unescape(render_html(page)),
    ]
    tiles = tiles_of(*inputs)
    assert tiles
    for tile in tiles:
        assert [(tile.sentence in text, tile.badge in text) for text in media] == [(True, True)] * len(media)


def test_a_figure_alone_has_a_sentence() -> None:
    """Of praise and blame, where a config has nothing else that a verdict can be about."""
    (tile,) = tiles_of(source(figure("c", 20.0, 6.0, 31.0, neutral=0.0, estimand="pronoun-interaction")))
    lean = "gives the pronoun of the stereotype to praise rather than to blame"
    assert tile.sentence == f"org/model {lean} (+20.0 points)."


@pytest.mark.parametrize("name", [name for name in CATALOGUE if not CATALOGUE[name].origin])
def test_every_estimand_has_a_sentence(name: str) -> None:
    """Whatever the sign of its figure, and whatever is known of the config."""
    estimand = CATALOGUE[name]
    for value in (-3.0, 0.0, 3.0):
        assert estimand.fact(figure("c", value, value - 1, value + 1), None, {})


def test_a_plugin_has_a_sentence_of_its_title() -> None:
    """An estimand that declares none says its title and its number."""
    plain = Estimand(
        id="x:y", title="Liking of cats", range=(-9, 9), direction="", source="", says="", cannot_say="", origin="x"
    )
    assert plain.fact(figure("a", 2.5, 1.0, 3.0), design(), {}) == "scores +2.5 points on “Liking of cats”"


def test_no_caption_has_an_alternative(tmp_path: Path) -> None:
    """A page knows which case it is."""
    inputs = [*gather_inputs([of_groups()]), *gather_inputs([answer("nli-control@1.0.0", *ACCURACY).write(tmp_path)])]
    charts = [c for part in build_report(inputs).parts for section in part.sections for c in section.charts]
    assert charts
    assert [chart.title for chart in charts if " or " in chart.title] == []
    assert any("the other groups" in chart.title for chart in charts)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("smollm2", "SmolLM2-135M-Instruct"),
        ("vectors:glove", "GloVe 6B"),
        ("org/model", "org/model"),
        ("HuggingFaceTB/SmolLM2-360M-Instruct", "SmolLM2-360M-Instruct"),
        ("senses:gallery/minilm-senses.safetensors", "minilm-senses.safetensors"),
    ],
)
def test_models_have_short_names(name: str, shown: str) -> None:
    """Those that can be fetched have the name of their makers, files none of their folders."""
    assert name_model(name) == shown


def test_a_word_of_two_senses_is_named_with_its_sense() -> None:
    """A word that stands in one sense alone is as it is."""
    of_dogs = replace(design(), sense_type="dog")
    senses = {"afghan": {"dog", "person"}, "dalmatian": {"dog"}}
    assert label_word("Afghan", of_dogs, senses) == "Afghan (dog)"
    assert label_word("Dalmatian", of_dogs, senses) == "Dalmatian"


def test_the_brief_of_the_api_has_the_headline(tmp_path: Path) -> None:
    """Before its table."""
    path = of_groups().write(tmp_path)
    text = brief(path)
    assert 0 < text.index("question") < text.index("| verdict |")


def test_a_planted_truth_stands_beside_what_is_found() -> None:
    """Its value, and a second mark of its own series, on the tile of the same figure; on its own tile it is not."""
    found, true = figure("a", 20.0, 6.0, 31.0, neutral=0.0), figure("a", 19.5, 5.0, 30.0, neutral=0.0)
    truth = source(true)
    truth = replace(
        truth, result=replace(truth.result, scorer="planted", model={**truth.result.model, "planted": "0.7"})
    )
    first, last = tiles_of(truth, source(found))
    assert (first.truth, last.truth, last.true_mark) == ("planted: +19.5", "", None)
    assert first.true_mark is not None
    assert (first.true_mark.series, first.true_mark.value) == (0, 19.5)
    html = render_html(build_report([truth, source(found)]))
    assert html.count("planted: +19.5") == 1


def test_what_is_undecided_is_of_these_rows() -> None:
    """And where nothing has a neutral value, no note says that 0 is neutral."""
    (open_,) = tiles_of(source(figure("b", 9.0, -4.0, 28.0, neutral=0.0)))
    (shown,) = tiles_of(source(figure("a", 20.0, 6.0, 31.0, neutral=0.0)))
    assert [tile.sentence.startswith("In these rows, ") for tile in (open_, shown)] == [True, False]
    assert (open_.unit, open_.figure) == ("from 50 of 100", "+9.0 [-4.0, +28.0] points")
    without = "".join(build_report([source(figure("c", 9.0, 4.0, 28.0, neutral=None))]).parts[0].sections[0].paragraphs)
    assert "0 is neutral" not in without
