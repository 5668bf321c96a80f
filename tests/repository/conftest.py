"""The programs with which others read this repository, in an environment of their own."""

import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of programs of an environment with pre-commit, cffconvert, nbclient and ours. Needs PyPI."""
    folder = tmp_path_factory.mktemp("tools")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    packages = ["pre-commit==4.7.0", "cffconvert==2.0.0", "nbclient==0.11.0", "ipykernel==7.4.0"]
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    theirs = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    # Named in a line of code, ours comes last, and its own .pth files, as that of an editable senseprobe, are read.
    (Path(theirs) / "ours.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    yield folder / "bin"
    shutil.rmtree(folder, ignore_errors=True)
