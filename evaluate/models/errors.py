"""Why a model could not be loaded, in one clause: whatever its files make transformers raise is a ModelError."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from json import JSONDecodeError
from typing import Any, Concatenate, ParamSpec, TypeVar

import transformers
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError

from senseprobe.errors import ModelError, SenseprobeError
from senseprobe.evaluate.models.batching import out_of_memory
from senseprobe.evaluate.plugins import without_tokens

P = ParamSpec("P")
M = TypeVar("M")

# Fragments of messages of transformers and huggingface_hub, and what we say; the first that is found counts.
_CLAUSES = (
    ("trust_remote_code", "it needs code of its own, which senseprobe never runs"),
    ("custom code", "it needs code of its own, which senseprobe never runs"),
    ("Unrecognized configuration class", "its architecture ({architecture}) has no such head"),
    ("does not recognize this architecture", "transformers {version} does not know its architecture"),
    ("Should have a `model_type`", "its config.json does not say what architecture it has"),
    ("invalid literal for int()", "it has a word for a number; the keys of id2label in config.json are 0, 1, 2"),
    ("not a valid JSON file", "its config.json is not valid JSON"),
    ("not a valid git identifier", "it has no such revision on the Hub"),
    ("gated repo", "it is gated: accept its terms on the Hub, then `hf auth login`"),
    ("not a valid model identifier", "there is no such folder, nor such a model on the Hub that you may read"),
    ("Repo id must", "there is no such folder, and it is not a name that the Hub could have"),
    ("couldn't connect", "there is no such folder; the Hub cannot be reached, and the model is not in its cache"),
    (
        "offline mode",
        "there is no such folder; the Hub is switched off (HF_HUB_OFFLINE), and the model is not in its cache",
    ),
    ("ignore_mismatched_sizes", "its weights have other shapes than its config.json says"),
    ("Weights only load failed", "its pickled weights hold more than tensors, which is never read"),
    ("get_input_embeddings", "it has no table of tokens"),
    ("model.safetensors", "it has no safetensors weights; allow_pickle reads others, if you trust where they are from"),
    ("backend tokenizer", "it has no tokenizer that can be read"),
)
# Errors that made-up files end in; their messages are about code.
_WORDLESS = (LookupError, AttributeError, TypeError, ArithmeticError, AssertionError, NotImplementedError)


@contextmanager
def explained(spec: str, config: Any = None) -> Iterator[None]:  # noqa: ANN401 - of transformers, without types of use
    """Turn whatever is raised meanwhile into a ModelError about the model `spec`; `config` is its config, if known.

    Files that are damaged or made up can make transformers raise anything at all.
    """
    try:
        yield
    except SenseprobeError:
        raise
    except Exception as error:
        raise ModelError(f"cannot load the model {spec}: {_clause(error, config)}") from error


def guarded(load: Callable[Concatenate[str, P], M]) -> Callable[Concatenate[str, P], M]:
    """Wrap a function that loads a model, its first passes included: it fails with a ModelError only."""

    @wraps(load)
    def load_guarded(spec: str, /, *args: P.args, **options: P.kwargs) -> M:
        with explained(spec):
            return load(spec, *args, **options)

    return load_guarded


def _clause(error: Exception, config: Any) -> str:  # noqa: ANN401 - see above
    """Say why loading failed, without the token of any account."""
    if isinstance(error, SafetensorError):
        return f"its weights are damaged ({error})"
    if out_of_memory(error):
        return "memory does not suffice for it: take a smaller number format"
    architecture = getattr(config, "model_type", None) or "unknown"
    for fragment, clause in _CLAUSES:
        if fragment in str(error):
            return clause.format(version=transformers.__version__, architecture=architecture)
    return without_tokens(_own_words(error))


def _own_words(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    if isinstance(error, StrictDataclassError):  # its first line is a headline
        return f"its config.json is not valid: {lines[-1].strip().partition(': ')[2][:200]}"
    if isinstance(error, JSONDecodeError | UnicodeDecodeError):
        return f"one of its files is not valid JSON ({lines[0]})"
    if isinstance(error, _WORDLESS) or not lines[0]:
        return f"transformers makes no model of its files ({type(error).__name__}: {lines[0][:200]})"
    return lines[0][:200].rstrip(". ")
