"""Inference rows scored by causal models: against transformers alone, and a model whose answer is known.

The naive computation reads each question with each answer by itself, token by token, and shares no code with us.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from senseprobe import api
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

if TYPE_CHECKING:
    from senseprobe.evaluate.models.causal import CausalLM


PAIRS = [("The man ate a bagel.", "The person ate food."), ("A nurse owns a car.", "A woman owns a car."), ("No.", "é")]
UNITS = [Unit(premise, hypothesis) for premise, hypothesis in PAIRS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GPT-2 with random weights, to whose tokenizer ` True` is one token, ` Neither` two, and ` False` six."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.decoders import ByteLevel as ByteLevelDecoder
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    torch.set_num_threads(1)
    made = tmp_path_factory.mktemp("models") / "gpt2"
    merges = ["T r", "Ġ Tr", "u e", "ĠTr ue", "Ġ N", "e i", "ĠN ei", "t h", "e r", "th er"]
    words = ["<|endoftext|>", *sorted(ByteLevel.alphabet()), *(merge.replace(" ", "") for merge in merges)]
    vocabulary = {word: number for number, word in enumerate(words)}
    model = BPE(vocab=vocabulary, merges=[(first, second) for first, second in map(str.split, merges)])
    raw = Tokenizer(model)
    raw.pre_tokenizer = ByteLevel(add_prefix_space=False)
    raw.decoder = ByteLevelDecoder()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, bos_token=words[0], eos_token=words[0])
    torch.manual_seed(0)
    sizes = {"n_positions": 256, "n_embd": 32, "n_layer": 2, "n_head": 2, "initializer_range": 0.3}
    GPT2LMHeadModel(GPT2Config(vocab_size=len(words), bos_token_id=0, eos_token_id=0, **sizes)).save_pretrained(made)
    tokenizer.save_pretrained(made)
    return made


def _naive(folder: Path, start: tuple[int, ...], premise: str, hypothesis: str) -> list[float]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    question = f"{premise}\nQuestion: {hypothesis} True, False, or Neither?\nAnswer:"
    likelihoods = []
    for answer in (" True", " Neither", " False"):
        given = len(tokenizer(question, add_special_tokens=False)["input_ids"])
        ids = [*start, *tokenizer(question + answer, add_special_tokens=False)["input_ids"]]
        total = 0.0
        for position in range(len(start) + given, len(ids)):
            logits = model(torch.tensor([ids[:position]])).logits[0, -1]
            total += float(logits[ids[position]] - logits.exp().sum().log())
        likelihoods.append(math.exp(total))
    return [likelihood / sum(likelihoods) for likelihood in likelihoods]


def test_probabilities_are_those_of_transformers_alone(folder: Path) -> None:
    """Within 1e-6 in double precision, in the order entailment, neutral, contradiction, whatever the batches."""
    import torch

    from senseprobe.evaluate.models.causal import load

    with torch.inference_mode():
        for batch_tokens in (1, None):
            model = load(str(folder), device="cpu", dtype="float64", batch_tokens=batch_tokens)
            numbers = get("ll-nli").numbers(model, UNITS)
            for pair, own in zip(PAIRS, numbers.tolist(), strict=True):
                assert own == pytest.approx(_naive(folder, model.start, *pair), rel=0, abs=1e-6)


def test_a_model_that_always_says_false(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contradiction is 1 for every pair where an answer is certain, and the others are impossible."""
    import torch

    from senseprobe.evaluate.models.causal import CausalLM, load

    model = load(str(folder), device="cpu")
    (false,) = {tokens.ids for tokens in model.encode([" False"])}

    def certain(_: "CausalLM", queries: list[tuple[tuple[int, ...], int]]) -> object:
        return torch.tensor([0.0 if ids[-len(false) :] == false else -700.0 for ids, _ in queries]).numpy()

    monkeypatch.setattr(CausalLM, "log_likelihoods", certain)
    assert get("ll-nli").numbers(model, UNITS).tolist() == [[0.0, 0.0, 1.0]] * len(UNITS)


def test_what_is_too_long_has_no_number_and_a_reason(folder: Path) -> None:
    """A question longer than the model's input is unscored."""
    from senseprobe.evaluate.models.causal import load

    model = load(str(folder), device="cpu")
    long = Unit("word " * 2000, "It ends.")
    scorer = get("ll-nli")
    assert all(math.isnan(number) for number in scorer.numbers(model, [long])[0])
    assert list(scorer.reasons(model, [long])) == ["too long for the model"]


def test_a_probe_comes_with_the_control(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of inference is scored by the same scorer, and replays."""
    monkeypatch.chdir(tmp_path)
    (result,) = api.score(str(folder), "nli-control@1.0.0:religion", "ll-nli", limit=6, out="results")
    assert result.rows is not None
    assert result.rows[["entailment", "neutral", "contradiction"]].sum(axis=1).to_numpy() == pytest.approx(1)
    assert result.figures[0].estimand == "accuracy"
    assert api.replay(next(Path("results").rglob("*.json"))).differences == ()
