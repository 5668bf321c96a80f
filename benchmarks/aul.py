"""How fast `aul` scores sssb with a BERT-base-sized random model, against the obvious loop, in one run.

The obvious loop is one sentence per forward pass, both sentences of each pair, logits at every position. It is timed on
a random sample of the pairs, senseprobe on all of them, in turn. Exits 1 where the two differ by more than 1e-4.

    python benchmarks/aul.py [--release releases/sssb/1.0.0] [--sample 60] [--rounds 3] [--batch-tokens N]
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, BertConfig, BertForMaskedLM

from senseprobe.evaluate import planted
from senseprobe.evaluate.models.checkpoint import quiet
from senseprobe.evaluate.models.masked import MaskedLM, load
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

TOLERANCE = 1e-4
RELEASE = Path(__file__).parent.parent / "releases" / "sssb" / "1.0.0"


def read_pairs(release: Path) -> list[tuple[str, str]]:
    """Read the stereo and anti sentences of every row of a release, all configs together."""
    tables = [pq.read_table(path, columns=["stereo", "anti"]) for path in sorted(release.glob("*/test-*.parquet"))]
    if not tables:
        raise SystemExit(f"there are no rows in {release}")
    rows = pa.concat_tables(tables)
    return list(zip(rows["stereo"].to_pylist(), rows["anti"].to_pylist(), strict=True))


def make_model(folder: Path, texts: Sequence[str]) -> None:
    """Save a random model of BERT-base's size, with a tokenizer that has the words of the texts."""
    planted.tokenizer_of(texts).save_pretrained(folder)
    torch.manual_seed(0)
    BertForMaskedLM(BertConfig()).save_pretrained(folder)


def obvious_loop(folder: Path, texts: Sequence[str]) -> tuple[list[float], float]:
    """Score one text after the other; return the scores and the seconds that they took, loading not counted."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    scores = []
    start = time.perf_counter()
    with torch.no_grad():
        for text in texts:
            inputs = tokenizer(text, return_tensors="pt")
            chances = torch.log_softmax(model(**inputs).logits[0], dim=-1)
            own = chances.gather(1, inputs["input_ids"][0][:, None])[1:-1, 0]
            scores.append(own.mean().item())
    return scores, time.perf_counter() - start


def main() -> int:
    """Time both ways in turn, print speeds and ratios, and return the exit status."""
    options = _options()
    pairs = read_pairs(options.release)
    texts = [text for pair in pairs for text in pair]
    chosen = np.random.default_rng(0).choice(len(pairs), min(options.sample, len(pairs)), replace=False)
    sample = [text for i in chosen for text in pairs[i]]
    with tempfile.TemporaryDirectory() as name, quiet():
        make_model(Path(name), texts)
        model = load(name, batch_tokens=options.batch_tokens)
        print(
            f"{len(pairs)} pairs on {len(set(texts))} distinct sentences; BERT-base, random, float32;"
            f" {model.budget.tokens} tokens a batch; {torch.get_num_threads()} threads"
        )
        obvious_loop(Path(name), sample[:10])  # the first passes are slow
        rounds = [_round(Path(name), model, texts, sample) for _ in range(options.rounds)]
    pairs_per_second = [(len(texts) / 2 / fast, len(sample) / 2 / slow) for fast, slow, _ in rounds]
    for fast, slow in pairs_per_second:
        print(f"obvious loop {slow:7.1f} pairs/s, senseprobe {fast:7.1f} pairs/s, ratio {fast / slow:6.1f}")
    print(f"median ratio {median(fast / slow for fast, slow in pairs_per_second):.1f}")
    difference = max(worst for _, _, worst in rounds)
    print(f"largest difference of a score {difference:.1e} (allowed: {TOLERANCE:.0e})")
    return 0 if difference <= TOLERANCE else 1


def _round(folder: Path, model: MaskedLM, texts: Sequence[str], sample: Sequence[str]) -> tuple[float, float, float]:
    """Seconds for all texts our way, seconds for the sample the obvious way, and the largest difference of a score."""
    naive, slow = obvious_loop(folder, sample)
    start = time.perf_counter()
    numbers = get("aul").numbers(model, [Unit(text) for text in texts])
    fast = time.perf_counter() - start
    scores = dict(zip(texts, numbers[:, 0], strict=True))
    return fast, slow, max(abs(scores[text] - value) for text, value in zip(sample, naive, strict=True))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--release", type=Path, default=RELEASE, help="folder of the release (default: the committed one)"
    )
    parser.add_argument("--sample", type=int, default=60, help="pairs that the obvious loop is timed on (default: 60)")
    parser.add_argument("--rounds", type=int, default=3, help="both ways in turn, so often (default: 3)")
    parser.add_argument("--batch-tokens", type=int, help="tokens of a forward pass (default: what suits the device)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
