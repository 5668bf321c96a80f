"""The store of answers: what was kept is found by whoever asks the same model the same, and kept from all others."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples
from tests.served.raw_server import RawServer, http, later

from senseprobe.evaluate.served.address import ServingOptions, parse
from senseprobe.evaluate.served.answer_store import AnswerStore
from senseprobe.evaluate.served.client import Client

URL, BODY = "http://127.0.0.1:1/v1/chat/completions", b'{"model":"m"}'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=examples(30))
@given(JSON.filter(lambda value: value is not None))
def test_what_was_kept_is_found(tmp_path_factory: pytest.TempPathFactory, answer: Any) -> None:  # noqa: ANN401
    """Every value of JSON comes back, from a store that is opened again."""
    folder = tmp_path_factory.mktemp("answers")
    with AnswerStore(folder, "a", pytest.fail) as store:
        key = store.key(URL, "m", BODY)
        assert store.get(key) is None
        store.add(key, answer)
    with AnswerStore(folder, "a", pytest.fail) as store:
        assert store.get(key) == answer


def test_the_key_has_all_that_is_asked(tmp_path: Path) -> None:
    """Another URL, model, body or identity is another request; so is the same text cut in another place."""
    with AnswerStore(tmp_path, "a") as one, AnswerStore(tmp_path, "b") as two:
        keys = [one.key(URL, "m", BODY), one.key(f"{URL}/", "m", BODY), one.key(URL, "n", BODY)]
        keys += [one.key(URL, "m", BODY + b" "), two.key(URL, "m", BODY), one.key(f"{URL}m", "", BODY)]
        assert len({*keys}) == len(keys)
        assert one.key(URL, "m", BODY) == keys[0]
        one.add(keys[0], 1)
        assert two.get(keys[0]) is None
        assert one.path != two.path


def test_only_the_user_may_read_it(tmp_path: Path) -> None:
    """The file, and SQLite's own beside it, are the user's alone; no prompt is in them."""
    with AnswerStore(tmp_path, "a") as store:
        store.add(store.key(URL, "m", b"a prompt"), "an answer")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert len(modes) == 3  # with the write-ahead log and its index
        assert {*modes.values()} == {0o600}
        assert b"a prompt" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == [store.path]


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a folder answers are in the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with AnswerStore(None, "a", pytest.fail) as store:
        assert store.path.parent == tmp_path / "senseprobe" / "answers"


def test_a_damaged_row_is_asked_for_again(tmp_path: Path) -> None:
    """One answer of which a bit has changed is not believed, and the next one takes its place; all others stay."""
    with AnswerStore(tmp_path, "a", pytest.fail) as store:
        keys = [store.key(URL, "m", bytes([number])) for number in range(3)]
        for key in keys:
            store.add(key, "answer")
    with sqlite3.connect(store.path) as db:
        (packed,) = db.execute("SELECT answer FROM answers WHERE request = ?", (keys[1],)).fetchone()
        db.execute("UPDATE answers SET answer = ? WHERE request = ?", (bytes([packed[0] ^ 1]) + packed[1:], keys[1]))
    db.close()
    with AnswerStore(tmp_path, "a", pytest.fail) as store:
        assert [store.get(key) for key in keys] == ["answer", None, "answer"]
        store.add(keys[1], "again")
        assert [store.get(key) for key in keys] == ["answer", "again", "answer"]


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100])
def test_a_damaged_file_is_put_aside(tmp_path: Path, damage: bytes) -> None:
    """What is no store gets another name, which is said, and a new one begins; an empty file is a new store."""
    with AnswerStore(tmp_path, "a", pytest.fail) as store:
        key = store.key(URL, "m", BODY)
        store.add(key, 1)
    store.path.write_bytes(damage)
    warnings: list[str] = []
    with AnswerStore(tmp_path, "a", warnings.append) as store:
        assert store.get(key) is None
        store.add(key, 2)
        assert store.get(key) == 2
    aside = [path.read_bytes() for path in tmp_path.glob("*.aside-*")]
    assert aside == ([damage] if damage else [])
    assert [str(store.path) in text and "aside-1" in text for text in warnings] == [True] * len(aside)


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    """The run goes on, and it is said once that nothing is kept."""
    (tmp_path / "file").touch()
    warnings: list[str] = []
    with AnswerStore(tmp_path / "file" / "answers", "a", warnings.append) as store:
        store.add(store.key(URL, "m", BODY), 1)
        assert store.get(store.key(URL, "m", BODY)) is None
    assert len(warnings) == 1
    assert "answers cannot be stored" in warnings[0]


def test_threads_share_it(tmp_path: Path) -> None:
    """What eight threads keep at the same time is all there."""
    with AnswerStore(tmp_path, "a", pytest.fail) as store:

        def keep(thread: int) -> None:
            for number in range(25):
                store.add(store.key(URL, "m", f"{thread} {number}".encode()), [thread, number])

        threads = [threading.Thread(target=keep, args=(thread,)) for thread in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [store.get(store.key(URL, "m", f"{a} {b}".encode())) for a in range(8) for b in range(25)]
    assert found == [[a, b] for a in range(8) for b in range(25)]


RUN = """
import sys
from pathlib import Path
from senseprobe.evaluate.served.address import ServingOptions, parse
from senseprobe.evaluate.served.answer_store import AnswerStore
from senseprobe.evaluate.served.client import Client

with AnswerStore(Path(sys.argv[2]), "a") as store:
    with Client(parse(sys.argv[1]), ServingOptions(concurrency=3), store=store) as client:
        client.map("/v1/chat/completions", [{"number": number} for number in range(200)])
"""


# Takes long: another process, and 200 requests of 20 ms.
def test_kill_9_loses_no_answer(tmp_path: Path) -> None:
    """A run that is killed while it asks loses at most what was on its way: the next one asks only what is missing.

    The server counts: each request is answered once, but for three at most that were in flight.
    """
    with RawServer(lambda request: later(0.02, http())) as server:
        command = [sys.executable, "-c", RUN, f"openai:{server.origin}/v1#m", str(tmp_path)]
        with subprocess.Popen(command, env=os.environ) as process:
            while not server.requests:
                time.sleep(0.01)
            time.sleep(0.4)
            process.kill()
        assert process.returncode == -9
        before = len(server.requests)
        assert 0 < before < 200
        bodies = [{"number": number} for number in range(200)]
        with (
            AnswerStore(tmp_path, "a") as store,
            Client(parse(f"openai:{server.origin}/v1#m"), ServingOptions(concurrency=3), store=store) as client,
        ):
            client.map("/v1/chat/completions", bodies)
        assert len(server.requests) - before == client.requests
        numbers = [request.body["number"] for request in server.requests]
    assert {*numbers} == {*range(200)}
    assert 200 <= len(numbers) <= 203
