"""How fast labels are weighed in process, against one prompt a pass, which is how chat models are usually asked.

Both ways ask the same eight questions a pair with the same weights, on one thread, in turns; in each round the other
way begins. Ours are asked in the portions of a real run, and counted whole; the other way, which makes logits at the
last token only, is timed on some pairs of these. Seconds are those of the processor, which other work on the machine
changes less; rates are medians over rounds, and the ratio is the median of what each round gave. Models are loaded
before, and ours has tried what it can share. The script ends with 1 where log-probabilities differ by more than 1e-4,
or a ratio is below 4.

    senseprobe fetch smollm2
    python benchmarks/chat.py ~/.cache/senseprobe/models/smollm2-0.1.2 [--pairs 64] [--sample 4] [--rounds 3]

The second model has random weights and an eighth of the size, so that what is not the model's own work shows.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

import senseprobe
from senseprobe.evaluate.served.chat_model import ChatLM
from senseprobe.evaluate.served.conversation import CONSTRUCTS, LabelQuestion, choice_questions, variants_of

LEAST = 4.0
TOLERANCE = 1e-4
QUESTIONS = 8  # of a pair

# What transformers takes and gives, without types that are of use.
Foreign: TypeAlias = Any
Way: TypeAlias = Callable[[Sequence[LabelQuestion]], list[tuple[float, ...]]]


def main() -> int:
    """Run both ways on both models, and print what came out. Return 1 where numbers differ, or a ratio is too low."""
    options = _options()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    questions = _questions(options.pairs)
    enough = True
    with tempfile.TemporaryDirectory() as folder:
        for name, place in (("SmolLM2", options.folder), ("random", _random_model(options.folder, Path(folder)))):
            ratio, worst, rates = _time(place, questions, options.sample, options.rounds)
            print(
                f"{name}: {rates[0]:.1f} prompts/s in process, {rates[1]:.1f} one a pass: {ratio:.1f} times as fast;"
                f" log-probabilities differ by {worst:.1e} at most"
            )
            enough &= ratio >= LEAST and worst <= TOLERANCE
    return 0 if enough else 1


def _questions(pairs: int) -> list[LabelQuestion]:
    """Return the questions of the first pairs in the order in which a run takes them."""
    rows = senseprobe.load("sssb").to_pandas("noun")
    units = sorted({*zip(rows["stereo"], rows["anti"], strict=True)})[:pairs]
    return [question for pair in units for question in choice_questions(CONSTRUCTS["likely"], *pair)]


def _time(
    folder: Path, questions: Sequence[LabelQuestion], sample: int, rounds: int
) -> tuple[float, float, tuple[float, float]]:
    """Return how many times as fast ours is, the largest difference, and the prompts a second of both ways."""
    chosen = np.linspace(0, len(questions) // QUESTIONS - 1, sample).round().astype(int).tolist()
    some = [pair * QUESTIONS + number for pair in dict.fromkeys(chosen) for number in range(QUESTIONS)]
    asked = (questions, [questions[number] for number in some])
    ways: tuple[Way, Way] = (_ours(folder), one_a_pass(folder))
    for way in ways:  # warms up, and has ours try what can be shared
        way(questions[:QUESTIONS])
    rates: tuple[list[float], list[float]] = ([], [])
    worst = 0.0
    for turn in range(rounds):
        logs: dict[int, list[tuple[float, ...]]] = {}
        for number in (turn % 2, 1 - turn % 2):
            start = time.process_time()
            logs[number] = ways[number](asked[number])
            rates[number].append(len(asked[number]) / (time.process_time() - start))
        worst = max(worst, float(np.abs(np.array(logs[0])[some] - np.array(logs[1])).max()))
    ratio = median(ours / theirs for ours, theirs in zip(*rates, strict=True))
    return ratio, worst, (median(rates[0]), median(rates[1]))


def _ours(folder: Path) -> Way:
    model = ChatLM.load(str(folder), device="cpu")

    def weigh(questions: Sequence[LabelQuestion]) -> list[tuple[float, ...]]:
        pairs = [questions[start : start + QUESTIONS] for start in range(0, len(questions), QUESTIONS)]
        weights = [
            own
            for portion in model.portions(pairs)
            for own in model.weigh_labels([question for pair in portion for question in pair])
        ]
        return [own.log_probs for own in weights if own is not None]

    return weigh


def one_a_pass(folder: Path) -> Way:
    """Return the way that asks the model in a folder one prompt a pass."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def weigh(questions: Sequence[LabelQuestion]) -> list[tuple[float, ...]]:
        return [_weigh_one(model, tokenizer, question) for question in questions]

    return weigh


@torch.inference_mode()
def _weigh_one(model: Foreign, tokenizer: Foreign, question: LabelQuestion) -> tuple[float, ...]:
    """Return log P of the labels of a question by one pass, with logits at its last token only, as servers do it."""
    chat = [{"role": "user", "content": question.prompt}]
    inputs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    logs = model(**inputs, logits_to_keep=1).logits[0, -1].double().log_softmax(-1)
    tokens = [
        [
            ids[0]
            for text in variants_of(label)
            if len(ids := tokenizer(text, add_special_tokens=False)["input_ids"]) == 1
        ]
        for label in question.labels
    ]
    return tuple(float(logs[own].logsumexp(0)) for own in tokens)


def _random_model(folder: Path, to: Path) -> Path:
    """Save a model of the same kind with random weights, with fewer and narrower layers, and return its folder."""
    config = AutoConfig.from_pretrained(folder)
    config.hidden_size, config.intermediate_size, config.num_hidden_layers = 256, 768, 8
    config.num_attention_heads, config.num_key_value_heads, config.head_dim = 4, 2, 64
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).save_pretrained(to)
    AutoTokenizer.from_pretrained(folder).save_pretrained(to)
    return to


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of a chat model, such as SmolLM2")
    parser.add_argument("--pairs", type=int, default=64, help="of sssb's nouns (default: %(default)s)")
    parser.add_argument("--sample", type=int, default=4, help="pairs of the other way (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="both ways in turn, so often (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
