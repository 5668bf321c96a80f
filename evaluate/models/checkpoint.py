"""Checkpoints that `transformers` reads: opened with their tokenizers, refused where they cannot be trusted.

Only safetensors are read, unless a pickle is allowed; files are checked before transformers sees them.
"""

import copy
import json
import logging
import os
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import huggingface_hub.utils.logging as hub_logging
import torch
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import HfHubHTTPError
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig
from transformers.utils import logging as transformers_logging

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.errors import explained
from senseprobe.evaluate.models.limits import (
    CONFIG_MEMORY,
    Weights,
    bounded_by,
    check_added,
    check_config,
    check_steps,
    check_tokenizer,
)
from senseprobe.messages import counted
from senseprobe.release.parquet import memory_cap

INDEX = "model.safetensors.index.json"
"""Says which of several files has which of the weights."""
WHOLE = "model.safetensors"
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")


def refuse_other_weights(folder: Path, *, allow_pickle: bool) -> None:
    """Raise ModelError where the weights that transformers would take are not safetensors of this folder."""
    if (folder / WHOLE).is_file():
        return
    if (folder / INDEX).is_file():
        _refuse_missing(folder, refuse_index(str(folder), folder / INDEX))
    else:
        _refuse_pickle(folder, allow_pickle=allow_pickle)


def refuse_index(spec: str, path: Path) -> Collection[str]:
    """Return the files that an index of safetensors names. ModelError where one could be a pickle, or lie elsewhere.

    Transformers reads by its ending what an index names, wherever it is.
    """
    names = _names_in_index(path)
    if not names or not all(isinstance(name, str) for name in names):
        raise ModelError(f"cannot load the model {spec}: its {INDEX} does not say which files have the weights")
    for name in sorted(names):
        if not name.endswith(".safetensors"):
            raise ModelError(f"cannot load the model {spec}: its {INDEX} names {name!r}, which is no safetensors file")
        if "/" in name or "\\" in name:
            raise ModelError(f"cannot load the model {spec}: its {INDEX} names {name!r}, which lies elsewhere")
    return names


def _names_in_index(path: Path) -> set[Any]:
    """Return what an index of safetensors names as files; empty where it is none."""
    try:
        index = json.loads(path.read_bytes())
        return {*index["weight_map"].values()} if isinstance(index["metadata"], dict) else set()
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return set()


def _refuse_missing(folder: Path, names: Collection[str]) -> None:
    if missing := sorted(name for name in names if not (folder / name).is_file()):
        raise ModelError(f"cannot load the model {folder}: it lacks {missing[0]!r}, which its {INDEX} names")


def _refuse_pickle(folder: Path, *, allow_pickle: bool) -> None:
    pickled = [name for name in _PICKLED if (folder / name).is_file()]
    if not pickled:
        raise ModelError(f"cannot load the model {folder}: the folder has no weights ({WHOLE})")
    if not allow_pickle:
        raise ModelError(
            f"cannot load the model {folder}: its only weights ({pickled[0]}) are a pickle, which can run code when it"
            " is read; allow_pickle reads it, if you trust where it is from"
        )


# A model, tokenizer or config of transformers, which ships no types that are of use.
Pretrained: TypeAlias = Any

# What changes what a module computes; `_hf_hook` is that of accelerate.
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_hf_hook")
# Ways to compute attention that PyTorch has itself; others are slow to begin with, or code from the Hub.
_ATTENTION = (None, "eager", "sdpa")


def read_config(spec: str) -> Pretrained:
    """Return the config of the model at `spec`, without its weights. Raises ModelError."""
    location, revision = _location(spec)
    return _config(spec, location, _commit(location, revision) or revision)


def _config(spec: str, location: str, revision: str | None) -> Pretrained:
    with explained(spec), quiet():
        if path := _file(location, "config.json", revision):
            check_config(spec, path)
        try:
            with memory_cap(CONFIG_MEMORY):
                config = AutoConfig.from_pretrained(location, revision=revision, trust_remote_code=False)
        except MemoryError:
            raise ModelError(
                f"cannot load the model {spec}: its config.json asks for lists that are too long"
            ) from None
        return _usual(config)


def _usual(config: Pretrained) -> Pretrained:
    """Remove from a config what it says of how to compute, and of where the weights are: that is ours to say."""
    for part in (config, *(getattr(config, name, None) for name in config.sub_configs)):
        if isinstance(part, PretrainedConfig):
            part.return_dict, part.chunk_size_feed_forward = True, 0
            if part._attn_implementation not in _ATTENTION:
                part._attn_implementation = None
    if hasattr(config, "transformers_weights"):
        del config.transformers_weights
    return config


