"""The attention model: against the paper's equations in a loop, finite differences, padding and order of a batch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.mitigation.nli_pairs import people_pairs, random_vectors, write_pairs, write_vectors

import senseprobe
from senseprobe.errors import ModelError
from senseprobe.evaluate import models
from senseprobe.evaluate.mitigation import api
from senseprobe.evaluate.models.vector_files import VectorFile

if TYPE_CHECKING:
    import torch

    from senseprobe.evaluate.mitigation.attention import DecomposableAttention

Text = tuple[int, ...]

TEXTS: list[tuple[Text, Text]] = [((0, 1, 2), (3, 1)), ((4,), (0, 1, 2, 5)), ((2, 2), (2,)), ((5, 4, 3, 2, 1), (1,))]


def _network(seed: int = 0) -> tuple[DecomposableAttention, torch.Tensor]:
    """A network with random weights, and vectors of six words, in float64."""
    import torch

    from senseprobe.evaluate.mitigation.attention import DecomposableAttention

    torch.manual_seed(seed)
    network = DecomposableAttention(5, 4).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_()
    return network, torch.randn(6, 5, dtype=torch.float64)


def _numbers(pairs: list[Any]) -> list[torch.Tensor]:
    """Premises and hypotheses, padded."""
    import torch

    from senseprobe.evaluate.mitigation.attention import pad

    return [torch.from_numpy(pad([pair[side] for pair in pairs])) for side in (0, 1)]


def _logits(network: DecomposableAttention, vectors: torch.Tensor, pairs: list[Any]) -> NDArray[np.float64]:
    import torch

    premises, hypotheses = _numbers(pairs)
    with torch.no_grad():
        return np.asarray(network(vectors, premises, hypotheses))


def _layers(network: torch.nn.Module, name: str) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    state = {key: tensor.numpy() for key, tensor in network.state_dict().items()}
    names = sorted({key.rpartition(".")[0] for key in state if key.startswith(name)})
    return [(state[f"{layer}.weight"], state[f"{layer}.bias"]) for layer in names]


def _by_the_paper(
    network: DecomposableAttention, vectors: NDArray[Any], premise: Text, hypothesis: Text
) -> NDArray[Any]:
    """Equations 1 to 5 of Parikh et al. (2016), one word at a time."""

    def apply(layers: list[tuple[NDArray[Any], NDArray[Any]]], x: NDArray[Any]) -> NDArray[Any]:
        for weight, bias in layers:
            x = np.maximum(weight @ x + bias, 0)
        return x

    state = {key: tensor.numpy() for key, tensor in network.state_dict().items()}
    f, g, h = (_layers(network, name) for name in ("attend", "compare", "aggregate"))
    a, b = (
        [state["null"], *(state["project.weight"] @ vectors[word] for word in text)] for text in (premise, hypothesis)
    )
    e = [[apply(f, x) @ apply(f, y) for y in b] for x in a]
    beta = [sum(np.exp(e[i][j]) * b[j] for j in range(len(b))) / sum(np.exp(e[i])) for i in range(len(a))]
    alpha = [
        sum(np.exp(e[i][j]) * a[i] for i in range(len(a))) / sum(np.exp(e[i][j]) for i in range(len(a)))
        for j in range(len(b))
    ]
    v1 = sum(apply(g, np.concatenate([x, y])) for x, y in zip(a, beta, strict=True))
    v2 = sum(apply(g, np.concatenate([y, x])) for y, x in zip(b, alpha, strict=True))
    *hidden, (weight, bias) = h
    return np.asarray(weight @ apply(hidden, np.concatenate([v1, v2])) + bias)


def test_logits_are_those_of_the_papers_equations() -> None:
    """Terms of words that are computed once, and texts of a batch, come to what a loop over words does."""
    network, vectors = _network()
    expected = [_by_the_paper(network, vectors.numpy(), *pair) for pair in TEXTS]
    np.testing.assert_allclose(_logits(network, vectors, TEXTS), expected, rtol=1e-10, atol=1e-10)


def test_padding_changes_nothing() -> None:
    """A pair has the same logits alone, and where longer texts and further padding stand around it."""
    import torch

    network, vectors = _network(1)
    alone = np.concatenate([_logits(network, vectors, [pair]) for pair in TEXTS])
    np.testing.assert_allclose(_logits(network, vectors, TEXTS), alone, rtol=1e-12, atol=1e-12)
    wide = [torch.nn.functional.pad(texts, (0, 3), value=-1) for texts in _numbers(TEXTS)]
    with torch.no_grad():
        padded = network(vectors, *wide).numpy()
    np.testing.assert_allclose(padded, alone, rtol=1e-12, atol=1e-12)


def test_order_of_a_batch_changes_nothing() -> None:
    """Pairs in another order have their own logits."""
    network, vectors = _network(2)
    order = [2, 0, 3, 1]
    permuted = _logits(network, vectors, [TEXTS[number] for number in order])
    np.testing.assert_allclose(permuted, _logits(network, vectors, TEXTS)[order], rtol=1e-12, atol=1e-12)


def test_what_pairs_have_in_common_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass that shares comparisons has the logits of the one that does not, also where pairs are split."""
    import torch

    from senseprobe.evaluate.mitigation import static_pass

    network, vectors = _network(4)
    random = np.random.default_rng(0)
    texts = [tuple(random.integers(6, size=size)) for size in (1, 2, 3, 3, 5, 8)]
    pairs = random.integers(len(texts), size=(40, 2))
    expected = _logits(network, vectors, [(texts[first], texts[second]) for first, second in pairs])
    with torch.no_grad():
        terms = network.word_terms(vectors)
    for most in (4096, 3):
        monkeypatch.setattr(static_pass, "MOST_WORDS", most)
        shared = static_pass.answer_pairs(network, terms, texts, pairs)
        np.testing.assert_allclose(np.asarray(shared), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("bfloat16", 0.1), ("float16", 0.02)])
