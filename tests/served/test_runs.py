"""Whole runs against a planted server: what is planted is recovered, gates say what is so, and nothing is asked twice.

Expected values are those that were planted (tests/served/planted_model.py), and counts of requests by hand.
"""

import itertools
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.commands import Typed, typing
from tests.served.liars import LIARS, exchange, rename, start
from tests.served.planted_model import PlantedModel, content_of
from tests.served.planted_server import PlantedServer, Reply, error
from tests.tiny import lay_out
from tests.tiny_release import PACKAGE, TEMPLATE

from senseprobe import api
from senseprobe.evaluate.result import Result, read_result
from senseprobe.evaluate.task_gates import NOT_DONE, UNOBSERVABLE

JOBS = ("nurse", "engineer", "baker", "farmer", "pilot", "clerk", "teacher", "lawyer", "driver", "singer")
CHAT = "/v1/chat/completions"
CHOICE = 8
"""Requests of a pair: two orders under four alphabets; of a text four of these."""


def pairs(groups: Sequence[str] = ("he", "she")) -> pd.DataFrame:
    """Two groups, each preferred in half of the pairs."""
    rows = []
    for number, job in enumerate(JOBS):
        a, b = groups if number % 2 else groups[::-1]
        texts = {"stereo": f"Perhaps {a} is the {job} of this town.", "anti": f"Perhaps {b} is the {job} of this town."}
        rows.append({**texts, "target": job, "group": a, "stereo_value": a, "anti_value": b})
    return pd.DataFrame(rows)


def planted(table: pd.DataFrame) -> np.ndarray:
    """The content that is planted in each pair."""
    return np.array([content_of(*texts) for texts in zip(table["stereo"], table["anti"], strict=True)])


def values(result: Result) -> dict[str, float | None]:
    """The figures of a result."""
    return {figure.estimand: figure.value for figure in result.figures}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.delenv("SENSEPROBE_API_KEY", raising=False)
    return tmp_path / ".cache"


def score(server: PlantedServer, table: pd.DataFrame, *scorers: str, **options: object) -> list[Result]:
    """The results of some scorers."""
    return api.score(server.spec, table, scorers, say=lambda _: None, **options)  # type: ignore[arg-type]


# --- what is planted --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["openai", "llama.cpp", "vllm"])
def test_contents_places_and_labels_are_recovered(kind: str) -> None:
    """`preference-half` counts the pairs whose content is above 0, `content-mean` is their mean."""
    table = pairs()
    content = planted(table)
    scorers = ["choice-likely", "text-likely", *(["answer-likely"] if kind != "openai" else [])]
    with PlantedServer(PlantedModel(position=0.375, prior=-0.2, mass=0.8), kind=kind) as server:
        results = score(server, table, *scorers)
    half = 100 * np.mean(content > 0) - 50
    for result in results:
        assert result.rows is not None
        (task,) = result.tasks.values()
        assert task.does_task, task
        assert values(result)["preference-half"] == pytest.approx(half, abs=1e-6)
        if result.scorer == "text-likely":
            assert result.rows["psi"].tolist() == (content > 0).astype(float).tolist()
            continue
        np.testing.assert_allclose(result.rows["content"], content, atol=1e-6)
        np.testing.assert_allclose(result.rows["position"], 0.375, atol=1e-6)
        np.testing.assert_allclose(result.rows["stereo_score"], content / 2, atol=1e-6)
        assert values(result)["content-mean"] == pytest.approx(content.mean(), abs=1e-6)
        assert task.position == pytest.approx(0.375, abs=1e-6)
        assert task.floor == pytest.approx(0, abs=1e-6)
        assert task.spread == pytest.approx(content.std(ddof=1), abs=1e-6)
    choice, task = results[0], next(iter(results[0].tasks.values()))
    assert choice.rows is not None
    np.testing.assert_allclose(choice.rows["prior"], -0.2, atol=1e-6)
    assert (task.prior, task.mass) == pytest.approx((-0.2, 0.8))
    assert task.censored == 0
    assert task.reliability == pytest.approx(1.0)


