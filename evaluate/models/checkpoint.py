"""Checkpoints that `transformers` reads: opened with their tokenizers, refused where they cannot be trusted.

Only safetensors are read, unless a pickle is allowed; files are checked before transformers sees them. Whatever they
make transformers raise is a ModelError.
"""

import copy
import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from json import JSONDecodeError
from pathlib import Path
from typing import Any, TypeAlias

import huggingface_hub.utils.logging as hub_logging
import torch
import transformers
from huggingface_hub import hf_hub_download, try_to_load_from_cache
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    StrictDataclassError,
)
from safetensors import SafetensorError
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig
from transformers.utils import logging as transformers_logging

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.models import limits
from senseprobe.evaluate.models.batching import out_of_memory
from senseprobe.evaluate.models.limits import Unloadable
from senseprobe.evaluate.models.packages import packaged_models
from senseprobe.messages import counted, meant
from senseprobe.plugins import without_tokens
from senseprobe.tables import memory_cap, read_json

INDEX = "model.safetensors.index.json"  # says which of several files has which of the weights
WHOLE = "model.safetensors"
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
_CONVERSION = "DISABLE_SAFETENSORS_CONVERSION"

# A model, tokenizer or config of transformers, which ships no types that are of use.
Pretrained: TypeAlias = Any

# What changes what a module computes; `_hf_hook` is that of accelerate.
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_hf_hook")
# Ways to compute attention that PyTorch has itself; others are slow to begin with, or code from the Hub.
_ATTENTION = (None, "eager", "sdpa")


# --- errors ---------------------------------------------------------------------------------------------------------

# Fragments of messages of transformers and huggingface_hub, and what we say; the first that is found counts.
_CLAUSES = (
    ("trust_remote_code", "it needs code of its own, which senseprobe never runs"),
    ("custom code", "it needs code of its own, which senseprobe never runs"),
    ("Unrecognized configuration class", "its architecture ({architecture}) does not have this kind of head"),
    ("does not recognize this architecture", "transformers {version} does not know its architecture"),
    ("Should have a `model_type`", "its config.json does not say what architecture it has"),
    (
        "invalid literal for int()",
        ("it has a word in place of a number; the keys of id2label in config.json must be 0, 1, 2"),
    ),
    ("not a valid JSON file", "its config.json is not valid JSON"),
    ("not a valid git identifier", "this revision does not exist on the Hub"),
    ("gated repo", "it is gated: accept its terms on the Hub, then `hf auth login`"),
    ("not a valid model identifier", "there is no such folder, and no such model on the Hub that you can read"),
    ("Repo id must", "there is no such folder, and the name is not a valid Hub name"),
    ("couldn't connect", "there is no such folder, the Hub cannot be reached, and the model is not in its cache"),
    (
        "offline mode",
        "there is no such folder, the Hub is switched off (HF_HUB_OFFLINE), and the model is not in its cache",
    ),
    ("ignore_mismatched_sizes", "its weights do not have the shapes that its config.json states"),
    ("Weights only load failed", "its pickled weights contain more than tensors, which senseprobe never reads"),
    ("get_input_embeddings", "it does not have an embedding table"),
    (
        "model.safetensors",
        ("it does not have safetensors weights; --allow-pickle reads others, if you trust their source"),
    ),
    ("backend tokenizer", "it does not have a readable tokenizer"),
)
# Errors that made-up files end in; their messages are about code.
_WORDLESS = (LookupError, AttributeError, TypeError, ArithmeticError, AssertionError, NotImplementedError)


@contextmanager
def explained(spec: str, config: Pretrained = None) -> Iterator[None]:
    """Turn whatever damaged or made-up files make transformers raise into a ModelError about the model `spec`."""
    try:
        yield
    except Unloadable as reason:
        raise ModelError(f"cannot load the model {spec}: {reason}") from None
    except SenseprobeError:
        raise
    except Exception as error:
        # A model that can be fetched may be meant.
        is_there = Path(spec).expanduser().exists() or isinstance(error, SafetensorError)
        question = "" if is_there else meant(spec, packaged_models())
        hint = f"; {question}" if question else ""
        raise ModelError(f"cannot load the model {spec}: {_clause(error, config)}{hint}") from error


def _clause(error: Exception, config: Pretrained) -> str:
    """Say why loading failed, without the token of any account."""
    if isinstance(error, SafetensorError):
        return f"its weights are damaged ({error})"
    if out_of_memory(error):
        return "there is not enough memory for it: use a smaller --dtype"
    architecture = getattr(config, "model_type", None) or "unknown"
    for fragment, clause in _CLAUSES:
        if fragment in str(error):
            return clause.format(version=transformers.__version__, architecture=architecture)
    return without_tokens(_shorten_message(error))


