"""A server's habits are not the model's verdict: spelling, what stands before a label, complaints, and streams.

Expected values are those that are planted (tests/served/planted_model.py), and words that servers were reported to say.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.commands import Typed, typing
from tests.served.habits import (
    AT_MOST_FIVE,
    FIVE,
    FIXED,
    LIMIT,
    NO_LOGPROBS,
    NONE,
    ONLY_ONE,
    POSITIVE,
    SPELLINGS,
    begun,
    declining,
    of_chat,
    spelt,
    streamed,
)
from tests.served.planted_model import PlantedModel
from tests.served.planted_server import PlantedServer, Reply, Request, Twist, error
from tests.served.test_runs import pairs, planted, score, values

from senseprobe import api
from senseprobe.errors import ModelError
from senseprobe.evaluate.served.address import ServingOptions, parse
from senseprobe.evaluate.served.capabilities import CHOICES, ProbeReport
from senseprobe.evaluate.served.client import Client
from senseprobe.evaluate.served.event_stream import join_events
from senseprobe.evaluate.served.probe import probe
from senseprobe.evaluate.served.wire import DIALECTS, chat_body, read_chat

CHAT = "/v1/chat/completions"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.delenv("SENSEPROBE_API_KEY", raising=False)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    return typing(monkeypatch, capfd)


def _probed(server: PlantedServer, **options: Any) -> ProbeReport:  # noqa: ANN401 - of any option
    with Client(parse(server.spec), ServingOptions(**options)) as client:
        return probe(client)


# --- what a token is called -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPELLINGS)
def test_contents_are_found_however_tokens_are_spelt(name: str) -> None:
    """The planted content of each pair, and the planted probability of all labels."""
    spell, with_bytes = SPELLINGS[name]
    table = pairs()
    with PlantedServer(PlantedModel(mass=0.8), twist=spelt(spell, with_bytes=with_bytes)) as server:
        (result,) = score(server, table, "choice-likely")
    assert result.rows is not None
    np.testing.assert_allclose(result.rows["content"], planted(table), atol=1e-6)
    (task,) = result.tasks.values()
    assert task.does_task, task
    assert task.mass == pytest.approx(0.8)
    assert task.censored == 0


def test_a_spelling_that_nobody_can_read_is_the_servers() -> None:
    """Numbers without bytes: no label is found where the text begins with one, and texts can be scored."""
    with PlantedServer(twist=spelt(lambda text: f"token_id:{sum(map(ord, text))}", with_bytes=False)) as server:
        report = _probed(server)
    for scorer in CHOICES:
        assert "this server spells them differently ('token_id:" in report.lacking(scorer)
    assert report.lacking("text-likely") == ""


def test_bytes_that_are_no_text_are_not_read() -> None:
    """Half a character, numbers that are no bytes, and no list: the spelling counts."""
    for raw in ([0xC3], [300], "A", [True], [], None):
        entry = {"token": "B", "logprob": -0.5, "bytes": raw}
        logprobs = {"content": [{**entry, "top_logprobs": [entry]}]}
        body = {"choices": [{"message": {"content": "B"}, "logprobs": logprobs}]}
        assert read_chat(body).tops == {"B": -0.5}


# --- what stands before a label ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "log", "mass"),
    [("<s>", 0.0, 0.8), ("<|im_start|>", -50.0, 0.8), ("\n", math.log(0.9), 0.72), (" ", 0.0, 0.8), ("", 0.0, 0.8)],
)
def test_the_label_behind_a_blank_or_a_start_token_is_read(token: str, log: float, mass: float) -> None:
    """A blank has its probability, .9 x .8; a start token is the server's own, whatever is told of it."""
    table = pairs()
    with PlantedServer(PlantedModel(mass=0.8), twist=begun(token, log)) as server:
        (result,) = score(server, table, "choice-likely")
    assert result.rows is not None
    np.testing.assert_allclose(result.rows["content"], planted(table), atol=1e-6)
    (task,) = result.tasks.values()
    assert task.does_task, task
    assert task.mass == pytest.approx(mass)


def test_a_blank_now_and_then_is_refused() -> None:
    """Every other answer begins with a new line: no place is the label's, and that is said of the server."""
    with PlantedServer(twist=begun("\n", -0.1, every=2)) as server:
        report = _probed(server)
    assert "blanks or special tokens before its label" in report.lacking("choice-likely")
    assert report.lacking("text-likely") == ""


