r"""How many pairs a second an attention model on vectors answers: row by row, by shared comparisons, as `score` does.

Each way answers the same pairs with the same random weights in one run, and they take turns; rates are medians over
rounds. Pairs have the form of nli-occupation: each of 148 occupations did something (80 activities of nli-control), and
so did one of six words of gender.

- `row by row`: the network on the vectors of every word of every pair, padded in batches; nothing is shared.
- `shared`: `static_pass.answer_pairs`, which computes once what pairs have in common.
- `scorer`: what `score -m nli` runs, from texts to probabilities, without reading or storing rows.

    python benchmarks/nli_static.py [--pairs 71040] [--rounds 3] [--threads 2] [--hidden 100] [--dimensions 50]

Exits 1 where probabilities differ by more than 1e-5, or `shared` or `scorer` are below 14,000 pairs a second.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
from numpy.typing import NDArray

import senseprobe
from senseprobe.evaluate.mitigation.attention import DecomposableAttention, pad
from senseprobe.evaluate.mitigation.attention_model import AttentionModel, WordTable
from senseprobe.evaluate.mitigation.static_pass import answer_pairs
from senseprobe.evaluate.models.vector_files import VectorFile
from senseprobe.evaluate.scorers.nli import nli
from senseprobe.evaluate.units import Unit

GOAL = 14_000
TOLERANCE = 1e-5
GENDERED = ("man", "woman", "gentleman", "lady", "boy", "girl")
BATCH = 512  # pairs of a pass row by row: the fastest of 128 to 4,096
SHARED = 4_096

Answers = NDArray[np.float64]


def make_pairs(most: int) -> list[tuple[str, str]]:
    """Return premises and hypotheses, activity by activity."""
    rows = senseprobe.load("nli-control@1.0.1").table("occupation", spans=False)
    rows = rows.drop_duplicates(["verb", "object", "occupation"]).sort_values(["verb", "object", "occupation"])
    pairs = [
        (premise, premise.replace(f"The {occupation} ", f"The {word} ", 1))
        for premise, occupation in zip(rows["premise"], rows["occupation"], strict=True)
        for word in GENDERED
    ]
    return pairs[:most]


def make_model(pairs: list[tuple[str, str]], dimensions: int, hidden: int, folder: Path) -> AttentionModel:
    """Return a model with random weights on random vectors of the words of the pairs."""
    torch.manual_seed(0)
    words = sorted({word.strip(".").lower() for pair in pairs for text in pair for word in text.split()})
    numbers = np.random.default_rng(0).normal(size=(len(words), dimensions)) / np.sqrt(dimensions)
    lines = (
        f"{word} {' '.join(f'{number:.6f}' for number in row)}\n" for word, row in zip(words, numbers, strict=True)
    )
    (folder / "vectors.txt").write_text("".join(lines), encoding="utf-8")
    table = WordTable(VectorFile.load(f"vectors:{folder / 'vectors.txt'}"), 1.0)
    return AttentionModel("random", DecomposableAttention(dimensions, hidden), table, {"weights": "random"})


def answer_rows(model: AttentionModel, pairs: list[tuple[str, str]]) -> Answers:
    """Return probabilities of the network on the vectors of every word of every pair."""
    read, answers = model.encode(pairs), []
    vectors = torch.from_numpy(model.words.vectors)
    with torch.inference_mode():
        for start in range(0, len(read), BATCH):
            batch = read[start : start + BATCH]
            texts = [pad([pair.premise for pair in batch]), pad([pair.hypothesis for pair in batch])]
            flat = np.concatenate([text.ravel() for text in texts])
            places = np.where(flat >= 0, np.arange(len(flat)), -1)
            first, second = (
                torch.from_numpy(part.reshape(text.shape))
                for part, text in zip(np.split(places, [texts[0].size]), texts, strict=True)
            )
            answers.append(model.network(vectors[torch.from_numpy(np.maximum(flat, 0))], first, second))
    return torch.cat(answers).double().softmax(1).numpy()


def answer_shared(model: AttentionModel, pairs: list[tuple[str, str]]) -> Answers:
    """Return probabilities by comparisons that pairs share."""
    read, answers = model.encode(pairs), []
    for start in range(0, len(read), SHARED):
        numbers: dict[tuple[int, ...], int] = {}
        batch = [
            (numbers.setdefault(pair.premise, len(numbers)), numbers.setdefault(pair.hypothesis, len(numbers)))
            for pair in read[start : start + SHARED]
        ]
        answers.append(answer_pairs(model.network, model.terms(), [*numbers], np.array(batch)))
    return torch.cat(answers).double().softmax(1).numpy()


def answer_scorer(model: AttentionModel, pairs: list[tuple[str, str]]) -> Answers:
    """Return probabilities as `score` gets them."""
    units = [Unit(*pair) for pair in pairs]
    answers = {unit: numbers for batch in nli(model, units, ()) for unit, numbers in batch}  # type: ignore[arg-type]
    return np.array([answers[unit] for unit in units])


WAYS: dict[str, Callable[[AttentionModel, list[tuple[str, str]]], Answers]] = {
    "row by row": answer_rows,
    "shared": answer_shared,
    "scorer": answer_scorer,
}


def main() -> int:
    """Time all ways, and print what they came to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, number in (("pairs", 71_040), ("rounds", 3), ("threads", 2), ("hidden", 100), ("dimensions", 50)):
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    pairs = make_pairs(options.pairs)
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(pairs, options.dimensions, options.hidden, Path(folder))
        expected = answer_rows(model, pairs)
        differences = {name: float(np.abs(way(model, pairs) - expected).max()) for name, way in WAYS.items()}
        clock: dict[str, list[float]] = {name: [] for name in WAYS}
        processor: dict[str, list[float]] = {name: [] for name in WAYS}
        for turn in range(options.rounds):
            for name in [*WAYS][turn % len(WAYS) :] + [*WAYS][: turn % len(WAYS)]:
                start, used = time.perf_counter(), time.process_time()
                WAYS[name](model, pairs)
                clock[name].append(len(pairs) / (time.perf_counter() - start))
                processor[name].append(len(pairs) / (time.process_time() - used))
    print(f"{len(pairs):,} pairs, {options.hidden} hidden units, float32, {options.threads} threads")
    print(f"{'':12}{'pairs/s':>12}{'per second of processor':>26}{'largest difference':>21}")
    for name in WAYS:
        rates = f"{median(clock[name]):12,.0f}{median(processor[name]):26,.0f}"
        print(f"{name:12}{rates}{differences[name]:21.1e}")
    slow = [name for name in ("shared", "scorer") if median(clock[name]) < GOAL]
    apart = [name for name, difference in differences.items() if difference > TOLERANCE]
    for name in slow:
        print(f"{name}: below {GOAL:,} pairs/s")
    for name in apart:
        print(f"{name}: further from row by row than {TOLERANCE}")
    return int(bool(slow or apart))


if __name__ == "__main__":
    sys.exit(main())
