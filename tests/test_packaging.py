"""What is installed is what is in the folders, whichever way it is installed, and nothing leaks into other names."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINKED = ("annotation", "evaluate", "generator", "releases", "templates", "wordlists")
# What git ignores, and git's own.
NOT_PROJECT = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "build", "dist", "demo", "results", "*.partial-*"
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project to build in: building leaves `build/` behind, whose stale files later wheels would hold."""
    copy = tmp_path_factory.mktemp("packaging") / "checkout"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=NOT_PROJECT)
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    """The wheel, built from the sdist."""
    out = checkout.parent / "dist"
    _run([sys.executable, "-m", "build", "--outdir", str(out), str(checkout)], checkout.parent)
    (made,) = out.glob("*.whl")
    return made


def _run(command: list[str], cwd: Path) -> str:
    ran = subprocess.run(command, cwd=cwd, env=_plain_environment(), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def _plain_environment() -> dict[str, str]:
    """The environment of somebody who has only just installed senseprobe: no PYTHONPATH that leads to the checkout."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"}  # what runs in the copy shall add no file to it


def _install(what: list[str], place: Path) -> Path:
    """Install into a new environment that borrows its dependencies from ours; the path of its `senseprobe`."""
    _run([sys.executable, "-m", "venv", "--without-pip", str(place / "venv")], place)
    python = str(place / "venv" / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    _run([*pip, *what], place)
    # Only now, so that pip does not take the senseprobe of our own environment for one that is installed already. A
    # .pth file in a folder that a .pth file names is not read, so our editable senseprobe stays out.
    where = sysconfig.get_path("purelib", "venv", {"base": str(place / "venv")})
    (Path(where) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return place / "venv" / "bin" / "senseprobe"


@pytest.mark.slow
def test_the_wheel_holds_the_folders_and_nothing_else(checkout: Path, wheel: Path) -> None:
    """The wheel built through the sdist has every file of the package's folders, its own records, and no other."""
    package = checkout / "src" / "senseprobe"
    # The rglob of Python 3.13 follows links and that of 3.11 does not, so linked folders are walked by themselves.
    spine = {path for path in package.rglob("*") if not {*path.relative_to(package).parts} & {*LINKED}}
    linked = {package / path.relative_to(checkout) for folder in LINKED for path in (checkout / folder).rglob("*")}
    expected = {path.relative_to(package.parent).as_posix() for path in spine | linked if path.is_file()}
    # Rows of large releases that were restored in this checkout are no part of it.
    restored = re.compile(r"senseprobe/releases/nli-(?!control|train).*(\.parquet|/restored\.json)")
    expected = {name for name in expected if not restored.fullmatch(name)}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    shipped = {name for name in names if ".dist-info/" not in name}

    known = {"senseprobe/py.typed", "senseprobe/wordlists/datapackage.yaml", "senseprobe/evaluate/pipeline.py"}
    assert known <= expected
    assert sorted(expected - shipped) == []
    assert sorted(shipped - expected) == []
    assert {name.partition("/")[2] for name in names - shipped} >= {"METADATA", "RECORD", "licenses/LICENSE"}


@pytest.mark.parametrize("folder", LINKED)
def test_folders_are_no_top_level_modules(folder: str) -> None:
    """Neither pytest nor a program in the checkout finds our folders: `evaluate` is the name of a library."""
    ask = f"import importlib.util; print(importlib.util.find_spec({folder!r}))"

    assert importlib.util.find_spec(folder) is None
    assert _run([sys.executable, "-P", "-c", ask], ROOT) == "None\n"


def _ways(checkout: Path, wheel: Path) -> dict[str, list[str]]:
    return {
        "wheel": [str(wheel)],
        "folder": [str(checkout)],
        "editable": ["--editable", str(checkout)],
        "git": [f"git+{ROOT.as_uri()}"],  # as it was last committed
    }


@pytest.mark.slow
@pytest.mark.parametrize("way", ["wheel", "folder", "editable", "git"])
def test_every_way_to_install_gives_a_working_command(way: str, checkout: Path, wheel: Path, tmp_path: Path) -> None:
    """However it was installed, `senseprobe` counts and checks the built-in data from an empty folder."""
    senseprobe = str(_install(_ways(checkout, wheel)[way], tmp_path))
    empty = tmp_path / "empty"
    empty.mkdir()
    home = _run([str(Path(senseprobe).with_name("python")), "-c", "import senseprobe as s; print(s.__file__)"], empty)
    counted = json.loads(_run([senseprobe, "count", "sssb", "--json"], empty))
    rows = {config["config"]: config["rows"] for config in counted["configs"]}

    assert Path(home).is_relative_to(checkout if way == "editable" else tmp_path)
    # Zhou et al. 2022, Table 1: 16 x 12 x 9, 16 x 6 x 6, 12 x 9, 25 x 25.
    assert {"nationality": 1728, "language": 576, "race": 108, "colour": 625}.items() <= rows.items()
    assert _run([senseprobe, "lint"], empty).startswith("0 findings")