def test_a_row_whose_answer_begins_otherwise_has_no_number() -> None:
    """It is left out with a reason; the others stay what they are."""
    table = pairs()
    start = begun("<s>", 0.0)

    def twist(request: Request, reply: Reply) -> Reply:
        return reply if table["stereo"][0] in str(request.body) else start(request, reply)

    with PlantedServer(twist=twist) as server:
        (result,) = score(server, table, "choice-likely", show_failing=True)
    assert result.rows is not None
    assert np.isnan(result.rows["content"][0])
    np.testing.assert_allclose(result.rows["content"][1:], planted(table)[1:], atol=1e-6)


# --- complaints -------------------------------------------------------------------------------------------------------


def test_five_log_probabilities_are_too_few_whether_it_is_said_or_not(typed: Typed) -> None:
    """The server's words, and what they cost, stand in the first line, and in what a scorer says."""
    with PlantedServer(twist=declining(FIVE)) as server:
        done, told = typed("model", "check", server.url), typed("model", "check", server.url, "--json").told
        declined = typed("score", server.spec, "sssb@1.1.0:noun-bare", "-m", "choice-likely", "--limit", "1")
    first = done.out.splitlines()[0]
    assert AT_MOST_FIVE.rstrip(".") in first
    assert "at most 5, and 20 are needed" in first
    assert "choice-" in first
    assert (done.code, declined.code) == (0, 2)
    assert AT_MOST_FIVE.rstrip(".") in declined.err
    assert told["complaints"][0]["field"] == "logprobs"
    assert told["scorers"]["text-likely"]["can"]
    assert "at most 5, and 20 are needed" in told["scorers"]["choice-likely"]["lacking"]
    assert "Start the server" not in told["scorers"]["nli-chat"]["lacking"]


def test_a_fixed_temperature_without_log_probabilities_is_one_line(typed: Typed) -> None:
    """As OpenAI's newer models are (case 11): the cause, in the server's words, and nothing of echo and templates."""
    with PlantedServer(twist=declining(LIMIT, FIXED, NONE)) as server:
        done = typed("model", "check", server.url)
        scored = typed("score", server.spec, "sssb@1.1.0:noun-bare", "-m", "text-likely", "--limit", "1")
    assert (done.code, scored.code) == (2, 2)
    first = done.out.splitlines()[0]
    assert ONLY_ONE.rstrip(".") in first
    assert NO_LOGPROBS in first
    for told in (done.err, scored.err):
        (line,) = (line for line in told.splitlines() if "fixes the temperature" in line)
        assert "this model fixes the temperature, so answers cannot be repeated" in line
        assert ONLY_ONE.rstrip(".") in line
        assert "echo" not in line
        assert "template" not in line


def test_log_probabilities_at_a_fixed_temperature_are_a_way_on() -> None:
    """Those of temperature 1 are the model's own: contents are recovered, and no text is scored."""
    table = pairs()
    with PlantedServer(twist=declining(FIXED)) as server:
        report = _probed(server)
        (result,) = score(server, table, "choice-likely")
        assert not any(
            "temperature" in request.body for request in server.asked() if table["stereo"][0] in str(request)
        )
    assert report.check("raw").state == "passed"
    assert "fixes the temperature" in report.lacking("text-likely")
    assert result.rows is not None
    np.testing.assert_allclose(result.rows["content"], planted(table), atol=1e-6)


def test_log_probabilities_at_a_temperature_that_is_not_told_are_not_believed() -> None:
    """They may be divided by whatever the server has, which cannot be seen."""
    words = "'temperature' is not supported with this model"
    with PlantedServer(twist=declining((lambda body: "temperature" in body, 400, words))) as server:
        report = _probed(server)
    assert words in report.lacking("choice-likely")


def test_a_temperature_above_zero_stands_in_for_zero() -> None:
    """Where 0 itself is declined, .01 is as good, and its cost is said."""
    with PlantedServer(twist=declining(POSITIVE)) as server:
        report = _probed(server)
        assert {request.body["temperature"] for request in server.asked()[1:]} == {0.01, 1.5}
    (complaint,) = report.dialect.complaints
    assert "temperature must be strictly positive" in complaint.text
    assert ".05 nats" in complaint.text
    assert all(report.lacking(scorer) == "" for scorer in (*CHOICES, "text-likely"))


