"""Tiny masked language models that are the same on every machine.

Made in a folder by `python tests/conformance/masked_models.py FOLDER`.

Weights are bytes of SHAKE-256 over the seed and the parameter's name, and vocabularies are written down here, so that
neither a random generator nor a trainer of tokenizers has a part in them. `masked_vectors.json` has what every scorer
gives for them, by `naive_masked.py`; another program can be held against it without senseprobe.
"""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

# A model or tokenizer of transformers, which ships no types that are of use.
Pretrained: TypeAlias = Any

SEED = "senseprobe conformance 1"
LONGEST = 48

WORDS = (
    *("people", "are", "kind", "unkind", "she", "he", "is", "a", "the", "nurse", "engineer", "and", "or", "black"),
    *("dress", "nurses", "talent", "japanese", "norwegian", "don", "not", "fit", "good", "looking", "cruel", "clever"),
    "friend",
)
PIECES = ("un", "ish", "er", "ed", "ese", "ly", "s", "t", "upp", "japan", "talent", "engine", "owner", "caf", "na")
CHARACTERS = ".,;:!?'()-[] abcdefghijklmnopqrstuvwxyz0123456789éï"

SIZES = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 40}


def wordpiece(*, lower: bool, template: str | None, split_names: bool = False) -> Pretrained:
    """A WordPiece tokenizer; `template` says which special tokens go around a text, None for none."""
    import tokenizers
    from tokenizers import models, normalizers, pre_tokenizers, processors

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    singles = [character for character in CHARACTERS if character != " "]
    pieces = [*specials, *singles, *(f"##{c}" for c in singles), *WORDS, *PIECES, *(f"##{p}" for p in PIECES)]
    raw = tokenizers.Tokenizer(models.WordPiece({p: i for i, p in enumerate(dict.fromkeys(pieces))}, unk_token="[UNK]"))  # noqa: S106
    raw.normalizer = normalizers.BertNormalizer(lowercase=lower, strip_accents=False)
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if template:
        raw.post_processor = processors.TemplateProcessing(single=template, special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return _fast(raw, cls="[CLS]", sep="[SEP]", pad="[PAD]", mask="[MASK]", unk="[UNK]", names=split_names)


def byte_level(cls: str, sep: str, pad: str, mask: str, unk: str, *, trim: bool) -> Pretrained:
    """A byte-level BPE tokenizer, of the words above with and without a space before them.

    `trim`: whether the place of a token in the text leaves out the space that the token begins with.
    """
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, processors

    vocabulary = [cls, pad, sep, unk, mask, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges: list[tuple[str, str]] = []
    for word in (*WORDS, *PIECES):
        for form in (f"Ġ{word}", word):
            merges += [(form[:end], form[end]) for end in range(1, len(form))]
            vocabulary += [form[: end + 1] for end in range(1, len(form))]
    vocabulary = list(dict.fromkeys(vocabulary))
    merges = list(dict.fromkeys(merges))
    raw = tokenizers.Tokenizer(models.BPE({p: i for i, p in enumerate(vocabulary)}, merges))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    if trim:
        raw.post_processor = processors.RobertaProcessing((sep, 2), (cls, 0), trim_offsets=True, add_prefix_space=False)
    else:
        around = [(cls, 0), (sep, 2)]
        raw.post_processor = processors.TemplateProcessing(single=f"{cls}:0 $A:0 {sep}:0", special_tokens=around)
    return _fast(raw, cls=cls, sep=sep, pad=pad, mask=mask, unk=unk)


def unigram() -> Pretrained:
    """A SentencePiece tokenizer of the kind Unigram, which puts a ▁ before every word."""
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

    vocabulary = [("<pad>", 0.0), ("<unk>", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0), ("[MASK]", 0.0), ("▁", -6.0)]
    vocabulary += [(f"▁{word}", -4.0 - len(word) / 100) for word in dict.fromkeys(WORDS)]
    vocabulary += [(piece, -5.0 - len(piece) / 100) for piece in dict.fromkeys((*PIECES, *WORDS))]
    known = {piece for piece, _ in vocabulary}
    vocabulary += [(c, -9.0) for c in CHARACTERS if c not in {" ", *known}]
    raw = tokenizers.Tokenizer(models.Unigram(vocabulary, unk_id=1, byte_fallback=False))
    raw.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    raw.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    raw.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return _fast(raw, cls="[CLS]", sep="[SEP]", pad="<pad>", mask="[MASK]", unk="<unk>")


def _fast(raw: Pretrained, *, names: bool = False, **named: str) -> Pretrained:
    """`names`: whether the name of a special token in a text is read as text; else it becomes that token."""
    import transformers

    tokens = {f"{key}_token": value for key, value in named.items()}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=raw, split_special_tokens=names, **tokens)


def _bert(size: int) -> Pretrained:
    import transformers

    config = transformers.BertConfig(vocab_size=size, max_position_embeddings=LONGEST, **SIZES)
    return transformers.BertForMaskedLM(config)


def _roberta(size: int) -> Pretrained:
    import transformers

    # Positions are counted from the padding id, 1, on.
    config = transformers.RobertaConfig(
        vocab_size=size, max_position_embeddings=LONGEST + 2, type_vocab_size=1, pad_token_id=1, **SIZES
    )
    return transformers.RobertaForMaskedLM(config)


def _albert(size: int) -> Pretrained:
    import transformers

    config = transformers.AlbertConfig(vocab_size=size, embedding_size=12, max_position_embeddings=LONGEST, **SIZES)
    return transformers.AlbertForMaskedLM(config)


def _distilbert(size: int) -> Pretrained:
    import transformers

    config = transformers.DistilBertConfig(
        vocab_size=size, max_position_embeddings=LONGEST, dim=24, n_layers=3, n_heads=2, hidden_dim=40
    )
    return transformers.DistilBertForMaskedLM(config)


def _modernbert(size: int) -> Pretrained:
    import transformers

    # Windows of four tokens to either side in two layers of three, so that sentences are longer than a window.
    ids = {"pad_token_id": 1, "bos_token_id": 0, "cls_token_id": 0, "eos_token_id": 2, "sep_token_id": 2}
    windows = {"local_attention": 8, "global_attn_every_n_layers": 3}
    config = transformers.ModernBertConfig(vocab_size=size, max_position_embeddings=LONGEST, **windows, **ids, **SIZES)
    return transformers.ModernBertForMaskedLM(config)


MODELS: dict[str, tuple[Callable[[int], Pretrained], Callable[[], Pretrained]]] = {
    "bert": (_bert, lambda: wordpiece(lower=True, template="[CLS]:0 $A:0 [SEP]:0", split_names=True)),
    "bert-bare": (_bert, lambda: wordpiece(lower=True, template=None)),
    "bert-start": (_bert, lambda: wordpiece(lower=True, template="[CLS]:0 $A:0")),
    "distilbert": (_distilbert, lambda: wordpiece(lower=False, template="[CLS]:0 $A:0 [SEP]:0")),
    "roberta": (_roberta, lambda: byte_level("<s>", "</s>", "<pad>", "<mask>", "<unk>", trim=True)),
    "albert": (_albert, unigram),
    "modernbert": (_modernbert, lambda: byte_level("[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]", trim=False)),
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


def _fill(model: Pretrained, name: str) -> None:
    """Put numbers between -1/2 and 1/2 in all weights, and such around 1 in those that layer norms multiply with."""
    import torch

    with torch.no_grad():
        for key, parameter in model.named_parameters():
            digest = hashlib.shake_256(f"{SEED} {name} {key}".encode()).digest(2 * parameter.numel())
            numbers = (np.frombuffer(digest, dtype="<u2").astype(np.float64) - 32768) / 65536
            if key.lower().replace("_", "").endswith("norm.weight"):
                numbers = 1 + numbers / 2
            parameter.copy_(torch.tensor(numbers).reshape(parameter.shape))
    model.tie_weights()


if __name__ == "__main__":
    print(json.dumps({name: str(place) for name, place in build(Path(sys.argv[1])).items()}, indent=2))  # noqa: T201
