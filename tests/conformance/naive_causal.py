"""Every causal scorer once more, as slowly and plainly as can be: what the committed vectors come from.

It shares no code with senseprobe: one text at a time, one forward pass per token on what stands before it, logits in
float64, loops. `python tests/conformance/naive_causal.py` (in the repository's root) writes `causal_vectors.json` anew.
"""

import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

# A model or tokenizer of transformers, which ships no types that are of use.
Foreign: TypeAlias = Any

VECTORS = Path(__file__).with_name("causal_vectors.json")

# What stands before a text, and how many special tokens the tokenizer puts after it: written down by hand.
START: dict[str, str | None] = {
    "gpt2": "<|endoftext|>",
    "gpt2-bare": None,
    "llama": "<s>",
    "llama-end": "<s>",
    "qwen2": "<|endoftext|>",
    "mistral": "<s>",
    "bloom": "<|endoftext|>",
    "mamba": "<|endoftext|>",
}
# The most tokens that a model may read, where there is such a number.
LONGEST = {"gpt2": 48, "gpt2-bare": 48, "llama": 48, "llama-end": 48, "qwen2": 48, "mistral": 48}

TEXTS = [
    "Japanese people are unkind.",
    "Japanese people are kind.",
    "Japanese people are",
    "Japanese people",
    "Norwegian people are kind.",
    # words of several pieces
    "the talented engineer is uppish.",
    "the talented engineer is good looking.",
    # unknown to tokenizers without bytes
    "Ж people are 日本 and kind.",
    "日",
    # characters beyond ASCII, joined and apart, and some that are several code points or several tokens
    "café owners are naïve.",
    "cafe\u0301 owners are nai\u0308ve.",
    "the 👩\u200d🔬 is kind.",
    # white space before, after and within
    "  she is a nurse.",
    " she is a nurse.",
    "she is a nurse.",
    "people are  kind.  ",
    "people are kind.\nshe is a nurse.",
    # the names of special tokens, punctuation, contraction
    "people are </s> kind",
    "people <s> are kind",
    "kind <|endoftext|> are people",
    "don't the nurses' dresses (black) fit?!",
    # short ones
    "kind",
    " ",
    "",
    # tokens again and again; one text that a model reads whole, one that is a token too long for some
    "kind kind kind kind",
    " ".join(["kind"] * 48),
    " ".join(["kind"] * 49),
    " ".join(["kind"] * 50),
]


def scores(name: str, model: Foreign, tokenizer: Foreign, text: str) -> dict[str, float | None]:
    """The number of each scorer for a text; None where it is unscored."""
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    own, offsets = encoded["input_ids"], encoded["offset_mapping"]
    found: dict[str, float | None] = dict.fromkeys(
        ["ll", "ll-mean", "ll-byte", "ll-no-start", "ll-mean-no-start", "ll-byte-no-start"]
    )
    start = START[name]
    if start is not None and own:
        total = _sum(name, model, [tokenizer.get_vocab()[start]], own)
        if total is not None:
            found["ll"] = total
            found["ll-mean"] = total / len(own)
            found["ll-byte"] = total / len(text.encode("utf-8"))
    if len(own) > 1:
        total = _sum(name, model, own[:1], own[1:])
        if total is not None:
            found["ll-no-start"] = total
            found["ll-mean-no-start"] = total / (len(own) - 1)
            if rest := text[offsets[0][1] :].encode("utf-8"):
                found["ll-byte-no-start"] = total / len(rest)
    return found


def _sum(name: str, model: Foreign, before: list[int], asked: list[int]) -> float | None:
    import torch

    values = []
    for i, token in enumerate(asked):
        context = before + asked[:i]
        if len(context) > LONGEST.get(name, 10**9):
            return None
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([context])).logits[0, -1]
        values.append(torch.log_softmax(logits.double(), dim=0)[token].item())
    return math.fsum(values)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 9)


def main() -> None:
    """Compute every scorer of every model for every text, and write the vectors."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    sys.path.insert(0, str(Path(__file__).parent))
    from causal_models import build  # type: ignore[import-not-found, unused-ignore]

    vectors: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, place in build(Path(folder)).items():
            tokenizer = AutoTokenizer.from_pretrained(place)
            model = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float64).eval()
            rows = [scores(name, model, tokenizer, text) for text in TEXTS]
            vectors[name] = {key: [_rounded(row[key]) for row in rows] for key in rows[0]}
    VECTORS.write_text(json.dumps({"texts": TEXTS, "scores": vectors}, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
