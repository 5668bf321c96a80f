"""A release that several of these tests look at: three configs of sssb, which have 3 of its 165 frames."""

import re
import shutil
from pathlib import Path

import pytest

from senseprobe import api

SSSB = Path(__file__).parents[2] / "templates" / "sssb"
FEW = ("race", "language", "noun")


@pytest.fixture(scope="session")
def small_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose sssb has few configs: 108 rows of race, 576 of language, 186 of noun. Not to be changed."""
    project = tmp_path_factory.mktemp("project")
    (project / "senseprobe.toml").touch()
    folder = project / "templates" / "sssb"
    folder.mkdir(parents=True)
    for name in FEW:
        shutil.copy(SSSB / f"{name}.j2", folder)
    text = (SSSB / "dataset.yaml").read_text(encoding="utf-8")
    text = re.sub(r"contrasts:\n(  .*\n)*configs: .*", f"configs: [{', '.join(FEW)}]", text)
    (folder / "dataset.yaml").write_text(text, encoding="utf-8")
    return project


@pytest.fixture(scope="session")
def small(small_project: Path) -> Path:
    """Its release sssb@1.0.0; tests that change it take a copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(small_project)
        return api.build("sssb", "1.0.0").folder
