"""A projection after every hidden layer of an encoder, as it is loaded: against a loop over its layers by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mitigation.altered import debias

from senseprobe.errors import ModelError
from senseprobe.evaluate import models
from senseprobe.evaluate.mitigation.erasure import Erasure
from senseprobe.evaluate.mitigation.record import read_map
from senseprobe.evaluate.models.encodings import EncodingOptions
from senseprobe.evaluate.units import Unit

TEXT = "she is a nurse and he is not"


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "modernbert"])
def test_all_layers(name: str, parents: dict[str, Path], tmp_path: Path) -> None:
    """Our scorers read hidden states without the direction; transformers alone does not."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = debias(parents[name], tmp_path / "out", layers="all")
    erasure, _ = read_map(folder)
    left, right = (torch.tensor(part, dtype=torch.float32) for part in (erasure.left, erasure.right))
    body = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    inputs = AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")
    with torch.inference_mode():
        plain = body(**inputs, output_hidden_states=True).hidden_states
        assert (plain[-1] @ right).abs().max() > 1e-2

    number = body.config.num_hidden_layers
    for layer in range(1, number + 1):
        model: Any = models.load(
            str(folder), ability="vectors", device="cpu", encoding=EncodingOptions(layer=layer, pooling="mean")
        )
        ((_, vector),) = [answer for answers in model.encode("sent", [Unit(TEXT)]) for answer in answers]
        if layer < number or name != "modernbert":  # which has a norm after its last layer
            assert np.abs(vector @ erasure.right).max() < 1e-4
        if layer == 1:
            states = plain[1] - plain[1] @ right @ left.T
            special = torch.tensor(
                AutoTokenizer.from_pretrained(folder)(TEXT, return_special_tokens_mask=True)["special_tokens_mask"]
            )
            if name != "modernbert":
                np.testing.assert_allclose(vector, states[0][special == 0].mean(0).numpy(), rtol=0, atol=1e-5)


def test_scores_are_those_of_a_loop_over_layers(parents: dict[str, Path], tmp_path: Path) -> None:
    """The log-probability of each token of a masked model, whose layers are run one by one."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    folder = debias(parents["bert"], tmp_path / "out", layers="all")
    erasure, _ = read_map(folder)
    left, right = (torch.tensor(part, dtype=torch.float32) for part in (erasure.left, erasure.right))
    plain = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    inputs = AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")
    with torch.inference_mode():
        states = plain.bert.embeddings(inputs["input_ids"], token_type_ids=torch.zeros_like(inputs["input_ids"]))
        for layer in plain.bert.encoder.layer:
            output = layer(states)
            states = output[0] if isinstance(output, tuple) else output
            states = states - states @ right @ left.T
        expected = plain.cls(states).log_softmax(-1)[0]
    model: Any = models.load(str(folder), device="cpu")
    (encoding,) = model.encode([TEXT])
    positions = encoding.positions
    (values,) = model.log_probabilities([encoding.query(positions, (), model.mask_id)])
    np.testing.assert_allclose(values, [expected[i, encoding.ids[i]] for i in positions], rtol=0, atol=1e-4)


def test_the_record_is_part_of_the_identity(parents: dict[str, Path], tmp_path: Path) -> None:
    """Weights are those of a copy whose input alone is altered, and the numbers are others."""
    folders = [debias(parents["bert"], tmp_path / layers, layers=layers) for layers in ("input", "all")]
    identities = [models.load(str(folder), device="cpu").identity for folder in folders]
    assert identities[0]["weights"] == identities[1]["weights"]
    assert identities[0]["debias"] != identities[1]["debias"]


def test_refusals(parents: dict[str, Path], tmp_path: Path) -> None:
    """Decoders, maps with a mean, factorised embeddings, and what is to be copied again."""
    from senseprobe.evaluate.mitigation.embeddings import open_parent
    from senseprobe.evaluate.mitigation.hidden_layers import check_layers

    def check(name: str, erasure: Erasure | None = None) -> None:
        parent = open_parent(str(parents[name]))
        check_layers(parent, erasure or Erasure.onto(np.eye(parent.dimensions)[:, :1]))

    check("bert")
    with pytest.raises(ModelError, match=r"\(--layers all\): it reads from left to right"):
        check("llama")
    with pytest.raises(ModelError, match=r"its hidden states have 24 numbers, and its embeddings 12"):
        check("albert")
    unit = np.eye(24)[:, :1]
    with pytest.raises(ModelError, match=r"its map has a mean, that of embeddings: use a projection"):
        check("bert", Erasure(unit, unit, np.ones(24)))
    folder = debias(parents["bert"], tmp_path / "out", layers="all")
    with pytest.raises(ModelError, match=r"altered again as it is loaded \(--layers all\): use its parent"):
        open_parent(str(folder))
    with pytest.raises(ModelError, match=r"altered in all layers, which cannot be done as it is loaded here"):
        models.load(str(debias(parents["albert"], tmp_path / "albert", layers="all")), device="cpu")
