"""Linear layers on a CPU are computed by oneDNN: the same model, the same numbers."""

import hashlib
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.later import base, layers, odd_models, pytorch_utils, torch, transformers

from senseprobe.evaluate import models
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

KINDS = ("bert", "gpt2")


def _ids() -> "torch.Tensor":
    return torch.tensor([[5, 9, 2, 7], [1, 1, 3, 0]])


def _small_bert() -> Any:  # noqa: ANN401 - of transformers, which ships no types that are of use
    return transformers.BertConfig(
        vocab_size=40, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=56
    )


def _model(kind: str) -> Any:  # noqa: ANN401
    torch.manual_seed(0)
    if kind == "bert":
        return transformers.BertForMaskedLM(_small_bert()).eval()
    config = transformers.GPT2Config(vocab_size=40, n_embd=24, n_layer=2, n_head=2)
    return transformers.GPT2LMHeadModel(config).eval()


def _plain_layers(model: "torch.nn.Module") -> int:
    return sum(type(layer) in (torch.nn.Linear, pytorch_utils.Conv1D) for layer in model.modules())


@pytest.mark.parametrize("kind", KINDS)
def test_packed_layers_give_the_numbers_of_the_plain_ones(kind: str) -> None:
    """Held against the model as transformers makes it, which PyTorch computes with another library."""
    model = _model(kind)
    with torch.inference_mode():
        expected = model(_ids()).logits
        layers.pack(model)
        assert _plain_layers(model) == 0, "nothing was packed"
        torch.testing.assert_close(model(_ids()).logits, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_of_a_packed_model_is_bit_for_bit_what_it_was(kind: str) -> None:
    """What names a model in results is a hash of its weights: packing must not change it."""
    model, plain = _model(kind), _model(kind)
    layers.pack(model)
    state = model.state_dict()
    assert {*state} == {*plain.state_dict()}
    assert all(torch.equal(state[name], tensor) for name, tensor in plain.state_dict().items())


def test_a_model_is_known_by_the_same_name_packed_and_not(
    tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that scores which were kept before are found again."""
    packed = models.load(str(tiny_models["bert"]))
    monkeypatch.setattr("senseprobe.evaluate.models.layers._can_pack", lambda _: False)
    plain = models.load(str(tiny_models["bert"]))
    assert _plain_layers(packed._model) == 0 < _plain_layers(plain._model)  # type: ignore[attr-defined]
    assert packed.identity == plain.identity
    units = [Unit("The Norwegian is kind."), Unit("Nobody is.")]
    np.testing.assert_allclose(get("aul").numbers(packed, units), get("aul").numbers(plain, units), atol=1e-5)


def test_a_model_that_does_not_bear_packed_layers_stays_as_it_was() -> None:
    """It would fail at every text otherwise."""
    torch.manual_seed(0)
    model = odd_models.Looking(_small_bert()).eval()
    plain = _plain_layers(model)
    layers.pack(model)
    assert _plain_layers(model) == plain


def test_layers_whose_weights_a_model_reads_stay_plain() -> None:
    """A look at packed weights makes a copy of them, in each pass."""
    torch.manual_seed(0)
    model = odd_models.Reading(_small_bert()).eval()
    expected = model(input_ids=_ids()).logits
    layer = model.bert.encoder.layer[0].output.dense
    layers.pack(model)
    assert model.bert.encoder.layer[0].output.dense is layer
    assert _plain_layers(model) == 1
    torch.testing.assert_close(model(input_ids=_ids()).logits, expected, rtol=0, atol=1e-5)


def test_a_layer_without_inputs_or_outputs_stays_plain() -> None:
    """Beside the others, which are packed."""
    model = _model("bert")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch finds such layers odd, too
        model.nothing = torch.nn.ModuleList([torch.nn.Linear(0, 4), torch.nn.Linear(4, 0), torch.nn.Linear(4, 4)])
    layers.pack(model)
    assert [type(layer) for layer in model.nothing][:2] == [torch.nn.Linear] * 2
    assert _plain_layers(model) == 2


def test_a_layer_that_cannot_be_packed_stays_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory may suffice for some of them only."""
    model, packed = _model("bert"), layers._Packed
    plain = _plain_layers(model)
    made: list[object] = []

    def sometimes(layer: object) -> object:
        if len(made) == 3:
            raise RuntimeError("could not create a memory object")
        made.append(packed(layer))
        return made[-1]

    expected = model(_ids()).logits
    monkeypatch.setattr("senseprobe.evaluate.models.layers._Packed", sometimes)
    layers.pack(model)
    assert _plain_layers(model) == plain - 3
    torch.testing.assert_close(model(_ids()).logits, expected, rtol=0, atol=1e-5)


def test_weights_are_not_held_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a layer is packed, none of those before it has its plain weights left; a tied one is the table's."""
    model = _model("bert")
    weights = [weakref.ref(layer.weight) for layer in model.modules() if type(layer) is torch.nn.Linear]
    table = model.get_input_embeddings().weight
    layers.pack(model)
    assert [weight() is not None for weight in weights] == [weight() is table for weight in weights]
    assert sum(weight() is table for weight in weights) == 1


def test_what_was_tied_is_tied_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that goes back has one table of tokens, not two."""
    monkeypatch.setattr("senseprobe.evaluate.models.layers.agree", lambda *_: False)
    model, plain = _model("bert"), _model("bert")
    layers.pack(model)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    assert {*model.state_dict()} == {*plain.state_dict()}
    assert all(torch.equal(model.state_dict()[name], tensor) for name, tensor in plain.state_dict().items())


def test_the_hash_of_weights_is_made_a_module_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is that of names, formats, shapes and bytes in order of name, and needs no more than a layer's weights."""
    model, plain = _model("gpt2"), _model("gpt2")
    digest = hashlib.sha256()
    for name, tensor in sorted(plain.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode() + tensor.numpy().tobytes())
    layers.pack(model)
    held: list[weakref.ref[torch.Tensor]] = []
    copy = layers._Packed._copy

    def counted(layer: Any) -> "torch.Tensor":  # noqa: ANN401
        made = copy(layer)
        held.append(weakref.ref(made))
        assert sum(each() is not None for each in held) <= 2
        return made

    monkeypatch.setattr(layers._Packed, "_copy", counted)
    assert base._weights_hash(model) == digest.hexdigest()
    assert held


def test_a_model_whose_numbers_would_change_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that computes wrongly on some processor is found out at load."""
    monkeypatch.setattr(layers._Packed, "forward", lambda self, x: 1.1 * (x @ self.weight.t()) + self.bias)
    model = _model("bert")
    plain = _plain_layers(model)
    layers.pack(model)
    assert _plain_layers(model) == plain


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_only_single_precision_is_packed(dtype: str) -> None:
    """Other number formats have fast ways of their own, or none."""
    model = _model("bert").to(getattr(torch, dtype))
    plain = _plain_layers(model)
    layers.pack(model)
    assert _plain_layers(model) == plain


def test_a_layer_that_is_derived_from_a_linear_one_stays() -> None:
    """Its class may compute anything."""
    model = _model("bert")
    own = odd_models.Wrong(24, 24)
    model.bert.pooler = None
    model.bert.encoder.layer[0].attention.output.dense = own
    expected = model(_ids()).logits
    layers.pack(model)
    assert model.bert.encoder.layer[0].attention.output.dense is own
    torch.testing.assert_close(model(_ids()).logits, expected, rtol=0, atol=1e-5)
