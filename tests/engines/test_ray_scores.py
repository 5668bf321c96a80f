"""Ray makes the bytes of one process, of scores and of releases, as the lines of docs/running.md say.

Needs Ray, which `.ci/run` installs into an environment of its own.
"""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, blocks_of
from tests.engines.test_worker_scores import COMMAND, KINDS, RELEASES, files_in, models  # noqa: F401 - a fixture

pytestmark = pytest.mark.system

SOURCE = Path(__file__).parents[2] / "src"


def senseprobe(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Type a command in the environment that has Ray; windows have 64 units, and there is one thread."""
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(SOURCE))))
    given = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    command = [os.environ["SENSEPROBE_RAY"], "-P", "-c", COMMAND, *words]
    return subprocess.run(command, cwd=folder, env=os.environ | given, capture_output=True, text=True, check=False)


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("kind", KINDS)
def test_ray_makes_the_bytes_of_one_process(kind: str, models: dict[str, Path], tmp_path: Path) -> None:  # noqa: F811
    words = ["score", str(models[kind]), RELEASES[kind], "-s", *KINDS[kind], "--limit", "200", "--no-store"]
    one = senseprobe(tmp_path, *words, "--out", "one")
    two = senseprobe(tmp_path, *words, "--out", "two", "--engine", "ray", "--workers", "2")

    assert (one.returncode, two.returncode) == (0, 0), one.stderr + two.stderr
    assert two.stdout == one.stdout.replace("one/", "two/")
    assert files_in(tmp_path / "two") == files_in(tmp_path / "one")


@pytest.mark.timeout(1_200)
def test_the_lines_of_the_page(models: dict[str, Path], tmp_path: Path) -> None:  # noqa: F811
    """Those that start Ray here; the last joins a cluster, and says so where there is none."""
    (block,) = (block for block in blocks_of(DOCS / "running.md") if block.reason.startswith("Ray is in"))
    (pip, _), (here, _), (cluster, _) = block.commands
    shutil.copytree(models["masked"], tmp_path / "my-model")

    assert pip == "pip install 'senseprobe[ray]'"
    ran = senseprobe(tmp_path, *shlex.split(here)[1:])
    assert ran.returncode == 0, ran.stderr
    assert [*tmp_path.glob("results/*/my-model/aul.noun-bare.json")]
    refused = senseprobe(tmp_path, *shlex.split(cluster)[1:])
    assert refused.returncode == 2
    assert "no Ray cluster of version" in refused.stderr.splitlines()[-1]


@pytest.mark.timeout(1_200)
def test_ray_builds_restores_and_verifies(tmp_path: Path) -> None:
    """A release of one file a config, by two actors."""
    ray = ["--engine", "ray", "--workers", "2"]
    one = senseprobe(tmp_path, "build", "sssb", "9.0.0", "--out", "one")
    two = senseprobe(tmp_path, "build", "sssb", "9.0.0", "--out", "two", *ray)
    assert (one.returncode, two.returncode) == (0, 0), one.stderr + two.stderr
    assert files_in(tmp_path / "two") == files_in(tmp_path / "one")
    checked = senseprobe(tmp_path, "verify", "two/sssb/9.0.0", *ray)
    assert (checked.returncode, checked.stdout) == (0, "two/sssb/9.0.0: unchanged\n"), checked.stderr
    for path in tmp_path.glob("two/sssb/9.0.0/*/*.parquet"):
        path.unlink()
    restored = senseprobe(tmp_path, "verify", "two/sssb/9.0.0", "--restore", *ray)
    assert restored.returncode == 0, restored.stderr
    made = files_in(tmp_path / "two")
    assert {name: data for name, data in made.items() if not name.endswith("restored.json")} == files_in(
        tmp_path / "one"
    )
