"""`make label-studio`: what a newcomer sees, and that only they can use it."""

import os
import re
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from label_studio_server import start
from tests.annotation.label_studio.studio import ADMIN, ROOT, Studio, Template

pytestmark = pytest.mark.system


def test_a_newcomer_is_told_all(template: Template) -> None:
    """Address, login, how to go on and how to stop; a second call says that it runs, and an interrupt ends it well."""
    (url,) = re.findall(r"Label Studio: (http://127\.0\.0\.1:\d+)\n", template.told)

    assert f"log in as     {ADMIN.email}, password {ADMIN.password}" in template.told
    assert f". {template.folder}/environment" in template.told
    assert "Ctrl-C stops it" in template.told
    assert "was stopped; " in template.told
    assert f"already running: {url}" in template.again
    assert f"log in as     {ADMIN.email}, password {ADMIN.password}" in template.again
    assert f". {template.folder}/environment" in template.again
    assert template.code == 0


def test_the_token_is_in_a_file_of_its_own(template: Template) -> None:
    """It is never printed; the files that hold it are the owner's alone, and git does not see them."""
    settings = template.folder / "environment"

    assert ADMIN.token not in template.told + template.again
    assert f"export LABEL_STUDIO_API_KEY={ADMIN.token}\n" in settings.read_text()
    assert settings.stat().st_mode & 0o777 == 0o600
    assert (template.folder / ".gitignore").read_text() == "*\n"


def test_only_this_machine_is_served(studio: Studio) -> None:
    """The server does not listen to addresses that others can reach."""
    port = int(studio.url.rpartition(":")[2])
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    heard = {line[1] for line in listening if line[3] == "0A" and line[1].endswith(f":{port:04X}")}

    assert heard == {f"0100007F:{port:04X}"}
    six = [line.split()[1] for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    assert not [place for place in six if place.endswith(f":{port:04X}")]


def test_nobody_signs_up_by_themselves(studio: Studio) -> None:
    """A page for signing up is refused without a link of the organisation."""
    with pytest.raises(urllib.error.HTTPError) as told:
        urllib.request.urlopen(f"{studio.url}/user/signup", data=b"email=a@b.org&password=correct-9")  # noqa: S310
    assert told.value.code == 403
    told.value.close()


def test_a_port_that_is_taken(programs: Path, template: Template, tmp_path: Path, studio: Studio) -> None:
    """The next free one is taken, and that is what answers."""
    taken = int(studio.url.rpartition(":")[2])
    data = tmp_path / "data"
    subprocess.run(["cp", "-r", template.folder, data], check=True)
    running = start(programs, data, ADMIN, taken)
    try:
        assert int(running.url.rpartition(":")[2]) > taken
        socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2]))).close()
    finally:
        running.stop()
    assert running.process.poll() is not None


def test_make_starts_it() -> None:
    """`make label-studio` is the command that these tests call."""
    told = subprocess.run(["make", "-n", "label-studio"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "scripts/label_studio_server.py" in told
    assert os.fspath("constraints-label-studio.txt") in told
