"""Results that 0.2 made of servers' decisions: they are read and shown as before, and computed no more.

The files beside are as 0.2 wrote them, of a planted server with ``/v1/systemone``, and of one with SGLang's
``/v1/decisions``. Of text-likely only the fixed prompts were answered by decisions.
"""

import json
from pathlib import Path

import pytest
from tests.commands import typing
from tests.served.liars import LIARS
from tests.served.planted_server import PlantedServer

import senseprobe
from senseprobe import api
from senseprobe.api.results import report
from senseprobe.evaluate.models import source_class
from senseprobe.evaluate.result import read_result
from senseprobe.evaluate.served.fingerprint import Fingerprint, fixed_questions, is_of_decisions

FOLDER = Path(__file__).parent / "decisions"
STORED = sorted(FOLDER.glob("*.json"))
RETIRED = (
    "a server's decision (/v1/decisions, /v1/systemone) is no longer computed: the result has it in its numbers or its "
    "fixed prompts, so score the model again to compare"
)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_replay_says_so_and_asks_nobody(
    path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    typed = typing(monkeypatch, capfd)
    done = typed("replay", str(path))
    assert (done.code, done.out.splitlines()) == (0, [RETIRED, "nothing was computed"]), done.err
    with PlantedServer(kind="transformers") as server:
        assert api.replay(path, model=senseprobe.server(server.url, model="planted")).redefined == (RETIRED,)
        assert server.log == []


def test_a_thinking_model_whose_fixed_prompts_were_answered_by_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its labels were weighed by decisions all the same: a token that begins a thought is none of them."""
    path = FOLDER / "choice-likely-sglang.json"
    result = json.loads(path.read_text())
    thoughts = [{"<think>": -0.0001, question.labels[0]: -9.5} for question in fixed_questions()]
    result["model"]["vector"] = Fingerprint.of_tops(thoughts).text
    (tmp_path / path.name).write_text(json.dumps(result))
    done = typing(monkeypatch, capfd)("replay", str(tmp_path / path.name))
    assert (done.code, done.out.splitlines()) == (0, [RETIRED, "nothing was computed"]), done.err
    assert source_class(result["model"]["name"]).describe_retired(result["model"], "text-likely") == ""


def test_a_thinking_model_whose_tokens_do_not_show_it(tmp_path: Path) -> None:
    """The same model answers, and thinks: first tokens could never give its labels a weight."""
    with PlantedServer() as server:
        api.score(server.spec, "sssb@1.0.1:noun-bare", "choice-likely", limit=6, out=tmp_path, say=list[str]().append)
        (path,) = tmp_path.rglob("choice-likely*.json")
        server.twist = LIARS["thinks beside"].twist()
        replayed = api.replay(path)
    assert (replayed.result, replayed.differences, replayed.redefined) == (None, (), (RETIRED,))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_figures_and_gates_are_shown(path: Path, tmp_path: Path) -> None:
    """Also the mass, which only SGLang told."""
    page = report(path, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Figures not checked" not in page
    assert ("the server returns probabilities of labels only" in page) == (path.stem == "choice-likely")
    result = read_result(path)
    (task,) = result.tasks.values()
    assert task.does_task
    assert (task.mass is None) == (path.stem != "choice-likely-sglang")
    assert all(figure.value is not None for figure in result.figures if figure.estimand == "preference-half")


def test_a_fingerprint_of_tokens_or_texts_is_none_of_decisions() -> None:
    """Five tokens of each prompt, the labels among them; and a text that is a label."""
    labels = [dict.fromkeys(question.labels, -0.7) for question in fixed_questions()]
    assert is_of_decisions(Fingerprint.of_tops(labels).text)
    assert not is_of_decisions(Fingerprint.of_tops([{**own, " A": -3.0} for own in labels]).text)
    assert not is_of_decisions(Fingerprint.of_texts(["A"] * 8).text)
    assert not is_of_decisions(Fingerprint.of_tops(labels[:7]).text)
    assert not is_of_decisions("")
