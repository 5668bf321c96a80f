"""Tiny models of inference, the same everywhere: `python tests/conformance/inference_models.py FOLDER` makes them.

They are made as those of `masked_models.py`, whose words, tokenizers and weights by hash they have. Their classes stand
in all six orders, under names as checkpoints on the Hub spell them. `inference_vectors.json` has what the scorer gives
for them, by `naive_inference.py`; another program can be held against it without senseprobe.
"""

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

# A model or tokenizer of transformers, which ships no types that are of use.
Foreign: TypeAlias = Any

MASKED: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("masked_models.py")))
SEED: str = MASKED["SEED"]
LONGEST: int = MASKED["LONGEST"]
SIZES: dict[str, int] = MASKED["SIZES"]

LABELS = {
    "bert": ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"),
    "distilbert": ("entailment", "neutral", "contradiction"),
    "roberta": ("contradiction", "entailment", "neutral"),
    "albert": ("Neutral", "Entails", "Contradicts"),
    "modernbert": ("entailment", "contradiction", "neutral"),
    "deberta": ("neutral", "contradiction", "entailment"),
}
"""By model, the names of its outputs, in their order."""


def _paired(tokenizer: Foreign, cls: str, sep: str, *, segments: bool) -> Foreign:
    """The tokenizer with one special token before a pair, between its texts and after it; whether it tells segments."""
    import transformers
    from tokenizers import processors

    tokens = [(name, tokenizer.convert_tokens_to_ids(name)) for name in (cls, sep)]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0", pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1", special_tokens=tokens
    )
    told = ["input_ids", *(["token_type_ids"] if segments else []), "attention_mask"]
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer, model_input_names=told, **tokenizer.special_tokens_map
    )


def _wordpiece(*, lower: bool) -> Foreign:
    # DistilBERT's tokenizer, too, tells segments, which the model has not.
    return _paired(MASKED["wordpiece"](lower=lower, template=None), "[CLS]", "[SEP]", segments=True)


def _unigram() -> Foreign:
    return _paired(MASKED["unigram"](), "[CLS]", "[SEP]", segments=True)


def _roberta_tokenizer() -> Foreign:
    # Two separators stand between the texts, and there are no segments.
    return MASKED["byte_level"]("<s>", "</s>", "<pad>", "<mask>", "<unk>", trim=True)


def _modernbert_tokenizer() -> Foreign:
    tokenizer = MASKED["byte_level"]("[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]", trim=False)
    return _paired(tokenizer, "[CLS]", "[SEP]", segments=False)


def _bert(**told: Foreign) -> Foreign:
    import transformers

    config = transformers.BertConfig(max_position_embeddings=LONGEST, **told, **SIZES)
    return transformers.BertForSequenceClassification(config)


def _distilbert(**told: Foreign) -> Foreign:
    import transformers

    sizes = {"dim": 24, "n_layers": 3, "n_heads": 2, "hidden_dim": 40}
    config = transformers.DistilBertConfig(max_position_embeddings=LONGEST, **sizes, **told)
    return transformers.DistilBertForSequenceClassification(config)


def _roberta(**told: Foreign) -> Foreign:
    import transformers

    # Positions are counted from the padding id, 1, on.
    places = {"max_position_embeddings": LONGEST + 2, "type_vocab_size": 1, "pad_token_id": 1}
    return transformers.RobertaForSequenceClassification(transformers.RobertaConfig(**places, **told, **SIZES))


def _albert(**told: Foreign) -> Foreign:
    import transformers

    config = transformers.AlbertConfig(embedding_size=12, max_position_embeddings=LONGEST, **told, **SIZES)
    return transformers.AlbertForSequenceClassification(config)


def _modernbert(**told: Foreign) -> Foreign:
    import transformers

    # Windows of four tokens to either side in two layers of three, so that pairs are longer than a window.
    ids = {"pad_token_id": 1, "bos_token_id": 0, "cls_token_id": 0, "eos_token_id": 2, "sep_token_id": 2}
    windows = {"local_attention": 8, "global_attn_every_n_layers": 3}
    config = transformers.ModernBertConfig(max_position_embeddings=LONGEST, **windows, **ids, **told, **SIZES)
    return transformers.ModernBertForSequenceClassification(config)


def _deberta(**told: Foreign) -> Foreign:
    import transformers

    # As version 3 has it: positions are relative and in buckets, and there are no segments.
    relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}
    relative |= {"position_buckets": 8, "share_att_key": True, "norm_rel_ebd": "layer_norm", "type_vocab_size": 0}
    config = transformers.DebertaV2Config(max_position_embeddings=LONGEST, **relative, **told, **SIZES)
    return transformers.DebertaV2ForSequenceClassification(config)


MODELS: dict[str, tuple[Callable[..., Foreign], Callable[[], Foreign]]] = {
    "bert": (_bert, lambda: _wordpiece(lower=True)),
    "distilbert": (_distilbert, lambda: _wordpiece(lower=False)),
    "roberta": (_roberta, _roberta_tokenizer),
    "albert": (_albert, _unigram),
    "modernbert": (_modernbert, _modernbert_tokenizer),
    "deberta": (_deberta, _unigram),
}
"""By name, what makes the model for a size of vocabulary and names of classes, and what makes its tokenizer."""


def build(folder: Path) -> dict[str, Path]:
    """Write every model with its tokenizer into a folder of its own in `folder`."""
    import torch

    folders = {}
    for name, (make_model, make_tokenizer) in MODELS.items():
        tokenizer = make_tokenizer()
        labels = dict(enumerate(LABELS[name]))
        with torch.random.fork_rng():
            model = make_model(
                vocab_size=len(tokenizer), id2label=labels, label2id={label: i for i, label in labels.items()}
            )
        MASKED["_fill"](model, f"inference {name}")
        folders[name] = folder / name
        model.save_pretrained(folders[name])
        tokenizer.save_pretrained(folders[name])
    return folders


if __name__ == "__main__":
    print(json.dumps({name: str(place) for name, place in build(Path(sys.argv[1])).items()}, indent=2))  # noqa: T201
