"""Releases as users of the Hugging Face Hub meet them: plain `datasets`, and the card."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from senseprobe import api

# What `license:` of a card may be on the Hub (huggingface.co/docs/hub/repositories-licenses), as far as lists use it.
HUB_LICENSES = {"apache-2.0", "mit", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0"}


@pytest.fixture(scope="module")
def sssb() -> Path:
    """The newest release of sssb, which is as the templates make it."""
    return api.load("sssb@1.1.2").folder


@pytest.fixture(scope="module")
def loaded(sssb: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the plain `datasets` library makes of the release, without a network and with a cache of its own."""
    # In a process of its own: the library reads its settings from the environment once.
    code = """
import datasets, json, sys
folder = sys.argv[1]
names = datasets.get_dataset_config_names(folder)
rows = {name: datasets.load_dataset(folder, name, split="test").to_list() for name in names}
splits = {name: datasets.get_dataset_split_names(folder, name) for name in names}
print(json.dumps({"rows": rows, "splits": splits, "default": datasets.load_dataset(folder)["test"].to_list()}))
"""
    home = str(tmp_path_factory.mktemp("hf"))
    env = {"HF_HUB_OFFLINE": "1", "HF_HOME": home, "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code, str(sssb)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.slow
def test_the_plain_datasets_library_loads_every_config(sssb: Path, loaded: dict[str, Any]) -> None:
    """`load_dataset(folder, config)` gives the rows in order; one split, and the first config by default."""
    order = json.loads((sssb / "release.json").read_bytes())["order"]
    assert list(loaded["rows"]) == order
    for name in order:
        assert loaded["splits"][name] == ["test"]
        assert loaded["rows"][name] == pq.read_table(sssb / name, partitioning=None).to_pylist()
    assert loaded["default"] == loaded["rows"][order[0]]


def test_the_card_is_read_by_the_hub(sssb: Path) -> None:
    """huggingface_hub's own classes read the front matter; its paths are the release's files, its licence is known."""
    import huggingface_hub

    card = huggingface_hub.DatasetCard.load(sssb / "README.md")
    assert isinstance(card.data, huggingface_hub.DatasetCardData)
    data = card.data.to_dict()  # type: ignore[no-untyped-call]
    assert data["license"] in HUB_LICENSES
    assert data["language"] == ["en"]
    assert [entry["config_name"] for entry in data["configs"] if entry.get("default")] == ["nationality"]
    for entry in data["configs"]:
        ((split, pattern),) = [(part["split"], part["path"]) for part in entry["data_files"]]
        assert split == "test"
        assert [path.parent.name for path in sssb.glob(pattern)] == [entry["config_name"]]
    assert len(data["configs"]) == len({path.parent for path in sssb.rglob("*.parquet")})
