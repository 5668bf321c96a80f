"""Tiny causal language models, the same everywhere: `python tests/conformance/causal_models.py FOLDER` makes them.

Weights are bytes of SHAKE-256 over the seed and the parameter's name, and vocabularies are written down here, so that
neither a random generator nor a trainer of tokenizers has a part in them. `causal_vectors.json` has what every scorer
gives for them, by `naive_causal.py`; another program can be held against it without senseprobe.
"""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

# A model of transformers, or a tokenizer of it or of tokenizers, which have no types that are of use.
Foreign: TypeAlias = Any

SEED = "senseprobe conformance 1"
LONGEST = 48

# fmt: off
WORDS = (
    "people", "are", "kind", "unkind", "she", "he", "is", "a", "the", "nurse", "engineer", "and", "or", "black",
    "dress", "nurses", "talent", "Japanese", "Norwegian", "don", "not", "fit", "good", "looking", "cruel", "clever",
    "friend",
)
PIECES = (
    "un", "ish", "er", "ed", "ese", "ly", "s", "t", "upp", "Japan", "talent", "engine", "owner", "caf", "na",
)
# fmt: on
CHARACTERS = ".,;:!?'()-[]<>|/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789é"
END_OF_TEXT = "<|endoftext|>"

SIZES = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 40}
GROUPED = {**SIZES, "num_key_value_heads": 1, "max_position_embeddings": LONGEST}


def byte_level(*specials: str, **named: str) -> Foreign:
    """A byte-level BPE tokenizer (GPT-2, Qwen) that adds nothing, for the words above with and without a space."""
    from tokenizers import pre_tokenizers

    return _fast(_bpe([*specials, *sorted(pre_tokenizers.ByteLevel.alphabet())], "Ġ", _byte_level), **named)


def sentence_piece(template: str, *, bytes_for_unknown: bool, **named: str) -> Foreign:
    """A SentencePiece-like BPE tokenizer (Llama), which puts a ▁ before a text, and special tokens around it."""
    from tokenizers import decoders, normalizers, processors

    def parts(raw: Foreign) -> None:
        raw.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        raw.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
        ends = [("<s>", 1), ("</s>", 2)]
        raw.post_processor = processors.TemplateProcessing(single=template, special_tokens=ends)

    pieces = [f"<0x{byte:02X}>" for byte in range(256)] if bytes_for_unknown else []
    start = ["<unk>", "<s>", "</s>", *pieces, "▁", *CHARACTERS]
    options = {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": bytes_for_unknown}
    return _fast(_bpe(start, "▁", parts, **options), unk_token="<unk>", **named)  # noqa: S106 - a token of text


def _bpe(vocabulary: list[str], space: str, parts: Callable[[Foreign], None], **options: Foreign) -> Foreign:
    """A BPE tokenizer whose merges are what the words above begin with, so that some words are one token."""
    import tokenizers
    from tokenizers import models

    merges = []
    for form in [form for word in (*WORDS, *PIECES) for form in (f"{space}{word}", word)]:
        for end in range(1, len(form)):
            merges.append((form[:end], form[end]))
            vocabulary.append(form[: end + 1])
    numbers = {piece: i for i, piece in enumerate(dict.fromkeys(vocabulary))}
    raw = tokenizers.Tokenizer(models.BPE(numbers, list(dict.fromkeys(merges)), **options))
    parts(raw)
    return raw


def _byte_level(raw: Foreign) -> None:
    from tokenizers import decoders, pre_tokenizers, processors

    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.post_processor = processors.ByteLevel(trim_offsets=True)


def _fast(raw: Foreign, **named: str) -> Foreign:
    import transformers

    return transformers.PreTrainedTokenizerFast(tokenizer_object=raw, **named)


def _gpt2(size: int) -> Foreign:
    import transformers

    config = transformers.GPT2Config(vocab_size=size, n_positions=LONGEST, n_embd=24, n_layer=3, n_head=2)
    return transformers.GPT2LMHeadModel(config)


def _llama(size: int) -> Foreign:
    import transformers

    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=size, **GROUPED))


