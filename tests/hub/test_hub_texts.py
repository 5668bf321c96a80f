"""Texts of a dataset of the Hub, streamed by `datasets` from a server that speaks its protocol."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hub.client import REPO, environment
from tests.hub.server import Hub

from senseprobe import api

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

READ = """
import json, sys
from senseprobe.errors import SenseprobeError
from senseprobe.evaluate.text_files import read_documents
try:
    print(json.dumps([document.text for document in read_documents([sys.argv[1]], sys.argv[2] or None)]))
except SenseprobeError as error:
    print(json.dumps(str(error)))
"""


def test_a_dataset_of_the_hub_is_streamed(hub: Hub, project: Path, tmp_path: Path) -> None:
    """The rows of a published release, by column; a wrong column and a wrong split are said."""
    api.publish("example@0.1.0", REPO)
    expected = api.load(project / "releases" / "example" / "0.1.0").table("hobbies", spans=False)["stereo"].tolist()

    def read(source: str, column: str) -> object:
        command = [sys.executable, "-c", READ, source, column]
        env = environment(hub, tmp_path / "home")
        ran = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    assert read(f"hf://datasets/{REPO}@v0.1.0:hobbies/test", "stereo") == expected
    assert read(f"{REPO}:hobbies", "stereo") == expected  # its only split
    assert "name one with --column: there is" in str(read(f"{REPO}:hobbies", ""))
    assert "cannot be read from the Hub" in str(read(f"{REPO}:hobbies/valid", "stereo"))
    assert hub.seen("resolve")
