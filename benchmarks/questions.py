"""How fast questions are put to a model in process, against one prompt a pass, which is how chat models are asked.

Both ways ask the same twelve questions a row of the built-in dataset with the same weights, on one thread, in turns; in
each round the other way begins. Seconds are those of the processor; ours are counted whole, in the portions of a real
run, the other way on some of the prompts. The ratio is the median over rounds. Beside it stands the bound that prompts
allow: their tokens, over those left where what they begin with is read once. The script ends with 1 where
log-probabilities differ by more than 1e-4, or the ratio is below 4.

    senseprobe fetch smollm2
    python benchmarks/questions.py ~/.cache/senseprobe/models/smollm2-0.1.2 [--rows 32] [--sample 24] [--rounds 3]
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
import torch
import transformers
from chat import LEAST, TOLERANCE, Way, one_a_pass

import senseprobe
from senseprobe.evaluate.served.chat_model import ChatLM
from senseprobe.evaluate.served.conversation import LabelQuestion
from senseprobe.kinds.question.answer_orders import ALL_PARTS, ask
from senseprobe.kinds.question.units import select_units


def main() -> int:
    """Run both ways, and print what came out. Return 1 where numbers differ, or the ratio is too low."""
    options = _options()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    release = senseprobe.load(options.release)
    table = select_units({"": release.table(release.configs[0])})[""]
    units = sorted({*zip(table["prompt"], table["answers"], strict=True)})[: options.rows]
    questions = [question for unit in units for question in ask(*unit, ALL_PARTS)]
    some = np.linspace(0, len(questions) - 1, options.sample).round().astype(int).tolist()
    model = ChatLM.load(str(options.folder), device="cpu")
    ways: tuple[Way, Way] = (_in_portions(model), one_a_pass(options.folder))
    asked = (questions, [questions[number] for number in some])
    for way in ways:  # warms up, and has ours try what can be shared
        way(questions[:12])
    ratios, worst = [], 0.0
    for turn in range(options.rounds):
        seconds, logs = [0.0, 0.0], dict[int, list[tuple[float, ...]]]()
        for number in (turn % 2, 1 - turn % 2):
            start = time.process_time()
            logs[number] = ways[number](asked[number])
            seconds[number] = (time.process_time() - start) / len(asked[number])
        ratios.append(seconds[1] / seconds[0])
        worst = max(worst, float(np.abs(np.array([logs[0][n] for n in some]) - np.array(logs[1])).max()))
    ids = model._encode([(question.prompt, "") for question in questions])
    nodes = len({prompt[:end] for prompt in ids for end in range(1, len(prompt) + 1)})
    tokens = sum(map(len, ids))
    print(
        f"{len(questions)} prompts of {tokens / len(ids):.0f} tokens: {1 / seconds[0]:.1f} a second in process, "
        f"{median(ratios):.1f} times one a pass ({min(ratios):.1f} to {max(ratios):.1f}); shared beginnings allow "
        f"{tokens / nodes:.1f}; log-probabilities differ by {worst:.1e} at most"
    )
    return 0 if median(ratios) >= LEAST and worst <= TOLERANCE else 1


def _in_portions(model: ChatLM) -> Way:
    def weigh(questions: Sequence[LabelQuestion]) -> list[tuple[float, ...]]:
        rows = [questions[start : start + 12] for start in range(0, len(questions), 12)]
        portions = ([question for row in portion for question in row] for portion in model.portions(rows))
        return [each.log_probs for portion in portions for each in model.weigh_labels(portion) if each is not None]

    return weigh


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of a chat model, such as SmolLM2")
    parser.add_argument("--release", default="questions", help="of questions (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=32, help="of its first config (default: %(default)s)")
    parser.add_argument("--sample", type=int, default=24, help="prompts of the other way (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="both ways in turn, so often (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