def test_what_differs_between_alphabets_is_seen_in_their_reliability() -> None:
    """Alpha by its other formula: of k items with mean covariance c and mean variance v, k c / (v + (k - 1) c)."""
    table, model = pairs(), PlantedModel(spread=1.0)
    with PlantedServer(model) as server:
        (result,) = score(server, table, "choice-likely")
    assert result.rows is not None
    items = np.array(
        [
            [content_of(a, b) + model.wobble(a, b, alphabet) for alphabet in ("AB", "BA", "12", "21")]
            for a, b in zip(table["stereo"], table["anti"], strict=True)
        ]
    )
    covariances = np.cov(items.T)
    v, c = np.diag(covariances).mean(), covariances[~np.eye(4, dtype=bool)].mean()
    (task,) = result.tasks.values()
    assert task.reliability == pytest.approx(4 * c / (v + 3 * c), abs=1e-6)
    np.testing.assert_allclose(result.rows[["AB", "BA", "12", "21"]], items, atol=1e-6)
    np.testing.assert_allclose(result.rows["content"], items.mean(axis=1), atol=1e-6)


def test_answers_without_a_label_are_counted_by_group() -> None:
    """Three pairs of "she" are refused, one of "he" cannot be read, one quotes the other sentence: four answers each.

    The range is that of ten pairs of which four have no answer, and all others that of their content.
    """
    table = pairs()
    of_group = {group: table.index[table["group"] == group].tolist() for group in ("he", "she")}
    manners: dict[tuple[str, ...], str] = {}
    for number, manner in [*((n, "refuse") for n in of_group["she"][:3]), (of_group["he"][0], "unparsed")]:
        manners[tuple(sorted(table.loc[number, ["stereo", "anti"]]))] = manner
    manners[tuple(sorted(table.loc[of_group["he"][1], ["stereo", "anti"]]))] = "contradict"
    lacking = np.isin(table.index, [*of_group["she"][:3], of_group["he"][0]])
    with PlantedServer(PlantedModel(manner=lambda a, b: manners.get((a, b), ""))) as server:
        (result,) = score(server, table, "text-likely")
    (task,) = result.tasks.values()
    assert (task.refused, task.unparsed, task.contradictions) == ({"she": 12}, {"he": 4}, {"he": 4})
    chosen = planted(table) > 0
    low, high = (np.where(lacking, end, chosen).mean() * 100 - 50 for end in (0, 1))
    assert (task.low, task.high) == pytest.approx((low, high))
    assert values(result)["preference-half"] == pytest.approx(100 * chosen[~lacking].mean() - 50)


def test_a_filter_of_the_server_is_a_refusal() -> None:
    """The server marks it in three ways: a refusal object, a finish reason, and an error that names its filter."""
    table = pairs()
    kinds = itertools.cycle(range(3))

    def twist(request: object, reply: Reply) -> Reply:
        if "Perhaps she is the nurse" not in str(request) or reply.status != 200:
            return reply
        kind, choice = next(kinds), reply.body["choices"][0]
        if kind == 0:
            choice["message"] = {"role": "assistant", "content": None, "refusal": "I can't say that."}
        elif kind == 1:
            choice["finish_reason"] = "content_filter"
        return error(400, "content_filter", "filtered by policy") if kind == 2 else reply

    with PlantedServer(twist=twist) as server:
        (result,) = score(server, table, "text-likely", store=False)
    (task,) = result.tasks.values()
    assert sum(task.refused.values()) == 4
    assert task.unparsed == {}


