"""What stands before a text that a causal model reads, where there is a choice: one token of several, or all of them.

Expected values come from a loop in this file, which shares no code with senseprobe: a forward pass for every token,
with the start tokens put in by hand.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.conformance import causal_models

from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

# A tokenizer or model of transformers, which has no types that are of use.
Foreign: TypeAlias = Any

TEXTS = ["Japanese people are kind.", "she is a nurse", "kind", "café owners are unkind."]


def _adds_nothing() -> Foreign:
    return causal_models.byte_level("<end>", "<start>", bos_token="<start>", eos_token="<end>")  # noqa: S106


def _ends_only() -> Foreign:
    return causal_models.byte_level("<other>", "<end>", eos_token="<end>")  # noqa: S106


def _adds(template: str) -> Callable[[], Foreign]:
    named = {"bos_token": "<s>", "eos_token": "</s>"}
    return lambda: causal_models.sentence_piece(template, bytes_for_unknown=True, **named)


CASES: dict[str, tuple[Callable[[], Foreign], tuple[str, ...]]] = {
    # By hand: the token for the beginning of a sequence comes before that for its end.
    "adds nothing": (_adds_nothing, ("<start>",)),
    "has an end only": (_ends_only, ("<end>",)),
    "adds two": (_adds("<s> </s> $A"), ("<s>", "</s>")),
    "adds three": (_adds("</s> <s> <s> $A </s>"), ("</s>", "<s>", "<s>")),
    "adds the end": (_adds("</s> $A"), ("</s>",)),
}


@pytest.fixture(scope="module", params=CASES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, ...]]:
    """A folder with a tiny Llama and such a tokenizer, and what stands before a text."""
    import torch

    torch.set_num_threads(1)
    make_tokenizer, start = CASES[request.param]
    make_model, _ = causal_models.MODELS["llama"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(causal_models, "MODELS", {"llama": (make_model, make_tokenizer)})
        return causal_models.build(tmp_path_factory.mktemp("starts"))["llama"], start


def naive(folder: Path, start: tuple[str, ...], text: str) -> tuple[float, int]:
    """The sum of log P over the text's tokens after the start, each in a pass of its own, and how many there are."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    ids = [tokenizer.get_vocab()[token] for token in start]
    own = tokenizer(text, add_special_tokens=False)["input_ids"]
    total = 0.0
    for token in own:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[0, -1].tolist()
        total += logits[token] - math.log(math.fsum(math.exp(logit) for logit in logits))
        ids.append(token)
    return total, len(own)


def test_only_the_text_is_asked_for_after_its_start(made: tuple[Path, tuple[str, ...]]) -> None:
    """All start tokens are read, and none of them is part of the sum or of the number of tokens."""
    from senseprobe.evaluate.models.causal import load

    folder, start = made
    model = load(str(folder), device="cpu", dtype="float64")
    units = [Unit(text) for text in TEXTS]
    sums, means, shares = (get(name).numbers(model, units)[:, 0] for name in ("ll", "ll-mean", "ll-byte"))
    for place, text in enumerate(TEXTS):
        total, count = naive(folder, start, text)
        assert sums[place] == pytest.approx(total, abs=1e-6)
        assert means[place] == pytest.approx(total / count, abs=1e-6)
        assert shares[place] == pytest.approx(total / len(text.encode()), abs=1e-6)


def test_the_start_is_what_the_tokenizer_says(made: tuple[Path, tuple[str, ...]]) -> None:
    """In the order in which it puts them; where it puts none, the one for a beginning before the one for an end."""
    from transformers import AutoTokenizer

    from senseprobe.evaluate.models.causal import load

    folder, start = made
    vocabulary = AutoTokenizer.from_pretrained(folder).get_vocab()
    assert load(str(folder), device="cpu").start == tuple(vocabulary[token] for token in start)
