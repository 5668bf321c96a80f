"""Models behind servers, as they are typed: the probe, what leaves the machine, dry runs, and options that are refused.

What is expected of servers is what the planted one has (tests/served/planted_server.py), and what it was asked.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commands import Typed, typing
from tests.served.liars import LIARS, rename, start
from tests.served.planted_model import PlantedModel
from tests.served.planted_server import PlantedServer
from tests.tiny_release import write_release

from senseprobe import api
from senseprobe.evaluate.served import client
from senseprobe.evaluate.served.address import Address
from senseprobe.evaluate.served.capabilities import CHECKS

CHAT = "/v1/chat/completions"
SENTENCES = {f"{pronoun} is the {job}." for pronoun in ("He", "She") for job in ("engineer", "nurse")}
"""What the release ``tiny@1.0.0`` holds, in two pairs."""


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command line in a project with the release ``tiny@1.0.0``, with an empty cache and without a key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.delenv("SENSEPROBE_API_KEY", raising=False)
    monkeypatch.setattr(client, "FIRST_WAIT", 0.0)
    write_release(tmp_path)
    return typing(monkeypatch, capfd)


@pytest.fixture
def server() -> Iterator[PlantedServer]:
    """A server of the kind of llama.cpp."""
    with PlantedServer(kind="llama.cpp") as started:
        yield started


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers on this machine are taken for servers on others."""
    monkeypatch.setattr(Address, "is_loopback", False)


def sent(server: PlantedServer) -> list[str]:
    """The bodies that hold a sentence of the release, whatever they were sent for."""
    return [str(request.body) for request in server.log if any(text in str(request.body) for text in SENTENCES)]


# --- the probe --------------------------------------------------------------------------------------------------------


def test_probe(typed: Typed, server: PlantedServer) -> None:
    """Each check is listed with what it read, and each scorer with what it lacks; ``openai:`` may stand before."""
    done = typed("model", "check", f"{server.url}#planted")
    assert (done.code, done.err) == (0, "")
    assert all(title in done.out for title in CHECKS.values())
    assert all(scorer in done.out for scorer in ("choice-likely", "text-likely", "nli-chat", "ll-byte"))
    assert f"planted at {server.origin} (llama.cpp" in done.out
    asked = len(server.log)
    told = typed("model", "check", server.spec, "--json").told
    # Keys that programs rely on, written down by hand.
    keys = "origin model answered server build quantisation template slots requests complaints checks noise"
    assert " ".join(told) == f"{keys} fingerprint scorers"
    assert told["requests"] == len(server.log) - asked
    assert [check["id"] for check in told["checks"]] == [*CHECKS]
    assert told["scorers"]["choice-likely"] == {"can": True, "lacking": ""}


def test_probe_of_a_server_that_can_do_nothing(typed: Typed) -> None:
    """What it does not do is printed, and named in the message, with exit code 2."""
    with start(LIARS["empty from the second"]) as server:
        done = typed("model", "check", server.spec)
    assert done.code == 2
    assert "an empty answer" in done.out
    assert done.err.startswith(f"{server.origin} does not fit any scorer: ")
    assert f'the check "{CHECKS["answers"]}" failed' in done.err


def test_the_path_of_a_file_is_cut_to_its_name(typed: Typed) -> None:
    """As llama.cpp lists it."""
    with PlantedServer(kind="llama.cpp", name="/home/someone/models/planted.gguf") as server:
        done = typed("model", "check", server.url)
        told = typed("model", "check", server.url, "--json").told
    assert done.out.startswith("planted.gguf at ")
    assert "/home" not in done.out + str(told)


def test_no_server(typed: Typed) -> None:
    """A port that nobody listens on is exit code 2, in one message that names it."""
    with PlantedServer() as server:
        pass
    for words in (("model", "check", server.spec), ("score", server.spec, "tiny@1.0.0", "--dry-run")):
        done = typed(*words)
        assert done.code == 2
        assert server.origin in done.message


def test_a_run_stops_once_the_model_has_changed(typed: Typed, server: PlantedServer) -> None:
    """The pair that was asked about is finished, with eight questions, and nothing more is asked: exit code 1."""
    typed("model", "check", server.spec)
    change = len(server.prompts()) + 4
    server.log.clear()
    rename(server, change, fingerprint="other")
    done = typed("score", server.spec, "tiny@1.0.0")
    assert change < len(server.prompts()) <= change + 8
    assert done.code == 1
    assert "changed: fp_1 answered first, other later. " in done.err
    assert "No more requests are sent" in done.err


# --- what leaves the machine ------------------------------------------------------------------------------------------


def test_what_is_sent_is_said_before(typed: Typed, server: PlantedServer, tmp_path: Path) -> None:
    """On this machine in a line, with the folder of answers; the scorer of pairs is choice-likely."""
    done = typed("score", server.spec, "tiny@1.0.0")
    assert done.code == 0, done.err
    folder = tmp_path / ".cache" / "senseprobe" / "answers"
    said = f"4 sentences of tiny@1.0.0 go to {server.origin}, on this machine; answers are kept in {folder}"
    assert said in done.err
    assert "scorer=choice-likely|" in done.out
    assert "answers are not kept" in typed("score", server.spec, "tiny@1.0.0", "--no-store").err