def _shorten_message(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    if isinstance(error, StrictDataclassError):  # its first line is a headline
        return f"its config.json is not valid: {lines[-1].strip().partition(': ')[2][:200]}"
    if isinstance(error, JSONDecodeError | UnicodeDecodeError):
        return f"one of its files is not valid JSON ({lines[0]})"
    if isinstance(error, _WORDLESS) or not lines[0]:
        return f"transformers cannot build a model from its files ({type(error).__name__}: {lines[0][:200]})"
    return lines[0][:200].rstrip(". ")


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers, the Hub client and warnings for a while, and keep them from having checkpoints converted.

    A pickled checkpoint would otherwise make transformers send its name, and the user's token, to a public converter.
    """
    bars, conversion = transformers_logging.is_progress_bar_enabled(), os.environ.get(_CONVERSION)
    levels = [(log, log.get_verbosity()) for log in (transformers_logging, hub_logging)]
    transformers_logging.disable_progress_bar()
    for log, _ in levels:
        log.set_verbosity(logging.CRITICAL)
    os.environ[_CONVERSION] = "1"
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        if conversion is None:
            del os.environ[_CONVERSION]
        else:
            os.environ[_CONVERSION] = conversion
        for log, level in levels:
            log.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()


def refuse_encoder_decoder(config: Pretrained) -> None:
    """Raise Unloadable where a model reads a text with an encoder and writes another with a decoder, as T5 and BART."""
    if getattr(config, "is_encoder_decoder", False):
        raise Unloadable("it has an encoder and a decoder: use a model with only one of them")


# --- a checkpoint and its files -------------------------------------------------------------------------------------


def read_config(spec: str) -> Pretrained:
    """Return the config of the model at `spec`, without its weights. Raises ModelError."""
    with explained(spec), quiet():
        location, revision = _location(spec)
        return _config(location, _commit(location, revision) or revision)


def open_checkpoint(
    auto_class: Pretrained,
    spec: str,
    *,
    dtype: torch.dtype,
    allow_pickle: bool,
    unused: tuple[str, ...] = (),
    settings: Mapping[str, object] | None = None,
) -> tuple[Pretrained, Pretrained]:
    """Open the model (evaluation mode, on the CPU) and fast tokenizer at `spec`.

    `spec` is a folder, or ``USER/NAME`` or ``USER/NAME@REVISION`` on the Hub: a branch, a tag or a commit. What it
    stands for is resolved once, so that config, weights and tokenizer are of one commit. Code from the checkpoint never
    runs, nothing is read by unpickling unless `allow_pickle`, and every weight comes from it, but for those whose names
    begin with one of `unused`: the caller runs nothing of them, or trains them. `settings` replace values of its
    config.json. Raises ModelError.
    """
    with explained(spec), quiet():
        location, revision = _location(spec)
        commit = _commit(location, revision)
        revision = commit or revision
        weights = _weight_files(location, revision, allow_pickle=allow_pickle)
        config = _config(location, revision)
        for name, value in (settings or {}).items():
            setattr(config, name, value)
        if path := _file(location, "tokenizer.json", revision):
            limits.check_tokenizer(path)
        options = {"revision": revision, "trust_remote_code": False}
        with explained(spec, config):
            # Pickles on the Hub, which are trusted, bound nothing.
            files = [path for name in weights if (path := _file(location, name, revision))]
            with limits.bounded_by(limits.Weights.of(files)) if files else nullcontext():
                model, info = auto_class.from_pretrained(
                    location,
                    config=config,
                    dtype=dtype,
                    use_safetensors=None if allow_pickle else True,
                    output_loading_info=True,
                    **options,
                )
            tokenizer = AutoTokenizer.from_pretrained(location, **options)
        _refuse_random_weights(info, unused)
        _prepare_tokenizer(tokenizer, model)
    model.config._commit_hash = commit  # for `fingerprint`; transformers' own name for it
    return model.eval(), tokenizer


def open_outline(auto_class: Pretrained, spec: str) -> tuple[Pretrained, Pretrained, tuple[Path, ...]]:
    """Open the model at `spec` without the numbers of its weights, its fast tokenizer, and its files of weights.

    The model is on the device meta: it has names and shapes. What is a pickle, or not there, is refused as by
    `open_checkpoint`. Raises ModelError.
    """
    with explained(spec), quiet():
        location, revision = _location(spec)
        revision = _commit(location, revision) or revision
        names = _weight_files(location, revision, allow_pickle=False)
        files = tuple(path for name in names if (path := _file(location, name, revision)))
        if len(files) < len(names):
            raise Unloadable(f"it does not have safetensors weights ({WHOLE})")
        config = _config(location, revision)
        if path := _file(location, "tokenizer.json", revision):
            limits.check_tokenizer(path)
        with explained(spec, config):
            with limits.bounded_by(limits.Weights.of(files)), torch.device("meta"):
                model = auto_class.from_config(config)
            tokenizer = AutoTokenizer.from_pretrained(location, revision=revision, trust_remote_code=False)
        _prepare_tokenizer(tokenizer, model)
    return model.eval(), tokenizer, files


def open_tokenizer(auto_class: Pretrained, spec: str) -> tuple[Pretrained, Pretrained]:
    """Open the model at `spec` without its weights, on the device meta, and its fast tokenizer.

    No file of weights is read, or has to be there: of a large model these are most of what there is. Raises ModelError.
    """
    with explained(spec), quiet():
        location, revision = _location(spec)
        revision = _commit(location, revision) or revision
        config = _config(location, revision)
        if path := _file(location, "tokenizer.json", revision):
            limits.check_tokenizer(path)
        with explained(spec, config):
            with limits.bounded_by(limits.LARGEST), torch.device("meta"):
                model = auto_class.from_config(config)
            tokenizer = AutoTokenizer.from_pretrained(location, revision=revision, trust_remote_code=False)
        _prepare_tokenizer(tokenizer, model)
    return model.eval(), tokenizer


def _location(spec: str) -> tuple[str, str | None]:
    """Return the folder of a local model; else the name on the Hub, and the revision if one is named."""
    folder = Path(spec).expanduser()
    if not folder.exists() and not spec.startswith((".", "/", "~")):
        name, _, revision = spec.partition("@")
        return name, revision or None
    if not folder.is_dir():
        raise Unloadable("there is no such folder")
    if not (folder / "config.json").is_file():
        raise Unloadable("the folder has no config.json")
    return str(folder), None


def _commit(location: str, revision: str | None) -> str | None:
    """Return the commit of a revision on the Hub (None: the main branch); None for a folder, or where it is unknown."""
    config = None if Path(location).is_dir() else _file(location, "config.json", revision)
    return config.parent.name if config else None


def _file(location: str, name: str, revision: str | None) -> Path | None:
    """Return a file of a model in a folder or on the Hub; None where there is none, not for transformers either."""
    path = Path(location) / name
    if not Path(location).is_dir():
        try:
            path = Path(hf_hub_download(location, name, revision=revision))
        except (OSError, ValueError, RuntimeError, ImportError, LookupError, TypeError, AttributeError, HfHubHTTPError):
            return None
    return path if path.is_file() else None


def find_file(spec: str, name: str) -> Path | None:
    """Return a file that the model at `spec` may have, of the commit that its config is of; None where it has none.

    Raises Unloadable where the Hub cannot be asked: numbers would depend on whether it could.
    """
    location, revision = _location(spec)
    revision = _commit(location, revision) or revision
    if Path(location).is_dir():
        return _file(location, name, revision)
    cached = try_to_load_from_cache(location, name, revision=revision)
    if cached is not None:  # else a path, or a mark that there is no such file
        return Path(cached) if isinstance(cached, str) else None
    try:
        return Path(hf_hub_download(location, name, revision=revision))
    except LocalEntryNotFoundError:
        raise Unloadable(
            f"the Hub cannot be reached to check for {name}, and the cache does not know: load the model once online"
        ) from None
    except EntryNotFoundError:
        return None


def find_optional_file(model: str, name: str, commit: str) -> Path | None:
    """Return a file of a model on the Hub that no number depends on; None without it, or without the Hub."""
    if cached := try_to_load_from_cache(model, name, revision=commit):
        return Path(cached) if isinstance(cached, str) else None
    with quiet():
        return _file(model, name, commit)


def names_chat_template(spec: str) -> bool:
    """Return whether files of the model at `spec` have a chat template; False where they cannot be read."""
    location, revision = _location(spec)
    revision = _commit(location, revision) or revision
    if _file(location, "chat_template.jinja", revision):
        return True
    path = _file(location, "tokenizer_config.json", revision)
    options = limits.read_json(path, limits.MOST_CONFIG_BYTES) if path else None
    return isinstance(options, dict) and bool(options.get("chat_template"))


def _weight_files(location: str, revision: str | None, *, allow_pickle: bool) -> list[str]:
    """Return the files of weights that transformers would take. Unloadable where they are a pickle, or elsewhere."""
    folder, index = Path(location), _file(location, INDEX, revision)
    names = _indexed_files(index) if index else [WHOLE]
    if not folder.is_dir():
        return names
    if (folder / WHOLE).is_file():
        return [WHOLE]
    if index:
        if missing := [name for name in names if not (folder / name).is_file()]:
            raise Unloadable(f"it lacks {missing[0]!r}, which its {INDEX} names")
        return names
    pickled = [name for name in _PICKLED if (folder / name).is_file()]
    if not pickled:
        raise Unloadable(f"the folder has no weights ({WHOLE})")
    if not allow_pickle:
        raise Unloadable(
            f"its only weights ({pickled[0]}) are a pickle, which can run code when it is read; "
            "--allow-pickle reads it, if you trust its source"
        )
    return [path.name for path in folder.glob("*.bin")]


def _indexed_files(path: Path) -> list[str]:
    """Return the files that an index names; transformers reads each by its ending, wherever it is."""
    try:
        index = read_json(path.read_bytes())
        names = {*index["weight_map"].values()} if isinstance(index["metadata"], dict) else set()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        names = set()
    if not names or not all(isinstance(name, str) for name in names):
        raise Unloadable(f"its {INDEX} does not say which files have the weights")
    for name in sorted(names):
        if not name.endswith(".safetensors"):
            raise Unloadable(f"its {INDEX} names {name!r}, which is not a safetensors file")
        if "/" in name or "\\" in name:
            raise Unloadable(f"its {INDEX} names {name!r}, which is outside the folder")
    return sorted(names)


def _config(location: str, revision: str | None) -> Pretrained:
    if path := _file(location, "config.json", revision):
        limits.check_config(path)
    try:
        with memory_cap(limits.CONFIG_MEMORY):
            config = AutoConfig.from_pretrained(location, revision=revision, trust_remote_code=False)
    except MemoryError:
        raise Unloadable("its config.json asks for lists that are too long") from None
    # What it says of how to compute, and of where the weights are, is ours to say.
    for part in (config, *(getattr(config, name, None) for name in config.sub_configs)):
        if isinstance(part, PretrainedConfig):
            part.return_dict, part.chunk_size_feed_forward = True, 0
            if part._attn_implementation not in _ATTENTION:
                part._attn_implementation = None
    if hasattr(config, "transformers_weights"):
        del config.transformers_weights
    return config


def _refuse_random_weights(info: dict[str, Any], unused: tuple[str, ...]) -> None:
    lacking = {*info["missing_keys"], *(key for key, *_ in info["mismatched_keys"])}
    if random := sorted(key for key in lacking if not key.startswith(unused)):
        more = f" and {counted(len(random) - 1, 'other')}" if len(random) > 1 else ""
        raise Unloadable(
            f"its checkpoint lacks {random[0]}{more}, which would get random numbers; it was made for another "
            "kind of head"
        )


def _prepare_tokenizer(tokenizer: Pretrained, model: Pretrained) -> None:
    """Have a text read in one way each time; raise Unloadable where the tokenizer is of no use."""
    # Without tokenizer files transformers makes up a tokenizer that knows the special tokens and nothing else.
    if not tokenizer.is_fast or len(tokenizer) <= len(set(tokenizer.all_special_tokens)):
        raise Unloadable("it does not have a readable tokenizer")
    backend = tokenizer.backend_tokenizer
    limits.check_steps(read_json(backend.to_str()))
    if (added := backend.num_special_tokens_to_add(is_pair=True)) > limits.MOST_ADDED:
        raise Unloadable(f"its tokenizer adds {added} tokens around each text")
    if not isinstance(tokenizer.model_max_length, int | float):
        raise Unloadable("model_max_length in its tokenizer_config.json is not a number")
    largest, size = max(tokenizer.get_vocab().values()), vocabulary(model)
    if largest >= size:
        raise Unloadable(f"its tokenizer has id {largest}, but the model has only {size} tokens")
    # BPE leaves out merges at random where a file says so, as in training. Other kinds have no randomness in files.
    if getattr(backend.model, "dropout", None) is not None:
        backend.model.dropout = None


# --- models in memory -----------------------------------------------------------------------------------------------


def adopt(name: str, model: Pretrained, tokenizer: Pretrained) -> tuple[Pretrained, Pretrained]:
    """Return copies of a model and tokenizer in memory, with parameters of their own over the same weights.

    Raises ModelError where the model has hooks, or its tokenizer is of no use.
    """
    if any(getattr(module, hook, None) for module in model.modules() for hook in _HOOKS):
        raise ModelError(f"cannot use the model {name}: it has hooks, which a hash of its weights cannot show")
    shared: dict[int, object] = {
        id(parameter): torch.nn.Parameter(parameter.detach(), requires_grad=parameter.requires_grad)
        for parameter in model.parameters()
    }
    shared |= {id(buffer): buffer.detach() for buffer in model.buffers()}
    copied, copied_tokenizer = copy.deepcopy(model, shared).eval(), copy.deepcopy(tokenizer)
    copied.config.return_dict, copied.config.chunk_size_feed_forward = True, 0
    with explained(name):
        _prepare_tokenizer(copied_tokenizer, copied)
    return copied, copied_tokenizer


def vocabulary(model: Pretrained) -> int:
    """Return how many tokens a model has a row for."""
    return int(model.get_input_embeddings().weight.shape[0])