def test_the_field_is_that_which_the_server_names_first() -> None:
    """A list of what is taken is no complaint about it; a ``param`` names it before all words."""
    listing = "Unknown field 'seed': the fields are model, messages, temperature, logprobs"
    with PlantedServer(twist=declining((lambda body: "seed" in body, 400, listing))) as server:
        assert _probed(server).dialect.without == ("seed",)

    def by_param(request: Request, reply: Reply) -> Reply:
        if request.path == CHAT and "seed" in request.body:
            return error(400, "unknown", "temperature, top_logprobs and seed: one of these is not taken", param="seed")
        return reply

    with PlantedServer(twist=by_param) as server:
        assert _probed(server).dialect.without == ("seed",)


def test_of_a_list_of_fields_log_probabilities_go_first() -> None:
    """As before, so that what is kept of such servers is found again (litellm's words)."""

    def twist(request: Request, reply: Reply) -> Reply:
        unfit = [name for name in ("seed", "logprobs", "top_logprobs") if name in (request.body or {})]
        if request.path != CHAT or not unfit:
            return reply
        return error(400, "UnsupportedParamsError", f"openai_like does not support parameters: {unfit}, for model=tiny")

    with PlantedServer(twist=twist) as server:
        assert _probed(server).dialect.without == ("logprobs", "top_logprobs", "seed")


def test_what_most_servers_are_asked_stays_the_same_to_the_byte() -> None:
    """Answers are kept by the bytes that were asked: a temperature of 0, not of 0.0."""
    body = chat_body("Hello", "m", DIALECTS["other"])
    assert json.dumps(body, separators=(",", ":")) == (
        '{"model":"m","messages":[{"role":"user","content":"Hello"}],"temperature":0,"seed":0,"logprobs":true,'
        '"top_logprobs":20,"max_tokens":16}'
    )


def test_words_of_a_server_are_short_printable_and_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it says; the key is a made-up one."""
    key = "sk-secret-of-the-test"
    monkeypatch.setenv("SENSEPROBE_API_KEY", key)
    words = f"seed \x1b[2J is not taken with {key} " + "x" * 9_000
    twist = declining((lambda body: "seed" in body, 400, words))
    with PlantedServer(key=key, twist=twist) as server:
        report = _probed(server)
    (complaint,) = report.dialect.complaints
    assert complaint.words.startswith("'seed \\x1b")
    assert complaint.words.isprintable()
    assert len(complaint.words) < 300
    assert "secret" not in repr(report)


def test_whole_answers_of_a_server_with_five_log_probabilities_are_the_same_model() -> None:
    """No text is compared with its own first token."""

    def five(_: Request, body: dict[str, Any]) -> None:
        for place in body["choices"][0]["logprobs"]["content"]:
            del place["top_logprobs"][5:]

    table = pairs()
    with PlantedServer(twist=of_chat(five)) as server:
        (result,) = score(server, table, "text-likely")
    (task,) = result.tasks.values()
    assert not task.changed, task
    assert values(result)["preference-half"] == pytest.approx(100 * np.mean(planted(table) > 0) - 50)


def test_an_error_at_the_top_of_an_answer_is_told() -> None:
    """As older servers put it, with status 200: it is asked again, and its words are not lost."""

    def twist(request: Request, reply: Reply) -> Reply:
        if request.path == CHAT:
            reply.body = {"object": "error", "message": "no such adapter", "type": "NotFoundError", "code": 404}
        return reply

    with PlantedServer(twist=twist) as server, pytest.raises(ModelError, match="no such adapter"):
        score(server, pairs(), "text-likely")


# --- streams ----------------------------------------------------------------------------------------------------------


def test_a_server_that_streams_unasked_is_read() -> None:
    """A token a piece, without an end of its own for usage: contents are those that are planted."""
    table = pairs()
    with PlantedServer(PlantedModel(mass=0.8), twist=of_chat(streamed)) as server:
        report = _probed(server)
        choice, text = score(server, table, "choice-likely", "text-likely")
    assert report.tokens is not None
    assert choice.rows is not None
    np.testing.assert_allclose(choice.rows["content"], planted(table), atol=1e-6)
    assert values(text)["preference-half"] == pytest.approx(100 * np.mean(planted(table) > 0) - 50)


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b'data: {"choices": [{"text": "A"}]}\r\n\r\ndata: [DONE]\r\n\r\n', "A"),
        (b'event: x\nid: 1\ndata: {"choices": [{"text": "A",\ndata: "finish_reason": "stop"}]}\n\n', "A"),
        (b'data: {"choices": [{"text": "A"}, {"index": 1, "text": "B"}]}\n\ndata: [DONE]\n\n', "A"),
        (b'data: {"choices": [{"text": "A"}]}\n\n', None),
        (b'data: {"choices": [{"text": "A"', None),
        (b"data: [1]\n\n", None),
        (b"data: [DONE]\n\n", None),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_what_is_an_answer_in_pieces(data: bytes, answer: str | None) -> None:
    """By the format of server-sent events; what has no end is cut, and what holds no answer is none."""
    joined = join_events(data, json.loads)
    assert (joined and joined["choices"][0]["text"]) == answer


def test_log_probabilities_of_pieces_are_in_one() -> None:
    """Those of chat are a list of tokens, those of completions several lists beside each other."""
    pieces: list[dict[str, Any]] = [
        {"logprobs": {"tokens": ["a"], "token_logprobs": [None]}},
        {"logprobs": None},
        {"logprobs": {"tokens": ["b"], "token_logprobs": [-1.0]}, "finish_reason": "stop"},
    ]
    data = b"".join(b"data: " + json.dumps({"choices": [own]}).encode() + b"\n\n" for own in pieces)
    (choice,) = join_events(data, json.loads)["choices"]
    assert choice["logprobs"] == {"tokens": ["a", "b"], "token_logprobs": [None, -1.0]}


def test_an_error_in_a_stream_is_the_answer() -> None:
    """It is told like any other."""
    data = b'data: {"choices": [{"delta": {"content": "A"}}]}\n\ndata: {"error": {"message": "gone", "code": 404}}\n\n'
    assert join_events(data, json.loads) == {"error": {"message": "gone", "code": 404}}


# --- Azure ------------------------------------------------------------------------------------------------------------

KEY = "0123456789abcdef0123456789abcdef"
"""A made-up key in the form of Azure's."""


