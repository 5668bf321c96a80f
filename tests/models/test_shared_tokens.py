"""Which tokens two long sentences share: frequent ones count as any other, however long the sentences are.

Expected values come from loops in this file, which share no code with senseprobe and do without difflib: blocks in
common, longest first, and a forward pass for every masked token, in float64.
"""

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.conformance import masked_models

from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

# A model of transformers, which has no types that are of use.
Foreign: TypeAlias = Any

# 209 and 210 tokens. Most of them come again and again: difflib by itself takes such tokens for noise.
BEGINNING = "people are kind and clever and " * 34
ONE = BEGINNING + "she is a nurse."
OTHER = BEGINNING + "he is a good nurse."
# As long, but only some of the words are frequent; the rest is there once.
LETTERS = "b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9"
MIXED = f"she {LETTERS} is " + "kind and cruel or " * 45 + "clever"
TURNED = "kind and cruel or " * 45 + f"he {LETTERS} is clever"


def _long_bert(size: int) -> Foreign:
    import transformers

    config = transformers.BertConfig(vocab_size=size, max_position_embeddings=260, **masked_models.SIZES)
    return transformers.BertForMaskedLM(config)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BERT that reads 260 tokens."""
    import torch

    torch.set_num_threads(1)
    _, tokenizer = masked_models.MODELS["bert"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(masked_models, "MODELS", {"bert": (_long_bert, tokenizer)})
        return masked_models.build(tmp_path_factory.mktemp("long"))["bert"]


def blocks(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Places that match: those of the longest block in common, the first of equal ones, and so on left and right."""
    best, at, bt = 0, 0, 0
    lengths = [0] * (len(b) + 1)
    for i in range(len(a)):
        new = [0] * (len(b) + 1)
        for j in range(len(b)):
            if a[i] == b[j]:
                new[j + 1] = lengths[j] + 1
                if new[j + 1] > best:
                    best, at, bt = new[j + 1], i + 1 - new[j + 1], j + 1 - new[j + 1]
        lengths = new
    if best == 0:
        return []
    after = blocks(a[at + best :], b[bt + best :])
    return [
        *blocks(a[:at], b[:bt]),
        *((at + k, bt + k) for k in range(best)),
        *((at + best + i, bt + best + j) for i, j in after),
    ]


def naive(folder: Path, text: str, beside: str, *, second: bool) -> tuple[float, int]:
    """The sum over shared tokens of log P of each where it alone is masked, and how many are shared.

    Sentence 1 of the pair is `beside` where the text is the `second`.
    """
    tokenizer, _ = opened(folder)
    mine, theirs = (list(tokenizer(each)["input_ids"]) for each in (text, beside))
    pairs = blocks(mine, theirs) if not second else [(j, i) for i, j in blocks(theirs, mine)]
    special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
    shared = [i for i, j in pairs if mine[i] not in special and theirs[j] not in special]
    return sum(log_p(folder, tuple(mine), place) for place in shared), len(shared)


@cache
def opened(folder: Path) -> tuple[Foreign, Foreign]:
    """The tokenizer, and the model in double precision."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).double().eval()


@cache
def log_p(folder: Path, ids: tuple[int, ...], place: int) -> float:
    """Log P of the token at a place where it alone is masked."""
    import torch

    tokenizer, model = opened(folder)
    row = [*ids]
    row[place] = tokenizer.mask_token_id
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([row])).logits[0, place].tolist()
    return float(logits[ids[place]] - math.log(math.fsum(math.exp(logit) for logit in logits)))


@pytest.mark.parametrize(
    ("text", "beside", "count"),
    [
        # By hand: all but she; but he and good.
        (ONE, OTHER, 208),
        (OTHER, ONE, 208),
        # By hand: the 180 frequent words and clever; the letters stand on the other side of them.
        (MIXED, TURNED, 181),
        (TURNED, MIXED, 181),
    ],
)
@pytest.mark.parametrize("second", [False, True])
def test_cps_of_long_sentences_sums_over_all_that_they_share(
    second: bool,
    text: str,
    beside: str,
    count: int,
    folder: Path,
) -> None:
    """More than 200 tokens, most of which come again and again, are matched as few are."""
    from senseprobe.evaluate.models.masked import load

    tokenizer, _ = opened(folder)
    assert min(len(tokenizer(each)["input_ids"]) for each in (text, beside)) >= 200
    expected, shared = naive(folder, text, beside, second=second)
    assert shared == count
    found = get("cps").numbers(load(str(folder), device="cpu", dtype="float64"), [Unit(text, beside, second=second)])
    assert found[0, 0] == pytest.approx(expected, abs=1e-6)
