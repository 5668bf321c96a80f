"""What a dry run counts: tokens by the tokenizer, by usage or by letters, each range around what a run reads.

Expected are the planted model's own tokens (a letter each), and money by hand.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.served.planted_model import render, tokenize
from tests.served.planted_server import PlantedServer, Reply, Request
from tests.served.test_likelihood import _free as without_grammar
from tests.served.test_likelihood import told

import senseprobe
from senseprobe import api
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.served.address import ServingOptions, parse
from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.conversation import ControlItem
from senseprobe.evaluate.served.estimate import SAMPLE, Estimate, Plan, TokenCounter, estimate
from senseprobe.evaluate.served.model import ServedModel
from senseprobe.evaluate.served.wire import DIALECTS
from senseprobe.evaluate.units import Unit

FEW = ["The nurse is kind.", "The engineers of this town are said to be kind, and tall."]
MANY = [f"{'Very ' * (number % 7)}kind are the people of house {number}." for number in range(4 * SAMPLE)]
UNITS = [Unit("He is a nurse.", "She is a nurse."), Unit("He is a pilot.", "She is a pilot.")]
ITEMS = 8  # control items of a run here, of which there are 40 otherwise
ITEM = ControlItem(
    "Which of these two sentences is more likely?", "Snow is cold today.", "Cold snow today is.", "scrambled"
)


def truth(prompts: Sequence[str]) -> int:
    """How many tokens the planted model reads of prompts."""
    return sum(len(tokenize(render([{"role": "user", "content": prompt}]))) for prompt in prompts)


def without_usage(_request: Request, reply: Reply) -> Reply:
    """The reply without its count of tokens."""
    if isinstance(reply.body, dict):
        reply.body.pop("usage", None)
    return reply


def counted(server: PlantedServer, kind: str, prompts: Sequence[str], **more: Any) -> tuple[TokenCounter, Any]:  # noqa: ANN401
    """A counter of the server's tokens, and the range that it gives of prompts."""
    with Client(parse(server.spec), ServingOptions(stored=False)) as client:
        counter = TokenCounter(client, server.name, DIALECTS[kind], **{"may_send": True, **more})
        return counter, counter.count(prompts)


@pytest.mark.parametrize("kind", ["llama.cpp", "vllm"])
def test_a_tokenizer_counts_exactly(kind: str) -> None:
    """Few prompts are all counted; of many a sample is, and of letters that are a token each it is exact, too."""
    with PlantedServer(kind=kind) as server:
        for prompts in (FEW, MANY):
            counter, (low, high) = counted(server, "llama.cpp" if kind == "llama.cpp" else "vLLM", prompts)
            assert (low, high) == pytest.approx((truth(prompts), truth(prompts)))
            assert counter.sent
        texts = [request.body.get("content") or request.body.get("prompt") for request in server.asked("/tokenize")]
    assert sum(text in MANY for text in texts) == SAMPLE


def test_without_a_tokenizer_usage_counts() -> None:
    """Two prompts that are no rows tell tokens of a letter, and of the template; the range is a quarter either way."""
    with PlantedServer(kind="openai") as server:
        counter, (low, high) = counted(server, "other", MANY)
        assert not [prompt for prompt in server.prompts() if prompt in MANY]
    assert low < truth(MANY) < high
    letters = sum(map(len, MANY))
    assert high - low == pytest.approx(letters / 2)
    assert "for two other prompts" in counter.basis
    assert not counter.sent


def test_rows_that_may_not_be_sent_are_not() -> None:
    """A tokenizer is not asked about them; usage counts instead."""
    with PlantedServer(kind="llama.cpp") as server:
        counter, (low, high) = counted(server, "llama.cpp", FEW, may_send=False)
        assert not [request for request in server.log if any(text in str(request.body) for text in FEW)]
    assert low < truth(FEW) < high
    assert not counter.sent


def test_where_nothing_counts_letters_do() -> None:
    """Two to six letters a token, and 4 to 40 tokens of a template, by hand."""
    with PlantedServer(kind="openai", twist=without_usage) as server:
        counter, (low, high) = counted(server, "other", FEW)
    letters = sum(map(len, FEW))
    assert (low, high) == pytest.approx((letters / 6 + 8, letters / 2 + 80))
    assert "the server returns no counts" in counter.basis


