"""How one vector is made of several tokens: by their positions, or as the files of a sentence-transformers folder say.

hidden states of tokens -> positions of a word or a sentence -> mean, first, last, largest, or that of the CLS token

What the files of such a folder ask for and we do not compute is refused by name: a vector without it would be another
model's.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from senseprobe.evaluate.models.base import Ids
from senseprobe.evaluate.models.checkpoint import Pretrained, find_file, quiet
from senseprobe.evaluate.models.encodings import Encoding
from senseprobe.evaluate.models.limits import MOST_CONFIG_BYTES, Unloadable, read_json
from senseprobe.evaluate.models.masked import Encoding as TokenizedText
from senseprobe.evaluate.units import Unit

Positions: TypeAlias = tuple[Ids, ...]
"""For each pooling of a unit, where in the input the tokens stand that are pooled."""

OF_MODEL = "model"
"""Of a word alone: as the model makes the vector of a sentence, and not of the word's own tokens alone."""

POOLINGS = {
    "word": ("mean", "first", "last", OF_MODEL),
    "sent": ("cls", "mean", "max", "last"),
    "cword": ("mean", "first", "last", "head"),
}
"""By level; the model's own is the first, but for sentences, where it depends on the model."""


@dataclass(frozen=True, slots=True)
class Pooling:
    """What makes the vector of a unit of hidden states.

    - `level`: ``word``, ``sent`` or ``cword``; `layer`: which hidden states, 0 the table of tokens.
    - `names`: of poolings, the second a check; their vectors stand one after the other.
    - `special`: whether the mean, the largest and the last of a sentence are taken of special tokens, too.
    - `normalised`: whether the vector has length 1.
    - `whole`: whether a word alone is pooled as a sentence is.
    - `cls`: where the CLS token stands in an input, from the end if it is after the text.
    - `blanks`: the ids of tokens that spell nothing but blanks.
    """

    level: str
    names: tuple[str, ...]
    layer: int
    blanks: frozenset[int]
    special: bool = False
    normalised: bool = False
    whole: bool = False
    cls: int = 0

    def encoding(self, start: str, *, comparable: bool) -> Encoding:
        """Return all of it as results state it; `start` is what stands before a text."""
        by = [("pooling", OF_MODEL), ("by", self.names[0])] if self.whole else [("pooling", self.names[0])]
        parts = [*by, *(("check", check) for check in self.names[1:])]
        if (self.whole or self.level == "sent") and self.names[0] != "cls":
            parts.append(("special", "in" if self.special else "out"))
        parts += [("norm", "l2")] * self.normalised
        parts += [("layer", str(self.layer)), ("start", start)]
        parts += [("comparable", "no")] * (not comparable)
        return Encoding(self.level, tuple(parts))

    def positions(self, text: TokenizedText, unit: Unit) -> Positions:
        """Return the positions that each of the poolings takes of a unit; none where the word has no token."""
        if self.whole or self.level == "sent":
            positions = tuple(range(len(text.ids))) if self.special else text.positions
        else:
            start, end = (unit.start, unit.end) if self.level == "cword" else (0, len(unit.text))
            positions = word_positions(text, start, end, self.blanks)
        return tuple(self._pooled(name, positions, text, unit) for name in self.names)

    def _pooled(self, name: str, positions: Ids, text: TokenizedText, unit: Unit) -> Ids:
        if name == "cls":
            return (self.cls % len(text.ids),) if text.ids else ()
        if name == "head":
            span = unit.text[unit.start : unit.end]
            word = next(reversed(span.split()), span)
            return word_positions(text, unit.start + span.rindex(word), unit.end, self.blanks)[:1]
        return {"first": positions[:1], "last": positions[-1:]}.get(name, positions)

    def pool(self, hidden: torch.Tensor, positions: Sequence[Positions]) -> NDArray[Any]:
        """Return the vectors of units, shape (units, width); `hidden`, of shape (tokens, dimensions), has all texts'.

        NaN throughout where a number is not finite.
        """
        columns = [
            _reduced(hidden, [at[number] for at in positions], np.maximum if name == "max" else np.add)
            for number, name in enumerate(self.names)
        ]
        vectors = np.concatenate(columns, axis=1)
        if self.normalised:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        vectors[~np.isfinite(vectors).all(axis=1)] = np.nan
        return vectors


def blank_tokens(tokenizer: Pretrained) -> frozenset[int]:
    """Return the ids of tokens that spell nothing but blanks."""
    return frozenset(id_ for token, id_ in tokenizer.get_vocab().items() if not token.strip(" ▁Ġ"))


def word_positions(text: TokenizedText, start: int, end: int, blanks: frozenset[int]) -> Ids:
    """Return where the tokens stand that share a character with a stretch of the text, and are not blank.

    Some tokenizers have a token for the blank before a word, and give it the word's first letter at the beginning of a
    text, and not elsewhere.
    """
    return tuple(
        at
        for at in text.positions
        if max(text.offsets[at][0], start) < min(text.offsets[at][1], end) and text.ids[at] not in blanks
    )


def _reduced(hidden: torch.Tensor, positions: Sequence[Ids], combine: np.ufunc) -> NDArray[Any]:
    """Return the sum of rows of `hidden` at `positions`[k], divided by how many there are, or their largest numbers."""
    values = hidden[torch.tensor([at for row in positions for at in row], device=hidden.device)]
    numbers = (values if values.dtype == torch.float64 else values.float()).cpu().numpy()
    counts = np.array([len(row) for row in positions])
    reduced: NDArray[Any] = combine.reduceat(numbers, np.cumsum(counts) - counts, axis=0)
    return reduced if combine is np.maximum else reduced / counts[:, None].astype(numbers.dtype)


