"""Models of transformers in memory: the same numbers and hashes as from their folders, and nothing changed in them."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import senseprobe
from senseprobe import ModelError, SenseprobeError

if TYPE_CHECKING:
    import torch


RELEASE = Path(__file__).parents[2] / "releases" / "sssb" / "1.0.1"


@pytest.fixture(scope="module")
def folders(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A masked and a causal model, the second with the tokenizer of the tiny RoBERTa."""
    import torch
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    folder = tmp_path_factory.mktemp("memory") / "gpt"
    tokenizer = AutoTokenizer.from_pretrained(tiny_models["roberta"])
    with torch.random.fork_rng():
        torch.manual_seed(1)
        GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=2)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return {"bert": tiny_models["bert"], "gpt": folder}


def opened(folder: Path) -> tuple[Any, Any]:
    """A model as its user has it: in training mode, with gradients."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer, GPT2LMHeadModel

    kind = GPT2LMHeadModel if folder.name == "gpt" else AutoModelForMaskedLM
    return kind.from_pretrained(folder).train(), AutoTokenizer.from_pretrained(folder)


def score(model: Any, **how: Any) -> senseprobe.Result:  # noqa: ANN401 - a model in memory, or a folder
    (result,) = senseprobe.score(model, RELEASE, config="noun-bare", store=False, **how)
    return result


@pytest.mark.parametrize("family", ["bert", "gpt"])
def test_numbers_and_hashes_are_those_of_the_folder(folders: dict[str, Path], family: str) -> None:
    """One signature, so that stored answers are shared, and the same scores."""
    model, tokenizer = opened(folders[family])
    named = senseprobe.model(model, tokenizer=tokenizer, name=str(folders[family]))
    here, there = score(named), score(str(folders[family]))

    assert here.signature == there.signature
    assert here.rows is not None
    assert there.rows is not None
    assert here.rows.equals(there.rows)
    assert here.as_dict() == there.as_dict()


@pytest.mark.parametrize("family", ["bert", "gpt"])
def test_the_model_stays_as_it_is(folders: dict[str, Path], family: str) -> None:
    """Weights where they were and what they were, mode, gradients, device, config, modules and hooks."""
    import torch

    model, tokenizer = opened(folders[family])
    weights = {name: (value.data_ptr(), value.clone()) for name, value in model.state_dict().items()}
    modules, config = [*model.modules()], copy.deepcopy(model.config.to_dict())
    learns = [parameter.requires_grad for parameter in model.parameters()]
    text = copy.deepcopy(tokenizer.backend_tokenizer.to_str())

    score(senseprobe.model(model, tokenizer=tokenizer))

    after = model.state_dict()
    assert {name: value.data_ptr() for name, value in after.items()} == {name: at for name, (at, _) in weights.items()}
    assert all(torch.equal(after[name], value) for name, (_, value) in weights.items())
    assert model.training
    assert [parameter.requires_grad for parameter in model.parameters()] == learns
    assert all(one is other for one, other in zip(model.modules(), modules, strict=True))
    assert model.config.to_dict() == config
    assert not [*hooks(model)]
    assert tokenizer.backend_tokenizer.to_str() == text


def hooks(model: "torch.nn.Module") -> Iterator[object]:
    """Everything that is called around the forward pass of a module."""
    for module in model.modules():
        yield from module._forward_hooks.values()
        yield from module._forward_pre_hooks.values()


def test_its_number_format_is_its_own(folders: dict[str, Path]) -> None:
    """A model in bfloat16 is scored so, and its result says it; it stays in bfloat16."""
    import torch

    model, tokenizer = opened(folders["bert"])
    result = score(senseprobe.model(model.to(torch.bfloat16), tokenizer=tokenizer))

    assert result.model["dtype"] == "bfloat16"
    assert result.coarse is not None
    assert model.dtype == torch.bfloat16


def test_what_cannot_be_named_is_refused(folders: dict[str, Path]) -> None:
    """Hooks change numbers and no hash; a tokenizer belongs to a model in memory, and to no folder."""
    model, tokenizer = opened(folders["bert"])

    with pytest.raises(SenseprobeError, match="needs its tokenizer"):
        score(model)
    with pytest.raises(SenseprobeError, match="leave them out if you name a folder"):
        senseprobe.model(str(folders["bert"]), tokenizer=tokenizer)
    with pytest.raises(SenseprobeError, match="for models that senseprobe loads"):
        senseprobe.model(model, tokenizer=tokenizer, device="cpu")
    with pytest.raises(ModelError, match=r"cannot tell what kind of model .* is: its class is BertModel"):
        score(senseprobe.model(model.bert, tokenizer=tokenizer))
    model.register_forward_hook(lambda *_: None)
    with pytest.raises(ModelError, match="it has hooks"):
        score(senseprobe.model(model, tokenizer=tokenizer))
