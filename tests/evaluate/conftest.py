"""What several files of tests score."""

import pytest

import senseprobe
from senseprobe.release.release import Release


@pytest.fixture(scope="session")
def sssb(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """sssb, built once; nobody writes to it."""
    return senseprobe.build("sssb", "1.0.0", out=tmp_path_factory.mktemp("releases"))
