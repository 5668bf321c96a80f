"""Models with random weights, of a published size or tiny, with tokenizers made of the texts that they shall read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tokenizers
import torch
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2TokenizerFast,
)

from senseprobe.evaluate.models.checkpoint import quiet

__all__ = ["LABELS", "save"]

LABELS = ("contradiction", "entailment", "neutral")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
END_OF_TEXT = "<|endoftext|>"
LONGER = 5  # letters: words that may be cut in two

# Sizes are BERT-base's and GPT-2 small's where nothing is said; the embeddings keep the published vocabulary.
TINY_BERT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
TINY_GPT2 = {"n_embd": 64, "n_layer": 2, "n_head": 2}


def save(folder: Path, kind: str, texts: Sequence[str], *, small: bool) -> None:
    """Save a model (``masked``, ``causal`` or ``inference``), the same for the same arguments, and its tokenizer."""
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(0)
        _model(kind, small=small).save_pretrained(folder)
        (_byte_level if kind == "causal" else _word_pieces)(texts).save_pretrained(folder)


def _model(kind: str, *, small: bool) -> Any:  # noqa: ANN401 - transformers' models share no type of use
    if kind == "causal":
        return GPT2LMHeadModel(GPT2Config(**(TINY_GPT2 if small else {})))
    config = BertConfig(**(TINY_BERT if small else {}))
    if kind == "masked":
        return BertForMaskedLM(config)
    config.update({"id2label": dict(enumerate(LABELS)), "label2id": {name: i for i, name in enumerate(LABELS)}})
    return BertForSequenceClassification(config)


def _word_pieces(texts: Sequence[str]) -> Any:  # noqa: ANN401
    """Every word is a token, but of longer ones each fourth is cut in two: training gives others each time."""
    normalise, split = BertNormalizer(), BertPreTokenizer()
    words = sorted({word for text in texts for word, _ in split.pre_tokenize_str(normalise.normalize_str(text))})
    cut = [word for word in words if len(word) > LONGER][::4]
    whole = [word for word in words if word not in {*cut}]
    halves = [half for word in cut for half in (word[: len(word) // 2], f"##{word[len(word) // 2 :]}")]
    letters = sorted({*"".join(words)})
    pieces = dict.fromkeys((*SPECIAL, *letters, *(f"##{letter}" for letter in letters), *whole, *halves))
    return BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)})


def _byte_level(texts: Sequence[str]) -> Any:  # noqa: ANN401
    raw = tokenizers.ByteLevelBPETokenizer()
    raw.train_from_iterator(texts, vocab_size=2000, special_tokens=[END_OF_TEXT], show_progress=False)
    return GPT2TokenizerFast(tokenizer_object=raw._tokenizer)