@pytest.mark.usefixtures("elsewhere")
def test_what_leaves_the_machine_is_said_before_it_does(server: PlantedServer, tmp_path: Path, typed: Typed) -> None:
    """`say` hears of it while the server was asked nothing at all."""
    heard: list[tuple[str, int]] = []
    api.score(server.spec, "tiny@1.0.0", say=lambda text: heard.append((text, len(server.log))))
    folder = tmp_path / ".cache" / "senseprobe" / "answers"
    first = f"4 sentences of tiny@1.0.0 leave this machine, for {server.origin}; answers are kept in {folder}; delete"
    assert heard[0] == (f"{first} that folder to delete them", 0)


@pytest.mark.usefixtures("elsewhere")
def test_rows_not_for_distribution_go_nowhere(typed: Typed, server: PlantedServer, tmp_path: Path) -> None:
    """A release without a licence is not published (`import_release`), and not sent, unless with --send."""
    pairs = "stereo,anti\nHe is the engineer.,She is the engineer.\nShe is the nurse.,He is the nurse.\n"
    (tmp_path / "pairs.csv").write_text(pairs)
    columns = {"stereo": "stereo", "anti": "anti"}
    api.import_release("csv", ["pairs.csv"], "private", "1.0.0", language="en", columns=columns)
    done = typed("score", server.spec, "private@1.0.0")
    assert done.code == 2
    assert done.message.startswith("private@1.0.0 is not for distribution (no licence was named")
    assert done.message.endswith("nothing was sent; add --send to send its sentences anyway")
    assert server.log == []
    dry = typed("score", server.spec, "private@1.0.0", "--dry-run", "--json")
    assert (dry.code, dry.told["sent"]) == (0, False)
    assert sent(server) == []
    assert typed("score", server.spec, "private@1.0.0", "--send").code == 0
    assert sent(server)


# --- dry runs ---------------------------------------------------------------------------------------------------------


def test_a_dry_run_counts_what_the_run_asks(typed: Typed, server: PlantedServer) -> None:
    """Requests as the server counts them then, but for those of probes; a second run would ask nothing."""
    words = ("score", server.spec, "tiny@1.0.0", "-m", "choice-likely", "-m", "text-likely")
    dry = typed(*words, "--dry-run", "--json").told
    assert not [prompt for prompt in server.prompts() if any(text in prompt for text in SENTENCES)]
    probed = {*server.prompts()}
    # Two pairs with eight questions each; the answers to four of these are their texts, too.
    assert dry["requests"]["choice-likely"] >= 16
    assert dry["requests"]["text-likely"] == 0
    assert (dry["stored"], dry["money"]) == (0, None)
    assert typed(*words).code == 0
    assert dry["asked"] == len([prompt for prompt in server.prompts() if prompt not in probed])
    again = typed(*words, "--dry-run", "--price", "1,2", "--json").told
    assert (again["stored"], again["asked"]) == (dry["asked"], 0)
    assert (again["read"], again["written"], again["money"]) == ([0, 0], [0, 0], [0, 0])


def test_a_dry_run_is_printed(typed: Typed, server: PlantedServer) -> None:
    """A table with what is asked, read, written and paid, and how tokens were counted."""
    done = typed("score", server.spec, "tiny@1.0.0", "--dry-run", "--price", "1,2")
    assert (done.code, done.err) == (0, "")
    lines = ("tiny@1.0.0 by", "requests of choice-likely", "stored answers", "requests to be sent", "tokens read")
    assert all(line in done.out for line in (*lines, "tokens written", "money, by --price", "the server's tokenizer"))
    assert not Path("results").exists()


def test_a_dry_run_of_what_a_server_cannot_do(typed: Typed) -> None:
    """What the server lacks for the scorer is the message, before anything is counted."""
    with PlantedServer(kind="openai") as server:
        done = typed("score", server.spec, "tiny@1.0.0", "-m", "ll", "--dry-run")
        assert sent(server) == []
    assert done.code == 2
    assert "cannot be scored" in done.message


# --- options ----------------------------------------------------------------------------------------------------------


def test_options_of_models_that_are_loaded_here_are_refused(typed: Typed, server: PlantedServer) -> None:
    """All of them in one message, and nothing is asked."""
    words = ("--device", "cpu", "--dtype", "float64", "--batch-tokens", "64", "--revision", "main")
    done = typed("score", server.spec, "tiny@1.0.0", *words)
    assert done.code == 2
    assert f"{server.spec} is behind a server" in done.message
    assert "--revision, --device, --dtype, --batch-tokens" in done.message
    assert "models that are loaded here" in done.message
    assert server.log == []