def _qwen(size: int) -> Foreign:
    import transformers

    return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(vocab_size=size, **GROUPED))


def _mistral(size: int) -> Foreign:
    import transformers

    # Windows of four tokens, so that sentences are longer than a window.
    config = transformers.MistralConfig(vocab_size=size, sliding_window=4, head_dim=12, **GROUPED)
    return transformers.MistralForCausalLM(config)


def _bloom(size: int) -> Foreign:
    import transformers

    # ALiBi: what counts is how far apart two tokens stand in the input.
    config = transformers.BloomConfig(vocab_size=size, hidden_size=24, n_layer=3, n_head=2)
    return transformers.BloomForCausalLM(config)


def _mamba(size: int) -> Foreign:
    import transformers

    # A state that is handed on from token to token.
    config = transformers.MambaConfig(vocab_size=size, hidden_size=24, num_hidden_layers=2, state_size=4)
    return transformers.MambaForCausalLM(config)


def _gpt2_tokenizer() -> Foreign:
    return byte_level(END_OF_TEXT, bos_token=END_OF_TEXT, eos_token=END_OF_TEXT)


def _llama_tokenizer() -> Foreign:
    return sentence_piece("<s> $A", bytes_for_unknown=True, bos_token="<s>", eos_token="</s>")  # noqa: S106


def _llama_tokenizer_with_end() -> Foreign:
    named = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>", "padding_side": "left"}
    return sentence_piece("<s> $A </s>", bytes_for_unknown=False, **named)


def _qwen_tokenizer() -> Foreign:
    named = {"eos_token": END_OF_TEXT, "pad_token": END_OF_TEXT, "padding_side": "left"}
    return byte_level("<|im_start|>", END_OF_TEXT, **named)


MODELS: dict[str, tuple[Callable[[int], Foreign], Callable[[], Foreign]]] = {
    "gpt2": (_gpt2, _gpt2_tokenizer),
    "gpt2-bare": (_gpt2, byte_level),
    "llama": (_llama, _llama_tokenizer),
    "llama-end": (_llama, _llama_tokenizer_with_end),
    "qwen2": (_qwen, _qwen_tokenizer),
    "mistral": (_mistral, _llama_tokenizer),
    "bloom": (_bloom, _qwen_tokenizer),
    "mamba": (_mamba, _gpt2_tokenizer),
}
"""By name, what makes the model for a size of vocabulary, and what makes its tokenizer."""


def build(folder: Path) -> dict[str, Path]:
    """Write every model with its tokenizer into a folder of its own in `folder`."""
    import torch

    folders = {}
    for name, (make_model, make_tokenizer) in MODELS.items():
        tokenizer = make_tokenizer()
        with torch.random.fork_rng():
            model = make_model(len(tokenizer))
        _fill(model, name)
        folders[name] = folder / name
        model.save_pretrained(folders[name])
        tokenizer.save_pretrained(folders[name])
    return folders


def _fill(model: Foreign, name: str) -> None:
    """Put numbers between -1/2 and 1/2 in all weights, and between 3/4 and 5/4 in those that norms multiply with."""
    import torch

    norms = ("norm.weight", "norm_f.weight", "layernorm.weight", "ln_1.weight", "ln_2.weight", "ln_f.weight")
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if key.endswith(("A_log", ".D")):  # not random; a state that grew with each token would end in no number
                continue
            digest = hashlib.shake_256(f"{SEED} {name} {key}".encode()).digest(2 * parameter.numel())
            numbers = (np.frombuffer(digest, dtype="<u2").astype(np.float64) - 32768) / 65536
            values = numbers / 2 + 1 if key.endswith(norms) else numbers
            parameter.copy_(torch.tensor(values).reshape(parameter.shape))
    model.tie_weights()


if __name__ == "__main__":
    print(json.dumps({name: str(place) for name, place in build(Path(sys.argv[1])).items()}, indent=2))  # noqa: T201
