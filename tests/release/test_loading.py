"""Releases as other programs load them: the blocks of docs/loading.md run, and print what stands under them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
DOC = ROOT / "docs" / "loading.md"

BLOCKS = re.findall(r"^```python\n(.*?)^```\n\n^```text\n(.*?)^```$", DOC.read_text(encoding="utf-8"), re.M | re.S)

# In a process of its own: `datasets` reads its settings from the environment once. Names do not go from block to block.
RUN = """
import contextlib, io, json, sys
told = []
for code in json.load(sys.stdin):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    told.append(out.getvalue())
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each block prints, without a network and with a cache of its own."""
    home = str(tmp_path_factory.mktemp("hf"))
    env = {"HF_HUB_OFFLINE": "1", "HF_HOME": home, "PATH": "/usr/bin:/bin", "PYTHONUTF8": "1"}
    codes = json.dumps([code for code, _ in BLOCKS])
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", RUN]
    done = subprocess.run(command, input=codes, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: list[str] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_the_page_shows_every_program() -> None:
    """Each block of code has its output under it, and the programs that the page is about are all there."""
    text = DOC.read_text(encoding="utf-8")
    assert text.count("```python\n") == text.count("```text\n") == len(BLOCKS)
    calls = ["datasets.load_dataset", "streaming=True", "pandas.read_parquet", "polars.scan_parquet", "duckdb.sql"]
    assert [call for call in calls if not any(call in code for code, _ in BLOCKS)] == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_prints_what_the_page_says(printed: list[str], number: int) -> None:
    """Every character of it."""
    assert printed[number] == BLOCKS[number][1]


@pytest.mark.slow
def test_what_the_page_says_is_what_the_release_holds(printed: list[str]) -> None:
    """Pairs by config, counted from the files' own footers."""
    told = dict(re.findall(r"^│ ([\w-]+) +│ \w+ +│ +(\d+) │ +\d+ │$", printed[-1], re.M))
    files = (ROOT / "releases" / "sssb" / "1.0.0").glob("*/*.parquet")
    assert {name: int(rows) for name, rows in told.items()} == {
        path.parent.name: pq.read_metadata(path).num_rows for path in files
    }