def test_options_of_served_models_are_refused_elsewhere(typed: Typed) -> None:
    """All of them in one message, before the model is looked for."""
    done = typed("score", "nowhere", "tiny@1.0.0", "--concurrency", "3", "--price", "1,2", "--send")
    assert done.code == 2
    assert "--concurrency, --send, --price" in done.message
    assert "models behind a server, openai:URL#MODEL" in done.message
    assert "there is nothing to estimate" in typed("score", "nowhere", "tiny@1.0.0", "--dry-run").message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--budget", "1"), "a budget needs the price of a million tokens: add --price IN,OUT"),
        (("--budget", "0", "--price", "1,1"), "a budget must be above 0"),
        (("--api-key-env", "sk-live-12345678"), "--api-key-env does not name an environment variable that is set"),
        (("-m", "weat-word"), "weat-word needs vectors"),
        (("-m", "aul"), "the scorer aul needs a masked language model"),
    ],
)
def test_options_that_cannot_be_used(words: tuple[str, ...], message: str, typed: Typed, server: PlantedServer) -> None:
    """One message each, which never repeats what may be a key, and nothing is asked."""
    done = typed("score", server.spec, "tiny@1.0.0", *words)
    assert done.code == 2
    assert message in done.message
    assert "sk-live" not in done.err
    assert server.log == []


@pytest.mark.parametrize("price", ["1", "1,2,3", "a,b", "-1,2", "nan,1", "1,inf"])
def test_a_price_that_is_none(price: str, typed: Typed, server: PlantedServer) -> None:
    done = typed("score", server.spec, "tiny@1.0.0", f"--price={price}")
    assert done.code == 2
    assert "expected two prices" in done.err
    assert server.log == []


def test_a_password_in_an_address_is_refused_and_not_repeated(typed: Typed) -> None:
    for words in (
        ("model", "check", "http://me:hunter2@127.0.0.1/v1"),
        ("score", "openai:http://me:hunter2@h/v1#m", "tiny@1.0.0"),
    ):
        done = typed(*words)
        assert done.code == 2
        assert "hunter2" not in done.message


def test_without_served_extra(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where httpx is not installed, the message names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "httpx", None)
    for words in (
        ("model", "check", "http://127.0.0.1:1/v1"),
        ("score", "openai:http://127.0.0.1:1/v1#m", "tiny@1.0.0"),
    ):
        done = typed(*words)
        assert (done.code, done.message) == (2, "httpx: not installed; run pip install 'senseprobe[served]'")


@pytest.mark.slow
@pytest.mark.usefixtures("typed")
# Takes long: another process.
def test_torch_is_not_needed(server: PlantedServer) -> None:
    """The extra `served` is enough: a whole run loads neither torch nor transformers."""
    program = (
        "import sys; from senseprobe import api;"
        " api.score(sys.argv[1], 'tiny@1.0.0', ('choice-likely', 'll'), say=len);"
        " assert not {'torch', 'transformers'} & {*sys.modules}"
    )
    ran = subprocess.run([sys.executable, "-c", program, server.spec], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_replay_of_another_model_asks_no_row(typed: Typed, server: PlantedServer) -> None:
    """Fixed prompts are compared first: exit code 1, and no sentence is sent; the same model gives the same."""
    assert typed("score", server.spec, "tiny@1.0.0").code == 0
    (path,) = Path("results").rglob("choice-likely.json")
    same = typed("replay", str(path))
    assert same.code == 0, same.out
    before = len(sent(server))
    server.model = PlantedModel(position=1.0)
    other = typed("replay", str(path))
    assert other.code == 1
    assert "fixed prompts" in other.out
    assert len(sent(server)) == before
    loaded = typed("replay", str(path), "--model", "bert")
    assert loaded.message == "a served model and a model loaded here are never the same: nothing was computed"


def test_replay_asks_no_other_machine_for_a_result_alone(
    typed: Typed, server: PlantedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result of somebody else names any address: the key, and the rows, go there only where --model says so."""
    assert typed("score", server.spec, "tiny@1.0.0").code == 0
    (path,) = Path("results").rglob("choice-likely.json")
    monkeypatch.setattr(Address, "is_loopback", False)
    server.log.clear()
    done = typed("replay", str(path))
    assert done.code == 2
    assert done.message.startswith(f"the result names {server.spec}, a server on another machine: ")
    assert server.log == []
    assert typed("replay", str(path), "--model", server.spec).code == 0


def test_inference_is_asked_by_its_own_scorer(typed: Typed, server: PlantedServer) -> None:
    """nli-chat is the scorer of inference; a dry run counts six questions a row."""
    dry = typed("score", server.spec, "nli-control@1.0.1", "--limit", "5", "--dry-run", "--json").told
    assert dry["requests"] == {"nli-chat": 30}
    done = typed("score", server.spec, "nli-control@1.0.1", "--limit", "1", "-m", "choice-likely")
    assert done.code == 2
    assert "choice-likely needs contrast rows" in done.message
