"""What several files of tests score."""

from pathlib import Path

import pytest

from senseprobe.release.release import Release, open_release


@pytest.fixture(scope="session")
def sssb(sssb: Path) -> Release:
    """sssb, built once; nobody writes to it."""
    return open_release(sssb)