# --- sentence-transformers ------------------------------------------------------------------------------------------

_MODULES = "modules.json"
_SETTINGS = "sentence_bert_config.json"
_PROMPTS = "config_sentence_transformers.json"

# The names of poolings in files, and ours. Files of before release 5 have a key for each, which is true or false.
_POOLINGS: Mapping[str, str] = {"cls": "cls", "max": "max", "mean": "mean", "lasttoken": "last"}
_KEYS: Mapping[str, str] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
# What settings may say besides the two that are read: that hidden states of a text are computed, as they always are.
_TEXT = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
_USUAL: Mapping[str, object] = {
    "transformer_task": "feature-extraction",
    "modality_config": _TEXT,
    "module_output_name": "token_embeddings",
}
_READ = ("max_seq_length", "do_lower_case")
_FOLDER = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class SentencePooling:
    """What makes the vector of a sentence of its tokens' vectors, special tokens' included.

    - `pooling`: ``cls`` (the first token), ``mean``, ``max`` or ``last``; `normalised`: whether it has length 1 then.
    - `most_tokens`: of a text, special ones included; None where the files do not say.
    - `lower`: whether texts are read in lower case.
    """

    pooling: str
    normalised: bool
    most_tokens: int | None
    lower: bool


def read_sentence_pooling(spec: str) -> SentencePooling | None:
    """Return what the files of the model at `spec` say; None where it is not of sentence-transformers.

    Raises Unloadable where they are damaged, or ask for what we do not compute.
    """

    def read(name: str) -> Any:  # noqa: ANN401 - JSON
        with quiet():
            path = find_file(spec, name)
        if path is None:
            return None
        if (content := read_json(path, MOST_CONFIG_BYTES)) is None:
            raise Unloadable(f"its {path.name} of sentence-transformers is not valid JSON")
        return content

    modules = read(_MODULES)
    if modules is None:
        return None
    folders = _module_folders(modules)
    _refuse_prompt(read(_PROMPTS) or {})
    most_tokens, lower = _settings(read(_SETTINGS) or {})
    pooling = _pooling(_mapping(read(f"{folders['Pooling']}/config.json"), "the config.json of its pooling"))
    if normalised := "Normalize" in folders:
        folder = folders["Normalize"]
        config = (read(f"{folder}/config.json") if folder else None) or {}
        config = _mapping(config, "the config.json of its normalisation")
        keys = ("module_input_name", "module_output_name")
        if any(config.get(key) not in (None, "sentence_embedding") for key in keys):
            raise Unloadable("its normalisation is not of the sentence vector")
    return SentencePooling(pooling, normalised, most_tokens, lower)


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Unloadable(f"{name} is missing, or is not a JSON object")
    return value


def _module_folders(modules: object) -> dict[str, str]:
    """Return the folder of each module by its class, in order: a transformer at the top, a pooling, a normalisation."""
    folders: dict[str, str] = {}
    for module in modules if isinstance(modules, list) else []:
        module = _mapping(module, f"a module in its {_MODULES}")
        package, _, kind = str(module.get("type")).rpartition(".")
        path = module.get("path")
        if package.partition(".")[0] != "sentence_transformers" or kind in folders:
            raise Unloadable(
                f"its {_MODULES} has the module {module.get('type')!r:.80}, which senseprobe does not support"
            )
        if not isinstance(path, str) or (path and not _FOLDER.fullmatch(path)):
            raise Unloadable(f"its {_MODULES} has a module in {path!r:.80}, which is not a folder in it")
        folders[kind] = path
    names = [*folders]
    if names not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise Unloadable(
            f"its {_MODULES} has the modules {names!r:.80}; senseprobe supports Transformer, Pooling and then Normalize"
        )
    if folders["Transformer"]:
        raise Unloadable(f"its transformer is in {folders['Transformer']}, not at the top: save it again")
    return folders


def _pooling(config: Mapping[str, Any]) -> str:
    """Return our name of the pooling that a config of before or since release 5 of sentence-transformers has."""
    modes = config.get("pooling_mode", [name for key, name in _KEYS.items() if config.get(key)] or "mean")
    names = modes if isinstance(modes, list) else [modes]
    if len(names) != 1 or not isinstance(names[0], str) or names[0] not in _POOLINGS:
        raise Unloadable(f"its pooling of tokens is {modes!r:.80}; senseprobe supports one of {', '.join(_POOLINGS)}")
    return _POOLINGS[names[0]]


def _settings(settings: object) -> tuple[int | None, bool]:
    """Return the most tokens of a text, and whether texts are read in lower case."""
    settings = _mapping(settings, f"its {_SETTINGS}")
    for key, value in settings.items():
        if key not in _READ and value and value != _USUAL.get(key):
            raise Unloadable(f"its {_SETTINGS} sets {key!r:.80}, which senseprobe does not support")
    most, lower = (settings.get(key) for key in _READ)
    if not (most is None or (type(most) is int and most > 0)) or not isinstance(lower, bool | None):
        raise Unloadable(f"its {_SETTINGS} has {_READ[0]} {most!r:.80} and {_READ[1]} {lower!r:.80}")
    return most, bool(lower)


def _refuse_prompt(config: object) -> None:
    """Raise Unloadable where a prompt stands before every text unless its user says otherwise."""
    config = _mapping(config, f"its {_PROMPTS}")
    name, prompts = config.get("default_prompt_name"), config.get("prompts")
    if name is not None and not (isinstance(prompts, dict) and prompts.get(str(name)) in ("", None)):
        raise Unloadable(
            f"it puts the prompt {name!r:.80} before every text ({_PROMPTS}), which senseprobe does not support"
        )
