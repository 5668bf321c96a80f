"""Opens the checkpoints that `transformers` reads, refuses those that cannot be trusted, and fingerprints them."""

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import huggingface_hub.utils.logging as hub_logging
import torch
import transformers
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import HfHubHTTPError
from safetensors import SafetensorError
from transformers import AutoConfig, AutoTokenizer
from transformers.utils import logging as transformers_logging

from senseprobe.errors import ModelError

__all__ = ["Pretrained", "fingerprint", "open_checkpoint", "quiet", "read_config"]

# A model, tokenizer or config of transformers, which ships no types that are of use.
Pretrained: TypeAlias = Any

_SAFE = ("model.safetensors", "model.safetensors.index.json")
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
# What a damaged or foreign checkpoint makes transformers raise.
_FAILURES = (OSError, ValueError, RuntimeError, ImportError, LookupError, TypeError, AttributeError, SafetensorError)
# What of a config says where and by what it was written, not what the model computes.
_CIRCUMSTANCES = ("_commit_hash", "_name_or_path", "architectures", "dtype", "transformers_version")
# Fragments of messages of transformers and huggingface_hub, and what we say; the first that is found counts.
_CLAUSES = (
    ("trust_remote_code", "it needs code of its own, which senseprobe never runs"),
    ("custom code", "it needs code of its own, which senseprobe never runs"),
    ("Unrecognized configuration class", "its architecture ({architecture}) has no such head"),
    ("does not recognize this architecture", "transformers {version} does not know its architecture"),
    ("Should have a `model_type`", "its config.json does not say what architecture it has"),
    ("not a valid JSON file", "its config.json is not valid JSON"),
    ("not a valid git identifier", "it has no such revision on the Hub"),
    ("gated repo", "it is gated: accept its terms on the Hub, then `hf auth login`"),
    ("not a valid model identifier", "there is no such folder, nor such a model on the Hub that you may read"),
    ("Repo id must", "there is no such folder, and it is not a name that the Hub could have"),
    ("couldn't connect", "the Hub cannot be reached, and the model is not in its cache"),
    ("offline mode", "the Hub is switched off (HF_HUB_OFFLINE), and the model is not in its cache"),
    ("model.safetensors", "it has no safetensors weights; allow_pickle reads others, if you trust where they are from"),
    ("backend tokenizer", "it has no tokenizer that can be read"),
)


def read_config(spec: str) -> Pretrained:
    """The config of the model at `spec`, without its weights. Raises ModelError."""
    place, revision = _place(spec)
    return _config(spec, place, _commit(place, revision) or revision)


def _config(spec: str, place: str, revision: str | None) -> Pretrained:
    try:
        with quiet():
            return AutoConfig.from_pretrained(place, revision=revision, trust_remote_code=False)
    except _FAILURES as error:
        raise ModelError(f"cannot load the model {spec}: {_clause(error, None)}") from error


def open_checkpoint(
    auto_class: Pretrained, spec: str, *, dtype: torch.dtype, allow_pickle: bool
) -> tuple[Pretrained, Pretrained]:
    """Open the model (evaluation mode, on the CPU) and fast tokenizer at `spec`.

    `spec` is a folder, or ``USER/NAME`` or ``USER/NAME@REVISION`` on the Hub: a branch, a tag or a commit. What it
    stands for is asked once, so that config, weights and tokenizer are of one commit. Code from the checkpoint never
    runs, nothing is read by unpickling unless `allow_pickle`, and every weight comes from it. Raises ModelError.
    """
    place, revision = _place(spec)
    _refuse_other_weights(place, allow_pickle=allow_pickle)
    commit = _commit(place, revision)
    config = _config(spec, place, commit or revision)
    at = {"revision": commit or revision, "trust_remote_code": False}
    try:
        with quiet():
            model, info = auto_class.from_pretrained(
                place,
                config=config,
                dtype=dtype,
                use_safetensors=None if allow_pickle else True,
                output_loading_info=True,
                **at,
            )
            tokenizer = AutoTokenizer.from_pretrained(place, **at)
    except _FAILURES as error:
        raise ModelError(f"cannot load the model {spec}: {_clause(error, config)}") from error
    _refuse_random_weights(spec, info)
    _refuse_useless_tokenizer(spec, tokenizer, model)
    model.config._commit_hash = commit  # for `fingerprint`; transformers' own name for it
    return model.eval(), tokenizer