def _azure(server: PlantedServer) -> Twist:
    """Return what makes a server Azure's: another path, a version with each request, and a header for the key."""

    def twist(request: Request, reply: Reply) -> Reply:
        if request.headers.get("api-key") != KEY:
            return error(401, "401", "Access denied due to missing subscription key")
        path, _, query = request.path.partition("?")
        if query != "api-version=2024-10-21" or path != "/openai/deployments/d/chat/completions":
            return error(404, "404", "Resource not found")
        return server.chat(request.body)

    return twist


@pytest.mark.parametrize("path", ["/openai/deployments/d", "/openai/deployments/d/chat/completions"])
def test_the_version_and_the_key_of_azure(path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The version goes along with each request, the key by itself in `api-key`, and it stands nowhere else."""
    monkeypatch.setenv("SENSEPROBE_API_KEY", KEY)
    table = pairs()
    with PlantedServer() as server:
        server.twist = _azure(server)
        spec = f"openai:{server.origin}{path}?api-version=2024-10-21#planted"
        with Client(parse(spec), ServingOptions()) as client:
            report = probe(client)
        (result,) = api.score(spec, table, "choice-likely", say=lambda _: None)
        assert {request.path.partition("?")[2] for request in server.log} == {"api-version=2024-10-21"}
        told = [request.headers for request in server.log if "api-key" in request.headers]
        assert not any("authorization" in headers for headers in told)
        assert len(told) == len(server.log) - 2  # each probe asks once without the key
    assert report.check("limits").read == "refused without the key"
    assert result.rows is not None
    np.testing.assert_allclose(result.rows["content"], planted(table), atol=1e-6)
    assert KEY not in repr(report) + str(result.as_dict())
    assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.parametrize(("version", "header"), [("", "api-key"), ("?api-version=v1", "authorization")])
def test_the_other_header_is_tried_once(version: str, header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the likelier one is not read; a key that is wrong in both is asked for once, and no more."""
    monkeypatch.setenv("SENSEPROBE_API_KEY", KEY)
    wanted = KEY if header == "api-key" else f"Bearer {KEY}"

    def twist(request: Request, reply: Reply) -> Reply:
        return reply if request.headers.get(header) == wanted else error(401, "401", "no key")

    with PlantedServer(twist=twist) as server:
        with Client(parse(f"openai:{server.url}{version}#planted"), ServingOptions()) as client:
            statuses = [client.get("/none").status for _ in range(3)]
            assert (statuses, client.requests) == ([404] * 3, 4)
        server.twist = lambda request, reply: error(401, "401", "no key")
        with Client(parse(f"openai:{server.url}{version}#planted"), ServingOptions()) as client:
            statuses = [client.get("/none").status for _ in range(3)]
            assert (statuses, client.requests) == ([401] * 3, 4)