# Takes long: 1,200 requests of the control.
def test_inference_is_recovered_and_passes_its_control() -> None:
    """Softmax of three options of which one is likelier by the planted strength: e^4 / (e^4 + 2) and 1 / (e^4 + 2).

    nli-control says that somebody did what its premise says, or that nobody did: the model knows these two.
    """

    def inference(premise: str, hypothesis: str) -> str:
        if "woman" in hypothesis:
            return "neutral"
        return "contradiction" if hypothesis.startswith("No") else "entailment"

    premises = [f"The {job} bought an apple." for job in JOBS[:4]]
    table = pd.DataFrame({"premise": premises, "hypothesis": "A woman bought an apple.", "gold": "neutral"})
    with PlantedServer(PlantedModel(inference=inference, places=(0.3, 0.0, -0.3))) as server:
        result, *_ = score(server, table, "nli-chat")
    assert result.rows is not None
    total = np.exp(4) + 2
    np.testing.assert_allclose(result.rows["neutral"], np.exp(4) / total, atol=1e-6)
    np.testing.assert_allclose(result.rows[["entailment", "contradiction"]], 1 / total, atol=1e-6)
    (task,) = result.tasks.values()
    assert task.does_task, task


# --- gates ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "gates"),
    [
        (
            PlantedModel(content=lambda a, b: 0.1 * content_of(a, b), position=2.0, control=0.0),
            {"control", "consistent"},
        ),
        (PlantedModel(mass=0.4), {"mass"}),
        (PlantedModel(spread=6.0), {"reliability"}),
        (PlantedModel(content=lambda a, b: 9 * np.sign(content_of(a, b)), crowd=21, mass=0.6), {"censored"}),
        (PlantedModel(content=lambda a, b: 0.3 * content_of(a, b), noise=0.25), {"size"}),
    ],
    ids=["a model that follows the place", "mass", "labels", "censored", "noise"],
)
def test_a_model_that_does_not_do_the_task_has_no_figures(model: PlantedModel, gates: set[str]) -> None:
    """Nor has one of which the server tells too few tokens, or says something else each time: that is its doing."""
    verdict = UNOBSERVABLE if gates <= {"censored", "size"} else NOT_DONE
    with PlantedServer(model) as server:
        (result,) = score(server, pairs(), "choice-likely")
        (shown,) = score(server, pairs(), "choice-likely", show_failing=True)
    (task,) = result.tasks.values()
    assert gates <= {reading.gate for reading in task.failed}, task
    assert {*values(result).values()} == {None}
    assert all(figure.note.startswith(f"{verdict}: it fails") for figure in (*result.figures, *shown.figures))
    assert values(shown)["preference-half"] is not None


@pytest.mark.parametrize("what", ["answers", "fingerprint", "name"])
def test_another_model_in_the_middle_withholds_the_figures(what: str) -> None:
    """The probe asks some thirty requests, the control twice 80 prompts: the change comes among those of the rows."""
    with PlantedServer(pinned=False) as server:
        if what == "answers":
            exchange(server, 230, PlantedModel(content=lambda a, b: -content_of(a, b)))
        else:
            rename(server, 230, **{what: "other"})
        table = pairs()
        (result,) = score(server, table, "choice-likely")
        before = set(rows_asked(server, table)) & set(server.prompts()[:230])
        assert 0 < len(before) < CHOICE * len(table)
    (task,) = result.tasks.values()
    assert "unchanged" in {reading.gate for reading in task.failed}
    assert {*values(result).values()} == {None}


# --- what is asked ----------------------------------------------------------------------------------------------------


def rows_asked(server: PlantedServer, table: pd.DataFrame) -> list[str]:
    """The prompts that hold both sentences of a pair."""
    texts = list(zip(table["stereo"], table["anti"], strict=True))
    return [prompt for prompt in server.prompts() if any(a in prompt and b in prompt for a, b in texts)]


def test_a_second_run_asks_nothing_of_the_rows_again() -> None:
    table = pairs()
    with PlantedServer() as server:
        (first,) = score(server, table, "choice-likely")
        asked = rows_asked(server, table)
        assert Counter(asked) == dict.fromkeys(asked, 1)
        assert len(asked) == CHOICE * len(table)
        (second,) = score(server, table, "choice-likely")
        assert len(rows_asked(server, table)) == len(asked)
        score(server, table, "text-likely")
        assert len(rows_asked(server, table)) == len(asked)
    assert second.signature == first.signature
    assert values(second) == values(first)


