"""What a model is known by: hashes of all that its scores depend on."""

import hashlib
import json
from collections.abc import Iterator
from itertools import groupby

import torch

from senseprobe.evaluate.models.checkpoint import Pretrained
from senseprobe.evaluate.models.placement import longest_input

# What of a config says where and by what it was written, not what the model computes.
_CIRCUMSTANCES = ("_commit_hash", "_name_or_path", "architectures", "dtype", "transformers_version")


def fingerprint(model: Pretrained, tokenizer: Pretrained) -> dict[str, str]:
    """Name what scores depend on: sha256 of the weights, of the config and of the tokenizer, and the number format.

    The weights are hashed as tensors in order of name, so that the file format and the sharding do not matter. What
    came from the Hub has also a ``revision``: the commit, whatever branch or tag was requested.
    """
    config = {key: value for key, value in model.config.to_dict().items() if key not in _CIRCUMSTANCES}
    commit = getattr(model.config, "_commit_hash", None)
    return {
        **({"revision": commit} if commit else {}),
        "weights": _weights_hash(model),
        "config": _json_hash(config),
        "tokenizer": _json_hash([*_tokenizer_parts(tokenizer), longest_input(model, tokenizer)]),
        "dtype": str(model.dtype).removeprefix("torch."),
    }


def _tokenizer_parts(tokenizer: Pretrained) -> Iterator[dict[str, object]]:
    """Yield what a tokenizer consists of, but for padding and cutting; and what it makes of a pair of texts.

    The pair shows what is set outside the tokenizer's own state: whether the model is given segments, and whether the
    names of special tokens are read as such in a text.
    """
    pieces = json.loads(tokenizer.backend_tokenizer.to_str())
    yield {key: value for key, value in pieces.items() if key not in ("padding", "truncation")}
    yield {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    text = " ".join(["a", *tokenizer.all_special_tokens, "b"])
    pair = tokenizer([text], ["a"], return_special_tokens_mask=True, verbose=False)
    yield {name: column for name, column in pair.items() if name != "attention_mask"}


def _weights_hash(model: torch.nn.Module) -> str:
    digest = hashlib.sha256()
    for name, tensor in _state(model):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _state(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield what `state_dict` has, in order of name, one module at a time: packed layers copy their weights for it.

    A module's own names are neighbours in that order, unless modules of its own come between.
    """
    modules = model.named_modules(remove_duplicate=False)
    homes = {name: home for home in modules for name in _own_state(*home)}
    for home, names in groupby(sorted(homes), key=homes.__getitem__):
        own = _own_state(*home)
        yield from ((name, own[name]) for name in names)


def _own_state(prefix: str, module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return names and values of what is the module's own, not that of modules in it."""
    own: dict[str, torch.Tensor] = {}
    module._save_to_state_dict(own, f"{prefix}." if prefix else "", keep_vars=False)
    return own


def _json_hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
