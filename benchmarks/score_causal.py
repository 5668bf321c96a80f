"""How fast `ll` scores sssb's noun and nationality with a random GPT-2 of the small size, against rivals in one run.

- padded: what lm-eval does: longest first, padded on the right, log-softmax over the vocabulary at every position.
- bare: nothing but the model's forward pass over the same sentences, those of one length together, at the best of some
  batch sizes. No scores come of it.
- bare, distinct: the same for as many tokens as the sentences have distinct beginnings, which is what `ll` reads.

Exits 1 where scores differ by more than 1e-4 from those of the padded way.

    python benchmarks/score_causal.py [--release releases/sssb/1.0.0] [--rounds 3] [--batch-size 32] [--sample N]
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TypeVar

import numpy as np
import pyarrow.parquet as pq
import tokenizers
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast

from senseprobe.evaluate.models.causal import CausalLM, load
from senseprobe.evaluate.models.checkpoint import Pretrained, quiet
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

TOLERANCE = 1e-4
RELEASE = Path(__file__).parent.parent / "releases" / "sssb" / "1.0.0"
CONFIGS = ("noun", "nationality")
BATCH_SIZES = (16, 32, 64)
END_OF_TEXT = "<|endoftext|>"

Ids = tuple[int, ...]
T = TypeVar("T")


def read_texts(release: Path) -> list[str]:
    """Read the distinct sentences of the configs."""
    tables = [
        pq.read_table(path, columns=["stereo", "anti"])
        for config in CONFIGS
        for path in sorted((release / config).glob("test-*.parquet"))
    ]
    return sorted({text for table in tables for column in table.columns for text in column.to_pylist()})


def make_model(folder: Path, texts: Sequence[str]) -> None:
    """Save a random model of GPT-2 small's size, with a byte-level tokenizer that has the words of the texts."""
    raw = tokenizers.ByteLevelBPETokenizer()
    raw.train_from_iterator(texts, vocab_size=2000, special_tokens=[END_OF_TEXT], show_progress=False)
    GPT2TokenizerFast(tokenizer_object=raw._tokenizer).save_pretrained(folder)
    torch.manual_seed(0)
    GPT2LMHeadModel(GPT2Config()).save_pretrained(folder)


def padded(model: Pretrained, sequences: Sequence[Ids], batch_size: int) -> NDArray[np.float64]:
    """Log-likelihoods given the first token, as lm-eval 0.4.13 computes them."""
    values = np.empty(len(sequences))
    order = sorted(range(len(sequences)), key=lambda i: (-len(sequences[i]), sequences[i]))
    for batch in _chunks(order, batch_size):
        rows = torch.zeros(len(batch), len(sequences[batch[0]]) - 1, dtype=torch.long)
        for row, i in zip(rows, batch, strict=True):
            row[: len(sequences[i]) - 1] = torch.tensor(sequences[i][:-1])
        chances = torch.log_softmax(model(rows).logits, dim=-1)
        for own, i in zip(chances, batch, strict=True):
            asked = torch.tensor(sequences[i][1:])
            values[i] = float(own[: len(asked)].gather(1, asked[:, None]).sum())
    return values


def bare(model: Pretrained, rows: Iterable[Ids], batch_size: int) -> None:
    """Forward passes and nothing else."""
    for _, same in groupby(sorted(rows, key=len), key=len):
        for batch in _chunks(list(same), batch_size):
            model(torch.tensor(batch))


def main() -> int:
    """Time all ways in turn, print rates and ratios, and return the exit status."""
    options = _options()
    texts = read_texts(options.release)
    if not texts:
        raise SystemExit(f"there are no rows of {' and '.join(CONFIGS)} in {options.release}")
    with tempfile.TemporaryDirectory() as name, quiet():
        make_model(Path(name), texts)
        ours = load(name, device="cpu")
        model = AutoModelForCausalLM.from_pretrained(name).eval()
    texts = texts[: options.sample]
    sequences = [(*ours.start, *tokens.ids) for tokens in ours.encode(texts)]
    with torch.inference_mode():
        return _compare(ours, model, texts, sequences, options)


def _compare(
    ours: CausalLM, model: Pretrained, texts: list[str], sequences: list[Ids], options: argparse.Namespace
) -> int:
    inputs = [ids[:-1] for ids in sequences]
    distinct = {ids[:k] for ids in inputs for k in range(1, len(ids) + 1)}
    print(
        f"{len(texts)} sentences with {sum(map(len, inputs))} tokens and {len(distinct)} distinct beginnings;"
        f" GPT-2 small, random, float32; {ours.budget.tokens} tokens a batch; {torch.get_num_threads()} threads"
    )
    units = [Unit(text) for text in texts]
    scores = get("ll").numbers(ours, units)[:, 0]  # the first pass tries whether the model shares beginnings
    difference = float(np.abs(scores - padded(model, sequences, options.batch_size)).max())
    print(f"largest difference of a score {difference:.1e} (allowed: {TOLERANCE:.0e})")
    if difference > TOLERANCE:
        return 1
    as_many = [(*range(8),)] * (len(distinct) // 8)
    best, best_distinct = (_best(model, rows) for rows in (inputs, as_many))
    ways: dict[str, Callable[[], object]] = {
        "ll": lambda: get("ll").numbers(ours, units),
        "padded": lambda: padded(model, sequences, options.batch_size),
        f"bare, batches of {best}": lambda: bare(model, inputs, best),
        f"bare, distinct, batches of {best_distinct}": lambda: bare(model, as_many, best_distinct),
    }
    rounds = [{way: _seconds(work) for way, work in ways.items()} for _ in range(options.rounds)]
    for way in ways:
        rate = median(len(texts) / seconds[way] for seconds in rounds)
        ratio = median(seconds[way] / seconds["ll"] for seconds in rounds)
        print(f"{way:40s} {rate:8.1f} sentences/s   ll is {ratio:5.2f} times as fast")
    return 0


def _best(model: Pretrained, rows: Sequence[Ids]) -> int:
    sample = rows[:: max(1, len(rows) // 128)]
    return min(BATCH_SIZES, key=lambda size: _seconds(lambda: bare(model, sample, size)))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--release", type=Path, default=RELEASE, help="folder of the release (default: the committed one)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="all ways in turn, so often (default: 3)")
    parser.add_argument("--batch-size", type=int, default=32, help="sentences a batch of the padded way (default: 32)")
    parser.add_argument("--sample", type=int, help="the first so many sentences only (default: all)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
