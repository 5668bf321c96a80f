"""Copies of models without directions: the input embeddings alone are others, and they compute what they should.

The oracle is transformers itself, which gets the parent's vectors, projected by hand, as `inputs_embeds`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.conformance import causal_models, masked_models

from senseprobe.evaluate.mitigation.erasure import Erasure

if TYPE_CHECKING:
    from senseprobe.evaluate.mitigation.embeddings import EmbeddingChange

CAUSAL = ("gpt2", "llama", "qwen2", "bloom", "mamba")
MASKED = tuple(masked_models.MODELS)
TEXT = "she is a nurse and he is not"


@pytest.fixture(scope="module")
def parents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny models of all architectures, with tokenizers that have he and she as tokens."""
    import torch

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("parents")
    return {**masked_models.build(folder / "masked"), **causal_models.build(folder / "causal")}


@pytest.fixture
def copied(tmp_path: Path) -> Callable[..., "tuple[Path, EmbeddingChange, Erasure]"]:
    """Makes a copy of a model without what its tokens she and he differ in, and returns what was removed."""

    def copy(parent: Path, **options: Any) -> "tuple[Path, EmbeddingChange, Erasure]":  # noqa: ANN401
        from senseprobe.evaluate.mitigation import embeddings
        from senseprobe.evaluate.mitigation.word_forms import split_words

        opened = embeddings.open_parent(str(parent))
        pairs = split_words(opened.tokens, ["he", "she"], "one").pairs("he", "she").values()
        erasure = Erasure.onto(np.array([opened.vectors([a])[0] - opened.vectors([b])[0] for a, b in pairs]).T)
        with embeddings.copied_without(opened, erasure, tmp_path / "out", **options) as (_, change):
            pass
        return tmp_path / "out", change, erasure

    return copy


def tensors_of(folder: Path) -> dict[str, Any]:
    """All tensors in the files of a folder, by name."""
    from safetensors.torch import load_file

    return {name: tensor for path in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(path).items()}


def run(folder: Path, *, remove: Erasure | None = None) -> Any:  # noqa: ANN401 - a tensor
    """The logits of a model for a text; `remove` is what is removed from what it reads, not from its table."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    kind = AutoModelForMaskedLM if "masked" in str(folder) or "Masked" in json_of(folder)["architectures"][0] else None
    model = (kind or AutoModelForCausalLM).from_pretrained(folder, dtype=torch.float32).eval()
    inputs = AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")
    ids = inputs.pop("input_ids")
    with torch.inference_mode():
        if remove is None:
            return model(input_ids=ids, **inputs).logits
        vectors = model.get_input_embeddings()(ids)
        changed = torch.tensor(remove.apply(vectors[0].numpy()), dtype=torch.float32)
        return model(inputs_embeds=changed[None], **inputs).logits


def json_of(folder: Path) -> dict[str, Any]:
    """The config of a model."""
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return config


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_the_input_alone_is_changed(
    name: str, parents: dict[str, Path], copied: Callable[..., "tuple[Path, EmbeddingChange, Erasure]"]
) -> None:
    """Other tensors are the same bytes, and the copy computes what the parent makes of projected vectors."""
    import torch

    parent = parents[name]
    out, change, erasure = copied(parent)
    before, after = tensors_of(parent), tensors_of(out)
    changed = {key for key in before if not torch.equal(before[key], after[key])}
    assert len(changed) == 1
    assert all(before[key].numpy().tobytes() == after[key].numpy().tobytes() for key in {*before} - changed)
    (key,) = changed
    np.testing.assert_allclose(after[key].double().numpy(), erasure.apply(before[key].numpy()), rtol=0, atol=1e-6)
    assert torch.allclose(run(out), run(parent, remove=erasure), rtol=0, atol=1e-6)
    assert torch.allclose(run(parent), run(parent, remove=None), rtol=0, atol=0)
    assert not torch.allclose(run(out), run(parent), rtol=0, atol=1e-3)

    for key in {*after} - {*before}:  # of a head that has a table of its own now
        assert any(torch.equal(after[key], tensor) for tensor in before.values())
    assert change.head == ("untied" if {*after} - {*before} else "none")
    assert change.left < 1e-6
    restored = after[next(iter(changed))].double().numpy() + change.coordinates @ erasure.left.T
    np.testing.assert_allclose(restored, before[next(iter(changed))].numpy(), rtol=0, atol=1e-6)
    unlike = {path.name for path in parent.iterdir() if path.read_bytes() != (out / path.name).read_bytes()}
    assert unlike == ({"model.safetensors"} | ({"config.json"} if change.head == "untied" else set()))
    differing = {
        key for key in {**json_of(parent), **json_of(out)} if json_of(parent).get(key) != json_of(out).get(key)
    }
    assert differing == ({"tie_word_embeddings"} if change.head == "untied" else set())