def _commit(place: str, revision: str | None) -> str | None:
    """The commit that a revision (None: the main branch) of a model on the Hub stands for; None for a folder.

    None also where the Hub does not say: loading fails then, and tells why.
    """
    if Path(place).is_dir():
        return None
    try:
        with quiet():
            return Path(hf_hub_download(place, "config.json", revision=revision)).parent.name
    except (*_FAILURES, HfHubHTTPError):
        return None


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers and the Hub client for a while, and keep them from having checkpoints converted.

    A pickled checkpoint would otherwise make transformers send its name, and the user's token, to a public converter.
    """
    bars, talk = transformers_logging.is_progress_bar_enabled(), transformers_logging.get_verbosity()
    hub_talk, conversion = hub_logging.get_verbosity(), os.environ.get("DISABLE_SAFETENSORS_CONVERSION")
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity(logging.CRITICAL)
    hub_logging.set_verbosity(logging.CRITICAL)
    os.environ["DISABLE_SAFETENSORS_CONVERSION"] = "1"
    try:
        yield
    finally:
        if conversion is None:
            del os.environ["DISABLE_SAFETENSORS_CONVERSION"]
        else:
            os.environ["DISABLE_SAFETENSORS_CONVERSION"] = conversion
        hub_logging.set_verbosity(hub_talk)
        transformers_logging.set_verbosity(talk)
        if bars:
            transformers_logging.enable_progress_bar()


def fingerprint(model: Pretrained, tokenizer: Pretrained) -> dict[str, str]:
    """Name what scores depend on: sha256 of the weights, of the config and of the tokenizer, and the number format.

    The weights are hashed as tensors in order of name, so that the file format and the sharding do not matter. What
    came from the Hub has also a ``revision``: the commit, whatever branch or tag was asked for.
    """
    config = {key: value for key, value in model.config.to_dict().items() if key not in _CIRCUMSTANCES}
    pieces = json.loads(tokenizer.backend_tokenizer.to_str())
    state = {key: value for key, value in pieces.items() if key not in ("padding", "truncation")}
    named = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    commit = getattr(model.config, "_commit_hash", None)
    return {
        **({"revision": commit} if commit else {}),
        "weights": _weights_hash(model.state_dict()),
        "config": _json_hash(config),
        "tokenizer": _json_hash([state, named]),
        "dtype": str(model.dtype).removeprefix("torch."),
    }


def _weights_hash(state: dict[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(state.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _json_hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _place(spec: str) -> tuple[str, str | None]:
    """The folder of a local model; else the name on the Hub, and the revision if one is named."""
    folder = Path(spec).expanduser()
    if not folder.exists() and not spec.startswith((".", "/", "~")):
        name, _, revision = spec.partition("@")
        return name, revision or None
    if not folder.is_dir():
        raise ModelError(f"cannot load the model {spec}: there is no such folder")
    if not (folder / "config.json").is_file():
        raise ModelError(f"cannot load the model {spec}: the folder has no config.json")
    return str(folder), None


def _refuse_other_weights(place: str, *, allow_pickle: bool) -> None:
    """Look at the files of a folder before they are read; what the Hub has is its client's to tell."""
    folder = Path(place)
    if folder.is_dir() and not any((folder / name).is_file() for name in _SAFE):
        _refuse_pickle(folder, allow_pickle=allow_pickle)


def _refuse_pickle(folder: Path, *, allow_pickle: bool) -> None:
    pickled = [name for name in _PICKLED if (folder / name).is_file()]
    if not pickled:
        raise ModelError(f"cannot load the model {folder}: the folder has no weights (model.safetensors)")
    if not allow_pickle:
        raise ModelError(
            f"cannot load the model {folder}: its only weights ({pickled[0]}) are a pickle, which can run code when it"
            " is read; allow_pickle reads it, if you trust where it is from"
        )


def _refuse_random_weights(spec: str, info: dict[str, Any]) -> None:
    wrong_shape = {key for key, *_ in info["mismatched_keys"]}
    if random := sorted(set(info["missing_keys"]) | wrong_shape):
        more = f" and {len(random) - 1} others" if len(random) > 1 else ""
        raise ModelError(
            f"cannot load the model {spec}: its checkpoint lacks {random[0]}{more}, which would be filled with random"
            " numbers; it was made for another kind of head"
        )


def _refuse_useless_tokenizer(spec: str, tokenizer: Pretrained, model: Pretrained) -> None:
    # Without tokenizer files transformers makes up a tokenizer that knows the special tokens and nothing else.
    if not tokenizer.is_fast or len(tokenizer) <= len(set(tokenizer.all_special_tokens)):
        raise ModelError(f"cannot load the model {spec}: it has no tokenizer that can be read")
    size = model.get_input_embeddings().num_embeddings
    if (largest := max(tokenizer.get_vocab().values())) >= size:
        raise ModelError(
            f"cannot load the model {spec}: its tokenizer has id {largest}, but the model only {size} tokens"
        )


def _clause(error: BaseException, config: Pretrained) -> str:
    """Say why loading failed, without the token of any account."""
    if isinstance(error, SafetensorError):
        return f"its weights are damaged ({error})"
    architecture = getattr(config, "model_type", None) or "unknown"
    for fragment, clause in _CLAUSES:
        if fragment in str(error):
            return clause.format(version=transformers.__version__, architecture=architecture)
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return re.sub(r"hf_\w+", "hf_…", first)[:200].rstrip(". ")
