"""Inference rows scored by causal models: against transformers alone, and a model whose answer is known.

The naive computation reads each question with each answer by itself, token by token, and shares no code with senseprobe.
"""

import math
import runpy
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from senseprobe import api
from senseprobe.evaluate.models.causal import CausalLM, load
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.units import Unit

FAMILIES = ("gpt2", "llama")
PAIRS = [("The man ate a bagel.", "The person ate food."), ("A nurse owns a car.", "A woman owns a car."), ("No.", "é")]
UNITS = [Unit(premise, hypothesis) for premise, hypothesis in PAIRS]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of the tiny causal models of the conformance suite."""
    torch.set_num_threads(1)
    build = runpy.run_path(str(Path(__file__).parents[1] / "conformance" / "causal_models.py"))["build"]
    made: dict[str, Path] = build(tmp_path_factory.mktemp("causal"))
    return made


def _naive(folder: Path, start: tuple[int, ...], premise: str, hypothesis: str) -> list[float]:
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


@pytest.mark.parametrize("family", FAMILIES)
def test_probabilities_are_those_of_transformers_alone(family: str, folders: dict[str, Path]) -> None:
    """Within 1e-6 in double precision, in the order entailment, neutral, contradiction, whatever the batches."""
    with torch.inference_mode():
        for batch_tokens in (1, None):
            model = load(str(folders[family]), device="cpu", dtype="float64", batch_tokens=batch_tokens)
            numbers = get("ll-nli").numbers(model, UNITS)
            for pair, own in zip(PAIRS, numbers.tolist(), strict=True):
                assert own == pytest.approx(_naive(folders[family], model.start, *pair), rel=0, abs=1e-6)


def test_a_model_that_always_says_false(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Contradiction is 1 for every pair where an answer is certain, and the others are impossible."""
    model = load(str(folders["gpt2"]), device="cpu")
    (false,) = {tokens.ids for tokens in model.encode([" False"])}

    def certain(_: CausalLM, queries: list[tuple[tuple[int, ...], int]]) -> object:
        return torch.tensor([0.0 if ids[-len(false) :] == false else -700.0 for ids, _ in queries]).numpy()

    monkeypatch.setattr(CausalLM, "log_likelihoods", certain)
    assert get("ll-nli").numbers(model, UNITS).tolist() == [[0.0, 0.0, 1.0]] * len(UNITS)


def test_what_is_too_long_has_no_number_and_a_reason(folders: dict[str, Path]) -> None:
    """A question longer than the model's input is unscored."""
    model = load(str(folders["gpt2"]), device="cpu")
    long = Unit("word " * 2000, "It ends.")
    scorer = get("ll-nli")
    assert all(math.isnan(number) for number in scorer.numbers(model, [long])[0])
    assert list(scorer.reasons(model, [long])) == ["too long for the model"]


def test_a_probe_comes_with_the_control(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of inference is scored by the same scorer, and replays."""
    monkeypatch.chdir(tmp_path)
    (result,) = api.score(str(folders["gpt2"]), "nli-control@1.0.0:religion", "ll-nli", limit=6, out="results")
    assert result.rows is not None
    assert result.rows[["entailment", "neutral", "contradiction"]].sum(axis=1).to_numpy() == pytest.approx(1)
    assert [figure.estimand for figure in result.figures][0] == "accuracy"
    assert api.replay(next(Path("results").rglob("*.json"))).differences == ()
