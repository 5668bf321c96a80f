"""What our families have in common: how a model of transformers is loaded, and what it is known by."""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from senseprobe.errors import ModelError
from senseprobe.evaluate.models.batching import Budget
from senseprobe.evaluate.models.checkpoint import (
    Pretrained,
    explained,
    open_checkpoint,
    quiet,
    read_config,
    refuse_encoder_decoder,
    vocabulary,
)
from senseprobe.evaluate.models.layers import pack
from senseprobe.messages import counted
from senseprobe.tables import read_json

Ids: TypeAlias = tuple[int, ...]

_DTYPES: Mapping[str, torch.dtype] = {
    name: getattr(torch, name) for name in ("float32", "float64", "bfloat16", "float16")
}
# Tokens per forward pass: on a CPU, as many as benchmarks/score.py found best; elsewhere, what keeps the device busy.
_BATCH_TOKENS = {"cpu": 1024}
_BATCH_TOKENS_ELSEWHERE = 8192
# At most so many logits at a time (1 GiB of float32), unless one text alone needs more.
_LOGITS = 2**28
ALL_CARDS = "all"
"""The device of a model that is too large for one card: its layers go to all cards that the process sees."""
# What of a config says where and by what it was written, not what the model computes.
_CIRCUMSTANCES = ("_commit_hash", "_name_or_path", "architectures", "dtype", "transformers_version")