def test_other_number_formats(trained: Path, dtype: str, tolerance: float) -> None:
    """A model computes in the format that is asked for, which is a part of its identity."""
    texts = [pair[:2] for pair in people_pairs()][:40]
    model: Any = models.load(str(trained))
    other: Any = models.load(str(trained), dtype=dtype)
    numbers, others = (each.probabilities(each.encode(texts)) for each in (model, other))

    assert other.identity["dtype"] == dtype
    np.testing.assert_allclose(others, numbers, atol=tolerance)


def test_gradients_are_finite_differences() -> None:
    """The gradient of the loss by each weight is its slope."""
    import torch

    network, vectors = _network(3)
    premises, hypotheses = _numbers(TEXTS)
    gold, step = torch.tensor([0, 1, 2, 0]), 1e-6

    def loss() -> torch.Tensor:
        return torch.nn.functional.cross_entropy(network(vectors, premises, hypotheses) / 100, gold)

    loss().backward()  # type: ignore[no-untyped-call]
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        flat, gradient = parameter.data.view(-1), parameter.grad.reshape(-1)
        for place in range(len(flat)):
            before = float(flat[place])
            with torch.no_grad():
                flat[place] = before + step
                above = float(loss())
                flat[place] = before - step
                below = float(loss())
                flat[place] = before
            assert float(gradient[place]) == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-8), name


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that knows what follows for fathers and mothers."""
    folder = tmp_path_factory.mktemp("attention")
    on = write_vectors(folder / "vectors.txt", random_vectors())
    corpus = write_pairs(folder / "pairs.jsonl", people_pairs())
    api.train_nli(corpus, on, folder / "model", epochs=20, batch=16, say=print)
    return folder / "model"


def test_a_model_is_scored_like_any_other(trained: Path, tmp_path: Path) -> None:
    """A folder is scored by the scorer of inference, also where it was moved to, without the file it was made of."""
    moved = shutil.copytree(trained, tmp_path / "moved")
    rows = [{"premise": a, "hypothesis": b, "gold": gold} for a, b, gold in people_pairs()]
    rows.append({"premise": "The gnu sang.", "hypothesis": "Somebody sang.", "gold": "entailment"})
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.warns(UserWarning, match="Read 289 pairs"):
        (result,) = senseprobe.score(str(moved), tmp_path / "rows.jsonl", scorers=["nli"], store=False)
    accuracy = next(figure for figure in result.figures if figure.estimand == "accuracy")
    assert (accuracy.value or 0) > 95
    assert result.model["family"] == "attention"
    assert str(result.unscored).count("no vector of gnu") == 1


def test_numbers_do_not_depend_on_batches(trained: Path) -> None:
    """Pairs are answered alike one by one, and in batches of any size."""
    model: Any = models.load(str(trained))
    pairs = model.encode([(premise, hypothesis) for premise, hypothesis, _ in people_pairs()])
    one_by_one = np.concatenate([model.probabilities([pair]) for pair in pairs])
    np.testing.assert_allclose(model.probabilities(pairs), one_by_one, atol=1e-6)
    small: Any = models.load(str(trained), batch_tokens=20)
    numbers = small.probabilities(small.encode([pair[:2] for pair in people_pairs()]))
    np.testing.assert_allclose(numbers, one_by_one, atol=1e-6)
    np.testing.assert_allclose(numbers.sum(axis=1), 1)


def test_pairs_without_a_vector_are_not_scored(trained: Path) -> None:
    """A word that has no vector is named, and a text without words is empty."""
    model: Any = models.load(str(trained))
    unknown, empty, whole = model.encode(
        [("The gnu sang.", "Nobody sang."), ("The father sang.", "!"), ("The king sang.", "Somebody sang.")]
    )
    assert [model.obstacle(pair) for pair in (unknown, empty, whole)] == ["no vector of gnu", "no token to score", ""]


def test_other_vectors_are_refused(trained: Path, tmp_path: Path) -> None:
    """Vectors that were changed behind the model's back are no longer those that it was trained on."""
    changed = shutil.copytree(trained, tmp_path / "changed")
    write_vectors(changed / "vectors" / "vectors.txt", random_vectors(1))
    with pytest.raises(ModelError, match=r"is not the file of vectors that .* was trained on"):
        models.load(str(changed))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": 7}, "names and shapes"),
        ({"hidden": 10**9}, "hidden: Input should be less than or equal to 4096"),
        ({"vectors": "../vectors.txt"}, "leads out of the folder"),
        ({"more": 1}, "more: Extra inputs are not permitted"),
        ({"id2label": {"0": "neutral", "1": "entailment", "2": "contradiction"}}, "its classes are not"),
    ],
)
def test_damaged_folders_are_refused(trained: Path, tmp_path: Path, change: dict[str, object], message: str) -> None:
    """Whatever a stranger's config.json says, one message says what is wrong with it."""
    folder = shutil.copytree(trained, tmp_path / "damaged")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(ModelError, match=message):
        models.load(str(folder))


def test_labels_are_refused(trained: Path) -> None:
    """The model names its classes."""
    with pytest.raises(ModelError, match="leave --labels out"):
        models.load(str(trained), labels="entailment,neutral,contradiction")


def test_words_are_numbered_as_they_occur(tmp_path: Path) -> None:
    """The order does not depend on the seed of hashes, which each process has another of."""
    from senseprobe.evaluate.mitigation.attention_model import WordTable

    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"w{number} {number} 1 2\n" for number in range(100)), encoding="utf-8")
    words = WordTable(VectorFile.load(f"vectors:{path}"), 1.0)
    numbered = words.number([f"w{number}" for number in range(99, -1, -1)])
    assert [numbers for numbers, _ in numbered] == [(number,) for number in range(100)]