def test_another_model_behind_the_same_address_is_asked_everything() -> None:
    table = pairs()
    with PlantedServer() as server:
        score(server, table, "choice-likely")
        server.model = PlantedModel(position=1.0)
        (result,) = score(server, table, "choice-likely")
        assert len(rows_asked(server, table)) == 2 * CHOICE * len(table)
    assert next(iter(result.tasks.values())).position == pytest.approx(1.0)


def test_a_server_that_loads_limits_and_breaks_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits are made short."""
    monkeypatch.setattr("senseprobe.evaluate.served.client.FIRST_WAIT", 0.01)
    table = pairs()
    busy = error(429, "rate_limit_exceeded", "slow down")
    busy.headers["Retry-After"] = "0.1"
    with PlantedServer() as server:
        (plain,) = score(server, table, "choice-likely", store=False)
        server.loading = 2
        server.fail(busy, Reply({}, cut=True), Reply({}, reset=True), error(529, "overloaded", "later"))
        (result,) = score(server, table, "choice-likely", store=False)
        assert not any(fault.replies for fault in server.faults)
    assert result.rows is not None
    assert plain.rows is not None
    pd.testing.assert_frame_equal(result.rows, plain.rows)


# --- as it is typed ---------------------------------------------------------------------------------------------------


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line in a project with the release ``tiny@1.0.0``: he and she of ten jobs."""
    monkeypatch.chdir(tmp_path)
    labelled = TEMPLATE.replace("label_basis: none", "label_basis: trait")
    lay_out(tmp_path, labelled.replace("pairs: 2", f"pairs: {len(JOBS)}"))
    (tmp_path / "wordlists" / "datapackage.yaml").write_text(PACKAGE)
    (tmp_path / "wordlists" / "jobs.csv").write_text("\n".join(["word", *JOBS, ""]))
    api.build("tiny", "1.0.0")
    return typing(monkeypatch, capfd)


def result_of(folder: Path, scorer: str) -> Result:
    """The only result of a scorer below a folder."""
    (path,) = folder.rglob(f"{scorer}.json")
    return read_result(path)


# Takes long: three scorers and two replays, 900 requests.
def test_a_run_is_printed_written_and_replayed(typed: Typed, tmp_path: Path) -> None:
    with PlantedServer(kind="llama.cpp") as server:
        words = ("choice-likely", "text-likely", "answer-likely")
        done = typed("score", server.spec, "tiny@1.0.0", *itertools.chain(*(("-m", word) for word in words)))
        assert done.code == 0, done.err
        for word in words:
            assert f"scorer={word}|release=tiny@1.0.0" in done.out
            assert all(task.does_task for task in result_of(tmp_path / "results", word).tasks.values())
        (path,) = (tmp_path / "results").rglob("choice-likely.json")
        again = typed("replay", str(path))
        assert again.code == 0, again.err
        server.model = PlantedModel(position=1.0)
        other = typed("replay", str(path))
    assert other.code != 0
    assert "fixed prompts" in other.out + other.err


@pytest.mark.parametrize("kind", ["vllm", "llama.cpp"])
def test_likelihoods_of_a_server_are_replayed(kind: str, tmp_path: Path) -> None:
    """The same by the same model; other weights are seen in the fixed prompts."""
    said: list[str] = []
    with PlantedServer(kind=kind) as server:
        api.score(server.spec, "sssb@1.0.1", "ll", config="noun-bare", limit=6, out=tmp_path, say=said.append)
        (path,) = tmp_path.rglob("ll*.json")
        again = api.replay(path)
        assert (again.differences, again.rows, again.largest) == ((), 6, 0.0)
        server.model = PlantedModel(position=1.0, weights=1)
        other = api.replay(path)
    assert other.result is None
    assert "fixed prompts" in str(other.differences)