class PretrainedModel:
    """A model of transformers in memory: `budget` bounds the tokens of a forward pass, `tokens` are those of texts."""

    ability: ClassVar[str]
    auto_class: ClassVar[Any]
    predicts_tokens: ClassVar[bool] = True
    takes_encoder_decoder: ClassVar[bool] = False
    unused: ClassVar[tuple[str, ...]] = ()  # what names of weights begin with that a checkpoint may lack

    def __init__(self, name: str, model: Pretrained, tokenizer: Pretrained, *, batch_tokens: int) -> None:
        self.name = name
        self.budget = Budget(batch_tokens)
        self.max_length = longest_input(model, tokenizer)
        self.tokens = TextTokens(tokenizer)
        self._model, self._tokenizer = model, tokenizer

    @property
    def device(self) -> torch.device:
        """Where it is."""
        device: torch.device = self._model.device
        return device

    @cached_property
    def identity(self) -> dict[str, str]:
        """What scores depend on: sha256 of ``weights``, ``config`` and ``tokenizer``, and ``dtype``."""
        return fingerprint(self._model, self._tokenizer)

    @classmethod
    def load(
        cls,
        spec: str,
        *,
        device: str = "auto",
        dtype: str = "float32",
        allow_pickle: bool = False,
        batch_tokens: int | None = None,
        **settings: Any,  # noqa: ANN401 - each family has its own
    ) -> Self:
        """Load the model in the folder, or under the Hub name, `spec`: see `models.load`. Raises only ModelError.

        `settings` are the family's: `labels` of a model of inference, `options` of an encoder.
        """
        with explained(spec):
            target, number_format = device_of(device), dtype_of(dtype)
            settings |= {"several": True} if device == ALL_CARDS else {}
            if not cls.takes_encoder_decoder:  # before its weights are loaded
                refuse_encoder_decoder(read_config(spec))
            settings |= cls.read_files(spec)
            model, tokenizer = open_checkpoint(
                cls.auto_class, spec, dtype=number_format, allow_pickle=allow_pickle, unused=cls.unused
            )
            return cls.wrap(spec, model, tokenizer, target, batch_tokens, **settings)

    @classmethod
    def wrap(
        cls,
        name: str,
        model: Pretrained,
        tokenizer: Pretrained,
        device: torch.device,
        batch_tokens: int | None = None,
        *,
        several: bool = False,
        **settings: Any,  # noqa: ANN401 - each family has its own
    ) -> Self:
        """Wrap a model of transformers that is in memory, called `name`; raises ModelError as `load` does.

        It is moved to `device`, or with `several` its layers go to all cards, of which that is the first.
        """
        with explained(name):
            if not cls.takes_encoder_decoder:
                refuse_encoder_decoder(model.config)
            model = cls.used_part(model)
            more = cls.prepare(name, model, tokenizer, **settings)
            fitting = _BATCH_TOKENS.get(device.type, _BATCH_TOKENS_ELSEWHERE)
            if cls.predicts_tokens:
                fitting = max(1, min(fitting, _LOGITS // vocabulary(model)))
            if several:
                spread_layers(name, model)
            else:
                model.to(device)
            pack(model)
            return cls(name, model, tokenizer, batch_tokens=batch_tokens or fitting, **more)

    @classmethod
    def read_files(cls, spec: str) -> dict[str, Any]:
        """Return what `prepare` has to know of other files at `spec`, before the model is loaded.

        Raises ModelError where the model is not of this family.
        """
        return {}

    @classmethod
    def used_part(cls, model: Pretrained) -> Pretrained:
        """Return the part of a model that is run: all of it, unless a family leaves something out."""
        return model

    @classmethod
    def prepare(cls, name: str, model: Pretrained, tokenizer: Pretrained, **settings: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return further arguments of the constructor. Raises ModelError where the model is not of this family."""
        return {}

    def table_rows(self, level: str, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each text's own tokens, whatever the level: rows of the table of embeddings."""
        return self.tokens.of(texts)

    def input_vectors(self, rows: Sequence[int]) -> NDArray[np.float64]:
        """Return the embeddings of tokens: float64 of shape (rows, dimensions)."""
        return _rows_of(self._model.get_input_embeddings().weight, rows)

    def output_vectors(self, rows: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return what tokens are predicted by: shape (rows, numbers), and biases, (rows,); None where none are."""
        head = self._model.get_output_embeddings() if self.predicts_tokens else None
        if head is None or getattr(head, "weight", None) is None:
            return None
        bias = getattr(head, "bias", None)
        return _rows_of(head.weight, rows), np.zeros(len(rows)) if bias is None else _rows_of(bias, rows)

    def _tensor(self, values: object) -> torch.Tensor:
        return torch.as_tensor(np.asarray(values, dtype=np.int64), device=self._model.device)


def _rows_of(tensor: torch.Tensor, rows: Sequence[int]) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = tensor.detach()[list(rows)].cpu().double().numpy()
    return numbers


class TextTokens:
    """The tokens of texts.

    - `unknown`: the id of the token for what the tokenizer does not know, None without one.
    - `spells_bytes`: whether the vocabulary spells bytes as letters: " café" as ĠcafÃ©.
    """

    def __init__(self, tokenizer: Pretrained) -> None:
        self._tokenizer = tokenizer
        self.unknown: int | None = tokenizer.unk_token_id
        self.spells_bytes = "ByteLevel" in repr(getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None))

    def of(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each text's own tokens, in order, neither padded nor cut."""
        if not texts:
            return []
        columns = self._tokenizer(list(texts), add_special_tokens=False, return_attention_mask=False, verbose=False)
        return [tuple(ids) for ids in columns["input_ids"]]

    def spelt(self, ids: Sequence[int]) -> str:
        """Return tokens as the vocabulary spells them: ``<|im_start|>``."""
        return "".join(map(str, self._tokenizer.convert_ids_to_tokens(list(ids))))

    def readable(self, ids: Sequence[int]) -> list[str | None]:
        """Return each token as people read it, None for what the tokenizer does not know.

        That is how the vocabulary spells it (``##ing``, ``▁the``). Where it spells bytes, it is the text that they are,
        with ``▁`` for a space at the beginning, and ``<0xC3>`` for each byte of a part of a character.
        """
        tokens = map(str, self._tokenizer.convert_ids_to_tokens(list(ids)))
        pairs = zip(ids, tokens, strict=True)
        return [
            None if id_ == self.unknown else _readable(token) if self.spells_bytes else token for id_, token in pairs
        ]


def _readable(token: str) -> str:
    """Return the text of a token of a byte-level vocabulary; added tokens are spelt in letters of their own."""
    if not {*token} <= {*_BYTES}:
        return token
    raw = bytes(_BYTES[letter] for letter in token)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return "".join(chr(byte) if 32 < byte < 127 else f"<0x{byte:02X}>" for byte in raw)
    return f"▁{text[1:]}" if text.startswith(" ") else text


_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(0x100) if byte not in _PRINTABLE]
_BYTES = {chr(byte): byte for byte in _PRINTABLE} | {chr(0x100 + rank): byte for rank, byte in enumerate(_OTHERS)}
"""The byte of each letter of GPT-2's vocabulary: printable bytes of Latin 1 are theirs, others from Ā on."""


def dtype_of(name: str) -> torch.dtype:
    """Return the number format called float32, float64, bfloat16 or float16; ModelError for another name."""
    if name not in _DTYPES:
        raise ModelError(f"unknown number format {name}: use one of {', '.join(_DTYPES)}")
    return _DTYPES[name]


def device_of(name: str) -> torch.device:
    """Return the device of a name that torch knows; ``auto`` is CUDA if there is any, else the CPU.

    Of ``all`` it is the first card.
    """
    name = {"auto": "cuda" if torch.cuda.is_available() else "cpu", ALL_CARDS: "cuda:0"}.get(name, name)
    try:
        with quiet():
            device = torch.device(name)
            torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(f"cannot use the device {name}: {str(error).strip().splitlines()[0]}") from error
    if device.type == "meta":
        raise ModelError(f"cannot use the device {name}: it has shapes only, not numbers")
    return device


def spread_layers(name: str, model: Pretrained, room: Mapping[int | str, int] | None = None) -> None:
    """Spread the layers of a model over all cards, or into the `room` in bytes that each place has, each layer whole.

    accelerate does it: what a layer reads goes to its card, and what the last one gives to the first card. ModelError
    where the cards have too little memory; what does not fit goes nowhere else.
    """
    from accelerate import dispatch_model, infer_auto_device_map
    from accelerate.utils import get_balanced_memory

    layers = [*(getattr(model, "_no_split_modules", None) or ())]
    if room is None:
        free = get_balanced_memory(model, dtype=model.dtype, no_split_module_classes=layers)
        room = {place: size for place, size in free.items() if place != "cpu"}
    places = infer_auto_device_map(model, {**room}, no_split_module_classes=layers, dtype=model.dtype)
    if not {*places.values()} <= {*room}:
        size = sum(weight.numel() * weight.element_size() for weight in model.parameters())
        has = f"{name} has {size / 1e9:,.1f} GB of weights, and {counted(len(room), 'card')} together too little memory"
        raise ModelError(f"{has}: use more cards, or --dtype bfloat16")
    skipped = getattr(model, "_skip_keys_device_placement", None)
    dispatch_model(model, places, main_device=next(iter(room)), skip_keys=skipped, force_hooks=True)


def longest_input(model: Pretrained, tokenizer: Pretrained) -> int:
    """Return the most tokens that the model takes, special ones included."""
    declared: int | None = getattr(model.config, "max_position_embeddings", None)
    if declared is None or declared <= 0:
        return min(int(tokenizer.model_max_length), sys.maxsize)
    # RoBERTa and its kin count positions from the padding id on, so that the first rows of the table are never used.
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.weight.shape[0]) - int(module.padding_idx) - 1
    return declared


def fingerprint(model: Pretrained, tokenizer: Pretrained) -> dict[str, str]:
    """Return what scores depend on: sha256 of the weights, of the config and of the tokenizer, and the number format.

    The weights are hashed as tensors in order of name, so that the file format and the sharding do not matter. What
    came from the Hub has also a ``revision``: the commit, whatever branch or tag was requested.
    """
    commit = getattr(model.config, "_commit_hash", None)
    return {
        **({"revision": commit} if commit else {}),
        "weights": _weights_hash(model),
        "config": hash_config(model.config),
        "tokenizer": hash_tokenizer(model, tokenizer),
        "dtype": str(model.dtype).removeprefix("torch."),
    }


def hash_config(config: Pretrained) -> str:
    """Return the sha256 of a config, but for what says where it is from and how it was loaded."""
    return hash_json({key: value for key, value in config.to_dict().items() if key not in _CIRCUMSTANCES})


def hash_tokenizer(model: Pretrained, tokenizer: Pretrained) -> str:
    """Return the sha256 of a tokenizer, and of how many tokens the model takes."""
    return hash_json([*_tokenizer_parts(tokenizer), longest_input(model, tokenizer)])


def _tokenizer_parts(tokenizer: Pretrained) -> Iterator[dict[str, object]]:
    """Yield what a tokenizer consists of, but for padding and cutting; and what it makes of a pair of texts."""
    pieces = read_json(tokenizer.backend_tokenizer.to_str())
    yield {key: value for key, value in pieces.items() if key not in ("padding", "truncation")}
    yield {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    # What is set outside its own state: whether models get segments, and names of special tokens are read as such.
    text = " ".join(["a", *tokenizer.all_special_tokens, "b"])
    pair = tokenizer([text], ["a"], return_special_tokens_mask=True, verbose=False)
    yield {name: column for name, column in pair.items() if name != "attention_mask"}


def _weights_hash(model: torch.nn.Module) -> str:
    """Hash what `state_dict` has, in order of name, one module at a time: packed layers copy their weights for it.

    A module's own names are neighbours in that order, unless modules of its own come between.
    """
    digest = hashlib.sha256()
    modules = model.named_modules(remove_duplicate=False)
    homes = {name: home for home in modules for name in _module_state(*home)}
    for home, names in groupby(sorted(homes), key=homes.__getitem__):
        state = _module_state(*home)
        for name in names:
            digest.update(f"{name} {state[name].dtype} {tuple(state[name].shape)}\n".encode())
            digest.update(state[name].detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _module_state(prefix: str, module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return names and values of what is the module's own, not that of modules in it."""
    state: dict[str, torch.Tensor] = {}
    module._save_to_state_dict(state, f"{prefix}." if prefix else "", keep_vars=False)
    return state


def start_of(tokenizer: Pretrained) -> tuple[str, Ids]:
    """Return what stands before a text, and whose it is: ``own``, ``bos``, ``eos`` or ``off`` (nothing).

    That is the special tokens that the tokenizer puts there; else its token for the beginning of a sequence; else the
    one for the end of a sequence, after which another begins.
    """
    columns = tokenizer("a", return_special_tokens_mask=True)
    if count := [*columns["special_tokens_mask"], 0].index(0):
        return "own", tuple(columns["input_ids"][:count])
    named = (("bos", tokenizer.bos_token_id), ("eos", tokenizer.eos_token_id))
    return next(((start, (token,)) for start, token in named if token is not None), ("off", ()))


def hash_json(value: object) -> str:
    """Return the sha256 of a value as JSON, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
