"""Likelihoods of answers: against a naive loop with transformers, and what a server is asked for them."""

import math
import re
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.kinds.question_projects import BALANCED, write_project
from tests.served.planted_model import START, PlantedModel
from tests.served.planted_server import PlantedServer

import senseprobe
from senseprobe import SenseprobeError, api
from senseprobe.evaluate.result import Result
from senseprobe.evaluate.scorers import SCORERS, Unit, with_cyclic_orders
from senseprobe.release.release import Release

BUILDER = Path(__file__).parents[1] / "conformance" / "causal_models.py"
SCORES = ["stereo_score", "anti_score", "unknown_score"]
UNITS = [
    Unit("I saw the old man and the nurse.\nWho was kind?", "The old man\nThe nurse\nThat is not said"),
    Unit("I saw the old man and the nurse. He was kind.\nWho was kind?", "The old man\nThe nurse\nUnknown"),
    Unit(f"{'The nurse met the old man again. ' * 6}\nWho was kind?", "The old man\nThe nurse\nNobody"),
]


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Two templates about old and young people."""
    template = BALANCED.replace("gold: {negative: first}\n", "gold: {negative: first}\nexpect: {rows: 128}\n", 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(write_project(tmp_path_factory.mktemp("questions"), template))
        api.build("asks", "1.0.0")
        return senseprobe.load("asks@1.0.0")


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny GPT-2 that reads 256 tokens, with large random weights, so that tokens differ."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(0)
    source = runpy.run_path(str(BUILDER))["build"](tmp_path_factory.mktemp("causal"))["gpt2"]
    config = AutoConfig.from_pretrained(source, n_positions=256, initializer_range=0.5)
    folder = tmp_path_factory.mktemp("longer")
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, model_max_length=256).save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.delenv("SENSEPROBE_API_KEY", raising=False)


def naive(folder: Path, before: str, answer: str) -> tuple[float, int]:
    """The sum of log P of the answer's tokens after what is before it, and how many they are: one pass, no sharing."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    start = [tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id]
    given, whole = (start + tokenizer(t, add_special_tokens=False)["input_ids"] for t in (before, f"{before} {answer}"))
    with torch.inference_mode():
        logs = model(input_ids=torch.tensor([whole])).logits[0].double().log_softmax(-1)
    return sum(float(logs[k - 1, whole[k]]) for k in range(len(given), len(whole))), len(whole) - len(given)


def test_answers_are_scored_as_by_a_naive_loop(gpt2: Path) -> None:
    """Per token and per byte, within 1e-5; the last context is longer than sentences are read together."""
    from senseprobe.evaluate.models.causal import CausalLM

    model = CausalLM.load(str(gpt2), device="cpu")
    numbers = {name: SCORERS[name].numbers(model, UNITS) for name in ("question-likely", "question-likely-byte")}

    for row, unit in enumerate(UNITS):
        before = unit.text.replace("\n", " ")
        for column, answer in enumerate(unit.beside.split("\n")):
            total, tokens = naive(gpt2, before, answer)
            assert numbers["question-likely"][row, column] == pytest.approx(total / tokens, abs=1e-5)
            assert numbers["question-likely-byte"][row, column] == pytest.approx(total / len(answer), abs=1e-5)


def test_a_row_that_is_too_long_has_no_number_and_a_reason(gpt2: Path) -> None:
    from senseprobe.evaluate.models.causal import CausalLM

    model = CausalLM.load(str(gpt2), device="cpu")
    long = Unit(f"{'The nurse met him. ' * 2000}\nWho?", "A\nB\nC")

    assert np.isnan(SCORERS["question-likely"].numbers(model, [long])).all()
    assert [*SCORERS["question-likely"].reasons(model, [long])] == ["too long for the model"]


