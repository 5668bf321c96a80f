"""The gallery, in a file of its own: it takes as long as many others, and `.ci/run` reads it beside them."""

import os
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, Reader


@pytest.mark.system
@pytest.mark.timeout(1800)
def test_the_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All numbers of the page, on three real models from the packages that `.ci/run` has downloaded."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "senseprobe.toml").touch()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", os.environ["SENSEPROBE_TEST_PACKAGES"])
    Reader(system=True).read(DOCS / "gallery.md")