def open_checkpoint(
    auto_class: Pretrained, spec: str, *, dtype: torch.dtype, allow_pickle: bool
) -> tuple[Pretrained, Pretrained]:
    """Open the model (evaluation mode, on the CPU) and fast tokenizer at `spec`.

    `spec` is a folder, or ``USER/NAME`` or ``USER/NAME@REVISION`` on the Hub: a branch, a tag or a commit. What it
    stands for is resolved once, so that config, weights and tokenizer are of one commit. Code from the checkpoint never
    runs, nothing is read by unpickling unless `allow_pickle`, and every weight comes from it. Raises ModelError.
    """
    location, revision = _location(spec)
    if Path(location).is_dir():
        refuse_other_weights(Path(location), allow_pickle=allow_pickle)
    commit = _commit(location, revision)
    if commit and (index := _from_hub(location, INDEX, commit)):
        refuse_index(spec, index)
    config = _config(spec, location, commit or revision)
    if path := _file(location, "tokenizer.json", commit or revision):
        check_tokenizer(spec, path)
    options = {"revision": commit or revision, "trust_remote_code": False}
    with explained(spec, config), quiet(), _bounded(spec, location, commit or revision):
        model, info = auto_class.from_pretrained(
            location,
            config=config,
            dtype=dtype,
            use_safetensors=None if allow_pickle else True,
            output_loading_info=True,
            **options,
        )
    with explained(spec, config), quiet():
        tokenizer = AutoTokenizer.from_pretrained(location, **options)
    _refuse_random_weights(spec, info)
    _refuse_useless_tokenizer(spec, tokenizer, model)
    _make_deterministic(tokenizer)
    model.config._commit_hash = commit  # for `fingerprint`; transformers' own name for it
    return model.eval(), tokenizer


def adopt(name: str, model: Pretrained, tokenizer: Pretrained) -> tuple[Pretrained, Pretrained]:
    """Return a model and tokenizer that share the weights of those in memory, and can be changed without them.

    Modules and config are copies; parameters are new ones over the same memory. Raises ModelError where the model has
    hooks, which would make its numbers without being part of its weights, or its tokenizer is of no use.
    """
    if any(getattr(module, kind, None) for module in model.modules() for kind in _HOOKS):
        raise ModelError(f"cannot use the model {name}: it has hooks, which no hash of its weights would tell")
    shared: dict[int, object] = {
        id(parameter): torch.nn.Parameter(parameter.detach(), requires_grad=parameter.requires_grad)
        for parameter in model.parameters()
    }
    shared |= {id(buffer): buffer.detach() for buffer in model.buffers()}
    copied, own_tokenizer = copy.deepcopy(model, shared).eval(), copy.deepcopy(tokenizer)
    copied.config.return_dict, copied.config.chunk_size_feed_forward = True, 0
    _refuse_useless_tokenizer(name, own_tokenizer, copied)
    _make_deterministic(own_tokenizer)
    return copied, own_tokenizer


def vocabulary(model: Pretrained) -> int:
    """Return how many tokens a model has a row for."""
    return int(model.get_input_embeddings().weight.shape[0])


def _make_deterministic(tokenizer: Pretrained) -> None:
    """Have a text read in one way each time: BPE leaves out merges at random where a file says so, as in training.

    No other kind of tokenizer has randomness in its files: unigram models can sample, but that is not saved.
    """
    kind = tokenizer.backend_tokenizer.model
    if getattr(kind, "dropout", None) is not None:
        kind.dropout = None


def _commit(location: str, revision: str | None) -> str | None:
    """Return the commit that a revision (None: the main branch) of a model on the Hub stands for; None for a folder.

    None also where the Hub does not say: loading fails then, with the reason.
    """
    if Path(location).is_dir():
        return None
    config = _from_hub(location, "config.json", revision)
    return config.parent.name if config else None


def _from_hub(name: str, file: str, revision: str | None) -> Path | None:
    """Return a file of a model on the Hub; None where it cannot be downloaded, not by transformers either."""
    try:
        with quiet():
            return Path(hf_hub_download(name, file, revision=revision))
    except (OSError, ValueError, RuntimeError, ImportError, LookupError, TypeError, AttributeError, HfHubHTTPError):
        return None