class Answering(PlantedModel):
    """A planted model that answers questions with the label of the unknown, by three nats, whatever the order."""

    def _logits(self, prompt: str) -> dict[str, float]:
        match = re.search(r"Answer with one (?:letter|number).*\n(.*)\n(.*)\n(.*)$", prompt)
        if match is None or "?" not in prompt:
            return super()._logits(prompt)
        lines = [line.partition(". ") for line in match.groups()]
        right = [answer if "in the text?" in prompt else "" for _, _, answer in lines]
        context = prompt.casefold().partition("\nwhich of these")[0]
        odds = [
            8.0 * (answer.casefold().removeprefix("the ") in context) if answer else 3.0 * (text in UNKNOWNS)
            for answer, (_, _, text) in zip(right, lines, strict=True)
        ]
        labels = self._labels([label for label, _, _ in lines], odds, self.mass)
        return {**labels, **dict([*self._fillers(prompt, 1 - self.mass)][:11])}

    def text(self, prompt: str, tops: Mapping[str, float]) -> str:
        """Return the likeliest label alone."""
        return f"{next(iter(tops)).strip(' .')}." if "Answer with one" in prompt else super().text(prompt, tops)


UNKNOWNS = ("Nobody can know", "It is not said")


def test_a_server_is_asked_as_a_model_in_process_is(questions: Release) -> None:
    """Choice, text and likelihoods; what a dry run counts is what is asked, and prompts are sent once."""
    model = Answering()
    with PlantedServer(model, kind="llama.cpp") as server:
        options: dict[str, Any] = {"say": lambda _: None, "limit": 16}
        estimated = api.estimate(server.spec, questions, ["question-choice", "question-text"], **options)
        asked = server.answered
        choice, text = api.score(server.spec, questions, ["question-choice", "question-text"], **options)
        probed = server.answered - asked
        (likely,) = api.score(server.spec, questions, "question-likely", **options)
        (usual,) = api.score(server.spec, questions, **options)

    rows = _rows(questions, choice)
    np.testing.assert_allclose(rows[SCORES], np.tile([-1.0, -1.0, 2.0], (len(rows), 1)), atol=1e-6)
    np.testing.assert_allclose(_rows(questions, text)["unknown_score"], 1.0)
    assert choice.tasks["tills"].does_task, choice.tasks["tills"].failure
    assert text.tasks["tills"].does_task, text.tasks["tills"].failure
    assert estimated.requests["question-text"] == 0  # all of them are among those of question-choice
    assert estimated.requests["question-choice"] <= probed
    assert usual.scorer == "question-choice"
    for row in _rows(questions, likely).to_dict("records"):
        before = f"{row['context']} {row['question']}"
        answer = f" {row['stereo']}"
        steps = model.steps(START, before + answer)[len(before) :]
        assert row["stereo_score"] == pytest.approx(math.fsum(steps) / len(answer), abs=1e-6)


def _rows(release: Release, result: Result) -> pd.DataFrame:
    assert result.rows is not None
    return release.table("tills").merge(result.rows.drop(columns="config"), on="id")


def test_half_of_the_orders_is_an_option() -> None:
    """`--orders cyclic` names another scorer; a scorer without orders is refused, and none as well."""
    named = with_cyclic_orders(["question-choice", "question-text"])

    assert named == ["question-choice-cyclic", "question-text-cyclic"]
    with pytest.raises(SenseprobeError, match="ll does not show answers in orders: score question-choice or"):
        with_cyclic_orders(["question-choice", "ll"])
    with pytest.raises(SenseprobeError, match="cyclic orders need a scorer: score question-choice or question-text"):
        with_cyclic_orders([])


@pytest.mark.system
def test_a_small_model_does_not_do_the_task(questions: Release) -> None:
    """SmolLM2 follows the place: no control item is right in all orders, and figures are withheld (measured)."""
    senseprobe.fetch("smollm2", say=lambda _: None)
    (result,) = senseprobe.score("smollm2", questions, "question-choice-cyclic", limit=8, store=False)
    record = result.tasks["tills"]

    assert {"control", "consistent"} <= {reading.gate for reading in record.failed}
    assert all(figure.value is None for figure in result.figures)
    rows = _rows(questions, result)
    assert rows[SCORES].sum(axis=1).to_numpy() == pytest.approx(0, abs=1e-9)
    assert rows[["place_1", "place_2", "place_3"]].sum(axis=1).to_numpy() == pytest.approx(1)
