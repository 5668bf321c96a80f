"""What minicons and lm-eval give for models and texts: JSON on standard input, JSON on standard output.

`evaluate/test_peers.py` runs it with the Python of an environment of its own; nothing of senseprobe is in here.
In: {"masked": {name: folder}, "causal": {name: folder}, "texts": {"masked": […], "causal": […]}}.
"""

import json
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from lm_eval.api.instance import Instance  # type: ignore[import-not-found, import-untyped, unused-ignore]
from lm_eval.models.huggingface import HFLM  # type: ignore[import-not-found, import-untyped, unused-ignore]
from minicons.scorer import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    IncrementalLMScorer,
    MaskedLMScorer,
)
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

# Models, tokenizers and scorers, without types that are of use.
Foreign: TypeAlias = Any

METRICS = ("original", "within_word_l2r")


def masked(folder: str, texts: list[str]) -> dict[str, list[float | None]]:
    """The pseudo-log-likelihoods of minicons, summed, by its name for the metric."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    # transformers 5 dropped this name, which minicons 0.3.39 calls.
    tokenizer.batch_encode_plus = tokenizer.__call__
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float64)
    scorer = MaskedLMScorer(model, "cpu", tokenizer=tokenizer)
    return {metric: [_sum(scorer, text, PLL_metric=metric) for text in texts] for metric in METRICS}


def causal(folder: str, texts: list[str]) -> dict[str, list[float | None]]:
    """The sums of minicons, as it is and with its start token, and of lm-eval after an empty context."""
    made: dict[str, Callable[[], list[float | None]]] = {
        "minicons": lambda: _minicons(folder, texts, bos_token=False),
        "minicons-start": lambda: _minicons(folder, texts, bos_token=True),
        "lm-eval": lambda: _lm_eval(folder, texts),
    }
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if tokenizer.bos_token is None:
        del made["minicons-start"]
    if tokenizer.bos_token is None and tokenizer.eos_token is None:
        # lm-eval has no token to begin with, and minicons adds one to the vocabulary, which changes every number.
        return {}
    return {name: make() for name, make in made.items()}


def _minicons(folder: str, texts: list[str], *, bos_token: bool) -> list[float | None]:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    scorer = IncrementalLMScorer(_causal_model(folder), "cpu", tokenizer=tokenizer)
    return [_sum(scorer, text, bos_token=bos_token) for text in texts]


def _lm_eval(folder: str, texts: list[str]) -> list[float | None]:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    harness = HFLM(pretrained=_causal_model(folder), tokenizer=tokenizer, batch_size=4, device="cpu")

    def numbers(some: list[str]) -> list[float | None]:
        asked = [Instance("loglikelihood", {}, ("", text), 0) for text in some]
        try:
            return [float(value) for value, _ in harness.loglikelihood(asked, disable_tqdm=True)]
        except AssertionError:  # a text that is too long stops the run
            return [None] if len(some) == 1 else [number for text in some for number in numbers([text])]

    return numbers(texts)


def _causal_model(folder: str) -> Foreign:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()


def _sum(scorer: Foreign, text: str, **how: object) -> float | None:
    """None where minicons cannot score a text (of one token, say)."""
    try:
        return float(scorer.sequence_score([text], reduction=lambda x: x.double().sum().item(), **how)[0])
    except (IndexError, RuntimeError, ValueError):
        return None


def main() -> None:
    """Answer what is asked."""
    asked = json.load(sys.stdin)
    ask: dict[str, Callable[[str, list[str]], dict[str, list[float | None]]]] = {"masked": masked, "causal": causal}
    found = {
        kind: {name: one(folder, asked["texts"][kind]) for name, folder in asked[kind].items()}
        for kind, one in ask.items()
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
