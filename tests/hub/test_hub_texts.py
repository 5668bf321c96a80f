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
from senseprobe.evaluate.texts.text_files import read_documents
told = []
for source, column in json.loads(sys.argv[1]):
    try:
        told.append([document.text for document in read_documents([source], column)])
    except SenseprobeError as error:
        told.append(str(error))
print(json.dumps(told))
"""


@pytest.mark.slow
def test_a_dataset_of_the_hub_is_streamed(hub: Hub, project: Path, tmp_path: Path) -> None:
    """The rows of a published release, by column; a wrong column and a wrong split are said."""
    api.publish("example@0.1.0", REPO)
    expected = api.load(project / "releases" / "example" / "0.1.0").table("hobbies", spans=False)["stereo"].tolist()

    # In a process of its own, as the library reads its settings from the environment once.
    sources = [
        (f"hf://datasets/{REPO}@v0.1.0:hobbies/test", "stereo"),
        (f"{REPO}:hobbies", "stereo"),  # its only split
        (f"{REPO}:hobbies", None),
        (f"{REPO}:hobbies/valid", "stereo"),
    ]
    command = [sys.executable, "-c", READ, json.dumps(sources)]
    env = environment(hub, tmp_path / "home")
    ran = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    tagged, alone, unnamed, missing = json.loads(ran.stdout)
    assert tagged == alone == expected
    assert "choose one with --column: there is" in unnamed
    assert "cannot be read from the Hub" in missing
    assert hub.seen("resolve")
