"""The scorer of inference once more, as slowly and plainly as can be: what the committed vectors come from.

It shares no code with senseprobe: one pair at a time, special tokens and segments put in by hand, logits in float64,
the softmax written out. `python tests/conformance/naive_inference.py` (in the repository's root) writes
`inference_vectors.json` anew.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

VECTORS = Path(__file__).with_name("inference_vectors.json")
LONGEST = 48

# Written down by hand: what stands before a pair, between its texts and after it, and whether the model has segments.
AROUND = {
    "bert": (("[CLS]",), ("[SEP]",), ("[SEP]",), True),
    "distilbert": (("[CLS]",), ("[SEP]",), ("[SEP]",), False),
    "roberta": (("<s>",), ("</s>", "</s>"), ("</s>",), False),
    "albert": (("[CLS]",), ("[SEP]",), ("[SEP]",), True),
    "modernbert": (("[CLS]",), ("[SEP]",), ("[SEP]",), False),
    "deberta": (("[CLS]",), ("[SEP]",), ("[SEP]",), False),
}

# Which class each spelling is.
MEANT = {
    **dict.fromkeys(("ENTAILMENT", "entailment", "Entails"), "entailment"),
    **dict.fromkeys(("NEUTRAL", "neutral", "Neutral"), "neutral"),
    **dict.fromkeys(("CONTRADICTION", "contradiction", "Contradicts"), "contradiction"),
}
CLASSES = ("entailment", "neutral", "contradiction")

# Premise and hypothesis.
CASES: list[tuple[str, str]] = [
    ("Japanese people are kind.", "she is a talented engineer."),
    ("she is a talented engineer.", "Japanese people are kind."),
    ("Japanese people are kind.", "Japanese people are kind."),
    ("the nurse is kind.", "the nurse is unkind."),
    ("the nurse is unkind.", "the nurse is kind."),
    ("the norwegian nurse is she.", "the engineer is he."),
    # one token, and words of several
    ("kind", "cruel"),
    ("kind", "the talented engineer is uppish and good looking."),
    # unknown tokens, and characters beyond ASCII
    ("Ж people are 日本.", "people are kind."),
    ("café owners are naïve.", "cafe\u0301 owners are nai\u0308ve."),
    # white space before, after and within
    ("  people are  kind.  ", " people are kind."),
    # the name of a special token, punctuation, contraction
    ("english people are [SEP] kind.", "don't the nurses' dresses (black) fit?!"),
    ("people </s> are", "kind <s> people"),
    # as long as a window and longer
    ("the black dress is a friend and the nurse is clever and the engineer", "she is or he is not good"),
    # nothing on one side, on both, and more tokens than the models take
    ("", "people are kind."),
    ("people are kind.", ""),
    ("", ""),
    ("people " + "are kind and clever and " * 8 + "good.", "people " + "are kind and " * 6 + "good."),
]


def probabilities(name: str, model: Any, tokenizer: Any, premise: str, hypothesis: str) -> list[float] | None:  # noqa: ANN401
    """P of entailment, neutral and contradiction; None where a text has no token, or there are too many."""
    import torch

    before, between, after, segments = AROUND[name]
    first, second = (tokenizer.encode(text, add_special_tokens=False) for text in (premise, hypothesis))
    start, middle, end = (tokenizer.convert_tokens_to_ids(list(tokens)) for tokens in (before, between, after))
    ids = [*start, *first, *middle, *second, *end]
    if not first or not second or len(ids) > LONGEST:
        return None
    inputs = {"input_ids": torch.tensor([ids])}
    if segments:
        types = [0] * (len(start) + len(first) + len(middle)) + [1] * (len(second) + len(end))
        inputs["token_type_ids"] = torch.tensor([types])
    with torch.no_grad():
        logits = model(**inputs).logits[0]
    assert logits.dtype == torch.float64
    assert logits.shape == (3,)
    exponentials = np.exp(logits.numpy() - logits.numpy().max())
    softmax = exponentials / exponentials.sum()
    by_class = {MEANT[model.config.id2label[i]]: float(softmax[i]) for i in range(3)}
    return [by_class[label] for label in CLASSES]


def all_vectors(folders: dict[str, Path]) -> dict[str, list[list[float] | None]]:
    """By model, three probabilities for each case; None where the case is unscored."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    found = {}
    for name, folder in folders.items():
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float64).eval()
        found[name] = [probabilities(name, model, tokenizer, *case) for case in CASES]
    return found


def _rounded(values: list[float] | None) -> list[float] | None:
    return None if values is None else [round(value, 9) for value in values]


def main() -> None:
    """Write the vectors."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.conformance.inference_models import SEED, build

    with tempfile.TemporaryDirectory() as folder:
        values = all_vectors(build(Path(folder)))
    content = {
        "about": "Made by naive_inference.py for the models of inference_models.py; null: unscored",
        "seed": SEED,
        "classes": CLASSES,
        "cases": [dict(zip(("premise", "hypothesis"), case, strict=True)) for case in CASES],
        "values": {name: [_rounded(row) for row in rows] for name, rows in values.items()},
    }
    VECTORS.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