def test_requests_of_scorers_that_share_them() -> None:
    """By hand: eight questions a pair and a control item; four answers, which the choice has; four forced replies."""
    with PlantedServer(kind="llama.cpp") as server:
        options = ServingOptions(stored=False)
        with ServedModel.open(server.spec, ability="chat", options=options) as model:
            plans = [Plan(get("choice-likely"), UNITS, [ITEM]), Plan(get("text-likely"), UNITS)]
            both = estimate(model, "tiny@1.0.0", plans, may_send=True, price=(2.0, 10.0))
            replies = estimate(model, "tiny@1.0.0", [Plan(get("answer-likely"), UNITS)], may_send=True)
            natural = estimate(model, "tiny@1.0.0", [*plans, Plan(get("choice-natural"), UNITS)], may_send=True)
    assert both.requests == {"choice-likely": 24, "text-likely": 0}
    assert (both.asked, both.stored, both.written) == (24, 0, (24, 24 * 16))
    assert replies.requests == {"answer-likely": 8}
    assert natural.requests["choice-natural"] == 16
    assert both.money is not None
    assert both.money == pytest.approx(((2 * both.read[0] + 10 * 24) / 1e6, (2 * both.read[1] + 10 * 24 * 16) / 1e6))
    assert replies.money is None


def test_money_by_hand() -> None:
    """Half a million tokens read at 2 a million are 1; 1,000 to 2,000 written at 10 a million .01 to .02."""
    own = Estimate("m", "r", {"choice-likely": 10}, 4, (500_000, 500_000), (1_000, 2_000), "hand", False, (2.0, 10.0))
    assert own.money == pytest.approx((1.01, 1.02))
    assert own.asked == 6
    assert own.as_dict()["money"] == own.money


@pytest.mark.parametrize(
    ("kind", "scorer", "requests", "fingerprints"),
    [
        ("openai", "choice-likely", 12 * 8 + ITEMS * 8, 1),
        ("transformers", "text-likely", 12 * 4 + ITEMS * 4, 1),
        ("vllm", "answer-likely", 12 * 4 + ITEMS * 4, 1),
        ("llama.cpp", "answer-likely", 12 * 4 + ITEMS * 4, 1),
        ("openai", "text-likely", 12 * 4 + ITEMS * 4, 1),
        pytest.param("openai", "nli-chat", 2 * 6 + 200 * 6, 3, marks=pytest.mark.slow),
        ("vllm", "ll", 12 * 2, 1),
        ("llama.cpp", "ll", 12 * 2, 1),
        ("no grammar", "ll", -1, 1),
    ],
)
def test_a_run_asks_as_many_requests_as_were_counted(
    kind: str, scorer: str, requests: int, fingerprints: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: questions of 12 pairs (sentences) and 8 control items, or of 2 rows and 200 of nli-control.

    The eight fixed prompts are asked beside at the end of each result, and after 1,000 requests. Tokenizers answer
    without the model, and are not counted.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("senseprobe.evaluate.served.conversation.CONTROL_ITEMS", ITEMS)
    jobs = [f"{job} of {town}" for job in ("nurse", "baker", "pilot", "clerk") for town in ("Oslo", "Rome", "Bonn")]
    texts = {group: [f"Perhaps {group} is the {job}." for job in jobs] for group in ("he", "she")}
    pairs = {"stereo": texts["he"], "anti": texts["she"], "target": jobs, "group": ["he", "she"] * 6}
    inference = {"premise": ["A nurse ate.", "A cook ate."], "hypothesis": ["A man ate."] * 2, "gold": ["neutral"] * 2}
    table = pd.DataFrame(inference if scorer == "nli-chat" else pairs)

    unsaid: list[str] = []

    def asked() -> int:
        own = sum("token" not in request.path and request.path != "/apply-template" for request in server.log)
        server.log.clear()
        return own

    twist = None
    if kind == "no grammar":  # each token of a text, a letter, is forced by a request of its own
        kind, twist, requests = (
            "llama.cpp",
            told("/completion", without_grammar),
            sum(map(len, texts["he"] + texts["she"])),
        )
    with PlantedServer(kind=kind, twist=twist) as server:
        counted_before = api.estimate(server.spec, table, scorer, store=False, say=unsaid.append)
        asked()
        senseprobe.server(server.spec).describe()
        probed = asked()
        api.score(server.spec, table, scorer, store=False, say=unsaid.append)
        assert (counted_before.requests, counted_before.asked) == ({scorer: requests}, requests)
        assert asked() - probed == requests + 8 * fingerprints


def test_requests_of_the_built_in_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the issue: 1,488 of the 186 pairs of a config; and eight of each of 40 control items."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with PlantedServer() as server:
        own = api.estimate(server.spec, "sssb@1.0.1", "choice-likely", config="noun")
    assert own.requests == {"choice-likely": 1488 + 320}
