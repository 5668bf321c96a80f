"""What lm-eval and minicons give for the tiny causal models: where `causal_peers.json` comes from.

Neither is needed by senseprobe. In an environment that has lm-eval 0.4.13, minicons 0.3.39 and what senseprobe has,
`python tests/conformance/causal_peers.py` (in the repository's root) writes the file anew.
"""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from transformers import AutoModelForCausalLM, AutoTokenizer

# Models and tokenizers of transformers, which ships no types that are of use.
Foreign: TypeAlias = Any

HERE = Path(__file__).parent
LONGEST = 48
# minicons adds a padding token to a vocabulary that has no special tokens at all, which changes every number.
NOT_BY_MINICONS = {"gpt2-bare"}


def lm_eval(model: Foreign, tokenizer: Foreign, texts: list[str]) -> list[float]:
    """Log-likelihoods with an empty context."""
    from lm_eval.api.instance import Instance  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from lm_eval.models.huggingface import HFLM  # type: ignore[import-not-found, import-untyped, unused-ignore]

    harness = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=4, device="cpu", max_length=LONGEST)
    asked = [Instance("loglikelihood", {}, ("", text), 0) for text in texts]
    return [float(value) for value, _ in harness.loglikelihood(asked, disable_tqdm=True)]


def minicons(model: Foreign, tokenizer: Foreign, texts: list[str]) -> list[float]:
    """`sequence_score` as it is by default: a mean per token, in natural logarithms."""
    from minicons.scorer import IncrementalLMScorer  # type: ignore[import-not-found, import-untyped, unused-ignore]

    scorer = IncrementalLMScorer(model, "cpu", tokenizer=tokenizer)
    return [float(scorer.sequence_score([text])[0]) for text in texts]


def main() -> None:
    """Score the texts that both can score with every model, and write the numbers."""
    sys.path.insert(0, str(HERE))
    from causal_models import build  # type: ignore[import-not-found, unused-ignore]

    vectors = json.loads((HERE / "causal_vectors.json").read_text("utf-8"))
    texts = [text for text in vectors["texts"] if len(text.split()) > 1 and len(text) < LONGEST]
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, place in build(Path(folder)).items():
            model = AutoModelForCausalLM.from_pretrained(place).eval()
            found[name] = {}
            if vectors["scores"][name]["ll"][0] is not None:
                found[name]["lm-eval"] = lm_eval(model, AutoTokenizer.from_pretrained(place), texts)
            if name not in NOT_BY_MINICONS:
                found[name]["minicons"] = minicons(model, AutoTokenizer.from_pretrained(place), texts)
    versions = {name: version(name) for name in ("lm_eval", "minicons")}
    content = json.dumps({"versions": versions, "texts": texts, "scores": found}, indent=1, ensure_ascii=False)
    (HERE / "causal_peers.json").write_text(content + "\n", "utf-8")


if __name__ == "__main__":
    main()