def started(words: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    """A command line in a process of its own."""
    program = "import sys; from senseprobe.cli.application import main; sys.argv[0] = 'senseprobe'; main()"
    command = [sys.executable, "-c", program, *words]
    return subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so, a minute at most."""
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


@pytest.mark.slow
# Takes long: another process, and 450 requests.
def test_what_was_answered_before_a_kill_is_not_asked_again(typed: Typed, tmp_path: Path) -> None:
    """One request at a time is on its way at most when the client is killed with signal 9."""
    with PlantedServer(delay=0.01) as server:
        words = ["score", server.spec, "tiny@1.0.0", "-m", "choice-likely"]
        with started(words, tmp_path) as client:
            wait_for(lambda: len(server.asked()) >= 200)
            client.send_signal(signal.SIGKILL)
            client.communicate()
        assert len(server.asked()) >= 200
        server.delay = 0.0
        done = typed(*words)
    assert done.code == 0, done.err
    # The probe asks the same prompts in each run, which are not stored.
    counts = Counter(prompt for prompt in server.prompts() if any(f"is the {job}" in prompt for job in JOBS))
    twice = [prompt for prompt, count in counts.items() if count > 1]
    assert len(twice) <= 1
    assert max(counts.values()) <= 2


# Takes long: another process, and 450 requests.
def test_an_interrupt_is_one_line_and_keeps_what_was_answered(typed: Typed, tmp_path: Path) -> None:
    """Ctrl-C is exit code 2, as for other long work (tests/cli/test_cli_score.py); then only the rest is asked."""
    with PlantedServer(delay=0.01) as server:
        words = ["score", server.spec, "tiny@1.0.0", "-m", "choice-likely"]
        with started(words, tmp_path) as client:
            wait_for(lambda: len(server.asked()) >= 200)
            client.send_signal(signal.SIGINT)
            out, err = client.communicate(timeout=60)
        asked = len(server.asked())
        assert asked >= 200
        assert (client.returncode, out) == (2, "")
        *_, message = err.splitlines()
        assert re.search(r"interrupted with \d+ of \d+ numbers computed; they are kept", message), err
        assert "Traceback" not in err
        assert not [*tmp_path.rglob("choice-likely*.json")]
        server.delay = 0.0
        done = typed(*words)
    assert done.code == 0, done.err
    counts = Counter(prompt for prompt in server.prompts() if any(f"is the {job}" in prompt for job in JOBS))
    assert sum(counts.values()) - len(counts) <= 1  # what was on its way


def test_a_key_is_in_no_file_and_no_output(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-planted-0123456789abcdef"
    monkeypatch.setenv("OTHER_KEY", key)
    with PlantedServer(key=key) as server:
        words = ("score", server.spec, "tiny@1.0.0", "-m", "choice-likely", "--api-key-env")
        done = typed(*words, "OTHER_KEY")
        wrong = typed(*words[:-1])
    assert (done.code, wrong.code) == (0, 2), done.err + wrong.err
    assert key not in done.out + done.err + wrong.out + wrong.err
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    "name",
    ["no log-probabilities", "unsorted", "after the temperature", "empty from the second", "thinks first", "redirect"],
)
def test_a_liar_gets_exit_code_2_and_no_figure(typed: Typed, tmp_path: Path, name: str) -> None:
    with start(LIARS[name]) as server:
        done = typed("score", server.spec, "tiny@1.0.0", "-m", "choice-likely")
        assert not any("engineer" in str(request.body) for request in server.log)
    assert (done.code, done.out) == (2, "")
    assert not [*tmp_path.rglob("choice-likely*.json")]


def test_a_model_that_follows_the_place_prints_no_figure(typed: Typed) -> None:
    model = PlantedModel(content=lambda a, b: 0.1 * content_of(a, b), position=2.0, control=0.0)
    with PlantedServer(model) as server:
        words = ("score", server.spec, "tiny@1.0.0", "-m", "choice-likely")
        done, shown = typed(*words), typed(*words, "--show-failing")
    assert NOT_DONE in (done.out + done.err).lower()
    assert NOT_DONE in (shown.out + shown.err).lower()
    half = 100 * np.mean([content_of(f"He is the {job}.", f"She is the {job}.") > 0 for job in JOBS]) - 50
    assert f"{half:+.1f}" in shown.out
    assert f"{half:+.1f}" not in done.out