def _file(location: str, name: str, revision: str | None) -> Path | None:
    """Return a file of a model in a folder or on the Hub; None where there is none."""
    path = Path(location) / name if Path(location).is_dir() else _from_hub(location, name, revision)
    return path if path is not None and path.is_file() else None


def _bounded(spec: str, location: str, revision: str | None) -> AbstractContextManager[None]:
    """Bound what is built by the weights of a model; pickles on the Hub, which are trusted, bound nothing."""
    index = _file(location, INDEX, revision)
    names = sorted(refuse_index(spec, index)) if index else [WHOLE]
    files = [path for path in (_file(location, name, revision) for name in names) if path]
    if not files and Path(location).is_dir():
        files = [path for path in Path(location).glob("*.bin") if path.is_file()]
    return bounded_by(spec, Weights.of(files)) if files else nullcontext()


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers, the Hub client and warnings for a while, and keep them from having checkpoints converted.

    A pickled checkpoint would otherwise make transformers send its name, and the user's token, to a public converter.
    """
    bars, talk = transformers_logging.is_progress_bar_enabled(), transformers_logging.get_verbosity()
    hub_talk, conversion = hub_logging.get_verbosity(), os.environ.get("DISABLE_SAFETENSORS_CONVERSION")
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity(logging.CRITICAL)
    hub_logging.set_verbosity(logging.CRITICAL)
    os.environ["DISABLE_SAFETENSORS_CONVERSION"] = "1"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
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


def _location(spec: str) -> tuple[str, str | None]:
    """Return the folder of a local model; else the name on the Hub, and the revision if one is named."""
    folder = Path(spec).expanduser()
    if not folder.exists() and not spec.startswith((".", "/", "~")):
        name, _, revision = spec.partition("@")
        return name, revision or None
    if not folder.is_dir():
        raise ModelError(f"cannot load the model {spec}: there is no such folder")
    if not (folder / "config.json").is_file():
        raise ModelError(f"cannot load the model {spec}: the folder has no config.json")
    return str(folder), None


def _refuse_random_weights(spec: str, info: dict[str, Any]) -> None:
    mismatched = {key for key, *_ in info["mismatched_keys"]}
    if random := sorted(set(info["missing_keys"]) | mismatched):
        more = f" and {counted(len(random) - 1, 'other')}" if len(random) > 1 else ""
        raise ModelError(
            f"cannot load the model {spec}: its checkpoint lacks {random[0]}{more}, which would be filled with random"
            " numbers; it was made for another kind of head"
        )


def _refuse_useless_tokenizer(spec: str, tokenizer: Pretrained, model: Pretrained) -> None:
    # Without tokenizer files transformers makes up a tokenizer that knows the special tokens and nothing else.
    if not tokenizer.is_fast or len(tokenizer) <= len(set(tokenizer.all_special_tokens)):
        raise ModelError(f"cannot load the model {spec}: it has no tokenizer that can be read")
    backend = tokenizer.backend_tokenizer
    check_steps(spec, json.loads(backend.to_str()))
    check_added(spec, backend.num_special_tokens_to_add(is_pair=True))
    if not isinstance(tokenizer.model_max_length, int | float):
        raise ModelError(f"cannot load the model {spec}: model_max_length in its tokenizer_config.json is no number")
    size = vocabulary(model)
    if (largest := max(tokenizer.get_vocab().values())) >= size:
        raise ModelError(
            f"cannot load the model {spec}: its tokenizer has id {largest}, but the model only {size} tokens"
        )


Ids: TypeAlias = tuple[int, ...]


class TextTokens:
    """The tokens of texts. `unknown` is the id of the token for what the tokenizer does not know, None without one."""

    def __init__(self, tokenizer: "Pretrained") -> None:
        self._tokenizer = tokenizer
        self.unknown: int | None = tokenizer.unk_token_id

    def of(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each text's own tokens, in order, neither padded nor cut."""
        if not texts:
            return []
        columns = self._tokenizer(list(texts), add_special_tokens=False, return_attention_mask=False, verbose=False)
        return [tuple(ids) for ids in columns["input_ids"]]

    def spelt(self, ids: Sequence[int]) -> str:
        """Return tokens as the vocabulary spells them: ``<|im_start|>``."""
        return "".join(map(str, self._tokenizer.convert_ids_to_tokens(list(ids))))
