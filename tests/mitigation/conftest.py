"""Tiny models that something is removed from."""

from pathlib import Path

import pytest
from tests.conformance import causal_models, masked_models


@pytest.fixture(scope="module")
def parents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny models of all architectures, with tokenizers that have he and she as tokens."""
    import torch

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("parents")
    return {**masked_models.build(folder / "masked"), **causal_models.build(folder / "causal")}
