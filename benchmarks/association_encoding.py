"""How fast an encoder makes the vectors of association tests, against the model's bare forward pass, in one run.

Ours is all of it: sentences to tokens, the forward passes, words found and pooled. The bare pass is the model on the
same tokens in the same batches, with nothing looked at: once with its linear layers as senseprobe has them (the roof),
and once as transformers makes it. They take turns in each round; ratios are medians of those within rounds, of
processor seconds.

    python benchmarks/association_encoding.py MODEL… [--level cword] [--every 4] [--rounds 5] [--device cpu]

Exits 1 where ours is less than 0.9 of the roof.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

import torch
from transformers import AutoModel

import senseprobe
from senseprobe.evaluate.models.encoder import Encoder
from senseprobe.evaluate.units import Unit

LEAST = 0.9


def main() -> int:
    """Measure each model, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--level", default="cword")
    parser.add_argument("--every", type=int, default=4, help="so manieth sentence of the release")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    units = read_units(options.level, options.every)
    missed = 0
    for name in options.models:
        for line, ratio in measure_encoding(name, options.device, options.level, units, options.rounds):
            print(line, flush=True)
            missed += ratio < LEAST
    return 1 if missed else 0


def read_units(level: str, every: int) -> list[Unit]:
    """Return the distinct units of the bleached sentences at a level, every so manieth."""
    rows = senseprobe.load("association").to_pandas("bleached")
    if level == "word":
        return [*map(Unit, sorted({*rows["member"]}))][::every]
    places = [(span["start"], span["end"]) if level == "cword" else (-1, -1) for span in rows["span"]]
    return sorted({Unit(text, "", *place) for text, place in zip(rows["sentence"], places, strict=True)})[::every]


def measure_encoding(
    name: str, device: str, level: str, units: Sequence[Unit], rounds: int
) -> Iterator[tuple[str, float]]:
    """Yield a line and the ratio to the roof."""
    encoder = Encoder.load(name, device=device)
    inputs = record_inputs(encoder, level, units)
    plain = AutoModel.from_pretrained(name, dtype=torch.float32).eval().to(device)
    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: [*encoder.encode(level, units)],
        "roof": lambda: run_bare(encoder._model, inputs),
        "plain": lambda: run_bare(plain, inputs),
    }
    seconds = [{way: spend(run, device) for way, run in ways.items()} for _ in range(rounds + 1)][1:]
    roof, usual = (median(taken[way] / taken["ours"] for taken in seconds) for way in ("roof", "plain"))
    tokens = sum(part["input_ids"].numel() for part in inputs)
    yield (
        (
            f"{name} ({level}): {len(units):,} units, {tokens:,} tokens in {len(inputs)} passes,"
            f" {median(taken['ours'] for taken in seconds):.2f} s; {roof:.3f} of the bare pass"
            f" ({'MISSED' if roof < LEAST else 'asked for'}: {LEAST}), {usual:.2f} of transformers' own"
        ),
        roof,
    )


def record_inputs(encoder: Encoder, level: str, units: Sequence[Unit]) -> list[dict[str, Any]]:
    """Return what the model gets in each forward pass."""
    inputs: list[dict[str, Any]] = []
    hook = encoder._model.register_forward_pre_hook(lambda _, __, given: inputs.append(dict(given)), with_kwargs=True)
    for _ in encoder.encode(level, units):
        pass
    hook.remove()
    return inputs


@torch.inference_mode()
def run_bare(model: Any, inputs: Sequence[dict[str, Any]]) -> None:  # noqa: ANN401 - of transformers
    """Run the model on each batch."""
    for part in inputs:
        model(**part)


def spend(run: Callable[[], object], device: str) -> float:
    """Return the seconds of one run: of the processor, or by the clock where another device computes."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    began = clock()
    run()
    if device != "cpu":
        torch.cuda.synchronize()
    return clock() - began


if __name__ == "__main__":
    sys.exit(main())
