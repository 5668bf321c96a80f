"""The platform's client, from the environment that its server has: in ours it would force numpy down."""

from pathlib import Path

import pytest

from senseprobe.annotation.label_studio.local_server import install

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def label_studio_sdk() -> Path:
    """The Python of an environment with the client of Label Studio, which is made where it is not there. Needs PyPI."""
    return install(ROOT / ".venv-label-studio", ROOT / "constraints-label-studio.txt") / "python"
