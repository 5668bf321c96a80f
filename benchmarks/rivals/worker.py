"""minicons and lm-eval as they are, in a process of their own. Nothing of senseprobe is in here.

The first line of standard input is {"rival", "folder", "device", "threads"}; each other one {"texts", "batch_size"},
which is answered by {"values", "seconds"}. What is printed along the way goes to standard error.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

Score = Callable[[list[str], int], Iterator[float]]


def minicons_pll(folder: str, device: str) -> Score:
    """The pseudo-log-likelihood of Salazar et al., batches of texts."""
    from minicons.scorer import MaskedLMScorer  # type: ignore[import-not-found, import-untyped, unused-ignore]

    tokenizer = AutoTokenizer.from_pretrained(folder)
    # transformers 5 dropped this name, which minicons 0.3.39 calls.
    tokenizer.batch_encode_plus = tokenizer.__call__
    model = AutoModelForMaskedLM.from_pretrained(folder)
    return _by_minicons(MaskedLMScorer(model, device, tokenizer=tokenizer), PLL_metric="original")


def minicons_ll(folder: str, device: str) -> Score:
    """Log-likelihoods after the start token, batches of texts."""
    from minicons.scorer import IncrementalLMScorer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    return _by_minicons(IncrementalLMScorer(model, device, tokenizer=tokenizer), bos_token=True)


def _by_minicons(scorer: Any, **how: object) -> Score:  # noqa: ANN401 - a foreign type
    def score(texts: list[str], batch_size: int) -> Iterator[float]:
        for start in range(0, len(texts), batch_size):
            batch = texts[start : start + batch_size]
            yield from scorer.sequence_score(batch, reduction=lambda x: x.sum(0).item(), **how)

    return score


def lm_eval_ll(folder: str, device: str) -> Score:
    """Log-likelihoods after an empty context, batches of texts."""
    from lm_eval.api.instance import Instance  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from lm_eval.models.huggingface import HFLM  # type: ignore[import-not-found, import-untyped, unused-ignore]

    model = AutoModelForCausalLM.from_pretrained(folder).eval().to(device)
    harness = HFLM(pretrained=model, tokenizer=AutoTokenizer.from_pretrained(folder), device=device)

    def score(texts: list[str], batch_size: int) -> Iterator[float]:
        harness.batch_size_per_gpu = batch_size
        asked = [Instance("loglikelihood", {}, ("", text), 0) for text in texts]
        return (float(value) for value, _ in harness.loglikelihood(asked, disable_tqdm=True))

    return score


RIVALS = {
    "minicons PLL": ("minicons", minicons_pll),
    "minicons": ("minicons", minicons_ll),
    "lm-eval": ("lm_eval", lm_eval_ll),
}


def main() -> None:
    """Answer until nothing more is asked."""
    answers = sys.stdout
    asked = json.loads(sys.stdin.readline())
    torch.set_num_threads(asked["threads"])
    library, load = RIVALS[asked["rival"]]
    with contextlib.redirect_stdout(sys.stderr):
        score = load(asked["folder"], asked["device"])
        named = " ".join(
            [library, version(library), "on torch", version("torch"), "transformers", version("transformers")]
        )
        print(json.dumps({"named": named}), file=answers, flush=True)
        for line in sys.stdin:
            question = json.loads(line)
            start = time.perf_counter()
            values = list(score(question["texts"], question["batch_size"]))
            seconds = time.perf_counter() - start
            print(json.dumps({"values": values, "seconds": seconds}), file=answers, flush=True)


if __name__ == "__main__":
    main()
